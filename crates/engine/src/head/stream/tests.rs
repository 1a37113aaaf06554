//! What goes into a stream comes out of it.

use super::*;
use proptest::prelude::*;

fn write(samples: &[Decoded], text: &[u8]) -> Vec<u8> {
    let mut tail = Tail::default();
    let mut out = Vec::new();
    for (index, sample) in samples.iter().enumerate() {
        let Decoded { time_ns, kind_scale, bits } = *sample;
        if index == 0 {
            out.extend_from_slice(encode_first(&mut tail, time_ns, kind_scale, bits).as_slice());
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
    bytes.len()
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
    let bits = prop_oneof![0..200u64, any::<u64>(), Just(u64::MAX)];
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
