//! Series of several sets that are calculated with one another.

use crate::Series;
use crate::grid::{Calculation, Comparison};
use std::sync::Arc;

/// One series of each input that have the same labels, whatever their measurements; of several of
/// one input the last. Results come in the order of these labels, as the store saw them first.
///
/// A result has the labels of the first of its series, the measurement that the store saw first,
/// and lists those of all; what varies in any of them varies. There is one at every time that any
/// of them has; of several samples of one time the last counts.
#[derive(Clone, Debug)]
pub struct Joined {
    /// What is calculated with, in the order of [`Step::Input`].
    pub inputs: Vec<Input>,
    /// Whether the names of labels that vary must be the same, too, unless there are no labels.
    pub by_varying: bool,
    /// Whether there must be a series of every input.
    pub needs_all: bool,
    /// Whether there is a result at the times of all series that others meet.
    pub at_all_times: bool,
    /// What is made of the numbers of one time.
    pub term: Term,
}

/// One of several sets.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its series.
    pub series: Series,
    /// What stands for a number that is missing at a time, or is NaN. A series that is not there at
    /// all counts as 0.
    pub fill: f64,
    /// The labels by which its series are found; nothing: all.
    pub labels: Option<Vec<Arc<str>>>,
}

/// A calculation, as steps from left to right, each of which takes numbers that came before and
/// puts one in their place: however long it is, nothing walks or drops it recursively.
///
/// What is true is 1, and what is neither 0 nor NaN is true. Division by zero gives zero, also the
/// remainder. NaN equals itself and is less than all else.
#[derive(Clone, Debug, PartialEq)]
pub struct Term(pub Vec<Step>);

/// A step of a calculation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// A constant.
    Number(f64),
    /// The number of an input, by its place.
    Input(usize),
    /// -a
    Negated,
    /// Whether a is not true.
    Not,
    /// What two numbers come to.
    Calculated(Calculation),
    /// Whether a comparison of two numbers holds.
    Compared(Comparison),
    /// Whether both of two are true.
    And,
    /// Whether one of two is true.
    Or,
    /// Of a test and two numbers, the first number where the test is true, else the second.
    Chosen,
}
