//! Foliot's own figures: counters, and their exposition at `/metrics`.
//!
//! Every byte that is taken in and every row that is dropped is counted here, by the way it came
//! and by why it was dropped. The same figures become series `foliot.*` when the host collector is
//! on.

mod process;

pub(crate) use process::threads;

use crate::limits::{Limit, Met};
use foliot_engine::FIELD_RETENTION;
use foliot_lock::{Mutex, Rank};
use foliot_model::Reject;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A number that other threads add to.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// For gauges.
    pub(crate) fn subtract(&self, count: u64) {
        self.0.fetch_sub(count, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The ways that rows come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Telnet `put` lines.
    Telnet,
    /// `put` lines in UDP datagrams.
    Udp,
    /// `POST /api/put`.
    Put,
    /// Influx lines in HTTP requests.
    InfluxHttp,
    /// Influx lines on a plain connection.
    InfluxLines,
    /// The collector of this host.
    Host,
    /// Text in TickTock's dialect, on any of its ports.
    TickTock,
    /// Messages of a broker.
    Mqtt,
    /// Points that were aggregated elsewhere.
    Rollup,
    /// Requests of Prometheus' remote write.
    RemoteWrite,
    /// The text in which targets expose their metrics.
    Exposition,
    /// VictoriaMetrics' lines of JSON.
    JsonLines,
    /// VictoriaMetrics' lines of CSV.
    Csv,
    /// OpenTelemetry's metrics.
    Otlp,
    /// Graphite's plain text.
    Graphite,
    /// DataDog's series.
    Datadog,
    /// What datagrams of statsd come to.
    Statsd,
    /// What targets of `prometheus.config` expose.
    Scrape,
    /// What rules of `prometheus.config` come to.
    Rules,
    /// Files that the page imports, whatever is in them.
    Import,
}

impl Way {
    /// Its name, as in the label `protocol`.
    pub(crate) fn name(self) -> &'static str {
        WAYS.get(self as usize).map_or("", |(_, name)| name)
    }
}

const WAYS: [(Way, &str); 20] = [
    (Way::Telnet, "telnet"),
    (Way::Udp, "udp"),
    (Way::Put, "put"),
    (Way::InfluxHttp, "influx_http"),
    (Way::InfluxLines, "influx_lines"),
    (Way::Host, "host"),
    (Way::TickTock, "ticktock"),
    (Way::Mqtt, "mqtt"),
    (Way::Rollup, "rollup"),
    (Way::RemoteWrite, "remote_write"),
    (Way::Exposition, "exposition"),
    (Way::JsonLines, "json_lines"),
    (Way::Csv, "csv"),
    (Way::Otlp, "otlp"),
    (Way::Graphite, "graphite"),
    (Way::Datadog, "datadog"),
    (Way::Statsd, "statsd"),
    (Way::Scrape, "scrape"),
    (Way::Rules, "rules"),
    (Way::Import, "import"),
];

/// Why rows are dropped, coarse enough to be a label.
const REASONS: [&str; 10] = [
    "name",
    "timestamp",
    "field",
    "value",
    "line",
    "command",
    "limit",
    "retention",
    "store",
    "other",
];

/// The class of a reject, as a position in [`REASONS`].
fn reason(reject: &Reject) -> usize {
    let class = match &*reject.field {
        "metric" | "measurement" | "tag" | "tags" | "key" => "name",
        "timestamp" | "time" => "timestamp",
        // No field, or one without a name.
        "field" => "field",
        "line" | "datapoint" | "point" => "line",
        "command" => "command",
        "limit" | "series" => "limit",
        FIELD_RETENTION => "retention",
        // Doors name the field whose value is bad.
        _ => "value",
    };
    REASONS.iter().position(|name| *name == class).unwrap_or(REASONS.len() - 1)
}

/// The class of a reject, as the label `reason` has it.
pub(crate) fn reason_name(reject: &Reject) -> &'static str {
    REASONS.get(reason(reject)).copied().unwrap_or("other")
}

/// What came one way.
#[derive(Debug, Default)]
pub(crate) struct Ingest {
    pub(crate) bytes: Counter,
    pub(crate) batches: Counter,
    pub(crate) rows: Counter,
    pub(crate) samples: Counter,
    rejected: [Counter; REASONS.len()],
}

impl Ingest {
    /// Counts rows that were dropped one by one.
    pub(crate) fn count_rejects(&self, rejects: &[Reject]) {
        for reject in rejects {
            if let Some(counter) = self.rejected.get(reason(reject)) {
                counter.add(1);
            }
        }
    }

    /// Counts rows that were dropped together because the store failed or is not there.
    pub(crate) fn count_lost(&self, rows: u64) {
        self.count_class("store", rows);
    }

    /// Counts rows that were dropped without being worded one by one.
    pub(crate) fn count_unworded(&self, rows: u64) {
        self.count_class("other", rows);
    }

    fn count_class(&self, class: &str, rows: u64) {
        let counters = REASONS.iter().zip(&self.rejected);
        counters.filter(|(name, _)| **name == class).for_each(|(_, counter)| counter.add(rows));
    }
}

/// How often a route was answered with a status, and how long that took together.
#[derive(Clone, Copy, Debug, Default)]
struct Answered {
    count: u64,
    nanos: u64,
}

/// Answers by route and status.
#[derive(Debug)]
struct Answers(Mutex<BTreeMap<(&'static str, u16), Answered>>);

impl Default for Answers {
    fn default() -> Self {
        Self(Mutex::new(Rank::Table, BTreeMap::new()))
    }
}

/// All figures of the server.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    ingest: [Ingest; WAYS.len()],
    answered: Answers,
    /// Limits that were met; shared with what outlives a request.
    pub(crate) limits: Arc<Met>,
    /// Connections open now, and ever.
    pub(crate) connections: Counter,
    pub(crate) connections_accepted: Counter,
    /// Connections closed before anything of them was stored: because of `limits.connections`, want
    /// of descriptors, `access.write_from` or `tls.only`, or as HTTP where that is not spoken.
    pub(crate) connections_refused: Counter,
    /// Connections that a deadline ended.
    pub(crate) connections_timed_out: Counter,
    /// Connections that spoke TLS.
    pub(crate) connections_tls: Counter,
    pub(crate) http_bytes_received: Counter,
    /// Writes answered with 503 for want of memory.
    pub(crate) writes_refused: Counter,
    /// Replies on line streams that were dropped because the client does not read them.
    pub(crate) replies_dropped: Counter,
    pub(crate) udp_datagrams: Counter,
    /// Datagrams from addresses that may not write without credentials.
    pub(crate) udp_refused: Counter,
    pub(crate) mqtt_messages: Counter,
    pub(crate) mqtt_connected: Counter,
    pub(crate) mqtt_failures: Counter,
    /// Commands that asked Sparkplug's edge nodes for their births.
    pub(crate) mqtt_rebirths: Counter,
    /// Nodes whose births were forgotten for want of room.
    pub(crate) mqtt_births_forgotten: Counter,
    /// Exemplars that are not kept.
    pub(crate) exemplars_dropped: Counter,
    pub(crate) queries_running: Counter,
    pub(crate) queries: Counter,
    pub(crate) queries_brief: Counter,
    /// Queries answered in the short lane.
    pub(crate) queries_short: Counter,
    pub(crate) queries_refused: Counter,
    pub(crate) queries_failed: Counter,
    pub(crate) queries_cancelled: Counter,
    pub(crate) query_samples: Counter,
    pub(crate) query_nanos: Counter,
}

/// How a figure behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
}

impl Kind {
    /// Its name, as Prometheus has it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
        }
    }
}

/// One figure of a family.
#[derive(Debug)]
pub(crate) struct Figure<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: Kind,
    pub(crate) help: &'a str,
    pub(crate) labels: &'a [(&'a str, &'a str)],
    pub(crate) value: f64,
}

pub(crate) type Visit<'a> = dyn FnMut(&Figure<'_>) + 'a;

impl Metrics {
    /// What came this way.
    pub(crate) fn way(&self, way: Way) -> &Ingest {
        // The position is that of the enum, see `ways_are_in_order`.
        let [first, ..] = &self.ingest;
        self.ingest.get(way as usize).unwrap_or(first)
    }

    /// Samples stored since the start, by protocol.
    pub(crate) fn samples(&self) -> impl Iterator<Item = (&'static str, u64)> {
        WAYS.iter().zip(&self.ingest).map(|((_, name), ingest)| (*name, ingest.samples.get()))
    }

    /// Rows dropped since the start, however they came.
    pub(crate) fn rejected(&self) -> u64 {
        self.ingest.iter().flat_map(|ingest| &ingest.rejected).map(Counter::get).sum()
    }

    /// Counts an answer.
    pub(crate) fn count_answer(&self, route: &'static str, status: u16, took: Duration) {
        let mut answered = self.answered.0.lock();
        let entry = answered.entry((route, status)).or_default();
        entry.count += 1;
        entry.nanos = entry.nanos.saturating_add(took.as_nanos() as u64);
    }

    /// Shows every figure of the server and of the process, with limits that other rooms have seen
    /// met; families come in one piece.
    pub(crate) fn visit(&self, version: &str, met: &[(Limit, u64)], visit: &mut Visit<'_>) {
        let labels = [("version", version)];
        one(visit, "build_info", Kind::Gauge, "What runs, as labels", &labels, 1.0);
        self.visit_ingest(visit);
        self.visit_answers(visit);
        self.visit_plain(visit);
        self.visit_mqtt(visit);
        self.limits.visit(met, visit);
        process::visit(visit);
    }

    fn visit_ingest(&self, visit: &mut Visit<'_>) {
        type Get = fn(&Ingest) -> &Counter;
        let families: [(&str, &str, Get); 4] = [
            ("bytes_received_total", "Bytes taken in", |way| &way.bytes),
            ("batches_total", "Batches given to the store", |way| &way.batches),
            ("rows_total", "Rows stored", |way| &way.rows),
            ("samples_total", "Samples stored", |way| &way.samples),
        ];
        for (name, help, get) in families {
            for ((_, way), ingest) in WAYS.iter().zip(&self.ingest) {
                let value = get(ingest).get() as f64;
                one(visit, name, Kind::Counter, help, &[("protocol", way)], value);
            }
        }
        for ((_, way), ingest) in WAYS.iter().zip(&self.ingest) {
            for (reason, counter) in REASONS.iter().zip(&ingest.rejected) {
                let labels = [("protocol", *way), ("reason", *reason)];
                let value = counter.get() as f64;
                let help = "Rows dropped";
                one(visit, "rows_rejected_total", Kind::Counter, help, &labels, value);
            }
        }
    }

    fn visit_answers(&self, visit: &mut Visit<'_>) {
        type Get = fn(&Answered) -> f64;
        let families: [(&str, &str, Get); 2] = [
            ("http_requests_total", "Requests answered", |answered| answered.count as f64),
            ("http_request_seconds_total", "Time until answers began", |answered| {
                answered.nanos as f64 / 1e9
            }),
        ];
        let answered = self.answered.0.lock().clone();
        for (name, help, get) in families {
            for ((route, status), answered) in &answered {
                let labels = [("route", *route), ("status", &status.to_string())];
                one(visit, name, Kind::Counter, help, &labels, get(answered));
            }
        }
    }

    fn visit_mqtt(&self, visit: &mut Visit<'_>) {
        let help = "Brokers of MQTT that are connected: 0 while mqtt.broker is down or off";
        let connected = self.mqtt_connected.get() as f64;
        one(visit, "mqtt_connected", Kind::Gauge, help, &[], connected);
        let figures = [
            ("mqtt_messages_total", "MQTT messages received", &self.mqtt_messages),
            (
                "mqtt_failures_total",
                "Connections to the MQTT broker that failed or broke",
                &self.mqtt_failures,
            ),
            (
                "mqtt_rebirths_total",
                "Commands that asked Sparkplug's edge nodes for their births",
                &self.mqtt_rebirths,
            ),
            (
                "mqtt_births_forgotten_total",
                "Sparkplug's edge nodes whose births were forgotten for want of room",
                &self.mqtt_births_forgotten,
            ),
        ];
        for (name, help, counter) in figures {
            one(visit, name, Kind::Counter, help, &[], counter.get() as f64);
        }
    }

    fn visit_plain(&self, visit: &mut Visit<'_>) {
        use Kind::{Counter as C, Gauge as G};
        let figures = [
            ("connections", G, "Connections open", &self.connections),
            ("connections_accepted_total", C, "Connections accepted", &self.connections_accepted),
            (
                "connections_refused_total",
                C,
                "Connections closed before anything of them was stored",
                &self.connections_refused,
            ),
            (
                "connections_timed_out_total",
                C,
                "Connections ended because the client stalled",
                &self.connections_timed_out,
            ),
            ("connections_tls_total", C, "Connections refused as TLS", &self.connections_tls),
            (
                "http_bytes_received_total",
                C,
                "Bytes of request bodies before decompression",
                &self.http_bytes_received,
            ),
            ("writes_refused_total", C, "Writes refused for want of memory", &self.writes_refused),
            (
                "replies_dropped_total",
                C,
                "Replies on line streams that nobody read",
                &self.replies_dropped,
            ),
            ("udp_datagrams_total", C, "Datagrams received", &self.udp_datagrams),
            (
                "udp_refused_total",
                C,
                "Datagrams from addresses that may not write without credentials",
                &self.udp_refused,
            ),
            ("exemplars_dropped_total", C, "Exemplars dropped", &self.exemplars_dropped),
            ("queries_running", G, "Queries running", &self.queries_running),
            ("queries_total", C, "Queries begun", &self.queries),
            (
                "queries_brief_total",
                C,
                "Queries answered without a thread of their own",
                &self.queries_brief,
            ),
            (
                "queries_short_total",
                C,
                "Queries answered in the lane of short ones while all places were taken",
                &self.queries_short,
            ),
            ("queries_refused_total", C, "Queries refused for want of room", &self.queries_refused),
            ("queries_failed_total", C, "Queries ended by an error", &self.queries_failed),
            (
                "queries_cancelled_total",
                C,
                "Queries ended because the client left or somebody ended them",
                &self.queries_cancelled,
            ),
            ("query_samples_total", C, "Samples read by queries", &self.query_samples),
        ];
        for (name, kind, help, counter) in figures {
            one(visit, name, kind, help, &[], counter.get() as f64);
        }
        let seconds = self.query_nanos.get() as f64 / 1e9;
        one(visit, "query_seconds_total", Kind::Counter, "Time queries ran", &[], seconds);
    }
}

/// Shows one figure; `foliot_` is put before the name.
pub(crate) fn one(
    visit: &mut Visit<'_>,
    name: &str,
    kind: Kind,
    help: &str,
    labels: &[(&str, &str)],
    value: f64,
) {
    let name = format!("foliot_{name}");
    visit(&Figure { name: &name, kind, help, labels, value });
}

/// Figures as Prometheus reads them (text format 0.0.4).
#[derive(Debug, Default)]
pub(crate) struct Exposition {
    text: String,
    family: String,
}

impl Exposition {
    /// Adds one figure.
    pub(crate) fn add(&mut self, figure: &Figure<'_>) {
        let Figure { name, kind, help, labels, value } = figure;
        // Writing to memory cannot fail.
        if self.family != *name {
            let kind = kind.name();
            let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
            self.family = (*name).to_owned();
        }
        self.text.push_str(name);
        for (index, (label, value)) in labels.iter().enumerate() {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let separator = if index == 0 { '{' } else { ',' };
            let _ = write!(self.text, "{separator}{label}=\"{value}\"");
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
    }

    /// The whole text.
    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

/// Seconds since 1970.
pub(crate) fn now_s() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() as i64
}

/// Nanoseconds since 1970.
pub(crate) fn now_ns() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    fn exposition(metrics: &Metrics) -> String {
        let mut exposition = Exposition::default();
        metrics.visit("1.2.3", &[], &mut |figure| exposition.add(figure));
        exposition.into_text()
    }

    #[test]
    fn ways_are_in_order() {
        for (index, (way, _)) in WAYS.iter().enumerate() {
            assert_eq!(*way as usize, index);
        }
    }

    #[test]
    fn every_reject_is_counted_whatever_its_field() {
        let metrics = Metrics::default();
        let fields =
            ["metric", "tag", "timestamp", "field", "number", "line", "command", "limit", "usage"];
        let rejects: Vec<_> = fields
            .iter()
            .map(|field| Reject { line: 1, field: Cow::Borrowed(field), reason: String::new() })
            .collect();
        metrics.way(Way::Put).count_rejects(&rejects);
        metrics.way(Way::Put).count_lost(3);
        let text = exposition(&metrics);
        let count = |reason: &str| {
            let head =
                format!("foliot_rows_rejected_total{{protocol=\"put\",reason=\"{reason}\"}} ");
            let line = text.lines().find_map(|line| line.strip_prefix(&head)).unwrap();
            line.parse::<u64>().unwrap()
        };
        assert_eq!(count("name"), 2);
        assert_eq!((count("value"), count("field")), (2, 1));
        assert_eq!(count("store"), 3);
        assert_eq!(REASONS.iter().map(|reason| count(reason)).sum::<u64>(), 12);
    }

    #[test]
    fn the_exposition_is_well_formed() {
        let metrics = Metrics::default();
        metrics.count_answer("/api/put", 204, Duration::from_millis(250));
        let text = exposition(&metrics);
        let answer = "foliot_http_requests_total{route=\"/api/put\",status=\"204\"} 1\n";
        assert!(text.contains(answer));
        assert!(text.contains("foliot_build_info{version=\"1.2.3\"} 1\n"));
        let mut families = std::collections::HashSet::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                assert!(families.insert(rest.to_owned()), "{rest} comes twice");
            } else if !line.starts_with('#') {
                let (name, value) = line.rsplit_once(' ').unwrap();
                assert!(name.starts_with("foliot_") || name.starts_with("process_"), "{line}");
                assert!(value.parse::<f64>().unwrap().is_finite());
            }
        }
    }
}
