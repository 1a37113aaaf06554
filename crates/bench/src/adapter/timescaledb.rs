//! TimescaleDB (docs.timescale.com): PostgreSQL, into hypertables.

use std::io;

use super::description::{Ack, Adapter, Door};
use super::postgres::{self, COPY_DOOR, SQL_DOOR, select};
use super::told;
use crate::dialect::sql::TIME;
use crate::fleet::Fleet;
use crate::postgres::Session;

/// Length of a hypertable's chunks, as iotdb-benchmark chooses it.
const CHUNK_MS: i64 = 604_800_000;

pub(super) static ADAPTER: Adapter = Adapter {
    name: "timescaledb",
    met: "2.22.1, Apache edition (built from its source)",
    ack: Ack::Durable,
    syncs: postgres::SYNCS,
    version,
    prepare,
    flush: &[],
    doors: &[
        Door { name: "timescaledb", help: "TimescaleDB, COPY into a hypertable", ..COPY_DOOR },
        Door { name: "timescaledb-sql", help: "TimescaleDB, INSERT that overwrites", ..SQL_DOOR },
    ],
};

fn version(address: &str) -> Option<String> {
    let extension = "SELECT 'is ' || extversion FROM pg_extension WHERE extname = 'timescaledb'";
    let server = told::after(&select(address, "SELECT version()")?, "PostgreSQL")?;
    let extension = select(address, extension).and_then(|text| told::after(&text, "is"));
    Some(format!("{} in PostgreSQL {server}", extension.unwrap_or_default()))
}

fn prepare(fleet: &Fleet, address: &str) -> io::Result<()> {
    postgres::create_tables(fleet, address)?;
    let mut session = Session::open(address)?;
    for table in &fleet.tables {
        session.run(&format!(
            "CREATE EXTENSION IF NOT EXISTS timescaledb; \
             SELECT create_hypertable('\"{}\"', '{TIME}', chunk_time_interval => {CHUNK_MS}, \
             if_not_exists => TRUE)",
            table.name
        ))?;
    }
    Ok(())
}
