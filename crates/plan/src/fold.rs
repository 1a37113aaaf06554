//! Folds: many values into one, over a window of one series or across series at one instant.

/// How a quantile lies between two values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quantile {
    /// Position `q * (n + 1)`, linear between neighbours, clamped to the ends (Apache Commons Math
    /// "LEGACY"; Hyndman and Fan, "Sample Quantiles in Statistical Packages", 1996, type 6).
    Legacy,
    /// Nearest even order statistic at `n * q` (type 3).
    R3,
    /// Position `1 + (n - 1) * q`, linear (type 7; PromQL, NumPy, Excel).
    R7,
}

/// A function from many values to one.
///
/// Floats that are NaN are left out, unless said otherwise below, and where nothing is left the
/// result is NaN (no value, if that is what the first of them was). Integers exist only in an
/// [`Aggregate`](crate::Aggregate) that keeps them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fold {
    /// Σx.
    Sum,
    /// Smallest.
    Min,
    /// Largest.
    Max,
    /// Σx / n.
    Mean,
    /// Number of values; 0 where all are NaN.
    Count,
    /// First in order, NaN or not.
    First,
    /// Last in order, NaN or not.
    Last,
    /// Population standard deviation; 0 of one value.
    Deviation,
    /// The value at position n/2 (counted from 0) of the sorted ones: the upper median.
    UpperMedian,
    /// Πx; one NaN makes it NaN.
    Product,
    /// Last minus first that is not NaN; 0 of one value.
    Difference,
    /// Σx².
    SquareSum,
    /// The `q`-quantile, 0 to 1.
    Quantile {
        /// Which quantile, 0 to 1.
        q: f64,
        /// How to interpolate.
        method: Quantile,
    },
}
