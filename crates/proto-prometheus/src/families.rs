//! What targets expose as messages: `io.prometheus.client.MetricFamily`, each behind its length
//! (client_model's `metrics.proto`). This is the one form in which they expose native histograms.
//!
//! Names of series, and how bounds are spelled, are those of OpenMetrics' text, so that a series is
//! the same whichever form a target is asked for.

mod histogram;

use crate::answer::number;
use crate::exemplars::Exemplar;
use crate::group::Group;
use crate::key::{LABEL, NAME, push_label, read_label};
use crate::scraped::{Exposed, Measured, SeriesName, usual_nan};
use crate::wire::{Field, Fields, Value};
use crate::write::{PIECE_BYTES_MAX, PIECE_ROWS_MAX, Room, cell, time_ns};
use foliot_model::{Batch, Cell, DEFAULT_FIELD, Kind, Reject, Span};

/// What a name's suffix, `le` and `quantile` take at most beside the labels of a metric.
const LABELS_OWN_BYTES: usize = 400;

/// What is taken of histograms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Histograms {
    /// Native ones, where a metric has them.
    pub native: bool,
    /// Classic ones, also where it has native ones that are taken.
    pub classic: bool,
}

/// Families that are read metric by metric.
#[derive(Debug)]
pub struct Families<'a> {
    bytes: &'a [u8],
    at: usize,
    family: Option<Family<'a>>,
    /// Metrics that were read.
    metrics: u32,
    histograms: Histograms,
    group: Option<&'a Group>,
}

#[derive(Clone, Copy, Debug)]
struct Family<'a> {
    name: &'a str,
    kind: Type,
    rest: Fields<'a>,
}

/// What kind a family is of, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Counter,
    Gauge,
    Summary,
    Untyped,
    Histogram,
    GaugeHistogram,
}

impl Type {
    fn of(number: u64) -> Option<Self> {
        Some(match number {
            0 => Self::Counter,
            1 => Self::Gauge,
            2 => Self::Summary,
            3 => Self::Untyped,
            4 => Self::Histogram,
            5 => Self::GaugeHistogram,
            _ => return None,
        })
    }

    /// Its name in texts.
    fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Summary => "summary",
            Self::Untyped => "unknown",
            Self::Histogram => "histogram",
            Self::GaugeHistogram => "gaugehistogram",
        }
    }

    /// The field of a metric that holds its values.
    fn field(self) -> u64 {
        match self {
            Self::Gauge => 2,
            Self::Counter => 3,
            Self::Summary => 4,
            Self::Untyped => 5,
            Self::Histogram | Self::GaugeHistogram => 7,
        }
    }
}

/// Where what a metric comes to goes.
type Take<'t> = dyn FnMut(Exposed<'_>) -> Result<(), String> + 't;

impl<'a> Families<'a> {
    /// Families that lie one behind the other.
    pub fn new(bytes: &'a [u8], histograms: Histograms) -> Self {
        Self { bytes, at: 0, family: None, metrics: 0, histograms, group: None }
    }

    /// The same, all series of which have the labels of a group.
    pub fn of_group(self, group: &'a Group) -> Self {
        Self { group: Some(group), ..self }
    }

    /// Calls `take` with all that the next metric comes to, or with what describes a family;
    /// returns whether there was one.
    ///
    /// # Errors
    /// When the messages cannot be read, or `take` refuses.
    pub fn step(&mut self, take: &mut Take<'_>) -> Result<bool, String> {
        let Some(family) = &mut self.family else { return self.open(take) };
        let name = family.name;
        let told = |reason: String| format!("metric {name:?}: {reason}");
        while let Some(field) = family.rest.next().map_err(|bad| told(bad.to_string()))? {
            if field.number == 4 {
                self.metrics = self.metrics.saturating_add(1);
                let metric = Metric::read((self.bytes, self.group), &field, family.kind);
                let metric = metric.map_err(told)?;
                let stored = metric.expose(self.bytes, family, self.histograms, take);
                return stored.map(|()| true).map_err(told);
            }
        }
        self.family = None;
        Ok(true)
    }

    /// Reads what describes the next family.
    fn open(&mut self, take: &mut Take<'_>) -> Result<bool, String> {
        if self.at >= self.bytes.len() {
            return Ok(false);
        }
        let mut length = Fields::new(self.bytes, self.at, self.bytes.len());
        let bytes = usize::try_from(length.varint()?).unwrap_or(usize::MAX);
        let start = length.at();
        let end = start.checked_add(bytes).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or_else(|| format!("a family at byte {start} is cut"))?;
        let rest = Fields::new(self.bytes, start, end);
        let (mut name, mut help, mut unit, mut kind) = ("", "", "", Type::Counter);
        let mut fields = rest;
        while let Some(field) = fields.next()? {
            match (field.number, field.value) {
                (1, _) => name = text(self.bytes, &field)?,
                (2, _) => help = text(self.bytes, &field)?,
                (3, Value::Varint(number)) => {
                    let known = Type::of(number);
                    kind = known.ok_or_else(|| format!("{number} is no type of a family"))?;
                }
                (5, _) => unit = text(self.bytes, &field)?,
                _ => {}
            }
        }
        if name.is_empty() {
            return Err(format!("the family at byte {start} has no name"));
        }
        take(Exposed::Kind(name, kind.name()))?;
        if !help.is_empty() {
            take(Exposed::Help(name, help.into()))?;
        }
        if !unit.is_empty() {
            take(Exposed::Unit(name, unit))?;
        }
        (self.at, self.family) = (end, Some(Family { name, kind, rest }));
        Ok(true)
    }

    /// Calls `take` with what describes the families, and with none of their metrics.
    pub fn describe(mut self, take: &mut dyn FnMut(Exposed<'_>)) {
        let mut take = |said: Exposed<'_>| {
            take(said);
            Ok(())
        };
        while self.open(&mut take).is_ok_and(|is_there| is_there) {}
    }

    /// Checks that all of it can be read; returns how many exemplars it has.
    ///
    /// # Errors
    /// When it cannot.
    pub fn check(mut self) -> Result<u64, String> {
        let mut count = 0;
        while self.step(&mut |said| {
            if let Exposed::Sample { exemplars, .. } = said {
                count += exemplars.len() as u64;
            }
            Ok(())
        })? {}
        Ok(count)
    }

    /// Puts the next piece of what was checked into an empty batch, whose bytes are these; samples
    /// without a time are of `now_ms`. What cannot be stored becomes a reject, whose line is the
    /// number of its metric. Exemplars go to `exemplars`. Returns whether there may be more.
    pub fn decode(
        &mut self,
        batch: &mut Batch<'_>,
        now_ms: i64,
        (rejects, exemplars): (&mut Vec<Reject>, &mut crate::Exemplars),
    ) -> bool {
        let field = batch.push_scratch(|out| out.extend_from_slice(DEFAULT_FIELD.as_bytes()));
        let shape = batch.push_shape(&[field]);
        let mut room = Room { rows: PIECE_ROWS_MAX, bytes: PIECE_BYTES_MAX };
        while room.is_left() {
            let line = self.metrics.saturating_add(1);
            let stepped = self.step(&mut |said| {
                let Exposed::Sample { series, value, time_ms, exemplars: own } = said else {
                    return Ok(());
                };
                let (key, time_ms) = (series.bytes(), time_ms.unwrap_or(now_ms));
                let Some(time_ns) = time_ns(time_ms) else {
                    let reason = format!("timestamp {time_ms} cannot be stored");
                    rejects.push(Reject { line, field: "timestamp".into(), reason });
                    return Ok(());
                };
                for one in &own {
                    room.bytes = room.bytes.saturating_sub(key.len() + one.labels.len());
                    exemplars.push(&[key], one, now_ms);
                }
                let cell = match value {
                    Measured::Number(cell) => cell,
                    Measured::Histogram(of) => {
                        let bytes = batch.push_scratch(|out| of.write(out));
                        room.bytes = room.bytes.saturating_sub(bytes.length as usize);
                        Cell::bytes(Kind::Histogram, bytes)
                    }
                };
                let key = batch.push_scratch(|out| out.extend_from_slice(key));
                room.rows = room.rows.saturating_sub(1);
                room.bytes = room.bytes.saturating_sub(key.length as usize);
                batch.push_cell(cell);
                batch.push_row([Span::default(), key], time_ns, shape, line);
                Ok(())
            });
            // What was checked reads well again.
            if !stepped.unwrap_or(false) {
                return false;
            }
        }
        true
    }
}

/// A metric: its labels, packed, and where its values are.
struct Metric {
    labels: Vec<u8>,
    values: (usize, usize),
    time_ms: Option<i64>,
}

impl Metric {
    fn read(
        (bytes, group): (&[u8], Option<&Group>),
        field: &Field,
        kind: Type,
    ) -> Result<Self, String> {
        let (start, end) = field.range()?;
        let mut labels = group.map(|group| group.packed().to_owned()).unwrap_or_default();
        let (mut values, mut time_ms) = (None, None);
        let mut fields = Fields::new(bytes, start, end);
        while let Some(field) = fields.next()? {
            match (field.number, field.value) {
                (LABEL, _) => {
                    let (name, value) = label(bytes, &field)?;
                    if !group.is_some_and(|group| group.has(name.as_bytes())) {
                        push_label(name.as_bytes(), value.as_bytes(), &mut labels);
                    }
                }
                (6, Value::Varint(millis)) => time_ms = Some(millis as i64),
                (number, _) if number == kind.field() => values = Some(field.range()?),
                _ => {}
            }
        }
        let values = values.ok_or_else(|| format!("a {} has no value", kind.name()))?;
        Ok(Self { labels, values, time_ms })
    }

    fn expose(
        &self,
        bytes: &[u8],
        family: &Family<'_>,
        histograms: Histograms,
        take: &mut Take<'_>,
    ) -> Result<(), String> {
        let fields = Fields::new(bytes, self.values.0, self.values.1);
        let mut out = Out { metric: self, name: family.name, key: Vec::new(), take };
        match family.kind {
            Type::Counter | Type::Gauge | Type::Untyped => {
                let (value, exemplar) = number_of(bytes, fields)?;
                out.put("", None, value, exemplar.into_iter().collect())
            }
            Type::Summary => summary(bytes, fields, &mut out),
            Type::Histogram | Type::GaugeHistogram => {
                histogram::expose(bytes, fields, (family.kind, histograms), &mut out)
            }
        }
    }
}

/// Where series of a metric go.
struct Out<'o, 't> {
    metric: &'o Metric,
    name: &'o str,
    key: Vec<u8>,
    take: &'o mut Take<'t>,
}

impl Out<'_, '_> {
    /// A sample of the series with a suffix to its name and a label of its own.
    fn put(
        &mut self,
        suffix: &str,
        own: Option<(&str, f64)>,
        value: f64,
        exemplars: Vec<Exemplar>,
    ) -> Result<(), String> {
        let value = Measured::Number(cell(usual_nan(value)));
        self.put_measured(suffix, own, value, exemplars)
    }

    fn put_measured(
        &mut self,
        suffix: &str,
        own: Option<(&str, f64)>,
        value: Measured<'_>,
        exemplars: Vec<Exemplar>,
    ) -> Result<(), String> {
        self.key.clear();
        push_label(NAME, format!("{}{suffix}", self.name).as_bytes(), &mut self.key);
        if let Some((name, bound)) = own {
            push_label(name.as_bytes(), bound_text(bound).as_bytes(), &mut self.key);
        }
        self.key.extend_from_slice(&self.metric.labels);
        let (series, time_ms) = (SeriesName::Packed(&self.key), self.metric.time_ms);
        (self.take)(Exposed::Sample { series, value, time_ms, exemplars })
    }

    /// Refuses a metric of so many series that their labels take too much.
    fn check(&self, series: usize) -> Result<(), String> {
        let each = self.metric.labels.len() + self.name.len() + LABELS_OWN_BYTES;
        match series.saturating_mul(each) > PIECE_BYTES_MAX {
            true => Err("it has too many buckets or quantiles".to_owned()),
            false => Ok(()),
        }
    }
}

/// Value and exemplar of a counter, gauge or untyped one.
fn number_of(bytes: &[u8], mut fields: Fields<'_>) -> Result<(f64, Option<Exemplar>), String> {
    let (mut value, mut shown) = (0.0, None);
    while let Some(field) = fields.next()? {
        match (field.number, field.value) {
            (1, Value::Fixed64(bits)) => value = f64::from_bits(bits),
            (2, Value::Bytes(..)) => shown = Some(exemplar(bytes, &field)?),
            (1 | 2, _) => return Err(field.mistyped().into()),
            _ => {}
        }
    }
    Ok((value, shown))
}

fn summary(bytes: &[u8], mut fields: Fields<'_>, out: &mut Out<'_, '_>) -> Result<(), String> {
    let (mut count, mut sum, mut quantiles) = (0, 0.0, Vec::new());
    while let Some(field) = fields.next()? {
        match (field.number, field.value) {
            (1, Value::Varint(value)) => count = value,
            (2, Value::Fixed64(bits)) => sum = f64::from_bits(bits),
            (3, Value::Bytes(start, end)) => {
                let (mut quantile, mut value) = (0.0, 0.0);
                let mut fields = Fields::new(bytes, start, end);
                while let Some(field) = fields.next()? {
                    match (field.number, field.value) {
                        (1, Value::Fixed64(bits)) => quantile = f64::from_bits(bits),
                        (2, Value::Fixed64(bits)) => value = f64::from_bits(bits),
                        _ => {}
                    }
                }
                out.check(quantiles.len() + 3)?;
                quantiles.push((quantile, value));
            }
            (1..=3, _) => return Err(field.mistyped().into()),
            _ => {}
        }
    }
    out.put("_count", None, count as f64, Vec::new())?;
    out.put("_sum", None, sum, Vec::new())?;
    let mut each = quantiles.into_iter();
    each.try_for_each(|(quantile, value)| {
        out.put("", Some(("quantile", quantile)), value, Vec::new())
    })
}

/// Reads an exemplar.
fn exemplar(bytes: &[u8], field: &Field) -> Result<Exemplar, String> {
    let (start, end) = field.range()?;
    let mut read = Exemplar::default();
    let mut fields = Fields::new(bytes, start, end);
    while let Some(field) = fields.next()? {
        match (field.number, field.value) {
            (LABEL, _) => {
                let (name, value) = label(bytes, &field)?;
                push_label(name.as_bytes(), value.as_bytes(), &mut read.labels);
            }
            (2, Value::Fixed64(bits)) => read.value = f64::from_bits(bits),
            (3, Value::Bytes(start, end)) => {
                let (mut seconds, mut nanos) = (0, 0);
                let mut fields = Fields::new(bytes, start, end);
                while let Some(field) = fields.next()? {
                    match (field.number, field.value) {
                        (1, Value::Varint(value)) => seconds = value as i64,
                        (2, Value::Varint(value)) => nanos = value as i64,
                        _ => {}
                    }
                }
                let ms = seconds.saturating_mul(1000).saturating_add(nanos / 1_000_000);
                read.time_ms = Some(ms);
            }
            _ => {}
        }
    }
    Ok(read)
}

/// The text that a field holds.
fn text<'a>(bytes: &'a [u8], field: &Field) -> Result<&'a str, String> {
    let (start, end) = field.range()?;
    let text = std::str::from_utf8(bytes.get(start..end).unwrap_or_default());
    text.map_err(|_| format!("a text at byte {start} is no UTF-8"))
}

fn label<'a>(bytes: &'a [u8], field: &Field) -> Result<(&'a str, &'a str), String> {
    let (start, end) = field.range()?;
    let (name, value) = read_label(bytes, start, end)?;
    let text = |span: Span| {
        let (start, length) = (span.offset as usize, span.length as usize);
        let text = std::str::from_utf8(bytes.get(start..start + length).unwrap_or_default());
        text.map_err(|_| format!("a label at byte {start} is no UTF-8"))
    };
    Ok((text(name)?, text(value)?))
}

/// A bound or quantile as OpenMetrics' text of Prometheus' libraries has it: with a point or an
/// exponent always.
fn bound_text(bound: f64) -> String {
    if !bound.is_finite() || bound == 0.0 {
        return if bound == 0.0 { "0.0".to_owned() } else { number(bound) };
    }
    let spelled = format!("{bound:e}");
    let (mantissa, exponent) = spelled.split_once('e').unwrap_or((&spelled, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        let plain = bound.to_string();
        return if plain.contains('.') { plain } else { format!("{plain}.0") };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests;
