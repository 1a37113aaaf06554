//! Records of the write-ahead log: series, samples, histograms and what was deleted.
//!
//! Numbers of series, and times in milliseconds, are differences to the first ones of a record
//! (Prometheus, `tsdb/record`).

use super::chunk::{Point, Raw};
use crate::cursor::{Cursor, Wrong};
use foliot_model::{Histogram, Resets};
use foliot_proto_prometheus::pack_labels;

/// What a record says.
pub(super) enum Said<'a> {
    /// A series' number and labels, as remote write spells them.
    Series(u64, Vec<u8>),
    /// A value of a series at a time.
    Sample(u64, i64, Point),
    /// From when to when samples of a series were deleted.
    Deleted(u64, (i64, i64)),
    /// So many exemplars.
    Exemplars(u64),
    /// A record of a kind that says nothing here.
    Other,
    /// A record of a kind that nobody knows.
    Unknown(&'a u8),
}

const SERIES: u8 = 1;
const SAMPLES: u8 = 2;
const DELETED: u8 = 3;
const EXEMPLARS: u8 = 4;
const MARKERS: u8 = 5;
const METADATA: u8 = 6;
const HISTOGRAMS: [u8; 2] = [7, 9];
const FLOAT_HISTOGRAMS: [u8; 2] = [8, 10];
const SAMPLES_STARTED: u8 = 11;
const HISTOGRAMS_STARTED: u8 = 12;
const FLOAT_HISTOGRAMS_STARTED: u8 = 13;
const FLOOR: u8 = 14;

/// Whether series or deletions are in a record.
pub(super) fn is_of_series(record: &[u8]) -> bool {
    matches!(record.first(), Some(&SERIES | &DELETED))
}

/// Hands out what a record says.
pub(super) fn read(
    record: &[u8],
    each: &mut dyn FnMut(Said<'_>) -> Result<(), Wrong>,
) -> Result<(), Wrong> {
    let Some((kind, rest)) = record.split_first() else { return Ok(()) };
    let mut cursor = Cursor(rest);
    match *kind {
        SERIES => {
            while !cursor.is_empty() {
                let number = cursor.be64()?;
                each(Said::Series(number, labels(&mut cursor)?))?;
            }
        }
        DELETED => {
            while !cursor.is_empty() {
                let number = cursor.be64()?;
                each(Said::Deleted(number, (cursor.varint()?, cursor.varint()?)))?;
            }
        }
        EXEMPLARS => each(Said::Exemplars(exemplars(cursor)?))?,
        MARKERS | METADATA | FLOOR => each(Said::Other)?,
        SAMPLES => points(cursor, number, each)?,
        SAMPLES_STARTED => points_started(cursor, number, each)?,
        kind if HISTOGRAMS.contains(&kind) => {
            points(cursor, |cursor| histogram(cursor, true), each)?;
        }
        kind if FLOAT_HISTOGRAMS.contains(&kind) => {
            points(cursor, |cursor| histogram(cursor, false), each)?;
        }
        HISTOGRAMS_STARTED => points_started(cursor, |cursor| histogram(cursor, true), each)?,
        FLOAT_HISTOGRAMS_STARTED => {
            points_started(cursor, |cursor| histogram(cursor, false), each)?;
        }
        _ => each(Said::Unknown(kind))?,
    }
    Ok(())
}

fn points(
    mut cursor: Cursor<'_>,
    value: impl Fn(&mut Cursor<'_>) -> Result<Point, Wrong>,
    each: &mut dyn FnMut(Said<'_>) -> Result<(), Wrong>,
) -> Result<(), Wrong> {
    if cursor.is_empty() {
        return Ok(());
    }
    let (first, first_ms) = (cursor.be64()?, cursor.be64()? as i64);
    while !cursor.is_empty() {
        let number = first.wrapping_add_signed(cursor.varint()?);
        let time_ms = first_ms.wrapping_add(cursor.varint()?);
        each(Said::Sample(number, time_ms, value(&mut cursor)?))?;
    }
    Ok(())
}

/// Records of newer servers, which may say since when a counter counts; that is not kept.
fn points_started(
    mut cursor: Cursor<'_>,
    value: impl Fn(&mut Cursor<'_>) -> Result<Point, Wrong>,
    each: &mut dyn FnMut(Said<'_>) -> Result<(), Wrong>,
) -> Result<(), Wrong> {
    if cursor.is_empty() {
        return Ok(());
    }
    let (mut number, first_ms) = (cursor.varint()?, cursor.varint()?);
    cursor.varint()?;
    each(Said::Sample(number as u64, first_ms, value(&mut cursor)?))?;
    while !cursor.is_empty() {
        number = number.wrapping_add(cursor.varint()?);
        let time_ms = first_ms.wrapping_add(cursor.varint()?);
        // None, the same as before, or another start.
        if cursor.byte()? > 1 {
            cursor.varint()?;
        }
        each(Said::Sample(number as u64, time_ms, value(&mut cursor)?))?;
    }
    Ok(())
}

fn number(cursor: &mut Cursor<'_>) -> Result<Point, Wrong> {
    cursor.float().map(Point::Number)
}

fn histogram(cursor: &mut Cursor<'_>, is_integer: bool) -> Result<Point, Wrong> {
    let whole = |cursor: &mut Cursor<'_>| match is_integer {
        true => cursor.uvarint().map(|count| count as f64),
        false => cursor.float(),
    };
    let mut raw = Raw { is_integer, ..Raw::default() };
    raw.resets = Resets::from_code(cursor.byte()?.into()).unwrap_or_default();
    raw.schema = cursor.varint()? as i32;
    raw.zero_threshold = cursor.float()?;
    raw.zero_count = whole(cursor)?;
    raw.count = whole(cursor)?;
    raw.sum = cursor.float()?;
    raw.positive.0 = spans(cursor)?;
    raw.negative.0 = spans(cursor)?;
    raw.positive.1 = counts(cursor, is_integer)?;
    raw.negative.1 = counts(cursor, is_integer)?;
    if raw.schema == i32::from(Histogram::CUSTOM) {
        for _ in 0..cursor.count()? {
            raw.bounds.push(cursor.float()?);
        }
    }
    Ok(raw.point())
}

fn spans(cursor: &mut Cursor<'_>) -> Result<Vec<(i32, u32)>, Wrong> {
    let mut spans = Vec::new();
    for _ in 0..cursor.count()? {
        spans.push((cursor.varint()? as i32, cursor.uvarint()? as u32));
    }
    Ok(spans)
}

fn counts(cursor: &mut Cursor<'_>, is_integer: bool) -> Result<Vec<f64>, Wrong> {
    let (mut counts, mut all) = (Vec::new(), 0i64);
    for _ in 0..cursor.count()? {
        counts.push(match is_integer {
            true => {
                all = all.wrapping_add(cursor.varint()?);
                all as f64
            }
            false => cursor.float()?,
        });
    }
    Ok(counts)
}

/// Labels as remote write spells them.
fn labels(cursor: &mut Cursor<'_>) -> Result<Vec<u8>, Wrong> {
    let mut labels = Vec::new();
    let text = |cursor: &mut Cursor<'_>| {
        let text = std::str::from_utf8(cursor.text()?).map(str::to_owned);
        text.map_err(|_| "a label is no UTF-8".to_owned())
    };
    for _ in 0..cursor.count()? {
        labels.push((text(cursor)?, text(cursor)?));
    }
    Ok(pack_labels(labels.iter().map(|(name, value)| (&**name, &**value))))
}

/// How many exemplars a record has.
fn exemplars(mut cursor: Cursor<'_>) -> Result<u64, Wrong> {
    let mut count = 0;
    if cursor.is_empty() {
        return Ok(count);
    }
    cursor.bytes(16)?;
    while !cursor.is_empty() {
        cursor.varint()?;
        cursor.varint()?;
        cursor.be64()?;
        for _ in 0..2 * cursor.count()? {
            cursor.text()?;
        }
        count += 1;
    }
    Ok(count)
}
