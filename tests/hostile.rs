//! What is sent to do harm: bodies that grow, patterns that explode, questions of death. Each gets
//! an answer, costs no more memory than it may, and leaves the server answering others rightly.

use crate::harness::{PATIENCE, Scratch, Server, request};
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};

/// What the process may have grown by after any number of hostile requests. Each may take 32 MiB,
/// and what it gave back stays with the process for a while.
const MEMORY_BYTES: u64 = 160 << 20;
const START: i64 = 1_700_000_000;
/// Two thousand series of two metrics, each with 50 samples.
const SERIES: i64 = 1000;
const SAMPLES: i64 = 50;

/// A server with little memory and time for a question, and something to ask about.
struct Victim {
    _dir: Scratch,
    server: Server,
    resident_bytes: u64,
    statuses: std::collections::BTreeMap<u16, usize>,
}

impl Victim {
    fn new(flags: &[&str]) -> Self {
        let dir = Scratch::new();
        let memory = &["--limits-query-memory-bytes", "32MiB"][..];
        let seconds = "--limits-query-seconds";
        let brief = if flags.contains(&seconds) { &[][..] } else { &[seconds, "2s"] };
        let server = Server::start(dir.path(), &[memory, brief, flags].concat());
        for sample in 0..SAMPLES {
            let mut lines = String::new();
            for series in 0..SERIES {
                let (time, text) = (START + sample * 60, "a".repeat(30));
                let _ = writeln!(
                    lines,
                    "big,host=h{series},dc=d{},text={text}{series}! v={series}i,w=0.5 {time}",
                    series % 10
                );
            }
            let path = "/write?db=default&precision=s";
            assert_eq!(server.post(path, &lines).status, 204);
        }
        let resident_bytes = server.resident_bytes();
        Self { _dir: dir, server, resident_bytes, statuses: Default::default() }
    }

    /// Sends a request that means harm; another asks at the same time what must be answered.
    fn strike(&mut self, what: &str, method: &str, path: &str, head: &[(&str, &str)], body: &[u8]) {
        let status = std::thread::scope(|scope| {
            let server = &self.server;
            let head = [head, &[("Connection", "close")]].concat();
            let harm = scope.spawn(move || {
                let mut socket = server.connect();
                // The server may answer and go before it has read all, and end an answer midway.
                let _ = socket.write_all(&request(method, path, &head, body));
                let mut answer = Vec::new();
                let ended = socket.read_to_end(&mut answer);
                let text = String::from_utf8_lossy(answer.get(..20).unwrap_or_default());
                let status = text.split_whitespace().nth(1).and_then(|word| word.parse().ok());
                (status, ended.map_err(|error| error.kind()))
            });
            assert_right(server, what);
            harm.join().unwrap()
        });
        let (Some(status), Ok(_) | Err(ErrorKind::ConnectionReset)) = status else {
            panic!("{what}: no answer within {PATIENCE:?}: {status:?}")
        };
        let status: u16 = status;
        assert!(status != 500, "{what}: {status}");
        let grown = self.server.resident_bytes().saturating_sub(self.resident_bytes);
        assert!(grown < MEMORY_BYTES, "{what}: {grown} bytes more, answer {status}");
        *self.statuses.entry(status).or_default() += 1;
        assert_right(&self.server, what);
    }

    fn get(&mut self, path: &str) {
        let what: String = path.chars().take(300).collect();
        self.strike(&what, "GET", path, &[], b"");
    }

    fn post(&mut self, path: &str, kind: &str, body: &str) {
        let what: String = format!("{path} {body}").chars().take(300).collect();
        self.strike(&what, "POST", path, &[("Content-Type", kind)], body.as_bytes());
    }
}

/// A cheap question beside is answered, and rightly.
fn assert_right(server: &Server, beside: &str) {
    let path = format!("/api/query?start={START}&end={START}&arrays&m=sum:big.v{{host=h7}}");
    let answer = server.get(&path);
    assert_eq!(answer.status, 200, "beside {beside}: {}", answer.text());
    let json: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(json[0]["dps"][0][1].as_f64(), Some(7.0), "beside {beside}");
}

fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => out.push(byte as char),
            _ => write!(out, "%{byte:02X}").unwrap(),
        }
    }
    out
}

fn packed<W: Write>(mut encoder: W, finish: impl FnOnce(W) -> Vec<u8>) -> Vec<u8> {
    let zeros = vec![b'\n'; 1 << 20];
    for _ in 0..200 {
        encoder.write_all(&zeros).unwrap();
    }
    finish(encoder)
}

/// Memory that was given back is not kept by the threads that had it: hundreds of bodies that are
/// too long leave no more behind than one.
#[test]
fn bombs_of_many_connections_keep_to_the_memory_of_the_server() {
    const LIMIT_BYTES: u64 = 256 << 20;
    let dir = Scratch::new();
    let flags = ["--limits-memory-bytes", "256MiB", "--limits-decoded-body-bytes", "48MiB"];
    let server = Server::start(dir.path(), &flags);
    let bomb = packed(GzEncoder::new(Vec::new(), Compression::best()), |encoder| {
        encoder.finish().unwrap()
    });
    let head = [("Content-Encoding", "gzip"), ("Connection", "close")];
    let whole = request("POST", "/write?db=default", &head, &bomb);
    let strike = || {
        for _ in 0..6 {
            let mut socket = server.connect();
            // The server may answer and go before it has read all.
            let _ = socket.write_all(&whole);
            let _ = socket.read_to_end(&mut Vec::new());
        }
    };
    std::thread::scope(|scope| {
        (0..24).for_each(|_| drop(scope.spawn(strike)));
    });
    let peak_bytes = server.peak_bytes();
    assert!(peak_bytes < LIMIT_BYTES + LIMIT_BYTES / 10, "{} MiB", peak_bytes >> 20);
}

/// What a text becomes when it is read is up to three hundred times the text.
#[test]
fn long_texts_keep_to_the_memory_of_the_server() {
    const LIMIT_BYTES: u64 = 128 << 20;
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--limits-memory-bytes", "128MiB"]);
    assert_eq!(server.post("/write?db=default", "m,h=a u=1,v=2 1").status, 204);
    let form = |path: &'static str, text: &str| {
        (path, "application/x-www-form-urlencoded", text.replace(' ', "+"))
    };
    let long = |head: &str, item: &str, count: usize| format!("{head}{}", item.repeat(count));
    let texts = [
        form("/query?db=default", &(long("q=SELECT ", "u,", 500_000) + "u FROM m")),
        form("/query?db=default", &(long("q=SELECT u FROM ", "m,", 200_000) + "m")),
        form("/query?db=default", &(long("q=SELECT ", "u,", 5_000) + "u FROM m")),
        form("/prometheus/api/v1/query", &(long("query=max(", "a,", 400_000) + "a)")),
        ("/api/v3/query_sql?db=default", "application/json", {
            format!("{{\"db\":\"default\",\"q\":\"{}1\"}}", long("SELECT ", "1,", 400_000))
        }),
        ("/api/search/lookup", "application/json", {
            let tags = long("", r#"{"key":"a","value":"b"},"#, 40_000);
            format!(r#"{{"metric":"m.u","tags":[{}]}}"#, tags.trim_end_matches(','))
        }),
        ("/api/query/last", "application/json", {
            let queries = long("", r#"{"metric":"m"},"#, 60_000);
            format!(r#"{{"queries":[{}]}}"#, queries.trim_end_matches(','))
        }),
        ("/api/foliot/v1/relabel", "application/json", {
            format!(r#"{{"labels":{{}},"rules":"","job":[{}1]}}"#, long("", "[],", 300_000))
        }),
        ("/api/v2/buckets", "application/json", {
            format!(r#"{{"name":"x","retentionRules":[{}{{}}]}}"#, long("", "{},", 300_000))
        }),
        ("/api/v3/configure/database", "application/json", {
            format!(r#"{{"db":"x","retention_period":[{}1]}}"#, long("", "[],", 300_000))
        }),
        ("/api/query", "application/json", {
            let filter = long("", "x|", 200_000);
            let filter = format!(r#"{{"type":"literal_or","tagk":"h","filter":"{filter}x"}}"#);
            let query = format!(r#"{{"aggregator":"sum","metric":"m.u","filters":[{filter}]}}"#);
            format!(r#"{{"start":1,"queries":[{query}]}}"#)
        }),
    ];
    let strike = |first: usize| {
        for (path, kind, text) in (0..2 * texts.len()).map(|at| &texts[(first + at) % texts.len()])
        {
            let answer = server.request("POST", path, &[("Content-Type", kind)], text.as_bytes());
            let status = answer.status;
            assert!([200, 400, 413, 422, 503].contains(&status), "{path}: {}", answer.text());
        }
    };
    std::thread::scope(|scope| {
        let strike = &strike;
        (0..6).for_each(|first| drop(scope.spawn(move || strike(first))));
    });
    let peak_bytes = server.peak_bytes();
    assert!(peak_bytes < LIMIT_BYTES + LIMIT_BYTES / 10, "{} MiB", peak_bytes >> 20);
    assert_eq!(server.get("/query?db=default&q=SELECT%20u%20FROM%20m").status, 200);
    server.stop();
}

#[test]
fn no_bomb_costs_more_than_a_body_may() {
    let mut victim = Victim::new(&["--limits-decoded-body-bytes", "8MiB"]);
    let best = Compression::best();
    let gzip = packed(GzEncoder::new(Vec::new(), best), |encoder| encoder.finish().unwrap());
    let zlib = packed(ZlibEncoder::new(Vec::new(), best), |encoder| encoder.finish().unwrap());
    let deflate =
        packed(DeflateEncoder::new(Vec::new(), best), |encoder| encoder.finish().unwrap());
    let mut twice = GzEncoder::new(Vec::new(), best);
    twice.write_all(&gzip).unwrap();
    let twice = twice.finish().unwrap();
    let members = gzip.repeat(5);
    let mut short = GzEncoder::new(Vec::new(), best);
    short.write_all(b"m v=1 1\n").unwrap();
    let mut lying_length = short.finish().unwrap();
    let end = lying_length.len();
    lying_length[end - 4..].fill(0xff);
    let mut name = vec![0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3];
    name.extend(vec![b'n'; 4 << 20]);
    let snappy = |length: &[u8]| [length, &[0xfe, 0xff, 0xff][..], &[0; 64]].concat();
    let (pb, lines) = ("/api/v1/write", "/write?db=default");
    let table: [(&str, &str, &str, Vec<u8>); 15] = [
        ("gzip, lines", lines, "gzip", gzip.clone()),
        ("gzip, bucket", "/api/v2/write?bucket=default", "gzip", gzip.clone()),
        ("gzip, put", "/api/put", "gzip", gzip.clone()),
        ("gzip, question", "/api/query", "gzip", gzip.clone()),
        ("gzip, import", "/api/v1/import/prometheus", "gzip", gzip.clone()),
        ("gzip, metrics", "/v1/metrics", "gzip", gzip.clone()),
        ("zlib, put", "/api/put", "deflate", zlib),
        ("deflate without a head, put", "/api/put", "deflate", deflate),
        ("gzip in gzip, named once", lines, "gzip", twice.clone()),
        ("gzip in gzip, named twice", lines, "gzip, gzip", twice),
        ("gzip of many members", lines, "gzip", members),
        ("gzip whose length lies", lines, "gzip", lying_length),
        ("gzip with an endless name", lines, "gzip", name),
        ("snappy of 4 GiB", pb, "snappy", snappy(&[0xff, 0xff, 0xff, 0xff, 0x0f])),
        ("snappy of 8 MiB that has none", pb, "snappy", snappy(&[0x80, 0x80, 0x80, 0x04])),
    ];
    for (what, path, encoding, body) in &table {
        victim.strike(what, "POST", path, &[("Content-Encoding", encoding)], body);
    }
    let took = victim.statuses.keys().filter(|&&status| status < 400).count();
    assert_eq!(took, 0, "{:?}", victim.statuses);
    println!("{} bombs: {:?}", table.len(), victim.statuses);
}

/// Patterns on which a matcher that goes back takes for ever, or a compiler all memory.
fn patterns() -> Vec<String> {
    let mut all: Vec<String> = [
        "(a+)+$",
        "(a*)*$",
        "(a|a)*$",
        "(a|aa)+$",
        "(.*a){20}$",
        "(a?){50}a{50}",
        "((a+)+)+$",
        "(a+){30}$",
        "([a-z]+)*!x",
        "(x+x+)+y",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
        "(a|b|ab)*c",
        "(.*)*x",
        "(.+)+x",
        "(\\w+)*x",
        "(\\d+|a+)*x",
        "^(a|a?)+$",
        "(a{1,30}){1,30}x",
        "(?:a.*){10}x",
        "(a.+b?)+c",
        "[^x]*[^y]*[^z]*$",
        "(aa|a|aaa)*z",
        "(\\S+\\s*)*x",
        "^(\\w+\\s?)*$",
        "(?i)(a+)+$",
        "(a+b*)+$x",
        "(.|\\n)*x",
        "(a(b(c(d)*)*)*)*x",
        "a{1000}",
        "a{100000}",
        "(a{1000}){1000}",
        "((a{100}){100}){100}",
        "(x{1000}){1000}",
        "[\\w\\W]{500}",
        "\\pL{1000}",
        "(\\pL|\\pN|\\pS){200}",
        ".{5000}",
        "(.{100}){100}x",
        "(?:(?:(?:a{50}){50}){50}){50}",
        "\\w{2000}x",
        "[a-zA-Z0-9_.-]{1000}",
        "(",
        ")",
        "[",
        "a{",
        "*",
        "+a",
        "(?P<n>a",
        "\\",
        "[z-a]",
        "(?<=a)b",
        "(a)\\1",
        "\\u{110000}",
        "(?x)a # ",
        "\\b{start}",
        "[[:alpha:]",
        "a**",
        "(?:",
        "(?i",
        "[\\d-z]",
        "{1,2}",
        "^*",
    ]
    .map(str::to_owned)
    .to_vec();
    for length in [100, 1000, 10_000] {
        all.push((0..length).map(|n| format!("a{n}")).collect::<Vec<_>>().join("|"));
        all.push("(".repeat(length) + "a" + &")".repeat(length));
        all.push("a?".repeat(length) + &"a".repeat(length));
        all.push("(a|".repeat(length) + "b" + &")".repeat(length));
        all.push("[a-z]*".repeat(length));
        all.push(".*".repeat(length) + "x");
    }
    for (number, class) in ["\\w", "\\s", ".", "\\pL", "[^a]", "\\PL", "a"].iter().enumerate() {
        for (start, end) in [("(", "+)+$"), ("(", "*)*x"), ("((", "?){99})x"), ("^(", "|a)+$")] {
            all.push(format!("{start}{class}{end}"));
            all.push(format!("{}{class}{end}{{9}}", "a".repeat(number) + start));
        }
    }
    all
}

#[test]
fn no_pattern_takes_more_than_its_share() {
    let mut victim = Victim::new(&[]);
    let all = patterns();
    for pattern in &all {
        if pattern.len() < 8000 {
            let tags = encoded(&format!("{{text=regexp({pattern})}}"));
            victim.get(&format!("/api/query?start={START}&m=sum:big.v{tags}"));
        }
        let statement =
            format!("SELECT count(v) FROM big WHERE text =~ /{}/", pattern.replace('/', "\\/"));
        let form = format!("db=default&q={}", encoded(&statement));
        victim.post("/query", "application/x-www-form-urlencoded", &form);
    }
    println!("{} patterns: {:?}", all.len(), victim.statuses);
    assert!(all.len() > 120 && victim.statuses.contains_key(&200), "{:?}", victim.statuses);
}

/// Statements of InfluxQL that ask for more than anybody may have.
fn statements() -> Vec<String> {
    let terms = |n: usize, term: &str, by: &str| vec![term; n].join(by);
    let mut all: Vec<String> = [
        "SELECT * FROM /.*/",
        "SELECT v FROM big GROUP BY *",
        "SELECT mean(v) FROM big WHERE time > 0 GROUP BY time(1ns)",
        "SELECT mean(v) FROM big WHERE time > 0 AND time < 9000000000s GROUP BY time(1u), *",
        "SELECT mean(v) FROM big WHERE time > 0 GROUP BY time(1s) fill(0)",
        "SELECT mean(v) FROM big WHERE time > 0 GROUP BY time(1s), host fill(linear)",
        "SELECT median(v), mode(v), distinct(v), spread(v) FROM big GROUP BY host, dc, text",
        "SELECT top(v, 1000000000) FROM big",
        "SELECT bottom(v, host, 1000000000) FROM big",
        "SELECT percentile(v, 99.9999) FROM big GROUP BY time(1s), host fill(previous)",
        "SELECT sample(v, 1000000000) FROM big",
        "SELECT moving_average(v, 1000000000) FROM big GROUP BY *",
        "SELECT holt_winters_with_fit(mean(v), 1000000000, 1000) FROM big GROUP BY time(1s)",
        "SELECT cumulative_sum(mean(v)) FROM big WHERE time > 0 GROUP BY time(1s) fill(1)",
        "SELECT derivative(mean(v), 1ns) FROM big WHERE time > 0 GROUP BY time(1s) fill(0)",
        "SELECT * FROM big, big, big, big, big, big, big, big, big, big",
        "SELECT v FROM big ORDER BY time DESC LIMIT 9223372036854775807",
        "SELECT v FROM big OFFSET 9223372036854775807",
        "SELECT v FROM big GROUP BY * SLIMIT 9223372036854775807 SOFFSET 9223372036854775807",
        "SELECT v / 0 FROM big GROUP BY *",
        "SELECT v * 1e308 * 1e308 - v * 1e308 * 1e308 FROM big",
        "SELECT v FROM big WHERE time > -9223372036854775808 AND time < 9223372036854775807",
        "SHOW SERIES",
        "SHOW TAG VALUES WITH KEY =~ /.*/",
        "SHOW SERIES EXACT CARDINALITY",
        "SHOW TAG VALUES FROM /.*/ WITH KEY IN (host, dc, text) WHERE text =~ /a+!/",
        "SHOW MEASUREMENTS WITH MEASUREMENT =~ /(.*)*/",
        "EXPLAIN ANALYZE SELECT * FROM big",
        "EXPLAIN SELECT * FROM big GROUP BY *",
        "SELECT mean(v) FROM big GROUP BY time(9223372036854775807ns, -9223372036854775807ns)",
        "SELECT mean(v) FROM big WHERE time > now() - 9223372036854775807ns GROUP BY time(1m)",
        "SELECT elapsed(v, 1ns), difference(v), integral(v) FROM big GROUP BY *",
        "SELECT \"",
        "SELECT 'a",
        "SELECT v FROM big WHERE host = '\u{0}'",
        ";;;;;;;;",
        "",
    ]
    .map(str::to_owned)
    .to_vec();
    for depth in [10, 300, 5000] {
        let open = "SELECT mean(v) AS v FROM (".repeat(depth);
        all.push(format!("{open}SELECT v FROM big{}", ")".repeat(depth)));
        all.push(format!("SELECT {}v{} FROM big", "(".repeat(depth), ")".repeat(depth)));
        all.push(format!("SELECT {}v FROM big", "-".repeat(depth)));
    }
    for count in [100, 20_000] {
        all.push(format!("SELECT {} FROM big", terms(count, "v", ",")));
        all.push(format!("SELECT {} FROM big", terms(count, "v", "+")));
        all.push(format!("SELECT v FROM big WHERE {}", terms(count, "host = 'h1'", " OR ")));
        all.push(format!("SELECT v FROM big GROUP BY {}", terms(count, "host", ",")));
        all.push(format!("SELECT {} FROM big GROUP BY host", terms(count, "mean(v)", ",")));
        all.push(terms(count, "SHOW DATABASES", ";"));
        all.push(format!("SELECT v FROM {}", terms(count, "big", ",")));
    }
    all
}

/// Questions in OpenTSDB's forms: the path, or path and body.
fn questions() -> Vec<(String, Option<String>)> {
    let ask = |m: &str| (format!("/api/query?start=0&m={}", encoded(m)), None);
    let mut all: Vec<(String, Option<String>)> = [
        "none:big.v",
        "sum:big.v{host=*,dc=*,text=*}",
        "sum:1ms-avg-zero:big.v",
        "sum:1s-avg-nan:big.v",
        "sum:1ms-avg-null:rate:big.v{host=*}",
        "mult:big.v",
        "p99:1s-count-zero:big.v",
        "sum:1n-sum:big.v{host=*}",
        "dev:0all-dev:big.v{text=*}",
        "sum:rate{counter,1,0}:big.v{host=*}",
        "sum:99999999999999999y-avg:big.v",
        "sum:big.v{host=wildcard(*h*1*)}",
        "sum:big.v{host=literal_or(a|b|c|d)}{dc=*}",
        "sum:big.v{}{}",
        "sum:big.v{host=",
        "avg:avg:avg:big.v",
        ":::::",
        "",
    ]
    .map(ask)
    .to_vec();
    all.push((format!("/api/query?start=0{}", "&m=none:big.v".repeat(500)), None));
    all.push((format!("/api/query?start=0&m=sum:big.v{}", encoded(&"{h=*}".repeat(2000))), None));
    all.push(("/api/query/last?timeseries=big.v&resolve=true".to_owned(), None));
    all.push((format!("/api/search/lookup?m={}&limit=0", encoded("big.v{host=*}")), None));
    all.push((format!("/api/search/lookup?m={}&limit=4294967295", encoded("*{}")), None));
    all.push(("/api/suggest?type=tagv&q=&max=2147483647".to_owned(), None));
    let graph = "shift(".repeat(2000) + "sum:big.v" + &",'1s')".repeat(2000);
    for formula in [
        "movingAverage(sum:1ms-avg-zero:big.v,1000000000)",
        "highestMax(none:big.v,1000000000)",
        "divideSeries(none:big.v,none:big.v)",
        "scale(",
        "scale(scale(none:big.v,1e308),1e308)",
        "sumSeries(none:big.v{host=*},none:big.w{host=*},none:big.v{text=*})",
        &graph,
    ] {
        all.push((format!("/api/query/gexp?start=0&exp={}", encoded(formula)), None));
    }
    let exp = |expr: &str| {
        let metric = |id: &str, metric: &str| {
            format!(
                "{{\"id\":\"{id}\",\"metric\":\"{metric}\",\"filter\":\"f\",\"fillPolicy\":{{\"policy\":\"zero\"}}}}"
            )
        };
        let filter = "{\"type\":\"wildcard\",\"tagk\":\"host\",\"filter\":\"*\",\"groupBy\":true}";
        format!(
            "{{\"time\":{{\"start\":\"0\",\"aggregator\":\"sum\"}},\"filters\":[{{\"id\":\"f\",\
             \"tags\":[{filter}]}}],\"metrics\":[{},{}],\"expressions\":[{{\"id\":\"e\",\
             \"expr\":\"{expr}\"}}]}}",
            metric("a", "big.v"),
            metric("b", "big.w"),
        )
    };
    for expr in [
        "a + b".to_owned(),
        vec!["a"; 30_000].join("+"),
        "(".repeat(30_000) + "a" + &")".repeat(30_000),
        "-".repeat(30_000) + "a",
        "a / (b - b)".to_owned(),
        "a ".to_owned(),
        "a + e".to_owned(),
    ] {
        all.push(("/api/query/exp".to_owned(), Some(exp(&expr))));
    }
    for body in [
        "[".repeat(100_000),
        "{\"start\":".repeat(50_000),
        format!("{{\"start\":0,\"queries\":[{}]}}", vec!["{\"aggregator\":\"none\",\"metric\":\"big.v\"}"; 5000].join(",")),
        format!("{{\"start\":0,\"queries\":[{{\"metric\":\"{}\"}}]}}", "x".repeat(1 << 20)),
        "{\"start\":1e308,\"end\":-1e308,\"queries\":[{\"aggregator\":\"sum\",\"metric\":\"big.v\"}]}".to_owned(),
    ] {
        all.push(("/api/query".to_owned(), Some(body)));
    }
    for selector in ["{__name__=~\".+\"}", "big_v", "{host=~\"(a+)+$\"}", "{", "1+1", "sum(", ""] {
        all.push((format!("/prometheus/api/v1/query?query={}", encoded(selector)), None));
    }
    let deep = "(".repeat(20_000) + "1" + &")".repeat(20_000);
    let form = format!("query={}", encoded(&deep));
    all.push(("/prometheus/api/v1/query".to_owned(), Some(form)));
    all
}

#[test]
fn no_question_of_death_kills() {
    let mut victim = Victim::new(&[]);
    let (statements, questions) = (statements(), questions());
    for statement in &statements {
        let form = format!("db=default&q={}", encoded(statement));
        victim.post("/query", "application/x-www-form-urlencoded", &form);
    }
    for (path, body) in &questions {
        let is_form = body.as_ref().is_some_and(|body| body.starts_with("query="));
        let kind = ["application/json", "application/x-www-form-urlencoded"][usize::from(is_form)];
        match body {
            None => victim.get(path),
            Some(body) => victim.post(path, kind, body),
        }
    }
    let asked = statements.len() + questions.len();
    println!("{asked} questions: {:?}", victim.statuses);
    assert!(asked > 100);
}

/// A star stands for thousands of fields, and each column of the outer selection plans and reads
/// all of the inner one.
#[test]
fn columns_of_thousands_of_fields_take_from_the_memory_of_their_question() {
    // Memory is to end them, not the time of a machine that is busy.
    let mut victim = Victim::new(&["--limits-query-seconds", "1m"]);
    let fields: Vec<String> = (0..3000).map(|field| format!("f{field}=1i")).collect();
    let line = format!("wide,h=a {} {START}", fields.join(","));
    assert_eq!(victim.server.post("/write?db=default&precision=s", &line).status, 204);
    let kind = "application/x-www-form-urlencoded";
    for (statement, expected) in [
        ("SELECT mean(*) FROM (SELECT * FROM wide)", "limits.query_memory_bytes"),
        ("SELECT mean(*) FROM (SELECT * FROM wide WHERE f1 > 0) GROUP BY h", "limits.query_memory"),
        ("SELECT * FROM (SELECT * FROM (SELECT * FROM wide)) WHERE f7 = 1", "\"f2999\""),
        ("SELECT mean(*) FROM wide WHERE f3 = 1", "\"mean_f2999\""),
    ] {
        let form = format!("db=default&q={}", encoded(statement));
        victim.post("/query", kind, &form);
        let answer = victim.server.get(&format!("/query?{form}")).text();
        assert!(answer.contains(expected), "{statement}: {}", answer.get(..300).unwrap_or(&answer));
    }
}

/// A column that was read once may stand in an answer thousands of times, and so may its texts.
#[test]
fn rows_of_thousands_of_columns_take_from_the_memory_of_their_question() {
    const LIMIT_BYTES: u64 = 128 << 20;
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--limits-memory-bytes", "128MiB"]);
    let line = |at: usize| format!("m,a=b{} u=1,s=\"{}\" {at}\n", at % 50, "x".repeat(400));
    for from in [0, 10_000] {
        let lines: String = (from..from + 10_000).map(line).collect();
        assert_eq!(server.post("/write?db=default", &lines).status, 204);
    }
    let columns = |column: &str, count: usize| vec![column; count].join(",");
    let form = |text: String| ("/query?db=default", "application/x-www-form-urlencoded", text);
    let texts = [
        form(format!("q=SELECT+{}+FROM+m", columns("u", 1_000))),
        form(format!("q=SELECT+{}+FROM+m", columns("s", 500))),
        form(format!("q=SELECT+{}+FROM+m+GROUP+BY+time(10ns)", columns("mean(u)", 500))),
        (
            "/api/v3/query_sql?db=default",
            "application/json",
            format!(r#"{{"db":"default","q":"SELECT {} FROM m"}}"#, columns("u", 1_000)),
        ),
    ];
    let strike = |first: usize| {
        for (path, kind, text) in (0..texts.len()).map(|at| &texts[(first + at) % texts.len()]) {
            // What was sent of an answer that is too much ends without its end.
            let mut socket = server.connect();
            let head = [("Content-Type", *kind), ("Connection", "close")];
            socket.write_all(&request("POST", path, &head, text.as_bytes())).unwrap();
            let mut some = vec![0; 8 << 20];
            let _ = socket.read_exact(&mut some);
        }
    };
    std::thread::scope(|scope| {
        let strike = &strike;
        (0..8).for_each(|first| drop(scope.spawn(move || strike(first))));
    });
    let peak_bytes = server.peak_bytes();
    assert!(peak_bytes < LIMIT_BYTES + LIMIT_BYTES / 10, "{} MiB", peak_bytes >> 20);
    // A wide row is answered as well as a narrow one.
    let wide = format!("/query?db=default&q=SELECT%20{}%20FROM%20m%20LIMIT%203", columns("u", 300));
    let said = server.get(&wide).text();
    assert_eq!(said.matches(",1,1,1,1,1,1,1").count() / 42, 3, "{said:.300}");
    server.stop();
}

/// Answers that nobody reads: a list of all that is saved has megabytes.
#[test]
fn lists_that_nobody_reads_keep_to_the_memory_of_the_server() {
    const LIMIT_BYTES: u64 = 128 << 20;
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--limits-memory-bytes", "128MiB"]);
    let address = format!("#/explore?m={}", "a".repeat(16_000));
    for at in 0..250 {
        let body = format!(r#"{{"name":"x{at}","address":"{address}"}}"#);
        assert_eq!(server.post("/api/foliot/v1/saved", &body).status, 200);
    }
    let asked = request("GET", "/api/foliot/v1/saved", &[], b"");
    let sockets: Vec<_> = (0..100)
        .map(|_| {
            let mut socket = server.connect();
            socket.write_all(&asked).unwrap();
            socket
        })
        .collect();
    std::thread::sleep(std::time::Duration::from_secs(3));
    let peak_bytes = server.peak_bytes();
    assert!(peak_bytes < LIMIT_BYTES + LIMIT_BYTES / 10, "{} MiB", peak_bytes >> 20);
    drop(sockets);
    let whole = server.get("/api/foliot/v1/saved").text();
    assert!(whole.matches("\"address\"").count() == 250 && whole.ends_with("]}"), "{whole:.200}");
    server.stop();
}

/// `GROUP BY *` over a measurement with so many tags.
#[test]
fn heads_of_thousands_of_tags_take_from_the_memory_of_their_question() {
    const SOURCES: usize = 300;
    const TAGS: usize = 60;
    let dir = Scratch::new();
    let limits = ["--set", "limits.query_memory_bytes=16MiB"];
    let server = Server::start(&dir.path().join("data"), &limits);
    // No two sources have a tag in common: a head of GROUP BY * has a place for every one of them.
    for source in 0..SOURCES {
        let tags: Vec<_> = (0..TAGS).map(|tag| format!("t{source}x{tag}=1")).collect();
        let line = format!("wide,{},id={source} v={source} 1\n", tags.join(","));
        assert_eq!(server.post("/write?db=default", &line).status, 204);
    }
    let ask = |text: &str| server.get(&format!("/query?db=default&q={}", encoded(text)));
    let before = server.peak_bytes();
    for text in [
        "SELECT mean(v) FROM wide GROUP BY *",
        "SELECT mean(v), percentile(v, 99) FROM /.*/ WHERE time < 10 GROUP BY *, time(1s)",
        "SELECT mean(v) FROM wide WHERE id != '7' OR v > 0 GROUP BY *",
        "SELECT mean(v) FROM wide WHERE id =~ /1/ OR id =~ /2/ GROUP BY * LIMIT 1",
        "SELECT v FROM wide GROUP BY *",
        "SELECT top(v, 2) FROM wide GROUP BY *",
        "SELECT mean(v) FROM wide GROUP BY * SLIMIT 3",
    ] {
        let answer = ask(text);
        let said = answer.text();
        let is_refused = said.contains("limits.query_memory_bytes");
        assert!(is_refused, "{text}: {} {}", answer.status, said.get(..300).unwrap_or(&said));
    }
    let taken = server.peak_bytes() - before;
    assert!(taken < 64 << 20, "{} MiB", taken >> 20);
    // What has room is answered.
    let few = ask("SELECT mean(v) FROM wide WHERE id = '7' OR id = '8' GROUP BY *").text();
    assert!(few.contains("[\"1970-01-01T00:00:00Z\",7]") && few.contains(",8]"), "{few}");
    let by_id = ask("SELECT mean(v) FROM wide GROUP BY id").text();
    assert_eq!(by_id.matches("\"name\"").count(), SOURCES, "{by_id}");
    server.stop();
    // Of the labels alone the plan keeps more than 4 MiB.
    let limits = ["--set", "limits.query_memory_bytes=4MiB"];
    let server = Server::start(&dir.path().join("data"), &limits);
    let one =
        format!("/query?db=default&q={}", encoded("SELECT v FROM wide WHERE id = '7' GROUP BY *"));
    let answer = server.get(&one).text();
    assert!(answer.contains("limits.query_memory_bytes"), "{answer}");
    server.stop();
}

/// Names whose bytes are a letter only side by side. They are refused, and what was written beside
/// them survives a restart.
#[test]
fn halves_of_letters_are_no_names() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let halves = |text: &str| -> Vec<u8> {
        let bytes = text.bytes().map(|byte| match byte {
            b'<' => 0xd7,
            b'>' => 0xa6,
            byte => byte,
        });
        bytes.collect()
    };
    let table = [
        ("/write?db=default", "good,a=1 v=1 1000\nm,<=> v=2 1000\ngood,a=2 v=1 1000\n"),
        ("/write?db=default", "good,a=3 v=1 1000\n<,>=a v=2 1000\ngood,a=4 v=1 1000\n"),
        ("/api/v1/import/prometheus", "good_v{a=\"5\"} 1 1\nm{<=\">\"} 2 1\ngood_v{a=\"6\"} 1 1\n"),
    ];
    for (path, text) in table {
        let answer = server.request("POST", path, &[], &halves(text));
        assert!(answer.text().contains("not valid UTF-8"), "{text}: {}", answer.text());
    }
    let said = server.talk(&halves("put m 1 1 <=>\nput good.v 1 1 a=7\n"));
    assert!(said.contains("not valid UTF-8"), "{said}");
    let count = |server: &Server, metric: &str| {
        let path = format!("/api/query?start=0&end=9&ms&arrays&m=none:{metric}");
        let json: serde_json::Value = serde_json::from_slice(&server.get(&path).body).unwrap();
        json.as_array().unwrap_or_else(|| panic!("{metric}: {json}")).len()
    };
    let check = |server: &Server| {
        assert_eq!((count(server, "good.v"), count(server, "good_v")), (5, 2));
        assert_eq!(server.get("/-/ready").text().trim(), "ready");
    };
    check(&server);
    server.kill();
    check(&Server::start(dir.path(), &[]));
}
