//! Series algebra: operators from sets of series to sets of series.

use crate::{Counted, Each, Fold, Joined, Named, Ranked, Window};
use foliot_model::{Selector, TimeRange};
use std::sync::Arc;

/// A set of series.
#[derive(Clone, Debug)]
pub enum Series {
    /// Stored series with their samples in `range`.
    Select {
        /// Which series.
        selector: Selector,
        /// Which samples.
        range: TimeRange,
    },
    /// One value per window and series.
    Window(Box<Window>),
    /// Differences over time. A series of one sample yields none, and takes no part in an
    /// aggregation before its second sample.
    Rate(Box<Rate>),
    /// Samples divided by samples of the same time.
    Quotient(Box<Quotient>),
    /// What becomes of the numbers of each series.
    Each(Box<Each>),
    /// Series of several sets, calculated with one another.
    Joined(Box<Joined>),
    /// Several series into one per group.
    Aggregate(Box<Aggregate>),
    /// The input's samples in `range`. Series left without samples stay when `keep_empty`: they are
    /// answered, as the outermost operator says, by a frame without samples.
    Clip {
        /// What is cut.
        input: Box<Series>,
        /// What is kept.
        range: TimeRange,
        /// Whether a series without samples in range is still an answer.
        keep_empty: bool,
    },
    /// Figures of histograms.
    Counted(Box<Counted>),
    /// Another name for each series.
    Named(Box<Named>),
    /// The series that rank highest, or lowest.
    Ranked(Box<Ranked>),
    /// The series of several sets, one set after the other.
    Union(Vec<Series>),
    /// The answer to an earlier question of the request, by its place. It is kept until the last
    /// question that wants it is answered.
    Answer(usize),
}

impl Series {
    /// Tells the earlier questions whose answers this one wants.
    pub fn each_answer(&self, each: &mut dyn FnMut(usize)) {
        match self {
            Self::Select { .. } => {}
            Self::Answer(place) => each(*place),
            Self::Window(of) => of.input.each_answer(each),
            Self::Rate(of) => of.input.each_answer(each),
            Self::Each(of) => of.input.each_answer(each),
            Self::Aggregate(of) => of.input.each_answer(each),
            Self::Counted(of) => of.input.each_answer(each),
            Self::Named(of) => of.input.each_answer(each),
            Self::Ranked(of) => of.input.each_answer(each),
            Self::Clip { input, .. } => input.each_answer(each),
            Self::Quotient(of) => {
                of.dividend.each_answer(each);
                of.divisor.each_answer(each);
            }
            Self::Joined(of) => of.inputs.iter().for_each(|input| input.series.each_answer(each)),
            Self::Union(inputs) => inputs.iter().for_each(|input| input.each_answer(each)),
        }
    }
}

/// What a counter does when it falls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reset {
    /// Nothing special: the rate is negative.
    Gauge,
    /// It wrapped at `max`: the difference is `max - previous + current`. A rate above
    /// `reset_above` (when above 0) was a restart and yields 0.
    Wrap {
        /// Largest value before wrapping, in integer arithmetic.
        max: i64,
        /// Rates above this are restarts; 0 switches the test off.
        reset_above: f64,
    },
    /// The sample yields nothing, and the next difference starts from it.
    Drop,
}

/// Difference quotient of neighbouring samples of each series, stamped at the later one.
#[derive(Clone, Debug)]
pub struct Rate {
    /// Whose rates.
    pub input: Series,
    /// Divisor of the time between samples: the result is "per this many nanoseconds".
    pub per_ns: i64,
    /// What to do when values fall.
    pub reset: Reset,
}

/// Divides each series by the one that is called the same but for its field, at the instants where
/// both have a sample: an average from its sum and its count. What is divided by zero is zero;
/// series without a partner have no samples.
#[derive(Clone, Debug)]
pub struct Quotient {
    /// What is divided.
    pub dividend: Series,
    /// What it is divided by.
    pub divisor: Series,
}

/// Which series come together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// All of them.
    All,
    /// None: every series is its own group.
    Each,
    /// Those that agree on these labels.
    By {
        /// Label names.
        names: Vec<Arc<str>>,
        /// Whether a series that lacks one of the labels is dropped (OpenTSDB) or counts as having
        /// the empty value (PromQL, InfluxQL).
        drops_absent: bool,
    },
}

/// What a series contributes at an instant where another one of its group has a sample and it has
/// none, while it has samples both before and after.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gap {
    /// Nothing: values are combined only where times coincide.
    Absent,
    /// The value on the line between its neighbours, by time in milliseconds; integer arithmetic
    /// truncating toward zero when all values involved are integers and arithmetic says so.
    Linear,
    /// Zero.
    Zero,
    /// Its previous value.
    Previous,
    /// The largest value there is, so that a minimum ignores it.
    Maximum,
    /// The smallest value there is, so that a maximum ignores it.
    Minimum,
}

/// Whether integers stay integers in an aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// Everything is binary64.
    Float,
    /// OpenTSDB's rule: at an instant where every current and next value of the group's series is
    /// an integer, arithmetic is on 64-bit integers (wrapping, truncating toward zero) and the
    /// result is one; a single float makes the instant's result a float. The next value of a series
    /// that has not begun is its first one; a series that has ended has neither.
    ///
    /// Under this rule a quantile of floats is [`Quantile::Legacy`](crate::Quantile::Legacy)
    /// whatever method is named, as in OpenTSDB; the method named holds for integers.
    IntegerIfAll,
}

/// Folds the series of each group at the union of their times.
///
/// A series takes part from its first sample to its last. Floats that are NaN are left out, as in
/// [`Fold`]. Groups come in the order in which the values of their labels were first seen by the
/// store, label names in the order in which those were; the series within a group, and the results
/// of [`Grouping::Each`], likewise by measurement and then label by label (OpenTSDB's UID order).
/// A result's head carries every label on which those members agree that have it, and names those
/// on which members differ. Only stored series with a sample in the selected range are members.
#[derive(Clone, Debug)]
pub struct Aggregate {
    /// What is folded.
    pub input: Series,
    /// Which series come together.
    pub grouping: Grouping,
    /// How values become one.
    pub fold: Fold,
    /// What a series without a sample at an instant contributes.
    pub gap: Gap,
    /// Integer or float arithmetic.
    pub arithmetic: Arithmetic,
    /// Whether result heads list the ids of their members.
    pub wants_members: bool,
}
