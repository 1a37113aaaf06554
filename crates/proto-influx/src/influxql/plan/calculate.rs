//! Expressions to calculations.

use super::schema::is_math;
use super::{PlanError, regex};
use crate::influxql::ast::{Cast, Expr, Op};
use foliot_model::Item;
use foliot_plan::rows::{Calculate, Math, Operator};

/// Puts names and calls into slots; nothing: the expression is none of both.
pub(super) type Place<'a> = &'a mut dyn FnMut(&Expr) -> Result<Option<usize>, PlanError>;

/// The calculation of an expression. `whole` says that integers divide into integers.
pub(super) fn calculate(
    expr: &Expr,
    whole: bool,
    place: Place<'_>,
) -> Result<Calculate, PlanError> {
    if let Some(slot) = place(expr)? {
        return Ok(Calculate::Slot(slot));
    }
    Ok(match expr {
        Expr::Binary { op: op @ (Op::Matches | Op::NotMatches), left, right } => {
            let (text, pattern) = match (&**left, &**right) {
                (text, Expr::Regex(pattern)) | (Expr::Regex(pattern), text) => (text, pattern),
                _ => return Ok(Calculate::Constant(Item::Null)),
            };
            let text = Box::new(calculate(text, whole, place)?);
            Calculate::Passes { text, test: regex(pattern)?, negated: *op == Op::NotMatches }
        }
        Expr::Binary { op, left, right } => {
            let is_label = |expr: &Expr| matches!(expr, Expr::Var { cast: Some(Cast::Tag), .. });
            let is_text = |expr: &Expr| matches!(expr, Expr::String(_));
            let compares_label =
                is_label(left) && is_text(right) || is_text(left) && is_label(right);
            let operator = match operator(*op, whole) {
                // Labels are equal to a text or they are not.
                Operator::Less
                | Operator::LessOrEqual
                | Operator::Greater
                | Operator::GreaterOrEqual
                    if compares_label =>
                {
                    Operator::NotEqual
                }
                operator => operator,
            };
            let left = Box::new(calculate(left, whole, place)?);
            Calculate::Binary { operator, left, right: Box::new(calculate(right, whole, place)?) }
        }
        Expr::Paren(inner) => calculate(inner, whole, place)?,
        Expr::Call { name, args } if is_math(name) => {
            let arguments: Result<Vec<_>, _> =
                args.iter().map(|arg| calculate(arg, whole, place)).collect();
            Calculate::Math { function: math(name), arguments: arguments? }
        }
        Expr::Integer(value) => Calculate::Constant(Item::Integer(*value)),
        Expr::Unsigned(value) => Calculate::Constant(Item::Unsigned(*value)),
        Expr::Number(value) => Calculate::Constant(Item::Float(*value)),
        Expr::String(text) => Calculate::Constant(Item::String(text.as_str().into())),
        Expr::Boolean(value) => Calculate::Constant(Item::Boolean(*value)),
        _ => Calculate::Constant(Item::Null),
    })
}

fn operator(op: Op, whole: bool) -> Operator {
    match op {
        Op::Add => Operator::Add,
        Op::Subtract => Operator::Subtract,
        Op::Multiply => Operator::Multiply,
        Op::Divide if whole => Operator::DivideWhole,
        Op::Divide => Operator::Divide,
        Op::Modulo => Operator::Modulo,
        Op::BitAnd => Operator::BitAnd,
        Op::BitOr => Operator::BitOr,
        Op::BitXor => Operator::BitXor,
        Op::And => Operator::And,
        Op::Or => Operator::Or,
        Op::Equal | Op::Matches => Operator::Equal,
        Op::NotEqual | Op::NotMatches => Operator::NotEqual,
        Op::Less => Operator::Less,
        Op::LessOrEqual => Operator::LessOrEqual,
        Op::Greater => Operator::Greater,
        Op::GreaterOrEqual => Operator::GreaterOrEqual,
    }
}

fn math(name: &str) -> Math {
    match name {
        "abs" => Math::Abs,
        "sin" => Math::Sin,
        "cos" => Math::Cos,
        "tan" => Math::Tan,
        "asin" => Math::Asin,
        "acos" => Math::Acos,
        "atan" => Math::Atan,
        "atan2" => Math::Atan2,
        "exp" => Math::Exp,
        "ln" => Math::Ln,
        "log" => Math::Log,
        "log2" => Math::Log2,
        "log10" => Math::Log10,
        "sqrt" => Math::Sqrt,
        "pow" => Math::Pow,
        "floor" => Math::Floor,
        "ceil" => Math::Ceil,
        _ => Math::Round,
    }
}
