//! Expressions as JSON: the tree that Prometheus' page shows.

use super::print::sign;
use super::selector::VectorSelector;
use super::{At, Binary, Expression, Meeting, Node, Shifted, Type};
use crate::answer::number;
use foliot_plan::grid::{Fill, Labels, MEASUREMENT as NAME, Many, Operator, Step};
use serde_json::{Value as Json, json};

/// What is told of a step, if anything is.
type Told<'t> = &'t dyn Fn(Step) -> Option<Json>;

impl Expression {
    /// The expression as a tree.
    pub fn tree(&self) -> Json {
        self.explained(&|_| None)
    }

    /// The same, where each step has as `took` what is told of it.
    pub fn explained(&self, took: Told<'_>) -> Json {
        let mut tree = node(&self.what, took);
        if let Some(told) = took(self.step()) {
            put(&mut tree, "took", told);
        }
        let around = |tree: Json| json!({"type": "parenExpr", "expr": tree});
        (0..self.parentheses).fold(tree, |tree, _| around(tree))
    }
}

fn node(of: &Node, took: Told<'_>) -> Json {
    match of {
        Node::Number(value) | Node::Length(value) => {
            json!({"type": "numberLiteral", "val": number(*value)})
        }
        Node::Text(text) => json!({"type": "stringLiteral", "val": text}),
        Node::Series(selected) => {
            let tree = selector(&selected.selector, "vectorSelector");
            with_shift(tree, &selected.shift)
        }
        Node::Range(selected, range_ms) => {
            let mut tree = selector(&selected.selector, "matrixSelector");
            put(&mut tree, "range", json!(range_ms));
            with_shift(tree, &selected.shift)
        }
        Node::Subquery { input, range_ms, step_ms, shift } => {
            let (expr, step) = (input.explained(took), step_ms.unwrap_or(0));
            let tree = json!({"type": "subquery", "expr": expr, "range": range_ms, "step": step});
            with_shift(tree, shift)
        }
        Node::Negated(input) => {
            json!({"type": "unaryExpr", "op": "-", "expr": input.explained(took)})
        }
        Node::Signed(input) => {
            json!({"type": "unaryExpr", "op": "+", "expr": input.explained(took)})
        }
        Node::Binary(binary) => operation(binary, took),
        Node::Aggregate { name, by, parameter, input } => {
            let (Labels::Only(grouping) | Labels::Without(grouping)) = by;
            json!({
                "type": "aggregation",
                "op": name,
                "expr": input.explained(took),
                "param": parameter.as_ref().map(|parameter| parameter.explained(took)),
                "grouping": names(grouping),
                "without": matches!(by, Labels::Without(_)),
            })
        }
        Node::Call { function, arguments } => {
            let variadic = if function.repeats { -1 } else { function.optional as i64 };
            let types: Vec<&str> = function.arguments.iter().copied().map(kind).collect();
            let func = json!({
                "name": function.name,
                "argTypes": types,
                "variadic": variadic,
                "returnType": kind(function.returns),
            });
            let args: Vec<Json> =
                arguments.iter().map(|argument| argument.explained(took)).collect();
            json!({"type": "call", "func": func, "args": args})
        }
    }
}

fn operation(of: &Binary, took: Told<'_>) -> Json {
    let is_set = matches!(of.operator, Operator::And | Operator::Or | Operator::Unless);
    let are_vectors = [&of.left, &of.right].iter().all(|side| side.kind == Type::Vector);
    let matching = are_vectors.then(|| {
        let none = Meeting {
            by: Labels::Without(vec![]),
            many: Many::None,
            include: vec![],
            fill: Fill::default(),
        };
        let Meeting { by, many, include, .. } = of.matching.as_ref().unwrap_or(&none);
        let card = match many {
            _ if is_set => "many-to-many",
            Many::Left => "many-to-one",
            Many::Right => "one-to-many",
            Many::None | Many::Both => "one-to-one",
        };
        let (Labels::Only(labels) | Labels::Without(labels)) = by;
        let on = matches!(by, Labels::Only(_));
        json!({"card": card, "labels": names(labels), "on": on, "include": names(include)})
    });
    json!({
        "type": "binaryExpr",
        "op": sign(of.operator),
        "lhs": of.left.explained(took),
        "rhs": of.right.explained(took),
        "matching": matching,
        "bool": matches!(of.operator, Operator::Compare { is_told: true, .. }),
    })
}

fn selector(of: &VectorSelector, kind: &str) -> Json {
    let matcher =
        |name: &str, sign: &str, value: &str| json!({"name": name, "type": sign, "value": value});
    let conditions = of.conditions.iter();
    let mut matchers: Vec<Json> =
        conditions.map(|one| matcher(&one.label, one.sign, &one.value)).collect();
    if !of.name.is_empty() {
        matchers.push(matcher(NAME, "=", &of.name));
    }
    json!({"type": kind, "name": of.name, "matchers": matchers})
}

fn with_shift(mut tree: Json, shift: &Shifted) -> Json {
    let (timestamp, edge) = match shift.at {
        None => (Json::Null, Json::Null),
        Some(At::Ms(ms)) => (json!(ms), Json::Null),
        Some(At::Start) => (Json::Null, json!("start")),
        Some(At::End) => (Json::Null, json!("end")),
    };
    put(&mut tree, "offset", json!(shift.offset_ms.unwrap_or(0)));
    put(&mut tree, "timestamp", timestamp);
    put(&mut tree, "startOrEnd", edge);
    tree
}

fn put(tree: &mut Json, name: &str, value: Json) {
    if let Some(fields) = tree.as_object_mut() {
        fields.insert(name.to_owned(), value);
    }
}

fn names(names: &[std::sync::Arc<str>]) -> Vec<&str> {
    names.iter().map(|name| &**name).collect()
}

fn kind(of: Type) -> &'static str {
    match of {
        Type::Scalar => "scalar",
        Type::Vector => "vector",
        Type::Matrix => "matrix",
        Type::Text => "string",
    }
}
