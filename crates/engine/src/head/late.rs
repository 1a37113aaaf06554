//! Late samples of a page: those that came when a block of their time was sealed already.
//!
//! Each series' late samples are a chain of bytes in the page's slab, in the order of arrival, so
//! that adding one touches one place. They wait for the flush.
//!
//! ```text
//! sample   time i64 LE | kind-scale | value, as for a first sample (stream.rs)
//! ```

use super::slab::{self, Handle, Slab};
use super::stream::{Decoded, KindScale, decode_bits, put_value};
use crate::columns::Columns;
use crate::limits::PAGE_SERIES;
use foliot_model::TimeRange;

/// Where the late samples of one series end.
#[derive(Clone, Copy, Debug)]
struct End {
    chunk: Handle,
    used: u8,
}

const NOTHING: End = End { chunk: slab::NONE, used: 0 };

/// The late samples of a page. Nothing but a flag until the first one.
#[derive(Clone, Debug, Default)]
pub(super) struct Late {
    ends: Option<Box<[End; PAGE_SERIES]>>,
    buffer: Vec<u8>,
}

impl Late {
    fn end(&self, local: usize) -> Option<&End> {
        self.ends.as_ref()?.get(local)
    }

    /// Whether the series has late samples.
    pub(super) fn has(&self, local: usize) -> bool {
        self.end(local).is_some_and(|end| end.chunk != slab::NONE)
    }

    /// Whether no series has.
    pub(super) fn is_empty(&self) -> bool {
        let ends = self.ends.as_deref();
        ends.is_none_or(|ends| ends.iter().all(|end| end.chunk == slab::NONE))
    }

    /// Adds a sample; `bytes` are those of text or a histogram.
    pub(super) fn push(&mut self, slab: &mut Slab, local: usize, sample: Decoded, bytes: &[u8]) {
        let ends = self.ends.get_or_insert_with(|| Box::new([NOTHING; PAGE_SERIES]));
        let Some(end) = ends.get_mut(local) else { return };
        let code = &mut self.buffer;
        code.clear();
        code.extend_from_slice(&sample.time_ns.to_le_bytes());
        code.push(sample.kind_scale.0);
        put_value(code, sample.kind_scale, sample.bits, bytes);
        slab.append(&mut end.chunk, &mut end.used, code);
    }

    /// Adds the late samples of a series in `range` to `out`, in the order of arrival.
    pub(super) fn copy(&self, slab: &Slab, local: usize, range: TimeRange, out: &mut Columns) {
        let Some(end) = self.end(local).filter(|end| end.chunk != slab::NONE) else { return };
        let mut bytes = Vec::new();
        slab.copy_chain(end.chunk, end.used, &mut bytes);
        let mut rest = &bytes[..];
        while let Some(sample) = next(&mut rest, bytes.len()) {
            if range.contains(sample.time_ns) {
                out.push(sample, &bytes);
            }
        }
    }

    /// Takes the late samples of a series in `range` away; they are added to `taken`.
    pub(super) fn take(
        &mut self,
        slab: &mut Slab,
        local: usize,
        range: TimeRange,
        taken: &mut Columns,
    ) {
        let Some(end) = self.end(local).copied().filter(|end| end.chunk != slab::NONE) else {
            return;
        };
        let mut bytes = Vec::new();
        slab.copy_chain(end.chunk, end.used, &mut bytes);
        slab.free_chain(end.chunk);
        if let Some(end) = self.ends.as_mut().and_then(|ends| ends.get_mut(local)) {
            *end = NOTHING;
        }
        let mut rest = &bytes[..];
        while let Some(sample) = next(&mut rest, bytes.len()) {
            match range.contains(sample.time_ns) {
                true => taken.push(sample, &bytes),
                false => {
                    let text = match sample.kind_scale.is_bytes() {
                        true => crate::columns::slice(&bytes, sample.bits),
                        false => &[],
                    };
                    self.push(slab, local, sample, text);
                }
            }
        }
    }
}

/// The next sample of `rest`, the unread end of `all_len` bytes; spans refer to all of them.
fn next(rest: &mut &[u8], all_len: usize) -> Option<Decoded> {
    let (time, after) = rest.split_first_chunk::<8>()?;
    let (&kind_scale, after) = after.split_first()?;
    *rest = after;
    let kind_scale = KindScale(kind_scale);
    let bits = decode_bits(rest, kind_scale, all_len)?;
    Some(Decoded { time_ns: i64::from_le_bytes(*time), kind_scale, bits })
}
