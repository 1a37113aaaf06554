//! Functions from the rows of a window to one or few.

use super::forecast;
use super::heap::{self, Before};
use super::row::Row;
use super::sorted::sorted;
use crate::Error;
use crate::kernels::number::{compare, to_f64};
use crate::kernels::tally::{Choice, Figure, Tally};
use crate::limits::Meter;
use foliot_model::Item;
use foliot_plan::rows::Reducer;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

/// The figure that a function asks for, if it keeps no rows.
pub(super) fn figure_of(function: &Reducer) -> Option<Figure> {
    Some(match function {
        Reducer::Count => Figure::Count,
        Reducer::Sum => Figure::Sum,
        Reducer::Mean => Figure::Mean,
        Reducer::WideSum => Figure::WideSum,
        Reducer::WideMean => Figure::WideMean,
        Reducer::Min => Figure::Choice(Choice::Smallest),
        Reducer::Max => Figure::Choice(Choice::Largest),
        Reducer::First => Figure::Choice(Choice::Earliest),
        Reducer::Last => Figure::Choice(Choice::Latest),
        _ => return None,
    })
}

/// The order of rows.
type Order = fn(&Row, &Row) -> Ordering;

/// A row that comes out of a fold.
#[derive(Debug)]
pub(super) struct Out {
    /// Its time; nothing: that of the window.
    pub(super) time_ns: Option<i64>,
    pub(super) value: Item,
    pub(super) carried: Vec<Item>,
}

impl Out {
    fn of(row: Row) -> Self {
        Self { time_ns: Some(row.time_ns), value: row.value, carried: row.carried }
    }

    fn bare(value: Item) -> Self {
        Self { time_ns: None, value, carried: Vec::new() }
    }
}

/// A fold under way.
#[derive(Debug)]
pub(super) struct Folding<'q> {
    function: &'q Reducer,
    /// Whether all rows count as those of one series; else each as one of its own, as nobody knows
    /// any more which it was of.
    are_of_one: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    /// No row matters by itself.
    Tally(Tally),
    /// The row chosen so far.
    Chosen(Choice, Option<Row>),
    /// All rows.
    Rows(Vec<Row>),
    /// The best rows of those that came, as a heap: the worst is the first.
    Best(Vec<Row>),
    /// Rows with values that were not there before.
    Distinct(HashSet<Key>, Vec<Row>),
    Sample {
        rows: Vec<Row>,
        count: u64,
        random: u64,
    },
}

/// A value by which equal ones are found.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Key {
    Bits(u8, u64),
    Text(Arc<str>),
}

impl Key {
    fn of(item: &Item) -> Self {
        match item {
            Item::Float(v) if *v == 0.0 => Self::Bits(0, 0),
            Item::Float(v) => Self::Bits(0, v.to_bits()),
            Item::Integer(v) | Item::Time(v) => Self::Bits(1, *v as u64),
            Item::Unsigned(v) => Self::Bits(2, *v),
            Item::Boolean(v) => Self::Bits(3, u64::from(*v)),
            Item::Null => Self::Bits(4, 0),
            Item::String(v) => Self::Text(v.clone()),
        }
    }
}

impl<'q> Folding<'q> {
    pub(super) fn new(function: &'q Reducer, are_of_one: bool) -> Self {
        let state = match function {
            _ if let Some(figure) = figure_of(function) => match figure {
                Figure::Choice(choice) => State::Chosen(choice, None),
                figure => State::Tally(Tally::new(figure)),
            },
            Reducer::Distinct => State::Distinct(HashSet::new(), Vec::new()),
            Reducer::Sample(_) => State::Sample { rows: Vec::new(), count: 0, random: 1 },
            Reducer::Top { .. } | Reducer::Bottom { .. } => State::Best(Vec::new()),
            _ => State::Rows(Vec::new()),
        };
        Self { function, are_of_one, state }
    }

    /// Adds a row, and returns how much memory that takes.
    pub(super) fn add(&mut self, row: Row) -> Result<usize, Error> {
        match &mut self.state {
            State::Tally(tally) => {
                if !self.are_of_one {
                    tally.turn();
                }
                return Ok(tally.add(row.time_ns, row.value));
            }
            State::Chosen(choice, best) => {
                let is_better = |best: &Row| {
                    choice.prefers((row.time_ns, &row.value), (best.time_ns, &best.value))
                };
                if best.as_ref().is_none_or(is_better) {
                    *best = Some(row);
                }
            }
            State::Rows(rows) => {
                let bytes = row.bytes();
                rows.push(row);
                return Ok(bytes);
            }
            State::Best(rows) => return keep(self.function, rows, row),
            State::Distinct(seen, rows) => {
                if seen.insert(Key::of(&row.value)) {
                    let bytes = 2 * row.bytes();
                    rows.push(row);
                    return Ok(bytes);
                }
            }
            State::Sample { rows, count, random } => {
                let Reducer::Sample(wanted) = self.function else { return Ok(0) };
                return Ok(sample(*wanted, rows, count, random, row));
            }
        }
        Ok(0)
    }

    /// What comes out, in order.
    pub(super) fn finish(self, meter: &Meter) -> Result<Vec<Out>, Error> {
        Ok(match self.state {
            State::Tally(tally) => vec![Out::bare(tally.finish().1)],
            State::Chosen(_, best) => best.map(Out::of).into_iter().collect(),
            State::Distinct(_, rows) => {
                let rows = sorted(rows, by_time, meter)?;
                let out = |row: Row| Out { carried: Vec::new(), ..Out::of(row) };
                rows.into_iter().map(out).collect()
            }
            State::Sample { rows, .. } => {
                sorted(rows, by_time, meter)?.into_iter().map(Out::of).collect()
            }
            State::Best(rows) => {
                let (_, order) = best_of(self.function);
                sorted(rows, order, meter)?.into_iter().map(Out::of).collect()
            }
            State::Rows(rows) => finish_rows(self.function, rows, meter)?,
        })
    }
}

fn by_time(a: &Row, b: &Row) -> Ordering {
    a.time_ns.cmp(&b.time_ns).then_with(|| by_value(a, b))
}

/// What is no number comes last: an order in which it were equal to all others would be none.
fn by_value(a: &Row, b: &Row) -> Ordering {
    is_none(a).cmp(&is_none(b)).then_with(|| compare(&a.value, &b.value))
}

/// Whether a value is a number that is none.
fn is_none(row: &Row) -> bool {
    matches!(row.value, Item::Float(value) if value.is_nan())
}

/// How many rows a function keeps, and in which order they are best.
fn best_of(function: &Reducer) -> (u64, Order) {
    match function {
        Reducer::Top { count } => (*count, by_top),
        Reducer::Bottom { count } => (*count, by_bottom),
        _ => (0, by_time),
    }
}

/// Keeps a row if it is among the best so far, and returns how much memory that takes. Which of
/// rows that are as good as one another comes first is visible: `InfluxDB` has such a heap, too.
fn keep(function: &Reducer, rows: &mut Vec<Row>, row: Row) -> Result<usize, Error> {
    let (count, order) = best_of(function);
    let is_worse: Before<'_, Row> = &mut |a, b| Ok(order(a, b).is_gt());
    if (rows.len() as u64) < count {
        let bytes = row.bytes();
        heap::push(rows, row, is_worse)?;
        return Ok(bytes);
    }
    if let Some(worst) = rows.first_mut()
        && order(worst, &row).is_gt()
    {
        *worst = row;
        heap::settle(rows, is_worse)?;
    }
    Ok(0)
}

fn by_top(a: &Row, b: &Row) -> Ordering {
    let by_value = is_none(a).cmp(&is_none(b)).then_with(|| compare(&b.value, &a.value));
    by_value.then(a.time_ns.cmp(&b.time_ns))
}

fn by_bottom(a: &Row, b: &Row) -> Ordering {
    by_value(a, b).then(a.time_ns.cmp(&b.time_ns))
}

/// J. S. Vitter, "Random sampling with a reservoir", 1985, algorithm R, with the numbers of G.
/// Marsaglia, "Xorshift RNGs", 2003: the same rows give the same sample.
fn sample(wanted: u64, rows: &mut Vec<Row>, count: &mut u64, random: &mut u64, row: Row) -> usize {
    *count += 1;
    if (rows.len() as u64) < wanted {
        let bytes = row.bytes();
        rows.push(row);
        return bytes;
    }
    *random ^= (row.time_ns as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    let place = usize::try_from(*random % *count).unwrap_or(usize::MAX);
    if let Some(kept) = rows.get_mut(place) {
        *kept = row;
    }
    0
}

fn finish_rows(function: &Reducer, rows: Vec<Row>, meter: &Meter) -> Result<Vec<Out>, Error> {
    Ok(match function {
        Reducer::Median => median(rows, meter)?,
        Reducer::Mode => mode(rows, meter)?,
        Reducer::Deviation => vec![Out::bare(deviation(&rows))],
        Reducer::Spread => spread(&rows),
        Reducer::Percentile(percent) => {
            let rank = (rows.len() as f64 * percent / 100.0 + 0.5).floor() - 1.0;
            let rank = if rank < 0.0 { usize::MAX } else { rank as usize };
            sorted(rows, by_value, meter)?.into_iter().nth(rank).map(Out::of).into_iter().collect()
        }
        Reducer::Forecast(forecast) => {
            let out = |(time_ns, value)| Out {
                time_ns: Some(time_ns),
                value: Item::Float(value),
                carried: Vec::new(),
            };
            let values = rows.iter().filter_map(|row| Some((row.time_ns, to_f64(&row.value)?)));
            forecast::forecast(forecast, &values.collect::<Vec<_>>(), meter)?
                .into_iter()
                .map(out)
                .collect()
        }
        _ => Vec::new(),
    })
}

fn median(rows: Vec<Row>, meter: &Meter) -> Result<Vec<Out>, Error> {
    if rows.len() < 2 {
        // One row is handed on with its own time.
        let out = |row: Row| Out {
            value: to_f64(&row.value).map_or(Item::Null, Item::Float),
            time_ns: matches!(row.value, Item::Float(_)).then_some(row.time_ns),
            carried: Vec::new(),
        };
        return Ok(rows.into_iter().map(out).collect());
    }
    let rows = sorted(rows, by_value, meter)?;
    let middle = rows.len() / 2;
    let at = |at: usize| rows.get(at).map(|row| row.value.clone()).unwrap_or_default();
    let value = match rows.len() % 2 {
        0 => match (at(middle - 1), at(middle)) {
            (Item::Integer(low), Item::Integer(high)) => {
                low as f64 + high.wrapping_sub(low) as f64 / 2.0
            }
            (Item::Unsigned(low), Item::Unsigned(high)) => {
                low as f64 + high.wrapping_sub(low) as f64 / 2.0
            }
            (low, high) => {
                let (low, high) = (to_f64(&low).unwrap_or(0.0), to_f64(&high).unwrap_or(0.0));
                low + (high - low) / 2.0
            }
        },
        _ => to_f64(&at(middle)).unwrap_or(0.0),
    };
    Ok(vec![Out::bare(Item::Float(value))])
}

fn mode(rows: Vec<Row>, meter: &Meter) -> Result<Vec<Out>, Error> {
    if rows.len() < 2 {
        let out = |row| Out { carried: Vec::new(), ..Out::of(row) };
        return Ok(rows.into_iter().map(out).collect());
    }
    if matches!(rows.first().map(|row| &row.value), Some(Item::Boolean(_))) {
        let yes = rows.iter().filter(|row| row.value == Item::Boolean(true)).count();
        return Ok(vec![Out::bare(Item::Boolean(2 * yes >= rows.len()))]);
    }
    let rows = sorted(rows, by_value, meter)?;
    // A run of equal values counts as soon as it has a second member; the first run at once.
    let (mut most, mut current) = ((0u64, 0i64, Item::Null), (0u64, 0i64, Item::Null));
    for (at, row) in rows.into_iter().enumerate() {
        let begins = at > 0 && compare(&row.value, &current.2).is_ne();
        if begins {
            current = (1, row.time_ns, row.value);
            continue;
        }
        if at == 0 {
            current = (0, row.time_ns, row.value.clone());
            most = (0, row.time_ns, row.value.clone());
        }
        current.0 += 1;
        let is_behind = most.0 > current.0 || most.0 == current.0 && current.1 > most.1;
        if !is_behind {
            most = (current.0, row.time_ns, row.value);
        }
    }
    Ok(vec![Out::bare(most.2)])
}

/// B. P. Welford's mean, then the squares of the distances from it.
fn deviation(rows: &[Row]) -> Item {
    let values: Vec<f64> =
        rows.iter().filter_map(|row| to_f64(&row.value)).filter(|v| !v.is_nan()).collect();
    if rows.len() < 2 {
        return Item::Float(f64::NAN);
    }
    let mut mean = 0.0;
    for (count, value) in values.iter().enumerate() {
        mean += (value - mean) / (count + 1) as f64;
    }
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    Item::Float((squares / (values.len() as f64 - 1.0)).sqrt())
}

fn spread(rows: &[Row]) -> Vec<Out> {
    let values = || rows.iter().map(|row| &row.value);
    let least = values().min_by(|a, b| compare(a, b)).cloned().unwrap_or_default();
    let most = values().max_by(|a, b| compare(a, b)).cloned().unwrap_or_default();
    vec![Out::bare(match (&most, &least) {
        (Item::Integer(a), Item::Integer(b)) => Item::Integer(a.wrapping_sub(*b)),
        (Item::Unsigned(a), Item::Unsigned(b)) => Item::Unsigned(a.wrapping_sub(*b)),
        (a, b) => match (to_f64(a), to_f64(b)) {
            (Some(a), Some(b)) => Item::Float(a - b),
            _ => Item::Null,
        },
    })]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{Cancel, Limits};
    use crate::rows::row::Head;
    use proptest::prelude::*;

    fn folded(function: &Reducer, values: &[f64]) -> Vec<f64> {
        let meter = Meter::new(Limits::default(), Cancel::default());
        let head = Arc::new(Head { measurement: "m".into(), labels: Vec::new() });
        let mut folding = Folding::new(function, true);
        for (at, value) in values.iter().enumerate() {
            let (value, carried) = (Item::Float(*value), Vec::new());
            let row = Row { head: head.clone(), time_ns: at as i64, value, carried };
            folding.add(row).unwrap();
        }
        let out = folding.finish(&meter).unwrap();
        out.iter().filter_map(|out| to_f64(&out.value)).collect()
    }

    proptest! {
        /// The oracle is the library's sort, of all rows at once.
        #[test]
        fn the_best_are_the_first_of_all_in_order(
            values in prop::collection::vec((0..9u8).prop_map(f64::from), 0..600),
            count in 1..200u64,
        ) {
            let mut sorted = values.clone();
            sorted.sort_by(|a, b| b.total_cmp(a));
            sorted.truncate(count as usize);
            prop_assert_eq!(folded(&Reducer::Top { count }, &values), sorted);
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            sorted.truncate(count as usize);
            prop_assert_eq!(folded(&Reducer::Bottom { count }, &values), sorted);
        }
    }

    /// They are equal to nothing, which is no order that can be sorted by.
    #[test]
    fn numbers_that_are_none_come_last() {
        let values: Vec<f64> =
            (0..2_000u32).map(|n| if n * 7 % 3 == 0 { f64::NAN } else { f64::from(n) }).collect();
        assert_eq!(folded(&Reducer::Top { count: 2 }, &values), [1999.0, 1997.0]);
        assert_eq!(folded(&Reducer::Bottom { count: 2 }, &values), [1.0, 2.0]);
        assert_eq!(folded(&Reducer::Percentile(10.0), &values), [299.0]);
    }
}
