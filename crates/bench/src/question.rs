//! Questions and answers without a query language: what is asked, and what must come back. The
//! dialects translate, the oracle answers from the generator, `compare` judges.

use std::collections::BTreeMap;

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
}

/// The shape of the answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ask {
    /// Every sample, per series; only those above a bound when one is given.
    Samples { descending: bool, above: Option<i64> },
    /// One number per series (or for all series together) and bucket. Buckets are aligned to
    /// 1970, empty ones absent; without `bucket_ms` the window is the only bucket.
    Aggregate { function: Function, per_series: bool, bucket_ms: Option<i64> },
    /// The newest sample of each series, without a window.
    Last,
    /// The newest `count` buckets of all series together, newest first.
    Newest { function: Function, bucket_ms: i64, count: usize },
}

/// What becomes of the samples of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// Judges an answer; the error names the first difference. Times do not count where the window
/// is the only bucket, because servers label such a bucket differently.
pub(crate) fn compare(expected: &Answer, got: &Answer, ask: &Ask) -> Result<(), String> {
    let timeless = matches!(ask, Ask::Aggregate { bucket_ms: None, .. });
    for (key, rows) in &expected.rows {
        let name = || format!("series {:?}, field {}", key.0, key.1);
        let answered = got.rows.get(key).map(Vec::as_slice).unwrap_or_default();
        if answered.len() != rows.len() {
            let (expected, got) = (rows.len(), answered.len());
            return Err(format!("{}: {expected} values expected, {got} came", name()));
        }
        for (wanted, came) in rows.iter().zip(answered) {
            let same_time = timeless || wanted.0 == came.0;
            if !same_time || !is_close(wanted.1, came.1) {
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

/// Whether two numbers are equal up to rounding.
pub(crate) fn is_close(expected: f64, got: f64) -> bool {
    (expected - got).abs() <= TOLERANCE * expected.abs().max(got.abs()).max(SMALLEST)
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
    fn every_kind_of_wrong_answer_is_caught() {
        let right = answer(&[(1, 5.0), (2, 6.0), (3, 7.0)]);
        let ask = Ask::Samples { descending: false, above: None };
        assert_eq!(compare(&right, &right, &ask), Ok(()));
        for wrong in [
            &[(1, 5.0), (3, 7.0)][..],
            &[(1, 5.0), (2, 6.0), (3, 7.000001)],
            &[(2, 6.0), (1, 5.0), (3, 7.0)],
            &[(1, 5.0), (2, 6.0), (4, 7.0)],
            &[(1, 5.0), (2, 6.0), (3, 7.0), (3, 7.0)],
            &[],
        ] {
            assert!(compare(&right, &answer(wrong), &ask).is_err(), "{wrong:?}");
        }
        let mut more = right.clone();
        more.push(("b".into(), 0), 1, 1.0);
        assert!(compare(&right, &more, &ask).is_err());
    }
}
