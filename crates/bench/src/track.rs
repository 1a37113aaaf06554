//! Tracks: what client and server did second by second, for the plots, and the progress line.

use std::io::{IsTerminal, Write};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::runs::is_enough;
use crate::server::{Reading, Watched};

const TICK: Duration = Duration::from_secs(1);

/// Disk use is a walk over a directory: not each second.
const TICKS_PER_DISK_WALK: usize = 5;

/// One second of a run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Track {
    /// Seconds since the start of the load.
    pub(crate) at_s: f64,
    /// Values acknowledged so far.
    pub(crate) points: u64,
    pub(crate) errors: u64,
    pub(crate) server: Option<Reading>,
    pub(crate) disk_bytes: Option<u64>,
}

/// Takes tracks while a load runs.
pub(crate) struct Tracker<'a> {
    watched: &'a Watched,
    tracks: Vec<Track>,
    /// A moment between full seconds that needs a track of its own: the end of the warm-up.
    warm_up: Duration,
    progress: bool,
}

impl<'a> Tracker<'a> {
    pub(crate) fn new(watched: &'a Watched, warm_up: Duration, progress: bool) -> Tracker<'a> {
        let progress = progress && std::io::stderr().is_terminal();
        Tracker { watched, tracks: Vec::new(), warm_up, progress }
    }

    /// Sleeps to the next full second after `start` or to the end of the warm-up, or until `over`
    /// says so.
    pub(crate) fn wait(&self, start: Instant, over: impl Fn() -> bool) {
        let last_s = self.tracks.last().map_or(0.0, |track| track.at_s);
        let second = TICK * (last_s as u32 + 1);
        let is_cold = last_s < self.warm_up.as_secs_f64();
        let next = if is_cold { second.min(self.warm_up) } else { second };
        while start.elapsed() < next && !over() {
            thread::sleep(Duration::from_millis(20).min(next.saturating_sub(start.elapsed())));
        }
    }

    /// Takes the track of this moment.
    pub(crate) fn mark(&mut self, start: Instant, points: u64, errors: u64) {
        let at_s = start.elapsed().as_secs_f64();
        let walk = self.tracks.len().is_multiple_of(TICKS_PER_DISK_WALK);
        let disk = if walk { self.watched.disk_use() } else { None };
        let server = self.watched.reading();
        if self.progress {
            let before = self.tracks.last().map_or((0.0, 0), |last| (last.at_s, last.points));
            let rate = (points - before.1) as f64 / (at_s - before.0).max(1e-3);
            let line =
                format!("\r{at_s:6.0} s  {points:>13} values  {rate:>11.0}/s  {errors} errors ");
            // A terminal that is gone is no reason to stop a load.
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
        let disk_bytes = disk.map(|disk| disk.allocated_bytes);
        self.tracks.push(Track { at_s, points, errors, server, disk_bytes });
    }

    /// Whether what followed the warm-up is enough to judge by.
    pub(crate) fn is_enough(&self) -> bool {
        let warm = self.tracks.iter().find(|track| track.at_s >= self.warm_up.as_secs_f64());
        let ends = warm.zip(self.tracks.last());
        ends.is_some_and(|(from, to)| {
            let cpu_ms = from.server.zip(to.server).map(|(from, to)| to.cpu_ms() - from.cpu_ms());
            is_enough(to.at_s - from.at_s, cpu_ms.unwrap_or_default())
        })
    }

    pub(crate) fn finish(self) -> Vec<Track> {
        if self.progress && !self.tracks.is_empty() {
            let _ = std::io::stderr().write_all(b"\n");
        }
        self.tracks
    }
}
