//! Repair of parts: what can be read of a damaged one goes to a new one of the same rank.

use super::Repairer;
use crate::audit::Act;
use crate::cache::Cache;
use crate::check::BlockReader;
use crate::error::Error;
use crate::filenames;
use crate::limits::LEVEL_FINAL;
use crate::manifest::{Manifest, PartEntry};
use crate::merge::Merger;
use crate::namespaces::Namespaces;
use crate::part::format::Header;
use crate::part::{BlockRef, Cursor, PartWriter};
use crate::recover;
use crate::tombstones::{Tombstone, Tombstones};
use crate::wal::frame::FrameKind;
use crate::wal::reader;
use std::sync::Arc;

impl Repairer<'_> {
    pub(super) fn parts(&mut self, manifest: &mut Manifest) -> Result<(), Error> {
        let mut namespaces = None;
        for entry in manifest.parts.clone() {
            let path = filenames::part(self.dir, entry.number);
            if !self.disk.exists(&path) && !self.may_lose.parts {
                continue;
            }
            let reason = match self.is_sound(entry, manifest.store_id) {
                Ok(()) => continue,
                Err(error) if error.is_damage() => error.to_string(),
                Err(error) => return Err(error),
            };
            if !self.disk.exists(&path) {
                let namespaces = match namespaces.take() {
                    Some(known) => namespaces.insert(known),
                    None => namespaces.insert(self.namespaces(manifest)?),
                };
                let names = namespaces.name(entry.namespace).unwrap_or_default();
                let PartEntry { samples, bytes, .. } = entry;
                let act = Act::LosePart { path: &path, samples, bytes };
                self.audit(Some((&names.0, &names.1)), &act)?;
            }
            let (saved, read) = self.salvage(entry, manifest)?;
            manifest.parts.retain(|other| other.number != entry.number);
            let kept = saved.map_or(0, |saved| saved.samples);
            manifest.parts.extend(saved);
            manifest.parts.sort_by_key(|entry| entry.rank);
            self.publish(manifest)?;
            self.set_aside(&path)?;
            // Of a part without an end a manifest that was made anew knows no number.
            match entry.samples {
                0 => self.done.lost.push(format!(
                    "{reason}: saved {kept} of its samples; how many there were is not known"
                )),
                all => {
                    let said = format!("{reason}: saved {kept} of its {all} samples");
                    match read < all {
                        true => self.done.lost.push(said),
                        false => self.done.mended.push(said),
                    }
                }
            }
        }
        Ok(())
    }

    /// What databases and policies are called, by a catalog that can be read.
    fn namespaces(&self, manifest: &Manifest) -> Result<Namespaces, Error> {
        let catalog = recover::read_catalog(&**self.disk, self.dir, manifest, &Cache::new(0))?;
        Ok(Namespaces::load(&self.with_wal(&catalog, manifest)?))
    }

    /// Reads all blocks of a part.
    fn is_sound(&self, entry: PartEntry, store_id: u64) -> Result<(), Error> {
        let part = Arc::new(self.open(entry, store_id)?);
        let mut cursor = Cursor::new(part)?;
        let mut reader = BlockReader::default();
        while cursor.sid().is_some() {
            let Some(place) = cursor.take(&mut reader.bytes)? else { break };
            reader.read(&place).map_err(|reason| cursor.corrupt(&place, reason))?;
        }
        Ok(())
    }

    /// Writes what can be read of a part to a new one of the same rank, and returns how many
    /// samples were read: those that were deleted are not written.
    fn salvage(
        &self,
        entry: PartEntry,
        manifest: &mut Manifest,
    ) -> Result<(Option<PartEntry>, u64), Error> {
        let part = match self.open(entry, manifest.store_id) {
            Ok(part) => Arc::new(part),
            Err(error) if error.is_damage() => return Ok((None, 0)),
            Err(error) => return Err(error),
        };
        let mut kept = Kept { cursor: Cursor::before(part), reader: BlockReader::default() };
        let Some(saved) = self.write(entry, manifest, |writer| kept.copy(writer))? else {
            return Ok((None, 0));
        };
        // Deletes mask files of lower numbers. The new file has a higher one, so it must not hold
        // what they hid in the old one.
        let tombstones = self.tombstones(manifest)?;
        if tombstones.list().iter().all(|tombstone| tombstone.before <= entry.number) {
            return Ok((Some(saved), saved.samples));
        }
        let mut part = self.open(saved, manifest.store_id)?;
        part.entry.number = entry.number;
        let mut merger = Merger::new(&[Arc::new(part)], tombstones, false)?;
        let unmasked = self.write(saved, manifest, |writer| {
            while let Some(sid) = merger.sid() {
                merger.merge(sid, writer, &mut |_, _, _| {})?;
            }
            Ok(())
        })?;
        let path = filenames::part(self.dir, saved.number);
        self.disk.remove(&path).map_err(Error::io("remove", &path))?;
        Ok((unmasked, saved.samples))
    }

    /// Writes a new part in the place of `entry`; nothing if there was nothing to write.
    fn write(
        &self,
        entry: PartEntry,
        manifest: &mut Manifest,
        fill: impl FnOnce(&mut PartWriter) -> Result<(), Error>,
    ) -> Result<Option<PartEntry>, Error> {
        let (store_id, number) = (manifest.store_id, manifest.next_file);
        manifest.next_file += 1;
        // What its series are called is not known here: the next merge makes it final again.
        let entry = PartEntry { level: entry.level.min(LEVEL_FINAL - 1), ..entry };
        let PartEntry { rank, namespace, class, epoch, level, .. } = entry;
        let header = Header { store_id, number, rank, namespace, class, epoch, level };
        let path = filenames::part(self.dir, number);
        let mut writer = PartWriter::create(&**self.disk, &path, &header)?;
        fill(&mut writer)?;
        let written = writer.finish()?;
        if written.samples == 0 {
            self.disk.remove(&path).map_err(Error::io("remove", &path))?;
            return Ok(None);
        }
        let (range, samples, bytes) = (written.range, written.samples, written.bytes);
        Ok(Some(PartEntry { number, range, samples, bytes, ..entry }))
    }

    /// All deletes: those in their file and those in the wal.
    pub(super) fn tombstones(&self, manifest: &mut Manifest) -> Result<Arc<Tombstones>, Error> {
        let mut all = recover::read_deletes(&**self.disk, self.dir, manifest, &Cache::new(0))?;
        let each = &mut |_, kind, body: &[u8]| {
            if kind == FrameKind::Delete
                && let Some(tombstone) = Tombstone::decode(&mut &*body)
            {
                all = Arc::new(all.with(Arc::new(tombstone), 0));
            }
            Ok(())
        };
        let start_lsn = manifest.wal_start_lsn;
        reader::replay(&**self.disk, self.dir, manifest.store_id, start_lsn, each)?;
        manifest.next_file = manifest.next_file.max(all.before_max());
        Ok(all)
    }
}

/// The blocks of a part that can be read.
struct Kept {
    cursor: Cursor,
    reader: BlockReader,
}

impl Kept {
    fn copy(&mut self, writer: &mut PartWriter) -> Result<(), Error> {
        let mut before = None;
        let mut moved = self.cursor.skip_page();
        loop {
            match moved {
                Err(error) if !error.is_damage() => return Err(error),
                Err(_) => {
                    moved = self.cursor.skip_page();
                    continue;
                }
                Ok(()) => {}
            }
            let Some(sid) = self.cursor.sid() else { return Ok(()) };
            match self.cursor.take(&mut self.reader.bytes) {
                Ok(None) => return Ok(()),
                Ok(Some(place)) => {
                    let place_at = (sid, place.range.start_ns);
                    let is_after = before.is_none_or(|before| before < place_at);
                    if is_after && self.reader.read(&place).is_ok() {
                        before = Some((sid, place.range.end_ns));
                        let split = self.reader.bytes.split_at_checked(place.times.1 as usize);
                        let (times, values) = split.unwrap_or_default();
                        let (range, count) = (place.range, place.count);
                        let summary = &place.summary;
                        writer.push(sid, BlockRef { range, count, times, values, summary })?;
                    }
                }
                Err(error) if !error.is_damage() => return Err(error),
                Err(_) if self.cursor.sid().is_none() => moved = self.cursor.skip_page(),
                Err(_) => {}
            }
        }
    }
}
