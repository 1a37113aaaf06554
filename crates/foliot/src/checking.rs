//! `foliot check`: what is wrong with a store, what a repair would do, and the repair.
//!
//! A repair writes new files and renames old ones; it changes no file in place but the audit log,
//! which it adds to. So it can be tried: on second names of all other files, in a directory that is
//! gone afterwards. What that says is what the repair itself will say.

use crate::offline::{AS_OWNER, need_store, spelled};
use crate::progress::{Rest, bytes_in, told};
use foliot_disk::{Disk, RealDisk};
use foliot_engine::{Checked, MayLose, Repaired, check, repair};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Where a repair is tried, in the store's own directory: second names need its file system.
const TRIAL: &str = "repair-trial";
/// Where damaged files lie.
const QUARANTINE: &str = "quarantine";
/// The only file that a repair adds to: its second name would be the file itself.
const AUDIT: &str = "audit.log";
/// Held only for its room.
const BALLAST: &str = "ballast";

/// What to do about damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repair {
    /// Nothing.
    No,
    /// To say what a repair would do.
    Try(MayLose),
    /// To repair.
    Do(MayLose),
}

/// Reads everything in `data_dir`, and mends it first if it is told to; whether nothing is wrong
/// with it.
pub(crate) fn check_store(data_dir: &Path, wanted: Repair) -> Result<(String, bool), String> {
    if wanted != Repair::No && !data_dir.is_dir() {
        need_store(&RealDisk::new(), data_dir)?;
    }
    match wanted {
        Repair::No => {
            let mut said = String::new();
            let checked = look(data_dir, data_dir, "problem", &mut said)?;
            said.push_str(match is_sound(&checked) {
                true => "nothing is wrong\n",
                false => {
                    "damaged: `foliot check --repair` says what can be saved and changes nothing; \
                     for files that are missing see `foliot help check`; what the log has no copy \
                     of stays lost, and is told until a flush has moved what is behind it into \
                     files\n"
                }
            });
            Ok((said, is_sound(&checked)))
        }
        Repair::Try(may_lose) => try_repair(data_dir, may_lose),
        Repair::Do(may_lose) => {
            let mut said = String::new();
            let done = mend(data_dir, data_dir, may_lose, ["mended", "lost"], &mut said)?;
            let checked = look(data_dir, data_dir, "problem", &mut said)?;
            said.push_str(match (is_sound(&checked), done.lost.is_empty()) {
                (true, true) => "nothing is wrong\n",
                (true, false) => {
                    "nothing is wrong with what is left; what is said to be lost above is gone from \
                     the store: a backup may still have it\n"
                }
                (false, _) => {
                    "what is left has no copy that could mend it: the server starts without it and \
                     says so; a part that is missing is waited for, unless --lose-parts gives it \
                     up; damage of the log is told until a flush has moved what is behind it into \
                     files\n"
                }
            });
            Ok((said, is_sound(&checked)))
        }
    }
}

/// Says what a repair of the store would do and what would be lost, and changes nothing of it.
fn try_repair(data_dir: &Path, may_lose: MayLose) -> Result<(String, bool), String> {
    let disk = RealDisk::new();
    let _lock = disk.lock(data_dir).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => {
            format!("{} is in use by another Foliot process", data_dir.display())
        }
        ErrorKind::PermissionDenied => {
            format!("cannot lock {}: {error}; {AS_OWNER}", data_dir.display())
        }
        _ => format!("cannot lock {}: {error}", data_dir.display()),
    })?;
    let cannot = |error: std::io::Error| {
        format!("cannot try a repair in {}: {error}", data_dir.join(TRIAL).display())
    };
    let trial = Trial::begin(data_dir).map_err(cannot)?;
    let mut said = String::new();
    let whats = ["would mend", "would stay lost"];
    let done = mend(&trial.dir, data_dir, may_lose, whats, &mut said)?;
    trial.forget_quarantine(data_dir).map_err(cannot)?;
    let checked = look(&trial.dir, data_dir, "would stay lost", &mut said)?;
    let place = data_dir.display();
    let lost = match done.lost.is_empty() {
        true => "",
        false => {
            " Where a backup has a file of which something would stay lost, copy it from there."
        }
    };
    match (done.is_empty(), is_sound(&checked)) {
        (true, true) => said.push_str("nothing is wrong\n"),
        (true, false) => said.push_str(
            "a repair has nothing to mend this with; nothing was changed: see `foliot help check`\n",
        ),
        (false, _) => said.push_str(&format!(
            "nothing was changed.{lost} Copy the directory first, with no server on it: `cp -a \
             {place} {place}.before`. Then `foliot check --repair --yes{} --data-dir {place}` does \
             what is said above; damaged files are kept in {place}/{QUARANTINE}\n",
            flags(may_lose)
        )),
    }
    Ok((said, done.is_empty() && is_sound(&checked)))
}

fn is_sound(checked: &Checked) -> bool {
    checked.problems.is_empty()
}

/// What has to be said again for the repair that was tried.
fn flags(may_lose: MayLose) -> String {
    let MayLose { names, parts, facts } = may_lose;
    [(names, " --lose-names"), (parts, " --lose-parts"), (facts, " --lose-facts")]
        .into_iter()
        .filter_map(|(is_given, flag)| is_given.then_some(flag))
        .collect()
}

/// Repairs the store in `dir`, and says of `named` what was mended and what was lost.
fn mend(
    dir: &Path,
    named: &Path,
    may_lose: MayLose,
    [mended, lost]: [&str; 2],
    said: &mut String,
) -> Result<Repaired, String> {
    let done = told(Rest::Bytes(total(dir)), |disk| repair(&disk, dir, may_lose));
    let done = done.map_err(|error| renamed(&spelled(&error), dir, named))?;
    for (what, sentences) in [(mended, &done.mended), (lost, &done.lost)] {
        for sentence in sentences {
            said.push_str(&format!("{what}: {}\n", renamed(sentence, dir, named)));
        }
    }
    Ok(done)
}

/// Checks the store in `dir`, and says so of `named`.
fn look(dir: &Path, named: &Path, what: &str, said: &mut String) -> Result<Checked, String> {
    need_store(&RealDisk::new(), dir).map_err(|error| renamed(&error, dir, named))?;
    let checked = told(Rest::Bytes(total(dir)), |disk| check(&disk, dir));
    let checked = checked.map_err(|error| renamed(&spelled(&error), dir, named))?;
    for note in &checked.notes {
        said.push_str(&format!("note: {}\n", renamed(note, dir, named)));
    }
    for problem in &checked.problems {
        said.push_str(&format!("{what}: {}\n", renamed(problem, dir, named)));
    }
    let place = named.display();
    let Checked { files, bytes, series, blocks, samples, frames, logged, .. } = &checked;
    said.push_str(&format!(
        "checked {place}: {files} files with {bytes} bytes, {series} series, \
         {samples} samples in {blocks} blocks, {logged} in {frames} frames of the log\n"
    ));
    Ok(checked)
}

/// Files are read by their pages first, and then by what is in them.
fn total(dir: &Path) -> Option<u64> {
    Some(2 * bytes_in(dir)?)
}

/// A sentence about a file of a trial, as one about the store's own.
fn renamed(sentence: &str, dir: &Path, named: &Path) -> String {
    match dir == named {
        true => sentence.to_owned(),
        false => sentence.replace(&*dir.to_string_lossy(), &named.to_string_lossy()),
    }
}

/// A directory with second names of a store's files, which goes when this is dropped.
struct Trial {
    dir: PathBuf,
}

impl Trial {
    fn begin(data_dir: &Path) -> std::io::Result<Self> {
        let trial = Self { dir: data_dir.join(TRIAL) };
        // One that was killed may have left its own.
        trial.remove()?;
        link_files(data_dir, &trial.dir)?;
        let kept = data_dir.join(QUARANTINE);
        if kept.is_dir() {
            link_files(&kept, &trial.dir.join(QUARANTINE))?;
        }
        Ok(trial)
    }

    /// Removes the quarantine that only the trial has: nothing is to be said of it.
    fn forget_quarantine(&self, data_dir: &Path) -> std::io::Result<()> {
        match data_dir.join(QUARANTINE).is_dir() {
            true => Ok(()),
            false => remove_dir(&self.dir.join(QUARANTINE)),
        }
    }

    fn remove(&self) -> std::io::Result<()> {
        remove_dir(&self.dir)
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        // What stays is named by the next check.
        let _ = self.remove();
    }
}

/// Removes a directory with all in it, if it is there.
fn remove_dir(dir: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Gives the files of `from` second names in `to`, or copies them where that cannot be.
fn link_files(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new().mode(0o700).create(to)?;
    for name in RealDisk::new().list(from)? {
        if [AUDIT, BALLAST].contains(&&*name) {
            continue;
        }
        let (from, to) = (from.join(&name), to.join(&name));
        if !from.symlink_metadata()?.is_file() {
            continue;
        }
        if std::fs::hard_link(&from, &to).is_err() {
            std::fs::copy(&from, &to)?;
        }
    }
    Ok(())
}
