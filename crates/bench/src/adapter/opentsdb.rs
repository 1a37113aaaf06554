//! OpenTSDB 2 (opentsdb.net, HTTP API 2.4 and telnet style API).

use super::description::{Ack, Adapter, Can, Door, Post, Style, Way};
use super::told;
use crate::dialect::opentsdb::OPENTSDB;
use crate::encode::{Format, Precision};

pub(super) static ADAPTER: Adapter = Adapter {
    name: "opentsdb",
    met: "2.4.1 over HBase 1.4.14 (Maven Central)",
    ack: Ack::Unknown,
    syncs: "HBase's affair; /api/put answers before HBase has the rows, unless asked with `sync`",
    version: |address| told::version(address, "/api/version", "\"version\""),
    prepare: |_, _| Ok(()),
    flush: &[],
    doors: &[
        Door {
            name: "opentsdb",
            help: "OpenTSDB, JSON over HTTP",
            style: Style::Json,
            format: Format::Json,
            precision: Precision::Ms,
            way: Post::to("/api/put"),
            language: Some(&OPENTSDB),
            can: &[Can::Gzip, Can::Late, Can::Fields, Can::Again, Can::Replace],
            batch_min: 1,
        },
        Door {
            name: "opentsdb-put",
            help: "OpenTSDB, telnet put",
            style: Style::Put,
            format: Format::Puts,
            precision: Precision::S,
            way: Way::Stream,
            language: Some(&OPENTSDB),
            can: &[Can::Late, Can::Fields, Can::Again, Can::Replace, Can::Close],
            batch_min: 1,
        },
    ],
};
