//! Sessions: lines that arrive on a raw TCP connection, in pieces of any size.

use crate::decode::{Decoded, Settings};
use crate::precision::Precision;
use foliot_model::Reject;
use memchr::memchr;

/// The unfinished end of one connection's stream.
///
/// ```
/// # use foliot_model::{Batch, KeySecret};
/// # use foliot_proto_influx::{Decoder, LINE_SYNTAX, Precision, Session};
/// let (mut session, mut decoder) = (Session::new(65_536), Decoder::default());
/// let mut rejects = Vec::new();
/// for piece in ["cpu usage=1 1000\ncpu us", "age=2 2000\n"] {
///     session.push(piece.as_bytes());
///     let settings = session.settings(Precision::Nanosecond, 0);
///     let mut batch =
///         Batch::new(session.bytes(), 0, &LINE_SYNTAX, KeySecret(1), Default::default());
///     let decoded = decoder.decode(&mut batch, settings, &mut rejects);
///     assert_eq!(batch.rows().len(), 1);
///     session.advance(decoded, &mut rejects);
/// }
/// ```
#[derive(Debug)]
pub struct Session {
    bytes: Vec<u8>,
    line: u32,
    line_bytes_max: usize,
    is_skipping: bool,
}

impl Session {
    /// A session that refuses lines longer than `line_bytes_max`.
    pub fn new(line_bytes_max: usize) -> Self {
        Self { bytes: Vec::new(), line: 1, line_bytes_max, is_skipping: false }
    }

    /// Adds what was received.
    pub fn push(&mut self, mut received: &[u8]) {
        if self.is_skipping {
            let Some(newline) = memchr(b'\n', received) else { return };
            received = received.get(newline + 1..).unwrap_or_default();
            self.is_skipping = false;
            self.line = self.line.saturating_add(1);
        }
        self.bytes.extend_from_slice(received);
    }

    /// Says that nothing more will come. A line counts when its newline has come: what is left may
    /// be the half of a number, and is refused.
    pub fn finish(&mut self) -> Option<Reject> {
        // As in a body, what is no blank begins a line, and a carriage return may stand at its end.
        let blanks = self.bytes.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | 0)).count();
        let is_rest = !matches!(self.bytes.get(blanks..), Some(b"" | b"\r"));
        self.bytes.clear();
        is_rest.then(|| Reject {
            line: self.line,
            field: "line".into(),
            reason: "the stream ended before the line did: it is not stored".to_owned(),
        })
    }

    /// What has not been read yet, to make a batch of.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How to decode [`Session::bytes`].
    pub fn settings(&self, precision: Precision, now_ns: i64) -> Settings {
        Settings { precision, now_ns, first_line: self.line, is_partial: true }
    }

    /// Drops everything that was not read.
    pub fn discard(&mut self) {
        self.bytes.clear();
    }

    /// Drops what was read. A line that has grown too long without an end is refused; what follows
    /// its next newline is read again, so that a stray quote does not cost the whole stream.
    pub fn advance(&mut self, decoded: Decoded, rejects: &mut Vec<Reject>) {
        self.bytes.drain(..decoded.bytes.min(self.bytes.len()));
        self.line = decoded.next_line;
        if self.bytes.len() <= self.line_bytes_max {
            return;
        }
        let reason = format!(
            "line is longer than {} bytes: end it, or raise limits.line_bytes",
            self.line_bytes_max
        );
        rejects.push(Reject { line: self.line, field: "line".into(), reason });
        match memchr(b'\n', &self.bytes) {
            Some(newline) => {
                self.bytes.drain(..=newline);
                self.line = self.line.saturating_add(1);
            }
            None => {
                self.bytes.clear();
                self.is_skipping = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Decoder, LINE_SYNTAX};
    use foliot_model::{Batch, KeySecret};

    /// Lines and times of rows, and lines and reasons of rejects.
    type Fed = (Vec<(u32, i64)>, Vec<(u32, String)>);

    /// Feeds `text` in pieces of `size` bytes.
    fn feed(text: &[u8], size: usize, limit: usize) -> Fed {
        let (mut session, mut decoder) = (Session::new(limit), Decoder::default());
        let (mut rows, mut rejects) = (Vec::new(), Vec::new());
        for piece in text.chunks(size) {
            session.push(piece);
            let settings = session.settings(Precision::Nanosecond, 7);
            let mut batch =
                Batch::new(session.bytes(), 0, &LINE_SYNTAX, KeySecret(1), Default::default());
            let decoded = decoder.decode(&mut batch, settings, &mut rejects);
            rows.extend(batch.rows().iter().map(|row| (row.line, row.time_ns)));
            session.advance(decoded, &mut rejects);
        }
        rejects.extend(session.finish());
        (rows, rejects.into_iter().map(|reject| (reject.line, reject.reason)).collect())
    }

    #[test]
    fn pieces_of_any_size_give_the_same_rows() {
        let text = b"m v=1 1\n\n# x\nm,t=a s=\"two\nlines, \\\"quoted\\\"\" 2\r\nm bad 3\n\
            m v=4 4\nm v=5 5\nm v=6";
        let rows = vec![(1, 1), (4, 2), (7, 4), (8, 5)];
        // The last line may go on: with `.5 6`, or another field.
        let unended = "the stream ended before the line did: it is not stored".to_owned();
        let rejects = vec![(6, "invalid field format".to_owned()), (9, unended)];
        for size in 1..=text.len() {
            assert_eq!(feed(text, size, 1000), (rows.clone(), rejects.clone()), "{size}");
        }
    }

    #[test]
    fn only_blanks_and_one_carriage_return_are_no_line() {
        for (rest, told) in [("", 0), (" \t\0", 0), ("\r", 0), (" \r", 0), ("\r\r", 1), ("\r ", 1)]
        {
            assert_eq!(feed(rest.as_bytes(), 10, 100).1.len(), told, "{rest:?}");
        }
    }

    #[test]
    fn endless_lines_are_refused_and_the_stream_goes_on() {
        let text = [b"m v=1 1\n".to_vec(), vec![b'x'; 300], b"\nm v=2 2\n".to_vec()].concat();
        let (rows, rejects) = feed(&text, 16, 100);
        assert_eq!(rows, [(1, 1), (3, 2)]);
        assert_eq!(rejects.len(), 1);
        assert_eq!(rejects[0].0, 2);
        assert!(rejects[0].1.contains("limits.line_bytes"), "{}", rejects[0].1);
    }

    #[test]
    fn a_stray_quote_costs_one_line() {
        let mut text = b"m v=1 1\nm s=\"open 2\n".to_vec();
        for time in 3..=40 {
            text.extend_from_slice(format!("m v=1 {time}\n").as_bytes());
        }
        let (rows, rejects) = feed(&text, 10, 100);
        assert_eq!(rows.iter().map(|row| row.1).collect::<Vec<_>>().last(), Some(&40));
        assert_eq!((rows.len(), rejects.len()), (39, 1));
    }
}
