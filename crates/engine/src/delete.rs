//! Deletes, on one screen.
//!
//! 1. *select and count*: which series have samples in the range, from a snapshot. A preview ends
//!    here.
//! 2. *audit*: a line on the disk says who deletes what.
//! 3. *append*: with every write held off for an instant, one frame says what is deleted. All of it
//!    is deleted with that frame or, if a crash takes the frame, nothing.
//! 4. *publish*: a tombstone masks the samples in parts, also for readers who are under way.
//! 5. *apply*: the head forgets the samples. When series are dropped the registry forgets them, and
//!    later rows of their names make new ones.
//!
//! What takes longer the more series there are is done beside writers, and only what tells rows
//! before the frame from rows behind it is done in that instant: series that are dropped are hidden
//! from writers, so that nobody but the delete touches what memory holds of them; of others pages
//! of the head are moved aside, most of which were moved before it. Who reads before the delete is
//! answered may find some of it gone and some not.
//!
//! What parts hold goes when they are merged next, at the latest after
//! [`Config::delete_deadline`].
//!
//! [`Config::delete_deadline`]: crate::Config::delete_deadline

use crate::audit::{Act, Caller};
use crate::config::Commit;
use crate::error::Error;
use crate::limits::{CUT_LIVE_SERIES_MAX, WEIGHED_AT_ONCE};
use crate::retention::all_of;
use crate::scan::Scan;
use crate::snapshot::Snapshot;
use crate::store::{Engine, Store};
use crate::tombstones::Tombstone;
use crate::wal::frame::FrameKind;
use foliot_index::SidSet;
use foliot_model::{NamespaceId, Selector, Test, TimeRange};
use std::ops::AddAssign;
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

impl AddAssign for Deleted {
    fn add_assign(&mut self, other: Self) {
        self.series += other.series;
        self.samples += other.samples;
        self.bytes += other.bytes;
    }
}

impl Snapshot {
    /// All ids that series have, as far as selections looked.
    fn all_ids(&self, sids: &[u32]) -> SidSet {
        let mut ids: Vec<u32> = sids.iter().flat_map(|&sid| self.ids(sid)).collect();
        ids.sort_unstable();
        ids.into_iter().collect()
    }

    /// What these series hold in a range, and tells `each` what lies in one that holds anything.
    /// Ends with [`Error::Stopped`] when `goes_on`, asked before each series, says no.
    ///
    /// # Errors
    /// When a part cannot be read.
    pub fn weigh_each(
        &self,
        sids: &[u32],
        range: TimeRange,
        goes_on: &dyn Fn() -> bool,
        each: &mut dyn FnMut(u32, Deleted),
    ) -> Result<Deleted, Error> {
        let mut deleted = Deleted::default();
        for some in sids.chunks(WEIGHED_AT_ONCE) {
            let wanted: Vec<_> = some.iter().map(|&sid| (sid, range)).collect();
            deleted += count_each(self, &wanted, goes_on, each)?.0;
        }
        Ok(deleted)
    }
}

impl Engine {
    /// What deletes of all these would take away together: a sample that several of them name
    /// counts once. Ends with [`Error::Stopped`] when `goes_on`, asked before each series, says no.
    ///
    /// # Errors
    /// As for [`Engine::delete`].
    pub fn preview_delete(
        &self,
        doomed: &[(Selector, TimeRange)],
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Deleted, Error> {
        doomed.iter().try_for_each(|(selector, _)| check(selector))?;
        let snapshot = self.snapshot();
        let wanted = wanted(&snapshot, doomed, goes_on)?;
        count(&snapshot, &wanted, goes_on).map(|(deleted, _)| deleted)
    }

    /// What dropping all these series would take away; as [`Engine::preview_delete`].
    ///
    /// # Errors
    /// As for [`Engine::drop_series`].
    pub fn preview_drop_series(
        &self,
        doomed: &[Selector],
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Deleted, Error> {
        doomed.iter().try_for_each(check)?;
        self.preview_dropped(doomed, goes_on)
    }

    /// What dropping a namespace would take away; as [`Engine::preview_delete`].
    ///
    /// # Errors
    /// As for [`Engine::drop_namespace`].
    pub fn preview_drop_namespace(
        &self,
        id: NamespaceId,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Deleted, Error> {
        self.preview_dropped(&[all_of(id)], goes_on)
    }

    fn preview_dropped(
        &self,
        doomed: &[Selector],
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Deleted, Error> {
        let snapshot = self.snapshot();
        let doomed: Vec<_> = doomed.iter().cloned().map(|one| (one, TimeRange::ALL)).collect();
        let wanted = wanted(&snapshot, &doomed, goes_on)?;
        // Series go that hold nothing, too.
        let series = wanted.len() as u64;
        let (deleted, _) = count(&snapshot, &wanted, goes_on)?;
        Ok(Deleted { series, ..deleted })
    }

    /// What of a namespace would expire if it kept its samples for `keep` from now on. Series that
    /// a rule keeps for another time are left out. As [`Engine::preview_delete`].
    ///
    /// # Errors
    /// When a part cannot be read.
    pub fn preview_retention(
        &self,
        namespace: NamespaceId,
        keep: Duration,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Deleted, Error> {
        let snapshot = self.snapshot();
        let keep_ns = i64::try_from(keep.as_nanos()).unwrap_or(i64::MAX);
        let floor_ns = self.store().ingest.clock().shown_ns().saturating_sub(keep_ns);
        let range = TimeRange::new(i64::MIN, floor_ns.saturating_sub(1));
        let mut only = Vec::new();
        for sid in snapshot.select_while(&all_of(namespace), range, &|_| goes_on())? {
            if !goes_on() {
                return Err(Error::Stopped);
            }
            let class = self.store().ingest.epochs().describe(sid)?.map(|series| series.class);
            only.extend((class == Some(0)).then_some(sid));
        }
        let wanted: Vec<_> = only.into_iter().map(|sid| (sid, range)).collect();
        count(&snapshot, &wanted, goes_on).map(|(deleted, _)| deleted)
    }

    /// What would go, the oldest parts first, if parts took no more than `bytes_max`: how many
    /// samples and bytes. The series among them are not counted.
    pub fn preview_cap(&self, bytes_max: u64) -> Deleted {
        let beyond = self.store().files.view().beyond(bytes_max);
        beyond.map_or_else(Deleted::default, |beyond| Deleted {
            series: 0,
            samples: beyond.samples,
            bytes: beyond.bytes,
        })
    }

    /// Deletes the samples of the selected series in `range`: no reader finds them any more when
    /// this returns. What is written before it is called is gone then and what is written after it
    /// has returned stays; what is written meanwhile is gone or stays, whatever the next start
    /// finds. The delete is safe when the commit reaches the level asked of
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
        self.delete_while(selector, range, caller, &|| true)
    }

    /// The same, and ends with [`Error::Stopped`] when `goes_on`, asked before each series, says
    /// no. Nothing is deleted then: what is once begun is done.
    ///
    /// # Errors
    /// As for [`Engine::delete`].
    pub fn delete_while(
        &self,
        selector: &Selector,
        range: TimeRange,
        caller: &Caller,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<(Deleted, Commit), Error> {
        self.take_away(selector, range, caller, (goes_on, false))
    }

    /// The same, and drops the series that hold nothing any more: their names are not listed, and
    /// later rows of their names make new ones. Where all samples go, so do series that held
    /// nothing before, as after a delete that a crash cut short.
    ///
    /// # Errors
    /// As for [`Engine::delete`].
    pub fn delete_with_names_while(
        &self,
        selector: &Selector,
        range: TimeRange,
        caller: &Caller,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<(Deleted, Commit), Error> {
        self.take_away(selector, range, caller, (goes_on, true))
    }

    fn take_away(
        &self,
        selector: &Selector,
        range: TimeRange,
        caller: &Caller,
        (goes_on, with_names): (&dyn Fn() -> bool, bool),
    ) -> Result<(Deleted, Commit), Error> {
        check(selector)?;
        let _alone = self.store().taking.lock();
        let mut snapshot = self.snapshot();
        let (deleted, mut sids) = count_all(&snapshot, selector, range, goes_on)?;
        if snapshot.may_hide(selector.namespace, range) {
            // A longer retention, or a clock that goes back, would show again what stayed.
            snapshot = snapshot.of_all_ages();
            (_, sids) = count_all(&snapshot, selector, range, goes_on)?;
        }
        // Where all samples go, series go with them that hold none.
        let with_all = with_names && range == TimeRange::ALL;
        let doomed = match with_all {
            true => snapshot.select_while(selector, range, &|_| goes_on())?,
            false => sids.clone(),
        };
        if !sids.is_empty() {
            let act = Act::Delete(selector, range);
            self.store().audit(caller, selector.namespace, &act, Some(&deleted))?;
        }
        let ids = snapshot.all_ids(&doomed);
        let commit = self.store().delete(selector.namespace, ids, range, with_all)?;
        self.store().count_deleted(&deleted);
        let last = match with_names && !with_all {
            true => self.drop_empty(selector.namespace, &sids)?,
            false => None,
        };
        Ok((deleted, last.unwrap_or(commit)))
    }

    /// Drops those of some series that hold nothing. Nothing is taken away whoever writes
    /// meanwhile: it is looked again while writes are held off, and where something came, those
    /// that are dropped together stay until they are merged.
    fn drop_empty(&self, namespace: NamespaceId, sids: &[u32]) -> Result<Option<Commit>, Error> {
        let store = self.store();
        let snapshot = self.snapshot().of_all_ages();
        let mut last = None;
        for some in empty_among(&snapshot, sids)?.chunks(CUT_LIVE_SERIES_MAX as usize) {
            let ids = snapshot.all_ids(some);
            let mut are_empty = || {
                let now = snapshot.renewed(&store.files, &store.ingest).of_all_ages();
                Ok(empty_among(&now, some)?.len() == some.len())
            };
            let dropped =
                store.delete_after(namespace, ids, TimeRange::ALL, true, &mut are_empty)?;
            last = dropped.or(last);
        }
        Ok(last)
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
        self.drop_series_while(selector, caller, &|| true)
    }

    /// The same, and ends with [`Error::Stopped`] when `goes_on`, asked before each series, says
    /// no. Nothing is dropped then: what is once begun is done.
    ///
    /// # Errors
    /// As for [`Engine::delete`].
    pub fn drop_series_while(
        &self,
        selector: &Selector,
        caller: &Caller,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<(Deleted, Commit), Error> {
        check(selector)?;
        self.drop_selected(selector, &Act::DropSeries(selector), caller, goes_on)
    }

    fn drop_selected(
        &self,
        selector: &Selector,
        act: &Act<'_>,
        caller: &Caller,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<(Deleted, Commit), Error> {
        let _alone = self.store().taking.lock();
        let (mut deleted, _) = count_all(&self.snapshot(), selector, TimeRange::ALL, goes_on)?;
        let snapshot = self.snapshot();
        let sids = snapshot.select_while(selector, TimeRange::ALL, &|_| goes_on())?;
        deleted.series = sids.len() as u64;
        if deleted.series > 0 || matches!(act, Act::DropNamespace) {
            self.store().audit(caller, selector.namespace, act, Some(&deleted))?;
        }
        let sids = snapshot.all_ids(&sids);
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
        self.drop_namespace_while(id, caller, &|| true)
    }

    /// The same, and ends with [`Error::Stopped`] when `goes_on`, asked while it is counted what
    /// goes, says no. Nothing is dropped then: what is once begun is done.
    ///
    /// # Errors
    /// As for [`Engine::drop_namespace`].
    pub fn drop_namespace_while(
        &self,
        id: NamespaceId,
        caller: &Caller,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Deleted, Error> {
        let (deleted, _) = self.drop_selected(&all_of(id), &Act::DropNamespace, caller, goes_on)?;
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

/// The series that are selected, with the times of which samples are meant: in order, and no time
/// of a series twice.
fn wanted(
    snapshot: &Snapshot,
    doomed: &[(Selector, TimeRange)],
    goes_on: &dyn Fn() -> bool,
) -> Result<Vec<(u32, TimeRange)>, Error> {
    let mut all = Vec::new();
    for (selector, range) in doomed {
        let selected = snapshot.select_while(selector, *range, &|_| goes_on())?;
        all.extend(selected.into_iter().map(|sid| (sid, *range)));
    }
    all.sort_unstable_by_key(|(sid, range)| (*sid, range.start_ns));
    all.dedup_by(|(sid, range), (before, so_far)| {
        let joins = sid == before && range.start_ns <= so_far.end_ns;
        if joins {
            so_far.end_ns = so_far.end_ns.max(range.end_ns);
        }
        joins
    });
    Ok(all)
}

fn count_all(
    snapshot: &Snapshot,
    selector: &Selector,
    range: TimeRange,
    goes_on: &dyn Fn() -> bool,
) -> Result<(Deleted, Vec<u32>), Error> {
    let selected = snapshot.select_while(selector, range, &|_| goes_on())?;
    let wanted: Vec<_> = selected.into_iter().map(|sid| (sid, range)).collect();
    count(snapshot, &wanted, goes_on)
}

/// Counts what series hold in these ranges, and finds those that hold anything.
fn count(
    snapshot: &Snapshot,
    wanted: &[(u32, TimeRange)],
    goes_on: &dyn Fn() -> bool,
) -> Result<(Deleted, Vec<u32>), Error> {
    count_each(snapshot, wanted, goes_on, &mut |_, _| ())
}

/// The same, and tells `each` what it finds: of a series once for each range.
fn count_each(
    snapshot: &Snapshot,
    wanted: &[(u32, TimeRange)],
    goes_on: &dyn Fn() -> bool,
    each: &mut dyn FnMut(u32, Deleted),
) -> Result<(Deleted, Vec<u32>), Error> {
    let mut deleted = Deleted::default();
    let mut holding = Vec::new();
    let mut last = None;
    let mut scan: Option<(TimeRange, Scan)> = None;
    for &(sid, range) in wanted {
        if !goes_on() {
            return Err(Error::Stopped);
        }
        let (samples, bytes) = match &mut scan {
            Some((same, scan)) if *same == range => {
                snapshot.scan_into(sid, scan)?;
                scan.tally()?
            }
            scan => scan.insert((range, snapshot.scan(sid, range)?)).1.tally()?,
        };
        if samples > 0 {
            let is_new = last != Some(sid);
            if is_new {
                holding.push(sid);
            }
            last = Some(sid);
            let found = Deleted { series: u64::from(is_new), samples, bytes };
            each(sid, found);
            deleted += found;
        }
    }
    Ok((deleted, holding))
}

/// Those of some series that hold nothing.
fn empty_among(snapshot: &Snapshot, sids: &[u32]) -> Result<Vec<u32>, Error> {
    let mut scan = Scan::over(TimeRange::ALL);
    let mut empty = Vec::new();
    for &sid in sids {
        snapshot.scan_into(sid, &mut scan)?;
        empty.extend((!scan.finds_any()?).then_some(sid));
    }
    Ok(empty)
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
        Ok(done.unwrap_or(Commit::at(0)))
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
        // Few series are cut out of memory while writes wait. Of more, what the pages of the head
        // hold is moved, which is quicker, and again what came until writes wait.
        let moves = !is_drop && sids.len() > CUT_LIVE_SERIES_MAX;
        if moves {
            ingest.head().freeze_all(sids, &frozen);
        }
        let (commit, hidden) = {
            let _gate = ingest.hold();
            if !first()? {
                return Ok(None);
            }
            let commit = ingest.wal().append(FrameKind::Delete, &frame)?;
            // Before memory lets go of anything: else what it overwrote would show in a part.
            held.mask(tombstone.clone(), commit.lsn);
            // Rows behind the frame are of other series then.
            let hidden = is_drop.then(|| ingest.registry().hide(sids));
            if moves {
                ingest.head().freeze_all(sids, &frozen);
            } else if !is_drop {
                frozen.cut(sids, range)?;
                ingest.head().cut(sids, range)?;
            }
            (commit, hidden)
        };
        if moves {
            // Newer samples that came meanwhile may be doubted, too: they are looked for once.
            ingest.head().doubt_last(sids, range);
            frozen.cut(sids, range)?;
        }
        if let Some(hidden) = &hidden {
            frozen.cut(sids, range)?;
            ingest.head().cut(sids, range)?;
            ingest.registry().count_hidden(hidden);
            ingest.registry().sweep();
        }
        // Nobody writes to the epoch before, and being archived it keeps us waiting for seconds.
        if let Some(closing) = ingest.epochs().closing().filter(|_| is_drop) {
            closing.forget(sids);
        }
        Ok(Some(commit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Builder;
    use crate::config::Config;
    use crate::head::page_of;
    use crate::limits::PAGE_SERIES;
    use crate::support::{Line, Owned, read, selector, write};
    use foliot_disk::SimDisk;
    use foliot_model::DEFAULT_NAMESPACE;
    use std::path::Path;
    use std::sync::mpsc;

    fn put(engine: &Engine, keys: impl Iterator<Item = String>, value: i64) {
        let fields = vec![("value".to_owned(), Owned::Integer(value))];
        let line = |key| Line { key, time_ns: 1, fields: fields.clone() };
        let lines: Vec<Line> = keys.map(line).collect();
        write(engine, DEFAULT_NAMESPACE, &lines).0.unwrap();
    }

    /// Memory lets go of one page after another. Here somebody holds the second, while a reader
    /// looks at a series of the first until it has changed.
    #[test]
    fn what_a_deleted_sample_had_overwritten_shows_at_no_time() {
        let config = Config { background: false, ..Config::default() };
        let engine = Engine::open(Arc::new(SimDisk::new(1)), Path::new("store"), config).unwrap();
        let deleted = || ["m n=1", "m n=2"].into_iter().map(str::to_owned);
        put(&engine, deleted().take(1), 10);
        put(&engine, (0..PAGE_SERIES).map(|n| format!("other n={n}")), 10);
        put(&engine, deleted(), 10);
        engine.flush().unwrap();
        put(&engine, deleted(), 20);
        let selector = selector(DEFAULT_NAMESPACE, "m");
        let sids = engine.snapshot().select(&selector, TimeRange::ALL).unwrap();
        let [first, second] = sids[..] else { panic!("{sids:?}") };
        assert!(page_of(first) < page_of(second));
        let shown = || read(&engine.snapshot(), first, TimeRange::ALL);
        let before = shown();
        assert_eq!(before, [(1, Owned::Integer(20))]);
        std::thread::scope(|scope| {
            let (held, is_held) = mpsc::channel();
            let (changed, has_changed) = mpsc::channel::<()>();
            let engine = &engine;
            scope.spawn(move || {
                let mut builder = Builder::default();
                let ingest = &engine.store().ingest;
                let _page = ingest.head().appender(&[page_of(second)], &mut builder);
                held.send(()).unwrap();
                has_changed.recv().unwrap();
            });
            is_held.recv().unwrap();
            let sids: SidSet = [first, second].into_iter().collect();
            scope.spawn(|| {
                engine.store().delete(DEFAULT_NAMESPACE, sids, TimeRange::ALL, false).unwrap();
            });
            let after = std::iter::repeat_with(shown).find(|shown| *shown != before);
            changed.send(()).unwrap();
            assert_eq!(after, Some(Vec::new()));
        });
    }
}
