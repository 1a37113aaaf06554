//! The parser's core: taking tokens, and saying what was expected instead.

use super::ast::{Parameter, Parameters, Statement};
use super::error::ParseError;
use super::scan::{Kind, Scanner, Token};
use super::{format_duration, parse_duration};
use std::borrow::Cow;

/// Parentheses, calls and operators that bind more tightly than those before may stand in one
/// another so deep: each level costs stack.
const DEPTH_MAX: u32 = 100;

/// Subqueries may stand in one another so deep: planning one costs five kilobytes of stack.
const SUBQUERIES_MAX: u32 = 20;

/// An expression may be so high, as a tree: every later step walks it recursively. Each operator,
/// call and pair of parentheses on the way from the top to a name counts; chains of `AND` and `OR`
/// hardly do.
const HEIGHT_MAX: u32 = 200;

/// One request may have so many operators.
const OPERATORS_MAX: u32 = 2_000;

/// One request may have so many statements: each is kept, planned and answered.
const STATEMENTS_MAX: usize = 10_000;

/// Parses the statements of a query, which semicolons part. `parameters` are the values of its
/// `$name`s.
///
/// # Errors
/// With the first place that is not as the grammar has it; then none of the statements is valid.
pub fn parse(text: &str, parameters: &Parameters) -> Result<Vec<Statement>, ParseError> {
    let mut parser = Parser {
        scanner: Scanner::new(text),
        parameters,
        depth: 0,
        operators: 0,
        height: 0,
        subqueries: 0,
        ahead: None,
    };
    // Most requests have one, and the usual room for four takes longer to get.
    let mut statements = Vec::with_capacity(1);
    let mut is_parted = true;
    loop {
        if parser.peek().kind == Kind::End {
            return Ok(statements);
        }
        if parser.take(";") {
            is_parted = true;
        } else if statements.len() >= STATEMENTS_MAX {
            let message = format!("more than {STATEMENTS_MAX} statements in a request");
            return Err(parser.error_here(message));
        } else if is_parted {
            statements.push(parser.statement()?);
            is_parted = false;
        } else {
            return Err(parser.expected(&[";"]));
        }
    }
}

pub(super) type Result<T, E = ParseError> = std::result::Result<T, E>;

/// A query being parsed.
#[derive(Debug)]
pub(super) struct Parser<'a> {
    pub(super) scanner: Scanner<'a>,
    parameters: &'a Parameters,
    depth: u32,
    operators: u32,
    /// How high the expression is that was read last.
    pub(super) height: u32,
    subqueries: u32,
    ahead: Option<Ahead<'a>>,
}

/// The token that was read last, and where the scanner stood before and after it. Where several
/// words may come next, each of them looks at the same token.
#[derive(Debug)]
struct Ahead<'a> {
    before: Scanner<'a>,
    token: Token<'a>,
    after: Scanner<'a>,
}

impl<'a> Parser<'a> {
    /// The next token, blanks included. A `$name` that has a value becomes that value.
    pub(super) fn scan_raw(&mut self) -> Token<'a> {
        scan_raw(&mut self.scanner, self.parameters)
    }

    /// The next token that is not blank, where it lies. It is read once, however often it is looked
    /// at.
    fn ahead(&mut self) -> &Ahead<'a> {
        let Self { scanner, parameters, ahead, .. } = self;
        if ahead.as_ref().is_some_and(|ahead| !ahead.before.stands_with(scanner)) {
            *ahead = None;
        }
        ahead.get_or_insert_with(|| {
            let (before, mut after) = (*scanner, *scanner);
            after.pass_blanks();
            let mut token = scan_raw(&mut after, parameters);
            while token.kind == Kind::Blank {
                token = scan_raw(&mut after, parameters);
            }
            Ahead { before, token, after }
        })
    }

    /// The next token that is not blank.
    pub(super) fn scan(&mut self) -> Token<'a> {
        let Ahead { token, after, .. } = self.ahead();
        let (token, after) = (token.clone(), *after);
        self.scanner = after;
        token
    }

    /// The next token that is not blank, without taking it.
    pub(super) fn peek(&mut self) -> &Token<'a> {
        &self.ahead().token
    }

    /// Takes the next token if it is this word or mark.
    pub(super) fn take(&mut self, word: &str) -> bool {
        self.take_as(|token| token.is(word).then_some(())).is_some()
    }

    /// Takes a mark that stands right here, without a blank before it.
    pub(super) fn take_here(&mut self, mark: &str) -> bool {
        let before = self.scanner;
        let is_here = self.scanner.begins_with(mark) && self.scan_raw().is(mark);
        if !is_here {
            self.scanner = before;
        }
        is_here
    }

    /// Takes the next token if it is `wanted`.
    pub(super) fn take_if(&mut self, wanted: impl Fn(&Token<'_>) -> bool) -> Option<Token<'a>> {
        self.take_as(|token| wanted(token).then(|| token.clone()))
    }

    /// Takes the next token if it is something that is wanted, as that.
    pub(super) fn take_as<T>(&mut self, wanted: impl FnOnce(&Token<'a>) -> Option<T>) -> Option<T> {
        let Ahead { token, after, .. } = self.ahead();
        let (found, after) = (wanted(token), *after);
        if found.is_some() {
            self.scanner = after;
        }
        found
    }

    /// Takes these words, in this order.
    pub(super) fn expect(&mut self, words: &[&'static str]) -> Result<()> {
        words.iter().try_for_each(|word| match self.take(word) {
            true => Ok(()),
            false => Err(self.expected(&[word])),
        })
    }

    /// Takes the next token, which must be of this kind, and returns its text.
    pub(super) fn text(&mut self, kind: Kind, name: &'static str) -> Result<String> {
        match self.take_if(|token| token.kind == kind) {
            Some(token) => Ok(token.text.into_owned()),
            None => Err(self.expected(&[name])),
        }
    }

    /// A name.
    pub(super) fn name(&mut self) -> Result<String> {
        self.text(Kind::Ident, "identifier")
    }

    /// A string in single quotes.
    pub(super) fn string(&mut self) -> Result<String> {
        self.text(Kind::String, "string")
    }

    /// One or several items with commas between them.
    pub(super) fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.take(",") {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// What `item` reads, if `word` comes next.
    pub(super) fn optional<T>(
        &mut self,
        word: &str,
        item: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<Option<T>> {
        match self.take(word) {
            true => item(self).map(Some),
            false => Ok(None),
        }
    }

    /// A whole number that is not negative.
    pub(super) fn unsigned(&mut self) -> Result<u64> {
        let before = self.scanner;
        let digits = self.text(Kind::Integer, "integer")?;
        digits.parse().map_err(|_| {
            self.scanner = before;
            let problem = format!("strconv.ParseUint: parsing {digits:?}: value out of range");
            self.error_here(problem)
        })
    }

    /// The number behind `word`, or 0 when the word is not there. Numbers beyond 64 bits are cut.
    pub(super) fn optional_count(&mut self, word: &str) -> Result<u64> {
        if !self.take(word) {
            return Ok(0);
        }
        let before = self.scanner;
        let digits = self.text(Kind::Integer, "integer")?;
        // A parameter may be negative, what stands in a text is not.
        u64::try_from(digits.parse().unwrap_or(i64::MAX)).map_err(|_| {
            self.scanner = before;
            self.error_here(format!("{word} must be >= 0"))
        })
    }

    /// A duration in nanoseconds; `INF` counts as 0.
    pub(super) fn duration_or_inf(&mut self) -> Result<i64> {
        match self.take("INF") {
            true => Ok(0),
            false => self.duration(),
        }
    }

    /// A duration in nanoseconds.
    pub(super) fn duration(&mut self) -> Result<i64> {
        let before = self.scanner;
        let text = self.text(Kind::Duration, "duration")?;
        parse_duration(&text).map_err(|problem| {
            self.scanner = before;
            self.error_here(problem)
        })
    }

    /// Reads something that may contain itself.
    pub(super) fn nested<T>(&mut self, item: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.error_here(format!("more than {DEPTH_MAX} levels in one another")));
        }
        let result = item(self);
        self.depth -= 1;
        result
    }

    /// The expression that was read last, and one that is so high, stand in another.
    pub(super) fn grow(&mut self, beside: u32) -> Result<()> {
        self.height = self.height.max(beside) + 1;
        // A number or name without operators is one high.
        match self.height > HEIGHT_MAX + 1 {
            true => {
                let message = format!("more than {HEIGHT_MAX} operators on one another");
                Err(self.error_here(message))
            }
            false => Ok(()),
        }
    }

    /// Reads a selection that stands in another.
    pub(super) fn subquery<T>(&mut self, item: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.subqueries += 1;
        if self.subqueries > SUBQUERIES_MAX {
            let message = format!("more than {SUBQUERIES_MAX} levels of subqueries");
            return Err(self.error_here(message));
        }
        let result = item(self);
        self.subqueries -= 1;
        result
    }

    /// Counts an operator.
    pub(super) fn count_operator(&mut self) -> Result<()> {
        self.operators += 1;
        match self.operators > OPERATORS_MAX {
            true => Err(self.error_here(format!("more than {OPERATORS_MAX} operators"))),
            false => Ok(()),
        }
    }

    /// The error that the next token is not what was expected.
    pub(super) fn expected(&mut self, expected: &[&str]) -> ParseError {
        let found = self.peek().clone();
        self.unexpected(&found, expected)
    }

    /// The error that `found` is not what was expected.
    pub(super) fn unexpected(&self, found: &Token<'_>, expected: &[&str]) -> ParseError {
        let is_keyword = matches!(found.kind, Kind::Word(word) if is_letters(word));
        let hint = match is_keyword && expected.contains(&"identifier") {
            true => " (a keyword: a name that is one needs double quotes)",
            false => "",
        };
        let message = format!("found {}{hint}, expected {}", found.found(), expected.join(", "));
        ParseError { message, position: Some(self.scanner.position(found.at)) }
    }

    /// An error about the next token.
    pub(super) fn error_here(&mut self, message: impl Into<String>) -> ParseError {
        let at = self.peek().at;
        self.error_at(at, message)
    }

    /// An error about the place `at`.
    pub(super) fn error_at(&self, at: usize, message: impl Into<String>) -> ParseError {
        ParseError { message: message.into(), position: Some(self.scanner.position(at)) }
    }

    /// An error about no place in particular.
    pub(super) fn error(message: impl Into<String>) -> ParseError {
        ParseError { message: message.into(), position: None }
    }
}

/// The next token; see [`Parser::scan_raw`].
fn scan_raw<'a>(scanner: &mut Scanner<'a>, parameters: &Parameters) -> Token<'a> {
    let token = scanner.next();
    let value = match token.kind {
        Kind::Bound => parameters.get(&*token.text),
        _ => None,
    };
    match value {
        Some(value) => bind(value, token.at),
        None => token,
    }
}

fn is_letters(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// The token that a parameter stands for.
fn bind<'a>(value: &Parameter, at: usize) -> Token<'a> {
    let (kind, text) = match value {
        Parameter::Integer(value) => (Kind::Integer, value.to_string()),
        Parameter::Unsigned(value) => (Kind::Number, (*value as f64).to_string()),
        Parameter::Number(value) => (Kind::Number, value.to_string()),
        Parameter::String(text) => (Kind::String, text.clone()),
        Parameter::Boolean(true) => (Kind::Word("TRUE"), String::new()),
        Parameter::Boolean(false) => (Kind::Word("FALSE"), String::new()),
        Parameter::Regex(pattern) => (Kind::Regex, pattern.clone()),
        Parameter::Identifier(name) => (Kind::Ident, name.clone()),
        Parameter::Duration(duration_ns) => (Kind::Duration, format_duration(*duration_ns)),
    };
    Token { kind, text: Cow::Owned(text), at }
}
