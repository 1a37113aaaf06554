//! Who made which series: for whoever wonders where samples come from.
//!
//! Ids of series are given out in order, so that what one request makes is a run of them. The runs
//! that were made last are remembered; who made the others, and those of before the start, is not
//! known.

use crate::metrics::Way;
use crate::senders::From;
use foliot_lock::{Mutex, Rank};
use std::collections::BTreeMap;
use std::ops::Range;

/// Runs that are remembered, of about 80 bytes each. Where they are more, the oldest is forgotten.
const RUNS_MAX: usize = 16_384;

/// Runs of one sender that stand beside each other are one, if they were made within this time.
const TOGETHER_NS: i64 = 60_000_000_000;

/// Who made a series, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Maker {
    pub(crate) way: &'static str,
    pub(crate) from: From,
    /// To the minute.
    pub(crate) at_ns: i64,
}

/// Makers of runs: the end of each, by its first id.
#[derive(Debug)]
pub(crate) struct Makers(Mutex<BTreeMap<u32, (u32, Maker)>>);

impl Default for Makers {
    fn default() -> Self {
        Self(Mutex::new(Rank::Table, BTreeMap::new()))
    }
}

impl Makers {
    /// Notes that the peer of this task made series.
    pub(crate) fn note(&self, way: Way, runs: &[Range<u32>], at_ns: i64) {
        let maker = Maker { way: way.name(), from: From::here(), at_ns };
        runs.iter().for_each(|run| self.note_made(run, maker));
    }

    fn note_made(&self, run: &Range<u32>, maker: Maker) {
        let mut known = self.0.lock();
        if let Some((_, (end, before))) = known.range_mut(..run.start).next_back()
            && *end == run.start
            && (before.way, before.from) == (maker.way, maker.from)
            && maker.at_ns.saturating_sub(before.at_ns) < TOGETHER_NS
        {
            *end = run.end;
            return;
        }
        known.insert(run.start, (run.end, maker));
        if known.len() > RUNS_MAX {
            known.pop_first();
        }
    }

    /// Who made a series, where that is known.
    pub(crate) fn of(&self, sid: u32) -> Option<Maker> {
        let known = self.0.lock();
        let (_, (end, maker)) = known.range(..=sid).next_back()?;
        (sid < *end).then_some(*maker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn maker(way: &'static str, address: &str, at_ns: i64) -> Maker {
        Maker { way, from: From::Address(address.parse().unwrap()), at_ns }
    }

    #[test]
    fn who_made_a_series_is_known_by_its_run() {
        let makers = Makers::default();
        let (one, two) = (maker("put", "10.0.0.1", 5), maker("influx_http", "10.0.0.2", 6));
        makers.note_made(&(10..20), one);
        makers.note_made(&(20..21), Maker { at_ns: 9, ..one });
        makers.note_made(&(21..30), two);
        let later = Maker { at_ns: 6 + TOGETHER_NS, ..two };
        makers.note_made(&(30..31), later);
        makers.note_made(&(40..41), one);
        let known = [9, 10, 20, 21, 29, 30, 31, 40, 41].map(|sid| makers.of(sid));
        let (one, two, later) = (Some(one), Some(two), Some(later));
        assert_eq!(known, [None, one, one, two, two, later, None, one, None]);
        assert_eq!(makers.0.lock().len(), 4);
    }

    #[test]
    fn the_oldest_runs_are_forgotten() {
        let makers = Makers::default();
        let count = RUNS_MAX as u32 + 10;
        for sid in 0..count {
            makers.note_made(&(2 * sid..2 * sid + 1), maker("udp", "::1", 0));
        }
        assert_eq!(makers.0.lock().len(), RUNS_MAX);
        assert!(makers.of(18).is_none() && makers.of(20).is_some() && makers.of(21).is_none());
        assert!(makers.of(2 * count - 2).is_some());
    }
}
