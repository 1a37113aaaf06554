//! Put lines into batches: `put <metric> <timestamp> <value> <k=v> …`.
//!
//! Two readers share the work. [`read_common`] takes the spelling that clients send millions of
//! times and gives up at anything else; [`read_any`] takes every line, and finds out what is wrong
//! with the bad ones in the order in which OpenTSDB looks.

use super::{FIELD_NUMBER, FIELD_TIME_NUMBER, Options, point_shape};
use crate::key::{split_tag, tags, text_of};
use crate::number::{
    NumberError, leading_digits, parse_integer, parse_value, parse_value_short, time_ns,
};
use foliot_model::{Batch, Cell, Reject, Span};
use memchr::memchr;
use std::borrow::Cow;

/// Decodes the put lines of the batch's request, all of it, the last line with or without its end.
/// Bad lines become rejects numbered from 1; lines that are not puts are refused as well. Returns
/// the number of lines.
pub fn decode_lines(batch: &mut Batch<'_>, options: &Options, rejects: &mut Vec<Reject>) -> u32 {
    decode_each(batch, options, rejects, false)
}

/// Decodes a datagram: put lines as in [`decode_lines`], but the word `put` may be left out, as
/// TickTock's UDP clients do.
pub fn decode_datagram(batch: &mut Batch<'_>, options: &Options, rejects: &mut Vec<Reject>) -> u32 {
    decode_each(batch, options, rejects, true)
}

fn decode_each(
    batch: &mut Batch<'_>,
    options: &Options,
    rejects: &mut Vec<Reject>,
    put_optional: bool,
) -> u32 {
    let bytes = batch.bytes();
    batch.number_lines(1);
    let mut number = 0_u32;
    let mut start = 0;
    while let Some(rest) = bytes.get(start..).filter(|rest| !rest.is_empty()) {
        let length = memchr(b'\n', rest).unwrap_or(rest.len());
        let line = rest.get(..length).unwrap_or_default();
        number = number.saturating_add(1);
        let words = match line.strip_prefix(b"put ") {
            Some(words) => Some((start + 4, words)),
            None if put_optional => Some((start, line)),
            None => None,
        };
        let done = match words {
            Some((at, words)) => decode_line(batch, at, words, number, options),
            None if line.iter().all(u8::is_ascii_whitespace) => Ok(()),
            None => Err(Refused::illegal("line", "not a put line".to_owned())),
        };
        if let Err(refused) = done {
            rejects.push(refused.at_line(number));
        }
        start += length + 1;
    }
    number
}

/// Why a line is no point, before its number is known.
pub(crate) struct Refused {
    field: &'static str,
    reason: String,
}

impl Refused {
    fn illegal(field: &'static str, reason: String) -> Self {
        Self { field, reason }
    }

    /// The reject of the line numbered `line`.
    pub(crate) fn at_line(self, line: u32) -> Reject {
        Reject { line, field: Cow::Borrowed(self.field), reason: self.reason }
    }
}

/// Decodes one line into a row: `words` is what follows `put `, and stands at `at` in the request.
#[inline]
pub(crate) fn decode_line(
    batch: &mut Batch<'_>,
    at: usize,
    words: &[u8],
    line: u32,
    options: &Options,
) -> Result<(), Refused> {
    let words = words.strip_suffix(b"\r").unwrap_or(words);
    let point = match read_common(words) {
        Some(point) => point,
        None => read_any(words)?,
    };
    let [tags_start, tags_end] = point.tags;
    if let Some(limit) = options.tags_max {
        check_tag_count(words.get(tags_start..tags_end).unwrap_or_default(), limit)?;
    }
    let shape = point_shape(batch);
    batch.push_cell(point.cell);
    let key = [Span::new(at, at + point.metric_end), Span::new(at + tags_start, at + tags_end)];
    batch.push_row(key, point.time_ns, shape, line);
    Ok(())
}

/// A line's point; positions count from the metric's first byte.
#[derive(Debug, PartialEq)]
struct Point {
    metric_end: usize,
    time_ns: i64,
    cell: Cell,
    tags: [usize; 2],
}

/// Reads the common spelling: single blanks, a timestamp of up to 13 digits, a short plain number.
#[inline]
fn read_common(words: &[u8]) -> Option<Point> {
    let metric_end = memchr(b' ', words).filter(|&end| end > 0)?;
    let rest = words.get(metric_end + 1..)?;
    let (timestamp, timestamp_length) = leading_digits(rest);
    if !(1..=13).contains(&timestamp_length) || timestamp == 0 {
        return None;
    }
    let rest = rest.get(timestamp_length..)?.strip_prefix(b" ")?;
    let time_ns = time_ns(timestamp as i64).ok()?;
    // A value that needs more than 32 bytes is left to the other reader.
    let value_length = rest.iter().take(32).position(|&byte| byte == b' ')?;
    let cell = parse_value_short(rest.get(..value_length)?)?;
    let tags_start = metric_end + 1 + timestamp_length + 1 + value_length + 1;
    let tags = words.get(tags_start..)?;
    if matches!(tags.first(), None | Some(b' ')) || tags.last() == Some(&b' ') {
        return None;
    }
    Some(Point { metric_end, time_ns, cell, tags: [tags_start, words.len()] })
}

/// Reads any line, checking in OpenTSDB's order: number of words, metric, timestamp, tags, value.
#[cold]
fn read_any(words: &[u8]) -> Result<Point, Refused> {
    let mut pieces = words.splitn(4, |&byte| byte == b' ');
    let (Some(metric), Some(time), Some(value), Some(section)) =
        (pieces.next(), pieces.next(), pieces.next(), pieces.next())
    else {
        let got = if words.is_empty() { 0 } else { memchr::memchr_iter(b' ', words).count() + 1 };
        let reason = format!("not enough arguments (need least 4, got {got})");
        return Err(Refused::illegal("line", reason));
    };
    if metric.is_empty() {
        return Err(Refused::illegal("metric", "empty metric name".to_owned()));
    }
    let timestamp = read_timestamp(time)?;
    if value.is_empty() {
        return Err(Refused::illegal("value", "empty value".to_owned()));
    }
    for tag in tags(section) {
        split_tag(tag).map_err(|error| Refused::illegal(error.field, error.reason))?;
    }
    let cell = read_value(metric, timestamp, value)?;
    if tags(section).next().is_none() {
        let reason = format!("Need at least one tag (metric={}, tags={{}})", text_of(metric));
        return Err(Refused::illegal("tag", reason));
    }
    let time_ns = time_ns(timestamp).map_err(|reason| Refused::illegal("timestamp", reason))?;
    let tags_end = words.len() - section.iter().rev().take_while(|&&byte| byte == b' ').count();
    let blanks = section.iter().take_while(|&&byte| byte == b' ').count();
    let tags_start = words.len() - section.len() + blanks;
    Ok(Point { metric_end: metric.len(), time_ns, cell, tags: [tags_start, tags_end] })
}

/// Reads a timestamp. Points in it are dropped, so that `1700002800.250` is in milliseconds.
fn read_timestamp(text: &[u8]) -> Result<i64, Refused> {
    let plain: Cow<'_, [u8]> = match memchr(b'.', text) {
        None => Cow::Borrowed(text),
        Some(_) => text.iter().copied().filter(|&byte| byte != b'.').collect(),
    };
    let timestamp =
        parse_integer(&plain).map_err(|reason| Refused::illegal(FIELD_TIME_NUMBER, reason))?;
    if timestamp <= 0 {
        return Err(Refused::illegal("timestamp", format!("invalid timestamp: {timestamp}")));
    }
    Ok(timestamp)
}

fn read_value(metric: &[u8], timestamp: i64, text: &[u8]) -> Result<Cell, Refused> {
    parse_value(text).map_err(|error| match error {
        NumberError::Invalid(reason) => Refused::illegal(FIELD_NUMBER, reason),
        NumberError::NotFinite(number) => {
            let sign = if number < 0.0 { "-" } else { "" };
            Refused::illegal(
                "value",
                format!(
                    "value is NaN or Infinite: {sign}Infinity for metric={} timestamp={timestamp}",
                    text_of(metric)
                ),
            )
        }
    })
}

fn check_tag_count(section: &[u8], limit: usize) -> Result<(), Refused> {
    // A tag has a blank and three more bytes at least, and there are no more tags than blanks and
    // one: most lines are short enough for any limit.
    if section.len() / 4 < limit || memchr::memchr_iter(b' ', section).count() < limit {
        return Ok(());
    }
    let count = tags(section).count();
    if count <= limit {
        return Ok(());
    }
    let list: Vec<Cow<'_, str>> = tags(section).map(text_of).collect();
    Err(Refused::illegal(
        "tag",
        format!("Too many tags: {count} maximum allowed: {limit}, tags: {{{}}}", list.join(", ")),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KEY_SYNTAX;
    use crate::decode::seen::{Seen, read_back};
    use foliot_model::{BatchBuffers, KeySecret, NANOS_PER_MILLI};
    use proptest::prelude::*;

    fn decode(text: &[u8], options: &Options) -> (Vec<Seen>, Vec<Reject>) {
        let mut batch = Batch::new(text, 0, &KEY_SYNTAX, KeySecret(1), BatchBuffers::default());
        let mut rejects = Vec::new();
        decode_datagram(&mut batch, options, &mut rejects);
        let rows = read_back(&batch, &mut rejects);
        (rows, rejects)
    }

    fn reason(line: &str) -> String {
        let (rows, rejects) = decode(line.as_bytes(), &Options::default());
        assert!(rows.is_empty(), "{line} was taken");
        rejects.into_iter().next().unwrap().reason
    }

    #[test]
    fn lines_become_rows() {
        let text = b"put m 1700002800 42 h=a\nput m 1700002800.250 4.2   h=a  b=c  \r\nm 1 -1 h=a";
        let (rows, rejects) = decode(text, &Options::default());
        assert_eq!(rejects, []);
        let rows: Vec<_> =
            rows.iter().map(|row| (&*row.series, row.time_ns, row.cell, row.line)).collect();
        let expected = [
            ("m,h=a", 1_700_002_800_000 * NANOS_PER_MILLI, Cell::integer(42), 1),
            ("m,b=c,h=a", 1_700_002_800_250 * NANOS_PER_MILLI, Cell::decimal(42, 1).unwrap(), 2),
            ("m,h=a", 1_000 * NANOS_PER_MILLI, Cell::integer(-1), 3),
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn one_millisecond_digit_is_the_famous_trap() {
        let (rows, _) = decode(b"put m 1700002800.5 1 h=a", &Options::default());
        assert_eq!(rows[0].time_ns, 17_000_028_005 * NANOS_PER_MILLI);
    }

    #[test]
    fn bad_lines_are_refused_in_the_peers_words() {
        for (line, expected) in [
            ("put m 1700002800 42", "not enough arguments (need least 4, got 3)"),
            ("put m", "not enough arguments (need least 4, got 1)"),
            ("put  1700002800 42 h=a", "empty metric name"),
            ("put m 17x 1 h=a", "Invalid character 'x' in 17x"),
            ("put m 0 1 h=a", "invalid timestamp: 0"),
            ("put m -5 1 h=a", "invalid timestamp: -5"),
            ("put m 1  h=a", "empty value"),
            ("put m 1 1 h", "invalid tag: h"),
            ("put m 1 abc h=", "invalid tag: h="),
            ("put m 1 1  ", "Need at least one tag (metric=m, tags={})"),
            ("put m 1 1e400 h=a", "value is NaN or Infinite: Infinity for metric=m timestamp=1"),
        ] {
            assert_eq!(reason(line), expected, "{line}");
        }
        assert!(reason("put m 10000000000000 1 h=a").starts_with("bad timestamp=10000000000000"));
    }

    #[test]
    fn the_tag_limit_counts_tags() {
        let options = Options { tags_max: Some(2), ..Options::default() };
        assert_eq!(decode(b"put m 1 1 a=1 b=2", &options).0.len(), 1);
        let (_, rejects) = decode(b"put m 1 1 a=1 b=2 c=3", &options);
        let expected = "Too many tags: 3 maximum allowed: 2, tags: {a=1, b=2, c=3}";
        assert_eq!(rejects[0].reason, expected);
        // As many as fit into so many bytes, and one more.
        for limit in 1..9 {
            let options = Options { tags_max: Some(limit), ..Options::default() };
            let tags = |count: u8| (0..count).map(|at| format!(" {}=1", char::from(b'a' + at)));
            let line = |count: usize| format!("put m 1 1{}", tags(count as u8).collect::<String>());
            assert_eq!(decode(line(limit).as_bytes(), &options).0.len(), 1);
            assert_eq!(decode(line(limit + 1).as_bytes(), &options).1.len(), 1);
        }
    }

    #[test]
    fn lines_that_are_no_puts_are_refused_where_only_puts_are_expected() {
        let text = b"put m 1 1 h=a\n\nget m\n";
        let mut batch = Batch::new(text, 0, &KEY_SYNTAX, KeySecret(1), BatchBuffers::default());
        let mut rejects = Vec::new();
        assert_eq!(decode_lines(&mut batch, &Options::default(), &mut rejects), 3);
        assert_eq!((batch.rows().len(), rejects.len(), rejects[0].line), (1, 1, 3));
    }

    /// What a line means, by splitting on blanks and the standard parsers.
    fn naive(line: &str) -> Option<(String, i64, f64)> {
        let words: Vec<&str> = line.split(' ').collect();
        let [metric, time, value, tags @ ..] = &words[..] else { return None };
        let mut labels = std::collections::BTreeMap::new();
        for tag in tags.iter().filter(|tag| !tag.is_empty()) {
            let (name, value) = tag.split_once('=')?;
            let is_bad = name.is_empty() || value.is_empty() || value.contains('=');
            if is_bad || labels.insert(name, value).is_some_and(|earlier| earlier != value) {
                return None;
            }
        }
        let time: i64 = time.replace('.', "").parse().ok()?;
        // Integers have one zero only.
        let value = match value.parse::<i64>() {
            Ok(integer) => integer as f64,
            Err(_) => value.parse().ok()?,
        };
        if metric.is_empty() || labels.is_empty() || time <= 0 {
            return None;
        }
        let ms = if time < 1 << 32 { time * 1000 } else { time };
        let labels: String =
            labels.iter().map(|(name, value)| format!(",{name}={value}")).collect();
        Some((metric.to_string() + &labels, ms * NANOS_PER_MILLI, value))
    }

    proptest! {
        #[test]
        fn lines_equal_a_naive_reading(
            metric in "[a-z.]{0,9}",
            time in r"[0-9]{1,9}(\.[0-9]{1,3})?",
            value in r"[+-]?[0-9]{1,12}(\.[0-9]{1,9})?(e-?[0-9]{1,2})?",
            tags in "( {0,2}[a-c]{0,2}=[a-z0-9]{0,3}){0,4} {0,2}",
        ) {
            let line = format!("{metric} {time} {value} {tags}");
            let (rows, rejects) = decode(line.as_bytes(), &Options::default());
            match naive(&line) {
                None => prop_assert!(rows.is_empty() && rejects.len() == 1, "{}", line),
                Some((series, time_ns, value)) => {
                    prop_assert_eq!(rows.len(), 1, "{}", line);
                    let row = &rows[0];
                    prop_assert_eq!((&row.series, row.time_ns), (&series, time_ns));
                    let got = match row.cell.kind {
                        foliot_model::Kind::Integer => row.cell.bits as i64 as f64,
                        _ => row.cell.to_f64(),
                    };
                    prop_assert_eq!(got.to_bits(), value.to_bits());
                }
            }
        }

        #[test]
        fn both_readers_agree(line in "m [0-9]{1,13} -?[0-9.]{1,20} h=a( b=c)?") {
            if let Some(point) = read_common(line.as_bytes()) {
                prop_assert_eq!(Some(point), read_any(line.as_bytes()).ok());
            }
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            decode(&bytes, &Options::default());
        }
    }
}
