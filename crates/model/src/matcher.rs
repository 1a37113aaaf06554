//! Matchers: which label values, measurements or fields are wanted.

use crate::pattern::Pattern;
use std::fmt;

/// A test on one string.
#[derive(Clone, Debug)]
pub enum Test {
    /// Every string passes.
    Any,
    /// Strings equal to one of these pass.
    AnyOf(Vec<String>),
    /// Strings equal to one of these, in lower case, pass once lower-cased.
    AnyOfLower(Vec<String>),
    /// OpenTSDB's wildcard: pieces between asterisks must occur in order, see [`Test::wildcard`].
    Wildcard {
        /// The pieces between the asterisks, first and last possibly empty; lower case if `lower`.
        pieces: Vec<String>,
        /// Whether the string is lower-cased first.
        lower: bool,
    },
    /// Strings in which the expression is found pass (anchor it at the door if the language does).
    Regex(Pattern),
    /// Strings that do not pass this test pass.
    Not(Box<Test>),
}

impl PartialEq for Test {
    /// Whether both are written the same, expressions by their text.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any, Self::Any) => true,
            (Self::AnyOf(a), Self::AnyOf(b)) | (Self::AnyOfLower(a), Self::AnyOfLower(b)) => a == b,
            (
                Self::Wildcard { pieces: a, lower },
                Self::Wildcard { pieces: b, lower: also_lower },
            ) => a == b && lower == also_lower,
            (Self::Regex(a), Self::Regex(b)) => a.as_str() == b.as_str(),
            (Self::Not(a), Self::Not(b)) => a == b,
            _ => false,
        }
    }
}

/// Why a matcher cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatcherError(pub String);

impl fmt::Display for MatcherError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for MatcherError {}

impl Test {
    /// Equality with one string.
    pub fn equal(text: impl Into<String>) -> Self {
        Self::AnyOf(vec![text.into()])
    }

    /// A regular expression of Go, found anywhere in the string.
    ///
    /// # Errors
    /// As [`Pattern::new`].
    pub fn regex(expression: &str) -> Result<Self, MatcherError> {
        Pattern::new(expression).map(Self::Regex)
    }

    /// A regular expression of Java, found anywhere in the string.
    ///
    /// # Errors
    /// As [`Pattern::new`].
    pub fn regex_of_java(expression: &str) -> Result<Self, MatcherError> {
        Pattern::of_java(expression).map(Self::Regex)
    }

    /// OpenTSDB's wildcard filter over `pattern`.
    ///
    /// # Errors
    /// When the pattern has no asterisk.
    pub fn wildcard(pattern: &str, lower: bool) -> Result<Self, MatcherError> {
        if !pattern.contains('*') {
            return Err(MatcherError(format!("wildcard filter '{pattern}' has no asterisk")));
        }
        let fold = |piece: &str| if lower { piece.to_lowercase() } else { piece.to_owned() };
        Ok(Self::Wildcard { pieces: pattern.split('*').map(fold).collect(), lower })
    }

    /// Whether `text` passes.
    pub fn passes(&self, text: &str) -> bool {
        match self {
            Self::Any => true,
            Self::AnyOf(list) => list.iter().any(|item| item == text),
            Self::AnyOfLower(list) => {
                let lower = text.to_lowercase();
                list.contains(&lower)
            }
            Self::Wildcard { pieces, lower: true } => wildcard_passes(pieces, &text.to_lowercase()),
            Self::Wildcard { pieces, lower: false } => wildcard_passes(pieces, text),
            Self::Regex(pattern) => pattern.is_match(text),
            Self::Not(test) => !test.passes(text),
        }
    }

    /// The strings that can pass when they are few and known, so that a dictionary need not be
    /// walked.
    pub fn literals(&self) -> Option<&[String]> {
        match self {
            Self::AnyOf(list) => Some(list),
            _ => None,
        }
    }
}

/// As OpenTSDB 2.4 looks at it: the pieces occur one behind the other, each looked for from where
/// those before it could have ended at the earliest. Only a pattern with one open end holds the
/// other end: `web*` begins with `web`, but `web*.net` may stand anywhere in a text.
fn wildcard_passes(pieces: &[String], text: &str) -> bool {
    let [first, .., last] = pieces else { return false };
    let fits = match (first.is_empty(), last.is_empty()) {
        (true, false) => text.ends_with(last.as_str()),
        (false, true) => text.starts_with(first.as_str()),
        _ => true,
    };
    let mut from = 0;
    let mut occurs = |piece: &String| {
        let rest = text.as_bytes().get(from..).unwrap_or_default();
        from += piece.len();
        piece.is_empty() || rest.windows(piece.len()).any(|found| found == piece.as_bytes())
    };
    fits && pieces.iter().all(&mut occurs)
}

/// A condition on one label of a series.
#[derive(Clone, Debug)]
pub struct Matcher {
    /// The label's name.
    pub name: String,
    /// The test on its value.
    pub test: Test,
    /// Whether values that pass the test are the ones not wanted.
    pub negated: bool,
    /// Whether a series without the label is wanted. Languages differ: an absent label is the empty
    /// string in PromQL, while OpenTSDB drops series that lack a filtered key.
    pub accepts_absent: bool,
}

impl Matcher {
    /// Whether a series whose label has `value` (nothing: has no such label) is wanted.
    pub fn matches(&self, value: Option<&str>) -> bool {
        match value {
            Some(value) => self.test.passes(value) != self.negated,
            None => self.accepts_absent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards() {
        let case = |pattern, text| Test::wildcard(pattern, false).unwrap().passes(text);
        assert!(case("web*", "web01") && !case("web*", "aweb"));
        assert!(case("*01", "web01") && !case("*01", "web012"));
        assert!(case("w*b*1", "web01") && !case("w*x*1", "web01"));
        assert!(!case("web*b", "web"), "pieces must not overlap");
        // With both ends closed, or both open, a pattern may stand anywhere in the text.
        assert!(case("web*.net", "my-web01.net.old") && !case("web*.net", "web01.org"));
        assert!(case("*eb*", "web01") && !case("*eb*", "wb01"));
        assert!(case("w*b*", "web01") && !case("w*b*", "aweb01"));
        assert!(case("*b*1", "web01") && !case("*b*1", "web012"));
        assert!(Test::wildcard("WEB*", true).unwrap().passes("web01"));
        assert!(Test::wildcard("web", true).is_err());
    }

    #[test]
    fn absence_is_the_languages_choice() {
        let test = Test::equal("a");
        let mut matcher = Matcher { name: "h".into(), test, negated: true, accepts_absent: false };
        assert!(matcher.matches(Some("b")) && !matcher.matches(Some("a")));
        assert!(!matcher.matches(None));
        matcher.accepts_absent = true;
        assert!(matcher.matches(None));
    }
}
