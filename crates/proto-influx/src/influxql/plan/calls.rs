//! Functions to chains of operators.

use super::PlanError;
use super::build::{Builder, Options, Ref, kind_of, merge, read_as};
use super::condition::{TIME_MAX_NS, TIME_MIN_NS};
use super::schema::{Resolved, Statement};
use crate::influxql::ast::{Cast, Expr, Fill};
use foliot_model::{Item, Kind, TimeRange};
use foliot_plan::rows::{
    Fill as FillRows, Filling, Forecast, Layout, Period, Reduce, Reducer, Rows, Scan, Smooth,
    Transform, Warmup,
};
use std::sync::Arc;

const SECOND_NS: i64 = 1_000_000_000;

impl Builder<'_> {
    /// The rows of a field, or of a function.
    pub(super) fn rows(
        &self,
        statement: &Statement,
        expr: &Expr,
        options: &Options,
        is_selector: bool,
    ) -> Result<Rows, PlanError> {
        match expr {
            Expr::Var { name, cast } => {
                let field = (name.as_str().into(), *cast);
                self.field_rows(statement, &field, options, options.rows_max())
            }
            Expr::Call { name, args } => {
                self.call_rows(statement, name, args, options, is_selector)
            }
            other => Err(PlanError::new(format!("invalid expression type: {other}"))),
        }
    }

    fn field_rows(
        &self,
        statement: &Statement,
        field: &Ref,
        options: &Options,
        rows_max: Option<u64>,
    ) -> Result<Rows, PlanError> {
        let mut inputs = Vec::new();
        for source in &statement.sources {
            match source {
                Resolved::Shapes(shapes) => {
                    for shape in shapes {
                        let kind = shape.kind(&field.0).and_then(|kind| read_as(kind, field.1));
                        if let Some(kind) = kind {
                            let value = Some((field.0.clone(), kind));
                            inputs.push(self.scan(shape, value, options, rows_max)?);
                        }
                    }
                }
                Resolved::Subquery(inner) => {
                    inputs.extend(self.nested(inner, Some(field), options)?);
                }
            }
        }
        Ok(merge(inputs, options))
    }

    fn call_rows(
        &self,
        statement: &Statement,
        name: &str,
        args: &[Expr],
        outer: &Options,
        is_selector: bool,
    ) -> Result<Rows, PlanError> {
        let options = Options { limit: 0, offset: 0, ..outer.clone() };
        let Some(argument) = args.first() else {
            return Err(PlanError::undefined(name));
        };
        let of_argument = |options: &Options| self.rows(statement, argument, options, is_selector);
        self.check_argument(name, argument)
            .or_else(|error| self.unless_empty(&of_argument(&options)?, error))?;
        let ordered = Options { ordered: true, ..options.clone() };
        let rows = match name {
            "distinct" => {
                let rows = reduce(of_argument(&ordered)?, Reducer::Distinct, &ordered);
                return Ok(stamped(rows, &ordered));
            }
            "sample" => {
                let count = count_of(args.get(1));
                return Ok(reduce(of_argument(&ordered)?, Reducer::Sample(count), &ordered));
            }
            "holt_winters" | "holt_winters_with_fit" => {
                let forecast = Forecast {
                    count: count_of(args.get(1)),
                    season: count_of(args.get(2)),
                    with_fit: name == "holt_winters_with_fit",
                    width_ns: options.windows.map_or(1, |(width_ns, _)| width_ns),
                };
                let input = of_argument(&ordered)?;
                let range = TimeRange::new(TIME_MIN_NS, TIME_MAX_NS);
                let all = Options { range, windows: None, ..ordered };
                return Ok(reduce(input, Reducer::Forecast(forecast), &all));
            }
            "integral" => {
                let unit_ns = duration_of(args.get(1)).unwrap_or(SECOND_NS);
                return Ok(reduce(of_argument(&ordered)?, Reducer::Integral { unit_ns }, &ordered));
            }
            "top" | "bottom" => return self.top_rows(statement, name, args, outer),
            "count" if matches!(argument, Expr::Call { .. }) => {
                reduce(of_argument(&options)?, Reducer::Count, &options)
            }
            "count" | "min" | "max" | "sum" | "first" | "last" | "mean" => {
                self.folded(statement, name, argument, &options)?
            }
            "median" => reduce(of_argument(&ordered)?, Reducer::Median, &options),
            "mode" => reduce(of_argument(&options)?, Reducer::Mode, &options),
            "stddev" => reduce(of_argument(&options)?, Reducer::Deviation, &options),
            "spread" => reduce(of_argument(&options)?, Reducer::Spread, &options),
            "percentile" => {
                let percent = match args.get(1) {
                    Some(Expr::Number(percent)) => *percent,
                    Some(Expr::Integer(percent)) => *percent as f64,
                    _ => 0.0,
                };
                reduce(of_argument(&ordered)?, Reducer::Percentile(percent), &options)
            }
            _ => return self.transformed(statement, name, args, &ordered, is_selector),
        };
        if is_selector && options.windows.is_none() {
            return Ok(rows);
        }
        let rows = stamped(rows, &options);
        let found = self.schema.eval(&call(name, args), &[])?;
        Ok(filled(rows, name, kind_of(found).unwrap_or(Kind::Float), &options))
    }

    /// A function that needs no order, and of which parts can be joined.
    fn folded(
        &self,
        statement: &Statement,
        name: &str,
        argument: &Expr,
        options: &Options,
    ) -> Result<Rows, PlanError> {
        let Expr::Var { name: field, cast } = argument else {
            return Err(PlanError::new(format!("expected field argument in {name}()")));
        };
        let field: Ref = (field.as_str().into(), *cast);
        let function = match name {
            "count" => Reducer::Count,
            "min" => Reducer::Min,
            "max" => Reducer::Max,
            "sum" => Reducer::Sum,
            "first" => Reducer::First,
            "last" => Reducer::Last,
            _ => Reducer::Mean,
        };
        // The first or last row of all is the end of a scan, of which two rows are looked at, each
        // of another source.
        let is_end = options.windows.is_none() && matches!(name, "first" | "last");
        // The rows of a selection need not come window by window.
        let are_nested =
            statement.sources.iter().any(|source| matches!(source, Resolved::Subquery(_)));
        let unordered = Options { ordered: is_end || are_nested, ..options.clone() };
        let rows_max = is_end.then_some(2);
        let mut rows = self.field_rows(statement, &field, &unordered, rows_max)?;
        if is_end {
            turn(&mut rows, name == "last", options.descending);
        }
        Ok(reduce(rows, function, options))
    }

    fn transformed(
        &self,
        statement: &Statement,
        name: &str,
        args: &[Expr],
        options: &Options,
        is_selector: bool,
    ) -> Result<Rows, PlanError> {
        let mut options = options.clone();
        let width_ns = options.windows.map_or(0, |(width_ns, _)| width_ns);
        let count = count_of(args.get(1));
        // One window before the range is looked at, so that its first window has one before it.
        let by_ns = if name == "cumulative_sum" { 0 } else { width_ns };
        let range = &mut options.range;
        match options.descending {
            false => range.start_ns = range.start_ns.saturating_sub(by_ns).max(TIME_MIN_NS),
            true => range.end_ns = range.end_ns.saturating_add(by_ns).min(TIME_MAX_NS),
        }
        let unit_ns = duration_of(args.get(1));
        let period = || Period {
            count,
            hold: match args.get(2) {
                Some(Expr::Integer(hold)) => u64::try_from(*hold).ok(),
                _ => None,
            },
            warmup: match args.get(3) {
                Some(Expr::String(kind)) if kind == "simple" => Warmup::Simple,
                Some(Expr::String(kind)) if kind == "exponential" => Warmup::Exponential,
                _ if name == "chande_momentum_oscillator" => Warmup::None,
                _ => Warmup::Exponential,
            },
        };
        let function = match name {
            "derivative" | "non_negative_derivative" => {
                let width_ns = Some(width_ns).filter(|width_ns| *width_ns > 0);
                let unit_ns = unit_ns.or(width_ns).unwrap_or(SECOND_NS);
                Transform::Derivative { unit_ns, non_negative: name != "derivative" }
            }
            "difference" => Transform::Difference { non_negative: false },
            "non_negative_difference" => Transform::Difference { non_negative: true },
            "elapsed" => Transform::Elapsed { unit_ns: unit_ns.unwrap_or(1) },
            "cumulative_sum" => Transform::CumulativeSum,
            "moving_average" => Transform::MovingAverage { count },
            "exponential_moving_average" => Transform::Smooth(Smooth::Exponential(period())),
            "double_exponential_moving_average" => {
                Transform::Smooth(Smooth::DoubleExponential(period()))
            }
            "triple_exponential_moving_average" => {
                Transform::Smooth(Smooth::TripleExponential(period()))
            }
            "triple_exponential_derivative" => {
                Transform::Smooth(Smooth::TripleDerivative(period()))
            }
            "relative_strength_index" => Transform::Smooth(Smooth::RelativeStrength(period())),
            "kaufmans_efficiency_ratio" => Transform::Smooth(Smooth::Efficiency(period())),
            "kaufmans_adaptive_moving_average" => Transform::Smooth(Smooth::Adaptive(period())),
            "chande_momentum_oscillator" => Transform::Smooth(Smooth::Momentum(period())),
            _ => return Err(PlanError::new(format!("unsupported call: {name}"))),
        };
        let argument = args.first().cloned().unwrap_or(Expr::Boolean(false));
        let input = Box::new(self.rows(statement, &argument, &options, is_selector)?);
        Ok(Rows::Transform { input, function, layout: options.layout() })
    }

    /// `top` and `bottom`: with labels, of the largest value of each group of them.
    fn top_rows(
        &self,
        statement: &Statement,
        name: &str,
        args: &[Expr],
        outer: &Options,
    ) -> Result<Rows, PlanError> {
        let options = Options { limit: 0, offset: 0, ..outer.clone() };
        let count = count_of(args.last());
        let is_top = name == "top";
        let labels = args.iter().take(args.len() - 1).skip(1);
        let names = labels.filter_map(|label| match label {
            Expr::Var { name, .. } => Some(Arc::from(name.as_str())),
            _ => None,
        });
        let mut group_by: std::collections::BTreeSet<Arc<str>> = names.collect();
        let argument = args.first().cloned().unwrap_or(Expr::Boolean(false));
        let input = match group_by.is_empty() {
            // All rows are looked at, whatever is left of what is found.
            true => self.rows(statement, &argument, &options, true)?,
            false => {
                group_by.extend(options.group_by.iter().cloned());
                let grouped = Options { group_by, fill: Fill::None, ..options.clone() };
                let inner = if is_top { "max" } else { "min" };
                self.folded(statement, inner, &argument, &grouped)?
            }
        };
        let function = match is_top {
            true => Reducer::Top { count },
            false => Reducer::Bottom { count },
        };
        Ok(reduce(input, function, &options))
    }

    /// Refuses text and booleans where a function works on numbers.
    fn check_argument(&self, name: &str, argument: &Expr) -> Result<(), PlanError> {
        let found = self.schema.eval(argument, &[])?;
        let kind = match found {
            Some(Cast::String) => "string",
            Some(Cast::Boolean) => "boolean",
            Some(Cast::Unsigned) if name.starts_with("holt_winters") => "unsigned",
            _ => return Ok(()),
        };
        let takes = match name {
            "count" | "distinct" | "elapsed" | "first" | "last" | "mode" | "sample" => true,
            "min" | "max" => kind == "boolean",
            _ => false,
        };
        let told = match name {
            "holt_winters" | "holt_winters_with_fit" => "elapsed",
            "non_negative_derivative" => "derivative",
            "non_negative_difference" => "difference",
            "cumulative_sum" => "cumulative sum",
            "moving_average" => "moving average",
            other => other,
        };
        match takes {
            true => Ok(()),
            false => {
                let source =
                    if matches!(argument, Expr::Var { .. }) { "Interrupt" } else { "Fill" };
                Err(PlanError::new(format!(
                    "unsupported {told} iterator type: *query.{kind}{source}Iterator"
                )))
            }
        }
    }
}

impl Builder<'_> {
    /// An error that InfluxDB finds by the series that it reads.
    fn unless_empty(&self, rows: &Rows, error: PlanError) -> Result<(), PlanError> {
        if self.reads_any(rows)? { Err(error) } else { Ok(()) }
    }

    /// Whether rows would be looked for in any series. Those of selections inside always are.
    fn reads_any(&self, rows: &Rows) -> Result<bool, PlanError> {
        match rows {
            Rows::Scan(scan) => {
                let layout =
                    Layout { range: in_shards(scan.layout.range), ..(*scan.layout).clone() };
                let scan = Scan { layout: Arc::new(layout), ..(**scan).clone() };
                (self.context.selects)(&scan).map_err(PlanError::new)
            }
            Rows::Nested(_) => Ok(true),
            Rows::Merge { inputs, .. } => {
                for input in inputs {
                    if self.reads_any(input)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Rows::Reduce(reduce) => self.reads_any(&reduce.input),
            Rows::Fill(fill) => self.reads_any(&fill.input),
            Rows::Stamp { input, .. }
            | Rows::Transform { input, .. }
            | Rows::Limit { input, .. } => self.reads_any(input),
        }
    }
}

/// The times of the shards that a range touches, which are the weeks from Monday on where nothing
/// else was said.
fn in_shards(range: TimeRange) -> TimeRange {
    const WEEK_NS: i64 = 7 * 24 * 3600 * SECOND_NS;
    // 1970 began on a Thursday.
    const MONDAY_NS: i64 = 4 * 24 * 3600 * SECOND_NS;
    let since = |time_ns: i64| time_ns.saturating_sub(MONDAY_NS).rem_euclid(WEEK_NS);
    let start_ns = range.start_ns.saturating_sub(since(range.start_ns));
    let end_ns = range.end_ns.saturating_add(WEEK_NS - 1 - since(range.end_ns));
    TimeRange::new(start_ns.max(TIME_MIN_NS), end_ns.min(TIME_MAX_NS))
}

fn call(name: &str, args: &[Expr]) -> Expr {
    Expr::Call { name: name.to_owned(), args: args.to_vec() }
}

/// Folds rows, those of each measurement by themselves where they come apart: a fold over a scan
/// alone reads summaries instead of rows.
fn reduce(input: Rows, function: Reducer, options: &Options) -> Rows {
    match input {
        Rows::Merge { inputs, .. } if Rows::are_apart(&inputs) => {
            let folded = inputs.into_iter().map(|input| reduce(input, function.clone(), options));
            Rows::Merge { inputs: folded.collect(), layout: options.layout() }
        }
        input => Rows::Reduce(Box::new(Reduce { input, function, layout: options.layout() })),
    }
}

/// The same with the starts of their windows for times: where nobody sees when a value was the
/// largest, summaries tell it.
fn stamped(input: Rows, options: &Options) -> Rows {
    match input {
        Rows::Merge { inputs, .. } if Rows::are_apart(&inputs) => {
            let inputs = inputs.into_iter().map(|input| stamped(input, options)).collect();
            Rows::Merge { inputs, layout: options.layout() }
        }
        input => Rows::Stamp { input: Box::new(input), layout: options.layout() },
    }
}

/// Rows for empty windows, if there are windows and they are wanted.
fn filled(input: Rows, name: &str, kind: Kind, options: &Options) -> Rows {
    let with = match options.fill {
        _ if options.windows.is_none() => return input,
        Fill::None => return input,
        Fill::Null if name == "count" => Filling::Value(Item::Integer(0)),
        Fill::Null => Filling::Null,
        Fill::Previous => Filling::Previous,
        Fill::Linear => Filling::Linear,
        Fill::Integer(value) => Filling::Value(Item::Integer(value)),
        Fill::Number(value) => Filling::Value(Item::Float(value)),
    };
    let carried = options.carried.len();
    Rows::Fill(Box::new(FillRows { input, with, layout: options.layout(), carried, kind }))
}

/// Makes scans read the rows at one end, whatever the order of heads is.
fn turn(rows: &mut Rows, from_end: bool, heads_descending: bool) {
    match rows {
        Rows::Scan(scan) => {
            let scan: &mut Scan = scan;
            let layout = Layout { descending: from_end, ..(*scan.layout).clone() };
            (scan.layout, scan.heads_descending) = (Arc::new(layout), heads_descending);
            scan.one_each = true;
        }
        Rows::Merge { inputs, .. } => {
            inputs.iter_mut().for_each(|input| turn(input, from_end, heads_descending));
        }
        _ => {}
    }
}

fn count_of(expr: Option<&Expr>) -> u64 {
    match expr {
        Some(Expr::Integer(count)) => u64::try_from(*count).unwrap_or(0),
        _ => 0,
    }
}

fn duration_of(expr: Option<&Expr>) -> Option<i64> {
    match expr {
        Some(Expr::Duration(duration_ns)) => Some(*duration_ns),
        _ => None,
    }
}
