//! The cursor: takes the pieces of a line one by one.

use super::number::{digits, is_value_end, number};
use super::shapes::slice;
use super::{STRING_BYTES_MAX, Settings};
use crate::fault::Fault;
use crate::key::{EXACT_LINE_SYNTAX, unescape, unletter};
use foliot_model::{Batch, Cell, Kind, Span};
use memchr::{memchr, memchr_iter, memchr2};

/// Whether the lines are of Foliot's own spelling.
fn is_exact(batch: &Batch<'_>) -> bool {
    batch.syntax().id == EXACT_LINE_SYNTAX.id
}

/// Where in the request reading stands.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    /// The request, up to where it may be read.
    pub(super) bytes: &'a [u8],
    /// Position of the next byte.
    pub(super) at: usize,
    /// Number of the line at hand, counted from 1.
    pub(super) line: u32,
    /// Name of the field at hand, or of the last one.
    pub(super) field: Span,
    /// Newlines inside the line at hand: in strings, or behind a backslash in the key.
    pub(super) newlines_inside: u32,
    /// Where the timestamp stood that was read last, and the time that it is: lines that come
    /// together often have one.
    last_time: (Span, i64),
}

impl<'a> Cursor<'a> {
    /// A cursor at the beginning of `bytes`, in line `line`.
    pub(super) fn new(bytes: &'a [u8], line: u32) -> Self {
        Self {
            bytes,
            at: 0,
            line,
            field: Span::default(),
            newlines_inside: 0,
            last_time: (Span::default(), 0),
        }
    }

    /// Moves behind the line from `start` to `end`, which could not be read.
    pub(super) fn skip_to_line_behind(&mut self, start: usize, end: usize) {
        let text = self.bytes.get(start..end).unwrap_or_default();
        self.newlines_inside = memchr_iter(b'\n', text).count() as u32;
        self.at = self.bytes.len().min(end + 1);
    }

    /// Moves to the first byte of the next line that is neither blank nor a comment; false at the
    /// end.
    #[inline]
    pub(super) fn skip_to_row(&mut self) -> bool {
        loop {
            self.skip_blanks();
            match self.bytes.get(self.at) {
                None => return false,
                Some(b'\n') => self.at += 1,
                Some(b'\r') if self.is_line_end(self.at) => self.skip_line(),
                Some(b'#') => self.skip_line(),
                Some(_) => return true,
            }
            self.line += 1;
        }
    }

    /// Moves behind the next newline.
    fn skip_line(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at += memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
    }

    /// Moves over spaces, tabs and NULs, which InfluxDB takes for blanks between the parts of a
    /// line.
    #[inline]
    pub(super) fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t' | 0) = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    /// Whether the line ends at `at`.
    #[inline]
    fn is_line_end(&self, at: usize) -> bool {
        match self.bytes.get(at) {
            None | Some(b'\n') => true,
            Some(b'\r') => matches!(self.bytes.get(at + 1), None | Some(b'\n')),
            Some(_) => false,
        }
    }

    /// The key: everything before the first space that has no backslash before it.
    #[inline]
    pub(super) fn key(&mut self) -> Result<Span, Fault> {
        let start = self.at;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let Some(found) = memchr2(b' ', b'\n', rest) else {
                return Err(Fault::MissingFields);
            };
            let at = self.at + found;
            self.at = at + 1;
            let before = self.bytes.get(start..at).unwrap_or_default();
            match self.bytes.get(at) {
                Some(b' ') if before.last() != Some(&b'\\') => return Ok(Span::new(start, at)),
                Some(b' ') => {}
                // A newline goes on with the key behind an odd number of backslashes.
                _ if before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1 => {
                    self.newlines_inside += 1;
                }
                _ => return Err(Fault::MissingFields),
            }
        }
    }

    /// A field's name, which stands before the next `=`; the cursor stays on its first byte.
    #[cold]
    pub(super) fn field_name(&self) -> Result<Span, Fault> {
        let mut end = self.at;
        loop {
            match self.bytes.get(end) {
                Some(b'=') if end == self.at => return Err(Fault::MissingFieldKey),
                Some(b'=') => return Ok(Span::new(self.at, end)),
                Some(b'\\') => end += 2,
                None | Some(b' ' | b',' | b'\n') => return Err(Fault::InvalidFieldFormat),
                Some(_) => end += 1,
            }
        }
    }

    /// A field's value.
    pub(super) fn value(&mut self, batch: &mut Batch<'_>) -> Result<Cell, Fault> {
        if is_exact(batch)
            && let Some(cell) = self.endless_number()
        {
            return Ok(cell);
        }
        match self.bytes.get(self.at) {
            Some(b'0'..=b'9' | b'-' | b'.' | b'N' | b'n') => {
                let (cell, end) = number(self.bytes, self.at)?;
                self.at = end;
                Ok(cell)
            }
            Some(b'"') => self.string(batch),
            _ if is_value_end(self.bytes, self.at) => Err(Fault::MissingFieldValue),
            _ => self.boolean(),
        }
    }

    /// A number that is not finite, as lines of Foliot's own and its API spell it.
    fn endless_number(&mut self) -> Option<Cell> {
        const SPELLINGS: [(&[u8], f64); 3] =
            [(b"NaN", f64::NAN), (b"Infinity", f64::INFINITY), (b"-Infinity", f64::NEG_INFINITY)];
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let found = SPELLINGS.iter().find(|(text, _)| {
            rest.starts_with(text) && is_value_end(self.bytes, self.at + text.len())
        });
        let (text, value) = found?;
        self.at += text.len();
        Some(Cell::float(*value))
    }

    /// True or false in one of the spellings that InfluxDB knows.
    fn boolean(&mut self) -> Result<Cell, Fault> {
        const SPELLINGS: [(&[u8], bool); 10] = [
            (b"true", true),
            (b"false", false),
            (b"t", true),
            (b"f", false),
            (b"T", true),
            (b"F", false),
            (b"True", true),
            (b"False", false),
            (b"TRUE", true),
            (b"FALSE", false),
        ];
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let found = SPELLINGS.iter().find(|(text, _)| {
            rest.starts_with(text) && is_value_end(self.bytes, self.at + text.len())
        });
        let (text, value) = found.ok_or(Fault::InvalidBoolean)?;
        self.at += text.len();
        Ok(Cell::boolean(*value))
    }

    /// A string; the cursor stands on its opening quote.
    fn string(&mut self, batch: &mut Batch<'_>) -> Result<Cell, Fault> {
        let start = self.at + 1;
        let mut end = start;
        let mut is_escaped = false;
        loop {
            let rest = self.bytes.get(end..).unwrap_or_default();
            let found = memchr2(b'"', b'\\', rest).ok_or(Fault::UnbalancedQuotes)?;
            end += found;
            if rest.get(found) == Some(&b'"') {
                break;
            }
            is_escaped = true;
            end += 2;
        }
        let raw = self.bytes.get(start..end).unwrap_or_default();
        if raw.len() > STRING_BYTES_MAX {
            return Err(Fault::StringTooLong);
        }
        if std::str::from_utf8(raw).is_err() {
            return Err(Fault::StringNotUtf8);
        }
        if !is_value_end(self.bytes, end + 1) {
            return Err(Fault::InvalidFieldFormat);
        }
        self.newlines_inside += memchr_iter(b'\n', raw).count() as u32;
        self.at = end + 1;
        let span = match is_escaped {
            false => Span::new(start, end),
            true if is_exact(batch) => {
                let mut is_known = true;
                let span = batch.push_scratch(|out| is_known = unletter(raw, out));
                is_known.then_some(span).ok_or(Fault::InvalidFieldFormat)?
            }
            true => batch.push_scratch(|out| unescape(raw, b"\"\\", out)),
        };
        Ok(Cell::bytes(Kind::String, span))
    }

    /// The time, and everything up to behind the line's newline.
    #[inline]
    pub(super) fn time(&mut self, settings: &Settings) -> Result<i64, Fault> {
        self.skip_blanks();
        let time_ns = match self.is_line_end(self.at) {
            true => settings.now_ns,
            false => self.timestamp(settings)?,
        };
        while self.bytes.get(self.at) == Some(&b' ') {
            self.at += 1;
        }
        if !self.is_line_end(self.at) {
            return Err(Fault::InvalidPoint);
        }
        let newline = self.at + usize::from(self.bytes.get(self.at) == Some(&b'\r'));
        self.at = self.bytes.len().min(newline + 1);
        Ok(time_ns)
    }

    #[inline]
    fn timestamp(&mut self, settings: &Settings) -> Result<i64, Fault> {
        let (span, time_ns) = self.last_time;
        let end = self.at + span.length as usize;
        if span.length > 0
            && self.bytes.get(self.at..end) == Some(slice(self.bytes, span))
            && self.bytes.get(end) == Some(&b'\n')
        {
            self.at = end;
            return Ok(time_ns);
        }
        let start = self.at;
        let time_ns = self.new_timestamp(settings)?;
        self.last_time = (Span::new(start, self.at), time_ns);
        Ok(time_ns)
    }

    fn new_timestamp(&mut self, settings: &Settings) -> Result<i64, Fault> {
        let is_negative = self.bytes.get(self.at) == Some(&b'-');
        let start = self.at + usize::from(is_negative);
        let (magnitude, end) = digits(self.bytes, start, 0).ok_or(Fault::TimeOutOfRange)?;
        if self.bytes.get(end) != Some(&b' ') && !self.is_line_end(end) {
            return Err(Fault::BadTimestamp);
        }
        if end == start {
            return Err(Fault::TimeSyntax);
        }
        let timestamp = match is_negative {
            true => 0i64.checked_sub_unsigned(magnitude),
            false => i64::try_from(magnitude).ok(),
        };
        let time_ns = timestamp.and_then(|timestamp| settings.precision.time_ns(timestamp));
        self.at = end;
        time_ns.ok_or(Fault::TimeOutOfRange)
    }
}
