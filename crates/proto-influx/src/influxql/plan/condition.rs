//! Conditions: the range of time they ask for, and what is left.

use super::PlanError;
use super::fold::{Known, fold, fold_inside};
use super::time::{format_time, looks_like_time, parse_time};
use crate::influxql::ast::{Expr, Op};
use foliot_model::TimeRange;
use jiff::tz::TimeZone;

/// The times that exist, with room for a time before and after all of them.
pub(super) const TIME_MIN_NS: i64 = i64::MIN + 2;
pub(super) const TIME_MAX_NS: i64 = i64::MAX - 1;

/// A range of time of which ends may be open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) min_ns: Option<i64>,
    pub(super) max_ns: Option<i64>,
}

impl Bounds {
    pub(super) fn intersect(self, other: Self) -> Self {
        let pick = |a: Option<i64>, b: Option<i64>, choose: fn(i64, i64) -> i64| match (a, b) {
            (Some(a), Some(b)) => Some(choose(a, b)),
            (a, b) => a.or(b),
        };
        Self {
            min_ns: pick(self.min_ns, other.min_ns, i64::max),
            max_ns: pick(self.max_ns, other.max_ns, i64::min),
        }
    }
}

/// Takes a condition apart. A condition that is always true is none.
pub(super) fn split(
    condition: Option<Expr>,
    known: &Known,
) -> Result<(Option<Expr>, Bounds), PlanError> {
    let Some(condition) = condition else { return Ok((None, Bounds::default())) };
    let (rest, bounds) = split_inside(condition, known)?;
    let rest = match rest {
        Some(Expr::Paren(inner)) => Some(*inner),
        other => other,
    };
    Ok((rest.filter(is_open), bounds))
}

/// What is left of a condition once functions of constants are calculated.
pub(super) fn calculated(rest: Option<Expr>, known: &Known) -> Option<Expr> {
    let known = Known { math: true, ..known.clone() };
    rest.map(|rest| fold(rest, &known)).filter(is_open)
}

/// Whether a condition says anything.
fn is_open(rest: &Expr) -> bool {
    *rest != Expr::Boolean(true)
}

fn split_inside(condition: Expr, known: &Known) -> Result<(Option<Expr>, Bounds), PlanError> {
    match condition {
        Expr::Binary { op: op @ (Op::And | Op::Or), left, right } => {
            let (left, left_bounds) = split_inside(*left, known)?;
            let (right, right_bounds) = split_inside(*right, known)?;
            // There is no such thing as one time or another.
            let bounds = left_bounds.intersect(right_bounds);
            let rest = match (left, right) {
                (Some(left), Some(right)) => {
                    let (left, right) = (Box::new(left), Box::new(right));
                    let both = Expr::Binary { op, left, right };
                    Some(fold_inside(both, &Known { now_ns: None, ..known.clone() }))
                }
                (left, right) => left.or(right),
            };
            Ok((rest, bounds))
        }
        Expr::Binary { op, left, right } if is_time(&left) => {
            Ok((None, bounds(op, *right, known)?))
        }
        Expr::Binary { op, left, right } if is_time(&right) => {
            let op = match op {
                Op::Greater => Op::Less,
                Op::Less => Op::Greater,
                Op::GreaterOrEqual => Op::LessOrEqual,
                Op::LessOrEqual => Op::GreaterOrEqual,
                other => other,
            };
            Ok((None, bounds(op, *left, known)?))
        }
        Expr::Binary { .. } => Ok((Some(fold_inside(condition, known)), Bounds::default())),
        Expr::Paren(inner) => {
            let (rest, bounds) = split_inside(*inner, known)?;
            let paren = |rest| fold_inside(Expr::Paren(Box::new(rest)), known);
            Ok((rest.map(paren), bounds))
        }
        Expr::Boolean(_) => Ok((Some(condition), Bounds::default())),
        other => Err(PlanError::new(format!("invalid condition expression: {other}"))),
    }
}

fn is_time(expr: &Expr) -> bool {
    matches!(expr, Expr::Var { name, .. } if name.eq_ignore_ascii_case("time"))
}

/// The times that compare so with a time that is written, in UTC.
///
/// # Errors
/// With InfluxDB's sentence, when that is none.
pub(in crate::influxql) fn time_range(
    op: Op,
    time: &Expr,
    now_ns: i64,
) -> Result<TimeRange, PlanError> {
    let known = Known { now_ns: Some(now_ns), zone: TimeZone::UTC, math: false };
    let Bounds { min_ns, max_ns } = bounds(op, time.clone(), &known)?;
    Ok(TimeRange::new(min_ns.unwrap_or(i64::MIN), max_ns.unwrap_or(i64::MAX)))
}

fn bounds(op: Op, time: Expr, known: &Known) -> Result<Bounds, PlanError> {
    let time = match time {
        Expr::String(text) if looks_like_time(&text) => Expr::Time(parse_time(&text, &known.zone)?),
        other => fold(other, known),
    };
    let time_ns = match time {
        Expr::Time(time_ns) if time_ns > i128::from(TIME_MAX_NS) => {
            let text = format!("time {} overflows time literal", format_time(time_ns));
            return Err(PlanError::new(text));
        }
        Expr::Time(time_ns) if time_ns < i128::from(TIME_MIN_NS + 1) => {
            let text = format!("time {} underflows time literal", format_time(time_ns));
            return Err(PlanError::new(text));
        }
        Expr::Time(time_ns) => i64::try_from(time_ns).unwrap_or_default(),
        Expr::Duration(time_ns) | Expr::Integer(time_ns) => time_ns,
        Expr::Number(time_ns) => time_ns as i64,
        other => {
            let kind = go_name(&other);
            let text = format!("invalid operation: time and {kind} are not compatible");
            return Err(PlanError::new(text));
        }
    };
    let none = Bounds::default();
    Ok(match op {
        Op::Greater => Bounds { min_ns: Some(time_ns.saturating_add(1)), ..none },
        Op::GreaterOrEqual => Bounds { min_ns: Some(time_ns), ..none },
        Op::Less => Bounds { max_ns: Some(time_ns.saturating_sub(1)), ..none },
        Op::LessOrEqual => Bounds { max_ns: Some(time_ns), ..none },
        Op::Equal => Bounds { min_ns: Some(time_ns), max_ns: Some(time_ns) },
        op => {
            return Err(PlanError::new(format!("invalid time comparison operator: {}", op.text())));
        }
    })
}

/// What InfluxDB calls a piece of a statement where it tells of one in a wrong place.
pub(super) fn go_name(expr: &Expr) -> &'static str {
    match expr {
        Expr::Binary { .. } => "*influxql.BinaryExpr",
        Expr::Paren(_) => "*influxql.ParenExpr",
        Expr::Call { .. } => "*influxql.Call",
        Expr::Var { .. } => "*influxql.VarRef",
        Expr::Wildcard(_) => "*influxql.Wildcard",
        Expr::Distinct(_) => "*influxql.Distinct",
        Expr::Integer(_) => "*influxql.IntegerLiteral",
        Expr::Unsigned(_) => "*influxql.UnsignedLiteral",
        Expr::Number(_) => "*influxql.NumberLiteral",
        Expr::String(_) => "*influxql.StringLiteral",
        Expr::Boolean(_) => "*influxql.BooleanLiteral",
        Expr::Duration(_) => "*influxql.DurationLiteral",
        Expr::Regex(_) => "*influxql.RegexLiteral",
        Expr::Time(_) => "*influxql.TimeLiteral",
    }
}
