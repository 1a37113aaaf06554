//! Pieces of tables: how many rows are made at a time, and what it takes to print them.
//!
//! Rows that are under way are charged where they are kept. What a question can multiply is their
//! width: a column that was read once may stand in an answer thousands of times, and so may its
//! texts. So wide rows go few at a time, and long texts are printed in small pieces.

use crate::Error;
use crate::limits::{Charge, Meter};
use foliot_model::{Column, Item, Table, TableHead};
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

/// Rows that are made at a time, unless they are very wide.
pub(crate) const ROWS: usize = 1024;
/// Columns of most answers, of which so many rows are made.
const COLUMNS: usize = 32;
/// Items that are made at a time of wider rows.
const ITEMS: usize = 16 << 10;

/// Bytes of texts that a piece of an answer has at most, unless one row has more: whoever prints it
/// holds it once more.
const TEXT_BYTES: usize = 256 << 10;

/// Receives tables; says whether it wants more.
pub(crate) type OnTable<'a> = &'a mut dyn FnMut(Table) -> ControlFlow<()>;

/// Rows that are made at a time where each has so many columns.
pub(crate) fn rows_of(columns: usize) -> usize {
    if columns <= COLUMNS { ROWS } else { (ITEMS / columns).max(1) }
}

/// Hands tables on, and charges what is held while they are made and printed.
pub(crate) struct Printing<'q, 'a> {
    on_table: OnTable<'a>,
    charge: Charge<'q>,
}

impl<'q, 'a> Printing<'q, 'a> {
    pub(crate) fn new(meter: &'q Meter, on_table: OnTable<'a>) -> Self {
        Self { on_table, charge: meter.open() }
    }

    /// Hands a piece of a table on, or several if its texts are long.
    ///
    /// # Errors
    /// When there is no memory to print it.
    pub(crate) fn print(
        &mut self,
        head: &Arc<TableHead>,
        columns: Vec<Column>,
        rows: usize,
        is_last: bool,
    ) -> Result<ControlFlow<()>, Error> {
        let runs = runs(&columns, rows, TEXT_BYTES);
        if let [(_, text_bytes)] = &*runs {
            self.hold(rows * columns.len(), *text_bytes)?;
            return Ok((self.on_table)(Table { head: head.clone(), columns, is_last }));
        }
        for (run, text_bytes) in runs {
            self.hold(rows * columns.len(), text_bytes)?;
            let is_last = is_last && run.end == rows;
            let columns = columns.iter().map(|column| column.cut(run.clone())).collect();
            if (self.on_table)(Table { head: head.clone(), columns, is_last }).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Charges for items that are printed: a number is there once as it is and once as digits.
    /// Printed, texts are there once more, and there is room for them to grow.
    fn hold(&mut self, items: usize, text_bytes: usize) -> Result<(), Error> {
        let items_bytes = items.saturating_mul(size_of::<Item>());
        self.charge.resize(items_bytes.saturating_add(text_bytes.saturating_mul(2)))
    }
}

/// The rows in runs whose texts have so many bytes at most, unless one row alone has more; and how
/// many each run has, at most.
fn runs(columns: &[Column], rows: usize, text_bytes_max: usize) -> Vec<(Range<usize>, usize)> {
    // Of most tables a look at each column tells that there is little.
    let most = columns.iter().map(text_bytes_most).fold(0, usize::saturating_add);
    if most <= text_bytes_max {
        return std::iter::once((0..rows, most)).collect();
    }
    let mut runs: Vec<(Range<usize>, usize)> = Vec::new();
    for at in 0..rows {
        let bytes = columns.iter().map(|column| text_bytes(column, at)).sum::<usize>();
        match runs.last_mut() {
            Some((run, all)) if all.saturating_add(bytes) <= text_bytes_max => {
                run.end += 1;
                *all += bytes;
            }
            _ => runs.push((at..at + 1, bytes)),
        }
    }
    runs
}

/// Bytes that the texts of a column have at most.
fn text_bytes_most(column: &Column) -> usize {
    match column {
        Column::Floats(_) | Column::Integers(_) | Column::Times(_) => 0,
        Column::Same(item, rows) => length(item).saturating_mul(*rows),
        Column::Coded(items, codes) if items.len() <= codes.len() => {
            items.iter().map(length).max().unwrap_or_default().saturating_mul(codes.len())
        }
        Column::Coded(_, codes) => (0..codes.len()).map(|at| text_bytes(column, at)).sum(),
        Column::Items(items) => items.iter().map(length).sum(),
    }
}

/// Bytes of the text that a column has in a row.
fn text_bytes(column: &Column, at: usize) -> usize {
    let item = match column {
        Column::Same(item, _) => Some(item),
        Column::Coded(items, codes) => codes.get(at).and_then(|code| items.get(*code as usize)),
        Column::Items(items) => items.get(at),
        Column::Floats(_) | Column::Integers(_) | Column::Times(_) => None,
    };
    item.map_or(0, length)
}

/// Bytes of an item that is a text.
fn length(item: &Item) -> usize {
    match item {
        Item::String(text) => text.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{Cancel, Limits};

    fn texts(count: usize, bytes: usize) -> Column {
        let text: Arc<str> = "x".repeat(bytes).into();
        // Items of two kinds do not become one.
        let item = |at: usize| match at % 2 {
            0 => Item::String(text.clone()),
            _ => Item::String("x".repeat(bytes).into()),
        };
        (0..count).map(item).collect()
    }

    /// What is printed at a time is small, however long texts are that come again and again.
    #[test]
    fn tables_come_in_pieces_of_little_text() {
        let numbers: Column = (0..1000).map(Item::Integer).collect();
        let columns = [texts(1000, 300), numbers];
        let pieces = runs(&columns, 1000, 1000);
        assert_eq!(pieces.len(), 334);
        assert_eq!(pieces[..2], [(0..3, 900), (3..6, 900)]);
        assert_eq!(pieces.last(), Some(&(999..1000, 300)));
        let wide = runs(&columns, 1000, 10);
        assert_eq!((wide.len(), &wide[0]), (1000, &(0..1, 300)), "a row alone may have more");
        assert_eq!(runs(&columns, 1000, 1 << 20), [(0..1000, 300_000)]);
        let list: Arc<[Item]> = [Item::Null, Item::String("four".into())].into();
        let coded = |codes: &[u32]| Column::Coded(list.clone(), codes.to_vec());
        assert_eq!(text_bytes_most(&coded(&[1])), 4);
        assert_eq!(text_bytes_most(&coded(&[0, 1, 0])), 12, "by the longest");
    }

    #[test]
    fn wide_rows_are_made_few_at_a_time() {
        assert_eq!([1, 32, 33, 1_000, 1 << 20].map(rows_of), [1024, 1024, 496, 16, 1]);
    }

    #[test]
    fn texts_are_charged_before_they_are_printed() {
        let limits = Limits { memory_bytes: 400 << 10, ..Limits::default() };
        let meter = Meter::new(limits, Cancel::default());
        let columns: Arc<[Arc<str>]> = ["t".into()].into();
        let head = Arc::new(TableHead { name: "m".into(), labels: Vec::new(), columns });
        let mut rows = 0;
        let on_table = &mut |table: Table| {
            rows += table.row_count();
            ControlFlow::Continue(())
        };
        let mut printing = Printing::new(&meter, on_table);
        assert!(printing.print(&head, vec![texts(100, 1000)], 100, false).unwrap().is_continue());
        let error = printing.print(&head, vec![texts(600, 1000)], 600, true).unwrap_err();
        assert!(matches!(error, Error::Memory { .. }), "{error}");
        assert_eq!(rows, 100);
    }
}
