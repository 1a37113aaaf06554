//! PostgreSQL's wire protocol, version 3 (postgresql.org, "Frontend/Backend Protocol"), as far as a
//! benchmark needs it: one blocking socket, simple queries, COPY from the client, no TLS. Messages
//! and passwords are made by the crate `postgres-protocol`; this file only sends and reads.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::frontend;

use crate::http::{connect, login};

/// Database that everything is written to; the one that every installation has.
const DATABASE: &str = "postgres";

/// Bytes of one COPY message.
const COPY_BYTES: usize = 1 << 20;

/// Longest message that is read, so that a stray length cannot fill the memory.
const MESSAGE_BYTES_MAX: usize = 1 << 30;

/// What stands for no value in rows of text.
pub(crate) const NULL: &str = "\\N";

/// What ends the rows of a COPY in a script, as `psql` reads it.
pub(crate) const COPY_END: &[u8] = b"\\.\n";

/// One connection, ready for statements.
pub(crate) struct Session {
    stream: TcpStream,
    out: bytes::BytesMut,
    kind: u8,
    message: Vec<u8>,
}

impl Session {
    /// Connects as the user in `address` (`user:password@host:port`), else as `postgres`.
    pub(crate) fn open(address: &str) -> io::Result<Session> {
        let (user, password) = login(address).0.unwrap_or(("postgres", ""));
        let stream = connect(address)?;
        let mut session =
            Session { stream, out: bytes::BytesMut::new(), kind: 0, message: Vec::new() };
        let parameters = [("user", user), ("database", DATABASE), ("client_encoding", "UTF8")];
        frontend::startup_message(parameters, &mut session.out)?;
        session.flush()?;
        session.authenticate(user, password)?;
        session.until_ready(|_| {})?;
        Ok(session)
    }

    /// Runs statements; returns the rows of the last that has any, a line each, columns apart by
    /// tabs.
    pub(crate) fn run(&mut self, statements: &str) -> io::Result<Vec<u8>> {
        frontend::query(statements, &mut self.out)?;
        self.flush()?;
        let mut rows = Vec::new();
        self.until_ready(|row| {
            push_row(row, &mut rows);
        })?;
        Ok(rows)
    }

    /// Runs a script as `psql` would: statements a line each, COPY followed by its rows.
    pub(crate) fn script(&mut self, mut script: &[u8]) -> io::Result<()> {
        while let Some(end) = memchr(script, b'\n') {
            let (line, rest) = script.split_at(end + 1);
            let statement = std::str::from_utf8(line).map_err(io::Error::other)?;
            script = rest;
            if !statement.starts_with("COPY ") {
                self.run(statement)?;
                continue;
            }
            let rows = find(rest, b"\n\\.\n").map_or(rest.len(), |at| at + 1);
            let (rows, rest) = rest.split_at(rows);
            script = rest.get(COPY_END.len()..).unwrap_or_default();
            self.copy(statement, rows)?;
        }
        Ok(())
    }

    fn copy(&mut self, statement: &str, rows: &[u8]) -> io::Result<()> {
        frontend::query(statement, &mut self.out)?;
        self.flush()?;
        // The server answers that it is ready to take rows, or refuses.
        loop {
            self.read()?;
            match self.kind {
                b'G' => break,
                b'E' => {
                    let error = self.error();
                    self.until_ready(|_| {})?;
                    return Err(error);
                }
                _ => {}
            }
        }
        for piece in rows.chunks(COPY_BYTES) {
            frontend::CopyData::new(piece)?.write(&mut self.out);
            self.flush()?;
        }
        frontend::copy_done(&mut self.out);
        self.flush()?;
        self.until_ready(|_| {})
    }

    fn authenticate(&mut self, user: &str, password: &str) -> io::Result<()> {
        let mut scram: Option<ScramSha256> = None;
        loop {
            self.read()?;
            if self.kind == b'E' {
                return Err(self.error());
            }
            let broken = || io::Error::other("PostgreSQL asks for no known authentication");
            let (method, data) = self.message.split_at_checked(4).ok_or_else(broken)?;
            let data = data.to_vec();
            let method = method.iter().fold(0u32, |sum, byte| sum << 8 | u32::from(*byte));
            match (method, scram.as_mut()) {
                (0, _) => return Ok(()),
                (3, _) => frontend::password_message(password.as_bytes(), &mut self.out)?,
                (5, _) => {
                    let salt = data.first_chunk::<4>().ok_or_else(broken)?;
                    let hash = md5_hash(user.as_bytes(), password.as_bytes(), *salt);
                    frontend::password_message(hash.as_bytes(), &mut self.out)?;
                }
                (10, _) => {
                    let unbound = ChannelBinding::unsupported();
                    let first = scram.insert(ScramSha256::new(password.as_bytes(), unbound));
                    let text = first.message();
                    frontend::sasl_initial_response(SCRAM_SHA_256, text, &mut self.out)?;
                }
                (11, Some(scram)) => {
                    scram.update(&data)?;
                    frontend::sasl_response(scram.message(), &mut self.out)?;
                }
                (12, Some(scram)) => scram.finish(&data)?,
                _ => return Err(broken()),
            }
            self.flush()?;
        }
    }

    /// Reads to the end of a statement; the error is the server's first.
    fn until_ready(&mut self, mut row: impl FnMut(&[u8])) -> io::Result<()> {
        let mut failed = None;
        loop {
            self.read()?;
            match self.kind {
                b'D' => row(&self.message),
                b'E' if failed.is_none() => failed = Some(self.error()),
                b'Z' => return failed.map_or(Ok(()), Err),
                _ => {}
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }

    /// Reads one message into `kind` and `message`.
    fn read(&mut self) -> io::Result<()> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head)?;
        let [kind, length @ ..] = head;
        let length = length.iter().fold(0usize, |sum, byte| sum << 8 | usize::from(*byte));
        if !(4..MESSAGE_BYTES_MAX).contains(&length) {
            return Err(io::Error::other("a message of PostgreSQL has no possible length"));
        }
        self.kind = kind;
        self.message.resize(length - 4, 0);
        self.stream.read_exact(&mut self.message)
    }

    /// The words of an error message: fields of a letter and a text.
    fn error(&self) -> io::Error {
        let fields = self.message.split(|byte| *byte == 0);
        let words = fields.filter_map(|field| field.split_first()).find(|field| *field.0 == b'M');
        let words = words.map_or(&b"unknown error"[..], |(_, words)| words);
        io::Error::other(String::from_utf8_lossy(words).into_owned())
    }
}

/// Adds a row as text: a count of columns, then each with its length, -1 for none.
fn push_row(row: &[u8], out: &mut Vec<u8>) {
    let mut rest = row.get(2..).unwrap_or_default();
    let mut first = true;
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        if !first {
            out.push(b'\t');
        }
        first = false;
        let length = length.iter().fold(0u32, |sum, byte| sum << 8 | u32::from(*byte));
        rest = after;
        if length == u32::MAX {
            out.extend_from_slice(NULL.as_bytes());
            continue;
        }
        let (cell, after) = rest.split_at(rest.len().min(length as usize));
        out.extend_from_slice(cell);
        rest = after;
    }
    out.push(b'\n');
}

fn memchr(text: &[u8], byte: u8) -> Option<usize> {
    text.iter().position(|other| *other == byte)
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_with_their_gaps() {
        let mut out = Vec::new();
        push_row(b"\0\x03\0\0\0\x02ab\xff\xff\xff\xff\0\0\0\x0112", &mut out);
        assert_eq!(out, b"ab\t\\N\t1\n");
    }
}
