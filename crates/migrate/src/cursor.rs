//! Numbers and texts of files of programs in Go, where they lie: big-endian, and varints as Go
//! spells them (<https://go.dev/src/encoding/binary/varint.go>).

use foliot_proto_prometheus::crc32c;

/// What is wrong with bytes, in words.
pub(super) type Wrong = String;

/// Bytes that are read from the front.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a>(pub(super) &'a [u8]);

impl<'a> Cursor<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Wrong> {
        let (head, rest) = self.0.split_at_checked(count).ok_or("it ends too early")?;
        self.0 = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Wrong> {
        let (head, rest) = self.0.split_first_chunk().ok_or("it ends too early")?;
        self.0 = rest;
        Ok(*head)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Wrong> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    pub(super) fn be16(&mut self) -> Result<u16, Wrong> {
        self.array::<2>().map(|[high, low]| u16::from(high) << 8 | u16::from(low))
    }

    pub(super) fn be32(&mut self) -> Result<u32, Wrong> {
        self.array().map(be32)
    }

    pub(super) fn be64(&mut self) -> Result<u64, Wrong> {
        self.array::<8>().map(|bytes| bytes.iter().fold(0, |all, byte| all << 8 | u64::from(*byte)))
    }

    pub(super) fn float(&mut self) -> Result<f64, Wrong> {
        self.be64().map(f64::from_bits)
    }

    pub(super) fn uvarint(&mut self) -> Result<u64, Wrong> {
        uvarint(|| self.byte())
    }

    pub(super) fn varint(&mut self) -> Result<i64, Wrong> {
        self.uvarint().map(unzigzag)
    }

    /// How many of something follow, each of which takes a byte at least.
    pub(super) fn count(&mut self) -> Result<usize, Wrong> {
        let count = self.uvarint()?;
        let count = usize::try_from(count).ok().filter(|count| *count <= self.0.len());
        count.ok_or_else(|| "it has less in it than it says".to_owned())
    }

    /// Bytes after their number.
    pub(super) fn text(&mut self) -> Result<&'a [u8], Wrong> {
        let length = self.count()?;
        self.bytes(length)
    }
}

/// Four bytes as a number.
pub(super) fn be32(bytes: [u8; 4]) -> u32 {
    bytes.iter().fold(0, |all, byte| all << 8 | u32::from(*byte))
}

/// A varint of at most ten bytes, whose bytes `next` gives.
pub(super) fn uvarint(mut next: impl FnMut() -> Result<u8, Wrong>) -> Result<u64, Wrong> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = next()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err("a number has more than ten bytes".to_owned())
}

/// The signed number that an unsigned one stands for.
pub(super) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Whether bytes have this checksum. The long runs of the fuzzer read files without checksums, so
/// that any change reaches their reader.
pub(super) fn is_whole(bytes: &[u8], sum: u32) -> bool {
    cfg!(fuzzing) || crc32c(bytes) == sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_go_writes_them() {
        let mut cursor = Cursor(b"\xac\x02\x01\x02\0\0\0\x07\x02ab\xff");
        assert_eq!(cursor.uvarint(), Ok(300));
        assert_eq!(cursor.varint(), Ok(-1));
        assert_eq!(cursor.varint(), Ok(1));
        assert_eq!(cursor.be32(), Ok(7));
        assert_eq!(cursor.text(), Ok(&b"ab"[..]));
        assert!(cursor.uvarint().is_err(), "the number goes on");
        assert!(Cursor(&[0xff; 11]).uvarint().is_err());
        assert!(Cursor(b"\x7fab").text().is_err(), "longer than what is there");
    }
}
