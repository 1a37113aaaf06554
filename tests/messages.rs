//! What is said to somebody who did something wrong: the cause, and what to do next.

use crate::harness::{Scratch, Server, foliot};
use serde_json::Value as Json;
use std::cell::Cell;
use std::io::Write;
use std::process::Stdio;

/// Words of the command line, its exit code, and what must stand in the one line that it says.
type Case<'a> = (&'a [&'a str], i32, &'a [&'a str]);

#[test]
fn a_start_that_fails_is_a_line_of_the_log_where_that_is_json() {
    for (flags, code, expected) in [
        (["--data-dir", "/proc/none"], 1, "/proc/none"),
        (["--limits-memory-bytes", "512"], 2, "at least 40MiB"),
        (["--tls-certificate", "/nowhere.pem"], 2, "tls."),
    ] {
        let words = ["serve", "--listen", "127.0.0.1:0", "--log-format", "json"];
        let scratch = Scratch::new();
        let mut command = foliot();
        command.current_dir(scratch.path()).args(words).args(flags).stdin(Stdio::null());
        let ended = command.output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(code), "{said}");
        let lines: Vec<Json> =
            said.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
        let last = lines.last().unwrap();
        assert_eq!((&last["level"], &last["target"]), (&"error".into(), &"foliot".into()));
        assert!(last["message"].as_str().unwrap().contains(expected), "{said}");
        assert!(last["time"].as_str().unwrap().ends_with('Z'), "{said}");
    }
}

#[test]
fn commands_say_what_is_wrong_and_what_to_do() {
    let dir = Scratch::new();
    let influx = dir.path().join("influxdb.conf");
    std::fs::write(&influx, "reporting-disabled = true\n[meta]\n  dir = \"/m\"\n").unwrap();
    let neither = dir.path().join("other.conf");
    std::fs::write(&neither, "colour = red\n").unwrap();
    let opentsdb = dir.path().join("opentsdb.conf");
    std::fs::write(&opentsdb, "tsd.network.port = 4242\ntsd.mode = rw\n").unwrap();
    let parquet = dir.path().join("parquet");
    std::fs::write(&parquet, b"PAR1\x15\x04").unwrap();
    let settings = dir.path().join("foliot.toml");
    std::fs::write(&settings, "body_byte = 1\n").unwrap();
    let cert = dir.path().join("tls");
    std::fs::create_dir(&cert).unwrap();
    std::fs::write(cert.join("key.pem"), "mine").unwrap();
    let store = dir.path().join("store");
    Server::start(&store, &[]).stop();
    let [influx, neither, opentsdb, parquet, settings, cert, store] =
        [&influx, &neither, &opentsdb, &parquet, &settings, &cert, &store]
            .map(|path| path.to_str().unwrap());
    let cases: &[Case<'_>] = &[
        (&["backup"], 2, &["<DIR>", "must be given", "`foliot help backup`"]),
        (&["restore"], 2, &["<BACKUP>", "must be given", "`foliot help restore`"]),
        (&["inspect"], 2, &["<PATH>", "`foliot help inspect`"]),
        (&["cert"], 2, &["<DIR>", "`foliot help cert`"]),
        (&["user", "add"], 2, &["<NAME>", "--role", "`foliot help user add`"]),
        (&["user", "token", "t"], 2, &["--role", "`foliot help user token`"]),
        (
            &["user", "add", "u", "--role", "boss"],
            2,
            &["--role", "cannot be boss", "read, write, admin, operator"],
        ),
        (&["export"], 2, &["--format", "must be given", "`foliot help export`"]),
        (
            &["export", "--format", "xlsx"],
            2,
            &["--format", "cannot be xlsx", "line, opentsdb, ticktock, parquet, csv"],
        ),
        (&["export", "--format", "line", "--url", "http://h"], 2, &["--url", "foliot backup"]),
        (&["export", "--format", "line", "--retention", "1d"], 2, &["--retention", "help export"]),
        (&["export", "--format", "line", "--measurement", "m"], 2, &["`foliot help export`"]),
        (&["import", "influx", "--precision", "s"], 2, &["`foliot help import influx`"]),
        (&["backup", "--keep", "7d", "x"], 2, &["--keep", "`foliot help backup`"]),
        (&["serve", "--keep", "7d"], 2, &["--keep", "--retention TIME"]),
        (&["serve", "--user", "x"], 2, &["--user", "`foliot help serve`"]),
        (&["retention", "--keep", "30"], 2, &["--keep", "'30' is not a time", "30d"]),
        (&["import", "influx", "--from", "h"], 2, &["'h' is no address of a server"]),
        (&["import", "influx", neither, "--url", "h"], 2, &["'h' is no address of a server"]),
        (
            &["import", "csv", neither, "--url", "http://h:1", "--data-dir", store],
            2,
            &["--url <URL>", "--data-dir <VALUE>", "give one of them"],
        ),
        (
            &["import", "influx", neither, "--url", "http://h:1", "--wal-ack", "os"],
            2,
            &["--url <URL>", "--wal-ack <VALUE>"],
        ),
        (&["export", "--format", "line", "--nosuch"], 2, &["--nosuch", "`foliot help export`"]),
        (&["import"], 2, &["`foliot import` needs", "influx", "`foliot help import`"]),
        (&["user"], 2, &["`foliot user` needs", "password", "`foliot help user`"]),
        (&[], 2, &["for example `foliot serve`"]),
        (
            &["export", "--format", "line", "--start", "foo"],
            2,
            &["--start", "cannot be foo", "2026-01-31T12:00:00Z", "seconds since 1970"],
        ),
        (&["inspect", neither], 1, &["is no file of a store", "name a data directory"]),
        (
            &["serve", "--listen", "127.0.0.1:0", "--data-dir", neither],
            1,
            &["a file is there", "name a directory"],
        ),
        (&["serv"], 2, &["unknown command serv", "did you mean serve?"]),
        (&["compact"], 2, &["unknown command compact", "`kill -USR2 PID`"]),
        (&["health"], 2, &["unknown command health", "`foliot top`"]),
        (&["serve", "--retention", "0d"], 2, &["'0d' would keep nothing", "or forever"]),
        (&["serve", "--retention", "1s"], 2, &["'1s' would take", "an hour (1h) at least"]),
        (
            &["serve", "--agent-host", "true"],
            2,
            &["unknown argument true", "take no value", "--set KEY=true"],
        ),
        (&["restore", "nosuch"], 1, &["nosuch does not exist", "name a backup"]),
        (
            &["check", "--data-dir", cert],
            1,
            &["there is no store", "name its directory with --data-dir"],
        ),
        (&["zzzz"], 2, &["unknown command zzzz", "`foliot help` lists all commands"]),
        (&["start"], 2, &["unknown command start", "`foliot serve`"]),
        (&["stop"], 2, &["unknown command stop", "Ctrl-C", "systemctl stop foliot"]),
        (&["repair"], 2, &["unknown command repair", "`foliot check --repair`"]),
        (&["serve", "--port", "4242"], 2, &["unknown argument --port", "--listen HOST:PORT"]),
        (&["query", "--port", "4242"], 2, &["unknown argument --port", "--url http://HOST:PORT"]),
        (&["serve", "-data-dir", "x"], 2, &["unknown argument -data-dir", "two dashes", "--data"]),
        (&["check", "/var/lib/x"], 2, &["unknown argument /var/lib/x", "--data-dir /var/lib/x"]),
        (
            &["user", "token", "t", "--role", "write", "--db", "a/b"],
            2,
            &["--db", "'a/b'", "without a policy"],
        ),
        (
            &["config", "check", "--listen-graphite", "127.0.0.1:4242"],
            2,
            &["listen.graphite is 127.0.0.1:4242, and listen.address is 127.0.0.1:4242"],
        ),
        (&["config", "check", "--limits-memory-bytes", "512"], 2, &["at least 40MiB"]),
        (&["cert", cert, "--name", "h"], 1, &["is there already", "another directory"]),
        (&["serve", "--hed-bytes", "1"], 2, &["--hed-bytes", "did you mean --head-bytes?"]),
        (&["serve", "--set", "limits.seris=1"], 2, &["limits.seris", "limits.series?"]),
        (&["serve", "--set", "query_second=1"], 2, &["did you mean limits.query_seconds?"]),
        (&["config", "check", "--config", settings], 2, &["did you mean limits.body_bytes?"]),
        (&["config", "check", "--from", influx], 2, &["InfluxDB", "foliot import influx --from"]),
        (&["config", "check", "--from", neither], 2, &["neither an opentsdb.conf nor"]),
        (
            &["config", "check", "--mqtt-broker", "h:1", "--mqtt-topics", "a/#/b"],
            2,
            &["mqtt.topics names 'a/#/b'", "# for all levels that are left"],
        ),
        (
            &["config", "check", "--mqtt-broker", "h:1", "--mqtt-topics", "a,b+/c"],
            2,
            &["mqtt.topics names 'b+/c'", "+ stands for a whole level"],
        ),
        (&["config", "check", "--limits-series", "0"], 2, &["limits.series is 0"]),
        (
            &["config", "check", "--tls-certificate", "/nowhere/c.pem", "--tls-key", neither],
            2,
            &["/nowhere/c.pem"],
        ),
        (&["config", "check", "--data-dir", neither], 2, &["data_dir", "name a directory"]),
        (
            &["config", "check", "--listen-udp", "--listen-statsd", "127.0.0.1:4242"],
            2,
            &["listen.statsd is 127.0.0.1:4242", "listen.udp", "listen.address"],
        ),
        (&["config", "check", "--http-hosts", "a b,c"], 2, &["http.hosts names 'a b'", "tsdb.lan"]),
        (
            &["config", "check", "--http-cors-domains", "nonsense"],
            2,
            &["http.cors_domains names 'nonsense'", "https://dashboards.example"],
        ),
        (
            &["config", "check", "--prometheus-external-url", "nonsense"],
            2,
            &["prometheus.external_url is 'nonsense'"],
        ),
        (
            &["config", "check", "--access-password-length-min", "99999"],
            2,
            &["access.password_length_min is 99999", "at most 1024"],
        ),
        (
            &["config", "check", "--config", settings, "--from", opentsdb],
            2,
            &["--config <FILE>", "--from <FILE>", "give one of them"],
        ),
        (
            &["serve", "--listen", "127.0.0.1:0", "--data-dir", cert],
            1,
            &["holds key.pem and no store", "missing or empty"],
        ),
        (&["import", "influx", neither, "--data-dir", cert], 1, &["holds key.pem and no store"]),
        (
            &["user", "token", "t", "--role", "admin", "--data-dir", cert],
            1,
            &["holds key.pem and no store"],
        ),
        (&["serve", "--tls-key", "x"], 2, &["tls.certificate and tls.key", "is missing"]),
        (&["serve", "--config", influx], 2, &["InfluxDB", "foliot import influx --from"]),
        (&["serve", "--config", opentsdb], 2, &["OpenTSDB", "`foliot config check --from FILE`"]),
        (&["cert", neither], 1, &["is a file: name a directory"]),
        (&["manuals", neither], 1, &["is a file: name a directory"]),
        (&["query", "SHOW", "DATABASES"], 2, &["unknown argument DATABASES", "quotes"]),
        (&["import", "influx", parquet, "--dry-run"], 2, &["`foliot import parquet FILE`"]),
        (&["serve", "--config", "no.toml"], 2, &["no.toml", "`foliot config init no.toml`"]),
        (&["serve", "--config", cert], 2, &["cannot read the settings in", "directory"]),
        (
            &["serve", "--set", "limits.series=3", "--set", "limits.series=4"],
            2,
            &["limits.series is given twice, by --set"],
        ),
        (
            &["serve", "--set", "limits.series=3", "--limits-series", "4"],
            2,
            &["limits.series is given twice, by --set and --limits-series"],
        ),
        (
            &["config", "check", "--set", "limits.query_seconds=0s"],
            2,
            &["limits.query_seconds is 0, which would refuse everything"],
        ),
        (&["serve", "--set", "=3"], 2, &["--set =3", "--set key=value"]),
        (&["serve", "--set"], 2, &["--set <KEY=VALUE> needs a value"]),
        (&["serve", "--log-format", "yaml"], 2, &["log.format", "neither text nor json"]),
        (
            &["serve", "--listen", "127.0.0.1:0", "--data-dir", "/proc/none"],
            1,
            &["/proc/none", "--data-dir"],
        ),
        (
            &["serve", "--listen", "192.0.2.7:0", "--insecure", "--data-dir", store],
            1,
            &["192.0.2.7:0", "no such address", "--listen"],
        ),
        (
            &["serve", "--tls-certificate", neither, "--tls-key", neither, "--data-dir", store],
            1,
            &["there are none", "`foliot cert DIR`"],
        ),
        (&["config"], 2, &["`foliot config` needs one of", "check", "`foliot help config`"]),
        (&["config", "init", neither], 1, &["is there already", "name another file"]),
        (&["inspect", "nosuch"], 1, &["there is no nosuch", "a data directory"]),
        (&["user", "add", "", "--role", "read"], 2, &["<NAME> cannot be empty", "help user add"]),
        (&["user", "drop", "ann"], 2, &["unknown command drop", "`foliot user revoke NAME`"]),
        (
            &["user", "password", "ann", "--data-dir", store],
            1,
            &["there is no user ann", "`foliot user list`"],
        ),
        (&["cert", cert, "--name", ""], 2, &["--name cannot be empty", "reach the server"]),
        (
            &["import", "influx", neither, "--from", "http://127.0.0.1:1"],
            2,
            &["[FILE]", "--from", "give one of them"],
        ),
        (
            &["import", "influx", "--from", "http://h:1", "--url", "http://h:1"],
            2,
            &["--from and --url both name http://h:1"],
        ),
        (
            &["export", "--format", "line", "--start", "2026-02-01", "--end", "2026-01-01"],
            2,
            &["--start is after --end"],
        ),
        (
            &["export", "--format", "line", "--data-dir", store, neither],
            1,
            &["cannot create", "name another file, or remove it"],
        ),
        (
            &["export", "--format", "line", "--data-dir", store, "/nowhere/x"],
            1,
            &["cannot create /nowhere/x", "make its directory first"],
        ),
        (
            &["export", "--format", "line", "--data-dir", store, "--db", "nosuch"],
            1,
            &["there is no database 'nosuch'"],
        ),
    ];
    for (words, code, expected) in cases {
        let output = foliot().args(*words).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(*code), "{words:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{words:?}: {said}");
        for word in *expected {
            assert!(said.contains(word), "{words:?}: {word} is not in {said}");
        }
    }
    // All that is wrong with a file is said at once.
    let wrong = dir.path().join("wrong.toml");
    std::fs::write(&wrong, "body_byte = 1\n[wal]\nack = \"fast\"\n").unwrap();
    let output = foliot().args(["config", "check", "--config"]).arg(&wrong).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("body_byte") && said.contains("wal.ack"), "{said}");
    // And with the environment and flags beside it.
    let mut check = foliot();
    check.args(["config", "check", "--set", "limits.serie=7", "--set", "head.bytes=x", "--config"]);
    check.arg(&wrong).env("FOLIOT_WALL_ACK", "os").env("FOLIOT_MERGE_PARTS", "-1");
    let output = check.args(["--log-level", "loud"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    for word in [
        "key body_byte;",
        "wal.ack (",
        "limits.serie;",
        "head.bytes (",
        "_WALL_",
        "merge.parts (",
        "loud",
    ] {
        assert_eq!(said.matches(word).count(), 1, "{word} in {said}");
    }
    // What has no effect is said, and nothing is refused for it.
    let idle = ["--mqtt-topics", "t", "--access", "--insecure"];
    let output = foliot().args(["config", "check"]).args(idle).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && said.ends_with("all settings are good\n"), "{said}");
    for key in ["mqtt.topics has no effect", "listen.insecure has no effect"] {
        assert!(said.contains(key), "{said}");
    }
    // What the peer has as it is here is not called off.
    let peer = dir.path().join("opentsdb.conf");
    std::fs::write(&peer, "tsd.core.auto_create_metrics = true\n").unwrap();
    let output = foliot().args(["config", "check", "--from"]).arg(&peer).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("tsd.core.auto_create_metrics: it is so here too"), "{said}");
}

#[test]
fn flags_of_others_are_called_by_our_names_whatever_the_program_is_called() {
    let dir = Scratch::new();
    let renamed = dir.path().join("tsdb-0.1");
    std::os::unix::fs::symlink(foliot().get_program(), &renamed).unwrap();
    for program in [foliot().get_program(), renamed.as_os_str()] {
        for (words, wanted) in [
            (
                &["serve", "--port", "99"][..],
                "unknown argument --port: here it is --listen HOST:PORT",
            ),
            (
                &["query", "--port", "99"],
                "unknown argument --port: here it is --url http://HOST:PORT",
            ),
            (&["serve", "--datadir", "d"], "unknown argument --datadir: here it is --data-dir DIR"),
            (&["serve", "-data-dir", "d"], "flags begin with two dashes, as in --data-dir"),
            (&["check", "d"], "a store is named by --data-dir d"),
            (&["stop"], "unknown command stop: a server ends by Ctrl-C"),
        ] {
            let output = std::process::Command::new(program).args(words).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
            assert!(said.contains(wanted), "{words:?}: {said}");
        }
    }
}

#[test]
fn a_user_that_is_there_is_not_made_again() {
    let dir = Scratch::new();
    let add = |name: &str, password: &str, role: &str| {
        let mut command = foliot();
        let data_dir = dir.path().to_str().unwrap();
        command.args(["user", "add", name, "--role", role, "--db", "d", "--data-dir", data_dir]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // Who needs no password does not read it.
        let _ = child.stdin.take().unwrap().write_all(password.as_bytes());
        child.wait_with_output().unwrap()
    };
    let short = add("ann", "p", "read");
    let said = String::from_utf8(short.stderr).unwrap();
    let expected = "at least 8 characters (access.password_length_min)";
    assert!(short.status.code() == Some(1) && said.contains(expected), "{said}");
    assert!(
        said.contains("there was no store in ") && said.contains("a new one was made"),
        "{said}"
    );
    let made = add("ann", "eightees", "read");
    assert!(made.status.success());
    assert_eq!(String::from_utf8(made.stderr).unwrap(), "", "the store is there by now");
    let again = add("ann", "eightees", "write");
    let said = String::from_utf8(again.stderr).unwrap();
    assert_eq!(again.status.code(), Some(1), "{said}");
    assert!(said.contains("ann is there already"), "{said}");
    assert!(said.contains("`foliot user password ann`"), "{said}");
}

#[test]
fn the_banner_says_who_may_ask() {
    let (dir, open) = (Scratch::new(), Scratch::new());
    let server = Server::start(dir.path(), &["--access"]);
    for command in ["Write:  curl -u NAME:PASSWORD -d", "Query:  curl -u NAME:PASSWORD -g"] {
        assert!(server.welcome.contains(command), "{}", server.welcome);
    }
    server.stop();
    let server = Server::start(open.path(), &["--set", "http.cors_domains=*"]);
    assert!(server.welcome.contains("http.cors_domains is *"), "{}", server.welcome);
    assert!(server.welcome.contains("Write:  curl -d"), "{}", server.welcome);
    server.stop();
}

#[test]
fn lines_that_are_refused_are_named_with_their_field() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    for (lines, expected) in [
        (
            "soil v=1 1\nsoil,bed=north ph=acid",
            "partial write: unable to parse 'soil,bed=north ph=acid': invalid boolean (line 2, \
             field ph: a text needs double quotes) dropped=0",
        ),
        ("m a=1,b=1x 1", "invalid number (line 1, field b)"),
        ("m a=1 x", "bad timestamp (line 1)"),
        ("soil v=1 2\n\nsoil v=\\\"dry\\\" 3", "(line 3"),
    ] {
        let refused = server.post("/write?db=d", lines);
        let said = refused.text();
        assert!(refused.status == 400 && said.contains(expected), "{lines}: {said}");
    }
    server.stop();
}

#[test]
fn a_store_that_lost_its_manifests_says_what_mends_it() {
    let dir = Scratch::new();
    let data = dir.path().join("data");
    let server = Server::start(&data, &[]);
    assert_eq!(server.post("/write?db=default", "m v=1 2000000000").status, 204);
    server.stop();
    for name in ["MANIFEST", "MANIFEST.copy"] {
        let mut bytes = std::fs::read(data.join(name)).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(data.join(name), bytes).unwrap();
    }
    let output = Server::command(&data, &[]).stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("MANIFEST") && said.contains("`foliot check --repair"), "{said}");
    // And it does.
    let mended =
        foliot().args(["check", "--repair", "--yes", "--data-dir"]).arg(&data).output().unwrap();
    assert!(mended.status.success(), "{}", String::from_utf8_lossy(&mended.stdout));
    let server = Server::start(&data, &[]);
    assert_eq!(server.samples("sum:m.v").len(), 1);
    server.stop();
}

#[test]
fn settings_that_are_cut_are_told_in_units_that_fit() {
    let dir = Scratch::new();
    let log = dir.path().join("log");
    let mut command = foliot();
    command.args(["serve", "--listen", "127.0.0.1:0", "--limits-memory-bytes", "40MiB"]);
    command.arg("--data-dir").arg(dir.path().join("data"));
    command.stdout(Stdio::piped()).stderr(std::fs::File::create(&log).unwrap());
    let server = Server::ready(command).unwrap();
    server.stop();
    let said = std::fs::read_to_string(log).unwrap();
    assert!(said.contains("head.bytes is cut to 512 KiB"), "{said}");
    assert!(!said.contains("cut to 0"), "{said}");
}

#[test]
fn who_asks_a_server_wrongly_is_told_what_is_right() {
    for (words, code, expected) in [
        (
            &["query", "--format", "xml", "q"][..],
            2,
            &["--format", "table, csv, json, markdown"][..],
        ),
        (&["query", "--start", "1h-ago", "SHOW DATABASES"], 2, &["begin with m=", "WHERE time >="]),
        (&["query", "m=x", "--start", ""], 2, &["--start", "there is none", "1h-ago"]),
        (&["query", "m=x", "--end", "noon"], 2, &["--end", "2026/01/31-12:00:00"]),
        (&["query", "--user", "u", "q"], 2, &["--user u", "NAME:PASSWORD"]),
        (&["query", "--user", "u:p", "--token", "t", "q"], 2, &["--user"]),
        (&["query", "--token", "a\nb", "q"], 2, &["a token is one word"]),
        (&["query", "--url", "ftp://h:1", "q"], 2, &["only http and https", "http://HOST:PORT"]),
        (&["query", "--url", "https://127.0.0.1:1", "--ca", "/none", "q"], 1, &["/none"]),
        (&["query", "--url", "http://h", "q"], 2, &["the port is missing", "http://HOST:PORT"]),
        (&["query", "--urll", "h:1", "q"], 2, &["did you mean --url?"]),
        (&["query", "--url", "127.0.0.1:1", "q"], 1, &["cannot connect to 127.0.0.1:1", "--url"]),
        (&["top", "--url", "127.0.0.1:1"], 1, &["cannot connect to 127.0.0.1:1", "--url"]),
        (&["top", "--interval", "0"], 2, &["--interval", "1..=3600"]),
        (&["top", "q"], 2, &["unknown argument q", "`foliot help top`"]),
    ] {
        let output = foliot().args(words).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{words:?}: {said}");
        for word in expected {
            assert!(said.contains(word), "{words:?}: {word} is not in {said}");
        }
    }
}

#[test]
fn help_shows_the_flags_that_a_command_obeys() {
    for command in ["export", "import influx", "retention", "check", "backup", "user add"] {
        let words: Vec<&str> = command.split(' ').collect();
        let output = foliot().arg("help").args(&words).output().unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        assert!(help.contains("--data-dir") && help.contains("--config"), "{command}: {help}");
        for flag in ["--listen", "--mqtt-broker", "--log-level", "--limits-queries", "--http-hosts"]
        {
            assert!(!help.contains(flag), "{command} shows {flag}");
        }
        let output = foliot().args(&words).args(["--listen", "127.0.0.1:0"]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{command}: {said}");
    }
}

#[test]
fn help_tells_each_default_and_an_example() {
    let said = |words: &[&str]| {
        let output = foliot().args(words).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let help = said(&["help", "serve"]);
    let settings = said(&["config", "show"]);
    let mut short = 0;
    for line in settings.lines().filter(|line| line.ends_with("# default")) {
        let (key, value) = line.split_once(" = ").unwrap();
        let value = value.trim_end_matches("# default").trim();
        if (1..=60).contains(&value.len()) {
            assert!(help.contains(&format!("[default: {value}]")), "{key}: {value}");
            short += 1;
        }
    }
    assert!(short > 50, "{settings}");
    for command in ["serve", "backup", "restore", "check", "retention", "inspect", "cert"] {
        assert!(said(&["help", command]).contains("Example"), "{command}");
    }
}

#[test]
fn a_store_without_its_manifest_is_told_from_none() {
    let dir = Scratch::new();
    let data = dir.path().join("data");
    let server = Server::start(&data, &[]);
    assert_eq!(server.post("/write?db=default", "m v=1").status, 204);
    server.stop();
    for name in ["MANIFEST", "MANIFEST.copy"] {
        std::fs::remove_file(data.join(name)).unwrap();
    }
    let data = data.to_str().unwrap();
    for command in ["check", "serve", "retention"] {
        // Another server may have the usual port.
        let mut words = foliot();
        words.args([command, "--data-dir", data]).env("FOLIOT_LISTEN_ADDRESS", "127.0.0.1:0");
        let said = String::from_utf8(words.output().unwrap().stderr).unwrap();
        assert!(said.contains("foliot check --repair"), "{command}: {said}");
    }
    let mended =
        foliot().args(["check", "--repair", "--yes", "--data-dir", data]).output().unwrap();
    assert!(mended.status.success(), "{mended:?}");
}

#[test]
fn questions_at_the_command_line_say_what_may_be_wrong() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let plain = format!("http://{}", server.address);
    let secret = format!("https://{}", server.address);
    for (url, statement, code, words) in [
        (&plain, "SELECT t FROM nowhere", 0, "nothing was found"),
        (&plain, "SHOW MEASUREMENTS", 0, "nothing was found"),
        (&plain, "CREATE DATABASE other", 0, ""),
        (&plain, "up{job=\"x\"}", 1, "PromQL is asked at"),
        (&plain, "m=summ:up", 1, "function: summ. /api/aggregators lists all of them"),
        (&secret, "SHOW DATABASES", 1, "does it speak TLS? Otherwise write http://"),
    ] {
        let output = foliot().args(["query", "--url", url, statement]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{statement}: {said}");
        assert!(said.contains(words) && said.is_empty() == words.is_empty(), "{statement}: {said}");
    }
    // What a server has open is exported otherwise.
    let export =
        foliot().args(["export", "--format", "line", "--data-dir"]).arg(dir.path()).output();
    let said = String::from_utf8(export.unwrap().stderr).unwrap();
    assert!(said.contains("in use by another Foliot process"), "{said}");
    assert!(said.contains("`foliot backup DIR`") && !said.contains("--url"), "{said}");
    server.stop();
}

/// Whatever the language: what is told of a text of half a megabyte is a kilobyte of it.
#[test]
fn errors_repeat_an_excerpt_of_a_long_question() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    assert_eq!(server.post("/write?db=default", "m,h=a v=1 1000").status, 204);
    let long = "a".repeat(500_000);
    let digits = "7".repeat(500_000);
    let (form, json) = ("application/x-www-form-urlencoded", "application/json");
    let refused = Cell::new(0);
    let ask = |path: &str, kind: &str, body: &str| {
        let answer = server.request("POST", path, &[("Content-Type", kind)], body.as_bytes());
        let text = answer.text();
        let told =
            format!("{path} {body:.60}: {} {} bytes, {text:.300}", answer.status, text.len());
        refused.set(refused.get() + usize::from(text.contains("rror")));
        assert!(text.len() < 4096, "{told}");
        assert!(answer.header("x-influxdb-error").len() <= 1024, "{told}");
    };
    let influxql = [
        format!("{long} x"),
        format!("SELECT v FROM m WHERE {long} {long}"),
        format!("SELECT {long}(v) FROM m"),
        format!("SELECT v FROM m WHERE v = '{long}' AND mean(v) > 1"),
        format!("SELECT mean(v) + '{long}' FROM m"),
        format!("SELECT v FROM m WHERE v =~ /({long}/"),
        format!("SELECT v FROM {long}..m"),
        format!("SELECT v FROM m; DROP RETENTION POLICY {long} ON {long}; SELECT v, FROM {long}"),
        format!("CREATE DATABASE \"{long}\""),
        format!("SELECT v FROM m TZ('{long}')"),
        format!("SELECT v FROM m WHERE time > '{long}'"),
    ];
    for text in &influxql {
        let escaped = text.replace('+', "%2b").replace(';', "%3b");
        for more in ["", "&pretty=true", "&chunked=true"] {
            ask("/query?db=default", form, &format!("q={escaped}{more}"));
        }
    }
    let promql = [
        format!("{long}("),
        format!("{long}(m)"),
        format!("rate({long})"),
        format!("m{{h=~\"({long}\"}}"),
        format!("m{{{long}}}"),
        format!("m[{digits}]"),
        format!("m @ {long}"),
        format!("\"{long}\" + m"),
        format!("sum by ({long}) {long} m"),
        format!("label_replace(m, \"{long}-\", \"\", \"h\", \"\")"),
        format!("count_values(\"{long}-\", m)"),
    ];
    let spelt = |text: &str| text.replace('%', "%25").replace('+', "%2b").replace('&', "%26");
    for text in &promql {
        for path in ["/api/v1/query", "/victoriametrics/api/v1/query"] {
            ask(path, form, &format!("query={}", spelt(text)));
        }
        ask("/api/v1/series", form, &format!("match[]={}", spelt(&format!("{text} x"))));
    }
    ask("/api/v1/query", form, &format!("query=m&time={long}"));
    ask("/api/v1/query_range", form, &format!("query=m&start=1&end=2&step={long}"));
    let opentsdb = |member: &str| {
        format!(
            "{{\"start\":\"1h-ago\",\"queries\":[{{\"aggregator\":\"sum\",\"metric\":\"m\"{member}}}]}}"
        )
    };
    for body in [
        format!(
            "{{\"start\":\"{long}\",\"queries\":[{{\"aggregator\":\"sum\",\"metric\":\"m\"}}]}}"
        ),
        opentsdb(&format!(",\"downsample\":\"{long}-avg\"")),
        opentsdb(&format!(",\"aggregator\":\"{long}\"")),
        opentsdb(&format!(",\"{long}\":1")),
        opentsdb(&format!(",\"tags\":{{\"{long}\":\"a\"}}")),
        opentsdb(&format!(
            ",\"filters\":[{{\"type\":\"{long}\",\"tagk\":\"h\",\"filter\":\"x\"}}]"
        )),
        opentsdb(&format!(
            ",\"filters\":[{{\"type\":\"regexp\",\"tagk\":\"h\",\"filter\":\"({long}\"}}]"
        )),
        opentsdb("").replace("\"m\"", &format!("\"{long}\"")),
        opentsdb(&format!(",\"tsuids\":[\"{long}\"]")),
        format!("{long}{{"),
        format!("{{\"{long}\":1,"),
    ] {
        ask("/api/query", json, &body);
    }
    ask("/api/query/exp", json, &format!("{{\"time\":{{\"start\":\"{long}\"}}}}"));
    ask("/api/suggest", json, &format!("{{\"type\":\"{long}\"}}"));
    // A few of them are questions, if odd ones.
    assert!(refused.get() > 75, "{}", refused.get());
    for (language, texts) in [
        ("influxql", &influxql[..]),
        ("promql", &promql),
        ("metricsql", &promql),
        ("opentsdb", &promql),
    ] {
        for text in texts {
            let mut asked = serde_json::json!({"language": language, "text": text,
                "start_ms": 0, "end_ms": 60_000, "step_ms": 1000});
            ask("/api/foliot/v1/query", json, &asked.to_string());
            asked["check"] = true.into();
            let checked =
                server.request("POST", "/api/foliot/v1/query", &[], asked.to_string().as_bytes());
            let mut told: serde_json::Value = serde_json::from_str(&checked.text()).unwrap();
            // The text itself, in lines, is no error.
            told.as_object_mut().unwrap().remove("formatted");
            let told = told.to_string();
            assert!(told.len() < 4096, "{text:.60}: {told:.300}");
        }
    }
    server.stop();
}
