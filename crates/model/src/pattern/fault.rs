//! What is wrong with an expression, in the words of Go, whose users know no others.

use std::fmt;

/// Why an expression is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    what: &'static str,
    /// The piece of the expression that is at fault.
    piece: String,
}

impl Fault {
    pub(super) fn new(what: &'static str, piece: &str) -> Self {
        Self { what, piece: piece.to_owned() }
    }

    /// A class, or a range of one, that is none.
    pub(super) fn of_range(piece: &str) -> Self {
        Self::new("invalid character class range", piece)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error parsing regexp: {}: `{}`", self.what, self.piece)
    }
}

/// Why the library refuses an expression, and which piece of it, in one sentence; nothing of one
/// that it reads. The library draws a picture of several lines.
pub(super) fn sentence(expression: &str) -> Option<String> {
    let (kind, span) = match regex_syntax::parse(expression).err()? {
        regex_syntax::Error::Parse(error) => (error.kind().to_string(), *error.span()),
        regex_syntax::Error::Translate(error) => (error.kind().to_string(), *error.span()),
        _ => return None,
    };
    match expression.get(span.start.offset..span.end.offset).unwrap_or_default() {
        "" => Some(kind),
        piece => Some(format!("{kind}: `{piece}`")),
    }
}
