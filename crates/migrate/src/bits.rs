//! Bits of a chunk or a block, the highest of each byte first, and the numbers that are spelled in
//! them.

use super::cursor::{Wrong, unzigzag, uvarint};

/// How many bits follow a prefix of so many ones, in histograms.
const LENGTHS: [u32; 9] = [0, 3, 6, 9, 12, 18, 25, 56, 64];

/// The same for times of numbers.
const TIME_LENGTHS: [u32; 5] = [0, 14, 17, 20, 64];

/// Bits that are read from the front.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// A float of which each is the one before it but for some bits, and where those lie.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Xor {
    pub(super) value: f64,
    leading: u32,
    trailing: u32,
}

impl<'a> Bits<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next `count` bits, 64 at most.
    pub(super) fn bits(&mut self, mut count: u32) -> Result<u64, Wrong> {
        let mut value = 0u64;
        while count > 0 {
            let byte = self.bytes.get(self.at / 8).ok_or("the chunk ends too early")?;
            let free = 8 - (self.at % 8) as u32;
            let taken = free.min(count);
            let part = u64::from(*byte) >> (free - taken) & ((1 << taken) - 1);
            value = value << taken | part;
            self.at += taken as usize;
            count -= taken;
        }
        Ok(value)
    }

    pub(super) fn uvarint(&mut self) -> Result<u64, Wrong> {
        uvarint(|| self.bits(8).map(|byte| byte as u8))
    }

    pub(super) fn varint(&mut self) -> Result<i64, Wrong> {
        self.uvarint().map(unzigzag)
    }

    pub(super) fn float(&mut self) -> Result<f64, Wrong> {
        self.bits(64).map(f64::from_bits)
    }

    /// How many bits follow, which the number of ones before a zero says.
    fn length(&mut self, lengths: &[u32]) -> Result<u32, Wrong> {
        let (mut ones, ones_max) = (0, lengths.len() - 1);
        while ones < ones_max && self.bits(1)? == 1 {
            ones += 1;
        }
        Ok(lengths.get(ones).copied().unwrap_or_default())
    }

    fn signed(&mut self, lengths: &[u32]) -> Result<i64, Wrong> {
        let length = self.length(lengths)?;
        let bits = self.bits(length)?;
        // One number more is positive than negative, unlike in two's complement.
        let is_negative = (1..64).contains(&length) && bits > 1 << (length - 1);
        Ok(if is_negative { bits.wrapping_sub(1 << length) } else { bits } as i64)
    }

    /// What differs from the last difference of two times.
    pub(super) fn time(&mut self) -> Result<i64, Wrong> {
        self.signed(&TIME_LENGTHS)
    }

    pub(super) fn int(&mut self) -> Result<i64, Wrong> {
        self.signed(&LENGTHS)
    }

    pub(super) fn uint(&mut self) -> Result<u64, Wrong> {
        let length = self.length(&LENGTHS)?;
        self.bits(length)
    }

    /// A whole number of so many bits, the first of which is its sign.
    pub(super) fn signed_of(&mut self, length: u32) -> Result<i64, Wrong> {
        let bits = self.bits(length)?;
        let unused = 64 - length;
        Ok((bits << unused) as i64 >> unused)
    }

    /// Turns a float into the next one.
    pub(super) fn xor(&mut self, of: &mut Xor) -> Result<(), Wrong> {
        match self.bits(1)? {
            0 => Ok(()),
            _ => self.xor_changed(of),
        }
    }

    /// The same for a float that is another one than before.
    pub(super) fn xor_changed(&mut self, of: &mut Xor) -> Result<(), Wrong> {
        if self.bits(1)? == 1 { self.xor_elsewhere(of) } else { self.xor_there(of) }
    }

    /// The same for one that differs in other bits than the one before it did.
    pub(super) fn xor_elsewhere(&mut self, of: &mut Xor) -> Result<(), Wrong> {
        of.leading = self.bits(5)? as u32;
        let length = match self.bits(6)? as u32 {
            0 => 64,
            length => length,
        };
        let trailing = 64u32.checked_sub(of.leading + length);
        of.trailing = trailing.ok_or("a value has more than 64 bits")?;
        self.xor_there(of)
    }

    /// The same for one that differs in the bits in which the one before it did.
    pub(super) fn xor_there(&mut self, of: &mut Xor) -> Result<(), Wrong> {
        let bits = self.bits(64 - of.leading - of.trailing)?;
        of.value = f64::from_bits(of.value.to_bits() ^ bits << of.trailing);
        Ok(())
    }
}
