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
//! - names: [`Suggest`] and the small answers beside it

mod catalog;
mod decode;
mod encode;
mod http;
mod key;
mod lang;
mod number;
mod put;
mod session;
mod version;

pub use catalog::{
    Suggest, aggregators_json, dropcaches_json, filters_json, serializers_json, status_json,
    string_list_json,
};
pub use decode::{Options, decode_datagram, decode_json, decode_lines};
pub use encode::{Encoder, LineEncoder, TsuidOf, write_double};
pub use http::{Endpoint, HttpError, HttpRequest, Params, method, route};
pub use key::KEY_SYNTAX;
pub use lang::{Output, Request, RequiredName, Tsuid, metric_names};
pub use put::{PutAnswer, PutFlags, put_answer, put_timeout};
pub use session::{Command, Session, Step, stat_line, telnet_reply};
pub use version::BuildInfo;
