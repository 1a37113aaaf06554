//! Times that ascend, as stretches of equal distance: series of one target have the same ones,
//! which is seen without a look at each.

/// Times of samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Times {
    stretches: Vec<Steady>,
}

/// Times that go on by the same distance. One alone has none yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Steady {
    first_ns: i64,
    step_ns: i64,
    count: usize,
}

impl Steady {
    fn at(&self, index: usize) -> i64 {
        self.first_ns.wrapping_add(self.step_ns.wrapping_mul(index as i64))
    }
}

impl Times {
    pub(super) fn clear(&mut self) {
        self.stretches.clear();
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&self.stretches[..])
    }

    /// Adds one time. The same times make the same stretches, however they come.
    pub(super) fn push(&mut self, time_ns: i64) {
        if let Some(last) = self.stretches.last_mut() {
            if last.count == 1 {
                last.step_ns = time_ns.wrapping_sub(last.first_ns);
            }
            if last.at(last.count) == time_ns {
                last.count += 1;
                return;
            }
        }
        self.stretches.push(Steady { first_ns: time_ns, step_ns: 0, count: 1 });
    }

    /// Adds so many times, each of which follows the one before by a step.
    pub(super) fn push_steady(&mut self, first_ns: i64, step_ns: i64, count: usize) {
        let steady = Steady { first_ns, step_ns, count };
        for at in 0..count {
            if let Some(last) = self.stretches.last_mut()
                && last.count > 1
                && last.step_ns == step_ns
                && last.at(last.count) == steady.at(at)
            {
                last.count += count - at;
                return;
            }
            self.push(steady.at(at));
        }
    }

    /// All times, one by one.
    pub(super) fn to_vec(&self) -> Vec<i64> {
        let mut all = Vec::with_capacity(self.stretches.iter().map(|some| some.count).sum());
        for some in &self.stretches {
            all.extend((0..some.count).map(|index| some.at(index)));
        }
        all
    }
}

impl FromIterator<i64> for Times {
    fn from_iter<I: IntoIterator<Item = i64>>(times_ns: I) -> Self {
        let mut made = Self::default();
        times_ns.into_iter().for_each(|time_ns| made.push(time_ns));
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn times_are_the_same_however_they_come(
            runs in prop::collection::vec((1..4_i64, 1..4_i64, 0..9_usize), 0..20),
        ) {
            let (mut time_ns, mut all, mut times) = (0, Vec::new(), Times::default());
            for (gap_ns, step_ns, count) in runs {
                time_ns += gap_ns;
                times.push_steady(time_ns, step_ns, count);
                for _ in 0..count {
                    all.push(time_ns);
                    time_ns += step_ns;
                }
            }
            prop_assert_eq!(&times, &all.iter().copied().collect::<Times>());
            prop_assert_eq!(times.to_vec(), all);
        }
    }
}
