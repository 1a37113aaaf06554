//! Functions: what they take and return.

use super::Type::{self, Matrix, Scalar, Text, Vector};

/// A function that can be called.
#[derive(Debug)]
pub(super) struct Callable {
    pub(super) name: &'static str,
    pub(super) arguments: &'static [Type],
    /// How many of those at the end need not be given.
    pub(super) optional: usize,
    /// Whether the last one may come again.
    pub(super) repeats: bool,
    pub(super) returns: Type,
    /// Whether Prometheus calls it experimental.
    pub(super) is_experimental: bool,
}

impl Callable {
    /// Whether it is a word of lengths of time, which are known in any case of letters.
    pub(super) fn is_of_lengths(&self) -> bool {
        matches!(self.name, "step" | "range" | "min_of" | "max_of")
    }
}

const fn takes(name: &'static str, arguments: &'static [Type]) -> Callable {
    let (optional, repeats, is_experimental) = (0, false, false);
    Callable { name, arguments, optional, repeats, returns: Vector, is_experimental }
}

const fn may_take(name: &'static str, arguments: &'static [Type]) -> Callable {
    Callable { optional: 1, ..takes(name, arguments) }
}

const fn tries(name: &'static str, arguments: &'static [Type]) -> Callable {
    Callable { is_experimental: true, ..takes(name, arguments) }
}

/// By name.
static FUNCTIONS: &[Callable] = &[
    takes("abs", &[Vector]),
    takes("absent", &[Vector]),
    takes("absent_over_time", &[Matrix]),
    takes("acos", &[Vector]),
    takes("acosh", &[Vector]),
    takes("asin", &[Vector]),
    takes("asinh", &[Vector]),
    takes("atan", &[Vector]),
    takes("atanh", &[Vector]),
    takes("avg_over_time", &[Matrix]),
    takes("ceil", &[Vector]),
    takes("changes", &[Matrix]),
    takes("clamp", &[Vector, Scalar, Scalar]),
    takes("clamp_max", &[Vector, Scalar]),
    takes("clamp_min", &[Vector, Scalar]),
    takes("cos", &[Vector]),
    takes("cosh", &[Vector]),
    takes("count_over_time", &[Matrix]),
    may_take("day_of_month", &[Vector]),
    may_take("day_of_week", &[Vector]),
    may_take("day_of_year", &[Vector]),
    may_take("days_in_month", &[Vector]),
    takes("deg", &[Vector]),
    takes("delta", &[Matrix]),
    takes("deriv", &[Matrix]),
    tries("double_exponential_smoothing", &[Matrix, Scalar, Scalar]),
    Callable { returns: Scalar, ..tries("end", &[]) },
    takes("exp", &[Vector]),
    takes("first_over_time", &[Matrix]),
    takes("floor", &[Vector]),
    takes("histogram_avg", &[Vector]),
    takes("histogram_count", &[Vector]),
    takes("histogram_fraction", &[Scalar, Scalar, Vector]),
    takes("histogram_quantile", &[Scalar, Vector]),
    Callable { repeats: true, ..tries("histogram_quantiles", &[Vector, Text, Scalar]) },
    takes("histogram_stddev", &[Vector]),
    takes("histogram_stdvar", &[Vector]),
    takes("histogram_sum", &[Vector]),
    may_take("hour", &[Vector]),
    takes("idelta", &[Matrix]),
    takes("increase", &[Matrix]),
    Callable { optional: 1, ..tries("info", &[Vector, Vector]) },
    takes("irate", &[Matrix]),
    Callable { repeats: true, optional: 1, ..takes("label_join", &[Vector, Text, Text, Text]) },
    takes("label_replace", &[Vector, Text, Text, Text, Text]),
    takes("last_over_time", &[Matrix]),
    takes("ln", &[Vector]),
    takes("log10", &[Vector]),
    takes("log2", &[Vector]),
    tries("mad_over_time", &[Matrix]),
    Callable { returns: Scalar, ..tries("max_of", &[Scalar, Scalar]) },
    takes("max_over_time", &[Matrix]),
    Callable { returns: Scalar, ..tries("min_of", &[Scalar, Scalar]) },
    takes("min_over_time", &[Matrix]),
    may_take("minute", &[Vector]),
    may_take("month", &[Vector]),
    Callable { returns: Scalar, ..takes("pi", &[]) },
    takes("predict_linear", &[Matrix, Scalar]),
    takes("present_over_time", &[Matrix]),
    takes("quantile_over_time", &[Scalar, Matrix]),
    takes("rad", &[Vector]),
    Callable { returns: Scalar, ..tries("range", &[]) },
    takes("rate", &[Matrix]),
    takes("resets", &[Matrix]),
    may_take("round", &[Vector, Scalar]),
    Callable { returns: Scalar, ..takes("scalar", &[Vector]) },
    takes("sgn", &[Vector]),
    takes("sin", &[Vector]),
    takes("sinh", &[Vector]),
    takes("sort", &[Vector]),
    Callable { repeats: true, optional: 1, ..tries("sort_by_label", &[Vector, Text]) },
    Callable { repeats: true, optional: 1, ..tries("sort_by_label_desc", &[Vector, Text]) },
    takes("sort_desc", &[Vector]),
    takes("sqrt", &[Vector]),
    Callable { returns: Scalar, ..tries("start", &[]) },
    takes("stddev_over_time", &[Matrix]),
    takes("stdvar_over_time", &[Matrix]),
    Callable { returns: Scalar, ..tries("step", &[]) },
    takes("sum_over_time", &[Matrix]),
    takes("tan", &[Vector]),
    takes("tanh", &[Vector]),
    Callable { returns: Scalar, ..takes("time", &[]) },
    takes("timestamp", &[Vector]),
    tries("ts_of_first_over_time", &[Matrix]),
    tries("ts_of_last_over_time", &[Matrix]),
    tries("ts_of_max_over_time", &[Matrix]),
    tries("ts_of_min_over_time", &[Matrix]),
    takes("vector", &[Scalar]),
    may_take("year", &[Vector]),
];

/// The function of a name.
pub(super) fn find(name: &str) -> Option<&'static Callable> {
    let at = FUNCTIONS.binary_search_by(|function| function.name.cmp(name)).ok()?;
    FUNCTIONS.get(at)
}

/// Aggregations that Prometheus calls experimental.
pub(super) const EXPERIMENTAL_AGGREGATIONS: [&str; 2] = ["limit_ratio", "limitk"];

/// What stands before the parentheses of an aggregation, and the type of its parameter.
static AGGREGATIONS: &[(&str, Option<Type>)] = &[
    ("avg", None),
    ("bottomk", Some(Scalar)),
    ("count", None),
    ("count_values", Some(Text)),
    ("group", None),
    ("limit_ratio", Some(Scalar)),
    ("limitk", Some(Scalar)),
    ("max", None),
    ("min", None),
    ("quantile", Some(Scalar)),
    ("stddev", None),
    ("stdvar", None),
    ("sum", None),
    ("topk", Some(Scalar)),
];

/// The aggregation of a name, in any case of letters.
pub(super) fn find_aggregation(name: &str) -> Option<(&'static str, Option<Type>)> {
    AGGREGATIONS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_is_found() {
        for function in FUNCTIONS {
            assert_eq!(find(function.name).map(|found| found.name), Some(function.name));
        }
        assert!(find("nosuch").is_none() && find_aggregation("SUM").is_some());
    }
}
