//! Operators between two values.

use super::{alike, both, compared};
use crate::lowering::{Lowering, unlike};
use crate::time::Length;
use crate::typed::{Type, Typed};
use crate::{SqlError, constant, refused, span};
use foliot_model::Item;
use foliot_plan::relation::{Formula, Words};
use foliot_plan::rows::{Math, Operator};
use sqlparser::ast::{BinaryOperator, Expr};

impl Lowering<'_> {
    /// `left op right`
    pub(super) fn binary(
        &mut self,
        expr: &Expr,
        (left, op, right): (&Expr, &BinaryOperator, &Expr),
    ) -> Result<Typed, SqlError> {
        let comparison = |op: &BinaryOperator| {
            Some(match op {
                BinaryOperator::Eq => Operator::Equal,
                BinaryOperator::NotEq => Operator::NotEqual,
                BinaryOperator::Lt => Operator::Less,
                BinaryOperator::LtEq => Operator::LessOrEqual,
                BinaryOperator::Gt => Operator::Greater,
                BinaryOperator::GtEq => Operator::GreaterOrEqual,
                _ => return None,
            })
        };
        let arithmetic = |op: &BinaryOperator| {
            Some(match op {
                BinaryOperator::Plus => Operator::Add,
                BinaryOperator::Minus => Operator::Subtract,
                BinaryOperator::Multiply => Operator::Multiply,
                BinaryOperator::Divide => Operator::Divide,
                BinaryOperator::Modulo => Operator::Modulo,
                BinaryOperator::BitwiseAnd => Operator::BitAnd,
                BinaryOperator::BitwiseOr => Operator::BitOr,
                BinaryOperator::PGBitwiseXor => Operator::BitXor,
                _ => return None,
            })
        };
        match op {
            BinaryOperator::And | BinaryOperator::Or => {
                let is_and = matches!(op, BinaryOperator::And);
                let operator = if is_and { Operator::And } else { Operator::Or };
                let (left, right) = (self.truth(left)?, self.truth(right)?);
                let truth = |formula| Typed::new(formula, Type::Boolean);
                Ok(both(operator, truth(left), truth(right)))
            }
            BinaryOperator::PGRegexMatch => self.regex(expr, (left, right), (false, false)),
            BinaryOperator::PGRegexIMatch => self.regex(expr, (left, right), (true, false)),
            BinaryOperator::PGRegexNotMatch => self.regex(expr, (left, right), (false, true)),
            BinaryOperator::PGRegexNotIMatch => self.regex(expr, (left, right), (true, true)),
            BinaryOperator::PGExp => {
                let (left, right) = (self.expr(left)?, self.expr(right)?);
                power(expr, left, right)
            }
            BinaryOperator::StringConcat => {
                let (left, right) = (self.expr(left)?, self.expr(right)?);
                concatenated(expr, left, right)
            }
            op => {
                if let Some(operator) = comparison(op) {
                    let (left, right) = (self.expr(left)?, self.expr(right)?);
                    return compared(expr, operator, left, right);
                }
                let Some(operator) = arithmetic(op) else {
                    return Err(refused::expression(expr));
                };
                let (left, right) = (self.expr(left)?, self.expr(right)?);
                calculated(expr, operator, left, right)
            }
        }
    }
}

/// x to the y, as a float.
pub(crate) fn power(expr: &Expr, left: Typed, right: Typed) -> Result<Typed, SqlError> {
    if !left.of.is_number() || !right.of.is_number() {
        return unlike(expr, "^", &left, &right);
    }
    let arguments = vec![left.formula, right.formula];
    Ok(Typed::new(Formula::Math { function: Math::Pow, arguments }, Type::Float))
}

/// Two texts one behind the other; null if one is.
fn concatenated(expr: &Expr, left: Typed, right: Typed) -> Result<Typed, SqlError> {
    if left.of == Type::Interval || right.of == Type::Interval {
        return span::error(expr, "|| joins texts: CAST an interval's seconds to text");
    }
    let arguments = vec![left.formula, right.formula];
    Ok(Typed::new(Formula::Text { function: Words::Join, arguments }, Type::Text))
}

fn calculated(
    expr: &Expr,
    operator: Operator,
    left: Typed,
    right: Typed,
) -> Result<Typed, SqlError> {
    // A text that stands there is what the other side needs.
    let (left, right) = match (left.of, right.of, operator) {
        (Type::Time, Type::Text, Operator::Add | Operator::Subtract) => {
            (left, as_length_or_time(expr, right)?)
        }
        (Type::Time | Type::Interval, _, _) | (_, Type::Time | Type::Interval, _) => (left, right),
        (Type::Text, _, _) | (_, Type::Text, _) => alike(expr, "an operator", left, right)?,
        _ => (left, right),
    };
    let add = operator == Operator::Add;
    let is_shift = matches!(operator, Operator::Add | Operator::Subtract);
    match (left.of, right.of) {
        (Type::Time, Type::Interval) if is_shift => {
            shifted(expr, left, right, if add { 1 } else { -1 })
        }
        (Type::Interval, Type::Time) if add => shifted(expr, right, left, 1),
        (Type::Time, Type::Time) if operator == Operator::Subtract => {
            Ok(binary(operator, left, right, Type::Interval))
        }
        (Type::Interval, Type::Interval) if is_shift => lengths(expr, operator, left, right),
        (Type::Interval, of) if of.is_number() => scaled(expr, operator, left, right),
        (of, Type::Interval) if of.is_number() && operator == Operator::Multiply => {
            scaled(expr, operator, right, left)
        }
        (Type::Time, Type::Integer) | (Type::Integer, Type::Time) if is_shift => {
            span::error(expr, "a timestamp is moved by an interval: write time + INTERVAL '1 hour'")
        }
        (a, b) if a.is_number() && b.is_number() => {
            let is_whole = a.is_whole() && b.is_whole();
            let are_bits =
                matches!(operator, Operator::BitAnd | Operator::BitOr | Operator::BitXor);
            if are_bits && !is_whole {
                return span::error(expr, "bits are those of integers: CAST to bigint");
            }
            let of = a.joined(b).unwrap_or(Type::Float);
            Ok(binary(operator, left, right, of))
        }
        _ => unlike(expr, "an operator", &left, &right),
    }
}

fn binary(operator: Operator, left: Typed, right: Typed, of: Type) -> Typed {
    let (left, right) = (Box::new(left.formula), Box::new(right.formula));
    Typed::new(Formula::Binary { operator, left, right }, of)
}

fn as_length_or_time(expr: &Expr, typed: Typed) -> Result<Typed, SqlError> {
    let text = typed.text().unwrap_or_default();
    let read = constant::read(text, Type::Interval).or_else(|| constant::read(text, Type::Time));
    match read {
        Some(read) => Ok(read),
        None => span::error(expr, "a timestamp is moved by an interval, such as INTERVAL '1 hour'"),
    }
}

/// A time that is moved by an interval.
fn shifted(expr: &Expr, time: Typed, by: Typed, sign: i32) -> Result<Typed, SqlError> {
    let Some(length) = constant::length(&by) else {
        let operator = if sign < 0 { Operator::Subtract } else { Operator::Add };
        return Ok(binary(operator, time, by, Type::Time));
    };
    match constant::moved(&time, length, sign) {
        Some(moved) => Ok(moved),
        None if length.months != 0 => span::error(
            expr,
            "months have no fixed length, so only now() and other constants are moved by them: \
             use days",
        ),
        None => span::error(expr, "the time lies beyond what nanoseconds can say"),
    }
}

/// The sum or the difference of two intervals.
fn lengths(expr: &Expr, operator: Operator, left: Typed, right: Typed) -> Result<Typed, SqlError> {
    let (Some(a), Some(b)) = (constant::length(&left), constant::length(&right)) else {
        return Ok(binary(operator, left, right, Type::Interval));
    };
    let sign = if operator == Operator::Subtract { -1 } else { 1 };
    let joined = || {
        let nanos = a.nanos.checked_add(b.nanos.checked_mul(i64::from(sign))?)?;
        Some(Length { months: a.months.checked_add(b.months.checked_mul(sign)?)?, nanos })
    };
    match joined() {
        Some(length) => Ok(constant::interval(length)),
        None => span::error(expr, "the interval is too long"),
    }
}

/// So many times an interval, or a part of it.
fn scaled(
    expr: &Expr,
    operator: Operator,
    interval: Typed,
    factor: Typed,
) -> Result<Typed, SqlError> {
    let number = match factor.item() {
        Some(Item::Integer(number)) => Some(*number as f64),
        Some(Item::Float(number)) => Some(*number),
        _ => None,
    };
    let number = match operator {
        Operator::Multiply => number,
        Operator::Divide => number.map(|number| 1.0 / number),
        _ => return unlike(expr, "an operator", &interval, &factor),
    };
    let scaled = constant::length(&interval).zip(number);
    match scaled.and_then(|(length, number)| constant::times(length, number)) {
        Some(length) => Ok(constant::interval(length)),
        None => span::error(
            expr,
            "an interval that stands in the statement is multiplied by a number that does, too: \
             write extract(epoch FROM ...) to calculate with seconds",
        ),
    }
}
