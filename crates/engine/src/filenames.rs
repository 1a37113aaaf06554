//! All names on disk.
//!
//! ```text
//! MANIFEST            the one small mutable truth, replaced whole
//! MANIFEST.copy       the same once more
//! MANIFEST.new        a manifest being written; MANIFEST.copy.new
//! wal-<lsn>.log       a stretch of the wal that begins at this lsn, 16 hex digits
//! spare-<lsn>.wal     one whose content files hold by now, to be written over
//! begun-<lsn>.wal     says that this stretch, the newest one, was begun; empty
//! part-<number>.part  blocks of samples
//! index-<number>.idx  registrations
//! segment-<number>.seg  the index of a closed epoch
//! catalog-<number>.cat  the catalog
//! deletes-<number>.del  deletes that parts are still masked for
//! audit.log           what was deleted, by whom; audit.log.1 what was before it
//! backups.log         when the store was backed up, and where to; backups.log.new
//! ballast             no meaning: its room is given to a delete that finds the disk full
//! quarantine/         files that were found damaged, moved aside under their own names
//! ```

use std::path::{Path, PathBuf};

pub(crate) const MANIFEST: &str = "MANIFEST";
pub(crate) const MANIFEST_COPY: &str = "MANIFEST.copy";
pub(crate) const MANIFEST_NEW: &str = "MANIFEST.new";
pub(crate) const MANIFEST_COPY_NEW: &str = "MANIFEST.copy.new";
/// All names that writing a manifest gives.
pub(crate) const MANIFESTS: [&str; 4] = [MANIFEST_COPY_NEW, MANIFEST_NEW, MANIFEST_COPY, MANIFEST];
pub(crate) const AUDIT: &str = "audit.log";
pub(crate) const AUDIT_BEFORE: &str = "audit.log.1";
pub(crate) const BACKUPS: &str = "backups.log";
pub(crate) const BACKUPS_NEW: &str = "backups.log.new";
pub(crate) const BALLAST: &str = "ballast";
pub(crate) const QUARANTINE: &str = "quarantine";

pub(crate) fn wal(dir: &Path, lsn: u64) -> PathBuf {
    dir.join(format!("wal-{lsn:016x}.log"))
}

pub(crate) fn wal_begun(dir: &Path, lsn: u64) -> PathBuf {
    dir.join(format!("begun-{lsn:016x}.wal"))
}

pub(crate) fn wal_spare(dir: &Path, lsn: u64) -> PathBuf {
    dir.join(format!("spare-{lsn:016x}.wal"))
}

pub(crate) fn part(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("part-{number:010}.part"))
}

pub(crate) fn index(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("index-{number:010}.idx"))
}

pub(crate) fn segment(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("segment-{number:010}.seg"))
}

pub(crate) fn catalog(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("catalog-{number:010}.cat"))
}

/// The path of a file whose name was read or is named by the manifest.
pub(crate) fn path(dir: &Path, named: Named) -> PathBuf {
    match named {
        Named::Wal(lsn) => wal(dir, lsn),
        Named::WalBegun(lsn) => wal_begun(dir, lsn),
        Named::WalSpare(lsn) => wal_spare(dir, lsn),
        Named::Part(number) => part(dir, number),
        Named::Index(number) => index(dir, number),
        Named::Segment(number) => segment(dir, number),
        Named::Catalog(number) => catalog(dir, number),
        Named::Deletes(number) => deletes(dir, number),
        Named::ManifestNew => dir.join(MANIFEST_NEW),
        Named::ManifestCopyNew => dir.join(MANIFEST_COPY_NEW),
    }
}

pub(crate) fn deletes(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("deletes-{number:010}.del"))
}

/// What a name on disk says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Named {
    Wal(u64),
    WalBegun(u64),
    WalSpare(u64),
    Part(u64),
    Index(u64),
    Segment(u64),
    Catalog(u64),
    Deletes(u64),
    ManifestNew,
    ManifestCopyNew,
}

impl Named {
    /// The number of a paged file, which its checksums cover.
    pub(crate) fn number(self) -> Option<u64> {
        match self {
            Self::Part(number)
            | Self::Index(number)
            | Self::Segment(number)
            | Self::Catalog(number)
            | Self::Deletes(number) => Some(number),
            Self::Wal(_)
            | Self::WalBegun(_)
            | Self::WalSpare(_)
            | Self::ManifestNew
            | Self::ManifestCopyNew => None,
        }
    }
}

/// Whether a new store may be made beside a file or directory of this name: what a mount has of
/// itself, what is hidden, and what the store gives no number to.
pub(crate) fn is_harmless(name: &str) -> bool {
    let unnumbered = [AUDIT, AUDIT_BEFORE, BACKUPS, BACKUPS_NEW, BALLAST, QUARANTINE];
    name.starts_with('.')
        || name == "lost+found"
        || unnumbered.contains(&name)
        || parse(name).is_some()
}

/// Reads a name; nothing for names that the store does not give.
pub(crate) fn parse(name: &str) -> Option<Named> {
    let middle = |prefix: &str, suffix: &str| name.strip_prefix(prefix)?.strip_suffix(suffix);
    let number = |text: Option<&str>| text?.parse::<u64>().ok();
    if name == MANIFEST_NEW {
        return Some(Named::ManifestNew);
    }
    if name == MANIFEST_COPY_NEW {
        return Some(Named::ManifestCopyNew);
    }
    let lsn = |text: Option<&str>| u64::from_str_radix(text?, 16).ok();
    let wal = lsn(middle("wal-", ".log")).map(Named::Wal);
    let wal = wal.or_else(|| lsn(middle("begun-", ".wal")).map(Named::WalBegun));
    let wal = wal.or_else(|| lsn(middle("spare-", ".wal")).map(Named::WalSpare));
    if wal.is_some() {
        return wal;
    }
    number(middle("part-", ".part"))
        .map(Named::Part)
        .or_else(|| number(middle("index-", ".idx")).map(Named::Index))
        .or_else(|| number(middle("segment-", ".seg")).map(Named::Segment))
        .or_else(|| number(middle("catalog-", ".cat")).map(Named::Catalog))
        .or_else(|| number(middle("deletes-", ".del")).map(Named::Deletes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        let dir = Path::new("");
        let read = |path: PathBuf| {
            let named = parse(path.to_str().unwrap());
            assert_eq!(named.map(|named| super::path(dir, named)), Some(path));
            named
        };
        assert_eq!(read(wal(dir, 0xabc)), Some(Named::Wal(0xabc)));
        assert_eq!(read(wal_begun(dir, 0xabc)), Some(Named::WalBegun(0xabc)));
        assert_eq!(read(wal_spare(dir, 0xabc)), Some(Named::WalSpare(0xabc)));
        assert_eq!(read(part(dir, 7)), Some(Named::Part(7)));
        assert_eq!(read(index(dir, 8)), Some(Named::Index(8)));
        assert_eq!(read(segment(dir, 8)), Some(Named::Segment(8)));
        assert_eq!(read(catalog(dir, 9)), Some(Named::Catalog(9)));
        assert_eq!(read(deletes(dir, 10)), Some(Named::Deletes(10)));
        assert_eq!(parse("part-x.part"), None);
        assert_eq!(parse("notes.txt"), None);
    }
}
