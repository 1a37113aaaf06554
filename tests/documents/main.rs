//! The documents, tried: every block that a reader may type is typed, in order, against the real
//! binary, and what the page says it shows is looked for in what came out. Every setting and every
//! kind of fact has to be where the documents and the code say it is.
//!
//! Pages are typed into `bash`, with `foliot` and `curl` on the path. So that nothing foreign is
//! needed, `curl` is this program under another name (`curl.rs`), which is why there is a `main`
//! here. `DOCUMENTS_CURL` names a real one. A word on the command line picks the checks that have
//! it in their names.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "what fails here is a failing test"
)]

mod curl;
mod dashboards;
#[path = "../harness/mod.rs"]
mod harness;
mod limits;
mod names;
mod page;
mod reader;

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let called = std::env::args_os().next().map(PathBuf::from);
    if called.as_deref().and_then(Path::file_name).is_some_and(|name| name == curl::NAME) {
        return curl::main();
    }
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let mut failed = 0;
    for (name, check) in checks() {
        if wanted.as_ref().is_some_and(|word| !name.contains(word.as_str())) {
            continue;
        }
        let is_right = catch_unwind(std::panic::AssertUnwindSafe(check)).is_ok();
        println!("test {name} ... {}", if is_right { "ok" } else { "FAILED" });
        failed += usize::from(!is_right);
    }
    match failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

type Check = Box<dyn Fn()>;

fn checks() -> Vec<(String, Check)> {
    let mut all: Vec<(String, Check)> = vec![
        ("settings_that_are_named_exist".to_owned(), Box::new(names::settings_exist)),
        ("kinds_of_facts_are_on_their_page".to_owned(), Box::new(names::facts_are_named)),
        ("limits_are_where_the_page_says".to_owned(), Box::new(limits::limits_hold)),
        ("panels_of_dashboards_have_answers".to_owned(), Box::new(dashboards::panels_have_answers)),
        ("blocks_are_read_as_written".to_owned(), Box::new(page::blocks_are_read)),
        ("answers_are_told_from_others".to_owned(), Box::new(reader::answers_are_told)),
    ];
    for path in pages() {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        all.push((name, Box::new(move || reader::follow(&path))));
    }
    all
}

/// The pages whose blocks are typed.
fn pages() -> Vec<PathBuf> {
    let single =
        ["README.md", "docs/tutorial.md", "docs/http.md", "docs/api.md", "docs/protocols/sql.md"];
    let mut pages = single.map(|name| root().join(name)).to_vec();
    let guides = std::fs::read_dir(root().join("docs/guides")).unwrap();
    pages.extend(guides.map(|entry| entry.unwrap().path()));
    pages.sort();
    pages
}

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}
