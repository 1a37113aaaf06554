//! Series that are in memory, whole: what operators need that look at all of a set before they
//! yield anything, and answers that later questions want.

use crate::kernels::rank::{Best, rank_of};
use crate::limits::{Charge, Meter};
use crate::number::Number;
use crate::run::run_question;
use crate::set::{NAME_BYTES, Set};
use crate::{Error, heads};
use foliot_model::{Frame, Samples, SeriesHead};
use foliot_plan::{Named, Ranked};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A series, whole.
pub(crate) type One = (Arc<SeriesHead>, Arc<Samples>);

/// Series in their order.
#[derive(Debug)]
pub(crate) struct Kept<'q> {
    pub(crate) series: Vec<One>,
    /// The one that is not whole yet.
    open: Samples,
    charge: Charge<'q>,
}

impl<'q> Kept<'q> {
    pub(crate) fn none(meter: &'q Meter) -> Self {
        Self { series: Vec::new(), open: Samples::default(), charge: meter.open() }
    }

    /// The series of a set.
    pub(crate) fn of(set: &Set<'q>, meter: &'q Meter) -> Result<Arc<Self>, Error> {
        if let Some(kept) = set.kept() {
            return Ok(Arc::clone(kept));
        }
        let mut kept = Self::none(meter);
        each_frame(set, meter, &mut |frame| kept.push(&frame))?;
        Ok(Arc::new(kept))
    }

    /// The series of a set, under other names.
    pub(crate) fn named(plan: &Named, set: &Set<'q>, meter: &'q Meter) -> Result<Arc<Self>, Error> {
        let kept = Self::of(set, meter)?;
        let mut made = Self::none(meter);
        for (head, samples) in &kept.series {
            made.add((Arc::new(heads::renamed(head, plan)?), Arc::clone(samples)))?;
        }
        Ok(Arc::new(made))
    }

    /// The series of all sets.
    pub(crate) fn union(sets: &[Set<'q>], meter: &'q Meter) -> Result<Arc<Self>, Error> {
        let mut all = Self::none(meter);
        for set in sets {
            let kept = Self::of(set, meter)?;
            kept.series.iter().try_for_each(|one| all.add(one.clone()))?;
        }
        Ok(Arc::new(all))
    }

    /// The series of a set that rank best.
    pub(crate) fn ranked(
        plan: &Ranked,
        set: &Set<'q>,
        meter: &'q Meter,
    ) -> Result<Arc<Self>, Error> {
        let mut kept = Self::none(meter);
        let mut best = Best::new(plan.count, plan.is_top, plan.keeps_later);
        each_frame(set, meter, &mut |frame| {
            kept.push(&frame)?;
            let Some(one) = kept.series.pop() else { return Ok(()) };
            let numbers = || numbers(plan, &one.1);
            let dropped = match plan.takes_empty || numbers().next().is_some() {
                true => best.offer(rank_of(plan.rank, numbers()), one.clone()),
                false => Some(one.clone()),
            };
            let bytes = dropped.as_ref().map_or(0, bytes_of);
            kept.charge.resize(kept.charge.bytes().saturating_sub(bytes))
        })?;
        kept.series = best.into_best().collect();
        Ok(Arc::new(kept))
    }

    /// Takes the next frame of an answer.
    pub(crate) fn push(&mut self, frame: &Frame) -> Result<(), Error> {
        let whole = self.charge.bytes() - self.open.bytes_len();
        self.charge.add(frame.samples.bytes_len())?;
        self.open.append(&frame.samples, 0..frame.samples.len());
        // A column that turned into a mixed one weighs more than its frames.
        self.charge.resize(whole + self.open.bytes_len())?;
        if frame.is_last {
            self.charge.resize(whole)?;
            let samples = Arc::new(std::mem::take(&mut self.open));
            self.add((Arc::clone(&frame.head), samples))?;
        }
        Ok(())
    }

    /// Adds a series.
    pub(crate) fn add(&mut self, one: One) -> Result<(), Error> {
        self.charge.add(bytes_of(&one))?;
        self.series.push(one);
        Ok(())
    }
}

/// What a series weighs.
fn bytes_of((head, samples): &One) -> usize {
    let members = size_of_val(head.members.as_slice());
    NAME_BYTES + head.measurement.len() + members + samples.bytes_len()
}

/// The numbers by which a series is ranked.
fn numbers<'s>(plan: &Ranked, samples: &'s Samples) -> impl Iterator<Item = f64> + Clone + 's {
    let times_ns = &samples.times_ns;
    let start = times_ns.partition_point(|&time_ns| time_ns < plan.range.start_ns);
    let end = times_ns.partition_point(|&time_ns| time_ns <= plan.range.end_ns);
    let start = plan.last.map_or(start, |last| start.max(end.saturating_sub(last)));
    let number = |index| Number::at(&samples.values, index).map(Number::to_f64);
    (start..end).filter_map(number)
}

/// Hands all of a set to `take`, frame by frame.
fn each_frame<'q>(
    set: &Set<'q>,
    meter: &'q Meter,
    take: &mut dyn FnMut(Frame) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut taken = Ok(());
    let mut on_frame = |frame| {
        taken = take(frame);
        match taken {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    };
    let ran = run_question(set, 0, meter, &mut on_frame);
    taken.and(ran.map(|_| ()))
}
