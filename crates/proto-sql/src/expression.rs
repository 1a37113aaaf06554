//! Expressions to formulas.

mod operator;
pub(crate) mod pattern;

pub(crate) use operator::power;

use crate::lowering::Lowering;
use crate::scope;
use crate::time;
use crate::typed::{Type, Typed};
use crate::{SqlError, constant, refused, span};
use foliot_model::Item;
use foliot_plan::relation::{Formula, Part};
use foliot_plan::rows::Operator;
use sqlparser::ast::{
    CaseWhen, CastKind, DataType, DateTimeField, Expr, InTarget, Spanned, UnaryOperator, Value,
};
use sqlparser::tokenizer::Span;

/// Values that stand in a list behind IN.
const LIST_MAX: usize = 10_000;

impl Lowering<'_> {
    /// The formula of an expression that is no key.
    pub(crate) fn lowered(&mut self, expr: &Expr) -> Result<Typed, SqlError> {
        match expr {
            Expr::Identifier(ident) => self.named(expr, self.scope.column(ident)?),
            Expr::CompoundIdentifier(idents) => self.named(expr, self.scope.qualified(idents)?),
            Expr::Value(value) => self.value(&value.value, value.span),
            Expr::Nested(inner) => self.expr(inner),
            Expr::BinaryOp { left, op, right } => self.binary(expr, (left, op, right)),
            Expr::UnaryOp { op, expr: inner } => self.unary(expr, *op, inner),
            Expr::IsNull(inner) => self.is_null(inner, false),
            Expr::IsNotNull(inner) => self.is_null(inner, true),
            Expr::IsTrue(inner) => self.is_truth(inner, Some(true), false),
            Expr::IsNotTrue(inner) => self.is_truth(inner, Some(true), true),
            Expr::IsFalse(inner) => self.is_truth(inner, Some(false), false),
            Expr::IsNotFalse(inner) => self.is_truth(inner, Some(false), true),
            Expr::IsUnknown(inner) => self.is_truth(inner, None, false),
            Expr::IsNotUnknown(inner) => self.is_truth(inner, None, true),
            Expr::IsDistinctFrom(left, right) => self.distinct(expr, (left, right), true),
            Expr::IsNotDistinctFrom(left, right) => self.distinct(expr, (left, right), false),
            Expr::Between { expr: value, negated, low, high } => {
                let ends = [self.expr(value)?, self.expr(low)?, self.expr(high)?];
                Ok(negated_if(*negated, between(expr, ends)?))
            }
            Expr::In { expr: value, target, negated, .. } => match target {
                InTarget::List(list) => self.is_one_of(expr, value, list, *negated),
                _ => Err(refused::expression(expr)),
            },
            Expr::Like { negated, any: false, expr: text, pattern, escape_char } => {
                self.like(expr, (text, pattern), (escape_char.as_deref(), false), *negated)
            }
            Expr::ILike { negated, any: false, expr: text, pattern, escape_char } => {
                self.like(expr, (text, pattern), (escape_char.as_deref(), true), *negated)
            }
            Expr::Cast { kind, expr: inner, data_type, .. } => self.cast(inner, (kind, data_type)),
            Expr::TypedString(typed) => {
                let text = typed.value.value.clone().into_string().unwrap_or_default();
                read_as(constant::text(&text), type_of(&typed.data_type, expr)?, expr)
            }
            Expr::Interval(interval) => {
                let value = self.expr(&interval.value)?;
                let unit = interval.leading_field.as_ref().map(ToString::to_string);
                let text = match value.item() {
                    Some(Item::String(text)) => text.to_string(),
                    Some(Item::Integer(number)) => number.to_string(),
                    _ => String::new(),
                };
                match time::length(&text, unit.as_deref()) {
                    Some(length) => Ok(constant::interval(length)),
                    None => Err(no_length(&text, interval.value.span())),
                }
            }
            Expr::Case { operand, conditions, else_result, .. } => {
                self.case(expr, operand.as_deref(), conditions, else_result.as_deref())
            }
            Expr::Extract { field, expr: time, .. } => {
                let field = field.clone();
                self.extract(expr, &part_of(&field, expr)?, time)
            }
            other => self.called(other),
        }
    }

    fn value(&mut self, value: &Value, at: Span) -> Result<Typed, SqlError> {
        Ok(match value {
            Value::Number(text, _) => match constant::number(text) {
                Some(number) => number,
                None => return Err(SqlError::at(at, format!("{text} is no number"))),
            },
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => {
                constant::text(text)
            }
            Value::DollarQuotedString(text) => constant::text(&text.value),
            Value::Boolean(truth) => Typed::constant(Item::Boolean(*truth), Type::Boolean),
            Value::Null => Typed::null(),
            Value::Placeholder(name) => self.parameter(name, at)?,
            other => {
                let text = format!("{other}: write the text in single quotes");
                return Err(SqlError::at(at, text));
            }
        })
    }

    fn unary(
        &mut self,
        expr: &Expr,
        operator: UnaryOperator,
        inner: &Expr,
    ) -> Result<Typed, SqlError> {
        match operator {
            UnaryOperator::Not => {
                let truth = self.truth(inner)?;
                Ok(Typed::new(Formula::Not(Box::new(truth)), Type::Boolean))
            }
            UnaryOperator::Plus => self.expr(inner),
            UnaryOperator::Minus => {
                // The smallest integer has no positive counterpart.
                if let Expr::Value(value) = inner
                    && let Value::Number(text, _) = &value.value
                    && let Ok(number) = format!("-{text}").parse()
                {
                    return Ok(Typed::constant(Item::Integer(number), Type::Integer));
                }
                let typed = self.expr(inner)?;
                match (typed.of, typed.item()) {
                    (Type::Interval, _) => match constant::length(&typed) {
                        Some(length) => match constant::times(length, -1.0) {
                            Some(length) => Ok(constant::interval(length)),
                            None => span::error(expr, "the interval is too long"),
                        },
                        None => Ok(negative(typed)),
                    },
                    (_, Some(Item::Float(number))) => {
                        Ok(Typed::constant(Item::Float(-number), Type::Float))
                    }
                    (of, _) if of.is_number() => Ok(negative(typed)),
                    (of, _) => span::error(expr, format!("- takes a number, not {of}")),
                }
            }
            _ => Err(refused::expression(expr)),
        }
    }

    fn is_null(&mut self, inner: &Expr, negated: bool) -> Result<Typed, SqlError> {
        let value = Box::new(self.expr(inner)?.formula);
        Ok(negated_if(negated, Typed::new(Formula::IsNull(value), Type::Boolean)))
    }

    /// `IS [NOT] TRUE`, `FALSE` or `UNKNOWN`, which is never null.
    fn is_truth(
        &mut self,
        inner: &Expr,
        wanted: Option<bool>,
        negated: bool,
    ) -> Result<Typed, SqlError> {
        let truth = self.truth(inner)?;
        let formula = match wanted {
            None => Formula::IsNull(Box::new(truth)),
            Some(wanted) => {
                let other = Formula::Constant(Item::Boolean(!wanted));
                let known = Formula::FirstOf(vec![truth, other]);
                if wanted { known } else { Formula::Not(Box::new(known)) }
            }
        };
        Ok(negated_if(negated, Typed::new(formula, Type::Boolean)))
    }

    /// `IS [NOT] DISTINCT FROM`: two nulls are alike.
    fn distinct(
        &mut self,
        expr: &Expr,
        (left, right): (&Expr, &Expr),
        are_distinct: bool,
    ) -> Result<Typed, SqlError> {
        let (left, right) = (self.expr(left)?, self.expr(right)?);
        let (left, right) = alike(expr, "a comparison", left, right)?;
        let (left, right) = (Box::new(left.formula), Box::new(right.formula));
        let differ = Typed::new(Formula::Differ { left, right }, Type::Boolean);
        Ok(negated_if(!are_distinct, differ))
    }

    fn is_one_of(
        &mut self,
        expr: &Expr,
        value: &Expr,
        list: &[Expr],
        negated: bool,
    ) -> Result<Typed, SqlError> {
        if list.len() > LIST_MAX {
            return span::error(expr, format!("IN takes at most {LIST_MAX} values"));
        }
        let mut value = self.expr(value)?;
        let mut list = list.iter().map(|each| self.expr(each)).collect::<Result<Vec<_>, _>>()?;
        // A text that stands there is what the list has.
        if value.text().is_some()
            && let Some(firm) = list.iter().find(|of| of.text().is_none() && of.of != Type::Null)
        {
            (value, _) = alike(expr, "IN", value, Typed::new(Formula::Column(0), firm.of))?;
        }
        for each in &mut list {
            let other = std::mem::replace(each, Typed::null());
            (value, *each) = alike(expr, "IN", value, other)?;
        }
        let items = list.iter().map(|each| each.item().filter(|item| !item.is_null()).cloned());
        let items: Option<Vec<Item>> = items.collect();
        let value = Box::new(value.formula);
        let any = match items {
            Some(items) => Formula::IsOneOf { value, of: items.into() },
            None => {
                let with = list.into_iter().map(|each| (Operator::Equal, each.formula));
                Formula::Compared { value, with: with.collect(), is_any: true }
            }
        };
        Ok(negated_if(negated, Typed::new(any, Type::Boolean)))
    }

    fn cast(
        &mut self,
        inner: &Expr,
        (kind, data_type): (&CastKind, &DataType),
    ) -> Result<Typed, SqlError> {
        if matches!(kind, CastKind::TryCast | CastKind::SafeCast) {
            return span::error(inner, "there is no TRY_CAST: CAST what can be read");
        }
        let to = type_of(data_type, inner)?;
        let typed = self.expr(inner)?;
        read_as(typed, to, inner)
    }

    fn case(
        &mut self,
        expr: &Expr,
        operand: Option<&Expr>,
        conditions: &[CaseWhen],
        otherwise: Option<&Expr>,
    ) -> Result<Typed, SqlError> {
        let mut operand = operand.map(|operand| self.expr(operand)).transpose()?;
        let (mut tests, mut values) = (Vec::new(), Vec::new());
        for CaseWhen { condition, result } in conditions {
            tests.push(match operand.take() {
                None => self.truth(condition)?,
                Some(value) => {
                    let (value, test) = alike(condition, "CASE", value, self.expr(condition)?)?;
                    operand = Some(value);
                    test.formula
                }
            });
            values.push(self.expr(result)?);
        }
        values.push(otherwise.map_or(Ok(Typed::null()), |otherwise| self.expr(otherwise))?);
        let (values, of) = of_one_type(expr, "CASE", values)?;
        let mut values: Vec<Formula> = values;
        let otherwise = Box::new(values.pop().unwrap_or(Formula::Constant(Item::Null)));
        let cases = tests.into_iter().zip(values).collect();
        let chosen = match operand {
            None => Formula::Chosen { cases, otherwise },
            Some(value) => Formula::Matched { value: Box::new(value.formula), cases, otherwise },
        };
        Ok(Typed::new(chosen, of))
    }

    /// A part of a time or of an interval.
    pub(crate) fn extract(
        &mut self,
        expr: &Expr,
        part: &Part,
        time: &Expr,
    ) -> Result<Typed, SqlError> {
        let (time, zone) = match time {
            Expr::AtTimeZone { timestamp, time_zone } => (&**timestamp, Some(&**time_zone)),
            other => (other, None),
        };
        let zone = zone.map(|zone| self.zone(zone)).transpose()?;
        let typed = self.expr(time)?;
        if typed.of == Type::Interval {
            if *part != Part::Epoch || typed.months != 0 {
                return span::error(expr, "of an interval there is extract(epoch FROM ...) only");
            }
            let nanos = typed.converted(Type::Float);
            let second = Box::new(Formula::Constant(Item::Float(1e9)));
            let (operator, left) = (Operator::Divide, Box::new(nanos.formula));
            let seconds = Formula::Binary { operator, left, right: second };
            return Ok(Typed::new(seconds, Type::Float));
        }
        let Some(typed) = constant::as_time(typed).filter(|typed| typed.of != Type::Null) else {
            return span::error(expr, "extract takes a part of a timestamp");
        };
        let of = match part {
            Part::Epoch | Part::Second | Part::Milliseconds | Part::Microseconds => Type::Float,
            _ => Type::Integer,
        };
        Ok(Typed::new(Formula::Part { time: Box::new(typed.formula), part: *part, zone }, of))
    }
}

fn negative(typed: Typed) -> Typed {
    let zero = match typed.of {
        // What is not there yet has its sign, too: 0.0 - 0.0 has not.
        Type::Float => Item::Float(-0.0),
        _ => Item::Integer(0),
    };
    let of = if typed.of == Type::Unsigned { Type::Integer } else { typed.of };
    let left = Box::new(Formula::Constant(zero));
    let (operator, right) = (Operator::Subtract, Box::new(typed.formula));
    Typed::new(Formula::Binary { operator, left, right }, of)
}

pub(crate) fn both(operator: Operator, left: Typed, right: Typed) -> Typed {
    let (left, right) = (Box::new(left.formula), Box::new(right.formula));
    Typed::new(Formula::Binary { operator, left, right }, Type::Boolean)
}

pub(crate) fn negated_if(negated: bool, typed: Typed) -> Typed {
    match negated {
        true => Typed::new(Formula::Not(Box::new(typed.formula)), Type::Boolean),
        false => typed,
    }
}

pub(crate) fn no_length(text: &str, at: Span) -> SqlError {
    let text = format!("'{text}' is no length of time: write one such as '5 minutes' or '1 day'");
    SqlError::at(at, text)
}

/// Two values of one type: a text that stands in the statement is read as what the other one is.
pub(crate) fn alike(
    expr: &impl Spanned,
    what: &str,
    left: Typed,
    right: Typed,
) -> Result<(Typed, Typed), SqlError> {
    let no_value = |text: &str, of: Type| {
        Err(SqlError::at(expr.span(), format!("'{text}' cannot be read as {of}")))
    };
    match (left.of, right.of) {
        (a, b) if a == b || a.is_number() && b.is_number() => {}
        (Type::Null, _) | (_, Type::Null) => {}
        (Type::Text, of) if left.text().is_some() => {
            let text = left.text().unwrap_or_default();
            return match constant::read(text, of) {
                Some(left) => Ok((left, right)),
                None => no_value(text, of),
            };
        }
        (of, Type::Text) if right.text().is_some() => {
            let text = right.text().unwrap_or_default();
            return match constant::read(text, of) {
                Some(right) => Ok((left, right)),
                None => no_value(text, of),
            };
        }
        (Type::Time, Type::Integer) if right.item().is_some() => {
            return Ok((left, constant::as_time(right).unwrap_or_else(Typed::null)));
        }
        (Type::Integer, Type::Time) if left.item().is_some() => {
            return Ok((constant::as_time(left).unwrap_or_else(Typed::null), right));
        }
        _ => return crate::lowering::unlike(expr, what, &left, &right),
    }
    Ok((left, right))
}

/// Whether a value lies between two others, or is one of them.
fn between(expr: &Expr, [value, low, high]: [Typed; 3]) -> Result<Typed, SqlError> {
    let (value, low) = alike(expr, "BETWEEN", value, low)?;
    let (value, high) = alike(expr, "BETWEEN", value, high)?;
    // Where all but the last are texts that stand there, they become what that is.
    let (value, low) = alike(expr, "BETWEEN", value, low)?;
    // Scans know the comparisons of columns. What is longer is not written twice, since it may
    // stand in another one of its kind.
    if let Formula::Column(_) = value.formula {
        let from = compared(expr, Operator::GreaterOrEqual, value.clone(), low)?;
        let to = compared(expr, Operator::LessOrEqual, value, high)?;
        return Ok(both(Operator::And, from, to));
    }
    let with = vec![(Operator::GreaterOrEqual, low.formula), (Operator::LessOrEqual, high.formula)];
    let between = Formula::Compared { value: Box::new(value.formula), with, is_any: false };
    Ok(Typed::new(between, Type::Boolean))
}

/// How two values compare.
pub(crate) fn compared(
    expr: &impl Spanned,
    operator: Operator,
    left: Typed,
    right: Typed,
) -> Result<Typed, SqlError> {
    let (left, right) = alike(expr, "a comparison", left, right)?;
    Ok(both(operator, left, right))
}

/// Values that may stand for each other, converted to the type that fits all.
pub(crate) fn of_one_type(
    expr: &Expr,
    what: &str,
    values: Vec<Typed>,
) -> Result<(Vec<Formula>, Type), SqlError> {
    let is_open = |typed: &Typed| typed.text().is_some();
    let mut of = Type::Null;
    // Texts that stand in the statement take the type of the others.
    let (open, firm): (Vec<&Typed>, Vec<&Typed>) = values.iter().partition(|each| is_open(each));
    for each in firm {
        of = match of.joined(each.of) {
            Some(joined) => joined,
            None => {
                return crate::lowering::unlike(
                    expr,
                    what,
                    &Typed::new(Formula::Column(0), of),
                    each,
                );
            }
        };
    }
    if of == Type::Null && !open.is_empty() {
        of = Type::Text;
    }
    let converted = values.into_iter().map(|each| match each.text() {
        Some(text) if of != Type::Text => match constant::read(text, of) {
            Some(read) => Ok(read.formula),
            None => span::error(expr, format!("{what}: '{text}' cannot be read as {of}")),
        },
        _ if each.of == Type::Null => Ok(each.formula),
        _ => Ok(each.converted(of).formula),
    });
    Ok((converted.collect::<Result<_, SqlError>>()?, of))
}

/// A value as another type.
pub(crate) fn read_as(typed: Typed, to: Type, expr: &Expr) -> Result<Typed, SqlError> {
    let is_same = typed.of == to;
    if let Some(text) = typed.text() {
        return match constant::read(text, to) {
            Some(read) => Ok(read),
            None => span::error(expr, format!("'{text}' cannot be read as {to}")),
        };
    }
    let fits = match (typed.of, to) {
        (Type::Null, _) => return Ok(Typed { of: to, ..typed }),
        (Type::Interval, _) | (_, Type::Interval) => is_same,
        (Type::Time, to) => matches!(to, Type::Time | Type::Text | Type::Integer),
        (of, Type::Time) => of == Type::Integer,
        (Type::Boolean, to) => matches!(to, Type::Boolean | Type::Text | Type::Integer),
        (of, Type::Boolean) => matches!(of, Type::Integer | Type::Text),
        _ => true,
    };
    match fits {
        true if to == Type::Time && !is_same => match constant::as_time(typed) {
            Some(time) => Ok(time),
            None => span::error(expr, "this is no time"),
        },
        true => Ok(typed.converted(to)),
        false => span::error(expr, format!("{} cannot be cast to {to}", typed.of)),
    }
}

/// The type that a word means.
fn type_of(data_type: &DataType, expr: &Expr) -> Result<Type, SqlError> {
    let word = data_type.to_string().to_ascii_lowercase();
    let word = word.split('(').next().unwrap_or_default().trim();
    Ok(match word {
        "bool" | "boolean" => Type::Boolean,
        "int" | "integer" | "int2" | "int4" | "int8" | "smallint" | "bigint" | "int64" => {
            Type::Integer
        }
        "bigint unsigned" | "uint64" | "unsigned" | "int unsigned" => Type::Unsigned,
        "float" | "float4" | "float8" | "real" | "double" | "double precision" | "float64"
        | "numeric" | "decimal" => Type::Float,
        "text" | "varchar" | "char" | "character" | "character varying" | "string" => Type::Text,
        "interval" => Type::Interval,
        word if word.starts_with("timestamp") || word == "date" || word == "datetime" => Type::Time,
        word => {
            let text = format!(
                "there is no type {word}, but boolean, bigint, double precision, text, timestamp \
                 and interval"
            );
            return span::error(expr, text);
        }
    })
}

/// The part of a time that a field means.
fn part_of(field: &DateTimeField, expr: &Expr) -> Result<Part, SqlError> {
    part_named(&field.to_string(), expr)
}

/// The part of a time of this name.
pub(crate) fn part_named(name: &str, expr: &Expr) -> Result<Part, SqlError> {
    Ok(match &*name.to_ascii_lowercase() {
        "epoch" => Part::Epoch,
        "year" | "years" => Part::Year,
        "isoyear" => Part::IsoYear,
        "quarter" => Part::Quarter,
        "month" | "months" => Part::Month,
        "week" | "weeks" | "isoweek" => Part::Week,
        "day" | "days" => Part::Day,
        "doy" | "dayofyear" => Part::DayOfYear,
        "dow" | "dayofweek" => Part::DayOfWeek,
        "isodow" => Part::IsoDayOfWeek,
        "hour" | "hours" => Part::Hour,
        "minute" | "minutes" => Part::Minute,
        "second" | "seconds" => Part::Second,
        "millisecond" | "milliseconds" => Part::Milliseconds,
        "microsecond" | "microseconds" => Part::Microseconds,
        name => {
            let text = format!(
                "a timestamp has no {name}, but epoch, year, isoyear, quarter, month, week, day, \
                 doy, dow, isodow, hour, minute, second, milliseconds and microseconds"
            );
            return span::error(expr, text);
        }
    })
}

/// The name of a table or a function.
pub(crate) fn plain_name(name: &sqlparser::ast::ObjectName) -> String {
    let idents: Vec<_> = name.0.iter().filter_map(|part| part.as_ident().cloned()).collect();
    scope::joined(&idents)
}
