//! Troubles: work in the background that fails. Nobody waits for it, so somebody must be told.

use crate::error::Error;
use foliot_lock::{Mutex, Rank, RwLock};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Somebody is told of the failures of one kind of work at most this often.
const TOLD_INTERVAL_NS: u64 = 60_000_000_000;

/// Work that nobody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// Writing and syncing the wal.
    Wal,
    /// Moving the head into parts. While that fails memory fills, and in the end writes are
    /// refused.
    Flush,
    /// Merging, expiring, archiving.
    Upkeep,
    /// Knowing the time of day. Until it is known nothing expires by it.
    Clock,
    /// Keeping files whole: some are not there, or damaged.
    Files,
}

impl Work {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Wal, Self::Flush, Self::Upkeep, Self::Clock, Self::Files];

    /// What it is called in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wal => "wal",
            Self::Flush => "flush",
            Self::Upkeep => "upkeep",
            Self::Clock => "clock",
            Self::Files => "files",
        }
    }
}

/// Work that failed when it was tried last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Which work.
    pub work: Work,
    /// How often it has failed since it last succeeded.
    pub failures: u64,
    /// Why it failed last, a sentence.
    pub reason: String,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.work {
            Work::Wal => "the wal accepts nothing",
            Work::Flush => "samples cannot be moved from memory to disk",
            Work::Upkeep => "old files cannot be merged or removed",
            Work::Clock => "nothing expires by the clock of this machine",
            Work::Files => return write!(f, "files are not what they were: {}", self.reason),
        };
        write!(f, "{what}: {} (failed {} times in a row)", self.reason, self.failures)
    }
}

/// Told of a trouble.
pub(crate) type Tell = Box<dyn Fn(&Trouble) + Send + Sync>;

/// All troubles of a store.
pub(crate) struct Troubles {
    lasting: Mutex<BTreeMap<Work, Trouble>>,
    /// When somebody was told last.
    told_ns: Mutex<BTreeMap<Work, u64>>,
    tell: RwLock<Option<Arc<Tell>>>,
}

impl Default for Troubles {
    fn default() -> Self {
        Self {
            lasting: Mutex::new(Rank::Damages, BTreeMap::new()),
            told_ns: Mutex::new(Rank::Damages, BTreeMap::new()),
            tell: RwLock::new(Rank::Damages, None),
        }
    }
}

impl Troubles {
    /// Has `tell` called from now on, from the thread whose work failed.
    pub(crate) fn on_trouble(&self, tell: Tell) {
        *self.tell.write() = Some(Arc::new(tell));
    }

    /// Notes how a piece of work ended. A store that closes is no trouble.
    pub(crate) fn note<T>(&self, work: Work, result: &Result<T, Error>, now_ns: u64) {
        let Err(error) = result else {
            self.lasting.lock().remove(&work);
            return;
        };
        if matches!(error, Error::Closed) {
            return;
        }
        let trouble = {
            let mut lasting = self.lasting.lock();
            let failures = lasting.get(&work).map_or(0, |trouble| trouble.failures) + 1;
            let trouble = Trouble { work, failures, reason: error.to_string() };
            lasting.insert(work, trouble.clone());
            trouble
        };
        let is_time = {
            let mut told_ns = self.told_ns.lock();
            let last = told_ns.get(&work).copied();
            let is_time = last.is_none_or(|last| now_ns.saturating_sub(last) >= TOLD_INTERVAL_NS);
            if is_time {
                told_ns.insert(work, now_ns);
            }
            is_time
        };
        // Called without the lock: what it does is the caller's.
        let tell = self.tell.read().clone().filter(|_| is_time);
        if let Some(tell) = tell {
            tell(&trouble);
        }
    }

    /// Notes how something stands that is not tried but found: what is wrong with it, if anything
    /// is. That is told when it changes.
    pub(crate) fn set(&self, work: Work, wrong: Option<String>) {
        let trouble = {
            let mut lasting = self.lasting.lock();
            let before = lasting.remove(&work);
            let Some(reason) = wrong else { return };
            let is_known = before.is_some_and(|before| before.reason == reason);
            let trouble = Trouble { work, failures: 1, reason };
            lasting.insert(work, trouble.clone());
            if is_known {
                return;
            }
            trouble
        };
        let tell = self.tell.read().clone();
        if let Some(tell) = tell {
            tell(&trouble);
        }
    }

    /// What failed when it was tried last.
    pub(crate) fn list(&self) -> Vec<Trouble> {
        self.lasting.lock().values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_is_told_once_and_ends() {
        let troubles = Troubles::default();
        let told = Arc::new(Mutex::new(Rank::Table, Vec::new()));
        let heard = told.clone();
        troubles.on_trouble(Box::new(move |trouble| heard.lock().push(trouble.to_string())));
        for wrong in [Some("a"), Some("a"), Some("a and b"), Some("a and b"), None, Some("a")] {
            troubles.set(Work::Files, wrong.map(str::to_owned));
            assert_eq!(troubles.list().len(), usize::from(wrong.is_some()));
        }
        let of = |what: &str| format!("files are not what they were: {what}");
        assert_eq!(*told.lock(), [of("a"), of("a and b"), of("a")]);
    }

    #[test]
    fn are_told_once_a_minute_and_last_until_the_work_succeeds() {
        let troubles = Troubles::default();
        let told = Arc::new(Mutex::new(Rank::Table, Vec::new()));
        let heard = told.clone();
        troubles.on_trouble(Box::new(move |trouble| heard.lock().push(trouble.failures)));
        let failed = Err::<(), _>(Error::Overloaded);
        for second in 0..150 {
            troubles.note(Work::Flush, &failed, second * 1_000_000_000);
        }
        assert_eq!(*told.lock(), [1, 61, 121]);
        assert_eq!(troubles.list()[0].failures, 150);
        troubles.note(Work::Upkeep, &Err::<(), _>(Error::Closed), 0);
        troubles.note(Work::Flush, &Ok(()), 150_000_000_000);
        assert_eq!(troubles.list(), []);
        troubles.note(Work::Flush, &failed, 151_000_000_000);
        assert_eq!(told.lock().len(), 3);
        assert_eq!(troubles.list()[0].failures, 1);
    }
}
