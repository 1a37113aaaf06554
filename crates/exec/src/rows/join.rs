//! Selections: rows of several inputs joined by head and time, and the columns made of them.

use super::calculate::{convert, evaluate};
use super::quick::Readings;
use super::row::{Head, is_same};
use super::strip::{Peeking, Stream, Strip};
use super::{Context, open};
use crate::Error;
use crate::limits::{Meter, Turns};
use crate::pieces::rows_of;
use foliot_model::{Column, Item, Kind};
use foliot_plan::rows::{Absent, Calculate, Input, Nested, Select, Slot, Taken};
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

/// Successive rows of a selection.
pub(super) struct Piece {
    pub(super) head: Arc<Head>,
    /// The columns of the selection; all are equally long.
    pub(super) columns: Vec<Column>,
    pub(super) rows: usize,
}

/// The rows of a table.
pub(super) struct Joined<'q> {
    select: &'q Select,
    inputs: Vec<(&'q Input, Peeking<'q>)>,
    /// What the slots had in the last row, where that stands for what a row has not.
    last: Vec<Item>,
    /// What the slots have in the rows of a piece.
    slots: Vec<Column>,
    /// Slots that are columns as they are, which take the values away; nothing for other columns.
    moved: Vec<Option<usize>>,
    /// Rows of a piece: few where it has many columns, of what was read once perhaps.
    rows_max: usize,
    /// The head of the last row.
    head: Option<Arc<Head>>,
    meter: &'q Meter,
    /// Pieces that were made, also those that hold nothing.
    turns: Turns,
}

impl<'q> Joined<'q> {
    pub(super) fn new(select: &'q Select, context: Context<'q>) -> Result<Self, Error> {
        // What folds of several inputs read, they read together.
        let readings = Readings::default();
        let mut inputs = Vec::with_capacity(select.inputs.len());
        for input in &select.inputs {
            let rows = open(&input.rows, None, &readings, context)?;
            inputs.push((input, Peeking::new(rows, context.meter)));
        }
        Ok(Self {
            select,
            inputs,
            last: vec![Item::Null; select.slots],
            slots: vec![Column::default(); select.slots],
            moved: moved(select),
            rows_max: rows_of(select.columns.len()),
            head: None,
            meter: context.meter,
            turns: Turns::default(),
        })
    }

    /// The next rows and their times.
    pub(super) fn next(&mut self) -> Result<Option<(Piece, Vec<i64>)>, Error> {
        self.turns.turn(self.meter)?;
        let Some((head, time_ns)) = self.next_key()? else { return Ok(None) };
        let (rows, times_ns) = self.rows_together(&head, time_ns)?;
        self.slots.fill(Column::Same(Item::Null, rows));
        let absent = &self.select.absent;
        for (input, peeking) in &mut self.inputs {
            let strip = match is_at(peeking, &head, time_ns)? {
                true => peeking.take(rows),
                false => None,
            };
            take(input, strip, rows, absent, (&mut self.last, &mut self.slots));
        }
        let mut columns = Vec::with_capacity(self.select.columns.len());
        for (column, moved) in self.select.columns.iter().zip(&self.moved) {
            let mut values = match moved.and_then(|slot| self.slots.get_mut(slot)) {
                Some(slot) => std::mem::take(slot),
                None => calculated(&column.value, &times_ns, &self.slots),
            };
            tidy(&mut values);
            columns.push(values);
        }
        Ok(Some((Piece { head, columns, rows }, times_ns)))
    }

    /// The time that comes next, with its head.
    fn next_key(&mut self) -> Result<Option<(Arc<Head>, i64)>, Error> {
        let mut key: Option<(Arc<Head>, i64)> = None;
        for (_, rows) in &mut self.inputs {
            let Some(row) = rows.peek()? else { continue };
            let comes_first = key.as_ref().is_none_or(|(head, time_ns)| {
                let heads = match is_same(row.head(), head) {
                    true => Ordering::Equal,
                    false => compare(row.head(), head),
                };
                let order = heads.then(row.time_ns().cmp(time_ns));
                if self.select.descending { order.is_gt() } else { order.is_lt() }
            });
            if comes_first {
                key = Some((row.head().clone(), row.time_ns()));
            }
        }
        if let Some((head, _)) = &key
            && self.head.as_ref().is_none_or(|last| !is_same(last, head))
        {
            self.last.fill(Item::Null);
            self.head = Some(head.clone());
        }
        Ok(key)
    }

    /// How many rows from this one on have the same inputs, and their times.
    fn rows_together(
        &mut self,
        head: &Arc<Head>,
        time_ns: i64,
    ) -> Result<(usize, Vec<i64>), Error> {
        let mut times_ns: Option<Vec<i64>> = None;
        // Where rows of an input begin that has none yet.
        let mut until_ns: Option<i64> = None;
        for (_, rows) in &mut self.inputs {
            let Some((strip, at)) = rows.rest()? else { continue };
            if !is_same(&strip.head, head) {
                continue;
            }
            let own = strip.times_ns.get(at..).unwrap_or_default();
            let own = own.get(..self.rows_max).unwrap_or(own);
            match (&mut times_ns, own.first()) {
                (_, Some(first)) if *first != time_ns => {
                    let sooner = |until_ns: i64| match self.select.descending {
                        false => until_ns.min(*first),
                        true => until_ns.max(*first),
                    };
                    until_ns = Some(until_ns.map_or(*first, sooner));
                }
                (None, _) => times_ns = Some(own.to_vec()),
                (Some(times_ns), _) => {
                    let same = times_ns.iter().zip(own).take_while(|(a, b)| a == b).count();
                    times_ns.truncate(same);
                }
            }
        }
        let mut times_ns = times_ns.unwrap_or_default();
        if let Some(until_ns) = until_ns {
            let is_before = |time_ns: &&i64| match self.select.descending {
                false => **time_ns < until_ns,
                true => **time_ns > until_ns,
            };
            times_ns.truncate(times_ns.iter().take_while(is_before).count());
        }
        Ok((times_ns.len(), times_ns))
    }
}

/// Whether the next row of an input has this head and time.
fn is_at(rows: &mut Peeking<'_>, head: &Arc<Head>, time_ns: i64) -> Result<bool, Error> {
    let is_here = rows.peek()?.map(|row| row.time_ns() == time_ns && is_same(row.head(), head));
    Ok(is_here == Some(true))
}

/// What a calculation comes to in each row.
fn calculated(calculate: &Calculate, times_ns: &[i64], slots: &[Column]) -> Column {
    match calculate {
        Calculate::Time => Column::Times(times_ns.to_vec()),
        Calculate::Slot(slot) => slots.get(*slot).cloned().unwrap_or_default(),
        Calculate::Constant(item) => Column::Same(item.clone(), times_ns.len()),
        calculate => {
            let mut row = vec![Item::Null; slots.len()];
            let mut of = |(at, time_ns): (usize, &i64)| {
                each_slot(calculate, &mut |slot| {
                    if let (Some(item), Some(column)) = (row.get_mut(slot), slots.get(slot)) {
                        *item = column.get(at).into_owned();
                    }
                });
                evaluate(calculate, *time_ns, &row)
            };
            times_ns.iter().enumerate().map(&mut of).collect()
        }
    }
}

/// A number that is none is no value to those who read the answer, but is no gap either.
fn tidy(values: &mut Column) {
    let of = |value: &mut f64| {
        if value.is_nan() {
            *value = f64::NAN;
        }
    };
    match values {
        Column::Floats(values) => values.iter_mut().for_each(of),
        Column::Same(Item::Float(value), _) => of(value),
        Column::Items(items) => {
            for item in items {
                if let Item::Float(value) = item {
                    of(value);
                }
            }
        }
        _ => {}
    }
}

/// The slot of each column whose values nobody needs any more when they have become the column: no
/// other column reads it.
fn moved(select: &Select) -> Vec<Option<usize>> {
    let mut readers = vec![0u32; select.slots];
    let mut count = |slot: usize| readers.get_mut(slot).into_iter().for_each(|of| *of += 1);
    select.columns.iter().for_each(|column| each_slot(&column.value, &mut count));
    let slot_of = |calculate: &Calculate| match calculate {
        Calculate::Slot(slot) => Some(*slot).filter(|slot| readers.get(*slot) == Some(&1)),
        _ => None,
    };
    select.columns.iter().map(|column| slot_of(&column.value)).collect()
}

/// Calls `each` with the slots that a calculation reads.
fn each_slot(calculate: &Calculate, each: &mut dyn FnMut(usize)) {
    match calculate {
        Calculate::Slot(slot) => each(*slot),
        Calculate::Time | Calculate::Constant(_) => {}
        Calculate::Binary { left, right, .. } => {
            each_slot(left, each);
            each_slot(right, each);
        }
        Calculate::Passes { text, .. } => each_slot(text, each),
        Calculate::Math { arguments, .. } => {
            arguments.iter().for_each(|argument| each_slot(argument, each));
        }
    }
}

fn compare(a: &Head, b: &Head) -> Ordering {
    a.measurement.cmp(&b.measurement).then_with(|| a.labels.cmp(&b.labels))
}

/// Puts what rows hold, or what stands for it, into the slots.
fn take(
    input: &Input,
    strip: Option<Strip>,
    rows: usize,
    absent: &Absent,
    (last, slots): (&mut [Item], &mut [Column]),
) {
    let mut put = |slot: &Slot, mut column: Column| {
        match absent {
            Absent::Value(Item::Null) => {}
            Absent::Value(default) => {
                let default = || match slot.kind {
                    Some(kind) => convert(default.clone(), kind),
                    None => default.clone(),
                };
                match &mut column {
                    Column::Floats(_) | Column::Integers(_) | Column::Times(_) => {}
                    Column::Same(item @ Item::Null, _) => *item = default(),
                    Column::Same(..) => {}
                    column => column.change(|items| {
                        let absent = items.iter_mut().filter(|item| item.is_null());
                        absent.for_each(|item| *item = default());
                    }),
                }
            }
            Absent::Previous => {
                let Some(last) = last.get_mut(slot.index) else { return };
                column.change(|items| {
                    for item in items {
                        match item.is_null() {
                            true => *item = last.clone(),
                            false => *last = item.clone(),
                        }
                    }
                });
            }
        }
        if let Some(slot) = slots.get_mut(slot.index) {
            *slot = column;
        }
    };
    match strip {
        Some(strip) => {
            if let Some(slot) = &input.value {
                put(slot, strip.value);
            }
            let carried = input.carried.iter().zip(strip.carried);
            carried.for_each(|(slot, column)| put(slot, column));
        }
        None => {
            let all = input.value.iter().chain(&input.carried);
            all.for_each(|slot| put(slot, Column::Same(Item::Null, rows)));
        }
    }
}

/// The rows of a selection as another one sees them.
pub(super) struct Within<'q> {
    plan: &'q Nested,
    rows: Joined<'q>,
    relabelled: Option<(Arc<Head>, Arc<Head>)>,
}

impl<'q> Within<'q> {
    pub(super) fn new(plan: &'q Nested, context: Context<'q>) -> Result<Self, Error> {
        Ok(Self { plan, rows: Joined::new(&plan.select, context)?, relabelled: None })
    }

    fn head(&mut self, head: Arc<Head>) -> Arc<Head> {
        let Some(names) = &self.plan.relabel else { return head };
        if let Some((from, to)) = &self.relabelled
            && Arc::ptr_eq(from, &head)
        {
            return to.clone();
        }
        let new = Arc::new(head.reduce(names));
        let new = match &self.relabelled {
            Some((_, to)) if *to == new => to.clone(),
            _ => new,
        };
        self.relabelled = Some((head, new.clone()));
        new
    }
}

/// `item` as a number of a kind, where nothing is calculated of it: what is no number is null.
fn carry(item: Item, kind: Kind) -> Item {
    match &item {
        Item::Float(v) if v.is_nan() && kind != Kind::Float => Item::Null,
        _ => convert(item, kind),
    }
}

/// What rows of a selection, all or some of them, have in a place.
fn taken(
    taken: &Taken,
    piece: &Piece,
    rows: Range<usize>,
    convert: &dyn Fn(Item, Kind) -> Item,
) -> Column {
    match taken {
        Taken::Column(index, kind) => {
            let column = piece.columns.get(*index).map(|column| column.cut(rows));
            match (column.unwrap_or_default(), kind) {
                (Column::Floats(values), Some(Kind::Float)) => Column::Floats(values),
                (Column::Integers(values), Some(Kind::Integer)) => Column::Integers(values),
                (column, Some(kind)) => {
                    column.iter().map(|item| convert(item.into_owned(), *kind)).collect()
                }
                (column, None) => column,
            }
        }
        Taken::Label(name) => Column::Same(Item::String(piece.head.label(name).into()), rows.len()),
        Taken::Nothing => Column::Same(Item::Null, rows.len()),
    }
}

impl Within<'_> {
    /// The rows of a piece that meet the condition, in runs.
    fn passing(&self, piece: &Piece, times_ns: &[i64]) -> Vec<Range<usize>> {
        let Some(condition) = &self.plan.condition else {
            return std::iter::once(0..piece.rows).collect();
        };
        let slots: Vec<Column> = self
            .plan
            .condition_slots
            .iter()
            .map(|each| taken(each, piece, 0..piece.rows, &carry))
            .collect();
        let mut runs: Vec<Range<usize>> = Vec::new();
        for (at, &time_ns) in times_ns.iter().enumerate() {
            let row: Vec<Item> = slots.iter().map(|slot| slot.get(at).into_owned()).collect();
            if super::calculate::holds(condition, time_ns, &row) {
                match runs.last_mut() {
                    Some(run) if run.end == at => run.end += 1,
                    _ => runs.push(at..at + 1),
                }
            }
        }
        runs
    }
}

impl Stream for Within<'_> {
    fn next(&mut self) -> Result<Option<Strip>, Error> {
        loop {
            let Some((piece, times_ns)) = self.rows.next()? else { return Ok(None) };
            let head = self.head(piece.head.clone());
            let mut strip = Strip::new(head, self.plan.carried.len());
            for rows in self.passing(&piece, &times_ns) {
                strip.times_ns.extend_from_slice(times_ns.get(rows.clone()).unwrap_or_default());
                let nothing = || Column::Same(Item::Null, rows.len());
                let of = |each: &Taken| taken(each, &piece, rows.clone(), &convert);
                strip.value.append(self.plan.value.as_ref().map_or_else(nothing, of));
                let of = |each: &Taken| taken(each, &piece, rows.clone(), &carry);
                for (column, each) in strip.carried.iter_mut().zip(&self.plan.carried) {
                    column.append(of(each));
                }
            }
            if !strip.is_empty() {
                return Ok(Some(strip));
            }
        }
    }
}
