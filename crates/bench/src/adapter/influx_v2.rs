//! InfluxDB 2.x (docs.influxdata.com, InfluxDB 2.7, API reference), asked in InfluxQL.

use super::description::{Ack, Adapter, Can, Door, Post, Style};
use super::told;
use crate::dialect::influxql::INFLUXQL;
use crate::encode::{Format, Precision};

pub(super) static ADAPTER: Adapter = Adapter {
    name: "influx-v2",
    met: "2.7.12 (built from its source)",
    ack: Ack::Durable,
    syncs: "before each answer (storage-wal-fsync-delay = 0)",
    version: |address| told::version(address, "/health", "\"version\""),
    prepare: |_, _| Ok(()),
    flush: &[],
    doors: &[Door {
        name: "influx-v2",
        help: "InfluxDB 2.x, line protocol over HTTP; organisation and bucket are called default, \
               and the address carries the token, as :TOKEN@HOST:PORT",
        style: Style::Rows,
        format: Format::Lines,
        precision: Precision::Ns,
        way: Post::to("/api/v2/write?org=default&bucket=default&precision=ns"),
        language: Some(&INFLUXQL),
        can: &[Can::Gzip, Can::Late, Can::Fields, Can::Again, Can::Replace, Can::ShowAtOnce],
        batch_min: 1,
    }],
};
