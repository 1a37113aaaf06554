//! QuestDB (questdb.io, REST API reference and InfluxDB line protocol reference): lines into tables
//! that replace rows of the same source and time, whole rows only; its SQL at `/exec`.

use std::io;

use serde_json::Value;

use super::description::{Ack, Adapter, Can, Door, Post, Style};
use super::told;
use crate::dialect::{Language, Over, Request, json, measurements, names, never};
use crate::encode::{Format, Precision};
use crate::fleet::Fleet;
use crate::http::{Client, escape};
use crate::law::Kind;
use crate::question::{Answer, Ask, Function, Question};

pub(super) static ADAPTER: Adapter = Adapter {
    name: "questdb",
    met: "9.0.1",
    ack: Ack::Os,
    syncs: "never of its own (cairo.commit.mode = nosync)",
    version: |address| told::version(address, "/exec?query=select%20build()", "QuestDB"),
    prepare: create_tables,
    flush: &[],
    doors: &[Door {
        name: "questdb",
        help: "QuestDB, line protocol over HTTP (port 9000)",
        style: Style::Rows,
        format: Format::Lines,
        precision: Precision::Ns,
        way: Post::to("/write"),
        language: Some(&SQL),
        can: &[Can::Late, Can::Again, Can::Replace],
        batch_min: 1,
    }],
};

static SQL: Language = Language {
    name: "questdb",
    help: "QuestDB's SQL at `/exec`",
    over: Over::Http,
    is_whole: false,
    requests,
    read: |_, question, _, reply, answer| read(question, &json(reply)?, answer),
    is_nothing: never,
    rounding: 0.0,
};

/// One table per measurement; the last row of a source and time replaces those before it.
fn create_tables(fleet: &Fleet, address: &str) -> io::Result<()> {
    let mut client = Client::new(address);
    for (at, table) in fleet.tables.iter().enumerate() {
        let labels = fleet.label_names(at).into_iter().map(|label| format!("{label} SYMBOL"));
        let fields = table.fields.iter().map(|field| {
            let kind = if field.kind == Kind::Integer { "LONG" } else { "DOUBLE" };
            format!("{} {kind}", field.name)
        });
        let columns: Vec<String> = labels.chain(fields).collect();
        for group in 0..table.groups.max(1) {
            let group = if table.groups > 0 { group.to_string() } else { String::new() };
            let text = format!(
                "CREATE TABLE IF NOT EXISTS '{}{group}' ({}, timestamp TIMESTAMP) \
                 TIMESTAMP(timestamp) PARTITION BY DAY WAL DEDUP UPSERT KEYS(timestamp, {})",
                table.name,
                columns.join(", "),
                table.source_label
            );
            let reply = client.get(&format!("/exec?query={}", escape(&text)))?;
            if !reply.is_success() {
                return Err(io::Error::other(format!("{text}: {}", reply.summary())));
            }
        }
    }
    Ok(())
}

fn requests(fleet: &Fleet, question: &Question) -> Option<Vec<Request>> {
    let text = text(fleet, question)?;
    let path = format!("/exec?query={}", escape(&text));
    Some(vec![Request { path, body: None, field: 0, shift_ms: 0 }])
}

fn text(fleet: &Fleet, question: &Question) -> Option<String> {
    let table = fleet.tables.get(question.table)?;
    // One table per measurement: a question over several would be a union.
    let [measurement] = measurements(fleet, table, &question.sources).try_into().ok()?;
    let source = table.source_label;
    let mut conditions = Vec::new();
    if question.ask != Ask::Last {
        let (from, to) = (question.from_ms * 1000, question.to_ms * 1000);
        conditions.push(format!("timestamp >= {from} AND timestamp < {to}"));
    }
    if let Some((label, names)) = names(fleet, question) {
        conditions.push(format!("{label} IN ('{}')", names.join("','")));
    }
    let columns = |function: Option<&str>| -> Option<String> {
        let columns = question.fields.iter().map(|at| {
            let name = &table.fields.get(*at)?.name;
            Some(match function {
                Some(function) => format!("{function}({name}) f{at}"),
                None => format!("{name} f{at}"),
            })
        });
        Some(columns.collect::<Option<Vec<String>>>()?.join(", "))
    };
    let function = |function: Function| match function {
        Function::Mean => "avg",
        function => function.name(),
    };
    let mut head = format!("{source} s, timestamp t");
    let (columns, tail) = match question.ask {
        Ask::Samples { descending, above } => {
            if let Some(above) = above {
                let [at] = question.fields.as_slice() else { return None };
                conditions.push(format!("{} > {above}", table.fields.get(*at)?.name));
            }
            (columns(None)?, if descending { " ORDER BY timestamp DESC" } else { "" }.to_owned())
        }
        Ask::Aggregate { function: name, per_series, bucket_ms } => {
            let source = if per_series { source } else { "''" };
            head = format!("{source} s, {} t", if bucket_ms.is_some() { "timestamp" } else { "0" });
            let sample = |bucket| format!(" SAMPLE BY {bucket}T ALIGN TO CALENDAR");
            (columns(Some(function(name)))?, bucket_ms.map(sample).unwrap_or_default())
        }
        Ask::AggregateAbove { function: name, above } => {
            let [at] = question.fields.as_slice() else { return None };
            conditions.push(format!("{} > {above}", table.fields.get(*at)?.name));
            head = format!("{source} s, 0 t");
            (columns(Some(function(name)))?, String::new())
        }
        Ask::Trucks(_) => return None,
        Ask::Last => (columns(None)?, format!(" LATEST ON timestamp PARTITION BY {source}")),
        Ask::Newest { function: name, bucket_ms, count } => {
            head = "'' s, timestamp t".to_owned();
            let tail =
                format!(" SAMPLE BY {bucket_ms}T ALIGN TO CALENDAR ORDER BY t DESC LIMIT {count}");
            (columns(Some(function(name)))?, tail)
        }
    };
    let condition = match conditions.is_empty() {
        true => String::new(),
        false => format!(" WHERE {}", conditions.join(" AND ")),
    };
    Some(format!("SELECT {head}, {columns} FROM '{measurement}'{condition}{tail}"))
}

fn read(question: &Question, reply: &Value, answer: &mut Answer) -> Option<()> {
    for row in reply.get("dataset")?.as_array()? {
        let source = row.get(0)?.as_str().unwrap_or_default();
        let time_ms = time_ms(row.get(1)?)?;
        for (at, field) in question.fields.iter().enumerate() {
            let Some(value) = row.get(2 + at)?.as_f64() else { continue };
            answer.push((source.to_owned(), *field), time_ms, value);
        }
    }
    Some(())
}

/// Reads `2026-01-01T00:00:00.000000Z`, or 0.
fn time_ms(value: &Value) -> Option<i64> {
    let Some(text) = value.as_str() else { return value.as_i64() };
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<i64>().ok();
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    // Days from the civil calendar (Howard Hinnant, "chrono-compatible low-level date algorithms").
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    let seconds = (days * 24 + number(11..13)?) * 3600 + number(14..16)? * 60 + number(17..19)?;
    Some(seconds * 1000 + number(20..23)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_written() {
        assert_eq!(time_ms(&Value::from("1970-01-01T00:00:00.000000Z")), Some(0));
        assert_eq!(time_ms(&Value::from("2026-01-01T00:00:01.250000Z")), Some(1_767_225_601_250));
        assert_eq!(time_ms(&Value::from("2024-02-29T23:59:59.999000Z")), Some(1_709_251_199_999));
    }
}
