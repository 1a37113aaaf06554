//! Segments: the files that the wal lies in, and reading them back.
//!
//! ```text
//! +----------+--------------+--------------+---------+-----------+
//! | preamble | store id u64 | base lsn u64 | 0 0 0 0 | crc32 u32 |
//! +----------+--------------+--------------+---------+-----------+
//! | frames, the first at the base lsn ...                        |
//! +--------------------------------------------------------------+
//! ```
//!
//! A segment ends where the next one begins. Everything in a segment that is not the newest was
//! synced before the next one was made, so a bad frame there is damage: it is skipped and what
//! follows is kept. In the newest one a bad frame is where the power went; reading ends there.

use super::frame::{FrameKind, HEADER_LEN, Header};
use crate::error::Error;
use crate::filenames::{self, Named};
use crate::preamble::Preamble;
use foliot_codec::checksum;
use foliot_disk::{Disk, ReadFile};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const PREAMBLE: Preamble = Preamble { magic: *b"Fwal", version: 1, what: "a wal segment" };
/// Bytes of a segment before its first frame.
pub(crate) const SEGMENT_HEADER_LEN: usize = 32;
const READ_AHEAD: usize = 1 << 20;

/// The header of a segment that begins at `base_lsn`.
pub(crate) fn segment_header(store_id: u64, base_lsn: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(SEGMENT_HEADER_LEN);
    out.extend_from_slice(&PREAMBLE.bytes());
    out.extend_from_slice(&store_id.to_le_bytes());
    out.extend_from_slice(&base_lsn.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    let crc = checksum(&out);
    out.extend_from_slice(&crc.to_le_bytes());
    out
}

/// The store that the segment beginning at `base_lsn` belongs to.
pub(crate) fn owner(disk: &dyn Disk, dir: &Path, base_lsn: u64) -> Result<u64, Error> {
    let path = filenames::wal(dir, base_lsn);
    let file = disk.open(&path).map_err(Error::io("open", &path))?;
    let mut header = [0; SEGMENT_HEADER_LEN];
    file.read_at(&mut header, 0).map_err(Error::io("read", &path))?;
    let store_id = header.get(Preamble::LEN..).and_then(|rest| rest.first_chunk::<8>());
    let store_id = store_id.map_or(0, |bytes| u64::from_le_bytes(*bytes));
    match header == *segment_header(store_id, base_lsn) {
        true => Ok(store_id),
        false => Err(Error::corrupt(&path, 0, "damaged header")),
    }
}

/// What reading the wal back found.
#[derive(Debug, Default, Clone)]
pub(crate) struct Replayed {
    /// Where the stream goes on.
    pub(crate) end_lsn: u64,
    pub(crate) frames: u64,
    /// What was wrong, each a sentence for the log.
    pub(crate) damages: Vec<String>,
    /// Whether the last write before the stop was incomplete, as after a power cut.
    pub(crate) is_torn: bool,
}

/// Base lsns of the segments in `dir`, ascending.
pub(crate) fn list(disk: &dyn Disk, dir: &Path) -> Result<Vec<u64>, Error> {
    let names = disk.list(dir).map_err(Error::io("list", dir))?;
    let mut bases: Vec<u64> = names
        .iter()
        .filter_map(|name| match filenames::parse(name) {
            Some(Named::Wal(lsn)) => Some(lsn),
            _ => None,
        })
        .collect();
    bases.sort_unstable();
    Ok(bases)
}

/// Takes a frame's lsn, kind and body.
pub(crate) type TakeFrame<'t> = dyn FnMut(u64, FrameKind, &[u8]) -> Result<(), Error> + 't;

/// Calls `each` with every frame from `start_lsn` on.
pub(crate) fn replay(
    disk: &dyn Disk,
    dir: &Path,
    store_id: u64,
    start_lsn: u64,
    each: &mut TakeFrame<'_>,
) -> Result<Replayed, Error> {
    let bases = list(disk, dir)?;
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
            replayed.damages.push(lost);
            replayed.end_lsn = base;
        }
        let file = disk.open(&path).map_err(Error::io("open", &path))?;
        let mut segment = Segment { file, path, base, next, buffer: Vec::new(), buffer_at: 0 };
        segment.read(store_id, start_lsn, &mut replayed, each)?;
    }
    Ok(replayed)
}

struct Segment {
    file: Arc<dyn ReadFile>,
    path: PathBuf,
    base: u64,
    next: Option<u64>,
    buffer: Vec<u8>,
    buffer_at: u64,
}

impl Segment {
    fn read(
        &mut self,
        store_id: u64,
        start_lsn: u64,
        replayed: &mut Replayed,
        each: &mut TakeFrame<'_>,
    ) -> Result<(), Error> {
        if !self.check_header(store_id, replayed)? {
            return Ok(());
        }
        let limit = self.next.unwrap_or(u64::MAX).min(self.base + self.frames_len());
        let mut lsn = self.base;
        while lsn < limit {
            let Some(header) = self.frame(lsn)? else {
                match self.resume(lsn, limit, replayed)? {
                    Some(later) => lsn = later,
                    None => break,
                }
                continue;
            };
            if lsn >= start_lsn {
                replayed.frames += 1;
                let body = self.body(lsn, &header);
                each(lsn, header.kind, body)?;
            }
            lsn += header.frame_len();
        }
        replayed.end_lsn = replayed.end_lsn.max(lsn.min(limit));
        Ok(())
    }

    fn frames_len(&self) -> u64 {
        self.file.len().saturating_sub(SEGMENT_HEADER_LEN as u64)
    }

    fn check_header(&mut self, store_id: u64, replayed: &mut Replayed) -> Result<bool, Error> {
        let expected = segment_header(store_id, self.base);
        let mut found = vec![0; SEGMENT_HEADER_LEN];
        let is_short = self.file.len() < SEGMENT_HEADER_LEN as u64;
        if !is_short {
            self.file.read_at(&mut found, 0).map_err(Error::io("read", &self.path))?;
        }
        // A header whose checksum fits is not damaged: if it is another one, a later build wrote
        // it.
        if let Some((header, crc)) = found.split_last_chunk::<4>()
            && checksum(header) == u32::from_le_bytes(*crc)
        {
            PREAMBLE.take(&mut &*header, &self.path)?;
        }
        if found == expected {
            return Ok(true);
        }
        match self.next {
            None => replayed.is_torn = true,
            Some(_) => {
                let path = self.path.display();
                replayed.damages.push(format!("wal {path} has a damaged header and was skipped"));
            }
        }
        Ok(false)
    }

    /// After a bad frame at `lsn`: where to go on, or nothing at the segment's end.
    fn resume(
        &mut self,
        lsn: u64,
        limit: u64,
        replayed: &mut Replayed,
    ) -> Result<Option<u64>, Error> {
        if self.next.is_none() {
            replayed.is_torn = true;
            return Ok(None);
        }
        let mut later = lsn + 1;
        while later < limit && self.frame(later)?.is_none() {
            later += 1;
        }
        let path = self.path.display();
        replayed.damages.push(format!(
            "wal {path}: {} bytes at lsn {lsn} are damaged and were skipped",
            later - lsn
        ));
        Ok((later < limit).then_some(later))
    }

    /// The header of a whole and undamaged frame at `lsn`.
    fn frame(&mut self, lsn: u64) -> Result<Option<Header>, Error> {
        let room = self.base + self.frames_len() - lsn;
        if room < HEADER_LEN as u64 || !self.fill(lsn, HEADER_LEN)? {
            return Ok(None);
        }
        let Some(header) = Header::parse(self.at(lsn, HEADER_LEN), lsn) else { return Ok(None) };
        if room < header.frame_len() || !self.fill(lsn, header.frame_len() as usize)? {
            return Ok(None);
        }
        Ok(header.fits(self.body(lsn, &header)).then_some(header))
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
        let available = self.base + self.frames_len() - lsn;
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
