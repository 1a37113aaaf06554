use super::*;
use foliot_model::Item;
use proptest::prelude::*;

const FIGURES: [Figure; 7] = [
    Figure::Count,
    Figure::Sum,
    Figure::Mean,
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
        Figure::Sum => Some((None, sum)),
        Figure::Mean => Some((None, sum / count)),
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
