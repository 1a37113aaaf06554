//! Calls of functions of one row.

mod windows;

use crate::expression::{alike, of_one_type, plain_name, power};
use crate::lowering::Lowering;
use crate::typed::{Type, Typed};
use crate::{SqlError, catalogue, refused, span};
use foliot_model::{Item, NANOS_PER_SECOND};
use foliot_plan::relation::{Formula, Words};
use foliot_plan::rows::{Math, Operator};
use sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArguments, OrderByExpr, Spanned, TrimWhereField,
};

const DAY_NS: i64 = 86_400 * NANOS_PER_SECOND;

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
        if let Some(window) = &function.over {
            return self.over(expr, (function, window));
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
                self.timestamp(expr, name, of)
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
        let (value, other) = alike(expr, "nullif", value, other)?;
        let of = value.of;
        let (value, other) = (Box::new(value.formula), Box::new(other.formula));
        Ok(Typed::new(Formula::NullIf { value, other }, of))
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
            Words::Concat | Words::Join => (1, usize::MAX),
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
