//! Passwords of people: typed at a terminal, where nobody sees them, or piped in.

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
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
    let _hidden = Hidden::begin(input)
        .map_err(|error| format!("cannot hide what is typed at this terminal: {error}"))?;
    // Nobody is left to tell when standard error is gone.
    let tell = |text: &str| drop(io::stderr().write_all(text.as_bytes()));
    tell(prompt);
    let typed = line(input);
    // The line's end was not shown either.
    tell("\n");
    typed
}

/// A terminal that does not show what is typed, until this goes. Shells set theirs anew after a
/// program that was interrupted here.
struct Hidden<'a> {
    input: &'a Stdin,
    before: Termios,
}

impl<'a> Hidden<'a> {
    fn begin(input: &'a Stdin) -> io::Result<Self> {
        let before = tcgetattr(input)?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        // What was typed ahead was seen: it is no password.
        tcsetattr(input, OptionalActions::Flush, &hidden)?;
        Ok(Self { input, before })
    }
}

impl Drop for Hidden<'_> {
    fn drop(&mut self) {
        // A terminal that is gone shows nothing.
        let _ = tcsetattr(self.input, OptionalActions::Now, &self.before);
    }
}
