//! Check: reads every byte of a store and says what is wrong with it.
//!
//! A start checks what it needs to serve; this checks everything: each page against its checksum,
//! each block against what the index says of it, each series against the registry, each frame of
//! the wal. It changes nothing. `repair.rs` mends what can be mended.

use crate::block::Decoder;
use crate::cache::Cache;
use crate::catalog::Catalog;
use crate::epochs::Epochs;
use crate::error::Error;
use crate::filenames::{self, Named};
use crate::handles::Handles;
use crate::manifest::{Manifest, PartEntry};
use crate::namespaces::Namespaces;
use crate::paged;
use crate::part::{BlockPlace, Cursor, Part};
use crate::recover::{self, Learned};
use crate::wal::{reader, rows, segment};
use foliot_codec::Summary;
use foliot_disk::Disk;
use foliot_index::Registry;
use foliot_model::{Samples, TimeRange, Value};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// Files that hold nothing of the store: what was deleted and copied, for people, and room.
const BESIDE: [&str; 5] = [
    filenames::AUDIT,
    filenames::AUDIT_BEFORE,
    filenames::BACKUPS,
    filenames::BACKUPS_NEW,
    filenames::BALLAST,
];

/// Memory for pages of segments while they are looked into.
const CACHE_BYTES: u64 = 8 << 20;

/// What a check read, and what it found wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Files read, the manifest included.
    pub files: u64,
    /// Bytes of those.
    pub bytes: u64,
    /// Series registered.
    pub series: u64,
    /// Blocks decoded.
    pub blocks: u64,
    /// Samples in them.
    pub samples: u64,
    /// Frames of the wal.
    pub frames: u64,
    /// Samples in those. A few may be in blocks as well.
    pub logged: u64,
    /// What is wrong, a sentence each.
    pub problems: Vec<String>,
    /// What is worth knowing and no damage, a sentence each.
    pub notes: Vec<String>,
}

/// Reads everything in the store in `dir`, which no process may have open.
///
/// # Errors
/// When there is no store, another process has it open, it is newer than this build, or the disk
/// fails. Damage is no error but an answer.
pub fn check(disk: &Arc<dyn Disk>, dir: &Path) -> Result<Checked, Error> {
    let _lock = recover::lock(&**disk, dir)?;
    let mut checker = Checker { disk, dir, has_index: false, done: Checked::default() };
    let Some(manifest) = checker.manifest()? else { return Ok(checker.done) };
    checker.names(&manifest)?;
    for named in manifest.files() {
        checker.pages(named)?;
    }
    let cache = Arc::new(Cache::new(CACHE_BYTES));
    let deletes = recover::read_deletes(&**disk, dir, &manifest, &cache);
    let deletes = checker.note(deletes)?.unwrap_or_default();
    let epochs = recover::read_epochs(&**disk, dir, &manifest, &deletes, &cache);
    let epochs = checker.note(epochs)?;
    checker.has_index = epochs.is_some();
    let none = || Epochs::new(Arc::new(Registry::new(0)), manifest.store_id);
    let mut epochs = epochs.unwrap_or_else(none);
    let catalog = recover::read_catalog(&**disk, dir, &manifest, &cache);
    let catalog = checker.note(catalog)?.unwrap_or_default();
    checker.wal(&manifest, &mut epochs, &catalog)?;
    checker.namespaces(&manifest, &catalog);
    checker.done.series = epochs.series();
    if !checker.has_index {
        let note = "without the index nobody can say whose the samples of parts and log are";
        checker.done.notes.push(note.to_owned());
    }
    let handles = Arc::new(Handles::new(disk.clone()));
    for entry in &manifest.parts {
        let read = checker.part(&handles, *entry, &manifest, &epochs);
        checker.note(read)?;
    }
    Ok(checker.done)
}

struct Checker<'c> {
    disk: &'c Arc<dyn Disk>,
    dir: &'c Path,
    /// Whether the indexes of all epochs were read.
    has_index: bool,
    done: Checked,
}

impl Checker<'_> {
    /// Keeps damage as a problem; other errors end the check.
    fn note<T>(&mut self, result: Result<T, Error>) -> Result<Option<T>, Error> {
        match result {
            Ok(sound) => Ok(Some(sound)),
            Err(error) if error.is_damage() => {
                let sentence = error.to_string();
                if !self.done.problems.contains(&sentence) {
                    self.done.problems.push(sentence);
                }
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn manifest(&mut self) -> Result<Option<Manifest>, Error> {
        match Manifest::read(&**self.disk, self.dir) {
            Ok(Some(found)) => {
                for name in [filenames::MANIFEST, filenames::MANIFEST_COPY] {
                    let file = self.disk.open(&self.dir.join(name));
                    self.done.files += u64::from(file.is_ok());
                    self.done.bytes += file.map_or(0, |file| file.len());
                }
                self.done.problems.extend(found.damages);
                Ok(Some(found.manifest))
            }
            Ok(None) => Err(Error::Invalid(format!("there is no store in {}", self.dir.display()))),
            Err(error) => self.note(Err(error)),
        }
    }

    /// Compares the names in the directory with the manifest's.
    fn names(&mut self, manifest: &Manifest) -> Result<(), Error> {
        let files: BTreeSet<Named> = manifest.files().into_iter().collect();
        let mut names = self.disk.list(self.dir).map_err(Error::io("list", self.dir))?;
        names.sort();
        for name in names {
            let note = match filenames::parse(&name) {
                None if [filenames::MANIFEST, filenames::MANIFEST_COPY].contains(&&*name) => {
                    continue;
                }
                None if BESIDE.contains(&&*name) => continue,
                None if name == filenames::QUARANTINE => {
                    "holds files that were set aside; the store does not need them"
                }
                None => "is no file of the store",
                Some(Named::Wal(_) | Named::WalBegun(_) | Named::WalSpare(_)) => continue,
                Some(named) if files.contains(&named) => continue,
                Some(_) => {
                    "is a leftover, which the next start removes if everything else is there"
                }
            };
            self.done.notes.push(format!("{} {note}", self.dir.join(name).display()));
        }
        Ok(())
    }

    /// Checks all pages of a file.
    fn pages(&mut self, named: Named) -> Result<(), Error> {
        let (path, number) = (filenames::path(self.dir, named), named.number().unwrap_or_default());
        let done = &mut self.done;
        let read = self.disk.open(&path).map_err(Error::io("open", &path)).and_then(|file| {
            done.files += 1;
            done.bytes += file.len();
            let tell = &mut |damage| done.problems.push(damage);
            paged::restore(&*file, &path, number, tell, &mut |_| Ok(()))
        });
        self.note(read).map(|_| ())
    }

    /// Looks for parts whose database has no name.
    fn namespaces(&mut self, manifest: &Manifest, catalog: &Catalog) {
        let namespaces = Namespaces::load(catalog);
        for part in manifest.parts.iter().filter(|part| namespaces.name(part.namespace).is_none()) {
            let path = filenames::part(self.dir, part.number);
            let (path, namespace, samples) = (path.display(), part.namespace, part.samples);
            let belongs = format!("{path} belongs to the database numbered {namespace}, which");
            match namespaces.is_dropped(namespace) {
                true => self.done.notes.push(format!(
                    "{belongs} was dropped: the next start removes it, with {samples} samples"
                )),
                false => {
                    self.done.problems.push(format!("{belongs} has no name: {samples} samples"));
                }
            }
        }
    }

    /// Reads the wal as recovery does, into `epochs` and `catalog`.
    fn wal(
        &mut self,
        manifest: &Manifest,
        epochs: &mut Epochs,
        catalog: &Catalog,
    ) -> Result<(), Error> {
        let (mut unread, mut orphans, mut logged) = (0u64, 0u64, 0u64);
        let each = &mut |_, kind, body: &[u8]| {
            match recover::learn(kind, body, epochs, catalog) {
                None => unread += 1,
                Some(Learned::Names | Learned::Fact | Learned::Delete(_)) => {}
                Some(Learned::Rows) => {
                    let read = rows::read(body, &mut |sid, _, _, _| {
                        logged += 1;
                        orphans += u64::from(epochs.epoch_of(sid).is_none());
                    });
                    unread += u64::from(read.is_none());
                }
            }
            Ok(())
        };
        let start_lsn = manifest.wal_start_lsn;
        let replayed = reader::replay(&**self.disk, self.dir, manifest.store_id, start_lsn, each)?;
        for base in segment::list(&**self.disk, self.dir)? {
            let path = filenames::wal(self.dir, base);
            self.done.files += 1;
            self.done.bytes += self.disk.open(&path).map_or(0, |file| file.len());
        }
        (self.done.frames, self.done.logged) = (replayed.frames, logged);
        self.done.problems.extend(replayed.damages.iter().cloned());
        self.done.notes.extend(replayed.torn());
        if unread > 0 && self.has_index {
            self.done.problems.push(format!("{unread} frames of the wal cannot be applied"));
        }
        if orphans > 0 && self.has_index {
            let problem =
                format!("{orphans} samples in the wal belong to series nobody registered");
            self.done.problems.push(problem);
        }
        Ok(())
    }

    /// Decodes a part, block by block.
    fn part(
        &mut self,
        handles: &Arc<Handles>,
        entry: PartEntry,
        manifest: &Manifest,
        epochs: &Epochs,
    ) -> Result<(), Error> {
        let cache = Arc::new(Cache::new(0));
        let part = Arc::new(Part::open(handles, self.dir, entry, manifest.store_id, &cache)?);
        let mut cursor = Cursor::new(part)?;
        let mut reader = BlockReader::default();
        let (mut samples, mut before) = (0, None);
        while let Some(sid) = cursor.sid() {
            let path = filenames::part(self.dir, entry.number);
            let damage = |reason: String| Error::corrupt(&path, 0, reason);
            let Some(place) = cursor.take(&mut reader.bytes)? else { break };
            let is_after = before.is_none_or(|(sid_before, end_ns)| match sid == sid_before {
                true => place.range.start_ns > end_ns,
                false => sid > sid_before,
            });
            if !is_after {
                return Err(damage(format!("blocks of series {sid} are out of order")));
            }
            before = Some((sid, place.range.end_ns));
            if self.has_index && epochs.epoch_of(sid) != Some(entry.epoch) {
                return Err(damage(format!(
                    "has samples of series {sid}, which nobody registered in epoch {}",
                    entry.epoch
                )));
            }
            reader.read(&place).map_err(|reason| damage(format!("series {sid}: {reason}")))?;
            self.done.blocks += 1;
            samples += u64::from(place.count);
        }
        self.done.samples += samples;
        match samples == entry.samples {
            true => Ok(()),
            false => {
                let path = filenames::part(self.dir, entry.number);
                let said = entry.samples;
                Err(Error::corrupt(&path, 0, format!("holds {samples} samples instead of {said}")))
            }
        }
    }
}

/// Decodes blocks and compares them with what the index says of them.
#[derive(Default)]
pub(crate) struct BlockReader {
    /// The block's bytes: times, then values.
    pub(crate) bytes: Vec<u8>,
    decoder: Decoder,
    /// What was read last.
    pub(crate) samples: Samples,
}

impl BlockReader {
    /// Decodes the block at `place`, whose bytes are there.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn read(&mut self, place: &BlockPlace) -> Result<(), String> {
        let Self { bytes, decoder, samples } = self;
        samples.clear();
        let split = bytes.split_at_checked(place.times.1 as usize);
        let (times, values) = split.ok_or("a block is shorter than its times")?;
        decoder.decode(times, values, place.count as usize, TimeRange::ALL, samples)?;
        if samples.len() != usize::from(place.count) {
            return Err(format!("a block has {} samples, not {}", samples.len(), place.count));
        }
        let times = &samples.times_ns;
        let range = match (times.first(), times.last()) {
            (Some(&first), Some(&last)) => TimeRange::new(first, last),
            _ => return Err("a block is empty".to_owned()),
        };
        if range != place.range || !times.is_sorted_by(|a, b| a < b) {
            return Err("a block's times are not those of the index".to_owned());
        }
        match is_summary(&place.summary, samples) {
            true => Ok(()),
            false => Err("a block's summary is not that of its values".to_owned()),
        }
    }
}

/// Whether `summary` is what the values come to, as far as a plain sum in floats can tell.
fn is_summary(summary: &Summary, samples: &Samples) -> bool {
    let number = |value| match value {
        Value::Float(v) => Some(v),
        Value::Integer(v) => Some(v as f64),
        Value::Unsigned(v) => Some(v as f64),
        Value::Boolean(v) => Some(f64::from(u8::from(v))),
        Value::String(_) | Value::Histogram(_) => None,
    };
    let numbers: Option<Vec<f64>> = samples.iter().map(|(_, value)| number(value)).collect();
    let Some(numbers) = numbers else { return !summary.numeric };
    // Values that are infinite have no sum, and a summary says so by not being numeric.
    if !summary.numeric {
        return numbers.iter().any(|number| number.is_infinite());
    }
    let real = || numbers.iter().copied().filter(|number| !number.is_nan());
    let fold = |pick: fn(f64, f64) -> f64| real().reduce(pick).unwrap_or(f64::NAN);
    let is_same = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
    let size: f64 = real().map(f64::abs).sum();
    let sum: f64 = real().sum();
    let ends = [numbers.first(), numbers.last()].map(|end| end.copied().unwrap_or(f64::NAN));
    summary.has_nan == numbers.iter().any(|number| number.is_nan())
        && is_same(summary.min(), fold(f64::min))
        && is_same(summary.max(), fold(f64::max))
        && is_same(summary.first(), ends[0])
        && is_same(summary.last(), ends[1])
        && (!size.is_finite() || (summary.sum() - sum).abs() <= size * 1e-9)
}
