//! A group of one series under a fold that keeps single values: nothing to merge, yet the rules for
//! which values stay integers are those of the group.

use crate::Error;
use crate::limits::{CHUNK_BYTES, Charge, Meter};
use crate::number::Number;
use crate::stream::Stream;
use foliot_model::{Samples, Value, Values};
use foliot_plan::{Aggregate, Arithmetic};

/// One series as a group.
#[derive(Debug)]
pub(crate) struct Single<'q> {
    input: Stream<'q>,
    arithmetic: Arithmetic,
    /// The chunk after the one that was yielded last, if it was needed.
    ahead: Samples,
    is_over: bool,
    _charge: Charge<'q>,
}

impl<'q> Single<'q> {
    pub(crate) fn new(
        aggregate: &Aggregate,
        input: Stream<'q>,
        meter: &'q Meter,
    ) -> Result<Self, Error> {
        let mut charge = meter.open();
        charge.resize(2 * CHUNK_BYTES)?;
        Ok(Self {
            input,
            arithmetic: aggregate.arithmetic,
            ahead: Samples::default(),
            is_over: false,
            _charge: charge,
        })
    }

    pub(crate) fn input(&self) -> &Stream<'q> {
        &self.input
    }

    pub(crate) fn next(&mut self, meter: &Meter, out: &mut Samples) -> Result<bool, Error> {
        if self.ahead.is_empty() {
            self.read(meter)?;
        }
        std::mem::swap(out, &mut self.ahead);
        self.ahead.clear();
        if matches!(out.values, Values::Float(_)) {
            return Ok(!out.is_empty());
        }
        let mut follows_float = false;
        if self.arithmetic == Arithmetic::IntegerIfAll {
            self.read(meter)?;
            let mut indices = 0..self.ahead.len();
            let first = indices.find_map(|index| Number::at(&self.ahead.values, index));
            follows_float = first.is_some_and(Number::is_float);
            if matches!(out.values, Values::Integer(_)) && !follows_float {
                return Ok(!out.is_empty());
            }
        }
        *out = numbers(out, self.arithmetic, follows_float);
        Ok(!out.is_empty())
    }

    /// Reads until a chunk with a number, into `ahead`; leaves it empty at the end.
    fn read(&mut self, meter: &Meter) -> Result<(), Error> {
        while !self.is_over {
            self.is_over = !self.input.next(meter, &mut self.ahead)?;
            let values = &self.ahead.values;
            if (0..values.len()).any(|index| Number::at(values, index).is_some()) {
                return Ok(());
            }
        }
        self.ahead.clear();
        Ok(())
    }
}

/// The numbers of a chunk. An integer stays one if that is asked for and no float follows it.
fn numbers(chunk: &Samples, arithmetic: Arithmetic, follows_float: bool) -> Samples {
    let mut out = Samples::default();
    let keeps = arithmetic == Arithmetic::IntegerIfAll;
    let mut points = Vec::with_capacity(chunk.len());
    for (index, &time_ns) in chunk.times_ns.iter().enumerate() {
        points.extend(Number::at(&chunk.values, index).map(|number| (time_ns, number)));
    }
    let mut nexts = points.iter().skip(1).map(|(_, next)| next.is_float());
    for &(time_ns, number) in &points {
        let before_float = nexts.next().unwrap_or(follows_float);
        let value = match number {
            Number::Integer(value) if keeps && !before_float => Value::Integer(value),
            number => Value::Float(number.to_f64()),
        };
        out.push(time_ns, value);
    }
    out
}
