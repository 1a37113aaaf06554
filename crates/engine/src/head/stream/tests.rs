//! What goes into a stream comes out of it.

use super::*;
use crate::columns::Columns;
use crate::run::{Run, RunTimes, RunValues};
use foliot_model::TimeRange;
use proptest::prelude::*;

fn write(samples: &[Decoded], text: &[u8]) -> Vec<u8> {
    let mut tail = Tail::default();
    let mut out = Vec::new();
    for (index, sample) in samples.iter().enumerate() {
        let Decoded { time_ns, kind_scale, bits } = *sample;
        if index == 0 {
            out.extend_from_slice(encode_first(&mut tail, time_ns, kind_scale, bits).as_slice());
        } else if let Some((code, len)) = encode_step(&mut tail, time_ns, kind_scale, bits) {
            out.extend_from_slice(&code[..len as usize]);
        } else {
            out.extend_from_slice(encode_any(&mut tail, time_ns, kind_scale, bits).as_slice());
        }
        if kind_scale.is_bytes() {
            out.extend_from_slice(&text[..bits as usize]);
        }
    }
    out
}

fn check(samples: &[Decoded], text: &[u8]) -> usize {
    let bytes = write(samples, text);
    let mut reader = Reader::new(&bytes);
    for sample in samples {
        let mut found = reader.next().expect("a sample");
        if found.kind_scale.is_bytes() {
            let (offset, len) = ((found.bits >> 32) as usize, found.bits & 0xffff_ffff);
            assert_eq!(bytes[offset..offset + len as usize], text[..len as usize]);
            found.bits = len;
        }
        assert_eq!(found, *sample);
    }
    assert_eq!(reader.next(), None);
    check_columns(samples, &bytes);
    bytes.len()
}

/// Runs of samples that are written as most are, are read at once where a whole stream is wanted.
fn check_columns(samples: &[Decoded], bytes: &[u8]) {
    let mut columns = Columns::default();
    let mut reader = Reader::new(bytes);
    while let Some(sample) = reader.next() {
        columns.push(sample, bytes);
        reader.run(TimeRange::ALL, &mut columns);
    }
    assert_eq!(columns.len(), samples.len());
    for (index, sample) in samples.iter().enumerate() {
        let found = columns.get(index).expect("a sample");
        assert_eq!((found.time_ns, found.kind_scale), (sample.time_ns, sample.kind_scale));
        assert!(sample.kind_scale.is_bytes() || found.bits == sample.bits);
    }
    check_ranges(samples, bytes);
    if let Ok(steady) = steady_of(samples, bytes.to_vec()) {
        check_steady(samples, &steady);
    }
}

/// What is passed over lies outside the range that was asked for, and leaves the rest as it is.
fn check_ranges(samples: &[Decoded], bytes: &[u8]) {
    let told = |of: &[Decoded]| {
        let told = of.iter().map(|one| (one.time_ns, one.kind_scale, one.kind_scale.is_bytes()));
        let bits = of.iter().map(|one| if one.kind_scale.is_bytes() { 0 } else { one.bits });
        told.zip(bits).collect::<Vec<_>>()
    };
    let steps = [0, samples.len() / 3, samples.len() / 2, samples.len() - 1];
    for (from, to) in steps.into_iter().flat_map(|from| steps.map(|to| (from, to))) {
        let range = TimeRange::new(samples[from].time_ns, samples[to].time_ns);
        let mut columns = Columns::default();
        let mut reader = Reader::of(bytes, outline(samples));
        while let Some(sample) = reader.next() {
            columns.push(sample, bytes);
            reader.run(range, &mut columns);
            if reader.is_past(range) {
                break;
            }
        }
        let found: Vec<_> = (0..columns.len()).map(|index| columns.get(index).unwrap()).collect();
        let within = |of: &[Decoded]| {
            let within = of.iter().filter(|sample| range.contains(sample.time_ns));
            told(&within.copied().collect::<Vec<_>>())
        };
        assert_eq!(within(&found), within(samples), "{range:?}");
    }
}

fn outline(samples: &[Decoded]) -> Outline {
    Outline {
        count: samples.len() as u16,
        last_ns: samples[samples.len() - 1].time_ns,
        ascends: samples.is_sorted_by(|a, b| a.time_ns < b.time_ns),
    }
}

fn steady_of(samples: &[Decoded], bytes: Vec<u8>) -> Result<Steady, Vec<u8>> {
    Steady::of(bytes, outline(samples))
}

/// A sample's value, which is the same at any scale.
fn text(sample: &Decoded) -> String {
    format!("{:?}", crate::columns::value(*sample, &[]))
}

/// A steady stream tells the same samples without being laid out.
fn check_steady(samples: &[Decoded], steady: &Steady) {
    let within = |range| {
        let columns = steady.columns(range);
        (0..columns.len()).map(|index| columns.get(index).unwrap()).collect::<Vec<_>>()
    };
    let all = within(TimeRange::ALL);
    let told = |of: &[Decoded]| of.iter().map(|s| (s.time_ns, text(s))).collect::<Vec<_>>();
    assert_eq!(told(&all), told(samples));
    let (first, last) = (samples[0].time_ns, samples[samples.len() - 1].time_ns);
    assert_eq!(steady.range(), TimeRange::new(first, last));
    let steps = [0, samples.len() / 3, samples.len() / 2, samples.len() - 1];
    for (from, to) in steps.into_iter().flat_map(|from| steps.map(|to| (from, to))) {
        // Between two samples, at one, and beyond the ends.
        let bounds = [(-1, 1), (0, 0), (1, -1)];
        for (before, behind) in bounds {
            let start_ns = samples[from].time_ns.saturating_add(before);
            let range = TimeRange::new(start_ns, samples[to].time_ns.saturating_add(behind));
            let mut run = Run::default();
            run.take_steady(steady, range);
            let found: Vec<_> = match run.values() {
                RunValues::Wholes { wholes, .. } => wholes.iter().map(|one| *one as u64).collect(),
                RunValues::Samples(samples) => {
                    samples.iter().map(|(_, value)| value.as_f64().unwrap().to_bits()).collect()
                }
            };
            let found = found.into_iter().enumerate().map(|(at, bits)| Decoded {
                time_ns: run.time_ns(at).unwrap(),
                kind_scale: steady.kind_scale(),
                bits,
            });
            let wanted = samples.iter().filter(|sample| range.contains(sample.time_ns));
            let wanted: Vec<_> = wanted.copied().collect();
            assert_eq!(told(&found.collect::<Vec<_>>()), told(&wanted), "{range:?}");
            assert_eq!(told(&within(range)), told(&wanted), "{range:?}");
            let wanted: Vec<_> = wanted.iter().map(|sample| sample.time_ns).collect();
            match run.times() {
                RunTimes::Each(times_ns) => assert_eq!(times_ns, wanted),
                RunTimes::Steady { first_ns, step_ns } => {
                    let at = |at: i64| first_ns + step_ns * at;
                    assert_eq!((0..run.len() as i64).map(at).collect::<Vec<_>>(), wanted);
                }
            }
        }
    }
}

#[test]
fn a_regular_gauge_takes_one_byte_a_sample() {
    let integer = KindScale::new(Kind::Integer, 0);
    let sample = |i: i64| Decoded {
        time_ns: 1_700_000_000_000_000_000 + i * 10_000_000_000,
        kind_scale: integer,
        bits: (50 + i % 7) as u64,
    };
    let samples: Vec<_> = (0..100).map(sample).collect();
    assert!(check(&samples, b"") <= 100 + 14);
}

/// Long stretches of one byte a sample are passed over many at a time, before the range and behind.
#[test]
fn what_lies_outside_the_range_is_passed_over() {
    let sample = |i: i64| Decoded {
        time_ns: 1_700_000_000_000_000_000 + i * 10_000_000_000,
        kind_scale: KindScale::new(Kind::Integer, 0),
        bits: (50 + i * i % 64) as u64,
    };
    let steps = (0..150).chain([155, 153, 151]).chain(156..300).chain([90]).chain(301..350);
    let samples: Vec<_> = steps.map(sample).collect();
    check(&samples, b"");
    let bytes = write(&samples, b"");
    for (at, sample) in samples.iter().enumerate() {
        let range = TimeRange::new(sample.time_ns, sample.time_ns);
        let mut columns = Columns::default();
        let mut reader = Reader::new(&bytes);
        reader.next();
        while reader.left() > 0 {
            reader.run(range, &mut columns);
            reader.next().into_iter().for_each(|sample| columns.push(sample, &bytes));
        }
        assert!(columns.len() < 20, "{at}: {} of them were kept", columns.len());
    }
}

#[test]
fn what_goes_on_regularly_is_steady_and_nothing_else_is() {
    let sample = |i: i64| Decoded {
        time_ns: i * 10_000_000_000,
        kind_scale: KindScale::new(Kind::Float, 2),
        bits: (5_000 + i % 7) as u64,
    };
    let steady: Vec<_> = (0..100).map(sample).collect();
    let is_steady = |samples: &[Decoded]| steady_of(samples, write(samples, b"")).is_ok();
    assert!(is_steady(&steady) && is_steady(&steady[..2]));
    let but = |at: usize, change: &dyn Fn(&mut Decoded)| {
        let mut samples = steady.clone();
        change(&mut samples[at]);
        samples
    };
    assert!(!is_steady(&steady[..1]), "one sample has no step");
    for at in [1, 50, 99] {
        for scale in [0, 1, 3, 14] {
            let samples = but(at, &|sample| sample.kind_scale = KindScale::new(Kind::Float, scale));
            assert!(is_steady(&samples), "{at} {scale}");
            check(&samples, b"");
        }
        // Where others would be too large as decimals of that scale, or are none.
        for scale in [15, 22, RAW_SCALE] {
            let samples = but(at, &|sample| sample.kind_scale = KindScale::new(Kind::Float, scale));
            assert!(is_steady(&samples), "{at} {scale}");
            check(&samples, b"");
        }
        let other = KindScale::new(Kind::Integer, 0);
        assert!(!is_steady(&but(at, &|sample| sample.kind_scale = other)), "{at}");
    }
    for at in [50, 99] {
        assert!(!is_steady(&but(at, &|sample| sample.time_ns += 1)), "{at}");
        // However far it is away.
        for shift in 0..64 {
            let samples = but(at, &|sample| sample.bits = sample.bits.wrapping_add(1 << shift));
            assert!(is_steady(&samples), "{at} {shift}");
            check(&samples, b"");
        }
    }
    let raw = KindScale::new(Kind::Float, RAW_SCALE);
    let floats = |sample: &Decoded| Decoded { kind_scale: raw, ..*sample };
    let floats: Vec<_> = steady.iter().map(floats).collect();
    assert!(is_steady(&floats));
    check(&floats, b"");
    let back: Vec<_> = steady.iter().rev().copied().collect();
    assert!(!is_steady(&back), "times fall");
}

#[test]
fn late_samples_and_gaps_take_two_bytes() {
    let sample = |i: i64| Decoded {
        time_ns: 1_700_000_000_000_000_000 + i * 10_000_000_000,
        kind_scale: KindScale::new(Kind::Integer, 0),
        bits: (50 + i % 7) as u64,
    };
    let steps = [0, 1, 2, 5, 3, 4, 30, 7, 6, 6, 31, 32, 8, 33];
    let samples: Vec<_> = steps.into_iter().map(sample).collect();
    assert!(check(&samples, b"") <= 11 + 4 + 12 * 2);
}

#[test]
fn a_number_one_step_on_takes_its_difference_and_a_control_byte_when_it_moved_far() {
    let float = |scale| KindScale::new(Kind::Float, scale);
    let start = Tail { time_ns: 1_000, bits: 1_000, step: 5, unit: 1, kind_scale: float(2) };
    let step = |kind_scale, bits| {
        let mut tail = start;
        let found = encode_step(&mut tail, 6_000, kind_scale, bits);
        found.map(|(code, len)| (code[..len as usize].to_vec(), tail.time_ns, tail.bits))
    };
    let code = |bytes: &[u8], bits: u64| Some((bytes.to_vec(), 6_000, bits));
    assert_eq!(step(float(2), 1_063), code(&[126], 1_063));
    assert_eq!(step(float(2), 936), code(&[127], 936));
    assert_eq!(step(float(2), 1_064), code(&[0xa1, 128], 1_064));
    assert_eq!(step(float(2), 1_127), code(&[0xa1, 254], 1_127));
    assert_eq!(step(float(2), 1_128), code(&[0xc2, 0x00, 0x01], 1_128));
    assert_eq!(step(float(2), 999_000), code(&[0xc3, 0xe0, 0x74, 0x1e], 999_000));
    let far = 1_000 + (1 << 32);
    assert_eq!(step(float(2), far), code(&[0xc5, 0, 0, 0, 0, 2, 0], far));
    let below = 999u64.wrapping_sub(i64::MAX as u64);
    assert_eq!(step(float(2), below), code(&[&[0xc6][..], &[255; 8]].concat(), below));
    assert_eq!(step(float(3), 150), code(&[0xc7, float(3).0, 0xac, 0x02], 150));
    let lowest = i64::MIN as u64;
    let longest = [&[0xc7, float(3).0][..], &[255; 9], &[1]].concat();
    assert_eq!(step(float(3), lowest), code(&longest, lowest));
    let raw = f64::NAN.to_bits();
    let whole = [&[0xc7, float(RAW_SCALE).0][..], &raw.to_le_bytes()].concat();
    assert_eq!(step(float(RAW_SCALE), raw), code(&whole, raw));
    assert_eq!(step(KindScale::new(Kind::String, 0), 9), None);
    assert_eq!(encode_step(&mut { start }, 6_001, float(3), 150), None);
}

fn sample() -> impl Strategy<Value = (i64, u8, u8, u64)> {
    let step = prop_oneof![
        Just(10_000_000_000i64),
        Just(1_000_000),
        1..5_000_000_000i64,
        Just(i64::MAX / 300),
        Just(i64::MIN / 300),
        (-100i64..100).prop_map(|steps| steps * 10_000_000_000),
        -5_000_000_000..5_000_000_000i64,
        Just(0),
    ];
    let bits = prop_oneof![
        0..200u64,
        any::<u64>(),
        (any::<u64>(), 0..64u32).prop_map(|(bits, shift)| bits >> shift),
        Just(u64::MAX),
    ];
    (step, 0..6u8, prop_oneof![0..23u8, Just(RAW_SCALE)], bits)
}

proptest! {
    #[test]
    fn what_goes_in_comes_out(
        start in prop_oneof![any::<i64>().prop_map(|t| t / 4), Just(-1), Just(0)],
        steps in prop::collection::vec(sample(), 1..60),
    ) {
        let text = b"some text of thirty-two letters.";
        let mut time_ns = start;
        let samples: Vec<_> = steps
            .into_iter()
            .map(|(step, kind, scale, bits)| {
                time_ns = time_ns.wrapping_add(step);
                let kind = Kind::from_code(kind).unwrap();
                let scale = if kind == Kind::Float { scale } else { 0 };
                let bits = match kind {
                    Kind::Boolean => bits & 1,
                    kind if kind.is_bytes() => bits % text.len() as u64,
                    _ => bits,
                };
                Decoded { time_ns, kind_scale: KindScale::new(kind, scale), bits }
            })
            .collect();
        check(&samples, text);
    }
}

fn number_scale() -> impl Strategy<Value = u8> {
    prop_oneof![8 => 0..6u8, 1 => Just(RAW_SCALE), 1 => 0..23u8]
}

proptest! {
    /// Numbers of which some end with zeros that are not written, as programs print them.
    #[test]
    fn decimals_of_several_scales_are_steady(
        all in prop::collection::vec((number_scale(), -40_000..40_000_i64), 2..200),
    ) {
        let sample = |(index, (scale, whole)): (usize, &(u8, i64))| Decoded {
            time_ns: index as i64 * 15_000_000_000,
            kind_scale: KindScale::new(Kind::Float, *scale),
            bits: *whole as u64,
        };
        let samples: Vec<_> = all.iter().enumerate().map(sample).collect();
        prop_assert!(steady_of(&samples, write(&samples, b"")).is_ok());
        check(&samples, b"");
    }
}

proptest! {
    /// The code of one step is the code that [`encode_any`] makes, and leaves the same tail.
    #[test]
    fn the_code_of_a_step_is_no_code_of_its_own(
        before in (any::<u64>(), any::<u64>(), 0..64u32, 1..100_000u32, 0..4u8),
        scales in (0..23u8, prop_oneof![0..23u8, Just(RAW_SCALE)], any::<bool>()),
    ) {
        let (last, bits, shift, step, unit) = before;
        let kind_scale = KindScale::new(Kind::Float, scales.0);
        let next = if scales.2 { kind_scale } else { KindScale::new(Kind::Float, scales.1) };
        let bits = last.wrapping_add(bits >> shift);
        let time_ns = 1_700_000_000_000_000_000;
        let mut short = Tail { time_ns, bits: last, step, unit, kind_scale };
        let mut long = short;
        let next_ns = time_ns + i64::from(step) * unit_ns(unit);
        let (code, len) = encode_step(&mut short, next_ns, next, bits).unwrap();
        let expected = encode_any(&mut long, next_ns, next, bits);
        prop_assert_eq!(&code[..len as usize], expected.as_slice());
        let all = |tail: Tail| (tail.time_ns, tail.bits, tail.step, tail.unit, tail.kind_scale);
        prop_assert_eq!(all(short), all(long));
    }
}
