//! Aggregations.

use super::{Lowering, text, wrong};
use crate::metricsql::Expression;
use crate::metricsql::functions::ranked;
use crate::promql::plain_fold;
use foliot_plan::grid::{Grid, GridAggregate, GroupFold, LabelChange, Labelled, Labels, general};

impl Lowering<'_> {
    pub(super) fn aggregate(
        &self,
        name: &str,
        arguments: &[Expression],
        (by, limit): (&Labels, Option<usize>),
    ) -> Result<Grid, String> {
        let made = |input: Grid, by: &Labels, fold: GroupFold| {
            let (by, place, histograms_place) = (by.clone(), 0, 0);
            let of = GridAggregate { input, by, fold, place, histograms_place };
            Grid::Aggregate(Box::new(of))
        };
        // It would be one of groups, of which each has several series then.
        if limit.is_some() && name == "histogram" {
            return Err(format!("{name} takes no limit"));
        }
        let aggregated = match (name, arguments) {
            ("quantiles", [label, shares @ .., input]) if !shares.is_empty() => {
                let label: String = text(label).ok_or_else(|| wrong(name))?;
                let each = shares.iter().map(|share| {
                    let Grid::Number(share) = self.grid(share)? else { return Err(wrong(name)) };
                    let fold = GroupFold::Quantile(Grid::Number(share));
                    let input = made(self.grid(input)?, by, fold);
                    let own = (label.as_str().into(), general(share, None).into());
                    let change = LabelChange::Set(vec![own]);
                    Ok(Grid::Labelled(Box::new(Labelled { input, change })))
                });
                Grid::Union(each.collect::<Result<_, _>>()?)
            }
            ("count_values", [label, input]) => {
                let label = text(label).filter(|label| !label.is_empty());
                let label = label.ok_or_else(|| wrong(name))?.into();
                made(self.grid(input)?, by, GroupFold::CountValues(label))
            }
            (_, [parameter, input]) if takes_number(name) => {
                let fold = with_number(name, self.grid(parameter)?).ok_or_else(|| wrong(name))?;
                made(self.grid(input)?, by, fold)
            }
            (_, []) => return Err(wrong(name)),
            (_, inputs) => {
                let fold = alone(name).ok_or_else(|| wrong(name))?;
                let input = match inputs {
                    [only] => self.grid(only)?,
                    several => {
                        let all = several.iter().map(|one| self.grid(one));
                        Grid::Union(all.collect::<Result<_, _>>()?)
                    }
                };
                match made(input, by, fold) {
                    ranges if name == "histogram" => {
                        Grid::Bounded { input: Box::new(ranges), bounds_max: None }
                    }
                    aggregated => aggregated,
                }
            }
        };
        Ok(match limit {
            None => aggregated,
            Some(limit) => {
                let fold = GroupFold::Some(Grid::Number(limit as f64));
                made(aggregated, &Labels::Only(Vec::new()), fold)
            }
        })
    }
}

fn takes_number(name: &str) -> bool {
    matches!(name, "topk" | "bottomk" | "limitk" | "outliersk" | "quantile")
        || ranked(name).is_some()
}

fn with_number(name: &str, number: Grid) -> Option<GroupFold> {
    if let Some((rank, is_top)) = ranked(name) {
        return Some(GroupFold::Ranked { rank, count: number, is_top });
    }
    Some(match name {
        "topk" => GroupFold::Top(number),
        "bottomk" => GroupFold::Bottom(number),
        "limitk" => GroupFold::Some(number),
        "outliersk" => GroupFold::Outliers(number),
        "quantile" => GroupFold::Quantile(number),
        _ => return None,
    })
}

fn alone(name: &str) -> Option<GroupFold> {
    Some(match name {
        "median" => GroupFold::Quantile(Grid::Number(0.5)),
        "any" => GroupFold::Any,
        "distinct" => GroupFold::Distinct,
        "geomean" => GroupFold::Geometric,
        "sum2" => GroupFold::Squares,
        "mode" => GroupFold::Mode,
        "histogram" => GroupFold::Ranges,
        _ => return plain_fold(name),
    })
}
