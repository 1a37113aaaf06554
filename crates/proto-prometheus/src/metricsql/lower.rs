//! Expressions of MetricsQL to questions.

mod aggregations;
mod histograms;
mod labels;
mod rollups;

use super::functions::{is_rollup, path};
use super::{Binary, Expression, Length, Node, Question};
use crate::promql::lower::math;
use crate::promql::{Asked, STALE, SamplesAsked, Span};
use foliot_model::{NANOS_PER_MILLI, NamespaceId};
use foliot_plan::grid::{self, Along, Each, Function, Grid, Operator, Path, Shift, Sides};
use std::sync::Arc;

/// Functions that change what values are, and not what they are of.
const KEEP_NAMES: [&str; 6] = ["ceil", "clamp", "clamp_max", "clamp_min", "floor", "round"];

impl Question {
    /// What is asked of a database at the instants of `span`, of which a single one counts as
    /// `span.step_ms` wide. The time is `now_ms`.
    ///
    /// # Errors
    /// When a function is not known or is given what it does not take.
    pub fn ask(&self, namespace: NamespaceId, span: &Span, now_ms: i64) -> Result<Asked, String> {
        let lowering = Lowering { namespace, span, now_ms, step_ms: span.step_ms };
        match &self.0.what {
            Node::Text(text) => return Ok(Asked::Text(text.clone())),
            Node::Rollup(rollup) if !span.is_range => {
                if let (Node::Series(selectors), Some(range), None, None) =
                    (&rollup.input.what, rollup.range, &rollup.step, &rollup.at)
                    && let [selector] = &selectors[..]
                {
                    let offset_ns = rollup.offset.map_or(0, |offset| lowering.length_ns(offset));
                    let end_ns = ns(span.end_ms).saturating_sub(offset_ns);
                    let start_ns = end_ns.saturating_sub(lowering.length_ns(range));
                    let asked = SamplesAsked::new(namespace, selector.clone(), (start_ns, end_ns));
                    return Ok(Asked::Samples(Box::new(asked)));
                }
            }
            _ => {}
        }
        Ok(Asked::Grid(Grid::Loose(Box::new(lowering.grid(&self.0)?))))
    }
}

#[derive(Clone, Copy)]
struct Lowering<'s> {
    namespace: NamespaceId,
    span: &'s Span,
    now_ms: i64,
    /// Time between instants here, which is that of a subquery within one.
    step_ms: i64,
}

fn ns(ms: i64) -> i64 {
    ms.saturating_mul(NANOS_PER_MILLI)
}

impl Lowering<'_> {
    fn length_ms(&self, of: Length) -> i64 {
        (of.ms + of.steps * self.step_ms as f64).trunc() as i64
    }

    fn length_ns(&self, of: Length) -> i64 {
        ns(self.length_ms(of))
    }

    fn step_ns(&self) -> i64 {
        ns(self.step_ms.max(1))
    }

    fn grid(&self, of: &Expression) -> Result<Grid, String> {
        match &of.what {
            Node::Number(number) => Ok(Grid::Number(*number)),
            Node::Length(length) => Ok(Grid::Number(self.length_ms(*length) as f64 / 1000.0)),
            Node::Series(_) | Node::Rollup(_) => self.rollup("default_rollup", &[of], false),
            Node::Binary(binary) => self.binary(binary),
            Node::Aggregate { name, arguments, by, limit } => {
                self.aggregate(name, arguments, (by, *limit))
            }
            Node::Call { name, arguments, keeps_names } => {
                let arguments: Vec<&Expression> = arguments.iter().collect();
                match is_rollup(name) {
                    true => self.rollup(name, &arguments, *keeps_names),
                    false => self.call(name, &arguments, *keeps_names),
                }
            }
            Node::Text(text) => Err(format!("unexpected string {text:?}")),
            Node::Parameter(name) => Err(format!("unknown name {name:?}")),
        }
    }

    fn binary(&self, of: &Binary) -> Result<Grid, String> {
        let (left, right) = (self.grid(&of.left)?, self.grid(&of.right)?);
        let (operator, place) = (of.operator, 0);
        let sides = Sides::Loose(of.matching.clone(), of.is_said);
        let made = Grid::Binary(Box::new(grid::Binary { left, right, operator, sides, place }));
        let is_new =
            matches!(operator, Operator::Calculate(_) | Operator::Compare { is_told: true, .. });
        Ok(named(made, !is_new || of.keeps_names))
    }

    fn call(
        &self,
        name: &str,
        arguments: &[&Expression],
        keeps_names: bool,
    ) -> Result<Grid, String> {
        if let Some(made) = self.of_time(name) {
            return Ok(made);
        }
        let keeps = keeps_names || KEEP_NAMES.contains(&name);
        let each = |input: Grid, function: Function| {
            Ok(named(Grid::Each(Box::new(Each { input, function })), keeps))
        };
        if let Some(math) = math(name) {
            let input = arguments.first().map_or(Ok(Grid::Time), |input| self.grid(input))?;
            return each(input, Function::Math(math));
        }
        if let (Some((path, keeps)), [input]) = (path(name), arguments) {
            return Ok(named(self.along(input, path)?, keeps || keeps_names));
        }
        if let Some(made) = self.labels(name, arguments)? {
            return Ok(made);
        }
        if let Some(made) = self.histograms(name, arguments)? {
            return Ok(made);
        }
        match (name, arguments) {
            ("" | "union", inputs) => {
                Ok(Grid::Union(inputs.iter().map(|of| self.grid(of)).collect::<Result<_, _>>()?))
            }
            ("vector", [input]) => self.grid(input),
            ("scalar", [input]) => match text(input) {
                Some(text) => Ok(Grid::Number(text.parse().unwrap_or(f64::NAN))),
                None => Ok(Grid::Scalar(Box::new(self.grid(input)?))),
            },
            ("round", [input, rest @ ..]) => {
                let to = rest.first().map_or(Ok(Grid::Number(1.0)), |to| self.grid(to))?;
                each(self.grid(input)?, Function::Rounded(to))
            }
            ("clamp" | "clamp_min" | "clamp_max", [input, bounds @ ..]) => {
                let (low, high) = match (name, bounds) {
                    ("clamp", [low, high]) => (self.grid(low)?, self.grid(high)?),
                    ("clamp_min", [low]) => (self.grid(low)?, Grid::Number(f64::INFINITY)),
                    ("clamp_max", [high]) => (Grid::Number(f64::NEG_INFINITY), self.grid(high)?),
                    _ => return Err(wrong(name)),
                };
                each(self.grid(input)?, Function::Clamped(low, high))
            }
            ("range_quantile", [share, input]) => {
                self.along(input, Path::Quantile(self.grid(share)?))
            }
            ("smooth_exponential", [input, weight]) => {
                self.along(input, Path::Smoothed(self.grid(weight)?))
            }
            _ => self.call_of_all(name, arguments),
        }
    }

    /// What looks at all series together.
    fn call_of_all(&self, name: &str, arguments: &[&Expression]) -> Result<Grid, String> {
        match (name, arguments) {
            ("absent", [input]) => {
                let labels = known_labels(input);
                Ok(Grid::Absent { input: Box::new(self.grid(input)?), labels })
            }
            ("sort" | "sort_desc", [input]) => {
                let (descending, place) = (name == "sort_desc", 0);
                Ok(Grid::Sorted { input: Box::new(self.grid(input)?), descending, place })
            }
            ("sort_by_label" | "sort_by_label_desc", [input, names @ ..]) => {
                let labels = texts(name, names)?;
                let (descending, place) = (name == "sort_by_label_desc", 0);
                let input = Box::new(self.grid(input)?);
                Ok(Grid::SortedByLabels { input, descending, labels, place })
            }
            _ => {
                Err(format!("unknown function {name:?}, or not with {} arguments", arguments.len()))
            }
        }
    }

    /// What functions say of the instants that are asked about, in seconds.
    fn of_time(&self, name: &str) -> Option<Grid> {
        let ms = match name {
            "time" => return Some(Grid::Time),
            "pi" => return Some(Grid::Number(std::f64::consts::PI)),
            "now" => self.now_ms,
            "start" => self.span.start_ms,
            "end" => self.span.end_ms,
            "step" => self.step_ms,
            _ => return None,
        };
        Some(Grid::Number(ms as f64 / 1000.0))
    }

    fn along(&self, input: &Expression, path: Path) -> Result<Grid, String> {
        Ok(Grid::Along(Box::new(Along { input: self.grid(input)?, path })))
    }

    /// When ranges are taken.
    fn shift(&self, offset: Option<Length>, at: Option<&Expression>) -> Result<Shift, String> {
        let at_ns = match at {
            None => None,
            Some(at) => match self.grid(at)? {
                Grid::Number(seconds) => Some((seconds * 1e9) as i64),
                _ => return Err("@ takes a number, start() or end()".to_owned()),
            },
        };
        Ok(Shift { at_ns, offset_ns: offset.map_or(0, |offset| self.length_ns(offset)) })
    }
}

/// The same with names, or without.
fn named(grid: Grid, keeps_names: bool) -> Grid {
    if keeps_names { grid } else { Grid::Nameless(Box::new(grid)) }
}

/// Labels that series have for sure.
fn known_labels(of: &Expression) -> Vec<(Arc<str>, Arc<str>)> {
    match &of.what {
        Node::Series(selectors) => match &selectors[..] {
            [only] => only.known_labels(),
            _ => Vec::new(),
        },
        Node::Rollup(rollup) => known_labels(&rollup.input),
        _ => Vec::new(),
    }
}

fn wrong(name: &str) -> String {
    format!("wrong arguments for {name}")
}

/// A text, which may be put together.
fn text(of: &Expression) -> Option<String> {
    match &of.what {
        Node::Text(text) => Some(text.clone()),
        Node::Binary(binary) if binary.operator == Operator::Calculate(grid::Calculation::Add) => {
            Some(text(&binary.left)? + &text(&binary.right)?)
        }
        _ => None,
    }
}

/// Texts, in parentheses or not.
fn texts(name: &str, of: &[&Expression]) -> Result<Vec<Arc<str>>, String> {
    let all = of.iter().flat_map(|one| match &one.what {
        Node::Call { name, arguments, .. } if name.is_empty() => arguments.iter().collect(),
        _ => vec![*one],
    });
    let found: Option<Vec<_>> = all.map(|one| text(one).map(Into::into)).collect();
    found.ok_or_else(|| format!("{name} takes strings"))
}
