//! What the registry costs: nanoseconds per find, new series per CPU-second, bytes per series.
//!
//! `cargo run --release -p foliot-index --example registry_bench -- 400000 10` registers 400 000
//! hosts with 10 fields each, labelled like the cpu measurement of the TSBS benchmark.

#![allow(
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a bench"
)]

use foliot_index::{Listed, Mark, Registry, Run, Terms};
use foliot_model::{
    Batch, BatchBuffers, Cell, KeyError, KeyParts, KeySecret, KeySyntax, Matcher, Name, Selector,
    Span, Test,
};
use std::fmt::Write;
use std::time::Instant;

static SYNTAX: KeySyntax = KeySyntax { id: 203, name: "bench", parse, parse_field };

fn parse(_: &[u8], tail: &[u8], parts: &mut KeyParts) -> Result<(), KeyError> {
    let mut pieces = tail.split(|&byte| byte == b',');
    let measurement = pieces.next().unwrap_or_default();
    parts.set_measurement(|out| out.extend_from_slice(measurement));
    for piece in pieces {
        let at = piece.iter().position(|&byte| byte == b'=').unwrap_or(piece.len());
        let (name, value) = piece.split_at(at);
        let value = value.get(1..).unwrap_or_default();
        parts.push_label(|out| out.extend_from_slice(name), |out| out.extend_from_slice(value));
    }
    Ok(())
}

fn parse_field(raw: &[u8], out: &mut Vec<u8>) -> Result<(), KeyError> {
    out.extend_from_slice(raw);
    Ok(())
}

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

fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn key(host: u64, out: &mut String) {
    let pick = |salt: u64, n: u64| mix(host * 16 + salt) % n;
    let region = pick(0, 9);
    out.clear();
    let _ = write!(
        out,
        "cpu,hostname=host_{host},region=region-{region},datacenter=region-{region}{},rack={},\
         os=Ubuntu{}.10,arch={},team={},service={},service_version={},service_environment={}",
        ["a", "b", "c"][pick(1, 3) as usize],
        pick(2, 100),
        pick(3, 3) + 15,
        ["x64", "x86"][pick(4, 2) as usize],
        ["SF", "NYC", "LON", "CHI"][pick(5, 4) as usize],
        pick(6, 20),
        pick(7, 2),
        ["production", "staging", "test"][pick(8, 3) as usize],
    );
}

/// A batch's worth of rows, prepared outside of what is measured.
fn with_batch(
    hosts: impl Iterator<Item = u64>,
    fields: impl Fn(u64) -> Vec<usize>,
    with: &mut dyn FnMut(&Batch<'_>),
) {
    let mut text = String::new();
    let mut line = String::new();
    let mut spans = Vec::new();
    let names: Vec<Span> = FIELDS
        .iter()
        .map(|field| {
            text.push_str(field);
            Span::new(text.len() - field.len(), text.len())
        })
        .collect();
    for host in hosts {
        key(host, &mut line);
        text.push_str(&line);
        spans.push((host, Span::new(text.len() - line.len(), text.len())));
    }
    let buffers = BatchBuffers::default();
    let mut batch = Batch::new(text.as_bytes(), 0, &SYNTAX, KeySecret(1), buffers);
    let mut last: (Vec<usize>, u32) = (Vec::new(), 0);
    for (host, span) in spans {
        let which = fields(host);
        if last.0 != which {
            let shape: Vec<Span> = which.iter().map(|&i| names[i]).collect();
            last = (which, batch.push_shape(&shape));
        }
        last.0.iter().for_each(|_| batch.push_cell(Cell::integer(1)));
        batch.push_row([Span::default(), span], 0, last.1, 1);
    }
    with(&batch);
}

fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos: f64 = stat.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0.0);
    nanos / 1e9
}

fn rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default();
    let kib: u64 = line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0);
    kib << 10
}

fn register(registry: &Registry, batch: &Batch<'_>, wal_bytes: &mut u64) {
    let missing: Vec<u32> = (0..batch.rows().len() as u32).collect();
    let mut publish = |records: &[u8]| {
        *wal_bytes += records.len() as u64;
        Ok::<(), std::convert::Infallible>(())
    };
    let mut rejects = Vec::new();
    let Ok(_) = registry.register(
        batch,
        &missing,
        &Terms { admit: u64::MAX, limit: "", limited: None, labels_max: 64, class: &|_| 0 },
        &mut publish,
        &mut |_, sids| {
            std::hint::black_box(sids.first());
        },
        &mut rejects,
    );
    assert!(rejects.is_empty(), "{rejects:?}");
}

const BATCH: u64 = 5_000;

fn main() {
    let mut arguments = std::env::args().skip(1).filter_map(|text| text.parse::<u64>().ok());
    let hosts = arguments.next().unwrap_or(400_000);
    let fields = arguments.next().unwrap_or(10).clamp(1, 10) as usize;
    let all: Vec<usize> = (0..fields).collect();
    let registry = Registry::new(0);
    with_batch(0..BATCH, |_| all.clone(), &mut |_| ());
    let rss = rss_bytes();

    let (mut seconds, mut slowest, mut wal_bytes) = (0.0, 0.0f64, 0);
    for start in (0..hosts).step_by(BATCH as usize) {
        with_batch(start..(start + BATCH).min(hosts), |_| all.clone(), &mut |batch| {
            let before = cpu_seconds();
            register(&registry, batch, &mut wal_bytes);
            let spent = cpu_seconds() - before;
            slowest = slowest.max(spent);
            seconds += spent;
        });
    }
    let counts = registry.counts();
    let series = counts.series as f64;
    let bytes = (rss_bytes() - rss) as f64;
    println!("{hosts} hosts x {fields} fields = {} series", counts.series);
    println!("register   {:>10.0} new series/CPU-s", series / seconds);
    println!(
        "           {:>10.2} us/row, slowest batch {:.1} ms",
        seconds * 1e6 / hosts as f64,
        slowest * 1e3
    );
    println!("           {:>10.1} bytes of wal per series", wal_bytes as f64 / series);
    println!(
        "memory     {:>10.1} bytes/series by RSS, {:.1} reckoned",
        bytes / series,
        counts.memory_bytes as f64 / series
    );
    for (part, bytes) in registry.memory() {
        println!("           {:>10.1} bytes/series: {part}", bytes as f64 / series);
    }

    if arguments.next().is_some() {
        return;
    }
    find(&registry, hosts, fields);
    variable(&registry, hosts.min(100_000));
    queries(&registry, hosts);
    checkpoint(&registry);
}

fn find(registry: &Registry, hosts: u64, fields: usize) {
    let all: Vec<usize> = (0..fields).collect();
    let mut hashes = Vec::new();
    for start in (0..hosts).step_by(BATCH as usize) {
        with_batch(start..(start + BATCH).min(hosts), |_| all.clone(), &mut |batch| {
            let shape = batch.shapes()[0].hash;
            hashes.extend(batch.rows().iter().map(|row| (row.key_hash, shape)));
        });
    }
    for i in (1..hashes.len()).rev() {
        hashes.swap(i, (mix(i as u64) % (i as u64 + 1)) as usize);
    }
    let (resolver, count) = (registry.resolver(), fields as u32);
    let first = |run: Option<Run>| match run {
        Some(Run::Consecutive(sid)) => u64::from(sid),
        other => panic!("{other:?}"),
    };
    for (name, slice, rounds) in
        [("random", &hashes[..], 3), ("hot", &hashes[..1_000.min(hashes.len())], 2_000)]
    {
        let mut best = f64::MAX;
        let mut sum = 0;
        for _ in 0..3 {
            let before = cpu_seconds();
            for _ in 0..rounds {
                sum += slice.iter().map(|&(k, s)| first(resolver.find(k, s, count))).sum::<u64>();
            }
            best = best.min((cpu_seconds() - before) / (rounds * slice.len()) as f64);
        }
        println!("find       {:>10.1} ns {name} ({sum:x})", best * 1e9);
    }
}

/// Rows with changing field sets, which the lookup stops remembering.
fn variable(registry: &Registry, hosts: u64) {
    let mut ignored = 0;
    let mut seconds = 0.0;
    let mut rows = 0;
    for round in 0..6u64 {
        for start in (0..hosts).step_by(BATCH as usize) {
            let which = |host: u64| {
                let rotate = mix(host * 64 + round) as usize % 10;
                (0..10).map(|i| (i * 3 + rotate) % 10).collect()
            };
            with_batch(start..(start + BATCH).min(hosts), which, &mut |batch| {
                let before = cpu_seconds();
                register(registry, batch, &mut ignored);
                if round == 5 {
                    seconds += cpu_seconds() - before;
                    rows += batch.rows().len();
                }
            });
        }
    }
    println!(
        "by name    {:>10.2} us/row of 10 fields, each row another shape",
        seconds * 1e6 / rows as f64
    );
}

fn queries(registry: &Registry, hosts: u64) {
    let matcher = |name: &str, test: Test, negated| Matcher {
        name: name.to_owned(),
        test,
        negated,
        accepts_absent: negated,
    };
    let cpu =
        |field: &str| vec![Name { measurement: Test::equal("cpu"), field: Test::equal(field) }];
    let cases = [
        (
            "one host, one field",
            cpu("usage_user"),
            vec![matcher("hostname", Test::equal("host_17"), false)],
        ),
        ("one host, any name", vec![], vec![matcher("hostname", Test::equal("host_17"), false)]),
        ("one field", cpu("usage_user"), vec![]),
        (
            "region and os",
            cpu("usage_user"),
            vec![
                matcher("region", Test::equal("region-3"), false),
                matcher("os", Test::equal("Ubuntu16.10"), false),
            ],
        ),
        ("not a region", cpu("usage_user"), vec![matcher("region", Test::equal("region-3"), true)]),
        (
            "host by regex",
            cpu("usage_user"),
            vec![matcher("hostname", Test::regex("^host_1.*7$").unwrap(), false)],
        ),
        ("everything", vec![], vec![]),
    ];
    for (name, names, matchers) in cases {
        let selector = Selector { namespace: 0, names, matchers, exact_labels: None, only: None };
        let start = Instant::now();
        let sids = registry.select(&selector);
        println!(
            "select     {:>10.3} ms {name}: {}",
            start.elapsed().as_secs_f64() * 1e3,
            sids.len()
        );
    }
    listings(registry);
    let sids: Vec<u32> = (0..hosts.min(100_000) as u32).collect();
    let start = Instant::now();
    let mut labels = 0;
    registry.identities(&sids, &mut |_, identity| labels += identity.labels.len());
    println!(
        "identity   {:>10.1} ns/series ({labels} labels)",
        start.elapsed().as_secs_f64() * 1e9 / sids.len() as f64
    );
}

/// Each twice: the first listing of a label puts its values in order.
fn listings(registry: &Registry) {
    let matcher = |name: &str, test: Test, negated| Matcher {
        name: name.to_owned(),
        test,
        negated,
        accepts_absent: negated,
    };
    let region = |negated| matcher("region", Test::equal("region-3"), negated);
    let host = matcher("hostname", Test::equal("host_17"), false);
    let some = matcher("hostname", Test::regex("^host_1.*7$").unwrap(), false);
    let (values, hosts) = (Listed::LabelValues(None), Listed::LabelValues(Some("hostname".into())));
    for (what, matchers, prefix, limit) in [
        (Listed::Metrics, vec![], "", 25),
        (Listed::LabelNames, vec![], "", 25),
        (hosts.clone(), vec![], "", 25),
        (hosts.clone(), vec![], "host_12", 25),
        (hosts.clone(), vec![], "", usize::MAX),
        (hosts.clone(), vec![region(false)], "", 25),
        (hosts.clone(), vec![region(true)], "", 25),
        (hosts.clone(), vec![region(false)], "", usize::MAX),
        (hosts.clone(), vec![some], "", 25),
        (Listed::LabelValues(Some("rack".into())), vec![host.clone()], "", 25),
        (Listed::LabelValues(Some("rack".into())), vec![region(false)], "", 25),
        (values.clone(), vec![], "", 25),
        (values, vec![host], "", 25),
        (Listed::Measurements, vec![region(false)], "", 25),
    ] {
        let under: Vec<String> =
            matchers.iter().map(|m| format!("{} {:?}", m.name, m.test)).collect();
        let selector =
            Selector { namespace: 0, names: vec![], matchers, exact_labels: None, only: None };
        let mut times = [0.0; 2];
        let mut found = 0;
        for time in &mut times {
            let start = Instant::now();
            found = registry.list(&what, &selector, prefix, 0, limit).len();
            *time = start.elapsed().as_secs_f64() * 1e3;
        }
        let [first, again] = times;
        println!(
            "list       {again:>10.3} ms, first {first:.3} ms: {what:?} {under:?} {prefix}: {found}"
        );
    }
}

fn checkpoint(registry: &Registry) {
    let start = Instant::now();
    let (records, _) = registry.checkpoint(&Mark::default());
    let series = registry.counts().series as f64;
    println!(
        "checkpoint {:>10.2} s, {:.1} bytes/series",
        start.elapsed().as_secs_f64(),
        records.len() as f64 / series
    );
    let replica = Registry::new(0);
    let start = Instant::now();
    let result = replica.replay(&records);
    println!(
        "replay     {:>10.2} s for {series} series, {result:?}",
        start.elapsed().as_secs_f64()
    );
}
