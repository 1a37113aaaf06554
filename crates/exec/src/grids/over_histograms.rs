//! Samples of a range with native histograms among them, folded.

use super::extrapolation::Lie;
use super::fold::Window;
use super::histograms::{
    Differs, Incompatible, Merged, began_anew, divided, is_same, last_two, mean, rate, sum, times,
};
use super::over::fold;
use super::row::{Made, measurement};
use super::{Walk, seconds};
use crate::Error;
use foliot_model::{Histogram, Labels};
use foliot_plan::grid::{Note, Over, RangeFold, Stamp, Union};
use std::sync::Arc;

/// A range of a series, which has histograms.
pub(super) struct Ranged<'r, 'q> {
    pub(super) walk: &'r Walk<'q>,
    pub(super) plan: &'r Over,
    pub(super) labels: &'r Labels,
    /// Numbers of the range.
    pub(super) window: Window<'r>,
    /// Its histograms; at least one.
    pub(super) histograms: &'r [(i64, Arc<Histogram>)],
}

impl Ranged<'_, '_> {
    fn note(&self, note: impl FnOnce(Arc<str>) -> Note) -> Result<(), Error> {
        self.walk.note(note(measurement(self.labels)), self.plan.place)
    }

    /// What histograms come to, which numbers must not be among.
    fn alone<T>(
        &self,
        of: impl FnOnce() -> Result<Option<T>, Incompatible>,
    ) -> Result<Option<T>, Error> {
        if !self.window.samples.is_empty() {
            self.note(Note::Mixed)?;
            return Ok(None);
        }
        match of() {
            Ok(made) => Ok(made),
            Err(Incompatible) => {
                self.note(Note::Schemas)?;
                Ok(None)
            }
        }
    }

    /// Notes what was met when histograms were put together.
    fn merged(&self, merged: Merged) -> Result<(), Error> {
        let place = self.plan.place;
        if merged.is_torn {
            self.walk.note(Note::Torn(Union::Aggregation), place)?;
        }
        match merged.is_reconciled {
            true => self.walk.note(Note::Reconciled(Union::Aggregation), place),
            false => Ok(()),
        }
    }

    /// Notes what was met when a difference was made.
    fn differs(&self, of: &Differs, is_counter: bool) -> Result<(), Error> {
        if of.is_misused {
            self.note(if is_counter { Note::NoCounter } else { Note::NoGauge })?;
        }
        let (took, added) = of.is_reconciled;
        for (union, is_met) in [(Union::Subtraction, took), (Union::Addition, added)] {
            if is_met {
                self.walk.note(Note::Reconciled(union), self.plan.place)?;
            }
        }
        Ok(())
    }

    /// All samples by time.
    fn points(&self) -> Vec<(i64, Result<f64, &Histogram>)> {
        let numbers = self.window.samples.iter().map(|(at_ns, number)| (*at_ns, Ok(*number)));
        let histograms = self.histograms.iter().map(|(at_ns, of)| (*at_ns, Err(&**of)));
        let mut points: Vec<_> = numbers.chain(histograms).collect();
        points.sort_by_key(|(at_ns, _)| *at_ns);
        points
    }

    fn oldest_or_newest(&self, is_newest: bool) -> Option<(i64, Made)> {
        let numbers = self.window.samples;
        let (number, histogram) = match is_newest {
            true => (numbers.last(), self.histograms.last()),
            false => (numbers.first(), self.histograms.first()),
        };
        let (histogram_ns, histogram) = histogram?;
        let is_number_wanted = |number_ns: i64| (number_ns > *histogram_ns) == is_newest;
        match number {
            Some((at_ns, number)) if is_number_wanted(*at_ns) => {
                Some((*at_ns, Made::Number(*number)))
            }
            _ => Some((*histogram_ns, Made::Histogram(Arc::clone(histogram)))),
        }
    }
}

/// What a range comes to in which there are histograms.
pub(super) fn fold_points(
    of: &Ranged<'_, '_>,
    parameters: (f64, f64),
    at_ns: i64,
) -> Result<Option<Made>, Error> {
    let all = || of.histograms.iter().map(|(_, one)| &**one);
    let count = (of.window.samples.len() + of.histograms.len()) as f64;
    let together = |made: Option<(Histogram, Merged)>| {
        let Some((histogram, merged)) = made else { return Ok(None) };
        of.merged(merged)?;
        Ok(Some(Made::histogram(histogram)))
    };
    match &of.plan.fold {
        RangeFold::Extrapolated { is_counter, per_second } => {
            extrapolated(of, *is_counter, *per_second)
        }
        RangeFold::Last2 { is_rate } => last2(of, *is_rate),
        RangeFold::Sum => together(of.alone(|| sum(all()))?),
        RangeFold::Average => together(of.alone(|| mean(all()))?),
        RangeFold::Count => Ok(Some(Made::Number(count))),
        RangeFold::Present => Ok(Some(Made::Number(1.0))),
        RangeFold::Last => Ok(of.oldest_or_newest(true).map(|(_, made)| made)),
        RangeFold::First => Ok(of.oldest_or_newest(false).map(|(_, made)| made)),
        RangeFold::Stamp(stamp @ (Stamp::First | Stamp::Last)) => {
            let found = of.oldest_or_newest(*stamp == Stamp::Last);
            Ok(found.map(|(at_ns, _)| Made::Number(seconds(at_ns))))
        }
        RangeFold::Changes => Ok(Some(Made::Number(changes(of)))),
        RangeFold::Resets => Ok(Some(Made::Number(resets(of)))),
        // All else is of numbers only.
        other => {
            if !of.window.samples.is_empty() {
                of.note(Note::IgnoredInRange)?;
            }
            Ok(fold(other, &of.window, parameters, at_ns)?.map(Made::Number))
        }
    }
}

fn extrapolated(
    of: &Ranged<'_, '_>,
    is_counter: bool,
    per_second: bool,
) -> Result<Option<Made>, Error> {
    let made = of.alone(|| match of.histograms.len() {
        0 | 1 => Ok(None),
        _ => rate(of.histograms, is_counter).map(Some),
    });
    let ([(first_ns, first), ..], Some((last_ns, _))) = (of.histograms, of.histograms.last())
    else {
        return Ok(None);
    };
    let Some(differs) = made? else { return Ok(None) };
    of.differs(&differs, is_counter)?;
    let grown = differs.histogram.count;
    let lie = Lie {
        before_ns: first_ns.saturating_sub(of.window.start_ns),
        between_ns: last_ns.saturating_sub(*first_ns),
        behind_ns: of.window.end_ns.saturating_sub(*last_ns),
        samples: of.histograms.len(),
    };
    let spans = lie.spans();
    let has_grown = is_counter && grown > 0.0 && first.count >= 0.0;
    let since_zero = has_grown.then(|| spans.between * (first.count / grown));
    let factor = spans.factor(since_zero, per_second);
    Ok(Some(Made::histogram(times(differs.histogram, factor))))
}

/// The difference of the last two samples.
fn last2(of: &Ranged<'_, '_>, is_rate: bool) -> Result<Option<Made>, Error> {
    let points = of.points();
    let [.., (before_ns, before), (last_ns, last)] = &points[..] else { return Ok(None) };
    let seconds = (last_ns - before_ns) as f64 / 1e9;
    let (Err(before), Err(last)) = (before, last) else {
        let (Ok(before), Ok(last)) = (before, last) else {
            of.note(Note::Mixed)?;
            return Ok(None);
        };
        let numbers = [(*before_ns, *before), (*last_ns, *last)];
        let window = Window { samples: &numbers, ..of.window };
        return Ok(fold(&of.plan.fold, &window, (f64::NAN, f64::NAN), 0)?.map(Made::Number));
    };
    match last_two(before, last, is_rate) {
        Err(Incompatible) => {
            of.note(Note::Schemas)?;
            Ok(None)
        }
        Ok(differs) => {
            of.differs(&differs, is_rate)?;
            let histogram = differs.histogram;
            Ok(Some(Made::histogram(if is_rate { divided(histogram, seconds) } else { histogram })))
        }
    }
}

/// How often a sample differs from the one before; a number from each histogram.
fn changes(of: &Ranged<'_, '_>) -> f64 {
    let points = of.points();
    let pairs = points.iter().zip(points.iter().skip(1));
    let differ = pairs.filter(|((_, before), (_, after))| match (before, after) {
        (Ok(before), Ok(after)) => before != after && !(before.is_nan() && after.is_nan()),
        (Err(before), Err(after)) => !is_same(before, after),
        _ => true,
    });
    differ.count() as f64
}

/// How often counting began anew; whenever a number follows a histogram or the other way around.
fn resets(of: &Ranged<'_, '_>) -> f64 {
    let points = of.points();
    let pairs = points.iter().zip(points.iter().skip(1));
    let anew = pairs.filter(|((_, before), (_, after))| match (before, after) {
        (Ok(before), Ok(after)) => after < before,
        (Err(before), Err(after)) => began_anew(after, before),
        _ => true,
    });
    anew.count() as f64
}
