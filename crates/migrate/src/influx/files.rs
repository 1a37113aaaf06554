//! Imports the files of InfluxDB's storage engine, of version 1 and 2: values that were written to
//! files of blocks, and those that are still in the log.
//!
//! Files are read in the order in which they were written, so that newer values replace older ones
//! as they do there. The same import twice writes the same samples twice, which leaves the store as
//! it was.

mod block;
mod key;
mod tombstones;
mod tsm;
mod wal;

use crate::cursor::Wrong;
use crate::directory::{bytes_in, list};
use crate::error::Error;
use crate::import::{Fault, Import, Place};
use crate::places::Policy;
use foliot_model::Samples;
use foliot_proto_influx::push_value;
use key::Key;
use std::io::Read;
use std::path::{Path, PathBuf};
use tsm::Tsm;
use wal::{Deleted, Log};

/// InfluxDB's database of itself.
const INTERNAL: &str = "_internal";

/// Where the engine keeps its blocks and its log.
const DATA: &str = "data";
const WAL: &str = "wal";

/// The files of a server, or of one of its databases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    shards: Vec<Shard>,
    bytes: u64,
}

/// The values of a stretch of time of one policy.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shard {
    /// A database of version 1, the number of a bucket of version 2.
    database: String,
    policy: String,
    number: u64,
    blocks: PathBuf,
    log: PathBuf,
}

/// Whether a file is one of the engine's, which say only together what is stored.
pub fn is_one(path: &Path) -> bool {
    let mut first = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && first == tsm::FIRST_BYTES || path.extension().is_some_and(|end| end == "wal")
}

impl Files {
    /// Finds the shards in the directory of a server that does not run (of version 1, or of version
    /// 2 with or without `engine`), or in that of one database in its `data`.
    ///
    /// # Errors
    /// When it cannot be read, or has no shards.
    pub fn open(dir: &Path) -> Result<Self, Error> {
        let engine = dir.join("engine");
        let root = if engine.join(DATA).is_dir() { &*engine } else { dir };
        let mut found = Self::default();
        if root.join(DATA).is_dir() {
            for (database, _) in list(&root.join(DATA))? {
                found.database(root, &database)?;
            }
        } else if let Some(database) = dir.file_name()
            && let Some(root) = dir.parent().and_then(Path::parent)
        {
            found.database(root, &database.to_string_lossy())?;
        }
        if found.shards.is_empty() {
            let dir = dir.display();
            return Err(Error::Format(format!(
                "{dir} has no shards of InfluxDB: name the directory that has data/ and wal/, or \
                 data/DATABASE in it"
            )));
        }
        Ok(found)
    }

    /// The databases that are there: of version 2, numbers of buckets.
    pub fn databases(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.shards.iter().map(|shard| &*shard.database).collect();
        names.dedup();
        names
    }

    fn database(&mut self, root: &Path, database: &str) -> Result<(), Error> {
        let (data, wal) = (root.join(DATA).join(database), root.join(WAL).join(database));
        if database == INTERNAL || !data.is_dir() {
            return Ok(());
        }
        let mut shards = Vec::new();
        for (policy, path) in list(&data)?.into_iter().filter(|(_, path)| path.is_dir()) {
            for (name, blocks) in list(&path)? {
                let Ok(number) = name.parse() else { continue };
                let log = wal.join(&policy).join(&name);
                let (database, policy) = (database.to_owned(), policy.clone());
                self.bytes += bytes_in(&blocks) + 2 * bytes_in(&log);
                shards.push(Shard { database, policy, number, blocks, log });
            }
        }
        shards.sort_by(|a, b| (&a.policy, a.number).cmp(&(&b.policy, b.number)));
        self.shards.extend(shards);
        Ok(())
    }
}

/// Imports all databases and policies, or the policy that is wanted. Databases keep their names
/// unless there is one and `database` names it anew; those that the target lacks are made. What is
/// damaged is refused, and what is whole beside it is taken.
///
/// # Errors
/// When storing fails as a whole.
pub fn import(
    files: &Files,
    database: Option<&str>,
    policy: Option<&str>,
    import: &mut Import<'_>,
) -> Result<(), Error> {
    let names = files.databases();
    if let (Some(database), [_, _, ..]) = (database, &*names) {
        return Err(Error::Format(format!(
            "there are several databases, which cannot all become {database:?}: name the directory \
             of one of them; there are {}",
            names.join(", ")
        )));
    }
    let mut reading = Reading { import, read_bytes: 0, total_bytes: files.bytes };
    for shard in files.shards.iter().filter(|of| policy.is_none_or(|policy| of.policy == policy)) {
        let database = database.unwrap_or(&shard.database).to_owned();
        // How long it keeps samples stands in a file that is not read.
        reading.import.make(&database, &[Policy::unbounded(&shard.policy)])?;
        let place = Place { database, policy: Some(shard.policy.clone()) };
        reading.import.set_place(place)?;
        reading.shard(shard)?;
    }
    Ok(())
}

/// Files on their way into an import.
struct Reading<'a, 'i> {
    import: &'a mut Import<'i>,
    read_bytes: u64,
    total_bytes: u64,
}

impl Reading<'_, '_> {
    fn shard(&mut self, shard: &Shard) -> Result<(), Error> {
        for (name, path) in list(&shard.blocks)? {
            if name.ends_with(".tsm") {
                self.file(&path)?;
            }
        }
        if shard.log.is_dir() {
            self.log(&shard.log)?;
        }
        Ok(())
    }

    /// A file of blocks.
    fn file(&mut self, path: &Path) -> Result<(), Error> {
        let mut tsm = match Tsm::open(path) {
            Ok(tsm) => tsm,
            Err(reason) => return self.damaged(path, &reason),
        };
        let mut samples = Samples::default();
        loop {
            let series = match tsm.next_series() {
                Ok(Some(series)) => series,
                Ok(None) => return Ok(()),
                Err(reason) => return self.damaged(path, &reason),
            };
            for place in &series.blocks {
                samples.clear();
                match tsm.read(*place, &mut samples) {
                    Ok(()) => self.samples(&series.key, &samples, |at| tsm.has(&series.key, at))?,
                    Err(reason) => self.damaged(path, &reason)?,
                }
            }
            self.progress(tsm.take_read_bytes());
        }
    }

    /// The log of a shard, which is read twice: what is written in it may be deleted behind.
    fn log(&mut self, dir: &Path) -> Result<(), Error> {
        let names = list(dir)?.into_iter().filter(|(name, _)| name.ends_with(".wal"));
        let files: Vec<PathBuf> = names.map(|(_, path)| path).collect();
        let (mut deleted, mut number) = (Deleted::default(), 0);
        for path in &files {
            let log = match Log::open(path) {
                Ok(log) => log,
                // It is told when it is read for its values.
                Err(_) => continue,
            };
            self.progress(log.bytes());
            // The same holds for what is damaged in it.
            let _ = log.each(&mut |entry| {
                number += 1;
                deleted.note(&entry, number)
            });
        }
        number = 0;
        for path in &files {
            let log = match Log::open(path) {
                Ok(log) => log,
                Err(reason) => {
                    self.damaged(path, &reason)?;
                    continue;
                }
            };
            self.progress(log.bytes());
            let mut outcome = Ok(());
            let read = log.each(&mut |entry| {
                number += 1;
                if outcome.is_err() {
                    return Ok(());
                }
                wal::values(&entry, &mut |key, samples| {
                    let key = Key::of(key)?;
                    if outcome.is_ok() {
                        let is_there = |at| !deleted.has(&key.stored, at, number);
                        outcome = self.samples(&key, samples, is_there);
                    }
                    Ok(())
                })
            });
            outcome?;
            if let Err(reason) = read {
                self.damaged(path, &reason)?;
            }
        }
        Ok(())
    }

    fn samples(
        &mut self,
        key: &Key,
        samples: &Samples,
        is_there: impl Fn(i64) -> bool,
    ) -> Result<(), Error> {
        for (time_ns, value) in samples.iter().filter(|(time_ns, _)| is_there(*time_ns)) {
            self.import.line(0, |out| {
                let before = out.len();
                out.extend_from_slice(&key.line);
                if !push_value(value, out) {
                    out.truncate(before);
                    return;
                }
                out.push(b' ');
                out.extend_from_slice(itoa::Buffer::new().format(time_ns).as_bytes());
            })?;
        }
        Ok(())
    }

    fn progress(&mut self, bytes: u64) {
        self.read_bytes += bytes;
        self.import.read(self.read_bytes.min(self.total_bytes), Some(self.total_bytes));
    }

    /// Something of the files cannot be read.
    fn damaged(&mut self, path: &Path, reason: &Wrong) -> Result<(), Error> {
        let reason = format!("{}: {reason}", path.display());
        self.import.refuse_many(1, Fault { line: 0, reason });
        Ok(())
    }
}
