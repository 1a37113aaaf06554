//! Keys: what tells a series from all others, whatever its numbers are.
//!
//! A series that goes on in a new epoch gets a new id. Readers that look at several epochs know it
//! again by its key, 128 bits of a keyed hash over namespace, labels, measurement and field: among
//! a billion series two have the same one with a probability of 1 in 10^20.

use crate::names::{Names, SymbolKind};
use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128_with_seed};

/// Appends bytes so that no two lists of them look alike.
fn put(out: &mut Vec<u8>, bytes: &str) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes.as_bytes());
}

/// The key of the series of a source in a column.
pub(crate) fn of_series(secret: u64, source_hash: u128, measurement: &str, field: &str) -> u128 {
    let mut bytes = source_hash.to_le_bytes().to_vec();
    put(&mut bytes, measurement);
    put(&mut bytes, field);
    xxh3_128_with_seed(&bytes, secret)
}

impl Names {
    /// The hash of a source: of its namespace and its labels by name.
    pub(crate) fn source_hash(&self, source: u32, secret: u64) -> u128 {
        let Some((namespace, pairs)) = self.source(source) else { return 0 };
        let label = |pair| {
            let [_, name, value] = self.pair(pair)?;
            let name = self.symbol(SymbolKind::LabelName, name);
            Some((name, self.symbol(SymbolKind::LabelValue, value)))
        };
        let mut labels: Vec<_> = pairs.filter_map(label).collect();
        labels.sort_unstable();
        let mut bytes = namespace.to_le_bytes().to_vec();
        for (name, value) in labels {
            put(&mut bytes, name);
            put(&mut bytes, value);
        }
        // Another seed than that of series, so that neither is taken for the other.
        xxh3_128_with_seed(&bytes, xxh3_64_with_seed(b"source", secret))
    }

    /// The key of a series.
    pub(crate) fn key(&self, sid: u32, secret: u64) -> Option<u128> {
        let (source, column) = self.series(sid)?;
        let [_, measurement, field] = self.column(column)?;
        let measurement = self.symbol(SymbolKind::Measurement, measurement);
        let field = self.symbol(SymbolKind::Field, field);
        Some(of_series(secret, self.source_hash(source, secret), measurement, field))
    }
}
