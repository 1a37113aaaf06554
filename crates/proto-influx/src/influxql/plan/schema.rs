//! The types of expressions, as far as they are known before anything is read.

use super::condition::Bounds;
use super::{Context, PlanError};
use crate::influxql::ast::{Cast, Expr, Op, Select};
use foliot_model::{Kind, NamespaceId, TableShape};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// A type; nothing is the unknown one, `Cast::Field` a field of any type.
pub(super) type Type = Option<Cast>;

/// A source whose measurements are known.
#[derive(Clone, Debug)]
pub(super) enum Resolved {
    /// Measurements by name.
    Shapes(Vec<TableShape>),
    /// Another selection.
    Subquery(Box<Statement>),
}

/// A selection whose sources are known.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    /// What it says, but for its sources and its condition.
    pub(super) select: Select,
    /// Its condition on anything but time, with constants folded.
    pub(super) condition: Option<Arc<Expr>>,
    /// The times that its condition asks for.
    pub(super) bounds: Bounds,
    pub(super) sources: Vec<Resolved>,
    /// Whether the time is no column.
    pub(super) omits_time: bool,
    /// What the column of the time is called.
    pub(super) time_name: Cow<'static, str>,
    /// Whether no function stands in it.
    pub(super) is_raw: bool,
    /// The length and shift of its windows, as written.
    pub(super) windows: Option<(i64, i64)>,
}

type LabelNames = Arc<[Arc<str>]>;

/// Looks up what sources have; labels are asked for once per measurement.
pub(super) struct Schema<'a> {
    context: &'a Context<'a>,
    labels: RefCell<HashMap<(NamespaceId, Arc<str>), LabelNames>>,
}

impl<'a> Schema<'a> {
    pub(super) fn new(context: &'a Context<'a>) -> Self {
        Self { context, labels: Default::default() }
    }

    pub(super) fn labels(&self, shape: &TableShape) -> LabelNames {
        let key = (shape.namespace, shape.measurement.clone());
        let mut known = self.labels.borrow_mut();
        known.entry(key).or_insert_with(|| (self.context.labels)(shape).into()).clone()
    }

    /// The type of a name in some sources.
    pub(super) fn of_name(&self, name: &str, sources: &[Resolved]) -> Type {
        let mut found: Type = None;
        for source in sources {
            match source {
                Resolved::Shapes(shapes) => {
                    for shape in shapes {
                        found = prefer(found, self.of_shape(name, shape));
                    }
                }
                Resolved::Subquery(inner) => {
                    if let Some(expr) = field_expr(&inner.select, name) {
                        found = prefer(found, self.eval(expr, &inner.sources).unwrap_or_default());
                    }
                    if found.is_none() && has_dimension(&inner.select, name) {
                        found = Some(Cast::Tag);
                    }
                }
            }
        }
        found
    }

    /// The type of a name in one measurement.
    pub(super) fn of_shape(&self, name: &str, shape: &TableShape) -> Type {
        match shape.kind(name) {
            Some(Kind::Float) => Some(Cast::Float),
            Some(Kind::Integer) => Some(Cast::Integer),
            Some(Kind::Unsigned) => Some(Cast::Unsigned),
            Some(Kind::Boolean) => Some(Cast::Boolean),
            Some(Kind::String) => Some(Cast::String),
            Some(Kind::Histogram) => None,
            None if name == "_name" => Some(Cast::String),
            None => self.labels(shape).iter().any(|label| **label == *name).then_some(Cast::Tag),
        }
    }

    /// The type of an expression.
    pub(super) fn eval(&self, expr: &Expr, sources: &[Resolved]) -> Result<Type, PlanError> {
        Ok(match expr {
            Expr::Var { name, cast: None | Some(Cast::Field) } => self.of_name(name, sources),
            Expr::Var { cast, .. } => *cast,
            Expr::Call { name, args } => {
                let types: Result<Vec<Type>, _> =
                    args.iter().map(|arg| self.eval(arg, sources)).collect();
                call_type(name, &types?)
            }
            Expr::Binary { op, left, right } => {
                let (a, b) = (self.eval(left, sources)?, self.eval(right, sources)?);
                binary_type(expr, *op, (left, a), (right, b))?
            }
            Expr::Paren(inner) => self.eval(inner, sources)?,
            Expr::Number(_) => Some(Cast::Float),
            Expr::Integer(_) => Some(Cast::Integer),
            Expr::Unsigned(_) => Some(Cast::Unsigned),
            Expr::String(_) => Some(Cast::String),
            Expr::Boolean(_) => Some(Cast::Boolean),
            Expr::Wildcard(_) | Expr::Distinct(_) | Expr::Duration(_) | Expr::Regex(_) => None,
            Expr::Time(_) => None,
        })
    }
}

/// The one of two types that wins where sources disagree.
pub(super) fn prefer(a: Type, b: Type) -> Type {
    let rank = |cast: Cast| match cast {
        Cast::Float => 0,
        Cast::Integer => 1,
        Cast::Unsigned => 2,
        Cast::String => 3,
        Cast::Boolean => 4,
        Cast::Tag => 5,
        Cast::Field => 6,
    };
    match (a, b) {
        (Some(x), Some(y)) if rank(y) < rank(x) => b,
        (Some(_), _) => a,
        (None, _) => b,
    }
}

/// The expression behind a column of a selection.
pub(super) fn field_expr<'e>(select: &'e Select, name: &str) -> Option<&'e Expr> {
    select.fields.iter().find_map(|field| {
        if super::names::field_name(field) == name {
            return Some(&field.expr);
        }
        match &field.expr {
            Expr::Call { name: call, args } if is_top(call) => args
                .iter()
                .skip(1)
                .find(|arg| matches!(arg, Expr::Var { name: found, .. } if found == name)),
            _ => None,
        }
    })
}

pub(super) fn is_top(call: &str) -> bool {
    matches!(call, "top" | "bottom")
}

pub(super) fn has_dimension(select: &Select, name: &str) -> bool {
    let is_it = |expr: &Expr| matches!(expr, Expr::Var { name: found, .. } if found == name);
    select.dimensions.iter().any(is_it)
}

/// Whether a function is one of numbers, not of rows.
pub(super) fn is_math(name: &str) -> bool {
    const MATH: [&str; 18] = [
        "abs", "acos", "asin", "atan", "atan2", "ceil", "cos", "exp", "floor", "ln", "log",
        "log10", "log2", "pow", "round", "sin", "sqrt", "tan",
    ];
    MATH.binary_search(&name).is_ok()
}

/// The type that a selection around this one reads a function's values as: for mathematics too that
/// of the argument, so that `max(x)` of `sin(i) AS x` is an integer if `i` is one.
fn call_type(name: &str, args: &[Type]) -> Type {
    match name {
        "count" | "elapsed" => Some(Cast::Integer),
        "mean"
        | "median"
        | "integral"
        | "stddev"
        | "derivative"
        | "non_negative_derivative"
        | "moving_average"
        | "exponential_moving_average"
        | "double_exponential_moving_average"
        | "triple_exponential_moving_average"
        | "relative_strength_index"
        | "triple_exponential_derivative"
        | "kaufmans_efficiency_ratio"
        | "kaufmans_adaptive_moving_average"
        | "chande_momentum_oscillator"
        | "holt_winters"
        | "holt_winters_with_fit" => Some(Cast::Float),
        _ => args.first().copied().flatten(),
    }
}

fn binary_type(
    expr: &Expr,
    op: Op,
    (left, a): (&Expr, Type),
    (right, b): (&Expr, Type),
) -> Result<Type, PlanError> {
    let refusal = |text: String| PlanError::new(format!("type error: {expr}: {text}"));
    let refuse = |text: String| Err(refusal(text));
    let mixes = |whole: &Expr, unsigned: &Expr| {
        if unsigned.is_literal() {
            refuse(format!("cannot use {} with an integer and unsigned literal", op.text()))
        } else if !whole.is_literal() {
            let text = "between an integer and unsigned, an explicit cast is required";
            refuse(format!("cannot use {} {text}", op.text()))
        } else {
            Ok(())
        }
    };
    match (a, b) {
        (Some(Cast::Unsigned), Some(Cast::Integer)) => mixes(right, left)?,
        (Some(Cast::Integer), Some(Cast::Unsigned)) => mixes(left, right)?,
        _ => {}
    }
    let (Some(a), Some(b)) = (a, b) else { return Ok(a.or(b)) };
    let is_bitwise = matches!(op, Op::BitAnd | Op::BitOr | Op::BitXor);
    let is_logical = matches!(op, Op::And | Op::Or);
    let found = match (a, b) {
        _ if (3..=3).contains(&op.precedence()) => Some(Cast::Boolean),
        (Cast::Boolean, Cast::Boolean) if is_bitwise || is_logical => Some(Cast::Boolean),
        (Cast::Float, Cast::Float | Cast::Integer | Cast::Unsigned)
        | (Cast::Integer | Cast::Unsigned, Cast::Float)
            if !is_bitwise && !is_logical =>
        {
            Some(Cast::Float)
        }
        (Cast::Integer, Cast::Integer) if !is_logical => Some(Cast::Integer),
        (Cast::Integer | Cast::Unsigned, Cast::Integer | Cast::Unsigned) if !is_logical => {
            Some(Cast::Unsigned)
        }
        // A boolean beside something else is false under these.
        (Cast::Boolean, _) if is_bitwise || is_logical => Some(Cast::Boolean),
        _ => None,
    };
    match found {
        Some(found) => Ok(Some(found)),
        None => Err(refusal(format!("incompatible types: {} and {}", a.text(), b.text()))),
    }
}
