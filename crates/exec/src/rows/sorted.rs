//! Rows in order. A window may have millions of them, and whoever gives up waits for none: they are
//! sorted in stretches, which are joined, and in between the meter is asked.

use crate::Error;
use crate::limits::{Meter, Turns};
use std::cmp::Ordering;

/// Rows that are sorted at once, which takes milliseconds.
const ROWS_AT_ONCE: usize = 1 << 15;

/// The rows in order; equal ones stay in theirs.
pub(crate) fn sorted<R>(
    mut rows: Vec<R>,
    order: impl Fn(&R, &R) -> Ordering + Copy,
    meter: &Meter,
) -> Result<Vec<R>, Error> {
    if rows.len() <= ROWS_AT_ONCE {
        rows.sort_by(order);
        return Ok(rows);
    }
    let mut stretches = Vec::with_capacity(rows.len().div_ceil(ROWS_AT_ONCE));
    while !rows.is_empty() {
        meter.check(0)?;
        let mut stretch = rows.split_off(rows.len().saturating_sub(ROWS_AT_ONCE));
        stretch.sort_by(order);
        stretches.push(stretch);
    }
    // The last ones were cut off first.
    stretches.reverse();
    while stretches.len() > 1 {
        let mut joined = Vec::with_capacity(stretches.len().div_ceil(2));
        let mut left = stretches.into_iter();
        while let Some(first) = left.next() {
            joined.push(match left.next() {
                Some(second) => join(first, second, order, meter)?,
                None => first,
            });
        }
        stretches = joined;
    }
    Ok(stretches.pop().unwrap_or_default())
}

/// Rows of two stretches in order.
fn join<R>(
    first: Vec<R>,
    second: Vec<R>,
    order: impl Fn(&R, &R) -> Ordering,
    meter: &Meter,
) -> Result<Vec<R>, Error> {
    let mut rows = Vec::with_capacity(first.len() + second.len());
    let (mut first, mut second) = (first.into_iter().peekable(), second.into_iter().peekable());
    let mut turns = Turns::default();
    while let (Some(a), Some(b)) = (first.peek(), second.peek()) {
        let next = if order(a, b).is_le() { &mut first } else { &mut second };
        rows.extend(next.next());
        turns.turn(meter)?;
    }
    rows.extend(first);
    rows.extend(second);
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{Cancel, Limits};
    use crate::rows::row::{Head, Row};
    use crate::rows::tests::{TIMES, gives_up};
    use foliot_model::Item;
    use std::cell::RefCell;
    use std::sync::Arc;

    fn rows(count: i64) -> Vec<Row> {
        let head = Arc::new(Head { measurement: "m".into(), labels: Vec::new() });
        let row = |time_ns: i64| Row {
            head: head.clone(),
            time_ns,
            value: Item::Integer(time_ns.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) >> 50),
            carried: Vec::new(),
        };
        (0..count).map(row).collect()
    }

    fn by_value(a: &Row, b: &Row) -> Ordering {
        crate::kernels::number::compare(&a.value, &b.value)
    }

    #[test]
    fn rows_are_sorted_as_the_library_sorts_them() {
        for count in [0, 1, 1_000, 32_768, 32_769, 150_000] {
            let meter = Meter::new(Limits::default(), Cancel::default());
            let mut expected = rows(count);
            expected.sort_by(by_value);
            let found = sorted(rows(count), by_value, &meter).unwrap();
            let times = |rows: &[Row]| rows.iter().map(|row| row.time_ns).collect::<Vec<_>>();
            assert!(times(&found) == times(&expected), "{count}");
        }
    }

    #[test]
    fn long_sorts_are_given_up() {
        // To copy them takes long, too.
        let copies: Vec<_> = (0..TIMES).map(|_| rows(500_000)).collect();
        let copies = RefCell::new(copies);
        gives_up("sort", &|meter| {
            let rows = copies.borrow_mut().pop()?;
            sorted(rows, by_value, meter).err()
        });
    }
}
