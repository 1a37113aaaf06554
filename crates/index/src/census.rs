//! The census: how many series names are due to.
//!
//! Series are counted by the numbers of their columns and pairs, and only the names that come first
//! are spelled out: a million series take some tens of milliseconds, where spelling all of them
//! takes more than a second. Series of earlier epochs, whose numbers mean something else, are
//! counted by their names, which are then looked for among those of the open epoch.

use crate::identity::{Identity, metric};
use crate::names::{Names, SymbolKind};
use crate::registry::Registry;
use foliot_model::{DEFAULT_FIELD, NamespaceId};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

/// Series that are counted under one hold of the names: some hundred microseconds.
const SERIES_AT_ONCE: usize = 4_096;

/// Columns or pairs that are looked at under one hold.
const NAMES_AT_ONCE: usize = 1 << 14;

/// What a name weighs that is counted by itself, by estimate.
const NAME_BYTES: usize = 128;

/// Is told a column, its measurement and field, and its series.
type OnColumn<'a> = dyn FnMut(u32, (&str, &str), u64) + 'a;

/// A label's name and value.
type Pair = (Arc<str>, Arc<str>);

/// Series of one namespace, counted by what they are called.
#[derive(Debug)]
pub struct Census {
    namespace: NamespaceId,
    series: u64,
    /// By column, and by pair, of the open epoch.
    columns: Vec<u32>,
    pairs: Vec<u32>,
    /// Of earlier epochs.
    metrics_spelled: HashMap<String, u64>,
    pairs_spelled: HashMap<Pair, u64>,
}

/// What most series are due to, largest first; of equal ones, those that came first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranks {
    /// Series counted.
    pub series: u64,
    /// Metrics that they are of.
    pub metrics_total: usize,
    /// Names of labels that they have.
    pub labels_total: usize,
    /// Metrics with their series.
    pub metrics: Vec<(String, u64)>,
    /// Labels with their distinct values and their series, by values.
    pub labels: Vec<(String, Counted)>,
    /// Labels with one of their values, and series.
    pub pairs: Vec<([String; 2], u64)>,
}

/// What a label makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Distinct values.
    pub values: u64,
    /// Series that have it.
    pub series: u64,
}

impl Census {
    /// Counts a series of an earlier epoch.
    pub fn add(&mut self, identity: &Identity) {
        self.series += 1;
        let name = metric(&identity.measurement, &identity.field);
        *self.metrics_spelled.entry(name).or_default() += 1;
        for label in &identity.labels {
            let pair = (label.name.clone(), label.value.clone());
            *self.pairs_spelled.entry(pair).or_default() += 1;
        }
    }

    /// Memory held, in bytes; of names, by estimate.
    pub fn memory_bytes(&self) -> usize {
        let names = self.metrics_spelled.len() + self.pairs_spelled.len();
        (self.columns.len() + self.pairs.len()) * size_of::<u32>() + names * NAME_BYTES
    }
}

impl Registry {
    /// What [`Registry::census`] takes before anything is counted, in bytes.
    pub fn census_bytes(&self) -> usize {
        let names = self.names().read();
        let counts = names.columns().len() + names.pairs().entries().len();
        counts as usize * size_of::<u32>()
    }

    /// A census of a namespace that has counted nothing yet. Series that are registered after this
    /// may not be known to it.
    pub fn census(&self, namespace: NamespaceId) -> Census {
        let names = self.names().read();
        Census {
            namespace,
            series: 0,
            columns: vec![0; names.columns().len() as usize],
            pairs: vec![0; names.pairs().entries().len() as usize],
            metrics_spelled: HashMap::new(),
            pairs_spelled: HashMap::new(),
        }
    }

    /// Counts series of this epoch, which ascend.
    pub fn count(&self, sids: &[u32], census: &mut Census) {
        for sids in sids.chunks(SERIES_AT_ONCE) {
            census.count(&self.names().read(), sids);
        }
    }

    /// The names that most series are due to, at most `limit` of each sort.
    pub fn ranks(&self, mut census: Census, limit: usize) -> Ranks {
        let pairs_unknown = census.settle(self);
        let (metrics_total, metrics) = census.metrics(self, limit);
        let mut labels: Vec<Counted> = Vec::new();
        let mut first = First::new(limit);
        let mut at = 0;
        for pairs in census.pairs.chunks(NAMES_AT_ONCE) {
            let names = self.names().read();
            for (&series, pair) in pairs.iter().zip(at..).filter(|(series, _)| **series > 0) {
                let Some([_, label, _]) = names.pair(pair) else { continue };
                labels.resize(labels.len().max(label as usize + 1), Counted::default());
                labels.get_mut(label as usize).into_iter().for_each(|of| of.add(series.into()));
                first.offer(series.into(), pair);
            }
            at += pairs.len() as u32;
        }
        let names = self.names().read();
        let mut pairs = Vec::with_capacity(limit);
        for (series, pair) in first.into_sorted() {
            let Some([_, label, value]) = names.pair(pair) else { continue };
            let label = names.symbol(SymbolKind::LabelName, label).to_owned();
            let value = names.symbol(SymbolKind::LabelValue, value).to_owned();
            pairs.push(([label, value], series));
        }
        let spelled =
            |(label, counted)| (names.symbol(SymbolKind::LabelName, label).to_owned(), counted);
        let labels = (0..).zip(labels).filter(|(_, counted)| counted.values > 0);
        let mut labels: HashMap<String, Counted> = labels.map(spelled).collect();
        drop(names);
        for ((label, value), series) in pairs_unknown {
            labels.entry(label.to_string()).or_default().add(series);
            pairs.push(([label.to_string(), value.to_string()], series));
        }
        // Those of the open epoch stay in front of equal ones.
        pairs.sort_by_key(|(_, series)| Reverse(*series));
        pairs.truncate(limit);
        let labels_total = labels.len();
        let mut labels: Vec<(String, Counted)> = labels.into_iter().collect();
        labels.sort_unstable_by(|(a, x), (b, y)| y.values.cmp(&x.values).then_with(|| a.cmp(b)));
        labels.truncate(limit);
        Ranks { series: census.series, metrics_total, labels_total, metrics, labels, pairs }
    }
}

impl Census {
    fn count(&mut self, names: &Names, sids: &[u32]) {
        // Series of a source stand beside each other: its pairs are looked at once for all of them.
        let mut source_open = (u32::MAX, 0);
        for run in sids.chunk_by(|a, b| a + 1 == *b) {
            let first = run.first().copied().unwrap_or_default();
            for (source, column) in names.series_from(first).take(run.len()) {
                self.series += 1;
                add(&mut self.columns, column, 1);
                if source_open.0 != source {
                    self.count_source(names, source_open);
                    source_open = (source, 0);
                }
                source_open.1 += 1;
            }
        }
        self.count_source(names, source_open);
    }

    fn count_source(&mut self, names: &Names, (source, series): (u32, u32)) {
        if series == 0 {
            return;
        }
        let pairs = names.source(source).into_iter().flat_map(|(_, pairs)| pairs);
        pairs.for_each(|pair| add(&mut self.pairs, pair, series));
    }

    /// Counts what was spelled with what the open epoch calls the same, and returns the pairs that
    /// it does not know.
    fn settle(&mut self, registry: &Registry) -> Vec<(Pair, u64)> {
        let mut unknown = Vec::new();
        let mut spelled = std::mem::take(&mut self.pairs_spelled).into_iter().peekable();
        while spelled.peek().is_some() {
            let names = registry.names().read();
            let find = |kind, text: &str| names.symbols(kind).find(text.as_bytes());
            for ((label, value), series) in spelled.by_ref().take(NAMES_AT_ONCE) {
                let numbers = find(SymbolKind::LabelName, &label)
                    .zip(find(SymbolKind::LabelValue, &value))
                    .and_then(|(label, value)| names.pairs().find([self.namespace, label, value]));
                let count = numbers.and_then(|pair| self.pairs.get_mut(pair as usize));
                match count {
                    Some(count) => *count = count.saturating_add(series as u32),
                    None => unknown.push(((label, value), series)),
                }
            }
        }
        unknown.sort_unstable();
        unknown
    }

    /// How many metrics there are, and those with most series.
    fn metrics(&mut self, registry: &Registry, limit: usize) -> (usize, Vec<(String, u64)>) {
        // Several columns may be called the same: m.f is field f of m, and the only field of m.f.
        let mut spelled = std::mem::take(&mut self.metrics_spelled);
        self.each_column(registry, &mut |_, (measurement, field), series| {
            if field != DEFAULT_FIELD {
                *spelled.entry(metric(measurement, field)).or_default() += series;
            }
        });
        let (mut first, mut plain) = (First::new(limit), 0);
        self.each_column(registry, &mut |column, (measurement, field), series| match spelled
            .get_mut(measurement)
        {
            _ if field != DEFAULT_FIELD => {}
            Some(count) => *count += series,
            None => {
                plain += 1;
                first.offer(series, column);
            }
        });
        let total = plain + spelled.len();
        let names = registry.names().read();
        let plain = first.into_sorted().filter_map(|(series, column)| {
            let (measurement, _) = column_named(&names, column)?;
            Some((measurement.to_owned(), series))
        });
        let mut metrics: Vec<(String, u64)> = spelled.into_iter().chain(plain).collect();
        metrics.sort_unstable_by(|(a, x), (b, y)| y.cmp(x).then_with(|| a.cmp(b)));
        metrics.truncate(limit);
        (total, metrics)
    }

    /// Tells each column that was counted, its measurement and field, and its series.
    fn each_column(&self, registry: &Registry, each: &mut OnColumn<'_>) {
        let mut at = 0;
        for columns in self.columns.chunks(NAMES_AT_ONCE) {
            let names = registry.names().read();
            for (column, &series) in (at..).zip(columns).filter(|(_, series)| **series > 0) {
                if let Some(called) = column_named(&names, column) {
                    each(column, called, series.into());
                }
            }
            at += columns.len() as u32;
        }
    }
}

/// Measurement and field of a column.
fn column_named(names: &Names, column: u32) -> Option<(&str, &str)> {
    let [_, measurement, field] = names.column(column)?;
    let measurement = names.symbol(SymbolKind::Measurement, measurement);
    Some((measurement, names.symbol(SymbolKind::Field, field)))
}

impl Counted {
    /// Counts one more value, of so many series.
    fn add(&mut self, series: u64) {
        self.values += 1;
        self.series += series;
    }
}

fn add(counts: &mut [u32], at: u32, series: u32) {
    if let Some(count) = counts.get_mut(at as usize) {
        *count = count.saturating_add(series);
    }
}

/// The largest of many counts; of equal ones, those of the smallest numbers.
struct First {
    limit: usize,
    /// The least of them on top.
    heap: BinaryHeap<Reverse<(u64, Reverse<u32>)>>,
}

impl First {
    fn new(limit: usize) -> Self {
        Self { limit, heap: BinaryHeap::new() }
    }

    fn offer(&mut self, count: u64, id: u32) {
        let entry = Reverse((count, Reverse(id)));
        if self.heap.len() < self.limit {
            self.heap.push(entry);
        } else if let Some(mut least) = self.heap.peek_mut()
            && entry < *least
        {
            *least = entry;
        }
    }

    /// The largest first.
    fn into_sorted(self) -> impl Iterator<Item = (u64, u32)> {
        self.heap.into_sorted_vec().into_iter().map(|Reverse((count, Reverse(id)))| (count, id))
    }
}
