//! What the server costs: CPU, memory, disk traffic and disk use, read from /proc by process id
//! once a second. Off Linux there are no readings and the report says so.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::disk::DiskReading;

/// Ticks of /proc/PID/stat per second; fixed by the Linux ABI.
const TICKS_PER_SECOND: u64 = 100;

/// A server counts as quiet when it used less than this share of a core over [`QUIET_SPAN`].
const QUIET_SHARE: f64 = 0.02;
const QUIET_SPAN: Duration = Duration::from_secs(3);

/// Where to look.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched {
    pub(crate) pid: Option<u32>,
    pub(crate) data_dir: Option<PathBuf>,
}

/// The counters of a process at one moment.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Reading {
    pub(crate) cpu_user_ms: u64,
    pub(crate) cpu_system_ms: u64,
    pub(crate) rss_anon_bytes: u64,
    pub(crate) rss_file_bytes: u64,
    pub(crate) rss_peak_bytes: u64,
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
    pub(crate) read_calls: u64,
    pub(crate) write_calls: u64,
    pub(crate) threads: u64,
    /// The disk under the data directory, which other processes may use as well.
    pub(crate) disk: Option<DiskReading>,
}

/// Disk use of a directory.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct DiskUse {
    /// Sum of the files' lengths.
    pub(crate) apparent_bytes: u64,
    /// Sum of the blocks they occupy.
    pub(crate) allocated_bytes: u64,
    pub(crate) files: u64,
}

impl Reading {
    /// The counters of `pid` and its children now; none when it is gone or /proc is missing.
    pub(crate) fn take(pid: u32) -> Option<Reading> {
        let mut sum = Reading::of_one(pid)?;
        for child in children(pid) {
            // A child may end between the listing and the question; its parent then counts it.
            if let Some(reading) = Reading::take(child) {
                sum.add(&reading);
            }
        }
        Some(sum)
    }

    fn add(&mut self, other: &Reading) {
        self.cpu_user_ms += other.cpu_user_ms;
        self.cpu_system_ms += other.cpu_system_ms;
        self.rss_anon_bytes += other.rss_anon_bytes;
        self.rss_file_bytes += other.rss_file_bytes;
        self.rss_peak_bytes += other.rss_peak_bytes;
        self.read_bytes += other.read_bytes;
        self.written_bytes += other.written_bytes;
        self.read_calls += other.read_calls;
        self.write_calls += other.write_calls;
        self.threads += other.threads;
    }

    fn of_one(pid: u32) -> Option<Reading> {
        let root = PathBuf::from(format!("/proc/{pid}"));
        let (user, system) = cpu_ticks(&fs::read_to_string(root.join("stat")).ok()?)?;
        let status = fs::read_to_string(root.join("status")).ok()?;
        let kib = |name: &str| named(&status, name).unwrap_or(0) * 1024;
        // Counters of another user's process cannot be read; they stay 0.
        let io = fs::read_to_string(root.join("io")).unwrap_or_default();
        let count = |name: &str| named(&io, name).unwrap_or(0);
        Some(Reading {
            cpu_user_ms: user * 1000 / TICKS_PER_SECOND,
            cpu_system_ms: system * 1000 / TICKS_PER_SECOND,
            rss_anon_bytes: kib("RssAnon"),
            rss_file_bytes: kib("RssFile"),
            rss_peak_bytes: kib("VmHWM"),
            read_bytes: count("read_bytes"),
            written_bytes: count("write_bytes"),
            read_calls: count("syscr"),
            write_calls: count("syscw"),
            threads: named(&status, "Threads").unwrap_or(0),
            disk: None,
        })
    }

    /// User and system CPU together.
    pub(crate) fn cpu_ms(&self) -> u64 {
        self.cpu_user_ms + self.cpu_system_ms
    }
}

impl Watched {
    pub(crate) fn reading(&self) -> Option<Reading> {
        let disk = self.data_dir.as_deref().and_then(DiskReading::take);
        Some(Reading { disk, ..Reading::take(self.pid?)? })
    }

    pub(crate) fn disk_use(&self) -> Option<DiskUse> {
        let mut used = DiskUse::default();
        add_directory(self.data_dir.as_deref()?, &mut used);
        Some(used)
    }

    /// Waits until the server is quiet, `most` at the longest; returns the last reading.
    pub(crate) fn settle(&self, most: Duration) -> Option<Reading> {
        if most.is_zero() {
            return self.reading();
        }
        let begin = Instant::now();
        let mut past: std::collections::VecDeque<(Instant, u64)> = Default::default();
        loop {
            let now = Instant::now();
            let reading = self.reading()?;
            past.push_back((now, reading.cpu_ms()));
            while past.get(1).is_some_and(|(then, _)| now - *then >= QUIET_SPAN) {
                past.pop_front();
            }
            if let Some((then, cpu_ms)) = past.front()
                && now - *then >= QUIET_SPAN
            {
                let span_ms = (now - *then).as_millis() as f64;
                let used_ms = reading.cpu_ms().saturating_sub(*cpu_ms) as f64;
                if used_ms < span_ms * QUIET_SHARE || begin.elapsed() >= most {
                    return Some(reading);
                }
            }
            std::thread::sleep(Duration::from_millis(250));
        }
    }
}

/// CPU time of the calling thread, nanoseconds.
pub(crate) fn thread_cpu_ns() -> u64 {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// User and system ticks of a `stat` line, those of children that have ended included; the command
/// name may contain anything but is last closed by a parenthesis (proc(5)).
fn cpu_ticks(stat: &str) -> Option<(u64, u64)> {
    let words = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace();
    let ticks: Vec<u64> = words.skip(11).take(4).map_while(|word| word.parse().ok()).collect();
    let [user, system, user_ended, system_ended] = ticks.as_slice() else { return None };
    Some((user + user_ended, system + system_ended))
}

/// Processes whose parent is `pid`.
fn children(pid: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = threads.flatten().map(|thread| fs::read_to_string(thread.path().join("children")));
    let lists: Vec<String> = lists.map_while(Result::ok).collect();
    lists.iter().flat_map(|list| list.split_whitespace()).flat_map(str::parse).collect()
}

fn named(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

fn add_directory(path: &Path, used: &mut DiskUse) {
    let Ok(entries) = fs::read_dir(path) else { return };
    for entry in entries.flatten() {
        // A file may vanish between the listing and the question.
        let Ok(meta) = entry.metadata() else { continue };
        if meta.is_dir() {
            add_directory(&entry.path(), used);
        } else {
            used.files += 1;
            used.apparent_bytes += meta.len();
            used.allocated_bytes += allocated(&meta);
        }
    }
}

#[cfg(unix)]
fn allocated(meta: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    meta.blocks() * 512
}

#[cfg(not(unix))]
fn allocated(meta: &fs::Metadata) -> u64 {
    meta.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_lines_with_odd_command_names_are_read() {
        let line = "12 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 111 222 3 4 20 0";
        assert_eq!(cpu_ticks(line), Some((114, 226)));
    }

    /// Set in the process that `readings_agree_with_a_process_of_known_cost` starts.
    const BURNER: &str = "FOLIOT_BENCH_BURNER";

    /// What the burner holds, and writes, in bytes.
    const HELD: u64 = 100 << 20;
    const WRITTEN: u64 = 50 << 20;

    /// Holds memory, writes a file, keeps a core busy for a second, says how long, and waits.
    #[test]
    fn burner() {
        use std::io::{Read, Write};
        let Some(file) = std::env::var_os(BURNER) else { return };
        let held = vec![1u8; HELD as usize];
        let mut file = fs::File::create(file).unwrap();
        file.write_all(&held[..WRITTEN as usize]).unwrap();
        file.sync_all().unwrap();
        let (begin, mut sum) = (thread_cpu_ns(), 0u64);
        while thread_cpu_ns() - begin < 1_000_000_000 {
            sum = (0..100_000u64).fold(sum, |sum, at| sum.wrapping_mul(31) ^ at);
        }
        assert!(std::hint::black_box(sum) != 1);
        // Straight to the descriptor: the test's own output is captured.
        let mut out = fs::File::create("/dev/stdout").unwrap();
        writeln!(out, "burnt {}", thread_cpu_ns()).unwrap();
        let _ = std::io::stdin().read(&mut [0]);
        drop(held);
    }

    #[test]
    fn readings_agree_with_a_process_of_known_cost() {
        use std::io::BufRead;
        use std::process::{Command, Stdio};
        // Beside the test itself, on a real disk: files in memory cost no writes.
        let test = std::env::current_exe().unwrap();
        let file = test.with_file_name(format!("burnt-{}", std::process::id()));
        let mut child = Command::new(test)
            .args(["--exact", "server::tests::burner", "--nocapture", "--test-threads=1"])
            .env(BURNER, &file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = std::io::BufReader::new(child.stdout.take().unwrap());
        let line = out.lines().map_while(Result::ok).find(|line| line.contains("burnt "));
        let reading = Reading::take(child.id());
        drop(child.stdin.take());
        child.wait().unwrap();
        let _ = fs::remove_file(&file);
        // The thread's own clock counts nanoseconds, what is read here counts ticks.
        let line = line.unwrap();
        let cpu_ms = line.rsplit(' ').next().unwrap().parse::<f64>().unwrap() / 1e6;
        let reading = reading.unwrap();
        let close = |seen: f64, known: f64, slack: f64| (seen - known).abs() < 0.05 * known + slack;
        assert!(close(reading.cpu_ms() as f64, cpu_ms, 20.0), "{reading:?}, {cpu_ms} ms");
        assert!(close(reading.rss_anon_bytes as f64, HELD as f64, 3e6), "{reading:?}");
        assert!(close(reading.written_bytes as f64, WRITTEN as f64, 1e6), "{reading:?}");
    }

    #[test]
    fn disk_use_counts_files_in_depth() {
        let dir = std::env::temp_dir().join(format!("foliot-bench-disk-{}", std::process::id()));
        fs::create_dir_all(dir.join("deep")).unwrap();
        fs::write(dir.join("deep/file"), vec![1u8; 10_000]).unwrap();
        let watched = Watched { pid: None, data_dir: Some(dir.clone()) };
        let used = watched.disk_use().unwrap();
        fs::remove_dir_all(dir).unwrap();
        assert_eq!((used.files, used.apparent_bytes), (1, 10_000));
    }
}
