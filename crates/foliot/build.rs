//! Tells the program from which commit and for which target it is built, gives it the documents as
//! pages, and tells its allocator what to do with memory that is given back.

#[path = "build/documents.rs"]
mod documents;

use std::env;
use std::process::Command;

fn main() {
    // Cargo shows these variables to tests as well, so they must not look like settings.
    // A package built from a tarball has no repository and is told the commit.
    println!("cargo:rerun-if-env-changed=BUILD_REVISION");
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    let told = env::var("BUILD_REVISION").ok().filter(|revision| !revision.is_empty());
    let revision = told.or_else(|| git(&["rev-parse", "HEAD"]));
    println!("cargo:rustc-env=BUILD_REVISION={}", revision.as_deref().unwrap_or("unknown"));
    println!("cargo:rustc-env=BUILD_TARGET={}", env::var("TARGET").unwrap_or_default());
    set_up_allocator();
    if let Err(error) = documents::write() {
        println!("cargo:error=the documents cannot be made pages of: {error}");
    }
}

/// Links `allocator.c` into the program; nothing in it is called by name.
fn set_up_allocator() {
    println!("cargo:rerun-if-changed=allocator.c");
    let mut build = cc::Build::new();
    build.file("allocator.c").includes(env::var("DEP_MIMALLOC_INCLUDE_DIR"));
    for object in build.compile_intermediates() {
        println!("cargo:rustc-link-arg-bins={}", object.display());
    }
}

/// What git says on its first line, when there is git and a repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.lines().next().filter(|_| output.status.success())?;
    Some(line.to_owned())
}
