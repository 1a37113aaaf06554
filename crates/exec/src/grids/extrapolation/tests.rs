use super::*;
use proptest::prelude::*;

/// `extrapolatedRate` of Prometheus 3, over the samples of one range.
fn plain(
    how: Extrapolation,
    samples: &[(i64, f64)],
    (start_ns, end_ns): (i64, i64),
) -> Option<f64> {
    if samples.len() < 2 {
        return None;
    }
    let (first, last) = (samples[0], samples[samples.len() - 1]);
    let mut result = last.1 - first.1;
    if how.is_counter {
        for pair in samples.windows(2) {
            if pair[1].1 < pair[0].1 {
                result += pair[0].1;
            }
        }
    }
    let seconds = |ns: i64| ns as f64 / 1e9;
    let mut to_start = seconds(first.0 - start_ns);
    let mut to_end = seconds(end_ns - last.0);
    let sampled = seconds(last.0 - first.0);
    let average = sampled / (samples.len() - 1) as f64;
    if to_start >= average * 1.1 {
        to_start = average / 2.0;
    }
    if how.is_counter && result > 0.0 && first.1 >= 0.0 {
        let to_zero = sampled * (first.1 / result);
        if to_zero < to_start {
            to_start = to_zero;
        }
    }
    if to_end >= average * 1.1 {
        to_end = average / 2.0;
    }
    let mut factor = (sampled + to_start + to_end) / sampled;
    if how.per_second {
        factor /= seconds(end_ns - start_ns);
    }
    Some(result * factor)
}

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => (0..200_u32).prop_map(f64::from),
        4 => 0.0..1e6,
        1 => prop::sample::select(vec![
            0.0, -0.0, -3.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX,
            f64::MIN_POSITIVE, 5e-324, 4e-323, 1e308,
        ]),
    ]
}

/// A counter that grows and begins anew, or whatever it may be.
fn values() -> impl Strategy<Value = Vec<f64>> {
    let grown = |(grows, anew): (Vec<f64>, usize)| {
        let mut so_far = 0.0;
        let all = grows.iter().enumerate();
        let one = |(at, by): (usize, &f64)| {
            so_far = if at % anew == anew - 1 { *by } else { so_far + by };
            so_far
        };
        all.map(one).collect()
    };
    let grows = prop::collection::vec(prop_oneof![Just(0.0), 0.0..50.0], 0..200);
    prop_oneof![prop::collection::vec(value(), 0..200), (grows, 2..400_usize).prop_map(grown)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn ranges_come_to_what_prometheus_says(
        values in values(),
        gaps in prop::collection::vec(prop_oneof![4 => Just(60), 1 => 1..400_i64], 200),
        (range_s, step_s, offset_s) in (1..1200_i64, 1..300_i64, -400..400_i64),
        (is_counter, per_second) in (any::<bool>(), any::<bool>()),
    ) {
        let how = Extrapolation { is_counter, per_second };
        let mut at_ns = 0;
        let times_ns = gaps.iter().map(|gap| { at_ns += gap * 1_000_000_000; at_ns });
        let samples: Vec<(i64, f64)> = times_ns.zip(values).collect();
        let numbers: Numbers = samples.iter().copied().collect();
        let until_ns = |ns: i64| samples.partition_point(|(time_ns, _)| *time_ns <= ns);
        let ranges: Vec<_> = (0..120)
            .map(|index| (offset_s + index * step_s) * 1_000_000_000)
            .map(|end_ns| (end_ns - range_s * 1_000_000_000, end_ns))
            .map(|(start_ns, end_ns)| (until_ns(start_ns)..until_ns(end_ns), start_ns, end_ns))
            .collect();
        let looked_up = how.ranges(&numbers.times.to_vec(), ranges.iter().cloned());
        let found = how.values(&numbers, &looked_up);
        prop_assert_eq!(found.len(), ranges.len());
        for ((range, start_ns, end_ns), found) in ranges.into_iter().zip(found.iter()) {
            let wanted = plain(how, &samples[range.clone()], (start_ns, end_ns));
            // Which of all that is no number comes out is not said.
            let told = |one: f64| if one.is_nan() { u64::MAX } else { one.to_bits() };
            let (found, wanted) = (found.map(told), wanted.map(told));
            prop_assert_eq!(found, wanted, "{:?} of {:?}", &samples[range], is_counter);
        }
    }
}
