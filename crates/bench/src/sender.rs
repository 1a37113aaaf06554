//! Senders: the socket that one connection of a load writes through, whatever the door. A sender
//! packs, sends and waits for what the door gives as an acknowledgement; it measures nothing.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::adapter::{Can, Carrier, Coding, Target, Way};
use crate::http::{self, Client};

/// Seconds of silence after which a stream that was sent to its end counts as taken.
const SILENCE_S_MAX: u64 = 60;

/// Stack of a connection's thread; a thousand of them must stay cheap.
pub(crate) const STACK_BYTES: usize = 256 << 10;

/// The socket of one connection.
pub(crate) enum Sender {
    Post(Post),
    Stream(Stream),
    /// What the adapter brings.
    Own(Box<dyn Carrier>),
}

/// What bodies are sent with, where the door takes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wish {
    /// Level for `X-Foliot-Ack`.
    pub(crate) ack: Option<String>,
    /// Whether bodies are packed with gzip.
    pub(crate) gzip: bool,
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
    /// A connection through a door at `address`, not open yet.
    pub(crate) fn new(target: Target, address: &str, wish: &Wish) -> Sender {
        match target.door.way {
            Way::Post(post) => {
                let coding = if wish.gzip { Coding::Gzip } else { post.coding };
                let headers = headers(target, coding, wish);
                let (client, must_say) = (Client::new(address), post.good_reply);
                Sender::Post(Post { client, path: post.path, headers, coding, must_say })
            }
            Way::Stream => {
                let closing = Arc::new(AtomicBool::new(false));
                let (address, is_polite) = (address.to_owned(), target.can(Can::Close));
                Sender::Stream(Stream { address, open: None, closing, is_polite, lines: 0 })
            }
            Way::Own(carrier) => Sender::Own(carrier(address)),
        }
    }

    /// Opens the connection, which would else happen with the first body.
    pub(crate) fn open(&mut self) -> io::Result<()> {
        match self {
            Sender::Post(post) => post.client.open(),
            Sender::Stream(stream) => stream.open().map(drop),
            Sender::Own(own) => own.open(),
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
            Sender::Own(own) => own.send(body),
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

fn headers(target: Target, coding: Coding, wish: &Wish) -> String {
    let mut headers = match target.door.format.is_json() {
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
    if let Some(ack) = wish.ack.as_ref().filter(|_| target.can(Can::Acks)) {
        headers.push_str(&format!("X-Foliot-Ack: {ack}\r\n"));
    }
    headers
}

impl Post {
    fn send(&mut self, body: &[u8]) -> Result<(), String> {
        let reply = self.client.send("POST", self.path, &self.headers, body);
        let reply = reply.map_err(|error| error.to_string())?;
        let says = || String::from_utf8_lossy(&reply.body).contains(self.must_say);
        if reply.is_success() && says() { Ok(()) } else { Err(reply.summary()) }
    }
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
