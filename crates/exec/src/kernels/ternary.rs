//! Arithmetic and comparison of two values where nothing is lost in silence: null stays null, what
//! does not fit is an error, and every two values of a kind have an order.

use super::number::to_f64;
use crate::Error;
use foliot_model::Item;
use foliot_plan::rows::Operator;
use std::cmp::Ordering;

/// What an operator other than AND and OR makes of two values.
///
/// # Errors
/// When an integer is divided by zero or the result is none.
pub(crate) fn binary(operator: Operator, a: &Item, b: &Item) -> Result<Item, Error> {
    if a.is_null() || b.is_null() {
        return Ok(Item::Null);
    }
    if let Some(holds) = comparison(operator) {
        // A number that is none compares with nothing, as where rows are read.
        return Ok(match (order(a, b), is_nan(a) || is_nan(b)) {
            (None, _) => Item::Null,
            (Some(_), true) => Item::Boolean(operator == Operator::NotEqual),
            (Some(order), false) => Item::Boolean(holds(order)),
        });
    }
    Ok(match (a, b) {
        (Item::Float(a), b) => to_f64(b).map_or(Item::Null, |b| floats(operator, *a, b)),
        (a, Item::Float(b)) => to_f64(a).map_or(Item::Null, |a| floats(operator, a, *b)),
        (Item::Time(a), Item::Integer(b)) | (Item::Integer(a), Item::Time(b)) => {
            let moved = wholes(operator, *a, *b);
            Item::Time(moved.map_err(|_| past("the time lies beyond what nanoseconds can say"))?)
        }
        (Item::Time(a), Item::Time(b)) => {
            let apart = wholes(operator, *a, *b);
            Item::Integer(apart.map_err(|_| past("two times are further apart than 292 years"))?)
        }
        (Item::Integer(a), Item::Integer(b)) => Item::Integer(wholes(operator, *a, *b)?),
        (Item::Unsigned(a), Item::Unsigned(b)) => {
            let wide = wide(operator, i128::from(*a), i128::from(*b))?;
            Item::Unsigned(u64::try_from(wide).map_err(|_| beyond(operator))?)
        }
        (Item::Unsigned(_) | Item::Integer(_), Item::Unsigned(_) | Item::Integer(_)) => {
            let wide = wide(operator, whole(a), whole(b))?;
            Item::Integer(i64::try_from(wide).map_err(|_| beyond(operator))?)
        }
        _ => Item::Null,
    })
}

fn is_nan(item: &Item) -> bool {
    matches!(item, Item::Float(value) if value.is_nan())
}

/// The order of two values of a kind, or of two numbers; nothing where they have none. NaN is
/// above all other numbers, so that rows can be sorted by it.
pub(crate) fn order(a: &Item, b: &Item) -> Option<Ordering> {
    Some(match (a, b) {
        (Item::Boolean(a), Item::Boolean(b)) => a.cmp(b),
        (Item::String(a), Item::String(b)) => a.cmp(b),
        (Item::Time(a), Item::Time(b)) => a.cmp(b),
        (Item::Integer(a), Item::Integer(b)) => a.cmp(b),
        (Item::Unsigned(_) | Item::Integer(_), Item::Unsigned(_) | Item::Integer(_)) => {
            whole(a).cmp(&whole(b))
        }
        _ => {
            let (a, b) = (to_f64(a)?, to_f64(b)?);
            a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
        }
    })
}

/// What a comparison asks of an order; nothing of other operators.
pub(super) fn comparison(operator: Operator) -> Option<fn(Ordering) -> bool> {
    Some(match operator {
        Operator::Equal => Ordering::is_eq,
        Operator::NotEqual => Ordering::is_ne,
        Operator::Less => Ordering::is_lt,
        Operator::LessOrEqual => Ordering::is_le,
        Operator::Greater => Ordering::is_gt,
        Operator::GreaterOrEqual => Ordering::is_ge,
        _ => return None,
    })
}

fn whole(item: &Item) -> i128 {
    match item {
        Item::Integer(v) => i128::from(*v),
        Item::Unsigned(v) => i128::from(*v),
        _ => 0,
    }
}

fn floats(operator: Operator, a: f64, b: f64) -> Item {
    Item::Float(match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide | Operator::DivideWhole => a / b,
        Operator::Modulo => a % b,
        _ => return Item::Null,
    })
}

pub(super) fn wholes(operator: Operator, a: i64, b: i64) -> Result<i64, Error> {
    let checked = match operator {
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        _ => i64::try_from(wide(operator, i128::from(a), i128::from(b))?).ok(),
    };
    checked.ok_or_else(|| beyond(operator))
}

fn wide(operator: Operator, a: i128, b: i128) -> Result<i128, Error> {
    Ok(match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a.saturating_mul(b),
        Operator::Divide | Operator::DivideWhole | Operator::Modulo if b == 0 => {
            let text = "an integer is divided by zero: divide by nullif(x, 0), or by x::float";
            return Err(Error::Plan(text.to_owned()));
        }
        Operator::Divide | Operator::DivideWhole => a / b,
        Operator::Modulo => a % b,
        Operator::BitAnd => a & b,
        Operator::BitOr => a | b,
        Operator::BitXor => a ^ b,
        _ => return Err(Error::Plan("these are no integers to calculate with".to_owned())),
    })
}

fn past(text: &str) -> Error {
    Error::Plan(text.to_owned())
}

fn beyond(operator: Operator) -> Error {
    let what = match operator {
        Operator::Add => "sum",
        Operator::Subtract => "difference",
        Operator::Multiply => "product",
        _ => "result",
    };
    Error::Plan(format!("the {what} of two integers has more than 64 bits: make one a float"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Item::{Boolean, Float, Integer, Null, Time, Unsigned};

    fn two(operator: Operator, a: Item, b: Item) -> Item {
        binary(operator, &a, &b).unwrap()
    }

    #[test]
    fn null_stays_null_and_integers_stay_integers() {
        assert_eq!(two(Operator::Add, Null, Integer(1)), Null);
        assert_eq!(two(Operator::Equal, Null, Null), Null);
        assert_eq!(two(Operator::Divide, Integer(-7), Integer(2)), Integer(-3));
        assert_eq!(two(Operator::Modulo, Integer(-7), Integer(2)), Integer(-1));
        assert_eq!(two(Operator::Divide, Integer(7), Float(2.0)), Float(3.5));
        assert_eq!(two(Operator::Divide, Float(1.0), Integer(0)), Float(f64::INFINITY));
        assert_eq!(two(Operator::Subtract, Time(9), Time(4)), Integer(5));
        assert_eq!(two(Operator::Subtract, Time(9), Integer(4)), Time(5));
        assert_eq!(two(Operator::Subtract, Unsigned(4), Integer(9)), Integer(-5));
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        for (operator, a, b) in [
            (Operator::Divide, Integer(1), Integer(0)),
            (Operator::Modulo, Integer(1), Integer(0)),
            (Operator::Add, Integer(i64::MAX), Integer(1)),
            (Operator::Divide, Integer(i64::MIN), Integer(-1)),
            (Operator::Subtract, Unsigned(1), Unsigned(2)),
            (Operator::Multiply, Unsigned(u64::MAX), Integer(2)),
        ] {
            assert!(binary(operator, &a, &b).is_err(), "{operator:?} {a:?} {b:?}");
        }
    }

    #[test]
    fn nan_compares_with_nothing_and_is_sorted_above_all() {
        let nan = || Float(f64::NAN);
        assert_eq!(two(Operator::Equal, nan(), nan()), Boolean(false));
        assert_eq!(two(Operator::NotEqual, nan(), nan()), Boolean(true));
        assert_eq!(two(Operator::Greater, nan(), Float(f64::INFINITY)), Boolean(false));
        assert_eq!(order(&nan(), &Float(f64::INFINITY)), Some(Ordering::Greater));
        assert_eq!(two(Operator::Less, Integer(1), Unsigned(u64::MAX)), Boolean(true));
        assert_eq!(order(&Integer(1), &Boolean(true)), None);
    }
}
