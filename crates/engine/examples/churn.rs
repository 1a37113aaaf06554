//! Measures churn: series that come and go for simulated weeks, as containers do.
//!
//! `cargo run --release -p foliot-engine --example churn -- DIR [DAYS] [ACTIVE] [CREATED] [FIELDS]`
//!
//! So many series are active at any time (500 000), one or more for each source; over all days (30)
//! so many are created (20 million), so each lives for a while and falls silent for ever. They
//! report every hour of a simulated clock and the store is flushed every two hours, as the
//! bound on its wal would have it at the rates of real collectors. Every day the program prints
//! what memory and index take and how long queries take; a query is asked anew for each figure, and
//! is not repeated. Times of queries are processor time of the thread that asks, which is all they
//! take on an idle machine, since the files' pages are in the kernel's cache; with the time on the
//! clock beside it, which on a busy machine is mostly the others'.

#![allow(clippy::print_stdout, reason = "a measuring program")]

use foliot_disk::{Disk, Layer, RealDisk};
use foliot_engine::{Ack, Config, Engine, Listed, Snapshot};
use foliot_model::{
    Batch, BatchBuffers, Cell, KeyError, KeyParts, KeySyntax, Matcher, Name, Samples, Selector,
    Span, Test, TimeRange,
};
use rustix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::fmt::Write;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SECOND_NS: i64 = 1_000_000_000;
const START_NS: i64 = 1_700_000_000 * SECOND_NS;
const STEP_NS: i64 = HOUR_NS;
const STEPS_OF_DAY: u64 = 24;
const STEPS_OF_FLUSH: u64 = 2;
const HOUR_NS: i64 = 3600 * SECOND_NS;
const ROWS: u64 = 2000;
/// Sources that one application has at a time, about.
const SOURCES_OF_APP: u64 = 50;
const QUERIES: u64 = 2000;

static SYNTAX: KeySyntax = KeySyntax { id: 251, name: "churn", parse: parse_key, parse_field };

fn parse_key(_: &[u8], tail: &[u8], parts: &mut KeyParts) -> Result<(), KeyError> {
    parts.clear();
    parts.set_measurement(|out| out.extend_from_slice(b"container"));
    for word in tail.split(|byte| *byte == b',') {
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

/// A real disk with a clock that this program sets.
struct Clocked {
    disk: RealDisk,
    now_ns: Arc<AtomicI64>,
}

impl Layer for Clocked {
    fn below(&self) -> &dyn Disk {
        &self.disk
    }
    fn now_ns(&self) -> i64 {
        self.now_ns.load(Ordering::Relaxed)
    }
    fn monotonic_ns(&self) -> u64 {
        Layer::now_ns(self).cast_unsigned()
    }
}

fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The application of a source.
fn app_of(source: u64, active: u64) -> u64 {
    mix(source) % (active / SOURCES_OF_APP).max(1)
}

fn push_key(source: u64, active: u64, text: &mut String) {
    let random = mix(source ^ 0xc0de);
    let app = app_of(source, active);
    let _ = write!(
        text,
        "app=app-{app},namespace=team-{},node=node-{},pod=app-{app}-{random:016x}",
        app % 40,
        random % 500,
    );
}

struct Churn {
    engine: Engine,
    now_ns: Arc<AtomicI64>,
    /// Sources that report at a time, and all that ever do.
    active: u64,
    created: u64,
    fields: u64,
    steps: u64,
    text: String,
    buffers: Option<BatchBuffers>,
}

impl Churn {
    /// The sources that report in a step: the oldest have gone, as many new ones have come.
    fn living(&self, step: u64) -> std::ops::Range<u64> {
        let replaced = self.created.saturating_sub(self.active);
        let first = replaced * step / self.steps.max(1);
        first..first + self.active
    }

    /// All living sources report once.
    fn report(&mut self, step: u64) -> Result<(), Box<dyn Error>> {
        let time_ns = START_NS + step as i64 * STEP_NS;
        self.now_ns.store(time_ns, Ordering::Relaxed);
        let living = self.living(step);
        let mut from = living.start;
        while from < living.end {
            let sources = from..living.end.min(from + ROWS);
            from = sources.end;
            self.text.clear();
            let mut fields = Vec::new();
            for field in 0..self.fields {
                let start = self.text.len();
                let _ = write!(self.text, "cpu{field}");
                fields.push(Span::new(start, self.text.len()));
            }
            let mut spans = Vec::with_capacity(ROWS as usize);
            for source in sources {
                let start = self.text.len();
                push_key(source, self.active, &mut self.text);
                spans.push((source, Span::new(start, self.text.len())));
            }
            let buffers = self.buffers.take().unwrap_or_default();
            let secret = self.engine.key_secret();
            let mut batch = Batch::new(self.text.as_bytes(), 0, &SYNTAX, secret, buffers);
            let shape = batch.push_shape(&fields);
            for (source, span) in spans {
                for field in 0..self.fields {
                    let value = mix(source ^ (step << 8) ^ field) % 100;
                    batch.push_cell(Cell::integer(value.cast_signed()));
                }
                batch.push_row([Span::default(), span], time_ns, shape, 1);
            }
            let mut rejects = Vec::new();
            let commit = self.engine.write(&batch, &mut rejects)?;
            if let Some(reject) = rejects.first() {
                return Err(format!("refused: {reject:?}").into());
            }
            self.buffers = Some(batch.into_buffers());
            self.engine.wait(commit, Ack::Os)?;
        }
        Ok(())
    }

    /// Times of one kind of query over different living sources.
    fn time(
        &self,
        step: u64,
        ask: &mut dyn FnMut(&Snapshot, u64) -> Result<usize, foliot_engine::Error>,
    ) -> Result<Times, Box<dyn Error>> {
        let living = self.living(step);
        let (mut micros, mut on_clock) = (Vec::new(), Vec::new());
        for query in 0..QUERIES {
            let source = living.start + mix(query ^ step << 20) % self.active;
            let (started, started_us) = (Instant::now(), thread_us());
            let found = ask(&self.engine.snapshot(), source)?;
            micros.push(thread_us() - started_us);
            on_clock.push(started.elapsed().as_secs_f64() * 1e6);
            if found == 0 {
                return Err(format!("source {source} has nothing at step {step}").into());
            }
        }
        let p50 = percentile(&mut micros, 0.5);
        Ok(Times {
            p50,
            p99: percentile(&mut micros, 0.99),
            clock: percentile(&mut on_clock, 0.99),
        })
    }

    fn ask_last_hour(
        &self,
        snapshot: &Snapshot,
        now_ns: i64,
        label: (&str, String),
    ) -> Result<usize, foliot_engine::Error> {
        let range = TimeRange::new(now_ns - HOUR_NS, now_ns);
        let (mut count, mut samples, mut scans) = (0, Samples::default(), None);
        for sid in snapshot.select(&selector(Some(label)), range)? {
            let scan = match &mut scans {
                None => scans.insert(snapshot.scan(sid, range)?),
                Some(scan) => {
                    snapshot.scan_into(sid, scan)?;
                    scan
                }
            };
            samples.clear();
            while scan.next(&mut samples)? {
                count += samples.len();
                samples.clear();
            }
        }
        Ok(count)
    }

    fn measure(
        &self,
        day: u64,
        step: u64,
        dir: &Path,
        idle: Resident,
    ) -> Result<(), Box<dyn Error>> {
        let now_ns = self.now_ns.load(Ordering::Relaxed);
        let pod = |source: u64| {
            let (mut key, app) = (String::new(), app_of(source, self.active));
            push_key(source, self.active, &mut key);
            (key.rsplit('=').next().unwrap_or_default().to_owned(), format!("app-{app}"))
        };
        let rss = resident();
        let before = self.engine.stats();
        let one = self.time(step, &mut |snapshot, source| {
            self.ask_last_hour(snapshot, now_ns, ("pod", pod(source).0))
        })?;
        let app = self.time(step, &mut |snapshot, source| {
            self.ask_last_hour(snapshot, now_ns, ("app", pod(source).1))
        })?;
        let asked = self.engine.stats();
        let listed = |what: Listed, label: Option<(&str, String)>, limit: usize| {
            let started = Instant::now();
            let found = self.engine.snapshot().list(&what, &selector(label), "", 0, limit)?;
            Ok::<_, foliot_engine::Error>((started.elapsed().as_secs_f64() * 1e3, found.len()))
        };
        let values = |name: &str| Listed::LabelValues(Some(name.to_owned()));
        let names_ms = listed(Listed::LabelNames, None, 1000)?;
        let apps_ms = listed(values("app"), None, usize::MAX)?;
        let pods_ms = listed(values("pod"), None, 1000)?;
        let label = ("app", pod(self.living(step).start).1);
        let pods_of_app_ms = listed(values("pod"), Some(label.clone()), 1000)?;
        let started = Instant::now();
        let found = self.engine.snapshot().select(&selector(Some(label)), TimeRange::ALL)?;
        let select_ms = (started.elapsed().as_secs_f64() * 1e3, found.len());
        let stats = self.engine.stats();
        let (series, index) = (stats.series + stats.series_closed, index_bytes(dir)?);
        println!(
            "day {day}: {series} series in {} epochs, {} of them in memory; RSS above an empty \
             start: {} MB anonymous, {} MB of files; registries {} MB, head {} and {} MB; index {} \
             MB, {} bytes a series; parts {} MB in {}\n  last hour, us p50/p99 (p99 on the clock): \
             of a pod {one}, of an app {app}, for which {} pages were read\n  of all time, ms \
             (found): label names {names_ms:.1?}, apps {apps_ms:.1?}, 1000 pods {pods_ms:.1?}, pods \
             of an app {pods_of_app_ms:.1?}, its series {select_ms:.1?}",
            stats.epochs,
            stats.series,
            mb(rss.anonymous.saturating_sub(idle.anonymous)),
            mb(rss.of_files.saturating_sub(idle.of_files)),
            mb(stats.registry_bytes),
            mb(stats.head_fixed_bytes),
            mb(stats.head_bytes),
            mb(index),
            index / series.max(1),
            mb(stats.part_bytes),
            stats.parts,
            asked.cache_misses - before.cache_misses,
        );
        Ok(())
    }
}

struct Times {
    p50: f64,
    p99: f64,
    /// The p99 on the clock.
    clock: f64,
}

fn percentile(micros: &mut [f64], share: f64) -> f64 {
    micros.sort_by(f64::total_cmp);
    micros.get((micros.len() as f64 * share) as usize).copied().unwrap_or(0.0)
}

/// Processor time of this thread.
fn thread_us() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

impl std::fmt::Display for Times {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.0}/{:.0} ({:.0})", self.p50, self.p99, self.clock)
    }
}

/// All series of one field, or those with a label.
fn selector(label: Option<(&str, String)>) -> Selector {
    let matcher = |(name, value): (&str, String)| Matcher {
        name: name.to_owned(),
        test: Test::equal(value),
        negated: false,
        accepts_absent: false,
    };
    Selector {
        namespace: 0,
        names: vec![Name { measurement: Test::equal("container"), field: Test::equal("cpu0") }],
        matchers: label.map(matcher).into_iter().collect(),
        exact_labels: None,
        only: None,
    }
}

/// Resident memory, in bytes.
#[derive(Clone, Copy, Default)]
struct Resident {
    anonymous: u64,
    /// Of the program's own file; the store maps none.
    of_files: u64,
}

fn resident() -> Resident {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let bytes = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        let kib = line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok());
        kib.unwrap_or(0u64) * 1024
    };
    Resident { anonymous: bytes("RssAnon"), of_files: bytes("RssFile") }
}

impl Resident {
    fn all(self) -> u64 {
        self.anonymous + self.of_files
    }
}

fn mb(bytes: u64) -> u64 {
    bytes / 1_000_000
}

/// Bytes of the files that hold names.
fn index_bytes(dir: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let kind = Path::new(&name).extension().and_then(|kind| kind.to_str());
        if matches!(kind, Some("idx" | "seg")) {
            bytes += entry.metadata()?.len();
        }
    }
    Ok(bytes)
}

fn main() -> Result<(), Box<dyn Error>> {
    // As the binary does.
    #[cfg(target_os = "linux")]
    rustix::thread::disable_transparent_huge_pages(true)?;
    let args: Vec<String> = std::env::args().skip(1).collect();
    let dir = args.first().ok_or("DIR [DAYS] [ACTIVE] [CREATED] [FIELDS]")?;
    let number = |at: usize, default: u64| args.get(at).map_or(Ok(default), |arg| arg.parse());
    let (days, active, created) = (number(1, 30)?, number(2, 500_000)?, number(3, 20_000_000)?);
    let fields = number(4, 1)?;
    let now_ns = Arc::new(AtomicI64::new(START_NS));
    let disk = Clocked { disk: RealDisk::default(), now_ns: now_ns.clone() };
    let config = Config { background: false, epoch_dead_min: active, ..Config::default() };
    let engine = Engine::open(Arc::new(disk), Path::new(dir), config)?;
    let idle = resident();
    let steps = days * STEPS_OF_DAY;
    let (text, buffers) = (String::new(), None);
    let (active, created) = (active / fields, created / fields);
    let mut churn = Churn { engine, now_ns, active, created, fields, steps, text, buffers };
    let (mut peak, started) = (0, Instant::now());
    for step in 0..steps {
        churn.report(step)?;
        if step % STEPS_OF_FLUSH == STEPS_OF_FLUSH - 1 {
            peak = peak.max(resident().all());
            churn.engine.flush()?;
            peak = peak.max(resident().all());
            while churn.engine.maintain()? {
                peak = peak.max(resident().all());
            }
        }
        if step % STEPS_OF_DAY == STEPS_OF_DAY - 1 {
            churn.measure(step / STEPS_OF_DAY + 1, step, Path::new(dir), idle)?;
            println!(
                "  highest RSS so far, files included, seen after reports, flushes and merges: {} \
                 MB above; {:.0} s",
                mb(peak.saturating_sub(idle.all())),
                started.elapsed().as_secs_f64()
            );
        }
    }
    churn.engine.close()?;
    Ok(())
}
