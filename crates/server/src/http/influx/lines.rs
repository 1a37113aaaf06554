//! Lines of a request on their way into the store, slice by slice.

use crate::ingest::{self, SLICE_BYTES, Terms};
use crate::metrics::{Way, now_ns};
use crate::senders;
use crate::shared::Shared;
use crate::store::Store;
use foliot_access::Measurements;
use foliot_engine::{Commit, Error};
use foliot_model::{Batch, NamespaceId, Reject};
use foliot_proto_influx::{Decoded, LINE_SYNTAX, Precision, Settings};
use foliot_schema::{JudgedKinds, Manner};
use std::ops::Range;
use std::time::Duration;

/// Refused lines that are worded; an answer that repeats more helps nobody.
const REJECTS_MAX: usize = 1000;

/// What became of lines before they are safe.
#[derive(Debug, Default)]
pub(super) struct Stored {
    pub(super) rows: usize,
    pub(super) decoded: Decoded,
    pub(super) refused: Vec<Reject>,
    pub(super) dropped: Vec<Reject>,
    /// How many rows the store refused, also those that are not worded.
    pub(super) rows_dropped: usize,
    pub(super) commit: Option<Commit>,
}

/// How lines are to be taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order<'a> {
    pub(super) precision: Precision,
    /// Whether good lines are stored although others are bad.
    pub(super) accepts_partial: bool,
    /// The measurements that may be written.
    pub(super) scope: &'a Measurements,
}

/// Decodes and stores the lines; the commit is to be waited for before the answer is given. Large
/// requests are stored in slices, because a batch takes several times the memory of its lines.
pub(super) fn store_lines(
    shared: &Shared,
    store: &Store,
    namespace: NamespaceId,
    order: Order<'_>,
    lines: &[u8],
) -> Result<Stored, Error> {
    if order.accepts_partial || lines.len() <= SLICE_BYTES {
        return each_slice(order, lines, |slice, stored| {
            store_slice(shared, store, namespace, slice, stored)
        });
    }
    // Whether all lines are good is known only when all were read. They are read twice.
    let mut judged = JudgedKinds::default();
    let in_slices = Order { accepts_partial: true, ..order };
    let checked = each_slice(in_slices, lines, |slice, stored| {
        check_slice(shared, store, namespace, slice, (&mut judged, stored))
    })?;
    match checked.decoded.refused + checked.rows_dropped {
        0 => each_slice(in_slices, lines, |slice, stored| {
            store_slice(shared, store, namespace, slice, stored)
        }),
        _ => {
            let good = checked.rows as u64;
            shared.metrics.way(Way::InfluxHttp).count_unworded(good);
            Ok(Stored { rows: 0, ..checked })
        }
    }
}

/// Has lines taken slice by slice; `take` says how many bytes of one it has read.
fn each_slice<'a>(
    order: Order<'a>,
    lines: &[u8],
    mut take: impl FnMut(&Slice<'_>, &mut Stored) -> Result<usize, Error>,
) -> Result<Stored, Error> {
    let now_ns = now_ns();
    let mut stored = Stored::default();
    let mut slice_bytes = SLICE_BYTES;
    while let Some(rest) = lines.get(stored.decoded.bytes..).filter(|rest| !rest.is_empty()) {
        let is_whole = rest.len() <= slice_bytes;
        let slice = if is_whole { rest } else { rest.get(..slice_bytes).unwrap_or(rest) };
        let settings = Settings {
            precision: order.precision,
            now_ns,
            first_line: stored.decoded.next_line,
            is_partial: !is_whole,
        };
        let slice = Slice { lines: slice, settings, order };
        let bytes = take(&slice, &mut stored)?;
        match (bytes, is_whole) {
            (_, true) => break,
            // One line fills the slice; it needs a larger one.
            (0, false) => slice_bytes = slice_bytes.saturating_mul(2),
            _ => slice_bytes = SLICE_BYTES,
        }
    }
    Ok(stored)
}

/// Times of the first hours of 1970 that were taken for nanoseconds, and are seconds, milliseconds
/// or microseconds of these years. Below, they are the small numbers of somebody who tries.
const SHORT_NS: Range<i64> = 100_000_000..10_000_000_000_000_000;

/// Says once in a while that times are hardly meant as they are read.
fn hint_at_units(shared: &Shared, first_ns: Option<i64>, precision: Precision) {
    let is_short = first_ns.is_some_and(|time_ns| SHORT_NS.contains(&time_ns));
    if !is_short || precision != Precision::Nanosecond {
        return;
    }
    if let Some(silent) = shared.failures_log.admit(Way::InfluxHttp.name(), "units of time") {
        let from = senders::peer().map_or_else(String::new, |peer| format!(" from {peer}"));
        log::warn!(
            "lines{from} have times of 1970, as seconds or milliseconds have that are taken for \
             nanoseconds: precision=s, ms or us says what they are ({silent} more such reports \
             kept silent)"
        );
    }
}

/// Some of a request's lines.
struct Slice<'a> {
    lines: &'a [u8],
    settings: Settings,
    order: Order<'a>,
}

/// Stores a slice, adds what became of it to `stored`, and returns how many bytes were read.
fn store_slice(
    shared: &Shared,
    store: &Store,
    namespace: NamespaceId,
    slice: &Slice<'_>,
    stored: &mut Stored,
) -> Result<usize, Error> {
    in_batch(shared, store, namespace, slice, stored, |batch, rejects, stored| {
        let (worded, rows) = (rejects.len(), batch.rows().len());
        let first_ns = batch.rows().first().map(|row| row.time_ns);
        hint_at_units(shared, first_ns, slice.settings.precision);
        if !slice.order.accepts_partial {
            judge(store, &slice.order, &mut JudgedKinds::default(), (batch, rejects))?;
            if rows > 0 && !rejects.is_empty() {
                let ingest = shared.metrics.way(Way::InfluxHttp);
                ingest.count_rejects(rejects);
                ingest.count_unworded(batch.rows().len() as u64);
                return Ok(());
            }
        }
        let (way, scope) = (Way::InfluxHttp, slice.order.scope);
        let terms = Terms::of_fields(Manner::Strict, Duration::ZERO);
        let commit = ingest::append(shared, store, way, batch, scope, rejects, terms)?;
        stored.rows += rows.saturating_sub(rejects.len() - worded);
        stored.commit = commit.or(stored.commit);
        Ok(())
    })
}

/// Looks whether the lines of a slice can all be stored, as [`store_slice`] does for all lines of a
/// small request.
fn check_slice(
    shared: &Shared,
    store: &Store,
    namespace: NamespaceId,
    slice: &Slice<'_>,
    (judged, checked): (&mut JudgedKinds, &mut Stored),
) -> Result<usize, Error> {
    in_batch(shared, store, namespace, slice, checked, |batch, rejects, checked| {
        judge(store, &slice.order, judged, (batch, rejects))?;
        shared.metrics.way(Way::InfluxHttp).count_rejects(rejects);
        checked.rows += batch.rows().len();
        Ok(())
    })
}

/// Takes rows out that would be refused, before any says something of kinds.
fn judge(
    store: &Store,
    order: &Order<'_>,
    judged: &mut JudgedKinds,
    (batch, rejects): (&mut Batch<'_>, &mut Vec<Reject>),
) -> Result<(), Error> {
    ingest::keep_to(order.scope, batch, rejects);
    judged.check_for(store.engine(), batch, Manner::Strict, rejects)
}

/// Decodes a slice for `take`, notes in `stored` what was refused, and returns how many bytes were
/// read.
fn in_batch(
    shared: &Shared,
    store: &Store,
    namespace: NamespaceId,
    slice: &Slice<'_>,
    stored: &mut Stored,
    take: impl FnOnce(&mut Batch<'_>, &mut Vec<Reject>, &mut Stored) -> Result<(), Error>,
) -> Result<usize, Error> {
    let mut decoding = shared.batches.take();
    let secret = store.engine().key_secret();
    let mut batch = Batch::new(slice.lines, namespace, &LINE_SYNTAX, secret, decoding.buffers);
    let mut rejects: Vec<Reject> = Vec::new();
    let decoded = decoding.lines.decode(&mut batch, slice.settings, &mut rejects);
    // What is left of a slice begins the next one.
    batch.own(decoded.bytes);
    let worded = rejects.len();
    let unworded = decoded.refused.saturating_sub(worded) as u64;
    shared.metrics.way(Way::InfluxHttp).count_unworded(unworded);
    let taken = take(&mut batch, &mut rejects, stored);
    decoding.buffers = batch.into_buffers();
    shared.batches.give(decoding);
    taken?;
    stored.decoded.bytes += decoded.bytes;
    stored.decoded.next_line = decoded.next_line;
    stored.decoded.refused += decoded.refused;
    let dropped = rejects.split_off(worded.min(rejects.len()));
    stored.rows_dropped += dropped.len();
    let room = |list: &Vec<Reject>| REJECTS_MAX.saturating_sub(list.len());
    stored.refused.extend(rejects.into_iter().take(room(&stored.refused)));
    stored.dropped.extend(dropped.into_iter().take(room(&stored.dropped)));
    Ok(decoded.bytes)
}
