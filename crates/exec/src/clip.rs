//! Cutting: the samples of a range.

use crate::Error;
use crate::limits::Meter;
use crate::stream::Stream;
use foliot_model::{Samples, TimeRange};

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
