//! Exemplars of data points.

use super::attributes::Attributes;
use super::names::Naming;
use super::{Labels, inside, pack, text};
use crate::exemplars::{EXEMPLAR_CHARS_MAX, Exemplar};
use crate::wire::{Field, Value};
use crate::write::Malformed;

/// The labels that lead to a trace, as Prometheus names them.
const TRACE: &str = "trace_id";
const SPAN: &str = "span_id";

/// Longest identity of a trace or span that is one: 16 bytes are said, and some send more.
const ID_BYTES_MAX: usize = EXEMPLAR_CHARS_MAX / 2;

/// Checks that a message can be read.
pub(super) fn check(bytes: &[u8], field: &Field) -> Result<(), Malformed> {
    read_field(bytes, field).map(drop)
}

/// Reads one. Attributes that were filtered from its series are left out where they are too long
/// together, as Prometheus does: trace and span lead further than they.
pub(super) fn read(bytes: &[u8], field: &Field, naming: Naming) -> Result<Exemplar, Malformed> {
    let Read { mut labels, attributes, value, time_ms } = read_field(bytes, field)?;
    let mut more = Labels::new();
    let is_good = attributes.add(naming, &mut more, |_| true).is_ok();
    let chars = |labels: &Labels| {
        let texts = labels.iter().flat_map(|(name, value)| [name, value]);
        texts.map(|text| text.chars().count()).sum::<usize>()
    };
    if is_good && chars(&labels) + chars(&more) <= EXEMPLAR_CHARS_MAX {
        more.append(&mut labels);
        labels = more;
    }
    Ok(Exemplar { labels: pack(&labels), value, time_ms: Some(time_ms) })
}

#[derive(Default)]
struct Read<'a> {
    labels: Labels,
    attributes: Attributes<'a>,
    value: f64,
    time_ms: i64,
}

fn read_field<'a>(bytes: &'a [u8], field: &Field) -> Result<Read<'a>, Malformed> {
    let mut read = Read::default();
    let mut fields = inside(bytes, field)?;
    while let Some(field) = fields.next()? {
        let name = match (field.number, field.value) {
            (2, Value::Fixed64(time_ns)) => {
                read.time_ms = (time_ns / 1_000_000) as i64;
                continue;
            }
            (3, Value::Fixed64(bits)) => {
                read.value = f64::from_bits(bits);
                continue;
            }
            (6, Value::Fixed64(bits)) => {
                read.value = bits as i64 as f64;
                continue;
            }
            (7, _) => {
                read.attributes.read(bytes, &field)?;
                continue;
            }
            (4, _) => SPAN,
            (5, _) => TRACE,
            _ => continue,
        };
        let id = text(bytes, &field)?;
        if !id.is_empty() {
            let id = id.get(..ID_BYTES_MAX).unwrap_or(id);
            let hex = id.iter().map(|byte| format!("{byte:02x}")).collect();
            read.labels.insert(name.to_owned(), hex);
        }
    }
    Ok(read)
}
