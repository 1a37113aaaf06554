//! A small HTTP/1.1 client: one server, one connection at a time.

use crate::connection::{Connection, Trust};
use crate::error::Error;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use std::cell::RefCell;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;

/// Most bytes of an answer that is read whole.
const ANSWER_BYTES_MAX: u64 = 16 << 20;

/// Most bytes of one line of an answer's head.
const HEAD_LINE_BYTES_MAX: u64 = 64 << 10;

/// A server to talk to.
#[derive(Debug)]
pub struct Client {
    host: String,
    trust: Trust,
    authorization: Option<String>,
    /// The flag that the address is from.
    flag: &'static str,
    /// The connection that the last answer left open.
    idle: RefCell<Option<BufReader<Connection>>>,
}

/// An answer read whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Body.
    pub body: Vec<u8>,
}

impl Answer {
    /// The body as text, for messages.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).trim().to_owned()
    }
}

impl Client {
    /// A client for `http[s]://[USER:PASSWORD@]HOST:PORT`. Does not connect yet.
    ///
    /// # Errors
    /// When the address is none.
    pub fn new(url: &str) -> Result<Self, Error> {
        let bad = |reason| Error::BadUrl { url: url.to_owned(), reason };
        let (trust, rest) = match url.split_once("://") {
            Some(("http", rest)) => (Trust::Plain, rest),
            Some(("https", rest)) => (Trust::System, rest),
            Some(_) => return Err(bad("only http and https are spoken")),
            None => (Trust::Plain, url),
        };
        let (rest, path) = rest.split_once('/').unwrap_or((rest, ""));
        if !path.is_empty() {
            return Err(bad("a path stands behind the port"));
        }
        let (user, host) = match rest.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, rest),
        };
        let port = host.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
        if port.is_none() {
            return Err(bad("the port is missing"));
        }
        let authorization = user.map(|user| format!("Basic {}", BASE64_STANDARD.encode(user)));
        let (host, idle) = (host.to_owned(), RefCell::new(None));
        Ok(Self { host, trust, authorization, flag: "--url", idle })
    }

    /// Names the flag that the address is from, for messages.
    #[must_use]
    pub fn named_by(self, flag: &'static str) -> Self {
        Self { flag, ..self }
    }

    fn unreachable(&self, source: io::Error) -> Error {
        Error::Unreachable { host: self.host.clone(), flag: self.flag, source }
    }

    /// Asks in the name of a user, written `NAME:PASSWORD`, whatever the address says.
    #[must_use]
    pub fn with_user(self, user: &str) -> Self {
        Self { authorization: Some(format!("Basic {}", BASE64_STANDARD.encode(user))), ..self }
    }

    /// Trusts the certificates in a file, as PEM, instead of the system's.
    #[must_use]
    pub fn with_ca(self, file: PathBuf) -> Self {
        let trust = if self.trust == Trust::Plain { Trust::Plain } else { Trust::File(file) };
        Self { trust, ..self }
    }

    /// Asks with a token, whatever the address says.
    ///
    /// # Errors
    /// When the token holds what would end the line that it is sent in.
    pub fn with_token(self, token: &str) -> Result<Self, Error> {
        self.with_secret("Bearer", token)
    }

    /// The same for servers that call the scheme of tokens something else.
    ///
    /// # Errors
    /// As [`Client::with_token`].
    pub fn with_secret(self, scheme: &str, token: &str) -> Result<Self, Error> {
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Error::Format("a token is one word of letters and digits".to_owned()));
        }
        Ok(Self { authorization: Some(format!("{scheme} {token}")), ..self })
    }

    /// Host and port, without a user.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Posts a form whose answer is read as it comes.
    ///
    /// # Errors
    /// When the server cannot be reached or speaks no HTTP.
    pub fn post_form(&self, target: &str, form: &str) -> Result<Reading<'_>, Error> {
        let kind = "Content-Type: application/x-www-form-urlencoded\r\n";
        self.request("POST", target, kind, Some(form.as_bytes()))
    }

    /// Posts a body of a kind, whose answer is read as it comes.
    ///
    /// # Errors
    /// When the server cannot be reached or speaks no HTTP.
    pub fn post_as(&self, target: &str, kind: &str, body: &[u8]) -> Result<Reading<'_>, Error> {
        self.request("POST", target, &format!("Content-Type: {kind}\r\n"), Some(body))
    }

    /// Posts a body and reads the answer whole.
    ///
    /// # Errors
    /// When the server cannot be reached or speaks no HTTP.
    pub fn post(&self, target: &str, body: &[u8]) -> Result<Answer, Error> {
        let reading = self.request("POST", target, "", Some(body))?;
        reading.whole()
    }

    /// Asks for something whose answer is read as it comes.
    ///
    /// # Errors
    /// When the server cannot be reached or speaks no HTTP.
    pub fn get(&self, target: &str) -> Result<Reading<'_>, Error> {
        self.request("GET", target, "", None)
    }

    /// As [`Client::get`], with what kind of answer is wanted (`Accept`).
    ///
    /// # Errors
    /// As [`Client::get`].
    pub fn get_as(&self, target: &str, kind: &str) -> Result<Reading<'_>, Error> {
        self.request("GET", target, &format!("Accept: {kind}\r\n"), None)
    }

    fn request(
        &self,
        method: &str,
        target: &str,
        headers: &str,
        body: Option<&[u8]>,
    ) -> Result<Reading<'_>, Error> {
        let doing = || format!("speak with {}", self.host);
        if let Some(stream) = self.idle.borrow_mut().take()
            && let Ok(reading) = self.exchange(stream, method, target, headers, body)
        {
            // A connection that was idle may have been closed meanwhile; then a new one is tried.
            return Ok(reading);
        }
        let stream =
            Connection::open(&self.host, &self.trust).map_err(|source| self.unreachable(source))?;
        self.exchange(BufReader::new(stream), method, target, headers, body)
            .map_err(|error| Error::io(doing())(hinted(error)))
    }

    fn exchange(
        &self,
        mut stream: BufReader<Connection>,
        method: &str,
        target: &str,
        headers: &str,
        body: Option<&[u8]>,
    ) -> io::Result<Reading<'_>> {
        let mut head = format!("{method} {target} HTTP/1.1\r\nHost: {}\r\n{headers}", self.host);
        if let Some(authorization) = &self.authorization {
            head += &format!("Authorization: {authorization}\r\n");
        }
        if let Some(body) = body {
            head += &format!("Content-Length: {}\r\n", body.len());
        }
        head += "\r\n";
        stream.get_mut().write_all(head.as_bytes())?;
        stream.get_mut().write_all(body.unwrap_or_default())?;
        stream.get_mut().flush()?;
        let (status, rest, stays_open) = read_head(&mut stream)?;
        let stream = Some(stream);
        Ok(Reading { client: self, stream, status, rest, stays_open })
    }
}

/// An answer whose body is being read.
#[derive(Debug)]
pub struct Reading<'a> {
    client: &'a Client,
    stream: Option<BufReader<Connection>>,
    status: u16,
    rest: Rest,
    stays_open: bool,
}

/// What of a body is still to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    /// So many bytes.
    Bytes(u64),
    /// So many bytes of a chunk, then more chunks (RFC 9112, 7.1).
    Chunk(u64),
    /// A chunk's head is next; with the end of the chunk before it, unless this is the first.
    ChunkHead { is_first: bool },
    /// Until the connection ends.
    Everything,
}

impl Reading<'_> {
    /// HTTP status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Reads the rest of the body.
    ///
    /// # Errors
    /// When the connection breaks, or the answer is longer than 16 MiB.
    pub fn whole(mut self) -> Result<Answer, Error> {
        let mut body = Vec::new();
        let doing = format!("read the answer of {}", self.client.host);
        let status = self.status;
        (&mut self).take(ANSWER_BYTES_MAX).read_to_end(&mut body).map_err(Error::io(doing))?;
        if body.len() as u64 == ANSWER_BYTES_MAX {
            let reason = format!("the answer of {} is longer than 16 MiB", self.client.host);
            return Err(Error::Format(reason));
        }
        Ok(Answer { status, body })
    }

    /// The body has ended: the connection can be used again, if the server lets it.
    fn end(&mut self) {
        let stream = self.stream.take();
        if self.stays_open {
            *self.client.idle.borrow_mut() = stream;
        }
    }
}

impl Read for Reading<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(stream) = &mut self.stream else { return Ok(0) };
            match self.rest {
                Rest::Bytes(0) => self.end(),
                Rest::Everything => {
                    let read = stream.read(buffer)?;
                    if read == 0 {
                        self.stream = None;
                    }
                    return Ok(read);
                }
                Rest::Chunk(0) => self.rest = Rest::ChunkHead { is_first: false },
                Rest::ChunkHead { is_first } => {
                    if !is_first {
                        head_line(stream)?;
                    }
                    let line = head_line(stream)?;
                    let size = line.split(';').next().unwrap_or_default().trim();
                    let size = u64::from_str_radix(size, 16)
                        .map_err(|_| bad_answer("a chunk has no length"))?;
                    self.rest = Rest::Chunk(size);
                    if size == 0 {
                        while !head_line(stream)?.is_empty() {}
                        self.end();
                    }
                }
                Rest::Bytes(left) | Rest::Chunk(left) => {
                    let most = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    if most == 0 {
                        return Ok(0);
                    }
                    let read = stream.read(buffer.get_mut(..most).unwrap_or_default())?;
                    if read == 0 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                    let left = left - read as u64;
                    self.rest = match self.rest {
                        Rest::Chunk(_) => Rest::Chunk(left),
                        _ => Rest::Bytes(left),
                    };
                    return Ok(read);
                }
            }
        }
    }
}

/// Reads status and headers: how the body ends, and whether the connection stays open.
fn read_head(stream: &mut impl BufRead) -> io::Result<(u16, Rest, bool)> {
    loop {
        let line = head_line(stream)?;
        let status = line.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1));
        let status: u16 = status
            .and_then(|status| status.parse().ok())
            .ok_or_else(|| bad_answer("the answer is not HTTP/1"))?;
        let mut stays_open = line.starts_with("HTTP/1.1");
        let mut rest = Rest::Everything;
        loop {
            let line = head_line(stream)?;
            let Some((name, value)) = line.split_once(':') else { break };
            let value = value.trim().to_ascii_lowercase();
            match &*name.to_ascii_lowercase() {
                "content-length" => {
                    let bytes = value.parse().map_err(|_| bad_answer("a length is no number"))?;
                    rest = Rest::Bytes(bytes);
                }
                "transfer-encoding" if value.ends_with("chunked") => {
                    rest = Rest::ChunkHead { is_first: true };
                }
                "connection" => stays_open = value != "close",
                _ => {}
            }
        }
        match status {
            100..200 => {}
            204 | 304 => return Ok((status, Rest::Bytes(0), stays_open)),
            _ => return Ok((status, rest, stays_open && rest != Rest::Everything)),
        }
    }
}

fn head_line(stream: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    let read = stream.take(HEAD_LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
    if read == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned())
}

fn bad_answer(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// Appends a parameter's value (RFC 3986, 2.1).
pub fn push_percent(value: &str, out: &mut String) {
    for byte in value.bytes() {
        match byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            true => out.push(char::from(byte)),
            false => *out += &format!("%{byte:02X}"),
        }
    }
}

/// An error of TLS, with what may help.
fn hinted(error: io::Error) -> io::Error {
    let said = error.to_string();
    let hint = match () {
        () if said.contains("UnknownIssuer") => {
            "--ca FILE or FOLIOT_CA names a certificate that vouches for it"
        }
        () if said.contains("HandshakeFailure") || said.contains("InvalidContentType") => {
            "does it speak TLS? Otherwise write http://"
        }
        () => return error,
    };
    io::Error::new(error.kind(), format!("{said}; {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    #[test]
    fn parameters_are_encoded() {
        let mut out = String::new();
        push_percent("a b&ü", &mut out);
        assert_eq!(out, "a%20b%26%C3%BC");
    }

    #[test]
    fn addresses() {
        for good in ["http://h:1", "h:1", "http://u:p@h:1/", "http://[::1]:80", "https://h:1"] {
            assert!(Client::new(good).is_ok(), "{good}");
        }
        for bad in ["ftp://h:1", "http://h", "http://h:1/x", "http://h:x", ""] {
            assert!(Client::new(bad).is_err(), "{bad}");
        }
    }

    /// Answers each connection's requests with the given bytes, then ends it.
    fn serve(connections: Vec<Vec<&'static str>>) -> (Client, thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = Client::new(&format!("u:p@{}", listener.local_addr().unwrap())).unwrap();
        let thread = thread::spawn(move || {
            let mut seen = Vec::new();
            for answers in connections {
                let mut stream = BufReader::new(listener.accept().unwrap().0);
                for answer in answers {
                    let first = head_line(&mut stream).unwrap();
                    let mut length = 0;
                    loop {
                        let line = head_line(&mut stream).unwrap();
                        if let Some(text) = line.strip_prefix("Content-Length: ") {
                            length = text.parse().unwrap();
                        }
                        if line.is_empty() {
                            break;
                        }
                    }
                    let mut body = vec![0; length];
                    stream.read_exact(&mut body).unwrap();
                    seen.push(format!("{first} {}", String::from_utf8(body).unwrap()));
                    stream.get_mut().write_all(answer.as_bytes()).unwrap();
                }
            }
            seen
        });
        (client, thread)
    }

    #[test]
    fn bodies_end_as_their_head_says() {
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                       3\r\nabc\r\n1;x=y\r\nd\r\n0\r\nTrailer: t\r\n\r\n";
        let (client, server) = serve(vec![
            vec!["HTTP/1.1 400 Bad\r\nContent-Length: 2\r\n\r\nno", chunked],
            vec!["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nuntil the end"],
        ]);
        let answer = client.post("/a", b"x\ny").unwrap();
        assert_eq!((answer.status, answer.text()), (400, "no".to_owned()));
        let mut text = String::new();
        client.get("/b").unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "abcd");
        // The first connection has ended by now, so this one is new.
        assert_eq!(client.get("/c").unwrap().whole().unwrap().text(), "until the end");
        let seen = server.join().unwrap();
        assert_eq!(seen, ["POST /a HTTP/1.1 x\ny", "GET /b HTTP/1.1 ", "GET /c HTTP/1.1 "]);
    }

    #[test]
    fn a_short_body_is_an_error() {
        let (client, server) =
            serve(vec![vec!["HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort"]]);
        assert!(client.get("/").unwrap().whole().is_err());
        server.join().unwrap();
    }
}
