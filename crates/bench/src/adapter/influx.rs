//! InfluxDB 1.x (docs.influxdata.com, InfluxDB 1.8, API reference).

use std::io;

use super::description::{Ack, Adapter, Can, Door, Post, Style};
use crate::dialect::DATABASE;
use crate::dialect::influxql::INFLUXQL;
use crate::encode::{Format, Precision};
use crate::http::Client;

pub(super) static ADAPTER: Adapter = Adapter {
    name: "influx",
    met: "1.6.7 (Debian)",
    ack: Ack::Durable,
    syncs: "before each answer (wal-fsync-delay = 0)",
    version: |address| Client::new(address).get("/ping").ok()?.server_version,
    prepare: |_, address| create(address),
    flush: &[],
    doors: &[Door {
        name: "influx",
        help: "InfluxDB 1.x, line protocol over HTTP",
        style: Style::Rows,
        format: Format::Lines,
        precision: Precision::Ns,
        way: Post::to("/write?db=default"),
        language: Some(&INFLUXQL),
        can: &[Can::Gzip, Can::Late, Can::Fields, Can::Again, Can::Replace, Can::ShowAtOnce],
        batch_min: 1,
    }],
};

/// Makes the database.
fn create(address: &str) -> io::Result<()> {
    let path = format!("/query?q=CREATE%20DATABASE%20%22{DATABASE}%22");
    let reply = Client::new(address).send("POST", &path, "", b"")?;
    match reply.is_success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("{address} refused {path}: {}", reply.summary()))),
    }
}
