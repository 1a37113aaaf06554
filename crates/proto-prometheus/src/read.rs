//! Remote read: requests into questions, and series into the answer: one message of samples, or
//! frames of chunks, as the request prefers.

mod bits;
mod chunk;

use self::chunk::Chunks;
use crate::crc32c::crc32c;
use crate::promql::VectorSelector;
use crate::series::{push_histogram_sample, push_number_sample};
use crate::wire::{Field, Fields, Value, push_bytes, push_varint};
use crate::write::Malformed;
use foliot_model::{Frame, Histogram, NANOS_PER_MILLI, TimeRange, Value as Sample};
use foliot_plan::grid::{MEASUREMENT, name};
use std::collections::BTreeMap;

/// Questions of a request. Prometheus sends one.
const QUERIES_MAX: usize = 100;

/// Bytes of chunks in a frame, as many as Prometheus puts into one; clients refuse frames that are
/// much longer.
const FRAME_BYTES: usize = 1 << 20;

/// What a request wants.
#[derive(Clone, Debug)]
pub struct ReadRequest {
    /// The questions.
    pub queries: Vec<ReadQuery>,
    /// Whether answers are [`ReadChunks`], and not [`ReadResult`]s.
    pub wants_chunks: bool,
}

/// What one question wants: series, and the time that their samples are of, in milliseconds.
#[derive(Clone, Debug)]
pub struct ReadQuery {
    /// Which series.
    pub selector: VectorSelector,
    /// Both ends included.
    pub range: TimeRange,
}

impl ReadRequest {
    /// Reads a request (`prometheus.ReadRequest`). Of the forms of answers that it accepts the
    /// first one counts that is known; where it names none, samples are meant.
    ///
    /// # Errors
    /// When it is no message of remote read, a condition is no regular expression, or no form of
    /// answers that it accepts is known.
    pub fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let (mut queries, mut accepted) = (Vec::new(), Vec::new());
        let mut fields = Fields::new(bytes, 0, bytes.len());
        while let Some(field) = fields.next()? {
            match (field.number, field.value) {
                (1, _) if queries.len() == QUERIES_MAX => {
                    return Err(Malformed(format!("more than {QUERIES_MAX} queries")));
                }
                (1, _) => queries.push(read_query(bytes, &field)?),
                (2, Value::Varint(form)) => accepted.push(form),
                (2, _) => {
                    let (start, end) = field.range()?;
                    let mut run = Fields::new(bytes, start, end);
                    while run.at() < end {
                        accepted.push(run.varint()?);
                    }
                }
                _ => {}
            }
        }
        let known = accepted.iter().find_map(|form| match form {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        });
        match known {
            None if !accepted.is_empty() => Err(Malformed(format!(
                "none of the accepted types of answers is known: {accepted:?}; SAMPLES (0) and \
                 STREAMED_XOR_CHUNKS (1) are"
            ))),
            known => Ok(Self { queries, wants_chunks: known.unwrap_or_default() }),
        }
    }
}

fn read_query(bytes: &[u8], query: &Field) -> Result<ReadQuery, Malformed> {
    let (start, end) = query.range()?;
    let (mut start_ms, mut end_ms, mut selector) = (0i64, 0i64, VectorSelector::any());
    let mut fields = Fields::new(bytes, start, end);
    while let Some(field) = fields.next()? {
        match (field.number, field.value) {
            (1, Value::Varint(ms)) => start_ms = ms as i64,
            (2, Value::Varint(ms)) => end_ms = ms as i64,
            (3, Value::Bytes(..)) => read_matcher(bytes, &field, &mut selector)?,
            (1..=3, _) => return Err(field.mistyped()),
            _ => {}
        }
    }
    let end_ns = end_ms.saturating_mul(NANOS_PER_MILLI).saturating_add(NANOS_PER_MILLI - 1);
    let range = TimeRange::new(start_ms.saturating_mul(NANOS_PER_MILLI), end_ns);
    Ok(ReadQuery { selector, range })
}

fn read_matcher(
    bytes: &[u8],
    matcher: &Field,
    selector: &mut VectorSelector,
) -> Result<(), Malformed> {
    let (start, end) = matcher.range()?;
    let (mut sign, mut name, mut value) = ("=", "", "");
    let text = |field: &Field| {
        let (start, end) = field.range()?;
        let text = bytes.get(start..end).and_then(|text| std::str::from_utf8(text).ok());
        text.ok_or_else(|| Malformed("a matcher is no UTF-8".to_owned()))
    };
    let mut fields = Fields::new(bytes, start, end);
    while let Some(field) = fields.next()? {
        match (field.number, field.value) {
            (1, Value::Varint(kind)) => {
                let signs = ["=", "!=", "=~", "!~"];
                let found = usize::try_from(kind).ok().and_then(|kind| signs.get(kind));
                sign = found.ok_or_else(|| Malformed(format!("kind {kind} of a matcher")))?;
            }
            (2, _) => name = text(&field)?,
            (3, _) => value = text(&field)?,
            (1, _) => return Err(field.mistyped()),
            _ => {}
        }
    }
    selector.require(name, sign, value).map_err(Malformed)
}

/// The name and the labels of a series, in order of names.
type Key = Vec<(String, String)>;

fn key(frame: &Frame) -> Key {
    let name = name(&frame.head.measurement, &frame.head.field);
    let own = (MEASUREMENT.to_owned(), name.to_string());
    let labels = frame.head.labels.iter();
    let labels = labels.map(|label| (label.name.to_string(), label.value.to_string()));
    let mut key: Key = labels.chain([own]).collect();
    key.sort_unstable();
    key
}

fn key_bytes(key: &Key) -> usize {
    key.iter().map(|(name, value)| name.len() + value.len()).sum()
}

fn push_key(key: &Key, out: &mut Vec<u8>) {
    let mut label = Vec::new();
    for (name, value) in key {
        label.clear();
        push_bytes(1, name.as_bytes(), &mut label);
        push_bytes(2, value.as_bytes(), &mut label);
        push_bytes(1, &label, out);
    }
}

/// A sample's value as it goes out.
enum Point {
    Number(f64),
    Histogram(Histogram),
}

/// Hands out the samples of a frame that have a place in an answer, with their times in
/// milliseconds.
fn each_sample(frame: &Frame, mut each: impl FnMut(i64, Point)) {
    for (at_ns, value) in frame.samples.iter() {
        let time_ms = at_ns.div_euclid(NANOS_PER_MILLI);
        let point = match value {
            Sample::Histogram(bytes) => Histogram::read(bytes).map(Point::Histogram),
            value => value.as_f64().map(Point::Number),
        };
        if let Some(point) = point {
            each(time_ms, point);
        }
    }
}

/// The series of one question, as a message of samples (`prometheus.QueryResult`).
#[derive(Debug, Default)]
pub struct ReadResult {
    /// Samples of each series, as fields of its message, by name and labels.
    series: BTreeMap<Key, Vec<u8>>,
}

impl ReadResult {
    /// Adds a piece of a series; says how many bytes that takes.
    pub fn add(&mut self, frame: &Frame) -> usize {
        let key = key(frame);
        let names = key_bytes(&key);
        let samples = self.series.entry(key).or_default();
        let before = samples.len();
        each_sample(frame, |time_ms, point| match point {
            Point::Number(value) => push_number_sample(value, time_ms, samples),
            Point::Histogram(histogram) => push_histogram_sample(&histogram, time_ms, samples),
        });
        // Each byte is held three times at most until it is packed.
        (names + samples.len() - before) * 3
    }

    /// Appends the series to an answer.
    pub fn finish(self, out: &mut Vec<u8>) {
        let (mut result, mut one) = (Vec::new(), Vec::new());
        for (key, samples) in self.series.iter().filter(|(_, samples)| !samples.is_empty()) {
            one.clear();
            push_key(key, &mut one);
            one.extend_from_slice(samples);
            push_bytes(1, &one, &mut result);
        }
        push_bytes(1, &result, out);
    }
}

/// The series of one question, as frames of chunks (`prometheus.ChunkedReadResponse`).
///
/// Series go out in order of their labels, as clients take it, so that all are known before the
/// first one goes out. Chunks hold them in some two bytes a sample till then.
#[derive(Debug, Default)]
pub struct ReadChunks {
    series: BTreeMap<Key, Chunks>,
}

impl ReadChunks {
    /// Adds a piece of a series; says how many bytes that takes.
    pub fn add(&mut self, frame: &Frame) -> usize {
        let key = key(frame);
        let names = key_bytes(&key);
        let chunks = self.series.entry(key).or_default();
        let before = chunks.len();
        each_sample(frame, |time_ms, point| match point {
            Point::Number(value) => chunks.push_number(time_ms, value),
            Point::Histogram(histogram) => chunks.push_histogram(time_ms, histogram),
        });
        // Vectors that grow have up to twice the room.
        (names + chunks.len().saturating_sub(before)) * 2
    }

    /// Hands out the frames of the answer to the question of this number: one series each, and of
    /// a long one some chunks. A frame is its message's length, the message's checksum, highest
    /// byte first, and the message.
    ///
    /// # Errors
    /// What `send` refused.
    #[expect(clippy::big_endian_bytes, reason = "the checksums of frames are")]
    pub fn frames<E>(
        self,
        query: usize,
        send: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (mut frame, mut message) = (Vec::new(), Vec::new());
        for (key, mut chunks) in self.series {
            let mut labels = Vec::new();
            push_key(&key, &mut labels);
            for piece in chunks.pieces(FRAME_BYTES) {
                frame.clear();
                message.clear();
                push_bytes(1, &[&labels, piece].concat(), &mut message);
                message.push(2 << 3);
                push_varint(query as u64, &mut message);
                push_varint(message.len() as u64, &mut frame);
                frame.extend_from_slice(&crc32c(&message).to_be_bytes());
                frame.extend_from_slice(&message);
                send(&frame)?;
            }
        }
        Ok(())
    }
}
