//! A connection's bytes with deadlines: what was read for sniffing comes first again, and a client
//! that stalls in a request's head, idles for too long or stops reading is cut off.

use crate::request_line::RequestLine;
use crate::wire::Wire;
use hyper::body::{Body, Frame, SizeHint};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// Time for the whole head of a request, from its first byte.
pub(crate) const HEAD_SECONDS_MAX: Duration = Duration::from_secs(10);

/// Time between two requests. Longer than the 90 s after which Go's clients drop idle connections,
/// so that they do not find one closed just when they reuse it.
const IDLE_SECONDS_MAX: Duration = Duration::from_secs(120);

/// Time without any progress of an answer, because the client does not read.
const WRITE_SECONDS_MAX: Duration = Duration::from_secs(30);

/// Bytes of later requests that are read while one is carried out, to see behind them that the
/// client has left.
const AHEAD_BYTES_MAX: usize = 1 << 10;

/// How often the system is asked whether a client has left that sent more ahead.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// What a connection is doing, as shared between the stream and the request it carries.
#[derive(Debug, Default)]
pub(crate) struct Phase(AtomicU8);

impl Phase {
    const IDLE: u8 = 0;
    const HEAD: u8 = 1;
    const BODY: u8 = 2;
    const BUSY: u8 = 3;

    /// The head of a request has arrived; its own limits hold from here.
    fn begin(&self) {
        self.0.store(Self::BODY, Ordering::Relaxed);
    }

    /// All of a request has arrived.
    fn carry(&self) {
        self.0.store(Self::BUSY, Ordering::Relaxed);
    }

    /// The answer is complete.
    pub(crate) fn end(&self) {
        self.0.store(Self::IDLE, Ordering::Relaxed);
    }

    fn get(&self) -> u8 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The body of a request, which tells the stream when all of it has come.
#[derive(Debug)]
pub(crate) struct Arriving<B> {
    body: B,
    phase: Arc<Phase>,
}

impl<B: Body + Unpin> Arriving<B> {
    pub(crate) fn new(body: B, phase: Arc<Phase>) -> Self {
        phase.begin();
        if body.is_end_stream() {
            phase.carry();
        }
        Self { body, phase }
    }
}

impl<B: Body + Unpin> Body for Arriving<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if frame.is_none() {
            self.phase.carry();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The stream of an HTTP connection.
#[derive(Debug)]
pub(crate) struct Stream {
    socket: Wire,
    /// Bytes read while sniffing, or ahead, and how many of them were taken.
    first: (Vec<u8>, usize),
    line: RequestLine,
    /// Whether nothing was read yet.
    is_new: bool,
    /// Whether hyper waits for bytes, and so for their end.
    is_awaited: bool,
    phase: Arc<Phase>,
    /// The phase that `deadline` was set for.
    armed: u8,
    deadline: Pin<Box<Sleep>>,
    write_deadline: Option<Pin<Box<Sleep>>>,
    /// When the client is looked for again behind bytes that are left unread.
    next_look: Option<Pin<Box<Sleep>>>,
}

impl Stream {
    pub(crate) fn new(socket: Wire, first: Vec<u8>, phase: Arc<Phase>) -> Self {
        let deadline = Box::pin(sleep(HEAD_SECONDS_MAX));
        let armed = Phase::HEAD;
        phase.0.store(armed, Ordering::Relaxed);
        Self {
            socket,
            first: (first, 0),
            line: RequestLine::default(),
            is_new: true,
            is_awaited: false,
            phase,
            armed,
            deadline,
            write_deadline: None,
            next_look: None,
        }
    }

    fn arm(&mut self, phase: u8) {
        self.armed = phase;
        let span = if phase == Phase::HEAD { HEAD_SECONDS_MAX } else { IDLE_SECONDS_MAX };
        self.deadline.as_mut().reset(Instant::now() + span);
    }

    /// Bytes came, behind `before` that had been there: an idle connection begins a request's head.
    fn received(&mut self, out: &mut ReadBuf<'_>, before: usize) {
        let is_first = self.phase.get() == Phase::IDLE || self.is_new;
        if self.phase.get() == Phase::IDLE {
            self.phase.0.store(Phase::HEAD, Ordering::Relaxed);
            self.arm(Phase::HEAD);
        }
        self.is_new = false;
        let fresh = out.filled().get(before..).unwrap_or_default();
        let Some(straight) = self.line.straighten(fresh, is_first) else { return };
        out.set_filled(before);
        let (now, later) = straight.split_at(straight.len().min(out.remaining()));
        out.put_slice(now);
        if !later.is_empty() {
            let (first, taken) = &mut self.first;
            first.splice(..*taken, later.iter().copied());
            *taken = 0;
        }
    }

    fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let phase = self.phase.get();
        if phase == Phase::BODY || phase == Phase::BUSY {
            self.armed = phase;
            return Poll::Pending;
        }
        if self.armed != phase {
            self.arm(phase);
        }
        match self.deadline.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }

    /// Looks whether the client is still there while its request is carried out, where hyper does
    /// not: as long as it holds the bytes of a later request it reads none, and work would be begun
    /// and done for somebody who has left. A body that still comes is hyper's to read, in pieces
    /// that are larger than what is read here.
    fn look(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if self.is_awaited || self.phase.get() != Phase::BUSY {
            return Ok(());
        }
        let mut piece = [0; AHEAD_BYTES_MAX];
        loop {
            let (ahead, taken) = &mut self.first;
            let room = AHEAD_BYTES_MAX.saturating_sub(ahead.len() - *taken);
            if room == 0 {
                return self.look_behind(cx);
            }
            let mut read = ReadBuf::new(piece.get_mut(..room).unwrap_or_default());
            match Pin::new(&mut self.socket).poll_read(cx, &mut read)? {
                Poll::Pending => return Ok(()),
                Poll::Ready(()) if read.filled().is_empty() => {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                Poll::Ready(()) => ahead.extend_from_slice(read.filled()),
            }
        }
    }

    /// Asks the system whether the client has left behind bytes that nobody reads yet, now and
    /// every [`LOOK_INTERVAL`].
    fn look_behind(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        loop {
            if self.socket.has_left() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let next = self.next_look.get_or_insert_with(|| Box::pin(sleep(LOOK_INTERVAL)));
            match next.as_mut().poll(cx) {
                Poll::Pending => return Ok(()),
                Poll::Ready(()) => self.next_look = None,
            }
        }
    }

    fn poll_sent<T>(
        &mut self,
        cx: &mut Context<'_>,
        sent: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if sent.is_ready() {
            self.write_deadline = None;
            return sent;
        }
        let deadline =
            self.write_deadline.get_or_insert_with(|| Box::pin(sleep(WRITE_SECONDS_MAX)));
        match deadline.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.is_awaited = false;
        let before = out.filled().len();
        let (first, taken) = &mut self.first;
        let rest = first.get(*taken..).unwrap_or_default();
        if let Some(piece) = rest.get(..rest.len().min(out.remaining()))
            && !piece.is_empty()
        {
            out.put_slice(piece);
            *taken += piece.len();
            if *taken == first.len() {
                self.first = (Vec::new(), 0);
            }
            self.received(out, before);
            return Poll::Ready(Ok(()));
        }
        match Pin::new(&mut self.socket).poll_read(cx, out) {
            Poll::Ready(Ok(())) => {
                if out.filled().len() > before {
                    self.received(out, before);
                }
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => {
                self.is_awaited = true;
                self.poll_deadline(cx)
            }
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.poll_sent(cx, sent)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.socket).poll_write_vectored(cx, pieces);
        self.poll_sent(cx, sent)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.look(cx)?;
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::{BodyExt, Full};
    use hyper::body::Bytes;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (client, listener.accept().await.unwrap().0)
    }

    #[tokio::test]
    async fn sniffed_bytes_come_first_again() {
        let (mut client, socket) = pair().await;
        let mut stream = Stream::new(Wire::plain(socket), b"GET ".to_vec(), Arc::default());
        client.write_all(b"/ HTTP/1.1").await.unwrap();
        let mut text = [0; 14];
        stream.read_exact(&mut text).await.unwrap();
        assert_eq!(&text, b"GET / HTTP/1.1");
    }

    #[tokio::test]
    async fn a_head_that_stalls_is_cut_off_but_a_busy_connection_is_not() {
        let (_client, socket) = pair().await;
        tokio::time::pause();
        let phase: Arc<Phase> = Arc::default();
        let mut stream = Stream::new(Wire::plain(socket), b"GE".to_vec(), phase.clone());
        let mut text = [0; 8];
        assert_eq!(stream.read(&mut text).await.unwrap(), 2);
        let began = Instant::now();
        let error = stream.read(&mut text).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(began.elapsed().as_secs(), 10);
        phase.begin();
        let wait = tokio::time::timeout(Duration::from_secs(1000), stream.read(&mut text));
        assert!(wait.await.is_err());
        phase.end();
        let began = Instant::now();
        assert!(stream.read(&mut text).await.is_err());
        assert_eq!(began.elapsed().as_secs(), 120);
    }

    /// A body of a megabyte was once read a kilobyte at a time.
    #[tokio::test]
    async fn what_was_sent_of_a_body_is_read_at_once() {
        let (mut client, socket) = pair().await;
        let phase: Arc<Phase> = Arc::default();
        let mut stream = Stream::new(Wire::plain(socket), b"GE".to_vec(), phase.clone());
        let mut text = vec![0; 64 << 10];
        assert_eq!(stream.read(&mut text).await.unwrap(), 2);
        let sent = vec![b'x'; 16 << 10];
        let mut body = Arriving::new(Full::new(Bytes::from(sent.clone())), phase);
        client.write_all(&sent).await.unwrap();
        stream.flush().await.unwrap();
        assert_eq!(stream.read(&mut text).await.unwrap(), sent.len());
        // Behind it the client is looked for again.
        while body.frame().await.is_some() {}
        drop(client);
        let flushed = std::future::poll_fn(|cx| match Pin::new(&mut stream).poll_flush(cx) {
            Poll::Ready(Ok(())) => Poll::Pending,
            done => done,
        });
        assert_eq!(flushed.await.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[tokio::test]
    async fn who_left_is_seen_behind_more_than_is_read_ahead() {
        let (mut client, socket) = pair().await;
        let phase: Arc<Phase> = Arc::default();
        let mut stream = Stream::new(Wire::plain(socket), Vec::new(), phase.clone());
        phase.carry();
        client.write_all(&[b'x'; 16 << 10]).await.unwrap();
        let looked = std::future::poll_fn(|cx| match Pin::new(&mut stream).poll_flush(cx) {
            Poll::Ready(Ok(())) => Poll::Pending,
            done => done,
        });
        let left = async {
            sleep(LOOK_INTERVAL * 2).await;
            drop(client);
        };
        let (seen, ()) = tokio::join!(looked, left);
        assert_eq!(seen.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[tokio::test]
    async fn who_left_is_seen_behind_requests_that_were_sent_ahead() {
        let (mut client, socket) = pair().await;
        let phase: Arc<Phase> = Arc::default();
        let mut stream = Stream::new(Wire::plain(socket), b"GE".to_vec(), phase.clone());
        let mut text = [0; 8];
        assert_eq!(stream.read(&mut text).await.unwrap(), 2);
        phase.carry();
        client.write_all(b"T /").await.unwrap();
        stream.flush().await.unwrap();
        let flushed = async {
            // As hyper does whenever it is woken.
            std::future::poll_fn(|cx| match Pin::new(&mut stream).poll_flush(cx) {
                Poll::Ready(Ok(())) => Poll::Pending,
                done => done,
            })
            .await
        };
        let (seen, ()) = tokio::join!(flushed, async { drop(client) });
        assert_eq!(seen.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        phase.end();
        assert_eq!(stream.read(&mut text).await.unwrap(), 3);
        assert_eq!(&text[..3], b"T /");
    }
}
