//! Measures questions in InfluxQL from their text to the bytes of the answer, without a server:
//! those that the Time Series Benchmark Suite asks of its `cpu-only` data, over a store in a
//! directory.
//!
//! ```text
//! cargo run --release -p foliot-proto-influx --example influxql_bench -- load DIR HOSTS HOURS
//! cargo run --release -p foliot-proto-influx --example influxql_bench -- merge DIR
//! cargo run --release -p foliot-proto-influx --example influxql_bench -- ask DIR HOSTS HOURS [OF]
//! ```
//!
//! For instructions, let callgrind count `answer` alone: each question is asked once before, and
//! then once more by `answer_counted`: `valgrind --tool=callgrind
//! --toggle-collect='*answer_counted*' PROGRAM ask ...`.

#![allow(clippy::print_stdout, reason = "a table on the terminal is the purpose")]

use foliot_disk::RealDisk;
use foliot_engine::{Config, Engine, Snapshot};
use foliot_exec::{Cancel, Limits, Meter, Query};
use foliot_model::{Batch, BatchBuffers, Kind, Test};
use foliot_proto_influx::encode::{Encoder, Epoch, Style};
use foliot_proto_influx::influxql::{Context, Name, Parameters, Statement, parse, plan_select};
use foliot_proto_influx::{Decoder, LINE_SYNTAX, Settings};
use std::cell::RefCell;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

type Failure = Box<dyn std::error::Error>;

const START_S: i64 = 1_767_225_600;
const STEP_S: i64 = 10;
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

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        [_, "load", dir, hosts, hours] => load(&open(dir)?, hosts.parse()?, hours.parse()?),
        [_, "merge", dir] => Ok(open(dir)?.merge_all()?),
        [_, "ask", dir, hosts, hours, rest @ ..] => {
            let wanted = rest.first().copied().unwrap_or_default();
            ask(&open(dir)?, hosts.parse()?, hours.parse()?, wanted)
        }
        _ => Err("load DIR HOSTS HOURS, merge DIR, or ask DIR HOSTS HOURS [PART OF A NAME]".into()),
    }
}

fn open(dir: &str) -> Result<Engine, Failure> {
    let config = Config { background: false, cache_bytes_max: 512 << 20, ..Config::default() };
    Ok(Engine::open(Arc::new(RealDisk::default()), Path::new(dir), config)?)
}

/// Writes walks between 0 and 100, an instant after the other. What is in memory is flushed four
/// times.
fn load(engine: &Engine, hosts: usize, hours: i64) -> Result<(), Failure> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut values: Vec<f64> = (0..hosts * FIELDS.len()).map(|_| random.below(100.0)).collect();
    let keys: Vec<String> = (0..hosts).map(|host| key(host, &mut random)).collect();
    let mut decoder = Decoder::default();
    let (mut buffers, mut rejects, mut text) = (BatchBuffers::default(), Vec::new(), String::new());
    let steps = hours * 3600 / STEP_S;
    for step in 0..steps {
        text.clear();
        let time_ns = (START_S + step * STEP_S) * 1_000_000_000;
        for (key, values) in keys.iter().zip(values.chunks_mut(FIELDS.len())) {
            text.push_str(key);
            for (at, (value, field)) in values.iter_mut().zip(FIELDS).enumerate() {
                // Four uniform numbers make nearly a normal one.
                let stride: f64 = (0..4).map(|_| random.below(2.0) - 1.0).sum();
                *value = (*value + stride * 0.87).clamp(0.0, 100.0);
                let separator = if at == 0 { ' ' } else { ',' };
                let _ = write!(text, "{separator}{field}={}i", *value as i64);
            }
            let _ = writeln!(text, " {time_ns}");
        }
        let secret = engine.key_secret();
        let mut batch = Batch::new(text.as_bytes(), 0, &LINE_SYNTAX, secret, buffers);
        decoder.decode(&mut batch, Settings::default(), &mut rejects);
        engine.write(&batch, &mut rejects)?;
        buffers = batch.into_buffers();
        if (step + 1) % (steps / 4).max(1) == 0 {
            engine.flush()?;
        }
    }
    engine.flush()?;
    println!("{:?}", engine.stats());
    Ok(())
}

fn key(host: usize, random: &mut Random) -> String {
    let mut one_of = |words: &[&str]| {
        let at = random.below(words.len() as f64) as usize;
        words.get(at).copied().unwrap_or_default().to_owned()
    };
    let region = one_of(&["us-east-1", "us-west-2", "eu-west-1", "eu-central-1", "sa-east-1"]);
    let zone = one_of(&["a", "b", "c"]);
    let (os, arch) =
        (one_of(&["Ubuntu16.10", "Ubuntu16.04LTS", "Ubuntu15.10"]), one_of(&["x64", "x86"]));
    let (team, kind) =
        (one_of(&["SF", "NYC", "LON", "CHI"]), one_of(&["production", "staging", "test"]));
    let (rack, service) = (random.below(100.0) as u32, random.below(20.0) as u32);
    format!(
        "cpu,hostname=host_{host},region={region},datacenter={region}{zone},rack={rack},os={os},arch={arch},\
         team={team},service={service},service_version={},service_environment={kind}",
        service % 2
    )
}

fn questions(hosts: usize, hours: i64) -> Vec<(&'static str, String)> {
    let time = |minutes: i64| format!("{}s", START_S + minutes * 60);
    let range = |from: i64, to: i64| format!("time >= {} AND time < {}", time(from), time(to));
    // Odd ends, as random ranges have.
    let (all, some_hours) =
        (range(7, hours * 60 - 5), range(67, (67 + 8 * 60).min(hours * 60 - 1)));
    let hour = range(67, 127);
    let chosen = |count: usize| {
        let one = |at: usize| format!("hostname = 'host_{}'", (at * 37 + 5) % hosts);
        (0..count).map(one).collect::<Vec<_>>().join(" OR ")
    };
    let each = |function: &str, fields: &[&str]| {
        fields.iter().map(|field| format!("{function}({field})")).collect::<Vec<_>>().join(", ")
    };
    let (one, five) = (FIELDS.get(..1).unwrap_or_default(), FIELDS.get(..5).unwrap_or_default());
    vec![
        ("single-groupby-1-1-1", {
            let max = each("max", one);
            format!("SELECT {max} FROM cpu WHERE ({}) AND {hour} GROUP BY time(1m)", chosen(1))
        }),
        ("single-groupby-5-8-1", {
            let max = each("max", five);
            format!("SELECT {max} FROM cpu WHERE ({}) AND {hour} GROUP BY time(1m)", chosen(8))
        }),
        ("cpu-max-all-8", {
            let max = each("max", &FIELDS);
            format!(
                "SELECT {max} FROM cpu WHERE ({}) AND {some_hours} GROUP BY time(1h)",
                chosen(8)
            )
        }),
        ("double-groupby-1", {
            let mean = each("mean", one);
            format!("SELECT {mean} FROM cpu WHERE {all} GROUP BY time(1h), hostname")
        }),
        ("double-groupby-5", {
            let mean = each("mean", five);
            format!("SELECT {mean} FROM cpu WHERE {all} GROUP BY time(1h), hostname")
        }),
        ("double-groupby-all", {
            let mean = each("mean", &FIELDS);
            format!("SELECT {mean} FROM cpu WHERE {all} GROUP BY time(1h), hostname")
        }),
        ("lastpoint", "SELECT * FROM cpu GROUP BY hostname ORDER BY time DESC LIMIT 1".to_owned()),
        ("groupby-orderby-limit", {
            let before = time(hours * 60 - 61);
            format!(
                "SELECT max(usage_user) FROM cpu WHERE time < {before} GROUP BY time(1m) \
                 ORDER BY time DESC LIMIT 5"
            )
        }),
        ("groupby-limit", {
            let before = time(hours * 60 - 61);
            format!(
                "SELECT max(usage_user) FROM cpu WHERE time < {before} GROUP BY time(1m) LIMIT 5"
            )
        }),
        ("high-cpu-1", {
            format!("SELECT * FROM cpu WHERE usage_user > 90.0 AND ({}) AND {all}", chosen(1))
        }),
        ("high-cpu-all", format!("SELECT * FROM cpu WHERE usage_user > 90.0 AND {all}")),
    ]
}

fn ask(engine: &Engine, hosts: usize, hours: i64, wanted: &str) -> Result<(), Failure> {
    println!("{:<24} {:>9} {:>12} {:>16}", "question", "cpu ms", "bytes", "checksum");
    for (name, text) in questions(hosts, hours) {
        if !name.contains(wanted) {
            continue;
        }
        let snapshot = engine.snapshot();
        let first = answer(&snapshot, &text)?;
        let (began, cpu) = (Instant::now(), cpu_seconds());
        let counted = answer_counted(&snapshot, &text)?;
        let mut rounds = 1u32;
        while began.elapsed().as_secs_f64() < 0.3 && std::env::var_os("ONCE").is_none() {
            answer(&snapshot, &text)?;
            rounds += 1;
        }
        if first != counted {
            return Err("two answers differ".into());
        }
        let ms = (cpu_seconds() - cpu) / f64::from(rounds) * 1e3;
        let sum = first.iter().fold(0xcbf2_9ce4_8422_2325u64, |sum, byte| {
            (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
        });
        println!("{name:<24} {ms:>9.3} {:>12} {sum:016x}", first.len());
        if std::env::var_os("SHOW").is_some() {
            println!("{}", String::from_utf8_lossy(&first));
        }
    }
    Ok(())
}

#[inline(never)]
fn answer_counted(snapshot: &Snapshot, text: &str) -> Result<Vec<u8>, Failure> {
    let answered = answer(snapshot, text);
    // More than a jump, which has no place of its own.
    std::hint::black_box(answered)
}

fn answer(snapshot: &Snapshot, text: &str) -> Result<Vec<u8>, Failure> {
    let statements = parse(text, &Parameters::new())?;
    let [Statement::Select(select)] = statements.as_slice() else { return Err("no SELECT".into()) };
    // One thread: what a question costs, not how fast a free machine answers it.
    let seconds = Duration::from_secs(3600);
    let limits = Limits { threads: 1, memory_bytes: 1 << 30, seconds, ..Limits::default() };
    let query = Query { snapshot, meter: Meter::new(limits, Cancel::default()) };
    let charge = RefCell::new(query.meter.open());
    let planned = plan_select(
        select,
        &Context {
            now_ns: (START_S + 1_000_000_000) * 1_000_000_000,
            shapes: &|measurement, fields| {
                let Name::Is(name) = &measurement.name else { return Err("no name".to_owned()) };
                let test = Test::equal(name.clone());
                let kind = |_: &str, _: &str| Kind::Integer;
                let charge = &mut charge.borrow_mut();
                foliot_exec::shapes(&query, 0, (&test, fields), &kind, charge)
                    .map_err(|error| error.to_string())
            },
            labels: &|shape| {
                foliot_exec::labels(&query, shape, &mut charge.borrow_mut()).unwrap_or_default()
            },
            selects: &|scan| foliot_exec::selects(&query, scan).map_err(|error| error.to_string()),
            buckets_max: 0,
            sources_max: 0,
            admit: &|_| Ok(()),
        },
    )?;
    let style = Style { epoch: Epoch::parse("ms"), ..Style::default() };
    let (mut encoder, mut out) = (Encoder::new(style), Vec::new());
    encoder.begin(0);
    foliot_exec::select(&query, &planned.plan, &mut |table| {
        encoder.table(&table, &mut out);
        ControlFlow::Continue(())
    })?;
    encoder.end(None, &mut out);
    encoder.finish(&mut out);
    Ok(out)
}

fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// Marsaglia's xorshift generator, 2003: the same data in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: f64) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64 * end
    }
}
