//! What is told of a row by those around it: numbers in an order, rows before and behind, and folds
//! of a frame of rows.

use super::{Fold, Formula, Order, Relation};

/// Rows, each with what is told of it among the rows that it shares a partition with. They come
/// partition by partition, and in each in its order.
#[derive(Clone, Debug)]
pub struct Windowed {
    /// Whose rows.
    pub input: Relation,
    /// What rows of a partition have in common; nothing: all are of one.
    pub partition: Vec<Formula>,
    /// In which order the rows of a partition are; nothing: all are peers of one another.
    pub order: Vec<Order>,
    /// What is told of each row.
    pub told: Vec<Beside>,
}

/// What is told of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Beside {
    /// What of it.
    pub what: Neighbours,
    /// Values of the rows that this is about.
    pub of: Formula,
    /// What is told where there is no such row.
    pub otherwise: Formula,
}

/// Which rows decide, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Neighbours {
    /// The number of the row, from 1.
    Number,
    /// The number of the first of its peers, from 1.
    Rank,
    /// The number of its peers among all groups of peers, from 1.
    DenseRank,
    /// The value of the row so many behind it; below zero: before it.
    Shifted(i64),
    /// The value of the first row of its frame.
    First(Frame),
    /// The value of the last row of its frame.
    Last(Frame),
    /// What the values of its frame come to: a count, a sum, a mean, the smallest or the largest.
    Folded(Fold, Frame),
}

/// Which rows of its partition are looked at for a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Up to its last peer.
    Peers,
    /// From so many rows behind it to so many; below zero: before it; nothing: to the end of the
    /// partition on that side.
    Rows(Option<i64>, Option<i64>),
}
