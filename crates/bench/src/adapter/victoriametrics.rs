//! VictoriaMetrics, single node (docs.victoriametrics.com). Of two values at one time it keeps
//! either.

use super::description::{Ack, Adapter, Can, Coding, Door, Post, Style, Way};
use super::told;
use crate::dialect::promql::{self, PROMQL};
use crate::dialect::{Language, Over, never};
use crate::encode::{Format, Precision, REMOTE};

pub(super) static ADAPTER: Adapter = Adapter {
    name: "victoriametrics",
    met: "1.79.5 (Debian)",
    ack: Ack::Memory,
    syncs: "every five seconds in the background (-inmemoryDataFlushInterval)",
    version: |address| told::version(address, "/metrics", "short_version="),
    prepare: |_, _| Ok(()),
    flush: &[("GET", "/internal/force_flush")],
    doors: &[
        Door {
            name: "victoriametrics",
            help: "VictoriaMetrics, line protocol over HTTP",
            style: Style::Rows,
            format: Format::Lines,
            precision: Precision::Ns,
            way: Post::to("/write"),
            language: Some(&PROMQL),
            can: &[Can::Gzip, Can::Late, Can::Fields, Can::Again],
            batch_min: 1,
        },
        Door {
            name: "victoriametrics-text",
            help: "VictoriaMetrics, Prometheus text over HTTP",
            style: Style::Text,
            format: Format::Prometheus,
            precision: Precision::Ms,
            way: Post::to("/api/v1/import/prometheus"),
            language: Some(&PROMQL),
            can: &[Can::Gzip, Can::Late, Can::Fields, Can::Again],
            batch_min: 1,
        },
        Door {
            name: "victoriametrics-remote",
            help: "VictoriaMetrics, Prometheus remote write",
            style: Style::Remote,
            format: Format::Own(&REMOTE),
            precision: Precision::Ms,
            way: Way::Post(Post { path: "/api/v1/write", coding: Coding::Snappy, good_reply: "" }),
            language: Some(&PROMQL),
            can: &[Can::Late, Can::Fields, Can::Again],
            batch_min: 1,
        },
        Door {
            name: "victoriametrics-put",
            help: "VictoriaMetrics, telnet put (needs -opentsdbListenAddr)",
            style: Style::Put,
            format: Format::Puts,
            precision: Precision::S,
            way: Way::Stream,
            language: Some(&PROMQL_DOTTED),
            can: &[Can::Late, Can::Fields, Can::Again, Can::Close],
            batch_min: 1,
        },
    ],
};

/// What came in as puts keeps OpenTSDB's dot in its name.
static PROMQL_DOTTED: Language = Language {
    name: "promql-dotted",
    help: "PromQL over names that still carry OpenTSDB's dot",
    over: Over::Http,
    is_whole: true,
    requests: |fleet, question| promql::requests(fleet, question, "."),
    read: promql::read,
    is_nothing: never,
    rounding: 0.0,
};
