//! The InfluxDB door through the real binary: databases, kinds of fields, users, deletes, buckets,
//! answers, and what bad input is answered with.

use crate::harness;
use crate::harness::influx::{FORM, answer, ask, encoded, write};
use crate::harness::{Scratch, Server};
use std::io::{Read, Write};

#[test]
fn databases_and_policies_are_created_altered_and_dropped() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    for (statement, expected) in [
        ("CREATE DATABASE a WITH DURATION 30d REPLICATION 2 SHARD DURATION 30m NAME foo", ""),
        ("CREATE DATABASE a", ""),
        (
            "CREATE DATABASE b WITH NAME \".\"",
            "\"error\":\"invalid name \\\".\\\" of a database or policy: it must have 1 to 255 \
             bytes, no / or \\\\, no control characters, and be neither . nor ..\"",
        ),
        (
            "SHOW MEASUREMENTS ON a WHERE time > 0",
            "\"error\":\"SHOW MEASUREMENTS doesn't support time in WHERE clause\"",
        ),
        (
            "CREATE DATABASE a WITH DURATION 3d",
            "\"error\":\"retention policy conflicts with an existing policy\"",
        ),
        (
            "CREATE RETENTION POLICY r ON a DURATION 1m REPLICATION 1",
            "\"error\":\"retention policy duration must be at least 1h0m0s\"",
        ),
        ("CREATE RETENTION POLICY r ON a DURATION 1h REPLICATION 1 DEFAULT", ""),
        (
            "CREATE RETENTION POLICY r ON a DURATION 2h REPLICATION 1",
            "\"error\":\"retention policy already exists\"",
        ),
        (
            "CREATE RETENTION POLICY r ON b DURATION 1h REPLICATION 1",
            "\"error\":\"database not found: b\"",
        ),
        (
            "SHOW RETENTION POLICIES ON a",
            "\"series\":[{\"columns\":[\"name\",\"duration\",\"shardGroupDuration\",\"replicaN\",\
             \"default\"],\"values\":[[\"foo\",\"720h0m0s\",\"1h0m0s\",2,false],\
             [\"r\",\"1h0m0s\",\"1h0m0s\",1,true]]}]",
        ),
        ("ALTER RETENTION POLICY foo ON a DEFAULT", ""),
        ("ALTER RETENTION POLICY x ON a DEFAULT", "\"error\":\"retention policy not found: x\""),
        ("DROP RETENTION POLICY r ON a", ""),
        (
            "SHOW DATABASES",
            "\"series\":[{\"name\":\"databases\",\"columns\":[\"name\"],\"values\":[[\"a\"]]}]",
        ),
    ] {
        assert_eq!(answer(&server, statement), expected, "{statement}");
    }
    assert_eq!(server.post("/write?db=a&rp=foo", "m v=7").status, 204);
    let old = server.post("/write?db=a&rp=foo", "m v=8 1");
    assert_eq!(old.status, 400, "what its policy would not keep is refused: {}", old.text());
    server.stop();
    let server = Server::start(dir.path(), &[]);
    let policies = answer(&server, "SHOW RETENTION POLICIES ON a");
    assert!(policies.contains("[[\"foo\",\"720h0m0s\",\"1h0m0s\",2,true]]"), "{policies}");
    assert!(answer(&server, "SELECT v FROM a.foo.m").contains(",7]]"));
    assert_eq!(answer(&server, "DROP DATABASE a"), "");
    assert_eq!(answer(&server, "CREATE DATABASE a"), "");
    assert_eq!(answer(&server, "SELECT v FROM a..m"), "", "a new database is empty");
    server.stop();
}

#[test]
fn all_points_that_are_dropped_are_counted() {
    let dir = Scratch::new();
    let server = Server::start(&dir.path().join("data"), &["--retention", "1h"]);
    let lines: String = (0..2500).map(|at| format!("m v=1 {}\n", 1_000_000_000 + at)).collect();
    for path in ["/write?db=default&precision=s", "/api/v2/write?bucket=default&precision=s"] {
        let answer = server.post(path, &lines);
        assert_eq!(answer.status, 400);
        assert!(answer.text().contains("dropped=2500\""), "{path}: {}", answer.text());
    }
    server.stop();
}

#[test]
fn deletes_take_what_they_name() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let lines: String = (0..40).map(|i| format!("m{},h=h{} v={i} {i}\n", i % 2, i % 4)).collect();
    write(&server, &lines);
    let count = |measurement: &str| {
        let text = answer(&server, &format!("SELECT count(v) FROM {measurement}"));
        text.split_once("[[0,").map_or(0, |(_, rest)| {
            rest.trim_end_matches(|c: char| !c.is_ascii_digit()).parse::<u32>().unwrap()
        })
    };
    assert_eq!((count("m0"), count("m1")), (20, 20));
    assert_eq!(answer(&server, "DELETE FROM m0 WHERE time < 4"), "");
    assert_eq!((count("m0"), count("m1")), (18, 20));
    assert_eq!(answer(&server, "DELETE WHERE time >= 38 AND h =~ /h[23]/"), "");
    assert_eq!((count("m0"), count("m1")), (17, 19));
    assert_eq!(answer(&server, "DROP SERIES FROM /m/ WHERE h = 'h1' OR h = 'h0'"), "");
    assert_eq!((count("m0"), count("m1")), (8, 9));
    assert_eq!(
        answer(&server, "DELETE FROM m0 WHERE v > 1"),
        "\"error\":\"fields not supported in WHERE clause during deletion\""
    );
    let body = r#"{"start":"1970-01-01T00:00:00Z","stop":"1970-01-01T00:00:00.00000001Z",
        "predicate":"_measurement=\"m0\" AND h=\"h2\""}"#;
    assert_eq!(server.post("/api/v2/delete?org=o&bucket=d", body).status, 204);
    assert_eq!((count("m0"), count("m1")), (6, 9));
    assert_eq!(answer(&server, "DROP MEASUREMENT m1"), "");
    assert_eq!((count("m0"), count("m1")), (6, 0));
    server.stop();
}

/// As in InfluxDB: a series goes with its last point, and a tag key with its last series.
#[test]
fn tag_keys_go_with_the_last_point_that_has_them() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    for by in ["DELETE FROM k WHERE b = '2'", "DELETE FROM k WHERE time >= 2000 AND time < 2001"] {
        write(&server, "k,a=1 v=1 1000\nk,a=1,b=2 v=2 2000");
        assert!(
            answer(&server, "SELECT * FROM k").contains("[\"time\",\"a\",\"b\",\"v\"]"),
            "{by}"
        );
        assert_eq!(answer(&server, by), "");
        let left = answer(&server, "SELECT * FROM k");
        assert!(
            left.contains("\"columns\":[\"time\",\"a\",\"v\"],\"values\":[[1000,\"1\",1]]"),
            "{by}: {left}"
        );
        assert!(
            answer(&server, "SHOW TAG KEYS FROM k").ends_with("\"values\":[[\"a\"]]}]"),
            "{by}"
        );
        assert!(answer(&server, "SHOW SERIES FROM k").ends_with("[[\"k,a=1\"]]}]"), "{by}");
        assert_eq!(answer(&server, "SHOW TAG VALUES FROM k WITH KEY = b"), "", "{by}");
    }
    // One of two points: the series stays.
    write(&server, "k,a=1,b=2 v=2 2000\nk,a=1,b=2 v=3 3000");
    assert_eq!(answer(&server, "DELETE FROM k WHERE time = 2000"), "");
    assert!(answer(&server, "SELECT * FROM k").contains("[3000,\"1\",\"2\",3]"));
    let delete =
        r#"{"start":"1970-01-01T00:00:00Z","stop":"1970-01-02T00:00:00Z","predicate":"b=\"2\""}"#;
    assert_eq!(server.post("/api/v2/delete?bucket=d", delete).status, 204);
    assert!(answer(&server, "SHOW TAG KEYS FROM k").ends_with("\"values\":[[\"a\"]]}]"));
    assert_eq!(answer(&server, "DELETE FROM k"), "");
    assert_eq!(answer(&server, "SHOW MEASUREMENTS"), "");
    server.stop();
}

#[test]
fn select_into_writes_what_it_selects() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    write(&server, "m,h=a v=1,s=\"x\" 1\nm,h=b v=2 2\nm,h=a v=4 3");
    assert_eq!(answer(&server, "CREATE DATABASE t"), "");
    let written = answer(&server, "SELECT * INTO t..copy FROM m GROUP BY *");
    assert_eq!(
        written,
        "\"series\":[{\"name\":\"result\",\"columns\":[\"time\",\"written\"],\"values\":[[0,3]]}]"
    );
    let copied = answer(&server, "SELECT * FROM t..copy");
    assert!(copied.contains("[1,\"a\",\"x\",1],[2,\"b\",null,2],[3,\"a\",null,4]"), "{copied}");
    assert_eq!(
        answer(&server, "SELECT v INTO nowhere..copy FROM m"),
        "\"error\":\"database not found: nowhere\""
    );
    server.stop();
}

#[test]
fn select_into_writes_what_top_chooses_among_as_tags() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    write(&server, "m,h=a v=1 1\nm,h=b v=9 2\nm,h=a v=4 3");
    answer(&server, "SELECT top(v, h, 2) INTO best FROM m");
    assert_eq!(
        answer(&server, "SELECT * FROM best GROUP BY *"),
        "\"series\":[{\"name\":\"best\",\"tags\":{\"h\":\"a\"},\"columns\":[\"time\",\"top\"],\
         \"values\":[[3,4]]},{\"name\":\"best\",\"tags\":{\"h\":\"b\"},\"columns\":[\"time\",\"top\"],\
         \"values\":[[2,9]]}]"
    );
    server.stop();
}

/// Answers recorded from InfluxDB 1.6.7.
#[test]
fn selections_inside_others_hand_on_their_rows_as_influxdb_does() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    write(
        &server,
        "m,h=a v=1 1\nm,h=a v=7 30\nm,h=b v=9 20\nm,h=b v=2 40\nm,h=a v=5 50\nm,h=b v=3 60",
    );
    let values = |statement: &str| {
        let answer = answer(&server, statement);
        let values = answer.split_once("\"values\":").map(|(_, values)| values.to_owned());
        values.unwrap_or(answer)
    };
    // Selectors by head, not by time; limits apply to every series before they are merged.
    assert_eq!(values("SELECT x FROM (SELECT max(v) AS x FROM m GROUP BY h)"), "[[30,7],[20,9]]}]");
    assert_eq!(
        values("SELECT v FROM (SELECT v FROM m GROUP BY h LIMIT 1)"),
        "[[1,1],[20,9],[30,7],[40,2]]}]"
    );
    server.stop();
}

#[test]
fn where_auth_is_on_users_and_grants_are_asked_for() {
    const BASIC: &str = "Basic dTpnZWhlaW1lcw=="; // u:geheimes
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--access"]);
    let ask = |statement: &str, who: &[(&str, &str)]| {
        let headers = [&[FORM], who].concat();
        let body = format!("q={}", encoded(statement));
        let response = server.request("POST", "/query?db=d", &headers, body.as_bytes());
        (response.status, response.text())
    };
    let first = "{\"error\":\"error authorizing query: create admin user first or disable \
                 authentication\"}\n";
    assert_eq!(ask("SHOW DATABASES", &[]), (403, first.to_owned()));
    let make = "CREATE USER root WITH PASSWORD 'root:root' WITH ALL PRIVILEGES";
    assert_eq!(ask(make, &[]), (403, first.to_owned()), "not for everybody");
    let token = server.welcome.lines().find(|line| line.trim().starts_with("foliot_")).unwrap();
    let made = ask(make, &[("Authorization", &format!("Token {}", token.trim()))]);
    assert_eq!(made, (200, "{\"results\":[{\"statement_id\":0}]}\n".to_owned()));
    let refused = |status, text: &str| (status, format!("{{\"error\":\"{text}\"}}\n"));
    let unreadable = "unable to parse authentication credentials";
    assert_eq!(ask("SHOW DATABASES", &[]), refused(401, unreadable));
    assert_eq!(
        ask("SHOW DATABASES", &[("Authorization", "Token root:wrong")]),
        refused(401, "authorization failed")
    );
    let root = [("Authorization", "Token root:root:root")];
    for statement in
        ["CREATE DATABASE d", "CREATE DATABASE e", "CREATE USER u WITH PASSWORD 'geheimes'"]
    {
        assert_eq!(ask(statement, &root).0, 200, "{statement}");
    }
    let user = [("Authorization", BASIC)];
    let may_not = "error authorizing query: u not authorized to execute statement";
    assert_eq!(
        ask("SELECT v FROM m", &user),
        refused(403, &format!("{may_not} 'SELECT v FROM m', requires READ on d"))
    );
    assert_eq!(
        ask("DROP DATABASE d", &user),
        refused(403, &format!("{may_not} 'DROP DATABASE d', requires admin privilege"))
    );
    let lines = |path: &str, who: &[(&str, &str)]| {
        let response = server.request("POST", path, who, b"m v=1 1");
        (response.status, response.text())
    };
    assert_eq!(lines("/write?db=d", &[]), refused(401, unreadable));
    assert_eq!(
        lines("/write?db=d&u=u&p=geheimes", &[]),
        refused(403, "\\\"u\\\" user is not authorized to write to database \\\"d\\\"")
    );
    assert_eq!(
        lines("/api/v2/write?bucket=d", &[]),
        (401, format!("{{\"code\":\"unauthorized\",\"message\":\"{unreadable}\"}}\n"))
    );
    assert_eq!(ask("GRANT WRITE ON d TO u", &root).0, 200);
    assert_eq!(lines("/write?db=d&u=u&p=geheimes", &[]).0, 204);
    assert_eq!(lines("/api/v2/write?bucket=d", &[("Authorization", "Token u:geheimes")]).0, 204);
    assert_eq!(ask("SELECT v FROM m", &user).0, 403, "writing is not reading");
    assert_eq!(ask("GRANT ALL ON d TO u", &root).0, 200);
    assert!(ask("SELECT v FROM m", &user).1.contains("\"values\":[[\"1970"));
    assert_eq!(ask("SELECT v FROM e..m", &user).0, 403);
    let seen = ask("SHOW DATABASES", &user).1;
    assert!(seen.contains("[[\"d\"]]"), "{seen}");
    server.stop();
}

#[test]
fn users_are_stored_with_their_grants() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    write(&server, "m v=1 1");
    for (statement, expected) in [
        ("CREATE USER u WITH PASSWORD 'geheimes'", ""),
        ("CREATE USER u WITH PASSWORD 'xxxxxxxx'", "\"error\":\"user already exists\""),
        ("GRANT READ ON d TO u", ""),
        ("GRANT READ ON d TO x", "\"error\":\"user not found\""),
        ("GRANT READ ON x TO u", "\"error\":\"database not found: x\""),
        ("GRANT ALL PRIVILEGES TO u", ""),
    ] {
        assert_eq!(answer(&server, statement), expected, "{statement}");
    }
    server.stop();
    let server = Server::start(dir.path(), &[]);
    assert!(answer(&server, "SHOW USERS").contains("[[\"u\",true]]"));
    assert!(answer(&server, "SHOW GRANTS FOR u").contains("[[\"d\",\"READ\"]]"));
    assert!(answer(&server, "DROP USER u").contains("this is the last administrator"));
    assert_eq!(answer(&server, "CREATE USER w WITH PASSWORD 'xxxxxxxx' WITH ALL PRIVILEGES"), "");
    assert_eq!(answer(&server, "DROP USER u"), "");
    server.stop();
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap_or_default();
        assert!(!bytes.windows(6).any(|window| window == b"geheim"));
    }
}

#[test]
fn continuous_queries_run_by_themselves() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    write(&server, "m v=1 1");
    let query = "CREATE CONTINUOUS QUERY c ON d RESAMPLE EVERY 1s FOR 1h BEGIN \
        SELECT count(v) AS n INTO counts FROM m GROUP BY time(10m) END";
    assert_eq!(answer(&server, query), "");
    let listed = answer(&server, "SHOW CONTINUOUS QUERIES");
    assert!(listed.contains("INTO d.autogen.counts FROM d.autogen.m GROUP BY time(10m) END"));
    assert_eq!(server.post("/write?db=d", "m v=5").status, 204);
    let began = std::time::Instant::now();
    while !answer(&server, "SELECT max(n) FROM counts").contains(",1]]") {
        assert!(began.elapsed() < harness::PATIENCE, "the query does not run");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert_eq!(answer(&server, "DROP CONTINUOUS QUERY c ON d"), "");
    server.stop();
}

#[test]
fn answers_come_as_they_are_asked_for() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--http-changes-by-get"]);
    write(&server, "m,h=a v=1 1\nm,h=b v=2 2\nm,h=b v=3 3");
    let chunked = ask(&server, "SELECT v FROM m", "&chunked=true&chunk_size=2&epoch=ns").text();
    assert_eq!(
        chunked,
        "{\"results\":[{\"statement_id\":0,\"series\":[{\"name\":\"m\",\"columns\":[\"time\",\"v\"],\
         \"values\":[[1,1],[2,2]],\"partial\":true}],\"partial\":true}]}\n\
         {\"results\":[{\"statement_id\":0,\"series\":[{\"name\":\"m\",\"columns\":[\"time\",\"v\"],\
         \"values\":[[3,3]]}]}]}\n"
    );
    let accept = |kind| {
        let path = "/query?db=d&q=SELECT+v+FROM+m+GROUP+BY+h";
        let response = server.request("GET", path, &[("Accept", kind)], b"");
        (response.header("content-type").to_owned(), response.body)
    };
    let (kind, csv) = accept("application/csv");
    assert_eq!(kind, "text/csv");
    assert_eq!(csv, b"name,tags,time,v\nm,h=a,1,1\nm,h=b,2,2\nm,h=b,3,3\n");
    let (kind, packed) = accept("application/x-msgpack");
    assert_eq!(kind, "application/x-msgpack");
    assert!(packed.starts_with(b"\x81\xa7results\x91\x82\xacstatement_id\x00\xa6series\x92"));
    let bound = ask(&server, "SELECT v FROM m WHERE h = $h", "&params=%7b%22h%22%3a%22a%22%7d");
    assert!(bound.text().contains("[[\"1970-01-01T00:00:00.000000001Z\",1]]"));
    assert_eq!(bound.header("x-influxdb-version"), "1.8.10");
    let get = server.get("/query?q=CREATE+DATABASE+x").text();
    assert!(get.contains("\"level\":\"warning\",\"text\":\"deprecated use of 'CREATE DATABASE x'"));
    assert_eq!(ask(&server, "SELECT v FROM m", "&async=true").status, 204);
    let foreign =
        server.request("GET", "/query?q=DROP+DATABASE+d", &[("Sec-Fetch-Site", "cross-site")], b"");
    assert_eq!(foreign.status, 403);
    let listed = ask(&server, "SHOW QUERIES", "").text();
    assert!(listed.contains("\"SHOW QUERIES\",\"d\""), "{listed}");
    server.stop();
}

/// What the clients of InfluxDB 2 ask before they write.
#[test]
fn clients_of_version_2_find_their_account() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let json = |path: &str, status: u16| {
        let answer = server.get(path);
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
        let json: serde_json::Value = serde_json::from_str(&answer.text()).unwrap();
        json
    };
    let ready = json("/ready", 200);
    assert_eq!(ready["status"], "ready");
    // As its clients read it: a time of RFC 3339, and a duration of Go.
    let (started, up) = (ready["started"].as_str().unwrap(), ready["up"].as_str().unwrap());
    assert!(started.len() >= 20 && started.ends_with('Z') && started.contains('T'), "{started}");
    assert!(up.contains("h") && up.contains("m") && up.ends_with("s"), "{up}");
    let me = json("/api/v2/me", 200);
    assert_eq!((&me["name"], &me["status"]), (&"foliot".into(), &"active".into()));
    let is_number = |id: &serde_json::Value| {
        let id = id.as_str().unwrap();
        id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()) && id != "0".repeat(16)
    };
    assert!(is_number(&me["id"]), "{me}");
    let orgs = json("/api/v2/orgs?org=home", 200);
    assert_eq!(orgs["orgs"].as_array().unwrap().len(), 1);
    let org = orgs["orgs"][0]["id"].as_str().unwrap();
    assert_eq!(orgs["orgs"][0]["name"], "home");
    assert_eq!(json(&format!("/api/v2/orgs/{org}"), 200)["id"], org);
    assert_eq!(json(&format!("/api/v2/orgs?orgID={org}"), 200)["orgs"][0]["id"], org);
    for unknown in ["/api/v2/orgs/00000000000000ff", "/api/v2/orgs?orgID=00000000000000ff"] {
        assert_eq!(json(unknown, 404)["code"], "not found");
    }
    assert_eq!(server.get("/api/v2/ping").status, 204);
    server.stop();
}

#[test]
fn buckets_are_databases() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let rules =
        r#"{"orgID":"x","name":"b","retentionRules":[{"type":"expire","everySeconds":7200}]}"#;
    let made = server.post("/api/v2/buckets", rules);
    assert_eq!(made.status, 201);
    let made: serde_json::Value = serde_json::from_str(&made.text()).unwrap();
    assert_eq!(made["retentionRules"][0]["everySeconds"], 7200);
    assert_eq!(server.post("/api/v2/buckets", rules).status, 422);
    assert_eq!(server.post("/api/v2/write?bucket=b&org=o", "m v=1").status, 204);
    let id = made["id"].as_str().unwrap();
    let listed = server.get("/api/v2/buckets?name=b").text();
    assert!(listed.contains(id) && listed.contains("\"name\":\"b\""), "{listed}");
    assert!(server.get("/api/v2/orgs?org=me").text().contains("\"name\":\"me\""));
    let after = server.get(&format!("/api/v2/buckets?after={id}")).text();
    assert!(!after.contains(id), "{after}");
    let path = format!("/api/v2/buckets/{id}");
    assert_eq!(server.request("DELETE", &path, &[], b"").status, 204);
    assert_eq!(server.get(&path).status, 404);
    let flux = server.post("/api/v2/query?org=o", "from(bucket:\"b\")");
    assert_eq!(flux.status, 501);
    server.stop();
}

#[test]
fn bad_input_is_answered_with_reasons() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    write(&server, "m v=1 1");
    // Paths of writes, lines, status and body.
    for (path, lines, status, expected) in [
        ("/write", "m v=1", 400, "database is required"),
        (
            "/write?db=d&precision=x",
            "m v=1",
            400,
            "invalid precision \\\"x\\\" (use n, ns, u, ms, s, m or h)",
        ),
        ("/write?db=d&rp=x", "m v=1", 404, "retention policy not found: x"),
        ("/write?db=d", "m", 400, "unable to parse 'm': missing fields"),
        ("/write?db=d", "m v=", 400, "unable to parse 'm v=': missing field value"),
        ("/write?db=d", "m =1", 400, "unable to parse 'm =1': missing field key"),
        ("/write?db=d", "m,t v=1", 400, "unable to parse 'm,t v=1': missing tag value"),
        ("/write?db=d", "m,=x v=1", 400, "unable to parse 'm,=x v=1': missing tag key"),
        ("/write?db=d", "m,t=1,t=2 v=1", 400, "unable to parse 'm,t=1,t=2 v=1': duplicate tags"),
        ("/write?db=d", ",t=1 v=1", 400, "unable to parse ',t=1 v=1': missing measurement"),
        ("/write?db=d", "m v=1 x", 400, "unable to parse 'm v=1 x': bad timestamp"),
        ("/write?db=d", "m v=yes", 400, "unable to parse 'm v=yes': invalid boolean"),
        ("/write?db=d", "m v=\"x", 400, "unable to parse 'm v=\\\"x': unbalanced quotes"),
        ("/write?db=d", "m v=1i,w=99999999999999999999i", 400, "value out of range"),
        ("/write?db=d", "m v=\"x\" 1", 400, "already exists as type float (line 1) dropped=1"),
        (
            "/write?db=d",
            "m time=1 1",
            400,
            "input field \\\"time\\\" on measurement \\\"m\\\" is invalid",
        ),
        (
            "/write?db=d",
            "m v=2 2\nm v=",
            400,
            "partial write: unable to parse 'm v=': missing field value (line 2, field v) dropped=0",
        ),
        ("/api/v2/write?org=o", "m v=1", 400, "\"code\":\"invalid\""),
        ("/api/v2/delete?bucket=d", "{}", 400, "start must be a time such as 2006-01-02T15:04:05Z"),
        ("/api/v2/buckets", "{}", 400, "a bucket needs a name"),
    ] {
        let response = server.post(path, lines);
        assert_eq!(response.status, status, "{path} {lines}: {}", response.text());
        assert!(response.text().contains(expected), "{path} {lines}: {}", response.text());
    }
    for (statement, status, expected) in [
        ("", 400, "{\"error\":\"missing required parameter \\\"q\\\"\"}\n"),
        (
            "SELECT",
            400,
            "{\"error\":\"error parsing query: found EOF, expected identifier, string, number, \
             bool at line 1, char 8\"}\n",
        ),
        (
            "SELECT v FROM m WHERE",
            400,
            "{\"error\":\"error parsing query: found EOF, expected identifier, string, number, \
             bool at line 1, char 23\"}\n",
        ),
        (
            "SELECT nosuch(v) FROM m",
            200,
            "{\"results\":[{\"statement_id\":0,\"error\":\"undefined function nosuch()\"}]}\n",
        ),
        (
            "SELECT v FROM x..m",
            200,
            "{\"results\":[{\"statement_id\":0,\"error\":\"database not found: x\"}]}\n",
        ),
        (
            "KILL QUERY 12345",
            200,
            "{\"results\":[{\"statement_id\":0,\"error\":\"no such query id: 12345\"}]}\n",
        ),
    ] {
        let response = ask(&server, statement, "");
        assert_eq!((response.status, response.text().as_str()), (status, expected), "{statement}");
    }
    let later = ask(&server, "SHOW FOOBARS; SHOW DATABASES", "");
    assert_eq!(later.status, 400);
    let later = ask(&server, "SELECT v FROM x..m; SHOW DATABASES", "").text();
    assert!(later.ends_with("{\"statement_id\":1,\"error\":\"not executed\"}]}\n"), "{later}");
    server.stop();
}

#[test]
fn all_statements_of_a_request_have_one_deadline_and_none_changes_anything_by_get() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--set", "limits.query_seconds=200ms"]);
    assert_eq!(answer(&server, "CREATE DATABASE d"), "");
    let lines: String = (0..20_000).map(|n| format!("m,h={n} v={n} {n}\n")).collect();
    assert_eq!(server.post("/write?db=d", &lines).status, 204);
    let get = server.get("/query?q=CREATE+DATABASE+x");
    assert_eq!((get.status, get.text().contains("http.changes_by_get")), (405, true));
    // Each of them is quick; together they take many times the limit.
    let many = ["SELECT mean(v) FROM m"; 5000].join(";");
    let late = ask(&server, &many, "");
    let text = late.text();
    assert!(text.contains("limits.query_seconds"), "{text:.300}");
    // Whoever was sent rows already is told behind them.
    assert!(late.status == 413 || text.contains("not executed"), "{text:.300}");
    server.stop();
}

/// Windows are counted before they are made up, also for selections that are inside others; those
/// that nobody wants are not made.
#[test]
fn windows_with_an_offset_end_where_clocks_are_shifted() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    // Clocks of Berlin are set back at 2025-10-26T01:00Z; a point each ten minutes around that.
    let lines: Vec<String> =
        (0..576).map(|at| format!("d v={at} {}", 1_761_264_000 + at * 600)).collect();
    let response = server.post("/write?db=d&precision=s", &lines.join("\n"));
    assert_eq!(response.status, 204, "{}", response.text());
    write(&server, "lo v=1 -9223372036854775805");
    let range = "time > '2025-10-01' and time < '2025-11-01'";
    for window in ["2h,1h", "1d,6h", "1w,4d", "6h,3h", "2h,30m", "30m,10m"] {
        for call in ["median(v)", "percentile(v,95)", "mode(v)", "top(v,2)", "mean(v)", "last(v)"] {
            let grouped = format!("group by time({window}) fill(none) tz('Europe/Berlin')");
            let found = answer(&server, &format!("select {call} from d where {range} {grouped}"));
            assert!(found.contains("\"values\""), "{window} {call}: {found}");
        }
        // No sample is lost, and none is counted twice.
        let inner = format!(
            "select count(v) as n from d where {range} group by time({window}) fill(none) tz('Europe/Berlin')"
        );
        let found = answer(&server, &format!("select sum(n) from ({inner})"));
        assert!(found.contains(",576]"), "{window}: {found}");
    }
    let low = answer(&server, "select median(v) from lo where time < 0 group by time(1d,6h)");
    assert!(low.contains(",1]"), "{low}");
    assert_eq!(server.get("/ping").status, 204);
    server.stop();
}

#[test]
fn what_is_greatest_is_so_of_all_rows_whatever_is_left_of_them() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let value = |at: i64| at * 7 % 1_009;
    let lines: Vec<String> =
        (0..480).map(|at| format!("t v={}i {}", value(at), 1_760_000_000 - at * 3_600)).collect();
    let response = server.post("/write?db=d&precision=s", &lines.join("\n"));
    assert_eq!(response.status, 204, "{}", response.text());
    let mut all: Vec<i64> = (0..480).map(value).collect();
    all.sort_unstable();
    let has = |text: &str, values: &[i64]| {
        let found = answer(&server, text);
        for value in values {
            assert!(found.contains(&format!(",{value}]")), "{text}: {found}");
        }
        assert_eq!(found.matches("],[").count() + 1, values.len(), "{text}: {found}");
    };
    has("select top(v,2) from t limit 3", &all[478..]);
    has("select bottom(v,2) from t limit 2", &all[..2]);
    has("select top(v,2) from t order by time desc limit 5", &all[478..]);
    server.stop();
}

#[test]
fn more_windows_than_a_query_may_fill_are_refused_at_once() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    write(&server, "m,h=a v=1 1000\nm,h=b v=1 1000");
    let began = std::time::Instant::now();
    let hour = "time >= 0 AND time < 1h";
    for statement in [
        format!("SELECT count(v) FROM m WHERE {hour} GROUP BY time(1ns)"),
        format!(
            "SELECT count(v), max(v) FROM m WHERE {hour} GROUP BY time(1ns), h LIMIT 2000000000"
        ),
        "SELECT mean(v) FROM m GROUP BY time(1ns)".to_owned(),
        format!(
            "SELECT max(c) FROM (SELECT count(v) AS c FROM m WHERE {hour} GROUP BY time(1ns) fill(0))"
        ),
    ] {
        let refused = ask(&server, &statement, "");
        let text = refused.text();
        assert_eq!(refused.status, 413, "{statement}: {text:.300}");
        assert!(text.contains("limits.query_samples"), "{statement}: {text:.300}");
    }
    let some = answer(
        &server,
        &format!("SELECT count(v) FROM m WHERE {hour} GROUP BY time(1ns), h LIMIT 2"),
    );
    assert_eq!(some.matches("\"values\":[[0,0],[1,0]]").count(), 2, "{some}");
    let none = format!("SELECT count(v) FROM m WHERE {hour} GROUP BY time(1ns) fill(none)");
    assert!(answer(&server, &none).contains("[[1000,2]]"));
    assert!(began.elapsed() < harness::PATIENCE / 3, "{:?}", began.elapsed());
    server.stop();
}

#[test]
fn a_limit_is_a_status_until_rows_went_out_and_an_error_behind_them() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--set", "limits.query_samples=10000"]);
    assert_eq!(answer(&server, "CREATE DATABASE d"), "");
    let lines: String = (0..20_000).map(|n| format!("m v={n} {n}\n")).collect();
    assert_eq!(server.post("/write?db=d", &lines).status, 204);
    // Of a comparison alone summaries would tell that no block has to be read.
    let none = "SHOW TAG KEYS; SELECT v FROM m WHERE v = 0.5 OR v = 1.5";
    for early in ["SELECT mean(v) FROM m WHERE v >= 0", none] {
        let refused = ask(&server, early, "");
        let text = refused.text();
        assert_eq!(refused.status, 413, "{text:.300}");
        assert!(
            text.starts_with("{\"error\":\"") && text.contains("limits.query_samples"),
            "{text}"
        );
        assert!(refused.header("x-influxdb-error").contains("limits.query_samples"));
    }
    for chunked in ["", "&chunked=true&chunk_size=500"] {
        let late = ask(&server, "SELECT v FROM m; SELECT v FROM m LIMIT 1", chunked);
        let text = late.text();
        assert_eq!(late.status, 200, "{text:.300}");
        let (rows, told) = text.split_at(text.find("\"error\"").expect("it is told"));
        assert!(rows.contains("[\"1970-01-01T00:00:00Z\",0]"), "{rows:.300}");
        assert!(told.contains("limits.query_samples") && told.contains("not executed"), "{told}");
    }
    assert_eq!(server.metric("foliot_limits_met_total{limit=\"limits.query_samples\"}"), 4.0);
    server.stop();
}

#[test]
fn an_answer_has_a_size() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--set", "limits.answer_bytes=100KiB"]);
    assert_eq!(answer(&server, "CREATE DATABASE d"), "");
    let lines: String = (0..20_000).map(|n| format!("m v={n} {n}\n")).collect();
    assert_eq!(server.post("/write?db=d", &lines).status, 204);
    assert_eq!(ask(&server, "SELECT v FROM m LIMIT 100", "").status, 200);
    // A long answer has begun when it turns out to be too long: its connection ends before it.
    let mut socket = server.connect();
    let path = "/query?db=d&q=SELECT+v+FROM+m";
    socket.write_all(&harness::request("GET", path, &[], b"")).unwrap();
    let mut bytes = Vec::new();
    let _ = socket.read_to_end(&mut bytes);
    assert!(bytes.len() < 200 << 10 && !bytes.ends_with(b"0\r\n\r\n"), "{}", bytes.len());
    server.stop();
}
