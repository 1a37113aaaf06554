//! What servers need before the first row: databases and tables. Whatever exists already stays.

use std::io;

use crate::encode::{TIME, label_names};
use crate::fleet::{Fleet, Table};
use crate::http::{Client, escape};
use crate::law::Kind;
use crate::postgres::Session;

/// Length of a hypertable's chunks, as iotdb-benchmark chooses it.
const CHUNK_MS: i64 = 604_800_000;

/// Sends one request that must succeed.
pub(super) fn ask(address: &str, path: &str) -> io::Result<()> {
    let reply = Client::new(address).send("POST", path, "", b"")?;
    match reply.is_success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("{address} refused {path}: {}", reply.summary()))),
    }
}

/// One table per measurement; the last row of a source and time replaces those before it.
pub(super) fn questdb(fleet: &Fleet, address: &str) -> io::Result<()> {
    let mut client = Client::new(address);
    for (at, table) in fleet.tables.iter().enumerate() {
        let labels = label_names(fleet, at).into_iter().map(|label| format!("{label} SYMBOL"));
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

/// One table per kind of row, with a column for each label and field.
pub(super) fn postgres(fleet: &Fleet, address: &str, hypertable: bool) -> io::Result<()> {
    let mut session = Session::open(address)?;
    for (at, table) in fleet.tables.iter().enumerate() {
        session.run(&definition(table, &label_names(fleet, at)))?;
        if hypertable {
            session.run(&format!(
                "CREATE EXTENSION IF NOT EXISTS timescaledb; \
                 SELECT create_hypertable('\"{}\"', '{TIME}', chunk_time_interval => {CHUNK_MS}, \
                 if_not_exists => TRUE)",
                table.name
            ))?;
        }
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
