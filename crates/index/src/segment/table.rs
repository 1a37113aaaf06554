//! The two kinds of tables of a segment.
//!
//! ```text
//! array   entries of one width
//! rows    groups of 16 rows, then the positions of the groups and of their end, u64 each
//! group   the lengths of its rows, varints | the rows
//! ```

use super::Segment;
use crate::error::Error;
use foliot_codec::varint::{get_u32, get_u64, put_u32, put_u64};

/// Rows of a group.
pub(super) const GROUP_ROWS: u32 = 16;
/// The lengths of a group's rows take no more.
const LENGTHS_BYTES_MAX: u64 = GROUP_ROWS as u64 * 5;

/// Entries of one width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Array {
    pub(super) at: u64,
    pub(super) len: u32,
}

/// Rows of different lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rows {
    pub(super) groups_at: u64,
    pub(super) len: u32,
}

impl Array {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        put_u64(out, self.at);
        put_u32(out, self.len);
    }

    pub(super) fn decode(rest: &mut &[u8]) -> Option<Self> {
        Some(Self { at: get_u64(rest).ok()?, len: get_u32(rest).ok()? })
    }

    /// An entry of `N` numbers.
    pub(super) fn get<const N: usize>(
        &self,
        segment: &Segment,
        index: u32,
    ) -> Result<[u32; N], Error> {
        let found = self.range::<N>(segment, index, index + 1)?;
        found.first().copied().ok_or_else(|| segment.damaged(self.at, "entry is not there"))
    }

    /// The entries from `start` to `end`.
    pub(super) fn range<const N: usize>(
        &self,
        segment: &Segment,
        start: u32,
        end: u32,
    ) -> Result<Vec<[u32; N]>, Error> {
        if end > self.len || start > end {
            return Err(segment.damaged(self.at, "entries are not there"));
        }
        let width = N * 4;
        let mut bytes = Vec::new();
        let at = self.at + u64::from(start) * width as u64;
        (segment.read_at)(at, (end - start) as usize * width, &mut bytes)?;
        let number = |bytes: &[u8]| bytes.first_chunk().map_or(0, |b| u32::from_le_bytes(*b));
        let entry = |bytes: &[u8]| {
            let mut numbers = [0; N];
            numbers.iter_mut().zip(bytes.chunks_exact(4)).for_each(|(to, b)| *to = number(b));
            numbers
        };
        Ok(bytes.chunks_exact(width).map(entry).collect())
    }

    /// The first entry between `start` and `end` that `is_before` does not hold for, when it holds
    /// for all before some entry and for none after.
    pub(super) fn partition<const N: usize>(
        &self,
        segment: &Segment,
        (mut start, mut end): (u32, u32),
        is_before: impl Fn([u32; N]) -> Result<bool, Error>,
    ) -> Result<u32, Error> {
        while start < end {
            let middle = start + (end - start) / 2;
            match is_before(self.get(segment, middle)?)? {
                true => start = middle + 1,
                false => end = middle,
            }
        }
        Ok(start)
    }
}

impl Rows {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        put_u64(out, self.groups_at);
        put_u32(out, self.len);
    }

    pub(super) fn decode(rest: &mut &[u8]) -> Option<Self> {
        Some(Self { groups_at: get_u64(rest).ok()?, len: get_u32(rest).ok()? })
    }

    pub(super) fn groups(&self) -> u32 {
        self.len.div_ceil(GROUP_ROWS)
    }

    /// Start and end of a group.
    fn extent(&self, segment: &Segment, group: u32) -> Result<(u64, u64), Error> {
        if group >= self.groups() {
            return Err(segment.damaged(self.groups_at, "row is not there"));
        }
        let mut bytes = Vec::with_capacity(16);
        (segment.read_at)(self.groups_at + u64::from(group) * 8, 16, &mut bytes)?;
        match bytes.split_first_chunk::<8>().and_then(|(a, b)| Some((*a, *b.first_chunk::<8>()?))) {
            Some((start, end)) if u64::from_le_bytes(start) <= u64::from_le_bytes(end) => {
                Ok((u64::from_le_bytes(start), u64::from_le_bytes(end)))
            }
            _ => Err(segment.damaged(self.groups_at, "group has no length")),
        }
    }

    fn group_rows(&self, group: u32) -> u32 {
        (self.len - group * GROUP_ROWS).min(GROUP_ROWS)
    }

    /// One row, without the rest of its group.
    pub(super) fn row(&self, segment: &Segment, index: u32) -> Result<Vec<u8>, Error> {
        let group = index / GROUP_ROWS;
        let (start, end) = self.extent(segment, group)?;
        let head_len = (end - start).min(LENGTHS_BYTES_MAX);
        let mut head = Vec::new();
        (segment.read_at)(start, head_len as usize, &mut head)?;
        let rest = &mut &*head;
        let mut wanted = (0, 0);
        let mut before = 0;
        for at in 0..self.group_rows(group) {
            let len = get_u32(rest).map_err(|_| segment.damaged(start, "row has no length"))?;
            if at == index % GROUP_ROWS {
                wanted = (before, len);
            }
            before += u64::from(len);
        }
        let at = start + (head.len() - rest.len()) as u64 + wanted.0;
        let mut row = Vec::with_capacity(wanted.1 as usize);
        if wanted.1 > 0 && at + u64::from(wanted.1) > end {
            return Err(segment.damaged(at, "row reaches out of its group"));
        }
        (segment.read_at)(at, wanted.1 as usize, &mut row)?;
        Ok(row)
    }

    /// All rows of a group.
    pub(super) fn group(&self, segment: &Segment, group: u32) -> Result<Group, Error> {
        let (start, end) = self.extent(segment, group)?;
        let mut bytes = Vec::new();
        (segment.read_at)(start, (end - start) as usize, &mut bytes)?;
        let rest = &mut &*bytes;
        let mut lengths = Vec::with_capacity(GROUP_ROWS as usize);
        for _ in 0..self.group_rows(group) {
            let len = get_u32(rest).map_err(|_| segment.damaged(start, "row has no length"))?;
            lengths.push(len as usize);
        }
        let rows = rest.to_vec();
        if lengths.iter().sum::<usize>() != rows.len() {
            return Err(segment.damaged(start, "rows do not fill their group"));
        }
        Ok(Group { number: group, rows, lengths })
    }
}

/// The rows of one group.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) number: u32,
    rows: Vec<u8>,
    lengths: Vec<usize>,
}

impl Group {
    pub(super) fn rows(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &*self.rows;
        self.lengths.iter().map(move |&len| {
            let (row, after) = rest.split_at_checked(len).unwrap_or_default();
            rest = after;
            row
        })
    }
}

/// Reads rows that mostly follow each other: a group is read once.
#[derive(Debug)]
pub(super) struct Cursor<'s> {
    segment: &'s Segment,
    rows: Rows,
    group: Option<Group>,
}

impl<'s> Cursor<'s> {
    pub(super) fn new(segment: &'s Segment, rows: Rows) -> Self {
        Self { segment, rows, group: None }
    }

    pub(super) fn row(&mut self, index: u32) -> Result<&[u8], Error> {
        let number = index / GROUP_ROWS;
        if self.group.as_ref().is_none_or(|group| group.number != number) {
            self.group = Some(self.rows.group(self.segment, number)?);
        }
        let group = self.group.as_ref();
        let row = group.and_then(|group| group.rows().nth((index % GROUP_ROWS) as usize));
        row.ok_or_else(|| self.segment.damaged(self.rows.groups_at, "row is not there"))
    }
}
