//! OpenTelemetry's metrics, as OTLP sends them: `ExportMetricsServiceRequest` into batches, piece
//! by piece.
//!
//! Messages are walked where they lie, as those of remote write are: resources, their scopes,
//! metrics, and data points. A data point becomes one sample, or as many as a classic histogram or
//! a summary has series; an exponential histogram becomes a native one.
//!
//! The same walk is gone twice: [`OtlpRequest::parse`] reads all of it, so that nothing of a
//! malformed request is stored, and [`OtlpRequest::decode`] stores.

mod attributes;
mod described;
mod exemplar;
mod json;
mod names;
mod point;

pub use names::Naming;

use crate::exemplars::{Exemplar, Exemplars};
use crate::samples::{STALE, pack_labels};
use crate::wire::{Field, Fields, Value, push_bytes, push_varint};
use crate::write::{Malformed, PIECE_BYTES_MAX, PIECE_ROWS_MAX, Room, cell, time_ns};
use attributes::Attributes;
use foliot_model::{Batch, Cell, DEFAULT_FIELD, Histogram, Kind, Reject, Span};
use names::Told;
use point::{Point, Shape};
use serde_json::json;
use std::collections::BTreeMap;

/// What is at fault, and why.
type Fault = (&'static str, String);

/// Labels by their names.
type Labels = BTreeMap<String, String>;

/// Temporality that says that counts go on from point to point.
const CUMULATIVE: u64 = 2;

/// Data points of one request. Two bytes of a body are a point, and 60 KB that were packed can be
/// thirty million of them, each of which takes work and a refusal; senders put some thousands into
/// a request.
const POINTS_MAX: u32 = 1 << 20;

/// What identifies a resource to Prometheus.
const SERVICE: &str = "service.name";
const SERVICE_NAMESPACE: &str = "service.namespace";
const SERVICE_INSTANCE: &str = "service.instance.id";

/// A request that is decoded piece by piece.
#[derive(Debug)]
pub struct OtlpRequest<'a> {
    bytes: &'a [u8],
    naming: Naming,
    now_ms: i64,
    walk: Walk<'a>,
    exemplar_count: u64,
    /// Data points that were decoded.
    points: u32,
}

impl<'a> OtlpRequest<'a> {
    /// Checks a whole request. A point without a time is of `now_ms` where VictoriaMetrics names.
    ///
    /// # Errors
    /// When it is not such a message, or has too many data points.
    pub fn parse(naming: Naming, now_ms: i64, bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut walk = Walk::new(bytes);
        let (mut exemplar_count, mut points) = (0, 0);
        loop {
            match walk.next()? {
                Step::Point(field, metric) => {
                    points += 1;
                    if points > POINTS_MAX {
                        let most = format!("it has more than {POINTS_MAX} data points");
                        return Err(Malformed(most));
                    }
                    exemplar_count += Point::read(bytes, &field, metric.shape)?.exemplars;
                }
                Step::Left(_) => {}
                Step::Over => break,
            }
        }
        let walk = Walk::new(bytes);
        Ok(Self { bytes, naming, now_ms, walk, exemplar_count, points: 0 })
    }

    /// How many exemplars it has.
    pub fn exemplar_count(&self) -> u64 {
        self.exemplar_count
    }

    /// Puts the next piece into an empty batch, whose bytes are the request's. What cannot be
    /// stored becomes a reject, whose line is the number of its data point. Exemplars go to
    /// `exemplars`, as far as they are taken. Returns whether there may be more.
    pub fn decode(
        &mut self,
        batch: &mut Batch<'_>,
        (rejects, exemplars): (&mut Vec<Reject>, &mut Exemplars),
    ) -> bool {
        let field = batch.push_scratch(|out| out.extend_from_slice(DEFAULT_FIELD.as_bytes()));
        let shape = batch.push_shape(&[field]);
        let mut room = Room { rows: PIECE_ROWS_MAX, bytes: PIECE_BYTES_MAX };
        while room.is_left() {
            let (line, room, exemplars) = (self.points, &mut room, &mut *exemplars);
            let mut out = Out { batch: &mut *batch, shape, line, room, exemplars };
            // What was checked reads well again.
            match self.walk.next() {
                Ok(Step::Point(field, metric)) => {
                    self.points = self.points.saturating_add(1);
                    out.line = self.points;
                    let read = Point::read(self.bytes, &field, metric.shape);
                    let Ok(mut point) = read else { continue };
                    if point.time_ms == 0 && self.naming == Naming::VictoriaMetrics {
                        point.time_ms = self.now_ms;
                    }
                    let newest = &mut metric.resource.newest_ms;
                    *newest = (*newest).max(Some(point.time_ms));
                    let stored =
                        metric.store((self.naming, self.bytes), (&point, &field), &mut out);
                    if let Err((field, reason)) = stored {
                        out.room.rows = out.room.rows.saturating_sub(1);
                        rejects.push(Reject { line: self.points, field: field.into(), reason });
                    }
                }
                Ok(Step::Left(resource)) => {
                    if let Some((key, time_ns)) = resource.info(self.naming) {
                        out.push(&key, &[], cell(1.0), time_ns);
                    }
                }
                Ok(Step::Over) | Err(_) => return false,
            }
        }
        true
    }
}

/// The answer to a request, `ExportMetricsServiceResponse`: how many data points are refused, and
/// why the first of them.
pub fn otlp_answer(refused: u64, reason: &str) -> Vec<u8> {
    let (mut partial, mut out) = (Vec::new(), Vec::new());
    if refused > 0 {
        partial.push(1 << 3);
        push_varint(refused, &mut partial);
        push_bytes(2, reason.as_bytes(), &mut partial);
        push_bytes(1, &partial, &mut out);
    }
    out
}

/// Bytes of memory that reading a request in JSON takes for each of its own at most.
pub const OTLP_JSON_BYTES_MAX: usize = json::BYTES_PER_BYTE_MAX;

/// The request in protobuf that a request in JSON is: it may be five times as long.
///
/// # Errors
/// When it is none.
pub fn otlp_of_json(json: &[u8]) -> Result<Vec<u8>, Malformed> {
    json::request_of_json(json)
}

/// The answer to a request in JSON: the same as [`otlp_answer`].
pub fn otlp_json_answer(refused: u64, reason: &str) -> String {
    match refused {
        0 => "{}".to_owned(),
        refused => {
            let refused = refused.to_string();
            let partial = json!({"rejectedDataPoints": refused, "errorMessage": reason});
            json!({"partialSuccess": partial}).to_string()
        }
    }
}

/// Where a request is being read.
#[derive(Debug)]
struct Walk<'a> {
    bytes: &'a [u8],
    resources: Fields<'a>,
    resource: Option<Resource<'a>>,
    /// Metrics of a scope.
    metrics: Option<Fields<'a>>,
    metric: Option<Metric<'a>>,
}

/// What comes next.
enum Step<'a, 'w> {
    Point(Field, OfPoint<'a, 'w>),
    /// All points of a resource were passed.
    Left(Resource<'a>),
    Over,
}

/// What a data point belongs to.
struct OfPoint<'a, 'w> {
    shape: Shape,
    metric: &'w Metric<'a>,
    resource: &'w mut Resource<'a>,
}

/// A resource: what is measured.
#[derive(Debug)]
struct Resource<'a> {
    attributes: Attributes<'a>,
    scopes: Fields<'a>,
    /// Time of its newest point.
    newest_ms: Option<i64>,
}

/// A metric, and its points that were not read yet.
#[derive(Debug)]
struct Metric<'a> {
    name: &'a [u8],
    help: &'a [u8],
    unit: &'a [u8],
    shape: Shape,
    points: Fields<'a>,
    temporality: u64,
    is_monotonic: bool,
}

impl<'a> Walk<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let resources = Fields::new(bytes, 0, bytes.len());
        Self { bytes, resources, resource: None, metrics: None, metric: None }
    }

    fn next(&mut self) -> Result<Step<'a, '_>, Malformed> {
        loop {
            if let Some(metric) = &mut self.metric {
                match metric.points.next()? {
                    Some(point) if point.number == 1 => return Ok(self.point(point)),
                    Some(_) => {}
                    None => self.metric = None,
                }
            } else if let Some(metrics) = &mut self.metrics {
                match metrics.next()? {
                    Some(metric) if metric.number == 2 => {
                        self.metric = Metric::open(self.bytes, &metric)?;
                    }
                    Some(_) => {}
                    None => self.metrics = None,
                }
            } else if let Some(resource) = &mut self.resource {
                match resource.scopes.next()? {
                    Some(scope) if scope.number == 2 => {
                        self.metrics = Some(inside(self.bytes, &scope)?);
                    }
                    Some(_) => {}
                    None => {
                        if let Some(resource) = self.resource.take() {
                            return Ok(Step::Left(resource));
                        }
                    }
                }
            } else {
                match self.resources.next()? {
                    Some(resource) if resource.number == 1 => {
                        self.resource = Some(Resource::open(self.bytes, &resource)?);
                    }
                    Some(_) => {}
                    None => return Ok(Step::Over),
                }
            }
        }
    }

    fn point(&mut self, field: Field) -> Step<'a, '_> {
        match (&self.metric, &mut self.resource) {
            (Some(metric), Some(resource)) => {
                Step::Point(field, OfPoint { shape: metric.shape, metric, resource })
            }
            _ => Step::Over,
        }
    }
}

/// The fields of a message that a field holds.
fn inside<'a>(bytes: &'a [u8], field: &Field) -> Result<Fields<'a>, Malformed> {
    let (start, end) = field.range()?;
    Ok(Fields::new(bytes, start, end))
}

/// The bytes that a field holds.
fn text<'a>(bytes: &'a [u8], field: &Field) -> Result<&'a [u8], Malformed> {
    let (start, end) = field.range()?;
    Ok(bytes.get(start..end).unwrap_or_default())
}

impl<'a> Resource<'a> {
    /// What describes it may stand behind its metrics.
    fn open(bytes: &'a [u8], field: &Field) -> Result<Self, Malformed> {
        let scopes = inside(bytes, field)?;
        let (mut fields, mut attributes) = (scopes, Attributes::default());
        while let Some(field) = fields.next()? {
            if field.number != 1 {
                continue;
            }
            let mut described = inside(bytes, &field)?;
            while let Some(field) = described.next()? {
                if field.number == 1 {
                    attributes.read(bytes, &field)?;
                }
            }
        }
        Ok(Self { attributes, scopes, newest_ms: None })
    }

    /// Adds the labels that all series of it have.
    fn label(&self, naming: Naming, labels: &mut Labels) -> Result<(), Fault> {
        if naming == Naming::VictoriaMetrics {
            return self.attributes.add(naming, labels, |_| true);
        }
        let of = |name| self.attributes.value(name);
        if let Some(service) = of(SERVICE) {
            let job = match of(SERVICE_NAMESPACE) {
                Some(namespace) => format!("{namespace}/{service}"),
                None => service,
            };
            labels.insert("job".to_owned(), job);
        }
        if let Some(instance) = of(SERVICE_INSTANCE) {
            labels.insert("instance".to_owned(), instance);
        }
        Ok(())
    }

    /// Series and time of the sample that tells Prometheus what else is known of it.
    fn info(&self, naming: Naming) -> Option<(Vec<u8>, i64)> {
        let newest = self.newest_ms.filter(|_| naming == Naming::Prometheus);
        let time_ns = time_ns(newest?)?;
        let mut labels = Labels::new();
        let is_other = |name: &str| ![SERVICE, SERVICE_NAMESPACE, SERVICE_INSTANCE].contains(&name);
        self.attributes.add(naming, &mut labels, is_other).ok()?;
        let has_others = !labels.is_empty();
        let mut known = Labels::new();
        self.label(naming, &mut known).ok()?;
        if !has_others || known.is_empty() {
            return None;
        }
        labels.extend(known);
        labels.insert("__name__".to_owned(), "target_info".to_owned());
        Some((pack(&labels), time_ns))
    }
}

fn pack(labels: &Labels) -> Vec<u8> {
    pack_labels(labels.iter().map(|(name, value)| (&**name, &**value)))
}

impl<'a> Metric<'a> {
    /// Nothing when it has no points of a known shape.
    fn open(bytes: &'a [u8], field: &Field) -> Result<Option<Self>, Malformed> {
        let [mut name, mut help, mut unit] = [&b""[..]; 3];
        let mut data = None;
        let mut fields = inside(bytes, field)?;
        while let Some(field) = fields.next()? {
            match field.number {
                1 => name = text(bytes, &field)?,
                2 => help = text(bytes, &field)?,
                3 => unit = text(bytes, &field)?,
                number => {
                    if let Some(shape) = Shape::of_field(number) {
                        data = Some((shape, inside(bytes, &field)?));
                    }
                }
            }
        }
        let Some((shape, points)) = data else { return Ok(None) };
        let (mut temporality, mut is_monotonic) = (0, false);
        let mut fields = points;
        while let Some(field) = fields.next()? {
            match (field.number, field.value) {
                (2, Value::Varint(value)) => temporality = value,
                (3, Value::Varint(value)) => is_monotonic = value != 0,
                _ => {}
            }
        }
        Ok(Some(Self { name, help, unit, shape, points, temporality, is_monotonic }))
    }

    fn told(&self) -> Told {
        match self.shape {
            Shape::Gauge => Told::Gauge,
            Shape::Sum if self.is_monotonic => Told::Total,
            _ => Told::Nothing,
        }
    }
}

impl OfPoint<'_, '_> {
    /// Stores all samples of a point, or says why it stores none.
    fn store(
        &self,
        (naming, bytes): (Naming, &[u8]),
        (point, field): (&Point<'_>, &Field),
        out: &mut Out<'_, '_>,
    ) -> Result<(), Fault> {
        let metric = self.metric;
        let [name, unit] = [metric.name, metric.unit].map(String::from_utf8_lossy);
        for (what, text) in [("name", metric.name), ("unit", metric.unit)] {
            if std::str::from_utf8(text).is_err() {
                return Err(("metric", format!("metric {name:?} has a {what} that is no UTF-8")));
            }
        }
        self.resource.attributes.check()?;
        let base = names::metric(naming, &name, &unit, metric.told());
        if base.is_empty() {
            return Err(("metric", format!("metric {name:?} has no name that can be stored")));
        }
        let is_counted = !matches!(metric.shape, Shape::Gauge | Shape::Summary);
        if is_counted && metric.temporality != CUMULATIVE {
            let reason = format!(
                "metric {name:?} has {} temporality, and only cumulative is taken: set \
                 OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=cumulative for the SDK, or put \
                 the processor deltatocumulative into the collector's pipeline",
                if metric.temporality == 1 { "delta" } else { "no known" }
            );
            return Err(("value", reason));
        }
        let time_ns = time_ns(point.time_ms).ok_or_else(|| {
            ("timestamp", format!("timestamp {} ms cannot be stored", point.time_ms))
        })?;
        let mut labels = Labels::new();
        if naming == Naming::VictoriaMetrics {
            self.resource.label(naming, &mut labels)?;
        }
        point.attributes.add(naming, &mut labels, |_| true)?;
        if naming == Naming::Prometheus {
            self.resource.label(naming, &mut labels)?;
        }
        for own in ["__name__", metric.shape.own_label()] {
            labels.remove(own);
        }
        let series = Series { base, labels: pack(&labels), time_ns, is_stale: point.is_stale };
        series.store(metric.shape, point, out)?;
        if point.exemplars > 0 {
            let of = (metric.shape, point);
            // What was checked reads well again.
            let _ = Point::exemplars(bytes, field, metric.shape, &mut |field| {
                series.exemplar(of, exemplar::read(bytes, field, naming).ok(), out)
            });
        }
        Ok(())
    }
}

/// The series that samples of a point go to.
struct Series {
    base: String,
    labels: Vec<u8>,
    time_ns: i64,
    is_stale: bool,
}

impl Series {
    fn store(&self, shape: Shape, point: &Point<'_>, out: &mut Out<'_, '_>) -> Result<(), Fault> {
        let series = point.list.len().max(point.bounds.len()).saturating_add(3);
        let each = self.labels.len() + self.base.len() + LABELS_OWN_BYTES;
        let is_many = series.saturating_mul(each) > PIECE_BYTES_MAX;
        if point.is_over || (shape != Shape::Exponential && is_many) {
            let reason = format!("a point of {} has too many buckets or quantiles", self.base);
            return Err(("limit", reason));
        }
        let whole = point.count as f64;
        match shape {
            Shape::Gauge | Shape::Sum => self.number("", None, point.value, out),
            Shape::Exponential => {
                let histogram = match self.is_stale {
                    true => Ok(Histogram { sum: STALE, ..Histogram::default() }),
                    false => point.native(),
                };
                let histogram = histogram.map_err(|fault| ("value", fault.to_string()))?;
                let bytes = out.batch.push_scratch(|out| histogram.write(out));
                out.room.bytes = out.room.bytes.saturating_sub(bytes.length as usize);
                let key = pack_labels([("__name__", &*self.base)].into_iter());
                out.push(&key, &self.labels, Cell::bytes(Kind::Histogram, bytes), self.time_ns);
            }
            Shape::Histogram => {
                // A bound that is no number compares with none.
                if !point.bounds.is_sorted_by(|one, next| one < next)
                    || point.bounds.iter().any(|bound| bound.is_nan())
                {
                    let reason = format!("a point of {} has bounds that do not ascend", self.base);
                    return Err(("value", reason));
                }
                let mut counted = 0u64;
                for (bound, count) in point.bounds.iter().zip(&point.list) {
                    counted = counted.saturating_add(*count);
                    let bound = bound_text(*bound);
                    self.number("_bucket", Some(("le", &bound)), counted as f64, out);
                }
                self.number("_bucket", Some(("le", "+Inf")), whole, out);
                if let Some(sum) = point.sum {
                    self.number("_sum", None, sum, out);
                }
                self.number("_count", None, whole, out);
            }
            Shape::Summary => {
                self.number("_sum", None, point.sum.unwrap_or_default(), out);
                self.number("_count", None, whole, out);
                for (quantile, value) in point.bounds.iter().zip(&point.list) {
                    let quantile = bound_text(*quantile);
                    let value = f64::from_bits(*value);
                    self.number("", Some(("quantile", &quantile)), value, out);
                }
            }
        }
        Ok(())
    }

    /// Lists an exemplar of a point: one of a classic histogram belongs to the bucket that its
    /// value is in. Returns whether there is room for more.
    fn exemplar(
        &self,
        (shape, point): (Shape, &Point<'_>),
        exemplar: Option<Exemplar>,
        out: &mut Out<'_, '_>,
    ) -> bool {
        let Some(exemplar) = exemplar else { return true };
        let bound = point.bounds.iter().find(|bound| exemplar.value <= **bound);
        let bound = bound.map_or_else(|| "+Inf".to_owned(), |bound| bound_text(*bound));
        let (suffix, own) = match shape {
            Shape::Histogram => ("_bucket", Some(("le", &*bound))),
            _ => ("", None),
        };
        let name = format!("{}{suffix}", self.base);
        let head = pack_labels([("__name__", &*name)].into_iter().chain(own));
        let bytes = head.len() + self.labels.len() + exemplar.labels.len();
        out.room.rows = out.room.rows.saturating_sub(1);
        out.room.bytes = out.room.bytes.saturating_sub(bytes);
        out.exemplars.push(&[&head, &self.labels], &exemplar, 0);
        out.room.is_left()
    }

    fn number(&self, suffix: &str, own: Option<(&str, &str)>, value: f64, out: &mut Out<'_, '_>) {
        let name = format!("{}{suffix}", self.base);
        let head = pack_labels([("__name__", &*name)].into_iter().chain(own));
        let value = if self.is_stale { STALE } else { value };
        out.push(&head, &self.labels, cell(value), self.time_ns);
    }
}

/// What name, `le` and `quantile` take at most beside the labels of a point.
const LABELS_OWN_BYTES: usize = 400;

/// A bound or a quantile as Prometheus' label has it: decimal, without an exponent.
fn bound_text(bound: f64) -> String {
    match bound {
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        bound => bound.to_string(),
    }
}

/// Where samples go.
struct Out<'b, 'o> {
    batch: &'o mut Batch<'b>,
    shape: u32,
    line: u32,
    room: &'o mut Room,
    exemplars: &'o mut Exemplars,
}

impl Out<'_, '_> {
    fn push(&mut self, head: &[u8], labels: &[u8], cell: Cell, time_ns: i64) {
        let key = self.batch.push_scratch(|out| {
            out.extend_from_slice(head);
            out.extend_from_slice(labels);
        });
        self.room.rows = self.room.rows.saturating_sub(1);
        self.room.bytes = self.room.bytes.saturating_sub(head.len() + labels.len());
        self.batch.push_cell(cell);
        self.batch.push_row([Span::default(), key], time_ns, self.shape, self.line);
    }
}

#[cfg(test)]
mod tests;
