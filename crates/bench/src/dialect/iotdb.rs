//! IoTDB's SQL over its REST service, version 2 (iotdb.apache.org, "REST API V2" and "Query Data").
//! A series is a path; labels other than the source's have no place in it.

use serde_json::{Value, json};

use super::{Request, measurements, names};
use crate::encode::IOTDB_ROOT;
use crate::fleet::Fleet;
use crate::question::{Answer, Ask, Function, Question, Sources};

pub(super) fn requests(fleet: &Fleet, question: &Question) -> Option<Vec<Request>> {
    let body = json!({ "sql": text(fleet, question)?, "row_limit": 100_000_000 }).to_string();
    let path = "/rest/v2/query".to_owned();
    Some(vec![Request { path, body: Some(body), field: 0, shift_ms: 0 }])
}

fn text(fleet: &Fleet, question: &Question) -> Option<String> {
    let table = fleet.tables.get(question.table)?;
    let fields = question.fields.iter().map(|at| Some(table.fields.get(*at)?.name.as_str()));
    let fields: Vec<&str> = fields.collect::<Option<_>>()?;
    let groups = measurements(fleet, table, &question.sources);
    if matches!(question.sources, Sources::Labelled(..)) {
        return None;
    }
    let sources = names(fleet, question).map_or(vec!["*".to_owned()], |(_, names)| names);
    // A path that does not exist matches nothing, so every source may be sought in every group.
    let paths: Vec<String> = groups
        .iter()
        .flat_map(|group| sources.iter().map(move |s| format!("{IOTDB_ROOT}.{group}.{s}")))
        .collect();
    let from = paths.join(", ");
    let (begin, end) = (question.from_ms, question.to_ms);
    let window = format!("time >= {begin} AND time < {end}");
    let applied = |function: Function| {
        let name = match function {
            Function::Min => "min_value",
            Function::Max => "max_value",
            Function::Mean => "avg",
            function => function.name(),
        };
        let columns: Vec<String> = fields.iter().map(|f| format!("{name}({f})")).collect();
        columns.join(", ")
    };
    match question.ask {
        Ask::Samples { descending, above } => {
            let bound = match (above, fields.as_slice(), paths.as_slice()) {
                (None, _, _) => String::new(),
                (Some(above), [field], [path]) if !path.ends_with('*') => {
                    format!(" AND {field} > {above}")
                }
                // A condition drops the whole row, which holds all paths.
                _ => return None,
            };
            let order = if descending { " ORDER BY time DESC" } else { "" };
            Some(format!("SELECT {} FROM {from} WHERE {window}{bound}{order}", fields.join(", ")))
        }
        Ask::Aggregate { function, per_series, bucket_ms } => {
            let mut tail = match bucket_ms {
                Some(bucket) => format!(" GROUP BY ([{begin}, {end}), {bucket}ms)"),
                None => format!(" WHERE {window}"),
            };
            if !per_series {
                let level = if bucket_ms.is_some() { ", LEVEL = 1" } else { " GROUP BY LEVEL = 1" };
                match tail.strip_suffix(')').filter(|_| bucket_ms.is_some()) {
                    Some(open) => tail = format!("{open}){level}"),
                    None => tail.push_str(level),
                }
            }
            Some(format!("SELECT {} FROM {from}{tail}", applied(function)))
        }
        Ask::Last => Some(format!("SELECT LAST {} FROM {from}", fields.join(", "))),
        Ask::AggregateAbove { .. } | Ask::Newest { .. } | Ask::Trucks(_) => None,
    }
}

pub(super) fn read(
    fleet: &Fleet,
    question: &Question,
    reply: &Value,
    answer: &mut Answer,
) -> Option<()> {
    let table = fleet.tables.get(question.table)?;
    let values = reply.get("values")?.as_array()?;
    let times = reply.get("timestamps").and_then(Value::as_array);
    let per_series = !matches!(question.ask, Ask::Aggregate { per_series: false, .. });
    // `max_value(root.bench.cpu.host_1.usage_user)` or the path alone.
    let key = |path: &str| -> Option<(String, usize)> {
        let path = path.rsplit('(').next()?.trim_end_matches(')');
        let mut nodes = path.rsplit('.');
        let field = nodes.next()?;
        let field = table.fields.iter().position(|known| known.name == field)?;
        let source = if per_series { nodes.next()? } else { "" };
        Some((source.to_owned(), field))
    };
    if question.ask == Ask::Last {
        let (paths, texts) = (values.first()?.as_array()?, values.get(1)?.as_array()?);
        for ((time, path), text) in times?.iter().zip(paths).zip(texts) {
            let value = text.as_str()?.parse().ok()?;
            answer.push(key(path.as_str()?)?, time.as_i64()?, value);
        }
        return Some(());
    }
    for (path, column) in reply.get("expressions")?.as_array()?.iter().zip(values) {
        let key = key(path.as_str()?)?;
        for (at, value) in column.as_array()?.iter().enumerate() {
            let time = times.and_then(|times| times.get(at)?.as_i64()).unwrap_or(0);
            let counts = matches!(question.ask, Ask::Aggregate { function: Function::Count, .. });
            if let Some(value) = value.as_f64().filter(|value| !(counts && *value == 0.0)) {
                answer.push(key.clone(), time, value);
            }
        }
    }
    Some(())
}
