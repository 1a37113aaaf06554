//! Functions of the numbers of one series, one after the other.

use crate::Error;
use crate::kernels::sliding::Sliding;
use crate::limits::{CHUNK_BYTES, Charge, Meter};
use crate::number::Number;
use crate::stream::Stream;
use foliot_model::{Samples, Value};
use foliot_plan::{Function, Span};

/// What becomes of the numbers of a series.
#[derive(Debug)]
pub(crate) struct Mapped<'q> {
    input: Stream<'q>,
    function: Function,
    chunk: Samples,
    /// The number before.
    before: Option<f64>,
    /// When the first one was.
    first_ns: Option<i64>,
    sliding: Sliding,
    charge: Charge<'q>,
}

impl<'q> Mapped<'q> {
    pub(crate) fn new(
        function: Function,
        input: Stream<'q>,
        meter: &'q Meter,
    ) -> Result<Self, Error> {
        let makes_sense = match function {
            Function::Average(Span::Samples(count)) => count > 0,
            Function::Average(Span::Time(ns)) | Function::Coarse(ns) => ns > 0,
            _ => true,
        };
        if !makes_sense {
            return Err(Error::Plan(format!("{function:?}")));
        }
        let mut charge = meter.open();
        charge.resize(CHUNK_BYTES)?;
        let (chunk, sliding) = (Samples::default(), Sliding::default());
        Ok(Self { input, function, chunk, before: None, first_ns: None, sliding, charge })
    }

    pub(crate) fn input(&self) -> &Stream<'q> {
        &self.input
    }

    pub(crate) fn next(&mut self, meter: &Meter, out: &mut Samples) -> Result<bool, Error> {
        let mut chunk = std::mem::take(&mut self.chunk);
        while out.is_empty() && self.input.next(meter, &mut chunk)? {
            if let Function::Average(_) = self.function {
                let values = self.sliding.len() + chunk.len();
                self.charge.resize(CHUNK_BYTES + values * Sliding::BYTES_PER_VALUE)?;
            }
            for (index, &time_ns) in chunk.times_ns.iter().enumerate() {
                let Some(number) = Number::at(&chunk.values, index) else { continue };
                let (time_ns, number) = self.of(time_ns, number);
                out.push(
                    time_ns,
                    match number {
                        Number::Integer(value) => Value::Integer(value),
                        Number::Float(value) => Value::Float(value),
                    },
                );
            }
        }
        self.chunk = chunk;
        Ok(!out.is_empty())
    }

    fn of(&mut self, time_ns: i64, number: Number) -> (i64, Number) {
        match self.function {
            Function::Scaled(factor) => (time_ns, scaled(number, factor)),
            Function::Absolute => match number {
                Number::Integer(value) => (time_ns, Number::Integer(value.wrapping_abs())),
                Number::Float(value) => (time_ns, Number::Float(value.abs())),
            },
            Function::Shifted(by_ns) => (time_ns.saturating_add(by_ns), number),
            Function::Coarse(unit_ns) => {
                (time_ns.saturating_sub(time_ns.rem_euclid(unit_ns)), number)
            }
            Function::Difference => {
                let value = number.to_f64();
                let before = self.before.replace(value);
                (time_ns, Number::Float(before.map_or(0.0, |before| value - before)))
            }
            Function::Average(span) => {
                (time_ns, Number::Float(self.average(span, time_ns, number.to_f64())))
            }
        }
    }

    fn average(&mut self, span: Span, time_ns: i64, value: f64) -> f64 {
        self.sliding.push(time_ns, value);
        let is_full = match span {
            Span::Samples(count) => {
                if self.sliding.len() > count {
                    self.sliding.pop();
                }
                self.sliding.len() == count
            }
            Span::Time(span_ns) => {
                // It is full once a sample lies a whole span back; that sample is outside.
                let is_old = |before_ns: i64| time_ns.saturating_sub(before_ns) >= span_ns;
                while self.sliding.oldest_ns().is_some_and(is_old) {
                    self.sliding.pop();
                }
                is_old(*self.first_ns.get_or_insert(time_ns))
            }
        };
        if is_full { self.sliding.mean() } else { 0.0 }
    }
}

fn scaled(number: Number, factor: f64) -> Number {
    match number {
        Number::Integer(value) if factor.fract() == 0.0 => {
            Number::Integer((factor as i64).wrapping_mul(value))
        }
        number => Number::Float(factor * number.to_f64()),
    }
}
