use super::*;
use crate::KEY_SYNTAX;
use foliot_model::{Bucket, KeyParts, KeySecret};

const T: u64 = 1_700_000_000_000;

fn field(number: u8, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    push_bytes(number, body, &mut out);
    out
}

fn fixed(number: u8, bits: u64) -> Vec<u8> {
    [&[number << 3 | 1][..], &bits.to_le_bytes()].concat()
}

fn varint(number: u8, value: u64) -> Vec<u8> {
    let mut out = vec![number << 3];
    push_varint(value, &mut out);
    out
}

fn double(number: u8, value: f64) -> Vec<u8> {
    fixed(number, value.to_bits())
}

/// An attribute under the number of its field.
fn attribute(number: u8, key: &str, value: &[u8]) -> Vec<u8> {
    field(number, &[field(1, key.as_bytes()), field(2, value)].concat())
}

fn word(text: &str) -> Vec<u8> {
    field(1, text.as_bytes())
}

fn metric(name: &str, unit: &str, shape: u8, data: &[Vec<u8>]) -> Vec<u8> {
    let parts =
        [field(1, name.as_bytes()), field(3, unit.as_bytes()), field(shape, &data.concat())];
    field(2, &parts.concat())
}

fn request(resource: &[Vec<u8>], metrics: &[Vec<u8>]) -> Vec<u8> {
    // What describes the resource may stand behind its metrics.
    let parts = [field(2, &metrics.concat()), field(1, &resource.concat())];
    field(1, &parts.concat())
}

fn time() -> Vec<u8> {
    fixed(3, T * 1_000_000)
}

/// Samples as texts, histograms, and reasons by the number of the point.
#[derive(Debug, Default)]
struct Seen {
    rows: Vec<String>,
    histograms: Vec<Histogram>,
    rejects: Vec<(u32, String)>,
    pieces: usize,
}

fn decode(naming: Naming, bytes: &[u8]) -> Result<Seen, Malformed> {
    let mut request = OtlpRequest::parse(naming, 7, bytes)?;
    let (mut seen, mut has_more) = (Seen::default(), true);
    while has_more {
        let mut batch = Batch::new(bytes, 0, &KEY_SYNTAX, KeySecret(1), Default::default());
        let mut rejects = Vec::new();
        has_more = request.decode(&mut batch, (&mut rejects, &mut Exemplars::default()));
        seen.pieces += 1;
        for row in batch.rows() {
            let mut parts = KeyParts::default();
            (KEY_SYNTAX.parse)(b"", batch.slice(row.key_tail), &mut parts).unwrap();
            parts.canonicalize().unwrap();
            let mut text = String::from_utf8_lossy(parts.measurement()).into_owned();
            for (name, value) in parts.labels() {
                let [name, value] = [name, value].map(String::from_utf8_lossy);
                text += &format!(",{name}={value}");
            }
            let cell = batch.cells(row, 1)[0];
            text += &match cell.kind {
                Kind::Histogram => {
                    let bytes = batch.slice(cell.span());
                    seen.histograms.push(Histogram::read(bytes).unwrap());
                    " histogram".to_owned()
                }
                _ if cell.to_f64().to_bits() == STALE.to_bits() => " stale".to_owned(),
                _ => format!(" {}", cell.to_f64()),
            };
            seen.rows.push(text + &format!(" {}", row.time_ns / 1_000_000 - T as i64));
        }
        seen.rejects.extend(rejects.into_iter().map(|reject| (reject.line, reject.reason)));
    }
    Ok(seen)
}

fn service() -> [Vec<u8>; 4] {
    [
        attribute(1, "service.name", &word("shop")),
        attribute(1, "service.namespace", &word("eu")),
        attribute(1, "service.instance.id", &word("a:1")),
        attribute(1, "host.name", &word("h1")),
    ]
}

#[test]
fn numbers_are_named_as_their_reader_expects() {
    let point = [time(), double(4, 1.5), attribute(7, "http.method", &word("GET"))].concat();
    let grown = [time(), fixed(6, -3i64 as u64)].concat();
    let metrics = [
        metric("memory.use", "By", 5, &[field(1, &point)]),
        metric("requests", "", 7, &[field(1, &grown), varint(2, 2), varint(3, 1)]),
        metric("queue", "1", 7, &[field(1, &grown), varint(2, 2)]),
    ];
    let bytes = request(&service(), &metrics);
    let seen = decode(Naming::Prometheus, &bytes).unwrap();
    assert_eq!(
        seen.rows,
        [
            "memory_use_bytes,http_method=GET,instance=a:1,job=eu/shop 1.5 0",
            "requests_total,instance=a:1,job=eu/shop -3 0",
            "queue,instance=a:1,job=eu/shop -3 0",
            "target_info,host_name=h1,instance=a:1,job=eu/shop 1 0",
        ]
    );
    let all = "host.name=h1,service.instance.id=a:1,service.name=shop,service.namespace=eu";
    let seen = decode(Naming::VictoriaMetrics, &bytes).unwrap();
    assert_eq!(
        seen.rows,
        [
            format!("memory.use,host.name=h1,http.method=GET,{} 1.5 0", &all[13..]),
            format!("requests,{all} -3 0"),
            format!("queue,{all} -3 0"),
        ]
    );
    assert!(seen.rejects.is_empty());
}

#[test]
fn nothing_is_told_of_a_target_without_a_name_or_without_more() {
    let metrics = [metric("m", "", 5, &[field(1, &[time(), double(4, 1.0)].concat())])];
    let [name, _, _, host] = service();
    for (resource, wanted) in [
        (vec![], vec!["m 1 0"]),
        (vec![host.clone()], vec!["m 1 0"]),
        (vec![name.clone()], vec!["m,job=shop 1 0"]),
        (vec![name, host], vec!["m,job=shop 1 0", "target_info,host_name=h1,job=shop 1 0"]),
    ] {
        let seen = decode(Naming::Prometheus, &request(&resource, &metrics)).unwrap();
        assert_eq!(seen.rows, wanted);
    }
}

#[test]
fn histograms_and_summaries_become_classic_series() {
    let counts: Vec<u8> = [2u64, 1, 4].iter().flat_map(|count| count.to_le_bytes()).collect();
    let bounds: Vec<u8> = [0.5f64, 1e10].iter().flat_map(|bound| bound.to_le_bytes()).collect();
    // A label of its own name gives way.
    let point = [
        time(),
        fixed(4, 7),
        double(5, 9.5),
        field(6, &counts),
        field(7, &bounds),
        attribute(9, "le", &word("x")),
        field(8, &double(3, 1.0)),
    ];
    let histogram = metric("size", "By", 9, &[field(1, &point.concat()), varint(2, 2)]);
    let quantile = field(6, &[double(1, 0.99), double(2, 0.25)].concat());
    let point = [time(), fixed(4, 3), double(5, 1.0), quantile, attribute(7, "a", &word("b"))];
    let summary = metric("wait", "s", 11, &[field(1, &point.concat())]);
    let bytes = request(&[], &[histogram, summary]);
    let seen = decode(Naming::Prometheus, &bytes).unwrap();
    assert_eq!(
        seen.rows,
        [
            "size_bytes_bucket,le=0.5 2 0",
            "size_bytes_bucket,le=10000000000 3 0",
            "size_bytes_bucket,le=+Inf 7 0",
            "size_bytes_sum 9.5 0",
            "size_bytes_count 7 0",
            "wait_seconds_sum,a=b 1 0",
            "wait_seconds_count,a=b 3 0",
            "wait_seconds,a=b,quantile=0.99 0.25 0",
        ]
    );
    let mut request = OtlpRequest::parse(Naming::Prometheus, 0, &bytes).unwrap();
    assert_eq!(request.exemplar_count(), 1);
    let mut batch = Batch::new(&bytes, 0, &KEY_SYNTAX, KeySecret(1), Default::default());
    let mut exemplars = Exemplars::default();
    request.decode(&mut batch, (&mut Vec::new(), &mut exemplars));
    let listed = exemplars.iter().next().unwrap();
    let series = r#"size_bytes_bucket{le="10000000000"}"#;
    assert_eq!((&*crate::shown_key(listed.series), listed.value), (series, 1.0));
}

#[test]
fn exponential_histograms_become_native_ones() {
    // Scale 1: bucket -1 of theirs reaches from 2^-0.5 to 1, and so is number 0 here.
    let positive = field(8, &[varint(1, 1), field(2, &[2, 0, 3])].concat());
    let negative = field(9, &[varint(1, 4), varint(2, 1)].concat());
    let point =
        [time(), fixed(4, 10), double(5, 2.5), varint(6, 2), fixed(7, 4), positive, negative];
    let bytes = request(&[], &[metric("h", "", 10, &[field(1, &point.concat()), varint(2, 2)])]);
    let seen = decode(Naming::Prometheus, &bytes).unwrap();
    let bucket = |index, count| Bucket { index, count };
    let wanted = Histogram {
        is_integer: true,
        schema: 1,
        zero_threshold: 1e-128,
        zero_count: 4.0,
        count: 10.0,
        sum: 2.5,
        positive: vec![bucket(0, 2.0), bucket(2, 3.0)],
        negative: vec![bucket(3, 1.0)],
        ..Histogram::default()
    };
    assert_eq!((seen.rows, seen.histograms), (vec!["h histogram 0".to_owned()], vec![wanted]));
    // Finer than what is kept: buckets 0 to 3 of scale 10 are the first of scale 8.
    let positive = field(8, &[varint(1, 0), field(2, &[1, 1, 1, 1, 5])].concat());
    let point = [time(), fixed(4, 9), varint(6, 20), positive];
    let bytes = request(&[], &[metric("h", "", 10, &[field(1, &point.concat()), varint(2, 2)])]);
    let seen = decode(Naming::Prometheus, &bytes).unwrap();
    assert_eq!(seen.histograms[0].positive, [bucket(1, 4.0), bucket(2, 5.0)]);
}

#[test]
fn what_has_no_value_is_stale() {
    let point = [time(), varint(8, 1)].concat();
    let gauge = metric("g", "", 5, &[field(1, &point)]);
    let point = [time(), varint(10, 1)].concat();
    let histogram = metric("h", "", 9, &[field(1, &point), varint(2, 2)]);
    let native = metric("n", "", 10, &[field(1, &point), varint(2, 2)]);
    let seen = decode(Naming::Prometheus, &request(&[], &[gauge, histogram, native])).unwrap();
    let wanted = ["g stale 0", "h_bucket,le=+Inf stale 0", "h_count stale 0", "n histogram 0"];
    assert_eq!(seen.rows, wanted);
    assert_eq!(seen.histograms[0].sum.to_bits(), STALE.to_bits());
}

#[test]
fn values_of_attributes_become_texts_and_names_that_meet_are_joined() {
    let list = field(5, &[field(1, &word("a")), field(1, &varint(3, 2))].concat());
    let map = field(6, &field(1, &[field(1, b"k"), field(2, &double(4, 0.5))].concat()));
    let point = [
        time(),
        double(4, 1.0),
        attribute(7, "x.y", &word("2")),
        attribute(7, "x-y", &word("1")),
        attribute(7, "yes", &varint(2, 1)),
        attribute(7, "whole", &varint(3, -5i64 as u64)),
        attribute(7, "part", &double(4, 2.0)),
        attribute(7, "list", &list),
        attribute(7, "map", &map),
        attribute(7, "bytes", &field(7, b"\0\xff")),
        attribute(7, "none", b""),
        attribute(7, "job", &word("mine")),
    ];
    let metrics = [metric("m", "", 5, &[field(1, &point.concat())])];
    let seen = decode(Naming::Prometheus, &request(&[], &metrics)).unwrap();
    let wanted =
        "m,bytes=AP8=,job=mine,list=[\"a\",2],map={\"k\":0.5},part=2,whole=-5,x_y=1;2,yes=true 1 0";
    assert_eq!(seen.rows, [wanted]);
    let [name, ..] = service();
    let seen = decode(Naming::Prometheus, &request(&[name], &metrics)).unwrap();
    assert!(seen.rows[0].contains("job=shop"), "what identifies the resource goes before");
}

#[test]
fn a_point_that_cannot_be_stored_leaves_the_others() {
    let good = field(1, &[time(), double(4, 1.0)].concat());
    let late = field(1, &[fixed(3, u64::MAX), double(4, 1.0)].concat());
    let huge = "x".repeat(70_000);
    let wide = field(1, &[time(), attribute(7, "a", &word(&huge))].concat());
    let many: Vec<u8> = [time(), attribute(7, "", b"")].concat();
    let metrics = [
        metric("delta", "", 7, &[good.clone(), varint(2, 1)]),
        metric("none", "", 9, std::slice::from_ref(&good)),
        metric("...", "", 5, std::slice::from_ref(&good)),
        metric("late", "", 5, &[late]),
        metric("wide", "", 5, &[wide]),
        metric("bare", "", 5, &[field(1, &many)]),
        metric("good", "", 5, &[good]),
    ];
    let seen = decode(Naming::Prometheus, &request(&[], &metrics)).unwrap();
    assert!(seen.rows.iter().any(|row| row == "good 1 0"), "{:?}", seen.rows);
    for (number, word) in [
        (1, "\"delta\" has delta temporality"),
        (2, "\"none\" has no known temporality"),
        (3, "no name"),
        (5, "attributes take more than 65536 bytes"),
        (6, "an attribute has no name"),
    ] {
        let found = seen.rejects.iter().find(|(line, _)| *line == number);
        assert!(found.is_some_and(|(_, reason)| reason.contains(word)), "{word}: {found:?}");
    }
    // The year 2554 is one that no door can name.
    assert!(seen.rejects.iter().any(|(line, reason)| *line == 4 && reason.contains("timestamp")));
    assert_eq!(seen.rejects.len(), 6);
}

#[test]
fn hostile_requests_take_little() {
    // A million attributes, and a million values in one.
    let attributes = attribute(7, "a", &word("b")).repeat(1 << 20);
    let point = field(1, &[time(), attributes].concat());
    let list = field(1, b"").repeat(1 << 20);
    let listed = field(1, &[time(), attribute(7, "a", &field(5, &list))].concat());
    // Lists in lists in lists.
    let mut deep = word("x");
    for _ in 0..10_000 {
        deep = field(5, &field(1, &deep));
    }
    let deep = field(1, &[time(), attribute(7, "a", &deep)].concat());
    let metrics = [metric("m", "", 5, &[point, listed, deep])];
    let seen = decode(Naming::Prometheus, &request(&[], &metrics)).unwrap();
    assert!(seen.rows.is_empty());
    let reasons: Vec<_> = seen.rejects.iter().map(|(_, reason)| &**reason).collect();
    let deep = "attribute \"a\" is nested deeper than 16 levels";
    let long = "attributes take more than 65536 bytes";
    assert_eq!(reasons, [long, long, deep]);
    // Buckets without end, and few of them with labels that are long.
    let counts = field(6, &[0; 8 * 20_000]);
    let endless = field(1, &[time(), counts].concat());
    let buckets = [field(6, &[0; 8 * 1000]), field(7, &[0; 8 * 999])].concat();
    let long = attribute(9, "a", &word(&"x".repeat(60_000)));
    let long = field(1, &[time(), buckets, long].concat());
    let metrics = [metric("h", "", 9, &[endless, long, varint(2, 2)])];
    let seen = decode(Naming::Prometheus, &request(&[], &metrics)).unwrap();
    assert_eq!((seen.rows.len(), seen.rejects.len()), (0, 2));
    assert!(seen.rejects.iter().all(|(_, reason)| reason.contains("too many buckets")));
}

#[test]
fn what_is_no_text_and_bounds_that_are_none_are_refused_with_their_point() {
    let value = |number: u8| [time(), double(4, 1.0), attribute(number, "good", &word("x"))];
    let good = field(1, &value(7).concat());
    let point = |more: Vec<u8>| field(1, &[value(7).concat(), more].concat());
    let odd = field(1, b"\xff");
    let mut nested = word("x");
    for _ in 0..15 {
        nested = field(5, &field(1, &nested));
    }
    let points = [
        good.clone(),
        point(attribute(7, "a", &odd)),
        point(attribute(7, "a", &field(5, &field(1, &odd)))),
        point(field(7, &[field(1, b"b\xff"), field(2, &word("x"))].concat())),
        point(attribute(7, "deep", &nested)),
        point(attribute(7, "deeper", &field(5, &field(1, &nested)))),
    ];
    let bounds = |bounds: &[f64]| {
        let bytes: Vec<u8> = bounds.iter().flat_map(|bound| bound.to_le_bytes()).collect();
        let counts = [1u8, 0, 0, 0, 0, 0, 0, 0].repeat(bounds.len() + 1);
        field(1, &[time(), fixed(4, 9), field(6, &counts), field(7, &bytes)].concat())
    };
    let histograms = [
        bounds(&[1.0, 2.0]),
        bounds(&[f64::NAN]),
        bounds(&[1.0, f64::NAN, 2.0]),
        bounds(&[2.0, 1.0]),
        bounds(&[1.0, 1.0]),
        varint(2, 2),
    ];
    let name = field(2, &[field(1, b"m\xff"), field(5, &good)].concat());
    let unit = field(2, &[field(1, b"u"), field(3, b"\xff"), field(5, &good)].concat());
    let metrics = [metric("g", "", 5, &points), metric("h", "", 9, &histograms), name, unit];
    let seen = decode(Naming::Prometheus, &request(&[], &metrics)).unwrap();
    let ascend = "a point of h has bounds that do not ascend";
    let wanted = [
        (2, "attribute \"a\" is no UTF-8"),
        (3, "attribute \"a\" is no UTF-8"),
        (4, "attribute \"b\u{fffd}\" has a name that is no UTF-8"),
        (6, "attribute \"deeper\" is nested deeper than 16 levels"),
        (8, ascend),
        (9, ascend),
        (10, ascend),
        (11, ascend),
        (12, "metric \"m\u{fffd}\" has a name that is no UTF-8"),
        (13, "metric \"u\" has a unit that is no UTF-8"),
    ];
    let told: Vec<_> = seen.rejects.iter().map(|(line, reason)| (*line, &**reason)).collect();
    assert_eq!(told, wanted);
    assert_eq!(seen.rows.len(), 2 + 4);
    // What describes a resource is of all of its points.
    let resource = attribute(1, "host", &odd);
    for naming in [Naming::Prometheus, Naming::VictoriaMetrics] {
        let metrics = [metric("m", "", 5, &[good.clone(), good.clone()])];
        let seen = decode(naming, &request(std::slice::from_ref(&resource), &metrics)).unwrap();
        assert_eq!((seen.rows.len(), seen.rejects.len()), (0, 2));
    }
}

#[test]
fn a_request_has_so_many_points() {
    let points = |count: u32| {
        let points = field(1, b"").repeat(count as usize);
        let bytes = request(&[], &[metric("m", "", 5, &[points])]);
        OtlpRequest::parse(Naming::Prometheus, 0, &bytes).map(drop)
    };
    assert!(points(POINTS_MAX).is_ok());
    assert!(points(POINTS_MAX + 1).unwrap_err().0.contains("1048576 data points"));
}

#[test]
fn long_requests_are_decoded_in_pieces() {
    let point = field(1, &[time(), double(4, 1.0)].concat());
    let metrics = [metric("m", "", 5, &[point.repeat(PIECE_ROWS_MAX + 5)])];
    let seen = decode(Naming::Prometheus, &request(&[], &metrics)).unwrap();
    assert_eq!((seen.rows.len(), seen.pieces), (PIECE_ROWS_MAX + 5, 2));
}

#[test]
fn malformed_requests_are_refused_whole() {
    let good = field(1, &[time(), double(4, 1.0)].concat());
    let bytes = request(&[], &[metric("m", "", 5, &[good])]);
    assert!(decode(Naming::Prometheus, &bytes[..bytes.len() - 1]).is_err());
    assert!(decode(Naming::Prometheus, b"\x0a\xff\xff\xff\xff\x0f").is_err());
    let odd = metric("m", "", 9, &[field(1, &field(6, &[0; 7]))]);
    assert!(decode(Naming::Prometheus, &request(&[], &[odd])).is_err());
    assert!(decode(Naming::Prometheus, b"").unwrap().rows.is_empty());
}

#[test]
fn answers_say_what_is_refused() {
    assert_eq!(otlp_answer(0, ""), b"");
    assert_eq!(otlp_answer(3, "no"), b"\x0a\x06\x08\x03\x12\x02no");
}
