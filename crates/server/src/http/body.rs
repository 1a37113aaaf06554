//! Bodies of requests: read whole, decompressed on the way, never beyond the limits.

use crate::http::reply::Reply;
use crate::limits::Limit;
use crate::shared::Shared;
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use http_body_util::BodyExt;
use hyper::body::{Body, Bytes};
use hyper::header::{self, HeaderMap};
use hyper::{StatusCode, body::Incoming};
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Longest silence within a body.
const SILENCE_SECONDS_MAX: Duration = Duration::from_secs(10);

/// Least rate of a body in any stretch as long as [`SILENCE_SECONDS_MAX`]: what came fast once may
/// not come drop by drop later.
const BYTES_PER_SECOND_MIN: u64 = 1024;

/// How long a body may wait for other requests to give memory back.
const MEMORY_SECONDS_MAX: Duration = Duration::from_secs(2);

/// Unit in which memory for bodies is handed out: a page.
const PERMIT_BYTES: usize = 4 << 10;

/// Memory for all bodies together.
#[derive(Debug)]
pub(crate) struct Budget(Arc<Semaphore>);

impl Budget {
    pub(crate) fn new(bytes: u64) -> Self {
        let permits = (bytes / PERMIT_BYTES as u64).clamp(1, Semaphore::MAX_PERMITS as u64 / 2);
        Self(Arc::new(Semaphore::new(permits as usize)))
    }

    /// Makes `held` as much as `bytes` need, but for less than a page, without waiting; nothing
    /// when there is not so much.
    pub(crate) fn hold(&self, held: &mut Option<OwnedSemaphorePermit>, bytes: usize) -> Option<()> {
        let wanted = bytes / PERMIT_BYTES;
        let has = held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        if wanted > has {
            let more = self.0.clone().try_acquire_many_owned((wanted - has) as u32).ok()?;
            merge(held, more);
        } else if let Some(permits) = held {
            drop(permits.split(has - wanted));
        }
        Some(())
    }
}

fn merge(held: &mut Option<OwnedSemaphorePermit>, more: OwnedSemaphorePermit) {
    match held {
        Some(permits) => permits.merge(more),
        None => *held = Some(more),
    }
}

/// A body in memory; its share of the budget is given back when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Text {
    pub(crate) bytes: Vec<u8>,
    permits: Option<OwnedSemaphorePermit>,
}

impl Text {
    /// The memory, to be used again.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Reads a body.
///
/// # Errors
/// The answer to give instead: 413 over a limit, 415 for an unknown encoding, 400 for damaged
/// compressed data, 408 when the client is too slow, 503 when there is no memory for it.
pub(crate) async fn read(
    shared: &Shared,
    headers: &HeaderMap,
    mut body: Incoming,
    buffer: Vec<u8>,
) -> Result<Text, Reply> {
    let limit = shared.config.limits_body_bytes.0;
    let met = |limit| shared.metrics.limits.add(limit);
    let too_long = || {
        met(Limit::BodyBytes);
        too_large("limits.body_bytes", limit)
    };
    let too_slow = || {
        met(Limit::BodyPace);
        too_slow()
    };
    if body.size_hint().lower() > limit {
        return Err(too_long());
    }
    let out = Bounded::new(buffer, shared.config.limits_decoded_body_bytes.0, &shared.body_budget);
    let mut sink = Sink::new(encoding(headers)?, out);
    let mut received = 0u64;
    let mut stretch = (Instant::now(), 0u64);
    loop {
        let frame = match tokio::time::timeout(SILENCE_SECONDS_MAX, body.frame()).await {
            Ok(None) => break,
            Ok(Some(Ok(frame))) => frame,
            Ok(Some(Err(error))) => {
                let text = format!("the body could not be read: {error}");
                return Err(Reply::text(StatusCode::BAD_REQUEST, text).close());
            }
            Err(_) => return Err(too_slow()),
        };
        let Ok(piece) = frame.into_data() else { continue };
        received += piece.len() as u64;
        if received > limit {
            return Err(too_long());
        }
        let (began, bytes) = &mut stretch;
        *bytes += piece.len() as u64;
        let elapsed = began.elapsed();
        if elapsed > SILENCE_SECONDS_MAX {
            if *bytes < elapsed.as_secs() * BYTES_PER_SECOND_MIN {
                return Err(too_slow());
            }
            stretch = (Instant::now(), 0);
        }
        sink.write(&piece).map_err(|reply| refused(shared, reply))?;
    }
    let text = sink.finish().map_err(|reply| refused(shared, reply))?;
    shared.metrics.http_bytes_received.add(received);
    Ok(text)
}

/// Counts a body that is too long, or that there was no memory for.
fn refused(shared: &Shared, reply: Reply) -> Reply {
    match reply.status {
        StatusCode::SERVICE_UNAVAILABLE => {
            shared.metrics.writes_refused.add(1);
            shared.metrics.limits.add(Limit::PendingBodyBytes);
        }
        StatusCode::PAYLOAD_TOO_LARGE => shared.metrics.limits.add(Limit::DecodedBodyBytes),
        _ => {}
    }
    reply
}

fn too_large(key: &str, limit: u64) -> Reply {
    let text = format!("the body is larger than {limit} bytes ({key})");
    Reply::text(StatusCode::PAYLOAD_TOO_LARGE, text).close()
}

fn too_slow() -> Reply {
    Reply::text(StatusCode::REQUEST_TIMEOUT, "the body arrived too slowly").close()
}

/// How a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Identity,
    Gzip,
    Deflate,
}

fn encoding(headers: &HeaderMap) -> Result<Encoding, Reply> {
    let mut found = Encoding::Identity;
    for value in headers.get_all(header::CONTENT_ENCODING) {
        for name in value.to_str().unwrap_or("?").split(',').map(str::trim) {
            let next = match name.to_ascii_lowercase().as_str() {
                "" | "identity" => continue,
                "gzip" | "x-gzip" => Encoding::Gzip,
                "deflate" => Encoding::Deflate,
                _ => {
                    let text = format!("Content-Encoding {name} is not known; use gzip or deflate");
                    return Err(Reply::text(StatusCode::UNSUPPORTED_MEDIA_TYPE, text).close());
                }
            };
            if found != Encoding::Identity {
                let text = "a body can be compressed once only";
                return Err(Reply::text(StatusCode::UNSUPPORTED_MEDIA_TYPE, text).close());
            }
            found = next;
        }
    }
    Ok(found)
}

/// Bytes that refuse to grow beyond a limit, and take from the budget before they grow: what stops
/// a decompression bomb while it unpacks.
#[derive(Debug)]
struct Bounded {
    text: Text,
    limit: u64,
    budget: Arc<Semaphore>,
}

impl Bounded {
    fn new(mut bytes: Vec<u8>, limit: u64, budget: &Budget) -> Self {
        bytes.clear();
        Self { text: Text { bytes, permits: None }, limit, budget: budget.0.clone() }
    }

    /// Makes room for so many bytes more, once they are charged.
    fn reserve(&mut self, more: usize) -> io::Result<()> {
        let Text { bytes, permits } = &mut self.text;
        let needed = bytes.len() + more;
        if needed as u64 > self.limit {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut capacity = bytes.capacity();
        if needed > capacity {
            let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
            capacity = needed.max(capacity.saturating_mul(2).min(limit));
        }
        let held = permits.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let missing = capacity.div_ceil(PERMIT_BYTES).saturating_sub(held);
        if missing > 0 {
            merge(permits, acquire(&self.budget, missing as u32)?);
        }
        bytes.reserve_exact(capacity - bytes.len());
        Ok(())
    }
}

/// Takes from the budget, and waits a while if it is used up.
fn acquire(budget: &Arc<Semaphore>, permits: u32) -> io::Result<OwnedSemaphorePermit> {
    if let Ok(taken) = budget.clone().try_acquire_many_owned(permits) {
        return Ok(taken);
    }
    let waiting = budget.clone().acquire_many_owned(permits);
    let waiting = async { tokio::time::timeout(MEMORY_SECONDS_MAX, waiting).await };
    let taken = tokio::task::block_in_place(|| Handle::current().block_on(waiting));
    taken.ok().and_then(Result::ok).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

impl Write for Bounded {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.reserve(piece.len())?;
        self.text.bytes.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Where the pieces of a body go.
enum Sink {
    Plain(Bounded),
    Gzip(MultiGzDecoder<Bounded>),
    /// Until its first two bytes tell which of the two formats called "deflate" it is.
    Deflate(Vec<u8>, Bounded),
    Zlib(ZlibDecoder<Bounded>),
    Raw(DeflateDecoder<Bounded>),
}

impl Sink {
    fn new(encoding: Encoding, out: Bounded) -> Self {
        match encoding {
            Encoding::Identity => Self::Plain(out),
            Encoding::Gzip => Self::Gzip(MultiGzDecoder::new(out)),
            Encoding::Deflate => Self::Deflate(Vec::new(), out),
        }
    }

    fn bounded(&mut self) -> &mut Bounded {
        match self {
            Self::Plain(out) | Self::Deflate(_, out) => out,
            Self::Gzip(decoder) => decoder.get_mut(),
            Self::Zlib(decoder) => decoder.get_mut(),
            Self::Raw(decoder) => decoder.get_mut(),
        }
    }

    fn write(&mut self, piece: &Bytes) -> Result<(), Reply> {
        let limit = self.bounded().limit;
        let outcome = match self {
            Self::Plain(out) => out.write_all(piece),
            // Unpacking may take long; the other tasks of this thread go on elsewhere meanwhile.
            _ => tokio::task::block_in_place(|| self.unpack(piece)),
        };
        outcome.map_err(|error| refusal(&error, limit))
    }

    fn unpack(&mut self, piece: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.write_all(piece),
            Self::Gzip(decoder) => decoder.write_all(piece),
            Self::Zlib(decoder) => decoder.write_all(piece),
            Self::Raw(decoder) => decoder.write_all(piece),
            Self::Deflate(head, out) => {
                head.extend_from_slice(piece);
                let &[first, second, ..] = head.as_slice() else { return Ok(()) };
                let head = std::mem::take(head);
                let (text, limit) = (std::mem::take(&mut out.text), out.limit);
                let out = Bounded { text, limit, budget: out.budget.clone() };
                // RFC 1950: method 8 in the low bits, and the pair divisible by 31.
                let pair = u16::from(first) * 256 + u16::from(second);
                let is_zlib = first & 15 == 8 && pair.is_multiple_of(31);
                *self = match is_zlib {
                    true => Self::Zlib(ZlibDecoder::new(out)),
                    false => Self::Raw(DeflateDecoder::new(out)),
                };
                self.unpack(&head)
            }
        }
    }

    fn finish(mut self) -> Result<Text, Reply> {
        let limit = self.bounded().limit;
        let finished = match self {
            Self::Plain(out) => Ok(out),
            Self::Gzip(decoder) => decoder.finish(),
            Self::Zlib(decoder) => decoder.finish(),
            Self::Raw(decoder) => decoder.finish(),
            Self::Deflate(head, out) if head.is_empty() => Ok(out),
            Self::Deflate(..) => Err(io::ErrorKind::UnexpectedEof.into()),
        };
        finished.map(|out| out.text).map_err(|error| refusal(&error, limit))
    }
}

fn refusal(error: &io::Error, limit: u64) -> Reply {
    match error.kind() {
        io::ErrorKind::FileTooLarge => too_large("limits.decoded_body_bytes", limit),
        io::ErrorKind::OutOfMemory => {
            let text = "too many bytes of requests are being worked on \
                        (limits.pending_body_bytes); try again";
            Reply::text(StatusCode::SERVICE_UNAVAILABLE, text).retry_after(2).close()
        }
        _ => {
            let text = format!("the compressed body is damaged: {error}");
            Reply::text(StatusCode::BAD_REQUEST, text).close()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    fn unpack(encoding: Encoding, limit: u64, packed: &[u8]) -> Result<Vec<u8>, StatusCode> {
        let budget = Budget::new(64 << 20);
        let mut sink = Sink::new(encoding, Bounded::new(Vec::new(), limit, &budget));
        for byte in packed {
            sink.unpack(&[*byte]).map_err(|error| refusal(&error, limit).status)?;
        }
        sink.finish().map(Text::into_bytes).map_err(|reply| reply.status)
    }

    #[test]
    fn all_spellings_of_compression_are_read() {
        let text = b"put m 1 2 h=a\n".repeat(100);
        let fast = Compression::fast;
        let mut gzip = GzEncoder::new(Vec::new(), fast());
        gzip.write_all(&text).unwrap();
        let gzip = gzip.finish().unwrap();
        assert_eq!(unpack(Encoding::Gzip, 9999, &gzip).unwrap(), text);
        let twice = [gzip.clone(), gzip.clone()].concat();
        assert_eq!(unpack(Encoding::Gzip, 9999, &twice).unwrap().len(), 2 * text.len());
        let mut zlib = ZlibEncoder::new(Vec::new(), fast());
        zlib.write_all(&text).unwrap();
        assert_eq!(unpack(Encoding::Deflate, 9999, &zlib.finish().unwrap()).unwrap(), text);
        let mut raw = DeflateEncoder::new(Vec::new(), fast());
        raw.write_all(&text).unwrap();
        assert_eq!(unpack(Encoding::Deflate, 9999, &raw.finish().unwrap()).unwrap(), text);
        assert_eq!(unpack(Encoding::Identity, 9999, &text).unwrap(), text);
    }

    #[test]
    fn bombs_and_damage_are_refused() {
        let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
        bomb.write_all(&vec![0; 10 << 20]).unwrap();
        let bomb = bomb.finish().unwrap();
        assert!(bomb.len() < 20_000);
        let too_large = StatusCode::PAYLOAD_TOO_LARGE;
        assert_eq!(unpack(Encoding::Gzip, 1 << 20, &bomb), Err(too_large));
        let bad = StatusCode::BAD_REQUEST;
        assert_eq!(unpack(Encoding::Gzip, 1 << 20, b"not gzip at all"), Err(bad));
        assert_eq!(unpack(Encoding::Gzip, 99 << 20, &bomb[..bomb.len() / 2]), Err(bad));
        assert_eq!(unpack(Encoding::Identity, 3, b"abcd"), Err(too_large));
    }

    #[test]
    fn bytes_are_charged_before_they_grow_and_given_back() {
        let budget = Budget::new(1 << 20);
        let mut out = Bounded::new(Vec::new(), 10 << 20, &budget);
        out.write_all(&[0; 600 << 10]).unwrap();
        let left = budget.0.available_permits() * PERMIT_BYTES;
        assert!(left + out.text.bytes.capacity() <= 1 << 20, "{left}");
        let mut line = None;
        assert!(budget.hold(&mut line, 600 << 10).is_none());
        drop(out);
        assert!(budget.hold(&mut line, 600 << 10).is_some());
        assert!(budget.hold(&mut line, 100).is_some(), "less than a page is for free");
        assert_eq!(budget.0.available_permits() * PERMIT_BYTES, 1 << 20);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_bomb_finds_no_memory_before_it_unpacks() {
        let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
        bomb.write_all(&vec![0; 64 << 20]).unwrap();
        let bomb = bomb.finish().unwrap();
        let budget = Budget::new(1 << 20);
        let mut sink = Sink::new(Encoding::Gzip, Bounded::new(Vec::new(), 1 << 30, &budget));
        let error = sink.unpack(&bomb).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::OutOfMemory);
        assert!(sink.bounded().text.bytes.capacity() <= 1 << 20);
    }
}
