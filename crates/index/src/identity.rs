//! Identities: the names of a series, spelled out.

use crate::names::{Names, SymbolKind};
use foliot_model::{Label, Labels};
use std::collections::HashMap;
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

/// Spells out series after series, sharing the strings they have in common.
pub(crate) struct Speller<'a> {
    names: &'a Names,
    strings: HashMap<(u8, u32), Arc<str>>,
    columns: HashMap<u32, (Arc<str>, Arc<str>)>,
    last_source: Option<(u32, Labels)>,
}

impl<'a> Speller<'a> {
    pub(crate) fn new(names: &'a Names) -> Self {
        Self { names, strings: HashMap::new(), columns: HashMap::new(), last_source: None }
    }

    fn string(&mut self, kind: SymbolKind, id: u32) -> Arc<str> {
        let names = self.names;
        let entry = self.strings.entry((kind as u8, id));
        entry.or_insert_with(|| names.symbol(kind, id).into()).clone()
    }

    pub(crate) fn spell(&mut self, sid: u32) -> Option<Identity> {
        let (source, column) = self.names.series(sid)?;
        let (measurement, field) = match self.columns.get(&column) {
            Some(known) => known.clone(),
            None => {
                let [_, measurement, field] = self.names.column(column)?;
                let measurement = self.string(SymbolKind::Measurement, measurement);
                let field = self.string(SymbolKind::Field, field);
                self.columns.insert(column, (measurement.clone(), field.clone()));
                (measurement, field)
            }
        };
        let labels = match &self.last_source {
            Some((last, labels)) if *last == source => labels.clone(),
            _ => self.labels(source)?,
        };
        self.last_source = Some((source, labels.clone()));
        let source = self.names.origin.base + source;
        Some(Identity { measurement, field, labels, source })
    }

    fn labels(&mut self, source: u32) -> Option<Labels> {
        let (_, pairs) = self.names.source(source)?;
        let mut labels = Vec::new();
        for pair in pairs {
            let [_, name, value] = self.names.pair(pair)?;
            let name = self.string(SymbolKind::LabelName, name);
            let value = self.string(SymbolKind::LabelValue, value);
            labels.push(Label { name, value });
        }
        Some(Labels::new(labels))
    }
}
