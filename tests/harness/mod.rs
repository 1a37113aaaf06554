//! Starts the real binary and speaks to it over sockets.
//!
//! Each test target uses its own part of this, so what one leaves unused is no dead code. What it
//! prints is for whoever reads the output of a failing test.
#![allow(clippy::print_stderr, clippy::print_stdout, dead_code, reason = "see above")]

pub(crate) mod api;
pub(crate) mod broker;
pub(crate) mod command;
pub(crate) mod influx;
pub(crate) mod remote;
pub(crate) mod target;
pub(crate) mod terminal;

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// How long anything may take before a test says that it hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// How long a program of tests may go on without beginning another one. `TORTURE` times as much is
/// played in as much more time.
fn longest() -> Duration {
    let times = std::env::var("TORTURE").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    Duration::from_secs(15 * 60) * times
}

/// A test begins. Ends a program whose tests hang, so that whoever runs them reads which: the test
/// runner has named each one that takes over a minute.
fn end_when_hung() {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    static NEWEST_S: AtomicU64 = AtomicU64::new(0);
    let mut is_first = false;
    let began = BEGAN.get_or_init(|| {
        is_first = true;
        Instant::now()
    });
    NEWEST_S.store(began.elapsed().as_secs(), Ordering::Relaxed);
    if !is_first {
        return;
    }
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let quiet_s = began.elapsed().as_secs() - NEWEST_S.load(Ordering::Relaxed);
            if quiet_s > longest().as_secs() {
                eprintln!("a test hangs: nothing here takes {:?}", longest());
                std::process::exit(101);
            }
        }
    });
}

/// Something is over when this goes: also when a test fails within it, whose scope would otherwise
/// wait for ever for the threads that look here.
pub(crate) struct Over<'a>(pub(crate) &'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A directory of its own, removed at the end.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        end_when_hung();
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("store-{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What a failing test leaves behind is evidence.
        if std::thread::panicking() {
            println!("the store is kept in {}", self.0.display());
            return;
        }
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The binary under test, with no settings from this process's environment. `TESTED_BINARY` names
/// another one, such as a build that is to run for hours.
pub(crate) fn foliot() -> Command {
    let other = std::env::var_os("TESTED_BINARY");
    let mut command = Command::new(other.unwrap_or_else(|| env!("CARGO_BIN_EXE_foliot").into()));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("FOLIOT_") {
            command.env_remove(name);
        }
    }
    command
}

/// A running server.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    /// What it said when it had started.
    pub(crate) welcome: String,
}

impl Server {
    /// Starts a server on a port of the system's choice and waits until it is ready.
    pub(crate) fn start(dir: &Path, flags: &[&str]) -> Self {
        Self::ready(Self::command(dir, flags)).expect("the server ended before it was ready")
    }

    /// Starts a server without waiting for it.
    pub(crate) fn spawn(dir: &Path, flags: &[&str]) -> Child {
        Self::command(dir, flags).spawn().unwrap()
    }

    /// The command that starts a server on a port of the system's choice.
    pub(crate) fn command(dir: &Path, flags: &[&str]) -> Command {
        let mut command = foliot();
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--log-level", "error", "--data-dir"])
            .arg(dir)
            .args(flags)
            .stdout(Stdio::piped());
        command
    }

    /// Starts a server by its command and waits until it is ready; none when it ended before.
    pub(crate) fn ready(command: Command) -> Option<Self> {
        Self::try_ready(command).ok()
    }

    /// The same, with the process that ended.
    pub(crate) fn try_ready(mut command: Command) -> Result<Self, Child> {
        let mut child = command.spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut welcome = String::new();
        while !welcome.contains("Query:") {
            if out.read_line(&mut welcome).unwrap() == 0 {
                println!("the server ended before it was ready: {:?}", child.wait());
                return Err(child);
            }
        }
        let address = welcome.lines().find_map(|line| line.trim().strip_prefix("listening"));
        let address = address.unwrap().split_whitespace().next().unwrap().parse().unwrap();
        Ok(Self { child, address, welcome })
    }

    /// Whether the process has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id() as i32).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Waits for the process to end.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(began.elapsed() < PATIENCE, "the server does not end");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Ends it as a service manager would, and expects success.
    pub(crate) fn stop(mut self) {
        self.signal(Signal::TERM);
        let status = self.wait();
        assert!(status.success(), "{status}");
    }

    /// Ends it as a power switch would, as far as one process can.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// What the system says of its process, by name.
    pub(crate) fn status(&self, name: &str) -> String {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap_or_else(|| panic!("{name} is not in\n{text}")).trim().to_owned()
    }

    /// Memory it holds, in bytes.
    pub(crate) fn resident_bytes(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/statm", self.child.id())).unwrap();
        text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
    }

    /// The most memory that the process had.
    pub(crate) fn peak_bytes(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }

    /// A new connection.
    pub(crate) fn connect(&self) -> TcpStream {
        let socket = TcpStream::connect(self.address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.set_write_timeout(Some(PATIENCE)).unwrap();
        socket.set_nodelay(true).unwrap();
        socket
    }

    /// A request on a connection of its own.
    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Response {
        let mut socket = self.connect();
        socket.write_all(&request(method, path, headers, body)).unwrap();
        read_response_to(method, &mut BufReader::new(socket)).expect("no answer")
    }

    pub(crate) fn get(&self, path: &str) -> Response {
        self.request("GET", path, &[], b"")
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Response {
        self.request("POST", path, &[], body.as_bytes())
    }

    /// Sends bytes and returns everything that comes back until the server ends the connection.
    pub(crate) fn ask(&self, bytes: &[u8]) -> String {
        let mut socket = self.connect();
        socket.write_all(bytes).unwrap();
        let mut out = Vec::new();
        socket.read_to_end(&mut out).unwrap();
        String::from_utf8_lossy(&out).into_owned()
    }

    /// Sends bytes, ends the sending side, and returns everything that comes back.
    pub(crate) fn talk(&self, bytes: &[u8]) -> String {
        let mut socket = self.connect();
        socket.write_all(bytes).unwrap();
        socket.shutdown(std::net::Shutdown::Write).unwrap();
        let mut out = Vec::new();
        socket.read_to_end(&mut out).unwrap();
        String::from_utf8_lossy(&out).into_owned()
    }

    /// A GET for which the server may have gone away.
    pub(crate) fn try_get(&self, path: &str) -> Option<Response> {
        self.try_request(&request("GET", path, &[], b""))
    }

    /// A POST for which the server may have gone away.
    pub(crate) fn try_post(&self, path: &str, body: &str) -> Option<Response> {
        self.try_request(&request("POST", path, &[], body.as_bytes()))
    }

    fn try_request(&self, bytes: &[u8]) -> Option<Response> {
        let mut socket = TcpStream::connect(self.address).ok()?;
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.write_all(bytes).ok()?;
        read_response(&mut BufReader::new(socket))
    }

    /// A figure of `/metrics`, by its full name with labels.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics").text();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} is not in\n{text}")).parse().unwrap()
    }

    /// Waits until a figure reaches `at_least`.
    pub(crate) fn wait_for_metric(&self, name: &str, at_least: f64) {
        let began = Instant::now();
        while self.metric(name) < at_least {
            assert!(began.elapsed() < PATIENCE, "{name} stays at {}", self.metric(name));
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The samples of the only series that a question has: pairs of milliseconds and text of value.
    pub(crate) fn samples(&self, question: &str) -> Vec<(i64, String)> {
        let path = format!("/api/query?start=1&ms&arrays&m={question}");
        let response = self.get(&path);
        let json: serde_json::Value = serde_json::from_str(&response.text()).unwrap();
        let list = json.as_array().unwrap_or_else(|| panic!("{question}: {json}"));
        assert_eq!(list.len(), 1, "{question}: {json}");
        let pair = |pair: &serde_json::Value| (pair[0].as_i64().unwrap(), pair[1].to_string());
        list[0]["dps"].as_array().unwrap().iter().map(pair).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The bytes of a request.
pub(crate) fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let has_host = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host"));
    let host = if has_host { "" } else { "Host: localhost\r\n" };
    let mut out = format!("{method} {path} HTTP/1.1\r\n{host}").into_bytes();
    for (name, value) in headers {
        out.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    let is_chunked = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("transfer-encoding"));
    let has_length = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    if !is_chunked && !has_length && (method != "GET" || !body.is_empty()) {
        out.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(body);
    out
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// Reads one answer; nothing when the connection ended first or in the middle.
pub(crate) fn read_response(from: &mut impl BufRead) -> Option<Response> {
    read_response_to("GET", from)
}

/// Reads the answer to a request with the given method.
pub(crate) fn read_response_to(method: &str, from: &mut impl BufRead) -> Option<Response> {
    let mut line = String::new();
    from.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let status = line.split(' ').nth(1)?.parse().ok()?;
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        from.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let mut body = Vec::new();
    let length = headers.get("content-length").and_then(|text| text.parse::<usize>().ok());
    if method == "HEAD" {
        return Some(Response { status, headers, body });
    }
    if let Some(length) = length {
        body.resize(length, 0);
        from.read_exact(&mut body).ok()?;
    } else if headers.contains_key("transfer-encoding") {
        loop {
            let mut line = String::new();
            from.read_line(&mut line).ok().filter(|read| *read > 0)?;
            let size = usize::from_str_radix(line.trim(), 16).ok()?;
            let mut chunk = vec![0; size + 2];
            from.read_exact(&mut chunk).ok()?;
            body.extend_from_slice(&chunk[..size]);
            if size == 0 {
                break;
            }
        }
    }
    Some(Response { status, headers, body })
}
