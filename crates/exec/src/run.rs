//! Running: plans to frames, in order, on as many threads as pay.
//!
//! 1. Plans are laid over the snapshot: how many series there will be, and in which order.
//! 2. The first series are answered on the caller's thread. That is all for small queries, and
//!    tells how much work the rest is.
//! 3. If it is much, threads take runs of series in order and put frames into a [`Lane`] per run;
//!    the caller's thread hands them on, lane by lane. Threads are at most [`LANES_AHEAD`] lanes
//!    ahead, and a lane holds [`LANE_FRAMES`] frames, so a slow reader stops the work.

mod lanes;

use crate::Error;
use crate::kept::Kept;
use crate::limits::{CHUNK_SAMPLES, FRAME_SAMPLES, Meter};
use crate::set::{Ground, Set};
use crate::source::Source;
use crate::stream::Stream;
use foliot_model::{Frame, Samples, SeriesHead};
use foliot_plan::Series;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Samples that must be left, by estimate, for threads to be worth starting: some hundred
/// microseconds of work, several times what a thread costs to start.
const SAMPLES_WORTH_THREADS: u64 = 200_000;

/// Bytes after which a frame of text is sent, whatever its number of samples.
const FRAME_BYTES: usize = 256 << 10;

/// What a query did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// Series answered.
    pub series: u64,
    /// Stored series selected.
    pub series_selected: u64,
    /// Samples read from the store, each once for every time that the question reads its series.
    /// What blocks tell by their summaries is not read.
    pub samples_scanned: u64,
    /// Samples answered.
    pub samples_answered: u64,
    /// The most memory held at once.
    pub memory_peak_bytes: u64,
}

/// Receives frames; says whether it wants more.
type OnFrame<'a> = &'a mut dyn FnMut(Frame) -> ControlFlow<()>;

/// Carries out `plans` over `source`; see [`crate::run`].
pub(crate) fn run_over(
    source: Source<'_>,
    plans: &[Series],
    meter: &Meter,
    on_frame: OnFrame<'_>,
) -> Result<Ran, Error> {
    let meter = &meter.of_run();
    let (mut ran, selected) = (Ran::default(), meter.selected());
    // The last question that wants the answer to each.
    let mut wanted = vec![0; plans.len()];
    for (question, plan) in plans.iter().enumerate() {
        plan.each_answer(&mut |place| {
            wanted.get_mut(place).into_iter().for_each(|last| *last = question);
        });
    }
    let mut earlier: Vec<Option<Arc<Kept<'_>>>> = Vec::with_capacity(plans.len());
    for (question, plan) in plans.iter().enumerate() {
        meter.check(0)?;
        let mut set = Set::new(plan, Ground { source, meter, earlier: &earlier, depth: 0 })?;
        earlier.push(None);
        if wanted.get(question).is_some_and(|&last| last > question) {
            let kept = Kept::of(&set, meter)?;
            earlier.last_mut().into_iter().for_each(|place| *place = Some(Arc::clone(&kept)));
            set = Set::Kept(kept);
        }
        let mut counted = |frame: Frame| {
            ran.samples_answered += frame.samples.len() as u64;
            ran.series += u64::from(frame.is_last);
            on_frame(frame)
        };
        if run_question(&set, question, meter, &mut counted)?.is_break() {
            break;
        }
        for (kept, last) in earlier.iter_mut().zip(&wanted) {
            kept.take_if(|_| *last <= question);
        }
    }
    ran.series_selected = meter.selected() - selected;
    ran.samples_scanned = meter.samples();
    ran.memory_peak_bytes = meter.memory_peak_bytes();
    Ok(ran)
}

pub(crate) fn run_question<'q>(
    set: &Set<'q>,
    question: usize,
    meter: &'q Meter,
    on_frame: OnFrame<'_>,
) -> Result<ControlFlow<()>, Error> {
    let (count, before) = (set.len() as u32, meter.work());
    let threads = meter.limits().threads.max(1);
    for index in 0..count {
        let left = u64::from(count - index);
        let each = (meter.work() - before) / u64::from(index.max(1));
        if threads > 1 && left > 1 && each.saturating_mul(left) > SAMPLES_WORTH_THREADS {
            return lanes::run(set, index..count, question, meter, on_frame);
        }
        if answer(set, index, question, meter, threads, on_frame)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Answers one series with frames.
fn answer<'q>(
    set: &Set<'q>,
    index: u32,
    question: usize,
    meter: &'q Meter,
    threads: usize,
    on_frame: OnFrame<'_>,
) -> Result<ControlFlow<()>, Error> {
    let mut charge = meter.open();
    let mut stream = set.open(index, meter, threads)?;
    let (mut chunk, mut samples) = (Samples::default(), Samples::default());
    let mut head: Option<Arc<SeriesHead>> = None;
    while stream.next(meter, &mut chunk)? {
        let head = match &head {
            Some(head) => head,
            None => head.insert(head_of(set, question, &stream, meter)?.unwrap_or_default()),
        };
        let is_full = samples.len() + chunk.len().max(CHUNK_SAMPLES) > FRAME_SAMPLES
            || samples.bytes_len() > FRAME_BYTES;
        if is_full {
            let samples = std::mem::take(&mut samples);
            let frame = Frame { head: Arc::clone(head), samples, is_last: false };
            if on_frame(frame).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        charge.resize(samples.bytes_len() + 2 * chunk.bytes_len())?;
        if samples.is_empty() {
            std::mem::swap(&mut samples, &mut chunk);
        } else {
            samples.append(&chunk, 0..chunk.len());
        }
    }
    if head.is_none() && set.keeps_empty() {
        head = head_of(set, question, &stream, meter)?;
    }
    match head {
        Some(head) => Ok(on_frame(Frame { head, samples, is_last: true })),
        None => Ok(ControlFlow::Continue(())),
    }
}

/// What a series is called; nothing if there is none.
fn head_of(
    set: &Set<'_>,
    question: usize,
    stream: &Stream<'_>,
    meter: &Meter,
) -> Result<Option<Arc<SeriesHead>>, Error> {
    let mut members = Vec::new();
    stream.members(&mut members);
    Ok(set.head(question, members, meter)?.map(Arc::new))
}
