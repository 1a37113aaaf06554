//! Carries out relations: streams of strips of columns, one operator over another.
//!
//! What operators do stands in [`foliot_plan::relation`]. Leaves are rows of the row algebra
//! without their heads; what a strip holds while it is under way is small, and what operators keep
//! of it (groups, rows to sort) is charged.

mod append;
mod beside;
mod effort;
mod filter;
mod formula;
mod group;
mod instant;
mod limit;
mod sort;
mod strip;
mod subset;
mod text;

use crate::limits::{Meter, Turns};
use crate::pieces::{OnTable, Printing};
use crate::rows::{Context, Leaf};
use crate::source::Source;
use crate::steps::Step;
use crate::{Error, Query, Ran};
use foliot_model::{Column, TableHead};
use foliot_plan::relation::{Answer, Relation};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use strip::{Stream, Strip};

/// See [`crate::answer`].
pub(crate) fn answer(
    query: &Query<'_>,
    plan: &Answer,
    on_table: OnTable<'_>,
) -> Result<Ran, Error> {
    let meter = query.meter.of_run();
    let selected = AtomicU64::new(0);
    let source = Source::Snapshot(query.snapshot);
    let context = Context { source, meter: &meter, selected: &selected, depth: 0 };
    meter.check(0)?;
    let mut ran = Ran::default();
    let (name, labels, columns) = ("".into(), Vec::new(), plan.names.clone());
    let head = Arc::new(TableHead { name, labels, columns });
    let mut rows = open(&plan.relation, context)?;
    let mut turns = Turns::default();
    let mut printing = Printing::new(&meter, on_table);
    let mut is_wanted = true;
    while is_wanted && let Some(strip) = rows.next()? {
        turns.turn(&meter)?;
        ran.samples_answered += strip.rows as u64;
        is_wanted = printing.print(&head, strip.columns, strip.rows, false)?.is_continue();
    }
    if is_wanted {
        let none = plan.names.iter().map(|_| Column::default()).collect();
        // A break says that nobody reads any more, which is where this ends anyway.
        let _ = printing.print(&head, none, 0, true)?;
    }
    drop(printing);
    drop(rows);
    ran.series = u64::from(ran.samples_answered > 0);
    ran.series_selected = selected.load(Ordering::Relaxed);
    ran.samples_scanned = meter.samples();
    ran.memory_peak_bytes = meter.memory_peak_bytes();
    Ok(ran)
}

/// Opens an operator, which is a step where somebody wants to know what it takes.
fn open<'q>(relation: &'q Relation, context: Context<'q>) -> Result<Box<dyn Stream + 'q>, Error> {
    let Context { meter, depth, .. } = context;
    let Some(step) = meter.begin_rows(depth, || relation.told())? else {
        return opened(relation, context);
    };
    let within = Context { depth: depth + 1, ..context };
    let input = step.time(|| opened(relation, within))?;
    // What folds read, they count by steps of their own.
    let reads = matches!(relation, Relation::Stored(_));
    Ok(Box::new(Measured { input, step, reads, meter }))
}

fn opened<'q>(relation: &'q Relation, context: Context<'q>) -> Result<Box<dyn Stream + 'q>, Error> {
    let meter = context.meter;
    Ok(match relation {
        Relation::Listed { columns, rows } => Box::new(strip::Listed::new(*columns, rows)),
        Relation::Stored(scan) => {
            let leaf = Leaf::stored(scan, context);
            Box::new(strip::OfLeaf { leaf, turns: Turns::default(), meter })
        }
        Relation::Selected(of) => {
            let leaf = Leaf::selected(of, context)?;
            Box::new(strip::OfLeaf { leaf, turns: Turns::default(), meter })
        }
        Relation::Filtered { input, condition } => {
            let input = open(input, context)?;
            Box::new(filter::Filtered::new(input, condition, meter))
        }
        Relation::Calculated { input, columns } => {
            let input = open(input, context)?;
            Box::new(filter::Calculated::new(input, columns, meter))
        }
        Relation::Grouped(of) if of.folds.is_empty() && !of.keys.is_empty() => {
            Box::new(group::Distinct::new(open(&of.input, context)?, &of.keys, meter))
        }
        Relation::Grouped(of) => {
            let input = open(&of.input, context)?;
            Box::new(group::Grouped::new(input, of, meter))
        }
        Relation::Appended(inputs) => Box::new(append::Appended::new(inputs, context)),
        Relation::Windowed(of) => {
            let input = open(&of.input, context)?;
            Box::new(beside::Windowed::new(input, of, meter))
        }
        Relation::Sorted { input, by, wanted } => {
            let input = open(input, context)?;
            Box::new(sort::Sorted::new(input, by, *wanted, meter))
        }
        Relation::Limited { input, offset, limit } => {
            let input = open(input, context)?;
            Box::new(limit::Limited::new(input, *offset, *limit, meter))
        }
    })
}

/// Rows of which somebody wants to know what they take.
struct Measured<'q> {
    input: Box<dyn Stream + 'q>,
    step: Arc<Step>,
    /// Whether it reads what is stored by itself.
    reads: bool,
    meter: &'q Meter,
}

impl Stream for Measured<'_> {
    fn next(&mut self) -> Result<Option<Strip>, Error> {
        let before = self.meter.samples();
        let strip = self.step.time(|| self.input.next());
        if self.reads {
            self.step.add_samples(self.meter.samples() - before);
        }
        strip.iter().flatten().for_each(|strip| self.step.add_rows(strip.rows as u64));
        strip
    }
}

#[cfg(test)]
mod tests;
