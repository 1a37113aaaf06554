//! Pickle: what Graphite's relays say to one another.
//!
//! A message is its length, four bytes with the highest first, and a list that Python pickled:
//! `[(name, (seconds, value)), …]`
//! (<https://graphite.readthedocs.io/en/latest/feeding-carbon.html#the-pickle-protocol>). Pickle is
//! the language of a machine that can do anything; of its words only those are read that make lists
//! and tuples of texts and numbers, of protocols 0 to 5
//! (<https://github.com/python/cpython/blob/main/Lib/pickletools.py>).

use std::collections::HashMap;

/// Bytes of a message behind its length, as in Graphite's daemon.
pub const PICKLE_BYTES_MAX: usize = 1 << 20;

/// Words of a message: a sample takes seven of them and fifteen bytes at least.
const WORDS_MAX: usize = 1 << 19;

/// Samples of a message: Graphite's relays send 500. One that is recalled takes two bytes of the
/// message, and as many in memory as any other.
const SAMPLES_MAX: usize = 10_000;

/// Bytes of a text that is a number, or of the number of something remembered.
pub(super) const DIGITS_MAX: usize = 64;

/// A text, by where it lies in its message.
pub(super) type Place = (usize, usize);

/// What stands on the machine's stack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    None,
    Text(Place),
    Number(f64),
    /// Parts of the arena, from the first on.
    Tuple(usize, usize),
    /// The list: there is one.
    List,
    Mark,
}

/// What a message says.
#[derive(Debug, Default)]
pub(super) struct Unpickled {
    /// The parts of all tuples.
    parts: Vec<Value>,
    /// What is in the list.
    pub(super) list: Vec<Value>,
}

impl Unpickled {
    /// The parts of a tuple; none of anything else.
    pub(super) fn tuple(&self, value: Value) -> &[Value] {
        match value {
            Value::Tuple(start, length) => {
                self.parts.get(start..start + length).unwrap_or_default()
            }
            _ => &[],
        }
    }
}

/// Reads a message.
pub(super) fn unpickle(message: &[u8]) -> Result<Unpickled, String> {
    let mut machine = Machine {
        message,
        at: 0,
        stack: Vec::new(),
        known: HashMap::new(),
        said: Unpickled::default(),
        has_list: false,
    };
    for _ in 0..WORDS_MAX {
        let goes_on = machine.step()?;
        machine.check_room()?;
        if !goes_on {
            return match machine.stack.last() {
                Some(Value::List) => Ok(machine.said),
                _ => Err("the message is no list".to_owned()),
            };
        }
    }
    Err(format!("the message has more than {WORDS_MAX} words"))
}

struct Machine<'a> {
    message: &'a [u8],
    at: usize,
    stack: Vec<Value>,
    /// What is remembered, by number.
    known: HashMap<u64, Value>,
    said: Unpickled,
    has_list: bool,
}

const CUT: &str = "the message ends too early";

impl Machine<'_> {
    /// Carries out a word; false when that was the last one.
    fn step(&mut self) -> Result<bool, String> {
        let [word] = self.bytes::<1>()?;
        match word {
            b'.' => return Ok(false),
            // The version, and frames, which only say how much to read at once.
            0x80 => self.skip(1)?,
            0x95 => self.skip(8)?,
            b'(' => self.stack.push(Value::Mark),
            b']' => self.list()?,
            b'l' => {
                let first = self.marked()?;
                let parts = self.stack.split_off(first);
                self.stack.pop();
                self.list()?;
                self.append(&parts)?;
            }
            b'a' => {
                let value = self.pop()?;
                self.append(&[value])?;
            }
            b'e' => {
                let first = self.marked()?;
                let values = self.stack.split_off(first);
                self.stack.pop();
                self.append(&values)?;
            }
            b')' => self.tuple(0)?,
            0x85..=0x87 => self.tuple(usize::from(word - 0x84))?,
            b't' => {
                let first = self.marked()?;
                self.tuple(self.stack.len() - first)?;
                let made = self.pop()?;
                // The mark.
                self.stack.pop();
                self.stack.push(made);
            }
            _ => self.atom(word)?,
        }
        Ok(true)
    }

    /// Refuses what no message of so many samples needs: a sample has two tuples and a name, all of
    /// which may be remembered.
    fn check_room(&self) -> Result<(), String> {
        const OF_A_SAMPLE: usize = 5;
        let most = OF_A_SAMPLE * SAMPLES_MAX;
        let is_full = self.stack.len() > SAMPLES_MAX + OF_A_SAMPLE
            || self.known.len() > most
            || self.said.parts.len() > most;
        match is_full {
            true => Err(format!("the message has more than {SAMPLES_MAX} samples")),
            false => Ok(()),
        }
    }

    /// Carries out a word that is about one value.
    #[expect(clippy::big_endian_bytes, reason = "pickle's floats are")]
    fn atom(&mut self, word: u8) -> Result<(), String> {
        let value = match word {
            b'N' => Value::None,
            0x88 => Value::Number(1.0),
            0x89 => Value::Number(0.0),
            b'K' => Value::Number(self.bytes::<1>()?[0].into()),
            b'M' => Value::Number(u16::from_le_bytes(self.bytes()?).into()),
            b'J' => Value::Number(i32::from_le_bytes(self.bytes()?).into()),
            0x8a => {
                let [length] = self.bytes::<1>()?;
                self.long(length.into())?
            }
            b'G' => Value::Number(f64::from_be_bytes(self.bytes()?)),
            b'I' | b'L' | b'F' => {
                let digits = self.digits()?;
                let number = digits.strip_suffix('L').unwrap_or(digits).parse();
                Value::Number(number.map_err(|_| format!("{digits:?} is no number"))?)
            }
            // Texts of one, four and eight bytes of length.
            b'U' | 0x8c | b'C' => {
                let [length] = self.bytes::<1>()?;
                self.text(length.into())?
            }
            b'T' | b'X' | b'B' => {
                let length = u32::from_le_bytes(self.bytes()?);
                self.text(length.into())?
            }
            0x8d | 0x8e => {
                let length = u64::from_le_bytes(self.bytes()?);
                self.text(length)?
            }
            b'S' => self.quoted()?,
            b'V' => Value::Text(self.line()?),
            _ => return self.memory(word),
        };
        self.stack.push(value);
        Ok(())
    }

    /// Carries out a word that remembers or recalls.
    fn memory(&mut self, word: u8) -> Result<(), String> {
        let number = match word {
            b'q' | b'h' => self.bytes::<1>()?[0].into(),
            b'r' | b'j' => u32::from_le_bytes(self.bytes()?).into(),
            b'p' | b'g' => {
                let digits = self.digits()?;
                digits.parse().map_err(|_| format!("{digits:?} is no number"))?
            }
            0x94 => self.known.len() as u64,
            _ => {
                return Err(format!(
                    "word {word:#04x} at byte {} is none of a list of tuples of texts and numbers",
                    self.at - 1
                ));
            }
        };
        if matches!(word, b'h' | b'j' | b'g') {
            let known = self.known.get(&number).copied();
            self.stack.push(known.ok_or_else(|| format!("nothing is remembered as {number}"))?);
        } else {
            let top = self.pop()?;
            self.known.insert(number, top);
            self.stack.push(top);
        }
        Ok(())
    }

    fn skip(&mut self, length: usize) -> Result<(), String> {
        self.at += length;
        (self.at <= self.message.len()).then_some(()).ok_or_else(|| CUT.to_owned())
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let rest = self.message.get(self.at..).and_then(<[u8]>::first_chunk);
        self.at += N;
        rest.copied().ok_or_else(|| CUT.to_owned())
    }

    fn text(&mut self, length: u64) -> Result<Value, String> {
        let start = self.at;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let end = start.checked_add(length).filter(|end| *end <= self.message.len());
        self.at = end.ok_or(CUT)?;
        Ok(Value::Text((start, self.at)))
    }

    /// What stands before the next end of a line.
    fn line(&mut self) -> Result<Place, String> {
        let start = self.at;
        let rest = self.message.get(start..).unwrap_or_default();
        let end = start + memchr::memchr(b'\n', rest).ok_or(CUT)?;
        self.at = end + 1;
        match rest.get(..end - start).is_some_and(|line| line.contains(&b'\\')) {
            true => Err("a text has a backslash, which is not read".to_owned()),
            false => Ok((start, end)),
        }
    }

    /// A text in quotes of either kind.
    fn quoted(&mut self) -> Result<Value, String> {
        let (start, end) = self.line()?;
        match self.message.get(start..end) {
            Some([b'\'', .., b'\''] | [b'"', .., b'"']) => Ok(Value::Text((start + 1, end - 1))),
            _ => Err("a text lacks its quotes".to_owned()),
        }
    }

    fn digits(&mut self) -> Result<&str, String> {
        let (start, end) = self.line()?;
        if end - start > DIGITS_MAX {
            return Err(format!("a number has more than {DIGITS_MAX} digits"));
        }
        let text = self.message.get(start..end).unwrap_or_default();
        std::str::from_utf8(text).map_err(|_| "a number is none".to_owned())
    }

    /// A whole number of so many bytes, the lowest first, of which the highest has the sign.
    fn long(&mut self, length: usize) -> Result<Value, String> {
        let bytes = self.message.get(self.at..).and_then(|rest| rest.get(..length)).ok_or(CUT)?;
        if length > 8 {
            return Err(format!("a number has {length} bytes"));
        }
        let is_negative = bytes.last().is_some_and(|byte| *byte >= 0x80);
        let mut whole = [if is_negative { 0xff } else { 0 }; 8];
        whole.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        self.at += length;
        Ok(Value::Number(i64::from_le_bytes(whole) as f64))
    }

    fn pop(&mut self) -> Result<Value, String> {
        let top = self.stack.pop().filter(|top| *top != Value::Mark);
        top.ok_or_else(|| "a word finds nothing on the stack".to_owned())
    }

    /// Where what stands above the last mark begins.
    fn marked(&self) -> Result<usize, String> {
        let mark = self.stack.iter().rposition(|value| *value == Value::Mark);
        mark.map(|mark| mark + 1).ok_or_else(|| "a mark is missing".to_owned())
    }

    fn list(&mut self) -> Result<(), String> {
        if std::mem::replace(&mut self.has_list, true) {
            return Err("the message has more than one list".to_owned());
        }
        self.stack.push(Value::List);
        Ok(())
    }

    fn append(&mut self, values: &[Value]) -> Result<(), String> {
        match self.stack.last() {
            Some(Value::List) if self.said.list.len() + values.len() > SAMPLES_MAX => {
                Err(format!("the message has more than {SAMPLES_MAX} samples"))
            }
            Some(Value::List) => {
                self.said.list.extend_from_slice(values);
                Ok(())
            }
            _ => Err("something is appended to what is no list".to_owned()),
        }
    }

    /// Makes a tuple of what stands on top of the stack.
    fn tuple(&mut self, length: usize) -> Result<(), String> {
        let start = self.said.parts.len();
        let first = self.stack.len().checked_sub(length);
        let values = first.and_then(|first| self.stack.get(first..)).unwrap_or_default();
        if values.len() < length || values.contains(&Value::Mark) {
            return Err("a word finds nothing on the stack".to_owned());
        }
        self.said.parts.extend_from_slice(values);
        self.stack.truncate(self.stack.len() - length);
        self.stack.push(Value::Tuple(start, length));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `print(pickle.dumps([("a.b", (1700000000, 0.5))], protocol=N))` shows, of Python 2.7
    /// for 0 to 2 and of 3.11 for the others.
    #[test]
    fn all_protocols_say_the_same() {
        let messages: [&[u8]; 6] = [
            b"(lp0\n(S'a.b'\np1\n(I1700000000\nF0.5\ntp2\ntp3\na.",
            b"]q\x00(U\x03a.bq\x01(J\x00\xf1\x53eG\x3f\xe0\0\0\0\0\0\0tq\x02tq\x03a.",
            b"\x80\x02]q\x00U\x03a.bq\x01J\x00\xf1\x53eG\x3f\xe0\0\0\0\0\0\0\x86q\x02\x86q\x03a.",
            b"\x80\x03]q\x00X\x03\0\0\0a.bq\x01J\x00\xf1\x53eG\x3f\xe0\0\0\0\0\0\0\x86q\x02\x86q\x03a.",
            b"\x80\x04\x95\x1c\0\0\0\0\0\0\0]\x94\x8c\x03a.b\x94J\x00\xf1\x53eG\x3f\xe0\0\0\0\0\0\0\x86\x94\x86\x94a.",
            b"\x80\x05\x95\x1c\0\0\0\0\0\0\0]\x94\x8c\x03a.b\x94J\x00\xf1\x53eG\x3f\xe0\0\0\0\0\0\0\x86\x94\x86\x94a.",
        ];
        for message in messages {
            let said = unpickle(message).unwrap();
            let [name, point] = said.tuple(said.list[0]) else { panic!("{said:?}") };
            let Value::Text((start, end)) = *name else { panic!("{said:?}") };
            assert_eq!(&message[start..end], b"a.b");
            assert_eq!(said.tuple(*point), [Value::Number(1.7e9), Value::Number(0.5)]);
        }
    }

    #[test]
    fn what_is_remembered_comes_again_and_longs_have_signs() {
        // [(n, (-1, 2)), (n, (-1, 2))] of remembered parts.
        let message = b"]q\x00(U\x01nq\x01\x8a\x01\xffK\x02\x86q\x02\x86h\x01h\x02\x86e.";
        let said = unpickle(message).unwrap();
        assert_eq!(said.list.len(), 2);
        let [one, other] = [0, 1].map(|at| said.tuple(said.list[at])[1]);
        assert_eq!(said.tuple(one), [Value::Number(-1.0), Value::Number(2.0)]);
        assert_eq!(one, other);
        let of = |message: &[u8]| unpickle(message).unwrap().list[0];
        assert_eq!(of(b"]M\x01\x02a."), Value::Number(513.0));
        assert_eq!(of(b"]L123L\na."), Value::Number(123.0));
        assert_eq!(of(b"]\x88a."), Value::Number(1.0));
        assert_eq!(of(b"]\x8a\x00a."), Value::Number(0.0));
        assert_eq!(of(b"]Na."), Value::None);
    }

    #[test]
    fn what_else_a_machine_can_do_it_does_not() {
        for (message, word) in [
            (&b"cos\nsystem\n(S'true'\ntR."[..], "word 0x63 at byte 0"),
            (b"\x80\x02c__builtin__\neval\n", "word 0x63 at byte 2"),
            (b"]K\x01K\x02R.", "word 0x52"),
            (b"}.", "word 0x7d"),
            (b"]]a.", "more than one list"),
            (b"K\x01.", "no list"),
            (b".", "no list"),
            (b"a.", "nothing on the stack"),
            (b"K\x01K\x02a.", "no list"),
            (b"(a.", "nothing on the stack"),
            (b"e.", "a mark is missing"),
            (b"(K\x01\x86.", "nothing on the stack"),
            (b"h\x07.", "nothing is remembered as 7"),
            (b"", CUT),
            (b"]U\xff", CUT),
            (b"]X\xff\xff\xff\xff", CUT),
            (b"]\x8d\xff\xff\xff\xff\xff\xff\xff\xff", CUT),
            (b"]\x8a\xff", CUT),
            (b"]\x8a\x09123456789", "a number has 9 bytes"),
            (b"]Ix\na.", "\"x\" is no number"),
            (&[&b"]I"[..], &[b'1'; 65], b"\na."].concat(), "more than 64 digits"),
            (b"]S'a\\n'\na.", "backslash"),
            (b"]Sa\na.", "quotes"),
            (b"]S'\na.", "quotes"),
            (b"\x95", CUT),
        ] {
            let error = unpickle(message).unwrap_err();
            assert!(error.contains(word), "{message:?}: {error}");
        }
        let many = [&b"]"[..], &b"N0".repeat(WORDS_MAX / 2), b"."].concat();
        assert!(unpickle(&many).is_err());
        let many = [&b"]"[..], &b"Na".repeat(SAMPLES_MAX), b"."].concat();
        assert_eq!(unpickle(&many).unwrap().list.len(), SAMPLES_MAX);
        for many in [
            [&b"]"[..], &b"Na".repeat(SAMPLES_MAX + 1), b"."].concat(),
            [&b"](Nq\x01"[..], &b"h\x01".repeat(SAMPLES_MAX), b"e."].concat(),
            [&b"("[..], &b"N".repeat(SAMPLES_MAX + 1), b"l."].concat(),
            [&b"]("[..], &b"N".repeat(WORDS_MAX / 2)].concat(),
            [&b"]N"[..], &b"\x94".repeat(WORDS_MAX / 2)].concat(),
            [&b"]N"[..], &b"\x85".repeat(WORDS_MAX / 2)].concat(),
        ] {
            assert!(unpickle(&many).unwrap_err().contains("more than 10000 samples"));
        }
    }
}
