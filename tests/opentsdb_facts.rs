//! What OpenTSDB answers about names, series and the notes that people keep, through the real
//! binary.

use crate::harness::{Scratch, Server, request};
use crate::opentsdb::{H, Tsd, message};
use serde_json::{Value, json};
use std::io::Write;
use std::time::{Duration, Instant};

/// TSUIDs of `m{h=a}` and `m{h=b}` when they are the first series written.
const A: &str = "000001000001000001";
const B: &str = "000001000001000002";

fn two_series() -> Tsd {
    let tsd = Tsd::start();
    tsd.series("m", "h=a", &[(0, "42")]);
    tsd.series("m", "h=b", &[(0, "1"), (10, "2.5")]);
    tsd
}

#[test]
fn row_49_lookup() {
    let tsd = two_series();
    tsd.series("other", "h=a dc=x", &[(0, 1)]);
    tsd.series("bare", "dc=y", &[(0, 1)]);
    let found = |m: &str| {
        let response = tsd.get("/api/search/lookup", &[("m", m)]);
        assert_eq!(response.status, 200, "{m}: {}", response.text());
        let answer: Value = serde_json::from_slice(&response.body).unwrap();
        assert_eq!(answer["type"], "LOOKUP");
        assert_eq!(answer["totalResults"], answer["results"].as_array().unwrap().len());
        let name = |result: &Value| {
            let tags = result["tags"].as_object().unwrap();
            let tags: Vec<String> =
                tags.iter().map(|(k, v)| format!("{k}={}", v.as_str().unwrap())).collect();
            format!("{}:{}", result["metric"].as_str().unwrap(), tags.join(","))
        };
        let mut names: Vec<String> =
            answer["results"].as_array().unwrap().iter().map(name).collect();
        names.sort();
        names.join(" ")
    };
    assert_eq!(found("m{h=*}"), "m:h=a m:h=b");
    assert_eq!(found("{h=a}"), "m:h=a other:dc=x,h=a");
    assert_eq!(found("*{*=a}"), "m:h=a other:dc=x,h=a");
    assert_eq!(found("m{h=a,h=b}"), "m:h=a m:h=b");
    assert_eq!(found("{dc=}"), "bare:dc=y other:dc=x,h=a");
    assert_eq!(found("other{h=a,*=x}"), "other:dc=x,h=a");
    let one = tsd.get("/api/search/lookup", &[("m", "m"), ("limit", "1")]);
    let one: Value = serde_json::from_slice(&one.body).unwrap();
    assert_eq!(one["results"], json!([{"tsuid": A, "metric": "m", "tags": {"h": "a"}}]));
    assert_eq!((&one["limit"], &one["totalResults"]), (&json!(1), &json!(2)));
    let body = json!({"metric": "m", "tags": [{"key": "h", "value": "b"}], "useMeta": false});
    let (_, answer) = tsd.json("POST", "/api/search/lookup", &body);
    assert_eq!(answer["results"][0]["tsuid"], B);
    assert_eq!(answer["tags"], json!([{"key": "h", "value": "b"}]));
    // Neither metric nor tags: all series, as OpenTSDB 2.4.1 answers.
    let (status, all) = tsd.json("POST", "/api/search/lookup", &json!({"limit": 3}));
    assert_eq!((status, &all["metric"]), (200, &json!("*")));
    assert!(all["totalResults"].as_u64() > Some(3), "{all}");
    for m in ["", "{}", "m{h"] {
        assert_eq!(tsd.refusal("/api/search/lookup", &[("m", m)], 400), "Unable to parse query");
    }
    let missing = tsd.server.get("/api/search/lookup");
    assert_eq!(message(&missing), "Missing parameter <code>m</code>");
    let unknown = tsd.refusal("/api/search/lookup", &[("m", "nosuch{h=a}")], 404);
    assert_eq!(unknown, "Unable to resolve one or more UIDs");
    assert_eq!(message(&tsd.server.get("/api/search/tsmeta?query=x")), "Searching is not enabled");
    let other = message(&tsd.server.get("/api/search/nosuch?query=x"));
    assert_eq!(other, "Invalid search query type supplied");
}

#[test]
fn row_50_last() {
    let tsd = two_series();
    let last = |params: &[(&str, &str)]| -> Value {
        let response = tsd.get("/api/query/last", params);
        assert_eq!(response.status, 200, "{}", response.text());
        serde_json::from_slice(&response.body).unwrap()
    };
    let a = json!({"timestamp": H * 1000, "value": "42", "tsuid": A});
    let b = json!({"timestamp": (H + 10) * 1000, "value": "2.5", "tsuid": B});
    assert_eq!(last(&[("timeseries", "m{h=a}")]), json!([a]));
    assert_eq!(last(&[("tsuids", &format!("{A},{B}"))]), json!([a, b]));
    assert_eq!(last(&[("timeseries", "m")]), json!([a, b]));
    let resolved = json!([{"metric": "m", "tags": {"h": "b"}, "timestamp": (H + 10) * 1000,
        "value": "2.5", "tsuid": B}]);
    assert_eq!(last(&[("timeseries", "m{h=b}"), ("resolve", "true")]), resolved);
    // The samples are older than an hour.
    assert_eq!(last(&[("timeseries", "m"), ("back_scan", "1")]), json!([]));
    assert_eq!(last(&[("timeseries", "m{h=a}"), ("back_scan", "1000000")]), json!([a]));
    let body = json!({"queries": [{"metric": "m", "tags": {"h": "b"}}, {"tsuids": [A]}],
        "resolveNames": false});
    let (_, answer) = tsd.json("POST", "/api/query/last", &body);
    assert_eq!(answer, json!([b, a]));
    let fault = |params: &[(&str, &str)]| tsd.refusal("/api/query/last", params, 400);
    assert_eq!(fault(&[]), "Missing sub queries");
    assert_eq!(fault(&[("timeseries", "no")]), "No such name for 'metrics': 'no'");
    assert_eq!(fault(&[("timeseries", "m{h=z}")]), "No such name for 'tagv': 'z'");
    let hours = fault(&[("timeseries", "m"), ("back_scan", "x")]);
    assert_eq!(hours, "Unable to parse back_scan parameter");
}

#[test]
fn uids_are_assigned_and_described() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--http-changes-by-get"]);
    server.talk(format!("put m {H} 1 h=a\n").as_bytes());
    let get = |server: &Server, path: &str| -> (u16, Value) {
        let response = server.get(path);
        let body = serde_json::from_slice(&response.body).unwrap_or(Value::Null);
        (response.status, body)
    };
    let assigned = get(&server, "/api/uid/assign?metric=new,m&tagv=w");
    let expected = json!({
        "metric": {"new": "000002"},
        "metric_errors": {"m": "Name already exists with UID: 000001"},
        "tagv": {"w": "000002"},
    });
    assert_eq!(assigned, (400, expected));
    let body = r#"{"tagk":["k"]}"#;
    let posted = server.post("/api/uid/assign", body);
    assert_eq!((posted.status, posted.text().as_str()), (200, r#"{"tagk":{"k":"000002"}}"#));
    assert_eq!(get(&server, "/api/uid/assign").0, 400);
    assert_eq!(get(&server, "/api/uid/assign?metric=a%20b").0, 400);
    assert_eq!(get(&server, "/api/uid/nosuch").0, 501);
    let meta = |server: &Server| get(server, "/api/uid/uidmeta?uid=000001&type=metric");
    let plain = json!({"uid": "000001", "type": "METRIC", "name": "m", "description": "",
        "notes": "", "created": 0, "custom": null, "displayName": ""});
    assert_eq!(meta(&server), (200, plain));
    let post = |body: &str| server.post("/api/uid/uidmeta", body);
    let nothing = post(r#"{"uid":"000001","type":"METRIC"}"#);
    assert_eq!((nothing.status, nothing.body.len()), (304, 0));
    let first = r#"{"uid":"000001","type":"metric","displayName":"M","custom":{"o":"x"}}"#;
    assert_eq!(post(first).status, 200);
    assert_eq!(post(r#"{"uid":"000001","type":"metric","notes":"n"}"#).status, 200);
    // What was assigned and written is there after a restart, and the number is used.
    server.kill();
    let server = Server::start(dir.path(), &["--http-changes-by-get"]);
    let (_, merged) = meta(&server);
    assert_eq!(merged["displayName"], "M");
    assert_eq!((&merged["notes"], &merged["custom"]), (&json!("n"), &json!({"o": "x"})));
    server.talk(format!("put new {H} 1 k=w\n").as_bytes());
    let series = get(&server, "/api/query?start=1&m=none:new&show_tsuids").1;
    assert_eq!(series[0]["tsuids"], json!(["000002000002000002"]));
    let put = server.request("PUT", "/api/uid/uidmeta?uid=000001&type=metric&notes=z", &[], b"");
    let replaced: Value = serde_json::from_slice(&put.body).unwrap();
    assert_eq!((&replaced["displayName"], &replaced["notes"]), (&json!(""), &json!("z")));
    let path = "/api/uid/uidmeta?uid=000001&type=metric&method_override=delete";
    assert_eq!(server.get(path).status, 204);
    assert_eq!(meta(&server).1["notes"], "");
    assert_eq!(get(&server, "/api/uid/uidmeta?uid=0000FF&type=metric").0, 404);
    assert_eq!(get(&server, "/api/uid/uidmeta?uid=000001&type=foo").0, 400);
    assert_eq!(get(&server, "/api/uid/uidmeta?type=metric").0, 400);
}

#[test]
fn series_are_described() {
    let tsd = two_series();
    let get = |query: &str| tsd.json("GET", &format!("/api/uid/tsmeta?{query}"), &Value::Null);
    let (status, meta) = get(&format!("tsuid={B}"));
    assert_eq!(status, 200);
    assert_eq!((&meta["metric"]["name"], &meta["tags"][1]["name"]), (&json!("m"), &json!("b")));
    assert_eq!((&meta["lastReceived"], &meta["max"]), (&json!(H + 10), &json!("NaN")));
    assert_eq!(get("m=m").1.as_array().unwrap().len(), 2);
    assert_eq!(get("tsuid=0000FF000001000001").0, 404);
    assert_eq!(get("m=nosuch").0, 404);
    let post = |path: &str, body: Value| tsd.json("POST", path, &body);
    let (status, meta) = post("/api/uid/tsmeta", json!({"tsuid": A, "units": "B", "max": 9}));
    assert_eq!((status, &meta["units"], &meta["max"]), (200, &json!("B"), &json!(9.0)));
    assert_eq!(post("/api/uid/tsmeta", json!({"tsuid": A})).0, 304);
    assert_eq!(get(&format!("tsuid={A}")).1["units"], "B");
    tsd.series("x", "g=a", &[(0, 1)]);
    let absent = "/api/uid/tsmeta?m=x%7Bh=a%7D";
    assert_eq!(post(absent, json!({"notes": "n"})).0, 400);
    let created = post(&format!("{absent}&create=true"), json!({"notes": "n"}));
    assert_eq!((created.0, &created.1["tsuid"]), (200, &json!("000002000001000001")));
    let gone = tsd.json("DELETE", "/api/uid/tsmeta", &json!({"tsuid": A}));
    assert_eq!(gone, (204, Value::Null));
    assert_eq!(get(&format!("tsuid={A}")).1["units"], "");
}

#[test]
fn annotations_are_kept_and_shown() {
    let tsd = two_series();
    let call = |method: &str, path: &str, body: Value| tsd.json(method, path, &body);
    let note = json!({"tsuid": A, "startTime": H + 5, "description": "d", "custom": {"k": "v"}});
    let (status, stored) = call("POST", "/api/annotation", note);
    let expected = json!({"tsuid": A, "startTime": H + 5, "endTime": 0, "description": "d",
        "notes": "", "custom": {"k": "v"}});
    assert_eq!((status, &stored), (200, &expected));
    // A second POST adds, a PUT replaces, and one that says nothing changes nothing.
    let more = json!({"tsuid": A, "startTime": H + 5, "notes": "n", "endTime": H + 6});
    let (_, merged) = call("POST", "/api/annotation", more.clone());
    assert_eq!((&merged["description"], &merged["notes"]), (&json!("d"), &json!("n")));
    assert_eq!(call("POST", "/api/annotation", more.clone()).0, 200);
    let silent = json!({"tsuid": A, "startTime": H + 5});
    assert_eq!(call("POST", "/api/annotation", silent), (304, Value::Null));
    let (_, replaced) = call("PUT", "/api/annotation", more);
    assert_eq!((&replaced["description"], replaced.get("custom")), (&json!(""), None));
    let path = format!("/api/annotation?tsuid={A}&start_time={}", H + 5);
    assert_eq!(call("GET", &path, Value::Null), (200, replaced.clone()));
    // In milliseconds it is the same instant.
    let path = format!("/api/annotation?tsuid={A}&start_time={}000", H + 5);
    assert_eq!(call("GET", &path, Value::Null).0, 200);
    let (status, answer) = call("GET", "/api/annotation?start_time=7", Value::Null);
    assert_eq!(status, 404);
    assert_eq!(answer["error"]["message"], "Unable to locate annotation in storage");
    assert_eq!(call("GET", "/api/annotation", Value::Null).0, 400);
    assert_eq!(call("POST", "/api/annotation", json!({"description": "d"})).0, 400);

    let notes = json!([
        {"startTime": H + 7, "description": "g1"},
        {"startTime": H + 1, "description": "g2"},
        {"tsuid": B, "startTime": H + 8000, "description": "far"},
        {"tsuid": B, "startTime": H + 3000, "description": "near"},
    ]);
    let (status, stored) = call("POST", "/api/annotation/bulk", notes);
    assert_eq!((status, stored.as_array().unwrap().len()), (200, 4));
    let all = format!("/api/annotations?start_time={H}&end_time={}", H + 100);
    let (_, globals) = call("GET", &all, Value::Null);
    let texts = |list: &Value| -> Vec<String> {
        let list = list.as_array().unwrap().iter();
        list.map(|note| note["description"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(texts(&globals), ["g2", "g1"]);

    let ask = |more: &str| {
        let path = format!("/api/query?start={H}&end={}&m=sum:m%7Bh=*%7D{more}", H + 100);
        call("GET", &path, Value::Null).1
    };
    let plain = ask("");
    assert_eq!(plain[0]["annotations"], json!([replaced]));
    // Its hour has a note, but not the query.
    assert_eq!(plain[1]["annotations"], json!([]));
    assert_eq!(plain[0].get("globalAnnotations"), None);
    assert_eq!(texts(&ask("&global_annotations")[1]["globalAnnotations"]), ["g2", "g1"]);
    assert_eq!(ask("&no_annotations")[0].get("annotations"), None);

    let delete = json!({"startTime": H, "endTime": H + 100, "tsuids": [A], "global": true});
    let (status, answer) = call("DELETE", "/api/annotation/bulk", delete);
    assert_eq!((status, &answer["totalDeleted"]), (200, &json!(3)));
    assert_eq!(call("GET", &all, Value::Null).1, json!([]));
    let one = json!({"tsuid": B, "startTime": H + 8000});
    assert_eq!(call("DELETE", "/api/annotation", one), (204, Value::Null));
    assert_eq!(call("DELETE", "/api/annotation/bulk", json!({"startTime": 1})).0, 400);
    assert_eq!(call("DELETE", "/api/annotation/bulk", json!({"global": true})).0, 400);
}

/// A note of 900 KB, at the first second of all.
fn long_note(server: &Server) {
    let custom: serde_json::Map<String, Value> =
        (0..90_000).map(|member| (member.to_string(), json!(""))).collect();
    let note = json!({"startTime": 1, "custom": custom}).to_string();
    assert_eq!(server.post("/api/annotation", &note).status, 200);
}

/// Each of many changes of a long note keeps all of it until they are answered.
#[test]
fn many_changes_of_a_note_are_refused_before_they_take_memory_or_change_it() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--set", "limits.memory_bytes=128MiB"]);
    let note = json!({"startTime": 1, "notes": "n".repeat(100_000)}).to_string();
    assert_eq!(server.post("/api/annotation", &note).status, 200);
    let changes: Vec<Value> =
        (0..400).map(|at| json!({"startTime": 1, "description": at.to_string()})).collect();
    let answer = server.post("/api/annotation/bulk", &json!(changes).to_string());
    assert_eq!(answer.status, 413, "{}", answer.text());
    assert!(server.peak_bytes() < 200 << 20, "{}", server.peak_bytes());
    let note: Value = server.get("/api/annotation?start_time=1").text().parse().unwrap();
    assert_eq!(note["description"], "");
}

/// Whoever changes facts for long holds up nobody but those who want to change some, and them for a
/// while only.
#[test]
fn a_long_change_of_notes_holds_up_no_others_and_ends_with_its_client() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    long_note(&server);
    // Each is read to be put in the place of the long one, and is short itself.
    let change = json!({"startTime": 1, "description": "d"});
    let body = json!(vec![change; 20_000]).to_string();
    let mut busy = server.connect();
    busy.write_all(&request("PUT", "/api/annotation/bulk", &[], body.as_bytes())).unwrap();
    let limit = json!({"metric": "m", "series_max": 1}).to_string();
    let set = || server.post("/api/foliot/v1/limits", &limit).status;
    assert!((0..100).any(|_| set() == 503), "the bulk has not begun");
    let began = Instant::now();
    std::thread::scope(|scope| {
        let limits: Vec<_> =
            (0..8).map(|_| scope.spawn(|| server.post("/api/foliot/v1/limits", &limit))).collect();
        while limits.iter().any(|limit| !limit.is_finished()) {
            let asked = Instant::now();
            assert_eq!(server.get("/-/ready").status, 200);
            assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
        }
        for answer in limits.into_iter().map(|limit| limit.join().unwrap()) {
            assert_eq!(answer.status, 503, "{}", answer.text());
            assert_eq!(answer.header("retry-after"), "2");
        }
    });
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    drop(busy);
    let ended = (0..100).find(|_| {
        std::thread::sleep(Duration::from_millis(100));
        set() == 200
    });
    assert!(ended.is_some(), "the bulk goes on without its client");
}

#[test]
fn small_answers() {
    let tsd = two_series();
    let text = |path: &str| {
        let response = tsd.server.get(path);
        assert_eq!(response.status, 200, "{path}: {}", response.text());
        response.text()
    };
    let json = |path: &str| -> Value { serde_json::from_str(&text(path)).unwrap() };
    assert_eq!(json("/api/aggregators").as_array().unwrap().len(), 35);
    assert_eq!(json("/aggregators"), json("/api/aggregators"));
    assert_eq!(tsd.server.post("/api/aggregators", "").status, 405);
    assert_eq!(json("/api/config/filters").as_object().unwrap().len(), 8);
    let config = json("/api/config");
    assert!(config.as_object().unwrap().values().all(Value::is_string));
    assert_eq!(config["limits.queries"], "8");
    assert_eq!(json("/api/status"), json!({"status": "ok"}));
    assert_eq!(json("/api/serializers")[0]["serializer"], "json");
    assert_eq!(json("/api/dropcaches")["message"], "Caches dropped");
    assert_eq!(json("/suggest?type=tagv&q=a"), json!(["a"]));
    assert!(text("/version").contains(" built at revision "));
    for name in [
        "version",
        "short_revision",
        "full_revision",
        "timestamp",
        "repo_status",
        "user",
        "host",
        "repo",
        "branch",
    ] {
        assert!(json("/api/version")[name].is_string(), "{name}");
    }
    let stats = json("/api/stats");
    let stat = stats.as_array().unwrap().first().unwrap();
    assert!(stat["metric"].is_string() && stat["value"].is_string());
    assert!(stat["timestamp"].is_i64() && stat["tags"]["host"].is_string());
    assert!(text("/stats").lines().all(|line| line.contains(" host=")));
    assert_eq!(json("/api/stats/query"), json!({"running": [], "completed": []}));
    assert_eq!(text("/api/status?jsonp=f.g"), "f.g({\"status\":\"ok\"})");
    assert_eq!(tsd.server.get("/api/status?jsonp=alert(1)").status, 400);
}

#[test]
fn trees_arrange_series() {
    let tsd = Tsd::start();
    tsd.series("sys.cpu.user", "host=web01 dc=lga", &[(0, 1)]);
    tsd.series("sys.cpu.user", "host=web02 dc=lga", &[(0, 1)]);
    tsd.series("sys.mem", "host=web01", &[(0, 1)]);
    tsd.series("plain", "x=y", &[(0, 1)]);
    let call = |method: &str, path: &str, body: Value| tsd.json(method, path, &body);
    let get = |path: &str| call("GET", path, Value::Null);
    assert_eq!(get("/api/tree"), (200, json!([])));
    assert_eq!(call("POST", "/api/tree", json!({"description": "d"})).0, 400);
    let (status, tree) = call("POST", "/api/tree", json!({"name": "T", "description": "d"}));
    assert_eq!((status, &tree["treeId"], &tree["rules"]), (200, &json!(1), &Value::Null));
    assert_eq!((&tree["enabled"], &tree["strictMatch"]), (&json!(false), &json!(false)));
    let (_, tree) = call("POST", "/api/tree", json!({"treeId": 1, "enabled": true}));
    assert_eq!((&tree["enabled"], &tree["description"]), (&json!(true), &json!("d")));
    assert_eq!(call("POST", "/api/tree", json!({"treeId": 1, "enabled": true})).0, 200);
    assert_eq!(call("POST", "/api/tree", json!({"treeId": 1})), (304, Value::Null));
    assert_eq!(get("/api/tree?treeid=7").0, 404);
    let rules = json!([
        {"treeId": 1, "level": 0, "order": 0, "type": "TAGK", "field": "dc"},
        {"treeId": 1, "level": 0, "order": 1, "type": "TAGK", "field": "host", "regex": "^(web)"},
        {"treeId": 1, "level": 1, "order": 0, "type": "METRIC", "separator": "\\."},
    ]);
    assert_eq!(call("POST", "/api/tree/rules", rules), (204, Value::Null));
    let (_, rule) = get("/api/tree/rule?treeid=1&level=0&order=1");
    assert_eq!((&rule["type"], &rule["regexGroupIdx"]), (&json!("TAGK"), &json!(0)));
    assert_eq!(get("/api/tree/rule?treeid=1&level=5&order=0").0, 404);
    let bad = json!({"treeId": 1, "level": 3, "order": 0, "type": "TAGK"});
    let (status, answer) = call("POST", "/api/tree/rule", bad);
    assert_eq!(
        (status, &answer["error"]["message"]),
        (400, &json!("Missing field name required for TAGK rule"))
    );

    let names = |list: &Value| -> Vec<String> {
        let list = list.as_array().unwrap().iter();
        list.map(|one| one["displayName"].as_str().unwrap().to_owned()).collect()
    };
    let (_, root) = get("/api/tree/branch?treeid=1");
    assert_eq!((&root["branchId"], &root["depth"]), (&json!("0001"), &json!(0)));
    assert_eq!(names(&root["branches"]), ["lga", "web"]);
    // A series that no rule of the first level takes goes on with the next.
    assert_eq!(names(&root["leaves"]), ["plain"]);
    let lga = root["branches"][0]["branchId"].as_str().unwrap().to_owned();
    let (_, sys) = get(&format!("/api/tree/branch?branch={lga}0001BECD"));
    assert_eq!(sys["path"], json!({"0": "ROOT", "1": "lga", "2": "sys"}));
    let (_, cpu) = get(&format!("/api/tree/branch?branch={lga}0001BECD000181A8"));
    assert_eq!(names(&cpu["leaves"]), ["user"]);
    assert_eq!(cpu["leaves"][0]["tags"], json!({"dc": "lga", "host": "web01"}));
    assert_eq!(get("/api/tree/branch?branch=000100000007").0, 404);
    assert_eq!(get("/api/tree/branch").0, 400);
    // Two series want the leaf `user`, and a strict tree has no room for what misses a level.
    call("POST", "/api/tree", json!({"treeId": 1, "storeFailures": true, "strictMatch": true}));
    let first = "000001000001000001000002000002";
    let second = "000001000001000001000002000003";
    assert_eq!(get("/api/tree/collisions?treeid=1").1, json!({second: first}));
    let (_, lost) = get("/api/tree/notmatched?treeid=1");
    assert_eq!(lost.as_object().unwrap().values().next().unwrap(), "[1:0:1:TAGK]");
    let (_, test) = get(&format!("/api/tree/test?treeid=1&tsuids={first},000009000001000001"));
    assert_eq!(names(&test[first]["branch"]["branches"]), ["lga"]);
    assert_eq!(test[first]["meta"]["metric"]["name"], "sys.cpu.user");
    assert_eq!(test["000009000001000001"]["branch"], Value::Null);
    assert_eq!(get("/api/tree/nosuch").0, 404);
    let path = "/api/tree/rules?treeid=1&method_override=delete";
    assert_eq!(get(path).0, 204);
    assert_eq!(get("/api/tree?treeid=1").1["rules"], Value::Null);
    assert_eq!(call("DELETE", "/api/tree?treeid=1&definition=true", Value::Null).0, 204);
    assert_eq!(get("/api/tree"), (200, json!([])));
}

#[test]
fn queries_delete_when_they_are_allowed_to() {
    let fill = |tsd: &Tsd| {
        tsd.series("m", "h=a", &[(0, 1), (10, 2), (20, 3)]);
        tsd.series("m", "h=b", &[(10, 5)]);
    };
    let path = format!("/api/query?start={}&end={}&m=none:m%7Bh=a%7D", H + 5, H + 15);
    let refused = Tsd::start();
    fill(&refused);
    let body = json!({"start": H, "end": H + 60, "delete": true,
        "queries": [{"aggregator": "none", "metric": "m"}]});
    for (method, path, body) in [
        ("DELETE", path.clone(), Value::Null),
        ("GET", format!("{path}&method_override=delete"), Value::Null),
        ("GET", format!("{path}&delete"), Value::Null),
        ("POST", "/api/query".to_owned(), body.clone()),
    ] {
        let (status, answer) = refused.json(method, &path, &body);
        let message = &answer["error"]["message"];
        assert_eq!((status, message), (400, &json!("Deleting data is not enabled")));
    }
    assert_eq!(refused.dps("none:m", 0, 60)[0].len(), 3);
    let tsd = Tsd::start_with(&["--set", "opentsdb.allow_delete=true"]);
    fill(&tsd);
    let (status, answer) = tsd.json("DELETE", &path, &Value::Null);
    assert_eq!((status, &answer[0]["dps"]), (200, &json!({(H + 10).to_string(): 2})));
    let left: Vec<usize> = tsd.dps("none:m", 0, 60).iter().map(|dps| dps.len()).collect();
    assert_eq!(left, [2, 1]);
    assert_eq!(tsd.json("POST", "/api/query", &body).0, 200);
    assert_eq!(tsd.ask("none:m", 0, 60), json!([]));
}
