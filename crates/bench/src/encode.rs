//! Rows to wire text, in place and without allocation once the buffers have grown. It knows the
//! grammars of the write formats and nothing of sockets.

use clap::ValueEnum;
use serde::Serialize;

use crate::cursor::{Row, is_present};
use crate::fleet::Fleet;
use crate::law::Kind;
use crate::profile::{Label, LabelValue, Table};

mod body;
mod number;
mod remote;
mod tables;

pub(crate) use body::{Body, Own};
pub(crate) use number::{push_integer, push_value};
pub(crate) use remote::REMOTE;
pub(crate) use tables::{Cells, Tables};

/// A format that servers take.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Format {
    /// InfluxDB line protocol: one line a row
    Lines,
    /// OpenTSDB telnet `put`: one line a value
    Puts,
    /// The array that OpenTSDB's `/api/put` takes: one object a value
    Json,
    /// Prometheus exposition text with times: one line a value
    Prometheus,
    /// What one server or one family of servers takes
    Own(&'static Own),
}

impl Format {
    /// Whether a line is a row of several values rather than a value.
    pub(crate) fn is_by_row(self) -> bool {
        match self {
            Format::Lines => true,
            Format::Own(own) => own.is_by_row,
            Format::Puts | Format::Json | Format::Prometheus => false,
        }
    }

    /// Whether a body is one JSON text.
    pub(crate) fn is_json(self) -> bool {
        match self {
            Format::Json => true,
            Format::Own(own) => own.is_json,
            Format::Lines | Format::Puts | Format::Prometheus => false,
        }
    }
}

/// Unit of the times on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
pub(crate) enum Precision {
    /// Seconds
    S,
    /// Milliseconds
    Ms,
    /// Microseconds
    Us,
    /// Nanoseconds
    Ns,
}

impl Precision {
    fn of_ms(self, time_ms: i64) -> i64 {
        match self {
            Precision::S => time_ms / 1000,
            Precision::Ms => time_ms,
            Precision::Us => time_ms * 1000,
            Precision::Ns => time_ms * 1_000_000,
        }
    }
}

/// Label texts of so many rows of a step are kept, a quarter of a kilobyte each; a larger fleet
/// renders its labels anew with each row.
const KEPT_LABEL_TEXTS_MAX: u64 = 20_000;

/// Renders rows of one fleet in one format.
pub(crate) struct Encoder<'a> {
    fleet: &'a Fleet,
    format: Format,
    precision: Precision,
    /// What stands before the value of each field, by table.
    heads: Vec<Vec<Head>>,
    labels: Labels,
    time: Time,
    own: Option<Box<dyn Body>>,
}

/// What stands before the value of a field.
struct Head {
    text: Piece,
    kind: Kind,
}

/// A text that is copied whole when it is short: a copy of fixed size costs two moves.
struct Piece {
    text: Vec<u8>,
    short: [u8; PIECE_BYTES],
}

const PIECE_BYTES: usize = 32;

/// The label part of rows, kept where the fleet is small enough.
struct Labels {
    kept: Vec<Option<Box<[u8]>>>,
    labels: Vec<Label>,
    text: Vec<u8>,
}

/// The digits of the time last rendered; rows of a step share it.
struct Time {
    time: i64,
    text: [u8; 20],
    begin: usize,
}

impl<'a> Encoder<'a> {
    pub(crate) fn new(fleet: &'a Fleet, format: Format, precision: Precision) -> Encoder<'a> {
        let head = |table: &Table, name: &str| match format {
            Format::Lines => format!(",{name}="),
            Format::Puts | Format::Json if table.groups > 0 => format!(".{name}"),
            Format::Puts => format!("put {}.{name} ", table.name),
            Format::Json => format!("{{\"metric\":\"{}.{name}", table.name),
            Format::Prometheus if table.groups > 0 => format!("_{name}{{"),
            Format::Prometheus => format!("{}_{name}{{", table.name),
            Format::Own(_) => String::new(),
        };
        let heads = fleet.tables.iter().map(|table| {
            let fields = table.fields.iter();
            let head = |name: &str| Piece::new(head(table, name));
            fields.map(|field| Head { text: head(&field.name), kind: field.kind }).collect()
        });
        let heads = heads.collect();
        let labels = Labels::new(fleet);
        let own = match format {
            Format::Own(own) => Some((own.body)()),
            _ => None,
        };
        Encoder { fleet, format, precision, heads, labels, time: Time::new(), own }
    }

    /// What a body must begin with.
    pub(crate) fn open(&self, out: &mut Vec<u8>) {
        if matches!(self.format, Format::Json) {
            out.push(b'[');
        }
    }

    /// What a body must end with.
    pub(crate) fn close(&mut self, out: &mut Vec<u8>) {
        if let Some(own) = &mut self.own {
            own.close(self.fleet, out);
        }
        if matches!(self.format, Format::Json) {
            if out.last() == Some(&b',') {
                out.pop();
            }
            out.push(b']');
        }
    }

    /// Appends a row; returns (lines, values) that were written.
    pub(crate) fn row(&mut self, row: &Row<'_>, out: &mut Vec<u8>) -> (u64, u64) {
        let time = self.precision.of_ms(self.fleet.time_ms(row.step));
        if let Some(own) = &mut self.own {
            let values = own.row(self.fleet, row, time, out);
            return (if self.format.is_by_row() { 1 } else { values }, values);
        }
        self.time.set(time);
        let labels = self.labels.of(self.fleet, self.format, row);
        let heads = self.heads.get(row.table).and_then(|heads| heads.get(row.first_field..));
        let cells = heads.unwrap_or_default().iter().zip(row.values.iter().copied());
        let cells = cells.filter(|(_, value)| is_present(*value));
        let grouped = self.fleet.tables.get(row.table).filter(|table| table.groups > 0);
        let group = grouped.map(|table| (table.name, row.source % table.groups));
        let parts = Parts { time: &self.time, labels, group };
        if matches!(self.format, Format::Lines) {
            return (1, parts.line(cells, out));
        }
        let mut values = 0;
        for (head, value) in cells {
            match self.format {
                Format::Lines | Format::Puts => parts.put(head, value, out),
                Format::Json => parts.object(head, value, out),
                _ => parts.sample(head, value, out),
            }
            values += 1;
        }
        (values, values)
    }
}

/// What the values of a row share.
struct Parts<'a> {
    time: &'a Time,
    labels: &'a [u8],
    /// Name and number of the measurement, where the label text does not hold it.
    group: Option<(&'static str, u64)>,
}

impl Parts<'_> {
    #[inline]
    fn measurement(&self, out: &mut Vec<u8>) {
        if let Some((name, number)) = self.group {
            out.extend_from_slice(name.as_bytes());
            push_integer(number as i64, out);
        }
    }

    #[inline]
    fn line<'h>(&self, cells: impl Iterator<Item = (&'h Head, i64)>, out: &mut Vec<u8>) -> u64 {
        self.measurement(out);
        out.extend_from_slice(self.labels);
        let fields_at = out.len();
        let mut values = 0;
        for (head, value) in cells {
            head.text.push(out);
            push_value(head.kind, value, out);
            if head.kind == Kind::Integer {
                out.push(b'i');
            }
            values += 1;
        }
        // The first field follows the labels after a blank instead of a comma.
        if let Some(comma) = out.get_mut(fields_at) {
            *comma = b' ';
        }
        out.push(b' ');
        self.time.push(out);
        out.push(b'\n');
        values
    }

    #[inline]
    fn put(&self, head: &Head, value: i64, out: &mut Vec<u8>) {
        if self.group.is_some() {
            out.extend_from_slice(b"put ");
            self.measurement(out);
        }
        head.text.push(out);
        if self.group.is_some() {
            out.push(b' ');
        }
        self.time.push(out);
        out.push(b' ');
        push_value(head.kind, value, out);
        out.extend_from_slice(self.labels);
    }

    #[inline]
    fn object(&self, head: &Head, value: i64, out: &mut Vec<u8>) {
        if self.group.is_some() {
            out.extend_from_slice(b"{\"metric\":\"");
            self.measurement(out);
        }
        head.text.push(out);
        out.extend_from_slice(b"\",\"timestamp\":");
        self.time.push(out);
        out.extend_from_slice(b",\"value\":");
        push_value(head.kind, value, out);
        out.extend_from_slice(self.labels);
    }

    #[inline]
    fn sample(&self, head: &Head, value: i64, out: &mut Vec<u8>) {
        self.measurement(out);
        head.text.push(out);
        out.extend_from_slice(self.labels);
        push_value(head.kind, value, out);
        out.push(b' ');
        self.time.push(out);
        out.push(b'\n');
    }
}

impl Labels {
    fn new(fleet: &Fleet) -> Labels {
        let rows = fleet.shape.sources * fleet.tables.len() as u64;
        let keep = rows <= KEPT_LABEL_TEXTS_MAX && fleet.has_fixed_labels();
        let kept = (0..if keep { rows } else { 0 }).map(|_| None).collect();
        Labels { kept, labels: Vec::new(), text: Vec::new() }
    }

    /// The label part of a row as the format writes it.
    fn of(&mut self, fleet: &Fleet, format: Format, row: &Row<'_>) -> &[u8] {
        let at = row.source as usize * fleet.tables.len() + row.table;
        if let Some(kept) = self.kept.get_mut(at) {
            return kept.get_or_insert_with(|| {
                fleet.labels(row.source, row.step, row.table, &mut self.labels);
                render_labels(fleet, format, row.table, &self.labels, &mut self.text);
                self.text.as_slice().into()
            });
        }
        fleet.labels(row.source, row.step, row.table, &mut self.labels);
        render_labels(fleet, format, row.table, &self.labels, &mut self.text);
        &self.text
    }
}

/// Writes labels with what stands around them in each format.
fn render_labels(fleet: &Fleet, format: Format, table: usize, labels: &[Label], out: &mut Vec<u8>) {
    out.clear();
    let [open, before, between, after, close]: [&[u8]; 5] = match format {
        Format::Lines => [b"", b",", b"=", b"", b""],
        Format::Puts => [b"", b" ", b"=", b"", b"\n"],
        Format::Json => [b",\"tags\":{", b"\"", b"\":\"", b"\",", b"}},"],
        _ => [b"", b"", b"=\"", b"\",", b"} "],
    };
    let table = fleet.tables.get(table).filter(|table| table.groups == 0);
    if let (Format::Lines, Some(table)) = (format, table) {
        out.extend_from_slice(table.name.as_bytes());
    }
    out.extend_from_slice(open);
    for label in labels {
        out.extend_from_slice(before);
        out.extend_from_slice(label.key.as_bytes());
        out.extend_from_slice(between);
        push_label(label.value, out);
        out.extend_from_slice(after);
    }
    if after.ends_with(b",") {
        out.pop();
    }
    out.extend_from_slice(close);
}

impl Piece {
    fn new(text: String) -> Piece {
        let mut short = [0; PIECE_BYTES];
        short.iter_mut().zip(text.bytes()).for_each(|(place, byte)| *place = byte);
        Piece { text: text.into_bytes(), short }
    }

    #[inline]
    fn push(&self, out: &mut Vec<u8>) {
        if self.text.len() > PIECE_BYTES {
            return out.extend_from_slice(&self.text);
        }
        let end = out.len() + self.text.len();
        out.extend_from_slice(&self.short);
        out.truncate(end);
    }
}

impl Time {
    fn new() -> Time {
        Time { time: 0, text: [b'0'; 20], begin: 19 }
    }

    #[inline]
    fn set(&mut self, time: i64) {
        if time != self.time {
            let mut digits = Vec::with_capacity(20);
            push_integer(time, &mut digits);
            self.begin = 20 - digits.len().min(20);
            self.text.iter_mut().skip(self.begin).zip(digits).for_each(|(to, digit)| *to = digit);
            self.time = time;
        }
    }

    #[inline]
    fn push(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.text.get(self.begin..).unwrap_or_default());
    }
}

#[inline]
fn push_label(value: LabelValue, out: &mut Vec<u8>) {
    match value {
        LabelValue::Word(word) => out.extend_from_slice(word.as_bytes()),
        LabelValue::Numbered(word, number) => {
            out.extend_from_slice(word.as_bytes());
            push_integer(number as i64, out);
        }
    }
}
