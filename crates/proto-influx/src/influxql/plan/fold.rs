//! Calculates what needs no data: constants and times.

use super::time::{looks_like_time, parse_time};
use crate::influxql::ast::{Expr, Op};
use jiff::tz::TimeZone;

/// What is known while constants are folded.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// What `now()` is; nothing: it stays a call.
    pub(super) now_ns: Option<i64>,
    /// The zone that times are in.
    pub(super) zone: TimeZone,
    /// Whether functions of constants are calculated.
    pub(super) math: bool,
}

/// The expression with constants folded, and without parentheses around all of it.
pub(super) fn fold(expr: Expr, known: &Known) -> Expr {
    match fold_inside(expr, known) {
        Expr::Paren(inner) => *inner,
        other => other,
    }
}

/// The expression with constants folded.
pub(super) fn fold_inside(expr: Expr, known: &Known) -> Expr {
    match expr {
        Expr::Binary { op, left, right } => {
            binary(op, fold_boxed(left, known), fold_boxed(right, known), known)
        }
        Expr::Paren(inner) => {
            let inner = fold_boxed(inner, known);
            if matches!(*inner, Expr::Binary { .. }) { Expr::Paren(inner) } else { *inner }
        }
        Expr::Call { name, args } => {
            let args: Vec<Expr> = args.into_iter().map(|arg| fold_inside(arg, known)).collect();
            match (name.as_str(), args.is_empty(), known.now_ns) {
                ("now", true, Some(now_ns)) => Expr::Time(i128::from(now_ns)),
                _ if known.math => math(name, args),
                _ => Expr::Call { name, args },
            }
        }
        other => other,
    }
}

/// The same where it lies: most expressions stay what they are.
fn fold_boxed(mut expr: Box<Expr>, known: &Known) -> Box<Expr> {
    *expr = fold_inside(std::mem::replace(&mut *expr, Expr::Boolean(false)), known);
    expr
}

fn math(name: String, args: Vec<Expr>) -> Expr {
    let number = |expr: &Expr| match expr {
        Expr::Number(v) => Some(*v),
        Expr::Integer(v) => Some(*v as f64),
        Expr::Unsigned(v) => Some(*v as f64),
        _ => None,
    };
    let function = name.as_str();
    let folded = match args.as_slice() {
        [Expr::Integer(v)] if function == "abs" => Some(Expr::Integer(v.wrapping_abs())),
        [Expr::Integer(v)] if matches!(function, "floor" | "ceil" | "round") => {
            Some(Expr::Integer(*v))
        }
        [x] => number(x).and_then(|x| {
            Some(Expr::Number(match function {
                "abs" => x.abs(),
                "sin" => x.sin(),
                "cos" => x.cos(),
                "tan" => x.tan(),
                "asin" => x.asin(),
                "acos" => x.acos(),
                "atan" => x.atan(),
                "exp" => x.exp(),
                "ln" => x.ln(),
                "log2" => x.log2(),
                "log10" => x.log10(),
                "sqrt" => x.sqrt(),
                "floor" => x.floor(),
                "ceil" => x.ceil(),
                "round" => x.round(),
                _ => return None,
            }))
        }),
        [x, y] => number(x).zip(number(y)).and_then(|(x, y)| {
            Some(Expr::Number(match function {
                "atan2" => x.atan2(y),
                "pow" => x.powf(y),
                "log" => x.ln() / y.ln(),
                _ => return None,
            }))
        }),
        _ => None,
    };
    folded.unwrap_or(Expr::Call { name, args })
}

fn binary(op: Op, left: Box<Expr>, right: Box<Expr>, known: &Known) -> Expr {
    use Expr::Boolean;
    match (op, &*left, &*right) {
        (Op::And, Boolean(false), _) | (Op::And, _, Boolean(false)) => return Boolean(false),
        (Op::And, Boolean(true), _) | (Op::Or, Boolean(false), _) => return *right,
        (Op::And, _, Boolean(true)) | (Op::Or, _, Boolean(false)) => return *left,
        (Op::Or, Boolean(true), _) | (Op::Or, _, Boolean(true)) => return Boolean(true),
        _ => {}
    }
    let folded = constants(op, &left, &right).or_else(|| times(op, &left, &right, known));
    folded.unwrap_or(Expr::Binary { op, left, right })
}

fn compare<T: PartialOrd>(op: Op, a: &T, b: &T) -> Option<Expr> {
    Some(Expr::Boolean(match op {
        Op::Equal => a == b,
        Op::NotEqual => a != b,
        Op::Less => a < b,
        Op::LessOrEqual => a <= b,
        Op::Greater => a > b,
        Op::GreaterOrEqual => a >= b,
        _ => return None,
    }))
}

fn constants(op: Op, left: &Expr, right: &Expr) -> Option<Expr> {
    match (left, right) {
        (Expr::Boolean(a), Expr::Boolean(b)) => Some(Expr::Boolean(match op {
            Op::Equal => a == b,
            Op::NotEqual | Op::BitXor => a != b,
            Op::BitAnd => *a && *b,
            Op::BitOr => *a || *b,
            _ => return None,
        })),
        (Expr::Integer(a), Expr::Integer(b)) => integers(op, *a, *b),
        (Expr::Unsigned(a), Expr::Unsigned(b)) => unsigned(op, *a, *b),
        (Expr::Integer(a), Expr::Unsigned(b)) => match op {
            Op::Less | Op::LessOrEqual if *a < 0 => Some(Expr::Boolean(true)),
            Op::Greater | Op::GreaterOrEqual if *a < 0 => Some(Expr::Boolean(false)),
            _ => unsigned(op, *a as u64, *b),
        },
        (Expr::Unsigned(a), Expr::Integer(b)) => match op {
            Op::Less | Op::LessOrEqual if *b < 0 => Some(Expr::Boolean(false)),
            Op::Greater | Op::GreaterOrEqual if *b < 0 => Some(Expr::Boolean(true)),
            _ => unsigned(op, *a, *b as u64),
        },
        (Expr::Number(a), Expr::Number(b)) => numbers(op, *a, *b),
        (Expr::Number(a), Expr::Integer(b)) => numbers(op, *a, *b as f64),
        (Expr::Number(a), Expr::Unsigned(b)) => numbers(op, *a, *b as f64),
        (Expr::Integer(a), Expr::Number(b)) => numbers(op, *a as f64, *b),
        (Expr::Unsigned(a), Expr::Number(b)) => numbers(op, *a as f64, *b),
        (Expr::Duration(a), Expr::Duration(b)) => match op {
            Op::Add => Some(Expr::Duration(a.wrapping_add(*b))),
            Op::Subtract => Some(Expr::Duration(a.wrapping_sub(*b))),
            _ => compare(op, a, b),
        },
        (Expr::Duration(a), Expr::Integer(b)) => scale(op, *a, *b),
        (Expr::Duration(a), Expr::Number(b)) => scale(op, *a, *b as i64),
        _ => None,
    }
}

fn integers(op: Op, a: i64, b: i64) -> Option<Expr> {
    Some(Expr::Integer(match op {
        Op::Add => a.wrapping_add(b),
        Op::Subtract => a.wrapping_sub(b),
        Op::Multiply => a.wrapping_mul(b),
        Op::Divide if b == 0 => return Some(Expr::Number(0.0)),
        Op::Divide => return Some(Expr::Number(a as f64 / b as f64)),
        Op::Modulo if b == 0 => 0,
        Op::Modulo => a.wrapping_rem(b),
        Op::BitAnd => a & b,
        Op::BitOr => a | b,
        Op::BitXor => a ^ b,
        _ => return compare(op, &a, &b),
    }))
}

fn unsigned(op: Op, a: u64, b: u64) -> Option<Expr> {
    Some(Expr::Unsigned(match op {
        Op::Add => a.wrapping_add(b),
        Op::Subtract => a.wrapping_sub(b),
        Op::Multiply => a.wrapping_mul(b),
        Op::Divide => a.checked_div(b).unwrap_or(0),
        Op::Modulo => a.checked_rem(b).unwrap_or(0),
        _ => return compare(op, &a, &b),
    }))
}

fn numbers(op: Op, a: f64, b: f64) -> Option<Expr> {
    Some(Expr::Number(match op {
        Op::Add => a + b,
        Op::Subtract => a - b,
        Op::Multiply => a * b,
        Op::Divide if b == 0.0 => 0.0,
        Op::Divide => a / b,
        Op::Modulo => a % b,
        _ => return compare(op, &a, &b),
    }))
}

fn scale(op: Op, duration_ns: i64, by: i64) -> Option<Expr> {
    match op {
        Op::Multiply => Some(Expr::Duration(duration_ns.wrapping_mul(by))),
        Op::Divide => Some(Expr::Duration(duration_ns.checked_div(by).unwrap_or(0))),
        _ => None,
    }
}

/// Operators on times, among them texts that look like times and integers beside durations.
fn times(op: Op, left: &Expr, right: &Expr, known: &Known) -> Option<Expr> {
    let text = |text: &str| parse_time(text, &known.zone).ok().filter(|_| looks_like_time(text));
    match (left, right) {
        (Expr::String(a), Expr::String(b)) => {
            if let (Some(a), Some(b)) = (text(a), text(b))
                && !matches!(op, Op::Add)
            {
                return instants(op, a, b);
            }
            match op {
                Op::Add => Some(Expr::String(format!("{a}{b}"))),
                Op::Equal => Some(Expr::Boolean(a == b)),
                Op::NotEqual => Some(Expr::Boolean(a != b)),
                _ => None,
            }
        }
        (Expr::Time(a), Expr::Time(b)) => instants(op, *a, *b),
        (Expr::String(a), Expr::Time(b)) => instants(op, text(a)?, *b),
        (Expr::Time(a), Expr::String(b)) => instants(op, *a, text(b)?),
        (Expr::Time(a), Expr::Duration(b) | Expr::Integer(b)) => shift(op, *a, *b),
        (Expr::String(a), Expr::Duration(b) | Expr::Integer(b)) => shift(op, text(a)?, *b),
        (Expr::Integer(a), Expr::Duration(b)) => shift(op, i128::from(*a), *b),
        (Expr::Duration(a) | Expr::Integer(a), Expr::Time(b)) if op == Op::Add => shift(op, *b, *a),
        (Expr::Duration(a) | Expr::Integer(a), Expr::String(b)) if op == Op::Add => {
            shift(op, text(b)?, *a)
        }
        _ => None,
    }
}

fn shift(op: Op, time_ns: i128, by_ns: i64) -> Option<Expr> {
    match op {
        Op::Add => Some(Expr::Time(time_ns + i128::from(by_ns))),
        Op::Subtract => Some(Expr::Time(time_ns - i128::from(by_ns))),
        _ => None,
    }
}

fn instants(op: Op, a: i128, b: i128) -> Option<Expr> {
    match op {
        Op::Subtract => i64::try_from(a - b).ok().map(Expr::Duration),
        _ => compare(op, &a, &b),
    }
}
