//! Mean and spread of numbers that come one by one. B. P. Welford, "Note on a method for
//! calculating corrected sums of squares and products", 1962.

/// Numbers so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moments {
    count: u64,
    mean: f64,
    /// Σ(x - mean)²
    squares: f64,
}

impl Moments {
    /// Adds a number.
    pub(crate) fn add(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
    }

    /// The variance of all numbers, or of what they are a sample of; nothing where there are too
    /// few.
    pub(crate) fn variance(&self, is_sample: bool) -> Option<f64> {
        let freedom =
            self.count.checked_sub(u64::from(is_sample)).filter(|freedom| *freedom > 0)?;
        Some(self.squares / freedom as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_four_four_four_five_five_seven_nine_it_is_four() {
        let mut moments = Moments::default();
        [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0].into_iter().for_each(|v| moments.add(v));
        assert_eq!(moments.variance(false), Some(4.0));
        assert_eq!(moments.variance(true), Some(32.0 / 7.0));
        let mut one = Moments::default();
        assert_eq!(one.variance(false), None);
        one.add(3.0);
        assert_eq!((one.variance(false), one.variance(true)), (Some(0.0), None));
    }
}
