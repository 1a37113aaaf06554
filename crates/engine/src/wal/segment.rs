//! Segments: the files that the wal lies in.
//!
//! ```text
//! +----------+--------------+--------------+-----------------+-----------+-----------+
//! | preamble | store id u64 | base lsn u64 | incarnation u64 | flags u32 | crc32 u32 |  40 bytes
//! +----------+--------------+--------------+-----------------+-----------+-----------+
//! | frames, the first at the base lsn ...                                            |
//! +----------------------------------------------------------------------------------+
//! ```
//!
//! A segment holds frames of one incarnation and ends where the next one begins. One that is
//! written over an older one (flag 1, `spares.rs`) has what is left of that behind its last frame.
//! Reading them back is `reader.rs`' affair.

use crate::error::Error;
use crate::filenames::{self, Named};
use crate::preamble::{self, Preamble, VERSION};
use foliot_codec::checksum;
use foliot_disk::{Disk, ReadFile};
use std::io;
use std::path::Path;

const PREAMBLE: Preamble = Preamble { magic: *b"Fwal", version: VERSION, what: "a wal segment" };
/// Bytes of a segment before its first frame.
pub(crate) const SEGMENT_HEADER_LEN: usize = 40;
/// Flag of a segment that is written over an older one.
const IS_OVER: u32 = 1;

/// What a segment's header says beside what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) store_id: u64,
    pub(crate) base_lsn: u64,
    pub(crate) incarnation: u64,
    /// Whether it is written over an older segment.
    pub(crate) is_over: bool,
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(SEGMENT_HEADER_LEN);
        out.extend_from_slice(&PREAMBLE.bytes());
        out.extend_from_slice(&self.store_id.to_le_bytes());
        out.extend_from_slice(&self.base_lsn.to_le_bytes());
        out.extend_from_slice(&self.incarnation.to_le_bytes());
        let flags = if self.is_over { IS_OVER } else { 0 };
        out.extend_from_slice(&flags.to_le_bytes());
        let crc = checksum(&out);
        out.extend_from_slice(&crc.to_le_bytes());
        out
    }

    /// Reads the header of a file. Nothing if it is damaged or the file ends before.
    ///
    /// # Errors
    /// When it cannot be read, or another build wrote it in a version that this one does not read.
    pub(crate) fn read(file: &dyn ReadFile, path: &Path) -> Result<Option<Self>, Error> {
        let mut found = [0; SEGMENT_HEADER_LEN];
        if file.len() < found.len() as u64 {
            return Ok(None);
        }
        file.read_at(&mut found, 0).map_err(Error::io("read", path))?;
        let Some((mut rest, crc)) = found.split_last_chunk::<4>() else { return Ok(None) };
        if checksum(rest) != u32::from_le_bytes(*crc) {
            preamble::check_not_old(rest, path)?;
            return Ok(None);
        }
        // It is not damaged: if this build does not know it, another one wrote it.
        PREAMBLE.take(&mut rest, path)?;
        let mut take = || {
            let (number, after) = rest.split_first_chunk::<8>()?;
            rest = after;
            Some(u64::from_le_bytes(*number))
        };
        let fields = (take(), take(), take());
        let (Some(store_id), Some(base_lsn), Some(incarnation)) = fields else { return Ok(None) };
        let flags = rest.first_chunk::<4>().map_or(0, |flags| u32::from_le_bytes(*flags));
        Ok(Some(Self { store_id, base_lsn, incarnation, is_over: flags & IS_OVER != 0 }))
    }
}

/// The store that the segment beginning at `base_lsn` belongs to.
pub(crate) fn owner(disk: &dyn Disk, dir: &Path, base_lsn: u64) -> Result<u64, Error> {
    let path = filenames::wal(dir, base_lsn);
    let file = disk.open(&path).map_err(Error::io("open", &path))?;
    match SegmentHeader::read(&*file, &path)? {
        Some(header) if header.base_lsn == base_lsn => Ok(header.store_id),
        _ => Err(Error::corrupt(&path, 0, "damaged header")),
    }
}

/// Base lsns of the segments in `dir`, ascending.
pub(crate) fn list(disk: &dyn Disk, dir: &Path) -> Result<Vec<u64>, Error> {
    lsns(disk, dir, |named| match named {
        Named::Wal(lsn) => Some(lsn),
        _ => None,
    })
    .map_err(Error::io("list", dir))
}

/// Where the wal ends at the latest, by the length of its newest segment; 0 if there is none.
pub(crate) fn end_lsn(disk: &dyn Disk, dir: &Path) -> Result<u64, Error> {
    let Some(base_lsn) = list(disk, dir)?.pop() else { return Ok(0) };
    let path = filenames::wal(dir, base_lsn);
    let file = disk.open(&path).map_err(Error::io("open", &path))?;
    Ok(base_lsn.saturating_add(file.len().saturating_sub(SEGMENT_HEADER_LEN as u64)))
}

/// The newest segment that was begun, if its file is not there, or has lost even its first frame,
/// which was durable. Nothing else would tell of it: the log would only end sooner.
pub(crate) fn missing(disk: &dyn Disk, dir: &Path) -> Result<Option<u64>, Error> {
    let begun = begun(disk, dir).map_err(Error::io("list", dir))?.pop();
    let newest = list(disk, dir)?.pop();
    Ok(begun.filter(|&begun| match newest {
        Some(lsn) if lsn == begun => has_no_frames(disk, dir, lsn),
        newest => newest.is_none_or(|lsn| lsn < begun),
    }))
}

fn has_no_frames(disk: &dyn Disk, dir: &Path, base_lsn: u64) -> bool {
    let file = disk.open(&filenames::wal(dir, base_lsn));
    file.is_ok_and(|file| file.len() <= SEGMENT_HEADER_LEN as u64)
}

/// Notes by the name of an empty file that the segment at `base_lsn`, whose own name and first
/// frame are durable, is the newest one. The note needs no sync: if it is lost, only a missing
/// segment is not told.
pub(crate) fn note_begun(disk: &dyn Disk, dir: &Path, base_lsn: u64) -> io::Result<()> {
    let note = |lsn| filenames::wal_begun(dir, lsn);
    let mut before = begun(disk, dir)?;
    match before.pop() {
        None => drop(disk.create(&note(base_lsn))?),
        Some(lsn) if lsn != base_lsn => disk.rename(&note(lsn), &note(base_lsn))?,
        Some(_) => {}
    }
    let mut older = before.into_iter().filter(|lsn| *lsn != base_lsn);
    older.try_for_each(|lsn| disk.remove(&note(lsn)))
}

/// Takes back what was noted of segments before `base_lsn`, which are about to go or are gone. The
/// one behind them may have no frames yet: nobody misses such a one, and the next process makes it
/// anew. So the notes are gone for good when this returns.
///
/// # Errors
/// When a note cannot be removed, or the directory not be synced.
pub(crate) fn forget_begun(disk: &dyn Disk, dir: &Path, base_lsn: u64) -> Result<(), Error> {
    let mut begun = begun(disk, dir).map_err(Error::io("list", dir))?;
    begun.retain(|lsn| *lsn < base_lsn);
    for lsn in &begun {
        let note = filenames::wal_begun(dir, *lsn);
        disk.remove(&note).map_err(Error::io("remove", &note))?;
    }
    if begun.is_empty() {
        return Ok(());
    }
    disk.sync_dir(dir).map_err(|error| {
        // A power cut may bring them back: so they are there for the next try.
        for lsn in &begun {
            let _ = disk.create(&filenames::wal_begun(dir, *lsn));
        }
        Error::io("sync", dir)(error)
    })
}

/// Takes back what was noted of the newest segment, which is about to be cut to `len` bytes, if no
/// frame is left of it then: what a copy took for its frames are those of the segment that it is
/// written over, and nobody is to miss them.
pub(crate) fn forget_unwritten(disk: &dyn Disk, dir: &Path, len: u64) -> Result<(), Error> {
    let newest = list(disk, dir)?.pop();
    match newest.filter(|_| len <= SEGMENT_HEADER_LEN as u64) {
        Some(newest) => forget_begun(disk, dir, newest.saturating_add(1)),
        None => Ok(()),
    }
}

/// What is noted, ascending. One note at most, unless a rename was cut short.
fn begun(disk: &dyn Disk, dir: &Path) -> io::Result<Vec<u64>> {
    lsns(disk, dir, |named| match named {
        Named::WalBegun(lsn) => Some(lsn),
        _ => None,
    })
}

fn lsns(disk: &dyn Disk, dir: &Path, pick: fn(Named) -> Option<u64>) -> io::Result<Vec<u64>> {
    let names = disk.list(dir)?;
    let parsed = names.iter().filter_map(|name| filenames::parse(name));
    let mut lsns: Vec<u64> = parsed.filter_map(pick).collect();
    lsns.sort_unstable();
    Ok(lsns)
}
