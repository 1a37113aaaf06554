//! Repair: makes a damaged store one that starts and serves what can still be read.
//!
//! Nothing is ever deleted. A damaged file is moved to the quarantine and its place is taken by a
//! new one with everything of it that passes its checksums: the blocks of a part, the facts of a
//! catalog. A lost manifest is made anew from what the files say of themselves. What cannot be
//! mended is an index file: without it, ids in parts have no names; only a copy from a backup
//! brings it back.

use crate::cache::Cache;
use crate::catalog::Catalog;
use crate::check::BlockReader;
use crate::error::Error;
use crate::filenames::{self, Named};
use crate::handles::Handles;
use crate::index_file;
use crate::limits::LEVEL_FINAL;
use crate::manifest::{Manifest, PartEntry};
use crate::merge::Merger;
use crate::part::format::Header;
use crate::part::{BlockRef, Cursor, Part, PartWriter};
use crate::recover;
use crate::segment_file;
use crate::tombstones::{Tombstone, Tombstones};
use crate::wal::frame::FrameKind;
use crate::wal::segment;
use foliot_disk::Disk;
use foliot_model::TimeRange;
use std::path::Path;
use std::sync::Arc;

/// Mends the store in `dir`, which no process may have open. What was done, a sentence each; none
/// when there was nothing to mend.
///
/// # Errors
/// When another process has the store open, it is newer than this build, an index file is damaged,
/// or the disk fails. What was done until then stands.
pub fn repair(disk: &Arc<dyn Disk>, dir: &Path) -> Result<Vec<String>, Error> {
    let _lock = recover::lock(&**disk, dir)?;
    let mut repairer = Repairer { disk, dir, said: Vec::new() };
    let mut manifest = repairer.manifest()?;
    repairer.index_files(&manifest)?;
    repairer.catalog(&mut manifest)?;
    repairer.parts(&mut manifest)?;
    Ok(repairer.said)
}

struct Repairer<'r> {
    disk: &'r Arc<dyn Disk>,
    dir: &'r Path,
    said: Vec<String>,
}

impl Repairer<'_> {
    fn manifest(&mut self) -> Result<Manifest, Error> {
        let path = self.dir.join(filenames::MANIFEST);
        match Manifest::read(&**self.disk, self.dir) {
            Ok(Some(manifest)) => return Ok(manifest),
            Ok(None) => {}
            Err(error) if !recover::is_damage(&error) => return Err(error),
            Err(error) => {
                self.set_aside(&path)?;
                self.said.push(format!("{error}: set aside"));
            }
        }
        let manifest = self.survey()?;
        manifest.write(&**self.disk, self.dir)?;
        self.said.push(format!(
            "made {} anew from {} parts, {} index files and the wal",
            path.display(),
            manifest.parts.len(),
            manifest.epochs.iter().map(|entry| entry.index_files.len()).sum::<usize>()
        ));
        Ok(manifest)
    }

    /// A manifest of everything that is there.
    fn survey(&mut self) -> Result<Manifest, Error> {
        let mut names: Vec<Named> = self
            .disk
            .list(self.dir)
            .map_err(Error::io("list", self.dir))?
            .iter()
            .filter_map(|name| filenames::parse(name))
            .collect();
        names.sort_unstable();
        let mut manifest =
            Manifest { key_secret: self.disk.random(), next_namespace: 1, ..Manifest::default() };
        let mut headers = Vec::new();
        for named in &names {
            let path = filenames::path(self.dir, *named);
            match *named {
                Named::Part(number) => match Part::read_header(&**self.disk, &path, number) {
                    Ok(header) => headers.push(header),
                    Err(error) if recover::is_damage(&error) => {
                        self.set_aside(&path)?;
                        self.said.push(format!("{error}: set aside"));
                    }
                    Err(error) => return Err(error),
                },
                Named::Index(number) => {
                    let (store_id, origin) = index_file::owner(&**self.disk, &path, number)?;
                    manifest.store_id = store_id;
                    manifest.epoch_entry(origin).index_files.push(number);
                }
                // Numbers of kinds are sorted: index files of its epoch, left over, came before.
                Named::Segment(number) => {
                    let store_id = segment_file::owner(&**self.disk, &path, number)?;
                    let cache = Arc::new(Cache::new(0));
                    let segment = segment_file::open(&**self.disk, &path, number, store_id, cache)?;
                    manifest.store_id = store_id;
                    let entry = manifest.epoch_entry(segment.origin());
                    entry.index_files.clear();
                    entry.segment = number;
                }
                // Of several the newest was written last.
                Named::Catalog(number) => manifest.catalog_file = number,
                Named::Deletes(number) => manifest.deletes_file = number,
                Named::Wal(_) | Named::ManifestNew => {}
            }
        }
        let bases = segment::list(&**self.disk, self.dir)?;
        // What the wal holds beyond what was flushed is read again, which changes nothing.
        manifest.wal_start_lsn = bases.first().copied().unwrap_or_default();
        let highest = names.iter().filter_map(|named| named.number()).max();
        manifest.next_file = highest.unwrap_or_default() + 1;
        if let Some(base) = bases.first() {
            manifest.store_id = segment::owner(&**self.disk, self.dir, *base)?;
        }
        for header in headers.iter().filter(|header| header.store_id == manifest.store_id) {
            manifest.parts.push(self.survey_part(header)?);
        }
        match names.is_empty() {
            true => Err(Error::Invalid(format!("there is no store in {}", self.dir.display()))),
            false => Ok(manifest),
        }
    }

    /// What the manifest would say of a part. One whose end cannot be read is named all the same:
    /// it is mended, or set aside, with the others.
    fn survey_part(&self, header: &Header) -> Result<PartEntry, Error> {
        let Header { number, rank, namespace, class, epoch, level, .. } = *header;
        let range = TimeRange::ALL;
        let written_ns = self.disk.now_ns();
        let mut entry = PartEntry {
            number,
            rank,
            namespace,
            class,
            epoch,
            level,
            range,
            samples: 0,
            bytes: 0,
            written_ns,
        };
        let path = filenames::part(self.dir, number);
        let file = self.disk.open(&path).map_err(Error::io("open", &path))?;
        entry.bytes = file.len();
        match self.open(entry, header.store_id) {
            Ok(part) => {
                entry.range = part.footer.range;
                entry.samples = part.footer.samples;
                Ok(entry)
            }
            Err(error) if recover::is_damage(&error) => Ok(entry),
            Err(error) => Err(error),
        }
    }

    fn open(&self, entry: PartEntry, store_id: u64) -> Result<Part, Error> {
        let handles = Arc::new(Handles::new(self.disk.clone()));
        Part::open(&handles, self.dir, entry, store_id, &Arc::new(Cache::new(0)))
    }

    /// Index files and the file of deletes are needed whole.
    fn index_files(&self, manifest: &Manifest) -> Result<(), Error> {
        recover::read_deletes(&**self.disk, self.dir, manifest)
            .and_then(|deletes| {
                let cache = Arc::new(Cache::new(0));
                recover::read_epochs(&**self.disk, self.dir, manifest, &deletes, &cache).map(|_| ())
            })
            .map_err(|error| match recover::is_damage(&error) {
                false => error,
                true => Error::Invalid(format!(
                    "{error}; an index file or a file of deletes cannot be mended: \
                     copy it from a backup of this store, where it has the same name"
                )),
            })
    }

    fn catalog(&mut self, manifest: &mut Manifest) -> Result<(), Error> {
        if manifest.catalog_file == 0 {
            return Ok(());
        }
        let (number, catalog) = (manifest.catalog_file, Catalog::default());
        let path = filenames::catalog(self.dir, number);
        match catalog.read(&**self.disk, &path, number, manifest.store_id) {
            Ok(()) => return Ok(()),
            Err(error) if !recover::is_damage(&error) => return Err(error),
            Err(error) => self.said.push(error.to_string()),
        }
        let saved = Catalog::default();
        let facts = saved.salvage(&**self.disk, &path, number);
        manifest.catalog_file = manifest.next_file;
        manifest.next_file += 1;
        let new = filenames::catalog(self.dir, manifest.catalog_file);
        saved.write(&**self.disk, &new, manifest.catalog_file, manifest.store_id)?;
        self.publish(manifest)?;
        self.set_aside(&path)?;
        self.said.push(format!("saved {facts} facts of it to {}", new.display()));
        Ok(())
    }

    fn parts(&mut self, manifest: &mut Manifest) -> Result<(), Error> {
        for entry in manifest.parts.clone() {
            let path = filenames::part(self.dir, entry.number);
            let reason = match self.is_sound(entry, manifest.store_id) {
                Ok(()) => continue,
                Err(error) if recover::is_damage(&error) => error.to_string(),
                Err(error) => return Err(error),
            };
            let saved = self.salvage(entry, manifest)?;
            manifest.parts.retain(|other| other.number != entry.number);
            let kept = saved.map_or(0, |saved| saved.samples);
            manifest.parts.extend(saved);
            manifest.parts.sort_by_key(|entry| entry.rank);
            self.publish(manifest)?;
            self.set_aside(&path)?;
            self.said.push(format!("{reason}: saved {kept} of its {} samples", entry.samples));
        }
        Ok(())
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

    /// Writes what can be read of a part to a new one of the same rank.
    fn salvage(
        &self,
        entry: PartEntry,
        manifest: &mut Manifest,
    ) -> Result<Option<PartEntry>, Error> {
        let part = match self.open(entry, manifest.store_id) {
            Ok(part) => Arc::new(part),
            Err(error) if recover::is_damage(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut kept = Kept { cursor: Cursor::before(part), reader: BlockReader::default() };
        let Some(saved) = self.write(entry, manifest, |writer| kept.copy(writer))? else {
            return Ok(None);
        };
        // Deletes mask files of lower numbers. The new file has a higher one, so it must not hold
        // what they hid in the old one.
        let tombstones = self.tombstones(manifest)?;
        if tombstones.list().iter().all(|tombstone| tombstone.before <= entry.number) {
            return Ok(Some(saved));
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
        Ok(unmasked)
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
    fn tombstones(&self, manifest: &mut Manifest) -> Result<Arc<Tombstones>, Error> {
        let mut all = recover::read_deletes(&**self.disk, self.dir, manifest)?;
        let each = &mut |_, kind, body: &[u8]| {
            if kind == FrameKind::Delete
                && let Some(tombstone) = Tombstone::decode(&mut &*body)
            {
                all = Arc::new(all.with(Arc::new(tombstone), 0));
            }
            Ok(())
        };
        let start_lsn = manifest.wal_start_lsn;
        segment::replay(&**self.disk, self.dir, manifest.store_id, start_lsn, each)?;
        manifest.next_file = manifest.next_file.max(all.before_max());
        Ok(all)
    }

    fn publish(&self, manifest: &Manifest) -> Result<(), Error> {
        self.disk.sync_dir(self.dir).map_err(Error::io("sync", self.dir))?;
        manifest.write(&**self.disk, self.dir)
    }

    fn set_aside(&self, path: &Path) -> Result<(), Error> {
        recover::set_aside(&**self.disk, self.dir, path)
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
                Err(error) if !recover::is_damage(&error) => return Err(error),
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
                Err(error) if !recover::is_damage(&error) => return Err(error),
                Err(_) if self.cursor.sid().is_none() => moved = self.cursor.skip_page(),
                Err(_) => {}
            }
        }
    }
}
