//! Secrets of every kind are used in every way there is; then everything that the process wrote,
//! said and keeps is searched for them.

use crate::harness::{Scratch, Server, foliot};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

/// Passwords that are right, and ones that are not.
const OF_ROOT: &str = "secret-of-root-1";
const OF_MADE: &str = "secret-of-made-2";
const CHANGED: &str = "secret-of-made-3";
const WRONG: &str = "secret-that-is-wrong-4";
const OF_BROKER: &str = "secret-of-broker-5";

fn user(dir: &Path, words: &[&str], input: &str) -> String {
    let mut command = foliot();
    command.args(["user"]).args(words).arg("--data-dir").arg(dir);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success());
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// All files below, with what they hold.
fn files(dir: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push((path.clone(), std::fs::read(&path).unwrap())),
        }
    }
    found
}

/// RFC 4648, 4.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place)) as usize & 63];
            out.push(if place <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

fn percent(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn no_secret_is_written_said_or_kept() {
    let dir = Scratch::new();
    let (store, log) = (dir.path().join("store"), dir.path().join("log"));
    user(&store, &["add", "root", "--role", "admin"], &format!("{OF_ROOT}\n"));
    let token = user(&store, &["token", "t", "--role", "admin"], "");
    let made = foliot().arg("cert").arg(store.join("tls")).output().unwrap();
    assert!(made.status.success());
    let key = std::fs::read_to_string(store.join("tls/key.pem")).unwrap();
    let key = key.lines().nth(1).unwrap().to_owned();
    let flags = [
        "--access",
        "--listen-ticktock",
        "127.0.0.1:0",
        "--listen-udp",
        "--mqtt-broker",
        "127.0.0.1:1",
        "--mqtt-topics",
        "t",
        "--mqtt-user",
        "u",
        "--tls-certificate",
        store.join("tls/cert.pem").to_str().unwrap(),
        "--tls-key",
        store.join("tls/key.pem").to_str().unwrap(),
    ]
    .map(str::to_owned);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut command = foliot();
    command.args(["serve", "--listen", "127.0.0.1:0", "--log-level", "trace", "--data-dir"]);
    command.arg(&store).args(&flags).stdout(Stdio::piped());
    command.env("FOLIOT_MQTT_PASSWORD", OF_BROKER);
    command.stderr(std::fs::File::create(&log).unwrap());
    let server = Server::ready(command).expect("it starts");
    let mut said = vec![("welcome".to_owned(), server.welcome.clone())];
    let basic = |name: &str, password: &str| {
        format!("Basic {}", base64(format!("{name}:{password}").as_bytes()))
    };
    let root = basic("root", OF_ROOT);
    let mut ask = |who: &str, method: &str, path: &str, body: &str| {
        let answer = server.request(method, path, &[("Authorization", who)], body.as_bytes());
        said.push((format!("{method} {path}"), format!("{:?} {}", answer.headers, answer.text())));
        answer.status
    };
    let statement = |text: &str| format!("/query?db=d&q={}", percent(text));
    // Statements with passwords, whole and wrong.
    for text in [
        format!("CREATE USER made WITH PASSWORD '{OF_MADE}' WITH ALL PRIVILEGES"),
        format!("SET PASSWORD FOR made = '{CHANGED}'"),
        format!("CREATE USER other WITH PASSWORD '{WRONG}' WITH NONSENSE"),
        format!("SET PASSWORD FOR nobody = '{WRONG}'"),
        format!("CREATE USER made WITH PASSWORD '{WRONG}'"),
        format!("SELECT * FROM m; SET PASSWORD FOR made = '{CHANGED}'"),
        format!("EXPLAIN CREATE USER x WITH PASSWORD '{WRONG}'"),
    ] {
        ask(&root, "POST", &statement(&text), "");
        // GET tells of its wrong use by the statement's own words.
        ask(&root, "GET", &statement(&text), "");
    }
    // Every manner of showing who one is, rightly and wrongly.
    let bad_token = format!("foliot_{WRONG}");
    for who in [
        basic("made", CHANGED),
        basic("made", WRONG),
        basic("root", &token),
        format!("Bearer {token}"),
        format!("Token {token}"),
        format!("Token made:{CHANGED}"),
        format!("Bearer {bad_token}"),
        format!("Token {bad_token}"),
        format!("Basic {WRONG}"),
        WRONG.to_owned(),
    ] {
        ask(&who, "GET", "/query?q=SHOW%20DATABASES", "");
        ask(&who, "POST", "/write?db=default", "m v=1");
        ask(&who, "GET", "/api/query?start=0&m=sum:m.v", "");
        ask(&who, "GET", "/nothing", "");
    }
    for (name, password) in [("made", CHANGED), ("made", WRONG)] {
        let path = format!("/query?u={name}&p={password}&q=SHOW%20DATABASES");
        ask("", "GET", &path, "");
        ask("", "POST", &format!("/write?db=default&u={name}&p={password}"), "m v=1");
    }
    for login in [format!("root {OF_ROOT}"), format!("root {WRONG}"), token.clone(), bad_token] {
        said.push((
            "telnet".to_owned(),
            server.talk(format!("auth {login}\nversion\nexit\n").as_bytes()),
        ));
    }
    // Everything that shows what the server knows.
    for path in [
        "/metrics",
        "/api/config",
        "/logs",
        "/api/stats",
        "/api/stats/query",
        "/stats",
        "/api/foliot/v1/status",
        "/api/foliot/v1/queries",
        "/api/foliot/v1/queries/costs",
        "/api/foliot/v1/audit",
        "/api/foliot/v1/settings",
        "/api/foliot/v1/logs",
        "/api/v2/authorizations",
        "/query?q=SHOW%20USERS",
        "/query?q=SHOW%20QUERIES",
        "/query?q=SHOW%20DIAGNOSTICS",
        "/query?q=SHOW%20STATS",
        "/query?q=SHOW%20GRANTS%20FOR%20made",
    ] {
        let answer = server.request("GET", path, &[("Authorization", &root)], b"");
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        said.push((path.to_owned(), answer.text()));
    }
    server.stop();
    let hash_free = [OF_ROOT, OF_MADE, CHANGED, WRONG, OF_BROKER, &token];
    let encoded: Vec<String> = ["root", "made"]
        .into_iter()
        .flat_map(|name| [OF_ROOT, CHANGED, WRONG].map(|word| basic(name, word)))
        .collect();
    let holds = |bytes: &[u8], secret: &str| {
        bytes.windows(secret.len()).any(|window| window == secret.as_bytes())
    };
    let secrets = || hash_free.iter().copied().chain(encoded.iter().map(|text| &text[6..]));
    for (what, text) in &said {
        for secret in secrets().chain([key.as_str()]) {
            assert!(!holds(text.as_bytes(), secret), "{what} tells {secret}: {text}");
        }
    }
    let logged = std::fs::read(&log).unwrap();
    assert!(!logged.is_empty(), "the log is looked at");
    for secret in secrets().chain([key.as_str()]) {
        let text = String::from_utf8_lossy(&logged);
        let line = text.lines().find(|line| line.contains(secret));
        assert!(line.is_none(), "the log tells {secret}: {line:?}");
    }
    for (path, bytes) in files(&store) {
        let mode = path.metadata().unwrap().permissions().mode() & 0o777;
        let is_certificate = path.ends_with("tls/cert.pem");
        assert!(mode == 0o600 || is_certificate, "{path:?} has mode {mode:o}");
        for secret in secrets() {
            assert!(!holds(&bytes, secret), "{path:?} holds {secret}");
        }
    }
}
