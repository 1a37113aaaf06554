//! Which names most series are due to, as Prometheus tells it.

use crate::answer::success;
use foliot_model::Labels;
use foliot_plan::grid::MEASUREMENT;
use serde_json::{Value as Json, json};
use std::collections::{HashMap, HashSet};

/// What most of the series are due to: so many names of each list.
pub fn statistics(series: &[Labels], limit: usize) -> Vec<u8> {
    let mut metrics: HashMap<&str, u64> = HashMap::new();
    let mut values: HashMap<&str, HashSet<&str>> = HashMap::new();
    let mut pairs: HashMap<(&str, &str), u64> = HashMap::new();
    for label in series.iter().flat_map(Labels::iter) {
        let (name, value) = (&*label.name, &*label.value);
        if name == MEASUREMENT {
            *metrics.entry(value).or_default() += 1;
        }
        values.entry(name).or_default().insert(value);
        *pairs.entry((name, value)).or_default() += 1;
    }
    let bytes = |values: &HashSet<&str>| values.iter().map(|value| value.len() as u64).sum();
    let of_labels = |count: &dyn Fn(&HashSet<&str>) -> u64| {
        most(values.iter().map(|(name, of)| ((*name).to_owned(), count(of))), limit)
    };
    let of_pairs = pairs.iter().map(|((name, value), count)| (format!("{name}={value}"), *count));
    let of_metrics = metrics.iter().map(|(name, count)| ((*name).to_owned(), *count));
    success(&json!({
        "headStats": {"numSeries": series.len(), "numLabelPairs": pairs.len()},
        "seriesCountByMetricName": most(of_metrics, limit),
        "labelValueCountByLabelName": of_labels(&|of| of.len() as u64),
        "memoryInBytesByLabelName": of_labels(&bytes),
        "seriesCountByLabelValuePair": most(of_pairs, limit),
    }))
}

/// Those that count most, the highest first.
fn most(counted: impl Iterator<Item = (String, u64)>, limit: usize) -> Json {
    let mut all: Vec<(String, u64)> = counted.collect();
    all.sort_unstable_by(|(a, x), (b, y)| y.cmp(x).then_with(|| a.cmp(b)));
    let shown = |(name, value): (String, u64)| json!({"name": name, "value": value});
    all.into_iter().take(limit).map(shown).collect()
}
