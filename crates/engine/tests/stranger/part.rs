//! `docs/format/part.md`: samples by series.

use crate::block::{self, Met};
use crate::bytes::{Bytes, preamble};
use crate::formula::Value;

/// What one part holds.
pub struct Part {
    pub number: u64,
    pub rank: u64,
    pub level: u8,
    /// By series, in time order.
    pub samples: Vec<(u32, Vec<(i64, Value)>)>,
    /// Names of the series, of final parts; those of dropped ones are empty.
    pub names: Vec<(u32, Vec<u8>)>,
}

pub fn read(logical: &[u8], met: &mut Met) -> Part {
    let mut header = Bytes(logical);
    preamble(&mut header, b"Fprt");
    let (_store, number, rank) = (header.u64(), header.u64(), header.u64());
    let (_namespace, _class, _epoch) = (header.u32(), header.u32(), header.u32());
    let level = header.u8();
    if level >= 2 {
        header.take(3);
        let (database, policy) = (header.text(), header.text());
        assert!(!database.is_empty() && !policy.is_empty());
    }
    let mut footer = Bytes(&logical[logical.len() - 64..]);
    let (directory, pages) = (footer.u64() as usize, footer.u32());
    footer.u32();
    let (_series, blocks, samples) = (footer.u64(), footer.u64(), footer.u64());
    let mut part = Part { number, rank, level, samples: Vec::new(), names: Vec::new() };
    let mut entries = Bytes(&logical[directory..]);
    let mut blocks_read = 0;
    for _ in 0..pages {
        let (first, length, position) = (entries.u32(), entries.u32() as usize, entries.u64());
        let position = position as usize;
        let page = &logical[position..position + length];
        let before = part.samples.len();
        blocks_read += index_page(logical, page, &mut part, met);
        assert_eq!(part.samples[before].0, first);
        if level >= 2 {
            label_page(Bytes(&logical[position + length..]), before, &mut part);
        }
    }
    let read: usize = part.samples.iter().map(|(_, samples)| samples.len()).sum();
    assert_eq!((blocks_read, read as u64), (blocks, samples));
    part
}

fn index_page(logical: &[u8], page: &[u8], part: &mut Part, met: &mut Met) -> u64 {
    let mut page = Bytes(page);
    let base = page.u64();
    let (mut sid, mut blocks_read) = (0, 0);
    while !page.is_empty() {
        let series = sid + page.varint() as u32;
        let length = page.varint() as usize;
        let mut entry = Bytes(page.take(length));
        if part.samples.last().is_none_or(|(last, _)| *last != series) {
            part.samples.push((series, Vec::new()));
        }
        sid = series;
        let samples = &mut part.samples.last_mut().unwrap().1;
        let (blocks, mut last_ns, mut place) = (entry.varint(), 0, base);
        for _ in 0..blocks {
            let count = entry.varint() as usize;
            let first_ns = last_ns + entry.zigzag();
            last_ns = first_ns + entry.varint() as i64;
            let at = place.wrapping_add_signed(entry.zigzag());
            let length = entry.varint();
            let times = &logical[at as usize..(at + length) as usize];
            if at == place {
                place = at + length;
            }
            let at = place.wrapping_add_signed(entry.zigzag());
            let length = entry.varint();
            let values = &logical[at as usize..(at + length) as usize];
            place = at + length;
            block::summary(&mut entry);
            let times = block::times(Bytes(times), count, met);
            assert_eq!((times[0], times[count - 1]), (first_ns, last_ns));
            samples.extend(times.into_iter().zip(block::values(Bytes(values), count, met)));
            blocks_read += 1;
        }
        assert!(entry.is_empty());
    }
    blocks_read
}

/// Names of the series from number `first` on.
fn label_page(mut bytes: Bytes<'_>, first: usize, part: &mut Part) {
    let length = bytes.u32() as usize;
    let mut page = Bytes(bytes.take(length));
    let mut name = Vec::new();
    for (sid, _) in &part.samples[first..] {
        name.truncate(page.varint() as usize);
        let rest = page.varint() as usize;
        name.extend_from_slice(page.take(rest));
        part.names.push((*sid, name.clone()));
    }
    assert!(page.is_empty());
}
