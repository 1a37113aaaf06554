//! The arithmetic of `/api/query/exp`: numbers, names, `+ - * / %`, comparisons, `&& || !` (also as
//! words) and `a ? b : c`, over binary64. What is true is 1.
//!
//! As in OpenTSDB (whose expressions are Apache Commons JEXL), dividing by zero gives zero. Other
//! than there, an expression may come out as a whole number.

use std::cmp::Ordering;

/// How deep an expression may be nested: each level costs stack while it is read.
const DEPTH_MAX: usize = 64;

/// Operators, numbers and names of one expression: each costs a step per time and group.
const STEPS_MAX: usize = 1_000;

/// An expression, as steps that a stack machine takes from left to right: however it is written,
/// nothing walks or drops it recursively.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Term {
    steps: Vec<Step>,
    /// Sorted.
    names: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Number(f64),
    /// The value of a name, by its place.
    Name(usize),
    Unary(Unary),
    Binary(Binary),
    /// Of a test and two values, one of the values.
    Choice,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unary {
    Minus,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Binary {
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
        let mut parser = Parser { rest: text, depth: 0, steps: Vec::new(), names: Vec::new() };
        parser.choice()?;
        match parser.rest.trim_start() {
            "" => Ok(parser.finish()),
            rest => Err(format!("Unable to parse the expression '{text}' at '{rest}'")),
        }
    }

    /// The names in it, in order.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Its value, where `value_of` gives those of its names by their places.
    pub(crate) fn value(&self, stack: &mut Vec<f64>, value_of: &dyn Fn(usize) -> f64) -> f64 {
        stack.clear();
        for step in &self.steps {
            let mut pop = || stack.pop().unwrap_or(f64::NAN);
            let value = match *step {
                Step::Number(number) => number,
                Step::Name(place) => value_of(place),
                Step::Unary(Unary::Minus) => -pop(),
                Step::Unary(Unary::Not) => truth(!is_true(pop())),
                Step::Binary(operator) => {
                    let right = pop();
                    operator.of(pop(), right)
                }
                Step::Choice => {
                    let (no, yes) = (pop(), pop());
                    if is_true(pop()) { yes } else { no }
                }
            };
            stack.push(value);
        }
        stack.pop().unwrap_or(f64::NAN)
    }
}

impl Binary {
    fn of(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Add => a + b,
            Self::Subtract => a - b,
            Self::Multiply => a * b,
            Self::Divide | Self::Remainder if b == 0.0 => 0.0,
            Self::Divide => a / b,
            Self::Remainder => a % b,
            Self::Equal => truth(order(a, b).is_eq()),
            Self::Unequal => truth(order(a, b).is_ne()),
            Self::Less => truth(order(a, b).is_lt()),
            Self::LessOrEqual => truth(order(a, b).is_le()),
            Self::Greater => truth(order(a, b).is_gt()),
            Self::GreaterOrEqual => truth(order(a, b).is_ge()),
            Self::And => truth(is_true(a) && is_true(b)),
            Self::Or => truth(is_true(a) || is_true(b)),
        }
    }
}

fn truth(is: bool) -> f64 {
    if is { 1.0 } else { 0.0 }
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
    steps: Vec<Step>,
    /// As they came.
    names: Vec<String>,
}

impl Parser<'_> {
    /// The expression read, with its names in order.
    fn finish(self) -> Term {
        let mut names = self.names.clone();
        names.sort_unstable();
        let place = |at: usize| {
            let name = self.names.get(at);
            name.and_then(|name| names.binary_search(name).ok()).unwrap_or_default()
        };
        let sorted = |step: &Step| match *step {
            Step::Name(at) => Step::Name(place(at)),
            step => step,
        };
        Term { steps: self.steps.iter().map(sorted).collect(), names }
    }

    fn push(&mut self, step: Step) -> Result<(), String> {
        self.steps.push(step);
        match self.steps.len() > STEPS_MAX {
            true => Err(format!("An expression may have {STEPS_MAX} operators, numbers and names")),
            false => Ok(()),
        }
    }

    fn choice(&mut self) -> Result<(), String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(format!("An expression may be nested {DEPTH_MAX} deep"));
        }
        self.binary(0)?;
        if self.pass("?") {
            self.choice()?;
            if !self.pass(":") {
                return Err("A choice lacks its ':'".to_owned());
            }
            self.choice()?;
            self.push(Step::Choice)?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn binary(&mut self, level: usize) -> Result<(), String> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        self.binary(level + 1)?;
        while let Some(&(_, operator)) = operators.iter().find(|(word, _)| self.pass(word)) {
            self.binary(level + 1)?;
            self.push(Step::Binary(operator))?;
        }
        Ok(())
    }

    fn unary(&mut self) -> Result<(), String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(format!("An expression may be nested {DEPTH_MAX} deep"));
        }
        if self.pass("-") {
            self.unary()?;
            self.push(Step::Unary(Unary::Minus))?;
        } else if self.pass("!") || self.pass("not") {
            self.unary()?;
            self.push(Step::Unary(Unary::Not))?;
        } else if self.pass("(") {
            self.choice()?;
            if !self.pass(")") {
                return Err("A parenthesis is not closed".to_owned());
            }
        } else {
            let leaf = self.leaf()?;
            self.push(leaf)?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn leaf(&mut self) -> Result<Step, String> {
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
        let step = match word {
            "" => return Err(format!("Something is missing before '{}'", self.rest)),
            word if is_number => Step::Number(
                word.trim_end_matches(['l', 'L', 'f', 'F', 'd', 'D'])
                    .parse()
                    .map_err(|_| format!("'{word}' is no number"))?,
            ),
            "true" => Step::Number(1.0),
            "false" => Step::Number(0.0),
            word => Step::Name(self.place(word)),
        };
        self.rest = self.rest.get(end..).unwrap_or_default();
        Ok(step)
    }

    /// The place of a name among those that came.
    fn place(&mut self, word: &str) -> usize {
        let known = self.names.iter().position(|name| name == word);
        known.unwrap_or_else(|| {
            self.names.push(word.to_owned());
            self.names.len() - 1
        })
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
        let term = Term::parse(text).unwrap();
        let value_of = |place: usize| match &*term.names()[place] {
            "a" => 6.0,
            "b" => 4.0,
            "order" => 100.0,
            _ => f64::NAN,
        };
        term.value(&mut Vec::new(), &value_of)
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

    #[test]
    fn what_is_too_long_is_refused_by_name_and_what_is_not_is_worked_out_on_a_small_stack() {
        let sum = |terms: usize| format!("a{}", "+a".repeat(terms - 1));
        let on_small_stack = move || {
            assert_eq!(value(&sum(STEPS_MAX / 2)), 6.0 * (STEPS_MAX / 2) as f64);
            let refused = Term::parse(&sum(30_000)).unwrap_err();
            assert!(refused.contains("1000 operators"), "{refused}");
            for piece in ["(", "-", "!", "a?", "a?a:", "(a+", "not ", "a*(", "-("] {
                for count in [DEPTH_MAX / 4, DEPTH_MAX, 10_000] {
                    let _ = Term::parse(&piece.repeat(count));
                    let _ = Term::parse(&format!("{}a", piece.repeat(count)));
                }
            }
        };
        let thread = std::thread::Builder::new().stack_size(256 << 10);
        thread.spawn(on_small_stack).unwrap().join().unwrap();
    }
}
