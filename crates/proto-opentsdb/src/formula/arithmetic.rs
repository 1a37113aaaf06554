//! The arithmetic of `/api/query/exp`: numbers, names, `+ - * / %`, comparisons, `&& || !` (also as
//! words) and `a ? b : c`, over binary64. What is true is 1.
//!
//! As in OpenTSDB (whose expressions are Apache Commons JEXL), dividing by zero gives zero. Other
//! than there, an expression may come out as a whole number.

use std::cmp::Ordering;
use std::collections::BTreeSet;

/// How deep an expression may be nested.
const DEPTH_MAX: usize = 64;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Term {
    Number(f64),
    Name(String),
    Unary(Unary, Box<Term>),
    Binary(Binary, Box<Term>, Box<Term>),
    Choice(Box<Term>, Box<Term>, Box<Term>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Minus,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    And,
    Or,
}

/// The operators by their binding, loosest first.
const LEVELS: [&[(&str, Binary)]; 6] = [
    &[("||", Binary::Or), ("or", Binary::Or)],
    &[("&&", Binary::And), ("and", Binary::And)],
    &[
        ("==", Binary::Equal),
        ("!=", Binary::Unequal),
        ("eq", Binary::Equal),
        ("ne", Binary::Unequal),
    ],
    &[
        ("<=", Binary::LessOrEqual),
        (">=", Binary::GreaterOrEqual),
        ("<", Binary::Less),
        (">", Binary::Greater),
        ("le", Binary::LessOrEqual),
        ("ge", Binary::GreaterOrEqual),
        ("lt", Binary::Less),
        ("gt", Binary::Greater),
    ],
    &[("+", Binary::Add), ("-", Binary::Subtract)],
    &[
        ("*", Binary::Multiply),
        ("/", Binary::Divide),
        ("%", Binary::Remainder),
        ("div", Binary::Divide),
        ("mod", Binary::Remainder),
    ],
];

impl Term {
    /// Reads an expression.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser { rest: text, depth: 0 };
        let term = parser.choice()?;
        match parser.rest.trim_start() {
            "" => Ok(term),
            rest => Err(format!("Unable to parse the expression '{text}' at '{rest}'")),
        }
    }

    /// The names in it.
    pub(crate) fn names(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        self.collect(&mut names);
        names
    }

    fn collect<'t>(&'t self, names: &mut BTreeSet<&'t str>) {
        match self {
            Self::Number(_) => {}
            Self::Name(name) => {
                names.insert(name);
            }
            Self::Unary(_, term) => term.collect(names),
            Self::Binary(_, left, right) => {
                left.collect(names);
                right.collect(names);
            }
            Self::Choice(test, yes, no) => {
                test.collect(names);
                yes.collect(names);
                no.collect(names);
            }
        }
    }

    /// Its value, where `value_of` gives those of its names.
    pub(crate) fn value(&self, value_of: &dyn Fn(&str) -> f64) -> f64 {
        let truth = |is: bool| if is { 1.0 } else { 0.0 };
        match self {
            Self::Number(number) => *number,
            Self::Name(name) => value_of(name),
            Self::Unary(Unary::Minus, term) => -term.value(value_of),
            Self::Unary(Unary::Not, term) => truth(!is_true(term.value(value_of))),
            Self::Choice(test, yes, no) => match is_true(test.value(value_of)) {
                true => yes.value(value_of),
                false => no.value(value_of),
            },
            Self::Binary(operator, left, right) => {
                let (a, b) = (left.value(value_of), right.value(value_of));
                match operator {
                    Binary::Add => a + b,
                    Binary::Subtract => a - b,
                    Binary::Multiply => a * b,
                    Binary::Divide | Binary::Remainder if b == 0.0 => 0.0,
                    Binary::Divide => a / b,
                    Binary::Remainder => a % b,
                    Binary::Equal => truth(order(a, b).is_eq()),
                    Binary::Unequal => truth(order(a, b).is_ne()),
                    Binary::Less => truth(order(a, b).is_lt()),
                    Binary::LessOrEqual => truth(order(a, b).is_le()),
                    Binary::Greater => truth(order(a, b).is_gt()),
                    Binary::GreaterOrEqual => truth(order(a, b).is_ge()),
                    Binary::And => truth(is_true(a) && is_true(b)),
                    Binary::Or => truth(is_true(a) || is_true(b)),
                }
            }
        }
    }
}

/// How JEXL orders numbers: what is none is less than all others, and equal to itself.
fn order(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| b.is_nan().cmp(&a.is_nan()))
}

fn is_true(value: f64) -> bool {
    value != 0.0 && !value.is_nan()
}

struct Parser<'t> {
    rest: &'t str,
    depth: usize,
}

impl Parser<'_> {
    fn choice(&mut self) -> Result<Term, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(format!("An expression may be nested {DEPTH_MAX} deep"));
        }
        let test = self.binary(0)?;
        let term = if self.pass("?") {
            let yes = self.choice()?;
            if !self.pass(":") {
                return Err("A choice lacks its ':'".to_owned());
            }
            Term::Choice(Box::new(test), Box::new(yes), Box::new(self.choice()?))
        } else {
            test
        };
        self.depth -= 1;
        Ok(term)
    }

    fn binary(&mut self, level: usize) -> Result<Term, String> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(&(_, operator)) = operators.iter().find(|(word, _)| self.pass(word)) {
            let right = self.binary(level + 1)?;
            left = Term::Binary(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Term, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(format!("An expression may be nested {DEPTH_MAX} deep"));
        }
        let term = if self.pass("-") {
            Term::Unary(Unary::Minus, Box::new(self.unary()?))
        } else if self.pass("!") || self.pass("not") {
            Term::Unary(Unary::Not, Box::new(self.unary()?))
        } else if self.pass("(") {
            let inner = self.choice()?;
            if !self.pass(")") {
                return Err("A parenthesis is not closed".to_owned());
            }
            inner
        } else {
            self.leaf()?
        };
        self.depth -= 1;
        Ok(term)
    }

    fn leaf(&mut self) -> Result<Term, String> {
        self.rest = self.rest.trim_start();
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        let mut end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let word = self.rest.get(..end).unwrap_or_default();
        let is_number = word.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        // The sign of an exponent is part of its number.
        if is_number && word.ends_with(['e', 'E']) {
            let after = self.rest.get(end..).unwrap_or_default();
            if let Some(digits) = after.strip_prefix(['+', '-']) {
                let count = digits.bytes().take_while(u8::is_ascii_digit).count();
                end += if count > 0 { count + 1 } else { 0 };
            }
        }
        let word = self.rest.get(..end).unwrap_or_default();
        let term = match word {
            "" => return Err(format!("Something is missing before '{}'", self.rest)),
            word if is_number => Term::Number(
                word.trim_end_matches(['l', 'L', 'f', 'F', 'd', 'D'])
                    .parse()
                    .map_err(|_| format!("'{word}' is no number"))?,
            ),
            "true" => Term::Number(1.0),
            "false" => Term::Number(0.0),
            word => Term::Name(word.to_owned()),
        };
        self.rest = self.rest.get(end..).unwrap_or_default();
        Ok(term)
    }

    /// Passes an operator, if it is next; words must end where they end.
    fn pass(&mut self, operator: &str) -> bool {
        let rest = self.rest.trim_start();
        let Some(after) = rest.strip_prefix(operator) else { return false };
        let is_word = operator.starts_with(|c: char| c.is_ascii_alphabetic());
        let goes_on = after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.'));
        // Of `!=` the exclamation mark alone means something else.
        let is_other = operator == "!" && after.starts_with('=');
        if is_word && goes_on || is_other {
            return false;
        }
        self.rest = after;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        let value_of = |name: &str| match name {
            "a" => 6.0,
            "b" => 4.0,
            "order" => 100.0,
            _ => f64::NAN,
        };
        Term::parse(text).unwrap().value(&value_of)
    }

    #[test]
    fn operators_bind_as_usual() {
        for (text, expected) in [
            ("a + b * 2", 14.0),
            ("(a + b) * 2", 20.0),
            ("a - b - 1", 1.0),
            ("-a + b", -2.0),
            ("a / b", 1.5),
            ("a % b", 2.0),
            ("a / 0", 0.0),
            ("a % 0", 0.0),
            ("a > b", 1.0),
            ("a > b && !(b > a)", 1.0),
            ("a lt b or b lt a", 1.0),
            ("a != b ? a : b", 6.0),
            ("a == b ? 1 : a > 7 ? 2 : 3", 3.0),
            ("order / 1e2 + 2.5e-1", 1.25),
            ("not a", 0.0),
            ("1.5L", 1.5),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
        assert!(value("c + 1").is_nan());
        assert_eq!(Term::parse("a + b/a").unwrap().names().len(), 2);
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        for text in ["", "a +", "(a", "a b", "a ? b", "1x", "a + * b", ")"] {
            assert!(Term::parse(text).is_err(), "{text}");
        }
        assert!(Term::parse(&"(".repeat(10_000)).is_err());
        assert!(Term::parse(&"-".repeat(10_000)).is_err());
        assert!(Term::parse(&format!("{}a", "a?a:".repeat(10_000))).is_err());
    }
}
