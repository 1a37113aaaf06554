//! Bitmaps: sets of dense ids as one bit each.

/// A set of ids.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bitmap(Vec<u64>);

impl Bitmap {
    pub(crate) fn set(&mut self, id: u32) {
        let word = (id / 64) as usize;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        if let Some(word) = self.0.get_mut(word) {
            *word |= 1 << (id % 64);
        }
    }

    #[inline]
    pub(crate) fn contains(&self, id: u32) -> bool {
        self.0.get((id / 64) as usize).is_some_and(|word| word >> (id % 64) & 1 != 0)
    }

    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.0.capacity() * 8
    }

    /// The ids, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.iter().zip((0u32..).step_by(64)).flat_map(|(&word, base)| {
            let mut word = word;
            std::iter::from_fn(move || {
                let bit = word.trailing_zeros();
                word &= word.wrapping_sub(1);
                (bit < 64).then_some(base + bit)
            })
        })
    }
}
