//! Figures of histograms that are counts between bounds.

use crate::{Grouping, Series};
use foliot_model::TimeRange;

/// Adds up the histograms of each group, where their times or windows are the same, and makes
/// series of numbers of the sums: one for each percentile that is wanted, then one for each count,
/// in the order in which buckets appear. Samples that are no such histograms do not take part.
///
/// Groups come in the order of [`Aggregate`](crate::Aggregate), and their heads are as there; each
/// says which [`Figure`](foliot_model::Figure) it is.
#[derive(Clone, Debug)]
pub struct Counted {
    /// Whose histograms.
    pub input: Series,
    /// Which series come together.
    pub grouping: Grouping,
    /// How wide windows are, which begin at whole multiples of it; 0: times stay as they are.
    pub width_ns: i64,
    /// The times that are answered.
    pub range: TimeRange,
    /// The percentiles, as shares of a hundred, in the order of the answer.
    pub percentiles: Vec<f32>,
    /// Whether all counts are answered.
    pub has_counts: bool,
}
