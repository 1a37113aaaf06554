//! Exports: the series of a snapshot, one after the other, for a format to spell.

use crate::error::Error;
use foliot_engine::{Identity, Snapshot};
use foliot_model::{Samples, Selector, TimeRange};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// What an export could not say in its format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unspelled {
    /// Series whose names or labels the format has no way to write.
    pub series: u64,
    /// Samples whose value the format has no way to write (text, histograms, NaN).
    pub samples: u64,
    /// Samples whose time was cut to the format's unit.
    pub times_cut: u64,
}

/// What an export wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Series with at least one sample in the range.
    pub series: u64,
    /// Samples written.
    pub samples: u64,
    /// What was left out or changed.
    pub unspelled: Unspelled,
}

/// What is to be exported.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// Where it is read.
    pub snapshot: &'a Snapshot,
    /// Which series.
    pub selector: &'a Selector,
    /// Which samples of them.
    pub range: TimeRange,
    /// Who is told how far it is.
    pub pace: &'a Pace,
}

impl fmt::Debug for Wanted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wanted").field("range", &self.range).finish_non_exhaustive()
    }
}

/// How far an export is, for whoever watches it from another thread.
#[derive(Debug, Default)]
pub struct Pace {
    done: AtomicU64,
    total: AtomicU64,
}

impl Pace {
    /// How many series are done, and how many there are; none of either before it is known.
    pub fn series(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}

/// Shows every wanted series, in the order in which they were created, and its samples in `range`
/// in time order, at most a block of them per call.
///
/// # Errors
/// When a part cannot be read, or `each` fails.
pub fn export(
    wanted: &Wanted<'_>,
    each: &mut dyn FnMut(&Identity, &Samples) -> Result<(), Error>,
) -> Result<(), Error> {
    let Wanted { snapshot, selector, range, pace } = *wanted;
    let mut samples = Samples::default();
    let sids = snapshot.select(selector, range)?;
    pace.total.store(sids.len() as u64, Ordering::Relaxed);
    for sid in sids {
        pace.done.fetch_add(1, Ordering::Relaxed);
        let Some(identity) = snapshot.identity(sid)? else { continue };
        let mut scan = snapshot.scan(sid, range)?;
        loop {
            samples.clear();
            if !scan.next(&mut samples)? {
                break;
            }
            each(&identity, &samples)?;
        }
    }
    Ok(())
}
