//! Tables of files: their fields and the laws of these.

use serde::Deserialize;

use super::label::WrittenLabel;
use super::law::{Named, WrittenLaw};
use super::name::{distinct, name};
use crate::profile::table::{Field, Table};
use crate::random::{Draws, Purpose};

/// Fields of a table; above are numbers that answers need for themselves.
const FIELDS_MAX: usize = 900;

/// One measurement.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenTable {
    pub(super) name: String,
    /// Spreads the sources over so many measurements, `name` followed by a number.
    #[serde(default)]
    groups: u64,
    /// Fields that follow `law`, with `digits` after the point.
    #[serde(default)]
    fields: Vec<String>,
    law: Option<WrittenLaw>,
    digits: Option<u8>,
    /// Fields with laws of their own.
    #[serde(default, rename = "field")]
    own: Vec<WrittenField>,
    /// Fields that are a word and a number.
    numbered: Option<Numbered>,
    /// So many fields, or as many as the command line says: those above over and over, with a
    /// number from the second time on.
    choose: Option<usize>,
    /// Labels beside those that a source has in all tables.
    #[serde(default, rename = "label")]
    pub(super) labels: Vec<WrittenLabel>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenField {
    name: String,
    law: WrittenLaw,
    digits: Option<u8>,
}

/// So many fields, or as many as the command line says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Numbered {
    word: String,
    count: usize,
    digits: Option<u8>,
    /// All follow this law.
    law: Option<WrittenLaw>,
    /// Or each follows one that is drawn among these families.
    #[serde(default, rename = "family")]
    families: Vec<Family>,
}

/// Laws that fields follow in proportion to the share of their family.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Family {
    share: u64,
    laws: Vec<WrittenLaw>,
}

impl WrittenTable {
    /// Fields where the command line does not say; none where it has no choice.
    pub(super) fn choice(&self) -> Option<usize> {
        self.numbered.as_ref().map(|numbered| numbered.count).or(self.choose)
    }

    /// The table, with so many fields where there is a choice.
    pub(super) fn table(
        &'static self,
        seed: u64,
        fields: usize,
        source_label: &'static str,
    ) -> Result<Table, String> {
        let all: Vec<Named<'_>> = self.listed().map(|(name, _, law)| (name, law)).collect();
        let mut out: Vec<Field> = Vec::new();
        let mut add = |name: &str, digits, law: &'static WrittenLaw| {
            let field = law.field(name, digits, &all);
            out.push(field.map_err(|error| format!("field {name}: {error}"))?);
            Ok::<(), String>(())
        };
        let count = self.choose.map_or(self.listed().count(), |_| fields);
        for (at, (name, digits, law)) in self.listed().cycle().take(count).enumerate() {
            match at / self.listed().count() {
                0 => add(name, digits, law)?,
                turn => add(&format!("{name}_{turn}"), digits, law)?,
            }
        }
        if let Some(numbered) = &self.numbered {
            for at in 0..fields {
                let name = format!("{}{at}", numbered.word);
                add(&name, numbered.digits, numbered.law(seed, at as u64)?)?;
            }
        }
        let (name, groups) = (self.name.as_str(), self.groups);
        Ok(Table { name, groups, source_label, fields: out, state_at: 0 })
    }

    /// A field that follows the families of the numbered ones, under a name of its own.
    pub(super) fn like_numbered(
        &'static self,
        seed: u64,
        at: u64,
        name: &str,
    ) -> Result<Field, String> {
        let numbered = self.numbered.as_ref().ok_or("no field is numbered")?;
        numbered.law(seed, at)?.field(name, numbered.digits, &[])
    }

    /// Name, digits and law of the fields that the file names.
    fn listed(&self) -> impl Iterator<Item = (&String, Option<u8>, &WrittenLaw)> + Clone {
        let shared = self
            .law
            .iter()
            .flat_map(move |law| self.fields.iter().map(move |name| (name, self.digits, law)));
        shared.chain(self.own.iter().map(|field| (&field.name, field.digits, &field.law)))
    }

    pub(super) fn check(&self) -> Result<(), String> {
        name("a table", &self.name)?;
        if self.law.is_none() && !self.fields.is_empty() {
            return Err("fields without a law".into());
        }
        if self.choose.is_some() && (self.numbered.is_some() || self.listed().next().is_none()) {
            return Err("choose wants fields that are named, and none that are numbered".into());
        }
        let numbered = self.numbered.as_ref().map_or(0, |numbered| numbered.count);
        let count = self.choose.unwrap_or(self.listed().count() + numbered);
        if !(1..=FIELDS_MAX).contains(&count) {
            return Err(format!("{count} fields: from 1 to {FIELDS_MAX}"));
        }
        distinct("fields", self.listed().map(|(name, ..)| name))?;
        for (field, digits, law) in self.listed() {
            name("a field", field)?;
            law.check(digits).map_err(|error| format!("field {field}: {error}"))?;
        }
        self.numbered.as_ref().map_or(Ok(()), Numbered::check)
    }
}

impl Numbered {
    /// The law of one field.
    fn law(&self, seed: u64, at: u64) -> Result<&WrittenLaw, String> {
        if let Some(law) = &self.law {
            return Ok(law);
        }
        let mut draws = Draws::at(seed, Purpose::Laws, at, 0);
        let mut ticket = draws.below(self.shares().max(1));
        let family = self.families.iter().find(|family| {
            let is_it = ticket < family.share;
            ticket = ticket.saturating_sub(family.share);
            is_it
        });
        let laws = family.map_or(&[][..], |family| family.laws.as_slice());
        let law = laws.get(draws.below(laws.len().max(1) as u64) as usize);
        law.ok_or_else(|| "a family without laws".to_owned())
    }

    fn shares(&self) -> u64 {
        self.families.iter().map(|family| family.share).sum()
    }

    fn check(&self) -> Result<(), String> {
        name("a field", &self.word)?;
        if self.law.is_some() != self.families.is_empty() {
            return Err("numbered fields have a law or families".into());
        }
        let shares = |family: &Family| (1..=1_000_000).contains(&family.share);
        let laws = |family: &Family| !family.laws.is_empty();
        if !self.families.iter().all(|family| shares(family) && laws(family)) {
            return Err("a family has a share from 1 to 1000000 and laws".into());
        }
        let mut laws = self.law.iter().chain(self.families.iter().flat_map(|family| &family.laws));
        laws.try_for_each(|law| law.check(self.digits))
            .map_err(|error| format!("fields {}: {error}", self.word))
    }
}
