//! Operators on each series of a set: what becomes of its numbers, what it is called, and whether
//! it is among the wanted ones.

use crate::Series;
use crate::grid::Rank;
use foliot_model::TimeRange;
use std::sync::Arc;

/// What becomes of the numbers of each series. What is no number is left out; a series stays where
/// its input does, also without samples.
#[derive(Clone, Debug)]
pub struct Each {
    /// Whose numbers.
    pub input: Series,
    /// What becomes of them.
    pub function: Function,
}

/// What becomes of a number, of its time, or of it and those before it in its series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Function {
    /// The number times a factor. An integer stays one, wrapping around, where the factor is whole.
    Scaled(f64),
    /// Without its sign; of the smallest integer that is itself.
    Absolute,
    /// So much later, in nanoseconds.
    Shifted(i64),
    /// At the last multiple of so many nanoseconds before it. Several may then be of one time.
    Coarse(i64),
    /// The difference to the number before, as a float; 0 for the first one.
    Difference,
    /// The mean of it and those before it that are numbers, as a float; 0 of none, and 0 until
    /// there is a whole span of them.
    Average(Span),
}

/// How far back an average goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// So many samples, the one itself among them; more than 0.
    Samples(usize),
    /// So many nanoseconds, the earliest of them left out.
    Time(i64),
}

/// Another name for each series.
#[derive(Clone, Debug)]
pub struct Named {
    /// Which series.
    pub input: Series,
    /// What its measurement is called; the field is the default one.
    pub name: Arc<str>,
    /// Whether `@label` in the name stands for the value of that label. Then no labels are left.
    pub is_template: bool,
}

/// Some of the series, the best first; of equal ones the first.
#[derive(Clone, Debug)]
pub struct Ranked {
    /// Of which series.
    pub input: Series,
    /// By what.
    pub rank: Rank,
    /// By how many of its last samples; nothing: by all.
    pub last: Option<usize>,
    /// By samples of which times.
    pub range: TimeRange,
    /// How many series are wanted.
    pub count: usize,
    /// Whether the highest are.
    pub is_top: bool,
    /// Whether of equal ones the last stays, and not the first.
    pub keeps_later: bool,
    /// Whether a series without numbers may be among them, as the last.
    pub takes_empty: bool,
}
