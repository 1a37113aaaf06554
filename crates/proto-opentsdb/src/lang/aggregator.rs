//! The aggregators by name: how values become one, and what fills the gaps.

use foliot_plan::{Fold, Gap, Quantile};

/// An aggregator of OpenTSDB.
#[derive(Debug, PartialEq)]
pub(crate) struct Aggregator {
    pub(crate) name: &'static str,
    /// How values become one; nothing for `none`, under which series stay apart.
    pub(crate) fold: Option<Fold>,
    pub(crate) gap: Gap,
}

impl Aggregator {
    /// The aggregator called `name`; names are case-sensitive.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        AGGREGATORS.iter().find(|aggregator| aggregator.name == name)
    }

    /// The fold over the samples of one bucket. Downsampling is always in binary64, where
    /// OpenTSDB's estimated percentiles are all the plain ones.
    pub(crate) fn window_fold(&self) -> Option<Fold> {
        self.fold.map(|fold| match fold {
            Fold::Quantile { q, .. } => Fold::Quantile { q, method: Quantile::Legacy },
            fold => fold,
        })
    }
}

const fn plain(name: &'static str, fold: Fold, gap: Gap) -> Aggregator {
    Aggregator { name, fold: Some(fold), gap }
}

const fn of_share(name: &'static str, q: f64, method: Quantile) -> Aggregator {
    plain(name, Fold::Quantile { q, method }, Gap::Linear)
}

/// All of them.
pub(crate) static AGGREGATORS: [Aggregator; 35] = [
    plain("sum", Fold::Sum, Gap::Linear),
    plain("min", Fold::Min, Gap::Linear),
    plain("max", Fold::Max, Gap::Linear),
    plain("avg", Fold::Mean, Gap::Linear),
    Aggregator { name: "none", fold: None, gap: Gap::Absent },
    plain("median", Fold::UpperMedian, Gap::Linear),
    plain("mult", Fold::Product, Gap::Linear),
    plain("dev", Fold::Deviation, Gap::Linear),
    plain("diff", Fold::Difference, Gap::Linear),
    plain("count", Fold::Count, Gap::Zero),
    plain("zimsum", Fold::Sum, Gap::Zero),
    plain("mimmin", Fold::Min, Gap::Maximum),
    plain("mimmax", Fold::Max, Gap::Minimum),
    plain("first", Fold::First, Gap::Zero),
    plain("last", Fold::Last, Gap::Zero),
    plain("pfsum", Fold::Sum, Gap::Previous),
    plain("squareSum", Fold::SquareSum, Gap::Zero),
    of_share("p50", 0.5, Quantile::Legacy),
    of_share("p75", 0.75, Quantile::Legacy),
    of_share("p90", 0.9, Quantile::Legacy),
    of_share("p95", 0.95, Quantile::Legacy),
    of_share("p99", 0.99, Quantile::Legacy),
    of_share("p999", 0.999, Quantile::Legacy),
    of_share("ep50r3", 0.5, Quantile::R3),
    of_share("ep75r3", 0.75, Quantile::R3),
    of_share("ep90r3", 0.9, Quantile::R3),
    of_share("ep95r3", 0.95, Quantile::R3),
    of_share("ep99r3", 0.99, Quantile::R3),
    of_share("ep999r3", 0.999, Quantile::R3),
    of_share("ep50r7", 0.5, Quantile::R7),
    of_share("ep75r7", 0.75, Quantile::R7),
    of_share("ep90r7", 0.9, Quantile::R7),
    of_share("ep95r7", 0.95, Quantile::R7),
    of_share("ep99r7", 0.99, Quantile::R7),
    of_share("ep999r7", 0.999, Quantile::R7),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_exact() {
        for name in ["sum", "mult", "squareSum", "ep999r7", "none"] {
            assert_eq!(Aggregator::named(name).unwrap().name, name);
        }
        for name in ["raw", "multiply", "SUM", "squaresum", ""] {
            assert_eq!(Aggregator::named(name), None, "{name}");
        }
    }

    #[test]
    fn every_name_occurs_once() {
        let names: std::collections::BTreeSet<_> = AGGREGATORS.iter().map(|a| a.name).collect();
        assert_eq!(names.len(), AGGREGATORS.len());
    }

    #[test]
    fn percentiles_say_in_their_name_which() {
        for aggregator in &AGGREGATORS {
            let Some(Fold::Quantile { q, method }) = aggregator.fold else { continue };
            let name = aggregator.name.trim_start_matches(['e', 'p']);
            let (digits, rule) = name.split_once('r').unwrap_or((name, ""));
            let expected: f64 = format!("0.{digits}").parse().unwrap();
            assert_eq!(q, expected, "{}", aggregator.name);
            let by_name = match rule {
                "3" => Quantile::R3,
                "7" => Quantile::R7,
                _ => Quantile::Legacy,
            };
            assert_eq!(method, by_name);
            assert!(matches!(
                aggregator.window_fold(),
                Some(Fold::Quantile { method: Quantile::Legacy, .. })
            ));
        }
    }
}
