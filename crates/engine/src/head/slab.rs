//! Chunks: the memory that open streams of one page grow in.
//!
//! A stream is a chain of chunks of 32, 64, 128 and then 256 bytes; each begins with the handle of
//! the chunk before it. A page owns its slab, so freezing a page hands over all its chunks at once.

/// Names a chunk: its size class in the upper two bits, its first unit plus one in the others.
/// 0 is no chunk.
pub(crate) type Handle = u32;

/// No chunk.
pub(crate) const NONE: Handle = 0;

/// Smallest chunk, and the unit in which chunks are counted.
const UNIT_LEN: usize = 32;
/// Units per segment, 8 KiB: with a thousand series to a page the unused end of the last segment is
/// 4 bytes a series on average.
const SEGMENT_UNITS: u32 = 256;
const SEGMENT_LEN: usize = UNIT_LEN * SEGMENT_UNITS as usize;
/// Bytes of a chunk before its payload: the handle of the chunk before.
const LINK_LEN: usize = 4;
const CLASSES: usize = 4;

/// The chunks of one page.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slab {
    segments: Vec<Box<[u8]>>,
    /// Units handed out of the last segment.
    used: u32,
    free: [Vec<Handle>; CLASSES],
}

/// Payload bytes of a chunk.
pub(crate) const fn capacity(handle: Handle) -> usize {
    (UNIT_LEN << (handle >> 30)) - LINK_LEN
}

impl Slab {
    /// Bytes of memory held.
    pub(crate) fn bytes(&self) -> usize {
        self.segments.len() * SEGMENT_LEN
    }

    /// A new chunk after `before`, one class larger than it.
    pub(crate) fn grow(&mut self, before: Handle) -> Handle {
        let class = match before {
            NONE => 0,
            before => ((before >> 30) + 1).min(CLASSES as u32 - 1),
        };
        let handle = match self.free.get_mut(class as usize).and_then(Vec::pop) {
            Some(handle) => handle,
            None => self.bump(class),
        };
        if let Some(link) = self.chunk_mut(handle).and_then(|chunk| chunk.get_mut(..LINK_LEN)) {
            link.copy_from_slice(&before.to_le_bytes());
        }
        handle
    }

    fn bump(&mut self, class: u32) -> Handle {
        let units = 1u32 << class;
        if self.segments.is_empty() || self.used + units > SEGMENT_UNITS {
            self.segments.push(vec![0; SEGMENT_LEN].into_boxed_slice());
            self.used = 0;
        }
        let first = (self.segments.len() as u32 - 1) * SEGMENT_UNITS + self.used;
        self.used += units;
        (class << 30) | (first + 1)
    }

    #[inline]
    fn locate(handle: Handle) -> (usize, usize, usize) {
        let unit = ((handle & 0x3fff_ffff) - 1) as usize;
        let start = unit % SEGMENT_UNITS as usize * UNIT_LEN;
        (unit / SEGMENT_UNITS as usize, start, UNIT_LEN << (handle >> 30))
    }

    #[inline]
    fn chunk_mut(&mut self, handle: Handle) -> Option<&mut [u8]> {
        let (segment, start, len) = Self::locate(handle);
        self.segments.get_mut(segment)?.get_mut(start..start + len)
    }

    fn chunk(&self, handle: Handle) -> Option<&[u8]> {
        let (segment, start, len) = Self::locate(handle);
        self.segments.get(segment)?.get(start..start + len)
    }

    /// Writes one byte into the payload of a chunk, which must have room for it.
    #[inline]
    pub(crate) fn put_byte(&mut self, handle: Handle, at: usize, byte: u8) {
        let (segment, start, _) = Self::locate(handle);
        let segment = self.segments.get_mut(segment);
        if let Some(place) = segment.and_then(|segment| segment.get_mut(start + LINK_LEN + at)) {
            *place = byte;
        }
    }

    /// Writes a few bytes into the payload of a chunk, which must have room for them.
    #[inline]
    pub(crate) fn put<const N: usize>(&mut self, handle: Handle, at: usize, bytes: [u8; N]) {
        let (segment, start, _) = Self::locate(handle);
        let start = start + LINK_LEN + at;
        let segment = self.segments.get_mut(segment);
        if let Some(room) = segment.and_then(|segment| segment.get_mut(start..start + N)) {
            room.copy_from_slice(&bytes);
        }
    }

    /// Appends `bytes` to the chain that ends in `*last`, where `*used` payload bytes are taken.
    pub(crate) fn append(&mut self, last: &mut Handle, used: &mut u8, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if *last == NONE || *used as usize == capacity(*last) {
                *last = self.grow(*last);
                *used = 0;
            }
            let room = capacity(*last) - *used as usize;
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            let start = LINK_LEN + *used as usize;
            let chunk = self.chunk_mut(*last);
            if let Some(room) = chunk.and_then(|chunk| chunk.get_mut(start..start + now.len())) {
                room.copy_from_slice(now);
            }
            *used += now.len() as u8;
            bytes = later;
        }
    }

    /// Copies the payload of a chain, first chunk first, to the end of `out`.
    pub(crate) fn copy_chain(&self, last: Handle, used: u8, out: &mut Vec<u8>) {
        let (mut handles, mut count) = ([NONE; 64], 0);
        let mut handle = last;
        let mut longer = Vec::new();
        while handle != NONE {
            match handles.get_mut(count) {
                Some(slot) => *slot = handle,
                None => longer.push(handle),
            }
            count += 1;
            handle = self.before(handle);
        }
        let near = handles.get(..count.min(handles.len())).unwrap_or_default();
        let len_of = |handle| if handle == last { used as usize } else { capacity(handle) };
        out.reserve(longer.iter().chain(near).map(|handle| len_of(*handle)).sum());
        for &handle in longer.iter().rev().chain(near.iter().rev()) {
            let len = len_of(handle);
            let payload = self.chunk(handle).and_then(|chunk| chunk.get(LINK_LEN..LINK_LEN + len));
            out.extend_from_slice(payload.unwrap_or_default());
        }
    }

    fn before(&self, handle: Handle) -> Handle {
        let link = self.chunk(handle).and_then(|chunk| chunk.first_chunk::<LINK_LEN>());
        link.map_or(NONE, |link| Handle::from_le_bytes(*link))
    }

    /// Gives the chunks of a chain back for reuse.
    pub(crate) fn free_chain(&mut self, last: Handle) {
        let mut handle = last;
        while handle != NONE {
            let before = self.before(handle);
            if let Some(free) = self.free.get_mut((handle >> 30) as usize) {
                free.push(handle);
            }
            handle = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_keep_their_bytes_and_are_reused() {
        let mut slab = Slab::default();
        let mut chains = vec![(NONE, 0u8, Vec::new()); 50];
        for round in 0..400u32 {
            for (index, (last, used, expected)) in chains.iter_mut().enumerate() {
                let bytes = vec![round as u8 ^ index as u8; (round as usize + index) % 19];
                slab.append(last, used, &bytes);
                expected.extend_from_slice(&bytes);
            }
        }
        for (last, used, expected) in &chains {
            let mut out = Vec::new();
            slab.copy_chain(*last, *used, &mut out);
            assert_eq!(out, *expected);
        }
        let held = slab.bytes();
        for (last, used, expected) in &mut chains {
            slab.free_chain(*last);
            (*last, *used) = (NONE, 0);
            slab.append(last, used, expected);
        }
        assert_eq!(slab.bytes(), held, "freed chunks are reused");
    }
}
