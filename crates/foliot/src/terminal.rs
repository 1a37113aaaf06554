//! The terminal in front of a person, while it does not show what is typed.

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::future::poll_fn;
use std::io::{self, Read, Stdin, Write};
use std::sync::mpsc::{Receiver, channel};
use std::task::{Context, Poll};
use std::thread;
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// From here on a signal that ends the program leaves the terminal as it is now.
///
/// # Errors
/// What the terminal or the system says.
pub(crate) fn put_back_on_signals(input: &Stdin) -> io::Result<()> {
    let before = tcgetattr(input)?;
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let inside = runtime.enter();
    let kinds = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
        SignalKind::quit(),
    ];
    let caught = |kind: SignalKind| Ok((kind.as_raw_value(), signal(kind)?));
    let mut signals = kinds.into_iter().map(caught).collect::<io::Result<Vec<_>>>()?;
    drop(inside);
    thread::spawn(move || {
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
pub(crate) struct Quiet<'a> {
    input: &'a Stdin,
    before: Termios,
}

impl<'a> Quiet<'a> {
    /// Forgets what was typed ahead; lines are read whole.
    ///
    /// # Errors
    /// What the terminal says.
    pub(crate) fn forgetting(input: &'a Stdin) -> io::Result<Self> {
        Self::begin(input, LocalModes::ECHO, OptionalActions::Flush)
    }

    /// Each key is read as it is pressed.
    ///
    /// # Errors
    /// What the terminal says.
    pub(crate) fn by_key(input: &'a Stdin) -> io::Result<Self> {
        Self::begin(input, LocalModes::ECHO | LocalModes::ICANON, OptionalActions::Now)
    }

    fn begin(input: &'a Stdin, without: LocalModes, when: OptionalActions) -> io::Result<Self> {
        let before = tcgetattr(input)?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(without);
        tcsetattr(input, when, &quiet)?;
        Ok(Self { input, before })
    }
}

impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        // A terminal that is gone shows nothing.
        let _ = tcsetattr(self.input, OptionalActions::Now, &self.before);
    }
}

/// The keys that are pressed from here on, until the terminal is gone.
pub(crate) fn keys() -> Receiver<u8> {
    let (pressed, keys) = channel();
    thread::spawn(move || {
        for key in io::stdin().lock().bytes().map_while(Result::ok) {
            if pressed.send(key).is_err() {
                return;
            }
        }
    });
    keys
}
