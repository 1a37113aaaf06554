//! Carries out plans over snapshots: parallel, in runs of values, bounded.
//!
//! A plan is laid over the snapshot as sets of series (`set`, `group`); each series is a chain of
//! operators that hand each other chunks of at most 1024 samples (`stream`, and a file per
//! operator); results go out as frames of at most 4096 samples, in order, while the query runs
//! (`run`). Every buffer is charged to the query's budget before it is allocated, and limits,
//! deadline and cancellation are looked at once per chunk (`limits`).
//!
//! ```text
//! plan -> set -> group -> [ stream: scan -> window -> rate -> .. ] -> merge or slots -> frame
//! ```
//!
//! What this room does not know: any query language or protocol, and how samples are stored. Names
//! of operators and parameters are those of the plan, whose documentation says what they mean.
//!
//! ```
//! use foliot_engine::Snapshot;
//! use foliot_exec::{Cancel, Error, Limits, Meter, Query};
//! use foliot_plan::Series;
//! use std::ops::ControlFlow;
//!
//! fn count_samples(snapshot: &Snapshot, plans: &[Series]) -> Result<usize, Error> {
//!     let meter = Meter::new(Limits::default(), Cancel::default());
//!     let query = Query { snapshot, meter };
//!     let mut count = 0;
//!     foliot_exec::run(&query, plans, &mut |frame| {
//!         count += frame.samples.len();
//!         ControlFlow::Continue(())
//!     })?;
//!     Ok(count)
//! }
//! ```

mod asked;
mod catalogue;
mod clip;
mod counted;
mod each;
mod error;
mod fold;
mod gap;
mod grids;
mod group;
mod heads;
mod joined;
mod kept;
mod kernels;
mod limits;
mod merge;
mod number;
mod pieces;
mod quotient;
mod rate;
mod relation;
mod rows;
mod run;
mod set;
mod slots;
mod source;
mod steps;
mod stream;
#[cfg(test)]
mod tests;
mod window;

pub use asked::AskedName;
pub use error::Error;
pub use grids::{Gapped, GridRow, Gridded, grid};
pub use limits::{Cancel, Charge, Limits, Meter, SECONDS_LIMIT};
pub use run::Ran;
pub use steps::StepTook;

use foliot_engine::Snapshot;
use foliot_model::{
    Frame, Kind, Labels, NamespaceId, Selector, Table, TableShape, Test, TimeRange,
};
use foliot_plan::relation::Answer;
use foliot_plan::rows::{NameTable, Scan, Select, SourceTest};
use foliot_plan::{Listing, Series, grid};
use source::Source;
use std::ops::ControlFlow;
use std::sync::Arc;

/// What a plan is carried out over, and what it may take.
#[derive(Clone)]
pub struct Query<'a> {
    /// What the query sees.
    pub snapshot: &'a Snapshot,
    /// What it may take, of what the request may.
    pub meter: Meter,
}

/// Answers the questions of a request in order, each series by series in the order that
/// [`foliot_plan::Aggregate`] gives, or else in the order in which series were first seen.
/// `on_frame` is called on the caller's thread and says whether it wants more; while it blocks, the
/// query waits.
///
/// # Errors
/// When a limit is met or the query is cancelled, when the plan has a parameter that makes no
/// sense, and when the store cannot be read. Frames already handed out are then not the whole
/// answer.
pub fn run(
    query: &Query<'_>,
    questions: &[Series],
    on_frame: &mut dyn FnMut(Frame) -> ControlFlow<()>,
) -> Result<Ran, Error> {
    let source = Source::Snapshot(query.snapshot);
    run::run_over(source, questions, &query.meter, on_frame)
}

/// Answers a selection, table by table and row by row in the order the plan asks for. `on_table` is
/// called on the caller's thread and says whether it wants more; while it blocks, the query waits.
///
/// # Errors
/// As [`run`].
pub fn select(
    query: &Query<'_>,
    plan: &Select,
    on_table: &mut dyn FnMut(Table) -> ControlFlow<()>,
) -> Result<Ran, Error> {
    rows::select(query, plan, on_table)
}

/// Answers one table, piece by piece and row by row in the order the plan asks for; the last piece
/// has no rows. `on_table` is called on the caller's thread and says whether it wants more; while
/// it blocks, the query waits.
///
/// # Errors
/// As [`run`], and when a calculation has no result.
pub fn answer(
    query: &Query<'_>,
    plan: &Answer,
    on_table: &mut dyn FnMut(Table) -> ControlFlow<()>,
) -> Result<Ran, Error> {
    relation::answer(query, plan, on_table)
}

/// Whether a scan finds any series that has samples in its range, whatever its condition says of
/// rows.
///
/// # Errors
/// As [`names`].
pub fn selects(query: &Query<'_>, scan: &Scan) -> Result<bool, Error> {
    rows::selects(query, scan)
}

/// Answers tables of names, as [`select`] does.
///
/// # Errors
/// When a limit is met or the query is cancelled, and when the store cannot be read.
pub fn names(
    query: &Query<'_>,
    plan: &NameTable,
    on_table: &mut dyn FnMut(Table) -> ControlFlow<()>,
) -> Result<Ran, Error> {
    rows::names::names(query, plan, on_table)
}

/// The series of all sources that pass a test, ascending.
///
/// # Errors
/// As [`names`].
pub fn series(query: &Query<'_>, test: &SourceTest) -> Result<Vec<u32>, Error> {
    rows::names::series(query, test)
}

/// The measurements of a namespace that pass a test, by name, with those of their fields that pass
/// another, or all of them where none does. `kind_of` tells
/// the kind of a field of a measurement where that is known; else some of its samples are looked
/// at. What they weigh is added to `charge`.
///
/// # Errors
/// As [`names`].
pub fn shapes(
    query: &Query<'_>,
    namespace: NamespaceId,
    (measurements, fields): (&Test, &Test),
    kind_of: &dyn Fn(&str, &str) -> Kind,
    charge: &mut Charge<'_>,
) -> Result<Vec<TableShape>, Error> {
    rows::shapes::shapes(query, namespace, (measurements, fields), kind_of, charge)
}

/// The names of the labels that series of a measurement have, in byte order. What they weigh is
/// added to `charge`.
///
/// # Errors
/// As [`names`].
pub fn labels(
    query: &Query<'_>,
    shape: &TableShape,
    charge: &mut Charge<'_>,
) -> Result<Vec<Arc<str>>, Error> {
    rows::shapes::labels(query, shape, charge)
}

/// The series that any of these select and that may have samples in `range`, ascending. What they
/// weigh is added to `charge`.
///
/// # Errors
/// As [`names`].
pub fn stored(
    query: &Query<'_>,
    series: &[grid::Stored],
    range: TimeRange,
    charge: &mut Charge<'_>,
) -> Result<Vec<u32>, Error> {
    grids::sids(query, series, range, charge)
}

/// The labels of series that may have samples in `range`, the measurement among them, distinct and
/// in order. What they weigh is added to `charge`.
///
/// # Errors
/// As [`names`].
pub fn labelled(
    query: &Query<'_>,
    series: &[grid::Stored],
    range: TimeRange,
    charge: &mut Charge<'_>,
) -> Result<Vec<Labels>, Error> {
    grids::labelled(query, series, range, charge)
}

/// The series that a selector wants and that may have samples in `range`, ascending. What their ids
/// weigh is added to `charge`.
///
/// # Errors
/// As [`names`].
pub fn selected(
    query: &Query<'_>,
    selector: &Selector,
    range: TimeRange,
    charge: &mut Charge<'_>,
) -> Result<Vec<u32>, Error> {
    catalogue::selected(query, selector, range, charge)
}

/// Names in use, distinct and in byte order. What they weigh is added to `charge`.
///
/// # Errors
/// As [`names`].
pub fn listed(
    query: &Query<'_>,
    listing: &Listing,
    charge: &mut Charge<'_>,
) -> Result<Vec<String>, Error> {
    catalogue::listed(query, listing, charge)
}
