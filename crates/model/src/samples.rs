//! Samples: times and values of one series, column by column.

use crate::{Kind, Value};
use std::ops::Range;

/// Byte strings laid end to end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Bytes {
    /// Adds one string.
    pub fn push(&mut self, item: &[u8]) {
        self.bytes.extend_from_slice(item);
        self.ends.push(self.bytes.len() as u32);
    }

    /// The string numbered `index`.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)? as usize;
        let start = match index {
            0 => 0,
            _ => *self.ends.get(index - 1)? as usize,
        };
        self.bytes.get(start..end)
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Memory held, in bytes.
    pub fn bytes_len(&self) -> usize {
        self.bytes.len() + self.ends.len() * 4
    }

    /// Empties it, keeping the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

/// Values of one kind, or of several when a series changed its mind.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// See [`Kind::Float`].
    Float(Vec<f64>),
    /// See [`Kind::Integer`].
    Integer(Vec<i64>),
    /// See [`Kind::Unsigned`].
    Unsigned(Vec<u64>),
    /// See [`Kind::Boolean`].
    Boolean(Vec<bool>),
    /// See [`Kind::String`].
    String(Bytes),
    /// See [`Kind::Histogram`].
    Histogram(Bytes),
    /// One kind per value; `bytes` holds text and histograms in the order of their values.
    Mixed {
        /// Kind and bits of each value; for bytes kinds the bits are the index into `bytes`.
        cells: Vec<(Kind, u64)>,
        /// The byte strings.
        bytes: Bytes,
    },
}

impl Default for Values {
    fn default() -> Self {
        Self::Float(Vec::new())
    }
}

impl Values {
    /// An empty column of `kind`.
    pub fn of(kind: Kind) -> Self {
        match kind {
            Kind::Float => Self::Float(Vec::new()),
            Kind::Integer => Self::Integer(Vec::new()),
            Kind::Unsigned => Self::Unsigned(Vec::new()),
            Kind::Boolean => Self::Boolean(Vec::new()),
            Kind::String => Self::String(Bytes::default()),
            Kind::Histogram => Self::Histogram(Bytes::default()),
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Float(v) => v.len(),
            Self::Integer(v) => v.len(),
            Self::Unsigned(v) => v.len(),
            Self::Boolean(v) => v.len(),
            Self::String(v) | Self::Histogram(v) => v.len(),
            Self::Mixed { cells, .. } => cells.len(),
        }
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The kind all values share, or nothing when they differ.
    pub fn kind(&self) -> Option<Kind> {
        match self {
            Self::Float(_) => Some(Kind::Float),
            Self::Integer(_) => Some(Kind::Integer),
            Self::Unsigned(_) => Some(Kind::Unsigned),
            Self::Boolean(_) => Some(Kind::Boolean),
            Self::String(_) => Some(Kind::String),
            Self::Histogram(_) => Some(Kind::Histogram),
            Self::Mixed { .. } => None,
        }
    }

    /// The value numbered `index`.
    pub fn get(&self, index: usize) -> Option<Value<'_>> {
        let text = |bytes| Value::String(std::str::from_utf8(bytes).unwrap_or_default());
        match self {
            Self::Float(v) => v.get(index).map(|&v| Value::Float(v)),
            Self::Integer(v) => v.get(index).map(|&v| Value::Integer(v)),
            Self::Unsigned(v) => v.get(index).map(|&v| Value::Unsigned(v)),
            Self::Boolean(v) => v.get(index).map(|&v| Value::Boolean(v)),
            Self::String(v) => v.get(index).map(text),
            Self::Histogram(v) => v.get(index).map(Value::Histogram),
            Self::Mixed { cells, bytes } => {
                let &(kind, bits) = cells.get(index)?;
                Some(match kind {
                    Kind::Float => Value::Float(f64::from_bits(bits)),
                    Kind::Integer => Value::Integer(bits as i64),
                    Kind::Unsigned => Value::Unsigned(bits),
                    Kind::Boolean => Value::Boolean(bits != 0),
                    Kind::String => text(bytes.get(bits as usize)?),
                    Kind::Histogram => Value::Histogram(bytes.get(bits as usize)?),
                })
            }
        }
    }

    /// Adds a value; a value of another kind turns the column into a mixed one.
    pub fn push(&mut self, value: Value<'_>) {
        if self.is_empty() && self.kind().is_some_and(|kind| kind != value.kind()) {
            *self = Self::of(value.kind());
        }
        match (&mut *self, value) {
            (Self::Float(v), Value::Float(x)) => v.push(x),
            (Self::Integer(v), Value::Integer(x)) => v.push(x),
            (Self::Unsigned(v), Value::Unsigned(x)) => v.push(x),
            (Self::Boolean(v), Value::Boolean(x)) => v.push(x),
            (Self::String(v), Value::String(x)) => v.push(x.as_bytes()),
            (Self::Histogram(v), Value::Histogram(x)) => v.push(x),
            (Self::Mixed { cells, bytes }, value) => {
                let mut keep = |kind, item: &[u8]| {
                    bytes.push(item);
                    (kind, bytes.len() as u64 - 1)
                };
                cells.push(match value {
                    Value::Float(x) => (Kind::Float, x.to_bits()),
                    Value::Integer(x) => (Kind::Integer, x as u64),
                    Value::Unsigned(x) => (Kind::Unsigned, x),
                    Value::Boolean(x) => (Kind::Boolean, u64::from(x)),
                    Value::String(x) => keep(Kind::String, x.as_bytes()),
                    Value::Histogram(x) => keep(Kind::Histogram, x),
                });
            }
            (_, value) => {
                self.mix();
                self.push(value);
            }
        }
    }

    fn mix(&mut self) {
        let plain = std::mem::take(self);
        *self = Self::Mixed { cells: Vec::with_capacity(plain.len() + 1), bytes: Bytes::default() };
        for index in 0..plain.len() {
            if let Some(value) = plain.get(index) {
                self.push(value);
            }
        }
    }

    /// Empties the column, keeping its kind and memory.
    pub fn clear(&mut self) {
        match self {
            Self::Float(v) => v.clear(),
            Self::Integer(v) => v.clear(),
            Self::Unsigned(v) => v.clear(),
            Self::Boolean(v) => v.clear(),
            Self::String(v) | Self::Histogram(v) => v.clear(),
            Self::Mixed { .. } => *self = Self::default(),
        }
    }

    /// Memory held, in bytes, as charged to a query's budget.
    pub fn bytes_len(&self) -> usize {
        match self {
            Self::Float(v) => v.len() * 8,
            Self::Integer(v) => v.len() * 8,
            Self::Unsigned(v) => v.len() * 8,
            Self::Boolean(v) => v.len(),
            Self::String(v) | Self::Histogram(v) => v.bytes_len(),
            Self::Mixed { cells, bytes } => cells.len() * 16 + bytes.bytes_len(),
        }
    }
}

/// Samples of one series: two columns of equal length, times ascending and each once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// Times in nanoseconds.
    pub times_ns: Vec<i64>,
    /// The values at those times.
    pub values: Values,
}

impl Samples {
    /// Number of samples.
    pub fn len(&self) -> usize {
        self.times_ns.len()
    }

    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.times_ns.is_empty()
    }

    /// Adds one sample.
    pub fn push(&mut self, time_ns: i64, value: Value<'_>) {
        self.times_ns.push(time_ns);
        self.values.push(value);
    }

    /// Adds the samples of `from` whose positions lie in `range`, as far as they exist. The column
    /// turns into a mixed one when kinds differ.
    pub fn append(&mut self, from: &Self, range: Range<usize>) {
        let range = range.start.min(from.len())..range.end.min(from.len());
        self.times_ns.extend_from_slice(from.times_ns.get(range.clone()).unwrap_or_default());
        if self.values.is_empty() && self.values.kind() != from.values.kind() {
            self.values = from.values.kind().map_or_else(Values::default, Values::of);
        }
        match (&mut self.values, &from.values) {
            (Values::Float(to), Values::Float(v)) => extend(to, v, range),
            (Values::Integer(to), Values::Integer(v)) => extend(to, v, range),
            (Values::Unsigned(to), Values::Unsigned(v)) => extend(to, v, range),
            (Values::Boolean(to), Values::Boolean(v)) => extend(to, v, range),
            (to, values) => range.filter_map(|at| values.get(at)).for_each(|v| to.push(v)),
        }
    }

    /// Empties both columns, keeping their memory.
    pub fn clear(&mut self) {
        self.times_ns.clear();
        self.values.clear();
    }

    /// The samples one by one.
    pub fn iter(&self) -> impl Iterator<Item = (i64, Value<'_>)> {
        let pair = |(index, &time_ns)| self.values.get(index).map(|value| (time_ns, value));
        self.times_ns.iter().enumerate().filter_map(pair)
    }

    /// Memory held, in bytes, as charged to a query's budget.
    pub fn bytes_len(&self) -> usize {
        self.times_ns.len() * 8 + self.values.bytes_len()
    }
}

fn extend<T: Copy>(to: &mut Vec<T>, from: &[T], range: Range<usize>) {
    to.extend_from_slice(from.get(range).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_appended_whatever_their_kind() {
        let mut floats = Samples::default();
        let mut mixed = Samples::default();
        for time in 0..4 {
            floats.push(time, Value::Float(time as f64));
            mixed.push(10 + time, [Value::String("a"), Value::Integer(time)][time as usize % 2]);
        }
        let mut out = Samples::default();
        out.append(&floats, 1..3);
        assert_eq!(out.values, Values::Float(vec![1.0, 2.0]));
        out.append(&mixed, 2..9);
        assert_eq!(out.times_ns, [1, 2, 12, 13]);
        let values: Vec<_> = out.iter().map(|(_, value)| value).collect();
        let expected =
            [Value::Float(1.0), Value::Float(2.0), Value::String("a"), Value::Integer(3)];
        assert_eq!(values, expected);
        out.append(&floats, 7..9);
        assert_eq!(out.len(), 4);
        out.clear();
        out.append(&mixed, 0..2);
        assert_eq!((out.len(), out.values.len()), (2, 2));
    }

    #[test]
    fn kinds_mix_without_loss() {
        let mut samples = Samples::default();
        let values = [
            Value::Integer(i64::MAX),
            Value::Integer(2),
            Value::Float(-0.0),
            Value::String("on"),
            Value::Boolean(true),
            Value::Histogram(b"\x00\x01"),
            Value::Unsigned(u64::MAX),
        ];
        for (time, value) in values.iter().enumerate() {
            samples.push(time as i64, *value);
        }
        let back: Vec<_> = samples.iter().map(|(_, value)| value).collect();
        assert_eq!(back, values);
        assert_eq!(samples.values.kind(), None);
        samples.clear();
        samples.push(1, Value::Boolean(false));
        assert_eq!(samples.values.kind(), Some(Kind::Boolean));
    }
}
