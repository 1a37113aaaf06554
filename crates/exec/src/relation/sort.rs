//! Rows in order. All are held, unless the first few are wanted: then little more than these.

use super::effort::Effort;
use super::formula::calculated;
use super::strip::{Stream, Strip};
use crate::Error;
use crate::kernels::ternary;
use crate::limits::{Charge, Meter};
use crate::pieces::{ROWS, rows_of};
use crate::rows::sorted;
use foliot_model::{Column, Item};
use foliot_plan::relation::Order;
use std::borrow::Cow;
use std::cmp::Ordering;

/// Rows in order.
pub(super) struct Sorted<'q> {
    input: Option<Box<dyn Stream + 'q>>,
    by: &'q [Order],
    wanted: Option<u64>,
    /// The rows, once all are there.
    rows: std::vec::IntoIter<Row>,
    columns: usize,
    charge: Charge<'q>,
    meter: &'q Meter,
}

struct Row {
    keys: Vec<Item>,
    items: Vec<Item>,
}

impl Row {
    fn bytes(&self) -> usize {
        let items = self.keys.iter().chain(&self.items);
        size_of::<Self>()
            + items.map(|item| size_of::<Item>() + item.bytes_outside()).sum::<usize>()
    }
}

impl<'q> Sorted<'q> {
    pub(super) fn new(
        input: Box<dyn Stream + 'q>,
        by: &'q [Order],
        wanted: Option<u64>,
        meter: &'q Meter,
    ) -> Self {
        let (rows, charge) = (Vec::new().into_iter(), meter.open());
        Self { input: Some(input), by, wanted, rows, columns: 0, charge, meter }
    }

    /// Reads all rows and puts them in order.
    fn gather(&mut self, mut input: Box<dyn Stream + 'q>) -> Result<(), Error> {
        let order = |a: &Row, b: &Row| compare(self.by, a.keys.iter().map(Cow::Borrowed), &b.keys);
        let wanted = self.wanted.map(|wanted| usize::try_from(wanted).unwrap_or(usize::MAX));
        let room = wanted.map(|wanted| wanted.saturating_mul(2).saturating_add(ROWS));
        let (mut rows, mut bytes) = (Vec::new(), 0);
        // Behind the last of the first few nothing is wanted.
        let mut last: Option<Vec<Item>> = None;
        let effort = Effort::new(self.meter);
        while let Some(strip) = input.next()? {
            self.columns = strip.columns.len();
            self.meter.check(0)?;
            effort.next()?;
            let columns = self.by.iter().map(|order| calculated(&order.by, &strip, &effort));
            let columns = columns.collect::<Result<Vec<Column>, Error>>()?;
            for at in 0..strip.rows {
                let keys = || columns.iter().map(|column| column.get(at));
                if last.as_ref().is_some_and(|last| compare(self.by, keys(), last).is_ge()) {
                    continue;
                }
                let row = Row { keys: keys().map(Cow::into_owned).collect(), items: strip.row(at) };
                bytes += row.bytes();
                rows.push(row);
            }
            if let (Some(wanted), Some(room)) = (wanted, room)
                && rows.len() > room
            {
                rows = sorted(rows, order, self.meter)?;
                rows.truncate(wanted);
                last = rows.last().map(|row: &Row| row.keys.clone());
                bytes = rows.iter().map(Row::bytes).sum();
            }
            self.charge.resize(bytes)?;
        }
        // What is joined from two stretches stands there twice for a while.
        self.charge.resize(bytes + rows.len() * size_of::<Row>())?;
        rows = sorted(rows, order, self.meter)?;
        rows.truncate(wanted.unwrap_or(usize::MAX));
        self.rows = rows.into_iter();
        Ok(())
    }
}

/// The order of two rows by their keys; keys behind those that differ are not looked at.
pub(super) fn compare<'i>(
    by: &[Order],
    a: impl Iterator<Item = Cow<'i, Item>>,
    b: &[Item],
) -> Ordering {
    for ((order, a), b) in by.iter().zip(a).zip(b) {
        let first = |is_first: bool| if is_first { Ordering::Less } else { Ordering::Greater };
        let told = match (a.is_null(), b.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) => first(order.nulls_first),
            (false, true) => first(!order.nulls_first),
            (false, false) => {
                let values = ternary::order(&a, b).unwrap_or(Ordering::Equal);
                if order.descending { values.reverse() } else { values }
            }
        };
        if told.is_ne() {
            return told;
        }
    }
    Ordering::Equal
}

impl Stream for Sorted<'_> {
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
