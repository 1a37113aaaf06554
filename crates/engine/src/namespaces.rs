//! Namespaces: numbers for databases and their policies. They are facts of the catalog; a table in
//! memory answers for them.

use crate::catalog::Catalog;
use crate::config::Commit;
use crate::error::Error;
use crate::store::Engine;
use foliot_lock::{Rank, RwLock};
use foliot_model::{DEFAULT_NAMESPACE, NamespaceId};
use std::collections::{BTreeMap, HashMap};

/// Facts: the number of a namespace (u32), by its names.
const KIND: &str = "namespace";
/// The highest number of a dropped namespace, so that none is given out twice.
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
        let mut table = Table { names: BTreeMap::new(), ids: HashMap::new(), highest: 0 };
        let (database, policy) = DEFAULT_NAMES;
        table.add(DEFAULT_NAMESPACE, (database.to_owned(), policy.to_owned()));
        for (key, bytes) in catalog.list(KIND) {
            if let (Some((database, policy)), Some(id)) =
                (key.split_once('\0'), bytes.first_chunk())
            {
                table.add(u32::from_le_bytes(*id), (database.to_owned(), policy.to_owned()));
            }
        }
        let dropped = catalog.get(DROPPED_KIND, "");
        let dropped = dropped.and_then(|bytes| bytes.first_chunk().copied());
        table.highest = table.highest.max(dropped.map_or(0, u32::from_le_bytes));
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

    /// Keeps numbers up to `highest` from being given out, whatever the catalog says.
    pub(crate) fn reserve(&self, highest: NamespaceId) {
        let mut table = self.0.write();
        table.highest = table.highest.max(highest);
    }

    fn add(&self, id: NamespaceId, database: &str, policy: &str) {
        self.0.write().add(id, (database.to_owned(), policy.to_owned()));
    }

    fn remove(&self, id: NamespaceId) {
        let mut table = self.0.write();
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

    /// The id of a namespace, which is created if there is none.
    ///
    /// # Errors
    /// When the wal refuses, or a name has a NUL.
    pub fn create_namespace(&self, database: &str, policy: &str) -> Result<NamespaceId, Error> {
        if database.contains('\0') || policy.contains('\0') {
            return Err(Error::Invalid("a database name cannot hold a NUL".to_owned()));
        }
        let _one_at_a_time = self.store().settings.lock();
        if let Some(id) = self.namespace(database, policy) {
            return Ok(id);
        }
        let namespaces = self.store().ingest.namespaces();
        let id = namespaces.highest() + 1;
        self.catalog_put(KIND, &key(database, policy), &id.to_le_bytes())?;
        namespaces.add(id, database, policy);
        Ok(id)
    }

    /// Takes a namespace off the catalog; the first one stays.
    pub(crate) fn forget_namespace(&self, id: NamespaceId) -> Result<Commit, Error> {
        let ingest = &self.store().ingest;
        let _one_at_a_time = self.store().settings.lock();
        let namespaces = ingest.namespaces();
        let mut commit = ingest.forget_retention(id)?;
        let dropped = ingest.catalog().get(DROPPED_KIND, "");
        let dropped = dropped.and_then(|bytes| bytes.first_chunk().copied());
        let highest = dropped.map_or(0, u32::from_le_bytes).max(id);
        commit = self.catalog_put(DROPPED_KIND, "", &highest.to_le_bytes())?.max(commit);
        if let Some((database, policy)) = namespaces.name(id).filter(|_| id != DEFAULT_NAMESPACE) {
            commit = self.catalog_delete(KIND, &key(&database, &policy))?.max(commit);
            namespaces.remove(id);
        }
        Ok(commit)
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

fn key(database: &str, policy: &str) -> String {
    format!("{database}\0{policy}")
}
