//! What statements may not say, in InfluxDB's words.

use super::PlanError;
use super::condition::{Bounds, go_name, split};
use super::fold::{Known, fold};
use super::schema::{is_math, is_top};
use super::time::{looks_like_time, parse_time};
use crate::influxql::ast::{Expr, Order, Select, Source};
use crate::influxql::format_duration;

type Result<T, E = PlanError> = std::result::Result<T, E>;

/// What is found out about a statement on the way.
#[derive(Debug)]
pub(super) struct Checker {
    pub(super) known: Known,
    /// The condition on anything but time.
    pub(super) condition: Option<Expr>,
    pub(super) bounds: Bounds,
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
    pub(super) time_name: String,
    fields: usize,
}

fn error<T>(text: impl Into<String>) -> Result<T> {
    Err(PlanError::new(text))
}

impl Checker {
    /// Checks a statement that is not inside another one. Fields and dimensions are folded, and the
    /// time is taken out of the fields.
    pub(super) fn check(select: &mut Select, known: Known) -> Result<Self> {
        let mut checker = Self::prepare(select, known)?;
        checker.check_fields(select)?;
        checker.check_sources(select)?;
        Ok(checker)
    }

    fn prepare(select: &mut Select, known: Known) -> Result<Self> {
        let (condition, bounds) = split(select.condition.as_ref(), &known)?;
        let mut checker = Self {
            known,
            condition,
            bounds,
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
            time_name: "time".to_owned(),
            fields: 0,
        };
        if let Some(condition) = &checker.condition {
            check_condition(condition)?;
        }
        checker.check_dimensions(select)?;
        if checker.windows.is_some() && checker.bounds.max_ns.is_none() {
            checker.bounds.max_ns = checker.known.now_ns;
        }
        Ok(checker)
    }

    fn check_sources(&self, select: &mut Select) -> Result<()> {
        for source in &mut select.sources {
            if let Source::Subquery(inner) = source {
                self.check_inner(inner)?;
            }
        }
        Ok(())
    }

    fn check_inner(&self, select: &mut Select) -> Result<()> {
        let zone = super::zone(select.timezone.as_deref())?;
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
        inner.check_sources(select)
    }

    fn check_fields(&mut self, select: &mut Select) -> Result<()> {
        let known = Known { now_ns: None, math: true, ..self.known.clone() };
        let mut kept = Vec::with_capacity(select.fields.len());
        for mut field in std::mem::take(&mut select.fields) {
            if matches!(&field.expr, Expr::Var { name, .. } if name == "time") {
                self.time_name = field.alias.unwrap_or_else(|| self.time_name.clone());
                continue;
            }
            field.expr = fold(&field.expr, &known);
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
                for arg in args.iter().filter(|arg| !is_literal(arg)) {
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
                match (is_literal(left), is_literal(right)) {
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

    fn check_call(&mut self, name: &str, args: &[Expr], allows_wild: &mut bool) -> Result<()> {
        match name {
            "percentile" => {
                check_count(name, args, 2)?;
                if !matches!(args.get(1), Some(Expr::Integer(_) | Expr::Number(_))) {
                    return error("expected float argument in percentile()");
                }
                self.check_symbol(name, args.first(), *allows_wild)
            }
            "sample" => {
                check_count(name, args, 2)?;
                match args.get(1) {
                    Some(Expr::Integer(count)) if *count <= 0 => {
                        return error(format!("sample window must be greater than 1, got {count}"));
                    }
                    Some(Expr::Integer(_)) => {}
                    _ => return error("expected integer argument in sample()"),
                }
                self.check_symbol(name, args.first(), *allows_wild)
            }
            "distinct" => self.check_distinct(args, false),
            "top" | "bottom" => self.check_top(name, args),
            "derivative" | "non_negative_derivative" | "elapsed" => {
                self.check_unit(name, args)?;
                self.check_inside(name, args, allows_wild, true)
            }
            "difference" | "non_negative_difference" | "cumulative_sum" => {
                check_count(name, args, 1)?;
                self.check_inside(name, args, allows_wild, true)
            }
            "moving_average" => {
                check_average(args)?;
                self.check_inside(name, args, allows_wild, true)
            }
            "exponential_moving_average"
            | "double_exponential_moving_average"
            | "triple_exponential_moving_average"
            | "relative_strength_index"
            | "triple_exponential_derivative"
            | "kaufmans_efficiency_ratio"
            | "kaufmans_adaptive_moving_average"
            | "chande_momentum_oscillator" => {
                check_smooth(name, args)?;
                self.check_inside(name, args, allows_wild, false)
            }
            "integral" => {
                check_range(name, args, 1, 2)?;
                match args.get(1) {
                    None => {}
                    Some(Expr::Duration(unit_ns)) => check_positive(*unit_ns)?,
                    Some(_) => return error("second argument must be a duration"),
                }
                self.has_aggregate = true;
                self.check_symbol(name, args.first(), *allows_wild)
            }
            "holt_winters" | "holt_winters_with_fit" => {
                self.check_forecast(name, args, allows_wild)
            }
            _ => self.check_function(name, args, *allows_wild),
        }
    }

    fn check_function(&mut self, name: &str, args: &[Expr], allows_wild: bool) -> Result<()> {
        match name {
            "max" | "min" | "first" | "last" => {}
            "count" | "sum" | "mean" | "median" | "mode" | "stddev" | "spread" => {
                self.has_aggregate = true;
            }
            _ => return error(format!("undefined function {name}()")),
        }
        check_count(name, args, 1)?;
        match args.first() {
            Some(Expr::Call { name: inner, args }) if name == "count" && inner == "distinct" => {
                self.check_distinct(args, true)
            }
            Some(Expr::Distinct(_)) if name == "count" => Ok(()),
            first => self.check_symbol(name, first, allows_wild),
        }
    }

    fn check_symbol(&mut self, name: &str, symbol: Option<&Expr>, allows_wild: bool) -> Result<()> {
        match symbol {
            Some(Expr::Var { .. }) => Ok(()),
            Some(Expr::Wildcard(_)) if !allows_wild => {
                error(format!("unsupported expression with wildcard: {name}()"))
            }
            Some(Expr::Regex(_)) if !allows_wild => {
                error(format!("unsupported expression with regex field: {name}()"))
            }
            Some(Expr::Wildcard(_) | Expr::Regex(_)) => {
                self.has_aggregate = true;
                Ok(())
            }
            _ => error(format!("expected field argument in {name}()")),
        }
    }

    /// The argument of a function of successive rows.
    fn check_inside(
        &mut self,
        name: &str,
        args: &[Expr],
        allows_wild: &mut bool,
        is_nested: bool,
    ) -> Result<()> {
        self.has_aggregate = true;
        match args.first() {
            Some(call @ Expr::Call { .. }) => {
                if self.windows.is_none() {
                    return error(format!("{name} aggregate requires a GROUP BY interval"));
                }
                self.check_nested(call, allows_wild, is_nested)
            }
            other => {
                if self.windows.is_some() && !self.inherits_windows {
                    return error(format!("aggregate function required inside the call to {name}"));
                }
                self.check_symbol(name, other, *allows_wild)
            }
        }
    }

    fn check_nested(&mut self, expr: &Expr, allows_wild: &mut bool, is_nested: bool) -> Result<()> {
        match expr {
            Expr::Call { name, args } if is_nested && name == "distinct" => {
                self.check_distinct(args, true)
            }
            _ => self.check_expr(expr, allows_wild),
        }
    }

    fn check_distinct(&mut self, args: &[Expr], is_nested: bool) -> Result<()> {
        match args {
            [] => return error("distinct function requires at least one argument"),
            [Expr::Var { .. }] => {}
            [_] => return error("expected field argument in distinct()"),
            _ => return error("distinct function can only have one argument"),
        }
        self.has_distinct |= !is_nested;
        self.has_aggregate = true;
        Ok(())
    }

    fn check_unit(&self, name: &str, args: &[Expr]) -> Result<()> {
        check_range(name, args, 1, 2)?;
        match args.get(1) {
            None => Ok(()),
            Some(Expr::Duration(unit_ns)) => check_positive(*unit_ns),
            Some(other) => error(format!(
                "second argument to {name} must be a duration, got {}",
                go_name(other)
            )),
        }
    }

    fn check_top(&mut self, name: &str, args: &[Expr]) -> Result<()> {
        if let Some(top) = &self.top {
            return error(format!(
                "selector function {top}() cannot be combined with other functions"
            ));
        }
        if args.len() < 2 {
            return error(format!(
                "invalid number of arguments for {name}, expected at least 2, got {}",
                args.len()
            ));
        }
        let last = args.last();
        match last {
            Some(Expr::Integer(count)) if *count <= 0 => {
                return error(format!("limit ({count}) in {name} function must be at least 1"));
            }
            Some(Expr::Integer(count)) if self.limit > 0 && *count as u64 > self.limit => {
                return error(format!(
                    "limit ({count}) in {name} function can not be larger than the LIMIT ({}) in \
                     the select statement",
                    self.limit
                ));
            }
            Some(Expr::Integer(_)) => {}
            other => {
                let found = other.map(Expr::to_string).unwrap_or_default();
                return error(format!(
                    "expected integer as last argument in {name}(), found {found}"
                ));
            }
        }
        match args.first() {
            Some(Expr::Var { .. }) => {}
            other => {
                let found = other.map(Expr::to_string).unwrap_or_default();
                return error(format!(
                    "expected first argument to be a field in {name}(), found {found}"
                ));
            }
        }
        for arg in args.iter().take(args.len() - 1).skip(1) {
            if !matches!(arg, Expr::Var { .. }) {
                return error(format!("only fields or tags are allowed in {name}(), found {arg}"));
            }
            self.has_plain_field |= !self.has_target;
        }
        self.top = Some(name.to_owned());
        Ok(())
    }

    fn check_forecast(&mut self, name: &str, args: &[Expr], allows_wild: &mut bool) -> Result<()> {
        check_count(name, args, 3)?;
        match args.get(1) {
            Some(Expr::Integer(count)) if *count <= 0 => {
                return error(format!("second arg to {name} must be greater than 0, got {count}"));
            }
            Some(Expr::Integer(_)) => {}
            _ => return error(format!("expected integer argument as second arg in {name}")),
        }
        match args.get(2) {
            Some(Expr::Integer(season)) if *season < 0 => {
                return error(format!("third arg to {name} cannot be negative, got {season}"));
            }
            Some(Expr::Integer(_)) => {}
            _ => return error(format!("expected integer argument as third arg in {name}")),
        }
        self.has_aggregate = true;
        match args.first() {
            Some(call @ Expr::Call { .. }) => {
                if self.windows.is_none() {
                    return error(format!("{name} aggregate requires a GROUP BY interval"));
                }
                self.check_nested(call, allows_wild, true)
            }
            _ => error(format!("must use aggregate function with {name}")),
        }
    }

    fn check_dimensions(&mut self, select: &mut Select) -> Result<()> {
        let known = Known { now_ns: None, math: false, ..self.known.clone() };
        for dimension in &mut select.dimensions {
            let folded = fold(dimension, &known);
            match &folded {
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
                    continue;
                }
                Expr::Call { .. } => return error("only time() calls allowed in dimensions"),
                _ => return error("only time and tag dimensions allowed"),
            }
            *dimension = folded;
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

fn is_literal(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Integer(_)
            | Expr::Unsigned(_)
            | Expr::Number(_)
            | Expr::String(_)
            | Expr::Boolean(_)
            | Expr::Duration(_)
            | Expr::Regex(_)
            | Expr::Time(_)
    )
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

fn check_count(name: &str, args: &[Expr], expected: usize) -> Result<()> {
    match args.len() == expected {
        true => Ok(()),
        false => error(format!(
            "invalid number of arguments for {name}, expected {expected}, got {}",
            args.len()
        )),
    }
}

fn check_range(name: &str, args: &[Expr], least: usize, most: usize) -> Result<()> {
    match (least..=most).contains(&args.len()) {
        true => Ok(()),
        false => error(format!(
            "invalid number of arguments for {name}, expected at least {least} but no more than \
             {most}, got {}",
            args.len()
        )),
    }
}

fn check_positive(unit_ns: i64) -> Result<()> {
    match unit_ns > 0 {
        true => Ok(()),
        false => {
            error(format!("duration argument must be positive, got {}", format_duration(unit_ns)))
        }
    }
}

fn check_average(args: &[Expr]) -> Result<()> {
    check_count("moving_average", args, 2)?;
    match args.get(1) {
        Some(Expr::Integer(count)) if *count <= 1 => {
            error(format!("moving_average window must be greater than 1, got {count}"))
        }
        Some(Expr::Integer(_)) => Ok(()),
        other => error(format!(
            "second argument for moving_average must be an integer, got {}",
            other.map_or("", go_name)
        )),
    }
}

fn check_smooth(name: &str, args: &[Expr]) -> Result<()> {
    check_range(name, args, 2, if name.starts_with("kaufmans") { 3 } else { 4 })?;
    match args.get(1) {
        Some(Expr::Integer(period)) if *period < 1 => {
            return error(format!("{name} period must be greater than or equal to 1"));
        }
        Some(Expr::Integer(_)) => {}
        _ => return error(format!("{name} period must be an integer")),
    }
    match args.get(2) {
        None | Some(Expr::Integer(-1)) => {}
        Some(Expr::Integer(hold)) if name == "triple_exponential_derivative" && *hold < 1 => {
            return error(format!("{name} hold period must be greater than or equal to 1"));
        }
        Some(Expr::Integer(hold)) if *hold < 0 => {
            return error(format!("{name} hold period must be greater than or equal to 0"));
        }
        Some(Expr::Integer(_)) => {}
        Some(_) => return error(format!("{name} hold period must be an integer")),
    }
    let is_momentum = name == "chande_momentum_oscillator";
    match args.get(3) {
        None => Ok(()),
        Some(Expr::String(kind)) => match kind.as_str() {
            "exponential" | "simple" => Ok(()),
            "none" if is_momentum => Ok(()),
            _ => {
                let none = if is_momentum { "'none' " } else { "" };
                error(format!("{name} warmup type must be one of: {none}'exponential' 'simple'"))
            }
        },
        Some(_) => error(format!("{name} warmup type must be a string")),
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
