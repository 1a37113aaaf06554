//! Processor time, load, uptime and other counters of the kernel.

use crate::{Sink, count, decimal};

/// Columns of a `cpu` line of `/proc/stat` (proc_stat(5)), in ticks of 1/100 s.
const CPU_TYPES: [&str; 10] =
    ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice"];

/// `/proc/stat`.
pub(crate) fn stat(text: &str, sink: &mut Sink<'_>) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(name) = words.next() else { continue };
        match name {
            "cpu" => {
                for (kind, value) in CPU_TYPES.iter().zip(words) {
                    count(sink, "proc.stat.cpu", &[("type", kind)], Some(value));
                }
            }
            "intr" | "ctxt" | "processes" | "procs_blocked" | "procs_running" => {
                count(sink, &format!("proc.stat.{name}"), &[], words.next());
            }
            _ => {
                let Some(cpu) = name.strip_prefix("cpu") else { continue };
                for (kind, value) in CPU_TYPES.iter().zip(words) {
                    let tags = [("cpu", cpu), ("type", kind)];
                    count(sink, "proc.stat.cpu.percpu", &tags, Some(value));
                }
            }
        }
    }
}

/// `/proc/loadavg`.
pub(crate) fn loadavg(text: &str, sink: &mut Sink<'_>) {
    let mut words = text.split_ascii_whitespace();
    decimal(sink, "proc.loadavg.1min", &[], words.next());
    decimal(sink, "proc.loadavg.5min", &[], words.next());
    decimal(sink, "proc.loadavg.15min", &[], words.next());
    if let Some((runnable, total)) = words.next().and_then(|word| word.split_once('/')) {
        count(sink, "proc.loadavg.runnable", &[], Some(runnable));
        count(sink, "proc.loadavg.total_threads", &[], Some(total));
    }
}

/// `/proc/uptime`, in seconds.
pub(crate) fn uptime(text: &str, sink: &mut Sink<'_>) {
    let mut words = text.split_ascii_whitespace();
    decimal(sink, "proc.uptime.total", &[], words.next());
    decimal(sink, "proc.uptime.idle", &[], words.next());
}

/// `/proc/sys/kernel/random/entropy_avail`, in bits.
pub(crate) fn entropy(text: &str, sink: &mut Sink<'_>) {
    count(sink, "proc.kernel.entropy_avail", &[], Some(text.trim()));
}

/// `/proc/sys/fs/file-nr`: open files and their limit.
pub(crate) fn open_files(text: &str, sink: &mut Sink<'_>) {
    let mut words = text.split_ascii_whitespace();
    count(sink, "proc.files.open", &[], words.next());
    count(sink, "proc.files.max", &[], words.nth(1));
}
