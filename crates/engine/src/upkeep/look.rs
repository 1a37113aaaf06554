//! Looking at files: damage is told before it costs anything.
//!
//! Readers tell what they find damaged and mend. What they never read while all is well, parities,
//! second tables and the index files of closed epochs, is looked at once after the store was
//! opened, file by file; files that were written since are not. Parts that are not there are known
//! from the start.

use super::Upkeep;
use crate::error::Error;
use crate::filenames::{self, Named};
use crate::files::Files;
use crate::paged;
use foliot_model::{NamespaceId, TimeRange};
use std::sync::atomic::{AtomicU64, Ordering};

/// Places and parts that are named; of more it is told how many.
const NAMED_MAX: usize = 4;

/// Which files were looked at: numbers ascend.
pub(super) struct Looked {
    /// Files of lower numbers were.
    next: AtomicU64,
    /// Files from this number on were written since the store was opened.
    end: u64,
}

impl Looked {
    pub(super) fn new(files: &Files) -> Self {
        Self { next: AtomicU64::new(0), end: files.next_number() }
    }
}

impl Upkeep {
    /// The file to look at next, if there is one.
    pub(super) fn unseen(&self) -> Option<Named> {
        let Looked { next, end } = &self.looked;
        let next = next.load(Ordering::Relaxed);
        if next >= *end {
            return None;
        }
        let files = self.files.hold().manifest().files().into_iter();
        let numbered = files.filter_map(|named| Some((named.number()?, named)));
        let ahead = numbered.filter(|(number, _)| (next..*end).contains(number));
        let found = ahead.min();
        if found.is_none() {
            self.looked.next.store(*end, Ordering::Relaxed);
        }
        found.map(|(_, named)| named)
    }

    /// Looks at what of a file nobody reads.
    pub(super) fn look(&self, named: Named) -> Result<(), Error> {
        let files = &*self.files;
        let number = named.number().unwrap_or_default();
        self.looked.next.store(number + 1, Ordering::Relaxed);
        let path = filenames::path(files.dir(), named);
        let goes_on = || !self.queue.is_closing();
        let tell = &mut |sentence| files.cache().damages.note(sentence);
        let looked = files.disk().open(&path).map_err(Error::io("open", &path));
        let is_spare = files.hold().manifest().is_spare(named);
        let looked = looked.and_then(|file| match is_spare {
            true => paged::restore(&*file, &path, number, tell, &mut |_| Ok(())),
            false => paged::look(&*file, &path, number, &goes_on, tell),
        });
        if let (true, Err(error @ Error::Corrupt { .. })) = (is_spare, &looked) {
            files.cache().damages.note(format!("{error}, a copy"));
        }
        self.judge_files();
        match looked {
            // It was replaced meanwhile, or is known to be absent.
            Err(error) if error.is_damage() => Ok(()),
            looked => looked,
        }
    }

    /// Notes what is wrong with files.
    pub(super) fn judge_files(&self) {
        let view = self.files.view();
        let absent = view.absent.iter().map(|entry| self.path_of(entry.number));
        let absent = Vec::from_iter(absent);
        let damages = self.files.cache().damages.list();
        let mut wrong = Vec::new();
        if !absent.is_empty() {
            let samples: u64 = view.absent.iter().map(|entry| entry.samples).sum();
            wrong.push(format!(
                "parts are missing or damaged, {samples} samples of them are not there: {}",
                some_of(&absent)
            ));
        }
        if !damages.is_empty() {
            wrong.push(format!(
                "damage was found that costs nothing yet, `foliot check --repair` mends it: {}",
                some_of(&damages)
            ));
        }
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let wal_bytes = load(&self.counters.wal_damaged_bytes);
        let orphans = load(&self.counters.samples_orphaned);
        if wal_bytes + orphans > 0 {
            wrong.push(format!(
                "the log was damaged when this process started: {wal_bytes} bytes of it were \
                 skipped, the samples in them are lost, and {orphans} others lost their series"
            ));
        }
        if load(&self.counters.wal_segments_missing) > 0 {
            wrong.push(
                "the newest segment of the log was not there when this process started: what was \
                 written to it and not yet to a part is lost"
                    .to_owned(),
            );
        }
        let wrong = Some(wrong.join("; ")).filter(|wrong| !wrong.is_empty());
        self.troubles.set(crate::troubles::Work::Files, wrong);
    }

    /// See `Engine::absent_parts`.
    pub(crate) fn absent_parts(&self, namespace: NamespaceId, range: TimeRange) -> Vec<String> {
        let view = self.files.view();
        let of_namespace = view.absent.iter().filter(|entry| entry.namespace == namespace);
        let within = of_namespace.filter(|entry| entry.range.overlaps(&range));
        let tell = |number, samples| format!("{}: {samples} samples", self.path_of(number));
        within.map(|entry| tell(entry.number, entry.samples)).collect()
    }

    fn path_of(&self, part: u64) -> String {
        filenames::part(self.files.dir(), part).display().to_string()
    }
}

/// The first of `all`, and how many there are more.
fn some_of(all: &[String]) -> String {
    let mut said = all.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
    if let Some(more) = all.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
        said.push_str(&format!(" and {more} more"));
    }
    said
}
