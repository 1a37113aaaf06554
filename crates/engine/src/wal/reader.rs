//! Reading the wal back.
//!
//! A bad frame is either damage or where the power went. All segments but the newest were synced
//! before the next one was made, so there it is damage. In the newest one it is damage if a later
//! frame of the same incarnation vouches for its place: says that this much of the stream was
//! durable. Damage is reported and skipped, and what follows is kept. What nobody vouches for was
//! never acknowledged as durable: there reading ends.
//!
//! Reading begins at the lsn that the manifest names. Damage before it costs nothing.

use super::frame::{Author, FrameKind, HEADER_LEN, Header, Purpose, body_checksum};
use super::segment::{self, SEGMENT_HEADER_LEN, SegmentHeader};
use crate::error::Error;
use crate::filenames;
use foliot_disk::{Disk, ReadFile};
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
    /// Damaged frames whose twin was read: what would stand in their place.
    pub(crate) mends: Vec<Mend>,
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
    let bases = segment::list(disk, dir)?;
    let mut replayed = Replayed { end_lsn: start_lsn, ..Replayed::default() };
    for (index, &base) in bases.iter().enumerate() {
        let next = bases.get(index + 1).copied();
        if next.is_some_and(|next| next <= start_lsn) {
            continue;
        }
        let path = filenames::wal(dir, base);
        if base > replayed.end_lsn {
            let lost = format!(
                "wal {} begins at {base}, but the one before ends at {}: what lay between is lost",
                path.display(),
                replayed.end_lsn
            );
            replayed.damage(base - replayed.end_lsn, lost);
            replayed.end_lsn = base;
        }
        let file = disk.open(&path).map_err(Error::io("open", &path))?;
        let mut segment = Segment::new(file, path, store_id, base, next);
        segment.read(start_lsn, &mut replayed, each)?;
    }
    Ok(replayed)
}

struct Segment {
    file: Arc<dyn ReadFile>,
    path: PathBuf,
    store_id: u64,
    base: u64,
    /// Where its frames end at the latest.
    limit: u64,
    /// What its frames must fit; of the incarnation that is known.
    author: Author,
    /// Whether the incarnation is known.
    is_known: bool,
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
        Self {
            file,
            path,
            store_id,
            base,
            limit: next.unwrap_or(u64::MAX).min(base.saturating_add(frames_len)),
            author: Author::new(store_id, 0),
            is_known: false,
            vouched_lsn: if next.is_some() { u64::MAX } else { 0 },
            buffer: Vec::new(),
            buffer_at: 0,
        }
    }

    fn read(
        &mut self,
        start_lsn: u64,
        replayed: &mut Replayed,
        each: &mut TakeFrame<'_>,
    ) -> Result<(), Error> {
        let mut lsn = self.base.max(start_lsn);
        if !self.enter(lsn, replayed)? {
            return Ok(());
        }
        let mut registered_at = None;
        // The register frame that ends at `registered_at`, and the damage that ends at `lsn`.
        let (mut registered, mut damaged_at) = (None, None);
        while lsn < self.limit {
            let Some(header) = self.frame(lsn)? else {
                match self.pass(lsn, replayed)? {
                    Passed::To(later) => {
                        if let Some((from, header)) =
                            registered.filter(|_| registered_at == Some(lsn))
                        {
                            let copy = (lsn..later, Purpose::RegisterCopy);
                            replayed.mends.extend(self.mend(copy, from, &header)?);
                        }
                        damaged_at = Some(lsn);
                        lsn = later;
                    }
                    Passed::Torn(at) => {
                        lsn = at;
                        break;
                    }
                }
                continue;
            };
            let end = lsn + header.frame_len();
            let kind = match header.purpose {
                Purpose::Change(kind) => Some(kind),
                Purpose::RegisterCopy if registered_at != Some(lsn) => Some(FrameKind::Register),
                Purpose::RegisterCopy | Purpose::Mark => None,
            };
            if let (Purpose::RegisterCopy, Some(_), Some(bad)) = (header.purpose, kind, damaged_at)
            {
                let lost = (bad..lsn, Purpose::Change(FrameKind::Register));
                replayed.mends.extend(self.mend(lost, lsn, &header)?);
            }
            (damaged_at, registered) = (None, Some((lsn, header)));
            if let Some(kind) = kind {
                replayed.frames += 1;
                each(lsn, kind, self.body(lsn, &header))?;
            }
            registered_at = (kind == Some(FrameKind::Register)).then_some(end);
            lsn = end;
        }
        replayed.end_lsn = replayed.end_lsn.max(lsn);
        Ok(())
    }

    /// Learns whose frames to expect, from the header or, where that is damaged, from the first
    /// frame at or behind `lsn`. False if there is nothing to read.
    fn enter(&mut self, lsn: u64, replayed: &mut Replayed) -> Result<bool, Error> {
        let path = self.path.display().to_string();
        match SegmentHeader::read(&*self.file, &self.path)? {
            Some(SegmentHeader { store_id, base_lsn, incarnation }) => {
                if (store_id, base_lsn) != (self.store_id, self.base) {
                    let other = format!("wal {path} is of another store or place, and was skipped");
                    replayed.damage(0, other);
                    return Ok(false);
                }
                self.know(incarnation);
                return Ok(true);
            }
            None if lsn < self.limit || self.vouched_lsn > 0 => {}
            // Frames before are in parts already, and nobody can say more about the newest header.
            None => {
                replayed.tear(0);
                return Ok(false);
            }
        }
        let found = self.find(lsn)?;
        self.vouch(found, self.base + 1)?;
        if self.vouched_lsn <= self.base {
            replayed.tear(self.limit - self.base);
            return Ok(false);
        }
        let sentence = format!("wal {path} has a damaged header; its frames were read without it");
        replayed.damage(SEGMENT_HEADER_LEN as u64, sentence);
        Ok(true)
    }

    fn know(&mut self, incarnation: u64) {
        self.author = Author::new(self.store_id, incarnation);
        self.is_known = true;
    }

    /// Passes over a bad frame at `bad`.
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
        replayed.tear(self.limit - proven);
        Ok(Passed::Torn(proven))
    }

    /// The frame that belongs in the place of a damaged one, if that is as long as its good twin at
    /// `twin`. What the twin vouches for is durable wherever it is said.
    fn mend(
        &mut self,
        (place, purpose): (Range<u64>, Purpose),
        twin: u64,
        header: &Header,
    ) -> Result<Option<Mend>, Error> {
        let len = header.frame_len();
        if place.end - place.start != len || !self.fill(twin, len as usize)? {
            return Ok(None);
        }
        let body = self.body(twin, header);
        let crc = body_checksum(body);
        let lsn = place.start;
        let own = self.author.header(purpose, lsn, header.durable_lsn, header.len, crc);
        let offset = lsn - self.base + SEGMENT_HEADER_LEN as u64;
        Ok(Some(Mend { path: self.path.clone(), offset, bytes: [&own, body].concat() }))
    }

    /// Where the first good frame at or behind `lsn` is; the limit if there is none.
    fn find(&mut self, mut lsn: u64) -> Result<u64, Error> {
        while lsn < self.limit && self.frame(lsn)?.is_none() {
            lsn += 1;
        }
        Ok(lsn.min(self.limit))
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
