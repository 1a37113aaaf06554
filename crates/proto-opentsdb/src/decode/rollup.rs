//! Rollup points: `rollup <interval>-<aggregator>[:<group aggregator>] <metric> <timestamp> <value>
//! <k=v> …`, and the bodies of `/api/rollup`.

use super::json::{Element, elements, read_timestamp, read_value, scalar_text};
use super::{FIELD_NUMBER, Options};
use crate::http::HttpError;
use crate::key::{check_name, check_tag, split_tag, tags, text_of};
use crate::lang::aggregator::Aggregator;
use crate::number::{NumberError, parse_integer, parse_value};
use crate::rollup::{AGGREGATE_TAG, Rollups};
use foliot_model::{Batch, Cell, DEFAULT_FIELD, NANOS_PER_SECOND, Reject};
use std::borrow::Cow;

/// A point that somebody else aggregated.
#[derive(Clone, Debug, PartialEq)]
pub struct RollupPoint {
    /// The table that it belongs to, which is a retention policy here.
    pub table: String,
    /// The aggregator that made it, which is its field here; the default field when points of
    /// several series were aggregated and none over time.
    pub field: String,
    metric: String,
    tags: Vec<(String, String)>,
    time_ns: i64,
    cell: Cell,
    number: u32,
}

impl RollupPoint {
    /// Makes it a row of a batch, whose shape `shape` has the one field that the point has.
    pub fn push(&self, batch: &mut Batch<'_>, shape: u32) {
        let head = batch.push_scratch(|out| out.extend_from_slice(self.metric.as_bytes()));
        let tail = batch.push_scratch(|out| {
            for (index, (name, value)) in self.tags.iter().enumerate() {
                let blank = if index > 0 { " " } else { "" };
                out.extend_from_slice(format!("{blank}{name}={value}").as_bytes());
            }
        });
        batch.push_cell(self.cell);
        batch.push_row([head, tail], self.time_ns, shape, self.number);
    }
}

/// What is wrong with a point: which part, and why.
type Refusal = (&'static str, String);

/// The part that is wrong when an interval is not kept; telnet has its own word for it.
pub(crate) const FIELD_INTERVAL: &str = "interval";

/// A point before it is known where it belongs.
struct Given<'a> {
    interval: &'a str,
    /// Over time.
    aggregator: &'a str,
    /// Over series.
    group_aggregator: &'a str,
    metric: &'a str,
    timestamp: i64,
    cell: Cell,
    tags: Vec<(String, String)>,
}

/// Decodes a line: `words` is what follows `rollup `.
pub(crate) fn decode_rollup_line(
    words: &[u8],
    line: u32,
    rollups: Option<&Rollups>,
) -> Result<RollupPoint, Reject> {
    decode_words(words, line, rollups).map_err(|(field, reason)| {
        let field = match field {
            FIELD_NUMBER => "rollup number",
            FIELD_INTERVAL => "rollup interval",
            _ => "rollup",
        };
        Reject { line, field: Cow::Borrowed(field), reason }
    })
}

fn decode_words(
    words: &[u8],
    line: u32,
    rollups: Option<&Rollups>,
) -> Result<RollupPoint, Refusal> {
    let words = words.strip_suffix(b"\r").unwrap_or(words);
    let count = if words.is_empty() { 0 } else { words.split(|&byte| byte == b' ').count() };
    let mut pieces = words.splitn(5, |&byte| byte == b' ');
    let (Some(kind), Some(metric), Some(time), Some(value), Some(section)) =
        (pieces.next(), pieces.next(), pieces.next(), pieces.next(), pieces.next())
    else {
        return Err(("line", format!("not enough arguments (need least 7, got {count})")));
    };
    let kind = text_of(kind);
    if kind.is_empty() {
        return Err(("line", "Missing interval or aggregator".to_owned()));
    }
    let (over_time, group_aggregator) = kind.split_once(':').unwrap_or((&kind, ""));
    // Without a dash it is the aggregator of a group, and of time as far as that is asked for.
    let (interval, aggregator, group_aggregator) = match over_time.split_once('-') {
        Some((interval, aggregator)) => (interval, aggregator, group_aggregator),
        None if group_aggregator.is_empty() => ("", over_time, over_time),
        None => ("", group_aggregator, group_aggregator),
    };
    let metric = text_of(metric);
    if metric.is_empty() {
        return Err(("metric", "empty metric name".to_owned()));
    }
    let plain: Vec<u8> = time.iter().copied().filter(|&byte| byte != b'.').collect();
    let timestamp = parse_integer(&plain).map_err(|reason| (FIELD_NUMBER, reason))?;
    if timestamp <= 0 {
        return Err(("timestamp", format!("invalid timestamp: {timestamp}")));
    }
    if value.is_empty() {
        return Err(("value", "empty value".to_owned()));
    }
    let mut pairs = Vec::new();
    for tag in tags(section) {
        let (name, value) = split_tag(tag).map_err(|error| (error.field, error.reason))?;
        pairs.push((text_of(name).into_owned(), text_of(value).into_owned()));
    }
    let cell = parse_value(value).map_err(|error| match error {
        NumberError::Invalid(reason) => (FIELD_NUMBER, reason),
        NumberError::NotFinite(_) => {
            ("value", format!("value is NaN or Infinite for metric={metric}"))
        }
    })?;
    let given = Given {
        interval,
        aggregator,
        group_aggregator,
        metric: &metric,
        timestamp,
        cell,
        tags: pairs,
    };
    place(given, line, rollups)
}

/// Decodes the body of `/api/rollup`. Returns how many points it had, and the good ones; bad ones
/// become rejects whose line is the point's place in the array, counted from 1.
///
/// # Errors
/// When the body as a whole is of no use.
pub fn decode_rollups(
    body: &[u8],
    options: &Options,
    rejects: &mut Vec<Reject>,
) -> Result<(u32, Vec<RollupPoint>), HttpError> {
    let mut element = Element::default();
    let (mut points, rollups) = (Vec::new(), options.rollups.as_deref());
    let count = elements(body, |scanner, number| {
        element.scan(scanner)?;
        match decode_element(scanner, &element, number, rollups) {
            Ok(point) => points.push(point),
            Err((field, reason)) => {
                rejects.push(Reject { line: number, field: Cow::Borrowed(field), reason });
            }
        }
        Ok(())
    })?;
    Ok((count, points))
}

fn decode_element(
    scanner: &super::scanner::Scanner<'_>,
    element: &Element,
    number: u32,
    rollups: Option<&Rollups>,
) -> Result<RollupPoint, Refusal> {
    let refusal = |field, reason: &str| Err((field, reason.to_owned()));
    if let Some(fault) = element.fault() {
        return Err(fault);
    }
    let text = |scalar| scalar_text(scanner, scalar).unwrap_or_default();
    let metric = text(element.metric);
    if metric.is_empty() {
        return refusal("metric", "Metric name was empty");
    }
    let timestamp = read_timestamp(scanner, element.timestamp).unwrap_or(0);
    if timestamp <= 0 {
        return refusal("timestamp", "Invalid timestamp");
    }
    let value = text(element.value);
    if value.is_empty() {
        return refusal("value", "Empty value");
    }
    if element.tags.is_empty() {
        return refusal("tag", "Missing tags");
    }
    let [interval, aggregator, group_aggregator] = [
        text(element.rollup.interval),
        text(element.rollup.aggregator),
        text(element.rollup.group_aggregator),
    ];
    let is_group = !group_aggregator.is_empty();
    if interval.is_empty() && !is_group {
        return refusal("rollup", "Missing interval");
    }
    if aggregator.is_empty() && !is_group {
        return refusal("aggregator", "Missing aggregator");
    }
    let cell = read_value(&value, &metric, timestamp)?;
    let own = |text: &[u8]| text_of(text).into_owned();
    let mut tags = Vec::new();
    for &(name, value) in &element.tags {
        let name = scanner.plain(name).unwrap_or_default();
        tags.push((own(&name), own(&text(value))));
    }
    let given = Given {
        interval: &text_of(&interval),
        aggregator: &text_of(&aggregator),
        group_aggregator: &text_of(&group_aggregator),
        metric: &text_of(&metric),
        timestamp,
        cell,
        tags,
    };
    place(given, number, rollups)
}

/// Finds out where a point belongs, checking in OpenTSDB's order.
fn place(
    mut given: Given<'_>,
    number: u32,
    rollups: Option<&Rollups>,
) -> Result<RollupPoint, Refusal> {
    let refusal = |field, reason: String| Err((field, reason));
    let Some(rollups) = rollups else {
        return refusal("rollup", "No rollup or aggregations were configured".to_owned());
    };
    let Given { interval, metric, timestamp, .. } = given;
    if timestamp > i64::from(u32::MAX) {
        let reason = format!(
            "bad timestamp={timestamp} when trying to add a rollup to metric={metric}: it must be \
             in seconds"
        );
        return refusal("timestamp", reason);
    }
    let aggregator = given.aggregator.to_lowercase();
    let group_aggregator = given.group_aggregator.to_lowercase();
    name_group(&mut given.tags, &group_aggregator, metric)?;
    if given.tags.is_empty() {
        let reason = format!("Need at least one tag (metric={metric}, tags={{}})");
        return refusal("tag", reason);
    }
    check_name("metric", || "metric name".to_owned(), metric.as_bytes())
        .map_err(|e| (e.field, e.reason))?;
    for (name, value) in &given.tags {
        check_tag(name.as_bytes(), value.as_bytes()).map_err(|e| (e.field, e.reason))?;
    }
    let found = match interval {
        "" => rollups.default_interval(),
        name => rollups.interval(name),
    };
    let Some(found) = found else {
        let reason = format!("No rollups configured for the interval: {interval}");
        return refusal(FIELD_INTERVAL, reason);
    };
    let is_group = !group_aggregator.is_empty();
    if found.is_default && !is_group {
        let reason = format!("The interval {interval} is that of raw points: put them");
        return refusal("rollup", reason);
    }
    if !found.is_default {
        rollups.check_aggregator(&aggregator).map_err(|error| ("aggregator", error.message))?;
        check_derived("rollup", &aggregator, metric)?;
    }
    let time_s = if found.is_default { timestamp } else { found.start_s(timestamp) };
    Ok(RollupPoint {
        table: if is_group { &found.group_table } else { &found.table }.clone(),
        field: if found.is_default { DEFAULT_FIELD.to_owned() } else { aggregator },
        metric: metric.to_owned(),
        tags: given.tags,
        time_ns: time_s * NANOS_PER_SECOND,
        cell: given.cell,
        number,
    })
}

/// Tags points of several series with the aggregator that made one of them.
fn name_group(
    tags: &mut Vec<(String, String)>,
    aggregator: &str,
    metric: &str,
) -> Result<(), Refusal> {
    let upper = aggregator.to_uppercase();
    match tags.iter_mut().find(|(name, _)| name == AGGREGATE_TAG) {
        Some((_, value)) if value.eq_ignore_ascii_case(aggregator) => *value = upper,
        Some((_, value)) => {
            let reason = format!(
                "Given tag value for {AGGREGATE_TAG} of {value} did not match the group by \
                 aggregator of {aggregator} for {metric}"
            );
            return Err(("tag", reason));
        }
        None if aggregator.is_empty() => {}
        None => tags.push((AGGREGATE_TAG.to_owned(), upper)),
    }
    if !aggregator.is_empty() && Aggregator::named(aggregator).is_none() {
        let mut words: Vec<String> = tags.iter().map(|(k, v)| format!("{k}={v}")).collect();
        words.sort_unstable();
        let tags = words.join(", ");
        let reason =
            format!("Invalid group by aggregator {aggregator} with metric {metric} {{{tags}}}");
        return Err(("aggregator", reason));
    }
    check_derived("group by", aggregator, metric)
}

/// Averages and deviations of parts do not tell those of the whole.
fn check_derived(what: &str, aggregator: &str, metric: &str) -> Result<(), Refusal> {
    match aggregator {
        "avg" | "dev" => {
            let upper = aggregator.to_uppercase();
            let reason =
                format!("Derived {what} aggregations are not allowed {upper} with metric {metric}");
            Err(("aggregator", reason))
        }
        _ => Ok(()),
    }
}
