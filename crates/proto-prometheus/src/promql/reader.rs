//! What is left of a text, and where it is wrong.

use std::fmt;

/// Why a text is no expression, and where: as Prometheus says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    line: usize,
    column: usize,
    reason: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: parse error: {}", self.line, self.column, self.reason)
    }
}

impl ParseError {
    /// Line and column at which it was found, counted from 1.
    pub fn position(&self) -> (usize, usize) {
        (self.line, self.column)
    }

    /// What is wrong, without the place.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Where a byte of a text stands.
    pub(crate) fn line_and_column(text: &str, at: usize) -> (usize, usize) {
        let before = text.get(..at).unwrap_or(text);
        let column = before.rsplit('\n').next().unwrap_or_default().len() + 1;
        (before.matches('\n').count() + 1, column)
    }
}

/// What is left of a text.
pub(crate) struct Reader<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: usize,
    pub(crate) dialect: super::Dialect,
    /// Whether selectors may be such that any series fits.
    pub(crate) allows_any: bool,
}

impl<'a> Reader<'a> {
    pub(crate) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Whether `piece` came next, which is then behind.
    pub(crate) fn takes(&mut self, piece: &str) -> bool {
        let is_next = self.rest().starts_with(piece);
        self.at += if is_next { piece.len() } else { 0 };
        is_next
    }

    pub(crate) fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            let bare = rest.trim_start_matches([' ', '\t', '\n', '\r']);
            self.at += rest.len() - bare.len();
            if !bare.starts_with('#') {
                return;
            }
            self.at += bare.find('\n').unwrap_or(bare.len());
        }
    }

    pub(crate) fn error(&self, reason: impl Into<String>) -> ParseError {
        let (line, column) = ParseError::line_and_column(self.text, self.at);
        ParseError { line, column, reason: reason.into() }
    }

    /// An error of what begins at a byte.
    pub(crate) fn error_at(&self, start: usize, reason: impl Into<String>) -> ParseError {
        Reader { at: start, ..*self }.error(reason)
    }

    pub(crate) fn unexpected(&self, context: &str, expected: &str) -> ParseError {
        let found = self.peek().map_or("end of input".to_owned(), |c| format!("character: {c:?}"));
        let dotted = self.dotted().map_or(String::new(), |name| {
            let (measurement, field) = name.rsplit_once('.').unwrap_or((name, ""));
            let of_field = format!("{measurement}_{field}");
            let of_field = match measurement.contains('.') {
                true => format!("{{{of_field:?}}}"),
                false => of_field,
            };
            format!(
                ": a name with dots stands in braces and quotes, {{{name:?}}}; where {field} is a \
                 field of {measurement} it is {of_field}"
            )
        });
        self.error(format!("unexpected {found} in {context}, expected {expected}{dotted}"))
    }

    /// The whole word around a dot that comes next, if it is a name.
    fn dotted(&self) -> Option<&'a str> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.');
        let behind = self.rest().strip_prefix('.')?;
        let before = self.text.get(..self.at)?.trim_end_matches(is_part).len();
        let length = behind.find(|c| !is_part(c)).unwrap_or(behind.len());
        let name = self.text.get(before..self.at + 1 + length)?;
        let is_name = |part: &str| part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        name.split('.').all(is_name).then_some(name)
    }

    /// A name of letters, digits and underscores, and of colons where they may stand.
    pub(crate) fn word(&mut self, with_colons: bool) -> Option<&'a str> {
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || (with_colons && c == ':');
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let word = rest.get(..length)?;
        if word.is_empty() || word.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        self.at += length;
        Some(word)
    }
}
