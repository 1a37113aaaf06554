//! Databases and retention policies at the target of an import: what the source has and the target
//! lacks is made. What the target has stays as it is: somebody may have set it.

use crate::client::{Client, push_percent};
use crate::error::Error;
use crate::influx::policies;
use foliot_engine::{Caller, Engine};
use foliot_schema::{DEFAULT_POLICY, Databases};
use serde_json::Value;
use std::fmt::Write as _;

const NS_PER_SECOND: u64 = 1_000_000_000;

/// A retention policy as its source has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    pub(crate) name: String,
    /// How long samples are kept; 0 is for ever.
    pub(crate) keep_s: u64,
    /// How InfluxDB cuts its files, remembered for clients that ask; 0 is not known.
    pub(crate) shard_s: u64,
    /// Whether it is meant where a client names none.
    pub(crate) is_default: bool,
}

impl Policy {
    /// One of which only the name is known.
    pub(crate) fn unbounded(name: &str) -> Self {
        Self { name: name.to_owned(), keep_s: 0, shard_s: 0, is_default: false }
    }

    /// Whether a database that is written to has it anyway.
    fn is_plain(&self) -> bool {
        self.name == DEFAULT_POLICY && self.is_default && self.keep_s == 0
    }

    /// Its properties, as InfluxQL writes them.
    fn properties(&self) -> String {
        let mut text = match self.keep_s {
            0 => "DURATION INF REPLICATION 1".to_owned(),
            seconds => format!("DURATION {seconds}s REPLICATION 1"),
        };
        if self.shard_s > 0 {
            // Writing to memory cannot fail.
            let _ = write!(text, " SHARD DURATION {}s", self.shard_s);
        }
        text
    }
}

/// Makes what a store of this process lacks.
pub(crate) fn make_in(engine: &Engine, database: &str, wanted: &[Policy]) -> Result<(), Error> {
    if wanted.iter().all(Policy::is_plain) {
        return Ok(());
    }
    let databases = Databases::new(engine);
    let found = databases.get(database);
    let caller = Caller { door: "foliot import", ..Caller::default() };
    for policy in wanted {
        if found.as_ref().is_some_and(|found| found.policy(Some(&policy.name)).is_some()) {
            continue;
        }
        let ns =
            |seconds: u64| i64::try_from(seconds.saturating_mul(NS_PER_SECOND)).unwrap_or(i64::MAX);
        let mut made = foliot_schema::Policy::unbounded(&policy.name);
        made.duration_ns = ns(policy.keep_s);
        if policy.shard_s > 0 {
            made.shard_duration_ns = ns(policy.shard_s);
        }
        let is_default = found.is_none() && policy.is_default;
        databases.set_policy(engine, database, made, is_default, &caller)?;
    }
    Ok(())
}

/// Makes what a running server lacks, in InfluxQL, which needs an administrator there.
pub(crate) fn make_at(client: &Client, database: &str, wanted: &[Policy]) -> Result<(), Error> {
    if wanted.iter().all(Policy::is_plain) {
        return Ok(());
    }
    let name = quoted(database);
    let default = wanted.iter().find(|policy| policy.is_default);
    let found = match policies(client, database) {
        Ok(found) => found,
        Err(Error::Answer { message, .. }) if message.starts_with("database not found") => {
            let with = default.map_or_else(String::new, |policy| {
                format!(" WITH {} NAME {}", policy.properties(), quoted(&policy.name))
            });
            order(client, &format!("CREATE DATABASE {name}{with}"))?;
            default.into_iter().cloned().collect()
        }
        Err(error) => return Err(error),
    };
    for policy in wanted {
        if found.iter().any(|found| found.name == policy.name) {
            continue;
        }
        let (called, properties) = (quoted(&policy.name), policy.properties());
        order(client, &format!("CREATE RETENTION POLICY {called} ON {name} {properties}"))?;
    }
    Ok(())
}

/// Gives an order in InfluxQL.
fn order(client: &Client, statement: &str) -> Result<(), Error> {
    let mut target = "/query?q=".to_owned();
    push_percent(statement, &mut target);
    let answer = client.post(&target, b"")?;
    let said: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let error = said.get("error").or_else(|| said.pointer("/results/0/error"));
    match error.and_then(Value::as_str) {
        None if answer.status == 200 => Ok(()),
        error => {
            let why = error.map_or_else(|| answer.text(), str::to_owned);
            let message = format!("{statement}: {why}");
            Err(Error::Answer { status: answer.status, message })
        }
    }
}

/// A name as InfluxQL quotes it.
pub(crate) fn quoted(name: &str) -> String {
    let mut text = "\"".to_owned();
    for c in name.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            '\n' => text.push_str("\\n"),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}
