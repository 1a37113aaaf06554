//! Labels of files: where their values come from.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::name::name;
use crate::profile::table::{Label, LabelValue};
use crate::random::Draws;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenLabel {
    pub(super) key: String,
    value: WrittenValue,
}

/// Where the value of a label comes from.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum WrittenValue {
    /// A word and the source's number, or that of every so many sources together.
    Numbered {
        #[serde(default)]
        word: String,
        #[serde(default = "one")]
        every: u64,
    },
    /// A word and a number that a source changes for a new one after so many steps, each source
    /// at steps of its own.
    Replaced { word: String, steps: u64 },
    /// A word and a number drawn for each source, `from` at the least.
    Drawn {
        #[serde(default)]
        word: String,
        #[serde(default)]
        from: u64,
        below: u64,
    },
    /// Everywhere the same.
    Word(String),
    /// Drawn for each source.
    OneOf(Vec<String>),
    /// Drawn for each source among those that another label's value allows.
    #[serde(rename_all = "kebab-case")]
    Within { label: String, one_of: BTreeMap<String, Vec<String>> },
}

/// Numbers in labels: below 2^40, so that what is added to them keeps within 2^63.
const NUMBER_MAX: u64 = 1 << 40;

fn one() -> u64 {
    1
}

/// A source at a step.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) sources: u64,
    pub(super) source: u64,
    pub(super) step: u64,
}

impl WrittenLabel {
    /// Whether the value tells every source from every other.
    pub(super) fn is_distinct(&self) -> bool {
        let value = &self.value;
        matches!(value, WrittenValue::Numbered { every: 1, .. } | WrittenValue::Replaced { .. })
    }

    /// Whether the value changes from step to step.
    pub(super) fn changes(&self) -> bool {
        matches!(self.value, WrittenValue::Replaced { .. })
    }

    /// The label at a place; what is drawn is drawn in the order of the file, after those `before`.
    pub(super) fn label(&'static self, place: Place, before: &[Label], draws: &mut Draws) -> Label {
        let any = |choices: &'static [String], draws: &mut Draws| {
            let at = draws.below(choices.len().max(1) as u64) as usize;
            LabelValue::Word(choices.get(at).map_or("", String::as_str))
        };
        let value = match &self.value {
            WrittenValue::Numbered { word, every } => {
                LabelValue::Numbered(word, place.source / every)
            }
            WrittenValue::Replaced { word, steps } => {
                let generation = (place.step + draws.below(*steps)) / steps;
                LabelValue::Numbered(word, generation * place.sources + place.source)
            }
            WrittenValue::Drawn { word, from, below } => {
                LabelValue::Numbered(word, from + draws.below(*below))
            }
            WrittenValue::Word(word) => LabelValue::Word(word),
            WrittenValue::OneOf(choices) => any(choices, draws),
            WrittenValue::Within { label, one_of } => {
                let within = before.iter().find(|other| other.key == label);
                let choices = within.and_then(|other| match other.value {
                    LabelValue::Word(word) => one_of.get(word),
                    LabelValue::Numbered(..) => None,
                });
                any(choices.map_or(&[], Vec::as_slice), draws)
            }
        };
        Label { key: &self.key, value }
    }

    /// Checks the label, which follows those `before`.
    pub(super) fn check(&self, before: &[&WrittenLabel]) -> Result<(), String> {
        name("a label", &self.key)?;
        let words = |choices: &[String]| match choices {
            [] => Err("nothing to choose from".to_owned()),
            choices => choices.iter().try_for_each(|word| name("a value", word)),
        };
        // The number after it makes a value of no word too.
        let word = |word: &str| if word.is_empty() { Ok(()) } else { name("a value", word) };
        let size = |what: &str, number: u64| match (1..=NUMBER_MAX).contains(&number) {
            true => Ok(()),
            false => Err(format!("{what} = {number}: from 1 to {NUMBER_MAX}")),
        };
        match &self.value {
            WrittenValue::Numbered { word: text, every } => size("every", *every).and(word(text)),
            WrittenValue::Replaced { word: text, steps } => size("steps", *steps).and(word(text)),
            WrittenValue::Drawn { word: text, from, below } => {
                size("below", from.saturating_add(*below)).and(size("below", *below))?;
                word(text)
            }
            WrittenValue::Word(word) => name("a value", word),
            WrittenValue::OneOf(choices) => words(choices),
            WrittenValue::Within { label, one_of } => {
                one_of.values().try_for_each(|choices| words(choices))?;
                let other = before.iter().find(|other| other.key == *label);
                let Some(WrittenValue::OneOf(values)) = other.map(|other| &other.value) else {
                    return Err(format!("within {label}, which is no one-of before it"));
                };
                match values.iter().find(|value| !one_of.contains_key(*value)) {
                    Some(value) => Err(format!("nothing to choose from within {label} = {value}")),
                    None => Ok(()),
                }
            }
        }
    }
}
