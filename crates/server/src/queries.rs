//! Queries that run: what `SHOW QUERIES` lists and `KILL QUERY` ends; the last ones that ran, for
//! `/api/stats/query`; and what they cost, question by question.

use crate::metrics::now_ns;
use crate::query::Title;
use foliot_access::Principal;
use foliot_exec::Meter;
use foliot_lock::{Mutex, Rank};
use foliot_model::NANOS_PER_MILLI;
use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Queries that are remembered after they ended: as many as OpenTSDB does. Their texts are cut to
/// 2 000 characters by who enters them, so that these take two megabytes at most.
const ENDED_MAX: usize = 256;

/// Questions of which it is remembered what they cost. Those that cost least time go first.
const COSTS_MAX: usize = 100;

/// Queries that run, by number, and those that ended last, newest last.
#[derive(Debug)]
pub(crate) struct Queries {
    next: AtomicU64,
    running: Mutex<BTreeMap<u64, Running>>,
    /// Each with the hash of its text, by which it is found among others.
    ended: Mutex<VecDeque<(u64, Ended)>>,
    costs: Mutex<Vec<(u64, Cost)>>,
}

impl Default for Queries {
    fn default() -> Self {
        Self {
            next: AtomicU64::new(0),
            running: Mutex::new(Rank::Table, BTreeMap::new()),
            ended: Mutex::new(Rank::Table, VecDeque::new()),
            costs: Mutex::new(Rank::Table, Vec::new()),
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

/// What a question cost so far, however often it was asked.
#[derive(Clone, Debug)]
pub(crate) struct Cost {
    who: Arc<Principal>,
    /// The last one's: others of its text may have come from elsewhere, or over another range.
    pub(crate) title: Title,
    /// How often it was asked.
    pub(crate) count: u64,
    /// How long that took together.
    pub(crate) took: Duration,
    /// How long the longest took.
    pub(crate) took_max: Duration,
    /// Samples that were read for all of them.
    pub(crate) samples: u64,
    /// The most memory that one of them held.
    pub(crate) memory_peak_bytes: u64,
    /// When the last one ended, in milliseconds.
    pub(crate) ended_ms: i64,
}

impl Cost {
    /// The name of who asked it; empty where nobody is asked for one.
    pub(crate) fn owner(&self) -> &str {
        self.who.name()
    }

    fn is_same(&self, other: &Self) -> bool {
        let (own, others) = (&self.title, &other.title);
        (&own.text, &own.database, self.owner(), own.by_itself)
            == (&others.text, &others.database, other.owner(), others.by_itself)
    }

    fn add(&mut self, other: Self) {
        self.title = other.title;
        self.count += other.count;
        self.took += other.took;
        self.took_max = self.took_max.max(other.took_max);
        self.samples += other.samples;
        self.memory_peak_bytes = self.memory_peak_bytes.max(other.memory_peak_bytes);
        self.ended_ms = other.ended_ms;
    }
}

/// Takes a query off the list when it ends, however it does.
#[derive(Debug)]
pub(crate) struct Entry {
    queries: Arc<Queries>,
    id: u64,
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
        Entry { queries: self.clone(), id }
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

    /// What questions cost, as far as somebody may see them, those first that took longest in all.
    pub(crate) fn costs(&self, who: &Principal) -> Vec<Cost> {
        let costs = self.costs.lock();
        let mut seen: Vec<Cost> = costs
            .iter()
            .map(|(_, cost)| cost)
            .filter(|cost| who.oversees(&cost.who))
            .cloned()
            .collect();
        seen.sort_by_key(|cost| std::cmp::Reverse(cost.took));
        seen
    }

    /// Takes a query off the list, and remembers what it cost.
    fn leave(&self, id: u64) {
        let left = self.running.lock().remove(&id);
        let Some(Running { who, title, began, meter }) = left else { return };
        self.count(
            who,
            title,
            began.elapsed(),
            (meter.samples_of_all(), meter.memory_peak_bytes()),
        );
    }

    /// Remembers what a query cost: how long it took, how many samples it read, and the most memory
    /// that it held.
    pub(crate) fn count(
        &self,
        who: Arc<Principal>,
        title: Title,
        took: Duration,
        (samples, memory_peak_bytes): (u64, u64),
    ) {
        let cost = Cost {
            who,
            title,
            count: 1,
            took,
            took_max: took,
            samples,
            memory_peak_bytes,
            ended_ms: now_ns() / NANOS_PER_MILLI,
        };
        let hash = hash_of(&cost.title.text);
        let mut costs = self.costs.lock();
        let is_same = |(of, known): &&mut (u64, Cost)| *of == hash && known.is_same(&cost);
        if let Some((_, known)) = costs.iter_mut().find(is_same) {
            return known.add(cost);
        }
        if costs.len() >= COSTS_MAX {
            let cheapest = costs.iter().enumerate().min_by_key(|(_, (_, cost))| cost.took);
            if let Some((at, _)) = cheapest {
                costs.swap_remove(at);
            }
        }
        costs.push((hash, cost));
    }
}

/// What tells most texts apart sooner than they do.
fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.queries.leave(self.id);
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
    fn what_questions_cost_is_added_up_and_the_cheapest_are_forgotten() {
        let queries = Arc::new(Queries::default());
        let anyone = Arc::new(Principal::anyone());
        let ask = |text: &str, samples: usize| {
            let meter = Meter::new(Limits::default(), Cancel::default());
            drop(queries.enter(anyone.clone(), Title::new(text, ""), meter.clone()));
            let meter = Meter::new(Limits::default(), Cancel::default());
            meter.check(samples).unwrap();
            meter.open().add(samples * 8).unwrap();
            meter
        };
        let meter = ask("a", 5);
        drop(queries.enter(anyone.clone(), Title::new("a", ""), meter));
        let costs = queries.costs(&anyone);
        assert_eq!(costs.len(), 1);
        let told = (costs[0].count, costs[0].samples, costs[0].memory_peak_bytes);
        assert_eq!(told, (2, 5, 40));
        assert!(costs[0].took >= costs[0].took_max);
        assert!(queries.costs(&Principal::nobody()).is_empty());
        (0..2 * COSTS_MAX).for_each(|n| drop(ask(&n.to_string(), 0)));
        assert_eq!(queries.costs(&anyone).len(), COSTS_MAX);
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
