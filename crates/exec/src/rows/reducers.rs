//! Functions from the rows of a window to one or few.

use super::calculate::to_f64;
use super::forecast;
use super::row::{Head, Row};
use super::slice::item;
use super::total::Total;
use crate::Error;
use crate::kernels::sum::Sum;
use crate::limits::Meter;
use foliot_engine::Summary;
use foliot_model::{Item, Kind, TimeRange, Values};
use foliot_plan::rows::Reducer;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

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
    state: State,
}

#[derive(Debug)]
enum State {
    Count(i64),
    Sum(Total),
    Mean(Total, u64),
    /// The row chosen so far.
    Best(Option<Row>),
    /// All rows.
    Rows(Vec<Row>),
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
    pub(super) fn new(function: &'q Reducer) -> Self {
        let state = match function {
            Reducer::Count => State::Count(0),
            Reducer::Sum => State::Sum(Total::default()),
            Reducer::Mean => State::Mean(Total::default(), 0),
            Reducer::Min | Reducer::Max | Reducer::First | Reducer::Last => State::Best(None),
            Reducer::Distinct => State::Distinct(HashSet::new(), Vec::new()),
            Reducer::Sample(_) => State::Sample { rows: Vec::new(), count: 0, random: 1 },
            _ => State::Rows(Vec::new()),
        };
        Self { function, state }
    }

    /// Adds a row, and returns how much memory that takes.
    pub(super) fn add(&mut self, row: Row) -> usize {
        match &mut self.state {
            State::Count(count) => *count += 1,
            State::Sum(sum) => return sum.add(&row.value),
            State::Mean(sum, count) => {
                *count += 1;
                return sum.add(&row.value);
            }
            State::Best(best) => {
                if best.as_ref().is_none_or(|best| is_better(self.function, &row, best)) {
                    *best = Some(row);
                }
            }
            State::Rows(rows) => return keep(self.function, rows, row),
            State::Distinct(seen, rows) => {
                if seen.insert(Key::of(&row.value)) {
                    let bytes = 2 * row.bytes();
                    rows.push(row);
                    return bytes;
                }
            }
            State::Sample { rows, count, random } => {
                let Reducer::Sample(wanted) = self.function else { return 0 };
                return sample(*wanted, rows, count, random, row);
            }
        }
        0
    }

    /// Adds a run of samples read as `kind`; only for functions that keep no rows.
    pub(super) fn add_run(
        &mut self,
        times_ns: &[i64],
        values: &Values,
        run: Range<usize>,
        kind: Kind,
    ) {
        match (values, kind) {
            (Values::Float(all), Kind::Float) => {
                let values = all.get(run.clone()).unwrap_or_default();
                let sum = |total: &mut Total| total.add_floats(values);
                self.add_numbers(times_ns, run, values, sum, Item::Float);
            }
            (Values::Integer(all), Kind::Integer) => {
                let values = all.get(run.clone()).unwrap_or_default();
                let sum = |total: &mut Total| {
                    let sum = values.iter().fold(0, |a: i64, b| a.wrapping_add(*b));
                    total.add(&Item::Integer(sum));
                };
                self.add_numbers(times_ns, run, values, sum, Item::Integer);
            }
            _ => {
                for at in run {
                    let value = item(values, at, kind);
                    if let (Some(&time_ns), false) = (times_ns.get(at), value.is_null()) {
                        self.add_value(time_ns, value);
                    }
                }
            }
        }
    }

    fn add_numbers<T: Copy + PartialOrd>(
        &mut self,
        times_ns: &[i64],
        run: Range<usize>,
        values: &[T],
        sum: impl Fn(&mut Total),
        item: impl Fn(T) -> Item,
    ) {
        let count = values.len();
        match &mut self.state {
            State::Count(total) => *total += count as i64,
            State::Sum(total) => sum(total),
            State::Mean(total, counted) => {
                sum(total);
                *counted += count as u64;
            }
            _ => {
                let ahead = |best: usize, at: usize| {
                    let (Some(best), Some(at)) = (values.get(best), values.get(at)) else {
                        return false;
                    };
                    match self.function {
                        Reducer::Min => at < best,
                        _ => at > best,
                    }
                };
                let chosen = match self.function {
                    Reducer::First => 0,
                    Reducer::Last => count.saturating_sub(1),
                    _ => (1..count).fold(0, |best, at| if ahead(best, at) { at } else { best }),
                };
                let time_ns = times_ns.get(run.start + chosen);
                if let (Some(&time_ns), Some(&value)) = (time_ns, values.get(chosen)) {
                    self.add_value(time_ns, item(value));
                }
            }
        }
    }

    /// Whether a block can be added by what its values come to, with the same result.
    pub(super) fn takes(function: &Reducer, summary: &Summary, kind: Kind) -> bool {
        // The summary of whole numbers is told as floats, which are exact as far as this.
        let is_small = |figure: f64| figure.abs() < 9e15;
        let are_numbers = summary.numeric && !summary.has_nan;
        are_numbers
            && match (function, kind) {
                (Reducer::Sum | Reducer::Mean, Kind::Float) => {
                    summary.kinds == 1 && summary.decimal_sum().is_some_and(|sum| Sum::takes(&sum))
                }
                (_, Kind::Float) => summary.kinds == 1,
                (_, Kind::Integer) => {
                    let figures = [summary.sum, summary.min, summary.max];
                    summary.kinds == 2 && figures.into_iter().all(is_small)
                }
                _ => false,
            }
    }

    /// Memory outside the struct.
    pub(super) fn bytes_outside(&self) -> usize {
        match &self.state {
            State::Sum(total) | State::Mean(total, _) => total.bytes_outside(),
            _ => 0,
        }
    }

    /// Adds a block by what its values come to.
    pub(super) fn add_block(
        &mut self,
        range: TimeRange,
        count: u16,
        summary: &Summary,
        kind: Kind,
    ) {
        let item = |value: f64| match kind {
            Kind::Integer => Item::Integer(value as i64),
            _ => Item::Float(value),
        };
        match &mut self.state {
            State::Count(total) => *total += i64::from(count),
            State::Sum(total) => total.add_block(summary, kind),
            State::Mean(total, counted) => {
                total.add_block(summary, kind);
                *counted += u64::from(count);
            }
            _ => {
                let (time_ns, value) = match self.function {
                    Reducer::Min => (range.start_ns, summary.min),
                    Reducer::Max => (range.start_ns, summary.max),
                    Reducer::First => (range.start_ns, summary.first),
                    _ => (range.end_ns, summary.last),
                };
                self.add_value(time_ns, item(value));
            }
        }
    }

    fn add_value(&mut self, time_ns: i64, value: Item) {
        match &mut self.state {
            State::Best(Some(best)) => {
                let is_better = is_better_than(self.function, time_ns, &value, best);
                if is_better {
                    (best.time_ns, best.value) = (time_ns, value);
                }
            }
            _ => {
                let row = Row { head: no_head(), time_ns, value, carried: Vec::new() };
                self.add(row);
            }
        }
    }

    /// Adds what another fold has come to whose rows come later in rank.
    pub(super) fn absorb(&mut self, other: Self) {
        match (&mut self.state, other.state) {
            (State::Count(a), State::Count(b)) => *a += b,
            (State::Sum(a), State::Sum(b)) => a.absorb(b),
            (State::Mean(a, counted), State::Mean(b, more)) => {
                a.absorb(b);
                *counted += more;
            }
            (State::Best(_), State::Best(Some(row))) => {
                self.add(row);
            }
            _ => {}
        }
    }

    /// What comes out, in order.
    pub(super) fn finish(self, meter: &Meter) -> Result<Vec<Out>, Error> {
        Ok(match self.state {
            State::Count(count) => vec![Out::bare(Item::Integer(count))],
            State::Sum(sum) => vec![Out::bare(sum.finish())],
            State::Mean(sum, count) => {
                let mean = to_f64(&sum.finish()).map(|sum| sum / count as f64);
                vec![Out::bare(mean.map_or(Item::Null, Item::Float))]
            }
            State::Best(best) => best.map(Out::of).into_iter().collect(),
            State::Distinct(_, mut rows) => {
                rows.sort_by(by_time);
                let out = |row: Row| Out { carried: Vec::new(), ..Out::of(row) };
                rows.into_iter().map(out).collect()
            }
            State::Sample { mut rows, .. } => {
                rows.sort_by(by_time);
                rows.into_iter().map(Out::of).collect()
            }
            State::Rows(rows) => finish_rows(self.function, rows, meter)?,
        })
    }
}

/// The head of rows that are told apart by nothing.
fn no_head() -> Arc<Head> {
    Arc::new(Head { measurement: Arc::default(), labels: Vec::new() })
}

fn by_time(a: &Row, b: &Row) -> Ordering {
    a.time_ns.cmp(&b.time_ns).then_with(|| compare(&a.value, &b.value))
}

/// The order of values of one kind; false is before true, and NaN is equal to everything.
pub(super) fn compare(a: &Item, b: &Item) -> Ordering {
    match (a, b) {
        (Item::Integer(a), Item::Integer(b)) => a.cmp(b),
        (Item::Unsigned(a), Item::Unsigned(b)) => a.cmp(b),
        (Item::Boolean(a), Item::Boolean(b)) => a.cmp(b),
        (Item::String(a), Item::String(b)) => a.cmp(b),
        _ => match (to_f64(a), to_f64(b)) {
            (Some(a), Some(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
            _ => Ordering::Equal,
        },
    }
}

/// Whether a row takes the place of the one chosen so far.
fn is_better(function: &Reducer, row: &Row, best: &Row) -> bool {
    is_better_than(function, row.time_ns, &row.value, best)
}

fn is_better_than(function: &Reducer, time_ns: i64, value: &Item, best: &Row) -> bool {
    let values = compare(value, &best.value);
    let times = time_ns.cmp(&best.time_ns);
    match function {
        Reducer::Min => values.then(times).is_lt(),
        Reducer::Max => values.reverse().then(times).is_lt(),
        // Of booleans at one time, the first is the one that is false.
        Reducer::First if matches!(value, Item::Boolean(_)) => times.then(values).is_lt(),
        Reducer::First => times.then(values.reverse()).is_lt(),
        _ => times.then(values).is_gt(),
    }
}

fn keep(function: &Reducer, rows: &mut Vec<Row>, row: Row) -> usize {
    let (count, order) = match function {
        Reducer::Top { count } => (*count, by_top as fn(&Row, &Row) -> Ordering),
        Reducer::Bottom { count } => (*count, by_bottom as fn(&Row, &Row) -> Ordering),
        _ => {
            let bytes = row.bytes();
            rows.push(row);
            return bytes;
        }
    };
    // Rows are kept best first; one that is not better than another one comes after it.
    let at = rows.partition_point(|kept| order(kept, &row).is_le());
    if at as u64 >= count {
        return 0;
    }
    let bytes = row.bytes();
    rows.insert(at, row);
    if rows.len() as u64 > count {
        rows.pop();
        return 0;
    }
    bytes
}

fn by_top(a: &Row, b: &Row) -> Ordering {
    compare(&b.value, &a.value).then(a.time_ns.cmp(&b.time_ns))
}

fn by_bottom(a: &Row, b: &Row) -> Ordering {
    compare(&a.value, &b.value).then(a.time_ns.cmp(&b.time_ns))
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

fn finish_rows(function: &Reducer, mut rows: Vec<Row>, meter: &Meter) -> Result<Vec<Out>, Error> {
    Ok(match function {
        Reducer::Median => median(rows),
        Reducer::Mode => mode(rows),
        Reducer::Deviation => vec![Out::bare(deviation(&rows))],
        Reducer::Spread => spread(&rows),
        Reducer::Percentile(percent) => {
            let rank = (rows.len() as f64 * percent / 100.0 + 0.5).floor() - 1.0;
            let rank = if rank < 0.0 { usize::MAX } else { rank as usize };
            rows.sort_by(|a, b| compare(&a.value, &b.value));
            rows.into_iter().nth(rank).map(Out::of).into_iter().collect()
        }
        Reducer::Top { .. } | Reducer::Bottom { .. } => rows.into_iter().map(Out::of).collect(),
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

fn median(mut rows: Vec<Row>) -> Vec<Out> {
    if rows.len() < 2 {
        // One row is handed on with its own time.
        let out = |row: Row| Out {
            value: to_f64(&row.value).map_or(Item::Null, Item::Float),
            time_ns: matches!(row.value, Item::Float(_)).then_some(row.time_ns),
            carried: Vec::new(),
        };
        return rows.into_iter().map(out).collect();
    }
    rows.sort_by(|a, b| compare(&a.value, &b.value));
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
    vec![Out::bare(Item::Float(value))]
}

fn mode(mut rows: Vec<Row>) -> Vec<Out> {
    if rows.len() < 2 {
        return rows.into_iter().map(|row| Out { carried: Vec::new(), ..Out::of(row) }).collect();
    }
    if matches!(rows.first().map(|row| &row.value), Some(Item::Boolean(_))) {
        let yes = rows.iter().filter(|row| row.value == Item::Boolean(true)).count();
        return vec![Out::bare(Item::Boolean(2 * yes >= rows.len()))];
    }
    rows.sort_by(|a, b| compare(&a.value, &b.value));
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
    vec![Out::bare(most.2)]
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
