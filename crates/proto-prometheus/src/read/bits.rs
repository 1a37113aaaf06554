//! Bits of a chunk, the highest of each byte first, and the numbers that are spelled in them.
//!
//! The layouts are Prometheus' (`tsdb/docs/format/chunks.md`).

/// How many bits follow a prefix of so many ones, in histograms.
const LENGTHS: [u32; 9] = [0, 3, 6, 9, 12, 18, 25, 56, 64];

/// The same for times of numbers.
const TIME_LENGTHS: [u32; 5] = [0, 14, 17, 20, 64];

/// The highest bound of a custom bucket, in thousandths, that is spelled as a whole number.
const THOUSANDTHS_MAX: f64 = 33_554_430.0;

/// Bits that are appended.
#[derive(Clone, Debug, Default)]
pub(super) struct Bits {
    bytes: Vec<u8>,
    /// Bits of the last byte that are free.
    free: u32,
}

/// A float of which each is the one before it but for some bits, and where those lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Xor {
    before: u64,
    /// Zeros above and below the bits that changed last; nothing before the first change.
    zeros: Option<(u32, u32)>,
}

impl Xor {
    pub(super) fn new(first: f64) -> Self {
        Self { before: first.to_bits(), zeros: None }
    }
}

impl Bits {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends the low `count` bits of a number, 64 at most.
    pub(super) fn push(&mut self, value: u64, mut count: u32) {
        while count > 0 {
            if self.free == 0 {
                self.bytes.push(0);
                self.free = 8;
            }
            let taken = self.free.min(count);
            let part = value >> (count - taken) & ((1 << taken) - 1);
            self.free -= taken;
            count -= taken;
            if let Some(last) = self.bytes.last_mut() {
                *last |= (part << self.free) as u8;
            }
        }
    }

    pub(super) fn float(&mut self, value: f64) {
        self.push(value.to_bits(), 64);
    }

    pub(super) fn uvarint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.push(value & 0x7f | 0x80, 8);
            value >>= 7;
        }
        self.push(value, 8);
    }

    pub(super) fn varint(&mut self, value: i64) {
        self.uvarint((value << 1 ^ value >> 63) as u64);
    }

    /// The number of ones before a zero says how many bits follow; after the most no zero comes.
    fn prefixed(&mut self, value: u64, ones: usize, lengths: &[u32]) {
        let ones_max = lengths.len() - 1;
        (0..ones).for_each(|_| self.push(1, 1));
        if ones < ones_max {
            self.push(0, 1);
        }
        self.push(value, lengths.get(ones).copied().unwrap_or_default());
    }

    fn signed(&mut self, value: i64, lengths: &[u32]) {
        // One number more is positive than negative, unlike in two's complement.
        let fits = |length: &u32| match length {
            0 => value == 0,
            64.. => true,
            length => {
                let half = 1i64 << (length - 1);
                (1 - half..=half).contains(&value)
            }
        };
        let ones = lengths.iter().position(fits).unwrap_or_default();
        self.prefixed(value as u64, ones, lengths);
    }

    /// What differs from the last difference of two times.
    pub(super) fn time(&mut self, change_ms: i64) {
        self.signed(change_ms, &TIME_LENGTHS);
    }

    pub(super) fn int(&mut self, value: i64) {
        self.signed(value, &LENGTHS);
    }

    pub(super) fn uint(&mut self, value: u64) {
        let needed = 64 - value.leading_zeros();
        let ones = LENGTHS.iter().position(|length| needed <= *length).unwrap_or_default();
        self.prefixed(value, ones, &LENGTHS);
    }

    /// Appends how a float differs from the one before it.
    pub(super) fn xor(&mut self, of: &mut Xor, value: f64) {
        let changed = value.to_bits() ^ of.before;
        of.before = value.to_bits();
        if changed == 0 {
            return self.push(0, 1);
        }
        self.push(1, 1);
        // Five bits tell of zeros above.
        let (above, below) = (changed.leading_zeros().min(31), changed.trailing_zeros());
        if let Some((known_above, known_below)) = of.zeros
            && above >= known_above
            && below >= known_below
        {
            self.push(0, 1);
            return self.push(changed >> known_below, 64 - known_above - known_below);
        }
        of.zeros = Some((above, below));
        let length = 64 - above - below;
        self.push(1, 1);
        self.push(u64::from(above), 5);
        // 64 is spelled as 0.
        self.push(u64::from(length), 6);
        self.push(changed >> below, length);
    }

    /// Appends how far the bucket around zero reaches: as one byte if it is a power of two that
    /// clients use.
    pub(super) fn zero_threshold(&mut self, threshold: f64) {
        let exponents = -242i32..=11;
        let is_power = |exponent: &i32| f64::exp2(f64::from(exponent - 1)) == threshold;
        match (threshold, exponents.into_iter().find(is_power)) {
            (0.0, _) => self.push(0, 8),
            (_, Some(exponent)) => self.push((exponent + 243) as u64, 8),
            (_, None) => {
                self.push(255, 8);
                self.float(threshold);
            }
        }
    }

    /// Appends a bound of a custom bucket: whole thousandths, or all its bits.
    pub(super) fn bound(&mut self, bound: f64) {
        let thousandths = bound * 1000.0;
        let whole = thousandths.round();
        if (0.0..=THOUSANDTHS_MAX).contains(&thousandths) && whole / 1000.0 == bound {
            return self.uint(whole as u64 + 1);
        }
        self.uint(0);
        self.float(bound);
    }
}
