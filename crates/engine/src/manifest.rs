//! The manifest: the one small mutable truth.
//!
//! It names every file that belongs to the store and where the wal begins to matter. It is written
//! whole, twice, each under another name first, synced, and renamed over the old one, so each copy
//! is the old truth or the new one at any instant (`docs/decisions/0002-manifest-whole.md` says why
//! it is not a log). Of two copies that can be read the one of the higher generation counts.
//!
//! ```text
//! preamble | crc32 u32 of everything else | len u32 of what follows
//! generation u64 | store id u64 | key secret u64 | next namespace u32 | 0 u32
//! | next file number u64 | wal start lsn u64
//! | epochs u32 | (epoch u32 | first series u32 | highest symbol number before, by kind, u32 x 4
//!                 | segment number u64, 0 for none | index files u32 | (number u64)...)...
//! | catalog file number u64, 0 for none | deletes file number u64, 0 for none
//! | parts u32 | (number u64 | rank u64 | namespace u32 | class u32 | epoch u32 | level u8 | 0 0 0
//!                | first time i64 | last time i64 | samples u64 | bytes u64 | written i64)...
//! ```

use crate::error::Error;
use crate::filenames::{MANIFEST, MANIFEST_COPY, MANIFEST_COPY_NEW, MANIFEST_NEW, Named};
use crate::part::format::take;
use crate::preamble::{self, Preamble, VERSION};
use foliot_codec::{checksum, checksum_append};
use foliot_disk::Disk;
use foliot_index::Origin;
use foliot_model::TimeRange;
use std::path::Path;

const PREAMBLE: Preamble = Preamble { magic: *b"Fman", version: VERSION, what: "a manifest" };
/// The two copies, and what each is called while it is written.
const COPIES: [(&str, &str); 2] = [(MANIFEST, MANIFEST_NEW), (MANIFEST_COPY, MANIFEST_COPY_NEW)];
const HEADER_LEN: usize = 16;
const MISSING: &str = "is missing";
/// A manifest larger than this is damage: ten million parts.
const LEN_MAX: u64 = 1 << 30;

/// A part as the manifest knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartEntry {
    /// Number of the file.
    pub(crate) number: u64,
    /// Of two parts that hold the same instant of a series, the one of the higher rank wins. That
    /// of a flushed part is its number, that of a merged one the highest of what was merged.
    pub(crate) rank: u64,
    pub(crate) namespace: u32,
    pub(crate) class: u32,
    pub(crate) epoch: u32,
    /// How often its samples were merged: 0 for a flushed part.
    pub(crate) level: u8,
    pub(crate) range: TimeRange,
    pub(crate) samples: u64,
    pub(crate) bytes: u64,
    /// When its youngest samples were flushed, by the wall clock, in nanoseconds.
    pub(crate) written_ns: i64,
}

/// An epoch as the manifest knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EpochEntry {
    pub(crate) origin: Origin,
    /// Number of its segment, 0 while it is open or still in memory.
    pub(crate) segment: u64,
    /// Numbers of the files of its registrations; where there is a segment, they are the copy that
    /// it can be made again from.
    pub(crate) index_files: Vec<u64>,
}

/// A manifest that was read.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) manifest: Manifest,
    /// What is wrong with the copy that was not taken, a sentence.
    pub(crate) damages: Vec<String>,
    /// Whether both copies say this. A crash can leave one of them older.
    pub(crate) is_whole: bool,
}

/// What belongs to the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// Counts manifests of this store; set when one is written.
    pub(crate) generation: u64,
    pub(crate) store_id: u64,
    pub(crate) key_secret: u64,
    pub(crate) next_namespace: u32,
    pub(crate) next_file: u64,
    pub(crate) wal_start_lsn: u64,
    /// Oldest first; the last one is open.
    pub(crate) epochs: Vec<EpochEntry>,
    pub(crate) catalog_file: u64,
    pub(crate) deletes_file: u64,
    pub(crate) parts: Vec<PartEntry>,
}

impl Manifest {
    /// All files that it names; the manifest itself and the wal are not among them.
    pub(crate) fn files(&self) -> Vec<Named> {
        let parts = self.parts.iter().map(|part| Named::Part(part.number));
        let index_files = self.epochs.iter().flat_map(|epoch| {
            let segment = (epoch.segment != 0).then_some(Named::Segment(epoch.segment));
            epoch.index_files.iter().map(|&number| Named::Index(number)).chain(segment)
        });
        let catalog = (self.catalog_file != 0).then_some(Named::Catalog(self.catalog_file));
        let deletes = (self.deletes_file != 0).then_some(Named::Deletes(self.deletes_file));
        parts.chain(index_files).chain(catalog).chain(deletes).collect()
    }

    /// Whether a file is read only to make another again.
    pub(crate) fn is_spare(&self, named: Named) -> bool {
        let closed = self.epochs.iter().filter(|entry| entry.segment != 0);
        let mut spare = closed.flat_map(|entry| &entry.index_files);
        spare.any(|number| named == Named::Index(*number))
    }

    /// The entry of the epoch that begins at `origin`, made if there is none.
    pub(crate) fn epoch_entry(&mut self, origin: Origin) -> &mut EpochEntry {
        let at = self.epochs.partition_point(|entry| entry.origin.epoch < origin.epoch);
        if self.epochs.get(at).is_none_or(|entry| entry.origin.epoch != origin.epoch) {
            self.epochs.insert(at, EpochEntry { origin, ..EpochEntry::default() });
        }
        #[allow(clippy::indexing_slicing, reason = "found or inserted above")]
        &mut self.epochs[at]
    }

    /// The manifest of `dir`; nothing if there is none.
    ///
    /// # Errors
    /// When neither copy can be read, one is of another version, or the disk fails.
    pub(crate) fn read(disk: &dyn Disk, dir: &Path) -> Result<Option<Found>, Error> {
        let (mut newest, mut damages, mut generations): (Option<Self>, _, _) =
            (None, Vec::new(), Vec::new());
        for (name, _) in COPIES {
            let path = dir.join(name);
            match Self::read_copy(disk, &path) {
                Ok(Some(manifest)) => {
                    generations.push(manifest.generation);
                    if newest.as_ref().is_none_or(|one| one.generation < manifest.generation) {
                        newest = Some(manifest);
                    }
                }
                Ok(None) => damages.push(Error::corrupt(&path, 0, MISSING)),
                Err(error @ Error::Corrupt { .. }) => damages.push(error),
                Err(error) => return Err(error),
            }
        }
        let Some(manifest) = newest else {
            let is_damaged = |error: &Error| !is_missing(error);
            return damages
                .into_iter()
                .find(is_damaged)
                .map_or(Ok(None), |error| Err(hopeless(error)));
        };
        // The power may go between the first copy that was ever written and the second.
        damages.retain(|damage| manifest.generation > 1 || !is_missing(damage));
        let is_whole = generations == [manifest.generation; 2];
        let of_other = |damage: Error| format!("{damage}; there is another copy");
        let damages = damages.into_iter().map(of_other).collect();
        Ok(Some(Found { manifest, damages, is_whole }))
    }

    /// One copy; nothing if there is no such file.
    fn read_copy(disk: &dyn Disk, path: &Path) -> Result<Option<Self>, Error> {
        if !disk.exists(path) {
            return Ok(None);
        }
        let file = disk.open(path).map_err(Error::io("open", path))?;
        if file.len() > LEN_MAX {
            return Err(Error::corrupt(path, 0, "longer than any manifest"));
        }
        let mut bytes = vec![0; file.len() as usize];
        file.read_at(&mut bytes, 0).map_err(Error::io("read", path))?;
        let rest = &mut &*bytes;
        let _preamble: Option<[u8; Preamble::LEN]> = take(rest);
        let crc = take(rest).map(u32::from_le_bytes);
        if crc != Some(seal(&bytes)) {
            // What an unreleased build wrote had its checksum over less.
            preamble::check_not_old(&bytes, path)?;
            return Err(Error::corrupt(path, HEADER_LEN as u64, "checksum does not fit"));
        }
        PREAMBLE.take(&mut &*bytes, path)?;
        let len = take(rest).map(u32::from_le_bytes);
        Self::decode(rest)
            .filter(|_| len == Some((bytes.len() - HEADER_LEN) as u32))
            .map(Some)
            .ok_or_else(|| {
                Error::corrupt(
                    path,
                    HEADER_LEN as u64,
                    "ends too early, names a part twice, or an epoch that cannot be",
                )
            })
    }

    /// Replaces the manifest of `dir`, durably. It gets the next generation, also after an attempt
    /// that failed and may have left one of the copies. Whatever the old manifest named must be
    /// there until this returns.
    pub(crate) fn write(&mut self, disk: &dyn Disk, dir: &Path) -> Result<(), Error> {
        let before = COPIES.iter().filter_map(|(name, _)| {
            let copy = Self::read_copy(disk, &dir.join(name));
            copy.ok().flatten().map(|manifest| manifest.generation)
        });
        self.generation = before.max().unwrap_or_default().max(self.generation) + 1;
        let body = self.encode();
        let mut bytes = Vec::with_capacity(HEADER_LEN + body.len());
        bytes.extend_from_slice(&PREAMBLE.bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&body);
        let crc = seal(&bytes).to_le_bytes();
        bytes.splice(Preamble::LEN..Preamble::LEN + crc.len(), crc);
        for (_, new) in COPIES {
            let new = dir.join(new);
            let mut file = disk.create(&new).map_err(Error::io("create", &new))?;
            file.append(&bytes).map_err(Error::io("write", &new))?;
            file.sync().map_err(Error::io("sync", &new))?;
        }
        for (name, new) in COPIES {
            let path = dir.join(name);
            disk.rename(&dir.join(new), &path).map_err(Error::io("put in place", &path))?;
        }
        disk.sync_dir(dir).map_err(Error::io("sync", dir))
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(&self.generation.to_le_bytes());
        out.extend_from_slice(&self.store_id.to_le_bytes());
        out.extend_from_slice(&self.key_secret.to_le_bytes());
        out.extend_from_slice(&self.next_namespace.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.next_file.to_le_bytes());
        out.extend_from_slice(&self.wal_start_lsn.to_le_bytes());
        out.extend_from_slice(&(self.epochs.len() as u32).to_le_bytes());
        for epoch in &self.epochs {
            epoch.encode(&mut out);
        }
        out.extend_from_slice(&self.catalog_file.to_le_bytes());
        out.extend_from_slice(&self.deletes_file.to_le_bytes());
        out.extend_from_slice(&(self.parts.len() as u32).to_le_bytes());
        for part in &self.parts {
            out.extend_from_slice(&part.number.to_le_bytes());
            out.extend_from_slice(&part.rank.to_le_bytes());
            out.extend_from_slice(&part.namespace.to_le_bytes());
            out.extend_from_slice(&part.class.to_le_bytes());
            out.extend_from_slice(&part.epoch.to_le_bytes());
            out.extend_from_slice(&[part.level, 0, 0, 0]);
            out.extend_from_slice(&part.range.start_ns.to_le_bytes());
            out.extend_from_slice(&part.range.end_ns.to_le_bytes());
            out.extend_from_slice(&part.samples.to_le_bytes());
            out.extend_from_slice(&part.bytes.to_le_bytes());
            out.extend_from_slice(&part.written_ns.to_le_bytes());
        }
        out
    }

    fn decode(mut bytes: &[u8]) -> Option<Self> {
        let rest = &mut bytes;
        let mut manifest = Self {
            generation: u64::from_le_bytes(take(rest)?),
            store_id: u64::from_le_bytes(take(rest)?),
            key_secret: u64::from_le_bytes(take(rest)?),
            next_namespace: u64::from_le_bytes(take(rest)?) as u32,
            next_file: u64::from_le_bytes(take(rest)?),
            wal_start_lsn: u64::from_le_bytes(take(rest)?),
            ..Self::default()
        };
        for _ in 0..u32::from_le_bytes(take(rest)?) {
            manifest.epochs.push(EpochEntry::decode(rest)?);
        }
        manifest.catalog_file = u64::from_le_bytes(take(rest)?);
        manifest.deletes_file = u64::from_le_bytes(take(rest)?);
        for _ in 0..u32::from_le_bytes(take(rest)?) {
            let number = u64::from_le_bytes(take(rest)?);
            let rank = u64::from_le_bytes(take(rest)?);
            let namespace = u32::from_le_bytes(take(rest)?);
            let class = u32::from_le_bytes(take(rest)?);
            let epoch = u32::from_le_bytes(take(rest)?);
            let [level, _, _, _] = take(rest)?;
            let start_ns = i64::from_le_bytes(take(rest)?);
            let end_ns = i64::from_le_bytes(take(rest)?);
            manifest.parts.push(PartEntry {
                number,
                rank,
                namespace,
                class,
                epoch,
                level,
                range: TimeRange::new(start_ns, end_ns),
                samples: u64::from_le_bytes(take(rest)?),
                bytes: u64::from_le_bytes(take(rest)?),
                written_ns: i64::from_le_bytes(take(rest)?),
            });
        }
        (rest.is_empty() && manifest.names_each_once()).then_some(manifest)
    }

    /// Whether no part is named twice: merging would never come to an end.
    fn names_each_once(&self) -> bool {
        let mut numbers: Vec<u64> = self.parts.iter().map(|part| part.number).collect();
        numbers.sort_unstable();
        numbers.is_sorted_by(|before, after| before < after)
    }
}

/// The checksum of a manifest: of all its bytes but those that hold it.
fn seal(bytes: &[u8]) -> u32 {
    let (preamble, rest) = bytes.split_at_checked(Preamble::LEN).unwrap_or_default();
    checksum_append(checksum(preamble), rest.get(4..).unwrap_or_default())
}

/// The damage of a manifest of which the other copy is no better.
fn hopeless(error: Error) -> Error {
    match error {
        Error::Corrupt { path, offset, reason } => {
            let reason = format!("{reason}; the other copy is no better");
            Error::Corrupt { path, offset, reason }
        }
        error => error,
    }
}

fn is_missing(error: &Error) -> bool {
    matches!(error, Error::Corrupt { reason, .. } if reason == MISSING)
}

impl EpochEntry {
    fn encode(&self, out: &mut Vec<u8>) {
        let Origin { epoch, base, symbols } = self.origin;
        let numbers = [epoch, base].into_iter().chain(symbols);
        numbers.for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
        out.extend_from_slice(&self.segment.to_le_bytes());
        out.extend_from_slice(&(self.index_files.len() as u32).to_le_bytes());
        for number in &self.index_files {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }

    fn decode(rest: &mut &[u8]) -> Option<Self> {
        let mut number = || take(rest).map(u32::from_le_bytes);
        let (epoch, base) = (number()?, number()?);
        let symbols = [number()?, number()?, number()?, number()?];
        let origin = Origin { epoch, base, symbols };
        if !origin.is_possible() {
            return None;
        }
        let mut entry = Self { origin, ..Self::default() };
        entry.segment = u64::from_le_bytes(take(rest)?);
        for _ in 0..u32::from_le_bytes(take(rest)?) {
            entry.index_files.push(u64::from_le_bytes(take(rest)?));
        }
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foliot_disk::SimDisk;

    fn sample() -> Manifest {
        let part = |number| PartEntry {
            number,
            rank: 12,
            namespace: 1,
            class: 2,
            epoch: 3,
            level: 2,
            range: TimeRange::new(-5, 5),
            samples: 10,
            bytes: 11,
            written_ns: 13,
        };
        Manifest {
            generation: 0,
            store_id: 1,
            key_secret: 2,
            next_namespace: 4,
            next_file: 5,
            wal_start_lsn: 6,
            epochs: vec![
                EpochEntry { segment: 6, ..EpochEntry::default() },
                EpochEntry {
                    origin: Origin { epoch: 1, base: 1024, symbols: [1, 2, 3, 4] },
                    segment: 0,
                    index_files: vec![7, 8],
                },
            ],
            catalog_file: 9,
            deletes_file: 10,
            parts: vec![part(1), part(4)],
        }
    }

    fn bytes(disk: &SimDisk, path: &Path) -> Vec<u8> {
        let file = disk.open(path).unwrap();
        let mut bytes = vec![0; file.len() as usize];
        file.read_at(&mut bytes, 0).unwrap();
        bytes
    }

    fn replace(disk: &SimDisk, path: &Path, bytes: &[u8]) {
        disk.create(path).unwrap().append(bytes).unwrap();
    }

    fn written(dir: &Path) -> SimDisk {
        let disk = SimDisk::new(1);
        disk.create_dir_all(dir).unwrap();
        assert!(Manifest::read(&disk, dir).unwrap().is_none());
        let mut first = Manifest { next_file: 1, ..sample() };
        first.write(&disk, dir).unwrap();
        sample().write(&disk, dir).unwrap();
        disk
    }

    #[test]
    fn one_damaged_copy_costs_nothing_and_is_told() {
        let dir = Path::new("store");
        let disk = written(dir);
        let expected = Manifest { generation: 2, ..sample() };
        let found = Manifest::read(&disk, dir).unwrap().unwrap();
        assert_eq!(
            (found.manifest, found.damages.len(), found.is_whole),
            (expected.clone(), 0, true)
        );
        for (name, _) in COPIES {
            let path = dir.join(name);
            let good = bytes(&disk, &path);
            for at in 0..good.len() {
                let mut bad = good.clone();
                bad[at] ^= 1 << (at % 8);
                for bad in [&bad[..], &good[..at]] {
                    replace(&disk, &path, bad);
                    let found = Manifest::read(&disk, dir).unwrap().unwrap();
                    assert_eq!((found.manifest, found.is_whole), (expected.clone(), false));
                    let [told] = &found.damages[..] else { panic!("{at}: {:?}", found.damages) };
                    assert!(told.contains(name), "{told}");
                }
            }
            disk.remove(&path).unwrap();
            let found = Manifest::read(&disk, dir).unwrap().unwrap();
            assert_eq!((found.manifest, found.damages.len()), (expected.clone(), 1));
            replace(&disk, &path, &good);
        }
    }

    #[test]
    fn a_part_that_is_named_twice_is_damage() {
        let mut manifest = sample();
        assert_eq!(Manifest::decode(&manifest.encode()), Some(manifest.clone()));
        manifest.parts.extend(sample().parts);
        assert_eq!(Manifest::decode(&manifest.encode()), None);
    }

    #[test]
    fn an_epoch_beyond_all_series_is_damage() {
        let mut manifest = sample();
        manifest.epochs[1].origin.base = u32::MAX - 1;
        assert_eq!(Manifest::decode(&manifest.encode()), None);
    }

    #[test]
    fn two_damaged_copies_are_found() {
        let dir = Path::new("store");
        let disk = written(dir);
        let paths = COPIES.map(|(name, _)| dir.join(name));
        let good = bytes(&disk, &paths[0]);
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x40;
            for path in &paths {
                replace(&disk, path, &bad);
            }
            assert!(Manifest::read(&disk, dir).is_err(), "flipped at {at}");
        }
    }

    #[test]
    fn the_newer_copy_counts_and_a_failed_attempt_does_not() {
        let dir = Path::new("store");
        let disk = written(dir);
        let old = bytes(&disk, &dir.join(MANIFEST));
        let mut newer = Manifest { next_file: 77, ..sample() };
        newer.write(&disk, dir).unwrap();
        assert_eq!(newer.generation, 3);
        replace(&disk, &dir.join(MANIFEST), &old);
        let found = Manifest::read(&disk, dir).unwrap().unwrap();
        assert_eq!((found.manifest.next_file, found.is_whole), (77, false));
        // The caller's own copy is two generations behind: the number goes on from the disk's.
        let mut again = Manifest { generation: 1, ..sample() };
        again.write(&disk, dir).unwrap();
        assert_eq!(again.generation, 4);
    }
}
