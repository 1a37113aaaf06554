//! A small cache of names that rows repeat: from a context and a short string to a number.
//!
//! It is direct-mapped and holds the strings themselves, so a hit costs a hash and a comparison in
//! memory that stays close, where the dictionaries would cost two probes each.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// With ten labels of a few dozen values each, most stay inside; all of it is 16 KiB.
const ENTRIES: usize = 512;
/// Longer strings are not kept. Makes an entry 32 bytes.
const BYTES_MAX: usize = 23;

#[derive(Clone, Copy, Debug)]
struct Entry {
    context: u32,
    number: u32,
    length: u8,
    bytes: [u8; BYTES_MAX],
}

const FREE: Entry = Entry { context: 0, number: 0, length: u8::MAX, bytes: [0; BYTES_MAX] };

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Recent(Vec<Entry>);

fn index_of(context: u32, text: &[u8]) -> usize {
    xxh3_64_with_seed(text, context.into()) as usize % ENTRIES
}

impl Recent {
    #[inline]
    pub(crate) fn get(&self, context: u32, text: &[u8]) -> Option<u32> {
        if text.len() > BYTES_MAX {
            return None;
        }
        let entry = self.0.get(index_of(context, text))?;
        let is_it =
            entry.context == context && entry.bytes.get(..entry.length.into()) == Some(text);
        is_it.then_some(entry.number)
    }

    pub(crate) fn put(&mut self, context: u32, text: &[u8], number: u32) {
        if self.0.is_empty() {
            self.0.resize(ENTRIES, FREE);
        }
        let mut entry = Entry { context, number, length: text.len() as u8, ..FREE };
        let Some(bytes) = entry.bytes.get_mut(..text.len()) else { return };
        bytes.copy_from_slice(text);
        if let Some(slot) = self.0.get_mut(index_of(context, text)) {
            *slot = entry;
        }
    }
}
