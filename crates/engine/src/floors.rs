//! Floors that are made physical: found by whoever takes samples away from files, and made durable
//! facts here before files lose anything by them.
//!
//! Finding out what is too old takes as long as reading parts does, and what is kept for how long
//! may change meanwhile: a namespace is dropped, a retention becomes longer. A floor that was found
//! before and does not follow from what holds now must not become a fact, for nobody would take it
//! back. So settings stand still while that is asked and the fact is made.

use crate::config::Commit;
use crate::error::Error;
use crate::ingest::Ingest;
use crate::retention::Retention;
use foliot_model::NamespaceId;
use std::collections::BTreeMap;

/// What floors are of: a namespace and a retention class.
pub(crate) type FloorKey = (NamespaceId, u32);

/// Floors that files would rely on, as they were at one instant.
pub(crate) struct Floors {
    now_ns: i64,
    of: BTreeMap<FloorKey, i64>,
}

impl Floors {
    /// No floors yet, of an instant.
    pub(crate) fn at(now_ns: i64) -> Self {
        Self { now_ns, of: BTreeMap::new() }
    }

    /// The instant by which samples are too old.
    pub(crate) fn now_ns(&self) -> i64 {
        self.now_ns
    }

    /// Notes that a file relies on a floor.
    pub(crate) fn note(&mut self, key: FloorKey, floor_ns: i64) {
        let noted = self.of.entry(key).or_insert(floor_ns);
        *noted = (*noted).max(floor_ns);
    }

    /// Notes all of `others`, which are of the same instant.
    pub(crate) fn extend(&mut self, others: &Self) {
        others.of.iter().for_each(|(&key, &floor_ns)| self.note(key, floor_ns));
    }

    /// Whether all of them follow from what is kept now.
    fn hold(&self, retention: &Retention) -> bool {
        let holds = |(&(id, class), floor_ns): (&FloorKey, &i64)| {
            retention.floor(self.now_ns, id, class) >= *floor_ns
        };
        self.of.iter().all(holds)
    }
}

impl Ingest {
    /// Makes floors durable facts; false, and nothing is done, when what is kept changed since they
    /// were found. Then files must not rely on them.
    ///
    /// # Errors
    /// When the wal refuses, or cannot be made durable.
    pub(crate) fn keep_floors(&self, floors: &Floors) -> Result<bool, Error> {
        {
            let _settled = self.settings();
            let retention = self.retention();
            let is_dropped = |(id, _): &FloorKey| self.namespaces().is_dropped(*id);
            if !floors.hold(&retention) || floors.of.keys().any(is_dropped) {
                return Ok(false);
            }
            let mut new =
                floors.of.iter().filter(|(key, ns)| !retention.has_expired(**key, **ns)).peekable();
            let is_new = new.peek().is_some();
            new.try_for_each(|(key, floor_ns)| self.keep_floor(*key, *floor_ns).map(|_| ()))?;
            if is_new {
                self.reload_retention();
            }
        }
        // A floor that is known, and the retention that it follows from, may still be on their way
        // to the disk, or never get there: an earlier wait may have failed.
        self.wal().settle(Commit::at(self.wal().end_lsn()))?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::Caller;
    use crate::config::Config;
    use crate::store::Engine;
    use foliot_disk::SimDisk;
    use foliot_model::DEFAULT_NAMESPACE;
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;

    const DAY: Duration = Duration::from_secs(86_400);

    /// Floors of a namespace that keeps its samples for a day.
    fn found(engine: &Engine, id: NamespaceId) -> Floors {
        engine.set_retention(id, Some(DAY), &Caller::default()).unwrap();
        let ingest = &engine.store().ingest;
        let mut floors = Floors::at(ingest.clock().gone_ns());
        floors.note((id, 0), ingest.retention().floor(floors.now_ns(), id, 0));
        floors
    }

    /// Has a namespace's floors found, then `change` something, then asks for them as facts:
    /// whether they became some, by what is told and by what is kept.
    fn becomes_fact(database: &str, change: impl Fn(&Engine, NamespaceId)) -> (bool, bool) {
        let config = Config { background: false, ..Config::default() };
        let engine = Engine::open(Arc::new(SimDisk::new(1)), Path::new("store"), config).unwrap();
        let id = engine.create_namespace(database, "autogen").unwrap();
        let floors = found(&engine, id);
        change(&engine, id);
        let told = engine.store().ingest.keep_floors(&floors).unwrap();
        (told, engine.store().ingest.retention().expired(id, 0).is_some())
    }

    #[test]
    fn a_floor_found_before_what_is_kept_changed_is_no_fact() {
        let drop = |engine: &Engine, id| {
            engine.drop_namespace(id, &Caller::default()).unwrap();
        };
        let keep = |keep: Option<Duration>| {
            move |engine: &Engine, id| {
                engine.set_retention(id, keep, &Caller::default()).unwrap();
            }
        };
        assert_eq!(
            becomes_fact("default", |_, id| assert_eq!(id, DEFAULT_NAMESPACE)),
            (true, true)
        );
        assert_eq!(becomes_fact("other", |_, _| ()), (true, true));
        assert_eq!(becomes_fact("other", keep(Some(DAY / 2))), (true, true), "shorter");
        assert_eq!(becomes_fact("other", keep(Some(2 * DAY))), (false, false), "longer");
        assert_eq!(becomes_fact("other", keep(None)), (false, false), "for ever");
        assert_eq!(becomes_fact("default", drop), (false, false), "the first one dropped");
        assert_eq!(becomes_fact("other", drop), (false, false), "another dropped");
    }
}
