//! The rows of a text, one after the other. One row is held, up to a bound.

use crate::error::Error;
use crate::source::Source;
use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use memchr::memchr_iter;
use std::fmt;

/// Columns that a file may have, as many as a row of samples has fields.
const COLUMNS_MAX: usize = 16_384;

/// Room for the first row; more is made where one needs it.
const FIRST_BYTES: u64 = 4 << 10;

/// Bytes at the beginning of a text that are looked at before it is divided.
const HEAD_BYTES: usize = 16;

/// The rows of a text.
pub(super) struct Rows {
    input: Input,
    parser: Reader,
    bytes_max: u64,
    /// The number of the line that comes next, from 1 on.
    line: u64,
    /// Whether the row before ended in a carriage return, to which a line feed may belong.
    is_behind_return: bool,
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").field("line", &self.line).finish_non_exhaustive()
    }
}

/// A row, as its cells.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    /// The line that it begins in.
    pub(super) line: u64,
    /// Whether an empty line stands before it.
    pub(super) is_apart: bool,
    /// Why it cannot be read, if so.
    pub(super) fault: Option<String>,
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Row {
    /// How many cells it has.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// What stands in a cell.
    pub(super) fn cell(&self, at: usize) -> Option<&[u8]> {
        let end = *self.ends.get(at)?;
        let start = at.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.text.get(start..end)
    }

    /// What stands in all cells.
    pub(super) fn cells(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|at| self.cell(at).unwrap_or_default())
    }

    /// Bytes of its cells.
    pub(super) fn bytes(&self) -> usize {
        self.text.len()
    }

    fn is_blank(&self) -> bool {
        self.len() < 2 && self.fault.is_none() && self.text.trim_ascii().is_empty()
    }
}

/// A source, whose first bytes are held.
struct Input {
    source: Source<'static>,
    head: Vec<u8>,
    passed: usize,
}

impl Input {
    fn open(mut source: Source<'static>) -> Result<Self, Error> {
        let mut head = Vec::new();
        while head.len() < HEAD_BYTES {
            let bytes = source.bytes()?;
            if bytes.is_empty() {
                break;
            }
            let count = bytes.len().min(HEAD_BYTES - head.len());
            head.extend(bytes.iter().take(count));
            source.pass(count);
        }
        Ok(Self { source, head, passed: 0 })
    }

    fn bytes(&mut self) -> Result<&[u8], Error> {
        match self.head.get(self.passed..) {
            Some(rest) if !rest.is_empty() => Ok(rest),
            _ => self.source.bytes(),
        }
    }

    fn pass(&mut self, count: usize) {
        match self.passed < self.head.len() {
            true => self.passed += count,
            false => self.source.pass(count),
        }
    }
}

impl Rows {
    /// Begins to read. A first line `sep=;` says what divides cells, if that is not told.
    ///
    /// # Errors
    /// When the text cannot be read, or is no UTF-8.
    pub(super) fn open(
        source: Source<'static>,
        separator: Option<u8>,
        bytes_max: u64,
    ) -> Result<Self, Error> {
        let mut input = Input::open(source)?;
        if is_utf16(&input.head) {
            return Err(Error::Format(
                "it is UTF-16: convert it, as by `iconv -f UTF-16 -t UTF-8 FILE`, and bring in \
                 what that writes"
                    .to_owned(),
            ));
        }
        input.passed += if input.head.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let (mut line, mut said) = (1, None);
        if let Some((mark, length)) = mark_said(input.bytes()?) {
            (line, said) = (2, Some(mark));
            input.passed += length;
        }
        let mark = separator.or(said).unwrap_or(b',');
        Ok(Self {
            input,
            parser: ReaderBuilder::new().delimiter(mark).build(),
            bytes_max,
            line,
            is_behind_return: false,
            text: vec![0; FIRST_BYTES.min(bytes_max.max(1)) as usize],
            ends: vec![0; COLUMNS_MAX],
        })
    }

    /// Bytes read so far, and all of them if that is known.
    pub(super) fn progress(&self) -> (u64, Option<u64>) {
        (self.input.source.bytes_read(), self.input.source.bytes_total())
    }

    /// Reads the next row; false at the end. Empty lines are none.
    ///
    /// # Errors
    /// When reading fails.
    pub(super) fn next(&mut self, row: &mut Row) -> Result<bool, Error> {
        let mut is_apart = false;
        loop {
            is_apart |= self.pass_ends()?;
            let is_there = self.read(row)?;
            row.is_apart = is_apart;
            if !is_there || !row.is_blank() {
                return Ok(is_there);
            }
            is_apart = true;
        }
    }

    /// Passes over ends of lines, and says whether one of them ended an empty line.
    fn pass_ends(&mut self) -> Result<bool, Error> {
        let mut is_apart = false;
        loop {
            match self.input.bytes()?.first() {
                Some(b'\n') if self.is_behind_return => self.is_behind_return = false,
                Some(byte @ (b'\n' | b'\r')) => {
                    self.is_behind_return = *byte == b'\r';
                    self.line += 1;
                    is_apart = true;
                }
                _ => return Ok(is_apart),
            }
            self.input.pass(1);
        }
    }

    /// Reads a row that begins here.
    fn read(&mut self, row: &mut Row) -> Result<bool, Error> {
        (row.line, row.fault) = (self.line, None);
        let (mut text_len, mut ends_len, mut is_begun) = (0, 0, false);
        loop {
            let bytes = self.input.bytes()?;
            let is_end = bytes.is_empty();
            if is_end && !is_begun {
                return Ok(false);
            }
            // The end of the text ends a line, unless a quote is open.
            let bytes = if is_end { b"\n" } else { bytes };
            let text = self.text.get_mut(text_len..).unwrap_or_default();
            let ends = self.ends.get_mut(ends_len..).unwrap_or_default();
            let (result, read, written, ended) = self.parser.read_record(bytes, text, ends);
            let passed = bytes.get(..read).unwrap_or_default();
            let feeds = memchr_iter(b'\n', passed).count() as u64;
            self.is_behind_return = passed.last() == Some(&b'\r');
            let is_line = matches!(result, ReadRecordResult::Record) && self.is_behind_return;
            if !is_end {
                self.line += feeds + u64::from(is_line);
                is_begun |= read > 0;
                self.input.pass(read);
            }
            (text_len, ends_len) = (text_len + written, ends_len + ended);
            match result {
                ReadRecordResult::InputEmpty if is_end => {
                    let why = "opens a quote that nothing closes: a cell that holds a quote is \
                               written in quotes, and its own quotes twice";
                    row.fault.get_or_insert_with(|| why.to_owned());
                    // What follows is the end, once more.
                    self.parser.reset();
                    break;
                }
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull if self.text.len() as u64 >= self.bytes_max => {
                    row.fault.get_or_insert_with(|| too_long(self.bytes_max));
                    text_len = 0;
                }
                ReadRecordResult::OutputFull => {
                    let room = (self.text.len() as u64 * 2).min(self.bytes_max) as usize;
                    self.text.resize(room, 0);
                }
                ReadRecordResult::OutputEndsFull => {
                    let why = format!("has more than {COLUMNS_MAX} cells");
                    row.fault.get_or_insert(why);
                    ends_len = 0;
                }
                ReadRecordResult::Record | ReadRecordResult::End => break,
            }
        }
        row.text.clear();
        row.ends.clear();
        if row.fault.is_none() {
            row.text.extend_from_slice(self.text.get(..text_len).unwrap_or_default());
            row.ends.extend_from_slice(self.ends.get(..ends_len).unwrap_or_default());
        }
        Ok(true)
    }
}

fn too_long(bytes_max: u64) -> String {
    format!(
        "is a row of more than {bytes_max} bytes (limits.csv_row_bytes): --set \
         limits.csv_row_bytes=… takes longer ones, if no quote lacks its end"
    )
}

/// Whether a text is UTF-16, with a mark or without: its first sign is one that UTF-8 has a byte
/// for, and the other byte of it is zero.
fn is_utf16(head: &[u8]) -> bool {
    matches!(head, [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, 1..=255, ..] | [1..=255, 0, ..])
}

/// What the first line says that divides cells, and its length, if it says so.
fn mark_said(head: &[u8]) -> Option<(u8, usize)> {
    let line = head.get(..head.iter().position(|byte| *byte == b'\n')?)?;
    let said = line.strip_suffix(b"\r").unwrap_or(line);
    let said = said.strip_prefix(b"\"").unwrap_or(said);
    let (name, mark) = said.split_at_checked(4)?;
    let mark = match mark {
        [mark] | [mark, b'"'] if name.eq_ignore_ascii_case(b"sep=") => *mark,
        _ => return None,
    };
    (is_mark(mark)).then_some((mark, line.len() + 1))
}

/// Whether a byte may divide cells.
pub fn is_mark(byte: u8) -> bool {
    byte == b'\t' || (byte.is_ascii_punctuation() && byte != b'"') || byte == b' '
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::{Cursor, Read};

    fn rows(from: impl Read + 'static, bytes_max: u64) -> Vec<(u64, bool, Vec<String>)> {
        let source = Source::new(from, "test", None).unwrap();
        let mut rows = Rows::open(source, None, bytes_max).unwrap();
        let (mut all, mut row) = (Vec::new(), Row::default());
        while rows.next(&mut row).unwrap() {
            assert_eq!(row.fault, None);
            let cells = row.cells().map(|cell| String::from_utf8(cell.to_vec()).unwrap());
            all.push((row.line, row.is_apart, cells.collect()));
        }
        all
    }

    /// A byte at a time, as a slow pipe may give them.
    struct Slow(Cursor<Vec<u8>>);

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            match buffer.get_mut(..1) {
                Some(one) => self.0.read(one),
                None => Ok(0),
            }
        }
    }

    proptest! {
        #[test]
        fn rows_are_what_was_written_in_the_lines_where_it_stands(
            all in prop::collection::vec(
                (
                    prop::collection::vec("[ab\",;\r\n ]{0,4}", 2..5),
                    any::<bool>(),
                    prop::sample::select(vec!["\n", "\r\n"]),
                    0..3_usize,
                ),
                1..8,
            ),
            bytes_max in 64..5_000_u64,
        ) {
            let (mut text, mut expected, mut line) = (String::new(), Vec::new(), 1);
            for (cells, is_quoted, end, empty) in all {
                text += &end.repeat(empty);
                line += empty as u64;
                let begin = text.len();
                expected.push((line, empty > 0, cells.clone()));
                let cell = |cell: &String| match is_quoted || cell.contains(['"', ',', '\r', '\n']) {
                    true => format!("\"{}\"", cell.replace('"', "\"\"")),
                    false => cell.clone(),
                };
                text += &cells.iter().map(cell).collect::<Vec<_>>().join(",");
                text += end;
                line += text[begin..].matches('\n').count() as u64;
            }
            prop_assert_eq!(&rows(Cursor::new(text.clone().into_bytes()), bytes_max), &expected);
            prop_assert_eq!(&rows(Slow(Cursor::new(text.into_bytes())), bytes_max), &expected);
        }
    }

    #[test]
    fn lines_that_end_in_returns_alone_are_counted() {
        let all = rows(Cursor::new(b"a,b\r\rc,d\re,f".to_vec()), 100);
        let found: Vec<(u64, bool)> = all.iter().map(|(line, apart, _)| (*line, *apart)).collect();
        assert_eq!(found, [(1, false), (3, true), (4, false)]);
    }
}
