//! Reads answers of `/api/v3/query_sql`: comma-separated values, whose texts may have lines in
//! them.

use super::answer::Table;
use std::io::{self, BufRead};

/// Rows that are printed at a time.
const ROWS: usize = 1_000;

/// The rows of one answer, read as they come.
pub(super) struct Answer<R> {
    input: R,
    columns: Vec<String>,
    /// Most bytes of one row, which is held.
    row_bytes_max: u64,
}

impl<R: BufRead> Answer<R> {
    /// Reads the names of the columns; nothing where the answer is empty.
    ///
    /// # Errors
    /// When the answer is cut off.
    pub(super) fn begin(mut input: R, row_bytes_max: u64) -> io::Result<Option<Self>> {
        let columns = row(&mut input, row_bytes_max)?;
        Ok(columns.map(|columns| Self { input, columns, row_bytes_max }))
    }

    /// The next rows; nothing behind the last one.
    ///
    /// # Errors
    /// When the answer is cut off.
    pub(super) fn next(&mut self) -> io::Result<Option<Table>> {
        let mut rows = Vec::new();
        while rows.len() < ROWS
            && let Some(row) = row(&mut self.input, self.row_bytes_max)?
        {
            rows.push(row);
        }
        let (name, labels, columns) = (String::new(), Vec::new(), self.columns.clone());
        Ok((!rows.is_empty()).then_some(Table { name, labels, columns, rows }))
    }

    /// An answer without rows: the names of its columns.
    pub(super) fn heading(&self) -> Table {
        let (name, labels, columns) = (String::new(), Vec::new(), self.columns.clone());
        Table { name, labels, columns, rows: Vec::new() }
    }
}

/// The cells of the next row; nothing at the end.
fn row(input: &mut impl BufRead, bytes_max: u64) -> io::Result<Option<Vec<String>>> {
    let mut text = String::new();
    loop {
        let before = text.len();
        if io::Read::take(&mut *input, bytes_max).read_line(&mut text)? == 0 {
            break;
        }
        if text.len() as u64 >= bytes_max {
            return Err(io::Error::other("a row of the answer is too long to be held"));
        }
        // A line within quotes is not the end of the row.
        if text.matches('"').count().is_multiple_of(2) || text.len() == before {
            break;
        }
    }
    // The one cell of a row may be empty.
    let row = text.strip_suffix('\n').unwrap_or(&text);
    Ok((!text.is_empty()).then(|| cells(row)))
}

fn cells(row: &str) -> Vec<String> {
    let (mut cells, mut is_quoted) = (vec![String::new()], false);
    let mut chars = row.chars().peekable();
    while let Some(c) = chars.next() {
        let Some(cell) = cells.last_mut() else { break };
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(String::new()),
            c => cell.push(c),
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_may_have_lines_and_quotes_in_them() {
        let text = "a,b\n1,\"x, \"\"y\"\"\"\n,\"two\nlines\"\n\n";
        let mut answer = Answer::begin(text.as_bytes(), 100).unwrap().unwrap();
        assert_eq!(answer.heading().columns, ["a", "b"]);
        let table = answer.next().unwrap().unwrap();
        assert_eq!(table.rows, [vec!["1", "x, \"y\""], vec!["", "two\nlines"], vec![""]]);
        assert!(answer.next().unwrap().is_none());
        assert!(Answer::begin(&b""[..], 100).unwrap().is_none());
        assert!(Answer::begin(&b"a,b,c"[..], 3).is_err());
    }
}
