//! Remote write: requests of both versions into batches, piece by piece.
//!
//! 1. [`WriteRequest::parse`] walks the whole request: nothing of a malformed one is stored.
//!    [`WriteRequest::parse_by_lengths`] leaves the labels to whoever knows most of them.
//! 2. [`WriteRequest::decode`] fills a batch with as many samples as one piece has, and goes on
//!    with the next piece when it is called again. A tiny sample takes forty times its bytes in a
//!    batch, so that a whole request must not become one.
//!
//! Version 1.0 spells each label in each series; the run of its label fields is the key as it
//! stands. Version 2.0 refers to a table of symbols; the labels are put together in the batch's
//! scratch.

mod described;
mod plain;

use crate::exemplars::{Exemplar, Exemplars};
use crate::histogram::Message;
use crate::key::{LABEL, push_label, read_label};
use crate::wire::{Field, Fields, Value};
use described::{DESCRIPTION, SERIES_DESCRIPTION};
use foliot_model::{Batch, Cell, DEFAULT_FIELD, Kind, Reject, Span};
use std::fmt;

/// Samples, and refusals, of one piece: its batch takes about six MiB.
pub(crate) const PIECE_ROWS_MAX: usize = 1 << 16;

/// Bytes of keys and of histograms that a piece puts together, but for the last of them.
pub(crate) const PIECE_BYTES_MAX: usize = 4 << 20;

/// Bytes of the labels of one series of version 2.0, where a reference of a byte can stand for a
/// long text: as many as a series may have elsewhere.
pub(crate) const KEY_BYTES_MAX: usize = 64 << 10;

/// Texts in the table of a request, eight bytes of memory each: ten for each of a hundred thousand
/// series, where senders put some thousand series into a request.
const SYMBOLS_MAX: usize = 1 << 20;

/// Times that can be stored, in nanoseconds: those that all doors can name.
const TIME_NS: std::ops::RangeInclusive<i64> = i64::MIN + 2..=i64::MAX - 1;

const NS_PER_MS: i64 = 1_000_000;

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// `prometheus.WriteRequest`
    V1,
    /// `io.prometheus.write.v2.Request`
    V2,
}

impl Version {
    /// The version that a `Content-Type` names; 1.0 when it names none, or is not given. Nothing
    /// when it is something else.
    pub fn of_content_type(content_type: Option<&str>) -> Option<Self> {
        let Some(text) = content_type.filter(|text| !text.is_empty()) else {
            return Some(Self::V1);
        };
        let mut parts = text.split(';').map(str::trim);
        let is_protobuf =
            parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/x-protobuf"));
        let proto = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            name.trim().eq_ignore_ascii_case("proto").then_some(value.trim().trim_matches('"'))
        });
        match proto {
            _ if !is_protobuf => None,
            None | Some("prometheus.WriteRequest") => Some(Self::V1),
            Some("io.prometheus.write.v2.Request") => Some(Self::V2),
            Some(_) => None,
        }
    }

    /// Field of a request that holds a series.
    const fn series(self) -> u64 {
        match self {
            Self::V1 => 1,
            Self::V2 => 5,
        }
    }

    /// Field of a request that holds a text of the table.
    const fn symbols(self) -> Option<u64> {
        match self {
            Self::V1 => None,
            Self::V2 => Some(4),
        }
    }

    /// Fields of a series that hold an exemplar and a histogram.
    const fn exemplar_and_histogram(self) -> (u64, u64) {
        match self {
            Self::V1 => (3, 4),
            Self::V2 => (4, 3),
        }
    }
}

/// Field of a series that holds a sample, in both versions.
const SAMPLE: u64 = 2;

/// Why a request cannot be read: what, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(pub(crate) String);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Malformed {}

impl From<Malformed> for String {
    fn from(Malformed(reason): Malformed) -> Self {
        reason
    }
}

/// What a request holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Series.
    pub series: u64,
    /// Samples that are numbers.
    pub samples: u64,
    /// Native histograms.
    pub histograms: u64,
    /// Exemplars.
    pub exemplars: u64,
    /// How often something is said of a metric.
    pub descriptions: u64,
}

/// A request that is decoded piece by piece.
#[derive(Debug)]
pub struct WriteRequest<'a> {
    bytes: &'a [u8],
    version: Version,
    counts: Counts,
    symbols: Vec<Span>,
    /// All labels stand in front, as senders write them.
    are_labels_plain: bool,
    /// The labels of the first series, as far as each is nothing but labels and one sample, and no
    /// more than one piece takes.
    front: Vec<Span>,
    /// Whether nobody has looked at the labels of those.
    are_unread: bool,
    /// What was not decoded yet, but for those.
    rest: Fields<'a>,
    /// A series of which a part was decoded.
    open: Option<Open<'a>>,
    series: u32,
}

/// A series whose samples are being decoded.
#[derive(Debug)]
struct Open<'a> {
    key: Key,
    rest: Fields<'a>,
}

/// The labels of a series.
#[derive(Debug)]
enum Key {
    /// They stand in the request.
    Request(Span),
    /// They were put together.
    Packed(Vec<u8>),
}

impl<'a> WriteRequest<'a> {
    /// Checks a whole request.
    ///
    /// # Errors
    /// When it is not a message of that version.
    pub fn parse(version: Version, bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut rest = Fields::new(bytes, 0, bytes.len());
        let front = match version {
            Version::V1 => front(&mut rest, plain::series),
            Version::V2 => Vec::new(),
        };
        Self::behind(version, bytes, (front, false), rest)
    }

    /// Checks a request of version 1.0, but for what is taken for labels of the series in front:
    /// most are known to whoever stores them, and were read when they were new. The first piece
    /// says so in its batch, see [`Batch::check_unknown_keys_by`]. If one of its keys is none, the
    /// request is to be parsed again, by [`WriteRequest::parse`], which knows what is the matter.
    ///
    /// # Errors
    /// As [`WriteRequest::parse`].
    pub fn parse_by_lengths(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut rest = Fields::new(bytes, 0, bytes.len());
        let front = front(&mut rest, plain::series_by_length);
        Self::behind(Version::V1, bytes, (front, true), rest)
    }

    /// Checks what lies behind the series in front.
    fn behind(
        version: Version,
        bytes: &'a [u8],
        (front, are_unread): (Vec<Span>, bool),
        rest: Fields<'a>,
    ) -> Result<Self, Malformed> {
        let known = front.len() as u64;
        let mut counts = Counts { series: known, samples: known, ..Counts::default() };
        let (mut are_labels_plain, mut symbols) = (version == Version::V1, Vec::new());
        let mut fields = rest;
        while let Some(field) = fields.next()? {
            if field.number == version.series() {
                counts.series += 1;
                are_labels_plain &= check_series(version, bytes, &field, &mut counts)?;
            } else if Some(field.number) == version.symbols() {
                if symbols.len() == SYMBOLS_MAX {
                    let text = format!("more than {SYMBOLS_MAX} symbols: send less at once");
                    return Err(Malformed(text));
                }
                symbols.push(field.span()?);
            } else if version == Version::V1 && field.number == DESCRIPTION {
                counts.descriptions += 1;
            }
        }
        if symbols.first().is_some_and(|first| first.length > 0) {
            return Err(Malformed("the first symbol must be the empty text".to_owned()));
        }
        Ok(Self {
            bytes,
            version,
            counts,
            symbols,
            are_labels_plain,
            front,
            are_unread,
            rest,
            open: None,
            series: 0,
        })
    }

    /// The version that it was read as.
    pub fn version(&self) -> Version {
        self.version
    }

    /// What the request holds.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Puts the next piece into an empty batch, whose bytes are the request's. What cannot be
    /// stored becomes a reject, whose line is the number of its series. Exemplars go to
    /// `exemplars`. Returns whether there may be more.
    pub fn decode(
        &mut self,
        batch: &mut Batch<'_>,
        (rejects, exemplars): (&mut Vec<Reject>, &mut Exemplars),
    ) -> bool {
        let field = batch.push_scratch(|out| out.extend_from_slice(DEFAULT_FIELD.as_bytes()));
        let shape = batch.push_shape(&[field]);
        let mut room = Room { rows: PIECE_ROWS_MAX, bytes: PIECE_BYTES_MAX };
        if self.are_unread && !self.front.is_empty() {
            batch.check_unknown_keys_by(plain::are_labels);
        }
        self.decode_front(shape, batch, rejects, &mut room);
        while room.is_left() {
            let open = match self.open.take() {
                Some(open) => open,
                // What was checked reads well again.
                None => match self.rest.next() {
                    Ok(Some(field)) if field.number == self.version.series() => {
                        self.series = self.series.saturating_add(1);
                        match self.open(&field, rejects) {
                            Some(open) => open,
                            None => {
                                room.rows -= 1;
                                continue;
                            }
                        }
                    }
                    Ok(Some(_)) => continue,
                    Ok(None) | Err(_) => return false,
                },
            };
            let key = match &open.key {
                Key::Request(span) => *span,
                Key::Packed(bytes) => {
                    room.bytes = room.bytes.saturating_sub(bytes.len());
                    batch.push_scratch(|out| out.extend_from_slice(bytes))
                }
            };
            let out = (&mut *batch, &mut *rejects, &mut *exemplars);
            self.open = self.decode_series(open, (key, shape), out, &mut room);
        }
        true
    }

    /// Decodes the series in front.
    fn decode_front(
        &mut self,
        shape: u32,
        batch: &mut Batch<'_>,
        rejects: &mut Vec<Reject>,
        room: &mut Room,
    ) {
        for labels in std::mem::take(&mut self.front) {
            self.series = self.series.saturating_add(1);
            let behind = (labels.offset + labels.length) as usize;
            // What was checked reads well again.
            let Some(sample) = self.bytes.get(behind..).and_then(plain::sample) else { continue };
            let of = (cell(sample.value), sample.time_ms);
            push_sample(of, (labels, shape, self.series), batch, rejects);
            room.rows = room.rows.saturating_sub(1);
        }
    }

    /// Finds the labels of a series; nothing when they cannot be read, which is told.
    fn open(&self, series: &Field, rejects: &mut Vec<Reject>) -> Option<Open<'a>> {
        let (start, end) = series.range().ok()?;
        let rest = Fields::new(self.bytes, start, end);
        match self.key(rest) {
            Ok((key, rest)) => Some(Open { key, rest }),
            Err(reason) => {
                rejects.push(self.reject("tag", reason));
                None
            }
        }
    }

    fn reject(&self, field: &'static str, reason: impl Into<String>) -> Reject {
        Reject { line: self.series, field: field.into(), reason: reason.into() }
    }

    /// The labels of a series or of an exemplar, and the fields among which the others are.
    fn key(&self, fields: Fields<'a>) -> Result<(Key, Fields<'a>), String> {
        match self.version {
            Version::V1 => self.key_in_place(fields),
            Version::V2 => self.key_of_symbols(fields).map(|key| (key, fields)),
        }
    }

    /// The run of label fields, as senders write them; put together when other fields lie between.
    fn key_in_place(&self, mut fields: Fields<'a>) -> Result<(Key, Fields<'a>), String> {
        let (start, length) = (fields.at(), plain::labels_length(fields.rest()));
        fields.step_over(length);
        let behind = fields;
        if self.are_labels_plain {
            return Ok((Key::Request(Span::new(start, behind.at())), behind));
        }
        let mut run = (length > 0).then_some((start, behind.at()));
        let mut packed = Vec::new();
        while let Ok(Some(field)) = fields.next() {
            if field.number != LABEL {
                continue;
            }
            let end = fields.at();
            run = match run {
                None => Some((field.start, end)),
                Some((start, before)) if before == field.start => Some((start, end)),
                Some((start, before)) => {
                    packed.extend_from_slice(self.bytes.get(start..before).unwrap_or_default());
                    Some((field.start, end))
                }
            };
        }
        let (start, end) = run.unwrap_or_default();
        if packed.is_empty() {
            return Ok((Key::Request(Span::new(start, end)), behind));
        }
        packed.extend_from_slice(self.bytes.get(start..end).unwrap_or_default());
        Ok((Key::Packed(packed), behind))
    }

    /// Puts the labels together that a series of version 2.0 refers to.
    fn key_of_symbols(&self, mut fields: Fields<'a>) -> Result<Key, String> {
        let (mut packed, mut name) = (Vec::new(), None);
        while let Ok(Some(field)) = fields.next() {
            if field.number != LABEL {
                continue;
            }
            let (mut one, mut run) = (None, Fields::new(self.bytes, 0, 0));
            match field.value {
                Value::Varint(reference) => one = Some(reference),
                Value::Bytes(start, end) => run = Fields::new(self.bytes, start, end),
                _ => {}
            }
            while let Some(reference) = one.take().or_else(|| run.varint().ok()) {
                let text = self.symbol(reference)?;
                let Some(name) = name.take() else {
                    name = Some(text);
                    continue;
                };
                push_label(name, text, &mut packed);
                if packed.len() > KEY_BYTES_MAX {
                    return Err(format!(
                        "the labels of a series take more than {KEY_BYTES_MAX} bytes"
                    ));
                }
            }
        }
        match name {
            None => Ok(Key::Packed(packed)),
            Some(_) => Err("a label's name has no value".to_owned()),
        }
    }

    fn symbol(&self, reference: u64) -> Result<&'a [u8], String> {
        let span = usize::try_from(reference).ok().and_then(|index| self.symbols.get(index));
        let start = span.map(|span| (span.offset as usize, (span.offset + span.length) as usize));
        let text = start.and_then(|(start, end)| self.bytes.get(start..end));
        text.ok_or_else(|| {
            format!("symbol {reference} is none of the {} of the request", self.symbols.len())
        })
    }

    /// Decodes samples as far as there is room; returns the series when more of it may be left.
    fn decode_series(
        &self,
        mut open: Open<'a>,
        (key, shape): (Span, u32),
        (batch, rejects, exemplars): (&mut Batch<'_>, &mut Vec<Reject>, &mut Exemplars),
        room: &mut Room,
    ) -> Option<Open<'a>> {
        let (exemplar, histogram) = self.version.exemplar_and_histogram();
        while room.is_left() {
            if let Some(sample) = plain::sample(open.rest.rest()) {
                open.rest.step_over(sample.length);
                room.rows -= 1;
                let (cell, line) = (cell(sample.value), self.series);
                push_sample((cell, sample.time_ms), (key, shape, line), batch, rejects);
                continue;
            }
            let Ok(Some(field)) = open.rest.next() else { return None };
            let (cell, time_ms) = match field.number {
                SAMPLE => {
                    let (value, time_ms) = read_sample(self.bytes, &field).unwrap_or_default();
                    (cell(value), time_ms)
                }
                number if number == histogram => {
                    let message = Message::read(self.bytes, &field).unwrap_or_default();
                    let time_ms = message.time_ms;
                    match message.histogram() {
                        Ok(of) => {
                            let bytes = batch.push_scratch(|out| of.write(out));
                            room.bytes = room.bytes.saturating_sub(bytes.length as usize);
                            (Cell::bytes(Kind::Histogram, bytes), time_ms)
                        }
                        Err(fault) => {
                            room.rows -= 1;
                            rejects.push(self.reject("value", fault.to_string()));
                            continue;
                        }
                    }
                }
                number if number == exemplar => {
                    let bytes = self.decode_exemplar(&field, &open.key, exemplars);
                    *room = Room { rows: room.rows - 1, bytes: room.bytes.saturating_sub(bytes) };
                    continue;
                }
                _ => continue,
            };
            room.rows -= 1;
            push_sample((cell, time_ms), (key, shape, self.series), batch, rejects);
        }
        Some(open)
    }

    /// Lists an exemplar; returns how many bytes that takes.
    fn decode_exemplar(&self, field: &Field, series: &Key, exemplars: &mut Exemplars) -> usize {
        let series = self.packed(series);
        let read = read_exemplar(self.bytes, field).ok();
        let labels = field.range().ok().and_then(|(start, end)| {
            // A label whose symbol is not there has no name.
            self.key(Fields::new(self.bytes, start, end)).ok()
        });
        let Some(((value, time_ms), (labels, _))) = read.zip(labels) else { return 0 };
        let (labels, time_ms) = (self.packed(&labels).to_owned(), Some(time_ms));
        let bytes = series.len() + labels.len();
        exemplars.push(&[series], &Exemplar { labels, value, time_ms }, 0);
        bytes
    }

    /// The labels, packed.
    fn packed<'k>(&'k self, key: &'k Key) -> &'k [u8] {
        match key {
            Key::Packed(bytes) => bytes,
            Key::Request(span) => {
                let (start, length) = (span.offset as usize, span.length as usize);
                self.bytes.get(start..start + length).unwrap_or_default()
            }
        }
    }
}

/// Walks over the series in front that are nothing but labels and one sample, as `series` finds
/// them, as many as one piece takes, and returns where their labels lie.
fn front(fields: &mut Fields<'_>, series: impl Fn(&[u8]) -> Option<plain::Series>) -> Vec<Span> {
    let mut front = Vec::new();
    while front.len() < PIECE_ROWS_MAX
        && let Some(series) = series(fields.rest())
    {
        let start = fields.at() + series.before;
        front.push(Span::new(start, start + series.labels));
        fields.step_over(series.length);
    }
    front
}

/// Adds a row of one sample.
#[inline]
fn push_sample(
    (cell, time_ms): (Cell, i64),
    (key, shape, line): (Span, u32, u32),
    batch: &mut Batch<'_>,
    rejects: &mut Vec<Reject>,
) {
    match time_ns(time_ms) {
        Some(time_ns) => {
            batch.push_cell(cell);
            batch.push_row([Span::default(), key], time_ns, shape, line);
        }
        None => {
            let reason = format!("timestamp {time_ms} cannot be stored");
            rejects.push(Reject { line, field: "timestamp".into(), reason });
        }
    }
}

/// What a piece may still take.
pub(crate) struct Room {
    pub(crate) rows: usize,
    pub(crate) bytes: usize,
}

impl Room {
    pub(crate) fn is_left(&self) -> bool {
        self.rows > 0 && self.bytes > 0
    }
}

/// Checks one series, and counts what is in it. Returns whether all labels stand in front, and as
/// senders write them; exemplars have some of their own.
fn check_series(
    version: Version,
    bytes: &[u8],
    series: &Field,
    counts: &mut Counts,
) -> Result<bool, Malformed> {
    let (exemplar, histogram) = version.exemplar_and_histogram();
    let (start, end) = series.range()?;
    let mut fields = Fields::new(bytes, start, end);
    if version == Version::V1 {
        fields.step_over(plain::labels_length(fields.rest()));
    }
    let mut is_plain = true;
    loop {
        while let Some(sample) = plain::sample(fields.rest()) {
            fields.step_over(sample.length);
            counts.samples += 1;
        }
        let Some(field) = fields.next()? else { return Ok(is_plain) };
        is_plain &= field.number != LABEL && field.number != exemplar;
        match field.number {
            LABEL => check_label(version, bytes, &field)?,
            SAMPLE => {
                read_sample(bytes, &field)?;
                counts.samples += 1;
            }
            number if number == histogram => {
                Message::read(bytes, &field)?;
                counts.histograms += 1;
            }
            SERIES_DESCRIPTION if version == Version::V2 => counts.descriptions += 1,
            number if number == exemplar => {
                read_exemplar(bytes, &field)?;
                check_labels(version, bytes, &field)?;
                counts.exemplars += 1;
            }
            _ => {}
        }
    }
}

/// Checks the labels of an exemplar.
fn check_labels(version: Version, bytes: &[u8], exemplar: &Field) -> Result<(), Malformed> {
    let (start, end) = exemplar.range()?;
    let mut fields = Fields::new(bytes, start, end);
    while let Some(field) = fields.next()? {
        check_label(version, bytes, &field)?;
    }
    Ok(())
}

/// Checks what a field says of labels, if it does: one of them, or references to symbols.
fn check_label(version: Version, bytes: &[u8], field: &Field) -> Result<(), Malformed> {
    match (field.number, version) {
        (LABEL, Version::V1) => {
            let (start, end) = field.range()?;
            read_label(bytes, start, end).map(drop)
        }
        (LABEL, Version::V2) => check_references(bytes, field),
        _ => Ok(()),
    }
}

/// References to symbols: numbers one by one, or packed.
fn check_references(bytes: &[u8], field: &Field) -> Result<(), Malformed> {
    if let Value::Varint(_) = field.value {
        return Ok(());
    }
    let (start, end) = field.range()?;
    let mut run = Fields::new(bytes, start, end);
    while run.at() < end {
        run.varint()?;
    }
    Ok(())
}

/// Value and milliseconds of a sample; what is left out is zero.
fn read_sample(bytes: &[u8], field: &Field) -> Result<(f64, i64), Malformed> {
    let (start, end) = field.range()?;
    let (mut value, mut time_ms) = (0.0, 0);
    let mut fields = Fields::new(bytes, start, end);
    while let Some(field) = fields.next()? {
        match (field.number, field.value) {
            (1, Value::Fixed64(bits)) => value = f64::from_bits(bits),
            (2, Value::Varint(millis)) => time_ms = millis as i64,
            (1 | 2, _) => return Err(field.mistyped()),
            _ => {}
        }
    }
    Ok((value, time_ms))
}

/// Value and milliseconds of an exemplar, whose labels come first.
fn read_exemplar(bytes: &[u8], field: &Field) -> Result<(f64, i64), Malformed> {
    let (start, end) = field.range()?;
    let (mut value, mut time_ms) = (0.0, 0);
    let mut fields = Fields::new(bytes, start, end);
    while let Some(field) = fields.next()? {
        match (field.number, field.value) {
            (2, Value::Fixed64(bits)) => value = f64::from_bits(bits),
            (3, Value::Varint(millis)) => time_ms = millis as i64,
            (2 | 3, _) => return Err(field.mistyped()),
            _ => {}
        }
    }
    Ok((value, time_ms))
}

/// The time of a sample; nothing when it cannot be stored.
#[inline]
pub(crate) fn time_ns(time_ms: i64) -> Option<i64> {
    time_ms.checked_mul(NS_PER_MS).filter(|time_ns| TIME_NS.contains(time_ns))
}

/// Whole numbers, which most counters are, are kept as decimals: they take fewer bytes. All else,
/// and so each NaN and -0.0, stays what it is bit for bit.
#[inline]
pub(crate) fn cell(value: f64) -> Cell {
    let whole = value as i64;
    let decimal = Cell::decimal(whole, 0);
    match decimal.filter(|_| (whole as f64).to_bits() == value.to_bits()) {
        Some(cell) => cell,
        None => Cell::float(value),
    }
}

#[cfg(test)]
mod tests;
