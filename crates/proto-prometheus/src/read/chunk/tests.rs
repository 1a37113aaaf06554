//! Chunks beside those that the code of Prometheus 3.6 (`tsdb/chunkenc`) made of the same samples.

use super::*;
use crate::samples::STALE;
use foliot_model::{Bucket, Resets};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A varint field of a message, and what is behind it.
fn varint(bytes: &[u8]) -> (u64, &[u8]) {
    let (mut value, mut at) = (0, 1);
    loop {
        value |= u64::from(bytes[at] & 0x7f) << (7 * (at - 1));
        at += 1;
        if bytes[at - 1] < 0x80 {
            return (value, &bytes[at..]);
        }
    }
}

/// The chunks of a series: first and last time, kind, and data as hexadecimal digits.
fn all(mut chunks: Chunks) -> Vec<(u64, u64, u64, String)> {
    let fields: Vec<u8> = chunks.pieces(usize::MAX).flatten().copied().collect();
    let (mut rest, mut all) = (&fields[..], Vec::new());
    while !rest.is_empty() {
        assert_eq!(rest[0], 2 << 3 | 2);
        let (length, chunk) = varint(rest);
        let (chunk, next) = chunk.split_at(length as usize);
        let (first_ms, chunk) = varint(chunk);
        let (last_ms, chunk) = varint(chunk);
        let (kind, chunk) = varint(chunk);
        let (length, data) = varint(chunk);
        assert_eq!(length as usize, data.len());
        all.push((first_ms, last_ms, kind, hex(data)));
        rest = next;
    }
    all
}

#[test]
fn numbers_are_spelled_as_prometheus_spells_them() {
    let samples = [
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
        (10_000_004_000, 8.0),
        (10_000_012_192, 0.0),
        (10_000_012_193, -0.0),
        (10_000_150_000, f64::INFINITY),
    ];
    let mut chunks = Chunks::default();
    samples.iter().for_each(|(time_ms, value)| chunks.push_number(*time_ms, *value));
    let data = "0012d00f3ff0000000000000e8073097ffe01917e7180bfff00c983fc010000000000002b00400000000\
         0000c3e858020000000000007c000000000023d3e201c7e43c8800759fe00000004a7f3772187fff2514\
         4695f10d8bffffffffb57fa8f50141b96e1fc2f8f359400f0000000000002f0614001402000000000000\
         0a001c00f88693b019ffe0";
    assert_eq!(all(chunks), [(1000, 10_000_150_000, 1, data.to_owned())]);
}

fn buckets<const N: usize>(of: [(i32, i64); N]) -> Vec<Bucket> {
    of.into_iter().map(|(index, count)| Bucket { index, count: count as f64 }).collect()
}

/// A histogram of which each count follows from one number.
fn counting(n: i64) -> Histogram {
    Histogram {
        is_integer: true,
        schema: 3,
        zero_threshold: 0.001,
        zero_count: n as f64,
        count: (n + n + (n + 1) + (3 * n + 1) + n * n) as f64,
        sum: 1.5 * n as f64,
        positive: buckets([(-2, n), (-1, n + 1), (3, 3 * n + 1)]),
        negative: buckets([(1, n * n)]),
        ..Histogram::default()
    }
}

const T: i64 = 1_700_000_000_000;

#[test]
fn histograms_of_integers_are_spelled_as_prometheus_spells_them() {
    let mut chunks = Chunks::default();
    for (at, n) in [1, 5, 9, 9, 400_000, 90_000_000].into_iter().enumerate() {
        let at = at as i64;
        chunks.push_histogram(T + at * 15_000 + at * at, counting(n));
    }
    let data = "000600ff3f50624dd2f1a9fc9ca568ce318ff0000c5e7f2b40062627ff000000000000118ca3f07533c3\
         0a613bff3a311989681a86d46825db0de378dc77225fc00004a81c5bcf3f80c34ef9d284a7ff01869ddf\
         81869ddfc00004a817c7f5f2fe1cc69dd5184187fe00000005511589d0cc12c2fff800000015445625fc\
         00000015445625fc398d3b6a6380a2";
    assert_eq!(all(chunks), [(T as u64, T as u64 + 75_025, 2, data.to_owned())]);
}

#[test]
fn histograms_of_floats_are_spelled_as_prometheus_spells_them() {
    let mut chunks = Chunks::default();
    for (at, n) in [1, 5, 9, 9, 400_000].into_iter().enumerate() {
        let (is_integer, zero_threshold) = (false, 0.007_812_5);
        let of = Histogram { resets: Resets::Gauge, is_integer, zero_threshold, ..counting(n) };
        chunks.push_histogram(T + at as i64 * 15_000, of);
    }
    let data = "0005c0ed9ca568ce318ff0000c5e7f2b40020110000000000001ff80000000000001ffc0000000000001\
         ff8000000000000200000000000000020080000000000001ff80000000000007c1d4c69237709bff9c27\
         7fe784dffceb0bd40f09fff25a89b6ea177a86d750bbd427ec0bd24ed4019aa88e01c5be073a13a6b9d2\
         84a7f3a13a6b9d79e35039d98727c0e67616e05f20";
    assert_eq!(all(chunks), [(T as u64, T as u64 + 60_000, 3, data.to_owned())]);
}

#[test]
fn custom_bounds_are_spelled_as_prometheus_spells_them() {
    let mut chunks = Chunks::default();
    for (at, n) in [1, 5].into_iter().enumerate() {
        let of = Histogram {
            is_integer: true,
            schema: Histogram::CUSTOM,
            count: (2 * n + 3) as f64,
            sum: n as f64,
            positive: buckets([(0, n), (1, n), (6, 3)]),
            bounds: [0.005, 0.1, 2.5, 33_554.43, 1.0 / 3.0, 1e9].into(),
            ..Histogram::default()
        };
        chunks.push_histogram(1000 + at as i64 * 10, of);
    }
    let data = "00020000ee5ca48d16b7197d38bfbfffffe3fd555555555555520e6e6b28000000078fa2a3ff00000000\
         000008a58ac4309bff9a3780";
    assert_eq!(all(chunks), [(1000, 1010, 2, data.to_owned())]);
}

#[test]
fn what_cannot_follow_begins_a_chunk() {
    // First times of the chunks, and their kinds.
    let begun = |chunks: Chunks| {
        let all = all(chunks).into_iter();
        all.map(|(first_ms, _, kind, _)| (first_ms, kind)).collect::<Vec<_>>()
    };
    let mut chunks = Chunks::default();
    (0..241).for_each(|n| chunks.push_number(n, n as f64));
    // Two series may be one to whoever reads, so that times begin again.
    chunks.push_number(7, 1.0);
    let of = |resets| Histogram { resets, ..counting(1) };
    let fewer = Histogram { count: 8.0, negative: buckets([(1, 0)]), ..counting(1) };
    let elsewhere = Histogram { negative: buckets([(2, 1)]), ..of(Resets::NotReset) };
    let wider = Histogram { zero_threshold: 0.5, ..of(Resets::NotReset) };
    let stale = Histogram { sum: STALE, ..of(Resets::NotReset) };
    let all = [of(Resets::Unknown), of(Resets::NotReset), of(Resets::Reset), fewer.clone()];
    let all = all.into_iter().chain([Histogram { resets: Resets::NotReset, ..fewer }, elsewhere]);
    let all = all.chain([wider, of(Resets::Gauge), of(Resets::Gauge), stale]);
    for (at, histogram) in all.enumerate() {
        chunks.push_histogram(1000 + at as i64, histogram);
    }
    let numbers = [(0, 1), (120, 1), (240, 1), (7, 1)];
    let histograms = [1000, 1002, 1003, 1005, 1006, 1007, 1009].map(|first_ms| (first_ms, 2));
    assert_eq!(begun(chunks), [&numbers[..], &histograms].concat());
}

#[test]
fn chunks_go_out_in_pieces_that_are_not_too_long() {
    let mut chunks = Chunks::default();
    (0..1200).for_each(|n| chunks.push_number(n * n * n, f64::from(n as u32).sqrt()));
    let whole: Vec<u8> = chunks.pieces(usize::MAX).flatten().copied().collect();
    let pieces: Vec<usize> = chunks.pieces(2500).map(<[u8]>::len).collect();
    assert!(pieces.len() > 3 && pieces.iter().all(|bytes| *bytes <= 2500), "{pieces:?}");
    assert_eq!(pieces.iter().sum::<usize>(), whole.len());
    assert_eq!(chunks.pieces(1).count(), 10, "one that is too long is alone");
    let wide = (0..16_384).map(|n| Bucket { index: n, count: f64::from(n % 2) * 1e12 });
    let wide = Histogram { positive: wide.collect(), ..counting(0) };
    let mut chunks = Chunks::default();
    (0..3).for_each(|at| chunks.push_histogram(at, wide.clone()));
    assert_eq!(chunks.pieces(1).count(), 3);
}
