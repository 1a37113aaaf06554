//! Measures decoding, hashing included: `cargo run --release -p foliot-proto-influx --example
//! decode_bench`. Prints values and megabytes per second of one core for lines like those of the
//! Time Series Benchmark Suite ("cpu-only": ten tags, ten integer fields) and for less regular
//! ones.

#![allow(clippy::print_stdout, reason = "the report is the product of this program")]

use foliot_model::{Batch, BatchBuffers, KeySecret};
use foliot_proto_influx::{Decoder, LINE_SYNTAX, Settings};
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

const HOSTS: u64 = 4_000;
const LINES: u64 = 10_000;
const BODIES: u64 = 4;
const PASSES: usize = 15;
const FIELDS: [&str; 10] = [
    "usage_user",
    "usage_system",
    "usage_idle",
    "usage_nice",
    "usage_iowait",
    "usage_irq",
    "usage_softirq",
    "usage_steal",
    "usage_guest",
    "usage_guest_nice",
];

fn main() {
    let forms: [(&str, Line); 6] = [
        ("hosts in order, integers", |out, random, n| line(out, random, n % HOSTS, integer, ALL)),
        ("hosts shuffled, integers", |out, random, _| {
            let host = random.next() % HOSTS;
            line(out, random, host, integer, ALL);
        }),
        ("hosts in order, short floats", |out, random, n| line(out, random, n % HOSTS, float, ALL)),
        ("hosts in order, long floats", |out, random, n| {
            line(out, random, n % HOSTS, long_float, ALL);
        }),
        ("each field in half of the lines", |out, random, n| {
            let fields = random.next() as u16 & ALL | 1;
            line(out, random, n % HOSTS, integer, fields);
        }),
        ("one field per line", |out, random, n| {
            let field = 1 << (n % 10);
            line(out, random, n / 10 % HOSTS, integer, field);
        }),
    ];
    // An argument picks the forms whose names contain it.
    let wanted = std::env::args().nth(1).unwrap_or_default();
    for (name, form) in forms.into_iter().filter(|(name, _)| name.contains(&wanted)) {
        measure(name, form);
    }
}

/// Writes the line number `n`.
type Line = fn(&mut String, &mut Random, n: u64);

/// All fields, one bit each.
const ALL: u16 = 0x3ff;

fn measure(name: &str, form: Line) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let bodies: Vec<String> = (0..BODIES)
        .map(|body| {
            let mut text = String::new();
            (0..LINES).for_each(|n| form(&mut text, &mut random, body * LINES + n));
            text
        })
        .collect();
    let bytes: usize = bodies.iter().map(String::len).sum();
    let mut decoder = Decoder::default();
    let mut buffers = BatchBuffers::default();
    let mut rejects = Vec::new();
    let mut values = 0;
    let mut best_seconds = f64::MAX;
    for _ in 0..PASSES {
        values = 0;
        let start = Instant::now();
        for body in &bodies {
            let mut batch = Batch::new(
                body.as_bytes(),
                0,
                &LINE_SYNTAX,
                KeySecret(1),
                std::mem::take(&mut buffers),
            );
            decoder.decode(&mut batch, Settings::default(), &mut rejects);
            values += black_box(&batch).samples();
            buffers = batch.into_buffers();
        }
        best_seconds = best_seconds.min(start.elapsed().as_secs_f64());
    }
    assert!(rejects.is_empty(), "{rejects:?}");
    let lines = (BODIES * LINES) as f64;
    println!(
        "{name:32} {:6.1} M values/s {:6.0} MB/s {:6.0} ns/line of {:.0} bytes",
        values as f64 / best_seconds / 1e6,
        bytes as f64 / best_seconds / 1e6,
        best_seconds * 1e9 / lines,
        bytes as f64 / lines,
    );
}

fn line(
    out: &mut String,
    random: &mut Random,
    host: u64,
    value: fn(&mut String, &mut Random),
    fields: u16,
) {
    let _ = write!(
        out,
        "cpu,hostname=host_{host},region=eu-central-1,datacenter=eu-central-1a,rack={},\
         os=Ubuntu15.10,arch=x86,team=SF,service={},service_version=1,service_environment=test",
        host % 100,
        host % 20,
    );
    let mut separator = ' ';
    for (index, field) in FIELDS.iter().enumerate().filter(|(index, _)| fields >> index & 1 == 1) {
        debug_assert!(index < 10);
        out.push(separator);
        out.push_str(field);
        out.push('=');
        value(out, random);
        separator = ',';
    }
    let _ =
        writeln!(out, " {}", 1_451_606_400_000_000_000 + random.next() % 1_000 * 10_000_000_000);
}

fn integer(out: &mut String, random: &mut Random) {
    let _ = write!(out, "{}i", random.next() % 101);
}

fn float(out: &mut String, random: &mut Random) {
    let _ = write!(out, "{}", (random.next() % 10_001) as f64 / 100.0);
}

fn long_float(out: &mut String, random: &mut Random) {
    let _ = write!(out, "{}", (random.next() >> 11) as f64 / (1u64 << 53) as f64 * 100.0);
}

/// Marsaglia's xorshift generator, 2003: the same lines in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}
