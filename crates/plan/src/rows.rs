//! Row algebra: operators from rows to rows.
//!
//! A row has a head (measurement and the labels it is grouped by), a time, one value that operators
//! work on, and values that it carries along. Rows come ordered by head, then by time. The leaves
//! are stored series seen as rows ([`Scan`], the one bridge to them) and the answers of nested
//! selections; a [`Select`] joins the rows of its inputs by head and time and calculates columns.

mod calculate;
mod names;
mod transform;

pub use calculate::{Calculate, Math, Operator};
pub use names::{NameTable, Names, SourceName, SourceTest};
pub use transform::{Forecast, Period, Smooth, Transform, Warmup};

use foliot_model::{Item, Kind, NamespaceId, TimeRange};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A table: columns calculated from joined rows.
#[derive(Clone, Debug)]
pub struct Select {
    /// What is read. Nothing: the table has no rows.
    pub inputs: Vec<Input>,
    /// Number of slots.
    pub slots: usize,
    /// What is answered.
    pub columns: Vec<Column>,
    /// What a slot has where its input has no value.
    pub absent: Absent,
    /// Whether heads and times come in descending order.
    pub descending: bool,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// Name.
    pub name: Arc<str>,
    /// How it is calculated; [`Calculate::Time`] is the row's time.
    pub value: Calculate,
}

/// Rows of which a [`Select`] reads values into slots. Slots keep their values from row to row of
/// one head unless something takes their place.
#[derive(Clone, Debug)]
pub struct Input {
    /// The rows.
    pub rows: Rows,
    /// Where the value goes.
    pub value: Option<Slot>,
    /// Where carried values go, in their order.
    pub carried: Vec<Slot>,
}

/// Where a value goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Number of the slot.
    pub index: usize,
    /// What a default is converted to; nothing: the slot takes no default but null.
    pub kind: Option<Kind>,
}

/// What stands for a value that is absent.
#[derive(Clone, Debug, PartialEq)]
pub enum Absent {
    /// This, converted to the kind of the slot.
    Value(Item),
    /// What the slot had before.
    Previous,
}

/// How rows are ordered, grouped and windowed. The operators of a selection mostly share one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Which times are wanted.
    pub range: TimeRange,
    /// Windows of fixed width; nothing: one window, the range.
    pub windows: Option<Buckets>,
    /// Sorted names of the labels that make the heads of the answer: rows are ordered by them.
    pub order_by: Arc<[Arc<str>]>,
    /// Sorted names of the labels that make heads here: those of `order_by` and, inside nested
    /// selections, more.
    pub group_by: Arc<[Arc<str>]>,
    /// Whether heads and times come in descending order.
    pub descending: bool,
    /// Whether rows of a head must come by time, not only by window.
    pub ordered: bool,
}

/// Windows of fixed width in the local time of a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buckets {
    /// Width in nanoseconds, above 0. Where the zone shifts its clock, a window is longer or
    /// shorter by the shift, if that is less than the width.
    pub width_ns: i64,
    /// How far windows are shifted from the multiples of the width since 1970, in nanoseconds.
    pub offset_ns: i64,
    /// IANA name, checked by the door; nothing: UTC.
    pub zone: Option<Arc<str>>,
    /// Whether a window that begins before all times is an error. Otherwise it is stamped with the
    /// epoch, as in `InfluxDB`.
    pub whole: bool,
}

/// Rows.
#[derive(Clone, Debug)]
pub enum Rows {
    /// Stored series.
    Scan(Box<Scan>),
    /// The rows of another selection.
    Nested(Box<Nested>),
    /// Rows of several inputs, by head and time if the layout is ordered, else by head and window.
    Merge {
        /// Whose rows.
        inputs: Vec<Rows>,
        /// Order and windows.
        layout: Arc<Layout>,
    },
    /// One or few rows per head and window.
    Reduce(Box<Reduce>),
    /// Rows stamped with the start of their window.
    Stamp {
        /// Whose rows.
        input: Box<Rows>,
        /// Windows.
        layout: Arc<Layout>,
    },
    /// A row for every window of the range, for heads that have any.
    Fill(Box<Fill>),
    /// A function of successive rows of each head.
    Transform {
        /// Whose rows.
        input: Box<Rows>,
        /// Which function.
        function: Transform,
        /// Heads and order.
        layout: Arc<Layout>,
    },
    /// Some rows of each head: those after `offset`, at most `limit`.
    Limit {
        /// Whose rows.
        input: Box<Rows>,
        /// How many are passed over.
        offset: u64,
        /// How many are wanted; nothing: all.
        limit: Option<u64>,
    },
}

impl Rows {
    /// The measurement that all heads are of, if that is known: other selections, and several
    /// inputs, may have heads of several.
    pub fn measurement(&self) -> Option<&Arc<str>> {
        match self {
            Rows::Scan(scan) => Some(&scan.measurement),
            Rows::Nested(_) | Rows::Merge { .. } => None,
            Rows::Reduce(reduce) => reduce.input.measurement(),
            Rows::Fill(fill) => fill.input.measurement(),
            Rows::Stamp { input, .. }
            | Rows::Transform { input, .. }
            | Rows::Limit { input, .. } => input.measurement(),
        }
    }

    /// Whether each of the inputs has a measurement of its own, so that no two have a head in
    /// common.
    pub fn are_apart<'r>(inputs: impl IntoIterator<Item = &'r Rows>) -> bool {
        let mut seen = BTreeSet::new();
        inputs.into_iter().all(|rows| rows.measurement().is_some_and(|name| seen.insert(name)))
    }
}

/// Stored series of one measurement as rows: one per source and instant at which the value (or, if
/// there is none, a carried field) has a sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    /// Namespace.
    pub namespace: NamespaceId,
    /// Measurement.
    pub measurement: Arc<str>,
    /// The field that is the row's value, read as this kind; nothing: rows have no value.
    pub value: Option<(Arc<str>, Kind)>,
    /// What rows carry along.
    pub carried: Vec<Carried>,
    /// Which rows.
    pub condition: Option<Calculate>,
    /// What the slots of the condition hold.
    pub condition_slots: Vec<Carried>,
    /// Order and heads.
    pub layout: Arc<Layout>,
    /// Whether heads come in descending order: that of times is the layout's.
    pub heads_descending: bool,
    /// Rows of a head beyond so many are not wanted, nor are they of a source.
    pub rows_max: Option<u64>,
    /// Whether of each source no row is wanted but its first one.
    pub one_each: bool,
    /// How many heads are passed over, and how many are wanted at most.
    pub heads: (u64, Option<u64>),
    /// At most so many sources may be read; nothing: any number.
    pub sources_max: Option<u64>,
}

impl Scan {
    /// Rows of a source beyond so many are not wanted.
    pub fn rows_max_each(&self) -> Option<u64> {
        if self.one_each { Some(1) } else { self.rows_max }
    }
}

/// A value that a row carries along.
#[derive(Clone, Debug, PartialEq)]
pub enum Carried {
    /// A field, read as this kind.
    Field(Arc<str>, Kind),
    /// A label; null where the source does not have it.
    Label(Arc<str>),
    /// The measurement's name.
    Measurement,
    /// Always null.
    Nothing,
}

/// The rows of another selection, seen by the one around it.
#[derive(Clone, Debug)]
pub struct Nested {
    /// The other selection.
    pub select: Select,
    /// What becomes the value.
    pub value: Option<Taken>,
    /// What is carried along.
    pub carried: Vec<Taken>,
    /// Which rows.
    pub condition: Option<Calculate>,
    /// What the slots of the condition hold.
    pub condition_slots: Vec<Taken>,
    /// When given, heads are reduced to these labels.
    pub relabel: Option<Arc<[Arc<str>]>>,
}

/// What a row takes from the row of a nested selection.
#[derive(Clone, Debug, PartialEq)]
pub enum Taken {
    /// A column, converted to a kind if one is given.
    Column(usize, Option<Kind>),
    /// A label of the head, as text.
    Label(Arc<str>),
    /// Always null.
    Nothing,
}

/// Folds the rows of each head and window. Rows without a value are left out.
#[derive(Clone, Debug)]
pub struct Reduce {
    /// Whose rows.
    pub input: Rows,
    /// How rows become few.
    pub function: Reducer,
    /// Heads and windows.
    pub layout: Arc<Layout>,
}

/// How the rows of a window become one or few.
#[derive(Clone, Debug, PartialEq)]
pub enum Reducer {
    /// How many.
    Count,
    /// Σx; integers wrap around.
    Sum,
    /// Σx / n as a float; the sum of integers wraps around.
    Mean,
    /// Σx; where integers are too small for it, a float.
    WideSum,
    /// Σx / n as a float, in which nothing wraps around.
    WideMean,
    /// The row with the smallest value, the earliest of several.
    Min,
    /// The row with the largest value, the earliest of several.
    Max,
    /// The earliest row; of several the largest value.
    First,
    /// The latest row; of several the largest value.
    Last,
    /// The middle value, or the mean of the two in the middle.
    Median,
    /// The most frequent value; of several the one that came first.
    Mode,
    /// Sample standard deviation; null of one value.
    Deviation,
    /// Largest minus smallest.
    Spread,
    /// The row at the nearest rank of this percentage.
    Percentile(f64),
    /// Each value once, in order.
    Distinct,
    /// So many rows at random.
    Sample(u64),
    /// The rows with the largest values.
    Top {
        /// How many.
        count: u64,
    },
    /// The rows with the smallest values.
    Bottom {
        /// How many.
        count: u64,
    },
    /// The area under the line through the values, per this many nanoseconds.
    Integral {
        /// Unit of time.
        unit_ns: i64,
    },
    /// Values that a model of trend and season expects after the last one.
    Forecast(Forecast),
}

/// Rows for windows that have none.
#[derive(Clone, Debug)]
pub struct Fill {
    /// Whose rows; stamped with the starts of windows.
    pub input: Rows,
    /// What such rows hold.
    pub with: Filling,
    /// Windows and range.
    pub layout: Arc<Layout>,
    /// How many values rows carry along.
    pub carried: usize,
    /// The kind of the values.
    pub kind: Kind,
}

/// What a row for an empty window holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Filling {
    /// Nothing.
    Null,
    /// This, converted to the kind of the values.
    Value(Item),
    /// The value of the window before.
    Previous,
    /// The value on the line between the neighbours.
    Linear,
}
