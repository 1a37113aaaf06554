//! What the machine gives this process.

use std::fs;

/// Memory of the machine, or of the container if that has less, in bytes. Nothing where the system
/// does not say.
pub fn memory_bytes() -> Option<u64> {
    let read = |path| fs::read_to_string(path).ok();
    let machine = read("/proc/meminfo").and_then(|text| meminfo_total(&text));
    // Control groups of version 2, then of version 1, as a container sees its own.
    let paths = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let container = paths.iter().find_map(|path| read(path)?.trim().parse::<u64>().ok());
    [machine, container].into_iter().flatten().min()
}

fn meminfo_total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_ascii_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::meminfo_total;

    #[test]
    fn totals_are_in_kibibytes() {
        assert_eq!(meminfo_total("MemTotal:  2048 kB\nMemFree: 1 kB\n"), Some(2 << 20));
        assert_eq!(meminfo_total("MemFree: 1 kB\n"), None);
    }
}
