//! Registration: from a row's key and fields to its series, creating what is new.
//!
//! A chunk of rows goes through five steps:
//! 1. parse keys and field names, without any lock;
//! 2. resolve by name what is known, under the shared lock of names;
//! 3. stage what is new in an [`Overlay`] that numbers it as the names will, one registrar at a
//!    time; readers of names are not disturbed;
//! 4. publish the staged records, then apply them to the names piece by piece, as replay does;
//! 5. teach the lookup.
//!
//! A failed publication drops the overlay: nothing of the chunk was ever visible.

use crate::limits::{
    CHUNK_ROWS_MAX, LABELS_MAX, NAME_BYTES_MAX, SPELLINGS_PER_SERIES_MAX, VALUE_BYTES_MAX,
};
use crate::lookup::Sids;
use crate::names::Names;
use crate::record;
use crate::registry::{Limited, Registered, Registry, Terms};
use crate::stage::{Fields, Memo, Overlay, Prepared, Stage};
use crate::tally::Tally;
use foliot_model::{Batch, FIELDS_MAX, KeyError, KeyParts, Reject, Row};
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

/// Chunks kept for later calls.
const CHUNKS_KEPT_MAX: usize = 8;

/// A chunk of rows on its way, with memory that the next chunk uses again.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    /// Whose names the memo holds.
    namespace: u32,
    rows: Vec<Prepared>,
    len: usize,
    fields: Fields,
    last_shape: Option<(u32, Range<usize>)>,
    sids: Vec<u32>,
    memo: Memo,
    /// Series that were staged, where they are limited.
    tally: Tally,
}

/// Registers the rows `missing` of `batch`; see [`Registry::register`].
pub(crate) fn register<E>(
    registry: &Registry,
    batch: &Batch<'_>,
    missing: &[u32],
    terms: &Terms<'_>,
    publish: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    found: &mut dyn FnMut(u32, Sids<'_>),
    rejects: &mut Vec<Reject>,
) -> Result<Registered, E> {
    let mut chunk = registry.chunks().lock().pop().unwrap_or_default();
    chunk.enter(batch.namespace());
    let mut registered = Registered::default();
    for rows in missing.chunks(CHUNK_ROWS_MAX) {
        chunk.prepare(batch, rows, terms.labels_max, rejects);
        let unknown = chunk.resolve_known(registry, batch);
        if !unknown.is_empty() {
            let left = Terms { admit: terms.admit - registered.new_series, ..*terms };
            let sids = chunk.register_unknown(
                registry,
                (batch, rows),
                &unknown,
                &left,
                publish,
                rejects,
            )?;
            registered.add(sids);
        }
        chunk.learn(registry, batch);
        for row in chunk.rows() {
            if let Some(sids) = chunk.sids.get(row.sids.clone()).filter(|sids| !sids.is_empty()) {
                let alike = rows.get(row.rows.clone()).unwrap_or_default();
                alike.iter().for_each(|&row| found(row, Sids::of(sids)));
            }
        }
    }
    // A chunk that met an error is not kept: it may remember numbers that were never given out.
    let mut chunks = registry.chunks().lock();
    if chunks.len() < CHUNKS_KEPT_MAX {
        chunks.push(chunk);
    }
    Ok(registered)
}

/// What says that a row can be none of the store's, whatever is registered.
///
/// # Errors
/// What would be said of it.
pub fn read_row(
    batch: &Batch<'_>,
    row: &Row,
    labels_max: usize,
    parts: &mut KeyParts,
) -> Result<(), KeyError> {
    prepare_key(batch, row, parts, labels_max)?;
    Chunk::default().parse_fields(batch, row.shape)
}

/// See [`Registry::is_beyond`].
pub(crate) fn is_beyond(
    registry: &Registry,
    batch: &Batch<'_>,
    row: &Row,
    labels_max: usize,
    limited: &Limited<'_>,
) -> bool {
    let (mut chunk, mut prepared) = (Chunk::default(), Prepared::default());
    let Ok(fields) = chunk.prepare_fields(batch, row.shape) else { return false };
    if prepare_key(batch, row, &mut prepared.parts, labels_max).is_err() {
        return false;
    }
    prepared.fields = fields;
    let names = registry.names().read();
    let of = (batch.namespace(), &prepared, &chunk.fields);
    chunk.tally.refuses(&mut Stage::new(&names, None), of, &mut chunk.memo, limited).is_some()
}

impl Chunk {
    fn enter(&mut self, namespace: u32) {
        if self.namespace != namespace {
            self.memo = Memo::default();
            self.namespace = namespace;
        }
    }

    fn rows(&self) -> &[Prepared] {
        self.rows.get(..self.len).unwrap_or_default()
    }

    /// Step 1: parses keys and field names; bad rows are rejected. Rows of one series that follow
    /// one another, as when the past of each is brought in, are one.
    fn prepare(
        &mut self,
        batch: &Batch<'_>,
        rows: &[u32],
        labels_max: usize,
        rejects: &mut Vec<Reject>,
    ) {
        self.len = 0;
        self.sids.clear();
        self.fields.bytes.clear();
        self.fields.ends.clear();
        self.last_shape = None;
        self.memo.columns_of = None;
        let mut last = None;
        for (at, &index) in rows.iter().enumerate() {
            let Some(row) = batch.rows().get(index as usize) else { continue };
            if last == Some((row.key_hash, row.shape))
                && let Some(prepared) =
                    self.len.checked_sub(1).and_then(|last| self.rows.get_mut(last))
            {
                prepared.rows.end = at + 1;
                continue;
            }
            last = None;
            if self.rows.len() == self.len {
                self.rows.push(Prepared::default());
            }
            let fields = self.prepare_fields(batch, row.shape);
            let Some(prepared) = self.rows.get_mut(self.len) else { continue };
            let key = prepare_key(batch, row, &mut prepared.parts, labels_max);
            match key.and(fields) {
                Ok(fields) => {
                    last = Some((row.key_hash, row.shape));
                    prepared.row = index;
                    prepared.rows = at..at + 1;
                    prepared.fields = fields;
                    prepared.sids = 0..0;
                    self.len += 1;
                }
                Err(KeyError { field, reason }) => {
                    rejects.push(Reject { line: row.line, field: Cow::Borrowed(field), reason });
                }
            }
        }
    }

    fn prepare_fields(&mut self, batch: &Batch<'_>, shape: u32) -> Result<Range<usize>, KeyError> {
        if let Some((last, range)) = &self.last_shape
            && *last == shape
        {
            return Ok(range.clone());
        }
        let start = self.fields.ends.len();
        let bytes_start = self.fields.bytes.len();
        let result = self.parse_fields(batch, shape);
        match result {
            Ok(()) => {
                let range = start..self.fields.ends.len();
                self.last_shape = Some((shape, range.clone()));
                Ok(range)
            }
            Err(error) => {
                self.fields.ends.truncate(start);
                self.fields.bytes.truncate(bytes_start);
                Err(error)
            }
        }
    }

    fn parse_fields(&mut self, batch: &Batch<'_>, shape: u32) -> Result<(), KeyError> {
        let refuse = |reason: String| Err(KeyError { field: "field", reason });
        let spans = batch.shape(shape).map_or(&[][..], |shape| batch.fields(shape));
        if spans.is_empty() || spans.len() > FIELDS_MAX {
            return refuse(format!(
                "{} fields in one row, from 1 to {FIELDS_MAX} may be",
                spans.len()
            ));
        }
        let first = self.fields.ends.len();
        for &span in spans {
            let start = self.fields.bytes.len();
            (batch.syntax().parse_field)(batch.slice(span), &mut self.fields.bytes)?;
            self.fields.ends.push(self.fields.bytes.len());
            let name = self.fields.bytes.get(start..).unwrap_or_default();
            if name.is_empty() || name.len() > NAME_BYTES_MAX {
                let reason =
                    format!("field name of {} bytes, up to {NAME_BYTES_MAX} may be", name.len());
                return refuse(reason);
            }
            if std::str::from_utf8(name).is_err() {
                return refuse("field name is not valid UTF-8".to_owned());
            }
        }
        let names = first..self.fields.ends.len();
        let twice = if names.len() <= 16 {
            names.clone().find(|&b| (first..b).any(|a| self.fields.get(a) == self.fields.get(b)))
        } else {
            let mut seen = HashSet::with_capacity(names.len());
            names.clone().find(|&index| !seen.insert(self.fields.get(index)))
        };
        match twice {
            Some(index) => refuse(format!(
                "duplicate field: {}",
                String::from_utf8_lossy(self.fields.get(index))
            )),
            None => Ok(()),
        }
    }

    /// Step 2: resolves what is known; the positions of the other rows are returned.
    fn resolve_known(&mut self, registry: &Registry, batch: &Batch<'_>) -> Vec<usize> {
        let names = registry.names().read();
        let mut stage = Stage::new(&names, None);
        let mut unknown = Vec::new();
        for (index, row) in self.rows.iter_mut().take(self.len).enumerate() {
            let start = self.sids.len();
            let namespace = batch.namespace();
            match stage.row(namespace, row, &self.fields, &mut self.memo, &mut self.sids) {
                Some(source) => {
                    row.source = source;
                    row.sids = start..self.sids.len();
                }
                None => unknown.push(index),
            }
        }
        unknown
    }

    /// Steps 3 and 4: returns the new series.
    fn register_unknown<E>(
        &mut self,
        registry: &Registry,
        (batch, rows): (&Batch<'_>, &[u32]),
        unknown: &[usize],
        terms: &Terms<'_>,
        publish: &mut dyn FnMut(&[u8]) -> Result<(), E>,
        rejects: &mut Vec<Reject>,
    ) -> Result<Range<u32>, E> {
        let mut overlay = registry.registrar().lock();
        overlay.clear();
        self.tally.clear();
        let (first, records) = {
            let names = registry.names().read();
            // Rows that only need what is there are resolved even when nothing can be added.
            let (admit, limit) = match names.has_room() {
                true => (terms.admit, terms.limit),
                false => (0, "the registry, whose numbers are given out"),
            };
            let terms = Terms { admit, limit, ..*terms };
            for &index in unknown {
                let refused = self.stage_row(&names, &mut overlay, batch, index, &terms);
                if let Some(refused) = refused {
                    let of = self.rows.get(index);
                    rejects.extend(of.into_iter().flat_map(|of| each(batch, rows, of, &refused)));
                }
            }
            (names.series_end(), overlay.records(&names))
        };
        if records.bytes.is_empty() {
            return Ok(first..first);
        }
        publish(&records.bytes)?;
        // Readers of names come between the pieces. No other registration does.
        let apply = |piece| record::apply(&mut registry.names().write(), piece);
        let applied = records.iter().try_for_each(apply);
        debug_assert!(applied.is_ok(), "staged records apply: {applied:?}");
        if let Err(error) = applied {
            self.memo = Memo::default();
            for &index in unknown {
                let Some(row) = self.rows.get_mut(index) else { continue };
                row.sids = 0..0;
                let reason = format!("BUG: registration contradicts itself: {error}");
                let refused = Reject { line: 0, field: Cow::Borrowed("series"), reason };
                rejects.extend(each(batch, rows, row, &refused));
            }
            return Ok(first..first);
        }
        Ok(first..first.saturating_add(overlay.series_len()))
    }

    fn stage_row(
        &mut self,
        names: &Names,
        overlay: &mut Overlay,
        batch: &Batch<'_>,
        index: usize,
        terms: &Terms<'_>,
    ) -> Option<Reject> {
        let row = self.rows.get_mut(index)?;
        let line = batch.rows().get(row.row as usize).map_or(0, |row| row.line);
        let measurement = String::from_utf8_lossy(row.parts.measurement());
        let refuse = |reason| Some(Reject { line, field: Cow::Borrowed("series"), reason });
        let (namespace, fields) = (batch.namespace(), &self.fields);
        let staged = overlay.series_len();
        let left = terms.admit.saturating_sub(staged.into());
        if left < row.fields.len() as u64 {
            let mut stage = Stage::new(names, Some(&mut *overlay));
            let needed = stage.missing(namespace, row, fields, &mut self.memo);
            if needed > left {
                return refuse(format!(
                    "measurement '{measurement}': row needs {needed} new series where {left} are \
                     admitted by {}",
                    terms.limit
                ));
            }
        }
        if let Some(limited) = terms.limited {
            let mut stage = Stage::new(names, Some(&mut *overlay));
            let of = (namespace, &*row, fields);
            if let Some(reason) = self.tally.refuses(&mut stage, of, &mut self.memo, limited) {
                return refuse(reason);
            }
        }
        let start = self.sids.len();
        let mut stage = Stage::creating(names, overlay);
        match stage.row(namespace, row, fields, &mut self.memo, &mut self.sids) {
            Some(source) => {
                row.source = source;
                row.sids = start..self.sids.len();
                if overlay.series_len() > staged {
                    if terms.limited.is_some() {
                        let known = names.series_end().saturating_add(staged);
                        self.tally.note(self.sids.get(start..), known, &self.memo);
                    }
                    overlay.classify(staged, (terms.class)(&row.parts));
                }
                None
            }
            None => refuse(format!("measurement '{measurement}': the registry is full")),
        }
    }

    /// Step 5: teaches the lookup the spellings of this chunk.
    fn learn(&self, registry: &Registry, batch: &Batch<'_>) {
        let names = registry.names().read();
        let mut lookup = registry.lookup().write();
        // A source of 255 series or more is bounded only by what all sources together may have.
        let spellings_max = u64::from(names.series_len()) * u64::from(SPELLINGS_PER_SERIES_MAX);
        for prepared in self.rows() {
            let Some(row) = batch.rows().get(prepared.row as usize) else { continue };
            let Some(sids) = self.sids.get(prepared.sids.clone()) else { continue };
            let Some(shape) = batch.shape(row.shape).filter(|_| !sids.is_empty()) else { continue };
            let allowed = match names.series_count(prepared.source) {
                255 => match lookup.entries() < spellings_max {
                    true => u32::MAX,
                    false => 0,
                },
                count => (count * SPELLINGS_PER_SERIES_MAX).min(255),
            };
            let hashes = (row.key_hash, shape.hash);
            lookup.learn(hashes, Sids::of(sids), prepared.source, allowed);
        }
    }
}

/// What is said of each of the rows that are prepared as one.
fn each<'r, 'b>(
    batch: &'r Batch<'b>,
    rows: &'r [u32],
    prepared: &Prepared,
    refused: &'r Reject,
) -> impl Iterator<Item = Reject> + use<'r, 'b> {
    let rows = rows.get(prepared.rows.clone()).unwrap_or_default().iter();
    let rows = rows.filter_map(|row| batch.rows().get(*row as usize));
    rows.map(|row| Reject { line: row.line, ..refused.clone() })
}

fn prepare_key(
    batch: &Batch<'_>,
    row: &Row,
    parts: &mut KeyParts,
    labels_max: usize,
) -> Result<(), KeyError> {
    parts.clear();
    (batch.syntax().parse)(batch.slice(row.key_head), batch.slice(row.key_tail), parts)?;
    parts.canonicalize()?;
    let refuse = |field, reason| Err(KeyError { field, reason });
    let length = parts.measurement().len();
    if length > NAME_BYTES_MAX {
        let reason = format!("name of {length} bytes, up to {NAME_BYTES_MAX} may be");
        return refuse("measurement", reason);
    }
    let labels = parts.labels().len();
    let labels_max = labels_max.min(LABELS_MAX);
    if labels > labels_max {
        return refuse("tag", format!("{labels} tags, up to {labels_max} may be (limits.labels)"));
    }
    for (name, value) in parts.labels() {
        let text = String::from_utf8_lossy;
        if name.is_empty() {
            return refuse("tag", format!("value '{}' has no name", text(value)));
        }
        if name.len() > NAME_BYTES_MAX {
            let reason = format!("name of {} bytes, up to {NAME_BYTES_MAX} may be", name.len());
            return refuse("tag", reason);
        }
        if value.len() > VALUE_BYTES_MAX {
            let length = value.len();
            let reason = format!(
                "value of '{}' of {length} bytes, up to {VALUE_BYTES_MAX} may be",
                text(name)
            );
            return refuse("tag", reason);
        }
    }
    Ok(())
}
