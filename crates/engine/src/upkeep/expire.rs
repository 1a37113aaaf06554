//! Expire: parts whose samples are all too old go, and so do the oldest when there is no room.
//!
//! Readers see nothing below the floors of `retention.rs` already. A floor is a durable fact before
//! a file goes because of it. Parts that hold both older and newer samples lose the older ones when
//! they are merged next.

use super::Upkeep;
use crate::clock::{BELIEVED_NS, Looked};
use crate::config::Commit;
use crate::error::Error;
use crate::floors::Floors;
use crate::manifest::PartEntry;
use crate::part::Part;
use crate::retention::Retention;
use crate::troubles::Work;
use crate::view::Beyond;
use foliot_index::SidSet;
use foliot_model::NamespaceId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

const DAY_NS: f64 = 86_400e9;
/// How old the time of day that is kept as a fact may grow: a restart begins from it.
const KEPT_INTERVAL_NS: i64 = 6 * 3600 * 1_000_000_000;

/// Parts whose samples are all too old.
pub(crate) struct Expiry {
    parts: Vec<Arc<Part>>,
    /// What says so.
    floors: Floors,
}

impl Upkeep {
    /// What has expired, if anything has.
    pub(super) fn expiry(&self) -> Result<Option<Expiry>, Error> {
        self.raise_size_floor()?;
        let retention = self.ingest.retention();
        if retention.is_forever() {
            return Ok(None);
        }
        self.look_at_clock(&retention)?;
        let now_ns = self.ingest.clock().gone_ns();
        let (mut parts, mut floors) = (Vec::new(), Floors::at(now_ns));
        for part in &self.files.view().parts {
            if self.is_expired(part, &retention, &mut floors)? {
                parts.push(part.clone());
            }
        }
        Ok(Some(Expiry { parts, floors }).filter(|expiry| !expiry.parts.is_empty()))
    }

    /// Follows the clock as far as it can be believed, and says how far that is.
    fn look_at_clock(&self, retention: &Retention) -> Result<(), Error> {
        let clock = self.ingest.clock();
        let advice = match clock.look() {
            Looked::Good => None,
            Looked::Ahead { by_ns } if by_ns <= BELIEVED_NS => None,
            Looked::Ahead { by_ns } => {
                Some((by_ns, "it is believed when it stays there for an hour".to_owned()))
            }
            Looked::Settled { by_ns } => match self.mostly_expired(retention) {
                None => {
                    clock.accept();
                    None
                }
                Some(database) => {
                    let advice = format!(
                        "most of the database '{database}' would expire by it; if the clock is \
                         right, stop the server, run `foliot retention --accept-clock`, start it"
                    );
                    Some((by_ns, advice))
                }
            },
        };
        let known = match advice {
            None => Ok(()),
            Some((by_ns, advice)) => {
                let days = by_ns as f64 / DAY_NS;
                Err(Error::Invalid(format!("it jumped ahead by {days:.1} days; {advice}")))
            }
        };
        // This is told, and holds up nothing else.
        let _ = self.note(Work::Clock, known);
        self.ingest.keep_stayed()?;
        self.ingest.keep_known(KEPT_INTERVAL_NS)
    }

    /// The database of a namespace more than half of whose bytes would expire at once if the clock
    /// were taken for right, if there is one.
    fn mostly_expired(&self, retention: &Retention) -> Option<String> {
        let clock = self.ingest.clock();
        let (known_ns, now_ns) = (clock.gone_ns(), self.ingest.disk().now_ns());
        let mut sums = BTreeMap::<NamespaceId, (u64, u64)>::new();
        for part in &self.files.view().parts {
            let PartEntry { namespace, class, bytes, .. } = part.entry;
            let end_ns = part.footer.range.end_ns;
            let is_gone = |now_ns| end_ns < retention.floor(now_ns, namespace, class);
            let (gone, all) = sums.entry(namespace).or_default();
            *all += bytes;
            *gone += if is_gone(now_ns) && !is_gone(known_ns) { bytes } else { 0 };
        }
        let (namespace, _) = sums.into_iter().find(|(_, (gone, all))| gone * 2 > *all)?;
        self.ingest.namespaces().name(namespace).map(|(database, _)| database)
    }

    /// Removes what has expired, unless it is kept by now.
    pub(super) fn expire(&self, Expiry { parts, floors }: &Expiry) -> Result<(), Error> {
        if !self.ingest.keep_floors(floors)? {
            return Ok(());
        }
        let gone: Vec<u64> = parts.iter().map(|part| part.entry.number).collect();
        self.drop_parts(&gone)?;
        let samples = parts.iter().map(|part| part.entry.samples).sum();
        self.counters.samples_expired.fetch_add(samples, Ordering::Relaxed);
        Ok(())
    }

    /// Takes parts away whose samples are invisible already.
    pub(crate) fn drop_parts(&self, gone: &[u64]) -> Result<(), Error> {
        let mut held = self.files.hold();
        // What goes from the disk must not come back from parts when a power cut takes the delete.
        let lsn = self.files.view().tombstones.lsn();
        self.ingest.wal().settle(Commit::at(lsn))?;
        held.drop_parts(gone)
    }

    /// Takes away all parts of some namespaces, whose drop becomes durable before.
    pub(crate) fn drop_parts_of(&self, is_gone: impl Fn(NamespaceId) -> bool) -> Result<(), Error> {
        let wal = self.ingest.wal();
        wal.settle(Commit::at(wal.end_lsn()))?;
        let parts = self.files.hold().manifest().parts.clone();
        let gone = parts.iter().filter(|part| is_gone(part.namespace));
        self.drop_parts(&gone.map(|part| part.number).collect::<Vec<_>>())
    }

    /// The namespaces that were dropped, if any part is left of one: a stop came before its drop
    /// had removed it, or rows were on their way.
    pub(super) fn dropped(&self) -> Option<SidSet> {
        let dropped = Some(self.ingest.namespaces().dropped()).filter(|set| !set.is_empty())?;
        let files = self.files.hold();
        let is_left = files.manifest().parts.iter().any(|part| dropped.contains(part.namespace));
        is_left.then_some(dropped)
    }

    /// Whether every sample of a part is too old; then `floors` is told which floors say so.
    fn is_expired(
        &self,
        part: &Arc<Part>,
        retention: &Retention,
        floors: &mut Floors,
    ) -> Result<bool, Error> {
        let (end_ns, now_ns) = (part.footer.range.end_ns, floors.now_ns());
        let namespace = part.entry.namespace;
        if end_ns >= retention.floors(now_ns, namespace).1 {
            return Ok(false);
        }
        let mut of_part = Floors::at(now_ns);
        let mut is_expired = true;
        let mut class_of = |class: u32| {
            let floor_ns = retention.floor(now_ns, namespace, class);
            of_part.note((namespace, class), floor_ns);
            is_expired &= end_ns < floor_ns;
            is_expired
        };
        if part.entry.class == 0 && !self.ingest.epochs().has_classes() {
            class_of(0);
        } else {
            // Series may have changed their class since.
            let epochs = self.ingest.epochs();
            let mut failed = Ok(());
            part.for_each_series(&mut |sid| match epochs.describe(sid) {
                Ok(series) => class_of(series.map_or(part.entry.class, |series| series.class)),
                Err(error) => {
                    failed = Err(error);
                    false
                }
            })?;
            failed?;
        }
        if is_expired {
            floors.extend(&of_part);
        }
        Ok(is_expired)
    }

    /// When parts take more bytes than they may, raises the floor until enough of them lie below
    /// it. The newest part stays.
    fn raise_size_floor(&self) -> Result<(), Error> {
        let beyond = self.files.view().beyond(self.config.retention_bytes_max);
        let Some(Beyond { floor_ns, .. }) = beyond else { return Ok(()) };
        if floor_ns > self.ingest.retention().size_floor_ns() {
            let commit = self.ingest.keep_size_floor(floor_ns)?;
            self.ingest.reload_retention();
            self.ingest.wal().settle(commit)?;
        }
        Ok(())
    }
}
