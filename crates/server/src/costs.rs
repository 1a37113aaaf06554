//! What questions cost, question by question: since the start, and in slots of ten minutes over
//! the last day.

use crate::metrics::now_ns;
use crate::query::{Title, listed_text};
use foliot_access::Principal;
use foliot_lock::{Mutex, Rank};
use foliot_model::NANOS_PER_MILLI;
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_64;

/// Questions of which it is remembered what they cost. Those that cost least time since the start
/// go first.
const COSTS_MAX: usize = 100;

/// What a question cost lately is told to so many milliseconds.
const SLOT_MS: i64 = 600_000;

/// The last day, and the slot that it begins in: 60 bytes each, where a question was asked then.
pub(crate) const WITHIN_MS_MAX: i64 = 86_400_000;

/// What questions cost so far, each with the hash of its text, by which it is found among others.
#[derive(Debug)]
pub(crate) struct Costs(Mutex<Vec<(u64, Cost)>>);

impl Default for Costs {
    fn default() -> Self {
        Self(Mutex::new(Rank::Table, Vec::new()))
    }
}

/// A question that was asked once, and what came of it.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) who: Arc<Principal>,
    pub(crate) title: Title,
    pub(crate) took: Duration,
    /// Samples that were read, and the most bytes that were held.
    pub(crate) samples: u64,
    pub(crate) memory_peak_bytes: u64,
    /// Why there was no answer.
    pub(crate) error: Option<String>,
}

/// Sums over the times that a question was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Tally {
    pub(crate) count: u64,
    /// How many of them had no answer, or were cancelled.
    pub(crate) failed: u64,
    pub(crate) took: Duration,
    /// How long the longest took.
    pub(crate) took_max: Duration,
    /// Samples that were read for all of them.
    pub(crate) samples: u64,
    /// The most memory that one of them held.
    pub(crate) memory_peak_bytes: u64,
}

impl Tally {
    fn of(asked: &Asked) -> Self {
        Self {
            count: 1,
            failed: u64::from(asked.error.is_some()),
            took: asked.took,
            took_max: asked.took,
            samples: asked.samples,
            memory_peak_bytes: asked.memory_peak_bytes,
        }
    }

    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.failed += other.failed;
        self.took += other.took;
        self.took_max = self.took_max.max(other.took_max);
        self.samples += other.samples;
        self.memory_peak_bytes = self.memory_peak_bytes.max(other.memory_peak_bytes);
    }
}

/// What a question cost, however often it was asked.
#[derive(Clone, Debug)]
pub(crate) struct Cost {
    who: Arc<Principal>,
    /// The last one's: others of its text may have come from elsewhere, or over another range.
    pub(crate) title: Title,
    pub(crate) tally: Tally,
    /// The same by slots of time since 1970, oldest first; only those in which it was asked.
    slots: VecDeque<(i64, Tally)>,
    /// Why the last one that failed did so.
    pub(crate) error: Option<String>,
    /// When the last one ended, in milliseconds.
    pub(crate) ended_ms: i64,
}

impl Cost {
    /// The name of who asked it; empty where nobody is asked for one.
    pub(crate) fn owner(&self) -> &str {
        self.who.name()
    }

    fn is_of(&self, asked: &Asked) -> bool {
        let (own, others) = (&self.title, &asked.title);
        (&own.text, &own.database, self.owner(), own.by_itself)
            == (&others.text, &others.database, asked.who.name(), others.by_itself)
    }

    fn add(&mut self, asked: Asked, now_ms: i64) {
        let tally = Tally::of(&asked);
        self.tally.add(&tally);
        let slot = now_ms.div_euclid(SLOT_MS);
        match self.slots.back_mut() {
            // A clock that was set back makes no slot of before.
            Some((last, of_slot)) if *last >= slot => of_slot.add(&tally),
            _ => self.slots.push_back((slot, tally)),
        }
        let oldest = (now_ms - WITHIN_MS_MAX).div_euclid(SLOT_MS);
        while self.slots.front().is_some_and(|(slot, _)| *slot < oldest) {
            self.slots.pop_front();
        }
        self.title = asked.title;
        if let Some(error) = asked.error {
            self.error = Some(listed_text(&error).to_owned());
        }
        self.ended_ms = now_ms;
    }

    /// The same as far as it lies in a slot or in those behind it; nothing where it was not asked
    /// then.
    fn since(mut self, first: i64) -> Option<Self> {
        self.tally = Tally::default();
        for (_, of_slot) in self.slots.iter().filter(|(slot, _)| *slot >= first) {
            self.tally.add(of_slot);
        }
        if self.tally.failed == 0 {
            self.error = None;
        }
        (self.tally.count > 0).then_some(self)
    }
}

impl Costs {
    /// Remembers what a question cost that ended now.
    pub(crate) fn count(&self, asked: Asked) {
        self.count_at(asked, now_ns() / NANOS_PER_MILLI);
    }

    fn count_at(&self, asked: Asked, now_ms: i64) {
        let hash = hash_of(&asked.title.text);
        let mut costs = self.0.lock();
        let is_same = |(of, known): &&mut (u64, Cost)| *of == hash && known.is_of(&asked);
        if let Some((_, known)) = costs.iter_mut().find(is_same) {
            return known.add(asked, now_ms);
        }
        if costs.len() >= COSTS_MAX {
            let cheapest = costs.iter().enumerate().min_by_key(|(_, (_, cost))| cost.tally.took);
            if let Some((at, _)) = cheapest {
                costs.swap_remove(at);
            }
        }
        let mut cost = Cost {
            who: asked.who.clone(),
            title: Title::default(),
            tally: Tally::default(),
            slots: VecDeque::new(),
            error: None,
            ended_ms: 0,
        };
        cost.add(asked, now_ms);
        costs.push((hash, cost));
    }

    /// What questions cost, as far as somebody may see them, those first that took longest in all;
    /// since the start, or in the last so many milliseconds, to the slot. Also from when on, in the
    /// latter case, in milliseconds since 1970.
    pub(crate) fn list(&self, who: &Principal, within_ms: Option<i64>) -> (Vec<Cost>, Option<i64>) {
        self.list_at(who, within_ms, now_ns() / NANOS_PER_MILLI)
    }

    fn list_at(
        &self,
        who: &Principal,
        within_ms: Option<i64>,
        now_ms: i64,
    ) -> (Vec<Cost>, Option<i64>) {
        let first = within_ms.map(|within_ms| (now_ms - within_ms).div_euclid(SLOT_MS));
        let costs = self.0.lock();
        let seen = costs.iter().map(|(_, cost)| cost).filter(|cost| who.oversees(&cost.who));
        let mut seen: Vec<Cost> = match first {
            None => seen.cloned().collect(),
            Some(first) => seen.cloned().filter_map(|cost| cost.since(first)).collect(),
        };
        seen.sort_by_key(|cost| Reverse(cost.tally.took));
        (seen, first.map(|first| first * SLOT_MS))
    }
}

/// What tells most texts apart sooner than they do.
pub(crate) fn hash_of(text: &str) -> u64 {
    xxh3_64(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str, took_ms: u64, error: Option<&str>) -> Asked {
        Asked {
            who: Arc::new(Principal::anyone()),
            title: Title::new(text, ""),
            took: Duration::from_millis(took_ms),
            samples: 5,
            memory_peak_bytes: took_ms,
            error: error.map(str::to_owned),
        }
    }

    #[test]
    fn what_questions_cost_is_added_up_and_the_cheapest_are_forgotten() {
        let costs = Costs::default();
        let list = |who: &Principal| costs.list_at(who, None, 9).0;
        costs.count_at(asked("a", 7, None), 1);
        costs.count_at(asked("a", 40, Some("too much")), 2);
        let told = list(&Principal::anyone());
        let tally = Tally {
            count: 2,
            failed: 1,
            took: Duration::from_millis(47),
            took_max: Duration::from_millis(40),
            samples: 10,
            memory_peak_bytes: 40,
        };
        assert_eq!((told.len(), told[0].tally, told[0].ended_ms), (1, tally, 2));
        assert_eq!(told[0].error.as_deref(), Some("too much"));
        assert!(list(&Principal::nobody()).is_empty());
        (0..2 * COSTS_MAX).for_each(|n| costs.count_at(asked(&n.to_string(), 1, None), 3));
        let told = list(&Principal::anyone());
        assert_eq!((told.len(), &*told[0].title.text), (COSTS_MAX, "a"));
    }

    #[test]
    fn lately_is_told_to_ten_minutes_and_for_a_day() {
        let costs = Costs::default();
        let minute = 60_000;
        let day = 24 * 60;
        let ask = |text: &str, at_minute: i64, error: Option<&str>| {
            costs.count_at(asked(text, 1, error), at_minute * minute);
        };
        ask("old", day + 5, Some("long ago"));
        ask("both", day + 5, Some("long ago"));
        ask("both", 2 * day - 65, None);
        ask("both", 2 * day - 59, None);
        // The clock was set back.
        ask("both", 2 * day - 70, None);
        let within = |minutes: i64| {
            let who = Principal::anyone();
            let (told, since) = costs.list_at(&who, Some(minutes * minute), 2 * day * minute);
            let row = |cost: Cost| (cost.title.text.clone(), cost.tally.count, cost.error);
            let mut told: Vec<_> = told.into_iter().map(row).collect();
            told.sort();
            (told, since)
        };
        let (told, since) = within(60);
        assert_eq!(told, [("both".to_owned(), 2, None)]);
        assert_eq!(since, Some((2 * day - 60) * minute));
        assert_eq!(within(61).0, [("both".to_owned(), 3, None)]);
        let error = Some("long ago".to_owned());
        let all = [("both".to_owned(), 4, error.clone()), ("old".to_owned(), 1, error)];
        assert_eq!(within(day).0, all);
        // A day later the oldest slots are gone.
        ask("both", 3 * day, None);
        let slots = costs.0.lock().iter().map(|(_, cost)| cost.slots.len()).max();
        assert_eq!(slots, Some(1));
    }
}
