//! Limits that are met are counted, each by its name: all of the table of docs/limits.md.

use crate::harness;
use crate::harness::{Scratch, Server};
use std::io::{Read, Write};

/// Limits whose counters other tests look at, and the file of these.
const ELSEWHERE: [(&str, &str); 13] = [
    ("body_pace", "http.rs"),
    ("first_bytes", "sockets.rs"),
    ("limits.answer_bytes", "answers.rs"),
    ("limits.connections", "sockets.rs"),
    ("limits.connections_per_address", "sockets.rs"),
    ("limits.pending_body_bytes", "http.rs"),
    ("limits.queries", "queries.rs"),
    ("limits.query_memory_bytes", "answers.rs"),
    ("limits.query_samples", "influx.rs"),
    ("limits.query_wait", "queries.rs"),
    ("limits.scrape_body_bytes", "scrape.rs"),
    ("limits.scrape_samples", "scrape.rs"),
    ("limits.scrape_targets", "scrape.rs"),
];

/// The names of the first table, which tells what is counted.
fn named() -> Vec<String> {
    let page = std::fs::read_to_string("../../docs/limits.md").unwrap();
    let table = page.split("\n\n").find(|part| part.starts_with("| limit |")).unwrap();
    let rows = table.lines().skip(2);
    rows.map(|row| row.split('`').nth(1).unwrap().to_owned()).collect()
}

fn met(server: &Server, limit: &str) -> f64 {
    server.metric(&format!("foliot_limits_met_total{{limit=\"{limit}\"}}"))
}

fn ask(server: &Server, statement: &str) -> String {
    let path = format!("/query?db=default&q={}", statement.replace('%', "%25").replace(' ', "%20"));
    server.post(&path.replace('+', "%2B").replace('\n', "%0A"), "").text()
}

/// Sends a statement that is too long for a path.
fn ask_long(server: &Server, statement: &str) -> String {
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    let body = format!("q={}", statement.replace('+', "%2B"));
    server.request("POST", "/query?db=default", &form, body.as_bytes()).text()
}

#[test]
fn every_limit_has_a_counter_and_a_test_that_sees_it_count() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let figures = server.get("/metrics").text();
    let here = std::fs::read_to_string("../../tests/limits.rs").unwrap();
    for name in named() {
        let counter = format!("foliot_limits_met_total{{limit=\"{name}\"}} 0\n");
        assert!(figures.contains(&counter), "{name} has no counter");
        // What fills half of a gibibyte is met in no test.
        if name == "limits.scrape_bytes" {
            continue;
        }
        let file = ELSEWHERE.iter().find(|(limit, _)| *limit == name).map(|(_, file)| *file);
        let text = file.map(|file| std::fs::read_to_string(format!("../../tests/{file}")).unwrap());
        let text = text.as_ref().unwrap_or(&here).replace('\\', "");
        assert!(text.contains(&format!("\"{name}\"")), "no test sees {name} count");
    }
    server.stop();
}

#[test]
fn what_may_be_made_is_limited_and_counted() {
    let dir = Scratch::new();
    let flags = [
        "--set=limits.databases=3",
        "--set=limits.policies=4",
        "--set=limits.continuous_queries=1",
        "--set=limits.users=1",
        "--set=limits.tokens=1",
    ];
    let server = Server::start(dir.path(), &flags);
    let make = |limit: &str, acts: &[&dyn Fn() -> String]| {
        let (last, first) = acts.split_last().unwrap();
        for act in first {
            let said = act();
            assert!(!said.contains("are there already"), "{limit}: {said}");
        }
        let before = met(&server, limit);
        let said = last();
        assert!(said.contains(limit), "{limit}: {said}");
        assert_eq!((before, met(&server, limit)), (0.0, 1.0), "{limit}");
    };
    let shared = &server;
    let asking = |statement: &'static str| move || ask(shared, statement);
    make(
        "limits.databases",
        &[&asking("CREATE DATABASE a"), &asking("CREATE DATABASE b"), &asking("CREATE DATABASE c")],
    );
    make(
        "limits.policies",
        &[
            &asking("CREATE RETENTION POLICY x ON a DURATION 1d REPLICATION 1"),
            &asking("CREATE RETENTION POLICY y ON a DURATION 1d REPLICATION 1"),
        ],
    );
    make(
        "limits.continuous_queries",
        &[
            &asking(
                "CREATE CONTINUOUS QUERY p ON a BEGIN SELECT mean(v) INTO n FROM m GROUP BY time(1h) END",
            ),
            &asking(
                "CREATE CONTINUOUS QUERY q ON a BEGIN SELECT mean(v) INTO n FROM m GROUP BY time(1h) END",
            ),
        ],
    );
    make(
        "limits.users",
        &[
            &asking("CREATE USER p WITH PASSWORD 'secret secret'"),
            &asking("CREATE USER q WITH PASSWORD 'secret secret'"),
        ],
    );
    let token = || {
        let asked = r#"{"permissions":[{"action":"read","resource":{"type":"buckets"}}]}"#;
        server.post("/api/v2/authorizations", asked).text()
    };
    make("limits.tokens", &[&token, &token]);
    server.stop();
}

#[test]
fn what_a_question_may_want_is_limited_and_counted() {
    let dir = Scratch::new();
    let flags = [
        "--set=limits.names_searched=2",
        "--set=influx.series_max=1",
        "--set=influx.buckets_max=10",
        "--set=limits.query_seconds=1ms",
    ];
    let server = Server::start(dir.path(), &flags);
    let lines = "m,h=a v=1 1\nm,h=b v=1 1\nn v=1 1\no v=1 1";
    assert_eq!(server.post("/write?db=default", lines).status, 204);
    let check = |limit: &str, said: String, expected: &str| {
        assert!(said.contains(expected), "{limit}: {said:.500}");
        assert_eq!(met(&server, limit), 1.0, "{limit}");
    };
    let found = server.get("/api/foliot/v1/catalogue?of=measurements&search=o").text();
    check("limits.names_searched", found, "\"is_whole\":false");
    check("influx.series_max", ask(&server, "SELECT v FROM m"), "may read 1");
    let windows = "SELECT mean(v) FROM n WHERE time > 0 AND time < 1h GROUP BY time(1m)";
    check("influx.buckets_max", ask_long(&server, windows), "max-select-buckets");
    let many = vec!["SHOW MEASUREMENTS"; 5_000].join(";");
    check("limits.query_seconds", ask_long(&server, &many), "limits.query_seconds");
    server.stop();
}

#[test]
fn questions_that_may_not_wait_are_counted() {
    let dir = Scratch::new();
    let flags = ["--set=limits.queries=1", "--set=limits.queries_waiting=0"];
    let server = Server::start(dir.path(), &flags);
    let lines = |of: u32| (0..50_000).map(move |at| format!("m v={at} {}\n", of * 50_000 + at + 1));
    for of in 0..8 {
        assert_eq!(server.post("/write?db=default", &lines(of).collect::<String>()).status, 204);
    }
    // The answer is larger than what fits between, and nobody reads it.
    let mut socket = server.connect();
    let question = "/query?db=default&q=SELECT%20*%20FROM%20m";
    socket.write_all(&harness::request("GET", question, &[], b"")).unwrap();
    socket.read_exact(&mut [0; 100]).unwrap();
    assert_eq!(server.get("/query?db=default&q=SHOW%20MEASUREMENTS").status, 429);
    assert_eq!(met(&server, "limits.queries_waiting"), 1.0);
    drop(socket);
    server.stop();
}

/// A text that can never be read is refused at once, one that others leave no memory for after a
/// while; short ones go on.
#[test]
fn texts_of_questions_are_limited_together() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--set=limits.pending_query_bytes=8MiB"]);
    let rows: String = (0..400_000).map(|at| format!("m v={at} {at}\n")).collect();
    assert_eq!(server.post("/write?db=default", &rows).status, 204);
    let said = ask_long(&server, &format!("SELECT {}v FROM m", "v,".repeat(50_000)));
    assert!(said.contains("limits.pending_query_bytes"), "{said:.500}");
    assert_eq!(met(&server, "limits.pending_query_bytes"), 1.0);
    // The answer is larger than what fits between, and nobody reads it.
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    let long = format!("q=SELECT * FROM m{}", "+".repeat(30_000));
    let whole = harness::request("POST", "/query?db=default", &form, long.as_bytes());
    let mut socket = server.connect();
    socket.write_all(&whole).unwrap();
    socket.read_exact(&mut [0; 100]).unwrap();
    let answer = server.request("POST", "/query?db=default", &form, long.as_bytes());
    let words = "no memory for the text of the question";
    assert!(answer.status == 503 && answer.text().contains(words), "{}", answer.text());
    assert!(!answer.header("retry-after").is_empty());
    assert_eq!(met(&server, "limits.pending_query_bytes"), 2.0);
    assert!(ask(&server, "SELECT count(v) FROM m").contains("400000"));
    drop(socket);
    server.stop();
}

/// Many patterns that may each be used alone take no more together than a few of the heaviest.
#[test]
fn patterns_of_one_request_weigh_together() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    assert_eq!(server.post("/write?db=default", "m,h=a v=1 1").status, 204);
    // Long to read, and small when it is compiled.
    let heavy = format!("[a{}]", "c".repeat(200_000));
    let one = format!("SELECT v FROM m WHERE h =~ /{heavy}/");
    assert!(ask_long(&server, &one).contains("\"series\""), "{}", ask_long(&server, &one));
    let many = vec![one; 18].join(";");
    let began = std::time::Instant::now();
    let said = ask_long(&server, &many);
    assert!(said.contains("of the request are too long"), "{said:.500}");
    assert_eq!(said.matches("not executed").count(), 12, "{said:.500}");
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
    assert_eq!(met(&server, "pattern_weight"), 1.0);
    let said = ask(&server, r"SELECT v FROM /\pL{1000}/");
    assert!(said.contains("regular expression") && met(&server, "pattern_bytes") >= 1.0, "{said}");
    server.stop();
}

/// A body of as many bytes as a body may have, and one of a byte more, plain and packed: lines and
/// points in JSON, whose rests are blanks.
#[test]
fn a_body_may_have_all_of_its_bytes_and_none_more() {
    const BODY: usize = 64 << 20;
    const UNPACKED: usize = 256 << 20;
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    // The rows are some of all bytes, so that a debug build is done soon.
    let lines = |bytes: usize| -> Vec<u8> {
        let mut body = "m,h=a v=1 1\n".repeat(10_000).into_bytes();
        body.resize(bytes, b'\n');
        body
    };
    let points = |bytes: usize| -> Vec<u8> {
        let point = r#"{"metric":"p","timestamp":1,"value":1,"tags":{"h":"a"}}"#;
        let mut body = format!("[{}", [point; 10_000].join(",")).into_bytes();
        body.resize(bytes - 1, b' ');
        body.push(b']');
        body
    };
    let packed = |body: &[u8]| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(body).unwrap();
        out.finish().unwrap()
    };
    let gzip = [("Content-Encoding", "gzip")];
    for (path, body, good) in [
        ("/write?db=default", &lines as &dyn Fn(usize) -> Vec<u8>, 204),
        ("/api/put?summary", &points, 200),
    ] {
        assert_eq!(server.request("POST", path, &[], &body(BODY)).status, good, "{path}");
        assert_eq!(server.request("POST", path, &gzip, &packed(&body(UNPACKED))).status, good);
        // What is too long by its own word is refused before it comes.
        let too_long = [("Content-Length", "67108865")];
        let cases = [
            (&too_long, Vec::new(), "67108864 bytes (limits.body_bytes)"),
            (&gzip, packed(&body(UNPACKED + 1)), "268435456 bytes (limits.decoded_body_bytes)"),
        ];
        for (headers, body, words) in cases {
            let answer = server.request("POST", path, headers, &body);
            let text = answer.text();
            assert!(answer.status == 413 && text.contains(words), "{path}: {text}");
        }
    }
    assert_eq!(
        (met(&server, "limits.body_bytes"), met(&server, "limits.decoded_body_bytes")),
        (2.0, 2.0)
    );
    assert_eq!(server.metric("foliot_rows_total{protocol=\"influx_http\"}"), 20_000.0);
    assert_eq!(server.metric("foliot_rows_total{protocol=\"put\"}"), 20_000.0);
    server.stop();
}

#[test]
fn what_connections_and_bodies_may_take_is_limited_and_counted() {
    let dir = Scratch::new();
    let flags = [
        "--set=limits.body_bytes=64KiB",
        "--set=limits.decoded_body_bytes=128KiB",
        "--set=limits.connection_idle=1s",
        "--set=limits.line_time=1s",
    ];
    let server = Server::start(dir.path(), &flags);
    let lines = "m v=1 1\n".repeat(20_000);
    assert_eq!(server.post("/write?db=default", &lines).status, 413);
    assert_eq!(met(&server, "limits.body_bytes"), 1.0);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(lines.as_bytes()).unwrap();
    let gzip = [("Content-Encoding", "gzip")];
    let packed = packed.finish().unwrap();
    let answer = server.request("POST", "/write?db=default", &gzip, &packed);
    assert_eq!(answer.status, 413);
    assert_eq!(met(&server, "limits.decoded_body_bytes"), 1.0);
    for (limit, first) in
        [("limits.connection_idle", "version\n"), ("limits.line_time", "put a 1 1 h=a")]
    {
        let mut connection = server.connect();
        connection.write_all(first.as_bytes()).unwrap();
        let mut said = String::new();
        connection.read_to_string(&mut said).unwrap();
        assert_eq!(met(&server, limit), 1.0, "{limit}");
    }
    server.stop();
}
