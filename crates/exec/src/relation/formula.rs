//! Evaluates formulas, column by column. What is not looked at in some rows, such as what follows
//! an AND, is evaluated for the other rows only.

use super::effort::Effort;
use super::strip::Strip;
use super::subset::{Subset, each, each_row, join, laid, narrowed, picked};
use super::{instant, text};
use crate::Error;
use crate::kernels::columns::{self, Truths, told, truth};
use crate::kernels::number::to_f64;
use crate::kernels::ternary;
use crate::rows::math;
use foliot_model::{Column, Item};
use foliot_plan::relation::{Formula, Kept};
use foliot_plan::rows::{Math, Operator};
use std::cmp::Ordering;

/// What a formula comes to in all rows of a strip.
pub(super) fn calculated(
    formula: &Formula,
    strip: &Strip,
    effort: &Effort<'_>,
) -> Result<Column, Error> {
    let of = |formula: &Formula| calculated(formula, strip, effort);
    Ok(match formula {
        Formula::Column(place) => {
            let column = strip.columns.get(*place).cloned();
            column.unwrap_or(Column::Same(Item::Null, strip.rows))
        }
        Formula::Constant(item) => Column::Same(item.clone(), strip.rows),
        Formula::Binary { operator: Operator::And | Operator::Or, .. }
        | Formula::Not(_)
        | Formula::IsNull(_)
        | Formula::Passes { .. }
        | Formula::IsOneOf { .. }
        | Formula::Compared { .. }
        | Formula::Differ { .. } => told(truths(formula, strip, effort)?),
        Formula::Binary { operator, left, right } => {
            effort.take(strip.rows)?;
            columns::calculated(*operator, &of(left)?, &of(right)?)?
        }
        Formula::NullIf { value, other } => {
            let value = of(value)?;
            let are_equal = columns::compared(Operator::Equal, &value, &of(other)?)?;
            let items = value.iter().zip(are_equal).map(|(item, is_equal)| match is_equal {
                Some(true) => Item::Null,
                _ => item.into_owned(),
            });
            items.collect()
        }
        Formula::Matched { value, cases, otherwise } => {
            let value = of(value)?;
            chosen((strip, effort), cases, otherwise, &|case, part, rows| {
                let value = picked(&value, rows);
                columns::compared(Operator::Equal, &value, &calculated(case, part, effort)?)
            })?
        }
        Formula::Chosen { cases, otherwise } => {
            chosen((strip, effort), cases, otherwise, &|condition, part, _| {
                truths(condition, part, effort)
            })?
        }
        Formula::FirstOf(values) => first_of(values, strip, effort)?,
        Formula::Math { .. }
        | Formula::Text { .. }
        | Formula::Extreme { .. }
        | Formula::Converted { .. }
        | Formula::Window { .. }
        | Formula::Part { .. } => of_arguments(formula, strip, effort)?,
    })
}

/// What a condition comes to in all rows of a strip.
pub(super) fn truths(
    formula: &Formula,
    strip: &Strip,
    effort: &Effort<'_>,
) -> Result<Truths, Error> {
    let of = |formula: &Formula| calculated(formula, strip, effort);
    effort.take(strip.rows)?;
    Ok(match formula {
        Formula::Binary { operator: operator @ (Operator::And | Operator::Or), left, right } => {
            let mut told = truths(left, strip, effort)?;
            join(&mut told, *operator == Operator::Or, right, strip, &|right, part, _| {
                truths(right, part, effort)
            })?;
            told
        }
        Formula::Binary { operator, left, right } => {
            columns::compared(*operator, &of(left)?, &of(right)?)?
        }
        Formula::Not(of) => {
            truths(of, strip, effort)?.into_iter().map(|it| it.map(|it| !it)).collect()
        }
        Formula::IsNull(value) => match of(value)? {
            Column::Floats(_) | Column::Integers(_) | Column::Times(_) => {
                vec![Some(false); strip.rows]
            }
            value => value.iter().map(|item| Some(item.is_null())).collect(),
        },
        Formula::Passes { text, test } => each(&of(text)?, effort, |item| match item {
            Item::String(text) => {
                effort.read(text)?;
                Ok(Some(test.passes(text)))
            }
            _ => Ok(None),
        })?,
        Formula::IsOneOf { value, of: list } => each(&of(value)?, effort, |value| {
            let is_it = |each: &Item| {
                matches!(ternary::binary(Operator::Equal, value, each), Ok(Item::Boolean(true)))
            };
            Ok((!value.is_null()).then(|| list.iter().any(is_it)))
        })?,
        Formula::Compared { value, with, is_any } => {
            let value = of(value)?;
            let mut told = vec![Some(!is_any); strip.rows];
            for (operator, other) in with {
                join(&mut told, *is_any, other, strip, &|other, part, rows| {
                    let value = picked(&value, rows);
                    columns::compared(*operator, &value, &calculated(other, part, effort)?)
                })?;
            }
            told
        }
        Formula::Differ { left, right } => {
            let (left, right) = (of(left)?, of(right)?);
            let are_equal = columns::compared(Operator::Equal, &left, &right)?;
            let both = left.iter().zip(right.iter()).zip(are_equal);
            let differ = both.map(|((left, right), are_equal)| {
                let are_alike = match (left.is_null(), right.is_null()) {
                    (false, false) => are_equal == Some(true),
                    (left, right) => left && right,
                };
                Some(!are_alike)
            });
            differ.collect()
        }
        other => of(other)?.iter().map(|item| truth(&item)).collect(),
    })
}

/// The value behind the first case that is met; cases and values are evaluated for the rows that
/// come to them.
fn chosen(
    (strip, effort): (&Strip, &Effort<'_>),
    cases: &[(Formula, Formula)],
    otherwise: &Formula,
    is_met: &dyn Fn(&Formula, &Strip, &Subset) -> Result<Truths, Error>,
) -> Result<Column, Error> {
    let mut left = Subset::all(strip.rows);
    let mut pieces = Vec::new();
    for (case, value) in cases {
        if left.is_empty() {
            break;
        }
        let truths = is_met(case, &narrowed(strip, case, &left), &left)?;
        let (met, others) = left.split(|at| truths.get(at) == Some(&Some(true)));
        if !met.is_empty() {
            let column = calculated(value, &narrowed(strip, value, &met), effort)?;
            pieces.push((met, column));
        }
        left = others;
    }
    if !left.is_empty() {
        let column = calculated(otherwise, &narrowed(strip, otherwise, &left), effort)?;
        pieces.push((left, column));
    }
    Ok(laid(strip.rows, pieces))
}

/// The first value that is there; each is evaluated for the rows that have none before it.
fn first_of(values: &[Formula], strip: &Strip, effort: &Effort<'_>) -> Result<Column, Error> {
    let mut left = Subset::all(strip.rows);
    let mut pieces = Vec::new();
    for value in values {
        if left.is_empty() {
            break;
        }
        let column = calculated(value, &narrowed(strip, value, &left), effort)?;
        let is_there = |at: usize| !column.get(at).is_null();
        let there = Subset::of((0..column.len()).filter(|at| is_there(*at)));
        let (met, others) = left.split(is_there);
        pieces.push((met, picked(&column, &there).into_owned()));
        left = others;
    }
    pieces.push((left.clone(), Column::Same(Item::Null, left.len())));
    Ok(laid(strip.rows, pieces))
}

/// What comes of values that are all looked at.
fn of_arguments(formula: &Formula, strip: &Strip, effort: &Effort<'_>) -> Result<Column, Error> {
    let of = |formula: &Formula| calculated(formula, strip, effort);
    let all = |values: &[Formula]| values.iter().map(of).collect::<Result<Vec<Column>, Error>>();
    match formula {
        Formula::Math { function, arguments } => {
            each_row(&all(arguments)?, effort, |arguments| numbers(*function, arguments))
        }
        Formula::Text { function, arguments } => each_row(&all(arguments)?, effort, |arguments| {
            for argument in arguments {
                if let Item::String(text) = argument {
                    effort.read(text)?;
                }
            }
            text::words(*function, arguments)
        }),
        Formula::Extreme { of, is_largest } => {
            let wanted = if *is_largest { Ordering::Greater } else { Ordering::Less };
            each_row(&all(of)?, effort, |items| {
                let mut best = &Item::Null;
                for item in items {
                    if best.is_null() || ternary::order(item, best) == Some(wanted) {
                        best = item;
                    }
                }
                Ok(best.clone())
            })
        }
        Formula::Converted { value, to } => {
            each_row(&[of(value)?], effort, |items| converted(first_of_items(items).clone(), *to))
        }
        Formula::Window { time, bucket } => {
            let clock = instant::Clock::of(bucket.zone.as_deref())?;
            each_row(&[of(time)?], effort, |items| match first_of_items(items) {
                Item::Time(time_ns) => {
                    Ok(Item::Time(instant::window_start(*time_ns, bucket, &clock)?))
                }
                _ => Ok(Item::Null),
            })
        }
        Formula::Part { time, part, zone } => {
            let clock = instant::Clock::of(zone.as_deref())?;
            each_row(&[of(time)?], effort, |items| {
                Ok(match first_of_items(items) {
                    Item::Time(time_ns) => instant::part(clock.local_ns(*time_ns)?, *part),
                    _ => Item::Null,
                })
            })
        }
        _ => Ok(Column::Same(Item::Null, strip.rows)),
    }
}

fn first_of_items(items: &[Item]) -> &Item {
    items.first().unwrap_or(&Item::Null)
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
