//! Series in an order.

use super::{Gridded, Walk, evaluated};
use crate::Error;
use foliot_model::Labels;
use foliot_plan::grid::{Grid, Note, Place, Steps};
use std::cmp::Ordering;
use std::sync::Arc;

/// By the number at the only instant. Histograms have none and are left out.
pub(super) fn by_value<'q>(
    walk: &Walk<'q>,
    input: &Grid,
    descending: bool,
    place: Place,
    steps: &Steps,
) -> Result<Gridded<'q>, Error> {
    let mut made = evaluated(walk, input, steps)?;
    for row in &mut made.rows {
        row.histograms.clear();
    }
    made.rows.retain(|row| !row.is_empty());
    if steps.count > 1 {
        return unsorted(walk, made, place);
    }
    let of = |row: &super::GridRow| row.values.get(0).unwrap_or(f64::NAN);
    // What is no number comes last either way.
    made.rows.sort_by(|a, b| match (of(a), of(b)) {
        (a, b) if a.is_nan() || b.is_nan() => a.is_nan().cmp(&b.is_nan()),
        (a, b) if descending => b.total_cmp(&a),
        (a, b) => a.total_cmp(&b),
    });
    Ok(made)
}

/// By the values of some labels, then by all.
pub(super) fn by_labels<'q>(
    walk: &Walk<'q>,
    input: &Grid,
    descending: bool,
    (names, place): (&[Arc<str>], Place),
    steps: &Steps,
) -> Result<Gridded<'q>, Error> {
    let mut made = evaluated(walk, input, steps)?;
    if steps.count > 1 {
        return unsorted(walk, made, place);
    }
    let order = |a: &Labels, b: &Labels| {
        let of = |labels: &Labels, name: &str| labels.get(name).cloned().unwrap_or_default();
        let orders = names.iter().map(|name| natural(&of(a, name), &of(b, name)));
        orders.fold(Ordering::Equal, Ordering::then).then_with(|| a.cmp(b))
    };
    made.rows.sort_by(|a, b| {
        let order = order(&a.labels, &b.labels);
        if descending { order.reverse() } else { order }
    });
    Ok(made)
}

/// What is of several instants has the order of its labels.
fn unsorted<'q>(
    walk: &Walk<'q>,
    mut made: Gridded<'q>,
    place: Place,
) -> Result<Gridded<'q>, Error> {
    walk.note(Note::Unsorted, place)?;
    made.rows.sort_by(|a, b| a.labels.cmp(&b.labels));
    Ok(made)
}

/// Texts in the order that people give them: runs of digits by their number.
fn natural(a: &str, b: &str) -> Ordering {
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    fn runs(text: &str) -> impl Iterator<Item = &[u8]> {
        text.as_bytes().chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit())
    }
    for (a, b) in runs(a).zip(runs(b)) {
        let are_numbers = a.first().is_some_and(is_digit) && b.first().is_some_and(is_digit);
        let order = match are_numbers {
            true => {
                let (a, b) = (significant(a), significant(b));
                a.len().cmp(&b.len()).then_with(|| a.cmp(b))
            }
            false => a.cmp(b),
        };
        if order.is_ne() {
            return order;
        }
    }
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

/// Zeros before a number say nothing.
fn significant(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().take_while(|byte| **byte == b'0').count();
    digits.get(zeros..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_texts_are_ordered_as_numbers() {
        let mut texts = ["4", "a10", "100", "a2", "1600", "a", "", "a02b", "2"];
        texts.sort_by(|a, b| natural(a, b));
        assert_eq!(texts, ["", "2", "4", "100", "1600", "a", "a2", "a02b", "a10"]);
    }
}
