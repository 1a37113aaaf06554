//! Answers to writes that did not wholly succeed, as each API words them.
//!
//! InfluxDB keeps good lines and reports bad ones: a line that could not be parsed is quoted, a
//! point that could not be stored counts as dropped.

use crate::decode::{Decoded, lines};
use crate::encode::JsonText;
use crate::fault::Fault;
use crate::write::WriteApi;
use foliot_model::{Reject, excerpt};
use memchr::{memchr, memchr_iter};
use std::borrow::Cow;

/// Most bytes of a line that are quoted.
const QUOTE_BYTES_MAX: usize = 1024;

/// An HTTP answer: its body is JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Body, ending in a newline as InfluxDB's does.
    pub body: String,
    /// Value of the header `X-Influxdb-Error`: the message in printable ASCII, cut to 1 KiB.
    pub error_header: String,
}

/// What became of the lines of one write.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<'a> {
    /// The request's lines.
    pub lines: &'a [u8],
    /// How many rows were stored.
    pub rows: usize,
    /// How decoding ended.
    pub decoded: Decoded,
    /// What decoding refused.
    pub refused: &'a [Reject],
    /// What the store refused, or the first of it.
    pub dropped: &'a [Reject],
    /// How many rows the store refused.
    pub rows_dropped: usize,
}

/// The answer to a write; nothing when all went well (status 204, no body).
pub fn write_answer(api: WriteApi, outcome: &Outcome<'_>) -> Option<Answer> {
    if outcome.refused.is_empty() && outcome.dropped.is_empty() {
        return None;
    }
    let lines = quote_lines(outcome);
    Some(match api {
        WriteApi::V3 => v3_answer(outcome, &lines),
        // Each bad line is told, however many there are.
        _ => answer(api, 400, &message(outcome, &lines)),
    })
}

/// The answer to a request that failed as a whole.
pub fn error_answer(api: WriteApi, status: u16, message: &str) -> Answer {
    answer(api, status, &excerpt(message))
}

fn answer(api: WriteApi, status: u16, message: &str) -> Answer {
    let body = match api {
        WriteApi::V1 | WriteApi::V3 | WriteApi::TickTock => {
            format!("{{\"error\":{}}}\n", JsonText(message))
        }
        WriteApi::V2 => {
            let code = match status {
                401 => "unauthorized",
                403 => "forbidden",
                404 => "not found",
                405 => "method not allowed",
                413 => "request too large",
                422 => "unprocessable entity",
                429 => "too many requests",
                503 => "unavailable",
                500.. => "internal error",
                _ => "invalid",
            };
            format!("{{\"code\":\"{code}\",\"message\":{}}}\n", JsonText(message))
        }
    };
    let printable = |c: char| if matches!(c, ' '..='~') { c } else { ' ' };
    let error_header = message.chars().map(printable).take(1024).collect();
    Answer { status, body, error_header }
}

/// The message of InfluxDB 1: one sentence per bad line.
fn message(outcome: &Outcome<'_>, lines: &[Cow<'_, str>]) -> String {
    let refused = outcome.refused.iter().map(|reject| (reject, !is_of_time_field(reject)));
    let dropped = outcome.dropped.iter().map(|reject| (reject, is_of_key(reject)));
    let mut points_dropped = outcome.rows_dropped.saturating_sub(outcome.dropped.len());
    let mut first_dropped = None;
    let mut sentences = Vec::with_capacity(lines.len());
    for ((reject, is_of_syntax), line) in refused.chain(dropped).zip(lines) {
        if !is_of_syntax {
            points_dropped += 1;
            first_dropped.get_or_insert((reject, place(reject, false)));
            continue;
        }
        let place = place(reject, true);
        sentences.push(format!("unable to parse '{line}': {}{place}", reject.reason));
    }
    let unworded = outcome.decoded.refused.saturating_sub(outcome.refused.len());
    if unworded > 0 {
        sentences.push(format!("unable to parse {unworded} more lines"));
    }
    // Of points that were dropped the first reason is named, as InfluxDB does. It says nothing then
    // of lines that it could not parse, which would be lost in silence.
    if let Some((Reject { reason, .. }, place)) = first_dropped {
        sentences.push(format!("{reason}{place} dropped={points_dropped}"));
        return format!("partial write: {}", sentences.join("\n"));
    }
    let sentences = sentences.join("\n");
    match outcome.rows == 0 {
        true => sentences,
        false => format!("partial write: {sentences} dropped=0"),
    }
}

/// Where a line is at fault, behind InfluxDB's words: its number, and the field whose value it is.
fn place(reject: &Reject, tells_field: bool) -> String {
    const PARTS: [&str; 6] = ["measurement", "tag", "key", "timestamp", "line", "field"];
    let Reject { line, field, reason } = reject;
    if !tells_field || PARTS.contains(&&**field) {
        return format!(" (line {line})");
    }
    let hint = match reason == "invalid boolean" {
        true => ": a text needs double quotes",
        false => "",
    };
    format!(" (line {line}, field {field}{hint})")
}

/// Whether decoding refused a line that is well written, because `time` is its only field.
fn is_of_time_field(reject: &Reject) -> bool {
    reject.reason.starts_with("invalid field name: ")
}

/// Whether the store refused a line because its key is not well written: keys are parsed there.
fn is_of_key(reject: &Reject) -> bool {
    let faults = [
        Fault::MissingMeasurement,
        Fault::MissingTagKey,
        Fault::MissingTagValue,
        Fault::InvalidTagFormat,
        Fault::DuplicateTags,
    ];
    faults.iter().any(|fault| fault.to_string() == reject.reason)
}

/// The answer of InfluxDB 3: a list of bad lines, or the first one when nothing was to be stored.
fn v3_answer(outcome: &Outcome<'_>, lines: &[Cow<'_, str>]) -> Answer {
    let refused = outcome.refused.iter().map(|reject| (reject, true));
    // What the store says names the field already.
    let dropped = outcome.dropped.iter().map(|reject| (reject, false));
    let mut entries = refused.chain(dropped).zip(lines).map(|((reject, tells_field), line)| {
        let message = format!("{}{}", reject.reason, place(reject, tells_field));
        let (line_text, message) = (JsonText(line), JsonText(&message));
        format!(
            "{{\"original_line\":{line_text},\"line_number\":{},\"error_message\":{message}}}",
            reject.line
        )
    });
    let (error, data) = match outcome.rows {
        0 => ("parsing failed for write_lp endpoint", entries.next().unwrap_or_default()),
        _ => {
            let entries: Vec<_> = entries.collect();
            ("partial write of line protocol occurred", format!("[{}]", entries.join(",")))
        }
    };
    let body = format!("{{\"error\":\"{error}\",\"data\":{data}}}\n");
    Answer { status: 400, body, error_header: error.to_owned() }
}

/// The text of each reject's line, in the order of the rejects.
fn quote_lines<'a>(outcome: &Outcome<'a>) -> Vec<Cow<'a, str>> {
    let wanted = |reject: &Reject| reject.line;
    let numbers: Vec<u32> = outcome.refused.iter().chain(outcome.dropped).map(wanted).collect();
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by_key(|&index| numbers.get(index));
    let mut quotes = vec![Cow::Borrowed(""); numbers.len()];
    let mut lines = Lines { bytes: outcome.lines, at: 0, number: 1 };
    let mut current = lines.next();
    for index in order {
        let number = numbers.get(index).copied().unwrap_or_default();
        while current.is_some_and(|(at, _)| at < number) {
            current = lines.next();
        }
        if let (Some((at, text)), Some(quote)) = (current, quotes.get_mut(index))
            && at == number
        {
            *quote = quote_line(text);
        }
    }
    quotes
}

fn quote_line(line: &[u8]) -> Cow<'_, str> {
    let line = line.trim_ascii_start();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match line.get(..QUOTE_BYTES_MAX) {
        None => String::from_utf8_lossy(line),
        Some(start) => format!("{}...", String::from_utf8_lossy(start)).into(),
    }
}

/// The lines of a request with their numbers, as decoding counts them.
struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
    number: u32,
}

impl<'a> Iterator for Lines<'a> {
    type Item = (u32, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        // Of this line alone: blank lines may be many.
        let blanks = |byte: &&u8| **byte != b'\n' && byte.is_ascii_whitespace();
        let is_comment = rest.iter().find(|byte| !blanks(byte)) == Some(&b'#');
        let end = match is_comment {
            true => memchr(b'\n', rest).unwrap_or(rest.len()),
            false => lines::end(rest, 0),
        };
        let line = rest.get(..end).unwrap_or_default();
        let number = self.number;
        self.number += 1 + memchr_iter(b'\n', line).count() as u32;
        self.at += end + 1;
        Some((number, line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Decoder, LINE_SYNTAX, Settings};
    use foliot_model::{Batch, KeySecret};

    fn answer(api: WriteApi, lines: &str, dropped: &[Reject]) -> Option<String> {
        let mut batch =
            Batch::new(lines.as_bytes(), 0, &LINE_SYNTAX, KeySecret(1), Default::default());
        let mut refused = Vec::new();
        let decoded = Decoder::default().decode(&mut batch, Settings::default(), &mut refused);
        let rows = batch.rows().len() - dropped.len();
        let outcome = Outcome {
            lines: lines.as_bytes(),
            rows,
            decoded,
            refused: &refused,
            dropped,
            rows_dropped: dropped.len(),
        };
        write_answer(api, &outcome).map(|answer| {
            assert_eq!(answer.status, 400);
            answer.body
        })
    }

    fn dropped(line: u32, reason: &str) -> Reject {
        Reject { line, field: "field".into(), reason: reason.to_owned() }
    }

    #[test]
    fn influxdb_1_and_2_word_partial_writes() {
        let v1 = |lines, dropped: &[Reject]| answer(WriteApi::V1, lines, dropped).unwrap();
        assert_eq!(answer(WriteApi::V1, "m v=1\n", &[]), None);
        assert_eq!(
            v1("m v=x", &[]),
            "{\"error\":\"unable to parse 'm v=x': invalid boolean (line 1, field v: a text needs \
             double quotes)\"}\n"
        );
        assert_eq!(
            v1("m v=1 1\n  m v=\n\nm \"w\n", &[]),
            "{\"error\":\"partial write: unable to parse 'm v=': missing field value (line 2, field v)\\n\
             unable to parse 'm \\\"w': invalid field format (line 4) dropped=0\"}\n"
        );
        assert_eq!(
            v1("m v=1\n# \"\nm v=2i", &[dropped(3, "field type conflict: ...")]),
            "{\"error\":\"partial write: field type conflict: ... (line 3) dropped=1\"}\n"
        );
        assert_eq!(
            v1("m,a=1,a=2 v=1", &[dropped(1, "duplicate tags")]),
            "{\"error\":\"unable to parse 'm,a=1,a=2 v=1': duplicate tags (line 1)\"}\n"
        );
        assert_eq!(
            v1("m time=1", &[]),
            "{\"error\":\"partial write: invalid field name: input field \\\"time\\\" on \
             measurement \\\"m\\\" is invalid (line 1) dropped=1\"}\n"
        );
        assert_eq!(
            answer(WriteApi::V2, "m v=1 x", &[]).unwrap(),
            "{\"code\":\"invalid\",\"message\":\"unable to parse 'm v=1 x': bad timestamp (line 1)\"}\n"
        );
    }

    #[test]
    fn influxdb_3_lists_bad_lines() {
        assert_eq!(
            answer(WriteApi::V3, "m v=1\nm v=?\nm v=!", &[]).unwrap(),
            "{\"error\":\"partial write of line protocol occurred\",\"data\":[\
             {\"original_line\":\"m v=?\",\"line_number\":2,\"error_message\":\"invalid boolean \
             (line 2, field v: a text needs double quotes)\"},\
             {\"original_line\":\"m v=!\",\"line_number\":3,\"error_message\":\
             \"invalid boolean (line 3, field v: a text needs double quotes)\"}]}\n"
        );
        assert_eq!(
            answer(WriteApi::V3, "m v=?", &[]).unwrap(),
            "{\"error\":\"parsing failed for write_lp endpoint\",\"data\":\
             {\"original_line\":\"m v=?\",\"line_number\":1,\
             \"error_message\":\"invalid boolean (line 1, field v: a text needs double quotes)\"}}\n"
        );
    }

    #[test]
    fn lines_are_quoted_in_full_unless_they_are_long() {
        let lines = format!("m s=\"a\nb\",t\nm {}", "x".repeat(5000));
        let body = answer(WriteApi::V1, &lines, &[]).unwrap();
        assert!(body.contains(r#"'m s=\"a\nb\",t'"#), "{body}");
        assert!(body.len() < 1300 && body.contains("xxx...'"), "{body}");
        let many = "m\n".repeat(1000);
        let body = answer(WriteApi::V1, &many, &[]).unwrap();
        assert!(body.contains("unable to parse 900 more lines"), "{body}");
    }

    /// Each of them is looked at once: looking on from each would take hours.
    #[test]
    fn a_bad_line_behind_many_blank_ones_is_found() {
        let lines = format!("{} \t# none\n#\nbad", "\n".repeat(1_000_000));
        let body = answer(WriteApi::V1, &lines, &[]).unwrap();
        assert!(body.contains("bad"), "{body}");
    }

    #[test]
    fn error_headers_are_printable() {
        let answer = error_answer(WriteApi::V2, 404, "no\nsuch ä");
        assert_eq!(answer.error_header, "no such  ");
        assert_eq!(answer.body, "{\"code\":\"not found\",\"message\":\"no\\nsuch ä\"}\n");
    }
}
