//! Listings: names of things stored.

use foliot_model::Selector;

/// What is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Measurements with one of their fields: `m` for the default field, `m.field` for others.
    Metrics,
    /// Measurements.
    Measurements,
    /// Fields of the measurements.
    Fields,
    /// Label names.
    LabelNames,
    /// Values of one label, or of all when no name is given.
    LabelValues(Option<String>),
}

/// A listing, in byte order.
#[derive(Clone, Debug)]
pub struct Listing {
    /// What is listed.
    pub what: What,
    /// Of which series; a selector without names means all of the namespace.
    pub selector: Selector,
    /// Only names that begin with this.
    pub prefix: String,
    /// How many names to skip.
    pub offset: usize,
    /// At most so many names.
    pub limit: usize,
}
