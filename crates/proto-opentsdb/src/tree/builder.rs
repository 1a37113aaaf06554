//! A series' way up a tree: level after level, the first rule that takes it names a branch; the
//! last name is the leaf's.

use super::definition::{Rule, RuleKind, Tree};
use crate::http::HttpError;
use crate::uid::SeriesMeta;
use foliot_model::Pattern;
use std::collections::BTreeMap;

/// Where a series went, and what was tried.
#[derive(Debug)]
pub(super) struct Climbed {
    pub(super) outcome: Outcome,
    /// For whoever tests rules.
    pub(super) messages: Vec<String>,
}

/// Where a series went.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Names of branches, then the leaf's; never empty.
    Placed(Vec<String>),
    /// The rules that did not take it.
    NotMatched(String),
}

/// The rules of a tree, ready to be applied to many series.
#[derive(Debug)]
pub(super) struct Climber<'a> {
    is_strict: bool,
    /// Level by level.
    levels: Vec<Vec<Ready<'a>>>,
}

/// A rule with its name for messages and its expressions.
#[derive(Debug)]
struct Ready<'a> {
    name: String,
    rule: &'a Rule,
    regex: Option<Pattern>,
    separator: Option<Pattern>,
}

impl<'a> Climber<'a> {
    /// Makes the rules of a tree ready.
    ///
    /// # Errors
    /// When a stored expression is none.
    pub(super) fn new(tree: &'a Tree) -> Result<Self, HttpError> {
        let compile = |text: &str| match text {
            "" => Ok(None),
            text => Pattern::of_java(text)
                .and_then(Pattern::for_groups)
                .map(Some)
                .map_err(|_| HttpError::bad_request(format!("Invalid regular expression: {text}"))),
        };
        let mut levels: BTreeMap<u32, Vec<Ready<'a>>> = BTreeMap::new();
        for (place, rule) in &tree.rules {
            let kind = rule.kind.map_or("null", RuleKind::word);
            let name = format!("[{}:{}:{}:{kind}]", tree.id, place.0, place.1);
            let (regex, separator) = (compile(&rule.regex)?, compile(&rule.separator)?);
            levels.entry(place.0).or_default().push(Ready { name, rule, regex, separator });
        }
        Ok(Self { is_strict: tree.is_strict, levels: levels.into_values().collect() })
    }

    /// Applies the rules to a series.
    pub(super) fn climb(&self, meta: &SeriesMeta) -> Climbed {
        let mut messages = Vec::new();
        let mut names: Vec<String> = Vec::new();
        let mut missed = String::new();
        for level in &self.levels {
            let mut is_taken = false;
            let mut last = "";
            for ready in level {
                last = &ready.name;
                messages.push(format!("Processing rule: {last}"));
                let value = part(ready.rule, meta, last, &mut messages);
                let found = value.map_or_else(Vec::new, |value| ready.named(&value, meta));
                if !found.is_empty() {
                    is_taken = true;
                    for name in found {
                        // A name that repeats the one before it makes no branch of its own.
                        if names.last() != Some(&name) {
                            messages.push(format!("Adding branch: {name}"));
                            names.push(name);
                        }
                    }
                    break;
                }
            }
            if !is_taken {
                missed =
                    if missed.is_empty() { last.to_owned() } else { format!("{missed} {last}") };
            }
        }
        let is_lost = names.is_empty() || self.is_strict && !missed.is_empty();
        if let Some(leaf) = names.last().filter(|_| !is_lost) {
            messages.push(format!("Adding leaf [name: {leaf} tsuid: {}]", meta.tsuid));
        }
        let outcome = if is_lost { Outcome::NotMatched(missed) } else { Outcome::Placed(names) };
        Climbed { outcome, messages }
    }
}

/// The text that a rule looks at, when the series has it.
fn part(rule: &Rule, meta: &SeriesMeta, name: &str, messages: &mut Vec<String>) -> Option<String> {
    let (what, value) = match rule.kind? {
        RuleKind::Metric => return Some(meta.metric_name().to_owned()),
        RuleKind::TagKey => (format!("tagk [{}]", rule.field), meta.tag(&rule.field)),
        RuleKind::MetricCustom => {
            (format!("custom tag [{}]", rule.custom_field), meta.metric_custom(&rule.custom_field))
        }
        RuleKind::TagKeyCustom => (
            format!("custom tag [{}]", rule.custom_field),
            meta.key_custom(&rule.field, &rule.custom_field),
        ),
        RuleKind::TagValueCustom => (
            format!("custom tag [{}]", rule.custom_field),
            meta.value_custom(&rule.field, &rule.custom_field),
        ),
    };
    let verdict = if value.is_some() { "Matched" } else { "No match on" };
    messages.push(format!("{verdict} {what} for rule: {name}"));
    value.map(str::to_owned)
}

impl Ready<'_> {
    /// The names that the rule makes of a text.
    fn named(&self, value: &str, meta: &SeriesMeta) -> Vec<String> {
        let parts: Vec<&str> = if let Some(regex) = &self.regex {
            let group = usize::try_from(self.rule.group).unwrap_or(0) + 1;
            let found = regex.regex().captures(value).and_then(|found| found.get(group));
            found.map(|part| part.as_str()).into_iter().collect()
        } else if let Some(separator) = &self.separator {
            let mut parts: Vec<&str> = separator.regex().split(value).collect();
            // Java's split leaves empty texts at the end out.
            while parts.last().is_some_and(|part| part.is_empty()) {
                parts.pop();
            }
            parts
        } else {
            vec![value]
        };
        let show = |part: &str| display(self.rule, value, part, meta);
        parts.into_iter().filter(|part| !part.is_empty()).map(show).collect()
    }
}

/// A name as the rule wants it shown.
fn display(rule: &Rule, whole: &str, part: &str, meta: &SeriesMeta) -> String {
    if rule.display_format.is_empty() {
        return part.to_owned();
    }
    let tag = match rule.kind {
        Some(RuleKind::TagKey) => rule.field.as_str(),
        None | Some(RuleKind::Metric) => "",
        Some(_) => rule.custom_field.as_str(),
    };
    rule.display_format
        .replace("{ovalue}", whole)
        .replace("{value}", part)
        .replace("{tsuid}", &meta.tsuid)
        .replace("{tag_name}", tag)
}
