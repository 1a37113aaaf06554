//! Histogram points: `histogram <metric> <timestamp> [<id>] <buckets> <k=v> …`, and the bodies of
//! `/api/histogram`.

use super::{FIELD_NUMBER, Options, point_shape};
use crate::histogram;
use crate::http::HttpError;
use crate::json;
use crate::key::{check_tag, split_tag, tags, text_of};
use crate::number::{parse_integer, time_ns};
use foliot_model::{Batch, Cell, Counts, Kind, Reject};
use serde_json::Value;
use std::borrow::Cow;

/// What is wrong with a point: which part, and why.
type Refusal = (&'static str, String);

/// Decodes a line into a row: `words` is what follows `histogram `.
pub(crate) fn decode_histogram_line(
    batch: &mut Batch<'_>,
    words: &[u8],
    line: u32,
) -> Result<(), Reject> {
    let refuse = |(field, reason): Refusal| {
        let field = if field == FIELD_NUMBER { "histogram number" } else { "histogram" };
        Reject { line, field: Cow::Borrowed(field), reason }
    };
    decode_words(batch, words, line).map_err(refuse)
}

fn decode_words(batch: &mut Batch<'_>, words: &[u8], line: u32) -> Result<(), Refusal> {
    let words = words.strip_suffix(b"\r").unwrap_or(words);
    let count = if words.is_empty() { 0 } else { words.split(|&byte| byte == b' ').count() };
    let few = || ("line", format!("not enough arguments (need least 5, got {count})"));
    let mut pieces = words.splitn(4, |&byte| byte == b' ');
    let (Some(metric), Some(time), Some(first), Some(mut section)) =
        (pieces.next(), pieces.next(), pieces.next(), pieces.next())
    else {
        return Err(few());
    };
    if metric.is_empty() {
        return Err(("metric", "empty metric name".to_owned()));
    }
    let plain: Vec<u8> = time.iter().copied().filter(|&byte| byte != b'.').collect();
    let timestamp = parse_integer(&plain).map_err(|reason| (FIELD_NUMBER, reason))?;
    let counts = match parse_integer(first) {
        Err(_) => histogram::parse(&text_of(first)),
        // A number is the id of a codec, and what follows it is in that codec's form.
        Ok(_) => {
            let (value, rest) = match section.iter().position(|&byte| byte == b' ') {
                Some(end) => section.split_at(end),
                None => return Err(few()),
            };
            section = rest;
            histogram::from_base64(&text_of(value))
        }
    };
    let counts = counts.map_err(|reason| ("value", reason))?;
    let mut pairs = Vec::new();
    for tag in tags(section) {
        let (name, value) = split_tag(tag).map_err(|error| (error.field, error.reason))?;
        pairs.push((text_of(name).into_owned(), text_of(value).into_owned()));
    }
    push(batch, &text_of(metric), timestamp, &counts, &pairs, line)
}

/// Decodes the batch's request, a body of `/api/histogram`, and returns how many points it had.
/// Bad points become rejects, as in [`crate::decode_json`].
///
/// # Errors
/// When the body as a whole is of no use.
pub fn decode_histograms(
    batch: &mut Batch<'_>,
    _options: &Options,
    rejects: &mut Vec<Reject>,
) -> Result<u32, HttpError> {
    let body = json::parse(batch.bytes())?;
    let points = match &body {
        Value::Object(_) => std::slice::from_ref(&body),
        Value::Array(points) if points.is_empty() => {
            return Err(HttpError::bad_request("No datapoints found in content"));
        }
        Value::Array(points) => points,
        _ => {
            let message = "The JSON must start as an object or an array";
            return Err(HttpError::bad_request(message));
        }
    };
    let mut number = 0;
    for point in points {
        number += 1;
        if let Err((field, reason)) = decode_point(batch, point, number) {
            rejects.push(Reject { line: number, field: Cow::Borrowed(field), reason });
        }
    }
    Ok(number)
}

fn decode_point(batch: &mut Batch<'_>, point: &Value, number: u32) -> Result<(), Refusal> {
    let wrong = |error: HttpError| ("point", format!("{}: {}", error.message, error.details));
    if point.is_null() {
        let reason = "Unexpected null datapoint encountered in set.";
        return Err(("point", reason.to_owned()));
    }
    let metric = json::text(point, "metric").map_err(wrong)?;
    let metric = metric.ok_or_else(|| ("metric", "Metric name was empty".to_owned()))?;
    let timestamp = json::integer(point, "timestamp").map_err(wrong)?.unwrap_or(0);
    if timestamp <= 0 {
        return Err(("timestamp", "Invalid timestamp".to_owned()));
    }
    let tags = json::text_map(point, "tags").map_err(wrong)?.unwrap_or_default();
    if tags.is_empty() {
        return Err(("tag", "Missing tags".to_owned()));
    }
    let counts = match json::text(point, "value").map_err(wrong)? {
        Some(value) => histogram::from_base64(&value).map_err(|reason| ("value", reason))?,
        None => {
            let mut counts = Counts::default();
            let buckets = point.get("buckets").and_then(Value::as_object);
            let buckets = buckets.filter(|buckets| !buckets.is_empty()).ok_or_else(|| {
                let reason = "Histogram buckets cannot be null or empty if 'value' is empty.";
                ("value", reason.to_owned())
            })?;
            for (bounds, count) in buckets {
                let count = count.as_u64();
                let count = count.ok_or_else(|| ("value", format!("Bad count of {bounds}")))?;
                histogram::set_named(&mut counts, bounds, count)
                    .map_err(|reason| ("value", reason))?;
            }
            let flow = |name| {
                let count = json::integer(point, name).map_err(wrong)?.unwrap_or(0);
                u64::try_from(count).map_err(|_| ("value", format!("Bad count of {name}")))
            };
            counts.set_flows(flow("underflow")?, flow("overflow")?);
            counts
        }
    };
    push(batch, &metric, timestamp, &counts, &tags, number)
}

fn push(
    batch: &mut Batch<'_>,
    metric: &str,
    timestamp: i64,
    counts: &Counts,
    tags: &[(String, String)],
    line: u32,
) -> Result<(), Refusal> {
    if timestamp <= 0 {
        return Err(("timestamp", format!("invalid timestamp: {timestamp}")));
    }
    if tags.is_empty() {
        return Err(("tag", format!("Need at least one tag (metric={metric}, tags={{}})")));
    }
    let time_ns = time_ns(timestamp).map_err(|reason| ("timestamp", reason))?;
    for (name, value) in tags {
        check_tag(name.as_bytes(), value.as_bytes()).map_err(|e| (e.field, e.reason))?;
    }
    let head = batch.push_scratch(|out| out.extend_from_slice(metric.as_bytes()));
    let words: Vec<String> = tags.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let tail = batch.push_scratch(|out| out.extend_from_slice(words.join(" ").as_bytes()));
    let shape = point_shape(batch);
    let bytes = batch.push_scratch(|out| counts.write(out));
    batch.push_cell(Cell::bytes(Kind::Histogram, bytes));
    batch.push_row([head, tail], time_ns, shape, line);
    Ok(())
}
