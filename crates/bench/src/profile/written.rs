//! Profiles that are TOML files: tables, fields with their laws, and labels. What a file says is
//! checked as a whole when it is read, so that every row of it can be written to every server.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize, Serializer};

use super::table::{Field, Label, Table};
use crate::random::{Draws, Purpose};

mod label;
mod law;
mod measurement;
mod name;

use label::{Place, WrittenLabel};
use measurement::WrittenTable;
use name::{distinct, name};

/// Tables of a file: their numbers share a word with the source's.
const TABLES_MAX: usize = 200;

/// Longest interval.
const INTERVAL_S_MAX: f64 = 1e9;

/// Steps after which values may come again, and steps between two reports.
const STEPS_MAX: u64 = 1_000_000;

/// The whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Written {
    name: String,
    /// Interval between two steps when the command line does not say.
    interval_s: f64,
    /// Each source reports at one step in so many, at steps of its own.
    reports_every: Option<u64>,
    /// After so many steps the same values come again, for all sources alike.
    repeats_steps: Option<u64>,
    #[serde(rename = "table")]
    tables: Vec<WrittenTable>,
    /// The first tells the sources apart.
    #[serde(rename = "label")]
    labels: Vec<WrittenLabel>,
    /// Labels in the order in which they are written, where that is not the one of the file, in
    /// which they are drawn.
    #[serde(default)]
    order: Vec<String>,
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
    /// Reads a file.
    pub(super) fn read(path: &Path) -> Result<&'static Written, String> {
        let at = |error: String| format!("{}: {error}", path.display());
        let text = fs::read_to_string(path).map_err(|error| at(error.to_string()))?;
        Written::parse(&text).map_err(at)
    }

    /// Reads a file's text; what it says stays in memory.
    pub(super) fn parse(text: &str) -> Result<&'static Written, String> {
        let written: Written = toml::from_str(text).map_err(|error| error.to_string())?;
        written.check()?;
        let written = &*Box::leak(Box::new(written));
        // What follows from other fields follows from fields that are there.
        written.try_tables(0, written.fields())?;
        Ok(written)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn interval_ms(&self) -> i64 {
        (self.interval_s * 1000.0) as i64
    }

    /// Fields of a source when the command line does not say; 0 = the file fixes them.
    pub(super) fn fields(&self) -> usize {
        self.tables.iter().find_map(WrittenTable::choice).unwrap_or(0)
    }

    /// The tables, with so many fields where the file leaves the choice.
    pub(super) fn tables(&'static self, seed: u64, fields: usize) -> Vec<Table> {
        // They were made once when the file was read; names do not depend on the seed.
        self.try_tables(seed, fields).unwrap_or_default()
    }

    fn try_tables(&'static self, seed: u64, fields: usize) -> Result<Vec<Table>, String> {
        let source_label = self.labels.first().map_or("", |label| label.key.as_str());
        let table = |table: &'static WrittenTable| {
            let made = table.table(seed, fields, source_label);
            made.map_err(|error| format!("table {}: {error}", table.name))
        };
        self.tables.iter().map(table).collect()
    }

    /// A field that follows the families of the first table's numbered ones.
    pub(super) fn like_numbered(
        &'static self,
        seed: u64,
        at: u64,
        name: &str,
    ) -> Result<Field, String> {
        self.tables.first().ok_or("no table")?.like_numbered(seed, at, name)
    }

    /// Appends the labels that `source`, one of so many, has in `table` at `step`; those that are
    /// drawn are drawn in the order of the file, those of a table apart.
    pub(super) fn labels(
        &'static self,
        seed: u64,
        sources: u64,
        source: u64,
        step: u64,
        table: usize,
        out: &mut Vec<Label>,
    ) {
        let place = Place { sources, source, step };
        let mut add = |labels: &'static [WrittenLabel], stream: u64| {
            let mut draws = Draws::at(seed, Purpose::Labels, source, stream);
            for label in labels {
                let label = label.label(place, out, &mut draws);
                out.push(label);
            }
        };
        add(&self.labels, 0);
        if let Some(table_labels) = self.tables.get(table).map(|table| &table.labels) {
            add(table_labels, 1 + table as u64);
        }
        if !self.order.is_empty() {
            let place = |label: &Label| self.order.iter().position(|key| key == label.key);
            out.sort_by_key(|label| place(label).unwrap_or(usize::MAX));
        }
    }

    /// Whether a source keeps its labels from step to step.
    pub(super) fn has_fixed_labels(&self) -> bool {
        !self.labels.iter().any(WrittenLabel::changes)
    }

    /// Whether `source` reports at `step`.
    #[inline]
    pub(super) fn reports(&self, seed: u64, source: u64, step: u64) -> bool {
        let Some(every) = self.reports_every else { return true };
        let mut draws = Draws::at(seed, Purpose::Order, source, step / every);
        draws.below(every) == step % every
    }

    pub(super) fn repeats_steps(&self) -> Option<u64> {
        self.repeats_steps
    }

    fn check(&self) -> Result<(), String> {
        name("the profile", &self.name)?;
        if !(0.001..=INTERVAL_S_MAX).contains(&self.interval_s) {
            return Err(format!("interval_s = {}: at least 0.001", self.interval_s));
        }
        let steps = [self.reports_every, self.repeats_steps].into_iter().flatten();
        if let Some(wrong) = steps.into_iter().find(|steps| !(1..=STEPS_MAX).contains(steps)) {
            return Err(format!("{wrong} steps: from 1 to {STEPS_MAX}"));
        }
        if !(1..=TABLES_MAX).contains(&self.tables.len()) {
            return Err(format!("{} tables: from 1 to {TABLES_MAX}", self.tables.len()));
        }
        distinct("tables", self.tables.iter().map(|table| &table.name))?;
        for table in &self.tables {
            table.check().map_err(|error| format!("table {}: {error}", table.name))?;
        }
        if !self.labels.first().is_some_and(WrittenLabel::is_distinct) {
            return Err(
                "the first label tells the sources apart: numbered, every 1, or replaced".into()
            );
        }
        if let Some(late) = self.labels.iter().skip(1).find(|label| label.changes()) {
            return Err(format!("label {}: only the first can be replaced", late.key));
        }
        check_labels(self.labels.iter())?;
        for table in &self.tables {
            check_labels(self.labels.iter().chain(&table.labels))
                .map_err(|error| format!("table {}: {error}", table.name))?;
            if table.labels.iter().any(WrittenLabel::changes) {
                return Err(format!("table {}: its labels stay", table.name));
            }
        }
        let known = |key: &&String| !self.labels.iter().any(|label| label.key == **key);
        match self.order.iter().find(known) {
            Some(key) => Err(format!("order: there is no label {key}")),
            None => Ok(()),
        }
    }
}

fn check_labels<'a>(labels: impl Iterator<Item = &'a WrittenLabel> + Clone) -> Result<(), String> {
    distinct("labels", labels.clone().map(|label| &label.key))?;
    let mut before: Vec<&WrittenLabel> = Vec::new();
    for label in labels {
        label.check(&before).map_err(|error| format!("label {}: {error}", label.key))?;
        before.push(label);
    }
    Ok(())
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
    fn what_no_server_could_take_is_refused_with_its_place() {
        Written::parse(PLAIN).unwrap();
        let changed = |from: &str, to: &str| {
            assert!(PLAIN.contains(from), "{from}");
            Written::parse(&PLAIN.replace(from, to)).map(drop).unwrap_err()
        };
        assert!(changed("\"warmth\"", "\"warm th\"").contains("a field is called \"warm th\""));
        assert!(changed("max = 30", "max = 3").contains("warmth: 10 lies above 3"));
        assert!(changed("max = 30", "max = 1e18").contains("numbers lie between"));
        assert!(changed("digits = 1", "digits = 7").contains("6 at most"));
        assert!(changed("cycle_s = 3600", "cycle_s = 0").contains("at least 0.001"));
        assert!(
            changed("numbered = { word = \"s\" }", "word = \"s\"").contains("tells the sources")
        );
        assert!(changed("interval_s = 1", "interval_s = 0").contains("at least 0.001"));
        assert!(changed("interval_s", "interval_h").contains("interval_h"));
        let rest = "{ rest = { whole = \"warmth\", part = \"warmth\" } }";
        assert!(
            changed("{ sine = { min = 10, max = 30, cycle_s = 3600 } }", rest)
                .contains("follows from itself")
        );
        let twice = PLAIN.to_owned() + "[[label]]\nkey = \"sensor\"\nvalue = { word = \"x\" }";
        assert!(Written::parse(&twice).unwrap_err().contains("sensor comes twice"));
        let within = "[[label]]\nkey = \"b\"\nvalue.within = { label = \"a\", one-of = {} }";
        assert!(Written::parse(&(PLAIN.to_owned() + within)).unwrap_err().contains("no one-of"));
    }
}
