//! A connection's bytes, plain or under TLS. Protocols read and write them without knowing which.
//!
//! TLS is a machine without sockets (rustls): what the socket has goes in, what is to be sent comes
//! out, and plain bytes lie in between. So both kinds are driven the same way, by readiness.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::ServerConnection;
use std::future::Future;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

/// Plain bytes that one step of decryption yields at most.
const RECORD_BYTES_MAX: usize = 16 << 10;

/// How long the loop may take to hear of bytes that the system has.
const UNHEARD: Duration = Duration::from_millis(10);

/// A connection.
#[derive(Debug)]
pub(crate) struct Wire {
    socket: TcpStream,
    tls: Option<Box<ServerConnection>>,
}

/// What a connection is ready for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Readiness {
    pub(crate) is_readable: bool,
    pub(crate) is_writable: bool,
}

impl Wire {
    /// A connection without TLS.
    pub(crate) fn plain(socket: TcpStream) -> Self {
        Self { socket, tls: None }
    }

    /// Goes on under TLS; `first` is what was read so far.
    ///
    /// # Errors
    /// When these bytes do not begin a session.
    pub(crate) fn secure(
        &mut self,
        config: Arc<rustls::ServerConfig>,
        first: &[u8],
    ) -> io::Result<()> {
        let mut tls = ServerConnection::new(config).map_err(io::Error::other)?;
        let mut rest = first;
        while !rest.is_empty() {
            tls.read_tls(&mut rest)?;
            step(&mut tls, &self.socket)?;
        }
        self.tls = Some(Box::new(tls));
        Ok(())
    }

    /// The other side's address.
    pub(crate) fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.socket.peer_addr()
    }

    /// Whether the other side has closed the connection, or its half of it, though bytes that it
    /// sent before may not have been read.
    pub(crate) fn has_left(&self) -> bool {
        let left = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
        let mut asked = [PollFd::new(&self.socket, PollFlags::RDHUP)];
        let told = poll(&mut asked, Some(&Timespec::default()));
        told.is_ok() && asked.iter().any(|one| one.revents().intersects(left))
    }

    /// Waits until it can be read or written, as `interest` says.
    pub(crate) async fn ready(&mut self, interest: Interest) -> io::Result<Readiness> {
        loop {
            let mut wanted = interest;
            if let Some(tls) = &mut self.tls {
                send(tls, &self.socket)?;
                if interest.is_readable() && has_plain_bytes(tls) {
                    return Ok(Readiness { is_readable: true, is_writable: false });
                }
                if tls.wants_write() {
                    wanted |= Interest::WRITABLE;
                }
            }
            let ready = self.socket.ready(wanted).await?;
            let is_readable = interest.is_readable() && ready.is_readable();
            let is_writable = interest.is_writable() && ready.is_writable();
            if is_readable || is_writable {
                return Ok(Readiness { is_readable, is_writable });
            }
            if let (Some(tls), true) = (&mut self.tls, ready.is_writable()) {
                send(tls, &self.socket)?;
            }
            if ready.is_empty() || ready.is_error() {
                return Err(io::ErrorKind::ConnectionReset.into());
            }
        }
    }

    /// Whether bytes came of which the loop had not heard when it was last asked.
    pub(crate) async fn has_more(&mut self) -> bool {
        tokio::time::timeout(UNHEARD, self.ready(Interest::READABLE)).await.is_ok()
    }

    /// Reads what is there behind the bytes of `out`, as far as it has room; 0 at the end.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when there is nothing yet; under TLS also when the other side
    /// ended without saying so, because then bytes may be missing.
    pub(crate) fn try_read_buf(&mut self, out: &mut Vec<u8>) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else { return read_some(&mut self.socket, out) };
        let before = out.len();
        while out.capacity() > out.len() {
            let filled = out.len();
            let room = (out.capacity() - filled).min(RECORD_BYTES_MAX);
            out.resize(filled + room, 0);
            let read = read(tls, &self.socket, out.get_mut(filled..).unwrap_or_default());
            out.truncate(filled + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => break,
                Ok(_) => {}
                // What was read before counts; the error comes again.
                Err(_) if out.len() > before => break,
                Err(error) => return Err(error),
            }
        }
        Ok(out.len() - before)
    }

    /// Writes what there is room for.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when there is none.
    pub(crate) fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else { return self.socket.try_write(bytes) };
        let written = tls.writer().write(bytes)?;
        send(tls, &self.socket)?;
        match written {
            0 if !bytes.is_empty() => Err(io::ErrorKind::WouldBlock.into()),
            written => Ok(written),
        }
    }
}

impl Drop for Wire {
    /// Says that the bytes end here, so that none can be cut off unseen.
    fn drop(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            // Whoever does not read any more is not waited for.
            let _ = send(tls, &self.socket);
        }
    }
}

/// Reads once. Where less came than there is room for, the socket is empty and is not asked again
/// before more has come: a system call less for each piece.
fn read_some(socket: &mut TcpStream, out: &mut Vec<u8>) -> io::Result<usize> {
    // Whoever reads much gives way by itself, and waits by readiness.
    let mut reading = pin!(tokio::task::unconstrained(socket.read_buf(out)));
    match reading.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(read) => read,
        Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
    }
}

fn has_plain_bytes(tls: &mut ServerConnection) -> bool {
    tls.process_new_packets().is_ok_and(|state| state.plaintext_bytes_to_read() > 0)
}

/// Decrypts what was received and sends what that calls for.
fn step(tls: &mut ServerConnection, socket: &TcpStream) -> io::Result<()> {
    let processed = tls.process_new_packets();
    // An alert tells the other side what is wrong.
    let sent = send(tls, socket);
    processed.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    sent
}

/// Sends what TLS has to say, as far as the socket takes it.
fn send(tls: &mut ServerConnection, socket: &TcpStream) -> io::Result<()> {
    while tls.wants_write() {
        match tls.write_tls(&mut Socket(socket)) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads plain bytes; 0 when the other side has said that it ended.
fn read(tls: &mut ServerConnection, socket: &TcpStream, out: &mut [u8]) -> io::Result<usize> {
    loop {
        match tls.reader().read(out) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            done => return done,
        }
        tls.read_tls(&mut Socket(socket))?;
        step(tls, socket)?;
    }
}

/// The socket as rustls sees it.
struct Socket<'a>(&'a TcpStream);

impl Read for Socket<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(out)
    }
}

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn write_vectored(&mut self, pieces: &[io::IoSlice<'_>]) -> io::Result<usize> {
        self.0.try_write_vectored(pieces)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Sends what TLS has to say, and waits for room where it has more.
fn poll_send(
    tls: &mut ServerConnection,
    socket: &TcpStream,
    cx: &mut Context<'_>,
) -> Poll<io::Result<()>> {
    loop {
        send(tls, socket)?;
        if !tls.wants_write() {
            return Poll::Ready(Ok(()));
        }
        ready!(socket.poll_write_ready(cx))?;
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let Some(tls) = &mut this.tls else { return Pin::new(&mut this.socket).poll_read(cx, out) };
        loop {
            match read(tls, &this.socket, out.initialize_unfilled()) {
                Ok(read) => {
                    out.advance(read);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
            // What TLS still has to say goes on when there is room; whether there is does not
            // matter.
            let _ = poll_send(tls, &this.socket, cx)?;
            ready!(this.socket.poll_read_ready(cx))?;
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        let Some(tls) = &mut this.tls else {
            return Pin::new(&mut this.socket).poll_write(cx, bytes);
        };
        loop {
            let written = tls.writer().write(bytes)?;
            let sent = poll_send(tls, &this.socket, cx)?;
            if written > 0 || bytes.is_empty() {
                return Poll::Ready(Ok(written));
            }
            ready!(sent);
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.tls.is_none() {
            return Pin::new(&mut self.socket).poll_write_vectored(cx, pieces);
        }
        let first = pieces.iter().find(|piece| !piece.is_empty());
        self.poll_write(cx, first.map_or(&[], |piece| piece))
    }

    fn is_write_vectored(&self) -> bool {
        self.tls.is_none() && self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        match &mut this.tls {
            Some(tls) => poll_send(tls, &this.socket, cx),
            None => Pin::new(&mut this.socket).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if let Some(tls) = &mut this.tls {
            tls.send_close_notify();
            ready!(poll_send(tls, &this.socket, cx))?;
        }
        Pin::new(&mut this.socket).poll_shutdown(cx)
    }
}
