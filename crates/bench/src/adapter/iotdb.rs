//! IoTDB over its REST service, version 2 (iotdb.apache.org, "REST API V2" and "Query Data"):
//! records in columns, and its SQL. A series is a path; labels other than the source's have no
//! place in it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::description::{Ack, Adapter, Can, Coding, Door, Post, Style, Way};
use super::told;
use crate::cursor::{Row, is_present};
use crate::dialect::{Language, Over, Request, json as parsed, measurements, names, never};
use crate::encode::{Body, Format, Own, Precision, push_integer, push_value};
use crate::fleet::Fleet;
use crate::http::Client;
use crate::law::Kind;
use crate::oracle::source_name;
use crate::profile::Label;
use crate::question::{Answer, Ask, Function, Question, Sources};

pub(super) static ADAPTER: Adapter = Adapter {
    name: "iotdb",
    met: "2.0.1-beta",
    ack: Ack::Unknown,
    syncs: "every second in the background (wal_mode = ASYNC)",
    version,
    prepare: |_, _| Ok(()),
    flush: &[],
    doors: &[Door {
        name: "iotdb",
        help: "IoTDB, insertRecords of its REST service, as root:root@HOST:PORT",
        style: Style::Rows,
        format: Format::Own(&RECORDS),
        precision: Precision::Ms,
        way: Way::Post(Post {
            path: "/rest/v2/insertRecords",
            coding: Coding::Plain,
            good_reply: "\"code\":200",
        }),
        language: Some(&SQL),
        can: &[Can::Late, Can::Fields, Can::Again, Can::Replace, Can::ShowAtOnce],
        batch_min: 1,
    }],
};

static SQL: Language = Language {
    name: "iotdb",
    help: "IoTDB's SQL at `/rest/v2/query`",
    over: Over::Http,
    is_whole: true,
    requests,
    read: |fleet, question, _, reply, answer| read(fleet, question, &parsed(reply)?, answer),
    is_nothing: never,
    rounding: 0.0,
};

/// The columns that `insertRecords` takes: one record a row.
static RECORDS: Own = Own { is_by_row: true, is_json: true, body: || Box::new(Records::default()) };

/// Path below which everything is kept.
const ROOT: &str = "root.bench";

/// Name of the column that tells rows of different devices apart.
const DEVICE: &str = "Device";

fn version(address: &str) -> Option<String> {
    let headers = "Content-Type: application/json\r\n";
    let body = br#"{"sql":"SHOW VERSION"}"#;
    let reply = Client::new(address).send("POST", "/rest/v2/query", headers, body).ok()?;
    told::after(&String::from_utf8_lossy(&reply.body), "values")
}

/// Path of a source, its name quoted because it may hold more than letters and digits.
fn path(measurement: &str, source: &str) -> String {
    format!("{ROOT}.{measurement}.`{source}`")
}

/// Times, names, types, values and devices of a request.
#[derive(Default)]
struct Records {
    columns: [Vec<u8>; 5],
    labels: Vec<Label>,
}

impl Body for Records {
    fn row(&mut self, fleet: &Fleet, row: &Row<'_>, time: i64, _out: &mut Vec<u8>) -> u64 {
        let Some(table) = fleet.tables.get(row.table) else { return 0 };
        fleet.labels(row.source, row.step, row.table, &mut self.labels);
        let [times, names, kinds, cells, devices] = &mut self.columns;
        push_integer(time, times);
        times.push(b',');
        let source = source_name(&self.labels, table.source_label);
        let group =
            if table.groups > 0 { (row.source % table.groups).to_string() } else { "".into() };
        let device = format!("\"{}\",", path(&format!("{}{group}", table.name), &source));
        devices.extend_from_slice(device.as_bytes());
        for list in [&mut *names, &mut *kinds, &mut *cells] {
            list.push(b'[');
        }
        let mut values = 0;
        let fields = table.fields.iter().skip(row.first_field).zip(row.values);
        for (field, value) in fields.filter(|(_, value)| is_present(**value)) {
            names.extend_from_slice(format!("\"{}\",", field.name).as_bytes());
            let kind = if field.kind == Kind::Integer { "\"INT64\"," } else { "\"DOUBLE\"," };
            kinds.extend_from_slice(kind.as_bytes());
            push_value(field.kind, *value, cells);
            cells.push(b',');
            values += 1;
        }
        for list in [names, kinds, cells] {
            list.pop();
            list.extend_from_slice(b"],");
        }
        values
    }

    fn close(&mut self, _fleet: &Fleet, out: &mut Vec<u8>) {
        let names =
            ["timestamps", "measurements_list", "data_types_list", "values_list", "devices"];
        out.extend_from_slice(b"{\"is_aligned\":false");
        for (name, column) in names.iter().zip(&mut self.columns) {
            column.pop();
            out.extend_from_slice(format!(",\"{name}\":[").as_bytes());
            out.append(column);
            out.push(b']');
        }
        out.push(b'}');
    }
}

fn requests(fleet: &Fleet, question: &Question) -> Option<Vec<Request>> {
    let body = json!({ "sql": text(fleet, question)?, "row_limit": 100_000_000 }).to_string();
    let path = "/rest/v2/query".to_owned();
    Some(vec![Request { path, body: Some(body), field: 0, shift_ms: 0 }])
}

fn text(fleet: &Fleet, question: &Question) -> Option<String> {
    let table = fleet.tables.get(question.table)?;
    let fields = question.fields.iter().map(|at| Some(table.fields.get(*at)?.name.as_str()));
    let fields: Vec<&str> = fields.collect::<Option<_>>()?;
    let paths = paths(fleet, question)?;
    let from = paths.join(", ");
    let (begin, end) = (question.from_ms, question.to_ms);
    let window = format!("time >= {begin} AND time < {end}");
    // A condition drops whole rows, which hold all fields, and all paths unless each is a table.
    let above = |above: i64| match fields.as_slice() {
        [field] => Some(format!(" AND {field} > {above}")),
        _ => None,
    };
    let buckets = |length_ms: i64| format!("GROUP BY ([{begin}, {end}), {length_ms}ms)");
    Some(match question.ask {
        Ask::Samples { descending, above: bound } => {
            let bound = bound.map_or(Some(String::new()), above)?;
            let order = if descending { " ORDER BY TIME DESC" } else { "" };
            let fields = fields.join(", ");
            format!("SELECT {fields} FROM {from} WHERE {window}{bound}{order} ALIGN BY DEVICE")
        }
        Ask::Aggregate { function, per_series: true, bucket_ms } => {
            let tail = bucket_ms.map_or(format!("WHERE {window}"), buckets);
            format!("SELECT {} FROM {from} {tail}", applied(function, &fields))
        }
        Ask::Aggregate { function, per_series: false, bucket_ms } => {
            let tail = match bucket_ms {
                Some(length_ms) => format!("{}, LEVEL = 1", buckets(length_ms)),
                // Over several paths the service names a column once for each of them, and without
                // times loses all but the first values.
                None if paths.len() > 1 => return None,
                None => format!("WHERE {window} GROUP BY LEVEL = 1"),
            };
            format!("SELECT {} FROM {from} {tail}", applied(function, &fields))
        }
        Ask::AggregateAbove { function, above: bound } => {
            let (columns, bound) = (applied(function, &fields), above(bound)?);
            format!("SELECT {columns} FROM {from} WHERE {window}{bound} ALIGN BY DEVICE")
        }
        Ask::Newest { function, bucket_ms, count } => {
            let (columns, buckets) = (applied(function, &fields), buckets(bucket_ms));
            let newest = format!("ORDER BY TIME DESC LIMIT {count}");
            format!("SELECT {columns} FROM {from} {buckets}, LEVEL = 1 {newest}")
        }
        Ask::Last => format!("SELECT LAST {} FROM {from}", fields.join(", ")),
        Ask::Trucks(_) => return None,
    })
}

/// The paths of the sources in question; none where they are told apart by another label.
fn paths(fleet: &Fleet, question: &Question) -> Option<Vec<String>> {
    let table = fleet.tables.get(question.table)?;
    Some(match &question.sources {
        Sources::All if table.groups > 0 => vec![format!("{ROOT}.{}*.*", table.name)],
        Sources::All => vec![format!("{ROOT}.{}.*", table.name)],
        Sources::These(_) => {
            let (_, names) = names(fleet, question)?;
            // A path that does not exist matches nothing, so every source may be sought in every
            // group.
            let groups = measurements(fleet, table, &question.sources);
            let paths = groups.iter().flat_map(|group| names.iter().map(|name| path(group, name)));
            paths.collect()
        }
        Sources::Labelled(..) => return None,
    })
}

/// A function of each field.
fn applied(function: Function, fields: &[&str]) -> String {
    let name = match function {
        Function::Min => "min_value",
        Function::Max => "max_value",
        Function::Mean => "avg",
        function => function.name(),
    };
    let columns: Vec<String> = fields.iter().map(|field| format!("{name}({field})")).collect();
    columns.join(", ")
}

fn read(fleet: &Fleet, question: &Question, reply: &Value, answer: &mut Answer) -> Option<()> {
    let table = fleet.tables.get(question.table)?;
    let columns = reply.get("values")?.as_array()?;
    let times = reply.get("timestamps").and_then(Value::as_array);
    let apart =
        !matches!(question.ask, Ask::Aggregate { per_series: false, .. } | Ask::Newest { .. });
    // `root.bench.cpu.host_1.usage_user`, that in the brackets of a function, or its end.
    let split = |path: &str| -> Option<(String, usize)> {
        let path = path.rsplit('(').next()?.trim_end_matches(')');
        let (device, field) = path.rsplit_once('.').unwrap_or(("", path));
        let field = table.fields.iter().position(|known| known.name == field)?;
        Some((if apart { source(device) } else { String::new() }, field))
    };
    if question.ask == Ask::Last {
        let (paths, texts) = (columns.first()?.as_array()?, columns.get(1)?.as_array()?);
        for ((time, path), text) in times?.iter().zip(paths).zip(texts) {
            answer.push(split(path.as_str()?)?, time.as_i64()?, text.as_str()?.parse().ok()?);
        }
        return Some(());
    }
    let counts = matches!(
        question.ask,
        Ask::Aggregate { function: Function::Count, .. }
            | Ask::AggregateAbove { function: Function::Count, .. }
    );
    let mut devices: Option<&Vec<Value>> = None;
    let mut seen = BTreeSet::new();
    for (name, column) in reply.get("expressions")?.as_array()?.iter().zip(columns) {
        let (name, column) = (name.as_str()?, column.as_array()?);
        if name == DEVICE {
            devices = Some(column);
            continue;
        }
        // What lies under one level comes again for each path that was asked for.
        if !seen.insert(name) {
            continue;
        }
        let (of_column, field) = split(name)?;
        for (at, value) in column.iter().enumerate() {
            let time = times.and_then(|times| times.get(at)?.as_i64()).unwrap_or(0);
            let Some(value) = value.as_f64().filter(|value| !(counts && *value == 0.0)) else {
                continue;
            };
            let of_row = devices.map(|devices| Some(source(devices.get(at)?.as_str()?)));
            let source = of_row.unwrap_or_else(|| Some(of_column.clone()))?;
            answer.push((source, field), time, value);
        }
    }
    Some(())
}

/// The source that a path of a device ends in.
fn source(device: &str) -> String {
    device.rsplit('.').next().unwrap_or_default().trim_matches('`').to_owned()
}
