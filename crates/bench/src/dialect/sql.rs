//! SQL (postgresql.org, "SQL language"), and where others differ. A table per kind of row, one
//! column per label and field, times as milliseconds since 1970.

use super::names;
use crate::fleet::Fleet;
use crate::question::{Answer, Ask, Function, Question};

pub(crate) mod trucks;

/// Column that holds the time, milliseconds since 1970.
pub(crate) const TIME: &str = "time";

/// Where one SQL differs from another.
pub(crate) struct Flavour {
    /// The time of a row, milliseconds since 1970.
    pub(crate) time: &'static str,
    /// The condition that holds for rows of a window.
    pub(crate) window: fn(i64, i64) -> String,
    /// Begin of the bucket of so many milliseconds that a row falls into, aligned to 1970.
    pub(crate) bucket: fn(i64) -> String,
    /// Columns and end of a statement for the newest row of each source.
    pub(crate) newest: fn(&str, &[&str]) -> (String, String),
}

/// The statement of a question; none where the language cannot ask it.
pub(crate) fn text(fleet: &Fleet, question: &Question, flavour: &Flavour) -> Option<String> {
    let table = fleet.tables.get(question.table)?;
    let fields = question.fields.iter().map(|at| Some(table.fields.get(*at)?.name.as_str()));
    let fields: Vec<&str> = fields.collect::<Option<_>>()?;
    let source = format!("\"{}\"", table.source_label);
    let mut conditions = Vec::new();
    if question.ask != Ask::Last {
        conditions.push((flavour.window)(question.from_ms, question.to_ms));
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
            let head = format!("{source} AS s, {} AS t{plain}", flavour.time);
            (head, format!(" ORDER BY 2{direction}"))
        }
        Ask::Aggregate { function, per_series, bucket_ms } => {
            let s = if per_series { source.as_str() } else { "''" };
            let t = bucket_ms.map_or("0".to_owned(), flavour.bucket);
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
        Ask::Last => (flavour.newest)(&source, &fields),
        Ask::AggregateAbove { function, above } => {
            let [name_of] = fields.as_slice() else { return None };
            conditions.push(format!("\"{name_of}\" > {above}"));
            let head = format!("{source} AS s, 0 AS t{}", columns(name(function)));
            (head, format!(" GROUP BY {source}"))
        }
        Ask::Trucks(_) => return None,
        Ask::Newest { function, bucket_ms, count } => {
            let bucket = (flavour.bucket)(bucket_ms);
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

/// Adds a value; a count of nothing is how SQL says that there is nothing.
pub(crate) fn push(
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
