//! The store against a naive map, a million operations long: writes, late writes, updates, deletes,
//! drops, flushes, merges, epochs, retention, restarts, kills and power cuts, over all kinds of
//! values; read sample by sample and by the rollups of blocks.
//!
//! Every row that is written counts as an operation, and so does every other step. A longer run:
//! `FOLIOT_MODEL_OPERATIONS=100000000 FOLIOT_MODEL_SEED=7 cargo test --release -p foliot-engine
//! --test million -- --nocapture`. It prints the seed of each round; a round that fails is played
//! again alone with that seed and few operations.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "test code says what must hold by unwrapping"
)]

mod rollups;
#[path = "../support/mod.rs"]
mod support;

use foliot_disk::{Disk, SimDisk};
use foliot_engine::{Ack, Caller, Config, Engine, FIELD_RETENTION};
use foliot_model::{Matcher, Selector, Test, TimeRange};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use support::{Line, Owned, read, selector, write};

const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400 * SECOND;
const OPERATIONS: u64 = 1_000_000;
const OPERATIONS_OF_ROUND: u64 = 20_000;
const MEASUREMENTS: [&str; 2] = ["m", "n"];
const FIELDS: [&str; 4] = ["a", "b", "c", "d"];
const HOSTS: u64 = 6;

/// A series: namespace, key with its labels in order, field.
type Series = (u32, String, String);

/// Xorshift (G. Marsaglia, "Xorshift RNGs", 2003).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 16) % end
    }

    fn percent(&mut self, share: u64) -> bool {
        self.below(100) < share
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }
}

struct Round {
    random: Random,
    disk: SimDisk,
    config: Config,
    engine: Option<Engine>,
    oracle: BTreeMap<Series, BTreeMap<i64, Owned>>,
    /// Samples before it are gone from namespace 0: the highest floor there was.
    floor_ns: i64,
    keep: Option<i64>,
    operations: u64,
    /// Blocks that rollups were taken from without reading them.
    blocks_skipped: u64,
}

fn open(disk: &SimDisk, config: &Config) -> Engine {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let engine = Engine::open(disk, Path::new("store"), config.clone()).unwrap();
    assert_eq!(engine.damages(), &[] as &[String]);
    engine
}

impl Round {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let disk = SimDisk::new(random.next());
        let config = Config {
            background: false,
            merge_parts: 2 + random.below(4) as usize,
            merge_quiet: Duration::from_secs(3600),
            delete_deadline: Duration::from_secs(600),
            cache_bytes_max: 1 << (12 + random.below(12)),
            ..Config::default()
        };
        let engine = open(&disk, &config);
        engine.create_namespace("other", "autogen").unwrap();
        Self {
            random,
            disk,
            config,
            engine: Some(engine),
            oracle: BTreeMap::new(),
            floor_ns: i64::MIN,
            keep: None,
            operations: 0,
            blocks_skipped: 0,
        }
    }

    fn engine(&self) -> &Engine {
        self.engine.as_ref().unwrap()
    }

    fn play(&mut self, operations: u64) {
        while self.operations < operations {
            self.operations += 1;
            match self.random.below(1000) {
                0..620 => self.write(),
                620..740 => self.delete(),
                740..755 => self.drop_series(),
                755..815 => self.engine().flush().unwrap(),
                815..890 => drop(self.engine().maintain().unwrap()),
                890..894 => self.engine().merge_all().unwrap(),
                894..900 => self.engine().begin_epoch().unwrap(),
                900..906 => self.retain(),
                906..920 => self.disk.advance(self.random.below(7200) * SECOND as u64),
                920..945 => self.reopen(),
                945..965 => self.check_some(),
                965..990 => self.check_rollups(),
                _ => self.check(),
            }
        }
        self.check();
    }

    fn time(&mut self) -> i64 {
        let now_ns = self.disk.now_ns();
        match self.random.below(100) {
            0..70 => now_ns - self.random.below(600) as i64 * 10 * SECOND,
            70..85 => now_ns - self.random.below(6_000_000) as i64 * 1_000_000,
            85..95 => now_ns - self.random.below(40) as i64 * DAY,
            95..98 => now_ns + self.random.below(40) as i64 * DAY,
            98 => self.random.next() as i64,
            _ => self.random.pick(&[i64::MIN, -1, 0, i64::MAX]),
        }
    }

    fn value(&mut self) -> Owned {
        match self.random.below(12) {
            0..4 => Owned::Integer(self.random.below(2000) as i64 - 1000),
            4..7 => {
                let mantissa = self.random.below(200_000) as i64 - 100_000;
                Owned::Decimal(mantissa, self.random.below(4) as u8)
            }
            7 => Owned::Float(self.random.next()),
            8 => Owned::Unsigned(self.random.next()),
            9 => Owned::Boolean(self.random.percent(50)),
            10 => Owned::String("é".repeat(self.random.below(20) as usize)),
            _ => {
                let length = self.random.below(40);
                Owned::Histogram((0..length).map(|_| self.random.next() as u8).collect())
            }
        }
    }

    fn lines(&mut self) -> Vec<Line> {
        let host = self.random.below(HOSTS);
        if self.random.percent(15) {
            // A regular stretch, long enough to seal blocks, and dense enough for rollups by the
            // hour or by five minutes.
            let (from, a) = (self.time(), self.value());
            let count = self.random.below(800);
            let interval = self.random.pick(&[SECOND, 10 * SECOND]);
            let line = |(number, i): (usize, i64)| Line {
                key: format!("m dc=x host=h{host}"),
                time_ns: from.saturating_add(i * interval),
                fields: vec![
                    ("a".to_owned(), a.clone()),
                    ("b".to_owned(), Owned::Integer(number as i64 % 90)),
                ],
            };
            return self.arrivals(count as i64).into_iter().enumerate().map(line).collect();
        }
        let count = 1 + self.random.below(40);
        let mut lines = Vec::new();
        for _ in 0..count {
            let host = self.random.below(HOSTS);
            let measurement = self.random.pick(&MEASUREMENTS);
            let key = match self.random.percent(30) {
                true => format!("{measurement} host=h{host} dc=x"),
                false => format!("{measurement} dc=x host=h{host}"),
            };
            let mut fields = Vec::new();
            for field in FIELDS {
                if self.random.percent(40) || (field == "d" && fields.is_empty()) {
                    fields.push((field.to_owned(), self.value()));
                }
            }
            lines.push(Line { key, time_ns: self.time(), fields });
        }
        lines
    }

    /// The steps of a stretch in the order in which they come: some late, some again.
    fn arrivals(&mut self, count: i64) -> Vec<i64> {
        let late = self.random.pick(&[0, 0, 30, 50]);
        let delay_max = self.random.pick(&[3, 25, 400]);
        let mut arrivals = Vec::new();
        for i in 0..count {
            let delay = if self.random.percent(late) { self.random.below(delay_max) } else { 0 };
            arrivals.push((i + delay as i64, i));
            if late > 0 && self.random.percent(5) {
                arrivals.push((i + self.random.below(delay_max) as i64, i));
            }
        }
        arrivals.sort_by_key(|(arrival, _)| *arrival);
        arrivals.into_iter().map(|(_, i)| i).collect()
    }

    fn write(&mut self) {
        let namespace = u32::from(self.random.percent(20));
        let lines = self.lines();
        self.operations += lines.len() as u64;
        self.sink();
        let (commit, rejects) = write(self.engine(), namespace, &lines);
        let floor_ns = if namespace == 0 { self.floor_ns } else { i64::MIN };
        let too_old: BTreeSet<u32> = (1u32..)
            .zip(&lines)
            .filter(|(_, line)| line.time_ns < floor_ns)
            .map(|(number, _)| number)
            .collect();
        assert!(rejects.iter().all(|reject| reject.field == FIELD_RETENTION), "{rejects:?}");
        assert_eq!(rejects.iter().map(|reject| reject.line).collect::<BTreeSet<_>>(), too_old);
        let commit = commit.unwrap();
        if self.random.percent(50) {
            self.engine().wait(commit, Ack::Os).unwrap();
        }
        for line in lines.iter().filter(|line| line.time_ns >= floor_ns) {
            let mut words: Vec<_> = line.key.split(' ').collect();
            words[1..].sort_unstable();
            for (field, value) in &line.fields {
                let series = (namespace, words.join(" "), field.clone());
                self.oracle.entry(series).or_default().insert(line.time_ns, value.read());
            }
        }
    }

    /// What is to be deleted, as a selector and as a test of the oracle's series.
    fn target(&mut self) -> (Selector, impl Fn(&Series) -> bool + use<>) {
        let namespace = u32::from(self.random.percent(20));
        let measurement = self.random.pick(&MEASUREMENTS);
        let host = self.random.percent(80).then(|| format!("h{}", self.random.below(HOSTS)));
        let field = self.random.percent(50).then(|| self.random.pick(&FIELDS));
        let mut selector = selector(namespace, measurement);
        if let Some(host) = &host {
            selector.matchers.push(Matcher {
                name: "host".to_owned(),
                test: Test::equal(host.clone()),
                negated: false,
                accepts_absent: false,
            });
        }
        if let Some(field) = field {
            selector.names[0].field = Test::equal(field);
        }
        let is_meant = move |(of, key, of_field): &Series| {
            *of == namespace
                && key.starts_with(&format!("{measurement} "))
                && host.as_ref().is_none_or(|host| key.ends_with(&format!("host={host}")))
                && field.is_none_or(|field| field == of_field)
        };
        (selector, is_meant)
    }

    fn delete(&mut self) {
        self.sink();
        let (selector, is_meant) = self.target();
        let range = match self.random.below(10) {
            0 => TimeRange::ALL,
            1..5 => {
                let time_ns = self.time();
                TimeRange::new(time_ns, time_ns)
            }
            _ => {
                let from = self.time();
                let length = self.random.below(20_000) as i64 * SECOND;
                TimeRange::new(from, from.saturating_add(length))
            }
        };
        let (deleted, _) = self.engine().delete(&selector, range, &Caller::default()).unwrap();
        let (mut series, mut samples) = (0, 0);
        for (_, held) in self.oracle.iter_mut().filter(|(name, _)| is_meant(name)) {
            let before = held.len();
            held.retain(|time_ns, _| !range.contains(*time_ns));
            series += u64::from(held.len() < before);
            samples += (before - held.len()) as u64;
        }
        assert_eq!((deleted.series, deleted.samples), (series, samples));
    }

    fn drop_series(&mut self) {
        self.sink();
        let (selector, is_meant) = self.target();
        let (deleted, _) = self.engine().drop_series(&selector, &Caller::default()).unwrap();
        let before = self.oracle.len();
        self.oracle.retain(|name, _| !is_meant(name));
        assert_eq!(deleted.series, (before - self.oracle.len()) as u64);
    }

    /// Less is kept from now on; more never, within a round.
    fn retain(&mut self) {
        let keep = (1 + self.random.below(60)) as i64 * DAY / 2;
        if self.keep.is_none_or(|before| keep < before) && self.random.percent(30) {
            self.keep = Some(keep);
            let keep = Duration::from_nanos(keep as u64);
            self.engine().set_retention(0, Some(keep), &Caller::default()).unwrap();
        }
        self.sink();
    }

    /// Takes from the oracle what has expired.
    fn sink(&mut self) {
        let Some(keep) = self.keep else { return };
        let floor_ns = self.disk.now_ns() - keep;
        if floor_ns > self.floor_ns {
            self.floor_ns = floor_ns;
            for (_, held) in self.oracle.iter_mut().filter(|((namespace, ..), _)| *namespace == 0) {
                *held = held.split_off(&floor_ns);
            }
        }
    }

    /// Ends the process in some way, and starts another one.
    fn reopen(&mut self) {
        let engine = self.engine.take().unwrap();
        match self.random.below(3) {
            0 => engine.close().unwrap(),
            1 => {
                // All of it was handed to the operating system, so a kill loses nothing.
                let last = engine.catalog_put("model", "last", &[]).unwrap();
                engine.wait(last, Ack::Os).unwrap();
                self.disk = self.disk.kill();
            }
            _ => {
                let last = engine.catalog_put("model", "last", &[]).unwrap();
                engine.wait(last, Ack::Durable).unwrap();
                self.disk = self.disk.crash();
            }
        }
        drop(engine);
        self.engine = Some(open(&self.disk, &self.config));
    }

    fn any_series(&mut self) -> Option<Series> {
        let at = self.random.below(self.oracle.len().max(1) as u64);
        self.oracle.keys().nth(at as usize).cloned()
    }

    /// The buckets of a series, folded from summaries of blocks where one lies within a bucket,
    /// must be those of its samples.
    fn check_rollups(&mut self) {
        let Some(name) = self.any_series() else { return };
        self.sink();
        let width_ns = self.random.pick(&[300 * SECOND, 3600 * SECOND]);
        let snapshot = self.engine().snapshot();
        let measurement = name.1.split(' ').next().unwrap();
        let sids = snapshot.select(&selector(name.0, measurement), TimeRange::ALL).unwrap();
        let sid = sids.into_iter().find(|sid| self.name(&snapshot, name.0, *sid) == name).unwrap();
        let (found, skipped) = rollups::of_scan(&snapshot, sid, width_ns);
        rollups::compare(&name, &rollups::of_samples(&self.oracle[&name], width_ns), &found);
        self.blocks_skipped += skipped;
    }

    fn check_some(&mut self) {
        let Some(name) = self.any_series() else { return };
        let (from, to) = (self.time(), self.time());
        let range = TimeRange::new(from.min(to), from.max(to));
        self.sink();
        let snapshot = self.engine().snapshot();
        let measurement = name.1.split(' ').next().unwrap();
        for sid in snapshot.select(&selector(name.0, measurement), TimeRange::ALL).unwrap() {
            if self.name(&snapshot, name.0, sid) == name {
                let held = &self.oracle[&name];
                let expected = held.range(from.min(to)..=from.max(to));
                let expected: Vec<_> = expected.map(|(time, v)| (*time, v.clone())).collect();
                compare(&name, expected, read(&snapshot, sid, range));
                let last = snapshot.last(sid).unwrap();
                let last = last.as_ref().and_then(|last| last.iter().next());
                let last = last.map(|(time_ns, value)| (time_ns, Owned::of(value)));
                let expected = held.last_key_value().map(|(time, value)| (*time, value.clone()));
                assert_eq!(last, expected, "last of {name:?}");
                return;
            }
        }
        // A series that is listed in the oracle exists.
        assert_eq!(self.oracle.get(&name), None, "{name:?} is not there");
    }

    fn name(&self, snapshot: &foliot_engine::Snapshot, namespace: u32, sid: u32) -> Series {
        let identity = snapshot.identity(sid).unwrap().unwrap();
        let mut key = identity.measurement.to_string();
        for label in &identity.labels {
            key.push_str(&format!(" {}={}", label.name, label.value));
        }
        (namespace, key, identity.field.to_string())
    }

    fn check(&mut self) {
        self.sink();
        let snapshot = self.engine().snapshot();
        let mut seen = BTreeSet::new();
        for namespace in 0..2 {
            for measurement in MEASUREMENTS {
                let selector = selector(namespace, measurement);
                for sid in snapshot.select(&selector, TimeRange::ALL).unwrap() {
                    let name = self.name(&snapshot, namespace, sid);
                    let held = self.oracle.get(&name);
                    let held = held.map(|held| held.iter().map(|(t, v)| (*t, v.clone())).collect());
                    let found = read(&snapshot, sid, TimeRange::ALL);
                    compare(&name, held.unwrap_or_default(), found);
                    assert!(seen.insert(name), "two series of one name");
                }
            }
        }
        assert!(seen.iter().eq(self.oracle.keys()));
    }
}

/// Samples must be the same; else the first few that are not are shown.
fn compare(name: &Series, expected: Vec<(i64, Owned)>, found: Vec<(i64, Owned)>) {
    if expected != found {
        let missing: Vec<_> = expected.iter().filter(|item| !found.contains(item)).collect();
        let extra: Vec<_> = found.iter().filter(|item| !expected.contains(item)).collect();
        let few =
            |items: &[&(i64, Owned)]| format!("{:?}", items.iter().take(5).collect::<Vec<_>>());
        let (missing, extra) = (few(&missing), few(&extra));
        assert_eq!(missing, extra, "{name:?}: expected on the left, found on the right");
        assert_eq!(expected.len(), found.len(), "{name:?}: a sample twice, or out of order");
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn the_store_is_a_map_for_a_million_operations() {
    let operations = setting("FOLIOT_MODEL_OPERATIONS", OPERATIONS);
    let mut seed = setting("FOLIOT_MODEL_SEED", 20_261_122);
    let (mut done, mut blocks_skipped) = (0, 0);
    while done < operations {
        println!("{done} operations done; round of seed {seed}");
        let mut round = Round::new(seed);
        round.play(OPERATIONS_OF_ROUND.min(operations - done));
        done += round.operations;
        blocks_skipped += round.blocks_skipped;
        seed += 1;
    }
    assert!(blocks_skipped * 1000 > operations, "only {blocks_skipped} blocks were rolled up");
}
