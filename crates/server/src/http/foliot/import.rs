//! `import`: lines of a file, a piece at a time: stored, or only looked at.
//!
//! Whoever sends a file cuts it at the ends of lines, so that it can tell how far it is and stop
//! in between. What a dry run finds good may still be refused for what only the store knows: that
//! it is too old to be kept, or one series too many.

mod found;
mod taken;

use super::{bad, refuse, store};
use crate::http::routes::Right;
use crate::http::{Call, Reply, body, namespace, status_of_missing, status_of_wait};
use crate::ingest;
use crate::jobs::{Job, JobState};
use crate::rejects::shortened;
use crate::shared::Shared;
use foliot_model::KeySyntax;
use foliot_proto_influx::Precision;
use foliot_proto_opentsdb::Params;
use foliot_schema::Manner;
use hyper::StatusCode;
use serde_json::{Value, json};
use taken::Taking;

/// The language of the lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    /// Influx lines.
    Influx,
    /// Lines of Foliot's own, in which names and numbers may be anything: what an answer tells of
    /// samples is stored again as it was.
    Exact,
    /// OpenTSDB's, with or without `put`.
    OpenTsdb,
    /// The text in which targets of Prometheus expose their metrics.
    Prometheus,
}

impl Format {
    fn syntax(self) -> &'static KeySyntax {
        match self {
            Self::Influx => &foliot_proto_influx::LINE_SYNTAX,
            Self::Exact => &foliot_proto_influx::EXACT_LINE_SYNTAX,
            Self::OpenTsdb => &foliot_proto_opentsdb::KEY_SYNTAX,
            Self::Prometheus => &foliot_proto_prometheus::KEY_SYNTAX,
        }
    }

    /// How fields take their kinds, where they have any.
    fn manner(self) -> Option<Manner> {
        match self {
            Self::Influx => Some(Manner::Strict),
            Self::Exact => Some(Manner::Kept),
            Self::OpenTsdb | Self::Prometheus => None,
        }
    }
}

/// Numbers of lines have 32 bits, also those of the last line of a body behind it.
const FIRST_LINE_MAX: u32 = 4_000_000_000;

/// What a request asks.
struct Asked {
    format: Format,
    precision: Precision,
    /// Number of the first line within the file.
    first_line: u32,
    is_preview: bool,
    /// Which piece of a file this is, if that was told.
    piece: Option<Piece>,
}

/// A piece of a file that is brought in as one job.
struct Piece {
    /// The number that the piece before was answered with.
    job: Option<u64>,
    /// What the file is called.
    file: String,
    /// Bytes of the file up to the end of the piece, and all of them.
    bytes: (u64, u64),
}

pub(super) async fn answer(shared: &Shared, call: Call) -> Result<Reply, Reply> {
    let params = Params::parse(&call.query);
    let asked = Asked::parse(&params)?;
    let Some(piece) = &asked.piece else {
        let found = bring(shared, call, &asked).await?;
        return Ok(Reply::json(StatusCode::OK, found.to_string()));
    };
    let id = piece.begin(shared, &call, asked.is_preview)?;
    match bring(shared, call, &asked).await {
        Ok(mut found) => {
            piece.end(shared, id, &found);
            if let Some(found) = found.as_object_mut() {
                found.insert("job".to_owned(), json!(id));
            }
            Ok(Reply::json(StatusCode::OK, found.to_string()))
        }
        Err(refusal) => {
            let said = format!("a piece was answered with {}", refusal.status);
            shared.jobs.end(id, JobState::Failed, said);
            Err(refusal)
        }
    }
}

impl Piece {
    fn parse(params: &Params) -> Result<Option<Self>, Reply> {
        let number = |name: &str| match params.get(name).map(str::parse::<u64>) {
            None => Ok(None),
            Some(Ok(number)) => Ok(Some(number)),
            Some(Err(_)) => Err(bad(&format!("{name}: must be a whole number"))),
        };
        let (job, done, total) = (number("job")?, number("done_bytes")?, number("total_bytes")?);
        let bytes = match (done, total) {
            (None, None) if job.is_none() => return Ok(None),
            (Some(done), Some(total)) if done <= total => (done, total),
            _ => {
                let text = "done_bytes, total_bytes: a piece of a file says both, and the first is \
                            not above the second";
                return Err(bad(text));
            }
        };
        let file = shortened(params.get("file").unwrap_or_default());
        Ok(Some(Self { job, file, bytes }))
    }

    /// The number of the job that the piece belongs to, which begins with its first one; unless
    /// somebody has ended it.
    fn begin(&self, shared: &Shared, call: &Call, is_preview: bool) -> Result<u64, Reply> {
        let state = self.job.map(|id| (id, shared.jobs.hear(id, &self.file, &call.who)));
        match state {
            Some((id, Some(JobState::Running))) => Ok(id),
            Some((id, Some(JobState::Cancelled))) => {
                let text = format!("job {id} was cancelled: nothing of this piece is stored");
                Err(refuse(StatusCode::CONFLICT, &text).close())
            }
            // It began before a restart, or so many others have that it is not listed any more.
            _ => {
                let id = shared.queries.number();
                let kind = if is_preview { "dry run" } else { "import" };
                let job = Job::new(id, kind, self.file.clone(), call.who.clone());
                shared.jobs.begin(job.in_pieces(call.database(shared), self.bytes.1));
                Ok(id)
            }
        }
    }

    /// Notes what became of the piece.
    fn end(&self, shared: &Shared, id: u64, found: &Value) {
        let count = |name: &str| found.get(name).and_then(Value::as_u64).unwrap_or(0);
        let (done, total) = self.bytes;
        shared.jobs.note(id, |job| {
            job.bytes = Some(self.bytes);
            job.count(count("rows"), count("refused"));
        });
        if done == total {
            shared.jobs.finish(id);
        }
    }
}

/// Reads a piece, stores it if that is wanted, and waits until it is safe.
async fn bring(shared: &Shared, call: Call, asked: &Asked) -> Result<Value, Reply> {
    let store = store(shared)?;
    let right = if asked.is_preview { Right::Read } else { Right::Write };
    let namespace = namespace(shared, store, &call.query, &call.headers, right)
        .map_err(|missing| refuse(status_of_missing(&missing), &missing.to_string()))?;
    let scope = call.write_scope(shared);
    let text = body::read(shared, &call.headers, call.body, shared.bytes.take()).await?;
    // Of a file in pieces one may be all comments.
    let is_whole = asked.piece.as_ref().is_none_or(|piece| piece.bytes.1 == 0);
    if is_whole && text.bytes.trim_ascii().is_empty() {
        return Err(bad("the file is empty: there are no lines in it"));
    }
    let work = || Taking::new(shared, store, (namespace, &scope), asked).all(&text.bytes);
    let (found, commit) = ingest::heavy(shared, text.bytes.len(), work).await?;
    shared.bytes.give(text.into_bytes());
    if let Some(commit) = commit {
        let waited = store.wait(commit, shared.config.wal_ack).await;
        waited.map_err(|error| refuse(status_of_wait(&error), &error.to_string()))?;
    }
    Ok(found)
}

impl Asked {
    fn parse(params: &Params) -> Result<Self, Reply> {
        let format = match params.get("format").unwrap_or_default() {
            "influx" => Format::Influx,
            "exact" => Format::Exact,
            "opentsdb" => Format::OpenTsdb,
            "prometheus" => Format::Prometheus,
            _ => return Err(bad("format: must be influx, exact, opentsdb or prometheus")),
        };
        let precision = match params.get("precision").unwrap_or("ns") {
            "ns" => Precision::Nanosecond,
            "us" => Precision::Microsecond,
            "ms" => Precision::Millisecond,
            "s" => Precision::Second,
            _ => return Err(bad("precision: must be ns, us, ms or s")),
        };
        let first_line = match params.get("first_line").map(str::parse::<u32>) {
            None => 1,
            Some(Ok(line @ 1..=FIRST_LINE_MAX)) => line,
            Some(_) => {
                let reason = format!("first_line: must be a number from 1 to {FIRST_LINE_MAX}");
                return Err(bad(&reason));
            }
        };
        let is_preview = crate::http::is_preview(params, &[]).map_err(|reason| bad(&reason))?;
        let piece = Piece::parse(params)?;
        Ok(Self { format, precision, first_line, is_preview, piece })
    }
}
