//! Samples that are made here and not sent by anyone: batches of them.

use crate::exemplars::Exemplars;
use crate::key::push_label;
use crate::write::{PIECE_ROWS_MAX, cell, time_ns};
use foliot_model::{Batch, Cell, DEFAULT_FIELD, Histogram, Kind, Reject, Span};

/// The value that marks a series as over.
pub const STALE: f64 = f64::from_bits(crate::promql::STALE);

/// Spells the labels of a series, its name among them as `__name__`, as [`crate::KEY_SYNTAX`]
/// reads them.
pub fn pack_labels<'a>(labels: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<u8> {
    let mut key = Vec::new();
    labels.for_each(|(name, value)| push_label(name.as_bytes(), value.as_bytes(), &mut key));
    key
}

/// Samples with the series they are of.
#[derive(Debug, Default)]
pub struct Samples {
    keys: Vec<u8>,
    rows: Vec<(Span, Cell, i64)>,
    exemplars: Exemplars,
}

impl Samples {
    /// Adds a value of a series, by its packed labels, at a time in milliseconds.
    pub fn push(&mut self, key: &[u8], value: f64, time_ms: i64) {
        let key = self.push_bytes(|out| out.extend_from_slice(key));
        self.rows.push((key, cell(value), time_ms));
    }

    /// Adds values of a series with their times in milliseconds.
    pub fn push_all(&mut self, key: &[u8], samples: impl Iterator<Item = (f64, i64)>) {
        let key = self.push_bytes(|out| out.extend_from_slice(key));
        self.rows.extend(samples.map(|(value, time_ms)| (key, cell(value), time_ms)));
    }

    /// Adds a native histogram.
    pub fn push_histogram(&mut self, key: &[u8], histogram: &Histogram, time_ms: i64) {
        let key = self.push_bytes(|out| out.extend_from_slice(key));
        let bytes = self.push_bytes(|out| histogram.write(out));
        self.rows.push((key, Cell::bytes(Kind::Histogram, bytes), time_ms));
    }

    fn push_bytes(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Span {
        let start = self.keys.len();
        write(&mut self.keys);
        Span::new(start, self.keys.len())
    }

    /// The exemplars that came with them.
    pub fn exemplars(&self) -> &Exemplars {
        &self.exemplars
    }

    /// The same, to add more.
    pub fn exemplars_mut(&mut self) -> &mut Exemplars {
        &mut self.exemplars
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.rows.clear();
        self.exemplars.clear();
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Packed labels, value and time in milliseconds of each; a histogram is no number.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], f64, i64)> {
        self.rows.iter().map(|(span, cell, time_ms)| {
            let (start, length) = (span.offset as usize, span.length as usize);
            let key = self.keys.get(start..start + length).unwrap_or_default();
            let value = if cell.kind == Kind::Histogram { f64::NAN } else { cell.to_f64() };
            (key, value, *time_ms)
        })
    }

    /// The bytes that batches of these are made of.
    pub fn bytes(&self) -> &[u8] {
        &self.keys
    }

    /// Puts the piece that begins with sample number `from` into an empty batch over
    /// [`Samples::bytes`]; returns where the next one begins. What cannot be stored becomes a
    /// reject, whose line is the number of its sample from one.
    pub fn decode(&self, from: usize, batch: &mut Batch<'_>, rejects: &mut Vec<Reject>) -> usize {
        let field = batch.push_scratch(|out| out.extend_from_slice(DEFAULT_FIELD.as_bytes()));
        let shape = batch.push_shape(&[field]);
        let mut next = from;
        for (key, cell, time_ms) in self.rows.iter().skip(from).take(PIECE_ROWS_MAX) {
            next += 1;
            let line = u32::try_from(next).unwrap_or(u32::MAX);
            match time_ns(*time_ms) {
                Some(time_ns) => {
                    batch.push_cell(*cell);
                    batch.push_row([Span::default(), *key], time_ns, shape, line);
                }
                None => {
                    let reason = format!("timestamp {time_ms} cannot be stored");
                    rejects.push(Reject { line, field: "timestamp".into(), reason });
                }
            }
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KEY_SYNTAX;
    use foliot_model::KeySecret;

    #[test]
    fn samples_become_batches_piece_by_piece() {
        let key = pack_labels([("__name__", "up"), ("job", "a")].into_iter());
        let mut samples = Samples::default();
        (0..PIECE_ROWS_MAX + 1).for_each(|index| samples.push(&key, 1.5, index as i64));
        samples.push(&key, STALE, i64::MAX);
        let (mut from, mut rows, mut rejects) = (0, Vec::new(), Vec::new());
        while from < samples.len() {
            let (secret, buffers) = (KeySecret(1), Default::default());
            let mut batch = Batch::new(samples.bytes(), 0, &KEY_SYNTAX, secret, buffers);
            from = samples.decode(from, &mut batch, &mut rejects);
            assert!(batch.rows().iter().all(|row| batch.slice(row.key_tail) == key));
            rows.push(batch.rows().len());
        }
        assert_eq!(rows, [PIECE_ROWS_MAX, 1]);
        assert_eq!(rejects.len(), 1, "no such time can be stored");
        assert_eq!(STALE.to_bits(), 0x7ff0_0000_0000_0002);
    }
}
