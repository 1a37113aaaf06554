//! Measures the store alone: batches of ten-field rows, already decoded.
//!
//! `cargo run --release -p foliot-engine --example ingest -- DIR SOURCES STEPS [MODE]`
//!
//! Modes:
//! - `order`: all sources step by step, ten seconds apart;
//! - `late`: half of the rows come later by a Poisson distributed number of steps, eleven on
//!   average;
//! - `far`: the same, but stretched over 25 levels to 2000 steps as iotdb-benchmark does;
//! - `import`: source after source, five years each;
//! - `ratio`: `order`, `late` and `far` in turn, each in a process of its own, five rounds; prints
//!   what each cost and the ratios to the rows in order.
//!
//! All processor time of the process until nothing is left to merge counts, but that of making the
//! batches.

#![allow(clippy::indexing_slicing, clippy::print_stdout, reason = "a measuring program")]

use foliot_disk::RealDisk;
use foliot_engine::{Ack, Config, Engine, Error};
use foliot_model::{Batch, BatchBuffers, Cell, KeyError, KeyParts, KeySyntax, Span};
use rustix::time::{ClockId, clock_gettime};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

const FIELDS: usize = 10;
const ROWS: usize = 1000;
const DELAY_MAX: usize = 2048;
/// How far `far` stretches delays.
const FAR_STEPS: f64 = 2000.0;
const ROUNDS: usize = 5;

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

/// Processor time of a clock, in seconds: of the process or of this thread.
fn cpu_seconds(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Keys of all sources and names of all fields in one text, with their places.
struct World {
    text: Vec<u8>,
    keys: Vec<Span>,
    fields: Vec<Span>,
    values: Vec<i64>,
    random: u64,
    /// Rows that come later, by the step at which they do, modulo the longest delay.
    late: Vec<Vec<Row>>,
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
        Self {
            text,
            keys,
            fields,
            values,
            random: 88172645463325252,
            late: vec![Vec::new(); DELAY_MAX],
        }
    }

    fn step(&mut self) {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
    }

    /// The next value of a walk between 0 and 100.
    fn walk(&mut self, place: usize) -> i64 {
        self.step();
        let value = &mut self.values[place];
        *value = (*value + (self.random % 3) as i64 - 1).clamp(0, 100);
        *value
    }

    /// By how many steps a row is late.
    fn delay(&mut self, mode: &str) -> usize {
        let level = 1 + self.poisson().min(24);
        let (knee, above) = (FAR_STEPS / 77.0, level as f64 - 10.0);
        match (mode, level <= 10) {
            ("late", _) => level,
            (_, true) => (knee + above * knee / 10.0) as usize,
            (_, false) => (knee + above * (FAR_STEPS - knee) / 15.0) as usize,
        }
    }

    /// A number from the Poisson distribution of mean 10 (D. E. Knuth, "Seminumerical Algorithms",
    /// 3.4.1).
    fn poisson(&mut self) -> usize {
        let (limit, mut product, mut count) = ((-10f64).exp(), 1.0, 0);
        loop {
            self.step();
            product *= (self.random >> 11) as f64 / (1u64 << 53) as f64;
            if product < limit {
                return count;
            }
            count += 1;
        }
    }
}

/// Source, step, and a value for each field.
type Row = (usize, usize, [i64; FIELDS]);

/// Rows in the order in which they are sent.
fn schedule(mode: &str, world: &mut World, turn: usize, sizes: [usize; 2]) -> Vec<Row> {
    let [sources, steps] = sizes;
    let row = |world: &mut World, source, step| {
        (source, step, std::array::from_fn(|field| world.walk(source * FIELDS + field)))
    };
    match mode {
        "order" => (0..sources).map(|source| row(world, source, turn)).collect(),
        "import" => (0..steps).map(|step| row(world, turn, step)).collect(),
        _ => {
            let mut now = std::mem::take(&mut world.late[turn % DELAY_MAX]);
            for source in 0..sources {
                let row = row(world, source, turn);
                let delay = world.delay(mode).clamp(1, DELAY_MAX - 1);
                match world.random % 2 {
                    0 => world.late[(turn + delay) % DELAY_MAX].push(row),
                    _ => now.push(row),
                }
            }
            now
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // As the binary does.
    #[cfg(target_os = "linux")]
    rustix::thread::disable_transparent_huge_pages(true)?;
    let args: Vec<String> = std::env::args().collect();
    let [_, dir, sources, steps, mode @ ..] = &args[..] else {
        return Err("DIR SOURCES STEPS [order|late|far|import|ratio]".into());
    };
    match mode.first().map_or("order", String::as_str) {
        "ratio" => ratio(Path::new(dir), sources, steps),
        mode => measure(Path::new(dir), [sources.parse()?, steps.parse()?], mode),
    }
}

/// Runs the modes in turn and compares them.
fn ratio(dir: &Path, sources: &str, steps: &str) -> Result<(), Box<dyn std::error::Error>> {
    let modes = ["order", "late", "far"];
    let mut costs = [const { Vec::new() }; 3];
    for round in 0..ROUNDS {
        for (mode, costs) in modes.iter().zip(&mut costs) {
            let dir = dir.join(format!("{mode}-{round}"));
            let run = Command::new(std::env::current_exe()?)
                .arg(&dir)
                .args([sources, steps, mode])
                .output()?;
            std::fs::remove_dir_all(&dir)?;
            let text = String::from_utf8(run.stdout)?;
            let settled = text.lines().filter(|line| line.starts_with("settled:"));
            settled.clone().for_each(|line| println!("{mode}: {line}"));
            let words = settled.flat_map(|line| line.split(", "));
            let cost = words.filter_map(|word| word.strip_suffix(" ns a sample")).next();
            costs.push(cost.ok_or("a run failed")?.parse::<f64>()?);
        }
    }
    for (mode, costs) in modes.iter().zip(&mut costs) {
        costs.sort_by(f64::total_cmp);
        println!("{mode}: {costs:.1?} ns a sample");
    }
    let [order, late, far] = costs.map(|costs| costs[ROUNDS / 2]);
    println!("medians: late / order = {:.2}, far / order = {:.2}", late / order, far / order);
    Ok(())
}

fn measure(dir: &Path, sizes: [usize; 2], mode: &str) -> Result<(), Box<dyn std::error::Error>> {
    let [sources, steps] = sizes;
    let engine = Engine::open(Arc::new(RealDisk::default()), dir, Config::default())?;
    let mut world = World::new(sources);
    let text = world.text.clone();
    let mut buffers = BatchBuffers::default();
    let mut written = 0u64;
    let interval_s = if mode == "import" { 5 * 365 * 86_400 / steps.max(1) as i64 } else { 10 };
    let outer = if mode == "import" { sources } else { steps };
    let mut making_s = 0.0;
    let started = cpu_seconds(ClockId::ProcessCPUTime);
    for turn in 0..outer {
        let before = cpu_seconds(ClockId::ThreadCPUTime);
        let rows = schedule(mode, &mut world, turn, sizes);
        making_s += cpu_seconds(ClockId::ThreadCPUTime) - before;
        for chunk in rows.chunks(ROWS) {
            let before = cpu_seconds(ClockId::ThreadCPUTime);
            let mut batch = Batch::new(&text, 0, &SYNTAX, engine.key_secret(), buffers);
            let shape = batch.push_shape(&world.fields);
            for (source, step, values) in chunk {
                for value in values {
                    batch.push_cell(Cell::integer(*value));
                }
                let time_ns = (1_600_000_000 + *step as i64 * interval_s) * 1_000_000_000;
                batch.push_row([Span::default(), world.keys[*source]], time_ns, shape, 1);
            }
            making_s += cpu_seconds(ClockId::ThreadCPUTime) - before;
            let commit = loop {
                match engine.write(&batch, &mut Vec::new()) {
                    Err(Error::Overloaded) => std::thread::sleep(Duration::from_millis(5)),
                    other => break other?,
                }
            };
            written += batch.samples() as u64;
            engine.wait(commit, Ack::Os)?;
            buffers = batch.into_buffers();
        }
        if turn == 0 {
            let each = (cpu_seconds(ClockId::ProcessCPUTime) - started - making_s) * 1e9;
            println!("first turn: {:.0} ns a sample", each / written.max(1) as f64);
        }
    }
    report("written", started + making_s, written, &engine.stats());
    engine.flush()?;
    while engine.maintain()? {}
    report("settled", started + making_s, written, &engine.stats());
    engine.merge_all()?;
    report("merged", started + making_s, written, &engine.stats());
    engine.close()?;
    Ok(())
}

/// Prints what was spent since `started_s`, by the clock of the process, on `written` samples.
fn report(when: &str, started_s: f64, written: u64, stats: &foliot_engine::Stats) {
    let cpu_s = cpu_seconds(ClockId::ProcessCPUTime) - started_s;
    println!(
        "{when}: {written} samples, {cpu_s:.2} s of CPU, {:.1} ns a sample, peak RSS {} MiB, \
         {} parts of {:.4} bytes a sample, write amplification {:.2}, {} flushes, {} merges",
        cpu_s * 1e9 / written.max(1) as f64,
        rss_mib(),
        stats.parts,
        stats.part_bytes as f64 / stats.part_samples.max(1) as f64,
        stats.write_amplification(),
        stats.flushes,
        stats.merges
    );
}
