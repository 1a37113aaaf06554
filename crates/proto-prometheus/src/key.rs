//! Keys: the labels of a series as remote write 1.0 spells them, read only when they are new.

use crate::label_table::spell;
use crate::wire::{Fields, push_bytes, push_varint};
use crate::write::Malformed;
use foliot_model::{KeyError, KeyParts, KeySyntax, Span};

/// The label that holds a series' name.
pub(crate) const NAME: &[u8] = b"__name__";

/// Field of a series that holds a label; of a label, its name and its value.
pub(crate) const LABEL: u64 = 1;
pub(crate) const LABEL_NAME: u64 = 1;
pub(crate) const LABEL_VALUE: u64 = 2;

/// The key syntax of this door: the head is empty, the tail is a run of label fields. Labels of
/// remote write 2.0 are packed into the same spelling, so that a series is found under one hash.
///
/// Or the head is a [`crate::LabelTable`], and the tail has the places of a series in it. It counts
/// as what it spells: the hash is that of the run of labels.
pub static KEY_SYNTAX: KeySyntax =
    KeySyntax { id: 24, name: "remote write", parse: parse_key, parse_field: copy_field };

fn copy_field(raw: &[u8], out: &mut Vec<u8>) -> Result<(), KeyError> {
    out.extend_from_slice(raw);
    Ok(())
}

fn parse_key(head: &[u8], tail: &[u8], parts: &mut KeyParts) -> Result<(), KeyError> {
    if head.is_empty() {
        return parse_packed(tail, parts);
    }
    let mut packed = Vec::new();
    let spelled = spell(head, tail, &mut packed);
    spelled.map_err(|Malformed(reason)| KeyError { field: "tag", reason })?;
    parse_packed(&packed, parts)
}

/// Labels that contradict each other are found when the parts are put in order.
fn parse_packed(tail: &[u8], parts: &mut KeyParts) -> Result<(), KeyError> {
    let unreadable = |Malformed(reason)| KeyError { field: "tag", reason };
    let text = |span: Span| {
        tail.get(span.offset as usize..(span.offset + span.length) as usize).unwrap_or_default()
    };
    let mut named = None;
    let mut fields = Fields::new(tail, 0, tail.len());
    while let Some(field) = fields.next().map_err(unreadable)? {
        let (start, end) = field.range().map_err(unreadable)?;
        let (name, value) = read_label(tail, start, end).map_err(unreadable)?;
        match (text(name), text(value)) {
            (b"", _) => {
                let reason = "a label has no name".to_owned();
                return Err(KeyError { field: "tag", reason });
            }
            (NAME, value) if named.is_some_and(|named| named != value) => {
                let reason = "a series has two names (__name__)".to_owned();
                return Err(KeyError { field: "metric", reason });
            }
            (NAME, value) => named = Some(value),
            (name, value) => parts
                .push_label(|out| out.extend_from_slice(name), |out| out.extend_from_slice(value)),
        }
    }
    match named.filter(|name| !name.is_empty()) {
        Some(name) => parts.set_measurement(|out| out.extend_from_slice(name)),
        None => {
            let reason = "a series has no name (__name__)".to_owned();
            return Err(KeyError { field: "metric", reason });
        }
    }
    Ok(())
}

/// Spells a label behind others.
pub(crate) fn push_label(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    let length = |bytes: &[u8]| 1 + varint_bytes(bytes.len() as u64) + bytes.len();
    out.push(LABEL as u8 * 8 + 2);
    push_varint((length(name) + length(value)) as u64, out);
    push_bytes(LABEL_NAME as u8, name, out);
    push_bytes(LABEL_VALUE as u8, value, out);
}

/// Bytes that a varint takes.
fn varint_bytes(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

/// Reads packed labels.
pub(crate) fn unpack_labels(
    packed: &[u8],
    push: &mut dyn FnMut(&[u8], &[u8]),
) -> Result<(), Malformed> {
    let text = |span: Span| {
        packed.get(span.offset as usize..(span.offset + span.length) as usize).unwrap_or_default()
    };
    let mut fields = Fields::new(packed, 0, packed.len());
    while let Some(field) = fields.next()? {
        let (start, end) = field.range()?;
        let (name, value) = read_label(packed, start, end)?;
        push(text(name), text(value));
    }
    Ok(())
}

/// Where a label's name and value lie.
pub(crate) fn read_label(
    bytes: &[u8],
    start: usize,
    end: usize,
) -> Result<(Span, Span), Malformed> {
    let (mut name, mut value) = (Span::default(), Span::default());
    let mut fields = Fields::new(bytes, start, end);
    while let Some(field) = fields.next()? {
        match field.number {
            LABEL_NAME => name = field.span()?,
            LABEL_VALUE => value = field.span()?,
            _ => {}
        }
    }
    Ok((name, value))
}

/// Packed labels for a person: `up{job="a"}`.
pub fn shown_key(key: &[u8]) -> String {
    let (mut metric, mut labels) = (String::new(), Vec::new());
    let text = |span: Span| {
        let bytes = key.get(span.offset as usize..(span.offset + span.length) as usize);
        String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
    };
    let mut fields = Fields::new(key, 0, key.len());
    while let Ok(Some(field)) = fields.next() {
        let label = field.range().and_then(|(start, end)| read_label(key, start, end));
        match label.map(|(name, value)| (text(name), text(value))) {
            Ok((name, value)) if name.as_bytes() == NAME => metric = value,
            Ok((name, value)) => labels.push(format!("{name}={value:?}")),
            Err(_) => break,
        }
    }
    format!("{metric}{{{}}}", labels.join(","))
}

/// The series of this number, from one, of a request of remote write 1.0, for a person.
pub fn shown_series(request: &[u8], number: u32) -> String {
    let (mut fields, mut left) = (Fields::new(request, 0, request.len()), number);
    while let Ok(Some(field)) = fields.next() {
        let Ok((start, end)) = field.range() else { continue };
        left = left.saturating_sub(1);
        if left > 0 {
            continue;
        }
        let (mut of, mut labels) = (Fields::new(request, start, end), Vec::new());
        while let Ok(Some(label)) = of.next() {
            if label.number == LABEL {
                labels.extend_from_slice(request.get(label.start..of.at()).unwrap_or_default());
            }
        }
        return shown_key(&labels);
    }
    format!("series {number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(labels: &[(&str, &str)]) -> Result<String, String> {
        let mut tail = Vec::new();
        for (name, value) in labels {
            let mut label = Vec::new();
            push_bytes(1, name.as_bytes(), &mut label);
            push_bytes(2, value.as_bytes(), &mut label);
            let start = tail.len();
            push_bytes(1, &label, &mut tail);
            let mut spelled = Vec::new();
            push_label(name.as_bytes(), value.as_bytes(), &mut spelled);
            assert_eq!(spelled, tail[start..], "as senders spell it");
        }
        let mut parts = KeyParts::default();
        parse_key(b"", &tail, &mut parts).map_err(|error| error.reason)?;
        parts.canonicalize().map_err(|error| error.reason)?;
        let mut text = String::from_utf8_lossy(parts.measurement()).into_owned();
        for (name, value) in parts.labels() {
            let [name, value] = [name, value].map(String::from_utf8_lossy);
            text.push_str(&format!(",{name}={value}"));
        }
        Ok(text)
    }

    #[test]
    fn labels_in_any_order_name_one_series_and_empty_ones_none() {
        let wanted = Ok("up,instance=a:9100,job=node x".to_owned());
        let (name, instance, job) = (("__name__", "up"), ("instance", "a:9100"), ("job", "node x"));
        assert_eq!(parse(&[name, instance, job]), wanted);
        assert_eq!(parse(&[job, ("gone", ""), instance, name]), wanted);
        assert_eq!(parse(&[("__name__", "ü.x"), ("a b", "\"=,")]), Ok("ü.x,a b=\"=,".to_owned()));
    }

    #[test]
    fn series_without_one_name_are_refused() {
        for (labels, word) in [
            (&[("a", "b")][..], "no name"),
            (&[("__name__", "")], "no name"),
            (&[], "no name"),
            (&[("__name__", "m"), ("__name__", "n")], "two names"),
            (&[("__name__", "m"), ("", "b")], "a label has no name"),
            (&[("__name__", "m"), ("a", "b"), ("a", "c")], "duplicate"),
        ] {
            let error = parse(labels).unwrap_err();
            assert!(error.contains(word), "{labels:?}: {error}");
        }
    }
}
