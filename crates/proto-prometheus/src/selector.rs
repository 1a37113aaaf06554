//! Vector selectors of PromQL: `up{job="node",instance=~"a.*"}`.
//!
//! It reads byte by byte and calls itself nowhere, so no text is too deep for it.

mod quoted;

use foliot_model::{DEFAULT_FIELD, Matcher, Name, NamespaceId, Selector, Test};
use std::fmt;

/// The label that holds the name of a metric.
pub(crate) const NAME: &str = "__name__";

/// Why a text is no expression, and where: as Prometheus says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    line: usize,
    column: usize,
    reason: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: parse error: {}", self.line, self.column, self.reason)
    }
}

/// Which series are wanted, by name and labels.
#[derive(Clone, Debug)]
pub struct VectorSelector {
    /// Conditions on the name of the metric; all must hold.
    names: Vec<Matcher>,
    labels: Vec<Matcher>,
}

impl VectorSelector {
    /// Reads a whole text.
    ///
    /// # Errors
    /// When it is something else.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut reader = Reader { text, at: 0 };
        let selector = reader.selector()?;
        reader.skip_blanks();
        match reader.peek() {
            None => Ok(selector),
            Some(_) => Err(reader.error("unexpected text behind a vector selector")),
        }
    }

    /// The stored series that can fit: those of the default field.
    pub(crate) fn selector(&self, namespace: NamespaceId) -> Selector {
        let test = |matcher: &Matcher| match matcher.negated {
            true => Test::Not(Box::new(matcher.test.clone())),
            false => matcher.test.clone(),
        };
        // A name is read by one test. What else must hold of it, `has_name` looks at.
        let measurement = self.names.first().map_or(Test::Any, test);
        Selector {
            namespace,
            names: vec![Name { measurement, field: Test::equal(DEFAULT_FIELD) }],
            matchers: self.labels.clone(),
            exact_labels: None,
            only: None,
        }
    }

    /// Whether a metric of this name is wanted.
    pub(crate) fn has_name(&self, name: &str) -> bool {
        self.names.iter().all(|matcher| matcher.matches(Some(name)))
    }
}

/// What is left of a text.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Whether `piece` came next, which is then behind.
    fn takes(&mut self, piece: &str) -> bool {
        let is_next = self.rest().starts_with(piece);
        self.at += if is_next { piece.len() } else { 0 };
        is_next
    }

    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            let bare = rest.trim_start_matches([' ', '\t', '\n', '\r']);
            self.at += rest.len() - bare.len();
            if !bare.starts_with('#') {
                return;
            }
            self.at += bare.find('\n').unwrap_or(bare.len());
        }
    }

    fn error(&self, reason: impl Into<String>) -> ParseError {
        let before = self.text.get(..self.at).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().len() + 1;
        ParseError { line, column, reason: reason.into() }
    }

    fn unexpected(&self, context: &str, expected: &str) -> ParseError {
        let found = self.peek().map_or("end of input".to_owned(), |c| format!("character: {c:?}"));
        self.error(format!("unexpected {found} in {context}, expected {expected}"))
    }

    /// A name of letters, digits and underscores, and of colons where they may stand.
    fn word(&mut self, with_colons: bool) -> Option<&'a str> {
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || (with_colons && c == ':');
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let word = rest.get(..length)?;
        if word.is_empty() || word.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        self.at += length;
        Some(word)
    }

    fn selector(&mut self) -> Result<VectorSelector, ParseError> {
        self.skip_blanks();
        if self.rest().is_empty() {
            return Err(self.error("no expression found in input"));
        }
        let start = self.at;
        let mut selector = VectorSelector { names: Vec::new(), labels: Vec::new() };
        let word = self.word(true).map(str::to_owned);
        if let Some(word) = &word {
            if word.eq_ignore_ascii_case("nan") || word.eq_ignore_ascii_case("inf") {
                self.at = start;
                return Err(self.error("only vector selectors are answered as yet"));
            }
            selector.names.push(matcher(NAME, Test::equal(word.as_str()), false));
        }
        self.skip_blanks();
        match self.takes("{") {
            true => self.matchers(&mut selector, word)?,
            false if word.is_none() => {
                return Err(self.error("only vector selectors are answered as yet"));
            }
            false => {}
        }
        // One that any series without labels would fit asks for the whole store.
        let fits_nothing = |matcher: &Matcher| !matcher.accepts_absent;
        if !selector.names.iter().chain(&selector.labels).any(fits_nothing) {
            self.at = start;
            let reason = "vector selector must contain at least one non-empty matcher";
            return Err(self.error(reason));
        }
        Ok(selector)
    }

    /// What stands in braces, behind the first of them.
    fn matchers(
        &mut self,
        selector: &mut VectorSelector,
        mut name: Option<String>,
    ) -> Result<(), ParseError> {
        const CONTEXT: &str = "label matching";
        loop {
            self.skip_blanks();
            if self.takes("}") {
                return Ok(());
            }
            let start = self.at;
            let (label, is_quoted) = match self.word(false) {
                Some(word) => (word.to_owned(), false),
                None => (self.quoted(CONTEXT, "identifier or \"}\"")?, true),
            };
            self.skip_blanks();
            if is_quoted && matches!(self.peek(), Some(',' | '}')) {
                if let Some(first) = name.replace(label.clone()) {
                    self.at = start;
                    return Err(self.error(twice(&first, &label)));
                }
                selector.names.push(matcher(NAME, Test::equal(label), false));
            } else {
                let (matcher, value) = self.condition(&label, CONTEXT)?;
                if let (NAME, Some(first)) = (&*label, &name) {
                    self.at = start;
                    return Err(self.error(twice(first, &value)));
                }
                match &*label {
                    NAME => selector.names.push(matcher),
                    _ => selector.labels.push(matcher),
                }
            }
            self.skip_blanks();
            if !self.takes(",") && self.peek() != Some('}') {
                return Err(self.unexpected(CONTEXT, "\",\" or \"}\""));
            }
        }
    }

    /// An operator and what is on its right, and that as it stands there.
    fn condition(&mut self, label: &str, context: &str) -> Result<(Matcher, String), ParseError> {
        let (is_regex, negated) = match () {
            () if self.takes("=~") => (true, false),
            () if self.takes("!~") => (true, true),
            () if self.takes("!=") => (false, true),
            () if self.takes("=") => (false, false),
            () => return Err(self.unexpected(context, "label matching operator")),
        };
        self.skip_blanks();
        let start = self.at;
        let value = self.quoted(context, "string")?;
        let test = match is_regex {
            false => Test::equal(value.as_str()),
            true => Test::regex(&format!("^(?s:{value})$")).map_err(|error| {
                self.at = start;
                self.error(error.to_string())
            })?,
        };
        Ok((matcher(label, test, negated), value))
    }
}

fn twice(first: &str, second: &str) -> String {
    format!("metric name must not be set twice: {first:?} or {second:?}")
}

/// A label that is not there counts as empty.
fn matcher(label: &str, test: Test, negated: bool) -> Matcher {
    let accepts_absent = test.passes("") != negated;
    Matcher { name: label.to_owned(), test, negated, accepts_absent }
}

#[cfg(test)]
mod tests;
