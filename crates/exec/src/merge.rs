//! Merging: several series into one, at the union of their times.
//!
//! The general way to aggregate: at each instant every series that has begun and not ended
//! contributes its value or what the gap rule says. Only the current chunk of each series is in
//! memory. With a gap rule every instant looks at every series, so the next instant is found on the
//! way; without one only the series that have a sample there matter, and a heap knows them. Series
//! whose times fall on shared windows are folded without all this, see [`crate::slots`].

mod single;
mod strip;

pub(crate) use single::Single;
use strip::Strip;

use crate::Error;
use crate::fold::{Acc, fold_integers, fold_of_floats};
use crate::gap::{Point, float_at, integer_at};
use crate::limits::{CHUNK_BYTES, CHUNK_SAMPLES, Charge, Meter};
use crate::number::Number;
use crate::stream::Stream;
use foliot_model::{Samples, Value};
use foliot_plan::{Aggregate, Arithmetic, Fold, Gap};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Contributions after which the query's deadline is looked at again.
const CHECK_CONTRIBUTIONS: usize = 1 << 16;

/// A group of series on their way into one.
#[derive(Debug)]
pub(crate) struct Merge<'q> {
    fold: Fold,
    float_fold: Fold,
    gap: Gap,
    arithmetic: Arithmetic,
    is_primed: bool,
    cursors: Vec<Cursor<'q>>,
    /// The latest sample of each series at or before the instant; nothing before its first sample
    /// and after its last.
    now: Vec<Option<Point>>,
    /// The sample of each series after the instant.
    next: Vec<Option<Point>>,
    /// How many of `now` and `next` are floats.
    floats: usize,
    /// Times of `next`; the end of time where there is none.
    next_ns: Vec<i64>,
    /// The same as a heap, without gap rule.
    heap: BinaryHeap<Reverse<(i64, u32)>>,
    /// Series with a sample at the instant, ascending.
    reached: Vec<u32>,
    acc: Acc,
    float_values: Vec<f64>,
    integer_values: Vec<i64>,
    strip: Strip,
    charge: Charge<'q>,
}

/// Where one series of a group is read.
#[derive(Debug)]
struct Cursor<'q> {
    stream: Stream<'q>,
    chunk: Samples,
    at: usize,
    charge: Charge<'q>,
}

impl<'q> Merge<'q> {
    pub(crate) fn new(
        aggregate: &Aggregate,
        members: Vec<Stream<'q>>,
        meter: &'q Meter,
    ) -> Result<Self, Error> {
        let mut charge = meter.open();
        let per_member = size_of::<Cursor<'_>>() + 2 * size_of::<Option<Point>>() + 32;
        charge.resize(members.len() * per_member)?;
        let float_fold = fold_of_floats(aggregate.fold, aggregate.arithmetic);
        let cursor =
            |stream| Cursor { stream, chunk: Samples::default(), at: 0, charge: meter.open() };
        Ok(Self {
            fold: aggregate.fold,
            float_fold,
            gap: aggregate.gap,
            arithmetic: aggregate.arithmetic,
            is_primed: false,
            cursors: members.into_iter().map(cursor).collect(),
            now: Vec::new(),
            next: Vec::new(),
            floats: 0,
            next_ns: Vec::new(),
            heap: BinaryHeap::new(),
            reached: Vec::new(),
            acc: Acc::new(float_fold),
            float_values: Vec::new(),
            integer_values: Vec::new(),
            strip: Strip::default(),
            charge,
        })
    }

    pub(crate) fn members(&self, out: &mut Vec<u32>) {
        self.cursors.iter().for_each(|cursor| cursor.stream.members(out));
    }

    pub(crate) fn next(&mut self, meter: &Meter, out: &mut Samples) -> Result<bool, Error> {
        if !self.is_primed {
            self.prime(meter)?;
        }
        let mut contributions = 0;
        while out.len() < CHUNK_SAMPLES {
            let before = out.len();
            self.strip(CHUNK_SAMPLES - before, out)?;
            contributions += (out.len() - before) * self.cursors.len();
            let Some(time_ns) = self.step(meter)? else { break };
            if let Some(value) = self.fold_at(time_ns) {
                out.push(time_ns, value);
            }
            contributions += self.float_values.len() + self.integer_values.len();
            if contributions > CHECK_CONTRIBUTIONS {
                contributions = 0;
                meter.check(0)?;
            }
        }
        meter.check(0)?;
        Ok(!out.is_empty())
    }

    /// Reads the first sample of every series. Series that do not exist are no members.
    fn prime(&mut self, meter: &Meter) -> Result<(), Error> {
        self.is_primed = true;
        let mut members = Vec::new();
        for mut cursor in std::mem::take(&mut self.cursors) {
            let first = cursor.pull(meter)?;
            members.clear();
            cursor.stream.members(&mut members);
            if members.is_empty() {
                continue;
            }
            if let (Some((time_ns, _)), Gap::Absent) = (first, self.gap) {
                self.heap.push(Reverse((time_ns, self.cursors.len() as u32)));
            }
            self.floats += usize::from(is_float(first));
            self.cursors.push(cursor);
            self.now.push(None);
            self.next.push(first);
            self.next_ns.push(time_of(first));
        }
        let values = self.cursors.len() * Acc::bytes_per_value(self.fold);
        self.charge.add(values + 16 * self.cursors.len())
    }

    /// Moves the series that have a sample at the next instant to it; nothing at the end.
    fn step(&mut self, meter: &Meter) -> Result<Option<i64>, Error> {
        self.retire();
        let Some(time_ns) = self.reach() else { return Ok(None) };
        for &index in &self.reached {
            let at = index as usize;
            let (Some(cursor), Some(now), Some(next), Some(next_ns)) = (
                self.cursors.get_mut(at),
                self.now.get_mut(at),
                self.next.get_mut(at),
                self.next_ns.get_mut(at),
            ) else {
                continue;
            };
            self.floats -= usize::from(is_float(*now));
            *now = *next;
            *next = cursor.pull(meter)?;
            *next_ns = time_of(*next);
            self.floats += usize::from(is_float(*next));
            if let (Some((next_ns, _)), Gap::Absent) = (*next, self.gap) {
                self.heap.push(Reverse((next_ns, index)));
            }
        }
        Ok(Some(time_ns))
    }

    /// Finds the next instant and the series that have a sample there.
    fn reach(&mut self) -> Option<i64> {
        if self.gap != Gap::Absent {
            let time_ns = self.next_ns.iter().copied().min()?;
            let here = self.next_ns.iter().zip(0..).filter(|(next_ns, _)| **next_ns == time_ns);
            self.reached.extend(here.map(|(_, index)| index));
            // The end of time may be a sample's own; where it is not, nothing is left.
            let is_sample =
                |&index: &u32| self.next.get(index as usize).is_some_and(Option::is_some);
            self.reached.retain(is_sample);
            return (!self.reached.is_empty()).then_some(time_ns);
        }
        let &Reverse((time_ns, _)) = self.heap.peek()?;
        while let Some(&Reverse((at_ns, index))) = self.heap.peek()
            && at_ns == time_ns
        {
            self.heap.pop();
            self.reached.push(index);
        }
        Some(time_ns)
    }

    /// Takes out the series whose last sample was at the previous instant.
    fn retire(&mut self) {
        for index in self.reached.drain(..) {
            let at = index as usize;
            if let (Some(now), Some(None)) = (self.now.get_mut(at), self.next.get(at)) {
                self.floats -= usize::from(is_float(now.take()));
            }
        }
    }

    fn fold_at(&mut self, time_ns: i64) -> Option<Value<'static>> {
        let gap = self.gap;
        self.float_values.clear();
        self.integer_values.clear();
        let all = self.now.iter().zip(&self.next).filter_map(|(now, next)| Some(((*now)?, *next)));
        let is_integer = self.arithmetic == Arithmetic::IntegerIfAll && self.floats == 0;
        // The heap yields the series of one instant in ascending order, so without gap rule only
        // they need to be looked at.
        let here = self
            .reached
            .iter()
            .filter_map(|&at| Some((self.now.get(at as usize).copied()??, None)));
        match (is_integer, gap) {
            (true, Gap::Absent) => self
                .integer_values
                .extend(here.filter_map(|(now, next)| integer_at(now, next, time_ns, gap))),
            (true, _) => self
                .integer_values
                .extend(all.filter_map(|(now, next)| integer_at(now, next, time_ns, gap))),
            (false, Gap::Absent) => self
                .float_values
                .extend(here.filter_map(|(now, next)| float_at(now, next, time_ns, gap))),
            (false, _) => self
                .float_values
                .extend(all.filter_map(|(now, next)| float_at(now, next, time_ns, gap))),
        }
        if is_integer {
            return fold_integers(self.fold, &mut self.integer_values).map(Value::Integer);
        }
        self.acc.reset(self.float_fold);
        self.acc.push(&self.float_values);
        self.acc.finish().map(Value::Float)
    }
}

fn time_of(point: Option<Point>) -> i64 {
    point.map_or(i64::MAX, |(time_ns, _)| time_ns)
}

fn is_float(point: Option<Point>) -> bool {
    point.is_some_and(|(_, number)| number.is_float())
}

impl Cursor<'_> {
    /// The next number of the series.
    fn pull(&mut self, meter: &Meter) -> Result<Option<Point>, Error> {
        loop {
            while let Some(&time_ns) = self.chunk.times_ns.get(self.at) {
                let number = Number::at(&self.chunk.values, self.at);
                self.at += 1;
                if let Some(number) = number {
                    return Ok(Some((time_ns, number)));
                }
            }
            self.at = 0;
            self.charge.resize(CHUNK_BYTES)?;
            if !self.stream.next(meter, &mut self.chunk)? {
                self.chunk = Samples::default();
                self.charge.resize(0)?;
                return Ok(None);
            }
            self.charge.resize(self.chunk.bytes_len())?;
        }
    }
}
