//! A terminal, for what the program does at one.

use super::PATIENCE;
use std::fs::File;
use std::io::{Read, Write};
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The program at a terminal of its own.
pub(crate) struct Terminal {
    child: std::process::Child,
    keys: File,
    shown: mpsc::Receiver<Vec<u8>>,
    text: String,
}

impl Terminal {
    pub(crate) fn start(mut command: Command) -> Self {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let keys = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&keys).unwrap();
        unlockpt(&keys).unwrap();
        let name = ptsname(&keys, Vec::new()).unwrap().into_string().unwrap();
        let open = || File::options().read(true).write(true).open(&name).unwrap();
        let child = command.stdin(open()).stdout(open()).stderr(open()).spawn().unwrap();
        let keys = File::from(keys);
        let mut screen = keys.try_clone().unwrap();
        let (sender, shown) = mpsc::channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // A terminal whose last program ended gives an error.
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { child, keys, shown, text: String::new() }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until a line can be typed, which is when pasted text is told from typed.
    pub(crate) fn wait_for_prompt(&mut self) {
        self.wait_for("[?2004h");
        self.wait_for("foliot> ");
    }

    pub(crate) fn ends_well(&mut self) {
        assert!(self.ended().success());
    }

    /// Waits until the program ends.
    pub(crate) fn ended(&mut self) -> std::process::ExitStatus {
        let began = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(began.elapsed() < PATIENCE, "it does not end: {}", self.text);
            std::thread::sleep(Duration::from_millis(2));
        }
        self.child.wait().unwrap()
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Whether the terminal shows what is typed.
    pub(crate) fn shows_keys(&self) -> bool {
        let modes = rustix::termios::tcgetattr(&self.keys).unwrap().local_modes;
        modes.contains(rustix::termios::LocalModes::ECHO)
    }

    /// Waits until a text is shown after what was waited for before; returns all up to its end.
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        let began = Instant::now();
        while !self.text.contains(text) {
            let left = PATIENCE.saturating_sub(began.elapsed());
            let bytes = self.shown.recv_timeout(left);
            let bytes = bytes.unwrap_or_else(|_| panic!("{text} is not in {}", self.text));
            self.text.push_str(&String::from_utf8_lossy(&bytes));
        }
        let end = self.text.find(text).unwrap() + text.len();
        self.text.drain(..end).collect()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
