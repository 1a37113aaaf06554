//! Which names most series are due to, as Prometheus tells it.

use crate::answer::success;
use foliot_plan::grid::MEASUREMENT;
use serde_json::{Value as Json, json};

/// What series are due to: each list has the names that count most.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// Series, and labels with their values that they have, the metric not among them.
    pub series: u64,
    /// See above.
    pub pairs: u64,
    /// Metrics, and the bytes of their names.
    pub metrics: (u64, u64),
    /// Series by metric.
    pub series_by_metric: Vec<(String, u64)>,
    /// Values by label.
    pub values_by_label: Vec<(String, u64)>,
    /// Bytes of values by label.
    pub bytes_by_label: Vec<(String, u64)>,
    /// Series by a label and its value.
    pub series_by_pair: Vec<([String; 2], u64)>,
}

impl Statistics {
    /// The answer, with so many names in each list. The metric is a label here.
    pub fn answer(self, limit: usize) -> Vec<u8> {
        let (metrics, bytes) = self.metrics;
        let with_metric = |mut list: Vec<(String, u64)>, count: u64| {
            list.extend((count > 0).then(|| (MEASUREMENT.to_owned(), count)));
            list
        };
        let pair = |([name, value], count): ([String; 2], u64)| (format!("{name}={value}"), count);
        let of_metric = |(name, count): &(String, u64)| (format!("{MEASUREMENT}={name}"), *count);
        let pairs = self.series_by_metric.iter().map(of_metric);
        let pairs = pairs.chain(self.series_by_pair.into_iter().map(pair)).collect();
        success(&json!({
            "headStats": {"numSeries": self.series, "numLabelPairs": self.pairs + metrics},
            "seriesCountByMetricName": most(self.series_by_metric, limit),
            "labelValueCountByLabelName": most(with_metric(self.values_by_label, metrics), limit),
            "memoryInBytesByLabelName": most(with_metric(self.bytes_by_label, bytes), limit),
            "seriesCountByLabelValuePair": most(pairs, limit),
        }))
    }
}

/// Those that count most, the highest first.
fn most(mut all: Vec<(String, u64)>, limit: usize) -> Json {
    all.sort_unstable_by(|(a, x), (b, y)| y.cmp(x).then_with(|| a.cmp(b)));
    let shown = |(name, value): (String, u64)| json!({"name": name, "value": value});
    all.into_iter().take(limit).map(shown).collect()
}
