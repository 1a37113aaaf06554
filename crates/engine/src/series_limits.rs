//! Series limits: how many series a metric may have before new ones are refused.
//!
//! A limit is a fact of the catalog. It holds for series that are new to the registry from the
//! moment that it is set; those that are there stay and take samples, whatever their number. A
//! rename makes no series that was not there before, and is not limited.

use crate::catalog::Catalog;
use crate::config::Commit;
use crate::error::Error;
use crate::ingest::Ingest;
use crate::store::Engine;
use foliot_model::{DEFAULT_FIELD, NamespaceId};
use std::collections::HashMap;

/// Facts: the most series (u64), by the number of the namespace and the metric, `3/cpu.usage`.
const KIND: &str = "series limit";

/// How many series a metric may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesLimit {
    /// Measurement and field with a point between, or the measurement alone, whose default field
    /// needs no name.
    pub metric: String,
    /// The most series of each field that the name means.
    pub series_max: u64,
}

/// The limits of one namespace, by metric.
#[derive(Debug, Default)]
pub(crate) struct Limited(HashMap<Vec<u8>, u64>);

impl Limited {
    /// How many series a field of a measurement may have, where that is limited.
    pub(crate) fn series_max(&self, measurement: &[u8], field: &[u8]) -> Option<u64> {
        match field == DEFAULT_FIELD.as_bytes() {
            true => self.0.get(measurement).copied(),
            false => self.0.get(&[measurement, b".", field].concat()).copied(),
        }
    }
}

/// The limits of all namespaces.
#[derive(Default)]
pub(crate) struct SeriesLimits(HashMap<NamespaceId, Limited>);

impl SeriesLimits {
    pub(crate) fn load(catalog: &Catalog) -> Self {
        let mut all = Self::default();
        for (key, bytes) in catalog.list(KIND) {
            let Some((namespace, metric)) = key.split_once('/') else { continue };
            if let (Ok(namespace), Some(series_max)) = (namespace.parse(), decode(&bytes)) {
                let limited = all.0.entry(namespace).or_default();
                limited.0.insert(metric.as_bytes().to_vec(), series_max);
            }
        }
        all
    }

    /// Those of one namespace, if it has any.
    pub(crate) fn of(&self, namespace: NamespaceId) -> Option<&Limited> {
        self.0.get(&namespace)
    }
}

fn decode(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.first_chunk()?))
}

fn key(namespace: NamespaceId, metric: &str) -> String {
    format!("{namespace}/{metric}")
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
    /// The series limits of a namespace, by metric.
    pub fn series_limits(&self, namespace: NamespaceId) -> Vec<SeriesLimit> {
        let prefix = key(namespace, "");
        let facts = self.store().ingest.catalog().list_from(KIND, &prefix);
        let named = |(key, bytes): &(String, Vec<u8>)| {
            let metric = key.strip_prefix(&prefix)?.to_owned();
            Some(SeriesLimit { metric, series_max: decode(bytes)? })
        };
        facts.iter().filter_map(named).collect()
    }

    /// Sets a series limit, in place of the one that the metric has. It holds when this returns.
    ///
    /// # Errors
    /// When the wal refuses.
    pub fn limit_series(
        &self,
        namespace: NamespaceId,
        metric: &str,
        series_max: u64,
    ) -> Result<Commit, Error> {
        self.change_series_limit(namespace, metric, Some(&series_max.to_le_bytes()))
    }

    /// Takes the series limit of a metric away, if it has one.
    ///
    /// # Errors
    /// When the wal refuses.
    pub fn unlimit_series(&self, namespace: NamespaceId, metric: &str) -> Result<Commit, Error> {
        self.change_series_limit(namespace, metric, None)
    }

    /// A metric that is renamed has its limit under its new name, unless that has one. Tells what
    /// to wait for, if there was a limit.
    ///
    /// # Errors
    /// When the wal refuses.
    pub fn rename_series_limit(
        &self,
        namespace: NamespaceId,
        old: &str,
        new: &str,
    ) -> Result<Option<Commit>, Error> {
        let limits = self.series_limits(namespace);
        let of = |metric: &str| limits.iter().find(|limit| limit.metric == metric);
        let Some(limit) = of(old) else { return Ok(None) };
        if of(new).is_none() {
            self.limit_series(namespace, new, limit.series_max)?;
        }
        self.unlimit_series(namespace, old).map(Some)
    }

    fn change_series_limit(
        &self,
        namespace: NamespaceId,
        metric: &str,
        bytes: Option<&[u8]>,
    ) -> Result<Commit, Error> {
        let ingest = &self.store().ingest;
        let commit = {
            let _one_at_a_time = ingest.settings();
            let commit = ingest.change_catalog(KIND, &key(namespace, metric), bytes)?;
            ingest.reload_series_limits();
            commit
        };
        // Who registers series by the limits before is done when nobody is behind the gate.
        drop(ingest.hold());
        Ok(commit)
    }

    /// Whether a field of a measurement has series that were written since epochs in memory began.
    pub fn has_new_series(&self, namespace: NamespaceId, measurement: &str, field: &str) -> bool {
        let epochs = self.store().ingest.epochs();
        epochs.in_memory().any(|registry| registry.series_in(namespace, measurement, field) > 0)
    }

    /// How many series a metric has in the registry, against which its limit holds: those that were
    /// written since epochs in memory began. Of several fields that the name may mean, those of the
    /// fullest.
    pub fn metric_series(&self, namespace: NamespaceId, metric: &str) -> u64 {
        let registry = self.store().ingest.registry();
        let of_fields = metric.match_indices('.').filter_map(|(dot, _)| {
            let (measurement, field) = (metric.get(..dot)?, metric.get(dot + 1..)?);
            // The default field is not named.
            let is_named = field != DEFAULT_FIELD;
            is_named.then(|| registry.series_in(namespace, measurement, field))
        });
        of_fields.fold(registry.series_in(namespace, metric, DEFAULT_FIELD), u64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_every_field_that_its_name_may_mean() {
        let limited = Limited(HashMap::from([(b"a.b.c".to_vec(), 7)]));
        for (measurement, field) in [("a.b.c", "value"), ("a.b", "c"), ("a", "b.c")] {
            assert_eq!(limited.series_max(measurement.as_bytes(), field.as_bytes()), Some(7));
        }
        assert_eq!(limited.series_max(b"a.b", b"value"), None);
        assert_eq!(limited.series_max(b"a.b.c", b"d"), None);
    }
}
