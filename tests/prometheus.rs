//! The Prometheus door through the real binary: what is written and read back, of both versions.

use crate::harness;
use crate::harness::remote::{STALE, T, V2, message, push, sample, second, series, snappy, varint};
use crate::harness::{Scratch, Server, read_response, request};
use std::io::{BufReader, Write};

/// Headers and body of a request, and status and word of its answer.
type Case<'a> = (&'a [(&'a str, &'a str)], &'a [u8], u16, &'a str);

#[test]
fn what_is_written_is_seen_by_all_doors_and_outlives_the_process() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let labels = [("__name__", "node_load1"), ("instance", "a:9100"), ("job", "node")];
    let body = series(&labels, &[(T, 1.5), (T + 15_000, 2.0)]);
    let v1 = "application/x-protobuf";
    let answer = push(&server, "/api/v1/write", &[("Content-Type", v1)], &body);
    assert_eq!((answer.status, answer.text()), (204, String::new()));
    // The same series under another path, level and order of labels.
    let turned = [labels[2], labels[0], labels[1]];
    let body = series(&turned, &[(T + 30_000, -3.0)]);
    let level = [("X-Foliot-Ack", "durable")];
    assert_eq!(push(&server, "/prometheus/api/v1/write", &level, &body).status, 204);
    server.kill();
    let server = Server::start(dir.path(), &[]);
    let wanted = [(T, "1.5"), (T + 15_000, "2.0"), (T + 30_000, "-3.0")];
    let wanted: Vec<_> = wanted.map(|(time, text)| (time, text.to_owned())).into();
    assert_eq!(server.samples("sum:node_load1"), wanted);
    let path = "/query?db=default&epoch=ms&q=SELECT+value+FROM+node_load1+WHERE+job='node'\
                +GROUP+BY+instance";
    let text = server.get(path).text();
    assert!(text.contains("\"tags\":{\"instance\":\"a:9100\"}"), "{text}");
    assert!(text.contains("[[1700000000000,1.5],[1700000015000,2],[1700000030000,-3]]"), "{text}");
}

/// Labels of series that are known are not read again. What only ends like a series that is known
/// or new is told by its labels, and nothing of its request is stored.
#[test]
fn labels_that_are_none_are_told_beside_series_that_are_known() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let one = |name: &str, time_ms| series(&[("__name__", name), ("job", "a")], &[(time_ms, 1.0)]);
    let known = [one("m", T), one("n", T)].concat();
    assert_eq!(push(&server, "/api/v1/write", &[], &known).status, 204);
    // A name of more bytes than its label has.
    let label = message(1, b"\x0a\x7fx");
    let bad = message(1, &[&label[..], &sample(1.0, T)].concat());
    for body in [
        [one("m", T + 1000), bad.clone(), one("n", T + 1000)].concat(),
        [bad.clone(), one("new", T), one("m", T + 1000)].concat(),
    ] {
        let answer = push(&server, "/api/v1/write", &[], &body);
        assert_eq!(answer.status, 400, "{}", answer.text());
    }
    // Of two samples the last is no label, whatever else is known.
    let two = series(&[("__name__", "two")], &[(T, 1.0), (T + 1000, 2.0)]);
    let body = [one("m", T + 2000), two, one("n", T + 2000)].concat();
    assert_eq!(push(&server, "/api/v1/write", &[], &body).status, 204);
    let samples = ["m", "n", "two"].map(|name| server.samples(&format!("sum:{name}")));
    let times = samples.map(|samples| samples.iter().map(|(ms, _)| ms - T).collect::<Vec<_>>());
    assert_eq!(times, [vec![0, 2000], vec![0, 2000], vec![0, 1000]]);
    let listed = server.get("/api/suggest?type=metrics&q=new").text();
    assert_eq!(listed, "[]", "no series was made");
}

#[test]
fn version_two_tells_what_it_has_written() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let symbols = ["", "__name__", "up", "job", "a", "b"];
    let samples: &[(i64, f64)] = &[(T, 1.0), (T + 1000, 0.0)];
    let body = second(&symbols, &[(&[1, 2, 3, 4], samples), (&[1, 2, 3, 5], samples)]);
    let headers = [("Content-Type", V2)];
    let answer = push(&server, "/api/v1/write", &headers, &body);
    assert_eq!(answer.status, 204, "{}", answer.text());
    assert_eq!(answer.header("x-prometheus-remote-write-samples-written"), "4");
    assert_eq!(answer.header("x-prometheus-remote-write-histograms-written"), "0");
    assert_eq!(answer.header("x-prometheus-remote-write-exemplars-written"), "0");
    // A series of version 1.0 is the same series.
    let body = series(&[("__name__", "up"), ("job", "a")], &[(T + 2000, 1.0)]);
    assert_eq!(push(&server, "/api/v1/write", &[], &body).status, 204);
    assert_eq!(server.samples("sum:up%7Bjob=a%7D").len(), 3);
    // What is good is stored although a reference leads nowhere.
    let body = second(&symbols, &[(&[1, 9], samples), (&[1, 2, 3, 4], &[(T + 3000, 1.0)])]);
    let answer = push(&server, "/api/v1/write", &headers, &body);
    let text = answer.text();
    assert_eq!(answer.status, 400, "{text}");
    assert_eq!(answer.header("x-prometheus-remote-write-samples-written"), "1");
    assert!(text.contains("series 1: symbol 9 is none of the 6"), "{text}");
    assert_eq!(server.samples("sum:up%7Bjob=a%7D").len(), 4);
}

#[test]
fn series_that_cannot_be_stored_are_told_and_the_others_are_stored() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let good = |name: &str| series(&[("__name__", name)], &[(T, 1.0)]);
    let bad = [
        (series(&[("job", "x")], &[(T, 1.0)]), "no name"),
        (series(&[("__name__", "m"), ("a", "1"), ("a", "2")], &[(T, 1.0)]), "duplicate"),
        (series(&[("__name__", "m"), ("", "1")], &[(T, 1.0)]), "a label has no name"),
        (series(&[("__name__", "m")], &[(i64::MAX, 1.0)]), "cannot be stored"),
    ];
    for (at, (bad, word)) in bad.iter().enumerate() {
        let name = format!("after{at}");
        let body = [good("before"), bad.clone(), good(&name)].concat();
        let answer = push(&server, "/api/v1/write", &[], &body);
        let text = answer.text();
        assert_eq!(answer.status, 400, "{text}");
        assert!(text.contains("2 samples were stored, 1 refused; the first in series 2"), "{text}");
        assert!(text.contains(word), "{word}: {text}");
        assert_eq!(server.samples(&format!("sum:{name}")).len(), 1);
    }
    let rejected = |reason| {
        let labels = format!("{{protocol=\"remote_write\",reason=\"{reason}\"}}");
        server.metric(&format!("foliot_rows_rejected_total{labels}"))
    };
    assert_eq!((rejected("name"), rejected("timestamp")), (3.0, 1.0));
    assert_eq!(server.metric("foliot_rows_total{protocol=\"remote_write\"}"), 8.0);
}

#[test]
fn requests_that_are_none_are_refused_whole() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--limits-decoded-body-bytes", "1MiB"]);
    let good = series(&[("__name__", "m")], &[(T, 1.0)]);
    let packed = snappy(&good);
    let send = |headers: &[(&str, &str)], body: &[u8]| {
        let answer = server.request("POST", "/api/v1/write", headers, body);
        (answer.status, answer.text())
    };
    // The head of a block says how long it will be: more than is allowed, more than can be.
    let too_long = [&[0xff, 0xff, 0xff, 0xff, 0x0f][..], &packed].concat();
    let lie = [&[0x80, 0x80, 0x10][..], &packed].concat();
    let cut = &packed[..packed.len() - 1];
    let malformed = snappy(&[&good[..], b"\x0a\x05\x0a\x01"].concat());
    let v2 = [("Content-Type", V2)];
    let cases: [Case<'_>; 11] = [
        (&[], &too_long, 413, "limits.decoded_body_bytes"),
        (&[], &lie, 400, "compressed"),
        (&[], cut, 400, "compressed"),
        (&[], &good, 400, ""),
        (&[], b"", 400, "compressed"),
        (&[], &malformed, 400, "the request is no remote write"),
        (&v2, &snappy(&message(4, b"x")), 400, "the first symbol must be the empty text"),
        (&[("Content-Encoding", "gzip")], &packed, 415, "use snappy"),
        (&[("Content-Type", "application/json")], &packed, 415, "application/x-protobuf"),
        (&[("Content-Type", "application/x-protobuf;proto=x")], &packed, 415, "proto="),
        (&[("X-Foliot-Ack", "perhaps")], &packed, 400, "X-Foliot-Ack"),
    ];
    for (at, (headers, body, status, word)) in cases.iter().enumerate() {
        let (given, text) = send(headers, body);
        assert_eq!(given, *status, "case {at}: {text}");
        assert!(text.contains(word), "case {at}: {text}");
    }
    assert_eq!(server.metric("foliot_rows_total{protocol=\"remote_write\"}"), 0.0);
    // Metadata alone is an empty request, which a sender must not repeat.
    assert_eq!(send(&[], &snappy(&message(3, b"\x08\x01"))), (204, String::new()));
    assert_eq!(send(&[], &packed), (204, String::new()));
}

#[test]
fn a_mark_of_staleness_stays_what_it_is() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let stale = f64::from_bits(0x7ff0_0000_0000_0002);
    let body = series(&[("__name__", "m")], &[(T, 1.0), (T + 1000, stale)]);
    assert_eq!(push(&server, "/api/v1/write", &[], &body).status, 204);
    assert_eq!(server.samples("none:m"), [(T, "1.0".to_owned()), (T + 1000, "\"NaN\"".to_owned())]);
}

#[test]
fn the_listeners_of_prometheus_and_victoriametrics_take_it() {
    let dir = Scratch::new();
    let flags = ["--listen-prometheus", "127.0.0.1:0", "--listen-victoriametrics", "127.0.0.1:0"];
    let server = Server::start(dir.path(), &flags);
    for (at, name) in ["HTTP for Prometheus", "HTTP for VictoriaMetrics"].iter().enumerate() {
        let line = server.welcome.lines().find(|line| line.contains(name)).unwrap();
        let address = line.split_whitespace().nth(1).unwrap();
        let mut socket = BufReader::new(std::net::TcpStream::connect(address).unwrap());
        let body = snappy(&series(&[("__name__", "m")], &[(T + at as i64, 1.0)]));
        socket.get_mut().write_all(&request("POST", "/api/v1/write", &[], &body)).unwrap();
        assert_eq!(read_response(&mut socket).unwrap().status, 204);
    }
    assert_eq!(server.samples("sum:m").len(), 2);
}

#[test]
fn the_text_of_targets_is_stored_line_by_line() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let path = "/api/v1/import/prometheus";
    let text = format!("# TYPE up gauge\nup{{job=\"a b\"}} 1.5 {T}\n");
    assert_eq!(server.post(path, &text).status, 204);
    // The same series by remote write, and lines among which one is bad.
    let body = series(&[("__name__", "up"), ("job", "a b")], &[(T + 1000, 2.0)]);
    assert_eq!(push(&server, "/api/v1/write", &[], &body).status, 204);
    let text = format!("up{{job=\"a b\"}} 3 {}\nup{{job=}} 1\nnow 4\n", T + 2000);
    let answer = server.post(path, &text);
    let wanted = "2 samples were stored, 1 refused; the first in line 2: a label's value";
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains(wanted), "{}", answer.text());
    let wanted = [(T, "1.5"), (T + 1000, "2.0"), (T + 2000, "3.0")];
    assert_eq!(server.samples("none:up"), wanted.map(|(time, text)| (time, text.to_owned())));
    assert_eq!(server.samples("none:now").len(), 1);
    assert_eq!(server.metric("foliot_rows_total{protocol=\"exposition\"}"), 3.0);
    // A text longer than a piece.
    let long: String = (0..20_000).map(|at| format!("long {at} {}\n", T + at)).collect();
    let answer = server.post(path, &(long + "long x\n"));
    let wanted = "20000 samples were stored, 1 refused; the first in line 20001: \"x\"";
    assert!(answer.text().contains(wanted), "{}", answer.text());
    assert_eq!(server.samples("none:long").len(), 20_000);
}

#[test]
fn lines_of_json_go_in_and_out() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let line = |values: &str, times: &[i64]| {
        let metric = r#"{"__name__":"up","job":"a\"b"}"#;
        format!(r#"{{"metric":{metric},"values":[{values}],"timestamps":{times:?}}}"#)
    };
    let first = line("1, 0.1,-2e-3", &[T, T + 1, T + 2]);
    let second = line(r#"null,"Infinity","-Infinity""#, &[T + 3, T + 4, T + 5]);
    let answer = server.post("/api/v1/import", &format!("{first}\n\n{second}"));
    assert_eq!((answer.status, answer.text()), (204, String::new()));
    let export = |form: &str| {
        let answer = server.get(&format!("/api/v1/export?{form}"));
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.text()
    };
    let head = r#"{"metric":{"__name__":"up","job":"a\"b"},"values":"#;
    let (a, b) = (T, T + 5);
    let values = r#"[1,0.1,-0.002,null,"Infinity","-Infinity"]"#;
    let times = format!("[{a},{},{},{},{},{b}]", T + 1, T + 2, T + 3, T + 4);
    let wanted = format!("{head}{values},\"timestamps\":{times}}}\n");
    // What several select comes once.
    assert_eq!(export("match[]=up&match[]={job=~'a.*'}"), wanted);
    // What comes out goes in.
    let answer = server.post("/api/v1/import?db=other", &wanted);
    assert_eq!(answer.status, 204, "{}", answer.text());
    assert_eq!(export("db=other&match[]=up"), wanted);
    let wanted = format!(
        "{head}[1,0.1],\"timestamps\":[{a},{}]}}\n{head}[-0.002],\"timestamps\":[{}]}}\n",
        T + 1,
        T + 2
    );
    let times = "start=1700000000&end=1700000000.002";
    assert_eq!(export(&format!("match[]=up&max_rows_per_line=2&{times}")), wanted);
    let bad = [
        ("x", "must be an object"),
        (r#"{"metric":{"__name__":"m"},"values":[1],"timestamps":[]}"#, "1 values have 0"),
        (r#"{"metric":{"__name__":"m"},"values":[nan],"timestamps":[1]}"#, "\"nan\" is no number"),
        (r#"{"metric":{"a":1},"values":[1],"timestamps":[1]}"#, "object of texts"),
        (r#"{"metric":{"a":"b"},"values":[1],"timestamps":[1]}"#, "no name"),
        (r#"{"other":1}"#, "\"other\" is none of"),
        (r#"{"metric":{"__name__":"m"},"values":[1],"timestamps":[1]} x"#, "a comma or the end"),
        (
            r#"{"metric":{"__name__":"m"},"values":[1],"timestamps":[9223372036854775807]}"#,
            "stored",
        ),
    ];
    for (line, word) in bad {
        let good = r#"{"metric":{"__name__":"good"},"values":[1],"timestamps":[1]}"#;
        let answer = server.post("/api/v1/import", &format!("{good}\n{line}\n{good}"));
        let text = answer.text();
        let head = "2 samples were stored, 1 refused; the first in line 2: ";
        assert!(answer.status == 400 && text.starts_with(head) && text.contains(word), "{text}");
    }
    assert_eq!(server.get("/api/v1/export").status, 400);
}

#[test]
fn remote_write_may_be_packed_by_zstd() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--limits-decoded-body-bytes", "1MiB"]);
    let body = series(&[("__name__", "m")], &[(T, 1.0), (T + 1, 2.0)]);
    let packed = zstd::encode_all(&body[..], 3).unwrap();
    let send = |body: &[u8]| {
        let headers = [("Content-Encoding", "zstd")];
        let answer = server.request("POST", "/api/v1/write", &headers, body);
        (answer.status, answer.text())
    };
    assert_eq!(send(&packed), (204, String::new()));
    assert_eq!(server.samples("none:m").len(), 2);
    let bomb = zstd::encode_all(&vec![0; 2 << 20][..], 3).unwrap();
    for (body, status, word) in [
        (&packed[..packed.len() - 1], 400, "damaged"),
        (&body, 400, "damaged"),
        (&bomb, 413, "limits.decoded_body_bytes"),
    ] {
        let (given, text) = send(body);
        assert!(given == status && text.contains(word), "{given} {text}");
    }
}

/// A matcher of remote read: its kind, the label and the value.
fn matcher(kind: u8, name: &str, value: &str) -> Vec<u8> {
    let names = [message(2, name.as_bytes()), message(3, value.as_bytes())].concat();
    message(3, &[&[0x08, kind], &names[..]].concat())
}

/// A query of remote read.
fn wanted(start_ms: i64, end_ms: i64, matchers: &[Vec<u8>]) -> Vec<u8> {
    let mut body = vec![0x08];
    varint(start_ms as u64, &mut body);
    body.push(0x10);
    varint(end_ms as u64, &mut body);
    body.extend(matchers.concat());
    message(1, &body)
}

#[test]
fn samples_are_read_remotely_as_they_were_written() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    // As remote read spells them too: labels by their names.
    let a = series(&[("__name__", "up"), ("job", "a")], &[(T, 1.5), (T + 1000, STALE)]);
    let b = series(&[("__name__", "up"), ("job", "b")], &[(T + 1000, -0.0)]);
    let other = series(&[("__name__", "down")], &[(T + 2000, 1.0)]);
    let body = [&b[..], &a, &other].concat();
    assert_eq!(push(&server, "/api/v1/write", &[], &body).status, 204);
    let read = |queries: &[Vec<u8>]| {
        let path = "/prometheus/api/v1/read";
        let answer = push(&server, path, &[], &queries.concat());
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.header("content-encoding"), "snappy");
        snap::raw::Decoder::new().decompress_vec(&answer.body).unwrap()
    };
    let up = matcher(0, "__name__", "up");
    // A result for each query, also an empty one; both ends of the time are in it.
    let queries = [
        wanted(T, T + 1000, std::slice::from_ref(&up)),
        wanted(T + 1001, T + 2000, std::slice::from_ref(&up)),
        wanted(T, T + 2000, &[matcher(2, "__name__", "u.|down"), matcher(1, "job", "a")]),
        wanted(T, T + 2000, &[up, matcher(3, "job", "b|c")]),
    ];
    let results = [message(1, &[&a[..], &b].concat()), message(1, b"")].concat();
    let results = [results, message(1, &[&other[..], &b].concat()), message(1, &a)].concat();
    assert_eq!(read(&queries), results);
    for (body, word) in [
        (b"\x0a\x05\x0a".to_vec(), "longer than its message"),
        (wanted(0, 1, &[matcher(4, "a", "b")]), "kind 4"),
        (wanted(0, 1, &[matcher(2, "a", "(")]), "missing closing )"),
    ] {
        let answer = push(&server, "/prometheus/api/v1/read", &[], &body);
        let text = answer.text();
        assert!(answer.status == 400 && text.contains(word), "{text}");
    }
}

/// What a request prefers: the types of answers that it accepts, in a row.
fn accepting(types: &[u8]) -> Vec<u8> {
    message(2, types)
}

/// CRC-32C, bit by bit (RFC 3720, 12.1).
fn castagnoli(bytes: &[u8]) -> u32 {
    let mut rest = !0u32;
    for byte in bytes {
        rest ^= u32::from(*byte);
        (0..8).for_each(|_| rest = if rest & 1 == 1 { rest >> 1 ^ 0x82f6_3b78 } else { rest >> 1 });
    }
    !rest
}

/// A varint, and what is behind it.
fn split_varint(mut bytes: &[u8]) -> (usize, &[u8]) {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = bytes[0];
        bytes = &bytes[1..];
        value |= usize::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return (value, bytes);
        }
    }
}

/// What the fields of a number hold that are bytes, of a message without fixed widths.
fn held(mut message: &[u8], number: usize) -> Vec<&[u8]> {
    let mut found = Vec::new();
    while !message.is_empty() {
        let (tag, rest) = split_varint(message);
        let (value, rest) = split_varint(rest);
        let (bytes, rest) = rest.split_at(if tag & 7 == 2 { value } else { 0 });
        found.extend((tag == number << 3 | 2).then_some(bytes));
        message = rest;
    }
    found
}

/// The messages of the frames of an answer.
#[expect(clippy::big_endian_bytes, reason = "the checksums of frames are")]
fn frames(mut body: &[u8]) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    while !body.is_empty() {
        let (length, rest) = split_varint(body);
        let (sum, rest) = rest.split_at(4);
        let (message, rest) = rest.split_at(length);
        assert_eq!(sum, castagnoli(message).to_be_bytes());
        messages.push(message.to_vec());
        body = rest;
    }
    messages
}

/// A series of one chunk of numbers, in the answer to the query of a number: labels, first and last
/// time, and the data of the chunk as hexadecimal digits.
fn chunked(query: u8, labels: &[(&str, &str)], span_ms: (i64, i64), hex: &str) -> Vec<u8> {
    let digits = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    let data: Vec<u8> = (0..hex.len()).step_by(2).map(digits).collect();
    let mut chunk = vec![1 << 3];
    varint(span_ms.0 as u64, &mut chunk);
    chunk.push(2 << 3);
    varint(span_ms.1 as u64, &mut chunk);
    chunk.extend([3 << 3, 1]);
    chunk.extend(message(4, &data));
    let labels = labels.iter().flat_map(|(name, value)| {
        message(1, &[message(1, name.as_bytes()), message(2, value.as_bytes())].concat())
    });
    let series: Vec<u8> = labels.chain(message(2, &chunk)).collect();
    [message(1, &series), vec![2 << 3, query]].concat()
}

#[test]
fn samples_are_read_remotely_as_frames_of_chunks() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let a = [(T, 1.5), (T + 1000, STALE), (T + 2500, 2.25)];
    let body = [
        series(&[("__name__", "up"), ("job", "b")], &[(T + 1000, -0.0)]),
        series(&[("Zone", "z"), ("__name__", "up"), ("job", "c")], &[(T + 1000, -0.0)]),
        series(&[("__name__", "up"), ("job", "a")], &a),
    ];
    assert_eq!(push(&server, "/api/v1/write", &[], &body.concat()).status, 204);
    let read =
        |queries: &[Vec<u8>]| push(&server, "/prometheus/api/v1/read", &[], &queries.concat());
    let up = matcher(0, "__name__", "up");
    let queries = [
        wanted(T, T + 2500, std::slice::from_ref(&up)),
        wanted(T, T + 10, &[matcher(0, "job", "nobody")]),
        wanted(T + 1000, T + 1000, &[up, matcher(0, "job", "b")]),
    ];
    // Chunks that the code of Prometheus 3.6 made of the same samples.
    let (long, short) = (
        "000380a0abfef9623ff8000000000000e807c3f400800000000000303e93ff20000000000020",
        "0001d0afabfef9628000000000000000",
    );
    let once = (T + 1000, T + 1000);
    // By their labels, of which those in capitals come first; a query without series has no frame.
    let frames_wanted = [
        chunked(0, &[("Zone", "z"), ("__name__", "up"), ("job", "c")], once, short),
        chunked(0, &[("__name__", "up"), ("job", "a")], (T, T + 2500), long),
        chunked(0, &[("__name__", "up"), ("job", "b")], once, short),
        chunked(2, &[("__name__", "up"), ("job", "b")], once, short),
    ];
    // What Prometheus sends, in a row or one by one; and types that are not known before it.
    for accepted in [accepting(&[1, 0]), vec![2 << 3, 1, 2 << 3, 0], accepting(&[9, 1])] {
        let answer = read(&[queries.concat(), accepted]);
        assert_eq!(answer.status, 200, "{}", answer.text());
        let kind = "application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse";
        assert_eq!(answer.header("content-type"), kind);
        assert_eq!(answer.header("content-encoding"), "");
        assert_eq!(frames(&answer.body), frames_wanted);
    }
    let samples = read(&[queries.concat()]).body;
    assert_eq!(read(&[queries.concat(), accepting(&[0, 1])]).body, samples);
    let answer = read(&[queries.concat(), accepting(&[2, 7])]);
    let reason = "the request is no remote read: none of the accepted types of answers is known: \
                  [2, 7]; SAMPLES (0) and STREAMED_XOR_CHUNKS (1) are";
    assert!(answer.status == 400 && answer.text().contains(reason), "{}", answer.text());
}

#[test]
fn a_long_answer_of_remote_read_comes_in_many_frames() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    // Values that change in all their bits: some eight bytes a sample, in all three megabytes.
    let mut seed = 1u64;
    let mut noise = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        1.0 + (seed >> 12) as f64 / (1u64 << 52) as f64
    };
    for part in 0..4i64 {
        let samples: Vec<_> =
            (0..100_000).map(|n| (T + (part * 100_000 + n) * 10, noise())).collect();
        let body = series(&[("__name__", "noise")], &samples);
        assert_eq!(push(&server, "/api/v1/write", &[], &body).status, 204);
    }
    let query = wanted(T, T + 4_000_000, &[matcher(0, "__name__", "noise")]);
    let query = [query, accepting(&[1])].concat();
    let answer = push(&server, "/prometheus/api/v1/read", &[], &query);
    let frames = frames(&answer.body);
    assert!(frames.len() > 2, "{} frames", frames.len());
    assert!(frames.iter().all(|frame| frame.len() < (1 << 20) + 1000));
    // Each names the series, and no sample is lost.
    let label = [message(1, b"__name__"), message(2, b"noise")].concat();
    let mut samples = 0;
    for frame in &frames {
        let [series] = held(frame, 1)[..] else { panic!("one series is in a frame") };
        assert_eq!(held(series, 1), [&label]);
        for chunk in held(series, 2) {
            let [data] = held(chunk, 4)[..] else { panic!("a chunk has data") };
            samples += u32::from(data[0]) << 8 | u32::from(data[1]);
        }
    }
    assert_eq!(samples, 400_000);
}

#[test]
fn what_a_sender_says_of_metrics_is_told() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    // MetricMetadata of version 1.0: type, metric_family_name, help, unit.
    let family = |kind: u8, name: &str, help: &str, unit: &str| {
        let texts = [(2, name), (4, help), (5, unit)];
        let texts = texts.into_iter().flat_map(|(number, text)| message(number, text.as_bytes()));
        message(3, &[vec![0x08, kind], texts.collect()].concat())
    };
    let first = [
        family(1, "sent_total", "Bytes sent", "bytes"),
        series(&[("__name__", "sent_total")], &[(T, 1.0)]),
        family(3, "took", "Time taken", "seconds"),
        family(0, "unsaid", "", ""),
        family(99, "odd", "", ""),
        message(3, b"\x12\x01\xff"),
    ];
    assert_eq!(push(&server, "/api/v1/write", &[], &first.concat()).status, 204);
    // Version 2.0: each series, by the table: type, help_ref, unit_ref.
    let symbols = ["", "__name__", "wait_bucket", "le", "1", "Waiting", "s", "B", "level"];
    let table: Vec<u8> = symbols.iter().flat_map(|text| message(4, text.as_bytes())).collect();
    let described = |labels: &[u8], kind: u8, help: u8, unit: u8| {
        let about = message(5, &[0x08, kind, 0x18, help, 0x20, unit]);
        message(5, &[message(1, labels), about].concat())
    };
    let second = [
        table,
        described(&[3, 4, 1, 2], 3, 5, 6),
        described(&[7, 4, 1, 8], 2, 0, 0),
        // What is not in the table says nothing.
        described(&[1, 8], 2, 99, 99),
    ];
    let kind = [("Content-Type", harness::remote::V2)];
    let answer = push(&server, "/api/v1/write", &kind, &second.concat());
    assert_eq!(answer.status, 204, "{}", answer.text());
    let told = server.get("/prometheus/api/v1/metadata").text();
    for of in [
        r#""sent_total":[{"help":"Bytes sent","type":"counter","unit":"bytes"}]"#,
        r#""took":[{"help":"Time taken","type":"histogram","unit":"seconds"}]"#,
        r#""wait":[{"help":"Waiting","type":"histogram","unit":"s"}]"#,
        r#""level":[{"help":"","type":"gauge","unit":""}]"#,
    ] {
        assert!(told.contains(of), "{of} in {told}");
    }
    assert!(!told.contains("unsaid") && !told.contains("odd"), "{told}");
    server.stop();
}
