//! Databases and retention policies: the one place that turns their names into namespaces.
//!
//! Every door asks here, so that a name means the same in all of them. What is durable are facts of
//! the engine's catalog; this table is their copy in memory. A database that exists only because
//! something was written to it has no facts of its own, just its namespaces.
//!
//! ```text
//! database   name              -> name of the default policy, empty when it was dropped
//! policy     database NUL name -> duration i64 | shard duration i64 | replication u32
//! ```

use crate::kinds::Kinds;
use foliot_engine::{Ack, Caller, Engine, Error};
use foliot_lock::{Condvar, Mutex, MutexGuard, Rank, RwLock};
use foliot_model::{DEFAULT_NAMESPACE, NamespaceId};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The retention policy of a database for which none was made.
pub const DEFAULT_POLICY: &str = "autogen";

/// Longest name of a database or policy, in bytes: what a file system takes for a folder's name,
/// which is what InfluxDB makes of it.
pub const NAME_BYTES_MAX: usize = 255;

/// Refuses what cannot name a database or a policy, however it is to be made.
///
/// # Errors
/// When the name is empty, too long, a way through folders, or holds what no name may.
pub fn check_name(name: &str) -> Result<(), Error> {
    let is_bad = |c: char| matches!(c, '/' | '\\') || c.is_control();
    let is_fit = (1..=NAME_BYTES_MAX).contains(&name.len())
        && !name.contains(is_bad)
        && !matches!(name, "." | "..");
    match is_fit {
        true => Ok(()),
        false => {
            let shown: String = name.chars().take(60).collect();
            Err(Error::Invalid(format!(
                "invalid name {shown:?} of a database or policy: it must have 1 to \
                 {NAME_BYTES_MAX} bytes, no / or \\, no control characters, and be neither . nor .."
            )))
        }
    }
}

/// Nanoseconds of a day.
const DAY_NS: i64 = 24 * 3600 * 1_000_000_000;

const DATABASE_KIND: &str = "database";
/// Stands before the default policy of a database that is being dropped. No name begins so.
const GOING: &[u8] = b"\0";
const POLICY_KIND: &str = "policy";

/// A database, or one of its retention policies, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseName {
    /// The database.
    pub database: String,
    /// The policy; none means the database's default one.
    pub policy: Option<String>,
}

impl DatabaseName {
    /// Reads `database` or `database/policy`; nothing when the database has no name.
    pub fn parse(text: &str) -> Option<Self> {
        let (database, policy) = text.split_once('/').unwrap_or((text, ""));
        let policy = Some(policy).filter(|name| !name.is_empty()).map(str::to_owned);
        (!database.is_empty()).then(|| Self { database: database.to_owned(), policy })
    }
}

impl fmt::Display for DatabaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.database)?;
        self.policy.as_ref().map_or(Ok(()), |policy| write!(f, "/{policy}"))
    }
}

/// A retention policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// Where its samples are.
    pub namespace: NamespaceId,
    /// How long samples are kept, in nanoseconds; 0 means for ever.
    pub duration_ns: i64,
    /// Remembered for clients that ask; the store cuts time its own way.
    pub shard_duration_ns: i64,
    /// Remembered for clients that ask; there is one copy.
    pub replication: u32,
}

impl Policy {
    /// One that keeps everything; its namespace is still to be found.
    pub fn unbounded(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            namespace: DEFAULT_NAMESPACE,
            duration_ns: 0,
            shard_duration_ns: 7 * DAY_NS,
            replication: 1,
        }
    }
}

/// A database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Database {
    /// Name of the policy that is meant when none is named; empty when that one was dropped.
    pub default_policy: String,
    /// In the order in which they were made.
    pub policies: Vec<Policy>,
    /// Whether somebody made it, as opposed to it being there from the start.
    pub is_made: bool,
}

impl Database {
    /// The policy with this name, or the default one.
    pub fn policy(&self, name: Option<&str>) -> Option<&Policy> {
        let name = name.unwrap_or(&self.default_policy);
        self.policies.iter().find(|policy| policy.name == name)
    }
}

/// What a name does not lead to.
#[derive(Debug)]
pub enum Missing {
    /// There is no such database.
    Database(String),
    /// There is no such policy.
    Policy(String),
    /// It was to be created, and that failed.
    Store(Error),
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database(name) => write!(f, "database not found: {name:?}"),
            Self::Policy(name) => write!(f, "retention policy not found: {name}"),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl From<Error> for Missing {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

/// How many there may be; those that are there stay.
#[derive(Clone, Copy, Debug)]
pub struct Most {
    /// Databases (`limits.databases`).
    pub databases: u64,
    /// Policies of all databases together (`limits.policies`).
    pub policies: u64,
}

impl Default for Most {
    fn default() -> Self {
        Self { databases: u64::MAX, policies: u64::MAX }
    }
}

/// What a change makes of a database: a policy, and whether it becomes the default one; nothing
/// where nothing is to change.
pub type Wanted = Option<(Policy, bool)>;

/// All databases.
#[derive(Debug)]
pub struct Databases {
    most: Most,
    /// How often a database and a policy were refused because there were enough.
    refused: [AtomicU64; 2],
    table: RwLock<BTreeMap<String, Database>>,
    /// Changes come one after another; those of a database of which something is being dropped,
    /// which may take long, when that is over. Their names.
    changing: Mutex<BTreeSet<String>>,
    /// Something was dropped.
    dropped: Condvar,
}

impl Databases {
    /// The databases that the store knows.
    pub fn new(engine: &Engine) -> Self {
        Self {
            most: Most::default(),
            refused: Default::default(),
            table: RwLock::new(Rank::Table, load(engine)),
            changing: Mutex::new(Rank::Databases, BTreeSet::new()),
            dropped: Condvar::new(),
        }
    }

    /// The same, of which there may be so many.
    #[must_use]
    pub fn with_most(self, most: Most) -> Self {
        Self { most, ..self }
    }

    /// How often a database and a policy were refused because there were enough.
    pub fn refused(&self) -> [u64; 2] {
        self.refused.each_ref().map(|count| count.load(Ordering::Relaxed))
    }

    /// Refuses one more policy, or one more database with it, where there are enough.
    fn check_room(&self, is_database: bool) -> Result<(), Error> {
        let table = self.table.read();
        let policies: usize = table.values().map(|found| found.policies.len()).sum();
        let [no_database, no_policy] = &self.refused;
        let refuse = |met: &AtomicU64, what: &str, most: u64, setting: &str| {
            met.fetch_add(1, Ordering::Relaxed);
            Err(Error::Invalid(format!(
                "as many {what} as {setting} allows ({most}) are there already: drop some, or raise \
                 it"
            )))
        };
        let Most { databases: databases_max, policies: policies_max } = self.most;
        if is_database && table.len() as u64 >= databases_max {
            return refuse(no_database, "databases", databases_max, "limits.databases");
        }
        if policies as u64 >= policies_max {
            return refuse(no_policy, "retention policies", policies_max, "limits.policies");
        }
        Ok(())
    }

    /// The namespace to read, which must exist.
    ///
    /// # Errors
    /// When there is no such database or policy.
    pub fn find(&self, database: &str, policy: Option<&str>) -> Result<NamespaceId, Missing> {
        let table = self.table.read();
        let found = table.get(database).ok_or_else(|| Missing::Database(database.to_owned()))?;
        let name = policy.unwrap_or(&found.default_policy);
        let found = found.policy(policy).ok_or_else(|| Missing::Policy(name.to_owned()))?;
        Ok(found.namespace)
    }

    /// The namespace to write to. A policy is made on purpose; only a whole database comes into
    /// being by being written to, if `creates` says so. That waits for the disk.
    ///
    /// # Errors
    /// When there is no such database or policy, and when one cannot be made.
    pub fn find_or_create(
        &self,
        engine: &Engine,
        database: &str,
        policy: Option<&str>,
        creates: bool,
    ) -> Result<NamespaceId, Missing> {
        match self.find(database, policy) {
            Err(Missing::Database(_)) if creates => {
                let name = policy.unwrap_or(DEFAULT_POLICY);
                Ok(self.create(engine, database, name)?)
            }
            outcome => outcome,
        }
    }

    /// The namespace of a database and policy that rows may always go to: what is missing of them
    /// is made, also a policy that was dropped.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn always(
        &self,
        engine: &Engine,
        database: &str,
        policy: Option<&str>,
    ) -> Result<NamespaceId, Missing> {
        let found = self.find(database, policy);
        if found.is_ok() {
            return found;
        }
        let caller = Caller { door: "first write", ..Caller::default() };
        self.change(engine, database, &caller, |found| {
            if found.is_some_and(|found| found.policy(policy).is_some()) {
                return Ok(None);
            }
            let name = policy.unwrap_or(DEFAULT_POLICY);
            // One that is there and no default only becomes it.
            let known = found.and_then(|found| found.policy(Some(name))).cloned();
            let is_default = found.is_none_or(|found| found.policy(None).is_none());
            Ok::<_, Error>(Some((known.unwrap_or_else(|| Policy::unbounded(name)), is_default)))
        })?;
        self.find(database, policy)
    }

    /// A database.
    pub fn get(&self, database: &str) -> Option<Database> {
        self.table.read().get(database).cloned()
    }

    /// All databases by name.
    pub fn list(&self) -> Vec<(String, Database)> {
        self.table.read().iter().map(|(name, found)| (name.clone(), found.clone())).collect()
    }

    /// Creates a database with one policy, unless it exists; returns the policy's namespace.
    fn create(&self, engine: &Engine, database: &str, policy: &str) -> Result<NamespaceId, Error> {
        let caller = Caller { door: "first write", ..Caller::default() };
        self.set_policy(engine, database, Policy::unbounded(policy), true, &caller)
    }

    /// Makes a policy, or gives an existing one other properties. The database is made with it if
    /// there is none; `is_default` says whether the policy becomes its default one. Returns the
    /// policy's namespace; the one that `policy` holds is ignored.
    ///
    /// # Errors
    /// When the store cannot take it, or the name of what is to be made is none.
    pub fn set_policy(
        &self,
        engine: &Engine,
        database: &str,
        policy: Policy,
        is_default: bool,
        caller: &Caller,
    ) -> Result<NamespaceId, Error> {
        let _one_at_a_time = self.change_alone(database);
        self.set_alone(engine, database, policy, is_default, caller)
    }

    /// The same, for a policy that depends on what is there: nothing else changes while `decide`
    /// looks at the database, of which there may be none. Tells the policy as it was made.
    ///
    /// # Errors
    /// As [`Databases::set_policy`], and what `decide` says.
    pub fn change<E: From<Error>>(
        &self,
        engine: &Engine,
        database: &str,
        caller: &Caller,
        decide: impl FnOnce(Option<&Database>) -> Result<Wanted, E>,
    ) -> Result<Wanted, E> {
        let _one_at_a_time = self.change_alone(database);
        let Some((mut policy, is_default)) = decide(self.get(database).as_ref())? else {
            return Ok(None);
        };
        policy.namespace = self.set_alone(engine, database, policy.clone(), is_default, caller)?;
        Ok(Some((policy, is_default)))
    }

    /// The same as [`Databases::set_policy`], for who holds `changing`.
    fn set_alone(
        &self,
        engine: &Engine,
        database: &str,
        mut policy: Policy,
        is_default: bool,
        caller: &Caller,
    ) -> Result<NamespaceId, Error> {
        // What is there already keeps its name.
        let found = self.get(database);
        if found.is_none() {
            check_name(database)?;
        }
        let is_database = found.is_none();
        if found.is_none_or(|found| found.policy(Some(&policy.name)).is_none()) {
            check_name(&policy.name)?;
            self.check_room(is_database)?;
            engine.check_space()?;
        }
        policy.namespace = engine.create_namespace(database, &policy.name)?;
        let namespace = policy.namespace;
        let keep = u64::try_from(policy.duration_ns).ok().filter(|duration_ns| *duration_ns > 0);
        let mut changed = self.get(database).unwrap_or_default();
        // A new policy without a duration of its own keeps what the server keeps by default.
        if keep.is_some() || changed.policy(Some(&policy.name)).is_some() {
            engine.set_retention(namespace, keep.map(Duration::from_nanos), caller)?;
        }
        engine.catalog_put(POLICY_KIND, &key(database, &policy.name), &encode(&policy))?;
        if is_default {
            changed.default_policy.clone_from(&policy.name);
        }
        match changed.policies.iter_mut().find(|found| found.name == policy.name) {
            Some(found) => *found = policy,
            None => changed.policies.push(policy),
        }
        self.publish(engine, database, changed)?;
        Ok(namespace)
    }

    /// Drops a policy with everything in it; nothing happens when there is none, nor when `goes_on`
    /// says no while it is counted what goes.
    ///
    /// # Errors
    /// When the store cannot take it.
    pub fn drop_policy(
        &self,
        engine: &Engine,
        database: &str,
        policy: &str,
        kinds: &Kinds,
        caller: &Caller,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        let going = self.begin_drop(database);
        going.drop_policy(engine, policy, kinds, caller, goes_on)
    }

    /// The same; with its last policy the database goes, which is told.
    ///
    /// # Errors
    /// As [`Databases::drop_policy`] and [`Databases::drop_database`].
    pub fn drop_bucket(
        &self,
        engine: &Engine,
        database: &str,
        policy: &str,
        kinds: &Kinds,
        caller: &Caller,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<bool, Error> {
        let going = self.begin_drop(database);
        let found = self.get(database).map(|found| found.policies).unwrap_or_default();
        let is_last = matches!(found.as_slice(), [last] if last.name == policy);
        match is_last {
            true => going.drop_database(engine, kinds, caller, goes_on),
            false => going.drop_policy(engine, policy, kinds, caller, goes_on),
        }?;
        Ok(is_last)
    }

    /// Drops a database with everything in it; nothing happens when there is none, nor when
    /// `goes_on` says no while it is counted what goes first.
    ///
    /// # Errors
    /// When the store cannot take it; then what is left of it is there as before.
    pub fn drop_database(
        &self,
        engine: &Engine,
        database: &str,
        kinds: &Kinds,
        caller: &Caller,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        self.begin_drop(database).drop_database(engine, kinds, caller, goes_on)
    }

    /// Waits until nobody else changes anything, and nothing of this database is being dropped.
    fn change_alone(&self, database: &str) -> MutexGuard<'_, BTreeSet<String>> {
        let mut changing = self.changing.lock();
        while changing.contains(database) {
            self.dropped.wait(&mut changing);
        }
        changing
    }

    /// Keeps changes of this database waiting, and no others.
    fn begin_drop<'a>(&'a self, database: &'a str) -> Going<'a> {
        self.change_alone(database).insert(database.to_owned());
        Going { databases: self, database }
    }

    /// Shows what the store has of a database that was to be changed.
    fn show_again(&self, engine: &Engine, database: &str) {
        let left = load(engine).remove_entry(database);
        self.table.write().extend(left);
    }

    fn publish(&self, engine: &Engine, database: &str, mut changed: Database) -> Result<(), Error> {
        engine.catalog_put(DATABASE_KIND, database, changed.default_policy.as_bytes())?;
        changed.is_made = true;
        self.table.write().insert(database.to_owned(), changed);
        Ok(())
    }
}

/// A database of which something is being dropped: nobody else changes it meanwhile.
struct Going<'a> {
    databases: &'a Databases,
    database: &'a str,
}

impl Going<'_> {
    fn drop_policy(
        &self,
        engine: &Engine,
        policy: &str,
        kinds: &Kinds,
        caller: &Caller,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        let Self { databases, database } = *self;
        let Some(mut changed) = databases.get(database) else { return confirm(engine) };
        let Some(at) = changed.policies.iter().position(|found| found.name == policy) else {
            return confirm(engine);
        };
        let dropped = changed.policies.remove(at);
        databases.publish(engine, database, changed)?;
        let result = drop_namespace(engine, (database, &dropped), kinds, caller, goes_on);
        if result.is_err() {
            databases.show_again(engine, database);
        }
        result
    }

    fn drop_database(
        &self,
        engine: &Engine,
        kinds: &Kinds,
        caller: &Caller,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        let Self { databases, database } = *self;
        // Nobody writes to what is going.
        let Some(dropped) = databases.table.write().remove(database) else {
            return confirm(engine);
        };
        let result = drop_policies(engine, (database, &dropped), kinds, caller, goes_on);
        // The first namespace cannot go: what names no database must have a place.
        let has_first = || dropped.policies.iter().any(|own| own.namespace == DEFAULT_NAMESPACE);
        if result.is_err() || has_first() {
            databases.show_again(engine, database);
        }
        result
    }
}

impl Drop for Going<'_> {
    fn drop(&mut self) {
        self.databases.changing.lock().remove(self.database);
        self.databases.dropped.notify_all();
    }
}

/// Answers that something is not there, once that is so for good: a drop before may have failed
/// while it was made durable.
fn confirm(engine: &Engine) -> Result<(), Error> {
    engine.wait(engine.written(), Ack::Durable)
}

/// Drops all policies of a database, the default one last, so that a database of which some are
/// left is still one that takes writes; then the database. One that is marked and has no policies
/// is dropped, whether or not the machine stopped before the mark went.
fn drop_policies(
    engine: &Engine,
    (name, database): (&str, &Database),
    kinds: &Kinds,
    caller: &Caller,
    goes_on: &dyn Fn() -> bool,
) -> Result<(), Error> {
    let mark = [GOING, database.default_policy.as_bytes()].concat();
    engine.catalog_put(DATABASE_KIND, name, &mark)?;
    let is_default = |policy: &&Policy| policy.name == database.default_policy;
    let others = database.policies.iter().filter(|policy| !is_default(policy));
    // What is once begun is done.
    let has_begun = Cell::new(false);
    let goes_on = || has_begun.get() || goes_on();
    for policy in others.chain(database.policies.iter().find(is_default)) {
        let result = drop_namespace(engine, (name, policy), kinds, caller, &goes_on);
        if matches!(result, Err(Error::Stopped)) {
            match database.is_made {
                true => engine.catalog_put(DATABASE_KIND, name, database.default_policy.as_bytes()),
                false => engine.catalog_delete(DATABASE_KIND, name),
            }?;
        }
        result?;
        has_begun.set(true);
    }
    engine.catalog_delete(DATABASE_KIND, name).map(|_| ())
}

fn drop_namespace(
    engine: &Engine,
    (database, policy): (&str, &Policy),
    kinds: &Kinds,
    caller: &Caller,
    goes_on: &dyn Fn() -> bool,
) -> Result<(), Error> {
    engine.drop_namespace_while(policy.namespace, caller, goes_on)?;
    engine.catalog_delete(POLICY_KIND, &key(database, &policy.name))?;
    kinds.forget_all(engine, policy.namespace)
}

/// Reads the table from the store.
fn load(engine: &Engine) -> BTreeMap<String, Database> {
    let mut table: BTreeMap<String, Database> = BTreeMap::new();
    let mut namespaces = engine.namespaces();
    namespaces.sort_unstable_by_key(|(id, ..)| *id);
    for (namespace, database, name) in namespaces {
        let fact = engine.catalog_get(POLICY_KIND, &key(&database, &name)).unwrap_or_default();
        let found = table.entry(database).or_insert_with(|| Database {
            default_policy: DEFAULT_POLICY.to_owned(),
            policies: Vec::new(),
            is_made: namespace != DEFAULT_NAMESPACE,
        });
        found.policies.push(decode(&fact, name, namespace));
    }
    for (database, policy) in engine.catalog_list(DATABASE_KIND) {
        let kept = policy.strip_prefix(GOING);
        if kept.is_some() && !table.contains_key(&database) {
            continue;
        }
        let found = table.entry(database).or_default();
        found.is_made = true;
        found.default_policy = String::from_utf8_lossy(kept.unwrap_or(&policy)).into_owned();
    }
    table
}

fn key(database: &str, policy: &str) -> String {
    format!("{database}\0{policy}")
}

fn encode(policy: &Policy) -> Vec<u8> {
    let mut out = policy.duration_ns.to_le_bytes().to_vec();
    out.extend_from_slice(&policy.shard_duration_ns.to_le_bytes());
    out.extend_from_slice(&policy.replication.to_le_bytes());
    out
}

fn decode(fact: &[u8], name: String, namespace: NamespaceId) -> Policy {
    let number = |at: usize| fact.get(at..).and_then(<[u8]>::first_chunk);
    Policy {
        name,
        namespace,
        duration_ns: number(0).map_or(0, |bytes| i64::from_le_bytes(*bytes)),
        shard_duration_ns: number(8).map_or(7 * DAY_NS, |bytes| i64::from_le_bytes(*bytes)),
        replication: fact
            .get(16..)
            .and_then(<[u8]>::first_chunk)
            .map_or(1, |bytes| u32::from_le_bytes(*bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_with_or_without_policy() {
        let name = |text| DatabaseName::parse(text).map(|name| (name.database, name.policy));
        assert_eq!(name("a"), Some(("a".to_owned(), None)));
        assert_eq!(name("a/b"), Some(("a".to_owned(), Some("b".to_owned()))));
        assert_eq!(name("a/"), Some(("a".to_owned(), None)));
        assert_eq!(name("/b"), None);
        assert_eq!(DatabaseName::parse("a/b").unwrap().to_string(), "a/b");
    }

    #[test]
    fn names_lead_nowhere_else() {
        for name in ["a", "a b", "ä", "..a", "a.b", &"x".repeat(NAME_BYTES_MAX)] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["", ".", "..", "a/b", "a\\b", "a\0", "a\nb", &"x".repeat(NAME_BYTES_MAX + 1)] {
            let said = check_name(name).unwrap_err().to_string();
            assert!(said.starts_with("invalid name") && said.len() < 300, "{said}");
        }
    }

    #[test]
    fn policies_survive_their_encoding() {
        let policy = Policy {
            name: "p".to_owned(),
            namespace: 3,
            duration_ns: 86_400_000_000_000,
            shard_duration_ns: 3_600_000_000_000,
            replication: 2,
        };
        assert_eq!(decode(&encode(&policy), "p".to_owned(), 3), policy);
        let bare = decode(&[], "p".to_owned(), 3);
        assert_eq!((bare.duration_ns, bare.replication), (0, 1));
    }
}
