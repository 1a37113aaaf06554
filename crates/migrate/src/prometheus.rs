//! Prometheus' data directory: its blocks, and the write-ahead log of what is not in one yet.
//!
//! Samples keep their times, and numbers their bits, marks of staleness too. What was deleted stays
//! so. The same import twice writes the same samples twice, which leaves the store as it was: one
//! that broke off is begun again.

mod block;
mod chunk;
mod numbers;
mod record;
mod wal;

use crate::cursor::Wrong;
use crate::directory::{bytes_in, bytes_of, list};
use crate::error::Error;
use crate::import::{Fault, Import};
use block::{Block, Gaps, is_deleted};
use chunk::Point;
use foliot_proto_prometheus::{push_histogram_sample, push_number_sample, shown_key};
use record::Said;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use wal::Segment;

/// The name of a block is a ULID (<https://github.com/ulid/spec>).
const BLOCK_NAME_LEN: usize = 26;

/// Samples of one series are handed on in pieces of this size.
const SERIES_BYTES: usize = 256 << 10;

/// Samples of the log are gathered to this size, so that their series need not be named for each.
const GATHERED_BYTES: usize = 32 << 20;

/// The labels of the log's series, which are held in memory: as many as ten million series have.
const LABELS_BYTES_MAX: u64 = 4 << 30;

/// A segment of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    path: PathBuf,
    /// Whether nothing was written behind it.
    is_last: bool,
}

/// What lies in a data directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directory {
    blocks: Vec<PathBuf>,
    /// The checkpoint and the segments behind it, and segments of what came out of order.
    segments: Vec<Place>,
    bytes: u64,
}

impl Directory {
    /// Looks into a directory: that of a Prometheus which does not run, a snapshot, or one that
    /// holds blocks only.
    ///
    /// # Errors
    /// When it cannot be read, or has neither blocks nor a log.
    pub fn open(dir: &Path) -> Result<Self, Error> {
        let mut found = Self::default();
        for (name, path) in list(dir)? {
            // One that lacks its index is damaged, which is told where it is read.
            let is_block = || path.join("index").is_file() || path.join("chunks").is_dir();
            if name.len() == BLOCK_NAME_LEN && is_block() {
                found.bytes += bytes_of(&path.join("index")) + bytes_in(&path.join("chunks"));
                found.blocks.push(path);
            }
        }
        found.segments = log(&dir.join("wal"))?;
        found.segments.extend(log(&dir.join("wbl"))?);
        // Each segment is read twice.
        found.bytes += found.segments.iter().map(|of| 2 * bytes_of(&of.path)).sum::<u64>();
        if found.blocks.is_empty() && found.segments.is_empty() {
            let dir = dir.display();
            return Err(Error::Format(format!(
                "{dir} is no data directory of Prometheus: it has neither blocks nor a wal"
            )));
        }
        Ok(found)
    }
}

/// Imports all that lies in a directory. What is damaged is refused, and what is whole beside it is
/// taken.
///
/// # Errors
/// When storing fails as a whole.
pub fn import(directory: &Directory, import: &mut Import<'_>) -> Result<(), Error> {
    let mut reading = Reading { import, read_bytes: 0, total_bytes: directory.bytes };
    for path in &directory.blocks {
        reading.block(path)?;
    }
    reading.log(&directory.segments)
}

/// The segments of a log in their order, those of its newest checkpoint first.
fn log(dir: &Path) -> Result<Vec<Place>, Error> {
    if !dir.is_dir() {
        return Ok(Vec::new());
    }
    let (mut checkpoint, mut segments) = (None, Vec::new());
    for (name, path) in list(dir)? {
        match name.strip_prefix("checkpoint.").map(str::parse::<u64>) {
            // Names ascend: the last one is the newest.
            Some(Ok(number)) => checkpoint = Some((number, path)),
            _ => segments.extend(name.parse::<u64>().ok().map(|number| (number, path))),
        }
    }
    let mut found = Vec::new();
    if let Some((number, path)) = checkpoint {
        segments.retain(|(segment, _)| *segment > number);
        let is_segment = |name: &str| name.parse::<u64>().is_ok();
        found.extend(list(&path)?.into_iter().filter(|(name, _)| is_segment(name)).map(|of| of.1));
    }
    segments.sort();
    found.extend(segments.into_iter().map(|(_, path)| path));
    let last = found.len().saturating_sub(1);
    let place = |(at, path)| Place { path, is_last: at == last };
    Ok(found.into_iter().enumerate().map(place).collect())
}

/// A directory that is being imported.
struct Reading<'a, 'i> {
    import: &'a mut Import<'i>,
    read_bytes: u64,
    total_bytes: u64,
}

/// Samples of a series, as they are handed on.
#[derive(Default)]
struct Gathered {
    samples: Vec<u8>,
    count: u64,
    /// Those that cannot be stored, and why the first of them.
    refused: Option<(u64, Wrong)>,
}

impl Gathered {
    fn push(&mut self, time_ms: i64, point: &Point) {
        match point {
            Point::Number(value) => push_number_sample(*value, time_ms, &mut self.samples),
            Point::Histogram(Ok(of)) => push_histogram_sample(of, time_ms, &mut self.samples),
            Point::Histogram(Err(reason)) => {
                self.refused.get_or_insert_with(|| (0, reason.clone())).0 += 1;
                return;
            }
        }
        self.count += 1;
    }
}

impl Reading<'_, '_> {
    fn progress(&mut self, bytes: u64) {
        self.read_bytes += bytes;
        self.import.read(self.read_bytes, Some(self.total_bytes));
    }

    /// Something of the directory cannot be read.
    fn damaged(&mut self, path: &Path, reason: &Wrong) {
        self.refuse(1, format!("{}: {reason}", path.display()));
    }

    fn refuse(&mut self, count: u64, reason: String) {
        self.import.refuse_many(count, Fault { line: 0, reason });
    }

    fn block(&mut self, path: &Path) -> Result<(), Error> {
        let mut block = match Block::open(path) {
            Ok(block) => block,
            Err(reason) => {
                self.damaged(path, &reason);
                return Ok(());
            }
        };
        if !block.has_tombstones {
            let reason = "the file tombstones is missing: what was deleted there is taken, too";
            self.damaged(path, &reason.to_owned());
        }
        loop {
            let series = match block.next_series() {
                Ok(Some(series)) => series,
                Ok(None) => return Ok(()),
                Err(reason) => {
                    self.damaged(path, &reason);
                    return Ok(());
                }
            };
            let mut gathered = Gathered::default();
            for chunk in &series.chunks {
                let read = block.read_chunk(&series, *chunk, &mut |time_ms, point| {
                    gathered.push(time_ms, &point);
                    Ok(())
                });
                if let Err(reason) = read {
                    self.damaged(path, &reason);
                }
                if gathered.samples.len() > SERIES_BYTES {
                    self.progress(block.take_read_bytes());
                    self.hand_on(&series.key, std::mem::take(&mut gathered))?;
                }
            }
            self.progress(block.take_read_bytes());
            self.hand_on(&series.key, gathered)?;
        }
    }

    fn hand_on(&mut self, key: &[u8], gathered: Gathered) -> Result<(), Error> {
        if let Some((count, reason)) = gathered.refused {
            self.refuse(count, format!("{}: {reason}", shown_key(key)));
        }
        match gathered.count {
            0 => Ok(()),
            count => self.import.series(key, &gathered.samples, count),
        }
    }

    /// Reads the log twice: what is in it belongs to series that are named somewhere before, and
    /// may be deleted somewhere behind.
    fn log(&mut self, segments: &[Place]) -> Result<(), Error> {
        let mut log = Log::default();
        for segment in segments {
            self.segment(segment, &mut |_, record| match record::is_of_series(record) {
                true => Ok(record::read(record, &mut |said| log.name(said))),
                false => Ok(Ok(())),
            })?;
        }
        for segment in segments {
            self.segment(segment, &mut |reading, record| {
                let read = record::read(record, &mut |said| {
                    log.gather(said, reading);
                    Ok(())
                });
                if log.gathered_bytes > GATHERED_BYTES {
                    log.hand_on(reading)?;
                }
                Ok(read)
            })?;
        }
        log.hand_on(self)?;
        if log.unnamed > 0 {
            let reason = "a sample of the wal is of a series that is not in it";
            self.refuse(log.unnamed, reason.to_owned());
        }
        Ok(())
    }

    fn segment(&mut self, segment: &Place, each: EachRecord<'_>) -> Result<(), Error> {
        let (path, is_last) = (&*segment.path, segment.is_last);
        let mut segment = match Segment::open(path) {
            Ok(segment) => segment,
            Err(reason) => {
                self.damaged(path, &reason);
                return Ok(());
            }
        };
        loop {
            let bytes = segment.take_read_bytes();
            self.progress(bytes);
            match segment.next_record() {
                Ok(Some(record)) => {
                    if let Err(reason) = each(self, record)? {
                        self.damaged(path, &format!("a record cannot be read: {reason}"));
                    }
                }
                Ok(None) => return Ok(()),
                // A server that was killed leaves half a record; nobody was told that it is safe.
                Err(broken) if broken.is_end && is_last => return Ok(()),
                Err(broken) => {
                    let reason = format!(
                        "what is at byte {} and behind is left out: {}",
                        broken.at, broken.reason
                    );
                    self.damaged(path, &reason);
                    return Ok(());
                }
            }
        }
    }
}

/// Takes a record; an outer error ends the import, an inner one says what is wrong with it.
type EachRecord<'f> =
    &'f mut dyn FnMut(&mut Reading<'_, '_>, &[u8]) -> Result<Result<(), Wrong>, Error>;

/// What is known of a log.
#[derive(Default)]
struct Log {
    /// Labels of series by number.
    names: HashMap<u64, Vec<u8>>,
    names_bytes: u64,
    deleted: Gaps,
    gathered: HashMap<u64, Gathered>,
    gathered_bytes: usize,
    /// Samples of series that nobody named.
    unnamed: u64,
}

impl Log {
    fn name(&mut self, said: Said<'_>) -> Result<(), Wrong> {
        match said {
            Said::Series(number, key) => {
                self.names_bytes += key.len() as u64;
                if self.names_bytes > LABELS_BYTES_MAX {
                    return Err(format!(
                        "the labels of the wal take more than {LABELS_BYTES_MAX} bytes"
                    ));
                }
                self.names.insert(number, key);
            }
            Said::Deleted(number, gap) => self.deleted.entry(number).or_default().push(gap),
            _ => {}
        }
        Ok(())
    }

    fn gather(&mut self, said: Said<'_>, reading: &mut Reading<'_, '_>) {
        match said {
            Said::Sample(number, time_ms, point) => {
                if is_deleted(self.deleted.get(&number), time_ms) {
                    return;
                }
                if !self.names.contains_key(&number) {
                    self.unnamed += 1;
                    return;
                }
                let gathered = self.gathered.entry(number).or_default();
                let before = gathered.samples.len();
                gathered.push(time_ms, &point);
                self.gathered_bytes += gathered.samples.len() - before;
            }
            Said::Exemplars(count) => reading.import.left_out(count),
            Said::Unknown(kind) => {
                reading.refuse(1, format!("the kind {kind} of a record of the wal is not known"));
            }
            Said::Series(..) | Said::Deleted(..) | Said::Other => {}
        }
    }

    fn hand_on(&mut self, reading: &mut Reading<'_, '_>) -> Result<(), Error> {
        self.gathered_bytes = 0;
        for (number, gathered) in std::mem::take(&mut self.gathered) {
            let key = self.names.get(&number).map(Vec::as_slice).unwrap_or_default();
            reading.hand_on(key, gathered)?;
        }
        Ok(())
    }
}
