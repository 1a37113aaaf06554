//! The Prometheus door through the real binary: what is asked.

use crate::harness::remote::{STALE, T, asked, asked_at, counters, escaped, push, series};
use crate::harness::{Scratch, Server, read_response, request};
use std::io::{BufReader, Write};

#[test]
fn a_selector_has_the_last_value_of_five_minutes_unless_it_is_stale() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let body = [
        series(&[("__name__", "up"), ("job", "a")], &[(T, 1.0), (T + 60_000, -0.0)]),
        series(&[("__name__", "up"), ("job", "b")], &[(T, 2.0), (T + 60_000, STALE)]),
        series(&[("__name__", "down"), ("job", "a")], &[(T, f64::INFINITY)]),
    ];
    assert_eq!(push(&server, "/api/v1/write", &[], &body.concat()).status, 204);
    let vector = |result: &str| {
        let head = r#"{"status":"success","data":{"resultType":"vector","result":["#;
        (200, format!("{head}{result}]}}}}"))
    };
    let a = |time: &str, value: &str| {
        format!(r#"{{"metric":{{"__name__":"up","job":"a"}},"value":[{time},"{value}"]}}"#)
    };
    let b = r#"{"metric":{"__name__":"up","job":"b"},"value":[1700000000,"2"]}"#;
    // An instant before the first sample, and each of the two.
    assert_eq!(asked(&server, "query=up&time=1699999999.999"), vector(""));
    let both = vector(&format!("{},{b}", a("1700000000", "1")));
    assert_eq!(asked(&server, "query=up&time=2023-11-14T22:13:20Z"), both);
    let at_60 = "query=up&time=1700000060";
    assert_eq!(asked(&server, at_60), vector(&a("1700000060", "-0")));
    // The window's left end is open: five minutes later the sample is gone.
    let last = vector(&a("1700000359.999", "-0"));
    assert_eq!(asked(&server, "query=up&time=1700000359.999"), last);
    assert_eq!(asked(&server, "query=up&time=1700000360"), vector(""));
    // Conditions, on the name too.
    let form = "query=%7B__name__%3D~%22.*%22%2C__name__!%3D%22up%22%2Cjob%3D%22a%22%7D";
    let down = r#"{"metric":{"__name__":"down","job":"a"},"value":[1700000001,"+Inf"]}"#;
    assert_eq!(asked(&server, &format!("{form}&time=1700000001")), vector(down));
    let form = "query=up%7Bjob!~%22a%22%2Chost%3D%22%22%7D&time=1700000000";
    assert_eq!(asked(&server, form), vector(b));
}

#[test]
fn a_question_that_is_none_is_refused_in_prometheus_words() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    for (form, reason) in [
        (
            "query=",
            r#"invalid parameter \"query\": 1:1: parse error: no expression found in input"#,
        ),
        (
            "query=%7B%7D",
            r#"invalid parameter \"query\": 1:1: parse error: vector selector must contain at least one non-empty matcher"#,
        ),
        (
            "query=up&time=soon",
            r#"invalid parameter \"time\": invalid time value for 'time': cannot parse \"soon\" to a valid timestamp"#,
        ),
        (
            "q=up",
            r#"invalid parameter \"query\": 1:1: parse error: no expression found in input: it is said by the parameter query and not by q"#,
        ),
        ("query=up&limit=-1", r#"invalid parameter \"limit\": limit must be non-negative"#),
    ] {
        let wanted = format!(r#"{{"error":"{reason}","errorType":"bad_data","status":"error"}}"#);
        assert_eq!(asked(&server, form), (400, wanted));
    }
    let path = "/prometheus/api/v1/query?db=nowhere";
    let answer = server.request("POST", path, &[], b"query=up");
    let text = answer.text();
    assert_eq!(answer.status, 404, "{text}");
    assert!(text.contains(r#""errorType":"not_found""#), "{text}");
    let path = "/prometheus/api/v1/query";
    let answer = server.request("POST", path, &[], b"db=nowhere&query=up");
    assert_eq!((answer.status, answer.text()), (404, text), "the form names the database too");
}

#[test]
fn labels_that_a_question_makes_take_from_its_memory() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--limits-query-memory-bytes", "16MiB"]);
    assert_eq!(
        server.post("/write?db=default", "m,h=1234567890 value=1 1700000000000000000").status,
        204
    );
    let joined = |inner: &str| {
        let sources = [r#""h""#; 10].join(",");
        format!(r#"label_join({inner},"h","",{sources})"#)
    };
    let replaced = |inner: &str| {
        let template = "$1".repeat(10);
        format!(r#"label_replace({inner},"h","{template}","h","(.*)")"#)
    };
    // Each level takes ten times the letters: ten millions are within the limit, a hundred are not.
    for wrap in [&joined as &dyn Fn(&str) -> String, &replaced] {
        let levels = |levels| (0..levels).fold("m".to_owned(), |inner, _| wrap(&inner));
        let ask = |levels_count| {
            let question = escaped(&format!("count({})", levels(levels_count)));
            asked(&server, &format!("query={question}&time=1700000000"))
        };
        let (status, text) = ask(5);
        assert!(status == 200 && text.contains(r#""value":[1700000000,"1"]"#), "{status} {text}");
        let (status, text) = ask(7);
        assert!(status == 422 && text.contains("limits.query_memory_bytes"), "{status} {text}");
    }
    server.stop();
}

#[test]
fn expressions_come_to_what_prometheus_makes_of_them() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    counters(&server);
    let at = "time=1700000600";
    for (text, wanted) in [
        ("1 + 2 * 3 ^ 2", r#""scalar","result":[1700000600,"19"]"#),
        ("'a\\n'", r#""string","result":[1700000600,"a\n"]"#),
        ("vector(time())", r#"[{"metric":{},"value":[1700000600,"1700000600"]}]"#),
        // 3 a quarter of a minute: 0.2 a second; a restart is none of it.
        (
            "sum(rate(requests_total{instance!='c'}[5m]))",
            r#"[{"metric":{},"value":[1700000600,"0.6"]}]"#,
        ),
        // It falls from 19 to 0, 18 from the first sample to the last in 285 s, 300 s asked about.
        (
            "increase(requests_total{instance='c'}[5m])",
            r#"{"metric":{"instance":"c","job":"api"},"value":[1700000600,"18.94736842105263"]}"#,
        ),
        ("resets(requests_total{instance='c'}[10m])", r#""value":[1700000600,"2"]"#),
        (
            "topk(1, requests_total)",
            r#"[{"metric":{"__name__":"requests_total","instance":"b","job":"api"},"value":[1700000600,"240"]}]"#,
        ),
        (
            "count by (job) (requests_total > 100)",
            r#"[{"metric":{"job":"api"},"value":[1700000600,"2"]}]"#,
        ),
        (
            "requests_total / on(instance) group_left(unit) weight",
            r#"[{"metric":{"instance":"b","job":"api","unit":"kg"},"value":[1700000600,"24"]}]"#,
        ),
        ("requests_total unless on(instance) weight", r#""instance":"a""#),
        (
            "max_over_time(sum(requests_total)[5m:1m] offset 1m)",
            r#"[{"metric":{},"value":[1700000600,"320"]}]"#,
        ),
        ("label_replace(weight, 'to', 'from-$1', 'instance', '(.*)')", r#""to":"from-b""#),
        // The rule of Prometheus for several conditions on a label looks at their order.
        (
            "absent(n{a=~'.+',a='x',b='y',b=~'.+'})",
            r#"[{"metric":{"a":"x"},"value":[1700000600,"1"]}]"#,
        ),
        ("absent(n{a='x',a='x'})", r#"[{"metric":{},"value":[1700000600,"1"]}]"#),
        ("absent(nothing{job='x'})", r#"[{"metric":{"job":"x"},"value":[1700000600,"1"]}]"#),
        ("quantile(0.5, requests_total)", r#""value":[1700000600,"120"]"#),
        ("requests_total{instance='a'} @ 1700000300", r#""value":[1700000600,"60"]"#),
        ("clamp_min(vector(NaN), Inf)", r#""value":[1700000600,"+Inf"]"#),
        ("clamp_max(vector(NaN), -Inf)", r#""value":[1700000600,"-Inf"]"#),
        ("clamp_min(vector(Inf), NaN)", r#""value":[1700000600,"+Inf"]"#),
        ("clamp(vector(NaN), -Inf, 1)", r#""value":[1700000600,"NaN"]"#),
        ("clamp_min(vector(NaN), 1)", r#""value":[1700000600,"NaN"]"#),
        // What is not there is not in doubt.
        ("absent(nothing * on(job) requests_total)", r#"[{"metric":{},"value":[1700000600,"1"]}]"#),
        (
            "requests_total > on(job) group_left() nothing or vector(5)",
            r#"[{"metric":{},"value":[1700000600,"5"]}]"#,
        ),
        ("hour(vector(1700000600))", r#""value":[1700000600,"22"]"#),
    ] {
        let (status, answer) = asked(&server, &format!("{at}&query={}", escaped(text)));
        assert!(status == 200 && answer.contains(wanted), "{text}: {answer}");
    }
    let (_, answer) = asked(&server, &format!("{at}&query={}", escaped("weight[1m]")));
    let raw = r#""matrix","result":[{"metric":{"__name__":"weight","instance":"b","unit":"kg"},"values":[[1700000590,"10"]]}]"#;
    assert!(answer.contains(raw), "{answer}");
    for (text, kind, word) in [
        (
            "requests_total + on(job) requests_total",
            "execution",
            "found duplicate series for the match group",
        ),
        // Two of them have the job, of which only one is so high.
        (
            "requests_total{instance!='b'} > on(job) (requests_total{instance='a'} - 1)",
            "execution",
            "multiple matches for labels",
        ),
        (
            "rate({__name__=~'requests_total|weight'}[1h]) + rate(x)",
            "bad_data",
            "expected type range vector",
        ),
        ("nosuch(weight)", "bad_data", "unknown function with name"),
    ] {
        let (status, answer) = asked(&server, &format!("{at}&query={}", escaped(text)));
        assert!(
            matches!(status, 400 | 422) && answer.contains(kind) && answer.contains(word),
            "{text}: {answer}"
        );
    }
}

#[test]
fn a_range_is_answered_step_by_step() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    counters(&server);
    let form = |text: &str, span: &str| format!("{span}&query={}", escaped(text));
    let span = "start=1700000000&end=1700000060&step=30";
    let (status, answer) =
        asked_at(&server, "query_range", &form("requests_total{instance='a'} * 2", span));
    let wanted = r#"{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"instance":"a","job":"api"},"values":[[1700000000,"0"],[1700000030,"12"],[1700000060,"24"]]}]}}"#;
    assert_eq!((status, &*answer), (200, wanted));
    // A duration is a step, and a scalar a series without labels.
    let (_, answer) =
        asked_at(&server, "query_range", &form("1", "start=1700000000&end=1700000060&step=1m"));
    assert!(
        answer.contains(r#"[{"metric":{},"values":[[1700000000,"1"],[1700000060,"1"]]}]"#),
        "{answer}"
    );
    let (_, answer) = asked_at(&server, "query_range", &form("nothing", span));
    assert_eq!(answer, r#"{"status":"success","data":{"resultType":"matrix","result":[]}}"#);
    // What follows one another under one label set is one series.
    let empty = "start=1699999980&end=1700000000&step=20";
    let (_, answer) =
        asked_at(&server, "query_range", &form("sum(requests_total) or vector(7)", empty));
    assert!(
        answer.contains(r#""result":[{"metric":{},"values":[[1699999980,"7"],[1700000000,"0"]]}]"#),
        "{answer}"
    );
    let body = [
        series(&[("__name__", "up"), ("pod", "a-1")], &[(T, 1.0), (T + 20_000, STALE)]),
        series(&[("__name__", "up"), ("pod", "a-2")], &[(T + 20_000, 2.0)]),
    ];
    assert_eq!(push(&server, "/api/v1/write", &[], &body.concat()).status, 204);
    let replaced = "label_replace(up, 'pod', '$1', 'pod', '(.*)-.*')";
    let after = "start=1700000000&end=1700000020&step=20";
    let (_, answer) = asked_at(&server, "query_range", &form(replaced, after));
    assert!(
        answer.contains(r#""pod":"a"},"values":[[1700000000,"1"],[1700000020,"2"]]}]"#),
        "{answer}"
    );
    // A subquery by itself has the multiples of its step behind the beginning of its range.
    for (text, values) in [
        ("requests_total{instance='a'}[1m:30s]", r#"[[1700000010,"0"]]"#),
        (
            "requests_total{instance='a'}[1m:30s] offset - 1m",
            r#"[[1700000040,"6"],[1700000070,"12"]]"#,
        ),
        ("requests_total{instance='a'}[1s:7s] @ - 1", r#""result":[]"#),
    ] {
        let (status, answer) = asked_at(&server, "query", &form(text, "time=1700000010"));
        assert!(status == 200 && answer.contains(r#""resultType":"matrix""#), "{text}: {answer}");
        assert!(answer.contains(values), "{text}: {answer}");
    }
    // Instants are whole milliseconds: what a step has beside them is left away.
    for (step, last) in [("30.0005", "1700000060"), ("30.0015", "1700000060.002")] {
        let span = format!("start=1700000000&end=1700000061&step={step}");
        let (_, answer) = asked_at(&server, "query_range", &form("1", &span));
        assert!(answer.contains(&format!("[{last},\"1\"]]")), "{step}: {answer}");
    }
    for (span, word) in [
        ("start=2&end=1&step=1", "end timestamp must not be before start time"),
        ("start=1&end=2&step=0", "zero or negative query resolution step widths"),
        ("start=1&end=2&step=soon", r#"cannot parse \"soon\" to a valid duration"#),
        ("start=1&end=2&step=1e309", r#"cannot parse \"1e309\" to a valid duration""#),
        ("start=1&end=2&step=Inf", r#"\"Inf\" to a valid duration. It overflows int64"#),
        ("start=1&end=2&step=NaN", "zero or negative query resolution step widths"),
        ("start=0&end=11001&step=1", "exceeded maximum resolution of 11,000 points"),
        ("end=2&step=1", r#"invalid parameter \"start\""#),
    ] {
        let (status, answer) = asked_at(&server, "query_range", &form("1", span));
        assert!(status == 400 && answer.contains(word), "{span}: {answer}");
    }
    let (status, answer) = asked_at(&server, "query_range", &form("weight[5m]", span));
    assert!(status == 400 && answer.contains("must be Scalar or instant Vector"), "{answer}");
}

#[test]
fn series_and_labels_are_listed() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    counters(&server);
    let of = |text: &str| format!("match[]={}", escaped(text));
    let data = |text: &str| (200, format!(r#"{{"data":{text},"status":"success"}}"#));
    let weight = r#"{"__name__":"weight","instance":"b","unit":"kg"}"#;
    let of_b = r#"{"__name__":"requests_total","instance":"b","job":"api"}"#;
    assert_eq!(asked_at(&server, "series", &of("weight")), data(&format!("[{weight}]")));
    // Clients that mean all of time say times that no sample has.
    for range in [
        "start=0&end=1e12",
        "start=-9223372036854.775&end=253402300799",
        "start=-292273086-05-16T16:47:06Z&end=292277025-08-18T07:12:54.999999999Z",
    ] {
        let asked = format!("{}&{range}", of("weight"));
        assert_eq!(asked_at(&server, "series", &asked), data(&format!("[{weight}]")), "{range}");
    }
    assert_eq!(asked_at(&server, "series", &format!("{}&end=later", of("weight"))).0, 400);
    // Of several selectors each series comes once.
    let several = format!("{}&{}", of("{instance='b'}"), of("weight"));
    assert_eq!(asked_at(&server, "series", &several), data(&format!("[{of_b},{weight}]")));
    let (_, answer) = asked_at(&server, "series", &format!("{several}&limit=1"));
    assert!(answer.starts_with(&format!(r#"{{"data":[{of_b}],"#)), "{answer}");
    assert_eq!(asked_at(&server, "labels", ""), data(r#"["__name__","instance","job","unit"]"#));
    assert_eq!(
        asked_at(&server, "labels", &of("weight")),
        data(r#"["__name__","instance","unit"]"#)
    );
    let get = |path: &str| {
        let answer = server.get(&format!("/prometheus/api/v1/{path}"));
        (answer.status, answer.text())
    };
    assert_eq!(get("label/__name__/values"), data(r#"["requests_total","weight"]"#));
    assert_eq!(get("label/instance/values?match[]=weight"), data(r#"["b"]"#));
    assert_eq!(get("label/nothing/values"), data("[]"));
    let (status, text) = get("status/buildinfo");
    assert!(status == 200 && text.contains(r#""version":"3.0.0""#), "{text}");
    assert_eq!(get("metadata"), data("{}"));
    for (path, word) in [
        ("series", "no match[] parameter provided"),
        ("series?match[]=%7B%7D", "match[] must contain at least one non-empty matcher"),
        ("series?match[]=1", "unexpected character: '1'"),
        ("series?match[]=weight&limit=x", "strconv.Atoi: parsing \\\"x\\\": invalid syntax"),
    ] {
        let (status, text) = get(path);
        assert!(
            status == 400 && text.contains("bad_data") && text.contains(word),
            "{path}: {text}"
        );
    }
}

#[test]
fn a_form_names_the_database_and_a_limit_says_what_it_keeps_away() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    counters(&server);
    let body = series(&[("__name__", "weight"), ("unit", "lb")], &[(T + 590_000, 22.0)]);
    assert_eq!(push(&server, "/api/v1/write?db=other", &[], &body).status, 204);
    let at = "time=1700000600";
    let (_, answer) = asked(&server, &format!("db=other&{at}&query=weight"));
    assert!(answer.contains(r#"[{"metric":{"__name__":"weight","unit":"lb"}"#), "{answer}");
    let (_, answer) = asked_at(&server, "labels", "db=other");
    assert!(answer.contains(r#"["__name__","unit"]"#), "{answer}");
    // Of three series two, and a warning; of one, one.
    let cut = r#"]},"warnings":["results truncated due to limit"]}"#;
    let (_, answer) = asked(&server, &format!("{at}&query=requests_total&limit=2"));
    assert!(answer.matches("metric").count() == 2 && answer.ends_with(cut), "{answer}");
    let span = "start=1700000000&end=1700000060&step=30";
    let form = format!("{span}&query=requests_total&limit=2");
    let (_, answer) = asked_at(&server, "query_range", &form);
    assert!(answer.matches("metric").count() == 2 && answer.ends_with(cut), "{answer}");
    for limit in ["0", "3", ""] {
        let (_, answer) = asked(&server, &format!("{at}&query=requests_total&limit={limit}"));
        assert!(answer.matches("metric").count() == 3 && answer.ends_with("]}}"), "{answer}");
    }
    let (_, answer) = asked_at(&server, "labels", "limit=1");
    let wanted =
        r#"{"data":["__name__"],"status":"success","warnings":["results truncated due to limit"]}"#;
    assert_eq!(answer, wanted);
}

#[test]
fn what_a_prometheus_without_targets_tells_is_told() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--listen-prometheus", "127.0.0.1:0"]);
    let line = server.welcome.lines().find(|line| line.contains("HTTP for Prometheus")).unwrap();
    let address = line.split_whitespace().nth(1).unwrap().to_owned();
    // On its own port, paths of Prometheus need no prefix and go before others.
    let own = |method: &str, path: &str, body: &str| {
        let mut socket = BufReader::new(std::net::TcpStream::connect(&address).unwrap());
        socket.get_mut().write_all(&request(method, path, &[], body.as_bytes())).unwrap();
        let answer = read_response(&mut socket).unwrap();
        (answer.status, answer.text())
    };
    for (path, data) in [
        ("targets", r#"{"activeTargets":[],"droppedTargetCounts":{},"droppedTargets":[]}"#),
        ("rules", r#"{"groups":[]}"#),
        ("alerts", r#"{"alerts":[]}"#),
        ("format_query?query=rate(up[300s])", r#""rate(up[5m])""#),
        (
            "parse_query?query=(1)",
            r#"{"expr":{"type":"numberLiteral","val":"1"},"type":"parenExpr"}"#,
        ),
    ] {
        let wanted = (200, format!(r#"{{"data":{data},"status":"success"}}"#));
        let answer = server.get(&format!("/prometheus/api/v1/{path}"));
        assert_eq!((answer.status, answer.text()), wanted);
        assert_eq!(own("GET", &format!("/api/v1/{path}"), ""), wanted);
    }
    let (status, text) = own("GET", "/api/v1/status/runtimeinfo", "");
    assert!(status == 200 && text.contains(r#""startTime":"2"#), "{text}");
    let (status, text) = own("GET", "/api/v1/query?query=1&time=1", "");
    assert!(status == 200 && text.contains(r#""scalar","result":[1,"1"]"#), "{text}");
    assert_eq!(
        own("POST", "/api/v1/put", r#"{"metric":"m","timestamp":1,"value":1,"tags":{"a":"b"}}"#).0,
        204
    );
    assert_eq!(own("GET", "/api/v1/query_exemplars?query=up(", "").0, 400);
    assert_eq!(own("OPTIONS", "/api/v1/query", "").0, 204);
    assert_eq!(own("OPTIONS", "/api/v1/put", "").0, 405, "OpenTSDB's path");
    assert_eq!(own("GET", "/-/healthy", "").0, 200);
    assert_eq!(own("GET", "/", "").0, 200, "the page, to which the others lead");
    let (status, text) = own("GET", "/api/v1/status/flags", "");
    assert!(status == 200 && text.contains(r#""query.timeout":"1m""#), "{text}");
    // A client reads them as lengths and sizes.
    for unbounded in [r#""storage.tsdb.retention.time":"0s""#, r#"retention.size":"0B""#] {
        assert!(text.contains(unbounded), "{text}");
    }
    let (status, text) = own("POST", "/api/v1/admin/tsdb/snapshot", "");
    assert!(
        status == 503 && text.contains("unavailable") && text.contains("foliot backup"),
        "{text}"
    );
    assert_eq!(own("POST", "/api/v1/admin/tsdb/clean_tombstones", ""), (204, String::new()));
    let (status, text) = own("POST", "/-/reload", "");
    assert!(status == 500 && text.contains("names no file"), "{text}");
    for graph in ["/prometheus/graph", "/graph"] {
        let answer = server.get(&format!("{graph}?g0.expr=up&g0.tab=1"));
        let address = "/#/explore?g0.expr=up&g0.tab=1";
        assert_eq!((answer.status, answer.header("location")), (302, address), "{graph}");
    }
    // Of Prometheus 3 it is where InfluxDB's statements are asked, and of VictoriaMetrics the
    // question is in the fragment, which the browser keeps.
    let answer = server.get("/query?g0.expr=up&g0.range_input=1h30m");
    let address = "/#/explore?g0.expr=up&g0.range_input=1h30m";
    assert_eq!((answer.status, answer.header("location")), (302, address));
    assert_eq!(server.get("/query?q=SHOW+DATABASES&g0.expr=up").status, 200);
    for vmui in ["/vmui", "/vmui/", "/prometheus/vmui", "/prometheus/vmui/"] {
        let answer = server.get(vmui);
        assert_eq!((answer.status, answer.header("location")), (302, "/"), "{vmui}");
    }
    for (path, status) in [
        ("/prometheus", 302),
        ("/prometheus/", 302),
        ("/prometheus/-/ready", 200),
        ("/prometheus/-/healthy", 200),
    ] {
        assert_eq!(server.get(path).status, status, "{path}");
    }
    assert_eq!(server.get("/prometheus/").header("location"), "/#/explore");
}

#[test]
fn the_newest_samples_are_federated_as_text() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let now = now.as_millis() as i64;
    let body = [
        series(&[("__name__", "b"), ("q", "\"\\\n")], &[(now - 60_000, 1.0), (now - 30_000, 1.5)]),
        series(&[("__name__", "a"), ("instance", "x")], &[(now - 1000, f64::INFINITY)]),
        series(&[("__name__", "a"), ("instance", "y")], &[(now - 1000, 1.0), (now - 500, STALE)]),
        series(&[("__name__", "a"), ("instance", "z")], &[(now - 360_000, 1.0)]),
        series(&[("__name__", "c.d")], &[(now - 1000, -0.5)]),
    ];
    assert_eq!(push(&server, "/api/v1/write", &[], &body.concat()).status, 204);
    let all = format!("match[]=a&match[]={}", escaped("{__name__=~'.+'}"));
    let path = format!("/prometheus/federate?{all}");
    let federated = |accept: &str| {
        let answer = server.request("GET", &path, &[("Accept", accept)], b"");
        (answer.header("content-type").to_owned(), answer.text())
    };
    let wanted = format!(
        "# TYPE a untyped\na{{instance=\"x\"}} +Inf {}\n\
         # TYPE b untyped\nb{{q=\"\\\"\\\\\\n\",instance=\"\"}} 1.5 {}\n\
         # TYPE \"c.d\" untyped\n{{\"c.d\",instance=\"\"}} -0.5 {}\n",
        now - 1000,
        now - 30_000,
        now - 1000
    );
    let kind = |escaping| format!("text/plain; version=0.0.4; charset=utf-8; escaping={escaping}");
    let as_it_is = federated("text/plain;version=0.0.4;escaping=allow-utf-8,*/*;q=0.1");
    assert_eq!(as_it_is, (kind("allow-utf-8"), wanted.clone()));
    // A client that does not say so knows no such names: one would cost it the whole scrape.
    let plain = wanted.replace("\"c.d\" untyped", "c_d untyped").replace("{\"c.d\",", "c_d{");
    let plain = (kind("underscores"), plain);
    assert_eq!(federated("text/plain;version=0.0.4"), plain);
    assert_eq!(federated("*/*"), plain);
    let (of_values, text) = federated("text/plain;escaping=values");
    assert_eq!(of_values, kind("values"));
    assert!(text.contains("# TYPE U__c_2e_d untyped\nU__c_2e_d{instance=\"\"} -0.5"), "{text}");
    let answer = server.get("/prometheus/federate?match[]=nothing");
    assert_eq!((answer.status, answer.text()), (200, String::new()));
}

#[test]
fn series_are_deleted_where_that_is_allowed() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    counters(&server);
    let path = "/prometheus/api/v1/admin/tsdb/delete_series";
    let form = "match[]=weight&match[]=requests_total{instance='a'}&start=1700000015";
    let ask = |server: &Server, form: &str| {
        let answer = server.request("POST", path, &[], form.as_bytes());
        (answer.status, answer.text())
    };
    let (status, text) = ask(&server, form);
    assert!(status == 503 && text.contains("opentsdb.allow_delete"), "{text}");
    let (status, text) = ask(&server, &format!("{form}&dry_run=true"));
    assert!(status == 200 && text.contains(r#""data":{"series":2,"samples":41,"#), "{text}");
    assert_eq!(server.samples("none:requests_total%7Binstance=a%7D").len(), 41);
    server.kill();
    let server = Server::start(dir.path(), &["--set", "opentsdb.allow_delete=true"]);
    let (status, text) = ask(&server, "match[]={__name__=~'w.*',__name__!='x'}&dry_run=true");
    assert!(status == 200 && text.contains(r#""data":{"series":1,"#), "{text}");
    assert_eq!(ask(&server, "").0, 400);
    assert_eq!(ask(&server, form), (204, String::new()));
    assert_eq!(server.samples("none:requests_total%7Binstance=a%7D").len(), 1);
    assert_eq!(server.samples("none:requests_total%7Binstance=b%7D").len(), 41);
    let (_, text) = asked(&server, "query=weight&time=1700000600");
    assert!(text.contains(r#""result":[]"#), "{text}");
}

#[test]
fn a_long_series_is_one_however_it_is_asked_for() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let count = 100_000;
    let list = |of: &dyn Fn(i64) -> i64| {
        (0..count).map(|n| of(n).to_string()).collect::<Vec<_>>().join(",")
    };
    let (values, times) = (list(&|n| n), list(&|n| T + n));
    let line =
        format!(r#"{{"metric":{{"__name__":"long"}},"values":[{values}],"timestamps":[{times}]}}"#);
    let answer = server.post("/api/v1/import", &line);
    assert_eq!(answer.status, 204, "{}", answer.text());
    let (_, answer) = asked(&server, "query=long[5m]&time=1700000100");
    assert_eq!(answer.matches("metric").count(), 1, "one series");
    assert_eq!(answer.matches("],[").count() + 1, count as usize);
    let text = server.get("/api/v1/export?match[]=long").text();
    let samples: usize = text.lines().map(|line| line.matches(',').count() / 2).sum();
    // In each line one comma fewer than samples, twice, and two between the fields.
    assert_eq!(samples, count as usize, "{} lines", text.lines().count());
}

#[test]
fn what_most_series_are_due_to_is_told() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    counters(&server);
    let text = server.get("/prometheus/api/v1/status/tsdb?limit=2").text();
    let entry = |name: &str, value: u64| format!(r#"{{"name":"{name}","value":{value}}}"#);
    for wanted in [
        r#""headStats":{"numLabelPairs":7,"numSeries":4}"#.to_owned(),
        format!(
            r#""seriesCountByMetricName":[{},{}]"#,
            entry("requests_total", 3),
            entry("weight", 1)
        ),
        format!(
            r#""labelValueCountByLabelName":[{},{}]"#,
            entry("instance", 3),
            entry("__name__", 2)
        ),
        format!(
            r#""memoryInBytesByLabelName":[{},{}]"#,
            entry("__name__", 20),
            entry("instance", 3)
        ),
        format!(
            r#""seriesCountByLabelValuePair":[{},{}]"#,
            entry("__name__=requests_total", 3),
            entry("job=api", 3)
        ),
    ] {
        assert!(text.contains(&wanted), "{wanted}: {text}");
    }
}

#[test]
fn what_series_are_due_to_takes_no_memory_for_their_labels() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--set", "limits.query_memory_bytes=1MiB"]);
    let lines = |metric: &str| {
        let line = |n: u32| format!("{metric}{{host=\"host-{n}\",kind=\"k{}\"}} 1\n", n % 7);
        (0..20_000).map(line).collect::<String>()
    };
    for metric in ["first", "second"] {
        assert_eq!(server.post("/api/v1/import/prometheus", &lines(metric)).status, 204);
    }
    // The labels of all of them are more than there is room for.
    let (status, answer) = {
        let answer = server.get("/prometheus/api/v1/series?match[]=first");
        (answer.status, answer.text())
    };
    assert_eq!(status, 422, "{answer}");
    assert!(answer.contains("limits.query_memory_bytes"), "{answer}");
    let text = server.get("/prometheus/api/v1/status/tsdb?limit=1").text();
    let host_bytes: usize = (0..20_000).map(|n| format!("host-{n}").len()).sum();
    for wanted in [
        r#""headStats":{"numLabelPairs":20009,"numSeries":40000}"#.to_owned(),
        r#""seriesCountByMetricName":[{"name":"first","value":20000}]"#.to_owned(),
        r#""labelValueCountByLabelName":[{"name":"host","value":20000}]"#.to_owned(),
        format!(r#""memoryInBytesByLabelName":[{{"name":"host","value":{host_bytes}}}]"#),
        r#""seriesCountByLabelValuePair":[{"name":"__name__=first","value":20000}]"#.to_owned(),
    ] {
        assert!(text.contains(&wanted), "{wanted}: {text}");
    }
    let text = server
        .get("/prometheus/api/v1/status/tsdb?match[]=first&match[]=%7Bhost%3D%22host-1%22%7D")
        .text();
    assert!(text.contains(r#""numSeries":20001"#), "{text}");
}

#[test]
fn fields_of_measurements_are_seen_under_both_names() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--set", "opentsdb.allow_delete=true"]);
    let lines = "cpu,host=a usage_user=1.5,usage_system=2i,busy=true,note=\"x\" 1700000000000000000\n\
        cpu,host=a usage_user=4.5,value=7,value_2=8 1700000060000000000\n\
        cpu_usage,host=b user=3 1700000060000000000";
    assert_eq!(server.post("/write?db=default", lines).status, 204);
    let at = "time=1700000060";
    let ask = |text: &str| {
        let (status, answer) = asked(&server, &format!("{at}&query={}", escaped(text)));
        assert_eq!(status, 200, "{answer}");
        let head = r#"{"status":"success","data":{"resultType":"vector","result":["#;
        answer.strip_prefix(head).unwrap().strip_suffix("]}}").unwrap().to_owned()
    };
    let row = |name: &str, host: &str, value: &str| {
        let metric = format!(r#"{{"__name__":"{name}","host":"{host}"}}"#);
        format!(r#"{{"metric":{metric},"value":[1700000060,"{value}"]}}"#)
    };
    let user = [row("cpu_usage_user", "a", "4.5"), row("cpu_usage_user", "b", "3")];
    assert_eq!(ask("cpu_usage_user"), user.join(","));
    assert_eq!(ask("cpu_usage_user{host='b'}"), user[1]);
    assert_eq!(ask("cpu_busy"), row("cpu_busy", "a", "1"));
    assert_eq!(ask("cpu"), row("cpu", "a", "7"));
    // What is no number has no value; the field `value` has no other name.
    assert_eq!((ask("cpu_note"), ask("cpu_value")), (String::new(), String::new()));
    assert_eq!(ask("cpu_value_2"), row("cpu_value_2", "a", "8"));
    assert_eq!(ask("{__name__=~'cpu_u.*',__name__!~'.*user'}"), row("cpu_usage_system", "a", "2"));
    assert_eq!(ask("{host='b'}"), user[1]);
    let increase = r#"{"metric":{"host":"a"},"value":[1700000060,"3"]}"#;
    assert_eq!(ask("idelta(cpu_usage_user[2m])"), increase);
    let (_, answer) = asked_at(&server, "series", "match[]=cpu_usage_system");
    assert!(answer.contains(r#"[{"__name__":"cpu_usage_system","host":"a"}]"#), "{answer}");
    let lines = server.get("/api/v1/export?match[]=cpu_busy").text();
    assert!(lines.starts_with(r#"{"metric":{"__name__":"cpu_busy","host":"a"},"values":[1]"#));
    // A pattern takes away what a question finds by it.
    let path = "/prometheus/api/v1/admin/tsdb/delete_series";
    for form in ["match[]={__name__=~'c.*',host='b'}", "match[]=cpu_usage_system"] {
        assert_eq!(server.request("POST", path, &[], form.as_bytes()).status, 204);
    }
    assert_eq!(ask("cpu_usage_user"), user[0]);
    assert_eq!((ask("cpu_usage_system"), ask("cpu")), (String::new(), row("cpu", "a", "7")));
}
