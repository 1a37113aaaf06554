//! The two widths that encoders work in: 32 bits where a block's values lie close together, so that
//! vectors hold twice as many and small machines need no pairs of registers, else 64 bits.

/// A signed integer whose arithmetic wraps.
pub(crate) trait Lane: Copy + Ord + Default + Into<i64> {
    /// The least value.
    const MIN: Self;
    /// The greatest value.
    const MAX: Self;

    /// The lowest bits of `value`.
    fn cut(value: i64) -> Self;
    /// The difference of two values.
    fn minus(self, other: Self) -> Self;
    /// The product of two values.
    fn times(self, other: Self) -> Self;
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
    const MIN: Self = i32::MIN;
    const MAX: Self = i32::MAX;

    fn cut(value: i64) -> Self {
        value as i32
    }

    fn minus(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }

    fn times(self, other: Self) -> Self {
        self.wrapping_mul(other)
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
    const MIN: Self = i64::MIN;
    const MAX: Self = i64::MAX;

    fn cut(value: i64) -> Self {
        value
    }

    fn minus(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }

    fn times(self, other: Self) -> Self {
        self.wrapping_mul(other)
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
