//! Identities: the names of a series, spelled out.

use crate::names::{Names, SymbolKind};
use foliot_model::{DEFAULT_FIELD, Label, Labels};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

/// What a series is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Measurement.
    pub measurement: Arc<str>,
    /// Field.
    pub field: Arc<str>,
    /// Labels.
    pub labels: Labels,
    /// Number of the source: series of one source and epoch share it.
    pub source: u32,
}

/// A measurement with one of its fields: `m` for the default field, `m.field` for others.
pub(crate) fn metric(measurement: &str, field: &str) -> String {
    match field == DEFAULT_FIELD {
        true => measurement.to_owned(),
        false => format!("{measurement}.{field}"),
    }
}

/// A series by numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description {
    /// Namespace.
    pub namespace: u32,
    /// Retention class, 0 unless assigned.
    pub class: u32,
    /// Number of the source.
    pub source: u32,
    /// Number of the column: namespace, measurement and field.
    pub column: u32,
}

/// The numbers of the names of a series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// Measurement.
    pub measurement: u32,
    /// Field.
    pub field: u32,
    /// Names and values of the labels, in the order of the names.
    pub labels: Arc<[(u32, u32)]>,
}

impl Numbers {
    pub(crate) fn of(names: &Names, sid: u32) -> Option<Self> {
        let (source, column) = names.series(sid)?;
        let [_, measurement, field] = names.column(column)?;
        Some(Self {
            measurement: names.number(SymbolKind::Measurement, measurement)?,
            field: names.number(SymbolKind::Field, field)?,
            labels: names.numbered.of(source, || Self::of_labels(names, source))?,
        })
    }

    fn of_labels(names: &Names, source: u32) -> Option<Arc<[(u32, u32)]>> {
        let (_, pairs) = names.source(source)?;
        let pairs = pairs.map(|pair| names.pair(pair));
        let mut pairs: Vec<[u32; 3]> = pairs.collect::<Option<_>>()?;
        let label = names.symbols(SymbolKind::LabelName);
        pairs.sort_by_cached_key(|[_, name, _]| label.get(*name));
        let numbers = |[_, name, value]: [u32; 3]| {
            let name = names.number(SymbolKind::LabelName, name)?;
            Some((name, names.number(SymbolKind::LabelValue, value)?))
        };
        pairs.into_iter().map(numbers).collect()
    }
}

/// Spells out series after series, sharing the strings they have in common.
///
/// Names only grow and keep their numbers, so what was learned under one hold of them stays right.
#[derive(Default)]
pub(crate) struct Speller {
    pairs: HashMap<u32, Label, Spread>,
    columns: HashMap<u32, (Arc<str>, Arc<str>), Spread>,
    last_source: Option<(u32, Labels)>,
    /// Whether more series will be spelled, which may share what these are called.
    pub(crate) shares: bool,
    /// Whether they are so few that their labels are remembered for when they are asked for again.
    pub(crate) remembers: bool,
    /// The names of the labels that are spelled; nothing: all.
    only: Option<Vec<u32>>,
}

impl Speller {
    /// One that spells no labels but those with these names.
    pub(crate) fn only(names: &Names, labels: &[Arc<str>]) -> Self {
        let number = |name: &Arc<str>| names.number_of(SymbolKind::LabelName, name.as_bytes());
        Self { only: Some(labels.iter().filter_map(number).collect()), ..Self::default() }
    }

    /// The name of a series of `names`, which are the same ones at every call.
    pub(crate) fn spell(&mut self, names: &Names, sid: u32) -> Option<Identity> {
        let (source, column) = names.series(sid)?;
        let (measurement, field) = match self.columns.get(&column) {
            Some(known) => known.clone(),
            None => {
                let [_, measurement, field] = names.column(column)?;
                let measurement: Arc<str> =
                    names.symbol(SymbolKind::Measurement, measurement).into();
                let field: Arc<str> = names.symbol(SymbolKind::Field, field).into();
                if self.shares {
                    self.columns.insert(column, (measurement.clone(), field.clone()));
                }
                (measurement, field)
            }
        };
        let labels = match &self.last_source {
            Some((last, labels)) if *last == source => labels.clone(),
            _ if self.remembers && self.only.is_none() => {
                names.spelled.of(source, || self.labels(names, source))?
            }
            _ => self.labels(names, source)?,
        };
        self.last_source = Some((source, labels.clone()));
        let source = names.origin.base + source;
        Some(Identity { measurement, field, labels, source })
    }

    fn labels(&mut self, names: &Names, source: u32) -> Option<Labels> {
        let (_, pairs) = names.source(source)?;
        let mut labels = Vec::new();
        for pair in pairs {
            let is_wanted =
                |only: &Vec<u32>| names.pair(pair).is_some_and(|[_, name, _]| only.contains(&name));
            if self.only.as_ref().is_none_or(is_wanted) {
                labels.push(self.label(names, pair)?);
            }
        }
        Some(Labels::new(labels))
    }

    fn label(&mut self, names: &Names, pair: u32) -> Option<Label> {
        if let Some(known) = self.pairs.get(&pair) {
            return Some(known.clone());
        }
        let [_, name, value] = names.pair(pair)?;
        let name = names.symbol(SymbolKind::LabelName, name).into();
        let value = names.symbol(SymbolKind::LabelValue, value).into();
        let label = Label { name, value };
        if self.shares {
            self.pairs.insert(pair, label.clone());
        }
        Some(label)
    }
}

/// Hashes the store's own numbers, which nobody chooses from outside: by one multiplication.
#[derive(Clone, Copy, Default)]
struct Spread(u64);

impl BuildHasher for Spread {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        Self(0)
    }
}

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(u32::from(byte)));
    }

    fn write_u32(&mut self, id: u32) {
        self.0 = (self.0 ^ u64::from(id)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
