//! What the operating system says about this process, under the names that Prometheus's client
//! libraries use.

use super::{Figure, Kind, Visit};
use std::fs;

/// The field of `stat` that tells how many threads there are.
const THREADS: usize = 20;

/// Threads of this process, if the system tells.
pub(crate) fn threads() -> Option<u64> {
    field(&stat(), THREADS).map(|count| count as u64)
}

fn stat() -> String {
    fs::read_to_string("/proc/self/stat").unwrap_or_default()
}

/// A field, counted from 1. The second one is the command, which may hold blanks.
fn field(stat: &str, number: usize) -> Option<f64> {
    let (_, behind) = stat.rsplit_once(')')?;
    behind.split_ascii_whitespace().nth(number.checked_sub(3)?)?.parse().ok()
}

pub(super) fn visit(visit: &mut Visit<'_>) {
    let mut show = |name, kind, help, value: Option<f64>| {
        if let Some(value) = value {
            visit(&Figure { name, kind, help, labels: &[], value });
        }
    };
    let stat = stat();
    let field = |number: usize| field(&stat, number);
    let ticks_per_second = rustix::param::clock_ticks_per_second() as f64;
    let cpu = field(14).zip(field(15)).map(|(user, system)| (user + system) / ticks_per_second);
    show("process_cpu_seconds_total", Kind::Counter, "Processor time used", cpu);
    let resident = field(24).map(|pages| pages * rustix::param::page_size() as f64);
    show("process_resident_memory_bytes", Kind::Gauge, "Memory in use", resident);
    show("process_virtual_memory_bytes", Kind::Gauge, "Memory mapped", field(23));
    show("process_threads", Kind::Gauge, "Threads", field(THREADS));
    let files = fs::read_dir("/proc/self/fd").ok().map(|entries| entries.count() as f64);
    show("process_open_fds", Kind::Gauge, "Descriptors open", files);
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    show("process_max_fds", Kind::Gauge, "Descriptors allowed", limit.map(|limit| limit as f64));
    let booted = fs::read_to_string("/proc/stat").ok().and_then(|text| {
        text.lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse::<f64>().ok())
    });
    let started = booted.zip(field(22)).map(|(booted, ticks)| booted + ticks / ticks_per_second);
    show("process_start_time_seconds", Kind::Gauge, "When it was started", started);
}
