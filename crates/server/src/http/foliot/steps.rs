//! The steps of a question as a tree, each with what it took.

use foliot_exec::StepTook;
use serde_json::{Value, json};
use std::slice::Iter;

/// The tree; nothing where nothing was explained. Several questions of a text stand in one node.
pub(super) fn tree(steps: &[StepTook]) -> Option<Value> {
    let mut roots = siblings(&mut steps.iter(), 0);
    match roots.len() {
        0 | 1 => roots.pop(),
        count => Some(json!({
            "type": "step",
            "what": "answer",
            "detail": format!("{count} questions"),
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
            "took": {
                "ms": step.time.as_secs_f64() * 1000.0,
                "series": step.series,
                "samples": step.samples,
            },
            "steps": siblings(steps, step.depth + 1),
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use foliot_plan::Told;

    #[test]
    fn steps_stand_in_those_before_them_by_their_depths() {
        let step = |depth, what: &str| StepTook {
            depth,
            told: Told::new(what, ""),
            time: std::time::Duration::from_micros(1500),
            series: 2,
            samples: 3,
        };
        let steps = [step(0, "a"), step(1, "b"), step(2, "c"), step(1, "d"), step(0, "e")];
        let tree = tree(&steps).unwrap();
        let what = |at: &str| tree.pointer(at).and_then(|node| node["what"].as_str());
        assert_eq!(what("/steps/0/steps/0/steps/0"), Some("c"));
        assert_eq!((what("/steps/0/steps/1"), what("/steps/1")), (Some("d"), Some("e")));
        let took = json!({"ms": 1.5, "series": 2, "samples": 3});
        assert_eq!(tree["steps"][1]["took"], took);
        assert_eq!(super::tree(&[]), None);
    }
}
