//! Folds rows of a window into one or few.
//!
//! The rows of one head of the answer and one window are read together; inside them, each head of
//! its own is folded by itself, and what comes out is put in order.

use super::grid::Grid;
use super::reducers::{Folding, Out};
use super::row::{Head, Reducing, Row, is_same};
use super::strip::{Peeking, RowByRow, Stream};
use crate::Error;
use crate::limits::{Charge, Meter, Turns};
use foliot_plan::rows::{Layout, Reducer};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Folded rows.
pub(super) struct Reduced<'q> {
    input: Peeking<'q>,
    function: &'q Reducer,
    /// Whether all rows count as those of one series.
    are_of_one: bool,
    layout: &'q Layout,
    grid: Grid,
    heads: Reducing,
    ready: VecDeque<Row>,
    meter: &'q Meter,
    /// Windows that were read, also those that hold nothing.
    turns: Turns,
    charge: Charge<'q>,
}

/// The head of a window's rows, and its start and the start of the next one.
type Opening = (Arc<Head>, (i64, i64));

impl<'q> Reduced<'q> {
    pub(super) fn new(
        input: Box<dyn Stream + 'q>,
        (function, are_of_one): (&'q Reducer, bool),
        layout: &'q Layout,
        meter: &'q Meter,
    ) -> Result<Self, Error> {
        Ok(Self {
            input: Peeking::new(input, meter),
            function,
            are_of_one,
            layout,
            grid: Grid::new(layout)?,
            heads: Reducing::new(layout.group_by.clone()),
            ready: VecDeque::new(),
            meter,
            turns: Turns::default(),
            charge: meter.open(),
        })
    }

    /// Reads and folds the next window; false at the end.
    fn fold_window(&mut self) -> Result<bool, Error> {
        self.turns.turn(self.meter)?;
        let Some((first, window)) = self.first_in_window()? else { return Ok(false) };
        let mut folds: Vec<(Arc<Head>, Folding<'q>)> = Vec::new();
        let mut places: HashMap<*const Head, usize> = HashMap::new();
        let (mut count, mut bytes) = (0u64, 0usize);
        while let Some(row) = self.input.peek()? {
            // The first row is in whatever its window is: it would be looked at for ever.
            let is_first = folds.is_empty();
            let is_in = is_first || row.time_ns() >= window.0 && row.time_ns() < window.1;
            let has_head = is_same(row.head(), &first)
                || row.head().compare(&first, &self.layout.order_by).is_eq();
            if !is_in || !has_head {
                break;
            }
            let Some(row) = self.input.next()? else { break };
            if row.value.is_null() {
                continue;
            }
            let head = self.heads.of(&row.head);
            let at = match places.get(&Arc::as_ptr(&head)) {
                Some(at) => *at,
                None => {
                    let known = folds.iter().position(|(found, _)| *found == head);
                    let at = known.unwrap_or(folds.len());
                    places.insert(Arc::as_ptr(&head), at);
                    if known.is_none() {
                        folds.push((head, Folding::new(self.function, self.are_of_one)));
                    }
                    at
                }
            };
            if let Some((_, fold)) = folds.get_mut(at) {
                bytes += fold.add(row)?;
            }
            count += 1;
            if count % 1024 == 0 {
                self.meter.check(0)?;
                self.charge.resize(bytes)?;
            }
        }
        self.emit(folds, window.0)?;
        self.charge.resize(self.ready.len() * size_of::<Row>())?;
        Ok(true)
    }

    /// The head and window of the next row that has a value.
    fn first_in_window(&mut self) -> Result<Option<Opening>, Error> {
        while let Some(row) = self.input.peek()? {
            if !row.value().is_null() {
                return Ok(Some((row.head().clone(), self.grid.window(row.time_ns()))));
            }
            self.input.skip(1);
        }
        Ok(None)
    }

    fn emit(
        &mut self,
        mut folds: Vec<(Arc<Head>, Folding<'q>)>,
        start_ns: i64,
    ) -> Result<(), Error> {
        let names = &self.layout.group_by;
        folds.sort_by(|(a, _), (b, _)| a.compare(b, names));
        for (head, fold) in folds {
            let mut outs = fold.finish(self.meter)?;
            if self.layout.ordered {
                // Each head's by themselves, also where windows come in descending order.
                outs.sort_by_key(|out| out.time_ns.unwrap_or(start_ns));
            }
            self.ready.extend(outs.into_iter().map(|Out { time_ns, value, carried }| Row {
                head: head.clone(),
                time_ns: time_ns.unwrap_or(start_ns),
                value,
                carried,
            }));
        }
        Ok(())
    }
}

impl RowByRow for Reduced<'_> {
    fn next_row(&mut self) -> Result<Option<Row>, Error> {
        loop {
            if let Some(row) = self.ready.pop_front() {
                return Ok(Some(row));
            }
            if !self.fold_window()? {
                return Ok(None);
            }
        }
    }
}
