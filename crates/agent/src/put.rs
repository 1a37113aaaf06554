//! Samples spelt as OpenTSDB's `put` lines.

use crate::{Number, Sample};
use std::io::Write;

/// Appends `put <metric> <time> <value> <tags> host=<host>` and a newline to `out`.
///
/// Characters that OpenTSDB does not allow in names and tag values become `_`.
pub fn put_line(out: &mut Vec<u8>, sample: &Sample<'_>, time_s: i64, host: &str) {
    out.extend_from_slice(b"put ");
    push_name(out, sample.metric);
    // Writing to memory cannot fail.
    let _ = match sample.value {
        Number::Integer(value) => write!(out, " {time_s} {value}"),
        // Debug keeps the point of whole numbers, so that the series stays one of floats.
        Number::Float(value) => write!(out, " {time_s} {value:?}"),
    };
    for (name, value) in sample.tags.iter().chain([&("host", host)]) {
        out.push(b' ');
        push_name(out, name);
        out.push(b'=');
        push_name(out, if value.is_empty() { "none" } else { value });
    }
    out.push(b'\n');
}

fn push_name(out: &mut Vec<u8>, text: &str) {
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    for c in text.chars().map(|c| if allowed(c) { c } else { '_' }) {
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
}
