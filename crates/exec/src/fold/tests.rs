use super::*;
use foliot_model::{NULL_FLOAT_BITS, is_null_float};
use proptest::prelude::*;

const FOLDS: [Fold; 14] = [
    Fold::Sum,
    Fold::Min,
    Fold::Max,
    Fold::Mean,
    Fold::Count,
    Fold::First,
    Fold::Last,
    Fold::Deviation,
    Fold::UpperMedian,
    Fold::Product,
    Fold::Difference,
    Fold::SquareSum,
    Fold::Quantile { q: 0.9, method: Quantile::Legacy },
    Fold::Quantile { q: 0.9, method: Quantile::R7 },
];

fn float(fold: Fold, values: &[f64]) -> Option<f64> {
    let mut acc = Acc::new(fold);
    acc.push(values);
    acc.finish()
}

/// What each fold means, written down as directly as can be.
fn naive(fold: Fold, all: &[f64]) -> Option<f64> {
    let mut kept: Vec<f64> = all.iter().copied().filter(|v| !v.is_nan()).collect();
    let (first, last) = (*all.first()?, *all.last()?);
    let n = kept.len() as f64;
    let sum: f64 = kept.iter().sum();
    Some(match fold {
        Fold::Count => n,
        Fold::First => first,
        Fold::Last => last,
        _ if kept.is_empty() => f64::NAN,
        Fold::Sum => sum,
        Fold::Mean => sum / n,
        Fold::Min => kept.iter().copied().reduce(f64::min)?,
        Fold::Max => kept.iter().copied().reduce(f64::max)?,
        Fold::Deviation => (kept.iter().map(|v| (v - sum / n).powi(2)).sum::<f64>() / n).sqrt(),
        Fold::Product => all.iter().product(),
        Fold::Difference => last - kept[0],
        Fold::SquareSum => kept.iter().map(|v| v * v).sum(),
        Fold::UpperMedian => {
            kept.sort_by(f64::total_cmp);
            kept[kept.len() / 2]
        }
        Fold::Quantile { q, method } => {
            kept.sort_by(f64::total_cmp);
            let at = match method {
                Quantile::Legacy => q * (n + 1.0),
                Quantile::R3 => (q * n).round_ties_even(),
                Quantile::R7 => 1.0 + (n - 1.0) * q,
            };
            let at = at.clamp(1.0, n);
            let (low, high) = (kept[at.floor() as usize - 1], kept[at.ceil() as usize - 1]);
            low + (high - low) * at.fract()
        }
    })
}

fn close(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => {
            a.is_nan() && b.is_nan() || a == b || (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
        }
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// Values whose squares neither overflow nor cancel beyond what the comparison forgives.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => (-1000i32..1000).prop_map(|v| f64::from(v) / 4.0),
        1 => Just(f64::NAN),
    ]
}

proptest! {
    #[test]
    fn folds_mean_what_they_say(values in prop::collection::vec(value(), 0..200)) {
        for fold in FOLDS {
            if fold == Fold::Deviation && naive(fold, &values).is_some_and(|v| v < 1e-6) {
                continue;
            }
            let (ours, expected) = (float(fold, &values), naive(fold, &values));
            prop_assert!(close(ours, expected), "{fold:?}: {ours:?} is not {expected:?}");
        }
    }

    #[test]
    fn short_runs_fold_the_same_way(values in prop::collection::vec(value(), 0..64)) {
        for fold in FOLDS {
            if let Some(short) = fold_short(fold, &values) {
                let long = float(fold, &values).map(f64::to_bits);
                prop_assert_eq!(Some(short.to_bits()), long, "{:?}", fold);
            }
        }
    }

    #[test]
    fn runs_can_be_cut_anywhere(
        values in prop::collection::vec(value(), 1..300),
        cuts in prop::collection::vec(0usize..300, 0..6),
    ) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(values.len())).collect();
        cuts.extend([0, values.len()]);
        cuts.sort_unstable();
        for fold in FOLDS {
            let mut acc = Acc::new(fold);
            let mut joined = Acc::new(fold);
            for pair in cuts.windows(2) {
                let run = &values[pair[0]..pair[1]];
                acc.push(run);
                let mut later = Acc::new(fold);
                later.push(run);
                joined.absorb(later);
            }
            let whole = float(fold, &values).unwrap();
            let cut = acc.finish().unwrap();
            prop_assert!(cut.to_bits() == whole.to_bits(), "{fold:?} cut: {cut} is not {whole}");
            let joined = joined.finish();
            if fold != Fold::Deviation || whole > 1e-6 {
                prop_assert!(close(joined, Some(whole)), "{fold:?}: {joined:?} is not {whole}");
            }
        }
    }
}

#[test]
fn nothing_but_nan_is_nan_and_no_value_stays_no_value() {
    let null = f64::from_bits(NULL_FLOAT_BITS);
    for fold in FOLDS {
        assert_eq!(float(fold, &[]), None, "{fold:?}");
        if fold == Fold::Count {
            assert_eq!(float(fold, &[null, f64::NAN]), Some(0.0));
            continue;
        }
        assert!(float(fold, &[f64::NAN]).unwrap().is_nan());
        if !matches!(fold, Fold::Product | Fold::Difference) {
            assert!(is_null_float(float(fold, &[null]).unwrap()), "{fold:?}");
        }
    }
    assert_eq!(float(Fold::Sum, &[null, 2.0]), Some(2.0));
}

#[test]
fn integers_wrap_and_truncate() {
    let case = |fold, values: &[i64]| fold_integers(fold, &mut values.to_vec()).unwrap();
    // Row 30: the mean of 1 and 2, of -1 and -2.
    assert_eq!(case(Fold::Mean, &[1, 2]), 1);
    assert_eq!(case(Fold::Mean, &[-1, -2]), -1);
    assert_eq!(case(Fold::Sum, &[i64::MAX, 1]), i64::MIN);
    assert_eq!(case(Fold::Difference, &[5, 9, 2]), -3);
    assert_eq!(case(Fold::Difference, &[5]), 0);
    assert_eq!(case(Fold::Deviation, &[115, 7]), 54);
    assert_eq!(case(Fold::Product, &[3, -4]), -12);
    assert_eq!(case(Fold::SquareSum, &[3, -4]), 25);
    assert_eq!(case(Fold::UpperMedian, &[7, 115]), 115);
    assert_eq!(fold_integers(Fold::Sum, &mut []), None);
}

/// Row 31 of the conformance list: 10, 20, .. 80 at one time.
#[test]
fn quantiles_by_method_and_kind() {
    let integers = [80, 10, 70, 20, 60, 30, 50, 40];
    let floats = integers.map(|v| v as f64);
    let table = [
        (0.50, Quantile::Legacy, 45, 45.0),
        (0.75, Quantile::Legacy, 67, 67.5),
        (0.90, Quantile::Legacy, 80, 80.0),
        (0.95, Quantile::Legacy, 80, 80.0),
        (0.50, Quantile::R3, 40, 45.0),
        (0.75, Quantile::R3, 60, 67.5),
        (0.90, Quantile::R3, 70, 80.0),
        (0.50, Quantile::R7, 45, 45.0),
        (0.75, Quantile::R7, 62, 67.5),
        (0.90, Quantile::R7, 73, 80.0),
        (0.95, Quantile::R7, 76, 80.0),
    ];
    for (q, method, integer, legacy_float) in table {
        let fold = Fold::Quantile { q, method };
        assert_eq!(fold_integers(fold, &mut integers.clone()), Some(integer), "{fold:?}");
        let as_opentsdb = fold_of_floats(fold, Arithmetic::IntegerIfAll);
        assert_eq!(float(as_opentsdb, &floats), Some(legacy_float), "{fold:?}");
    }
    let exact = fold_of_floats(Fold::Quantile { q: 0.75, method: Quantile::R7 }, Arithmetic::Float);
    assert_eq!(float(exact, &floats), Some(62.5));
}
