//! Keys: `measurement,tag=value,…` as it stands in a line, and how to read it when it is new.

use crate::fault::Fault;
use foliot_model::{KeyError, KeyParts, KeySyntax};
use memchr::memchr;

/// The syntax of line protocol keys: the bytes before a line's first plain space, in one piece.
pub static LINE_SYNTAX: KeySyntax =
    KeySyntax { id: 16, name: "influx line", parse: parse_key, parse_field };

/// The same in TickTock's dialect: a field called `_` is the one of points without a field.
pub static TICKTOCK_LINE_SYNTAX: KeySyntax = KeySyntax {
    id: 17,
    name: "ticktock line",
    parse: parse_key,
    parse_field: parse_ticktock_field,
};

/// Lines of Foliot's own, in which names and strings hold anything: what would divide a line, and a
/// backslash, is a backslash and a letter of [`LETTERS`]. So nothing of them is lost, as InfluxDB
/// loses a line's end in a name or a backslash before a comma, and a label may be called `time`.
/// Numbers may be `NaN`, `Infinity` and `-Infinity`.
pub static EXACT_LINE_SYNTAX: KeySyntax = KeySyntax {
    id: 18,
    name: "exact line",
    parse: parse_exact_key,
    parse_field: parse_exact_field,
};

fn parse_ticktock_field(raw: &[u8], out: &mut Vec<u8>) -> Result<(), KeyError> {
    match raw {
        b"_" => out.extend_from_slice(foliot_model::DEFAULT_FIELD.as_bytes()),
        _ => parse_field(raw, out)?,
    }
    Ok(())
}

fn parse_exact_key(head: &[u8], tail: &[u8], parts: &mut KeyParts) -> Result<(), KeyError> {
    debug_assert!(head.is_empty(), "keys of lines are in one piece");
    let fault = |fault: Fault| KeyError { field: fault.part(), reason: fault.to_string() };
    let (measurement, mut rest) = split_measurement(tail).map_err(fault)?;
    let mut is_known = true;
    parts.set_measurement(|out| is_known &= unletter(measurement, out));
    while let Some(tag) = rest {
        let (name, value, next) = split_tag(tag).map_err(fault)?;
        let mut plain = Vec::with_capacity(value.len());
        is_known &= unletter(value, &mut plain);
        parts
            .push_label(|out| is_known &= unletter(name, out), |out| out.extend_from_slice(&plain));
        rest = next;
    }
    is_known.then_some(()).ok_or_else(|| unknown_letter("key"))
}

fn parse_exact_field(raw: &[u8], out: &mut Vec<u8>) -> Result<(), KeyError> {
    if std::str::from_utf8(raw).is_err() {
        return Err(KeyError { field: "field", reason: "name is not valid UTF-8".to_owned() });
    }
    unletter(raw, out).then_some(()).ok_or_else(|| unknown_letter("field"))
}

fn unknown_letter(field: &'static str) -> KeyError {
    let reason = "a backslash stands before a letter that has no meaning there".to_owned();
    KeyError { field, reason }
}

/// The letters behind a backslash in names and strings of exact lines, and what each of them means:
/// what would divide a line, or is lost by InfluxDB.
pub const LETTERS: [(u8, u8); 10] = [
    (b'b', b'\\'),
    (b'c', b','),
    (b'e', b'='),
    (b'h', b'#'),
    (b'n', b'\n'),
    (b'q', b'"'),
    (b'r', b'\r'),
    (b's', b' '),
    (b't', b'\t'),
    (b'z', 0),
];

/// Appends a name or a string of an exact line as it is; false where a letter behind a backslash
/// is none of those that mean something.
pub(crate) fn unletter(mut raw: &[u8], out: &mut Vec<u8>) -> bool {
    while let Some(at) = memchr(b'\\', raw) {
        let (plain, rest) = raw.split_at(at);
        out.extend_from_slice(plain);
        let letter = rest.get(1);
        let Some((_, meant)) = LETTERS.iter().find(|(known, _)| Some(known) == letter) else {
            return false;
        };
        out.push(*meant);
        raw = rest.get(2..).unwrap_or_default();
    }
    out.extend_from_slice(raw);
    true
}

/// Reads measurement and tags. `head` is always empty in this syntax.
fn parse_key(head: &[u8], tail: &[u8], parts: &mut KeyParts) -> Result<(), KeyError> {
    debug_assert!(head.is_empty(), "keys of line protocol are in one piece");
    let fault = |fault: Fault| KeyError { field: fault.part(), reason: fault.to_string() };
    let (measurement, mut rest) = split_measurement(tail).map_err(fault)?;
    parts.set_measurement(|out| unescape(measurement, MEASUREMENT_ESCAPES, out));
    let mut tags = 0;
    while let Some(tag) = rest {
        let (name, value, next) = split_tag(tag).map_err(fault)?;
        parts.push_label(
            |out| unescape(name, TAG_ESCAPES, out),
            |out| unescape(value, TAG_ESCAPES, out),
        );
        rest = next;
        tags += 1;
    }
    check_tags(parts, tags).map_err(|error| match error {
        TagError::Duplicate => fault(Fault::DuplicateTags),
        TagError::Time => {
            let measurement = String::from_utf8_lossy(parts.measurement());
            let reason = format!(
                "invalid tag key: input tag \"time\" on measurement \"{measurement}\" is invalid"
            );
            KeyError { field: "tag", reason }
        }
    })
}

/// Checks that a key is well formed, in the order in which InfluxDB checks.
pub(crate) fn check_key(key: &[u8]) -> Result<(), Fault> {
    let (_, mut rest) = split_measurement(key)?;
    let mut names = Vec::new();
    while let Some(tag) = rest {
        let (name, _, next) = split_tag(tag)?;
        names.push(name);
        rest = next;
    }
    names.sort_unstable();
    match names.windows(2).any(|pair| matches!(pair, [a, b] if a == b)) {
        true => Err(Fault::DuplicateTags),
        false => Ok(()),
    }
}

/// The plain spelling of a key's measurement.
pub(crate) fn plain_measurement(key: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    if let Ok((measurement, _)) = split_measurement(key) {
        unescape(measurement, MEASUREMENT_ESCAPES, &mut plain);
    }
    plain
}

/// Appends the plain spelling of a field's name.
fn parse_field(raw: &[u8], out: &mut Vec<u8>) -> Result<(), KeyError> {
    if std::str::from_utf8(raw).is_err() {
        return Err(KeyError { field: "field", reason: "name is not valid UTF-8".to_owned() });
    }
    unescape(raw, MEASUREMENT_ESCAPES, out);
    Ok(())
}

/// What a backslash makes plain in the names of measurements and fields.
const MEASUREMENT_ESCAPES: &[u8] = b", =\"";
/// What a backslash makes plain in tags.
const TAG_ESCAPES: &[u8] = b", =";

/// Appends `raw`, without the backslashes that stand before one of `escapes`. Other backslashes are
/// plain characters.
pub(crate) fn unescape(mut raw: &[u8], escapes: &[u8], out: &mut Vec<u8>) {
    while let Some(at) = memchr(b'\\', raw) {
        let (plain, rest) = raw.split_at(at);
        out.extend_from_slice(plain);
        raw = match rest {
            [_, escaped, rest @ ..] if escapes.contains(escaped) => {
                out.push(*escaped);
                rest
            }
            [backslash, rest @ ..] => {
                out.push(*backslash);
                rest
            }
            [] => rest,
        };
    }
    out.extend_from_slice(raw);
}

/// The measurement, and what follows the comma behind it.
fn split_measurement(key: &[u8]) -> Result<(&[u8], Option<&[u8]>), Fault> {
    if matches!(key.first(), None | Some(b',')) {
        return Err(Fault::MissingMeasurement);
    }
    let end = find_plain(key, |byte| byte == b',').unwrap_or(key.len());
    Ok((key.get(..end).unwrap_or_default(), key.get(end + 1..)))
}

/// Name and value of the first tag, and what follows the comma behind it.
#[expect(clippy::type_complexity, reason = "the three pieces are named by the one caller")]
fn split_tag(tags: &[u8]) -> Result<(&[u8], &[u8], Option<&[u8]>), Fault> {
    if matches!(tags.first(), None | Some(b',' | b'=')) {
        return Err(Fault::MissingTagKey);
    }
    let equals = find_plain(tags, |byte| matches!(byte, b'=' | b','));
    let Some((name, value)) = equals.and_then(|at| match tags.get(at) {
        Some(b'=') => Some((tags.get(..at)?, tags.get(at + 1..)?)),
        _ => None,
    }) else {
        return Err(Fault::MissingTagValue);
    };
    if matches!(value.first(), None | Some(b',')) {
        return Err(Fault::MissingTagValue);
    }
    match find_plain(value, |byte| matches!(byte, b'=' | b',')) {
        None => Ok((name, value, None)),
        Some(at) if value.get(at) == Some(&b',') => {
            Ok((name, value.get(..at).unwrap_or_default(), value.get(at + 1..)))
        }
        Some(_) => Err(Fault::InvalidTagFormat),
    }
}

/// Position of the first byte behind the first one that is `wanted` and has no backslash before it.
fn find_plain(bytes: &[u8], wanted: impl Fn(u8) -> bool) -> Option<usize> {
    let is_plain =
        |pair: &[u8]| matches!(pair, [before, byte] if *before != b'\\' && wanted(*byte));
    bytes.windows(2).position(is_plain).map(|at| at + 1)
}

enum TagError {
    Duplicate,
    Time,
}

/// Refuses names that occur twice, and the name `time`, which InfluxQL could not tell from the
/// time.
fn check_tags(parts: &KeyParts, tags: usize) -> Result<(), TagError> {
    let mut names: Vec<&[u8]> = Vec::with_capacity(tags);
    names.extend(parts.labels().map(|(name, _)| name));
    names.sort_unstable();
    if names.windows(2).any(|pair| matches!(pair, [a, b] if a == b)) {
        return Err(TagError::Duplicate);
    }
    match names.binary_search(&&b"time"[..]) {
        Ok(_) => Err(TagError::Time),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(key: &str) -> Result<String, String> {
        let mut parts = KeyParts::default();
        parse_key(b"", key.as_bytes(), &mut parts).map_err(|error| error.reason)?;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let mut out = text(parts.measurement());
        for (name, value) in parts.labels() {
            out += &format!("|{}|{}", text(name), text(value));
        }
        Ok(out)
    }

    #[test]
    fn keys_are_read_as_influxdb_reads_them() {
        for (key, expected) in [
            ("m", "m"),
            ("m,a=b", "m|a|b"),
            ("m,b=1,a=2", "m|b|1|a|2"),
            (r"m\,x\ y\=z,a\ b=c\=d\,e", "m,x y=z|a b|c=d,e"),
            // A backslash before anything else is itself.
            (r"m\n,a=C:\dir", r"m\n|a|C:\dir"),
            // The measurement may hold an equals sign and quotes.
            (r#"m=1"2,a="x""#, r#"m=1"2|a|"x""#),
            // The first character of a measurement, tag name or value is never a separator's
            // escape.
            (r"\,m", r",m"),
        ] {
            assert_eq!(parse(key).as_deref(), Ok(expected), "{key}");
            assert_eq!(check_key(key.as_bytes()), Ok(()), "{key}");
        }
    }

    #[test]
    fn bad_keys_are_refused_in_influxdbs_words() {
        for (key, expected) in [
            ("", "missing measurement"),
            (",a=b", "missing measurement"),
            ("m,", "missing tag key"),
            ("m,=b", "missing tag key"),
            ("m,a=b,", "missing tag key"),
            ("m,a=b,,c=d", "missing tag key"),
            ("m,a", "missing tag value"),
            ("m,a,b=c", "missing tag value"),
            ("m,a=", "missing tag value"),
            ("m,a=,b=c", "missing tag value"),
            ("m,a=b=c", "invalid tag format"),
            ("m,a=1,b=2,a=3", "duplicate tags"),
            ("m,a=1,a=1", "duplicate tags"),
        ] {
            assert_eq!(parse(key), Err(expected.to_owned()), "{key}");
            assert_eq!(check_key(key.as_bytes()).unwrap_err().to_string(), expected, "{key}");
        }
        let time = "invalid tag key: input tag \"time\" on measurement \"m\" is invalid";
        assert_eq!(parse("m,time=1"), Err(time.to_owned()));
    }

    #[test]
    fn exact_keys_hold_any_name() {
        let mut parts = KeyParts::default();
        let key = br"\hm\s\c\b,time=a\nb\b,\t\e\q=C:\bdir\r,\z=x";
        parse_exact_key(b"", key, &mut parts).unwrap();
        assert_eq!(parts.measurement(), b"#m ,\\");
        let labels: Vec<_> = parts.labels().collect();
        let expected: [(&[u8], &[u8]); 3] =
            [(b"time", b"a\nb\\"), (b"\t=\"", b"C:\\dir\r"), (b"\0", b"x")];
        assert_eq!(labels, expected);
        for (bad, field) in [(&br"m\x"[..], "key"), (br"m,a=b\", "key"), (br"m,a", "tag")] {
            let error = parse_exact_key(b"", bad, &mut KeyParts::default()).unwrap_err();
            assert_eq!(error.field, field, "{error}");
        }
        let mut out = Vec::new();
        parse_exact_field(br"a\sb\bc", &mut out).unwrap();
        assert_eq!(out, b"a b\\c");
        assert!(parse_exact_field(br"a\?", &mut out).is_err());
        assert!(parse_exact_field(b"\xff", &mut out).is_err());
    }

    #[test]
    fn field_names_are_unescaped() {
        let mut out = Vec::new();
        parse_field(br#"a\ b\=c\"d\e"#, &mut out).unwrap();
        assert_eq!(out, br#"a b=c"d\e"#);
        assert!(parse_field(b"\xff", &mut out).is_err());
    }
}
