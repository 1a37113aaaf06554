//! Whether an answer is stale rather than wrong: what the right rows give when some of them are
//! left out, and nothing else. Servers that acknowledge before they show leave out what came last,
//! or one run of neighbours in between.

use std::collections::BTreeMap;

use crate::oracle::Oracle;
use crate::question::{Answer, Ask, Function, Question, is_close};

/// Whether `answer` could come of a part of the rows that the question is about.
/// `rounding` is the server's.
pub(super) fn is_of_fewer_rows(
    oracle: &Oracle<'_>,
    question: &Question,
    answer: &Answer,
    rounding: f64,
) -> bool {
    let samples = Ask::Samples { descending: false, above: None };
    let rows = match question.ask {
        Ask::Samples { .. } => oracle.answer(question),
        Ask::Last | Ask::Aggregate { per_series: true, .. } => {
            oracle.answer(&Question { ask: samples, ..question.clone() })
        }
        // What becomes of these when rows are missing nobody can say.
        _ => return false,
    };
    answer.rows.iter().filter(|(_, came)| !came.is_empty()).all(|(key, came)| {
        let Some(rows) = rows.rows.get(key) else { return false };
        match question.ask {
            Ask::Samples { .. } => is_part_in_order(rows, came, rounding),
            Ask::Last => {
                let is_known = |row| rows.iter().any(|known| is_same(known, row, rounding));
                came.iter().all(is_known)
            }
            Ask::Aggregate { function, bucket_ms, .. } => {
                are_folds_of_fewer(rows, came, function, bucket_ms, rounding)
            }
            _ => false,
        }
    })
}

fn is_same(known: &(i64, f64), came: &(i64, f64), rounding: f64) -> bool {
    known.0 == came.0 && is_close(known.1, came.1, rounding)
}

/// Whether `came` are rows among `rows`, in the same order and each once.
fn is_part_in_order(rows: &[(i64, f64)], came: &[(i64, f64)], rounding: f64) -> bool {
    let mut rows = rows.iter();
    came.iter().all(|row| rows.by_ref().any(|known| is_same(known, row, rounding)))
}

/// Whether each bucket that came, once and in order, is the function of a part of its rows.
fn are_folds_of_fewer(
    rows: &[(i64, f64)],
    came: &[(i64, f64)],
    function: Function,
    bucket_ms: Option<i64>,
    rounding: f64,
) -> bool {
    let mut buckets: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for (time_ms, value) in rows {
        let begin = bucket_ms.map_or(0, |length| time_ms - time_ms.rem_euclid(length));
        buckets.entry(begin).or_default().push(*value);
    }
    let in_order = came.iter().is_sorted_by(|a, b| a.0 < b.0);
    in_order
        && came.iter().all(|(time_ms, value)| {
            let begin = bucket_ms.map_or(0, |_| *time_ms);
            let is_fold = |values: &Vec<f64>| is_fold_of_fewer(values, function, *value, rounding);
            buckets.get(&begin).is_some_and(is_fold)
        })
}

/// Whether `came` is the function of `values` without one run of neighbours.
fn is_fold_of_fewer(values: &[f64], function: Function, came: f64, rounding: f64) -> bool {
    (0..values.len()).any(|from| {
        (from..=values.len()).any(|to| {
            let (before, rest) = values.split_at(from);
            let after = rest.get(to - from..).unwrap_or_default();
            let left = || before.iter().chain(after).copied();
            let count = (before.len() + after.len()) as f64;
            let folded = match function {
                Function::Count => count,
                Function::Sum => left().sum(),
                Function::Min => left().fold(f64::INFINITY, f64::min),
                Function::Max => left().fold(f64::NEG_INFINITY, f64::max),
                Function::Mean => left().sum::<f64>() / count,
            };
            let rounding = if function == Function::Count { 0.0 } else { rounding };
            count > 0.0 && is_close(folded, came, rounding)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disorder::Disorder;
    use crate::question::Sources;
    use crate::testing::cpu_fleet;

    /// Whether what becomes of the right answer is stale, for an ask of host 3 over 60 steps.
    fn stale(ask: Ask, change: impl Fn(&mut Vec<(i64, f64)>)) -> bool {
        let fleet = cpu_fleet(10);
        let oracle = Oracle {
            fleet: &fleet,
            disorder: Disorder::default(),
            first_source: 0,
            end_source: 10,
            first_step: 0,
            end_step: 60,
        };
        let (from_ms, to_ms) = (fleet.time_ms(0), fleet.time_ms(60));
        let sources = Sources::These(vec![3]);
        let question = Question { table: 0, fields: vec![0], sources, from_ms, to_ms, ask };
        let mut answer = oracle.answer(&question);
        answer.rows.values_mut().for_each(change);
        is_of_fewer_rows(&oracle, &question, &answer, 0.0)
    }

    const SAMPLES: Ask = Ask::Samples { descending: false, above: None };

    fn fold(function: Function, bucket_ms: Option<i64>) -> Ask {
        Ask::Aggregate { function, per_series: true, bucket_ms }
    }

    #[test]
    fn rows_that_are_missing_are_stale() {
        assert!(stale(SAMPLES, |rows| rows.truncate(40)));
        assert!(stale(SAMPLES, |rows| drop(rows.drain(10..20))));
        assert!(stale(SAMPLES, Vec::clear));
        assert!(stale(fold(Function::Count, None), |rows| rows[0].1 -= 7.0));
        assert!(stale(fold(Function::Max, Some(60_000)), |rows| rows.truncate(4)));
    }

    #[test]
    fn anything_else_is_wrong() {
        for change in [
            (|rows| rows[20].1 = 7.0 * rows[20].1 + 1.0) as fn(&mut Vec<(i64, f64)>),
            |rows| rows[20].0 += 1,
            |rows| rows.swap(20, 21),
            |rows| rows.insert(20, rows[20]),
            |rows| rows.push((0, 1.0)),
        ] {
            assert!(!stale(SAMPLES, change));
        }
        let inflated = |rows: &mut Vec<(i64, f64)>| rows[0].1 = 7.0 * rows[0].1 + 1.0;
        for function in Function::ALL {
            assert!(!stale(fold(function, None), inflated), "{function:?}");
            assert!(!stale(fold(function, Some(60_000)), inflated), "{function:?}");
        }
        assert!(!stale(fold(Function::Count, None), |rows| rows[0].1 += 1.0));
        assert!(!stale(Ask::Last, inflated));
        let all = Ask::Aggregate { function: Function::Sum, per_series: false, bucket_ms: None };
        assert!(!stale(all, |rows| rows[0].1 -= 1.0), "no part of many series is tried");
    }
}
