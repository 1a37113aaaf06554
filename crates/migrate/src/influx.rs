//! InfluxDB dumps: line protocol, one field and time a line, as `influx_inspect export` writes it.
//! [`Databases`] need none: they are those of a running server of version 1, as [`version2`] has
//! the buckets of one of version 2, and [`files`] reads the files of either.

mod annotated;
pub mod files;
mod msgpack;
mod pull;
pub mod version2;

pub use msgpack::Item;
pub(crate) use pull::policies;
pub use pull::{Databases, Series, each_row};

use crate::error::Error;
use crate::export::{Exported, Unspelled, Wanted, export};
use crate::import::Import;
use crate::line::fault_of;
use crate::source::Source;
use foliot_engine::Identity;
use foliot_model::Samples;
use foliot_proto_influx::{is_whole_line, push_field_name, push_measurement, push_tag, push_value};
use std::io::Write;

/// Imports a dump: lines with times in nanoseconds, in any order. Comments may name the database
/// and policy of what follows (`# CONTEXT-DATABASE:db`, `# CONTEXT-RETENTION-POLICY:rp`), and
/// statements between `# DDL` and `# DML` are passed over: places come into being by being written
/// to. Where `database` and `policy` say other names, those hold; the dump may name only one then,
/// as nobody means to mix what several have.
///
/// # Errors
/// When the dump cannot be read or storing fails as a whole, or names several of what was told.
pub fn import(
    source: &mut Source<'_>,
    database: Option<&str>,
    policy: Option<&str>,
    import: &mut Import<'_>,
) -> Result<(), Error> {
    let (mut line, mut more) = (Vec::new(), Vec::new());
    let mut place = import.place().clone();
    let mut databases = Names { told: database, flag: "--db", what: "databases", found: None };
    let mut policies = Names { told: policy, flag: "--rp", what: "policies", found: None };
    let in_file = |error: Error, source: &Source<'_>| error.in_file(source.name());
    let mut is_ddl = false;
    while let Some(number) = source.next_line(&mut line)? {
        import.read(source.bytes_read(), source.bytes_total());
        if let Some(comment) = line.strip_prefix(b"#") {
            let comment = String::from_utf8_lossy(comment);
            match comment.trim().split_once(':') {
                Some(("CONTEXT-DATABASE", name)) => {
                    let name = databases.named(name).map_err(|error| in_file(error, source))?;
                    place.database = name;
                }
                Some(("CONTEXT-RETENTION-POLICY", name)) => {
                    let name = policies.named(name).map_err(|error| in_file(error, source))?;
                    place.policy = Some(name);
                }
                _ => is_ddl = comment.trim() == "DDL" || (is_ddl && comment.trim() != "DML"),
            }
            import.set_place(place.clone())?;
            continue;
        }
        if is_ddl {
            // They stand first, so that nothing is stored of a dump that is refused.
            if let Some((database, policy)) = created(&String::from_utf8_lossy(&line)) {
                databases.named(database).map_err(|error| in_file(error, source))?;
                policies.named(policy).map_err(|error| in_file(error, source))?;
            }
            continue;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        // A string may hold line breaks.
        while !is_whole_line(&line) && source.next_line(&mut more)?.is_some() {
            line.push(b'\n');
            line.append(&mut more);
        }
        import.line(number, |out| out.extend_from_slice(&line))?;
    }
    Ok(())
}

/// Names of one kind in a dump, and the one that holds in place of them.
struct Names<'n> {
    told: Option<&'n str>,
    flag: &'static str,
    what: &'static str,
    found: Option<String>,
}

impl Names<'_> {
    /// The name that holds where the dump says `name`.
    fn named(&mut self, name: &str) -> Result<String, Error> {
        let name = name.trim();
        let Some(told) = self.told else { return Ok(name.to_owned()) };
        let first = self.found.get_or_insert_with(|| name.to_owned());
        if first == name {
            return Ok(told.to_owned());
        }
        let (flag, what) = (self.flag, self.what);
        Err(Error::Told(format!(
            "it holds the {what} {first} and {name}, which {flag} {told} would mix: leave {flag} \
             out, and each keeps its name"
        )))
    }
}

/// Database and policy of a statement that makes them, as dumps have it.
fn created(statement: &str) -> Option<(&str, &str)> {
    let names = statement.trim().strip_prefix("CREATE DATABASE ")?;
    let (database, policy) = names.split_once(" WITH NAME ")?;
    Some((database.trim_matches('"'), policy.trim_matches('"')))
}

/// Writes series as `influx_inspect export` does, for its own import and for [`import`]; `database`
/// and `policy` are named at the beginning.
///
/// # Errors
/// When a part cannot be read or `out` fails.
pub fn export_to(
    out: &mut dyn Write,
    wanted: &Wanted<'_>,
    (database, policy): (&str, &str),
) -> Result<Exported, Error> {
    let failed = || Error::io("write the dump");
    writeln!(
        out,
        "# DDL\nCREATE DATABASE {database:?} WITH NAME {policy:?}\n# DML\n\
         # CONTEXT-DATABASE:{database}\n# CONTEXT-RETENTION-POLICY:{policy}"
    )
    .map_err(failed())?;
    let mut exported = Exported::default();
    let mut text = Vec::new();
    let mut last = None;
    export(wanted, &mut |identity, samples| {
        let name = Some((identity.source, identity.measurement.clone(), identity.field.clone()));
        let is_new = last != name;
        last = name;
        text.clear();
        let unspelled = push_lines(identity, samples, &mut text);
        exported.unspelled.samples += unspelled.samples;
        match unspelled.series {
            0 => {
                exported.series += u64::from(is_new);
                exported.samples += samples.len() as u64 - unspelled.samples;
            }
            series => exported.unspelled.series += series * u64::from(is_new),
        }
        out.write_all(&text).map_err(failed())
    })?;
    out.flush().map_err(failed())?;
    Ok(exported)
}

/// Appends the samples of a series as lines with times in nanoseconds.
///
/// What line protocol cannot say is left out and counted: histograms, numbers that are not finite,
/// and series whose names end in a backslash or hold a line's end.
pub fn push_lines(identity: &Identity, samples: &Samples, out: &mut Vec<u8>) -> Unspelled {
    let mut unspelled = Unspelled::default();
    let labels = identity.labels.iter();
    let mut names = [&*identity.measurement, &*identity.field]
        .into_iter()
        .chain(labels.flat_map(|label| [&*label.name, &*label.value]));
    if names.any(|name| fault_of(name.as_bytes()).is_some()) {
        unspelled.series = 1;
        return unspelled;
    }
    let mut key = Vec::new();
    push_measurement(identity.measurement.as_bytes(), &mut key);
    for label in &identity.labels {
        push_tag(label.name.as_bytes(), label.value.as_bytes(), &mut key);
    }
    key.push(b' ');
    push_field_name(identity.field.as_bytes(), &mut key);
    key.push(b'=');
    for (time_ns, value) in samples.iter() {
        let before = out.len();
        out.extend_from_slice(&key);
        if !push_value(value, out) {
            out.truncate(before);
            unspelled.samples += 1;
            continue;
        }
        out.push(b' ');
        out.extend_from_slice(itoa::Buffer::new().format(time_ns).as_bytes());
        out.push(b'\n');
    }
    unspelled
}

#[cfg(test)]
mod tests {
    use super::*;
    use foliot_model::{Label, Labels, Value};

    #[test]
    fn lines_are_those_that_influx_reads() {
        let identity = |measurement: &str| Identity {
            measurement: measurement.into(),
            field: "wind speed".into(),
            labels: Labels::new(vec![
                Label { name: "site".into(), value: "a,b".into() },
                Label { name: "k=1".into(), value: "v 2".into() },
            ]),
            source: 0,
        };
        let mut samples = Samples::default();
        for (time_ns, value) in [
            (-5, Value::Float(0.1)),
            (1, Value::Float(1e21)),
            (2, Value::Integer(-3)),
            (3, Value::Unsigned(u64::MAX)),
            (4, Value::Boolean(true)),
            (5, Value::String("a \"b\" c\\d")),
            (6, Value::Float(f64::NAN)),
            (7, Value::Histogram(&[1])),
        ] {
            samples.push(time_ns, value);
        }
        let mut out = Vec::new();
        let unspelled = push_lines(&identity("m x"), &samples, &mut out);
        let key = r"m\ x,k\=1=v\ 2,site=a\,b wind\ speed=";
        let expected = [
            "0.1 -5",
            "1000000000000000000000 1",
            "-3i 2",
            "18446744073709551615u 3",
            "true 4",
            r#""a \"b\" c\\d" 5"#,
        ];
        let expected: String = expected.iter().map(|rest| format!("{key}{rest}\n")).collect();
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        assert_eq!(unspelled, Unspelled { samples: 2, ..Unspelled::default() });
        let mut out = Vec::new();
        let unspelled = push_lines(&identity("m\\"), &samples, &mut out);
        assert_eq!((unspelled.series, out.len()), (1, 0));
    }
}
