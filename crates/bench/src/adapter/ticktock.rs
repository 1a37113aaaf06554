//! TickTockDB (github.com/ytyou/ticktock), with its own reading of OpenTSDB's language: no filters,
//! no interpolation, and where data went in as lines the field in the tag `_field`. A row that
//! comes twice counts twice. Puts that it had answered, and showed, were gone after `kill -9`.

use super::description::{Ack, Adapter, Can, Door, Post, Style, Way};
use super::told;
use crate::dialect::opentsdb::{self, Reading};
use crate::dialect::{Language, Over, never};
use crate::encode::{Format, Precision};

pub(super) static ADAPTER: Adapter = Adapter {
    name: "ticktock",
    met: "1.1.1 (built from its source)",
    ack: Ack::Memory,
    syncs: "every five minutes, all pages in memory at once (append.log.flush.frequency)",
    version: |address| told::version(address, "/api/version", "\"version\""),
    prepare: |_, _| Ok(()),
    flush: &[],
    doors: &[
        Door {
            name: "ticktock",
            help: "TickTockDB, line protocol over HTTP (port 6182)",
            style: Style::Rows,
            format: Format::Lines,
            precision: Precision::Ns,
            way: Post::to("/api/write"),
            language: Some(&LINES),
            can: &[Can::Late, Can::Fields, Can::ShowAtOnce],
            batch_min: 1,
        },
        Door {
            name: "ticktock-tcp",
            help: "TickTockDB, line protocol over a plain TCP stream (port 6180)",
            style: Style::Stream,
            format: Format::Lines,
            precision: Precision::Ns,
            way: Way::Stream,
            language: Some(&LINES),
            can: &[Can::Late, Can::Fields],
            batch_min: 1,
        },
        Door {
            name: "ticktock-put",
            help: "TickTockDB, telnet put (port 6181)",
            style: Style::Put,
            format: Format::Puts,
            precision: Precision::S,
            way: Way::Stream,
            language: Some(&PUTS),
            can: &[Can::Late, Can::Fields],
            batch_min: 1,
        },
    ],
};

static LINES: Language = Language {
    name: "ticktock",
    help: "TickTockDB's reading of OpenTSDB JSON: the field stands in the tag `_field`",
    over: Over::Http,
    is_whole: false,
    requests: |fleet, question| opentsdb::requests(fleet, question, OF_LINES),
    read: |fleet, question, _, reply, answer| {
        opentsdb::read(fleet, question, reply, OF_LINES, answer)
    },
    is_nothing: never,
    rounding: ROUNDING,
};

static PUTS: Language = Language {
    name: "ticktock-puts",
    help: "TickTockDB's reading where data went in as puts",
    over: Over::Http,
    is_whole: false,
    requests: |fleet, question| opentsdb::requests(fleet, question, OF_PUTS),
    read: |fleet, question, _, reply, answer| {
        opentsdb::read(fleet, question, reply, OF_PUTS, answer)
    },
    is_nothing: never,
    rounding: ROUNDING,
};

/// Numbers keep some eight digits, unless `tsdb.compressor.precision` asks for more.
const ROUNDING: f64 = 1e-7;

const OF_LINES: Reading = Reading { filters: false, field_tag: Some("_field") };
const OF_PUTS: Reading = Reading { filters: false, field_tag: None };
