//! Expressions.

use super::ast::{Cast, Expr, Op};
use super::parse_duration;
use super::parser::{Parser, Result};
use super::scan::Kind;
use foliot_model::Pattern;

impl Parser<'_> {
    /// An expression.
    pub(super) fn expression(&mut self) -> Result<Expr> {
        self.binary(1)
    }

    /// A regular expression if one comes next, else an expression.
    pub(super) fn regex_or_expression(&mut self) -> Result<Expr> {
        match self.regex()? {
            Some(pattern) => Ok(Expr::Regex(pattern)),
            None => self.expression(),
        }
    }

    /// Operands joined by operators that bind at least as tightly as `precedence`.
    fn binary(&mut self, precedence: u8) -> Result<Expr> {
        self.nested(|parser| parser.operands(precedence))
    }

    fn operands(&mut self, precedence: u8) -> Result<Expr> {
        let mut left = self.unary()?;
        while let Some(op) = self.operator(precedence) {
            self.count_operator()?;
            let left_height = self.height;
            let right = match op {
                Op::And | Op::Or => {
                    left = self.chain(op, left)?;
                    continue;
                }
                Op::Matches | Op::NotMatches => match self.regex()? {
                    Some(pattern) => Expr::Regex(pattern),
                    None => return Err(self.expected(&["regex"])),
                },
                _ => self.binary(op.precedence() + 1)?,
            };
            self.grow(left_height)?;
            left = Expr::Binary { op, left: Box::new(left), right: Box::new(right) };
        }
        Ok(left)
    }

    /// The rest of a chain of `AND`s or of `OR`s, behind the first of them. In which order these
    /// are joined makes no difference, so they become a tree that is low however long the chain is.
    fn chain(&mut self, op: Op, first: Expr) -> Result<Expr> {
        let (mut operands, mut height) = (Vec::with_capacity(2), self.height);
        operands.push(first);
        loop {
            operands.push(self.binary(op.precedence() + 1)?);
            height = height.max(self.height);
            if !self.take(op.text()) {
                break;
            }
            self.count_operator()?;
        }
        self.height = height + operands.len().next_power_of_two().trailing_zeros();
        self.grow(0)?;
        let mut left = operands;
        while left.len() > 1 {
            let mut joined = Vec::with_capacity(left.len().div_ceil(2));
            let mut pairs = left.into_iter();
            while let Some(left) = pairs.next() {
                joined.push(match pairs.next() {
                    Some(right) => {
                        Expr::Binary { op, left: Box::new(left), right: Box::new(right) }
                    }
                    None => left,
                });
            }
            left = joined;
        }
        left.pop().ok_or_else(|| self.expected(&["expression"]))
    }

    /// Takes the next token if it is an operator that binds at least as tightly as `precedence`.
    fn operator(&mut self, precedence: u8) -> Option<Op> {
        self.take_as(|token| {
            let Kind::Word(word) = token.kind else { return None };
            Op::of(word).filter(|op| op.precedence() >= precedence)
        })
    }

    /// An operand.
    fn unary(&mut self) -> Result<Expr> {
        if self.take("(") {
            let inner = self.expression()?;
            self.grow(0)?;
            self.expect(&[")"])?;
            return Ok(Expr::Paren(Box::new(inner)));
        }
        self.height = 1;
        let token = self.scan();
        let text = &*token.text;
        match token.kind {
            Kind::Ident => match self.take_here("(") {
                true => self.call(text),
                false => self.variable(token.text.into_owned()),
            },
            Kind::Word("DISTINCT") => self.distinct(),
            Kind::Word("*") => self.wildcard(),
            Kind::Word("TRUE") => Ok(Expr::Boolean(true)),
            Kind::Word("FALSE") => Ok(Expr::Boolean(false)),
            Kind::Word("+") => self.signed(false),
            Kind::Word("-") => self.signed(true),
            Kind::String => Ok(Expr::String(text.to_owned())),
            Kind::Regex => self.pattern(text, token.at).map(Expr::Regex),
            Kind::Duration => parse_duration(text)
                .map(Expr::Duration)
                .map_err(|problem| self.error_at(token.at, problem)),
            Kind::Number => match text.parse() {
                Ok(value) => Ok(Expr::Number(value)),
                Err(_) => Err(self.error_at(token.at, "unable to parse number")),
            },
            Kind::Integer => match (text.parse(), text.parse()) {
                (Ok(value), _) => Ok(Expr::Integer(value)),
                (_, Ok(value)) => Ok(Expr::Unsigned(value)),
                _ => Err(self.error_at(token.at, "unable to parse integer")),
            },
            Kind::Bound if text.is_empty() => Err(Self::error("empty bound parameter")),
            Kind::Bound => Err(Self::error(format!("missing parameter: {text}"))),
            _ => Err(self.unexpected(&token, &["identifier", "string", "number", "bool"])),
        }
    }

    /// What stands behind a sign. A minus before a name, a call or parentheses is a factor of -1.
    fn signed(&mut self, is_negative: bool) -> Result<Expr> {
        let token = self.peek().clone();
        let is_operand = matches!(
            token.kind,
            Kind::Number | Kind::Integer | Kind::Duration | Kind::Ident | Kind::Word("(")
        );
        if !is_operand {
            return Err(self.unexpected(&token, &["identifier", "number", "duration", "("]));
        }
        let factor = if is_negative { -1 } else { 1 };
        // As if the factor stood there, so that what is printed is within the same bounds.
        Ok(match self.nested(Self::unary)? {
            Expr::Number(value) => Expr::Number(value * f64::from(factor)),
            // A parameter may bring the one integer that has no opposite.
            Expr::Integer(value) => Expr::Integer(value.saturating_mul(i64::from(factor))),
            Expr::Duration(value_ns) => Expr::Duration(value_ns.saturating_mul(i64::from(factor))),
            Expr::Unsigned(value) if is_negative => match 0i64.checked_sub_unsigned(value) {
                Some(value) => Expr::Integer(value),
                None => return Err(Self::error(format!("constant -{value} underflows int64"))),
            },
            unsigned @ Expr::Unsigned(_) => unsigned,
            other => {
                self.count_operator()?;
                self.grow(0)?;
                Expr::Binary {
                    op: Op::Multiply,
                    left: Box::new(Expr::Integer(i64::from(factor))),
                    right: Box::new(other),
                }
            }
        })
    }

    /// The arguments of the function `name`, behind its opening parenthesis.
    fn call(&mut self, name: &str) -> Result<Expr> {
        let name = name.to_ascii_lowercase();
        let first = self.regex()?;
        if first.is_none() && self.take(")") {
            return Ok(Expr::Call { name, args: Vec::new() });
        }
        let mut args = vec![match first {
            Some(pattern) => Expr::Regex(pattern),
            None => self.expression()?,
        }];
        let mut height = self.height;
        while self.take(",") {
            args.push(self.regex_or_expression()?);
            height = height.max(self.height);
        }
        self.grow(height)?;
        self.expect(&[")"])?;
        Ok(Expr::Call { name, args })
    }

    /// `DISTINCT(name)` or `DISTINCT name`, behind the word.
    fn distinct(&mut self) -> Result<Expr> {
        let token = self.scan_raw();
        match token.kind {
            Kind::Word("(") => self.call("distinct"),
            Kind::Blank => self.name().map(Expr::Distinct),
            _ => Err(self.unexpected(&token, &["(", "identifier"])),
        }
    }

    /// What may stand behind `*`.
    fn wildcard(&mut self) -> Result<Expr> {
        if !self.take_here("::") {
            return Ok(Expr::Wildcard(None));
        }
        let token = self.scan_raw();
        match token.kind {
            Kind::Word("FIELD") => Ok(Expr::Wildcard(Some(Cast::Field))),
            Kind::Word("TAG") => Ok(Expr::Wildcard(Some(Cast::Tag))),
            _ => Err(self.unexpected(&token, &["field", "tag"])),
        }
    }

    /// A field or tag, whose name begins so, with its cast.
    fn variable(&mut self, first: String) -> Result<Expr> {
        let name = match self.scanner.begins_with(".") {
            true => self.segments_from(first)?.join("."),
            false => first,
        };
        if !self.take_here("::") {
            return Ok(Expr::Var { name, cast: None });
        }
        let token = self.scan_raw();
        let cast = match token.kind {
            Kind::Word("FIELD") => Cast::Field,
            Kind::Word("TAG") => Cast::Tag,
            Kind::Ident => match token.text.to_ascii_lowercase().as_str() {
                "float" => Cast::Float,
                "integer" => Cast::Integer,
                "unsigned" => Cast::Unsigned,
                "string" => Cast::String,
                "boolean" => Cast::Boolean,
                _ => {
                    let casts =
                        ["float", "integer", "unsigned", "string", "boolean", "field", "tag"];
                    return Err(self.unexpected(&token, &casts));
                }
            },
            _ => {
                let casts = ["float", "integer", "string", "boolean", "field", "tag"];
                return Err(self.unexpected(&token, &casts));
            }
        };
        Ok(Expr::Var { name, cast: Some(cast) })
    }

    /// Up to three names with dots between them; names but the first may be left out. Stops behind
    /// a dot when a regular expression or a colon follows.
    pub(super) fn segments(&mut self) -> Result<Vec<String>> {
        let first = self.name()?;
        self.segments_from(first)
    }

    /// The same behind the first of them.
    fn segments_from(&mut self, first: String) -> Result<Vec<String>> {
        let mut segments = vec![first];
        while self.take_here(".") {
            match self.scanner.peek_char() {
                Some('/' | ':') => break,
                Some('.') => segments.push(String::new()),
                _ => segments.push(self.name()?),
            }
        }
        match segments.len() > 3 {
            true => Err(self.error_at(
                0,
                format!("too many segments in {}", super::print::quote_names(&segments)),
            )),
            false => Ok(segments),
        }
    }

    /// A regular expression, if one comes next.
    pub(super) fn regex(&mut self) -> Result<Option<String>> {
        let kind = self.peek().kind;
        match kind {
            Kind::Regex => {
                let token = self.scan();
                return self.pattern(&token.text, token.at).map(Some);
            }
            Kind::Word("/") | Kind::Illegal | Kind::End => {}
            // What begins a token of another kind begins none.
            _ => return Ok(None),
        }
        let mut before = self.scanner;
        while self.scan_raw().kind == Kind::Blank {
            before = self.scanner;
        }
        self.scanner = before;
        if self.scanner.peek_char() != Some('/') {
            return Ok(None);
        }
        let at = self.scanner.at().saturating_sub(1);
        match self.scanner.regex() {
            Some(pattern) => self.pattern(&pattern, at).map(Some),
            None => Err(self.error_at(at, "bad regex: ")),
        }
    }

    /// An expression that stands at this place, if it is one.
    fn pattern(&self, text: &str, at: usize) -> Result<String> {
        match Pattern::fault(text) {
            None => Ok(text.to_owned()),
            Some(fault) => Err(self.error_at(at, fault)),
        }
    }
}
