//! Commands on a data directory: backup, restore, check, retention, inspect. They need no server.

use crate::progress::{Rest, bytes_in, told};
use foliot_disk::{Disk, RealDisk};
use foliot_engine::{
    BackedUp, BackupFate, BackupNote, Caller, Deleted, Identity, Opening, Shown, backup, has_files,
    inspect, is_store, note_backup,
};
use foliot_migrate::{Unspelled, influx, opentsdb};
use foliot_model::Samples;
use foliot_server::Config;
use foliot_server::config::{Keep, Setting};
use std::fmt::Write as _;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a backup's directory is named: the time it was begun, in UTC and to the microsecond; names
/// sort by age.
const BACKUP_NAME: &str = "%Y-%m-%dT%H%M%S.%6fZ";
/// Backups that may begin in one microsecond.
const NAME_TRIES: usize = 1000;

/// Copies the store in `data_dir` into a new directory under `into`; says what was done, and
/// whether the copy has all that was stored.
pub(crate) fn back_up(data_dir: &Path, into: &Path) -> Result<(String, bool), String> {
    let disk = RealDisk::new();
    need_store(&disk, data_dir)?;
    need_apart(data_dir, into)?;
    let earlier = newest(&disk, into);
    let to = new_directory(&disk, into)?;
    let mut note = begin_note(&disk, &to);
    // A store that cannot be written to is copied all the same.
    let _ = note_backup(&disk, data_dir, &note);
    let copy = |disk: Arc<dyn Disk>| backup(&*disk, data_dir, &to, earlier.as_deref());
    let outcome = told(Rest::Bytes(read_twice(data_dir)), copy).map_err(|error| {
        // The copy took its files away. Where it could not, the directory is not empty and stays.
        match std::fs::remove_dir(&to) {
            Ok(()) => error.to_string(),
            Err(_) => format!("{error}; {} holds what is left of it, no backup", to.display()),
        }
    });
    note.ended_ns = Some(disk.now_ns());
    note.fate = match &outcome {
        Ok(done) if done.is_wal_end_missing => BackupFate::Failed(LOG_END_MISSING.to_owned()),
        Ok(done) => BackupFate::Done(*done),
        Err(reason) => BackupFate::Failed(reason.clone()),
    };
    let noted = note_backup(&disk, data_dir, &note);
    let done = outcome?;
    let unnoted = noted.err().map_or_else(String::new, |error| {
        format!("; the store does not remember it, which harms nothing: {error}")
    });
    let (from, to, figures) = (data_dir.display(), to.display(), figures(&done));
    let said = format!("backed up {from} to {to}: {figures}{unnoted}\n");
    Ok((said, is_sound(&done)))
}

/// Whether a copy has all that was acknowledged, as far as its store tells.
fn is_sound(done: &BackedUp) -> bool {
    done.wal_damaged_bytes == 0 && !done.is_wal_end_missing
}

/// What the store remembers of a backup that begins.
fn begin_note(disk: &RealDisk, to: &Path) -> BackupNote {
    let to = std::path::absolute(to).unwrap_or_else(|_| to.to_owned());
    BackupNote {
        began_ns: disk.now_ns(),
        ended_ns: None,
        process: std::process::id(),
        to: to.display().to_string(),
        fate: BackupFate::Begun,
    }
}

/// Refuses a directory within the store's own, however it is written: what takes the one takes the
/// other.
fn need_apart(data_dir: &Path, into: &Path) -> Result<(), String> {
    let resolved = |path: &Path| {
        // What is to be made does not exist yet: the part that does is what can be resolved.
        let path = std::path::absolute(path)?;
        let there = path.ancestors().find(|there| there.exists()).unwrap_or(&path);
        let rest = path.strip_prefix(there).unwrap_or(Path::new(""));
        there.canonicalize().map(|there| there.join(rest))
    };
    let resolve = |path: &Path| {
        let failed = |error| format!("cannot tell where {} lies: {error}", path.display());
        resolved(path).map_err(failed)
    };
    match resolve(into)?.starts_with(resolve(data_dir)?) {
        false => Ok(()),
        true => Err(format!(
            "{} lies within the store's own directory {}, and would be lost with it: name one \
             elsewhere, best on another disk",
            into.display(),
            data_dir.display()
        )),
    }
}

/// Copies the backup in `from` to `data_dir`, which must be missing or empty; says what
/// [`back_up`] does.
pub(crate) fn restore(from: &Path, data_dir: &Path) -> Result<(String, bool), String> {
    let disk = RealDisk::new();
    if !is_store(&disk, from) {
        need_rights(from)?;
        let place = from.display();
        return Err(match newest(&disk, from) {
            Some(newest) => format!(
                "{place} holds backups and is none itself; the newest is {}",
                newest.display()
            ),
            None if !from.exists() => format!("{place} does not exist: name a backup"),
            None => format!("{place} is no backup: there is no manifest in it"),
        });
    }
    if is_store(&disk, data_dir) {
        let place = data_dir.display();
        let holder = match disk.lock(data_dir) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => "a store that a server has open",
            _ => "a store",
        };
        return Err(format!(
            "{place} is not empty, it holds {holder}: restore to a directory that is missing or \
             empty, and start the server with --data-dir there"
        ));
    }
    let copy = |disk: Arc<dyn Disk>| backup(&*disk, from, data_dir, None);
    let done = told(Rest::Bytes(read_twice(from)), copy).map_err(|error| spelled(&error))?;
    let (from, to) = (from.display(), data_dir.display());
    Ok((format!("restored {from} to {to}: {}\n", figures(&done)), is_sound(&done)))
}

/// A directory under `into` that nobody else makes a backup in, named by the time.
fn new_directory(disk: &RealDisk, into: &Path) -> Result<PathBuf, String> {
    let refused = |error, dir: &Path| format!("cannot create {}: {error}", dir.display());
    disk.create_dir_all(into).map_err(|error| refused(error, into))?;
    let mut taken = into.to_owned();
    for _ in 0..NAME_TRIES {
        let dir = into.join(jiff::Timestamp::now().strftime(BACKUP_NAME).to_string());
        match std::fs::DirBuilder::new().mode(0o700).create(&dir) {
            Ok(()) => return Ok(dir),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => taken = dir,
            Err(error) => return Err(refused(error, &dir)),
        }
    }
    Err(refused(ErrorKind::AlreadyExists.into(), &taken))
}

/// Says how long each database keeps its samples, what would expire if it were `keep`, and what
/// goes if `retention.size` is set.
pub(crate) fn retention(
    config: &Config,
    keep: Option<Keep>,
    accepts_clock: bool,
) -> Result<String, String> {
    let disk = RealDisk::new();
    need_store(&disk, &config.data_dir)?;
    let keep = keep.and_then(|keep| keep.0);
    // Without threads nothing expires while we look; the cap is only counted.
    let settings = foliot_engine::Config {
        background: false,
        retention_bytes_max: u64::MAX,
        ..crate::store(config)
    };
    let engine = crate::open(Arc::new(disk), &config.data_dir, settings, &Opening::default())?;
    let mut out = String::new();
    if accepts_clock {
        let caller = Caller { door: "command line", ..Caller::default() };
        engine.accept_clock(&caller).map_err(|error| error.to_string())?;
        out.push_str("the clock of this machine is taken for right\n");
    }
    for (id, database, policy) in engine.namespaces() {
        let kept = Keep(engine.retention(id)).show();
        let _ = write!(out, "{database}.{policy} keeps {kept}");
        if let Some(keep) = keep {
            let would =
                engine.preview_retention(id, keep, &|| true).map_err(|error| error.to_string())?;
            let Deleted { series, samples, bytes } = would;
            let shown = Keep(Some(keep)).show();
            let _ = write!(
                out,
                "; by {shown} {samples} samples of {series} series would expire, {bytes} bytes"
            );
        }
        out.push('\n');
    }
    if let Some(bytes_max) = config.retention_size.0 {
        let Deleted { samples, bytes, .. } = engine.preview_cap(bytes_max);
        let shown = config.retention_size.show();
        let _ = writeln!(
            out,
            "by retention.size {shown} {samples} samples of the oldest parts go at the next start, \
             {bytes} bytes"
        );
    }
    engine.close().map_err(|error| error.to_string())?;
    Ok(out)
}

/// What helps who may not look at a store.
pub(crate) const AS_OWNER: &str = "run this as the user that the store belongs to";

/// Refuses a file or directory that this user may not look into: it would seem to hold nothing, or
/// not to be there.
fn need_rights(path: &Path) -> Result<(), String> {
    let looked = std::fs::metadata(path).and_then(|found| match found.is_dir() {
        true => std::fs::read_dir(path).map(drop),
        false => std::fs::File::open(path).map(drop),
    });
    match looked {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            Err(format!("cannot read {}: {error}; {AS_OWNER}", path.display()))
        }
        _ => Ok(()),
    }
}

/// What a store's error says to who may not read or write its files.
pub(crate) fn spelled(error: &foliot_engine::Error) -> String {
    match error {
        foliot_engine::Error::Io { doing, source, .. }
            if source.kind() == ErrorKind::PermissionDenied && *doing != "create" =>
        {
            format!("{error}; {AS_OWNER}")
        }
        error => error.to_string(),
    }
}

/// Refuses a directory without a store: opening one there would make it.
pub(crate) fn need_store(disk: &dyn Disk, dir: &Path) -> Result<(), String> {
    match is_store(disk, dir) {
        true => return Ok(()),
        false => need_rights(dir)?,
    }
    match has_files(disk, dir) {
        true => Err(format!(
            "{} holds files of a store without their manifest: put it back, or have \
             `foliot check --repair --data-dir {}` make it again",
            dir.display(),
            dir.display()
        )),
        false => Err(format!(
            "there is no store in {}; name its directory with --data-dir",
            dir.display()
        )),
    }
}

/// Bytes that are read of a directory's files whose copies are read again.
fn read_twice(dir: &Path) -> Option<u64> {
    bytes_in(dir).map(|bytes| bytes.saturating_mul(2))
}

/// The newest backup under `dir` that ended.
fn newest(disk: &RealDisk, dir: &Path) -> Option<PathBuf> {
    let names = std::fs::read_dir(dir).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    names.filter(|path| is_store(disk, path)).max()
}

/// What is said where the log ends too soon.
const LOG_END_MISSING: &str = "the newest segment of the log is missing or empty, in what was \
                               copied and in the copy: what was written last is lost. An older \
                               backup may have it: keep it";

fn figures(done: &BackedUp) -> String {
    let mended = match done.damages_mended {
        0 => String::new(),
        count => format!("; {count} damaged places are mended in it, see `foliot check`"),
    };
    let damaged = match done.wal_damaged_bytes {
        0 => String::new(),
        count => format!(
            "; {count} bytes of the log are damaged, in the store and in the copy: what is in them is \
             lost. An older backup may have it: keep it"
        ),
    };
    let missing = match done.is_wal_end_missing {
        false => String::new(),
        true => format!("; {LOG_END_MISSING}"),
    };
    let shared = match done.files_shared {
        0 => String::new(),
        count => {
            format!(", {count} with {} bytes shared with the backup before", done.bytes_shared)
        }
    };
    let (copied, bytes) = (done.files_copied, done.bytes_copied);
    format!("{copied} files with {bytes} bytes copied{shared}{mended}{damaged}{missing}")
}

/// How an inspection spells samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// Not at all.
    None,
    /// Series, time and value.
    Text,
    /// As `put` lines, and nothing else.
    Put,
    /// As Influx lines, and nothing else.
    Line,
}

/// Writes what is in the file or store at `path` to `out`; says how many samples the spelling has
/// no way to write.
pub(crate) fn inspect_path(
    path: &Path,
    spelling: Spelling,
    out: &mut dyn Write,
) -> Result<u64, String> {
    need_rights(path)?;
    if !path.exists() {
        return Err(format!(
            "there is no {}; name a data directory, or a file in one",
            path.display()
        ));
    }
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::new());
    // The reason why an inspection ended lies outside of the store.
    let mut unwritten = None;
    let mut unspelled = 0;
    let mut text = Vec::new();
    let is_data_only = matches!(spelling, Spelling::Put | Spelling::Line);
    let mut show = |shown: Shown<'_>| {
        text.clear();
        match shown {
            Shown::Line(_) if is_data_only => {}
            Shown::Line(line) => {
                text.extend_from_slice(line.as_bytes());
                text.push(b'\n');
            }
            Shown::Samples { sid, identity, samples } => {
                let left_out = spell(spelling, sid, identity, samples, &mut text);
                unspelled += left_out.samples;
                unspelled += if left_out.series > 0 { samples.len() as u64 } else { 0 };
            }
        }
        out.write_all(&text).map_err(|error| {
            unwritten = Some(error.to_string());
            foliot_engine::Error::Closed
        })
    };
    inspect(&disk, path, spelling != Spelling::None, &mut show).map_err(
        |error| match unwritten {
            Some(error) => format!("cannot write to standard output: {error}"),
            None => error.to_string(),
        },
    )?;
    out.flush().map_err(|error| format!("cannot write to standard output: {error}"))?;
    Ok(unspelled)
}

fn spell(
    spelling: Spelling,
    sid: u32,
    identity: Option<&Identity>,
    samples: &Samples,
    out: &mut Vec<u8>,
) -> Unspelled {
    match (spelling, identity) {
        (Spelling::Put, Some(identity)) => opentsdb::push_put_lines(identity, samples, out),
        (Spelling::Line, Some(identity)) => influx::push_lines(identity, samples, out),
        (Spelling::Put | Spelling::Line, None) => Unspelled { series: 1, ..Unspelled::default() },
        (Spelling::None | Spelling::Text, _) => {
            for (time_ns, value) in samples.iter() {
                out.extend_from_slice(format!("      {sid} {time_ns} {value:?}\n").as_bytes());
            }
            Unspelled::default()
        }
    }
}
