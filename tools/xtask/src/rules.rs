//! The house rules, each a function from the tree to its breaches.

mod edges;
mod kernels;
mod links;
mod mistakes;
mod proofs;
mod sizes;
mod words;

pub(crate) use sizes::LINE_COLUMNS_MAX;

use crate::tree::Tree;
use std::fmt;

/// A breach of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) path: String,
    /// Counted from 1; 0 when the whole file is meant.
    pub(crate) line: usize,
    pub(crate) rule: &'static str,
    /// What is wrong and what to do.
    pub(crate) message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, rule, message } = self;
        match line {
            0 => write!(f, "{path}: {rule}: {message}"),
            _ => write!(f, "{path}:{line}: {rule}: {message}"),
        }
    }
}

impl Finding {
    fn new(path: &str, line: usize, rule: &'static str, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, rule, message: message.into() }
    }
}

type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: [Rule; 18] = [
    edges::cargo_edges,
    edges::folder_names,
    edges::room_names,
    sizes::long_files,
    sizes::long_functions,
    sizes::long_lines,
    words::later_marks,
    words::unsafe_code,
    words::usize_bytes,
    words::async_code,
    words::ignored_tests,
    words::vague_files,
    words::orphan_files,
    links::dead_links,
    proofs::missing_tests,
    kernels::accumulators,
    kernels::expression_engines,
    mistakes::lost_patches,
];

/// All breaches, in the order of rules and files.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    RULES.iter().flat_map(|rule| rule(tree)).collect()
}

/// Where a rule strikes in a tree of the given texts: `path:line`, for tests.
#[cfg(test)]
fn strikes(rule: Rule, files: &[(&str, &str)]) -> Vec<String> {
    let place = |finding: Finding| format!("{}:{}", finding.path, finding.line);
    rule(&Tree::of(files)).into_iter().map(place).collect()
}
