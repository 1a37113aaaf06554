//! What statements may not say, in InfluxDB's words.

mod calls;

use calls::check_count;

use super::PlanError;
use super::condition::{Bounds, calculated, split};
use super::fold::{Known, fold};
use super::schema::{is_math, is_top};
use super::time::{looks_like_time, parse_time};
use crate::influxql::ast::{Expr, Order, Select, Source};
use std::borrow::Cow;

type Result<T, E = PlanError> = std::result::Result<T, E>;

/// What is found out about a statement on the way.
#[derive(Debug)]
pub(super) struct Checker {
    known: Known,
    pub(super) bounds: Bounds,
    pub(super) times: Times,
    /// Length and shift of windows.
    pub(super) windows: Option<(i64, i64)>,
    inherits_windows: bool,
    pub(super) descending: bool,
    calls: usize,
    has_aggregate: bool,
    has_distinct: bool,
    has_plain_field: bool,
    top: Option<String>,
    limit: u64,
    has_target: bool,
    pub(super) time_name: Cow<'static, str>,
    fields: usize,
}

/// The times that a statement's own condition asks for, and those of the statements inside it, in
/// their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Times {
    pub(super) own: Bounds,
    pub(super) inner: Vec<Times>,
}

fn error<T>(text: impl Into<String>) -> Result<T> {
    Err(PlanError::new(text))
}

impl Checker {
    /// Checks a statement that is not inside another one. Fields, dimensions and conditions are
    /// folded, and the time is taken out of fields and conditions.
    pub(super) fn check(select: &mut Select, known: Known) -> Result<Self> {
        let mut checker = Self::prepare(select, known)?;
        checker.check_fields(select)?;
        checker.check_sources(select)?;
        Ok(checker)
    }

    fn prepare(select: &mut Select, known: Known) -> Result<Self> {
        let (condition, bounds) = split(select.condition.take(), &known)?;
        if let Some(condition) = &condition {
            check_condition(condition)?;
        }
        select.condition = calculated(condition, &known);
        let mut checker = Self {
            known,
            bounds,
            times: Times { own: bounds, inner: Vec::new() },
            windows: None,
            inherits_windows: false,
            descending: select.order == Some(Order::Descending),
            calls: 0,
            has_aggregate: false,
            has_distinct: false,
            has_plain_field: false,
            top: None,
            limit: select.limit,
            has_target: select.target.is_some(),
            time_name: "time".into(),
            fields: 0,
        };
        checker.check_dimensions(select)?;
        if checker.windows.is_some() && checker.bounds.max_ns.is_none() {
            checker.bounds.max_ns = checker.known.now_ns;
        }
        Ok(checker)
    }

    fn check_sources(&mut self, select: &mut Select) -> Result<()> {
        for source in &mut select.sources {
            if let Source::Subquery(inner) = source {
                let times = self.check_inner(inner)?;
                self.times.inner.push(times);
            }
        }
        Ok(())
    }

    fn check_inner(&self, select: &mut Select) -> Result<Times> {
        let zone = super::zone_of(select)?;
        let mut inner = Self::prepare(select, Known { zone, ..self.known.clone() })?;
        if select.order.is_some() && inner.descending != self.descending {
            return error("subqueries must be ordered in the same direction as the query itself");
        }
        inner.descending = self.descending;
        inner.bounds = inner.bounds.intersect(self.bounds);
        if self.windows.is_some() && inner.windows.is_none() {
            inner.windows = self.windows;
            inner.inherits_windows = true;
        }
        inner.check_fields(select)?;
        inner.check_sources(select)?;
        Ok(inner.times)
    }

    fn check_fields(&mut self, select: &mut Select) -> Result<()> {
        let known = Known { now_ns: None, math: true, ..self.known.clone() };
        let mut kept = Vec::with_capacity(select.fields.len());
        for mut field in std::mem::take(&mut select.fields) {
            if matches!(&field.expr, Expr::Var { name, .. } if name == "time") {
                if let Some(alias) = field.alias {
                    self.time_name = alias.into();
                }
                continue;
            }
            field.expr = fold(field.expr, &known);
            self.fields += 1;
            let mut allows_wild = true;
            self.check_expr(&field.expr, &mut allows_wild)?;
            as_calls(&mut field.expr);
            kept.push(field);
        }
        select.fields = kept;
        self.check_together(select)
    }

    fn check_together(&self, select: &Select) -> Result<()> {
        use crate::influxql::ast::Fill;
        if self.fields == 0 {
            return error("at least 1 non-time field must be queried");
        }
        match &self.top {
            Some(top) if self.calls > 1 => {
                return error(format!(
                    "selector function {top}() cannot be combined with other functions"
                ));
            }
            _ => {}
        }
        if self.calls == 0 {
            match select.fill {
                Fill::None => return error("fill(none) must be used with a function"),
                Fill::Linear => return error("fill(linear) must be used with a function"),
                _ => {}
            }
            if self.windows.is_some() && !self.inherits_windows {
                return error("GROUP BY requires at least one aggregate function");
            }
        }
        if self.has_distinct && (self.calls != 1 || self.has_plain_field) {
            return error(
                "aggregate function distinct() cannot be combined with other functions or fields",
            );
        }
        if self.has_plain_field && self.has_aggregate {
            return error("mixing aggregate and non-aggregate queries is not supported");
        }
        if self.has_plain_field && self.calls > 1 {
            return error(
                "mixing multiple selector functions with tags or fields is not supported",
            );
        }
        Ok(())
    }

    fn check_expr(&mut self, expr: &Expr, allows_wild: &mut bool) -> Result<()> {
        match expr {
            Expr::Var { .. } => self.has_plain_field = true,
            Expr::Wildcard(_) if !*allows_wild => {
                return error("unable to use wildcard in a binary expression");
            }
            Expr::Regex(_) if !*allows_wild => {
                return error("unable to use regex in a binary expression");
            }
            Expr::Wildcard(_) | Expr::Regex(_) => self.has_plain_field = true,
            Expr::Call { name, args } if is_math(name) => {
                let expected = if matches!(name.as_str(), "atan2" | "pow" | "log") { 2 } else { 1 };
                check_count(name, args, expected)?;
                for arg in args.iter().filter(|arg| !arg.is_literal()) {
                    self.check_expr(arg, allows_wild)?;
                }
            }
            Expr::Call { name, args } => {
                self.calls += 1;
                self.check_call(name, args, allows_wild)?;
            }
            Expr::Distinct(_) => {
                self.calls += 1;
                self.has_distinct = true;
                self.has_aggregate = true;
            }
            Expr::Binary { left, right, .. } => {
                *allows_wild = false;
                match (left.is_literal(), right.is_literal()) {
                    (true, true) => {
                        return error("cannot perform a binary expression on two literals");
                    }
                    (true, false) => self.check_expr(right, allows_wild)?,
                    (false, true) => self.check_expr(left, allows_wild)?,
                    (false, false) => {
                        self.check_expr(left, allows_wild)?;
                        self.check_expr(right, allows_wild)?;
                    }
                }
            }
            Expr::Paren(inner) => self.check_expr(inner, allows_wild)?,
            _ => return error("field must contain at least one variable"),
        }
        Ok(())
    }

    fn check_dimensions(&mut self, select: &mut Select) -> Result<()> {
        let known = Known { now_ns: None, math: false, ..self.known.clone() };
        for dimension in &mut select.dimensions {
            *dimension = fold(std::mem::replace(dimension, Expr::Boolean(false)), &known);
            match &*dimension {
                Expr::Var { name, .. } if name.eq_ignore_ascii_case("time") => {
                    return error("time() is a function and expects at least one argument");
                }
                Expr::Var { .. } | Expr::Wildcard(_) | Expr::Regex(_) => {}
                Expr::Call { name, args } if name == "time" => {
                    self.check_windows(args)?;
                    // From here on the shift is a duration.
                    let (width_ns, offset_ns) = self.windows.unwrap_or_default();
                    let args = vec![Expr::Duration(width_ns), Expr::Duration(offset_ns)];
                    *dimension = Expr::Call { name: "time".to_owned(), args };
                }
                Expr::Call { .. } => return error("only time() calls allowed in dimensions"),
                _ => return error("only time and tag dimensions allowed"),
            }
        }
        Ok(())
    }

    fn check_windows(&mut self, args: &[Expr]) -> Result<()> {
        if args.is_empty() || args.len() > 2 {
            return error("time dimension expected 1 or 2 arguments");
        }
        let Some(Expr::Duration(width_ns)) = args.first() else {
            return error("time dimension must have duration argument");
        };
        if self.windows.is_some_and(|(width_ns, _)| width_ns != 0) {
            return error("multiple time dimensions not allowed");
        }
        let width_ns = *width_ns;
        let remainder = |time_ns: i128| match width_ns {
            0 => 0,
            width_ns => i64::try_from(time_ns.rem_euclid(i128::from(width_ns).abs())).unwrap_or(0),
        };
        let offset_ns = match args.get(1) {
            None => 0,
            Some(Expr::Duration(offset_ns)) => offset_ns.checked_rem(width_ns).unwrap_or(0),
            Some(Expr::Time(time_ns)) => remainder(*time_ns),
            Some(Expr::Call { name, .. }) if name != "now" => {
                return error("time dimension offset function must be now()");
            }
            Some(Expr::Call { args, .. }) if !args.is_empty() => {
                return error("time dimension offset now() function requires no arguments");
            }
            Some(Expr::Call { .. }) => remainder(i128::from(self.known.now_ns.unwrap_or_default())),
            Some(Expr::String(text)) if looks_like_time(text) => {
                remainder(parse_time(text, &self.known.zone)?)
            }
            Some(_) => return error("time dimension offset must be duration or now()"),
        };
        if width_ns > 0 {
            self.windows = Some((width_ns, offset_ns));
        }
        Ok(())
    }
}

/// Turns `DISTINCT name` into the call it stands for.
fn as_calls(expr: &mut Expr) {
    match expr {
        Expr::Distinct(name) => {
            let args = vec![Expr::Var { name: std::mem::take(name), cast: None }];
            *expr = Expr::Call { name: "distinct".to_owned(), args };
        }
        Expr::Call { args, .. } => args.iter_mut().for_each(as_calls),
        Expr::Binary { left, right, .. } => {
            as_calls(left);
            as_calls(right);
        }
        Expr::Paren(inner) => as_calls(inner),
        _ => {}
    }
}

fn check_condition(expr: &Expr) -> Result<()> {
    match expr {
        Expr::Binary { left, right, .. } => {
            check_condition(left)?;
            check_condition(right)
        }
        Expr::Call { name, args } => {
            if !is_math(name) {
                return error(format!("invalid function call in condition: {expr}"));
            }
            let expected = if matches!(name.as_str(), "atan2" | "pow") { 2 } else { 1 };
            check_count(name, args, expected)?;
            args.iter().try_for_each(check_condition)
        }
        _ => Ok(()),
    }
}

/// Whether a call picks rows instead of calculating from them.
pub(super) fn is_selector(name: &str) -> bool {
    matches!(name, "first" | "last" | "min" | "max" | "percentile" | "sample") || is_top(name)
}
