//! TickTock's dialect through the real binary. What is compared byte by byte was recorded from a
//! TickTockDB 1.1.1 after the same writes.

mod recorded;

use crate::harness::{PATIENCE, Response, Scratch, Server, read_response, request};
use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};

/// A server with one TickTock listener.
struct TickTock {
    server: Server,
    address: SocketAddr,
}

impl TickTock {
    fn start(scratch: &Scratch, flags: &[&str]) -> Self {
        let mut all = vec!["--listen-ticktock", "127.0.0.1:0"];
        all.extend_from_slice(flags);
        let server = Server::start(scratch.path(), &all);
        let line = server.welcome.lines().find(|line| line.contains("TickTock")).unwrap();
        let address = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        Self { server, address }
    }

    fn connect(&self) -> TcpStream {
        let socket = TcpStream::connect(self.address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket
    }

    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let mut socket = self.connect();
        socket.write_all(&request(method, path, headers, body.as_bytes())).unwrap();
        read_response(&mut BufReader::new(socket)).expect("no answer")
    }

    /// Status and body of a GET.
    fn get(&self, path: &str) -> (u16, String) {
        let response = self.ask("GET", path, &[], "");
        (response.status, response.text())
    }

    /// Status and body of a POST.
    fn post(&self, path: &str, body: &str) -> (u16, String) {
        let response = self.ask("POST", path, &[], body);
        (response.status, response.text())
    }

    /// Sends lines and returns what came back once all were taken.
    fn talk(&self, text: &str) -> String {
        let mut socket = self.connect();
        socket.write_all(text.as_bytes()).unwrap();
        socket.shutdown(std::net::Shutdown::Write).unwrap();
        let mut out = String::new();
        socket.read_to_string(&mut out).unwrap();
        out
    }

    fn query(&self, m: &str) -> String {
        let (status, text) = self.get(&format!("/api/query?start=1700002800&end=1700002900&m={m}"));
        assert_eq!(status, 200, "{text}");
        text
    }
}

/// Two series with tags and one without, NaN, and an Influx measurement.
const PUTS: &str = "\
put m 1700002810000 100 host=a dc=x
put m 1700002820000 130 host=a dc=x
put m 1700002840000 190 host=a dc=x
put m 1700002815000 7 host=b
put m 1700002830000 10 host=b
put m 1700002840000 12 host=b
put z 1700002810000 1
put z 1700002820000 4
put n 1700002810000 nan h=a
put n 1700002820000 1 h=a
put m 1700002850000 55 host=q2
";

const LINES: &str = "\
cpu,host=a usage=1.5,idle=2i,_=3 1700002800000
cpu,host=b usage=3 1700002800000";

fn filled(scratch: &Scratch) -> TickTock {
    let ticktock = TickTock::start(scratch, &[]);
    assert_eq!(ticktock.post("/api/put", PUTS), (200, String::new()));
    assert_eq!(ticktock.post("/api/write", LINES), (200, String::new()));
    ticktock
}

#[test]
fn lists_count_against_the_query() {
    let scratch = Scratch::new();
    let ticktock = TickTock::start(&scratch, &["--set", "limits.query_memory_bytes=100KiB"]);
    let puts: Vec<String> =
        (0..2000).map(|number| format!("put {number:0>150} 1700002810000 1 h=a\n")).collect();
    assert_eq!(ticktock.post("/api/put", &puts.concat()).0, 200);
    for path in ["/api/suggest?type=metrics&q=*&max=5000", "/api/search/lookup?m=*&limit=5000"] {
        let (status, text) = ticktock.get(path);
        assert_eq!(status, 413, "{path}: {text:.300}");
        assert!(text.contains("limits.query_memory_bytes"), "{path}: {text:.300}");
        assert_eq!(ticktock.get(&path.replace("5000", "5")).0, 200, "{path}");
    }
}

#[test]
fn answers_are_those_of_ticktock() {
    let scratch = Scratch::new();
    let ticktock = filled(&scratch);
    let mut wrong = Vec::new();
    for &(query, status, body) in recorded::ANSWERS {
        let query = query.replace('{', "%7B").replace('}', "%7D").replace('|', "%7C");
        let got = ticktock.get(&format!("/api/query?{query}"));
        if got != (status, body.to_owned()) {
            wrong.push(format!("{query}\n  theirs {status} {body}\n  ours   {} {}", got.0, got.1));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// The differences that docs/protocols/ticktock.md lists.
#[test]
fn differences_on_purpose() {
    let scratch = Scratch::new();
    let ticktock = filled(&scratch);
    let dps = |m: &str| {
        let json: serde_json::Value = serde_json::from_str(&ticktock.query(m)).unwrap();
        json[0]["dps"].to_string()
    };
    // NaN takes no part, and rates count per second.
    let sum = "{\"1700002800\":237.0,\"1700002830\":267.0,\"1700002860\":\"NaN\",\
               \"1700002890\":\"NaN\"}";
    assert_eq!(dps("sum:30s-sum-nan:m"), sum);
    let rate = "{\"1700002815\":-18.6,\"1700002820\":24.6,\"1700002830\":-12.0,\
                \"1700002840\":19.2,\"1700002850\":-14.7}";
    assert_eq!(dps("sum:rate:m"), rate);
    let counter = "{\"1700002820\":3.0,\"1700002840\":3.0}";
    assert_eq!(dps("none:rate%7Bcounter,300%7D:m%7Bhost=a%7D"), counter);
    // What is no number is refused, and its neighbours stay.
    let (status, _) =
        ticktock.post("/api/put", "put w x 1\nput w 1700002800 y\nput w 1700002800 2\n");
    assert_eq!((status, dps("none:w")), (400, "{\"1700002800\":2.0}".to_owned()));
}

#[test]
fn posted_queries() {
    let scratch = Scratch::new();
    let ticktock = filled(&scratch);
    let body = r#"{"start":1700002800,"end":1700002860,"queries":[
        {"metric":"m","aggregator":"sum","tags":{"host":"*"}},
        {"metric":"z","aggregator":"none","downsample":"10s-avg","rate":true}]}"#;
    let expected = concat!(
        r#"[{"metric":"m","tags":{"dc":"x","host":"a"},"aggregateTags":[],"dps":"#,
        r#"{"1700002810":100.0,"1700002820":130.0,"1700002840":190.0}},"#,
        r#"{"metric":"m","tags":{"host":"b"},"aggregateTags":[],"dps":"#,
        r#"{"1700002815":7.0,"1700002830":10.0,"1700002840":12.0}},"#,
        r#"{"metric":"m","tags":{"host":"q2"},"aggregateTags":[],"dps":{"1700002850":55.0}},"#,
        r#"{"metric":"z","tags":{},"aggregateTags":[],"dps":{"1700002820":0.3}}]"#
    );
    let (status, text) = ticktock.post("/api/query", body);
    assert_eq!(status, 200);
    // The peer prints 0.2999999999999999889, cut to sixteen digits; so do we.
    assert_eq!(
        text.replace("0.2999999999999999", "0.3").replace("0.3000000000000000", "0.3"),
        expected
    );
    for (body, message) in [
        (r#"{"queries":[]}"#, "Error: POST request doesn't specify parameter 'start'!\n"),
        (r#"{"start":1}"#, "Error: POST request doesn't specify parameter 'queries'!\n"),
        (r#"{"start":1,"queries":[{}]}"#, "Must specify metric name when query."),
        ("", "Error: POST request content is null. Did you mean to use GET instead?\n"),
    ] {
        assert_eq!(ticktock.post("/api/query", body), (400, message.to_owned()));
    }
    assert_eq!(ticktock.get("/api/query?m=sum:m").1, "Must specify start time when query.");
    assert_eq!(ticktock.get("/api/query?start=1").1, "Must specify m parameter when query.");
}

#[test]
fn json_points_and_what_becomes_of_them() {
    let scratch = Scratch::new();
    let ticktock = TickTock::start(&scratch, &[]);
    let points = r#" [{"metric":"j","timestamp":1700002800,"value":"4.5",
        "tags":{"a":"b","n":7,"t":true}},{"metric":"j","timestamp":1700002800,"value":1},
        {"metric":"j","timestamp":1700002801,"value":2,"tags":{"_field":"x"},"extra":[1]}]"#;
    let good = (200, r#"{"success":3,"failed":0}"#.to_owned());
    assert_eq!(ticktock.post("/api/put", points), good);
    let answer = ticktock.query("none:j");
    let tags = |text: &str| format!("\"tags\":{{{text}}}");
    for tags in [tags(""), tags(r#""a":"b","n":"7","t":"true""#), tags(r#""_field":"x""#)] {
        assert!(answer.contains(&tags), "{tags} is not in {answer}");
    }
    let half =
        r#"[{"metric":"j","timestamp":0,"value":1},{"metric":"j","timestamp":5,"value":1},{}]"#;
    let expected = (400, r#"{"success":1,"failed":2}"#.to_owned());
    assert_eq!(ticktock.post("/api/put", half), expected);
    let none = (400, r#"{"success":0,"failed":1}"#.to_owned());
    assert_eq!(ticktock.post("/api/put", "{\"metric\":"), none);
    assert_eq!(ticktock.post("/api/put", "put\n").0, 400);
    assert_eq!(ticktock.post("/api/write", "junk").0, 400);
    // The same samples are there for everyone else, field by field.
    assert_eq!(ticktock.server.samples("none:j.x"), [(1_700_002_801_000, "2".to_owned())]);
}

#[test]
fn names_are_suggested_and_looked_up() {
    let scratch = Scratch::new();
    let ticktock = filled(&scratch);
    for (query, answer) in [
        ("type=metrics&q=*", r#"["cpu","m","n","z"]"#),
        ("type=metrics&q=", r#"["cpu","m","n","z"]"#),
        ("type=metrics&q=c", r#"["cpu"]"#),
        ("type=metrics&q=*&max=2", r#"["cpu","m"]"#),
        ("type=tagk&q=", r#"["_field","dc","h","host"]"#),
        ("type=tagk&q=h", r#"["h","host"]"#),
        ("type=tagk&q=_", r#"["_field"]"#),
        ("type=tagv&q=", r#"["a","b","idle","q2","usage","x"]"#),
    ] {
        let got = ticktock.get(&format!("/api/suggest?{query}"));
        assert_eq!(got, (200, answer.to_owned()), "{query}");
    }
    for query in ["type=metrics", "q=a", "type=x&q=a"] {
        assert_eq!(ticktock.get(&format!("/api/suggest?{query}")), (400, String::new()));
    }
    let lookup = |m: &str| ticktock.get(&format!("/api/search/lookup?m={m}"));
    let expected = concat!(
        r#"{"type":"LOOKUP","limit":25,"startIndex":0,"totalResults":1,"metric":"m","#,
        r#""tags":[{"key":"host","value":"a"}],"results":[{"tsuid":"000000000","metric":"m","#,
        r#""tags":{"dc":"x","host":"a"}}]}"#
    );
    let (status, text) = lookup("m%7Bhost=a%7D");
    assert_eq!((status, text.as_str()), (200, expected));
    let total = |m: &str| {
        let json: serde_json::Value = serde_json::from_str(&lookup(m).1).unwrap();
        (json["totalResults"].as_u64().unwrap(), json["results"].as_array().unwrap().len())
    };
    assert_eq!(total("m&limit=1"), (3, 1));
    assert_eq!(total("m&startIndex=1"), (3, 2));
    assert_eq!(total("*"), (9, 9));
    assert_eq!(total("cpu%7B_field=usage%7D"), (2, 2));
    let missing = (400, "ERROR: metric name \"nosuch\" not found.".to_owned());
    assert_eq!(lookup("nosuch"), missing);
}

#[test]
fn small_answers_and_the_request_id() {
    let scratch = Scratch::new();
    let ticktock = TickTock::start(&scratch, &[]);
    let aggregators = concat!(
        r#"["avg","bottom1","bottom3","bottom5","bottom9","count","dev","first","last","max","#,
        r#""min","none","p50","p90","p95","p98","p99","p999","sum","top1","top3","top5","top9"]"#
    );
    assert_eq!(ticktock.get("/api/aggregators"), (200, aggregators.to_owned()));
    assert_eq!(ticktock.get("/nosuch"), (404, String::new()));
    assert_eq!(ticktock.ask("PUT", "/api/put", &[], "x").status, 404);
    let answer = ticktock.ask("GET", "/api/version", &[("X-Request-ID", "abc-12")], "");
    assert_eq!(answer.header("x-request-id"), "abc-12");
    let version: serde_json::Value = serde_json::from_str(&answer.text()).unwrap();
    for name in ["repo", "version", "branch", "commit", "timestamp"] {
        assert!(version[name].is_string(), "{name} is not in {version}");
    }
    let answer = ticktock.ask("POST", "/nosuch", &[("X-Request-ID", "7")], "");
    assert_eq!((answer.status, answer.header("x-request-id")), (404, "7"));
    let config: serde_json::Value = serde_json::from_str(&ticktock.get("/api/config").1).unwrap();
    assert_eq!(config["listen.ticktock"], "127.0.0.1:0");
    let stats = ticktock.get("/api/stats").1;
    assert!(stats.lines().any(|line| line.starts_with("ticktock.connection.count ")), "{stats}");
    assert!(ticktock.get("/api/config/filters").1.contains("iliteral_or"));
    // The words of plain bodies.
    assert_eq!(
        ticktock.post("/api/put", "help\n").1,
        "available commands: put stats version help diediedie"
    );
    assert_eq!(ticktock.post("/api/put", "version\n").1, version.to_string());
}

#[test]
fn connections_take_all_kinds_of_lines() {
    let scratch = Scratch::new();
    let ticktock = TickTock::start(&scratch, &[]);
    let text = "put t 1700002800 1 h=a\nt,h=b _=2 1700002801\nfoo\nput t x 1\n_cp l:c:v1\r\n\
                don't forward\nversion\nput t 1700002802 3 h=a _field=f\nput t 1700002803 4\n";
    let out = ticktock.talk(text);
    assert!(out.starts_with("{\"") && out.ends_with("\"}"), "only the version is answered: {out}");
    let answer = ticktock.query("sum:t");
    let dps = r#""dps":{"1700002800":1.0,"1700002801":2.0,"1700002802":3.0,"1700002803":4.0}"#;
    assert!(answer.contains(dps), "{answer}");
    let rejected =
        ticktock.server.metric("foliot_rows_rejected_total{protocol=\"ticktock\",reason=\"line\"}");
    assert!(rejected >= 1.0);
}

#[test]
fn checkpoints_are_told_when_they_are_safe_and_outlive_the_server() {
    let scratch = Scratch::new();
    let ticktock = TickTock::start(&scratch, &[]);
    assert_eq!(ticktock.post("/api/admin?cmd=cp", ""), (200, "[]".to_owned()));
    ticktock
        .talk("put t 1700002800 1\n_cp l:c:v1\n_cp l:d:v2\n_cp k:c:old\n_cp k:c:new\n_cp bad\n");
    assert_eq!(ticktock.post("/api/write", "_cp w:c:v\nt f=1\n").0, 200);
    let all = concat!(
        r#"[{"leader":"k","channels":[{"channel":"c","checkpoint":"new"}]},"#,
        r#"{"leader":"l","channels":[{"channel":"c","checkpoint":"v1"},"#,
        r#"{"channel":"d","checkpoint":"v2"}]},"#,
        r#"{"leader":"w","channels":[{"channel":"c","checkpoint":"v"}]}]"#
    );
    assert_eq!(ticktock.post("/api/admin?cmd=cp", ""), (200, all.to_owned()));
    ticktock.server.kill();
    let ticktock = TickTock::start(&scratch, &[]);
    assert_eq!(ticktock.post("/api/admin?cmd=cp", ""), (200, all.to_owned()));
    let one = r#"[{"leader":"w","channels":[{"channel":"c","checkpoint":"v"}]}]"#;
    assert_eq!(ticktock.post("/api/admin?cmd=cp&leader=w", ""), (200, one.to_owned()));
    assert_eq!(ticktock.query("none:t").matches("1.0").count(), 1, "what came before is there");
}

#[test]
fn administration() {
    let scratch = Scratch::new();
    let mut ticktock = TickTock::start(&scratch, &[]);
    for (query, status, text) in [
        ("?cmd=ping", 200, "pong"),
        ("?cmd=stat", 200, "{}"),
        ("?cmd=append", 200, "append log generated"),
        ("?cmd=compact", 200, "0 tsdbs compacted"),
        ("?cmd=rollup", 200, "no tsdb was rolled-up"),
        ("?cmd=gc", 200, ""),
        ("?cmd=log&level=ERROR", 200, ""),
        ("?cmd=log&action=x", 400, "unknown action x"),
        ("?cmd=nosuch", 400, "unrecognized cmd: nosuch"),
        ("?x=1", 400, "cmd missing"),
        ("", 400, "params empty"),
        ("?cmd=stop", 200, "Foliot exiting now."),
    ] {
        let answer = ticktock.post(&format!("/api/admin{query}"), "");
        assert_eq!(answer, (status, text.to_owned()), "{query}");
    }
    assert!(ticktock.server.wait().success());
    let mut ticktock = TickTock::start(&scratch, &[]);
    ticktock.talk("diediedie\n");
    assert!(ticktock.server.wait().success());
}

#[test]
fn datagrams_with_and_without_the_word() {
    let scratch = Scratch::new();
    let ticktock = TickTock::start(&scratch, &["--listen-udp"]);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.send_to(b"u 1700002800 1 h=a\nput u 1700002801 2", ticktock.address).unwrap();
    ticktock.server.wait_for_metric("foliot_rows_total{protocol=\"udp\"}", 2.0);
    let answer = ticktock.query("sum:u");
    assert!(answer.contains(r#""dps":{"1700002800":1.0,"1700002801":2.0}"#), "{answer}");
}
