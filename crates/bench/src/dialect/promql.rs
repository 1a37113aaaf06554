//! PromQL over the Prometheus HTTP API. Look-back windows are open on the left and closed on the
//! right, so a window [a, b) of whole milliseconds is asked as (a - 1 ms, b - 1 ms].

use serde_json::Value;

use super::{Language, Over, Request, json, measurements, names, never};
use crate::fleet::Fleet;
use crate::http::escape;
use crate::question::{Answer, Ask, Function, Question};

pub(crate) static PROMQL: Language = Language {
    name: "promql",
    help: "PromQL at `/api/v1/query` and `/api/v1/query_range`",
    over: Over::Http,
    is_whole: true,
    requests: |fleet, question| requests(fleet, question, "_"),
    read,
    is_nothing: never,
    rounding: 0.0,
};

/// The requests of a question about metrics whose name is the measurement's, `dot` and the field's.
pub(crate) fn requests(fleet: &Fleet, question: &Question, dot: &str) -> Option<Vec<Request>> {
    let table = fleet.tables.get(question.table)?;
    let metrics = measurements(fleet, table, &question.sources);
    let mut requests = Vec::new();
    for field in question.fields.iter().copied() {
        let name = &table.fields.get(field)?.name;
        let metric = match metrics.as_slice() {
            [metric] => format!("__name__=\"{metric}{dot}{name}\""),
            metrics => format!("__name__=~\"({}){dot}{name}\"", metrics.join("|")),
        };
        let source = match names(fleet, question) {
            None => String::new(),
            Some((label, names)) => match names.as_slice() {
                [name] => format!(",{label}=\"{name}\""),
                names => format!(",{label}=~\"{}\"", names.join("|")),
            },
        };
        requests.push(request(question, field, &format!("{{{metric}{source}}}"))?);
    }
    Some(requests)
}

fn request(question: &Question, field: usize, selector: &str) -> Option<Request> {
    let (from, to) = (question.from_ms, question.to_ms);
    let at = |time_ms: i64| format!("{}.{:03}", time_ms / 1000, time_ms % 1000);
    let instant = |text: String, shift_ms| {
        let path = format!("/api/v1/query?query={}&time={}&nocache=1", escape(&text), at(to - 1));
        Some(Request { path, body: None, field, shift_ms })
    };
    match question.ask {
        Ask::Samples { descending: false, above: None } => {
            instant(format!("{selector}[{}ms]", to - from), 0)
        }
        // A range has no order, a bound on values needs a subquery with a step, and the time of
        // the newest sample is lost.
        Ask::Samples { .. } | Ask::AggregateAbove { .. } => None,
        Ask::Last | Ask::Newest { .. } | Ask::Trucks(_) => None,
        Ask::Aggregate { function, per_series, bucket_ms } => {
            let across = match function {
                _ if per_series => "",
                Function::Count | Function::Sum => "sum",
                Function::Min => "min",
                Function::Max => "max",
                Function::Mean => return None,
            };
            let within = match function {
                Function::Mean => "avg",
                function => function.name(),
            };
            let length = bucket_ms.unwrap_or(to - from);
            let text = format!("{across}({within}_over_time({selector}[{length}ms]))");
            let Some(bucket) = bucket_ms else { return instant(text, 0) };
            // The value of a bucket stands at its last millisecond.
            let path = format!(
                "/api/v1/query_range?query={}&start={}&end={}&step={}&nocache=1",
                escape(&text),
                at(from + bucket - 1),
                at(to - 1),
                at(bucket)
            );
            Some(Request { path, body: None, field, shift_ms: 1 - bucket })
        }
    }
}

/// Reads a reply.
pub(crate) fn read(
    fleet: &Fleet,
    question: &Question,
    request: &Request,
    reply: &[u8],
    answer: &mut Answer,
) -> Option<()> {
    let reply = json(reply)?;
    let label = fleet.tables.get(question.table)?.source_label;
    let per_series = !matches!(question.ask, Ask::Aggregate { per_series: false, .. });
    for series in reply.get("data")?.get("result")?.as_array()? {
        let name = series.get("metric")?.get(label).and_then(Value::as_str).unwrap_or_default();
        let source = if per_series { name } else { "" };
        let one = series.get("value").map(std::slice::from_ref).unwrap_or_default();
        let values = series.get("values").and_then(Value::as_array);
        for pair in values.map(Vec::as_slice).unwrap_or(one) {
            let time_ms = (pair.get(0)?.as_f64()? * 1000.0).round() as i64;
            let value = pair.get(1)?.as_str()?.parse().ok()?;
            answer.push((source.to_owned(), request.field), time_ms + request.shift_ms, value);
        }
    }
    Some(())
}
