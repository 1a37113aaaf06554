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
    /// How often it has failed since it last succeeded; 0 when it is over.
    pub failures: u64,
    /// Why it failed last, a sentence.
    pub reason: String,
}

impl Trouble {
    /// Whether the work succeeds again. Only whoever is told hears of such a trouble.
    pub fn is_over(&self) -> bool {
        self.failures == 0
    }

    fn over(self) -> Self {
        Self { failures: 0, ..self }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_over() {
            return f.write_str(match self.work {
                Work::Wal => "the wal accepts writes again",
                Work::Flush => "samples are moved from memory to disk again",
                Work::Upkeep => "old files are merged and removed again",
                Work::Clock => "samples expire by the clock of this machine again",
                Work::Files => "nothing is wrong with files any more",
            });
        }
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

/// Told of a trouble, and that one it was told of is over.
pub(crate) type Tell = Box<dyn Fn(&Trouble) + Send + Sync>;

/// What somebody was told of a kind of work.
#[derive(Default)]
struct Told {
    /// When that it fails was told last.
    at_ns: Option<u64>,
    /// Whether that it fails is the last that was told.
    is_of_failure: bool,
}

/// All troubles of a store.
pub(crate) struct Troubles {
    lasting: Mutex<BTreeMap<Work, Trouble>>,
    told: Mutex<BTreeMap<Work, Told>>,
    tell: RwLock<Option<Arc<Tell>>>,
}

impl Default for Troubles {
    fn default() -> Self {
        Self {
            lasting: Mutex::new(Rank::Damages, BTreeMap::new()),
            told: Mutex::new(Rank::Damages, BTreeMap::new()),
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
        let Err(error) = result else { return self.end(work) };
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
            let mut told = self.told.lock();
            let told = told.entry(work).or_default();
            let is_time =
                told.at_ns.is_none_or(|last| now_ns.saturating_sub(last) >= TOLD_INTERVAL_NS);
            if is_time {
                *told = Told { at_ns: Some(now_ns), is_of_failure: true };
            }
            is_time
        };
        if is_time {
            self.tell(&trouble);
        }
    }

    /// Notes how something stands that is not tried but found: what is wrong with it, if anything
    /// is. That is told when it changes.
    pub(crate) fn set(&self, work: Work, wrong: Option<String>) {
        let Some(reason) = wrong else { return self.end(work) };
        let trouble = Trouble { work, failures: 1, reason };
        let before = self.lasting.lock().insert(work, trouble.clone());
        if before.is_some_and(|before| before.reason == trouble.reason) {
            return;
        }
        self.told.lock().entry(work).or_default().is_of_failure = true;
        self.tell(&trouble);
    }

    /// Notes that there is no trouble with a kind of work, and tells that if it was told that there
    /// is.
    fn end(&self, work: Work) {
        let Some(trouble) = self.lasting.lock().remove(&work) else { return };
        let was_told = {
            let mut told = self.told.lock();
            told.get_mut(&work).is_some_and(|told| std::mem::take(&mut told.is_of_failure))
        };
        if was_told {
            self.tell(&trouble.over());
        }
    }

    /// Called without a lock: what is done by whoever is told is theirs.
    fn tell(&self, trouble: &Trouble) {
        let tell = self.tell.read().clone();
        if let Some(tell) = tell {
            tell(trouble);
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
        let over = "nothing is wrong with files any more".to_owned();
        assert_eq!(*told.lock(), [of("a"), of("a and b"), over, of("a")]);
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
        assert_eq!(*told.lock(), [1, 61, 121, 0], "that it is over is told");
        troubles.note(Work::Flush, &failed, 151_000_000_000);
        assert_eq!(told.lock().len(), 4);
        assert_eq!(troubles.list()[0].failures, 1);
        troubles.note(Work::Flush, &Ok(()), 152_000_000_000);
        troubles.note(Work::Flush, &Ok(()), 153_000_000_000);
        assert_eq!(told.lock().len(), 4, "a failure that was not told ends untold");
    }
}
