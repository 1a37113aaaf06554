//! Inspect: any file of a store, or the whole of it, in words.
//!
//! Files are told by their names. Names of series come from the index files beside a part or a wal
//! segment, if they can be read; without them series are numbers. Nothing is locked and nothing is
//! changed, so a running store can be looked at.

use crate::block::Decoder;
use crate::cache::Cache;
use crate::catalog::Catalog;
use crate::epochs::Epochs;
use crate::error::Error;
use crate::filenames::{self, Named};
use crate::handles::Handles;
use crate::head::stream::Decoded;
use crate::index_file;
use crate::manifest::{Manifest, PartEntry};
use crate::part::{Cursor, Part};
use crate::recover::{self, Learned};
use crate::segment_file;
use crate::tombstones::{Tombstone, Tombstones};
use crate::wal::frame::FrameKind;
use crate::wal::{reader, rows, segment};
use foliot_disk::Disk;
use foliot_index::{Identity, Registry};
use foliot_model::{Samples, TimeRange};
use std::cell::OnceCell;
use std::path::Path;
use std::sync::Arc;

/// A piece of what an inspection shows.
#[derive(Debug)]
pub enum Shown<'i> {
    /// A line of text.
    Line(&'i str),
    /// Samples of one series, in the file's order.
    Samples {
        /// The series' number.
        sid: u32,
        /// What it is called, if that is known.
        identity: Option<&'i Identity>,
        /// Times ascend within a block, not from block to block.
        samples: &'i Samples,
    },
}

/// Takes what is shown.
pub type Show<'s> = dyn FnMut(Shown<'_>) -> Result<(), Error> + 's;

/// Shows the file or store at `path`, with its samples if they are wanted.
///
/// # Errors
/// When it is no file of a store, or damaged, or `show` fails.
pub fn inspect(
    disk: &Arc<dyn Disk>,
    path: &Path,
    wants_samples: bool,
    show: &mut Show<'_>,
) -> Result<(), Error> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_manifest = [filenames::MANIFEST, filenames::MANIFEST_COPY].contains(&name);
    let is_file = is_manifest || filenames::parse(name).is_some();
    let dir = if is_file { path.parent().unwrap_or(Path::new("")) } else { path };
    let epochs = OnceCell::new();
    let mut inspector = Inspector { disk, dir, wants_samples, show, epochs };
    match filenames::parse(name) {
        Some(Named::Part(number)) => inspector.part(path, number),
        Some(Named::Index(number)) => inspector.index(number),
        Some(Named::Segment(number)) => inspector.segment(number),
        Some(Named::Catalog(number)) => inspector.catalog(path, number),
        Some(Named::Deletes(number)) => inspector.deletes(path, number),
        Some(Named::Wal(base) | Named::WalBegun(base)) => inspector.wal(&[base]),
        Some(Named::WalSpare(_)) => Err(Error::Invalid(format!(
            "{} is a segment of the wal that files hold the content of; its store writes over it",
            path.display()
        ))),
        Some(Named::ManifestNew | Named::ManifestCopyNew) => Err(Error::Invalid(format!(
            "{} is a manifest that was not finished; its store ignores it",
            path.display()
        ))),
        None if !is_file && disk.exists(path) && disk.list(path).is_err() => {
            Err(Error::Invalid(format!(
                "{} is no file of a store: name a data directory, or a file in one that has the \
                 name which the store gave it",
                path.display()
            )))
        }
        None => inspector.store(!is_file),
    }
}

/// Memory for pages of segments while series are spelled out.
const CACHE_BYTES: u64 = 8 << 20;

struct Inspector<'i, 's> {
    disk: &'i Arc<dyn Disk>,
    dir: &'i Path,
    wants_samples: bool,
    show: &'i mut Show<'s>,
    /// The epochs as index files and segments tell them; none if they cannot be read.
    epochs: OnceCell<Epochs>,
}

impl Inspector<'_, '_> {
    fn line(&mut self, text: &str) -> Result<(), Error> {
        (self.show)(Shown::Line(text))
    }

    fn manifest(&self) -> Result<Manifest, Error> {
        let none = || Error::Invalid(format!("there is no store in {}", self.dir.display()));
        Ok(Manifest::read(&**self.disk, self.dir)?.ok_or_else(none)?.manifest)
    }

    /// The epochs as a start reads them, of those files that a manifest names.
    fn read_epochs(&self, manifest: &Manifest) -> Result<Epochs, Error> {
        let cache = Arc::new(Cache::new(CACHE_BYTES));
        let deletes = recover::read_deletes(&**self.disk, self.dir, manifest, &cache)?;
        recover::read_epochs(&**self.disk, self.dir, manifest, &deletes, &cache)
    }

    fn epochs(&self) -> &Epochs {
        self.epochs.get_or_init(|| {
            let read = self.manifest().and_then(|manifest| self.read_epochs(&manifest));
            read.unwrap_or_else(|_| Epochs::new(Arc::new(Registry::new(0)), 0))
        })
    }

    /// The manifest, and with `all` every file that it names, and the wal.
    fn store(&mut self, all: bool) -> Result<(), Error> {
        let manifest = self.manifest()?;
        let path = self.dir.join(filenames::MANIFEST);
        self.line(&format!("manifest {}", path.display()))?;
        self.line(&format!("  store {:016x}", manifest.store_id))?;
        self.line(&format!("  next file {}", manifest.next_file))?;
        self.line(&format!("  the wal matters from {}", manifest.wal_start_lsn))?;
        for entry in &manifest.epochs {
            self.line(&format!("  epoch {}", entry.origin))?;
            for number in &entry.index_files {
                self.line(&format!("  index file {number}"))?;
            }
            if entry.segment != 0 {
                self.line(&format!("  segment {}", entry.segment))?;
            }
        }
        if manifest.catalog_file != 0 {
            self.line(&format!("  catalog file {}", manifest.catalog_file))?;
        }
        if manifest.deletes_file != 0 {
            self.line(&format!("  file of deletes {}", manifest.deletes_file))?;
        }
        for part in &manifest.parts {
            self.line(&format!("  {}", describe_part(part)))?;
        }
        if !all {
            return Ok(());
        }
        for named in manifest.files() {
            let path = filenames::path(self.dir, named);
            match named {
                Named::Part(number) => self.part(&path, number)?,
                Named::Index(number) => self.index(number)?,
                Named::Segment(number) => self.segment(number)?,
                Named::Catalog(number) => self.catalog(&path, number)?,
                Named::Deletes(number) => self.deletes(&path, number)?,
                Named::Wal(_) | Named::WalBegun(_) | Named::WalSpare(_) => {}
                Named::ManifestNew | Named::ManifestCopyNew => {}
            }
        }
        self.wal(&segment::list(&**self.disk, self.dir)?)
    }

    fn part(&mut self, path: &Path, number: u64) -> Result<(), Error> {
        let header = Part::read_header(&**self.disk, path, number)?;
        let entry = PartEntry {
            number,
            rank: header.rank,
            namespace: header.namespace,
            class: header.class,
            epoch: header.epoch,
            level: header.level,
            range: TimeRange::ALL,
            samples: 0,
            bytes: 0,
            written_ns: 0,
        };
        let handles = Arc::new(Handles::new(self.disk.clone()));
        let (dir, store_id) = (self.dir, header.store_id);
        let part = Part::open(&handles, dir, entry, store_id, &Arc::new(Cache::new(0)))?;
        let (range, samples) = (part.footer.range, part.footer.samples);
        let entry = PartEntry { range, samples, bytes: part.len(), ..entry };
        self.line(&format!("file {} of store {store_id:016x}", path.display()))?;
        let (series, blocks) = (part.footer.series, part.footer.blocks);
        let said = describe_part(&entry);
        self.line(&format!("  {said}, {series} series in {blocks} blocks"))?;
        let epochs = self.epochs().clone();
        let mut cursor = Cursor::new(Arc::new(part))?;
        let (mut decoder, mut bytes, mut samples) =
            (Decoder::default(), Vec::new(), Samples::default());
        let mut named = None;
        while let Some(sid) = cursor.sid() {
            if named != Some(sid) {
                named = Some(sid);
                let identity = epochs.identity(sid).unwrap_or_default();
                self.line(&format!("  series {}", spell(sid, identity.as_ref())))?;
            }
            let Some(place) = cursor.take(&mut bytes)? else { break };
            let times_len = place.times.1;
            let values_len = place.bytes_len() - u64::from(times_len);
            self.line(&format!(
                "    block of {} samples, {}, times in {times_len} bytes, values in {values_len}",
                place.count,
                spell_range(place.range)
            ))?;
            if self.wants_samples {
                samples.clear();
                let (times, values) =
                    bytes.split_at_checked(times_len as usize).unwrap_or_default();
                let count = usize::from(place.count);
                decoder
                    .decode(times, values, count, TimeRange::ALL, &mut samples)
                    .map_err(|reason| cursor.corrupt(&place, reason))?;
                let identity = epochs.identity(sid).unwrap_or_default();
                let identity = identity.as_ref();
                (self.show)(Shown::Samples { sid, identity, samples: &samples })?;
            }
        }
        Ok(())
    }

    /// The series that an index file registers: those that the files before it do not.
    fn index(&mut self, number: u64) -> Result<(), Error> {
        let path = filenames::index(self.dir, number);
        let (store_id, origin) = index_file::owner(&**self.disk, &path, number)?;
        self.line(&format!("file {} of store {store_id:016x}", path.display()))?;
        // A registration rests on those before it, of earlier epochs too, and on what was dropped.
        let mut before = self.manifest().unwrap_or_default();
        before.epochs.retain(|entry| entry.origin.epoch <= origin.epoch);
        let entry = before.epoch_entry(origin);
        entry.segment = 0;
        entry.index_files.retain(|before| *before < number);
        let mut after = before.clone();
        after.epoch_entry(origin).index_files.push(number);
        after.store_id = store_id;
        before.store_id = store_id;
        let first = self.read_epochs(&before)?.current().series_end();
        let epochs = self.read_epochs(&after)?;
        let registry = epochs.current();
        let after = registry.series_end();
        self.line(&format!("  epoch {}, {} series", origin.epoch, after - first))?;
        for sid in first..after {
            self.line(&format!("  series {}", spell(sid, registry.identity(sid).as_ref())))?;
        }
        Ok(())
    }

    fn segment(&mut self, number: u64) -> Result<(), Error> {
        let path = filenames::segment(self.dir, number);
        let store_id = segment_file::owner(&**self.disk, &path, number)?;
        self.line(&format!("file {} of store {store_id:016x}", path.display()))?;
        let cache = Arc::new(Cache::new(CACHE_BYTES));
        let segment = segment_file::open(&**self.disk, &path, number, store_id, cache)?;
        let (origin, end) = (segment.origin(), segment.series_end());
        self.line(&format!(
            "  epoch {}, {} series",
            origin.epoch,
            end.saturating_sub(origin.base)
        ))?;
        for sid in origin.base..end {
            let mut identity = None;
            segment.identities(&[sid], &mut |_, found| identity = Some(found))?;
            self.line(&format!("  series {}", spell(sid, identity.as_ref())))?;
        }
        Ok(())
    }

    fn catalog(&mut self, path: &Path, number: u64) -> Result<(), Error> {
        let catalog = Catalog::default();
        let store_id = self.manifest()?.store_id;
        catalog.read(&**self.disk, path, number, store_id, &Cache::new(0))?;
        self.line(&format!("file {} of store {store_id:016x}", path.display()))?;
        catalog.each(&mut |kind, key, bytes| {
            let fact = format!("  {kind} {}: {}", key.escape_debug(), bytes.escape_ascii());
            (self.show)(Shown::Line(&fact))
        })
    }

    fn deletes(&mut self, path: &Path, number: u64) -> Result<(), Error> {
        let store_id = self.manifest()?.store_id;
        let deletes = Tombstones::read(&**self.disk, path, number, store_id, &Cache::new(0))?;
        self.line(&format!("file {} of store {store_id:016x}", path.display()))?;
        self.line(&format!("  {} series were ever dropped", deletes.dropped().len()))?;
        for tombstone in deletes.list() {
            self.line(&format!("  {}", describe_delete(tombstone)))?;
        }
        Ok(())
    }

    /// Segments of the wal, frame by frame: those that begin at `bases`, which ascend.
    fn wal(&mut self, bases: &[u64]) -> Result<(), Error> {
        let (disk, dir) = (&**self.disk, self.dir);
        let Some(&first) = bases.first() else { return Ok(()) };
        let store_id = segment::owner(disk, dir, first)?;
        let last = bases.last().copied().unwrap_or(first);
        let end_lsn = segment::list(disk, dir)?.into_iter().find(|next| *next > last);
        let end_lsn = end_lsn.unwrap_or(u64::MAX);
        // What the index files say already is not registered once more.
        let start_lsn = self.manifest().map_or(first, |manifest| manifest.wal_start_lsn);
        let (mut epochs, catalog) = (self.epochs().clone(), Catalog::default());
        let (show, wants_samples) = (&mut *self.show, self.wants_samples);
        let mut ahead = bases.iter().peekable();
        let mut each = |lsn: u64, kind, body: &[u8]| -> Result<(), Error> {
            let is_within = (first..end_lsn).contains(&lsn);
            while let Some(base) = ahead.next_if(|base| is_within && **base <= lsn) {
                let path = filenames::wal(dir, *base);
                let file = format!("file {} of store {store_id:016x}", path.display());
                show(Shown::Line(&file))?;
            }
            let mut samples = Vec::new();
            let said = match lsn < start_lsn {
                true => Some(describe_flushed(kind, body)),
                false => describe_frame(kind, body, &mut epochs, &catalog),
            };
            if kind == FrameKind::Rows && is_within && wants_samples {
                rows::read(body, &mut |sid, _, sample, bytes| {
                    samples.push((sid, one(sample, bytes)));
                });
            }
            if is_within {
                let said = said.unwrap_or_else(|| "cannot be read".to_owned());
                let frame = format!("  frame at {lsn}, {} bytes: {said}", body.len());
                show(Shown::Line(&frame))?;
                for (sid, samples) in samples {
                    let identity = epochs.identity(sid).unwrap_or_default();
                    show(Shown::Samples { sid, identity: identity.as_ref(), samples: &samples })?;
                }
            }
            Ok(())
        };
        let replayed = reader::replay(disk, dir, store_id, first.min(start_lsn), &mut each)?;
        let paths = bases.iter().map(|base| filenames::wal(dir, *base).display().to_string());
        let paths = Vec::from_iter(paths);
        let of_these = |damage: &&String| paths.iter().any(|path| damage.contains(path));
        for damage in replayed.damages.iter().filter(of_these) {
            self.line(&format!("  {damage}"))?;
        }
        match replayed.torn().filter(|_| end_lsn == u64::MAX) {
            Some(torn) => self.line(&format!("  {torn}")),
            None => Ok(()),
        }
    }
}

/// What a frame of the wal does that a start would replay; nothing when it cannot be read.
fn describe_frame(
    kind: FrameKind,
    body: &[u8],
    epochs: &mut Epochs,
    catalog: &Catalog,
) -> Option<String> {
    let before = epochs.series();
    Some(match recover::learn(kind, body, epochs, catalog)? {
        Learned::Names => format!("registers {} series", epochs.series() - before),
        Learned::Fact => describe_change(body),
        Learned::Delete(tombstone) => describe_delete(&tombstone),
        Learned::Rows => {
            let (epoch, samples) = rows::read(body, &mut |_, _, _, _| {})?;
            format!("epoch {epoch}, {samples} samples")
        }
    })
}

/// What a frame of the wal was, which a start does not replay: files have what it says.
fn describe_flushed(kind: FrameKind, body: &[u8]) -> String {
    let what = match kind {
        FrameKind::Register => "registrations".to_owned(),
        FrameKind::Catalog => describe_change(body),
        FrameKind::Delete => "a delete".to_owned(),
        FrameKind::Rows => {
            let samples = rows::read(body, &mut |_, _, _, _| {}).map_or(0, |(_, samples)| samples);
            format!("{samples} samples")
        }
    };
    format!("{what}, flushed already")
}

fn one(sample: Decoded, bytes: &[u8]) -> Samples {
    let mut samples = Samples::default();
    samples.push(sample.time_ns, crate::columns::value(sample, bytes));
    samples
}

fn describe_change(body: &[u8]) -> String {
    let catalog = Catalog::default();
    let mut said = "removes a fact of the catalog".to_owned();
    if catalog.apply(&mut &*body).is_none() {
        return "a change of the catalog that cannot be read".to_owned();
    }
    // A table of one fact: what this change puts.
    let _ = catalog.each(&mut |kind, key, bytes| {
        said = format!("puts {kind} {}: {}", key.escape_debug(), bytes.escape_ascii());
        Ok(())
    });
    said
}

fn describe_delete(tombstone: &Tombstone) -> String {
    let Tombstone { namespace, before, range, is_drop, sids, .. } = tombstone;
    let verb = if *is_drop { "drops" } else { "deletes" };
    format!(
        "{verb} {} of {} series in namespace {namespace}, in files before {before}",
        spell_range(*range),
        sids.len()
    )
}

fn describe_part(part: &PartEntry) -> String {
    let PartEntry { number, rank, namespace, class, epoch, level, range, samples, bytes, .. } =
        *part;
    format!(
        "part {number} (rank {rank}, level {level}, namespace {namespace}, class {class}, epoch \
         {epoch}): {}, {samples} samples in {bytes} bytes",
        spell_range(range)
    )
}

fn spell(sid: u32, identity: Option<&Identity>) -> String {
    let Some(identity) = identity else { return format!("{sid}") };
    let mut text = format!("{sid} {}", identity.measurement.escape_debug());
    for label in &identity.labels {
        text.push_str(&format!(" {}={}", label.name.escape_debug(), label.value.escape_debug()));
    }
    text.push_str(&format!(" field {}", identity.field.escape_debug()));
    text
}

fn spell_range(range: TimeRange) -> String {
    format!("{} to {} ns", range.start_ns, range.end_ns)
}
