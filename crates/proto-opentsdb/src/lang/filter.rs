//! Tag filters: `k=type(expression)` and the JSON form.

use crate::http::HttpError;
use crate::key::{split_tag, text_of};
use foliot_model::{Matcher, Test};
use serde_json::Value;

/// The filter types, with a description and examples: the body of `/api/config/filters`.
pub(crate) const FILTERS: [(&str, &str, &str); 8] = [
    (
        "iliteral_or",
        "Takes values that equal one of a list separated by |, in whatever case.",
        "host=iliteral_or(web01), host=iliteral_or(web01|WEB02) \
         {\"type\":\"iliteral_or\",\"tagk\":\"host\",\"filter\":\"web01|web02\",\"groupBy\":false}",
    ),
    (
        "iwildcard",
        "Takes values in which the pieces between asterisks occur in order, in whatever case.",
        "host=iwildcard(web*), host=web* \
         {\"type\":\"iwildcard\",\"tagk\":\"host\",\"filter\":\"web*\",\"groupBy\":false}",
    ),
    (
        "literal_or",
        "Takes values that equal one of a list separated by |.",
        "host=literal_or(web01), host=web01|web02 \
         {\"type\":\"literal_or\",\"tagk\":\"host\",\"filter\":\"web01|web02\",\"groupBy\":false}",
    ),
    (
        "not_iliteral_or",
        "Leaves out values that equal one of a list separated by |, in whatever case.",
        "host=not_iliteral_or(web01|WEB02) \
         {\"type\":\"not_iliteral_or\",\"tagk\":\"host\",\"filter\":\"web01\",\"groupBy\":false}",
    ),
    (
        "not_literal_or",
        "Leaves out values that equal one of a list separated by |.",
        "host=not_literal_or(web01|web02) \
         {\"type\":\"not_literal_or\",\"tagk\":\"host\",\"filter\":\"web01\",\"groupBy\":false}",
    ),
    (
        "not_regexp",
        "Leaves out values in which the regular expression is found.",
        "host=not_regexp(^web[0-9]+$) \
         {\"type\":\"not_regexp\",\"tagk\":\"host\",\"filter\":\"^web.*\",\"groupBy\":false}",
    ),
    (
        "regexp",
        "Takes values in which the regular expression is found.",
        "host=regexp(^web[0-9]+$) \
         {\"type\":\"regexp\",\"tagk\":\"host\",\"filter\":\"^web.*\",\"groupBy\":false}",
    ),
    (
        "wildcard",
        "Takes values in which the pieces between asterisks occur in order.",
        "host=wildcard(web*), host=wildcard(*.example.com) \
         {\"type\":\"wildcard\",\"tagk\":\"host\",\"filter\":\"web*\",\"groupBy\":false}",
    ),
];

/// Why a tag is none: the words of OpenTSDB, which say no more than that, and what is wrong.
fn explained(tag: &str, reason: impl std::fmt::Display) -> String {
    let fault = match tag.split_once('=') {
        None => "write NAME=VALUE, or NAME=* for any",
        Some(("", _)) => "a name is missing before '='",
        Some((_, "")) => "a value is missing behind '='",
        Some(_) => "there is more than one '='",
    };
    format!("{reason} ({fault})")
}

/// How many regular expressions a query may have. Each is compiled before anything is looked up and
/// may take megabytes then; a person's query has a handful.
const REGEXPS_MAX: usize = 32;

/// A condition on a tag, and perhaps a key to group by.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    pub(crate) kind: &'static str,
    pub(crate) tag: String,
    pub(crate) expression: String,
    pub(crate) groups: bool,
    /// The number of the tag's name, where [`super::Request::load_facts`] found one.
    pub(crate) tag_uid: Option<u32>,
    test: Test,
}

impl Filter {
    /// The filter of type `kind` over `expression` on `tag`.
    pub(crate) fn new(
        kind: &str,
        tag: &str,
        expression: &str,
        groups: bool,
    ) -> Result<Self, HttpError> {
        let lower = kind.to_ascii_lowercase();
        let Some((kind, ..)) = FILTERS.iter().find(|(name, ..)| *name == lower) else {
            let message = format!("Could not find a tag value filter of the type: {kind}");
            return Err(HttpError::bad_request(message));
        };
        if tag.is_empty() {
            return Err(HttpError::bad_request("Missing tag key of a filter"));
        }
        if expression.is_empty() {
            return Err(HttpError::bad_request("Filter cannot be null or empty"));
        }
        if kind.ends_with("wildcard") && !expression.contains('*') {
            return Err(HttpError::bad_request("Filter must contain an asterisk"));
        }
        if kind.ends_with("literal_or") && expression == "|" {
            return Err(HttpError::bad_request("Filter must contain more than just a pipe"));
        }
        let values = || expression.split('|').filter(|value| !value.is_empty());
        let test = match *kind {
            "literal_or" | "not_literal_or" => {
                Ok(Test::AnyOf(values().map(str::to_owned).collect()))
            }
            "iliteral_or" | "not_iliteral_or" => {
                Ok(Test::AnyOfLower(values().map(str::to_lowercase).collect()))
            }
            "regexp" | "not_regexp" => Test::regex_of_java(expression),
            _ if expression.chars().all(|c| c == '*') => Ok(Test::Any),
            _ => Test::wildcard(expression, *kind == "iwildcard"),
        };
        let test = test.map_err(|error| HttpError::bad_request(error.to_string()))?;
        let (tag, expression) = (tag.to_owned(), expression.to_owned());
        Ok(Self { kind, tag, expression, groups, tag_uid: None, test })
    }

    /// Reads `k=v`, where v is `type(expression)`, a value, several separated by `|`, or has an
    /// asterisk, which makes it an `iwildcard` unless it is nothing else.
    pub(crate) fn parse(text: &str, groups: bool) -> Result<Self, HttpError> {
        let (tag, value) = split_tag(text.as_bytes())
            .map_err(|error| HttpError::bad_request(explained(text, error.reason)))?;
        Self::of(&text_of(tag), &text_of(value), groups)
    }

    /// The same of a tag and what stands behind its `=`.
    pub(crate) fn of(tag: &str, value: &str, groups: bool) -> Result<Self, HttpError> {
        match value.split_once('(') {
            Some((kind, rest)) => match rest.strip_suffix(')') {
                Some(expression) => Self::new(kind, tag, expression, groups),
                None => {
                    let message = format!("Filter must end with a ')': {value}");
                    Err(HttpError::bad_request(message))
                }
            },
            None if value == "*" => Self::new("wildcard", tag, "*", groups),
            // OpenTSDB calls it so, though case does not matter to it.
            None if value.contains('*') => {
                Ok(Self { kind: "wildcard", ..Self::new("iwildcard", tag, value, groups)? })
            }
            None => Self::new("literal_or", tag, value, groups),
        }
    }

    /// Reads `{"type","tagk","filter","groupBy"}`.
    pub(crate) fn from_json(value: &Value) -> Result<Self, HttpError> {
        let text = |name: &str| match value.get(name) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(Value::Number(number)) => Ok(number.to_string()),
            _ => Err(HttpError::bad_request(format!("A filter lacks its '{name}'"))),
        };
        let groups = ["groupBy", "group_by"].iter().any(|name| {
            matches!(value.get(name), Some(Value::Bool(true)))
                || value.get(name).and_then(Value::as_str) == Some("true")
        });
        Self::new(&text("type")?, &text("tagk")?, &text("filter")?, groups)
    }

    /// Adds the filter to others of its question, unless these are too costly already.
    pub(crate) fn push_to(self, filters: &mut Vec<Self>) -> Result<(), HttpError> {
        let is_costly = self.is_costly();
        filters.push(self);
        if is_costly { Self::check_cost(filters.iter()) } else { Ok(()) }
    }

    /// Refuses more regular expressions than a query may have.
    pub(crate) fn check_cost<'f>(filters: impl Iterator<Item = &'f Self>) -> Result<(), HttpError> {
        match filters.filter(|filter| filter.is_costly()).count() {
            0..=REGEXPS_MAX => Ok(()),
            _ => Err(HttpError::bad_request(format!(
                "The query has more than {REGEXPS_MAX} regular expressions: \
                 ask in several queries, or use literal_or or wildcard"
            ))),
        }
    }

    fn is_costly(&self) -> bool {
        matches!(self.test, Test::Regex(_))
    }

    fn is_negated(&self) -> bool {
        self.kind.starts_with("not_")
    }

    /// The condition. Filtered keys must be present, also for filters that leave values out.
    pub(crate) fn matcher(&self) -> Matcher {
        Matcher {
            name: self.tag.clone(),
            test: self.test.clone(),
            negated: self.is_negated(),
            accepts_absent: false,
        }
    }

    /// Tag values that must exist somewhere: those of lists that heed case.
    pub(crate) fn required_values(&self) -> &[String] {
        self.literals().unwrap_or_default()
    }

    /// The values that `literal_or` takes.
    fn literals(&self) -> Option<&[String]> {
        self.test.literals().filter(|_| !self.is_negated())
    }

    /// The conditions of several filters. All must hold; but lists of `literal_or` on one tag are
    /// one list, as OpenTSDB has it.
    pub(crate) fn matchers(filters: &[Self]) -> Vec<Matcher> {
        let mut matchers: Vec<Matcher> = Vec::new();
        for filter in filters {
            let known =
                matchers.iter_mut().find(|known| known.name == filter.tag && !known.negated);
            match (known.map(|known| &mut known.test), filter.literals()) {
                (Some(Test::AnyOf(values)), Some(more)) => values.extend_from_slice(more),
                _ => matchers.push(filter.matcher()),
            }
        }
        matchers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(filter: &str, value: &str) -> bool {
        Filter::parse(&format!("h={filter}"), true).unwrap().matcher().matches(Some(value))
    }

    #[test]
    fn forms_of_a_filter() {
        assert!(takes("web*", "WEB01") && takes("web*", "web01"));
        assert!(!takes("wildcard(web*)", "WEB01") && takes("wildcard(web*)", "web01"));
        assert!(takes("regexp(eb0)", "web01"));
        assert!(takes("literal_or(a|b)", "b") && takes("a|b", "b") && !takes("a|b", "c"));
        assert!(takes("iliteral_or(A|b)", "a") && takes("*", "anything"));
        assert!(!takes("not_literal_or(a|b)", "b") && takes("not_literal_or(a|b)", "c"));
        assert!(!takes("not_iliteral_or(A)", "a"));
        assert!(!takes("not_regexp(eb0)", "web01") && takes("not_regexp(eb0)", "db"));
        let filter = Filter::parse("h=not_literal_or(a)", false).unwrap();
        assert!(!filter.matcher().matches(None), "filtered keys must be there");
        assert!(filter.required_values().is_empty());
        let filter = Filter::parse("h=a|b", false).unwrap();
        assert_eq!(filter.required_values(), ["a", "b"]);
        assert!(Filter::parse("h=iliteral_or(a)", false).unwrap().required_values().is_empty());
    }

    #[test]
    fn lists_on_one_tag_are_one_list() {
        let parse = |text: &str| Filter::parse(text, true).unwrap();
        let filters = ["h=a", "dc=x", "h=wildcard(*)", "h=b|c", "h=not_literal_or(b)"].map(parse);
        let matchers = Filter::matchers(&filters);
        let takes = |value| {
            let mut of_host = matchers.iter().filter(|matcher| matcher.name == "h");
            of_host.all(|matcher| matcher.matches(Some(value)))
        };
        assert_eq!(["a", "b", "c", "d"].map(takes), [true, false, true, false]);
        assert_eq!(matchers.len(), 4);
    }

    #[test]
    fn refusals() {
        for (text, part) in [
            ("h", "invalid tag: h (write NAME=VALUE, or NAME=* for any)"),
            ("h=", "invalid tag: h= (a value is missing behind '=')"),
            ("=a", "invalid tag: =a (a name is missing before '=')"),
            ("h=a=b", "invalid tag: h=a=b (there is more than one '=')"),
            ("h=foo(a)", "Could not find a tag value filter of the type: foo"),
            ("h=not_key()", "Could not find a tag value filter of the type: not_key"),
            ("h=wildcard(a)", "Filter must contain an asterisk"),
            ("h=regexp([)", "missing closing ]: `[`"),
            ("h=literal_or(a", "Filter must end with a ')': literal_or(a"),
            ("h=literal_or()", "Filter cannot be null or empty"),
            ("h=|", "Filter must contain more than just a pipe"),
        ] {
            let error = Filter::parse(text, true).unwrap_err();
            assert!(error.message.contains(part), "{text}: {}", error.message);
        }
    }
}
