use super::*;
use foliot_model::Item;
use proptest::prelude::*;

const FIGURES: [Figure; 9] = [
    Figure::Count,
    Figure::Sum,
    Figure::Mean,
    Figure::WideSum,
    Figure::WideMean,
    Figure::Choice(Choice::Smallest),
    Figure::Choice(Choice::Largest),
    Figure::Choice(Choice::Earliest),
    Figure::Choice(Choice::Latest),
];

/// What a figure comes to, by its definition; values are whole, so that sums are.
fn plain(figure: Figure, samples: &[(i64, i64)]) -> Option<(Option<i64>, f64)> {
    let sum = samples.iter().map(|(_, value)| *value).sum::<i64>() as f64;
    let count = samples.len() as f64;
    let chosen = |sample: Option<&(i64, i64)>| sample.map(|(at, value)| (Some(*at), *value as f64));
    match figure {
        Figure::Count => Some((None, count)),
        _ if samples.is_empty() => None,
        Figure::Sum | Figure::WideSum => Some((None, sum)),
        Figure::Mean | Figure::WideMean => Some((None, sum / count)),
        Figure::Choice(Choice::Smallest) => {
            chosen(samples.iter().min_by_key(|(at, value)| (*value, *at)))
        }
        Figure::Choice(Choice::Largest) => {
            chosen(samples.iter().min_by_key(|(at, value)| (-*value, *at)))
        }
        Figure::Choice(Choice::Earliest) => {
            chosen(samples.iter().min_by_key(|(at, value)| (*at, -*value)))
        }
        Figure::Choice(Choice::Latest) => chosen(samples.iter().max()),
    }
}

fn told((time_ns, item): (Option<i64>, Item)) -> Option<(Option<i64>, f64)> {
    to_f64(&item).map(|value| (time_ns, value))
}

/// Several sources' samples, each in the order of time.
fn sources() -> impl Strategy<Value = Vec<Vec<(i64, i64)>>> {
    let source = prop::collection::btree_map(0i64..30, -5i64..5, 0..20);
    prop::collection::vec(source.prop_map(|samples| samples.into_iter().collect()), 0..4)
}

proptest! {
    #[test]
    fn one_by_one_in_runs_and_added_up_is_the_same(sources in sources(), cut in 0usize..20) {
        let all: Vec<(i64, i64)> = sources.iter().flatten().copied().collect();
        for figure in FIGURES {
            let expected = plain(figure, &all);
            let mut single = Tally::new(figure);
            for (at, value) in &all {
                single.add(*at, Item::Integer(*value));
            }
            prop_assert_eq!(told(single.finish()), expected, "{:?} one by one", figure);

            let mut floats = Tally::new(figure);
            let mut integers = Tally::new(figure);
            let (mut wholes, mut tenths) = (Tally::new(figure), Tally::new(figure));
            for samples in &sources {
                let (mut of_floats, mut of_integers) = (Tally::new(figure), Tally::new(figure));
                let (begin, end) = samples.split_at(cut.min(samples.len()));
                for run in [begin, end] {
                    let (times, values): (Vec<i64>, Vec<i64>) = run.iter().copied().unzip();
                    let as_floats: Vec<f64> = values.iter().map(|value| *value as f64).collect();
                    if !times.is_empty() {
                        of_floats.add_floats(&times, &as_floats);
                        of_integers.add_integers(&times, &values);
                        let time_ns = |at: usize| times.get(at).copied();
                        let stand_for = Wholes::of(&values, Kind::Integer, 0, Kind::Integer);
                        wholes.add_wholes(&values, stand_for.unwrap(), time_ns);
                        let tens: Vec<i64> = values.iter().map(|value| value * 10).collect();
                        let stand_for = Wholes::of(&tens, Kind::Float, 1, Kind::Float);
                        tenths.add_wholes(&tens, stand_for.unwrap(), time_ns);
                    }
                }
                floats.absorb(of_floats);
                integers.absorb(of_integers);
            }
            prop_assert_eq!(told(floats.finish()), expected, "{:?} of floats", figure);
            prop_assert_eq!(told(integers.finish()), expected, "{:?} of integers", figure);
            prop_assert_eq!(told(wholes.finish()), expected, "{:?} as stored", figure);
            prop_assert_eq!(told(tenths.finish()), expected, "{:?} of decimals", figure);
        }
    }
}

/// As InfluxDB 1.6.7 answers the same points, but for the rounding.
#[test]
fn integers_of_a_series_wrap_around_and_series_do_not() {
    const GREAT: i64 = 9_000_000_000_000_000_000;
    let of = |series: &[&[i64]]| {
        let mut mean = Tally::new(Figure::Mean);
        for values in series {
            mean.turn();
            mean.add_integers(&vec![0; values.len()], values);
        }
        told(mean.finish()).unwrap().1
    };
    assert_eq!(of(&[&[GREAT], &[GREAT], &[GREAT]]), 9e18);
    assert_eq!(of(&[&[GREAT, GREAT, GREAT]]), 8_553_255_926_290_448_384f64 / 3.0);
    assert_eq!(of(&[&[-GREAT, -GREAT], &[-GREAT, 5]]), -2_138_313_981_572_612_096f64);

    let mut unsigned = Tally::new(Figure::Mean);
    for _ in 0..3 {
        unsigned.turn();
        unsigned.add(0, Item::Unsigned(u64::MAX));
    }
    assert_eq!(told(unsigned.finish()).unwrap().1, u64::MAX as f64);
    let mut halves = (Tally::new(Figure::Mean), Tally::new(Figure::Mean));
    halves.0.add(0, Item::Integer(GREAT));
    halves.1.add(0, Item::Integer(GREAT));
    halves.0.absorb(halves.1);
    assert_eq!(told(halves.0.finish()).unwrap().1, 9e18);
}

/// Expected values are reckoned by hand: nothing is lost of a sum but what a float cannot hold.
#[test]
fn wide_figures_do_not_wrap_around() {
    const MOST: i64 = i64::MAX;
    let of = |figure, values: &[i64]| {
        let (mut one_by_one, mut in_runs) = (Tally::new(figure), Tally::new(figure));
        let (mut stored, mut later) = (Tally::new(figure), Tally::new(figure));
        for value in values {
            one_by_one.add(0, Item::Integer(*value));
        }
        let (begin, end) = values.split_at(values.len() / 2);
        for (tally, run) in [(&mut in_runs, begin), (&mut later, end)] {
            tally.turn();
            tally.add_integers(&vec![0; run.len()], run);
        }
        in_runs.absorb(later);
        let stand_for = Wholes::of(values, Kind::Integer, 0, Kind::Integer).unwrap();
        stored.add_wholes(values, stand_for, |_| Some(0));
        let told = one_by_one.finish().1;
        assert_eq!(in_runs.finish().1, told, "{figure:?} {values:?}");
        assert_eq!(stored.finish().1, told, "{figure:?} {values:?}");
        told
    };
    // 3 * (2^63 - 1) = 27670116110564327421
    assert_eq!(of(Figure::WideSum, &[MOST, MOST, MOST]), Item::Float(27_670_116_110_564_327_421.0));
    assert_eq!(of(Figure::WideMean, &[MOST, MOST, MOST]), Item::Float(9_223_372_036_854_775_807.0));
    // -2^63 - 2^63 = -2^64
    assert_eq!(of(Figure::WideSum, &[i64::MIN, i64::MIN]), Item::Float(-(2f64.powi(64))));
    assert_eq!(of(Figure::WideMean, &[i64::MIN, i64::MIN]), Item::Float(-(2f64.powi(63))));
    // Beyond 64 bits on the way only.
    assert_eq!(of(Figure::WideSum, &[MOST, MOST, -MOST, 5 - MOST]), Item::Integer(5));
    assert_eq!(of(Figure::WideMean, &[MOST, MOST, -MOST, 6 - MOST]), Item::Float(1.5));
    assert_eq!(of(Figure::WideSum, &[2, 3]), Item::Integer(5));
    assert_eq!(Tally::new(Figure::WideSum).finish().1, Item::Null);

    let mut unsigned = Tally::new(Figure::WideSum);
    unsigned.add(0, Item::Unsigned(u64::MAX));
    assert_eq!(unsigned.clone().finish().1, Item::Unsigned(u64::MAX));
    unsigned.add(0, Item::Unsigned(u64::MAX));
    assert_eq!(unsigned.finish().1, Item::Float(2f64.powi(65)));
}
