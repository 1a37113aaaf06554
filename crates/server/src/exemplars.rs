//! Exemplars: the newest of them, in memory, as Prometheus keeps them.
//!
//! They stand in the order in which they came. When `limits.exemplar_bytes` are full the one that
//! came first makes room for the next. Nothing of this is on disk: a start begins with none.

use crate::metrics::{Counter, Kind, Visit, Way, one};
use crate::rejects::shortened;
use crate::shared::Shared;
use foliot_access::Measurements;
use foliot_lock::{Mutex, Rank};
use foliot_model::{KeyParts, NamespaceId};
use foliot_proto_prometheus::{Exemplars as Listed, KEY_SYNTAX, ListedExemplar, exemplar_labels};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The name of a series among its labels.
const NAME: &str = "__name__";

/// Exemplars of a series that a new one is compared with: a target shows the same ones scrape after
/// scrape, of a native histogram ten or so, and a sender repeats what was not answered.
const COMPARED_MAX: usize = 16;

/// What a series, and an exemplar, take beside their labels; and a label beside its text.
const SERIES_BYTES: usize = 250;
const EXEMPLAR_BYTES: usize = 120;
const LABEL_BYTES: usize = 32;

/// Bytes that all labels of a series may take: as many as in a request of remote write 2.0.
const SERIES_BYTES_MAX: usize = 64 << 10;

/// Labels in the order of their names.
type Labels = Box<[(Box<str>, Box<str>)]>;

/// A series that has exemplars.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Series {
    namespace: NamespaceId,
    labels: Labels,
}

/// One that is kept.
#[derive(Debug)]
pub(crate) struct Exemplar {
    pub(crate) series: Arc<Series>,
    labels: Labels,
    pub(crate) value: f64,
    pub(crate) time_ms: i64,
    /// Whether it came with its time.
    has_time: bool,
}

/// All that are kept.
#[derive(Debug)]
pub(crate) struct Exemplars {
    ring: Mutex<Ring>,
    bytes_max: usize,
    kept: Counter,
    displaced: Counter,
}

/// The first that came first, and those of each series.
#[derive(Debug, Default)]
struct Ring {
    all: VecDeque<Arc<Exemplar>>,
    by_series: HashMap<Arc<Series>, VecDeque<Arc<Exemplar>>>,
    bytes: usize,
}

impl Series {
    /// The value of a label, or its name by `__name__`.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        let found = self.labels.iter().find(|(known, _)| **known == *name);
        found.map(|(_, value)| &**value)
    }

    /// What it is called.
    pub(crate) fn name(&self) -> Option<&str> {
        self.value(NAME)
    }

    /// Its labels, in the order of their names.
    pub(crate) fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.labels.iter().map(|(name, value)| (&**name, &**value))
    }

    fn bytes(&self) -> usize {
        SERIES_BYTES + bytes(&self.labels)
    }
}

impl Exemplar {
    /// Its own labels, in the order of their names.
    pub(crate) fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.labels.iter().map(|(name, value)| (&**name, &**value))
    }

    fn bytes(&self) -> usize {
        EXEMPLAR_BYTES + bytes(&self.labels)
    }

    /// Whether it tells of the same observation. One that says no time is shown again and again.
    fn is(&self, other: &Self) -> bool {
        let is_of_time = match self.has_time || other.has_time {
            true => self.has_time == other.has_time && self.time_ms == other.time_ms,
            false => true,
        };
        is_of_time && self.value.to_bits() == other.value.to_bits() && self.labels == other.labels
    }
}

fn bytes(labels: &Labels) -> usize {
    labels.iter().map(|(name, value)| LABEL_BYTES + name.len() + value.len()).sum()
}

impl Ring {
    /// Keeps one, unless it is known; returns how many others had to go for that, or nothing when
    /// it is larger than all the room.
    fn keep(&mut self, mut exemplar: Exemplar, bytes_max: usize) -> Option<u64> {
        if let Some((series, of_it)) = self.by_series.get_key_value(&exemplar.series) {
            if of_it.iter().rev().take(COMPARED_MAX).any(|one| one.is(&exemplar)) {
                return Some(0);
            }
            exemplar.series = series.clone();
        }
        let needed = exemplar.bytes() + exemplar.series.bytes();
        if needed > bytes_max {
            return None;
        }
        let mut gone = 0;
        while self.bytes + needed > bytes_max {
            self.forget_first();
            gone += 1;
        }
        let exemplar = Arc::new(exemplar);
        let of_it = self.by_series.entry(exemplar.series.clone()).or_default();
        if of_it.is_empty() {
            self.bytes += exemplar.series.bytes();
        }
        self.bytes += exemplar.bytes();
        of_it.push_back(exemplar.clone());
        self.all.push_back(exemplar);
        Some(gone)
    }

    fn forget_first(&mut self) {
        let Some(first) = self.all.pop_front() else { return };
        self.bytes = self.bytes.saturating_sub(first.bytes());
        let Some(of_it) = self.by_series.get_mut(&first.series) else { return };
        // What came first of all came first of its series.
        of_it.pop_front();
        if of_it.is_empty() {
            self.by_series.remove(&first.series);
            self.bytes = self.bytes.saturating_sub(first.series.bytes());
        }
    }
}

impl Exemplars {
    /// None yet, and room for so many bytes of them.
    pub(crate) fn new(bytes_max: u64) -> Self {
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        let ring = Mutex::new(Rank::Table, Ring::default());
        Self { ring, bytes_max, kept: Counter::default(), displaced: Counter::default() }
    }

    /// Those of a database, by series.
    pub(crate) fn of(&self, namespace: NamespaceId) -> Vec<(Arc<Series>, Vec<Arc<Exemplar>>)> {
        let ring = self.ring.lock();
        let own = ring.by_series.iter().filter(|(series, _)| series.namespace == namespace);
        own.map(|(series, of_it)| (series.clone(), of_it.iter().cloned().collect())).collect()
    }

    /// Shows the figures.
    pub(crate) fn visit(&self, visit: &mut Visit<'_>) {
        let (count, bytes) = {
            let ring = self.ring.lock();
            (ring.all.len() as f64, ring.bytes as f64)
        };
        let mut show = |name, kind, help, value| one(visit, name, kind, help, &[], value);
        show("exemplars", Kind::Gauge, "Exemplars in memory", count);
        show("exemplars_bytes", Kind::Gauge, "Memory that exemplars take", bytes);
        let (kept, gone) = (self.kept.get() as f64, self.displaced.get() as f64);
        show("exemplars_total", Kind::Counter, "Exemplars taken", kept);
        let help = "Exemplars that made room for newer ones";
        show("exemplars_displaced_total", Kind::Counter, help, gone);
    }
}

/// Keeps exemplars of series whose measurements are in `scope`; returns how many of them are there
/// now. Of the others the log says why the first is dropped; whoever had them counts them.
pub(crate) fn keep(
    shared: &Shared,
    way: Way,
    (namespace, scope): (NamespaceId, &Measurements),
    listed: &Listed,
) -> u64 {
    let exemplars = &shared.exemplars;
    if exemplars.bytes_max == 0 {
        return 0;
    }
    let (mut parts, mut there, mut fault) = (KeyParts::default(), 0, None);
    let labels_max = usize::try_from(shared.config.limits_labels).unwrap_or(usize::MAX);
    for one in listed.iter() {
        let read = read(namespace, scope, labels_max, &one, &mut parts);
        let kept = read.and_then(|exemplar| {
            let gone = exemplars.ring.lock().keep(exemplar, exemplars.bytes_max);
            gone.ok_or_else(|| "it is larger than limits.exemplar_bytes".to_owned())
        });
        match kept {
            Ok(gone) => {
                there += 1;
                exemplars.displaced.add(gone);
            }
            Err(reason) => drop(fault.get_or_insert(reason)),
        }
    }
    exemplars.kept.add(there);
    if let Some(reason) = fault {
        tell(shared, way, reason);
    }
    there
}

/// Tells why an exemplar is dropped.
fn tell(shared: &Shared, way: Way, reason: String) {
    if let Some(silent) = shared.rejects_log.admit(way.name(), "exemplar") {
        log::warn!(
            "exemplars by {} are dropped, the first because {} ({silent} more such reports kept \
             silent)",
            way.name(),
            shortened(&reason)
        );
    }
}

fn read(
    namespace: NamespaceId,
    scope: &Measurements,
    labels_max: usize,
    listed: &ListedExemplar<'_>,
    parts: &mut KeyParts,
) -> Result<Exemplar, String> {
    parts.clear();
    (KEY_SYNTAX.parse)(b"", listed.series, parts).map_err(|error| error.reason)?;
    parts.canonicalize().map_err(|error| error.reason)?;
    if parts.labels().len() > labels_max || listed.series.len() > SERIES_BYTES_MAX {
        return Err("its series has more labels than any may have".to_owned());
    }
    let text = |bytes: &[u8]| -> Box<str> { String::from_utf8_lossy(bytes).into() };
    let measurement = text(parts.measurement());
    if !scope.include(&measurement) {
        return Err(format!("no right to write to measurement {measurement:?}"));
    }
    let labels = parts.labels().map(|(name, value)| (text(name), text(value)));
    let mut all: Vec<_> = labels.chain([(NAME.into(), measurement)]).collect();
    all.sort();
    let series = Arc::new(Series { namespace, labels: all.into() });
    let labels = exemplar_labels(listed.labels)?.into();
    let ListedExemplar { value, time_ms, has_time, .. } = *listed;
    Ok(Exemplar { series, labels, value, time_ms, has_time })
}

#[cfg(test)]
mod tests {
    use super::*;
    use foliot_proto_prometheus::{Exemplar as Told, pack_labels};

    fn exemplar(job: &str, id: &str, time_ms: Option<i64>) -> Exemplar {
        let series = pack_labels([("__name__", "m"), ("job", job)].into_iter());
        let labels = pack_labels([("id", id)].into_iter());
        let mut listed = Listed::default();
        listed.push(&[&series], &Told { labels, value: 1.0, time_ms }, 7);
        let one = listed.iter().next().unwrap();
        read(0, &Measurements::All, 10, &one, &mut KeyParts::default()).unwrap()
    }

    fn ids(ring: &Ring) -> String {
        ring.all.iter().flat_map(|one| one.labels().map(|(_, id)| id.to_owned())).collect()
    }

    #[test]
    fn the_first_make_room_and_what_is_known_is_kept_once() {
        let mut ring = Ring::default();
        let each = exemplar("a", "x", None).bytes() + exemplar("a", "x", None).series.bytes();
        let room = 3 * each;
        for (job, id, time_ms, gone) in [
            ("a", "1", Some(1), Some(0)),
            ("a", "1", Some(1), Some(0)),
            ("a", "1", Some(2), Some(0)),
            ("b", "2", None, Some(0)),
            ("b", "2", None, Some(0)),
            ("b", "2", Some(7), Some(1)),
        ] {
            assert_eq!(ring.keep(exemplar(job, id, time_ms), room), gone, "{job} {id}");
        }
        assert_eq!(ids(&ring), "122");
        // Names as long as those above, so that room is for three of them.
        for (index, job) in ["p", "q", "r", "s", "t"].into_iter().cycle().take(100).enumerate() {
            ring.keep(exemplar(job, "3", Some(index as i64)), room);
            assert!(ring.bytes <= room && ring.all.len() >= 3, "{}", ring.bytes);
        }
        let listed: usize = ring.by_series.values().map(VecDeque::len).sum();
        assert_eq!(listed, ring.all.len());
        assert_eq!(ring.keep(exemplar("a", "1", None), each - 1), None);
        while !ring.all.is_empty() {
            ring.forget_first();
        }
        assert_eq!((ring.bytes, ring.by_series.len()), (0, 0));
    }

    #[test]
    fn series_that_no_store_takes_have_none() {
        let long = "x".repeat(SERIES_BYTES_MAX);
        for (labels, word) in [
            (&[("job", "a")][..], "no name"),
            (&[("__name__", "m"), ("a", "1"), ("b", "1")], "more labels"),
            (&[("__name__", "m"), ("a", &long)], "more labels"),
            (&[("__name__", "n")], "no right"),
        ] {
            let series = pack_labels(labels.iter().copied());
            let mut listed = Listed::default();
            listed.push(&[&series], &Told::default(), 7);
            let one = listed.iter().next().unwrap();
            let scope = Measurements::Passing(vec![foliot_model::Test::equal("m")]);
            let error = read(0, &scope, 1, &one, &mut KeyParts::default()).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }
}
