//! Where commands write: standard output, whose reader may have read enough, and directories.

use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// Standard output of a command. When nobody reads it any more, as after `| head`, the program ends
/// without a word: nothing went wrong.
#[derive(Debug, Default)]
pub(crate) struct Output(());

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        end_unread(io::stdout().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        end_unread(io::stdout().flush())
    }
}

fn end_unread<T>(result: io::Result<T>) -> io::Result<T> {
    if result.as_ref().is_err_and(|error| error.kind() == ErrorKind::BrokenPipe) {
        std::process::exit(0);
    }
    result
}

/// A note beside what was asked for, on standard error.
pub(crate) fn note(text: &str) {
    // Nobody is left to tell when standard error is gone.
    let _ = writeln!(io::stderr(), "foliot: note: {text}");
}

/// Writes a text to standard output.
///
/// # Errors
/// One sentence.
pub(crate) fn print(text: &str) -> Result<(), String> {
    let mut out = Output::default();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| format!("cannot write to standard output: {error}"))
}

/// Makes the directory that a command writes into, if it is not there.
///
/// # Errors
/// One sentence.
pub(crate) fn make_directory(into: &Path) -> Result<(), String> {
    let name = into.display();
    std::fs::create_dir_all(into).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => format!("{name} is a file: name a directory"),
        _ => format!("cannot make the directory {name}: {error}"),
    })
}
