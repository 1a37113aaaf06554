//! Carries out the row algebra: a chain of streams of rows per input, in strips of columns, joined
//! into tables.
//!
//! ```text
//! select -> join -> [ limit -> fill -> stamp -> reduce -> merge -> scan | nested ] -> table
//! ```
//!
//! What operators do stands in [`foliot_plan::rows`]. Where a plan folds stored series by functions
//! that need no order, `quick` folds runs of samples instead of rows.

mod calculate;
mod fill;
mod forecast;
mod grid;
mod heap;
mod integral;
mod join;
mod leaf;
mod matchers;
mod merge;
pub(crate) mod names;
mod quick;
mod reduce;
mod reducers;
mod row;
mod scan;
pub(crate) mod shapes;
mod sieve;
mod slice;
mod smooth;
mod sorted;
mod sources;
mod strip;
mod transform;

use crate::limits::{Meter, Turns};
use crate::pieces::{OnTable, Printing, rows_of};
use crate::source::Source;
use crate::steps::{Step, Steps};
use crate::{Error, Query, Ran};
pub(crate) use calculate::math;
use foliot_engine::Run;
use foliot_model::{Column, TableHead};
use foliot_plan::Told;
use foliot_plan::rows::{Layout, Reducer, Rows, Scan, Select};
use grid::Grid;
use join::{Joined, Piece, Within};
pub(crate) use leaf::Leaf;
use quick::Readings;
use row::{Head, is_same};
pub(crate) use sorted::sorted;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use strip::{Gathered, Stream, Strip};

/// What streams of one query share.
#[derive(Clone, Copy)]
pub(crate) struct Context<'q> {
    pub(crate) source: Source<'q>,
    pub(crate) meter: &'q Meter,
    /// Sources selected.
    pub(crate) selected: &'q AtomicU64,
    /// In how many steps this one stands.
    pub(crate) depth: usize,
}

impl Context<'_> {
    fn count(&self, sources: usize) {
        self.selected.fetch_add(sources as u64, Ordering::Relaxed);
    }
}

/// See [`crate::select`].
pub(crate) fn select(
    query: &Query<'_>,
    plan: &Select,
    on_table: OnTable<'_>,
) -> Result<Ran, Error> {
    let meter = query.meter.of_run();
    let selected = AtomicU64::new(0);
    let source = Source::Snapshot(query.snapshot);
    let mut ran = Ran::default();
    let columns: Arc<[Arc<str>]> = plan.columns.iter().map(|column| column.name.clone()).collect();
    let told = || Told::new("columns", columns.get(1..).unwrap_or_default().join(", "));
    let step = meter.begin_rows(0, told)?;
    let depth = usize::from(step.is_some());
    let context = Context { source, meter: &meter, selected: &selected, depth };
    meter.check(0)?;
    let mut rows = timed(&step, || Joined::new(plan, context))?;
    let printing = Printing::new(&meter, on_table);
    let mut pieces = Pieces { columns, open: None, printing, ran: &mut ran };
    while let Some((piece, _)) = timed(&step, || rows.next())? {
        let (more, series) = (piece.rows as u64, pieces.ran.series);
        let wants_more = pieces.add(piece)?;
        if let Some(step) = &step {
            step.add_rows(more);
            step.add_series(pieces.ran.series - series);
        }
        if wants_more.is_break() {
            break;
        }
        if pieces.is_new() {
            meter.check(0)?;
        }
    }
    // A break says that nobody reads any more, which is where this ends anyway.
    let _ = pieces.finish()?;
    drop(rows);
    ran.series_selected = selected.load(Ordering::Relaxed);
    ran.samples_scanned = meter.samples();
    ran.memory_peak_bytes = meter.memory_peak_bytes();
    Ok(ran)
}

/// See [`crate::selects`].
pub(crate) fn selects(query: &Query<'_>, scan: &Scan) -> Result<bool, Error> {
    let source = Source::Snapshot(query.snapshot);
    let (mut runs, mut run) = (source.runs(scan.layout.range, &query.meter)?, Run::default());
    for sid in sources::select(scan, source, &query.meter)?.sids {
        runs.turn(sid)?;
        loop {
            if runs.peek().is_some() {
                return Ok(true);
            }
            if !runs.next(&mut run)? {
                break;
            }
            if !run.is_empty() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Puts rows together to pieces of tables.
struct Pieces<'q, 'a> {
    columns: Arc<[Arc<str>]>,
    open: Option<Open>,
    printing: Printing<'q, 'a>,
    ran: &'a mut Ran,
}

/// A piece of a table that more rows may come to.
struct Open {
    of: Arc<Head>,
    head: Arc<TableHead>,
    columns: Vec<Column>,
    rows: usize,
    /// Whether no row came since the piece began.
    is_new: bool,
}

impl Pieces<'_, '_> {
    fn add(&mut self, piece: Piece) -> Result<ControlFlow<()>, Error> {
        let Piece { head: of, columns, rows } = piece;
        self.ran.samples_answered += rows as u64;
        let rows_max = rows_of(self.columns.len());
        let closed = match &self.open {
            Some(open) if !is_same(&open.of, &of) => self.close(true)?,
            Some(open) if open.rows > 0 && open.rows + rows > rows_max => self.close(false)?,
            _ => ControlFlow::Continue(()),
        };
        if closed.is_break() {
            return Ok(closed);
        }
        match &mut self.open {
            Some(open) if is_same(&open.of, &of) => {
                open.columns.iter_mut().zip(columns).for_each(|(own, more)| own.append(more));
                open.is_new = open.rows == 0;
                open.rows += rows;
            }
            _ => {
                let (name, labels) = (of.measurement.clone(), of.labels.clone());
                let head = TableHead { name, labels, columns: self.columns.clone() };
                self.open = Some(Open { of, head: Arc::new(head), columns, rows, is_new: true });
                self.ran.series += 1;
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Whether a piece was just begun.
    fn is_new(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.is_new)
    }

    fn close(&mut self, is_last: bool) -> Result<ControlFlow<()>, Error> {
        let Some(open) = &mut self.open else { return Ok(ControlFlow::Continue(())) };
        let next = open.columns.iter().map(|_| Column::default()).collect();
        let columns = std::mem::replace(&mut open.columns, next);
        let rows = std::mem::take(&mut open.rows);
        self.printing.print(&open.head, columns, rows, is_last)
    }

    fn finish(mut self) -> Result<ControlFlow<()>, Error> {
        self.close(true)
    }
}

/// Opens an operator, whose rows are a step where somebody wants to know what it takes. Its rows of
/// a head beyond `wanted` may be missing.
fn open<'q>(
    rows: &'q Rows,
    wanted: Option<u64>,
    readings: &Readings<'q>,
    context: Context<'q>,
) -> Result<Box<dyn Stream + 'q>, Error> {
    let Context { meter, depth, .. } = context;
    let Some(step) = meter.begin_rows(depth, || rows.told())? else {
        return opened(rows, wanted, readings, context);
    };
    let begun = meter.steps().map_or(0, Steps::len);
    let within = Context { depth: depth + 1, ..context };
    let input = step.time(|| opened(rows, wanted, readings, within))?;
    // What has no other step in it reads by itself.
    let reads = meter.steps().is_some_and(|steps| steps.len() == begun);
    Ok(Box::new(Measured { input, step, reads, meter, head: None }))
}

fn timed<T>(step: &Option<Arc<Step>>, work: impl FnOnce() -> T) -> T {
    match step {
        Some(step) => step.time(work),
        None => work(),
    }
}

/// Rows of which somebody wants to know what they take.
struct Measured<'q> {
    input: Box<dyn Stream + 'q>,
    step: Arc<Step>,
    reads: bool,
    meter: &'q Meter,
    head: Option<Arc<Head>>,
}

impl Stream for Measured<'_> {
    fn next(&mut self) -> Result<Option<Strip>, Error> {
        let before = self.meter.samples();
        let strip = self.step.time(|| self.input.next());
        if self.reads {
            self.step.add_samples(self.meter.samples() - before);
        }
        for strip in strip.iter().flatten() {
            self.step.add_rows(strip.len() as u64);
            if !self.head.as_ref().is_some_and(|head| is_same(head, &strip.head)) {
                self.head = Some(strip.head.clone());
                self.step.add_series(1);
            }
        }
        strip
    }
}

fn opened<'q>(
    rows: &'q Rows,
    wanted: Option<u64>,
    readings: &Readings<'q>,
    context: Context<'q>,
) -> Result<Box<dyn Stream + 'q>, Error> {
    let meter = context.meter;
    Ok(match rows {
        Rows::Scan(scan) => Box::new(scan::Scanned::new(scan, context)),
        Rows::Nested(nested) => Box::new(Within::new(nested, context)?),
        Rows::Merge { inputs, layout } => merged((inputs, layout), wanted, readings, context)?,
        Rows::Reduce(reduce) => {
            if let Some(quick) = quick::Quick::new(reduce, (wanted, false), readings, context)? {
                return Ok(Box::new(quick));
            }
            let input = open(&reduce.input, None, readings, context)?;
            match &reduce.function {
                Reducer::Integral { unit_ns } => {
                    let rows = integral::Integral::new(input, *unit_ns, &reduce.layout, meter)?;
                    Box::new(Gathered::new(rows))
                }
                function => {
                    let are_of_one = has_nested(&reduce.input);
                    let function = (function, are_of_one);
                    let rows = reduce::Reduced::new(input, function, &reduce.layout, meter)?;
                    Box::new(Gathered::new(rows))
                }
            }
        }
        Rows::Stamp { input, layout } => {
            if let Rows::Reduce(reduce) = &**input
                && reduce.layout == *layout
                && let Some(quick) = quick::Quick::new(reduce, (wanted, true), readings, context)?
            {
                return Ok(Box::new(quick));
            }
            // It is the same step.
            let input = opened(input, wanted, readings, context)?;
            Box::new(fill::Stamped::new(input, Grid::new(layout)?))
        }
        // Of so many windows none comes behind as many rows: what fills them is known.
        Rows::Fill(plan) => {
            let input = open(&plan.input, wanted, readings, context)?;
            let grid = Grid::new(&plan.layout)?;
            Box::new(fill::Filled::new(input, (plan, grid), wanted, meter)?)
        }
        Rows::Transform { input, function, layout } => {
            let input = open(input, None, readings, context)?;
            let rows = transform::Transformed::new(input, function, layout, meter);
            Box::new(Gathered::new(rows))
        }
        Rows::Limit { input, offset, limit } => {
            let wanted = limit.map(|limit| limit.saturating_add(*offset));
            let ends = has_one_head(input);
            let input = open(input, wanted, readings, context)?;
            let (offset, limit, turns) = (*offset, *limit, Turns::default());
            Box::new(Limited { input, offset, limit, ends, counted: None, meter, turns })
        }
    })
}

/// The rows of several inputs.
fn merged<'q>(
    (inputs, layout): (&'q [Rows], &'q Layout),
    wanted: Option<u64>,
    readings: &Readings<'q>,
    context: Context<'q>,
) -> Result<Box<dyn Stream + 'q>, Error> {
    let mut inputs: Vec<&Rows> = inputs.iter().collect();
    let are_apart = Rows::are_apart(inputs.iter().copied());
    if are_apart {
        inputs.sort_unstable_by_key(|input| input.measurement());
        if layout.descending {
            inputs.reverse();
        }
    }
    // Of equal heads each input may have too few rows for all of them.
    let wanted = wanted.filter(|_| are_apart);
    let opened = inputs.into_iter().map(|input| open(input, wanted, readings, context));
    let opened = opened.collect::<Result<Vec<_>, _>>()?;
    Ok(match are_apart {
        true => Box::new(merge::InTurn::new(opened)),
        false => Box::new(Gathered::new(merge::Merge::new(opened, layout, context.meter)?)),
    })
}

/// Whether rows of other selections are among them.
fn has_nested(rows: &Rows) -> bool {
    match rows {
        Rows::Scan(_) => false,
        Rows::Nested(_) => true,
        Rows::Merge { inputs, .. } => inputs.iter().any(has_nested),
        Rows::Reduce(reduce) => has_nested(&reduce.input),
        Rows::Fill(fill) => has_nested(&fill.input),
        Rows::Stamp { input, .. } | Rows::Transform { input, .. } | Rows::Limit { input, .. } => {
            has_nested(input)
        }
    }
}

/// Whether all rows are sure to have the same head.
fn has_one_head(rows: &Rows) -> bool {
    match rows {
        Rows::Scan(scan) => scan.layout.group_by.is_empty(),
        Rows::Reduce(reduce) => has_one_head(&reduce.input),
        Rows::Fill(fill) => has_one_head(&fill.input),
        Rows::Stamp { input, .. } | Rows::Transform { input, .. } | Rows::Limit { input, .. } => {
            has_one_head(input)
        }
        Rows::Nested(nested) => match &*nested.select.inputs {
            [only] => has_one_head(&only.rows),
            _ => false,
        },
        // Those of several measurements have several.
        Rows::Merge { .. } => false,
    }
}

/// Some rows of each head.
struct Limited<'q> {
    input: Box<dyn Stream + 'q>,
    offset: u64,
    limit: Option<u64>,
    /// Whether no other head follows the first one: then nothing is read behind its last row.
    ends: bool,
    counted: Option<(Arc<Head>, u64)>,
    meter: &'q Meter,
    /// Strips that were read, also those of which nothing is wanted.
    turns: Turns,
}

impl Stream for Limited<'_> {
    fn next(&mut self) -> Result<Option<Strip>, Error> {
        loop {
            let counted = self.counted.as_ref().map_or(0, |(_, count)| *count);
            let end = self.limit.map(|limit| limit.saturating_add(self.offset));
            if self.ends && end.is_some_and(|end| counted >= end) {
                return Ok(None);
            }
            self.turns.turn(self.meter)?;
            let Some(strip) = self.input.next()? else { return Ok(None) };
            let rows = strip.len() as u64;
            let before = match &mut self.counted {
                Some((head, count)) if is_same(head, &strip.head) => {
                    let before = *count;
                    *count += rows;
                    before
                }
                counted => {
                    *counted = Some((strip.head.clone(), rows));
                    0
                }
            };
            let from = self.offset.saturating_sub(before).min(rows) as usize;
            let to = end.map_or(rows, |end| end.saturating_sub(before).min(rows)) as usize;
            match (from, to) {
                (0, to) if to == strip.len() => return Ok(Some(strip)),
                (from, to) if from < to => return Ok(Some(strip.cut(from..to))),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
