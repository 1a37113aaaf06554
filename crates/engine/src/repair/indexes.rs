//! Repair of the indexes of the open epoch and of one that closed and has no segment yet: where a
//! file of one cannot be read, series get their names back from what can be read of the others,
//! from the log, and from final parts.
//!
//! Ids stay, for parts and log mention series by them. All other numbers are given anew, and the
//! epoch begins at another [`Origin`] from then on: registrations of the log, which were written
//! with the old numbers, are passed over by whoever reads it. Here they are read. The epoch behind
//! one that is made again is made again too, so that no number stands for two names.

use super::Repairer;
use crate::audit::Act;
use crate::error::Error;
use crate::filenames::{self, Named};
use crate::index_file;
use crate::limits::PAGE_SERIES;
use crate::manifest::{EpochEntry, Manifest, PartEntry};
use crate::spelled::{SYNTAX, put_key};
use crate::tombstones::Tombstones;
use crate::wal::frame::FrameKind;
use crate::wal::{reader, rows};
use foliot_index::{Identity, LABELS_MAX, Mark, Origin, Registry, Terms};
use foliot_model::{Batch, BatchBuffers, Cell, KeySecret, Span};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::Range;
use std::sync::Arc;

/// What is known of a series.
struct Known {
    namespace: u32,
    class: u32,
    identity: Identity,
}

/// Series by id; nothing of those that have samples and no name.
type Series = BTreeMap<u32, Option<Known>>;

/// The index of an epoch, made again.
struct Made {
    /// Where the epoch began before, and its files.
    old: EpochEntry,
    registry: Arc<Registry>,
    /// What was wrong; None with an epoch behind one with damage.
    damage: Option<Error>,
    /// Series with a name.
    named: u64,
    /// Series with samples and without a name.
    unnamed: u64,
}

impl Made {
    fn said(&self) -> String {
        let lost = match self.unnamed {
            0 => String::new(),
            unnamed => format!("; {unnamed} series with samples have no name any more"),
        };
        let reason = match &self.damage {
            Some(damage) => damage.to_string(),
            None => format!("epoch {} begins behind it", self.old.origin.epoch),
        };
        format!("{reason}: the index is made again, with {} series{lost}", self.named)
    }
}

impl Repairer<'_> {
    /// Writes the indexes of epochs without a segment anew where a file is damaged beyond what its
    /// parities mend. Unless names may be lost, not when samples would be left without one.
    pub(super) fn indexes(&mut self, manifest: &mut Manifest) -> Result<(), Error> {
        let all = self.made_again(manifest)?;
        let unnamed: u64 = all.iter().map(|made| made.unnamed).sum();
        let damage = all.iter().find_map(|made| made.damage.as_ref());
        if let Some(damage) = damage.filter(|_| unnamed > 0 && !self.may_lose.names) {
            return Err(Error::Invalid(format!(
                "{damage}; {unnamed} series with samples have their names only in it: copy it from a \
                 backup of this store, where it has the same name, or say --lose-names"
            )));
        }
        if unnamed > 0 {
            self.audit(None, &Act::LoseNames(unnamed))?;
        }
        for made in &all {
            let number = manifest.next_file;
            manifest.next_file += 1;
            let path = filenames::index(self.dir, number);
            let (store_id, registry) = (manifest.store_id, &*made.registry);
            index_file::write(&**self.disk, &path, number, store_id, registry, &Mark::default())?;
            let is_old = |entry: &&mut EpochEntry| entry.origin == made.old.origin;
            if let Some(entry) = manifest.epochs.iter_mut().find(is_old) {
                entry.origin = registry.origin();
                entry.index_files = vec![number];
            }
        }
        if !all.is_empty() {
            self.publish(manifest)?;
        }
        for made in &all {
            for &number in &made.old.index_files {
                self.set_aside(&filenames::index(self.dir, number))?;
            }
            match made.unnamed {
                0 => self.done.mended.push(made.said()),
                _ => self.done.lost.push(made.said()),
            }
        }
        Ok(())
    }

    /// The indexes that have to be made again, oldest first.
    fn made_again(&self, manifest: &mut Manifest) -> Result<Vec<Made>, Error> {
        let mut all: Vec<Made> = Vec::new();
        let epochs = manifest.epochs.clone();
        for (at, entry) in epochs.iter().enumerate() {
            if entry.segment != 0 {
                continue;
            }
            let mut damage = None;
            for &number in &entry.index_files {
                let found =
                    self.damage(&filenames::index(self.dir, number), Named::Index(number))?;
                damage = damage.or(found);
            }
            let before = all.last().map(|made| made.registry.clone());
            if damage.is_none() && before.is_none() {
                continue;
            }
            let next = epochs.get(at + 1);
            let sids = entry.origin.base..next.map_or(u32::MAX, |next| next.origin.base);
            let tombstones = self.tombstones(manifest)?;
            let series = self.series(entry, sids.clone(), manifest, &tombstones)?;
            let registry = registry_behind(before, &entry.origin);
            // No new series may get an id that a part or a delete still mentions.
            let dropped =
                tombstones.dropped().within(sids.start, sids.end.saturating_sub(1)).last();
            let last = series.keys().last().copied().max(dropped);
            let unnamed = fill(&registry, &series, last, KeySecret(manifest.key_secret))?;
            let named = series.len() as u64 - unnamed;
            all.push(Made { old: entry.clone(), registry, damage, named, unnamed });
        }
        Ok(all)
    }

    /// All series of an epoch that something tells of.
    fn series(
        &self,
        entry: &EpochEntry,
        sids: Range<u32>,
        manifest: &Manifest,
        tombstones: &Tombstones,
    ) -> Result<Series, Error> {
        let mut series = Series::new();
        let parts = manifest.parts.iter().filter(|part| part.epoch == entry.origin.epoch);
        // Of two classes that of the newer part counts.
        for part in parts {
            self.series_of_part(*part, manifest.store_id, &mut series)?;
        }
        let registry = Registry::begin(entry.origin);
        registry.forget(tombstones.dropped());
        for &number in &entry.index_files {
            let path = filenames::index(self.dir, number);
            index_file::salvage(&**self.disk, &path, number, &registry)?;
        }
        let each = &mut |_, kind, body: &[u8]| {
            match kind {
                FrameKind::Register if Origin::of_records(body) == Some(entry.origin) => {
                    // What needs records that are lost is lost with them.
                    drop(registry.replay(body));
                }
                FrameKind::Rows => {
                    rows::read(body, &mut |sid, _, _, _| {
                        series.entry(sid).or_insert(None);
                    });
                }
                FrameKind::Register | FrameKind::Catalog | FrameKind::Delete => {}
            }
            Ok(())
        };
        let start_lsn = manifest.wal_start_lsn;
        reader::replay(&**self.disk, self.dir, manifest.store_id, start_lsn, each)?;
        for sid in entry.origin.base..registry.series_end() {
            let (Some(identity), Some(found)) = (registry.identity(sid), registry.describe(sid))
            else {
                continue;
            };
            let of_parts = series.remove(&sid).flatten().map_or(0, |known| known.class);
            let class = if found.class == 0 { of_parts } else { found.class };
            series.insert(sid, Some(Known { namespace: found.namespace, class, identity }));
        }
        series.retain(|sid, _| sids.contains(sid) && !tombstones.dropped().contains(*sid));
        Ok(series)
    }

    /// Adds the series of a part, as far as it can be read.
    fn series_of_part(
        &self,
        entry: PartEntry,
        store_id: u64,
        series: &mut Series,
    ) -> Result<(), Error> {
        let PartEntry { namespace, class, .. } = entry;
        let part = match self.open(entry, store_id) {
            Ok(part) => part,
            Err(error) if error.is_damage() => return Ok(()),
            Err(error) => return Err(error),
        };
        for number in 0.. {
            let read = part.names(number, &mut |sid, identity| {
                let known = identity.map(|identity| Known { namespace, class, identity });
                let found = series.entry(sid).or_insert(None);
                *found = known.or(found.take());
            });
            match read {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) if error.is_damage() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// The empty registry of an epoch that is made again, whose symbols have numbers that none has yet,
/// but for those that the epoch `before`, made again too, knows.
fn registry_behind(before: Option<Arc<Registry>>, origin: &Origin) -> Arc<Registry> {
    let mut again = origin.again();
    if let Some(before) = &before {
        let taken = before.next_origin(PAGE_SERIES as u32).symbols;
        for (number, taken) in again.symbols.iter_mut().zip(taken) {
            *number = taken.max(*number);
        }
    }
    let registry = Registry::begin(again);
    registry.set_closing(before);
    Arc::new(registry)
}

/// Registers each series under the id that it had, and returns how many have no name in it.
/// Ids up to `last` are taken from then on.
fn fill(
    registry: &Registry,
    series: &Series,
    last: Option<u32>,
    secret: KeySecret,
) -> Result<u64, Error> {
    let mut unnamed = 0;
    for (&sid, known) in series {
        reserve(registry, sid)?;
        let is_named =
            known.as_ref().is_some_and(|known| register(registry, known, secret) == Some(sid));
        unnamed += u64::from(!is_named);
    }
    if let Some(last) = last.filter(|last| *last >= registry.series_end()) {
        reserve(registry, last.saturating_add(1))?;
        // Numbers that are lost at the end are told by who has a class.
        let Ok(_) = registry.assign_class::<Infallible>(last, 1, 0, &mut |_| Ok(()));
    }
    Ok(unnamed)
}

fn reserve(registry: &Registry, end: u32) -> Result<(), Error> {
    registry.reserve(end);
    match registry.series_end() < end {
        false => Ok(()),
        true => Err(Error::Invalid(format!(
            "too many series have no name any more to make the index again: up to id {end}; copy the \
             index files from a backup of this store"
        ))),
    }
}

/// Registers a series, and returns its id.
fn register(registry: &Registry, known: &Known, secret: KeySecret) -> Option<u32> {
    let Known { namespace, class, identity } = known;
    let mut batch = Batch::new(&[], *namespace, &SYNTAX, secret, BatchBuffers::default());
    let key = batch.push_scratch(|out| put_key(identity, out));
    let field = batch.push_scratch(|out| out.extend_from_slice(identity.field.as_bytes()));
    let shape = batch.push_shape(&[field]);
    batch.push_cell(Cell::boolean(false));
    batch.push_row([Span::default(), key], 0, shape, 1);
    let class = &|_: &_| *class;
    let terms = Terms { admit: 1, limit: "a repair", limited: None, labels_max: LABELS_MAX, class };
    let mut sid = None;
    let Ok(_) = registry.register::<Infallible>(
        &batch,
        &[0],
        &terms,
        &mut |_| Ok(()),
        &mut |_, sids| sid = Some(sids.first()),
        &mut Vec::new(),
    );
    sid
}
