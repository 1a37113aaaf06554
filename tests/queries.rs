//! Questions over sockets: answers of any size, limits, and clients that leave.

use crate::harness;
use crate::harness::{Scratch, Server, request};
use std::io::{Read, Write};
use std::time::{Duration, Instant};

const START: i64 = 1_700_000_000;

/// Stores `series` series with `samples` samples each, of value `series * 1000 + sample`.
fn fill(server: &Server, series: usize, samples: usize) {
    for chunk in (0..series).collect::<Vec<_>>().chunks(100) {
        let mut lines = String::new();
        for sample in 0..samples {
            for number in chunk {
                let time = START + sample as i64 * 10;
                let value = number * 1000 + sample;
                lines.push_str(&format!("big,host=h{number:05} v={value}i {time}\n"));
            }
        }
        let headers = [("X-Foliot-Ack", "memory")];
        let path = "/write?db=default&precision=s";
        assert_eq!(server.request("POST", path, &headers, lines.as_bytes()).status, 204);
    }
}

#[test]
fn large_answers_stream_whole() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    fill(&server, 500, 200);
    let path = format!("/api/query?start={START}&end={}&arrays&m=none:big.v", START + 10_000);
    let answer = server.get(&path);
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("transfer-encoding"), "chunked");
    let json: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    let list = json.as_array().unwrap();
    assert_eq!(list.len(), 500);
    for series in list {
        let number: usize = series["tags"]["host"].as_str().unwrap()[1..].parse().unwrap();
        let dps = series["dps"].as_array().unwrap();
        assert_eq!(dps.len(), 200);
        for (sample, pair) in dps.iter().enumerate() {
            assert_eq!(pair[0], START + sample as i64 * 10);
            assert_eq!(pair[1], number * 1000 + sample);
        }
    }
    let packed = server.request("GET", &path, &[("Accept-Encoding", "gzip")], b"");
    assert_eq!(packed.header("content-encoding"), "gzip");
    let mut text = Vec::new();
    flate2::read::MultiGzDecoder::new(&packed.body[..]).read_to_end(&mut text).unwrap();
    assert_eq!(text, answer.body);
    let sums = server.get(&format!("/api/query?start={START}&arrays&m=sum:big.v")).text();
    let json: serde_json::Value = serde_json::from_str(&sums).unwrap();
    let first: usize = (0..500).map(|number| number * 1000).sum();
    assert_eq!(json[0]["dps"][0][1], first);
}

#[test]
fn limits_are_named_in_the_answer() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--limits-query-samples", "1000"]);
    fill(&server, 20, 100);
    let answer = server.get(&format!("/api/query?start={START}&m=sum:big.v"));
    assert_eq!(answer.status, 413);
    assert!(answer.text().contains("limits.query_samples"), "{}", answer.text());
    let few = server.get(&format!("/api/query?start={START}&m=sum:big.v{{host=h00001}}"));
    assert_eq!(few.status, 200);
    assert_eq!(server.metric("foliot_queries_failed_total"), 1.0);
}

#[test]
fn names_that_are_gathered_count_against_the_query() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--set", "limits.query_memory_bytes=100KiB"]);
    let lines: Vec<String> =
        (0..2000).map(|number| format!("{number:0>150},host=a v=1 {START}\n")).collect();
    let path = "/write?db=default&precision=s";
    assert_eq!(server.request("POST", path, &[], lines.concat().as_bytes()).status, 204);
    let limit = "limits.query_memory_bytes";
    let all = server.get("/api/suggest?type=metrics&max=100000");
    assert_eq!(all.status, 413, "{:.300}", all.text());
    assert!(all.text().contains(limit), "{}", all.text());
    assert_eq!(server.get("/api/suggest?type=metrics&max=10").status, 200);
    // What is only planned, and what is listed.
    for statement in ["EXPLAIN SELECT * FROM /.*/", "SHOW FIELD KEYS", "SHOW MEASUREMENTS"] {
        let path = format!("/query?db=default&q={}", statement.replace(' ', "%20"));
        let answer = server.get(&path).text();
        assert!(answer.contains(limit), "{statement}: {answer:.300}");
    }
    let one = "/query?db=default&q=SHOW%20FIELD%20KEYS%20LIMIT%201";
    assert!(!server.get(&format!("{one}%20OFFSET%200")).text().is_empty());
}

#[test]
fn histograms_that_are_folded_count_against_the_query() {
    let buckets: Vec<String> =
        (0..300).map(|bound| format!("\"{},{}\":1", bound, bound + 1)).collect();
    let point = |time: i64| {
        format!(
            "{{\"metric\":\"m\",\"timestamp\":{},\"tags\":{{\"h\":\"a\"}},\"buckets\":{{{}}},\
             \"underflow\":0,\"overflow\":0}}",
            START + time,
            buckets.join(",")
        )
    };
    let points: Vec<String> = (0..400).map(point).collect();
    let body = format!("[{}]", points.join(","));
    let ask = format!("/api/query?start={START}&m=sum:percentiles%5B50%5D:m");
    for (limit, status) in [("64MiB", 200), ("1MiB", 413)] {
        let dir = Scratch::new();
        let limit = format!("limits.query_memory_bytes={limit}");
        let server = Server::start(dir.path(), &["--set", &limit]);
        assert_eq!(server.post("/api/histogram", &body).status, 204);
        let answer = server.get(&ask);
        assert_eq!(answer.status, status, "{:.300}", answer.text());
        let names_limit = answer.text().contains("limits.query_memory_bytes");
        assert_eq!(names_limit, status == 413, "{:.300}", answer.text());
    }
}

#[test]
fn only_small_questions_about_memory_are_answered_where_they_are_asked() {
    let dir = Scratch::new();
    // Nothing of a file stays in memory.
    let server = Server::start(dir.path(), &["--set", "cache.bytes=1"]);
    fill(&server, 200, 250);
    let brief = || server.metric("foliot_queries_brief_total");
    let all = || server.metric("foliot_queries_total");
    let ask = |what: &str, of: &str| {
        let statement = format!("SELECT%20{what}%20FROM%20big%20WHERE%20host{of}");
        server.get(&format!("/query?db=default&q={statement}")).text()
    };
    let answer = ask("count(v),max(v)", "=%27h00007%27");
    assert!(answer.contains(",250,7249]"), "{answer}");
    assert_eq!((brief(), all()), (1.0, 1.0));
    // Too many series, and too many samples.
    let answer = ask("count(v),max(v)", "!=%27%27");
    assert!(answer.contains(",50000,199249]"), "{answer}");
    let answer = ask("count(v),max(v)", "=~/^h000/");
    assert!(answer.contains(",25000,99249]"), "{answer}");
    assert_eq!((brief(), all()), (1.0, 3.0));
    // What lies in files.
    server.signal(rustix::process::Signal::USR1);
    server.wait_for_metric("foliot_parts", 1.0);
    let answer = ask("count(v),max(v)", "=%27h00007%27");
    assert!(answer.contains(",250,7249]"), "{answer}");
    assert_eq!((brief(), all()), (1.0, 4.0));
    assert_eq!(server.metric("foliot_queries_failed_total"), 0.0);
    // What it costs is told of both, as one question.
    let costs = server.get("/api/foliot/v1/queries/costs").text();
    let costs: serde_json::Value = serde_json::from_str(&costs).unwrap();
    let mut costs = costs["costs"].as_array().unwrap().iter();
    let cost = costs.find(|cost| cost["text"].as_str().unwrap().contains("'h00007'")).unwrap();
    assert_eq!((&cost["count"], &cost["samples_read"]), (&2.into(), &500.into()), "{cost}");
    server.stop();
}

#[test]
fn a_small_question_stays_small_in_a_store_of_many_series() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--limits-query-brief", "10s"]);
    fill(&server, 2, 10);
    // More series, and more values of a label, than a small question may walk through.
    for some in 0..6 {
        let line = |host: usize| format!("many,host=m{host:05},rack=r v=1 {START}000000000\n");
        let lines: String = (some * 10_000..(some + 1) * 10_000).map(line).collect();
        assert_eq!(server.post("/write?db=default", &lines).status, 204);
    }
    let brief = || server.metric("foliot_queries_brief_total");
    let influxql = |text: &str| {
        let text = text.replace(' ', "%20").replace('\'', "%27").replace('=', "%3D");
        server.get(&format!("/query?db=default&q={text}")).text()
    };
    let opentsdb = |of: &str| server.get(&format!("/api/query?start={START}&m=sum:{of}")).text();
    let end = START + 60;
    let promql = |text: &str| {
        server.get(&format!("/prometheus/api/v1/query?time={end}&query={text}")).text()
    };
    for (answer, wanted) in [
        (influxql("SELECT count(v) FROM big WHERE host='h00001'"), ",10]"),
        (influxql("SELECT v FROM many WHERE host='m40000' AND rack='r'"), ",1]"),
        (opentsdb("many.v{host=m40000}"), ":1"),
        (promql("many_v{host=%22m40000%22}"), "\"1\"]"),
    ] {
        assert!(answer.contains(wanted), "{answer}");
    }
    assert_eq!(brief(), 4.0);
    // What walks through all series, all that have a value, or all values of a label.
    for (answer, wanted) in [
        (influxql("SELECT count(v) FROM many"), ",60000]"),
        (influxql("SELECT count(v) FROM many WHERE rack='r'"), ",60000]"),
        (influxql("SELECT count(v) FROM many WHERE host=~/^m400.*7$/ AND rack='r'"), ",10]"),
        (opentsdb("many.v{}{host=wildcard(*4000)}"), ":6"),
        (promql("count(many_v)"), "\"60000\"]"),
        (influxql("SHOW TAG VALUES FROM big WITH KEY = host"), "h00001"),
    ] {
        assert!(answer.contains(wanted), "{answer}");
    }
    assert_eq!(brief(), 4.0);
    server.stop();
}

#[test]
fn without_time_to_be_brief_every_question_gets_a_place() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--set", "limits.query_brief=0s"]);
    fill(&server, 2, 10);
    let answer = server.get("/query?db=default&q=SELECT%20count(v)%20FROM%20big").text();
    assert!(answer.contains(",20]"), "{answer}");
    let figures = ["foliot_queries_brief_total", "foliot_queries_total"];
    assert_eq!(figures.map(|name| server.metric(name)), [0.0, 1.0]);
    server.stop();
}

#[test]
fn a_client_that_leaves_cancels_its_query() {
    let dir = Scratch::new();
    let server =
        Server::start(dir.path(), &["--limits-queries", "1", "--limits-query-wait", "100ms"]);
    fill(&server, 2000, 200);
    // The answer is much larger than what fits between server and client, and is never read.
    let folds = ["avg", "sum", "min", "max", "count", "first", "last", "dev"];
    let more: String = folds.map(|fold| format!("&m=none:10s-{fold}:big.v")).concat();
    let path = format!("/api/query?start={START}&m=none:big.v{more}");
    let mut socket = server.connect();
    socket.write_all(&request("GET", &path, &[], b"")).unwrap();
    socket.read_exact(&mut [0; 100]).unwrap();
    let before = server.resident_bytes();
    // The only slot is taken: others wait, then are told to come back.
    let began = Instant::now();
    let busy = server.get(&format!("/api/query?start={START}&m=sum:big.v"));
    assert_eq!(busy.status, 429);
    assert!(!busy.header("retry-after").is_empty());
    assert!(began.elapsed() < Duration::from_secs(4));
    assert_eq!(server.metric("foliot_queries_running"), 1.0);
    let grown = server.resident_bytes().saturating_sub(before);
    assert!(grown < 16 << 20, "an answer that nobody reads piles up: {grown} bytes");
    for limit in ["limits.queries", "limits.query_wait"] {
        let met = format!("foliot_limits_met_total{{limit=\"{limit}\"}}");
        assert_eq!(server.metric(&met), 1.0, "{limit}");
    }
    let ask = |q: &str| server.request("POST", &format!("/query?q={q}"), &[], b"");
    // InfluxQL says so too; but whoever looks for what holds the place waits for nothing.
    let busy = ask("SHOW%20MEASUREMENTS%20ON%20%22default%22");
    assert_eq!((busy.status, busy.header("retry-after")), (429, "2"));
    // A cheap question waits for nothing either, whether it lies in memory or in files.
    let cheap = || server.get(&format!("/api/query?start={START}&m=sum:big.v{{host=h00001}}"));
    assert_eq!((cheap().status, server.metric("foliot_queries_brief_total")), (200, 1.0));
    let seen = ask("SHOW%20QUERIES");
    assert!(seen.status == 200 && seen.text().contains("10s-avg"), "{}", seen.text());
    drop(socket);
    let began = Instant::now();
    while server.metric("foliot_queries_running") > 0.0 {
        assert!(began.elapsed() < Duration::from_secs(1), "the query goes on without its client");
        std::thread::sleep(Duration::from_millis(5));
    }
    let free = server.get(&format!("/api/query?start={START}&m=sum:big.v{{host=h00001}}"));
    assert_eq!(free.status, 200);
}

#[test]
fn what_was_written_is_seen_at_once_in_every_spelling() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let body = format!(
        "[{{\"metric\":\"w\",\"timestamp\":{START},\"value\":1,\"tags\":{{\"b\":\"2\",\"a\":\"1\"}}}},\
         {{\"metric\":\"w\",\"timestamp\":{},\"value\":2.5,\"tags\":{{\"a\":\"1\",\"b\":\"2\"}}}}]",
        START + 1
    );
    assert_eq!(server.post("/api/put?sync", &body).status, 204);
    server.talk(format!("put w {} 3 b=2 a=1\n", START + 2).as_bytes());
    // Puts made the field one of floats.
    let line = format!("w,b=2,a=1 value=4 {}", START + 3);
    assert_eq!(server.post("/write?db=default&precision=s", &line).status, 204);
    server.wait_for_metric("foliot_rows_total{protocol=\"telnet\"}", 1.0);
    let samples = server.samples("none:w{a=1}");
    let values: Vec<&str> = samples.iter().map(|(_, value)| value.as_str()).collect();
    // One series, each value as it was written; OpenTSDB prints an integer before a float as one.
    assert_eq!(values, ["1.0", "2.5", "3.0", "4.0"]);
    let post = format!(
        "{{\"start\":{START},\"queries\":[{{\"metric\":\"w\",\"aggregator\":\"sum\",\
         \"downsample\":\"10s-count\"}}]}}"
    );
    let answer = server.post("/api/query?arrays", &post).text();
    assert!(answer.contains(&format!("[{START},4.0]")), "{answer}");
}

/// Makes a token with these roles; the value of the header that shows it.
fn token(dir: &Scratch, roles: &[&str]) -> String {
    let mut command = harness::foliot();
    command.args(["user", "token", "t", "--data-dir"]).arg(dir.path());
    command.args(roles.iter().flat_map(|role| ["--role", *role]));
    let made = command.output().unwrap();
    format!("Bearer {}", String::from_utf8(made.stdout).unwrap().trim())
}

#[test]
fn a_query_is_seen_and_ended_by_who_asked_it_and_by_operators() {
    let dir = Scratch::new();
    let [owner, other, operator, admin] =
        [&["read"][..], &["read"], &["operator"], &["admin"]].map(|roles| token(&dir, roles));
    let flags = ["--access", "--limits-queries", "1", "--limits-query-wait", "100ms"];
    let server = Server::start(dir.path(), &flags);
    for round in 0..40 {
        let lines: String = (0..10_000)
            .map(|n| {
                format!("big,host=h{:05} v={n}i {}\n", n % 2000, START + round * 10 + n / 2000)
            })
            .collect();
        let headers = [("Authorization", &*admin), ("X-Foliot-Ack", "memory")];
        let path = "/write?db=default&precision=s";
        assert_eq!(server.request("POST", path, &headers, lines.as_bytes()).status, 204);
    }
    let ask = |who: &str, statement: &str| {
        let path = format!("/query?q={}", statement.replace(' ', "%20").replace('"', "%22"));
        server.request("POST", &path, &[("Authorization", who)], b"")
    };
    let running = || {
        let text = server.request("GET", "/metrics", &[("Authorization", &admin)], b"").text();
        text.contains("\nfoliot_queries_running 1\n")
    };
    let folds = ["avg", "sum", "min", "max", "count", "first", "last", "dev"];
    let more: String = folds.map(|fold| format!("&m=none:1s-{fold}:big.v")).concat();
    let path = format!("/api/query?start={START}&m=none:big.v{more}");
    // An answer that is never read holds the only place; both who asked it and an operator end one.
    for ender in [&owner, &operator] {
        let mut socket = server.connect();
        let headers = [("Authorization", &*owner)];
        socket.write_all(&request("GET", &path, &headers, b"")).unwrap();
        socket.read_exact(&mut [0; 100]).unwrap();
        assert_eq!(ask(&other, "SHOW MEASUREMENTS ON \"default\"").status, 429);
        let seen = |who: &str| {
            let listed = ask(who, "SHOW QUERIES");
            assert_eq!(listed.status, 200, "{}", listed.text());
            let json: serde_json::Value = serde_json::from_str(&listed.text()).unwrap();
            let rows = json["results"][0]["series"][0]["values"].as_array().unwrap().clone();
            let is_big = |row: &&serde_json::Value| row[1].as_str().unwrap().contains("1s-avg");
            rows.iter().find(is_big).map(|row| row[0].as_u64().unwrap())
        };
        assert_eq!(seen(&other), None, "the text is none of theirs");
        let id = seen(&owner).unwrap();
        assert_eq!((seen(&operator), seen(&admin)), (Some(id), Some(id)));
        let refused = ask(&other, &format!("KILL QUERY {id}")).text();
        assert!(refused.contains(&format!("no such query id: {id}")), "{refused}");
        assert!(running());
        let killed = ask(ender, &format!("KILL QUERY {id}")).text();
        assert!(!killed.contains("error"), "{killed}");
        let began = Instant::now();
        // It ends though its client neither reads nor leaves.
        while running() {
            assert!(began.elapsed() < harness::PATIENCE, "the query goes on");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    server.stop();
}
