//! Measures the store alone: batches of ten-field rows, already decoded, written in time order.
//!
//! `cargo run --release -p foliot-engine --example ingest -- DIR SOURCES STEPS`

#![allow(clippy::indexing_slicing, clippy::print_stdout, reason = "a measuring program")]

use foliot_disk::RealDisk;
use foliot_engine::{Ack, Config, Engine};
use foliot_model::{Batch, BatchBuffers, Cell, KeyError, KeyParts, KeySyntax, Span};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

const FIELDS: usize = 10;
const ROWS: usize = 1000;

static SYNTAX: KeySyntax = KeySyntax { id: 251, name: "bench", parse: parse_key, parse_field };

fn parse_key(_: &[u8], tail: &[u8], parts: &mut KeyParts) -> Result<(), KeyError> {
    parts.clear();
    let mut words = tail.split(|byte| *byte == b',');
    let measurement = words.next().unwrap_or_default();
    parts.set_measurement(|out| out.extend_from_slice(measurement));
    for word in words {
        let at = word.iter().position(|byte| *byte == b'=').unwrap_or(word.len());
        let (name, value) = word.split_at(at);
        parts.push_label(
            |out| out.extend_from_slice(name),
            |out| out.extend_from_slice(value.get(1..).unwrap_or_default()),
        );
    }
    Ok(())
}

fn parse_field(raw: &[u8], out: &mut Vec<u8>) -> Result<(), KeyError> {
    out.extend_from_slice(raw);
    Ok(())
}

fn rss_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024
}

fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(')').next().unwrap_or_default();
    let ticks = |n| after.split_whitespace().nth(n).and_then(|t| t.parse::<f64>().ok());
    (ticks(11).unwrap_or(0.0) + ticks(12).unwrap_or(0.0)) / 100.0
}

/// Keys of all sources and names of all fields in one text, with their places.
struct World {
    text: Vec<u8>,
    keys: Vec<Span>,
    fields: Vec<Span>,
    values: Vec<i64>,
    random: u64,
}

impl World {
    fn new(sources: usize) -> Self {
        let (mut text, mut keys, mut fields) = (Vec::new(), Vec::new(), Vec::new());
        for i in 0..sources {
            let (rack, team) = (i % 100, ["NYC", "LON", "CHI"][i % 3]);
            let start = text.len();
            let key = format!(
                "cpu,hostname=host_{i},region=eu-west-1,datacenter=eu-west-1b,rack={rack},\
                 os=Ubuntu16.10,arch=x64,team={team},service=7,service_version=1,\
                 service_environment=production"
            );
            text.extend_from_slice(key.as_bytes());
            keys.push(Span::new(start, text.len()));
        }
        for i in 0..FIELDS {
            let start = text.len();
            text.extend_from_slice(format!("usage_field_{i}").as_bytes());
            fields.push(Span::new(start, text.len()));
        }
        let values = vec![50; sources * FIELDS];
        Self { text, keys, fields, values, random: 88172645463325252 }
    }

    /// The next value of a walk between 0 and 100.
    fn walk(&mut self, place: usize) -> i64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let value = &mut self.values[place];
        *value = (*value + (self.random % 3) as i64 - 1).clamp(0, 100);
        *value
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, dir, sources, steps] = &args[..] else { return Err("DIR SOURCES STEPS".into()) };
    let (sources, steps): (usize, i64) = (sources.parse()?, steps.parse()?);
    let engine = Engine::open(Arc::new(RealDisk::default()), Path::new(dir), Config::default())?;
    let mut world = World::new(sources);
    let text = world.text.clone();
    let mut buffers = BatchBuffers::default();
    let (mut write_ns, mut written) = (0u128, 0u64);
    let started = cpu_seconds();
    for step in 0..steps {
        let time_ns = (1_700_000_000 + step * 10) * 1_000_000_000;
        for first in (0..sources).step_by(ROWS) {
            let mut batch = Batch::new(&text, 0, &SYNTAX, engine.key_secret(), buffers);
            let shape = batch.push_shape(&world.fields);
            for source in first..(first + ROWS).min(sources) {
                for field in 0..FIELDS {
                    batch.push_cell(Cell::integer(world.walk(source * FIELDS + field)));
                }
                batch.push_row([Span::default(), world.keys[source]], time_ns, shape, 1);
            }
            let before = Instant::now();
            let commit = engine.write(&batch, &mut Vec::new())?;
            write_ns += before.elapsed().as_nanos();
            written += batch.samples() as u64;
            if first + ROWS >= sources {
                engine.wait(commit, Ack::Os)?;
            }
            buffers = batch.into_buffers();
        }
        if step == 0 {
            let each = write_ns as f64 / (written as f64);
            println!("registering: {each:.0} ns a series, peak RSS {} MiB", rss_mib());
            (write_ns, written) = (0, 0);
        }
    }
    println!("write: {:.1} ns a sample", write_ns as f64 / written.max(1) as f64);
    let before = Instant::now();
    engine.flush()?;
    println!("last flush: {} ms", before.elapsed().as_millis());
    println!("process CPU {:.2} s, peak RSS {} MiB", cpu_seconds() - started, rss_mib());
    println!("{:#?}", engine.stats());
    engine.close()?;
    Ok(())
}
