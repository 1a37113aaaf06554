//! TickTock: the lines that its `inspect -r` prints.
//!
//! `put metric timestamp value [tag=value …]`, in seconds or milliseconds. The tag `_field` names
//! the field of a measurement, tags may be missing, and every value is a double. (`inspect` itself
//! prints six significant digits; what it rounds cannot be brought back.)

use crate::error::Error;
use crate::export::{Exported, Wanted, export};
use crate::import::Import;
use crate::line::fault_of;
use crate::opentsdb::timestamp;
use crate::source::Source;
use foliot_engine::Identity;
use foliot_model::{DEFAULT_FIELD, NANOS_PER_MILLI, NANOS_PER_SECOND, Samples, Value};
use foliot_proto_influx::{push_field_name, push_measurement, push_tag};
use std::io::Write;

/// The tag that names a field, and the name that stands for no field.
const FIELD_TAG: &str = "_field";
const NO_FIELD: &str = "_";

/// From here on TickTock takes a timestamp for milliseconds: eleven digits.
const MILLIS_FROM: i64 = 10_000_000_000;

/// Imports a dump. Lines that are no puts, such as what `inspect` says about itself, are passed
/// over and counted.
///
/// # Errors
/// When the dump cannot be read or storing fails as a whole.
pub fn import(source: &mut Source<'_>, import: &mut Import<'_>) -> Result<(), Error> {
    let mut line = Vec::new();
    while let Some(number) = source.next_line(&mut line)? {
        import.read(source.bytes_read(), source.bytes_total());
        let Some(words) = line.strip_prefix(b"put ") else {
            if !line.trim_ascii().is_empty() {
                import.pass_over();
            }
            continue;
        };
        match read_point(words) {
            Ok(point) => import.line(number, |out| point.write(out))?,
            Err(reason) => import.refuse(number, reason),
        }
    }
    Ok(())
}

/// A point of a dump.
struct Point<'a> {
    metric: &'a str,
    tags: Vec<(&'a str, &'a str)>,
    field: &'a str,
    value: f64,
    time_ns: i64,
}

fn read_point(words: &[u8]) -> Result<Point<'_>, String> {
    let words = std::str::from_utf8(words).map_err(|_| "not valid UTF-8".to_owned())?;
    let mut words = words.split(' ');
    let (Some(metric), Some(time), Some(value)) = (words.next(), words.next(), words.next()) else {
        return Err("not enough words: a metric, a timestamp and a value are needed".to_owned());
    };
    let timestamp: i64 = time.parse().map_err(|_| format!("'{time}' is no timestamp"))?;
    let unit_ns = if timestamp < MILLIS_FROM { NANOS_PER_SECOND } else { NANOS_PER_MILLI };
    let time_ns = timestamp.checked_mul(unit_ns).ok_or_else(|| format!("'{time}' is too late"))?;
    let number: f64 = value.parse().map_err(|_| format!("'{value}' is no number"))?;
    if !number.is_finite() {
        return Err(format!("'{value}' is not finite"));
    }
    let mut point =
        Point { metric, tags: Vec::new(), field: DEFAULT_FIELD, value: number, time_ns };
    for tag in words.filter(|tag| !tag.is_empty()) {
        let (name, value) = tag.split_once('=').ok_or_else(|| format!("invalid tag: {tag}"))?;
        match name {
            FIELD_TAG if value == NO_FIELD => {}
            FIELD_TAG => point.field = value,
            _ => point.tags.push((name, value)),
        }
    }
    let tags = point.tags.iter().flat_map(|&(name, value)| [name, value]);
    let mut names = [metric, point.field].into_iter().chain(tags);
    match names.find_map(|name| fault_of(name.as_bytes())) {
        Some(fault) => Err(fault.to_owned()),
        None if metric.starts_with('#') => Err("the metric begins with #".to_owned()),
        None => Ok(point),
    }
}

impl Point<'_> {
    /// Appends the point as a line of line protocol.
    fn write(&self, out: &mut Vec<u8>) {
        push_measurement(self.metric.as_bytes(), out);
        for (name, value) in &self.tags {
            push_tag(name.as_bytes(), value.as_bytes(), out);
        }
        out.push(b' ');
        push_field_name(self.field.as_bytes(), out);
        out.push(b'=');
        out.extend_from_slice(format!("{:?}", self.value).as_bytes());
        out.push(b' ');
        out.extend_from_slice(itoa::Buffer::new().format(self.time_ns).as_bytes());
    }
}

/// Writes the wanted series as put lines that [`import`] and TickTock read, one per field and time.
///
/// Text, histograms and numbers that are not finite are left out and counted, and so are series
/// whose names hold what separates the words of a line.
///
/// # Errors
/// When a part cannot be read or the dump cannot be written.
pub fn export_to(out: &mut dyn Write, wanted: &Wanted<'_>) -> Result<Exported, Error> {
    let mut exported = Exported::default();
    let mut text = Vec::new();
    let mut last = None;
    export(wanted, &mut |identity, samples| {
        let name = Some((identity.source, identity.measurement.clone(), identity.field.clone()));
        let is_new = u64::from(last != name);
        last = name;
        if !names(identity).all(is_word) {
            exported.unspelled.series += is_new;
            return Ok(());
        }
        exported.series += is_new;
        text.clear();
        write_block(identity, samples, &mut exported, &mut text);
        out.write_all(&text).map_err(Error::io("write the dump"))
    })?;
    out.flush().map_err(Error::io("write the dump"))?;
    Ok(exported)
}

fn write_block(
    identity: &Identity,
    samples: &Samples,
    exported: &mut Exported,
    text: &mut Vec<u8>,
) {
    for (time_ns, value) in samples.iter() {
        let (timestamp, is_cut) = timestamp(time_ns);
        let number = match value {
            Value::String(_) | Value::Histogram(_) => None,
            value => value.as_f64().filter(|number| number.is_finite() && timestamp > 0),
        };
        let Some(number) = number else {
            exported.unspelled.samples += 1;
            continue;
        };
        text.extend_from_slice(b"put ");
        text.extend_from_slice(identity.measurement.as_bytes());
        // Rust prints the fewest digits that identify a double, without an exponent.
        text.extend_from_slice(format!(" {timestamp} {number}").as_bytes());
        for label in &identity.labels {
            text.extend_from_slice(format!(" {}={}", label.name, label.value).as_bytes());
        }
        if *identity.field != *DEFAULT_FIELD {
            text.extend_from_slice(format!(" {FIELD_TAG}={}", identity.field).as_bytes());
        }
        text.push(b'\n');
        exported.samples += 1;
        exported.unspelled.times_cut += u64::from(is_cut);
    }
}

/// All names of a series.
fn names(identity: &Identity) -> impl Iterator<Item = &str> {
    let labels = identity.labels.iter();
    [&*identity.measurement, &*identity.field]
        .into_iter()
        .chain(labels.flat_map(|label| [&*label.name, &*label.value]))
}

/// Whether a name can stand in a put line.
fn is_word(name: &str) -> bool {
    !name.is_empty() && !name.contains([' ', '=', '\n', '\r'])
}
