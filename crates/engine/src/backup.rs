//! Backups: a copy of a store that is a store.
//!
//! Everything a store is made of is either immutable once named (parts, index files, catalog) or
//! only ever appended to (the wal), and the manifest is replaced whole. So a copy needs no help
//! from a process that has the store open: it reads the manifest, copies what it names, and last
//! the wal from where the manifest says it begins to matter. What was acknowledged at `os` or
//! `durable` before the copy began is in it. A file that has gone meanwhile means that the manifest
//! was replaced: it is read again, and what is new in it is copied.
//!
//! A restore is the same copy in the other direction.

use crate::error::Error;
use crate::filenames::{self, Named};
use crate::limits::BACKUP_TRIES;
use crate::manifest::Manifest;
use crate::paged;
use crate::wal::reader;
use crate::wal::segment::{self, SEGMENT_HEADER_LEN};
use foliot_disk::{Disk, ReadFile};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

const COPY_BYTES: usize = 1 << 20;

/// What a backup wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackedUp {
    /// Files copied, the manifest not counted.
    pub files_copied: u64,
    /// Bytes copied.
    pub bytes_copied: u64,
    /// Files that an earlier backup had already, shared with it.
    pub files_shared: u64,
    /// Bytes of those.
    pub bytes_shared: u64,
    /// Damaged places of the store that are mended in the copy.
    pub damages_mended: u64,
    /// Bytes of the log that are damaged in the copy as they are in the store: a start skips them.
    pub wal_damaged_bytes: u64,
    /// Whether the newest segment of the log is missing or empty in the copy as it is in the store:
    /// what was written last is lost.
    pub is_wal_end_missing: bool,
}

/// Whether there is a store in `dir`: a manifest, or the second copy of one.
pub fn is_store(disk: &dyn Disk, dir: &Path) -> bool {
    let copies = [filenames::MANIFEST, filenames::MANIFEST_COPY];
    copies.iter().any(|name| disk.exists(&dir.join(name)))
}

/// Whether a directory holds files of a store, though it may lack the manifest.
pub fn has_files(disk: &dyn Disk, dir: &Path) -> bool {
    let names = disk.list(dir).unwrap_or_default();
    names.iter().any(|name| filenames::parse(name).is_some())
}

/// Copies the store in `from` to `to`, which must be missing or empty, whether or not a process has
/// it open. Every page is checked against its checksum on the way. Files that the store in
/// `earlier` has too are not copied again but given a second name, where the file system can. The
/// manifest comes last: a directory without one is a copy that did not end. One that fails takes
/// away what it wrote.
///
/// # Errors
/// When there is no store in `from`, a file of it is damaged, `to` is in use, or the disk fails.
pub fn backup(
    disk: &dyn Disk,
    from: &Path,
    to: &Path,
    earlier: Option<&Path>,
) -> Result<BackedUp, Error> {
    let manifest = read_manifest(disk, from)?;
    disk.create_dir_all(to).map_err(Error::io("create", to))?;
    if let Some(name) = disk.list(to).map_err(Error::io("list", to))?.first() {
        let place = to.display();
        return Err(Error::Invalid(format!("{place} is not empty, it holds {name}; name another")));
    }
    let (wal, there, made) = (Vec::new(), BTreeMap::new(), Vec::new());
    let mut copy = Copy { disk, from, to, earlier, wal, there, made };
    let done = copy.make(manifest);
    if done.is_err() {
        copy.give_up();
    }
    done
}

/// Whether a file had less than it was said to have.
fn is_cut(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == ErrorKind::UnexpectedEof)
}

fn read_manifest(disk: &dyn Disk, dir: &Path) -> Result<Manifest, Error> {
    let none = || Error::Invalid(format!("there is no store in {}", dir.display()));
    Ok(Manifest::read(disk, dir)?.ok_or_else(none)?.manifest)
}

/// A copy under way.
struct Copy<'c> {
    disk: &'c dyn Disk,
    from: &'c Path,
    to: &'c Path,
    earlier: Option<&'c Path>,
    /// Where the segments of the wal begin that the manifest needs.
    wal: Vec<u64>,
    /// What the copy holds.
    there: BTreeMap<Named, Copied>,
    /// Files that were made, in order, those among them that were not ended.
    made: Vec<PathBuf>,
}

/// A file of the copy.
#[derive(Clone, Copy)]
struct Copied {
    bytes: u64,
    is_shared: bool,
    damages: u64,
}

impl Copy<'_> {
    /// Copies until a manifest names nothing that is missing, then writes that manifest.
    fn make(&mut self, mut manifest: Manifest) -> Result<BackedUp, Error> {
        let (disk, from, to) = (self.disk, self.from, self.to);
        for _ in 0..BACKUP_TRIES {
            if self.follow(&manifest)? {
                self.remove_unnamed(&manifest)?;
                let is_wal_end_missing = self.note_begun()?;
                // The manifest must not outlive the names of what it names. Its generations count
                // what is written here.
                disk.sync_dir(to).map_err(Error::io("sync", to))?;
                manifest.generation = 0;
                self.made.extend(filenames::MANIFESTS.map(|name| to.join(name)));
                manifest.write(disk, to)?;
                let each = &mut |_, _, _: &[u8]| Ok(());
                let (store_id, start_lsn) = (manifest.store_id, manifest.wal_start_lsn);
                let replayed = reader::replay(disk, to, store_id, start_lsn, each)?;
                if let Some((path, len)) = &replayed.overlong {
                    segment::forget_unwritten(disk, to, *len)?;
                    disk.truncate(path, *len).map_err(Error::io("cut", path))?;
                    disk.sync_dir(to).map_err(Error::io("sync", to))?;
                }
                let wal_damaged_bytes = replayed.damaged_bytes;
                return Ok(BackedUp { wal_damaged_bytes, is_wal_end_missing, ..self.done() });
            }
            manifest = read_manifest(disk, from)?;
        }
        let place = from.display();
        Err(Error::Invalid(format!(
            "{place} names files that are not there; run `foliot check --data-dir {place}`"
        )))
    }

    /// Takes away what a copy that failed has made, the manifest first: a disk that is full has its
    /// room back, and nobody takes the half for a backup. What cannot be removed stays.
    fn give_up(&self) {
        for path in self.made.iter().rev() {
            let _ = self.disk.remove(path);
        }
    }

    /// Copies what the manifest names and is not there yet, then the wal; false if something has
    /// gone, so that the manifest must have been replaced.
    fn follow(&mut self, manifest: &Manifest) -> Result<bool, Error> {
        for named in manifest.files() {
            if !self.there.contains_key(&named) && !self.take(named)? {
                return Ok(false);
            }
        }
        let mut wal = segment::list(self.disk, self.from)?;
        let start = wal.partition_point(|&base| base <= manifest.wal_start_lsn).saturating_sub(1);
        wal.drain(..start);
        if wal.first().is_some_and(|&base| base > manifest.wal_start_lsn) {
            return Ok(false);
        }
        for &base in &wal {
            // It may have grown since an earlier round copied it.
            if !self.take(Named::Wal(base))? {
                return Ok(false);
            }
        }
        self.wal = wal;
        // One that has lost its name meanwhile may have been written over while it was read.
        Ok(self.wal.iter().all(|base| self.disk.exists(&filenames::wal(self.from, *base))))
    }

    /// Shares or copies one file; false if it has gone.
    fn take(&mut self, named: Named) -> Result<bool, Error> {
        let path = filenames::path(self.from, named);
        let file = match self.disk.open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(Error::io("open", &path)(error)),
        };
        let is_shared = self.share(named, &*file);
        let (bytes, damages) = match is_shared {
            true => (file.len(), 0),
            false => match self.copy(named, &path, &*file) {
                Ok(copied) => copied,
                // A stretch of the wal that is given back is cut, also while it is read.
                Err(error) if matches!(named, Named::Wal(_)) && is_cut(&error) => {
                    let half = filenames::path(self.to, named);
                    self.disk.remove(&half).map_err(Error::io("remove", &half))?;
                    self.made.retain(|made| *made != half);
                    return Ok(false);
                }
                Err(error) => return Err(error),
            },
        };
        self.there.insert(named, Copied { bytes, is_shared, damages });
        Ok(true)
    }

    /// Gives the same file of an earlier backup a second name; false where there is none such, or
    /// the file system cannot.
    fn share(&mut self, named: Named, file: &dyn ReadFile) -> bool {
        let (Some(number), Some(earlier)) = (named.number(), self.earlier) else { return false };
        let same = filenames::path(earlier, named);
        let Ok(twin) = self.disk.open(&same) else { return false };
        let target = filenames::path(self.to, named);
        let is_shared = paged::are_same_pages(file, &*twin, &same, number).unwrap_or(false)
            && self.disk.link(&same, &target).is_ok();
        self.made.extend(is_shared.then_some(target));
        is_shared
    }

    /// Copies a file and syncs the copy; says how many bytes it has, and how many damaged places
    /// were mended.
    fn copy(
        &mut self,
        named: Named,
        path: &Path,
        file: &dyn ReadFile,
    ) -> Result<(u64, u64), Error> {
        let mut damages = 0;
        let target = filenames::path(self.to, named);
        let mut out = self.disk.create(&target).map_err(Error::io("create", &target))?;
        self.made.push(target.clone());
        let mut append = |bytes: &[u8]| out.append(bytes).map_err(Error::io("write", &target));
        match named.number() {
            Some(number) => {
                paged::restore(file, path, number, &mut |_| damages += 1, &mut append)?;
            }
            // A stretch of the wal has its checksums frame by frame, and the newest may end within
            // one: whoever opens the copy reads up to there, as after a power cut.
            None => {
                let mut buffer = Vec::new();
                let mut at = 0;
                while at < file.len() {
                    buffer.resize((file.len() - at).min(COPY_BYTES as u64) as usize, 0);
                    file.read_at(&mut buffer, at).map_err(Error::io("read", path))?;
                    append(&buffer)?;
                    at += buffer.len() as u64;
                }
            }
        }
        out.sync().map_err(Error::io("sync", &target))?;
        Ok((out.len(), damages))
    }

    /// Notes the newest stretch of the wal that has frames: were it lost, the copy would only end
    /// sooner. One that the store itself lacks is missing in the copy, too; says whether that is
    /// so.
    fn note_begun(&mut self) -> Result<bool, Error> {
        let has_frames = |base: &u64| {
            let copied = self.there.get(&Named::Wal(*base));
            copied.is_some_and(|copied| copied.bytes > SEGMENT_HEADER_LEN as u64)
        };
        let missing = segment::missing(self.disk, self.from)?;
        let newest = || self.wal.iter().copied().rfind(has_frames);
        let Some(base) = missing.or_else(newest) else { return Ok(false) };
        let note = filenames::wal_begun(self.to, base);
        segment::note_begun(self.disk, self.to, base).map_err(Error::io("create", &note))?;
        self.made.push(note);
        Ok(missing.is_some())
    }

    /// Removes what earlier rounds copied and the last manifest does not need.
    fn remove_unnamed(&mut self, manifest: &Manifest) -> Result<(), Error> {
        let files: BTreeSet<Named> = manifest.files().into_iter().collect();
        let wal: BTreeSet<u64> = self.wal.iter().copied().collect();
        let is_needed = |named: &Named| match named {
            Named::Wal(base) => wal.contains(base),
            named => files.contains(named),
        };
        for named in self.there.keys().filter(|named| !is_needed(named)) {
            let path = filenames::path(self.to, *named);
            self.disk.remove(&path).map_err(Error::io("remove", &path))?;
        }
        self.there.retain(|named, _| is_needed(named));
        Ok(())
    }

    fn done(&self) -> BackedUp {
        let mut done = BackedUp::default();
        for copied in self.there.values() {
            let (files, bytes) = match copied.is_shared {
                true => (&mut done.files_shared, &mut done.bytes_shared),
                false => (&mut done.files_copied, &mut done.bytes_copied),
            };
            *files += 1;
            *bytes += copied.bytes;
            done.damages_mended += copied.damages;
        }
        done
    }
}
