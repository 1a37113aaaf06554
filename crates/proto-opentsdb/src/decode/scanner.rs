//! A JSON scanner over one text: tokens as ranges, nothing built, nothing copied.
//!
//! It knows only what points need: strings, scalars, and how to walk over a value that nobody asked
//! for. It takes what RFC 8259 allows and the literals `NaN`, `Infinity` and `-Infinity`, which
//! OpenTSDB's parser lets pass as scalars.

use std::borrow::Cow;

/// The text is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// How deep a value that is walked over may nest.
const DEPTH_MAX: u32 = 128;

/// A string's place between its quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) is_escaped: bool,
}

/// A value of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Text(Text),
    /// A number or `true`, `false`, `NaN`, …: from its first byte to before its end.
    Bare(u32, u32),
    Null,
}

/// A position in a JSON text, which must be valid UTF-8 and smaller than 4 GiB.
#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
}

impl<'a> Scanner<'a> {
    /// The next byte that is not blank.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.bytes.get(self.at)?;
            if byte > b' ' || !matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    /// Passes `byte`, if it is next.
    #[inline]
    pub(crate) fn pass(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    /// Passes `byte`, which must be next.
    #[inline]
    pub(crate) fn expect(&mut self, byte: u8) -> Result<(), Malformed> {
        if self.pass(byte) { Ok(()) } else { Err(Malformed) }
    }

    /// After an element: passes the comma (true) or the closing byte (false).
    #[inline]
    pub(crate) fn next_or_close(&mut self, close: u8) -> Result<bool, Malformed> {
        if self.pass(b',') {
            return Ok(true);
        }
        self.expect(close).map(|()| false)
    }

    /// Passes exactly these bytes, if they are next.
    #[inline]
    pub(crate) fn pass_all(&mut self, bytes: &[u8]) -> bool {
        let is_next = self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(bytes));
        self.at += if is_next { bytes.len() } else { 0 };
        is_next
    }

    /// The same of bytes whose number is known where this is called, which are compared as words.
    #[inline]
    pub(crate) fn pass_name<const N: usize>(&mut self, name: &[u8; N]) -> bool {
        let rest = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk::<N>);
        let is_next = rest == Some(name);
        self.at += if is_next { N } else { 0 };
        is_next
    }

    /// The bytes of a range.
    #[inline]
    pub(crate) fn slice(&self, start: u32, end: u32) -> &'a [u8] {
        self.bytes.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Passes a string.
    #[inline]
    pub(crate) fn text(&mut self) -> Result<Text, Malformed> {
        self.expect(b'"')?;
        let start = self.at as u32;
        let mut is_escaped = false;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            if let Some(&word) = rest.first_chunk::<8>() {
                let special = special_bytes(u64::from_le_bytes(word));
                self.at += (special.trailing_zeros() / 8) as usize;
                if special == 0 {
                    continue;
                }
            }
            let byte = *self.bytes.get(self.at).ok_or(Malformed)?;
            self.at += 1;
            match byte {
                b'"' => return Ok(Text { start, end: self.at as u32 - 1, is_escaped }),
                b'\\' => {
                    is_escaped = true;
                    self.at += 1;
                }
                0..=0x1f => return Err(Malformed),
                _ => {}
            }
        }
    }

    /// Fails when an escape in the string is wrong.
    #[inline]
    pub(crate) fn check(&self, text: Text) -> Result<(), Malformed> {
        if text.is_escaped { self.plain(text).map(|_| ()) } else { Ok(()) }
    }

    /// The plain bytes of a string; fails when an escape in it is wrong.
    #[inline]
    pub(crate) fn plain(&self, text: Text) -> Result<Cow<'a, [u8]>, Malformed> {
        match text.is_escaped {
            false => Ok(Cow::Borrowed(self.slice(text.start, text.end))),
            true => self.unescaped(text).map(Cow::Owned),
        }
    }

    #[cold]
    fn unescaped(&self, text: Text) -> Result<Vec<u8>, Malformed> {
        let quoted = self.slice(text.start - 1, text.end + 1);
        let plain: String = serde_json::from_slice(quoted).map_err(|_| Malformed)?;
        Ok(plain.into_bytes())
    }

    /// Passes a string, number or literal; arrays and objects are malformed here.
    #[inline]
    pub(crate) fn scalar(&mut self) -> Result<Scalar, Malformed> {
        if self.peek() == Some(b'"') {
            return self.text().map(Scalar::Text);
        }
        let start = self.at;
        let rest = self.bytes.get(start..).unwrap_or_default();
        if let Some(length) = number_length(rest) {
            self.at = start + length;
            return Ok(Scalar::Bare(start as u32, self.at as u32));
        }
        self.literal()
    }

    #[cold]
    fn literal(&mut self) -> Result<Scalar, Malformed> {
        let start = self.at as u32;
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = rest.iter().position(|byte| !(byte.is_ascii_alphabetic() || *byte == b'-'));
        self.at += length.unwrap_or(rest.len());
        let end = self.at as u32;
        match self.slice(start, end) {
            b"null" => Ok(Scalar::Null),
            b"true" | b"false" | b"NaN" | b"Infinity" | b"-Infinity" => {
                Ok(Scalar::Bare(start, end))
            }
            _ => Err(Malformed),
        }
    }

    /// Passes any value.
    pub(crate) fn skip(&mut self) -> Result<(), Malformed> {
        self.skip_within(DEPTH_MAX)
    }

    fn skip_within(&mut self, depth: u32) -> Result<(), Malformed> {
        let depth = depth.checked_sub(1).ok_or(Malformed)?;
        if self.pass(b'[') {
            if self.pass(b']') {
                return Ok(());
            }
            loop {
                self.skip_within(depth)?;
                if !self.next_or_close(b']')? {
                    return Ok(());
                }
            }
        }
        if self.pass(b'{') {
            if self.pass(b'}') {
                return Ok(());
            }
            loop {
                let name = self.text()?;
                self.check(name)?;
                self.expect(b':')?;
                self.skip_within(depth)?;
                if !self.next_or_close(b'}')? {
                    return Ok(());
                }
            }
        }
        match self.scalar()? {
            Scalar::Text(text) => self.check(text),
            _ => Ok(()),
        }
    }
}

/// Marks, by their highest bit, the bytes of a word that end or interrupt a string: quotes,
/// backslashes and control characters. Marks behind the first one may be wrong (the borrow trick of
/// H. S. Warren, "Hacker's Delight", 6-1).
#[inline]
const fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let quotes = word ^ (ONES * b'"' as u64);
    let slashes = word ^ (ONES * b'\\' as u64);
    let marks = (quotes.wrapping_sub(ONES) & !quotes)
        | (slashes.wrapping_sub(ONES) & !slashes)
        | (word.wrapping_sub(ONES * 0x20) & !word);
    marks & (ONES * 0x80)
}

/// The length of the number, by RFC 8259, that the text begins with.
#[inline]
fn number_length(text: &[u8]) -> Option<usize> {
    let digits = |from: usize| {
        let rest = text.get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let mut at = usize::from(text.first() == Some(&b'-'));
    let whole = digits(at);
    if whole == 0 || (whole > 1 && text.get(at) == Some(&b'0')) {
        return None;
    }
    at += whole;
    if text.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        if fraction == 0 {
            return None;
        }
        at += 1 + fraction;
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(at + 1 + sign);
        if exponent == 0 {
            return None;
        }
        at += 1 + sign + exponent;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn walks(text: &str) -> bool {
        let mut scanner = Scanner { bytes: text.as_bytes(), at: 0 };
        scanner.skip().is_ok() && scanner.peek().is_none()
    }

    #[test]
    fn literals_of_the_peer_pass() {
        for text in ["NaN", "[Infinity, -Infinity]", "{\"a\":null}", " true "] {
            assert!(walks(text), "{text}");
        }
        for text in ["nan", "+1", "01", "1.", ".5", "1e", "\"\\x\"", "\"\n\"", "[1,]", "{", ""] {
            assert!(!walks(text), "{text}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let deep = |depth| "[".repeat(depth) + &"]".repeat(depth);
        assert!(walks(&deep(100)));
        assert!(!walks(&deep(100_000)));
    }

    /// Tokens in any order, some of them broken.
    const TOKENS: &str =
        concat!(r#"([\[\]{}:, ]|"[a-z\\"u0-9]{0,5}"|"#, r"-?[0-9.eE]{1,5}|true|null){1,8}");

    proptest! {
        #[test]
        fn walking_equals_the_standard_parser(text in TOKENS) {
            let standard = serde_json::from_str::<serde_json::Value>(&text);
            // A number too large for binary64 is still JSON.
            let too_large = |error: &serde_json::Error| error.to_string().contains("out of range");
            match standard {
                Ok(_) => prop_assert!(walks(&text), "{}", text),
                Err(error) if too_large(&error) => {}
                Err(_) => prop_assert!(!walks(&text), "{}", text),
            }
        }
    }
}
