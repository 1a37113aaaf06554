//! Names in line protocol: which of them can be spelled; and exact lines, which hold any.

use foliot_model::Value;
use foliot_proto_influx::{LETTERS, push_value};

/// Why a name cannot be spelled in line protocol, if so: it would end the line,
/// or make what follows it plain.
pub(crate) fn fault_of(name: &[u8]) -> Option<&'static str> {
    match name.last() {
        None => Some("a name is empty"),
        Some(b'\\') => Some("a name ends in a backslash"),
        _ if name.contains(&b'\n') => Some("a name holds a line's end"),
        _ => None,
    }
}

/// Appends an exact line (docs/api.md, POST import) without its end.
///
/// # Errors
/// When it has no spelling for a value: of numbers that are none it has one, and histograms have
/// none at all.
pub(crate) fn push_exact<'t>(
    measurement: &str,
    labels: impl Iterator<Item = (&'t str, &'t str)>,
    fields: &[(&str, Value<'_>)],
    time_ns: i64,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    push_lettered(measurement, |_| true, out);
    for (name, value) in labels {
        out.push(b',');
        push_lettered(name, |_| true, out);
        out.push(b'=');
        push_lettered(value, |_| true, out);
    }
    let mut mark = b' ';
    for (name, value) in fields {
        out.push(mark);
        push_lettered(name, |_| true, out);
        out.push(b'=');
        if !push_exact_value(*value, out) {
            return Err(format!("{name}: {} cannot be stored by lines", unspelled(*value)));
        }
        mark = b',';
    }
    out.push(b' ');
    out.extend_from_slice(itoa::Buffer::new().format(time_ns).as_bytes());
    Ok(())
}

/// Whether exact lines have a spelling for a value.
pub(crate) fn is_exact(value: Value<'_>) -> bool {
    match value {
        Value::Float(number) => !number.is_nan() || number.to_bits() == f64::NAN.to_bits(),
        Value::Histogram(_) => false,
        _ => true,
    }
}

fn push_exact_value(value: Value<'_>, out: &mut Vec<u8>) -> bool {
    if !is_exact(value) {
        return false;
    }
    match value {
        Value::Float(number) if number.is_nan() => out.extend_from_slice(b"NaN"),
        Value::Float(f64::INFINITY) => out.extend_from_slice(b"Infinity"),
        Value::Float(f64::NEG_INFINITY) => out.extend_from_slice(b"-Infinity"),
        Value::String(text) => {
            out.push(b'"');
            push_lettered(text, is_due_in_quotes, out);
            out.push(b'"');
        }
        value => return push_value(value, out),
    }
    true
}

/// What an error says of a value that has no spelling.
fn unspelled(value: Value<'_>) -> String {
    match value {
        Value::Float(number) => format!("the NaN {:#018x}", number.to_bits()),
        other => format!("{:?}", other.kind()),
    }
}

/// Appends a name or a string of an exact line, with letters in the place of what would end it.
fn push_lettered(text: &str, is_due: impl Fn(u8) -> bool, out: &mut Vec<u8>) {
    for byte in text.bytes() {
        match LETTERS.iter().find(|(_, meant)| *meant == byte && is_due(byte)) {
            Some((letter, _)) => out.extend_from_slice(&[b'\\', *letter]),
            None => out.push(byte),
        }
    }
}

/// Between quotes, what divides names stands as it is.
fn is_due_in_quotes(byte: u8) -> bool {
    matches!(byte, b'\\' | b'\n' | b'"' | b'\r' | 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use foliot_model::{Batch, KeyParts, KeySecret, Kind};
    use foliot_proto_influx::{Decoder, EXACT_LINE_SYNTAX, Settings};

    #[test]
    fn exact_lines_are_read_as_they_were_meant() {
        let all: String = (0..=0x7f_u8).map(char::from).chain(['é', '\u{2028}']).collect();
        let fields = [
            ("n =", Value::Float(f64::NAN)),
            ("i", Value::Float(f64::NEG_INFINITY)),
            ("z", Value::Float(-0.0)),
            ("t", Value::String(&all)),
            ("u", Value::Unsigned(u64::MAX)),
            ("b", Value::Boolean(true)),
        ];
        let mut out = Vec::new();
        push_exact(&all, [(&*all, &*all)].into_iter(), &fields, -5, &mut out).unwrap();
        assert!(!out.contains(&b'\n'));
        let syntax = &EXACT_LINE_SYNTAX;
        let mut batch = Batch::new(&out, 0, syntax, KeySecret(1), Default::default());
        let mut rejects = Vec::new();
        Decoder::default().decode(&mut batch, Settings::default(), &mut rejects);
        assert_eq!(rejects, []);
        let [row] = batch.rows() else { panic!("{:?}", batch.rows()) };
        let mut parts = KeyParts::default();
        let (head, tail) = (batch.slice(row.key_head), batch.slice(row.key_tail));
        (syntax.parse)(head, tail, &mut parts).unwrap();
        assert_eq!(parts.measurement(), all.as_bytes());
        assert_eq!(parts.labels().collect::<Vec<_>>(), [(all.as_bytes(), all.as_bytes())]);
        let cells = batch.cells(row, 6);
        let bits = cells[..3].iter().map(|cell| cell.to_f64().to_bits());
        let expected = [f64::NAN, f64::NEG_INFINITY, -0.0].map(f64::to_bits);
        assert_eq!(bits.collect::<Vec<_>>(), expected);
        assert_eq!(batch.slice(cells[3].span()), all.as_bytes());
        assert_eq!((cells[4].kind, cells[4].bits), (Kind::Unsigned, u64::MAX));
        assert_eq!((row.time_ns, cells[5].bits), (-5, 1));
    }

    #[test]
    fn numbers_that_are_none_keep_their_bits_or_are_refused() {
        let stale = f64::from_bits(0x7ff0_0000_0000_0002);
        let fields = [("v", Value::Float(stale))];
        let why = push_exact("m", std::iter::empty(), &fields, 1, &mut Vec::new()).unwrap_err();
        assert_eq!(why, "v: the NaN 0x7ff0000000000002 cannot be stored by lines");
        assert!(!is_exact(Value::Histogram(&[1])) && is_exact(Value::Float(f64::NAN)));
    }
}
