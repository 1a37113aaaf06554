//! A group of series whose values are folded as they come: of numbers only what is needed is held,
//! instant by instant.

use super::aggregate::{ignoring, together};
use super::fold::Squares;
use super::gapped::{Gapped, WORD, each_of};
use super::rollup::{distinct, mode};
use super::row::{GridRow, Growing, Made};
use super::sums::Sums;
use super::{Gridded, Walk, histograms, weight};
use crate::Error;
use crate::kernels::quantile::quantile;
use crate::limits::Charge;
use foliot_model::Labels;
use foliot_plan::grid::{GridAggregate, GroupFold, Note, Steps};

/// A group that grows.
pub(super) struct Folding<'q> {
    labels: Labels,
    is_nameless: bool,
    /// How many numbers there are at each instant, and what they come to.
    counts: Vec<u32>,
    cells: Cells,
    /// Series that have histograms, which are put together at the end.
    histograms: Vec<GridRow>,
    charge: Charge<'q>,
}

/// What numbers come to so far, at each instant.
enum Cells {
    /// Their count says it.
    Counted,
    Sums(Sums),
    Squares(Vec<Squares>),
    Extreme(Vec<f64>),
    Total(Vec<f64>),
    /// All are needed.
    All(Vec<Vec<f64>>),
}

impl<'q> Folding<'q> {
    pub(super) fn new(
        walk: &Walk<'q>,
        fold: &GroupFold,
        labels: Labels,
        steps: &Steps,
    ) -> Result<Self, Error> {
        let count = steps.count;
        let mut charge = walk.meter.open();
        charge.add(count.saturating_mul(size_of::<u32>() + size_of::<Squares>()))?;
        let cells = match fold {
            GroupFold::Sum => Cells::Sums(Sums::new(count, false)),
            GroupFold::Average => Cells::Sums(Sums::new(count, true)),
            GroupFold::Deviation | GroupFold::Variance => {
                Cells::Squares(vec![Squares::default(); count])
            }
            GroupFold::Min | GroupFold::Max => Cells::Extreme(vec![f64::NAN; count]),
            GroupFold::Squares => Cells::Total(vec![0.0; count]),
            GroupFold::Geometric => Cells::Total(vec![1.0; count]),
            GroupFold::Quantile(_) | GroupFold::Distinct | GroupFold::Mode => {
                Cells::All(vec![Vec::new(); count])
            }
            _ => Cells::Counted,
        };
        let (is_nameless, counts) = (false, vec![0; count]);
        Ok(Self { labels, is_nameless, counts, cells, histograms: Vec::new(), charge })
    }

    /// Adds a series.
    pub(super) fn add(
        &mut self,
        walk: &Walk<'_>,
        fold: &GroupFold,
        row: GridRow,
    ) -> Result<(), Error> {
        walk.meter.check(row.values.len())?;
        self.is_nameless |= row.is_nameless;
        let (counts, values) = (&mut self.counts[..], &row.values);
        count_in(counts, values);
        match &mut self.cells {
            Cells::Counted => {}
            Cells::Sums(sums) => sums.add(values, counts),
            Cells::Squares(cells) => {
                each_number(counts, cells, values, |cell, one, count| *cell = cell.add(one, count));
            }
            Cells::Extreme(cells) if matches!(fold, GroupFold::Min) => {
                each_number(counts, cells, values, |cell, one, _| *cell = cell.min(one));
            }
            Cells::Extreme(cells) => {
                each_number(counts, cells, values, |cell, one, _| *cell = cell.max(one));
            }
            Cells::Total(cells) if matches!(fold, GroupFold::Squares) => {
                each_number(counts, cells, values, |cell, one, _| *cell += one * one);
            }
            Cells::Total(cells) => {
                each_number(counts, cells, values, |cell, one, _| *cell *= one);
            }
            Cells::All(cells) => {
                self.charge.add(Gapped::bytes(values.len()))?;
                each_number(counts, cells, values, |cell, one, _| cell.push(one));
            }
        }
        if !row.histograms.is_empty() {
            self.charge.add(row.bytes())?;
            walk.meter.check(row.histograms.iter().flatten().map(|one| weight(one)).sum())?;
            self.histograms.push(row);
        }
        Ok(())
    }

    /// Adds the group to an answer.
    pub(super) fn finish(
        mut self,
        walk: &Walk<'q>,
        plan: &GridAggregate,
        (parameters, steps): (&Gapped, &Steps),
        made: &mut Gridded<'_>,
    ) -> Result<(), Error> {
        let labels = std::mem::take(&mut self.labels);
        if self.histograms.is_empty() {
            let values: Gapped = match std::mem::replace(&mut self.cells, Cells::Counted) {
                Cells::Sums(sums) => sums.into_totals(&self.counts),
                cells => {
                    self.cells = cells;
                    (0..steps.count).map(|at| self.number(plan, parameters, at)).collect()
                }
            };
            let is_nameless = self.is_nameless;
            return made.push(walk, GridRow { is_nameless, ..GridRow::numbers(labels, values) });
        }
        let rows = std::mem::take(&mut self.histograms);
        let rows: Vec<&GridRow> = rows.iter().collect();
        let mut after = Growing::new(walk, (labels, self.is_nameless), steps);
        for index in 0..steps.count {
            after.push(self.point(walk, plan, (&rows, parameters), index)?)?;
        }
        after.finish(made, walk)
    }

    /// What there is at an instant, numbers and histograms.
    fn point(
        &mut self,
        walk: &Walk<'_>,
        plan: &GridAggregate,
        (rows, parameters): (&[&GridRow], &Gapped),
        index: usize,
    ) -> Result<Option<Made>, Error> {
        let there = || rows.iter().filter_map(|row| row.histograms.get(index)?.as_deref());
        let numbers = self.counts.get(index).copied().unwrap_or_default();
        let histograms = there().count();
        if histograms > 0 {
            match &plan.fold {
                GroupFold::Sum | GroupFold::Average if numbers > 0 => {
                    walk.note(Note::MixedGroup, plan.histograms_place)?;
                    return Ok(None);
                }
                GroupFold::Sum => {
                    return together(walk, plan, rows, index, histograms::sum(there()));
                }
                GroupFold::Average => {
                    return together(walk, plan, rows, index, histograms::mean(there()));
                }
                GroupFold::Count => {
                    return Ok(Some(Made::Number(f64::from(numbers) + histograms as f64)));
                }
                GroupFold::Present => return Ok(Some(Made::Number(1.0))),
                _ => {}
            }
            // All else is of numbers only.
            if let Some(name) = ignoring(&plan.fold) {
                walk.note(Note::Ignored(name), plan.histograms_place)?;
            }
        }
        Ok(self.number(plan, parameters, index).map(Made::Number))
    }

    /// What the numbers of an instant come to.
    fn number(&mut self, plan: &GridAggregate, parameters: &Gapped, index: usize) -> Option<f64> {
        let count = self.counts.get(index).copied().filter(|count| *count > 0)?;
        let count = f64::from(count);
        let parameter = || parameters.get(index).unwrap_or(f64::NAN);
        Some(match (&mut self.cells, &plan.fold) {
            (Cells::Counted, GroupFold::Count) => count,
            (Cells::Counted, GroupFold::Present) => 1.0,
            (Cells::Counted, _) => return None,
            (Cells::Sums(sums), _) => sums.total(index, count)?,
            (Cells::Squares(cells), GroupFold::Deviation) => {
                cells.get(index)?.variance(count).sqrt()
            }
            (Cells::Squares(cells), _) => cells.get(index)?.variance(count),
            (Cells::Extreme(cells), _) => *cells.get(index)?,
            (Cells::Total(cells), GroupFold::Geometric) => cells.get(index)?.powf(1.0 / count),
            (Cells::Total(cells), _) => *cells.get(index)?,
            (Cells::All(cells), fold) => {
                let all = std::mem::take(cells.get_mut(index)?);
                match fold {
                    GroupFold::Quantile(_) => quantile(parameter(), all),
                    GroupFold::Distinct => distinct(all),
                    _ => return mode(None, all),
                }
            }
        })
    }
}

/// Counts the numbers that a series has.
fn count_in(counts: &mut [u32], values: &Gapped) {
    for (instants, bits) in values.runs() {
        let counts = counts.get_mut(instants).unwrap_or_default();
        match bits {
            None => counts.iter_mut().for_each(|count| *count += 1),
            Some(bits) => each_of(bits).for_each(|at| {
                counts.get_mut(at).into_iter().for_each(|count| *count += 1);
            }),
        }
    }
}

/// Calls `add` with each number that a series has, with what stands at its instant, and how many
/// there are now.
fn each_number<T>(
    counts: &[u32],
    cells: &mut [T],
    values: &Gapped,
    mut add: impl FnMut(&mut T, f64, f64),
) {
    let groups = counts.chunks(WORD).zip(cells.chunks_mut(WORD));
    for ((counts, cells), (there, numbers)) in groups.zip(values.words()) {
        for at in each_of(there) {
            if let (Some(count), Some(cell), Some(number)) =
                (counts.get(at), cells.get_mut(at), numbers.get(at))
            {
                add(cell, *number, f64::from(*count));
            }
        }
    }
}
