//! Rows of several inputs, by head and then by time, or by head and then by window. Inputs that
//! have no head in common follow one another.

use super::grid::Grid;
use super::heap;
use super::row::{Head, Row, is_same};
use super::strip::{Here, Peeking, RowByRow, Stream, Strip, longer};
use crate::Error;
use crate::limits::{Meter, Turns};
use crate::pieces::rows_of;
use foliot_model::{Column, Item};
use foliot_plan::rows::Layout;
use std::cmp::Ordering;
use std::sync::Arc;

/// Rows of inputs that have no head in common, one input after another.
pub(super) struct InTurn<'q> {
    /// The next one last. Those behind it read nothing yet.
    inputs: Vec<Box<dyn Stream + 'q>>,
}

impl<'q> InTurn<'q> {
    /// Of inputs whose heads come in this order.
    pub(super) fn new(mut inputs: Vec<Box<dyn Stream + 'q>>) -> Self {
        inputs.reverse();
        Self { inputs }
    }
}

impl Stream for InTurn<'_> {
    fn next(&mut self) -> Result<Option<Strip>, Error> {
        while let Some(input) = self.inputs.last_mut() {
            if let Some(strip) = input.next()? {
                return Ok(Some(strip));
            }
            self.inputs.pop();
        }
        Ok(None)
    }
}

/// Rows of several inputs.
pub(super) struct Merge<'q> {
    layout: &'q Layout,
    grid: Grid,
    inputs: Vec<Peeking<'q>>,
    /// The input being read, while its rows stay in a window; only where order within does not
    /// matter.
    open: Option<(Peeking<'q>, Row)>,
    window: (i64, i64),
    is_arranged: bool,
    meter: &'q Meter,
    turns: Turns,
}

impl<'q> Merge<'q> {
    pub(super) fn new(
        inputs: Vec<Box<dyn Stream + 'q>>,
        layout: &'q Layout,
        meter: &'q Meter,
    ) -> Result<Self, Error> {
        Ok(Self {
            layout,
            grid: Grid::new(layout)?,
            inputs: inputs.into_iter().map(|input| Peeking::new(input, meter)).collect(),
            open: None,
            window: (0, 0),
            is_arranged: false,
            meter,
            turns: Turns::default(),
        })
    }

    fn arrange(&mut self) -> Result<(), Error> {
        let mut inputs = Vec::with_capacity(self.inputs.len());
        for mut input in self.inputs.drain(..) {
            self.turns.turn(self.meter)?;
            if input.peek()?.is_some() {
                inputs.push(input);
            }
        }
        self.inputs = inputs;
        let (layout, grid) = (self.layout, &self.grid);
        let (meter, turns) = (self.meter, &mut self.turns);
        heap::arrange(&mut self.inputs, &mut |a, b| {
            turns.turn(meter)?;
            before(layout, grid, a, b)
        })?;
        self.is_arranged = true;
        Ok(())
    }

    fn pop(&mut self) -> Result<Option<(Peeking<'q>, Row)>, Error> {
        let (layout, grid) = (self.layout, &self.grid);
        let popped = heap::pop(&mut self.inputs, &mut |a, b| before(layout, grid, a, b))?;
        let Some(mut input) = popped else { return Ok(None) };
        Ok(input.next()?.map(|row| (input, row)))
    }

    fn push(&mut self, mut input: Peeking<'q>) -> Result<(), Error> {
        if input.peek()?.is_none() {
            return Ok(());
        }
        let (layout, grid) = (self.layout, &self.grid);
        heap::push(&mut self.inputs, input, &mut |a, b| before(layout, grid, a, b))
    }

    fn next_by_window(&mut self) -> Result<Option<Row>, Error> {
        if let Some((mut input, first)) = self.open.take() {
            let is_in = input.peek()?.is_some_and(|row| {
                let has_head = is_same(row.head(), &first.head)
                    || row.head().compare(&first.head, &self.layout.order_by).is_eq();
                let is_in_time = match self.layout.descending {
                    false => row.time_ns() < self.window.1,
                    true => row.time_ns() >= self.window.0,
                };
                has_head && is_in_time
            });
            if is_in {
                let row = input.next()?;
                self.open = Some((input, first));
                return Ok(row);
            }
            self.push(input)?;
        }
        let Some((input, row)) = self.pop()? else { return Ok(None) };
        self.window = self.grid.window(row.time_ns);
        let first = Row { carried: Vec::new(), value: Item::Null, ..row.clone() };
        self.open = Some((input, first));
        Ok(Some(row))
    }
}

impl RowByRow for Merge<'_> {
    fn next_row(&mut self) -> Result<Option<Row>, Error> {
        self.turns.turn(self.meter)?;
        if !self.is_arranged {
            self.arrange()?;
        }
        if !self.layout.ordered {
            return self.next_by_window();
        }
        let Some((input, row)) = self.pop()? else { return Ok(None) };
        self.push(input)?;
        Ok(Some(row))
    }
}

/// Rows of inputs by time, whatever their heads, where what comes first at one time is known by a
/// rank of each input.
pub(super) struct Ranked<'q> {
    inputs: Vec<Peeking<'q>>,
    /// The next rows of inputs.
    heap: Vec<Next>,
    descending: bool,
    is_arranged: bool,
    ranks: Vec<u32>,
    /// What each input carries in all its rows, carried place by carried place; nothing where that
    /// differs from row to row.
    constants: Vec<Option<Arc<[Item]>>>,
    /// Rows of the next strip.
    rows_max: usize,
    meter: &'q Meter,
}

/// Where the next row of an input stands.
#[derive(Clone, Copy)]
struct Next {
    time_ns: i64,
    rank: u32,
    input: usize,
}

impl<'q> Ranked<'q> {
    pub(super) fn new(
        inputs: Vec<Box<dyn Stream + 'q>>,
        ranks: Vec<u32>,
        constants: Vec<Option<Arc<[Item]>>>,
        (descending, meter): (bool, &'q Meter),
    ) -> Self {
        let inputs = inputs.into_iter().map(|input| Peeking::new(input, meter)).collect();
        let (heap, rows_max) = (Vec::new(), longer(0));
        Self { inputs, heap, descending, is_arranged: false, ranks, constants, rows_max, meter }
    }

    fn next_of(&mut self, input: usize) -> Result<Option<Next>, Error> {
        let Some(rows) = self.inputs.get_mut(input) else { return Ok(None) };
        let rank = self.ranks.get(input).copied().unwrap_or_default();
        Ok(rows.peek()?.map(|row| Next { time_ns: row.time_ns(), rank, input }))
    }
}

/// A strip without rows.
fn begin(constants: &[Option<Arc<[Item]>>], head: Arc<Head>) -> Strip {
    let mut strip = Strip::new(head, constants.len());
    for (column, constants) in strip.carried.iter_mut().zip(constants) {
        if let Some(items) = constants {
            *column = Column::Coded(items.clone(), Vec::new());
        }
    }
    strip
}

/// What comes before what: see [`Next`].
fn is_before(descending: bool) -> impl FnMut(&mut Next, &mut Next) -> Result<bool, Error> {
    move |a, b| {
        let order = a.time_ns.cmp(&b.time_ns).then(a.rank.cmp(&b.rank));
        Ok(if descending { order.is_gt() } else { order.is_lt() })
    }
}

impl Stream for Ranked<'_> {
    fn next(&mut self) -> Result<Option<Strip>, Error> {
        // Each of many inputs comes to its next strip seldom.
        self.meter.check(0)?;
        let before = &mut is_before(self.descending);
        if !self.is_arranged {
            self.is_arranged = true;
            for input in 0..self.inputs.len() {
                let next = self.next_of(input)?;
                self.heap.extend(next);
            }
            heap::arrange(&mut self.heap, before)?;
        }
        let mut out: Option<Strip> = None;
        let rows_max = self.rows_max.min(rows_of(self.constants.len() + 1));
        while out.as_ref().is_none_or(|out| out.len() < rows_max)
            && let Some(&next) = self.heap.first()
        {
            let Some(rows) = self.inputs.get_mut(next.input) else { break };
            let Some((strip, at)) = rows.rest()? else { break };
            if out.as_ref().is_some_and(|out| !is_same(&out.head, &strip.head)) {
                break;
            }
            let new = || begin(&self.constants, strip.head.clone());
            let out = out.get_or_insert_with(new);
            out.times_ns.push(next.time_ns);
            out.value.push_from(&strip.value, at);
            for (own, other) in out.carried.iter_mut().zip(&strip.carried) {
                match own {
                    Column::Coded(_, codes) => codes.push(next.input as u32),
                    own => own.push_from(other, at),
                }
            }
            rows.skip(1);
            heap::pop(&mut self.heap, before)?;
            if let Some(next) = self.next_of(next.input)? {
                heap::push(&mut self.heap, next, before)?;
            }
        }
        self.rows_max = longer(self.rows_max);
        Ok(out)
    }
}

fn before(
    layout: &Layout,
    grid: &Grid,
    a: &mut Peeking<'_>,
    b: &mut Peeking<'_>,
) -> Result<bool, Error> {
    let (Some(a), Some(b)) = (a.peek()?, b.peek()?) else { return Ok(false) };
    Ok(comes_before(layout, grid, a, b))
}

/// Whether a row comes before another one: by head, then by time (or window); at one time, by what
/// rows carry as long as that is text.
fn comes_before(layout: &Layout, grid: &Grid, a: Here<'_>, b: Here<'_>) -> bool {
    let heads = match is_same(a.head(), b.head()) {
        true => Ordering::Equal,
        false => a.head().compare(b.head(), &layout.order_by),
    };
    let order = heads.then_with(|| match layout.ordered {
        true => a.time_ns().cmp(&b.time_ns()).then_with(|| carried_texts(a, b)),
        false => grid.window(a.time_ns()).0.cmp(&grid.window(b.time_ns()).0),
    });
    if layout.descending { order.is_gt() } else { order.is_lt() }
}

fn carried_texts(a: Here<'_>, b: Here<'_>) -> Ordering {
    for (a, b) in a.carried().zip(b.carried()) {
        match (&*a, &*b) {
            (Item::String(a), Item::String(b)) if a == b => {}
            (Item::String(a), Item::String(b)) => return a.cmp(b),
            _ => return Ordering::Equal,
        }
    }
    Ordering::Equal
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{Cancel, Limits};
    use crate::rows::strip::Gathered;
    use foliot_model::TimeRange;
    use proptest::prelude::*;

    struct Listed(std::vec::IntoIter<Row>);

    impl RowByRow for Listed {
        fn next_row(&mut self) -> Result<Option<Row>, Error> {
            Ok(self.0.next())
        }
    }

    fn all<'q>(rows: impl Stream + 'q, meter: &'q Meter) -> Vec<(Arc<Head>, i64, Item, Vec<Item>)> {
        let mut rows = Peeking::new(Box::new(rows), meter);
        let next =
            || rows.next().unwrap().map(|row| (row.head, row.time_ns, row.value, row.carried));
        std::iter::from_fn(next).collect()
    }

    proptest! {
        /// Where labels decide, ranks do: also which of several equal rows comes first.
        #[test]
        fn ranks_order_as_what_rows_carry(
            sources in prop::collection::vec(
                (prop::collection::btree_set(0i64..12, 0..8), 0u32..3), 0..9,
            ),
            descending: bool,
        ) {
            let inputs = || -> Vec<Box<dyn Stream>> {
                let input = |(number, (times, rank)): (usize, &(_, u32))| -> Box<dyn Stream> {
                    let times: &std::collections::BTreeSet<i64> = times;
                    let name = Item::String(rank.to_string().into());
                    // Some have one head.
                    let labels = vec![("h".into(), (number % 3).to_string().into())];
                    let head = Arc::new(Head { measurement: "m".into(), labels });
                    let row = |time_ns: &i64| Row {
                        head: head.clone(),
                        time_ns: *time_ns,
                        value: Item::Integer(number as i64),
                        carried: vec![name.clone(), Item::Integer(*time_ns)],
                    };
                    let mut rows: Vec<Row> = times.iter().map(row).collect();
                    if descending {
                        rows.reverse();
                    }
                    Box::new(Gathered::new(Listed(rows.into_iter())))
                };
                sources.iter().enumerate().map(input).collect()
            };
            let (order_by, group_by) = ([].into(), [].into());
            let (range, windows, ordered) = (TimeRange::ALL, None, true);
            let layout = Layout { range, windows, order_by, group_by, descending, ordered };
            let ranks = sources.iter().map(|(_, rank)| *rank).collect();
            let names = sources.iter().map(|(_, rank)| Item::String(rank.to_string().into()));
            let constants = vec![Some(names.collect()), None];
            let meter = Meter::new(Limits::default(), Cancel::default());
            let merged = Merge::new(inputs(), &layout, &meter).unwrap();
            let merged = all(Gathered::new(merged), &meter);
            let ranked = Ranked::new(inputs(), ranks, constants, (descending, &meter));
            prop_assert_eq!(all(ranked, &meter), merged);
        }
    }
}
