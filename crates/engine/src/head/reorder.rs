//! Reordering: how samples that come a little late find their place.
//!
//! The open stream of a series takes samples in the order of arrival, some steps forwards or back
//! from one to the next, as long as no sealed block is as late. When a stream whose times do not
//! ascend is full it is sorted, its older part is sealed, and the newest samples stay open for what
//! is still to come.

use super::page::{HAS_LAST, HAS_SEALED, IS_BEHIND, IS_IN_DOUBT, IS_MIXED, PageData, State};
use super::slab;
use super::stream::{self, Decoded, KindScale, Tail};
use crate::block::Builder;
use crate::limits::{PAGE_SERIES, REORDER_SAMPLES};

impl State {
    /// Whether the open stream must be sealed before it takes another sample. One that will have to
    /// be sorted holds as many more as stay open then, so that blocks are full.
    pub(super) fn is_full(&self) -> bool {
        let more = if self.flags & IS_MIXED != 0 { REORDER_SAMPLES as u16 } else { 0 };
        self.count >= self.samples_max() + more
    }

    /// Notes, before a sample at `time_ns` goes into the stream, whether it is the newest.
    #[inline(always)]
    fn pass(&mut self, front: &mut Front, time_ns: i64) {
        if self.flags & HAS_LAST == 0 {
            return;
        }
        if self.flags & IS_BEHIND == 0 {
            front.newest = last_of(&self.tail());
        }
        let is_mixed = time_ns <= self.last_ns && self.count > 0;
        let is_behind = time_ns < front.newest.time_ns;
        let is_newest = time_ns > front.newest.time_ns;
        self.flags |= if is_mixed { IS_MIXED } else { 0 };
        self.flags &= !(IS_BEHIND | if is_newest { IS_IN_DOUBT } else { 0 });
        self.mark(if is_behind { IS_BEHIND } else { 0 });
    }
}

/// Where a series stands whose samples do not come in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Front {
    /// The newest sample, if it is not the last that came.
    newest: Decoded,
    /// Times up to this one lie in sealed blocks, or in front of late samples.
    pub(super) closed_ns: i64,
}

/// The fronts of a page.
pub(super) type Fronts = [Front; PAGE_SERIES];

/// The fronts of a page without samples.
pub(super) fn reopened(mut fronts: Box<Fronts>) -> Box<Fronts> {
    for front in fronts.iter_mut() {
        front.closed_ns = i64::MIN;
    }
    fronts
}

impl PageData {
    /// Adds a sample that is a few steps away from the last one; false if it is no such sample.
    #[inline(never)]
    pub(super) fn append_away(&mut self, local: usize, sample: Decoded) -> bool {
        let Some(state) = self.states.get_mut(local) else { return false };
        let room = slab::capacity(state.chunk | 1).saturating_sub(state.used as usize);
        if state.count == 0 || state.is_full() || room < 2 {
            return false;
        }
        let before = state.tail();
        let mut tail = before;
        let Decoded { time_ns, kind_scale, bits } = sample;
        let (code, len) = match stream::encode_regular(&mut tail, time_ns, kind_scale, bits) {
            Some(byte) => ([byte, 0], 1),
            None => match stream::encode_away(&mut tail, time_ns, kind_scale, bits) {
                Some(code) => (code, 2),
                None => return false,
            },
        };
        if time_ns <= before.time_ns || state.flags & IS_BEHIND != 0 {
            let Some(front) = self.fronts.as_mut().and_then(|fronts| fronts.get_mut(local)) else {
                return false;
            };
            if time_ns <= front.closed_ns {
                return false;
            }
            state.pass(front, time_ns);
            if state.flags & IS_BEHIND != 0 {
                self.arrivals.come_late(local);
            }
        } else {
            state.flags &= !IS_IN_DOUBT;
        }
        self.slab.put(state.chunk, state.used as usize, code);
        state.used += len;
        state.count += 1;
        state.set_tail(tail);
        true
    }

    /// Notes, before a sample at `time_ns` goes into the stream, whether it is the newest.
    pub(super) fn arrive(&mut self, local: usize, time_ns: i64) {
        let Some(state) = self.states.get(local) else { return };
        if state.flags & HAS_LAST != 0 && (time_ns <= state.last_ns || state.flags & IS_BEHIND != 0)
        {
            self.make_fronts();
        }
        let Some(state) = self.states.get_mut(local) else { return };
        if let Some(front) = self.fronts.as_mut().and_then(|fronts| fronts.get_mut(local)) {
            state.pass(front, time_ns);
            if state.flags & IS_BEHIND != 0 {
                self.arrivals.come_late(local);
            }
        } else {
            state.flags &= !IS_IN_DOUBT;
        }
    }

    /// Times up to this one are closed to the open stream of a series.
    pub(super) fn closed_ns(&self, local: usize) -> i64 {
        let front = self.fronts.as_ref().and_then(|fronts| fronts.get(local));
        front.map_or_else(|| self.sealed_ns(local), |front| front.closed_ns)
    }

    pub(super) fn make_fronts(&mut self) {
        if self.fronts.is_none() {
            let closed_ns = |local| Front { newest: NOTHING, closed_ns: self.sealed_ns(local) };
            self.fronts = Some(Box::new(std::array::from_fn(closed_ns)));
        }
    }

    /// The newest sample of a series since the store was opened; bits of text mean nothing.
    pub(super) fn newest(&self, local: usize) -> Option<Decoded> {
        let state = self.states.get(local).filter(|state| state.flags & HAS_LAST != 0)?;
        match state.flags & IS_BEHIND {
            0 => Some(last_of(&state.tail())),
            _ => self.fronts.as_ref()?.get(local).map(|front| front.newest),
        }
    }

    /// The time of the newest sample of a series since the store was opened.
    pub(super) fn newest_ns(&self, local: usize) -> Option<i64> {
        self.newest(local).map(|newest| newest.time_ns)
    }

    /// Turns the open stream of a series into a sealed block, but for what has to stay open.
    pub(super) fn seal(&mut self, local: usize, builder: &mut Builder) {
        let newest_ns = self.newest_ns(local);
        let Some(state) = self.states.get_mut(local) else { return };
        let (is_mixed, samples_max) = (state.flags & IS_MIXED != 0, state.samples_max() as usize);
        builder.clear();
        builder.stream.clear();
        self.slab.copy_chain(state.chunk, state.used, &mut builder.stream);
        self.slab.free_chain(state.chunk);
        state.reset_stream();
        builder.decode_stream();
        let mut open = 0;
        if is_mixed {
            let came = builder.columns.len();
            builder.columns.sort_newest_wins();
            let count = builder.columns.len();
            self.arrivals.leave(local, came.saturating_sub(count));
            // Where many samples were updates there is no block yet.
            open = if count * 4 < samples_max * 3 { count } else { REORDER_SAMPLES.min(count) };
        }
        let sealed = builder.columns.len() - open;
        if sealed > 0 {
            state.flags |= HAS_SEALED;
            self.push_sealed(local, builder.first_blocks(sealed));
        }
        if is_mixed {
            self.reopen(local, builder, sealed, newest_ns);
        }
    }

    /// Begins a stream with the samples of the builder from number `first` on.
    fn reopen(&mut self, local: usize, builder: &Builder, first: usize, newest_ns: Option<i64>) {
        for index in first..builder.columns.len() {
            let Some(sample) = builder.columns.get(index) else { break };
            self.push_stream(local, sample, builder.columns.text(sample));
        }
        if let Some(state) = self.states.get_mut(local)
            && newest_ns.is_none_or(|newest_ns| state.last_ns >= newest_ns)
        {
            state.flags &= !IS_BEHIND;
        }
    }
}

const NOTHING: Decoded = Decoded { time_ns: 0, kind_scale: KindScale(0), bits: 0 };

/// The last sample that came.
fn last_of(tail: &Tail) -> Decoded {
    Decoded { time_ns: tail.time_ns, kind_scale: tail.kind_scale, bits: tail.bits }
}
