//! Network interfaces and sockets.

use crate::{Sink, count};

/// Columns of `/proc/net/dev`: received ones, then sent ones (proc_pid_net(5)).
const COLUMNS: [(&str, &str); 16] = [
    ("proc.net.bytes", "in"),
    ("proc.net.packets", "in"),
    ("proc.net.errs", "in"),
    ("proc.net.dropped", "in"),
    ("proc.net.fifo.errs", "in"),
    ("proc.net.frame.errs", "in"),
    ("proc.net.compressed", "in"),
    ("proc.net.multicast", "in"),
    ("proc.net.bytes", "out"),
    ("proc.net.packets", "out"),
    ("proc.net.errs", "out"),
    ("proc.net.dropped", "out"),
    ("proc.net.fifo.errs", "out"),
    ("proc.net.collisions", "out"),
    ("proc.net.carrier.errs", "out"),
    ("proc.net.compressed", "out"),
];

/// `/proc/net/dev`. Interfaces that never carried a byte are left out.
pub(crate) fn interfaces(text: &str, sink: &mut Sink<'_>) {
    for line in text.lines() {
        // Long counters may touch the colon, so words cannot be counted before it is found.
        let Some((interface, counters)) = line.rsplit_once(':') else { continue };
        let interface = interface.trim();
        let counters = counters.split_ascii_whitespace();
        if counters.clone().all(|word| word == "0") {
            continue;
        }
        for ((metric, direction), value) in COLUMNS.iter().zip(counters) {
            let tags = [("iface", interface), ("direction", direction)];
            count(sink, metric, &tags, Some(value));
        }
    }
}

/// `/proc/net/sockstat`.
pub(crate) fn sockets(text: &str, sink: &mut Sink<'_>) {
    for line in text.lines() {
        let Some((kind, rest)) = line.split_once(':') else { continue };
        let kind = kind.to_ascii_lowercase();
        let mut words = rest.split_ascii_whitespace();
        while let (Some(name), Some(value)) = (words.next(), words.next()) {
            match name {
                "used" => count(sink, "net.sockstat.num_sockets", &[], Some(value)),
                "tw" => count(sink, "net.sockstat.num_timewait", &[], Some(value)),
                "orphan" => count(sink, "net.sockstat.num_orphans", &[], Some(value)),
                "inuse" => {
                    count(sink, "net.sockstat.sockets_inuse", &[("type", &kind)], Some(value));
                }
                _ => {}
            }
        }
    }
}
