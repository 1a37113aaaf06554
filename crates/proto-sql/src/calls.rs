//! Calls of functions of one row.

use crate::expression::{no_length, of_one_type, part_named, plain_name, power};
use crate::lowering::Lowering;
use crate::typed::{Type, Typed};
use crate::{SqlError, catalogue, constant, refused, span};
use foliot_model::{Item, NANOS_PER_SECOND};
use foliot_plan::relation::{Bucket, Formula, Kept, Width, Words};
use foliot_plan::rows::{Math, Operator};
use sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArguments, OrderByExpr, Spanned, TrimWhereField,
};

const DAY_NS: i64 = 86_400 * NANOS_PER_SECOND;
/// Where weeks begin: Monday, 5 January 1970.
const MONDAY_NS: i64 = 4 * DAY_NS;
/// Where `time_bucket` begins to count: Monday, 3 January 2000, and for months the first of it.
const BUCKET_ORIGIN_NS: i64 = 946_857_600 * NANOS_PER_SECOND;
const BUCKET_MONTH_NS: i64 = 946_684_800 * NANOS_PER_SECOND;

/// All functions, for whoever misspelled one.
const NAMES: &[&str] = &[
    "abs",
    "acos",
    "approx_median",
    "approx_percentile_cont",
    "asin",
    "atan",
    "atan2",
    "avg",
    "bool_and",
    "bool_or",
    "btrim",
    "ceil",
    "ceiling",
    "char_length",
    "coalesce",
    "concat",
    "cos",
    "count",
    "date_bin",
    "date_part",
    "date_trunc",
    "every",
    "exp",
    "extract",
    "first",
    "first_value",
    "floor",
    "from_unixtime",
    "greatest",
    "last",
    "last_value",
    "least",
    "left",
    "length",
    "ln",
    "log",
    "log10",
    "log2",
    "lower",
    "ltrim",
    "max",
    "mean",
    "median",
    "min",
    "mod",
    "now",
    "nullif",
    "percentile_cont",
    "pi",
    "position",
    "pow",
    "power",
    "replace",
    "right",
    "round",
    "rtrim",
    "sin",
    "split_part",
    "sqrt",
    "starts_with",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "strpos",
    "substr",
    "substring",
    "sum",
    "tan",
    "time_bucket",
    "to_timestamp",
    "to_timestamp_micros",
    "to_timestamp_millis",
    "to_timestamp_nanos",
    "to_timestamp_seconds",
    "trim",
    "upper",
    "var_pop",
    "var_samp",
    "variance",
];

/// A call.
pub(crate) struct Call<'e> {
    /// In lower case.
    pub(crate) name: String,
    pub(crate) function: &'e Function,
    pub(crate) is_distinct: bool,
    pub(crate) filter: Option<&'e Expr>,
}

impl<'e> Call<'e> {
    pub(crate) fn of(function: &'e Function) -> Self {
        let is_distinct = match &function.args {
            FunctionArguments::List(list) => {
                list.duplicate_treatment == Some(DuplicateTreatment::Distinct)
            }
            _ => false,
        };
        let name = plain_name(&function.name).to_lowercase();
        Self { name, function, is_distinct, filter: function.filter.as_deref() }
    }

    /// What stands in its parentheses.
    pub(crate) fn arguments(&self, expr: &Expr) -> Result<Vec<&'e Expr>, SqlError> {
        let FunctionArguments::List(list) = &self.function.args else { return Ok(Vec::new()) };
        let argument = |argument: &'e FunctionArg| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Ok(expr),
            _ => span::error(expr, format!("{}: an argument is an expression", self.name)),
        };
        list.args.iter().map(argument).collect()
    }

    /// `ORDER BY` in its parentheses.
    pub(crate) fn order_by(&self) -> Option<&'e [OrderByExpr]> {
        let FunctionArguments::List(list) = &self.function.args else { return None };
        list.clauses.iter().find_map(|clause| match clause {
            FunctionArgumentClause::OrderBy(by) => Some(by.as_slice()),
            _ => None,
        })
    }
}

/// The expressions in the parentheses of a call.
pub(crate) fn arguments_of(function: &Function) -> Vec<&Expr> {
    let FunctionArguments::List(list) = &function.args else { return Vec::new() };
    let argument = |argument| match argument {
        &FunctionArg::Unnamed(FunctionArgExpr::Expr(ref expr)) => Some(expr),
        _ => None,
    };
    list.args.iter().filter_map(argument).collect()
}

impl Lowering<'_> {
    /// The formula of a call, or of what the grammar has words of its own for.
    pub(crate) fn called(&mut self, expr: &Expr) -> Result<Typed, SqlError> {
        match expr {
            Expr::Function(function) => self.function(expr, function),
            Expr::Ceil { expr: of, .. } => self.math(expr, Math::Ceil, &[of]),
            Expr::Floor { expr: of, .. } => self.math(expr, Math::Floor, &[of]),
            Expr::Position { expr: part, r#in } => self.words(expr, Words::Position, &[r#in, part]),
            Expr::Substring { expr: of, substring_from, substring_for, .. } => {
                let mut arguments = vec![&**of];
                let one = Expr::value(sqlparser::ast::Value::Number("1".to_owned(), false));
                arguments.push(substring_from.as_deref().unwrap_or(&one));
                arguments.extend(substring_for.as_deref());
                self.words(expr, Words::Part, &arguments)
            }
            Expr::Trim { expr: of, trim_where, trim_what, trim_characters } => {
                let words = match trim_where {
                    Some(TrimWhereField::Leading) => Words::TrimStart,
                    Some(TrimWhereField::Trailing) => Words::TrimEnd,
                    _ => Words::Trim,
                };
                let mut arguments = vec![&**of];
                arguments.extend(trim_what.as_deref());
                arguments.extend(trim_characters.iter().flatten());
                self.words(expr, words, &arguments)
            }
            other => Err(refused::expression(other)),
        }
    }

    fn function(&mut self, expr: &Expr, function: &Function) -> Result<Typed, SqlError> {
        if function.over.is_some() {
            return Err(refused::window(expr));
        }
        let call = Call::of(function);
        if let Some(folded) = self.aggregate(expr, &call)? {
            return Ok(folded);
        }
        if call.is_distinct || call.filter.is_some() {
            let text =
                format!("{} is no aggregate: DISTINCT and FILTER belong to those", call.name);
            return span::error(expr, text);
        }
        let arguments = call.arguments(expr)?;
        if let Some(function) = math_of(&call.name, arguments.len()) {
            return self.math(expr, function, &arguments);
        }
        if let Some(words) = words_of(&call.name) {
            return self.words(expr, words, &arguments);
        }
        let formulas = |lowering: &mut Self| {
            arguments.iter().map(|each| lowering.expr(each)).collect::<Result<Vec<_>, _>>()
        };
        match (&*call.name, &*arguments) {
            ("now" | "current_timestamp" | "localtimestamp" | "transaction_timestamp", []) => {
                let now = Item::Time(self.ground.catalogue.now_ns);
                Ok(Typed::constant(now, Type::Time))
            }
            ("current_date" | "today", []) => {
                let now_ns = self.ground.catalogue.now_ns;
                let today = Item::Time(now_ns - now_ns.rem_euclid(DAY_NS));
                Ok(Typed::constant(today, Type::Time))
            }
            ("pi", []) => Ok(Typed::constant(Item::Float(std::f64::consts::PI), Type::Float)),
            ("coalesce" | "ifnull" | "nvl", [_, ..]) => {
                let (values, of) = of_one_type(expr, "coalesce", formulas(self)?)?;
                Ok(Typed::new(Formula::FirstOf(values), of))
            }
            (name @ ("greatest" | "least"), [_, ..]) => {
                let (values, of) = of_one_type(expr, name, formulas(self)?)?;
                let is_largest = name == "greatest";
                Ok(Typed::new(Formula::Extreme { of: values, is_largest }, of))
            }
            ("nullif", [value, other]) => self.null_if(expr, value, other),
            ("mod", [a, b]) => {
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                let of = a.of.joined(b.of).filter(|of| of.is_number());
                let of = of.ok_or_else(|| SqlError::at(expr.span(), "mod takes two numbers"))?;
                let (left, right) = (Box::new(a.formula), Box::new(b.formula));
                let operator = Operator::Modulo;
                Ok(Typed::new(Formula::Binary { operator, left, right }, of))
            }
            ("power" | "pow", [a, b]) => {
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                power(expr, a, b)
            }
            ("date_bin" | "time_bucket" | "date_trunc" | "date_part" | "datepart", _) => {
                self.of_time(expr, &call.name, &arguments)
            }
            (name, [of]) if name.starts_with("to_timestamp") || name == "from_unixtime" => {
                self.to_timestamp(expr, name, of)
            }
            (name, _) if NAMES.contains(&name) => {
                let text = format!("{name} does not take {} arguments", arguments.len());
                span::error(expr, text)
            }
            (name, _) => Err(refused::function(expr, name, catalogue::hint(name, NAMES))),
        }
    }

    fn null_if(&mut self, expr: &Expr, value: &Expr, other: &Expr) -> Result<Typed, SqlError> {
        let (value, other) = (self.expr(value)?, self.expr(other)?);
        let equal = crate::expression::compared(expr, Operator::Equal, value.clone(), other)?;
        let cases = vec![(equal.formula, Formula::Constant(Item::Null))];
        let otherwise = Box::new(value.formula);
        Ok(Typed::new(Formula::Chosen { cases, otherwise }, value.of))
    }

    fn math(
        &mut self,
        expr: &Expr,
        function: Math,
        arguments: &[&Expr],
    ) -> Result<Typed, SqlError> {
        let mut formulas = Vec::with_capacity(arguments.len());
        let mut of = Type::Float;
        for (at, argument) in arguments.iter().enumerate() {
            let typed = self.expr(argument)?;
            if !typed.of.is_number() {
                let text = format!("{argument} is {}, and has to be a number here", typed.of);
                return span::error(argument, text);
            }
            let keeps_type = matches!(function, Math::Abs | Math::Floor | Math::Ceil | Math::Round);
            if at == 0 && keeps_type && arguments.len() == 1 {
                of = typed.of;
            }
            if function == Math::Round && at == 1 && !typed.of.is_whole() {
                return span::error(expr, "round takes a whole number of decimals");
            }
            formulas.push(typed.formula);
        }
        // The base stands first in SQL.
        if function == Math::Log {
            formulas.reverse();
        }
        Ok(Typed::new(Formula::Math { function, arguments: formulas }, of))
    }

    fn words(
        &mut self,
        expr: &Expr,
        function: Words,
        arguments: &[&Expr],
    ) -> Result<Typed, SqlError> {
        let (least, most) = match function {
            Words::Lower | Words::Upper | Words::Length => (1, 1),
            Words::Concat => (1, usize::MAX),
            Words::Trim | Words::TrimStart | Words::TrimEnd => (1, 2),
            Words::Replace | Words::Piece => (3, 3),
            Words::Part => (2, 3),
            Words::Left | Words::Right | Words::Position | Words::StartsWith => (2, 2),
        };
        if !(least..=most).contains(&arguments.len()) {
            let text = format!("this takes from {least} arguments on, not {}", arguments.len());
            return span::error(expr, text);
        }
        let mut formulas = Vec::with_capacity(arguments.len());
        for (at, argument) in arguments.iter().enumerate() {
            let typed = self.expr(argument)?;
            let is_number = match function {
                Words::Part => at > 0,
                Words::Left | Words::Right => at == 1,
                Words::Piece => at == 2,
                _ => false,
            };
            let fits = match typed.of {
                Type::Null => true,
                Type::Integer if is_number => true,
                Type::Interval => false,
                of => !is_number && (of == Type::Text || function == Words::Concat),
            };
            if !fits {
                let wanted = if is_number { "a whole number" } else { "text" };
                let text = format!("{argument} is {}, and has to be {wanted} here", typed.of);
                return span::error(argument, text);
            }
            formulas.push(typed.formula);
        }
        let of = match function {
            Words::Length | Words::Position => Type::Integer,
            Words::StartsWith => Type::Boolean,
            _ => Type::Text,
        };
        Ok(Typed::new(Formula::Text { function, arguments: formulas }, of))
    }

    /// Windows of time, and parts of it.
    fn of_time(&mut self, expr: &Expr, name: &str, arguments: &[&Expr]) -> Result<Typed, SqlError> {
        let (first, time, third) = match arguments {
            [first, time] => (first, time, None),
            [first, time, third] if name != "date_part" && name != "datepart" => {
                (first, time, Some(third))
            }
            _ => {
                let text = match name {
                    "date_trunc" => "write date_trunc('hour', time)",
                    "date_part" | "datepart" => "write date_part('hour', time)",
                    "time_bucket" => "write time_bucket('5 minutes', time)",
                    _ => "write date_bin(INTERVAL '5 minutes', time)",
                };
                return span::error(expr, text);
            }
        };
        let unit = self.expr(first)?;
        let unit_text = unit.text().map(str::to_owned);
        match (name, unit_text, third) {
            ("date_trunc", Some(unit), None) => {
                let bucket = unit_window(&unit, expr)?;
                self.window(expr, time, bucket)
            }
            ("date_trunc", Some(_), Some(_)) => span::error(
                expr,
                "times are in UTC here: date_trunc takes no time zone, but date_bin takes an \
                 origin as its third argument",
            ),
            ("date_part" | "datepart", Some(unit), _) => {
                let part = part_named(&unit, expr)?;
                self.extract(expr, &part, time)
            }
            ("date_trunc" | "date_part" | "datepart", ..) => {
                span::error(first, format!("{name} takes a unit such as 'hour' first"))
            }
            _ => {
                let Some(length) = constant::length(&unit) else {
                    return Err(no_length(&first.to_string(), first.span()));
                };
                let width = match (length.months, length.nanos) {
                    (0, nanos) if nanos > 0 => Width::Nanos(nanos),
                    (months, 0) if months > 0 => Width::Months(months),
                    _ => {
                        return span::error(
                            first,
                            "a window is longer than nothing, and has \
                                                    months or other units, not both",
                        );
                    }
                };
                let usual_ns = match (name, width) {
                    ("date_bin", _) => 0,
                    (_, Width::Nanos(_)) => BUCKET_ORIGIN_NS,
                    (_, Width::Months(_)) => BUCKET_MONTH_NS,
                };
                let origin_ns = third.map(|third| self.origin(third, usual_ns)).transpose()?;
                let bucket = Bucket { width, origin_ns: origin_ns.unwrap_or(usual_ns) };
                self.window(expr, time, bucket)
            }
        }
    }

    /// Where windows begin to be counted: a time, or how far they are moved.
    fn origin(&mut self, expr: &Expr, usual_ns: i64) -> Result<i64, SqlError> {
        let typed = self.expr(expr)?;
        let moved = match constant::length(&typed) {
            Some(length) if typed.of == Type::Interval && length.months == 0 => {
                usual_ns.checked_add(length.nanos)
            }
            _ => match constant::as_time(typed).as_ref().and_then(Typed::item) {
                Some(Item::Time(time_ns)) => Some(*time_ns),
                _ => None,
            },
        };
        match moved {
            Some(origin_ns) => Ok(origin_ns),
            None => span::error(
                expr,
                "the origin of windows is a timestamp such as '2026-01-01', or an interval",
            ),
        }
    }

    fn window(&mut self, expr: &Expr, time: &Expr, bucket: Bucket) -> Result<Typed, SqlError> {
        let typed = self.expr(time)?;
        match constant::as_time(typed).filter(|typed| typed.of == Type::Time) {
            Some(typed) => {
                let time = Box::new(typed.formula);
                Ok(Typed::new(Formula::Window { time, bucket }, Type::Time))
            }
            None => span::error(expr, "windows are of timestamps: write the column time here"),
        }
    }

    fn to_timestamp(&mut self, expr: &Expr, name: &str, of: &Expr) -> Result<Typed, SqlError> {
        let typed = self.expr(of)?;
        if let Some(text) = typed.text() {
            return match constant::read(text, Type::Time) {
                Some(time) => Ok(time),
                None => span::error(of, format!("'{text}' cannot be read as a timestamp")),
            };
        }
        let unit_ns = match name {
            "to_timestamp_nanos" => 1,
            "to_timestamp_micros" => 1_000,
            "to_timestamp_millis" => 1_000_000,
            _ => NANOS_PER_SECOND,
        };
        match (typed.of, typed.item()) {
            (Type::Time, _) => Ok(typed),
            (Type::Integer, Some(Item::Integer(number))) => match number.checked_mul(unit_ns) {
                Some(time_ns) => Ok(Typed::constant(Item::Time(time_ns), Type::Time)),
                None => span::error(expr, "the time lies beyond what nanoseconds can say"),
            },
            (Type::Float, Some(Item::Float(number))) => {
                let time_ns = (number * unit_ns as f64).round();
                match time_ns.abs() < 9.2e18 {
                    true => Ok(Typed::constant(Item::Time(time_ns as i64), Type::Time)),
                    false => span::error(expr, "the time lies beyond what nanoseconds can say"),
                }
            }
            (of, _) if of.is_number() => {
                let whole = of.is_whole();
                let unit = match whole {
                    true => Item::Integer(unit_ns),
                    false => Item::Float(unit_ns as f64),
                };
                let (operator, left) = (Operator::Multiply, Box::new(typed.formula));
                let right = Box::new(Formula::Constant(unit));
                let nanos = Formula::Binary { operator, left, right };
                let value =
                    Box::new(Formula::Converted { value: Box::new(nanos), to: Kept::Integer });
                Ok(Typed::new(Formula::Converted { value, to: Kept::Time }, Type::Time))
            }
            (other, _) => span::error(of, format!("{name} takes a number or a text, not {other}")),
        }
    }
}

/// The windows of a unit of the calendar.
fn unit_window(unit: &str, expr: &Expr) -> Result<Bucket, SqlError> {
    let unit = unit.to_ascii_lowercase();
    let nanos = |nanos: i64| Bucket { width: Width::Nanos(nanos), origin_ns: 0 };
    let months = |months: i32| Bucket { width: Width::Months(months), origin_ns: 0 };
    Ok(match unit.trim_end_matches('s') {
        "microsecond" => nanos(1_000),
        "millisecond" => nanos(1_000_000),
        "second" => nanos(NANOS_PER_SECOND),
        "minute" => nanos(60 * NANOS_PER_SECOND),
        "hour" => nanos(3600 * NANOS_PER_SECOND),
        "day" => nanos(DAY_NS),
        "week" => Bucket { width: Width::Nanos(7 * DAY_NS), origin_ns: MONDAY_NS },
        "month" => months(1),
        "quarter" => months(3),
        "year" => months(12),
        _ => {
            let text = format!(
                "'{unit}' is no unit of date_trunc: second, minute, hour, day, week, month, \
                 quarter and year are"
            );
            return span::error(expr, text);
        }
    })
}

fn math_of(name: &str, arguments: usize) -> Option<Math> {
    Some(match (name, arguments) {
        ("abs", 1) => Math::Abs,
        ("sin", 1) => Math::Sin,
        ("cos", 1) => Math::Cos,
        ("tan", 1) => Math::Tan,
        ("asin", 1) => Math::Asin,
        ("acos", 1) => Math::Acos,
        ("atan", 1) => Math::Atan,
        ("atan2", 2) => Math::Atan2,
        ("exp", 1) => Math::Exp,
        ("ln", 1) => Math::Ln,
        ("log" | "log10", 1) => Math::Log10,
        ("log2", 1) => Math::Log2,
        ("log", 2) => Math::Log,
        ("sqrt", 1) => Math::Sqrt,
        ("floor", 1) => Math::Floor,
        ("ceil" | "ceiling", 1) => Math::Ceil,
        ("round", 1 | 2) => Math::Round,
        _ => return None,
    })
}

fn words_of(name: &str) -> Option<Words> {
    Some(match name {
        "lower" => Words::Lower,
        "upper" => Words::Upper,
        "length" | "char_length" | "character_length" => Words::Length,
        "concat" => Words::Concat,
        "btrim" | "trim" => Words::Trim,
        "ltrim" => Words::TrimStart,
        "rtrim" => Words::TrimEnd,
        "replace" => Words::Replace,
        "substr" | "substring" => Words::Part,
        "left" => Words::Left,
        "right" => Words::Right,
        "split_part" => Words::Piece,
        "strpos" | "position" => Words::Position,
        "starts_with" => Words::StartsWith,
        _ => return None,
    })
}
