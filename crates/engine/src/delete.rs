//! Deletes, on one screen.
//!
//! 1. *select and count*: which series have samples in the range, from a snapshot. A preview ends
//!    here.
//! 2. *audit*: a line on the disk says who deletes what.
//! 3. *append*: with every write held off for an instant, one frame says what is deleted.
//! 4. *publish*: a tombstone masks the samples in parts, also for readers who are under way.
//! 5. *apply*: the head forgets the samples. When series are dropped the registry forgets them, and
//!    later rows of their names make new ones.
//!
//! What parts hold goes when they are merged next, at the latest after `delete.deadline`.

use crate::audit::{Act, Caller};
use crate::config::Commit;
use crate::error::Error;
use crate::limits::CUT_LIVE_SERIES_MAX;
use crate::retention::all_of;
use crate::snapshot::Snapshot;
use crate::store::{Engine, Store};
use crate::tombstones::Tombstone;
use crate::wal::frame::FrameKind;
use foliot_index::SidSet;
use foliot_model::{NamespaceId, Selector, Test, TimeRange};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What a delete takes away, or would.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deleted {
    /// Series that lose samples, or that are dropped.
    pub series: u64,
    /// Samples.
    pub samples: u64,
    /// Bytes that these samples take in memory and in parts, estimated by shares of blocks.
    pub bytes: u64,
}

impl Engine {
    /// What [`Engine::delete`] would take away.
    ///
    /// # Errors
    /// As for [`Engine::delete`].
    pub fn preview_delete(&self, selector: &Selector, range: TimeRange) -> Result<Deleted, Error> {
        check(selector)?;
        count(&self.snapshot(), selector, range).map(|(deleted, _)| deleted)
    }

    /// What of a namespace would expire if it kept its samples for `keep` from now on. Series that
    /// a rule keeps for another time are left out.
    ///
    /// # Errors
    /// When a part cannot be read.
    pub fn preview_retention(
        &self,
        namespace: NamespaceId,
        keep: Duration,
    ) -> Result<Deleted, Error> {
        let snapshot = self.snapshot();
        let keep_ns = i64::try_from(keep.as_nanos()).unwrap_or(i64::MAX);
        let floor_ns = self.store().ingest.clock().shown_ns().saturating_sub(keep_ns);
        let range = TimeRange::new(i64::MIN, floor_ns.saturating_sub(1));
        let mut only = Vec::new();
        for sid in snapshot.select(&all_of(namespace), range)? {
            let class = self.store().ingest.epochs().describe(sid)?.map(|series| series.class);
            only.extend((class == Some(0)).then_some(sid));
        }
        let selector = Selector { only: Some(only), ..all_of(namespace) };
        count(&snapshot, &selector, range).map(|(deleted, _)| deleted)
    }

    /// Deletes the samples of the selected series in `range`: no reader finds them any more when
    /// this returns. The delete is safe when the commit reaches the level asked of
    /// [`Engine::wait`]. What takes anything away is told to the audit log first.
    ///
    /// Waits for a flush in progress. Series stay registered; see [`Engine::drop_series`].
    ///
    /// # Errors
    /// When the selector selects everything, a part cannot be read, or the wal refuses.
    pub fn delete(
        &self,
        selector: &Selector,
        range: TimeRange,
        caller: &Caller,
    ) -> Result<(Deleted, Commit), Error> {
        check(selector)?;
        let _alone = self.store().taking.lock();
        let (deleted, sids) = count(&self.snapshot(), selector, range)?;
        if deleted.samples > 0 {
            let act = Act::Delete(selector, range);
            self.store().audit(caller, selector.namespace, &act, Some(&deleted))?;
        }
        let commit = self.store().delete(selector.namespace, sids, range, false)?;
        self.store().count_deleted(&deleted);
        Ok((deleted, commit))
    }

    /// Drops the selected series with all their samples: no reader finds them any more, and rows
    /// of their names make new series from now on.
    ///
    /// # Errors
    /// As for [`Engine::delete`].
    pub fn drop_series(
        &self,
        selector: &Selector,
        caller: &Caller,
    ) -> Result<(Deleted, Commit), Error> {
        check(selector)?;
        self.drop_selected(selector, &Act::DropSeries(selector), caller)
    }

    fn drop_selected(
        &self,
        selector: &Selector,
        act: &Act<'_>,
        caller: &Caller,
    ) -> Result<(Deleted, Commit), Error> {
        let _alone = self.store().taking.lock();
        let (mut deleted, _) = count(&self.snapshot(), selector, TimeRange::ALL)?;
        let snapshot = self.snapshot();
        let sids = snapshot.select(selector, TimeRange::ALL)?;
        deleted.series = sids.len() as u64;
        if deleted.series > 0 || matches!(act, Act::DropNamespace) {
            self.store().audit(caller, selector.namespace, act, Some(&deleted))?;
        }
        let mut sids: Vec<u32> = sids.into_iter().flat_map(|sid| snapshot.ids(sid)).collect();
        sids.sort_unstable();
        let sids = sids.into_iter().collect();
        let commit = self.store().delete(selector.namespace, sids, TimeRange::ALL, true)?;
        self.store().count_deleted(&deleted);
        Ok((deleted, commit))
    }

    /// Drops all series of a namespace and the namespace itself; the first one stays, empty. Its
    /// number is not given out again, and its parts are removed before this returns; those of rows
    /// that were on their way follow.
    ///
    /// # Errors
    /// When a part cannot be read or removed, or the wal refuses.
    pub fn drop_namespace(&self, id: NamespaceId, caller: &Caller) -> Result<Deleted, Error> {
        let (deleted, _) = self.drop_selected(&all_of(id), &Act::DropNamespace, caller)?;
        self.forget_namespace(id)?;
        self.store().upkeep.drop_parts_of(|namespace| namespace == id)?;
        Ok(deleted)
    }
}

/// Refuses a selector that selects everything.
pub(crate) fn check(selector: &Selector) -> Result<(), Error> {
    let is_any = |test: &Test| matches!(test, Test::Any);
    let names_all = selector.names.is_empty()
        || selector.names.iter().any(|name| is_any(&name.measurement) && is_any(&name.field));
    let labels_all = selector
        .matchers
        .iter()
        .all(|matcher| is_any(&matcher.test) && !matcher.negated && matcher.accepts_absent);
    let is_all =
        names_all && labels_all && selector.exact_labels.is_none() && selector.only.is_none();
    match is_all {
        false => Ok(()),
        true => Err(Error::Invalid(
            "a delete needs a filter: name a measurement, a field or a label".to_owned(),
        )),
    }
}

/// Counts what the selected series hold in `range`, and finds those that hold anything.
fn count(
    snapshot: &Snapshot,
    selector: &Selector,
    range: TimeRange,
) -> Result<(Deleted, SidSet), Error> {
    let mut deleted = Deleted::default();
    let mut holding = Vec::new();
    let mut scan = None;
    for sid in snapshot.select(selector, range)? {
        let scan = match &mut scan {
            Some(scan) => {
                snapshot.scan_into(sid, scan)?;
                scan
            }
            None => scan.insert(snapshot.scan(sid, range)?),
        };
        let (samples, bytes) = scan.tally()?;
        if samples > 0 {
            holding.extend(snapshot.ids(sid));
            deleted.series += 1;
            deleted.samples += samples;
            deleted.bytes += bytes;
        }
    }
    holding.sort_unstable();
    Ok((deleted, holding.into_iter().collect()))
}

impl Store {
    fn count_deleted(&self, deleted: &Deleted) {
        self.ingest.counters().deletes.fetch_add(1, Ordering::Relaxed);
        self.ingest.counters().samples_deleted.fetch_add(deleted.samples, Ordering::Relaxed);
    }

    /// Deletes what series hold in `range`.
    pub(crate) fn delete(
        &self,
        namespace: NamespaceId,
        sids: SidSet,
        range: TimeRange,
        is_drop: bool,
    ) -> Result<Commit, Error> {
        let done = self.delete_after(namespace, sids, range, is_drop, &mut || Ok(true))?;
        Ok(done.unwrap_or(Commit { lsn: 0 }))
    }

    /// Deletes what series hold in `range`, unless `first`, which is called while writes are held
    /// off and no file comes or goes, says no.
    pub(crate) fn delete_after(
        &self,
        namespace: NamespaceId,
        sids: SidSet,
        range: TimeRange,
        is_drop: bool,
        first: &mut dyn FnMut() -> Result<bool, Error>,
    ) -> Result<Option<Commit>, Error> {
        if sids.is_empty() || range.is_empty() {
            return Ok(None);
        }
        let Self { files, ingest, .. } = self;
        // No file is begun meanwhile: those to come have higher numbers, and are written without
        // what is deleted.
        let mut held = files.hold();
        let before = held.divide();
        let deleted_at_ns = files.disk().now_ns();
        let tombstone =
            Arc::new(Tombstone { namespace, before, range, is_drop, deleted_at_ns, sids });
        let sids = &tombstone.sids;
        let mut frame = Vec::new();
        tombstone.encode(&mut frame);
        let frozen = files.view().frozen.clone();
        let commit = {
            let _gate = ingest.hold();
            if !first()? {
                return Ok(None);
            }
            let commit = ingest.wal().append(FrameKind::Delete, &frame)?;
            // Before memory lets go of anything: else what it overwrote would show in a part.
            held.mask(tombstone.clone(), commit.lsn);
            if sids.len() <= CUT_LIVE_SERIES_MAX {
                frozen.cut(sids, range)?;
                ingest.head().cut(sids, range)?;
            } else {
                // Moving pages is quick; they are cut when writes go on.
                for number in crate::head::pages_of(sids) {
                    ingest.head().freeze(number, &frozen);
                }
                ingest.head().doubt_last(sids, range);
            }
            if is_drop {
                ingest.registry().forget(sids);
            }
            commit
        };
        if sids.len() > CUT_LIVE_SERIES_MAX {
            frozen.cut(sids, range)?;
        }
        // Nobody writes to the epoch before, and being archived it keeps us waiting for seconds.
        if let Some(closing) = ingest.epochs().closing().filter(|_| is_drop) {
            closing.forget(sids);
        }
        Ok(Some(commit))
    }
}
