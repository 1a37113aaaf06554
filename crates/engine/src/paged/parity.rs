//! Parity: what a paged file holds beyond its pages, so that one damaged place costs nothing.
//!
//! The stored pages of a file, checksums included, are taken in *stretches* of about 4 MiB. A
//! stretch is cut into rows of one width, and its parity is the rows added up without carries
//! (XOR). The width is a page for a stretch of a MiB or more and less for a shorter one, so that
//! parity takes one byte in 32 to 128, but no less than a sector: a stretch that is shorter than
//! one is there twice. It begins in a sector of its own, so that no sector takes it and its pages.
//!
//! Adding parity and rows once more gives the *traces*: zero where nothing is damaged, and in each
//! damaged column what has to be added to the one damaged byte of that column. The parity does not
//! say in which row, the checksums of the pages do: a guess that makes all of them fit is right.
//! So one run of damaged bytes that is no longer than half the width is mended in every stretch,
//! wherever it lies, and one that is no longer than the width if it is a page's or begins with a
//! sector.

use super::layout::{Layout, Stretch};
use super::{CRC_LEN, checked, page_checksum};
use crate::limits::{PARITY_WIDTH_MAX, SECTOR_BYTES, STRETCH_BYTES};
use foliot_disk::ReadFile;

/// A row is no shorter than this share of its stretch, where the limits let it.
const ROWS: u64 = 32;
/// Where a run of lost bytes may begin: at a sector of the shorter kind.
const SECTOR_BYTES_MIN: usize = 512;
/// Stands, with the number of its first page, for the number of a page in a parity's checksum.
const PARITY: u64 = 1 << 63;

/// The width for a stretch of `len` stored bytes of which the first page is numbered `first`.
/// Behind the first stretch it is a page.
pub(super) fn width(len: u64, first: u64) -> usize {
    let share = (len / ROWS).max(1);
    let width = match first {
        0 => (1 << share.ilog2()).clamp(SECTOR_BYTES as u64, PARITY_WIDTH_MAX as u64),
        _ => PARITY_WIDTH_MAX as u64,
    };
    width.min(len) as usize
}

/// Whether a stretch of so many bytes takes no further page.
pub(super) fn is_full(len: u64) -> bool {
    len >= STRETCH_BYTES
}

/// The parity of the stretch being written.
#[derive(Default)]
pub(super) struct Parity {
    /// Rows of the greatest width added up; as long as the longest so far.
    sum: Vec<u8>,
    /// Bytes of the stretch so far.
    pub(super) len: u64,
    /// The number of its first page.
    pub(super) first: u64,
}

impl Parity {
    /// Adds the next bytes of the stretch.
    pub(super) fn absorb(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let column = (self.len % PARITY_WIDTH_MAX as u64) as usize;
            let (now, later) = bytes.split_at(bytes.len().min(PARITY_WIDTH_MAX - column));
            if self.sum.len() < column + now.len() {
                self.sum.resize(column + now.len(), 0);
            }
            add(self.sum.get_mut(column..).unwrap_or_default(), now);
            self.len += now.len() as u64;
            bytes = later;
        }
    }

    /// The parity, so many bytes wide, with its checksum; the next stretch begins with page `next`.
    pub(super) fn end(&mut self, width: usize, number: u64, next: u64) -> Vec<u8> {
        // Widths are powers of two, or the whole of a short stretch: rows of the greatest width
        // fold into narrower ones.
        let width = width.min(self.sum.len());
        let (head, rest) = self.sum.split_at_mut(width);
        rest.chunks(width.max(1)).for_each(|row| add(head, row));
        let mut out = Vec::with_capacity(width + CRC_LEN);
        out.extend_from_slice(head);
        out.extend_from_slice(&parity_checksum(number, self.first, head).to_le_bytes());
        self.sum.clear();
        (self.len, self.first) = (0, next);
        out
    }
}

/// Whether the parity of a stretch fits its own checksum.
pub(super) fn is_sound(file: &dyn ReadFile, stretch: Stretch, number: u64) -> bool {
    fits(&read(file, stretch.parity_at, stretch.width + CRC_LEN), number, stretch.first)
}

/// Whether a parity fits the checksum at its end.
fn fits(parity: &[u8], number: u64, first: u64) -> bool {
    parity.split_last_chunk::<CRC_LEN>().is_some_and(|(bytes, crc)| {
        parity_checksum(number, first, bytes) == u32::from_le_bytes(*crc)
    })
}

fn parity_checksum(number: u64, first: u64, bytes: &[u8]) -> u32 {
    page_checksum(number, PARITY | first, bytes)
}

/// Adds `bytes` to the front of `sum`.
fn add(sum: &mut [u8], bytes: &[u8]) {
    sum.iter_mut().zip(bytes).for_each(|(sum, byte)| *sum ^= byte);
}

/// A stretch as it was read: the stored bytes of its pages end to end, and its parity.
pub(super) struct Read {
    stretch: Stretch,
    pub(super) bytes: Vec<u8>,
    /// What lies before the parity: zeros.
    gap: Vec<u8>,
    /// With its checksum.
    pub(super) parity: Vec<u8>,
}

/// What became of a stretch that was read.
pub(super) struct Mended {
    /// Numbers of pages that were damaged.
    pub(super) pages: Vec<u64>,
    /// Whether the parity was.
    pub(super) is_parity: bool,
}

impl Read {
    /// Reads the stretch; what the disk does not give counts as zeros, that is as damage.
    pub(super) fn new(file: &dyn ReadFile, stretch: Stretch) -> Self {
        let bytes = read(file, stretch.at, stretch.len as usize);
        let gap = read(file, stretch.gap_at, (stretch.parity_at - stretch.gap_at) as usize);
        let parity = read(file, stretch.parity_at, stretch.width + CRC_LEN);
        Self { stretch, bytes, gap, parity }
    }

    /// Makes pages and parity what they were when they were written. The first page that cannot be
    /// mended is the error.
    pub(super) fn mend(&mut self, layout: &Layout, number: u64) -> Result<Mended, u64> {
        let pages = self.bad_pages(layout, number);
        let is_parity_sound = fits(&self.parity, number, self.stretch.first);
        let Some(&first) = pages.first() else {
            // Every page fits its checksum: a parity that is not theirs is the damage.
            let mut parity = Parity { first: self.stretch.first, ..Parity::default() };
            parity.absorb(&self.bytes);
            let parity = parity.end(self.stretch.width, number, 0);
            let is_parity = self.parity != parity;
            self.parity = parity;
            return Ok(Mended { pages, is_parity });
        };
        match is_parity_sound && self.mend_pages(layout, number, &pages) {
            true => Ok(Mended { pages, is_parity: false }),
            false => Err(first),
        }
    }

    /// Whether there is something where nothing should be.
    pub(super) fn has_marks_in_gap(&self) -> bool {
        self.gap.iter().any(|byte| *byte != 0)
    }

    fn bad_pages(&self, layout: &Layout, number: u64) -> Vec<u64> {
        let is_bad = |page: &u64| {
            let stored = self.bytes.get(self.place(layout, *page));
            stored.is_none_or(|stored| checked(stored, number, *page).is_none())
        };
        (self.stretch.first..self.stretch.end).filter(is_bad).collect()
    }

    /// Where a page lies in the bytes.
    pub(super) fn place(&self, layout: &Layout, page: u64) -> std::ops::Range<usize> {
        let (at, len) = layout.stored(page);
        let start = at.saturating_sub(self.stretch.at) as usize;
        start..start + len
    }

    /// Looks for the one run of bytes that makes all pages fit.
    fn mend_pages(&mut self, layout: &Layout, number: u64, bad: &[u64]) -> bool {
        let width = self.stretch.width;
        let mut traces = self.parity.get(..width).unwrap_or_default().to_vec();
        self.bytes.chunks(width.max(1)).for_each(|row| add(&mut traces, row));
        let (Some(&first), Some(&last)) = (bad.first(), bad.last()) else { return true };
        let (start, end) = (self.place(layout, first).start, self.place(layout, last).end);
        let guesses: Vec<(usize, usize)> = match end - start <= width {
            // Every damaged byte has a column of its own.
            true => vec![(start, end - start)],
            false => {
                let (column, run) = shortest_run(&traces);
                let rows = (start / width..=end / width).map(|row| row * width + column);
                let rows = rows.map(|at| (at, run));
                let rows = rows.filter(|(at, run)| *at >= start && at + run <= end);
                rows.chain(self.sectors(start, end)).collect()
            }
        };
        for (at, run) in guesses {
            self.apply(at, run, &traces);
            if self.bad_pages(layout, number).is_empty() {
                return true;
            }
            self.apply(at, run, &traces);
        }
        false
    }

    /// Runs from each place between `start` and `end` where a sector begins. Of damage as long as a
    /// row the traces don't tell where it begins; and a disk loses sectors.
    fn sectors(&self, start: usize, end: usize) -> impl Iterator<Item = (usize, usize)> {
        let (at, width) = (self.stretch.at as usize, self.stretch.width);
        let first = (at + start) / SECTOR_BYTES_MIN * SECTOR_BYTES_MIN;
        let sectors = (first..at + end).step_by(SECTOR_BYTES_MIN);
        sectors.map(move |sector| {
            let from = sector.max(at + start);
            (from - at, (sector + width).min(at + end) - from)
        })
    }

    /// Adds the traces of a run of columns to the bytes at `at`; twice is not at all.
    fn apply(&mut self, at: usize, run: usize, traces: &[u8]) {
        let cycle = traces.iter().cycle().skip(at % traces.len().max(1));
        let bytes = self.bytes.get_mut(at..).unwrap_or_default();
        bytes.iter_mut().take(run).zip(cycle).for_each(|(byte, trace)| *byte ^= trace);
    }
}

/// Where the shortest run of columns begins, around the end if need be, that has all the traces,
/// and how long it is.
fn shortest_run(traces: &[u8]) -> (usize, usize) {
    let columns: Vec<usize> = (0..traces.len()).filter(|at| traces.get(*at) != Some(&0)).collect();
    let (Some(&first), Some(&last)) = (columns.first(), columns.last()) else { return (0, 0) };
    let mut best = (first, last - first + 1);
    // The run that begins behind a gap ends, around the end, before it.
    for (before, after) in columns.iter().zip(columns.iter().skip(1)) {
        let run = before + 1 + traces.len() - after;
        if run < best.1 {
            best = (*after, run);
        }
    }
    best
}

/// `len` bytes at `at`, zeros for sectors that the disk does not give.
pub(super) fn read(file: &dyn ReadFile, at: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    if file.read_at(&mut bytes, at).is_err() {
        for (sector, bytes) in bytes.chunks_mut(SECTOR_BYTES).enumerate() {
            if file.read_at(bytes, at + (sector * SECTOR_BYTES) as u64).is_err() {
                bytes.fill(0);
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parity_is_a_page_wide_or_a_small_share() {
        assert_eq!(width(0, 0), 0);
        assert_eq!(width(100, 0), 100);
        assert_eq!(width(100_000, 0), 4096);
        assert_eq!(width(300_000, 0), 8192);
        assert_eq!(width(1 << 20, 0), 32_768);
        assert_eq!(width(4 << 20, 0), 32_768);
        assert_eq!(width(100, 128), 100);
        assert_eq!(width(100_000, 128), 32_768);
    }

    #[test]
    fn folded_rows_are_the_parity_of_the_narrower_width() {
        for len in [1, 4095, 4096, 4097, 70_000, 200_001, 1_100_000] {
            let bytes: Vec<u8> =
                (0..len).map(|at: u32| (at.wrapping_mul(0x9e37) >> 7) as u8).collect();
            let mut parity = Parity::default();
            bytes.chunks(33).for_each(|bytes| parity.absorb(bytes));
            let width = width(u64::from(len), 0);
            let mut expected = vec![0; width];
            bytes.chunks(width).for_each(|row| add(&mut expected, row));
            assert_eq!(&parity.end(width, 1, 9)[..width], expected, "{len}");
            assert_eq!((parity.len, parity.first), (0, 9));
        }
    }

    #[test]
    fn the_shortest_run_may_go_around_the_end() {
        assert_eq!(shortest_run(&[0, 0, 1, 0, 1, 0, 0, 0]), (2, 3));
        assert_eq!(shortest_run(&[1, 0, 0, 0, 0, 0, 1, 1]), (6, 3));
        assert_eq!(shortest_run(&[0, 0]), (0, 0));
        assert_eq!(shortest_run(&[7]), (0, 1));
    }
}
