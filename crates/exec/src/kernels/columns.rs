//! Arithmetic and comparison of columns: what [`ternary`] makes of two values, row by row, with
//! loops of their own for numbers that lie side by side.

use super::number::to_f64;
use super::ternary;
use crate::Error;
use foliot_model::{Column, Item};
use foliot_plan::rows::Operator;
use std::borrow::Cow;

/// What successive rows say: true, false, or nothing.
pub(crate) type Truths = Vec<Option<bool>>;

/// What a calculation makes of two columns, which are equally long.
///
/// # Errors
/// As [`ternary::binary`], where some row has one.
pub(crate) fn calculated(operator: Operator, a: &Column, b: &Column) -> Result<Column, Error> {
    if let (Column::Same(a, rows), Column::Same(b, _)) = (a, b) {
        return Ok(Column::Same(ternary::binary(operator, a, b)?, *rows));
    }
    if ternary::comparison(operator).is_some() {
        return compared(operator, a, b).map(told);
    }
    if let (Some(a), Some(b)) = (integers(a), integers(b)) {
        let of = |a, b| ternary::wholes(operator, a, b);
        return both::<_, _, Result<_, _>>(&a, &b, of).map(Column::Integers);
    }
    if let Some((a, b)) = floats(a, b) {
        let floats = match operator {
            Operator::Add => Some(both(&a, &b, |a, b| a + b)),
            Operator::Subtract => Some(both(&a, &b, |a, b| a - b)),
            Operator::Multiply => Some(both(&a, &b, |a, b| a * b)),
            Operator::Divide | Operator::DivideWhole => Some(both(&a, &b, |a, b| a / b)),
            Operator::Modulo => Some(both(&a, &b, |a, b| a % b)),
            _ => None,
        };
        if let Some(floats) = floats {
            return Ok(Column::Floats(floats));
        }
    }
    a.iter().zip(b.iter()).map(|(a, b)| ternary::binary(operator, &a, &b)).collect()
}

/// How two columns compare, which are equally long.
///
/// # Errors
/// When the operator is no comparison and some row has an error.
pub(crate) fn compared(operator: Operator, a: &Column, b: &Column) -> Result<Truths, Error> {
    if let (Column::Same(a, rows), Column::Same(b, _)) = (a, b) {
        return Ok(vec![truth(&ternary::binary(operator, a, b)?); *rows]);
    }
    let of_wholes = integers(a).zip(integers(b)).or_else(|| times(a).zip(times(b)));
    let truths = match (of_wholes, floats(a, b)) {
        (Some((a, b)), _) => lanes_compared(operator, &a, &b),
        (None, Some((a, b))) => lanes_compared(operator, &a, &b),
        (None, None) => None,
    };
    let each =
        |(a, b): (Cow<'_, Item>, Cow<'_, Item>)| Ok(truth(&ternary::binary(operator, &a, &b)?));
    truths.map_or_else(|| a.iter().zip(b.iter()).map(each).collect(), Ok)
}

/// Truths as a column.
pub(crate) fn told(truths: Truths) -> Column {
    truths.into_iter().map(|truth| truth.map_or(Item::Null, Item::Boolean)).collect()
}

/// What an item says as a truth.
pub(crate) fn truth(item: &Item) -> Option<bool> {
    match item {
        Item::Boolean(truth) => Some(*truth),
        _ => None,
    }
}

/// Nothing where the operator is no comparison.
fn lanes_compared<T: Copy + PartialOrd>(
    operator: Operator,
    a: &Lane<'_, T>,
    b: &Lane<'_, T>,
) -> Option<Truths> {
    Some(match operator {
        Operator::Equal => both(a, b, |a, b| Some(a == b)),
        Operator::NotEqual => both(a, b, |a, b| Some(a != b)),
        Operator::Less => both(a, b, |a, b| Some(a < b)),
        Operator::LessOrEqual => both(a, b, |a, b| Some(a <= b)),
        Operator::Greater => both(a, b, |a, b| Some(a > b)),
        Operator::GreaterOrEqual => both(a, b, |a, b| Some(a >= b)),
        _ => return None,
    })
}

/// Numbers of successive rows, each there.
enum Lane<'a, T: Copy> {
    Each(Cow<'a, [T]>),
    Same(T, usize),
}

/// What a calculation makes of the numbers of each row.
fn both<T: Copy, R, C: FromIterator<R>>(
    a: &Lane<'_, T>,
    b: &Lane<'_, T>,
    of: impl Fn(T, T) -> R,
) -> C {
    match (a, b) {
        (Lane::Each(a), Lane::Each(b)) => a.iter().zip(b.iter()).map(|(a, b)| of(*a, *b)).collect(),
        (Lane::Each(a), Lane::Same(b, _)) => a.iter().map(|a| of(*a, *b)).collect(),
        (Lane::Same(a, _), Lane::Each(b)) => b.iter().map(|b| of(*a, *b)).collect(),
        (Lane::Same(a, rows), Lane::Same(b, _)) => (0..*rows).map(|_| of(*a, *b)).collect(),
    }
}

fn integers(column: &Column) -> Option<Lane<'_, i64>> {
    match column {
        Column::Integers(values) => Some(Lane::Each(Cow::Borrowed(values))),
        Column::Same(Item::Integer(value), rows) => Some(Lane::Same(*value, *rows)),
        _ => None,
    }
}

fn times(column: &Column) -> Option<Lane<'_, i64>> {
    match column {
        Column::Times(times_ns) => Some(Lane::Each(Cow::Borrowed(times_ns))),
        Column::Same(Item::Time(time_ns), rows) => Some(Lane::Same(*time_ns, *rows)),
        _ => None,
    }
}

/// Two columns of numbers of which one has floats, which then decides how the other one is read.
fn floats<'a>(a: &'a Column, b: &'a Column) -> Option<(Lane<'a, f64>, Lane<'a, f64>)> {
    let has_floats =
        |column: &Column| matches!(column, Column::Floats(_) | Column::Same(Item::Float(_), _));
    let lane = |column: &'a Column| match column {
        Column::Floats(values) => Some(Lane::Each(Cow::Borrowed(values.as_slice()))),
        Column::Integers(values) => {
            Some(Lane::Each(values.iter().map(|value| *value as f64).collect()))
        }
        Column::Same(item, rows) => to_f64(item).map(|value| Lane::Same(value, *rows)),
        _ => None,
    };
    (has_floats(a) || has_floats(b)).then(|| lane(a).zip(lane(b))).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Columns of all forms, and what successive rows have.
    fn column(rows: usize) -> impl Strategy<Value = Column> {
        let number = || {
            prop_oneof![
                Just(f64::NAN),
                Just(f64::INFINITY),
                Just(-0.0),
                (-3..4i32).prop_map(|value| f64::from(value) / 2.0),
            ]
        };
        let whole = || prop_oneof![4 => -3..4i64, 1 => Just(i64::MAX), 1 => Just(i64::MIN)];
        let item = || {
            prop_oneof![
                Just(Item::Null),
                number().prop_map(Item::Float),
                whole().prop_map(Item::Integer),
                whole().prop_map(Item::Time),
                any::<u64>().prop_map(Item::Unsigned),
                any::<bool>().prop_map(Item::Boolean),
                "[ab]".prop_map(|text| Item::String(text.into())),
            ]
        };
        prop_oneof![
            item().prop_map(move |item| Column::Same(item, rows)),
            prop::collection::vec(number(), rows).prop_map(Column::Floats),
            prop::collection::vec(whole(), rows).prop_map(Column::Integers),
            prop::collection::vec(whole(), rows).prop_map(Column::Times),
            prop::collection::vec(item(), rows).prop_map(Column::Items),
        ]
    }

    fn operator() -> impl Strategy<Value = Operator> {
        prop::sample::select(vec![
            Operator::Add,
            Operator::Subtract,
            Operator::Multiply,
            Operator::Divide,
            Operator::DivideWhole,
            Operator::Modulo,
            Operator::BitAnd,
            Operator::BitOr,
            Operator::BitXor,
            Operator::Equal,
            Operator::NotEqual,
            Operator::Less,
            Operator::LessOrEqual,
            Operator::Greater,
            Operator::GreaterOrEqual,
        ])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]
        /// Columns come to what their rows come to; what a row fails with, all fail with.
        #[test]
        fn columns_come_to_what_their_rows_come_to(
            operator in operator(),
            (a, b) in (1..5usize).prop_flat_map(|rows| (column(rows), column(rows))),
        ) {
            let rows: Result<Vec<Item>, Error> =
                a.iter().zip(b.iter()).map(|(a, b)| ternary::binary(operator, &a, &b)).collect();
            // NaN is no equal of itself: texts are compared.
            let spelled = |items: &[Item]| format!("{items:?}");
            match (calculated(operator, &a, &b), &rows) {
                (Ok(found), Ok(rows)) => {
                    let found: Vec<Item> = found.iter().map(Cow::into_owned).collect();
                    prop_assert_eq!(spelled(&found), spelled(rows));
                }
                (found, rows) => prop_assert!(found.is_err() && rows.is_err()),
            }
            if let Ok(rows) = rows {
                let truths: Truths = rows.iter().map(truth).collect();
                prop_assert_eq!(compared(operator, &a, &b).unwrap(), truths);
            }
        }
    }
}
