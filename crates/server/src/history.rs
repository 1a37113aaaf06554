//! How the last day went, a moment each minute: what came in, what it takes. Kept in memory only;
//! whoever wants more of it stores the figures (`agent.host`).

use crate::machine;
use crate::metrics::now_ns;
use crate::shared::Shared;
use foliot_lock::{Mutex, Rank};
use foliot_model::NANOS_PER_MILLI;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Time between two moments.
const INTERVAL: Duration = Duration::from_secs(60);

/// Moments that are kept: a day of them, some 300 KiB.
const MOMENTS_MAX: usize = 24 * 60;

/// Over less time than this a disk's growth tells nothing: parts come every few minutes.
const GROWTH_MS_MIN: i64 = 30 * 60 * 1000;

/// What there was at a time. Counters count since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) at_ms: i64,
    /// Samples stored, by protocol; those by which something came.
    pub(crate) samples: BTreeMap<&'static str, u64>,
    pub(crate) rejected: u64,
    /// Bytes of parts and log.
    pub(crate) disk_bytes: u64,
    pub(crate) series: u64,
    /// Memory of the process.
    pub(crate) memory_bytes: u64,
}

/// Moments of the last day, oldest first.
#[derive(Debug)]
pub(crate) struct History(Mutex<VecDeque<Moment>>);

impl Default for History {
    fn default() -> Self {
        Self(Mutex::new(Rank::Table, VecDeque::new()))
    }
}

impl History {
    fn push(&self, moment: Moment) {
        let mut moments = self.0.lock();
        if moments.len() >= MOMENTS_MAX {
            moments.pop_front();
        }
        moments.push_back(moment);
    }

    /// All of them, oldest first.
    pub(crate) fn list(&self) -> Vec<Moment> {
        self.0.lock().iter().cloned().collect()
    }

    /// How long `free_bytes` last if the disk goes on filling as it did; nothing while that is not
    /// known, or when it does not fill.
    pub(crate) fn seconds_left(&self, free_bytes: u64) -> Option<u64> {
        let moments = self.0.lock();
        let (first, last) = (moments.front()?, moments.back()?);
        let took_ms = last.at_ms - first.at_ms;
        let grew = last.disk_bytes.checked_sub(first.disk_bytes).filter(|grew| *grew > 0)?;
        let seconds = free_bytes as f64 * took_ms as f64 / 1000.0 / grew as f64;
        (took_ms >= GROWTH_MS_MIN).then_some(seconds as u64)
    }
}

/// Keeps a moment each minute, from when the store is there until the server stops.
pub(crate) async fn keep(shared: Arc<Shared>) {
    if shared.wait_for_store().await.is_none() {
        return;
    }
    let mut ticks = tokio::time::interval(INTERVAL);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = shared.stopping() => return,
        }
        shared.history.push(now(&shared));
    }
}

fn now(shared: &Shared) -> Moment {
    let stats = shared.store().map(|store| store.engine().stats()).unwrap_or_default();
    Moment {
        at_ms: now_ns() / NANOS_PER_MILLI,
        samples: shared.metrics.samples().filter(|(_, count)| *count > 0).collect(),
        rejected: shared.metrics.rejected(),
        disk_bytes: stats.part_bytes + stats.wal_bytes,
        series: stats.series,
        memory_bytes: machine::resident_bytes().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_kept_and_tells_how_long_the_disk_lasts() {
        let history = History::default();
        assert_eq!(history.seconds_left(1), None);
        let moment = |minute: i64| Moment {
            at_ms: minute * 60_000,
            disk_bytes: 1000 * minute as u64,
            ..Moment::default()
        };
        (0..=20).for_each(|minute| history.push(moment(minute)));
        assert_eq!(history.seconds_left(600_000), None, "twenty minutes are too few");
        (21..=60).for_each(|minute| history.push(moment(minute)));
        assert_eq!(history.seconds_left(600_000), Some(36_000), "600 minutes");
        (61..=3000).for_each(|minute| history.push(moment(minute)));
        let kept = history.list();
        assert_eq!((kept.len(), kept[0].at_ms), (MOMENTS_MAX, 1561 * 60_000));
        let shrunk = Moment { at_ms: 3001 * 60_000, ..Moment::default() };
        history.push(shrunk);
        assert_eq!(history.seconds_left(1), None, "it does not fill");
    }
}
