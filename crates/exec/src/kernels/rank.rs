//! Ranks: by what series are chosen, and the best of them.

use super::quantile::quantile;
use foliot_plan::grid::Rank;
use std::collections::BTreeMap;

/// The rank of values; of none, and of none that are numbers, the lowest of the highest and the
/// highest of the lowest.
pub(crate) fn rank_of(rank: Rank, values: impl Iterator<Item = f64> + Clone) -> f64 {
    match rank {
        Rank::Average => values.clone().sum::<f64>() / values.count() as f64,
        Rank::Min => values.fold(f64::INFINITY, f64::min),
        Rank::Max => values.fold(f64::NEG_INFINITY, f64::max),
        Rank::Last => values.last().unwrap_or(f64::NAN),
        Rank::Median => quantile(0.5, values.collect()),
    }
}

/// The best of what is offered.
#[derive(Debug)]
pub(crate) struct Best<T> {
    count: usize,
    is_top: bool,
    keeps_later: bool,
    offered: i64,
    /// By rank and time of offer, the best first.
    kept: BTreeMap<(i64, i64), T>,
}

impl<T> Best<T> {
    /// The `count` highest, or lowest; of equal ones those that are offered first, or last.
    pub(crate) fn new(count: usize, is_top: bool, keeps_later: bool) -> Self {
        Self { count, is_top, keeps_later, offered: 0, kept: BTreeMap::new() }
    }

    /// Offers one, and returns the one that is not among the best any more.
    pub(crate) fn offer(&mut self, rank: f64, one: T) -> Option<T> {
        self.offered += 1;
        // Integers in the order of `f64::total_cmp`.
        let bits = rank.to_bits() as i64;
        let ascending = bits ^ (((bits >> 63) as u64) >> 1) as i64;
        let turned = |number: i64, is_turned: bool| if is_turned { !number } else { number };
        let key = (turned(ascending, self.is_top), turned(self.offered, self.keeps_later));
        self.kept.insert(key, one);
        match self.kept.len() > self.count {
            true => self.kept.pop_last().map(|(_, worst)| worst),
            false => None,
        }
    }

    /// The best, the very best first.
    pub(crate) fn into_best(self) -> impl Iterator<Item = T> {
        self.kept.into_values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_are_those_that_sorting_finds() {
        let ranks = [3.0, f64::NAN, -1.0, 3.0, f64::NEG_INFINITY, 0.0, -0.0, 7.5, -1.0, 3.0];
        for count in 0..=ranks.len() + 1 {
            for is_top in [true, false] {
                let mut best = Best::new(count, is_top, false);
                let dropped: Vec<usize> =
                    (0..ranks.len()).filter_map(|at| best.offer(ranks[at], at)).collect();
                let mut sorted: Vec<usize> = (0..ranks.len()).collect();
                sorted.sort_by(|&a, &b| match is_top {
                    true => ranks[b].total_cmp(&ranks[a]),
                    false => ranks[a].total_cmp(&ranks[b]),
                });
                sorted.truncate(count);
                assert_eq!(best.into_best().collect::<Vec<_>>(), sorted, "{count} {is_top}");
                assert_eq!(dropped.len() + sorted.len(), ranks.len());
            }
        }
        let mut later = Best::new(1, true, true);
        assert_eq!([0, 1, 2].map(|at| later.offer(5.0, at)), [None, Some(0), Some(1)]);
    }

    #[test]
    fn values_rank_by_what_is_asked() {
        let values = [4.0, f64::NAN, 9.0, 1.0];
        let rank = |rank| rank_of(rank, values.iter().copied());
        assert_eq!((rank(Rank::Max), rank(Rank::Min), rank(Rank::Last)), (9.0, 1.0, 1.0));
        assert_eq!(rank_of(Rank::Max, [].into_iter()), f64::NEG_INFINITY);
    }
}
