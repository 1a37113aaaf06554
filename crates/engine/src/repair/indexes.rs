//! Repair of the index of the open epoch: where a file of it cannot be read, series get their names
//! back from what can be read of the others, from the log, and from final parts.
//!
//! Ids stay, for parts and log mention series by them. All other numbers are given anew, and the
//! epoch begins at another [`Origin`] from then on: registrations of the log, which were written
//! with the old numbers, are passed over by whoever reads it. Here they are read.

use super::Repairer;
use crate::error::Error;
use crate::filenames::{self, Named};
use crate::index_file;
use crate::manifest::{EpochEntry, Manifest, PartEntry};
use crate::recover;
use crate::spelled::{SYNTAX, put_key};
use crate::tombstones::Tombstones;
use crate::wal::frame::FrameKind;
use crate::wal::{reader, rows};
use foliot_index::{Identity, LABELS_MAX, Mark, Origin, Registry, Terms};
use foliot_model::{Batch, BatchBuffers, Cell, KeySecret, Span};
use std::collections::BTreeMap;
use std::convert::Infallible;

/// What is known of a series.
struct Known {
    namespace: u32,
    class: u32,
    identity: Identity,
}

/// Series by id; nothing of those that have samples and no name.
type Series = BTreeMap<u32, Option<Known>>;

impl Repairer<'_> {
    /// Writes the index of the open epoch anew if one of its files is damaged beyond what its
    /// parities mend. Unless names may be lost, not when samples would be left without one.
    pub(super) fn open_index(&mut self, manifest: &mut Manifest) -> Result<(), Error> {
        let open = manifest.epochs.last().filter(|entry| entry.segment == 0);
        let Some(entry) = open.cloned() else { return Ok(()) };
        let mut damage = None;
        for &number in &entry.index_files {
            let found = self.damage(&filenames::index(self.dir, number), Named::Index(number))?;
            damage = damage.or(found);
        }
        let Some(damage) = damage else { return Ok(()) };
        let tombstones = self.tombstones(manifest)?;
        let series = self.series(&entry, manifest, &tombstones)?;
        let (registry, unnamed) = registry_of(&entry.origin, &series, manifest, &tombstones)?;
        if unnamed > 0 && !self.may_lose.names {
            return Err(Error::Invalid(format!(
                "{damage}; {unnamed} series with samples have their names only in it: copy it from a \
                 backup of this store, where it has the same name, or say --lose-names"
            )));
        }
        let number = manifest.next_file;
        manifest.next_file += 1;
        let path = filenames::index(self.dir, number);
        let store_id = manifest.store_id;
        index_file::write(&**self.disk, &path, number, store_id, &registry, &Mark::default())?;
        if let Some(open) = manifest.epochs.last_mut() {
            open.origin = registry.origin();
            open.index_files = vec![number];
        }
        self.publish(manifest)?;
        for &number in &entry.index_files {
            self.set_aside(&filenames::index(self.dir, number))?;
        }
        let named = series.len() as u64 - unnamed;
        let lost = match unnamed {
            0 => String::new(),
            unnamed => format!("; {unnamed} series with samples have no name any more"),
        };
        self.said.push(format!("{damage}: the index is made again, with {named} series{lost}"));
        Ok(())
    }

    /// All series of the open epoch that something tells of.
    fn series(
        &self,
        entry: &EpochEntry,
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
        series.retain(|sid, _| *sid >= entry.origin.base && !tombstones.dropped().contains(*sid));
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
            Err(error) if recover::is_damage(&error) => return Ok(()),
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
                Err(error) if recover::is_damage(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// A registry in which each series has the id that it had, and how many have no name in it.
fn registry_of(
    before: &Origin,
    series: &Series,
    manifest: &Manifest,
    tombstones: &Tombstones,
) -> Result<(Registry, u64), Error> {
    let registry = Registry::begin(before.again());
    let mut unnamed = 0;
    for (&sid, known) in series {
        reserve(&registry, sid)?;
        let is_named = known.as_ref().is_some_and(|known| {
            register(&registry, known, KeySecret(manifest.key_secret)) == Some(sid)
        });
        unnamed += u64::from(!is_named);
    }
    // No new series may get an id that a part or a delete still mentions.
    let dropped = tombstones.dropped().last().filter(|sid| *sid >= before.base);
    let last = series.keys().last().copied().max(dropped);
    if let Some(last) = last.filter(|last| *last >= registry.series_end()) {
        reserve(&registry, last.saturating_add(1))?;
        // Numbers that are lost at the end are told by who has a class.
        let Ok(_) = registry.assign_class::<Infallible>(last, 1, 0, &mut |_| Ok(()));
    }
    Ok((registry, unnamed))
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
    let (terms, mut sid) = (Terms { admit: 1, labels_max: LABELS_MAX, class: &|_| *class }, None);
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
