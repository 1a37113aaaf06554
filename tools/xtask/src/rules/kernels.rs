//! What values come to is calculated at one place, whoever asks.

use super::Finding;
use crate::tree::{Tree, room_of};
use std::collections::BTreeSet;

/// Where it is.
const KERNELS: &str = "crates/exec/src/kernels/";

/// Others that have accumulators, which are added up by `absorb`. The list may only shrink.
const ACCUMULATORS: [&str; 4] = [
    "crates/exec/src/fold.rs",
    "crates/exec/src/rows/quick/windows.rs",
    "crates/exec/src/slots.rs",
    "crates/exec/src/slots/whole.rs",
];

/// Others that carry out expressions: rows, and languages whose texts have constants to work out
/// before there is a plan. The list may only shrink.
const ENGINES: [&str; 3] = [
    "crates/exec/src/rows/calculate.rs",
    "crates/proto-influx/src/influxql/plan/fold.rs",
    "crates/proto-prometheus/src/promql/parse/times.rs",
];

/// What no door, nor the server, may do to values: a plan says it, and `exec` does it.
const OF_EXEC: [&str; 7] =
    ["absorb", "deviation", "mean", "median", "percentile", "quantile", "variance"];

/// There is one set of accumulators, and none in the doors.
pub(crate) fn accumulators(tree: &Tree) -> Vec<Finding> {
    let mut found = BTreeSet::new();
    let mut findings = Vec::new();
    for (path, code) in tree.codes() {
        let room = room_of(path).unwrap_or_default();
        let is_exec = room == "exec" && path.contains("/src/");
        let is_door = room.starts_with("proto-") || matches!(room, "server" | "agent" | "monitor");
        for function in &code.functions {
            let is_new = match () {
                () if path.starts_with(KERNELS) => false,
                () if is_exec => function.name == "absorb",
                () => is_door && OF_EXEC.contains(&function.name.as_str()),
            };
            if is_new && known(path, &mut found).is_none() {
                let message = format!(
                    "fn {}: a second set of accumulators; fold with what is in {KERNELS}",
                    function.name
                );
                findings.push(Finding::new(path, function.line, "accumulators", message));
            }
        }
    }
    findings.extend(gone(tree, ACCUMULATORS.iter(), &found, "accumulators"));
    findings
}

/// There is one engine for expressions: what adds two numbers because a plan says so.
pub(crate) fn expression_engines(tree: &Tree) -> Vec<Finding> {
    let mut found = BTreeSet::new();
    let mut findings = Vec::new();
    for (path, code) in tree.codes().filter(|(path, _)| !path.starts_with(KERNELS)) {
        for (line, text) in code.lines() {
            let squeezed: String = text.split_whitespace().collect();
            let arm = squeezed.split_once("::Add").and_then(|(_, behind)| behind.split_once("=>"));
            let adds = arm.is_some_and(|(_, made)| made.contains('+') || made.contains("_add("));
            if adds && known(path, &mut found).is_none() {
                let message = format!(
                    "a second engine for expressions; calculate with {KERNELS}arithmetic.rs"
                );
                findings.push(Finding::new(path, line, "expression-engines", message));
            }
        }
    }
    findings.extend(gone(tree, ENGINES.iter(), &found, "expression-engines"));
    findings
}

/// The file, if it is on a list, which is then found to have reason for it.
fn known<'t>(path: &'t str, found: &mut BTreeSet<&'t str>) -> Option<&'t str> {
    let mut all = ACCUMULATORS.iter().chain(&ENGINES);
    all.find(|known| **known == path).map(|_| {
        found.insert(path);
        path
    })
}

/// Files on a list that need not be there any more.
fn gone<'l>(
    tree: &Tree,
    list: impl Iterator<Item = &'l &'static str>,
    found: &BTreeSet<&str>,
    rule: &'static str,
) -> Vec<Finding> {
    let is_done = |path: &&&str| tree.exists(path) && !found.contains(**path);
    let message = "nothing of the kind is here any more: take it off the list in tools/xtask";
    list.filter(is_done).map(|path| Finding::new(path, 0, rule, message)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::strikes;
    use super::*;

    #[test]
    fn values_are_folded_at_one_place() {
        let absorb = "impl A {\n    fn absorb(&mut self) {}\n}\n";
        let strike = |path: &str, text: &str| strikes(accumulators, &[(path, text)]).len();
        assert_eq!(strike("crates/exec/src/kernels/tally.rs", absorb), 0);
        assert_eq!(strike("crates/exec/src/rows/new.rs", absorb), 1);
        assert_eq!(strike("crates/exec/src/slots.rs", absorb), 0);
        assert_eq!(strike("crates/exec/src/slots.rs", "fn other() {}\n"), 1, "it is done");
        assert_eq!(strike("crates/proto-new/src/answer.rs", "fn mean() -> f64 {\n    0.0\n}\n"), 1);
        assert_eq!(strike("crates/proto-new/src/answer.rs", "fn means() {}\n"), 0);
        assert_eq!(strike("crates/engine/src/parity.rs", absorb), 0);
    }

    #[test]
    fn expressions_are_carried_out_at_one_place() {
        let arm = "fn of() {\n    match o {\n        Operator::Add => a + b,\n    }\n}\n";
        let strike = |path: &str, text: &str| strikes(expression_engines, &[(path, text)]).len();
        assert_eq!(strike("crates/proto-new/src/formula.rs", arm), 1);
        assert_eq!(
            strike("crates/exec/src/grids/new.rs", &arm.replace("a + b", "wrapping_add(b)")),
            1
        );
        assert_eq!(strike("crates/exec/src/kernels/arithmetic.rs", arm), 0);
        assert_eq!(strike("crates/exec/src/rows/calculate.rs", arm), 0);
        assert_eq!(strike("crates/exec/src/rows/calculate.rs", "fn of() {}\n"), 1, "it is done");
        let lowered =
            "fn of() {\n    match o {\n        Sign::Add => Calculation::Add,\n    }\n}\n";
        assert_eq!(strike("crates/proto-new/src/lower.rs", lowered), 0);
    }
}
