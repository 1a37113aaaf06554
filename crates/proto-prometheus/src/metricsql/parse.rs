//! Expressions of MetricsQL.

use super::functions::is_aggregation;
use super::numbers::{Amount, amount};
use super::{Binary, Expression, Length, Node, PARTS_MAX, Rollup};
use crate::promql::reader::{ParseError, Reader};
use crate::promql::{Dialect, HEIGHT_MAX, LISTED_MAX, VectorSelector};
use foliot_plan::grid::{Calculation, Comparison, Fill, Labels, Many, Matching, Operator};
use std::sync::Arc;

/// Operators with their ranks, the longer ones of the same beginning first.
const SIGNS: [(&str, u8, Operator); 12] = [
    ("==", 5, compare(Comparison::Equal)),
    ("!=", 5, compare(Comparison::NotEqual)),
    (">=", 5, compare(Comparison::GreaterOrEqual)),
    ("<=", 5, compare(Comparison::LessOrEqual)),
    (">", 5, compare(Comparison::Greater)),
    ("<", 5, compare(Comparison::Less)),
    ("+", 6, Operator::Calculate(Calculation::Add)),
    ("-", 6, Operator::Calculate(Calculation::Subtract)),
    ("*", 7, Operator::Calculate(Calculation::Multiply)),
    ("/", 7, Operator::Calculate(Calculation::Divide)),
    ("%", 7, Operator::Calculate(Calculation::Remainder)),
    ("^", 8, POWER),
];
const WORDS: [(&str, u8, Operator); 7] = [
    ("default", 1, Operator::Default),
    ("if", 2, Operator::If),
    ("ifnot", 2, Operator::IfNot),
    ("or", 3, Operator::Or),
    ("and", 4, Operator::And),
    ("unless", 4, Operator::Unless),
    ("atan2", 7, Operator::Calculate(Calculation::Angle)),
];
const POWER: Operator = Operator::Calculate(Calculation::Power);
/// What a sign before an operand binds as.
const UNARY_RANK: u8 = 7;

const fn compare(comparison: Comparison) -> Operator {
    Operator::Compare { comparison, is_told: false }
}

/// Something that a name stands for.
struct Template {
    name: String,
    /// What it is given, if it is called.
    parameters: Option<Vec<String>>,
    body: Expression,
}

struct Parser<'a> {
    reader: Reader<'a>,
    templates: Vec<Template>,
}

pub(super) fn question(text: &str) -> Result<Expression, ParseError> {
    let reader = Reader { text, at: 0, dialect: Dialect::Plain, allows_any: true };
    let mut parser = Parser { reader, templates: Vec::new() };
    let expression = parser.binary(0, 0)?;
    parser.reader.skip_blanks();
    match parser.reader.peek() {
        None => Ok(expression),
        Some(_) => Err(parser.reader.unexpected("expression", "end of input")),
    }
}

impl Parser<'_> {
    fn built(&self, what: Node) -> Result<Expression, ParseError> {
        assembled(what).map_err(|reason| self.reader.error(reason))
    }

    /// Refuses more parts than an expression may have, before there are more.
    fn counted<'e>(&self, of: impl Iterator<Item = &'e Expression>) -> Result<(), ParseError> {
        match of.fold(0, |sum: usize, one| sum.saturating_add(one.parts)) > PARTS_MAX {
            false => Ok(()),
            true => {
                let reason = format!("expression has more than {PARTS_MAX} parts");
                Err(self.reader.error(reason))
            }
        }
    }

    fn takes(&mut self, piece: &str) -> bool {
        self.reader.skip_blanks();
        self.reader.takes(piece)
    }

    fn needs(&mut self, piece: &str, context: &str) -> Result<(), ParseError> {
        match self.takes(piece) {
            true => Ok(()),
            false => Err(self.reader.unexpected(context, &format!("{piece:?}"))),
        }
    }

    /// The word that comes next, which is not taken.
    fn word_ahead(&mut self) -> String {
        self.reader.skip_blanks();
        let start = self.reader.at;
        let word = self.reader.word(true).unwrap_or_default().to_owned();
        self.reader.at = start;
        word
    }

    /// Takes a word, in any case of letters.
    fn takes_word(&mut self, wanted: &str) -> bool {
        let is_next = self.word_ahead().eq_ignore_ascii_case(wanted);
        self.reader.at += if is_next { wanted.len() } else { 0 };
        is_next
    }

    /// An expression of operators of at least this rank.
    fn binary(&mut self, rank_min: u8, depth: usize) -> Result<Expression, ParseError> {
        if depth >= HEIGHT_MAX {
            let reason = format!("expression is nested more than {HEIGHT_MAX} deep");
            return Err(self.reader.error(reason));
        }
        let mut left = self.operand(depth + 1)?;
        loop {
            self.reader.skip_blanks();
            let start = self.reader.at;
            let Some((rank, operator)) = self.operator() else { return Ok(left) };
            if rank < rank_min {
                self.reader.at = start;
                return Ok(left);
            }
            let is_told = self.takes_word("bool");
            let operator = match operator {
                Operator::Compare { comparison, .. } => Operator::Compare { comparison, is_told },
                operator => operator,
            };
            let (matching, is_said) = self.matching(operator)?;
            let right_min = if operator == POWER { rank } else { rank + 1 };
            let right = self.binary(right_min, depth + 1)?;
            let keeps_names = self.takes_word("keep_metric_names");
            let binary = Binary { left, right, operator, matching, is_said, keeps_names };
            left = self.built(Node::Binary(Box::new(binary)))?;
        }
    }

    fn operator(&mut self) -> Option<(u8, Operator)> {
        let word = self.word_ahead();
        let found = match word.is_empty() {
            true => SIGNS.iter().find(|(sign, ..)| self.reader.rest().starts_with(sign)),
            false => WORDS.iter().find(|(name, ..)| name.eq_ignore_ascii_case(&word)),
        };
        let (sign, rank, operator) = found?;
        self.reader.at += sign.len();
        Some((*rank, *operator))
    }

    /// `on`, `ignoring`, `group_left` and `group_right`.
    fn matching(&mut self, operator: Operator) -> Result<(Matching, bool), ParseError> {
        let (mut by, mut many, mut include, mut is_said) =
            (Labels::Without(Vec::new()), Many::None, Vec::new(), true);
        match () {
            () if self.takes_word("on") => by = Labels::Only(self.labels()?),
            () if self.takes_word("ignoring") => by = Labels::Without(self.labels()?),
            () => is_said = false,
        }
        for (word, side) in [("group_left", Many::Left), ("group_right", Many::Right)] {
            if self.takes_word(word) {
                (many, is_said) = (side, true);
                self.reader.skip_blanks();
                if self.reader.peek() == Some('(') {
                    include = self.labels()?;
                }
            }
        }
        if !matches!(operator, Operator::Calculate(_) | Operator::Compare { .. }) {
            many = Many::Both;
        }
        Ok((Matching { by, many, include, fill: Fill::default() }, is_said))
    }

    /// `(a, b,)`.
    fn labels(&mut self) -> Result<Vec<Arc<str>>, ParseError> {
        const CONTEXT: &str = "grouping opts";
        self.needs("(", CONTEXT)?;
        let mut names: Vec<Arc<str>> = Vec::new();
        while !self.takes(")") {
            if names.len() == LISTED_MAX {
                let reason = format!("a list has more than {LISTED_MAX} labels");
                return Err(self.reader.error(reason));
            }
            match self.reader.word(false) {
                Some(word) => names.push(word.into()),
                None => names.push(self.reader.quoted(CONTEXT, "label")?.into()),
            }
            self.reader.skip_blanks();
            if !self.takes(",") && self.reader.peek() != Some(')') {
                return Err(self.reader.unexpected(CONTEXT, "\",\" or \")\""));
            }
        }
        Ok(names)
    }

    /// What operators stand between, with what follows it.
    fn operand(&mut self, depth: usize) -> Result<Expression, ParseError> {
        if self.takes("+") {
            return self.binary(UNARY_RANK, depth);
        }
        if self.takes("-") {
            let right = self.binary(UNARY_RANK, depth)?;
            return match right.what {
                Node::Number(number) => self.built(Node::Number(-number)),
                Node::Length(Length { ms, steps }) => {
                    self.built(Node::Length(Length { ms: -ms, steps: -steps }))
                }
                _ => self.negated(right),
            };
        }
        let primary = self.primary(depth)?;
        self.rollup(primary, depth)
    }

    /// What 0 is more than an expression.
    fn negated(&self, right: Expression) -> Result<Expression, ParseError> {
        let (by, include) = (Labels::Without(Vec::new()), Vec::new());
        let matching = Matching { by, many: Many::None, include, fill: Fill::default() };
        let left = self.built(Node::Number(0.0))?;
        let operator = Operator::Calculate(Calculation::Subtract);
        let (is_said, keeps_names) = (false, false);
        let binary = Binary { left, right, operator, matching, is_said, keeps_names };
        self.built(Node::Binary(Box::new(binary)))
    }

    fn primary(&mut self, depth: usize) -> Result<Expression, ParseError> {
        match self.reader.peek() {
            Some('(') => {
                let mut arguments = self.arguments(depth)?;
                let keeps_names = self.takes_word("keep_metric_names");
                if arguments.len() != 1 {
                    let name = String::new();
                    return self.built(Node::Call { name, arguments, keeps_names });
                }
                let mut only = arguments.swap_remove(0);
                match &mut only.what {
                    Node::Binary(binary) => binary.keeps_names |= keeps_names,
                    Node::Call { keeps_names: keeps, .. } => *keeps |= keeps_names,
                    _ => {}
                }
                Ok(only)
            }
            Some('"' | '\'' | '`') => {
                let text = self.reader.quoted("expression", "string")?;
                self.built(Node::Text(text))
            }
            Some('0'..='9' | '.') => match amount(&mut self.reader)? {
                Amount::Number(number) => self.built(Node::Number(number)),
                Amount::Length(length) => self.built(Node::Length(length)),
            },
            Some('{') => self.series(None),
            _ => {
                let word = self.reader.word(true).map(str::to_owned);
                let word =
                    word.ok_or_else(|| self.reader.unexpected("expression", "expression"))?;
                self.named(word, depth)
            }
        }
    }

    /// What begins with a word.
    fn named(&mut self, word: String, depth: usize) -> Result<Expression, ParseError> {
        self.reader.skip_blanks();
        let opens = self.reader.peek() == Some('(');
        let lower = word.to_ascii_lowercase();
        let groups = ["by", "without"].iter().any(|by| self.word_ahead().eq_ignore_ascii_case(by));
        match () {
            () if lower == "with" && opens => self.with(depth),
            () if self.reader.peek() == Some('{') => self.series(Some(word)),
            () if opens && self.template(&word).is_some_and(|of| of.parameters.is_some()) => {
                let arguments = self.arguments(depth)?;
                self.filled_in(&word, &arguments)
            }
            () if is_aggregation(&lower) && (opens || groups) => self.aggregation(lower, depth),
            () if opens => {
                let arguments = self.arguments(depth)?;
                let keeps_names = self.takes_word("keep_metric_names");
                self.built(Node::Call { name: lower, arguments, keeps_names })
            }
            () if self.template(&word).is_some() => self.filled_in(&word, &[]),
            () if lower == "inf" => self.built(Node::Number(f64::INFINITY)),
            () if lower == "nan" => self.built(Node::Number(f64::NAN)),
            () => self.series(Some(word)),
        }
    }

    /// `(a, b,)` behind a name.
    fn arguments(&mut self, depth: usize) -> Result<Vec<Expression>, ParseError> {
        self.needs("(", "call")?;
        let mut arguments = Vec::new();
        while !self.takes(")") {
            if arguments.len() == LISTED_MAX {
                let reason = format!("a list has more than {LISTED_MAX} expressions");
                return Err(self.reader.error(reason));
            }
            arguments.push(self.binary(0, depth)?);
            self.counted(arguments.iter())?;
            self.reader.skip_blanks();
            if !self.takes(",") && self.reader.peek() != Some(')') {
                return Err(self.reader.unexpected("call", "\",\" or \")\""));
            }
        }
        Ok(arguments)
    }

    fn by(&mut self) -> Result<Option<Labels>, ParseError> {
        match () {
            () if self.takes_word("by") => Ok(Some(Labels::Only(self.labels()?))),
            () if self.takes_word("without") => Ok(Some(Labels::Without(self.labels()?))),
            () => Ok(None),
        }
    }

    fn aggregation(&mut self, name: String, depth: usize) -> Result<Expression, ParseError> {
        let before = self.by()?;
        let arguments = self.arguments(depth)?;
        let by = match before {
            Some(by) => by,
            None => self.by()?.unwrap_or(Labels::Only(Vec::new())),
        };
        let mut limit = None;
        if self.takes_word("limit") {
            self.reader.skip_blanks();
            limit = match amount(&mut self.reader)? {
                Amount::Number(number) if number >= 0.0 => Some(number as usize),
                _ => return Err(self.reader.error("a limit must be a number")),
            };
        }
        self.built(Node::Aggregate { name, arguments, by, limit })
    }

    /// `{a="b", c=~"d" or e="f"}` behind a name, or nothing.
    fn series(&mut self, name: Option<String>) -> Result<Expression, ParseError> {
        let mut selectors = vec![VectorSelector::named(name.clone())];
        if self.takes("{") {
            while !self.takes("}") {
                if self.takes_word("or") {
                    selectors.push(VectorSelector::named(name.clone()));
                    continue;
                }
                self.matcher(&mut selectors)?;
                let is_or = self.word_ahead().eq_ignore_ascii_case("or");
                if !self.takes(",") && !is_or && self.reader.peek() != Some('}') {
                    return Err(self.reader.unexpected("label matching", "\",\" or \"}\""));
                }
            }
        }
        if selectors.iter().any(VectorSelector::is_any) {
            selectors.clear();
        }
        self.built(Node::Series(selectors))
    }

    /// A condition of the last selector, a name in quotes, or a template with conditions.
    fn matcher(&mut self, selectors: &mut [VectorSelector]) -> Result<(), ParseError> {
        const CONTEXT: &str = "label matching";
        if selectors.iter().map(VectorSelector::conditions).sum::<usize>() >= LISTED_MAX {
            let reason = format!("a selector has more than {LISTED_MAX} label matchers");
            return Err(self.reader.error(reason));
        }
        let (label, is_quoted) = match self.reader.word(false) {
            Some(word) => (word.to_owned(), false),
            None => (self.reader.quoted(CONTEXT, "identifier or \"}\"")?, true),
        };
        self.reader.skip_blanks();
        let is_alone = matches!(self.reader.peek(), Some(',' | '}'));
        let template = self.template(&label).map(|template| template.body.what.clone());
        let Some(selector) = selectors.last_mut() else { return Ok(()) };
        match (is_alone, is_quoted, template) {
            (true, true, _) => {
                let named = selector.require("__name__", "=", &label);
                named.map_err(|reason| self.reader.error(reason))
            }
            (true, false, Some(Node::Series(others))) if others.len() == 1 => {
                others.iter().for_each(|other| selector.narrow(other));
                Ok(())
            }
            _ => self.reader.narrowed(selector, &label),
        }
    }

    /// Brackets, `offset` and `@` behind an operand.
    fn rollup(&mut self, input: Expression, depth: usize) -> Result<Expression, ParseError> {
        let (range, step, offset, at) = (None, None, None, None);
        let mut rollup = Rollup { input, range, step, offset, at };
        loop {
            if self.takes("[") {
                if rollup.range.is_some() || rollup.step.is_some() {
                    return Err(self.reader.error("a range may not be set multiple times"));
                }
                self.reader.skip_blanks();
                if self.reader.peek() != Some(':') {
                    rollup.range = Some(self.length()?);
                }
                if self.takes(":") {
                    self.reader.skip_blanks();
                    let has_step = self.reader.peek() != Some(']');
                    rollup.step = Some(if has_step { Some(self.length()?) } else { None });
                }
                self.needs("]", "subquery or range")?;
            } else if self.takes_word("offset") {
                let is_negative = self.takes("-");
                self.reader.skip_blanks();
                let Length { ms, steps } = self.length()?;
                let sign = if is_negative { -1.0 } else { 1.0 };
                rollup.offset = Some(Length { ms: ms * sign, steps: steps * sign });
            } else if self.takes("@") {
                self.reader.skip_blanks();
                rollup.at = Some(match self.takes("-") {
                    true => {
                        let instant = self.primary(depth)?;
                        self.negated(instant)?
                    }
                    false => self.primary(depth)?,
                });
            } else {
                break;
            }
        }
        let Rollup { range, step, offset, at, .. } = &rollup;
        match range.is_none() && step.is_none() && offset.is_none() && at.is_none() {
            true => Ok(rollup.input),
            false => self.built(Node::Rollup(Box::new(rollup))),
        }
    }

    fn length(&mut self) -> Result<Length, ParseError> {
        self.reader.skip_blanks();
        Ok(match amount(&mut self.reader)? {
            Amount::Length(length) => length,
            Amount::Number(seconds) => Length { ms: seconds * 1000.0, steps: 0.0 },
        })
    }

    fn template(&self, name: &str) -> Option<&Template> {
        self.templates.iter().rev().find(|template| template.name == name)
    }

    /// `WITH (a = b, f(x) = x + 1) c`, behind its first word.
    fn with(&mut self, depth: usize) -> Result<Expression, ParseError> {
        const CONTEXT: &str = "WITH";
        let outer = self.templates.len();
        self.needs("(", CONTEXT)?;
        while !self.takes(")") {
            if self.templates.len() >= LISTED_MAX {
                let reason = format!("there are more than {LISTED_MAX} templates");
                return Err(self.reader.error(reason));
            }
            let name = self.reader.word(true).map(str::to_owned);
            let name = name.ok_or_else(|| self.reader.unexpected(CONTEXT, "a name"))?;
            self.reader.skip_blanks();
            let parameters = match self.reader.peek() {
                Some('(') => Some(self.labels()?.iter().map(|name| name.to_string()).collect()),
                _ => None,
            };
            self.needs("=", CONTEXT)?;
            let before = self.templates.len();
            for parameter in parameters.iter().flatten() {
                let body = self.built(Node::Parameter(String::clone(parameter)))?;
                let name = String::clone(parameter);
                self.templates.push(Template { name, parameters: None, body });
            }
            let body = self.binary(0, depth)?;
            self.templates.truncate(before);
            self.templates.push(Template { name, parameters, body });
            self.counted(self.templates.iter().map(|template| &template.body))?;
            self.reader.skip_blanks();
            if !self.takes(",") && self.reader.peek() != Some(')') {
                return Err(self.reader.unexpected(CONTEXT, "\",\" or \")\""));
            }
        }
        let body = self.binary(0, depth)?;
        self.templates.truncate(outer);
        Ok(body)
    }

    /// What a template stands for.
    fn filled_in(&self, name: &str, given: &[Expression]) -> Result<Expression, ParseError> {
        let Some(template) = self.template(name) else { return self.built(Node::Number(f64::NAN)) };
        let parameters = template.parameters.as_deref().unwrap_or_default();
        if parameters.len() != given.len() {
            let (wanted, got) = (parameters.len(), given.len());
            return Err(self.reader.error(format!("{name} takes {wanted} arguments, got {got}")));
        }
        let pairs: Vec<_> = parameters.iter().map(String::as_str).zip(given).collect();
        let filled = put_in(&template.body, &pairs);
        filled.map_err(|reason| self.reader.error(reason))
    }
}

/// An expression of parts.
fn assembled(what: Node) -> Result<Expression, String> {
    let (mut height, mut parts) = (0, 1usize);
    each_part(&what, &mut |part| {
        height = height.max(part.height);
        parts = parts.saturating_add(part.parts);
    });
    match () {
        () if height >= HEIGHT_MAX => {
            Err(format!("expression is nested more than {HEIGHT_MAX} deep"))
        }
        () if parts > PARTS_MAX => Err(format!("expression has more than {PARTS_MAX} parts")),
        () => Ok(Expression { what, height: height + 1, parts }),
    }
}

fn each_part(of: &Node, each: &mut dyn FnMut(&Expression)) {
    match of {
        Node::Rollup(rollup) => std::iter::once(&rollup.input).chain(&rollup.at).for_each(each),
        Node::Call { arguments, .. } | Node::Aggregate { arguments, .. } => {
            arguments.iter().for_each(each);
        }
        Node::Binary(binary) => [&binary.left, &binary.right].into_iter().for_each(each),
        Node::Number(_)
        | Node::Length(_)
        | Node::Text(_)
        | Node::Series(_)
        | Node::Parameter(_) => {}
    }
}

/// An expression with what a template is given in place of its parameters.
fn put_in(into: &Expression, given: &[(&str, &Expression)]) -> Result<Expression, String> {
    let all = |parts: &[Expression]| {
        parts.iter().map(|part| put_in(part, given)).collect::<Result<Vec<_>, _>>()
    };
    let what = match &into.what {
        Node::Parameter(name) => {
            return match given.iter().find(|(known, _)| known == name) {
                Some((_, given)) => Ok(Expression::clone(given)),
                None => Ok(into.clone()),
            };
        }
        Node::Rollup(rollup) => {
            let input = put_in(&rollup.input, given)?;
            let at = rollup.at.as_ref().map(|at| put_in(at, given)).transpose()?;
            Node::Rollup(Box::new(Rollup { input, at, ..Rollup::clone(rollup) }))
        }
        Node::Call { name, arguments, keeps_names } => {
            Node::Call { name: name.clone(), arguments: all(arguments)?, keeps_names: *keeps_names }
        }
        Node::Aggregate { name, arguments, by, limit } => Node::Aggregate {
            name: name.clone(),
            arguments: all(arguments)?,
            by: by.clone(),
            limit: *limit,
        },
        Node::Binary(binary) => {
            let (left, right) = (put_in(&binary.left, given)?, put_in(&binary.right, given)?);
            Node::Binary(Box::new(Binary { left, right, ..Binary::clone(binary) }))
        }
        other => other.clone(),
    };
    assembled(what)
}
