//! Lanes: frames that threads make out of order, handed on in order.

use super::{OnFrame, answer};
use crate::Error;
use crate::limits::{Charge, Meter};
use crate::set::Set;
use foliot_lock::{Condvar, Mutex, MutexGuard, Rank};
use foliot_model::Frame;
use std::collections::{BTreeMap, VecDeque};
use std::ops::{ControlFlow, Range};

/// Frames that a lane holds before its thread waits: the depth of the channel from execution to
/// encoding.
const LANE_FRAMES: usize = 4;

/// Lanes that threads may be ahead of the reader, per thread.
const LANES_AHEAD: usize = 4;

/// Runs per thread: enough for threads to end at about the same time.
const RUNS_PER_THREAD: usize = 16;

/// Most series of a run: their small frames are handed over together.
const RUN_SERIES_MAX: usize = 64;

/// What threads and reader share.
struct Lanes<'q> {
    state: Mutex<State<'q>>,
    /// Something was put into a lane, or a lane ended.
    filled: Condvar,
    /// Something was taken out of a lane.
    drained: Condvar,
    ahead: usize,
}

struct State<'q> {
    lanes: BTreeMap<usize, Lane<'q>>,
    /// The lane being read.
    reading: usize,
    /// The next lane that a thread takes.
    next: usize,
    error: Option<Error>,
    is_stopped: bool,
}

#[derive(Default)]
struct Lane<'q> {
    frames: VecDeque<Parcel<'q>>,
    is_done: bool,
}

/// Frames, and the memory charged for them until they are handed on.
type Parcel<'q> = (Vec<Frame>, Charge<'q>);

/// Answers the series in `range` on several threads.
pub(super) fn run<'q>(
    set: &Set<'q>,
    range: Range<u32>,
    question: usize,
    meter: &'q Meter,
    on_frame: OnFrame<'_>,
) -> Result<ControlFlow<()>, Error> {
    let threads = meter.limits().threads;
    let series = (range.len() / (threads * RUNS_PER_THREAD)).clamp(1, RUN_SERIES_MAX);
    let runs: Vec<Range<u32>> = range
        .clone()
        .step_by(series)
        .map(|start| start..range.end.min(start.saturating_add(series as u32)))
        .collect();
    let state =
        State { lanes: BTreeMap::new(), reading: 0, next: 0, error: None, is_stopped: false };
    let lanes = Lanes {
        state: Mutex::new(Rank::Query, state),
        filled: Condvar::new(),
        drained: Condvar::new(),
        ahead: threads * LANES_AHEAD,
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.min(runs.len()) {
            scope.spawn(|| lanes.work(set, &runs, question, meter));
        }
        let flow = lanes.read(runs.len(), on_frame);
        // Whatever ended the reading, nobody waits for room any more.
        lanes.stop(runs.len(), meter);
        flow
    })
}

impl<'q> Lanes<'q> {
    fn lock(&self) -> MutexGuard<'_, State<'q>> {
        self.state.lock()
    }

    /// Hands frames on, lane by lane.
    fn read(&self, count: usize, on_frame: OnFrame<'_>) -> Result<ControlFlow<()>, Error> {
        while let Some((frames, _charge)) = self.take(count)? {
            for frame in frames {
                if on_frame(frame).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Waits for the next frames in order; nothing when all lanes are read.
    fn take(&self, count: usize) -> Result<Option<Parcel<'q>>, Error> {
        let mut state = self.lock();
        loop {
            if let Some(error) = state.error.take() {
                return Err(error);
            }
            if state.reading == count {
                return Ok(None);
            }
            let reading = state.reading;
            let lane = state.lanes.entry(reading).or_default();
            if let Some(parcel) = lane.frames.pop_front() {
                self.drained.notify_all();
                return Ok(Some(parcel));
            }
            if lane.is_done {
                state.lanes.remove(&reading);
                state.reading += 1;
                self.drained.notify_all();
                continue;
            }
            self.filled.wait(&mut state);
        }
    }

    fn stop(&self, count: usize, meter: &Meter) {
        let mut state = self.lock();
        state.is_stopped = true;
        if state.reading < count {
            meter.stop();
        }
        drop(state);
        self.drained.notify_all();
    }

    /// What each thread does: takes runs in order until there are no more.
    fn work(&self, set: &Set<'q>, runs: &[Range<u32>], question: usize, meter: &'q Meter) {
        while let Some(number) = self.take_run(runs.len()) {
            let run = runs.get(number).cloned().unwrap_or_default();
            let mut done = Done { lanes: self, number, error: None };
            done.error = self.work_run(set, run, number, question, meter).err();
        }
    }

    fn take_run(&self, count: usize) -> Option<usize> {
        let mut state = self.lock();
        loop {
            if state.is_stopped || state.error.is_some() || state.next == count {
                return None;
            }
            if state.next < state.reading + self.ahead {
                state.next += 1;
                return Some(state.next - 1);
            }
            self.drained.wait(&mut state);
        }
    }

    fn work_run(
        &self,
        set: &Set<'q>,
        run: Range<u32>,
        number: usize,
        question: usize,
        meter: &'q Meter,
    ) -> Result<(), Error> {
        let mut charge = meter.open();
        let mut frames = Vec::new();
        let mut bytes = 0;
        let mut error = None;
        for index in run {
            let mut keep = |frame: Frame| {
                bytes += frame.samples.bytes_len() + size_of::<Frame>();
                if let Err(refused) = charge.resize(bytes) {
                    error = Some(refused);
                    return ControlFlow::Break(());
                }
                frames.push(frame);
                if bytes < super::FRAME_SAMPLES * 16 {
                    return ControlFlow::Continue(());
                }
                bytes = 0;
                let charge = std::mem::replace(&mut charge, meter.open());
                self.put(number, (std::mem::take(&mut frames), charge))
            };
            let flow = answer(set, index, question, meter, 1, &mut keep)?;
            if let Some(error) = error {
                return Err(error);
            }
            if flow.is_break() {
                return Ok(());
            }
        }
        if !frames.is_empty() {
            // A break says that nobody reads any more, which is where this ends anyway.
            let _ = self.put(number, (frames, charge));
        }
        Ok(())
    }

    /// Waits for room in a lane.
    fn put(&self, number: usize, parcel: Parcel<'q>) -> ControlFlow<()> {
        let mut state = self.lock();
        loop {
            if state.is_stopped {
                return ControlFlow::Break(());
            }
            let lane = state.lanes.entry(number).or_default();
            if lane.frames.len() < LANE_FRAMES {
                lane.frames.push_back(parcel);
                drop(state);
                self.filled.notify_all();
                return ControlFlow::Continue(());
            }
            self.drained.wait(&mut state);
        }
    }
}

/// Ends a lane when dropped: also when its thread panics, so that the reader does not wait for it.
struct Done<'a, 'q> {
    lanes: &'a Lanes<'q>,
    number: usize,
    error: Option<Error>,
}

impl Drop for Done<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.error = Some(Error::Cancelled);
        }
        let mut state = self.lanes.lock();
        if let Some(error) = self.error.take() {
            state.error.get_or_insert(error);
        }
        state.lanes.entry(self.number).or_default().is_done = true;
        drop(state);
        self.lanes.filled.notify_all();
    }
}
