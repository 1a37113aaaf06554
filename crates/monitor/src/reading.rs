//! Reading a tree key by key. What is wrong is gathered, so that one look finds everything.

use crate::yaml::{NODES_MAX, Node, Value, is_negative, truth, whole};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;

/// Something to say about a file: its line, the key, and what it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, as it was named.
    pub file: String,
    /// Line, from one.
    pub line: usize,
    /// The key with what leads to it: `scrape_configs[0].scheme`. Empty for the file as a whole.
    pub key: String,
    /// A sentence.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.file, self.line)?;
        match self.key.is_empty() {
            true => f.write_str(&self.what),
            false => write!(f, "{}: {}", self.key, self.what),
        }
    }
}

/// What was found in a file.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    file: String,
    errors: RefCell<Vec<Finding>>,
    notes: RefCell<Vec<Finding>>,
}

impl Findings {
    pub(crate) fn new(file: &str) -> Self {
        Self { file: file.to_owned(), ..Self::default() }
    }

    /// Reads the text; where it is no YAML that is what was found.
    pub(crate) fn parse(&self, text: &str) -> Option<Node> {
        self.parse_few(text, NODES_MAX)
    }

    /// The same of a text that has few values: no more of them are made.
    pub(crate) fn parse_few(&self, text: &str, nodes_max: usize) -> Option<Node> {
        match Node::read(text, nodes_max) {
            Ok((node, second)) => {
                let what = "this and what follows has no effect: the first document counts";
                let note = second.map(|line| self.finding(line, "", what));
                self.notes.borrow_mut().extend(note);
                Some(node)
            }
            Err((line, what)) => {
                self.errors.borrow_mut().push(self.finding(line, "", what));
                None
            }
        }
    }

    fn finding(&self, line: usize, key: &str, what: impl Into<String>) -> Finding {
        let key = key.trim_start_matches('.').to_owned();
        Finding { file: self.file.clone(), line, key, what: what.into() }
    }

    /// What is wrong, or else what is to be said.
    pub(crate) fn end(self) -> Result<Vec<Finding>, Vec<Finding>> {
        let (mut errors, mut notes) = (self.errors.into_inner(), self.notes.into_inner());
        errors.sort();
        notes.sort();
        if errors.is_empty() { Ok(notes) } else { Err(errors) }
    }
}

/// A value, and how it was reached. What it is not is told, and read as if it were not there.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    node: &'a Node,
    line: usize,
    key: String,
    findings: &'a Findings,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(node: &'a Node, findings: &'a Findings) -> Self {
        Self { node, line: node.line, key: String::new(), findings }
    }

    /// The value is wrong.
    pub(crate) fn error(&self, what: impl Into<String>) {
        let finding = self.findings.finding(self.line, &self.key, what);
        self.findings.errors.borrow_mut().push(finding);
    }

    /// There is something to say about the value, which is used or not.
    pub(crate) fn note(&self, what: impl Into<String>) {
        let finding = self.findings.finding(self.line, &self.key, what);
        self.findings.notes.borrow_mut().push(finding);
    }

    pub(crate) fn is_null(&self) -> bool {
        self.node.is_null()
    }

    /// Whether it is a text in quotes, or nothing.
    pub(crate) fn is_text(&self) -> bool {
        self.is_null() || matches!(self.node.value, Value::Scalar { is_plain: false, .. })
    }

    pub(crate) fn is_map(&self) -> bool {
        matches!(self.node.value, Value::Map(_))
    }

    pub(crate) fn keys(&self) -> Keys<'a> {
        let entries = match &self.node.value {
            Value::Map(entries) => entries.as_slice(),
            _ if self.node.is_null() => &[],
            _ => {
                self.error("keys with values are needed here");
                &[]
            }
        };
        let left = entries.iter().map(Some).collect();
        Keys { left, of: self.clone() }
    }

    pub(crate) fn list(&self) -> Vec<Self> {
        let nodes = match &self.node.value {
            Value::List(nodes) => nodes.as_slice(),
            _ if self.node.is_null() => &[],
            _ => {
                self.error("a list is needed here");
                &[]
            }
        };
        let item = |(index, node): (usize, &'a Node)| Self {
            node,
            line: node.line,
            key: format!("{}[{index}]", self.key),
            findings: self.findings,
        };
        nodes.iter().enumerate().map(item).collect()
    }

    /// Values by name: a map, whatever its keys are.
    pub(crate) fn entries(&self) -> Vec<(String, Self)> {
        self.keys().rest()
    }

    pub(crate) fn text(&self) -> String {
        match &self.node.value {
            Value::Scalar { .. } if self.node.is_null() => String::new(),
            Value::Scalar { text, .. } => text.clone(),
            _ => {
                self.error("a text is needed here");
                String::new()
            }
        }
    }

    pub(crate) fn texts(&self) -> Vec<String> {
        self.list().iter().map(Self::text).collect()
    }

    /// Reads a text by `read`, which says what is wrong with it.
    pub(crate) fn read<T, E: fmt::Display>(
        &self,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let text = self.text();
        read(&text).map_err(|error| self.error(error.to_string())).ok()
    }

    pub(crate) fn truth(&self) -> Option<bool> {
        self.read_plain("neither true nor false", truth)
    }

    pub(crate) fn number(&self) -> Option<u64> {
        self.read_plain("not a whole number", whole)
    }

    /// A limit: no number above 0 is none.
    pub(crate) fn count(&self) -> Option<u64> {
        let read = |text: &str| whole(text).or_else(|| is_negative(text).then_some(0));
        self.read_plain("not a whole number", read).filter(|count| *count > 0)
    }

    /// Reads what is no text: in quotes, or with the tag of one, it would be.
    fn read_plain<T>(&self, is_not: &str, read: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let is_text = matches!(self.node.value, Value::Scalar { is_plain: false, .. });
        self.read(|text| match is_text {
            true => Err(format!("the text {text:?} is {is_not}")),
            false => read(text).ok_or_else(|| format!("{text:?} is {is_not}")),
        })
    }

    /// Labels: texts by name.
    pub(crate) fn labels(&self) -> BTreeMap<String, String> {
        let label = |(name, value): (String, Self)| {
            if name.is_empty() || name == "__name__" {
                value.error(format!("{name:?} cannot be the name of a label here"));
            }
            (name, value.text())
        };
        self.entries().into_iter().map(label).collect()
    }
}

/// The keys of a map, each of which has to be taken.
#[derive(Debug)]
pub(crate) struct Keys<'a> {
    left: Vec<Option<&'a (String, usize, Node)>>,
    of: Reader<'a>,
}

impl<'a> Keys<'a> {
    /// The value of a key, unless it is missing or null.
    pub(crate) fn take(&mut self, name: &str) -> Option<Reader<'a>> {
        let found = self.left.iter_mut().find(|entry| entry.is_some_and(|(key, ..)| key == name));
        let entry = found.and_then(Option::take)?;
        let reader = self.reader(entry);
        (!reader.node.is_null()).then_some(reader)
    }

    fn reader(&self, (key, line, node): &'a (String, usize, Node)) -> Reader<'a> {
        let key = format!("{}.{key}", self.of.key);
        Reader { node, line: *line, key, findings: self.of.findings }
    }

    /// Whether a key that was not taken is there and says that it is empty.
    pub(crate) fn is_empty_text(&self, name: &str) -> bool {
        self.left.iter().flatten().any(|(key, _, node)| {
            let is_empty = matches!(&node.value, Value::Scalar { text, .. } if text.is_empty());
            key == name && is_empty
        })
    }

    /// The value of a key, which must be there.
    pub(crate) fn need(&mut self, name: &str) -> Option<Reader<'a>> {
        let found = self.take(name);
        if found.is_none() {
            self.of.error(format!("{name} is missing"));
        }
        found
    }

    /// The map itself, to say something about.
    pub(crate) fn whole(&self) -> &Reader<'a> {
        &self.of
    }

    /// Keys that are known and do nothing here: each is told.
    pub(crate) fn ignore(&mut self, names: &[&str], why: &str) {
        for name in names {
            if let Some(reader) = self.take(name) {
                reader.note(format!("has no effect here: {why}"));
            }
        }
    }

    /// Keys that are known and without which the rest would not mean what it says.
    pub(crate) fn refuse(&mut self, names: &[&str], why: &str) {
        for name in names {
            if let Some(reader) = self.take(name) {
                reader.error(format!("cannot be done here: {why}"));
            }
        }
    }

    /// All that is left, by name.
    pub(crate) fn rest(mut self) -> Vec<(String, Reader<'a>)> {
        let left: Vec<_> = self.left.drain(..).flatten().collect();
        left.into_iter().map(|entry| (entry.0.clone(), self.reader(entry))).collect()
    }

    /// Whatever is left is not known.
    pub(crate) fn end(self) {
        for (name, reader) in self.rest() {
            reader.error(format!("{name} is not a key that Prometheus has here"));
        }
    }
}
