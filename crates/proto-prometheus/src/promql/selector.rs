//! Vector selectors of PromQL: `up{job="node",instance=~"a.*"}`.

use super::reader::{ParseError, Reader};
use super::{Dialect, LISTED_MAX};
use foliot_model::{DEFAULT_FIELD, Matcher, Name, NamespaceId, Pattern, Selector, Test};
use foliot_plan::grid::{BEFORE_FIELD, MEASUREMENT as NAME, Shift, Stored};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// No measurement and no field has a longer name.
const HALF_BYTES_MAX: usize = 1024;

/// Which series are wanted, by name and labels.
#[derive(Clone, Debug)]
pub struct VectorSelector {
    /// Conditions on the name of the metric; all must hold.
    names: Vec<Matcher>,
    labels: Vec<Matcher>,
    /// The name before the braces; empty where there is none.
    pub(super) name: String,
    /// What stands in the braces.
    pub(super) conditions: Vec<Condition>,
}

/// A condition as it is written.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    pub(super) label: String,
    pub(super) sign: &'static str,
    pub(super) value: String,
}

impl VectorSelector {
    /// Reads a whole text, which may want all series.
    ///
    /// # Errors
    /// When it is something else.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut reader = Reader { text, at: 0, dialect: Dialect::Plain, allows_any: true };
        reader.skip_blanks();
        let start = reader.at;
        let name = reader.word(true).map(str::to_owned);
        if name.is_none() && reader.peek() != Some('{') {
            return Err(reader.unexpected("series selector", "metric name or \"{\""));
        }
        let selector = reader.selector(start, name)?;
        reader.skip_blanks();
        match reader.peek() {
            None => Ok(selector),
            Some(_) => Err(reader.unexpected("series selector", "end of input")),
        }
    }

    /// Series of a name, if one is said.
    pub(crate) fn named(name: Option<String>) -> Self {
        let mut selector = Self::any();
        if let Some(name) = name {
            selector.names.push(matcher(NAME, Test::equal(name.as_str()), false));
            selector.name = name;
        }
        selector
    }

    /// Wants what `other` wants besides.
    pub(crate) fn narrow(&mut self, other: &Self) {
        self.names.extend(other.names.iter().cloned());
        self.labels.extend(other.labels.iter().cloned());
        self.conditions.extend(other.conditions.iter().cloned());
    }

    /// Whether it wants anything.
    pub(crate) fn is_any(&self) -> bool {
        self.names.is_empty() && self.labels.is_empty()
    }

    /// Whether a series without labels would fit, so that it asks for the whole store.
    pub fn fits_all(&self) -> bool {
        self.names.iter().chain(&self.labels).all(|matcher| matcher.accepts_absent)
    }

    /// How many conditions it has.
    pub(crate) fn conditions(&self) -> usize {
        self.conditions.len()
    }

    /// Wants a condition that was read.
    fn condition(&mut self, matcher: Matcher, condition: Condition) {
        match &*condition.label {
            NAME => self.names.push(matcher),
            _ => self.labels.push(matcher),
        }
        self.conditions.push(condition);
    }

    /// All series.
    pub fn any() -> Self {
        let (name, conditions) = (String::new(), Vec::new());
        Self { names: Vec::new(), labels: Vec::new(), name, conditions }
    }

    /// Wants that the value of a label stands to `value` as one of PromQL's operators says.
    ///
    /// # Errors
    /// When the operator wants a regular expression and `value` is none.
    pub(crate) fn require(&mut self, label: &str, sign: &str, value: &str) -> Result<(), String> {
        let test = match sign {
            "=~" | "!~" => anchored(value)?,
            _ => Test::equal(value),
        };
        let matcher = matcher(label, test, sign.starts_with('!'));
        match label {
            NAME => self.names.push(matcher),
            _ => self.labels.push(matcher),
        }
        Ok(())
    }

    /// The stored series that it wants, of a database.
    pub fn stored(&self, namespace: NamespaceId) -> Stored {
        let (selector, measurements) = (self.selector(namespace), self.names.clone());
        let (shift, skips_buckets) = (Shift::default(), false);
        Stored { selector, measurements, shift, skips_buckets }
    }

    /// Whether it wants a series, of which this tells the value of a label, its name by
    /// `__name__`.
    pub fn wants<'v>(&self, value: impl Fn(&str) -> Option<&'v str>) -> bool {
        let all = self.names.iter().chain(&self.labels);
        all.into_iter().all(|matcher| matcher.matches(value(&matcher.name)))
    }

    /// The series that describe others, where this says which ones: unless it says their name,
    /// those that are called `target_info`, or that end with `_info` where it only says what they
    /// are not.
    pub(super) fn of_facts(mut self) -> Result<Self, String> {
        let says = self.names.iter().any(|name| !name.negated);
        match (says, self.names.is_empty()) {
            (true, _) => {}
            (false, true) => self.require(NAME, "=", "target_info")?,
            (false, false) => self.require(NAME, "=~", ".+_info")?,
        }
        Ok(self)
    }

    /// What must hold of the labels.
    pub(super) fn labels(&self) -> &[Matcher] {
        &self.labels
    }

    /// What must hold of the measurement.
    pub(super) fn names(&self) -> &[Matcher] {
        &self.names
    }

    /// Labels that a series of this selector has for Prometheus, where there is none: those that it
    /// says the value of by `=`, unless another condition on the same label follows.
    pub(crate) fn known_labels(&self) -> Vec<(Arc<str>, Arc<str>)> {
        let (mut known, mut said) = (Vec::new(), BTreeSet::new());
        let mut places = BTreeMap::<&str, usize>::new();
        for Condition { label, sign, value } in &self.conditions {
            if label == NAME {
                continue;
            }
            let place = places.remove(label.as_str());
            place.and_then(|place| known.get_mut(place)).into_iter().for_each(|one| *one = None);
            if *sign == "=" && said.insert(label) && !value.is_empty() {
                places.insert(label, known.len());
                known.push(Some((label.as_str().into(), value.as_str().into())));
            }
        }
        known.into_iter().flatten().collect()
    }

    /// The stored series that can fit. Of others than the default field some fit that are not
    /// wanted, unless the name is written out: what their names must be, [`Self::names`] says.
    pub(super) fn selector(&self, namespace: NamespaceId) -> Selector {
        let test = |matcher: &Matcher| match matcher.negated {
            true => Test::Not(Box::new(matcher.test.clone())),
            false => matcher.test.clone(),
        };
        let first = self.names.first();
        let literals = first.filter(|first| !first.negated);
        let names = match literals.and_then(|first| first.test.literals()) {
            Some(names) => names.iter().flat_map(|name| readings(name)).collect(),
            None => {
                let own = Test::equal(DEFAULT_FIELD);
                let others = Test::Not(Box::new(own.clone()));
                let measurement = first.map_or(Test::Any, test);
                vec![
                    Name { measurement, field: own },
                    Name { measurement: Test::Any, field: others },
                ]
            }
        };
        Selector { namespace, names, matchers: self.labels.clone(), exact_labels: None, only: None }
    }
}

impl Reader<'_> {
    /// A selector, of which `name` has been read, if it has one, and that begins at `start`.
    pub(super) fn selector(
        &mut self,
        start: usize,
        name: Option<String>,
    ) -> Result<VectorSelector, ParseError> {
        let mut selector = VectorSelector::any();
        if let Some(name) = &name {
            selector.name.clone_from(name);
            selector.names.push(matcher(NAME, Test::equal(name.as_str()), false));
        }
        self.skip_blanks();
        if self.takes("{") {
            self.matchers(start, &mut selector, name)?;
        }
        if selector.fits_all() && !self.allows_any {
            self.at = start;
            let reason = "vector selector must contain at least one non-empty matcher";
            return Err(self.error(reason));
        }
        Ok(selector)
    }

    /// What stands in braces, behind the first of them. The selector begins at `opens`.
    fn matchers(
        &mut self,
        opens: usize,
        selector: &mut VectorSelector,
        mut name: Option<String>,
    ) -> Result<(), ParseError> {
        const CONTEXT: &str = "label matching";
        loop {
            self.skip_blanks();
            if self.takes("}") {
                return Ok(());
            }
            if selector.conditions.len() == LISTED_MAX {
                let reason = format!("a selector has more than {LISTED_MAX} label matchers");
                return Err(self.error(reason));
            }
            let start = self.at;
            let (label, is_quoted) = match self.word(false) {
                Some(word) => (word.to_owned(), false),
                None => (self.quoted(CONTEXT, "identifier or \"}\"")?, true),
            };
            self.skip_blanks();
            if is_quoted && matches!(self.peek(), Some(',' | '}')) {
                if let Some(first) = name.replace(label.clone()) {
                    return Err(self.error_at(opens, twice(&first, &label)));
                }
                selector.names.push(matcher(NAME, Test::equal(&*label), false));
                let label_of_name = NAME.to_owned();
                let condition = Condition { label: label_of_name, sign: "=", value: label };
                selector.conditions.push(condition);
            } else {
                let (matcher, condition) = self.condition(start, &label, CONTEXT)?;
                if let (NAME, Some(first)) = (&*label, &name) {
                    return Err(self.error_at(opens, twice(first, &condition.value)));
                }
                selector.conditions.push(condition);
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

    /// Reads the operator behind a label and what is on its right, and adds it to a selector.
    pub(crate) fn narrowed(
        &mut self,
        selector: &mut VectorSelector,
        label: &str,
    ) -> Result<(), ParseError> {
        let (matcher, condition) = self.condition(self.at, label, "label matching")?;
        selector.condition(matcher, condition);
        Ok(())
    }

    /// An operator and what is on its right, also as it stands there. All of it begins at `start`.
    fn condition(
        &mut self,
        start: usize,
        label: &str,
        context: &str,
    ) -> Result<(Matcher, Condition), ParseError> {
        let signs =
            [("=~", true, false), ("!~", true, true), ("!=", false, true), ("=", false, false)];
        let Some((sign, is_regex, negated)) = signs.into_iter().find(|(sign, ..)| self.takes(sign))
        else {
            return Err(self.unexpected(context, "label matching operator"));
        };
        self.skip_blanks();
        let value = self.quoted(context, "string")?;
        let test = match is_regex {
            false => Test::equal(value.as_str()),
            true => anchored(&value).map_err(|reason| self.error_at(start, reason))?,
        };
        let matcher = matcher(label, test, negated);
        Ok((matcher, Condition { label: label.to_owned(), sign, value }))
    }
}

/// What a name may stand for: a measurement's default field, or a measurement and a field with an
/// underscore between them.
fn readings(name: &str) -> Vec<Name> {
    let reading = |measurement: &str, field: &str| Name {
        measurement: Test::equal(measurement),
        field: Test::equal(field),
    };
    let halves = name.match_indices(BEFORE_FIELD).filter_map(|(at, _)| {
        let (measurement, field) = (name.get(..at)?, name.get(at + 1..)?);
        let is_stored =
            [measurement, field].iter().all(|half| (1..=HALF_BYTES_MAX).contains(&half.len()));
        (is_stored && field != DEFAULT_FIELD).then(|| reading(measurement, field))
    });
    std::iter::once(reading(name, DEFAULT_FIELD)).chain(halves).collect()
}

/// A regular expression that all of a text must fit.
fn anchored(pattern: &str) -> Result<Test, String> {
    // By itself, because what stands around it would close and open groups of it.
    if let Some(fault) = Pattern::fault(pattern) {
        return Err(fault);
    }
    Test::regex(&format!("^(?s:{pattern})$")).map_err(|error| error.to_string())
}

fn twice(first: &str, second: &str) -> String {
    format!("metric name must not be set twice: {first:?} or {second:?}")
}

/// A label that is not there counts as empty.
fn matcher(label: &str, test: Test, negated: bool) -> Matcher {
    let accepts_absent = test.passes("") != negated;
    Matcher { name: label.to_owned(), test, negated, accepts_absent }
}
