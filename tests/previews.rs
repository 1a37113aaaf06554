//! What a delete would take is told before anything goes, at every door that takes samples away.

use crate::harness::{Response, Scratch, Server, foliot};
use serde_json::{Value, json};

/// Asks for a statement to be carried out, as somebody or as nobody.
fn ask(server: &Server, who: &str, statement: &str) -> Response {
    let encode = |byte: u8| format!("%{byte:02x}");
    let body = format!("q={}", statement.bytes().map(encode).collect::<String>());
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let headers = [form, ("Authorization", who)];
    let headers = if who.is_empty() { &headers[..1] } else { &headers[..] };
    server.request("POST", "/query?db=d", headers, body.as_bytes())
}

fn done(server: &Server, statement: &str) -> Value {
    let response = ask(server, "", statement);
    let json: Value = serde_json::from_str(&response.text()).unwrap();
    assert!(response.status == 200 && !response.text().contains("error"), "{statement}: {json}");
    json["results"][0].clone()
}

/// Policy, series and samples of each row of a preview.
fn preview(server: &Server, statement: &str) -> Vec<(String, u64, u64)> {
    let result = done(server, &format!("EXPLAIN {statement}"));
    let table = &result["series"][0];
    assert_eq!(table["columns"], json!(["policy", "series", "samples", "bytes"]), "{table}");
    let row = |row: &Value| {
        let count = |at: usize| row[at].as_u64().unwrap();
        assert_eq!(count(2) > 0, count(3) > 0, "samples take bytes: {row}");
        (row[0].as_str().unwrap().to_owned(), count(1), count(2))
    };
    table["values"].as_array().unwrap().iter().map(row).collect()
}

/// A database of two policies: in the first m0 of two hosts and m1 of one, three samples each; in
/// the second m0 of one host, two samples.
fn fill(server: &Server) {
    done(server, "CREATE DATABASE d");
    done(server, "CREATE RETENTION POLICY rp ON d DURATION INF REPLICATION 1");
    let three = |key: &str| (1..=3).map(|n| format!("{key} v={n} {n}\n")).collect::<String>();
    let lines = ["m0,h=a", "m0,h=b", "m1,h=a"].map(three).concat();
    assert_eq!(server.post("/write?db=d", &lines).status, 204);
    assert_eq!(server.post("/write?db=d&rp=rp", "m0,h=a v=1 1\nm0,h=a v=2 2").status, 204);
}

fn audit(dir: &Scratch) -> Vec<Value> {
    let text = std::fs::read_to_string(dir.path().join("audit.log")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn statements_are_explained_before_they_delete() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    fill(&server);
    let rows = |all: &[(&str, u64, u64)]| -> Vec<(String, u64, u64)> {
        all.iter().map(|(policy, series, count)| ((*policy).to_owned(), *series, *count)).collect()
    };
    for (statement, expected) in [
        ("DELETE FROM m0 WHERE h = 'a'", [("autogen", 1, 3), ("rp", 1, 2)]),
        // What two conditions name goes once.
        ("DELETE FROM m0 WHERE h = 'a' OR time <= 2", [("autogen", 2, 5), ("rp", 1, 2)]),
        ("DELETE WHERE time < 3 OR time < 2", [("autogen", 3, 6), ("rp", 1, 2)]),
        ("DELETE FROM m1", [("autogen", 1, 3), ("rp", 0, 0)]),
        ("DROP SERIES WHERE h = 'a'", [("autogen", 2, 6), ("rp", 1, 2)]),
        ("DROP SERIES FROM nothing", [("autogen", 0, 0), ("rp", 0, 0)]),
        ("DROP MEASUREMENT m0", [("autogen", 2, 6), ("rp", 1, 2)]),
        ("DROP DATABASE d", [("autogen", 3, 9), ("rp", 1, 2)]),
    ] {
        assert_eq!(preview(&server, statement), rows(&expected), "{statement}");
    }
    assert_eq!(preview(&server, "DROP RETENTION POLICY rp ON d"), rows(&[("rp", 1, 2)]));
    // What would be refused is refused before.
    let refused = ask(&server, "", "EXPLAIN ALTER RETENTION POLICY rp ON d DURATION 1d").text();
    assert!(refused.contains("must be greater than the shard duration"), "{refused}");
    let shorter = "ALTER RETENTION POLICY rp ON d DURATION 1d SHARD DURATION 1h";
    assert_eq!(preview(&server, shorter), rows(&[("rp", 1, 2)]), "they are of 1970");
    let longer = "ALTER RETENTION POLICY rp ON d DURATION INF";
    assert_eq!(preview(&server, longer), rows(&[("rp", 0, 0)]));
    // Nothing went, GET may ask, and what takes nothing has no preview.
    assert_eq!(audit(&dir), [] as [Value; 0]);
    let counted = done(&server, "SELECT count(v) FROM m0, m1");
    assert_eq!(counted["series"][0]["values"][0][1], 6, "{counted}");
    assert_eq!(server.get("/query?db=d&q=EXPLAIN%20DROP%20DATABASE%20d").status, 200);
    let user = ask(&server, "", "EXPLAIN DROP USER u");
    assert!(user.status == 400 && user.text().contains("takes no samples away"));
    // The deed does what was told.
    let mut lines = 0;
    for statement in ["DELETE FROM m0 WHERE time = 2", "DROP SERIES FROM m1", "DROP DATABASE d"] {
        let told = preview(&server, statement);
        done(&server, statement);
        let all = audit(&dir);
        let sum = |name: &str| -> u64 {
            all[lines..].iter().map(|line| line[name].as_u64().unwrap()).sum()
        };
        let told = told.iter().fold((0, 0), |sum, row| (sum.0 + row.1, sum.1 + row.2));
        assert_eq!((sum("series"), sum("samples")), told, "{statement}");
        assert!(told.1 > 0, "{statement}");
        lines = all.len();
    }
    server.stop();
}

#[test]
fn requests_that_delete_tell_what_they_would() {
    let dir = Scratch::new();
    // Who may not delete by query may know what would go.
    let server = Server::start(dir.path(), &[]);
    fill(&server);
    let body = r#"{"start":"1970-01-01T00:00:00Z","stop":"1980-01-01T00:00:00Z",
        "predicate":"_measurement=\"m0\" AND h=\"a\""}"#;
    let told = |response: Response| {
        assert_eq!(response.status, 200, "{}", response.text());
        let json: Value = serde_json::from_str(&response.text()).unwrap();
        assert!(json["bytes"].is_u64(), "{json}");
        (json["series"].as_u64().unwrap(), json["samples"].as_u64().unwrap())
    };
    for spelt in ["dry_run=true", "dry_run", "dry_run=1", "dry_run=yes", "dryRun=true", "dry-run"] {
        let path = format!("/api/v2/delete?bucket=d&{spelt}");
        assert_eq!(told(server.post(&path, body)), (1, 3), "{spelt}");
    }
    let buckets = server.get("/api/v2/buckets?name=d").text();
    let buckets: Value = serde_json::from_str(&buckets).unwrap();
    let bucket = format!("/api/v2/buckets/{}", buckets["buckets"][0]["id"].as_str().unwrap());
    let path = format!("{bucket}?dry_run=true");
    assert_eq!(told(server.request("DELETE", &path, &[], b"")), (3, 9));
    let point = |time: u32| {
        let body = format!("put o {time} 1 h=a\nput o {time} 1 h=b\n");
        assert_eq!(server.talk(body.as_bytes()), "");
    };
    (1..=4).for_each(point);
    let query = "/api/query?start=2&end=3&m=sum:o";
    let path = format!("{query}&dry_run=true");
    assert_eq!(told(server.request("DELETE", &path, &[], b"")), (2, 4));
    // The first question's series are among the second's.
    let path = format!("{query}{{h=a}}&m=sum:o&delete=true&dry_run=true");
    assert_eq!(told(server.get(&path)), (2, 4));
    assert_eq!(server.request("DELETE", query, &[], b"").status, 400, "it is not allowed");
    for odd in ["dry_run=banana", "dry_run=0", "preview=no", "dry_run=true,false"] {
        let refused = server.post(&format!("/api/v2/delete?bucket=d&{odd}"), body);
        let (status, said) = (refused.status, refused.text());
        let name = odd.split('=').next().unwrap();
        assert!(status == 400 && said.contains(&format!("{name} in the URL: must be")), "{said}");
    }
    let odd = body.replace('{', "{\"dry_run\":\"banana\",");
    let refused = server.post("/api/v2/delete?bucket=d", &odd);
    assert!(refused.text().contains("dry_run in the body: must be"), "{}", refused.text());
    assert_eq!(audit(&dir), [] as [Value; 0], "nothing has gone");
    assert_eq!(server.post("/api/v2/delete?bucket=d&dry_run=false", body).status, 204);
    assert_eq!(audit(&dir).len(), 1);
    assert_eq!(server.request("DELETE", &bucket, &[], b"").status, 204);
    assert_eq!(server.get(&bucket).status, 404);
    server.stop();
}

/// Each door has its own place for the wish to see first. Somebody who knows another door's must
/// not lose samples.
#[test]
fn a_wish_for_a_preview_deletes_nothing_wherever_it_stands() {
    let dir = Scratch::new();
    let flags = ["--set", "opentsdb.allow_delete=true"];
    let server = Server::start(dir.path(), &flags);
    fill(&server);
    let buckets: Value = serde_json::from_str(&server.get("/api/v2/buckets").text()).unwrap();
    let named = |bucket: &&Value| bucket["name"] == "d";
    let id = buckets["buckets"].as_array().unwrap().iter().find(named).unwrap()["id"].clone();
    let bucket = format!("/api/v2/buckets/{}", id.as_str().unwrap());
    let v2 = r#""start":"1970-01-01T00:00:00Z","stop":"2030-01-01T00:00:00Z""#;
    let old = r#""start":0,"end":9,"ms":true,"delete":true,"queries":[{"aggregator":"sum","metric":"m1.v"}]"#;
    for wish in ["dry_run", "dryRun", "is_preview", "preview"] {
        for (method, path, body) in [
            (
                "POST",
                format!("/api/foliot/v1/delete?db=d&{wish}=true"),
                r#"{"metric":"m1.v"}"#.into(),
            ),
            ("POST", format!("/api/query?db=d&{wish}"), format!("{{{old}}}")),
            ("POST", "/api/query?db=d".to_owned(), format!("{{{old},\"{wish}\":true}}")),
            ("POST", format!("/api/v2/delete?bucket=d&{wish}=true"), format!("{{{v2}}}")),
            ("POST", "/api/v2/delete?bucket=d".into(), format!("{{{v2},\"{wish}\":true}}")),
            ("POST", format!("/query?db=d&q=DROP+MEASUREMENT+m1&{wish}=true"), String::new()),
            ("DELETE", format!("{bucket}?{wish}=1"), String::new()),
            ("DELETE", bucket.clone(), format!("{{\"{wish}\":true}}")),
        ] {
            let answer = server.request(method, &path, &[], body.as_bytes());
            let counted = done(&server, "SELECT count(v) FROM m0, m1");
            let left = &counted["series"][1]["values"][0][1];
            assert_eq!(*left, 3, "{method} {path} {body}: {} {}", answer.status, answer.text());
        }
    }
    // A misspelt condition would have everything go.
    let misspelt = format!("{{{v2},\"predikate\":\"h=a\"}}");
    let refused = server.request("POST", "/api/v2/delete?bucket=d", &[], misspelt.as_bytes());
    assert!(refused.status == 400 && refused.text().contains("predikate is none of"));
    for (method, path, body, word) in [
        ("POST", "/api/v2/delete?bucket=d&predicate=h%3Da", format!("{{{v2}}}"), "predicate"),
        ("POST", "/api/v2/delete?bucket=d", format!("{{{v2},\"predicate\":7}}"), "predicate"),
        ("POST", "/api/foliot/v1/delete?db=d&ende=1", r#"{"metric":"m1.v"}"#.into(), "ende"),
        (
            "POST",
            "/api/foliot/v1/delete?db=d",
            r#"{"metric":"m1.v","labels":null}"#.into(),
            "labels",
        ),
        (
            "POST",
            "/api/foliot/v1/delete?db=d",
            r#"{"metric":"m1.v","start_ms":null}"#.into(),
            "start_ms",
        ),
        (
            "POST",
            "/api/foliot/v1/delete?db=d",
            r#"{"metric":"m1.v","end_ms":null}"#.into(),
            "end_ms",
        ),
        (
            "POST",
            "/api/foliot/v1/delete?db=d",
            r#"{"metric":"m1.v","is_preview":null}"#.into(),
            "is_preview",
        ),
        (
            "DELETE",
            "/api/query?db=d&end=5",
            r#"{"start":1,"queries":[{"aggregator":"sum","metric":"m1.v"}]}"#.into(),
            "'end'",
        ),
        (
            "POST",
            "/prometheus/api/v1/admin/tsdb/delete_series?db=d&match[]=m1_v&ende=1",
            String::new(),
            "ende",
        ),
        ("DELETE", "/api/query?db=d&start=0&ende=1&m=sum:m1.v", String::new(), "ende"),
        (
            "DELETE",
            "/api/query?db=d&start=0&m=sum:explicit_tag:m1.v",
            String::new(),
            "explicit_tag",
        ),
        (
            "POST",
            "/api/query?db=d",
            format!("{{{old}}}").replace("metric", "filter\":[],\"metric"),
            "ms",
        ),
        ("DELETE", "/api/annotation/bulk?start_time=1&endtime=2&global", String::new(), "endtime"),
        ("DELETE", &*format!("{bucket}?dryrunn=true"), String::new(), "dryrunn"),
    ] {
        let refused = server.request(method, path, &[], body.as_bytes());
        assert_eq!(refused.status, 400, "{method} {path} {body}: {}", refused.text());
        assert!(refused.text().contains(word), "{path}: {}", refused.text());
    }
    assert_eq!(audit(&dir), [] as [Value; 0]);
    server.stop();
}

/// As InfluxDB 2 has it: a series without the tag is not among those that differ, so that a tag
/// which no series has takes nothing.
#[test]
fn a_predicate_takes_no_series_that_lacks_its_tag() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    fill(&server);
    let times = r#""start":"1970-01-01T00:00:00Z","stop":"1980-01-01T00:00:00Z""#;
    let delete = |query: &str, predicate: &str| {
        let body = format!("{{{times},\"predicate\":{predicate}}}");
        server.post(&format!("/api/v2/delete?{query}"), &body)
    };
    for (predicate, series, samples) in [
        (r#""roomm!=\"c\"""#, 0, 0),
        (r#""h!=\"a\"""#, 1, 3),
        (r#""h=\"\"""#, 0, 0),
        (r#""h!=\"\"""#, 3, 9),
        (r#""_measurement=\"m0\" AND h!=\"zz\"""#, 2, 6),
        (r#""h=\"a\" AND roomm!=\"c\"""#, 0, 0),
    ] {
        let told = delete("bucket=d&dry_run=true", predicate).text();
        let told: Value = serde_json::from_str(&told).unwrap();
        assert_eq!(
            (&told["series"], &told["samples"]),
            (&json!(series), &json!(samples)),
            "{told}"
        );
    }
    assert_eq!(delete("bucket=d", r#""roomm!=\"c\"""#).status, 204);
    // Nothing is no predicate, and what is none is told with its place.
    for (query, predicate, word) in [
        ("bucket=d", "null", "predicate must be text"),
        ("bucket=d", r#""h=\"a\" OR h=\"b\"""#, "column 7 of the predicate: expected AND at"),
        ("", r#""h=\"a\"""#, "Please provide either bucketID or bucket"),
        ("bucket=", r#""h=\"a\"""#, "Please provide either bucketID or bucket"),
    ] {
        let answer = delete(query, predicate);
        let said: Value = serde_json::from_str(&answer.text()).unwrap();
        assert_eq!((answer.status, &said["code"]), (400, &json!("invalid")), "{said}");
        assert!(said["message"].as_str().unwrap().contains(word), "{said}");
    }
    let counted = done(&server, "SELECT count(v) FROM m0, m1");
    assert_eq!(counted["series"][0]["values"][0][1], 6, "{counted}");
    assert_eq!(audit(&dir), [] as [Value; 0]);
    server.stop();
}

/// Any page, link or crawler asks by GET.
#[test]
fn a_question_that_deletes_by_get_or_for_another_page_is_refused() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--set", "opentsdb.allow_delete=true"]);
    assert_eq!(
        server
            .post("/api/put", r#"{"metric":"m","timestamp":9,"value":1,"tags":{"h":"a"}}"#)
            .status,
        204
    );
    let path = "/api/query?start=0&m=none:m";
    for delete in ["&delete=true", "&delete", "&method_override=delete"] {
        let refused = server.get(&format!("{path}{delete}"));
        assert_eq!(refused.status, 405, "{delete}: {}", refused.text());
        assert!(refused.text().contains("http.changes_by_get"), "{}", refused.text());
    }
    let foreign = [("Origin", "http://evil.example")];
    let body = r#"{"start":0,"delete":true,"queries":[{"aggregator":"none","metric":"m"}]}"#;
    let refused = server.request("POST", "/api/query", &foreign, body.as_bytes());
    assert_eq!(refused.status, 403, "{}", refused.text());
    assert!(server.get(path).text().contains("\"9\":1"));
    // Nor is it taken where two databases are named.
    let other = [("X-Foliot-Database", "other")];
    for (path, body) in [
        ("/api/query?db=default", body),
        ("/query?db=default&q=DELETE+FROM+m", ""),
        ("/query?db=default&q=DROP+MEASUREMENT+m", ""),
    ] {
        let refused = server.request("POST", path, &other, body.as_bytes());
        assert_eq!(refused.status, 400, "{path}: {}", refused.text());
        assert!(refused.text().contains("X-Foliot-Database"), "{}", refused.text());
    }
    assert!(server.get(path).text().contains("\"9\":1"));
    assert_eq!(audit(&dir), [] as [Value; 0]);
    assert_eq!(server.post("/api/query", body).status, 200);
    assert_eq!(server.get(path).text(), "[]");
    server.stop();
    let flags = ["--set", "opentsdb.allow_delete=true", "--set", "http.changes_by_get=true"];
    let server = Server::start(dir.path(), &flags);
    assert_eq!(server.get(&format!("{path}&delete")).status, 200);
    server.stop();
}

/// Prometheus' names are made of measurement and field, by which a delete selects as a question.
#[test]
fn a_delete_of_prometheus_takes_what_a_question_finds() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--set", "opentsdb.allow_delete=true"]);
    // Texts are no values to a question of Prometheus'.
    let lines = "m,h=a v=1 1\nm,h=b v=1 1\nm,h=a value=1,w=2 1\nmv value=1 1\nn_v,h=a value=1 1\n\
                 m,h=a t=\"kept\" 1\nm_v,h=a value=\"kept\" 1";
    assert_eq!(server.post("/write?db=d", lines).status, 204);
    let series = |selector: &str| {
        let form = format!("db=d&time=1&query={selector}");
        let said = server.post("/prometheus/api/v1/query", &form).text();
        let said: Value = serde_json::from_str(&said).unwrap();
        said["data"]["result"].as_array().unwrap().len() as u64
    };
    let delete = |selector: &str, more: &str| {
        let path = "/prometheus/api/v1/admin/tsdb/delete_series";
        server.post(path, &format!("db=d&match[]={selector}{more}"))
    };
    for (selector, count) in [
        ("{__name__=~\"m_.*\"}", 3),
        ("{__name__=~\".*v\"}", 4),
        ("{__name__!=\"\"}", 6),
        ("{__name__=~\".%2b\",h=\"b\"}", 1),
        ("{__name__!~\"m.*\",h=\"a\"}", 1),
        ("{__name__=~\"m.*\",__name__!=\"m_v\"}", 3),
        ("{__name__=~\"m|value\"}", 1),
        ("{__name__=~\"nothing.*\"}", 0),
        ("{__name__=\"m_v\"}", 2),
        ("{__name__=\"m_t\"}", 0),
        ("{h=\"a\"}", 4),
    ] {
        let told: Value = serde_json::from_str(&delete(selector, "&dry_run=true").text()).unwrap();
        assert_eq!(told["data"]["series"], count, "{selector}: {told}");
        assert_eq!(series(selector), count, "{selector}");
    }
    for (selector, left) in [
        ("{__name__=~\"nothing.*\"}", 6),
        ("{__name__=~\"m_.*\",h=\"a\"}", 4),
        ("{__name__!=\"\"}", 0),
    ] {
        assert_eq!(delete(selector, "").status, 204, "{selector}");
        assert_eq!(series("{__name__!=\"\"}"), left, "{selector}");
    }
    let texts =
        server.get("/query?db=d&q=SELECT%20t%20FROM%20m;SELECT%20value%20FROM%20m_v").text();
    assert_eq!(texts.matches("kept").count(), 2, "{texts}");
    server.stop();
}

/// One choice that is made in two places, differently: either may be meant.
#[test]
fn a_choice_that_contradicts_itself_changes_nothing() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--set", "opentsdb.allow_delete=true"]);
    fill(&server);
    let v2 = r#""start":"1970-01-01T00:00:00Z","stop":"2030-01-01T00:00:00Z""#;
    let old = r#""start":0,"end":9,"delete":true,"queries":[{"aggregator":"sum","metric":"m1.v"}]"#;
    let metric = r#"{"metric":"m1.v"}"#;
    let own = "/api/foliot/v1/delete?db=d";
    let series = "/prometheus/api/v1/admin/tsdb/delete_series";
    let elsewhere = [("X-Foliot-Database", "e")];
    let preview = ["in the URL", "in the body"];
    let database = ["db says \"d\"", "X-Foliot-Database says \"e\""];
    for (path, headers, body, words) in [
        (
            "/api/v2/delete?bucket=d&dry_run=false",
            &[][..],
            format!("{{{v2},\"dry_run\":true}}"),
            preview,
        ),
        ("/api/v2/delete?bucket=d&preview", &[], format!("{{{v2},\"dryRun\":false}}"), preview),
        (
            &*format!("{own}&dry_run=true"),
            &[],
            r#"{"metric":"m1.v","is_preview":false}"#.to_owned(),
            preview,
        ),
        ("/api/query?db=d&dry_run=false", &[], format!("{{{old},\"is_preview\":true}}"), preview),
        (
            series,
            &[],
            "db=d&match[]=m1_v&dry_run=true&is_preview=false".to_owned(),
            ["dry_run", "is_preview"],
        ),
        (own, &elsewhere, metric.to_owned(), database),
        (series, &elsewhere, "db=d&match[]=m1_v".to_owned(), database),
        ("/write?db=d", &elsewhere, "m1,h=a v=9 9".to_owned(), database),
        (
            "/api/put?db=d&rp=rp",
            &[("X-Foliot-Database", "d/autogen")],
            r#"{"metric":"m1.v","timestamp":9,"value":1,"tags":{"h":"a"}}"#.to_owned(),
            ["\"d/rp\"", "\"d/autogen\""],
        ),
    ] {
        let answer = server.request("POST", path, headers, body.as_bytes());
        let said = answer.text().replace("\\\"", "\"");
        assert_eq!(answer.status, 400, "{path} {body}: {said}");
        assert!(words.iter().all(|word| said.contains(word)), "{path} {body}: {said}");
    }
    assert_eq!(audit(&dir), [] as [Value; 0]);
    // The same twice is one choice, and a question is answered as ever.
    let same = [("X-Foliot-Database", "d/autogen")];
    let put = r#"{"metric":"o","timestamp":9,"value":1,"tags":{"h":"a"}}"#;
    assert_eq!(server.request("POST", "/api/put?db=d", &same, put.as_bytes()).status, 204);
    let asked = "/prometheus/api/v1/series?db=d&match[]=o";
    assert!(server.request("GET", asked, &elsewhere, b"").text().contains("\"o\""));
    let both = r#"{"metric":"m1.v","is_preview":true}"#;
    assert_eq!(server.post(&format!("{own}&dry_run=true"), both).status, 200);
    assert_eq!(audit(&dir), [] as [Value; 0]);
    server.stop();
}

#[test]
fn previews_need_the_right_to_delete() {
    let dir = Scratch::new();
    let token = |role: &str| {
        let mut command = foliot();
        command.args(["user", "token", "t", "--role", role, "--data-dir"]).arg(dir.path());
        let made = String::from_utf8(command.output().unwrap().stdout).unwrap();
        format!("Bearer {}", made.trim())
    };
    let [admin, reader, writer] = ["admin", "read", "write"].map(token);
    let server = Server::start(dir.path(), &["--access"]);
    assert_eq!(ask(&server, &admin, "CREATE DATABASE d").status, 200);
    let with =
        |who: &str, path: &str| server.request("GET", path, &[("Authorization", who)], b"").status;
    for statement in ["EXPLAIN DELETE FROM m", "EXPLAIN DROP SERIES FROM m"] {
        let asked = [&reader, &writer, &admin].map(|who| ask(&server, who, statement).status);
        assert_eq!(asked, [403, 200, 200], "{statement}");
    }
    for statement in ["EXPLAIN DROP DATABASE d", "EXPLAIN DROP MEASUREMENT m"] {
        let asked = [&reader, &writer, &admin].map(|who| ask(&server, who, statement).status);
        assert_eq!(asked, [403, 403, 200], "{statement}");
    }
    let line = [("Authorization", &*admin)];
    assert_eq!(server.request("POST", "/write?db=default", &line, b"o,h=a value=1 1").status, 204);
    let path = "/api/query?start=0&m=sum:o&delete=true&dry_run=true";
    assert_eq!((with(&reader, path), with(&admin, path)), (403, 200));
    server.stop();
}

/// A member that is misspelt, or of another type, must not become another wish.
#[test]
fn what_changes_something_refuses_what_it_does_not_know() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let rules = r#"{"name":"b","retentionRules":[{"type":"expire","everySeconds":7200}]}"#;
    let made: Value = serde_json::from_str(&server.post("/api/v2/buckets", rules).text()).unwrap();
    let bucket = format!("/api/v2/buckets/{}", made["id"].as_str().unwrap());
    let kept = || -> Value {
        let found: Value = serde_json::from_str(&server.get(&bucket).text()).unwrap();
        found["retentionRules"][0]["everySeconds"].clone()
    };
    let refused = |method: &str, path: &str, body: &str, word: &str| {
        let answer = server.request(method, path, &[], body.as_bytes());
        let said = answer.text();
        assert!(answer.status == 400 && said.contains(word), "{method} {path} {body}: {said}");
    };
    for (body, word) in [
        (r#"{"retentionRules":[{"everySeconds":"3600"}]}"#, "everySeconds"),
        (r#"{"retentionRules":[{"everySeconds":3600.5}]}"#, "everySeconds"),
        (r#"{"retentionRules":[{"everySeconds":-1}]}"#, "everySeconds"),
        (r#"{"retentionRules":[{"everySeconds":1}]}"#, "an hour (3600) at least"),
        (r#"{"retentionRules":[{"everySecond":3600}]}"#, "everySecond"),
        (r#"{"retentionRules":{"everySeconds":3600}}"#, "retentionRules"),
        (r#"{"retentionRules":[{"everySeconds":60},{"everySeconds":70}]}"#, "one retention rule"),
        (r#"{"retention":3600}"#, "retention"),
        (r#"{"name":"c"}"#, "name"),
        (r#"[{"retentionRules":[]}]"#, "object"),
    ] {
        refused("PATCH", &bucket, body, word);
    }
    let shorter = r#"{"name":"b","retentionRules":[{"everySeconds":3600}]}"#;
    refused("PATCH", &format!("{bucket}?dry_run=true"), shorter, "dry run");
    refused("PATCH", &format!("{bucket}?retention=7d"), shorter, "retention");
    assert_eq!(kept(), 7200);
    assert_eq!(server.request("PATCH", &bucket, &[], b"{}").status, 200);
    assert_eq!(kept(), 7200, "nothing was said");
    assert_eq!(server.request("PATCH", &bucket, &[], shorter.as_bytes()).status, 200);
    assert_eq!(kept(), 3600);
    let resource = |more: &str| {
        format!(r#"{{"permissions":[{{"action":"read","resource":{{"type":"buckets"{more}}}}}]}}"#)
    };
    let tokens = "/api/v2/authorizations";
    for (body, word) in [
        (resource("").replacen('{', r#"{"expiresInSeconds":"60","#, 1), "expiresInSeconds"),
        (resource("").replacen('{', r#"{"expireInSeconds":60,"#, 1), "expireInSeconds"),
        (resource("").replacen('{', r#"{"status":"inactive","#, 1), "status"),
        (resource(r#","measurements":["cpu"]"#), "measurements"),
        (resource(r#","measurement":"cpu""#), "measurement"),
        (resource(r#","id":7"#), "id"),
        (resource(r#","name":["b"]"#), "name"),
        (resource(r#","name":"b""#).replace("buckets", "admin"), "whole"),
    ] {
        refused("POST", tokens, &body, word);
    }
    refused("POST", &format!("{tokens}?expires=1d"), &resource(""), "expires");
    assert!(server.get(tokens).text().contains("\"authorizations\":[]"), "none was made");
    // Annotations, trees and names of OpenTSDB.
    assert_eq!(server.talk(b"put m 1 1 h=a\n"), "");
    assert_eq!(
        server.post("/api/annotation", r#"{"startTime":5,"description":"all"}"#).status,
        200
    );
    assert_eq!(server.post("/api/tree", r#"{"name":"t"}"#).status, 200);
    let rule = r#"{"treeId":1,"level":0,"order":0,"type":"METRIC"}"#;
    assert_eq!(server.post("/api/tree/rule", rule).status, 200);
    let state = || {
        let paths =
            ["/api/annotation?start_time=5", "/api/tree?treeid=1", "/api/suggest?type=metrics"];
        paths.map(|path| server.get(path).text())
    };
    let before = state();
    for (method, path, body, word) in [
        ("DELETE", "/api/annotation", r#"{"startTime":5,"tsuids":"000001"}"#, "tsuids"),
        ("POST", "/api/annotation", r#"{"startTime":5,"descriptoin":"none"}"#, "descriptoin"),
        ("DELETE", "/api/foliot/v1/annotations?start_ms=5000&dbb=x", "", "dbb"),
        ("DELETE", "/api/foliot/v1/saved?name=x&dbb=x", "", "dbb"),
        ("DELETE", "/api/tree", r#"{"treeId":1.5,"definition":true}"#, "Unable to parse"),
        ("DELETE", "/api/tree?treeid=1&definition=true&dbb=x", "", "dbb"),
        (
            "POST",
            "/api/tree/rules",
            r#"[{"treeId":1,"level":-1,"type":"TAGK","field":"h"}]"#,
            "level",
        ),
        (
            "PUT",
            "/api/tree/rules",
            r#"[{"treeId":1,"levle":4,"type":"TAGK","field":"h"}]"#,
            "levle",
        ),
        ("POST", "/api/uid/rename", r#"{"metric":"m","name":"n","dry":1}"#, "dry"),
        ("POST", "/api/uid/rename", r#"{"metric":"m","tagk":"h","name":"n"}"#, "One name"),
    ] {
        refused(method, path, body, word);
    }
    assert_eq!(state(), before);
    server.stop();
}
