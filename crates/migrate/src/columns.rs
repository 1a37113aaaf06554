//! Files of columns: what their columns mean, and what their rows become.
//!
//! A format tells what each column holds, Parquet by its schema and CSV by its header and first
//! rows. [`Shape`] understands both in the same way, [`push_line`] makes a line of a row, and
//! exports share what columns labels have.

mod labels;
mod row;
mod shape;

pub(crate) use labels::{label_names, labels_at};
pub(crate) use row::push_line;
#[cfg(test)]
pub(crate) use shape::Origin;
pub use shape::Told;
pub(crate) use shape::{Holds, Role, Shape, Unit};

/// The column of times.
pub(crate) const TIME: &str = "time";
/// The column of measurements.
pub(crate) const MEASUREMENT: &str = "measurement";
/// The column of the metric, which an answer in OpenTSDB's words has in place of a measurement.
const METRIC: &str = "metric";
/// The column that names the field of a row's value.
pub(crate) const FIELD: &str = "field";
