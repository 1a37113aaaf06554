//! Foliot's own API: every answer is held against `docs/openapi.json`, and says what was stored.

use crate::harness::api::{ROOT, ask, described, get, post, write};
use crate::harness::{Response, Scratch, Server};
use serde_json::{Value, json};
use std::path::Path;

/// A name as hostile as clients can make it.
const HOSTILE: &str = "<img src=x onerror=alert(1)>\"'{}";

#[test]
fn all_languages_answer_what_was_written_as_series() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    write(
        &server,
        "cpu,host=a,rack=r usage=1.5,cores=4i,note=\"x\",on=true 600\n\
         cpu,host=a,rack=r usage=2.5,cores=8i 660\ncpu,host=b,rack=r usage=4 600",
    );
    let range = |mut body: Value| {
        body["start_ms"] = json!(600_000);
        body["end_ms"] = json!(720_000);
        body["step_ms"] = json!(60_000);
        body
    };
    let text = json!({"language": "opentsdb", "text": "sum:$step-avg:cpu.usage{host=*}"});
    let answer = ask(&server, &range(text));
    let series = answer["series"].as_array().unwrap();
    assert_eq!(series.len(), 2, "{answer}");
    assert_eq!(series[0]["name"], "cpu.usage");
    assert_eq!(series[0]["labels"], json!({"host": "a", "rack": "r"}));
    assert_eq!(series[0]["times"], json!([600_000, 660_000]));
    assert_eq!(series[0]["values"], json!([1.5, 2.5]));
    assert_eq!(series[1]["values"], json!([4.0]));
    assert_eq!(answer["figures"]["samples"], 3);

    let parts = json!({"language": "opentsdb", "query": {"metric": "cpu.usage", "aggregator": "sum",
        "downsample": "$step-max"}});
    let answer = ask(&server, &range(parts));
    assert_eq!(answer["series"][0]["varying"], json!(["host"]), "{answer}");
    assert_eq!(answer["series"][0]["values"][0], 5.5);

    let text = "SELECT mean(usage) AS u, max(cores) FROM cpu WHERE time >= $start AND time < $end \
                GROUP BY time($step), host";
    let answer = ask(&server, &range(json!({"language": "influxql", "text": text})));
    let names: Vec<_> = answer["series"].as_array().unwrap().iter().map(|s| &s["field"]).collect();
    assert_eq!(names, ["u", "max", "u"], "{answer}");
    assert_eq!(answer["series"][1]["kind"], "integer");
    assert_eq!(answer["series"][1]["values"], json!([4, 8]));
    assert_eq!(answer["series"][2]["labels"], json!({"host": "b"}));

    let text = "sum by (host) (sum_over_time({__name__=~\"cpu.usage|cpu\"}[$step]))";
    let answer = ask(&server, &range(json!({"language": "promql", "text": text})));
    let names: Vec<_> = answer["series"].as_array().unwrap().iter().map(|s| &s["labels"]).collect();
    assert_eq!(names, [&json!({"host": "a"}), &json!({"host": "b"})], "{answer}");

    let text = json!({"language": "promql", "text": "sum(x[1m])", "explain": true});
    post(&server, "query", &text, 400);
    let text = json!({"language": "promql", "text": "quantile(7, x)", "explain": true});
    let answer = ask(&server, &range(text));
    assert_eq!(answer["tree"]["type"], "aggregation", "{answer}");

    let text = "SELECT note, \"on\" FROM cpu WHERE host = 'a'";
    let body = json!({"language": "influxql", "text": text, "unit": "ns"});
    let answer = ask(&server, &body);
    assert_eq!(answer["series"][0]["times"], json!(["600000000000"]), "{answer}");
    assert_eq!(answer["series"][0]["values"], json!(["x"]));
    assert_eq!(answer["series"][1]["values"], json!([true]));
    server.stop();
}

#[test]
fn who_made_a_series_is_told_beside_its_samples() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    write(&server, "cpu,host=a usage=1 600");
    let put = json!([{"metric": "cpu.usage", "timestamp": 600, "value": 3, "tags": {"host": "b"}},
        {"metric": "cpu.usage", "timestamp": 660, "value": 3, "tags": {"host": "b"}}]);
    assert_eq!(server.post("/api/put", &put.to_string()).status, 204);
    // Whoever sends more of a series did not make it.
    write(&server, "cpu,host=a usage=2 660");
    let maker = |value: &Value| {
        assert_eq!((&value["from"], &value["address"]), (&json!("address"), &json!("127.0.0.1")));
        assert!(value["at_ms"].as_i64().unwrap() > 1_600_000_000_000, "{value}");
        value["protocol"].as_str().unwrap().to_owned()
    };
    let body = |text: &str, makers: bool| json!({"language": "opentsdb", "text": text, "start_ms": 0, "end_ms": 900_000, "makers": makers});
    let answer = ask(&server, &body("none:cpu.usage", true));
    let makers: Vec<String> =
        answer["series"].as_array().unwrap().iter().map(|one| maker(&one["made_by"])).collect();
    assert_eq!(makers, ["influx_http", "put"], "{answer}");
    // Several series have no maker, and nobody who did not ask is told.
    for other in [body("sum:cpu.usage", true), body("none:cpu.usage", false)] {
        let answer = ask(&server, &other);
        assert!(answer["series"][0].get("made_by").is_none(), "{answer}");
    }
    let listed = get(&server, "series?metric=cpu.usage");
    let makers: Vec<String> =
        listed["series"].as_array().unwrap().iter().map(|one| maker(&one["made_by"])).collect();
    assert_eq!(makers.len(), 2, "{listed}");
    server.stop();
    // Of before the start nothing is known.
    let server = Server::start(dir.path(), &[]);
    let listed = get(&server, "series?metric=cpu.usage");
    assert_eq!(listed["series"][0]["made_by"], Value::Null);
    server.stop();
}

#[test]
fn rows_of_one_time_tell_which_samples_stand_together() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    write(&server, "twins,h=a v=1 600\ntwins,h=b v=2,w=3 600\ntwins,h=a w=4 660");
    let rows = |text: &str| {
        let asked = json!({"language": "influxql", "text": text, "start_ms": 0, "end_ms": 1});
        let series = ask(&server, &asked)["series"].clone();
        let told = series.as_array().unwrap().iter();
        told.map(|one| (one["field"].to_string(), one["rows"].to_string())).collect::<Vec<_>>()
    };
    let told = |field: &str, rows: &str| (format!("\"{field}\""), rows.to_owned());
    assert_eq!(
        rows("SELECT * FROM twins"),
        [told("h", "[0,1,2]"), told("v", "[0,1]"), told("w", "[1,2]")]
    );
    assert_eq!(rows("SELECT v FROM twins GROUP BY h"), [told("v", "null"), told("v", "null")]);
    server.stop();
}

#[test]
fn statements_that_tell_no_samples_are_answered_with_tables() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    write(&server, "cpu,host=a usage=1 600\ncpu,host=b usage=2,idle=3i 600");
    let tables = |text: &str| {
        let answer = ask(&server, &json!({"language": "influxql", "text": text}));
        (answer["tables"].clone(), answer)
    };
    let expected = json!([
        {"name": "cpu", "labels": {}, "columns": ["key", "value"], "rows": [["host", "a"], ["host", "b"]]}
    ]);
    assert_eq!(tables("SHOW TAG VALUES FROM cpu WITH KEY = host").0, expected);
    let (found, _) = tables("SHOW FIELD KEYS; SHOW MEASUREMENTS");
    assert_eq!(found[0]["rows"], json!([["idle", "integer"], ["usage", "float"]]));
    assert_eq!(found[1]["rows"], json!([["cpu"]]));
    // Selections beside them are series, as ever.
    let (found, answer) = tables(
        "SHOW DATABASES; SELECT usage FROM cpu WHERE time <= 1000s; EXPLAIN SELECT usage FROM cpu",
    );
    assert_eq!(found[0]["columns"], json!(["name"]));
    assert_eq!(found[1]["columns"], json!(["QUERY PLAN"]));
    assert_eq!(answer["series"].as_array().unwrap().len(), 1, "{answer}");
    // Where nothing is told, there is no table; and of selections there is no word about any.
    assert_eq!(tables("SHOW TAG KEYS FROM nothing").0, json!([]));
    assert_eq!(tables("SELECT usage FROM cpu").0, Value::Null);
    server.stop();
}

#[test]
fn lists_meet_the_limits_of_questions_and_tell_what_they_held() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--limits-query-memory-bytes", "1MB"]);
    let lines = |from: usize| -> String {
        (from..from + 5000)
            .map(|at| format!("wide,host=h{at:05}-{} v=1 600\n", "x".repeat(60)))
            .collect()
    };
    write(&server, &lines(0));
    let question = json!({"language": "influxql", "text": "SHOW SERIES LIMIT 100"});
    let answer = ask(&server, &question);
    assert_eq!(answer["tables"][0]["rows"].as_array().unwrap().len(), 100);
    assert!(answer["figures"]["memory_peak_bytes"].as_u64() > Some(0), "{answer}");
    (1..4).for_each(|piece| write(&server, &lines(5000 * piece)));
    let question = json!({"language": "influxql", "text": "SHOW SERIES"});
    let refused = post(&server, "query", &question, 413);
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("limits.query_memory_bytes"), "{message}");
    server.stop();
}

#[test]
fn refusals_say_what_is_wrong_and_where() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    write(&server, "cpu usage=1 600");
    let refused = |body: Value, status: u16, words: &str| {
        let answer = post(&server, "query", &body, status);
        let message = answer["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(words), "{body}: {message}");
        answer["error"]["position"].clone()
    };
    let influxql = |text: &str| json!({"language": "influxql", "text": text});
    let place = refused(influxql("SELECT usage\nFORM cpu"), 400, "found FORM");
    assert_eq!(place, json!({"line": 2, "column": 1}));
    refused(influxql("SELECT nosuch(usage) FROM cpu"), 400, "nosuch");
    refused(influxql("DROP MEASUREMENT cpu"), 400, "only statements that change nothing");
    refused(
        influxql("SELECT usage INTO other FROM cpu"),
        400,
        "only statements that change nothing",
    );
    refused(influxql("SHOW TAG VALUES FROM cpu"), 400, "found EOF, expected WITH");
    refused(influxql("SHOW GRANTS FOR nobody"), 400, "user not found");
    refused(influxql("SHOW SERIES ON nodb"), 404, "database not found");
    refused(influxql("SELECT v FROM nodb..cpu"), 404, "database not found");
    refused(influxql(" ; "), 400, "no statement");
    refused(json!({"language": "influxql", "query": {}}), 400, "asked as text");
    let opentsdb = |text: &str| json!({"language": "opentsdb", "text": text});
    refused(opentsdb("sum:nosuch"), 400, "No such name for 'metrics': 'nosuch'");
    refused(opentsdb("cpu.usage"), 400, "");
    refused(opentsdb("sum:cpu.usage&delete=true"), 400, "");
    refused(json!({"language": "flux", "text": "x"}), 400, "language: must be");
    let promql = |text: &str| json!({"language": "promql", "text": text});
    // What is only to be checked is told the same, and what is right is not asked.
    let checked = |language: &str, text: &str| {
        let answer = ask(&server, &json!({"language": language, "text": text, "check": true}));
        let told = (&answer["series"], &answer["figures"]["series_read"]);
        assert_eq!(told, (&json!([]), &json!(0)));
        answer["wrong"].clone()
    };
    let wrong = checked("influxql", "SELECT usage\nFORM cpu");
    assert!(wrong["message"].as_str().unwrap().contains("found FORM"), "{wrong}");
    assert_eq!(wrong["position"], json!({"line": 2, "column": 1}));
    let wrong = checked("influxql", "SELECT Max(usage),\n Nosuch(usage) FROM cpu");
    assert_eq!(wrong["message"], "undefined function nosuch()");
    assert_eq!(wrong["position"], json!({"line": 2, "column": 2}));
    // One of two places is said of neither.
    let wrong = checked("influxql", "SELECT /* nosuch( */ nosuch(usage) FROM cpu");
    assert_eq!(
        (&wrong["message"], &wrong["position"]),
        (&json!("undefined function nosuch()"), &Value::Null)
    );
    assert_ne!(checked("influxql", "SELECT mean(usage), usage FROM cpu"), Value::Null);
    assert_ne!(checked("opentsdb", "sum"), Value::Null);
    assert_ne!(checked("promql", "sum("), Value::Null);
    for (language, text) in
        [("influxql", "SELECT usage FROM cpu"), ("promql", "cpu_usage"), ("opentsdb", "sum:nosuch")]
    {
        assert_eq!(checked(language, text), Value::Null, "{text}");
    }
    let formatted = |text: &str| {
        let question = json!({"language": "promql", "text": text, "check": true});
        ask(&server, &question)["formatted"].clone()
    };
    assert_eq!(formatted("sum  by(a)(x)"), "sum by (a) (x)");
    assert_eq!((formatted("rate(x[$step])"), formatted("sum(")), (Value::Null, Value::Null));
    let place = refused(promql("sum(\n  rate(x[5m])"), 400, "unexpected end of input");
    assert_eq!(place["line"], 2);
    refused(promql("\"text\""), 400, "a string has no graph");
    refused(json!({"language": "promql", "query": {}}), 400, "asked as text");
    refused(
        json!({"language": "promql", "text": "x", "start_ms": 0, "end_ms": 20_000, "step_ms": 1}),
        400,
        "11000 steps",
    );
    refused(json!({"language": "opentsdb"}), 400, "text: give the question");
    refused(json!({"language": "opentsdb", "text": "a", "query": {}}), 400, "text: give");
    refused(json!({"language": "opentsdb", "text": "a", "step_ms": 0}), 400, "step_ms");
    refused(
        json!({"language": "opentsdb", "text": "a", "start_ms": 2, "end_ms": 1}),
        400,
        "start_ms",
    );
    refused(json!({"language": "opentsdb", "text": "a", "unit": "h"}), 400, "unit");
    let missing = server.post(&format!("{ROOT}/query?db=none"), &opentsdb("sum:x").to_string());
    let missing = described("POST", &format!("{ROOT}/query"), &missing, 404);
    assert!(missing["error"]["message"].as_str().unwrap().contains("none"), "{missing}");
    // What is stored is as it was.
    assert_eq!(get(&server, "catalogue?of=metrics")["names"], json!(["cpu.usage"]));
    let foreign = [("Origin", "http://evil.example")];
    let body = opentsdb("sum:cpu.usage").to_string();
    let path = format!("{ROOT}/query");
    assert_eq!(server.request("POST", &path, &foreign, body.as_bytes()).status, 403);
    server.stop();
}

/// The statuses of the table of errors in docs/api.md, row by row.
fn statuses_of_the_table() -> Vec<u16> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/api.md");
    let page = std::fs::read_to_string(page).unwrap();
    let table = page.split("| status | when |").nth(1).unwrap().split("\n\n").next().unwrap();
    let first = |row: &str| row.split('|').nth(1).unwrap().trim().to_owned();
    let rows = table.lines().skip(2).map(first);
    rows.flat_map(|row| row.split(", ").map(|status| status.parse().unwrap()).collect::<Vec<_>>())
        .collect()
}

#[test]
fn every_error_of_the_table_is_met_and_has_its_form() {
    let dir = Scratch::new();
    let open = Server::start(&dir.path().join("open"), &["--set", "limits.query_samples=1"]);
    write(&open, "cpu usage=1 600\ncpu usage=2 601\ncpu usage=3 602");
    let closed = Server::start(&dir.path().join("closed"), &["--access"]);
    let query = format!("{ROOT}/query");
    let raw = json!({"language": "influxql", "text": "SELECT usage FROM cpu"}).to_string();
    let asks = |server: &Server, path: &str, headers: &[(&str, &str)], body: &str| {
        let response = server.request("POST", path, headers, body.as_bytes());
        (response.status, response)
    };
    let mut met = Vec::new();
    let mut note = |(status, response): (u16, Response)| {
        let answer = described("POST", &query, &response, status);
        assert!(!answer["error"]["message"].as_str().unwrap().is_empty(), "{status}: {answer}");
        let is_for_later = [429, 503].contains(&status);
        assert_eq!(!response.header("retry-after").is_empty(), is_for_later, "{status}: {answer}");
        met.push(status);
    };
    note(asks(&open, &query, &[], "{"));
    note(asks(&open, &format!("{query}?db=none"), &[], &raw));
    note(asks(&open, &query, &[], &raw));
    let none = json!({"language": "promql", "text": "topk(NaN, vector(1))", "start_ms": 0,
        "end_ms": 60_000, "step_ms": 60_000});
    note(asks(&open, &query, &[], &none.to_string()));
    note(asks(&open, &query, &[("Origin", "http://evil.example")], &raw));
    note(asks(&closed, &query, &[], &raw));
    // cm9vdDp3cm9uZw== is root:wrong.
    let guess = [("Authorization", "Basic cm9vdDp3cm9uZw==")];
    let guesses = (0..40).map(|_| asks(&closed, &query, &guess, &raw));
    note(guesses.into_iter().find(|(status, _)| *status == 429).unwrap());
    met.sort_unstable();
    let mut wanted = statuses_of_the_table();
    // What a failing disk, a crowd of bodies and an import that was ended make has tests of its
    // own, beside the disk, the bodies and the import.
    wanted.retain(|status| ![409, 500, 503].contains(status));
    assert_eq!(met, wanted);
    [open, closed].into_iter().for_each(Server::stop);
}

#[test]
fn the_catalogue_finds_names_by_any_part_and_shows_them_as_they_are() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let escaped = |text: &str| text.replace(' ', "\\ ").replace('=', "\\=");
    write(
        &server,
        "disk,host=Alpha used=1i,free=2,mode=\"rw\" 600\ndiskless,host=beta value=1 600",
    );
    write(&server, &format!("{0},{0}={0} value=1 600", escaped(HOSTILE)));
    let names = |query: &str| get(&server, &format!("catalogue?{query}"))["names"].clone();
    assert_eq!(names("of=metrics&search=ISKL"), json!(["diskless"]));
    assert_eq!(names("of=metrics&search=disk.")[0], "disk.free");
    assert_eq!(names("of=measurements").as_array().unwrap().len(), 3);
    // Letters in their order, where nothing has them side by side.
    assert_eq!(names("of=metrics&search=DsKls"), json!(["diskless"]));
    assert_eq!(names("of=metrics&search=dkl&without=diskl"), json!([]));
    assert_eq!(names("of=metrics&search=dl"), json!([]));
    assert_eq!(names("of=measurements&search=onerror"), json!([HOSTILE]));
    assert_eq!(names("of=labels&search=img"), json!([HOSTILE]));
    assert_eq!(names("of=labels&metric=disk.used"), json!(["host"]));
    assert_eq!(names("of=values&label=host&search=alph"), json!(["Alpha"]));
    assert_eq!(names("of=values&label=host&measurement=diskless"), json!(["beta"]));
    assert_eq!(names("of=newest&limit=1"), json!([HOSTILE]));
    let some = get(&server, "catalogue?of=metrics&limit=2");
    assert_eq!((&some["is_whole"], some["names"].as_array().unwrap().len()), (&json!(false), 2));
    assert_eq!(get(&server, "catalogue?of=metrics&limit=5")["is_whole"], true);
    let fields = get(&server, "catalogue?of=fields&measurement=disk");
    let kind = |name: &str, kind: &str| json!({"name": name, "kind": kind});
    let expected = [kind("free", "float"), kind("mode", "string"), kind("used", "integer")];
    assert_eq!(fields["fields"], json!(expected));
    let some = get(&server, "catalogue?of=fields&measurement=disk&search=E&without=mo,us");
    assert_eq!(some["fields"], json!([kind("free", "float")]));
    let some = get(&server, "catalogue?of=fields&measurement=disk&limit=2");
    assert_eq!((&some["is_whole"], some["fields"].as_array().unwrap().len()), (&json!(false), 2));
    // Which of two values counts readers of parameters disagree on.
    let twice = server.get(&format!("{ROOT}/catalogue?of=metrics&limit=1&limit=2"));
    assert_eq!(twice.status, 400);
    assert!(twice.text().contains("limit: this is given twice"), "{}", twice.text());
    assert_eq!(server.post("/query", "q=x").status, 400);
    assert_eq!(server.post("/query?q=CREATE+DATABASE+other", "").status, 200);
    let databases = get(&server, "catalogue?of=databases");
    let named: Vec<_> =
        databases["databases"].as_array().unwrap().iter().map(|d| &d["name"]).collect();
    assert_eq!(named, ["default", "other"]);
    for (wanted, found) in
        [("search=OTH", vec!["other"]), ("search=none", vec![]), ("without=oth", vec!["default"])]
    {
        let some = get(&server, &format!("catalogue?of=databases&{wanted}"));
        let names: Vec<_> =
            some["databases"].as_array().unwrap().iter().map(|d| d["name"].clone()).collect();
        assert_eq!(names, found, "{wanted}");
    }
    // Letters of all languages are one whatever their case.
    let lines = "λόγος v=1\nΛΟΓΟΣ v=1\nStraße v=1";
    assert_eq!(server.post("/write?db=other", lines).status, 204);
    for (sought, found) in [
        ("%CE%A3", json!(["ΛΟΓΟΣ.v", "λόγος.v"])),
        ("%CF%82", json!(["ΛΟΓΟΣ.v", "λόγος.v"])),
        ("STRASSE", json!(["Straße.v"])),
        ("%C4%B0", json!([])),
    ] {
        let some = get(&server, &format!("catalogue?of=metrics&db=other&search={sought}"));
        assert_eq!(some["names"], found, "{sought}");
    }
    assert_eq!(databases["own"], "default");
    // Values of a label where others are chosen already.
    write(&server, "net,host=a,region=us up=1 600\nnet,host=b,region=eu up=1 600");
    let hosts = |filters: &str| names(&format!("of=values&label=host&metric=net.up&{filters}"));
    assert_eq!(hosts("filters=%7Bregion=us%7D"), json!(["a"]));
    assert_eq!(hosts("filters=%7Bregion=*%7D%7Bhost=b|c%7D"), json!(["b"]));
    assert_eq!(names("of=labels&filters=%7Bregion=us%7D"), json!(["host", "region"]));
    for bad in [
        "",
        "of=none",
        "of=values",
        "of=fields",
        "of=metrics&limit=0",
        "of=metrics&limit=x",
        "of=metrics&filters=%7Ba=b%7D",
        "of=labels&filters=%7Ba",
    ] {
        let path = format!("{ROOT}/catalogue?{bad}");
        described("GET", &path, &server.get(&path), 400);
    }
    server.stop();
}

/// What the page draws by itself is nobody's wish.
#[test]
fn when_a_metric_was_asked_for_last_by_its_name_is_told() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    write(&server, "cpu,host=a user=1,idle=2 600\nmem,host=a value=1 600\nup,host=a value=1 600");
    let count = |metric: &str| {
        let told = get(&server, "cardinality?limit=10")["metrics"].clone();
        let told = told.as_array().unwrap().iter().find(|one| one["name"] == metric).cloned();
        let asked = told.unwrap()["asked"].clone();
        assert!(asked.is_null() || asked["last_ms"].as_i64() > Some(1_700_000_000_000), "{asked}");
        assert_eq!(get(&server, &format!("metric?metric={metric}"))["asked"], asked);
        asked["count"].as_u64().unwrap_or(0)
    };
    let asks = |language: &str, text: &str, by_itself: bool| {
        let body = json!({"language": language, "text": text, "start_ms": 0, "end_ms": 900_000,
            "step_ms": 60_000, "by_itself": by_itself});
        ask(&server, &body);
    };
    assert_eq!((count("cpu.user"), count("mem")), (0, 0));
    asks("opentsdb", "sum:cpu.user{host=*}", true);
    assert_eq!(count("cpu.user"), 0, "nobody asked");
    asks("opentsdb", "sum:cpu.user{host=*}", false);
    asks("promql", "max(cpu_user)", false);
    asks("promql", "sum(mem) + sum(mem)", false);
    assert_eq!((count("cpu.user"), count("cpu.idle"), count("mem")), (2, 0, 1));
    // All fields of a measurement are asked for where none is named.
    assert_eq!(server.get("/query?db=default&q=SELECT+*+FROM+cpu").status, 200);
    assert_eq!((count("cpu.user"), count("cpu.idle"), count("up")), (3, 1, 0));
    // Of several statements each is about its own.
    let two = "/query?db=default&q=SELECT+max(idle)+FROM+cpu;SELECT+max(value)+FROM+up";
    assert_eq!(server.get(two).status, 200);
    assert_eq!((count("cpu.idle"), count("up")), (2, 1));
    server.stop();
}

#[test]
fn cardinality_counts_series_and_values() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    for host in 0..30 {
        write(&server, &format!("cpu,host=h{host},dc=x a=1,b=2 600\nmem,dc=y{} v=1 600", host % 3));
    }
    let counted = get(&server, "cardinality?limit=2");
    assert_eq!((&counted["series"], &counted["metrics_total"]), (&json!(63), &json!(3)));
    let metric = |name: &str, series: u64| json!({"name": name, "series": series, "asked": null});
    assert_eq!(counted["metrics"], json!([metric("cpu.a", 30), metric("cpu.b", 30)]));
    let label = |name: &str, values: u64, series: u64| json!({"name": name, "values": values, "series": series});
    assert_eq!(counted["labels"], json!([label("host", 30, 60), label("dc", 4, 63)]));
    let pair = |name: &str, value: &str, series: u64| json!({"name": name, "value": value, "series": series});
    assert_eq!(counted["pairs"], json!([pair("dc", "x", 60), pair("host", "h0", 2)]));
    assert_eq!(get(&server, "cardinality?start_ms=600001")["series"], 0);
    assert_eq!(get(&server, "cardinality?start_ms=600000&end_ms=600000")["series"], 63);
    for bad in ["start_ms=x", "start_ms=2&end_ms=1"] {
        let path = format!("{ROOT}/cardinality?{bad}");
        described("GET", &path, &server.get(&path), 400);
    }
    // Of one label, or of one pair, it tells the metrics that have it.
    let of = |params: &str| {
        let counted = get(&server, &format!("cardinality?{params}"));
        (counted["series"].clone(), counted["metrics"].clone(), counted["labels"].clone())
    };
    let all = get(&server, "cardinality?limit=1000");
    for label in all["labels"].as_array().unwrap() {
        let name = label["name"].as_str().unwrap();
        assert_eq!(of(&format!("label={name}")).0, label["series"], "{label}");
    }
    let pair = &all["pairs"][0];
    let (name, value) = (pair["name"].as_str().unwrap(), pair["value"].as_str().unwrap());
    let (series, metrics, labels) = of(&format!("label={name}&value={value}"));
    assert_eq!(series, pair["series"]);
    let sum: u64 =
        metrics.as_array().unwrap().iter().map(|one| one["series"].as_u64().unwrap()).sum();
    assert_eq!(series, sum, "{metrics}");
    let own = labels.as_array().unwrap().iter().find(|one| one["name"] == name).unwrap();
    assert_eq!(own["values"], 1);
    let listed = get(&server, &format!("series?label={name}&value={value}&limit=10000"));
    assert_eq!(listed["total"], series);
    let has = |one: &Value| one["labels"][name] == value;
    assert!(listed["series"].as_array().unwrap().iter().all(has), "{listed}");
    assert_eq!(of("label=nosuch").0, 0);
    for bad in ["cardinality?value=a", "series?value=a", "series"] {
        assert_eq!(server.get(&format!("{ROOT}/{bad}")).status, 400, "{bad}");
    }
    let counted = get(&server, "cardinality?metric=mem.v");
    assert_eq!(counted["labels"], json!([label("dc", 3, 3)]));
    // Few series may hold most: what fills the disk is told by size.
    let lines: Vec<String> =
        (0..2_000).map(|at| format!("mem,dc=y0 v={} {}", at * 7919 % 1009, 700 + at)).collect();
    write(&server, &lines.join("\n"));
    let weighed = get(&server, "cardinality?weigh=true&limit=2");
    let (greatest, next) = (&weighed["metrics"][0], &weighed["metrics"][1]);
    assert_eq!((&greatest["name"], &greatest["samples"]), (&json!("mem.v"), &json!(2_003)));
    assert_eq!((&next["name"], &next["samples"]), (&json!("cpu.a"), &json!(30)));
    assert!(greatest["bytes"].as_u64() > next["bytes"].as_u64(), "{weighed}");
    assert_eq!(weighed["metrics"].as_array().unwrap().len(), 2);
    // When each was last used: by its newest series, whatever is weighed.
    let last = |about: &str, name: &str| {
        let told = get(&server, &format!("cardinality?last=true&{about}"));
        let metrics = told["metrics"].as_array().unwrap().clone();
        metrics.into_iter().find(|one| one["name"] == name).unwrap()["last_ms"].clone()
    };
    assert_eq!(last("limit=1000", "mem.v"), 2_699_000);
    assert_eq!(last("limit=1000&label=dc&value=y1", "mem.v"), 600_000);
    assert_eq!(last("weigh=true", "mem.v"), 2_699_000);
    for wrong in ["weigh=yes", "last=1"] {
        let path = format!("{ROOT}/cardinality?{wrong}");
        described("GET", &path, &server.get(&path), 400);
    }
    server.stop();
}

#[test]
fn series_are_listed_by_how_long_they_were_quiet() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    write(
        &server,
        "cpu,host=a u=1 600\ncpu,host=a u=2 900\ncpu,host=b u=1 700\ncpu,host=c w=1 500",
    );
    let listed = get(&server, "series?metric=cpu.u");
    let row = |host: &str, metric: &str, last_s: i64| json!({"metric": metric, "labels": {"host": host}, "last_ms": last_s * 1000});
    let rows = |mut listed: Value| {
        let of = listed["series"].as_array_mut().unwrap();
        of.iter_mut().for_each(|one| drop(one.as_object_mut().unwrap().remove("made_by")));
        listed["series"].clone()
    };
    assert_eq!(rows(listed.clone()), json!([row("b", "cpu.u", 700), row("a", "cpu.u", 900)]));
    assert_eq!((&listed["total"], &listed["is_whole"]), (&json!(2), &json!(true)));
    let listed = get(&server, "series?measurement=cpu&limit=1");
    assert_eq!(rows(listed.clone()), json!([row("c", "cpu.w", 500)]));
    assert_eq!((&listed["total"], &listed["is_whole"]), (&json!(3), &json!(false)));
    assert_eq!(get(&server, "series?metric=none")["total"], 0);
    let path = format!("{ROOT}/series");
    described("GET", &path, &server.get(&path), 400);
    server.stop();
}

#[test]
fn a_delete_tells_what_goes_and_takes_no_more_than_was_said() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    write(&server, "cpu,host=a u=1,v=1 600\ncpu,host=a u=2 700\ncpu,host=b u=3 700\ncpux u=4 700");
    let counts =
        |answer: &Value| (answer["series"].as_u64().unwrap(), answer["samples"].as_u64().unwrap());
    let delete = |body: Value| counts(&post(&server, "delete", &body, 200));
    let left = || {
        let text = "SELECT count(*) FROM /cpu/";
        let answer = ask(
            &server,
            &json!({"language": "influxql", "text": text, "end_ms": 1_000_000, "start_ms": 0}),
        );
        let samples = answer["series"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["values"][0].as_u64().unwrap());
        samples.sum::<u64>()
    };
    assert_eq!(left(), 5);
    assert_eq!(delete(json!({"metric": "cpu.u", "is_preview": true})), (2, 3));
    assert_eq!(
        delete(json!({"metric": "cpu.u", "labels": {"host": "a"}, "is_preview": true})),
        (1, 2)
    );
    assert_eq!(
        delete(json!({"metric": "cpu.u", "labels": {"rack": ""}, "is_preview": true})),
        (0, 0)
    );
    assert_eq!(left(), 5);
    let first =
        json!({"metric": "cpu.u", "labels": {"host": "a"}, "start_ms": 600_000, "end_ms": 600_000});
    assert_eq!(delete(first.clone()), (1, 1));
    assert_eq!(delete(first), (0, 0));
    assert_eq!(left(), 4);
    let wrong = [
        json!({}),
        json!([]),
        json!({"metric": ""}),
        json!({"metric": "cpu.u", "label": {"host": "a"}}),
        json!({"metric": "cpu.u", "labels": {"host": 1}}),
        json!({"metric": "cpu.u", "labels": []}),
        json!({"metric": "cpu.u", "start_ms": "1"}),
        json!({"metric": "cpu.u", "start_ms": i64::MAX}),
        json!({"metric": "cpu.u", "start_ms": 2, "end_ms": 1}),
        json!({"metric": "cpu.u", "is_preview": "yes"}),
    ];
    for body in wrong {
        post(&server, "delete", &body, 400);
    }
    assert_eq!(left(), 4);
    // With the last sample goes the name of its series.
    let named = || get(&server, "cardinality");
    assert_eq!(named()["series"], 4);
    assert_eq!(delete(json!({"metric": "cpu.u", "labels": {"host": "b"}})), (1, 1));
    let host = json!([{"name": "host", "values": 1, "series": 2}]);
    assert_eq!((&named()["series"], &named()["labels"]), (&json!(3), &host));
    assert_eq!(delete(json!({"metric": "cpu.u"})), (1, 1));
    assert_eq!(left(), 2);
    assert_eq!(get(&server, "catalogue?of=metrics")["names"], json!(["cpu.v", "cpux.u"]));
    server.stop();
}

#[test]
fn whole_numbers_that_readers_lose_digits_of_are_texts_on_demand() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    write(
        &server,
        "m n=9007199254740991i,u=1 600\nm n=-9223372036854775808i,u=2 601\nm n=9007199254740992i 602",
    );
    let asked = |exact: bool| {
        json!({"language": "opentsdb", "text": "none:m.n", "start_ms": 0, "end_ms": 700_000,
            "exact": exact})
    };
    let values = |exact| ask(&server, &asked(exact))["series"][0]["values"].clone();
    let plain = json!([9_007_199_254_740_991_i64, i64::MIN, 9_007_199_254_740_992_i64]);
    assert_eq!(values(false), plain);
    let exact = json!([9_007_199_254_740_991_i64, i64::MIN.to_string(), "9007199254740992"]);
    assert_eq!(values(true), exact);
    server.stop();
}
