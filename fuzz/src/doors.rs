//! What comes in: each decoder, and the writing of what it decoded.
//!
//! Streams must not care how they are cut: the same bytes in pieces of any size give the same rows
//! and the same refusals.

use crate::store::take;
use foliot_model::{Batch, Reject};
use foliot_proto_influx::{
    Decoder, EXACT_LINE_SYNTAX, LINE_SYNTAX, Precision, Settings, TICKTOCK_LINE_SYNTAX,
};
use foliot_proto_opentsdb::{KEY_SYNTAX, Options, Rollups, Session, ticktock};
use foliot_proto_prometheus::{Exemplars, Version, WriteRequest};
use std::sync::Arc;

/// What a stream gave: rows by key, line and time, and refusals by line.
#[derive(Debug, Default, PartialEq)]
struct Given {
    rows: Vec<(Vec<u8>, Vec<u8>, u32, i64)>,
    refused: Vec<(u32, String)>,
}

impl Given {
    fn add(&mut self, batch: &Batch<'_>) {
        let copy = |span| batch.slice(span).to_vec();
        let rows = batch.rows().iter();
        self.rows.extend(
            rows.map(|row| (copy(row.key_head), copy(row.key_tail), row.line, row.time_ns)),
        );
    }

    fn refuse(mut self, rejects: Vec<Reject>) -> Self {
        self.refused = rejects.into_iter().map(|reject| (reject.line, reject.reason)).collect();
        self
    }
}

/// Sizes of pieces that a stream is cut into, as its length says.
fn piece_bytes(data: &[u8]) -> usize {
    [1, 2, 3, 7, 19, 64][data.len() % 6]
}

const ROLLUPS: &str = r#"{"aggregationIds": {"sum": 0, "count": 1}, "intervals": [
    {"table": "raw", "preAggregationTable": "raw-pre", "interval": "1m", "rowSpan": "1h",
     "defaultInterval": true},
    {"table": "hours", "preAggregationTable": "hours-pre", "interval": "1h", "rowSpan": "1d"}]}"#;

fn options(line_bytes_max: usize) -> Options {
    let rollups = Some(Arc::new(Rollups::parse(ROLLUPS).expect("a good configuration")));
    Options { line_bytes_max, tags_max: None, rollups }
}

pub(crate) fn telnet(data: &[u8]) {
    let whole = telnet_in_pieces(data, data.len().max(1));
    assert_eq!(whole, telnet_in_pieces(data, piece_bytes(data)), "cut into pieces");
}

fn telnet_in_pieces(data: &[u8], piece_bytes: usize) -> Given {
    let mut session = Session::new(options(200));
    let (mut held, mut given, mut refused) = (Vec::new(), Given::default(), Vec::new());
    for piece in data.chunks(piece_bytes) {
        held.extend_from_slice(piece);
        loop {
            let step = take(&held, &KEY_SYNTAX, |batch, rejects| {
                let step = session.decode(batch, rejects);
                given.add(batch);
                refused.append(&mut rejects.clone());
                step
            });
            held.drain(..step.consumed);
            if step.command.is_none() {
                break;
            }
        }
        session.take_rollups();
    }
    given.refuse(refused)
}

pub(crate) fn datagram(data: &[u8]) {
    take(data, &KEY_SYNTAX, |batch, rejects| {
        foliot_proto_opentsdb::decode_datagram(batch, &options(1000), rejects)
    });
}

/// `/api/put`, `/api/histogram` and `/api/rollup` have bodies of one form.
pub(crate) fn put_json(data: &[u8]) {
    use foliot_proto_opentsdb::{PutFlags, decode_histograms, decode_json, decode_rollups};
    let _ = take(data, &KEY_SYNTAX, |batch, rejects| {
        let points = decode_json(batch, &options(1000), rejects)?;
        assert_eq!(batch.rows().len() + rejects.len(), points as usize, "each point is told of");
        let flags = PutFlags { details: true, ..PutFlags::default() };
        foliot_proto_opentsdb::put_answer(data, &flags, points, rejects);
        Ok::<_, foliot_proto_opentsdb::HttpError>(())
    });
    let _ =
        take(data, &KEY_SYNTAX, |batch, rejects| decode_histograms(batch, &options(1000), rejects));
    let _ = decode_rollups(data, &options(1000), &mut Vec::new());
    let mut puts = Vec::new();
    let _ = ticktock::puts_of_json(data, &mut puts);
    ticktock_lines(&puts);
}

pub(crate) fn exposition(data: &[u8]) {
    use foliot_proto_prometheus::{Format, Group, TextLines};
    let group = Group::of_path(["job", "j"]).expect("a group");
    let most = data.split(|byte| *byte == b'\n').count();
    for format in [Format::Text, Format::OpenMetrics] {
        let mut lines = TextLines::new(data, format, crate::store::NOW_MS, &group);
        let (mut told, mut exemplars, mut has_more) = (0, 0, true);
        while has_more {
            take(data, &foliot_proto_prometheus::KEY_SYNTAX, |batch, rejects| {
                let mut listed = Exemplars::default();
                has_more = lines.decode(batch, (rejects, &mut listed));
                told += batch.rows().len() + rejects.len();
                exemplars += read_exemplars(&listed);
            });
        }
        assert!(told <= most, "a line is one sample at most");
        assert!(exemplars <= lines.exemplar_count(), "{exemplars} exemplars");
    }
}

/// VictoriaMetrics' lines of JSON.
pub(crate) fn json_lines(data: &[u8]) {
    let mut lines = foliot_proto_prometheus::JsonLines::new(data);
    let mut has_more = true;
    while has_more {
        take(data, &foliot_proto_prometheus::KEY_SYNTAX, |batch, rejects| {
            has_more = lines.decode(batch, rejects);
            let told = batch.rows().len() + rejects.len();
            assert!(told <= data.len(), "a sample takes two bytes at least");
        });
    }
}

/// Requests of remote read.
pub(crate) fn remote_read(data: &[u8]) {
    let _ = foliot_proto_prometheus::ReadRequest::read(data);
}

pub(crate) fn remote_read_seeds() -> Vec<Vec<u8>> {
    // From 1 to 2 ms, of which __name__ fits m.
    vec![b"\x0a\x15\x08\x01\x10\x02\x1a\x0f\x08\x02\x12\x08__name__\x1a\x01m".to_vec()]
}

/// Requests of both versions; the first byte says which.
pub(crate) fn remote_write(data: &[u8]) {
    let Some((first, data)) = data.split_first() else { return };
    let version = if first % 2 == 1 { Version::V1 } else { Version::V2 };
    let Ok(mut request) = WriteRequest::parse(version, data) else { return };
    let samples = request.counts().samples + request.counts().histograms;
    let (mut rows, mut exemplars, mut has_more) = (0, 0, true);
    while has_more {
        take(data, &foliot_proto_prometheus::KEY_SYNTAX, |batch, rejects| {
            let mut listed = Exemplars::default();
            has_more = request.decode(batch, (rejects, &mut listed));
            rows += batch.rows().len() as u64;
            exemplars += read_exemplars(&listed);
        });
    }
    assert!(rows <= samples, "{rows} rows of {samples} samples");
    assert!(exemplars <= request.counts().exemplars, "{exemplars} exemplars");
}

/// Reads what is listed; returns how many there are.
fn read_exemplars(listed: &Exemplars) -> u64 {
    for one in listed.iter() {
        if let Ok(labels) = foliot_proto_prometheus::exemplar_labels(one.labels) {
            let bytes: usize = labels.iter().map(|(name, value)| name.len() + value.len()).sum();
            assert!(bytes <= one.labels.len(), "{bytes} bytes of labels");
        }
    }
    listed.len() as u64
}

/// VictoriaMetrics' lines of CSV; the first line is their format.
pub(crate) fn csv(data: &[u8]) {
    use foliot_proto_prometheus::{CsvColumns, CsvFormat, CsvLines};
    let mut parts = data.splitn(2, |byte| *byte == b'\n');
    let format = String::from_utf8_lossy(parts.next().unwrap_or_default());
    let _ = CsvFormat::parse(&format);
    let Ok(columns) = CsvColumns::parse(&format) else { return };
    let text = parts.next().unwrap_or_default();
    let mut lines = CsvLines::new(&columns, text, crate::store::NOW_MS);
    let mut has_more = true;
    while has_more {
        take(text, &foliot_proto_prometheus::KEY_SYNTAX, |batch, rejects| {
            has_more = lines.decode(batch, rejects);
            let told = batch.rows().len() + rejects.len();
            assert!(told <= text.len(), "a sample takes a byte at least");
        });
    }
}

/// Graphite's plain text. Whole lines are the same however the stream is cut.
pub(crate) fn graphite(data: &[u8]) {
    let mut given = [Given::default(), Given::default()];
    for (given, size) in given.iter_mut().zip([data.len().max(1), piece_bytes(data)]) {
        let (mut held, mut line, mut refused) = (Vec::new(), 1, Vec::new());
        for piece in data.chunks(size) {
            held.extend_from_slice(piece);
            let read = take(&held, &foliot_proto_prometheus::KEY_SYNTAX, |batch, rejects| {
                let (now_ms, first) = (crate::store::NOW_MS, line);
                let read = foliot_proto_prometheus::decode_graphite(batch, first, now_ms, rejects);
                given.add(batch);
                refused.append(&mut rejects.clone());
                read
            });
            held.drain(..read.bytes);
            line = read.next_line;
        }
        // One call words no more than a hundred.
        if refused.len() < 100 {
            *given = std::mem::take(given).refuse(refused);
        }
    }
    assert!(given[0].rows == given[1].rows, "cut into pieces");
}

/// Graphite's pickle: messages that are whole are the same however the stream is cut.
pub(crate) fn pickle(data: &[u8]) {
    use foliot_proto_prometheus::{KEY_SYNTAX, decode_pickle};
    let mut given = [Given::default(), Given::default()];
    for (given, size) in given.iter_mut().zip([data.len().max(1), piece_bytes(data)]) {
        let (mut held, mut number) = (Vec::new(), 1);
        for piece in data.chunks(size) {
            held.extend_from_slice(piece);
            let read = take(&held, &KEY_SYNTAX, |batch, rejects| {
                let read = decode_pickle(batch, number, crate::store::NOW_MS, rejects);
                assert!(batch.rows().len() <= held.len(), "a sample takes some bytes");
                given.add(batch);
                read
            });
            held.drain(..read.bytes);
            number = read.next_line;
            if read.is_broken {
                break;
            }
        }
    }
    assert!(given[0].rows == given[1].rows, "cut into pieces");
}

pub(crate) fn pickle_seeds() -> Vec<Vec<u8>> {
    let message = |pickled: &[u8]| [&[0, 0, 0, pickled.len() as u8], pickled].concat();
    vec![
        message(b"(lp0\n(S'a.b'\np1\n(I1700000000\nF0.5\ntp2\ntp3\na."),
        message(b"\x80\x02]q\x00(U\x03a.bq\x01J\x00\xf1\x53eK\x01\x86q\x02\x86h\x01h\x02\x86e."),
        message(
            b"\x80\x04\x95\0\0\0\0\0\0\0\0]\x94\x8c\x03a;b\x94\x8a\x01\x05\x88\x86\x94\x86\x94a.",
        ),
    ]
}

/// OpenTelemetry's metrics; the first byte says how they are named.
pub(crate) fn otlp(data: &[u8]) {
    use foliot_proto_prometheus::{Naming, OtlpRequest, otlp_answer};
    let Some((first, data)) = data.split_first() else { return };
    let naming = if first % 2 == 1 { Naming::Prometheus } else { Naming::VictoriaMetrics };
    let Ok(mut request) = OtlpRequest::parse(naming, crate::store::NOW_MS, data) else { return };
    let (mut exemplars, mut has_more) = (0, true);
    while has_more {
        take(data, &foliot_proto_prometheus::KEY_SYNTAX, |batch, rejects| {
            let mut listed = Exemplars::default();
            has_more = request.decode(batch, (rejects, &mut listed));
            let told = batch.rows().len() + rejects.len();
            assert!(told <= 4 * data.len(), "{told} samples of {} bytes", data.len());
            exemplars += read_exemplars(&listed);
            if let Some(reject) = rejects.first() {
                otlp_answer(rejects.len() as u64, &reject.reason);
            }
        });
    }
    assert!(exemplars <= request.exemplar_count(), "{exemplars} exemplars");
}

/// The same in JSON: what becomes of it is a request, and no longer than is said.
pub(crate) fn otlp_json(data: &[u8]) {
    use foliot_proto_prometheus::{OTLP_JSON_BYTES_MAX, otlp_of_json};
    let Ok(bytes) = otlp_of_json(data) else { return };
    assert!(2 * bytes.len() <= OTLP_JSON_BYTES_MAX * data.len(), "{} bytes", bytes.len());
    for first in [1, 2] {
        otlp(&[&[first], &bytes[..]].concat());
    }
}

/// DataDog's series, of both versions.
pub(crate) fn datadog(data: &[u8]) {
    use foliot_proto_prometheus::{DatadogVersion, KEY_SYNTAX, datadog_samples};
    for version in [DatadogVersion::V1, DatadogVersion::V2] {
        let Ok(samples) = datadog_samples(version, data) else { continue };
        assert!(samples.len() <= data.len(), "a sample takes two bytes at least");
        let mut from = 0;
        while from < samples.len() {
            take(samples.bytes(), &KEY_SYNTAX, |batch, rejects| {
                from = samples.decode(from, batch, rejects);
            });
        }
    }
}

/// What edge nodes of Sparkplug publish: metrics of all types, also those that only a birth would
/// tell.
pub(crate) fn sparkplug(data: &[u8]) {
    use foliot_proto_prometheus::SparkplugPayload;
    let Ok(payload) = SparkplugPayload::parse(data) else { return };
    let (mut count, mut born) = (0, None);
    for metric in payload.metrics() {
        count += 1;
        let value = metric.value(born);
        assert!(born.is_some() || !metric.needs_type() || value.is_err(), "{value:?}");
        born = metric.value_type.or(born);
    }
    assert!(2 * count <= data.len(), "{count} metrics of {} bytes", data.len());
}

pub(crate) fn sparkplug_seeds() -> Vec<Vec<u8>> {
    // The metric m, of a type, with one value of each kind.
    let of = |kind: u8, value: &[u8]| {
        let metric =
            [b"\x0a\x01m\x10\x07\x18\x80\xd0\x95\xff\xbc\x31\x20", &[kind][..], value].concat();
        [b"\x08\x80\xd0\x95\xff\xbc\x31\x12", &[metric.len() as u8][..], &metric, b"\x18\x01"]
            .concat()
    };
    vec![
        of(1, b"\x50\xff\x01"),
        of(8, b"\x58\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        of(9, b"\x65\0\0\x80\x3f"),
        of(10, b"\x69\0\0\0\0\0\0\xf8\x3f"),
        of(11, b"\x70\x01"),
        of(12, b"\x7a\x04text"),
        of(3, b"\x38\x01"),
        of(16, b"\x8a\x01\0"),
        of(19, b"\x92\x01\0"),
        b"\x12\x04\x10\x07\x50\x05".to_vec(),
    ]
}

/// Datagrams of statsd, with a zero between them, within a little memory.
pub(crate) fn statsd(data: &[u8]) {
    use foliot_proto_prometheus::{KEY_SYNTAX, Samples, Statsd};
    const BYTES_MAX: usize = 2000;
    let mut statsd = Statsd::new(BYTES_MAX);
    for datagram in data.split(|byte| *byte == 0) {
        let mut rejects = Vec::new();
        statsd.take(datagram, &mut rejects);
        assert!(statsd.bytes() <= BYTES_MAX, "{} bytes", statsd.bytes());
        let lines = datagram.split(|byte| *byte == b'\n').count();
        assert!(rejects.len() <= lines, "a line is refused once");
    }
    let mut samples = Samples::default();
    statsd.flush(crate::store::NOW_MS, &mut samples);
    take(samples.bytes(), &KEY_SYNTAX, |batch, rejects| samples.decode(0, batch, rejects));
}

pub(crate) fn otlp_seeds() -> Vec<Vec<u8>> {
    // A gauge m of 1.5 with the attribute a="b".
    let point =
        b"\x0a\x1d\x19\0\0\xd4\x92\xa6\xe4\x97\x17\x21\0\0\0\0\0\0\xf8\x3f\x3a\x09\x0a\x01a\
        \x12\x03\x0a\x01b\0";
    let message = |number: u8, body: &[u8]| [&[number << 3 | 2, body.len() as u8], body].concat();
    let of = |shape: u8, point: &[u8]| {
        let data = [point, b"\x10\x02\x18\x01"].concat();
        let metric = [message(1, b"m"), message(3, b"By/s"), message(shape, &data)].concat();
        let name = message(1, b"\x0a\x0cservice.name\x12\x03\x0a\x01s");
        message(1, &[message(1, &name), message(2, &message(2, &metric))].concat())
    };
    // A classic histogram of a bucket and an exponential one, each of one observation.
    let one = |number: u8| [&[number << 3 | 1, 1][..], &[0; 7]].concat();
    let classic = [one(4), one(6), one(7)].concat();
    let exponential = [one(4), message(8, b"\x08\x01\x12\x01\x01")].concat();
    let mut seeds = Vec::new();
    for (shape, point) in
        [(5, &point[2..]), (7, &point[2..]), (9, &classic), (10, &exponential), (11, &classic)]
    {
        let body = of(shape, &message(1, point));
        seeds.extend([1, 2].map(|first| [&[first], &body[..]].concat()));
    }
    seeds
}

pub(crate) fn remote_write_seeds() -> Vec<Vec<u8>> {
    // A sample of 1.5, a series of it, and the same with references to symbols.
    let sample = b"\x12\x10\x09\0\0\0\0\0\0\xf8\x3f\x10\x80\xd0\x95\xff\xbc\x31";
    let series = b"\x0a\x21\x0a\x0d\x0a\x08__name__\x12\x01m";
    let second = b"\x22\0\x22\x08__name__\x22\x01m\x2a\x16\x0a\x02\x01\x02";
    let whole = |first: u8, body: &[u8]| [&[first], body, sample].concat();
    // A native histogram of an observation in bucket 1 of schema 0, in a series of its own.
    let histogram = b"\x0a\x23\x0a\x0d\x0a\x08__name__\x12\x01m\x22\x12\x08\x01\x5a\x04\x08\x02\x10\x01\x62\x01\x02\
        \x78\x80\xd0\x95\xff\xbc\x31";
    vec![whole(1, series), whole(2, second), [&[1], &histogram[..]].concat()]
}

pub(crate) fn lines(data: &[u8]) {
    let units = [Precision::Nanosecond, Precision::Second, Precision::Auto];
    let settings = Settings {
        precision: units[data.len() % 3],
        now_ns: crate::store::NOW_MS * 1_000_000,
        first_line: 1,
        is_partial: false,
    };
    let mut whole = Given::default();
    let mut refused = Vec::new();
    take(data, &LINE_SYNTAX, |batch, rejects| {
        Decoder::default().decode(batch, settings, rejects);
        whole.add(batch);
        refused.append(&mut rejects.clone());
    });
    take(data, &EXACT_LINE_SYNTAX, |batch, rejects| {
        Decoder::default().decode(batch, settings, rejects);
    });
    // A stream refuses lines beyond its limit, a body has none; and words no more than a hundred.
    if refused.len() < 100
        && let Some(pieces) = lines_in_pieces(data, piece_bytes(data), settings)
    {
        assert_eq!(whole.refuse(refused), pieces, "cut into pieces");
    }
}

/// Nothing when the last line has no end: a stream refuses it, a body takes it.
fn lines_in_pieces(data: &[u8], piece_bytes: usize, settings: Settings) -> Option<Given> {
    let mut session = foliot_proto_influx::Session::new(1 << 20);
    let (mut given, mut refused) = (Given::default(), Vec::new());
    let mut decoder = Decoder::default();
    for piece in data.chunks(piece_bytes) {
        session.push(piece);
        let decoded = take(session.bytes(), &LINE_SYNTAX, |batch, rejects| {
            let settings = session.settings(settings.precision, settings.now_ns);
            let decoded = decoder.decode(batch, settings, rejects);
            given.add(batch);
            refused.append(&mut rejects.clone());
            decoded
        });
        session.advance(decoded, &mut refused);
    }
    let has_ended = session.finish().is_none();
    has_ended.then(|| given.refuse(refused))
}

pub(crate) fn ticktock_lines(data: &[u8]) {
    let mut rest = data;
    while let Some(run) = ticktock::next_run(rest, true, data.len().is_multiple_of(2)) {
        assert!(run.bytes > 0 && run.bytes <= rest.len() && run.lines > 0, "{run:?}");
        let (lines, behind) = rest.split_at(run.bytes);
        rest = behind;
        match run.kind {
            ticktock::RunKind::Puts => take(lines, &ticktock::TICKTOCK_SYNTAX, |batch, rejects| {
                ticktock::decode_puts(batch, &options(1000), rejects);
            }),
            ticktock::RunKind::Lines => take(lines, &TICKTOCK_LINE_SYNTAX, |batch, rejects| {
                let precision = Precision::Auto;
                let settings = Settings { precision, now_ns: 0, first_line: 1, is_partial: false };
                Decoder::default().decode(batch, settings, rejects);
            }),
            ticktock::RunKind::Checkpoint => drop(ticktock::read_checkpoint(lines)),
            ticktock::RunKind::Word(_) | ticktock::RunKind::Unknown => {}
        }
    }
    assert!(rest.is_empty(), "a whole text is read to its end");
}
