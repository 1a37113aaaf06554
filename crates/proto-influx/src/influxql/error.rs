//! Errors of parsing, in InfluxDB's words.

use std::fmt;

/// Why a query could not be parsed. InfluxDB answers `error parsing query: ` and this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    pub(super) message: String,
    /// Line and character, both counted from 0.
    pub(super) position: Option<(usize, usize)>,
}

impl ParseError {
    /// Where: line and column, both counted from 1; nothing where no place is to blame.
    pub fn position(&self) -> Option<(usize, usize)> {
        self.position.map(|(line, char)| (line + 1, char + 1))
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match self.position {
            Some((line, char)) => write!(f, " at line {}, char {}", line + 1, char + 1),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ParseError {}
