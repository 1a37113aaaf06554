//! How evenly the connections of a load were served.

use serde::Serialize;

use crate::load::Sent;

/// What one connection got beside the others.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Spread {
    /// 1 when all connections had the same number of values, 1/n when one had all (R. Jain et al.,
    /// "A quantitative measure of fairness", 1984).
    pub(crate) fairness: f64,
    /// Acknowledged values of a connection.
    pub(crate) points: Quantiles,
    /// The 99th percentile of a connection's service times, ms, of those that had enough of them.
    pub(crate) p99_ms: Option<Quantiles>,
}

/// A quantity by connection, from the connection with the least of it to the one with the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Quantiles {
    pub(crate) least: f64,
    pub(crate) p10: f64,
    pub(crate) median: f64,
    pub(crate) p90: f64,
    pub(crate) most: f64,
}

impl Spread {
    pub(crate) fn new(connections: &[Sent]) -> Spread {
        let points = || connections.iter().map(|sent| sent.points_acked as f64);
        let answered = connections.iter().filter_map(|sent| sent.service.percentiles().p99_ms);
        Spread {
            fairness: fairness(points()),
            points: Quantiles::of(points().collect()).unwrap_or_default(),
            p99_ms: Quantiles::of(answered.collect()),
        }
    }

    /// What the slowest connection got of what the fastest one did.
    pub(crate) fn slowest_to_fastest(&self) -> f64 {
        self.points.least / self.points.most.max(1.0)
    }

    /// In words, for people.
    pub(crate) fn line(&self) -> String {
        let Quantiles { least, p10, median, p90, most } = self.points;
        format!(
            "values {least:.0} to {most:.0} (p10 {p10:.0}, median {median:.0}, p90 {p90:.0}), \
             fairness {:.3}, p99 {} ms",
            self.fairness,
            self.p99_cell()
        )
    }

    /// Least, median and most of the connections' 99th percentiles, for a table.
    pub(crate) fn p99_cell(&self) -> String {
        self.p99_ms.map_or_else(|| "-".to_owned(), Quantiles::cell)
    }
}

impl Quantiles {
    /// None of nothing.
    fn of(mut each: Vec<f64>) -> Option<Quantiles> {
        each.sort_unstable_by(f64::total_cmp);
        let last = each.len().checked_sub(1)? as f64;
        let at = |share: f64| each.get((last * share).round() as usize).copied().unwrap_or(0.0);
        let (least, p10, median) = (at(0.0), at(0.1), at(0.5));
        Some(Quantiles { least, p10, median, p90: at(0.9), most: at(1.0) })
    }

    /// Least, median and most, for a table.
    fn cell(self) -> String {
        format!("{:.1} / {:.1} / {:.1}", self.least, self.median, self.most)
    }
}

fn fairness(shares: impl Iterator<Item = f64>) -> f64 {
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for share in shares {
        (count, sum, squares) = (count + 1.0, sum + share, squares + share * share);
    }
    if squares == 0.0 { 1.0 } else { sum * sum / (count * squares) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_is_one_for_equals_and_one_in_n_for_a_hog() {
        assert_eq!(fairness([7.0, 7.0, 7.0, 7.0].into_iter()), 1.0);
        assert_eq!(fairness([8.0, 0.0, 0.0, 0.0].into_iter()), 0.25);
        assert_eq!(fairness(std::iter::empty()), 1.0);
    }

    #[test]
    fn quantiles_are_values_that_a_connection_had() {
        let each = (0..=100).rev().map(f64::from).collect();
        let expected = Quantiles { least: 0.0, p10: 10.0, median: 50.0, p90: 90.0, most: 100.0 };
        assert_eq!(Quantiles::of(each), Some(expected));
        assert_eq!(Quantiles::of(Vec::new()), None);
        assert_eq!(expected.cell(), "0.0 / 50.0 / 100.0");
    }
}
