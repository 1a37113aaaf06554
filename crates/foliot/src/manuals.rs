//! What packages ship beside the program, made from its own arguments: shell completions, manual
//! pages and a file of settings.

use crate::output::make_directory;
use clap::Command;
use foliot_server::config;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Writes every setting at its default into a file that is not there yet; `-` is standard output.
///
/// # Errors
/// One sentence.
pub(crate) fn settings(file: &Path) -> Result<String, String> {
    if file == Path::new("-") {
        return Ok(config::sample());
    }
    let written =
        File::create_new(file).and_then(|mut new| new.write_all(config::sample().as_bytes()));
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => format!(
            "{} is there already: name another file, or - to print the settings",
            file.display()
        ),
        _ => format!("cannot write {}: {error}", file.display()),
    })?;
    let file = file.display();
    Ok(format!("wrote {file}; start with: foliot serve --config {file}\n"))
}

/// The completions for one shell, to be read by that shell.
pub(crate) fn completions(mut command: Command, shell: clap_complete::Shell) -> String {
    let mut out = Vec::new();
    clap_complete::generate(shell, &mut command, "foliot", &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// Writes a manual page for the program and each of its commands into a directory.
///
/// # Errors
/// One sentence.
pub(crate) fn write(command: Command, into: &Path) -> Result<String, String> {
    let wrong = |error: std::io::Error| format!("cannot write to {}: {error}", into.display());
    make_directory(into)?;
    clap_mangen::generate_to(command, into).map_err(wrong)?;
    let pages = std::fs::read_dir(into).map_err(wrong)?.count();
    Ok(format!("{pages} manual pages in {}\n", into.display()))
}
