//! What the machine gives this process.

use std::fs;
use std::path::Path;

/// What a program of 32 bits counts on: its addresses reach 4 GiB, of which some kernels keep half.
const NARROW_BYTES: u64 = 2 << 30;

/// Memory of the machine, or of the control group that this process runs in if that has less, in
/// bytes; no more than a program of its width can use. Nothing where the system does not say.
pub fn memory_bytes() -> Option<u64> {
    let read = |path: &str| fs::read_to_string(path).ok();
    let machine = read("/proc/meminfo").and_then(|text| meminfo_total(&text));
    let groups = read("/proc/self/cgroup").unwrap_or_default();
    let usable = cfg!(target_pointer_width = "32").then_some(NARROW_BYTES);
    [machine, group_limit(&groups, read), usable].into_iter().flatten().min()
}

/// The smallest limit of the groups that `/proc/self/cgroup` names, and of those around them.
/// Within a container their paths may be those outside, and only the root is there.
fn group_limit(groups: &str, read: impl Fn(&str) -> Option<String>) -> Option<u64> {
    let limits = groups.lines().flat_map(|line| {
        let mut words = line.splitn(3, ':').skip(1);
        let (controllers, path) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let (root, file) = match controllers.split(',').any(|name| name == "memory") {
            true => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            // Of version 2, which has one tree for all controllers.
            false => ("/sys/fs/cgroup", "memory.max"),
        };
        let is_memory = root.ends_with("memory") || controllers.is_empty();
        let all = Path::new(path.trim_start_matches('/')).ancestors().filter(move |_| is_memory);
        all.map(move |group| Path::new(root).join(group).join(file))
    });
    limits.filter_map(|path| read(path.to_str()?)?.trim().parse().ok()).min()
}

/// Memory that this process has at present, in bytes. Nothing where the system does not say.
pub(crate) fn resident_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let pages = text.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()?;
    pages.checked_mul(rustix::param::page_size() as u64)
}

fn meminfo_total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_ascii_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::{group_limit, meminfo_total, memory_bytes};

    #[test]
    fn no_more_is_counted_on_than_addresses_reach() {
        assert!(memory_bytes().unwrap() < usize::MAX as u64);
    }

    #[test]
    fn totals_are_in_kibibytes() {
        assert_eq!(meminfo_total("MemTotal:  2048 kB\nMemFree: 1 kB\n"), Some(2 << 20));
        assert_eq!(meminfo_total("MemFree: 1 kB\n"), None);
    }

    #[test]
    fn a_group_has_what_it_and_those_around_it_leave() {
        let files = [
            ("/sys/fs/cgroup/memory.max", "max\n"),
            ("/sys/fs/cgroup/system.slice/memory.max", "800\n"),
            ("/sys/fs/cgroup/system.slice/foliot.service/memory.max", "1000\n"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "500\n"),
        ];
        let read = |path: &str| {
            files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned())
        };
        let limit = |groups: &str| group_limit(groups, read);
        assert_eq!(limit("0::/system.slice/foliot.service\n"), Some(800));
        assert_eq!(limit("0::/elsewhere\n"), None);
        assert_eq!(limit("9:name=systemd:/\n4:cpu,memory:/box\n0::/\n"), Some(500));
        assert_eq!(limit("4:memory:/of/a/host\n"), Some(9_223_372_036_854_771_712));
        assert_eq!(limit("5:cpu:/system.slice\n"), None);
    }
}
