//! What is wrong with an expression, in the words of Go, whose users know no others.

use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{Error, ErrorKind};

/// Why an expression is none, if it is none.
pub(super) fn fault(written: &str) -> Option<String> {
    let error = Parser::new().parse(written).err()?;
    let piece = piece(&error, written);
    Some(match said(error.kind()) {
        Some(what) => format!("error parsing regexp: {what}: `{piece}`"),
        None => format!("error parsing regexp: {}: `{piece}`", error.kind()),
    })
}

/// Why an expression is none, and of which piece, in one sentence; nothing of one that can be read.
/// The library draws a picture of several lines.
pub(super) fn sentence(written: &str) -> Option<String> {
    let (kind, span) = match regex_syntax::parse(written).err()? {
        regex_syntax::Error::Parse(error) => (error.kind().to_string(), *error.span()),
        regex_syntax::Error::Translate(error) => (error.kind().to_string(), *error.span()),
        _ => return None,
    };
    match written.get(span.start.offset..span.end.offset).unwrap_or_default() {
        "" => Some(kind),
        piece => Some(format!("{kind}: `{piece}`")),
    }
}

/// What Go calls a fault; nothing of one that it has no word for.
fn said(kind: &ErrorKind) -> Option<&'static str> {
    use ErrorKind as K;
    Some(match kind {
        K::GroupUnclosed => "missing closing )",
        K::GroupUnopened => "unexpected )",
        K::ClassUnclosed => "missing closing ]",
        K::ClassRangeInvalid => "invalid character class range",
        K::ClassRangeLiteral | K::ClassEscapeInvalid => "invalid character class",
        K::RepetitionMissing => "missing argument to repetition operator",
        K::RepetitionCountInvalid => "invalid repeat count",
        K::EscapeUnexpectedEof => "trailing backslash at end of expression",
        K::EscapeUnrecognized
        | K::EscapeHexEmpty
        | K::EscapeHexInvalid
        | K::EscapeHexInvalidDigit
        | K::UnsupportedBackreference => "invalid escape sequence",
        K::GroupNameDuplicate { .. }
        | K::GroupNameEmpty
        | K::GroupNameInvalid
        | K::GroupNameUnexpectedEof => "invalid named capture",
        K::FlagUnrecognized
        | K::FlagUnexpectedEof
        | K::FlagDanglingNegation
        | K::FlagDuplicate { .. }
        | K::FlagRepeatedNegation { .. }
        | K::UnsupportedLookAround => "invalid or unsupported Perl syntax",
        _ => return None,
    })
}

/// The piece of the expression that is at fault.
fn piece<'a>(error: &Error, written: &'a str) -> &'a str {
    let (start, end) = (error.span().start.offset, error.span().end.offset);
    let piece = match error.kind() {
        ErrorKind::GroupUnclosed | ErrorKind::GroupUnopened => Some(written),
        ErrorKind::ClassUnclosed => written.get(start..),
        ErrorKind::EscapeUnexpectedEof => Some(""),
        // The operator stands behind its place.
        ErrorKind::RepetitionMissing => written.get(start..start + 1),
        _ => written.get(start..end),
    };
    piece.unwrap_or(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Go's regexp says it.
    #[test]
    fn faults_are_told_as_go_tells_them() {
        for (written, said) in [
            ("(", "missing closing ): `(`"),
            ("a(b|c", "missing closing ): `a(b|c`"),
            ("x)", "unexpected ): `x)`"),
            ("a[b-", "missing closing ]: `[b-`"),
            ("[z-a]", "invalid character class range: `z-a`"),
            ("*", "missing argument to repetition operator: `*`"),
            ("a|+", "missing argument to repetition operator: `+`"),
            ("\\", "trailing backslash at end of expression: ``"),
            ("\\y", "invalid escape sequence: `\\y`"),
        ] {
            assert_eq!(fault(written), Some(format!("error parsing regexp: {said}")), "{written}");
        }
        // Those that Go takes as they stand, or has no word for.
        let said = |written| fault(written).unwrap();
        assert_eq!(said("a{2"), "error parsing regexp: unclosed counted repetition: `{2`");
        for good in ["", "a{2,3}", "[[:alpha:]]", "(?i)x", "\\pL"] {
            assert_eq!(fault(good), None, "{good}");
        }
    }

    #[test]
    fn a_fault_is_one_sentence_with_the_piece_that_it_is_in() {
        for (written, said) in [
            ("([", "unclosed character class: `[`"),
            ("ä(b", "unclosed group: `(`"),
            ("x\\p{Foo}", "Unicode property not found: `\\p{Foo}`"),
            ("a**{,}", "repetition quantifier expects a valid decimal"),
        ] {
            assert_eq!(sentence(written).as_deref(), Some(said), "{written}");
        }
        assert_eq!(sentence("a{2,3}"), None);
    }
}
