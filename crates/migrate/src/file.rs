//! A file that is read here and there, mostly onwards: a stretch of it is held.

use super::cursor::{Wrong, be32, is_whole};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes read at once.
const STRETCH_BYTES: usize = 256 << 10;

/// A file, and what was read of it last.
#[derive(Debug)]
pub(super) struct Reader {
    file: File,
    len: u64,
    start: u64,
    stretch: Vec<u8>,
    /// Bytes that were read from the disk since somebody asked.
    pub(super) read_bytes: u64,
}

impl Reader {
    pub(super) fn open(path: &Path) -> Result<Self, Wrong> {
        let cannot = |error: std::io::Error| format!("cannot open {}: {error}", path.display());
        let file = File::open(path).map_err(cannot)?;
        let len = file.metadata().map_err(cannot)?.len();
        Ok(Self { file, len, start: 0, stretch: Vec::new(), read_bytes: 0 })
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// So many bytes from a place on.
    pub(super) fn get(&mut self, at: u64, count: usize) -> Result<&[u8], Wrong> {
        let end = at.checked_add(count as u64).filter(|end| *end <= self.len);
        let end = end.ok_or_else(|| format!("the file ends before byte {at} + {count}"))?;
        if at < self.start || end > self.start + self.stretch.len() as u64 {
            let most = usize::try_from(self.len - at).unwrap_or(usize::MAX);
            self.stretch.resize(count.max(STRETCH_BYTES).min(most), 0);
            self.start = at;
            let read = self.file.read_exact_at(&mut self.stretch, at);
            if let Err(error) = read {
                self.stretch.clear();
                return Err(format!("cannot read at byte {at}: {error}"));
            }
            self.read_bytes += self.stretch.len() as u64;
        }
        let from = (at - self.start) as usize;
        self.stretch.get(from..from + count).ok_or_else(|| "it ends too early".to_owned())
    }

    /// So many bytes from a place on, or what there is.
    pub(super) fn get_some(&mut self, at: u64, count: usize) -> Result<&[u8], Wrong> {
        let rest = usize::try_from(self.len.saturating_sub(at)).unwrap_or(usize::MAX);
        self.get(at, count.min(rest))
    }

    /// So many bytes, which are under the checksum that stands behind them.
    pub(super) fn get_checked(&mut self, at: u64, count: usize) -> Result<&[u8], Wrong> {
        let (bytes, sum) =
            self.get(at, count.saturating_add(4))?.split_last_chunk().unwrap_or((&[], &[0; 4]));
        let is_whole = is_whole(bytes, be32(*sum));
        is_whole
            .then_some(bytes)
            .ok_or_else(|| format!("the checksum of what is at byte {at} is wrong"))
    }
}
