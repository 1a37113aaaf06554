//! The steps of a question as a tree, each with what it took.

use foliot_exec::StepTook;
use foliot_model::excerpt;
use foliot_plan::Told;
use foliot_plan::grid::Took;
use serde_json::{Value, json};
use std::slice::Iter;
use std::time::Duration;

/// As many letters of a statement name its step.
const NAME_CHARS_MAX: usize = 80;

/// The step of one statement of several: its number, and how it begins.
pub(super) fn statement(at: usize, text: &str) -> Told {
    let mut name: String = text.chars().take(NAME_CHARS_MAX).collect();
    if name.len() < text.len() {
        name.push('…');
    }
    Told::new(format!("statement {}", at + 1), name)
}

/// What a step of a grid took.
pub(super) fn of_grid(took: &Took) -> Value {
    json!({
        "ms": ms(took.time),
        "own_ms": ms(took.own),
        "series": took.series,
        "samples": took.samples,
    })
}

/// What an operator took.
pub(super) fn of_operator(took: &StepTook) -> Value {
    let mut told = json!({
        "ms": ms(took.time),
        "own_ms": ms(took.own),
        "series": took.series,
        "samples": took.samples,
    });
    let rows_in = took.rows_in.filter(|_| took.rows.is_some());
    for (name, rows) in [("rows_in", rows_in), ("rows", took.rows)] {
        rows.into_iter().for_each(|rows| put(&mut told, name, rows.into()));
    }
    told
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn put(node: &mut Value, name: &str, value: Value) {
    if let Some(node) = node.as_object_mut() {
        node.insert(name.to_owned(), value);
    }
}

/// The tree of statements whose last one failed.
pub(super) fn failed(mut tree: Value, error: &str) -> Value {
    let error: Value = excerpt(error).into();
    match tree.get("took") {
        Some(_) => put(&mut tree, "error", error),
        None => {
            let statements = tree.get_mut("steps").and_then(Value::as_array_mut);
            let last = statements.and_then(|statements| statements.last_mut());
            last.into_iter().for_each(|last| put(last, "error", error.clone()));
        }
    }
    tree
}

/// The tree; nothing where nothing was explained. Several statements of a text stand in one node.
pub(super) fn tree(steps: &[StepTook]) -> Option<Value> {
    let mut roots = siblings(&mut steps.iter(), 0);
    match roots.len() {
        0 | 1 => roots.pop(),
        count => Some(json!({
            "type": "step",
            "what": "answer",
            "detail": format!("{count} statements"),
            "steps": roots,
        })),
    }
}

/// The next steps of a depth, each with those that stand in it.
fn siblings(steps: &mut Iter<'_, StepTook>, depth: usize) -> Vec<Value> {
    let mut found = Vec::new();
    while let Some(step) = steps.as_slice().first().filter(|step| step.depth >= depth) {
        steps.next();
        found.push(json!({
            "type": "step",
            "what": step.told.what,
            "detail": step.told.detail,
            "took": of_operator(step),
            "steps": siblings(steps, step.depth + 1),
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_stand_in_those_before_them_by_their_depths() {
        let step = |depth, what: &str| StepTook {
            depth,
            told: Told::new(what, ""),
            time: Duration::from_micros(1500),
            own: Duration::from_micros(500),
            series: 2,
            rows_in: Some(5),
            rows: (depth < 2).then_some(4),
            samples: 3,
        };
        let steps = [step(0, "a"), step(1, "b"), step(2, "c"), step(1, "d"), step(0, "e")];
        let tree = tree(&steps).unwrap();
        let what = |at: &str| tree.pointer(at).and_then(|node| node["what"].as_str());
        assert_eq!(what("/steps/0/steps/0/steps/0"), Some("c"));
        assert_eq!((what("/steps/0/steps/1"), what("/steps/1")), (Some("d"), Some("e")));
        let mut took = json!({"ms": 1.5, "own_ms": 0.5, "series": 2, "samples": 3});
        assert_eq!(tree["steps"][0]["steps"][0]["steps"][0]["took"], took);
        took["rows_in"] = 5.into();
        took["rows"] = 4.into();
        assert_eq!(tree["steps"][1]["took"], took);
        assert_eq!(super::tree(&[]), None);
        // The statement that failed is the last that was begun.
        let told = failed(tree, "too much");
        assert_eq!(
            (&told["steps"][1]["error"], &told["steps"][0]["error"]),
            (&json!("too much"), &Value::Null)
        );
        let told = failed(super::tree(&steps[..4]).unwrap(), "too much");
        assert_eq!(told["error"], "too much");
    }

    #[test]
    fn a_statement_is_named_by_its_number_and_how_it_begins() {
        assert_eq!(statement(1, "SELECT 1"), Told::new("statement 2", "SELECT 1"));
        let long = statement(0, &"ä".repeat(81));
        assert_eq!(long.detail, format!("{}…", "ä".repeat(80)));
        assert_eq!(statement(0, &"ä".repeat(80)).detail, "ä".repeat(80));
    }
}
