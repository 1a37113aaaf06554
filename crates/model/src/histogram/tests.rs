use super::*;
use proptest::prelude::*;

fn buckets(of: &[(i32, f64)]) -> Vec<Bucket> {
    of.iter().map(|&(index, count)| Bucket { index, count }).collect()
}

fn example() -> Histogram {
    Histogram {
        resets: Resets::NotReset,
        is_integer: true,
        schema: 3,
        zero_threshold: 0.001,
        zero_count: 2.0,
        count: 21.0,
        sum: 18.4,
        positive: buckets(&[(-2, 1.0), (-1, 0.0), (0, 300.0), (5, 3.0)]),
        negative: buckets(&[(1, 7.0)]),
        bounds: Arc::default(),
    }
}

fn custom() -> Histogram {
    Histogram {
        schema: Histogram::CUSTOM,
        count: 1.5,
        sum: f64::from_bits(0x7ff0_0000_0000_0002),
        positive: buckets(&[(0, 0.5), (2, 1.0)]),
        bounds: [-1.0, 2.5].into(),
        ..Histogram::default()
    }
}

/// Bounds from the specification: schema 0 has the powers of two, each schema above it halves the
/// exponents, each below doubles them.
#[test]
fn bounds_are_powers() {
    let upper = |schema, index| Histogram { schema, ..Histogram::default() }.upper(index);
    for (schema, index, wanted) in [
        (0, 0, 1.0),
        (0, 1, 2.0),
        (0, -1, 0.5),
        (0, 10, 1024.0),
        (1, 1, std::f64::consts::SQRT_2),
        (1, 2, 2.0),
        (2, 1, 1.189_207_115_002_721),
        (2, -4, 0.5),
        (3, 8, 2.0),
        (8, 256, 2.0),
        (-1, 1, 4.0),
        (-4, 1, 65_536.0),
        (-4, -1, 1.0 / 65_536.0),
        // The last bucket of numbers ends with the highest of them, infinities follow.
        (0, 1024, f64::MAX),
        (0, 1025, f64::INFINITY),
        (-4, 64, f64::MAX),
        (8, 1024 << 8, f64::MAX),
        (0, -1074, 5e-324),
        (0, i32::MIN, 0.0),
        (-4, i32::MAX, f64::INFINITY),
    ] {
        assert_eq!(upper(schema, index), wanted, "{schema} {index}");
    }
    let bounds: Vec<f64> = (-1..=3).map(|index| custom().upper(index)).collect();
    assert_eq!(bounds, [f64::NEG_INFINITY, -1.0, 2.5, f64::INFINITY, f64::INFINITY]);
}

#[test]
fn intervals_ascend_and_end_at_the_bucket_around_zero() {
    let of = Histogram {
        schema: 0,
        zero_threshold: 0.75,
        zero_count: 4.0,
        positive: buckets(&[(0, 1.0), (1, 2.0)]),
        negative: buckets(&[(0, 3.0), (2, 5.0)]),
        ..Histogram::default()
    };
    let found: Vec<_> = of.intervals().map(|of| (of.lower, of.upper, of.count)).collect();
    let wanted = [
        (-4.0, -2.0, 5.0),
        (-1.0, -0.75, 3.0),
        (-0.75, 0.75, 4.0),
        (0.75, 1.0, 1.0),
        (1.0, 2.0, 2.0),
    ];
    assert_eq!(found, wanted);
    let ends: Vec<_> = of.intervals().map(|of| (of.has_lower, of.has_upper)).collect();
    assert_eq!(ends, [(true, false), (true, false), (true, true), (false, true), (false, true)]);
}

#[test]
fn bytes_say_everything_and_nothing_else() {
    for histogram in [example(), custom(), Histogram::default()] {
        let mut bytes = Vec::new();
        histogram.write(&mut bytes);
        let read = Histogram::read(&bytes).unwrap();
        assert_eq!(read.sum.to_bits(), histogram.sum.to_bits());
        assert_eq!(format!("{read:?}"), format!("{histogram:?}"));
        // What is cut is nothing, or has lost buckets.
        for cut in 0..bytes.len() {
            let buckets = |of: Histogram| of.positive.len() + of.negative.len();
            let left = Histogram::read(&bytes[..cut]).map(buckets);
            assert!(left.is_none_or(|left| left < buckets(histogram.clone())), "{cut}");
        }
        assert_eq!(Histogram::read(&[&bytes[..], &[0]].concat()), None);
    }
}

/// By hand, from the grammar.
#[test]
fn bytes_are_as_they_are_written_down() {
    let histogram = Histogram {
        resets: Resets::Gauge,
        is_integer: true,
        schema: -1,
        zero_count: 1.0,
        count: 201.0,
        positive: buckets(&[(-1, 150.0), (0, 50.0)]),
        ..Histogram::default()
    };
    let mut bytes = Vec::new();
    histogram.write(&mut bytes);
    // Six fields; 2^20 - 1 is ff ff 3f.
    let fields = [6, 7, 1, 0, 1, 0xc9, 1, 0];
    assert_eq!(bytes, [&[0xb1][..], &fields, &[0xff, 0xff, 0x3f, 0x96, 1, 0, 50]].concat());
    // OpenTSDB's histograms begin with their version, 1.
    assert!(Histogram::is_native(&bytes) && !Histogram::is_native(&[1, 0, 0]));
}

#[test]
fn bytes_that_promise_too_much_are_none() {
    let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
    let head = [0xb1, 6, 0, 0, 0, 0, 0, 0];
    assert!(Histogram::read(&head).is_some());
    let cases: [&[u8]; 8] = [
        // Fields without end, too few, a key beyond all, a bucket without a count.
        &[&[0xb1][..], &huge, &[0; 8]].concat(),
        &[0xb1, 5, 0, 0, 0, 0, 0],
        &[&head[..], &huge, &[1]].concat(),
        &[&head[..], &[0xff, 0xff, 0x3f]].concat(),
        // Schema 9, hint 8, bounds of an exponential schema.
        &[0xb1, 6, 0, 18, 0, 0, 0, 0],
        &[0xb1, 6, 8, 0, 0, 0, 0, 0],
        &[0xb1, 7, 0, 0, 0, 0, 0, 0, 1],
        // Custom bounds that do not ascend.
        &[0xb1, 8, 0, 105, 0, 0, 0, 0, 1, 1],
    ];
    for case in cases {
        assert_eq!(Histogram::read(case), None, "{case:x?}");
    }
}

#[test]
fn what_breaks_a_rule_is_refused_with_it() {
    let good = Histogram { count: 313.0, ..example() };
    assert!(good.clone().checked(3).is_ok());
    let refused = |of: Histogram, schema: i32| of.checked(schema).unwrap_err().to_string();
    let word = |text: String, word: &str| assert!(text.contains(word), "{text}");
    word(refused(example(), 3), "313 observations are in the buckets");
    word(refused(good.clone(), 60), "schema 60");
    word(refused(good.clone(), -5), "schema -5");
    word(refused(Histogram { count: -1.0, ..custom() }, -53), "negative count");
    word(refused(Histogram { zero_count: 1.0, ..custom() }, -53), "bucket around zero");
    word(refused(Histogram { bounds: [1.0, 1.0].into(), ..custom() }, -53), "ascend");
    word(refused(Histogram { bounds: [1.0].into(), ..custom() }, -53), "beyond");
    word(refused(custom(), 3), "must not have custom bounds");
    // Observations that are no numbers are counted, and nowhere else.
    let nan = Histogram { sum: f64::NAN, count: 400.0, ..good };
    assert!(nan.clone().checked(3).is_ok());
    word(refused(Histogram { count: 300.0, ..nan }, 3), "its count is 300");
}

#[test]
fn spans_need_as_many_counts_and_go_forward() {
    let of = Histogram::buckets_of(&[(2, 2), (0, 0), (3, 1)], &[1.0, 2.0, 3.0]).unwrap();
    assert_eq!(of, buckets(&[(2, 1.0), (3, 2.0), (7, 3.0)]));
    assert_eq!(Histogram::spans(&of).collect::<Vec<_>>(), [(2, 2), (3, 1)]);
    assert!(Histogram::buckets_of(&[(2, u32::MAX)], &[1.0]).is_err());
    assert!(Histogram::buckets_of(&[(2, 1), (-1, 1)], &[1.0, 1.0]).is_err());
    assert!(Histogram::buckets_of(&[(i32::MAX, 1), (1, 1)], &[1.0, 1.0]).is_err());
    assert!(Histogram::buckets_of(&[(1 << 20, 1)], &[1.0]).is_err());
    assert!(Histogram::buckets_of(&[((1 << 20) - 1, 1)], &[1.0]).is_ok());
    assert!(Histogram::buckets_of(&[(0, 1)], &[-1.0]).is_err());
}

/// Of schema 2 buckets -3..=0 lie in (0.5, 1], 1..=4 in (1, 2]; of schema 1 two buckets each.
#[test]
fn a_coarser_schema_merges_buckets() {
    let mut of = Histogram {
        schema: 2,
        positive: buckets(&[(-3, 1.0), (0, 2.0), (1, 4.0), (2, 8.0), (4, 16.0)]),
        ..Histogram::default()
    };
    of.reduce(1);
    assert_eq!(of.positive, buckets(&[(-1, 1.0), (0, 2.0), (1, 12.0), (2, 16.0)]));
    of.reduce(0);
    assert_eq!((of.schema, of.positive), (0, buckets(&[(0, 3.0), (1, 28.0)])));
}

proptest! {
    #[test]
    fn random_bytes_are_survived(mut bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Histogram::read(&bytes);
        if let Some(first) = bytes.first_mut() {
            *first = 0xb1;
        }
        if let Some(read) = Histogram::read(&bytes) {
            let mut again = Vec::new();
            read.write(&mut again);
            let read_again = Histogram::read(&again).map(|of| format!("{of:?}"));
            prop_assert_eq!(read_again, Some(format!("{read:?}")));
            prop_assert!(read.memory_bytes() <= 1024 + 32 * bytes.len());
        }
    }
}
