//! Formulas over whole answers: the functions of `/api/query/gexp` and the expressions of
//! `/api/query/exp`.
//!
//! Both ask ordinary questions first. Their answers are collected, because a formula needs them
//! side by side, and the formula is worked out over what was collected.

mod arithmetic;
mod expressions;
mod functions;
mod shown;

use crate::UidKind;
use crate::budget::Budget;
use crate::http::{Endpoint, HttpError, HttpRequest};
use crate::lang::Request;
use expressions::ExpressionQuery;
use foliot_model::{Frame, NANOS_PER_MILLI, Value};
use functions::FunctionQuery;
use std::collections::{BTreeMap, BTreeSet};

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

    /// Room for the answers.
    pub fn collect(&self) -> Collected {
        let names = self.questions().into_iter().map(|one| one.metric(0).map(str::to_owned));
        Collected::new(names.collect())
    }

    /// Works the formula out and writes the answer. Both take from `budget`.
    ///
    /// # Errors
    /// 400 when a value becomes infinite, and what the budget refuses.
    pub fn finish(
        &self,
        collected: Collected,
        uid_of: &UidOf<'_>,
        budget: &Budget<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), HttpError> {
        match &self.0 {
            Kind::Functions(query) => query.finish(collected, uid_of, budget, out),
            Kind::Expressions(query) => query.finish(collected, uid_of, budget, out),
        }
    }
}

/// A number as an answer holds it: integers stay integers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Integer(i64),
    Double(f64),
}

impl Number {
    pub(crate) fn to_f64(self) -> f64 {
        match self {
            Self::Integer(value) => value as f64,
            Self::Double(value) => value,
        }
    }
}

/// An answered series in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Answered {
    pub(crate) metric: String,
    pub(crate) tags: BTreeMap<String, String>,
    /// Names of tags on which its members differ.
    pub(crate) varying: BTreeSet<String>,
    /// By time in milliseconds.
    pub(crate) points: Vec<(i64, Number)>,
}

/// What the names of a series weigh, in points, by estimate.
const SERIES_POINTS: usize = 16;

/// The answers to the questions of a formula, as frames bring them.
#[derive(Debug)]
pub struct Collected {
    /// Question by question.
    pub(crate) answers: Vec<Vec<Answered>>,
    /// What a metric is called that a question names otherwise than the store.
    names: Vec<Option<String>>,
    is_open: bool,
}

impl Collected {
    /// Room for the answers to questions that call their metrics by `names`.
    pub(crate) fn new(names: Vec<Option<String>>) -> Self {
        let answers = names.iter().map(|_| Vec::new()).collect();
        Self { answers, names, is_open: false }
    }

    /// Takes a frame, whose memory is taken from `budget`.
    ///
    /// # Errors
    /// What the budget refuses, 400 for infinite values.
    pub fn push(&mut self, frame: &Frame, budget: &Budget<'_>) -> Result<(), HttpError> {
        let Some(answers) = self.answers.get_mut(frame.head.question) else { return Ok(()) };
        budget.take_for::<(i64, Number)>(frame.samples.len() + SERIES_POINTS)?;
        if !self.is_open {
            let named = self.names.get(frame.head.question).cloned().flatten();
            let tags = frame.head.labels.iter();
            answers.push(Answered {
                metric: named.unwrap_or_else(|| frame.head.measurement.to_string()),
                tags: tags.map(|tag| (tag.name.to_string(), tag.value.to_string())).collect(),
                varying: frame.head.varying.iter().map(|name| name.to_string()).collect(),
                points: Vec::new(),
            });
        }
        self.is_open = !frame.is_last;
        let Some(open) = answers.last_mut() else { return Ok(()) };
        for (time_ns, value) in frame.samples.iter() {
            let number = match value {
                Value::Integer(value) => Number::Integer(value),
                value => match value.as_f64() {
                    Some(value) if value.is_infinite() => return Err(infinite()),
                    Some(value) => Number::Double(value),
                    None => continue,
                },
            };
            open.points.push((time_ns.div_euclid(NANOS_PER_MILLI), number));
        }
        Ok(())
    }
}

fn infinite() -> HttpError {
    HttpError::bad_request("Got Infinity: an infinite value cannot be written as JSON")
}

/// Finds the numbers of a tag's name and value, which order answers.
pub type UidOf<'a> = dyn Fn(UidKind, &str) -> Option<u32> + 'a;
