//! Planning: statements to plans of the row algebra.
//!
//! 1. A statement is checked as far as that needs no data, and its range of time is taken out of
//!    its condition (`check`, `condition`, `fold`).
//! 2. Its sources are looked up; names take the place of wildcards, and types are put behind names
//!    (`schema`, `expand`).
//! 3. Every function becomes a chain of operators, every column a calculation (`build`, `calls`,
//!    `calculate`).
//!
//! Answers are those of InfluxDB 1.8, errors are worded as there.

mod build;
mod calculate;
mod calls;
mod check;
mod condition;
mod expand;
mod fold;
mod names;
mod schema;
mod show;
mod time;

pub(super) use condition::time_range;
pub use show::{Shown, plan_show, series_condition};

use super::ast::{Cast, Expr, Measurement, Name, Select, Source, Target};
use build::{Builder, Options};
use check::{Checker, Times};
use condition::{TIME_MAX_NS, TIME_MIN_NS};
use fold::Known;
use foliot_model::{TableShape, Test, TimeRange};
use foliot_plan::rows;
use jiff::tz::TimeZone;
use schema::{Resolved, Schema, Statement};
use std::fmt;
use std::sync::Arc;

/// Tells what is stored under the name of a source, with those of its fields that pass a test.
pub type ShapesOf<'a> = dyn Fn(&Measurement, &Test) -> Result<Vec<TableShape>, String> + 'a;

/// What planning has to know beside the statement.
pub struct Context<'a> {
    /// What `now()` is.
    pub now_ns: i64,
    /// What is stored, in byte order of measurements; an error is the statement's answer.
    pub shapes: &'a ShapesOf<'a>,
    /// The names of the labels of a measurement, in byte order.
    pub labels: &'a dyn Fn(&TableShape) -> Vec<Arc<str>>,
    /// Whether a scan finds any series by their labels that has samples in its range.
    pub selects: &'a dyn Fn(&rows::Scan) -> Result<bool, String>,
    /// At most so many windows may be asked for; 0 means any number (`influx.buckets_max`).
    pub buckets_max: u64,
    /// At most so many sources may be read per measurement; 0 means any number.
    pub sources_max: u64,
    /// Asked before so many more columns are planned: names may stand for thousands of them, each
    /// of which reads a selection of thousands. An error is the statement's answer.
    pub admit: &'a dyn Fn(usize) -> Result<(), String>,
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("now_ns", &self.now_ns).finish_non_exhaustive()
    }
}

/// Why a statement cannot be planned, in InfluxDB's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError {
    message: String,
    /// The setting of the limit that the statement met, if it is that.
    limit: Option<&'static str>,
    function: Option<String>,
}

impl PlanError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), limit: None, function: None }
    }

    pub(super) fn undefined(function: &str) -> Self {
        let message = format!("undefined function {function}()");
        Self { function: Some(function.to_owned()), ..Self::new(message) }
    }

    /// The function that there is none of, if it is that.
    pub fn function(&self) -> Option<&str> {
        self.function.as_deref()
    }

    /// The setting of the limit that the statement met, if it is that.
    pub const fn limit(&self) -> Option<&'static str> {
        self.limit
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for PlanError {}

/// A planned `SELECT`.
#[derive(Clone, Debug)]
pub struct Selection {
    /// What is carried out.
    pub plan: rows::Select,
    /// The zone that times are printed in (`tz`); nothing: UTC.
    pub zone: Option<Arc<str>>,
    /// Where the answer is written.
    pub target: Option<Target>,
    /// Columns that are written as tags there: those that `top` and `bottom` choose among.
    pub target_tags: Vec<String>,
}

/// Plans a `SELECT`.
///
/// # Errors
/// When the statement says something that makes no sense, or names what does not exist.
pub fn plan_select(select: &Select, context: &Context<'_>) -> Result<Selection, PlanError> {
    let (statement, options) = prepare(select, context)?;
    let schema = Schema::new(context);
    let builder = Builder::new(context, &schema);
    let plan = builder.select(&statement, options)?;
    let zone = select.timezone.as_deref().map(Arc::from);
    let target_tags = target_tags(&statement.select);
    Ok(Selection { plan, zone, target: statement.select.target.clone(), target_tags })
}

fn target_tags(select: &Select) -> Vec<String> {
    let calls = select.fields.iter().filter_map(|field| match &field.expr {
        Expr::Call { name, args } if schema::is_top(name) => Some(args),
        _ => None,
    });
    let names = calls.flatten().filter_map(|argument| match argument {
        Expr::Var { name, cast: Some(Cast::Tag) } => Some(name.clone()),
        _ => None,
    });
    names.collect()
}

/// Finds what a `SELECT` says that makes no sense, whatever is stored.
///
/// # Errors
/// What it is, in InfluxDB's words.
pub fn check_select(select: &Select, now_ns: i64) -> Result<(), PlanError> {
    check(&mut select.clone(), now_ns).map(drop)
}

/// What a `SELECT` would read, line by line, as `EXPLAIN` answers.
///
/// # Errors
/// As [`plan_select`].
pub fn plan_explain(select: &Select, context: &Context<'_>) -> Result<Vec<String>, PlanError> {
    let (statement, options) = prepare(select, context)?;
    let schema = Schema::new(context);
    let builder = Builder::new(context, &schema);
    builder.select(&statement, options)?;
    Ok(builder.explain(&statement))
}

fn prepare(select: &Select, context: &Context<'_>) -> Result<(Statement, Options), PlanError> {
    let mut select = select.clone();
    let checker = check(&mut select, context.now_ns)?;
    let mut statement = resolve(select, checker.times, context)?;
    statement.omits_time = false;
    statement.time_name = checker.time_name;
    let schema = Schema::new(context);
    expand::expand(&mut statement, &schema)?;
    for field in &statement.select.fields {
        schema.eval(&field.expr, &[])?;
    }
    let range = TimeRange::new(
        checker.bounds.min_ns.unwrap_or(TIME_MIN_NS),
        checker.bounds.max_ns.unwrap_or(TIME_MAX_NS),
    );
    let options = Options::outermost(&statement, range, checker.descending);
    options.check_buckets(&statement, context)?;
    Ok((statement, options))
}

fn check(select: &mut Select, now_ns: i64) -> Result<Checker, PlanError> {
    let zone = zone_of(select)?;
    Checker::check(select, Known { now_ns: Some(now_ns), zone, math: false })
}

/// Looks up the sources of a statement and of those inside it, which were checked.
fn resolve(
    mut select: Select,
    times: Times,
    context: &Context<'_>,
) -> Result<Statement, PlanError> {
    let fields = fields_of(&select);
    let mut of_inner = times.inner.into_iter();
    let mut sources = Vec::with_capacity(select.sources.len());
    for source in std::mem::take(&mut select.sources) {
        sources.push(match source {
            Source::Measurement(measurement) => {
                let shapes = (context.shapes)(&measurement, &fields).map_err(PlanError::new)?;
                Resolved::Shapes(shapes)
            }
            Source::Subquery(inner) => {
                let times = of_inner.next().unwrap_or_default();
                Resolved::Subquery(Box::new(resolve(*inner, times, context)?))
            }
        });
    }
    let condition = select.condition.take().map(Arc::new);
    let windows = select.dimensions.iter().find_map(|dimension| match dimension {
        Expr::Call { name, args } if name == "time" => match args.as_slice() {
            [Expr::Duration(width_ns), Expr::Duration(offset_ns)] if *width_ns > 0 => {
                Some((*width_ns, *offset_ns))
            }
            _ => None,
        },
        _ => None,
    });
    let is_raw = !select.has_call();
    Ok(Statement {
        select,
        condition,
        bounds: times.own,
        sources,
        omits_time: true,
        time_name: "time".into(),
        is_raw,
        windows,
    })
}

/// The fields that a statement may read: those that it names, unless it asks for what there is.
fn fields_of(select: &Select) -> Test {
    let mut names = Vec::new();
    let mut shown = select.fields.iter().map(|field| &field.expr).chain(&select.dimensions);
    let are_named = shown.all(|expr| gather_names(expr, &mut names));
    if let Some(condition) = &select.condition {
        // Patterns stand for values here.
        gather_names(condition, &mut names);
    }
    if are_named { Test::AnyOf(names) } else { Test::Any }
}

/// Adds the names in an expression; whether it has no wildcard and no pattern.
fn gather_names(expr: &Expr, names: &mut Vec<String>) -> bool {
    match expr {
        Expr::Var { name, .. } | Expr::Distinct(name) => names.push(name.clone()),
        Expr::Binary { left, right, .. } => {
            return gather_names(left, names) & gather_names(right, names);
        }
        Expr::Paren(inner) => return gather_names(inner, names),
        Expr::Call { args, .. } => {
            let patterns = args.iter().filter(|arg| !gather_names(arg, names)).count();
            return patterns == 0;
        }
        Expr::Wildcard(_) | Expr::Regex(_) => return false,
        _ => {}
    }
    true
}

/// The zone of a name, whose letters have their case.
pub(super) fn zone(name: &str) -> Option<TimeZone> {
    let zone = TimeZone::get(name).ok()?;
    let is_spelled = zone.iana_name().is_none_or(|spelled| spelled == name);
    (is_spelled && !zone.is_unknown()).then_some(zone)
}

/// The zone of a selection.
fn zone_of(select: &Select) -> Result<TimeZone, PlanError> {
    let Some(name) = &select.timezone else { return Ok(TimeZone::UTC) };
    zone(name).ok_or_else(|| PlanError::new(format!("unable to find time zone {name}")))
}

/// A regular expression as a test. InfluxQL's are those of RE2: classes such as `\d` are of ASCII.
fn regex(pattern: &str) -> Result<Test, PlanError> {
    Test::regex(pattern).map_err(|error| PlanError::new(error.to_string()))
}

/// The test that a source's name puts on measurements.
///
/// # Errors
/// When its regular expression is none.
pub fn measurement_test(name: &Name) -> Result<Test, PlanError> {
    match name {
        Name::Is(name) => Ok(Test::equal(name.as_str())),
        Name::Matches(pattern) => regex(pattern),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_spelled_as_they_are_listed() {
        for name in jiff::tz::db().available() {
            let name = name.as_str();
            // The library's own name of none.
            assert_eq!(zone(name).is_some(), name != "Etc/Unknown", "{name}");
        }
        for name in ["", "utc", "local", "europe/berlin", "Europe/", "+01:00", "UTC+1", "No"] {
            assert!(zone(name).is_none(), "{name}");
        }
    }
}
