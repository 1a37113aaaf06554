//! SQL of PostgreSQL, TimescaleDB among it, and of Druid over `/druid/v2/sql` (postgresql.org,
//! "SQL language"; druid.apache.org, "SQL functions"). A table per kind of row, one column per
//! label and field; PostgreSQL holds times as milliseconds, Druid as its `__time`.

use serde_json::{Value, json};

use super::{Request, names};
use crate::encode::TIME;
use crate::fleet::Fleet;
use crate::postgres::NULL;
use crate::question::{Answer, Ask, Function, Question};

mod trucks;

/// Whose SQL.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Flavour {
    Postgres,
    Druid,
}

pub(super) fn requests(
    fleet: &Fleet,
    question: &Question,
    flavour: Flavour,
) -> Option<Vec<Request>> {
    if let (Ask::Trucks(asked), Flavour::Postgres) = (question.ask, flavour) {
        return trucks::requests(fleet, question, asked);
    }
    let text = text(fleet, question, flavour)?;
    let (path, body) = match flavour {
        Flavour::Postgres => (String::new(), text),
        Flavour::Druid => {
            let body = json!({ "query": text, "resultFormat": "array" });
            ("/druid/v2/sql".to_owned(), body.to_string())
        }
    };
    Some(vec![Request { path, body: Some(body), field: 0, shift_ms: 0 }])
}

impl Flavour {
    fn time(self) -> String {
        match self {
            Flavour::Postgres => format!("\"{TIME}\""),
            Flavour::Druid => "TIMESTAMP_TO_MILLIS(__time)".to_owned(),
        }
    }

    fn window(self, from_ms: i64, to_ms: i64) -> String {
        match self {
            Flavour::Postgres => format!("\"{TIME}\" >= {from_ms} AND \"{TIME}\" < {to_ms}"),
            Flavour::Druid => format!(
                "__time >= MILLIS_TO_TIMESTAMP({from_ms}) AND __time < MILLIS_TO_TIMESTAMP({to_ms})"
            ),
        }
    }

    /// Begin of the bucket that a row falls into; buckets are aligned to 1970.
    fn bucket(self, length_ms: i64) -> String {
        match self {
            Flavour::Postgres => format!("\"{TIME}\" - \"{TIME}\" % {length_ms}"),
            Flavour::Druid => {
                let seconds = length_ms / 1000;
                format!("TIMESTAMP_TO_MILLIS(TIME_FLOOR(__time, 'PT{seconds}S'))")
            }
        }
    }
}

fn text(fleet: &Fleet, question: &Question, flavour: Flavour) -> Option<String> {
    let table = fleet.tables.get(question.table)?;
    let fields = question.fields.iter().map(|at| Some(table.fields.get(*at)?.name.as_str()));
    let fields: Vec<&str> = fields.collect::<Option<_>>()?;
    let source = format!("\"{}\"", table.source_label);
    let mut conditions = Vec::new();
    if question.ask != Ask::Last {
        conditions.push(flavour.window(question.from_ms, question.to_ms));
    }
    if let Some((label, names)) = names(fleet, question) {
        conditions.push(format!("\"{label}\" IN ('{}')", names.join("','")));
    }
    let columns = |function: &str| -> String {
        fields.iter().map(|field| format!(", {function}(\"{field}\")")).collect()
    };
    let plain: String = fields.iter().map(|field| format!(", \"{field}\"")).collect();
    let (head, tail) = match question.ask {
        Ask::Samples { descending, above } => {
            if let Some(above) = above {
                // A condition drops the whole row, so it can only stand for one field.
                let [name] = fields.as_slice() else { return None };
                conditions.push(format!("\"{name}\" > {above}"));
            }
            let direction = if descending { " DESC" } else { "" };
            let head = format!("{source} AS s, {} AS t{plain}", flavour.time());
            (head, format!(" ORDER BY 2{direction}"))
        }
        Ask::Aggregate { function, per_series, bucket_ms } => {
            let s = if per_series { source.as_str() } else { "''" };
            let t = bucket_ms.map_or("0".to_owned(), |bucket| flavour.bucket(bucket));
            let mut groups = Vec::new();
            groups.extend(per_series.then(|| source.clone()));
            groups.extend(bucket_ms.map(|_| t.clone()));
            let mut tail = match groups.is_empty() {
                true => " HAVING count(*) > 0".to_owned(),
                false => format!(" GROUP BY {}", groups.join(", ")),
            };
            if bucket_ms.is_some() {
                tail.push_str(" ORDER BY 2");
            }
            (format!("{s} AS s, {t} AS t{}", columns(name(function))), tail)
        }
        Ask::Last if flavour == Flavour::Postgres => {
            let head = format!("DISTINCT ON ({source}) {source} AS s, \"{TIME}\" AS t{plain}");
            (head, format!(" ORDER BY {source}, \"{TIME}\" DESC"))
        }
        Ask::Last => {
            let head = format!("{source} AS s, TIMESTAMP_TO_MILLIS(MAX(__time)) AS t");
            (head + &columns("LATEST"), format!(" GROUP BY {source}"))
        }
        Ask::AggregateAbove { function, above } => {
            let [name_of] = fields.as_slice() else { return None };
            conditions.push(format!("\"{name_of}\" > {above}"));
            let head = format!("{source} AS s, 0 AS t{}", columns(name(function)));
            (head, format!(" GROUP BY {source}"))
        }
        Ask::Trucks(_) => return None,
        Ask::Newest { function, bucket_ms, count } => {
            let bucket = flavour.bucket(bucket_ms);
            let head = format!("'' AS s, {bucket} AS t{}", columns(name(function)));
            (head, format!(" GROUP BY {bucket} ORDER BY 2 DESC LIMIT {count}"))
        }
    };
    let condition = match conditions.is_empty() {
        true => String::new(),
        false => format!(" WHERE {}", conditions.join(" AND ")),
    };
    Some(format!("SELECT {head} FROM \"{}\"{condition}{tail}", table.name))
}

fn name(function: Function) -> &'static str {
    match function {
        Function::Mean => "avg",
        function => function.name(),
    }
}

/// Reads PostgreSQL's rows of text.
pub(super) fn read_rows(
    question: &Question,
    request: &Request,
    rows: &str,
    answer: &mut Answer,
) -> Option<()> {
    let trucks = [request.field];
    let fields = match question.ask {
        Ask::Trucks(_) => &trucks[..],
        _ => question.fields.as_slice(),
    };
    for row in rows.lines() {
        let mut cells = row.split('\t');
        let (source, time_ms) = (cells.next()?, cells.next()?.parse().ok()?);
        for (field, cell) in fields.iter().zip(cells) {
            if cell != NULL {
                push(question, answer, source, *field, time_ms, cell.parse().ok()?);
            }
        }
    }
    Some(())
}

/// Reads Druid's array of arrays.
pub(super) fn read_arrays(question: &Question, reply: &Value, answer: &mut Answer) -> Option<()> {
    for row in reply.as_array()? {
        let source = row.get(0)?.as_str().unwrap_or_default();
        let time_ms = row.get(1)?.as_i64()?;
        for (at, field) in question.fields.iter().enumerate() {
            let Some(value) = row.get(2 + at)?.as_f64() else { continue };
            push(question, answer, source, *field, time_ms, value);
        }
    }
    Some(())
}

/// Adds a value; a count of nothing is how SQL says that there is nothing.
fn push(
    question: &Question,
    answer: &mut Answer,
    source: &str,
    field: usize,
    time_ms: i64,
    value: f64,
) {
    let counts = matches!(question.ask, Ask::Aggregate { function: Function::Count, .. });
    if !(counts && value == 0.0) {
        answer.push((source.to_owned(), field), time_ms, value);
    }
}
