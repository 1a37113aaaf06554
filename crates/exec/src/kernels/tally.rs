//! Tallies: what values of one kind and their times come to, without any of them being kept. They
//! arrive one by one, in runs, or as the summary of a block, and tallies can be added up.

use super::number::{compare, to_f64};
use super::sum::Sum;
use super::total::Total;
use super::wholes::Wholes;
use foliot_engine::Summary;
use foliot_model::{Item, Kind, TimeRange};

/// What is asked of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    /// How many.
    Count,
    /// Σx; integers wrap around.
    Sum,
    /// Σx / n as a float; the sum of the integers of each series wraps around, those sums do not.
    Mean,
    /// Σx; where integers are too small for it, a float.
    WideSum,
    /// Σx / n as a float, in which nothing wraps around.
    WideMean,
    /// One of them, with its time.
    Choice(Choice),
}

/// Which of several values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The smallest, the earliest of several.
    Smallest,
    /// The largest, the earliest of several.
    Largest,
    /// The earliest; of several the largest.
    Earliest,
    /// The latest; of several the largest.
    Latest,
}

impl Choice {
    /// Whether a value takes the place of the one chosen so far.
    pub(crate) fn prefers(
        self,
        (time_ns, value): (i64, &Item),
        (best_ns, best): (i64, &Item),
    ) -> bool {
        let values = compare(value, best);
        let times = time_ns.cmp(&best_ns);
        match self {
            Self::Smallest => values.then(times).is_lt(),
            Self::Largest => values.reverse().then(times).is_lt(),
            // Of booleans at one time, the first is the one that is false.
            Self::Earliest if matches!(value, Item::Boolean(_)) => times.then(values).is_lt(),
            Self::Earliest => times.then(values.reverse()).is_lt(),
            Self::Latest => times.then(values).is_gt(),
        }
    }

    /// The position in a run whose times ascend; 0 in an empty one.
    fn position<T: Copy + PartialOrd>(self, run: &[T]) -> usize {
        let first = |ahead: fn(&T, &T) -> bool| {
            let Some((&first, rest)) = run.split_first() else { return 0 };
            let (mut at, mut best) = (0, first);
            for (before, value) in rest.iter().enumerate() {
                if ahead(value, &best) {
                    (at, best) = (before + 1, *value);
                }
            }
            at
        };
        match self {
            Self::Smallest => first(|a, b| a < b),
            Self::Largest => first(|a, b| a > b),
            Self::Earliest => 0,
            Self::Latest => run.len().saturating_sub(1),
        }
    }
}

/// A figure under way.
#[derive(Clone, Debug)]
pub(crate) enum Tally {
    Count(i64),
    Sum(Total),
    Mean(Total, u64),
    WideSum(Total),
    WideMean(Total, u64),
    Choice {
        choice: Choice,
        time_ns: i64,
        /// Null while there is none.
        value: Item,
    },
}

impl Tally {
    pub(crate) fn new(figure: Figure) -> Self {
        match figure {
            Figure::Count => Self::Count(0),
            Figure::Sum => Self::Sum(Total::default()),
            Figure::Mean => Self::Mean(Total::default(), 0),
            Figure::WideSum => Self::WideSum(Total::default()),
            Figure::WideMean => Self::WideMean(Total::default(), 0),
            Figure::Choice(choice) => Self::Choice { choice, time_ns: 0, value: Item::Null },
        }
    }

    /// What is added from here on is of another series.
    pub(crate) fn turn(&mut self) {
        if let Self::Mean(sum, _) = self {
            sum.part();
        }
    }

    /// Adds a value, and returns how much memory that takes.
    pub(crate) fn add(&mut self, time_ns: i64, item: Item) -> usize {
        match self {
            Self::Count(count) => *count += 1,
            Self::Sum(sum) | Self::WideSum(sum) => return sum.add(&item),
            Self::Mean(sum, count) | Self::WideMean(sum, count) => {
                *count += 1;
                return sum.add(&item);
            }
            Self::Choice { choice, time_ns: best_ns, value } => {
                if value.is_null() || choice.prefers((time_ns, &item), (*best_ns, &*value)) {
                    (*best_ns, *value) = (time_ns, item);
                }
            }
        }
        0
    }

    /// Adds a run of floats, whose times ascend.
    pub(crate) fn add_floats(&mut self, times_ns: &[i64], run: &[f64]) {
        self.add_run(times_ns, run, |total| total.add_floats(run), Item::Float);
    }

    /// Adds a run of integers, whose times ascend.
    pub(crate) fn add_integers(&mut self, times_ns: &[i64], run: &[i64]) {
        self.add_run(times_ns, run, |total| total.add_integers(run), Item::Integer);
    }

    /// Adds values that are stored as whole numbers; `time_ns` tells the time of each by its
    /// number.
    pub(crate) fn add_wholes(
        &mut self,
        wholes: &[i64],
        stand_for: Wholes,
        time_ns: impl Fn(usize) -> Option<i64>,
    ) {
        match self {
            Self::Count(total) => *total += wholes.len() as i64,
            Self::Sum(total) | Self::WideSum(total) => total.add_wholes(wholes, stand_for),
            Self::Mean(total, counted) | Self::WideMean(total, counted) => {
                total.add_wholes(wholes, stand_for);
                *counted += wholes.len() as u64;
            }
            Self::Choice { choice, .. } => {
                let at = choice.position(wholes);
                if let (Some(time_ns), Some(&whole)) = (time_ns(at), wholes.get(at)) {
                    self.add(time_ns, stand_for.item(whole));
                }
            }
        }
    }

    fn add_run<T: Copy + PartialOrd>(
        &mut self,
        times_ns: &[i64],
        run: &[T],
        sum: impl Fn(&mut Total),
        item: impl Fn(T) -> Item,
    ) {
        match self {
            Self::Count(total) => *total += run.len() as i64,
            Self::Sum(total) | Self::WideSum(total) => sum(total),
            Self::Mean(total, counted) | Self::WideMean(total, counted) => {
                sum(total);
                *counted += run.len() as u64;
            }
            Self::Choice { choice, .. } => {
                let at = choice.position(run);
                if let (Some(&time_ns), Some(&value)) = (times_ns.get(at), run.get(at)) {
                    self.add(time_ns, item(value));
                }
            }
        }
    }

    /// Whether a block can be added by its summary, with the same result.
    pub(crate) fn takes(figure: Figure, summary: &Summary, kind: Kind) -> bool {
        // The summary of whole numbers is told as floats, which are exact as far as this.
        let is_small = |figure: f64| figure.abs() < 9e15;
        let are_numbers = summary.numeric && !summary.has_nan;
        are_numbers
            && match (figure, kind) {
                (Figure::Sum | Figure::Mean | Figure::WideSum | Figure::WideMean, Kind::Float) => {
                    summary.kinds == 1 && summary.decimal_sum().is_some_and(|sum| Sum::takes(&sum))
                }
                (_, Kind::Float) => summary.kinds == 1,
                (_, Kind::Integer) => {
                    let figures = [summary.sum(), summary.min(), summary.max()];
                    summary.kinds == 2 && figures.into_iter().all(is_small)
                }
                _ => false,
            }
    }

    /// Adds the values of a block that [`Tally::takes`]. Where in the block a smallest or largest
    /// one lies is not known; it counts as the first.
    pub(crate) fn add_block(
        &mut self,
        range: TimeRange,
        count: u16,
        summary: &Summary,
        kind: Kind,
    ) {
        let (time_ns, value) = match self {
            Self::Count(total) => return *total += i64::from(count),
            Self::Sum(total) | Self::WideSum(total) => return total.add_block(summary, kind),
            Self::Mean(total, counted) | Self::WideMean(total, counted) => {
                *counted += u64::from(count);
                return total.add_block(summary, kind);
            }
            Self::Choice { choice, .. } => match choice {
                Choice::Smallest => (range.start_ns, summary.min()),
                Choice::Largest => (range.start_ns, summary.max()),
                Choice::Earliest => (range.start_ns, summary.first()),
                Choice::Latest => (range.end_ns, summary.last()),
            },
        };
        let item = match kind {
            Kind::Integer => Item::Integer(value as i64),
            _ => Item::Float(value),
        };
        self.add(time_ns, item);
    }

    /// Adds another tally of the same figure, of other series, whose values come later in rank.
    pub(crate) fn absorb(&mut self, mut other: Self) {
        self.turn();
        other.turn();
        match (&mut *self, other) {
            (Self::Count(a), Self::Count(b)) => *a += b,
            (Self::Sum(a), Self::Sum(b)) | (Self::WideSum(a), Self::WideSum(b)) => a.absorb(&b),
            (Self::Mean(a, counted), Self::Mean(b, more))
            | (Self::WideMean(a, counted), Self::WideMean(b, more)) => {
                a.absorb(&b);
                *counted += more;
            }
            (Self::Choice { .. }, Self::Choice { time_ns, value, .. }) if !value.is_null() => {
                self.add(time_ns, value);
            }
            _ => {}
        }
    }

    /// What comes out, with its time if it is that of one value; null of nothing.
    pub(crate) fn finish(self) -> (Option<i64>, Item) {
        match self {
            Self::Count(count) => (None, Item::Integer(count)),
            Self::Sum(sum) => (None, sum.finish()),
            Self::Mean(mut sum, count) => {
                if sum.has_floats() {
                    // Rounded once, together.
                    sum.part();
                }
                let mean = to_f64(&sum.finish()).map(|sum| sum / count as f64);
                (None, mean.map_or(Item::Null, Item::Float))
            }
            Self::WideSum(sum) => (None, sum.finish_wide()),
            Self::WideMean(sum, count) => {
                let mean = sum.wide().map(|sum| sum / count as f64);
                (None, mean.map_or(Item::Null, Item::Float))
            }
            Self::Choice { time_ns, value, .. } => (Some(time_ns), value),
        }
    }

    /// Whether nothing comes out.
    pub(crate) fn is_null(&self) -> bool {
        match self {
            Self::Count(_) => false,
            Self::Sum(sum) | Self::Mean(sum, _) | Self::WideSum(sum) | Self::WideMean(sum, _) => {
                sum.is_null()
            }
            Self::Choice { value, .. } => value.is_null(),
        }
    }

    /// Memory outside the struct.
    pub(crate) fn bytes_outside(&self) -> usize {
        match self {
            Self::Sum(total)
            | Self::Mean(total, _)
            | Self::WideSum(total)
            | Self::WideMean(total, _) => total.bytes_outside(),
            Self::Choice { value, .. } => value.bytes_outside(),
            Self::Count(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests;
