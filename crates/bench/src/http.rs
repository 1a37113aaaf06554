//! A minimal HTTP/1.1 client on one blocking socket: keep-alive, Content-Length and chunked
//! replies. Not a general client: no redirects, no TLS, no compression.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use std::io::{self, BufRead, BufReader, IoSlice, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Time after which a silent server counts as gone.
const TIMEOUT: Duration = Duration::from_secs(120);

/// What one read of a reply takes at most; replies to writes are a fraction of it.
const REPLY_BUFFER_BYTES: usize = 16 << 10;

/// Longest reply that is kept; longer ones are an error rather than a full memory.
const REPLY_BYTES_MAX: u64 = 1 << 30;

/// User and password of an address written `user:password@host:port`, and the rest.
pub(crate) fn login(address: &str) -> (Option<(&str, &str)>, &str) {
    match address.rsplit_once('@') {
        Some((login, place)) => (Some(login.split_once(':').unwrap_or((login, ""))), place),
        None => (None, address),
    }
}

/// Opens a socket that sends without delay and gives up after two minutes of silence.
pub(crate) fn connect(address: &str) -> io::Result<TcpStream> {
    let unknown = || io::Error::new(io::ErrorKind::NotFound, format!("{address}: no such host"));
    let resolved = login(address).1.to_socket_addrs()?.next().ok_or_else(unknown)?;
    let stream = TcpStream::connect_timeout(&resolved, Duration::from_secs(5))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    Ok(stream)
}

/// Whether somebody listens at an address; the error names it, without its login.
pub(crate) fn reach(address: &str) -> io::Result<()> {
    let named = |error: io::Error| {
        io::Error::new(error.kind(), format!("no server at {}: {error}", login(address).1))
    };
    connect(address).map(drop).map_err(named)
}

/// One connection to one server; reconnects when the server closed it.
pub(crate) struct Client {
    address: String,
    stream: Option<BufReader<TcpStream>>,
    /// Header lines that every request carries, besides its own.
    always: String,
    head: String,
}

/// What a server answered.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    /// What InfluxDB says of itself with every reply.
    pub(crate) server_version: Option<String>,
}

impl Reply {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Status and the beginning of the body, for an error message.
    pub(crate) fn summary(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        let text: String = text.chars().take(160).collect();
        format!("status {}: {}", self.status, text.trim())
    }
}

impl Client {
    pub(crate) fn new(address: &str) -> Client {
        let (login, place) = login(address);
        let mut always = format!("Host: {place}\r\n");
        match login {
            // InfluxDB 2 takes a token and no user; everyone else RFC 7617.
            Some(("", token)) => always.push_str(&format!("Authorization: Token {token}\r\n")),
            Some((user, password)) => {
                let both = BASE64_STANDARD.encode(format!("{user}:{password}"));
                always.push_str(&format!("Authorization: Basic {both}\r\n"));
            }
            None => {}
        }
        Client { address: address.to_owned(), stream: None, always, head: String::new() }
    }

    /// Opens the connection, which would else happen with the first request.
    pub(crate) fn open(&mut self) -> io::Result<()> {
        let stream = self.take()?;
        self.stream = Some(stream);
        Ok(())
    }

    fn take(&mut self) -> io::Result<BufReader<TcpStream>> {
        match self.stream.take() {
            Some(stream) => Ok(stream),
            None => Ok(BufReader::with_capacity(REPLY_BUFFER_BYTES, connect(&self.address)?)),
        }
    }

    /// Sends a request and reads its whole reply. `headers` end each with CRLF.
    pub(crate) fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &str,
        body: &[u8],
    ) -> io::Result<Reply> {
        use std::fmt::Write as _;
        let mut stream = self.take()?;
        self.head.clear();
        let written = write!(
            self.head,
            "{method} {path} HTTP/1.1\r\n{}{headers}Content-Length: {}\r\n\r\n",
            self.always,
            body.len()
        );
        written.map_err(io::Error::other)?;
        write_both(stream.get_mut(), self.head.as_bytes(), body)?;
        let (reply, keep) = read_reply(&mut stream)?;
        if keep {
            self.stream = Some(stream);
        }
        Ok(reply)
    }

    pub(crate) fn get(&mut self, path: &str) -> io::Result<Reply> {
        self.send("GET", path, "", b"")
    }
}

/// Writes two slices with as few system calls as the socket allows.
fn write_both(stream: &mut TcpStream, head: &[u8], body: &[u8]) -> io::Result<()> {
    let (mut head, mut body) = (head, body);
    while !head.is_empty() {
        let written = stream.write_vectored(&[IoSlice::new(head), IoSlice::new(body)])?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let of_head = written.min(head.len());
        head = head.get(of_head..).unwrap_or_default();
        body = body.get(written - of_head..).unwrap_or_default();
    }
    stream.write_all(body)
}

fn read_reply(stream: &mut BufReader<TcpStream>) -> io::Result<(Reply, bool)> {
    let broken = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut line = String::new();
    let status = loop {
        read_line(stream, &mut line)?;
        let status = line.split(' ').nth(1).and_then(|word| word.trim().parse::<u16>().ok());
        let status = status.ok_or_else(|| broken("reply does not begin with an HTTP status"))?;
        if status != 100 {
            break status;
        }
        while read_line(stream, &mut line)? > 0 {}
    };
    let (mut length, mut chunked, mut keep) = (None, false, true);
    let mut server_version = None;
    while read_line(stream, &mut line)? > 0 {
        let Some((name, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            length = Some(value.parse::<u64>().map_err(|_| broken("Content-Length"))?);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            chunked = value.to_ascii_lowercase().contains("chunked");
        } else if name.eq_ignore_ascii_case("connection") {
            keep = !value.eq_ignore_ascii_case("close");
        } else if name.eq_ignore_ascii_case("x-influxdb-version") {
            server_version = Some(value.to_owned());
        }
    }
    let mut body = Vec::new();
    if status == 204 || status == 304 {
        return Ok((Reply { status, body, server_version }, keep));
    }
    if chunked {
        loop {
            read_line(stream, &mut line)?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = u64::from_str_radix(size, 16).map_err(|_| broken("chunk size"))?;
            read_exactly(stream, size, &mut body)?;
            read_line(stream, &mut line)?;
            if size == 0 {
                break;
            }
        }
    } else if let Some(length) = length {
        read_exactly(stream, length, &mut body)?;
    } else {
        keep = false;
        stream.take(REPLY_BYTES_MAX).read_to_end(&mut body)?;
    }
    Ok((Reply { status, body, server_version }, keep))
}

/// Reads one line without its end; returns its length.
fn read_line(stream: &mut BufReader<TcpStream>, line: &mut String) -> io::Result<usize> {
    line.clear();
    if stream.by_ref().take(64 << 10).read_line(line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    line.truncate(line.trim_end().len());
    Ok(line.len())
}

fn read_exactly(
    stream: &mut BufReader<TcpStream>,
    length: u64,
    body: &mut Vec<u8>,
) -> io::Result<()> {
    if body.len() as u64 + length > REPLY_BYTES_MAX {
        return Err(io::Error::other("reply is longer than 1 GiB"));
    }
    if stream.by_ref().take(length).read_to_end(body)? as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

/// Percent-encodes everything but unreserved characters (RFC 3986, section 2.3).
pub(crate) fn escape(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len() * 3);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logins_stand_before_the_place() {
        assert_eq!(login("127.0.0.1:1"), (None, "127.0.0.1:1"));
        assert_eq!(login("a:b@c@127.0.0.1:1"), (Some(("a", "b@c")), "127.0.0.1:1"));
        assert_eq!(login(":t@h:1"), (Some(("", "t")), "h:1"));
    }
}
