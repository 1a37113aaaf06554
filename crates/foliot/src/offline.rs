//! Commands on a data directory: backup and restore. They need no server and disturb none.

use foliot_disk::RealDisk;
use foliot_engine::{BackedUp, backup, is_store};
use std::path::{Path, PathBuf};

/// How a backup's directory is named: the time it was begun, in UTC; names sort by age.
const BACKUP_NAME: &str = "%Y-%m-%dT%H%M%SZ";

/// Copies the store in `data_dir` into a new directory under `into`.
pub(crate) fn back_up(data_dir: &Path, into: &Path) -> Result<String, String> {
    let disk = RealDisk::new();
    need_store(&disk, data_dir)?;
    let earlier = newest(&disk, into);
    let name = jiff::Timestamp::now().strftime(BACKUP_NAME).to_string();
    let to = into.join(name);
    let done = backup(&disk, data_dir, &to, earlier.as_deref()).map_err(|error| {
        format!("{error}; {} holds what was copied until then, and is no backup", to.display())
    })?;
    Ok(format!("backed up {} to {}: {}\n", data_dir.display(), to.display(), figures(&done)))
}

/// Copies the backup in `from` to `data_dir`, which must be missing or empty.
pub(crate) fn restore(from: &Path, data_dir: &Path) -> Result<String, String> {
    let disk = RealDisk::new();
    if !is_store(&disk, from) {
        let place = from.display();
        return Err(match newest(&disk, from) {
            Some(newest) => format!(
                "{place} holds backups and is none itself; the newest is {}",
                newest.display()
            ),
            None => format!("{place} is no backup: there is no MANIFEST in it"),
        });
    }
    let done = backup(&disk, from, data_dir, None).map_err(|error| error.to_string())?;
    let (from, to) = (from.display(), data_dir.display());
    Ok(format!("restored {from} to {to}: {}\n", figures(&done)))
}

fn need_store(disk: &RealDisk, dir: &Path) -> Result<(), String> {
    match is_store(disk, dir) {
        true => Ok(()),
        false => Err(format!(
            "there is no store in {}; name its directory with --data-dir",
            dir.display()
        )),
    }
}

/// The newest backup under `dir` that ended.
fn newest(disk: &RealDisk, dir: &Path) -> Option<PathBuf> {
    let names = std::fs::read_dir(dir).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    names.filter(|path| is_store(disk, path)).max()
}

fn figures(done: &BackedUp) -> String {
    format!(
        "{} files with {} bytes copied, {} files with {} bytes shared with the backup before",
        done.files_copied, done.bytes_copied, done.files_shared, done.bytes_shared
    )
}
