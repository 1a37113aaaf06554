//! The text format in which targets expose their metrics: lines into batches.
//!
//! `name{label="value",…} value [milliseconds]`; comments and blank lines say nothing. Names may be
//! quoted, and the series' own name may stand in the braces: `{"a.b","c d"="x"} 1`.

use crate::key::{NAME, push_label};
use crate::write::{cell, time_ns};
use foliot_model::{Batch, DEFAULT_FIELD, Reject, Span};

/// Bytes of text that one batch is made of: at most 65 536 samples are in them, and each takes
/// about a hundred bytes of memory in a batch.
const PIECE_BYTES_MAX: usize = 256 << 10;

/// Cuts the next piece off a text: whole lines, at least one.
pub fn next_piece(text: &[u8]) -> (&[u8], &[u8]) {
    let Some(head) = text.get(..PIECE_BYTES_MAX) else { return (text, &[]) };
    let is_end = |byte: &u8| *byte == b'\n';
    let end = head.iter().rposition(is_end).or_else(|| text.iter().position(is_end));
    text.split_at_checked(end.map_or(text.len(), |end| end + 1)).unwrap_or((text, &[]))
}

/// Decodes the lines of the batch's request, numbered from `first_line`; samples without a time are
/// of `now_ms`. Returns the number of lines.
pub fn decode_text(
    batch: &mut Batch<'_>,
    first_line: u32,
    now_ms: i64,
    rejects: &mut Vec<Reject>,
) -> u32 {
    batch.number_lines(first_line);
    let field = batch.push_scratch(|out| out.extend_from_slice(DEFAULT_FIELD.as_bytes()));
    let shape = batch.push_shape(&[field]);
    let text = batch.bytes();
    let mut number = first_line;
    let (mut key, mut unescaped) = (Vec::new(), [Vec::new(), Vec::new()]);
    for line in text.strip_suffix(b"\n").unwrap_or(text).split(|byte| *byte == b'\n') {
        let line_number = number;
        number = number.saturating_add(1);
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        key.clear();
        let mut push = |name: &[u8], value: &[u8]| push_label(name, value, &mut key);
        let read = read_series(line, &mut unescaped, &mut push).and_then(|rest| {
            let (value, time_ms) = read_sample(rest, now_ms)?;
            let time_ns = time_ns(time_ms);
            let time_ns = time_ns
                .ok_or_else(|| ("timestamp", format!("timestamp {time_ms} cannot be stored")))?;
            Ok((value, time_ns))
        });
        match read {
            Ok((value, time_ns)) => {
                let key = batch.push_scratch(|out| out.extend_from_slice(&key));
                batch.push_cell(cell(value));
                batch.push_row([Span::default(), key], time_ns, shape, line_number);
            }
            Err((field, reason)) => {
                rejects.push(Reject { line: line_number, field: field.into(), reason });
            }
        }
    }
    number - first_line
}

/// What is at fault, and why.
pub(crate) type Fault = (&'static str, String);

/// Reads name and labels; returns what stands behind them.
pub(crate) fn read_series<'a>(
    line: &'a [u8],
    [first, second]: &mut [Vec<u8>; 2],
    push: &mut impl FnMut(&[u8], &[u8]),
) -> Result<&'a [u8], Fault> {
    let is_end = |byte: &u8| *byte == b'{' || byte.is_ascii_whitespace();
    let end = line.iter().position(is_end);
    let (name, rest) = line.split_at(end.unwrap_or(line.len()));
    if !name.is_empty() {
        push(NAME, name);
    }
    let Some(mut rest) = rest.trim_ascii_start().strip_prefix(b"{") else { return Ok(rest) };
    loop {
        rest = rest.trim_ascii_start();
        if let Some(rest) = rest.strip_prefix(b"}") {
            return Ok(rest);
        }
        let is_quoted = rest.starts_with(b"\"");
        rest = match is_quoted {
            true => read_quoted(rest, first)?,
            false => {
                let end = rest.iter().position(|byte| *byte == b'=' || byte.is_ascii_whitespace());
                let (name, rest) = rest.split_at(end.unwrap_or(rest.len()));
                first.clear();
                first.extend_from_slice(name);
                rest
            }
        };
        rest = rest.trim_ascii_start();
        match rest.strip_prefix(b"=") {
            Some(value) => {
                rest = read_quoted(value.trim_ascii_start(), second)?;
                push(first, second);
            }
            None if is_quoted => push(NAME, first),
            None => return Err(("tag", "a label needs = and a value in quotes".to_owned())),
        }
        rest = rest.trim_ascii_start();
        match rest.strip_prefix(b",") {
            Some(behind) => rest = behind,
            None if rest.starts_with(b"}") => {}
            None => return Err(("tag", "a comma or } must follow a label".to_owned())),
        }
    }
}

/// Reads a text in quotes into `out`; returns what stands behind it.
fn read_quoted<'a>(text: &'a [u8], out: &mut Vec<u8>) -> Result<&'a [u8], Fault> {
    out.clear();
    let Some(mut rest) = text.strip_prefix(b"\"") else {
        return Err(("tag", "a label's value must stand in quotes".to_owned()));
    };
    loop {
        rest = match rest {
            [b'"', rest @ ..] => return Ok(rest),
            [b'\\', b'n', rest @ ..] => {
                out.push(b'\n');
                rest
            }
            [b'\\', byte @ (b'\\' | b'"'), rest @ ..] | [byte, rest @ ..] => {
                out.push(*byte);
                rest
            }
            [] => return Err(("tag", "a quote is not closed".to_owned())),
        };
    }
}

/// Reads value and time; an exemplar may follow, which is not kept.
fn read_sample(rest: &[u8], now_ms: i64) -> Result<(f64, i64), Fault> {
    let rest = rest.split(|byte| *byte == b'#').next().unwrap_or_default();
    let text = std::str::from_utf8(rest).unwrap_or("?");
    let mut words = text.split_ascii_whitespace();
    let value = words.next().unwrap_or_default();
    let value = value.parse().map_err(|_| ("value", format!("{value:?} is no number")))?;
    let time_ms = match words.next() {
        None => now_ms,
        Some(word) => word.parse().map_err(|_| {
            ("timestamp", format!("timestamp {word:?} is no number of milliseconds"))
        })?,
    };
    match words.next() {
        None => Ok((value, time_ms)),
        Some(word) => Err(("line", format!("{word:?} stands behind the timestamp"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KEY_SYNTAX;
    use foliot_model::{KeyParts, KeySecret};

    fn decode(text: &str) -> (Vec<String>, Vec<(u32, String)>) {
        let secret = KeySecret(1);
        let mut batch = Batch::new(text.as_bytes(), 0, &KEY_SYNTAX, secret, Default::default());
        let mut rejects = Vec::new();
        decode_text(&mut batch, 1, 7, &mut rejects);
        let shown = batch.rows().iter().map(|row| {
            let mut parts = KeyParts::default();
            (KEY_SYNTAX.parse)(b"", batch.slice(row.key_tail), &mut parts).unwrap();
            let mut text = String::from_utf8_lossy(parts.measurement()).into_owned();
            for (name, value) in parts.labels() {
                let [name, value] = [name, value].map(String::from_utf8_lossy);
                text += &format!(",{name}={value}");
            }
            format!("{text} {} {}", batch.cells(row, 1)[0].to_f64(), row.time_ns / 1_000_000)
        });
        let shown = shown.collect();
        (shown, rejects.into_iter().map(|reject| (reject.line, reject.reason)).collect())
    }

    #[test]
    fn lines_as_targets_write_them_are_read() {
        let text = "# HELP m a metric\n# TYPE m counter\n\nm 1\n m{a=\"b\"} 2.5 1700000000000\r\n\
            m{a=\"b\",} -3e2 -1\nm { a = \"b\" , c = \"d\" } NaN\nm{} +Inf\n\
            m{a=\"q\\\"s\\\\n\\n}{,#\"} -Inf 5\nm{le=\"0.1\"} 4 # {id=\"x\"} 0.05\n\
            {\"my.metric\",\"a b\"=\"c\"} 1\nlast 9";
        let wanted = [
            "m 1 7",
            "m,a=b 2.5 1700000000000",
            "m,a=b -300 -1",
            "m,a=b,c=d NaN 7",
            "m inf 7",
            "m,a=q\"s\\n\n}{,# -inf 5",
            "m,le=0.1 4 7",
            "my.metric,a b=c 1 7",
            "last 9 7",
        ];
        assert_eq!(decode(text), (wanted.map(str::to_owned).to_vec(), Vec::new()));
    }

    #[test]
    fn bad_lines_are_told_by_number() {
        for (line, word) in [
            ("m", "\"\" is no number"),
            ("m x", "\"x\" is no number"),
            ("m 1 x", "milliseconds"),
            ("m 1 2 3", "behind the timestamp"),
            ("m 1 9223372036854775807", "cannot be stored"),
            ("m{a=\"b} 1", "not closed"),
            ("m{a=b} 1", "in quotes"),
            ("m{a} 1", "needs ="),
            ("m{a=\"b\" c=\"d\"} 1", "a comma"),
            ("m{", "needs ="),
        ] {
            let (rows, rejects) = decode(&format!("good 1\n{line}\ngood 2\n"));
            assert_eq!(rows.len(), 2, "{line}");
            assert_eq!(rejects.len(), 1, "{line}");
            assert_eq!(rejects[0].0, 2);
            assert!(rejects[0].1.contains(word), "{line}: {}", rejects[0].1);
        }
    }

    #[test]
    fn a_text_is_cut_between_lines() {
        let text = "abc 1\n".repeat(PIECE_BYTES_MAX / 4);
        let (mut rest, mut pieces) = (text.as_bytes(), 0);
        while !rest.is_empty() {
            let (piece, behind) = next_piece(rest);
            assert!(piece.ends_with(b"\n") && piece.len() <= PIECE_BYTES_MAX);
            (rest, pieces) = (behind, pieces + 1);
        }
        assert_eq!(pieces, 2);
        let long = [vec![b'x'; PIECE_BYTES_MAX + 5], b"\ny".to_vec()].concat();
        assert_eq!(next_piece(&long).1, b"y");
    }
}
