//! What an operator makes of two values, of which each is a number or a histogram.

use super::Walk;
use super::gapped::Gapped;
use super::histograms::{compact, divided, is_same, times, trimmed, two};
use super::row::{Made, Point};
use crate::Error;
use crate::kernels::arithmetic::{calculated, calculated_rows, compared};
use foliot_model::{Histogram, Resets};
use foliot_plan::grid::{Binary, Calculation, Comparison, Note, Operator, Union};

/// What came out.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    /// A value.
    Made(Made),
    /// A comparison that holds.
    Holds,
    /// One that does not.
    Fails,
    /// Nothing: such values do not go together.
    Unknown,
}

impl From<bool> for Outcome {
    fn from(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }
}

/// Whether an operator makes a value that is not one of its operands.
pub(super) fn is_new_value(operator: Operator) -> bool {
    matches!(operator, Operator::Calculate(_) | Operator::Compare { is_told: true, .. })
}

/// Two values by an operator. What does not go together is noted.
pub(super) fn operated(
    walk: &Walk<'_>,
    plan: &Binary,
    a: Point<'_>,
    b: Point<'_>,
) -> Result<Outcome, Error> {
    let outcome = match (a, b) {
        (Point::Number(a), Point::Number(b)) => numbers(plan.operator, a, b),
        (Point::Number(a), Point::Histogram(b)) => match plan.operator {
            Operator::Calculate(Calculation::Multiply) => {
                made(compact(times(Histogram::clone(b), a)))
            }
            _ => Outcome::Unknown,
        },
        (Point::Histogram(a), Point::Number(b)) => scaled(plan.operator, a, b),
        (Point::Histogram(a), Point::Histogram(b)) => {
            return histograms(walk, plan, a, b);
        }
    };
    if let Outcome::Unknown = outcome {
        unknown(walk, plan, a, b)?;
    }
    Ok(outcome)
}

/// Which of two numbers stays where a comparison holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stays {
    Left,
    Right,
}

/// Two rows of numbers by an operator, instant by instant; None if it makes nothing of numbers.
pub(super) fn operated_rows(
    operator: Operator,
    (a, b): (&Gapped, &Gapped),
    stays: Stays,
) -> Option<Gapped> {
    Some(match operator {
        Operator::Calculate(calculation) => calculated_rows(calculation, a, b),
        Operator::Compare { comparison, is_told: true } => {
            a.both(b, |a, b| f64::from(u8::from(compared(comparison, a.partial_cmp(&b)))))
        }
        Operator::Compare { comparison, is_told: false } => match stays {
            Stays::Left => a.where_both(b, |a, b| compared(comparison, a.partial_cmp(&b))),
            Stays::Right => b.where_both(a, |b, a| compared(comparison, a.partial_cmp(&b))),
        },
        _ => return None,
    })
}

fn made(of: Histogram) -> Outcome {
    Outcome::Made(Made::histogram(of))
}

fn unknown(walk: &Walk<'_>, plan: &Binary, a: Point<'_>, b: Point<'_>) -> Result<(), Error> {
    let [left, right] = [a, b].map(|point| matches!(point, Point::Histogram(_)));
    walk.note(Note::Types { left, operator: plan.operator, right }, plan.place)
}

fn numbers(operator: Operator, a: f64, b: f64) -> Outcome {
    match operator {
        Operator::Calculate(calculation) => {
            Outcome::Made(Made::Number(calculated(calculation, a, b, None)))
        }
        Operator::Compare { comparison, .. } => compared(comparison, a.partial_cmp(&b)).into(),
        _ => Outcome::Unknown,
    }
}

/// A histogram, and a number.
fn scaled(operator: Operator, a: &Histogram, b: f64) -> Outcome {
    match operator {
        Operator::Calculate(Calculation::Multiply) => made(compact(times(a.clone(), b))),
        Operator::Calculate(Calculation::Divide) => made(compact(divided(a.clone(), b))),
        Operator::Trim { keeps_below } => made(trimmed(a.clone(), b, keeps_below)),
        _ => Outcome::Unknown,
    }
}

fn histograms(
    walk: &Walk<'_>,
    plan: &Binary,
    a: &Histogram,
    b: &Histogram,
) -> Result<Outcome, Error> {
    let (sign, union) = match plan.operator {
        Operator::Calculate(Calculation::Add) => (1.0, Union::Addition),
        Operator::Calculate(Calculation::Subtract) => (-1.0, Union::Subtraction),
        Operator::Compare { comparison: Comparison::Equal, .. } => return Ok(is_same(a, b).into()),
        Operator::Compare { comparison: Comparison::NotEqual, .. } => {
            return Ok((!is_same(a, b)).into());
        }
        operator => {
            walk.note(Note::Types { left: true, operator, right: true }, plan.place)?;
            return Ok(Outcome::Unknown);
        }
    };
    let Ok((mut histogram, merged)) = two(a, b, sign) else {
        walk.note(Note::Layouts(plan.operator), plan.place)?;
        return Ok(Outcome::Unknown);
    };
    if merged.is_torn {
        walk.note(Note::Torn(union), plan.place)?;
    }
    if merged.is_reconciled {
        walk.note(Note::Reconciled(union), plan.place)?;
    }
    if union == Union::Subtraction {
        histogram.resets = Resets::Gauge;
    }
    Ok(made(histogram))
}
