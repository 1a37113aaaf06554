//! Evaluates formulas: row by row, or once where all rows of a strip have the same.

use super::strip::Strip;
use super::{instant, text};
use crate::Error;
use crate::kernels::number::to_f64;
use crate::kernels::ternary;
use crate::rows::math;
use foliot_model::{Column, Item};
use foliot_plan::relation::{Formula, Kept};
use foliot_plan::rows::{Math, Operator};
use std::cmp::Ordering;

/// What a formula comes to in all rows of a strip.
pub(super) fn calculated(formula: &Formula, strip: &Strip) -> Result<Column, Error> {
    match formula {
        Formula::Column(place) => Ok(strip.columns.get(*place).cloned().unwrap_or_default()),
        Formula::Constant(item) => Ok(Column::Same(item.clone(), strip.rows)),
        formula if is_same(formula, strip) && strip.rows > 0 => {
            Ok(Column::Same(evaluate(formula, strip, 0)?, strip.rows))
        }
        formula => (0..strip.rows).map(|at| evaluate(formula, strip, at)).collect(),
    }
}

/// Whether a formula reads only columns that have the same in all rows.
fn is_same(formula: &Formula, strip: &Strip) -> bool {
    let mut is_same = true;
    each_column(formula, &mut |place| {
        is_same &= matches!(strip.columns.get(place), Some(Column::Same(..)));
    });
    is_same
}

/// Calls `each` with the columns that a formula reads.
fn each_column(formula: &Formula, each: &mut dyn FnMut(usize)) {
    match formula {
        Formula::Column(place) => each(*place),
        Formula::Constant(_) => {}
        Formula::Binary { left, right, .. } => {
            each_column(left, each);
            each_column(right, each);
        }
        Formula::Not(of) | Formula::IsNull(of) => each_column(of, each),
        Formula::Passes { text: of, .. }
        | Formula::IsOneOf { value: of, .. }
        | Formula::Converted { value: of, .. }
        | Formula::Window { time: of, .. }
        | Formula::Part { time: of, .. } => each_column(of, each),
        Formula::Math { arguments: of, .. }
        | Formula::Text { arguments: of, .. }
        | Formula::FirstOf(of)
        | Formula::Extreme { of, .. } => of.iter().for_each(|of| each_column(of, each)),
        Formula::Differ { left, right } | Formula::NullIf { value: left, other: right } => {
            each_column(left, each);
            each_column(right, each);
        }
        Formula::Compared { value, with, .. } => {
            each_column(value, each);
            with.iter().for_each(|(_, with)| each_column(with, each));
        }
        Formula::Matched { value, cases, otherwise } => {
            each_column(value, each);
            each_case(cases, otherwise, each);
        }
        Formula::Chosen { cases, otherwise } => each_case(cases, otherwise, each),
    }
}

fn each_case(cases: &[(Formula, Formula)], otherwise: &Formula, each: &mut dyn FnMut(usize)) {
    for (condition, value) in cases {
        each_column(condition, each);
        each_column(value, each);
    }
    each_column(otherwise, each);
}

/// What a formula comes to in a row.
pub(super) fn evaluate(formula: &Formula, strip: &Strip, at: usize) -> Result<Item, Error> {
    let of = |formula: &Formula| evaluate(formula, strip, at);
    Ok(match formula {
        Formula::Column(place) => {
            strip.columns.get(*place).map_or(Item::Null, |column| column.get(at).into_owned())
        }
        Formula::Constant(item) => item.clone(),
        Formula::Binary { operator: operator @ (Operator::And | Operator::Or), left, right } => {
            let decides = *operator == Operator::Or;
            match of(left)? {
                Item::Boolean(truth) if truth == decides => Item::Boolean(truth),
                left => match (left, of(right)?) {
                    (_, Item::Boolean(truth)) if truth == decides => Item::Boolean(truth),
                    (Item::Null, _) | (_, Item::Null) => Item::Null,
                    (_, right) => right,
                },
            }
        }
        Formula::Binary { operator, left, right } => {
            ternary::binary(*operator, &of(left)?, &of(right)?)?
        }
        Formula::Not(inner) => match of(inner)? {
            Item::Boolean(truth) => Item::Boolean(!truth),
            _ => Item::Null,
        },
        Formula::IsNull(inner) => Item::Boolean(of(inner)?.is_null()),
        Formula::Passes { text, test } => match of(text)? {
            Item::String(text) => Item::Boolean(test.passes(&text)),
            _ => Item::Null,
        },
        Formula::IsOneOf { value, of: list } => match of(value)? {
            Item::Null => Item::Null,
            value => {
                let is_it = |each: &Item| ternary::order(&value, each).is_some_and(Ordering::is_eq);
                Item::Boolean(list.iter().any(is_it))
            }
        },
        Formula::Chosen { cases, otherwise } => {
            for (condition, value) in cases {
                if of(condition)? == Item::Boolean(true) {
                    return of(value);
                }
            }
            of(otherwise)?
        }
        Formula::FirstOf(values) => {
            for value in values {
                let item = of(value)?;
                if !item.is_null() {
                    return Ok(item);
                }
            }
            Item::Null
        }
        other => of_comparison(other, &of)?,
    })
}

/// What comes of a value that is reckoned once and held against others.
fn of_comparison(
    formula: &Formula,
    of: &dyn Fn(&Formula) -> Result<Item, Error>,
) -> Result<Item, Error> {
    Ok(match formula {
        Formula::Matched { value, cases, otherwise } => {
            let found = of(value)?;
            for (case, value) in cases {
                if equals(&found, &of(case)?)? {
                    return of(value);
                }
            }
            of(otherwise)?
        }
        Formula::Compared { value, with, is_any } => compared(&of(value)?, with, *is_any, of)?,
        Formula::NullIf { value, other } => {
            let value = of(value)?;
            if equals(&value, &of(other)?)? { Item::Null } else { value }
        }
        Formula::Differ { left, right } => {
            let (left, right) = (of(left)?, of(right)?);
            let are_alike = match (left.is_null(), right.is_null()) {
                (false, false) => equals(&left, &right)?,
                (left, right) => left && right,
            };
            Item::Boolean(!are_alike)
        }
        other => of_arguments(other, of)?,
    })
}

fn equals(left: &Item, right: &Item) -> Result<bool, Error> {
    Ok(ternary::binary(Operator::Equal, left, right)? == Item::Boolean(true))
}

/// How a value compares with all others, or with any; what follows one that decides is not looked
/// at.
fn compared(
    value: &Item,
    with: &[(Operator, Formula)],
    is_any: bool,
    of: &dyn Fn(&Formula) -> Result<Item, Error>,
) -> Result<Item, Error> {
    let mut told = Item::Boolean(!is_any);
    for (operator, other) in with {
        match ternary::binary(*operator, value, &of(other)?)? {
            Item::Boolean(truth) if truth == is_any => return Ok(Item::Boolean(truth)),
            Item::Boolean(_) => {}
            _ => told = Item::Null,
        }
    }
    Ok(told)
}

/// What comes of values that are all looked at.
fn of_arguments(
    formula: &Formula,
    of: &dyn Fn(&Formula) -> Result<Item, Error>,
) -> Result<Item, Error> {
    let all = |values: &[Formula]| values.iter().map(of).collect::<Result<Vec<Item>, Error>>();
    Ok(match formula {
        Formula::Math { function, arguments } => numbers(*function, &all(arguments)?)?,
        Formula::Text { function, arguments } => text::words(*function, &all(arguments)?)?,
        Formula::Extreme { of, is_largest } => {
            let wanted = if *is_largest { Ordering::Greater } else { Ordering::Less };
            let mut best = Item::Null;
            for item in all(of)? {
                if best.is_null() || ternary::order(&item, &best) == Some(wanted) {
                    best = item;
                }
            }
            best
        }
        Formula::Converted { value, to } => converted(of(value)?, *to)?,
        Formula::Window { time, bucket } => match of(time)? {
            Item::Time(time_ns) => Item::Time(instant::window_start(time_ns, bucket)?),
            _ => Item::Null,
        },
        Formula::Part { time, part } => match of(time)? {
            Item::Time(time_ns) => instant::part(time_ns, *part),
            _ => Item::Null,
        },
        _ => Item::Null,
    })
}

/// A function of numbers. Functions that make floats of integers make floats of all numbers.
fn numbers(function: Math, arguments: &[Item]) -> Result<Item, Error> {
    let first = arguments.first().unwrap_or(&Item::Null);
    let second = arguments.get(1).unwrap_or(&Item::Null);
    Ok(match (function, second) {
        (Math::Round, Item::Integer(decimals)) => {
            let Some(number) = to_f64(first) else { return Ok(Item::Null) };
            let factor = 10f64.powi((*decimals).clamp(-400, 400) as i32);
            let scaled = number * factor;
            Item::Float(match scaled.is_finite() {
                // All digits of a number stand before those that stay.
                true if factor == 0.0 => 0.0,
                true => scaled.round() / factor,
                // What has no decimals beyond these stays what it is.
                false => number,
            })
        }
        (Math::Abs, _) if *first == Item::Integer(i64::MIN) => {
            let text = "abs of the smallest integer has more than 64 bits: make it a float";
            return Err(Error::Plan(text.to_owned()));
        }
        _ => math(function, first, second),
    })
}

/// A value as one of another kind.
fn converted(item: Item, to: Kept) -> Result<Item, Error> {
    let no = |item: &Item, what: &str| {
        Error::Plan(format!("{} cannot be read as {what}", text::shown(item)))
    };
    Ok(match (to, &item) {
        (_, Item::Null) => Item::Null,
        (Kept::Text, item) => Item::String(text::shown(item).into()),
        (Kept::Float, Item::Boolean(_) | Item::Time(_)) => return Err(no(&item, "a float")),
        (Kept::Float, Item::String(written)) => {
            let number = written.trim().parse().map_err(|_| no(&item, "a float"))?;
            Item::Float(number)
        }
        (Kept::Float, _) => to_f64(&item).map_or(Item::Null, Item::Float),
        (Kept::Integer, item) => Item::Integer(whole(item, "an integer")?),
        (Kept::Unsigned, item) => Item::Unsigned(whole(item, "an unsigned integer")?),
        (Kept::Boolean, Item::Boolean(_)) => item,
        (Kept::Boolean, Item::Integer(number)) => Item::Boolean(*number != 0),
        (Kept::Boolean, Item::String(written)) => match &*written.trim().to_ascii_lowercase() {
            "true" | "t" | "yes" | "on" | "1" => Item::Boolean(true),
            "false" | "f" | "no" | "off" | "0" => Item::Boolean(false),
            _ => return Err(no(&item, "a boolean")),
        },
        (Kept::Boolean, _) => return Err(no(&item, "a boolean")),
        (Kept::Time, Item::Time(_)) => item,
        (Kept::Time, Item::Integer(time_ns)) => Item::Time(*time_ns),
        (Kept::Time, _) => return Err(no(&item, "a timestamp")),
    })
}

/// A value as a whole number.
fn whole<N: TryFrom<i128>>(item: &Item, what: &str) -> Result<N, Error> {
    let wide = match item {
        Item::Integer(number) | Item::Time(number) => Some(i128::from(*number)),
        Item::Unsigned(number) => Some(i128::from(*number)),
        Item::Boolean(truth) => Some(i128::from(*truth)),
        Item::Float(number) if number.is_finite() => Some(number.round_ties_even() as i128),
        Item::String(written) => written.trim().parse().ok(),
        _ => None,
    };
    wide.and_then(|wide| N::try_from(wide).ok())
        .ok_or_else(|| Error::Plan(format!("{} cannot be read as {what}", text::shown(item))))
}
