//! HTTP: routes, bodies, limits, connections.

use crate::harness::{Response, Scratch, Server, read_response, read_response_to, request};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use std::io::{BufReader, Read, Write};
use std::time::{Duration, Instant};

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn point(time: i64) -> String {
    format!("{{\"metric\":\"m\",\"timestamp\":{time},\"value\":{time},\"tags\":{{\"h\":\"a\"}}}}")
}

#[test]
fn routes_answer_in_their_own_dialect() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let table: [(&str, &str, u16, &str); 26] = [
        ("GET", "/", 200, "<!doctype html>"),
        ("GET", "/s/page.js", 200, "/api/foliot/v1"),
        ("GET", "/s/editor.js", 200, "cm-editor"),
        ("GET", "/s/files.js", 200, "Drop a file here"),
        ("GET", "/s/parquet.js", 200, "PAR1"),
        ("GET", "/s/page.css", 200, ":root"),
        ("GET", "/ping", 204, ""),
        ("GET", "/ping?verbose=true", 200, "1.8."),
        ("GET", "/health", 200, "\"status\":\"pass\""),
        ("GET", "/-/healthy", 200, "healthy"),
        ("GET", "/-/ready", 200, "ready"),
        ("GET", "/metrics", 200, "foliot_build_info{"),
        ("GET", "/api/version", 200, "\"version\""),
        ("GET", "/API/V1/Version/", 200, "\"version\""),
        ("GET", "/api/aggregators", 200, "\"zimsum\""),
        ("GET", "/api/config/filters", 200, "literal_or"),
        ("GET", "/api/suggest?type=metrics", 200, "[]"),
        ("GET", "/api/suggest", 400, "error"),
        ("GET", "/api/put", 405, "error"),
        ("GET", "/api/v2/query", 405, "allowed here: POST"),
        ("GET", "/api/v7/query", 501, "greater than the max"),
        (
            "GET",
            "/api/nosuch",
            404,
            "{\"error\":{\"code\":404,\"message\":\"Endpoint not found\"}}",
        ),
        ("GET", "/nosuch", 404, "nothing is at /nosuch"),
        ("GET", "/write?db=x", 405, "allowed here: POST"),
        ("POST", "/api/query", 400, "error"),
        ("GET", "/api/query?start=1h-ago&m=sum:none", 400, "No such name for 'metrics': 'none'"),
    ];
    for (method, path, status, text) in table {
        let answer = server.request(method, path, &[], b"");
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.text());
        assert!(answer.text().contains(text), "{method} {path}: {}", answer.text());
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
    }
    let page = server.get("/");
    let policy = page.header("content-security-policy");
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert!(!page.text().contains("http://") || page.text().contains("http://www.w3.org"));
    let mut socket = BufReader::new(server.connect());
    socket.get_mut().write_all(&request("HEAD", "/metrics", &[], b"")).unwrap();
    assert_eq!(read_response_to("HEAD", &mut socket).unwrap().status, 200);
    socket.get_mut().write_all(&request("GET", "/ping", &[], b"")).unwrap();
    assert_eq!(read_response(&mut socket).unwrap().status, 204, "no body follows a HEAD");
}

#[test]
fn methods_that_nobody_serves_are_refused_with_those_that_are() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    for (path, allowed) in [
        ("/", "GET"),
        ("/api/query?start=1h-ago&m=sum:x", "GET, POST, DELETE"),
        ("/api/put", "POST"),
        ("/api/aggregators", "GET"),
        ("/write?db=x", "POST"),
        ("/prometheus/api/v1/query?query=up", "GET, POST"),
        ("/api/foliot/v1/status", "GET"),
        ("/api/foliot/v1/annotations", "GET, POST, DELETE"),
    ] {
        for method in ["TRACE", "FOO", "PATCH"] {
            let answer = server.request(method, path, &[], b"");
            let told = (answer.status, answer.header("allow"));
            assert_eq!(told, (405, allowed), "{method} {path}: {}", answer.text());
        }
    }
    assert_eq!(server.request("TRACE", "/nosuch", &[], b"").status, 404);
    // The end of the first line, which says that it is HTTP, is far away.
    let long = format!("/query?db=d&q=SELECT+{}", "a=b+".repeat(2000));
    for method in ["TRACE", "BREW"] {
        let answer = server.request(method, &long, &[], b"");
        assert_eq!((answer.status, answer.header("allow")), (405, "GET, POST"), "{method}");
    }
    server.stop();
}

#[test]
fn bodies_arrive_plain_chunked_or_compressed() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let plain = point(1_700_000_001);
    assert_eq!(server.post("/api/put", &plain).status, 204);
    let packed = gzip(point(1_700_000_002).as_bytes());
    let headers = [("Content-Encoding", "gzip")];
    assert_eq!(server.request("POST", "/api/put", &headers, &packed).status, 204);
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
    zlib.write_all(point(1_700_000_003).as_bytes()).unwrap();
    let headers = [("Content-Encoding", "deflate")];
    let status = server.request("POST", "/api/put", &headers, &zlib.finish().unwrap()).status;
    assert_eq!(status, 204);
    let text = point(1_700_000_004);
    let (head, tail) = text.split_at(10);
    let chunked = format!("{:x}\r\n{head}\r\n{:x}\r\n{tail}\r\n0\r\n\r\n", head.len(), tail.len());
    let headers = [("Transfer-Encoding", "chunked"), ("Content-Type", "applicaton/json")];
    assert_eq!(server.request("POST", "/api/put", &headers, chunked.as_bytes()).status, 204);
    let expected: Vec<_> =
        (1..=4).map(|n| (1_700_000_000_000 + n * 1000, (1_700_000_000 + n).to_string())).collect();
    assert_eq!(server.samples("sum:m"), expected);
    let answers = [
        (("Content-Encoding", "zstd"), &b"x"[..], 415),
        (("Content-Encoding", "gzip, gzip"), b"x", 415),
        (("Content-Encoding", "gzip"), b"not packed", 400),
        (("Content-Encoding", "gzip"), &packed[..packed.len() - 9], 400),
    ];
    for (header, body, status) in answers {
        let answer = server.request("POST", "/api/put", &[header], body);
        assert_eq!(answer.status, status, "{header:?}: {}", answer.text());
    }
}

#[test]
fn bodies_beyond_the_limits_are_refused_early() {
    let dir = Scratch::new();
    let limits = ["--limits-body-bytes", "1MiB", "--limits-decoded-body-bytes", "2MiB"];
    let server = Server::start(dir.path(), &limits);
    let began = Instant::now();
    // Ten gigabytes announced: refused by the announcement.
    let announced =
        server.request("POST", "/write?db=d", &[("Content-Length", "10000000000")], b"");
    assert_eq!(announced.status, 413);
    assert!(announced.text().contains("limits.body_bytes"), "{}", announced.text());
    let chunk = [format!("{:x}\r\n", 2 << 20).into_bytes(), vec![b'x'; 2 << 20]].concat();
    let headers = [("Transfer-Encoding", "chunked")];
    assert_eq!(server.request("POST", "/write?db=d", &headers, &chunk).status, 413);
    let before = server.resident_bytes();
    let bomb = gzip(&vec![b'\n'; 200 << 20]);
    assert!(bomb.len() < 1 << 20);
    let headers = [("Content-Encoding", "gzip")];
    let answer = server.request("POST", "/write?db=d", &headers, &bomb);
    assert_eq!(answer.status, 413);
    assert!(answer.text().contains("limits.decoded_body_bytes"), "{}", answer.text());
    let grown = server.resident_bytes().saturating_sub(before);
    assert!(grown < 16 << 20, "a bomb of 200 MiB cost {grown} bytes");
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!(server.post("/write?db=d", "m v=1 1\n").status, 204);
}

#[test]
fn a_body_that_never_finds_memory_is_told_so_and_not_to_come_again() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--limits-pending-body-bytes", "1MiB"]);
    let bomb = gzip(&vec![b'\n'; 200 << 20]);
    let headers = [("Content-Encoding", "gzip")];
    let unpacked = server.request("POST", "/write?db=d", &headers, &bomb);
    let announced =
        server.request("POST", "/write?db=d", &[("Content-Length", "1100000")], b"m v=1 1\n");
    for refused in [unpacked, announced] {
        assert_eq!(refused.status, 413, "{}", refused.text());
        assert!(refused.text().contains("limits.pending_body_bytes"), "{}", refused.text());
        assert!(refused.header("retry-after").is_empty());
    }
    assert_eq!(server.metric("foliot_limits_met_total{limit=\"limits.pending_body_bytes\"}"), 2.0);
    server.stop();
}

#[test]
fn requests_are_pipelined_and_connections_kept() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let mut socket = BufReader::new(server.connect());
    let mut bytes = Vec::new();
    for number in 0..50 {
        bytes.extend(request("POST", "/api/put", &[], point(1_700_000_000 + number).as_bytes()));
        bytes.extend(request("GET", "/api/version", &[], b""));
    }
    socket.get_mut().write_all(&bytes).unwrap();
    for _ in 0..50 {
        assert_eq!(read_response(&mut socket).unwrap().status, 204);
        assert!(read_response(&mut socket).unwrap().text().contains("version"));
    }
    assert_eq!(server.samples("sum:m").len(), 50);
    // A refused request in between leaves the connection usable.
    socket.get_mut().write_all(&request("POST", "/api/put", &[], b"{oops")).unwrap();
    assert_eq!(read_response(&mut socket).unwrap().status, 400);
    socket.get_mut().write_all(&request("GET", "/ping", &[], b"")).unwrap();
    assert_eq!(read_response(&mut socket).unwrap().status, 204);
}

#[test]
fn odd_letters_of_an_address_are_read_as_servers_of_go_read_them() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let text = "up{job=\"a<b>\"} 1\nup{job=\"c\"} 2\n";
    let answer = server.request("POST", "/api/v1/import/prometheus", &[], text.as_bytes());
    assert_eq!(answer.status, 204, "{}", answer.text());
    let mut socket = BufReader::new(server.connect());
    let long = format!("&match[]={{a!=\"é`{}\",job=\"c\"}}", "x".repeat(50_000));
    for number in 0..10 {
        // Each on its own, with a body before it, and over more than one read.
        socket.get_mut().write_all(&request("POST", "/api/put", &[], b"{\"<oops>\"")).unwrap();
        assert_eq!(read_response(&mut socket).unwrap().status, 400);
        let head = |more: &str| {
            format!(
                "GET /prometheus/federate?n={number}&match[]=up{{job=\"a<b>\"}}{more} HTTP/1.1\r\n\
                 Host: localhost\r\nX-Odd: \"<>\"\r\n\r\n"
            )
        };
        for piece in head("").as_bytes().chunks(30) {
            socket.get_mut().write_all(piece).unwrap();
            std::thread::sleep(Duration::from_millis(2));
        }
        let has = |answer: &Response, job: &str| answer.text().contains(&format!("job=\"{job}\""));
        let answer = read_response(&mut socket).unwrap();
        assert!(answer.status == 200 && has(&answer, "a<b>"), "{}", answer.text());
        assert!(!has(&answer, "c"), "{}", answer.text());
        socket.get_mut().write_all(head(&long).as_bytes()).unwrap();
        let answer = read_response(&mut socket).unwrap();
        assert!(has(&answer, "a<b>") && has(&answer, "c"), "{} {}", answer.status, answer.text());
    }
}

#[test]
fn answers_are_compressed_when_asked_for() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let plain = server.get("/metrics");
    assert_eq!(plain.header("content-encoding"), "");
    let packed = server.request("GET", "/metrics", &[("Accept-Encoding", "gzip, deflate")], b"");
    assert_eq!(packed.header("content-encoding"), "gzip");
    assert!(packed.body.len() < plain.body.len() / 2);
    let mut text = String::new();
    flate2::read::GzDecoder::new(&packed.body[..]).read_to_string(&mut text).unwrap();
    assert!(text.contains("foliot_build_info"));
}

#[test]
fn a_stalled_head_is_cut_off_while_others_are_served() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let began = Instant::now();
    let mut slow: Vec<_> = (0..20).map(|_| server.connect()).collect();
    for socket in &mut slow {
        socket.write_all(b"GET /api/version HTTP/1.1\r\nX-Slow: ").unwrap();
    }
    assert_eq!(server.get("/api/version").status, 200);
    for socket in &mut slow {
        let mut answer = Vec::new();
        let _ = socket.read_to_end(&mut answer);
    }
    let took = began.elapsed().as_secs();
    assert!((9..20).contains(&took), "{took} s");
    server.wait_for_metric("foliot_connections_timed_out_total", 20.0);
}

#[test]
fn foreign_pages_cannot_write() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let body = point(1_700_000_000);
    let from =
        |origin| server.request("POST", "/api/put", &[("Origin", origin)], body.as_bytes()).status;
    assert_eq!(from("http://evil.example"), 403);
    assert_eq!(from("null"), 403);
    assert_eq!(from("http://localhost"), 204);
    assert_eq!(server.request("OPTIONS", "/api/put", &[], b"").status, 405);
    // InfluxDB 1.6.7 takes it here, and nowhere else.
    for path in ["/query", "/write"] {
        let response = server.request("OPTIONS", path, &[], b"");
        assert_eq!((response.status, response.text().as_str()), (200, ""), "{path}");
    }
    assert_eq!(server.request("OPTIONS", "/ping", &[], b"").status, 405);
}

#[test]
fn acknowledgement_is_chosen_by_request() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    for level in ["durable", "os", "memory", "Durable"] {
        let headers = [("X-Foliot-Ack", level)];
        assert_eq!(server.request("POST", "/write?db=d", &headers, b"m v=1 1").status, 204);
    }
    let headers = [("X-Foliot-Ack", "perhaps")];
    let answer = server.request("POST", "/write?db=d", &headers, b"m v=1 1");
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("durable, os or memory"));
}

#[test]
fn influx_writes_answer_as_its_versions_do() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--influx-auto-create-database=false"]);
    let table: [(&str, &str, u16, &str); 8] = [
        ("/write?db=default", "m v=1 1", 204, ""),
        ("/write", "m v=1 1", 400, "database is required"),
        ("/write?db=other", "m v=1 1", 404, "database not found: \\\"other\\\""),
        ("/write?db=default", "m v=x 1\nm v=2 2", 400, "partial write"),
        ("/write?db=default&precision=x", "m v=1 1", 400, "invalid precision"),
        ("/api/v2/write?bucket=default", "m v=1 1", 204, ""),
        ("/api/v2/write?bucket=nope", "m v=1 1", 404, "\"code\":\"not found\""),
        ("/api/v3/write_lp?db=default", "m v=1 1", 204, ""),
    ];
    for (path, body, status, text) in table {
        let answer = server.post(path, body);
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
        assert!(answer.text().contains(text), "{path}: {}", answer.text());
    }
}

#[test]
fn large_writes_are_stored_in_slices_without_showing_it() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let line = |number: usize| match number {
        250_000 => "slice,h=a v=oops\n".to_owned(),
        // A string with a newline in it must not be cut in two.
        _ if number.is_multiple_of(7) => {
            format!("slice,h=a v={number}i,s=\"two\nlines\" {number}\n")
        }
        _ => format!("slice,h=a v={number}i,s=\"one line\" {number}\n"),
    };
    let body: String = (1..=300_000).map(line).collect();
    assert!(body.len() > 10 << 20);
    let before = server.resident_bytes();
    let answer = server.post("/write?db=default&precision=s", &body);
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("unable to parse 'slice,h=a v=oops'"), "{}", answer.text());
    assert!(answer.text().contains("partial write") && answer.text().contains("dropped=0"));
    assert_eq!(server.metric("foliot_rows_total{protocol=\"influx_http\"}"), 299_999.0);
    assert!(server.metric("foliot_batches_total{protocol=\"influx_http\"}") >= 3.0);
    let grown = server.resident_bytes().saturating_sub(before);
    assert!(grown < 150 << 20, "{grown} bytes for a body of {}", body.len());
    let answer = server.get("/api/query?start=1&end=400000&m=sum:0all-count:slice.v");
    assert!(answer.text().contains(":299999.0"), "{}", answer.text());
}

#[test]
fn a_flood_of_bad_points_costs_little() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let before = server.resident_bytes();
    let body = gzip(format!("[{}{{}}]", "{},".repeat(5_000_000)).as_bytes());
    assert!(body.len() < 100_000);
    let answer = server.request("POST", "/api/put", &[("Content-Encoding", "gzip")], &body);
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("More than 100000 of the first"), "{}", answer.text());
    let grown = server.resident_bytes().saturating_sub(before);
    assert!(grown < 200 << 20, "{grown} bytes");
    // Large bodies of good points are whole, and a bad one is told by its place.
    let points = (0..40_000).map(|number| match number {
        30_000 => {
            "{\"metric\":\"m\",\"timestamp\":1,\"value\":\"x\",\"tags\":{\"n\":\"30000\"}}".into()
        }
        number => point(1_700_000_000 + number),
    });
    let body = format!("[{}]", points.collect::<Vec<_>>().join(","));
    assert!(body.len() > 2 << 20);
    let answer = server.post("/api/put?details", &body);
    assert_eq!(answer.status, 400);
    let text = answer.text();
    assert!(text.starts_with("{\"success\":39999,\"failed\":1,"), "{:.200}", text);
    assert!(text.contains("\"n\":\"30000\""), "{:.500}", text);
    assert_eq!(server.samples("sum:m").len(), 39_999);
}

#[test]
fn bad_requests_never_end_the_server() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let deep = "[".repeat(100_000);
    let long_name = "x".repeat(50_000);
    let bodies: [(&str, String); 12] = [
        ("/api/put", String::new()),
        ("/api/put", "[]".into()),
        ("/api/put", "{".into()),
        ("/api/put", deep.clone()),
        ("/api/put", format!("{{\"metric\":{deep}")),
        ("/api/put", "[{\"metric\":\"m\",\"timestamp\":1e400,\"value\":1,\"tags\":{}}]".into()),
        ("/api/put", format!("{{\"metric\":\"{long_name}\",\"timestamp\":1,\"value\":1,\"tags\":{{\"a\":\"b\"}}}}")),
        ("/api/query", deep),
        ("/api/query", "{\"start\":\"x\",\"queries\":[{}]}".into()),
        ("/api/query", "{\"start\":1,\"queries\":[{\"metric\":\"m\",\"aggregator\":\"sum\",\"filters\":[{\"type\":\"regexp\",\"tagk\":\"h\",\"filter\":\"((x{1000}){1000}){10}\"}]}]}".into()),
        ("/write?db=d", "\u{0}\u{1}\u{ffff}".into()),
        ("/write?db=d", format!("{long_name} v=1 1")),
    ];
    for (path, body) in &bodies {
        let answer = server.post(path, body);
        assert!((400..500).contains(&answer.status), "{path} {:.40}: {}", body, answer.status);
    }
    for bytes in
        [&b"GET / HTTP/9.9\r\n\r\n"[..], b"POST /api/put HTTP/1.1\r\nContent-Length: -1\r\n\r\n"]
    {
        let answer = server.ask(bytes);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    assert_eq!(server.get("/-/ready").status, 200);
}

#[test]
fn a_stalled_body_is_given_up_and_its_memory_is_shared_fairly() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--limits-pending-body-bytes", "256KiB"]);
    let mut slow = BufReader::new(server.connect());
    let head = "POST /write?db=d HTTP/1.1\r\nHost: localhost\r\nContent-Length: 250000\r\n\r\n";
    slow.get_mut().write_all(head.as_bytes()).unwrap();
    slow.get_mut().write_all(&b"m v=1 1\n".repeat(16 << 10)).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    // The memory for bodies is taken: another large one waits for 2 s and is told to come back.
    let began = Instant::now();
    let body = b"m v=1 1\n".repeat(32 << 10);
    let refused = server.request("POST", "/write?db=d", &[], &body);
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert!(!refused.header("retry-after").is_empty());
    assert!(began.elapsed() < Duration::from_secs(5));
    // The slow one is given up after ten seconds of silence.
    assert_eq!(read_response(&mut slow).unwrap().status, 408);
    assert_eq!(server.metric("foliot_limits_met_total{limit=\"body_pace\"}"), 1.0);
    assert_eq!(server.request("POST", "/write?db=d", &[], &body[..100_000 & !7]).status, 204);
}

#[test]
fn fields_and_facts_share_the_memory_of_names() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--set", "limits.registry_bytes=16MiB"]);
    let write = |first: usize| {
        let fields: Vec<_> = (first..first + 5_000).map(|n| format!("f{n}=1")).collect();
        server.post("/write?db=default", &format!("wide {} 1\n", fields.join(",")))
    };
    let refused = (0..100).map(|round| write(round * 5_000)).find(|answer| answer.status != 204);
    let refused = refused.expect("it is refused at last");
    assert_eq!(refused.status, 400, "{}", refused.text());
    assert!(refused.text().contains("limits.registry_bytes"), "{}", refused.text());
    let held = || server.metric("foliot_registry_bytes") + server.metric("foliot_catalog_bytes");
    let before = held();
    assert!(before < f64::from(20 << 20), "{before}");
    for round in 200..250 {
        assert_eq!(write(round * 5_000).status, 400);
    }
    assert!(held() < before + 65536.0, "what is refused leaves nothing behind");
    // What a wide row did not fit into, narrower ones fill.
    let narrow = |first: usize, count: usize| {
        let lines = (first..first + count).map(|n| format!("narrow g{n}=1 1\n"));
        server.post("/write?db=default", &lines.collect::<String>()).status
    };
    for (first, count) in [(0, 500), (1_000_000, 1)] {
        let mut rounds = (0..10_000).map(|round| narrow(first + round * count, count));
        assert!(rounds.any(|status| status == 400), "it is full at last");
    }
    let note = r#"{"startTime":"1700000000","description":"more"}"#;
    for (path, body) in
        [("/api/annotation", note), ("/api/uid/assign", r#"{"metric":["some.new.name"]}"#)]
    {
        let answer = server.post(path, body);
        assert_eq!(answer.status, 503, "{path}: {}", answer.text());
        assert!(answer.text().contains("limits.registry_bytes"), "{path}: {}", answer.text());
    }
    assert_eq!(write(0).status, 204, "known fields go on");
    server.stop();
}

#[test]
fn series_beyond_their_memory_are_refused_and_known_ones_go_on() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--set", "limits.registry_bytes=16MiB"]);
    let write = |first: usize| {
        let line = |n: usize| format!("m,host=a-long-name-of-a-host-{n:0>40} v=1 1\n");
        let lines: String = (first..first + 5_000).map(line).collect();
        server.post("/write?db=default", &lines)
    };
    let mut rounds = (0..200).map(|round| write(round * 5_000));
    let refused = rounds.find(|answer| answer.status != 204);
    let refused = refused.expect("it is refused at last");
    assert_eq!(refused.status, 400, "{}", refused.text());
    assert!(refused.text().contains("limits.registry_bytes"), "{}", refused.text());
    assert!(server.metric("foliot_registry_bytes") < f64::from(20 << 20));
    assert_eq!(write(0).status, 204, "known series go on");
    server.stop();
}
