//! What is asked of Foliot, free of any language and of how it is carried out.
//!
//! A door turns its text into a [`Plan`]; `exec` carries it out over a snapshot. There are three
//! roots; changes are not plans, doors ask the engine for them. The algebra is closed: a language
//! that needs something new adds an operator instead of an optional field on a neighbour's
//! operator. Whatever languages disagree on (interpolation, lookback, window edges, bucket origin,
//! integer arithmetic) is an explicit parameter, so that no operator has to know which language
//! asked.

mod catalog;
mod fold;
pub mod rows;
mod series;
mod window;

pub use catalog::{Listing, What};
pub use fold::{Fold, Quantile};
pub use series::{Aggregate, Arithmetic, Gap, Grouping, Pick, Quotient, Rate, Reset, Series};
pub use window::{Calendar, Edges, Fill, Stamp, Window, Windows};

/// One question.
#[derive(Clone, Debug)]
pub enum Plan {
    /// Series algebra: OpenTSDB, InfluxQL windows, PromQL. One entry per question of the request.
    Series(Vec<Series>),
    /// Row algebra: InfluxQL selections, SQL.
    Rows(Box<rows::Select>),
    /// A listing of names: SHOW, suggest, lookup, labels.
    Catalog(Listing),
}
