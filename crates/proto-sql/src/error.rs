//! Why a statement is not carried out, and where it says so.

use sqlparser::tokenizer::Span;
use std::fmt;

/// Why a statement cannot be read or planned: what is wrong, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    message: String,
    position: Option<(usize, usize)>,
}

impl SqlError {
    /// An error that no place of the text is to blame for.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), position: None }
    }

    /// An error at the beginning of a piece of the text.
    pub(crate) fn at(span: Span, message: impl Into<String>) -> Self {
        Self { position: place(span.start.line, span.start.column), ..Self::new(message) }
    }

    /// An error of the grammar, which says itself where it is.
    pub(crate) fn of_grammar(message: &str) -> Self {
        const MARK: &str = " at Line: ";
        let place = message.rsplit_once(MARK).and_then(|(text, place)| {
            let (line, column) = place.split_once(", Column: ")?;
            Some((text, self::place(line.parse().ok()?, column.trim().parse().ok()?)))
        });
        let (text, position) = place.unwrap_or((message, None));
        let text = text.replace("Expected: ", "expected ").replace(", found: ", ", found ");
        let text = text.trim_start_matches("sql parser error: ").to_owned();
        Self { position, ..Self::new(text) }
    }

    /// Where: line and column, both counted from 1; nothing where no place is to blame.
    pub const fn position(&self) -> Option<(usize, usize)> {
        self.position
    }
}

fn place(line: u64, column: u64) -> Option<(usize, usize)> {
    let place = (usize::try_from(line).ok()?, usize::try_from(column).ok()?);
    (line > 0 && column > 0).then_some(place)
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match self.position {
            Some((line, column)) => write!(f, " at line {line}, column {column}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for SqlError {}
