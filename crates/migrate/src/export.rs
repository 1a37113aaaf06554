//! Exports: the series of a snapshot, one after the other, for a format to spell.

use crate::error::Error;
use foliot_engine::{Identity, Snapshot};
use foliot_model::{Samples, Selector, TimeRange};

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

/// Shows every wanted series, in the order in which they were created, and its samples in `range`
/// in time order, at most a block of them per call.
///
/// # Errors
/// When a part cannot be read, or `each` fails.
pub fn export(
    snapshot: &Snapshot,
    selector: &Selector,
    range: TimeRange,
    each: &mut dyn FnMut(&Identity, &Samples) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut samples = Samples::default();
    for sid in snapshot.select(selector, range)? {
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
