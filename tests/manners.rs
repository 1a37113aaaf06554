//! What the program says to people while it works: at a terminal, in its log, and in answers that
//! refuse.

use crate::harness::broker::Broker;
use crate::harness::terminal::Terminal;
use crate::harness::{PATIENCE, Scratch, Server, foliot, read_response, request};
use rustix::process::Signal;
use std::io::{BufReader, Read, Write};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

/// A server that logs what it logs by default, and its log.
fn logged(dir: &Path, flags: &[&str]) -> (Server, PathBuf) {
    let log = dir.join("log");
    let file = std::fs::File::options().append(true).create(true).open(&log).unwrap();
    let mut command = foliot();
    command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(dir.join("data"));
    command.args(flags).stdout(Stdio::piped()).stderr(file);
    (Server::ready(command).unwrap(), log)
}

/// Waits until a line of the log has a text, and returns the line.
fn line_with(log: &Path, text: &str) -> String {
    let began = Instant::now();
    loop {
        let said = std::fs::read_to_string(log).unwrap();
        if let Some(line) = said.lines().find(|line| line.contains(text)) {
            return line.to_owned();
        }
        assert!(began.elapsed() < PATIENCE, "{text} is not in {said}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn a_password_is_asked_for_twice_and_never_shown() {
    let dir = Scratch::new();
    let add = |name: &str| {
        let mut command = foliot();
        command.args(["user", "add", name, "--role", "read", "--db", "d", "--data-dir"]);
        command.arg(dir.path().join("data"));
        Terminal::start(command)
    };
    let mut terminal = add("ann");
    terminal.wait_for("Password for ann: ");
    terminal.press("eightees\n");
    let mut shown = terminal.wait_for("The same again: ");
    terminal.press("eightees\n");
    shown += &terminal.wait_for("user ann can log in");
    terminal.ends_well();
    assert!(!shown.contains("eight"), "{shown}");
    let mut terminal = add("bob");
    terminal.wait_for("Password for bob: ");
    terminal.press("eightees\n");
    terminal.wait_for("The same again: ");
    terminal.press("eightees?\n");
    terminal.wait_for("the two passwords are not the same; nothing was changed");
    let listed =
        foliot().args(["user", "list", "--data-dir"]).arg(dir.path().join("data")).output();
    let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
    assert!(listed.contains("ann") && !listed.contains("bob"), "{listed}");
}

#[test]
fn a_signal_while_a_password_is_typed_leaves_the_terminal_as_it_was() {
    use rustix::process::Signal;
    let ends = [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129), (Signal::QUIT, 131)];
    for (signal, code) in ends {
        let dir = Scratch::new();
        let mut command = foliot();
        command.args(["user", "add", "ann", "--role", "read", "--data-dir"]).arg(dir.path());
        let mut terminal = Terminal::start(command);
        terminal.wait_for("Password for ann: ");
        assert!(!terminal.shows_keys());
        terminal.signal(signal);
        assert_eq!(terminal.ended().code(), Some(code));
        assert!(terminal.shows_keys(), "{signal:?}");
    }
}

#[test]
fn a_name_has_no_control_characters() {
    let dir = Scratch::new();
    let mut command = foliot();
    command.args(["user", "add", "a\u{7}b", "--role", "read", "--db", "d", "--data-dir"]);
    let mut child = command
        .arg(dir.path())
        .stdin(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"eightees\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("has no control characters"), "{said}");
}

/// What clients of JSON cannot read they do not show.
#[test]
fn a_body_that_cannot_be_unpacked_is_refused_in_the_manner_of_its_door() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    for (path, member) in [
        ("/write?db=d", "/error"),
        ("/api/v2/write?bucket=d", "/message"),
        ("/api/v3/write_lp?db=d", "/error"),
        ("/api/put", "/error/message"),
        ("/api/foliot/v1/query", "/error"),
    ] {
        for (encoding, status) in [("gzip", 400), ("br", 415)] {
            let headers = [("Content-Encoding", encoding)];
            let answer = server.request("POST", path, &headers, b"this is not packed");
            let text = answer.text();
            assert_eq!(answer.status, status, "{path}: {text}");
            let json: serde_json::Value = serde_json::from_str(&text)
                .unwrap_or_else(|error| panic!("{path}: {error}: {text}"));
            assert!(json.pointer(member).is_some(), "{path}: {text}");
        }
    }
    server.stop();
}

#[test]
fn a_policy_without_its_database_is_refused() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    for path in ["/api/put?rp=zz", "/api/query?start=1h-ago&m=sum:m&rp=zz", "/api/v1/import?rp=zz"]
    {
        let answer = server.post(path, "[]");
        let text = answer.text();
        assert_eq!(answer.status, 400, "{path}: {text}");
        assert!(text.contains("rp: the database of this policy is missing"), "{path}: {text}");
    }
    server.stop();
}

#[test]
fn users_of_a_running_server_are_looked_for_there() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let listed = foliot().args(["user", "list", "--data-dir"]).arg(dir.path()).output().unwrap();
    let said = String::from_utf8(listed.stderr).unwrap();
    assert_eq!(listed.status.code(), Some(1), "{said}");
    assert!(said.contains("is in use") && said.contains("foliot query 'SHOW USERS'"), "{said}");
    server.stop();
}

#[test]
fn the_log_says_who_sent_what_was_refused() {
    let dir = Scratch::new();
    let (server, log) = logged(dir.path(), &[]);
    server.talk(b"put soil.ph 1700000000 acid bed=north\n");
    let line = line_with(&log, "refused for their");
    for part in ["by telnet from 127.0.0.1", "put soil.ph 1700000000 acid bed=north"] {
        assert!(line.contains(part), "{part} is not in {line}");
    }
    server.talk(b"login hunter2\n");
    line_with(&log, "refused for their command");
    server.stop();
    let said = std::fs::read_to_string(&log).unwrap();
    assert!(!said.contains("hunter2"), "what is no command may be a password: {said}");
}

#[test]
fn refused_messages_are_named_by_their_topics() {
    let dir = Scratch::new();
    let broker = Broker::new();
    let address = broker.flag();
    let flags = ["--mqtt-broker", &address, "--mqtt-topics", "#", "--mqtt-templates", "t/{at}=m"];
    let (server, log) = logged(dir.path(), &flags);
    let mut session = broker.accept(1).unwrap();
    // Of each class one is logged at once; the status has them all.
    let messages = [
        ("cellar/plain", "what is this", Some("line")),
        ("cellar/put", "put soil.ph 1700000000 acid bed=north", Some("value")),
        ("cellar/json", r#"{"metric":7}"#, None),
        ("t/cellar", "unavailable", None),
    ];
    for (topic, payload, class) in messages {
        let id = session.publish(topic, payload);
        assert_eq!(session.acknowledged(), Some(id), "{topic}");
        if let Some(class) = class {
            let line = line_with(&log, &format!("under '{topic}' refused for their {class}"));
            assert!(line.contains(payload), "{payload} is not in {line}");
            assert_eq!(line.contains("mqtt.templates says"), class == "line", "{line}");
        }
    }
    let status = server.get("/api/foliot/v1/status").text();
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    for (topic, payload, _) in messages {
        let rejects = status["rejects"].as_array().unwrap();
        let reject = rejects.iter().find(|reject| reject["text"] == payload);
        let reject = reject.unwrap_or_else(|| panic!("{payload} is not in {rejects:?}"));
        assert!(reject.to_string().contains(&format!("'{topic}': ")), "{reject}");
    }
    server.stop();
}

#[test]
fn the_log_names_senders_of_statsd_and_of_tls() {
    let dir = Scratch::new();
    let (server, log) = logged(dir.path(), &["--listen-statsd", "127.0.0.1:0"]);
    let line = server.welcome.lines().find(|line| line.contains("statsd")).unwrap();
    let statsd = line.split_whitespace().nth(1).unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.send_to(b"bad", statsd).unwrap();
    line_with(
        &log,
        "rows by statsd from 127.0.0.1 refused for their line, the first in line 1: bad",
    );
    let senders = server.get("/api/foliot/v1/senders").text();
    let senders: serde_json::Value = serde_json::from_str(&senders).unwrap();
    let sender = &senders["senders"][0];
    assert_eq!((&sender["address"], &sender["refused"]), (&"127.0.0.1".into(), &1.into()));
    // The beginning of a ClientHello (RFC 8446, 5.1).
    server.talk(&[0x16, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3]);
    line_with(&log, "127.0.0.1 tried TLS, for which there is no certificate");
    server.stop();
}

#[test]
fn a_name_that_is_not_this_servers_is_repeated() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let headers = [("Host", "tsdb.lan:4242")];
    let answer = server.request("GET", "/", &headers, b"");
    assert_eq!(answer.status, 421);
    let said = answer.text();
    assert!(said.contains("\"tsdb.lan:4242\"") && said.contains("http.hosts"), "{said}");
    server.stop();
}

#[test]
fn the_log_says_that_a_write_made_a_database() {
    let dir = Scratch::new();
    let (server, log) = logged(dir.path(), &[]);
    assert_eq!(server.post("/write?db=tele-graf", "m v=1").status, 204);
    let line = line_with(&log, "tele-graf");
    assert!(line.contains("was made, since a write from 127.0.0.1 named it"), "{line}");
    assert_eq!(server.post("/write?db=tele-graf", "m v=1").status, 204);
    server.stop();
    let said = std::fs::read_to_string(&log).unwrap();
    assert_eq!(said.matches("tele-graf").count(), 1, "{said}");
}

#[test]
fn the_log_says_that_times_are_hardly_nanoseconds() {
    let dir = Scratch::new();
    let (server, log) = logged(dir.path(), &[]);
    for (path, line) in [
        ("/write?db=default", "m v=1"),
        ("/write?db=default", "m v=1 1700000000000000000"),
        ("/write?db=default&precision=s", "m v=1 1700000000"),
        ("/write?db=default", "m v=1 7"),
    ] {
        assert_eq!(server.post(path, line).status, 204);
    }
    let said = std::fs::read_to_string(&log).unwrap();
    assert!(!said.contains("precision="), "{said}");
    assert_eq!(server.post("/write?db=default", "m v=1 1700000000").status, 204);
    line_with(&log, "precision=s, ms or us");
    server.stop();
}

#[test]
fn a_restart_says_what_it_read_again() {
    let dir = Scratch::new();
    let (server, log) = logged(dir.path(), &[]);
    assert_eq!(
        server.post("/write?db=default", "m v=1,w=2 1700000000000000000\nm v=3").status,
        204
    );
    server.kill();
    let (server, log) = (logged(dir.path(), &[]).0, log);
    let line = line_with(&log, "of the log, in ");
    assert!(line.contains("3 samples that were in no part yet were read from "), "{line}");
    server.stop();
}

#[test]
fn memory_that_is_not_there_is_told() {
    let dir = Scratch::new();
    let (server, log) = logged(dir.path(), &["--limits-memory-bytes", "1000TiB"]);
    let line = line_with(&log, "limits.memory_bytes is 1000.0 TiB, and this machine");
    assert!(line.contains("WARN"), "{line}");
    assert!(server.welcome.contains("  memory     up to 1000.0 TiB\n"), "{}", server.welcome);
    server.stop();
    let (server, _) = logged(dir.path(), &[]);
    assert!(
        server.welcome.contains("all that is here (limits.memory_bytes)"),
        "{}",
        server.welcome
    );
    server.stop();
}

#[test]
fn a_start_and_a_stop_are_logged() {
    let dir = Scratch::new();
    for (signal, name) in [(Signal::TERM, "SIGTERM"), (Signal::INT, "SIGINT")] {
        let (mut server, log) = logged(dir.path(), &[]);
        let process = format!("process {}, ", server.status("Pid"));
        let line = line_with(&log, &process);
        let data = format!("data in {}", dir.path().join("data").display());
        let version = format!("foliot {} (commit ", env!("CARGO_PKG_VERSION"));
        let listener = format!("{} (HTTP, telnet, Influx lines)", server.address);
        for part in [" INFO ", &version, &data, &listener] {
            assert!(line.contains(part), "{part} is not in {line}");
        }
        server.signal(signal);
        assert!(server.wait().success());
        line_with(&log, &format!("stopping: {name} came"));
    }
}

#[test]
fn what_is_cut_to_fit_the_memory_is_told_once_and_by_a_check_too() {
    let dir = Scratch::new();
    let flags = ["--limits-memory-bytes", "64MB", "--limits-query-memory-bytes", "1GB"];
    let (server, log) = logged(dir.path(), &flags);
    server.stop();
    let said = std::fs::read_to_string(&log).unwrap();
    let cut = "limits.query_memory_bytes is cut to ";
    assert_eq!(said.matches(cut).count(), 1, "{said}");
    let sentence = |line: &str| line.split_once(": ").unwrap().1.to_owned();
    let cuts: Vec<_> =
        said.lines().filter(|line| line.contains(" is cut to ")).map(sentence).collect();
    let check = |flags: &[&str]| {
        let checked = foliot().args(["config", "check"]).args(flags).output().unwrap();
        assert!(checked.status.success());
        String::from_utf8(checked.stdout).unwrap()
    };
    assert_eq!(check(&flags), format!("{}\nall settings are good\n", cuts.join("\n")));
    let said = check(&["--limits-memory-bytes", "1000TiB"]);
    assert!(said.starts_with("limits.memory_bytes is 1000.0 TiB, and this machine"), "{said}");
    assert!(said.ends_with("\nall settings are good\n"), "{said}");
}

#[test]
fn the_limit_that_was_met_is_named() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--limits-series", "2"]);
    assert_eq!(server.post("/write?db=default", "m a=1,b=2").status, 204);
    let refused = server.post("/write?db=default", "m c=1").text();
    assert!(refused.contains("0 are admitted by limits.series"), "{refused}");
    assert!(!refused.contains("registry_bytes"), "{refused}");
    server.stop();
    let server = Server::start(&dir.path().join("slow"), &["--limits-new-series-per-second", "0"]);
    let refused = server.post("/write?db=default", "m c=1").text();
    assert!(refused.contains("admitted by limits.new_series_per_second"), "{refused}");
    server.stop();
}

#[test]
fn a_missing_file_of_rules_fails_a_check_and_not_a_start() {
    let dir = Scratch::new();
    let config = dir.path().join("prometheus.yml");
    let name = config.to_str().unwrap();
    std::fs::write(&config, "rule_files: [gone.yml, \"rules/*.yml\"]\n").unwrap();
    for words in [["--prometheus", name], ["--prometheus-config", name]] {
        let checked = foliot().args(["config", "check"]).args(words).output().unwrap();
        let said = String::from_utf8(checked.stderr).unwrap();
        assert_eq!(checked.status.code(), Some(2), "{words:?}: {said}");
        assert!(
            said.contains("rule_files: there is no file ") && said.contains("gone.yml"),
            "{said}"
        );
        assert!(!said.contains("rules/*.yml"), "a pattern may find nothing: {said}");
    }
    let (server, log) = logged(dir.path(), &["--prometheus-config", name]);
    line_with(&log, "gone.yml, so that its rules are not followed");
    server.stop();
}

#[test]
fn promql_at_the_root_is_told_where_it_is_asked() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    for (path, there) in [
        ("/api/v1/query?query=up", "/prometheus/api/v1/query"),
        ("/api/v1/query_range?query=up", "/prometheus/api/v1/query_range"),
        ("/api/v1/labels", "/prometheus/api/v1/labels"),
        ("/api/v1/label/job/values", "/prometheus/api/v1/label/job/values"),
    ] {
        let answer = server.get(path);
        let json: serde_json::Value = serde_json::from_str(&answer.text()).unwrap();
        assert_eq!((answer.status, &json["status"]), (404, &"error".into()), "{path}: {json}");
        let said = json["error"].as_str().unwrap();
        assert!(said.contains(there) && said.contains("listen.prometheus"), "{path}: {said}");
    }
    // OpenTSDB's path with a version is still its own.
    let answer = server.get("/api/v1/query?start=1h-ago&m=sum:m").text();
    assert!(answer.contains("No such name for 'metrics'"), "{answer}");
    server.stop();
}

#[test]
fn an_answer_before_its_body_says_that_the_connection_ends() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--access"]);
    for (method, path, status) in
        [("POST", "/wirte", 404), ("POST", "/metrics", 405), ("POST", "/api/put", 401)]
    {
        let mut socket = server.connect();
        let headers = [("Content-Length", "1000000")];
        socket.write_all(&request(method, path, &headers, b"m v=1")).unwrap();
        let mut reader = BufReader::new(socket);
        let answer = read_response(&mut reader).unwrap();
        assert_eq!((answer.status, answer.header("connection")), (status, "close"), "{path}");
        assert_eq!(reader.read_to_end(&mut Vec::new()).unwrap_or(0), 0, "{path}");
    }
    // Without a body the next request comes on the same connection.
    let answer = server.get("/wirte");
    assert_eq!((answer.status, answer.header("connection")), (404, ""));
    server.stop();
}

#[test]
fn statements_may_come_as_a_file_of_a_form() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let body = "--x\r\nContent-Disposition: form-data; name=\"q\"; filename=\"q.txt\"\r\n\
                Content-Type: text/plain\r\n\r\nCREATE DATABASE one;\nCREATE DATABASE two\n\r\n\
                --x--\r\n";
    let headers = [("Content-Type", "multipart/form-data; boundary=x")];
    let answer = server.request("POST", "/query", &headers, body.as_bytes());
    assert_eq!(answer.status, 200, "{}", answer.text());
    let listed = server.get("/query?q=SHOW+DATABASES").text();
    assert!(listed.contains("one") && listed.contains("two"), "{listed}");
    server.stop();
}

#[test]
fn the_documents_are_there_without_a_network() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let index = server.get("/docs");
    let page = server.get("/s/page.js").text();
    assert!(page.contains("Documents"), "the page leads there");
    assert_eq!((index.status, index.header("location")), (302, "/docs/README.md"));
    let gzip = [("Accept-Encoding", "gzip")];
    let packed = server.request("GET", "/docs/README.md", &gzip, b"");
    assert_eq!((packed.status, packed.header("content-encoding")), (200, "gzip"));
    // Every link on every page leads somewhere, and nothing is loaded.
    let (mut pages, mut seen) = (vec!["/docs/README.md".to_owned()], Vec::new());
    while let Some(path) = pages.pop() {
        let page = server.get(&path);
        assert_eq!(page.status, 200, "{path}");
        assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
        let text = page.text();
        assert!(
            text.contains("<h1") && !text.contains("<img") && !text.contains("<script"),
            "{path}"
        );
        seen.push(path.clone());
        for link in text.split("<a href=\"").skip(1) {
            let link = link.split('"').next().unwrap();
            if link.contains("://") || link.starts_with('#') || link.starts_with("mailto:") {
                continue;
            }
            let mut parts: Vec<&str> = path.split('/').collect();
            parts.pop();
            for part in link.split('#').next().unwrap().split('/') {
                match part {
                    ".." => drop(parts.pop()),
                    part => parts.push(part),
                }
            }
            let next = parts.join("/");
            // Back to the page, which is looked at in browsers.
            if next != "/" && !seen.contains(&next) && !pages.contains(&next) {
                pages.push(next);
            }
        }
    }
    assert!(seen.len() > 25, "{seen:?}");
    assert!(seen.contains(&"/docs/guides/telegraf.md".to_owned()), "{seen:?}");
    let bare = server.get("/docs/protocols/sql");
    assert_eq!((bare.status, bare.header("location")), (302, "/docs/protocols/sql.md"));
    let missing = server.get("/docs/../MANIFEST");
    assert_eq!(missing.status, 404, "{}", missing.text());
    server.stop();
}
