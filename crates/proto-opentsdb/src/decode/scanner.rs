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
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) is_escaped: bool,
}

/// A value of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Text(Text),
    /// A number or `true`, `false`, `NaN`, …: from its first byte to before its end.
    Bare(usize, usize),
    Null,
}

/// A position in a JSON text, which must be valid UTF-8.
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
            if !matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
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

    /// The bytes of a range.
    pub(crate) fn slice(&self, start: usize, end: usize) -> &'a [u8] {
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// Passes a string.
    #[inline]
    pub(crate) fn text(&mut self) -> Result<Text, Malformed> {
        self.expect(b'"')?;
        let start = self.at;
        let mut is_escaped = false;
        loop {
            let byte = *self.bytes.get(self.at).ok_or(Malformed)?;
            self.at += 1;
            match byte {
                b'"' => return Ok(Text { start, end: self.at - 1, is_escaped }),
                b'\\' => {
                    is_escaped = true;
                    self.at += 1;
                }
                0..=0x1f => return Err(Malformed),
                _ => {}
            }
        }
    }

    /// The plain bytes of a string; fails when an escape in it is wrong.
    pub(crate) fn plain(&self, text: Text) -> Result<Cow<'a, [u8]>, Malformed> {
        let raw = self.slice(text.start, text.end);
        if !text.is_escaped {
            return Ok(Cow::Borrowed(raw));
        }
        let quoted = self.slice(text.start - 1, text.end + 1);
        let plain: String = serde_json::from_slice(quoted).map_err(|_| Malformed)?;
        Ok(Cow::Owned(plain.into_bytes()))
    }

    /// Passes a string, number or literal; arrays and objects are malformed here.
    #[inline]
    pub(crate) fn scalar(&mut self) -> Result<Scalar, Malformed> {
        if self.peek() == Some(b'"') {
            return self.text().map(Scalar::Text);
        }
        let start = self.at;
        let rest = self.bytes.get(start..).unwrap_or_default();
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let end = start + rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        self.at = end;
        match self.slice(start, end) {
            b"null" => Ok(Scalar::Null),
            b"true" | b"false" | b"NaN" | b"Infinity" | b"-Infinity" => {
                Ok(Scalar::Bare(start, end))
            }
            number if is_number(number) => Ok(Scalar::Bare(start, end)),
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
                self.plain(name)?;
                self.expect(b':')?;
                self.skip_within(depth)?;
                if !self.next_or_close(b'}')? {
                    return Ok(());
                }
            }
        }
        match self.scalar()? {
            Scalar::Text(text) => self.plain(text).map(|_| ()),
            _ => Ok(()),
        }
    }
}

/// Whether the text is a number by RFC 8259.
#[inline]
fn is_number(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut rest = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(rest);
    if whole == 0 || (whole > 1 && rest.first() == Some(&b'0')) {
        return false;
    }
    rest = rest.get(whole..).unwrap_or_default();
    if let Some(fraction) = rest.strip_prefix(b".") {
        let length = digits(fraction);
        if length == 0 {
            return false;
        }
        rest = fraction.get(length..).unwrap_or_default();
    }
    if let Some((b'e' | b'E', exponent)) = rest.split_first() {
        let exponent = match exponent.split_first() {
            Some((b'+' | b'-', digits)) => digits,
            _ => exponent,
        };
        let length = digits(exponent);
        return length > 0 && length == exponent.len();
    }
    rest.is_empty()
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

    proptest! {
        #[test]
        fn walking_equals_the_standard_parser(text in r#"([\[\]{}:, ]|"[a-z\\"u0-9]{0,5}"|-?[0-9.eE]{1,5}|true|null){1,8}"#) {
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
