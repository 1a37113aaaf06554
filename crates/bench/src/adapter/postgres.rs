//! PostgreSQL (postgresql.org, "SQL language" and "Frontend/backend protocol"): COPY, or INSERT
//! that overwrites, into one table per kind of row with a column for each label and field.

use std::io;

use super::description::{Ack, Adapter, Can, Carrier, Door, Style, Way};
use super::told;
use crate::cursor::Row;
use crate::dialect::sql::{self, Flavour, TIME, trucks};
use crate::dialect::{Language, Over, Request, never};
use crate::encode::{Body, Cells, Format, Own, Precision, Tables};
use crate::fleet::Fleet;
use crate::law::Kind;
use crate::postgres::{COPY_END, NULL, Session};
use crate::profile::Table;
use crate::question::{Answer, Ask, Question};

pub(super) static ADAPTER: Adapter = Adapter {
    name: "postgres",
    met: "15 (Debian)",
    ack: Ack::Durable,
    syncs: SYNCS,
    version: |address| told::after(&select(address, "SELECT version()")?, "PostgreSQL"),
    prepare: create_tables,
    flush: &[],
    doors: &[
        Door {
            name: "postgres",
            help: "PostgreSQL, COPY; the address may carry a login, as USER:PASSWORD@HOST:PORT",
            ..COPY_DOOR
        },
        Door { name: "postgres-sql", help: "PostgreSQL, INSERT that overwrites", ..SQL_DOOR },
    ],
};

pub(super) const SYNCS: &str = "before each answer, unless synchronous_commit is off";

/// COPY refuses a row that is there.
pub(super) const COPY_DOOR: Door = Door {
    name: "",
    help: "",
    style: Style::Rows,
    format: Format::Own(&COPY),
    precision: Precision::Ms,
    way: Way::Own(|address| Box::new(Script { address: address.to_owned(), session: None })),
    language: Some(&SQL),
    can: &[Can::Late, Can::ShowAtOnce],
    batch_min: 1,
};

/// A statement may touch a row only once, so fields cannot come one by one.
pub(super) const SQL_DOOR: Door = Door {
    style: Style::Sql,
    format: Format::Own(&INSERTS),
    can: &[Can::Late, Can::Again, Can::Replace, Can::ShowAtOnce],
    ..COPY_DOOR
};

static SQL: Language = Language {
    name: "postgres",
    help: "SQL over PostgreSQL's wire protocol",
    over: Over::Postgres,
    is_whole: true,
    requests,
    read: |_, question, request, reply, answer| {
        read_rows(question, request, &String::from_utf8_lossy(reply), answer)
    },
    is_nothing: never,
    rounding: 0.0,
};

static FLAVOUR: Flavour = Flavour {
    time: "\"time\"",
    window: |from_ms, to_ms| format!("\"{TIME}\" >= {from_ms} AND \"{TIME}\" < {to_ms}"),
    bucket: |length_ms| format!("\"{TIME}\" - \"{TIME}\" % {length_ms}"),
    newest: |source, fields| {
        let plain: String = fields.iter().map(|field| format!(", \"{field}\"")).collect();
        let head = format!("DISTINCT ON ({source}) {source} AS s, \"{TIME}\" AS t{plain}");
        (head, format!(" ORDER BY {source}, \"{TIME}\" DESC"))
    },
};

fn requests(fleet: &Fleet, question: &Question) -> Option<Vec<Request>> {
    if let Ask::Trucks(asked) = question.ask {
        return trucks::requests(fleet, question, asked);
    }
    let body = Some(sql::text(fleet, question, &FLAVOUR)?);
    Some(vec![Request { path: String::new(), body, field: 0, shift_ms: 0 }])
}

/// `COPY` with its rows, as `psql` reads it.
static COPY: Own =
    Own { is_by_row: true, is_json: false, body: || Box::new(Copies(Tables::default())) };

static INSERTS: Own =
    Own { is_by_row: true, is_json: false, body: || Box::new(Inserts::default()) };

struct Copies(Tables);

impl Body for Copies {
    fn row(&mut self, fleet: &Fleet, row: &Row<'_>, time: i64, _out: &mut Vec<u8>) -> u64 {
        let cells = Cells { open: "", between: b'\t', quote: "", null: NULL, close: "\n" };
        self.0.row(fleet, row, time, &cells)
    }

    fn close(&mut self, fleet: &Fleet, out: &mut Vec<u8>) {
        self.0.close(fleet, |table, labels, rows| {
            let head = format!("COPY {} FROM STDIN;\n", head(table, labels));
            out.extend_from_slice(head.as_bytes());
            out.append(rows);
            out.extend_from_slice(COPY_END);
        });
    }
}

#[derive(Default)]
struct Inserts {
    tables: Tables,
    /// Statements that are complete before the body is.
    complete: Vec<u8>,
}

impl Body for Inserts {
    fn row(&mut self, fleet: &Fleet, row: &Row<'_>, time: i64, _out: &mut Vec<u8>) -> u64 {
        if row.again {
            // No statement may overwrite what it has itself inserted.
            insert(&mut self.tables, fleet, &mut self.complete);
        }
        let cells = Cells { open: "(", between: b',', quote: "'", null: "NULL", close: ")," };
        self.tables.row(fleet, row, time, &cells)
    }

    fn close(&mut self, fleet: &Fleet, out: &mut Vec<u8>) {
        out.append(&mut self.complete);
        insert(&mut self.tables, fleet, out);
    }
}

fn insert(tables: &mut Tables, fleet: &Fleet, out: &mut Vec<u8>) {
    tables.close(fleet, |table, labels, rows| {
        rows.pop();
        let head = format!("INSERT INTO {} VALUES ", head(table, labels));
        out.extend_from_slice(head.as_bytes());
        out.append(rows);
        out.extend_from_slice(overwriting(table).as_bytes());
    });
}

/// Table and columns of a row.
fn head(table: &Table, labels: &[&str]) -> String {
    let fields = table.fields.iter().map(|field| field.name.as_str());
    let columns = [TIME].into_iter().chain(labels.iter().copied()).chain(fields);
    let columns: Vec<String> = columns.map(|column| format!("\"{column}\"")).collect();
    format!("\"{}\" ({})", table.name, columns.join(","))
}

/// The last write of a source and time wins; a field that it lacks stays.
fn overwriting(table: &Table) -> String {
    let name = table.name;
    let set = table.fields.iter().map(|field| {
        let field = &field.name;
        format!("\"{field}\"=coalesce(excluded.\"{field}\",\"{name}\".\"{field}\")")
    });
    let set: Vec<String> = set.collect();
    let source = table.source_label;
    format!(" ON CONFLICT (\"{source}\",\"{TIME}\") DO UPDATE SET {};\n", set.join(","))
}

/// One table per kind of row, with a column for each label and field.
pub(super) fn create_tables(fleet: &Fleet, address: &str) -> io::Result<()> {
    let mut session = Session::open(address)?;
    for (at, table) in fleet.tables.iter().enumerate() {
        session.run(&definition(table, &fleet.label_names(at)))?;
    }
    Ok(())
}

/// The table, its key (a source reports once at a time) and a coarse index over time; columns
/// that an earlier load of the same table lacked are added.
fn definition(table: &Table, labels: &[&str]) -> String {
    let (name, source) = (table.name, table.source_label);
    let mut columns: Vec<String> = vec![format!("\"{TIME}\" bigint NOT NULL")];
    columns.extend(labels.iter().map(|label| format!("\"{label}\" text")));
    let fields = table.fields.iter().map(|field| {
        let kind = if field.kind == Kind::Integer { "bigint" } else { "double precision" };
        format!("\"{}\" {kind}", field.name)
    });
    let added: Vec<String> =
        fields.clone().map(|field| format!("ADD COLUMN IF NOT EXISTS {field}")).collect();
    columns.extend(fields);
    format!(
        "CREATE TABLE IF NOT EXISTS \"{name}\" ({}, PRIMARY KEY (\"{source}\", \"{TIME}\")); \
         ALTER TABLE \"{name}\" {}; \
         CREATE INDEX IF NOT EXISTS \"{name}_{TIME}\" ON \"{name}\" USING brin (\"{TIME}\")",
        columns.join(", "),
        added.join(", ")
    )
}

/// Scripts over one session; opened again after an error.
struct Script {
    address: String,
    session: Option<Box<Session>>,
}

impl Carrier for Script {
    fn open(&mut self) -> io::Result<()> {
        self.session = Some(Box::new(Session::open(&self.address)?));
        Ok(())
    }

    fn send(&mut self, body: &[u8]) -> Result<(), String> {
        let open = match self.session.take() {
            Some(open) => Ok(open),
            None => Session::open(&self.address).map(Box::new),
        };
        let ran = open.and_then(|mut open| {
            open.script(body)?;
            self.session = Some(open);
            Ok(())
        });
        ran.map_err(|error| error.to_string())
    }
}

/// The rows of a statement, as text.
pub(super) fn select(address: &str, statement: &str) -> Option<String> {
    let rows = Session::open(address).ok()?.run(statement).ok()?;
    Some(String::from_utf8_lossy(&rows).into_owned())
}

/// Reads rows of text.
fn read_rows(
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
                sql::push(question, answer, source, *field, time_ms, cell.parse().ok()?);
            }
        }
    }
    Some(())
}
