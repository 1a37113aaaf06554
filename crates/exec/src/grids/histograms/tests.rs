//! The oracle is arithmetic by hand, from the definition of the buckets: of schema 0 bucket i ends
//! at 2^i.

use super::*;

fn buckets(of: &[(i32, f64)]) -> Vec<Bucket> {
    of.iter().map(|&(index, count)| Bucket { index, count }).collect()
}

fn exponential(schema: i8, positive: &[(i32, f64)]) -> Histogram {
    let count = positive.iter().map(|(_, count)| count).sum();
    Histogram { schema, count, sum: 10.0, positive: buckets(positive), ..Histogram::default() }
}

fn custom(bounds: &[f64], counts: &[(i32, f64)]) -> Histogram {
    Histogram { bounds: bounds.into(), ..exponential(Histogram::CUSTOM, counts) }
}

fn added(a: &Histogram, b: &Histogram, sign: f64) -> Histogram {
    two(a, b, sign).unwrap().0
}

#[test]
fn buckets_are_added_one_by_one() {
    let a = exponential(0, &[(0, 1.0), (2, 2.0)]);
    let b = exponential(0, &[(-1, 4.0), (2, 8.0), (3, 16.0)]);
    let sum = added(&a, &b, 1.0);
    assert_eq!(sum.positive, buckets(&[(-1, 4.0), (0, 1.0), (2, 10.0), (3, 16.0)]));
    assert_eq!((sum.count, sum.sum), (31.0, 20.0));
    // What comes to nothing is gone.
    assert_eq!(added(&a, &a, -1.0).positive, []);
}

#[test]
fn the_coarser_schema_is_the_common_one() {
    // (1, sqrt 2] and (sqrt 2, 2] are (1, 2].
    let fine = exponential(1, &[(1, 1.0), (2, 2.0)]);
    let coarse = exponential(0, &[(1, 4.0)]);
    for (a, b) in [(&fine, &coarse), (&coarse, &fine)] {
        let sum = added(a, b, 1.0);
        assert_eq!((sum.schema, sum.positive), (0, buckets(&[(1, 7.0)])));
    }
    assert_eq!(two(&fine, &custom(&[1.0], &[(0, 1.0)]), 1.0).unwrap_err(), Incompatible);
}

#[test]
fn the_bucket_around_zero_grows_to_the_wider_one() {
    let zero = |zero_threshold, zero_count, positive: &[(i32, f64)]| Histogram {
        zero_threshold,
        zero_count,
        ..exponential(0, positive)
    };
    // Up to 1: what the other has in (0.5, 1] is around zero too.
    let (wide, narrow) = (zero(1.0, 3.0, &[(2, 1.0)]), zero(0.25, 1.0, &[(0, 5.0), (1, 2.0)]));
    for (a, b) in [(&wide, &narrow), (&narrow, &wide)] {
        let sum = added(a, b, 1.0);
        assert_eq!((sum.zero_threshold, sum.zero_count), (1.0, 9.0));
        assert_eq!(sum.positive, buckets(&[(1, 2.0), (2, 1.0)]));
    }
    // Into a bucket that counts something: up to its end, which moves the other one's too.
    let sum = added(&zero(0.75, 1.0, &[]), &zero(0.0, 0.0, &[(0, 2.0)]), 1.0);
    assert_eq!((sum.zero_threshold, sum.zero_count, sum.positive), (1.0, 3.0, vec![]));
}

#[test]
fn custom_bounds_that_differ_are_reconciled() {
    let a = custom(&[1.0, 2.0, 4.0], &[(0, 1.0), (1, 2.0), (2, 4.0), (3, 8.0)]);
    let b = custom(&[2.0, 3.0, 4.0], &[(0, 16.0), (1, 32.0), (2, 64.0)]);
    let (sum, merged) = two(&a, &b, 1.0).unwrap();
    assert!(merged.is_reconciled);
    assert_eq!(sum.bounds[..], [2.0, 4.0]);
    assert_eq!(sum.positive, buckets(&[(0, 19.0), (1, 100.0), (2, 8.0)]));
}

#[test]
fn rounding_is_carried_along() {
    let of = |count| Histogram { count, ..Histogram::default() };
    let all = [of(1e100), of(1.0), of(-1e100)];
    let (sum, _) = super::sum(all.iter()).unwrap().unwrap();
    assert_eq!(sum.count, 1.0);
    let (mean, _) = super::mean([of(1e308), of(1e308), of(1e308)].iter()).unwrap().unwrap();
    assert!((mean.count - 1e308).abs() < 1e295, "{}", mean.count);
}

#[test]
fn hints_that_contradict_each_other_are_met() {
    let of = |resets| Histogram { resets, ..Histogram::default() };
    let met = |hints: &[Resets]| {
        let all: Vec<_> = hints.iter().map(|hint| of(*hint)).collect();
        let (sum, merged) = super::sum(all.iter()).unwrap().unwrap();
        (sum.resets, merged.is_torn)
    };
    use Resets::{Gauge, NotReset, Reset, Unknown};
    assert_eq!(met(&[NotReset, NotReset]), (NotReset, false));
    assert_eq!(met(&[NotReset, Unknown]), (Unknown, false));
    assert_eq!(met(&[Unknown, Gauge]), (Gauge, false));
    assert_eq!(met(&[NotReset, Reset]), (Unknown, true));
}

#[test]
fn what_counts_less_has_begun_anew() {
    let before = exponential(0, &[(0, 1.0), (1, 2.0)]);
    for (after, wanted) in [
        (exponential(0, &[(0, 1.0), (1, 2.0)]), false),
        (exponential(0, &[(0, 1.0), (1, 3.0), (4, 1.0)]), false),
        // Less at all, less in one bucket, a bucket that is gone, a finer schema.
        (exponential(0, &[(1, 2.0)]), true),
        (exponential(0, &[(0, 0.5), (1, 9.0)]), true),
        (exponential(0, &[(1, 9.0)]), true),
        (exponential(1, &[(1, 9.0), (0, 9.0)]), true),
        // A coarser one: (0.25, 1] and (1, 4].
        (exponential(-1, &[(0, 1.0), (1, 2.0)]), false),
        (exponential(-1, &[(0, 0.5), (1, 9.0)]), true),
        (custom(&[1.0], &[(0, 99.0)]), true),
    ] {
        assert_eq!(began_anew(&after, &before), wanted, "{after:?}");
        let sure = Histogram { resets: Resets::NotReset, ..after };
        assert!(!began_anew(&sure, &before));
    }
    // A wider bucket around zero takes up those within it.
    let wide = Histogram { zero_threshold: 1.0, zero_count: 1.0, ..exponential(0, &[(1, 4.0)]) };
    assert!(!began_anew(&wide, &before));
    let less = Histogram { zero_count: 0.5, ..wide };
    assert!(began_anew(&less, &before));
    // Bounds that both have: 3 up to 2 before, 2 after.
    let before = custom(&[1.0, 2.0], &[(0, 1.0), (1, 2.0)]);
    assert!(began_anew(&custom(&[2.0], &[(0, 2.0), (1, 9.0)]), &before));
    assert!(!began_anew(&custom(&[2.0], &[(0, 3.0), (1, 9.0)]), &before));
}

#[test]
fn quantiles_lie_between_bounds() {
    let plain = |share, of: &Histogram| match quantile(share, of) {
        Quantile::Plain(value) => value,
        other => panic!("{other:?}"),
    };
    // 4 in (1, 2], 4 in (2, 4]: by logarithms halves are 2^0.5 and 2^1.5.
    let of = exponential(0, &[(1, 4.0), (2, 4.0)]);
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} is not {b}");
    near(plain(0.25, &of), 2f64.sqrt());
    near(plain(0.75, &of), 8f64.sqrt());
    near(plain(0.5, &of), 2.0);
    assert_eq!(plain(-0.1, &of), f64::NEG_INFINITY);
    assert_eq!(plain(1.1, &of), f64::INFINITY);
    assert!(plain(f64::NAN, &of).is_nan() && plain(0.5, &Histogram::default()).is_nan());
    // Custom bounds: in proportion; beyond the last one it, below the first from zero.
    let of = custom(&[2.0, 6.0], &[(0, 2.0), (1, 4.0), (2, 2.0)]);
    near(plain(0.125, &of), 1.0);
    near(plain(0.5, &of), 4.0);
    near(plain(0.9, &of), 6.0);
    // Around zero in proportion; of positive observations only the right half is.
    let zero = Histogram { zero_threshold: 0.5, zero_count: 4.0, ..exponential(0, &[(1, 4.0)]) };
    let zero = Histogram { count: 8.0, ..zero };
    near(plain(0.25, &zero), 0.25);
    // Negative ones are mirrored: the quarter of 4 in [-4, -2) and 4 in [-2, -1).
    let negative =
        Histogram { count: 8.0, negative: buckets(&[(1, 4.0), (2, 4.0)]), ..exponential(0, &[]) };
    near(plain(0.25, &negative), -(8f64.sqrt()));
    // Observations that are no numbers: 2 of 8 are in no bucket.
    let nan = Histogram { count: 8.0, sum: f64::NAN, ..exponential(0, &[(1, 3.0), (2, 3.0)]) };
    assert_eq!(quantile(0.9, &nan), Quantile::Nan);
    assert!(matches!(quantile(0.5, &nan), Quantile::Skewed(value) if value > 2.0 && value < 3.0));
}

#[test]
fn fractions_are_quantiles_turned_around() {
    let of = exponential(0, &[(1, 4.0), (2, 4.0)]);
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} is not {b}");
    near(fraction(f64::NEG_INFINITY, 2f64.sqrt(), &of).0, 0.25);
    near(fraction(2.0, 8f64.sqrt(), &of).0, 0.25);
    near(fraction(1.0, 4.0, &of).0, 1.0);
    assert_eq!(fraction(4.0, 1.0, &of), (0.0, false));
    assert!(fraction(f64::NAN, 1.0, &of).0.is_nan());
    let custom = custom(&[2.0, 6.0], &[(0, 2.0), (1, 4.0), (2, 2.0)]);
    near(fraction(3.0, 5.0, &custom).0, 0.25);
    let nan = Histogram { count: 16.0, sum: f64::NAN, ..of };
    assert_eq!(fraction(1.0, 4.0, &nan), (0.5, true));
}

#[test]
fn variances_are_of_the_middles() {
    // Middles of (1, 4] of schema -1 is 2, of (4, 16] 8; as many of each, and their mean is 5.
    let of = Histogram { sum: 20.0, ..exponential(-1, &[(1, 2.0), (2, 2.0)]) };
    assert!((deviation(&of) - 9.0).abs() < 1e-12, "{}", deviation(&of));
    let of = Histogram { sum: 16.0, ..custom(&[0.0, 4.0, 12.0], &[(1, 2.0), (2, 2.0)]) };
    // Middles 2 and 8, mean 4: 4 and 16.
    assert!((deviation(&of) - 10.0).abs() < 1e-12, "{}", deviation(&of));
}

#[test]
fn what_lies_on_one_side_is_kept() {
    let of = exponential(-1, &[(1, 4.0), (2, 4.0)]);
    // (1, 4] has its middle, by logarithms, at 2.
    let below = trimmed(of.clone(), 2.0, true);
    assert_eq!((below.count, below.positive), (2.0, buckets(&[(1, 2.0)])));
    assert!((below.sum - 2.0 * 2f64.sqrt()).abs() < 1e-12, "{}", below.sum);
    let above = trimmed(of.clone(), 4.0, false);
    assert_eq!((above.count, above.sum, above.positive), (4.0, 32.0, buckets(&[(2, 4.0)])));
    // Where nothing is cut, nothing is estimated.
    assert_eq!(trimmed(of.clone(), 16.0, true), of);
    let of = custom(&[2.0, 6.0], &[(0, 2.0), (1, 4.0), (2, 2.0)]);
    let below = trimmed(of.clone(), 3.0, true);
    assert_eq!((below.count, below.sum), (3.0, 2.0 + 2.5));
    let above = trimmed(of, 1.0, false);
    assert_eq!((above.count, above.sum), (7.0, 1.5 + 16.0 + 12.0));
}

#[test]
fn rates_count_on_over_restarts() {
    let at = |second: i64, of: Histogram| (second * 1_000_000_000, std::sync::Arc::new(of));
    let samples = [
        at(0, exponential(0, &[(1, 4.0)])),
        at(1, exponential(0, &[(1, 9.0)])),
        at(2, exponential(0, &[(1, 2.0), (3, 1.0)])),
    ];
    let differs = rate(&samples, true).unwrap();
    assert_eq!(differs.histogram.positive, buckets(&[(1, 7.0), (3, 1.0)]));
    assert_eq!((differs.histogram.resets, differs.is_misused), (Resets::Gauge, false));
    // A gauge only differs.
    let differs = rate(&samples, false).unwrap();
    assert_eq!(differs.histogram.positive, buckets(&[(1, -2.0), (3, 1.0)]));
    assert!(differs.is_misused);
    let last = last_two(&samples[1].1, &samples[2].1, true).unwrap();
    assert_eq!(last.histogram.positive, buckets(&[(1, 2.0), (3, 1.0)]));
}

#[test]
fn histograms_are_spelled_with_their_bounds() {
    let of = Histogram {
        zero_threshold: 0.5,
        zero_count: 2.0,
        count: 7.0,
        negative: buckets(&[(1, 1.0)]),
        ..exponential(0, &[(1, 4.0), (2, 0.0)])
    };
    assert_eq!(spelled(&of), "{count:7, sum:10, [-2,-1):1, [-0.5,0.5]:2, (1,2]:4}");
}
