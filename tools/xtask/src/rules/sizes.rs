//! How long files, functions and lines may be.

use super::Finding;
use crate::tree::Tree;
use std::collections::BTreeMap;

const FILE_LINES_MAX: usize = 1000;
const FUNCTION_LINES_MAX: usize = 70;
pub(crate) const LINE_COLUMNS_MAX: usize = 100;

/// Functions that are longer for now: `path function lines` each. It may only shrink.
const RATCHET_FILE: &str = "tools/xtask/ratchet.txt";
/// Entries that the ratchet may have. Lower it when one goes; never raise it.
const RATCHET_ENTRIES_MAX: usize = 0;

/// Files of code, tests and comments not counted, have an end.
pub(crate) fn long_files(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, code) in tree.codes() {
        let lines = code.lines().count();
        if lines > FILE_LINES_MAX {
            let message = format!(
                "{lines} lines of code, at most {FILE_LINES_MAX}: split it along a state that \
                 one part owns"
            );
            findings.push(Finding::new(path, 0, "long-file", message));
        }
    }
    findings
}

/// Functions fit a screen, save those in the ratchet, which may only shrink.
pub(crate) fn long_functions(tree: &Tree) -> Vec<Finding> {
    long_functions_over(tree, RATCHET_ENTRIES_MAX)
}

fn long_functions_over(tree: &Tree, entries_max: usize) -> Vec<Finding> {
    let rule = "long-function";
    let mut findings = Vec::new();
    let mut ratchet = BTreeMap::new();
    let entries = tree.text(RATCHET_FILE).unwrap_or_default().lines().enumerate();
    for (index, line) in entries.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        let entry = match line.split_whitespace().collect::<Vec<_>>()[..] {
            [path, name, lines] => lines.parse().ok().map(|lines: usize| ((path, name), lines)),
            _ => None,
        };
        match entry {
            Some((function, lines)) => {
                ratchet.insert(function, (index + 1, lines));
            }
            None => {
                let message = "must read `path function lines`";
                findings.push(Finding::new(RATCHET_FILE, index + 1, rule, message));
            }
        }
    }
    if ratchet.len() > entries_max {
        let message =
            format!("{} entries, at most {entries_max}: shorten the new function", ratchet.len());
        findings.push(Finding::new(RATCHET_FILE, 0, rule, message));
    }
    for (path, code) in tree.codes() {
        for function in code.functions.iter().filter(|f| f.lines > FUNCTION_LINES_MAX) {
            let known = ratchet.remove(&(path, function.name.as_str()));
            let allowed = known.map_or(FUNCTION_LINES_MAX, |(_, lines)| lines);
            if function.lines > allowed {
                let message = format!(
                    "{} has {} lines, at most {allowed}: move its loops into functions named \
                     after it",
                    function.name, function.lines
                );
                findings.push(Finding::new(path, function.line, rule, message));
            } else if function.lines < allowed {
                let line = known.map_or(0, |(line, _)| line);
                let message = format!("{} has {} lines now: say so", function.name, function.lines);
                findings.push(Finding::new(RATCHET_FILE, line, rule, message));
            }
        }
    }
    for ((_, name), (line, _)) in ratchet {
        let message = format!("{name} is short now: remove its entry");
        findings.push(Finding::new(RATCHET_FILE, line, rule, message));
    }
    findings
}

/// Lines fit two windows side by side. rustfmt sees to code; this sees to comments, and `make fmt`
/// wraps them. Lines with a literal or an address cannot always be broken.
pub(crate) fn long_lines(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, code) in tree.codes() {
        let lines = tree.text(path).unwrap_or_default().lines().zip(code.blanked.lines());
        for (index, (line, blanked)) in lines.enumerate() {
            let columns = line.chars().count();
            if columns > LINE_COLUMNS_MAX && !blanked.contains('"') && !line.contains("://") {
                let message = format!("{columns} columns, at most {LINE_COLUMNS_MAX}: `make fmt`");
                findings.push(Finding::new(path, index + 1, "long-line", message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::strikes;
    use super::*;

    fn function(name: &str, lines: usize) -> String {
        format!("fn {name}() {{\n{}}}\n", "    x;\n".repeat(lines - 2))
    }

    #[test]
    fn files_may_not_grow_without_end() {
        let code = |lines: usize| "let x;\n".repeat(lines);
        let strike = |text: &str| strikes(long_files, &[("crates/a/src/b.rs", text)]).len();
        assert_eq!(strike(&code(1000)), 0);
        assert_eq!(strike(&code(1001)), 1);
        assert_eq!(strike(&(code(1000) + &"// why\n\n".repeat(500))), 0);
        assert_eq!(strike(&format!("{}#[cfg(test)]\nmod t {{\n{}}}", code(999), code(999))), 0);
        assert_eq!(strikes(long_files, &[("crates/a/src/tests.rs", &code(1001))]).len(), 0);
    }

    #[test]
    fn functions_fit_a_screen() {
        let strike = |lines| strikes(long_functions, &[("src/a.rs", &function("f", lines))]);
        assert!(strike(70).is_empty());
        assert_eq!(strike(71), ["src/a.rs:1"]);
    }

    #[test]
    fn the_ratchet_only_shrinks() {
        let strike = |lines: usize, ratchet: &str| {
            let tree = Tree::of(&[
                ("src/a.rs", &function("f", lines)),
                (RATCHET_FILE, &format!("# long\n{ratchet}")),
            ]);
            let place = |finding: Finding| format!("{}:{}", finding.path, finding.line);
            let findings = long_functions_over(&tree, 1).into_iter();
            findings.map(place).collect::<Vec<_>>()
        };
        assert!(strike(90, "src/a.rs f 90\n").is_empty());
        assert_eq!(strike(91, "src/a.rs f 90\n"), ["src/a.rs:1"]);
        assert_eq!(strike(89, "src/a.rs f 90\n"), ["tools/xtask/ratchet.txt:2"]);
        assert_eq!(strike(70, "src/a.rs f 90\n"), ["tools/xtask/ratchet.txt:2"]);
        assert_eq!(strike(9, "src/a.rs f\n"), ["tools/xtask/ratchet.txt:2"]);
        let two = strike(90, "src/a.rs f 90\nsrc/a.rs g 90\n");
        assert_eq!(two, ["tools/xtask/ratchet.txt:0", "tools/xtask/ratchet.txt:3"]);
    }

    #[test]
    fn comments_fit_the_page() {
        let strike = |line: &str| strikes(long_lines, &[("src/a.rs", line)]).len();
        assert_eq!(strike(&format!("// {}", "é".repeat(97))), 0);
        assert_eq!(strike(&format!("// {}", "a".repeat(98))), 1);
        assert_eq!(strike(&format!("// https://{}", "a".repeat(98))), 0);
    }
}
