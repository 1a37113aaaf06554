//! The telnet side of the door: a session per connection, lines in, rejects and commands out.
//!
//! The session owns no bytes. The caller keeps what was not consumed and puts more behind it, so a
//! line that arrives in pieces is decoded once, in place, when its end is there.

use crate::decode::{
    FIELD_NUMBER, FIELD_TIME_NUMBER, Options, RollupPoint, decode_histogram_line, decode_line,
    decode_rollup_line,
};
use crate::version::BuildInfo;
use foliot_model::{Batch, Reject};
use memchr::memchr;
use std::borrow::Cow;
use std::fmt::Write as _;

/// What a connection has to remember between reads.
#[derive(Debug)]
pub struct Session {
    options: Options,
    line: u32,
    is_skipping: bool,
    rolled_up: Vec<RollupPoint>,
}

/// How far a call of [`Session::decode`] came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Bytes done with; the rest must stand at the front of the next call's request.
    pub consumed: usize,
    /// A command that the caller must answer before it goes on.
    pub command: Option<Command>,
    /// Whether whole lines are left, because many before them were bad.
    pub has_more: bool,
}

/// Bad lines after which others have their turn: a read holds fifty thousand of them, each of which
/// is worded.
const REJECTS_AT_ONCE: usize = 1024;

/// A telnet command other than `put`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// `version`
    Version,
    /// `stats`: the caller writes lines with [`stat_line`].
    Stats,
    /// `status`
    Status,
    /// `help`
    Help,
    /// `dropcaches`
    DropCaches,
    /// `auth …`: the line, the last one consumed, says who the client is. The caller answers.
    Auth,
    /// `exit`: the caller closes the connection.
    Exit,
}

impl Session {
    /// The state of a new connection.
    pub fn new(options: Options) -> Self {
        Self { options, line: 0, is_skipping: false, rolled_up: Vec::new() }
    }

    /// The rollup points of the lines decoded since the last call. They belong to tables of their
    /// own, not to the batch.
    pub fn take_rollups(&mut self) -> Vec<RollupPoint> {
        std::mem::take(&mut self.rolled_up)
    }

    /// Decodes the whole lines of the batch's request into the batch. Stops after a command, so
    /// that its answer comes after those of the lines before it, and after [`REJECTS_AT_ONCE`] bad
    /// lines; the caller writes the batch, answers the rejects and the command, and calls again
    /// with the rest. Lines are numbered from 1 over the connection.
    pub fn decode(&mut self, batch: &mut Batch<'_>, rejects: &mut Vec<Reject>) -> Step {
        let bytes = batch.bytes();
        if !self.is_skipping {
            batch.number_lines(self.line.saturating_add(1));
        }
        let mut consumed = 0;
        while let Some(rest) = bytes.get(consumed..).filter(|rest| !rest.is_empty()) {
            let Some(length) = memchr(b'\n', rest) else {
                consumed += self.keep_or_skip(rest.len(), rejects);
                break;
            };
            let start = consumed;
            consumed += length + 1;
            if std::mem::take(&mut self.is_skipping) {
                continue;
            }
            if rejects.len() >= REJECTS_AT_ONCE {
                return Step { consumed: start, command: None, has_more: true };
            }
            self.line = self.line.wrapping_add(1);
            let line = rest.get(..length).unwrap_or_default();
            if length > self.options.line_bytes_max {
                self.refuse_long(rejects);
            } else if let Some(words) = line.strip_prefix(b"put ") {
                let done = decode_line(batch, start + 4, words, self.line, &self.options);
                if let Err(refused) = done {
                    rejects.push(refused.at_line(self.line));
                }
            } else if let Some(command) = self.other_line(batch, start, line, rejects) {
                return Step { consumed, command: Some(command), has_more: false };
            }
        }
        Step { consumed, command: None, has_more: false }
    }

    /// An unfinished line stays with the caller until it is too long, then it is thrown away as it
    /// comes. Returns how many of its bytes are done with.
    fn keep_or_skip(&mut self, length: usize, rejects: &mut Vec<Reject>) -> usize {
        if !self.is_skipping && length <= self.options.line_bytes_max {
            return 0;
        }
        if !self.is_skipping {
            self.is_skipping = true;
            self.line = self.line.wrapping_add(1);
            self.refuse_long(rejects);
        }
        length
    }

    fn refuse_long(&self, rejects: &mut Vec<Reject>) {
        let reason = format!("line is longer than {} bytes", self.options.line_bytes_max);
        rejects.push(Reject { line: self.line, field: Cow::Borrowed("line"), reason });
    }

    #[cold]
    fn other_line(
        &mut self,
        batch: &mut Batch<'_>,
        start: usize,
        line: &[u8],
        rejects: &mut Vec<Reject>,
    ) -> Option<Command> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let word = line.split(|&byte| byte == b' ').next().unwrap_or_default();
        match word {
            b"version" => return Some(Command::Version),
            b"stats" => return Some(Command::Stats),
            b"status" => return Some(Command::Status),
            b"help" => return Some(Command::Help),
            b"dropcaches" => return Some(Command::DropCaches),
            b"auth" => return Some(Command::Auth),
            b"exit" => return Some(Command::Exit),
            b"put" => {
                let at = start + line.len();
                if let Err(refused) = decode_line(batch, at, b"", self.line, &self.options) {
                    rejects.push(refused.at_line(self.line));
                }
            }
            b"histogram" => {
                let words = line.get(word.len() + 1..).unwrap_or_default();
                rejects.extend(decode_histogram_line(batch, words, self.line).err());
            }
            b"rollup" => {
                let words = line.get(word.len() + 1..).unwrap_or_default();
                match decode_rollup_line(words, self.line, self.options.rollups.as_deref()) {
                    Ok(point) => self.rolled_up.push(point),
                    Err(reject) => rejects.push(reject),
                }
            }
            _ => {
                let shown: String = String::from_utf8_lossy(word).chars().take(64).collect();
                let reason = format!("unknown command: {shown}.  Try `help'.");
                rejects.push(Reject { line: self.line, field: Cow::Borrowed("command"), reason });
            }
        }
        None
    }
}

impl Command {
    /// The answer to the command, with its line end; empty for `stats` and `exit`.
    pub fn reply(self, build: &BuildInfo) -> String {
        match self {
            Self::Version => build.to_text(),
            Self::Status => "ok\n".to_owned(),
            Self::Help => {
                "available commands: stats dropcaches version status exit help put rollup \
                 histogram auth \n"
                    .to_owned()
            }
            Self::DropCaches => "Caches dropped.\n".to_owned(),
            Self::Stats | Self::Auth | Self::Exit => String::new(),
        }
    }
}

/// The field of rejects that ask for more series than the store's limits allow.
const FIELD_SERIES: &str = "series";

/// Appends the line that answers a rejected line of a telnet connection.
pub fn telnet_reply(reject: &Reject, out: &mut Vec<u8>) {
    let class: &[u8] = match &*reject.field {
        "command" => b"",
        "histogram" => b"histogram: illegal argument: ",
        "histogram number" => b"histogram: invalid value: ",
        "rollup" => b"rollup: illegal argument: ",
        "rollup number" => b"rollup: invalid value: ",
        "rollup interval" => b"rollup: No such rollup: ",
        FIELD_NUMBER | FIELD_TIME_NUMBER => b"put: invalid value: ",
        FIELD_SERIES => b"put: Please throttle writes: ",
        _ => b"put: illegal argument: ",
    };
    out.extend_from_slice(class);
    out.extend_from_slice(reject.reason.as_bytes());
    out.push(b'\n');
}

/// Appends a line of the answer to `stats`: `<name> <seconds> <value> [<k=v> …] host=<host>`.
pub fn stat_line(
    name: &str,
    time_s: i64,
    value: u64,
    tags: &[(&str, &str)],
    host: &str,
    out: &mut String,
) {
    let _ = write!(out, "{name} {time_s} {value}");
    for (key, tag) in tags {
        let _ = write!(out, " {key}={tag}");
    }
    let _ = writeln!(out, " host={host}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KEY_SYNTAX;
    use foliot_model::{BatchBuffers, KeySecret};

    /// Feeds `text` in reads of `size` bytes; returns lines of rows, replies, and commands.
    fn talk(text: &str, size: usize, limit: usize) -> (Vec<u32>, String, Vec<Command>) {
        let options = Options { line_bytes_max: limit, ..Options::default() };
        let mut session = Session::new(options);
        let (mut rows, mut replies, mut commands) = (Vec::new(), Vec::new(), Vec::new());
        let mut kept: Vec<u8> = Vec::new();
        for read in text.as_bytes().chunks(size) {
            kept.extend_from_slice(read);
            loop {
                let request = kept.clone();
                let buffers = BatchBuffers::default();
                let mut batch = Batch::new(&request, 0, &KEY_SYNTAX, KeySecret(1), buffers);
                let mut rejects = Vec::new();
                let step = session.decode(&mut batch, &mut rejects);
                kept.drain(..step.consumed);
                rows.extend(batch.rows().iter().map(|row| row.line));
                rejects.iter().for_each(|reject| telnet_reply(reject, &mut replies));
                assert!(rejects.len() <= REJECTS_AT_ONCE);
                match step.command {
                    Some(command) => commands.push(command),
                    None if step.has_more => {}
                    None => break,
                }
            }
        }
        (rows, String::from_utf8(replies).unwrap(), commands)
    }

    #[test]
    fn many_bad_lines_are_read_in_turns() {
        let bad = "put\n".repeat(2 * REJECTS_AT_ONCE + 1);
        let text = format!("{bad}put m 1 1 h=a\nversion\n");
        let (rows, replies, commands) = talk(&text, text.len(), 1024);
        let last = 2 * REJECTS_AT_ONCE as u32 + 2;
        assert_eq!((rows, replies.lines().count()), (vec![last], 2 * REJECTS_AT_ONCE + 1));
        assert_eq!(commands, [Command::Version]);
    }

    #[test]
    fn the_size_of_reads_does_not_matter() {
        let text = "put m 1 1 h=a\r\nput m 1 x h=a\nversion\nput m 2 2 h=a\n\nfoo bar\nstats\nput\n\
                    put m 0 1 h=a\nput m 3 3 h=a\nput m 4 4";
        let whole = talk(text, 4096, 1024);
        assert_eq!(whole.0, [1, 4, 10]);
        let replies = "put: invalid value: Invalid character 'x' in x\n\
                       unknown command: .  Try `help'.\n\
                       unknown command: foo.  Try `help'.\n\
                       put: illegal argument: not enough arguments (need least 4, got 0)\n\
                       put: illegal argument: invalid timestamp: 0\n";
        assert_eq!(whole.1, replies);
        assert_eq!(whole.2, [Command::Version, Command::Stats]);
        for size in [1, 2, 3, 7, 50] {
            assert_eq!(talk(text, size, 1024), whole, "reads of {size}");
        }
    }

    #[test]
    fn long_lines_are_refused_once_and_skipped() {
        let long = format!("put m 1 1 h={}\nput m 1 1 h=a\n", "x".repeat(100));
        for size in [1, 30, 4096] {
            let (rows, replies, _) = talk(&long, size, 40);
            assert_eq!(rows, [2], "reads of {size}");
            assert_eq!(replies, "put: illegal argument: line is longer than 40 bytes\n");
        }
    }

    #[test]
    fn the_class_of_an_answer_depends_on_what_was_at_fault() {
        let answer = |field: &'static str| {
            let mut out = Vec::new();
            let reject = Reject { line: 1, field: Cow::Borrowed(field), reason: "x".to_owned() };
            telnet_reply(&reject, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(answer("tag"), "put: illegal argument: x\n");
        assert_eq!(answer("series"), "put: Please throttle writes: x\n");
        assert_eq!(answer("command"), "x\n");
    }

    #[test]
    fn stat_lines_end_in_the_host() {
        let mut out = String::new();
        stat_line("tsd.rpc.received", 7, 3, &[("type", "put")], "web01", &mut out);
        assert_eq!(out, "tsd.rpc.received 7 3 type=put host=web01\n");
    }
}
