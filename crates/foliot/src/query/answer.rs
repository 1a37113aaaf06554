//! Reads answers of a server. Values stay the text that the server wrote, so that none changes.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// A series, or a part of one.
#[derive(Debug)]
pub(super) struct Table {
    /// What it is about; empty when the server names nothing.
    pub(super) name: String,
    pub(super) labels: Vec<(String, String)>,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow, default)]
    results: Vec<Outcome<'a>>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct Outcome<'a> {
    #[serde(borrow, default)]
    series: Vec<Rows<'a>>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct Rows<'a> {
    #[serde(default)]
    name: String,
    #[serde(default)]
    tags: BTreeMap<String, String>,
    #[serde(default)]
    columns: Vec<String>,
    #[serde(borrow, default)]
    values: Vec<Vec<&'a RawValue>>,
}

/// A series of OpenTSDB's answer, with its times in milliseconds.
#[derive(Deserialize)]
pub(super) struct Metric<'a> {
    pub(super) metric: String,
    #[serde(default)]
    pub(super) tags: BTreeMap<String, String>,
    #[serde(borrow, default)]
    pub(super) dps: Vec<(i64, &'a RawValue)>,
}

/// The tables of one piece of an answer of `/query`. What the server refused is added to
/// `refusals`.
///
/// # Errors
/// When it is none.
pub(super) fn of_influx(piece: &str, refusals: &mut Vec<String>) -> Result<Vec<Table>, String> {
    let document: Document<'_> = serde_json::from_str(piece).map_err(no_answer)?;
    let mut tables = Vec::new();
    refusals.extend(document.error);
    for outcome in document.results {
        refusals.extend(outcome.error);
        tables.extend(outcome.series.into_iter().map(|series| {
            Table {
                name: series.name,
                labels: series.tags.into_iter().collect(),
                columns: series.columns,
                rows: series
                    .values
                    .iter()
                    .map(|row| row.iter().map(|cell| text(cell)).collect())
                    .collect(),
            }
        }));
    }
    Ok(tables)
}

/// The tables of an answer of `/api/query` with arrays and milliseconds.
///
/// # Errors
/// When it is none.
pub(super) fn of_opentsdb(answer: &str) -> Result<Vec<Table>, String> {
    let table = |series: Metric<'_>| Table {
        name: series.metric,
        labels: series.tags.into_iter().collect(),
        columns: vec!["time".to_owned(), "value".to_owned()],
        rows: series.dps.iter().map(|(at_ms, value)| vec![time(*at_ms), text(value)]).collect(),
    };
    Ok(metrics(answer)?.into_iter().map(table).collect())
}

/// The series of an answer of `/api/query` with arrays and milliseconds.
///
/// # Errors
/// When it is none.
pub(super) fn metrics(answer: &str) -> Result<Vec<Metric<'_>>, String> {
    serde_json::from_str(answer).map_err(no_answer)
}

fn no_answer(error: serde_json::Error) -> String {
    format!("this is no answer of Foliot: {error}; does --url name a server of another kind?")
}

/// A value as people read it.
fn text(value: &RawValue) -> String {
    match value.get() {
        "null" => String::new(),
        quoted if quoted.starts_with('"') => {
            serde_json::from_str(quoted).unwrap_or_else(|_| quoted.to_owned())
        }
        plain => plain.to_owned(),
    }
}

fn time(at_ms: i64) -> String {
    match jiff::Timestamp::from_millisecond(at_ms) {
        Ok(at) => at.to_string(),
        // A time that no calendar has stays what it is.
        Err(_) => at_ms.to_string(),
    }
}
