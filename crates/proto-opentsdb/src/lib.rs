//! The OpenTSDB door: bytes to batches, text to plans, frames to bytes.
//!
//! Sans-IO: requests and reads come in as bytes, rows leave in a [`foliot_model::Batch`], questions
//! leave as [`foliot_plan::Series`], answers come back as [`foliot_model::Frame`]s and leave as
//! bytes. The room opens no socket, knows no store and asks no clock.
//!
//! It is not a copy of OpenTSDB's flaws: what differs on purpose is said where it differs.
//!
//! - writes: [`Session`] (telnet), [`decode_datagram`] (UDP), [`decode_json`] and [`put_answer`]
//!   (`/api/put`)
//! - reads: [`route`], then [`Request::parse`] for plans, and [`Encoder`] for the frames
//! - formulas: [`Formula`] for plans, and [`FormulaAnswer`] for the frames
//! - names: [`Suggest`] and the small answers beside it
//! - facts: [`answer`], which looks at the store through a [`View`] and wants [`Change`]s made:
//!   lookups, latest samples, numbers of names, metadata, annotations, trees

mod annotation;
mod budget;
mod catalog;
mod decode;
mod encode;
mod facts;
mod formula;
mod histogram;
mod http;
mod json;
mod key;
mod lang;
mod last;
mod number;
mod once;
mod picture;
mod put;
mod rollup;
mod search;
mod session;
pub mod ticktock;
mod tree;
mod uid;
mod version;
mod view;

pub use annotation::notes_over;
pub use budget::Budget;
pub use catalog::{
    Suggest, aggregators_json, config_json, dropcaches_json, filters_json, serializers_json,
    stat_json, status_json, string_list_json,
};
pub use decode::{
    Options, RollupPoint, WORDED_MAX, decode_datagram, decode_histograms, decode_json,
    decode_lines, decode_rollups,
};
pub use encode::{Encoder, LineEncoder, TsuidOf, value_text, write_double};
pub use facts::answer;
pub use formula::{Formula, FormulaAnswer};
pub use http::{
    Endpoint, HttpError, HttpRequest, Params, method, percent_bytes, percent_decode, route,
};
pub use key::KEY_SYNTAX;
pub use lang::{
    Output, Request, RequiredName, Tables, Tsuid, TsuidWhere, check_time, check_words, conditions,
    deletes_refused, matchers, metric_names, text_of, texts,
};
pub use once::parse_once;
pub use picture::{Collected, Form, Graph};
pub use put::{PutAnswer, PutFlags, datapoint, put_answer, put_timeout};
pub use rollup::Rollups;
pub use session::{Command, Session, Step, stat_line, telnet_reply};
pub use uid::{Rename, renamed_fact};
pub use version::BuildInfo;
pub use view::{Answer, Change, LastSample, Stored, UidKind, View, any_series};
