//! What is asked of Foliot, free of any language and of how it is carried out.
//!
//! A door turns its text into a plan; `exec` carries it out over a snapshot. There are four roots:
//! [`Series`], [`rows::Select`], [`relation::Answer`], and names ([`rows::NameTable`],
//! [`Listing`]). Changes are not plans, doors ask the engine for them. The algebra is closed: a
//! language that needs something new adds an operator instead of an optional field on a neighbour's
//! operator. Whatever languages disagree on (interpolation, lookback, window edges, bucket origin,
//! integer arithmetic) is an explicit parameter, so that no operator has to know which language
//! asked.

mod catalog;
mod counted;
mod each;
mod fold;
pub mod grid;
mod joined;
pub mod relation;
pub mod rows;
mod series;
mod told;
mod window;

pub use catalog::{Listing, What};
pub use counted::Counted;
pub use each::{Each, Function, Named, Ranked, Span};
pub use fold::{Fold, Quantile};
pub use joined::{Input, Joined, Step, Term};
pub use series::{Aggregate, Arithmetic, Gap, Grouping, Quotient, Rate, Reset, Series};
pub use told::Told;
pub use window::{Calendar, Fill, Window, Windows};
