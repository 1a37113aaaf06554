//! `docs/format/README.md`: numbers, checksums, paged files.

/// Takes things off the front of bytes.
#[derive(Clone, Copy)]
pub struct Bytes<'b>(pub &'b [u8]);

impl<'b> Bytes<'b> {
    pub fn take(&mut self, count: usize) -> &'b [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    pub fn u8(&mut self) -> u8 {
        self.take(1)[0]
    }

    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.take(2).try_into().unwrap())
    }

    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take(4).try_into().unwrap())
    }

    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take(8).try_into().unwrap())
    }

    pub fn varint(&mut self) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.u8();
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return value;
            }
        }
    }

    pub fn zigzag(&mut self) -> i64 {
        let folded = self.varint();
        (folded >> 1) as i64 ^ -((folded & 1) as i64)
    }

    /// Passes over varints.
    pub fn varints(&mut self, count: u64) {
        for _ in 0..count {
            self.varint();
        }
    }

    pub fn text(&mut self) -> String {
        let length = self.varint() as usize;
        String::from_utf8(self.take(length).to_vec()).unwrap()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Checks a preamble and takes it off.
pub fn preamble(bytes: &mut Bytes<'_>, magic: &[u8; 4]) {
    assert_eq!(bytes.take(4), magic);
    assert_eq!(bytes.u16(), 2, "version");
    assert_eq!(bytes.u16(), 0, "feature flags");
}

const PAGE: usize = 32_764;
const STRETCH: usize = 4 << 20;

fn check(number: u64, page: u64, bytes: &[u8], crc: u32) {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&number.to_le_bytes());
    hasher.update(&page.to_le_bytes());
    hasher.update(bytes);
    assert_eq!(hasher.finalize(), crc, "page {page} of file {number}");
}

/// Checks the parity of a stretch, which is at the front of `rest` behind a gap that ends with a
/// sector of the file, and takes it off.
fn parity(
    number: u64,
    first: u64,
    width: usize,
    stretch: &[u8],
    rest: &mut Bytes<'_>,
    file_len: usize,
) {
    let at = file_len - rest.0.len();
    let gap = rest.take(at.next_multiple_of(4096) - at);
    assert!(gap.iter().all(|byte| *byte == 0), "gap before the parity of page {first} on");
    let mut sum = vec![0; width];
    for (at, byte) in stretch.iter().enumerate() {
        sum[at % width] ^= byte;
    }
    let stored = rest.take(width);
    assert_eq!(stored, sum, "parity of page {first} on");
    check(number, 1 << 63 | first, stored, rest.u32());
}

/// The logical bytes of a paged file, and whether a page of it was packed.
pub fn unpage(number: u64, file: &[u8]) -> (Vec<u8>, bool) {
    assert!(file.ends_with(b"Ftab"));
    let tail = file.len() - 24;
    let pages = Bytes(&file[tail..]).u32() as usize;
    let table = &file[tail - 4 * pages..];
    let mut rest = Bytes(table);
    let lengths: Vec<usize> = (0..pages).map(|_| rest.u32() as usize).collect();
    assert_eq!(rest.u32() as usize, pages);
    let last_width = rest.u32() as usize;
    let total = rest.u64() as usize;
    check(number, u64::MAX, &table[..4 * pages + 16], rest.u32());
    let (mut logical, mut rest, mut is_packed) = (Vec::new(), Bytes(file), false);
    let (mut stretch, mut first) = (rest.0, 0);
    for (page, length) in lengths.into_iter().enumerate() {
        let so_far = stretch.len() - rest.0.len();
        if so_far >= STRETCH {
            parity(number, first, 32_768, &stretch[..so_far], &mut rest, file.len());
            (stretch, first) = (rest.0, page as u64);
        }
        let stored = rest.take(length);
        check(number, page as u64, stored, rest.u32());
        let wanted = PAGE.min(total - logical.len());
        match length == wanted {
            true => logical.extend_from_slice(stored),
            false => logical.extend(zstd::bulk::decompress(stored, wanted).unwrap()),
        }
        is_packed |= length != wanted;
    }
    assert_eq!(logical.len(), total);
    let so_far = stretch.len() - rest.0.len();
    assert_eq!(rest.take(table.len()), table, "the first table");
    parity(number, first, last_width, &stretch[..so_far], &mut rest, file.len());
    assert_eq!(rest.0, table);
    (logical, is_packed)
}
