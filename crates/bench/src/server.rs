//! What the server costs: CPU, memory, disk traffic and disk use, read from /proc once a second for
//! the process and all its children. Off Linux there are no readings and the report says so.
//!
//! Children end while they are counted. Their processor time then goes to their parent, their disk
//! traffic nowhere; so the traffic that was last seen of each is kept, and no counter falls.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::disk::DiskReading;

mod process;

use process::{Process, Traffic};

/// A server counts as quiet when it used less than this share of a core over [`QUIET_SPAN`].
const QUIET_SHARE: f64 = 0.02;
const QUIET_SPAN: Duration = Duration::from_secs(3);

/// Where to look.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched {
    pub(crate) pid: Option<u32>,
    pub(crate) data_dir: Option<PathBuf>,
    seen: Arc<Mutex<Seen>>,
}

/// What earlier readings showed.
#[derive(Debug, Default)]
struct Seen {
    cpu_user_ms: u64,
    cpu_system_ms: u64,
    /// The traffic of each process, by id, when it was last seen.
    traffic: BTreeMap<u32, Traffic>,
    /// The most memory of several processes together since the cell began.
    memory_peak_bytes: u64,
}

/// The counters of a server at one moment, all its processes together.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Reading {
    pub(crate) cpu_user_ms: u64,
    pub(crate) cpu_system_ms: u64,
    /// Memory of its own. Of several processes it is their proportional share (PSS), because
    /// each would count what they share.
    pub(crate) rss_anon_bytes: u64,
    /// Memory that holds files, and memory that processes share.
    pub(crate) rss_file_bytes: u64,
    /// The most since the cell began: by the kernel for one process, of the readings for several.
    pub(crate) rss_peak_bytes: u64,
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
    pub(crate) read_calls: u64,
    pub(crate) write_calls: u64,
    pub(crate) threads: u64,
    pub(crate) processes: u64,
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
    /// User and system CPU together.
    pub(crate) fn cpu_ms(&self) -> u64 {
        self.cpu_user_ms + self.cpu_system_ms
    }

    /// Anonymous memory and files.
    fn memory_bytes(&self) -> u64 {
        self.rss_anon_bytes + self.rss_file_bytes
    }
}

impl Seen {
    /// Adds the processes up; none when there are none.
    fn reading(&mut self, processes: &[Process]) -> Option<Reading> {
        let sum = |of: fn(&Process) -> u64| processes.iter().map(of).sum::<u64>();
        let first = processes.first()?;
        self.cpu_user_ms = self.cpu_user_ms.max(sum(|process| process.cpu_user_ms));
        self.cpu_system_ms = self.cpu_system_ms.max(sum(|process| process.cpu_system_ms));
        self.traffic.extend(processes.iter().map(|process| (process.pid, process.traffic)));
        let traffic = |of: fn(&Traffic) -> u64| self.traffic.values().map(of).sum::<u64>();
        let mut reading = Reading {
            cpu_user_ms: self.cpu_user_ms,
            cpu_system_ms: self.cpu_system_ms,
            rss_anon_bytes: sum(|process| process.anon_bytes),
            rss_file_bytes: sum(|process| process.file_bytes),
            rss_peak_bytes: first.peak_bytes,
            read_bytes: traffic(|traffic| traffic.read_bytes),
            written_bytes: traffic(|traffic| traffic.written_bytes),
            read_calls: traffic(|traffic| traffic.read_calls),
            write_calls: traffic(|traffic| traffic.write_calls),
            threads: sum(|process| process.threads),
            processes: processes.len() as u64,
            disk: None,
        };
        self.memory_peak_bytes = self.memory_peak_bytes.max(reading.memory_bytes());
        if processes.len() > 1 {
            reading.rss_peak_bytes = self.memory_peak_bytes;
        }
        Some(reading)
    }
}

impl Watched {
    pub(crate) fn new(pid: Option<u32>, data_dir: Option<PathBuf>) -> Watched {
        Watched { pid, data_dir, seen: Arc::default() }
    }

    /// The counters of the server and its children now; none when it is gone or /proc is missing.
    pub(crate) fn reading(&self) -> Option<Reading> {
        let processes = Process::tree(self.pid?);
        let disk = self.data_dir.as_deref().and_then(DiskReading::take);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        Some(Reading { disk, ..seen.reading(&processes)? })
    }

    /// Starts a new cell: the highest memory counts from here, as far as this user may say so.
    pub(crate) fn begin_cell(&self) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.memory_peak_bytes = 0;
        self.pids().into_iter().for_each(process::reset_peak);
    }

    /// The server's process and its children, the server's own first.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.pid.map(process::pids).unwrap_or_default()
    }

    pub(crate) fn disk_use(&self) -> Option<DiskUse> {
        let mut used = DiskUse::default();
        add_directory(self.data_dir.as_deref()?, &mut used);
        Some(used)
    }

    /// Waits until the server is quiet, `most` at the longest; returns the last reading, and
    /// whether it was quiet by then.
    pub(crate) fn settle(&self, most: Duration) -> Option<(Reading, bool)> {
        if most.is_zero() {
            return Some((self.reading()?, false));
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
                let is_quiet = used_ms < span_ms * QUIET_SHARE;
                if is_quiet || begin.elapsed() >= most {
                    return Some((reading, is_quiet));
                }
            }
            std::thread::sleep(Duration::from_millis(250));
        }
    }
}

/// What the cores of the machine have done since it was started, in ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MachineTime {
    total: u64,
    idle: u64,
}

impl MachineTime {
    /// Now; none off Linux.
    pub(crate) fn take() -> Option<MachineTime> {
        MachineTime::read(&fs::read_to_string("/proc/stat").ok()?)
    }

    fn read(stat: &str) -> Option<MachineTime> {
        let words = stat.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace();
        // User, nice, system, idle, waiting for disks, interrupts twice, stolen; what follows is
        // counted among these.
        let ticks: Vec<u64> = words.take(8).map_while(|word| word.parse().ok()).collect();
        let idle = ticks.get(3)? + ticks.get(4)?;
        Some(MachineTime { total: ticks.iter().sum(), idle })
    }

    /// Share of the time since `before` in which cores worked; none when no time has passed.
    pub(crate) fn busy_since(self, before: MachineTime) -> Option<f64> {
        let total = self.total.checked_sub(before.total).filter(|total| *total > 0)?;
        Some(1.0 - self.idle.saturating_sub(before.idle) as f64 / total as f64)
    }
}

/// CPU time of the calling thread, nanoseconds.
pub(crate) fn thread_cpu_ns() -> u64 {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0)
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
        let reading = Watched::new(Some(child.id()), None).reading();
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
        let watched = Watched::new(None, Some(dir.clone()));
        let used = watched.disk_use().unwrap();
        fs::remove_dir_all(dir).unwrap();
        assert_eq!((used.files, used.apparent_bytes), (1, 10_000));
    }

    #[test]
    fn the_machine_is_busy_while_its_cores_are_not_idle() {
        let read = |line: &str| MachineTime::read(line).unwrap();
        let before = read("cpu  100 0 100 700 100 0 0 0 50 0\ncpu0 1 2 3");
        let after = read("cpu  160 0 120 710 110 0 0 0 90 0\ncpu0 1 2 3");
        assert_eq!(after.busy_since(before), Some(0.8));
        assert_eq!(before.busy_since(before), None);
    }

    fn process(pid: u32, cpu_ms: u64, written_bytes: u64, anon_bytes: u64) -> Process {
        let traffic = Traffic { written_bytes, ..Traffic::default() };
        Process { pid, cpu_user_ms: cpu_ms, traffic, anon_bytes, ..Process::default() }
    }

    #[test]
    fn counters_of_several_processes_never_fall() {
        let mut seen = Seen::default();
        let first = [process(1, 100, 10, 50), process(2, 300, 1000, 70)];
        let first = seen.reading(&first).unwrap();
        // The child is gone; its parent does not count it yet.
        let second = seen.reading(&[process(1, 110, 20, 50)]).unwrap();
        // Now it does, and another one begins.
        let third = seen.reading(&[process(1, 420, 30, 50), process(3, 5, 7, 10)]).unwrap();
        let cpu = [first, second, third].map(|reading| reading.cpu_ms());
        assert_eq!(cpu, [400, 400, 425]);
        let written = [first, second, third].map(|reading| reading.written_bytes);
        assert_eq!(written, [1010, 1020, 1037]);
        assert_eq!((first.rss_peak_bytes, third.rss_peak_bytes), (120, 120));
        assert_eq!(seen.reading(&[]).map(|reading| reading.cpu_ms()), None);
    }

    #[test]
    fn a_server_of_many_short_processes_is_counted_whole() {
        use std::process::{Command, Stdio};
        // Eight children, two at a time, each of which burns and ends.
        let work = "n=0; while [ $n -lt 40000 ]; do n=$((n+1)); done";
        let script = format!("for i in 1 2 3 4; do ({work}) & ({work}) & wait; done; read line");
        let mut child =
            Command::new("sh").args(["-c", &script]).stdin(Stdio::piped()).spawn().unwrap();
        let watched = Watched::new(Some(child.id()), None);
        watched.begin_cell();
        let (mut readings, mut processes, begin) = (Vec::new(), 0, Instant::now());
        // The shell waits for a line once all children have ended.
        while begin.elapsed() < Duration::from_secs(60) {
            let reading = watched.reading().unwrap();
            processes = processes.max(reading.processes);
            readings.push(reading.cpu_ms());
            let count = readings.len();
            let is_still =
                count > 50 && readings[count - 50..].iter().all(|ms| *ms == reading.cpu_ms());
            if is_still && processes > 1 && reading.processes == 1 {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(readings.is_sorted(), "{readings:?}");
        assert!(processes >= 2, "{processes}");
        // The kernel hands the time of children to whoever waits for them: the shell's own count.
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        let words: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
        let ticks: u64 = words[11..15].iter().map(|word| word.parse::<u64>().unwrap()).sum();
        assert!(readings.last().unwrap().abs_diff(ticks * 10) <= 40, "{readings:?}, {ticks}");
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
