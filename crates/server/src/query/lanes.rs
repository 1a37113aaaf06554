//! Lanes: which queries run, which wait, and which are told to come back.
//!
//! 1. A query that finds a place free takes it.
//! 2. When all are taken, one that only reads is tried in a short lane of its own, unless questions
//!    of its shape were too dear for that of late (`brief`).
//! 3. An operator, where people are asked who they are, finds a place that is kept.
//! 4. What changes something may wait for a disk, or for others who do: half of the places at most
//!    are theirs at a time, so that questions find one.
//! 5. Others wait in order. One that would wait too long, by what queries take of late, is told to
//!    come back at once, and when.

use super::Failure;
use crate::config::Config;
use crate::limits::Limit;
use crate::shared::Shared;
use foliot_access::{Need, Principal};
use foliot_lock::{Mutex, Rank};
use hyper::StatusCode;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use xxhash_rust::xxh3::xxh3_64;

/// Queries that run beside `limits.queries` when all of these are taken: one for an operator who
/// looks for what holds them, one for a second one who ends it.
const RESERVED: usize = 2;

/// Short queries that run beside all others, and that may wait for that. Each takes a tenth of a
/// second at most, so the last one that waits is through after less than a second.
const SHORT: usize = 2;
const SHORT_WAITING_MAX: usize = 16;

/// Shapes of questions that are remembered for what they took, and for how long.
const SHAPES_MAX: usize = 4_096;
const SHAPES_FOR: Duration = Duration::from_secs(60);

/// The shortest and the longest time after which a query that was put off is asked again.
const RETRY_MIN: Duration = Duration::from_secs(2);
const RETRY_MAX: Duration = Duration::from_secs(60);

/// Places for queries.
#[derive(Debug)]
pub(crate) struct Lanes {
    /// `limits.queries`.
    slots: Arc<Semaphore>,
    /// Further ones, for operators and for what looks at queries or ends them.
    reserved: Arc<Semaphore>,
    /// Changes that may have a place at once.
    changes: Arc<Semaphore>,
    /// Queries that may wait for a slot.
    queue: Semaphore,
    short: Arc<Semaphore>,
    short_queue: Arc<Semaphore>,
    /// Questions that were too dear for the short lane.
    pub(super) dear: Shapes,
    /// Questions that could not be answered where they were asked.
    pub(super) long: Shapes,
    pace: Pace,
}

/// A place to run at.
pub(super) type Place = OwnedSemaphorePermit;

/// That it is the turn of a change among others.
pub(super) type Turn = OwnedSemaphorePermit;

impl Lanes {
    pub(crate) fn new(config: &Config) -> Self {
        let count =
            |count: u64| usize::try_from(count).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        Self {
            slots: Arc::new(Semaphore::new(count(config.limits_queries))),
            reserved: Arc::new(Semaphore::new(RESERVED)),
            changes: Arc::new(Semaphore::new(count(config.limits_queries.div_ceil(2)))),
            queue: Semaphore::new(count(config.limits_queries_waiting)),
            short: Arc::new(Semaphore::new(SHORT)),
            short_queue: Arc::new(Semaphore::new(SHORT + SHORT_WAITING_MAX)),
            dear: Shapes::default(),
            long: Shapes::default(),
            pace: Pace::default(),
        }
    }

    /// A place, if one is free.
    pub(super) fn free(&self) -> Option<Place> {
        self.slots.clone().try_acquire_owned().ok()
    }

    /// One of the places that are kept for operators.
    pub(super) fn reserved(&self) -> Option<Place> {
        self.reserved.clone().try_acquire_owned().ok()
    }

    /// A place in the short lane, and among those that wait there; nothing when that is full.
    pub(super) async fn short(&self) -> Option<(Place, Place)> {
        let waiting = self.short_queue.clone().try_acquire_owned().ok()?;
        let place = self.short.clone().acquire_owned().await.ok()?;
        Some((waiting, place))
    }

    /// A query that had a place took so long.
    pub(super) fn note(&self, took: Duration) {
        self.pace.note(took);
    }

    /// How long a query waits that comes now.
    fn wait(&self, shared: &Shared) -> Duration {
        let free = self.queue.available_permits() as u64;
        let waiting = shared.config.limits_queries_waiting.saturating_sub(free);
        // Those that run may have been at it for longer than any that ended.
        let age = shared.queries.mean_age();
        self.pace.wait(waiting, shared.config.limits_queries, age)
    }

    /// After how many seconds whoever is put off should come again.
    pub(crate) fn retry_after_s(&self, shared: &Shared) -> u32 {
        let wait = self.wait(shared).clamp(RETRY_MIN, RETRY_MAX);
        wait.as_secs() as u32 + u32::from(wait.subsec_nanos() > 0)
    }
}

/// A place among the queries that run at once, for one that found none free.
pub(super) async fn wait(shared: &Arc<Shared>, who: &Principal) -> Result<Place, Failure> {
    let lanes = &shared.lanes;
    shared.metrics.limits.add(Limit::Queries);
    if shared.gate.is_on()
        && who.may(Need::Operate)
        && let Some(place) = lanes.reserved()
    {
        return Ok(place);
    }
    let refuse = |limit| {
        shared.metrics.limits.add(limit);
        refuse(shared)
    };
    let _waiting = lanes.queue.try_acquire().map_err(|_| refuse(Limit::QueriesWaiting))?;
    if lanes.wait(shared) > shared.config.limits_query_wait {
        // To wait in vain helps nobody.
        return Err(refuse(Limit::QueryWait));
    }
    let waiting = lanes.slots.clone().acquire_owned();
    match tokio::time::timeout(shared.config.limits_query_wait, waiting).await {
        Ok(Ok(place)) => Ok(place),
        _ => Err(refuse(Limit::QueryWait)),
    }
}

/// The turn of a change.
pub(super) async fn turn(shared: &Shared) -> Result<Turn, Failure> {
    let (lanes, longest) = (&shared.lanes, shared.config.limits_query_wait);
    if let Ok(turn) = lanes.changes.clone().try_acquire_owned() {
        return Ok(turn);
    }
    let refuse = |limit| {
        shared.metrics.limits.add(limit);
        refuse(shared)
    };
    let _waiting = lanes.queue.try_acquire().map_err(|_| refuse(Limit::QueriesWaiting))?;
    match tokio::time::timeout(longest, lanes.changes.clone().acquire_owned()).await {
        Ok(Ok(turn)) => Ok(turn),
        _ => Err(refuse(Limit::QueryWait)),
    }
}

fn refuse(shared: &Shared) -> Failure {
    shared.metrics.queries_refused.add(1);
    let text = format!(
        "as many queries as limits.queries allows ({}) are running, and others wait already \
         (limits.queries_waiting, limits.query_wait); try again in {} s",
        shared.config.limits_queries,
        shared.lanes.retry_after_s(shared)
    );
    Failure::new(StatusCode::TOO_MANY_REQUESTS, text)
}

/// Shapes of questions that took too much of late, and when they did.
#[derive(Debug)]
pub(super) struct Shapes(Mutex<HashMap<u64, Instant>>);

impl Default for Shapes {
    fn default() -> Self {
        Self(Mutex::new(Rank::Table, HashMap::new()))
    }
}

impl Shapes {
    /// Whether questions of this shape took too much of late. It is asked for where any did.
    pub(super) fn contains(&self, shape: impl FnOnce() -> u64) -> bool {
        let shapes = self.0.lock();
        !shapes.is_empty() && shapes.get(&shape()).is_some_and(|at| at.elapsed() < SHAPES_FOR)
    }

    /// A question of this shape took too much.
    pub(super) fn note(&self, shape: u64) {
        let mut shapes = self.0.lock();
        if shapes.len() >= SHAPES_MAX {
            shapes.retain(|_, at| at.elapsed() < SHAPES_FOR);
        }
        if shapes.len() < SHAPES_MAX {
            shapes.insert(shape, Instant::now());
        }
    }
}

/// How long queries that held a slot took of late, each counting an eighth of what is left.
#[derive(Debug, Default)]
struct Pace(AtomicU64);

impl Pace {
    /// A query took so long.
    fn note(&self, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let mean = self.0.load(Ordering::Relaxed);
        // Two that end at once may overwrite each other, which costs nothing.
        self.0.store(mean - mean / 8 + took / 8, Ordering::Relaxed);
    }

    /// How long the last of so many waits where so many run at a time, and have for `age`.
    fn wait(&self, waiting: u64, slots: u64, age: Duration) -> Duration {
        let rounds = u32::try_from(waiting.div_ceil(slots.max(1))).unwrap_or(u32::MAX);
        Duration::from_nanos(self.0.load(Ordering::Relaxed)).max(age).saturating_mul(rounds)
    }
}

/// What a question is told by whatever numbers are in it: another time, another host's number.
pub(super) fn shape_of(text: &str) -> u64 {
    // One piece is hashed in fewer steps than its words are.
    let mut words = Vec::with_capacity(text.len());
    words.extend(text.bytes().filter(|byte| !byte.is_ascii_digit()));
    xxh3_64(&words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_is_known_from_what_queries_took_of_late_and_take_now() {
        let (pace, none) = (Pace::default(), Duration::ZERO);
        assert_eq!(pace.wait(1000, 8, none), Duration::ZERO, "nothing is known yet");
        assert_eq!(pace.wait(9, 8, Duration::from_secs(3)), Duration::from_secs(6));
        (0..100).for_each(|_| pace.note(Duration::from_secs(2)));
        let wait = pace.wait(24, 8, none).as_secs_f64();
        assert!((5.9..6.1).contains(&wait), "three rounds: {wait}");
        assert_eq!(pace.wait(0, 8, none), Duration::ZERO);
    }

    #[test]
    fn questions_of_one_shape_differ_in_numbers_only() {
        let shape = |host: u32, time: u64, name: &str| {
            shape_of(&format!("SELECT {name} FROM m WHERE host='h{host}' AND time > {time}"))
        };
        assert_eq!(shape(1, 17, "v"), shape(22, 1_700_000_000, "v"));
        assert_ne!(shape(1, 17, "v"), shape(1, 17, "w"));
    }

    #[test]
    fn shapes_are_remembered_within_a_bound() {
        let shapes = Shapes::default();
        assert!(!shapes.contains(|| unreachable!("none took too much")));
        (0..10_000).for_each(|shape| shapes.note(shape));
        assert!(shapes.contains(|| 7) && !shapes.contains(|| 9_999));
        assert_eq!(shapes.0.lock().len(), SHAPES_MAX);
    }
}
