//! Work of every kind, at every door: it is listed while it runs, and it ends when somebody ends it
//! or when its client leaves.
//!
//! Whether work was ended, and not done, the server counts: `foliot_queries_cancelled_total`. Work
//! that was done before it could be ended is begun again. How soon it ends is measured by
//! `tests/attacks`, not here.

use crate::harness::{PATIENCE, Response, Scratch, Server, read_response, request};
use std::io::{BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

const SERIES: usize = 120_000;
const START: i64 = 1_700_000_000;

/// How often work is begun again that was done too soon.
const TRIES: usize = 40;

/// Where work is asked for.
#[derive(Clone, Copy, PartialEq)]
enum Port {
    Main,
    TickTock,
}

/// A kind of work: what asks for it, and what the list shows of it.
struct Work {
    port: Port,
    method: &'static str,
    path: String,
    body: String,
    shows: &'static str,
}

fn on(port: Port, method: &'static str, path: &str, body: &str, shows: &'static str) -> Work {
    Work { port, method, path: path.to_owned(), body: body.to_owned(), shows }
}

fn get(path: &str, shows: &'static str) -> Work {
    on(Port::Main, "GET", path, "", shows)
}

fn statement(text: &str, shows: &'static str) -> Work {
    let text = text.replace(' ', "%20").replace('<', "%3C").replace('>', "%3E");
    let path = format!("/query?db=default&q={text}");
    on(Port::Main, "POST", &path, "", shows)
}

/// All kinds of work. What deletes names a time in which there is nothing, so that it may be tried
/// again; what renames goes on with what is left.
fn works() -> Vec<Work> {
    let start = START - 10;
    let times = r#""start":"2023-11-14T22:13:25Z","stop":"2023-11-14T22:13:26Z""#;
    let gap = "time > 1700000005000000000 AND time < 1700000006000000000";
    let exp = format!(
        r#"{{"time":{{"start":"{START}","aggregator":"sum"}},
        "filters":[{{"id":"f","tags":[{{"type":"wildcard","tagk":"host","filter":"*","groupBy":true}}]}}],
        "metrics":[{{"id":"a","metric":"big.v","filter":"f"}}],
        "expressions":[{{"id":"e","expr":"a + a"}}],"outputs":[{{"id":"e"}}]}}"#
    );
    let deletion = |sql: &str| format!(r#"{{{times},"predicate":"{sql}"}}"#);
    let deletion = deletion(r#"_measurement=\"big\""#);
    let question = format!(
        r#"{{"language":"opentsdb","text":"sum:big.v{{host=*}}","start_ms":{START}000,"end_ms":{START}999}}"#
    );
    vec![
        statement("SELECT mean(v) FROM big GROUP BY host", "SELECT mean"),
        statement("SELECT mean(v) INTO copy FROM big GROUP BY host", "INTO copy"),
        statement("EXPLAIN ANALYZE SELECT mean(v) FROM big GROUP BY host", "EXPLAIN ANALYZE"),
        statement("SHOW SERIES", "SHOW SERIES"),
        statement("SHOW TAG VALUES WITH KEY = host", "SHOW TAG VALUES"),
        statement("SHOW SERIES EXACT CARDINALITY", "CARDINALITY"),
        statement(&format!("DELETE FROM big WHERE {gap}"), "DELETE FROM big"),
        statement(&format!("EXPLAIN DELETE FROM big WHERE {gap}"), "EXPLAIN DELETE"),
        statement("EXPLAIN DROP MEASUREMENT big", "EXPLAIN DROP"),
        on(Port::Main, "POST", "/api/v2/delete?bucket=default", &deletion, "/api/v2/delete"),
        on(
            Port::Main,
            "POST",
            "/api/v2/delete?bucket=default&dry_run",
            &deletion,
            "/api/v2/delete",
        ),
        get(&format!("/api/query?start={start}&m=sum:big.v%7Bhost=*%7D"), "sum:big.v"),
        get(&format!("/q?start={start}&ascii&m=sum:big.v%7Bhost=*%7D"), "ascii"),
        get(&format!("/api/query/gexp?start={start}&exp=scale(sum:big.v%7Bhost=*%7D,2)"), "scale"),
        on(Port::Main, "POST", "/api/query/exp", &exp, "a + a"),
        get("/api/suggest?type=tagv&max=1000000", "tagv"),
        get("/api/search/lookup?m=big.v&limit=1000000", "/api/search/lookup"),
        get("/api/query/last?timeseries=big.v", "/api/query/last"),
        on(Port::Main, "POST", "/api/foliot/v1/query", &question, "sum:big.v"),
        get("/api/foliot/v1/catalogue?of=values&label=host&search=zz", "catalogue"),
        get("/api/foliot/v1/cardinality", "cardinality"),
        on(
            Port::TickTock,
            "GET",
            &format!("/api/query?start={start}&m=sum:big%7Bhost=*%7D"),
            "",
            "sum:big",
        ),
        on(Port::TickTock, "GET", "/api/suggest?type=tagv&q=h&max=1000000", "", "tagv"),
        on(Port::TickTock, "GET", "/api/search/lookup?m=big&limit=1000000", "", "lookup"),
        on(
            Port::Main,
            "POST",
            "/api/uid/rename",
            r#"{"metric":"big.v","name":"new"}"#,
            "/api/uid/rename",
        ),
    ]
}

/// A server with much to do, and a connection that looks at what runs.
struct Busy {
    server: Server,
    ticktock: SocketAddr,
    looker: BufReader<TcpStream>,
}

impl Busy {
    fn start(dir: &Scratch) -> Self {
        let flags = ["--listen-ticktock", "127.0.0.1:0", "--set", "limits.query_memory_bytes=4GiB"];
        let server = Server::start(dir.path(), &flags);
        let line = server.welcome.lines().find(|line| line.contains("TickTock")).unwrap();
        let ticktock = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        for first in (0..SERIES).step_by(10_000) {
            let line = |n: usize| format!("big,host=h{n:06} v={n}.5 {START}\n");
            let lines: String = (first..first + 10_000).map(line).collect();
            let headers = [("X-Foliot-Ack", "memory")];
            let path = "/write?db=default&precision=s";
            assert_eq!(server.request("POST", path, &headers, lines.as_bytes()).status, 204);
        }
        let looker = BufReader::new(server.connect());
        Self { server, ticktock, looker }
    }

    fn look(&mut self, method: &str, path: &str, body: &str) -> Response {
        let bytes = request(method, path, &[], body.as_bytes());
        self.looker.get_mut().write_all(&bytes).unwrap();
        read_response(&mut self.looker).expect("no answer")
    }

    /// The number of the query that runs and shows this.
    fn listed(&mut self, shows: &str) -> Option<u64> {
        let listed = self.look("GET", "/api/foliot/v1/queries", "");
        let json: serde_json::Value = serde_json::from_slice(&listed.body).unwrap();
        let is_it = |row: &&serde_json::Value| row["text"].as_str().unwrap().contains(shows);
        json["queries"]
            .as_array()
            .unwrap()
            .iter()
            .find(is_it)
            .map(|row| row["id"].as_u64().unwrap())
    }

    fn metric(&mut self, name: &str) -> f64 {
        let text = self.look("GET", "/metrics", "").text();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap().parse().unwrap()
    }

    fn begin(&self, work: &Work) -> TcpStream {
        let address = if work.port == Port::Main { self.server.address } else { self.ticktock };
        let mut socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let bytes = request(work.method, &work.path, &[], work.body.as_bytes());
        socket.write_all(&bytes).unwrap();
        socket
    }

    /// Begins work and ends it; whether it was listed, and whether it was ended before it was done.
    fn end(&mut self, work: &Work, by_kill: bool) -> (bool, bool) {
        let before = self.metric("foliot_queries_cancelled_total");
        let socket = self.begin(work);
        socket.set_nonblocking(true).unwrap();
        let begun = Instant::now();
        let mut id = self.listed(work.shows);
        // What is answered already is done, or listed.
        while id.is_none() && socket.peek(&mut [0]).is_err() {
            assert!(begun.elapsed() < PATIENCE, "{} is neither listed nor answered", work.path);
            id = self.listed(work.shows);
        }
        let Some(id) = id else { return (false, false) };
        match by_kill {
            true => {
                self.look("POST", "/api/foliot/v1/queries/cancel", &format!("{{\"id\":{id}}}"));
            }
            false => drop(socket),
        }
        let ended = Instant::now();
        while self.listed(work.shows).is_some() || self.metric("foliot_queries_running") > 0.0 {
            assert!(ended.elapsed() < PATIENCE, "{} goes on", work.path);
        }
        (true, self.metric("foliot_queries_cancelled_total") > before)
    }
}

fn each_ends(by_kill: bool) {
    let dir = Scratch::new();
    let mut busy = Busy::start(&dir);
    let mut faults = Vec::new();
    for work in works() {
        let (mut was_listed, mut was_ended) = (false, false);
        for _ in 0..TRIES {
            let (listed, ended) = busy.end(&work, by_kill);
            was_listed |= listed;
            was_ended |= ended;
            if was_ended {
                break;
            }
        }
        if !(was_listed && was_ended) {
            faults.push(format!(
                "{} {} {}: listed {was_listed}, ended {was_ended}",
                work.method, work.path, work.body
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(busy.server.get("/-/ready").status == 200);
    busy.server.stop();
}

#[test]
fn work_of_every_kind_is_listed_and_killed() {
    each_ends(true);
}

#[test]
fn work_of_every_kind_ends_when_its_client_leaves() {
    each_ends(false);
}
