//! What native histograms weigh on disk, beside the series of buckets that say the same.

use crate::support::{Line, Owned, read, selector, write};
use foliot_disk::{Disk, SimDisk};
use foliot_engine::{Config, Engine};
use foliot_model::{Bucket, Histogram, TimeRange};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// An hour of one instance, asked every fifteen seconds.
const STEPS: usize = 240;
const INSTANCES: usize = 8;
/// Requests in fifteen seconds, of an instance that is busy and of one that is not.
const BUSY: usize = 300;
const QUIET: usize = 10;

/// The generator of D. Knuth's MMIX.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Nearly normal: the sum of twelve.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

/// Histograms of schema 3, as clients have them, of latencies whose logarithms are normal.
fn histograms(seed: usize, requests: usize) -> Vec<Histogram> {
    let mut random = Random(seed as u64 + 1);
    let mut counts: BTreeMap<i32, u64> = BTreeMap::new();
    let (mut sum, mut all) = (0.0, 0u64);
    let mut step = || {
        for _ in 0..requests {
            let seconds = (random.normal() * 0.7 - 3.0).exp();
            *counts.entry((seconds.log2() * 8.0).ceil() as i32).or_default() += 1;
            sum += seconds;
            all += 1;
        }
        let bucket = |(index, count): (&i32, &u64)| Bucket { index: *index, count: *count as f64 };
        Histogram {
            is_integer: true,
            schema: 3,
            zero_threshold: 2f64.powi(-128),
            count: all as f64,
            sum,
            positive: counts.iter().map(bucket).collect(),
            ..Histogram::default()
        }
    };
    (0..STEPS).map(|_| step()).collect()
}

fn line(key: String, step: usize, value: Owned) -> Line {
    let time_ns = 1_700_000_000_000_000_000 + step as i64 * 15_000_000_000;
    Line { key, time_ns, fields: vec![("value".to_owned(), value)] }
}

/// The lines of one instance: its histograms, or the series that say the same.
fn lines(instance: usize, requests: usize, is_native: bool) -> Vec<Line> {
    let histograms = histograms(instance, requests);
    let whole = |count: f64| Owned::Decimal(count as i64, 0);
    let mut lines = Vec::new();
    // As a client has them that knows its bounds beforehand: all that are ever filled.
    let bounds: Vec<i32> = histograms[STEPS - 1].positive.iter().map(|one| one.index).collect();
    for (step, histogram) in histograms.iter().enumerate() {
        if is_native {
            let mut bytes = Vec::new();
            histogram.write(&mut bytes);
            let key = format!("latency instance=host{instance}:9100 job=api");
            lines.push(line(key, step, Owned::Histogram(bytes)));
            continue;
        }
        let key =
            |of: &str, le: &str| format!("latency_{of} instance=host{instance}:9100 job=api{le}");
        for bound in &bounds {
            let up_to = histogram.positive.iter().take_while(|one| one.index <= *bound);
            let count = up_to.map(|one| one.count).sum();
            let le = format!(" le={}", histogram.upper(*bound));
            lines.push(line(key("bucket", &le), step, whole(count)));
        }
        lines.push(line(key("bucket", " le=+Inf"), step, whole(histogram.count)));
        lines.push(line(key("count", ""), step, whole(histogram.count)));
        lines.push(line(key("sum", ""), step, Owned::Float(histogram.sum.to_bits())));
    }
    lines
}

/// A store with the lines of all instances, flushed, and what its files but for the wal weigh: the
/// samples, and the names of the series.
fn stored(requests: usize, is_native: bool) -> (Engine, u64) {
    let disk = SimDisk::new(1);
    let config = Config { background: false, ..Config::default() };
    let dir = Path::new("store");
    let engine = Engine::open(Arc::new(disk.clone()), dir, config).unwrap();
    for instance in 0..INSTANCES {
        let (commit, rejects) = write(&engine, 0, &lines(instance, requests, is_native));
        commit.unwrap();
        assert_eq!(rejects, []);
    }
    engine.flush().unwrap();
    engine.begin_epoch().unwrap();
    engine.flush().unwrap();
    let is_wanted = |name: &str| !name.contains("wal") && !name.contains("MANIFEST");
    let files = disk.list(dir).unwrap();
    let files = files.into_iter().filter(|name| is_wanted(name));
    let bytes = files.map(|name| disk.open(&dir.join(name)).unwrap().len()).sum();
    (engine, bytes)
}

#[test]
fn a_histogram_takes_a_part_of_its_series() {
    for (requests, hundredths) in [(BUSY, 70), (QUIET, 65)] {
        let (engine, native) = stored(requests, true);
        let (_, classic) = stored(requests, false);
        assert!(native * 100 <= classic * hundredths, "{native} bytes, {classic} as series");
        // And comes back to the bit.
        let snapshot = engine.snapshot();
        let sids = snapshot.select(&selector(0, "latency"), TimeRange::ALL).unwrap();
        assert_eq!(sids.len(), INSTANCES);
        let all: Vec<_> = (0..INSTANCES).map(|instance| lines(instance, requests, true)).collect();
        for sid in sids {
            let found = read(&snapshot, sid, TimeRange::ALL);
            assert_eq!(found.len(), STEPS);
            let wanted = all.iter().find(|lines| lines[0].fields[0].1 == found[0].1).unwrap();
            assert!(found.iter().zip(wanted).all(|((_, found), line)| *found == line.fields[0].1));
        }
    }
}
