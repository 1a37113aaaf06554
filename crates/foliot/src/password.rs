//! Passwords of people: typed at a terminal, where nobody sees them, or piped in.

use crate::terminal::{Quiet, put_back_on_signals};
use std::io::{self, BufRead, IsTerminal, Stdin, Write};

/// A password for a user: asked for twice at a terminal, otherwise the first line of what is piped
/// in.
///
/// # Errors
/// One sentence, also when the two are not the same.
pub(crate) fn read(user: &str) -> Result<String, String> {
    let input = io::stdin();
    if !input.is_terminal() {
        return line(&input);
    }
    put_back_on_signals(&input).map_err(cannot_hide)?;
    let password = unseen(&input, &format!("Password for {user}: "))?;
    match unseen(&input, "The same again: ")? == password {
        true => Ok(password),
        false => Err("the two passwords are not the same; nothing was changed".to_owned()),
    }
}

fn line(input: &Stdin) -> Result<String, String> {
    let mut line = String::new();
    let read = input.lock().read_line(&mut line);
    read.map_err(|error| format!("cannot read the password from standard input: {error}"))?;
    let password = line.trim_end_matches(['\r', '\n']);
    match password.is_empty() {
        true => Err("no password was given; type one, or pipe it in".to_owned()),
        false => Ok(password.to_owned()),
    }
}

/// What is typed behind a prompt, and not shown.
fn unseen(input: &Stdin, prompt: &str) -> Result<String, String> {
    // What was typed ahead was seen: it is no password.
    let _hidden = Quiet::forgetting(input).map_err(cannot_hide)?;
    // Nobody is left to tell when standard error is gone.
    let tell = |text: &str| drop(io::stderr().write_all(text.as_bytes()));
    tell(prompt);
    let typed = line(input);
    // The line's end was not shown either.
    tell("\n");
    typed
}

fn cannot_hide(error: io::Error) -> String {
    format!("cannot hide what is typed at this terminal: {error}")
}
