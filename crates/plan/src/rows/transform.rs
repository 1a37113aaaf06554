//! Functions of the successive rows of one head.

/// A function of successive rows. Rows without a value are passed over.
#[derive(Clone, Debug, PartialEq)]
pub enum Transform {
    /// Difference quotient per this many nanoseconds, as a float.
    Derivative {
        /// Unit of time.
        unit_ns: i64,
        /// Whether negative results are left out.
        non_negative: bool,
    },
    /// Difference of the value and the one before.
    Difference {
        /// Whether negative results are left out.
        non_negative: bool,
    },
    /// Time since the row before, in whole units.
    Elapsed {
        /// Unit of time, in nanoseconds.
        unit_ns: i64,
    },
    /// Sum of all values so far.
    CumulativeSum,
    /// Mean of the last `count` values.
    MovingAverage {
        /// How many.
        count: u64,
    },
    /// An indicator of the technical analysis of prices.
    Smooth(Smooth),
}

/// How an average is begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmup {
    /// With the first value.
    Exponential,
    /// With the mean of the first `period` values.
    Simple,
    /// Not at all: changes are summed instead of averaged.
    None,
}

/// Indicators of the technical analysis of prices, as TA-Lib and the `gota` package define them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Smooth {
    /// Exponential moving average.
    Exponential(Period),
    /// Double exponential moving average.
    DoubleExponential(Period),
    /// Triple exponential moving average.
    TripleExponential(Period),
    /// Rate of change of the triple smoothed value, in percent.
    TripleDerivative(Period),
    /// Relative strength index.
    RelativeStrength(Period),
    /// Kaufman's efficiency ratio.
    Efficiency(Period),
    /// Kaufman's adaptive moving average.
    Adaptive(Period),
    /// Chande's momentum oscillator.
    Momentum(Period),
}

/// The parameters of an indicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// Number of values it looks at.
    pub count: u64,
    /// How many values pass before it yields something; nothing: as many as it needs.
    pub hold: Option<u64>,
    /// How it is begun.
    pub warmup: Warmup,
}

/// C. C. Holt, "Forecasting seasonals and trends by exponentially weighted moving averages", 1957;
/// P. R. Winters, "Forecasting sales by exponentially weighted moving averages", 1960.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// Number of values to forecast.
    pub count: u64,
    /// Number of values in a season; 0 or 1: there are no seasons.
    pub season: u64,
    /// Whether the model's values for the past are wanted too.
    pub with_fit: bool,
    /// Distance of the values, in nanoseconds.
    pub width_ns: i64,
}
