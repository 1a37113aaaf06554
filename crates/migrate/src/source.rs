//! Sources: a file or standard input, plain or gzipped, read line by line.

use crate::error::Error;
use flate2::read::MultiGzDecoder;
use std::cell::Cell;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::rc::Rc;

/// Bytes read at once.
const READ_BYTES: usize = 256 << 10;

/// The first bytes of a gzip member (RFC 1952, 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The first bytes of a Parquet file, and of the header of a page behind them: a measurement may be
/// called `PAR1`.
const PARQUET_MAGIC: &[u8] = b"PAR1\x15";

/// A line longer than this is no line of any format read here.
const LINE_BYTES_MAX: u64 = 64 << 20;

/// What is imported from.
pub struct Source<'a> {
    reader: Box<dyn BufRead + 'a>,
    name: String,
    bytes_read: Rc<Cell<u64>>,
    bytes_total: Option<u64>,
    line: u64,
}

impl fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("name", &self.name).field("line", &self.line).finish()
    }
}

impl<'a> Source<'a> {
    /// Opens a file; `-` is standard input. Whether it is gzipped is told by its first bytes.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(path: &Path) -> Result<Self, Error> {
        if path == Path::new("-") {
            return Self::new(io::stdin(), "standard input", None);
        }
        let name = path.display().to_string();
        let file = File::open(path).map_err(Error::io(format!("open {name}")))?;
        let bytes_total = file.metadata().ok().map(|meta| meta.len()).filter(|&bytes| bytes > 0);
        Self::new(file, &name, bytes_total)
    }

    /// Reads from `from`, called `name` in messages.
    ///
    /// # Errors
    /// When its first bytes cannot be read.
    pub fn new(from: impl Read + 'a, name: &str, bytes_total: Option<u64>) -> Result<Self, Error> {
        let bytes_read = Rc::new(Cell::new(0));
        let counted = Counted { from, bytes: bytes_read.clone() };
        let mut plain = BufReader::with_capacity(READ_BYTES, counted);
        let first = plain.fill_buf().map_err(Error::io(format!("read {name}")))?;
        if first.starts_with(PARQUET_MAGIC) {
            let instead = "is a Parquet file: `foliot import parquet FILE` reads it";
            return Err(Error::Told(format!("{name} {instead}")));
        }
        let reader: Box<dyn BufRead + 'a> = match first.starts_with(&GZIP_MAGIC) {
            true => Box::new(BufReader::with_capacity(READ_BYTES, MultiGzDecoder::new(plain))),
            false => Box::new(plain),
        };
        Ok(Self { reader, name: name.to_owned(), bytes_read, bytes_total, line: 0 })
    }

    /// What the source is called in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes read so far, as they lie in the file.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.get()
    }

    /// Bytes of the file, when it is one.
    pub fn bytes_total(&self) -> Option<u64> {
        self.bytes_total
    }

    /// The bytes that come next; none at the end. They come again until they are passed.
    ///
    /// # Errors
    /// When reading fails.
    pub(crate) fn bytes(&mut self) -> Result<&[u8], Error> {
        let reading = || Error::io(format!("read {}", self.name));
        while let Err(error) = self.reader.fill_buf() {
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(reading()(error));
            }
        }
        self.reader.fill_buf().map_err(reading())
    }

    /// Passes over so many of [`Source::bytes`].
    pub(crate) fn pass(&mut self, count: usize) {
        self.reader.consume(count);
    }

    /// Reads the next line into `line`, without its end (`\n` or `\r\n`), and returns its number,
    /// counted from 1; nothing at the end.
    ///
    /// # Errors
    /// When reading fails, or a line is longer than 64 MiB.
    pub fn next_line(&mut self, line: &mut Vec<u8>) -> Result<Option<u64>, Error> {
        line.clear();
        let mut limited = (&mut self.reader).take(LINE_BYTES_MAX);
        let read = limited
            .read_until(b'\n', line)
            .map_err(Error::io(format!("read {} behind line {}", self.name, self.line)))?;
        if read == 0 {
            return Ok(None);
        }
        self.line += 1;
        match line.strip_suffix(b"\n") {
            Some(rest) => {
                let length = rest.strip_suffix(b"\r").unwrap_or(rest).len();
                line.truncate(length);
            }
            None if read as u64 == LINE_BYTES_MAX => {
                let reason = "is longer than 64 MiB; this is no file of lines";
                return Err(Error::Format(format!("line {} of {} {reason}", self.line, self.name)));
            }
            None => {}
        }
        Ok(Some(self.line))
    }
}

/// Counts what passes.
struct Counted<R> {
    from: R,
    bytes: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        self.bytes.set(self.bytes.get() + read as u64);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::{Cursor, Write};

    fn lines(bytes: &[u8]) -> Vec<(u64, String)> {
        let mut source = Source::new(Cursor::new(bytes.to_vec()), "test", None).unwrap();
        let (mut out, mut line) = (Vec::new(), Vec::new());
        while let Some(number) = source.next_line(&mut line).unwrap() {
            out.push((number, String::from_utf8(line.clone()).unwrap()));
        }
        out
    }

    #[test]
    fn lines_come_with_their_numbers_zipped_or_not() {
        let text = b"a\r\n\nb c\nlast";
        let expected = [
            (1, "a".to_owned()),
            (2, String::new()),
            (3, "b c".to_owned()),
            (4, "last".to_owned()),
        ];
        assert_eq!(lines(text), expected);
        let mut zipped = GzEncoder::new(Vec::new(), Compression::fast());
        zipped.write_all(&text[..4]).unwrap();
        let mut zipped = zipped.finish().unwrap();
        let mut more = GzEncoder::new(Vec::new(), Compression::fast());
        more.write_all(&text[4..]).unwrap();
        zipped.extend(more.finish().unwrap());
        assert_eq!(lines(&zipped), expected, "two members, as appended files have");
    }
}
