//! One job: targets that are scraped alike.

use super::client::Client;
use super::discovery::Discovery;
use super::{Global, read_scheme};
use crate::length::{read_length, read_size};
use crate::reading::{Keys, Reader};
use crate::relabel::{self, Relabel};
use foliot_proto_prometheus::Histograms;
use std::collections::BTreeSet;

/// Targets that are scraped alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its name, which is the label `job` unless a rule says otherwise.
    pub name: String,
    /// Time between two scrapes, in milliseconds.
    pub interval_ms: u64,
    /// How long a scrape may take, in milliseconds.
    pub timeout_ms: u64,
    /// Where a target's metrics are.
    pub metrics_path: String,
    /// `http` or `https`.
    pub scheme: String,
    /// Parameters of the request, in order.
    pub params: Vec<(String, Vec<String>)>,
    /// Whether labels that a target exposes go before those that are given here.
    pub honor_labels: bool,
    /// Whether times that a target exposes count.
    pub honor_timestamps: bool,
    /// Whether series with times of their own get marks of staleness.
    pub tracks_timestamps: bool,
    /// Whether answers may be packed.
    pub compresses: bool,
    /// What a target is asked for, the best first.
    pub protocols: Vec<Protocol>,
    /// What is taken of histograms.
    pub histograms: Histograms,
    /// What an answer is that does not say what it is.
    pub fallback: Option<Protocol>,
    /// What is too much.
    pub limits: Limits,
    /// Where targets are.
    pub discovery: Discovery,
    /// How they are spoken to.
    pub client: Client,
    /// Rules for targets.
    pub relabel: Vec<Relabel>,
    /// Rules for series.
    pub metric_relabel: Vec<Relabel>,
}

/// A format in which metrics are exposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// `PrometheusText0.0.4`, and 1.0.0, which differs in how odd names are written.
    Text,
    /// `OpenMetricsText1.0.0`, and 0.0.1.
    OpenMetrics,
    /// `PrometheusProto`, which alone has native histograms.
    Protobuf,
}

/// What is too much of a target; nothing: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of an answer, unpacked.
    pub body_bytes: Option<u64>,
    /// Samples of a scrape, after relabelling.
    pub samples: Option<u64>,
    /// Targets of a job.
    pub targets: Option<u64>,
    /// Labels of a series, its name counted.
    pub labels: Option<u64>,
    /// Bytes of a label's name.
    pub label_name_bytes: Option<u64>,
    /// Bytes of a label's value.
    pub label_value_bytes: Option<u64>,
    /// Dropped targets that are remembered.
    pub dropped_targets: Option<u64>,
}

impl Limits {
    /// Reads them; what is not said, or is 0, is as `otherwise`.
    pub(crate) fn read(keys: &mut Keys<'_>, otherwise: &Self) -> Self {
        let mut number = |name: &str, otherwise: Option<u64>| {
            let given = keys.take(name).and_then(|reader| reader.number());
            given.filter(|count| *count > 0).or(otherwise)
        };
        let mut limits = Self {
            body_bytes: otherwise.body_bytes,
            samples: number("sample_limit", otherwise.samples),
            targets: number("target_limit", otherwise.targets),
            labels: number("label_limit", otherwise.labels),
            label_name_bytes: number("label_name_length_limit", otherwise.label_name_bytes),
            label_value_bytes: number("label_value_length_limit", otherwise.label_value_bytes),
            dropped_targets: number("keep_dropped_targets", otherwise.dropped_targets),
        };
        if let Some(bytes) = keys.take("body_size_limit").and_then(|it| it.read(read_size)) {
            limits.body_bytes = Some(bytes).filter(|bytes| *bytes > 0).or(otherwise.body_bytes);
        }
        limits
    }
}

/// Names of protocols.
const PROTOCOLS: [(&str, Protocol); 5] = [
    ("PrometheusProto", Protocol::Protobuf),
    ("PrometheusText0.0.4", Protocol::Text),
    ("PrometheusText1.0.0", Protocol::Text),
    ("OpenMetricsText0.0.1", Protocol::OpenMetrics),
    ("OpenMetricsText1.0.0", Protocol::OpenMetrics),
];

fn read_protocol(reader: &Reader<'_>) -> Option<Protocol> {
    reader.read(|text| {
        let found = PROTOCOLS.iter().find(|(name, _)| *name == text);
        let names = PROTOCOLS.map(|(name, _)| name).join(", ");
        found.map(|(_, protocol)| *protocol).ok_or(format!("{text:?} is none of {names}"))
    })
}

/// What targets are asked for by themselves: for messages only where that gives more.
fn usual_protocols(histograms: Histograms) -> Vec<Protocol> {
    let messages = histograms.native.then_some(Protocol::Protobuf);
    messages.into_iter().chain([Protocol::OpenMetrics, Protocol::Text]).collect()
}

/// Which histograms are wanted, where that is said.
pub(super) fn read_histograms(keys: &mut Keys<'_>, otherwise: Histograms) -> Histograms {
    let mut truth = |name: &str| keys.take(name).and_then(|reader| reader.truth());
    let native = truth("scrape_native_histograms").unwrap_or(otherwise.native);
    // What Prometheus called it before 3.0.
    let before = truth("scrape_classic_histograms");
    let classic = truth("always_scrape_classic_histograms").or(before);
    Histograms { native, classic: classic.unwrap_or(otherwise.classic) }
}

/// What targets are asked for, where that is said.
pub(super) fn read_protocols(keys: &mut Keys<'_>) -> Option<Vec<Protocol>> {
    let reader = keys.take("scrape_protocols")?;
    let (mut known, mut names) = (Vec::new(), BTreeSet::new());
    let list = reader.list();
    if list.is_empty() {
        reader.error("must name a protocol");
    }
    for reader in &list {
        let Some(protocol) = read_protocol(reader) else { continue };
        if !names.insert(reader.text()) {
            reader.error(format!("{:?} is given twice", reader.text()));
        }
        known.push(protocol);
    }
    // Names that differ may mean the same.
    known.dedup();
    (!known.is_empty()).then_some(known)
}

/// What names of metrics may be, and how they are asked for: keys, and what each may say.
const NAME_SCHEMES: [(&str, &[&str]); 2] = [
    ("metric_name_validation_scheme", &["legacy", "utf8"]),
    ("metric_name_escaping_scheme", &["allow-utf-8", "underscores", "dots", "values"]),
];

/// Keys that global settings and jobs have in common and that are settled here.
pub(super) fn ignore_settled(keys: &mut Keys<'_>) {
    let histograms = [
        "convert_classic_histograms_to_nhcb",
        "native_histogram_bucket_limit",
        "native_histogram_min_bucket_factor",
    ];
    keys.ignore(&histograms, "histograms are stored as they are");
    for (name, schemes) in NAME_SCHEMES {
        let Some(reader) = keys.take(name) else { continue };
        let scheme = reader.text();
        match scheme.is_empty() || schemes.contains(&scheme.as_str()) {
            true => reader.note("has no effect here: names may hold any UTF-8"),
            false => reader.error(format!("{scheme:?} is none of {}", schemes.join(", "))),
        }
    }
    keys.ignore(&["extra_scrape_metrics"], "it is not known");
}

impl Job {
    pub(crate) fn read(reader: &Reader<'_>, global: &Global) -> Option<Self> {
        let mut keys = reader.keys();
        let name = keys.need("job_name").map(|reader| {
            let name = reader.text();
            if name.is_empty() {
                reader.error("a job needs a name");
            }
            name
        });
        let (interval_ms, timeout_ms) = read_times(&mut keys, global);
        let truth = |reader: Option<Reader<'_>>, otherwise: bool| {
            reader.and_then(|reader| reader.truth()).unwrap_or(otherwise)
        };
        let protocols = read_protocols(&mut keys).or_else(|| global.protocols.clone());
        let histograms = read_histograms(&mut keys, global.histograms);
        let fallback = keys.take("fallback_scrape_protocol");
        let job = Self {
            name: name.unwrap_or_default(),
            interval_ms,
            timeout_ms,
            metrics_path: read_path(&mut keys),
            scheme: read_scheme(&mut keys),
            params: keys.take("params").map(|it| read_params(&it)).unwrap_or_default(),
            honor_labels: truth(keys.take("honor_labels"), false),
            honor_timestamps: truth(keys.take("honor_timestamps"), true),
            tracks_timestamps: truth(keys.take("track_timestamps_staleness"), false),
            compresses: truth(keys.take("enable_compression"), true),
            protocols: protocols.unwrap_or_else(|| usual_protocols(histograms)),
            histograms,
            fallback: fallback.and_then(|reader| read_protocol(&reader)),
            limits: Limits::read(&mut keys, &global.limits),
            relabel: relabel::read(keys.take("relabel_configs")),
            metric_relabel: relabel::read(keys.take("metric_relabel_configs")),
            discovery: Discovery::read(&mut keys, "targets"),
            client: Client::read(&mut keys),
        };
        ignore_settled(&mut keys);
        keys.ignore(&["scrape_failure_log_file"], "failures are in the log");
        keys.end();
        Some(job)
    }
}

fn read_times(keys: &mut Keys<'_>, global: &Global) -> (u64, u64) {
    // A time of 0 is as if it were not there, as in Prometheus.
    let interval = keys.take("scrape_interval");
    let interval_ms = interval.and_then(|reader| reader.read(read_length));
    let interval_ms = interval_ms.filter(|ms| *ms > 0).unwrap_or(global.scrape_interval_ms);
    let timeout = keys.take("scrape_timeout");
    let timeout_ms = timeout.as_ref().and_then(|reader| reader.read(read_length));
    if let (Some(reader), Some(ms)) = (&timeout, timeout_ms)
        && ms > interval_ms
    {
        reader.error("must not be more than the scrape_interval");
    }
    let timeout_ms = timeout_ms.filter(|ms| *ms > 0);
    (interval_ms, timeout_ms.unwrap_or(global.scrape_timeout_ms.min(interval_ms)))
}

fn read_path(keys: &mut Keys<'_>) -> String {
    let path = keys.take("metrics_path").map_or_else(|| "/metrics".to_owned(), |it| it.text());
    if path.starts_with('/') { path } else { format!("/{path}") }
}

fn read_params(reader: &Reader<'_>) -> Vec<(String, Vec<String>)> {
    let params = reader.entries().into_iter();
    params.map(|(name, values)| (name, values.texts())).collect()
}
