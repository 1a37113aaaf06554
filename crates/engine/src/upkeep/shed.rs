//! Shed: parts that hold too much of what nobody sees any more are written again without it.
//!
//! A merge leaves out what was deleted and what has expired anyway. This is for parts that no merge
//! is due for: those with samples deleted longer ago than [`Config::delete_deadline`], and those
//! that have begun to expire, when all that lingers in such parts is more than a twenty-fifth of
//! what is kept. Each is written again by itself.
//!
//! A part that keeps expiring would be written again and again. So what is left of it is cut into
//! slices of time, final parts that then go one by one, each as a whole: with its slicing a sample
//! is written at most once more.
//!
//! [`Config::delete_deadline`]: crate::Config::delete_deadline

use super::Upkeep;
use super::merge::{Merge, Unreadable};
use crate::error::Error;
use crate::floors::{FloorKey, Floors};
use crate::ingest::Ingest;
use crate::limits::{
    LEVEL_FINAL, LINGERING_SHARE, SLICE_SAMPLES_MIN, SLICES_MAX, SLICES_OF_KEPT, TOMBSTONES_MAX,
};
use crate::part::Part;
use crate::retention::Retention;
use crate::tombstones::{Mask, Tombstone};
use crate::view::View;
use foliot_model::{NamespaceId, TimeRange};
use std::collections::BTreeMap;
use std::sync::Arc;

impl Upkeep {
    /// A part that is due to shed something, of those that can be read, as a merge of it alone.
    pub(super) fn due_to_shed(
        &self,
        view: &View,
        unreadable: &Unreadable,
    ) -> Result<Option<Merge>, Error> {
        let can_be_read = |part: &&Arc<Part>| !unreadable.contains(&part.entry.number);
        let now_ns = self.ingest.clock().gone_ns();
        let overdue = self.overdue(view, self.ingest.disk().now_ns());
        if let Some(before_max) = overdue.iter().map(|tombstone| tombstone.before).max() {
            for part in view.parts.iter().filter(can_be_read) {
                if holds_deleted(part, &overdue)? {
                    return Ok(Some(self.merge_of(std::slice::from_ref(part), part.entry.level)));
                }
                part.note_clear_of(before_max);
            }
            self.files.hold().forget_tombstones();
        }
        let retention = self.ingest.retention();
        if retention.is_forever() {
            return Ok(None);
        }
        let lingering = Lingering::of(view, &retention, now_ns);
        let parts = view.parts.iter().filter(can_be_read);
        let part =
            parts.filter(|part| lingering.is_due(part)).max_by_key(|part| lingering.in_part(part));
        Ok(part.map(|part| {
            let floor_ns = retention.floor(now_ns, part.entry.namespace, part.entry.class);
            let slices = slices(part, floor_ns, now_ns);
            let level = if slices.len() > 1 { LEVEL_FINAL } else { part.entry.level };
            Merge { inputs: vec![part.clone()], level, slices }
        }))
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

/// What has expired and is still in parts that also hold newer samples, in bytes, estimated.
struct Lingering<'r> {
    retention: &'r Retention,
    now_ns: i64,
    /// Bytes that linger and that are kept, by namespace and class.
    sums: BTreeMap<(NamespaceId, u32), (u64, u64)>,
}

impl<'r> Lingering<'r> {
    fn of(view: &View, retention: &'r Retention, now_ns: i64) -> Self {
        let mut all = Self { retention, now_ns, sums: BTreeMap::new() };
        for part in &view.parts {
            let lingering = all.in_part(part);
            let key = (part.entry.namespace, part.entry.class);
            let (gone, kept) = all.sums.entry(key).or_default();
            *gone += lingering;
            *kept += part.entry.bytes.saturating_sub(lingering);
        }
        all
    }

    /// What lingers in a part, as if its bytes were spread evenly over its time.
    fn in_part(&self, part: &Part) -> u64 {
        let TimeRange { start_ns, end_ns } = part.footer.range;
        let floor_ns = self.retention.floor(self.now_ns, part.entry.namespace, part.entry.class);
        if start_ns >= floor_ns || floor_ns > end_ns {
            return 0;
        }
        // Series whose class changed since may keep more than the part's class does.
        let gone = floor_ns.saturating_sub(start_ns.max(part.shed_ns())).max(0);
        let all = end_ns.saturating_sub(start_ns).max(1);
        (u128::from(part.entry.bytes) * gone as u128 / all as u128) as u64
    }

    fn is_due(&self, part: &Part) -> bool {
        let key = (part.entry.namespace, part.entry.class);
        let (gone, kept) = self.sums.get(&key).copied().unwrap_or_default();
        self.in_part(part) > 0 && gone.saturating_mul(LINGERING_SHARE) > kept
    }
}

/// The slices that a part is cut into which has expired up to `floor_ns`.
fn slices(part: &Part, floor_ns: i64, now_ns: i64) -> Vec<TimeRange> {
    let TimeRange { start_ns, end_ns } = part.footer.range;
    let first_ns = start_ns.max(floor_ns);
    let series_ns = u128::from(end_ns.abs_diff(start_ns)) * u128::from(part.footer.series);
    let dense_ns =
        series_ns * u128::from(SLICE_SAMPLES_MIN) / u128::from(part.footer.samples.max(1));
    let kept_ns = now_ns.saturating_sub(floor_ns).max(0).unsigned_abs();
    let slice_ns = u128::from(kept_ns / SLICES_OF_KEPT)
        .max(dense_ns)
        .max(u128::from(end_ns.abs_diff(first_ns) / SLICES_MAX) + 1);
    let slice_ns = i64::try_from(slice_ns).unwrap_or(i64::MAX);
    let mut slices = Vec::new();
    let mut slice = TimeRange::ALL;
    let mut edge_ns = first_ns.saturating_add(slice_ns);
    while edge_ns <= end_ns {
        slices.push(TimeRange { end_ns: edge_ns - 1, ..slice });
        slice.start_ns = edge_ns;
        edge_ns = edge_ns.saturating_add(slice_ns);
    }
    slices.push(slice);
    slices
}

/// Adds masks that hide everything but `slice`.
pub(super) fn mask_outside(slice: TimeRange, masks: &mut Vec<Mask>) {
    if slice.start_ns > i64::MIN {
        masks.push((u64::MAX, TimeRange::new(i64::MIN, slice.start_ns - 1)));
    }
    if slice.end_ns < i64::MAX {
        masks.push((u64::MAX, TimeRange::new(slice.end_ns + 1, i64::MAX)));
    }
}

/// What has expired, while parts are merged.
pub(super) struct Expired<'i> {
    ingest: &'i Ingest,
    retention: Arc<Retention>,
    /// The highest floor that a series here can have.
    highest_ns: i64,
    namespace: NamespaceId,
    /// Of the parts being merged.
    class: u32,
    /// Floors that took something away.
    floors: &'i mut Floors,
}

impl<'i> Expired<'i> {
    /// What has expired of parts of a namespace and class at the instant of `floors`.
    pub(super) fn new(
        ingest: &'i Ingest,
        (namespace, class): FloorKey,
        floors: &'i mut Floors,
    ) -> Self {
        let retention = ingest.retention();
        let now_ns = floors.now_ns();
        let highest_ns = match retention.is_forever() {
            true => i64::MIN,
            false => retention.floors(now_ns, namespace).1.max(
                // A class that no rule names any more may still have series.
                retention.floor(now_ns, namespace, class),
            ),
        };
        Self { ingest, retention, highest_ns, namespace, class, floors }
    }

    /// Adds to `masks` what has expired of a series whose first block begins at `start_ns`.
    pub(super) fn mask(&mut self, sid: u32, start_ns: i64, masks: &mut Vec<Mask>) {
        if start_ns >= self.highest_ns {
            return;
        }
        let class = self.ingest.epochs().describe(sid).ok().flatten();
        let class = class.map_or(self.class, |series| series.class);
        let floor_ns = self.retention.floor(self.floors.now_ns(), self.namespace, class);
        if start_ns < floor_ns {
            self.floors.note((self.namespace, class), floor_ns);
            masks.push((u64::MAX, TimeRange::new(i64::MIN, floor_ns.saturating_sub(1))));
        }
    }
}
