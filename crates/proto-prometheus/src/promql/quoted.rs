//! Strings in quotes, with the escapes of Go.

use super::reader::{ParseError, Reader};

impl Reader<'_> {
    /// A string in double quotes, single quotes or backticks.
    pub(crate) fn quoted(&mut self, context: &str, expected: &str) -> Result<String, ParseError> {
        let quote = match self.peek() {
            Some(quote @ ('"' | '\'' | '`')) => quote,
            _ => return Err(self.unexpected(context, expected)),
        };
        let start = self.at;
        self.at += quote.len_utf8();
        let mut out = Vec::new();
        while let Some(c) = self.peek() {
            self.at += c.len_utf8();
            match c {
                _ if c == quote => {
                    return String::from_utf8(out).map_err(|_| self.error("invalid UTF-8 string"));
                }
                '\\' if quote != '`' => self.escape(quote, &mut out)?,
                '\n' if quote != '`' => break,
                _ => push(c, &mut out),
            }
        }
        self.at = start;
        Err(self.error("unterminated quoted string"))
    }

    /// What stands behind a backslash.
    fn escape(&mut self, quote: char, out: &mut Vec<u8>) -> Result<(), ParseError> {
        let Some(c) = self.peek() else { return Err(self.error("escape sequence not terminated")) };
        // Octal numbers begin with their first digit, others with a letter.
        if !c.is_digit(8) {
            self.at += c.len_utf8();
        }
        let byte = match c {
            'a' => 7,
            'b' => 8,
            'f' => 12,
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'v' => 11,
            '\\' => b'\\',
            _ if c == quote => quote as u8,
            'x' => self.code(2, 16)? as u8,
            '0'..='7' => {
                let number = self.code(3, 8)?;
                u8::try_from(number).map_err(|_| self.error("octal escape value > 255"))?
            }
            'u' | 'U' => {
                let number = self.code(if c == 'u' { 4 } else { 8 }, 16)?;
                let reason = "escape sequence is an invalid Unicode code point";
                push(char::from_u32(number).ok_or_else(|| self.error(reason))?, out);
                return Ok(());
            }
            _ => return Err(self.error(format!("unknown escape sequence {c:?}"))),
        };
        out.push(byte);
        Ok(())
    }

    fn code(&mut self, digits: usize, radix: u32) -> Result<u32, ParseError> {
        let text = self.rest().get(..digits).unwrap_or_default();
        let is_number = !text.is_empty() && text.chars().all(|c| c.is_digit(radix));
        let number = u32::from_str_radix(text, radix).ok().filter(|_| is_number);
        let number = number.ok_or_else(|| self.error("illegal character in escape sequence"))?;
        self.at += digits;
        Ok(number)
    }
}

fn push(c: char, out: &mut Vec<u8>) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}
