//! `/api/put` bodies into batches: one point or an array of points.
//!
//! The body is walked once and points become rows as they end. Their tags are packed into the
//! spelling of a put line, so that both ways of writing find a series under one key.

use super::scanner::{Malformed, Scalar, Scanner, Text};
use super::{FIELD_NUMBER, Options, point_shape};
use crate::http::HttpError;
use crate::key::{check_tag, text_of};
use crate::number::{NumberError, leading_digits, parse_value, time_ns};
use foliot_model::{Batch, Cell, Kind, Reject, Span};
use std::borrow::Cow;
use std::ops::Range;

/// Bad points of a body that are told what is wrong with them; further ones are only counted, so
/// that a body of nothing but bad points takes little memory, and its answer too.
pub const WORDED_MAX: usize = 1000;

/// Decodes the batch's request, a JSON body, and returns how many points it had, good and bad.
/// Bad points become rejects whose line is the point's place in the array, counted from 1; after
/// the first thousand, without a reason.
///
/// # Errors
/// When the body as a whole is of no use: empty, not JSON, no points. The batch must then be
/// dropped, rows and all.
pub fn decode_json(
    batch: &mut Batch<'_>,
    options: &Options,
    rejects: &mut Vec<Reject>,
) -> Result<u32, HttpError> {
    let mut element = Element::default();
    elements(batch.bytes(), |scanner, number| {
        element.scan(scanner)?;
        if let Err((field, reason)) = store(batch, scanner, &mut element, number, options) {
            let reason = if rejects.len() < WORDED_MAX { reason } else { String::new() };
            rejects.push(Reject { line: number, field: Cow::Borrowed(field), reason });
        }
        Ok(())
    })
}

/// Calls `each` at the start of every point of a body, with the point's number counted from 1, and
/// returns how many there were. `each` must pass exactly one value.
pub(crate) fn elements<'a>(
    body: &'a [u8],
    mut each: impl FnMut(&mut Scanner<'a>, u32) -> Result<(), Malformed>,
) -> Result<u32, HttpError> {
    let malformed = |_: Malformed| HttpError::bad_request("Unable to parse the given JSON");
    if body.len() >= Span::SCRATCH as usize {
        return Err(HttpError::new(413, "The body is larger than 2 GiB: send less at a time"));
    }
    if std::str::from_utf8(body).is_err() {
        return Err(malformed(Malformed).with_details("The body is not valid UTF-8"));
    }
    let mut scanner = Scanner { bytes: body, at: 0 };
    let mut number = 0;
    match scanner.peek() {
        None => return Err(HttpError::bad_request("Missing request content")),
        Some(b'{') => {
            number = 1;
            each(&mut scanner, number).map_err(malformed)?;
        }
        Some(b'[') => {
            scanner.at += 1;
            let mut goes_on = !scanner.pass(b']');
            while goes_on {
                number += 1;
                each(&mut scanner, number).map_err(malformed)?;
                goes_on = scanner.next_or_close(b']').map_err(malformed)?;
            }
        }
        Some(_) => {
            let message = "The JSON must start as an object or an array";
            return Err(HttpError::bad_request(message));
        }
    }
    match (scanner.peek(), number) {
        (Some(_), _) => Err(malformed(Malformed).with_details("Something follows the JSON")),
        (None, 0) => Err(HttpError::bad_request("No datapoints found in content")),
        (None, number) => Ok(number),
    }
}

/// A point of a body, as the places of its parts.
#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) is_null: bool,
    /// What is JSON, but not of the type that its part must have.
    ill_typed: Option<IllTyped>,
    pub(crate) metric: Scalar,
    pub(crate) timestamp: Scalar,
    pub(crate) value: Scalar,
    /// Whether the tags are an object.
    pub(crate) has_tags: bool,
    /// None without such an object.
    pub(crate) tags: Vec<(Text, Scalar)>,
    /// Where those tags stand, as an object: the next point mostly has the same, letter by letter.
    tags_text: Range<usize>,
    /// The same tags as a put line spells them, once they were packed.
    tags_packed: Option<Span>,
    pub(crate) rollup: RollupParts,
}

/// What a rollup point has beside those of others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RollupParts {
    pub(crate) interval: Scalar,
    pub(crate) aggregator: Scalar,
    pub(crate) group_aggregator: Scalar,
}

impl RollupParts {
    const NONE: Self =
        Self { interval: Scalar::Null, aggregator: Scalar::Null, group_aggregator: Scalar::Null };
}

/// A part of a point whose type means nothing there: the part, and the reason for the client.
type IllTyped = (&'static str, &'static str);

const ILL_POINT: IllTyped = ("point", "The datapoint is no object");
const ILL_METRIC: IllTyped = ("metric", "The metric must be a text, not an object or a list");
const ILL_TIME: IllTyped = ("timestamp", "The timestamp must be a number, not an object or a list");
const ILL_VALUE: IllTyped = ("value", "The value must be a number, not an object or a list");
const ILL_TAGS: IllTyped = ("tag", "The tags must be an object of texts");

impl Default for Element {
    fn default() -> Self {
        Self {
            is_null: false,
            ill_typed: None,
            metric: Scalar::Null,
            timestamp: Scalar::Null,
            value: Scalar::Null,
            has_tags: false,
            tags: Vec::new(),
            tags_text: 0..0,
            tags_packed: None,
            rollup: RollupParts::NONE,
        }
    }
}

impl Element {
    /// Passes a point and notes its parts. Of a name given twice the last one counts. A part of a
    /// wrong type is the fault of this point alone: only what is no JSON is malformed. All points
    /// that one element scans must be of one body.
    pub(crate) fn scan(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Malformed> {
        (self.metric, self.timestamp, self.value) = (Scalar::Null, Scalar::Null, Scalar::Null);
        self.rollup = RollupParts::NONE;
        self.has_tags = false;
        self.ill_typed = None;
        let done = self.scan_parts(scanner);
        if !self.has_tags {
            self.forget_tags();
        }
        done
    }

    fn scan_parts(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Malformed> {
        self.is_null = scanner.peek() == Some(b'n');
        if self.is_null {
            return scanner.skip();
        }
        if !scanner.pass(b'{') {
            self.ill_typed = Some(ILL_POINT);
            return scanner.skip();
        }
        let mut goes_on = !scanner.pass(b'}');
        while goes_on {
            match PointPart::scan(scanner)? {
                PointPart::Metric => self.metric = self.scan_part(scanner, ILL_METRIC)?,
                PointPart::Timestamp => self.timestamp = self.scan_part(scanner, ILL_TIME)?,
                PointPart::Value => self.value = self.scan_part(scanner, ILL_VALUE)?,
                PointPart::Tags => self.scan_tags(scanner)?,
                PointPart::Interval => self.rollup.interval = scan_any(scanner)?,
                PointPart::Aggregator => self.rollup.aggregator = scan_any(scanner)?,
                PointPart::GroupAggregator => self.rollup.group_aggregator = scan_any(scanner)?,
                PointPart::Other => scanner.skip()?,
            }
            goes_on = scanner.next_or_close(b'}')?;
        }
        Ok(())
    }

    /// What makes the whole of it no point.
    pub(crate) fn fault(&self) -> Option<Refusal> {
        let (field, reason) = match self.is_null {
            true => ("point", "Unexpected null datapoint encountered in set."),
            false => self.ill_typed?,
        };
        Some((field, reason.to_owned()))
    }

    /// Passes a value that must be a scalar.
    #[inline]
    fn scan_part(&mut self, scanner: &mut Scanner<'_>, ill: IllTyped) -> Result<Scalar, Malformed> {
        if let Some(b'{' | b'[') = scanner.peek() {
            self.ill_typed = Some(ill);
        }
        scan_any(scanner)
    }

    fn forget_tags(&mut self) {
        self.tags.clear();
        self.tags_text = 0..0;
        self.tags_packed = None;
    }

    fn scan_tags(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Malformed> {
        scanner.peek();
        let known = scanner.bytes.get(self.tags_text.clone()).unwrap_or_default();
        if !known.is_empty() && scanner.pass_all(known) {
            self.has_tags = true;
            return Ok(());
        }
        self.forget_tags();
        let start = scanner.at;
        self.has_tags = scanner.pass(b'{');
        if !self.has_tags {
            if scanner.peek() != Some(b'n') {
                self.ill_typed = Some(ILL_TAGS);
            }
            return scanner.skip();
        }
        let mut goes_on = !scanner.pass(b'}');
        while goes_on {
            let name = scanner.text()?;
            scanner.check(name)?;
            scanner.expect(b':')?;
            let value = self.scan_part(scanner, ILL_TAGS)?;
            self.tags.push((name, value));
            goes_on = scanner.next_or_close(b'}')?;
        }
        // What is wrong with them must be found again in the next point.
        if self.ill_typed.is_none() {
            self.tags_text = start..scanner.at;
        }
        Ok(())
    }
}

/// The parts of a point by their names.
enum PointPart {
    Metric,
    Timestamp,
    Value,
    Tags,
    Interval,
    Aggregator,
    GroupAggregator,
    Other,
}

impl PointPart {
    /// Passes a name and its colon.
    #[inline]
    fn scan(scanner: &mut Scanner<'_>) -> Result<Self, Malformed> {
        scanner.peek();
        // The usual spelling is compared as a whole, without looking for the name's end.
        Ok(match scanner.bytes.get(scanner.at + 1) {
            Some(b'm') if scanner.pass_name(b"\"metric\":") => Self::Metric,
            Some(b't') if scanner.pass_name(b"\"timestamp\":") => Self::Timestamp,
            Some(b'v') if scanner.pass_name(b"\"value\":") => Self::Value,
            Some(b't') if scanner.pass_name(b"\"tags\":") => Self::Tags,
            _ => return Self::scan_any(scanner),
        })
    }

    fn scan_any(scanner: &mut Scanner<'_>) -> Result<Self, Malformed> {
        let name = scanner.text()?;
        let name = scanner.plain(name)?;
        scanner.expect(b':')?;
        Ok(match &*name {
            b"metric" => Self::Metric,
            b"timestamp" => Self::Timestamp,
            b"value" => Self::Value,
            b"tags" => Self::Tags,
            b"interval" => Self::Interval,
            b"aggregator" => Self::Aggregator,
            b"groupByAggregator" => Self::GroupAggregator,
            _ => Self::Other,
        })
    }
}

/// Passes a scalar whose escapes, if any, are right.
#[inline]
fn scan_scalar(scanner: &mut Scanner<'_>) -> Result<Scalar, Malformed> {
    let scalar = scanner.scalar()?;
    if let Scalar::Text(text) = scalar {
        scanner.check(text)?;
    }
    Ok(scalar)
}

/// Passes a value that means something only where it is a scalar.
fn scan_any(scanner: &mut Scanner<'_>) -> Result<Scalar, Malformed> {
    match scanner.peek() {
        Some(b'{' | b'[') => scanner.skip().map(|()| Scalar::Null),
        _ => scan_scalar(scanner),
    }
}

/// The plain text of a scalar; nothing for null.
pub(crate) fn scalar_text<'a>(scanner: &Scanner<'a>, scalar: Scalar) -> Option<Cow<'a, [u8]>> {
    match scalar {
        Scalar::Text(text) => scanner.plain(text).ok(),
        Scalar::Bare(start, end) => Some(Cow::Borrowed(scanner.slice(start, end))),
        Scalar::Null => None,
    }
}

/// The timestamp of a point, fractions cut off; nothing when it is no number.
pub(crate) fn read_timestamp(scanner: &Scanner<'_>, scalar: Scalar) -> Option<i64> {
    let text = scalar_text(scanner, scalar)?;
    // Most are whole numbers.
    if let (number, length @ 1..=18) = leading_digits(&text)
        && length == text.len()
    {
        return Some(number as i64);
    }
    let cell = parse_value(&text).ok()?;
    Some(if cell.kind == Kind::Integer { cell.bits as i64 } else { cell.to_f64() as i64 })
}

/// A point as JSON again, with the parts and the spelling that OpenTSDB repeats: what is null or
/// missing is left out, and a time that is none is 0.
pub(crate) fn element_json(scanner: &Scanner<'_>, element: &Element) -> String {
    if element.is_null {
        return "null".to_owned();
    }
    let quote = |scalar| match scalar_text(scanner, scalar) {
        Some(text) => serde_json::Value::from(text_of(&text)).to_string(),
        None => "null".to_owned(),
    };
    let pair =
        |&(name, value): &(Text, Scalar)| format!("{}:{}", quote(Scalar::Text(name)), quote(value));
    let mut parts = Vec::new();
    let is_there = |scalar| scalar_text(scanner, scalar).is_some();
    if is_there(element.metric) {
        parts.push(format!("\"metric\":{}", quote(element.metric)));
    }
    let timestamp = read_timestamp(scanner, element.timestamp).unwrap_or(0);
    parts.push(format!("\"timestamp\":{timestamp}"));
    if is_there(element.value) {
        parts.push(format!("\"value\":{}", quote(element.value)));
    }
    if element.has_tags {
        let pairs: Vec<String> = element.tags.iter().map(pair).collect();
        parts.push(format!("\"tags\":{{{}}}", pairs.join(",")));
    }
    let RollupParts { interval, aggregator, group_aggregator } = element.rollup;
    for (name, scalar) in [
        ("interval", interval),
        ("aggregator", aggregator),
        ("groupByAggregator", group_aggregator),
    ] {
        if is_there(scalar) {
            parts.push(format!("\"{name}\":{}", quote(scalar)));
        }
    }
    format!("{{{}}}", parts.join(","))
}

type Refusal = (&'static str, String);

/// Makes a row of a point, checking in OpenTSDB's order.
fn store(
    batch: &mut Batch<'_>,
    scanner: &Scanner<'_>,
    element: &mut Element,
    number: u32,
    options: &Options,
) -> Result<(), Refusal> {
    let refusal = |field, reason: &str| Err((field, reason.to_owned()));
    if let Some(fault) = element.fault() {
        return Err(fault);
    }
    let metric = scalar_text(scanner, element.metric).unwrap_or_default();
    if metric.is_empty() {
        return refusal("metric", "Metric name was empty");
    }
    let timestamp = read_timestamp(scanner, element.timestamp).unwrap_or(0);
    if timestamp <= 0 {
        return refusal("timestamp", "Invalid timestamp");
    }
    let value = scalar_text(scanner, element.value).unwrap_or_default();
    if value.is_empty() {
        return refusal("value", "Empty value");
    }
    if element.tags.is_empty() {
        return refusal("tag", "Missing tags");
    }
    let cell = read_value(&value, &metric, timestamp)?;
    let time_ns = time_ns(timestamp).map_err(|reason| ("timestamp", reason))?;
    if let Some(limit) = options.tags_max.filter(|&limit| element.tags.len() > limit) {
        let count = element.tags.len();
        return Err(("tag", format!("Too many tags: {count} maximum allowed: {limit}")));
    }
    let head = match (element.metric, metric) {
        (Scalar::Text(text), Cow::Borrowed(_)) => Span::new(text.start as usize, text.end as usize),
        (_, metric) => batch.push_scratch(|out| out.extend_from_slice(&metric)),
    };
    let tail = match element.tags_packed {
        Some(packed) => packed,
        None => pack_tags(batch, scanner, element)?,
    };
    element.tags_packed = Some(tail);
    let shape = point_shape(batch);
    batch.push_cell(cell);
    batch.push_row([head, tail], time_ns, shape, number);
    Ok(())
}

pub(super) fn read_value(text: &[u8], metric: &[u8], timestamp: i64) -> Result<Cell, Refusal> {
    parse_value(text).map_err(|error| match error {
        NumberError::Invalid(_) => (FIELD_NUMBER, "Unable to parse value to a number".to_owned()),
        NumberError::NotFinite(number) => {
            let sign = if number < 0.0 { "-" } else { "" };
            let metric = text_of(metric);
            let reason = format!(
                "value is NaN or Infinite: {sign}Infinity for metric={metric} \
                 timestamp={timestamp}"
            );
            ("value", reason)
        }
    })
}

/// Writes `k=v k=v` to the scratch. Blanks and equals signs inside names are refused here, because
/// the packed spelling could not tell them from its own.
fn pack_tags(
    batch: &mut Batch<'_>,
    scanner: &Scanner<'_>,
    element: &Element,
) -> Result<Span, Refusal> {
    let mut is_whole = true;
    let span = batch.push_scratch(|out| {
        for &(name, value) in &element.tags {
            let name = scanner.plain(name).unwrap_or_default();
            let value = scalar_text(scanner, value).unwrap_or_default();
            is_whole &= !name.is_empty() && !value.is_empty();
            out.reserve(name.len() + value.len() + 2);
            out.extend_from_slice(&name);
            out.push(b'=');
            out.extend_from_slice(&value);
            out.push(b' ');
        }
        out.pop();
    });
    let is_separator = |&&byte: &&u8| matches!(byte, b' ' | b'=');
    let separators = batch.slice(span).iter().filter(is_separator).count();
    match is_whole && separators + 1 == 2 * element.tags.len() {
        true => Ok(span),
        false => Err(bad_tag(scanner, element)),
    }
}

/// What is wrong with tags that cannot be packed.
#[cold]
fn bad_tag(scanner: &Scanner<'_>, element: &Element) -> Refusal {
    for &(name, value) in &element.tags {
        let name = scanner.plain(name).unwrap_or_default();
        let checked = match scalar_text(scanner, value) {
            None => {
                let key = text_of(&name);
                return ("tag", format!("Invalid tag value with key [{key}]: null"));
            }
            Some(value) => check_tag(&name, &value),
        };
        if let Err(error) = checked {
            return (error.field, error.reason);
        }
    }
    ("tag", "Missing tags".to_owned())
}

#[cfg(test)]
#[path = "json/tests.rs"]
mod tests;
