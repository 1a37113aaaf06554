//! Rows on their way through operators: strips of rows of one head, column by column.

use super::row::{Head, Row, is_same};
use crate::Error;
use crate::limits::{Meter, Turns};
use crate::pieces::{ROWS, rows_of};
use foliot_model::{Column, Item};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Rows of the first strip that is put together row by row: who wants few rows pays for few.
const FIRST_ROWS: usize = 8;

/// Successive rows of one head.
#[derive(Clone, Debug)]
pub(super) struct Strip {
    pub(super) head: Arc<Head>,
    pub(super) times_ns: Vec<i64>,
    /// What operators calculate with; nulls where rows only carry.
    pub(super) value: Column,
    pub(super) carried: Vec<Column>,
}

impl Strip {
    /// No rows yet, which carry so much.
    pub(super) fn new(head: Arc<Head>, carried: usize) -> Self {
        let carried = (0..carried).map(|_| Column::default()).collect();
        Self { head, times_ns: Vec::new(), value: Column::default(), carried }
    }

    pub(super) fn len(&self) -> usize {
        self.times_ns.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.times_ns.is_empty()
    }

    /// Adds a row, of the same head.
    pub(super) fn push(
        &mut self,
        time_ns: i64,
        value: Item,
        carried: impl IntoIterator<Item = Item>,
    ) {
        self.times_ns.push(time_ns);
        self.value.push(value);
        self.carried.iter_mut().zip(carried).for_each(|(column, item)| column.push(item));
    }

    /// Adds rows of another strip of the same head.
    pub(super) fn extend_from(&mut self, other: &Self, rows: Range<usize>) {
        self.times_ns.extend_from_slice(other.times_ns.get(rows.clone()).unwrap_or_default());
        self.value.extend_from(&other.value, rows.clone());
        for (own, other) in self.carried.iter_mut().zip(&other.carried) {
            own.extend_from(other, rows.clone());
        }
    }

    /// Some of the rows, which are there.
    pub(super) fn cut(&self, rows: Range<usize>) -> Self {
        Self {
            head: self.head.clone(),
            times_ns: self.times_ns.get(rows.clone()).unwrap_or_default().to_vec(),
            value: self.value.cut(rows.clone()),
            carried: self.carried.iter().map(|column| column.cut(rows.clone())).collect(),
        }
    }

    /// The same without what lies behind so many rows.
    pub(super) fn truncated(self, rows: usize) -> Self {
        if self.len() <= rows { self } else { self.cut(0..rows) }
    }

    /// The rows from the last to the first.
    pub(super) fn reverse(&mut self) {
        self.times_ns.reverse();
        self.value.reverse();
        self.carried.iter_mut().for_each(Column::reverse);
    }

    /// Memory held, by estimate.
    pub(super) fn bytes(&self) -> usize {
        let columns = self.carried.iter().chain([&self.value]);
        let bytes = |column: &Column| size_of::<Column>() + column.bytes();
        size_of::<Self>() + self.len() * size_of::<i64>() + columns.map(bytes).sum::<usize>()
    }
}

/// Strips of rows, one after the other.
pub(super) trait Stream {
    /// The next strip, which has rows; nothing at the end.
    fn next(&mut self) -> Result<Option<Strip>, Error>;
}

/// What makes its rows one by one.
pub(super) trait RowByRow {
    /// The next row; nothing at the end.
    fn next_row(&mut self) -> Result<Option<Row>, Error>;
}

/// Strips of what makes its rows one by one.
pub(super) struct Gathered<R> {
    rows: R,
    /// The first row of the next strip.
    ahead: Option<Row>,
    rows_max: usize,
    is_ended: bool,
}

impl<R: RowByRow> Gathered<R> {
    pub(super) fn new(rows: R) -> Self {
        Self { rows, ahead: None, rows_max: FIRST_ROWS, is_ended: false }
    }

    fn next_row(&mut self) -> Result<Option<Row>, Error> {
        if self.is_ended {
            return Ok(None);
        }
        let row = self.rows.next_row()?;
        self.is_ended = row.is_none();
        Ok(row)
    }
}

impl<R: RowByRow> Stream for Gathered<R> {
    fn next(&mut self) -> Result<Option<Strip>, Error> {
        let first = match self.ahead.take() {
            Some(row) => Some(row),
            None => self.next_row()?,
        };
        let Some(Row { head, time_ns, value, carried }) = first else { return Ok(None) };
        let mut strip = Strip::new(head, carried.len());
        strip.push(time_ns, value, carried);
        let rows_max = self.rows_max.min(rows_of(strip.carried.len() + 1));
        while strip.len() < rows_max
            && let Some(row) = self.next_row()?
        {
            if !is_same(&row.head, &strip.head) {
                self.ahead = Some(row);
                break;
            }
            strip.push(row.time_ns, row.value, row.carried);
        }
        self.rows_max = longer(self.rows_max);
        Ok(Some(strip))
    }
}

/// How long the strip behind one of so many rows may be, unless it is very wide.
pub(super) fn longer(rows_max: usize) -> usize {
    (rows_max * 4).clamp(FIRST_ROWS, ROWS)
}

/// A row where it lies.
#[derive(Clone, Copy)]
pub(super) struct Here<'a> {
    strip: &'a Strip,
    at: usize,
}

impl<'a> Here<'a> {
    pub(super) fn head(self) -> &'a Arc<Head> {
        &self.strip.head
    }

    pub(super) fn time_ns(self) -> i64 {
        self.strip.times_ns.get(self.at).copied().unwrap_or_default()
    }

    pub(super) fn value(self) -> Cow<'a, Item> {
        self.strip.value.get(self.at)
    }

    pub(super) fn carried(self) -> impl Iterator<Item = Cow<'a, Item>> {
        self.strip.carried.iter().map(move |column| column.get(self.at))
    }
}

/// Rows of which the next one can be looked at.
pub(super) struct Peeking<'q> {
    input: Box<dyn Stream + 'q>,
    strip: Option<Strip>,
    at: usize,
    is_ended: bool,
    meter: &'q Meter,
    /// Strips that were read, whatever became of them.
    turns: Turns,
}

impl<'q> Peeking<'q> {
    pub(super) fn new(input: Box<dyn Stream + 'q>, meter: &'q Meter) -> Self {
        let turns = Turns::default();
        Self { input, strip: None, at: 0, is_ended: false, meter, turns }
    }

    /// The next row, where it lies.
    pub(super) fn peek(&mut self) -> Result<Option<Here<'_>>, Error> {
        Ok(self.rest()?.map(|(strip, at)| Here { strip, at }))
    }

    /// The strip of the next row, and where in it the row is.
    pub(super) fn rest(&mut self) -> Result<Option<(&Strip, usize)>, Error> {
        if self.strip.as_ref().is_none_or(|strip| self.at >= strip.len()) && !self.is_ended {
            self.turns.turn(self.meter)?;
            (self.strip, self.at) = (self.input.next()?, 0);
            self.is_ended = self.strip.is_none();
        }
        let at = self.at;
        Ok(self.strip.as_ref().filter(|strip| at < strip.len()).map(|strip| (strip, at)))
    }

    /// Passes over rows of the strip of the next row.
    pub(super) fn skip(&mut self, rows: usize) {
        self.at += rows;
    }

    /// Takes so many rows, which the strip of the next row has.
    pub(super) fn take(&mut self, rows: usize) -> Option<Strip> {
        let at = self.at;
        self.at += rows;
        match self.strip.take() {
            Some(strip) if at == 0 && rows == strip.len() => Some(strip),
            Some(strip) => {
                let taken = strip.cut(at..at + rows);
                self.strip = Some(strip);
                Some(taken)
            }
            None => None,
        }
    }

    /// The next row.
    pub(super) fn next(&mut self) -> Result<Option<Row>, Error> {
        let row = self.peek()?.map(|here| Row {
            head: here.head().clone(),
            time_ns: here.time_ns(),
            value: here.value().into_owned(),
            carried: here.carried().map(Cow::into_owned).collect(),
        });
        self.at += usize::from(row.is_some());
        Ok(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{Cancel, Limits};

    /// Rows of such times, which carry so much.
    struct Counted(std::ops::Range<i64>, usize);

    impl RowByRow for Counted {
        fn next_row(&mut self) -> Result<Option<Row>, Error> {
            let row = |time_ns: i64| {
                let measurement = (time_ns / 100).to_string().into();
                let head = Arc::new(Head { measurement, labels: Vec::new() });
                Row {
                    head,
                    time_ns,
                    value: Item::Integer(time_ns),
                    carried: vec![Item::Null; self.1],
                }
            };
            Ok(self.0.next().map(row))
        }
    }

    /// The first strips are short, strips end with their heads, and no row is lost.
    #[test]
    fn rows_come_in_strips_of_one_head() {
        let mut strips = Gathered::new(Counted(0..250, 1));
        let mut lengths = Vec::new();
        let mut times_ns = Vec::new();
        while let Some(strip) = strips.next().unwrap() {
            lengths.push(strip.len());
            times_ns.extend(strip.times_ns);
        }
        assert_eq!(lengths, [8, 32, 60, 100, 50]);
        assert_eq!(times_ns, (0..250).collect::<Vec<_>>());
    }

    #[test]
    fn wide_rows_come_in_short_strips() {
        let mut strips = Gathered::new(Counted(0..100, 1_023));
        let lengths = std::iter::from_fn(|| strips.next().unwrap().map(|strip| strip.len()));
        assert_eq!(lengths.collect::<Vec<_>>(), [8, 16, 16, 16, 16, 16, 12]);
    }

    #[test]
    fn rows_are_taken_one_by_one_and_some_at_a_time() {
        let meter = Meter::new(Limits::default(), Cancel::default());
        let mut rows = Peeking::new(Box::new(Gathered::new(Counted(0..100, 1))), &meter);
        assert_eq!(rows.peek().unwrap().unwrap().time_ns(), 0);
        assert_eq!(rows.next().unwrap().unwrap().time_ns, 0);
        assert_eq!(rows.take(3).unwrap().times_ns, [1, 2, 3]);
        rows.skip(4);
        assert_eq!(rows.rest().unwrap().map(|(strip, at)| (strip.len(), at)), Some((32, 0)));
        assert_eq!(rows.take(32).unwrap().times_ns, (8..40).collect::<Vec<_>>());
        let left = std::iter::from_fn(|| rows.next().unwrap()).count();
        assert_eq!(left, 60);
        assert!(rows.peek().unwrap().is_none());
    }
}
