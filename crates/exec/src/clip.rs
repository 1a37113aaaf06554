//! Cutting: the samples of a range, or only the first or the last one.

use crate::Error;
use crate::limits::Meter;
use crate::stream::Stream;
use foliot_model::{Samples, TimeRange};
use foliot_plan::Pick;

/// The input's samples in a range.
#[derive(Debug)]
pub(crate) struct Clip<'q> {
    input: Stream<'q>,
    range: TimeRange,
    keep_empty: bool,
    chunk: Samples,
    is_over: bool,
    has_samples: bool,
}

impl<'q> Clip<'q> {
    pub(crate) fn new(input: Stream<'q>, range: TimeRange, keep_empty: bool) -> Self {
        let chunk = Samples::default();
        Self { input, range, keep_empty, chunk, is_over: false, has_samples: false }
    }

    pub(crate) fn members(&self, out: &mut Vec<u32>) {
        if self.has_samples || self.keep_empty {
            self.input.members(out);
        }
    }

    pub(crate) fn next(&mut self, meter: &Meter, out: &mut Samples) -> Result<bool, Error> {
        while out.is_empty() && !self.is_over {
            if !self.input.next(meter, &mut self.chunk)? {
                self.is_over = true;
                break;
            }
            let times_ns = &self.chunk.times_ns;
            let start = times_ns.partition_point(|&time_ns| time_ns < self.range.start_ns);
            let end = times_ns.partition_point(|&time_ns| time_ns <= self.range.end_ns);
            self.is_over = end < times_ns.len();
            if start == 0 && !self.is_over {
                std::mem::swap(&mut self.chunk, out);
            } else {
                out.append(&self.chunk, start..end.max(start));
            }
        }
        self.has_samples |= !out.is_empty();
        Ok(!out.is_empty())
    }
}

/// The input's first or last sample.
#[derive(Debug)]
pub(crate) struct Picked<'q> {
    input: Stream<'q>,
    pick: Pick,
    is_over: bool,
}

impl<'q> Picked<'q> {
    pub(crate) fn new(input: Stream<'q>, pick: Pick) -> Self {
        Self { input, pick, is_over: false }
    }

    pub(crate) fn input(&self) -> &Stream<'q> {
        &self.input
    }

    pub(crate) fn next(&mut self, meter: &Meter, out: &mut Samples) -> Result<bool, Error> {
        if let (Pick::Last, false, Stream::Stored(stored)) =
            (self.pick, self.is_over, &mut self.input)
        {
            self.is_over = true;
            return stored.last(meter, out);
        }
        let mut chunk = Samples::default();
        while !self.is_over && self.input.next(meter, &mut chunk)? {
            let at = match self.pick {
                Pick::First => 0,
                Pick::Last => chunk.len().saturating_sub(1),
            };
            out.clear();
            out.append(&chunk, at..at + 1);
            self.is_over = self.pick == Pick::First;
        }
        self.is_over = true;
        Ok(!out.is_empty())
    }
}
