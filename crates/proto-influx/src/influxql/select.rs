//! `SELECT`, and the clauses that other statements share with it.

use super::ast::{Expr, Field, Fill, Measurement, Name, Op, Order, Select, Source, Target};
use super::parser::{Parser, Result};
use super::plan::zone;
use super::scan::Kind;
use foliot_model::excerpt;

impl Parser<'_> {
    /// What follows the word `SELECT`.
    pub(super) fn select(&mut self, needs_target: bool) -> Result<Select> {
        let fields = self.list(Self::field)?;
        let target = self.optional("INTO", Self::target)?;
        if needs_target && target.is_none() {
            return Err(self.expected(&["INTO"]));
        }
        self.expect(&["FROM"])?;
        Ok(Select {
            fields,
            target,
            sources: self.list(|parser| parser.source(true))?,
            condition: self.condition()?,
            dimensions: self.dimensions()?,
            fill: self.fill()?,
            order: self.order()?,
            limit: self.optional_count("LIMIT")?,
            offset: self.optional_count("OFFSET")?,
            series_limit: self.optional_count("SLIMIT")?,
            series_offset: self.optional_count("SOFFSET")?,
            timezone: self.timezone()?,
        })
    }

    fn field(&mut self) -> Result<Field> {
        let at = self.peek().at;
        let expr = self.regex_or_expression()?;
        if let Some(op) = find_comparison(&expr) {
            let (line, char) = self.scanner.position(at);
            return Err(Self::error(format!(
                "invalid operator {} in SELECT clause at line {}, char {}; operator is intended \
                 for WHERE clause",
                op.text(),
                line + 1,
                char + 1
            )));
        }
        Ok(Field { expr, alias: self.optional("AS", Self::name)? })
    }

    /// What follows the word `INTO`.
    fn target(&mut self) -> Result<Target> {
        let mut names = self.segments()?;
        let is_open = names.len() < 3 && self.scanner.peek_char() == Some(':');
        let measurement = match is_open {
            true => {
                self.expect(&[":", "MEASUREMENT"])?;
                None
            }
            false => names.pop(),
        };
        let policy = names.pop().filter(|name| !name.is_empty());
        Ok(Target { database: names.pop(), policy, measurement })
    }

    /// One source; subqueries are allowed in `SELECT` only.
    pub(super) fn source(&mut self, allows_subquery: bool) -> Result<Source> {
        if let Some(pattern) = self.regex()? {
            let name = Name::Matches(pattern);
            return Ok(Source::Measurement(Measurement { database: None, policy: None, name }));
        }
        if allows_subquery && self.take("(") {
            self.expect(&["SELECT"])?;
            let select = self.subquery(|parser| parser.select(false))?;
            self.expect(&[")"])?;
            return Ok(Source::Subquery(Box::new(select)));
        }
        self.measurement().map(Source::Measurement)
    }

    /// `database.policy.name`, of which the first two may be left out, and the last one may be a
    /// regular expression.
    pub(super) fn measurement(&mut self) -> Result<Measurement> {
        let mut names = self.segments()?;
        let is_regex = names.len() < 3 && self.scanner.peek_char() == Some('/');
        let pattern = if is_regex { self.regex()? } else { None };
        let name = match pattern {
            Some(pattern) => Name::Matches(pattern),
            None => Name::Is(names.pop().unwrap_or_default()),
        };
        let policy = names.pop().filter(|name| !name.is_empty());
        Ok(Measurement { database: names.pop(), policy, name })
    }

    /// `WHERE …`
    pub(super) fn condition(&mut self) -> Result<Option<Expr>> {
        self.optional("WHERE", Self::expression)
    }

    /// `GROUP BY …`
    pub(super) fn dimensions(&mut self) -> Result<Vec<Expr>> {
        if !self.take("GROUP") {
            return Ok(Vec::new());
        }
        self.expect(&["BY"])?;
        self.list(Self::regex_or_expression)
    }

    /// `ORDER BY time`, which is the only order there is.
    pub(super) fn order(&mut self) -> Result<Option<Order>> {
        if !self.take("ORDER") {
            return Ok(None);
        }
        self.expect(&["BY"])?;
        let only_time = || Self::error("only ORDER BY time supported at this time");
        let before = self.scanner;
        let token = self.scan();
        let order = match token.kind {
            Kind::Word("ASC") => Order::Ascending,
            Kind::Word("DESC") => Order::Descending,
            Kind::Ident if token.text != "time" => return Err(only_time()),
            Kind::Ident if self.take("DESC") => Order::Descending,
            Kind::Ident => {
                self.take("ASC");
                Order::Ascending
            }
            _ => {
                self.scanner = before;
                return Err(self.expected(&["identifier", "ASC", "DESC"]));
            }
        };
        match self.take(",") {
            true => self.name().and(Err(only_time())),
            false => Ok(Some(order)),
        }
    }

    /// Whether the next token is this name, which is not reserved.
    fn is_next_name(&mut self, name: &str) -> bool {
        let token = self.peek();
        token.kind == Kind::Ident && token.text.eq_ignore_ascii_case(name)
    }

    fn fill(&mut self) -> Result<Fill> {
        if !self.is_next_name("fill") {
            return Ok(Fill::Null);
        }
        let Expr::Call { args, .. } = self.expression()? else {
            return Err(Self::error("fill must be a function call"));
        };
        let [arg] = args.as_slice() else {
            return Err(Self::error(
                "fill requires an argument, e.g.: 0, null, none, previous, linear",
            ));
        };
        match arg {
            Expr::Var { name, cast: None } if name == "null" => Ok(Fill::Null),
            Expr::Var { name, cast: None } if name == "none" => Ok(Fill::None),
            Expr::Var { name, cast: None } if name == "previous" => Ok(Fill::Previous),
            Expr::Var { name, cast: None } if name == "linear" => Ok(Fill::Linear),
            Expr::Integer(value) => Ok(Fill::Integer(*value)),
            Expr::Number(value) => Ok(Fill::Number(*value)),
            _ => Err(Self::error("expected number argument in fill()")),
        }
    }

    fn timezone(&mut self) -> Result<Option<String>> {
        if !self.is_next_name("tz") {
            return Ok(None);
        }
        let Expr::Call { args, .. } = self.expression()? else {
            return Err(Self::error("tz must be a function call"));
        };
        match args.as_slice() {
            // What Go calls UTC, and the zone of the server, which is UTC.
            [Expr::String(name)] if matches!(name.as_str(), "" | "Local") => Ok(None),
            [Expr::String(name)] if zone(name).is_some() => Ok(Some(name.clone())),
            [Expr::String(name)] => {
                Err(Self::error(format!("unable to find time zone {}", excerpt(name))))
            }
            [_] => Err(Self::error("expected string argument in tz()")),
            _ => Err(Self::error("tz requires exactly one argument")),
        }
    }
}

/// The first operator in `expr` that gives true or false.
fn find_comparison(expr: &Expr) -> Option<Op> {
    match expr {
        Expr::Binary { op, left, right } => match op.precedence() {
            1..=3 => Some(*op),
            _ => find_comparison(left).or_else(|| find_comparison(right)),
        },
        Expr::Paren(inner) => find_comparison(inner),
        Expr::Call { args, .. } => args.iter().find_map(find_comparison),
        _ => None,
    }
}

impl Select {
    /// Whether a function stands in one of the fields.
    pub fn has_call(&self) -> bool {
        self.fields.iter().any(|field| has_call(&field.expr))
    }

    /// The length of the windows of `GROUP BY time(…)`, in nanoseconds.
    pub fn interval_ns(&self) -> Option<i64> {
        self.dimensions.iter().find_map(|dimension| match dimension {
            Expr::Call { name, args } if name == "time" => match args.first() {
                Some(Expr::Duration(interval_ns)) => Some(*interval_ns),
                _ => None,
            },
            _ => None,
        })
    }
}

fn has_call(expr: &Expr) -> bool {
    match expr {
        Expr::Call { .. } => true,
        Expr::Binary { left, right, .. } => has_call(left) || has_call(right),
        Expr::Paren(inner) => has_call(inner),
        _ => false,
    }
}
