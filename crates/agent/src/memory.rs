//! Memory: what is used, what is paged.

use crate::{Number, Sample, Sink, count};

/// `/proc/meminfo`, in bytes.
pub(crate) fn meminfo(text: &str, sink: &mut Sink<'_>) {
    for line in text.lines() {
        let Some((name, rest)) = line.split_once(':') else { continue };
        let mut words = rest.split_ascii_whitespace();
        let Some(value) = words.next().and_then(|word| word.parse::<i64>().ok()) else { continue };
        let unit = if words.next() == Some("kB") { 1024 } else { 1 };
        let name = name.to_ascii_lowercase().replace('(', "_").replace(')', "");
        let value = Number::Integer(value.saturating_mul(unit));
        sink(&Sample { metric: &format!("proc.meminfo.{name}"), tags: &[], value });
    }
}

/// `/proc/vmstat`: the counters of paging and swapping.
pub(crate) fn vmstat(text: &str, sink: &mut Sink<'_>) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(name) = words.next() else { continue };
        let wanted = ["pgpgin", "pgpgout", "pswpin", "pswpout", "pgfault", "pgmajfault"];
        if wanted.contains(&name) {
            count(sink, &format!("proc.vmstat.{name}"), &[], words.next());
        }
    }
}
