//! The Prometheus door.
//!
//! It turns requests of remote write, 1.0 and 2.0, into batches ([`WriteRequest`]), and the text
//! in which targets expose their metrics ([`decode_text`]); vector selectors of PromQL become plans
//! ([`InstantQuery`]). Bytes go in,
//! values come out: the room knows no socket, no compression, no HTTP library and no store.
//!
//! A series is stored as OpenTSDB's are: its name is the measurement, its other labels are labels,
//! and its samples are floats of the default field. So all doors see it.

mod instant;
mod key;
mod selector;
mod text;
mod wire;
mod write;

pub use instant::{InstantQuery, VectorAnswer, error_json, time_ms};
pub use key::KEY_SYNTAX;
pub use selector::{ParseError, VectorSelector};
pub use text::{decode_text, next_piece};
pub use write::{Counts, Malformed, Version, WriteRequest};
