//! Queries that run: what `SHOW QUERIES` lists and `KILL QUERY` ends; and the last ones that ran,
//! for `/api/stats/query`.

use foliot_access::Principal;
use foliot_exec::Cancel;
use foliot_lock::{Mutex, Rank};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Queries that are remembered after they ended: as many as OpenTSDB does. Their texts are cut to
/// 2 000 characters by who enters them, so that these take two megabytes at most.
const ENDED_MAX: usize = 256;

/// Queries that run, by number, and those that ended last, newest last.
#[derive(Debug)]
pub(crate) struct Queries {
    next: AtomicU64,
    running: Mutex<BTreeMap<u64, Running>>,
    ended: Mutex<VecDeque<Ended>>,
}

impl Default for Queries {
    fn default() -> Self {
        Self {
            next: AtomicU64::new(0),
            running: Mutex::new(Rank::Table, BTreeMap::new()),
            ended: Mutex::new(Rank::Table, VecDeque::new()),
        }
    }
}

/// A query that ended. The same one asked from the same address with the same status is counted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ended {
    pub(crate) text: String,
    pub(crate) from: String,
    pub(crate) status: u16,
    /// Why there was no answer.
    pub(crate) error: Option<String>,
    /// How often.
    pub(crate) count: u64,
    /// When the last one began and ended, in milliseconds.
    pub(crate) began_ms: i64,
    pub(crate) ended_ms: i64,
    /// What the last one cost, under the names of the peer's figures.
    pub(crate) figures: Vec<(&'static str, f64)>,
}

#[derive(Debug)]
struct Running {
    /// Who asked it.
    who: Arc<Principal>,
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
    pub(crate) fn enter(
        self: &Arc<Self>,
        who: Arc<Principal>,
        text: String,
        database: String,
        cancel: Cancel,
    ) -> Entry {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let running = Running { who, text, database, began: Instant::now(), cancel };
        self.running.lock().insert(id, running);
        Entry { queries: self.clone(), id }
    }

    /// The queries that run, by number, as far as somebody may see them: texts name what others
    /// look for.
    pub(crate) fn list(&self, who: &Principal) -> Vec<Listed> {
        let running = self.running.lock();
        let listed = |(id, running): (&u64, &Running)| Listed {
            id: *id,
            text: running.text.clone(),
            database: running.database.clone(),
            runs_for: running.began.elapsed(),
            is_killed: running.cancel.is_cancelled(),
        };
        let seen = running.iter().filter(|(_, running)| who.oversees(&running.who));
        seen.map(listed).collect()
    }

    /// How long those that run have been at it, on average.
    pub(crate) fn mean_age(&self) -> Duration {
        let running = self.running.lock();
        let sum: Duration = running.values().map(|running| running.began.elapsed()).sum();
        sum.checked_div(running.len() as u32).unwrap_or_default()
    }

    /// Remembers a query that ended.
    pub(crate) fn remember(&self, mut query: Ended) {
        let mut ended = self.ended.lock();
        let is_same = |other: &Ended| {
            (other.status, &other.from, &other.text) == (query.status, &query.from, &query.text)
        };
        if let Some(before) = ended.iter().position(is_same).and_then(|at| ended.remove(at)) {
            query.count += before.count;
        }
        if ended.len() >= ENDED_MAX {
            ended.pop_front();
        }
        ended.push_back(query);
    }

    /// The queries that ended last, newest last.
    pub(crate) fn ended(&self) -> Vec<Ended> {
        self.ended.lock().iter().cloned().collect()
    }

    /// Ends a query; false when no query that somebody may see has this number.
    pub(crate) fn kill(&self, id: u64, who: &Principal) -> bool {
        let running = self.running.lock();
        let found = running.get(&id).filter(|running| who.oversees(&running.who));
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
        let anyone = Arc::new(Principal::anyone());
        let enter = |text: &str, cancel| {
            queries.enter(anyone.clone(), text.to_owned(), String::new(), cancel)
        };
        let first = enter("a", cancel.clone());
        let second = enter("b", Cancel::default());
        let list = || queries.list(&anyone);
        let ids: Vec<u64> = list().iter().map(|listed| listed.id).collect();
        assert_eq!(ids, [1, 2]);
        assert!(!queries.kill(1, &Principal::nobody()) && !cancel.is_cancelled());
        assert!(queries.list(&Principal::nobody()).is_empty());
        assert!(queries.kill(1, &anyone) && cancel.is_cancelled() && !queries.kill(3, &anyone));
        assert!(list()[0].is_killed && !list()[1].is_killed);
        drop(first);
        assert_eq!(list().len(), 1);
        drop(second);
        assert!(list().is_empty());
    }

    #[test]
    fn the_last_queries_are_remembered_and_counted() {
        let queries = Queries::default();
        let end = |text: &str, status, ended_ms| {
            queries.remember(Ended {
                text: text.to_owned(),
                from: "x".to_owned(),
                status,
                error: None,
                count: 1,
                began_ms: 0,
                ended_ms,
                figures: Vec::new(),
            });
        };
        for (status, ended_ms) in [(200, 1), (400, 2), (200, 3)] {
            end("a", status, ended_ms);
        }
        let told: Vec<_> =
            queries.ended().iter().map(|q| (q.status, q.count, q.ended_ms)).collect();
        assert_eq!(told, [(400, 1, 2), (200, 2, 3)]);
        (0..ENDED_MAX).for_each(|n| end(&n.to_string(), 200, 4));
        assert_eq!(queries.ended().len(), ENDED_MAX);
        assert!(queries.ended().iter().all(|query| query.text != "a"));
    }
}
