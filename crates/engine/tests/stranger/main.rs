//! A reader of data directories that knows nothing but `docs/format`: no line of it uses Foliot. It
//! reads the golden directory and finds what the formula says, so the pages suffice to write one.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    unreachable_pub,
    reason = "test code says what must hold by unwrapping"
)]

mod block;
mod bytes;
#[path = "../golden/formula.rs"]
mod formula;
mod names;
mod part;
mod wal;

use block::Met;
use bytes::{Bytes, preamble, unpage};
use formula::{Found, NOW_NS, Value};
use names::{Names, Registry};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use wal::{Catalog, Delete, Frame};

/// `docs/format/manifest.md`.
struct Manifest {
    wal_start_lsn: u64,
    /// Files by the first letters of their names.
    files: Vec<(&'static str, u64)>,
}

fn read_manifest(file: &[u8]) -> Manifest {
    let mut bytes = Bytes(file);
    preamble(&mut bytes, b"Fman");
    let crc = bytes.u32();
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&file[..8]);
    hasher.update(bytes.0);
    assert_eq!(hasher.finalize(), crc);
    assert_eq!(bytes.u32() as usize, bytes.0.len());
    bytes.take(8 + 8 + 8 + 4 + 4 + 8);
    let mut manifest = Manifest { wal_start_lsn: bytes.u64(), files: Vec::new() };
    for _ in 0..bytes.u32() {
        bytes.take(4 + 4 + 16);
        let segment = bytes.u64();
        manifest.files.push(("segment", segment));
        for _ in 0..bytes.u32() {
            let index = bytes.u64();
            // Beside a segment it is a copy.
            manifest.files.extend((segment == 0).then_some(("index", index)));
        }
    }
    manifest.files.extend([("catalog", bytes.u64()), ("deletes", bytes.u64())]);
    for _ in 0..bytes.u32() {
        manifest.files.push(("part", bytes.u64()));
        bytes.take(64);
    }
    assert!(bytes.is_empty());
    manifest.files.retain(|(_, number)| *number != 0);
    manifest
}

/// Everything a directory holds.
#[derive(Default)]
struct Store {
    names: Names,
    registries: BTreeMap<u64, Registry>,
    catalog: Catalog,
    deletes: Vec<Delete>,
    dropped: BTreeSet<u32>,
    /// By name and time.
    found: Found,
    met: Met,
}

impl Store {
    fn read(dir: &Path) -> Self {
        let manifest = std::fs::read(dir.join("MANIFEST")).unwrap();
        assert_eq!(manifest, std::fs::read(dir.join("MANIFEST.copy")).unwrap());
        let manifest = read_manifest(&manifest);
        let mut store = Self::default();
        let mut parts = Vec::new();
        for (kind, number) in manifest.files {
            let suffix = BTreeMap::from([
                ("segment", "seg"),
                ("index", "idx"),
                ("catalog", "cat"),
                ("deletes", "del"),
                ("part", "part"),
            ])[kind];
            let file = std::fs::read(dir.join(format!("{kind}-{number:010}.{suffix}"))).unwrap();
            let (logical, is_packed) = unpage(number, &file);
            store.met.insert(format!("{kind}, packed: {is_packed}"));
            match kind {
                "segment" => names::read_segment(&logical, &mut store.names),
                "index" => names::read_index(&logical, &mut store.registries, &mut store.names),
                "catalog" => store.catalog = wal::read_catalog(&logical),
                "deletes" => {
                    let (deletes, dropped) = wal::read_deletes(&logical);
                    (store.deletes, store.dropped) = (deletes, dropped.into_iter().collect());
                }
                _ => parts.push(part::read(&logical, &mut store.met)),
            }
        }
        let mut frames = Vec::new();
        let logs = logs(dir);
        for log in &logs {
            wal::read(log, manifest.wal_start_lsn, &mut store.catalog, &mut |frame| {
                frames.push(frame);
            });
        }
        store.put_together(parts, frames);
        store
    }

    /// Parts by rank, without what was deleted; then the wal, frame by frame.
    fn put_together(&mut self, mut parts: Vec<part::Part>, frames: Vec<Frame<'_>>) {
        let mut samples: BTreeMap<u32, BTreeMap<i64, Value>> = BTreeMap::new();
        let mut newest: BTreeMap<names::Name, BTreeMap<i64, Value>> = BTreeMap::new();
        let mut later = Vec::new();
        for frame in frames {
            match frame {
                Frame::Register(records) => {
                    Registry::read(&mut self.registries, records, &mut self.names);
                }
                Frame::Rows(rows) => {
                    for (sid, time_ns, value) in rows {
                        samples.entry(sid).or_default().insert(time_ns, value);
                    }
                }
                Frame::Delete(delete) => {
                    self.met.insert("a delete in the wal".into());
                    for sid in &delete.series {
                        if let Some(samples) = samples.get_mut(sid) {
                            samples.retain(|time_ns, _| !delete.times.contains(time_ns));
                        }
                    }
                    if delete.is_drop {
                        self.dropped.extend(&delete.series);
                    }
                    later.push(delete);
                }
            }
        }
        self.deletes.extend(later);
        parts.sort_by_key(|part| part.rank);
        for part in parts {
            self.met.insert(format!("level {}", part.level));
            self.check_names(&part);
            for (sid, of_series) in part.samples {
                let deletes = self
                    .deletes
                    .iter()
                    .filter(|delete| part.number < delete.before && delete.series.contains(&sid));
                let deletes: Vec<_> = deletes.collect();
                let is_left = |time_ns: i64| !deletes.iter().any(|d| d.times.contains(&time_ns));
                let left = of_series.into_iter().filter(|(time_ns, _)| is_left(*time_ns));
                newest.entry(self.names.names[&sid].clone()).or_default().extend(left);
            }
        }
        for (sid, name) in &self.names.names {
            let place = newest.entry(name.clone()).or_default();
            place.extend(samples.remove(sid).unwrap_or_default());
        }
        self.show(newest);
    }

    /// What label pages say is what the index says.
    fn check_names(&self, part: &part::Part) {
        for (sid, bytes) in &part.names {
            if bytes.is_empty() {
                assert!(self.dropped.contains(sid));
                continue;
            }
            let mut bytes = Bytes(bytes);
            let measurement = bytes.text();
            let labels: Vec<_> =
                (0..bytes.varint()).map(|_| (bytes.text(), bytes.text())).collect();
            let name = (measurement, labels, bytes.text());
            let (_, measurement, labels, field) = self.names.names[sid].clone();
            assert_eq!(name, (measurement, labels, field));
        }
    }

    /// Series that were not dropped, and of them what is not too old.
    fn show(&mut self, newest: BTreeMap<names::Name, BTreeMap<i64, Value>>) {
        let living = self.names.names.iter().filter(|(sid, _)| !self.dropped.contains(sid));
        let mut kept_ns: BTreeMap<&names::Name, i64> = BTreeMap::new();
        for (sid, name) in living {
            let of_namespace = ("retention".to_owned(), name.0.to_string());
            let keep = match self.names.classes.get(sid).copied().unwrap_or(0) {
                0 => self.catalog.get(&of_namespace).map_or(0, |fact| Bytes(fact).u64() as i64),
                u32::MAX => 0,
                seconds => i64::from(seconds) * 1_000_000_000,
            };
            kept_ns.insert(name, if keep == 0 { i64::MAX } else { keep });
        }
        for (name, mut samples) in newest {
            let Some(kept_ns) = kept_ns.get(&name) else { continue };
            samples.retain(|time_ns, _| *time_ns >= NOW_NS.saturating_sub(*kept_ns));
            let (namespace, measurement, labels, field) = name;
            self.found.insert((namespace as usize, measurement, labels, field), samples);
        }
    }
}

/// The wal's segments, oldest first.
fn logs(dir: &Path) -> Vec<Vec<u8>> {
    let names = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut logs: Vec<_> = names.filter(|path| path.extension() == Some("log".as_ref())).collect();
    logs.sort();
    logs.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

#[test]
fn the_pages_on_formats_suffice_to_read_a_store() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/store-v2");
    let store = Store::read(&dir);
    let (expected, facts) = formula::expected(&formula::steps());
    assert!(store.found.keys().eq(expected.keys()), "{:?}", store.found.keys());
    for (series, samples) in &expected {
        assert_eq!(samples, &store.found[series], "{series:?}");
    }
    let notes: BTreeMap<_, _> =
        store.catalog.into_iter().filter(|((kind, _), _)| kind == "note").collect();
    assert_eq!(notes, facts);
    let everything = (0..8).map(|n| format!("layout {n}"));
    let everything = everything.chain((0..7).map(|n| format!("domain {n}")));
    let everything = everything.chain((0..7).map(|n| format!("exception {n}")));
    let everything = everything.chain((0..3).map(|n| format!("level {n}")));
    let everything = everything.chain((0..4).map(|n| format!("unit {}", 1000i64.pow(n))));
    let rest = [
        "patches",
        "shift",
        "others",
        "start and divisor",
        "a delete in the wal",
        "segment, packed: false",
        "index, packed: false",
        "part, packed: false",
        "part, packed: true",
    ];
    let missing: Vec<String> = everything
        .chain(rest.map(str::to_owned))
        .filter(|thing| !store.met.contains(thing))
        .collect();
    assert_eq!(missing, [] as [String; 0], "the golden directory has none of these");
}
