//! Grid algebra: operators whose answers are values of series at given instants.
//!
//! A *vector* is a set of series with a value, or none, at each instant: a number or a native
//! histogram. A *scalar* is a vector of one series without labels that has a number at every
//! instant; the operators that want one say so.
//! Labels of a vector hold the measurement and the field too, under [`MEASUREMENT`].

mod loose;
mod notes;
mod spelled;

pub use loose::{
    Along, First, LabelChange, Labelled, Loose, LooseFold, Path, Rank, SILENCE_NS, Total,
};
pub use notes::{Mended, Note, Notes, Union};
pub use spelled::general;

use foliot_model::{DEFAULT_FIELD, Matcher, Pattern, Selector};
use std::sync::Arc;
use std::time::Duration;

/// Where an operator stands in the text of its question: [`Notes`] say it, nobody else looks at it.
pub type Place = usize;

/// A step of a question: where it begins in the text, and how high what stands in it is piled.
/// Steps that begin at one place stand in one another, so that their heights differ.
pub type Step = (Place, usize);

/// What a step took, with all that stands in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Took {
    /// Which step.
    pub step: Step,
    /// Its time.
    pub time: Duration,
    /// The same, without the steps in it.
    pub own: Duration,
    /// Series that it came to.
    pub series: u64,
    /// Samples that were read for it from the store.
    pub samples: u64,
}

/// The label that a measurement is among the labels of a grid, with its field.
pub const MEASUREMENT: &str = "__name__";

/// What stands between a measurement and a field there.
pub const BEFORE_FIELD: char = '_';

/// The value of that label: the measurement alone where the field is the default one.
pub fn name(measurement: &Arc<str>, field: &str) -> Arc<str> {
    match field == DEFAULT_FIELD {
        true => measurement.clone(),
        false => format!("{measurement}{BEFORE_FIELD}{field}").into(),
    }
}

/// The instants of a grid: `count` of them, from `start_ns` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// The first instant.
    pub start_ns: i64,
    /// Time between instants; more than 0.
    pub step_ns: i64,
    /// How many.
    pub count: usize,
}

impl Steps {
    /// A single instant.
    pub fn one(at_ns: i64) -> Self {
        Self { start_ns: at_ns, step_ns: 1, count: 1 }
    }

    /// The instant numbered `index`.
    pub fn at(&self, index: usize) -> i64 {
        // Ends of time are further apart than a number of nanoseconds holds.
        let behind = i128::from(self.step_ns) * index as i128;
        let at_ns = i128::from(self.start_ns) + behind;
        i64::try_from(at_ns).unwrap_or(i64::MAX)
    }

    /// Those from a first instant up to an end, which may be further apart than a number of
    /// nanoseconds holds; none where there are none.
    pub fn within(start_ns: i64, end_ns: i64, step_ns: i64) -> Option<Self> {
        let length_ns = i128::from(end_ns) - i128::from(start_ns);
        let last = length_ns.checked_div(i128::from(step_ns)).filter(|_| length_ns >= 0)?;
        let count = usize::try_from(last).ok()?.saturating_add(1);
        Some(Self { start_ns, step_ns, count })
    }

    /// The last instant.
    pub fn end_ns(&self) -> i64 {
        self.at(self.count.saturating_sub(1))
    }
}

/// A vector or a scalar.
#[derive(Clone, Debug)]
pub enum Grid {
    /// The input, where series keep their measurements until now that would lose them at once, so
    /// that all operators within see them. It stands outermost or not at all.
    NamedLate(Box<Grid>),
    /// The input, where somebody wants to know what it took.
    Measured {
        /// Which step of the question it is.
        step: Step,
        /// What is measured.
        input: Box<Grid>,
    },
    /// The input by the rules of [`Loose`]. It stands outermost or not at all.
    Loose(Box<Grid>),
    /// The input without measurements, within [`Grid::Loose`].
    Nameless(Box<Grid>),
    /// The series of all, of the same labels only the first.
    Union(Vec<Grid>),
    /// The values of each series, one with another.
    Along(Box<Along>),
    /// Other labels, the same values.
    Labelled(Box<Labelled>),
    /// Series of counts within ranges (`vmrange`) as series of counts up to a bound (`le`); what is
    /// of the latter stays, and what is neither goes.
    Bounded {
        /// Which series.
        input: Box<Grid>,
        /// How many bounds are left to each histogram, three at least: those go that tell least.
        bounds_max: Option<usize>,
    },
    /// A scalar that is always the same.
    Number(f64),
    /// A scalar: the instant itself, in seconds.
    Time,
    /// Stored series, each with its last sample before the instant.
    Instants(Instants),
    /// One value of the samples before each instant.
    Over(Box<Over>),
    /// Another value for each value.
    Each(Box<Each>),
    /// Two grids, value by value.
    Binary(Box<Binary>),
    /// Several series into one per group, or some of each group.
    Aggregate(Box<GridAggregate>),
    /// Other labels, the same values.
    Relabel(Box<Relabel>),
    /// The same values, and labels of other series that describe theirs.
    Described(Box<Described>),
    /// What histograms come to, native ones and those that are series of counts up to a bound.
    Histograms(Box<Histograms>),
    /// 1 where the input has no series, under the given labels.
    Absent {
        /// Whose absence.
        input: Box<Grid>,
        /// Name and value of labels.
        labels: Vec<(Arc<str>, Arc<str>)>,
    },
    /// A vector of one series as a scalar, NaN where it has none or several.
    Scalar(Box<Grid>),
    /// The input, by its values at the only instant; by its labels where there are several.
    Sorted {
        /// What is sorted.
        input: Box<Grid>,
        /// Whether the highest comes first.
        descending: bool,
        /// Its own.
        place: Place,
    },
    /// The input, by values of its labels at the only instant; numbers in them by their value.
    SortedByLabels {
        /// What is sorted.
        input: Box<Grid>,
        /// Whether the highest comes first.
        descending: bool,
        /// By which labels, then by all.
        labels: Vec<Arc<str>>,
        /// Its own.
        place: Place,
    },
}

/// Series with labels of others that describe them: those of the same `instance` and `job`.
#[derive(Clone, Debug)]
pub struct Described {
    /// Which series.
    pub input: Grid,
    /// Those that describe them, by the times of their samples.
    pub facts: Instants,
    /// What the names of the latter must be. Series of the input that are some stay as they are.
    pub names: Vec<Matcher>,
    /// What is wanted of their labels, which are then the only ones that are taken.
    pub labels: Vec<Matcher>,
}

/// What histograms come to.
#[derive(Clone, Debug)]
pub struct Histograms {
    /// What is asked of each.
    pub figure: HistogramFigure,
    /// The series.
    pub input: Grid,
    /// Within [`Grid::Loose`], the label of two more series each, between which the figure lies for
    /// sure: `lower` and `upper`.
    pub bounds: Option<Arc<str>>,
    /// Of the series.
    pub place: Place,
}

/// What is asked of a histogram. Scalars say which.
#[derive(Clone, Debug)]
pub enum HistogramFigure {
    /// The value below which a share of the observations lies.
    Quantile(Grid, Place),
    /// Several of them, each under a label that says which.
    Quantiles {
        /// The label.
        label: Arc<str>,
        /// Which, with the place of each.
        shares: Vec<(Grid, Place)>,
    },
    /// The share of the observations between two values.
    Fraction(Grid, Grid),
    /// The share of the observations up to a value, of which none is below zero.
    Share(Grid),
    /// What observations come to that lie amid their buckets, those of finite bounds.
    Moment(Moment),
}

/// What numbers come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Their mean.
    Average,
    /// The mean of the squares of their distances from it.
    Variance,
    /// The root of that.
    Deviation,
}

/// From where on the time axis samples are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shift {
    /// One instant for all of the grid's, instead of each by itself.
    pub at_ns: Option<i64>,
    /// How long before that.
    pub offset_ns: i64,
}

/// Stored series.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Which ones.
    pub selector: Selector,
    /// What else must hold of their names, see [`name`].
    pub measurements: Vec<Matcher>,
    /// When.
    pub shift: Shift,
    /// Whether histograms are wanted without their buckets: only how often they observed what in
    /// sum, and whether they began anew.
    pub skips_buckets: bool,
}

/// Stored series at instants.
#[derive(Clone, Debug)]
pub struct Instants {
    /// Whose samples.
    pub stored: Stored,
    /// How old a sample may be, this age excluded.
    pub lookback_ns: i64,
    /// Bits of the float, or of the sum of a histogram, that ends a series.
    pub stale_bits: u64,
    /// Whether the sample's time, in seconds, is the value.
    pub stamps: bool,
}

/// Samples of a range before each instant, the left end excluded.
#[derive(Clone, Debug)]
pub struct Over {
    /// Whose samples.
    pub samples: Samples,
    /// How long the range is.
    pub range_ns: i64,
    /// What they come to.
    pub fold: RangeFold,
    /// Whether they are taken as VictoriaMetrics does, whatever the range above.
    pub loose: Option<Loose>,
    /// Of the samples, or of the quantile that is asked for.
    pub place: Place,
    /// Which step of the question reading is, where somebody wants to know what that took.
    pub read: Option<Step>,
}

/// Where the samples of a range come from.
#[derive(Clone, Debug)]
pub enum Samples {
    /// The store. Floats of these bits, and histograms of this sum, are left out.
    Stored(Stored, u64),
    /// A grid of instants that are multiples of `step_ns`.
    Grid {
        /// Whose values.
        input: Grid,
        /// Time between its instants.
        step_ns: i64,
        /// When.
        shift: Shift,
    },
}

/// What the samples of a range come to. Those that need two samples yield nothing for one.
#[derive(Clone, Debug)]
pub enum RangeFold {
    /// Difference from the first to the last, extrapolated to the ends of the range.
    Extrapolated {
        /// Whether falls are restarts from 0, and extrapolation ends where the value would be 0.
        is_counter: bool,
        /// Whether it is divided by the range, in seconds.
        per_second: bool,
    },
    /// Difference of the last two.
    Last2 {
        /// Whether a fall is a restart from 0, and the difference is divided by its seconds.
        is_rate: bool,
    },
    /// Mean.
    Average,
    /// Sum.
    Sum,
    /// Lowest.
    Min,
    /// Highest.
    Max,
    /// How many.
    Count,
    /// The newest.
    Last,
    /// The oldest.
    First,
    /// When one of them was, in seconds.
    Stamp(Stamp),
    /// The median of how far they are from their median.
    Spread,
    /// The newest, smoothed twice: scalars say how much the newest counts, and its trend.
    Smoothed(Grid, Grid),
    /// 1.
    Present,
    /// Standard deviation of all.
    Deviation,
    /// Variance of all.
    Variance,
    /// How often a value differs from the one before.
    Changes,
    /// How often a value is lower than the one before.
    Resets,
    /// Slope of the line through them, per second.
    Slope,
    /// That line so many seconds after the instant: a scalar.
    Predicted(Grid),
    /// A quantile: a scalar says which.
    Quantile(Grid),
    /// What only [`Loose`] ranges come to.
    Loose(LooseFold),
}

/// Which sample of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// The oldest.
    First,
    /// The newest.
    Last,
    /// The last of the lowest.
    Min,
    /// The last of the highest.
    Max,
}

/// A function of each value.
#[derive(Clone, Debug)]
pub struct Each {
    /// Of whose values.
    pub input: Grid,
    /// Which function.
    pub function: Function,
}

/// What becomes of a value.
#[derive(Clone, Debug)]
pub enum Function {
    /// A function of numbers.
    Math(Math),
    /// The nearest multiple of a scalar, upwards where two are as near.
    Rounded(Grid),
    /// The value, held between two scalars. No series where the first is above the second.
    Clamped(Grid, Grid),
    /// The instant, in seconds.
    Instant,
    /// What a histogram comes to; numbers are left out.
    Of(Figure),
}

/// What a native histogram comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// How many observations.
    Count,
    /// Their sum.
    Sum,
    /// Their mean.
    Average,
    /// Their standard deviation, by estimate.
    Deviation,
    /// Their variance, by estimate.
    Variance,
}

/// A function of numbers. Times are seconds since 1970, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are called as mathematics calls them")]
pub enum Math {
    Negated,
    Abs,
    Ceil,
    Floor,
    Exp,
    Sqrt,
    Ln,
    Log2,
    Log10,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Radians,
    Degrees,
    /// -1, 0 or 1.
    Sign,
    Minute,
    Hour,
    /// 0 is Sunday.
    DayOfWeek,
    DayOfMonth,
    DayOfYear,
    DaysInMonth,
    Month,
    Year,
}

/// Two grids, value by value.
#[derive(Clone, Debug)]
pub struct Binary {
    /// On the left.
    pub left: Grid,
    /// On the right.
    pub right: Grid,
    /// What is done to values.
    pub operator: Operator,
    /// Which values meet.
    pub sides: Sides,
    /// Of the left.
    pub place: Place,
}

/// What is done to two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operator {
    /// A number is made. The measurement goes.
    Calculate(Calculation),
    /// The left value stays where the comparison holds. If that is to be told, the value is 1 or 0
    /// instead, and the measurement goes.
    Compare {
        /// What must hold.
        comparison: Comparison,
        /// Whether it is told.
        is_told: bool,
    },
    /// What a histogram on the left observed below the right value, or above it.
    Trim {
        /// Whether it is what lies below.
        keeps_below: bool,
    },
    /// The left series stays where there is a right one.
    And,
    /// The left series, and those on the right that have none on the left.
    Or,
    /// The left series stays where there is no right one.
    Unless,
    /// As `And`; a right side of one series without labels is there for all.
    If,
    /// As `Unless`, likewise.
    IfNot,
    /// The right value stands where the left series has none.
    Default,
}

/// An operation of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "they are called as arithmetic calls them")]
pub enum Calculation {
    Add,
    Subtract,
    Multiply,
    Divide,
    /// What division leaves, of the dividend's sign.
    Remainder,
    Power,
    /// The angle of a point: y, then x.
    Angle,
    Lower,
    Higher,
}

/// A comparison of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "they are called as arithmetic calls them")]
pub enum Comparison {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

/// Which values of two grids meet.
#[derive(Clone, Debug)]
pub enum Sides {
    /// Two scalars.
    Scalars,
    /// A vector and a scalar: each value with the scalar.
    RightScalar,
    /// A scalar and a vector.
    LeftScalar,
    /// Two vectors: series that have the same values of some labels.
    Vectors(Matching),
    /// Whatever they turn out to be: one series without labels is a scalar, unless the labels are
    /// said that decide.
    Loose(Matching, bool),
}

/// How series of two vectors find each other.
#[derive(Clone, Debug)]
pub struct Matching {
    /// The labels that decide.
    pub by: Labels,
    /// Whether several series may meet one.
    pub many: Many,
    /// Labels that come from the side of one.
    pub include: Vec<Arc<str>>,
    /// What stands for a series that is not there.
    pub fill: Fill,
}

/// Numbers that stand for series of one side of an operation that are not there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fill {
    /// On the left, or where several on the right meet one, on the right.
    pub many: Option<f64>,
    /// On the other side.
    pub one: Option<f64>,
}

/// On which side of an operation several series may meet one of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Many {
    /// On neither.
    None,
    /// On the left.
    Left,
    /// On the right.
    Right,
    /// On both: the series are only kept or not.
    Both,
}

/// Some labels of a series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Labels {
    /// Only these.
    Only(Vec<Arc<str>>),
    /// All but these and the measurement.
    Without(Vec<Arc<str>>),
}

/// Several series into one per group, or some of each group.
#[derive(Clone, Debug)]
pub struct GridAggregate {
    /// Which series.
    pub input: Grid,
    /// What makes a group.
    pub by: Labels,
    /// What the group comes to.
    pub fold: GroupFold,
    /// Of the scalar that the fold has.
    pub place: Place,
    /// Of what histograms are noted of: the series, or the fold itself where it picks some.
    pub histograms_place: Place,
}

/// What the values of a group come to.
#[derive(Clone, Debug)]
pub enum GroupFold {
    /// Sum.
    Sum,
    /// Mean.
    Average,
    /// Lowest.
    Min,
    /// Highest.
    Max,
    /// How many.
    Count,
    /// 1.
    Present,
    /// Standard deviation of all.
    Deviation,
    /// Variance of all.
    Variance,
    /// A quantile: a scalar says which.
    Quantile(Grid),
    /// The series with the highest values, as many as a scalar says; with their own labels.
    Top(Grid),
    /// Those with the lowest.
    Bottom(Grid),
    /// Any, as many as a scalar says.
    Some(Grid),
    /// A part of them, as large as a scalar says, and always the same; the other part where it is
    /// negative.
    Part(Grid),
    /// How many have each value, which becomes the label of this name.
    CountValues(Arc<str>),
    /// How many values lie within each range of VictoriaMetrics' histograms, which becomes the
    /// label `vmrange`.
    Ranges,
    /// The first series, whatever its values, with its own labels.
    Any,
    /// How many different values.
    Distinct,
    /// Geometric mean.
    Geometric,
    /// Sum of squares.
    Squares,
    /// The most frequent value.
    Mode,
    /// The series that rank highest, or lowest, of all instants, as many as a scalar says.
    Ranked {
        /// By what.
        rank: Rank,
        /// How many.
        count: Grid,
        /// Whether the highest are kept.
        is_top: bool,
    },
    /// The series that lie furthest from the median of all, as many as a scalar says.
    Outliers(Grid),
}

/// Other labels.
#[derive(Clone, Debug)]
pub struct Relabel {
    /// Whose.
    pub input: Grid,
    /// The label that is set; an empty value takes it away.
    pub target: Arc<str>,
    /// To what.
    pub value: NewValue,
}

/// What a label is set to.
#[derive(Clone, Debug)]
pub enum NewValue {
    /// Where the value of `source` fits `pattern` as a whole, `template` with its groups as `$1`
    /// and `${name}`.
    Replaced {
        /// Label that is looked at.
        source: Arc<str>,
        /// What it must be.
        pattern: Pattern,
        /// What it becomes.
        template: Arc<str>,
    },
    /// Values of labels with something in between.
    Joined {
        /// Labels, in this order.
        sources: Vec<Arc<str>>,
        /// What stands between.
        separator: Arc<str>,
    },
}
