//! The one way in: a decoded batch goes to the store, and what became of it is counted.

use crate::aside::aside;
use crate::exemplars;
use crate::metrics::{Way, now_ns, reason_name};
use crate::rejects::{ROWS_TOGETHER_MAX, shortened};
use crate::senders::{self, Sent};
use crate::shared::Shared;
use crate::store::Store;
use foliot_access::Measurements;
use foliot_engine::{Commit, Error};
use foliot_model::{Batch, KeyParts, NamespaceId, Reject};
use foliot_proto_prometheus::{KEY_SYNTAX, Samples};
use foliot_schema::{Manner, Missing};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Requests larger than this are worked on aside, each in its turn: decoding them takes longer than
/// a loop should be held.
pub(crate) const HEAVY_BYTES: usize = 512 << 10;

/// Lines of a request that become one batch. A batch of the shortest lines, or of lines whose
/// fields are all new, takes up to thirty times their bytes, which nothing is charged with.
pub(crate) const SLICE_BYTES: usize = 256 << 10;

/// Does `work` over a request of `bytes` bytes without holding up other connections.
pub(crate) async fn heavy<T>(shared: &Shared, bytes: usize, work: impl FnOnce() -> T) -> T {
    match bytes > HEAVY_BYTES {
        true => shared.turns.take(work).await,
        false => work(),
    }
}

/// How long a sender whose rows carry no answer is held up while the store is overloaded, before
/// its rows are dropped.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Senders that may wait so on a thread of their own. Others wait before they read.
pub(crate) const PATIENT_MAX: usize = 64;

/// How often an overloaded store is asked again.
const PAUSE: Duration = Duration::from_millis(20);

/// Waits until the store is not overloaded, or its senders' patience has ended: not reading is what
/// slows them down.
pub(crate) async fn wait_for_room(shared: &Shared, store: &Store) {
    let began = Instant::now();
    while store.engine().is_overloaded() && began.elapsed() < PATIENCE && !shared.is_stopping() {
        tokio::time::sleep(PAUSE).await;
    }
}

/// Where rows go whose senders name no database and hear no answer. That there is no such place is
/// counted, once for all rows that come together, and logged.
pub(crate) fn place(shared: &Shared, store: &Store, way: Way) -> Result<NamespaceId, Missing> {
    store.default_namespace().inspect_err(|missing| {
        shared.metrics.way(way).count_lost(1);
        if let Some(silent) = shared.failures_log.admit(way.name(), "place") {
            log::error!(
                "what came by {} is dropped: {missing} ({silent} more reports kept silent)",
                way.name()
            );
        }
    })
}

/// How the rows of a batch are taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) kinds: KindsOf,
    /// For how long an overloaded store is asked again.
    pub(crate) patience: Duration,
}

/// What the kinds of a batch's fields are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KindsOf {
    /// Those of the samples.
    Samples,
    /// Those that were declared for the fields, or are by their first values.
    Fields(Manner),
    /// Histograms, which is declared.
    Histograms,
}

impl Terms {
    /// Samples have kinds, fields have not.
    pub(crate) const fn of_samples(patience: Duration) -> Self {
        Self { kinds: KindsOf::Samples, patience }
    }

    /// Fields have kinds.
    pub(crate) const fn of_fields(manner: Manner, patience: Duration) -> Self {
        Self { kinds: KindsOf::Fields(manner), patience }
    }
}

/// Gives a batch to the store, as far as its measurements are in `scope`; nothing is returned for a
/// batch without rows. `rejects` holds what the decoder refused and gets what the store refuses.
/// What kinds fields have is asked last of all: rows that are refused say nothing of them, and who
/// may not write hears nothing.
pub(crate) fn append(
    shared: &Shared,
    store: &Store,
    way: Way,
    batch: &mut Batch<'_>,
    scope: &Measurements,
    rejects: &mut Vec<Reject>,
    terms: Terms,
) -> Result<Option<Commit>, Error> {
    keep_to(scope, batch, rejects);
    let ingest = shared.metrics.way(way);
    let bytes = batch.own_bytes() as u64;
    let rows = batch.rows().len() as u64;
    let decoder_rejects = rejects.len();
    let outcome = match rows {
        0 => Ok(None),
        _ => write(shared, store, way, batch, rejects, terms).map(Some),
    };
    if matches!(outcome, Err(Error::NoKey)) {
        // It comes again, read with more care.
        return outcome;
    }
    ingest.bytes.add(bytes);
    ingest.count_rejects(rejects);
    let refused = rejects.len() as u64;
    let mut sent = Sent { bytes, refused, last_ns: now_ns(), ..Sent::default() };
    match &outcome {
        Ok(commit) => {
            let refused = (rejects.len() - decoder_rejects) as u64;
            sent.rows = rows.saturating_sub(refused);
            // A row that the store refuses is refused whole, whatever its number of fields.
            sent.samples = batch.samples() as u64 * sent.rows / rows.max(1);
            sent.new_series = commit.map_or(0, |commit| commit.new_series);
            ingest.batches.add(u64::from(rows > 0));
            ingest.rows.add(sent.rows);
            ingest.samples.add(sent.samples);
        }
        Err(error) => {
            // Those that were in conflict are counted already.
            let lost = batch.rows().len() as u64;
            sent.refused += lost;
            ingest.count_lost(lost);
            log_failure(shared, way, error);
        }
    }
    shared.senders.count(way, &sent);
    let line = |number| batch.line(number);
    log_rejects(shared, way, rejects, &line);
    outcome
}

/// Gives samples that were made here to the store. Returns how many exemplars that came with them
/// are kept.
pub(crate) fn samples(shared: &Shared, way: Way, samples: &Samples) -> Result<u64, String> {
    let store = shared.store().ok_or("the store is not open")?;
    let namespace = place(shared, store, way).map_err(|missing| missing.to_string())?;
    let (mut from, mut rejects) = (0, Vec::new());
    while from < samples.len() {
        let mut decoding = shared.batches.take();
        let secret = store.engine().key_secret();
        let bytes = samples.bytes();
        let mut batch = Batch::new(bytes, namespace, &KEY_SYNTAX, secret, decoding.buffers);
        // The first piece counts all bytes.
        batch.own(if from == 0 { bytes.len() } else { 0 });
        from = samples.decode(from, &mut batch, &mut rejects);
        let (scope, terms) = (&Measurements::All, Terms::of_samples(Duration::ZERO));
        let stored = append(shared, store, way, &mut batch, scope, &mut rejects, terms);
        decoding.buffers = batch.into_buffers();
        shared.batches.give(decoding);
        stored.map_err(|error| error.to_string())?;
        rejects.clear();
    }
    Ok(exemplars::keep(shared, way, (namespace, &Measurements::All), samples.exemplars()))
}

/// Counts and logs a piece of a body that is refused whole: its `rows`, which were good, its
/// `rejects`, and the place at which it could not be read.
pub(crate) fn refuse_whole(
    shared: &Shared,
    way: Way,
    rows: u64,
    rejects: &mut Vec<Reject>,
    reason: &str,
) {
    let line = u32::try_from(rows).unwrap_or(u32::MAX).saturating_add(rejects.len() as u32 + 1);
    let reason = format!("{reason}. The body was refused whole, with {rows} good points before it");
    // What was refused before is known; this is the line to be logged.
    rejects.insert(0, Reject { line, field: "point".into(), reason });
    let ingest = shared.metrics.way(way);
    ingest.count_rejects(rejects);
    ingest.count_unworded(rows);
    log_rejects(shared, way, rejects, &|_| None);
}

/// Takes rows out whose measurements may not be written.
pub(crate) fn keep_to(scope: &Measurements, batch: &mut Batch<'_>, rejects: &mut Vec<Reject>) {
    if matches!(scope, Measurements::All) {
        return;
    }
    let mut parts = KeyParts::default();
    let mut forbidden = Vec::new();
    for (index, row) in batch.rows().iter().enumerate() {
        parts.clear();
        let (head, tail) = (batch.slice(row.key_head), batch.slice(row.key_tail));
        // A key that cannot be read is refused by the store, in better words.
        let is_read = (batch.syntax().parse)(head, tail, &mut parts).is_ok();
        let measurement = String::from_utf8_lossy(parts.measurement());
        if is_read && !scope.include(&measurement) {
            forbidden.push(index);
            let reason = format!("no right to write to measurement {measurement:?}");
            rejects.push(Reject { line: row.line, field: "measurement".into(), reason });
        }
    }
    batch.retain_rows(|index| forbidden.binary_search(&index).is_err());
}

fn write(
    shared: &Shared,
    store: &Store,
    way: Way,
    batch: &mut Batch<'_>,
    rejects: &mut Vec<Reject>,
    terms: Terms,
) -> Result<Commit, Error> {
    let (began, mut place) = (Instant::now(), None);
    let (engine, mut made) = (store.engine(), Vec::new());
    loop {
        let kinds = store.kinds();
        let outcome = match terms.kinds {
            KindsOf::Samples => engine.write_telling(batch, rejects, &mut made),
            KindsOf::Fields(manner) => {
                let _kept = kinds.keep();
                let checked = kinds.check(engine, batch, manner, rejects);
                checked.and_then(|()| engine.write_telling(batch, rejects, &mut made))
            }
            KindsOf::Histograms => {
                let _kept = kinds.keep();
                let noted = kinds.note_histograms(engine, batch);
                noted.and_then(|()| engine.write_telling(batch, rejects, &mut made))
            }
        };
        match outcome {
            Err(Error::Overloaded) if began.elapsed() < terms.patience => {
                // Others were faster than this one since it found room. It has a thread to wait,
                // unless too many have: then its loop would have none to go on.
                if place.is_none() {
                    place = Some(shared.patient.try_acquire().map_err(|_| Error::Overloaded)?);
                }
                aside(|| std::thread::sleep(PAUSE));
            }
            outcome => {
                shared.makers.note(way, &made, now_ns());
                return outcome;
            }
        }
    }
}

/// Logs that the store failed, once in a while for each protocol and kind of failure.
fn log_failure(shared: &Shared, way: Way, error: &Error) {
    let kind = match error {
        Error::NoSpace { .. } => "no space",
        Error::Overloaded => "overloaded",
        Error::Stalled(_) => "stalled",
        Error::Poisoned(_) => "poisoned",
        _ => "other",
    };
    if let Some(silent) = shared.failures_log.admit(way.name(), kind) {
        log::error!(
            "rows by {} were not stored: {error} ({silent} more such reports kept silent)",
            way.name()
        );
    }
}

/// What was refused for one reason.
#[derive(Default)]
struct OfReason<'a> {
    count: usize,
    /// The one in the first line.
    first: Option<&'a Reject>,
    /// The first that are refused in words of their own, and the first of those that are not.
    shown: Vec<&'a Reject>,
    alike: Vec<&'a Reject>,
}

impl<'a> OfReason<'a> {
    fn add(&mut self, reject: &'a Reject) {
        self.count += 1;
        // What decoders refuse and what the store refuses comes one after the other.
        if self.first.is_none_or(|first| reject.line < first.line) {
            self.first = Some(reject);
        }
        if self.shown.len() >= ROWS_TOGETHER_MAX {
            return;
        }
        if self.shown.iter().all(|shown| shown.reason != reject.reason) {
            self.shown.push(reject);
        } else if self.alike.len() < ROWS_TOGETHER_MAX {
            self.alike.push(reject);
        }
    }

    /// Some of them, of each kind of words one before a second of any.
    fn some(&self) -> impl Iterator<Item = &'a Reject> {
        self.shown.iter().chain(&self.alike).copied().take(ROWS_TOGETHER_MAX)
    }
}

/// Keeps some rejects of each reason for whoever looks, and logs the first once in a while for each
/// protocol and reason: senders do not read the log of their sins. `line` finds the text of a
/// line, where it is one.
pub(crate) fn log_rejects<'a>(
    shared: &Shared,
    way: Way,
    rejects: &[Reject],
    line: &dyn Fn(u32) -> Option<&'a [u8]>,
) {
    let mut found: BTreeMap<&'static str, OfReason<'_>> = BTreeMap::new();
    for reject in rejects {
        found.entry(reason_name(reject)).or_default().add(reject);
    }
    let now_ns = now_ns();
    for (class, of_reason) in found {
        // What is no command may be a password that somebody typed.
        let text = |reject: &Reject| line(reject.line).filter(|_| class != "command");
        for reject in of_reason.some() {
            shared.rejects.keep(way.name(), class, (reject, text(reject)), now_ns);
        }
        let (Some(first), count) = (of_reason.first, of_reason.count) else { continue };
        if let Some(silent) = shared.rejects_log.admit(way.name(), class) {
            let reason = shortened(&first.reason);
            let from = senders::origin();
            let text = shortened(&String::from_utf8_lossy(text(first).unwrap_or_default()));
            let text = if text.is_empty() { text } else { format!(": {text}") };
            log::warn!(
                "{count} rows by {}{from} refused for their {class}, the first in line {}{text}: \
                 {reason} ({silent} more such reports kept silent)",
                way.name(),
                first.line
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_in_words_of_its_own_is_shown_before_more_of_the_same() {
        let reject = |line: u32, reason: &str| Reject {
            line,
            field: "value".into(),
            reason: reason.to_owned(),
        };
        let mut rejects: Vec<Reject> = (1..=30).map(|line| reject(line, "no number")).collect();
        rejects.extend([reject(31, "no time"), reject(0, "no name")]);
        let mut found = OfReason::default();
        rejects.iter().for_each(|reject| found.add(reject));
        let lines: Vec<u32> = found.some().map(|reject| reject.line).collect();
        assert_eq!(lines, [1, 31, 0, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!((found.count, found.first.map(|first| first.line)), (32, Some(0)));
    }
}
