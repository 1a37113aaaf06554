//! Namespaces: numbers for databases and their policies. They are facts of the catalog; a table in
//! memory answers for them.

use crate::catalog::Catalog;
use crate::error::Error;
use crate::store::Engine;
use foliot_index::SidSet;
use foliot_lock::{Rank, RwLock};
use foliot_model::{DEFAULT_NAMESPACE, NamespaceId};
use std::collections::{BTreeMap, HashMap};

/// Facts: the number of a namespace (u32), by its names.
const KIND: &str = "namespace";
/// A fact: the numbers of all namespaces that were dropped, a set. None is given out twice, and
/// files that still hold samples of one are removed.
const DROPPED_KIND: &str = "namespace dropped";
/// Database and policy of the namespace that exists from the start.
const DEFAULT_NAMES: (&str, &str) = ("default", "autogen");

/// Database and policy.
type Names = (String, String);

/// All namespaces.
pub(crate) struct Namespaces(RwLock<Table>);

struct Table {
    names: BTreeMap<NamespaceId, Names>,
    ids: HashMap<Names, NamespaceId>,
    /// The highest number that was ever given out.
    highest: NamespaceId,
    dropped: SidSet,
}

impl Table {
    fn add(&mut self, id: NamespaceId, names: Names) {
        self.highest = self.highest.max(id);
        self.ids.insert(names.clone(), id);
        self.names.insert(id, names);
    }
}

impl Namespaces {
    /// What the catalog says.
    pub(crate) fn load(catalog: &Catalog) -> Self {
        let dropped = dropped(catalog);
        let highest = dropped.last().unwrap_or_default();
        let mut table = Table { names: BTreeMap::new(), ids: HashMap::new(), highest, dropped };
        let (database, policy) = DEFAULT_NAMES;
        table.add(DEFAULT_NAMESPACE, (database.to_owned(), policy.to_owned()));
        for (key, id) in named(catalog) {
            // One whose drop was stopped before its name went has none.
            if let Some((database, policy)) = key.split_once('\0')
                && !table.dropped.contains(id)
            {
                table.add(id, (database.to_owned(), policy.to_owned()));
            }
        }
        Self(RwLock::new(Rank::Namespaces, table))
    }

    /// Database and policy of a namespace.
    pub(crate) fn name(&self, id: NamespaceId) -> Option<Names> {
        self.0.read().names.get(&id).cloned()
    }

    /// The namespace of a database and policy.
    pub(crate) fn id(&self, database: &str, policy: &str) -> Option<NamespaceId> {
        self.0.read().ids.get(&(database.to_owned(), policy.to_owned())).copied()
    }

    fn all(&self) -> Vec<(NamespaceId, String, String)> {
        let table = self.0.read();
        let all = table.names.iter();
        all.map(|(id, (database, policy))| (*id, database.clone(), policy.clone())).collect()
    }

    /// The highest number that was ever given out.
    pub(crate) fn highest(&self) -> NamespaceId {
        self.0.read().highest
    }

    /// Whether a namespace was dropped.
    pub(crate) fn is_dropped(&self, id: NamespaceId) -> bool {
        self.0.read().dropped.contains(id)
    }

    /// The numbers of all namespaces that were dropped.
    pub(crate) fn dropped(&self) -> SidSet {
        self.0.read().dropped.clone()
    }

    /// Keeps numbers up to `highest` from being given out, whatever the catalog says.
    pub(crate) fn reserve(&self, highest: NamespaceId) {
        let mut table = self.0.write();
        table.highest = table.highest.max(highest);
    }

    fn add(&self, id: NamespaceId, database: &str, policy: &str) {
        self.0.write().add(id, (database.to_owned(), policy.to_owned()));
    }

    fn drop(&self, id: NamespaceId) {
        let mut table = self.0.write();
        table.dropped.add(&[id].into_iter().collect());
        if let Some(names) = table.names.remove(&id) {
            table.ids.remove(&names);
        }
    }
}

impl Engine {
    /// The id of a namespace.
    pub fn namespace(&self, database: &str, policy: &str) -> Option<NamespaceId> {
        self.store().ingest.namespaces().id(database, policy)
    }

    /// Refuses what takes room and makes none, while the disk has none but for what does.
    ///
    /// # Errors
    /// When the disk is full or all but full, or the wal refuses.
    pub fn check_space(&self) -> Result<(), Error> {
        self.store().ingest.wal().check_space()
    }

    /// The id of a namespace, which is created if there is none.
    ///
    /// # Errors
    /// When the wal refuses, or a name has a NUL.
    pub fn create_namespace(&self, database: &str, policy: &str) -> Result<NamespaceId, Error> {
        if database.contains('\0') || policy.contains('\0') {
            return Err(Error::Invalid("a database name cannot hold a NUL".to_owned()));
        }
        let _one_at_a_time = self.store().ingest.settings();
        if let Some(id) = self.namespace(database, policy) {
            return Ok(id);
        }
        let namespaces = self.store().ingest.namespaces();
        let id = namespaces.highest() + 1;
        self.catalog_put(KIND, &key(database, policy), &id.to_le_bytes())?;
        namespaces.add(id, database, policy);
        Ok(id)
    }

    /// Takes a namespace off the catalog; the first one stays, and forgets only for how long its
    /// samples were kept. With the fact that it was dropped it is: whatever stops the rest, its
    /// files go when the store is opened next.
    pub(crate) fn forget_namespace(&self, id: NamespaceId) -> Result<(), Error> {
        let ingest = &self.store().ingest;
        let _one_at_a_time = self.store().ingest.settings();
        if id != DEFAULT_NAMESPACE {
            let namespaces = ingest.namespaces();
            let mut dropped = namespaces.dropped();
            dropped.add(&[id].into_iter().collect());
            let mut bytes = Vec::new();
            dropped.encode(&mut bytes);
            self.catalog_put(DROPPED_KIND, "", &bytes)?;
            namespaces.drop(id);
            self.forget_dropped_names()?;
        }
        ingest.forget_series_limits(id)?;
        ingest.forget_retention(id).map(|_| ())
    }

    /// Removes the facts that give names to namespaces that were dropped.
    pub(crate) fn forget_dropped_names(&self) -> Result<(), Error> {
        let ingest = &self.store().ingest;
        for (key, id) in named(ingest.catalog()) {
            if ingest.namespaces().is_dropped(id) {
                self.catalog_delete(KIND, &key)?;
            }
        }
        Ok(())
    }

    /// All namespaces: id, database, policy.
    pub fn namespaces(&self) -> Vec<(NamespaceId, String, String)> {
        self.store().ingest.namespaces().all()
    }
}

/// The fact that gives a namespace its name: kind, key and bytes.
pub(crate) fn fact(
    id: NamespaceId,
    database: &str,
    policy: &str,
) -> (&'static str, String, [u8; 4]) {
    (KIND, key(database, policy), id.to_le_bytes())
}

/// The numbers that the catalog has names for, by the keys of the facts that say so.
fn named(catalog: &Catalog) -> impl Iterator<Item = (String, NamespaceId)> {
    let facts = catalog.list(KIND).into_iter();
    facts.filter_map(|(key, bytes)| Some((key, u32::from_le_bytes(*bytes.first_chunk()?))))
}

/// The numbers of namespaces that the catalog says were dropped.
fn dropped(catalog: &Catalog) -> SidSet {
    let bytes = catalog.get(DROPPED_KIND, "").unwrap_or_default();
    SidSet::decode(&mut &*bytes).unwrap_or_default()
}

fn key(database: &str, policy: &str) -> String {
    format!("{database}\0{policy}")
}
