//! Functions of ranges of samples.

use super::{Lowering, STALE, known_labels, named, ns, text, texts, wrong};
use crate::metricsql::functions::{Ranges, limited, ranges, variants};
use crate::metricsql::{Expression, Node, Rollup};
use foliot_plan::grid::{First, Grid, Loose, LooseFold, Over, RangeFold, Samples, Stored, general};
use std::sync::Arc;

/// The label that tells which series of several one is.
const ROLLUP: &str = "rollup";

impl Lowering<'_> {
    pub(super) fn rollup(
        &self,
        name: &str,
        arguments: &[&Expression],
        keeps_names: bool,
    ) -> Result<Grid, String> {
        if let (Some(of), [input]) = (ranges(name), arguments) {
            let keeps = keeps_names || of.keeps_names;
            let keeps_marks = name == "default_rollup";
            let ranged = Ranged { of, keeps_marks, label: None, is_ahead: false };
            return Ok(named(self.ranged(input, &ranged)?, keeps));
        }
        if let Some((first, widens, keeps, folds)) = variants(name) {
            let (input, wanted) = match arguments {
                [input] => (input, None),
                [input, only] => (input, Some(text(only).ok_or_else(|| wrong(name))?)),
                _ => return Err(wrong(name)),
            };
            let is_ahead = name == "rollup_candlestick";
            let folds = folds.into_iter().map(|(label, fold)| (label.to_owned(), fold));
            let folds = folds.filter(|(label, _)| wanted.as_ref().is_none_or(|one| one == label));
            let of = |fold| Ranges { fold, first, widens, keeps_names: true };
            let folds = folds.map(|(label, fold)| (label, of(fold))).collect();
            let several = self.several(input, folds, (ROLLUP, wanted.is_none()), is_ahead)?;
            return Ok(named(several, keeps || keeps_names));
        }
        if let (Some(limited), [input, limit]) = (limited(name), arguments) {
            let fold = RangeFold::Loose(limited(self.grid(limit)?));
            return self.alone(input, fold, keeps_names || name == "predict_linear");
        }
        match (name, arguments) {
            ("quantile_over_time", [share, input]) => {
                self.alone(input, RangeFold::Quantile(self.grid(share)?), true)
            }
            ("quantiles_over_time", [label, shares @ .., input]) if !shares.is_empty() => {
                let label = text(label).ok_or_else(|| wrong(name))?;
                let share = |of: &&Expression| {
                    let Grid::Number(share) = self.grid(of)? else { return Err(wrong(name)) };
                    let fold = RangeFold::Quantile(Grid::Number(share));
                    Ok((general(share, None), plain(fold)))
                };
                let folds = shares.iter().map(share).collect::<Result<_, _>>()?;
                self.several(input, folds, (&label, true), false)
            }
            ("count_values_over_time", [label, input]) => {
                let label = text(label).filter(|label| !label.is_empty());
                let label = label.ok_or_else(|| wrong(name))?.into();
                self.alone(input, RangeFold::Loose(LooseFold::Values(label)), keeps_names)
            }
            ("aggr_over_time", [names, input]) => {
                let names = texts(name, &[names])?;
                let fold = |one: &Arc<str>| {
                    // Several series of each function could not be told apart.
                    let of = ranges(one).filter(|_| &**one != "histogram_over_time");
                    let of = of.ok_or_else(|| format!("unknown function {one:?}"))?;
                    Ok((one.to_string(), of))
                };
                let folds = names.iter().map(fold).collect::<Result<_, String>>()?;
                Ok(named(self.several(input, folds, (ROLLUP, true), false)?, keeps_names))
            }
            ("absent_over_time", [input]) => {
                let labels = known_labels(input);
                let input = Box::new(self.alone(input, RangeFold::Last, true)?);
                Ok(Grid::Absent { input, labels })
            }
            _ => Err(wrong(name)),
        }
    }

    /// A fold that nothing is done for before.
    fn alone(
        &self,
        input: &Expression,
        fold: RangeFold,
        keeps_names: bool,
    ) -> Result<Grid, String> {
        let (keeps_marks, label, is_ahead) = (false, None, false);
        let ranged = Ranged { of: plain(fold), keeps_marks, label, is_ahead };
        Ok(named(self.ranged(input, &ranged)?, keeps_names))
    }

    /// Several folds, each under a label that tells which, unless there is no need.
    fn several(
        &self,
        input: &Expression,
        folds: Vec<(String, Ranges)>,
        (label, is_told): (&str, bool),
        is_ahead: bool,
    ) -> Result<Grid, String> {
        let each = folds.into_iter().map(|(value, of)| {
            let label = is_told.then(|| (label.into(), value.as_str().into()));
            self.ranged(input, &Ranged { of, keeps_marks: false, label, is_ahead })
        });
        Ok(Grid::Union(each.collect::<Result<_, _>>()?))
    }

    fn ranged(&self, of: &Expression, ranged: &Ranged) -> Result<Grid, String> {
        let alone = Rollup { input: of.clone(), range: None, step: None, offset: None, at: None };
        let rollup = match &of.what {
            Node::Rollup(rollup) => rollup,
            _ => &alone,
        };
        let mut shift = self.shift(rollup.offset, rollup.at.as_ref())?;
        if ranged.is_ahead {
            shift.offset_ns = shift.offset_ns.saturating_sub(self.step_ns());
        }
        let range_ns = rollup.range.map(|range| self.length_ns(range));
        let over = |samples: Samples| {
            let Ranges { fold, first, widens, .. } = &ranged.of;
            let loose = Loose {
                range_ns: range_ns.filter(|range_ns| *range_ns > 0),
                step_ns: self.step_ns(),
                widens: *widens,
                keeps_marks: ranged.keeps_marks,
                first: *first,
                label: ranged.label.clone(),
            };
            let (fold, range_ns) = (fold.clone(), range_ns.unwrap_or_default());
            Grid::Over(Box::new(Over {
                samples,
                range_ns,
                fold,
                loose: Some(loose),
                place: 0,
                read: None,
            }))
        };
        if let (Node::Series(selectors), None) = (&rollup.input.what, rollup.step) {
            let stored = |one: &crate::promql::VectorSelector| {
                let stored = Stored { shift, ..one.stored(self.namespace) };
                over(Samples::Stored(stored, STALE))
            };
            let mut all: Vec<Grid> = selectors.iter().map(stored).collect();
            return Ok(match (all.pop(), all.is_empty()) {
                (None, _) => Grid::Number(f64::NAN),
                (Some(only), true) => only,
                (Some(last), false) => Grid::Union(all.into_iter().chain([last]).collect()),
            });
        }
        let step_ms = rollup.step.flatten().map_or(self.step_ms, |step| self.length_ms(step));
        if step_ms <= 0 {
            return Err("the step of a subquery must be above 0".to_owned());
        }
        let input = Self { step_ms, ..*self }.grid(&rollup.input)?;
        Ok(over(Samples::Grid { input, step_ns: ns(step_ms), shift }))
    }
}

/// What is done with ranges.
struct Ranged {
    of: Ranges,
    keeps_marks: bool,
    label: Option<(Arc<str>, Arc<str>)>,
    /// Whether ranges are taken a step later.
    is_ahead: bool,
}

fn plain(fold: RangeFold) -> Ranges {
    let (first, widens, keeps_names) = (First::AsTheyAre, false, true);
    Ranges { fold, first, widens, keeps_names }
}
