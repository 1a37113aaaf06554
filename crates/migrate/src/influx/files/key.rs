//! Keys of the engine: a series and one of its fields.
//!
//! Version 1 has `measurement,tag=value#!~#field`, spelled as in line protocol. Version 2 has the
//! numbers of organisation and bucket where the measurement was, and measurement and field as tags
//! that sort before and behind all others:
//! `NUMBERS,\x00=measurement,tag=value,\xff=field#!~#field`.

use crate::cursor::Wrong;
use foliot_proto_influx::{push_field_name, push_measurement};

/// What stands between a series and its field.
const FIELD_MARK: &[u8] = b"#!~#";
/// The tags of version 2 that are none.
const MEASUREMENT_TAG: &[u8] = b",\x00=";
const FIELD_TAG: &[u8] = b",\xff=";

/// A key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// As the engine has it.
    pub(super) stored: Vec<u8>,
    /// The beginning of a line of it, up to its value.
    pub(super) line: Vec<u8>,
}

impl Key {
    /// Reads a key.
    ///
    /// # Errors
    /// When it has no field.
    pub(super) fn of(stored: &[u8]) -> Result<Self, Wrong> {
        let at = find(stored, FIELD_MARK).ok_or("a key has no field")?;
        let (series, field) = stored.split_at(at);
        let field = field.get(FIELD_MARK.len()..).unwrap_or_default();
        let mut line = Vec::new();
        match find(series, MEASUREMENT_TAG) {
            Some(at) => {
                let rest = series.get(at + MEASUREMENT_TAG.len()..).unwrap_or_default();
                let (measurement, tags) = rest.split_at(value_end(rest));
                push_measurement(&plain(measurement), &mut line);
                let end = find(tags, FIELD_TAG).unwrap_or(tags.len());
                line.extend_from_slice(tags.get(..end).unwrap_or_default());
            }
            None => line.extend_from_slice(series),
        }
        line.push(b' ');
        push_field_name(field, &mut line);
        line.push(b'=');
        Ok(Self { stored: stored.to_vec(), line })
    }
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, wanted)
}

/// Where the value of a tag ends: at a comma that no backslash makes plain.
fn value_end(text: &[u8]) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.iter().enumerate() {
        if *byte == b',' && !is_escaped {
            return at;
        }
        is_escaped = *byte == b'\\' && !is_escaped;
    }
    text.len()
}

/// A text without the backslashes that make others plain.
fn plain(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = text.iter().peekable();
    while let Some(byte) = bytes.next() {
        let is_escape = *byte == b'\\' && bytes.peek().is_some_and(|next| b", =".contains(next));
        if !is_escape {
            out.push(*byte);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_both_versions_become_lines() {
        for (stored, line) in [
            (&b"cpu,host=a#!~#usage"[..], &b"cpu,host=a usage="[..]),
            (b"my\\ cpu#!~#wind speed", b"my\\ cpu wind\\ speed="),
            // The numbers may hold a comma, a blank and a backslash.
            (
                b"12345678, \\abcde\\,\x00=my cpu,host=a,\xff=usage#!~#usage",
                b"my\\ cpu,host=a usage=",
            ),
            (b"1234567890123456,\x00=a\\,b,\xff=v#!~#v", b"a\\,b v="),
        ] {
            let key = Key::of(stored).unwrap();
            assert_eq!(key.line, line, "{}", String::from_utf8_lossy(&key.line));
        }
        assert!(Key::of(b"cpu,host=a").is_err());
    }
}
