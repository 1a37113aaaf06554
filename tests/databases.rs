//! Databases for every protocol: one door writes, another asks back, and names lead to one place.

use crate::harness;
use crate::harness::{Scratch, Server};
use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{SystemTime, UNIX_EPOCH};

/// What `/api/query` has of `metric` in the database that `suffix` and `headers` name.
fn sum(server: &Server, metric: &str, suffix: &str, headers: &[(&str, &str)]) -> (u16, String) {
    let path = format!("/api/query?start=1&m=sum:{metric}{suffix}");
    let response = server.request("GET", &path, headers, b"");
    (response.status, response.text())
}

/// The server's retention is that of every database without one of its own, however it was made.
#[test]
fn the_servers_retention_holds_where_a_database_has_none() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--retention", "1d"]);
    for (statement, database) in [
        (None, "written"),
        (Some("CREATE DATABASE made"), "made"),
        (Some("CREATE DATABASE kept WITH DURATION 7d"), "kept"),
    ] {
        if let Some(statement) = statement {
            let path = format!("/query?q={}", statement.replace(' ', "%20"));
            assert_eq!(server.post(&path, "").status, 200);
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let lines = format!("m v=1 {}\nm v=2 {}", now - 2 * 86_400, now - 60);
        let path = format!("/write?db={database}&precision=s");
        assert!([204, 400].contains(&server.post(&path, &lines).status));
        let (_, body) = sum(&server, "m.v", &format!("&db={database}"), &[]);
        let shows_old = body.contains(&(now - 2 * 86_400).to_string());
        assert_eq!(shows_old, database == "kept", "{database}: {body}");
        assert!(body.contains(&(now - 60).to_string()), "{database}: {body}");
    }
}

/// Whoever lists policies or buckets is told how long samples stay, also where only the server
/// says so.
#[test]
fn policies_and_buckets_show_the_servers_retention() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--retention", "30d"]);
    for statement in ["CREATE%20DATABASE%20a", "CREATE%20DATABASE%20b%20WITH%20DURATION%207d"] {
        assert_eq!(server.post(&format!("/query?q={statement}"), "").status, 200);
    }
    for (database, duration, seconds) in [("a", "720h0m0s", 2_592_000), ("b", "168h0m0s", 604_800)]
    {
        let policies =
            server.get(&format!("/query?q=SHOW%20RETENTION%20POLICIES%20ON%20{database}"));
        assert!(policies.text().contains(&format!(r#""autogen","{duration}""#)), "{policies:?}");
        let bucket = server.get(&format!("/api/v2/buckets?name={database}"));
        let rule = format!(r#""everySeconds":{seconds},"#);
        assert!(bucket.text().contains(&rule), "{bucket:?}");
    }
}

/// What names no database goes to one that is always there: whoever dropped it, or its default
/// policy, drops what it held, and not what comes.
#[test]
fn what_names_no_database_is_stored_though_its_policy_was_dropped() {
    for flags in [&[][..], &["--listen-database", "metrics"]] {
        let dir = Scratch::new();
        let server = Server::start(dir.path(), flags);
        let database = flags.last().unwrap_or(&"default");
        let put = |value: u32| {
            let body =
                format!(r#"{{"metric":"m","timestamp":1000,"value":{value},"tags":{{"h":"a"}}}}"#);
            assert_eq!(server.post("/api/put", &body).status, 204);
        };
        put(1);
        for statement in [
            format!("DROP RETENTION POLICY autogen ON \"{database}\""),
            format!("DROP DATABASE \"{database}\""),
        ] {
            let statement = statement.replace(' ', "%20").replace('"', "%22");
            assert_eq!(server.post(&format!("/query?q={statement}"), "").status, 200);
            let mut telnet = TcpStream::connect(server.address).unwrap();
            telnet.write_all(b"put m 1001 2 h=a\nexit\n").unwrap();
            let mut said = String::new();
            telnet.read_to_string(&mut said).unwrap();
            assert_eq!(said, "");
            let (status, body) = sum(&server, "m", "", &[]);
            assert!(
                status == 200 && body.contains(r#""1001":2"#) && !body.contains("1000"),
                "{body}"
            );
        }
    }
}

#[test]
fn every_door_is_pointed_at_a_database_by_the_same_names() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--listen-database", "field/raw"]);
    let put = |path: &str, headers: &[(&str, &str)], value: u32| {
        let body =
            format!(r#"{{"metric":"m","timestamp":1000,"value":{value},"tags":{{"h":"a"}}}}"#);
        assert_eq!(server.request("POST", path, headers, body.as_bytes()).status, 204);
    };
    put("/api/put?db=one", &[], 1);
    put("/api/put?db=one&rp=autogen", &[("X-Foliot-Database", "one")], 1);
    put("/api/put", &[("X-Foliot-Database", "two/week")], 2);
    put("/api/put", &[], 3);
    assert_eq!(server.post("/write?db=two&rp=week", "m,h=b value=20 1000000000000").status, 204);
    assert_eq!(server.post("/api/v2/write?bucket=one", "m,h=b value=10 1000000000000").status, 204);
    assert_eq!(server.talk(b"put m 1000 30 h=b\n"), "");
    assert_eq!(server.talk(b"m,h=c value=300 1000\n"), "");
    for (suffix, headers, expected) in [
        ("&db=one", &[][..], "\"1000\":11"),
        ("&db=two&rp=week", &[], "\"1000\":22"),
        ("", &[("X-Foliot-Database", "two/week")], "\"1000\":22"),
        ("", &[], "\"1000\":333"),
        ("", &[("X-Foliot-Database", "field/raw")], "\"1000\":333"),
    ] {
        let (status, body) = sum(&server, "m", suffix, headers);
        assert_eq!(status, 200, "{body}");
        assert!(body.contains(expected), "{suffix}: {body}");
    }
    for (suffix, expected) in [
        ("&db=three", "database not found: \\\"three\\\""),
        ("&db=two&rp=day", "retention policy not found: day"),
    ] {
        let (status, body) = sum(&server, "m", suffix, &[]);
        assert_eq!(status, 404);
        assert!(body.contains(expected), "{body}");
    }
    let refused = server.post("/write?db=two&rp=day", "m value=1");
    assert_eq!(
        (refused.status, refused.text().as_str()),
        (404, "{\"error\":\"retention policy not found: day\"}\n")
    );
    server.stop();

    let server = Server::start(dir.path(), &["--set", "influx.auto_create_database=false"]);
    assert!(sum(&server, "m", "&db=two&rp=week", &[]).1.contains("\"1000\":22"));
    let refused = server.post("/write?db=three", "m value=1");
    assert_eq!(
        (refused.status, refused.text().as_str()),
        (404, "{\"error\":\"database not found: \\\"three\\\"\"}\n")
    );
    server.stop();
}

/// What CREATE DATABASE refuses, no first write makes.
#[test]
fn names_that_are_none_are_refused_by_every_door() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--listen-ticktock", "127.0.0.1:0"]);
    let second = server.welcome.lines().find(|line| line.contains("TickTock")).unwrap();
    let ticktock: std::net::SocketAddr = second.split_whitespace().nth(1).unwrap().parse().unwrap();
    let to_ticktock = |path: &str| {
        let mut socket = std::net::TcpStream::connect(ticktock).unwrap();
        let put = harness::request("POST", path, &[], b"put m 1 1 h=a");
        socket.write_all(&put).unwrap();
        harness::read_response(&mut BufReader::new(socket)).unwrap()
    };
    let long = "x".repeat(256);
    let point = r#"{"metric":"m","timestamp":1000,"value":1,"tags":{"h":"a"}}"#;
    for name in ["a/b", "..", ".", "a%5Cb", "a%0Ab", &long] {
        let made = server.post(&format!("/query?q=CREATE%20DATABASE%20%22{name}%22"), "").text();
        assert!(made.contains("error"), "{name}: {made}");
        for refused in [
            server.post(&format!("/write?db={name}"), "m v=1 1"),
            server.post(&format!("/api/v3/write_lp?db={name}"), "m v=1 1"),
            server.post(&format!("/api/v2/write?bucket=d/{name}"), "m v=1 1"),
            server.post(&format!("/api/put?db={name}"), point),
            to_ticktock(&format!("/api/put?db={name}")),
        ] {
            assert_eq!(refused.status, 400, "{name}: {}", refused.text());
            assert!(refused.text().contains("invalid name"), "{name}: {}", refused.text());
        }
    }
    let header = [("X-Foliot-Database", "..")];
    assert_eq!(server.request("POST", "/api/put", &header, point.as_bytes()).status, 400);
    let bucket = server.post("/api/v2/buckets", r#"{"name":".."}"#);
    assert!(bucket.status == 400 && bucket.text().contains("invalid name"), "{}", bucket.text());
    let listed = server.get("/query?q=SHOW%20DATABASES").text();
    assert!(!listed.contains("values"), "nothing was made: {listed}");
    server.stop();
    let refused = harness::foliot().args(["config", "check", "--listen-database", ".."]).output();
    let said = String::from_utf8(refused.unwrap().stderr).unwrap();
    assert!(said.contains("listen.database") && said.contains("invalid name"), "{said}");
}

/// What each client does again and again, beside the others; `{n}` is the number of the round.
const AT_ONCE: [&[&str]; 5] = [
    &["CREATE DATABASE x{n}", "DROP DATABASE x{n}", "CREATE DATABASE x", "DROP DATABASE x"],
    &[
        "CREATE RETENTION POLICY p{n} ON d DURATION 2h REPLICATION 1",
        "ALTER RETENTION POLICY p{n} ON d DURATION 3h DEFAULT",
        "DROP RETENTION POLICY p{n} ON d",
    ],
    &[
        "CREATE CONTINUOUS QUERY c{n} ON d BEGIN SELECT mean(v) INTO o FROM m GROUP BY time(1m) END",
        "SHOW CONTINUOUS QUERIES",
        "DROP CONTINUOUS QUERY c{n} ON d",
    ],
    &[
        "CREATE USER u{n} WITH PASSWORD 'pppppppp'",
        "GRANT READ ON d TO u{n}",
        "SHOW USERS",
        "DROP USER u{n}",
    ],
    &[
        "SHOW DATABASES",
        "SHOW RETENTION POLICIES ON d",
        "SHOW QUERIES",
        "SHOW FIELD KEYS ON d",
        "SHOW MEASUREMENTS ON x",
        "DROP MEASUREMENT m",
    ],
];

/// A lock out of order panics where it is taken, which ends the answer; one that hangs is told by
/// the patience of a client's socket.
#[test]
fn databases_users_and_queries_change_beside_writes_and_listings() {
    const ROUNDS: usize = 12;
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let ask = |statement: &str| {
        let body = format!("db=d&q={}", statement.replace(' ', "+").replace('\'', "%27"));
        let headers = [("Content-Type", "application/x-www-form-urlencoded")];
        let answer = server.request("POST", "/query", &headers, body.as_bytes());
        assert!(answer.status < 500, "{statement}: {}", answer.text());
    };
    ask("CREATE DATABASE d");
    std::thread::scope(|scope| {
        for statements in AT_ONCE {
            let ask = &ask;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let fill = |statement: &&str| statement.replace("{n}", &round.to_string());
                    statements.iter().map(fill).for_each(|statement| ask(&statement));
                }
            });
        }
        for database in ["d", "x"] {
            let server = &server;
            scope.spawn(move || {
                for round in 0..ROUNDS * 4 {
                    let line = format!("m,h=a{round} v={round},f{round}=1i\nn{round} v=1\n");
                    let answer = server.post(&format!("/write?db={database}"), &line);
                    assert!(answer.status < 500, "{}", answer.text());
                    assert_eq!(server.get("/metrics").status, 200);
                }
            });
        }
    });
    ask("SHOW DATABASES");
    server.stop();
}

/// What a client can make by a name has a bound, each with its setting.
#[test]
fn what_clients_make_by_name_has_a_bound() {
    let dir = Scratch::new();
    let flags: Vec<String> = ["databases", "policies", "continuous_queries", "users", "tokens"]
        .into_iter()
        .zip([3, 4, 1, 1, 1])
        .flat_map(|(name, most)| ["--set".to_owned(), format!("limits.{name}={most}")])
        .collect();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let server = Server::start(dir.path(), &flags);
    let run = |statement: &str| {
        server.post(&format!("/query?q={}", statement.replace(' ', "+")), "").text()
    };
    let is_refused = |text: &str, setting: &str| {
        assert!(text.contains("are there already") && text.contains(setting), "{text}");
    };
    let has_more = |statement: &str| {
        let text = run(statement);
        assert!(!text.contains("error"), "{statement}: {text}");
    };
    // One is there from the start.
    has_more("CREATE DATABASE a");
    assert_eq!(server.post("/write?db=b", "m v=1").status, 204);
    is_refused(&run("CREATE DATABASE c"), "limits.databases");
    let refused = server.post("/write?db=c", "m v=1");
    assert_eq!(refused.status, 400, "{}", refused.text());
    is_refused(&refused.text(), "limits.databases");
    has_more("CREATE DATABASE a");
    has_more("CREATE RETENTION POLICY p ON a DURATION 1d REPLICATION 1");
    is_refused(&run("CREATE RETENTION POLICY q ON a DURATION 1d REPLICATION 1"), "limits.policies");
    has_more("ALTER RETENTION POLICY p ON a DURATION 2d");
    has_more("DROP RETENTION POLICY p ON a");
    has_more("CREATE RETENTION POLICY q ON a DURATION 1d REPLICATION 1");
    let continuous = |name: &str| {
        format!(
            "CREATE CONTINUOUS QUERY {name} ON a BEGIN SELECT mean(v) INTO n FROM m GROUP BY \
             time(1h) END"
        )
    };
    has_more(&continuous("x"));
    has_more(&continuous("x"));
    is_refused(&run(&continuous("y")), "limits.continuous_queries");
    has_more("CREATE USER u WITH PASSWORD 'long enough'");
    is_refused(&run("CREATE USER w WITH PASSWORD 'long enough'"), "limits.users");
    let token = || {
        server.post("/api/v2/authorizations", r#"{"description":"t","permissions":[{"action":"read","resource":{"type":"buckets","name":"a"}}]}"#)
    };
    assert_eq!(token().status, 201);
    let refused = token();
    assert_eq!(refused.status, 422, "{}", refused.text());
    is_refused(&refused.text(), "limits.tokens");
    server.stop();
}
