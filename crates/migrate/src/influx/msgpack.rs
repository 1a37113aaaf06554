//! Reads MessagePack as InfluxDB answers in it, item by item, without holding an answer whole.

use crate::error::Error;
use std::io::{ErrorKind, Read};

/// A longer text is no field of any line.
const TEXT_BYTES_MAX: u64 = 16 << 20;

/// The next thing of a stream. Lists and maps are followed by what is in them.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// Nothing.
    Nil,
    /// True or false.
    Boolean(bool),
    /// An integer with a sign.
    Integer(i64),
    /// An integer without a sign, which small ones of any kind are.
    Unsigned(u64),
    /// A float.
    Float(f64),
    /// A text.
    Text(String),
    /// So many items follow.
    List(u64),
    /// So many pairs of items follow.
    Map(u64),
}

/// A stream of items.
pub(super) struct Reader<R> {
    from: R,
    read_bytes: u64,
}

impl<R: Read> Reader<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from, read_bytes: 0 }
    }

    pub(super) fn read_bytes(&self) -> u64 {
        self.read_bytes
    }

    /// The next item; nothing at the end of the stream.
    pub(super) fn next(&mut self) -> Result<Option<Item>, Error> {
        let mut first = [0];
        loop {
            match self.from.read(&mut first) {
                Ok(0) => return Ok(None),
                Ok(_) => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io("read the answer")(error)),
            }
        }
        self.read_bytes += 1;
        let [code] = first;
        // The MessagePack specification's table of formats.
        Ok(Some(match code {
            0x00..=0x7f => Item::Integer(i64::from(code)),
            0xe0..=0xff => Item::Integer(i64::from(code as i8)),
            0x80..=0x8f => Item::Map(u64::from(code & 0x0f)),
            0x90..=0x9f => Item::List(u64::from(code & 0x0f)),
            0xa0..=0xbf => self.text(u64::from(code & 0x1f))?,
            0xc0 => Item::Nil,
            0xc2 | 0xc3 => Item::Boolean(code == 0xc3),
            0xca => Item::Float(f64::from(f32::from_bits(self.number(4)? as u32))),
            0xcb => Item::Float(f64::from_bits(self.number(8)?)),
            0xcc..=0xcf => Item::Unsigned(self.number(1 << (code - 0xcc))?),
            0xd0..=0xd3 => {
                let bytes = 1 << (code - 0xd0);
                // The sign stands in the first bit of so many bytes.
                let unused = 64 - 8 * bytes;
                Item::Integer((self.number(bytes)? << unused) as i64 >> unused)
            }
            0xd9..=0xdb => {
                let bytes = self.number(1 << (code - 0xd9))?;
                self.text(bytes)?
            }
            0xdc => Item::List(self.number(2)?),
            0xdd => Item::List(self.number(4)?),
            0xde => Item::Map(self.number(2)?),
            0xdf => Item::Map(self.number(4)?),
            _ => return Err(Error::Format(format!("byte {code:#x} begins no value of an answer"))),
        }))
    }

    /// The next item, which must be there.
    pub(super) fn item(&mut self) -> Result<Item, Error> {
        self.next()?.ok_or_else(|| Error::Format("the answer ends too early".to_owned()))
    }

    pub(super) fn string(&mut self) -> Result<String, Error> {
        match self.item()? {
            Item::Text(text) => Ok(text),
            other => Err(unexpected(&other, "a text")),
        }
    }

    pub(super) fn list(&mut self) -> Result<u64, Error> {
        match self.item()? {
            Item::List(count) => Ok(count),
            Item::Nil => Ok(0),
            other => Err(unexpected(&other, "a list")),
        }
    }

    pub(super) fn map(&mut self) -> Result<u64, Error> {
        match self.item()? {
            Item::Map(count) => Ok(count),
            Item::Nil => Ok(0),
            other => Err(unexpected(&other, "a map")),
        }
    }

    /// Passes over the next item with all that is in it.
    pub(super) fn skip(&mut self) -> Result<(), Error> {
        let mut left = 1u64;
        while left > 0 {
            left -= 1;
            match self.item()? {
                Item::List(count) => left = left.saturating_add(count),
                Item::Map(count) => left = left.saturating_add(count.saturating_mul(2)),
                _ => {}
            }
        }
        Ok(())
    }

    #[expect(clippy::big_endian_bytes, reason = "MessagePack's numbers are")]
    fn number(&mut self, bytes: usize) -> Result<u64, Error> {
        let mut number = [0; 8];
        if let Some(last) = number.len().checked_sub(bytes).and_then(|at| number.get_mut(at..)) {
            self.from.read_exact(last).map_err(Error::io("read the answer"))?;
            self.read_bytes += bytes as u64;
        }
        Ok(u64::from_be_bytes(number))
    }

    fn text(&mut self, bytes: u64) -> Result<Item, Error> {
        if bytes > TEXT_BYTES_MAX {
            return Err(Error::Format(format!("a text of {bytes} bytes is no part of a line")));
        }
        let mut text = vec![0; bytes as usize];
        self.from.read_exact(&mut text).map_err(Error::io("read the answer"))?;
        self.read_bytes += bytes;
        let bad = |_| Error::Format("a text is not UTF-8".to_owned());
        Ok(Item::Text(String::from_utf8(text).map_err(bad)?))
    }
}

fn unexpected(found: &Item, wanted: &str) -> Error {
    Error::Format(format!("the answer has {found:?} in the place of {wanted}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_read() {
        // Bytes and values by the tables of the MessagePack specification.
        let cases: [(&[u8], Item); 18] = [
            (&[0x05], Item::Integer(5)),
            (&[0xff], Item::Integer(-1)),
            (&[0xc0], Item::Nil),
            (&[0xc2], Item::Boolean(false)),
            (&[0xc3], Item::Boolean(true)),
            (&[0xcc, 200], Item::Unsigned(200)),
            (&[0xcd, 1, 0], Item::Unsigned(256)),
            (&[0xcf, 0xff, 0, 0, 0, 0, 0, 0, 1], Item::Unsigned(0xff00_0000_0000_0001)),
            (&[0xd0, 0x80], Item::Integer(-128)),
            (&[0xd1, 0xff, 0xfe], Item::Integer(-2)),
            (&[0xd3, 0x80, 0, 0, 0, 0, 0, 0, 0], Item::Integer(i64::MIN)),
            (&[0xca, 0x3f, 0x80, 0, 0], Item::Float(1.0)),
            (
                &[0xcb, 0x40, 0x09, 0x21, 0xfb, 0x54, 0x44, 0x2d, 0x18],
                Item::Float(std::f64::consts::PI),
            ),
            (&[0xa2, b'h', b'i'], Item::Text("hi".to_owned())),
            (&[0xd9, 1, b'x'], Item::Text("x".to_owned())),
            (&[0x92], Item::List(2)),
            (&[0xdc, 1, 2], Item::List(258)),
            (&[0xde, 0, 1], Item::Map(1)),
        ];
        for (bytes, item) in cases {
            assert_eq!(Reader::new(bytes).item().unwrap(), item, "{bytes:x?}");
        }
        assert_eq!(Reader::new(&[][..]).next().unwrap(), None);
        assert!(Reader::new(&[0xcd, 1][..]).next().is_err());
        assert!(Reader::new(&[0xc1][..]).next().is_err());
        // [1, {"a": [2, 3]}] is one item.
        let mut nested = Reader::new(&[0x92, 1, 0x81, 0xa1, b'a', 0x92, 2, 3, 7][..]);
        nested.skip().unwrap();
        assert_eq!(nested.item().unwrap(), Item::Integer(7));
    }
}
