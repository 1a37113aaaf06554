//! Reading a stream; its grammar stands in `stream.rs`.

use super::{
    AWAY, DELTA_LENS, DELTA_MASKS, Decoded, KindScale, LONG, NEAR_STEPS, Outline, Tail, WHOLE,
    decode_bits, step_from, unit_ns, unit_of, unzigzag,
};
use crate::columns::Columns;
use foliot_model::TimeRange;

/// Samples that are read before columns take them: to lengthen a column by each takes as long as to
/// read it.
const GATHERED: usize = 64;

/// Samples of one byte each that are read, or passed over, together: one by one they take several
/// times as long.
const PASSED: usize = 16;
/// The bits that none of their bytes has.
const LONGER: u128 = u128::from_le_bytes([0x80; PASSED]);

/// Reads a stream from its first byte.
pub(crate) struct Reader<'a> {
    all: &'a [u8],
    rest: &'a [u8],
    tail: Tail,
    is_first: bool,
    /// Whether times are known to ascend.
    ascends: bool,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { all: bytes, rest: bytes, tail: Tail::default(), is_first: true, ascends: false }
    }

    /// Reads a stream of which that is known.
    pub(crate) fn of(bytes: &'a [u8], Outline { ascends, .. }: Outline) -> Self {
        Self { ascends, ..Self::new(bytes) }
    }

    /// Whether no sample to come is known to lie in `range`.
    pub(crate) fn is_past(&self, range: TimeRange) -> bool {
        self.ascends && self.tail.time_ns >= range.end_ns
    }

    /// The bytes that are not read yet, and what the next sample is coded against.
    pub(super) fn stands(&self) -> (&'a [u8], Tail) {
        (self.rest, self.tail)
    }

    /// How many bytes are not read yet.
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*taken)
    }

    /// The next sample; nothing at the end (or if the bytes are not a stream, which only a bug
    /// makes).
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Decoded> {
        if self.is_first {
            self.is_first = false;
            let time_ns = i64::from_le_bytes(self.take()?);
            self.tail = Tail { time_ns, unit: unit_of(time_ns), ..Tail::default() };
            return self.value();
        }
        let [control] = self.take()?;
        let tail = &mut self.tail;
        if control & 0x80 == 0 {
            tail.time_ns += i64::from(tail.step) * unit_ns(tail.unit);
            tail.bits = tail.bits.wrapping_add(unzigzag(u64::from(control)) as u64);
            let Tail { time_ns, kind_scale, bits, .. } = *tail;
            return Some(Decoded { time_ns, kind_scale, bits });
        }
        if control < LONG {
            let [delta] = self.take()?;
            let tail = &mut self.tail;
            let steps = i64::from(control & !LONG) - NEAR_STEPS;
            tail.time_ns += steps * i64::from(tail.step) * unit_ns(tail.unit);
            tail.bits = tail.bits.wrapping_add(unzigzag(u64::from(delta)) as u64);
            let Tail { time_ns, kind_scale, bits, .. } = *tail;
            return Some(Decoded { time_ns, kind_scale, bits });
        }
        match control & AWAY {
            0 => self.time((control >> 4) & 3)?,
            _ => self.time_away((control >> 4) & 3)?,
        }
        match control & 7 {
            class @ 0..WHOLE => {
                let len = *DELTA_LENS.get(class as usize)?;
                let (taken, rest) = self.rest.split_at_checked(len)?;
                let delta = match self.rest.first_chunk::<8>() {
                    // All eight at once: fewer, written one by one and read together, would be
                    // waited for.
                    Some(eight) => u64::from_le_bytes(*eight) & DELTA_MASKS.get(class as usize)?,
                    None => {
                        let mut delta = [0; 8];
                        delta.get_mut(..len)?.copy_from_slice(taken);
                        u64::from_le_bytes(delta)
                    }
                };
                self.rest = rest;
                let delta = unzigzag(delta);
                self.tail.bits = self.tail.bits.wrapping_add(delta as u64);
                let Tail { time_ns, kind_scale, bits, .. } = self.tail;
                Some(Decoded { time_ns, kind_scale, bits })
            }
            _ => self.value(),
        }
    }

    /// Adds the samples that come next to `columns`, as long as they are written as most are:
    /// numbers of the last one's kind and scale, steps away from it. Some that lie outside `range`
    /// may be missing.
    pub(crate) fn run(&mut self, range: TimeRange, columns: &mut Columns) {
        let before = columns.len();
        let (mut times_ns, mut bits) = ([0; GATHERED], [0; GATHERED]);
        loop {
            self.seek(range);
            if self.is_past(range) {
                break;
            }
            let wanted = self.steps_to(range.end_ns);
            let times = times_ns.get_mut(..wanted).unwrap_or_default();
            let count = self.gather(times, bits.get_mut(..wanted).unwrap_or_default());
            columns.times_ns.extend_from_slice(times_ns.get(..count).unwrap_or_default());
            columns.bits.extend_from_slice(bits.get(..count).unwrap_or_default());
            if count < wanted {
                break;
            }
        }
        let count = columns.len() - before;
        columns.kind_scales.extend(std::iter::repeat_n(self.tail.kind_scale, count));
    }

    /// Passes over such samples before the next one in `range`.
    fn seek(&mut self, range: TimeRange) {
        let Tail { step, unit, mut time_ns, mut bits, .. } = self.tail;
        let step_ns = i64::from(step) * unit_ns(unit);
        let passed_ns = step_ns.saturating_mul(PASSED as i64);
        let mut left = self.rest;
        loop {
            while let Some((codes, rest)) = left.split_first_chunk::<PASSED>()
                && are_short(codes)
                && (time_ns >= range.end_ns && !self.ascends
                    || time_ns.saturating_add(passed_ns) < range.start_ns)
            {
                bits = bits.wrapping_add(moved_by(codes) as u64);
                time_ns = time_ns.wrapping_add(step_ns.wrapping_mul(PASSED as i64));
                left = rest;
            }
            let Some((steps, delta, rest)) = steps_away(left) else { break };
            let next_ns = time_ns + steps * step_ns;
            if range.contains(next_ns) || self.ascends && next_ns > range.end_ns {
                break;
            }
            bits = bits.wrapping_add(unzigzag(delta) as u64);
            (time_ns, left) = (next_ns, rest);
        }
        self.rest = left;
        self.tail = Tail { time_ns, bits, ..self.tail };
    }

    /// How many samples are gathered at once where most that come after `end_ns` are not wanted.
    fn steps_to(&self, end_ns: i64) -> usize {
        let step_ns = i64::from(self.tail.step) * unit_ns(self.tail.unit);
        let steps = end_ns.saturating_sub(self.tail.time_ns) / step_ns.max(1);
        steps.clamp(1, GATHERED as i64) as usize
    }

    /// Puts such samples into all places, or as many as there are, and says how many.
    fn gather(&mut self, times_ns: &mut [i64], all: &mut [u64]) -> usize {
        let Tail { step, unit, mut time_ns, mut bits, .. } = self.tail;
        let step_ns = i64::from(step) * unit_ns(unit);
        let (mut left, mut count) = (self.rest, 0);
        'samples: loop {
            while let Some((codes, rest)) = left.split_first_chunk::<PASSED>()
                && are_short(codes)
                && let Some(times_ns) = times_ns.get_mut(count..count + PASSED)
                && let Some(all) = all.get_mut(count..count + PASSED)
            {
                for ((time_place, bits_place), code) in times_ns.iter_mut().zip(all).zip(codes) {
                    time_ns += step_ns;
                    bits = bits.wrapping_add(unzigzag(u64::from(*code)) as u64);
                    (*time_place, *bits_place) = (time_ns, bits);
                }
                (left, count) = (rest, count + PASSED);
            }
            // As many others go by before it is looked for such again: some streams have none.
            let before = count;
            let times_ns = times_ns.get_mut(count..).unwrap_or_default().iter_mut();
            let places = times_ns.zip(all.get_mut(count..).unwrap_or_default());
            for (time_place, bits_place) in places.take(PASSED) {
                let Some((steps, delta, rest)) = steps_away(left) else { break 'samples };
                left = rest;
                time_ns += steps * step_ns;
                bits = bits.wrapping_add(unzigzag(delta) as u64);
                (*time_place, *bits_place) = (time_ns, bits);
                count += 1;
            }
            if count == before {
                break;
            }
        }
        self.rest = left;
        self.tail = Tail { time_ns, bits, ..self.tail };
        count
    }

    fn time(&mut self, class: u8) -> Option<()> {
        let change = match class {
            0 => 0,
            1 => i64::from(i16::from_le_bytes(self.take()?)),
            2 => i64::from(i32::from_le_bytes(self.take()?)),
            _ => {
                let time_ns = i64::from_le_bytes(self.take()?);
                let [unit] = self.take()?;
                let delta_ns = time_ns.checked_sub(self.tail.time_ns);
                self.tail.step = step_from(delta_ns.unwrap_or(0), unit);
                self.tail.unit = unit;
                self.tail.time_ns = time_ns;
                return Some(());
            }
        };
        self.tail.step = (i64::from(self.tail.step) + change) as u32;
        self.tail.time_ns += i64::from(self.tail.step) * unit_ns(self.tail.unit);
        Some(())
    }

    fn time_away(&mut self, class: u8) -> Option<()> {
        let units = match class {
            0 => {
                let [steps] = self.take()?;
                i64::from(steps as i8) * i64::from(self.tail.step)
            }
            1 => i64::from(i16::from_le_bytes(self.take()?)),
            _ => i64::from(i32::from_le_bytes(self.take()?)),
        };
        self.tail.time_ns += units * unit_ns(self.tail.unit);
        Some(())
    }

    fn value(&mut self) -> Option<Decoded> {
        let [kind_scale] = self.take()?;
        let kind_scale = KindScale(kind_scale);
        self.tail.kind_scale = kind_scale;
        let bits = decode_bits(&mut self.rest, kind_scale, self.all.len())?;
        self.tail.bits = if kind_scale.is_bytes() { 0 } else { bits };
        Some(Decoded { time_ns: self.tail.time_ns, kind_scale, bits })
    }
}

/// Whether samples have one byte each.
fn are_short(codes: &[u8; PASSED]) -> bool {
    u128::from_le_bytes(*codes) & LONGER == 0
}

/// What the zigzag deltas of so many samples of one byte come to. Each is added to 128, so that the
/// sums are those of bytes, which processors have an instruction for. Inlined, it is made of halves
/// that others have looked at, in five times the steps.
#[inline(never)]
fn moved_by(codes: &[u8; PASSED]) -> i64 {
    let from_128 = |code: &u8| u32::from((code >> 1) ^ (code & 1).wrapping_neg() ^ 0x80);
    i64::from(codes.iter().map(from_128).sum::<u32>()) - 128 * PASSED as i64
}

/// How many steps away the sample that `codes` begin with is, the zigzag delta of its value, and
/// what is behind it; nothing if it is written in another way.
#[inline(always)]
fn steps_away(codes: &[u8]) -> Option<(i64, u64, &[u8])> {
    let (control, behind) = codes.split_first()?;
    match *control {
        delta @ ..0x80 => Some((1, u64::from(delta), behind)),
        near @ 0x80..LONG => {
            let (delta, behind) = behind.split_first()?;
            Some((i64::from(near & !LONG) - NEAR_STEPS, u64::from(*delta), behind))
        }
        long if long & !LONG & !7 == 0 => {
            let class = usize::from(long & 7);
            // The last ones of a stream are read by themselves.
            let eight = behind.first_chunk::<8>()?;
            let delta = u64::from_le_bytes(*eight) & DELTA_MASKS.get(class)?;
            Some((1, delta, behind.get(*DELTA_LENS.get(class)?..)?))
        }
        _ => None,
    }
}
