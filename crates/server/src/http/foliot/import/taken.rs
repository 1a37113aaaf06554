//! The lines of an import on their way into the store, or before a dry run's eyes, slice by slice.

use super::found::Found;
use super::{Asked, Format};
use crate::http::{Reply, status_of};
use crate::ingest::{self, SLICE_BYTES, Terms};
use crate::metrics::{Way, now_ns};
use crate::rejects::shortened;
use crate::shared::Shared;
use crate::store::Store;
use foliot_access::Measurements;
use foliot_engine::{Commit, Error};
use foliot_model::{Batch, NANOS_PER_MILLI, NamespaceId, Reject};
use foliot_proto_influx::{Decoder, Settings};
use foliot_proto_prometheus::{Exemplars, Format as Exposed, Group, TextLines, described};
use foliot_schema::JudgedKinds;
use memchr::memrchr;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// Faults that one answer words; all are counted.
const FAULTS_MAX: usize = 100;

/// How long a store that is overloaded is asked again.
const PATIENCE: Duration = Duration::from_secs(2);

/// An import under way.
pub(super) struct Taking<'a> {
    shared: &'a Shared,
    store: &'a Store,
    namespace: NamespaceId,
    scope: &'a Measurements,
    asked: &'a Asked,
    /// The time of lines without one, the same for all.
    now_ns: i64,
    /// Number of the line that the next slice begins with.
    next_line: u32,
    /// What a dry run has seen so far.
    found: Found,
    judged: JudgedKinds,
    rows: usize,
    samples: usize,
    refused: usize,
    faults: Vec<Value>,
    commit: Option<Commit>,
}

impl<'a> Taking<'a> {
    pub(super) fn new(
        shared: &'a Shared,
        store: &'a Store,
        (namespace, scope): (NamespaceId, &'a Measurements),
        asked: &'a Asked,
    ) -> Self {
        Self {
            shared,
            store,
            namespace,
            scope,
            asked,
            now_ns: now_ns(),
            next_line: asked.first_line,
            found: Found::default(),
            judged: JudgedKinds::default(),
            rows: 0,
            samples: 0,
            refused: 0,
            faults: Vec::new(),
            commit: None,
        }
    }

    /// Takes all lines; the commit is to be waited for before the answer is given.
    ///
    /// # Errors
    /// When the store fails or takes nothing. What came before is stored.
    pub(super) fn all(mut self, lines: &[u8]) -> Result<(Value, Option<Commit>), Reply> {
        let mut rest = lines;
        let mut slice_bytes = SLICE_BYTES;
        while !rest.is_empty() {
            let slice = rest.get(..slice_bytes).unwrap_or(rest);
            let is_last = slice.len() == rest.len();
            let taken = self.slice(slice, !is_last);
            let bytes =
                taken.map_err(|error| super::refuse(status_of(&error), &error.to_string()))?;
            if is_last {
                break;
            }
            rest = rest.get(bytes..).unwrap_or_default();
            // Where no line ends in a slice, it must be a larger one.
            slice_bytes = if bytes == 0 { slice_bytes.saturating_mul(2) } else { SLICE_BYTES };
        }
        let (is_preview, format) = (self.asked.is_preview, self.asked.format);
        if format == Format::Prometheus && !is_preview {
            let known = &self.shared.monitor.described;
            let said = described(lines, Exposed::Text);
            said.for_each(|said| known.hear((self.namespace, self.scope), said));
        }
        let samples = if is_preview { self.found.samples } else { self.samples };
        let answer = json!({
            "rows": self.rows,
            "samples": samples,
            "refused": self.refused,
            "faults": self.faults,
            "found": is_preview.then(|| self.found.show()),
        });
        Ok((answer, self.commit))
    }

    /// Takes the lines of a slice that are whole, and says how many bytes they have.
    fn slice(&mut self, slice: &[u8], is_partial: bool) -> Result<usize, Error> {
        let mut decoding = self.shared.batches.take();
        let (syntax, secret) = (self.asked.format.syntax(), self.store.engine().key_secret());
        // Lines of fields may go on behind a line's end, between quotes; others do not.
        let is_cut = is_partial && self.asked.format.manner().is_none();
        let lines = if is_cut { whole(slice) } else { slice };
        let mut batch = Batch::new(lines, self.namespace, syntax, secret, decoding.buffers);
        let mut rejects: Vec<Reject> = Vec::new();
        let read = self.decode(&mut decoding.lines, &mut batch, is_partial, &mut rejects);
        batch.own(read.bytes);
        let (rows, decoded) = (batch.rows().len(), rejects.len());
        let outcome = self.keep(&mut batch, &mut rejects);
        self.rows += rows.saturating_sub(rejects.len() - decoded);
        self.refused += read.unworded + rejects.len();
        if !self.asked.is_preview {
            self.samples += samples_of(&batch, rejects.get(decoded..).unwrap_or_default());
        }
        self.word(&batch, &mut rejects);
        self.next_line = read.next_line;
        decoding.buffers = batch.into_buffers();
        self.shared.batches.give(decoding);
        self.commit = outcome?.or(self.commit);
        Ok(read.bytes)
    }

    fn decode(
        &self,
        decoder: &mut Decoder,
        batch: &mut Batch<'_>,
        is_partial: bool,
        rejects: &mut Vec<Reject>,
    ) -> Read {
        let lines = batch.bytes();
        let behind = |count: u32| self.next_line.saturating_add(count);
        match self.asked.format {
            Format::Influx | Format::Exact => {
                let (precision, first_line) = (self.asked.precision, self.next_line);
                let settings = Settings { precision, first_line, now_ns: self.now_ns, is_partial };
                let decoded = decoder.decode(batch, settings, rejects);
                let unworded = decoded.refused.saturating_sub(rejects.len());
                Read { bytes: decoded.bytes, next_line: decoded.next_line, unworded }
            }
            Format::OpenTsdb => {
                let options = crate::telnet::options(self.shared);
                let count = foliot_proto_opentsdb::decode_datagram(batch, &options, rejects);
                Read { bytes: lines.len(), next_line: behind(count), unworded: 0 }
            }
            Format::Prometheus => {
                let group = Group::default();
                let now_ms = self.now_ns / NANOS_PER_MILLI;
                let mut text = TextLines::new(lines, Exposed::Text, now_ms, &group);
                text.decode_whole(batch, (rejects, &mut Exemplars::default()));
                Read { bytes: lines.len(), next_line: behind(text.lines()), unworded: 0 }
            }
        }
    }

    /// Stores the rows of a batch, or only looks at them.
    fn keep(
        &mut self,
        batch: &mut Batch<'_>,
        rejects: &mut Vec<Reject>,
    ) -> Result<Option<Commit>, Error> {
        let (store, format) = (self.store, self.asked.format);
        if !self.asked.is_preview {
            let terms = match format.manner() {
                Some(manner) => Terms::of_fields(manner, PATIENCE),
                None => Terms::of_samples(PATIENCE),
            };
            let (shared, scope) = (self.shared, self.scope);
            return ingest::append(shared, store, Way::Import, batch, scope, rejects, terms);
        }
        ingest::keep_to(self.scope, batch, rejects);
        // Put lines keep a kind for each sample; fields have theirs by what the store has, or by
        // the lines before.
        if let Some(manner) = format.manner() {
            self.judged.check_for(store.engine(), batch, manner, rejects)?;
        }
        self.found.look_at(batch, rejects);
        Ok(None)
    }

    /// Words faults, as long as there is room for them.
    fn word(&mut self, batch: &Batch<'_>, rejects: &mut [Reject]) {
        rejects.sort_by_key(|reject| reject.line);
        // Only lines of fields are numbered over the whole file by their decoder.
        let before = match self.asked.format.manner() {
            Some(_) => 0,
            None => self.next_line.saturating_sub(1),
        };
        let room = FAULTS_MAX.saturating_sub(self.faults.len());
        self.faults.extend(rejects.iter().take(room).map(|reject| {
            let text = String::from_utf8_lossy(batch.line(reject.line).unwrap_or_default());
            json!({
                "line": reject.line.saturating_add(before),
                "field": shortened(&reject.field),
                "message": shortened(&reject.reason),
                "text": shortened(&text),
            })
        }));
    }
}

/// How a slice was read.
struct Read {
    bytes: usize,
    /// Number of the line behind it.
    next_line: u32,
    /// Bad lines that are no rejects.
    unworded: usize,
}

/// The lines of a slice whose ends are in it.
fn whole(slice: &[u8]) -> &[u8] {
    slice.get(..memrchr(b'\n', slice).map_or(0, |at| at + 1)).unwrap_or_default()
}

/// Samples of the rows that were not refused after they were decoded.
fn samples_of(batch: &Batch<'_>, refused: &[Reject]) -> usize {
    let lines: BTreeSet<u32> = refused.iter().map(|reject| reject.line).collect();
    let rows = batch.rows().iter().filter(|row| !lines.contains(&row.line));
    rows.filter_map(|row| batch.shape(row.shape)).map(|shape| shape.fields_count as usize).sum()
}
