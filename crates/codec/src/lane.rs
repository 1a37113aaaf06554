//! The two widths that encoders work in: 32 bits where a block's values lie close together, so that
//! vectors hold twice as many and small machines need no pairs of registers, else 64 bits.

/// A signed integer whose arithmetic wraps.
pub(crate) trait Lane: Copy + Ord + Default + Into<i64> {
    /// The lowest bits of `value`.
    fn cut(value: i64) -> Self;
    /// The difference of two values.
    fn minus(self, other: Self) -> Self;
    /// The sum of two values.
    fn plus(self, other: Self) -> Self;
    /// The value without its lowest `bits` bits, its sign kept.
    fn shifted(self, bits: u32) -> Self;
    /// The value as an unsigned one.
    fn unsigned(self) -> u64;
    /// The lowest 32 bits.
    fn low(self) -> u32;
    /// The value folded ([`crate::varint::zigzag`]), without its lowest `dropped` bits, and at
    /// most `i32::MAX`.
    fn folded(self, dropped: u32) -> i32;
}

impl Lane for i32 {
    fn cut(value: i64) -> Self {
        value as i32
    }

    fn minus(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }

    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    fn shifted(self, bits: u32) -> Self {
        self >> (bits & 31)
    }

    fn unsigned(self) -> u64 {
        u64::from(self as u32)
    }

    fn low(self) -> u32 {
        self as u32
    }

    /// Narrow values stay below 2^30, so nothing is dropped or cut off.
    fn folded(self, _: u32) -> i32 {
        (self << 1) ^ (self >> 31)
    }
}

impl Lane for i64 {
    fn cut(value: i64) -> Self {
        value
    }

    fn minus(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }

    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    fn shifted(self, bits: u32) -> Self {
        self >> (bits & 63)
    }

    fn unsigned(self) -> u64 {
        self as u64
    }

    fn low(self) -> u32 {
        self as u32
    }

    fn folded(self, dropped: u32) -> i32 {
        let folded = crate::varint::zigzag(self) >> (dropped & 63);
        folded.min(i32::MAX as u64) as i32
    }
}

/// Distances of a run's values from the first, if 32 bits hold them with room for differences.
#[derive(Clone, Debug, Default)]
pub(crate) struct Narrow {
    first: i64,
    offsets: Vec<i32>,
}

/// Distances beyond this are not narrow. Differences of differences, their distances and those
/// folded then stay below 2^31.
const NARROW_MAX: i64 = 1 << 26;

impl Narrow {
    /// Takes the distances of `values`, or none if they are not narrow.
    pub(crate) fn fill(&mut self, values: &[i64]) {
        self.offsets.clear();
        self.first = values.first().copied().unwrap_or_default();
        // A narrow distance, moved up to be positive, has no bit above the limit's.
        let lowest = self.first.wrapping_sub(NARROW_MAX);
        let spread = values.iter().fold(0, |all, value| all | value.wrapping_sub(lowest));
        if (0..2 * NARROW_MAX).contains(&spread) {
            let first = self.first as i32;
            self.offsets.extend(values.iter().map(|value| (*value as i32).wrapping_sub(first)));
        }
    }

    /// The first value and the distances of all from it, unless they are not narrow.
    pub(crate) fn get(&self) -> Option<(i64, &[i32])> {
        (!self.offsets.is_empty()).then_some((self.first, self.offsets.as_slice()))
    }
}
