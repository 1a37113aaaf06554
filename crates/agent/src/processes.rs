//! Processes, summed up by the name of their command.

use crate::{Number, Sample, Sink};
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// Groups reported: the ones with most memory. A machine runs hundreds of commands in a day; the
/// small ones would only fill the store with names.
const GROUPS_MAX: usize = 24;

/// Processes looked at in one round, so that a machine with very many stays cheap to watch.
const PROCESSES_MAX: usize = 4096;

/// What one process, or a group of them, uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Usage {
    count: i64,
    threads: i64,
    /// User and system time in ticks of 1/100 s.
    cpu_ticks: i64,
    rss_pages: i64,
}

/// Reads all processes under `proc` and reports them by command.
pub(crate) fn collect(proc: &Path, sink: &mut Sink<'_>) {
    let Ok(entries) = fs::read_dir(proc) else { return };
    let mut groups: HashMap<String, Usage> = HashMap::new();
    let is_process = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    for name in names.filter(|name| is_process(name)).take(PROCESSES_MAX) {
        // A process may end between the two calls; it is then simply not there.
        let Ok(text) = fs::read_to_string(proc.join(name).join("stat")) else { continue };
        let Some((command, usage)) = stat(&text) else { continue };
        let group = groups.entry(command).or_default();
        group.count += usage.count;
        group.threads += usage.threads;
        group.cpu_ticks += usage.cpu_ticks;
        group.rss_pages += usage.rss_pages;
    }
    let mut groups: Vec<_> = groups.into_iter().filter(|(_, usage)| usage.rss_pages > 0).collect();
    groups.sort_by(|(a, left), (b, right)| (right.rss_pages, a).cmp(&(left.rss_pages, b)));
    groups.truncate(GROUPS_MAX);
    let page_bytes = rustix::param::page_size() as i64;
    for (command, usage) in groups {
        let figures = [
            ("proc.group.count", usage.count),
            ("proc.group.threads", usage.threads),
            ("proc.group.cpu", usage.cpu_ticks),
            ("proc.group.rss_bytes", usage.rss_pages.saturating_mul(page_bytes)),
        ];
        for (metric, value) in figures {
            let value = Number::Integer(value);
            sink(&Sample { metric, tags: &[("command", &command)], value });
        }
    }
}

/// Command and usage from `/proc/<pid>/stat` (proc_pid_stat(5)). The command stands in brackets and
/// may itself hold blanks and brackets, so the last closing one ends it.
fn stat(text: &str) -> Option<(String, Usage)> {
    let (head, rest) = text.rsplit_once(')')?;
    let (_, command) = head.split_once('(')?;
    // Kernel workers carry their queue in the name; only the kind is of use.
    let command = command.split(['/', ':']).next().unwrap_or(command).to_owned();
    let words: Vec<&str> = rest.split_ascii_whitespace().collect();
    // The first word after the bracket is field 3 of the manual page.
    let field = |number: usize| words.get(number - 3)?.parse::<i64>().ok();
    let cpu_ticks = field(14)?.saturating_add(field(15)?);
    Some((command, Usage { count: 1, threads: field(20)?, cpu_ticks, rss_pages: field(24)? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_may_hold_blanks_and_brackets() {
        let line = "77 (a (b) c) S 1 77 77 0 -1 4194304 900 0 3 0 120 30 0 0 20 0 4 0 500 \
                    104857600 2560 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0";
        let (command, usage) = stat(line).unwrap();
        assert_eq!(command, "a (b) c");
        let expected = Usage { count: 1, threads: 4, cpu_ticks: 150, rss_pages: 2560 };
        assert_eq!(usage, expected);
        assert_eq!(stat("77 (cut) S 1"), None);
        assert_eq!(stat(""), None);
    }
}
