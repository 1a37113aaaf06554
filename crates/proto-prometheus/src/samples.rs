//! Samples that are made here and not sent by anyone: batches of them.

use crate::exemplars::Exemplars;
use crate::key::push_label;
use crate::label_table::{LabelTable, spell};
use crate::scraped::Measured;
use crate::write::{PIECE_ROWS_MAX, cell, time_ns};
use foliot_model::{Batch, Cell, DEFAULT_FIELD, Histogram, KeyHasher, Kind, Reject, Span};
use std::borrow::Cow;

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
    bytes: Vec<u8>,
    rows: Vec<Row>,
    /// What hashed the keys of which only places are known.
    hasher: Option<KeyHasher>,
    /// The table that those places are of, and where the places begin.
    table: Span,
    places_start: u32,
    exemplars: Exemplars,
}

/// A sample.
#[derive(Clone, Copy, Debug)]
struct Row {
    key: Key,
    cell: Cell,
    time_ms: i64,
}

/// The series of a sample.
#[derive(Clone, Copy, Debug)]
enum Key {
    /// Its packed labels.
    Packed(Span),
    /// Where among all places those of its labels lie, and the hash of what they spell.
    Placed(Span, [u64; 2]),
}

/// A series by the places of its labels in a table.
#[derive(Clone, Copy, Debug)]
pub struct PlacedSeries {
    /// Where the places of its labels lie among those of all series.
    pub places: Span,
    /// The hash of the packed labels.
    pub hash: u128,
}

impl Samples {
    /// None yet, for a store that hashes keys so.
    pub fn hashed_by(hasher: KeyHasher) -> Self {
        Self { hasher: Some(hasher), ..Self::default() }
    }

    /// How the store hashes keys, if that is known.
    pub fn hasher(&self) -> Option<KeyHasher> {
        self.hasher
    }

    /// Adds a value of a series of which the places are known: [`Samples::refer_to`] says of what.
    #[inline]
    pub fn push_placed(&mut self, series: PlacedSeries, value: Measured<'_>, time_ms: i64) {
        let cell = match value {
            Measured::Number(cell) => cell,
            Measured::Histogram(of) => self.push_cell_of(of),
        };
        let key = Key::Placed(series.places, [series.hash as u64, (series.hash >> 64) as u64]);
        self.rows.push(Row { key, cell, time_ms });
    }

    /// Says which table all places are of, which places there are, and what hashed the labels that
    /// they stand for.
    pub fn refer_to(&mut self, table: &LabelTable, places: &[u8], hasher: KeyHasher) {
        self.table = self.push_bytes(|out| out.extend_from_slice(table.bytes()));
        self.places_start = self.push_bytes(|out| out.extend_from_slice(places)).offset;
        self.hasher = Some(hasher);
    }

    /// Where the places of a series lie.
    fn placed(&self, places: Span) -> Span {
        Span { offset: self.places_start.saturating_add(places.offset), ..places }
    }

    /// Adds a value of a series, by its packed labels, at a time in milliseconds.
    pub fn push(&mut self, key: &[u8], value: f64, time_ms: i64) {
        let key = self.push_key(key);
        self.rows.push(Row { key, cell: cell(value), time_ms });
    }

    /// Adds values of a series with their times in milliseconds.
    pub fn push_all(&mut self, key: &[u8], samples: impl Iterator<Item = (f64, i64)>) {
        let key = self.push_key(key);
        self.rows.extend(samples.map(|(value, time_ms)| Row { key, cell: cell(value), time_ms }));
    }

    /// Adds a native histogram.
    pub fn push_histogram(&mut self, key: &[u8], histogram: &Histogram, time_ms: i64) {
        let key = self.push_key(key);
        let cell = self.push_cell_of(histogram);
        self.rows.push(Row { key, cell, time_ms });
    }

    fn push_key(&mut self, packed: &[u8]) -> Key {
        Key::Packed(self.push_bytes(|out| out.extend_from_slice(packed)))
    }

    fn push_cell_of(&mut self, histogram: &Histogram) -> Cell {
        Cell::bytes(Kind::Histogram, self.push_bytes(|out| histogram.write(out)))
    }

    fn push_bytes(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Span {
        let start = self.bytes.len();
        write(&mut self.bytes);
        Span::new(start, self.bytes.len())
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
        self.bytes.clear();
        self.rows.clear();
        (self.table, self.places_start) = (Span::default(), 0);
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
    pub fn iter(&self) -> impl Iterator<Item = (Cow<'_, [u8]>, f64, i64)> {
        self.rows.iter().map(|Row { key, cell, time_ms }| {
            let value = if cell.kind == Kind::Histogram { f64::NAN } else { cell.to_f64() };
            (self.packed(key), value, *time_ms)
        })
    }

    fn packed(&self, key: &Key) -> Cow<'_, [u8]> {
        match key {
            Key::Packed(span) => self.slice(*span).into(),
            Key::Placed(places, _) => {
                let mut packed = Vec::new();
                // What is cut short is refused as a key.
                let places = self.slice(self.placed(*places));
                let _ = spell(self.slice(self.table), places, &mut packed);
                packed.into()
            }
        }
    }

    fn slice(&self, span: Span) -> &[u8] {
        let (start, length) = (span.offset as usize, span.length as usize);
        self.bytes.get(start..start + length).unwrap_or_default()
    }

    /// The bytes that batches of these are made of.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Puts the piece that begins with sample number `from` into an empty batch over
    /// [`Samples::bytes`]; returns where the next one begins. What cannot be stored becomes a
    /// reject, whose line is the number of its sample from one.
    pub fn decode(&self, from: usize, batch: &mut Batch<'_>, rejects: &mut Vec<Reject>) -> usize {
        let field = batch.push_scratch(|out| out.extend_from_slice(DEFAULT_FIELD.as_bytes()));
        let shape = batch.push_shape(&[field]);
        let are_hashes_good = self.hasher.as_ref() == Some(batch.hasher());
        let mut next = from;
        for Row { key, cell, time_ms } in self.rows.iter().skip(from).take(PIECE_ROWS_MAX) {
            next += 1;
            let line = u32::try_from(next).unwrap_or(u32::MAX);
            let Some(time_ns) = time_ns(*time_ms) else {
                let reason = format!("timestamp {time_ms} cannot be stored");
                rejects.push(Reject { line, field: "timestamp".into(), reason });
                continue;
            };
            batch.push_cell(*cell);
            match key {
                Key::Packed(span) => {
                    batch.push_row([Span::default(), *span], time_ns, shape, line);
                }
                Key::Placed(places, [low, high]) if are_hashes_good => {
                    let hash = u128::from(*high) << 64 | u128::from(*low);
                    let key = [self.table, self.placed(*places)];
                    batch.push_hashed_row(hash, key, time_ns, shape, line);
                }
                // The store has another place for them than it had.
                placed @ Key::Placed(..) => {
                    let packed = self.packed(placed);
                    let key = batch.push_scratch(|out| out.extend_from_slice(&packed));
                    batch.push_row([Span::default(), key], time_ns, shape, line);
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

    #[test]
    fn a_placed_series_is_found_where_its_labels_are() {
        let labels = [("__name__", "up"), ("job", "a")];
        let packed = pack_labels(labels.into_iter());
        let (mut table, mut places) = (LabelTable::default(), b"others".to_vec());
        for label in labels {
            let place = table.add(&pack_labels([label].into_iter())).unwrap();
            crate::push_place(place, &mut places);
        }
        let (secret, other) = (KeySecret(1), KeySecret(2));
        let hasher = KeyHasher::new(secret, 0, &KEY_SYNTAX);
        let mut samples = Samples::hashed_by(hasher);
        let lies = Span::new(b"others".len(), places.len());
        let series = PlacedSeries { places: lies, hash: hasher.key(b"", &packed) };
        samples.push_placed(series, Measured::Number(cell(2.0)), 5);
        samples.push(&packed, 1.0, 6);
        samples.refer_to(&table, &places, hasher);
        assert!(samples.iter().all(|(key, ..)| *key == packed));
        for secret in [secret, other] {
            let mut batch = Batch::new(samples.bytes(), 0, &KEY_SYNTAX, secret, Default::default());
            assert_eq!(samples.decode(0, &mut batch, &mut Vec::new()), 2);
            let hash = batch.hasher().key(b"", &packed);
            assert!(batch.rows().iter().all(|row| row.key_hash == hash), "{secret:?}");
            let shown = batch.rows().iter().map(|row| {
                let mut parts = foliot_model::KeyParts::default();
                let (head, tail) = (batch.slice(row.key_head), batch.slice(row.key_tail));
                (KEY_SYNTAX.parse)(head, tail, &mut parts).unwrap();
                (String::from_utf8_lossy(parts.measurement()).into_owned(), parts.labels().count())
            });
            assert_eq!(shown.collect::<Vec<_>>(), [("up".to_owned(), 1), ("up".to_owned(), 1)]);
        }
    }
}
