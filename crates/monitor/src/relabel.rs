//! Relabelling: rules that change the labels of targets and series, or drop them.
//!
//! As Prometheus' documentation says under `relabel_config`: a rule joins the values of its source
//! labels and does with them what its action says.

use crate::reading::{Finding, Findings, Reader};
use foliot_model::{Pattern, expand};
use md5::{Digest, Md5};
use regex::Regex;
use std::collections::BTreeMap;
use std::fmt;

/// Labels by name. A label with an empty value is one that is not there.
pub type LabelSet = BTreeMap<String, String>;

/// Memory that a rule's compiled expression may take.
const REGEX_BYTES_MAX: usize = 1 << 20;

/// One rule.
#[derive(Clone, Debug)]
pub struct Relabel {
    source: Vec<String>,
    separator: String,
    /// What its expression is as it was written.
    written: String,
    regex: Regex,
    modulus: u64,
    target: String,
    replacement: String,
    action: Action,
}

/// Rules are the same when they were written the same.
impl PartialEq for Relabel {
    fn eq(&self, other: &Self) -> bool {
        let written = |rule: &Self| {
            let texts = [&rule.separator, &rule.target, &rule.replacement].map(String::clone);
            (rule.source.clone(), texts, rule.modulus, rule.action, rule.written.clone())
        };
        written(self) == written(other)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Replace,
    Keep,
    Drop,
    KeepEqual,
    DropEqual,
    HashMod,
    LabelMap,
    LabelDrop,
    LabelKeep,
    Lowercase,
    Uppercase,
}

const ACTIONS: [(&str, Action); 11] = [
    ("replace", Action::Replace),
    ("keep", Action::Keep),
    ("drop", Action::Drop),
    ("keepequal", Action::KeepEqual),
    ("dropequal", Action::DropEqual),
    ("hashmod", Action::HashMod),
    ("labelmap", Action::LabelMap),
    ("labeldrop", Action::LabelDrop),
    ("labelkeep", Action::LabelKeep),
    ("lowercase", Action::Lowercase),
    ("uppercase", Action::Uppercase),
];

/// What stands between values that are joined, unless a rule says otherwise.
const SEPARATOR: &str = ";";

/// What a label gets, unless a rule says otherwise.
const REPLACEMENT: &str = "$1";

/// Values that a rule that stands alone may have, with those that aliases stand for: a few times as
/// many as it has use for.
const NODES_OF_RULE_MAX: usize = 100;

/// Keys under which configurations have lists of rules.
const LISTS: [&str; 4] =
    ["relabel_configs", "metric_relabel_configs", "alert_relabel_configs", "write_relabel_configs"];

/// Reads rules that stand alone: a list, or one key of a configuration with its list.
///
/// # Errors
///
/// Everything that is wrong with them, by line; and that they are more than `most`.
pub fn read_relabel(text: &str, most: usize) -> Result<Vec<Relabel>, Vec<Finding>> {
    let findings = Findings::new("rules");
    let mut rules = Vec::new();
    let nodes_max = most.saturating_mul(NODES_OF_RULE_MAX);
    if let Some(node) = findings.parse_few(text, nodes_max) {
        let reader = Reader::new(&node, &findings);
        let list = match reader.is_map() {
            false => Some(reader),
            true => {
                let mut keys = reader.keys();
                let found = LISTS.iter().find_map(|name| keys.take(name));
                keys.end();
                found
            }
        };
        match list.as_ref().map_or(0, |list| list.list().len()) > most {
            true => list.iter().for_each(|list| list.error(format!("more than {most} rules"))),
            false => rules = read(list),
        }
    }
    findings.end().map(|_| rules)
}

/// Reads a list of rules.
pub(crate) fn read(reader: Option<Reader<'_>>) -> Vec<Relabel> {
    let rules = reader.map(|reader| reader.list()).unwrap_or_default();
    rules.iter().filter_map(read_rule).collect()
}

fn read_rule(reader: &Reader<'_>) -> Option<Relabel> {
    let mut keys = reader.keys();
    let action = match keys.take("action") {
        None => Action::Replace,
        Some(reader) => reader.read(|text| {
            let name = text.to_ascii_lowercase();
            let found = ACTIONS.iter().find(|(known, _)| *known == name);
            let names = ACTIONS.map(|(name, _)| name).join(", ");
            found.map(|(_, action)| *action).ok_or(format!("{text:?} is none of {names}"))
        })?,
    };
    let source = keys.take("source_labels").map(|reader| reader.texts());
    let (has_source, source) = (source.is_some(), source.unwrap_or_default());
    let text = |reader: Option<Reader<'_>>, otherwise: &str| {
        reader.map_or_else(|| otherwise.to_owned(), |reader| reader.text())
    };
    let separator = if keys.is_empty_text("separator") { "" } else { SEPARATOR };
    let separator = text(keys.take("separator"), separator);
    let replacement = if keys.is_empty_text("replacement") { "" } else { REPLACEMENT };
    let replacement = text(keys.take("replacement"), replacement);
    let target = text(keys.take("target_label"), "");
    let modulus = keys.take("modulus").and_then(|reader| reader.number()).unwrap_or(0);
    let regex = keys.take("regex");
    let has_regex = regex.is_some();
    let (written, regex) = match regex {
        None => anchored("(.*)").ok()?,
        Some(reader) => reader.read(anchored)?,
    };
    keys.end();
    let rule = Relabel { source, separator, written, regex, modulus, target, replacement, action };
    check(&rule, has_source, has_regex, reader);
    Some(rule)
}

/// Complains of a rule whose keys do not go together: it would not do what it says.
fn check(rule: &Relabel, has_source: bool, has_regex: bool, reader: &Reader<'_>) {
    use Action::{DropEqual, HashMod, KeepEqual, LabelDrop, LabelKeep, LabelMap};
    use Action::{Lowercase, Replace, Uppercase};
    let (action, has_target) = (rule.action, !rule.target.is_empty());
    let compares = matches!(action, KeepEqual | DropEqual);
    let changes_case = matches!(action, Lowercase | Uppercase);
    let needs_target = matches!(action, Replace | HashMod) || compares || changes_case;
    if needs_target && !has_target {
        reader.error("this action needs a target_label");
    }
    if action == HashMod && rule.modulus == 0 {
        reader.error("hashmod needs a modulus that is not 0");
    }
    let has_others =
        rule.modulus != 0 || rule.separator != SEPARATOR || rule.replacement != REPLACEMENT;
    if matches!(action, LabelDrop | LabelKeep) && (has_source || has_target || has_others) {
        reader.error("labeldrop and labelkeep take a regex and nothing else");
    }
    if compares && (has_regex || has_others) {
        reader.error("keepequal and dropequal take source_labels and target_label, nothing else");
    }
    if changes_case && rule.replacement != REPLACEMENT {
        reader.error("lowercase and uppercase take no replacement");
    }
    if action == LabelMap && rule.replacement.is_empty() {
        reader.error("labelmap needs a replacement, which names labels");
    }
}

/// An expression of Go that must match a whole text, as it was written and compiled.
fn anchored(text: &str) -> Result<(String, Regex), String> {
    let whole = format!("^(?s:{text})$");
    let regex = Pattern::in_syntax_of_library(&whole).and_then(|whole| {
        let mut builder = regex::RegexBuilder::new(&whole);
        builder.size_limit(REGEX_BYTES_MAX).build().map_err(|error| error.to_string())
    });
    let regex = regex.map_err(|error| format!("{text:?} is no regular expression: {error}"))?;
    Ok((text.to_owned(), regex))
}

/// Applies rules in order; says whether the labels are kept.
pub fn relabel(rules: &[Relabel], labels: &mut LabelSet) -> bool {
    rules.iter().all(|rule| rule.apply(labels))
}

/// As a configuration has it, in one line, without what goes without saying.
impl fmt::Display for Relabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = ACTIONS.iter().find(|(_, action)| *action == self.action);
        let name = known.map_or("", |(name, _)| name);
        write!(f, "{{action: {name}")?;
        if !self.source.is_empty() {
            let names: Vec<String> = self.source.iter().map(|name| quoted(name)).collect();
            write!(f, ", source_labels: [{}]", names.join(", "))?;
        }
        for (key, text, usual) in [
            ("separator", self.separator.as_str(), SEPARATOR),
            ("regex", &self.written, "(.*)"),
            ("target_label", &self.target, ""),
            ("replacement", &self.replacement, REPLACEMENT),
        ] {
            if text != usual {
                write!(f, ", {key}: {}", quoted(text))?;
            }
        }
        if self.modulus > 0 {
            write!(f, ", modulus: {}", self.modulus)?;
        }
        f.write_str("}")
    }
}

/// A text in the double quotes of YAML.
fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\n' => out.push_str("\\n"),
            letter if letter.is_control() => out.push_str(&format!("\\U{:08x}", u32::from(letter))),
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

impl Relabel {
    fn apply(&self, labels: &mut LabelSet) -> bool {
        let value = |name: &String| labels.get(name).map_or("", String::as_str);
        let values: Vec<&str> = self.source.iter().map(value).collect();
        let joined = values.join(&self.separator);
        let target = labels.get(&self.target).map_or("", String::as_str);
        match self.action {
            Action::Keep => return self.regex.is_match(&joined),
            Action::Drop => return !self.regex.is_match(&joined),
            Action::KeepEqual => return joined == target,
            Action::DropEqual => return joined != target,
            Action::Replace => self.replace(&joined, labels),
            Action::Lowercase => set(labels, self.target.clone(), joined.to_lowercase()),
            Action::Uppercase => set(labels, self.target.clone(), joined.to_uppercase()),
            Action::HashMod => {
                let hash = hash(&joined).checked_rem(self.modulus).unwrap_or_default();
                set(labels, self.target.clone(), hash.to_string());
            }
            Action::LabelMap => {
                let renamed = labels.iter().filter_map(|(name, value)| {
                    let found = self.regex.captures(name)?;
                    let mut new = String::new();
                    expand(&found, &self.replacement, &mut new);
                    Some((new, value.clone()))
                });
                for (name, value) in renamed.collect::<Vec<_>>() {
                    set(labels, name, value);
                }
            }
            Action::LabelDrop => labels.retain(|name, _| !self.regex.is_match(name)),
            Action::LabelKeep => labels.retain(|name, _| self.regex.is_match(name)),
        }
        true
    }

    fn replace(&self, joined: &str, labels: &mut LabelSet) {
        let Some(found) = self.regex.captures(joined) else { return };
        let (mut target, mut value) = (String::new(), String::new());
        expand(&found, &self.target, &mut target);
        expand(&found, &self.replacement, &mut value);
        // A name that came of a match and is none is left alone, as Prometheus does.
        if !target.is_empty() {
            set(labels, target, value);
        }
    }
}

/// Sets a label; an empty value takes it away.
pub(crate) fn set(labels: &mut LabelSet, name: String, value: String) {
    match value.is_empty() {
        true => drop(labels.remove(&name)),
        false => drop(labels.insert(name, value)),
    }
}

/// The last eight bytes of MD5, which is what Prometheus takes, so that shards agree.
fn hash(text: &str) -> u64 {
    let digest = Md5::digest(text.as_bytes());
    let last = digest.iter().skip(8);
    last.fold(0, |hash, byte| hash << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests;
