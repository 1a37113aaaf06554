//! Leftovers: files that the manifest does not name.
//!
//! An interrupted flush or merge leaves files that it had begun, and one that was published and
//! then interrupted leaves those it replaced. They may go when the manifest is *sufficient*: what
//! they hold is in the files that it names and in the wal. That is so if nothing speaks against
//! its being the newest one, for a newer one is only made of named files and the wal:
//!
//! - both copies of the manifest could be read;
//! - every file that it names is there: one that replaced it may have had some removed;
//! - the wal reaches back to where it says, without a gap: one that replaced it may have let some
//!   of it go.
//!
//! Otherwise nothing is removed: such files are set aside in the quarantine, and that is told.

use crate::error::Error;
use crate::filenames::{self, Named};
use crate::manifest::{Found, Manifest};
use crate::recover;
use crate::wal::segment::{self, SEGMENT_HEADER_LEN};
use foliot_disk::Disk;
use std::collections::BTreeSet;
use std::path::Path;

/// Removes leftovers, or sets them aside where they may be more than that.
pub(crate) fn clear(
    disk: &dyn Disk,
    dir: &Path,
    found: &mut Found,
    damages: &mut Vec<String>,
    notes: &mut Vec<String>,
) -> Result<(), Error> {
    let manifest = &mut found.manifest;
    let there: BTreeSet<Named> = list(disk, dir)?.into_iter().collect();
    // No file gets the number of one that lies about.
    let highest = there.iter().filter_map(|named| named.number()).max().unwrap_or(0);
    manifest.next_file = manifest.next_file.max(highest.saturating_add(1));
    let named: BTreeSet<Named> = manifest.files().into_iter().collect();
    let is_sufficient =
        found.damages.is_empty() && named.is_subset(&there) && wal_reaches(disk, dir, manifest)?;
    for leftover in there.difference(&named) {
        let path = filenames::path(dir, *leftover);
        match leftover {
            Named::Wal(_) | Named::WalBegun(_) => {}
            Named::ManifestNew | Named::ManifestCopyNew => remove(disk, &path)?,
            // Nobody needs it: where it cannot be removed, it only takes room.
            Named::WalSpare(_) => drop(remove(disk, &path)),
            _ if is_sufficient => {
                notes.push(format!(
                    "{} is named by no manifest, which has everything without it: removed",
                    path.display()
                ));
                remove(disk, &path)?;
            }
            _ => {
                if let Some(place) = recover::set_aside(disk, dir, &path)? {
                    damages.push(format!(
                        "the manifest does not name {}, but may be an old one: kept as {}",
                        path.display(),
                        place.display()
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Whether the wal still has what the manifest's files do not: from where it says without a gap,
/// for a power cut can bring segments back that were removed, and not those behind them. A store
/// may have no wal: the last segment's name can be lost with the power when everything in it was
/// flushed.
fn wal_reaches(disk: &dyn Disk, dir: &Path, manifest: &Manifest) -> Result<bool, Error> {
    let start_lsn = manifest.wal_start_lsn;
    if segment::missing(disk, dir)?.is_some() {
        return Ok(false);
    }
    let bases = segment::list(disk, dir)?;
    let first = bases.partition_point(|base| *base <= start_lsn);
    let Some(needed) = first.checked_sub(1).and_then(|first| bases.get(first..)) else {
        return Ok(bases.is_empty());
    };
    for pair in needed.windows(2) {
        let [base, next] = pair else { continue };
        let path = filenames::wal(dir, *base);
        let file = disk.open(&path).map_err(Error::io("open", &path))?;
        let frames_bytes = file.len().saturating_sub(SEGMENT_HEADER_LEN as u64);
        if base.saturating_add(frames_bytes) < *next {
            return Ok(false);
        }
    }
    Ok(true)
}

fn list(disk: &dyn Disk, dir: &Path) -> Result<Vec<Named>, Error> {
    let names = disk.list(dir).map_err(Error::io("list", dir))?;
    Ok(names.iter().filter_map(|name| filenames::parse(name)).collect())
}

fn remove(disk: &dyn Disk, path: &Path) -> Result<(), Error> {
    disk.remove(path).map_err(Error::io("remove", path))
}
