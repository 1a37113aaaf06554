//! Foliot.

use super::description::{Ack, Adapter, Can, Coding, Door, Post, Style, Way};
use super::told;
use crate::dialect::influxql::INFLUXQL;
use crate::dialect::opentsdb::OPENTSDB;
use crate::dialect::promql::{self, PROMQL};
use crate::dialect::{Language, never};
use crate::encode::{Format, Precision, REMOTE};

pub(super) static ADAPTER: Adapter = Adapter {
    name: "foliot",
    met: "this release",
    ack: Ack::Durable,
    syncs: "before each answer at durable; in the background at os and memory",
    version: |address| told::version(address, "/api/version", "\"version\""),
    prepare: |_, _| Ok(()),
    flush: &[],
    doors: &[
        Door {
            name: "foliot-influx",
            help: "Foliot, line protocol over HTTP",
            style: Style::Rows,
            format: Format::Lines,
            precision: Precision::Ns,
            way: Post::to("/write?db=default"),
            language: Some(&INFLUXQL),
            can: ANSWERED,
            batch_min: 1,
        },
        Door {
            name: "foliot-v2",
            help: "Foliot, line protocol over HTTP at InfluxDB 2's path",
            style: Style::RowsV2,
            format: Format::Lines,
            precision: Precision::Ns,
            way: Post::to("/api/v2/write?org=default&bucket=default&precision=ns"),
            language: Some(&INFLUXQL),
            can: ANSWERED,
            batch_min: 1,
        },
        Door {
            name: "foliot-tcp",
            help: "Foliot, line protocol over a plain TCP stream",
            style: Style::Stream,
            format: Format::Lines,
            precision: Precision::Ns,
            way: Way::Stream,
            language: Some(&INFLUXQL),
            can: STREAMED,
            batch_min: 1,
        },
        Door {
            name: "foliot-put",
            help: "Foliot, telnet put",
            style: Style::Put,
            format: Format::Puts,
            precision: Precision::S,
            way: Way::Stream,
            language: Some(&OPENTSDB),
            can: STREAMED,
            batch_min: 1,
        },
        Door {
            name: "foliot-json",
            help: "Foliot, OpenTSDB JSON over HTTP",
            style: Style::Json,
            format: Format::Json,
            precision: Precision::Ms,
            way: Post::to("/api/put"),
            language: Some(&OPENTSDB),
            can: ANSWERED,
            batch_min: 1,
        },
        Door {
            name: "foliot-remote",
            help: "Foliot, Prometheus remote write (asked at /prometheus)",
            style: Style::Remote,
            format: Format::Own(&REMOTE),
            precision: Precision::Ms,
            way: Way::Post(Post { path: "/api/v1/write", coding: Coding::Snappy, good_reply: "" }),
            language: Some(&PROMQL_BELOW),
            can: &[Can::Acks, Can::Late, Can::Fields, Can::Again, Can::Replace, Can::ShowAtOnce],
            batch_min: 1,
        },
    ],
};

/// Prometheus' paths are OpenTSDB's, too, on the port that takes everything.
static PROMQL_BELOW: Language = Language {
    name: "promql-below",
    help: "PromQL below `/prometheus`, where the port has OpenTSDB's paths, too",
    over: PROMQL.over,
    is_whole: PROMQL.is_whole,
    requests: |fleet, question| {
        let mut requests = promql::requests(fleet, question, "_")?;
        requests.iter_mut().for_each(|request| request.path.insert_str(0, "/prometheus"));
        Some(requests)
    },
    read: promql::read,
    is_nothing: never,
    rounding: 0.0,
};

const ANSWERED: &[Can] =
    &[Can::Acks, Can::Gzip, Can::Late, Can::Fields, Can::Again, Can::Replace, Can::ShowAtOnce];

const STREAMED: &[Can] = &[Can::Late, Can::Fields, Can::Again, Can::Replace, Can::Close];
