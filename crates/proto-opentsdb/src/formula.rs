//! Formulas: the functions of `/api/query/gexp` and the expressions of `/api/query/exp`.
//!
//! Both ask ordinary questions, and further ones of which each calculates with the answers to
//! earlier ones.

mod arithmetic;
mod expressions;
mod functions;
mod shown;

use crate::budget::Budget;
use crate::encode::infinite;
use crate::http::{Endpoint, HttpError, HttpRequest};
use crate::lang::Request;
use expressions::{ExpressionAnswer, ExpressionQuery};
use foliot_model::{Frame, NANOS_PER_MILLI, Value};
use foliot_plan::{Each, Function, Named, Series};
use functions::{FunctionAnswer, FunctionQuery};

/// Formulas of one request: each is worked out over all answers.
const FORMULAS_MAX: usize = 100;

/// Refuses more formulas than a request may have.
fn check_count(count: usize) -> Result<(), HttpError> {
    match count > FORMULAS_MAX {
        true => Err(HttpError::bad_request(format!(
            "The request has {count} expressions, up to {FORMULAS_MAX} may be"
        ))),
        false => Ok(()),
    }
}

/// A query with a formula.
#[derive(Debug)]
pub struct Formula(Kind);

#[derive(Debug)]
enum Kind {
    Functions(FunctionQuery),
    Expressions(ExpressionQuery),
}

impl Formula {
    /// Reads a request to one of the two endpoints.
    ///
    /// # Errors
    /// 400 for what does not parse or does not fit together.
    pub fn parse(
        endpoint: Endpoint,
        request: &HttpRequest<'_>,
        now_ms: i64,
    ) -> Result<Self, HttpError> {
        Ok(Self(match endpoint {
            Endpoint::Expressions => Kind::Expressions(ExpressionQuery::parse(request, now_ms)?),
            _ => Kind::Functions(FunctionQuery::parse(request, now_ms)?),
        }))
    }

    /// What is to be asked first, in this order; a question each.
    pub fn questions(&self) -> Vec<&Request> {
        match &self.0 {
            Kind::Functions(query) => query.questions(),
            Kind::Expressions(query) => query.questions(),
        }
    }

    /// All questions: those that are asked first, by their plans, and what is calculated with them.
    pub fn plans(&self, asked: Vec<Series>) -> Vec<Series> {
        let asked = self.questions().into_iter().zip(asked);
        let asked = asked.map(|(question, plan)| named(question, plan)).collect();
        match &self.0 {
            Kind::Functions(query) => query.plans(asked),
            Kind::Expressions(query) => query.plans(asked),
        }
    }

    /// An answer to be made of frames, which takes from `budget`.
    pub fn answer<'a>(&'a self, budget: &'a Budget<'a>) -> FormulaAnswer<'a> {
        FormulaAnswer(match &self.0 {
            Kind::Functions(query) => Answer::Functions(query.answer(budget)),
            Kind::Expressions(query) => Answer::Expressions(query.answer(budget)),
        })
    }
}

/// The plan of a question under the name that it asks for, with times in milliseconds.
fn named(question: &Request, plan: Series) -> Series {
    let input =
        Series::Each(Box::new(Each { input: plan, function: Function::Coarse(NANOS_PER_MILLI) }));
    match question.metric(0) {
        Some(metric) => {
            Series::Named(Box::new(Named { input, name: metric.into(), is_template: false }))
        }
        None => input,
    }
}

/// The answer to a [`Formula`]. It is whole before any of it is written.
#[derive(Debug)]
pub struct FormulaAnswer<'a>(Answer<'a>);

#[derive(Debug)]
enum Answer<'a> {
    Functions(FunctionAnswer<'a>),
    Expressions(ExpressionAnswer<'a>),
}

impl FormulaAnswer<'_> {
    /// Takes a frame.
    ///
    /// # Errors
    /// What the budget refuses, 400 for infinite values.
    pub fn frame(&mut self, frame: &Frame) -> Result<(), HttpError> {
        match &mut self.0 {
            Answer::Functions(answer) => answer.frame(frame),
            Answer::Expressions(answer) => answer.frame(frame),
        }
    }

    /// Appends the answer.
    ///
    /// # Errors
    /// 400 when an intersection is empty, and what the budget refuses.
    pub fn finish(self, out: &mut Vec<u8>) -> Result<(), HttpError> {
        match self.0 {
            Answer::Functions(answer) => answer.finish(out),
            Answer::Expressions(answer) => answer.finish(out),
        }
    }
}

/// Refuses to calculate with what is infinite: it could not have been written.
fn check_finite(frame: &Frame) -> Result<(), HttpError> {
    let is_infinite = |value| matches!(value, Value::Float(value) if value.is_infinite());
    match frame.samples.iter().any(|(_, value)| is_infinite(value)) {
        true => Err(infinite()),
        false => Ok(()),
    }
}
