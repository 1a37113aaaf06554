//! Functions of each value.

use super::gapped::Gapped;
use super::histograms::{average, deviation, times};
use super::row::{GridRow, Growing, Made, Point};
use super::{Gridded, Walk, evaluated, joined, seconds};
use crate::Error;
use crate::kernels::arithmetic::higher;
use foliot_model::Histogram;
use foliot_plan::grid::{Each, Figure, Function, Math, Steps};
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
        Function::Math(_) | Function::Instant | Function::Of(_) => (None, None),
    };
    let parameter = |of: &Option<Gridded<'_>>, index: usize| {
        of.as_ref().and_then(|of| of.scalars().get(index)).unwrap_or(f64::NAN)
    };
    let mut made = Gridded::none(walk);
    let Gridded { rows, charge, .. } = input;
    // Each row is given back before the next one is made, which takes its memory.
    for row in rows {
        let number = |index: usize, one: f64| {
            Some(match &plan.function {
                Function::Instant => seconds(steps.at(index)),
                Function::Of(_) => return None,
                Function::Math(math) => calculate(*math, one),
                Function::Rounded(_) => {
                    // Divided by the inverse, as that is more often exact.
                    let inverse = 1.0 / parameter(&first, index);
                    (one * inverse + 0.5).floor() / inverse
                }
                Function::Clamped(..) => {
                    let (low, high) = (parameter(&first, index), parameter(&second, index));
                    match low > high {
                        true => return None,
                        false => higher(low, -higher(-high, -one)),
                    }
                }
            })
        };
        let (labels, is_nameless) = walk.unnamed(&row.labels);
        if row.histograms.is_empty() {
            let values: Gapped = match &plan.function {
                Function::Math(math) => row.values.map(|one| calculate(*math, one)),
                _ => {
                    let values = row.values.iter().enumerate();
                    values.map(|(index, one)| number(index, one?)).collect()
                }
            };
            let row = GridRow::numbers(labels, values);
            made.push(walk, GridRow { is_nameless, ..row })?;
            continue;
        }
        // Most functions know numbers only, and leave histograms out.
        let function = |index: usize| match (row.point(index)?, &plan.function) {
            (Point::Number(one), _) => number(index, one).map(Made::Number),
            (Point::Histogram(_), Function::Instant) => {
                Some(Made::Number(seconds(steps.at(index))))
            }
            (Point::Histogram(of), Function::Of(figure)) => {
                Some(Made::Number(figured(*figure, of)))
            }
            (Point::Histogram(of), Function::Math(Math::Negated)) => {
                Some(Made::histogram(times(Histogram::clone(of), -1.0)))
            }
            (Point::Histogram(_), _) => None,
        };
        let mut after = Growing::new(walk, (labels, is_nameless), steps);
        (0..steps.count).try_for_each(|index| after.push(function(index)))?;
        after.finish(&mut made, walk)?;
    }
    drop(charge);
    joined(walk, made)
}

fn figured(figure: Figure, of: &Histogram) -> f64 {
    match figure {
        Figure::Count => of.count,
        Figure::Sum => of.sum,
        Figure::Average => average(of),
        Figure::Deviation => deviation(of).sqrt(),
        Figure::Variance => deviation(of),
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
