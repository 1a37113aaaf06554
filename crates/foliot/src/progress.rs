//! Tells a person at a terminal how far a command is that reads a store: how much was read, how
//! fast, and how long the rest takes. Programs are told nothing until it is done.

use crate::welcome::size;
use foliot_disk::{Disk, Layer, ReadFile, RealDisk};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How often a person is told how far it is.
pub(crate) const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// What tells how much of some work is left.
#[derive(Clone, Copy)]
pub(crate) enum Rest<'a> {
    /// So many bytes are to be read, if that is known.
    Bytes(Option<u64>),
    /// How many series are done, and how many there are.
    Series(&'a (dyn Fn() -> (u64, u64) + Sync)),
}

impl Rest<'_> {
    /// How far it is, once so much was read.
    fn shown(self, read_bytes: u64, took: Duration) -> String {
        let read = size(read_bytes);
        match self {
            Self::Bytes(total) => format!("{read} read, {}", pace(read_bytes, total, took)),
            Self::Series(series) => {
                let (done, total) = series();
                let rest = rest(done, Some(total), took);
                let rest = rest.map_or_else(String::new, |rest| format!(", {rest}"));
                format!("{read} read, {}, {done} series{rest}", pace(read_bytes, None, took))
            }
        }
    }
}

/// Does `work` on the real disk, and tells how far it is.
pub(crate) fn told<T>(rest: Rest<'_>, work: impl FnOnce(Arc<dyn Disk>) -> T) -> T {
    if !io::stderr().is_terminal() {
        return work(Arc::new(RealDisk::new()));
    }
    let read_bytes = Arc::new(AtomicU64::new(0));
    let disk = Arc::new(Counting { disk: RealDisk::new(), read_bytes: read_bytes.clone() });
    let began = Instant::now();
    thread::scope(|scope| {
        let (done, is_done) = channel::<()>();
        scope.spawn(move || {
            while is_done.recv_timeout(REPORT_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                replace(&rest.shown(read_bytes.load(Ordering::Relaxed), began.elapsed()));
            }
            let read = read_bytes.load(Ordering::Relaxed);
            replace(&format!("{} read, {}\n", size(read), pace(read, None, began.elapsed())));
        });
        let outcome = work(disk);
        drop(done);
        outcome
    })
}

/// Bytes of the files in a directory.
pub(crate) fn bytes_in(dir: &Path) -> Option<u64> {
    let files = std::fs::read_dir(dir).ok()?;
    let len = |entry: io::Result<std::fs::DirEntry>| entry?.metadata().map(|data| data.len());
    Some(files.filter_map(|entry| len(entry).ok()).sum())
}

/// How fast something goes, and how long the rest takes if all of it is known.
pub(crate) fn pace(done: u64, total: Option<u64>, took: Duration) -> String {
    let per_second = done as f64 / took.as_secs_f64().max(0.001);
    let rate = format!("{}/s", size(per_second as u64));
    match rest(done, total, took) {
        None => rate,
        Some(rest) => format!("{rate}, {rest}"),
    }
}

/// How much of it is done, and how long the rest takes; nothing where neither is known.
fn rest(done: u64, total: Option<u64>, took: Duration) -> Option<String> {
    // What is read twice, or grows, can be more than all.
    let total = total.filter(|total| *total > done && done > 0)?;
    let percent = 100.0 * done as f64 / total as f64;
    let left = (total - done) as f64 * took.as_secs_f64() / done as f64;
    Some(format!("{percent:.0} %, {} left", span(left as u64)))
}

/// A time in the two largest units that it has.
fn span(seconds: u64) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// Writes over the line that a terminal shows last.
pub(crate) fn replace(line: &str) {
    // Nobody is left to tell when standard error is gone.
    let _ = write!(io::stderr(), "\r\x1b[K{line}");
}

/// Bytes of which it is known whether they were read.
const STRETCH_BYTES: u64 = 32 << 10;

/// The real disk, which counts what is read from it.
struct Counting {
    disk: RealDisk,
    read_bytes: Arc<AtomicU64>,
}

/// A file whose bytes count once, however often they are read: blocks lie many to a page.
struct CountingFile {
    file: Arc<dyn ReadFile>,
    is_read: Vec<AtomicBool>,
    read_bytes: Arc<AtomicU64>,
}

impl ReadFile for CountingFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_at(buffer, offset)?;
        let (first, end) = (offset / STRETCH_BYTES, offset + buffer.len() as u64);
        let stretches = self.is_read.iter().enumerate().skip(first as usize);
        for (index, is_read) in stretches {
            let start = index as u64 * STRETCH_BYTES;
            if start >= end {
                break;
            }
            if !is_read.swap(true, Ordering::Relaxed) {
                let bytes = STRETCH_BYTES.min(self.file.len() - start);
                self.read_bytes.fetch_add(bytes, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    fn len(&self) -> u64 {
        self.file.len()
    }
}

impl Layer for Counting {
    fn below(&self) -> &dyn Disk {
        &self.disk
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadFile>> {
        let file = self.disk.open(path)?;
        let stretches = file.len().div_ceil(STRETCH_BYTES);
        let is_read = (0..stretches).map(|_| AtomicBool::new(false)).collect();
        Ok(Arc::new(CountingFile { file, is_read, read_bytes: self.read_bytes.clone() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_tells_rate_and_rest() {
        let after = Duration::from_secs(10);
        let mib = 1 << 20;
        assert_eq!(pace(100 * mib, Some(400 * mib), after), "10.0 MiB/s, 25 %, 30 s left");
        assert_eq!(pace(100 * mib, None, after), "10.0 MiB/s");
        assert_eq!(pace(401 * mib, Some(400 * mib), after), "40.1 MiB/s", "more than all");
        assert_eq!(pace(0, Some(mib), after), "0.0 B/s", "nothing yet");
    }

    #[test]
    fn an_export_is_told_by_its_series() {
        let shown = |done, total| {
            let series = move || (done, total);
            Rest::Series(&series).shown(10 << 20, Duration::from_secs(10))
        };
        assert_eq!(shown(50, 200), "10.0 MiB read, 1.0 MiB/s, 50 series, 25 %, 30 s left");
        assert_eq!(shown(0, 0), "10.0 MiB read, 1.0 MiB/s, 0 series");
    }

    #[test]
    fn spans() {
        assert_eq!(span(59), "59 s");
        assert_eq!(span(200), "3 min 20 s");
        assert_eq!(span(3_600 + 5 * 60 + 9), "1 h 5 min");
    }
}
