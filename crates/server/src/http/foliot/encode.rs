//! Answers to questions: series, each with its labels, times and values. A series is held until its
//! end, because its columns are written one after another, and then goes out.

use super::catalogue::kind_name;
use super::series::made_by;
use crate::makers::Makers;
use crate::query::{Failure, Spent};
use foliot_engine::Reads;
use foliot_exec::Ran;
use foliot_model::{
    Frame, Item, Kind, Labels, NANOS_PER_MILLI, NANOS_PER_SECOND, SeriesHead, Table, TableHead,
    Value, is_null_float,
};
use foliot_plan::grid::MEASUREMENT;
use hyper::StatusCode;
use serde_json::json;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

/// The unit of times in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Millis,
    /// As text, because readers of JSON lose the last digits of such numbers.
    Nanos,
}

impl Unit {
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "s" => Some(Self::Seconds),
            "ms" => Some(Self::Millis),
            "ns" => Some(Self::Nanos),
            _ => None,
        }
    }

    /// Writes a time.
    pub(super) fn write(self, time_ns: i64, out: &mut Vec<u8>) {
        // Writing to memory cannot fail.
        let _ = match self {
            Self::Seconds => write!(out, "{}", time_ns.div_euclid(NANOS_PER_SECOND)),
            Self::Millis => write!(out, "{}", time_ns.div_euclid(NANOS_PER_MILLI)),
            Self::Nanos => write!(out, "\"{time_ns}\""),
        };
    }
}

/// How times and values are spelled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spelling {
    pub(super) unit: Unit,
    /// Whether whole numbers beyond 2^53 are texts, of which readers of JSON lose no digits.
    pub(super) is_exact: bool,
}

/// The greatest whole number that every reader of JSON tells from the one before it and behind it.
const SAFE_MAX: u64 = (1 << 53) - 1;

/// What is told beside an answer.
pub(super) struct Told<'a> {
    pub(super) ran: &'a Ran,
    pub(super) reads: Reads,
    pub(super) times: Times,
    /// Warnings and hints in the words of the language.
    pub(super) notes: &'a [String],
    /// Tables as members of an array, where statements were asked that tell no samples, and how
    /// many of their rows are left out.
    pub(super) tables: Option<(&'a [u8], u64)>,
    /// How the question was read, where that is wanted and known.
    pub(super) tree: Option<&'a serde_json::Value>,
}

/// Writes an answer.
pub(super) struct Encoder<'a> {
    spelling: Spelling,
    /// Knows who made series, where that is told.
    makers: Option<&'a Makers>,
    /// Bytes that open series may hold.
    bytes_max: u64,
    is_begun: bool,
    samples: u64,
    series: u64,
    frames: Option<(Arc<SeriesHead>, Column)>,
    tables: Option<Columns>,
}

/// The columns of a table as series.
struct Columns {
    head: Arc<TableHead>,
    columns: Vec<Column>,
    /// Rows so far, and the time of the last one.
    rows: u32,
    last_ns: Option<i64>,
    /// Whether rows that follow each other have one time: then times do not tell which samples
    /// stand in one row.
    has_twins: bool,
}

impl<'a> Encoder<'a> {
    pub(super) fn new(spelling: Spelling, makers: Option<&'a Makers>, bytes_max: u64) -> Self {
        let (is_begun, samples, series) = (false, 0, 0);
        Self { spelling, makers, bytes_max, is_begun, samples, series, frames: None, tables: None }
    }

    /// Appends a frame of a series that is called `name`.
    pub(super) fn frame(
        &mut self,
        frame: &Frame,
        name: &str,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let continues =
            self.frames.as_ref().is_some_and(|(head, _)| Arc::ptr_eq(head, &frame.head));
        if !continues {
            self.close(out);
            let labels = pairs(&frame.head.labels);
            let varying = frame.head.varying.iter().map(|name| &**name).collect();
            let mut text = describe(name, "", labels, varying);
            if let (Some(makers), [sid]) = (self.makers, frame.head.members.as_slice())
                && let Some(maker) = makers.of(*sid)
            {
                // Writing to memory cannot fail.
                let _ = write!(text, ",\"made_by\":{}", made_by(maker));
            }
            // Members are listed where makers were asked, whoever may know these.
            if frame.head.members.len() == 1 {
                let SeriesHead { measurement, field, .. } = &*frame.head;
                let stored = json!({"measurement": &**measurement, "field": &**field});
                let _ = write!(text, ",\"stored\":{stored}");
            }
            self.frames = Some((frame.head.clone(), Column::new(text)));
        }
        if let Some((_, column)) = &mut self.frames {
            for (time_ns, value) in frame.samples.iter() {
                column.push(self.spelling, time_ns, value);
            }
            check(column.bytes(), self.bytes_max)?;
        }
        if frame.is_last {
            self.close(out);
        }
        Ok(())
    }

    /// Appends a piece of a table: a series for each column beside the time.
    pub(super) fn table(&mut self, table: &Table, out: &mut Vec<u8>) -> Result<(), Failure> {
        let continues =
            self.tables.as_ref().is_some_and(|open| Arc::ptr_eq(&open.head, &table.head));
        if !continues {
            self.close(out);
            let head = &table.head;
            let column = |name: &Arc<str>| {
                let labels = head.labels.iter().filter(|(_, value)| !value.is_empty());
                let labels = labels.map(|(name, value)| (&**name, &**value)).collect();
                Column::new(describe(&head.name, name, labels, Vec::new()))
            };
            let columns = head.columns.iter().skip(1).map(column).collect();
            let head = head.clone();
            self.tables = Some(Columns { head, columns, rows: 0, last_ns: None, has_twins: false });
        }
        if let Some(Columns { columns, rows, last_ns, has_twins, .. }) = &mut self.tables {
            let Some((times, rest)) = table.columns.split_first() else { return Ok(()) };
            for (column, items) in columns.iter_mut().zip(rest) {
                for (row, (time, item)) in (*rows..).zip(times.iter().zip(items.iter())) {
                    if let (Item::Time(time_ns), Some(value)) = (&*time, value_of(&item)) {
                        column.push(self.spelling, *time_ns, value);
                        column.rows.push(row);
                    }
                }
            }
            for time in times.iter() {
                if let Item::Time(time_ns) = &*time {
                    *has_twins |= last_ns.replace(*time_ns) == Some(*time_ns);
                }
            }
            *rows = rows.saturating_add(table.row_count() as u32);
            check(columns.iter().map(Column::bytes).sum(), self.bytes_max)?;
        }
        if table.is_last {
            self.close(out);
        }
        Ok(())
    }

    /// Appends a series of values at instants, as PromQL answers; where it has none is no sample.
    pub(super) fn row(
        &mut self,
        labels: &Labels,
        values: impl Iterator<Item = (i64, f64)>,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        self.close(out);
        let mut labels = pairs(labels);
        let of_name = |(name, _): &(&str, &str)| *name == MEASUREMENT;
        let name = labels.iter().find(|pair| of_name(pair)).map_or("", |(_, value)| value);
        labels.retain(|pair| !of_name(pair));
        let mut column = Column::new(describe(name, "", labels, Vec::new()));
        for (time_ns, value) in values {
            column.push(self.spelling, time_ns, Value::Float(value));
        }
        check(column.bytes(), self.bytes_max)?;
        self.frames = Some((Arc::default(), column));
        self.close(out);
        Ok(())
    }

    /// Writes the series that are open.
    fn close(&mut self, out: &mut Vec<u8>) {
        let of_frames = self.frames.take().map(|(_, column)| column);
        let of_tables = self.tables.take().map(|mut open| {
            if !open.has_twins {
                open.columns.iter_mut().for_each(|column| column.rows.clear());
            }
            open.columns
        });
        for column in of_frames.into_iter().chain(of_tables.unwrap_or_default()) {
            // A column of nothing but gaps is no series.
            if column.samples > 0 {
                self.begin(out);
                self.samples += column.samples;
                self.series += 1;
                column.finish(out);
            }
        }
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(if self.is_begun { b"," } else { b"{\"series\":[" });
        self.is_begun = true;
    }

    /// Ends the answer with what it cost, and with what is to be said of it.
    pub(super) fn finish(mut self, told: &Told<'_>, out: &mut Vec<u8>) {
        let Told { ran, reads, times, notes, tables, tree } = told;
        self.close(out);
        if !self.is_begun {
            out.extend_from_slice(b"{\"series\":[");
        }
        let figures = Figures {
            series: self.series,
            samples: self.samples,
            series_read: ran.series_selected,
            samples_read: ran.samples_scanned,
            memory_peak_bytes: ran.memory_peak_bytes,
            times: *times,
            reads: *reads,
        };
        let figures = figures.told();
        let _ = write!(out, "],\"notes\":{},", json!(notes));
        if let Some((tables, left_out)) = tables {
            out.extend_from_slice(b"\"tables\":[");
            out.extend_from_slice(tables);
            let _ = write!(out, "],\"rows_left_out\":{left_out},");
        }
        if let Some(tree) = tree {
            let _ = write!(out, "\"tree\":{tree},");
        }
        let _ = write!(out, "\"figures\":{figures}}}");
    }
}

/// Where the time of a question went.
#[derive(Clone, Copy, Default)]
pub(super) struct Times {
    /// From when it was asked until it was begun.
    pub(super) waited: Duration,
    /// From then on.
    pub(super) took: Duration,
    /// What of that is known.
    pub(super) spent: Spent,
}

impl Times {
    /// Finding out what names mean, and making plans.
    fn planning(&self) -> Duration {
        self.took.saturating_sub(self.spent.steps).saturating_sub(self.spent.printing)
    }
}

/// What a question cost.
#[derive(Default)]
pub(super) struct Figures {
    pub(super) series: u64,
    pub(super) samples: u64,
    pub(super) series_read: u64,
    pub(super) samples_read: u64,
    pub(super) memory_peak_bytes: u64,
    pub(super) times: Times,
    pub(super) reads: Reads,
}

impl Figures {
    pub(super) fn told(&self) -> serde_json::Value {
        let Self { reads, times, .. } = self;
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        json!({
            "series": self.series,
            "samples": self.samples,
            "series_read": self.series_read,
            "samples_read": self.samples_read,
            "memory_peak_bytes": self.memory_peak_bytes,
            "took_ms": ms(times.took),
            "planning_ms": ms(times.planning()),
            "steps_ms": ms(times.spent.steps),
            "printing_ms": ms(times.spent.printing),
            "waited_ms": ms(times.waited),
            "blocks_read": reads.blocks_read,
            "blocks_summed": reads.blocks_summed,
            "blocks_skipped": reads.blocks_skipped,
            "bytes_read": reads.bytes_read,
            "pages_cached": reads.pages_cached,
            "pages_loaded": reads.pages_loaded,
        })
    }
}

fn check(bytes: usize, bytes_max: u64) -> Result<(), Failure> {
    match bytes as u64 > bytes_max {
        false => Ok(()),
        true => {
            let text = format!(
                "a series of the answer takes more than {bytes_max} bytes \
                 (limits.query_memory_bytes); ask for a shorter time or wider steps"
            );
            Err(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, text))
        }
    }
}

fn pairs(labels: &Labels) -> Vec<(&str, &str)> {
    labels.iter().map(|label| (&*label.name, &*label.value)).collect()
}

/// The beginning of a series, up to its samples.
fn describe(name: &str, field: &str, labels: Vec<(&str, &str)>, varying: Vec<&str>) -> String {
    let labels = labels.into_iter().map(|(name, value)| (name.to_owned(), json!(value)));
    let labels: serde_json::Map<_, _> = labels.collect();
    let head = json!({"name": name, "field": field, "labels": labels, "varying": varying});
    let mut text = head.to_string();
    text.pop();
    text
}

pub(super) fn value_of(item: &Item) -> Option<Value<'_>> {
    Some(match item {
        Item::Null => return None,
        Item::Float(value) => Value::Float(*value),
        Item::Integer(value) | Item::Time(value) => Value::Integer(*value),
        Item::Unsigned(value) => Value::Unsigned(*value),
        Item::Boolean(value) => Value::Boolean(*value),
        Item::String(text) => Value::String(text),
    })
}

/// A series as it grows.
struct Column {
    head: String,
    samples: u64,
    times: Vec<u8>,
    values: Vec<u8>,
    kind: Option<Kind>,
    /// The kind of each sample, once they differ.
    kinds: Vec<Kind>,
    /// The row of each sample, in a table.
    rows: Vec<u32>,
}

impl Column {
    fn new(head: String) -> Self {
        let (times, values) = (Vec::new(), Vec::new());
        let (kinds, rows) = (Vec::new(), Vec::new());
        Self { head, samples: 0, times, values, kind: None, kinds, rows }
    }

    fn bytes(&self) -> usize {
        let text = self.head.len() + self.times.len() + self.values.len();
        text + self.kinds.len() + self.rows.len() * size_of::<u32>()
    }

    fn push(&mut self, spelling: Spelling, time_ns: i64, value: Value<'_>) {
        if self.samples > 0 {
            self.times.push(b',');
            self.values.push(b',');
        }
        spelling.unit.write(time_ns, &mut self.times);
        write_value(value, spelling.is_exact, &mut self.values);
        let kind = value.kind();
        let first = *self.kind.get_or_insert(kind);
        if kind != first && self.kinds.is_empty() {
            self.kinds = vec![first; self.samples as usize];
        }
        if kind != first || !self.kinds.is_empty() {
            self.kinds.push(kind);
        }
        self.samples += 1;
    }

    fn finish(self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.head.as_bytes());
        let kind = match self.kinds.is_empty() {
            true => self.kind.map_or("float", kind_name),
            false => "mixed",
        };
        let _ = write!(out, ",\"kind\":\"{kind}\",\"times\":[");
        out.extend_from_slice(&self.times);
        out.extend_from_slice(b"],\"values\":[");
        out.extend_from_slice(&self.values);
        out.push(b']');
        if !self.kinds.is_empty() {
            let kinds: Vec<&str> = self.kinds.iter().copied().map(kind_name).collect();
            let _ = write!(out, ",\"kinds\":{}", json!(kinds));
        }
        if !self.rows.is_empty() {
            let _ = write!(out, ",\"rows\":{}", json!(self.rows));
        }
        out.push(b'}');
    }
}

/// Numbers as JSON has them; what it has no number for as text, and what readers lose digits of, if
/// it is to be exact.
pub(super) fn write_value(value: Value<'_>, is_exact: bool, out: &mut Vec<u8>) {
    let _ = match value {
        Value::Float(value) if is_null_float(value) => write!(out, "null"),
        Value::Float(value) if value.is_nan() => write!(out, "\"NaN\""),
        Value::Float(value) if value.is_infinite() => {
            write!(out, "\"{}Infinity\"", if value < 0.0 { "-" } else { "" })
        }
        Value::Float(value) => write!(out, "{value:?}"),
        Value::Integer(value) if is_exact && value.unsigned_abs() > SAFE_MAX => {
            write!(out, "\"{value}\"")
        }
        Value::Unsigned(value) if is_exact && value > SAFE_MAX => write!(out, "\"{value}\""),
        Value::Integer(value) => write!(out, "{value}"),
        Value::Unsigned(value) => write!(out, "{value}"),
        Value::Boolean(value) => write!(out, "{value}"),
        Value::String(text) => write!(out, "{}", json!(text)),
        // The doors own the meaning of these bytes.
        Value::Histogram(_) => write!(out, "null"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use foliot_model::{Label, Samples, Values};

    fn answer(feed: impl FnOnce(&mut Encoder<'_>, &mut Vec<u8>)) -> serde_json::Value {
        let mut out = Vec::new();
        let mut encoder =
            Encoder::new(Spelling { unit: Unit::Nanos, is_exact: false }, None, 1 << 20);
        feed(&mut encoder, &mut out);
        let (ran, reads) = (&Ran::default(), Reads::default());
        let told =
            Told { ran, reads, times: Times::default(), notes: &[], tables: None, tree: None };
        encoder.finish(&told, &mut out);
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn a_series_in_pieces_is_one_and_says_its_kinds() {
        let head = Arc::new(SeriesHead::default());
        let answer = answer(|encoder, out| {
            for (at, is_last) in [(1, false), (2, true)] {
                let mut samples = Samples::default();
                let value = if is_last { Value::Integer(7) } else { Value::Float(7.0) };
                samples.push(at, value);
                let frame = Frame { head: head.clone(), samples, is_last };
                encoder.frame(&frame, "a\"<b", out).unwrap();
            }
        });
        let series = &answer["series"][0];
        assert_eq!(series["name"], "a\"<b");
        assert_eq!(series["times"], json!(["1", "2"]));
        assert_eq!(series["values"].to_string(), "[7.0,7]");
        assert_eq!(
            (&series["kind"], &series["kinds"]),
            (&json!("mixed"), &json!(["float", "integer"]))
        );
        assert_eq!(answer["figures"]["samples"], 2);
    }

    #[test]
    fn columns_become_series_and_gaps_are_left_out() {
        let columns: Arc<[Arc<str>]> =
            ["time".into(), "a".into(), "b".into(), "none".into()].into();
        let labels = vec![("host".into(), "x".into()), ("rack".into(), "".into())];
        let head = Arc::new(TableHead { name: "m".into(), labels, columns });
        let items = vec![
            Item::Time(5),
            Item::Float(f64::INFINITY),
            Item::Null,
            Item::Null,
            Item::Time(6),
            Item::Float(f64::NAN),
            Item::String("\u{1}".into()),
            Item::Null,
        ];
        let answer = answer(|encoder, out| {
            encoder.table(&Table::of_rows(head, items, true), out).unwrap();
        });
        let series = answer["series"].as_array().unwrap();
        assert_eq!(series.len(), 2);
        assert_eq!(series[0]["labels"], json!({"host": "x"}));
        assert_eq!(series[0]["values"], json!(["Infinity", "NaN"]));
        assert_eq!((&series[1]["field"], &series[1]["times"]), (&json!("b"), &json!(["6"])));
        assert_eq!(series[1]["values"], json!(["\u{1}"]));
    }

    #[test]
    fn a_row_is_called_by_its_measurement_and_has_no_other_label_of_that_name() {
        let answer = answer(|encoder, out| {
            let label = |name: &str, value: &str| Label { name: name.into(), value: value.into() };
            let labels = Labels::new(vec![label(MEASUREMENT, "up"), label("job", "x")]);
            encoder.row(&labels, [(1, 0.5), (2, f64::NAN)].into_iter(), out).unwrap();
            encoder.row(&Labels::default(), std::iter::empty(), out).unwrap();
        });
        let series = answer["series"].as_array().unwrap();
        assert_eq!(series.len(), 1);
        assert_eq!(
            (&series[0]["name"], &series[0]["labels"]),
            (&json!("up"), &json!({"job": "x"}))
        );
        assert_eq!(series[0]["values"], json!([0.5, "NaN"]));
    }

    #[test]
    fn nothing_is_an_answer_and_too_much_is_none() {
        assert_eq!(answer(|_, _| {})["series"], json!([]));
        let samples = Samples { times_ns: vec![0; 99], values: Values::Float(vec![0.5; 99]) };
        let frame = Frame { head: Arc::default(), samples, is_last: true };
        let mut encoder = Encoder::new(Spelling { unit: Unit::Millis, is_exact: false }, None, 50);
        let failure = encoder.frame(&frame, "m", &mut Vec::new()).unwrap_err();
        assert!(failure.message.contains("limits.query_memory_bytes"), "{}", failure.message);
    }
}
