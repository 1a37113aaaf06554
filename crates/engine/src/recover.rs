//! Recovery: from a directory to a store.
//!
//! 1. lock the directory; read the manifest, or create one in an empty directory;
//! 2. remove what the manifest does not name: leftovers of an interrupted flush (`leftovers.rs`);
//! 3. read the index files and the catalog; open the parts, setting damaged ones aside;
//! 4. replay the wal into registry, catalog and head;
//! 5. write what was replayed once more, so that later writes never build on bytes a power cut can
//!    take;
//! 6. if the wal holds more than memory may, flush the first of it, and begin again (`pieces.rs`).
//!
//! Each step can be interrupted and begun again.

use crate::audit::Audit;
use crate::block::Builder;
use crate::cache::Cache;
use crate::catalog::Catalog;
use crate::clock::Clock;
use crate::config::Config;
use crate::epochs::Epochs;
use crate::error::Error;
use crate::filenames::{self, Named};
use crate::files::{self, Files};
use crate::handles::Handles;
use crate::head::Head;
use crate::index_file;
use crate::ingest::{self, Ingest};
use crate::leftovers;
use crate::limits::PAGE_SERIES;
use crate::manifest::{Found, Manifest, PartEntry};
use crate::opening::Opening;
use crate::part::Part;
use crate::pieces::{Bound, End, First};
use crate::retention;
use crate::segment_file;
use crate::stats::Counters;
use crate::store::Store;
use crate::tombstones::{Tombstone, Tombstones};
use crate::upkeep::Upkeep;
use crate::view::View;
use crate::wal::Wal;
use crate::wal::frame::FrameKind;
use crate::wal::reader::{self, Replayed};
use crate::wal::rows;
use crate::wal::segment;
use foliot_disk::{DirLock, Disk};
use foliot_index::{Registry, Segment};
use foliot_lock::{Mutex, Rank};
use foliot_model::KeySecret;
use std::cell::RefCell;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a start read of the wal: what the last stop had not moved into parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadAgain {
    /// Samples, also such as a later write or delete took back.
    pub samples: u64,
    /// Bytes of the wal.
    pub bytes: u64,
}

impl ReadAgain {
    fn of(manifest: &Manifest, replayed: &Replayed, counters: &Counters) -> Self {
        Self {
            samples: counters.samples_since_flush.load(Ordering::Relaxed),
            bytes: replayed.end_lsn.saturating_sub(manifest.wal_start_lsn),
        }
    }
}

/// A store, and what there was to say of its files, a sentence each.
pub(crate) struct Recovered {
    pub(crate) store: Store,
    /// What was damaged.
    pub(crate) damages: Vec<String>,
    /// What was not, but is worth knowing.
    pub(crate) notes: Vec<String>,
    pub(crate) read_again: ReadAgain,
}

/// Opens the store in `dir`, as far as its wal fits `bound`. Where it does not, the store has the
/// first of it, up to the end that is returned beside, and is good for a flush up to there.
pub(crate) fn open_within(
    disk: Arc<dyn Disk>,
    dir: &Path,
    (config, bound): (&Config, Bound),
    opening: &Opening,
) -> Result<(Recovered, Option<End>), Error> {
    let (mut damages, mut notes) = (Vec::new(), Vec::new());
    let (lock, manifest) = enter(&*disk, dir, &mut damages, &mut notes)?;
    let cache = Arc::new(Cache::new(config.cache_bytes_max));
    let deletes = read_deletes(&*disk, dir, &manifest, &cache)?;
    let catalog = read_catalog(&*disk, dir, &manifest, &cache)?;
    let epochs = read_epochs(&*disk, dir, &manifest, &deletes, &cache)?;
    let index_marks = epochs.in_memory().map(|each| (each.epoch(), each.mark())).collect();
    let epochs = RefCell::new(epochs);
    let handles = Arc::new(Handles::new(disk.clone()));
    let (parts, absent) = open_parts(&handles, dir, &manifest, &cache, &mut damages)?;
    damages.extend(cache.damages.list());

    let head = Head::new();
    let counters = Arc::new(Counters::default());
    let mut tombstones = deletes.clone();
    let target =
        Target { epochs: &epochs, catalog: &catalog, head: &head, counters: &counters, opening };
    let mut first = First::new(bound);
    let replayed = replay(&*disk, dir, &manifest, &target, &mut tombstones, &mut first)?;
    rewrite_wal(&*disk, dir, manifest.wal_start_lsn, &replayed)?;
    let read_again = ReadAgain::of(&manifest, &replayed, &counters);
    notes.extend(replayed.torn());
    damages.extend(replayed.damages);

    // Nothing is written to the wal before all of it was read.
    let background = config.background && first.end().is_none();
    let config = Arc::new(Config { background, ..retention::settled(config, &catalog) });
    let wal = Wal::open(
        disk.clone(),
        dir.to_owned(),
        manifest.store_id,
        replayed.end_lsn,
        replayed.singles,
        &config,
    )?;
    let written = manifest.parts.iter().map(|part| part.written_ns).max();
    let known_ns = retention::known_ns(&catalog).max(written);
    let clock = Clock::new(disk.clone(), known_ns, retention::stayed(&catalog));
    let key_secret = KeySecret(manifest.key_secret);
    let replayed =
        ingest::Replayed { key_secret, wal, head, epochs: epochs.into_inner(), catalog, clock };
    let ingest = Arc::new(Ingest::new(disk.clone(), config.clone(), counters.clone(), replayed));
    // A catalog that lost facts must not give out the numbers of what files still hold.
    let of_parts = manifest.parts.iter().map(|part| part.namespace);
    let given = of_parts.chain([manifest.next_namespace.saturating_sub(1)]).max();
    ingest.namespaces().reserve(given.unwrap_or_default());
    // Files to come must not be taken for older than a delete, or a change of classes, that the
    // wal told of.
    let reclassified = retention::reclassified(ingest.catalog()).into_iter().max();
    let next_number = tombstones.before_max().max(reclassified.unwrap_or(0));
    let view = View::new(parts, absent, tombstones);
    let found = files::Found { handles, cache, manifest, view, next_number };
    let files = Arc::new(Files::new(disk, dir, found));
    let upkeep = Upkeep::new(files.clone(), ingest.clone(), config, counters, index_marks, deletes);
    let store = Store {
        files,
        ingest,
        upkeep: Arc::new(upkeep),
        audit: Audit::default(),
        taking: Mutex::new(Rank::Taking, ()),
        _lock: lock,
    };
    Ok((Recovered { store, damages, notes, read_again }, first.end()))
}

/// Locks the directory, and sees to it that it holds a manifest, twice, and nothing left over.
fn enter(
    disk: &dyn Disk,
    dir: &Path,
    damages: &mut Vec<String>,
    notes: &mut Vec<String>,
) -> Result<(Box<dyn DirLock>, Manifest), Error> {
    disk.create_dir_all(dir).map_err(Error::io("create", dir))?;
    let lock = lock(disk, dir)?;
    let mut found = match Manifest::read(disk, dir)? {
        Some(found) => found,
        None => Found { manifest: create(disk, dir)?, damages: Vec::new(), is_whole: true },
    };
    // The process that put it in place may have died before that was durable.
    disk.sync_dir(dir).map_err(Error::io("sync", dir))?;
    leftovers::clear(disk, dir, &mut found, damages, notes)?;
    if !found.is_whole {
        found.manifest.write(disk, dir)?;
    }
    damages.append(&mut found.damages);
    Ok((lock, found.manifest))
}

pub(crate) fn read_deletes(
    disk: &dyn Disk,
    dir: &Path,
    manifest: &Manifest,
    cache: &Cache,
) -> Result<Arc<Tombstones>, Error> {
    let number = manifest.deletes_file;
    if number == 0 {
        return Ok(Arc::default());
    }
    let path = filenames::deletes(dir, number);
    Tombstones::read(disk, &path, number, manifest.store_id, cache).map(Arc::new)
}

/// The epochs that the manifest names: registries are read, segments only opened.
pub(crate) fn read_epochs(
    disk: &dyn Disk,
    dir: &Path,
    manifest: &Manifest,
    deletes: &Tombstones,
    cache: &Arc<Cache>,
) -> Result<Epochs, Error> {
    let store_id = manifest.store_id;
    let mut segments = Vec::new();
    let mut epochs: Option<Epochs> = None;
    for entry in &manifest.epochs {
        if entry.segment != 0 {
            let path = filenames::segment(dir, entry.segment);
            let number = entry.segment;
            segments.push(segment_file::open(disk, &path, number, store_id, cache.clone())?);
            // Its index files are read by nobody who has the segment.
            for &number in &entry.index_files {
                match index_file::owner(disk, &filenames::index(dir, number), number) {
                    Err(error) if !error.is_damage() => return Err(error),
                    Err(error) => cache.damages.note(format!("{error}, a copy")),
                    Ok(_) => {}
                }
            }
            continue;
        }
        let next = match &epochs {
            Some(epochs) => epochs.switched(entry.origin),
            None => {
                let registry = Registry::begin(entry.origin);
                Epochs::new(Arc::new(registry), store_id)
            }
        };
        let files = &entry.index_files;
        read_registry(disk, dir, store_id, files, deletes, next.current(), cache)?;
        epochs = Some(next);
    }
    // Only a manifest that was made anew can lack the open epoch.
    let origin = segments.last().map(|segment: &Segment| segment.next_origin(PAGE_SERIES as u32));
    let origin = origin.transpose()?.unwrap_or_default();
    let first = || Arc::new(Registry::begin(origin));
    let epochs = epochs.unwrap_or_else(|| Epochs::new(first(), store_id));
    Ok(segments.into_iter().fold(epochs, |epochs, segment| epochs.archived(segment)))
}

/// Reads the index files of an epoch into its registry.
pub(crate) fn read_registry(
    disk: &dyn Disk,
    dir: &Path,
    store_id: u64,
    index_files: &[u64],
    deletes: &Tombstones,
    registry: &Registry,
    cache: &Cache,
) -> Result<(), Error> {
    // Before the registrations: a name that was dropped may stand among them twice.
    registry.forget(deletes.dropped());
    for &number in index_files {
        let path = filenames::index(dir, number);
        index_file::read(disk, &path, number, store_id, registry, cache)?;
    }
    Ok(())
}

pub(crate) fn read_catalog(
    disk: &dyn Disk,
    dir: &Path,
    manifest: &Manifest,
    cache: &Cache,
) -> Result<Catalog, Error> {
    let catalog = Catalog::default();
    if manifest.catalog_file != 0 {
        let path = filenames::catalog(dir, manifest.catalog_file);
        catalog.read(disk, &path, manifest.catalog_file, manifest.store_id, cache)?;
    }
    Ok(catalog)
}

pub(crate) fn lock(disk: &dyn Disk, dir: &Path) -> Result<Box<dyn DirLock>, Error> {
    disk.lock(dir).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => Error::Locked(dir.to_owned()),
        _ => Error::io("lock", dir)(error),
    })
}

/// Creates the manifest of a new store.
fn create(disk: &dyn Disk, dir: &Path) -> Result<Manifest, Error> {
    let names = disk.list(dir).map_err(Error::io("list", dir))?;
    let is_ours = |name: &&String| {
        let named = filenames::parse(name);
        named.is_some_and(|named| !matches!(named, Named::ManifestNew | Named::ManifestCopyNew))
    };
    if let Some(name) = names.iter().find(is_ours) {
        return Err(Error::Corrupt {
            path: dir.join(filenames::MANIFEST),
            offset: 0,
            reason: format!("missing, while there is a file {name} that it should name"),
        });
    }
    // Who names a directory by mistake finds a store among their own files otherwise.
    if let Some(name) = names.iter().find(|name| !filenames::is_harmless(name)) {
        return Err(Error::Invalid(format!(
            "{} holds {name} and no store: name a directory that is missing or empty with \
             --data-dir",
            dir.display()
        )));
    }
    let mut manifest = Manifest {
        store_id: disk.random(),
        key_secret: disk.random(),
        next_namespace: 1,
        // 0 stands for no file.
        next_file: 1,
        ..Manifest::default()
    };
    manifest.write(disk, dir)?;
    Ok(manifest)
}

/// Opens the parts that the manifest names. One that is missing or damaged costs what is in it, not
/// the start: it stays where it is, and the manifest goes on naming it, so that nothing is lost if
/// it can be read another time. Such are the second half.
fn open_parts(
    handles: &Arc<Handles>,
    dir: &Path,
    manifest: &Manifest,
    cache: &Arc<Cache>,
    damages: &mut Vec<String>,
) -> Result<(Vec<Arc<Part>>, Vec<PartEntry>), Error> {
    let (mut parts, mut absent) = (Vec::new(), Vec::new());
    for entry in &manifest.parts {
        match Part::open(handles, dir, *entry, manifest.store_id, cache) {
            Ok(part) => parts.push(Arc::new(part)),
            Err(error) if !error.is_damage() => return Err(error),
            Err(error) => {
                let way_out = match handles.disk.exists(&filenames::part(dir, entry.number)) {
                    true => "`foliot check --repair` has saved what can be read",
                    false => "`foliot check --repair --lose-parts` has given them up",
                };
                damages.push(format!(
                    "{error}; its {} samples are not there until it is back, or {way_out}",
                    entry.samples
                ));
                absent.push(*entry);
            }
        }
    }
    parts.sort_by_key(|part| part.entry.rank);
    Ok((parts, absent))
}

/// Moves a file, if it is there, to the quarantine, under its own name or one with a number behind
/// it. Returns where it lies now.
pub(crate) fn set_aside(
    disk: &dyn Disk,
    dir: &Path,
    path: &Path,
) -> Result<Option<PathBuf>, Error> {
    let Some(name) = path.file_name().filter(|_| disk.exists(path)) else { return Ok(None) };
    let quarantine = dir.join(filenames::QUARANTINE);
    disk.create_dir_all(&quarantine).map_err(Error::io("create", &quarantine))?;
    let place = free_place(disk, &quarantine, name);
    disk.rename(path, &place).map_err(Error::io("set aside", path))?;
    disk.sync_dir(&quarantine).map_err(Error::io("sync", &quarantine))?;
    disk.sync_dir(dir).map_err(Error::io("sync", dir))?;
    Ok(Some(place))
}

/// Where a file of this name finds room in the quarantine.
pub(crate) fn free_place(disk: &dyn Disk, quarantine: &Path, name: &OsStr) -> PathBuf {
    let mut place = quarantine.join(name);
    for number in 1u32.. {
        if !disk.exists(&place) {
            break;
        }
        place = quarantine.join(format!("{}.{number}", name.display()));
    }
    place
}

/// What a frame of the wal says.
pub(crate) enum Learned {
    /// Names and numbers, which the epochs know now.
    Names,
    /// A fact, which the catalog knows now.
    Fact,
    /// A delete. Series that it drops are forgotten: their names may be registered again.
    Delete(Tombstone),
    /// Samples, which are the caller's affair.
    Rows,
}

/// Takes in a frame of the wal, as recovery does and whoever judges what it would meet; nothing
/// when the frame cannot be read.
pub(crate) fn learn(
    kind: FrameKind,
    body: &[u8],
    epochs: &mut Epochs,
    catalog: &Catalog,
) -> Option<Learned> {
    match kind {
        FrameKind::Register => epochs.replay(body).then_some(Learned::Names),
        FrameKind::Catalog => catalog.apply(&mut &*body).map(|()| Learned::Fact),
        FrameKind::Delete => {
            let tombstone = Tombstone::decode(&mut &*body)?;
            if tombstone.is_drop {
                epochs.in_memory().for_each(|registry| registry.forget(&tombstone.sids));
            }
            Some(Learned::Delete(tombstone))
        }
        FrameKind::Rows => Some(Learned::Rows),
    }
}

/// What the wal is replayed into.
struct Target<'t> {
    epochs: &'t RefCell<Epochs>,
    catalog: &'t Catalog,
    head: &'t Head,
    counters: &'t Counters,
    /// How far it is.
    opening: &'t Opening,
}

fn replay(
    disk: &dyn Disk,
    dir: &Path,
    manifest: &Manifest,
    target: &Target<'_>,
    tombstones: &mut Arc<Tombstones>,
    first: &mut First,
) -> Result<Replayed, Error> {
    let Target { epochs, catalog, head, counters, opening } = *target;
    let mut builder = Builder::default();
    let mut unread = 0u64;
    let (mut samples, mut orphans) = (0, 0);
    // The highest id that is mentioned, whether its registration is there or not.
    let mut mentioned = None;
    let each = &mut |lsn, kind, body: &[u8]| {
        if first.is_over(lsn, kind, head.bytes()) {
            return first.pass(lsn, kind, body, head);
        }
        opening.reach(lsn);
        let learned = learn(kind, body, &mut epochs.borrow_mut(), catalog);
        match learned {
            None => unread += 1,
            Some(Learned::Names) => {}
            Some(Learned::Fact) => {
                counters.count_fact(body);
            }
            Some(Learned::Delete(tombstone)) => {
                head.cut(&tombstone.sids, tombstone.range)?;
                mentioned = mentioned.max(tombstone.sids.last());
                // What was replayed is synced before anything is made physical.
                *tombstones = Arc::new(tombstones.with(Arc::new(tombstone), 0));
            }
            Some(Learned::Rows) => {
                // Nothing is registered within a frame; and the names' lock is not asked for under
                // that of a page.
                let (known, lost) = (epochs.borrow().known(), epochs.borrow().lost());
                let mut appender = head.appender(&[], &mut builder);
                let read = rows::read(body, &mut |sid, first, sample, bytes| {
                    // Damage may have taken the registration: such rows belong to nobody.
                    match known.iter().any(|sids| sids.contains(&sid)) && !lost.contains(sid) {
                        true => appender.append(sid, first, sample, bytes),
                        false => {
                            orphans += 1;
                            mentioned = mentioned.max(Some(sid));
                        }
                    }
                });
                samples += read.map_or(0, |(_, samples)| samples);
                unread += u64::from(read.is_none());
            }
        }
        Ok(())
    };
    let start_lsn = manifest.wal_start_lsn;
    opening.begin(start_lsn..segment::end_lsn(disk, dir)?.max(start_lsn));
    let mut replayed = reader::replay(disk, dir, manifest.store_id, start_lsn, each)?;
    if first.end().is_none() {
        opening.reach(u64::MAX);
    }
    count(counters, start_lsn, &replayed, (samples, orphans));
    if unread > 0 || orphans > 0 {
        replayed.damages.push(format!(
            "the wal's damage left {unread} frames unread and {orphans} samples without a series"
        ));
    }
    // Nobody else may get the id of a series whose registration is lost.
    epochs.borrow().current().reserve(mentioned.map_or(0, |sid| sid.saturating_add(1)));
    Ok(replayed)
}

/// Notes what a replay from `start_lsn` on met: samples, those of them without a series, damage.
fn count(counters: &Counters, start_lsn: u64, replayed: &Replayed, (samples, orphans): (u64, u64)) {
    let note = |counter: &AtomicU64, value: u64| counter.store(value, Ordering::Relaxed);
    note(&counters.samples_since_flush, samples);
    note(&counters.samples_orphaned, orphans);
    note(&counters.wal_damaged_bytes, replayed.damaged_bytes);
    note(&counters.wal_torn_bytes, replayed.torn_bytes);
    note(&counters.wal_segments_missing, u64::from(replayed.is_newest_missing));
    note(&counters.flushed_lsn, start_lsn);
}

/// What was replayed may so far be only in the system's memory. New frames refer to it (series
/// ids), so it must not be less durable than they are. A sync would not do: one that failed in the
/// process before may have made the system forget that the bytes are not on the medium. Only the
/// newest segment can hold such bytes, the others were synced before the next one was made.
fn rewrite_wal(
    disk: &dyn Disk,
    dir: &Path,
    start_lsn: u64,
    replayed: &Replayed,
) -> Result<(), Error> {
    if let Some((path, len)) = &replayed.overlong {
        segment::forget_unwritten(disk, dir, *len)?;
        disk.truncate(path, *len).map_err(Error::io("cut", path))?;
    }
    let Some(newest) = segment::list(disk, dir)?.pop() else { return Ok(()) };
    segment::forget_begun(disk, dir, newest)?;
    // Frames that parts hold already are read by nobody again.
    if replayed.end_lsn > start_lsn {
        let path = filenames::wal(dir, newest);
        disk.rewrite(&path).map_err(Error::io("rewrite", &path))?;
        disk.sync_dir(dir).map_err(Error::io("sync", dir))?;
        // A power cut may have taken the note. A full disk has no room for it, and starts.
        if newest < replayed.end_lsn && segment::missing(disk, dir)?.is_none() {
            let _ = segment::note_begun(disk, dir, newest);
        }
    }
    Ok(())
}
