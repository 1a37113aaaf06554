use super::*;
use proptest::prelude::*;

const SECOND_NS: i64 = 1_000_000_000;

/// `rollupDelta` of VictoriaMetrics, over the samples of a range, that before it, and all before.
fn increase(
    before: Option<(i64, f64)>,
    ever: Option<f64>,
    samples: &[(i64, f64)],
    next: Option<f64>,
) -> Option<f64> {
    let mut values: Vec<f64> = samples.iter().map(|(_, value)| *value).collect();
    let from = match (before, ever) {
        (Some((_, before)), _) => before,
        (None, _) if values.is_empty() => return None,
        (None, Some(ever)) => ever,
        (None, None) => {
            let after = values.get(1).copied().or(next);
            let grows = after.map_or(0.0, |after| after - values[0]);
            match values[0].abs() < 10.0 * (grows.abs() + 1.0) {
                true => 0.0,
                false => values.remove(0),
            }
        }
    };
    Some(values.last().map_or(0.0, |last| last - from))
}

/// `rollupDerivFast`.
fn rate(before: Option<(i64, f64)>, samples: &[(i64, f64)]) -> Option<f64> {
    let mut samples = samples.to_vec();
    let (from_ns, from) = match before {
        Some(_) if samples.is_empty() => return Some(0.0),
        Some(before) => before,
        None if samples.len() < 2 => return None,
        None => samples.remove(0),
    };
    let (to_ns, to) = samples[samples.len() - 1];
    Some((to - from) / ((to_ns - from_ns) as f64 / 1e9))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn ends_tell_what_all_samples_tell(
        values in prop::collection::vec(prop_oneof![-10.0..1e4, Just(0.0)], 0..120),
        gaps in prop::collection::vec(prop_oneof![4 => Just(60), 1 => 1..900_i64], 120),
        (range_s, step_s, start_s) in (prop::option::of(1..600_i64), 1..300_i64, -400..1000_i64),
        widens in any::<bool>(),
    ) {
        let mut at_ns = 0;
        let times_ns = gaps.iter().map(|gap| { at_ns += gap * SECOND_NS; at_ns });
        let samples: Vec<(i64, f64)> = times_ns.zip(values).collect();
        let numbers: Numbers = samples.iter().copied().collect();
        let steps = Steps { start_ns: start_s * SECOND_NS, step_ns: step_s * SECOND_NS, count: 80 };
        let loose = Loose {
            range_ns: range_s.map(|range_s| range_s * SECOND_NS),
            step_ns: steps.step_ns,
            widens,
            keeps_marks: false,
            first: First::AsTheyAre,
            label: None,
        };
        let places = Places::of(&loose, (&Shift::default(), &steps), &numbers.times.to_vec());
        let found = |of: &RangeFold| by_ends(of, &numbers, &places).expect("is told by ends");
        let rates = found(&RangeFold::Loose(LooseFold::Rate));
        let increases = found(&RangeFold::Loose(LooseFold::Increase));
        let lasts = found(&RangeFold::Last);
        let until = |ns: i64| samples.partition_point(|(time_ns, _)| *time_ns <= ns);
        let mut counted = 0;
        for index in 0..steps.count {
            let end_ns = steps.at(index);
            let start_ns = end_ns - places.range_ns;
            let (first, end) = (until(start_ns), until(end_ns));
            let range = &samples[first..end];
            let ever = first.checked_sub(1).map(|before| samples[before]);
            let is_near = |(ns, _): &(i64, f64)| *ns > start_ns - places.reach_ns;
            let before = ever.filter(is_near).filter(|_| first < samples.len());
            let bits = |of: Option<f64>| of.map(f64::to_bits);
            prop_assert_eq!(bits(rates.get(index)), bits(rate(before, range)), "rate at {}", index);
            let ever = ever.map(|(_, value)| value);
            let next = samples.get(end).map(|(_, value)| *value);
            let wanted = increase(before, ever, range, next);
            prop_assert_eq!(bits(increases.get(index)), bits(wanted), "increase at {}", index);
            let last = range.last().map(|(_, value)| *value);
            prop_assert_eq!(bits(lasts.get(index)), bits(last), "last at {}", index);
            counted += range.len();
        }
        prop_assert_eq!(places.samples, counted);
    }
}
