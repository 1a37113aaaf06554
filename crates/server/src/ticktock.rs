//! TickTock's ports: text in its dialect, whichever way it came.
//!
//! On these listeners put lines, Influx lines, checkpoints and a few words may follow one another;
//! [`take`] stores them run by run. It is the one way in for connections, requests, datagrams and
//! MQTT messages alike.

use crate::aside::aside;
use crate::ingest::{self, Terms};
use crate::metrics::{Way, now_ns};
use crate::replies::Replies;
use crate::shared::Shared;
use crate::store::Store;
use crate::telnet;
use foliot_access::Measurements;
use foliot_engine::{Commit, Error};
use foliot_model::{Batch, NamespaceId, Reject};
use foliot_proto_influx::{Precision, Settings, TICKTOCK_LINE_SYNTAX};
use foliot_proto_opentsdb::ticktock::{
    RunKind, TICKTOCK_SYNTAX, Word, decode_puts, next_run, read_checkpoint,
};
use foliot_schema::Manner;
use rustix::process::{Signal, getpid, kill_process};
use std::borrow::Cow;
use std::time::Duration;

/// The kind of catalog facts that checkpoints are.
const CHECKPOINT_KIND: &str = "checkpoint";

/// Checkpoints that are remembered; more leaders and channels are refused.
const CHECKPOINTS_MAX: usize = 10_000;

/// The answer to `help`.
const HELP: &str = "available commands: put stats version help diediedie";

/// How text came, and what that means for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a> {
    /// The way, for the counters.
    pub(crate) way: Way,
    /// Whether the last line is whole without its end.
    pub(crate) is_whole: bool,
    /// Whether put lines come without the word.
    pub(crate) is_bare: bool,
    /// How long to wait while the store is overloaded.
    pub(crate) patience: Duration,
    /// The measurements that may be written.
    pub(crate) scope: &'a Measurements,
}

/// What became of text.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// Bytes done with.
    pub(crate) bytes: usize,
    /// Lines, without words and comments.
    pub(crate) rows: u64,
    /// Lines that were refused.
    pub(crate) refused: u64,
    /// What to wait for.
    pub(crate) commit: Option<Commit>,
    /// A word that stopped the taking.
    pub(crate) word: Option<Word>,
    /// Why lines were not stored.
    pub(crate) failure: Option<Error>,
}

/// Stores the whole lines of `text`, up to the first word or failure.
pub(crate) fn take(
    shared: &Shared,
    store: &Store,
    namespace: NamespaceId,
    text: &[u8],
    how: Text<'_>,
) -> Taken {
    let mut taken = Taken::default();
    while taken.word.is_none() && taken.failure.is_none() {
        let rest = text.get(taken.bytes..).unwrap_or_default();
        let Some(run) = next_run(rest, how.is_whole, how.is_bare) else { break };
        let lines = rest.get(..run.bytes).unwrap_or_default();
        taken.bytes += run.bytes;
        match run.kind {
            RunKind::Puts | RunKind::Lines => {
                let before = taken.refused;
                match store_run(shared, store, namespace, run.kind, lines, how, &mut taken) {
                    Ok(commit) => taken.commit = commit.or(taken.commit),
                    Err(error) => {
                        taken.refused = before + u64::from(run.lines);
                        taken.failure = Some(error);
                    }
                }
            }
            RunKind::Checkpoint => match keep_checkpoint(shared, store, lines) {
                Ok(commit) => taken.commit = Some(commit),
                Err(reason) => refuse(shared, how.way, "command", reason, lines, &mut taken),
            },
            RunKind::Word(word) => taken.word = Some(word),
            RunKind::Unknown => {
                let mut texts = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
                for _ in 0..run.lines {
                    let line = texts.next().unwrap_or_default();
                    let reason = match how.way {
                        Way::Mqtt => {
                            "neither a put line nor an Influx line; mqtt.templates says what the \
                             topics of bare values stand for"
                        }
                        _ => "neither a put line nor an Influx line",
                    };
                    let reason = reason.to_owned();
                    refuse(shared, how.way, "line", reason, line, &mut taken);
                }
            }
        }
    }
    taken
}

fn store_run(
    shared: &Shared,
    store: &Store,
    namespace: NamespaceId,
    kind: RunKind,
    lines: &[u8],
    how: Text<'_>,
    taken: &mut Taken,
) -> Result<Option<Commit>, Error> {
    let mut decoding = shared.batches.take();
    let mut rejects: Vec<Reject> = Vec::new();
    let secret = store.engine().key_secret();
    let mut unworded = 0;
    let mut batch = match kind {
        RunKind::Puts => {
            let syntax = &TICKTOCK_SYNTAX;
            let mut batch = Batch::new(lines, namespace, syntax, secret, decoding.buffers);
            decode_puts(&mut batch, &telnet::options(shared), &mut rejects);
            batch
        }
        _ => {
            let syntax = &TICKTOCK_LINE_SYNTAX;
            let mut batch = Batch::new(lines, namespace, syntax, secret, decoding.buffers);
            let settings = Settings {
                precision: Precision::Auto,
                now_ns: now_ns(),
                first_line: 1,
                is_partial: false,
            };
            let decoded = decoding.lines.decode(&mut batch, settings, &mut rejects);
            unworded = decoded.refused.saturating_sub(rejects.len()) as u64;
            batch
        }
    };
    let rows = batch.rows().len() + rejects.len();
    shared.metrics.way(how.way).count_unworded(unworded);
    let Text { way, scope, patience, .. } = how;
    let terms = match kind {
        RunKind::Puts => Terms::of_samples(patience),
        _ => Terms::of_fields(Manner::Loose, patience),
    };
    let outcome = ingest::append(shared, store, way, &mut batch, scope, &mut rejects, terms);
    decoding.buffers = batch.into_buffers();
    shared.batches.give(decoding);
    taken.rows += rows as u64 + unworded;
    taken.refused += rejects.len() as u64 + unworded;
    outcome
}

fn refuse(
    shared: &Shared,
    way: Way,
    field: &'static str,
    reason: String,
    line: &[u8],
    taken: &mut Taken,
) {
    let rejects = [Reject { line: 1, field: Cow::Borrowed(field), reason }];
    // What was typed on a connection may be a password; a message of MQTT holds none.
    let text = matches!(way, Way::Mqtt).then_some(line);
    shared.metrics.way(way).count_rejects(&rejects);
    ingest::log_rejects(shared, way, &rejects, &|_| text);
    taken.rows += 1;
    taken.refused += 1;
}

/// Remembers how far a feeder has come. Whatever it sent before is in the log before this.
fn keep_checkpoint(shared: &Shared, store: &Store, line: &[u8]) -> Result<Commit, String> {
    let (leader, channel, value) = read_checkpoint(line)?;
    let key = format!("{leader}\0{channel}");
    let engine = store.engine();
    if engine.catalog_get(CHECKPOINT_KIND, &key).is_none()
        && engine.catalog_list(CHECKPOINT_KIND).len() >= CHECKPOINTS_MAX
    {
        return Err(format!("there are {CHECKPOINTS_MAX} checkpoints already"));
    }
    let put = || engine.catalog_put(CHECKPOINT_KIND, &key, value.as_bytes());
    let commit = aside(put).map_err(|error| error.to_string())?;
    *shared.last_checkpoint.lock() = Some(commit);
    Ok(commit)
}

/// All checkpoints, or those of one leader: leader, channel, value.
pub(crate) fn checkpoints(store: &Store, leader: Option<&str>) -> Vec<(String, String, String)> {
    let all = store.engine().catalog_list(CHECKPOINT_KIND).into_iter();
    let split = |(key, value): (String, Vec<u8>)| {
        let (leader, channel) = key.split_once('\0')?;
        let value = String::from_utf8(value).ok()?;
        Some((leader.to_owned(), channel.to_owned(), value))
    };
    all.filter_map(split).filter(|(name, ..)| leader.is_none_or(|wanted| wanted == name)).collect()
}

/// What a word is answered with. `may_stop` says that the sender may end the server.
pub(crate) fn answer(shared: &Shared, word: Word, may_stop: bool) -> String {
    match word {
        Word::Version => version_json(shared),
        Word::Stats => stats(shared),
        Word::Help => HELP.to_owned(),
        Word::DoNotForward => String::new(),
        Word::Stop if may_stop => {
            stop();
            String::new()
        }
        Word::Stop => {
            log::warn!("diediedie from somebody who may not is ignored");
            String::new()
        }
    }
}

/// Ends the server in order, as a service manager would.
pub(crate) fn stop() {
    log::info!("asked to stop");
    if let Err(error) = kill_process(getpid(), Signal::TERM) {
        log::error!("cannot stop: {error}");
    }
}

/// TickTock's shape of `/api/version`.
pub(crate) fn version_json(shared: &Shared) -> String {
    let build = &shared.build;
    serde_json::json!({
        "repo": build.repository,
        "version": build.version,
        "branch": build.branch,
        "commit": build.revision,
        "timestamp": build.built_s.to_string(),
    })
    .to_string()
}

/// The server's figures as lines, after a few that TickTock's dashboards know.
pub(crate) fn stats(shared: &Shared) -> String {
    let mut known = Vec::new();
    shared.visit_figures(&mut |figure| {
        let name = match figure.name {
            "foliot_series" => "ticktock.time_series.count",
            "foliot_connections" => "ticktock.connection.count",
            "foliot_store_samples_total" => "ticktock.data_point.count",
            "process_resident_memory_bytes" => "ticktock.memory.rss",
            _ => return,
        };
        known.push((name, figure.value as u64));
    });
    let (now, host) = (crate::metrics::now_s(), &shared.build.host);
    let line = |(name, value)| format!("{name} {now} {value} host={host}\n");
    known.into_iter().map(line).collect::<String>() + &telnet::stats(shared)
}

/// The side of a connection that takes text in this dialect.
#[derive(Debug)]
pub(crate) struct Speaker {
    /// Whether the client may end the server.
    may_stop: bool,
    /// Whether the rest of a line that was too long is being thrown away.
    is_skipping: bool,
}

/// What became of the first lines of a piece.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    /// How many bytes they have.
    pub(crate) bytes: usize,
    /// What to wait for before they are safe.
    pub(crate) commit: Option<Commit>,
    /// Whether the last of them was a command, which was answered; more lines may follow.
    pub(crate) has_answered: bool,
}

impl Speaker {
    pub(crate) fn new(may_stop: bool) -> Self {
        Self { may_stop, is_skipping: false }
    }

    /// Stores the whole lines of `bytes` and answers words; returns how many bytes are done with,
    /// and what to wait for. Bad lines are counted, not answered, as TickTock's clients expect.
    pub(crate) fn take(
        &mut self,
        shared: &Shared,
        store: &Store,
        (namespace, scope): (NamespaceId, &Measurements),
        bytes: &[u8],
        replies: &mut Replies,
    ) -> Turn {
        let mut turn = Turn::default();
        if self.is_skipping {
            let end = memchr::memchr(b'\n', bytes);
            turn.bytes = end.map_or(bytes.len(), |end| end + 1);
            self.is_skipping = end.is_none();
        }
        let how = Text {
            way: Way::TickTock,
            is_whole: false,
            is_bare: false,
            patience: ingest::PATIENCE,
            scope,
        };
        while let Some(rest) = bytes.get(turn.bytes..).filter(|rest| !rest.is_empty()) {
            let taken = take(shared, store, namespace, rest, how);
            turn.bytes += taken.bytes;
            turn.commit = taken.commit.or(turn.commit);
            match taken.word {
                Some(word) => {
                    let answer = || answer(shared, word, self.may_stop);
                    match word {
                        Word::Stop => drop(answer()),
                        // What nobody reads is not made.
                        _ => replies.push(&shared.metrics, |out| out.extend(answer().bytes())),
                    }
                    turn.has_answered = true;
                    return turn;
                }
                None if taken.bytes == 0 => break,
                None => {}
            }
        }
        let rest = bytes.len().saturating_sub(turn.bytes);
        if rest as u64 > shared.config.limits_line_bytes.0 {
            let reason = "the line is longer than limits.line_bytes".to_owned();
            refuse(shared, Way::TickTock, "line", reason, &[], &mut Taken::default());
            self.is_skipping = true;
            turn.bytes = bytes.len();
        }
        turn
    }
}
