//! Processes: what /proc says of one (proc(5)), and which belong to a server.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Ticks of /proc/PID/stat per second; fixed by the Linux ABI.
const TICKS_PER_SECOND: u64 = 100;

/// Written to /proc/PID/clear_refs, it makes the highest memory count from now.
const RESET_PEAK: &str = "5";

/// One process at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Process {
    pub(super) pid: u32,
    /// With that of children that have ended and were waited for.
    pub(super) cpu_user_ms: u64,
    pub(super) cpu_system_ms: u64,
    pub(super) anon_bytes: u64,
    pub(super) file_bytes: u64,
    pub(super) peak_bytes: u64,
    pub(super) threads: u64,
    pub(super) traffic: Traffic,
}

/// What a process read and wrote; 0 where this user may not know.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traffic {
    pub(super) read_bytes: u64,
    pub(super) written_bytes: u64,
    pub(super) read_calls: u64,
    pub(super) write_calls: u64,
}

impl Process {
    /// A process and all below it, each parent before its children: who ends meanwhile is then
    /// missing for a moment, and never counted twice.
    pub(super) fn tree(pid: u32) -> Vec<Process> {
        let pids = pids(pid);
        let is_alone = pids.len() == 1;
        pids.into_iter().filter_map(|pid| Process::take(pid, is_alone)).collect()
    }

    fn take(pid: u32, is_alone: bool) -> Option<Process> {
        let root = Path::new("/proc").join(pid.to_string());
        let stat = Stat::read(&fs::read_to_string(root.join("stat")).ok()?)?;
        let status = fs::read_to_string(root.join("status")).ok()?;
        let io = fs::read_to_string(root.join("io")).unwrap_or_default();
        let count = |name: &str| named(&io, name).unwrap_or(0);
        let kib = |text: &str, name: &str| named(text, name).unwrap_or(0) * 1024;
        let shares = match is_alone {
            true => String::new(),
            // The kernel walks all pages for it: only where processes share some.
            false => fs::read_to_string(root.join("smaps_rollup")).unwrap_or_default(),
        };
        let (anon_bytes, file_bytes) = match shares.is_empty() {
            true => (kib(&status, "RssAnon"), kib(&status, "RssFile")),
            false => {
                let shared = kib(&shares, "Pss_File") + kib(&shares, "Pss_Shmem");
                (kib(&shares, "Pss_Anon"), shared)
            }
        };
        Some(Process {
            pid,
            cpu_user_ms: stat.user_ticks * 1000 / TICKS_PER_SECOND,
            cpu_system_ms: stat.system_ticks * 1000 / TICKS_PER_SECOND,
            anon_bytes,
            file_bytes,
            peak_bytes: kib(&status, "VmHWM"),
            threads: named(&status, "Threads").unwrap_or(0),
            traffic: Traffic {
                read_bytes: count("read_bytes"),
                written_bytes: count("write_bytes"),
                read_calls: count("syscr"),
                write_calls: count("syscw"),
            },
        })
    }
}

/// Makes the highest memory of a process count from now.
pub(super) fn reset_peak(pid: u32) {
    // Where this user may not, the peak is that since the process began.
    let _ = fs::write(format!("/proc/{pid}/clear_refs"), RESET_PEAK);
}

/// A process and all below it, each parent before its children. Looks at all processes, because
/// the kernel's lists of children leave some out while others end.
pub(super) fn pids(first: u32) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()) {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if let Some(stat) = Stat::read(&stat) {
            children.entry(stat.parent).or_default().push(pid);
        }
    }
    let mut pids = vec![first];
    let mut at = 0;
    while let Some(pid) = pids.get(at) {
        let below = children.remove(pid).unwrap_or_default();
        pids.extend(below);
        at += 1;
    }
    pids
}

/// What is needed of a `stat` line.
#[derive(Debug, PartialEq)]
struct Stat {
    parent: u32,
    user_ticks: u64,
    system_ticks: u64,
}

impl Stat {
    /// The command name may contain anything but is last closed by a parenthesis.
    fn read(line: &str) -> Option<Stat> {
        let words = line.get(line.rfind(')')? + 1..)?.split_ascii_whitespace();
        let words: Vec<&str> = words.take(15).collect();
        let number = |at: usize| words.get(at)?.parse::<u64>().ok();
        // Own ticks, then those of children that have ended.
        let (user_ticks, system_ticks) = (number(11)? + number(13)?, number(12)? + number(14)?);
        Some(Stat { parent: u32::try_from(number(1)?).ok()?, user_ticks, system_ticks })
    }
}

fn named(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_lines_with_odd_command_names_are_read() {
        let line = "12 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 111 222 3 4 20 0";
        assert_eq!(Stat::read(line), Some(Stat { parent: 1, user_ticks: 114, system_ticks: 226 }));
        assert_eq!(Stat::read("12 (a) S 1"), None);
    }

    #[test]
    fn memory_that_processes_share_is_counted_once() {
        use std::process::{Command, Stdio};
        // Subshells begin with the pages of their parent. What runs in the background has no
        // standard input, so they wait at a copy of it.
        let script = "exec 3<&0; (read a <&3) & (read a <&3) & (read a <&3) & wait";
        let mut child =
            Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).spawn().unwrap();
        let begin = std::time::Instant::now();
        let mut tree = Process::tree(child.id());
        while tree.len() < 4 && begin.elapsed().as_secs() < 30 {
            std::thread::sleep(std::time::Duration::from_millis(5));
            tree = Process::tree(child.id());
        }
        assert_eq!(tree.len(), 4);
        let sum = |tree: &[Process]| tree.iter().map(|p| p.anon_bytes + p.file_bytes).sum::<u64>();
        let each = tree.iter().filter_map(|process| Process::take(process.pid, true));
        let resident = sum(&each.collect::<Vec<_>>());
        assert!(sum(&tree) < resident / 2, "{} of {resident} bytes", sum(&tree));
        drop(child.stdin.take());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
