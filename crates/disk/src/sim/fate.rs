//! Fate: the seeded random numbers of a machine and what they decide.

/// A random number generator: SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast Splittable
/// Pseudorandom Number Generators", OOPSLA 2014).
#[derive(Clone, Debug)]
pub(super) struct Fate {
    state: u64,
}

impl Fate {
    pub(super) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// An independent generator.
    pub(super) fn fork(&mut self) -> Self {
        Self::new(self.next())
    }

    /// A number from 0 to `most`, both included.
    pub(super) fn up_to(&mut self, most: usize) -> usize {
        ((u128::from(self.next()) * (most as u128 + 1)) >> 64) as usize
    }

    /// True `percent` times out of a hundred.
    pub(super) fn percent(&mut self, percent: usize) -> bool {
        self.up_to(99) < percent
    }
}

/// How a power cut treats what was not synced. The extremes are rare when each piece is drawn on
/// its own, yet they are what a small machine mostly shows: so they are drawn first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    /// Everything is lost.
    Harsh,
    /// Everything survives, save what a failed sync had given up.
    Kind,
    /// Each piece meets its own fate.
    Mixed,
}

impl Mood {
    pub(super) fn draw(fate: &mut Fate) -> Self {
        match fate.up_to(5) {
            0 => Self::Harsh,
            1 => Self::Kind,
            _ => Self::Mixed,
        }
    }
}
