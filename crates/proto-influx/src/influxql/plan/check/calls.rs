//! What calls may not be given.

use super::super::condition::go_name;
use super::{Checker, PlanError, Result, error};
use crate::influxql::ast::Expr;
use crate::influxql::format_duration;

impl Checker {
    pub(super) fn check_call(
        &mut self,
        name: &str,
        args: &[Expr],
        allows_wild: &mut bool,
    ) -> Result<()> {
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
            _ => return Err(PlanError::undefined(name)),
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
}

/// Whether a call has as many arguments as it must.
pub(super) fn check_count(name: &str, args: &[Expr], expected: usize) -> Result<()> {
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
