//! Notes of backups: a store remembers when it was copied, where to, and how that ended.
//!
//! A backup is made from outside, so that what makes it leaves the note, whether or not a process
//! has the store open. The store itself needs none of them, and no copy has them. The file is
//! replaced whole; of two backups that end at once one may lose its note.
//!
//! ```text
//! line    a backup, by fields with tabs between: when it began and ended, in nanoseconds since
//!         1970 (0: it has not); the process; files and bytes copied, files and bytes shared,
//!         places mended, damaged bytes of the wal; where to; why it failed, or nothing
//! ```

use crate::backup::BackedUp;
use crate::error::Error;
use crate::filenames;
use crate::limits::{BACKUP_NOTE_TEXT_BYTES_MAX, BACKUP_NOTES_MAX};
use foliot_disk::Disk;
use std::path::Path;

/// How a backup went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackupFate {
    /// It has begun.
    Begun,
    /// It ended, with this much in it.
    Done(BackedUp),
    /// It ended for this reason, and is none.
    Failed(String),
}

/// A backup, as the store that was copied remembers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupNote {
    /// When it began, in nanoseconds since 1970; it is known by this and its target.
    pub began_ns: i64,
    /// When it ended, if that is known.
    pub ended_ns: Option<i64>,
    /// The process that makes it.
    pub process: u32,
    /// The directory that the copy lies in.
    pub to: String,
    /// How it went.
    pub fate: BackupFate,
}

/// Leaves a note in the store in `dir`, in place of an earlier one of the same backup.
///
/// # Errors
/// When the disk fails.
pub fn note_backup(disk: &dyn Disk, dir: &Path, note: &BackupNote) -> Result<(), Error> {
    let mut notes = backup_notes(disk, dir)?;
    notes.retain(|other| (other.began_ns, &other.to) != (note.began_ns, &note.to));
    let first = notes.len().saturating_sub(BACKUP_NOTES_MAX - 1);
    let kept = notes.get(first..).unwrap_or_default().iter().chain([note]);
    let text: String = kept.map(spell).collect();
    let (path, fresh) = (dir.join(filenames::BACKUPS), dir.join(filenames::BACKUPS_NEW));
    let mut file = disk.create(&fresh).map_err(Error::io("create", &fresh))?;
    file.append(text.as_bytes()).map_err(Error::io("write", &fresh))?;
    file.sync().map_err(Error::io("sync", &fresh))?;
    disk.rename(&fresh, &path).map_err(Error::io("rename", &fresh))?;
    disk.sync_dir(dir).map_err(Error::io("sync", dir))
}

/// The notes that the store in `dir` has, the newest last. Lines that cannot be read are left out.
///
/// # Errors
/// When the disk fails.
pub fn backup_notes(disk: &dyn Disk, dir: &Path) -> Result<Vec<BackupNote>, Error> {
    let path = dir.join(filenames::BACKUPS);
    if !disk.exists(&path) {
        return Ok(Vec::new());
    }
    let file = disk.open(&path).map_err(Error::io("open", &path))?;
    // Longer than any that was written here, it is none of ours.
    let len = file.len().min((BACKUP_NOTES_MAX * 3 * BACKUP_NOTE_TEXT_BYTES_MAX) as u64);
    let mut bytes = vec![0; len as usize];
    file.read_at(&mut bytes, 0).map_err(Error::io("read", &path))?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.lines().filter_map(read).collect())
}

fn spell(note: &BackupNote) -> String {
    let (done, why) = match &note.fate {
        BackupFate::Begun => (BackedUp::default(), ""),
        BackupFate::Done(done) => (*done, ""),
        BackupFate::Failed(why) => (BackedUp::default(), why.as_str()),
    };
    let BackedUp { files_copied, bytes_copied, files_shared, bytes_shared, .. } = done;
    let BackedUp { damages_mended, wal_damaged_bytes, .. } = done;
    let BackupNote { began_ns, process, to, .. } = note;
    let ended_ns = note.ended_ns.unwrap_or(0);
    format!(
        "{began_ns}\t{ended_ns}\t{process}\t{files_copied}\t{bytes_copied}\t{files_shared}\t\
         {bytes_shared}\t{damages_mended}\t{wal_damaged_bytes}\t{}\t{}\n",
        plain(to),
        plain(why)
    )
}

/// A text within its field: control characters become spaces, and what is long is cut.
fn plain(text: &str) -> String {
    let end = text.floor_char_boundary(BACKUP_NOTE_TEXT_BYTES_MAX);
    let kept = text.get(..end).unwrap_or_default();
    kept.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn read(line: &str) -> Option<BackupNote> {
    let mut fields = line.split('\t');
    let mut next = || fields.next();
    let began_ns = next()?.parse().ok()?;
    let ended_ns = Some(next()?.parse().ok()?).filter(|ended_ns| *ended_ns != 0);
    let process = next()?.parse().ok()?;
    let mut number = || next()?.parse::<u64>().ok();
    let done = BackedUp {
        files_copied: number()?,
        bytes_copied: number()?,
        files_shared: number()?,
        bytes_shared: number()?,
        damages_mended: number()?,
        wal_damaged_bytes: number()?,
        is_wal_end_missing: false,
    };
    let (to, why) = (next()?.to_owned(), next()?.to_owned());
    let fate = match (ended_ns, why.is_empty()) {
        (None, _) => BackupFate::Begun,
        (Some(_), true) => BackupFate::Done(done),
        (Some(_), false) => BackupFate::Failed(why),
    };
    Some(BackupNote { began_ns, ended_ns, process, to, fate })
}

#[cfg(test)]
mod tests {
    use super::*;
    use foliot_disk::SimDisk;

    fn note(began_ns: i64, ended_ns: Option<i64>, to: &str, fate: BackupFate) -> BackupNote {
        BackupNote { began_ns, ended_ns, process: 7, to: to.to_owned(), fate }
    }

    #[test]
    fn notes_are_read_as_they_were_written_and_have_an_end() {
        let (disk, dir) = (SimDisk::new(1), Path::new("store"));
        disk.create_dir_all(dir).unwrap();
        assert!(backup_notes(&disk, dir).unwrap().is_empty());
        let done =
            BackupFate::Done(BackedUp { files_copied: 3, bytes_shared: 9, ..BackedUp::default() });
        let begun = note(5, None, "there/a b", BackupFate::Begun);
        let ended = note(5, Some(8), "there/a b", done);
        let failed = note(6, Some(9), "there/c", BackupFate::Failed("no room".to_owned()));
        note_backup(&disk, dir, &begun).unwrap();
        note_backup(&disk, dir, &failed).unwrap();
        assert_eq!(backup_notes(&disk, dir).unwrap(), [begun, failed.clone()]);
        note_backup(&disk, dir, &ended).unwrap();
        let disk = disk.crash();
        assert_eq!(backup_notes(&disk, dir).unwrap(), [failed, ended]);
        for began_ns in 0..2 * BACKUP_NOTES_MAX as i64 {
            note_backup(&disk, dir, &note(began_ns, None, "x\ty\n", BackupFate::Begun)).unwrap();
        }
        let notes = backup_notes(&disk, dir).unwrap();
        assert_eq!(notes.len(), BACKUP_NOTES_MAX);
        assert_eq!(notes.last().unwrap().to, "x y ");
        assert!(notes.iter().all(|note| note.began_ns >= BACKUP_NOTES_MAX as i64));
    }

    #[test]
    fn what_is_no_note_is_left_out() {
        for line in
            ["", "1\t2", "x\t0\t1\t0\t0\t0\t0\t0\t0\tto\t", "1\t0\t1\t0\t0\t0\t0\t0\t-1\tto\t"]
        {
            assert_eq!(read(line), None, "{line:?}");
        }
    }
}
