//! Answers to TSBS's questions about trucks, recomputed from the generator. Sums are whole numbers
//! of a field's unit, so a mean is never on the wrong side of a bound by rounding.

use std::collections::BTreeMap;

use super::walk::{Bucket, Oracle, source_name};
use crate::cursor::is_present;
use crate::profile::Label;
use crate::question::{Answer, BIN_MS, BREAKS, Bins, DAY_MS, Function, Question, Told, Trucks};

pub(super) fn answer(
    oracle: &Oracle<'_>,
    question: &Question,
    sources: &[u64],
    trucks: Trucks,
) -> Answer {
    match trucks {
        Trucks::LastBelow(bound) => last(oracle, question, sources, |_, value| value < bound),
        Trucks::LastShare(share, label) => last(oracle, question, sources, |labels, value| {
            let whole: f64 = source_name(labels, label).parse().unwrap_or_default();
            value >= share * whole
        }),
        Trucks::Mean { by, moving } => mean(oracle, question, sources, by, moving),
        Trucks::Bins(bins) => count_bins(oracle, question, sources, bins),
    }
}

fn last(
    oracle: &Oracle<'_>,
    question: &Question,
    sources: &[u64],
    passes: impl Fn(&[Label], f64) -> bool,
) -> Answer {
    let (field, unit) = field(oracle, question);
    let mut newest: BTreeMap<String, (i64, f64, bool)> = BTreeMap::new();
    oracle.visit_rows(question, sources, |labels, time_ms, values| {
        if let Some(value) = values.get(field).filter(|value| is_present(**value)) {
            let value = *value as f64 / unit;
            newest.insert(name(labels, &["name"]), (time_ms, value, passes(labels, value)));
        }
    });
    let mut answer = Answer::default();
    for (truck, (time_ms, value, passes)) in newest {
        if passes {
            answer.push((truck, field), time_ms, value);
        }
    }
    answer
}

fn mean(
    oracle: &Oracle<'_>,
    question: &Question,
    sources: &[u64],
    by: &[&str],
    moving: Option<usize>,
) -> Answer {
    let (field, unit) = field(oracle, question);
    let table = oracle.fleet.tables.get(question.table);
    let mut sums: BTreeMap<String, Bucket> = BTreeMap::new();
    oracle.visit_rows(question, sources, |labels, _, values| {
        let moves = moving.is_none_or(|moving| {
            let unit = table.and_then(|table| table.fields.get(moving)).map(|f| f.kind.unit());
            let speed = values.get(moving).filter(|value| is_present(**value));
            speed.zip(unit).is_some_and(|(speed, unit)| *speed > unit)
        });
        if let Some(value) = values.get(field).filter(|value| moves && is_present(**value)) {
            sums.entry(name(labels, by)).or_insert(Bucket::EMPTY).add(*value);
        }
    });
    let mut answer = Answer::default();
    for (labels, sum) in sums {
        answer.push((labels, field), 0, sum.value(Function::Mean, unit));
    }
    answer
}

fn count_bins(oracle: &Oracle<'_>, question: &Question, sources: &[u64], bins: Bins) -> Answer {
    let (field, unit) = field(oracle, question);
    let mut sums: BTreeMap<(String, i64), Bucket> = BTreeMap::new();
    oracle.visit_rows(question, sources, |labels, time_ms, values| {
        if let Some(value) = values.get(field).filter(|value| is_present(**value)) {
            let bin = time_ms - time_ms.rem_euclid(BIN_MS);
            sums.entry((name(labels, bins.by), bin)).or_insert(Bucket::EMPTY).add(*value);
        }
    });
    let mut passing: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for ((labels, bin), sum) in sums {
        // The mean against 1, without dividing.
        let one = i128::from(sum.count) * unit as i128;
        if if bins.above { sum.sum > one } else { sum.sum < one } {
            passing.entry(labels).or_default().push(bin);
        }
    }
    let mut answer = Answer::default();
    for (labels, times) in passing {
        let count = times.len() as f64;
        match bins.told {
            Told::Count { at_least } if count < at_least as f64 => {}
            Told::Count { .. } => answer.push((labels, field), 0, count),
            Told::PerDay => {
                let mut days: BTreeMap<i64, f64> = BTreeMap::new();
                for time_ms in times {
                    *days.entry(time_ms - time_ms.rem_euclid(DAY_MS)).or_default() += 1.0;
                }
                let days = days.into_iter();
                days.for_each(|(day, count)| answer.push((labels.clone(), field), day, count));
            }
            Told::Breaks => {
                let apart = |pair: &&[i64]| matches!(pair, [a, b] if b - a > BIN_MS);
                let breaks = times.windows(2).filter(apart).count();
                answer.push((labels.clone(), field), 0, count);
                if breaks > 0 {
                    answer.push((labels, BREAKS), 0, breaks as f64);
                }
            }
        }
    }
    answer
}

/// The one field that the question is about, and its unit.
fn field(oracle: &Oracle<'_>, question: &Question) -> (usize, f64) {
    let field = question.fields.first().copied().unwrap_or_default();
    let table = oracle.fleet.tables.get(question.table);
    let unit = table.and_then(|table| table.fields.get(field)).map_or(1, |f| f.kind.unit());
    (field, unit as f64)
}

/// The values of labels, with strokes between them.
fn name(labels: &[Label], by: &[&str]) -> String {
    let values: Vec<String> = by.iter().map(|key| source_name(labels, key)).collect();
    values.join("/")
}
