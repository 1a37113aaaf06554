//! The disk under a data directory, from /proc/diskstats (kernel.org, "I/O statistics fields"):
//! what the kernel asked of it, whoever asked, and how long it was busy. Off Linux, and for
//! directories without a disk of their own (memory, network), there is nothing to read.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// Bytes of a sector in /proc/diskstats, whatever the disk's own are.
const SECTOR_BYTES: u64 = 512;

/// The counters of a disk at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct DiskReading {
    /// Operations that were completed.
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) read_bytes: u64,
    pub(crate) written_bytes: u64,
    /// Time during which at least one operation was under way.
    pub(crate) busy_ms: u64,
    /// Times that the disk was told to keep what it had taken (flush requests), which is what a
    /// sync comes to; 0 on kernels before 5.5.
    pub(crate) syncs: u64,
}

impl DiskReading {
    /// The counters of the disk under `directory` now.
    pub(crate) fn take(directory: &Path) -> Option<DiskReading> {
        let device = device(directory)?;
        let stats = fs::read_to_string("/proc/diskstats").ok()?;
        stats.lines().find_map(|line| line_of(line, device))
    }
}

/// (major, minor) of the whole disk that holds `directory`.
#[cfg(target_os = "linux")]
pub(crate) fn device(directory: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let number = fs::metadata(directory).ok()?.dev();
    // The split of gnu_dev_major(3).
    let major = (number >> 8 & 0xfff) | (number >> 32 & !0xfff);
    let minor = (number & 0xff) | (number >> 12 & !0xff);
    let node = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    if !node.join("partition").exists() {
        return node.exists().then_some((major, minor));
    }
    // A partition's node lies inside that of its disk.
    let disk = fs::canonicalize(node).ok()?.parent()?.join("dev");
    let (major, minor) = fs::read_to_string(disk)
        .ok()?
        .trim()
        .split_once(':')
        .map(|(a, b)| (a.parse(), b.parse()))?;
    Some((major.ok()?, minor.ok()?))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn device(_: &Path) -> Option<(u64, u64)> {
    None
}

/// Reads a line of /proc/diskstats when it is about `device`.
fn line_of(line: &str, device: (u64, u64)) -> Option<DiskReading> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let number = |at: usize| words.get(at)?.parse::<u64>().ok();
    if (number(0)?, number(1)?) != device {
        return None;
    }
    Some(DiskReading {
        reads: number(3)?,
        writes: number(7)?,
        read_bytes: number(5)? * SECTOR_BYTES,
        written_bytes: number(9)? * SECTOR_BYTES,
        busy_ms: number(12)?,
        syncs: number(18).unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_by_device() {
        let line = " 254       0 vda 838399 64948 38956530 11 169174 170469 598609 312 0 71308 14";
        let reading = line_of(line, (254, 0)).unwrap();
        assert_eq!((reading.reads, reading.writes, reading.busy_ms), (838_399, 169_174, 71_308));
        assert_eq!(reading.read_bytes, 38_956_530 * 512);
        assert_eq!(reading.written_bytes, 598_609 * 512);
        assert_eq!(reading.syncs, 0);
        let newer = format!("{line} 8577 31 2004376 1728 598 23");
        assert_eq!(line_of(&newer, (254, 0)).unwrap().syncs, 598);
        assert_eq!(line_of(line, (254, 1)), None);
        assert_eq!(line_of(" 254 0 vda 1", (254, 0)), None);
    }

    /// Memory and container layers have no disk; where there is one, a synced file reaches it.
    #[test]
    fn what_is_written_through_reaches_the_disk() {
        let directory = std::env::current_exe().unwrap().parent().unwrap().to_owned();
        let Some(before) = DiskReading::take(&directory) else { return };
        let path = directory.join(format!("disk-{}", std::process::id()));
        let file = fs::File::create(&path).unwrap();
        std::io::Write::write_all(&mut &file, &vec![7; 4 << 20]).unwrap();
        file.sync_all().unwrap();
        let after = DiskReading::take(&directory).unwrap();
        fs::remove_file(path).unwrap();
        assert!(after.written_bytes - before.written_bytes >= 4 << 20, "{before:?} {after:?}");
        assert!(after.writes > before.writes);
    }
}
