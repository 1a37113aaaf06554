//! InfluxQL over HTTP (docs.influxdata.com, InfluxDB 1.8, query language and API reference).

use serde_json::Value;

use super::{DATABASE, Language, Over, Request, json, key_labels, measurements, never};
use crate::fleet::Fleet;
use crate::http::escape;
use crate::question::{Answer, Ask, Question};

mod conditions;
mod trucks;

use conditions::{all_of, sources};

pub(crate) static INFLUXQL: Language = Language {
    name: "influxql",
    help: "InfluxQL at `/query`",
    over: Over::Http,
    is_whole: false,
    requests,
    read: |fleet, question, _, reply, answer| read(fleet, question, &json(reply)?, answer),
    is_nothing: never,
    rounding: 0.0,
};

fn requests(fleet: &Fleet, question: &Question) -> Option<Vec<Request>> {
    let texts = match question.ask {
        Ask::Trucks(asked) => trucks::texts(fleet, question, asked)?,
        _ => vec![text(fleet, question)?],
    };
    let request = |text: String| {
        let path = format!("/query?db={DATABASE}&epoch=ms&q={}", escape(&text));
        Request { path, body: None, field: 0, shift_ms: 0 }
    };
    Some(texts.into_iter().map(request).collect())
}

fn text(fleet: &Fleet, question: &Question) -> Option<String> {
    let table = fleet.tables.get(question.table)?;
    let fields: Vec<String> = question
        .fields
        .iter()
        .map(|at| Some(table.fields.get(*at)?.name.clone()))
        .collect::<Option<_>>()?;
    let column = |function: Option<&str>, at: usize, name: &str| match function {
        Some(function) => format!("{function}(\"{name}\") AS f{at}"),
        None => format!("\"{name}\" AS f{at}"),
    };
    let function = match question.ask {
        Ask::Aggregate { function, .. }
        | Ask::AggregateAbove { function, .. }
        | Ask::Newest { function, .. } => Some(function.name()),
        _ => None,
    };
    let columns = question.fields.iter().zip(&fields);
    let columns: Vec<String> = columns.map(|(at, name)| column(function, *at, name)).collect();
    let tables: Vec<String> = measurements(fleet, table, &question.sources)
        .into_iter()
        .map(|name| format!("\"{name}\""))
        .collect();
    let source = table.source_label;
    let mut conditions = Vec::new();
    if question.ask != Ask::Last {
        let (from, to) = (question.from_ms, question.to_ms);
        conditions.push(format!("time >= {from}ms AND time < {to}ms"));
    }
    conditions.extend(sources(fleet, question));
    let mut tail = format!(" GROUP BY \"{source}\"");
    match question.ask {
        Ask::Samples { descending, above } => {
            if let Some(above) = above {
                // A condition drops the whole row, so it can only stand for one field.
                let [name] = fields.as_slice() else { return None };
                conditions.push(format!("\"{name}\" > {above}"));
            }
            if descending {
                tail.push_str(" ORDER BY time DESC");
            }
        }
        Ask::Aggregate { per_series, bucket_ms, .. } => {
            let mut groups = Vec::new();
            groups.extend(bucket_ms.map(|bucket| format!("time({bucket}ms)")));
            groups.extend(per_series.then(|| format!("\"{source}\"")));
            let groups_text = groups.join(", ");
            tail =
                if groups.is_empty() { String::new() } else { format!(" GROUP BY {groups_text}") };
            if bucket_ms.is_some() {
                tail.push_str(" fill(none)");
            }
        }
        Ask::AggregateAbove { above, .. } => {
            let [name] = fields.as_slice() else { return None };
            conditions.push(format!("\"{name}\" > {above}"));
        }
        Ask::Trucks(_) => return None,
        Ask::Last => tail.push_str(" ORDER BY time DESC LIMIT 1"),
        Ask::Newest { bucket_ms, count, .. } => {
            tail = format!(
                " GROUP BY time({bucket_ms}ms) fill(none) ORDER BY time DESC LIMIT {count}"
            );
        }
    }
    let condition = all_of(&conditions);
    Some(format!("SELECT {} FROM {}{condition}{tail}", columns.join(", "), tables.join(", ")))
}

fn read(fleet: &Fleet, question: &Question, reply: &Value, answer: &mut Answer) -> Option<()> {
    let labels = key_labels(fleet, question);
    for result in reply.get("results")?.as_array()? {
        if result.get("error").is_some() {
            return None;
        }
        let Some(series) = result.get("series") else { continue };
        for series in series.as_array()? {
            let tags = series.get("tags");
            let tag = |label: &&str| tags.and_then(|tags| tags.get(*label)?.as_str());
            let values = labels.iter().map(|label| tag(label).unwrap_or_default());
            let source = values.collect::<Vec<&str>>().join("/");
            let columns = series.get("columns")?.as_array()?;
            for row in series.get("values")?.as_array()? {
                let row = row.as_array()?;
                let time_ms = row.first()?.as_i64()?;
                for (column, value) in columns.iter().zip(row).skip(1) {
                    let Some(value) = value.as_f64() else { continue };
                    let field = column.as_str()?.strip_prefix('f')?.parse().ok()?;
                    answer.push((source.clone(), field), time_ms, value);
                }
            }
        }
    }
    Some(())
}
