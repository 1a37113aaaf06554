//! Windows that stand side by side: buckets, calendar units, one window for all.
//!
//! 1. A block of a stored series that lies in one window as a whole goes to the fold by its summary
//!    (count, sum, min, max, first, last), without being read, if the fold can take it.
//! 2. Other chunks of the input become floats, without being copied if they are floats already.
//! 3. The end of the open window is searched in the chunk's times, and the values before it go to
//!    the fold as one run, so that the inner loops see plain slices.
//!    Short windows inside a chunk, which are most, take a path without any state.
//! 4. A closed window is emitted; empty windows before it are filled first, if the plan says so.

use crate::Error;
use crate::fold::{Acc, SHORT_RUN, fold_short};
use crate::limits::{CHUNK_BYTES, CHUNK_SAMPLES, Charge, Meter};
use crate::number::Floats;
use crate::stream::Stream;
use crate::window::Grid;
use foliot_model::{NULL_FLOAT_BITS, Samples, TimeRange};
use foliot_plan::{Fill, Fold, Window};

/// A chunk read, a chunk of floats, a chunk of results.
const BUFFER_BYTES: usize = 3 * CHUNK_BYTES;

/// One value per window and a fill for empty ones.
#[derive(Debug)]
pub(crate) struct FixedWindows<'q> {
    input: Stream<'q>,
    grid: Grid,
    fold: Fold,
    fill: Fill,
    range: TimeRange,
    chunk: Samples,
    floats: Floats,
    at: usize,
    acc: Acc,
    open: Option<TimeRange>,
    /// The window that was closed last, and how many samples it had.
    closed: Option<TimeRange>,
    stride: usize,
    stage: Stage,
    /// The window that comes next if none is left out.
    expected: Option<TimeRange>,
    gap: Option<Gap>,
    out: Floats,
    charge: Charge<'q>,
}

/// How far the input is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// No number came yet.
    Start,
    Reading,
    /// The input has ended; windows after its last one are filled.
    Ended,
    Done,
}

/// Empty windows to fill before going on.
#[derive(Clone, Copy, Debug)]
struct Gap {
    /// Windows that start here or later are not part of the gap.
    until_ns: i64,
    /// The window behind the gap.
    then: Option<(TimeRange, f64)>,
}

impl<'q> FixedWindows<'q> {
    pub(crate) fn new(window: &Window, input: Stream<'q>, meter: &'q Meter) -> Result<Self, Error> {
        let grid = Grid::new(&window.windows)?;
        let mut charge = meter.open();
        charge.resize(BUFFER_BYTES)?;
        Ok(Self {
            input,
            grid,
            fold: window.fold,
            fill: window.fill,
            range: window.range,
            chunk: Samples::default(),
            floats: Floats::default(),
            at: 0,
            acc: Acc::new(window.fold),
            open: None,
            closed: None,
            stride: 1,
            stage: Stage::Start,
            expected: None,
            gap: None,
            out: Floats::default(),
            charge,
        })
    }

    pub(crate) fn input(&self) -> &Stream<'q> {
        &self.input
    }

    pub(crate) fn next(&mut self, meter: &Meter, out: &mut Samples) -> Result<bool, Error> {
        while self.out.len() < CHUNK_SAMPLES {
            if let Some(gap) = self.gap {
                self.fill_gap(gap);
            } else if self.close_short() {
                continue;
            } else if let Some((window, value)) = self.close_next(meter)? {
                self.emit(window, value);
            } else if self.stage == Stage::Ended {
                self.stage = Stage::Done;
                self.gap = self.trailing_gap();
            } else {
                break;
            }
        }
        let made_up = if self.fill == Fill::None { 0 } else { self.out.len() };
        meter.check(made_up)?;
        self.out.give(out);
        Ok(!out.is_empty())
    }

    /// Folds short windows that lie in the chunk as a whole, with samples after them. False if the
    /// next one is not such a window.
    fn close_short(&mut self) -> bool {
        let at_first = self.at;
        while self.open.is_none() && self.gap.is_none() && self.out.len() < CHUNK_SAMPLES {
            let times_ns = self.floats.times_ns.as_slice();
            let Some(&time_ns) = times_ns.get(self.at) else { break };
            let window = match &self.closed {
                Some(closed) => self.grid.following(closed, time_ns),
                None => self.grid.containing(time_ns),
            };
            let Some(window) = window else { break };
            let end = run_end(times_ns, self.at, window.end_ns, self.stride);
            if end == times_ns.len() || end - self.at > SHORT_RUN {
                break;
            }
            let run = self.floats.values.get(self.at..end).unwrap_or_default();
            let Some(value) = fold_short(self.fold, run) else { break };
            self.stride = end - self.at;
            self.at = end;
            self.closed = Some(window);
            self.emit(window, value);
        }
        self.at > at_first
    }

    /// Reads on until a window is complete.
    fn close_next(&mut self, meter: &Meter) -> Result<Option<(TimeRange, f64)>, Error> {
        loop {
            let Some(&time_ns) = self.floats.times_ns.get(self.at) else {
                if let Some(window) = self.summarised_window() {
                    if let Some(open) = self.open.filter(|open| *open != window) {
                        self.open = None;
                        return Ok(Some(self.close(open)));
                    }
                    self.take_summary(window, meter)?;
                } else if !self.read(meter)? {
                    return Ok(self.open.take().map(|window| self.close(window)));
                }
                continue;
            };
            match self.open {
                None => {
                    self.open = self.grid.containing(time_ns);
                    self.at += usize::from(self.open.is_none());
                }
                Some(window) if time_ns <= window.end_ns => {
                    let end = run_end(&self.floats.times_ns, self.at, window.end_ns, 1);
                    let kept = self.acc.kept_bytes().max(Acc::bytes_per_value(self.fold) * end);
                    self.charge.resize(BUFFER_BYTES + 2 * kept)?;
                    self.acc.push(self.floats.values.get(self.at..end).unwrap_or_default());
                    self.at = end;
                }
                Some(window) => {
                    self.open = None;
                    return Ok(Some(self.close(window)));
                }
            }
        }
    }

    fn close(&mut self, window: TimeRange) -> (TimeRange, f64) {
        let value = self.acc.finish().unwrap_or(f64::NAN);
        self.acc.reset(self.fold);
        self.closed = Some(window);
        (window, value)
    }

    /// The window that the next block lies in as a whole, if its summary will do.
    fn summarised_window(&mut self) -> Option<TimeRange> {
        let Stream::Stored(stored) = &self.input else { return None };
        let block = stored.peek().filter(|block| Acc::takes(self.fold, block.summary))?;
        let range = block.range;
        self.begin(range.start_ns);
        self.grid.containing(range.start_ns).filter(|window| range.end_ns <= window.end_ns)
    }

    fn take_summary(&mut self, window: TimeRange, meter: &Meter) -> Result<(), Error> {
        let Stream::Stored(stored) = &mut self.input else { return Ok(()) };
        if let Some(block) = stored.peek() {
            self.acc.push_summary(u64::from(block.count), block.summary);
            self.open = Some(window);
        }
        stored.skip(meter)
    }

    /// Takes note of the first number's time.
    fn begin(&mut self, first_ns: i64) {
        if self.stage == Stage::Start {
            self.stage = Stage::Reading;
            self.grid.begin(first_ns);
            self.expected = self.grid.first_in(&self.range);
        }
    }

    /// Reads the next chunk; false where the input ends.
    fn read(&mut self, meter: &Meter) -> Result<bool, Error> {
        if matches!(self.stage, Stage::Ended | Stage::Done) {
            return Ok(false);
        }
        if !self.input.next(meter, &mut self.chunk)? {
            // A series without a number is no series here: nothing of it is filled.
            let begun = self.stage == Stage::Reading;
            self.stage = if begun { Stage::Ended } else { Stage::Done };
            return Ok(false);
        }
        self.floats.take(&mut self.chunk);
        self.at = 0;
        if let Some(&first_ns) = self.floats.times_ns.first() {
            self.begin(first_ns);
        }
        Ok(true)
    }

    fn emit(&mut self, window: TimeRange, value: f64) {
        if !self.range.contains(window.start_ns) {
            return;
        }
        let is_late = |expected: TimeRange| expected.start_ns < window.start_ns;
        if self.fill != Fill::None && self.expected.is_some_and(is_late) {
            self.gap = Some(Gap { until_ns: window.start_ns, then: Some((window, value)) });
            return;
        }
        self.out.push(window.start_ns, value);
        if self.fill != Fill::None {
            self.expected = self.grid.after(&window);
        }
    }

    fn trailing_gap(&self) -> Option<Gap> {
        let until_ns = self.range.end_ns.saturating_add(1);
        (self.fill != Fill::None).then_some(Gap { until_ns, then: None })
    }

    /// Fills windows while there is room, and then emits the one behind the gap.
    fn fill_gap(&mut self, gap: Gap) {
        while let Some(window) = self.expected.filter(|w| w.start_ns < gap.until_ns) {
            if self.out.len() == CHUNK_SAMPLES {
                return;
            }
            let value = match self.fill {
                Fill::Value(value) => value,
                Fill::Nan => f64::NAN,
                Fill::None | Fill::Null => f64::from_bits(NULL_FLOAT_BITS),
            };
            self.out.push(window.start_ns, value);
            self.expected = self.grid.after(&window);
        }
        self.gap = None;
        if let Some((window, value)) = gap.then {
            self.emit(window, value);
        }
    }
}

/// Where the times from `at` on are later than `end_ns`. Tries `stride` samples on first, because
/// windows of a series mostly have equally many; else short runs are found in a few steps.
#[inline]
fn run_end(times_ns: &[i64], at: usize, end_ns: i64, stride: usize) -> usize {
    let rest = times_ns.get(at..).unwrap_or_default();
    let is_in = |index: usize| rest.get(index).map(|&time_ns| time_ns <= end_ns);
    if is_in(stride) == Some(false) && is_in(stride.wrapping_sub(1)) == Some(true) {
        return at + stride;
    }
    let mut reach = 1;
    while is_in(reach) == Some(true) {
        reach *= 2;
    }
    let (from, to) = (reach / 2, reach.min(rest.len()));
    let tail = rest.get(from..to).unwrap_or_default();
    at + from + tail.partition_point(|&time_ns| time_ns <= end_ns)
}
