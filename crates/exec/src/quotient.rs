//! Quotients: the samples of one series divided by those of another, where their times coincide.

use crate::Error;
use crate::limits::{CHUNK_BYTES, Charge, Meter};
use crate::number::Number;
use crate::set::Set;
use crate::stream::Stream;
use foliot_model::{Labels, Samples, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// One quotient per instant at which both series have a sample.
#[derive(Debug)]
pub(crate) struct Quotients<'q> {
    dividend: Stream<'q>,
    /// Nothing once it has ended.
    divisor: Option<Stream<'q>>,
    dividends: Samples,
    divisors: Samples,
    /// How far the chunk of divisors is done with.
    at: usize,
    _charge: Charge<'q>,
}

/// Finds for each series of `dividend` the position of the one in `divisor` that is called the same
/// but for its field.
pub(crate) fn partners(
    dividend: &mut Set<'_>,
    divisor: &mut Set<'_>,
    meter: &Meter,
) -> Result<Vec<Option<u32>>, Error> {
    let mut places: HashMap<(Arc<str>, Labels), u32> = HashMap::with_capacity(divisor.len());
    divisor.names(meter, &mut |at, name| {
        places.insert((Arc::clone(&name.measurement), name.labels.clone()), at);
    })?;
    let mut partners = Vec::with_capacity(dividend.len());
    dividend.names(meter, &mut |_, name| {
        let key = (Arc::clone(&name.measurement), name.labels.clone());
        partners.push(places.get(&key).copied());
    })?;
    Ok(partners)
}

impl<'q> Quotients<'q> {
    pub(crate) fn new(
        dividend: Stream<'q>,
        divisor: Option<Stream<'q>>,
        meter: &'q Meter,
    ) -> Result<Self, Error> {
        let mut charge = meter.open();
        charge.resize(2 * CHUNK_BYTES)?;
        let (dividends, divisors) = (Samples::default(), Samples::default());
        Ok(Self { dividend, divisor, dividends, divisors, at: 0, _charge: charge })
    }

    pub(crate) fn dividend(&self) -> &Stream<'q> {
        &self.dividend
    }

    pub(crate) fn next(&mut self, meter: &Meter, out: &mut Samples) -> Result<bool, Error> {
        while out.is_empty() && self.dividend.next(meter, &mut self.dividends)? {
            for index in 0..self.dividends.len() {
                let Some(&time_ns) = self.dividends.times_ns.get(index) else { continue };
                let Some(divisor) = self.divisor_at(time_ns, meter)? else { continue };
                let Some(dividend) = Number::at(&self.dividends.values, index) else { continue };
                let quotient = match divisor.to_f64() {
                    0.0 => 0.0,
                    divisor => dividend.to_f64() / divisor,
                };
                out.push(time_ns, Value::Float(quotient));
            }
        }
        Ok(!out.is_empty())
    }

    /// The divisor of an instant; instants must not come earlier from call to call.
    fn divisor_at(&mut self, time_ns: i64, meter: &Meter) -> Result<Option<Number>, Error> {
        while let Some(divisor) = &mut self.divisor {
            while let Some(&here_ns) = self.divisors.times_ns.get(self.at) {
                if here_ns >= time_ns {
                    let number = Number::at(&self.divisors.values, self.at);
                    return Ok(number.filter(|_| here_ns == time_ns));
                }
                self.at += 1;
            }
            self.at = 0;
            if !divisor.next(meter, &mut self.divisors)? {
                self.divisors = Samples::default();
                self.divisor = None;
            }
        }
        Ok(None)
    }
}
