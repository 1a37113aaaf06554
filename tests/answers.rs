//! Answers that would be too long, or that are gathered before they are written: every door and
//! every form of answer is cut by a limit, which its error names.

use crate::harness::{PATIENCE, Response, Scratch, Server, read_response, request};
use std::io::{BufReader, Write};
use std::net::{SocketAddr, TcpStream};

const SERIES: usize = 2_000;
const SAMPLES: usize = 3;
const START: i64 = 1_700_000_000;

/// What is set for one request.
const ANSWER: (&str, &str) = ("limits.answer_bytes", "60KiB");
const MEMORY: (&str, &str) = ("limits.query_memory_bytes", "96KiB");

/// A form of answer: what asks for it, with which `Accept`, and whether it is long: figures of a
/// picture are not.
struct Form {
    is_ticktock: bool,
    method: &'static str,
    path: String,
    body: String,
    accept: &'static str,
    is_long: bool,
}

fn form(method: &'static str, path: &str, body: &str) -> Form {
    let (path, body) = (path.replace(' ', "%20"), body.to_owned());
    let (is_ticktock, accept) = (false, "application/json");
    Form { is_ticktock, method, path, body, accept, is_long: true }
}

impl Form {
    fn accept(self, accept: &'static str) -> Self {
        Self { accept, ..self }
    }

    fn of_ticktock(self) -> Self {
        Self { is_ticktock: true, ..self }
    }

    fn shortly(self) -> Self {
        Self { is_long: false, ..self }
    }
}

fn forms() -> Vec<Form> {
    let ql = |text: &str| format!("/query?db=default&q={text}");
    let select = ql("SELECT v FROM big GROUP BY host");
    let start = START - 10;
    let big = "big.v%7Bhost=*%7D";
    let exp = format!(
        r#"{{"time":{{"start":"{START}","aggregator":"sum"}},
        "filters":[{{"id":"f","tags":[{{"type":"wildcard","tagk":"host","filter":"*","groupBy":true}}]}}],
        "metrics":[{{"id":"a","metric":"big.v","filter":"f"}}],
        "expressions":[{{"id":"e","expr":"a + a"}}],"outputs":[{{"id":"e"}}]}}"#
    );
    let question = |language: &str, text: &str| {
        format!(
            r#"{{"language":"{language}","text":"{text}","start_ms":{START}000,"end_ms":{START}999}}"#
        )
    };
    let post = format!(
        r#"{{"start":{START},"queries":[{{"metric":"big.v","aggregator":"sum","tags":{{"host":"*"}}}}]}}"#
    );
    let last = r#"{"queries":[{"metric":"big.v"}],"resolveNames":true}"#;
    vec![
        // InfluxQL.
        form("GET", &select, ""),
        form("GET", &format!("{select}&pretty=true"), ""),
        form("GET", &format!("{select}&chunked=true&chunk_size=10"), ""),
        form("GET", &select, "").accept("application/csv"),
        form("GET", &select, "").accept("application/x-msgpack"),
        form("GET", &format!("{select}&chunked=true&chunk_size=10"), "")
            .accept("application/x-msgpack"),
        form("GET", &ql("SHOW SERIES"), ""),
        form("GET", &ql("SHOW TAG VALUES WITH KEY = host"), ""),
        form("GET", &ql("SHOW MEASUREMENTS"), ""),
        form("GET", &ql("SHOW FIELD KEYS"), ""),
        form("GET", &ql("SHOW TAG KEYS"), ""),
        form("GET", &ql("SHOW SERIES"), "").accept("application/csv"),
        form("GET", &ql("SHOW SERIES"), "").accept("application/x-msgpack"),
        form("GET", &ql("EXPLAIN SELECT * FROM /.*/"), ""),
        // OpenTSDB.
        form("GET", &format!("/api/query?start={start}&m=sum:{big}"), ""),
        form("GET", &format!("/api/query?start={start}&arrays&show_tsuids&m=sum:{big}"), ""),
        form("POST", "/api/query", &post),
        form("GET", &format!("/q?start={start}&ascii&m=sum:{big}"), ""),
        form("GET", &format!("/q?start={start}&png&m=sum:{big}"), ""),
        form("GET", &format!("/q?start={start}&json&m=sum:{big}"), "").shortly(),
        form("POST", "/api/query/exp", &exp),
        form("GET", &format!("/api/query/gexp?start={start}&exp=scale(sum:{big},2)"), ""),
        form("GET", "/api/query/last?timeseries=big.v&resolve=true", ""),
        form("POST", "/api/query/last", last),
        form("GET", "/api/search/lookup?m=big.v&limit=100000", ""),
        form("POST", "/api/search/lookup", r#"{"metric":"big.v","limit":100000}"#),
        form("GET", "/api/suggest?type=metrics&max=100000", ""),
        form("GET", "/api/suggest?type=tagv&max=100000", ""),
        form("GET", "/api/annotations?start_time=1&end_time=2000000000", ""),
        // TickTock.
        form("GET", &format!("/api/query?start={start}&m=sum:big%7Bhost=*%7D"), "").of_ticktock(),
        form("GET", "/api/suggest?type=tagv&q=h&max=100000", "").of_ticktock(),
        form("GET", "/api/search/lookup?m=big&limit=100000", "").of_ticktock(),
        // Foliot's own.
        form("POST", "/api/foliot/v1/query", &question("opentsdb", "sum:big.v{host=*}")),
        form(
            "POST",
            "/api/foliot/v1/query",
            &question("influxql", "SELECT v FROM big GROUP BY host"),
        ),
        form("GET", "/api/foliot/v1/catalogue?of=measurements&limit=10000", ""),
        form("GET", "/api/foliot/v1/catalogue?of=metrics&limit=10000", ""),
        form("GET", "/api/foliot/v1/catalogue?of=values&label=host&limit=10000", ""),
        form("GET", "/api/foliot/v1/catalogue?of=newest&limit=10000", ""),
        form("GET", "/api/foliot/v1/cardinality?limit=1000", ""),
    ]
}

struct Doors {
    server: Server,
    ticktock: SocketAddr,
}

impl Doors {
    fn start(dir: &Scratch, setting: Option<(&str, &str)>) -> Self {
        let setting = setting.map(|(key, value)| format!("{key}={value}"));
        let mut flags = vec!["--listen-ticktock", "127.0.0.1:0"];
        flags.extend(setting.iter().flat_map(|setting| ["--set", setting]));
        let server = Server::start(dir.path(), &flags);
        let line = server.welcome.lines().find(|line| line.contains("TickTock")).unwrap();
        let ticktock = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        Self { server, ticktock }
    }

    /// Series, measurements and annotations with long names.
    fn fill(&self) {
        let mut lines = String::new();
        for n in 0..SERIES {
            for sample in 0..SAMPLES {
                let time = START + sample as i64;
                lines.push_str(&format!("big,host=h{n:0>60} v={n}.5 {time}\n"));
            }
            lines.push_str(&format!("n{n:0>60},k{n:0>60}=a f{n:0>60}=1 {START}\n"));
        }
        let headers = [("X-Foliot-Ack", "memory")];
        let path = "/write?db=default&precision=s";
        let written = self.server.request("POST", path, &headers, lines.as_bytes());
        assert_eq!(written.status, 204, "{}", written.text());
        let note = |n: i64| format!(r#"{{"startTime":{},"description":"{n:0>200}"}}"#, START + n);
        let notes: Vec<String> = (0..1_000).map(note).collect();
        let notes = format!("[{}]", notes.join(","));
        assert_eq!(self.server.post("/api/annotation/bulk", &notes).status, 200);
    }

    /// The answer; none when it was broken off.
    fn ask(&self, form: &Form) -> Option<Response> {
        let address = if form.is_ticktock { self.ticktock } else { self.server.address };
        let mut socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let headers = [("Accept", form.accept)];
        let bytes = request(form.method, &form.path, &headers, form.body.as_bytes());
        socket.write_all(&bytes).unwrap();
        read_response(&mut BufReader::new(socket))
    }
}

/// What is wrong where each form of which `is_cut` says so must be cut by `limit`.
fn faults(doors: &Doors, limit: &str, is_cut: impl Fn(&Form) -> bool) -> Vec<String> {
    let mut faults = Vec::new();
    for form in forms() {
        let answer = doors.ask(&form);
        let text = answer.as_ref().map(|answer| String::from_utf8_lossy(&answer.body).into_owned());
        // A statement's trouble is told within a whole answer.
        let is_told = text.as_ref().is_some_and(|text| text.contains(limit) && text.len() < 2_000);
        if is_cut(&form) != is_told {
            let status = answer.map(|answer| answer.status);
            let text = text.unwrap_or_default();
            faults.push(format!(
                "{} {} {}: {status:?}, {} bytes: {:.200}",
                form.method,
                form.path,
                form.accept,
                text.len(),
                text
            ));
        }
    }
    faults
}

#[test]
fn every_form_of_answer_is_cut_by_a_limit() {
    let dir = Scratch::new();
    let doors = Doors::start(&dir, None);
    doors.fill();
    // Without these limits, all are whole and those that can be long are.
    for form in forms() {
        let answer = doors.ask(&form).expect(&form.path);
        assert_eq!(answer.status, 200, "{}: {:.300}", form.path, answer.text());
        let is_long = answer.body.len() > 60 << 10;
        assert_eq!(is_long, form.is_long, "{}: {} bytes", form.path, answer.body.len());
    }
    doors.server.stop();
    let mut wrong = Vec::new();
    for (setting, is_cut) in
        [(ANSWER, (|form| form.is_long) as fn(&Form) -> bool), (MEMORY, |_| true)]
    {
        let doors = Doors::start(&dir, Some(setting));
        let faults = faults(&doors, setting.0, is_cut);
        wrong.extend(faults.into_iter().map(|fault| format!("{}: {fault}", setting.0)));
        let met = format!("foliot_limits_met_total{{limit=\"{}\"}}", setting.0);
        assert!(doors.server.metric(&met) > 0.0);
        doors.server.stop();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
