//! Trials: a copy of a closed store is damaged, opened and compared. The store itself goes on.
//!
//! What is tried, one at a time:
//! - a flipped bit of a file with parities: nothing is lost, `check` tells it, `repair` mends it;
//! - a flipped bit of the wal: at most the change in that frame is lost, and that is told;
//! - the newest segment of the wal is missing: what was in it is lost, and that is told;
//! - a missing part: what is in it is missing, told, and there again when the part is;
//! - another missing file: the start is refused with its name, and nothing is lost;
//! - an old manifest: no part is deleted, unless the wal holds all that was in it.

use super::{DIR, Round, fail};
use crate::look;
use crate::oracle::State;
use crate::world::lock;
use foliot_disk::{Disk, SimDisk};
use foliot_engine::{Checked, Config, Engine, MayLose, check, repair};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Bytes of the files of a store, by name.
type Files = BTreeMap<String, Vec<u8>>;

/// Places of the wal that are looked at for one that is vouched for.
const OLD_PLACES_TRIED: usize = 3;
/// Copies that are damaged of one store, at most.
const TRIALS_MAX: usize = 4;
/// How often it is the wal that is damaged, besides its turn as one of all kinds.
const WAL_PERCENT: usize = 30;
/// Names of the files that a trial leaves alone: nothing that was acknowledged is in them.
const SPARED: [&str; 3] = ["audit.log", "ballast", "quarantine"];

impl Round {
    /// Damages copies of the store, which is closed, and looks what becomes of them.
    pub(super) fn try_damage(self: &Arc<Self>) {
        let disk = self.machine.disk();
        let Ok(files) = read_all(&disk, Path::new(DIR)) else { fail("cannot copy".to_owned()) };
        let names: Vec<&String> = files.keys().collect();
        let kinds = names.chunk_by(|one, other| kind(one) == kind(other));
        let kinds: Vec<&[&String]> = kinds.collect();
        for _ in 0..self.draw(|random| random.skewed(1, TRIALS_MAX)) {
            let number = self.trials.fetch_add(1, Ordering::Relaxed);
            let dir = PathBuf::from(format!("trial-{number}"));
            if let Err(error) = write_all(&disk, &dir, &files) {
                fail(format!("cannot copy: {error}"));
            }
            self.tally(|tally| tally.trials += 1);
            let trial = Trial { round: self, disk: disk.clone(), dir, files: &files };
            trial.check_sound("a store that was closed in order");
            // The wal has the most to lose.
            let wal = kinds.iter().find(|names| names.iter().any(|name| kind(name) == "wal"));
            let name = self.draw(|random| {
                let of_kind = match wal {
                    Some(wal) if random.percent(WAL_PERCENT) => wal,
                    _ => random.pick(&kinds),
                };
                (*random.pick(of_kind)).clone()
            });
            trial.damage(&name);
        }
    }

    /// Keeps the manifest for later, sometimes.
    pub(super) fn note_manifest(&self) {
        if self.percent(30) {
            let manifest = read(&self.machine.disk(), &Path::new(DIR).join("MANIFEST"));
            *lock(&self.old_manifest) = manifest.ok();
        }
    }
}

/// What sort of file a name is of.
fn kind(name: &str) -> &str {
    name.split('-').next().unwrap_or(name)
}

/// Whether a file is one that nothing names any more.
fn is_leftover(name: &str, checked: &Checked) -> bool {
    checked.notes.iter().any(|note| note.contains(name) && note.contains("is a leftover"))
}

/// A copy of the store.
struct Trial<'r> {
    round: &'r Arc<Round>,
    disk: SimDisk,
    dir: PathBuf,
    files: &'r Files,
}

impl Trial<'_> {
    fn damage(&self, name: &str) {
        let is_empty = self.files.get(name).is_none_or(Vec::is_empty);
        match kind(name) {
            "begun" => self.missing_wal(),
            _ if is_empty => {}
            "part" if self.round.percent(50) => self.missing_part(name),
            "part" => self.flip(name),
            "wal" => self.flip_in_wal(name),
            "MANIFEST" | "MANIFEST.copy" if self.round.percent(50) => self.old_manifest(),
            "MANIFEST" | "MANIFEST.copy" => self.flip(name),
            _ if self.round.percent(30) => self.missing(name),
            _ => self.flip(name),
        }
    }

    fn fail(&self, text: &str) -> ! {
        fail(format!("{}: {text}", self.dir.display()))
    }

    fn open(&self) -> Result<Engine, foliot_engine::Error> {
        let config = Config { background: false, ..self.round.config() };
        let parts = self.round.part_files(&self.dir);
        let engine = Engine::open(self.round.machine.mounted(), &self.dir, config);
        if engine.is_ok() {
            self.round.believe_without(&parts, &self.dir);
        }
        let told = engine.as_ref().map(|engine| (engine.damages(), engine.notes()));
        self.round.say(format_args!("open {}: {told:?}", self.dir.display()));
        engine
    }

    fn checked(&self) -> Checked {
        let checked = check(&self.round.machine.mounted(), &self.dir);
        checked.unwrap_or_else(|error| self.fail(&format!("check: {error}")))
    }

    fn check_sound(&self, what: &str) {
        match &self.checked().problems[..] {
            [] => {}
            problems => self.fail(&format!("{what} has problems: {problems:?}")),
        }
    }

    fn flip_bit(&self, name: &str) -> u64 {
        let bytes = self.files.get(name).map_or(0, Vec::len);
        let (mut offset, bit) = self.round.draw(|random| (random.below(bytes), random.below(8)));
        // Of the wal rather a place that later frames vouch for: there damage must be told.
        for _ in 0..OLD_PLACES_TRIED {
            if kind(name) != "wal" || self.is_vouched(name, offset as u64) {
                break;
            }
            offset = self.round.draw(|random| random.below(bytes));
        }
        self.round.say(format_args!("flip bit {bit} of byte {offset} of {bytes} of {name}"));
        if let Err(error) = self.disk.rot(&self.dir.join(name), offset as u64, 1 << bit) {
            self.fail(&error.to_string());
        }
        offset as u64
    }

    /// A bit of a file that has parities, or is there twice.
    fn flip(&self, name: &str) {
        self.flip_bit(name);
        let checked = self.checked();
        if checked.problems.is_empty() && !is_leftover(name, &checked) {
            self.fail(&format!("a flipped bit of {name} is not told by a check: {checked:?}"));
        }
        if self.round.percent(50) {
            match repair(&self.round.machine.mounted(), &self.dir, MayLose::default()) {
                Ok(said) => self.round.say(format_args!("repair: {said:?}")),
                Err(error) => self.fail(&format!("cannot repair {name}: {error}")),
            }
            self.check_sound("a repaired store");
        }
        self.expect_all(&format!("a flipped bit of {name}"));
    }

    /// Opens the store, which has lost nothing.
    fn expect_all(&self, what: &str) {
        match self.open() {
            Ok(engine) => self.compare(&engine, what),
            Err(error) => self.fail(&format!("cannot open after {what}: {error}")),
        }
    }

    fn look(&self, engine: &Engine) -> State {
        let round = self.round;
        let mark = round.machine.mark();
        let found = round.retry_reads(&|| look::all(engine, &round.names));
        lock(&round.history).set_clock(round.machine.since(&mark));
        found.unwrap_or_else(|| self.fail("the machine died"))
    }

    fn compare(&self, engine: &Engine, what: &str) {
        let found = self.look(engine);
        if let Err(text) = lock(&self.round.history).compare(&found) {
            self.fail(&format!("after {what}: {text}"));
        }
    }

    /// Looks into a store that has lost something; how many facts are not as they should be.
    fn admit(&self, engine: &Engine, what: &str) -> usize {
        let found = self.look(engine);
        let admitted = lock(&self.round.history).admit(&found);
        admitted.unwrap_or_else(|text| self.fail(&format!("after {what}: {text}")))
    }

    /// Whether later frames of the wal vouch for a place in it: what its last two syncs wrote may
    /// be taken for torn.
    fn is_vouched(&self, name: &str, offset: u64) -> bool {
        self.round.machine.is_old_in_wal(&Path::new(DIR).join(name), offset)
    }

    /// A bit of the wal.
    fn flip_in_wal(&self, name: &str) {
        let offset = self.flip_bit(name);
        let what = format!("a flipped bit of {name}");
        let engine = match self.open() {
            Ok(engine) => engine,
            Err(error) => self.fail(&format!("cannot open after {what}: {error}")),
        };
        let lost = self.admit(&engine, &what);
        let stats = engine.stats();
        let is_told = !engine.damages().is_empty() || !engine.notes().is_empty();
        if lost > 0 && !is_told {
            self.fail(&format!("{what}: {lost} facts are lost, and nothing is told"));
        }
        let is_vouched = self.is_vouched(name, offset);
        let largest = lock(&self.round.history).largest();
        // Besides, a torn end may be there from a crash before.
        let torn = stats.wal_torn_bytes;
        let is_called_torn = lost > 0 && engine.damages().is_empty();
        if is_vouched && (lost > largest || is_called_torn) {
            self.fail(&format!("{what}: {lost} facts are lost, {torn} bytes called torn"));
        }
        // Registrations are there twice.
        if is_vouched && stats.samples_orphaned > 0 {
            let orphaned = stats.samples_orphaned;
            self.fail(&format!("{what}: {orphaned} samples lost their series"));
        }
    }

    /// The wal without its newest segment.
    fn missing_wal(&self) {
        let is_segment = |name: &&String| kind(name) == "wal";
        let Some(newest) = self.files.keys().rfind(is_segment) else { return };
        self.round.say(format_args!("remove {newest}"));
        if let Err(error) = self.disk.remove(&self.dir.join(newest)) {
            self.fail(&error.to_string());
        }
        let what = format!("{newest} was removed");
        let engine = match self.open() {
            Ok(engine) => engine,
            Err(error) => self.fail(&format!("cannot open after {what}: {error}")),
        };
        let lost = self.admit(&engine, &what);
        if lost > 0 && engine.damages().is_empty() {
            self.fail(&format!("{what}: {lost} facts are lost, and nothing is told"));
        }
    }

    /// A part that is away for two starts.
    fn missing_part(&self, name: &str) {
        let what = format!("{name} was away");
        self.round.say(format_args!("remove {name}"));
        let path = self.dir.join(name);
        if let Err(error) = self.disk.remove(&path) {
            self.fail(&error.to_string());
        }
        for _ in 0..2 {
            if self.round.percent(30)
                && let Err(error) =
                    repair(&self.round.machine.mounted(), &self.dir, MayLose::default())
            {
                self.fail(&format!("cannot repair while {what}: {error}"));
            }
            let engine = match self.open() {
                Ok(engine) => engine,
                Err(error) => self.fail(&format!("cannot open while {what}: {error}")),
            };
            if engine.damages().is_empty() || engine.stats().parts_absent != 1 {
                self.fail(&format!("{what}, and that is not told"));
            }
            self.admit(&engine, &what);
            for _ in 0..self.round.draw(|random| random.below(3)) {
                let result = engine.flush().and_then(|()| engine.maintain());
                self.round.say(format_args!("work without it: {result:?}"));
            }
        }
        self.put_back(name);
        self.expect_all(&what);
    }

    fn put_back(&self, name: &str) {
        let bytes = self.files.get(name).map_or(&[][..], Vec::as_slice);
        if let Err(error) = write(&self.disk, &self.dir.join(name), bytes) {
            self.fail(&error.to_string());
        }
    }

    /// A file without which the store does not start.
    fn missing(&self, name: &str) {
        if is_leftover(name, &self.checked()) {
            return;
        }
        self.round.say(format_args!("remove {name}"));
        if let Err(error) = self.disk.remove(&self.dir.join(name)) {
            self.fail(&error.to_string());
        }
        match self.open() {
            // Nothing of it was needed.
            Ok(engine) => {
                if engine.damages().is_empty() {
                    self.fail(&format!("{name} is missing, and that is not told"));
                }
                return self.compare(&engine, &format!("{name} was removed"));
            }
            Err(error) if error.to_string().contains(name) => {}
            Err(error) => self.fail(&format!("{name} is missing, and not named: {error}")),
        }
        if kind(name) == "index" && self.round.percent(50) {
            return self.index_again(name);
        }
        self.put_back(name);
        self.expect_all(&format!("{name} was away"));
    }

    /// An index that is made again without one of its files: series may have no name any more, and
    /// nothing that is found is wrong.
    fn index_again(&self, name: &str) {
        match repair(
            &self.round.machine.mounted(),
            &self.dir,
            MayLose { names: true, ..MayLose::default() },
        ) {
            Ok(said) => self.round.say(format_args!("repair: {said:?}")),
            // One of an epoch that is closing.
            Err(error) if error.to_string().contains("copy it from a backup") => {
                self.put_back(name);
                return self.expect_all(&format!("{name} was away"));
            }
            Err(error) => self.fail(&format!("cannot repair without {name}: {error}")),
        }
        let what = format!("the index was made again without {name}");
        for _ in 0..2 {
            let engine = match self.open() {
                Ok(engine) => engine,
                Err(error) => self.fail(&format!("cannot open after {what}: {error}")),
            };
            let lost = self.admit(&engine, &what);
            self.round.say(format_args!("{what}: {lost} facts are lost"));
            let result = engine.flush().and_then(|()| engine.maintain());
            self.round.say(format_args!("work after that: {result:?}"));
            self.admit(&engine, &what);
        }
    }

    /// A manifest of before.
    fn old_manifest(&self) {
        let Some(old) = lock(&self.round.old_manifest).clone() else { return };
        for name in ["MANIFEST", "MANIFEST.copy"] {
            if let Err(error) = write(&self.disk, &self.dir.join(name), &old) {
                self.fail(&error.to_string());
            }
        }
        let engine = self.open();
        if let Ok(engine) = &engine {
            self.round.say(format_args!("with an old manifest: {:?}", engine.damages()));
        }
        let quarantine = self.dir.join("quarantine");
        let is_gone = |name: &str, bytes: &Vec<u8>| {
            let is_there = |dir: &Path| read(&self.disk, &dir.join(name)).as_ref() == Ok(bytes);
            !is_there(&self.dir) && !is_there(&quarantine)
        };
        let mut parts = self.files.iter().filter(|(name, _)| name.starts_with("part-"));
        let Some((gone, _)) = parts.find(|(name, bytes)| is_gone(name, bytes)) else { return };
        // The wal may reach back to that manifest: then the part is written again from there.
        match engine {
            Ok(engine) => self.compare(&engine, &format!("an old manifest took {gone} away")),
            Err(error) => self.fail(&format!("an old manifest took {gone} away: {error}")),
        }
    }
}

fn read(disk: &SimDisk, path: &Path) -> Result<Vec<u8>, io::ErrorKind> {
    let file = disk.open(path).map_err(|error| error.kind())?;
    let mut bytes = vec![0; file.len() as usize];
    file.read_at(&mut bytes, 0).map_err(|error| error.kind())?;
    Ok(bytes)
}

fn write(disk: &SimDisk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = disk.create(path)?;
    file.append(bytes)?;
    file.sync()
}

fn read_all(disk: &SimDisk, dir: &Path) -> Result<Files, io::ErrorKind> {
    let names = disk.list(dir).map_err(|error| error.kind())?;
    let names = names.into_iter().filter(|name| !SPARED.contains(&&**name));
    names.map(|name| Ok((name.clone(), read(disk, &dir.join(&name))?))).collect()
}

fn write_all(disk: &SimDisk, dir: &Path, files: &Files) -> io::Result<()> {
    disk.create_dir_all(dir)?;
    files.iter().try_for_each(|(name, bytes)| write(disk, &dir.join(name), bytes))?;
    disk.sync_dir(dir)
}
