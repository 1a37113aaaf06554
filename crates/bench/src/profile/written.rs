//! Profiles that are TOML files: tables, fields with their laws, and labels. What a file says is
//! checked as a whole when it is read, so that every row of it can be written to every server.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize, Serializer};

use crate::fleet::{Field, Label, LabelValue, Shape, Table};
use crate::law::{Kind, Law, Start, Stride};
use crate::random::{Draws, Purpose};

/// Tables of a file: their numbers share a word with the source's.
const TABLES_MAX: usize = 200;

/// Fields of a table; above are numbers that answers need for themselves.
const FIELDS_MAX: usize = 900;

/// Digits after the point: `question` tells nothing smaller from rounding.
const DIGITS_MAX: u8 = 5;

/// Size of a bound or of a step. Held with its digits it stays far below what a double holds.
const NUMBER_MAX: f64 = 1e9;

/// The whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Written {
    name: String,
    /// Interval between two steps when the command line does not say.
    interval_s: f64,
    #[serde(rename = "table")]
    tables: Vec<WrittenTable>,
    /// The first tells the sources apart.
    #[serde(rename = "label")]
    labels: Vec<WrittenLabel>,
}

/// One measurement.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenTable {
    name: String,
    /// Spreads the sources over so many measurements, `name` followed by a number.
    #[serde(default)]
    groups: u64,
    /// Fields that follow `law`, with `digits` after the point.
    #[serde(default)]
    fields: Vec<String>,
    law: Option<WrittenLaw>,
    #[serde(default)]
    digits: u8,
    /// Fields with laws of their own.
    #[serde(default, rename = "field")]
    own: Vec<WrittenField>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenField {
    name: String,
    law: WrittenLaw,
    #[serde(default)]
    digits: u8,
}

/// A law of `law` under the names of files.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum WrittenLaw {
    /// Drawn once for each series.
    Still {
        from: f64,
        to: f64,
    },
    /// Normal steps, held between two bounds; begins anywhere between `from` and `to`.
    Walk {
        mean: f64,
        deviation: f64,
        min: f64,
        max: f64,
        from: f64,
        to: f64,
    },
    /// Rises by the size of a normal step.
    Counter {
        mean: f64,
        deviation: f64,
    },
    Line {
        min: f64,
        max: f64,
        cycle_s: f64,
    },
    Sine {
        min: f64,
        max: f64,
        cycle_s: f64,
    },
    Square {
        min: f64,
        max: f64,
        cycle_s: f64,
    },
    /// Drawn anew at each step.
    Random {
        min: f64,
        max: f64,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenLabel {
    key: String,
    value: WrittenValue,
}

/// Where the value of a label comes from.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum WrittenValue {
    /// A word and the source's number, or that of every so many sources together.
    Numbered {
        word: String,
        #[serde(default = "one")]
        every: u64,
    },
    /// A word and a number drawn for each source.
    Drawn {
        #[serde(default)]
        word: String,
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

fn one() -> u64 {
    1
}

/// A profile is itself and no other.
impl PartialEq for Written {
    fn eq(&self, other: &Written) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Written {}

impl Serialize for Written {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name)
    }
}

impl Written {
    /// Reads a file; it stays in memory, as the profiles of the binary do.
    pub(crate) fn read(path: &Path) -> Result<&'static Written, String> {
        let at = |error: String| format!("{}: {error}", path.display());
        let text = fs::read_to_string(path).map_err(|error| at(error.to_string()))?;
        Ok(Box::leak(Box::new(Written::parse(&text).map_err(at)?)))
    }

    pub(super) fn parse(text: &str) -> Result<Written, String> {
        let written: Written = toml::from_str(text).map_err(|error| error.to_string())?;
        written.check()?;
        Ok(written)
    }

    pub(super) fn interval_ms(&self) -> i64 {
        (self.interval_s * 1000.0) as i64
    }

    pub(super) fn tables(&'static self) -> Vec<Table> {
        let source_label = self.labels.first().map_or("", |label| label.key.as_str());
        let table = |table: &'static WrittenTable| Table {
            name: &table.name,
            groups: table.groups,
            source_label,
            fields: table.all().map(|(name, digits, law)| law.field(name, digits)).collect(),
            state_at: 0,
        };
        self.tables.iter().map(table).collect()
    }

    /// Appends the labels of `source`; those that are drawn are drawn in the order of the file.
    pub(super) fn labels(&'static self, shape: &Shape, source: u64, out: &mut Vec<Label>) {
        let mut draws = Draws::at(shape.seed, Purpose::Labels, source, 0);
        for label in &self.labels {
            let value = match &label.value {
                WrittenValue::Numbered { word, every } => {
                    LabelValue::Numbered(word, source / every)
                }
                WrittenValue::Word(word) => LabelValue::Word(word),
                WrittenValue::OneOf(choices) => LabelValue::Word(any(choices, &mut draws)),
                WrittenValue::Within { label, one_of } => {
                    let within = out.iter().find(|other| other.key == label);
                    let choices = within.and_then(|other| match other.value {
                        LabelValue::Word(word) => one_of.get(word),
                        LabelValue::Numbered(..) => None,
                    });
                    LabelValue::Word(any(choices.map_or(&[], Vec::as_slice), &mut draws))
                }
                WrittenValue::Drawn { word, below } => {
                    LabelValue::Numbered(word, draws.below(*below))
                }
            };
            out.push(Label { key: &label.key, value });
        }
    }

    fn check(&self) -> Result<(), String> {
        name("the profile", &self.name)?;
        if !(0.001..=NUMBER_MAX).contains(&self.interval_s) {
            return Err(format!("interval_s = {}: at least 0.001", self.interval_s));
        }
        if !(1..=TABLES_MAX).contains(&self.tables.len()) {
            return Err(format!("{} tables: from 1 to {TABLES_MAX}", self.tables.len()));
        }
        distinct("tables", self.tables.iter().map(|table| &table.name))?;
        self.tables.iter().try_for_each(WrittenTable::check)?;
        distinct("labels", self.labels.iter().map(|label| &label.key))?;
        match self.labels.first().map(|label| &label.value) {
            Some(WrittenValue::Numbered { every: 1, .. }) => {}
            _ => return Err("the first label tells the sources apart: numbered, every 1".into()),
        }
        let mut before: Vec<&WrittenLabel> = Vec::new();
        for label in &self.labels {
            label.check(&before).map_err(|error| format!("label {}: {error}", label.key))?;
            before.push(label);
        }
        Ok(())
    }
}

/// One of `choices`; an empty word where there is none.
fn any(choices: &'static [String], draws: &mut Draws) -> &'static str {
    let at = draws.below(choices.len().max(1) as u64) as usize;
    choices.get(at).map_or("", String::as_str)
}

impl WrittenTable {
    /// Name, digits and law of all fields.
    fn all(&self) -> impl Iterator<Item = (&String, u8, WrittenLaw)> {
        let shared = self
            .law
            .into_iter()
            .flat_map(move |law| self.fields.iter().map(move |name| (name, self.digits, law)));
        shared.chain(self.own.iter().map(|field| (&field.name, field.digits, field.law)))
    }

    fn check(&self) -> Result<(), String> {
        let at = |error: String| format!("table {}: {error}", self.name);
        name("a table", &self.name)?;
        if self.law.is_none() && !self.fields.is_empty() {
            return Err(at("fields without a law".into()));
        }
        let count = self.all().count();
        if !(1..=FIELDS_MAX).contains(&count) {
            return Err(at(format!("{count} fields: from 1 to {FIELDS_MAX}")));
        }
        distinct("fields", self.all().map(|(name, ..)| name)).map_err(at)?;
        for (field, digits, law) in self.all() {
            name("a field", field).map_err(at)?;
            law.check(digits).map_err(|error| at(format!("field {field}: {error}")))?;
        }
        Ok(())
    }
}

impl WrittenLaw {
    fn field(self, name: &str, digits: u8) -> Field {
        let kind = if digits == 0 { Kind::Integer } else { Kind::Decimal(digits) };
        let law = match self {
            WrittenLaw::Still { from, to } => Law::Still(Start::Uniform(from, to)),
            WrittenLaw::Walk { mean, deviation, min, max, from, to } => {
                Law::Clamped(Stride::Normal(mean, deviation), min, max, Start::Uniform(from, to))
            }
            WrittenLaw::Counter { mean, deviation } => Law::Rising(Stride::Normal(mean, deviation)),
            WrittenLaw::Line { min, max, cycle_s } => {
                Law::Line { min, max, cycle_ms: cycle_s * 1000.0 }
            }
            WrittenLaw::Sine { min, max, cycle_s } => {
                Law::Sine { min, max, cycle_ms: cycle_s * 1000.0 }
            }
            WrittenLaw::Square { min, max, cycle_s } => {
                Law::Square { min, max, cycle_ms: cycle_s * 1000.0 }
            }
            WrittenLaw::Random { min, max } => Law::Random { min, max },
        };
        Field::new(name, kind, law)
    }

    fn check(self, digits: u8) -> Result<(), String> {
        let (bounds, numbers) = match self {
            WrittenLaw::Still { from, to } => ((from, to), [0.0; 3]),
            WrittenLaw::Walk { mean, deviation, min, max, from, to } => {
                if !(min <= from && from <= to && to <= max) {
                    return Err("from and to lie between min and max".into());
                }
                ((min, max), [mean, deviation, 0.0])
            }
            WrittenLaw::Counter { mean, deviation } => ((0.0, 0.0), [mean, deviation, 0.0]),
            WrittenLaw::Line { min, max, cycle_s }
            | WrittenLaw::Sine { min, max, cycle_s }
            | WrittenLaw::Square { min, max, cycle_s } => {
                if cycle_s < 0.001 {
                    return Err(format!("cycle_s = {cycle_s}: at least 0.001"));
                }
                ((min, max), [cycle_s, 0.0, 0.0])
            }
            WrittenLaw::Random { min, max } => ((min, max), [0.0; 3]),
        };
        if bounds.0 > bounds.1 {
            return Err(format!("{} lies above {}", bounds.0, bounds.1));
        }
        let is_small = |number: &f64| number.abs() <= NUMBER_MAX;
        if ![bounds.0, bounds.1].iter().chain(&numbers).all(is_small) {
            return Err(format!("numbers lie between {NUMBER_MAX} and its negative"));
        }
        if digits > DIGITS_MAX {
            return Err(format!("digits = {digits}: {DIGITS_MAX} at most"));
        }
        Ok(())
    }
}

impl WrittenLabel {
    /// Checks the label, which follows those `before`.
    fn check(&self, before: &[&WrittenLabel]) -> Result<(), String> {
        name("a label", &self.key)?;
        let words = |choices: &[String]| match choices {
            [] => Err("nothing to choose from".to_owned()),
            choices => choices.iter().try_for_each(|word| name("a value", word)),
        };
        match &self.value {
            WrittenValue::Numbered { every: 0, .. } => Err("every = 0: at least 1".into()),
            WrittenValue::Drawn { below: 0, .. } => Err("below = 0: at least 1".into()),
            // The number after it makes a value of no word too.
            WrittenValue::Numbered { word, .. } | WrittenValue::Drawn { word, .. } => {
                if word.is_empty() { Ok(()) } else { name("a value", word) }
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

/// Refuses what some wire format would have to quote.
fn name(what: &str, text: &str) -> Result<(), String> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./".contains(letter);
    match !text.is_empty() && text.chars().all(plain) {
        true => Ok(()),
        false => Err(format!("{what} is called {text:?}: letters, digits, `_`, `-`, `.`, `/`")),
    }
}

fn distinct<'a>(what: &str, mut names: impl Iterator<Item = &'a String>) -> Result<(), String> {
    let mut seen = std::collections::BTreeSet::new();
    match names.find(|name| !seen.insert(name.as_str())) {
        Some(twice) => Err(format!("{what}: {twice} comes twice")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = r#"
        name = "rooms"
        interval_s = 1
        [[table]]
        name = "climate"
        [[table.field]]
        name = "warmth"
        digits = 1
        law = { sine = { min = 10, max = 30, cycle_s = 3600 } }
        [[label]]
        key = "sensor"
        value = { numbered = { word = "s" } }
    "#;

    #[test]
    fn the_files_of_the_binary_are_read() {
        Written::parse(include_str!("tsbs-cpu.toml")).unwrap();
    }

    #[test]
    fn what_no_server_could_take_is_refused_with_its_place() {
        Written::parse(PLAIN).unwrap();
        let changed = |from: &str, to: &str| {
            assert!(PLAIN.contains(from), "{from}");
            Written::parse(&PLAIN.replace(from, to)).map(drop).unwrap_err()
        };
        assert!(changed("\"warmth\"", "\"warm th\"").contains("a field is called \"warm th\""));
        assert!(changed("max = 30", "max = 3").contains("warmth: 10 lies above 3"));
        assert!(changed("max = 30", "max = 1e18").contains("numbers lie between"));
        assert!(changed("digits = 1", "digits = 7").contains("5 at most"));
        assert!(changed("cycle_s = 3600", "cycle_s = 0").contains("at least 0.001"));
        assert!(
            changed("numbered = { word = \"s\" }", "word = \"s\"").contains("tells the sources")
        );
        assert!(changed("interval_s = 1", "interval_s = 0").contains("at least 0.001"));
        assert!(changed("interval_s", "interval_h").contains("interval_h"));
        let twice = PLAIN.to_owned() + "[[label]]\nkey = \"sensor\"\nvalue = { word = \"x\" }";
        assert!(Written::parse(&twice).unwrap_err().contains("sensor comes twice"));
        let within = "[[label]]\nkey = \"b\"\nvalue.within = { label = \"a\", one-of = {} }";
        assert!(Written::parse(&(PLAIN.to_owned() + within)).unwrap_err().contains("no one-of"));
    }
}
