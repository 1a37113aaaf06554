//! The body of a rows frame: samples by series id.
//!
//! ```text
//! epoch varint | rows varint | row...
//! row     flags u8 | [count varint] | first sid, zigzag varint against the row before
//!         | [further sids, zigzag varints] | [time, zigzag varint against the row before]
//!         | [kind-scale u8] | values
//! flags   1 count differs from the row before    4 time differs     16 each value has its own
//!         2 sids are listed, not consecutive     8 kind-scale differs   kind-scale before it
//! ```
//!
//! A value stands as in a head's stream (`head/stream.rs`): a two-digit integer is one byte.

use crate::columns::slice;
use crate::head::stream::{Decoded, KindScale, decode_bits, put_value};
use foliot_codec::varint::{get_i64, get_u64, put_i64, put_u64};
use foliot_index::Sids;
use foliot_model::{Batch, Cell};

const COUNT: u8 = 1;
const LISTED: u8 = 2;
const TIME: u8 = 4;
const KIND_SCALE: u8 = 8;
const EACH: u8 = 16;

/// What a row is coded against: the row before it.
#[derive(Clone, Copy, Default)]
struct Before {
    count: u32,
    first: u32,
    time_ns: i64,
    kind_scale: KindScale,
}

/// Writes rows frames.
pub(crate) struct Writer<'o> {
    out: &'o mut Vec<u8>,
    before: Before,
}

impl<'o> Writer<'o> {
    /// Begins a body of `rows` rows in `out`.
    pub(crate) fn new(out: &'o mut Vec<u8>, epoch: u32, rows: usize) -> Self {
        put_u64(out, u64::from(epoch));
        put_u64(out, rows as u64);
        Self { out, before: Before::default() }
    }

    /// Adds one row.
    pub(crate) fn push(
        &mut self,
        batch: &Batch<'_>,
        sids: &Sids<'_>,
        time_ns: i64,
        cells: &[Cell],
    ) {
        let Some((first_cell, others)) = cells.split_first() else { return };
        let kind_scale = KindScale::new(first_cell.kind, first_cell.scale);
        let is_like_first =
            |cell: &Cell| (cell.kind, cell.scale) == (first_cell.kind, first_cell.scale);
        let is_uniform = others.iter().all(is_like_first);
        let (first, list) = (sids.first(), sids.list());
        let count = cells.len() as u32;
        let mut flags = 0;
        flags |= if count != self.before.count { COUNT } else { 0 };
        flags |= if list.is_some() { LISTED } else { 0 };
        flags |= if time_ns != self.before.time_ns { TIME } else { 0 };
        flags |= match is_uniform {
            false => EACH,
            true if kind_scale != self.before.kind_scale => KIND_SCALE,
            true => 0,
        };
        let out = &mut *self.out;
        out.push(flags);
        if flags & COUNT != 0 {
            put_u64(out, u64::from(count));
        }
        put_i64(out, i64::from(first) - i64::from(self.before.first));
        for pair in list.unwrap_or_default().windows(2) {
            if let [before, sid] = pair {
                put_i64(out, i64::from(*sid) - i64::from(*before));
            }
        }
        if flags & TIME != 0 {
            put_i64(out, time_ns.wrapping_sub(self.before.time_ns));
        }
        if flags & KIND_SCALE != 0 {
            out.push(kind_scale.0);
        }
        // Most rows are numbers of one kind, as `put_value` would write each of them.
        if is_uniform && !kind_scale.is_bytes() && !kind_scale.is_raw() {
            out.reserve(2 * cells.len());
            cells.iter().for_each(|cell| put_i64(out, cell.bits as i64));
        } else {
            for cell in cells {
                let own = KindScale::new(cell.kind, cell.scale);
                if flags & EACH != 0 {
                    out.push(own.0);
                }
                let bytes = if cell.kind.is_bytes() { batch.slice(cell.span()) } else { &[] };
                put_value(out, own, cell.bits, bytes);
            }
        }
        let kind_scale = if is_uniform { kind_scale } else { self.before.kind_scale };
        self.before = Before { count, first, time_ns, kind_scale };
    }
}

/// Takes a sample: series id, id of its row's first series, sample, bytes of text or histogram.
pub(crate) type TakeSample<'t> = dyn FnMut(u32, u32, Decoded, &[u8]) + 't;

/// Reads the body of a rows frame, calling `each` with the series id, that of the row's first
/// series, the sample and, for text and histograms, its bytes, whose length its bits are. Nothing
/// if the body is not one (its crc was right, so only a bug makes such a body); what was read until
/// then was passed on.
pub(crate) fn read(body: &[u8], each: &mut TakeSample<'_>) -> Option<(u32, u64)> {
    let rest = &mut &*body;
    let epoch = u32::try_from(get_u64(rest).ok()?).ok()?;
    let rows = get_u64(rest).ok()?;
    let mut before = Before::default();
    let mut sids = Vec::new();
    let mut samples = 0;
    for _ in 0..rows {
        let (&flags, after) = rest.split_first()?;
        *rest = after;
        if flags & COUNT != 0 {
            before.count = u32::try_from(get_u64(rest).ok()?).ok()?;
        }
        before.first = next_sid(rest, before.first)?;
        sids.clear();
        if flags & LISTED != 0 {
            sids.push(before.first);
            for _ in 1..before.count {
                sids.push(next_sid(rest, *sids.last()?)?);
            }
        }
        if flags & TIME != 0 {
            before.time_ns = before.time_ns.wrapping_add(get_i64(rest).ok()?);
        }
        if flags & KIND_SCALE != 0 {
            before.kind_scale = take_kind_scale(rest)?;
        }
        for index in 0..before.count {
            let kind_scale =
                if flags & EACH != 0 { take_kind_scale(rest)? } else { before.kind_scale };
            let bits = decode_bits(rest, kind_scale, body.len())?;
            let sid = match flags & LISTED {
                0 => before.first.checked_add(index)?,
                _ => *sids.get(index as usize)?,
            };
            let (bits, bytes) = match kind_scale.is_bytes() {
                false => (bits, &[][..]),
                true => (bits & u64::from(u32::MAX), slice(body, bits)),
            };
            each(sid, before.first, Decoded { time_ns: before.time_ns, kind_scale, bits }, bytes);
            samples += 1;
        }
    }
    Some((epoch, samples))
}

fn take_kind_scale(rest: &mut &[u8]) -> Option<KindScale> {
    let (&code, after) = rest.split_first()?;
    *rest = after;
    Some(KindScale(code))
}

fn next_sid(rest: &mut &[u8], before: u32) -> Option<u32> {
    u32::try_from(i64::from(before).checked_add(get_i64(rest).ok()?)?).ok()
}
