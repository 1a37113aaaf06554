//! OpenTSDB: the lines that `tsdb scan --import` prints and `tsdb import` reads.
//!
//! `metric timestamp value tag=value …`, in seconds or milliseconds, integers and floats as Java
//! prints them. A leading `put ` is taken as well. (OpenTSDB, `tools/DumpSeries`,
//! `tools/TextImporter`.)

use crate::error::Error;
use crate::export::{Exported, Unspelled, Wanted, export};
use crate::import::Import;
use crate::source::Source;
use foliot_engine::Identity;
use foliot_model::{DEFAULT_FIELD, NANOS_PER_MILLI, NANOS_PER_SECOND, Samples, Value};
use foliot_proto_opentsdb::write_double;
use std::io::Write;

/// From here on OpenTSDB takes a timestamp for milliseconds.
const MILLIS_FROM: i64 = 1 << 32;

/// Imports a dump. Empty lines are passed over.
///
/// # Errors
/// When the dump cannot be read or storing fails as a whole.
pub fn import(source: &mut Source<'_>, import: &mut Import<'_>) -> Result<(), Error> {
    let mut line = Vec::new();
    while let Some(number) = source.next_line(&mut line)? {
        import.read(source.bytes_read(), source.bytes_total());
        let words = line.strip_prefix(b"put ").unwrap_or(&line);
        if !words.iter().all(u8::is_ascii_whitespace) {
            import.put(number, words)?;
        }
    }
    Ok(())
}

/// Writes the wanted series as a dump that [`import`] and `tsdb import` read.
///
/// A field other than `value` is part of the metric's name. What OpenTSDB cannot hold is left out
/// and counted: series without labels or with names beyond its alphabet, text, histograms, numbers
/// that are not finite.
///
/// # Errors
/// When a part cannot be read or the dump cannot be written.
pub fn export_to(out: &mut dyn Write, wanted: &Wanted<'_>) -> Result<Exported, Error> {
    let mut dump = Dump::default();
    export(wanted, &mut |identity, samples| {
        dump.write(identity, samples);
        out.write_all(&dump.text).map_err(Error::io("write the dump"))?;
        dump.text.clear();
        Ok(())
    })?;
    out.flush().map_err(Error::io("write the dump"))?;
    Ok(dump.exported)
}

/// Appends the samples of a series as `put` lines; what OpenTSDB cannot hold is left out and
/// counted, as in [`export_to`].
pub fn push_put_lines(identity: &Identity, samples: &Samples, out: &mut Vec<u8>) -> Unspelled {
    let mut dump = Dump::default();
    dump.write(identity, samples);
    for line in dump.text.split_inclusive(|byte| *byte == b'\n') {
        out.extend_from_slice(b"put ");
        out.extend_from_slice(line);
    }
    dump.exported.unspelled
}

#[derive(Default)]
struct Dump {
    text: Vec<u8>,
    exported: Exported,
    last: Option<(u32, String)>,
}

impl Dump {
    fn write(&mut self, identity: &Identity, samples: &Samples) {
        let metric = match &*identity.field {
            DEFAULT_FIELD => identity.measurement.to_string(),
            field => format!("{}.{field}", identity.measurement),
        };
        let name = (identity.source, metric);
        let is_new = self.last.as_ref() != Some(&name);
        let metric = &name.1;
        if identity.labels.is_empty() || !names(identity, metric).all(is_name) {
            self.exported.unspelled.series += u64::from(is_new);
        } else {
            self.exported.series += u64::from(is_new);
            for (time_ns, value) in samples.iter() {
                self.write_sample(identity, metric, time_ns, value);
            }
        }
        self.last = Some(name);
    }

    fn write_sample(&mut self, identity: &Identity, metric: &str, time_ns: i64, value: Value<'_>) {
        let before = self.text.len();
        self.text.extend_from_slice(metric.as_bytes());
        self.text.push(b' ');
        let (timestamp, is_cut) = timestamp(time_ns);
        self.text.extend_from_slice(itoa::Buffer::new().format(timestamp).as_bytes());
        self.text.push(b' ');
        if !write_value(value, &mut self.text) || timestamp <= 0 {
            self.text.truncate(before);
            self.exported.unspelled.samples += 1;
            return;
        }
        for label in &identity.labels {
            self.text.push(b' ');
            self.text.extend_from_slice(label.name.as_bytes());
            self.text.push(b'=');
            self.text.extend_from_slice(label.value.as_bytes());
        }
        self.text.push(b'\n');
        self.exported.samples += 1;
        self.exported.unspelled.times_cut += u64::from(is_cut);
    }
}

/// All names of a series.
fn names<'a>(identity: &'a Identity, metric: &'a str) -> impl Iterator<Item = &'a str> {
    let labels = identity.labels.iter();
    std::iter::once(metric).chain(labels.flat_map(|label| [&*label.name, &*label.value]))
}

/// Whether OpenTSDB takes a name: letters, digits and `-_./`.
fn is_name(name: &str) -> bool {
    let good = |c: char| c.is_alphabetic() || c.is_ascii_digit() || "-_./".contains(c);
    !name.is_empty() && name.chars().all(good)
}

/// The timestamp in whole seconds where that is exact and cannot be taken for milliseconds, else in
/// milliseconds; and whether something was cut off.
pub(crate) fn timestamp(time_ns: i64) -> (i64, bool) {
    let seconds = time_ns.div_euclid(NANOS_PER_SECOND);
    if time_ns.rem_euclid(NANOS_PER_SECOND) == 0 && seconds < MILLIS_FROM {
        return (seconds, false);
    }
    (time_ns.div_euclid(NANOS_PER_MILLI), time_ns.rem_euclid(NANOS_PER_MILLI) != 0)
}

/// Appends a number as OpenTSDB prints it; false when it is none.
pub(crate) fn write_value(value: Value<'_>, out: &mut Vec<u8>) -> bool {
    let mut digits = itoa::Buffer::new();
    match value {
        Value::Integer(value) => out.extend_from_slice(digits.format(value).as_bytes()),
        Value::Unsigned(value) if i64::try_from(value).is_ok() => {
            out.extend_from_slice(digits.format(value).as_bytes());
        }
        Value::Boolean(value) => out.push(b'0' + u8::from(value)),
        Value::Float(value) if value.is_finite() => write_double(value, out),
        _ => return false,
    }
    true
}
