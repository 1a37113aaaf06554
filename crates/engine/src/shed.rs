//! Shed: parts that hold too much of what nobody sees any more are written again without it.
//!
//! A merge leaves out what was deleted and what has expired anyway. This is for parts that no merge
//! is due for: those with deleted samples older than `delete.deadline`, and those at least half of
//! which has expired. Each is merged by itself, at its level.

use crate::error::Error;
use crate::limits::TOMBSTONES_MAX;
use crate::part::Part;
use crate::retention::Retention;
use crate::store::Store;
use crate::tombstones::{Mask, Tombstone};
use crate::view::View;
use foliot_model::{NamespaceId, TimeRange};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

impl Store {
    /// A part that is due to shed something, of those that can be read.
    pub(crate) fn due_to_shed(
        &self,
        view: &View,
        unreadable: &HashSet<u64>,
    ) -> Result<Option<Arc<Part>>, Error> {
        let can_be_read = |part: &&Arc<Part>| !unreadable.contains(&part.entry.number);
        let now_ns = self.disk.now_ns();
        let overdue = self.overdue(view, now_ns);
        if let Some(before_max) = overdue.iter().map(|tombstone| tombstone.before).max() {
            for part in view.parts.iter().filter(can_be_read) {
                if holds_deleted(part, &overdue)? {
                    return Ok(Some(part.clone()));
                }
                part.note_clear_of(before_max);
            }
            self.forget_tombstones();
        }
        let retention = self.retention.read().clone();
        if retention.is_forever() {
            return Ok(None);
        }
        let is_half_gone = |part: &&Arc<Part>| {
            let TimeRange { start_ns, end_ns } = part.footer.range;
            let floor_ns = retention.floor(now_ns, part.entry.namespace, part.entry.class);
            // Series whose class changed since may keep more than the part's class does.
            let gone = floor_ns.saturating_sub(start_ns.max(part.shed_ns()));
            let all = end_ns.saturating_sub(start_ns);
            start_ns < floor_ns && floor_ns <= end_ns && gone > all / 2
        };
        Ok(view.parts.iter().filter(can_be_read).find(is_half_gone).cloned())
    }

    /// Deletes whose deadline has passed, and all that are older, by number, than one of those.
    fn overdue(&self, view: &View, now_ns: i64) -> Vec<Arc<Tombstone>> {
        let all = view.tombstones.list();
        let deadline_ns = self.config.delete_deadline.as_nanos();
        let spare = all.len().saturating_sub(TOMBSTONES_MAX);
        let is_due = |(index, tombstone): &(usize, &Arc<Tombstone>)| {
            // The clock may have jumped either way.
            let age_ns = now_ns.abs_diff(tombstone.deleted_at_ns);
            *index < spare || u128::from(age_ns) >= deadline_ns
        };
        let due = all.iter().enumerate().filter(is_due).map(|(_, tombstone)| tombstone.before);
        let before_max = due.max().unwrap_or(0);
        all.iter().filter(|tombstone| tombstone.before <= before_max).cloned().collect()
    }

    /// Lets go of the tombstones that no part needs any more. Their file follows with a flush.
    fn forget_tombstones(&self) {
        let _files = self.files.lock();
        let mut view = self.view.write();
        let tombstones = view.tombstones.still_masking(&view.parts);
        if !Arc::ptr_eq(&tombstones, &view.tombstones) {
            *view = Arc::new(View { tombstones, ..View::clone(&view) });
        }
    }
}

fn holds_deleted(part: &Part, overdue: &[Arc<Tombstone>]) -> Result<bool, Error> {
    for tombstone in overdue {
        let is_of_part = part.clear_of() < tombstone.before
            && part.entry.namespace == tombstone.namespace
            && part.footer.range.overlaps(&tombstone.range);
        if is_of_part && part.holds(&tombstone.sids, tombstone.range)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What has expired, while parts are merged.
pub(crate) struct Expired {
    retention: Arc<Retention>,
    now_ns: i64,
    /// The highest floor that a series here can have.
    highest_ns: i64,
    namespace: NamespaceId,
    /// Of the parts being merged.
    class: u32,
    /// Floors that took something away, by namespace and class.
    pub(crate) floors: BTreeMap<(NamespaceId, u32), i64>,
}

impl Expired {
    /// What has expired of parts of a namespace and class.
    pub(crate) fn new(store: &Store, namespace: NamespaceId, class: u32) -> Self {
        let retention = store.retention.read().clone();
        let now_ns = store.disk.now_ns();
        let highest_ns = match retention.is_forever() {
            true => i64::MIN,
            false => retention.floors(now_ns, namespace).1.max(
                // A class that no rule names any more may still have series.
                retention.floor(now_ns, namespace, class),
            ),
        };
        Self { retention, now_ns, highest_ns, namespace, class, floors: BTreeMap::new() }
    }

    /// Adds to `masks` what has expired of a series whose first block begins at `start_ns`.
    pub(crate) fn mask(&mut self, store: &Store, sid: u32, start_ns: i64, masks: &mut Vec<Mask>) {
        if start_ns >= self.highest_ns {
            return;
        }
        let class = store.epochs().describe(sid).ok().flatten();
        let class = class.map_or(self.class, |series| series.class);
        let floor_ns = self.retention.floor(self.now_ns, self.namespace, class);
        if start_ns < floor_ns {
            self.floors.insert((self.namespace, class), floor_ns);
            masks.push((u64::MAX, TimeRange::new(i64::MIN, floor_ns.saturating_sub(1))));
        }
    }
}
