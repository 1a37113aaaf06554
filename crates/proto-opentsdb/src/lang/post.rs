//! POST queries: the JSON form.
//!
//! Differs from OpenTSDB on purpose: `tags` and `filters` of one question add up, whatever their
//! order in the text.

use super::downsample::Downsample;
use super::filter::Filter;
use super::get::{aggregator_named, output, push_question, tsuids};
use super::rate::RateOptions;
use super::rollup::RollupUsage;
use super::time::parse_time;
use super::{Notes, Question, Request, Source, known_zone, zone};
use crate::http::{HttpError, Params};
use crate::json::{flag, is_blank, list, parse_object, scalar_text, text, wrong};
use serde_json::Value;

/// Reads the body of a POST query.
pub(super) fn parse(body: &[u8], params: &Params, now_ms: i64) -> Result<Request, HttpError> {
    if is_blank(body) {
        return Err(HttpError::bad_request("Missing message content"));
    }
    let query = parse_object(body).map_err(|error| match body.trim_ascii_start().first() {
        // A form, as Prometheus' clients send it to a path that is OpenTSDB's here.
        Some(b'a'..=b'z') => error.with_details("PromQL is asked at /prometheus/api/v1/query"),
        _ => error,
    })?;
    let zone_name = text(&query, "timezone")?.unwrap_or_else(|| "UTC".to_owned());
    let zone_name = known_zone(&zone_name);
    let time_zone = zone(zone_name)?;
    let start = text(&query, "start")?;
    let start = start.ok_or_else(|| HttpError::bad_request("Missing start time"))?;
    let start_ms = parse_time(&start, &time_zone, now_ms)?;
    let end_ms = match text(&query, "end")? {
        Some(end) => parse_time(&end, &time_zone, now_ms)?,
        None => now_ms,
    };
    let use_calendar = flag(&query, "useCalendar")?;
    let mut questions = Vec::new();
    for question in list(&query, "queries")? {
        push_question(&mut questions, parse_question(question, use_calendar)?)?;
    }
    if questions.is_empty() {
        return Err(HttpError::bad_request("Missing queries"));
    }
    let mut output = output(params)?;
    output.in_ms |= flag(&query, "msResolution")?;
    output.shows_query |= flag(&query, "showQuery")?;
    output.shows_tsuids |= flag(&query, "showTSUIDs")?;
    output.shows_stats |= flag(&query, "showStats")?;
    output.hides_notes |= flag(&query, "noAnnotations")?;
    output.shows_globals |= flag(&query, "globalAnnotations")?;
    output.shows_summary |= flag(&query, "showSummary")?;
    Ok(Request {
        start_ms,
        end_ms,
        output,
        questions,
        zone: zone_name.into(),
        is_clipped: true,
        deletes: flag(&query, "delete")?,
        notes: Notes::default(),
    })
}

fn parse_question(question: &Value, use_calendar: bool) -> Result<Question, HttpError> {
    let aggregator = aggregator_named(&text(question, "aggregator")?.unwrap_or_default())?;
    let words = list(question, "tsuids")?;
    let source = match text(question, "metric")? {
        _ if !words.is_empty() => {
            Source::Tsuids(tsuids(words.iter().map(|word| word.as_str().unwrap_or_default()))?)
        }
        Some(metric) => Source::Metric(metric),
        None => {
            let message = "Missing the metric or tsuids, provide at least one";
            return Err(HttpError::bad_request(message));
        }
    };
    let mut percentiles = Vec::new();
    for percentile in list(question, "percentiles")? {
        let number =
            percentile.as_f64().ok_or_else(|| wrong("percentiles", "a list of numbers"))?;
        percentiles.push(number as f32);
    }
    percentiles.sort_by(f32::total_cmp);
    let downsample = match text(question, "downsample")? {
        Some(text) => Some(Downsample::parse(&text, use_calendar)?),
        None => None,
    };
    let options = RateOptions::from_json(question.get("rateOptions").unwrap_or(&Value::Null))?;
    Ok(Question {
        // TSUIDs say all there is to say about tags.
        filters: match source {
            Source::Tsuids(_) => Vec::new(),
            Source::Metric(_) => filters(question)?,
        },
        source,
        aggregator,
        has_explicit_tags: flag(question, "explicitTags")?,
        downsample,
        rate: flag(question, "rate")?.then_some(options),
        percentiles,
        shows_buckets: flag(question, "showHistogramBuckets")?,
        usage: text(question, "rollupUsage")?.map(|text| RollupUsage::parse(&text)),
        is_pre_aggregated: flag(question, "preAggregate")?,
        table: None,
    })
}

/// The conditions of a question: its tags, each of which groups, and its filters.
fn filters(question: &Value) -> Result<Vec<Filter>, HttpError> {
    let mut filters = Vec::new();
    match question.get("tags") {
        None | Some(Value::Null) => {}
        Some(Value::Object(tags)) => {
            for (tag, value) in tags {
                let value = scalar_text(value).unwrap_or_default();
                Filter::parse(&format!("{tag}={value}"), true)?.push_to(&mut filters)?;
            }
        }
        Some(_) => return Err(wrong("tags", "an object")),
    }
    for filter in list(question, "filters")? {
        let unparsed = |error: HttpError| {
            HttpError::bad_request("Unable to parse the given JSON").with_details(error.message)
        };
        Filter::from_json(filter).map_err(unparsed)?.push_to(&mut filters)?;
    }
    Ok(filters)
}
