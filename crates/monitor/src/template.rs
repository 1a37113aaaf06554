//! Templates of labels and annotations: the part of Go's `text/template` that rules use, with
//! Prometheus' functions.
//!
//! There are texts, values, pipes, functions, variables, comments, `if`, `range`, `with`, `break`
//! and `continue`, and `-` that trims. There is no `define`, `template` or `block`, and values have
//! no methods.

mod functions;
mod parse;
mod print;
mod read;
mod scope;

pub use print::exponential;

use crate::relabel::LabelSet;
use functions::call;
use parse::{Node, Operand, Pipe};
use std::collections::BTreeMap;

/// Steps that one template may take: what loops over a few thousand series takes.
const STEPS_MAX: usize = 100_000;

/// Bytes that one template may come to.
const OUT_BYTES_MAX: usize = 256 << 10;

/// Bytes that one value may take.
const VALUE_BYTES_MAX: usize = 16 << 20;

/// Bytes of a value that are copied for one step.
const STEP_BYTES: usize = 4 << 10;

/// Expressions that one template may ask.
const QUERIES_MAX: usize = 100;

/// A series with a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Its labels, its name among them.
    pub labels: LabelSet,
    /// Its value.
    pub value: f64,
}

/// What a template is about.
#[derive(Clone, Copy, Debug)]
pub struct Data<'a> {
    /// `$labels`
    pub labels: &'a LabelSet,
    /// `$externalLabels`
    pub external_labels: &'a LabelSet,
    /// `$externalURL`
    pub external_url: &'a str,
    /// `$value`
    pub value: f64,
    /// What `now` says, in milliseconds.
    pub now_ms: i64,
}

/// A template that was read.
#[derive(Clone, Debug)]
pub struct Template(Vec<Node>);

impl Template {
    /// Reads a text.
    ///
    /// # Errors
    /// When it is no template that can be followed here, or names a variable that is not known.
    pub fn parse(text: &str) -> Result<Self, String> {
        let nodes = parse::parse(text)?;
        scope::check(&nodes)?;
        Ok(Self(nodes))
    }

    /// Follows it. `query` answers expressions.
    ///
    /// # Errors
    /// When a function cannot do what it is asked to, or a limit is met.
    pub fn expand(
        &self,
        data: &Data<'_>,
        query: &mut dyn FnMut(&str) -> Result<Vec<Row>, String>,
    ) -> Result<String, String> {
        let texts = |labels: &LabelSet| {
            let text =
                |(name, value): (&String, &String)| (name.clone(), Value::Text(value.clone()));
            Value::Map(labels.iter().map(text).collect())
        };
        let fields = [
            ("Labels", "labels", texts(data.labels)),
            ("ExternalLabels", "externalLabels", texts(data.external_labels)),
            ("ExternalURL", "externalURL", Value::Text(data.external_url.to_owned())),
            ("Value", "value", Value::Float(data.value)),
        ];
        let variables =
            fields.iter().map(|(_, name, value)| ((*name).to_owned(), value.clone())).collect();
        let dot = fields.into_iter().map(|(name, _, value)| (name.to_owned(), value)).collect();
        let asks =
            Asks { query, left: QUERIES_MAX, external_url: data.external_url, now_ms: data.now_ms };
        let mut run = Run { asks, variables, out: String::new(), steps: 0 };
        run.nodes(&self.0, &Value::Map(dot))?;
        Ok(run.out)
    }
}

/// A value in a template.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Nil,
    Truth(bool),
    Whole(i64),
    Float(f64),
    Text(String),
    List(Vec<Value>),
    Map(BTreeMap<String, Value>),
    Row(Row),
}

impl Value {
    /// Whether `if` goes on with it.
    fn is_true(&self) -> bool {
        match self {
            Self::Nil => false,
            Self::Truth(truth) => *truth,
            Self::Whole(number) => *number != 0,
            Self::Float(number) => *number != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::List(list) => !list.is_empty(),
            Self::Map(map) => !map.is_empty(),
            Self::Row(_) => true,
        }
    }

    /// Bytes that it takes, about.
    fn bytes(&self) -> usize {
        const ENTRY: usize = 64;
        let of_labels = |labels: &LabelSet| {
            labels.iter().map(|(name, value)| ENTRY + name.len() + value.len()).sum::<usize>()
        };
        ENTRY
            + match self {
                Self::Nil | Self::Truth(_) | Self::Whole(_) | Self::Float(_) => 0,
                Self::Text(text) => text.len(),
                Self::List(list) => list.iter().map(Self::bytes).sum(),
                Self::Map(map) => map.iter().map(|(name, it)| name.len() + it.bytes()).sum(),
                Self::Row(row) => of_labels(&row.labels),
            }
    }

    /// A field of it; one that a map of labels does not have is empty.
    fn field(&self, name: &str) -> Result<Self, String> {
        match (self, name) {
            (Self::Map(map), name) => {
                Ok(map.get(name).cloned().unwrap_or_else(|| Self::Text(String::new())))
            }
            (Self::Row(row), "Value") => Ok(Self::Float(row.value)),
            (Self::Row(row), "Labels") => {
                let labels = row.labels.iter();
                let text =
                    |(name, value): (&String, &String)| (name.clone(), Self::Text(value.clone()));
                Ok(Self::Map(labels.map(text).collect()))
            }
            _ => Err(format!("there is no field {name} in {self}")),
        }
    }
}

/// What functions may ask.
struct Asks<'a> {
    query: &'a mut dyn FnMut(&str) -> Result<Vec<Row>, String>,
    left: usize,
    external_url: &'a str,
    now_ms: i64,
}

impl Asks<'_> {
    fn query(&mut self, text: &str) -> Result<Vec<Row>, String> {
        let left = self.left.checked_sub(1);
        self.left = left.ok_or_else(|| format!("more than {QUERIES_MAX} expressions are asked"))?;
        (self.query)(text)
    }
}

/// How a piece ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Usual,
    Break,
    Continue,
}

struct Run<'a> {
    asks: Asks<'a>,
    /// The newest of a name counts.
    variables: Vec<(String, Value)>,
    out: String,
    steps: usize,
}

impl Run<'_> {
    fn nodes(&mut self, nodes: &[Node], dot: &Value) -> Result<End, String> {
        let scope = self.variables.len();
        let mut end = End::Usual;
        for node in nodes {
            end = self.node(node, dot)?;
            if end != End::Usual {
                break;
            }
        }
        // The four that are there at the beginning are never left.
        self.variables.truncate(scope);
        Ok(end)
    }

    fn node(&mut self, node: &Node, dot: &Value) -> Result<End, String> {
        self.steps(1)?;
        match node {
            Node::Text(text) => self.write(text)?,
            Node::Pipe(pipe) => {
                let value = self.pipe(pipe, dot)?;
                if pipe.sets.is_none() {
                    self.write(&value.to_string())?;
                }
            }
            Node::If { arms, otherwise } => {
                let scope = self.variables.len();
                for (pipe, body) in arms {
                    if self.pipe(pipe, dot)?.is_true() {
                        let end = self.nodes(body, dot)?;
                        self.variables.truncate(scope);
                        return Ok(end);
                    }
                }
                let end = self.nodes(otherwise, dot)?;
                self.variables.truncate(scope);
                return Ok(end);
            }
            Node::With { pipe, body, otherwise } => {
                let scope = self.variables.len();
                let value = self.pipe(pipe, dot)?;
                let end = match value.is_true() {
                    true => self.nodes(body, &value)?,
                    false => self.nodes(otherwise, dot)?,
                };
                self.variables.truncate(scope);
                return Ok(end);
            }
            Node::Range { names, pipe, body, otherwise } => {
                return self.range((names, pipe), body, otherwise, dot);
            }
            Node::Break => return Ok(End::Break),
            Node::Continue => return Ok(End::Continue),
        }
        Ok(End::Usual)
    }

    fn range(
        &mut self,
        (names, pipe): (&[String], &Pipe),
        body: &[Node],
        otherwise: &[Node],
        dot: &Value,
    ) -> Result<End, String> {
        let items: Vec<(Value, Value)> = match self.pipe(pipe, dot)? {
            Value::List(list) => {
                let numbered = list.into_iter().enumerate();
                numbered.map(|(index, item)| (Value::Whole(index as i64), item)).collect()
            }
            Value::Map(map) => {
                map.into_iter().map(|(name, item)| (Value::Text(name), item)).collect()
            }
            Value::Whole(count) => {
                let count = count.clamp(0, STEPS_MAX as i64);
                (0..count).map(|index| (Value::Whole(index), Value::Whole(index))).collect()
            }
            Value::Nil => Vec::new(),
            other => return Err(format!("range cannot go over {other}")),
        };
        if items.is_empty() {
            return self.nodes(otherwise, dot).map(|_| End::Usual);
        }
        for (key, item) in items {
            self.steps(1)?;
            let scope = self.variables.len();
            match names {
                [name] => self.variables.push((name.clone(), item.clone())),
                [first, second] => {
                    self.variables.push((first.clone(), key));
                    self.variables.push((second.clone(), item.clone()));
                }
                _ => {}
            }
            let end = self.nodes(body, &item)?;
            self.variables.truncate(scope);
            if end == End::Break {
                break;
            }
        }
        Ok(End::Usual)
    }

    fn pipe(&mut self, pipe: &Pipe, dot: &Value) -> Result<Value, String> {
        let mut value = None;
        for command in &pipe.commands {
            self.steps(1)?;
            value = Some(self.command(command, value, dot)?);
        }
        let value = value.unwrap_or(Value::Nil);
        if let Some((name, is_new)) = &pipe.sets {
            let known = self.variables.iter_mut().rev().find(|(known, _)| known == name);
            match (known, is_new) {
                (Some((_, known)), false) => *known = value.clone(),
                (None, false) => return Err(format!("there is no variable ${name}")),
                (_, true) => self.variables.push((name.clone(), value.clone())),
            }
        }
        Ok(value)
    }

    fn command(
        &mut self,
        command: &[Operand],
        piped: Option<Value>,
        dot: &Value,
    ) -> Result<Value, String> {
        let Some((first, rest)) = command.split_first() else { return Ok(Value::Nil) };
        let Operand::Function(name) = first else {
            return match rest.is_empty() && piped.is_none() {
                true => self.operand(first, dot),
                false => Err("a value that is no function has arguments".to_owned()),
            };
        };
        // These look at no more than they need.
        if let "and" | "or" = name.as_str() {
            let mut last = Value::Nil;
            for operand in rest {
                last = self.operand(operand, dot)?;
                if last.is_true() != (name == "and") {
                    return Ok(last);
                }
            }
            return Ok(piped.unwrap_or(last));
        }
        let mut arguments = Vec::new();
        for operand in rest {
            arguments.push(self.operand(operand, dot)?);
        }
        arguments.extend(piped);
        let value = call(name, arguments, &mut self.asks)?;
        self.steps(value.bytes() / STEP_BYTES)?;
        Ok(value)
    }

    fn operand(&mut self, operand: &Operand, dot: &Value) -> Result<Value, String> {
        let (value, fields) = match operand {
            Operand::Value(value) => return Ok(value.clone()),
            Operand::Dot(fields) => (dot.clone(), fields),
            Operand::Variable(name, fields) if name.is_empty() => (dot.clone(), fields),
            Operand::Variable(name, fields) => {
                let known = self.variables.iter().rev().find(|(known, _)| known == name);
                let (_, value) = known.ok_or_else(|| format!("there is no variable ${name}"))?;
                let (value, bytes) = (value.clone(), value.bytes());
                if bytes > VALUE_BYTES_MAX {
                    return Err(format!("${name} takes more than {VALUE_BYTES_MAX} bytes"));
                }
                self.steps(bytes / STEP_BYTES)?;
                (value, fields)
            }
            Operand::Group(pipe, fields) => (self.pipe(pipe, dot)?, fields),
            Operand::Function(name) => return call(name, Vec::new(), &mut self.asks),
        };
        fields.iter().try_fold(value, |value, name| value.field(name))
    }

    fn steps(&mut self, count: usize) -> Result<(), String> {
        self.steps = self.steps.saturating_add(count);
        match self.steps > STEPS_MAX {
            true => Err(format!("it takes more than {STEPS_MAX} steps")),
            false => Ok(()),
        }
    }

    fn write(&mut self, text: &str) -> Result<(), String> {
        self.out.push_str(text);
        match self.out.len() > OUT_BYTES_MAX {
            true => Err(format!("it comes to more than {OUT_BYTES_MAX} bytes")),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
