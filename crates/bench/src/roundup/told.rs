//! What a report has of a claim: valid measurements, and why there are no others.

use std::collections::BTreeMap;

use crate::report::Measurement;

/// What stands where no valid measurement does.
pub(super) const NOT_MEASURED: &str = "not measured";

/// The server whose figures are held against the others'.
pub(super) const OWN: &str = "foliot";

/// What a report has of a claim.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) found: Vec<Found>,
    /// Why there is no valid measurement, by server; under no name, why there is none at all.
    pub(super) open: BTreeMap<String, String>,
}

/// A valid measurement of a server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    /// Without the word for durability.
    pub(crate) server: String,
    /// The word for durability; no ratio mixes two.
    pub(crate) ack: String,
    pub(crate) value: Measurement,
}

impl Told {
    /// Of a claim that the report has nothing of.
    pub(super) fn nothing(why: String) -> Told {
        Told { found: Vec::new(), open: BTreeMap::from([(String::new(), why)]) }
    }

    /// Why nothing valid of a server is there.
    pub(crate) fn why_not(&self, server: &str) -> String {
        let why = self.open.get("").or_else(|| self.open.get(server));
        why.cloned().unwrap_or_else(|| format!("no row of {server}"))
    }
}
