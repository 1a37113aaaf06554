//! Functions of histograms, which are series of counts within ranges or up to bounds.

use super::{Lowering, named, text, wrong};
use crate::metricsql::Expression;
use foliot_plan::grid::{
    Grid, HistogramFigure, Histograms, LabelChange, Labelled, Moment, general,
};
use std::sync::Arc;

impl Lowering<'_> {
    /// A function of histograms, if the name is that of one.
    pub(super) fn histograms(
        &self,
        name: &str,
        arguments: &[&Expression],
    ) -> Result<Option<Grid>, String> {
        let made = match (name, arguments) {
            ("prometheus_buckets", [input]) => self.bounded(input, None)?,
            ("buckets_limit", [limit, input]) => match self.grid(limit)? {
                Grid::Number(limit) if limit >= 1.0 => self.bounded(input, Some(limit as usize))?,
                _ => return Err(format!("{name} takes a number above 0")),
            },
            ("histogram_quantile", [share, input, bounds @ ..]) => {
                let figure = HistogramFigure::Quantile(self.grid(share)?, 0);
                self.figure(figure, input, bounds_label(name, bounds)?)?
            }
            ("histogram_quantiles", [label, shares @ .., input]) if !shares.is_empty() => {
                let label: String = text(label).ok_or_else(|| wrong(name))?;
                let each = shares.iter().map(|share| {
                    let Grid::Number(share) = self.grid(share)? else { return Err(wrong(name)) };
                    let figure = HistogramFigure::Quantile(Grid::Number(share), 0);
                    let input = self.figure(figure, input, None)?;
                    let own = (label.as_str().into(), general(share, None).into());
                    let change = LabelChange::Set(vec![own]);
                    Ok(Grid::Labelled(Box::new(Labelled { input, change })))
                });
                Grid::Union(each.collect::<Result<_, _>>()?)
            }
            ("histogram_share", [upper, input, bounds @ ..]) => {
                let figure = HistogramFigure::Share(self.grid(upper)?);
                self.figure(figure, input, bounds_label(name, bounds)?)?
            }
            ("histogram_fraction", [lower, upper, input]) => {
                let (lower, upper) = (self.grid(lower)?, self.grid(upper)?);
                if let (Grid::Number(low), Grid::Number(high)) = (&lower, &upper)
                    && low >= high
                {
                    return Err(format!("{name} takes a value and a larger one"));
                }
                self.figure(HistogramFigure::Fraction(lower, upper), input, None)?
            }
            ("histogram_avg" | "histogram_stdvar" | "histogram_stddev", [input]) => {
                let moment = match name {
                    "histogram_avg" => Moment::Average,
                    "histogram_stdvar" => Moment::Variance,
                    _ => Moment::Deviation,
                };
                self.figure(HistogramFigure::Moment(moment), input, None)?
            }
            _ => return Ok(None),
        };
        Ok(Some(made))
    }

    /// Series of counts up to a bound, as histograms of either kind are.
    fn bounded(&self, input: &Expression, bounds_max: Option<usize>) -> Result<Grid, String> {
        Ok(Grid::Bounded { input: Box::new(self.grid(input)?), bounds_max })
    }

    fn figure(
        &self,
        figure: HistogramFigure,
        input: &Expression,
        bounds: Option<Arc<str>>,
    ) -> Result<Grid, String> {
        let (input, place) = (self.bounded(input, None)?, 0);
        Ok(named(Grid::Histograms(Box::new(Histograms { figure, input, bounds, place })), false))
    }
}

/// The label of the series that bound a figure, which may be left out.
fn bounds_label(name: &str, given: &[&Expression]) -> Result<Option<Arc<str>>, String> {
    match given {
        [] => Ok(None),
        [label] => {
            let label = text(label).filter(|label| !label.is_empty());
            label.map(|label| Some(label.into())).ok_or_else(|| wrong(name))
        }
        _ => Err(wrong(name)),
    }
}
