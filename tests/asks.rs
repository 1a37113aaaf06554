//! `foliot query` and `foliot top`: the program as a client of a running server.

use crate::harness::terminal::Terminal;
use crate::harness::{Scratch, Server, foliot};
use std::io::Write;
use std::process::{Command, Output, Stdio};

/// A server with three series, and its address.
fn served(dir: &Scratch, flags: &[&str]) -> (Server, String) {
    let server = Server::start(&dir.path().join("data"), flags);
    let address = format!("http://{}", server.address);
    (server, address)
}

const LINES: &str = "climate,room=attic temperature=21.5,humidity=63i 1767225600
climate,room=attic temperature=22.0,humidity=62i 1767225660
climate,room=attic temperature=0.1 1767225720
climate,room=the\\ cellar temperature=12.25,humidity=18446744073709551615u 1767225600";

fn write(server: &Server) {
    // The cellar's humidity is of another kind, which a database refuses; it goes to another one.
    let (attic, cellar) = LINES.rsplit_once('\n').unwrap();
    assert_eq!(server.post("/write?db=default&precision=s", attic).status, 204);
    assert_eq!(server.post("/write?db=second&precision=s", cellar).status, 204);
}

fn query(address: &str) -> Command {
    let mut command = foliot();
    command.args(["query", "--url", address]).stdin(Stdio::null());
    command
}

fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn each_format_has_each_value_as_it_was_written() {
    let dir = Scratch::new();
    let (server, address) = served(&dir, &[]);
    write(&server);
    let attic = "SELECT temperature, humidity FROM climate GROUP BY room";
    for (words, expected) in [
        (
            vec![attic],
            "climate room=attic\n\
             time                  temperature  humidity\n\
             2026-01-01T00:00:00Z  21.5         63\n\
             2026-01-01T00:01:00Z  22           62\n\
             2026-01-01T00:02:00Z  0.1\n\
             temperature ██▁ from 0.1 to 22\n\
             humidity █▁ from 62 to 63\n",
        ),
        (
            vec!["SELECT * FROM climate", "--db", "second", "--format", "csv"],
            "name,time,humidity,room,temperature\r\n\
             climate,2026-01-01T00:00:00Z,18446744073709551615,the cellar,12.25\r\n",
        ),
        (
            vec!["SELECT humidity FROM climate GROUP BY room", "--format", "csv"],
            "name,room,time,humidity\r\n\
             climate,attic,2026-01-01T00:00:00Z,63\r\n\
             climate,attic,2026-01-01T00:01:00Z,62\r\n",
        ),
        (
            vec!["SELECT humidity FROM climate LIMIT 1", "--format", "markdown"],
            "| name | time | humidity |\n|---|---|---|\n| climate | 2026-01-01T00:00:00Z | 63 |\n",
        ),
        (
            vec![
                "m=sum:climate.temperature{room=*}",
                "--start",
                "1767225600",
                "--end",
                "1767225661",
            ],
            "climate.temperature room=attic\n\
             time                  value\n\
             2026-01-01T00:00:00Z  21.5\n\
             2026-01-01T00:01:00Z  22.0\n\
             value ▁█ from 21.5 to 22\n",
        ),
        (
            vec!["m=max:climate.temperature", "--start", "1767225720", "--format", "csv"],
            "name,room,time,value\r\nclimate.temperature,attic,2026-01-01T00:02:00Z,0.1\r\n",
        ),
        (vec!["SELECT humidity FROM nothing"], ""),
    ] {
        let output = query(&address).args(&words).output().unwrap();
        let (out, err) = said(&output);
        assert!(output.status.success(), "{words:?}: {err}");
        assert_eq!(out, expected, "{words:?}");
    }
    let output = query(&address).args([attic, "--format", "json"]).output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let row = &json["results"][0]["series"][0]["values"][0];
    assert_eq!(row, &serde_json::json!(["2026-01-01T00:00:00Z", 21.5, 63]));
    // The server's own answer is one document, however many series it has.
    assert_eq!(server.post("/write?db=default", "rain,site=a v=1").status, 204);
    let output = query(&address).args(["SHOW TAG KEYS", "--format", "json"]).output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["results"][0]["series"].as_array().unwrap().len(), 2, "{json}");
    server.stop();
}

#[test]
fn an_answer_of_several_pieces_is_one_table() {
    let dir = Scratch::new();
    let (server, address) = served(&dir, &[]);
    let lines: String = (0..25_000).map(|at| format!("m v={at} {at}\n")).collect();
    assert_eq!(server.post("/write?db=default&precision=s", &lines).status, 204);
    for (format, headings) in [("table", 3), ("csv", 1)] {
        let output =
            query(&address).args(["SELECT v FROM m", "--format", format]).output().unwrap();
        let (out, _) = said(&output);
        assert_eq!(out.lines().count(), 25_000 + headings, "{format}");
        assert!(out.contains("06:56:39Z"), "{format}");
    }
    server.stop();
}

#[test]
fn what_is_refused_is_said_as_the_server_says_it() {
    let dir = Scratch::new();
    let (server, address) = served(&dir, &[]);
    for (statement, expected) in [
        (
            "SELECT v FORM m",
            "foliot: error parsing query: found FORM, expected FROM at line 1, char 10\n",
        ),
        ("m=sum:nothing", "foliot: No such name for 'metrics': 'nothing'\n"),
    ] {
        let output = query(&address).arg(statement).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{statement}");
        assert_eq!(said(&output), (String::new(), expected.to_owned()), "{statement}");
    }
    // One statement a line: those that are good are answered, and the code tells of the others.
    let mut child = query(&address)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = b"CREATE DATABASE one\n\nSELECT\nSHOW DATABASES\n";
    child.stdin.take().unwrap().write_all(lines).unwrap();
    let output = child.wait_with_output().unwrap();
    let (out, err) = said(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(out.contains("databases\nname\n") && out.contains("one\n"), "{out}");
    assert!(err.starts_with("foliot: line 3: error parsing query:"), "{err}");
    assert_eq!(err.lines().count(), 1, "{err}");
    // What a name holds does nothing to a terminal.
    assert_eq!(server.post("/write?db=default", "a\x1b[2J v=1 1").status, 204);
    let (out, _) = said(&query(&address).arg("SHOW MEASUREMENTS").output().unwrap());
    assert!(out.contains("a\\u{1b}[2J") && !out.contains('\x1b'), "{out}");
    server.stop();
    let output = query(&address).arg("SHOW DATABASES").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).1.contains("cannot connect to 127.0.0.1:"), "{:?}", said(&output));
}

#[test]
fn a_pipe_chooses_databases_as_a_terminal_does() {
    let dir = Scratch::new();
    let (server, address) = served(&dir, &[]);
    write(&server);
    let mut child = query(&address)
        .args(["--format", "csv"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = b"use second;\nSELECT temperature FROM climate\nuse third\n\
                  SELECT humidity FROM climate\nfrom(bucket: \"second\") |> last()\nhlep\n\
                  start nonsense\nformat parquet\nexit now\nquit\nSELECT\n";
    child.stdin.take().unwrap().write_all(lines).unwrap();
    let output = child.wait_with_output().unwrap();
    let (out, err) = said(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(out.contains("12.25") && out.contains("18446744073709551615"), "{out}");
    let lines: Vec<_> = err.lines().collect();
    let [third, flux, word, time, parquet, exit] = &lines[..] else { panic!("{err}") };
    assert_eq!(*word, "foliot: line 6: hlep is no statement; help lists what can be said");
    assert!(time.contains("line 7: Invalid time: nonsense") && time.contains("1h-ago"), "{time}");
    assert!(parquet.contains("`foliot query --format parquet"), "{parquet}");
    assert!(exit.contains("line 9: exit stands alone"), "{exit}");
    assert_eq!(*third, "foliot: line 3: there is no database third, but default, second");
    assert!(
        flux.starts_with("foliot: line 5: this looks like Flux, which Foliot does not"),
        "{flux}"
    );
    server.stop();
}

#[test]
fn who_asks_is_told_by_user_token_or_environment() {
    let dir = Scratch::new();
    let data = dir.path().join("data");
    let mut admin = foliot();
    let admin =
        admin.args(["user", "token", "t", "--role", "admin", "--role", "read", "--data-dir"]);
    let token = String::from_utf8(admin.arg(&data).output().unwrap().stdout).unwrap();
    let mut user = foliot();
    user.args(["user", "add", "u", "--role", "read", "--data-dir"]).arg(&data);
    let mut user = user.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    user.stdin.take().unwrap().write_all(b"a long:password\n").unwrap();
    assert!(user.wait().unwrap().success());
    let (server, address) = served(&dir, &["--access"]);
    let ask = |flags: &[&str], variable: Option<&str>| {
        let mut command = query(&address);
        command.arg("SHOW DATABASES").args(flags);
        let output = command.envs(variable.map(|token| ("FOLIOT_TOKEN", token))).output().unwrap();
        (output.status.code().unwrap(), said(&output).1)
    };
    assert_eq!(ask(&["--token", token.trim()], None), (0, String::new()));
    assert_eq!(ask(&[], Some(token.trim())), (0, String::new()));
    assert_eq!(ask(&["--user", "u:a long:password"], None), (0, String::new()));
    assert_eq!(ask(&[], None).0, 1);
    assert_eq!(ask(&["--user", "u:wrong"], None).0, 1);
    server.stop();
}

#[test]
fn a_terminal_completes_names_and_remembers_statements() {
    let dir = Scratch::new();
    let (server, address) = served(&dir, &[]);
    write(&server);
    let state = dir.path().join("state");
    let start = || {
        let mut command = query(&address);
        command.env("XDG_STATE_HOME", &state).env("TERM", "xterm");
        let mut terminal = Terminal::start(command);
        terminal.wait_for_prompt();
        terminal
    };
    let mut terminal = start();
    terminal.press("SELECT x FROM clim\t");
    terminal.wait_for("climate");
    // To the beginning, and that line away.
    terminal.press("\x15\x0b");
    terminal.press("SELECT max(humi FROM climate\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\t");
    terminal.wait_for("humidity");
    terminal.press(") \r");
    terminal.wait_for("63");
    terminal.wait_for_prompt();
    terminal.press("use second\r");
    terminal.wait_for_prompt();
    terminal.press("m=max:climate.temp\t");
    terminal.wait_for("climate.temperature");
    terminal.press("\x15start 1767225600\r");
    terminal.wait_for_prompt();
    terminal.press("m=max:climate.temperature;\r");
    terminal.wait_for("12.25");
    terminal.wait_for_prompt();
    terminal.press("no sense\r");
    terminal.wait_for("error parsing query");
    terminal.wait_for_prompt();
    terminal.press("SET PASSWORD FOR \"u\" = 'hidden'\r");
    terminal.wait_for_prompt();
    terminal.press("quit\r");
    terminal.ends_well();
    let kept = std::fs::read_to_string(state.join("foliot/history")).unwrap();
    assert!(kept.contains("m=max:climate.temperature\n") && !kept.contains("hidden"), "{kept}");
    let mut terminal = start();
    terminal.press("\x1b[A\x1b[A\x1b[A");
    terminal.wait_for("m=max:climate.temperature");
    terminal.press("\x15\x04");
    terminal.ends_well();
    server.stop();
}

#[test]
fn top_shows_who_writes_and_what_is_refused() {
    let dir = Scratch::new();
    let (server, address) = served(&dir, &[]);
    write(&server);
    assert_eq!(server.post("/write?db=default", "climate temperature=warm").status, 400);
    let mut command = foliot();
    let output = command.args(["top", "--url", &address]).output().unwrap();
    let (out, err) = said(&output);
    assert!(output.status.success(), "{err}");
    // No escape sequences: this is a pipe.
    assert!(out.starts_with("foliot ") && !out.contains('\x1b'), "{out}");
    for expected in [
        "influx_http",
        "refused        1 rows since the start, influx_http: value",
        "influx_http 127.0.0.1",
        "0 running",
    ] {
        assert!(out.contains(expected), "{expected} is not in {out}");
    }
    // At a terminal it goes on.
    let mut command = foliot();
    command.args(["top", "--interval", "1", "--url", &address]);
    let mut terminal = Terminal::start(command);
    for _ in 0..2 {
        terminal.wait_for("\x1b[H\x1b[J");
        terminal.wait_for("influx_http");
        terminal.wait_for("disk");
    }
    server.stop();
    terminal.wait_for("cannot connect to");
    assert!(!terminal.shows_keys());
    terminal.press("xq");
    terminal.ends_well();
    assert!(terminal.shows_keys());
}

#[test]
fn a_server_is_asked_under_tls_when_somebody_vouches_for_it() {
    let dir = Scratch::new();
    let [own, foreign] = ["own", "foreign"].map(|name| {
        let pair = dir.path().join(name);
        assert!(foliot().arg("cert").arg(&pair).output().unwrap().status.success());
        pair
    });
    let file = |name: &str| own.join(name).to_str().unwrap().to_owned();
    let (certificate, key) = (file("cert.pem"), file("key.pem"));
    let (server, address) = served(&dir, &["--tls-certificate", &certificate, "--tls-key", &key]);
    write(&server);
    let address = address.replace("http://", "https://");
    let ask = |ca: &str| {
        let mut command = query(&address);
        command.args(["--format", "csv", "SELECT max(temperature) FROM climate"]);
        command.env("FOLIOT_CA", ca).output().unwrap()
    };
    let answered = ask(&certificate);
    let said = String::from_utf8(answered.stderr).unwrap();
    assert!(answered.status.success(), "{said}");
    assert!(String::from_utf8(answered.stdout).unwrap().contains("22"), "{said}");
    let refused = ask(foreign.join("cert.pem").to_str().unwrap());
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("certificate") && refused.stdout.is_empty(), "{said}");
    server.stop();
}
