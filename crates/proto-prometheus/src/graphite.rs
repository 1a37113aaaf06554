//! Graphite's plain text: `name;tag=value value seconds`, lines into batches.
//!
//! The name keeps its dots and becomes the measurement, as VictoriaMetrics has it. A line counts
//! when its end has come: what stands behind the last newline is left for the next call.

use crate::samples::pack_labels;
use crate::write::{cell, time_ns};
use foliot_model::{Batch, DEFAULT_FIELD, Reject, Span};

/// Refusals of one call that are worded; the others are counted.
const WORDED_MAX: usize = 100;

/// Labels of a line that are read: more than any series may have, so that the store refuses it.
const LABELS_MAX: usize = 2000;

/// What was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphiteRead {
    /// Bytes of whole lines.
    pub bytes: usize,
    /// Number of the line behind the last one read.
    pub next_line: u32,
    /// Lines refused, including those that found no place among the rejects.
    pub refused: usize,
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
    let mut read = GraphiteRead { bytes: end, next_line: first_line, refused: 0 };
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
            Err((field, reason)) => {
                read.refused += 1;
                if read.refused <= WORDED_MAX {
                    rejects.push(Reject { line: number, field: field.into(), reason });
                }
            }
        }
    }
    read
}

/// Packed labels, value and time of a line.
fn read_line(line: &[u8], now_ms: i64) -> Result<(Vec<u8>, f64, i64), Fault> {
    let line = std::str::from_utf8(line)
        .map_err(|_| ("line", "the line is not valid UTF-8".to_owned()))?;
    let mut words = line.split_ascii_whitespace();
    let series = words.next().unwrap_or_default();
    let value = words.next().ok_or_else(|| ("line", "a line is: name value seconds".to_owned()))?;
    let value = number(value).ok_or_else(|| ("value", format!("{value:?} is no number")))?;
    let time_ms = match words.next() {
        None => now_ms,
        Some(word) => {
            let bad = || ("timestamp", format!("{word:?} is no number of seconds"));
            let seconds = number(word).ok_or_else(bad)?;
            match seconds {
                // As Graphite's daemon has it, which cuts the parts of it off.
                _ if seconds.trunc() == -1.0 => now_ms,
                // No archive of Graphite's reaches there, and VictoriaMetrics' neither.
                _ if seconds < 0.0 => {
                    return Err(("timestamp", format!("timestamp {word} is before 1970")));
                }
                // What is too large stays so, and is refused below.
                _ => (seconds * 1000.0) as i64,
            }
        }
    };
    if let Some(word) = words.next() {
        return Err(("line", format!("{word:?} stands behind the time")));
    }
    let time_ns = time_ns(time_ms)
        .ok_or_else(|| ("timestamp", format!("timestamp {time_ms} ms cannot be stored")))?;
    let mut parts = series.split(';');
    let name = parts.next().unwrap_or_default();
    // A tag without a name or a value says nothing.
    let labels = parts.filter_map(|tag| tag.split_once('='));
    let labels = labels.filter(|(name, value)| !name.is_empty() && !value.is_empty());
    let key = pack_labels([("__name__", name)].into_iter().chain(labels.take(LABELS_MAX)));
    Ok((key, value, time_ns))
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
mod tests {
    use super::*;
    use crate::{KEY_SYNTAX, shown_key};
    use foliot_model::KeySecret;

    fn decode(text: &[u8]) -> (Vec<String>, Vec<Reject>, GraphiteRead) {
        let mut batch = Batch::new(text, 0, &KEY_SYNTAX, KeySecret(1), Default::default());
        let mut rejects = Vec::new();
        let read = decode_graphite(&mut batch, 1, 7000, &mut rejects);
        let shown = batch.rows().iter().map(|row| {
            let key = shown_key(batch.slice(row.key_tail));
            format!("{key} {} {}", batch.cells(row, 1)[0].to_f64(), row.time_ns / 1_000_000)
        });
        (shown.collect(), rejects, read)
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
        assert_eq!(read, GraphiteRead { bytes, next_line: 10, refused: 0 });
        assert_eq!(decode(b"half").2, GraphiteRead { bytes: 0, next_line: 1, refused: 0 });
        assert_eq!(decode(b"\n").2, GraphiteRead { bytes: 1, next_line: 2, refused: 0 });
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
}
