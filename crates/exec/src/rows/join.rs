//! Selections: rows of several inputs joined by head and time, and the columns made of them.

use super::calculate::{convert, evaluate};
use super::quick::Readings;
use super::row::{Head, Peeking, Row, Stream, is_same};
use super::{Context, open};
use crate::Error;
use foliot_model::{Item, Kind};
use foliot_plan::rows::{Absent, Calculate, Column, Input, Nested, Select, Slot, Taken};
use std::cmp::Ordering;
use std::sync::Arc;

/// The rows of a table.
pub(super) struct Joined<'q> {
    select: &'q Select,
    inputs: Vec<(&'q Input, Peeking<'q>)>,
    slots: Vec<Item>,
    /// Slots that are columns as they are, which take the value away; nothing for other columns.
    moved: Vec<Option<usize>>,
    /// The head of the last row, and its columns.
    pub(super) head: Option<Arc<Head>>,
    pub(super) columns: Vec<Item>,
}

impl<'q> Joined<'q> {
    pub(super) fn new(select: &'q Select, context: Context<'q>) -> Result<Self, Error> {
        // What folds of several inputs read, they read together.
        let readings = Readings::default();
        let mut inputs = Vec::with_capacity(select.inputs.len());
        for input in &select.inputs {
            inputs.push((input, Peeking::new(open(&input.rows, None, &readings, context)?)));
        }
        Ok(Self {
            select,
            inputs,
            slots: vec![Item::Null; select.slots],
            moved: moved(select),
            head: None,
            columns: Vec::new(),
        })
    }

    /// The time of the next row, whose head and columns are then here.
    pub(super) fn next(&mut self) -> Result<Option<i64>, Error> {
        let Some(time_ns) = self.next_key()? else { return Ok(None) };
        let head = self.head.as_ref();
        for (input, rows) in &mut self.inputs {
            let is_here = |row: &Row| {
                row.time_ns == time_ns && head.is_some_and(|head| is_same(&row.head, head))
            };
            let row = match rows.peek()?.is_some_and(is_here) {
                true => rows.next()?,
                false => None,
            };
            take(input, row, &self.select.absent, &mut self.slots);
        }
        self.columns.clear();
        for (column, moved) in self.select.columns.iter().zip(&self.moved) {
            let item = match moved.and_then(|slot| self.slots.get_mut(slot)) {
                Some(slot) => std::mem::take(slot),
                None => evaluate(&column.value, time_ns, &self.slots),
            };
            self.columns.push(match item {
                // A number that is none is no value to those who read the answer, but is no gap
                // either.
                Item::Float(value) if value.is_nan() => Item::Float(f64::NAN),
                item => item,
            });
        }
        Ok(Some(time_ns))
    }

    /// The time that comes next, with its head.
    fn next_key(&mut self) -> Result<Option<i64>, Error> {
        let mut key: Option<(Arc<Head>, i64)> = None;
        let is_one = self.inputs.len() == 1;
        for (_, rows) in &mut self.inputs {
            let Some(row) = rows.peek()? else { continue };
            if is_one && self.head.as_ref().is_some_and(|head| is_same(head, &row.head)) {
                return Ok(Some(row.time_ns));
            }
            let comes_first = key.as_ref().is_none_or(|(head, time_ns)| {
                let heads = match is_same(&row.head, head) {
                    true => Ordering::Equal,
                    false => compare(&row.head, head),
                };
                let order = heads.then(row.time_ns.cmp(time_ns));
                if self.select.descending { order.is_gt() } else { order.is_lt() }
            });
            if comes_first {
                key = Some((row.head.clone(), row.time_ns));
            }
        }
        let Some((head, time_ns)) = key else { return Ok(None) };
        if self.head.as_ref().is_none_or(|last| !is_same(last, &head)) {
            self.slots.fill(Item::Null);
            self.head = Some(head);
        }
        Ok(Some(time_ns))
    }
}

/// The slot of each column whose value nobody needs any more when it has become the column: each
/// row fills all slots, and no other column reads this one.
fn moved(select: &Select) -> Vec<Option<usize>> {
    let mut readers = vec![0u32; select.slots];
    let mut count = |slot: usize| readers.get_mut(slot).into_iter().for_each(|of| *of += 1);
    select.columns.iter().for_each(|column| each_slot(&column.value, &mut count));
    let is_filled = matches!(select.absent, Absent::Value(_));
    let slot_of = |column: &Column| match column.value {
        Calculate::Slot(slot) => Some(slot).filter(|slot| readers.get(*slot) == Some(&1)),
        _ => None,
    };
    select.columns.iter().map(|column| slot_of(column).filter(|_| is_filled)).collect()
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

/// Puts what a row holds, or what stands for it, into the slots.
fn take(input: &Input, row: Option<Row>, absent: &Absent, slots: &mut [Item]) {
    let put = |slots: &mut [Item], slot: &Slot, item: Item| {
        let item = match (item, absent) {
            (Item::Null, Absent::Previous) => return,
            (Item::Null, Absent::Value(default)) => match slot.kind {
                Some(kind) => convert(default.clone(), kind),
                None => default.clone(),
            },
            (item, _) => item,
        };
        if let Some(slot) = slots.get_mut(slot.index) {
            *slot = item;
        }
    };
    match row {
        Some(row) => {
            if let Some(slot) = &input.value {
                put(slots, slot, row.value);
            }
            let carried = input.carried.iter().zip(row.carried);
            carried.for_each(|(slot, item)| put(slots, slot, item));
        }
        None => {
            let all = input.value.iter().chain(&input.carried);
            all.for_each(|slot| put(slots, slot, Item::Null));
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

fn taken(taken: &Taken, head: &Head, columns: &[Item]) -> Item {
    let as_kind = |item: Item, kind: &Option<Kind>| match kind {
        Some(kind) => convert(item, *kind),
        None => item,
    };
    match taken {
        Taken::Column(index, kind) => {
            as_kind(columns.get(*index).cloned().unwrap_or_default(), kind)
        }
        Taken::Label(name) => Item::String(head.label(name).into()),
        Taken::Nothing => Item::Null,
    }
}

impl Stream for Within<'_> {
    fn next(&mut self) -> Result<Option<Row>, Error> {
        loop {
            let Some(time_ns) = self.rows.next()? else { return Ok(None) };
            let Some(head) = self.rows.head.clone() else { return Ok(None) };
            let columns = &self.rows.columns;
            let taken = |each: &Taken| taken(each, &head, columns);
            if let Some(condition) = &self.plan.condition {
                let slots: Vec<Item> = self.plan.condition_slots.iter().map(taken).collect();
                if !super::calculate::holds(condition, time_ns, &slots) {
                    continue;
                }
            }
            let value = self.plan.value.as_ref().map_or(Item::Null, taken);
            let carried = self.plan.carried.iter().map(taken).collect();
            return Ok(Some(Row { head: self.head(head), time_ns, value, carried }));
        }
    }
}
