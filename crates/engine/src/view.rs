//! Views: which parts there are, and where samples on their way into the next parts wait.

use crate::head::Frozen;
use crate::manifest::PartEntry;
use crate::part::Part;
use crate::tombstones::{Later, Tombstones};
use foliot_model::NamespaceId;
use std::collections::HashMap;
use std::sync::Arc;

/// Parts by namespace and epoch, each by rank.
type Places = HashMap<(NamespaceId, u32), Vec<Arc<Part>>>;

/// An immutable state of the store's files, swapped whole when a flush ends or
/// something is deleted.
#[derive(Clone, Default)]
pub(crate) struct View {
    /// Parts by rank: what was written later comes later.
    pub(crate) parts: Vec<Arc<Part>>,
    /// The same, by namespace and epoch.
    places: Arc<Places>,
    /// Parts that the manifest names and that could not be opened, by rank. They may come back:
    /// what masks them stays, and their neighbours are not merged over them.
    pub(crate) absent: Vec<PartEntry>,
    /// What was deleted from these parts.
    pub(crate) tombstones: Arc<Tombstones>,
    /// What is deleted after this view.
    pub(crate) later: Arc<Later>,
    /// What the flush after this view takes out of the head.
    pub(crate) frozen: Arc<Frozen>,
}

/// The oldest parts, which must go so that the others fit into a number of bytes.
pub(crate) struct Beyond {
    /// Everything in them is older than this.
    pub(crate) floor_ns: i64,
    pub(crate) samples: u64,
    pub(crate) bytes: u64,
}

impl View {
    /// What a store shows when it is opened.
    pub(crate) fn new(
        parts: Vec<Arc<Part>>,
        absent: Vec<PartEntry>,
        tombstones: Arc<Tombstones>,
    ) -> Self {
        let mut view = Self { parts, absent, tombstones, ..Self::default() };
        view.arrange();
        view
    }

    /// Parts of a namespace and epoch, by rank.
    pub(crate) fn parts_of(&self, namespace: NamespaceId, epoch: u32) -> &[Arc<Part>] {
        self.places.get(&(namespace, epoch)).map_or(&[], Vec::as_slice)
    }

    /// What must go so that parts take `bytes_max` at most; nothing if nothing must. The newest
    /// part stays.
    pub(crate) fn beyond(&self, bytes_max: u64) -> Option<Beyond> {
        let mut held: u64 = self.parts.iter().map(|part| part.entry.bytes).sum();
        let mut parts: Vec<&Arc<Part>> = self.parts.iter().collect();
        parts.sort_by_key(|part| (part.footer.range.end_ns, part.entry.bytes));
        parts.pop();
        let mut beyond = Beyond { floor_ns: i64::MIN, samples: 0, bytes: 0 };
        for part in parts {
            if held <= bytes_max {
                break;
            }
            held -= part.entry.bytes;
            beyond.floor_ns = part.footer.range.end_ns.saturating_add(1);
            beyond.samples += part.entry.samples;
            beyond.bytes += part.entry.bytes;
        }
        (beyond.bytes > 0).then_some(beyond)
    }

    /// Puts the parts in order, so that readers find theirs.
    pub(crate) fn arrange(&mut self) {
        self.parts.sort_by_key(|part| part.entry.rank);
        let mut places = Places::new();
        for part in &self.parts {
            let place = (part.entry.namespace, part.entry.epoch);
            places.entry(place).or_default().push(part.clone());
        }
        self.places = Arc::new(places);
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;
    use crate::store::Engine;
    use crate::support::{Line, Owned, selector, write};
    use foliot_disk::SimDisk;
    use foliot_model::TimeRange;
    use std::path::Path;
    use std::sync::Arc;

    /// Databases beside it cost a question nothing, and neither the next database.
    #[test]
    fn a_question_looks_at_the_parts_of_its_own_database() {
        const DATABASES: usize = 300;
        let config = Config { background: false, ..Config::default() };
        let engine = Engine::open(Arc::new(SimDisk::new(1)), Path::new("store"), config).unwrap();
        let mut logged = Vec::new();
        let mut ids = Vec::new();
        for number in 100..100 + DATABASES {
            let before = engine.stats().wal_bytes;
            ids.push(engine.create_namespace(&format!("db{number}"), "autogen").unwrap());
            logged.push(engine.stats().wal_bytes - before);
        }
        assert_eq!(logged.first(), logged.last(), "bytes logged for a database");
        for &id in &ids {
            let fields = vec![("value".to_owned(), Owned::Integer(1))];
            write(&engine, id, &[Line { key: "m h=a".to_owned(), time_ns: 1, fields }]).0.unwrap();
        }
        engine.flush().unwrap();
        assert_eq!(engine.stats().parts, DATABASES as u64);
        let snapshot = engine.snapshot();
        for &id in &ids {
            let sids = snapshot.select(&selector(id, "m"), TimeRange::ALL).unwrap();
            let [sid] = sids[..] else { panic!("{sids:?}") };
            assert_eq!(snapshot.parts_of(sid).unwrap().len(), 1, "database {id}");
        }
    }
}
