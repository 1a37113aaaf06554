//! Graphite's plain text, `name;tag=value value seconds`, and its pickle: lines and messages into
//! batches.
//!
//! The name keeps its dots and becomes the measurement, as VictoriaMetrics has it. A line counts
//! when its end has come, and a message when all of it has: what stands behind is left for the next
//! call.

mod pickle;

pub use pickle::PICKLE_BYTES_MAX;

use crate::samples::pack_labels;
use crate::write::{cell, time_ns};
use foliot_model::{Batch, DEFAULT_FIELD, Reject, Span};
use pickle::{DIGITS_MAX, Place, Unpickled, Value, unpickle};
use std::collections::HashMap;

/// Refusals of one call that are worded; the others are counted.
const WORDED_MAX: usize = 100;

/// Labels of a line that are read: more than any series may have, so that the store refuses it.
const LABELS_MAX: usize = 2000;

/// Bytes of a name that was pickled.
const NAME_BYTES_MAX: usize = 65_535;

/// What was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GraphiteRead {
    /// Bytes of whole lines, or of whole messages.
    pub bytes: usize,
    /// Number of the line, or message, behind the last one read.
    pub next_line: u32,
    /// Lines and samples refused, including those that found no place among the rejects.
    pub refused: usize,
    /// Whether nothing that follows can be read.
    pub is_broken: bool,
}

impl GraphiteRead {
    fn refuse(&mut self, line: u32, (field, reason): Fault, rejects: &mut Vec<Reject>) {
        self.refused += 1;
        if self.refused <= WORDED_MAX {
            rejects.push(Reject { line, field: field.into(), reason });
        }
    }
}

/// What is at fault, and why.
type Fault = (&'static str, String);

/// Decodes the whole lines of the batch's request, numbered from `first_line`; samples without a
/// time are of `now_ms`.
pub fn decode_graphite(
    batch: &mut Batch<'_>,
    first_line: u32,
    now_ms: i64,
    rejects: &mut Vec<Reject>,
) -> GraphiteRead {
    batch.number_lines(first_line);
    let field = batch.push_scratch(|out| out.extend_from_slice(DEFAULT_FIELD.as_bytes()));
    let shape = batch.push_shape(&[field]);
    let text = batch.bytes();
    let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let mut read = GraphiteRead { bytes: end, next_line: first_line, ..GraphiteRead::default() };
    let whole = text.get(..end.saturating_sub(1)).unwrap_or_default();
    let lines = (end > 0).then(|| whole.split(|byte| *byte == b'\n'));
    for line in lines.into_iter().flatten() {
        let number = read.next_line;
        read.next_line = number.saturating_add(1);
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        match read_line(line, now_ms) {
            Ok((key, value, time_ns)) => {
                let key = batch.push_scratch(|out| out.extend_from_slice(&key));
                batch.push_cell(cell(value));
                batch.push_row([Span::default(), key], time_ns, shape, number);
            }
            Err(fault) => read.refuse(number, fault, rejects),
        }
    }
    read
}

/// Decodes the whole messages of pickle in the batch's request, numbered from `first`; samples
/// without a time are of `now_ms`.
#[expect(clippy::big_endian_bytes, reason = "the lengths of messages are")]
pub fn decode_pickle(
    batch: &mut Batch<'_>,
    first: u32,
    now_ms: i64,
    rejects: &mut Vec<Reject>,
) -> GraphiteRead {
    let field = batch.push_scratch(|out| out.extend_from_slice(DEFAULT_FIELD.as_bytes()));
    let shape = batch.push_shape(&[field]);
    let mut rest = batch.bytes();
    let mut read = GraphiteRead { next_line: first, ..GraphiteRead::default() };
    while let Some((length, behind)) = rest.split_first_chunk() {
        let length = u32::from_be_bytes(*length) as usize;
        if length > PICKLE_BYTES_MAX {
            let reason = format!(
                "a message says that it has {length} bytes, where {PICKLE_BYTES_MAX} are the most"
            );
            read.refuse(read.next_line, ("limit", reason), rejects);
            read.is_broken = true;
            break;
        }
        let Some((message, behind)) = behind.split_at_checked(length) else { break };
        let number = read.next_line;
        match unpickle(message) {
            Ok(said) => {
                let mut keys = HashMap::new();
                for value in &said.list {
                    let read_key = |(place, value, time_ns)| {
                        // Names and numbers that are recalled are read once, or are short.
                        let known = keys.entry(place);
                        let key = known.or_insert_with(|| key_of(batch, message, place)).clone()?;
                        Ok((key, value, time_ns))
                    };
                    match read_tuple(&said, message, *value, now_ms).and_then(read_key) {
                        Ok((key, value, time_ns)) => {
                            batch.push_cell(cell(value));
                            batch.push_row([Span::default(), key], time_ns, shape, number);
                        }
                        Err(fault) => read.refuse(number, fault, rejects),
                    }
                }
            }
            Err(reason) => read.refuse(number, ("line", reason), rejects),
        }
        read.next_line = number.saturating_add(1);
        read.bytes += size_of::<u32>() + length;
        rest = behind;
    }
    read
}

/// Name, value and time of a sample that was pickled.
fn read_tuple(
    said: &Unpickled,
    message: &[u8],
    sample: Value,
    now_ms: i64,
) -> Result<(Place, f64, i64), Fault> {
    let shape = || ("line", "a sample is a tuple (name, (seconds, value))".to_owned());
    let [Value::Text(name), point] = said.tuple(sample) else { return Err(shape()) };
    let [seconds, value] = said.tuple(*point) else { return Err(shape()) };
    let number = |value: &Value| match value {
        Value::Number(value) => Some(*value).filter(|value| !value.is_nan()),
        // As in Graphite's daemon.
        Value::Text((start, end)) if end - start > DIGITS_MAX => None,
        Value::Text(place) => text_of(message, *place).and_then(number),
        _ => None,
    };
    let seconds = number(seconds)
        .ok_or_else(|| ("timestamp", "a time is no number of seconds".to_owned()))?;
    let value = number(value).ok_or_else(|| ("value", "a value is no number".to_owned()))?;
    Ok((*name, value, stored_time(seconds, now_ms)?))
}

fn text_of(message: &[u8], (start, end): Place) -> Option<&str> {
    std::str::from_utf8(message.get(start..end)?).ok()
}

/// Spells the series that a text of a message names.
fn key_of(batch: &mut Batch<'_>, message: &[u8], (start, end): Place) -> Result<Span, Fault> {
    if end - start > NAME_BYTES_MAX {
        return Err(("limit", format!("a name has more than {NAME_BYTES_MAX} bytes")));
    }
    let name = text_of(message, (start, end));
    let name = name.ok_or_else(|| ("line", "a name is not valid UTF-8".to_owned()))?;
    let key = packed(name);
    Ok(batch.push_scratch(|out| out.extend_from_slice(&key)))
}

/// Packed labels, value and time of a line.
fn read_line(line: &[u8], now_ms: i64) -> Result<(Vec<u8>, f64, i64), Fault> {
    let line = std::str::from_utf8(line)
        .map_err(|_| ("line", "the line is not valid UTF-8".to_owned()))?;
    let mut words = line.split_ascii_whitespace();
    let series = words.next().unwrap_or_default();
    let value = words.next().ok_or_else(|| ("line", "a line is: name value seconds".to_owned()))?;
    let value = number(value).ok_or_else(|| ("value", format!("{value:?} is no number")))?;
    let seconds = words.next().map_or(Ok(NOW), |word| {
        number(word).ok_or_else(|| ("timestamp", format!("{word:?} is no number of seconds")))
    })?;
    if let Some(word) = words.next() {
        return Err(("line", format!("{word:?} stands behind the time")));
    }
    Ok((packed(series), value, stored_time(seconds, now_ms)?))
}

/// Seconds that mean now.
const NOW: f64 = -1.0;

/// The time that seconds stand for, in nanoseconds.
fn stored_time(seconds: f64, now_ms: i64) -> Result<i64, Fault> {
    let time_ms = match seconds {
        // As Graphite's daemon has it, which cuts the parts of it off.
        _ if seconds.trunc() == NOW => now_ms,
        // No archive of Graphite's reaches there, and VictoriaMetrics' neither.
        _ if seconds < 0.0 => {
            return Err(("timestamp", format!("timestamp {seconds} is before 1970")));
        }
        // What is too large stays so, and is refused below.
        _ => (seconds * 1000.0) as i64,
    };
    time_ns(time_ms)
        .ok_or_else(|| ("timestamp", format!("timestamp {time_ms} ms cannot be stored")))
}

/// The packed labels of a series: `name;tag=value`.
fn packed(series: &str) -> Vec<u8> {
    let mut parts = series.split(';');
    let name = parts.next().unwrap_or_default();
    // A tag without a name or a value says nothing.
    let labels = parts.filter_map(|tag| tag.split_once('='));
    let labels = labels.filter(|(name, value)| !name.is_empty() && !value.is_empty());
    pack_labels([("__name__", name)].into_iter().chain(labels.take(LABELS_MAX)))
}

/// Whether a line is whole and good, also with its time: for doors that do not take such lines, and
/// can say so.
pub fn is_graphite(line: &[u8]) -> bool {
    let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count();
    words == 3 && read_line(line, 0).is_ok()
}

/// A number as Graphite's daemon takes it: what is not one is no sample.
fn number(word: &str) -> Option<f64> {
    word.parse::<f64>().ok().filter(|value| !value.is_nan())
}

#[cfg(test)]
#[allow(clippy::big_endian_bytes, reason = "the lengths of messages are")]
mod tests {
    use super::*;
    use crate::{KEY_SYNTAX, shown_key};
    use foliot_model::KeySecret;

    fn decode(text: &[u8]) -> (Vec<String>, Vec<Reject>, GraphiteRead) {
        decode_by(decode_graphite, text)
    }

    fn decode_by(
        decode: fn(&mut Batch<'_>, u32, i64, &mut Vec<Reject>) -> GraphiteRead,
        text: &[u8],
    ) -> (Vec<String>, Vec<Reject>, GraphiteRead) {
        let mut batch = Batch::new(text, 0, &KEY_SYNTAX, KeySecret(1), Default::default());
        let mut rejects = Vec::new();
        let read = decode(&mut batch, 1, 7000, &mut rejects);
        let shown = batch.rows().iter().map(|row| {
            let key = shown_key(batch.slice(row.key_tail));
            format!("{key} {} {}", batch.cells(row, 1)[0].to_f64(), row.time_ns / 1_000_000)
        });
        (shown.collect(), rejects, read)
    }

    fn whole(bytes: usize, next_line: u32) -> GraphiteRead {
        GraphiteRead { bytes, next_line, ..GraphiteRead::default() }
    }

    #[test]
    fn lines_are_read_as_carbon_and_victoriametrics_read_them() {
        let text = b"a.b.c 1.5 1700000000\r\n\n  m\t-3e2   5.25 \nm 4\nm 5 -1\n\
            disk.used;host=a;dc=eu;none=;=x;y 9 1700000001\nm;f=a=b inf 1\n\
            m 1e400 1\nm -0 -1.5\nhalf 1 17000";
        let wanted = [
            "a.b.c{} 1.5 1700000000000",
            "m{} -300 5250",
            "m{} 4 7000",
            "m{} 5 7000",
            "disk.used{host=\"a\",dc=\"eu\"} 9 1700000001000",
            "m{f=\"a=b\"} inf 1000",
            "m{} inf 1000",
            "m{} -0 7000",
        ];
        let (rows, rejects, read) = decode(text);
        assert_eq!((rows, rejects.len()), (wanted.map(str::to_owned).to_vec(), 0));
        let bytes = text.len() - b"half 1 17000".len();
        assert_eq!(read, whole(bytes, 10));
        assert_eq!(decode(b"half").2, whole(0, 1));
        assert_eq!(decode(b"\n").2, whole(1, 2));
    }

    #[test]
    fn bad_lines_are_told_by_number_and_leave_the_others() {
        for (line, word) in [
            ("m", "a line is"),
            ("m x 1", "\"x\" is no number"),
            ("m nan 1", "\"nan\" is no number"),
            ("m 1 x", "no number of seconds"),
            ("m 1 2 3", "behind the time"),
            ("m 1 1e300", "cannot be stored"),
            ("m 1 -1e300", "before 1970"),
            ("m 1 -5", "timestamp -5 is before 1970"),
            ("m 1 -0.5", "before 1970"),
        ] {
            let (rows, rejects, read) = decode(format!("g 1 1\n{line}\ng 2 2\n").as_bytes());
            assert_eq!((rows.len(), rejects.len(), read.refused), (2, 1, 1), "{line}");
            assert_eq!(rejects[0].line, 2);
            assert!(rejects[0].reason.contains(word), "{line}: {}", rejects[0].reason);
        }
        assert_eq!(decode(b"m\xff 1 1\n").1.len(), 1);
        let (_, rejects, read) = decode(&b"x\n".repeat(1000));
        assert_eq!((rejects.len(), read.refused), (WORDED_MAX, 1000));
    }

    #[test]
    fn whole_lines_are_known_elsewhere() {
        for line in ["a.b 1 1700000000", "a;b=c 1.5 1700000000\r", "m -3 -1"] {
            assert!(is_graphite(line.as_bytes()), "{line}");
        }
        for line in ["a.b 1", "put m 1 2", "m,h=a v=1 17", "m 1 2 3", "", "GET / HTTP/1.1"] {
            assert!(!is_graphite(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn a_million_tags_are_not_kept() {
        let text = [b"m".as_slice(), &b";a=b".repeat(1 << 20), b" 1 1\n"].concat();
        let mut batch = Batch::new(&text, 0, &KEY_SYNTAX, KeySecret(1), Default::default());
        decode_graphite(&mut batch, 1, 0, &mut Vec::new());
        assert!(batch.rows()[0].key_tail.length < 100_000);
    }

    fn message(pickled: &[u8]) -> Vec<u8> {
        [&(pickled.len() as u32).to_be_bytes()[..], pickled].concat()
    }

    #[test]
    fn messages_of_pickle_are_read_as_carbon_reads_them() {
        // [("a.b;dc=eu", (5, 1.5)), (the same, (-1, "2")), ("n", ("6", True))]
        let pickled = b"]q\x00(U\x09a.b;dc=euq\x01K\x05G\x3f\xf8\0\0\0\0\0\0\x86\x86\
            h\x01J\xff\xff\xff\xffU\x012\x86\x86U\x01nU\x016\x88\x86\x86e.";
        let bytes = [message(pickled), message(b"]."), message(pickled)[..40].to_vec()].concat();
        let (rows, rejects, read) = decode_by(decode_pickle, &bytes);
        let wanted = ["a.b{dc=\"eu\"} 1.5 5000", "a.b{dc=\"eu\"} 2 7000", "n{} 1 6000"];
        assert_eq!((rows, rejects.len()), (wanted.map(str::to_owned).to_vec(), 0));
        assert_eq!(read, whole(bytes.len() - 40, 3));
        assert_eq!(decode_by(decode_pickle, b"\0\0").2, whole(0, 1));
    }

    #[test]
    fn bad_messages_and_samples_leave_the_others() {
        let good = b"U\x01mK\x01K\x02\x86\x86";
        for (bad, word) in [
            (&b"K\x01"[..], "a sample is a tuple"),
            (b"U\x01mK\x01\x86", "a sample is a tuple"),
            (b"K\x01K\x01K\x02\x86\x86", "a sample is a tuple"),
            (b"U\x01\xffK\x01K\x02\x86\x86", "not valid UTF-8"),
            (b"U\x01mNK\x02\x86\x86", "a time is no number"),
            (b"U\x01mK\x01U\x03nan\x86\x86", "a value is no number"),
            (b"U\x01mK\x01G\x7f\xf8\0\0\0\0\0\0\x86\x86", "a value is no number"),
            (b"U\x01m\x8a\x01\xfbK\x02\x86\x86", "-5 is before 1970"),
        ] {
            let pickled = [b"](", bad, good, b"e."].concat();
            let (rows, rejects, read) = decode_by(decode_pickle, &message(&pickled));
            assert_eq!((rows.len(), rejects.len(), read.refused), (1, 1, 1), "{bad:?}");
            assert!(rejects[0].reason.contains(word), "{bad:?}: {}", rejects[0].reason);
        }
        let bytes = [message(b"cos\nsystem\n."), message(&[b"](", &good[..], b"e."].concat())];
        let (rows, rejects, read) = decode_by(decode_pickle, &bytes.concat());
        assert_eq!((rows.len(), rejects[0].line, read.next_line), (1, 1, 3));
        // Nobody knows where the next one begins.
        let (rows, rejects, read) = decode_by(decode_pickle, b"\x00\x10\x00\x01aaaa");
        assert!(rows.is_empty() && read.is_broken && read.bytes == 0);
        assert!(rejects[0].reason.contains("has 1048577 bytes, where 1048576"), "{rejects:?}");
    }

    #[test]
    fn a_name_that_is_told_once_is_kept_once() {
        let pickled = [
            &b"](X\x00\x40\0\0"[..],
            &vec![b'a'; 1 << 14],
            b"q\x01K\x01K\x02\x86q\x02\x86",
            &b"h\x01h\x02\x86".repeat(9_999),
            b"e.",
        ];
        let text = message(&pickled.concat());
        let mut batch = Batch::new(&text, 0, &KEY_SYNTAX, KeySecret(1), Default::default());
        decode_pickle(&mut batch, 1, 0, &mut Vec::new());
        assert_eq!(batch.rows().len(), 10_000);
        let keys: std::collections::HashSet<_> =
            batch.rows().iter().map(|row| row.key_tail.offset).collect();
        assert_eq!(keys.len(), 1);
    }

    #[test]
    fn long_texts_are_no_names_and_no_numbers() {
        let text = |letter: u8, length: u32| {
            [&b"X"[..], &length.to_le_bytes(), &vec![letter; length as usize]].concat()
        };
        for (name, value, word) in [
            (text(b'a', 65_536), text(b'1', 3), "a name has more than 65535 bytes"),
            (text(b'a', 3), text(b'1', 65), "a value is no number"),
        ] {
            let sample = [&b"]("[..], &name, b"K\x01", &value, b"\x86\x86e."].concat();
            let (rows, rejects, _) = decode_by(decode_pickle, &message(&sample));
            assert!(rows.is_empty() && rejects[0].reason.contains(word), "{rejects:?}");
        }
    }
}
