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
use foliot_codec::varint::{
    SHORT_END, get_i64, get_u64, put_i64, put_u64, spread_short, spread_u64, zigzag,
};
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
    #[inline]
    pub(crate) fn push(
        &mut self,
        batch: &Batch<'_>,
        sids: &Sids<'_>,
        time_ns: i64,
        cells: &[Cell],
    ) {
        if let [cell] = cells
            && !cell.kind.is_bytes()
            && (self.before.count, self.before.time_ns) == (1, time_ns)
        {
            return self.push_number(sids.first(), *cell);
        }
        self.push_any(batch, sids, time_ns, cells);
    }

    /// Adds a row of one number behind another one of the same time: its few bytes are put together
    /// in registers.
    #[inline]
    fn push_number(&mut self, sid: u32, cell: Cell) {
        let kind_scale = KindScale::new(cell.kind, cell.scale);
        let (step, step_len) = spread_u64(zigzag(i64::from(sid) - i64::from(self.before.first)));
        let is_other = kind_scale != self.before.kind_scale;
        let (flags, code) = if is_other { (KIND_SCALE, kind_scale.0) } else { (0, 0) };
        // Flags, five bytes at most, and the kind.
        let head = u64::from(flags) | (step as u64) << 8 | u64::from(code) << (8 + 8 * step_len);
        put_front(self.out, head.to_le_bytes(), 1 + usize::from(step_len) + usize::from(is_other));
        let (value, value_len) = match kind_scale.is_raw() {
            true => (u128::from(cell.bits), 8),
            false => spread_u64(zigzag(cell.bits as i64)),
        };
        put_front(self.out, value.to_le_bytes(), usize::from(value_len));
        self.before = Before { first: sid, kind_scale, ..self.before };
    }

    fn push_any(&mut self, batch: &Batch<'_>, sids: &Sids<'_>, time_ns: i64, cells: &[Cell]) {
        let Some((first_cell, others)) = cells.split_first() else { return };
        let kind_scale = KindScale::new(first_cell.kind, first_cell.scale);
        let is_like_first =
            |cell: &Cell| (cell.kind == first_cell.kind) & (cell.scale == first_cell.scale);
        // All are looked at, because mostly all are alike.
        let is_uniform = others.iter().fold(true, |are, cell| are & is_like_first(cell));
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
            put_numbers(out, cells);
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

/// Cells whose numbers are put together before they are appended.
const TOGETHER: usize = 16;

/// Appends the mantissas of cells, as varints. Those of a byte or two, which most are, are put
/// together where they need no look at how much room there is.
#[inline]
fn put_numbers(out: &mut Vec<u8>, cells: &[Cell]) {
    for cells in cells.chunks(TOGETHER) {
        let (mut bytes, mut len, mut all) = ([0; 2 * TOGETHER], 0, 0);
        for cell in cells {
            let number = zigzag(cell.bits as i64);
            let (pair, pair_len) = spread_short(number);
            if let Some(room) = bytes.get_mut(len..len + 2) {
                room.copy_from_slice(&pair.to_le_bytes());
            }
            len += pair_len;
            all |= number;
        }
        match bytes.get(..len).filter(|_| all < SHORT_END) {
            Some(bytes) => out.extend_from_slice(bytes),
            None => cells.iter().for_each(|cell| put_i64(out, cell.bits as i64)),
        }
    }
}

/// Appends the first `len` bytes of so many. Copying all of them takes two instructions.
#[inline(always)]
fn put_front<const N: usize>(out: &mut Vec<u8>, bytes: [u8; N], len: usize) {
    let end = out.len() + len;
    out.extend_from_slice(&bytes);
    out.truncate(end);
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

#[cfg(test)]
mod tests {
    use super::*;
    use foliot_model::{KeyError, KeyParts, KeySecret, KeySyntax, Kind, Span};

    static SYNTAX: KeySyntax =
        KeySyntax { id: 200, name: "test", parse: parse_nothing, parse_field: copy_field };
    fn parse_nothing(_: &[u8], _: &[u8], _: &mut KeyParts) -> Result<(), KeyError> {
        Ok(())
    }
    fn copy_field(raw: &[u8], out: &mut Vec<u8>) -> Result<(), KeyError> {
        out.extend_from_slice(raw);
        Ok(())
    }

    /// Bytes by hand: what a row has in common with the one before it is left out.
    #[test]
    fn rows_of_one_number_are_spelled_as_the_format_says() {
        let batch = Batch::new(b"abc", 0, &SYNTAX, KeySecret(1), Default::default());
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, 3, 7);
        let decimal = |mantissa| Cell::decimal(mantissa, 2).unwrap();
        let text = Cell::bytes(Kind::String, Span::new(0, 3));
        for (sid, time_ns, cell) in [
            (9, 5, decimal(1)),
            (10, 5, decimal(-2)),
            (u32::MAX, 5, Cell::float(-0.0)),
            (0, 5, Cell::float(1.0)),
            (1, 5, Cell::integer(i64::MIN)),
            (2, 5, text),
            (3, 6, Cell::unsigned(300)),
        ] {
            writer.push(&batch, &Sids::one(sid), time_ns, &[cell]);
        }
        let wanted: [&[u8]; 8] = [
            &[3, 7],
            &[COUNT | TIME | KIND_SCALE, 1, 18, 10, 2, 2],
            &[0, 2, 3],
            &[KIND_SCALE, 0xea, 0xff, 0xff, 0xff, 0x1f, 31, 0, 0, 0, 0, 0, 0, 0, 0x80],
            &[0, 0xfd, 0xff, 0xff, 0xff, 0x1f, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f],
            &[KIND_SCALE, 2, 1 << 5, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
            &[KIND_SCALE, 2, 4 << 5, 3, b'a', b'b', b'c'],
            &[TIME | KIND_SCALE, 2, 2, 2 << 5, 0xd8, 0x04],
        ];
        assert_eq!(out, wanted.concat());
    }

    /// What is read is what was written, whatever stood before it.
    #[test]
    fn rows_come_back() {
        let mut state = 11u64;
        let mut draw = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let batch = Batch::new(b"abc", 0, &SYNTAX, KeySecret(1), Default::default());
        for _ in 0..300 {
            let (mut out, mut wanted) = (Vec::new(), Vec::new());
            let (mut time_ns, mut sid) = (0i64, 7u32);
            let mut writer = Writer::new(&mut out, 3, 60);
            for _ in 0..60 {
                if draw(8) == 0 {
                    time_ns = (draw(1 << 30) as i64) << draw(33);
                }
                sid = if draw(4) == 0 { draw(u64::from(u32::MAX)) as u32 } else { sid % 1000 + 1 };
                let count = if draw(4) == 0 { 1 + draw(3) as usize } else { 1 };
                let cells: Vec<Cell> = (0..count)
                    .map(|_| match draw(9) {
                        0 => Cell::bytes(Kind::String, Span::new(0, draw(4) as usize)),
                        1 => Cell::float(f64::from_bits(draw(u64::MAX >> 33) << draw(64))),
                        2 => Cell::boolean(draw(2) == 0),
                        3 => Cell::unsigned(u64::MAX >> draw(64)),
                        4 => Cell::integer(i64::MIN >> draw(64)),
                        _ => Cell::decimal(draw(1 << 20) as i64 - (1 << 19), 2).unwrap(),
                    })
                    .collect();
                let list: Vec<u32> = match draw(2) {
                    0 => (sid..).take(count).collect(),
                    _ => (0..count).map(|_| draw(1 << 20) as u32).collect(),
                };
                let sids = Sids::of(&list);
                writer.push(&batch, &sids, time_ns, &cells);
                wanted.extend(sids.iter().zip(&cells).map(|(sid, cell)| {
                    let bytes = if cell.kind.is_bytes() { batch.slice(cell.span()) } else { b"" };
                    let bits = if cell.kind.is_bytes() { bytes.len() as u64 } else { cell.bits };
                    (sid, sids.first(), time_ns, (cell.kind, cell.scale), bits, bytes.to_vec())
                }));
            }
            let mut found = Vec::new();
            let read = read(&out, &mut |sid, first, sample, bytes| {
                let kind_scale = (sample.kind_scale.kind(), sample.kind_scale.scale());
                let Decoded { time_ns, bits, .. } = sample;
                found.push((sid, first, time_ns, kind_scale, bits, bytes.to_vec()));
            });
            assert_eq!(read, Some((3, wanted.len() as u64)));
            assert_eq!(found, wanted);
        }
    }
}
