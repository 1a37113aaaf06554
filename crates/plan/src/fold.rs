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
    /// Number of values.
    Count,
    /// First in order.
    First,
    /// Last in order.
    Last,
    /// Population standard deviation.
    Deviation,
    /// The value at position n/2 (counted from 0) of the sorted ones: the upper median.
    UpperMedian,
    /// Πx.
    Product,
    /// Last minus first.
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
