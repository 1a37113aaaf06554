//! Answers to queries: tables to JSON, CSV or MessagePack, as InfluxDB 1.8 writes them.
//!
//! An [`Encoder`] is told what happens in order: a statement begins, pieces of tables come, the
//! statement ends or fails. JSON and CSV go out as they come; MessagePack needs the number of
//! everything before the things themselves, so an answer in it is held until its end, and
//! [`Encoder::held_bytes`] says what that costs.

mod csv;
mod json;
mod msgpack;
mod rows;
mod text;

use csv::Csv;
use foliot_model::{Table, excerpt};
use jiff::tz::TimeZone;
use json::Json;
use msgpack::Msgpack;
use rows::Rows;
pub use rows::Shape;
pub(crate) use text::JsonText;

/// Rows after which a long table is marked as unfinished, and after which a chunk ends.
const CHUNK_ROWS: usize = 10_000;

/// The format of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// JSON.
    #[default]
    Json,
    /// JSON with line breaks and four blanks for each level.
    PrettyJson,
    /// Comma-separated values.
    Csv,
    /// MessagePack.
    Msgpack,
    /// Rows that stand for themselves, as InfluxDB 3 gives them.
    Rows(Shape),
}

impl Format {
    /// The format that the header `Accept` asks for; unknown ones mean JSON.
    pub fn of_accept(accept: &str, is_pretty: bool) -> Self {
        match accept.split([',', ';']).next().unwrap_or_default().trim() {
            "application/csv" | "text/csv" => Self::Csv,
            "application/x-msgpack" => Self::Msgpack,
            _ if is_pretty => Self::PrettyJson,
            _ => Self::Json,
        }
    }

    /// The value of the header `Content-Type`.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Json | Self::PrettyJson => "application/json",
            Self::Csv => "text/csv",
            Self::Msgpack => "application/x-msgpack",
            Self::Rows(shape) => shape.content_type(),
        }
    }
}

/// The unit of times that are written as numbers, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch(pub(crate) i64);

impl Epoch {
    /// Reads the parameter `epoch`. What is unknown means nanoseconds, as in InfluxDB.
    pub fn parse(text: &str) -> Option<Self> {
        const SECOND: i64 = 1_000_000_000;
        Some(Self(match text {
            "" => return None,
            "u" | "µ" => 1_000,
            "ms" => 1_000_000,
            "s" => SECOND,
            "m" => 60 * SECOND,
            "h" => 3600 * SECOND,
            _ => 1,
        }))
    }
}

/// How an answer is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// The format.
    pub format: Format,
    /// The unit of times as numbers; none: as text.
    pub epoch: Option<Epoch>,
    /// When given, the answer comes in pieces that are answers of their own, each with at most so
    /// many rows of one table.
    pub chunk_rows: Option<usize>,
}

/// The body of the answer to a request that failed as a whole.
pub fn refusal(format: Format, message: &str) -> Vec<u8> {
    let message = &*excerpt(message);
    let mut out = Vec::new();
    match format {
        Format::Json | Format::Rows(_) => {
            out.extend(format!("{{\"error\":{}}}\n", JsonText(message)).bytes());
        }
        Format::PrettyJson => {
            out.extend(format!("{{\n    \"error\": {}\n}}\n", JsonText(message)).bytes());
        }
        Format::Csv => csv::push_refusal(message, &mut out),
        Format::Msgpack => msgpack::push_refusal(message, &mut out),
    }
    out
}

/// Writes an answer.
#[derive(Debug)]
pub struct Encoder(Writer);

#[derive(Debug)]
enum Writer {
    Json(Json),
    Csv(Csv),
    Msgpack(Msgpack),
    Rows(Rows),
}

impl Encoder {
    /// An encoder for one answer.
    pub fn new(style: Style) -> Self {
        Self(match style.format {
            Format::Json | Format::PrettyJson => Writer::Json(Json::new(style)),
            Format::Csv => Writer::Csv(Csv::new(style)),
            Format::Msgpack => Writer::Msgpack(Msgpack::new(style)),
            Format::Rows(shape) => Writer::Rows(Rows::new(shape)),
        })
    }

    /// The statement numbered `id` begins.
    pub fn begin(&mut self, id: usize) {
        match &mut self.0 {
            Writer::Json(json) => json.begin(id),
            Writer::Csv(csv) => csv.begin(id),
            Writer::Msgpack(msgpack) => msgpack.begin(id),
            Writer::Rows(_) => {}
        }
    }

    /// Times of the statement's tables are written in this zone, where they are written as text.
    pub fn set_zone(&mut self, zone: TimeZone) {
        if let Writer::Json(json) = &mut self.0 {
            json.set_zone(zone);
        }
    }

    /// A piece of a table of the statement. Pieces of one table follow one another.
    pub fn table(&mut self, table: &Table, out: &mut Vec<u8>) {
        match &mut self.0 {
            Writer::Json(json) => json.table(table, out),
            Writer::Csv(csv) => csv.table(table, out),
            Writer::Msgpack(msgpack) => msgpack.table(table),
            Writer::Rows(rows) => rows.table(table, out),
        }
    }

    /// The statement ends; `warning` is for the client's user.
    pub fn end(&mut self, warning: Option<&str>, out: &mut Vec<u8>) {
        match &mut self.0 {
            Writer::Json(json) => json.end(warning, None, out),
            Writer::Csv(_) | Writer::Rows(_) => {}
            Writer::Msgpack(msgpack) => msgpack.end(warning, out),
        }
    }

    /// The statement fails. Rows have no place for that: their answer must fail as a whole.
    pub fn fail(&mut self, error: &str, out: &mut Vec<u8>) {
        let error = &*excerpt(error);
        match &mut self.0 {
            Writer::Json(json) => json.end(None, Some(error), out),
            Writer::Csv(csv) => csv.fail(error, out),
            Writer::Msgpack(msgpack) => msgpack.fail(error, out),
            Writer::Rows(_) => {}
        }
    }

    /// The answer ends.
    pub fn finish(self, out: &mut Vec<u8>) {
        match self.0 {
            Writer::Json(json) => json.finish(out),
            Writer::Csv(_) => {}
            Writer::Msgpack(msgpack) => msgpack.finish(out),
            Writer::Rows(rows) => rows.finish(out),
        }
    }

    /// Bytes that are held until the answer's end.
    pub fn held_bytes(&self) -> usize {
        match &self.0 {
            Writer::Msgpack(msgpack) => msgpack.held_bytes(),
            Writer::Rows(rows) => rows.held_bytes(),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests;
