//! Row algebra: tables of rows. Joined to the series algebra by one bridge.

use crate::Series;

/// A table. SQL and InfluxQL selections widen this; today it only carries series across the bridge.
#[derive(Clone, Debug)]
pub enum Rows {
    /// Series seen as rows.
    Bridge(Bridge),
}

/// The one way from series to rows: a row per series and instant, labels and fields as columns.
#[derive(Clone, Debug)]
pub struct Bridge {
    /// The series.
    pub input: Series,
}
