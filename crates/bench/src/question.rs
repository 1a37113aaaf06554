//! Questions and answers without a query language: what is asked, and what must come back. The
//! dialects translate, the oracle answers from the generator, `compare` judges.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Relative difference below which two numbers are the same: what rounding to double and back
/// costs over a long sum.
const TOLERANCE: f64 = 1e-9;

/// Below this size a difference counts as if the number had it: no value is generated with more
/// than five digits after the point, so what is left of a zero by rounding hides nothing.
const SMALLEST: f64 = 1e-3;

/// What to ask. Times are milliseconds since 1970, the window is `from_ms` <= time < `to_ms`.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) table: usize,
    /// Fields of the table.
    pub(crate) fields: Vec<usize>,
    pub(crate) sources: Sources,
    pub(crate) from_ms: i64,
    pub(crate) to_ms: i64,
    pub(crate) ask: Ask,
}

/// Whose data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sources {
    All,
    These(Vec<u64>),
    /// Those whose label has this value.
    Labelled(&'static str, &'static str),
}

/// The shape of the answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ask {
    /// Every sample, per series; only those above a bound when one is given.
    Samples { descending: bool, above: Option<i64> },
    /// One number per series (or for all series together) and bucket. Buckets are aligned to
    /// 1970, empty ones absent; without `bucket_ms` the window is the only bucket.
    Aggregate { function: Function, per_series: bool, bucket_ms: Option<i64> },
    /// One number per series of its samples above a bound.
    AggregateAbove { function: Function, above: i64 },
    /// The newest sample of each series, without a window.
    Last,
    /// The newest `count` buckets of all series together, newest first.
    Newest { function: Function, bucket_ms: i64, count: usize },
    /// What only TSBS asks about its trucks.
    Trucks(Trucks),
}

/// Questions of TSBS iot that no other ask covers. Answers are keyed by the values of labels, with
/// strokes between several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Trucks {
    /// The newest sample of each truck, without a window, where it is below this.
    LastBelow(f64),
    /// The same where it is at least this share of the number in a label.
    LastShare(f64, &'static str),
    /// The mean per combination of labels, of rows in which the field `moving`, if any, is above 1.
    Mean { by: &'static [&'static str], moving: Option<usize> },
    /// Of the means per ten minutes and combination of labels, those that pass.
    Bins(Bins),
}

/// Which bins pass, and what is told of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bins {
    pub(crate) by: &'static [&'static str],
    /// Whether means above 1 pass, or means below.
    pub(crate) above: bool,
    pub(crate) told: Told,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// How many pass, where they are at least so many.
    Count { at_least: u64 },
    /// How many pass per day of 1970's calendar.
    PerDay,
    /// How many pass, and under [`BREAKS`] how often one does not follow the one before at once.
    Breaks,
}

/// Length of a minute.
pub(crate) const MINUTE_MS: i64 = 60_000;

/// Length of a bin.
pub(crate) const BIN_MS: i64 = 600_000;

/// Length of a day.
pub(crate) const DAY_MS: i64 = 86_400_000;

/// The field under which breaks between bins are told.
pub(crate) const BREAKS: usize = 1000;

impl Ask {
    /// Whether the question is about the newest samples, whenever they are.
    pub(crate) fn is_last(&self) -> bool {
        let trucks = matches!(self, Ask::Trucks(Trucks::LastBelow(_) | Trucks::LastShare(..)));
        trucks || *self == Ask::Last
    }

    /// Whether samples are counted.
    fn counts(&self) -> bool {
        matches!(self, Ask::Aggregate { function: Function::Count, .. })
    }

    /// Whether the times in the answer mean nothing: servers label a bucket that is the whole
    /// window differently.
    fn is_timeless(&self) -> bool {
        match self {
            Ask::Aggregate { bucket_ms, .. } => bucket_ms.is_none(),
            Ask::AggregateAbove { .. } | Ask::Trucks(Trucks::Mean { .. }) => true,
            Ask::Trucks(Trucks::Bins(bins)) => bins.told != Told::PerDay,
            _ => false,
        }
    }
}

/// What becomes of the samples of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Function {
    Count,
    Sum,
    Min,
    Max,
    Mean,
}

impl Function {
    pub(crate) const ALL: [Function; 5] =
        [Function::Count, Function::Sum, Function::Min, Function::Max, Function::Mean];

    /// Its name in InfluxQL; the other dialects derive theirs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Function::Count => "count",
            Function::Sum => "sum",
            Function::Min => "min",
            Function::Max => "max",
            Function::Mean => "mean",
        }
    }
}

/// The value of the source label (empty for all series together) and the field.
pub(crate) type Key = (String, usize);

/// What came back: per key, times and values in the order of arrival.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Answer {
    pub(crate) rows: BTreeMap<Key, Vec<(i64, f64)>>,
}

impl Answer {
    pub(crate) fn push(&mut self, key: Key, time_ms: i64, value: f64) {
        self.rows.entry(key).or_default().push((time_ms, value));
    }

    /// Adds up what came in several parts for all series together, where a language can only ask
    /// measurement by measurement.
    pub(crate) fn fold(&mut self, function: Function) {
        for rows in self.rows.values_mut() {
            rows.sort_by_key(|row| row.0);
            rows.dedup_by(|part, sum| {
                let same = part.0 == sum.0;
                if same {
                    sum.1 = match function {
                        Function::Min => sum.1.min(part.1),
                        Function::Max => sum.1.max(part.1),
                        _ => sum.1 + part.1,
                    };
                }
                same
            });
        }
    }

    /// Number of values.
    pub(crate) fn len(&self) -> usize {
        self.rows.values().map(Vec::len).sum()
    }
}

/// Judges an answer of a server that rounds so much; the error names the first difference.
pub(crate) fn compare(
    expected: &Answer,
    got: &Answer,
    ask: &Ask,
    rounding: f64,
) -> Result<(), String> {
    let timeless = ask.is_timeless();
    // What is counted was not stored, and nothing of it is rounded.
    let rounding = if ask.counts() { 0.0 } else { rounding };
    for (key, rows) in &expected.rows {
        let name = || format!("series {:?}, field {}", key.0, key.1);
        let answered = got.rows.get(key).map(Vec::as_slice).unwrap_or_default();
        if answered.len() != rows.len() {
            let (expected, got) = (rows.len(), answered.len());
            return Err(format!("{}: {expected} values expected, {got} came", name()));
        }
        for (wanted, came) in rows.iter().zip(answered) {
            let same_time = timeless || wanted.0 == came.0;
            if !same_time || !is_close(wanted.1, came.1, rounding) {
                return Err(format!("{}: {wanted:?} expected, {came:?} came", name()));
            }
        }
    }
    let extra =
        got.rows.iter().find(|(key, rows)| !rows.is_empty() && !expected.rows.contains_key(*key));
    match extra {
        Some((key, rows)) => Err(format!("nothing expected for {key:?}, {} came", rows.len())),
        None => Ok(()),
    }
}

/// Whether two numbers are equal up to rounding: that of calculations, and that of a server.
pub(crate) fn is_close(expected: f64, got: f64, rounding: f64) -> bool {
    let size = expected.abs().max(got.abs());
    (expected - got).abs() <= (TOLERANCE * size.max(SMALLEST)).max(rounding * size.max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(rows: &[(i64, f64)]) -> Answer {
        let mut answer = Answer::default();
        rows.iter().for_each(|(time, value)| answer.push(("a".into(), 0), *time, *value));
        answer
    }

    #[test]
    fn what_a_server_rounds_is_right_up_to_that() {
        let (right, ask) =
            (answer(&[(1, 154.95), (2, 0.0)]), Ask::Samples { descending: false, above: None });
        let rounded = answer(&[(1, 154.950_003_2), (2, 1.1e-12)]);
        assert_eq!(compare(&right, &rounded, &ask, 1e-7), Ok(()));
        assert!(compare(&right, &rounded, &ask, 0.0).is_err());
        for wrong in [[(1, 154.951), (2, 0.0)], [(1, 154.95), (2, 0.001)]] {
            assert!(compare(&right, &answer(&wrong), &ask, 1e-7).is_err(), "{wrong:?}");
        }
        // One of many million that were counted is missing.
        let count = Ask::Aggregate { function: Function::Count, per_series: true, bucket_ms: None };
        let (all, fewer) = (answer(&[(0, 3e7)]), answer(&[(0, 3e7 - 1.0)]));
        assert!(compare(&all, &fewer, &count, 1e-7).is_err());
    }

    #[test]
    fn every_kind_of_wrong_answer_is_caught() {
        let right = answer(&[(1, 5.0), (2, 6.0), (3, 7.0)]);
        let ask = Ask::Samples { descending: false, above: None };
        assert_eq!(compare(&right, &right, &ask, 0.0), Ok(()));
        for wrong in [
            &[(1, 5.0), (3, 7.0)][..],
            &[(1, 5.0), (2, 6.0), (3, 7.000001)],
            &[(2, 6.0), (1, 5.0), (3, 7.0)],
            &[(1, 5.0), (2, 6.0), (4, 7.0)],
            &[(1, 5.0), (2, 6.0), (3, 7.0), (3, 7.0)],
            &[],
        ] {
            assert!(compare(&right, &answer(wrong), &ask, 0.0).is_err(), "{wrong:?}");
        }
        let mut more = right.clone();
        more.push(("b".into(), 0), 1, 1.0);
        assert!(compare(&right, &more, &ask, 0.0).is_err());
    }
}
