//! Measures queries alone, over a store in a directory: CPU time per query of the shapes that the
//! Time Series Benchmark Suite asks of its `cpu-only` data, and of OpenTSDB's usual ones.
//!
//! `cargo run --release -p foliot-exec --example query_bench -- DIR HOSTS HOURS [PART OF A NAME]`

#![allow(clippy::print_stdout, reason = "a table on the terminal is the purpose")]

use foliot_disk::RealDisk;
use foliot_engine::{Config, Engine};
use foliot_exec::{Cancel, Limits, Meter, Query, run};
use foliot_model::{
    Batch, BatchBuffers, Cell, KeyError, KeyParts, KeySyntax, Matcher, Name, Selector, Span, Test,
    TimeRange,
};
use foliot_plan::{
    Aggregate, Arithmetic, Fill, Fold, Gap, Grouping, Rate, Reset, Series, Window, Windows,
};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

const SECOND: i64 = 1_000_000_000;
const START: i64 = 1_700_006_400 * SECOND;
const STEP: i64 = 10 * SECOND;
const FIELDS: [&str; 2] = ["usage_user", "usage_system"];

static SYNTAX: KeySyntax = KeySyntax { id: 251, name: "bench", parse, parse_field };

fn parse(_: &[u8], key: &[u8], parts: &mut KeyParts) -> Result<(), KeyError> {
    let mut words = key.split(|&byte| byte == b',');
    let measurement = words.next().unwrap_or_default();
    parts.set_measurement(|out| out.extend_from_slice(measurement));
    for word in words {
        let at = word.iter().position(|&byte| byte == b'=').unwrap_or(word.len());
        let (name, value) = word.split_at_checked(at).unwrap_or_default();
        let value = value.get(1..).unwrap_or_default();
        parts.push_label(|out| out.extend_from_slice(name), |out| out.extend_from_slice(value));
    }
    Ok(())
}

fn parse_field(raw: &[u8], out: &mut Vec<u8>) -> Result<(), KeyError> {
    out.extend_from_slice(raw);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let [_, dir, hosts, hours, rest @ ..] = args.as_slice() else {
        return Err("DIR HOSTS HOURS [PART OF A NAME]".into());
    };
    let wanted = rest.first().map_or("", String::as_str);
    let (hosts, hours): (i64, i64) = (hosts.parse()?, hours.parse()?);
    let disk = Arc::new(RealDisk::default());
    let engine = Engine::open(disk, Path::new(dir), Config::default())?;
    if engine.stats().series == 0 {
        load(&engine, hosts, hours * 360)?;
    }
    let questions = questions(hours);
    let wanted: Vec<_> = questions.iter().filter(|(name, _)| name.contains(wanted)).collect();
    for state in ["as flushed", "merged to the last level"] {
        if state != "as flushed" {
            engine.merge_all()?;
        }
        println!("{state:<34} {:>9} {:>9} {:>9} {:>8}", "cpu ms", "best ms", "scanned", "answered");
        for (name, plan) in &wanted {
            measure(&engine, name, plan)?;
        }
    }
    engine.close()?;
    Ok(())
}

/// Writes a walk of whole percents per host and field, a batch per instant.
fn load(engine: &Engine, hosts: i64, steps: i64) -> Result<(), Box<dyn std::error::Error>> {
    let began = Instant::now();
    let mut text = Vec::new();
    let mut keys = Vec::new();
    for host in 0..hosts {
        let start = text.len();
        let key = format!(
            "cpu,hostname=host_{host},region=eu-west-1,datacenter=eu-west-1b,rack={},os=Ubuntu16.10,\
             arch=x64,team=NYC,service={},service_version=1,service_environment=production",
            host % 100,
            host % 20
        );
        text.extend_from_slice(key.as_bytes());
        keys.push(Span::new(start, text.len()));
    }
    let mut fields = Vec::new();
    for field in FIELDS {
        fields.push(Span::new(text.len(), text.len() + field.len()));
        text.extend_from_slice(field.as_bytes());
    }
    let mut seed = 7u64;
    let mut random = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    let mut values = vec![50i64; keys.len() * FIELDS.len()];
    let (mut buffers, mut rejects) = (BatchBuffers::default(), Vec::new());
    for step in 0..steps {
        let mut batch = Batch::new(&text, 0, &SYNTAX, engine.key_secret(), buffers);
        let shape = batch.push_shape(&fields);
        for (values, key) in values.chunks_mut(FIELDS.len()).zip(&keys) {
            for value in values {
                *value = (*value + (random() % 3) as i64 - 1).clamp(0, 100);
                batch.push_cell(Cell::integer(*value));
            }
            batch.push_row([Span::default(), *key], START + step * STEP, shape, 1);
        }
        engine.write(&batch, &mut rejects)?;
        buffers = batch.into_buffers();
    }
    engine.flush()?;
    println!("loaded in {:.1} s, {:?}", began.elapsed().as_secs_f64(), engine.stats());
    Ok(())
}

fn select(field: &str, hosts: Option<i64>, range: TimeRange) -> Series {
    let names = vec![Name { measurement: Test::equal("cpu"), field: Test::equal(field) }];
    let hosts = hosts.map(|hosts| Matcher {
        name: "hostname".into(),
        test: Test::AnyOf((0..hosts).map(|host| format!("host_{}", host * 37)).collect()),
        negated: false,
        accepts_absent: false,
    });
    let matchers = hosts.into_iter().collect();
    let selector = Selector { namespace: 0, names, matchers, exact_labels: None, only: None };
    Series::Select { selector, range }
}

fn windows(seconds: i64, fold: Fold, range: TimeRange, input: Series) -> Series {
    let windows = Windows::Buckets { width_ns: seconds * SECOND, origin_ns: 0 };
    let fill = Fill::None;
    Series::Window(Box::new(Window { input, windows, fold, fill, range }))
}

fn aggregate(fold: Fold, gap: Gap, grouping: Grouping, input: Series) -> Series {
    Series::Aggregate(Box::new(Aggregate {
        input,
        grouping,
        fold,
        gap,
        arithmetic: Arithmetic::IntegerIfAll,
        wants_members: false,
    }))
}

fn questions(hours: i64) -> Vec<(&'static str, Series)> {
    let span = |from: i64, to: i64| {
        TimeRange::new(START + from * 3600 * SECOND, START + to * 3600 * SECOND - 1)
    };
    let (all, hour) = (span(0, hours), span(0, 1));
    let by_host = || Grouping::By { names: vec!["hostname".into()], drops_absent: true };
    let user = |hosts, range| select("usage_user", hosts, range);
    let rates = |input| {
        let (per_ns, reset) = (SECOND, Reset::Gauge);
        Series::Rate(Box::new(Rate { input, per_ns, reset }))
    };
    let minutes = |fold, range, input| windows(60, fold, range, input);
    let (sum, max) = (Fold::Sum, Fold::Max);
    vec![
        ("single-groupby-1-1-1", minutes(max, hour, user(Some(1), hour))),
        ("single-groupby-1-8-1", {
            aggregate(max, Gap::Absent, by_host(), minutes(max, hour, user(Some(8), hour)))
        }),
        ("cpu-max-8 (1 field, 1 h)", windows(3600, max, all, user(Some(8), all))),
        ("double-groupby-1", {
            let hourly = windows(3600, Fold::Mean, all, user(None, all));
            aggregate(sum, Gap::Absent, by_host(), hourly)
        }),
        ("hosts by minute (mean)", {
            aggregate(sum, Gap::Absent, by_host(), minutes(Fold::Mean, all, user(None, all)))
        }),
        ("groupby-orderby-limit (max 1 m)", {
            aggregate(max, Gap::Absent, Grouping::All, minutes(max, all, user(None, all)))
        }),
        ("high-cpu-all (raw read)", user(None, all)),
        ("sum:1m-avg, 1 h", {
            aggregate(sum, Gap::Linear, Grouping::All, minutes(Fold::Mean, hour, user(None, hour)))
        }),
        ("sum:1m-avg:rate, 1 h", {
            let rates = rates(minutes(Fold::Mean, hour, user(None, hour)));
            aggregate(sum, Gap::Previous, Grouping::All, rates)
        }),
        ("p99:1m-avg, 1 h", {
            let p99 = Fold::Quantile { q: 0.99, method: foliot_plan::Quantile::Legacy };
            aggregate(p99, Gap::Linear, Grouping::All, minutes(Fold::Mean, hour, user(None, hour)))
        }),
        ("sum, 1 h, no downsampling", {
            aggregate(sum, Gap::Linear, Grouping::All, user(None, hour))
        }),
    ]
}

fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let own = stat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0);
    own / 1e9
}

fn measure(engine: &Engine, name: &str, plan: &Series) -> Result<(), Box<dyn std::error::Error>> {
    let snapshot = engine.snapshot();
    // One thread: what a query costs, not how fast a free machine finishes it.
    let limits = Limits { threads: 1, memory_bytes: 1 << 30, ..Limits::default() };
    let (mut best_seconds, cpu) = (f64::MAX, cpu_seconds());
    let mut ran = foliot_exec::Ran::default();
    let began = Instant::now();
    let mut rounds = 0u32;
    while rounds < 3 || began.elapsed().as_secs_f64() < 0.5 {
        let query = Query { snapshot: &snapshot, meter: Meter::new(limits, Cancel::default()) };
        let wall = Instant::now();
        ran = run(&query, std::slice::from_ref(plan), &mut |_| ControlFlow::Continue(()))?;
        best_seconds = best_seconds.min(wall.elapsed().as_secs_f64());
        rounds += 1;
    }
    println!(
        "{name:<34} {:>9.3} {:>9.3} {:>9} {:>8} {:?} KiB",
        (cpu_seconds() - cpu) / f64::from(rounds) * 1e3,
        best_seconds * 1e3,
        ran.samples_scanned,
        ran.samples_answered,
        ran.memory_peak_bytes >> 10
    );
    Ok(())
}
