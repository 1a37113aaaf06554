//! Text on TickTock's ports: put lines, Influx lines, checkpoints and a few words.

use super::{FIELD_TAG, NO_FIELD};
use crate::decode::{Element, FIELD_NUMBER, elements, read_timestamp, scalar_text};
use crate::decode::{Options, point_shape};
use crate::http::HttpError;
use crate::key::{split_tag, tags, text_of};
use crate::number::{NumberError, parse_value};
use foliot_model::{
    Batch, Cell, KeyError, KeyParts, KeySyntax, NANOS_PER_MILLI, NANOS_PER_SECOND, Reject, Span,
};
use memchr::memchr;
use memchr::memmem;
use std::borrow::Cow;

/// The key syntax of put lines in this dialect: as OpenTSDB's, but any character may stand in a
/// name that does not separate words, and there may be no tag.
pub static TICKTOCK_SYNTAX: KeySyntax =
    KeySyntax { id: 8, name: "ticktock", parse: parse_key, parse_field: copy_field };

/// From here on a timestamp counts milliseconds, then microseconds, then nanoseconds: TickTock
/// looks at the number of digits.
const UNITS: [(i64, i64); 3] = [
    (10_000_000_000, NANOS_PER_SECOND),
    (10_000_000_000_000, NANOS_PER_MILLI),
    (10_000_000_000_000_000, 1_000),
];

/// A run is no longer than this, but for its last line. It becomes one batch, and one of the
/// shortest lines takes up to thirty times their bytes.
const RUN_BYTES_MAX: usize = 256 << 10;

/// A checkpoint's value may be so long.
const CHECKPOINT_BYTES_MAX: usize = 30;

/// Its leader and its channel may be so long, each.
const CHANNEL_BYTES_MAX: usize = 100;

/// What a run of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunKind {
    /// Put lines.
    Puts,
    /// Influx lines, comments and empty lines.
    Lines,
    /// One line `_cp leader:channel:value`.
    Checkpoint,
    /// One line that is a word of its own.
    Word(Word),
    /// Lines that are nothing of this.
    Unknown,
}

/// A line that asks for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// `version`
    Version,
    /// `stats`
    Stats,
    /// `help`
    Help,
    /// `diediedie`: stop the server.
    Stop,
    /// `don't forward`, from the time when TickTock had partitions; nothing is answered.
    DoNotForward,
}

/// Neighbouring lines of one kind at the front of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// What they are.
    pub kind: RunKind,
    /// How many bytes they take, ends included.
    pub bytes: usize,
    /// How many lines they are.
    pub lines: u32,
}

/// The run at the front of `text`, or the beginning of a long one; nothing when no line has ended.
/// With `is_whole` the last line needs no end. `put` may be missing where `bare` says so, as in
/// datagrams.
pub fn next_run(text: &[u8], is_whole: bool, bare: bool) -> Option<Run> {
    let mut run: Option<Run> = None;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let end = match memchr(b'\n', rest) {
            Some(end) => end + 1,
            None if is_whole => rest.len(),
            None => break,
        };
        let kind = kind_of(rest.get(..end).unwrap_or_default(), bare);
        match &mut run {
            None => run = Some(Run { kind, bytes: end, lines: 1 }),
            Some(run) if run.kind == kind => {
                run.bytes += end;
                run.lines = run.lines.saturating_add(1);
            }
            Some(_) => break,
        }
        at += end;
        if matches!(kind, RunKind::Checkpoint | RunKind::Word(_)) || at >= RUN_BYTES_MAX {
            break;
        }
    }
    run
}

fn kind_of(line: &[u8], bare: bool) -> RunKind {
    if line.starts_with(b"put ") {
        return RunKind::Puts;
    }
    if line.starts_with(b"_cp ") {
        return RunKind::Checkpoint;
    }
    let line = line.trim_ascii_end();
    match line {
        b"version" => return RunKind::Word(Word::Version),
        b"stats" => return RunKind::Word(Word::Stats),
        b"help" => return RunKind::Word(Word::Help),
        b"diediedie" => return RunKind::Word(Word::Stop),
        b"don't forward" => return RunKind::Word(Word::DoNotForward),
        b"" => return RunKind::Lines,
        _ => {}
    }
    match bare {
        true => RunKind::Puts,
        false if line.starts_with(b"#") || memchr(b'=', line).is_some() => RunKind::Lines,
        false => RunKind::Unknown,
    }
}

/// Reads `_cp leader:channel:value` and returns leader, channel and value.
///
/// # Errors
/// What is wrong with it.
pub fn read_checkpoint(line: &[u8]) -> Result<(&str, &str, &str), String> {
    let line = std::str::from_utf8(line).map_err(|_| "not valid UTF-8".to_owned())?;
    let line = line.trim_end().strip_prefix("_cp ").unwrap_or(line);
    let mut parts = line.split(':');
    let (Some(leader), Some(channel), Some(value), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err("a checkpoint is leader:channel:value".to_owned());
    };
    let is_name = |name: &str| {
        (1..=CHANNEL_BYTES_MAX).contains(&name.len()) && !name.contains(char::is_control)
    };
    if !is_name(leader) || !is_name(channel) {
        return Err(format!(
            "leader and channel of a checkpoint have 1 to {CHANNEL_BYTES_MAX} bytes"
        ));
    }
    match value.len() <= CHECKPOINT_BYTES_MAX && !value.contains(char::is_control) {
        true => Ok((leader, channel, value)),
        false => Err(format!("a checkpoint has at most {CHECKPOINT_BYTES_MAX} bytes")),
    }
}

/// Decodes the batch's request, a run of put lines, with or without the word `put`. Bad lines
/// become rejects, numbered from 1.
pub fn decode_puts(batch: &mut Batch<'_>, options: &Options, rejects: &mut Vec<Reject>) {
    let bytes = batch.bytes();
    batch.number_lines(1);
    let mut shapes = Shapes::default();
    let mut number = 0_u32;
    let mut start = 0;
    while let Some(rest) = bytes.get(start..).filter(|rest| !rest.is_empty()) {
        let length = memchr(b'\n', rest).unwrap_or(rest.len());
        let line = rest.get(..length).unwrap_or_default();
        number = number.saturating_add(1);
        let (at, words) = match line.strip_prefix(b"put ") {
            Some(words) => (start + 4, words),
            None => (start, line),
        };
        if let Err((field, reason)) = decode_put(batch, &mut shapes, at, words, number, options) {
            rejects.push(Reject { line: number, field: Cow::Borrowed(field), reason });
        }
        start += length + 1;
    }
}

/// The shapes of one batch, each of a single field.
#[derive(Default)]
struct Shapes {
    named: Vec<(Vec<u8>, u32)>,
}

impl Shapes {
    fn of(&mut self, batch: &mut Batch<'_>, field: &[u8]) -> u32 {
        if let Some((_, shape)) = self.named.iter().find(|(name, _)| name == field) {
            return *shape;
        }
        let name = batch.push_scratch(|out| out.extend_from_slice(field));
        let shape = batch.push_shape(&[name]);
        self.named.push((field.to_vec(), shape));
        shape
    }
}

type Refusal = (&'static str, String);

fn decode_put(
    batch: &mut Batch<'_>,
    shapes: &mut Shapes,
    at: usize,
    words: &[u8],
    number: u32,
    options: &Options,
) -> Result<(), Refusal> {
    let refuse = |field, reason: &str| Err((field, reason.to_owned()));
    if words.len() > options.line_bytes_max {
        return refuse("line", "the line is too long");
    }
    let words = words.strip_suffix(b"\r").unwrap_or(words);
    let (metric_end, rest_at) = metric_ends(words)?;
    let rest = words.get(rest_at..).unwrap_or_default();
    let mut pieces = rest.splitn(3, |&byte| byte == b' ');
    let (Some(time), Some(value)) = (pieces.next(), pieces.next()) else {
        return refuse("line", "a metric, a timestamp and a value are needed");
    };
    let section = pieces.next().unwrap_or_default();
    let time_ns = read_time(time)?;
    let cell = read_number(value)?;
    if let Some(limit) = options.tags_max.filter(|&limit| tags(section).count() > limit) {
        return Err(("tag", format!("more than {limit} tags")));
    }
    let head = match words.first() {
        // A metric in quotes has its blanks turned into underscores.
        Some(b'"') => {
            let metric = words.get(1..metric_end).unwrap_or_default();
            let plain = metric.iter().map(|&byte| if byte == b' ' { b'_' } else { byte });
            batch.push_scratch(|out| out.extend(plain))
        }
        _ => Span::new(at, at + metric_end),
    };
    let tags_at = at + words.len() - section.len();
    let (tail, shape) = match memmem::find(section, FIELD_TAG.as_bytes()) {
        None => (trimmed(section, tags_at), point_shape_of(batch, shapes)),
        Some(_) => without_field(batch, shapes, section)?,
    };
    batch.push_cell(cell);
    batch.push_row([head, tail], time_ns, shape, number);
    Ok(())
}

/// The shape of a point without a field.
fn point_shape_of(batch: &mut Batch<'_>, shapes: &mut Shapes) -> u32 {
    if shapes.named.is_empty() {
        let shape = point_shape(batch);
        shapes.named.push((foliot_model::DEFAULT_FIELD.as_bytes().to_vec(), shape));
        return shape;
    }
    shapes.of(batch, foliot_model::DEFAULT_FIELD.as_bytes())
}

/// Where the metric ends, without its quote, and where the words behind it begin.
fn metric_ends(words: &[u8]) -> Result<(usize, usize), Refusal> {
    let refuse = |reason: &str| Err(("metric", reason.to_owned()));
    if words.first() == Some(&b'"') {
        let inside = words.get(1..).unwrap_or_default();
        return match memchr(b'"', inside) {
            Some(length) if length > 0 => Ok((length + 1, (length + 3).min(words.len()))),
            _ => refuse("the metric's quote is not closed"),
        };
    }
    match memchr(b' ', words) {
        Some(end) if end > 0 => Ok((end, end + 1)),
        Some(_) => refuse("empty metric name"),
        None => Err(("line", "a metric, a timestamp and a value are needed".to_owned())),
    }
}

/// The tags without blanks around them.
fn trimmed(section: &[u8], at: usize) -> Span {
    let blanks = section.iter().take_while(|&&byte| byte == b' ').count();
    let end = section.trim_ascii_end().len();
    if blanks >= end { Span::default() } else { Span::new(at + blanks, at + end) }
}

/// The tags without the one that names the field, and the shape of that field.
fn without_field(
    batch: &mut Batch<'_>,
    shapes: &mut Shapes,
    section: &[u8],
) -> Result<(Span, u32), Refusal> {
    let mut field = foliot_model::DEFAULT_FIELD.as_bytes();
    let mut kept: Vec<&[u8]> = Vec::new();
    for tag in tags(section) {
        match split_tag(tag).map_err(|error| (error.field, error.reason))? {
            (name, value) if name == FIELD_TAG.as_bytes() => {
                if value != NO_FIELD.as_bytes() {
                    field = value;
                }
            }
            _ => kept.push(tag),
        }
    }
    let tail = batch.push_scratch(|out| out.extend_from_slice(&kept.join(&b' ')));
    Ok((tail, shapes.of(batch, field)))
}

fn read_time(text: &[u8]) -> Result<i64, Refusal> {
    let plain = std::str::from_utf8(text).ok().and_then(|text| text.parse::<i64>().ok());
    let number = plain.filter(|&number| number > 0);
    let number =
        number.ok_or_else(|| ("timestamp", format!("invalid timestamp: {}", text_of(text))))?;
    let unit_ns = UNITS.iter().find(|(below, _)| number < *below).map_or(1, |(_, unit)| *unit);
    let time_ns = number.checked_mul(unit_ns);
    time_ns.ok_or_else(|| ("timestamp", format!("timestamp is too late: {number}")))
}

/// Reads a number; NaN and infinity are numbers here.
fn read_number(text: &[u8]) -> Result<Cell, Refusal> {
    let text = text.strip_prefix(b"\"").unwrap_or(text);
    let text = text.strip_suffix(b"\"").unwrap_or(text);
    match parse_value(text) {
        Ok(cell) => Ok(cell),
        Err(NumberError::NotFinite(number)) => Ok(Cell::float(number)),
        Err(NumberError::Invalid(reason)) => match not_finite(text) {
            Some(number) => Ok(Cell::float(number)),
            None => Err((FIELD_NUMBER, reason)),
        },
    }
}

fn not_finite(text: &[u8]) -> Option<f64> {
    let lower = text.to_ascii_lowercase();
    let (sign, name) = match lower.split_first()? {
        (b'-', name) => (-1.0, name),
        (b'+', name) => (1.0, name),
        _ => (1.0, &lower[..]),
    };
    match name {
        b"nan" => Some(f64::NAN),
        b"inf" | b"infinity" => Some(sign * f64::INFINITY),
        _ => None,
    }
}

/// Turns a body of JSON points into put lines, one each, appended to `out`; returns how many points
/// had no metric, timestamp or value, a part of a wrong type, or a name that holds a blank.
/// Tags may be missing; their values may be text, numbers, true or false.
///
/// # Errors
/// When the body is no JSON of points.
pub fn puts_of_json(body: &[u8], out: &mut Vec<u8>) -> Result<u32, HttpError> {
    let mut element = Element::default();
    let mut bad = 0;
    elements(body, |scanner, _| {
        element.scan(scanner)?;
        if element.fault().is_some() {
            bad += 1;
            return Ok(());
        }
        let before = out.len();
        let is_word = |text: &[u8]| !text.is_empty() && !text.contains(&b' ');
        let push = |text: &[u8], end: u8, out: &mut Vec<u8>| {
            out.extend_from_slice(text);
            out.push(end);
            is_word(text)
        };
        out.extend_from_slice(b"put ");
        let metric = scalar_text(scanner, element.metric).unwrap_or_default();
        let value = scalar_text(scanner, element.value).unwrap_or_default();
        let time = read_timestamp(scanner, element.timestamp).unwrap_or(0);
        let mut good = push(&metric, b' ', out);
        good &= push(time.to_string().as_bytes(), b' ', out) && push(&value, b' ', out);
        for &(name, tag) in &element.tags {
            let name = scanner.plain(name).unwrap_or_default();
            let tag = scalar_text(scanner, tag).unwrap_or_default();
            good &= push(&name, b'=', out) && push(&tag, b' ', out);
        }
        if good {
            out.push(b'\n');
        } else {
            out.truncate(before);
            bad += 1;
        }
        Ok(())
    })?;
    Ok(bad)
}

fn copy_field(raw: &[u8], out: &mut Vec<u8>) -> Result<(), KeyError> {
    out.extend_from_slice(raw);
    Ok(())
}

fn parse_key(head: &[u8], tail: &[u8], parts: &mut KeyParts) -> Result<(), KeyError> {
    parts.set_measurement(|out| out.extend_from_slice(head));
    for tag in tags(tail) {
        let (name, value) = split_tag(tag)?;
        parts.push_label(|out| out.extend_from_slice(name), |out| out.extend_from_slice(value));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Seen;
    use crate::decode::read_back;
    use foliot_model::{BatchBuffers, KeySecret};

    fn decode(text: &str) -> (Vec<String>, Vec<String>) {
        let buffers = BatchBuffers::default();
        let mut batch = Batch::new(text.as_bytes(), 0, &TICKTOCK_SYNTAX, KeySecret(1), buffers);
        let mut rejects = Vec::new();
        decode_puts(&mut batch, &Options::default(), &mut rejects);
        let rows: Vec<Seen> = read_back(&batch, &mut rejects);
        let fields: Vec<String> = batch
            .rows()
            .iter()
            .map(|row| {
                let shape = batch.shape(row.shape).unwrap();
                String::from_utf8(batch.slice(batch.fields(shape)[0]).to_vec()).unwrap()
            })
            .collect();
        let show = |(row, field): (&Seen, &String)| {
            format!("{}#{field} {} {}", row.series, row.time_ns, row.cell.to_f64())
        };
        let rows = rows.iter().zip(&fields).map(show).collect();
        let words =
            |reject: &Reject| format!("{} {}: {}", reject.line, reject.field, reject.reason);
        (rows, rejects.iter().map(words).collect())
    }

    #[test]
    fn put_lines_with_and_without_tags_and_fields() {
        let text = "put m 1700002800 1.5 h=a\n\
                    put m 1700002800250 nan\r\n\
                    put cpu 1700002800 3 h=a _field=usage dc=x\n\
                    put cpu 1700002800 4 _field=_ h=a  \n\
                    put \"a b\" 1700002800000000 -inf \n\
                    m,x 1700002800 \"7\" h=a:b\n";
        let (rows, rejects) = decode(text);
        assert_eq!(rejects, [""; 0]);
        let expected = [
            "m,h=a#value 1700002800000000000 1.5",
            "m#value 1700002800250000000 NaN",
            "cpu,dc=x,h=a#usage 1700002800000000000 3",
            "cpu,h=a#value 1700002800000000000 4",
            "a_b#value 1700002800000000000 -inf",
            "m,x,h=a:b#value 1700002800000000000 7",
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn what_is_no_point_is_refused_not_read_as_zero() {
        let text = "put m x 1 h=a\nput m 1 x h=a\nput m 1\nput m\nput  1 2\nput m 0 1\nput \"m 1 1\n\
                    put m 1 1 h\n";
        let (rows, rejects) = decode(text);
        assert_eq!(rows, [""; 0]);
        let lines: Vec<&str> = rejects.iter().map(|reject| &reject[..2]).collect();
        assert_eq!(lines, ["1 ", "2 ", "3 ", "4 ", "5 ", "6 ", "7 ", "8 "]);
    }

    #[test]
    fn text_is_cut_into_runs_of_one_kind() {
        let text =
            b"put a 1 1\nput b 1 1\nm,h=a f=1 1\n# note\n\nversion\nversion\n_cp a:b:c\nfoo\nput";
        let mut at = 0;
        let mut runs = Vec::new();
        while let Some(run) = next_run(&text[at..], false, false) {
            runs.push((run.kind, run.lines));
            at += run.bytes;
        }
        let expected = [
            (RunKind::Puts, 2),
            (RunKind::Lines, 3),
            (RunKind::Word(Word::Version), 1),
            (RunKind::Word(Word::Version), 1),
            (RunKind::Checkpoint, 1),
            (RunKind::Unknown, 1),
        ];
        assert_eq!(runs, expected);
        assert_eq!(&text[at..], b"put", "a line without its end waits");
        assert_eq!(next_run(b"m 1 1 h=a", true, true).unwrap().kind, RunKind::Puts);
    }

    #[test]
    fn a_long_run_is_cut_behind_a_line() {
        let line = "put m 1 1\n";
        let text = line.repeat(2 * RUN_BYTES_MAX / line.len());
        let run = next_run(text.as_bytes(), true, false).unwrap();
        assert_eq!((run.kind, run.bytes), (RunKind::Puts, run.lines as usize * line.len()));
        assert!((RUN_BYTES_MAX..RUN_BYTES_MAX + line.len()).contains(&run.bytes));
    }

    #[test]
    fn checkpoints() {
        assert_eq!(read_checkpoint(b"_cp l:c:v1\r\n"), Ok(("l", "c", "v1")));
        assert_eq!(read_checkpoint(b"_cp l:c:\n"), Ok(("l", "c", "")));
        for bad in
            ["_cp l:c\n", "_cp a:b:c:d\n", "_cp :b:c\n", &format!("_cp a:b:{}", "x".repeat(31))]
        {
            assert!(read_checkpoint(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn json_points_become_put_lines() {
        let body = r#"[{"metric":"j","timestamp":1,"value":"4.5","tags":{"a":"b","n":7,"t":true}},
                       {"metric":"j","timestamp":2,"value":1},{"timestamp":3,"value":1},
                       {"metric":"a b","timestamp":2,"value":1}]"#;
        let mut out = Vec::new();
        assert_eq!(puts_of_json(body.as_bytes(), &mut out).unwrap(), 2);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "put j 1 4.5 a=b n=7 t=true \nput j 2 1 \n");
        assert!(puts_of_json(b"junk", &mut Vec::new()).is_err());
    }
}
