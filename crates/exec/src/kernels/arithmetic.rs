//! Arithmetic of two numbers, and calculations of many steps.

use crate::grids::Gapped;
use foliot_plan::grid::{Calculation, Comparison};
use foliot_plan::{Step, Term};
use std::cmp::Ordering;

/// What two numbers come to; division by zero comes to `by_zero`, or what IEEE 754 says.
pub(crate) fn calculated(calculation: Calculation, a: f64, b: f64, by_zero: Option<f64>) -> f64 {
    match (calculation, by_zero) {
        (Calculation::Divide | Calculation::Remainder, Some(by_zero)) if b == 0.0 => by_zero,
        (Calculation::Add, _) => a + b,
        (Calculation::Subtract, _) => a - b,
        (Calculation::Multiply, _) => a * b,
        (Calculation::Divide, _) => a / b,
        (Calculation::Remainder, _) => a % b,
        (Calculation::Power, _) => a.powf(b),
        (Calculation::Angle, _) => a.atan2(b),
        (Calculation::Lower, _) => -higher(-a, -b),
        (Calculation::Higher, _) => higher(a, b),
    }
}

/// The same of two rows, where both have a number. Those met all the time have loops of their own.
pub(crate) fn calculated_rows(calculation: Calculation, a: &Gapped, b: &Gapped) -> Gapped {
    match calculation {
        Calculation::Add => a.both(b, |a, b| a + b),
        Calculation::Subtract => a.both(b, |a, b| a - b),
        Calculation::Multiply => a.both(b, |a, b| a * b),
        Calculation::Divide => a.both(b, |a, b| a / b),
        other => a.both(b, |a, b| calculated(other, a, b, None)),
    }
}

/// The higher of two, as Go has it: of infinity and what is no number, the former.
pub(crate) fn higher(a: f64, b: f64) -> f64 {
    match () {
        () if a == f64::INFINITY || b == f64::INFINITY => f64::INFINITY,
        () if a.is_nan() || b.is_nan() => f64::NAN,
        () => a.max(b),
    }
}

/// Whether a comparison holds of two that are in this order, or in none.
pub(crate) fn compared(comparison: Comparison, order: Option<Ordering>) -> bool {
    match comparison {
        Comparison::Equal => order.is_some_and(Ordering::is_eq),
        Comparison::NotEqual => order.is_none_or(Ordering::is_ne),
        Comparison::Greater => order.is_some_and(Ordering::is_gt),
        Comparison::GreaterOrEqual => order.is_some_and(Ordering::is_ge),
        Comparison::Less => order.is_some_and(Ordering::is_lt),
        Comparison::LessOrEqual => order.is_some_and(Ordering::is_le),
    }
}

/// What a calculation comes to with the numbers of its inputs. Only its memory is taken of `stack`.
pub(crate) fn worked_out(term: &Term, inputs: &[f64], stack: &mut Vec<f64>) -> f64 {
    stack.clear();
    for step in &term.0 {
        let mut pop = || stack.pop().unwrap_or(f64::NAN);
        let value = match *step {
            Step::Number(number) => number,
            Step::Input(place) => inputs.get(place).copied().unwrap_or(f64::NAN),
            Step::Negated => -pop(),
            Step::Not => truth(!is_true(pop())),
            Step::Chosen => {
                let (no, yes) = (pop(), pop());
                if is_true(pop()) { yes } else { no }
            }
            two => {
                let (b, a) = (pop(), pop());
                match two {
                    Step::Calculated(calculation) => calculated(calculation, a, b, Some(0.0)),
                    Step::Compared(comparison) => truth(compared(comparison, Some(order(a, b)))),
                    Step::And => truth(is_true(a) && is_true(b)),
                    _ => truth(is_true(a) || is_true(b)),
                }
            }
        };
        stack.push(value);
    }
    stack.pop().unwrap_or(f64::NAN)
}

fn truth(is: bool) -> f64 {
    if is { 1.0 } else { 0.0 }
}

fn is_true(value: f64) -> bool {
    value != 0.0 && !value.is_nan()
}

/// What is no number is less than all others, and equal to itself.
fn order(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| b.is_nan().cmp(&a.is_nan()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Step::{And, Calculated, Chosen, Compared, Input, Negated, Not, Number, Or};

    #[test]
    fn steps_take_the_numbers_before_them() {
        let (divide, remainder) = (Calculation::Divide, Calculation::Remainder);
        for (steps, expected) in [
            (vec![Input(0), Input(1), Calculated(Calculation::Subtract)], 2.0),
            (vec![Input(0), Input(1), Calculated(divide)], 1.5),
            (vec![Input(0), Number(0.0), Calculated(divide)], 0.0),
            (vec![Input(0), Number(0.0), Calculated(remainder)], 0.0),
            (vec![Input(0), Input(1), Calculated(remainder), Negated], -2.0),
            (vec![Input(0), Not], 0.0),
            (vec![Input(2), Not], 1.0),
            (vec![Input(2), Input(2), Compared(Comparison::Equal)], 1.0),
            (vec![Input(2), Number(-1e300), Compared(Comparison::Less)], 1.0),
            (vec![Input(0), Input(1), Compared(Comparison::LessOrEqual)], 0.0),
            (vec![Input(0), Input(2), Or, Input(1), And], 1.0),
            (vec![Number(0.0), Input(0), Input(1), Chosen], 4.0),
            (vec![Number(3.0), Input(0), Input(1), Chosen], 6.0),
        ] {
            let found = worked_out(&Term(steps.clone()), &[6.0, 4.0, f64::NAN], &mut Vec::new());
            assert_eq!(found, expected, "{steps:?}");
        }
        let nowhere = worked_out(&Term(vec![Input(9)]), &[], &mut Vec::new());
        assert!(nowhere.is_nan());
    }

    #[test]
    fn what_is_in_no_order_is_only_unequal() {
        use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        for comparison in [Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual] {
            assert_eq!(compared(comparison, None), comparison == NotEqual);
        }
        assert_eq!(calculated(Calculation::Divide, 1.0, 0.0, None), f64::INFINITY);
    }
}
