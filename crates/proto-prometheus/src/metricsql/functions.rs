//! Functions of MetricsQL by their names.

use foliot_plan::grid::{Comparison, First, Grid, LooseFold, Path, RangeFold, Rank, Stamp, Total};

/// What a function of ranges does.
pub(super) struct Ranges {
    pub(super) fold: RangeFold,
    pub(super) first: First,
    /// Whether a range is at least as long as samples lie apart.
    pub(super) widens: bool,
    /// Whether series keep their names.
    pub(super) keeps_names: bool,
}

/// Functions of ranges that take something besides, or make several series.
const OTHER_ROLLUPS: [&str; 19] = [
    "absent_over_time",
    "aggr_over_time",
    "count_eq_over_time",
    "count_gt_over_time",
    "count_le_over_time",
    "count_ne_over_time",
    "count_values_over_time",
    "predict_linear",
    "quantile_over_time",
    "quantiles_over_time",
    "rollup",
    "rollup_candlestick",
    "rollup_delta",
    "rollup_deriv",
    "rollup_increase",
    "rollup_rate",
    "rollup_scrape_interval",
    "share_gt_over_time",
    "share_le_over_time",
];

pub(super) fn is_rollup(name: &str) -> bool {
    OTHER_ROLLUPS.contains(&name) || ranges(name).is_some()
}

/// A function that takes ranges and nothing besides.
pub(super) fn ranges(name: &str) -> Option<Ranges> {
    let (plain, loose) = (|fold| fold, RangeFold::Loose);
    let (first, widens) = match name {
        "rate" | "irate" => (First::Levelled, true),
        "increase" | "increase_pure" | "increase_prometheus" | "rate_prometheus" => {
            (First::Levelled, false)
        }
        "default_rollup" | "deriv" | "deriv_fast" | "ideriv" | "rate_over_sum"
        | "scrape_interval" | "timestamp" => (First::AsTheyAre, true),
        _ => (First::AsTheyAre, false),
    };
    let keeps_names = keeps_names(name);
    let fold = match name {
        "default_rollup" | "last_over_time" => plain(RangeFold::Last),
        "first_over_time" => plain(RangeFold::First),
        "avg_over_time" => plain(RangeFold::Average),
        "sum_over_time" => plain(RangeFold::Sum),
        "min_over_time" => plain(RangeFold::Min),
        "max_over_time" => plain(RangeFold::Max),
        "count_over_time" => plain(RangeFold::Count),
        "present_over_time" => plain(RangeFold::Present),
        "stddev_over_time" => plain(RangeFold::Deviation),
        "stdvar_over_time" => plain(RangeFold::Variance),
        "mad_over_time" => plain(RangeFold::Spread),
        "median_over_time" => plain(RangeFold::Quantile(Grid::Number(0.5))),
        "tfirst_over_time" => plain(RangeFold::Stamp(Stamp::First)),
        "tlast_over_time" | "timestamp" | "timestamp_with_name" => {
            plain(RangeFold::Stamp(Stamp::Last))
        }
        "tmin_over_time" => plain(RangeFold::Stamp(Stamp::Min)),
        "tmax_over_time" => plain(RangeFold::Stamp(Stamp::Max)),
        "rate" | "deriv_fast" => loose(LooseFold::Rate),
        "irate" | "ideriv" => loose(LooseFold::LastRate),
        "increase" | "delta" => loose(LooseFold::Increase),
        "increase_pure" => loose(LooseFold::IncreasePure),
        "increase_prometheus" | "delta_prometheus" => loose(LooseFold::Difference),
        "rate_prometheus" => loose(LooseFold::DifferenceRate),
        "idelta" => loose(LooseFold::LastDifference),
        "deriv" => loose(LooseFold::Slope),
        "changes" => loose(LooseFold::Changes),
        "changes_prometheus" => loose(LooseFold::ChangesWithin),
        "resets" | "decreases_over_time" => loose(LooseFold::Falls),
        "increases_over_time" => loose(LooseFold::Rises),
        "ascent_over_time" => loose(LooseFold::Ascent),
        "descent_over_time" => loose(LooseFold::Descent),
        "lag" => loose(LooseFold::Lag),
        "lifetime" => loose(LooseFold::Lifetime),
        "scrape_interval" => loose(LooseFold::Interval),
        "sum2_over_time" => loose(LooseFold::Squares),
        "rate_over_sum" => loose(LooseFold::SumRate),
        "geomean_over_time" => loose(LooseFold::Geometric),
        "mode_over_time" => loose(LooseFold::Mode),
        "distinct_over_time" => loose(LooseFold::Distinct),
        "range_over_time" => loose(LooseFold::Width),
        "integrate" => loose(LooseFold::Integral),
        "zscore_over_time" => loose(LooseFold::Score),
        "tlast_change_over_time" => loose(LooseFold::LastChange),
        "histogram_over_time" => loose(LooseFold::Ranges),
        _ => return None,
    };
    Some(Ranges { fold, first, widens, keeps_names })
}

/// Whether series that a function of ranges makes of others keep their names.
fn keeps_names(name: &str) -> bool {
    matches!(
        name,
        "avg_over_time"
            | "default_rollup"
            | "first_over_time"
            | "geomean_over_time"
            | "last_over_time"
            | "max_over_time"
            | "median_over_time"
            | "min_over_time"
            | "mode_over_time"
            | "timestamp_with_name"
    )
}

/// One of several series that a function makes: the value of the label that tells which, and what
/// it is.
pub(super) type Variant = (&'static str, RangeFold);

/// A function that makes several series of each: whether names stay, ranges widen, and which.
pub(super) fn variants(name: &str) -> Option<(First, bool, bool, Vec<Variant>)> {
    let ends =
        || vec![("min", RangeFold::Min), ("max", RangeFold::Max), ("avg", RangeFold::Average)];
    let candles = || {
        [
            ("open", LooseFold::Open),
            ("close", LooseFold::Close),
            ("low", LooseFold::Low),
            ("high", LooseFold::High),
        ]
        .map(|(name, fold)| (name, RangeFold::Loose(fold)))
        .to_vec()
    };
    Some(match name {
        "rollup" => (First::AsTheyAre, true, true, ends()),
        "rollup_candlestick" => (First::AsTheyAre, true, true, candles()),
        "rollup_rate" => (First::Slopes { is_counter: true }, true, false, ends()),
        "rollup_deriv" => (First::Slopes { is_counter: false }, true, false, ends()),
        "rollup_increase" => (First::Differences { is_counter: true }, false, false, ends()),
        "rollup_delta" => (First::Differences { is_counter: false }, false, false, ends()),
        "rollup_scrape_interval" => (First::Intervals, true, false, ends()),
        _ => return None,
    })
}

/// A function of ranges and a limit.
pub(super) fn limited(name: &str) -> Option<fn(Grid) -> LooseFold> {
    Some(match name {
        "count_eq_over_time" => |of| LooseFold::Counted(Comparison::Equal, of),
        "count_ne_over_time" => |of| LooseFold::Counted(Comparison::NotEqual, of),
        "count_gt_over_time" => |of| LooseFold::Counted(Comparison::Greater, of),
        "count_le_over_time" => |of| LooseFold::Counted(Comparison::LessOrEqual, of),
        "share_gt_over_time" => |of| LooseFold::Shared(Comparison::Greater, of),
        "share_le_over_time" => |of| LooseFold::Shared(Comparison::LessOrEqual, of),
        "predict_linear" => LooseFold::Predicted,
        _ => return None,
    })
}

/// A function of the values of a series, and whether it keeps its name.
pub(super) fn path(name: &str) -> Option<(Path, bool)> {
    let running = |total, at_once| (Path::Running { total, at_once }, false);
    Some(match name {
        "running_sum" => running(Total::Sum, false),
        "running_avg" => running(Total::Average, false),
        "running_min" => running(Total::Min, false),
        "running_max" => running(Total::Max, false),
        "range_sum" => running(Total::Sum, true),
        "range_avg" => running(Total::Average, true),
        "range_min" => running(Total::Min, true),
        "range_max" => running(Total::Max, true),
        "range_first" => (Path::First, true),
        "range_last" => (Path::Last, true),
        "range_median" => (Path::Quantile(Grid::Number(0.5)), true),
        "keep_last_value" => (Path::KeptLast, true),
        "keep_next_value" => (Path::KeptNext, true),
        "interpolate" => (Path::Interpolated, true),
        "remove_resets" => (Path::Levelled, true),
        _ => return None,
    })
}

/// Aggregations that take a number and keep some series of each group, or make one.
const AGGREGATIONS: [&str; 22] = [
    "any",
    "avg",
    "bottomk",
    "count",
    "count_values",
    "distinct",
    "geomean",
    "group",
    "histogram",
    "limitk",
    "max",
    "median",
    "min",
    "mode",
    "outliersk",
    "quantile",
    "quantiles",
    "stddev",
    "stdvar",
    "sum",
    "sum2",
    "topk",
];

pub(super) fn is_aggregation(name: &str) -> bool {
    AGGREGATIONS.contains(&name) || ranked(name).is_some()
}

/// `topk_avg` and its like: by what series rank, and whether the highest are kept.
pub(super) fn ranked(name: &str) -> Option<(Rank, bool)> {
    let (side, rank) = name.split_once('_')?;
    let is_top = match side {
        "topk" => true,
        "bottomk" => false,
        _ => return None,
    };
    let rank = match rank {
        "avg" => Rank::Average,
        "min" => Rank::Min,
        "max" => Rank::Max,
        "last" => Rank::Last,
        "median" => Rank::Median,
        _ => return None,
    };
    Some((rank, is_top))
}
