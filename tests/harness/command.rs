//! The program as a command that ends.

use super::foliot;
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

/// Runs `foliot` with the given words and nothing at its standard input.
pub(crate) fn run(words: &[&str]) -> Output {
    // A token of whoever runs the tests is none of theirs.
    foliot().args(words).env_remove("INFLUX_TOKEN").stdin(Stdio::null()).output().unwrap()
}

/// The same, with something at its standard input.
pub(crate) fn run_on(words: &[&str], input: &[u8]) -> Output {
    let mut command = foliot();
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // What reads nothing of it ends before.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

/// Runs it where it must succeed.
pub(crate) fn succeed(words: &[&str]) -> Output {
    let output = run(words);
    assert!(output.status.success(), "{words:?}: {}", said(&output));
    output
}

/// What a command said beside what it printed.
pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The lines of what is in a database of a store, sorted, without the head of the dump.
pub(crate) fn lines(store: &Path, database: &str) -> Vec<String> {
    let dir = store.to_str().unwrap();
    let words = ["export", "--format", "line", "--db", database, "--data-dir", dir];
    let text = String::from_utf8(succeed(&words).stdout).unwrap();
    let mut lines: Vec<String> =
        text.lines().filter(|line| !line.starts_with(['#', 'C'])).map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}
