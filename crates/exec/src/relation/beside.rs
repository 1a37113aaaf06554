//! What is told of rows by their neighbours.
//!
//! 1. All rows are gathered, with the keys of their partition and order and the values that are
//!    looked at, and put in order.
//! 2. The rows of one partition after the other get what is told of them. A fold goes on from the
//!    frame of the row before, where the frame of a row begins with the same row; else it begins
//!    anew.

use super::effort::Effort;
use super::formula::calculated;
use super::sort::compare;
use super::strip::{Stream, Strip};
use crate::Error;
use crate::kernels::tally::{Choice, Figure, Tally};
use crate::limits::{Charge, Meter, Turns};
use crate::pieces::rows_of;
use crate::rows::sorted;
use foliot_model::{Column, Item};
use foliot_plan::relation::{Beside, Fold, Formula, Frame, Neighbours, Order, Windowed as Plan};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

/// Rows with what is told of each, partition by partition.
pub(super) struct Windowed<'q> {
    input: Option<Box<dyn Stream + 'q>>,
    plan: &'q Plan,
    /// Partition, then order.
    by: Vec<Order>,
    rows: std::vec::IntoIter<Row>,
    columns: usize,
    charge: Charge<'q>,
    meter: &'q Meter,
}

struct Row {
    /// Those of the partition, then those of the order.
    keys: Vec<Item>,
    /// Of each that is told: the value that is looked at, and the one that stands for none.
    looked_at: Vec<(Item, Item)>,
    /// What the row has; then what is told of it.
    items: Vec<Item>,
}

impl Row {
    fn bytes(&self) -> usize {
        let looked_at = self.looked_at.iter().flat_map(|(of, otherwise)| [of, otherwise]);
        let items = self.keys.iter().chain(&self.items).chain(looked_at);
        // What is told is a value that some row has, or a number, and stands beside its row once
        // more while it is told.
        size_of::<Self>()
            + size_of::<Peers>()
            + items.map(|item| size_of::<Item>() + item.bytes_outside()).sum::<usize>()
            + (self.looked_at.len() + 1) * size_of::<Item>()
    }
}

impl<'q> Windowed<'q> {
    pub(super) fn new(input: Box<dyn Stream + 'q>, plan: &'q Plan, meter: &'q Meter) -> Self {
        let key = |by: &Formula| Order { by: by.clone(), descending: false, nulls_first: false };
        let by = plan.partition.iter().map(key).chain(plan.order.iter().cloned()).collect();
        let (rows, charge) = (Vec::new().into_iter(), meter.open());
        Self { input: Some(input), plan, by, rows, columns: 0, charge, meter }
    }

    /// Reads all rows, puts them in order, and tells of each what is asked.
    fn gather(&mut self, mut input: Box<dyn Stream + 'q>) -> Result<(), Error> {
        let (mut rows, mut bytes) = (Vec::new(), 0);
        let effort = Effort::new(self.meter);
        let told = &self.plan.told;
        while let Some(strip) = input.next()? {
            self.meter.check(0)?;
            effort.next()?;
            let all = |formulas: &mut dyn Iterator<Item = &Formula>| {
                let columns = formulas.map(|formula| calculated(formula, &strip, &effort));
                columns.collect::<Result<Vec<Column>, Error>>()
            };
            let keys = all(&mut self.by.iter().map(|order| &order.by))?;
            let of = all(&mut told.iter().map(|beside| &beside.of))?;
            let otherwise = all(&mut told.iter().map(|beside| &beside.otherwise))?;
            for at in 0..strip.rows {
                let own = |column: &Column| column.get(at).into_owned();
                let mut items = Vec::with_capacity(strip.columns.len() + told.len());
                items.extend(strip.columns.iter().map(own));
                let row = Row {
                    keys: keys.iter().map(own).collect(),
                    looked_at: of.iter().map(own).zip(otherwise.iter().map(own)).collect(),
                    items,
                };
                bytes += row.bytes();
                rows.push(row);
            }
            self.columns = strip.columns.len() + told.len();
            self.charge.resize(bytes)?;
        }
        // What is joined from two stretches stands there twice for a while.
        self.charge.resize(bytes + rows.len() * size_of::<Row>())?;
        let order = |a: &Row, b: &Row| compare(&self.by, a.keys.iter().map(Cow::Borrowed), &b.keys);
        let mut rows = sorted(rows, order, self.meter)?;
        self.tell(&mut rows)?;
        self.rows = rows.into_iter();
        Ok(())
    }

    fn tell(&self, rows: &mut [Row]) -> Result<(), Error> {
        let partition = self.plan.partition.len();
        let by = self.by.get(..partition).unwrap_or_default();
        let mut turns = Turns::default();
        let mut left = rows;
        while let Some(first) = left.first() {
            let first = first.keys.clone();
            let is_other = |row: &Row| {
                compare(by, row.keys.iter().map(Cow::Borrowed), &first) != Ordering::Equal
            };
            let mut end = 1;
            while left.get(end).is_some_and(|row| !is_other(row)) {
                turns.turn(self.meter)?;
                end += 1;
            }
            let (own, others) = std::mem::take(&mut left).split_at_mut(end);
            self.tell_partition(own, &mut turns)?;
            left = others;
        }
        Ok(())
    }

    /// Tells of the rows of one partition.
    fn tell_partition(&self, rows: &mut [Row], turns: &mut Turns) -> Result<(), Error> {
        let peers = self.peers(rows, turns)?;
        for (at, beside) in self.plan.told.iter().enumerate() {
            let mut telling = Telling { rows: &*rows, peers: &peers, at, fold: Folding::default() };
            let mut told = Vec::with_capacity(telling.rows.len());
            for row in 0..telling.rows.len() {
                turns.turn(self.meter)?;
                told.push(telling.told(beside, row, (&mut *turns, self.meter))?);
            }
            for (row, item) in rows.iter_mut().zip(told) {
                row.items.push(item);
            }
        }
        Ok(())
    }

    /// Of each row where its peers begin and end, and how many groups of peers are before them.
    fn peers(&self, rows: &[Row], turns: &mut Turns) -> Result<Vec<Peers>, Error> {
        let partition = self.plan.partition.len();
        let by = &self.plan.order;
        let keys = |row: &Row| row.keys.get(partition..).unwrap_or_default().to_vec();
        let (mut peers, mut groups) = (Vec::with_capacity(rows.len()), 0);
        while let Some(first) = rows.get(peers.len()) {
            let (begin, first) = (peers.len(), keys(first));
            let mut end = begin + 1;
            while let Some(row) = rows.get(end) {
                turns.turn(self.meter)?;
                let own = row.keys.iter().skip(partition).map(Cow::Borrowed);
                if compare(by, own, &first).is_ne() {
                    break;
                }
                end += 1;
            }
            peers.resize(end, Peers { rows: begin..end, groups });
            groups += 1;
        }
        Ok(peers)
    }
}

impl Stream for Windowed<'_> {
    fn next(&mut self) -> Result<Option<Strip>, Error> {
        if let Some(input) = self.input.take() {
            self.gather(input)?;
        }
        self.meter.check(0)?;
        let mut strip = Strip::new(self.columns);
        for row in self.rows.by_ref().take(rows_of(self.columns)) {
            strip.push(row.items);
        }
        Ok((strip.rows > 0).then_some(strip))
    }
}

/// Rows that nothing in their order tells apart.
#[derive(Clone)]
struct Peers {
    rows: Range<usize>,
    /// How many groups of peers come before them.
    groups: usize,
}

/// One of the things that are told of the rows of a partition.
struct Telling<'r> {
    rows: &'r [Row],
    peers: &'r [Peers],
    /// Which one.
    at: usize,
    fold: Folding,
}

/// A fold of a frame, which may go on with the next one.
#[derive(Default)]
struct Folding {
    frame: Range<usize>,
    tally: Option<Tally>,
    /// What it comes to, while nothing is added.
    result: Option<Item>,
}

impl Telling<'_> {
    fn told(
        &mut self,
        beside: &Beside,
        row: usize,
        (turns, meter): (&mut Turns, &Meter),
    ) -> Result<Item, Error> {
        let none = Peers { rows: row..row + 1, groups: 0 };
        let peers = self.peers.get(row).unwrap_or(&none);
        let number = |number: usize| Item::Integer(i64::try_from(number).unwrap_or(i64::MAX));
        Ok(match beside.what {
            Neighbours::Number => number(row + 1),
            Neighbours::Rank => number(peers.rows.start + 1),
            Neighbours::DenseRank => number(peers.groups + 1),
            Neighbours::Shifted(by) => {
                let place = i64::try_from(row).ok().and_then(|row| row.checked_add(by));
                match place.and_then(|place| self.value(usize::try_from(place).ok()?)) {
                    Some(value) => value.clone(),
                    None => self.otherwise(row),
                }
            }
            Neighbours::First(frame) => {
                let frame = self.frame(frame, row, peers);
                let first = self.value(frame.start).filter(|_| !frame.is_empty());
                first.cloned().unwrap_or_default()
            }
            Neighbours::Last(frame) => {
                let frame = self.frame(frame, row, peers);
                let last = frame.end.checked_sub(1).filter(|_| !frame.is_empty());
                last.and_then(|last| self.value(last)).cloned().unwrap_or_default()
            }
            Neighbours::Folded(fold, frame) => {
                let frame = self.frame(frame, row, peers);
                self.folded(fold, frame, (turns, meter))?
            }
        })
    }

    fn value(&self, row: usize) -> Option<&Item> {
        self.rows.get(row)?.looked_at.get(self.at).map(|(value, _)| value)
    }

    fn otherwise(&self, row: usize) -> Item {
        let looked_at = self.rows.get(row).and_then(|row| row.looked_at.get(self.at));
        looked_at.map(|(_, otherwise)| otherwise.clone()).unwrap_or_default()
    }

    /// The rows of the frame of a row, which may be none.
    fn frame(&self, frame: Frame, row: usize, peers: &Peers) -> Range<usize> {
        let all = self.rows.len();
        let Frame::Rows(from, to) = frame else { return 0..peers.rows.end };
        // No partition has as many rows as would make this overflow.
        let place = |by: i64| (row as i64).saturating_add(by).clamp(0, all as i64) as usize;
        let from = from.map_or(0, place);
        let to = to.map_or(all, |to| place(to.saturating_add(1)));
        from..to.max(from)
    }

    fn folded(
        &mut self,
        fold: Fold,
        frame: Range<usize>,
        (turns, meter): (&mut Turns, &Meter),
    ) -> Result<Item, Error> {
        let before = &self.fold.frame;
        let goes_on =
            self.fold.tally.is_some() && before.start == frame.start && before.end <= frame.end;
        if !goes_on {
            // Rows that were looked at for the row before are work once more.
            meter.check(frame.len())?;
            self.fold = Folding { frame: frame.start..frame.start, ..Folding::default() };
        }
        let mut tally = self.fold.tally.take().unwrap_or_else(|| Tally::new(figure(fold)));
        for row in self.fold.frame.end..frame.end {
            turns.turn(meter)?;
            let value = self.value(row).filter(|value| fold == Fold::Rows || !value.is_null());
            if let Some(value) = value {
                tally.add(0, value.clone());
                self.fold.result = None;
            }
        }
        self.fold.frame = frame;
        let result = self.fold.result.take().unwrap_or_else(|| tally.clone().finish().1);
        self.fold.result = Some(result.clone());
        self.fold.tally = Some(tally);
        Ok(result)
    }
}

/// What a fold asks of values whose times do not matter.
fn figure(fold: Fold) -> Figure {
    match fold {
        Fold::Sum => Figure::WideSum,
        Fold::Mean => Figure::WideMean,
        Fold::Smallest => Figure::Choice(Choice::Smallest),
        Fold::Largest => Figure::Choice(Choice::Largest),
        _ => Figure::Count,
    }
}
