//! MetricsQL, the language of VictoriaMetrics: texts to questions of [`foliot_plan::grid`] by the
//! rules of [`foliot_plan::grid::Loose`].
//!
//! ```text
//! text -> parse (with promql's reader and selectors) -> Expression -> lower -> Grid
//!          numbers: numbers and lengths               functions: which functions there are
//! ```
//!
//! Every part of an expression has a height and a count of its parts, which are bounded: a template
//! of `WITH` may stand for much, again and again.

mod functions;
mod lower;
mod numbers;
mod parse;

use crate::promql::{ParseError, VectorSelector};
use foliot_plan::grid::{Labels, Matching, Operator};

/// How many parts an expression may have when templates are put in: more than this nobody means.
const PARTS_MAX: usize = 10_000;

/// A question in MetricsQL.
#[derive(Clone, Debug)]
pub struct Question(Expression);

impl Question {
    /// Reads a text.
    ///
    /// # Errors
    /// When it is no expression.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        parse::question(text).map(Self)
    }
}

#[derive(Clone, Debug)]
struct Expression {
    what: Node,
    height: usize,
    parts: usize,
}

/// A length of time: so many milliseconds, and so many steps.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Length {
    ms: f64,
    steps: f64,
}

#[derive(Clone, Debug)]
enum Node {
    Number(f64),
    Length(Length),
    Text(String),
    /// Series that one of some selectors wants; none means no series.
    Series(Vec<VectorSelector>),
    /// Brackets, `offset` and `@`.
    Rollup(Box<Rollup>),
    /// A function; one without a name unites series.
    Call {
        name: String,
        arguments: Vec<Expression>,
        keeps_names: bool,
    },
    Aggregate {
        name: String,
        arguments: Vec<Expression>,
        by: Labels,
        limit: Option<usize>,
    },
    Binary(Box<Binary>),
    /// What a template is given.
    Parameter(String),
}

#[derive(Clone, Debug)]
struct Rollup {
    input: Expression,
    range: Option<Length>,
    /// Whether the input is asked at instants of its own, and how far they lie apart.
    step: Option<Option<Length>>,
    offset: Option<Length>,
    at: Option<Expression>,
}

#[derive(Clone, Debug)]
struct Binary {
    left: Expression,
    right: Expression,
    operator: Operator,
    matching: Matching,
    /// Whether it is said what decides.
    is_said: bool,
    keeps_names: bool,
}
