//! Carries out the row algebra: a chain of streams of rows per input, joined into tables.
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
mod sources;
mod transform;

use crate::limits::Meter;
use crate::source::Source;
use crate::steps::{Step, Steps};
use crate::{Error, Query, Ran};
use foliot_model::{Item, Table, TableHead};
use foliot_plan::Told;
use foliot_plan::rows::{Reducer, Rows, Select};
use grid::Grid;
use join::{Joined, Within};
use quick::Readings;
use row::{Head, Row, Stream, is_same};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows of one piece of a table, unless they are very wide.
const TABLE_ROWS: usize = 1024;
/// Items of one piece of a table.
const TABLE_ITEMS: usize = 16 << 10;

/// Receives tables; says whether it wants more.
pub(crate) type OnTable<'a> = &'a mut dyn FnMut(Table) -> ControlFlow<()>;

/// What streams of one query share.
#[derive(Clone, Copy)]
struct Context<'q> {
    source: Source<'q>,
    meter: &'q Meter,
    /// Sources selected.
    selected: &'q AtomicU64,
    /// In how many steps this one stands.
    depth: usize,
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
    let step = meter.begin(0, told)?;
    let depth = usize::from(step.is_some());
    let context = Context { source, meter: &meter, selected: &selected, depth };
    meter.check(0)?;
    let mut rows = timed(&step, || Joined::new(plan, context))?;
    let mut pieces = Pieces { columns, open: None, ran: &mut ran };
    let mut charge = meter.open();
    while timed(&step, || rows.next())?.is_some() {
        let Some(head) = &rows.head else { break };
        if pieces.add(head, &mut rows.columns, on_table).is_break() {
            break;
        }
        if pieces.is_new() {
            charge.resize(TABLE_ITEMS * size_of::<Item>())?;
            meter.check(0)?;
        }
    }
    // A break says that nobody reads any more, which is where this ends anyway.
    let _ = pieces.finish(on_table);
    drop(rows);
    step.iter().for_each(|step| step.add_series(ran.series));
    ran.series_selected = selected.load(Ordering::Relaxed);
    ran.samples_scanned = meter.samples();
    ran.memory_peak_bytes = meter.memory_peak_bytes();
    Ok(ran)
}

/// Cuts rows into pieces of tables.
struct Pieces<'a> {
    columns: Arc<[Arc<str>]>,
    open: Option<(Arc<Head>, Arc<TableHead>, Vec<Item>)>,
    ran: &'a mut Ran,
}

impl Pieces<'_> {
    fn add(
        &mut self,
        of: &Arc<Head>,
        row: &mut Vec<Item>,
        on_table: OnTable<'_>,
    ) -> ControlFlow<()> {
        self.ran.samples_answered += 1;
        let is_full = |items: &Vec<Item>| {
            items.len() >= TABLE_ITEMS || items.len() >= TABLE_ROWS * self.columns.len()
        };
        let same = self.open.as_ref().is_some_and(|(head, ..)| is_same(head, of));
        if !same {
            self.close(true, on_table)?;
            let (name, labels) = (of.measurement.clone(), of.labels.clone());
            let head = TableHead { name, labels, columns: self.columns.clone() };
            self.open = Some((of.clone(), Arc::new(head), Vec::new()));
            self.ran.series += 1;
        } else if self.open.as_ref().is_some_and(|(_, _, items)| is_full(items)) {
            self.close(false, on_table)?;
        }
        if let Some((_, _, items)) = &mut self.open {
            items.append(row);
        }
        ControlFlow::Continue(())
    }

    /// Whether a piece was just begun.
    fn is_new(&self) -> bool {
        self.open.as_ref().is_some_and(|(_, _, items)| items.len() <= self.columns.len())
    }

    fn close(&mut self, is_last: bool, on_table: OnTable<'_>) -> ControlFlow<()> {
        let Some((_, head, items)) = &mut self.open else { return ControlFlow::Continue(()) };
        // The next piece will be as long.
        let next = Vec::with_capacity(if is_last { 0 } else { items.len() });
        let items = std::mem::replace(items, next);
        let head = head.clone();
        on_table(Table { head, items, is_last })
    }

    fn finish(mut self, on_table: OnTable<'_>) -> ControlFlow<()> {
        self.close(true, on_table)
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
    let Some(step) = meter.begin(depth, || rows.told())? else {
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
    fn next(&mut self) -> Result<Option<Row>, Error> {
        let before = self.meter.samples();
        let row = self.step.time(|| self.input.next())?;
        if self.reads {
            self.step.add_samples(self.meter.samples() - before);
        }
        if let Some(row) = &row
            && !self.head.as_ref().is_some_and(|head| is_same(head, &row.head))
        {
            self.head = Some(row.head.clone());
            self.step.add_series(1);
        }
        Ok(row)
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
        Rows::Merge { inputs, layout } => {
            let inputs: Result<Vec<_>, _> =
                inputs.iter().map(|input| open(input, None, readings, context)).collect();
            Box::new(merge::Merge::new(inputs?, layout)?)
        }
        Rows::Reduce(reduce) => {
            if let Some(quick) = quick::Quick::new(reduce, (wanted, false), readings, context)? {
                return Ok(Box::new(quick));
            }
            let input = open(&reduce.input, None, readings, context)?;
            match &reduce.function {
                Reducer::Integral { unit_ns } => {
                    Box::new(integral::Integral::new(input, *unit_ns, &reduce.layout)?)
                }
                function => Box::new(reduce::Reduced::new(input, function, &reduce.layout, meter)?),
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
            Box::new(fill::Filled::new(input, plan, Grid::new(&plan.layout)?, meter)?)
        }
        Rows::Transform { input, function, layout } => {
            let input = open(input, None, readings, context)?;
            Box::new(transform::Transformed::new(input, function, layout, meter))
        }
        Rows::Limit { input, offset, limit } => {
            let wanted = limit.map(|limit| limit.saturating_add(*offset));
            let ends = has_one_head(input);
            let input = open(input, wanted, readings, context)?;
            Box::new(Limited { input, offset: *offset, limit: *limit, ends, counted: None })
        }
    })
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
}

impl Stream for Limited<'_> {
    fn next(&mut self) -> Result<Option<Row>, Error> {
        loop {
            let counted = self.counted.as_ref().map_or(0, |(_, count)| *count);
            let is_full = |limit: u64| counted >= self.offset.saturating_add(limit);
            if self.ends && self.limit.is_some_and(is_full) {
                return Ok(None);
            }
            let Some(row) = self.input.next()? else { return Ok(None) };
            match &mut self.counted {
                Some((head, count)) if is_same(head, &row.head) => *count += 1,
                counted => *counted = Some((row.head.clone(), 1)),
            }
            let count = self.counted.as_ref().map_or(0, |(_, count)| *count);
            let is_in = self.limit.is_none_or(|limit| count - self.offset.min(count) <= limit);
            if count > self.offset && is_in {
                return Ok(Some(row));
            }
        }
    }
}
