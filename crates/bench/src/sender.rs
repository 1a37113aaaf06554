//! Senders: the socket that one connection of a load writes through, whatever the door. A sender
//! packs, sends and waits for what the door gives as an acknowledgement; it measures nothing.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::http::{self, Client};
use crate::load::{Load, STACK_BYTES};
use crate::postgres::Session;
use crate::target::{Coding, Way};

/// Seconds of silence after which a stream that was sent to its end counts as taken.
const SILENCE_S_MAX: u64 = 60;

/// Longest wait for one of Druid's tasks.
const TASK_MAX: Duration = Duration::from_secs(600);

/// The socket of one connection.
pub(crate) enum Sender {
    Post(Post),
    Stream(Stream),
    /// Opened with the first script, and again after an error.
    Script(String, Option<Box<Session>>),
    Tasks(Client),
}

/// Requests to one path.
pub(crate) struct Post {
    client: Client,
    path: &'static str,
    headers: String,
    coding: Coding,
    /// What a good reply must hold, besides its status.
    must_say: &'static str,
}

/// A plain stream; a thread of its own counts what the server writes back.
pub(crate) struct Stream {
    address: String,
    open: Option<(TcpStream, thread::JoinHandle<u64>)>,
    /// Set once nothing more will be sent.
    closing: Arc<AtomicBool>,
    /// Whether the server closes its side when ours is closed.
    is_polite: bool,
    /// Lines written back on streams that are closed.
    lines: u64,
}

impl Sender {
    pub(crate) fn new(load: &Load<'_>) -> Sender {
        let address = load.address.clone();
        match load.target.door().way {
            Way::Post(path, coding) => Sender::Post(Post::new(load, path, coding)),
            Way::Stream => {
                let closing = Arc::new(AtomicBool::new(false));
                let is_polite = load.target.closes_streams();
                Sender::Stream(Stream { address, open: None, closing, is_polite, lines: 0 })
            }
            Way::Script => Sender::Script(address, None),
            Way::Tasks => Sender::Tasks(Client::new(&address)),
        }
    }

    /// Opens the connection, which would else happen with the first body.
    pub(crate) fn open(&mut self) -> io::Result<()> {
        match self {
            Sender::Post(post) => post.client.open(),
            Sender::Stream(stream) => stream.open().map(drop),
            Sender::Script(address, session) => {
                *session = Some(Box::new(Session::open(address)?));
                Ok(())
            }
            Sender::Tasks(client) => client.open(),
        }
    }

    /// Packs a body as the door wants it.
    pub(crate) fn pack(&self, body: &mut Vec<u8>) -> io::Result<()> {
        let Sender::Post(post) = self else { return Ok(()) };
        match post.coding {
            Coding::Plain => {}
            Coding::Gzip => {
                let level = flate2::Compression::fast();
                let mut packed = flate2::write::GzEncoder::new(Vec::new(), level);
                packed.write_all(body)?;
                *body = packed.finish()?;
            }
            Coding::Snappy => {
                let packed = snap::raw::Encoder::new().compress_vec(body);
                *body = packed.map_err(io::Error::other)?;
            }
        }
        Ok(())
    }

    /// Sends a body and waits for its acknowledgement, where the door gives one.
    pub(crate) fn send(&mut self, body: &[u8]) -> Result<(), String> {
        match self {
            Sender::Post(post) => post.send(body),
            Sender::Stream(stream) => stream.send(body).map_err(|error| {
                stream.close();
                error.to_string()
            }),
            Sender::Script(address, session) => {
                let open = match session.take() {
                    Some(open) => Ok(open),
                    None => Session::open(address).map(Box::new),
                };
                let ran = open.and_then(|mut open| {
                    open.script(body)?;
                    *session = Some(open);
                    Ok(())
                });
                ran.map_err(|error| error.to_string())
            }
            Sender::Tasks(client) => {
                let mut tasks = body.split(|byte| *byte == b'\n').filter(|task| !task.is_empty());
                tasks.try_for_each(|task| run_task(client, task))
            }
        }
    }

    /// Closes the connection once the server has taken everything; returns the lines that it
    /// wrote back, which on these streams are complaints.
    pub(crate) fn finish(self) -> io::Result<u64> {
        let Sender::Stream(mut stream) = self else { return Ok(0) };
        if let Some((open, _)) = &stream.open {
            let how = if stream.is_polite { Shutdown::Write } else { Shutdown::Both };
            open.shutdown(how)?;
        }
        stream.close();
        Ok(stream.lines)
    }
}

impl Post {
    fn new(load: &Load<'_>, path: &'static str, coding: Coding) -> Post {
        let coding = if load.gzip { Coding::Gzip } else { coding };
        let mut headers = match load.target.door().format.is_json() {
            true => "Content-Type: application/json\r\n".to_owned(),
            false => "Content-Type: text/plain; charset=utf-8\r\n".to_owned(),
        };
        match coding {
            Coding::Plain => {}
            Coding::Gzip => headers.push_str("Content-Encoding: gzip\r\n"),
            Coding::Snappy => {
                headers = "Content-Type: application/x-protobuf\r\nContent-Encoding: snappy\r\n\
                           X-Prometheus-Remote-Write-Version: 0.1.0\r\n"
                    .to_owned();
            }
        }
        if let Some(ack) = load.ack.as_ref().filter(|_| load.target.takes_ack()) {
            headers.push_str(&format!("X-Foliot-Ack: {ack}\r\n"));
        }
        let must_say = load.target.good_reply();
        Post { client: Client::new(&load.address), path, headers, coding, must_say }
    }

    fn send(&mut self, body: &[u8]) -> Result<(), String> {
        let reply = self.client.send("POST", self.path, &self.headers, body);
        let reply = reply.map_err(|error| error.to_string())?;
        let says = || String::from_utf8_lossy(&reply.body).contains(self.must_say);
        if reply.is_success() && says() { Ok(()) } else { Err(reply.summary()) }
    }
}

/// Hands a task to Druid and waits for its end: only then are its rows there.
fn run_task(client: &mut Client, task: &[u8]) -> Result<(), String> {
    let json = "Content-Type: application/json\r\n";
    let reply = client.send("POST", "/druid/indexer/v1/task", json, task);
    let reply = reply.map_err(|error| error.to_string())?;
    let answer: serde_json::Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let id = answer.get("task").and_then(|id| id.as_str()).ok_or_else(|| reply.summary())?;
    let path = format!("/druid/indexer/v1/task/{}/status", http::escape(id));
    let begin = Instant::now();
    while begin.elapsed() < TASK_MAX {
        let reply = client.get(&path).map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&reply.body);
        if text.contains("\"SUCCESS\"") {
            return Ok(());
        }
        if text.contains("\"FAILED\"") {
            return Err(why_failed(&reply.body).unwrap_or_else(|| reply.summary()));
        }
        thread::sleep(Duration::from_millis(100));
    }
    Err("a task did not end within ten minutes".to_owned())
}

/// The first line of what Druid says of a task that failed; the rest is a stack of Java's.
fn why_failed(reply: &[u8]) -> Option<String> {
    let reply: serde_json::Value = serde_json::from_slice(reply).ok()?;
    let why = reply.get("status")?.get("errorMsg")?.as_str()?;
    Some(why.lines().next().unwrap_or_default().to_owned())
}

impl Stream {
    fn open(&mut self) -> io::Result<&mut TcpStream> {
        let (stream, _) = match &mut self.open {
            Some(open) => open,
            none => {
                let stream = http::connect(&self.address)?;
                let back = stream.try_clone()?;
                back.set_read_timeout(Some(Duration::from_secs(1)))?;
                let closing = Arc::clone(&self.closing);
                let reader = thread::Builder::new().stack_size(STACK_BYTES);
                none.insert((stream, reader.spawn(move || count_lines(back, &closing))?))
            }
        };
        Ok(stream)
    }

    fn send(&mut self, body: &[u8]) -> io::Result<()> {
        self.open()?.write_all(body)
    }

    fn close(&mut self) {
        self.closing.store(true, Ordering::Relaxed);
        if let Some((_stream, reader)) = self.open.take() {
            self.lines += reader.join().unwrap_or(0);
        }
        self.closing.store(false, Ordering::Relaxed);
    }
}

/// Counts lines until the other side closes, or stays silent for long after the last was sent.
fn count_lines(mut stream: TcpStream, closing: &AtomicBool) -> u64 {
    let mut buffer = [0u8; 16 << 10];
    let (mut lines, mut silent_s) = (0, 0);
    while silent_s < SILENCE_S_MAX {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(got) => {
                silent_s = 0;
                lines += buffer.iter().take(got).filter(|byte| **byte == b'\n').count() as u64;
            }
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                    silent_s += u64::from(closing.load(Ordering::Relaxed));
                }
                io::ErrorKind::Interrupted => {}
                _ => break,
            },
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_failed_says_why_without_its_stack() {
        let reply = br#"{"task":"index_parallel_cpu_a","status":{"status":"FAILED","errorMsg":
            "ISE: Failed to get locks for intervals\n\tat org.apache.druid.indexing"}}"#;
        let why = why_failed(reply).unwrap();
        assert_eq!(why, "ISE: Failed to get locks for intervals");
        assert_eq!(why_failed(b"{}"), None);
    }
}
