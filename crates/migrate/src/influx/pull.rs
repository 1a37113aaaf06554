//! Imports from a running server of InfluxDB 1: asks it for everything, series by series.
//!
//! Answers come in chunks of MessagePack, in which integers, floats and texts are different things
//! and every float is exact. The same import twice writes the same samples twice, which leaves the
//! store as it was: one that broke off is begun again.

use super::msgpack::{Item, Reader};
use crate::client::Client;
use crate::client::push_percent;
use crate::error::Error;
use crate::import::{Import, Place};
use crate::line::fault_of;
use crate::places::{Policy, quoted};
use foliot_model::Value;
use foliot_proto_influx::{push_field_name, push_measurement, push_tag, push_value};
use std::io::{BufReader, Read};

/// Rows of one piece of an answer.
const CHUNK_ROWS: u32 = 5_000;

/// InfluxDB's measurements of itself.
const INTERNAL: &str = "_internal";

/// What a running server has of what is asked for: its databases, each with retention policies.
#[derive(Debug)]
pub struct Databases {
    client: Client,
    wanted: Vec<(String, Vec<Policy>)>,
}

impl Databases {
    /// Asks a server for one database or all, with one retention policy of each or all.
    ///
    /// # Errors
    /// When the server does not answer, refuses, or has no such policy.
    pub fn ask(
        client: Client,
        database: Option<&str>,
        policy: Option<&str>,
    ) -> Result<Self, Error> {
        let names = match database {
            Some(database) => vec![database.to_owned()],
            None => names(&client, "", "SHOW DATABASES")?,
        };
        let mut wanted = Vec::new();
        for database in names.into_iter().filter(|name| name != INTERNAL) {
            let mut policies = policies(&client, &database)?;
            policies.retain(|found| policy.is_none_or(|wanted| found.name == wanted));
            wanted.push((database, policies));
        }
        match policy.filter(|_| wanted.iter().all(|(_, policies)| policies.is_empty())) {
            Some(policy) => Err(Error::Format(format!(
                "no database that is asked for has a retention policy {policy:?}; SHOW RETENTION \
                 POLICIES lists them"
            ))),
            None => Ok(Self { client, wanted }),
        }
    }

    /// Imports all that is in them. Databases and policies keep their names; those that the target
    /// lacks are made as they are at the server, those that it has stay as they are there.
    ///
    /// # Errors
    /// When the server or the store fails; lines that are refused are counted.
    pub fn import(&self, import: &mut Import<'_>) -> Result<(), Error> {
        let client = &self.client;
        let mut puller = Puller { import, rows: 0, read_bytes: 0 };
        for (database, policies) in &self.wanted {
            puller.import.make(database, policies)?;
            for Policy { name: policy, .. } in policies {
                let place = Place { database: database.clone(), policy: Some(policy.clone()) };
                puller.import.set_place(place)?;
                for measurement in names(client, database, "SHOW MEASUREMENTS")? {
                    let source = format!("{}.{}", quoted(policy), quoted(&measurement));
                    let statement = format!("SELECT * FROM {source} GROUP BY *");
                    puller.answer(client, database, &statement)?;
                }
            }
        }
        Ok(())
    }
}

/// The first column of a listing.
fn names(client: &Client, database: &str, statement: &str) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    each_row(client, database, statement, &mut |_, row, _| {
        if let Some(Item::Text(name)) = row.first() {
            names.push(name.clone());
        }
        Ok(())
    })?;
    Ok(names)
}

/// The retention policies of a database.
pub(crate) fn policies(client: &Client, database: &str) -> Result<Vec<Policy>, Error> {
    let mut policies = Vec::new();
    each_row(client, database, "SHOW RETENTION POLICIES", &mut |series, row, _| {
        let named = |wanted: &str| {
            let at = series.columns.iter().position(|column| column == wanted)?;
            row.get(at)
        };
        let seconds = |column| match named(column) {
            Some(Item::Text(text)) => seconds(text).ok_or_else(|| {
                // For ever would be the wrong guess: samples would stay that are meant to go.
                Error::Format(format!(
                    "the retention policies of {database:?} have the {column} {text:?}, which is \
                     no time such as 168h0m0s; make the database here first, with its policies"
                ))
            }),
            _ => Ok(0),
        };
        if let Some(Item::Text(name)) = named("name") {
            policies.push(Policy {
                name: name.clone(),
                keep_s: seconds("duration")?,
                shard_s: seconds("shardGroupDuration")?,
                is_default: matches!(named("default"), Some(Item::Boolean(true))),
            });
        }
        Ok(())
    })?;
    Ok(policies)
}

/// The seconds of a time as InfluxDB shows it: `168h0m0s`.
fn seconds(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (number, behind) = rest.split_at(rest.find(|c: char| c.is_ascii_alphabetic())?);
        let end = behind.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(end);
        let unit_s: u64 = match unit {
            "h" => 3600,
            "m" => 60,
            "s" => 1,
            _ => return None,
        };
        total = total.checked_add(number.parse::<u64>().ok()?.checked_mul(unit_s)?)?;
        rest = behind;
    }
    Some(total)
}

/// What rows have in common.
#[derive(Debug, Default)]
pub struct Series {
    /// Which of the statements it answers, from 0 on.
    pub statement: u64,
    /// The measurement, or what a listing lists.
    pub name: String,
    /// Tags, by name.
    pub tags: Vec<(String, String)>,
    /// What the items of each row are.
    pub columns: Vec<String>,
}

type OnRow<'a> = &'a mut dyn FnMut(&Series, &[Item], u64) -> Result<(), Error>;

/// Asks a statement and hands out its rows, with how many bytes were read so far.
///
/// # Errors
/// When the server fails or refuses, and what `on_row` returns.
pub fn each_row(
    client: &Client,
    database: &str,
    statement: &str,
    on_row: OnRow<'_>,
) -> Result<(), Error> {
    let mut target = format!("/query?epoch=ns&chunked=true&chunk_size={CHUNK_ROWS}&db=");
    push_percent(database, &mut target);
    target.push_str("&q=");
    push_percent(statement, &mut target);
    let answer = client.get_as(&target, "application/x-msgpack")?;
    if answer.status() != 200 {
        let answer = answer.whole()?;
        let message = refusal(&answer.body).unwrap_or_else(|| answer.text());
        return Err(Error::Answer { status: answer.status, message });
    }
    let mut reader = Reader::new(BufReader::new(answer));
    while let Some(item) = reader.next()? {
        let Item::Map(fields) = item else {
            return Err(Error::Format("an answer is no map".to_owned()));
        };
        for _ in 0..fields {
            match &*reader.string()? {
                "results" => {
                    for _ in 0..reader.list()? {
                        result(&mut reader, on_row)?;
                    }
                }
                "error" => return Err(told(reader.string()?)),
                _ => reader.skip()?,
            }
        }
    }
    Ok(())
}

/// What a refusal says, if it is one in MessagePack.
fn refusal(body: &[u8]) -> Option<String> {
    let mut reader = Reader::new(body);
    let Ok(Some(Item::Map(fields))) = reader.next() else { return None };
    for _ in 0..fields {
        match &*reader.string().ok()? {
            "error" => return reader.string().ok(),
            _ => reader.skip().ok()?,
        }
    }
    None
}

fn told(message: String) -> Error {
    Error::Answer { status: 200, message }
}

fn result<R: Read>(reader: &mut Reader<R>, on_row: OnRow<'_>) -> Result<(), Error> {
    let mut statement = 0;
    for _ in 0..reader.map()? {
        match &*reader.string()? {
            // It comes first.
            "statement_id" => {
                if let Item::Integer(id) = reader.item()? {
                    statement = id.unsigned_abs();
                }
            }
            "series" => {
                for _ in 0..reader.list()? {
                    series(reader, statement, on_row)?;
                }
            }
            "error" => return Err(told(reader.string()?)),
            _ => reader.skip()?,
        }
    }
    Ok(())
}

fn series<R: Read>(reader: &mut Reader<R>, statement: u64, on_row: OnRow<'_>) -> Result<(), Error> {
    let mut series = Series { statement, ..Series::default() };
    let mut row = Vec::new();
    for _ in 0..reader.map()? {
        match &*reader.string()? {
            "name" => series.name = reader.string()?,
            "tags" => {
                for _ in 0..reader.map()? {
                    series.tags.push((reader.string()?, reader.string()?));
                }
                series.tags.sort();
            }
            "columns" => {
                for _ in 0..reader.list()? {
                    series.columns.push(reader.string()?);
                }
            }
            // Values come last: what they belong to is known.
            "values" => {
                for _ in 0..reader.list()? {
                    row.clear();
                    for _ in 0..reader.list()? {
                        row.push(reader.item()?);
                    }
                    on_row(&series, &row, reader.read_bytes())?;
                }
            }
            _ => reader.skip()?,
        }
    }
    Ok(())
}

/// Rows on their way into an import.
struct Puller<'a, 'i> {
    import: &'a mut Import<'i>,
    rows: u64,
    /// Bytes of the answers before.
    read_bytes: u64,
}

impl Puller<'_, '_> {
    fn answer(&mut self, client: &Client, database: &str, statement: &str) -> Result<(), Error> {
        let before = self.read_bytes;
        each_row(client, database, statement, &mut |series, row, bytes| {
            self.rows += 1;
            self.read_bytes = before + bytes;
            self.import.read(self.read_bytes, None);
            self.row(series, row)
        })
    }

    fn row(&mut self, series: &Series, row: &[Item]) -> Result<(), Error> {
        let tags = || series.tags.iter().filter(|(_, value)| !value.is_empty());
        let named = tags().flat_map(|(name, value)| [name, value]);
        let mut names = named.chain([&series.name]).chain(&series.columns);
        if let Some(reason) = names.find_map(|name| fault_of(name.as_bytes())) {
            self.import.refuse(self.rows, format!("{}: {reason}", series.name));
            return Ok(());
        }
        let mut line = Vec::new();
        push_measurement(series.name.as_bytes(), &mut line);
        tags().for_each(|(name, value)| push_tag(name.as_bytes(), value.as_bytes(), &mut line));
        let (mut time_ns, mut fields) = (None, 0);
        for (column, item) in series.columns.iter().zip(row) {
            let value = match item {
                Item::Integer(value) if column == "time" => {
                    time_ns = Some(*value);
                    continue;
                }
                // Small positive numbers have no sign here.
                Item::Unsigned(value) if column == "time" => {
                    time_ns = i64::try_from(*value).ok();
                    continue;
                }
                Item::Float(value) => Value::Float(*value),
                Item::Integer(value) => Value::Integer(*value),
                Item::Unsigned(value) => {
                    i64::try_from(*value).map_or(Value::Unsigned(*value), Value::Integer)
                }
                Item::Boolean(value) => Value::Boolean(*value),
                Item::Text(text) => Value::String(text),
                Item::Nil | Item::List(_) | Item::Map(_) => continue,
            };
            let before = line.len();
            line.push(if fields == 0 { b' ' } else { b',' });
            push_field_name(column.as_bytes(), &mut line);
            line.push(b'=');
            match push_value(value, &mut line) {
                true => fields += 1,
                false => line.truncate(before),
            }
        }
        match time_ns {
            Some(time_ns) if fields > 0 => self.import.line(self.rows, |out| {
                out.extend_from_slice(&line);
                out.push(b' ');
                out.extend_from_slice(itoa::Buffer::new().format(time_ns).as_bytes());
            }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_that_influx_shows() {
        let cases = [("168h0m0s", Some(604_800)), ("0s", Some(0)), ("1m30s", Some(90))];
        for (text, expected) in cases.into_iter().chain([("1.5s", None), ("7", None)]) {
            assert_eq!(seconds(text), expected, "{text}");
        }
    }
}
