//! Druid (druid.apache.org, "Native batch ingestion" and "SQL functions"): tasks with their rows
//! inline, worked off one by one; its SQL at `/druid/v2/sql`. A row that comes twice counts twice.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::description::{Ack, Adapter, Can, Carrier, Door, Style, Way};
use super::told;
use crate::cursor::Row;
use crate::dialect::sql::{self, Flavour, TIME};
use crate::dialect::{Language, Over, Request, json as parsed, never};
use crate::encode::{Body, Cells, Format, Own, Precision, Tables};
use crate::fleet::Fleet;
use crate::http::{self, Client};
use crate::law::Kind;
use crate::profile::Table;
use crate::question::{Answer, Question};

pub(super) static ADAPTER: Adapter = Adapter {
    name: "druid",
    met: "33.0.0",
    ack: Ack::Unknown,
    syncs: "not said; a task ends when its segments are in the deep storage",
    version: |address| told::version(address, "/status", "\"version\""),
    prepare: |_, _| Ok(()),
    flush: &[],
    doors: &[Door {
        name: "druid",
        help: "Druid, batch ingestion tasks with their rows inline",
        style: Style::Rows,
        format: Format::Own(&TASKS),
        precision: Precision::Ms,
        way: Way::Own(|address| Box::new(Tasks(Client::new(address)))),
        language: Some(&SQL),
        can: &[Can::Late],
        // Each task takes a second, whatever it holds.
        batch_min: 5000,
    }],
};

static SQL: Language = Language {
    name: "druid",
    help: "Druid's SQL at `/druid/v2/sql`",
    over: Over::Http,
    is_whole: true,
    requests,
    read: |_, question, _, reply, answer| read(question, &parsed(reply)?, answer),
    is_nothing: never,
    rounding: 0.0,
};

static FLAVOUR: Flavour = Flavour {
    time: "TIMESTAMP_TO_MILLIS(__time)",
    window: |from_ms, to_ms| {
        format!(
            "__time >= MILLIS_TO_TIMESTAMP({from_ms}) AND __time < MILLIS_TO_TIMESTAMP({to_ms})"
        )
    },
    bucket: |length_ms| {
        let seconds = length_ms / 1000;
        format!("TIMESTAMP_TO_MILLIS(TIME_FLOOR(__time, 'PT{seconds}S'))")
    },
    newest: |source, fields| {
        let newest: String = fields.iter().map(|field| format!(", LATEST(\"{field}\")")).collect();
        let head = format!("{source} AS s, TIMESTAMP_TO_MILLIS(MAX(__time)) AS t{newest}");
        (head, format!(" GROUP BY {source}"))
    },
};

/// One task a table.
static TASKS: Own =
    Own { is_by_row: true, is_json: false, body: || Box::new(Rows(Tables::default())) };

/// Longest wait for a task.
const TASK_MAX: Duration = Duration::from_secs(600);

fn requests(fleet: &Fleet, question: &Question) -> Option<Vec<Request>> {
    let query = sql::text(fleet, question, &FLAVOUR)?;
    let body = Some(json!({ "query": query, "resultFormat": "array" }).to_string());
    Some(vec![Request { path: "/druid/v2/sql".to_owned(), body, field: 0, shift_ms: 0 }])
}

/// Reads an array of arrays.
fn read(question: &Question, reply: &Value, answer: &mut Answer) -> Option<()> {
    for row in reply.as_array()? {
        let source = row.get(0)?.as_str().unwrap_or_default();
        let time_ms = row.get(1)?.as_i64()?;
        for (at, field) in question.fields.iter().enumerate() {
            let Some(value) = row.get(2 + at)?.as_f64() else { continue };
            sql::push(question, answer, source, *field, time_ms, value);
        }
    }
    Some(())
}

/// Rows as CSV, their ends written as JSON escapes them.
struct Rows(Tables);

impl Body for Rows {
    fn row(&mut self, fleet: &Fleet, row: &Row<'_>, time: i64, _out: &mut Vec<u8>) -> u64 {
        let cells = Cells { open: "", between: b',', quote: "", null: "", close: "\\n" };
        self.0.row(fleet, row, time, &cells)
    }

    fn close(&mut self, fleet: &Fleet, out: &mut Vec<u8>) {
        self.0.close(fleet, |table, labels, rows| push_task(table, labels, rows, out));
    }
}

/// One `index_parallel` task with its rows inline, on a line of its own.
fn push_task(table: &Table, labels: &[&str], rows: &mut Vec<u8>, out: &mut Vec<u8>) {
    let kind = |kind: Kind| if kind == Kind::Integer { "long" } else { "double" };
    let fields = table.fields.iter();
    let fields = fields.map(|field| {
        let kind = kind(field.kind);
        json!({ "type": kind, "name": field.name })
    });
    let dimensions = labels.iter().map(|label| json!(label)).chain(fields);
    let dimensions: Vec<Value> = dimensions.collect();
    let columns = [TIME].into_iter().chain(labels.iter().copied());
    let columns = columns.chain(table.fields.iter().map(|field| field.name.as_str()));
    let columns: Vec<&str> = columns.collect();
    // The rows hold nothing that JSON would escape but their ends, and these are written escaped.
    let task = json!({
        "type": "index_parallel",
        // Else a task fails while another one adds to the same month.
        "context": { "useConcurrentLocks": true },
        "spec": {
            "dataSchema": {
                "dataSource": table.name,
                "timestampSpec": { "column": TIME, "format": "millis" },
                "dimensionsSpec": { "dimensions": dimensions },
                "granularitySpec": { "segmentGranularity": "month", "rollup": false },
            },
            "ioConfig": {
                "type": "index_parallel",
                "appendToExisting": true,
                "inputFormat": { "type": "csv", "columns": columns },
                "inputSource": { "type": "inline", "data": "ROWS" },
            },
        },
    });
    let task = task.to_string();
    let (before, after) = task.split_once("ROWS").unwrap_or((&task, ""));
    out.extend_from_slice(before.as_bytes());
    out.append(rows);
    out.extend_from_slice(after.as_bytes());
    out.push(b'\n');
}

/// Tasks over one connection.
struct Tasks(Client);

impl Carrier for Tasks {
    fn open(&mut self) -> io::Result<()> {
        self.0.open()
    }

    fn send(&mut self, body: &[u8]) -> Result<(), String> {
        let mut tasks = body.split(|byte| *byte == b'\n').filter(|task| !task.is_empty());
        tasks.try_for_each(|task| run_task(&mut self.0, task))
    }
}

/// Hands a task over and waits for its end: only then are its rows there.
fn run_task(client: &mut Client, task: &[u8]) -> Result<(), String> {
    let json = "Content-Type: application/json\r\n";
    let reply = client.send("POST", "/druid/indexer/v1/task", json, task);
    let reply = reply.map_err(|error| error.to_string())?;
    let answer: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let id = answer.get("task").and_then(|id| id.as_str()).ok_or_else(|| reply.summary())?;
    let path = format!("/druid/indexer/v1/task/{}/status", http::escape(id));
    let begin = Instant::now();
    while begin.elapsed() < TASK_MAX {
        let reply = client.get(&path).map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&reply.body);
        if text.contains("\"SUCCESS\"") {
            return Ok(());
        }
        if text.contains("\"FAILED\"") {
            return Err(why_failed(&reply.body).unwrap_or_else(|| reply.summary()));
        }
        thread::sleep(Duration::from_millis(100));
    }
    Err("a task did not end within ten minutes".to_owned())
}

/// The first line of what Druid says of a task that failed; the rest is a stack of Java's.
fn why_failed(reply: &[u8]) -> Option<String> {
    let reply: Value = serde_json::from_slice(reply).ok()?;
    let why = reply.get("status")?.get("errorMsg")?.as_str()?;
    Some(why.lines().next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_failed_says_why_without_its_stack() {
        let reply = br#"{"task":"index_parallel_cpu_a","status":{"status":"FAILED","errorMsg":
            "ISE: Failed to get locks for intervals\n\tat org.apache.druid.indexing"}}"#;
        let why = why_failed(reply).unwrap();
        assert_eq!(why, "ISE: Failed to get locks for intervals");
        assert_eq!(why_failed(b"{}"), None);
    }
}
