//! Series limits: how many series some fields of measurements may have before new ones are refused.
//!
//! A limit has a name, by which a door knows what is limited. It is a fact of the catalog. It holds
//! for series that are new to the registry from the moment that it is set; those that are there
//! stay and take samples, whatever their number.

use crate::catalog::Catalog;
use crate::config::Commit;
use crate::error::Error;
use crate::ingest::Ingest;
use crate::store::Engine;
use foliot_codec::varint::{get_u64, put_u64};
use foliot_model::NamespaceId;
use std::collections::HashMap;

/// Facts: the most series (u64), then measurement and field of each column, as a length varint and
/// so many bytes; by the number of the namespace and the name, `3/cpu.usage`.
const KIND: &str = "series limit";

/// How many series there may be of each of some fields of measurements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesLimit {
    /// What the door calls them.
    pub name: String,
    /// Measurements and fields.
    pub columns: Vec<(String, String)>,
    /// The most series of each of them.
    pub series_max: u64,
}

impl SeriesLimit {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = self.series_max.to_le_bytes().to_vec();
        for text in self.columns.iter().flat_map(|(measurement, field)| [measurement, field]) {
            put_u64(&mut bytes, text.len() as u64);
            bytes.extend_from_slice(text.as_bytes());
        }
        bytes
    }

    fn decode(name: &str, bytes: &[u8]) -> Option<Self> {
        let (series_max, mut rest) = bytes.split_first_chunk()?;
        let text = |rest: &mut &[u8]| {
            let len = usize::try_from(get_u64(rest).ok()?).ok()?;
            let (text, after) = rest.split_at_checked(len)?;
            *rest = after;
            String::from_utf8(text.to_vec()).ok()
        };
        let mut columns = Vec::new();
        while !rest.is_empty() {
            columns.push((text(&mut rest)?, text(&mut rest)?));
        }
        let series_max = u64::from_le_bytes(*series_max);
        Some(Self { name: name.to_owned(), columns, series_max })
    }
}

/// By measurement, then by field.
pub(crate) type Limited = HashMap<Vec<u8>, HashMap<Vec<u8>, u64>>;

/// The limits of all namespaces.
#[derive(Default)]
pub(crate) struct SeriesLimits(HashMap<NamespaceId, Limited>);

impl SeriesLimits {
    pub(crate) fn load(catalog: &Catalog) -> Self {
        let mut all = Self::default();
        for (key, bytes) in catalog.list(KIND) {
            let Some((namespace, name)) = key.split_once('/') else { continue };
            let limit = SeriesLimit::decode(name, &bytes);
            let (Ok(namespace), Some(limit)) = (namespace.parse(), limit) else { continue };
            let limited = all.0.entry(namespace).or_default();
            for (measurement, field) in limit.columns {
                let fields = limited.entry(measurement.into_bytes()).or_default();
                let series_max = fields.entry(field.into_bytes()).or_insert(u64::MAX);
                *series_max = limit.series_max.min(*series_max);
            }
        }
        all
    }

    /// Those of one namespace, if it has any.
    pub(crate) fn of(&self, namespace: NamespaceId) -> Option<&Limited> {
        self.0.get(&namespace)
    }
}

fn key(namespace: NamespaceId, name: &str) -> String {
    format!("{namespace}/{name}")
}

impl Ingest {
    /// Forgets the limits of a namespace.
    pub(crate) fn forget_series_limits(&self, namespace: NamespaceId) -> Result<(), Error> {
        for (key, _) in self.catalog().list_from(KIND, &key(namespace, "")) {
            self.change_catalog(KIND, &key, None)?;
        }
        self.reload_series_limits();
        Ok(())
    }
}

impl Engine {
    /// The series limits of a namespace, by name.
    pub fn series_limits(&self, namespace: NamespaceId) -> Vec<SeriesLimit> {
        let prefix = key(namespace, "");
        let facts = self.store().ingest.catalog().list_from(KIND, &prefix);
        let named = |(key, bytes): &(String, Vec<u8>)| {
            SeriesLimit::decode(key.strip_prefix(&prefix)?, bytes)
        };
        facts.iter().filter_map(named).collect()
    }

    /// Sets a series limit, in place of the one of this name. It holds when this returns.
    ///
    /// # Errors
    /// When the wal refuses.
    pub fn limit_series(
        &self,
        namespace: NamespaceId,
        limit: &SeriesLimit,
    ) -> Result<Commit, Error> {
        self.change_series_limit(namespace, &limit.name, Some(&limit.encode()))
    }

    /// Takes the series limit of a name away, if there is one.
    ///
    /// # Errors
    /// When the wal refuses.
    pub fn unlimit_series(&self, namespace: NamespaceId, name: &str) -> Result<Commit, Error> {
        self.change_series_limit(namespace, name, None)
    }

    fn change_series_limit(
        &self,
        namespace: NamespaceId,
        name: &str,
        bytes: Option<&[u8]>,
    ) -> Result<Commit, Error> {
        let ingest = &self.store().ingest;
        let _one_at_a_time = ingest.settings();
        let commit = ingest.change_catalog(KIND, &key(namespace, name), bytes)?;
        ingest.reload_series_limits();
        // Who registers series by the limits before is done when nobody is behind the gate.
        drop(ingest.hold());
        Ok(commit)
    }

    /// How many series a field of a measurement has in the registry, against which its limit holds:
    /// those that were written since epochs in memory began.
    pub fn series_in(&self, namespace: NamespaceId, measurement: &str, field: &str) -> u64 {
        self.store().ingest.registry().series_in(namespace, measurement, field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_kept_as_they_are_and_anything_else_is_none() {
        let limit = SeriesLimit {
            name: "a/b".to_owned(),
            columns: vec![("a".to_owned(), "b".to_owned()), (String::new(), "é".to_owned())],
            series_max: u64::MAX,
        };
        let bytes = limit.encode();
        assert_eq!(SeriesLimit::decode("a/b", &bytes), Some(limit));
        for cut in (0..bytes.len()).filter(|cut| ![8, 12].contains(cut)) {
            assert_eq!(SeriesLimit::decode("a/b", &bytes[..cut]), None, "{cut}");
        }
    }
}
