//! `import`: lines of a file, a piece at a time: stored, or only looked at.
//!
//! Whoever sends a file cuts it at the ends of lines, so that it can tell how far it is and stop
//! in between. What a dry run finds good may still be refused for what only the store knows: that
//! it is too old to be kept, or one series too many.

use super::catalogue::{kind_name, metric};
use super::{bad, refuse, store};
use crate::http::routes::Right;
use crate::http::{Call, Reply, body, namespace, status_of, status_of_missing, status_of_wait};
use crate::ingest::{self, Terms};
use crate::jobs::{Job, JobState};
use crate::metrics::{Way, now_ns};
use crate::rejects::shortened;
use crate::shared::Shared;
use crate::store::Store;
use foliot_access::Measurements;
use foliot_engine::Commit;
use foliot_model::{
    Batch, Cell, KeyError, KeyParts, KeySyntax, NANOS_PER_MILLI, NamespaceId, Reject,
};
use foliot_proto_influx::{Precision, Settings};
use foliot_proto_opentsdb::Params;
use foliot_proto_prometheus::described;
use foliot_schema::{JudgedKinds, Manner};
use hyper::StatusCode;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Faults that one answer words; all are counted.
const FAULTS_MAX: usize = 100;

/// Metrics, and labels, that a dry run lists.
const NAMES_MAX: usize = 100;

/// The language of the lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    /// Influx lines.
    Influx,
    /// OpenTSDB's, with or without `put`.
    OpenTsdb,
    /// The text in which targets of Prometheus expose their metrics.
    Prometheus,
}

impl Format {
    fn syntax(self) -> &'static KeySyntax {
        match self {
            Self::Influx => &foliot_proto_influx::LINE_SYNTAX,
            Self::OpenTsdb => &foliot_proto_opentsdb::KEY_SYNTAX,
            Self::Prometheus => &foliot_proto_prometheus::KEY_SYNTAX,
        }
    }

    fn way(self) -> Way {
        match self {
            Self::Influx => Way::InfluxHttp,
            Self::OpenTsdb => Way::Telnet,
            Self::Prometheus => Way::Exposition,
        }
    }
}

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
        let state = self.job.map(|id| (id, shared.jobs.hear(id, &call.who)));
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
    let work = || take(shared, store, (namespace, &scope), asked, &text.bytes);
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
            "opentsdb" => Format::OpenTsdb,
            "prometheus" => Format::Prometheus,
            _ => return Err(bad("format: must be influx, opentsdb or prometheus")),
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
            Some(Ok(line)) if line > 0 => line,
            Some(_) => return Err(bad("first_line: must be a number from 1")),
        };
        let is_preview = crate::http::is_preview(params, &[]).map_err(|reason| bad(&reason))?;
        let piece = Piece::parse(params)?;
        Ok(Self { format, precision, first_line, is_preview, piece })
    }
}

/// Reads a piece and stores it, if that is wanted.
fn take(
    shared: &Shared,
    store: &Store,
    (namespace, scope): (NamespaceId, &Measurements),
    asked: &Asked,
    bytes: &[u8],
) -> Result<(Value, Option<Commit>), Reply> {
    let engine = store.engine();
    let mut decoding = shared.batches.take();
    let mut rejects: Vec<Reject> = Vec::new();
    let syntax = asked.format.syntax();
    let mut batch = Batch::new(bytes, namespace, syntax, engine.key_secret(), decoding.buffers);
    let mut refused = 0;
    match asked.format {
        Format::Influx => {
            let (precision, first_line) = (asked.precision, asked.first_line);
            let settings =
                Settings { precision, first_line, now_ns: now_ns(), ..Settings::default() };
            let decoded = decoding.lines.decode(&mut batch, settings, &mut rejects);
            refused = decoded.refused.saturating_sub(rejects.len());
        }
        Format::OpenTsdb => {
            let options = crate::telnet::options(shared);
            foliot_proto_opentsdb::decode_datagram(&mut batch, &options, &mut rejects);
        }
        Format::Prometheus => {
            use foliot_proto_prometheus::{Exemplars, Format as Exposed, Group, TextLines};
            let now_ms = now_ns() / NANOS_PER_MILLI;
            let (format, group) = (Exposed::Text, Group::default());
            let mut lines = TextLines::new(bytes, format, now_ms, &group);
            lines.decode_whole(&mut batch, (&mut rejects, &mut Exemplars::default()));
        }
    }
    let rows = batch.rows().len();
    let decoded = rejects.len();
    let samples;
    let (mut commit, mut found) = (None, None);
    if asked.is_preview {
        ingest::keep_to(scope, &mut batch, &mut rejects);
        judge(store, asked.format, &mut batch, &mut rejects)?;
        let seen = Found::of(&batch, &mut rejects);
        samples = seen.samples;
        found = Some(seen.show());
    } else {
        let (way, patience) = (asked.format.way(), Duration::from_secs(2));
        let terms = match asked.format {
            Format::Influx => Terms::of_fields(Manner::Strict, patience),
            _ => Terms::of_samples(patience),
        };
        let outcome = ingest::append(shared, store, way, &mut batch, scope, &mut rejects, terms);
        commit = outcome.map_err(|error| refuse(status_of(&error), &error.to_string()))?;
        samples = stored_samples(&batch, rejects.get(decoded..).unwrap_or_default());
        if asked.format == Format::Prometheus {
            let known = &shared.monitor.described;
            let said = described(bytes, foliot_proto_prometheus::Format::Text);
            said.for_each(|said| known.hear((namespace, scope), said));
        }
    }
    let dropped = rejects.len() - decoded;
    let answer = json!({
        "rows": rows.saturating_sub(dropped),
        "samples": samples,
        "refused": refused + rejects.len(),
        "faults": faults(&batch, asked, &rejects),
        "found": found,
    });
    decoding.buffers = batch.into_buffers();
    shared.batches.give(decoding, bytes.len());
    Ok((answer, commit))
}

/// Takes rows out whose fields are of another kind in the store, or on the lines before: put lines
/// keep a kind for each sample.
fn judge(
    store: &Store,
    format: Format,
    batch: &mut Batch<'_>,
    rejects: &mut Vec<Reject>,
) -> Result<(), Reply> {
    let judged = match format {
        Format::Influx => JudgedKinds::default().check_for(store.engine(), batch, rejects),
        _ => Ok(()),
    };
    judged.map_err(|error| refuse(status_of(&error), &error.to_string()))
}

/// Samples of the rows that were not refused after they were decoded.
fn stored_samples(batch: &Batch<'_>, refused: &[Reject]) -> usize {
    let lines: BTreeSet<u32> = refused.iter().map(|reject| reject.line).collect();
    let rows = batch.rows().iter().filter(|row| !lines.contains(&row.line));
    rows.filter_map(|row| batch.shape(row.shape)).map(|shape| shape.fields_count as usize).sum()
}

fn faults(batch: &Batch<'_>, asked: &Asked, rejects: &[Reject]) -> Value {
    let mut sorted: Vec<&Reject> = rejects.iter().collect();
    sorted.sort_by_key(|reject| reject.line);
    // Only Influx lines are numbered over the whole file by their decoder.
    let behind = if asked.format == Format::Influx { 0 } else { asked.first_line - 1 };
    let fault = |reject: &&Reject| {
        let text = String::from_utf8_lossy(batch.line(reject.line).unwrap_or_default());
        json!({
            "line": reject.line.saturating_add(behind),
            "field": shortened(&reject.field),
            "message": shortened(&reject.reason),
            "text": shortened(&text),
        })
    };
    sorted.iter().take(FAULTS_MAX).map(fault).collect()
}

/// What a dry run sees.
#[derive(Default)]
struct Found {
    /// Metrics with their kinds and how many samples they have.
    metrics: BTreeMap<String, (&'static str, u64)>,
    labels: BTreeSet<String>,
    /// Samples of the rows that are good.
    samples: usize,
    start_ns: Option<i64>,
    end_ns: Option<i64>,
    /// Metrics and labels there are more.
    more: u64,
}

impl Found {
    fn of(batch: &Batch<'_>, rejects: &mut Vec<Reject>) -> Self {
        let mut found = Self::default();
        let mut parts = KeyParts::default();
        let mut field = Vec::new();
        for row in batch.rows() {
            parts.clear();
            let (head, tail) = (batch.slice(row.key_head), batch.slice(row.key_tail));
            let read = (batch.syntax().parse)(head, tail, &mut parts);
            if let Err(KeyError { field, reason }) = read.and_then(|()| parts.canonicalize()) {
                rejects.push(Reject { line: row.line, field: field.into(), reason });
                continue;
            }
            let measurement = String::from_utf8_lossy(parts.measurement()).into_owned();
            let Some(shape) = batch.shape(row.shape) else { continue };
            let cells = batch.cells(row, shape.fields_count);
            for (span, cell) in batch.fields(shape).iter().zip(cells) {
                field.clear();
                if (batch.syntax().parse_field)(batch.slice(*span), &mut field).is_err() {
                    continue;
                }
                let name = String::from_utf8_lossy(&field);
                found.samples += 1;
                found.sample(metric(&measurement, &name), cell, row.time_ns);
            }
            for (name, _) in parts.labels() {
                found.label(&String::from_utf8_lossy(name));
            }
        }
        found
    }

    fn label(&mut self, name: &str) {
        if !self.labels.contains(name) {
            match self.labels.len() < NAMES_MAX {
                true => drop(self.labels.insert(name.to_owned())),
                false => self.more += 1,
            }
        }
    }

    fn sample(&mut self, metric: String, cell: &Cell, time_ns: i64) {
        self.start_ns = Some(self.start_ns.map_or(time_ns, |start| start.min(time_ns)));
        self.end_ns = Some(self.end_ns.map_or(time_ns, |end| end.max(time_ns)));
        let is_full = self.metrics.len() >= NAMES_MAX;
        let kind = kind_name(cell.kind);
        match self.metrics.get_mut(&metric) {
            Some((known, count)) => {
                *count += 1;
                if *known != kind {
                    *known = "mixed";
                }
            }
            None if is_full => self.more += 1,
            None => drop(self.metrics.insert(metric, (kind, 1))),
        }
    }

    fn show(&self) -> Value {
        let metrics = self
            .metrics
            .iter()
            .map(|(name, (kind, samples))| json!({"name": name, "kind": kind, "samples": samples}));
        let millis = |ns: Option<i64>| ns.map(|ns| ns.div_euclid(NANOS_PER_MILLI));
        json!({
            "metrics": metrics.collect::<Vec<_>>(),
            "labels": self.labels,
            "start_ms": millis(self.start_ns),
            "end_ms": millis(self.end_ns),
            "is_whole": self.more == 0,
        })
    }
}
