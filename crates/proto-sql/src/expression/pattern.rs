//! Texts that fit patterns.

use super::negated_if;
use crate::lowering::Lowering;
use crate::typed::{Type, Typed};
use crate::{SqlError, span};
use foliot_model::Test;
use foliot_plan::relation::Formula;
use sqlparser::ast::Expr;

impl Lowering<'_> {
    /// `text ~ 'pattern'`, where letters may have any case, or the opposite is wanted.
    pub(super) fn regex(
        &mut self,
        expr: &Expr,
        (text, pattern): (&Expr, &Expr),
        (any_case, negated): (bool, bool),
    ) -> Result<Typed, SqlError> {
        let pattern = self.pattern(pattern)?;
        let pattern = if any_case { format!("(?i){pattern}") } else { pattern };
        self.passes(expr, text, &pattern, negated)
    }

    /// `text LIKE 'pattern'`, or `ILIKE`, where letters may have any case.
    pub(super) fn like(
        &mut self,
        expr: &Expr,
        (text, pattern): (&Expr, &Expr),
        (escape, any_case): (Option<&Expr>, bool),
        negated: bool,
    ) -> Result<Typed, SqlError> {
        let pattern = self.pattern(pattern)?;
        let escape = match escape {
            None => Some('\\'),
            Some(escape) => {
                let text = self.pattern(escape)?;
                let mut chars = text.chars();
                match (chars.next(), chars.next()) {
                    (escape, None) => escape,
                    _ => return span::error(expr, "ESCAPE takes one character"),
                }
            }
        };
        let Some(plain) = plain(&pattern, escape, any_case) else {
            let Some(regex) = regex_of(&pattern, escape, any_case) else {
                return span::error(expr, "the pattern ends with its escape character");
            };
            return self.passes(expr, text, &regex, negated);
        };
        let text = self.text_of(text)?;
        let passes = Formula::Passes { text: Box::new(text), test: Test::equal(plain) };
        Ok(negated_if(negated, Typed::new(passes, Type::Boolean)))
    }

    fn passes(
        &mut self,
        expr: &Expr,
        text: &Expr,
        regex: &str,
        negated: bool,
    ) -> Result<Typed, SqlError> {
        let text = Box::new(self.text_of(text)?);
        match Test::regex(regex) {
            Ok(test) => {
                let passes = Typed::new(Formula::Passes { text, test }, Type::Boolean);
                Ok(negated_if(negated, passes))
            }
            Err(error) => span::error(expr, error.to_string()),
        }
    }

    fn text_of(&mut self, expr: &Expr) -> Result<Formula, SqlError> {
        let typed = self.expr(expr)?;
        match typed.of {
            Type::Text | Type::Null => Ok(typed.formula),
            of => span::error(expr, format!("{expr} is {of}, and patterns fit text: {expr}::text")),
        }
    }

    /// The text of a pattern, which has to stand in the statement.
    fn pattern(&mut self, expr: &Expr) -> Result<String, SqlError> {
        let typed = self.expr(expr)?;
        match typed.text() {
            Some(text) => Ok(text.to_owned()),
            None => span::error(expr, format!("a pattern is a text such as 'web%', not {expr}")),
        }
    }
}

/// The test of a pattern of LIKE; nothing where nothing follows its escape.
pub(crate) fn test(pattern: &str) -> Option<Test> {
    Test::regex(&regex_of(pattern, Some('\\'), false)?).ok()
}

/// The text that a pattern of LIKE without wildcards is.
fn plain(pattern: &str, escape: Option<char>, any_case: bool) -> Option<String> {
    let is_plain = !any_case && !pattern.contains(['%', '_']);
    (is_plain && escape.is_none_or(|escape| !pattern.contains(escape))).then(|| pattern.to_owned())
}

/// The regular expression that a pattern of LIKE is; nothing where nothing follows its escape.
fn regex_of(pattern: &str, escape: Option<char>, any_case: bool) -> Option<String> {
    let mut regex = String::from(if any_case { "(?is)^" } else { "(?s)^" });
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            c if Some(c) == escape => push_literal(chars.next()?, &mut regex),
            '%' => regex.push_str(".*"),
            '_' => regex.push('.'),
            c => push_literal(c, &mut regex),
        }
    }
    regex.push('$');
    Some(regex)
}

fn push_literal(c: char, regex: &mut String) {
    if c.is_ascii_punctuation() {
        regex.push('\\');
    }
    regex.push(c);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_become_expressions() {
        let of = |pattern, any_case| regex_of(pattern, Some('\\'), any_case).unwrap();
        assert_eq!(of("web%", false), "(?s)^web.*$");
        assert_eq!(of("a_b.c", true), "(?is)^a.b\\.c$");
        assert_eq!(of("100\\%", false), "(?s)^100\\%$");
        assert_eq!(regex_of("a\\", Some('\\'), false), None);
    }
}
