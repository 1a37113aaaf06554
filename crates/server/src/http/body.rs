//! Bodies of requests: read whole, decompressed on the way, never beyond the limits.

#[cfg(test)]
mod tests;

use crate::aside::aside;
use crate::budget::{Budget, Held, PERMIT_BYTES, acquire, merge};
use crate::http::Asked;
use crate::http::reply::Reply;
use crate::ingest::HEAVY_BYTES;
use crate::limits::Limit;
use crate::shared::{Shared, Spares};
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use foliot_lock::Mutex;
use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::body::{Body, Bytes};
use hyper::header::{self, HeaderMap};
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

/// Most that deflate makes of a byte: 258 bytes of two bits.
const UNPACKED_PER_BYTE_MAX: u64 = 1032;

/// Packed bytes that are unpacked before a change of threads would pay: into a megabyte at most.
const BRIEF_BYTES: usize = 1 << 10;

/// Most that snappy makes of a byte: a copy of 64 bytes takes three.
const UNSNAPPED_PER_BYTE_MAX: usize = 22;

/// Memory that zstd may want to look back at, as a power of two: 8 MiB, which all decoders should
/// allow (RFC 8878, 3.1.1.1.2).
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

/// A body in memory; its share of the budget is given back when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Text {
    pub(crate) bytes: Vec<u8>,
    permits: Held,
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
    body: Asked,
    buffer: Vec<u8>,
) -> Result<Text, Reply> {
    read_as(shared, encoding(headers)?, body, buffer).await
}

/// Reads a body of remote write or read: one block of snappy, which a `Content-Encoding` may leave
/// out, or zstd.
///
/// # Errors
/// As [`read`].
pub(crate) async fn read_block(
    shared: &Shared,
    headers: &HeaderMap,
    body: Asked,
    buffer: Vec<u8>,
) -> Result<Text, Reply> {
    let given =
        headers.get(header::CONTENT_ENCODING).map_or("", |name| name.to_str().unwrap_or("?"));
    let encoding = match given.to_ascii_lowercase().as_str() {
        "" | "snappy" => Encoding::Snappy,
        "zstd" => Encoding::Zstd,
        _ => {
            let text = format!("Content-Encoding {given} is not taken here; use snappy or zstd");
            return Err(Reply::text(StatusCode::UNSUPPORTED_MEDIA_TYPE, text).close());
        }
    };
    read_as(shared, encoding, body, buffer).await
}

async fn read_as(
    shared: &Shared,
    encoding: Encoding,
    mut body: Asked,
    buffer: Vec<u8>,
) -> Result<Text, Reply> {
    // Questions seldom have one.
    if encoding == Encoding::Identity && body.is_end_stream() {
        return Ok(Text::default());
    }
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
    let most = Most::of(shared.config.limits_decoded_body_bytes.0, &shared.body_budget);
    let announced = body.size_hint();
    let may_wait = match encoding {
        Encoding::Identity | Encoding::Snappy if announced.lower() > most.bytes => {
            return Err(refused(shared, most.refusal()));
        }
        Encoding::Identity | Encoding::Snappy => true,
        // It has no bound to what it makes of a byte.
        Encoding::Zstd => false,
        _ => announced.upper().is_some_and(|packed| most.fits_unpacked(packed)),
    };
    let mut sink = Sink::new(encoding, Bounded::new(buffer, most, may_wait, &shared.body_budget));
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
        sink.wait_for_room(piece.len()).await.map_err(|reply| refused(shared, reply))?;
        sink.write(&piece).map_err(|reply| refused(shared, reply))?;
    }
    let spares = (&shared.bytes, &shared.unpacked);
    let text = sink.finish(spares).map_err(|reply| refused(shared, reply))?;
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
        StatusCode::PAYLOAD_TOO_LARGE => {
            let decoded = shared.config.limits_decoded_body_bytes.0;
            shared.metrics.limits.add(Most::of(decoded, &shared.body_budget).limit);
        }
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
    /// A block of snappy, which says first how long it will be.
    Snappy,
    /// Frames of zstd.
    Zstd,
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

/// Whether a block of snappy says that it is unpacked before a change of threads would pay.
fn is_brief(packed: &Bounded) -> bool {
    let length = snap::raw::decompress_len(&packed.text.bytes);
    length.is_ok_and(|length| length <= HEAVY_BYTES)
}

/// Memory that was used before: for bytes off the wire, and for what is unpacked, with what lies
/// in it.
type BodySpares<'a> = (&'a Spares<Vec<u8>>, &'a Spares<Vec<u8>>);

/// Unpacks a block of snappy into memory that was charged for all of it before it is taken.
fn unpack_snappy(packed: Bounded, (wire, unpacked): BodySpares<'_>) -> io::Result<Bounded> {
    let mut out = packed.beside();
    out.packed = packed.finish()?;
    let packed_len = out.packed.bytes.len();
    let length = snap::raw::decompress_len(&out.packed.bytes)?;
    if length as u64 > out.most.bytes {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    if length > packed_len.saturating_mul(UNSNAPPED_PER_BYTE_MAX) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // What lies in the memory is written over: a block that does not say all of it is damaged.
    out.text.bytes = unpacked.take();
    out.text.bytes.truncate(length);
    let more = length - out.text.bytes.len();
    if out.reserve(more)?.is_none() {
        return Ok(out);
    }
    out.text.bytes.resize(length, 0);
    snap::raw::Decoder::new().decompress(&out.packed.bytes, &mut out.text.bytes)?;
    wire.give(std::mem::take(&mut out.packed).into_bytes());
    Ok(out)
}

/// Unpacks frames of zstd, which must be whole.
fn unpack_zstd(packed: Bounded, (wire, unpacked): BodySpares<'_>) -> io::Result<Bounded> {
    let (mut out, packed) = (packed.beside(), packed.finish()?);
    out.text.bytes = unpacked.take();
    out.text.bytes.clear();
    let mut decoder = zstd::stream::read::Decoder::with_buffer(packed.bytes.as_slice())?;
    decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
    io::copy(&mut decoder, &mut out)?;
    drop(decoder);
    wire.give(packed.into_bytes());
    Ok(out)
}

/// How long a body may become, and which limit says so.
#[derive(Clone, Copy, Debug)]
struct Most {
    bytes: u64,
    limit: Limit,
}

impl Most {
    /// What neither is allowed nor would ever find room is refused as soon as that is known.
    fn of(decoded_bytes: u64, budget: &Budget) -> Self {
        match decoded_bytes <= budget.bytes() {
            true => Self { bytes: decoded_bytes, limit: Limit::DecodedBodyBytes },
            false => Self { bytes: budget.bytes(), limit: Limit::PendingBodyBytes },
        }
    }

    /// Whether so many compressed bytes fit whatever is in them.
    fn fits_unpacked(self, packed: u64) -> bool {
        packed.saturating_mul(UNPACKED_PER_BYTE_MAX) <= self.bytes
    }

    fn refusal(self) -> Reply {
        too_large(self.limit.name(), self.bytes)
    }
}

/// Bytes that refuse to grow beyond a limit, and take from the budget before they grow: what stops
/// a decompression bomb while it unpacks.
///
/// Where there is no room, what surely fits waits for it. What may turn out to be too long gives
/// back what it has and is only counted from then on: it is told at its end which of the two it is.
///
/// Bodies grow beside each other, so that two may both want what the other has. They give it back
/// one after the other, and each looks before whether it now finds room: so one of them does.
#[derive(Debug)]
struct Bounded {
    text: Text,
    /// What it is unpacked from, where that was charged, too.
    packed: Text,
    most: Most,
    may_wait: bool,
    /// How long it is, once there was no room for it.
    counted: Option<usize>,
    budget: Arc<Semaphore>,
    patient: Arc<Semaphore>,
    giving_back: Arc<Mutex<()>>,
}

impl Bounded {
    fn new(mut bytes: Vec<u8>, most: Most, may_wait: bool, budget: &Budget) -> Self {
        bytes.clear();
        let (text, packed) = (Text { bytes, permits: None }, Text::default());
        let Budget { free, patient, giving_back, .. } = budget;
        let (budget, patient) = (free.clone(), patient.clone());
        let giving_back = giving_back.clone();
        Self { text, packed, most, may_wait, counted: None, budget, patient, giving_back }
    }

    /// The same bounds, and nothing taken.
    fn beside(&self) -> Self {
        let (budget, patient) = (self.budget.clone(), self.patient.clone());
        let giving_back = self.giving_back.clone();
        let Self { most, may_wait, .. } = *self;
        let (text, packed) = (Text::default(), Text::default());
        Self { text, packed, most, may_wait, counted: None, budget, patient, giving_back }
    }

    /// The same bounds, and what was taken so far.
    fn take(&mut self) -> Self {
        let (text, counted) = (std::mem::take(&mut self.text), self.counted);
        Self { text, counted, ..self.beside() }
    }

    /// Makes room for so many bytes more, once they are charged; nothing while they are counted.
    fn reserve(&mut self, more: usize) -> io::Result<Option<&mut Vec<u8>>> {
        let needed = self.counted.unwrap_or(self.text.bytes.len()).saturating_add(more);
        if needed as u64 > self.most.bytes {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        if self.counted.is_none() && !self.reserve_charged(needed)? {
            self.counted = Some(needed);
        }
        match &mut self.counted {
            None => Ok(Some(&mut self.text.bytes)),
            Some(counted) => {
                *counted = needed;
                Ok(None)
            }
        }
    }

    /// What it grows to for `needed` bytes, and how many permits that takes beside those it has.
    fn growth(&self, needed: usize) -> (usize, u32) {
        let mut capacity = self.text.bytes.capacity();
        if needed > capacity {
            let limit = usize::try_from(self.most.bytes).unwrap_or(usize::MAX);
            capacity = needed.max(capacity.saturating_mul(2).min(limit));
        }
        (capacity, self.missing(capacity))
    }

    /// The same where there is no room for so much.
    fn least(&self, needed: usize) -> (usize, u32) {
        let capacity = needed.max(self.text.bytes.capacity());
        (capacity, self.missing(capacity))
    }

    /// How many permits `capacity` bytes take beside those it has.
    fn missing(&self, capacity: usize) -> u32 {
        let held = self.text.permits.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        capacity.div_ceil(PERMIT_BYTES).saturating_sub(held) as u32
    }

    /// Waits a while for room for so many bytes more, if it may and they are not too many.
    async fn wait_for_room(&mut self, more: usize) -> io::Result<()> {
        let needed = self.text.bytes.len().saturating_add(more);
        let is_kept = self.may_wait && self.counted.is_none() && needed as u64 <= self.most.bytes;
        if !is_kept || self.take_free(needed) {
            return Ok(());
        }
        match acquire(&self.budget, self.least(needed).1).await {
            Some(taken) => merge(&mut self.text.permits, taken),
            None if self.take_free_or_give_back(needed) => {}
            None => return Err(io::ErrorKind::OutOfMemory.into()),
        }
        Ok(())
    }

    /// Whether there is room for `needed` bytes. If not, what it had is given back.
    fn reserve_charged(&mut self, needed: usize) -> io::Result<bool> {
        if self.take_free(needed) {
            return Ok(true);
        }
        // It has a thread to wait, unless too many have: its loop would have none to go on.
        let patient = self.patient.clone();
        let place = self.may_wait.then(|| patient.try_acquire().ok()).flatten();
        if place.is_some() {
            let waiting = acquire(&self.budget, self.least(needed).1);
            if let Some(taken) = aside(|| Handle::current().block_on(waiting)) {
                merge(&mut self.text.permits, taken);
                self.grow(needed);
                return Ok(true);
            }
        }
        match self.take_free_or_give_back(needed) {
            true => Ok(true),
            false if place.is_some() => Err(io::ErrorKind::OutOfMemory.into()),
            false => Ok(false),
        }
    }

    /// Grows to `needed` bytes at least if there is room at present: to as many more as it has
    /// rather than to a few.
    fn take_free(&mut self, needed: usize) -> bool {
        for (capacity, missing) in [self.growth(needed), self.least(needed)] {
            if missing > 0 {
                let Ok(taken) = self.budget.clone().try_acquire_many_owned(missing) else {
                    continue;
                };
                merge(&mut self.text.permits, taken);
            }
            self.grow(capacity);
            return true;
        }
        false
    }

    /// The same, and if there is no room, gives back what it has. Others that find no room at the
    /// same moment look again when that is done.
    fn take_free_or_give_back(&mut self, needed: usize) -> bool {
        let giving_back = self.giving_back.clone();
        let _one_at_a_time = giving_back.lock();
        let is_taken = self.take_free(needed);
        if !is_taken {
            self.text = Text::default();
            self.packed = Text::default();
        }
        is_taken
    }

    /// Grows to so many bytes, which are charged.
    fn grow(&mut self, capacity: usize) {
        let bytes = &mut self.text.bytes;
        bytes.reserve_exact(capacity.saturating_sub(bytes.len()));
    }

    fn finish(self) -> io::Result<Text> {
        match self.counted {
            None => Ok(self.text),
            Some(_) => Err(io::ErrorKind::OutOfMemory.into()),
        }
    }
}

impl Write for Bounded {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if let Some(bytes) = self.reserve(piece.len())? {
            bytes.extend_from_slice(piece);
        }
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
    /// Still packed: a block is unpacked as a whole.
    Snappy(Bounded),
    /// Still packed too: only its end tells whether it is whole.
    Zstd(Bounded),
}

impl Sink {
    fn new(encoding: Encoding, out: Bounded) -> Self {
        match encoding {
            Encoding::Identity => Self::Plain(out),
            Encoding::Gzip => Self::Gzip(MultiGzDecoder::new(out)),
            Encoding::Deflate => Self::Deflate(Vec::new(), out),
            Encoding::Snappy => Self::Snappy(out),
            Encoding::Zstd => Self::Zstd(out),
        }
    }

    fn bounded(&mut self) -> &mut Bounded {
        match self {
            Self::Plain(out) | Self::Snappy(out) | Self::Zstd(out) | Self::Deflate(_, out) => out,
            Self::Gzip(decoder) => decoder.get_mut(),
            Self::Zlib(decoder) => decoder.get_mut(),
            Self::Raw(decoder) => decoder.get_mut(),
        }
    }

    /// Waits a while for room for a piece that is kept as it came. What unpacking makes of one is
    /// known only then, and waits then.
    async fn wait_for_room(&mut self, more: usize) -> Result<(), Reply> {
        let most = self.bounded().most;
        let waited = match self {
            Self::Plain(out) | Self::Snappy(out) | Self::Zstd(out) => out.wait_for_room(more).await,
            _ => Ok(()),
        };
        waited.map_err(|error| refusal(&error, most))
    }

    fn write(&mut self, piece: &Bytes) -> Result<(), Reply> {
        let most = self.bounded().most;
        let outcome = match self {
            Self::Plain(out) | Self::Snappy(out) | Self::Zstd(out) => out.write_all(piece),
            _ if piece.len() <= BRIEF_BYTES => self.unpack(piece),
            // Unpacking may take long; the other tasks of this thread go on elsewhere meanwhile.
            _ => aside(|| self.unpack(piece)),
        };
        outcome.map_err(|error| refusal(&error, most))
    }

    fn unpack(&mut self, piece: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(out) | Self::Snappy(out) | Self::Zstd(out) => out.write_all(piece),
            Self::Gzip(decoder) => decoder.write_all(piece),
            Self::Zlib(decoder) => decoder.write_all(piece),
            Self::Raw(decoder) => decoder.write_all(piece),
            Self::Deflate(head, out) => {
                head.extend_from_slice(piece);
                let &[first, second, ..] = head.as_slice() else { return Ok(()) };
                let head = std::mem::take(head);
                let out = out.take();
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

    /// All of the body; `spares` have memory for a block that is unpacked, and get that of what was
    /// packed.
    fn finish(mut self, spares: BodySpares<'_>) -> Result<Text, Reply> {
        let most = self.bounded().most;
        let finished = match self {
            Self::Plain(out) => Ok(out),
            Self::Snappy(packed) if is_brief(&packed) => unpack_snappy(packed, spares),
            Self::Snappy(packed) => aside(|| unpack_snappy(packed, spares)),
            Self::Zstd(packed) => aside(|| unpack_zstd(packed, spares)),
            Self::Gzip(decoder) => decoder.finish(),
            Self::Zlib(decoder) => decoder.finish(),
            Self::Raw(decoder) => decoder.finish(),
            Self::Deflate(head, out) if head.is_empty() => Ok(out),
            Self::Deflate(..) => Err(io::ErrorKind::UnexpectedEof.into()),
        };
        finished.and_then(Bounded::finish).map_err(|error| refusal(&error, most))
    }
}

fn refusal(error: &io::Error, most: Most) -> Reply {
    match error.kind() {
        io::ErrorKind::FileTooLarge => most.refusal(),
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
