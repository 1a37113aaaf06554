//! Expressions, by what they begin with; what stands behind them, and what joins them.

mod calls;
mod operators;
mod times;

pub(crate) use times::duration_seconds;

use super::functions::find_aggregation;
use super::reader::{ParseError, Reader};
use super::{Dialect, Expression, HEIGHT_MAX, Node, Selected, Shifted, Type};

pub(super) fn expression(text: &str, dialect: Dialect) -> Result<Expression, ParseError> {
    let mut reader = Reader { text, at: 0, dialect, allows_any: false };
    reader.skip_blanks();
    if reader.rest().is_empty() {
        return Err(reader.error("no expression found in input"));
    }
    let expression = reader.binary(0, 0)?;
    reader.skip_blanks();
    match reader.peek() {
        None => Ok(Expression { dialect, ..expression }),
        Some(_) => Err(reader.unexpected("expression", "end of input")),
    }
}

impl Expression {
    fn new(what: Node, kind: Type, below: usize) -> Self {
        let (place, opens, dialect) = (0, 0, Dialect::Plain);
        Self { what, kind, height: below + 1, parentheses: 0, place, opens, dialect }
    }

    /// Whether it is a selector without a name before its braces, and of no other time.
    fn is_of_labels_only(&self) -> bool {
        let Node::Series(Selected { selector, shift }) = &self.what else { return false };
        selector.name.is_empty() && shift.at.is_none() && shift.offset_ms.is_none()
    }

    /// The same expression, which begins at this byte with whatever stands around it.
    fn at(mut self, start: usize) -> Self {
        if self.parentheses == 0 {
            self.place = start;
        }
        Self { opens: start, ..self }
    }
}

impl Reader<'_> {
    /// Refuses to go deeper.
    fn descend(&self, depth: usize) -> Result<usize, ParseError> {
        match depth < HEIGHT_MAX {
            true => Ok(depth + 1),
            false => Err(self.error(format!("expression is nested more than {HEIGHT_MAX} deep"))),
        }
    }

    fn built(&self, what: Node, kind: Type, below: usize) -> Result<Expression, ParseError> {
        self.descend(below).map(|_| Expression::new(what, kind, below))
    }

    /// The word that comes next, which is not taken.
    fn word_ahead(&mut self) -> Option<&str> {
        let start = self.at;
        let word = self.word(true);
        let word = word.map(|word| word.len());
        self.at = start;
        self.rest().get(..word?)
    }

    /// Takes a word, in any case of letters.
    fn takes_word(&mut self, wanted: &str) -> bool {
        self.skip_blanks();
        let is_next = self.word_ahead().is_some_and(|word| word.eq_ignore_ascii_case(wanted));
        self.at += if is_next { wanted.len() } else { 0 };
        is_next
    }

    fn primary(&mut self, depth: usize) -> Result<Expression, ParseError> {
        let start = self.at;
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let mut inner = self.binary(0, depth)?;
                self.skip_blanks();
                if !self.takes(")") {
                    return Err(self.unexpected("paren expression", "\")\""));
                }
                inner.parentheses += 1;
                Ok(inner)
            }
            Some('"' | '\'' | '`' | '0'..='9' | '.') => self.literal(),
            Some('{') => self.series(start, None),
            _ => {
                let word = self.word(true).map(str::to_owned);
                let word = word.ok_or_else(|| self.unexpected("expression", "expression"))?;
                self.named(start, word, depth)
            }
        }
    }

    /// A text, a number or a length of time.
    fn literal(&mut self) -> Result<Expression, ParseError> {
        if matches!(self.peek(), Some('"' | '\'' | '`')) {
            let text = self.quoted("expression", "string")?;
            return Ok(Expression::new(Node::Text(text), Type::Text, 0));
        }
        let (number, is_length) = self.number()?;
        let what = if is_length { Node::Length(number) } else { Node::Number(number) };
        Ok(Expression::new(what, Type::Scalar, 0))
    }

    /// What begins with a word: an aggregation, a call, a number or a series.
    fn named(
        &mut self,
        start: usize,
        word: String,
        depth: usize,
    ) -> Result<Expression, ParseError> {
        self.skip_blanks();
        let opens = self.peek() == Some('(');
        let groups = self
            .word_ahead()
            .is_some_and(|next| ["by", "without"].iter().any(|by| by.eq_ignore_ascii_case(next)));
        if let Some((name, parameter)) = find_aggregation(&word)
            && (opens || groups)
        {
            return self.aggregation(start, name, parameter, depth);
        }
        if opens {
            return self.call(start, &word, depth);
        }
        self.word_alone(start, word)
    }

    /// A number that is a word, or a series.
    fn word_alone(&mut self, start: usize, word: String) -> Result<Expression, ParseError> {
        let number = match () {
            _ if self.peek() == Some('{') => None,
            () if word.eq_ignore_ascii_case("inf") => Some(f64::INFINITY),
            () if word.eq_ignore_ascii_case("nan") => Some(f64::NAN),
            () => None,
        };
        match number {
            Some(number) => Ok(Expression::new(Node::Number(number), Type::Scalar, 0)),
            None => self.series(start, Some(word)),
        }
    }

    fn series(&mut self, start: usize, name: Option<String>) -> Result<Expression, ParseError> {
        let selector = self.selector(start, name)?;
        let selected = Selected { selector, shift: Shifted::default() };
        Ok(Expression::new(Node::Series(selected), Type::Vector, 0))
    }

    /// Ranges, subqueries, `offset` and `@`.
    fn suffixes(
        &mut self,
        start: usize,
        mut of: Expression,
        depth: usize,
    ) -> Result<Expression, ParseError> {
        loop {
            self.skip_blanks();
            let here = self.at;
            if self.takes("[") {
                of = self.range((start, here), of, depth)?;
            } else if self.takes_word("offset") {
                let offset_ms = self.signed_duration(depth)?;
                let refusal = "offset may not be set multiple times";
                self.shift(&mut of, start, "offset", refusal, |shift| {
                    shift.offset_ms.replace(offset_ms).is_some()
                })?;
            } else if self.takes("@") {
                let at = self.instant()?;
                let refusal = "@ <timestamp> may not be set multiple times";
                self.shift(&mut of, start, "@", refusal, |shift| shift.at.replace(at).is_some())?;
            } else {
                return Ok(of);
            }
        }
    }

    fn shift(
        &self,
        of: &mut Expression,
        start: usize,
        modifier: &str,
        refusal: &str,
        set: impl FnOnce(&mut Shifted) -> bool,
    ) -> Result<(), ParseError> {
        let is_bare = of.parentheses == 0;
        let shift = match &mut of.what {
            Node::Series(selected) | Node::Range(selected, _) if is_bare => &mut selected.shift,
            Node::Subquery { shift, .. } if is_bare => shift,
            _ => {
                let text = format!(
                    "{modifier} modifier must be preceded by an instant vector selector or range \
                     vector selector or a subquery"
                );
                return Err(self.error_at(start, text));
            }
        };
        match set(shift) {
            false => Ok(()),
            true => Err(self.error_at(start, refusal)),
        }
    }

    /// What stands in brackets, behind the first of them. What they follow begins at the first of
    /// `places`, and they at the second.
    fn range(
        &mut self,
        places: (usize, usize),
        of: Expression,
        depth: usize,
    ) -> Result<Expression, ParseError> {
        self.skip_blanks();
        let range_ms = self.duration(depth)?;
        self.skip_blanks();
        let is_subquery = self.takes(":");
        let mut step_ms = None;
        self.skip_blanks();
        if is_subquery && self.peek() != Some(']') {
            step_ms = Some(self.duration(depth)?);
            self.skip_blanks();
        }
        if !self.takes("]") {
            return Err(self.unexpected("subquery or range", "\"]\""));
        }
        if is_subquery {
            if of.kind != Type::Vector {
                let text =
                    format!("subquery is only allowed on instant vector, got {} instead", of.kind);
                return Err(self.error_at(places.0, text));
            }
            let below = of.height;
            let shift = Shifted::default();
            let what = Node::Subquery { input: Box::new(of), range_ms, step_ms, shift };
            return self.built(what, Type::Matrix, below);
        }
        let refuse = |text: &str| Err(self.error_at(places.1, text));
        match of.what {
            _ if of.parentheses > 0 => refuse("ranges only allowed for vector selectors"),
            Node::Series(Selected { shift: Shifted { offset_ms: None, at: None }, selector }) => {
                let selected = Selected { selector, shift: Shifted::default() };
                Ok(Expression::new(Node::Range(selected, range_ms), Type::Matrix, 0))
            }
            Node::Series(Selected { shift: Shifted { offset_ms: Some(_), .. }, .. }) => {
                refuse("no offset modifiers allowed before range")
            }
            Node::Series(_) => refuse("no @ modifiers allowed before range"),
            _ => refuse("ranges only allowed for vector selectors"),
        }
    }
}

#[cfg(test)]
mod tests;
