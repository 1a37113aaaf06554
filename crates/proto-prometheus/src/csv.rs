//! VictoriaMetrics' CSV, in and out: a parameter `format` says what the columns are.
//!
//! In: `2:metric:ask,3:metric:bid,1:label:ticker,4:time:unix_s`, columns counted from one; a line
//! is a sample for each of its values. Out: `__name__,host,__value__,__timestamp__:unix_ms`, a line
//! for each sample.

use crate::answer::number;
use crate::samples::pack_labels;
use crate::write::{KEY_BYTES_MAX, PIECE_BYTES_MAX, PIECE_ROWS_MAX, Room, cell, time_ns};
use foliot_model::{Batch, DEFAULT_FIELD, Frame, NANOS_PER_MILLI, Reject, Span};
use foliot_plan::grid::name;
use jiff::Timestamp;

/// Columns that a format may name.
const COLUMNS_MAX: usize = 1024;

/// What is at fault, and why.
type Fault = (&'static str, String);

/// How a time is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Time {
    Seconds,
    Millis,
    Nanos,
    /// A date of RFC 3339.
    Date,
}

impl Time {
    fn of(word: &str) -> Result<Self, String> {
        match word {
            "unix_s" => Ok(Self::Seconds),
            "unix_ms" => Ok(Self::Millis),
            "unix_ns" => Ok(Self::Nanos),
            "rfc3339" => Ok(Self::Date),
            _ => {
                Err(format!("time {word:?} is not known: use unix_s, unix_ms, unix_ns or rfc3339"))
            }
        }
    }

    /// The milliseconds that a text stands for.
    fn read(self, text: &str) -> Option<i64> {
        let whole = || text.parse::<i64>().ok();
        match self {
            Self::Seconds => whole()?.checked_mul(1000),
            Self::Millis => whole(),
            Self::Nanos => Some(whole()?.div_euclid(NANOS_PER_MILLI)),
            Self::Date => Some(text.parse::<Timestamp>().ok()?.as_millisecond()),
        }
    }

    fn write(self, at_ms: i64) -> String {
        match self {
            Self::Seconds => at_ms.div_euclid(1000).to_string(),
            Self::Millis => at_ms.to_string(),
            Self::Nanos => at_ms.saturating_mul(NANOS_PER_MILLI).to_string(),
            Self::Date => {
                let at = Timestamp::from_second(at_ms.div_euclid(1000));
                at.map_or_else(|_| at_ms.to_string(), |at| at.to_string())
            }
        }
    }
}

/// What a column holds.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Column {
    /// Nothing that is wanted.
    Passed,
    Time(Time),
    Label(String),
    Metric(String),
}

/// The columns of what comes in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvColumns(Vec<Column>);

impl CsvColumns {
    /// Reads a format.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(format: &str) -> Result<Self, String> {
        let mut columns = Vec::new();
        for entry in format.split(',') {
            let mut parts = entry.splitn(3, ':');
            let (Some(at), Some(kind), Some(what)) = (parts.next(), parts.next(), parts.next())
            else {
                return Err(format!("{entry:?} must be column:kind:name"));
            };
            let at = at.parse::<usize>().ok().filter(|at| (1..=COLUMNS_MAX).contains(at));
            let at = at.ok_or_else(|| {
                format!("the column of {entry:?} must be a number from 1 to {COLUMNS_MAX}")
            })?;
            let column = match kind {
                _ if what.is_empty() => return Err(format!("{entry:?} names nothing")),
                "time" => Column::Time(Time::of(what)?),
                "label" => Column::Label(what.to_owned()),
                "metric" => Column::Metric(what.to_owned()),
                _ => return Err(format!("{kind:?} is none of time, label and metric")),
            };
            if columns.len() < at {
                columns.resize(at, Column::Passed);
            }
            match columns.get_mut(at - 1) {
                Some(free) if *free == Column::Passed => *free = column,
                _ => return Err(format!("column {at} is named twice")),
            }
        }
        let count = |is: fn(&Column) -> bool| columns.iter().filter(|column| is(column)).count();
        match () {
            () if count(|column| matches!(column, Column::Metric(_))) == 0 => {
                Err("a column must be a metric".to_owned())
            }
            () if count(|column| matches!(column, Column::Time(_))) > 1 => {
                Err("two columns are times".to_owned())
            }
            () => Ok(Self(columns)),
        }
    }
}

/// Lines that are decoded piece by piece.
#[derive(Debug)]
pub struct CsvLines<'a> {
    columns: &'a CsvColumns,
    rest: &'a [u8],
    line: u32,
    now_ms: i64,
}

/// What a line says: values by metric, packed labels, and their time.
#[derive(Debug, Default)]
struct Line<'a> {
    values: Vec<(&'a str, f64)>,
    labels: Vec<u8>,
    time_ns: i64,
}

impl<'a> CsvLines<'a> {
    /// The lines of a text; those without a time are of `now_ms`.
    pub fn new(columns: &'a CsvColumns, text: &'a [u8], now_ms: i64) -> Self {
        Self { columns, rest: text, line: 0, now_ms }
    }

    /// Puts the next piece into an empty batch. What cannot be stored becomes a reject with the
    /// number of its line. Returns whether there may be more.
    pub fn decode(&mut self, batch: &mut Batch<'_>, rejects: &mut Vec<Reject>) -> bool {
        batch.number_lines(1);
        let field = batch.push_scratch(|out| out.extend_from_slice(DEFAULT_FIELD.as_bytes()));
        let shape = batch.push_shape(&[field]);
        let mut room = Room { rows: PIECE_ROWS_MAX, bytes: PIECE_BYTES_MAX };
        while room.is_left() {
            if self.rest.is_empty() {
                return false;
            }
            let end = self.rest.iter().position(|byte| *byte == b'\n').unwrap_or(self.rest.len());
            let (line, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, &[]));
            self.rest = rest.get(1..).unwrap_or_default();
            self.line = self.line.saturating_add(1);
            room.rows -= 1;
            match self.read(line) {
                Ok(Line { values, labels, time_ns }) => {
                    for (metric, value) in values {
                        let head = pack_labels([("__name__", metric)].into_iter());
                        let key = batch.push_scratch(|out| {
                            out.extend_from_slice(&head);
                            out.extend_from_slice(&labels);
                        });
                        room.rows = room.rows.saturating_sub(1);
                        room.bytes = room.bytes.saturating_sub(key.length as usize);
                        batch.push_cell(cell(value));
                        batch.push_row([Span::default(), key], time_ns, shape, self.line);
                    }
                }
                Err((field, reason)) => {
                    rejects.push(Reject { line: self.line, field: field.into(), reason });
                }
            }
        }
        true
    }

    fn read(&self, line: &[u8]) -> Result<Line<'a>, Fault> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = std::str::from_utf8(line)
            .map_err(|_| ("line", "the line is not valid UTF-8".to_owned()))?;
        let Line { mut values, mut labels, .. } = Line::default();
        let (mut time_ms, mut rest, mut found) = (self.now_ms, Some(line), 0);
        if line.is_empty() {
            return Ok(Line::default());
        }
        for column in &self.columns.0 {
            let Some(text) = rest else { break };
            let (word, behind) = next_field(text)?;
            (rest, found) = (behind, found + 1);
            match column {
                Column::Passed => {}
                Column::Time(time) => {
                    time_ms = time
                        .read(&word)
                        .ok_or_else(|| ("timestamp", format!("{:?} is no time", shown(&word))))?;
                }
                Column::Label(name) => {
                    labels.extend(pack_labels([(&**name, &*word)].into_iter()));
                    if labels.len() > KEY_BYTES_MAX {
                        let reason = format!("labels take more than {KEY_BYTES_MAX} bytes");
                        return Err(("limit", reason));
                    }
                }
                Column::Metric(_) if word.is_empty() => {}
                Column::Metric(name) => {
                    let value = word.parse();
                    let value =
                        value.map_err(|_| ("value", format!("{:?} is no number", shown(&word))))?;
                    values.push((&**name, value));
                }
            }
        }
        let wanted = self.columns.0.len();
        if values.is_empty() && found < wanted {
            return Err(("line", format!("the line has {found} columns of {wanted}")));
        }
        if labels.len().saturating_mul(values.len()) > PIECE_BYTES_MAX {
            return Err(("limit", "the line has too many values of long labels".to_owned()));
        }
        let time_ns = time_ns(time_ms)
            .ok_or_else(|| ("timestamp", format!("timestamp {time_ms} ms cannot be stored")))?;
        Ok(Line { values, labels, time_ns })
    }
}

/// As much of a word as a person wants to see.
fn shown(word: &str) -> String {
    word.chars().take(40).collect()
}

/// The first field of a line, and what stands behind its comma. A field may stand in quotes of
/// either kind, in which a doubled one is one.
fn next_field(text: &str) -> Result<(String, Option<&str>), Fault> {
    let Some(quote) = text.chars().next().filter(|first| matches!(first, '"' | '\'')) else {
        return Ok(match text.split_once(',') {
            Some((word, rest)) => (word.to_owned(), Some(rest)),
            None => (text.to_owned(), None),
        });
    };
    let (mut word, mut rest) = (String::new(), text.get(1..).unwrap_or_default());
    loop {
        let Some((part, behind)) = rest.split_once(quote) else {
            return Err(("line", "a quote is not closed".to_owned()));
        };
        word.push_str(part);
        rest = match behind.strip_prefix(quote) {
            Some(behind) => {
                word.push(quote);
                behind
            }
            None if behind.is_empty() => return Ok((word, None)),
            None => match behind.strip_prefix(',') {
                Some(behind) => return Ok((word, Some(behind))),
                None => return Err(("line", "a comma must stand behind a quote".to_owned())),
            },
        };
    }
}

/// A column of what goes out.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Told {
    Name,
    Value,
    Time(Time),
    Label(String),
}

/// What lines tell of samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvFormat(Vec<Told>);

impl CsvFormat {
    /// Reads a format.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(format: &str) -> Result<Self, String> {
        let told = format.split(',').map(|word| match word {
            "" => Err("a column names nothing".to_owned()),
            "__name__" => Ok(Told::Name),
            "__value__" => Ok(Told::Value),
            "__timestamp__" => Ok(Told::Time(Time::Millis)),
            word => match word.strip_prefix("__timestamp__:") {
                Some(time) => Ok(Told::Time(Time::of(time)?)),
                None => Ok(Told::Label(word.to_owned())),
            },
        });
        let told: Vec<_> = told.collect::<Result<_, _>>()?;
        match told.len() <= COLUMNS_MAX {
            true => Ok(Self(told)),
            false => Err(format!("there are more than {COLUMNS_MAX} columns")),
        }
    }

    /// Appends a line for each sample of a piece of a series.
    pub fn write(&self, frame: &Frame, out: &mut Vec<u8>) {
        let series = name(&frame.head.measurement, &frame.head.field);
        let label = |wanted: &str| {
            let found = frame.head.labels.iter().find(|label| &*label.name == wanted);
            found.map_or(String::new(), |label| quoted(&label.value))
        };
        // What is the same in all lines is made once.
        let fixed = self.0.iter().map(|told| match told {
            Told::Name => Some(quoted(&series)),
            Told::Label(name) => Some(label(name)),
            Told::Value | Told::Time(_) => None,
        });
        let fixed: Vec<_> = fixed.collect();
        for (at_ns, value) in frame.samples.iter() {
            let Some(value) = value.as_f64() else { continue };
            for (at, (told, fixed)) in self.0.iter().zip(&fixed).enumerate() {
                out.extend_from_slice(if at > 0 { b"," } else { b"" });
                let text = match (told, fixed) {
                    (_, Some(text)) => text.clone(),
                    (Told::Time(time), _) => time.write(at_ns.div_euclid(NANOS_PER_MILLI)),
                    _ => number(value),
                };
                out.extend_from_slice(text.as_bytes());
            }
            out.push(b'\n');
        }
    }
}

/// A field as CSV has it: in quotes when it holds what would end it.
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KEY_SYNTAX, shown_key};
    use foliot_model::KeySecret;

    fn decode(format: &str, text: &str) -> (Vec<String>, Vec<(u32, String)>) {
        let columns = CsvColumns::parse(format).unwrap();
        let mut lines = CsvLines::new(&columns, text.as_bytes(), 7);
        let (mut shown, mut rejects, mut has_more) = (Vec::new(), Vec::new(), true);
        while has_more {
            let secret = KeySecret(1);
            let mut batch = Batch::new(text.as_bytes(), 0, &KEY_SYNTAX, secret, Default::default());
            has_more = lines.decode(&mut batch, &mut rejects);
            shown.extend(batch.rows().iter().map(|row| {
                let key = shown_key(batch.slice(row.key_tail));
                format!("{key} {} {}", batch.cells(row, 1)[0].to_f64(), row.time_ns / 1_000_000)
            }));
        }
        (shown, rejects.into_iter().map(|reject| (reject.line, reject.reason)).collect())
    }

    #[test]
    fn lines_are_read_by_their_format() {
        let format = "2:metric:ask,3:metric:bid,1:label:ticker,5:time:unix_s";
        let text = "GOOG,1.5,2,skipped,1700000000\r\n\n\"a, \"\"b\"\"\",,3e1,x,1,more\n'q',4\n";
        let (rows, rejects) = decode(format, text);
        assert_eq!(
            rows,
            [
                "ask{ticker=\"GOOG\"} 1.5 1700000000000",
                "bid{ticker=\"GOOG\"} 2 1700000000000",
                "bid{ticker=\"a, \\\"b\\\"\"} 30 1000",
                "ask{ticker=\"q\"} 4 7",
            ]
        );
        assert!(rejects.is_empty(), "{rejects:?}");
        for (kind, text, at_ms) in [
            ("unix_ms", "1700000000123", 1_700_000_000_123),
            ("unix_ns", "1700000000123999999", 1_700_000_000_123),
            ("rfc3339", "2023-11-14T22:13:20.5Z", 1_700_000_000_500i64),
            ("rfc3339", "2023-11-15T00:13:20+02:00", 1_700_000_000_000),
        ] {
            let (rows, _) = decode(&format!("1:time:{kind},2:metric:m"), &format!("{text},1"));
            assert_eq!(rows, [format!("m{{}} 1 {at_ms}")], "{kind}");
        }
    }

    #[test]
    fn bad_lines_are_told_by_number_and_leave_the_others() {
        let format = "1:label:a,2:metric:m,3:time:unix_s";
        for (line, word) in [
            ("x", "1 columns of 3"),
            ("x,y,1", "\"y\" is no number"),
            ("x,1,y", "\"y\" is no time"),
            ("x,1,99999999999999", "cannot be stored"),
            ("\"x,1,1", "not closed"),
            ("\"x\"y,1,1", "a comma must stand"),
            (&format!("{},1,1", "x".repeat(70_000)), "65536 bytes"),
        ] {
            let (rows, rejects) = decode(format, &format!("g,1,1\n{line}\ng,2,2\n"));
            assert_eq!((rows.len(), rejects.len()), (2, 1), "{line}");
            assert!(rejects[0].0 == 2 && rejects[0].1.contains(word), "{line}: {}", rejects[0].1);
        }
    }

    #[test]
    fn formats_that_are_none_are_refused() {
        for (format, word) in [
            ("", "column:kind:name"),
            ("1:metric", "column:kind:name"),
            ("0:metric:m", "from 1 to 1024"),
            ("99999999:metric:m", "from 1 to 1024"),
            ("1:metric:", "names nothing"),
            ("1:gauge:m", "none of time"),
            ("1:label:m", "must be a metric"),
            ("1:metric:m,1:label:a", "named twice"),
            ("1:metric:m,2:time:unix_s,3:time:unix_s", "two columns are times"),
            ("1:metric:m,2:time:custom:2006", "is not known"),
        ] {
            let error = CsvColumns::parse(format).unwrap_err();
            assert!(error.contains(word), "{format}: {error}");
        }
        assert!(CsvFormat::parse("a,,b").is_err());
        assert!(CsvFormat::parse("__timestamp__:custom:x").is_err());
        assert!(CsvFormat::parse(&"a,".repeat(2000)).is_err());
    }

    #[test]
    fn wide_lines_with_long_labels_take_little() {
        let wide: Vec<_> = (2..=1024).map(|at| format!("{at}:metric:m{at}")).collect();
        let text = format!("{}{}\n", "x".repeat(60_000), ",1".repeat(1023)).repeat(3);
        let (rows, rejects) = decode(&format!("1:label:a,{}", wide.join(",")), &text);
        assert_eq!((rows.len(), rejects.len()), (0, 3));
        let (rows, _) = decode("1:metric:m", &"1\n".repeat(PIECE_ROWS_MAX));
        assert_eq!(rows.len(), PIECE_ROWS_MAX);
    }
}
