//! The census, held against counts of the lines that were written.

use crate::model::{Line, write_all};
use foliot_index::{Ranks, Registry, Telling};
use foliot_model::Selector;
use std::cmp::Reverse;
use std::collections::BTreeMap;

const TELLING: Telling = Telling { before_field: '.', weighs: true };

fn everything(namespace: u32) -> Selector {
    Selector { namespace, names: vec![], matchers: vec![], exact_labels: None, only: None }
}

/// What lines as `m,a=1 f` come to: series by metric, and by label and value.
#[derive(Default)]
struct Expected {
    metrics: BTreeMap<String, u64>,
    pairs: BTreeMap<(String, String), u64>,
}

impl Expected {
    fn add(&mut self, key: &str, fields: &[&str]) {
        let (measurement, labels) = key.split_once(',').unwrap_or((key, ""));
        for field in fields {
            let metric = match *field {
                "value" => measurement.to_owned(),
                field => format!("{measurement}.{field}"),
            };
            *self.metrics.entry(metric).or_default() += 1;
            for label in labels.split(',').filter(|label| !label.is_empty()) {
                let (name, value) = label.split_once('=').unwrap();
                *self.pairs.entry((name.to_owned(), value.to_owned())).or_default() += 1;
            }
        }
    }

    fn check(&self, ranks: &Ranks) {
        assert_eq!(ranks.series, self.metrics.values().sum::<u64>());
        let mut metrics: Vec<_> =
            self.metrics.iter().map(|(name, series)| (name.clone(), *series)).collect();
        metrics.sort_by_key(|(_, series)| Reverse(*series));
        assert_eq!((ranks.metrics_total, &ranks.metrics), (metrics.len(), &metrics));
        let pair =
            |([name, value], series): &([String; 2], u64)| ((name.clone(), value.clone()), *series);
        assert_eq!(ranks.pairs.iter().map(pair).collect::<BTreeMap<_, _>>(), self.pairs);
        assert!(ranks.pairs.is_sorted_by_key(|(_, series)| Reverse(*series)));
        let mut labels: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for ((name, _), series) in &self.pairs {
            let label = labels.entry(name).or_default();
            *label = (label.0 + 1, label.1 + series);
        }
        assert_eq!(ranks.labels_total, labels.len());
        let counted = ranks.labels.iter();
        let counted = counted.map(|(name, of)| (name.as_str(), (of.values, of.series)));
        assert_eq!(counted.collect::<BTreeMap<_, _>>(), labels);
        assert_eq!(ranks.pairs_total, self.pairs.len());
        let bytes = self.metrics.keys().map(|name| name.len() as u64).sum::<u64>();
        assert_eq!(ranks.metrics_bytes, bytes);
        let mut heaviest: BTreeMap<&str, u64> = BTreeMap::new();
        for (name, value) in self.pairs.keys() {
            *heaviest.entry(name).or_default() += value.len() as u64;
        }
        let told = ranks.heaviest.iter().map(|(name, of)| (name.as_str(), of.bytes));
        assert_eq!(told.collect::<BTreeMap<_, _>>(), heaviest);
        assert!(ranks.heaviest.is_sorted_by_key(|(_, of)| Reverse(of.bytes)));
    }
}

const LINES: [(&str, &[&str]); 7] = [
    ("cpu,host=a,dc=x", &["user", "system", "idle"]),
    ("cpu,host=b,dc=x", &["user", "idle"]),
    // The same name as the field of another measurement, and no field.
    ("cpu.user,host=c", &["value"]),
    ("cpu.user", &["value"]),
    ("disk,host=a", &["value"]),
    ("disk,host=d,dc=y", &["value", "user"]),
    ("a.b,dc=y", &["c"]),
];

#[test]
fn series_are_counted_by_all_that_they_are_called() {
    let registry = Registry::new(0);
    let mut expected = Expected::default();
    for (key, fields) in LINES {
        write_all(&registry, 7, &[Line::new(key, fields)]);
        // Series of other namespaces are none of them, whatever they are called.
        write_all(&registry, 8, &[Line::new(key, fields)]);
        expected.add(key, fields);
    }
    write_all(&registry, 7, &[Line::new("a,dc=y", &["b.c"])]);
    expected.add("a,dc=y", &["b.c"]);
    let mut census = registry.census(7, TELLING);
    registry.count(&registry.select(&everything(7)), &mut census);
    expected.check(&registry.ranks(census, 100));
}

#[test]
fn series_of_an_earlier_epoch_are_counted_by_name() {
    let earlier = Registry::new(0);
    let open = Registry::begin(earlier.next_origin(1024));
    let mut expected = Expected::default();
    for (key, fields) in LINES {
        write_all(&earlier, 7, &[Line::new(key, fields)]);
        expected.add(key, fields);
    }
    for (key, fields) in [("cpu,host=a,rack=1", &["user"][..]), ("net,host=z", &["value"])] {
        write_all(&open, 7, &[Line::new(key, fields)]);
        expected.add(key, fields);
    }
    let mut census = open.census(7, TELLING);
    earlier.identities(&earlier.select(&everything(7)), &mut |_, identity| census.add(&identity));
    open.count(&open.select(&everything(7)), &mut census);
    assert!(census.memory_bytes() > open.census_bytes());
    expected.check(&open.ranks(census, 100));
}

#[test]
fn the_largest_are_told_and_of_equal_ones_the_first() {
    let registry = Registry::new(0);
    for host in 0..40 {
        write_all(&registry, 0, &[Line::new(&format!("m,host=h{host}"), &["value"])]);
    }
    write_all(&registry, 0, &[Line::new("m,host=h30", &["other"])]);
    let mut census = registry.census(0, TELLING);
    registry.count(&registry.select(&everything(0)), &mut census);
    let ranks = registry.ranks(census, 3);
    let values: Vec<(&str, u64)> =
        ranks.pairs.iter().map(|([_, value], series)| (value.as_str(), *series)).collect();
    assert_eq!(values, [("h30", 2), ("h0", 1), ("h1", 1)]);
    assert_eq!((ranks.metrics_total, ranks.metrics[0].clone()), (2, ("m".to_owned(), 40)));
    assert_eq!((ranks.labels[0].1.values, ranks.labels[0].1.series), (40, 41));
}
