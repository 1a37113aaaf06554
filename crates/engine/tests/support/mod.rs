//! A writer and a reader of stores for tests: one plain key syntax, one row at a time.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its own half of this")]
#![allow(missing_docs, clippy::unwrap_used, reason = "test code says what must hold by unwrapping")]

use foliot_engine::{Commit, Engine, Snapshot};
use foliot_model::{
    Batch, BatchBuffers, Cell, KeyError, KeyParts, KeySyntax, Kind, Name, Reject, Samples,
    Selector, Span, Test, TimeRange, Value,
};

/// `measurement k=v k=v`, fields spelled plainly.
pub static SYNTAX: KeySyntax = KeySyntax { id: 250, name: "test", parse: parse_key, parse_field };

fn parse_key(_: &[u8], tail: &[u8], parts: &mut KeyParts) -> Result<(), KeyError> {
    parts.clear();
    let mut words = tail.split(|byte| *byte == b' ');
    let measurement = words.next().unwrap_or_default();
    parts.set_measurement(|out| out.extend_from_slice(measurement));
    for word in words {
        let at = word.iter().position(|byte| *byte == b'=').unwrap_or(word.len());
        let (name, value) = word.split_at(at);
        parts.push_label(
            |out| out.extend_from_slice(name),
            |out| out.extend_from_slice(value.get(1..).unwrap_or_default()),
        );
    }
    Ok(())
}

fn parse_field(raw: &[u8], out: &mut Vec<u8>) -> Result<(), KeyError> {
    out.extend_from_slice(raw);
    Ok(())
}

/// A value that a test owns.
#[derive(Clone, Debug, PartialEq)]
pub enum Owned {
    Float(u64),
    Decimal(i64, u8),
    Integer(i64),
    Unsigned(u64),
    Boolean(bool),
    String(String),
    Histogram(Vec<u8>),
}

impl Owned {
    /// What a reader must get, floats by their bits.
    pub fn of(value: Value<'_>) -> Self {
        match value {
            Value::Float(v) => Self::Float(v.to_bits()),
            Value::Integer(v) => Self::Integer(v),
            Value::Unsigned(v) => Self::Unsigned(v),
            Value::Boolean(v) => Self::Boolean(v),
            Value::String(v) => Self::String(v.to_owned()),
            Value::Histogram(v) => Self::Histogram(v.to_vec()),
        }
    }

    /// The same value as a reader gets it: decimals are floats by then.
    pub fn read(&self) -> Self {
        match self {
            Self::Decimal(mantissa, scale) => {
                let text = format!("{mantissa}e-{scale}");
                Self::Float(text.parse::<f64>().unwrap().to_bits())
            }
            other => other.clone(),
        }
    }
}

/// One row: key, time, fields.
#[derive(Clone, Debug)]
pub struct Line {
    pub key: String,
    pub time_ns: i64,
    pub fields: Vec<(String, Owned)>,
}

/// Writes lines as one batch.
pub fn write(
    engine: &Engine,
    namespace: u32,
    lines: &[Line],
) -> (Result<Commit, foliot_engine::Error>, Vec<Reject>) {
    let buffers = BatchBuffers::default();
    let mut batch = Batch::new(b"", namespace, &SYNTAX, engine.key_secret(), buffers);
    for (number, line) in lines.iter().enumerate() {
        let key = batch.push_scratch(|out| out.extend_from_slice(line.key.as_bytes()));
        let names: Vec<Span> = line
            .fields
            .iter()
            .map(|(name, _)| batch.push_scratch(|out| out.extend_from_slice(name.as_bytes())))
            .collect();
        let shape = batch.push_shape(&names);
        for (_, value) in &line.fields {
            let cell = cell(&mut batch, value);
            batch.push_cell(cell);
        }
        assert!(batch.push_row([Span::default(), key], line.time_ns, shape, number as u32 + 1));
    }
    let mut rejects = Vec::new();
    (engine.write(&batch, &mut rejects), rejects)
}

fn cell(batch: &mut Batch<'_>, value: &Owned) -> Cell {
    match value {
        Owned::Float(bits) => Cell::float(f64::from_bits(*bits)),
        Owned::Decimal(mantissa, scale) => Cell::decimal(*mantissa, *scale).unwrap(),
        Owned::Integer(v) => Cell::integer(*v),
        Owned::Unsigned(v) => Cell::unsigned(*v),
        Owned::Boolean(v) => Cell::boolean(*v),
        Owned::String(text) => Cell::bytes(
            Kind::String,
            batch.push_scratch(|out| out.extend_from_slice(text.as_bytes())),
        ),
        Owned::Histogram(bytes) => {
            Cell::bytes(Kind::Histogram, batch.push_scratch(|out| out.extend_from_slice(bytes)))
        }
    }
}

/// Selects everything called `measurement` in a namespace.
pub fn selector(namespace: u32, measurement: &str) -> Selector {
    let name = Name { measurement: Test::equal(measurement), field: Test::Any };
    Selector { namespace, names: vec![name], matchers: Vec::new(), exact_labels: None, only: None }
}

/// All samples of a series in a range.
pub fn read(snapshot: &Snapshot, sid: u32, range: TimeRange) -> Vec<(i64, Owned)> {
    let mut scan = snapshot.scan(sid, range).unwrap();
    let mut all = Vec::new();
    let mut samples = Samples::default();
    loop {
        samples.clear();
        if !scan.next(&mut samples).unwrap() {
            return all;
        }
        assert!((1..=1024).contains(&samples.len()));
        all.extend(samples.iter().map(|(time_ns, value)| (time_ns, Owned::of(value))));
    }
}
