//! Tables of names: what measurements, series and labels there are.

use super::Calculate;
use foliot_model::{NamespaceId, Test};
use std::sync::Arc;

/// Sources of some measurements.
#[derive(Clone, Debug)]
pub struct SourceTest {
    /// Where to look.
    pub namespace: NamespaceId,
    /// Which measurements.
    pub measurements: Test,
    /// Which of their sources: a condition over the slots below.
    pub condition: Option<Calculate>,
    /// What the slots of the condition hold.
    pub slots: Vec<SourceName>,
}

/// Something a source is called. What it does not have is the empty text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceName {
    /// The measurement.
    Measurement,
    /// The value of this label.
    Label(Arc<str>),
}

/// A table of names, in byte order.
#[derive(Clone, Debug)]
pub struct NameTable {
    /// Of which sources: those that one of these wants.
    pub of: Vec<SourceTest>,
    /// What is listed.
    pub what: Names,
    /// Whether names are counted instead.
    pub is_count: bool,
    /// The name of the table; nothing: there is one table per measurement, called as that is.
    pub title: Option<Arc<str>>,
    /// Labels by which tables are told apart too; what a source does not have is the empty text.
    pub group_by: Arc<[Arc<str>]>,
    /// Names of the columns.
    pub columns: Arc<[Arc<str>]>,
    /// How many rows of each table are passed over.
    pub offset: u64,
    /// How many are wanted at most.
    pub limit: Option<u64>,
}

/// What is listed.
#[derive(Clone, Debug)]
pub enum Names {
    /// Measurements that have a source which the condition holds of.
    Measurements,
    /// Measurements that the condition holds of as a whole: they have the label that a comparison
    /// names, and some source with such a value; of a negated comparison, no source with it.
    MeasurementsAsWhole,
    /// Measurements with the labels of a source, in one text as line protocol spells it.
    Series,
    /// Names of labels that pass.
    LabelNames(Test),
    /// Names of labels that pass, and their values.
    LabelValues(Test),
}
