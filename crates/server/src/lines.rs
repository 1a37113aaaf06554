//! Plain connections that carry lines: into `listen.database`. Times of Influx lines are in
//! nanoseconds, milliseconds or seconds as their size tells, and bad ones are answered with a line
//! of words. Graphite's senders hear nothing, as they do from its own daemon.

use crate::ingest::{self, PATIENCE, Terms};
use crate::login;
use crate::metrics::{Way, now_ns};
use crate::pace::Pace;
use crate::relay::Runner;
use crate::replies::Replies;
use crate::shared::Shared;
use crate::store::Store;
use crate::telnet::{DRAIN_READS_MAX, READ_BYTES};
use crate::wire::Wire;
use foliot_access::Measurements;
use foliot_engine::{Ack, Commit};
use foliot_model::{Batch, KeySyntax, NANOS_PER_MILLI, Reject};
use foliot_proto_influx::{Decoded, LINE_SYNTAX, Precision, Session};
use foliot_proto_prometheus::{
    GraphiteRead, KEY_SYNTAX, PICKLE_BYTES_MAX, decode_graphite, decode_pickle, is_graphite,
};
use foliot_schema::Manner;
use std::io;
use tokio::io::Interest;

/// What lines are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// InfluxDB's line protocol.
    Influx,
    /// Graphite's plain text.
    Graphite,
    /// Graphite's pickle, whose messages are numbered as lines are.
    Pickle,
}

impl Language {
    fn way(self) -> Way {
        match self {
            Self::Influx => Way::InfluxLines,
            Self::Graphite | Self::Pickle => Way::Graphite,
        }
    }

    fn syntax(self) -> &'static KeySyntax {
        match self {
            Self::Influx => &LINE_SYNTAX,
            Self::Graphite | Self::Pickle => &KEY_SYNTAX,
        }
    }

    /// Bytes of a line or message.
    fn bytes_max(self, shared: &Shared) -> usize {
        match self {
            Self::Pickle => PICKLE_BYTES_MAX + size_of::<u32>(),
            _ => usize::try_from(shared.config.limits_line_bytes.0).unwrap_or(usize::MAX),
        }
    }
}

/// Serves a connection whose first bytes were read while sniffing.
pub(crate) async fn serve(shared: &Shared, mut socket: Wire, first: Vec<u8>, language: Language) {
    let Some(store) = shared.wait_for_store().await else { return };
    // These connections have no words for credentials.
    if login::by_address(shared, socket.peer_addr().ok()).is_err() {
        return refuse(shared, &mut socket, &first, language);
    }
    let mut connection = Connection {
        shared,
        store,
        language,
        session: Session::new(language.bytes_max(shared)),
        replies: Replies::default(),
        last: None,
        pace: Pace::new(shared),
        runner: Runner::default(),
        is_broken: false,
    };
    ingest::wait_for_room(shared, store).await;
    connection.take(&first).await;
    drop(first);
    if let Err(error) = connection.run(&mut socket).await {
        log::debug!("line connection ended: {error}");
    }
    if let Some(reject) = connection.session.finish() {
        let text = format!("line {}: {}\n", reject.line, reject.reason);
        shared.metrics.way(language.way()).count_rejects(&[reject]);
        connection.reply(&text);
    }
    connection.replies.flush(&mut socket);
}

/// Ends a connection of an address that may not write. Its lines that came are counted.
fn refuse(shared: &Shared, socket: &mut Wire, first: &[u8], language: Language) {
    shared.metrics.connections_refused.add(1);
    let rows = first.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    shared.metrics.way(language.way()).count_unworded(rows.count() as u64);
    let _ = socket.try_write(b"plain lines are not taken from this address\n");
    let way = language.way().name();
    if let Some(silent) = shared.failures_log.admit(way, "address") {
        let from = socket.peer_addr().map_or_else(|_| "?".to_owned(), |peer| peer.ip().to_string());
        log::warn!(
            "lines by {way} from {from} are not taken: access.write_from does not name that \
             address ({silent} more kept silent)"
        );
    }
}

/// Says of the first line that was refused what is wrong, if it is one of Graphite's: those have a
/// port of their own.
pub(crate) fn point_to_graphite(batch: &Batch<'_>, rejects: &mut [Reject]) {
    let Some(first) = rejects.iter_mut().min_by_key(|reject| reject.line) else { return };
    if batch.line(first.line).is_some_and(is_graphite) {
        first.reason.push_str("  Graphite's plain text has a port of its own: listen.graphite");
    }
}

struct Connection<'a> {
    shared: &'a Shared,
    store: &'a Store,
    language: Language,
    session: Session,
    replies: Replies,
    /// See the telnet connection: the next piece waits until the operating system has this one.
    last: Option<Commit>,
    pace: Pace,
    runner: Runner,
    /// Whether nothing that follows can be read.
    is_broken: bool,
}

impl Connection<'_> {
    async fn run(&mut self, socket: &mut Wire) -> io::Result<()> {
        while !self.is_broken {
            self.replies.flush(socket);
            let interest = match self.replies.is_empty() {
                true => Interest::READABLE,
                false => Interest::READABLE | Interest::WRITABLE,
            };
            let unfinished = self.session.bytes().len();
            let ready = tokio::select! {
                ready = self.pace.within(unfinished, socket.ready(interest)) => ready??,
                () = self.shared.stopping() => return self.drain(socket).await,
            };
            if !ready.is_readable {
                continue;
            }
            if let Some(commit) = self.last.take() {
                // An error is counted by the write that meets it; here it only ends the wait.
                let _ = self.store.wait(commit, Ack::Os).await;
            }
            ingest::wait_for_room(self.shared, self.store).await;
            if !self.read(socket).await? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Reads and stores one piece; false when the client has ended.
    async fn read(&mut self, socket: &mut Wire) -> io::Result<bool> {
        let baton = self.runner.baton().await;
        let mut buffer = self.shared.bytes.take();
        buffer.reserve(READ_BYTES);
        let outcome = match socket.try_read_buf(&mut buffer) {
            Ok(0) => Ok(false),
            Ok(bytes) => {
                self.take(&buffer).await;
                self.runner.pass(baton, bytes).await;
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
            Err(error) => Err(error),
        };
        self.shared.bytes.give(buffer);
        self.pace.hold(&self.shared.body_budget, self.session.bytes().len()).and(outcome)
    }

    /// The server stops: what already came is still stored.
    async fn drain(&mut self, socket: &mut Wire) -> io::Result<()> {
        let mut buffer = Vec::with_capacity(READ_BYTES);
        for _ in 0..DRAIN_READS_MAX {
            buffer.clear();
            match socket.try_read_buf(&mut buffer) {
                Ok(0) => break,
                Ok(_) => self.take(&buffer).await,
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

    /// Decodes and stores what came, with what was left of the piece before.
    async fn take(&mut self, received: &[u8]) {
        self.session.push(received);
        let bytes = self.session.bytes().len();
        if bytes > 0 {
            ingest::heavy(self.shared, bytes, || self.take_lines()).await;
        }
    }

    fn take_lines(&mut self) {
        let namespace = match self.store.default_namespace() {
            Ok(namespace) => namespace,
            Err(missing) => {
                self.session.discard();
                return self.reply(&format!("storage error: {missing}\n"));
            }
        };
        let mut decoding = self.shared.batches.take();
        let mut rejects: Vec<Reject> = Vec::new();
        let settings = self.session.settings(Precision::Auto, now_ns());
        let bytes = self.session.bytes();
        let secret = self.store.engine().key_secret();
        let (language, way) = (self.language, self.language.way());
        let mut batch = Batch::new(bytes, namespace, language.syntax(), secret, decoding.buffers);
        let decoded = match language {
            Language::Influx => {
                let decoded = decoding.lines.decode(&mut batch, settings, &mut rejects);
                point_to_graphite(&batch, &mut rejects);
                decoded
            }
            Language::Graphite | Language::Pickle => {
                let (now_ms, first) = (settings.now_ns / NANOS_PER_MILLI, settings.first_line);
                let read = match language {
                    Language::Pickle => decode_pickle(&mut batch, first, now_ms, &mut rejects),
                    _ => decode_graphite(&mut batch, first, now_ms, &mut rejects),
                };
                self.is_broken = read.is_broken;
                let GraphiteRead { bytes, next_line, refused, .. } = read;
                Decoded { bytes, next_line, refused }
            }
        };
        // What is left comes again, with what follows it.
        batch.own(decoded.bytes);
        let unworded = decoded.refused.saturating_sub(rejects.len()) as u64;
        self.shared.metrics.way(way).count_unworded(unworded);
        let (shared, store) = (self.shared, self.store);
        let terms = match language {
            Language::Influx => Terms::of_fields(Manner::Strict, PATIENCE),
            // They have one field, which is a number to everybody.
            Language::Graphite | Language::Pickle => Terms::of_samples(PATIENCE),
        };
        let scope = &Measurements::All;
        let outcome = ingest::append(shared, store, way, &mut batch, scope, &mut rejects, terms);
        decoding.buffers = batch.into_buffers();
        self.shared.batches.give(decoding);
        let counted = rejects.len();
        if decoded.bytes > 0 {
            self.pace.progress();
        }
        self.session.advance(decoded, &mut rejects);
        if self.is_broken {
            self.session.discard();
        }
        let too_long = rejects.get(counted..).unwrap_or_default();
        self.shared.metrics.way(way).count_rejects(too_long);
        for reject in &rejects {
            let text = format!("line {}: {}\n", reject.line, reject.reason);
            self.reply(&text);
        }
        match outcome {
            Ok(commit) => self.last = commit.or(self.last),
            Err(error) => self.reply(&format!("storage error: {error}\n")),
        }
    }

    fn reply(&mut self, text: &str) {
        if matches!(self.language, Language::Graphite | Language::Pickle) {
            return log::debug!("from Graphite: {}", text.trim_end());
        }
        let metrics = &self.shared.metrics;
        self.replies.push(metrics, |out| out.extend_from_slice(text.as_bytes()));
    }
}
