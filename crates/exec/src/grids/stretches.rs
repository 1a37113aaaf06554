//! Where what instants ask for lies among samples: the positions of two of them for each instant.
//!
//! Where instants and samples both come at equal distances, both positions go on by the same number
//! from one instant to the next. Such a stretch is read as two slices.

use super::gapped::Gapped;

/// The positions of all instants.
#[derive(Debug, Default)]
pub(super) struct Stretches {
    all: Vec<Stretch>,
    instants: usize,
}

/// Successive instants whose positions go on alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    /// The first instant, and how many there are.
    pub(super) at: usize,
    pub(super) count: usize,
    /// The positions of the first instant.
    from: usize,
    to: usize,
    /// By what positions go on.
    stride: usize,
}

/// Values that lie apart, side by side.
#[derive(Debug, Default)]
pub(super) struct Spread {
    froms: Vec<f64>,
    tos: Vec<f64>,
}

impl Stretches {
    /// Bytes that so many instants take at most.
    pub(super) fn bytes(instants: usize) -> usize {
        instants.saturating_mul(size_of::<Stretch>())
    }

    /// Adds the positions of the next instant, if there are samples for it.
    pub(super) fn push(&mut self, places: Option<(u32, u32)>) {
        let at = self.instants;
        self.instants += 1;
        let Some((from, to)) = places else { return };
        let (from, to) = (from as usize, to as usize);
        if let Some(last) = self.all.last_mut()
            && last.at + last.count == at
            && last.takes(from, to)
        {
            return;
        }
        self.all.push(Stretch { at, count: 1, from, to, stride: 0 });
    }

    /// All stretches, from the first instant to the last.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Stretch> {
        self.all.iter()
    }

    /// The values at the second positions.
    pub(super) fn lasts(&self, values: &[f64]) -> Gapped {
        let (mut made, mut spread) = (Gapped::with_capacity(self.instants), Spread::default());
        for stretch in &self.all {
            made.lengthen(stretch.at);
            let (_, lasts) = stretch.values(values, &mut spread);
            made.extend(lasts.iter().copied());
        }
        made.lengthen(self.instants);
        made
    }

    /// Number of instants, also of those that have no samples.
    pub(super) fn instants(&self) -> usize {
        self.instants
    }
}

impl FromIterator<Option<(u32, u32)>> for Stretches {
    fn from_iter<I: IntoIterator<Item = Option<(u32, u32)>>>(places: I) -> Self {
        let mut made = Self::default();
        places.into_iter().for_each(|places| made.push(places));
        made
    }
}

impl Stretch {
    /// Takes in the positions of the next instant if they go on alike.
    fn takes(&mut self, from: usize, to: usize) -> bool {
        let by = |stride: usize| (self.from + stride * self.count, self.to + stride * self.count);
        if self.count == 1 {
            self.stride = from.saturating_sub(self.from);
        }
        let is_alike = by(self.stride) == (from, to);
        self.count += usize::from(is_alike);
        is_alike
    }

    /// The positions of each instant.
    pub(super) fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        let Self { from, to, stride, .. } = *self;
        (0..self.count).map(move |at| (from + at * stride, to + at * stride))
    }

    /// Values at the first and at the second position of each instant.
    pub(super) fn values<'v>(
        &self,
        all: &'v [f64],
        spread: &'v mut Spread,
    ) -> (&'v [f64], &'v [f64]) {
        let Spread { froms, tos } = spread;
        (self.laid(all, self.from, froms), self.laid(all, self.to, tos))
    }

    fn laid<'v>(&self, all: &'v [f64], first: usize, spread: &'v mut Vec<f64>) -> &'v [f64] {
        let values = all.get(first..).unwrap_or_default();
        match self.stride {
            1 => values.get(..self.count).unwrap_or_default(),
            0 => {
                spread.clear();
                spread.extend(values.first().into_iter().cycle().take(self.count));
                spread
            }
            stride => {
                spread.clear();
                spread.extend(values.iter().step_by(stride).take(self.count));
                spread
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn positions_stay_what_they_were(
            moves in prop::collection::vec(
                (0..3_u32, 0..3_u32, prop::bool::weighted(0.8), 1..9_usize), 0..40,
            ),
        ) {
            let (mut from, mut to, mut all) = (0, 0, Vec::new());
            for (by_from, by_to, is_there, times) in moves {
                for _ in 0..times {
                    from += by_from;
                    to += by_to;
                    all.push(is_there.then_some((from, to)));
                }
            }
            let values: Vec<f64> = (0..2_000).map(f64::from).collect();
            let stretches: Stretches = all.iter().copied().collect();
            prop_assert_eq!(stretches.instants(), all.len());
            let mut found = vec![None; all.len()];
            for stretch in stretches.iter() {
                let mut spread = Spread::default();
                let (froms, tos) = stretch.values(&values, &mut spread);
                prop_assert_eq!((froms.len(), tos.len()), (stretch.count, stretch.count));
                let told = froms.iter().zip(tos).zip(stretch.places());
                for (place, ((from, to), places)) in found[stretch.at..].iter_mut().zip(told) {
                    prop_assert_eq!((*from as usize, *to as usize), places);
                    *place = Some((*from as u32, *to as u32));
                }
            }
            prop_assert_eq!(found, all);
        }
    }
}
