//! InfluxDB dumps: line protocol, one field and time a line, as `influx_inspect export` writes it.

use crate::export::Unspelled;
use crate::line::{fault_of, push_field_name, push_measurement, push_tag};
use foliot_engine::Identity;
use foliot_model::{Samples, Value};

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

/// Appends a value; false when line protocol has no way to write it.
fn push_value(value: Value<'_>, out: &mut Vec<u8>) -> bool {
    let mut digits = itoa::Buffer::new();
    match value {
        // Rust prints the fewest digits that identify a double, without an exponent.
        Value::Float(value) if value.is_finite() => {
            out.extend_from_slice(value.to_string().as_bytes());
        }
        Value::Float(_) | Value::Histogram(_) => return false,
        Value::Integer(value) => {
            out.extend_from_slice(digits.format(value).as_bytes());
            out.push(b'i');
        }
        Value::Unsigned(value) => {
            out.extend_from_slice(digits.format(value).as_bytes());
            out.push(b'u');
        }
        Value::Boolean(value) => out.extend_from_slice(value.to_string().as_bytes()),
        Value::String(text) => {
            out.push(b'"');
            for &byte in text.as_bytes() {
                if matches!(byte, b'"' | b'\\') {
                    out.push(b'\\');
                }
                out.push(byte);
            }
            out.push(b'"');
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use foliot_model::{Label, Labels};

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
