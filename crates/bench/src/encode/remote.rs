//! Prometheus remote write 1.0 (prometheus.io, "Remote-Write 1.0 specification"): a `WriteRequest`
//! in protobuf, one sample per time series, before snappy. The encoding is done by hand: four
//! message kinds do not need a generator.

use super::body::{Body, Own};
use crate::cursor::{Row, is_present};
use crate::fleet::Fleet;
use crate::profile::Label;

/// One series with one sample a value.
pub(crate) static REMOTE: Own =
    Own { is_by_row: false, is_json: false, body: || Box::new(Remote::default()) };

/// What rows are rendered with.
#[derive(Default)]
struct Remote {
    labels: Vec<Label>,
    /// The labels of the row, ready for the wire.
    rendered: Vec<u8>,
    name: Vec<u8>,
}

impl Body for Remote {
    fn row(&mut self, fleet: &Fleet, row: &Row<'_>, time_ms: i64, out: &mut Vec<u8>) -> u64 {
        let Some(table) = fleet.tables.get(row.table) else { return 0 };
        fleet.labels(row.source, row.step, row.table, &mut self.labels);
        // Names must be sorted; `__name__` sorts before all lower-case ones.
        self.labels.sort_by_key(|label| label.key);
        self.rendered.clear();
        for label in &self.labels {
            push_label(label.key, &label.value.to_string(), &mut self.rendered);
        }
        let group =
            if table.groups > 0 { (row.source % table.groups).to_string() } else { "".into() };
        let mut values = 0;
        let fields = table.fields.iter().skip(row.first_field).zip(row.values);
        for (field, value) in fields.filter(|(_, value)| is_present(**value)) {
            self.name.clear();
            let name = format!("{}{group}_{}", table.name, field.name);
            push_label("__name__", &name, &mut self.name);
            let number = *value as f64 / field.kind.unit() as f64;
            // Sample: field 1 a double of eight bytes, field 2 the time.
            let sample = 1 + 8 + 1 + varint_length(time_ms as u64);
            let series = self.name.len() + self.rendered.len() + 2 + sample;
            push_head(1, series, out);
            out.extend_from_slice(&self.name);
            out.extend_from_slice(&self.rendered);
            push_head(2, sample, out);
            out.push(1 << 3 | 1);
            out.extend_from_slice(&number.to_le_bytes());
            out.push(2 << 3);
            push_varint(time_ms as u64, out);
            values += 1;
        }
        values
    }

    /// Every series is complete in itself.
    fn close(&mut self, _fleet: &Fleet, _out: &mut Vec<u8>) {}
}

/// A `Label` as field 1 of its `TimeSeries`.
fn push_label(name: &str, value: &str, out: &mut Vec<u8>) {
    let length = |text: &str| 1 + varint_length(text.len() as u64) + text.len();
    push_head(1, length(name) + length(value), out);
    for (field, text) in [(1, name), (2, value)] {
        push_head(field, text.len(), out);
        out.extend_from_slice(text.as_bytes());
    }
}

/// Tag of a length-delimited field and its length.
fn push_head(field: u8, length: usize, out: &mut Vec<u8>) {
    out.push(field << 3 | 2);
    push_varint(length as u64, out);
}

fn push_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn varint_length(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_have_the_length_that_is_foretold() {
        for value in [0, 1, 127, 128, 300, 16_383, 16_384, u64::from(u32::MAX), u64::MAX] {
            let mut out = Vec::new();
            push_varint(value, &mut out);
            assert_eq!(out.len(), varint_length(value), "{value}");
        }
        let mut out = Vec::new();
        push_varint(300, &mut out);
        assert_eq!(out, [0xac, 0x02], "the example of the protobuf encoding guide");
    }

    #[test]
    fn a_label_is_two_texts() {
        let mut out = Vec::new();
        push_label("a", "bc", &mut out);
        assert_eq!(out, b"\x0a\x07\x0a\x01a\x12\x02bc");
    }
}
