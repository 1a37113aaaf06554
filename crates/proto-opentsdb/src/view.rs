//! What this door sees of the store: names, series, and the small facts that it keeps there.
//!
//! The server lends functions; the door asks them and answers with the changes it wants made. It
//! never changes anything itself, but for numbers given to new names, and renames.

use crate::http::HttpError;
use crate::lang::{Request, RequiredName, Tsuid};
use crate::uid::{Rename, renamed_fact};
use foliot_model::{Labels, Matcher, NamespaceId, Selector, Test};

/// What a name is the name of; OpenTSDB numbers each kind by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UidKind {
    /// A metric (of metrics with a field, the measurement).
    Metric,
    /// A tag's name.
    TagKey,
    /// A tag's value.
    TagValue,
}

impl UidKind {
    /// Reads the word that requests use.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "metric" | "metrics" => Some(Self::Metric),
            "tagk" => Some(Self::TagKey),
            "tagv" => Some(Self::TagValue),
            _ => None,
        }
    }

    /// The word that requests to assign use.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Metric => "metric",
            Self::TagKey => "tagk",
            Self::TagValue => "tagv",
        }
    }

    /// The word that meta data carries.
    pub(crate) const fn capitals(self) -> &'static str {
        match self {
            Self::Metric => "METRIC",
            Self::TagKey => "TAGK",
            Self::TagValue => "TAGV",
        }
    }
}

/// A stored series as this door shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The store's number.
    pub sid: u32,
    /// The metric: `m`, or `m.field`.
    pub metric: String,
    /// Tags, by name.
    pub tags: Labels,
    /// The numbers of its names.
    pub tsuid: Tsuid,
}

/// The latest sample of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct LastSample {
    /// When, in nanoseconds.
    pub time_ns: i64,
    /// The value as this door prints it.
    pub text: String,
}

/// A function that may meet an error of the store.
type Ask<'a, Q, A> = &'a (dyn Fn(Q) -> Result<A, HttpError> + 'a);

/// A fact: its key and what it says.
pub(crate) type Fact = (String, Vec<u8>);

/// A function from a name to its number.
type OfName<'a> = &'a (dyn Fn(UidKind, &str) -> Result<Option<u32>, HttpError> + 'a);

/// A function from a kind of facts, and how their keys begin, to these.
type OfKind<'a> = &'a (dyn Fn(&str, &str) -> Result<Vec<Fact>, HttpError> + 'a);

/// A function from a kind of facts and a key to the fact.
type OfKey<'a> = &'a (dyn Fn(&str, &str) -> Result<Option<Vec<u8>>, HttpError> + 'a);

/// What the store lends for one request.
pub struct View<'a> {
    /// The time that relative times count from.
    pub now_ms: i64,
    /// What is asked about.
    pub namespace: NamespaceId,
    /// A fact by kind and key.
    pub fact: OfKey<'a>,
    /// The facts of a kind whose keys begin so, by key.
    pub facts: OfKind<'a>,
    /// The number of a name.
    pub uid: OfName<'a>,
    /// The name of a number.
    pub name: Ask<'a, (UidKind, u32), Option<String>>,
    /// Gives a new name its number; nothing when the store cannot take the name.
    pub assign: OfName<'a>,
    /// Whether series have a name.
    pub in_use: &'a (dyn Fn(UidKind, &str) -> Result<bool, HttpError> + 'a),
    /// Takes memory, in bytes, for what is kept until there is an answer.
    pub keep: Ask<'a, usize, ()>,
    /// Makes a change before there is an answer.
    pub note: &'a (dyn Fn(&Change) -> Result<(), HttpError> + 'a),
    /// Has series go on under another name.
    pub rename: &'a (dyn Fn(&Rename) -> Result<(), HttpError> + 'a),
    /// Whether a name that a query needs exists.
    pub exists: &'a (dyn Fn(&RequiredName<'_>) -> Result<bool, HttpError> + 'a),
    /// Whether a question for such names is answered with nothing where they do not exist.
    pub unknown_is_empty: bool,
    /// The numbers of the series that a selector wants.
    pub select: &'a (dyn Fn(&Selector) -> Result<Vec<u32>, HttpError> + 'a),
    /// The names of the tags of such series.
    pub tag_names: &'a (dyn Fn(&Selector) -> Result<Vec<String>, HttpError> + 'a),
    /// A series by its number.
    pub stored: Ask<'a, u32, Option<Stored>>,
    /// The series of a TSUID.
    pub resolve: &'a (dyn Fn(&Tsuid) -> Result<Vec<u32>, HttpError> + 'a),
    /// The latest sample of a series.
    pub last: Ask<'a, u32, Option<LastSample>>,
}

impl std::fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

impl View<'_> {
    /// The key of a fact about this namespace.
    pub(crate) fn key(&self, rest: &str) -> String {
        key_in(self.namespace, &[rest])
    }

    /// The number of a name that was not given up for another.
    pub(crate) fn number(&self, kind: UidKind, name: &str) -> Result<Option<u32>, HttpError> {
        match (self.uid)(kind, name)? {
            Some(id) if !self.is_free(kind, name)? => Ok(Some(id)),
            _ => Ok(None),
        }
    }

    /// Whether a name was given up for another, and nothing has it again.
    pub(crate) fn is_free(&self, kind: UidKind, name: &str) -> Result<bool, HttpError> {
        let (fact, key) = renamed_fact(self.namespace, kind, name);
        let is_renamed = (self.fact)(fact, &key)?.is_some();
        Ok(is_renamed && !(self.in_use)(kind, name)?)
    }

    /// What is to be stored when a name is given a number.
    pub(crate) fn no_longer_free(
        &self,
        word: &str,
        name: &str,
    ) -> Result<Option<Change>, HttpError> {
        let Some(kind) = UidKind::named(word) else { return Ok(None) };
        let (kind, key) = renamed_fact(self.namespace, kind, name);
        let is_free = (self.fact)(kind, &key)?.is_some();
        Ok(is_free.then_some(Change { kind, key, bytes: None }))
    }

    /// Refuses a metric or tags that nothing stored has.
    pub(crate) fn require(
        &self,
        metric: Option<&str>,
        tags: &[(String, String)],
    ) -> Result<(), HttpError> {
        let mut names: Vec<RequiredName<'_>> =
            metric.map(RequiredName::Metric).into_iter().collect();
        for (key, value) in tags {
            names.extend([RequiredName::TagKey(key), RequiredName::TagValue(value)]);
        }
        for name in names {
            if !self.unknown_is_empty && !(self.exists)(&name)? {
                return Err(name.error());
            }
        }
        Ok(())
    }

    /// The numbers of the series that have a metric, when one is named, and all the tags.
    pub(crate) fn matching(
        &self,
        metric: Option<&str>,
        tags: &[(String, String)],
    ) -> Result<Vec<u32>, HttpError> {
        let mut selector = match metric {
            Some(metric) => Request::metric_selector(self.namespace, metric),
            None => any_series(self.namespace),
        };
        selector.matchers =
            tags.iter().map(|(key, value)| matcher(key, Test::equal(value.as_str()))).collect();
        (self.select)(&selector)
    }
}

/// All series of a namespace.
pub fn any_series(namespace: NamespaceId) -> Selector {
    Selector { namespace, names: Vec::new(), matchers: Vec::new(), exact_labels: None, only: None }
}

/// The condition that a tag is there and passes.
pub(crate) fn matcher(key: &str, test: Test) -> Matcher {
    Matcher { name: key.to_owned(), test, negated: false, accepts_absent: false }
}

/// A change of a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What kind of fact.
    pub kind: &'static str,
    /// Which one.
    pub key: String,
    /// What it says from now on; nothing when it is to be removed.
    pub bytes: Option<Vec<u8>>,
}

/// An answer, and the changes that must be stored before it is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// JSON; empty for answers without a body.
    pub body: String,
    /// What is to be stored.
    pub changes: Vec<Change>,
}

impl Answer {
    /// A plain answer.
    pub(crate) fn ok(body: &serde_json::Value) -> Self {
        Self::with_status(200, body)
    }

    /// A plain answer that is written down already.
    pub(crate) fn written(body: String) -> Self {
        Self { status: 200, body, changes: Vec::new() }
    }

    /// An answer of another status.
    pub(crate) fn with_status(status: u16, body: &serde_json::Value) -> Self {
        // Names of such values are texts, so that writing them down cannot fail.
        let body = serde_json::to_string(body).unwrap_or_default();
        Self { status, body, changes: Vec::new() }
    }

    /// An answer without a body: 204 or 304.
    pub(crate) fn empty(status: u16) -> Self {
        Self { status, body: String::new(), changes: Vec::new() }
    }

    /// The same with changes.
    pub(crate) fn changing(mut self, changes: Vec<Change>) -> Self {
        self.changes = changes;
        self
    }

    /// The same for a page that asks with a script tag.
    pub(crate) fn wrapped(mut self, jsonp: Option<&str>) -> Self {
        if let Some(function) = jsonp.filter(|_| !self.body.is_empty()) {
            self.body = format!("{function}({})", self.body);
        }
        self
    }
}

/// A key of the catalog: a namespace in eight hexadecimal digits, a slash, and the parts behind it.
/// Joined by hand, because every question asks for several.
pub(crate) fn key_in(namespace: NamespaceId, parts: &[&str]) -> String {
    let mut key = String::with_capacity(9 + parts.iter().map(|part| part.len()).sum::<usize>());
    let digits = (0..8).rev().map(|place| (namespace >> (4 * place)) & 0xf);
    key.extend(digits.filter_map(|digit| char::from_digit(digit, 16)));
    key.push('/');
    parts.iter().for_each(|part| key.push_str(part));
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_that_are_on_disks_already() {
        for namespace in [0, 1, 0xab, 0x1234_5678, u32::MAX] {
            assert_eq!(key_in(namespace, &["tagk/", "é"]), format!("{namespace:08x}/tagk/é"));
        }
    }
}
