//! Numbers as operators see them: a float or an integer, and the columns they stand in.

use foliot_model::{Kind, Samples, Values};

/// One numeric value. Text and histograms are none; a boolean is 0 or 1; an unsigned value beyond
/// the signed range is a float.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Integer(i64),
    Float(f64),
}

impl Number {
    pub(crate) fn to_f64(self) -> f64 {
        match self {
            Self::Integer(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Self::Float(_))
    }

    fn unsigned(value: u64) -> Self {
        i64::try_from(value).map_or(Self::Float(value as f64), Self::Integer)
    }

    /// The number at `index` of a column; nothing where it ends or holds none.
    pub(crate) fn at(values: &Values, index: usize) -> Option<Self> {
        match values {
            Values::Float(v) => v.get(index).map(|&v| Self::Float(v)),
            Values::Integer(v) => v.get(index).map(|&v| Self::Integer(v)),
            Values::Unsigned(v) => v.get(index).map(|&v| Self::unsigned(v)),
            Values::Boolean(v) => v.get(index).map(|&v| Self::Integer(i64::from(v))),
            Values::String(_) | Values::Histogram(_) => None,
            Values::Mixed { cells, .. } => match *cells.get(index)? {
                (Kind::Float, bits) => Some(Self::Float(f64::from_bits(bits))),
                (Kind::Integer | Kind::Boolean, bits) => Some(Self::Integer(bits as i64)),
                (Kind::Unsigned, bits) => Some(Self::unsigned(bits)),
                (Kind::String | Kind::Histogram, _) => None,
            },
        }
    }
}

/// Samples as floats only: what windows fold.
#[derive(Debug, Default)]
pub(crate) struct Floats {
    pub(crate) times_ns: Vec<i64>,
    pub(crate) values: Vec<f64>,
}

impl Floats {
    /// Takes over a chunk. A column of floats changes hands without being copied; numbers of other
    /// kinds are converted; what is no number is left out.
    pub(crate) fn take(&mut self, samples: &mut Samples) {
        self.values.clear();
        match &mut samples.values {
            Values::Float(v) => std::mem::swap(&mut self.values, v),
            Values::Integer(v) => self.values.extend(v.iter().map(|&v| v as f64)),
            Values::Unsigned(v) => self.values.extend(v.iter().map(|&v| v as f64)),
            Values::Boolean(v) => self.values.extend(v.iter().map(|&v| f64::from(u8::from(v)))),
            Values::String(_) | Values::Histogram(_) => samples.times_ns.clear(),
            mixed @ Values::Mixed { .. } => {
                let mut index = 0;
                samples.times_ns.retain(|_| {
                    let number = Number::at(mixed, index);
                    index += 1;
                    self.values.extend(number.map(Number::to_f64));
                    number.is_some()
                });
            }
        }
        std::mem::swap(&mut self.times_ns, &mut samples.times_ns);
        samples.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.times_ns.len()
    }

    pub(crate) fn push(&mut self, time_ns: i64, value: f64) {
        self.times_ns.push(time_ns);
        self.values.push(value);
    }

    /// Hands all over, in place of what `samples` holds, and is left empty with its memory.
    pub(crate) fn give(&mut self, samples: &mut Samples) {
        samples.clear();
        if !matches!(samples.values, Values::Float(_)) {
            samples.values = Values::default();
        }
        if let Values::Float(values) = &mut samples.values {
            std::mem::swap(&mut self.values, values);
        }
        std::mem::swap(&mut self.times_ns, &mut samples.times_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foliot_model::Value;

    #[test]
    fn whatever_is_a_number_becomes_a_float() {
        let mut samples = Samples::default();
        samples.push(1, Value::Integer(5));
        samples.push(2, Value::String("x"));
        samples.push(3, Value::Boolean(true));
        samples.push(4, Value::Unsigned(u64::MAX));
        samples.push(5, Value::Float(0.5));
        assert_eq!(Number::at(&samples.values, 3), Some(Number::Float(u64::MAX as f64)));
        assert_eq!(Number::at(&samples.values, 2), Some(Number::Integer(1)));
        let mut floats = Floats::default();
        floats.take(&mut samples);
        assert_eq!(floats.times_ns, [1, 3, 4, 5]);
        assert_eq!(floats.values, [5.0, 1.0, u64::MAX as f64, 0.5]);
        assert!(samples.is_empty());
        samples.push(9, Value::Integer(7));
        floats.take(&mut samples);
        assert_eq!((floats.times_ns.as_slice(), floats.values.as_slice()), (&[9][..], &[7.0][..]));
    }
}
