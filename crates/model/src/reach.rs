//! Reach: which strings can pass a test, as far as that is easily told. Whoever has strings in
//! order or by hash then need not try them all.

use crate::Test;
use regex_syntax::hir::literal::Extractor;
use regex_syntax::hir::{Hir, HirKind, Look};
use std::borrow::Cow;

/// Strings that can pass a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach<'a> {
    /// These pass, and no others.
    OneOf(Cow<'a, [String]>),
    /// Only such as begin with this, and not all of them need pass.
    Beginning(String),
}

/// Alternatives of an expression that are told apart.
const ALTERNATIVES_MAX: usize = 1000;

impl Test {
    /// The strings that can pass.
    pub fn reach(&self) -> Reach<'_> {
        match self {
            Self::AnyOf(list) => Reach::OneOf(Cow::Borrowed(list)),
            // The beginning is held only where the end is open.
            Self::Wildcard { pieces, lower: false }
                if pieces.last().is_some_and(String::is_empty) =>
            {
                Reach::Beginning(pieces.first().cloned().unwrap_or_default())
            }
            Self::Regex(pattern) => of_expression(pattern.expression()),
            Self::Any | Self::AnyOfLower(_) | Self::Wildcard { .. } | Self::Not(_) => {
                Reach::Beginning(String::new())
            }
        }
    }
}

fn of_expression(expression: &str) -> Reach<'static> {
    let anything = Reach::Beginning(String::new());
    let Ok(hir) = regex_syntax::parse(expression) else { return anything };
    let pieces = flat(&hir);
    let Some((start, rest)) = pieces.split_first() else { return anything };
    if !matches!(start.kind(), HirKind::Look(Look::Start)) {
        return anything;
    }
    if let Some((end, middle)) = rest.split_last()
        && matches!(end.kind(), HirKind::Look(Look::End))
        && let Some(list) = alternatives(middle)
    {
        return Reach::OneOf(Cow::Owned(list));
    }
    let literals = rest.iter().map_while(|piece| match piece.kind() {
        HirKind::Literal(literal) => Some(&literal.0),
        _ => None,
    });
    let bytes: Vec<u8> = literals.flatten().copied().collect();
    // A literal may be cut inside a character.
    match String::from_utf8(bytes) {
        Ok(prefix) => Reach::Beginning(prefix),
        Err(_) => anything,
    }
}

/// An expression as pieces in a row, without the groups around them.
fn flat(hir: &Hir) -> Vec<&Hir> {
    match hir.kind() {
        HirKind::Capture(capture) => flat(&capture.sub),
        HirKind::Concat(pieces) => pieces.iter().flat_map(flat).collect(),
        _ => vec![hir],
    }
}

/// All that pieces in a row can match, if that is few strings.
fn alternatives(pieces: &[&Hir]) -> Option<Vec<String>> {
    let all = Hir::concat(pieces.iter().map(|&piece| piece.clone()).collect());
    if !all.properties().look_set().is_empty() {
        return None;
    }
    let mut extractor = Extractor::new();
    extractor.limit_total(ALTERNATIVES_MAX).limit_class(ALTERNATIVES_MAX);
    let found = extractor.extract(&all);
    let literals = found.literals().filter(|_| found.is_exact())?;
    literals.iter().map(|literal| String::from_utf8(literal.as_bytes().to_vec()).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(expression: &str) -> Reach<'static> {
        of_expression(expression)
    }

    fn one_of(list: &[&str]) -> Reach<'static> {
        Reach::OneOf(list.iter().map(|&text| text.to_owned()).collect())
    }

    #[test]
    fn expressions_that_are_lists() {
        assert_eq!(reach("^host_1$"), one_of(&["host_1"]));
        assert_eq!(reach("^(?:a|bc)$"), one_of(&["a", "bc"]));
        assert_eq!(reach("^(web|db)-[12]$"), one_of(&["web-1", "web-2", "db-1", "db-2"]));
        assert_eq!(reach("^(?i)a$"), one_of(&["A", "a"]));
        assert_eq!(reach("^$"), one_of(&[""]));
        for expression in ["^a|b$", "a$", "^a+$", "^(a|b)", "^a^b$", "(?m)^a$", "^a\\bb$"] {
            assert!(matches!(reach(expression), Reach::Beginning(_)), "{expression}");
        }
    }

    #[test]
    fn expressions_that_begin_with_something() {
        for (expression, prefix) in [
            ("^host_1.*7$", "host_1"),
            ("^(host_)1?", "host_"),
            ("^(?:eu-.*)$", "eu-"),
            ("host", ""),
            ("^(?i)host", ""),
            ("^a|^b", ""),
            ("^", ""),
            ("", ""),
        ] {
            assert_eq!(reach(expression), Reach::Beginning(prefix.to_owned()), "{expression}");
        }
    }

    /// What passes is in reach, whatever the expression.
    #[test]
    fn nothing_that_passes_is_out_of_reach() {
        let texts =
            ["", "a", "b", "ab", "aab", "host_1", "host_17", "web-1", "db-2", "A", "é", "e"];
        for expression in [
            "^a*b?$",
            "^(a|ab)$",
            "^host_1",
            "^(web|db)-[0-9]$",
            "^[ab]?$",
            "^(?:a{0,2}b)$",
            "^é",
            "^(?i:a)$",
            "^a??$",
            "^(|a)$",
            "a",
            "^(?s:.)$",
            "^\\x61",
            "^(é|e)$",
        ] {
            let test = Test::regex(expression).unwrap();
            for text in texts {
                let is_in = match test.reach() {
                    Reach::OneOf(list) => list.iter().any(|item| item == text),
                    Reach::Beginning(prefix) => text.starts_with(&prefix) && test.passes(text),
                };
                assert_eq!(is_in, test.passes(text), "{expression} {text}");
            }
        }
    }
}
