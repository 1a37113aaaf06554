//! Recovery: from a directory to a store.
//!
//! 1. lock the directory; read the manifest, or create one in an empty directory;
//! 2. remove what the manifest does not name: leftovers of an interrupted flush;
//! 3. read the index files and the catalog; open the parts, setting damaged ones aside;
//! 4. replay the wal into registry, catalog and head;
//! 5. write what was replayed once more, so that later writes never build on bytes a power cut can
//!    take.
//!
//! Each step can be interrupted and begun again.

use crate::activity::Activity;
use crate::admission::Admission;
use crate::block::Builder;
use crate::cache::Cache;
use crate::catalog::Catalog;
use crate::config::Config;
use crate::epochs::Epochs;
use crate::error::Error;
use crate::filenames::{self, Named};
use crate::handles::Handles;
use crate::head::Head;
use crate::limits::PAGE_SERIES;
use crate::manifest::Manifest;
use crate::part::Part;
use crate::retention::Retention;
use crate::segment_file;
use crate::stats::Counters;
use crate::store::{Files, Order, Store};
use crate::tombstones::{Tombstone, Tombstones};
use crate::view::View;
use crate::wal::Wal;
use crate::wal::frame::FrameKind;
use crate::wal::rows;
use crate::wal::segment::{self, Replayed};
use foliot_disk::{DirLock, Disk};
use foliot_index::{Limits, Registry, Segment};
use foliot_model::KeySecret;
use parking_lot::{Condvar, Mutex, RwLock};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Opens the store in `dir`; the second half says what was damaged, a sentence each.
pub(crate) fn open(
    disk: Arc<dyn Disk>,
    dir: &Path,
    config: Config,
) -> Result<(Store, Vec<String>), Error> {
    let (lock, mut manifest) = enter(&*disk, dir)?;
    let mut damages = Vec::new();
    let deletes = read_deletes(&*disk, dir, &manifest)?;
    let catalog = read_catalog(&*disk, dir, &manifest)?;
    let cache = Arc::new(Cache::new(config.cache_bytes_max));
    let epochs = read_epochs(&*disk, dir, &manifest, &deletes, &cache)?;
    let index_marks = epochs.in_memory().map(|each| (each.epoch(), each.mark())).collect();
    let epochs = RefCell::new(epochs);
    let handles = Arc::new(Handles::new(disk.clone()));
    let parts = open_parts(&handles, dir, &mut manifest, &cache, &mut damages)?;

    let head = Arc::new(Head::new());
    let counters = Counters::default();
    let mut tombstones = deletes.clone();
    let target = Target { epochs: &epochs, catalog: &catalog, head: &head, counters: &counters };
    let replayed = replay(&*disk, dir, &manifest, &target, &mut tombstones)?;
    rewrite_wal(&*disk, dir, &replayed)?;
    damages.extend(replayed.damages);
    counters.flushed_lsn.store(manifest.wal_start_lsn, Ordering::Relaxed);

    let wal =
        Wal::open(disk.clone(), dir.to_owned(), manifest.store_id, replayed.end_lsn, &config)?;
    let base = epochs.borrow().current().origin().base;
    let activity = Activity::new(base, config.index_active_window, disk.monotonic_ns());
    // Files to come must not be taken for older than a delete that the wal told of.
    let next_file = manifest.next_file.max(tombstones.before_max());
    let retention = Retention::load(&config, Vec::new(), &catalog);
    let store = Store {
        admission: Admission::new(&config, &*disk),
        disk,
        dir: dir.to_owned(),
        config,
        epochs: RwLock::new(Arc::new(epochs.into_inner())),
        head,
        wal,
        catalog,
        retention: RwLock::new(Arc::new(retention)),
        cache,
        handles,
        view: RwLock::new(Arc::new(View { parts, tombstones, frozen: Arc::default() })),
        next_file: AtomicU64::new(next_file),
        store_id: manifest.store_id,
        key_secret: KeySecret(manifest.key_secret),
        files: Mutex::new(Files {
            manifest,
            index_marks,
            activity,
            flushes_since_switch: 0,
            catalog_changes: 0,
            deletes,
        }),
        gate: RwLock::new(()),
        creating_namespace: Mutex::new(()),
        taking: Mutex::default(),
        audit: Mutex::default(),
        counters,
        flusher: Mutex::new(Order::default()),
        flusher_wake: Condvar::new(),
        maintainer: Mutex::new(Order::default()),
        maintainer_wake: Condvar::new(),
        maintenance: Mutex::default(),
        _lock: lock,
    };
    Ok((store, damages))
}

/// Locks the directory, and sees to it that it holds a manifest and nothing left over.
fn enter(disk: &dyn Disk, dir: &Path) -> Result<(Box<dyn DirLock>, Manifest), Error> {
    disk.create_dir_all(dir).map_err(Error::io("create", dir))?;
    let lock = lock(disk, dir)?;
    let manifest = match Manifest::read(disk, dir)? {
        Some(manifest) => manifest,
        None => create(disk, dir)?,
    };
    // The process that put it in place may have died before that was durable.
    disk.sync_dir(dir).map_err(Error::io("sync", dir))?;
    remove_leftovers(disk, dir, &manifest)?;
    Ok((lock, manifest))
}

pub(crate) fn read_deletes(
    disk: &dyn Disk,
    dir: &Path,
    manifest: &Manifest,
) -> Result<Arc<Tombstones>, Error> {
    let number = manifest.deletes_file;
    if number == 0 {
        return Ok(Arc::default());
    }
    let path = filenames::deletes(dir, number);
    Tombstones::read(disk, &path, number, manifest.store_id).map(Arc::new)
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
            let cache = cache.clone();
            segments.push(segment_file::open(disk, &path, number, store_id, cache)?);
            continue;
        }
        let next = match &epochs {
            Some(epochs) => epochs.switched(entry.origin),
            None => {
                let registry = Registry::begin(entry.origin, Limits::default());
                Epochs::new(Arc::new(registry), store_id)
            }
        };
        let registry = next.current().clone();
        // Before the registrations: a name that was dropped may stand among them twice.
        registry.forget(deletes.dropped());
        for &number in &entry.index_files {
            let path = filenames::index(dir, number);
            crate::index_file::read(disk, &path, number, store_id, &registry)?;
        }
        epochs = Some(next);
    }
    // Only a manifest that was made anew can lack the open epoch.
    let origin = segments.last().map(|segment: &Segment| segment.next_origin(PAGE_SERIES as u32));
    let origin = origin.transpose()?.unwrap_or_default();
    let first = || Arc::new(Registry::begin(origin, Limits::default()));
    let epochs = epochs.unwrap_or_else(|| Epochs::new(first(), store_id));
    Ok(segments.into_iter().fold(epochs, |epochs, segment| epochs.archived(segment)))
}

pub(crate) fn read_catalog(
    disk: &dyn Disk,
    dir: &Path,
    manifest: &Manifest,
) -> Result<Catalog, Error> {
    let catalog = Catalog::default();
    if manifest.catalog_file != 0 {
        let path = filenames::catalog(dir, manifest.catalog_file);
        catalog.read(disk, &path, manifest.catalog_file, manifest.store_id)?;
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
    let is_ours =
        |name: &&String| filenames::parse(name).is_some_and(|named| named != Named::ManifestNew);
    if let Some(name) = names.iter().find(is_ours) {
        return Err(Error::Corrupt {
            path: dir.join(filenames::MANIFEST),
            offset: 0,
            reason: format!("missing, while there is a file {name} that it should name"),
        });
    }
    let manifest = Manifest {
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

fn remove_leftovers(disk: &dyn Disk, dir: &Path, manifest: &Manifest) -> Result<(), Error> {
    let files: BTreeSet<Named> = manifest.files().into_iter().collect();
    for name in disk.list(dir).map_err(Error::io("list", dir))? {
        let named = filenames::parse(&name).filter(|named| !matches!(named, Named::Wal(_)));
        if let Some(leftover) = named.filter(|named| !files.contains(named)) {
            let path = filenames::path(dir, leftover);
            disk.remove(&path).map_err(Error::io("remove", &path))?;
        }
    }
    Ok(())
}

/// Opens the parts that the manifest names. A damaged one costs what is in it, not the start: it is
/// moved to the quarantine and taken off the manifest.
fn open_parts(
    handles: &Arc<Handles>,
    dir: &Path,
    manifest: &mut Manifest,
    cache: &Arc<Cache>,
    damages: &mut Vec<String>,
) -> Result<Vec<Arc<Part>>, Error> {
    let disk = &*handles.disk;
    let mut parts = Vec::new();
    let mut damaged = Vec::new();
    for entry in &manifest.parts {
        match Part::open(handles, dir, *entry, manifest.store_id, cache) {
            Ok(part) => parts.push(Arc::new(part)),
            Err(error) if !is_damage(&error) => return Err(error),
            Err(error) => {
                let lost = format!("{error}; its {} samples are set aside", entry.samples);
                damages.push(lost);
                damaged.push(entry.number);
            }
        }
    }
    if !damaged.is_empty() {
        manifest.parts.retain(|entry| !damaged.contains(&entry.number));
        manifest.write(disk, dir)?;
        for number in damaged {
            set_aside(disk, dir, &filenames::part(dir, number))?;
        }
    }
    parts.sort_by_key(|part| part.entry.rank);
    Ok(parts)
}

/// Moves a damaged file, if it is there, to the quarantine.
pub(crate) fn set_aside(disk: &dyn Disk, dir: &Path, path: &Path) -> Result<(), Error> {
    let quarantine = dir.join(filenames::QUARANTINE);
    disk.create_dir_all(&quarantine).map_err(Error::io("create", &quarantine))?;
    match path.file_name() {
        Some(name) if disk.exists(path) => {
            disk.rename(path, &quarantine.join(name)).map_err(Error::io("set aside", path))
        }
        _ => Ok(()),
    }
}

/// Whether an error says that a file is not what it should be. A disk that cannot be read just now
/// says nothing about the file: then the store does not start, and nothing is set aside.
pub(crate) fn is_damage(error: &Error) -> bool {
    match error {
        Error::Corrupt { .. } => true,
        Error::Io { source, .. } => {
            matches!(source.kind(), ErrorKind::NotFound | ErrorKind::UnexpectedEof)
        }
        _ => false,
    }
}

/// What the wal is replayed into.
struct Target<'t> {
    epochs: &'t RefCell<Epochs>,
    catalog: &'t Catalog,
    head: &'t Head,
    counters: &'t Counters,
}

fn replay(
    disk: &dyn Disk,
    dir: &Path,
    manifest: &Manifest,
    target: &Target<'_>,
    tombstones: &mut Arc<Tombstones>,
) -> Result<Replayed, Error> {
    let Target { epochs, catalog, head, counters } = *target;
    let mut builder = Builder::default();
    let mut unread = 0u64;
    let (mut samples, mut orphans) = (0, 0);
    let each = &mut |_, kind, body: &[u8]| {
        match kind {
            FrameKind::Register => {
                unread += u64::from(!epochs.borrow_mut().replay(body));
            }
            FrameKind::Catalog => {
                unread += u64::from(catalog.apply(&mut &*body).is_none());
                counters.catalog_changes.fetch_add(1, Ordering::Relaxed);
            }
            FrameKind::Delete => match Tombstone::decode(&mut &*body) {
                Some(tombstone) => {
                    head.cut(&tombstone.sids, tombstone.range)?;
                    if tombstone.is_drop {
                        let epochs = epochs.borrow();
                        epochs.in_memory().for_each(|registry| registry.forget(&tombstone.sids));
                    }
                    // What was replayed is synced before anything is made physical.
                    *tombstones = Arc::new(tombstones.with(Arc::new(tombstone), 0));
                }
                None => unread += 1,
            },
            FrameKind::Rows => {
                let mut appender = head.appender(&mut builder);
                let epochs = epochs.borrow();
                let read = rows::read(body, &mut |sid, first, sample, bytes| {
                    // Damage may have taken the registration: such rows belong to nobody.
                    match epochs.epoch_of(sid) {
                        Some(_) => appender.append(sid, first, sample, bytes),
                        None => orphans += 1,
                    }
                });
                samples += read.map_or(0, |(_, samples)| samples);
                unread += u64::from(read.is_none());
            }
        }
        Ok(())
    };
    let mut replayed = segment::replay(disk, dir, manifest.store_id, manifest.wal_start_lsn, each)?;
    counters.samples_since_flush.store(samples, Ordering::Relaxed);
    counters.samples_orphaned.store(orphans, Ordering::Relaxed);
    if unread > 0 || orphans > 0 {
        replayed.damages.push(format!(
            "the wal's damage left {unread} frames unread and {orphans} samples without a series"
        ));
    }
    Ok(replayed)
}

/// What was replayed may so far be only in the system's memory. New frames refer to it (series
/// ids), so it must not be less durable than they are. A sync would not do: one that failed in the
/// process before may have made the system forget that the bytes are not on the medium. Only the
/// newest segment can hold such bytes, the others were synced before the next one was made.
fn rewrite_wal(disk: &dyn Disk, dir: &Path, replayed: &Replayed) -> Result<(), Error> {
    // Frames that parts hold already are read by nobody again.
    if replayed.frames > 0
        && let Some(&newest) = segment::list(disk, dir)?.last()
    {
        let path = filenames::wal(dir, newest);
        disk.rewrite(&path).map_err(Error::io("rewrite", &path))?;
        disk.sync_dir(dir).map_err(Error::io("sync", dir))?;
    }
    Ok(())
}
