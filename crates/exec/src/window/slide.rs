//! Windows that look back from regular instants, as range selectors of PromQL do.
//!
//! The samples of the widest look back are kept; every instant folds its stretch of them anew. That
//! is work in proportion to span / step, which folds that cannot forget (a maximum, a quantile)
//! would need in any case.

use crate::Error;
use crate::fold::Acc;
use crate::limits::{CHUNK_BYTES, CHUNK_SAMPLES, Charge, Meter};
use crate::number::Floats;
use crate::stream::Stream;
use foliot_model::{NULL_FLOAT_BITS, Samples, TimeRange, Value};
use foliot_plan::{Edges, Fill, Fold, Stamp, Window, Windows};

/// One value per instant.
#[derive(Debug)]
pub(crate) struct SlidingWindows<'q> {
    input: Stream<'q>,
    step_ns: i64,
    span_ns: i64,
    offset_ns: i64,
    edges: Edges,
    fold: Fold,
    fill: Fill,
    stamp: Stamp,
    range: TimeRange,
    /// The next instant; nothing when there are no more.
    instant_ns: Option<i64>,
    chunk: Samples,
    floats: Floats,
    times_ns: Vec<i64>,
    values: Vec<f64>,
    acc: Acc,
    ended: bool,
    begun: bool,
    previous: Option<f64>,
    charge: Charge<'q>,
}

impl<'q> SlidingWindows<'q> {
    pub(crate) fn new(window: &Window, input: Stream<'q>, meter: &'q Meter) -> Result<Self, Error> {
        let &Windows::Sliding { start_ns, step_ns, span_ns, offset_ns, edges } = &window.windows
        else {
            return Err(Error::Plan("these windows do not slide".into()));
        };
        if step_ns < 1 || span_ns < 0 {
            return Err(Error::Plan("sliding windows need a step and a span".into()));
        }
        if window.fill == Fill::Linear {
            return Err(Error::Plan("sliding windows are not filled by lines".into()));
        }
        let mut charge = meter.open();
        charge.resize(2 * CHUNK_BYTES)?;
        Ok(Self {
            input,
            step_ns,
            span_ns,
            offset_ns,
            edges,
            fold: window.fold,
            fill: window.fill,
            stamp: window.stamp,
            range: window.range,
            instant_ns: Some(start_ns),
            chunk: Samples::default(),
            floats: Floats::default(),
            times_ns: Vec::new(),
            values: Vec::new(),
            acc: Acc::new(window.fold),
            ended: false,
            begun: false,
            previous: None,
            charge,
        })
    }

    pub(crate) fn input(&self) -> &Stream<'q> {
        &self.input
    }

    pub(crate) fn next(&mut self, meter: &Meter, out: &mut Samples) -> Result<bool, Error> {
        let mut instants = 0;
        while out.len() < CHUNK_SAMPLES {
            let Some(instant_ns) = self.instant_ns else { break };
            let stamp_ns = match self.stamp {
                Stamp::Start => instant_ns.saturating_sub(self.span_ns),
                Stamp::End => instant_ns,
            };
            if stamp_ns > self.range.end_ns {
                self.instant_ns = None;
                break;
            }
            instants += 1;
            if instants % CHUNK_SAMPLES == 0 {
                meter.check(CHUNK_SAMPLES)?;
            }
            let value = self.look_back(instant_ns.saturating_sub(self.offset_ns), meter)?;
            if self.begun && self.range.contains(stamp_ns) {
                let filled = value.or_else(|| self.fill_value());
                filled.into_iter().for_each(|value| out.push(stamp_ns, Value::Float(value)));
                self.previous = value.or(self.previous);
            }
            let is_over = self.ended && self.times_ns.is_empty();
            let goes_on = !is_over || self.begun && self.fill != Fill::None;
            self.instant_ns = instant_ns.checked_add(self.step_ns).filter(|_| goes_on);
        }
        meter.check(instants % CHUNK_SAMPLES)?;
        Ok(!out.is_empty())
    }

    /// The fold over the window that ends at `end_ns`; nothing if it is empty.
    fn look_back(&mut self, end_ns: i64, meter: &Meter) -> Result<Option<f64>, Error> {
        let start_ns = end_ns.saturating_sub(self.span_ns);
        let first_ns = match self.edges {
            Edges::LeftOpen => start_ns.saturating_add(1),
            Edges::Closed => start_ns,
        };
        while !self.ended && self.times_ns.last().is_none_or(|&last_ns| last_ns <= end_ns) {
            self.read(first_ns, meter)?;
        }
        self.forget_before(first_ns);
        let count = self.times_ns.partition_point(|&time_ns| time_ns <= end_ns);
        self.acc.reset(self.fold);
        self.acc.push(self.values.get(..count).unwrap_or_default());
        // A fill starts with the first window that has, or could have had, a sample.
        self.begun |= !self.times_ns.is_empty();
        Ok(if count == 0 { None } else { self.acc.finish() })
    }

    fn read(&mut self, first_ns: i64, meter: &Meter) -> Result<(), Error> {
        if !self.input.next(meter, &mut self.chunk)? {
            self.ended = true;
            return Ok(());
        }
        self.floats.take(&mut self.chunk);
        self.forget_before(first_ns);
        let held = self.times_ns.len() + self.floats.times_ns.len();
        self.charge.resize(2 * CHUNK_BYTES + 16 * held)?;
        self.times_ns.extend_from_slice(&self.floats.times_ns);
        self.values.extend_from_slice(&self.floats.values);
        Ok(())
    }

    /// Drops what no later window reaches.
    fn forget_before(&mut self, first_ns: i64) {
        let gone = self.times_ns.partition_point(|&time_ns| time_ns < first_ns);
        self.times_ns.drain(..gone);
        self.values.drain(..gone);
    }

    fn fill_value(&self) -> Option<f64> {
        let null = f64::from_bits(NULL_FLOAT_BITS);
        match self.fill {
            Fill::None | Fill::Linear => None,
            Fill::Nan => Some(f64::NAN),
            Fill::Null => Some(null),
            Fill::Value(value) => Some(value),
            Fill::Previous => Some(self.previous.unwrap_or(null)),
        }
    }
}
