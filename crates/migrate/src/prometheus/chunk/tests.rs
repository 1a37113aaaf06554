//! Chunks that the code of Prometheus 3.14 (`tsdb/chunkenc`) wrote, with and without starts.

use super::*;

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digit).collect()
}

fn points(encoding: u8, hex: &str) -> Vec<(i64, Point)> {
    let mut points = Vec::new();
    let read = super::read(encoding, &bytes(hex), &mut |time_ms, point| {
        points.push((time_ms, point));
        Ok(())
    });
    read.unwrap();
    points
}

/// Times and bits of the numbers of a chunk.
fn numbers(hex: &str) -> Vec<(i64, u64)> {
    let number = |(time_ms, point)| match point {
        Point::Number(value) => (time_ms, value.to_bits()),
        Point::Histogram(_) => panic!("a histogram"),
    };
    points(NUMBERS_STARTED, hex).into_iter().map(number).collect()
}

#[test]
fn numbers_are_the_same_with_and_without_starts() {
    // Steps that change by little, by much and by more than 2^32; marks; values old and new.
    let wanted = [
        (1000, 1.0),
        (2000, 1.0),
        (3000, 2.0),
        (4100, 2.0),
        (5000, -0.5),
        (6000, STALE),
        (7000, -0.5),
        (10_000, STALE),
        (600_000, 1e300),
        (10_000_000_000, 1e-300),
        (10_000_001_000, 1e-300),
        (10_000_002_000, 1e-300),
        (10_000_003_000, 7.0),
        (10_000_004_000, 8.0),
    ];
    let wanted = wanted.map(|(time_ms, value): (i64, f64)| (time_ms, value.to_bits()));
    for hex in [
        // None; from the first on; from the sixth on.
        "000e00d00f3ff0000000000000e8075097fff0191be71805fffc064ec7d0fe000000000008f4f8c0fb075f90f2\
         2001d67f0000000129fcddc860fffe4a288d2be21b17dfffffffb57fa8f5048372dc3f85f1e6b3001e00000000\
         000000",
        "000e81d00f3ff0000000000000e807e8077b83284bffec06468b7ce300bfffcc8c064fd9c711b1f43fa0c3c000\
         000000011e9f181f60ebf21e44003acffbee1611e0000000253f9bb90c1fffc94511a57c4362ff7ffffed60322\
         5b7bfffffff6aff51ea1fc000004a80570b048372dc3f85f1e6b3c46800f00000000000000",
        "000e05d00f3ff0000000000000e8075097fff0191be71805fffc064ff02006f1f463e87f1f478000000000023d\
         3e303ec1d7e43c8800759fe02edfc00000004a7f3772183fff928a234af886c5fc0900b0f7ffffffed5fea3d43\
         f8000009500af101e3e8906e5b87f0be3cd67c7cf001e00000000000078fa0",
    ] {
        assert_eq!(numbers(hex), wanted);
        let whole = bytes(hex);
        for end in 0..whole.len() - 1 {
            let _ = super::read(NUMBERS_STARTED, &whole[..end], &mut |_, _| Ok(()));
        }
    }
    let wanted = [(1000, STALE), (1500, STALE), (1500, 3.0), (2500, 4.0)];
    let hex = "000482d00f7ff0000000000002c60ff403fbc19826400f975b0fa20030";
    assert_eq!(numbers(hex), wanted.map(|(time_ms, value)| (time_ms, value.to_bits())));
}

#[test]
fn histograms_are_read_past_their_starts() {
    // Starts change behind the third; the fifth is a mark.
    let hex = "000583ff3f50624dd2f1a9fc8c65178fa2600000000000000008c6203bc7d738e22fffc5ba3097ffcc31\
               ac4d3e02c7f7462f7fe2000000000003e3ea";
    let seen: Vec<(i64, f64, f64)> = points(HISTOGRAMS_STARTED, hex)
        .into_iter()
        .map(|(time_ms, point)| {
            let Point::Histogram(Ok(of)) = point else { panic!("no histogram: {point:?}") };
            (time_ms, of.count, of.sum)
        })
        .collect();
    assert_eq!(
        seen[..4],
        [(1000, 3.0, 0.0), (2003, 6.0, 1.5), (3000, 9.0, 3.0), (4003, 12.0, 4.5)]
    );
    assert_eq!((seen.len(), seen[4].0, seen[4].2.to_bits()), (5, 5000, STALE.to_bits()));
    // A gauge: its hint shares the bytes of the number of samples.
    let hex = "c00481ff3f50624dd2f1a9fc8c65178fa100200000000000000000000000000000000000000000000\
               0ffc00000000000010000000000000002203bc7d1ac1e22bffc45fffc25fffd80fc706d42f7097fff097fff\
               603d617e3e745d80f589bac2f683f1f380";
    let points = points(FLOAT_HISTOGRAMS_STARTED, hex);
    for (k, (time_ms, point)) in points.iter().enumerate() {
        let Point::Histogram(Ok(of)) = point else { panic!("no histogram: {point:?}") };
        let k_f64 = k as f64;
        assert_eq!((*time_ms, of.resets), (1000 + 1000 * k as i64, Resets::Gauge));
        assert_eq!((of.count, of.zero_count, of.sum), (3.0 * k_f64 + 3.0, k_f64, k_f64 * 1.5));
        let counts: Vec<f64> = of.positive.iter().map(|bucket| bucket.count).collect();
        assert_eq!(counts, [k_f64 + 1.0, k_f64 + 2.0]);
    }
    assert_eq!(points.len(), 4);
}
