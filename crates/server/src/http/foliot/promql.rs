//! Questions in PromQL: read as at Prometheus' door, answered as series of this API.

use super::bounds;
use super::encode::Encoder;
use super::{bad, refuse_at, refuse_failure, steps};
use crate::http::prometheus::{LOOKBACK_MS, POINTS_MAX};
use crate::query::{Failure, Work};
use foliot_exec::{Meter, Ran, StepTook};
use foliot_model::NamespaceId;
use foliot_plan::grid::{Step, name};
use foliot_proto_prometheus::{Asked, Expression, Span, Type, said};
use hyper::StatusCode;
use serde_json::Value;

/// A question that was read.
pub(super) struct PromQl {
    text: String,
    asked: Asked,
    span: Span,
    /// How it was read, where that is told.
    explained: Option<Expression>,
}

/// What is told of an answer beside its series.
#[derive(Default)]
pub(super) struct Said {
    pub(super) notes: Vec<String>,
    /// The expression as a tree, in the form of Prometheus' `parse_query`, and what steps took.
    pub(super) tree: Option<Value>,
}

impl PromQl {
    /// Reads a text; its instants are multiples of the step, so that they stay where they are when
    /// the range moves on. A range of samples is asked of the end of the range. Where it `explains`
    /// itself, what each step takes is measured.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub(super) fn read(
        text: &str,
        namespace: NamespaceId,
        (start_ms, end_ms): (i64, i64),
        step_ms: i64,
        explains: bool,
    ) -> Result<Self, super::Reply> {
        let range = end_ms.saturating_sub(start_ms);
        let seconds = |ms: i64| format!("{}.{:03}", ms.div_euclid(1000), ms.rem_euclid(1000));
        let text = bounds::in_promql(text, |name| match name {
            "step" => Some(format!("{step_ms}ms")),
            "range" => Some(format!("{range}ms")),
            "start" => Some(seconds(start_ms)),
            "end" => Some(seconds(end_ms)),
            _ => None,
        });
        let expression = Expression::parse(&text)
            .map_err(|error| refuse_at(&error.to_string(), Some(error.position())))?;
        let is_range = match expression.kind() {
            Type::Scalar | Type::Vector => true,
            Type::Matrix => false,
            Type::Text => return Err(bad("text: a string has no graph; ask for numbers")),
        };
        if is_range && range / step_ms > POINTS_MAX {
            return Err(bad(&format!("step_ms: a range may have {POINTS_MAX} steps at most")));
        }
        let first_ms = start_ms.saturating_add(start_ms.wrapping_neg().rem_euclid(step_ms));
        let start_ms = if is_range { first_ms.min(end_ms) } else { end_ms };
        let span = Span { start_ms, end_ms, step_ms, lookback_ms: LOOKBACK_MS, is_range };
        let asked = match explains {
            true => expression.ask_measured(namespace, &span),
            false => expression.ask(namespace, &span),
        };
        let asked = asked.map_err(|reason| {
            refuse_failure(&Failure::new(StatusCode::BAD_REQUEST, reason.to_string()))
        })?;
        let span = expression.instants(&span).unwrap_or(span);
        Ok(Self { text, asked, span, explained: explains.then_some(expression) })
    }

    /// The expression, each step of which has what it took until now.
    pub(super) fn tree(&self, meter: &Meter) -> Option<Value> {
        let expression = self.explained.as_ref()?;
        let (took, operators) = (meter.explained_grids(), meter.explained());
        // Samples as they are stored are asked for by a plan that is no grid: its operators are the
        // one step of the text.
        let is_plan = matches!(self.asked, Asked::Samples(_));
        let of_step = |step: Step| match operators.first().filter(|_| is_plan) {
            Some(first) => Some(steps::of_operator(&StepTook { own: first.time, ..first.clone() })),
            None => took.iter().find(|took| took.step == step).map(steps::of_grid),
        };
        Some(expression.explained(&of_step))
    }

    /// Answers it; returns also what is to be said of the answer.
    ///
    /// # Errors
    /// What stopped the query.
    pub(super) fn run(
        &self,
        encoder: &mut Encoder<'_>,
        work: &mut Work<'_>,
    ) -> Result<(Ran, Said), Failure> {
        let steps = self.span.steps();
        match &self.asked {
            Asked::Text(_) => Ok((Ran::default(), Said::default())),
            Asked::Grid(grid) => {
                let mut refused = Ok(());
                let (ran, notes) = work.grid(grid, &steps, &mut |row, out| {
                    let values = row.values.iter().enumerate();
                    let there = values.filter_map(|(at, value)| Some((steps.at(at), value?)));
                    if refused.is_ok() {
                        refused = encoder.row(&row.labels, there, out);
                    }
                })?;
                refused?;
                let (notes, tree) = (said(&notes, &self.text), self.tree(&work.meter()));
                Ok((ran, Said { notes, tree }))
            }
            Asked::Samples(asked) => {
                let plans = std::slice::from_ref(&asked.plan);
                let ran = work.run(plans, &mut |frame, out| {
                    let name = name(&frame.head.measurement, &frame.head.field);
                    match asked.has_name(&name) {
                        true => encoder.frame(frame, &name, out),
                        false => Ok(()),
                    }
                })?;
                Ok((ran, Said { notes: Vec::new(), tree: self.tree(&work.meter()) }))
            }
        }
    }
}
