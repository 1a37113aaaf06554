//! Relations: operators from rows without heads to rows without heads.
//!
//! Where a language asks for one table, labels are columns like any other. The leaves are stored
//! series ([`Relation::Stored`]), the tables of the [row algebra](crate::rows)
//! ([`Relation::Selected`], by which folds use what blocks know of themselves), and rows that stand
//! in the question. Columns have no names here, but places.

mod beside;
mod formula;
mod shown;
mod told;

pub use beside::{Beside, Frame, Neighbours, Windowed};
pub use formula::{Bucket, Formula, Kept, Part, Width, Words};

use crate::rows::{Scan, Select};
use foliot_model::Item;
use std::sync::Arc;

/// Rows of columns.
#[derive(Clone, Debug)]
pub enum Relation {
    /// These rows, each as wide as the others.
    Listed {
        /// How wide they are.
        columns: usize,
        /// The rows.
        rows: Arc<[Vec<Item>]>,
    },
    /// Stored series as rows: the time, and what the scan carries. The scan has no value.
    Stored(Box<Scan>),
    /// The tables of a selection.
    Selected(Box<Selected>),
    /// The rows for which a condition is true: neither false nor null.
    Filtered {
        /// Whose rows.
        input: Box<Relation>,
        /// Which of them.
        condition: Formula,
    },
    /// Rows of calculated columns.
    Calculated {
        /// Whose rows.
        input: Box<Relation>,
        /// What they become.
        columns: Vec<Formula>,
    },
    /// A row for each group: its keys, then what its rows come to. Null is a key like any other.
    Grouped(Box<Grouped>),
    /// The rows of each of these, one after the other; all are as wide.
    Appended(Vec<Relation>),
    /// Rows with what is told of each by its neighbours, behind their own columns.
    Windowed(Box<Windowed>),
    /// Rows in order; equal ones stay in theirs.
    Sorted {
        /// Whose rows.
        input: Box<Relation>,
        /// By what, the first before the others.
        by: Vec<Order>,
        /// The first so many are wanted; nothing: all.
        wanted: Option<u64>,
    },
    /// Some rows: those after `offset`, at most `limit`.
    Limited {
        /// Whose rows.
        input: Box<Relation>,
        /// How many are passed over.
        offset: u64,
        /// How many are wanted; nothing: all.
        limit: Option<u64>,
    },
}

/// The tables of a selection as rows.
#[derive(Clone, Debug)]
pub struct Selected {
    /// The selection.
    pub select: Select,
    /// What the rows have.
    pub columns: Vec<Column>,
    /// Whether there is a row in any case: of nulls, where the selection has none.
    pub is_one: bool,
}

/// What a row has of a table's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// A label of the head; null where that is empty.
    Label(Arc<str>),
    /// A column of the selection, by its place.
    Place(usize),
}

/// Groups of rows.
#[derive(Clone, Debug)]
pub struct Grouped {
    /// Whose rows.
    pub input: Relation,
    /// What rows of a group have in common. Nothing: there is one group, also of no rows.
    pub keys: Vec<Formula>,
    /// What is told of each group.
    pub folds: Vec<Folded>,
}

/// A fold of the rows of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Folded {
    /// Which one.
    pub fold: Fold,
    /// Of what; null is left out, except where rows are counted.
    pub of: Formula,
    /// By which times the earliest and the latest are told.
    pub by: Formula,
    /// Which rows; nothing: all.
    pub condition: Option<Formula>,
    /// Whether a value counts once only, however often it is there.
    pub is_distinct: bool,
}

/// How values of a group become one. Of no values all but the counts give null.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fold {
    /// How many rows.
    Rows,
    /// How many values.
    Count,
    /// Σx; where integers are too small for it, a float.
    Sum,
    /// Σx / n, as a float.
    Mean,
    /// The smallest.
    Smallest,
    /// The largest.
    Largest,
    /// The one of the earliest time; of several the largest.
    Earliest,
    /// The one of the latest time; of several the largest.
    Latest,
    /// Standard deviation of a sample; null of one value.
    Deviation,
    /// The same, of all there is.
    DeviationOfAll,
    /// The square of [`Fold::Deviation`].
    Variance,
    /// The square of [`Fold::DeviationOfAll`].
    VarianceOfAll,
    /// The value below which this share lies, on the line between neighbours.
    Quantile(f64),
    /// Whether all are true.
    All,
    /// Whether any is true.
    Any,
}

/// What rows are ordered by.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// By this.
    pub by: Formula,
    /// Whether the largest comes first.
    pub descending: bool,
    /// Whether nulls come before all others.
    pub nulls_first: bool,
}

/// What is asked: rows, and what their columns are called.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The rows.
    pub relation: Relation,
    /// The names of their columns.
    pub names: Arc<[Arc<str>]>,
}
