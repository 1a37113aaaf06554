//! Stands in for `curl`, as far as the documents use it: so that they can be tried where there is
//! none. It knocks again while nobody listens, or the server says that it is not ready yet, as a
//! reader would.

use crate::harness::{PATIENCE, Response, read_response_to, request};
use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// What this program is called to be a `curl`.
pub(crate) const NAME: &str = "curl";

/// What a server answers that is being started.
const NOT_READY: u16 = 503;
/// Between two knocks.
const PAUSE: Duration = Duration::from_millis(20);

#[derive(Default)]
struct Arguments {
    url: String,
    method: Option<String>,
    headers: Vec<(String, String)>,
    data: Vec<Vec<u8>>,
    credentials: Option<String>,
    output: Option<String>,
    /// Data go into the query string.
    is_get: bool,
    /// The status line is shown.
    is_told: bool,
    /// An error of the server is a failure.
    is_strict: bool,
}

pub(crate) fn main() -> ExitCode {
    let arguments = Arguments::parse(std::env::args().skip(1));
    let began = Instant::now();
    let mut response = arguments.send();
    while response.status == NOT_READY && began.elapsed() < PATIENCE {
        std::thread::sleep(PAUSE);
        response = arguments.send();
    }
    if arguments.is_told {
        println!("HTTP/1.1 {}", response.status);
    }
    match &arguments.output {
        Some(path) => std::fs::write(path, &response.body).unwrap(),
        None => std::io::stdout().write_all(&response.body).unwrap(),
    }
    match arguments.is_strict && response.status >= 400 {
        true => ExitCode::from(22),
        false => ExitCode::SUCCESS,
    }
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Self {
        let mut found = Self::default();
        while let Some(word) = words.next() {
            let mut value = || words.next().unwrap_or_else(|| panic!("{word} wants a value"));
            match word.as_str() {
                "-X" => found.method = Some(value()),
                "-H" => {
                    let header = value();
                    let (name, value) = header.split_once(": ").expect("a header");
                    found.headers.push((name.to_owned(), value.to_owned()));
                }
                "-d" => found.data.push(without_ends(read_data(&value()))),
                "--data-binary" => found.data.push(read_data(&value())),
                "--data-urlencode" => found.data.push(encode(&value()).into_bytes()),
                "-u" => found.credentials = Some(value()),
                "-o" => found.output = Some(value()),
                // It tries again anyway.
                "--retry" | "--retry-delay" => drop(value()),
                "--retry-connrefused" => {}
                flags if flags.starts_with('-') => {
                    flags.chars().skip(1).for_each(|flag| match flag {
                        's' | 'g' | 'S' => {}
                        'G' => found.is_get = true,
                        'f' => found.is_strict = true,
                        'i' => found.is_told = true,
                        _ => panic!("{flags}: the stand-in for curl does not know {flag}"),
                    })
                }
                _ => found.url = word,
            }
        }
        found
    }

    fn send(&self) -> Response {
        let url = self.url.strip_prefix("http://").unwrap_or(&self.url);
        let (host, path) = url.split_once('/').unwrap_or((url, ""));
        let mut path = format!("/{path}");
        let mut body = self.data.join(&b'&');
        let mut method = if self.data.is_empty() { "GET" } else { "POST" };
        if self.is_get {
            path.push(if path.contains('?') { '&' } else { '?' });
            path.push_str(&String::from_utf8(std::mem::take(&mut body)).unwrap());
            method = "GET";
        }
        let method = self.method.as_deref().unwrap_or(method);
        let mut headers = vec![("Host".to_owned(), host.to_owned())];
        if let Some(credentials) = &self.credentials {
            headers.push(("Authorization".to_owned(), format!("Basic {}", base64(credentials))));
        }
        let has_type = self.headers.iter().any(|(name, _)| name == "Content-Type");
        if !body.is_empty() && !has_type {
            let form = "application/x-www-form-urlencoded";
            headers.push(("Content-Type".to_owned(), form.to_owned()));
        }
        headers.extend(self.headers.iter().cloned());
        let headers: Vec<_> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        let mut socket = connect(host);
        socket.write_all(&request(method, &path, &headers, &body)).unwrap();
        read_response_to(method, &mut BufReader::new(socket)).expect("no answer")
    }
}

/// A connection, as soon as somebody listens.
fn connect(host: &str) -> TcpStream {
    let began = Instant::now();
    loop {
        match TcpStream::connect(host) {
            Ok(socket) => return socket,
            Err(error) => assert!(began.elapsed() < PATIENCE, "{host}: {error}"),
        }
        std::thread::sleep(PAUSE);
    }
}

/// Data as they stand, or of the file behind `@`.
fn read_data(value: &str) -> Vec<u8> {
    let mut data = Vec::new();
    match value.strip_prefix('@') {
        Some("-") => drop(std::io::stdin().read_to_end(&mut data).unwrap()),
        Some(path) => data = std::fs::read(path).unwrap(),
        None => data = value.as_bytes().to_vec(),
    }
    data
}

/// What `-d` sends of a file.
fn without_ends(mut data: Vec<u8>) -> Vec<u8> {
    data.retain(|byte| !b"\r\n".contains(byte));
    data
}

/// `name=value` with the value percent-encoded.
fn encode(pair: &str) -> String {
    let (name, value) = pair.split_once('=').expect("name=value");
    let mut out = format!("{name}=");
    for byte in value.bytes() {
        match byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            true => out.push(char::from(byte)),
            false => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in text.as_bytes().chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit)) & 63;
            let is_there = digit <= three.len();
            out.push(if is_there { char::from(DIGITS[value as usize]) } else { '=' });
        }
    }
    out
}
