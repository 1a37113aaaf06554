//! Protocol buffers on the wire: the fields of a message, one after the other, where they lie.
//!
//! A batch refers to bytes of its request by position, so messages are walked in place and never
//! built.

use crate::write::Malformed;
use foliot_model::Span;

/// The type of a field that is a varint.
const VARINT: u8 = 0;
/// Eight bytes, little-endian.
const FIXED64: u8 = 1;
/// Bytes after their length.
const BYTES: u8 = 2;
/// Four bytes, little-endian.
const FIXED32: u8 = 5;

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Varint(u64),
    Fixed64(u64),
    /// From where to before where.
    Bytes(usize, usize),
    Fixed32(u32),
}

/// A field: its number, where its tag begins, and what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) number: u64,
    pub(crate) start: usize,
    pub(crate) value: Value,
}

/// The fields of the message that lies in `bytes` between two positions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(bytes: &'a [u8], start: usize, end: usize) -> Self {
        Self { bytes, at: start, end: end.min(bytes.len()) }
    }

    /// Where the next field begins.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The bytes of the message that were not walked yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..self.end).unwrap_or_default()
    }

    /// Walks over so many bytes of them, which somebody else has read.
    pub(crate) fn step_over(&mut self, length: usize) {
        self.at = self.at.saturating_add(length).min(self.end);
    }

    /// The next field; nothing at the message's end.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<Field>, Malformed> {
        if self.at >= self.end {
            return Ok(None);
        }
        let start = self.at;
        let tag = self.varint()?;
        let (number, wire_type) = (tag >> 3, (tag & 7) as u8);
        let value = match wire_type {
            VARINT => Value::Varint(self.varint()?),
            FIXED64 => Value::Fixed64(u64::from_le_bytes(self.array()?)),
            BYTES => {
                let length = usize::try_from(self.varint()?).map_err(|_| self.cut())?;
                let from = self.at;
                self.at = self.skip(length)?;
                Value::Bytes(from, self.at)
            }
            FIXED32 => Value::Fixed32(u32::from_le_bytes(self.array()?)),
            _ => return Err(of_no_type(wire_type, start)),
        };
        if number == 0 {
            return Err(of_no_number(start));
        }
        Ok(Some(Field { number, start, value }))
    }

    /// A varint of at most ten bytes; bits beyond 64 are lost, as everywhere.
    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, Malformed> {
        match self.bytes.get(self.at) {
            // Tags and most lengths have one byte, and a sample has a hundred of them.
            Some(&byte) if byte < 0x80 && self.at < self.end => {
                self.at += 1;
                Ok(byte.into())
            }
            _ => self.any_varint(),
        }
    }

    #[inline(never)]
    fn any_varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0;
        for shift in (0..70).step_by(7) {
            let [byte] = self.array()?;
            value |= u64::from(byte & 0x7f).wrapping_shl(shift) * u64::from(shift < 64);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed(format!("a number of more than ten bytes before byte {}", self.at)))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let end = self.skip(N)?;
        let array = self.bytes.get(self.at..end).and_then(|bytes| bytes.try_into().ok());
        self.at = end;
        array.ok_or_else(|| self.cut())
    }

    #[inline]
    fn skip(&self, length: usize) -> Result<usize, Malformed> {
        let end = self.at.checked_add(length).filter(|end| *end <= self.end);
        end.ok_or_else(|| self.cut())
    }

    #[cold]
    fn cut(&self) -> Malformed {
        Malformed(format!("a field is longer than its message at byte {}", self.at))
    }
}

#[cold]
fn of_no_type(wire_type: u8, start: usize) -> Malformed {
    Malformed(format!("wire type {wire_type} at byte {start}"))
}

#[cold]
fn of_no_number(start: usize) -> Malformed {
    Malformed(format!("field number 0 at byte {start}"))
}

impl Field {
    /// The message or text that the field holds.
    pub(crate) fn span(&self) -> Result<Span, Malformed> {
        self.range().map(|(start, end)| Span::new(start, end))
    }

    /// From where to before where that lies.
    pub(crate) fn range(&self) -> Result<(usize, usize), Malformed> {
        match self.value {
            Value::Bytes(start, end) => Ok((start, end)),
            _ => Err(self.mistyped()),
        }
    }

    pub(crate) fn mistyped(&self) -> Malformed {
        Malformed(format!("field {} at byte {} has the wrong wire type", self.number, self.start))
    }
}

/// The signed number that a varint of type `sint` stands for.
pub(crate) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Appends a varint.
pub(crate) fn push_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a field that is a varint.
pub(crate) fn push_number(number: u8, value: u64, out: &mut Vec<u8>) {
    out.push(number << 3 | VARINT);
    push_varint(value, out);
}

/// Appends a field of eight bytes.
pub(crate) fn push_double(number: u8, value: f64, out: &mut Vec<u8>) {
    push_fixed(number, value.to_bits(), out);
}

/// Appends a field of eight bytes.
pub(crate) fn push_fixed(number: u8, bits: u64, out: &mut Vec<u8>) {
    out.push(number << 3 | FIXED64);
    out.extend_from_slice(&bits.to_le_bytes());
}

/// Appends a field of bytes.
pub(crate) fn push_bytes(number: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(number << 3 | BYTES);
    push_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(bytes: &[u8]) -> Result<Vec<(u64, Value)>, Malformed> {
        let (mut fields, mut found) = (Fields::new(bytes, 0, bytes.len()), Vec::new());
        while let Some(field) = fields.next()? {
            found.push((field.number, field.value));
        }
        Ok(found)
    }

    #[test]
    fn fields_of_every_type_are_walked() {
        // The examples of the encoding's own guide: 150 in field 1, "testing" in field 2.
        assert_eq!(fields(b"\x08\x96\x01").unwrap(), [(1, Value::Varint(150))]);
        assert_eq!(fields(b"\x12\x07testing").unwrap(), [(2, Value::Bytes(2, 9))]);
        // -2 as int64 has ten bytes.
        let minus_two = fields(b"\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01").unwrap();
        assert_eq!(minus_two, [(1, Value::Varint(-2i64 as u64))]);
        let both = fields(b"\x09\0\0\0\0\0\0\xf0\x3f\x15\x01\0\0\0").unwrap();
        assert_eq!(both, [(1, Value::Fixed64(1f64.to_bits())), (2, Value::Fixed32(1))]);
    }

    #[test]
    fn what_is_cut_or_unknown_is_malformed() {
        let endless = [&b"\x08"[..], &[0xff; 11]].concat();
        let huge = b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
        let cases: [&[u8]; 8] =
            [b"\x08", b"\x09\0\0", b"\x12\x02a", b"\x15\0", b"\x0b", b"\0\0", &endless, huge];
        for case in cases {
            assert!(fields(case).is_err(), "{case:x?}");
        }
    }
}
