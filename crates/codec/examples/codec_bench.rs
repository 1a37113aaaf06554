//! Size and speed of the codecs on made-up series, one line per class.
//!
//! `cargo run --release -p foliot-codec --example codec_bench [class]...`
//!
//! Speeds are of one thread, in million samples per second, the best of several passes: a shared
//! machine only ever makes them worse.

#![allow(clippy::print_stdout, reason = "a table on the terminal is the purpose")]

use std::time::Instant;

use foliot_codec::{
    BlockValues, Decoded, Each, Scratch, decode_times, decode_values, encode_times, encode_values,
};

const BLOCKS: usize = 256;
const SAMPLES: usize = 1024;
const PASSES: usize = 25;
const KIND_FLOAT: u8 = 0;
const RAW_SCALE: u8 = 255;

fn main() {
    println!("{:10} {:>10} {:>10} {:>10}", "values", "B/sample", "enc M/s", "dec M/s");
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|other| other == name);
    for (name, scale, bits) in classes().into_iter().filter(|class| wanted(class.0)) {
        measure_values(name, scale, &bits);
    }
    println!("{:10} {:>10} {:>10} {:>10}", "times", "B/sample", "enc M/s", "dec M/s");
    for (name, times_ns) in time_classes().into_iter().filter(|class| wanted(class.0)) {
        measure_times(name, &times_ns);
    }
}

/// Name, scale and bits of each class.
fn classes() -> Vec<(&'static str, u8, Vec<u64>)> {
    let mut random = Random(0x2545_F491_4F6C_DD1D);
    let count = BLOCKS * SAMPLES;
    let mut classes = Vec::new();
    let mut add = |name, scale, values: Vec<i64>| {
        classes.push((name, scale, values.into_iter().map(|value| value as u64).collect()));
    };
    add("const", 0, vec![42; count]);
    let mut level = 7;
    let mut sparse = |random: &mut Random| {
        if random.unit() < 0.005 {
            level = (random.unit() * 100.0) as i64;
        }
        level
    };
    add("sparse", 0, (0..count).map(|_| sparse(&mut random)).collect());
    add("uni2", 2, (0..count).map(|_| (random.unit() * 10_000.0) as i64).collect());
    let walk = walk(&mut random, count);
    add("walk2", 2, walk.iter().map(|x| (x * 100.0).round() as i64).collect());
    let drift = |(i, noise): (usize, f64)| 200 + ((i as f64 / 500.0).sin() * 50.0 + noise) as i64;
    let noise: Vec<f64> = (0..count).map(|_| random.normal()).collect();
    add("temp1", 1, noise.iter().copied().enumerate().map(drift).collect());
    add("tsbs", 0, walk.iter().map(|x| *x as i64).collect());
    let mut total = 0;
    let mut counter = |random: &mut Random, chance| {
        if random.unit() < chance {
            total += (500.0 + 22.0 * random.normal()) as i64;
        }
        total
    };
    add("counter", 0, (0..count).map(|_| counter(&mut random, 1.0)).collect());
    add("jumpctr", 0, (0..count).map(|_| counter(&mut random, 0.1)).collect());
    add("switch", 0, (0..count).map(|i| i64::from(i / 50 % 3 == 1)).collect());
    add("memory", 0, walk.iter().map(|x| (x * 1e5) as i64 * 4096).collect());
    let floats = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect();
    let random_floats = (0..count).map(|_| random.unit()).collect();
    classes.push((
        "alp2",
        RAW_SCALE,
        floats(walk.iter().map(|x| (x * 100.0).round() / 100.0).collect()),
    ));
    classes.push(("f32", RAW_SCALE, floats(walk.iter().map(|x| f64::from(*x as f32)).collect())));
    classes.push(("walkF", RAW_SCALE, floats(walk)));
    classes.push(("rndF", RAW_SCALE, floats(random_floats)));
    classes
}

fn walk(random: &mut Random, count: usize) -> Vec<f64> {
    let mut x = 50.0;
    let mut step = || {
        x = f64::clamp(x + random.normal(), 0.0, 100.0);
        x
    };
    (0..count).map(|_| step()).collect()
}

fn time_classes() -> Vec<(&'static str, Vec<i64>)> {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let start = 1_700_000_000_000_000_000;
    let second = 1_000_000_000i64;
    let count = (BLOCKS * SAMPLES) as i64;
    let jitter_ms = |random: &mut Random| (random.normal() * 5.0) as i64 * 1_000_000;
    let jittered = (0..count).map(|i| start + i * 10 * second + jitter_ms(&mut random)).collect();
    let holes = (0..count).map(|i| start + (i + i / 300) * 10 * second).collect();
    let drift = |i: i64, random: &mut Random| i * 10_000_300_000 + (random.unit() * 2e6) as i64;
    vec![
        ("regular", (0..count).map(|i| start + i * 10 * second).collect()),
        ("holes", holes),
        ("jitter ms", jittered),
        ("drift ns", (0..count).map(|i| start + drift(i, &mut random)).collect()),
    ]
}

fn measure_values(name: &str, scale: u8, bits: &[u64]) {
    let mut scratch = Scratch::default();
    let mut decoded = Decoded::default();
    let mut blocks: Vec<Vec<u8>> = vec![Vec::new(); BLOCKS];
    let encode_ns = best_ns(|| {
        for (block, bits) in blocks.iter_mut().zip(bits.chunks_exact(SAMPLES)) {
            block.clear();
            let (kinds, scales) = (Each::One(KIND_FLOAT), Each::One(scale));
            let values = BlockValues { kinds, scales, bits, bytes: &[] };
            std::hint::black_box(encode_values(&values, &mut scratch, block));
        }
    });
    let decode_ns = best_ns(|| {
        for block in &blocks {
            let result = decode_values(block, SAMPLES, &mut decoded);
            assert!(std::hint::black_box(&result).is_ok() && decoded.floats.len() == SAMPLES);
        }
    });
    report(name, blocks.iter().map(Vec::len).sum(), encode_ns, decode_ns);
}

fn measure_times(name: &str, times_ns: &[i64]) {
    let mut blocks: Vec<Vec<u8>> = vec![Vec::new(); BLOCKS];
    let mut decoded = Vec::new();
    let encode_ns = best_ns(|| {
        for (block, times_ns) in blocks.iter_mut().zip(times_ns.chunks_exact(SAMPLES)) {
            block.clear();
            encode_times(times_ns, block);
        }
    });
    let decode_ns = best_ns(|| {
        for block in &blocks {
            decoded.clear();
            let result = decode_times(block, SAMPLES, &mut decoded);
            assert!(std::hint::black_box(&result).is_ok() && decoded.len() == SAMPLES);
        }
    });
    report(name, blocks.iter().map(Vec::len).sum(), encode_ns, decode_ns);
}

fn best_ns(mut pass: impl FnMut()) -> u128 {
    let mut one = || {
        let start = Instant::now();
        pass();
        start.elapsed().as_nanos()
    };
    (0..PASSES).map(|_| one()).min().unwrap_or_default()
}

fn report(name: &str, bytes: usize, encode_ns: u128, decode_ns: u128) {
    let count = BLOCKS * SAMPLES;
    let speed = |ns: u128| count as f64 * 1e3 / ns as f64;
    let size = bytes as f64 / count as f64;
    println!("{name:10} {size:10.3} {:10.0} {:10.0}", speed(encode_ns), speed(decode_ns));
}

/// Xorshift: the series are the same on each run.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Standard normal, by Box and Muller.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}
