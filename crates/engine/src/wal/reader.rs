//! Reading the wal back.
//!
//! A bad frame is either damage or where the power went. All segments but the newest were synced
//! before the next one was made, so there it is damage. In the newest one it is damage if a later
//! frame of the same incarnation vouches for its place: says that this much of the stream was
//! durable. Damage is reported and skipped, and what follows is kept. What nobody vouches for was
//! never acknowledged as durable: there reading ends.
//!
//! Changes that damage took are read from their copies, which stand further on (`copies.rs`), in
//! the place where they were.
//!
//! Reading begins at the lsn that the manifest names. Damage before it costs nothing.

use super::copies::{Copied, Single};
use super::frame::{self, Author, FrameKind, HEADER_LEN, Header, Purpose, body_checksum};
use super::segment::{self, SEGMENT_HEADER_LEN, SegmentHeader};
use crate::error::Error;
use crate::filenames;
use crate::limits::SECTOR_BYTES;
use foliot_disk::{Disk, ReadFile};
use memchr::memmem;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const READ_AHEAD: usize = 1 << 20;

/// What reading the wal back found.
#[derive(Debug, Default, Clone)]
pub(crate) struct Replayed {
    /// Where the stream goes on.
    pub(crate) end_lsn: u64,
    pub(crate) frames: u64,
    /// What was wrong, each a sentence for the log.
    pub(crate) damages: Vec<String>,
    /// Bytes that were skipped as damaged.
    pub(crate) damaged_bytes: u64,
    /// Whether the last write before the stop was incomplete, as after a power cut.
    pub(crate) is_torn: bool,
    /// Bytes behind the torn place, which were not read.
    pub(crate) torn_bytes: u64,
    /// Whether the newest segment is not there, or empty.
    pub(crate) is_newest_missing: bool,
    /// Damaged frames of which there is another: what would stand in their place.
    pub(crate) mends: Vec<Mend>,
    /// Changes that no copy of was met: they are to be repeated.
    pub(crate) singles: Vec<Single>,
    /// The newest segment and where its frames end, if what is left of an older one follows.
    pub(crate) overlong: Option<(PathBuf, u64)>,
}

/// A frame that stands in the place of a damaged one.
#[derive(Debug, Clone)]
pub(crate) struct Mend {
    pub(crate) path: PathBuf,
    /// Where it begins in the file.
    pub(crate) offset: u64,
    pub(crate) bytes: Vec<u8>,
}

impl Replayed {
    /// What a torn end is worth to the log.
    pub(crate) fn torn(&self) -> Option<String> {
        let Self { end_lsn, torn_bytes, .. } = self;
        self.is_torn.then(|| {
            format!(
                "the wal ends within a frame at lsn {end_lsn}, as after a power cut; \
                 {torn_bytes} bytes from there on were not read"
            )
        })
    }

    fn damage(&mut self, bytes: u64, sentence: String) {
        self.damaged_bytes += bytes;
        self.damages.push(sentence);
    }

    /// Notes a change that is to be repeated, unless a copy follows.
    fn note(&mut self, lsn: u64, kind: FrameKind, body: &[u8]) {
        if Single::is_kind(kind) {
            let (body, body_crc) = (body.to_vec(), body_checksum(body));
            self.singles.push(Single { lsn, kind, body, body_crc });
        }
    }

    fn tear(&mut self, bytes: u64) {
        self.is_torn = true;
        self.torn_bytes += bytes;
    }
}

/// Takes a frame's lsn, kind and body.
pub(crate) type TakeFrame<'t> = dyn FnMut(u64, FrameKind, &[u8]) -> Result<(), Error> + 't;

/// Calls `each` with every change from `start_lsn` on.
///
/// # Errors
/// What `each` returned; when a segment cannot be read or is of another version.
pub(crate) fn replay(
    disk: &dyn Disk,
    dir: &Path,
    store_id: u64,
    start_lsn: u64,
    each: &mut TakeFrame<'_>,
) -> Result<Replayed, Error> {
    let log = Log { disk, dir, store_id, bases: segment::list(disk, dir)? };
    let mut replayed = Replayed { end_lsn: start_lsn, ..Replayed::default() };
    // Of what lies before, it is said what was lost.
    let mut told_lsn = start_lsn;
    for (index, &base) in log.bases.iter().enumerate() {
        if log.bases.get(index + 1).is_some_and(|next| *next <= start_lsn) {
            continue;
        }
        let mut segment = log.segment(index, base)?;
        let before = replayed.end_lsn..base;
        let end_lsn = told_lsn.max(before.start);
        if end_lsn < base {
            let lost = format!(
                "wal {} begins at {base}, but the one before ends at {end_lsn}: what lay between \
                 is lost",
                segment.path.display(),
            );
            replayed.damage(base - end_lsn, lost);
        }
        replayed.end_lsn = replayed.end_lsn.max(base);
        segment.read(&log, before, start_lsn, &mut replayed, each)?;
        if segment.is_foreign {
            told_lsn = segment.end;
        }
    }
    if let Some(base) = segment::missing(disk, dir)? {
        let path = filenames::wal(dir, base);
        let is_there = disk.exists(&path);
        replayed.is_newest_missing = true;
        // It does not end within a frame: it had some, and has none.
        replayed.is_torn &= !is_there;
        replayed.damages.push(format!(
            "wal {} was begun and is {}: what was written to it and not yet to a part is lost, \
             unless the server is stopped before it writes again and the file is put back",
            path.display(),
            if is_there { "empty" } else { "missing" }
        ));
    }
    Ok(replayed)
}

/// All segments that are there.
struct Log<'l> {
    disk: &'l dyn Disk,
    dir: &'l Path,
    store_id: u64,
    bases: Vec<u64>,
}

impl Log<'_> {
    fn segment(&self, index: usize, base: u64) -> Result<Segment, Error> {
        let path = filenames::wal(self.dir, base);
        let file = self.disk.open(&path).map_err(Error::io("open", &path))?;
        let next = self.bases.get(index + 1).copied();
        Ok(Segment::new(file, path, self.store_id, base, next))
    }

    /// Calls `each` with the copies of frames in `lost`, which ends at `from` or before, and with
    /// the durable lsn that stands over each. `segment` is the one that `from` lies in.
    fn copies_of(
        &self,
        lost: &Range<u64>,
        segment: &mut Segment,
        from: u64,
        each: &mut dyn FnMut(u64, Copied<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if segment.copies_of(lost, from, each)? {
            return Ok(());
        }
        let later = self.bases.iter().enumerate().filter(|(_, base)| **base > segment.base);
        for (index, &base) in later {
            let mut segment = self.segment(index, base)?;
            let is_over = segment.enter(base, &mut Replayed::default())?
                && segment.copies_of(lost, base, each)?;
            if is_over {
                break;
            }
        }
        Ok(())
    }
}

struct Segment {
    file: Arc<dyn ReadFile>,
    path: PathBuf,
    store_id: u64,
    base: u64,
    /// Where the next one begins; where its own frames end at the latest, of the newest.
    end: u64,
    /// Where its frames end at the latest.
    limit: u64,
    /// What its frames must fit; of the incarnation that is known.
    author: Author,
    /// Whether the incarnation is known.
    is_known: bool,
    /// Whether it belongs to another store or place.
    is_foreign: bool,
    /// Whether what is left of an older segment follows its frames.
    is_over: bool,
    /// Up to here everything was durable once.
    vouched_lsn: u64,
    buffer: Vec<u8>,
    buffer_at: u64,
}

impl Segment {
    fn new(
        file: Arc<dyn ReadFile>,
        path: PathBuf,
        store_id: u64,
        base: u64,
        next: Option<u64>,
    ) -> Self {
        let frames_len = file.len().saturating_sub(SEGMENT_HEADER_LEN as u64);
        let frames_end = base.saturating_add(frames_len);
        let end = next.unwrap_or(frames_end);
        Self {
            file,
            path,
            store_id,
            base,
            end,
            limit: end.min(frames_end),
            author: Author::new(store_id, 0),
            is_known: false,
            is_foreign: false,
            is_over: false,
            vouched_lsn: if next.is_some() { u64::MAX } else { 0 },
            buffer: Vec::new(),
            buffer_at: 0,
        }
    }

    /// Reads the frames from `start_lsn` on, and those of `before`, where frames are missing, that
    /// have copies here.
    fn read(
        &mut self,
        log: &Log<'_>,
        before: Range<u64>,
        start_lsn: u64,
        replayed: &mut Replayed,
        each: &mut TakeFrame<'_>,
    ) -> Result<(), Error> {
        let mut lsn = self.base.max(start_lsn);
        if !self.enter(lsn, replayed)? {
            return Ok(());
        }
        if !before.is_empty() {
            self.bring_back(log, before, lsn, replayed, each)?;
        }
        while lsn < self.limit {
            let Some(header) = self.frame(lsn)? else {
                match self.pass(lsn, replayed)? {
                    Passed::To(later) => {
                        self.bring_back(log, lsn..later, later, replayed, each)?;
                        lsn = later;
                    }
                    Passed::Torn(at) => {
                        lsn = at;
                        break;
                    }
                }
                continue;
            };
            let body = self.body(lsn, &header);
            match header.purpose {
                Purpose::Change(kind) => {
                    replayed.frames += 1;
                    each(lsn, kind, body)?;
                    replayed.note(lsn, kind, body);
                }
                Purpose::Copy => {
                    let copied = Copied::parse(body).map(|copied| copied.lsn);
                    replayed.singles.retain(|single| Some(single.lsn) != copied);
                }
                Purpose::Mark => {}
            }
            lsn += header.frame_len();
        }
        replayed.end_lsn = replayed.end_lsn.max(lsn);
        if self.is_over && lsn < self.limit {
            let len = lsn - self.base + SEGMENT_HEADER_LEN as u64;
            replayed.overlong = Some((self.path.clone(), len));
        }
        Ok(())
    }

    /// Reads changes that damage took, `lost`, from their copies, which stand at `from` or behind;
    /// and where it took a copy alone, says what would stand there.
    fn bring_back(
        &mut self,
        log: &Log<'_>,
        lost: Range<u64>,
        from: u64,
        replayed: &mut Replayed,
        each: &mut TakeFrame<'_>,
    ) -> Result<(), Error> {
        let (author, base, path) = (self.author, self.base, self.path.clone());
        let mend = |lsn: u64, header: &[u8], body: &[&[u8]]| {
            let offset = lsn.checked_sub(base)? + SEGMENT_HEADER_LEN as u64;
            let bytes = [&[header], body].concat().concat();
            Some(Mend { path: path.clone(), offset, bytes })
        };
        let width = lost.end - lost.start;
        let is_copy_of = |single: &&Single| (HEADER_LEN + single.copy_len()) as u64 == width;
        if let Some(single) = replayed.singles.iter().find(is_copy_of) {
            let (tail, crc) = single.copy_tail();
            let len = single.copy_len() as u32;
            let header = author.header(Purpose::Copy, lost.start, single.lsn, len, crc);
            replayed.mends.extend(mend(lost.start, &header, &[&single.body, &tail]));
        }
        log.copies_of(&lost, self, from, &mut |durable_lsn, copied| {
            let Copied { lsn, kind, body } = copied;
            replayed.frames += 1;
            each(lsn, kind, body)?;
            // What a frame vouches for stood before it.
            let (durable_lsn, len) = (durable_lsn.min(lsn), body.len() as u32);
            let purpose = Purpose::Change(kind);
            let header = author.header(purpose, lsn, durable_lsn, len, body_checksum(body));
            replayed.mends.extend(mend(lsn, &header, &[body]));
            Ok(())
        })
    }

    /// Calls `each` with the copies of frames in `lost` from `from` on; false if there may be more
    /// of them in the next segment.
    fn copies_of(
        &mut self,
        lost: &Range<u64>,
        from: u64,
        each: &mut dyn FnMut(u64, Copied<'_>) -> Result<(), Error>,
    ) -> Result<bool, Error> {
        let mut lsn = from;
        while lsn < self.limit {
            let Some(header) = self.frame(lsn)? else {
                lsn = self.find(lsn + 1)?;
                continue;
            };
            match (header.purpose, Copied::parse(self.body(lsn, &header))) {
                (Purpose::Copy, Some(copied)) => {
                    let is_lost = lost.contains(&copied.lsn)
                        && copied.lsn.saturating_add(copied.frame_len()) <= lost.end;
                    if is_lost {
                        each(header.durable_lsn, copied)?;
                    }
                }
                (Purpose::Mark, _) => {}
                // By here all of them have been repeated.
                _ if lsn >= lost.end.saturating_add(SECTOR_BYTES as u64) => return Ok(true),
                _ => {}
            }
            lsn += header.frame_len();
        }
        Ok(false)
    }

    /// Learns whose frames to expect, from the header or, where that is damaged, from the first
    /// frame at or behind `lsn`. False if there is nothing to read.
    fn enter(&mut self, lsn: u64, replayed: &mut Replayed) -> Result<bool, Error> {
        let path = self.path.display().to_string();
        let is_newest = self.vouched_lsn == 0;
        let header = SegmentHeader::read(&*self.file, &self.path)?;
        // The power may have taken the header that was written over an older one, not the name.
        let is_older = |header: &SegmentHeader| {
            is_newest && header.store_id == self.store_id && header.base_lsn < self.base
        };
        let is_older = header.as_ref().is_some_and(is_older);
        match header.filter(|_| !is_older) {
            Some(header) => {
                if (header.store_id, header.base_lsn) != (self.store_id, self.base) {
                    let other = format!("wal {path} is of another store or place, and was skipped");
                    // One without frames is damage as well.
                    let bytes = self.end.saturating_sub(lsn).max(SEGMENT_HEADER_LEN as u64);
                    replayed.damage(bytes, other);
                    self.is_foreign = true;
                    return Ok(false);
                }
                self.know(header.incarnation);
                self.is_over = header.is_over;
                return Ok(true);
            }
            None if lsn < self.limit || !is_newest => {}
            // Frames before are in parts already, and nobody can say more about the newest header.
            None => {
                replayed.tear(0);
                return Ok(false);
            }
        }
        let found = self.find(lsn)?;
        self.vouch(found, self.base + 1)?;
        if self.vouched_lsn <= self.base {
            replayed.tear(if is_older { 0 } else { self.limit - self.base });
            return Ok(false);
        }
        let sentence = match self.limit > self.base {
            true => format!("wal {path} has a damaged header; its frames were read without it"),
            false => format!("wal {path} is empty: what was written to it is lost"),
        };
        replayed.damage(SEGMENT_HEADER_LEN as u64, sentence);
        Ok(true)
    }

    fn know(&mut self, incarnation: u64) {
        self.author = Author::new(self.store_id, incarnation);
        self.is_known = true;
    }

    /// Passes over a bad frame at `bad`. Behind the frames of a segment that is written over an
    /// older one nothing is torn unless a frame was begun.
    fn pass(&mut self, bad: u64, replayed: &mut Replayed) -> Result<Passed, Error> {
        let found = self.find(bad + 1)?;
        self.vouch(found, found)?;
        let proven = self.vouched_lsn.clamp(bad, found);
        if proven > bad {
            let sentence = format!(
                "wal {}: {} bytes at lsn {bad} are damaged and were skipped",
                self.path.display(),
                proven - bad
            );
            replayed.damage(proven - bad, sentence);
        }
        if proven == found {
            return Ok(Passed::To(found));
        }
        let torn = match self.is_over {
            false => Some(self.limit - proven),
            // Good frames follow, for which nobody vouches.
            true if found < self.limit => Some(self.limit - proven),
            true => self.begun(proven)?.map(|len| len.min(self.limit - proven)),
        };
        torn.into_iter().for_each(|bytes| replayed.tear(bytes));
        Ok(Passed::Torn(proven))
    }

    /// The length of the frame that was begun at `lsn`, as far as its header tells.
    fn begun(&mut self, lsn: u64) -> Result<Option<u64>, Error> {
        if !self.fill(lsn, HEADER_LEN)? {
            return Ok(None);
        }
        let (base, incarnation) = (self.base, self.author.incarnation);
        Ok(Header::begun(self.at(lsn, HEADER_LEN), lsn, base, incarnation))
    }

    /// Where the first good frame at or behind `lsn` is; the limit if there is none.
    fn find(&mut self, mut lsn: u64) -> Result<u64, Error> {
        while lsn < self.limit && self.frame(lsn)?.is_none() {
            lsn = self.find_magic(lsn + 1)?;
        }
        Ok(lsn.min(self.limit))
    }

    /// Where the first frame at or behind `lsn` may begin; the limit if there is none.
    fn find_magic(&mut self, mut lsn: u64) -> Result<u64, Error> {
        let magic = frame::MAGIC.to_le_bytes();
        while self.fill(lsn, HEADER_LEN)? {
            let ahead = self.buffer.get((lsn - self.buffer_at) as usize..).unwrap_or_default();
            if let Some(at) = memmem::find(ahead, &magic) {
                return Ok(lsn + at as u64);
            }
            // It may have begun at the end of what was read.
            lsn = self.buffer_at + self.buffer.len() as u64 - (magic.len() as u64 - 1);
        }
        Ok(self.limit)
    }

    /// Reads on from `lsn` until a frame vouches for everything before `wanted`, or to the end.
    fn vouch(&mut self, mut lsn: u64, wanted: u64) -> Result<(), Error> {
        while lsn < self.limit && self.vouched_lsn < wanted {
            lsn = match self.frame(lsn)? {
                Some(header) => {
                    self.vouched_lsn = self.vouched_lsn.max(header.durable_lsn);
                    lsn + header.frame_len()
                }
                None => self.find(lsn + 1)?,
            };
        }
        Ok(())
    }

    /// The header of a whole and undamaged frame at `lsn`.
    fn frame(&mut self, lsn: u64) -> Result<Option<Header>, Error> {
        let room = self.limit.saturating_sub(lsn);
        if room < HEADER_LEN as u64 || !self.fill(lsn, HEADER_LEN)? {
            return Ok(None);
        }
        let Some(header) = Header::parse(self.at(lsn, HEADER_LEN), lsn) else { return Ok(None) };
        let is_foreign = self.is_known && header.incarnation != self.author.incarnation;
        if is_foreign || room < header.frame_len() {
            return Ok(None);
        }
        if !self.fill(lsn, header.frame_len() as usize)? {
            return Ok(None);
        }
        if !header.fits(&self.author, self.body(lsn, &header)) {
            return Ok(None);
        }
        if !self.is_known {
            self.know(header.incarnation);
        }
        Ok(Some(header))
    }

    fn body(&self, lsn: u64, header: &Header) -> &[u8] {
        self.at(lsn, header.frame_len() as usize).get(HEADER_LEN..).unwrap_or_default()
    }

    /// Makes `len` bytes at `lsn` available in the buffer.
    fn fill(&mut self, lsn: u64, len: usize) -> Result<bool, Error> {
        let end = lsn + len as u64;
        if self.buffer_at <= lsn && end <= self.buffer_at + self.buffer.len() as u64 {
            return Ok(true);
        }
        let available = self.limit.saturating_sub(lsn);
        let len = (len.max(READ_AHEAD) as u64).min(available) as usize;
        self.buffer.resize(len, 0);
        self.buffer_at = lsn;
        let offset = lsn - self.base + SEGMENT_HEADER_LEN as u64;
        self.file.read_at(&mut self.buffer, offset).map_err(Error::io("read", &self.path))?;
        Ok(end <= self.buffer_at + self.buffer.len() as u64)
    }

    fn at(&self, lsn: u64, len: usize) -> &[u8] {
        let start = (lsn - self.buffer_at) as usize;
        self.buffer.get(start..start + len).unwrap_or_default()
    }
}

/// Where reading goes on after a bad frame.
enum Passed {
    /// At a good frame, or at the segment's end.
    To(u64),
    /// Nowhere: nobody vouches for this place.
    Torn(u64),
}
