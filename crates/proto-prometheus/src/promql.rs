//! PromQL, as of Prometheus 3: texts to questions of [`foliot_plan::grid`].
//!
//! ```text
//! text -> reader, quoted, selector, parse -> Expression -> lower -> Grid
//!                          functions: what they take and return
//!                          print, tree: expressions as text and as JSON again
//! ```
//!
//! Every part of an expression has a height, which is bounded: nobody who walks one goes deeper.

mod functions;
pub(crate) mod lower;
mod parse;
mod print;
mod quoted;
pub(crate) mod reader;
mod selector;
mod tree;

pub use lower::{Asked, SamplesAsked, Span};
pub(crate) use lower::{STALE, plain_fold};
pub(crate) use parse::duration_seconds;
pub(crate) use print::sign;
pub use reader::ParseError;
pub use selector::VectorSelector;

use foliot_plan::grid::{Fill, Labels, Many, Operator, Place, Step};
use functions::Callable;
use std::fmt;
use std::sync::Arc;

/// How high an expression may be.
pub(crate) const HEIGHT_MAX: usize = 100;

/// Conditions of a selector, and labels of a list: more than this nobody means, and some steps look
/// at each of them for each other one.
pub(crate) const LISTED_MAX: usize = 1024;

/// What an expression comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A number for each instant.
    Scalar,
    /// Series with a value each.
    Vector,
    /// Series with the samples of a range.
    Matrix,
    /// A text.
    Text,
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scalar => "scalar",
            Self::Vector => "instant vector",
            Self::Matrix => "range vector",
            Self::Text => "string",
        })
    }
}

/// How much of the language is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// What Prometheus knows by itself.
    #[default]
    Plain,
    /// Also what Prometheus calls experimental: series keep their names until the end, and lengths
    /// of time are calculated.
    Experimental {
        /// What `step()` is in a length, in milliseconds; 0 of one instant.
        step_ms: i64,
        /// What `range()` is, in milliseconds.
        range_ms: i64,
    },
}

/// An expression that was read.
#[derive(Clone, Debug)]
pub struct Expression {
    what: Node,
    kind: Type,
    height: usize,
    /// Whether parentheses stand around it, and how many.
    parentheses: usize,
    /// Byte at which it begins, without its parentheses.
    place: Place,
    /// Byte at which the first of its parentheses stands, or itself.
    opens: Place,
    /// Of the whole expression.
    dialect: Dialect,
}

impl Expression {
    /// Reads a text of the plain language.
    ///
    /// # Errors
    /// When it is no expression, in the words of Prometheus.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        Self::parse_as(text, Dialect::Plain)
    }

    /// Reads a text.
    ///
    /// # Errors
    /// When it is no expression, in the words of Prometheus.
    pub fn parse_as(text: &str, dialect: Dialect) -> Result<Self, ParseError> {
        parse::expression(text, dialect)
    }

    /// Which step of the question it is.
    fn step(&self) -> Step {
        (self.place, self.height)
    }

    /// What it selects, in the order in which it is written.
    pub fn selectors(&self) -> Vec<&VectorSelector> {
        let mut found = Vec::new();
        self.each(&mut |node| {
            if let Node::Series(selected) | Node::Range(selected, _) = node {
                found.push(&selected.selector);
            }
        });
        found
    }

    /// Calls `visit` with each part.
    fn each<'e>(&'e self, visit: &mut dyn FnMut(&'e Node)) {
        visit(&self.what);
        match &self.what {
            Node::Number(_) | Node::Length(_) | Node::Text(_) => {}
            Node::Series(_) | Node::Range(..) => {}
            Node::Subquery { input, .. } | Node::Negated(input) | Node::Signed(input) => {
                input.each(visit);
            }
            Node::Binary(binary) => {
                binary.left.each(visit);
                binary.right.each(visit);
            }
            Node::Aggregate { parameter, input, .. } => {
                parameter.iter().for_each(|parameter| parameter.each(visit));
                input.each(visit);
            }
            Node::Call { arguments, .. } => {
                arguments.iter().for_each(|argument| argument.each(visit));
            }
        }
    }

    /// What it comes to.
    pub fn kind(&self) -> Type {
        self.kind
    }
}

#[derive(Clone, Debug)]
enum Node {
    Number(f64),
    /// A number that is written as a duration: its seconds.
    Length(f64),
    Text(String),
    Series(Selected),
    /// A range of series: its length in milliseconds.
    Range(Selected, i64),
    Subquery {
        input: Box<Expression>,
        range_ms: i64,
        /// Nothing: as the server does by itself.
        step_ms: Option<i64>,
        shift: Shifted,
    },
    Negated(Box<Expression>),
    /// A plus sign, which does nothing.
    Signed(Box<Expression>),
    Binary(Box<Binary>),
    Aggregate {
        name: &'static str,
        by: Labels,
        parameter: Option<Box<Expression>>,
        input: Box<Expression>,
    },
    Call {
        function: &'static Callable,
        arguments: Vec<Expression>,
    },
}

#[derive(Clone, Debug)]
struct Selected {
    selector: VectorSelector,
    shift: Shifted,
}

/// `offset` and `@`.
#[derive(Clone, Copy, Debug, Default)]
struct Shifted {
    offset_ms: Option<i64>,
    at: Option<At>,
}

#[derive(Clone, Copy, Debug)]
enum At {
    Ms(i64),
    Start,
    End,
}

#[derive(Clone, Debug)]
struct Binary {
    left: Expression,
    right: Expression,
    operator: Operator,
    matching: Option<Meeting>,
}

/// `on`, `ignoring`, `group_left` and `group_right`.
#[derive(Clone, Debug)]
struct Meeting {
    by: Labels,
    many: Many,
    include: Vec<Arc<str>>,
    fill: Fill,
}

impl Meeting {
    /// Whether it names a label or fills in.
    fn says_something(&self) -> bool {
        let (Labels::Only(labels) | Labels::Without(labels)) = &self.by;
        !labels.is_empty() || self.fill.many.is_some() || self.fill.one.is_some()
    }
}
