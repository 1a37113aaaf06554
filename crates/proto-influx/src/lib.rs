//! The InfluxDB door.
//!
//! It turns line protocol into batches ([`Decoder`]), reads the parameters of the write requests of
//! InfluxDB 1, 2 and 3 ([`WriteRequest`]), words their answers ([`answer`]), cuts a TCP stream into
//! lines ([`Session`]), and parses InfluxQL ([`influxql`]). Bytes go in, values come out: the room
//! knows no socket, no HTTP library and no store, and holds no state but a connection's unfinished
//! line.
//!
//! Lines are accepted and refused as InfluxDB 1.8 does, with these differences:
//!
//! - A carriage return before a line's end belongs to the end.
//! - A comment ends with its line; InfluxDB lets a quote in it swallow the lines behind.
//! - Text between a string's closing quote and the next comma is refused, not joined to the string.
//! - Unsigned integers (`7u`) are always accepted.
//! - A line with several faults may be blamed for another one of them.
//! - Strings must be UTF-8 and hold at most [`STRING_BYTES_MAX`] bytes.

pub mod answer;
mod decode;
pub mod encode;
mod fault;
pub mod influxql;
mod key;
mod line;
mod parts;
mod precision;
mod predicate;
mod query;
mod session;
mod write;

pub use decode::{Decoded, Decoder, KEY_BYTES_MAX, STRING_BYTES_MAX, Settings, is_whole_line};
pub use fault::Fault;
pub use key::{EXACT_LINE_SYNTAX, LETTERS, LINE_SYNTAX, TICKTOCK_LINE_SYNTAX};
pub use line::{LineWriter, push_field_name, push_measurement, push_tag, push_value};
pub use parts::form_of_parts;
pub use precision::{Precision, TIME_NS_MAX, TIME_NS_MIN};
pub use predicate::parse_predicate;
pub use query::{QueryError, QueryRequest};
pub use session::Session;
pub use write::{WriteApi, WriteError, WriteRequest};
