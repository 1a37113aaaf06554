//! Chunks: samples of a series in a row, as Prometheus keeps them and hands them to others.
//!
//! Numbers are spelled as Gorilla does it (<https://www.vldb.org/pvldb/vol8/p1816-teller.pdf>);
//! histograms have one layout of buckets in a chunk, in which each count is a difference of
//! differences. The layouts are Prometheus' (`tsdb/docs/format/chunks.md`).

mod histograms;

use super::bits::{Bits, Xor};
use crate::wire::{push_bytes, push_varint};
use foliot_model::Histogram;
use histograms::Run;

/// Samples of a chunk, as many as Prometheus puts into its own.
const SAMPLES_MAX: u16 = 120;

/// Bytes after which a chunk ends, so that wide histograms do not make frames that clients refuse.
const BYTES_MAX: usize = 32 << 10;

/// The chunks of one series, as fields of its message.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    fields: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<usize>,
    open: Option<Open>,
}

/// A chunk that may get more samples.
#[derive(Debug)]
struct Open {
    first_ms: i64,
    last_ms: i64,
    step_ms: i64,
    samples: u16,
    bits: Bits,
    kind: Kind,
}

/// What stands in a chunk.
#[derive(Debug)]
enum Kind {
    Numbers(Xor),
    Histograms(Box<Run>),
}

impl Kind {
    /// Its number in `prometheus.Chunk.Encoding`.
    fn code(&self) -> u8 {
        match self {
            Self::Numbers(_) => 1,
            Self::Histograms(run) if run.is_integer() => 2,
            Self::Histograms(_) => 3,
        }
    }
}

impl Open {
    fn new(time_ms: i64, bits: Bits, kind: Kind) -> Self {
        Self { first_ms: time_ms, last_ms: time_ms, step_ms: 0, samples: 1, bits, kind }
    }

    /// Whether a sample of this time may be added.
    fn has_room(&self, time_ms: i64) -> bool {
        let is_full = self.samples == SAMPLES_MAX || self.bits.bytes().len() >= BYTES_MAX;
        !is_full && time_ms >= self.last_ms
    }

    /// Goes on to a time; says how the step to it differs from the step before.
    fn step(&mut self, time_ms: i64) -> i64 {
        let step_ms = time_ms.wrapping_sub(self.last_ms);
        let change_ms = step_ms.wrapping_sub(self.step_ms);
        (self.last_ms, self.step_ms) = (time_ms, step_ms);
        self.samples += 1;
        change_ms
    }

    fn push_number(&mut self, time_ms: i64, value: f64) -> bool {
        if !self.has_room(time_ms) || !matches!(self.kind, Kind::Numbers(_)) {
            return false;
        }
        let change_ms = self.step(time_ms);
        match self.samples {
            2 => self.bits.uvarint(change_ms as u64),
            _ => self.bits.time(change_ms),
        }
        if let Kind::Numbers(before) = &mut self.kind {
            self.bits.xor(before, value);
        }
        true
    }

    /// Takes a histogram if it fits behind the last; else gives it back.
    fn push_histogram(&mut self, time_ms: i64, next: Histogram) -> Option<Histogram> {
        let fits = matches!(&self.kind, Kind::Histograms(run) if run.is_followed_by(&next));
        if !fits || !self.has_room(time_ms) {
            return Some(next);
        }
        let change_ms = self.step(time_ms);
        self.bits.int(change_ms);
        if let Kind::Histograms(run) = &mut self.kind {
            run.push(next, &mut self.bits);
        }
        None
    }
}

impl Chunks {
    /// Bytes held.
    pub(super) fn len(&self) -> usize {
        self.fields.len() + self.open.as_ref().map_or(0, |open| open.bits.bytes().len())
    }

    /// Appends a number at a time in milliseconds.
    pub(super) fn push_number(&mut self, time_ms: i64, value: f64) {
        if self.open.as_mut().is_some_and(|open| open.push_number(time_ms, value)) {
            return;
        }
        let mut bits = Bits::default();
        bits.varint(time_ms);
        bits.float(value);
        self.begin(Open::new(time_ms, bits, Kind::Numbers(Xor::new(value))));
    }

    /// Appends a histogram at a time in milliseconds.
    pub(super) fn push_histogram(&mut self, time_ms: i64, histogram: Histogram) {
        let histogram = histograms::plain(histogram);
        let left = match &mut self.open {
            Some(open) => open.push_histogram(time_ms, histogram),
            None => Some(histogram),
        };
        if let Some(first) = left {
            let mut bits = Bits::default();
            let run = Run::begin(first, time_ms, &mut bits);
            self.begin(Open::new(time_ms, bits, Kind::Histograms(Box::new(run))));
        }
    }

    fn begin(&mut self, next: Open) {
        self.end();
        self.open = Some(next);
    }

    /// Ends the open chunk.
    #[expect(clippy::big_endian_bytes, reason = "the number of samples of a chunk is")]
    fn end(&mut self) {
        let Some(open) = self.open.take() else { return };
        let mut chunk = Vec::with_capacity(open.bits.bytes().len() + 32);
        for (number, value) in [
            (1u8, open.first_ms as u64),
            (2, open.last_ms as u64),
            (3, u64::from(open.kind.code())),
        ] {
            chunk.push(number << 3);
            push_varint(value, &mut chunk);
        }
        let data = [&open.samples.to_be_bytes(), open.bits.bytes()].concat();
        push_bytes(4, &data, &mut chunk);
        push_bytes(2, &chunk, &mut self.fields);
        self.ends.push(self.fields.len());
    }

    /// All chunks as fields of messages that have some `bytes_max`: a longer chunk is alone.
    pub(super) fn pieces(&mut self, bytes_max: usize) -> impl Iterator<Item = &[u8]> {
        self.end();
        let (fields, mut ends, mut start) = (&self.fields, self.ends.iter().peekable(), 0);
        std::iter::from_fn(move || {
            let mut end = *ends.next()?;
            while let Some(next) = ends.next_if(|next| **next - start <= bytes_max) {
                end = *next;
            }
            let piece = fields.get(start..end);
            start = end;
            piece
        })
    }
}

#[cfg(test)]
mod tests;
