//! Queries that run: what `SHOW QUERIES` lists and `KILL QUERY` ends; the last ones that ran, for
//! `/api/stats/query`; and what they cost, question by question.

use crate::costs::{Asked, Costs, hash_of};
use crate::demand::Demands;
use crate::metrics::now_ns;
use crate::query::Title;
use foliot_access::Principal;
use foliot_exec::{AskedName, Meter};
use foliot_lock::{Mutex, Rank};
use foliot_model::NANOS_PER_MILLI;
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
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
    /// Each with the hash of its text, by which it is found among others.
    ended: Mutex<VecDeque<(u64, Ended)>>,
    costs: Costs,
    demands: Demands,
}

impl Default for Queries {
    fn default() -> Self {
        Self {
            next: AtomicU64::new(0),
            running: Mutex::new(Rank::Table, BTreeMap::new()),
            ended: Mutex::new(Rank::Table, VecDeque::new()),
            costs: Costs::default(),
            demands: Demands::default(),
        }
    }
}

/// A query that ended. The same one asked from the same address with the same status is counted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ended {
    pub(crate) text: String,
    /// The address it was asked from.
    pub(crate) from: Option<IpAddr>,
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
    title: Title,
    began: Instant,
    meter: Meter,
}

/// A query that runs, as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) id: u64,
    pub(crate) title: Title,
    /// The name of who asked it; empty where nobody is asked for one.
    pub(crate) owner: String,
    pub(crate) runs_for: Duration,
    pub(crate) memory_bytes: u64,
    pub(crate) samples: u64,
    pub(crate) is_killed: bool,
}

/// Takes a query off the list when it ends, however it does.
#[derive(Debug)]
pub(crate) struct Entry {
    queries: Arc<Queries>,
    id: u64,
    /// Why it has no answer, once that is known.
    error: Option<String>,
}

impl Entry {
    /// It has no answer, for this reason.
    pub(crate) fn fail(&mut self, reason: &str) {
        self.error = Some(reason.to_owned());
    }
}

impl Queries {
    /// A number that nothing else which runs has or gets.
    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Puts a query on the list.
    pub(crate) fn enter(
        self: &Arc<Self>,
        who: Arc<Principal>,
        title: Title,
        meter: Meter,
    ) -> Entry {
        let id = self.number();
        let running = Running { who, title, began: Instant::now(), meter };
        self.running.lock().insert(id, running);
        Entry { queries: self.clone(), id, error: None }
    }

    /// The queries that run, by number, as far as somebody may see them: texts name what others
    /// look for.
    pub(crate) fn list(&self, who: &Principal) -> Vec<Listed> {
        let running = self.running.lock();
        let listed = |(id, running): (&u64, &Running)| Listed {
            id: *id,
            title: running.title.clone(),
            owner: running.who.name().to_owned(),
            runs_for: running.began.elapsed(),
            memory_bytes: running.meter.memory_bytes(),
            samples: running.meter.samples_of_all(),
            is_killed: running.meter.cancel().is_cancelled(),
        };
        let seen = running.iter().filter(|(_, running)| who.oversees(&running.who));
        seen.map(listed).collect()
    }

    /// Memory that those that run have at present.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.running.lock().values().map(|running| running.meter.memory_bytes()).sum()
    }

    /// How long those that run have been at it, on average.
    pub(crate) fn mean_age(&self) -> Duration {
        let running = self.running.lock();
        let sum: Duration = running.values().map(|running| running.began.elapsed()).sum();
        sum.checked_div(running.len() as u32).unwrap_or_default()
    }

    /// Remembers a query that ended.
    pub(crate) fn remember(&self, mut query: Ended) {
        let hash = hash_of(&query.text);
        let mut ended = self.ended.lock();
        let is_same = |(of, other): &(u64, Ended)| {
            *of == hash
                && (other.status, other.from, &other.text)
                    == (query.status, query.from, &query.text)
        };
        if let Some((_, before)) = ended.iter().position(is_same).and_then(|at| ended.remove(at)) {
            query.count += before.count;
        }
        if ended.len() >= ENDED_MAX {
            ended.pop_front();
        }
        ended.push_back((hash, query));
    }

    /// The queries that ended last, newest last.
    pub(crate) fn ended(&self) -> Vec<Ended> {
        self.ended.lock().iter().map(|(_, ended)| ended.clone()).collect()
    }

    /// Ends a query; false when no query that somebody may see has this number.
    pub(crate) fn kill(&self, id: u64, who: &Principal) -> bool {
        let running = self.running.lock();
        let found = running.get(&id).filter(|running| who.oversees(&running.who));
        found.inspect(|running| running.meter.cancel().cancel()).is_some()
    }

    /// What questions cost so far.
    pub(crate) fn costs(&self) -> &Costs {
        &self.costs
    }

    /// How metrics were asked for.
    pub(crate) fn demands(&self) -> &Demands {
        &self.demands
    }

    /// Remembers which metrics a question was about that ended now, unless it is what the page asks
    /// to be drawn at all, which is nobody's wish.
    pub(crate) fn note_asked(&self, title: &Title, names: &[AskedName]) {
        if !title.by_itself {
            self.demands.note(names, now_ns() / NANOS_PER_MILLI);
        }
    }

    /// Takes a query off the list, and remembers what it cost.
    fn leave(&self, id: u64, error: Option<String>) {
        let left = self.running.lock().remove(&id);
        let Some(Running { who, title, began, meter }) = left else { return };
        let (samples, memory_peak_bytes) = (meter.samples_of_all(), meter.memory_peak_bytes());
        let took = began.elapsed();
        self.note_asked(&title, &meter.take_asked());
        self.costs.count(Asked { who, title, took, samples, memory_peak_bytes, error });
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.queries.leave(self.id, self.error.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foliot_exec::{Cancel, Limits};

    #[test]
    fn queries_are_listed_while_they_run_and_can_be_killed() {
        let queries = Arc::new(Queries::default());
        let cancel = Cancel::default();
        let anyone = Arc::new(Principal::anyone());
        let enter = |text: &str, cancel| {
            let meter = Meter::new(Limits::default(), cancel);
            queries.enter(anyone.clone(), Title::new(text, ""), meter)
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
    fn what_a_query_cost_is_known_once_it_ended_and_whether_it_failed() {
        let queries = Arc::new(Queries::default());
        let anyone = Arc::new(Principal::anyone());
        for error in [None, Some("too much")] {
            let meter = Meter::new(Limits::default(), Cancel::default());
            meter.read(5).unwrap();
            meter.open().add(40).unwrap();
            let mut entry = queries.enter(anyone.clone(), Title::new("a", ""), meter);
            error.into_iter().for_each(|reason| entry.fail(reason));
        }
        let (costs, _) = queries.costs().list(&anyone, None);
        let tally = costs[0].tally;
        assert_eq!((costs.len(), tally.count, tally.failed), (1, 2, 1));
        assert_eq!((tally.samples, tally.memory_peak_bytes), (10, 40));
        assert_eq!(costs[0].error.as_deref(), Some("too much"));
    }

    #[test]
    fn the_last_queries_are_remembered_and_counted() {
        let queries = Queries::default();
        let end = |text: &str, status, ended_ms| {
            queries.remember(Ended {
                text: text.to_owned(),
                from: None,
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
