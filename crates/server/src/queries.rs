//! Queries that run: what `SHOW QUERIES` lists and `KILL QUERY` ends.

use foliot_exec::Cancel;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Queries that run, by number.
#[derive(Debug, Default)]
pub(crate) struct Queries {
    next: AtomicU64,
    running: Mutex<BTreeMap<u64, Running>>,
}

#[derive(Debug)]
struct Running {
    text: String,
    database: String,
    began: Instant,
    cancel: Cancel,
}

/// A query that runs, as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) id: u64,
    pub(crate) text: String,
    pub(crate) database: String,
    pub(crate) runs_for: Duration,
    pub(crate) is_killed: bool,
}

/// Takes a query off the list when it ends, however it does.
#[derive(Debug)]
pub(crate) struct Entry {
    queries: Arc<Queries>,
    id: u64,
}

impl Queries {
    /// Puts a query on the list.
    pub(crate) fn enter(self: &Arc<Self>, text: String, database: String, cancel: Cancel) -> Entry {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let running = Running { text, database, began: Instant::now(), cancel };
        self.running.lock().insert(id, running);
        Entry { queries: self.clone(), id }
    }

    /// The queries that run, by number.
    pub(crate) fn list(&self) -> Vec<Listed> {
        let running = self.running.lock();
        let listed = |(id, running): (&u64, &Running)| Listed {
            id: *id,
            text: running.text.clone(),
            database: running.database.clone(),
            runs_for: running.began.elapsed(),
            is_killed: running.cancel.is_cancelled(),
        };
        running.iter().map(listed).collect()
    }

    /// Ends a query; false when no query has this number.
    pub(crate) fn kill(&self, id: u64) -> bool {
        let running = self.running.lock();
        let found = running.get(&id);
        found.inspect(|running| running.cancel.cancel()).is_some()
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.queries.running.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_listed_while_they_run_and_can_be_killed() {
        let queries = Arc::new(Queries::default());
        let cancel = Cancel::default();
        let first = queries.enter("a".to_owned(), "db".to_owned(), cancel.clone());
        let second = queries.enter("b".to_owned(), String::new(), Cancel::default());
        let ids: Vec<u64> = queries.list().iter().map(|listed| listed.id).collect();
        assert_eq!(ids, [1, 2]);
        assert!(queries.kill(1) && cancel.is_cancelled() && !queries.kill(3));
        assert!(queries.list()[0].is_killed && !queries.list()[1].is_killed);
        drop(first);
        assert_eq!(queries.list().len(), 1);
        drop(second);
        assert!(queries.list().is_empty());
    }
}
