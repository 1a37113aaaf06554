//! A page of the head: recent samples of 1024 series with neighbouring ids, under one lock.
//!
//! Per series there is a 32-byte [`State`], an open stream of about [`BLOCK_SAMPLES_MAX`] samples
//! in the page's slab, in the order of arrival (`reorder.rs`), and, once a stream was full, sealed
//! blocks. Samples whose time is sealed already are late (`late.rs`). Blocks and late samples are
//! chained per series, so reading one series never walks its neighbours.

use super::arrivals::Arrivals;
use super::late::Late;
use super::reorder::{self, Fronts};
use super::slab::{self, Handle, Slab};
use super::stream::{self, CODE_MAX, Decoded, KindScale, Outline, Reader, Tail};
use crate::block::{Block, Builder};
use crate::columns::Columns;
use crate::error::Error;
use crate::limits::{BLOCK_SAMPLES_MAX, PAGE_SERIES};
use foliot_codec::varint::zigzag;
use foliot_model::{Cell, TimeRange};
use std::sync::Arc;

/// Where one series stands. 32 bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct State {
    /// Time of the last sample that came.
    pub(super) last_ns: i64,
    bits: u64,
    pub(super) chunk: Handle,
    step: u32,
    /// Samples in the open stream.
    pub(super) count: u16,
    /// Payload bytes used in the chunk.
    pub(super) used: u8,
    unit: u8,
    kind_scale: KindScale,
    /// When the first block is sealed, see [`State::samples_max`].
    phase: u8,
    pub(super) flags: u8,
    /// So many samples of one byte each can follow without a look at anything but their distance,
    /// kind and value; 0 where nobody looked since something else became of the stream.
    ready: u8,
}

/// A sample was appended: `last_ns` and `bits` mean something.
pub(super) const HAS_LAST: u8 = 1;
/// A block was sealed since the last flush.
pub(super) const HAS_SEALED: u8 = 2;
/// The newest sample is not known: it was deleted, or a late one came at its time.
pub(super) const IS_IN_DOUBT: u8 = 4;
/// Times in the open stream do not ascend.
pub(super) const IS_MIXED: u8 = 8;
/// The last sample that came is older than the newest, which the series' front holds.
pub(super) const IS_BEHIND: u8 = 16;

impl State {
    pub(super) fn tail(&self) -> Tail {
        Tail {
            time_ns: self.last_ns,
            bits: self.bits,
            step: self.step,
            unit: self.unit,
            kind_scale: self.kind_scale,
        }
    }

    pub(super) fn set_tail(&mut self, tail: Tail) {
        self.last_ns = tail.time_ns;
        self.bits = tail.bits;
        self.step = tail.step;
        self.unit = tail.unit;
        self.kind_scale = tail.kind_scale;
        self.ready = 0;
    }

    /// How many samples the open stream may hold. The first one after a flush ends early, at a
    /// number that differs from source to source, because sources that report in step would
    /// otherwise all seal within one request.
    pub(super) fn samples_max(&self) -> u16 {
        match self.flags & HAS_SEALED != 0 {
            true => BLOCK_SAMPLES_MAX as u16,
            false => BLOCK_SAMPLES_MAX as u16 / 2 + 2 * u16::from(self.phase),
        }
    }

    /// Whether the open stream goes on from its newest sample.
    #[inline(always)]
    fn goes_on(&self) -> bool {
        self.count != 0 && self.flags & IS_BEHIND == 0 && self.count < self.samples_max()
    }

    /// Whether its last chunk takes a byte more.
    #[inline(always)]
    fn has_room(&self) -> bool {
        (self.used as usize) < slab::capacity(self.chunk | 1)
    }

    /// Looks how many samples of one byte can follow, behind one that came regularly.
    fn make_ready(&mut self) {
        let samples = self.samples_max().saturating_sub(self.count);
        let bytes = slab::capacity(self.chunk | 1).saturating_sub(self.used as usize);
        self.ready = usize::from(samples).min(bytes).min(usize::from(u8::MAX)) as u8;
    }

    /// Notes what has to be looked at before the next sample.
    pub(super) fn mark(&mut self, flags: u8) {
        self.flags |= flags;
        self.ready = 0;
    }

    /// The byte of a sample that continues the open stream regularly.
    #[inline(always)]
    fn regular(&self, sample: Decoded) -> Option<u8> {
        let Decoded { time_ns, kind_scale, bits } = sample;
        stream::encode_regular(&mut self.tail(), time_ns, kind_scale, bits)
    }

    /// Notes that such a sample's byte was put at the end of the stream.
    #[inline(always)]
    fn go_on(&mut self, sample: Decoded) {
        self.last_ns = sample.time_ns;
        self.bits = sample.bits;
        self.used += 1;
        self.count += 1;
        self.flags &= !IS_IN_DOUBT;
        self.ready = self.ready.saturating_sub(1);
    }

    pub(super) fn reset_stream(&mut self) {
        self.ready = 0;
        self.chunk = slab::NONE;
        self.count = 0;
        self.used = 0;
        self.flags &= !IS_MIXED;
    }
}

/// Puts a sample into the open stream if it goes on regularly, and looks how many more may be put
/// without a look; false if it does not.
#[inline(never)]
fn put_looked(state: &mut State, slab: &mut Slab, sample: Decoded) -> bool {
    let goes_on = state.goes_on() && state.has_room();
    let Some(byte) = state.regular(sample).filter(|_| goes_on) else { return false };
    slab.put_byte(state.chunk, state.used as usize, byte);
    state.go_on(sample);
    state.make_ready();
    true
}

/// The same for a stream that is ready for such a sample: only what is of the sample is looked at.
#[inline(always)]
fn put_ready(state: &mut State, slab: &mut Slab, sample: Decoded) -> bool {
    let next_ns = state.last_ns.checked_add(stream::step_ns(state.step, state.unit));
    let code = zigzag(sample.bits.wrapping_sub(state.bits) as i64);
    let is_like_before = state.kind_scale == sample.kind_scale;
    if next_ns != Some(sample.time_ns) || !is_like_before || code > CODE_MAX {
        return false;
    }
    slab.put_byte(state.chunk, state.used as usize, code as u8);
    state.last_ns = sample.time_ns;
    state.bits = sample.bits;
    state.used += 1;
    state.count += 1;
    state.ready -= 1;
    true
}

#[derive(Clone, Debug)]
struct Sealed {
    block: Arc<Block>,
    before: u32,
}

/// What deletes leave of a block: one or none.
type CutBlock<'c> = dyn FnMut(&Arc<Block>) -> Result<Vec<Block>, Error> + 'c;

type Chain = Option<Box<[u32; PAGE_SERIES]>>;

/// What a page holds: the part that a flush takes away whole.
#[derive(Clone, Debug)]
pub(crate) struct PageData {
    /// One for each series.
    pub(super) states: Box<[State]>,
    pub(super) slab: Slab,
    sealed: Vec<Sealed>,
    sealed_last: Chain,
    sealed_bytes: usize,
    late: Late,
    /// Once a sample did not come in order.
    pub(super) fronts: Option<Box<Fronts>>,
    pub(super) arrivals: Arrivals,
}

impl Default for PageData {
    fn default() -> Self {
        Self::over(Box::new([State::default(); PAGE_SERIES]))
    }
}

/// Adds to the chain of `local`, whose entries are counted from 1; 0 ends a chain.
fn link(chain: &mut Chain, local: usize, entry: usize) -> u32 {
    let heads = chain.get_or_insert_with(|| Box::new([0; PAGE_SERIES]));
    match heads.get_mut(local) {
        Some(head) => std::mem::replace(head, entry as u32),
        None => 0,
    }
}

fn chain_head(chain: &Chain, local: usize) -> u32 {
    chain.as_ref().and_then(|heads| heads.get(local)).copied().unwrap_or(0)
}

/// Chains the entries `kept`, newest first, and no others; `set` tells an entry, counted from 0,
/// which one is before it.
fn relink(chain: &mut Chain, local: usize, kept: &[u32], set: &mut dyn FnMut(usize, u32)) {
    let before = kept.iter().skip(1).copied().chain([0]);
    for (&entry, before) in kept.iter().zip(before) {
        set(entry as usize - 1, before);
    }
    if let Some(head) = chain.as_mut().and_then(|heads| heads.get_mut(local)) {
        *head = kept.first().copied().unwrap_or(0);
    }
}

/// What one series holds in a page, copied out so that decoding needs no lock.
#[derive(Debug, Default)]
pub(crate) struct SeriesCopy {
    /// Sealed blocks, oldest first; times ascend from block to block and into the stream.
    pub(crate) sealed: Vec<Arc<Block>>,
    /// Bytes of the open stream.
    pub(crate) stream: Vec<u8>,
    pub(crate) outline: Outline,
    /// Late samples, in order of arrival.
    pub(crate) late: Columns,
}

impl SeriesCopy {
    pub(crate) fn is_empty(&self) -> bool {
        self.sealed.is_empty() && self.stream.is_empty() && self.late.is_empty()
    }

    /// What was appended since `before`, an earlier copy of the same series. What the open stream
    /// held comes once more when that was sealed or sorted meanwhile, with all that overwrote it.
    pub(crate) fn since(&self, before: &Self) -> Self {
        let pairs = self.sealed.iter().zip(&before.sealed);
        let known = pairs.take_while(|(a, b)| Arc::ptr_eq(a, b)).count();
        let is_same = known == before.sealed.len();
        let goes_on = is_same
            && known == self.sealed.len()
            && self.stream.starts_with(&before.stream)
            && self.late.begins_with(&before.late);
        let (first, first_late) = match goes_on {
            true => (before.outline.count, before.late.len()),
            false => (0, 0),
        };
        let mut new = Columns::default();
        if self.outline.count > first {
            let mut reader = Reader::new(&self.stream);
            for at in 0..self.outline.count {
                let Some(sample) = reader.next() else { break };
                if at >= first {
                    new.push(sample, &self.stream);
                }
            }
        }
        let late = (first_late..self.late.len()).filter_map(|index| self.late.get(index));
        late.for_each(|sample| new.push(sample, &self.late.bytes));
        let first_sealed = if is_same { known } else { 0 };
        let sealed = self.sealed.get(first_sealed..).unwrap_or_default().to_vec();
        Self { sealed, late: new, ..Self::default() }
    }
}

impl PageData {
    fn over(states: Box<[State]>) -> Self {
        Self {
            states,
            slab: Slab::default(),
            sealed: Vec::new(),
            sealed_last: None,
            sealed_bytes: 0,
            late: Late::default(),
            fronts: None,
            arrivals: Arrivals::default(),
        }
    }

    /// Bytes of samples held; states, which stay, are not counted.
    pub(crate) fn bytes(&self) -> usize {
        self.slab.bytes() + self.sealed_bytes
    }

    /// Whether no sample is held.
    pub(crate) fn is_empty(&self) -> bool {
        self.sealed.is_empty()
            && self.late.is_empty()
            && self.states.iter().all(|state| state.count == 0)
    }

    /// Adds one sample. `bytes` are those of text or a histogram; `phase` spreads the sealing of
    /// sources that report in step.
    #[inline]
    pub(crate) fn append(
        &mut self,
        local: usize,
        sample: Decoded,
        bytes: &[u8],
        phase: u8,
        builder: &mut Builder,
    ) {
        if !self.append_step(local, sample) && !self.append_away(local, sample) {
            self.append_other(local, sample, bytes, phase, builder);
        }
    }

    /// Adds one sample at `time_ns` to each of the series from `local` on, as
    /// [`PageData::append`] would, for as long as each goes on regularly; how many those were.
    pub(crate) fn append_regular(&mut self, local: usize, time_ns: i64, cells: &[Cell]) -> usize {
        let states = self.states.get_mut(local..).unwrap_or_default();
        let mut done = 0;
        for (state, cell) in states.iter_mut().zip(cells) {
            let kind_scale = KindScale::new(cell.kind, cell.scale);
            let sample = Decoded { time_ns, kind_scale, bits: cell.bits };
            let is_put = match state.ready {
                0 => put_looked(state, &mut self.slab, sample),
                _ => put_ready(state, &mut self.slab, sample),
            };
            if !is_put {
                break;
            }
            done += 1;
        }
        done
    }

    /// Adds a number that comes one step after the last sample, the newest; false if it is no such
    /// number.
    #[inline]
    fn append_step(&mut self, local: usize, sample: Decoded) -> bool {
        let state = self.states.get_mut(local).filter(|state| state.goes_on());
        let Some(state) = state else { return false };
        if let Some(byte) = state.regular(sample).filter(|_| state.has_room()) {
            self.slab.put_byte(state.chunk, state.used as usize, byte);
            state.go_on(sample);
            return true;
        }
        let mut tail = state.tail();
        let Decoded { time_ns, kind_scale, bits } = sample;
        let Some((code, len)) = stream::encode_step(&mut tail, time_ns, kind_scale, bits) else {
            return false;
        };
        // What is put after the code is not part of the stream: the next sample goes over it.
        if state.used as usize + code.len() <= slab::capacity(state.chunk) {
            self.slab.put(state.chunk, state.used as usize, code);
            state.used += len;
        } else {
            let code = code.get(..len as usize).unwrap_or_default();
            self.slab.append(&mut state.chunk, &mut state.used, code);
        }
        state.set_tail(tail);
        state.count += 1;
        state.flags &= !IS_IN_DOUBT;
        true
    }

    /// The cases that neither [`PageData::append`] nor [`PageData::append_away`] settles: first,
    /// too late for the stream, irregular, sealing.
    #[inline(never)]
    fn append_other(
        &mut self,
        local: usize,
        sample: Decoded,
        bytes: &[u8],
        phase: u8,
        builder: &mut Builder,
    ) {
        if self.states.get(local).is_some_and(State::is_full) {
            self.seal(local, builder);
        }
        let Some(state) = self.states.get(local) else { return };
        let is_in_order = state.count > 0 && sample.time_ns > state.last_ns;
        if !is_in_order && sample.time_ns <= self.closed_ns(local) {
            return self.append_late(local, sample, bytes);
        }
        self.arrive(local, sample.time_ns);
        self.push_stream(local, sample, bytes);
        if let Some(state) = self.states.get_mut(local) {
            state.phase = phase;
            state.flags |= HAS_LAST;
        }
    }

    /// When the last sealed block of a series ends; the beginning of time if there is none.
    pub(super) fn sealed_ns(&self, local: usize) -> i64 {
        let last = chain_head(&self.sealed_last, local) as usize;
        let sealed = last.checked_sub(1).and_then(|index| self.sealed.get(index));
        sealed.map_or(i64::MIN, |sealed| sealed.block.range.end_ns)
    }

    fn append_late(&mut self, local: usize, sample: Decoded, bytes: &[u8]) {
        // What is closed must stay so, even if deletes take the block away.
        self.make_fronts();
        let newest_ns = self.newest_ns(local);
        if newest_ns == Some(sample.time_ns)
            && let Some(state) = self.states.get_mut(local)
        {
            state.mark(IS_IN_DOUBT);
        }
        if newest_ns.is_some_and(|newest_ns| sample.time_ns < newest_ns) {
            self.arrivals.come_late(local);
        }
        self.arrivals.leave(local, 1);
        self.late.push(&mut self.slab, local, sample, bytes);
    }

    /// Adds a sample to the open stream.
    pub(super) fn push_stream(&mut self, local: usize, sample: Decoded, bytes: &[u8]) {
        let Some(state) = self.states.get_mut(local) else { return };
        let Decoded { time_ns, kind_scale, bits } = sample;
        let bits = if kind_scale.is_bytes() { bytes.len() as u64 } else { bits };
        let mut tail = state.tail();
        let code = match state.count {
            0 => stream::encode_first(&mut tail, time_ns, kind_scale, bits),
            _ => stream::encode_any(&mut tail, time_ns, kind_scale, bits),
        };
        state.set_tail(tail);
        self.slab.append(&mut state.chunk, &mut state.used, code.as_slice());
        self.slab.append(&mut state.chunk, &mut state.used, bytes);
        state.count += 1;
    }

    pub(super) fn push_sealed(&mut self, local: usize, blocks: Vec<Block>) {
        for block in blocks {
            if let Some(front) = self.fronts.as_mut().and_then(|fronts| fronts.get_mut(local)) {
                front.closed_ns = front.closed_ns.max(block.range.end_ns);
            }
            self.sealed_bytes += block.memory_bytes();
            let before = link(&mut self.sealed_last, local, self.sealed.len() + 1);
            self.sealed.push(Sealed { block: Arc::new(block), before });
        }
    }

    /// Takes everything held away, leaving the states to code what comes next against.
    pub(crate) fn freeze(&mut self) -> Self {
        let mut states = self.states.clone();
        for state in states.iter_mut() {
            state.reset_stream();
            state.flags &= !HAS_SEALED;
        }
        let fronts = self.fronts.take().map(reorder::reopened);
        let arrivals = self.left();
        std::mem::replace(self, Self { fronts, arrivals, ..Self::over(states) })
    }

    /// How many samples of a series the open stream and sealed blocks hold.
    pub(super) fn held(&self, local: usize) -> usize {
        let mut held = self.states.get(local).map_or(0, |state| state.count as usize);
        let mut at = chain_head(&self.sealed_last, local) as usize;
        while let Some(sealed) = at.checked_sub(1).and_then(|index| self.sealed.get(index)) {
            held += sealed.block.count as usize;
            at = sealed.before as usize;
        }
        held
    }

    /// Whether the page holds samples of the series.
    pub(crate) fn has(&self, local: usize) -> bool {
        self.states.get(local).is_some_and(|state| state.count > 0)
            || chain_head(&self.sealed_last, local) != 0
            || self.late.has(local)
    }

    /// Copies out what the series holds in `range`.
    pub(crate) fn copy(&self, local: usize, range: TimeRange, out: &mut SeriesCopy) {
        let mut at = chain_head(&self.sealed_last, local) as usize;
        while let Some(sealed) = at.checked_sub(1).and_then(|index| self.sealed.get(index)) {
            if sealed.block.range.overlaps(&range) {
                out.sealed.push(sealed.block.clone());
            }
            at = sealed.before as usize;
        }
        out.sealed.reverse();
        if let Some(state) = self.states.get(local)
            && state.count > 0
            && (state.last_ns >= range.start_ns || state.flags & IS_MIXED != 0)
        {
            self.slab.copy_chain(state.chunk, state.used, &mut out.stream);
            let ascends = state.flags & IS_MIXED == 0;
            out.outline = Outline { count: state.count, last_ns: state.last_ns, ascends };
        }
        self.late.copy(&self.slab, local, range, &mut out.late);
    }

    /// The latest sample of a series since the store was opened, if it is a number.
    pub(crate) fn last_number(&self, local: usize) -> Option<Decoded> {
        let state = self.states.get(local)?;
        let is_known = state.flags & (HAS_LAST | IS_IN_DOUBT) == HAS_LAST;
        self.newest(local).filter(|newest| is_known && !newest.kind_scale.is_bytes())
    }

    /// The newest sample, if it lies in `range`, is not known any more.
    pub(crate) fn doubt_last(&mut self, local: usize, range: TimeRange) {
        if self.newest_ns(local).is_some_and(|newest_ns| range.contains(newest_ns))
            && let Some(state) = self.states.get_mut(local)
        {
            state.mark(IS_IN_DOUBT);
        }
    }

    /// Copies out the open stream of a series.
    pub(crate) fn copy_stream(&self, local: usize, out: &mut Vec<u8>) {
        if let Some(state) = self.states.get(local).filter(|state| state.count > 0) {
            self.slab.copy_chain(state.chunk, state.used, out);
        }
    }

    /// Takes the open stream of a series away.
    pub(crate) fn clear_stream(&mut self, local: usize) {
        if self.states.get(local).is_some_and(|state| state.count > 0) {
            self.replace_stream(local, Vec::new());
        }
    }

    /// Puts sealed blocks in the place of the open stream.
    pub(crate) fn replace_stream(&mut self, local: usize, blocks: Vec<Block>) {
        let Some(state) = self.states.get_mut(local) else { return };
        self.slab.free_chain(state.chunk);
        state.reset_stream();
        state.flags |= HAS_SEALED;
        self.push_sealed(local, blocks);
    }

    /// Puts in the place of each sealed block of a series in `range` what `cut` leaves of it.
    pub(crate) fn cut_sealed(
        &mut self,
        local: usize,
        range: TimeRange,
        cut: &mut CutBlock<'_>,
    ) -> Result<(), Error> {
        let mut kept = Vec::new();
        let mut at = chain_head(&self.sealed_last, local);
        while let Some(sealed) = (at as usize).checked_sub(1).and_then(|i| self.sealed.get_mut(i)) {
            let entry = std::mem::replace(&mut at, sealed.before);
            if !sealed.block.range.overlaps(&range) {
                kept.push(entry);
                continue;
            }
            // Fewer samples of one window are one block, or none.
            if let Some(left) = cut(&sealed.block)?.pop() {
                self.sealed_bytes =
                    self.sealed_bytes + left.memory_bytes() - sealed.block.memory_bytes();
                sealed.block = Arc::new(left);
                kept.push(entry);
            }
        }
        relink(&mut self.sealed_last, local, &kept, &mut |entry, before| {
            if let Some(sealed) = self.sealed.get_mut(entry) {
                sealed.before = before;
            }
        });
        Ok(())
    }

    /// Takes the late samples of a series in `range` away.
    pub(crate) fn cut_late(&mut self, local: usize, range: TimeRange) {
        self.late.take(&mut self.slab, local, range, &mut Columns::default());
    }

    /// Bytes of the fixed part of a page.
    pub(crate) const FIXED_BYTES: usize = size_of::<[State; PAGE_SERIES]>();
}

#[cfg(test)]
mod tests;
