//! The arithmetic of `/api/query/exp`: numbers, names, `+ - * / %`, comparisons, `&& || !` (also as
//! words) and `a ? b : c`, over binary64. What it comes to is what [`Term`] says, whose rules are
//! those of Apache Commons JEXL, which OpenTSDB evaluates with.
//!
//! Other than there, an expression may come out as a whole number.

use foliot_plan::grid::{Calculation, Comparison};
use foliot_plan::{Step, Term};

/// How deep an expression may be nested: each level costs stack while it is read.
const DEPTH_MAX: usize = 64;

/// Operators, numbers and names of one expression: each costs a step per time and group.
const STEPS_MAX: usize = 1_000;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expression {
    /// What is calculated. Its inputs are the names, by their places.
    pub(crate) term: Term,
    /// Sorted.
    pub(crate) names: Vec<String>,
}

/// The operators by their binding, loosest first.
const LEVELS: [&[(&str, Step)]; 6] = [
    &[("||", Step::Or), ("or", Step::Or)],
    &[("&&", Step::And), ("and", Step::And)],
    &[
        ("==", Step::Compared(Comparison::Equal)),
        ("!=", Step::Compared(Comparison::NotEqual)),
        ("eq", Step::Compared(Comparison::Equal)),
        ("ne", Step::Compared(Comparison::NotEqual)),
    ],
    &[
        ("<=", Step::Compared(Comparison::LessOrEqual)),
        (">=", Step::Compared(Comparison::GreaterOrEqual)),
        ("<", Step::Compared(Comparison::Less)),
        (">", Step::Compared(Comparison::Greater)),
        ("le", Step::Compared(Comparison::LessOrEqual)),
        ("ge", Step::Compared(Comparison::GreaterOrEqual)),
        ("lt", Step::Compared(Comparison::Less)),
        ("gt", Step::Compared(Comparison::Greater)),
    ],
    &[("+", Step::Calculated(Calculation::Add)), ("-", Step::Calculated(Calculation::Subtract))],
    &[
        ("*", Step::Calculated(Calculation::Multiply)),
        ("/", Step::Calculated(Calculation::Divide)),
        ("%", Step::Calculated(Calculation::Remainder)),
        ("div", Step::Calculated(Calculation::Divide)),
        ("mod", Step::Calculated(Calculation::Remainder)),
    ],
];

impl Expression {
    /// Reads an expression.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser { rest: text, depth: 0, steps: Vec::new(), names: Vec::new() };
        parser.choice()?;
        match parser.rest.trim_start() {
            "" => Ok(parser.finish()),
            rest => Err(format!("Unable to parse the expression '{text}' at '{rest}'")),
        }
    }
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
    fn finish(self) -> Expression {
        let mut names = self.names.clone();
        names.sort_unstable();
        let place = |at: usize| {
            let name = self.names.get(at);
            name.and_then(|name| names.binary_search(name).ok()).unwrap_or_default()
        };
        let sorted = |step: &Step| match *step {
            Step::Input(at) => Step::Input(place(at)),
            step => step,
        };
        Expression { term: Term(self.steps.iter().map(sorted).collect()), names }
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
            self.push(Step::Chosen)?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn binary(&mut self, level: usize) -> Result<(), String> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        self.binary(level + 1)?;
        while let Some(&(_, operator)) = operators.iter().find(|(word, _)| self.pass(word)) {
            self.binary(level + 1)?;
            self.push(operator)?;
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
            self.push(Step::Negated)?;
        } else if self.pass("!") || self.pass("not") {
            self.unary()?;
            self.push(Step::Not)?;
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
            word => Step::Input(self.place(word)),
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

    /// As the steps say, in the most direct way.
    fn value(text: &str) -> f64 {
        let expression = Expression::parse(text).unwrap();
        let of = |place: usize| match &*expression.names[place] {
            "a" => 6.0,
            "b" => 4.0,
            "order" => 100.0,
            _ => f64::NAN,
        };
        let mut stack: Vec<f64> = Vec::new();
        let is_true = |value: f64| value != 0.0;
        for step in &expression.term.0 {
            let mut pop = || stack.pop().unwrap();
            let value = match *step {
                Step::Number(number) => number,
                Step::Input(place) => of(place),
                Step::Negated => -pop(),
                Step::Not => f64::from(!is_true(pop())),
                Step::Chosen => {
                    let (no, yes) = (pop(), pop());
                    if is_true(pop()) { yes } else { no }
                }
                two => {
                    let (b, a) = (pop(), pop());
                    match two {
                        Step::Calculated(Calculation::Add) => a + b,
                        Step::Calculated(Calculation::Subtract) => a - b,
                        Step::Calculated(Calculation::Multiply) => a * b,
                        Step::Calculated(Calculation::Divide) => a / b,
                        Step::Calculated(Calculation::Remainder) => a % b,
                        Step::Compared(Comparison::Equal) => f64::from(a == b),
                        Step::Compared(Comparison::NotEqual) => f64::from(a != b),
                        Step::Compared(Comparison::Less) => f64::from(a < b),
                        Step::Compared(Comparison::Greater) => f64::from(a > b),
                        Step::And => f64::from(is_true(a) && is_true(b)),
                        Step::Or => f64::from(is_true(a) || is_true(b)),
                        other => panic!("{other:?}"),
                    }
                }
            };
            stack.push(value);
        }
        stack.pop().unwrap()
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
        assert_eq!(Expression::parse("a + b/a").unwrap().names.len(), 2);
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        for text in ["", "a +", "(a", "a b", "a ? b", "1x", "a + * b", ")"] {
            assert!(Expression::parse(text).is_err(), "{text}");
        }
        assert!(Expression::parse(&"(".repeat(10_000)).is_err());
        assert!(Expression::parse(&"-".repeat(10_000)).is_err());
        assert!(Expression::parse(&format!("{}a", "a?a:".repeat(10_000))).is_err());
    }

    #[test]
    fn what_is_too_long_is_refused_by_name_and_what_is_not_is_read_on_a_small_stack() {
        let sum = |terms: usize| format!("a{}", "+a".repeat(terms - 1));
        let on_small_stack = move || {
            assert_eq!(value(&sum(STEPS_MAX / 2)), 6.0 * (STEPS_MAX / 2) as f64);
            let refused = Expression::parse(&sum(30_000)).unwrap_err();
            assert!(refused.contains("1000 operators"), "{refused}");
            for piece in ["(", "-", "!", "a?", "a?a:", "(a+", "not ", "a*(", "-("] {
                for count in [DEPTH_MAX / 4, DEPTH_MAX, 10_000] {
                    let _ = Expression::parse(&piece.repeat(count));
                    let _ = Expression::parse(&format!("{}a", piece.repeat(count)));
                }
            }
        };
        let thread = std::thread::Builder::new().stack_size(256 << 10);
        thread.spawn(on_small_stack).unwrap().join().unwrap();
    }
}
