//! The ballast: a file without meaning, whose room a delete is given that finds the disk full.
//!
//! What takes samples away makes room, and needs a little of it before: for its line in the audit
//! log, its frame in the wal, a manifest that names fewer files. The wal leaves
//! [`Config::wal_reserve_bytes`] free, but a disk has other users, who may take that too. A part of
//! it is therefore held by a file, which is thrown off where less than that is free, and taken on
//! again once there is room for it beside what the wal leaves free.
//!
//! [`Config::wal_reserve_bytes`]: crate::Config::wal_reserve_bytes

use crate::filenames;
use crate::limits::BALLAST_SHARE;
use foliot_disk::Disk;
use std::io;
use std::path::Path;

/// Bytes that are written at once.
const PIECE_BYTES: usize = 64 << 10;

/// How much of it there is where the wal leaves so much free.
fn bytes(reserve_bytes: u64) -> u64 {
    reserve_bytes / BALLAST_SHARE
}

/// Takes it on, if it is not there and `kept_bytes` stay free beside it. It holds what no file
/// system packs, and is not synced: what of it a power cut takes is written again. Where it cannot
/// be, there is none.
pub(crate) fn take_on(disk: &dyn Disk, dir: &Path, reserve_bytes: u64, kept_bytes: u64) {
    let (path, bytes) = (dir.join(filenames::BALLAST), bytes(reserve_bytes));
    let found = disk.open(&path).map_or(0, |file| file.len());
    let free = || disk.free_bytes(dir).unwrap_or(0).saturating_add(found);
    if found == bytes || free() < kept_bytes.saturating_add(bytes) {
        return;
    }
    if fill(disk, &path, bytes).is_err() {
        let _ = disk.remove(&path);
    }
}

fn fill(disk: &dyn Disk, path: &Path, bytes: u64) -> io::Result<()> {
    let mut file = disk.create(path)?;
    let mut noise = disk.random() | 1;
    let mut piece = Vec::with_capacity(PIECE_BYTES);
    while file.len() < bytes {
        let wanted = usize::try_from(bytes - file.len()).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
        piece.clear();
        while piece.len() < wanted {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            piece.extend_from_slice(&((noise >> 32) as u32).to_le_bytes());
        }
        piece.truncate(wanted);
        file.append(&piece)?;
    }
    Ok(())
}

/// Throws it off if no more than it holds is free; whether there is more room now.
pub(crate) fn throw_off(disk: &dyn Disk, dir: &Path, reserve_bytes: u64) -> bool {
    // A file system that cannot say is taken for one with room.
    let free = disk.free_bytes(dir).unwrap_or(u64::MAX);
    free < bytes(reserve_bytes) && disk.remove(&dir.join(filenames::BALLAST)).is_ok()
}
