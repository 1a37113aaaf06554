//! Telnet connections: OpenTSDB's commands, one a line.
//!
//! Whatever the client sends is read in large pieces and decoded where it lies. Replies are written
//! when the client reads them; one that does not read is never waited for (TCollector never does).

use crate::ingest::{self, PATIENCE, Terms};
use crate::lines::point_to_graphite;
use crate::login::Login;
use crate::metrics::{Way, now_s};
use crate::pace::Pace;
use crate::relay::{Baton, Runner};
use crate::replies::Replies;
use crate::rollups;
use crate::shared::Shared;
use crate::store::Store;
use crate::ticktock::Speaker;
use crate::wire::Wire;
use foliot_access::Need;
use foliot_engine::{Ack, Commit};
use foliot_model::{Batch, Reject};
use foliot_proto_opentsdb::{Command, KEY_SYNTAX, Options, Session, Step, stat_line, telnet_reply};
use foliot_schema::Missing;
use std::io;
use std::net::SocketAddr;
use tokio::io::Interest;

/// Room for one read. Large, so that a busy sender costs few calls; an idle connection holds none.
pub(crate) const READ_BYTES: usize = 256 << 10;

/// Reads of each connection once the server stops: more than the system holds for one, unless the
/// client goes on sending, and that must end.
pub(crate) const DRAIN_READS_MAX: usize = 64;

/// The longest line that says who a client is.
const LOGIN_BYTES_MAX: usize = 4096;

/// Lines of a connection that do not say who the client is, or wrongly, before it is closed.
const LOGIN_FAILURES_MAX: u32 = 10;

/// Serves a connection whose first bytes were read while sniffing.
pub(crate) async fn serve(shared: &Shared, socket: Wire, first: Vec<u8>) {
    serve_as(shared, socket, first, None).await;
}

/// Serves a connection in TickTock's dialect.
pub(crate) async fn serve_ticktock(shared: &Shared, socket: Wire, first: Vec<u8>) {
    // Whoever may do everything, and is on this machine, may end the server.
    let is_local = socket.peer_addr().is_ok_and(|peer| peer.ip().is_loopback());
    let may_stop = is_local && !shared.gate.is_on();
    serve_as(shared, socket, first, Some(Speaker::new(may_stop))).await;
}

async fn serve_as(shared: &Shared, mut socket: Wire, first: Vec<u8>, ticktock: Option<Speaker>) {
    let Some(store) = shared.wait_for_store().await else { return };
    let peer = socket.peer_addr().ok();
    let mut connection = Connection {
        shared,
        store,
        peer,
        login: Login::by_address(shared, peer),
        failures: 0,
        session: Session::new(options(shared)),
        ticktock,
        replies: Replies::default(),
        last: None,
        pace: Pace::new(shared),
        runner: Runner::default(),
        has_paused: false,
        is_open: true,
    };
    let mut kept = first;
    if let Err(error) = connection.run(&mut socket, &mut kept).await {
        log::debug!("telnet connection ended: {error}");
    }
    // A line counts when its newline has come: this may be the half of a number.
    if connection.is_open && !kept.trim_ascii().is_empty() {
        let reason = "the stream ended before the line did: it is not stored".to_owned();
        let reject = Reject { line: 0, field: "line".into(), reason };
        let way = if connection.ticktock.is_some() { Way::TickTock } else { Way::Telnet };
        shared.metrics.way(way).count_rejects(std::slice::from_ref(&reject));
        connection.reply(|out| telnet_reply(&reject, out));
    }
    connection.replies.flush(&mut socket);
}

/// The door's limits as they are set.
pub(crate) fn options(shared: &Shared) -> Options {
    let config = &shared.config;
    Options {
        line_bytes_max: usize::try_from(config.limits_line_bytes.0).unwrap_or(usize::MAX),
        tags_max: usize::try_from(config.limits_labels).ok(),
        rollups: config.opentsdb_rollups.rollups.clone(),
    }
}

struct Connection<'a> {
    shared: &'a Shared,
    store: &'a Store,
    peer: Option<SocketAddr>,
    /// There when the client may write.
    login: Option<Login>,
    /// Lines that did not say who the client is.
    failures: u32,
    session: Session,
    /// There when the client speaks TickTock's dialect.
    ticktock: Option<Speaker>,
    replies: Replies,
    /// What the last piece wrote. The next one waits until the operating system has it, so that a
    /// slow disk slows the sender down instead of filling memory.
    last: Option<Commit>,
    pace: Pace,
    runner: Runner,
    /// Whether the lines that were taken last end with a command that was answered, or with many
    /// bad ones.
    has_paused: bool,
    is_open: bool,
}

impl Connection<'_> {
    async fn run(&mut self, socket: &mut Wire, kept: &mut Vec<u8>) -> io::Result<()> {
        if !kept.is_empty() {
            ingest::wait_for_room(self.shared, self.store).await;
            self.take(kept, &mut Baton::default()).await;
        }
        while self.is_open {
            self.replies.flush(socket);
            let interest = match self.replies.is_empty() {
                true => Interest::READABLE,
                false => Interest::READABLE | Interest::WRITABLE,
            };
            let ready = tokio::select! {
                ready = self.pace.within(kept.len(), socket.ready(interest)) => ready??,
                () = self.shared.stopping() => return self.drain(socket, kept).await,
            };
            if ready.is_readable && !self.read(socket, kept).await? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Reads and stores one piece; false when the client has ended.
    async fn read(&mut self, socket: &mut Wire, kept: &mut Vec<u8>) -> io::Result<bool> {
        if let Some(commit) = self.last.take() {
            // An error is counted by the write that meets it; here it only ends the wait.
            let _ = self.store.wait(commit, Ack::Os).await;
        }
        ingest::wait_for_room(self.shared, self.store).await;
        let mut baton = self.runner.baton().await;
        let mut buffer = self.shared.bytes.take();
        buffer.append(kept);
        buffer.reserve(READ_BYTES);
        let outcome = match socket.try_read_buf(&mut buffer) {
            Ok(0) => Ok(false),
            Ok(bytes) => {
                self.take(&mut buffer, &mut baton).await;
                self.runner.pass(baton, bytes).await;
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
            Err(error) => Err(error),
        };
        // Between reads a connection holds its unfinished line and nothing else.
        let held = self.pace.hold(&self.shared.body_budget, buffer.len());
        match buffer.is_empty() {
            true => *kept = Vec::new(),
            false => kept.extend_from_slice(&buffer),
        }
        self.shared.bytes.give(buffer);
        held.and(outcome)
    }

    /// The server stops: what already came is still stored.
    async fn drain(&mut self, socket: &mut Wire, kept: &mut Vec<u8>) -> io::Result<()> {
        for _ in 0..DRAIN_READS_MAX {
            kept.reserve(READ_BYTES);
            match socket.try_read_buf(kept) {
                Ok(0) => break,
                Ok(_) => self.take(kept, &mut Baton::default()).await,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if !socket.has_more().await {
                        break;
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Decodes and stores the whole lines of `bytes`, and leaves the rest.
    /// The baton is given up where this takes longer than lines do.
    async fn take(&mut self, bytes: &mut Vec<u8>, baton: &mut Baton) {
        let shared = self.shared;
        let mut consumed = 0;
        loop {
            let rest = bytes.get(consumed..).unwrap_or_default();
            consumed += ingest::heavy(shared, rest.len(), || self.take_lines(rest)).await;
            if !std::mem::take(&mut self.has_paused) || !self.is_open {
                break;
            }
            // A read may hold thousands of commands or bad lines: others have their turn.
            baton.give_up();
            tokio::task::yield_now().await;
        }
        if consumed > 0 {
            self.pace.progress();
        }
        bytes.drain(..consumed.min(bytes.len()));
    }

    fn take_lines(&mut self, bytes: &[u8]) -> usize {
        let mut consumed = self.log_in(bytes);
        while consumed < bytes.len() {
            let Some(login) = self.login.take() else { break };
            consumed += self.take_lines_of(&login, bytes.get(consumed..).unwrap_or_default());
            if self.login.is_none() {
                self.login = Some(login);
                break;
            }
            // The client has said that it is somebody else, whose lines follow.
        }
        consumed
    }

    /// Reads the lines of a client that has not said who it is, until it has: any other line fails,
    /// as at OpenTSDB.
    fn log_in(&mut self, bytes: &[u8]) -> usize {
        let mut consumed = 0;
        let (shared, store, peer) = (self.shared, self.store, self.peer);
        if self.login.as_mut().is_some_and(|login| !login.goes_on(shared, store, peer)) {
            self.login = None;
        }
        while self.login.is_none() && self.is_open {
            let rest = bytes.get(consumed..).unwrap_or_default();
            let Some(length) = memchr::memchr(b'\n', rest) else {
                self.is_open = rest.len() <= LOGIN_BYTES_MAX;
                break;
            };
            consumed += length + 1;
            let line = rest.get(..length).unwrap_or_default();
            self.login = self.log_in_by(line);
            self.is_open &= self.login.is_some() || line.trim_ascii() != b"exit";
        }
        if self.is_open { consumed } else { bytes.len() }
    }

    /// Reads a line that says who the client is, and answers it.
    fn log_in_by(&mut self, line: &[u8]) -> Option<Login> {
        let outcome = Login::by_line(self.shared, self.store, line, self.peer);
        let answer = match &outcome {
            Ok(_) => "AUTH_SUCCESS\r\n".to_owned(),
            Err(why) if why.is_empty() => "AUTH_FAIL\r\n".to_owned(),
            Err(why) => format!("AUTH_FAIL {why}\r\n"),
        };
        self.failures += u32::from(outcome.is_err());
        self.is_open = outcome.is_ok() || self.failures < LOGIN_FAILURES_MAX;
        self.reply(|out| out.extend_from_slice(answer.as_bytes()));
        outcome.ok()
    }

    /// Reads the last of these lines, which says who the client is. Whoever may write from its
    /// address, and says nothing that is right, goes on so.
    fn log_in_again(&mut self, lines: &[u8]) {
        let line = lines.trim_ascii_end().rsplit(|byte| *byte == b'\n').next();
        self.login = self.log_in_by(line.unwrap_or_default());
    }

    fn take_lines_of(&mut self, login: &Login, bytes: &[u8]) -> usize {
        let mut consumed = 0;
        let mut rejects: Vec<Reject> = Vec::new();
        let namespace = match self.store.default_namespace() {
            Ok(namespace) => namespace,
            Err(missing) => {
                self.reply_failed(&missing);
                return bytes.len();
            }
        };
        if let Some(speaker) = &mut self.ticktock {
            let (shared, replies) = (self.shared, &mut self.replies);
            let turn = speaker.take(shared, self.store, (namespace, login.scope()), bytes, replies);
            self.last = turn.commit.or(self.last);
            self.has_paused |= turn.has_answered;
            return turn.bytes;
        }
        while let Some(rest) = bytes.get(consumed..).filter(|rest| !rest.is_empty()) {
            let mut decoding = self.shared.batches.take();
            let secret = self.store.engine().key_secret();
            let mut batch = Batch::new(rest, namespace, &KEY_SYNTAX, secret, decoding.buffers);
            let step = self.decode(&mut batch, &mut rejects);
            let (shared, store, scope) = (self.shared, self.store, login.scope());
            let (way, terms) = (Way::Telnet, Terms::of_samples(PATIENCE));
            let stored = ingest::append(shared, store, way, &mut batch, scope, &mut rejects, terms);
            decoding.buffers = batch.into_buffers();
            self.shared.batches.give(decoding);
            let points = self.session.take_rollups();
            let outcome = match (stored, points.is_empty()) {
                (Ok(commit), false) => {
                    let database = &shared.config.listen_database.database;
                    let rolled =
                        rollups::store(shared, store, (database, scope), &points, &mut rejects);
                    rolled.map(|rolled| rolled.or(commit))
                }
                (stored, _) => stored.map_err(Missing::from),
            };
            self.refuse(&mut rejects);
            match outcome {
                Ok(commit) => self.last = commit.or(self.last),
                Err(error) => self.reply_failed(&error),
            }
            consumed += step.consumed;
            match step.command {
                Some(Command::Exit) => {
                    self.is_open = false;
                    return bytes.len();
                }
                Some(Command::Auth) => {
                    self.log_in_again(rest.get(..step.consumed).unwrap_or_default());
                    if !self.is_open {
                        return bytes.len();
                    }
                    if self.login.is_some() {
                        return consumed;
                    }
                }
                Some(command) => {
                    self.answer(command, login);
                    self.has_paused = true;
                    break;
                }
                None => {
                    self.has_paused = step.has_more;
                    break;
                }
            }
        }
        consumed
    }

    fn decode(&mut self, batch: &mut Batch<'_>, rejects: &mut Vec<Reject>) -> Step {
        let step = self.session.decode(batch, rejects);
        point_to_graphite(batch, rejects);
        // What is left comes again, with what follows it.
        batch.own(step.consumed);
        step
    }

    fn answer(&mut self, command: Command, login: &Login) {
        let shared = self.shared;
        // What nobody reads is not made.
        self.reply(|out| {
            let text = match command {
                Command::Stats if !login.may(Need::Operate) => "stats: not authorized\n".to_owned(),
                Command::Stats => stats(shared),
                command => command.reply(&shared.build),
            };
            out.extend_from_slice(text.as_bytes());
        });
    }

    /// Answers bad lines in their order.
    fn refuse(&mut self, rejects: &mut Vec<Reject>) {
        rejects.sort_by_key(|reject| reject.line);
        for reject in rejects.drain(..) {
            self.reply(|out| telnet_reply(&reject, out));
        }
    }

    /// Says that the store could not take what came.
    fn reply_failed(&mut self, error: &Missing) {
        let text = format!("put: storage error: {error}\n");
        self.reply(|out| out.extend_from_slice(text.as_bytes()));
    }

    fn reply(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.replies.push(&self.shared.metrics, write);
    }
}

/// The answer to `stats`: the server's figures as lines of OpenTSDB.
pub(crate) fn stats(shared: &Shared) -> String {
    let mut out = String::new();
    let (now, host) = (now_s(), &shared.build.host);
    shared.visit_figures(&mut |figure| {
        let name = figure.name.replace('_', ".");
        stat_line(&name, now, figure.value as u64, figure.labels, host, &mut out);
    });
    out
}
