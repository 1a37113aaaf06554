//! Tables of names: what measurements, series, fields and labels there are.

use super::Calculate;
use foliot_model::{NamespaceId, Test};
use std::sync::Arc;

/// A table of names.
#[derive(Clone, Debug)]
pub struct NameTable {
    /// Where to look, in this order.
    pub namespace: NamespaceId,
    /// What is listed.
    pub what: Names,
    /// Of which measurements.
    pub measurements: Test,
    /// Of which sources: a condition over the slots below.
    pub condition: Option<Calculate>,
    /// The labels that the slots of the condition hold; an empty name is the measurement. A source
    /// without the label has the empty text.
    pub condition_slots: Vec<Arc<str>>,
    /// How many rows of each table are passed over, and how many are wanted at most.
    pub rows: (u64, Option<u64>),
}

/// What is listed.
#[derive(Clone, Debug)]
pub enum Names {
    /// Measurements: one table, column `name`.
    Measurements,
    /// Series: one table, column `key`, spelled as line protocol does.
    Series,
    /// Fields and their kinds: a table per measurement, columns `fieldKey` and `fieldType`.
    Fields,
    /// Label names: a table per measurement, column `tagKey`.
    LabelNames(Test),
    /// Values of the labels whose names pass: a table per measurement, columns `key` and `value`.
    LabelValues(Test),
}
