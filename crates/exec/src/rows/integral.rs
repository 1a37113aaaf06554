//! Areas under the lines between successive rows.

use super::grid::Grid;
use super::row::{Head, Reducing, Row, is_same};
use super::strip::{RowByRow, Stream};
use crate::Error;
use crate::kernels::number::to_f64;
use crate::limits::{Meter, Turns};
use foliot_model::Item;
use foliot_plan::rows::Layout;
use std::collections::VecDeque;
use std::sync::Arc;

/// A row per head and window that has an area.
pub(super) struct Integral<'q> {
    input: Box<dyn Stream + 'q>,
    unit_ns: i64,
    layout: &'q Layout,
    grid: Grid,
    heads: Reducing,
    open: Option<Open>,
    ready: VecDeque<Row>,
    is_ended: bool,
    meter: &'q Meter,
    turns: Turns,
}

/// The area of a head so far.
struct Open {
    head: Arc<Head>,
    area: f64,
    time_ns: i64,
    value: f64,
    /// Where the window begins and ends, in the direction of reading.
    window: (i64, i64),
}

impl<'q> Integral<'q> {
    pub(super) fn new(
        input: Box<dyn Stream + 'q>,
        unit_ns: i64,
        layout: &'q Layout,
        meter: &'q Meter,
    ) -> Result<Self, Error> {
        Ok(Self {
            input,
            unit_ns,
            layout,
            grid: Grid::new(layout)?,
            heads: Reducing::new(layout.group_by.clone()),
            open: None,
            ready: VecDeque::new(),
            is_ended: false,
            meter,
            turns: Turns::default(),
        })
    }

    /// The window of a time. One area of floats is stamped with the epoch whatever the range.
    fn window(&self, time_ns: i64, is_float: bool) -> (i64, i64) {
        if is_float && self.grid.width_ns().is_none() {
            return (0, i64::MAX);
        }
        let (start_ns, end_ns) = self.grid.window(time_ns);
        let start_ns = self.grid.stamp(start_ns).unwrap_or(start_ns);
        if self.layout.descending { (end_ns, start_ns) } else { (start_ns, end_ns) }
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take()
            && open.time_ns != open.window.0
        {
            self.ready.push_back(open.row());
        }
    }

    fn add(&mut self, head: &Arc<Head>, time_ns: i64, item: &Item) {
        let Some(value) = to_f64(item) else { return };
        if self.open.as_ref().is_some_and(|open| !is_same(&open.head, head)) {
            self.close();
        }
        let window = self.window(time_ns, matches!(item, Item::Float(_)));
        let Some(open) = &mut self.open else {
            let head = head.clone();
            self.open = Some(Open { head, area: 0.0, time_ns, value, window });
            return;
        };
        if open.time_ns == time_ns {
            open.value = value;
            return;
        }
        let is_past = match self.layout.descending {
            false => time_ns >= open.window.1,
            true => time_ns <= open.window.1,
        };
        if self.grid.width_ns().is_some() && is_past {
            if open.time_ns != open.window.1 {
                // Areas are cut at the end of the window.
                let slope = (value - open.value) / (time_ns - open.time_ns) as f64;
                let at_end = slope * (open.window.1 - open.time_ns) as f64 + open.value;
                open.step(open.window.1, at_end, self.unit_ns);
            }
            self.ready.push_back(open.row());
            open.area = 0.0;
            open.window = window;
        }
        open.step(time_ns, value, self.unit_ns);
    }
}

impl Open {
    fn step(&mut self, time_ns: i64, value: f64, unit_ns: i64) {
        let elapsed = (time_ns - self.time_ns) as f64 / unit_ns as f64;
        self.area += 0.5 * (value + self.value) * elapsed;
        (self.time_ns, self.value) = (time_ns, value);
    }

    fn row(&self) -> Row {
        let (head, time_ns) = (self.head.clone(), self.window.0);
        Row { head, time_ns, value: Item::Float(self.area), carried: Vec::new() }
    }
}

impl RowByRow for Integral<'_> {
    fn next_row(&mut self) -> Result<Option<Row>, Error> {
        while self.ready.is_empty() && !self.is_ended {
            self.turns.turn(self.meter)?;
            match self.input.next()? {
                Some(strip) => {
                    let head = self.heads.of(&strip.head);
                    for (&time_ns, value) in strip.times_ns.iter().zip(strip.value.iter()) {
                        self.add(&head, time_ns, &value);
                    }
                }
                None => {
                    self.is_ended = true;
                    self.close();
                }
            }
        }
        Ok(self.ready.pop_front())
    }
}
