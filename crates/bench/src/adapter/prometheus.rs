//! Prometheus (prometheus.io, "Remote-Write 1.0 specification", "HTTP API"). Of two values at one
//! time it keeps the first.

use super::description::{Ack, Adapter, Can, Coding, Door, Post, Style, Way};
use super::told;
use crate::dialect::promql::PROMQL;
use crate::encode::{Format, Precision, REMOTE};

pub(super) static ADAPTER: Adapter = Adapter {
    name: "prometheus",
    met: "2.42.0 (Debian)",
    ack: Ack::Os,
    syncs: "when a segment of its log is full, at 128 MiB",
    version: |address| told::version(address, "/api/v1/status/buildinfo", "\"version\""),
    prepare: |_, _| Ok(()),
    flush: &[],
    doors: &[Door {
        name: "prometheus",
        help: "Prometheus, remote write (needs --web.enable-remote-write-receiver)",
        style: Style::Rows,
        format: Format::Own(&REMOTE),
        precision: Precision::Ms,
        way: Way::Post(Post { path: "/api/v1/write", coding: Coding::Snappy, good_reply: "" }),
        language: Some(&PROMQL),
        can: &[Can::Fields, Can::Again, Can::ShowAtOnce],
        batch_min: 1,
    }],
};
