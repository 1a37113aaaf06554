//! Repair: makes a damaged store one that starts and serves what can still be read.
//!
//! Nothing is ever deleted. A damaged file is moved to the quarantine, and its place is taken
//!
//! - by the file as it was, where its parities give back what is damaged (`repair/mend.rs`);
//! - by the index of a closed epoch, made again from its index file (`repair/segments.rs`);
//! - by the log with changes that their copies give back (`repair/wal.rs`);
//! - else by a new one with everything that passes its checksums: the blocks of a part
//!   (`repair/salvage.rs`), the facts of a catalog.
//!
//! A file that is missing and lies in the quarantine comes back first. A manifest of which both
//! copies are lost is made anew from what the files say of themselves. The index of an epoch
//! without a segment is made again from the names that stand elsewhere (`repair/indexes.rs`); those
//! that stand nowhere else only a backup brings back.

mod facts;
mod indexes;
mod mend;
mod salvage;
mod segments;
mod wal;

use crate::audit::{self, Act, Caller};
use crate::cache::Cache;
use crate::error::Error;
use crate::filenames::{self, Named};
use crate::handles::Handles;
use crate::index_file;
use crate::manifest::{Manifest, PartEntry};
use crate::part::Part;
use crate::part::format::Header;
use crate::recover;
use crate::segment_file;
use crate::wal::segment;
use foliot_disk::Disk;
use foliot_index::Origin;
use foliot_model::TimeRange;
use std::path::Path;
use std::sync::Arc;

/// What becomes of a part that does not even say what it is.
const PART_SET_ASIDE: &str = "set aside with its samples; how many is not known";

/// What a repair may give up for good, for whoever has no backup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MayLose {
    /// An index is made again also where some samples have no name afterwards.
    pub names: bool,
    /// Parts that are missing are no longer waited for.
    pub parts: bool,
    /// A catalog that is missing is made again from the log and final parts.
    pub facts: bool,
}

/// What a repair did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// What costs nothing, a sentence each.
    pub mended: Vec<String>,
    /// What cost samples, names or facts, a sentence each.
    pub lost: Vec<String>,
}

impl Repaired {
    /// Whether there was nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.mended.is_empty() && self.lost.is_empty()
    }
}

/// Mends the store in `dir`, which no process may have open. A part that is missing is left as it
/// is unless it may be lost: it may lie on a disk that is not mounted, and come back. So may a
/// catalog, without which there is nothing to serve. What is given up because it may be is told to
/// the audit log first.
///
/// # Errors
/// When another process has the store open, it is newer than this build, a file of deletes cannot
/// be read, names or facts would be lost that may not be, or the disk fails. What was done until
/// then stands.
pub fn repair(disk: &Arc<dyn Disk>, dir: &Path, may_lose: MayLose) -> Result<Repaired, Error> {
    let _lock = recover::lock(&**disk, dir)?;
    let mut repairer = Repairer { disk, dir, may_lose, done: Repaired::default() };
    repairer.mend()?;
    let mut manifest = repairer.manifest()?;
    repairer.segments(&mut manifest)?;
    repairer.deletes(&manifest)?;
    repairer.indexes(&mut manifest)?;
    repairer.index_files(&manifest)?;
    repairer.catalog(&mut manifest)?;
    repairer.parts(&mut manifest)?;
    repairer.wal(&manifest)?;
    Ok(repairer.done)
}

struct Repairer<'r> {
    disk: &'r Arc<dyn Disk>,
    dir: &'r Path,
    may_lose: MayLose,
    done: Repaired,
}

impl Repairer<'_> {
    fn manifest(&mut self) -> Result<Manifest, Error> {
        let path = self.dir.join(filenames::MANIFEST);
        match Manifest::read(&**self.disk, self.dir) {
            Ok(Some(found)) => {
                let mut manifest = found.manifest;
                if !found.is_whole {
                    manifest.write(&**self.disk, self.dir)?;
                    let written = |damage| format!("{damage}: written anew");
                    self.done.mended.extend(found.damages.into_iter().map(written));
                }
                return Ok(manifest);
            }
            Ok(None) => {}
            Err(error) if !error.is_damage() => return Err(error),
            Err(error) => {
                self.set_aside(&path)?;
                self.set_aside(&self.dir.join(filenames::MANIFEST_COPY))?;
                self.done.mended.push(format!("{error}: set aside"));
            }
        }
        let mut manifest = self.survey()?;
        manifest.write(&**self.disk, self.dir)?;
        self.done.mended.push(format!(
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
        let (mut headers, mut lost) = (Vec::new(), None);
        for named in &names {
            let path = filenames::path(self.dir, *named);
            match *named {
                Named::Part(number) => match Part::read_header(&**self.disk, &path, number) {
                    Ok(header) => headers.push(header),
                    Err(error) if error.is_damage() => {
                        self.set_aside(&path)?;
                        self.done.lost.push(format!("{error}: {PART_SET_ASIDE}"));
                    }
                    Err(error) => return Err(error),
                },
                Named::Index(number) => {
                    let (store_id, origin) = index_file::owner(&**self.disk, &path, number)?;
                    manifest.store_id = store_id;
                    manifest.epoch_entry(origin).index_files.push(number);
                }
                Named::Segment(number) => match self.survey_segment(&path, number) {
                    Ok((store_id, origin)) => {
                        manifest.store_id = store_id;
                        manifest.epoch_entry(origin).segment = number;
                    }
                    // Its epoch is read from its index file, and written to a segment in time.
                    Err(error) if error.is_damage() => {
                        self.set_aside(&path)?;
                        self.done.mended.push(format!("{error}: set aside"));
                        lost = Some(error);
                    }
                    Err(error) => return Err(error),
                },
                // Of several the newest was written last.
                Named::Catalog(number) => manifest.catalog_file = number,
                Named::Deletes(number) => manifest.deletes_file = number,
                Named::Wal(_) | Named::WalBegun(_) | Named::WalSpare(_) => {}
                Named::ManifestNew | Named::ManifestCopyNew => {}
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
        let epochs: Vec<u32> = manifest.epochs.iter().map(|entry| entry.origin.epoch).collect();
        if let Some(error) =
            lost.filter(|_| manifest.parts.iter().any(|p| !epochs.contains(&p.epoch)))
        {
            return Err(error);
        }
        match names.is_empty() {
            true => Err(Error::Invalid(format!("there is no store in {}", self.dir.display()))),
            false => Ok(manifest),
        }
    }

    /// The store and the epoch that a segment belongs to.
    fn survey_segment(&self, path: &Path, number: u64) -> Result<(u64, Origin), Error> {
        let store_id = segment_file::owner(&**self.disk, path, number)?;
        let cache = Arc::new(Cache::new(0));
        let segment = segment_file::open(&**self.disk, path, number, store_id, cache)?;
        Ok((store_id, segment.origin()))
    }

    /// What the manifest would say of a part. One whose end cannot be read is named all the same:
    /// it is mended, or set aside, with the others.
    fn survey_part(&self, header: &Header) -> Result<PartEntry, Error> {
        let Header { number, rank, namespace, class, epoch, level, .. } = *header;
        let range = TimeRange::ALL;
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
            written_ns: 0,
        };
        let path = filenames::part(self.dir, number);
        let file = self.disk.open(&path).map_err(Error::io("open", &path))?;
        entry.bytes = file.len();
        match self.open(entry, header.store_id) {
            Ok(part) => {
                entry.range = part.footer.range;
                entry.samples = part.footer.samples;
                // By the time it was written the store knows what time has come: a clock that is
                // wrong just now must not tell it, nor samples of a time to come.
                entry.written_ns = entry.range.end_ns.min(self.disk.now_ns());
                Ok(entry)
            }
            Err(error) if error.is_damage() => Ok(entry),
            Err(error) => Err(error),
        }
    }

    fn open(&self, entry: PartEntry, store_id: u64) -> Result<Part, Error> {
        let handles = Arc::new(Handles::new(self.disk.clone()));
        Part::open(&handles, self.dir, entry, store_id, &Arc::new(Cache::new(0)))
    }

    /// The file of deletes is needed whole: without it what was deleted would be there again.
    fn deletes(&self, manifest: &Manifest) -> Result<(), Error> {
        let read = recover::read_deletes(&**self.disk, self.dir, manifest, &Cache::new(0));
        read.map(|_| ()).map_err(needed)
    }

    /// The indexes of all epochs are needed whole.
    fn index_files(&self, manifest: &Manifest) -> Result<(), Error> {
        let cache = Arc::new(Cache::new(0));
        let deletes = recover::read_deletes(&**self.disk, self.dir, manifest, &cache)?;
        recover::read_epochs(&**self.disk, self.dir, manifest, &deletes, &cache)
            .map(|_| ())
            .map_err(needed)
    }

    fn publish(&self, manifest: &mut Manifest) -> Result<(), Error> {
        self.disk.sync_dir(self.dir).map_err(Error::io("sync", self.dir))?;
        manifest.write(&**self.disk, self.dir)
    }

    /// Writes to the audit log that something is given up, and waits until that is on the disk.
    fn audit(&self, names: Option<(&str, &str)>, act: &Act<'_>) -> Result<(), Error> {
        let caller = Caller { door: "command line", ..Caller::default() };
        audit::tell(&**self.disk, self.dir, &caller, names, act)
    }

    fn set_aside(&self, path: &Path) -> Result<(), Error> {
        recover::set_aside(&**self.disk, self.dir, path).map(|_| ())
    }
}

/// An error about a file that nothing else can take the place of.
fn needed(error: Error) -> Error {
    match error.is_damage() {
        false => error,
        true => Error::Invalid(format!(
            "{error}; it cannot be mended: copy it from a backup of this store, where it has the \
             same name"
        )),
    }
}
