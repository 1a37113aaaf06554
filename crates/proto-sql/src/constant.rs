//! Literals, parameters, and calculations with times that are worked out before anything is read:
//! the range of time that a statement reads depends on them.

use crate::statement::Parameter;
use crate::time::{self, Length};
use crate::typed::{Type, Typed};
use foliot_model::Item;
use foliot_plan::relation::{Formula, Kept};

/// A number as it is written; nothing where it is none.
pub(crate) fn number(text: &str) -> Option<Typed> {
    let is_whole = text.bytes().all(|byte| byte.is_ascii_digit());
    if is_whole && let Ok(number) = text.parse() {
        return Some(Typed::constant(Item::Integer(number), Type::Integer));
    }
    if is_whole && let Ok(number) = text.parse() {
        return Some(Typed::constant(Item::Unsigned(number), Type::Unsigned));
    }
    text.parse().ok().map(|number| Typed::constant(Item::Float(number), Type::Float))
}

pub(crate) fn text(text: &str) -> Typed {
    Typed::constant(Item::String(text.into()), Type::Text)
}

pub(crate) fn interval(length: Length) -> Typed {
    let typed = Typed::constant(Item::Integer(length.nanos), Type::Interval);
    Typed { months: length.months, ..typed }
}

pub(crate) fn parameter(parameter: &Parameter) -> Typed {
    match parameter {
        Parameter::Boolean(truth) => Typed::constant(Item::Boolean(*truth), Type::Boolean),
        Parameter::Integer(number) => Typed::constant(Item::Integer(*number), Type::Integer),
        Parameter::Unsigned(number) => Typed::constant(Item::Unsigned(*number), Type::Unsigned),
        Parameter::Float(number) => Typed::constant(Item::Float(*number), Type::Float),
        Parameter::Text(written) => text(written),
        Parameter::Time(time_ns) => Typed::constant(Item::Time(*time_ns), Type::Time),
        Parameter::Interval(nanos) => interval(Length { months: 0, nanos: *nanos }),
    }
}

/// The length of time that an interval in the text is.
pub(crate) fn length(typed: &Typed) -> Option<Length> {
    match (typed.of, typed.item()) {
        (Type::Interval, Some(Item::Integer(nanos))) => {
            Some(Length { months: typed.months, nanos: *nanos })
        }
        (Type::Text, Some(Item::String(text))) => time::length(text, None),
        _ => None,
    }
}

/// A text that stands for a value of another type; nothing where it spells none.
pub(crate) fn read(text: &str, to: Type) -> Option<Typed> {
    let trimmed = text.trim();
    let item = match to {
        Type::Time => Item::Time(time::instant(trimmed)?),
        Type::Float => Item::Float(trimmed.parse().ok()?),
        Type::Integer => Item::Integer(trimmed.parse().ok()?),
        Type::Unsigned => Item::Unsigned(trimmed.parse().ok()?),
        Type::Boolean => match &*trimmed.to_ascii_lowercase() {
            "true" | "t" => Item::Boolean(true),
            "false" | "f" => Item::Boolean(false),
            _ => return None,
        },
        Type::Interval => return time::length(trimmed, None).map(interval),
        Type::Text | Type::Null => return Some(self::text(text)),
    };
    Some(Typed::constant(item, to))
}

/// A constant as a time; a number counts nanoseconds since 1970.
pub(crate) fn as_time(typed: Typed) -> Option<Typed> {
    match (typed.of, typed.item()) {
        (Type::Time | Type::Null, _) => Some(typed),
        (Type::Text, Some(Item::String(text))) => read(text, Type::Time),
        (Type::Integer, Some(Item::Integer(time_ns))) => {
            Some(Typed::constant(Item::Time(*time_ns), Type::Time))
        }
        (Type::Integer, None) => {
            let value = Box::new(typed.formula);
            Some(Typed::new(Formula::Converted { value, to: Kept::Time }, Type::Time))
        }
        _ => None,
    }
}

/// A time that is moved by a length of time, `sign` times; nothing where it falls beyond all times,
/// or where only constants can be moved so.
pub(crate) fn moved(time: &Typed, by: Length, sign: i32) -> Option<Typed> {
    let nanos = by.nanos.checked_mul(i64::from(sign))?;
    match time.item() {
        Some(Item::Time(time_ns)) => {
            let at = match by.months {
                0 => *time_ns,
                months => time::months_later(*time_ns, months.checked_mul(sign)?)?,
            };
            Some(Typed::constant(Item::Time(at.checked_add(nanos)?), Type::Time))
        }
        Some(_) => Some(Typed::null()),
        None if by.months != 0 => None,
        None => {
            let right = Box::new(Formula::Constant(Item::Integer(nanos)));
            let (operator, left) =
                (foliot_plan::rows::Operator::Add, Box::new(time.formula.clone()));
            Some(Typed::new(Formula::Binary { operator, left, right }, Type::Time))
        }
    }
}

/// So many times a length of time.
pub(crate) fn times(length: Length, factor: f64) -> Option<Length> {
    let months = f64::from(length.months) * factor;
    let nanos = length.nanos as f64 * factor;
    let exact = |whole: i64| {
        let factor = factor as i64;
        length.nanos.checked_mul(factor).unwrap_or(whole)
    };
    if months.fract() != 0.0 || months.abs() > 1e6 || nanos.abs() > 9e18 {
        return None;
    }
    let nanos = if factor.fract() == 0.0 { exact(nanos as i64) } else { nanos as i64 };
    Some(Length { months: months as i32, nanos })
}
