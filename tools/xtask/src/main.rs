//! Automation: checks of the house rules that neither rustc nor clippy knows.
//!
//! `tidy` reads the whole repository and prints every breach as `path:line: rule: what and what to
//! do`. It is a compiler-free program without dependencies, so that it costs nothing to run. What
//! it is NOT: a style checker; rustfmt and clippy come first.

mod code;
mod rules;
mod tree;
mod wrap;

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use tree::Tree;

const USAGE: &str = "\
usage: foliot-xtask tidy           check the repository against the house rules
       foliot-xtask wrap [PATH]    wrap comments that are too long, below a path
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => on_tree(|_, tree| Ok(tidy(tree))),
        ["wrap"] => on_tree(|root, tree| wrap_comments(root, tree, "")),
        ["wrap", below] => on_tree(|root, tree| wrap_comments(root, tree, below)),
        _ => {
            say(&mut io::stderr(), USAGE);
            ExitCode::from(2)
        }
    }
}

fn on_tree(command: impl FnOnce(&Path, &Tree) -> io::Result<bool>) -> ExitCode {
    // The manifest's folder lies two below the root.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    match Tree::load(&root).and_then(|tree| command(&root, &tree)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&mut io::stderr(), &format!("xtask: {}: {error}\n", root.display()));
            ExitCode::from(2)
        }
    }
}

/// Prints the breaches; false when there is one.
fn tidy(tree: &Tree) -> bool {
    let findings = rules::check(tree);
    for finding in &findings {
        say(&mut io::stderr(), &format!("{finding}\n"));
    }
    match findings.len() {
        0 => say(&mut io::stdout(), &format!("tidy: {} files in order\n", tree.len())),
        count => say(&mut io::stderr(), &format!("tidy: {count} breaches\n")),
    }
    findings.is_empty()
}

fn wrap_comments(root: &Path, tree: &Tree, below: &str) -> io::Result<bool> {
    for (path, _) in tree.codes().filter(|(path, _)| path.starts_with(below)) {
        let text = tree.text(path).unwrap_or_default();
        let wrapped = wrap::wrap(path, text);
        if wrapped != text {
            fs::write(root.join(path), wrapped)?;
            say(&mut io::stdout(), &format!("wrapped {path}\n"));
        }
    }
    Ok(true)
}

/// Prints; a closed pipe is the reader's choice and no error.
fn say(out: &mut dyn Write, text: &str) {
    let _ = out.write_all(text.as_bytes());
}
