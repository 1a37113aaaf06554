//! Block devices and file systems.

use crate::{Number, Sample, Sink, count};

/// Counters of a line of `/proc/diskstats` after the device's name
/// (<https://www.kernel.org/doc/Documentation/iostats.txt>).
const DISK_FIELDS: [&str; 11] = [
    "read_requests",
    "read_merged",
    "read_sectors",
    "msec_read",
    "write_requests",
    "write_merged",
    "write_sectors",
    "msec_write",
    "ios_in_progress",
    "msec_total",
    "msec_weighted_total",
];

/// File systems that hold no data of their own: kernel views, and layers over others.
const VIRTUAL: [&str; 12] = [
    "autofs",
    "binfmt_misc",
    "devtmpfs",
    "efivarfs",
    "fusectl",
    "nsfs",
    "proc",
    "ramfs",
    "rpc_pipefs",
    "squashfs",
    "sysfs",
    "tmpfs",
];

/// `/proc/diskstats`. Devices that were never used are left out (a kernel lists dozens of them).
pub(crate) fn diskstats(text: &str, sink: &mut Sink<'_>) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace().skip(2);
        let Some(device) = words.next() else { continue };
        if words.clone().all(|word| word == "0") {
            continue;
        }
        let family = if is_partition(device) { "part" } else { "disk" };
        for (field, value) in DISK_FIELDS.iter().zip(words) {
            let metric = format!("iostat.{family}.{field}");
            count(sink, &metric, &[("dev", device)], Some(value));
        }
    }
}

/// Whether the name is one of a part of a disk: `sda1`, `nvme0n1p2`, `mmcblk0p1`.
fn is_partition(device: &str) -> bool {
    let stem = device.trim_end_matches(|c: char| c.is_ascii_digit());
    if stem.len() == device.len() {
        return false;
    }
    let ends_in_digit = |text: &str| text.ends_with(|c: char| c.is_ascii_digit());
    match ["sd", "hd", "vd", "xvd"].iter().any(|prefix| stem.starts_with(prefix)) {
        true => true,
        false => stem.strip_suffix('p').is_some_and(ends_in_digit),
    }
}

/// `/proc/mounts`: size and use of every mounted file system that stands on a device.
pub(crate) fn filesystems(text: &str, sink: &mut Sink<'_>) {
    for (mount, kind) in mounts(text) {
        let Ok(stat) = rustix::fs::statvfs(mount.as_str()) else { continue };
        let space = Space {
            unit: stat.f_frsize,
            total: stat.f_blocks,
            free: stat.f_bavail,
            used: stat.f_blocks.saturating_sub(stat.f_bfree),
        };
        let inodes = Space {
            unit: 1,
            total: stat.f_files,
            free: stat.f_favail,
            used: stat.f_files.saturating_sub(stat.f_ffree),
        };
        let tags = [("mount", mount.as_str()), ("fstype", kind)];
        space.send("df.bytes", &tags, sink);
        inodes.send("df.inodes", &tags, sink);
    }
}

/// Mount points with their file system types, one per device.
fn mounts(text: &str) -> Vec<(String, &str)> {
    let mut devices = Vec::new();
    let mut mounts = Vec::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(device), Some(mount), Some(kind)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let on_device = device.starts_with('/') || kind == "zfs" || kind == "overlay";
        if !on_device || VIRTUAL.contains(&kind) || devices.contains(&device) {
            continue;
        }
        devices.push(device);
        // The kernel writes blanks in paths as octal escapes (fstab(5)).
        mounts.push((mount.replace("\\040", " "), kind));
    }
    mounts
}

struct Space {
    unit: u64,
    total: u64,
    free: u64,
    used: u64,
}

impl Space {
    fn send(&self, family: &str, tags: &[(&str, &str)], sink: &mut Sink<'_>) {
        if self.total == 0 {
            return;
        }
        let figures = [("total", self.total), ("used", self.used), ("free", self.free)];
        for (name, units) in figures {
            let value = i64::try_from(units.saturating_mul(self.unit)).unwrap_or(i64::MAX);
            let metric = format!("{family}.{name}");
            sink(&Sample { metric: &metric, tags, value: Number::Integer(value) });
        }
        let percent = self.used as f64 * 100.0 / self.total as f64;
        let value = Number::Float((percent * 100.0).round() / 100.0);
        sink(&Sample { metric: &format!("{family}.percentused"), tags, value });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_told_from_disks() {
        for disk in ["sda", "vdb", "nvme0n1", "mmcblk0", "md127", "dm-0", "loop3", "zram0"] {
            assert!(!is_partition(disk), "{disk}");
        }
        for part in ["sda1", "vdb12", "nvme0n1p2", "mmcblk0p1"] {
            assert!(is_partition(part), "{part}");
        }
    }

    #[test]
    fn mounts_are_counted_once_per_device() {
        let text = "proc /proc proc rw 0 0\n\
                    /dev/sda1 / ext4 rw 0 0\n\
                    /dev/sda1 /var/lib/other ext4 rw 0 0\n\
                    tmpfs /run tmpfs rw 0 0\n\
                    /dev/sdb1 /mnt/my\\040disk xfs rw 0 0\n\
                    cut\n";
        let expected = [("/".to_owned(), "ext4"), ("/mnt/my disk".to_owned(), "xfs")];
        assert_eq!(mounts(text), expected);
    }
}
