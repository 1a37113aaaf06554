//! The Prometheus door.
//!
//! It turns requests of remote write, 1.0 and 2.0, into batches ([`WriteRequest`]), and the text in
//! which targets expose their metrics, line by line ([`TextLines`]) or whole ([`Scraped`]), or the
//! messages ([`Families`]), VictoriaMetrics' lines of JSON ([`JsonLines`]) and of CSV
//! ([`CsvLines`]), OpenTelemetry's metrics ([`OtlpRequest`]), DataDog's series
//! ([`datadog_samples`]), statsd's lines ([`Statsd`]), Graphite's plain text as VictoriaMetrics
//! takes it ([`decode_graphite`]) and its pickle ([`decode_pickle`]), and what edge nodes of
//! Sparkplug publish ([`SparkplugPayload`]); expressions of PromQL become
//! questions ([`Expression`]), those of MetricsQL too ([`Question`]), and answers become JSON.
//! Bytes go in, values come out: the room knows no socket, no compression, no HTTP library and no
//! store.
//!
//! A series is stored as OpenTSDB's are: its name is the measurement, its other labels are labels,
//! and its samples are floats, or native histograms, of the default field. So all doors see it.

mod annotations;
mod answer;
mod crc32c;
mod csv;
mod datadog;
mod escaping;
mod exemplars;
mod exposition;
mod families;
mod graphite;
mod group;
mod histogram;
mod json_lines;
mod key;
mod label_name;
mod label_table;
mod metricsql;
mod otlp;
mod promql;
mod read;
mod samples;
mod scraped;
mod series;
mod sparkplug;
mod statistics;
mod statsd;
mod text;
mod times;
mod wire;
mod write;

pub use annotations::said;
pub use answer::{Listing, SeriesAnswer, error_json, number, single, success};
pub use crc32c::crc32c;
pub use csv::{CsvColumns, CsvFormat, CsvLines};
pub use datadog::{DATADOG_BYTES_MAX, DatadogVersion, datadog_samples};
pub use escaping::Escaping;
pub use exemplars::{
    EXEMPLAR_CHARS_MAX, Exemplar, ExemplarLabels, Exemplars, ListedExemplar, exemplar_labels,
    push_exemplars,
};
pub use exposition::Exposition;
pub use families::{Families, Histograms};
pub use graphite::{GraphiteRead, PICKLE_BYTES_MAX, decode_graphite, decode_pickle, is_graphite};
pub use group::Group;
pub use json_lines::{JsonLines, json_lines};
pub use key::{KEY_SYNTAX, shown_key, shown_series};
pub use label_name::label_name;
pub use label_table::{LabelTable, places, push_place};
pub use metricsql::Question;
pub use otlp::{
    Naming, OTLP_JSON_BYTES_MAX, OtlpRequest, otlp_answer, otlp_json_answer, otlp_of_json,
};
pub use promql::{
    Asked, Dialect, Expression, ParseError, SamplesAsked, Span, Type, VectorSelector,
};
pub use read::{ReadChunks, ReadQuery, ReadRequest, ReadResult};
pub use samples::{PlacedSeries, STALE, Samples, pack_labels};
pub use scraped::{BadLine, Exposed, Format, Measured, Scraped, SeriesName, described};
pub use series::{push_histogram_sample, push_number_sample, push_series};
pub use sparkplug::{SparkplugMetric, SparkplugPayload, SparkplugType, sparkplug_rebirth};
pub use statistics::Statistics;
pub use statsd::Statsd;
pub use text::TextLines;
pub use times::{beyond_ms, length_ns, time_ms, time_or_ago_ms};
pub use write::{Counts, Malformed, Version, WriteRequest};
