//! InfluxQL: text to statements, and statements to text.
//!
//! The grammar is that of InfluxDB 1.8, errors are worded and placed as there. Statements are
//! syntax only: nothing here knows which measurements, fields or functions exist, regular
//! expressions are carried as they were written, and times in conditions are still strings.
//!
//! ```
//! use foliot_proto_influx::influxql::{Parameters, parse};
//! let statements = parse("select mean(usage) from cpu group by time(5m)", &Parameters::new())?;
//! assert_eq!(statements[0].to_string(), "SELECT mean(usage) FROM cpu GROUP BY time(5m)");
//! let error = parse("SELECT usage FORM cpu", &Parameters::new()).unwrap_err();
//! assert_eq!(error.to_string(), "found FORM, expected FROM at line 1, char 14");
//! # Ok::<(), foliot_proto_influx::influxql::ParseError>(())
//! ```

mod ast;
mod continuous;
mod deletion;
mod duration;
mod error;
mod expression;
mod parser;
mod plan;
mod print;
mod scan;
mod select;
mod show;
mod statement;
#[cfg(test)]
mod tests;

pub use ast::*;
pub use deletion::{Deleted, deletions};
pub use duration::{format_duration, parse_duration};
pub use error::ParseError;
pub use parser::parse;
pub use plan::{
    Context, PlanError, Selection, ShapesOf, Shown, check_select, measurement_test, plan_explain,
    plan_select, plan_show, series_condition,
};
