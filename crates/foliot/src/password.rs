//! Passwords of people: typed at a terminal, where nobody sees them, or piped in.

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::future::poll_fn;
use std::io::{self, BufRead, IsTerminal, Stdin, Write};
use std::task::{Context, Poll};
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};

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
    watch(&input).map_err(cannot_hide)?;
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
    let _hidden = Hidden::begin(input).map_err(cannot_hide)?;
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

/// From here on a signal that ends the program leaves the terminal as it is now.
fn watch(input: &Stdin) -> io::Result<()> {
    let before = tcgetattr(input)?;
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let inside = runtime.enter();
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let caught = |kind: SignalKind| Ok((kind.as_raw_value(), signal(kind)?));
    let mut signals = kinds.into_iter().map(caught).collect::<io::Result<Vec<_>>>()?;
    drop(inside);
    std::thread::spawn(move || {
        let number = runtime.block_on(poll_fn(|context| first_of(&mut signals, context)));
        // A terminal that is gone shows nothing.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
        let _ = io::stderr().write_all(b"\n");
        // As shells tell a program that a signal ended.
        std::process::exit(128 + number);
    });
    Ok(())
}

/// The number of the signal that comes first.
fn first_of(signals: &mut [(i32, Signal)], context: &mut Context<'_>) -> Poll<i32> {
    for (number, signal) in signals {
        if signal.poll_recv(context).is_ready() {
            return Poll::Ready(*number);
        }
    }
    Poll::Pending
}

/// A terminal that does not show what is typed, until this goes.
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
