//! Rates: difference quotients of neighbouring samples of one series.

use crate::Error;
use crate::limits::{CHUNK_BYTES, Charge, Meter};
use crate::number::Number;
use crate::stream::Stream;
use foliot_model::{Samples, Value};
use foliot_plan::{Rate, Reset};

/// One rate per sample but the first, stamped at the later of the two.
#[derive(Debug)]
pub(crate) struct Rates<'q> {
    input: Stream<'q>,
    per_ns: i64,
    reset: Reset,
    previous: Option<(i64, Number)>,
    chunk: Samples,
    _charge: Charge<'q>,
}

impl<'q> Rates<'q> {
    pub(crate) fn new(rate: &Rate, input: Stream<'q>, meter: &'q Meter) -> Result<Self, Error> {
        if rate.per_ns < 1 {
            return Err(Error::Plan(format!("a rate per {} ns", rate.per_ns)));
        }
        let mut charge = meter.open();
        charge.resize(CHUNK_BYTES)?;
        let (per_ns, reset) = (rate.per_ns, rate.reset);
        let chunk = Samples::default();
        Ok(Self { input, per_ns, reset, previous: None, chunk, _charge: charge })
    }

    pub(crate) fn input(&self) -> &Stream<'q> {
        &self.input
    }

    pub(crate) fn next(&mut self, meter: &Meter, out: &mut Samples) -> Result<bool, Error> {
        while out.is_empty() && self.input.next(meter, &mut self.chunk)? {
            for (index, &time_ns) in self.chunk.times_ns.iter().enumerate() {
                let Some(number) = Number::at(&self.chunk.values, index) else { continue };
                let current = (time_ns, number);
                if let Some(previous) = self.previous.replace(current)
                    && let Some(rate) = quotient(previous, current, self.per_ns, self.reset)
                {
                    out.push(time_ns, Value::Float(rate));
                }
            }
        }
        Ok(!out.is_empty())
    }
}

/// The rate between two samples; nothing where a reset drops it.
pub(crate) fn quotient(
    (t0, v0): (i64, Number),
    (t1, v1): (i64, Number),
    per_ns: i64,
    reset: Reset,
) -> Option<f64> {
    let elapsed = t1.wrapping_sub(t0) as u64 as f64 / per_ns as f64;
    let difference = minus(v1, v0);
    match reset {
        Reset::Drop if difference < 0.0 => None,
        Reset::Wrap { max, reset_above } if difference < 0.0 => {
            let rate = wrapped(v0, v1, max) / elapsed;
            let is_restart = reset_above > 0.0 && rate > reset_above;
            Some(if is_restart { 0.0 } else { rate })
        }
        _ => Some(difference / elapsed),
    }
}

/// Integers are subtracted as integers: beyond 2^53 their difference is exact where floats are not.
fn minus(a: Number, b: Number) -> f64 {
    match (a, b) {
        (Number::Integer(a), Number::Integer(b)) => a.wrapping_sub(b) as f64,
        _ => a.to_f64() - b.to_f64(),
    }
}

/// How far a counter went that wrapped around at `max`.
fn wrapped(v0: Number, v1: Number, max: i64) -> f64 {
    match (v0, v1) {
        (Number::Integer(v0), Number::Integer(v1)) => max.wrapping_sub(v0).wrapping_add(v1) as f64,
        _ => max as f64 - v0.to_f64() + v1.to_f64(),
    }
}
