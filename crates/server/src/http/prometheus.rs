//! The Prometheus door over HTTP: remote write and text here, and what is asked beside it.

mod ask;
mod datadog;
mod delete;
mod exemplars;
mod export;
mod federate;
mod lifecycle;
mod monitor;
mod otlp;
mod question;
mod read;
mod status;
mod victoriametrics;

pub(in crate::http) use ask::{LOOKBACK_MS, POINTS_MAX};
pub(in crate::http) use lifecycle::page;
pub(in crate::http) use victoriametrics::lacking;

use super::routes::{PUSH, Right};
use super::{
    Call, Reply, ack, body, namespace, status_of, status_of_missing, status_of_wait, store,
};
use crate::budget::Held;
use crate::ingest::{self, Terms};
use crate::limits::Limit;
use crate::metrics::{Way, now_ns};
use crate::shared::Shared;
use crate::store::Store;
use foliot_access::Measurements;
use foliot_engine::{Ack, Commit, Error};
use foliot_model::{Batch, Cell, Kind, NamespaceId, Reject};
use foliot_proto_opentsdb::{Params, percent_decode};
use foliot_proto_prometheus::{
    CsvColumns, CsvLines, DatadogVersion, Exemplars, Families, Format, Group, Histograms,
    JsonLines, KEY_SYNTAX, Naming, TextLines, Version, WriteRequest, described, error_json,
};
use hyper::StatusCode;
use hyper::header::{self, HeaderName};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// What is asked of this door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// Remote write.
    Write,
    /// The text in which targets expose their metrics.
    Import,
    /// VictoriaMetrics' lines of JSON.
    ImportLines,
    /// The same, out.
    Export,
    /// VictoriaMetrics' lines of CSV.
    ImportCsv,
    /// The same, out.
    ExportCsv,
    /// OpenTelemetry's metrics, under Prometheus' names.
    Otlp,
    /// OpenTelemetry's metrics, under their own names.
    OtlpAsItIs,
    /// DataDog's series of version 1.
    Datadog1,
    /// DataDog's series of version 2.
    Datadog2,
    /// Whether a key of DataDog's agents is good.
    DatadogValidate,
    /// Remote read.
    Read,
    /// Values at one instant.
    Query,
    /// Values at many.
    QueryRange,
    /// Values at one instant, asked in MetricsQL.
    MetricsQuery,
    /// Values at many, asked in MetricsQL.
    MetricsQueryRange,
    /// Questions that are being answered.
    ActiveQueries,
    /// What questions cost.
    TopQueries,
    /// Makes what was written visible, which it is.
    ForceFlush,
    /// Merges what is stored, which happens by itself.
    ForceMerge,
    /// Series by their labels.
    Series,
    /// Names of labels.
    Labels,
    /// Values of a label.
    LabelValues,
    /// The newest samples of series, as text.
    Federate,
    /// Deletes samples of series.
    DeleteSeries,
    /// An expression, formatted.
    Format,
    /// An expression as a tree.
    Parse,
    /// Exemplars.
    Exemplars,
    /// Kinds and units of metrics that are scraped or pushed.
    Metadata,
    /// What is scraped.
    Targets,
    /// Kinds and units of metrics by target.
    TargetsMetadata,
    /// The names of jobs.
    ScrapePools,
    /// What is computed again and again.
    Rules,
    /// What is wrong.
    Alerts,
    /// Whom alerts are sent to.
    Alertmanagers,
    /// The file of Prometheus' configuration.
    Config,
    /// Which names most series are due to.
    Statistics,
    /// The page, where Prometheus' own is expected.
    Graph,
    /// The file of Prometheus' configuration, read again.
    Reload,
    /// A copy of the store, which is not made so.
    Snapshot,
    /// Gives room of what was deleted back, which happens by itself.
    CleanTombstones,
    /// Settings, under the names of Prometheus' flags.
    Flags,
    /// How the process is.
    RuntimeInfo,
    /// Which version this is.
    BuildInfo,
    /// How far the log was read.
    LogReplay,
    /// What Prometheus' page shows above everything.
    Notices,
    /// The same as it comes.
    NoticesLive,
}

/// What version 2.0 wants to know of a request.
const SAMPLES_WRITTEN: HeaderName =
    HeaderName::from_static("x-prometheus-remote-write-samples-written");
const HISTOGRAMS_WRITTEN: HeaderName =
    HeaderName::from_static("x-prometheus-remote-write-histograms-written");
const EXEMPLARS_WRITTEN: HeaderName =
    HeaderName::from_static("x-prometheus-remote-write-exemplars-written");

/// Whether PromQL is asked at the root, at the one path of Prometheus that OpenTSDB has as well.
pub(super) fn is_asked_at_the_root(call: &Call) -> bool {
    call.path == "/api/v1/query" && Params::first(&call.query, "query").is_some()
}

/// What a client of Prometheus is told that asks at the root of a port that others use too.
pub(super) fn elsewhere(path: &str, there: &str) -> Reply {
    let text = format!(
        "nothing of Prometheus is at {path}: ask at {there}, or set listen.prometheus for a port \
         of its own"
    );
    Reply::json(StatusCode::NOT_FOUND, error_json("not_found", &text))
}

/// Answers at one of Prometheus' paths.
pub(super) async fn answer(shared: &Arc<Shared>, endpoint: Endpoint, call: Call) -> Reply {
    let answered = match endpoint {
        Endpoint::Write => write(shared, call).await,
        Endpoint::Import | Endpoint::ImportLines | Endpoint::ImportCsv => {
            import(shared, endpoint, call).await
        }
        Endpoint::Otlp => otlp::answer(shared, Naming::Prometheus, call).await,
        Endpoint::OtlpAsItIs => otlp::answer(shared, Naming::VictoriaMetrics, call).await,
        Endpoint::Datadog1 => datadog::answer(shared, DatadogVersion::V1, call).await,
        Endpoint::Datadog2 => datadog::answer(shared, DatadogVersion::V2, call).await,
        Endpoint::DatadogValidate => Ok(datadog::validate(&call)),
        Endpoint::Export | Endpoint::ExportCsv => export::answer(shared, endpoint, call).await,
        Endpoint::Read => read::answer(shared, call).await,
        Endpoint::Query | Endpoint::QueryRange => ask::query(shared, endpoint, call).await,
        Endpoint::MetricsQuery | Endpoint::MetricsQueryRange => {
            ask::metrics_query(shared, endpoint, call).await
        }
        Endpoint::ActiveQueries
        | Endpoint::TopQueries
        | Endpoint::ForceFlush
        | Endpoint::ForceMerge => victoriametrics::answer(shared, endpoint, &call),
        Endpoint::Series | Endpoint::Labels | Endpoint::LabelValues | Endpoint::Statistics => {
            ask::list(shared, endpoint, call).await
        }
        Endpoint::Federate => federate::answer(shared, call).await,
        Endpoint::DeleteSeries => delete::answer(shared, call).await,
        Endpoint::Exemplars => exemplars::answer(shared, call).await,
        Endpoint::Format | Endpoint::Parse => ask::read(shared, endpoint, call).await,
        Endpoint::Metadata
        | Endpoint::Targets
        | Endpoint::TargetsMetadata
        | Endpoint::ScrapePools
        | Endpoint::Rules
        | Endpoint::Alerts
        | Endpoint::Alertmanagers => monitor::answer(shared, endpoint, &call),
        Endpoint::Config
        | Endpoint::Flags
        | Endpoint::RuntimeInfo
        | Endpoint::BuildInfo
        | Endpoint::LogReplay
        | Endpoint::Notices => Ok(status::answer(shared, endpoint)),
        // So a Prometheus says that it tells nobody more, and browsers do not ask again.
        Endpoint::NoticesLive => {
            let kind = "text/event-stream";
            Ok(Reply::new(StatusCode::NO_CONTENT, kind, "")
                .header(header::CACHE_CONTROL, "no-cache"))
        }
        Endpoint::Graph | Endpoint::Reload | Endpoint::Snapshot | Endpoint::CleanTombstones => {
            lifecycle::answer(shared, endpoint, &call)
        }
    };
    answered.unwrap_or_else(|reply| reply)
}

/// Refuses what would change the samples of a body, where VictoriaMetrics obeys it: passed over, it
/// would store others than were meant.
fn check_beside(query: &str) -> Result<(), Reply> {
    let changes = |name: &&str| matches!(*name, "extra_label" | "timestamp");
    match Params::parse(query).names().find(changes) {
        None => Ok(()),
        Some(name) => {
            let text = format!("{name}: to change what is stored by a parameter is not supported");
            Err(Reply::text(StatusCode::BAD_REQUEST, text).close())
        }
    }
}

async fn write(shared: &Shared, call: Call) -> Result<Reply, Reply> {
    let store = store(shared)?;
    check_beside(&call.query)?;
    let content_type = call.headers.get(header::CONTENT_TYPE);
    let content_type = content_type.map(|value| value.to_str().unwrap_or("?"));
    let version = Version::of_content_type(content_type).ok_or_else(|| {
        let text = "this Content-Type is not known: use application/x-protobuf with \
                    proto=prometheus.WriteRequest or proto=io.prometheus.write.v2.Request";
        Reply::text(StatusCode::UNSUPPORTED_MEDIA_TYPE, text).close()
    })?;
    let level = ack(shared, &call.headers)
        .map_err(|message| Reply::text(StatusCode::BAD_REQUEST, message))?;
    let namespace = namespace(shared, store, &call.query, &call.headers, Right::Write)
        .map_err(|missing| Reply::text(status_of_missing(&missing), missing.to_string()))?;
    let scope = call.write_scope(shared);
    let bytes = shared.bytes.take();
    let text = body::read_block(shared, &call.headers, call.body, bytes).await?;
    let to = (namespace, &scope, Way::RemoteWrite);
    let work = || take(shared, store, to, version, &text.bytes);
    let taken = ingest::heavy(shared, text.bytes.len(), work).await?;
    shared.unpacked.give_filled(text.into_bytes());
    confirm(store, taken.commit, level).await?;
    let reply = taken.answer("series");
    Ok(match version {
        Version::V1 => reply,
        Version::V2 => with_counts(reply, &taken),
    })
}

/// What became of a request before it is safe.
#[derive(Default)]
struct Taken {
    written: u64,
    /// How many of those are native histograms, where somebody wants to know.
    histograms: u64,
    counts_histograms: bool,
    /// Exemplars that are there.
    exemplars: u64,
    refused: u64,
    /// Series or lines of which something was refused; one that lies in two pieces counts in both.
    faulty: u64,
    /// Number of the first series or line of which something was refused, and why.
    first: Option<(u32, String)>,
    commit: Option<Commit>,
    /// Bytes of the request that no piece has counted.
    bytes_left: usize,
}

/// Why nothing of a piece is stored.
enum Unstored {
    /// Something stands in the place of a key that is none.
    NoKey,
    Refused(Reply),
}

impl From<Reply> for Unstored {
    fn from(reply: Reply) -> Self {
        Self::Refused(reply)
    }
}

impl Unstored {
    /// What its sender is told.
    fn refusal(self) -> Reply {
        match self {
            Self::Refused(reply) => reply,
            Self::NoKey => Reply::text(StatusCode::BAD_REQUEST, Error::NoKey.to_string()),
        }
    }
}

/// Stores a request piece by piece. Nothing of one that cannot be read is stored.
fn take(
    shared: &Shared,
    store: &Store,
    to: (NamespaceId, &Measurements, Way),
    version: Version,
    bytes: &[u8],
) -> Result<Taken, Reply> {
    // Whoever may not write everything is held to it by the names that keys say.
    if version == Version::V1
        && matches!(to.1, Measurements::All)
        && let Ok(request) = WriteRequest::parse_by_lengths(bytes)
    {
        match take_parsed(shared, store, to, request, bytes) {
            Err(Unstored::NoKey) => {}
            taken => return taken.map_err(Unstored::refusal),
        }
    }
    let request = WriteRequest::parse(version, bytes).map_err(|error| {
        shared.metrics.way(to.2).count_unworded(1);
        let text = format!("the request is no remote write: {error}");
        Reply::text(StatusCode::BAD_REQUEST, text)
    })?;
    take_parsed(shared, store, to, request, bytes).map_err(Unstored::refusal)
}

fn take_parsed(
    shared: &Shared,
    store: &Store,
    to: (NamespaceId, &Measurements, Way),
    mut request: WriteRequest<'_>,
    bytes: &[u8],
) -> Result<Taken, Unstored> {
    // A sender of version 2.0 is told how many there were.
    let counts_histograms = request.version() == Version::V2;
    let taken = Taken { counts_histograms, ..Taken::of(bytes) };
    let taken = store_more(shared, store, to, bytes, taken, |batch, rejects, exemplars| {
        request.decode(batch, (rejects, exemplars))
    })?;
    let (namespace, scope, _) = to;
    request.describe(&mut |said| shared.monitor.described.hear((namespace, scope), said));
    taken.drop_exemplars(shared, request.counts().exemplars);
    Ok(taken)
}

/// Stores all of a request piece by piece, with the exemplars that come with each, as long as
/// `decode` has more.
fn store_all(
    shared: &Shared,
    store: &Store,
    to: (NamespaceId, &Measurements, Way),
    bytes: &[u8],
    decode: impl FnMut(&mut Batch<'_>, &mut Vec<Reject>, &mut Exemplars) -> bool,
) -> Result<Taken, Unstored> {
    store_more(shared, store, to, bytes, Taken::of(bytes), decode)
}

/// The same behind what was taken.
fn store_more(
    shared: &Shared,
    store: &Store,
    to: (NamespaceId, &Measurements, Way),
    bytes: &[u8],
    mut taken: Taken,
    mut decode: impl FnMut(&mut Batch<'_>, &mut Vec<Reject>, &mut Exemplars) -> bool,
) -> Result<Taken, Unstored> {
    let (mut exemplars, mut has_more) = (Exemplars::default(), true);
    while has_more {
        exemplars.clear();
        has_more = store_piece(shared, store, to, bytes, &mut taken, |batch, rejects| {
            decode(batch, rejects, &mut exemplars)
        })?;
        let (namespace, scope, way) = to;
        taken.exemplars += crate::exemplars::keep(shared, way, (namespace, scope), &exemplars);
    }
    Ok(taken)
}

/// Stores one piece, adds what became of it, and returns what `decode` returned.
fn store_piece<T>(
    shared: &Shared,
    store: &Store,
    (namespace, scope, way): (NamespaceId, &Measurements, Way),
    bytes: &[u8],
    taken: &mut Taken,
    decode: impl FnOnce(&mut Batch<'_>, &mut Vec<Reject>) -> T,
) -> Result<T, Unstored> {
    let mut decoding = shared.batches.take();
    let mut rejects = Vec::new();
    let secret = store.engine().key_secret();
    let mut batch = Batch::new(bytes, namespace, &KEY_SYNTAX, secret, decoding.buffers);
    let decoded = decode(&mut batch, &mut rejects);
    // Pieces of a message lie scattered in it: the first counts the whole.
    batch.own(std::mem::take(&mut taken.bytes_left));
    let (rows, refused) = (batch.rows().len() as u64, rejects.len() as u64);
    let terms = Terms::of_samples(Duration::ZERO);
    let histograms = match taken.counts_histograms {
        true => histograms_by_line(&batch),
        false => HashMap::new(),
    };
    let outcome = ingest::append(shared, store, way, &mut batch, scope, &mut rejects, terms);
    decoding.buffers = batch.into_buffers();
    shared.batches.give(decoding);
    let commit = match outcome {
        Err(Error::NoKey) => return Err(Unstored::NoKey),
        Err(error) => return Err(Reply::text(status_of(&error), error.to_string()).into()),
        Ok(commit) => commit,
    };
    taken.commit = commit.or(taken.commit);
    taken.refused += rejects.len() as u64;
    taken.faulty += rejects.iter().map(|reject| reject.line).collect::<HashSet<_>>().len() as u64;
    taken.written += rows.saturating_sub(rejects.len() as u64 - refused);
    taken.histograms += written(histograms, rejects.get(refused as usize..).unwrap_or_default());
    if taken.first.is_none() {
        let first = rejects.into_iter().min_by_key(|reject| reject.line);
        taken.first = first.map(|reject| (reject.line, reject.reason));
    }
    Ok(decoded)
}

/// How many native histograms each series of a batch has.
fn histograms_by_line(batch: &Batch<'_>) -> HashMap<u32, u64> {
    let mut by_line = HashMap::new();
    for row in batch.rows() {
        let is_histogram = |cell: &Cell| cell.kind == Kind::Histogram;
        if batch.cells(row, 1).iter().any(is_histogram) {
            *by_line.entry(row.line).or_default() += 1;
        }
    }
    by_line
}

/// How many of those are left when the store has refused some rows. Where a series has numbers too,
/// its histograms count as refused first.
fn written(mut by_line: HashMap<u32, u64>, refused: &[Reject]) -> u64 {
    for reject in refused {
        if let Some(left) = by_line.get_mut(&reject.line) {
            *left = left.saturating_sub(1);
        }
    }
    by_line.values().sum()
}

/// The text of targets, as VictoriaMetrics takes it, and its lines of JSON and of CSV.
async fn import(shared: &Shared, endpoint: Endpoint, call: Call) -> Result<Reply, Reply> {
    let store = store(shared)?;
    check_beside(&call.query)?;
    let level = ack(shared, &call.headers)
        .map_err(|message| Reply::text(StatusCode::BAD_REQUEST, message))?;
    let namespace = namespace(shared, store, &call.query, &call.headers, Right::Write)
        .map_err(|missing| Reply::text(status_of_missing(&missing), missing.to_string()))?;
    let scope = call.write_scope(shared);
    let columns = match endpoint {
        Endpoint::ImportCsv => Some(csv_columns(&call.query)?),
        _ => None,
    };
    let group = group_of(&call.path)?;
    let kind = call.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let format = Format::of_content_type(kind.unwrap_or_default()).unwrap_or(Format::Text);
    let is_messages = format == Format::Protobuf;
    let text = body::read(shared, &call.headers, call.body, shared.bytes.take()).await?;
    let work = || match endpoint {
        _ if let Some(columns) = &columns => {
            import_csv(shared, store, (namespace, &scope, Way::Csv), columns, &text.bytes)
        }
        Endpoint::ImportLines => {
            import_lines(shared, store, (namespace, &scope, Way::JsonLines), &text.bytes)
        }
        _ if is_messages => {
            let to = (namespace, &scope, Way::Exposition);
            import_messages(shared, store, to, &group, &text.bytes)
        }
        _ => {
            let to = (namespace, &scope, Way::Exposition);
            import_text(shared, store, to, (format, &group), &text.bytes)
        }
    };
    let taken = ingest::heavy(shared, text.bytes.len(), work).await?;
    shared.bytes.give(text.into_bytes());
    confirm(store, taken.commit, level).await?;
    Ok(taken.answer(if endpoint == Endpoint::Import && is_messages { "metric" } else { "line" }))
}

/// The labels that a path says of what is pushed to it.
fn group_of(path: &str) -> Result<Group, Reply> {
    let Some((_, path)) = path.split_once(PUSH) else { return Ok(Group::default()) };
    let path = path.strip_suffix('/').unwrap_or(path);
    let parts: Vec<_> = path.split('/').map(|part| percent_decode(part, false)).collect();
    // What is no UTF-8 would be stored under a name that nobody gave.
    if let Some(part) = parts.iter().find(|part| part.contains(char::REPLACEMENT_CHARACTER)) {
        let text = format!("{part:?} of the path is no UTF-8");
        return Err(Reply::text(StatusCode::BAD_REQUEST, text).close());
    }
    let group = Group::of_path(parts.iter().map(|part| &**part));
    group.map_err(|reason| Reply::text(StatusCode::BAD_REQUEST, reason).close())
}

/// Nothing is stored of messages that cannot be read.
fn import_messages(
    shared: &Shared,
    store: &Store,
    to: (NamespaceId, &Measurements, Way),
    group: &Group,
    bytes: &[u8],
) -> Result<Taken, Reply> {
    let families = || {
        let histograms = Histograms { native: true, classic: false };
        Families::new(bytes, histograms).of_group(group)
    };
    let counted = families().check().map_err(|error| {
        shared.metrics.way(to.2).count_unworded(1);
        let text = format!("the body holds no families of metrics: {error}");
        Reply::text(StatusCode::BAD_REQUEST, text)
    })?;
    let (now_ms, mut families) = (now_ns() / 1_000_000, families());
    let taken = store_all(shared, store, to, bytes, |batch, rejects, exemplars| {
        families.decode(batch, now_ms, (rejects, exemplars))
    });
    let taken = taken.map_err(Unstored::refusal)?;
    taken.drop_exemplars(shared, counted);
    let histograms = Histograms { native: true, classic: false };
    Families::new(bytes, histograms)
        .describe(&mut |said| shared.monitor.described.hear((to.0, to.1), said));
    Ok(taken)
}

fn import_text(
    shared: &Shared,
    store: &Store,
    to: (NamespaceId, &Measurements, Way),
    (format, group): (Format, &Group),
    text: &[u8],
) -> Result<Taken, Reply> {
    let mut lines = TextLines::new(text, format, now_ns() / 1_000_000, group);
    let taken = store_all(shared, store, to, text, |batch, rejects, exemplars| {
        lines.decode(batch, (rejects, exemplars))
    });
    let taken = taken.map_err(Unstored::refusal)?;
    taken.drop_exemplars(shared, lines.exemplar_count());
    described(text, format).for_each(|said| shared.monitor.described.hear((to.0, to.1), said));
    Ok(taken)
}

fn import_lines(
    shared: &Shared,
    store: &Store,
    to: (NamespaceId, &Measurements, Way),
    text: &[u8],
) -> Result<Taken, Reply> {
    // A line is read whole: each comma of the longest stands for a value or a time.
    let commas = |line: &[u8]| line.iter().filter(|byte| **byte == b',').count();
    let longest = text.split(|byte| *byte == b'\n').map(commas).max().unwrap_or_default();
    let _held = hold(shared, longest, LISTED_BYTES_MAX)?;
    let mut lines = JsonLines::new(text);
    let taken =
        store_all(shared, store, to, text, |batch, rejects, _| lines.decode(batch, rejects));
    taken.map_err(Unstored::refusal)
}

/// What the parameter `format` says of the columns.
fn csv_columns(query: &str) -> Result<CsvColumns, Reply> {
    let format = Params::first(query, "format").unwrap_or_default();
    CsvColumns::parse(&format)
        .map_err(|reason| Reply::text(StatusCode::BAD_REQUEST, format!("format: {reason}")))
}

fn import_csv(
    shared: &Shared,
    store: &Store,
    to: (NamespaceId, &Measurements, Way),
    columns: &CsvColumns,
    text: &[u8],
) -> Result<Taken, Reply> {
    let mut lines = CsvLines::new(columns, text, now_ns() / 1_000_000);
    let taken =
        store_all(shared, store, to, text, |batch, rejects, _| lines.decode(batch, rejects));
    taken.map_err(Unstored::refusal)
}

/// What a value or a time of a line of JSON takes, in bytes: eight, and as many once more while
/// its list grows.
const LISTED_BYTES_MAX: usize = 16;

/// Finds memory for what a body comes to before it is read: so many times its bytes.
fn hold(shared: &Shared, bytes: usize, times: usize) -> Result<Held, Reply> {
    let (budget, mut held) = (&shared.body_budget, None);
    let wanted = bytes.saturating_mul(times);
    let (_, most) = budget.used();
    if wanted as u64 <= most && budget.hold(&mut held, wanted).is_some() {
        return Ok(held);
    }
    shared.metrics.limits.add(Limit::PendingBodyBytes);
    if wanted as u64 > most {
        let text = format!(
            "reading the body takes {wanted} bytes, more than {most} (limits.pending_body_bytes)"
        );
        return Err(Reply::text(StatusCode::PAYLOAD_TOO_LARGE, text));
    }
    shared.metrics.writes_refused.add(1);
    let text = "there is no memory for the body now (limits.pending_body_bytes)";
    Err(Reply::text(StatusCode::SERVICE_UNAVAILABLE, text).retry_after(1))
}

/// Refuses what a body has come to where it is longer than a body may be.
fn check_decoded(shared: &Shared, bytes: usize) -> Result<(), Reply> {
    let most = shared.config.limits_decoded_body_bytes.0;
    if bytes as u64 <= most {
        return Ok(());
    }
    shared.metrics.limits.add(Limit::DecodedBodyBytes);
    let text = format!("the body comes to more than {most} bytes (limits.decoded_body_bytes)");
    Err(Reply::text(StatusCode::PAYLOAD_TOO_LARGE, text))
}

/// Waits until what was stored is as safe as was asked for.
async fn confirm(store: &Store, commit: Option<Commit>, level: Ack) -> Result<(), Reply> {
    let Some(commit) = commit else { return Ok(()) };
    let waited = store.wait(commit, level).await;
    waited.map_err(|error| Reply::text(status_of_wait(&error), error.to_string()))
}

impl Taken {
    /// Of a request nothing was taken yet.
    fn of(bytes: &[u8]) -> Self {
        Self { bytes_left: bytes.len(), ..Self::default() }
    }

    /// Counts those of all its exemplars that are not there.
    fn drop_exemplars(&self, shared: &Shared, of_all: u64) {
        shared.metrics.exemplars_dropped.add(of_all.saturating_sub(self.exemplars));
    }

    /// The answer: what was good is stored although something else is refused.
    fn answer(&self, of: &str) -> Reply {
        match self.told(of) {
            None => Reply::empty(StatusCode::NO_CONTENT),
            Some(text) => Reply::text(StatusCode::BAD_REQUEST, text),
        }
    }

    /// What is to be said of what is refused, if something is.
    fn told(&self, of: &str) -> Option<String> {
        let (number, reason) = self.first.as_ref()?;
        let (written, refused) = (self.written, self.refused);
        Some(format!(
            "{written} samples were stored, {refused} refused; the first in {of} {number}: {reason}"
        ))
    }
}

/// Tells a sender of version 2.0 what was written.
fn with_counts(reply: Reply, taken: &Taken) -> Reply {
    let samples = taken.written.saturating_sub(taken.histograms);
    reply
        .header(SAMPLES_WRITTEN, &samples.to_string())
        .header(HISTOGRAMS_WRITTEN, &taken.histograms.to_string())
        .header(EXEMPLARS_WRITTEN, &taken.exemplars.to_string())
}
