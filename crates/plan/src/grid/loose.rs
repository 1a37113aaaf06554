//! What VictoriaMetrics' language asks beyond that of Prometheus. A grid under [`Grid::Loose`] is
//! calculated by its rules: what is no number is no value, series without values stay until the
//! end, measurements stay until [`Grid::Nameless`], and a vector of one series without labels meets
//! all series of the other side.

use super::{Comparison, Grid};
use foliot_model::Pattern;
use std::sync::Arc;

/// How long a series may be silent before a range, and what came before still be looked at.
pub const SILENCE_NS: i64 = 300_000_000_000;

/// How the samples of a range are taken: those of [`SILENCE_NS`] before the range tell how far they
/// lie apart, and the last of these is known to the fold if it is not further away than that.
#[derive(Clone, Debug)]
pub struct Loose {
    /// How long the range is; nothing: as long as a step.
    pub range_ns: Option<i64>,
    /// Time between the instants of the question; for a single instant what counts as such.
    pub step_ns: i64,
    /// Whether a range is at least as long as samples lie apart.
    pub widens: bool,
    /// Whether a fold sees the marks that end a series, which are values to it.
    pub keeps_marks: bool,
    /// What becomes of all samples of a series before ranges are taken.
    pub first: First,
    /// A label that tells what the fold is: its name and value.
    pub label: Option<(Arc<str>, Arc<str>)>,
}

impl Loose {
    /// How long before an instant samples are looked at, the earliest included.
    pub fn before_ns(&self) -> i64 {
        let longest = self.range_ns.unwrap_or_default().max(self.step_ns);
        longest.saturating_add(SILENCE_NS).saturating_add(1)
    }
}

/// What becomes of the samples of a series before ranges are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// Nothing.
    AsTheyAre,
    /// A counter that falls goes on from where it was.
    Levelled,
    /// Differences to the next one; of a counter, where it is one.
    Differences {
        /// Whether falls are levelled first.
        is_counter: bool,
    },
    /// The same per second.
    Slopes {
        /// Whether falls are levelled first.
        is_counter: bool,
    },
    /// Seconds since the one before.
    Intervals,
}

/// What the samples of a range come to, and of the one before it.
#[derive(Clone, Debug)]
pub enum LooseFold {
    /// The newest less the one before the range, or less 0 where a series seems to begin at 0.
    Increase,
    /// The newest less whatever came before, which was 0 where nothing did.
    IncreasePure,
    /// The newest less the oldest of at least two.
    Difference,
    /// The same per second of the range.
    DifferenceRate,
    /// The newest less the one before the range, per second between them.
    Rate,
    /// Of the last two, per second.
    LastRate,
    /// Of the last two.
    LastDifference,
    /// How often a value differs from the one before.
    Changes,
    /// The same, of the values of the range alone.
    ChangesWithin,
    /// How often a value is lower than the one before.
    Falls,
    /// How often it is higher.
    Rises,
    /// How far it fell in sum.
    Descent,
    /// How far it rose in sum.
    Ascent,
    /// Seconds since the newest.
    Lag,
    /// Seconds from the oldest to the newest.
    Lifetime,
    /// Mean of the seconds between two.
    Interval,
    /// Slope of the line through them, per second.
    Slope,
    /// That line so many seconds after the instant: a scalar.
    Predicted(Grid),
    /// Sum of squares.
    Squares,
    /// Sum per second of the range.
    SumRate,
    /// Geometric mean.
    Geometric,
    /// The most frequent one.
    Mode,
    /// How many different ones.
    Distinct,
    /// The highest less the lowest.
    Width,
    /// Values times seconds.
    Integral,
    /// How many deviations the newest is away from the mean.
    Score,
    /// How many compare so to a scalar.
    Counted(Comparison, Grid),
    /// Which part of them does.
    Shared(Comparison, Grid),
    /// When the value changed last, in seconds.
    LastChange,
    /// The value before the range's end.
    Close,
    /// The one at its beginning.
    Open,
    /// The highest before its end.
    High,
    /// The lowest.
    Low,
    /// 1 where there is no sample.
    Absent,
    /// How many have each value, which becomes the label of this name.
    Values(Arc<str>),
    /// How many lie within each range of VictoriaMetrics' histograms, which becomes the label
    /// `vmrange`.
    Ranges,
}

/// The values of a series, one with another.
#[derive(Clone, Debug)]
pub struct Along {
    /// Whose values.
    pub input: Grid,
    /// What becomes of them.
    pub path: Path,
}

/// What becomes of the values of a series.
#[derive(Clone, Debug)]
pub enum Path {
    /// What they came to so far; where `at_once`, the last of that for each.
    Running {
        /// What they come to.
        total: Total,
        /// Whether all values become the last one.
        at_once: bool,
    },
    /// The first one, for each.
    First,
    /// The last one, for each.
    Last,
    /// A quantile of all, for each: a scalar says which.
    Quantile(Grid),
    /// Gaps have the value before.
    KeptLast,
    /// Gaps have the value behind.
    KeptNext,
    /// Gaps have values between.
    Interpolated,
    /// Falls of a counter are levelled.
    Levelled,
    /// The newest counts as a scalar says.
    Smoothed(Grid),
}

/// What values come to one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Total {
    /// Sum.
    Sum,
    /// Mean.
    Average,
    /// Lowest.
    Min,
    /// Highest.
    Max,
}

/// Other labels of all series.
#[derive(Clone, Debug)]
pub struct Labelled {
    /// Whose.
    pub input: Grid,
    /// What is done.
    pub change: LabelChange,
}

/// What is done to labels. An empty value takes a label away.
#[derive(Clone, Debug)]
pub enum LabelChange {
    /// These have these values.
    Set(Vec<(Arc<str>, Arc<str>)>),
    /// These go.
    Deleted(Vec<Arc<str>>),
    /// All others go.
    Kept(Vec<Arc<str>>),
    /// The value of the first is also that of the second, if it has any.
    Copied {
        /// Pairs of labels.
        pairs: Vec<(Arc<str>, Arc<str>)>,
        /// Whether the first goes.
        moves: bool,
    },
    /// Values of a label become others.
    Mapped(Arc<str>, Vec<(Arc<str>, Arc<str>)>),
    /// What fits in the value of a label becomes something else.
    Transformed {
        /// The label.
        label: Arc<str>,
        /// What is looked for.
        pattern: Pattern,
        /// What it becomes.
        template: Arc<str>,
    },
    /// Only series of which the label fits, or does not.
    Matching {
        /// The label.
        label: Arc<str>,
        /// What it must be.
        pattern: Pattern,
        /// Whether it must not.
        negated: bool,
    },
    /// Letters of these in one case.
    Cased {
        /// The labels.
        labels: Vec<Arc<str>>,
        /// Whether they are large.
        is_upper: bool,
    },
    /// The number that a label has is the value.
    Value(Arc<str>),
}

/// By what series are ranked that are kept for all instants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// The mean of their values.
    Average,
    /// The lowest.
    Min,
    /// The highest.
    Max,
    /// The last.
    Last,
    /// The middle.
    Median,
}
