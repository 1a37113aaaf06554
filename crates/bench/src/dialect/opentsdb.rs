//! OpenTSDB's `/api/query` (opentsdb.net, HTTP API 2.4), and how others read it.

use serde_json::{Value, json};

use super::{Language, Over, Request, json as parsed, measurements, names};
use crate::fleet::Fleet;
use crate::question::{Answer, Ask, Function, Question, Sources};

pub(crate) static OPENTSDB: Language = Language {
    name: "opentsdb",
    help: "OpenTSDB JSON at `/api/query`",
    over: Over::Http,
    is_whole: false,
    requests: |fleet, question| requests(fleet, question, Reading::ITS_OWN),
    read: |fleet, question, _, reply, answer| {
        read(fleet, question, reply, Reading::ITS_OWN, answer)
    },
    // It calls a name that was never written an error; to the benchmark it is no data.
    is_nothing: |reply| {
        reply.status == 400 && String::from_utf8_lossy(&reply.body).contains("No such name")
    },
    rounding: 0.0,
};

/// How a server reads the language.
#[derive(Clone, Copy)]
pub(crate) struct Reading {
    /// Whether there are filters and aggregators that do not interpolate; without them a tag that
    /// is asked for is always grouped by.
    pub(crate) filters: bool,
    /// The tag in which the field stands, where the measurement is the metric.
    pub(crate) field_tag: Option<&'static str>,
}

impl Reading {
    const ITS_OWN: Reading = Reading { filters: true, field_tag: None };
}

/// The requests of a question.
pub(crate) fn requests(
    fleet: &Fleet,
    question: &Question,
    reading: Reading,
) -> Option<Vec<Request>> {
    let table = fleet.tables.get(question.table)?;
    let (aggregator, downsample) = plan(question, reading.filters)?;
    let mut queries = Vec::new();
    if matches!(question.sources, Sources::Labelled(..)) {
        return None;
    }
    let source = table.source_label;
    let wanted = names(fleet, question).map_or("*".to_owned(), |(_, names)| names.join("|"));
    let together = !is_per_series(question);
    if !reading.filters && together && wanted != "*" {
        return None;
    }
    let tags = |mut tags: Value| {
        if let (false, Some(tags)) = (together, tags.as_object_mut()) {
            tags.insert(source.to_owned(), json!(wanted));
        }
        tags
    };
    for measurement in measurements(fleet, table, &question.sources) {
        for field in &question.fields {
            let field = &table.fields.get(*field)?.name;
            let mut query = json!({ "aggregator": aggregator });
            let parts = query.as_object_mut()?;
            if let Some(downsample) = &downsample {
                parts.insert("downsample".into(), json!(downsample));
            }
            if let Some(field_tag) = reading.field_tag {
                parts.insert("metric".into(), json!(measurement));
                parts.insert("tags".into(), tags(json!({ field_tag: field })));
            } else if !reading.filters {
                parts.insert("metric".into(), json!(format!("{measurement}.{field}")));
                parts.insert("tags".into(), tags(json!({})));
            } else {
                let kind = if wanted == "*" { "wildcard" } else { "literal_or" };
                parts.insert("metric".into(), json!(format!("{measurement}.{field}")));
                parts.insert(
                    "filters".into(),
                    json!([{ "type": kind, "tagk": source, "filter": wanted,
                             "groupBy": is_per_series(question) }]),
                );
            }
            queries.push(query);
        }
    }
    let body = json!({
        "start": question.from_ms,
        "end": question.to_ms - 1,
        "msResolution": true,
        "queries": queries,
    });
    let body = Some(body.to_string());
    // Lists keep the order of samples, so that it can be judged; not every reading has the flag.
    let path = if reading.filters { "/api/query?arrays=true" } else { "/api/query" };
    Some(vec![Request { path: path.into(), body, field: 0, shift_ms: 0 }])
}

fn is_per_series(question: &Question) -> bool {
    match question.ask {
        Ask::Samples { .. } | Ask::AggregateAbove { .. } | Ask::Last => true,
        Ask::Aggregate { per_series, .. } => per_series,
        Ask::Newest { .. } | Ask::Trucks(_) => false,
    }
}

/// Aggregator and downsampler; none when the language has no such question.
fn plan(question: &Question, filters: bool) -> Option<(&'static str, Option<String>)> {
    match question.ask {
        Ask::Samples { descending: false, above: None } => Some(("none", None)),
        // Neither an order nor a bound on values exists.
        Ask::Samples { .. } | Ask::Newest { .. } => None,
        // The newest sample within the window; the window is all data.
        Ask::Last => None,
        Ask::AggregateAbove { .. } | Ask::Trucks(_) => None,
        Ask::Aggregate { function, per_series, bucket_ms } => {
            // Across series a mean of means is another question.
            let across = match function {
                _ if per_series => "none",
                // Who never interpolates knows no aggregators that say so.
                Function::Count | Function::Sum if !filters => "sum",
                Function::Min | Function::Max if !filters => function.name(),
                Function::Count | Function::Sum => "zimsum",
                Function::Min => "mimmin",
                Function::Max => "mimmax",
                Function::Mean => return None,
            };
            let within = match function {
                Function::Mean => "avg",
                function => function.name(),
            };
            let bucket = bucket_ms.map_or("0all".into(), |bucket| format!("{bucket}ms"));
            Some((across, Some(format!("{bucket}-{within}"))))
        }
    }
}

/// Reads a reply.
pub(crate) fn read(
    fleet: &Fleet,
    question: &Question,
    reply: &[u8],
    reading: Reading,
    answer: &mut Answer,
) -> Option<()> {
    let reply = parsed(reply)?;
    let table = fleet.tables.get(question.table)?;
    for series in reply.as_array()? {
        let tags = series.get("tags");
        let tag = |name: &str| tags.and_then(|tags| tags.get(name)?.as_str());
        let metric = series.get("metric")?.as_str()?;
        let name = match reading.field_tag {
            Some(field_tag) => tag(field_tag),
            None => metric.rsplit('.').next(),
        };
        let field = match name {
            Some(name) => table.fields.iter().position(|field| field.name == name)?,
            // Over a single field a server may leave out the tag that it grouped by.
            None => *question.fields.first()?,
        };
        // A tag that all series of a sum share is reported too; it is no key of the answer.
        let source = match is_per_series(question) {
            true => tag(table.source_label)?,
            false => "",
        };
        for (time_ms, value) in samples(series.get("dps")?)? {
            let Some(value) = value.as_f64() else { continue };
            answer.push((source.to_owned(), field), time_ms, value);
        }
    }
    Some(())
}

/// Times and values of a series, written as pairs or as an object.
fn samples(dps: &Value) -> Option<Vec<(i64, &Value)>> {
    match dps {
        Value::Object(samples) => {
            samples.iter().map(|(time, value)| Some((time.parse().ok()?, value))).collect()
        }
        _ => {
            let pairs = dps.as_array()?.iter();
            pairs.map(|pair| Some((pair.get(0)?.as_i64()?, pair.get(1)?))).collect()
        }
    }
}
