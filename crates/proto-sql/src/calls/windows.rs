//! Functions that make windows of times, parts of them, and times of numbers.

use crate::expression::{no_length, part_named};
use crate::lowering::Lowering;
use crate::typed::{Type, Typed};
use crate::{SqlError, constant, span, time};
use foliot_model::{Item, NANOS_PER_SECOND};
use foliot_plan::relation::{Bucket, Formula, Kept, Width};
use foliot_plan::rows::Operator;
use sqlparser::ast::{Expr, Spanned};
use std::sync::Arc;

const DAY_NS: i64 = 86_400 * NANOS_PER_SECOND;
/// Where weeks begin: Monday, 5 January 1970.
const MONDAY_NS: i64 = 4 * DAY_NS;
/// Where `time_bucket` begins to count: Monday, 3 January 2000, and for months the first of it.
const BUCKET_ORIGIN_NS: i64 = 946_857_600 * NANOS_PER_SECOND;
const BUCKET_MONTH_NS: i64 = 946_684_800 * NANOS_PER_SECOND;

impl Lowering<'_> {
    /// Windows of time, and parts of it.
    pub(super) fn of_time(
        &mut self,
        expr: &Expr,
        name: &str,
        arguments: &[&Expr],
    ) -> Result<Typed, SqlError> {
        let (first, time, third) = match arguments {
            [first, time] => (first, time, None),
            [first, time, third] if name != "date_part" && name != "datepart" => {
                (first, time, Some(third))
            }
            _ => {
                let text = match name {
                    "date_trunc" => {
                        "write date_trunc('hour', time), maybe with a time zone behind it"
                    }
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
            ("date_trunc", Some(unit), third) => {
                let zone = third.map(|third| self.zone(third)).transpose()?;
                let bucket = Bucket { zone, ..unit_window(&unit, expr)? };
                self.window(expr, time, bucket)
            }
            ("date_part" | "datepart", Some(unit), _) => {
                let part = part_named(&unit, expr)?;
                self.extract(expr, &part, time)
            }
            ("date_trunc" | "date_part" | "datepart", ..) => {
                span::error(first, format!("{name} takes a unit such as 'hour' first"))
            }
            _ => {
                let Some(length) = constant::length(&unit) else {
                    let text = unit.text().map_or_else(|| first.to_string(), str::to_owned);
                    return Err(no_length(&text, first.span()));
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
                let (origin_ns, zone) = match third {
                    None => (usual_ns, None),
                    Some(third) if name == "time_bucket" && self.is_name(third) => {
                        (usual_ns, Some(self.zone(third)?))
                    }
                    Some(third) => (self.origin(third, usual_ns)?, None),
                };
                self.window(expr, time, Bucket { width, origin_ns, zone })
            }
        }
    }

    /// Whether a text stands there that is neither a time nor a length of time.
    fn is_name(&mut self, expr: &Expr) -> bool {
        let typed = self.expr(expr).ok();
        let text = typed.as_ref().and_then(Typed::text);
        text.is_some_and(|text| time::instant(text).is_none() && time::length(text, None).is_none())
    }

    /// The time zone that an expression names.
    pub(crate) fn zone(&mut self, expr: &Expr) -> Result<Arc<str>, SqlError> {
        let typed = self.expr(expr)?;
        let Some(text) = typed.text() else {
            return span::error(expr, "a time zone is a text that stands there: 'Europe/Berlin'");
        };
        match time::zone(text) {
            Some(zone) => Ok(zone),
            None => {
                let text = format!(
                    "there is no time zone '{text}': write a name of IANA's, such as \
                     'Europe/Berlin', or 'Etc/GMT-3' for three hours ahead of UTC"
                );
                span::error(expr, text)
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

    pub(super) fn timestamp(
        &mut self,
        expr: &Expr,
        name: &str,
        of: &Expr,
    ) -> Result<Typed, SqlError> {
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
    let nanos = |nanos: i64| Bucket { width: Width::Nanos(nanos), origin_ns: 0, zone: None };
    let months = |months: i32| Bucket { width: Width::Months(months), origin_ns: 0, zone: None };
    Ok(match unit.trim_end_matches('s') {
        "microsecond" => nanos(1_000),
        "millisecond" => nanos(1_000_000),
        "second" => nanos(NANOS_PER_SECOND),
        "minute" => nanos(60 * NANOS_PER_SECOND),
        "hour" => nanos(3600 * NANOS_PER_SECOND),
        "day" => nanos(DAY_NS),
        "week" => Bucket { width: Width::Nanos(7 * DAY_NS), origin_ns: MONDAY_NS, zone: None },
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
