//! Functions of the successive rows of each head.

use super::row::{Head, Reducing, Row};
use super::smooth::Smoother;
use super::strip::{Peeking, RowByRow, Stream};
use crate::Error;
use crate::kernels::number::to_f64;
use crate::limits::{Charge, Meter};
use foliot_model::Item;
use foliot_plan::rows::{Layout, Transform};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Transformed rows.
pub(super) struct Transformed<'q> {
    input: Peeking<'q>,
    function: &'q Transform,
    layout: &'q Layout,
    heads: Reducing,
    states: HashMap<(Arc<str>, Vec<Arc<str>>), State>,
    /// The head of the last row; its state is not looked up again.
    last: Option<(Arc<Head>, State)>,
    charge: Charge<'q>,
}

#[derive(Debug)]
enum State {
    /// The row before, and whether its difference was handed out or dropped for good.
    Pair {
        before: Option<Row>,
        current: Option<Row>,
    },
    Sum(Item),
    Window {
        values: VecDeque<Item>,
        sum: Item,
    },
    Smooth(Box<Smoother>),
}

impl<'q> Transformed<'q> {
    pub(super) fn new(
        input: Box<dyn Stream + 'q>,
        function: &'q Transform,
        layout: &'q Layout,
        meter: &'q Meter,
    ) -> Self {
        let heads = Reducing::new(layout.group_by.clone());
        let (states, charge) = (HashMap::new(), meter.open());
        let input = Peeking::new(input, meter);
        Self { input, function, layout, heads, states, last: None, charge }
    }

    /// Makes the state of the row's head the current one.
    fn switch(&mut self, head: &Arc<Head>) -> Result<(), Error> {
        if self.last.as_ref().is_some_and(|(last, _)| Arc::ptr_eq(last, head)) {
            return Ok(());
        }
        let key = |head: &Head| {
            let values = head.labels.iter().map(|(_, value)| value.clone()).collect();
            (head.measurement.clone(), values)
        };
        if let Some((last, state)) = self.last.take() {
            self.states.insert(key(&last), state);
        }
        let state = self.states.remove(&key(head));
        self.charge.resize(self.states.len() * size_of::<State>())?;
        let state = state.unwrap_or_else(|| State::new(self.function));
        self.last = Some((head.clone(), state));
        Ok(())
    }
}

impl RowByRow for Transformed<'_> {
    fn next_row(&mut self) -> Result<Option<Row>, Error> {
        loop {
            let Some(mut row) = self.input.next()? else { return Ok(None) };
            if row.value.is_null() {
                continue;
            }
            row.head = self.heads.of(&row.head);
            row.carried.clear();
            self.switch(&row.head.clone())?;
            let Some((_, state)) = &mut self.last else { continue };
            if let Some(row) = state.add(self.function, self.layout.descending, row) {
                return Ok(Some(row));
            }
        }
    }
}

impl State {
    fn new(function: &Transform) -> Self {
        match function {
            Transform::Derivative { .. }
            | Transform::Difference { .. }
            | Transform::Elapsed { .. } => Self::Pair { before: None, current: None },
            Transform::CumulativeSum => Self::Sum(Item::Null),
            Transform::MovingAverage { .. } => {
                Self::Window { values: VecDeque::new(), sum: Item::Null }
            }
            Transform::Smooth(smooth) => Self::Smooth(Box::new(Smoother::new(*smooth))),
        }
    }

    /// Adds a row, and returns the one that comes of it.
    fn add(&mut self, function: &Transform, descending: bool, row: Row) -> Option<Row> {
        match self {
            Self::Pair { before, current } => pair(function, descending, before, current, row),
            Self::Sum(sum) => {
                *sum = join(sum, &row.value, i64::wrapping_add, u64::wrapping_add, |a, b| a + b);
                Some(Row { value: sum.clone(), ..row })
            }
            Self::Window { values, sum } => {
                let Transform::MovingAverage { count } = function else { return None };
                if values.len() as u64 >= *count
                    && let Some(oldest) = values.pop_front()
                {
                    *sum = join(sum, &oldest, i64::wrapping_sub, u64::wrapping_sub, |a, b| a - b);
                }
                *sum = join(sum, &row.value, i64::wrapping_add, u64::wrapping_add, |a, b| a + b);
                values.push_back(row.value.clone());
                let is_full = values.len() as u64 == *count;
                let mean = to_f64(sum).filter(|_| is_full).map(|sum| sum / values.len() as f64);
                mean.map(|mean| Row { value: Item::Float(mean), ..row })
            }
            Self::Smooth(smoother) => {
                let value = smoother.add(to_f64(&row.value)?)?;
                Some(Row { value: Item::Float(value), ..row })
            }
        }
    }
}

/// Two numbers of one kind; a null on the left counts as 0.
fn join(
    a: &Item,
    b: &Item,
    integers: fn(i64, i64) -> i64,
    unsigned: fn(u64, u64) -> u64,
    floats: fn(f64, f64) -> f64,
) -> Item {
    match (a, b) {
        (Item::Null, Item::Integer(b)) => Item::Integer(integers(0, *b)),
        (Item::Null, Item::Unsigned(b)) => Item::Unsigned(unsigned(0, *b)),
        (Item::Null, Item::Float(b)) => Item::Float(floats(0.0, *b)),
        (Item::Integer(a), Item::Integer(b)) => Item::Integer(integers(*a, *b)),
        (Item::Unsigned(a), Item::Unsigned(b)) => Item::Unsigned(unsigned(*a, *b)),
        _ => match (to_f64(a), to_f64(b)) {
            (Some(a), Some(b)) => Item::Float(floats(a, b)),
            _ => Item::Null,
        },
    }
}

/// A function of a row and the one before it.
fn pair(
    function: &Transform,
    descending: bool,
    before: &mut Option<Row>,
    current: &mut Option<Row>,
    row: Row,
) -> Option<Row> {
    let is_elapsed = matches!(function, Transform::Elapsed { .. });
    // Joined series may have several rows at one time, of which the first one counts.
    let repeats = current.as_ref().is_some_and(|current| current.time_ns == row.time_ns);
    if !repeats || is_elapsed {
        *before = current.take();
        *current = Some(row);
    }
    let (from, to) = (before.as_ref()?, current.as_ref()?);
    let value = match function {
        Transform::Derivative { unit_ns, non_negative } => {
            let difference = float_difference(to, from);
            let mut apart_ns = to.time_ns.wrapping_sub(from.time_ns);
            if descending {
                apart_ns = apart_ns.wrapping_neg();
            }
            *before = None;
            if *non_negative && difference < 0.0 {
                return None;
            }
            Item::Float(difference / (apart_ns as f64 / *unit_ns as f64))
        }
        Transform::Difference { non_negative } => {
            let (a, b) = (&to.value, &from.value);
            let is_negative = match (a, b) {
                (Item::Unsigned(a), Item::Unsigned(b)) => a < b,
                (Item::Integer(a), Item::Integer(b)) => a.wrapping_sub(*b) < 0,
                _ => float_difference(to, from) < 0.0,
            };
            if *non_negative && is_negative {
                return None;
            }
            let value = join(a, b, i64::wrapping_sub, u64::wrapping_sub, |a, b| a - b);
            *before = None;
            value
        }
        Transform::Elapsed { unit_ns } => {
            Item::Integer(to.time_ns.wrapping_sub(from.time_ns).wrapping_div(*unit_ns))
        }
        _ => return None,
    };
    let to = current.as_ref()?;
    Some(Row { head: to.head.clone(), time_ns: to.time_ns, value, carried: Vec::new() })
}

fn float_difference(to: &Row, from: &Row) -> f64 {
    match (&to.value, &from.value) {
        (Item::Integer(a), Item::Integer(b)) => a.wrapping_sub(*b) as f64,
        (Item::Unsigned(a), Item::Unsigned(b)) if a > b => (a - b) as f64,
        (Item::Unsigned(a), Item::Unsigned(b)) => -((b - a) as f64),
        (a, b) => to_f64(a).unwrap_or(f64::NAN) - to_f64(b).unwrap_or(f64::NAN),
    }
}
