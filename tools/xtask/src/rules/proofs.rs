//! Tests that documents name as proofs, and that there are not.

use super::Finding;
use crate::tree::Tree;
use std::collections::BTreeSet;

/// In a table of a document whose last column is headed `test`, each name in backticks in that
/// column is a test's.
pub(crate) fn missing_tests(tree: &Tree) -> Vec<Finding> {
    let tests: BTreeSet<&str> = tree
        .texts()
        .filter(|(path, _)| path.ends_with(".rs"))
        .flat_map(|(_, text)| tests(text))
        .collect();
    let mut findings = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| path.ends_with(".md")) {
        for (line, name) in named(text) {
            if !tests.contains(name) {
                let message =
                    format!("`{name}`: there is no such test; name the one that shows it");
                findings.push(Finding::new(path, line, "missing-test", message));
            }
        }
    }
    findings
}

/// The names of the tests of a file.
fn tests(text: &str) -> impl Iterator<Item = &str> {
    let behind = text.split("#[test]").skip(1);
    behind.filter_map(|rest| rest.split_once("fn ")?.1.split_once('(').map(|(name, _)| name))
}

/// What the last columns of such tables name, with lines.
fn named(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut is_of_tests = false;
    let mut was_row = false;
    for (index, line) in text.lines().enumerate() {
        let row = line.trim().strip_prefix('|').and_then(|line| line.strip_suffix('|'));
        let Some(row) = row else {
            (is_of_tests, was_row) = (false, false);
            continue;
        };
        let last = row.rsplit('|').next().unwrap_or_default().trim();
        if !was_row {
            is_of_tests = last == "test";
        } else if is_of_tests {
            // Every second piece between backticks is a name.
            found.extend(last.split('`').skip(1).step_by(2).map(|name| (index + 1, name)));
        }
        was_row = true;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::strikes;
    use super::*;

    fn strike(text: &str) -> usize {
        let code = "#[test]\nfn it_holds() {}\n#[test]\n#[cfg(unix)]\nfn it_holds_too() {}\nfn helper() {}\n";
        strikes(missing_tests, &[("docs/a.md", text), ("tests/a.rs", code)]).len()
    }

    #[test]
    fn tests_that_are_named_must_exist() {
        let head = "| item | test |\n|---|---|\n";
        assert_eq!(strike(&format!("{head}| a `b` | `it_holds`, `it_holds_too` |\n")), 0);
        assert_eq!(strike(&format!("{head}| a | `it_held` |\n| b | `helper` |\n")), 2);
        assert_eq!(strike("| test | item |\n|---|---|\n| `it_held` | `b` |\n"), 0);
        assert_eq!(strike(&format!("{head}\n| a | `it_held` |\n")), 0, "another table");
    }
}
