//! Imports from a running server of InfluxDB 2: asks for its buckets, and for all that is in each.
//! A bucket becomes a database, and one called `database/policy` that policy of it.

use super::annotated;
use crate::client::{Client, Reading, push_percent};
use crate::error::Error;
use crate::import::{Import, Place};
use crate::places::Policy;
use crate::source::Source;
use foliot_schema::{DEFAULT_POLICY, DatabaseName};
use serde_json::{Value, json};

/// Buckets of one page of their list.
const PAGE_BUCKETS: usize = 100;

/// All times that there are: the first and the last nanosecond that InfluxDB keeps.
const RANGE: &str =
    "range(start: 1677-09-21T00:12:43.145224194Z, stop: 2262-04-11T23:47:16.854775807Z)";

/// What hardly a bucket has anything in.
const NEWEST: &str = "range(start: -1s)";

/// Imports annotated CSV, which answers of a server and exports of its page are.
///
/// # Errors
/// When the text cannot be read or storing fails as a whole.
pub fn import(source: &mut Source<'_>, import: &mut Import<'_>) -> Result<(), Error> {
    annotated::import(source, import)
}

/// The buckets of a running server that are asked for.
#[derive(Debug)]
pub struct Buckets {
    client: Client,
    wanted: Vec<Bucket>,
}

impl Buckets {
    /// Asks a server for one bucket or all. Those of the server itself are left out.
    ///
    /// # Errors
    /// When the server does not answer, refuses, or has no such bucket.
    pub fn ask(
        client: Client,
        organisation: Option<&str>,
        bucket: Option<&str>,
    ) -> Result<Self, Error> {
        let mut wanted = buckets(&client, organisation)?;
        if let Some(bucket) = bucket {
            let names: Vec<_> = wanted.iter().map(|bucket| bucket.name.clone()).collect();
            wanted.retain(|found| found.name == bucket);
            if wanted.is_empty() {
                return Err(Error::Format(format!(
                    "there is no bucket {bucket:?} that this token may read; there are: {}",
                    names.join(", ")
                )));
            }
        }
        // One that lists its buckets need not answer Flux, as Foliot does not.
        if let Some(bucket) = wanted.first() {
            bucket.ask(&client, NEWEST)?.whole()?;
        }
        Ok(Self { client, wanted })
    }

    /// Imports all that is in them.
    ///
    /// # Errors
    /// When the server or the store fails; rows that are refused are counted.
    pub fn import(&self, import: &mut Import<'_>) -> Result<(), Error> {
        for bucket in &self.wanted {
            let name = DatabaseName::parse(&bucket.name).ok_or_else(|| {
                Error::Format(format!("bucket {:?} has no name for a database", bucket.name))
            })?;
            let policy = name.policy.clone().unwrap_or_else(|| DEFAULT_POLICY.to_owned());
            let made = Policy {
                name: policy.clone(),
                keep_s: bucket.keep_s,
                shard_s: bucket.shard_s,
                is_default: name.policy.is_none(),
            };
            import.make(&name.database, &[made])?;
            import.set_place(Place { database: name.database, policy: Some(policy) })?;
            bucket.pull(&self.client, import)?;
        }
        Ok(())
    }
}

/// A bucket as the server lists it.
#[derive(Debug)]
struct Bucket {
    id: String,
    name: String,
    organisation: String,
    keep_s: u64,
    shard_s: u64,
}

impl Bucket {
    fn of(listed: &Value) -> Option<Self> {
        let text = |name: &str| listed.get(name).and_then(Value::as_str);
        let rule = |name: &str| listed.pointer(&format!("/retentionRules/0/{name}"));
        let seconds = |name: &str| rule(name).and_then(Value::as_u64).unwrap_or(0);
        Some(Self {
            id: text("id")?.to_owned(),
            name: text("name")?.to_owned(),
            organisation: text("orgID").unwrap_or_default().to_owned(),
            keep_s: seconds("everySeconds"),
            shard_s: seconds("shardGroupDurationSeconds"),
        })
        .filter(|_| text("type") != Some("system"))
    }

    fn pull(&self, client: &Client, import: &mut Import<'_>) -> Result<(), Error> {
        let answer = self.ask(client, RANGE)?;
        let mut source = Source::new(answer, &format!("bucket {}", self.name), None)?;
        annotated::import(&mut source, import)
    }

    /// Asks for what it has in a range.
    fn ask<'c>(&self, client: &'c Client, range: &str) -> Result<Reading<'c>, Error> {
        let mut target = "/api/v2/query?orgID=".to_owned();
        push_percent(&self.organisation, &mut target);
        let name = self.name.replace('\\', "\\\\").replace('"', "\\\"");
        let question = json!({
            "type": "flux",
            "query": format!("from(bucket: \"{name}\") |> {range}"),
            "dialect": {"header": true, "delimiter": ",", "annotations": ["datatype", "group", "default"]},
        });
        let body = question.to_string();
        let answer = client.post_as(&target, "application/json", body.as_bytes())?;
        if answer.status() != 200 {
            return Err(refused(answer));
        }
        Ok(answer)
    }
}

fn refused(answer: Reading<'_>) -> Error {
    match answer.whole() {
        Ok(answer) => Error::Answer { status: answer.status, message: answer.text() },
        Err(error) => error,
    }
}

/// All buckets, page by page.
fn buckets(client: &Client, organisation: Option<&str>) -> Result<Vec<Bucket>, Error> {
    let mut found: Vec<Bucket> = Vec::new();
    loop {
        let mut target = format!("/api/v2/buckets?limit={PAGE_BUCKETS}");
        if let Some(last) = found.last() {
            target.push_str("&after=");
            push_percent(&last.id, &mut target);
        }
        if let Some(organisation) = organisation {
            target.push_str("&org=");
            push_percent(organisation, &mut target);
        }
        let answer = client.get(&target)?.whole()?;
        if answer.status != 200 {
            return Err(Error::Answer { status: answer.status, message: answer.text() });
        }
        let page: Value = serde_json::from_slice(&answer.body)
            .map_err(|error| Error::Format(format!("the list of buckets is no JSON: {error}")))?;
        let listed = page.get("buckets").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        found.extend(listed.iter().filter_map(Bucket::of));
        if listed.len() < PAGE_BUCKETS {
            return Ok(found);
        }
    }
}
