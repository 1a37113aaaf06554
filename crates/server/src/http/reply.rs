//! Answers: status, headers and a body that is there or streams.

use crate::query::Failure;
use crate::stream::Phase;
use flate2::{Compression, write::GzEncoder};
use foliot_engine::{Ack, Commit};
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use std::io::Write;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// Bodies up to this size are not worth compressing: they fit one packet.
const GZIP_BYTES_MIN: usize = 1024;

/// What is no page of ours runs nothing, loads nothing and is shown in no frame.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'";

/// Headers that answers are given room for: most have as many, beside those of all answers.
const HEADERS_USUAL: usize = 4;

const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

pub(crate) const JSON: &str = "application/json; charset=UTF-8";
pub(crate) const PLAIN: &str = "text/plain; charset=utf-8";

/// An answer before it is sent.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) content: Content,
}

/// The body of an answer.
#[derive(Debug)]
pub(crate) enum Content {
    Full(Vec<u8>),
    /// Pieces as they are made.
    Pieces(Pieces),
}

/// A step of an answer that is being made.
#[derive(Debug)]
pub(crate) enum Message {
    /// What follows, which is nothing yet, is to be heard once this is safe.
    Once(Commit, Ack),
    /// A piece; more will follow.
    Piece(Vec<u8>),
    /// The last piece. The status counts when it is the only one.
    Last(StatusCode, Vec<u8>),
    /// There will be no more, and what was sent is not an answer.
    Failed(Failure),
}

/// An answer that is being made. When it is dropped, `_leaver` tells whoever makes it.
pub(crate) struct Pieces {
    first: Vec<u8>,
    rest: Option<mpsc::Receiver<Message>>,
    _leaver: Box<dyn Send>,
}

impl Pieces {
    pub(crate) fn new(
        first: Vec<u8>,
        rest: mpsc::Receiver<Message>,
        leaver: Box<dyn Send>,
    ) -> Self {
        Self { first, rest: Some(rest), _leaver: leaver }
    }

    /// The next piece. One that is an error ends the connection, so that the client cannot take
    /// half an answer for a whole one.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Vec<u8>, Aborted>>> {
        if !self.first.is_empty() {
            return Poll::Ready(Some(Ok(std::mem::take(&mut self.first))));
        }
        let Some(rest) = &mut self.rest else { return Poll::Ready(None) };
        let Poll::Ready(message) = rest.poll_recv(cx) else { return Poll::Pending };
        Poll::Ready(match message {
            Some(Message::Piece(bytes)) => Some(Ok(bytes)),
            Some(Message::Last(_, bytes)) => {
                self.rest = None;
                (!bytes.is_empty()).then_some(Ok(bytes))
            }
            Some(Message::Failed(failure)) => {
                log::warn!("an answer was broken off: {}", failure.message);
                Some(Err(Aborted))
            }
            // It comes before the first piece.
            Some(Message::Once(..)) | None => Some(Err(Aborted)),
        })
    }
}

impl std::fmt::Debug for Pieces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pieces").finish_non_exhaustive()
    }
}

/// An answer ended before it was complete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aborted;

impl std::fmt::Display for Aborted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the answer ended before it was complete")
    }
}

impl std::error::Error for Aborted {}

impl Reply {
    /// An answer with a body of the given type.
    pub(crate) fn new(status: StatusCode, kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        let mut headers = Vec::with_capacity(HEADERS_USUAL);
        headers.push((header::CONTENT_TYPE, HeaderValue::from_static(kind)));
        Self { status, headers, content: Content::Full(body.into()) }
    }

    /// An answer without a body.
    pub(crate) fn empty(status: StatusCode) -> Self {
        Self { status, headers: Vec::new(), content: Content::Full(Vec::new()) }
    }

    /// An answer whose body is still being made.
    pub(crate) fn streaming(kind: &'static str, pieces: Pieces) -> Self {
        Self { content: Content::Pieces(pieces), ..Self::new(StatusCode::OK, kind, "") }
    }

    pub(crate) fn json(status: StatusCode, body: impl Into<Vec<u8>>) -> Self {
        Self::new(status, JSON, body)
    }

    /// A sentence for a person; a newline is added.
    pub(crate) fn text(status: StatusCode, text: impl Into<String>) -> Self {
        let mut text = text.into();
        text.push('\n');
        Self::new(status, PLAIN, text)
    }

    /// Adds a header that always says the same.
    pub(crate) fn fixed(mut self, name: HeaderName, value: &'static str) -> Self {
        self.headers.push((name, HeaderValue::from_static(value)));
        self
    }

    pub(crate) fn header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((name, value));
        }
        self
    }

    /// Tells a client that is put off when to come again, unless it was told.
    pub(crate) fn with_retry(self, seconds: impl FnOnce() -> u32) -> Self {
        let is_put_off =
            matches!(self.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
        let is_told = self.headers.iter().any(|(name, _)| name == header::RETRY_AFTER);
        match is_put_off && !is_told {
            true => self.retry_after(seconds()),
            false => self,
        }
    }

    /// Asks the client to come back in `seconds`.
    pub(crate) fn retry_after(self, seconds: u32) -> Self {
        self.header(header::RETRY_AFTER, &seconds.to_string())
    }

    /// Ends the connection after this answer, because the request was not read to its end.
    pub(crate) fn close(self) -> Self {
        self.header(header::CONNECTION, "close")
    }

    /// Compresses a body that is there, if the client takes that and it is worth it.
    pub(crate) fn compress(mut self, takes_gzip: bool) -> Self {
        if let Content::Full(body) = &self.content
            && takes_gzip
            && body.len() > GZIP_BYTES_MIN
            && !self.headers.iter().any(|(name, _)| name == header::CONTENT_ENCODING)
        {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            if let Ok(packed) = encoder.write_all(body).and_then(|()| encoder.finish()) {
                self.content = Content::Full(packed);
                return self.gzipped();
            }
        }
        self
    }

    /// Marks the body as compressed.
    pub(crate) fn gzipped(self) -> Self {
        self.header(header::CONTENT_ENCODING, "gzip").header(header::VARY, "accept-encoding")
    }

    pub(crate) fn into_response(self, phase: Arc<Phase>) -> Response<ReplyBody> {
        let mut response = Response::new(ReplyBody { content: self.content, phase });
        *response.status_mut() = self.status;
        // Three are for all answers.
        response.headers_mut().reserve(self.headers.len() + 3);
        for (name, value) in self.headers {
            match name == header::VARY {
                true => drop(response.headers_mut().append(name, value)),
                false => drop(response.headers_mut().insert(name, value)),
            }
        }
        let nosniff = HeaderValue::from_static("nosniff");
        let headers = response.headers_mut();
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
        // Browsers do not say to plain addresses for whom they load: then they look at this.
        headers.insert(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
        if !headers.contains_key(header::CONTENT_SECURITY_POLICY) {
            let nothing = HeaderValue::from_static(NOTHING);
            headers.insert(header::CONTENT_SECURITY_POLICY, nothing);
        }
        response
    }
}

/// Whether the client takes gzip (RFC 9110, 12.5.3, without weighing alternatives).
pub(crate) fn accepts_gzip(request: &HeaderMap) -> bool {
    let lists = request.get_all(header::ACCEPT_ENCODING).iter().filter_map(|v| v.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|item| {
        let (name, parameters) = item.split_once(';').unwrap_or((item, ""));
        let refused = parameters.trim().strip_prefix("q=").is_some_and(|q| q.parse() == Ok(0.0));
        name.trim().eq_ignore_ascii_case("gzip") && !refused
    })
}

/// The body as hyper sends it. When it is dropped the request is over, whatever became of it.
#[derive(Debug)]
pub(crate) struct ReplyBody {
    content: Content,
    phase: Arc<Phase>,
}

impl Drop for ReplyBody {
    fn drop(&mut self) {
        self.phase.end();
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Aborted;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Aborted>>> {
        match &mut self.content {
            Content::Full(body) if body.is_empty() => Poll::Ready(None),
            Content::Full(body) => {
                let body = Bytes::from(std::mem::take(body));
                Poll::Ready(Some(Ok(Frame::data(body))))
            }
            Content::Pieces(pieces) => {
                pieces.poll(cx).map(|piece| Some(piece?.map(|bytes| Frame::data(bytes.into()))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.content, Content::Full(body) if body.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Full(body) => SizeHint::with_exact(body.len() as u64),
            Content::Pieces(_) => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_used_only_when_asked_for_and_worth_it() {
        let asks = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_str(value).unwrap());
            headers
        };
        assert!(accepts_gzip(&asks("deflate, GZip;q=0.5")));
        assert!(!accepts_gzip(&asks("gzip;q=0")) && !accepts_gzip(&asks("br")));
        assert!(!accepts_gzip(&HeaderMap::new()));
        let packed = |size| {
            let reply = Reply::text(StatusCode::OK, "x".repeat(size)).compress(true);
            reply.headers.iter().any(|(name, _)| name == header::CONTENT_ENCODING)
        };
        assert!(packed(2000) && !packed(100));
    }
}
