//! Integer arithmetic of one slot, beside the float arithmetic of the same values: which of both
//! counts is known only when all series have been read.

use foliot_plan::Fold;

/// A fold under way over integers, which wraps around and truncates toward zero.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole {
    count: u64,
    value: i64,
    /// Whether a float took part.
    has_float: bool,
}

impl Whole {
    /// Whether a fold needs no more than the values so far came to.
    pub(super) fn folds(fold: Fold) -> bool {
        match fold {
            Fold::Sum | Fold::Mean | Fold::Min | Fold::Max | Fold::Count => true,
            Fold::First | Fold::Last | Fold::Product | Fold::SquareSum => true,
            Fold::Difference | Fold::Deviation | Fold::UpperMedian | Fold::Quantile { .. } => false,
        }
    }

    pub(super) fn new(fold: Fold) -> Self {
        let value = match fold {
            Fold::Min => i64::MAX,
            Fold::Max => i64::MIN,
            Fold::Product => 1,
            _ => 0,
        };
        Self { count: 0, value, has_float: false }
    }

    pub(super) fn add(&mut self, fold: Fold, value: i64) {
        let value = if fold == Fold::SquareSum { value.wrapping_mul(value) } else { value };
        self.absorb(fold, Self { count: 1, value, has_float: false });
    }

    pub(super) fn meet_float(&mut self) {
        self.has_float = true;
    }

    /// Adds what `later` folded, whose values come after those of this one.
    pub(super) fn absorb(&mut self, fold: Fold, later: Self) {
        self.value = match fold {
            Fold::Min => self.value.min(later.value),
            Fold::Max => self.value.max(later.value),
            Fold::Product => self.value.wrapping_mul(later.value),
            Fold::First if self.count > 0 => self.value,
            Fold::First => later.value,
            Fold::Last if later.count == 0 => self.value,
            Fold::Last => later.value,
            _ => self.value.wrapping_add(later.value),
        };
        self.count += later.count;
        self.has_float |= later.has_float;
    }

    /// The result, if integers are all there was.
    pub(super) fn finish(&self, fold: Fold) -> Option<i64> {
        let count = i64::try_from(self.count).ok().filter(|count| *count > 0 && !self.has_float)?;
        Some(match fold {
            Fold::Mean => self.value / count,
            Fold::Count => count,
            _ => self.value,
        })
    }
}
