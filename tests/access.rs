//! Who may do what, through the real binary: every route by every role, from the table that
//! `docs/security.md` shows; connections; users and tokens; web pages of others.

use crate::harness;
use crate::harness::{Response, Scratch, Server, foliot};
use serde_json::Value;
use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::process::Stdio;

/// Runs `foliot user` on a store that no server has open; what it printed.
fn user(dir: &Path, arguments: &[&str], input: &str) -> String {
    let mut command = foliot();
    command.arg("user").arg(arguments[0]).arg("--data-dir").arg(dir).args(&arguments[1..]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// Makes a token with these rights; the value of the header that shows it.
fn token(dir: &Path, rights: &[&str]) -> String {
    let made = user(dir, &[&["token", "t"], rights].concat(), "");
    assert!(made.starts_with("foliot_") && made.trim().len() == 71, "{made}");
    format!("Bearer {}", made.trim())
}

fn with(server: &Server, who: &str, method: &str, path: &str, body: &str) -> Response {
    let headers: &[(&str, &str)] = if who.is_empty() { &[] } else { &[("Authorization", who)] };
    server.request(method, path, headers, body.as_bytes())
}

fn json(response: &Response) -> Value {
    serde_json::from_slice(&response.body).unwrap_or_else(|_| panic!("{}", response.text()))
}

/// The same at another port, without a body.
fn to(address: SocketAddr, who: &str, method: &str, path: &str) -> Response {
    let headers: &[(&str, &str)] = if who.is_empty() { &[] } else { &[("Authorization", who)] };
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(harness::PATIENCE)).unwrap();
    socket.write_all(&harness::request(method, path, headers, b"")).unwrap();
    harness::read_response(&mut BufReader::new(socket)).expect("no answer")
}

/// The rows of the table of rights in docs/security.md: path, method, need, whether of TickTock.
fn documented() -> Vec<(String, String, String, bool)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/security.md");
    let text = std::fs::read_to_string(path).unwrap();
    let mut rows = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("| `/")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let path = cells[0].split('`').nth(1).unwrap();
        for method in cells[1].split(", ") {
            let is_ticktock = cells[0].contains("TickTock");
            rows.push((path.to_owned(), method.to_owned(), cells[2].to_owned(), is_ticktock));
        }
    }
    assert!(rows.len() > 60, "the table has {} rows", rows.len());
    rows
}

/// What holds facts: to look at them is to read, anything else is a change.
const FACTS: [&str; 5] = [
    "/api/annotation",
    "/api/tree",
    "/api/uid/",
    "/api/foliot/v1/saved",
    "/api/foliot/v1/annotations",
];

/// Whether a role may do what a route needs, for the database `default`. Statements are looked at
/// elsewhere: here each of them reads.
fn may(role: &str, method: &str, path: &str, need: &str) -> bool {
    let changes = ["/api/uid/assign", "/api/uid/rename", "/api/foliot/v1/delete"].contains(&path)
        || method != "GET" && FACTS.iter().any(|facts| path.starts_with(facts))
        || method == "DELETE" && path == "/api/query";
    match need {
        "nobody is asked" => true,
        "by statement" => match (path, method) {
            ("/write" | "/api/v2/write" | "/api/v3/write_lp" | "/api/v2/delete", _) => {
                ["writer", "admin"].contains(&role)
            }
            ("/query" | "/api/foliot/v1/catalogue", _) => {
                ["reader", "scoped", "admin"].contains(&role)
            }
            ("/api/v2/buckets", "POST") | ("/api/v2/buckets/{id}", "PATCH" | "DELETE") => {
                role == "admin"
            }
            ("/api/v3/configure/database", "POST" | "DELETE") => role == "admin",
            _ => role != "nobody",
        },
        "read" => ["reader", "scoped", "admin"].contains(&role),
        "read, all measurements" => ["reader", "admin"].contains(&role),
        "write" | "write, all measurements" => ["writer", "admin"].contains(&role),
        "read; changes: write, all measurements" => match (changes, path) {
            (true, _) => ["writer", "admin"].contains(&role),
            (false, "/api/query") => ["reader", "scoped", "admin"].contains(&role),
            (false, _) => ["reader", "admin"].contains(&role),
        },
        "operator" => ["operator", "admin"].contains(&role),
        "admin" => role == "admin",
        other => panic!("{other} is no need"),
    }
}

#[test]
fn every_route_asks_every_role_for_its_rights() {
    let dir = Scratch::new();
    let roles = [
        ("nobody", String::new()),
        ("reader", token(dir.path(), &["--role", "read", "--db", "default"])),
        ("scoped", token(dir.path(), &["--role", "read", "--measurements", "cpu*"])),
        ("stranger", token(dir.path(), &["--role", "read", "--role", "write", "--db", "e"])),
        ("writer", token(dir.path(), &["--role", "write"])),
        ("operator", token(dir.path(), &["--role", "operator"])),
        ("admin", token(dir.path(), &["--role", "admin"])),
    ];
    let flags = ["--access", "--listen-ticktock", "127.0.0.1:0"];
    let server = Server::start(dir.path(), &flags);
    let second = server.welcome.lines().find(|line| line.contains("TickTock")).unwrap();
    let ticktock = second.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert_eq!(with(&server, &roles[6].1, "POST", "/write?db=default", "cpu v=1 1").status, 204);
    for (path, method, need, is_ticktock) in documented() {
        // What ends the server is not done while others are asked.
        let place = match path.as_str() {
            "/query" => "/query?db=default&q=SELECT+v+FROM+cpu".to_owned(),
            "/write" | "/api/v3/write_lp" => format!("{path}?db=default"),
            "/api/v2/write" | "/api/v2/delete" => format!("{path}?bucket=default"),
            "/api/admin" => "/api/admin?cmd=ping".to_owned(),
            path => path.replace("{id}", "0000000000000000"),
        };
        for (role, who) in &roles {
            let response = match is_ticktock {
                true => to(ticktock, who, &method, &place),
                false => with(&server, who, &method, &place, ""),
            };
            let refused = [401, 403].contains(&response.status);
            let deletes = path == "/api/query" && method == "DELETE";
            let is_right = refused != may(role, &method, &path, &need) || deletes && refused;
            assert!(
                is_right,
                "{role} {method} {path} needs {need}: {} {}",
                response.status,
                response.text()
            );
            assert_eq!(response.status == 401, refused && *role == "nobody", "{role} {path}");
        }
    }
    server.stop();
}

#[test]
fn a_running_server_makes_lists_and_ends_tokens() {
    let dir = Scratch::new();
    let admin = token(dir.path(), &["--role", "admin"]);
    let server = Server::start(dir.path(), &["--access"]);
    let path = "/api/v2/authorizations";
    let asked = r#"{"description":"edge","expiresInSeconds":3600,"permissions":[{"action":"write",
        "resource":{"type":"buckets","name":"default","measurements":"cpu*"}}]}"#;
    let made = with(&server, &admin, "POST", path, asked);
    assert_eq!(made.status, 201, "{}", made.text());
    let made: serde_json::Value = serde_json::from_str(&made.text()).unwrap();
    let edge = format!("Token {}", made["token"].as_str().unwrap());
    let write = |lines: &str| with(&server, &edge, "POST", "/write?db=default", lines).status;
    assert_eq!((write("cpu v=1 1"), write("mem v=1 1")), (204, 400));
    assert_eq!(with(&server, &edge, "GET", path, "").status, 403);
    let listed = with(&server, &admin, "GET", path, "").text();
    assert!(listed.contains("\"edge\"") && listed.contains("cpu*"), "{listed}");
    assert!(!listed.contains("foliot_"), "{listed}");
    let one = format!("{path}/{}", made["id"].as_str().unwrap());
    assert_eq!(with(&server, &admin, "DELETE", &one, "").status, 204);
    assert_eq!(write("cpu v=1 2"), 401);
    assert_eq!(with(&server, &admin, "DELETE", &one, "").status, 404);
    for bad in ["{}", r#"{"permissions":[]}"#, "x"] {
        assert_eq!(with(&server, &admin, "POST", path, bad).status, 400, "{bad}");
    }
    server.stop();
}

#[test]
fn tokens_are_kept_to_their_measurements_at_every_door() {
    let dir = Scratch::new();
    let admin = token(dir.path(), &["--role", "admin"]);
    let scope = ["--role", "read", "--role", "write", "--db", "default", "--measurements", "cpu*"];
    let edge = token(dir.path(), &scope);
    let server = Server::start(dir.path(), &["--access"]);
    let lines = "cpu v=1 1000000000\nmem v=1 1000000000\ncpu0 v=2 1000000000";
    assert_eq!(with(&server, &admin, "POST", "/write?db=default", lines).status, 204);
    let refused = with(&server, &edge, "POST", "/write?db=default", "cpu v=3 2\nmem v=3 2");
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("no right to write to measurement"), "{}", refused.text());
    // What is refused says nothing of kinds, neither to the store nor to who sent it.
    for (path, body) in [
        ("/write?db=default", "mem v=\"t\" 2\nmem_later v=\"t\" 2"),
        ("/api/v2/write?bucket=default", "mem v=\"t\" 2\nmem_later v=\"t\" 2"),
        ("/api/foliot/v1/import?format=influx", "mem v=\"t\" 2\nmem_later v=\"t\" 2"),
    ] {
        let refused = with(&server, &edge, "POST", path, body).text();
        assert!(refused.contains("no right") && !refused.contains("float"), "{path}: {refused}");
    }
    let later = with(&server, &admin, "POST", "/write?db=default", "mem_later v=1 2");
    assert_eq!(later.status, 204, "{}", later.text());
    let point = |metric: &str| {
        format!("{{\"metric\":\"{metric}\",\"timestamp\":3,\"value\":1,\"tags\":{{\"a\":\"b\"}}}}")
    };
    assert_eq!(with(&server, &edge, "POST", "/api/put", &point("cpu.x")).status, 204);
    assert_eq!(with(&server, &edge, "POST", "/api/put", &point("mem.x")).status, 400);
    let ask = |who: &str, q: &str| {
        let body = format!("q={q}&epoch=ns");
        let form = ("Content-Type", "application/x-www-form-urlencoded");
        let headers = [("Authorization", who), form];
        server.request("POST", "/query?db=default", &headers, body.as_bytes()).text()
    };
    let seen = ask(&edge, "SELECT v FROM /.*/");
    assert!(seen.contains("\"cpu0\"") && !seen.contains("\"mem\""), "{seen}");
    assert!(ask(&admin, "SELECT v FROM /.*/").contains("\"mem\""));
    assert!(!ask(&edge, "SHOW MEASUREMENTS").contains("mem"));
    assert!(!ask(&edge, "SHOW FIELD KEYS").contains("mem"));
    assert!(!ask(&edge, "SELECT v FROM mem").contains("values"));
    let delete = ask(&edge, "DELETE FROM cpu");
    assert!(delete.contains("not authorized"), "{delete}");
    let every = "BEGIN SELECT mean(v) INTO mean_mem FROM mem GROUP BY time(1h) END";
    let made = ask(&admin, &format!("CREATE CONTINUOUS QUERY means ON \"default\" {every}"));
    assert!(!made.contains("error"), "{made}");
    assert!(ask(&admin, "SHOW CONTINUOUS QUERIES").contains("mean_mem"));
    assert!(!ask(&edge, "SHOW CONTINUOUS QUERIES").contains("mem"));
    for all in ["DROP CONTINUOUS QUERY means ON", "DROP RETENTION POLICY autogen ON"] {
        let refused = ask(&edge, &format!("{all} \"default\""));
        assert!(refused.contains("requires WRITE on default"), "{refused}");
    }
    let suggest = with(&server, &edge, "GET", "/api/suggest?type=metrics", "").text();
    assert!(suggest.contains("cpu") && !suggest.contains("mem"), "{suggest}");
    let of_mem = with(&server, &edge, "GET", "/api/query?start=0&m=none:mem.v", "");
    assert!(!of_mem.text().contains("dps"), "{}", of_mem.text());
    server.stop();
}

#[test]
fn who_made_a_series_is_told_to_operators_alone() {
    let dir = Scratch::new();
    let reader = token(dir.path(), &["--role", "read"]);
    let operator = token(dir.path(), &["--role", "operator", "--role", "read", "--role", "write"]);
    let server = Server::start(dir.path(), &["--access"]);
    let written =
        with(&server, &operator, "POST", "/write?db=default", "cpu usage=1 1700000000000000000");
    assert_eq!(written.status, 204, "{}", written.text());
    let question = r#"{"language": "opentsdb", "text": "none:cpu.usage", "makers": true,
        "start_ms": 1699999999000, "end_ms": 1700000001000}"#;
    let told = |who: &str| {
        let listed = with(&server, who, "GET", "/api/foliot/v1/series?metric=cpu.usage", "");
        let asked = with(&server, who, "POST", "/api/foliot/v1/query", question);
        let [listed, asked]: [Value; 2] =
            [listed, asked].map(|answer| serde_json::from_str(&answer.text()).unwrap());
        assert_eq!(asked["series"].as_array().unwrap().len(), 1, "{asked}");
        [listed, asked].map(|answer| !answer["series"][0]["made_by"].is_null())
    };
    assert_eq!((told(&operator), told(&reader)), ([true; 2], [false; 2]));
    server.stop();
}

#[test]
fn a_form_of_prometheus_names_no_database_that_its_sender_may_not_read() {
    let dir = Scratch::new();
    let who = token(dir.path(), &["--role", "read", "--db", "own"]);
    let admin = token(dir.path(), &["--role", "admin"]);
    let server = Server::start(dir.path(), &["--access"]);
    for database in ["own", "other"] {
        let path = format!("/write?db={database}");
        assert_eq!(with(&server, &admin, "POST", &path, "m value=1").status, 204);
    }
    let ask = |form: &str| with(&server, &who, "POST", "/prometheus/api/v1/query", form);
    let answer = ask("query=m&db=own");
    assert!(answer.status == 200 && answer.text().contains(r#""value":["#), "{}", answer.text());
    for form in ["query=m&db=other", "query=m"] {
        let answer = ask(form);
        let text = answer.text();
        assert!(answer.status == 403 && text.contains("forbidden"), "{form}: {text}");
    }
    // Reading does not delete, also where the form names what may be read.
    let path = "/prometheus/api/v1/admin/tsdb/delete_series";
    let answer = with(&server, &who, "POST", path, "match[]=m&db=own&dry_run=true");
    assert_eq!(answer.status, 403, "{}", answer.text());
}

#[test]
fn connections_say_who_they_are_before_they_write() {
    let dir = Scratch::new();
    let writer = token(dir.path(), &["--role", "write", "--db", "default"]);
    let writer = writer.trim_start_matches("Bearer ");
    let reader = token(dir.path(), &["--role", "read"]);
    let reader = reader.trim_start_matches("Bearer ");
    let admin = token(dir.path(), &["--role", "admin"]);
    user(dir.path(), &["add", "u", "--role", "write"], "ge heimes\n");
    let server = Server::start(dir.path(), &["--access", "--listen-udp"]);
    let put = "put m 1 5 h=a\n";
    assert_eq!(server.talk(put.as_bytes()), "AUTH_FAIL\r\n");
    assert_eq!(
        server.talk(format!("auth {reader}\n{put}").as_bytes()),
        "AUTH_FAIL no right to write to \"default\" (listen.database)\r\nAUTH_FAIL\r\n"
    );
    assert_eq!(
        server.talk(format!("auth u wrong\n{put}").as_bytes()),
        "AUTH_FAIL\r\nAUTH_FAIL\r\n"
    );
    assert_eq!(server.talk(format!("auth {writer}\r\n{put}").as_bytes()), "AUTH_SUCCESS\r\n");
    let second = server.talk(b"auth u ge heimes\nput m 2 6 h=a\nstats\nexit\n");
    assert_eq!(second, "AUTH_SUCCESS\r\nstats: not authorized\n");
    assert_eq!(server.talk(b"put\n".repeat(20).as_slice()), "AUTH_FAIL\r\n".repeat(10));
    assert!(server.talk(b"m,h=a v=1 1\n").starts_with("plain lines are not taken"));
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.send_to(b"put m 3 7 h=a", server.address).unwrap();
    let dropped = || {
        let text = with(&server, &admin, "GET", "/metrics", "").text();
        text.contains("foliot_udp_refused_total 1\n")
    };
    let began = std::time::Instant::now();
    while !dropped() {
        assert!(began.elapsed() < harness::PATIENCE, "the datagram is not counted");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let stored = with(&server, &admin, "GET", "/api/query?start=0&m=none:m", "").text();
    assert!(stored.contains("\"dps\":{\"1\":5,\"2\":6}"), "{stored}");
    server.stop();
}

#[test]
fn addresses_that_are_listed_write_without_credentials_and_do_nothing_else() {
    let dir = Scratch::new();
    let admin = token(dir.path(), &["--role", "admin"]);
    let operator = token(dir.path(), &["--role", "operator", "--role", "write"]);
    let operator = operator.trim_start_matches("Bearer ");
    let flags = ["--access", "--access-write-from", "127.0.0.0/8,::1"];
    let server = Server::start(dir.path(), &flags);
    assert_eq!(server.talk(b"put m 1 5 h=a\n"), "");
    assert_eq!(server.talk(b"m,h=a value=6 2\n"), "");
    // Who shows a token all the same is told whether it is good, and has its rights.
    assert_eq!(server.talk(b"auth nonsense\nput m 4 8 h=a\n"), "AUTH_FAIL\r\n");
    let said = server.talk(format!("put m 5 9 h=a\nauth {operator}\nstats\nexit\n").as_bytes());
    assert!(said.starts_with("AUTH_SUCCESS\r\nfoliot."), "{said}");
    assert_eq!(server.post("/write?db=default", "m,h=a value=7 3000000000").status, 204);
    let refused = server.post("/write?db=other", "m v=1 1");
    assert!([401, 403].contains(&refused.status), "{}", refused.status);
    assert_eq!(server.get("/api/query?start=0&m=none:m").status, 401);
    let stored = with(&server, &admin, "GET", "/api/query?start=0&m=none:m", "").text();
    let expected = "\"dps\":{\"1\":5.0,\"2\":6.0,\"3\":7.0,\"4\":8,\"5\":9}";
    assert!(stored.contains(expected), "{stored}");
    server.stop();
}

#[test]
fn continuous_queries_have_the_rights_of_their_owner() {
    let dir = Scratch::new();
    let admin = token(dir.path(), &["--role", "admin"]);
    user(dir.path(), &["add", "u", "--role", "read", "--role", "write", "--db", "d"], "pwpwpwpw\n");
    let server = Server::start(dir.path(), &["--access"]);
    for database in ["d", "secret"] {
        let path = format!("/write?db={database}");
        assert_eq!(with(&server, &admin, "POST", &path, "m v=1 1").status, 204);
    }
    let ask = |who: &str, q: &str| {
        let headers =
            [("Authorization", who), ("Content-Type", "application/x-www-form-urlencoded")];
        let body = format!("q={q}");
        server.request("POST", "/query?db=d", &headers, body.as_bytes())
    };
    let make = |source: &str| {
        format!(
            "CREATE CONTINUOUS QUERY c ON d BEGIN SELECT count(v) INTO n FROM {source} \
             GROUP BY time(1m) END"
        )
    };
    let refused = ask("Token u:pwpwpwpw", &make("secret..m"));
    assert_eq!(refused.status, 403, "{}", refused.text());
    assert!(refused.text().contains("requires READ on secret"), "{}", refused.text());
    assert_eq!(ask("Token u:pwpwpwpw", &make("m")).status, 200);
    server.stop();
}

#[test]
fn guesses_are_put_off_and_the_audit_log_holds_no_secret() {
    let dir = Scratch::new();
    user(dir.path(), &["add", "root", "--role", "admin"], "geheimes\n");
    let server = Server::start(dir.path(), &["--access"]);
    let guess = |name: &str, password: &str| {
        let path = format!("/query?u={name}&p={password}&q=SHOW+DATABASES");
        server.get(&path)
    };
    assert_eq!(guess("root", "geheimes").status, 200);
    let statuses: Vec<u16> = (0..12).map(|n| guess("root", &format!("guess{n}")).status).collect();
    assert!(statuses[..10].iter().all(|status| *status == 401), "{statuses:?}");
    assert!(statuses[10..].contains(&429), "{statuses:?}");
    assert_eq!(guess("root", "geheimes").status, 200, "who is known goes on");
    let write = server.post("/write?db=default&u=root&p=geheimes", "m v=1");
    assert_eq!(write.status, 204, "{}", write.text());
    let delete = "/query?u=root&p=geheimes&db=default&q=DELETE+FROM+m";
    assert_eq!(server.post(delete, "").status, 200);
    let audit = std::fs::read_to_string(dir.path().join("audit.log")).unwrap();
    let line = "\"act\":\"failed login\",\"subject\":\"root\"";
    assert!(audit.contains(line) && audit.contains("\"create user\""), "{audit}");
    let deleted = audit.lines().find(|line| line.contains("\"act\":\"delete\"")).unwrap();
    assert!(deleted.contains("\"by\":\"root\""), "{deleted}");
    assert!(!audit.contains("geheim") && !audit.contains("guess"), "{audit}");
    server.stop();
}

/// Whoever tries to log in chooses the name that the audit log tells.
#[test]
fn failed_logins_say_whom_they_meant_and_levels_who_set_them() {
    let dir = Scratch::new();
    user(dir.path(), &["add", "root", "--role", "admin"], "geheimes\n");
    let token = token(dir.path(), &["--role", "admin"]);
    let last = |act: &str| -> Value {
        let audit = std::fs::read_to_string(dir.path().join("audit.log")).unwrap();
        let mut lines = audit.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.rfind(|line| line["act"] == act).unwrap()["subject"].clone()
    };
    // In base64: `a"`, a byte of 1, a line's end, `xy`, 1 200 times `n`, and `:x`.
    let long = format!("Basic YSIBCnh5{}Ong=", "bm5u".repeat(400));
    let name = format!("a\"\u{1}\nxy{}", "n".repeat(58));
    for (credentials, told) in [
        (&*long, &*name),
        ("Bearer foliot_wrong", "a token"),
        // A token shown as a user's name.
        ("Basic Zm9saW90X3dyb25nOng=", "a token"),
    ] {
        // A line a second at most: a server begins anew.
        let server = Server::start(dir.path(), &["--access"]);
        let answer = with(&server, credentials, "GET", "/api/config", "");
        let said = answer.text();
        assert!(answer.status == 401 && said.contains("password or the token is wrong"), "{said}");
        assert_eq!(last("failed login"), told);
        let answer = with(&server, "", "GET", "/api/config", "");
        let said = answer.text();
        assert!(answer.status == 401 && said.contains("no credentials"), "{said}");
        let answer = with(&server, &token, "POST", "/logs?level=WARN", "");
        assert_eq!((answer.status, last("set log level")), (200, "WARN".into()));
        server.stop();
    }
}

#[test]
fn a_new_server_prints_a_token_that_makes_its_first_administrator() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--access"]);
    let line = server.welcome.lines().find(|line| line.trim().starts_with("foliot_")).unwrap();
    let first = format!("Token {}", line.trim());
    let ask = |who: &str, q: &str| {
        let headers =
            [("Authorization", who), ("Content-Type", "application/x-www-form-urlencoded")];
        server.request("POST", "/query", &headers, format!("q={q}").as_bytes()).status
    };
    let make = "CREATE USER root WITH PASSWORD 'rrrrrrrr' WITH ALL PRIVILEGES";
    assert_eq!(server.request("POST", "/query", &[], b"").status, 400);
    assert_eq!(ask("Token x", make), 401);
    assert_eq!(ask(&first, make), 200);
    assert_eq!(ask(&first, "SHOW USERS"), 401, "it has ended");
    assert_eq!(ask("Token root:rrrrrrrr", "SHOW USERS"), 200);
    server.stop();
    let listed = user(dir.path(), &["list"], "");
    assert!(listed.contains("user   root") && listed.contains("admin"), "{listed}");
}

#[test]
fn the_last_administrator_stays() {
    let dir = Scratch::new();
    user(dir.path(), &["add", "root", "--role", "admin"], "rrrrrrrr\n");
    // One that ends would leave nobody soon.
    token(dir.path(), &["--role", "admin", "--expires", "1h"]);
    let refused = foliot().args(["user", "revoke", "root", "--data-dir"]).arg(dir.path()).output();
    let refused = String::from_utf8(refused.unwrap().stderr).unwrap();
    assert!(refused.contains("last administrator") && refused.contains("foliot user add"));
    let server = Server::start(dir.path(), &["--access"]);
    let ask = |who: &str, q: &str| {
        let form = ("Content-Type", "application/x-www-form-urlencoded");
        let headers = [("Authorization", who), form];
        server.request("POST", "/query", &headers, format!("q={q}").as_bytes()).text()
    };
    let root = "Token root:rrrrrrrr";
    for statement in ["DROP USER root", "REVOKE ALL PRIVILEGES FROM root"] {
        let said = ask(root, statement);
        assert!(said.contains("last administrator") && said.contains("CREATE USER"), "{said}");
    }
    assert!(ask(root, "SHOW USERS").contains("[\"root\",true]"));
    ask(root, "CREATE USER other WITH PASSWORD 'oooooooo' WITH ALL PRIVILEGES");
    assert!(!ask(root, "REVOKE ALL PRIVILEGES FROM root").contains("error"));
    assert!(ask("Token other:oooooooo", "DROP USER other").contains("last administrator"));
    assert!(!ask("Token other:oooooooo", "DROP USER root").contains("error"));
    server.stop();
}

#[test]
fn the_last_administrators_token_stays() {
    let dir = Scratch::new();
    token(dir.path(), &["--role", "admin"]);
    let listed = user(dir.path(), &["list"], "");
    let id = listed.split_whitespace().nth(1).unwrap();
    let revoke = || {
        let mut command = foliot();
        let output = command.args(["user", "revoke", id, "--data-dir"]).arg(dir.path()).output();
        String::from_utf8(output.unwrap().stderr).unwrap()
    };
    assert!(revoke().contains("last administrator"));
    let nobody = foliot().args(["user", "revoke", "nobody", "--data-dir"]).arg(dir.path()).output();
    assert!(!nobody.unwrap().status.success());
    let audit = std::fs::read_to_string(dir.path().join("audit.log")).unwrap();
    assert!(!audit.contains("revoke"), "what did not happen: {audit}");
    user(dir.path(), &["add", "root", "--role", "admin"], "rrrrrrrr\n");
    assert_eq!(revoke(), "");
}

#[test]
fn pages_of_others_neither_write_nor_turn_their_name_to_this_server() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--http-hosts", "tsdb.lan"]);
    let status = |method: &str, path: &str, headers: &[(&str, &str)], body: &str| {
        server.request(method, path, headers, body.as_bytes()).status
    };
    let point = r#"{"metric":"m","timestamp":1,"value":1,"tags":{"a":"b"}}"#;
    for host in ["evil.example", "evil.example:4242", "127.0.0.1.evil.example", "localhost.evil"] {
        for path in ["/", "/api/query?start=0&m=none:m", "/query?q=SHOW+DATABASES"] {
            assert_eq!(status("GET", path, &[("Host", host)], ""), 421, "{host} {path}");
        }
    }
    for host in ["localhost", "LOCALHOST:4242", "127.0.0.1:1", "[::1]:4242", "tsdb.lan", "10.0.0.1"]
    {
        assert_eq!(status("GET", "/-/ready", &[("Host", host)], ""), 200, "{host}");
    }
    let foreign: &[&[(&str, &str)]] = &[
        &[("Origin", "http://evil.example")],
        &[("Origin", "null")],
        &[("Sec-Fetch-Site", "cross-site")],
        &[("Sec-Fetch-Site", "same-site")],
    ];
    for headers in foreign {
        assert_eq!(status("POST", "/api/put", headers, point), 403, "{headers:?}");
        assert_eq!(status("POST", "/api/query/exp", headers, "{}"), 403, "{headers:?}");
        assert_eq!(status("POST", "/query", headers, "q=DROP DATABASE d"), 403, "{headers:?}");
        assert_eq!(status("DELETE", "/api/annotation", headers, ""), 403, "{headers:?}");
    }
    // Whether a picture or a script comes tells a page what is there; a link may lead here.
    for site in ["cross-site", "same-site"] {
        for path in
            ["/q?start=0&m=none:m&png", "/api/suggest?type=metrics", "/query?q=SHOW+DATABASES"]
        {
            let status_as = |dest| {
                status("GET", path, &[("Sec-Fetch-Site", site), ("Sec-Fetch-Dest", dest)], "")
            };
            for dest in ["image", "script", "iframe", "empty"] {
                assert_eq!(status_as(dest), 403, "{site} {dest} {path}");
            }
            assert_ne!(status_as("document"), 403, "{site} {path}");
        }
    }
    let own = [("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Dest", "empty")];
    assert_eq!(status("GET", "/api/suggest?type=metrics", &own, ""), 200);
    let picture = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Dest", "image")];
    assert_eq!(status("GET", "/-/ready", &picture, ""), 200);
    for path in ["/query?q=CREATE+DATABASE+d", "/logs?level=TRACE", "/api/uid/assign?metric=m"] {
        assert_eq!(status("GET", path, &[], ""), 405, "{path}");
    }
    for path in ["/", "/api/version", "/nowhere", "/query?q=SHOW+DATABASES"] {
        let response = server.get(path);
        let policy = response.header("content-security-policy");
        assert!(policy.contains("default-src 'none'"), "{path}: {policy:?}");
        assert_eq!(response.header("cross-origin-resource-policy"), "same-origin", "{path}");
        assert!(response.header("access-control-allow-origin").is_empty(), "{path}");
    }
    server.stop();
}

#[test]
fn the_welcome_says_what_is_open_to_whom() {
    let dir = Scratch::new();
    let refused = foliot()
        .args(["serve", "--listen", "0.0.0.0:0", "--data-dir"])
        .arg(dir.path())
        .output()
        .unwrap();
    let sentence = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && sentence.contains("--access"), "{sentence}");
    let server = Server::start(dir.path(), &["--access", "--access-write-from", "10.0.0.0/8"]);
    assert!(server.welcome.contains("by user and password, or by token"), "{}", server.welcome);
    assert!(server.welcome.contains("10.0.0.0/8 write without one to default"));
    let mut socket = server.connect();
    socket.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let response = harness::read_response(&mut BufReader::new(&mut socket)).unwrap();
    assert_eq!(response.status, 401);
    assert!(response.header("www-authenticate").starts_with("Basic realm="));
    let _ = socket.read(&mut []);
    server.stop();
}

/// InfluxDB does the same to its users' privileges, and knows buckets by numbers that come once.
#[test]
fn a_database_made_anew_is_open_to_nobody_who_had_rights_in_the_one_before() {
    let dir = Scratch::new();
    let admin = token(dir.path(), &["--role", "admin"]);
    let narrow = ["--role", "read", "--role", "write", "--db", "d", "--measurements", "m*"];
    let (narrow, other) = (token(dir.path(), &narrow), token(dir.path(), &["--role", "read"]));
    let server = Server::start(dir.path(), &["--access"]);
    let ask = |who: &str, statement: &str| {
        let response = with(
            &server,
            who,
            "POST",
            &format!("/query?db=d&q={}", statement.replace(' ', "%20")),
            "",
        );
        (response.status, response.text())
    };
    let user = "Token u:geheimes";
    let make = "CREATE USER u WITH PASSWORD 'geheimes'";
    assert_eq!(ask(&admin, make).0, 200);
    for drop in ["DROP DATABASE d", "a bucket"] {
        assert_eq!(ask(&admin, "CREATE DATABASE d").0, 200);
        assert_eq!(ask(&admin, "GRANT ALL ON d TO u").0, 200);
        assert_eq!(with(&server, &admin, "POST", "/write?db=d", "m v=1 1").status, 204);
        assert_eq!(ask(user, "SELECT v FROM m").0, 200);
        match drop {
            "a bucket" => {
                let listed = json(&with(&server, &admin, "GET", "/api/v2/buckets?name=d", ""));
                let id = listed["buckets"][0]["id"].as_str().unwrap().to_owned();
                let path = format!("/api/v2/buckets/{id}");
                assert_eq!(with(&server, &admin, "DELETE", &path, "").status, 204);
            }
            drop => {
                assert_eq!(ask(&narrow, "SELECT v FROM m").0, 200);
                assert_eq!(ask(&admin, drop).0, 200);
            }
        }
        assert_eq!(ask(&admin, "CREATE DATABASE d").0, 200);
        assert_eq!(with(&server, &admin, "POST", "/write?db=d", "m v=2 2").status, 204);
        for who in [user, &narrow] {
            assert_eq!(ask(who, "SELECT v FROM m").0, 403, "{drop}: {who}");
            assert_eq!(with(&server, who, "POST", "/write?db=d", "m v=3 3").status, 403);
        }
        assert_eq!(ask(&other, "SELECT v FROM m").0, 200, "what holds for all databases stays");
        assert!(!ask(&admin, "SHOW GRANTS FOR u").1.contains("\"d\""), "{drop}");
    }
    let log = std::fs::read_to_string(dir.path().join("audit.log")).unwrap();
    let revoked = log.lines().filter(|line| line.contains("\"act\":\"revoke\"")).count();
    assert_eq!(revoked, 3, "the user twice, the token once: {log}");
    server.stop();
}

#[test]
fn a_continuous_query_runs_with_the_rights_of_the_token_that_made_it_as_long_as_it_lives() {
    let dir = Scratch::new();
    let admin = token(dir.path(), &["--role", "admin"]);
    let maker = token(dir.path(), &["--role", "read", "--role", "write", "--db", "d"]);
    let server = Server::start(dir.path(), &["--access"]);
    let ask = |who: &str, statement: &str| {
        let path = format!("/query?db=d&q={}", statement.replace(' ', "%20"));
        with(&server, who, "POST", &path, "").text()
    };
    let write = || assert_eq!(with(&server, &maker, "POST", "/write?db=d", "m v=5").status, 204);
    ask(&admin, "CREATE DATABASE d");
    write();
    let made = ask(
        &maker,
        "CREATE CONTINUOUS QUERY c ON d RESAMPLE EVERY 1s FOR 1h BEGIN \
         SELECT count(v) AS n INTO counts FROM m GROUP BY time(10m) END",
    );
    assert!(!made.contains("error"), "{made}");
    let counted = || ask(&admin, "SELECT sum(n) FROM counts");
    let began = std::time::Instant::now();
    while !counted().contains(",1]]") {
        assert!(began.elapsed() < harness::PATIENCE, "the query does not run");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let id = json(&with(&server, &admin, "GET", "/api/v2/authorizations", ""));
    let all = id["authorizations"].as_array().unwrap();
    let own = |one: &&Value| one["permissions"].to_string().contains("\"d");
    let id = all.iter().find(own).unwrap()["id"].as_str().unwrap();
    let path = format!("/api/v2/authorizations/{id}");
    write();
    assert_eq!(with(&server, &admin, "DELETE", &path, "").status, 204);
    std::thread::sleep(std::time::Duration::from_secs(1));
    let last = counted();
    assert_eq!(with(&server, &admin, "POST", "/write?db=d", "m v=6").status, 204);
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert_eq!(counted(), last, "it went on without its token");
    server.stop();
}

#[test]
fn a_dry_run_of_an_import_refuses_what_the_import_would_for_want_of_rights() {
    let dir = Scratch::new();
    let narrow = token(dir.path(), &["--role", "write", "--measurements", "soil*"]);
    let server = Server::start(dir.path(), &["--access"]);
    let lines = "soil ph=7 600\nleaf wet=1 600\n";
    let puts = "put soil 600 1 h=x\nput leaf 600 1 h=x\n";
    for (format, text) in [("influx", lines), ("opentsdb", puts)] {
        for more in ["&dry_run=true", ""] {
            let path = format!("/api/foliot/v1/import?format={format}{more}");
            let answer = json(&with(&server, &narrow, "POST", &path, text));
            let told = (&answer["rows"], &answer["refused"], &answer["faults"][0]["line"]);
            assert_eq!(told, (&1.into(), &1.into(), &2.into()), "{path}: {answer}");
            let message = answer["faults"][0]["message"].as_str().unwrap();
            assert_eq!(message, "no right to write to measurement \"leaf\"", "{path}");
        }
    }
    server.stop();
}
