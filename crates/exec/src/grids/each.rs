//! Functions of each value.

use super::{GridRow, Gridded, Walk, evaluated, joined, seconds, unnamed, value};
use crate::Error;
use foliot_plan::grid::{Each, Function, Math, Steps};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

pub(super) fn each<'q>(walk: &Walk<'q>, plan: &Each, steps: &Steps) -> Result<Gridded<'q>, Error> {
    let input = evaluated(walk, &plan.input, steps)?;
    let (first, second) = match &plan.function {
        Function::Rounded(to) => (Some(evaluated(walk, to, steps)?), None),
        Function::Clamped(low, high) => {
            (Some(evaluated(walk, low, steps)?), Some(evaluated(walk, high, steps)?))
        }
        Function::Math(_) | Function::Instant => (None, None),
    };
    let parameter = |of: &Option<Gridded<'_>>, index: usize| {
        of.as_ref().and_then(|of| value(of.scalars(), index)).unwrap_or(f64::NAN)
    };
    let mut made = Gridded::none(walk);
    for row in &input.rows {
        let function = |(index, one): (usize, &Option<f64>)| {
            let one = (*one)?;
            match &plan.function {
                Function::Math(math) => Some(calculate(*math, one)),
                Function::Rounded(_) => {
                    // Divided by the inverse, as that is more often exact.
                    let inverse = 1.0 / parameter(&first, index);
                    Some((one * inverse + 0.5).floor() / inverse)
                }
                Function::Clamped(..) => {
                    let (low, high) = (parameter(&first, index), parameter(&second, index));
                    match low > high {
                        true => None,
                        // Go knows the higher of infinity and what is no number; the lower too.
                        false => Some(-lower(-low, -lower(high, one))),
                    }
                }
                Function::Instant => Some(seconds(steps.at(index))),
            }
        };
        let values = row.values.iter().enumerate().map(function).collect();
        made.push(walk, GridRow { labels: unnamed(&row.labels), values })?;
    }
    joined(made)
}

/// The lower of two, as Go has it: of minus infinity and what is no number, the former.
fn lower(a: f64, b: f64) -> f64 {
    match () {
        () if a == f64::NEG_INFINITY || b == f64::NEG_INFINITY => f64::NEG_INFINITY,
        () if a.is_nan() || b.is_nan() => f64::NAN,
        () => a.min(b),
    }
}

fn calculate(math: Math, x: f64) -> f64 {
    let date = |of: fn(DateTime) -> f64| {
        // Beyond the calendar there are no days.
        let at = Timestamp::from_second(x as i64).ok().filter(|_| !x.is_nan());
        at.map_or(f64::NAN, |at| of(at.to_zoned(TimeZone::UTC).datetime()))
    };
    match math {
        Math::Negated => -x,
        Math::Abs => x.abs(),
        Math::Ceil => x.ceil(),
        Math::Floor => x.floor(),
        Math::Exp => x.exp(),
        Math::Sqrt => x.sqrt(),
        Math::Ln => x.ln(),
        Math::Log2 => x.log2(),
        Math::Log10 => x.log10(),
        Math::Sin => x.sin(),
        Math::Cos => x.cos(),
        Math::Tan => x.tan(),
        Math::Asin => x.asin(),
        Math::Acos => x.acos(),
        Math::Atan => x.atan(),
        Math::Sinh => x.sinh(),
        Math::Cosh => x.cosh(),
        Math::Tanh => x.tanh(),
        Math::Asinh => x.asinh(),
        Math::Acosh => x.acosh(),
        Math::Atanh => x.atanh(),
        Math::Radians => x * std::f64::consts::PI / 180.0,
        Math::Degrees => x * 180.0 / std::f64::consts::PI,
        Math::Sign if x > 0.0 => 1.0,
        Math::Sign if x < 0.0 => -1.0,
        Math::Sign => x,
        Math::Minute => date(|at| f64::from(at.minute())),
        Math::Hour => date(|at| f64::from(at.hour())),
        Math::DayOfWeek => date(|at| f64::from(at.weekday().to_sunday_zero_offset())),
        Math::DayOfMonth => date(|at| f64::from(at.day())),
        Math::DayOfYear => date(|at| f64::from(at.day_of_year())),
        Math::DaysInMonth => date(|at| f64::from(at.days_in_month())),
        Math::Month => date(|at| f64::from(at.month())),
        Math::Year => date(|at| f64::from(at.year())),
    }
}
