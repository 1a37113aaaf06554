//! Telnet connections: OpenTSDB's commands, one a line.
//!
//! Whatever the client sends is read in large pieces and decoded where it lies. Replies are written
//! when the client reads them; one that does not read is never waited for (TCollector never does).

use crate::databases::Missing;
use crate::ingest::{self, PATIENCE};
use crate::metrics::{Way, now_s};
use crate::replies::Replies;
use crate::rollups;
use crate::shared::Shared;
use crate::store::Store;
use crate::ticktock::Speaker;
use foliot_engine::{Ack, Commit};
use foliot_model::{Batch, Reject};
use foliot_proto_opentsdb::{Command, KEY_SYNTAX, Options, Session, stat_line, telnet_reply};
use std::io;
use tokio::io::Interest;
use tokio::net::TcpStream;

/// Room for one read. Large, so that a busy sender costs few calls; an idle connection holds none.
pub(crate) const READ_BYTES: usize = 256 << 10;

/// Reads of each connection once the server stops: more than the system holds for one, unless the
/// client goes on sending, and that must end.
pub(crate) const DRAIN_READS_MAX: usize = 64;

/// Serves a connection whose first bytes were read while sniffing.
pub(crate) async fn serve(shared: &Shared, socket: TcpStream, first: Vec<u8>) {
    serve_as(shared, socket, first, None).await;
}

/// Serves a connection in TickTock's dialect.
pub(crate) async fn serve_ticktock(shared: &Shared, socket: TcpStream, first: Vec<u8>) {
    let is_local = socket.peer_addr().is_ok_and(|peer| peer.ip().is_loopback());
    serve_as(shared, socket, first, Some(Speaker::new(is_local))).await;
}

async fn serve_as(
    shared: &Shared,
    mut socket: TcpStream,
    first: Vec<u8>,
    ticktock: Option<Speaker>,
) {
    let Some(store) = shared.wait_for_store().await else { return };
    let mut connection = Connection {
        shared,
        store,
        session: Session::new(options(shared)),
        ticktock,
        replies: Replies::default(),
        last: None,
        is_open: true,
    };
    let mut kept = first;
    if let Err(error) = connection.run(&mut socket, &mut kept).await {
        log::debug!("telnet connection ended: {error}");
    }
    // A last line without its end is a line all the same.
    if connection.is_open && !kept.is_empty() {
        kept.push(b'\n');
        connection.take(&mut kept);
    }
    connection.replies.flush(&socket);
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
    session: Session,
    /// There when the client speaks TickTock's dialect.
    ticktock: Option<Speaker>,
    replies: Replies,
    /// What the last piece wrote. The next one waits until the operating system has it, so that a
    /// slow disk slows the sender down instead of filling memory.
    last: Option<Commit>,
    is_open: bool,
}

impl Connection<'_> {
    async fn run(&mut self, socket: &mut TcpStream, kept: &mut Vec<u8>) -> io::Result<()> {
        if !kept.is_empty() {
            self.take(kept);
        }
        while self.is_open {
            self.replies.flush(socket);
            let interest = match self.replies.is_empty() {
                true => Interest::READABLE,
                false => Interest::READABLE | Interest::WRITABLE,
            };
            let ready = tokio::select! {
                ready = socket.ready(interest) => ready?,
                () = self.shared.stopping() => return self.drain(socket, kept),
            };
            if ready.is_readable() && !self.read(socket, kept).await? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Reads and stores one piece; false when the client has ended.
    async fn read(&mut self, socket: &mut TcpStream, kept: &mut Vec<u8>) -> io::Result<bool> {
        if let Some(commit) = self.last.take() {
            // An error is counted by the write that meets it; here it only ends the wait.
            let _ = self.store.wait(commit, Ack::Os).await;
        }
        let mut buffer = self.shared.bytes.take();
        buffer.append(kept);
        buffer.reserve(READ_BYTES);
        let outcome = match socket.try_read_buf(&mut buffer) {
            Ok(0) => Ok(false),
            Ok(_) => {
                self.take(&mut buffer);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
            Err(error) => Err(error),
        };
        // Between reads a connection holds its unfinished line and nothing else.
        match buffer.is_empty() {
            true => *kept = Vec::new(),
            false => kept.extend_from_slice(&buffer),
        }
        self.shared.bytes.give(buffer);
        outcome
    }

    /// The server stops: what already came is still stored.
    fn drain(&mut self, socket: &mut TcpStream, kept: &mut Vec<u8>) -> io::Result<()> {
        for _ in 0..DRAIN_READS_MAX {
            kept.reserve(READ_BYTES);
            match socket.try_read_buf(kept) {
                Ok(0) => break,
                Ok(_) => self.take(kept),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Decodes and stores the whole lines of `bytes`, and leaves the rest.
    fn take(&mut self, bytes: &mut Vec<u8>) {
        let consumed = ingest::heavy(bytes.len(), || self.take_lines(bytes));
        bytes.drain(..consumed.min(bytes.len()));
    }

    fn take_lines(&mut self, bytes: &[u8]) -> usize {
        let mut consumed = 0;
        let mut rejects: Vec<Reject> = Vec::new();
        let namespace = match self.store.default_namespace() {
            Ok(namespace) => namespace,
            Err(missing) => {
                let text = format!("put: storage error: {missing}\n");
                self.reply(|out| out.extend_from_slice(text.as_bytes()));
                return bytes.len();
            }
        };
        if let Some(speaker) = &mut self.ticktock {
            let (shared, replies) = (self.shared, &mut self.replies);
            let (done, commit) = speaker.take(shared, self.store, namespace, bytes, replies);
            self.last = commit.or(self.last);
            return done;
        }
        while let Some(rest) = bytes.get(consumed..).filter(|rest| !rest.is_empty()) {
            let mut decoding = self.shared.batches.take();
            let secret = self.store.engine().key_secret();
            let mut batch = Batch::new(rest, namespace, &KEY_SYNTAX, secret, decoding.buffers);
            let step = self.session.decode(&mut batch, &mut rejects);
            let (shared, store) = (self.shared, self.store);
            let outcome =
                ingest::append(shared, store, Way::Telnet, &batch, &mut rejects, PATIENCE);
            decoding.buffers = batch.into_buffers();
            self.shared.batches.give(decoding, rest.len());
            let points = self.session.take_rollups();
            let outcome = match (outcome, points.is_empty()) {
                (Ok(commit), false) => {
                    let database = &shared.config.listen_database.database;
                    let rolled = rollups::store(shared, store, database, &points, &mut rejects);
                    rolled.map(|rolled| rolled.or(commit))
                }
                (outcome, _) => outcome.map_err(Missing::from),
            };
            rejects.sort_by_key(|reject| reject.line);
            for reject in rejects.drain(..) {
                self.reply(|out| telnet_reply(&reject, out));
            }
            match outcome {
                Ok(commit) => self.last = commit.or(self.last),
                Err(error) => {
                    self.reply(|out| {
                        out.extend_from_slice(format!("put: storage error: {error}\n").as_bytes());
                    });
                }
            }
            consumed += step.consumed;
            match step.command {
                Some(Command::Exit) => {
                    self.is_open = false;
                    return bytes.len();
                }
                Some(command) => self.answer(command),
                None => break,
            }
        }
        consumed
    }

    fn answer(&mut self, command: Command) {
        let text = match command {
            Command::Stats => stats(self.shared),
            command => command.reply(&self.shared.build),
        };
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
