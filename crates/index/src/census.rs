//! The census: how many series names are due to.
//!
//! Series are counted by the numbers of their columns and pairs, and only the names that come first
//! are spelled out: a million series take some tens of milliseconds, where spelling all of them
//! takes more than a second. Series of earlier epochs, whose numbers mean something else, are
//! counted by their names, which are then looked for among those of the open epoch.

use crate::identity::Identity;
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

/// What a census tells, and how.
#[derive(Clone, Copy, Debug)]
pub struct Telling {
    /// What stands between a measurement and its field in the name of a metric.
    pub before_field: char,
    /// Whether the bytes of names are told. Each of them is looked at then.
    pub weighs: bool,
}

/// Series of one namespace, counted by what they are called.
#[derive(Debug)]
pub struct Census {
    namespace: NamespaceId,
    telling: Telling,
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
    /// Labels with their values that they have.
    pub pairs_total: usize,
    /// Bytes of the names of all metrics.
    pub metrics_bytes: u64,
    /// Metrics with their series.
    pub metrics: Vec<(String, u64)>,
    /// Labels with their distinct values and their series, by values.
    pub labels: Vec<(String, Counted)>,
    /// The same, by the bytes of their values, where they are told.
    pub heaviest: Vec<(String, Counted)>,
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
    /// Bytes of its values, where they are told.
    pub bytes: u64,
}

impl Census {
    /// Counts a series of an earlier epoch.
    pub fn add(&mut self, identity: &Identity) {
        self.series += 1;
        let name = self.telling.metric(&identity.measurement, &identity.field);
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
    pub fn census(&self, namespace: NamespaceId, telling: Telling) -> Census {
        let names = self.names().read();
        Census {
            namespace,
            telling,
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
        let weighs = census.telling.weighs;
        let mut ranks = Ranks { series: census.series, ..Ranks::default() };
        census.metrics(self, limit, &mut ranks);
        let mut labels: Vec<Counted> = Vec::new();
        let mut first = First::new(limit);
        let mut at = 0;
        for pairs in census.pairs.chunks(NAMES_AT_ONCE) {
            let names = self.names().read();
            for (&series, pair) in pairs.iter().zip(at..).filter(|(series, _)| **series > 0) {
                let Some([_, label, value]) = names.pair(pair) else { continue };
                let bytes =
                    if weighs { names.symbol(SymbolKind::LabelValue, value).len() } else { 0 };
                labels.resize(labels.len().max(label as usize + 1), Counted::default());
                let of = labels.get_mut(label as usize).into_iter();
                of.for_each(|of| of.add(series.into(), bytes));
                first.offer(series.into(), pair);
                ranks.pairs_total += 1;
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
        ranks.pairs_total += pairs_unknown.len();
        for ((label, value), series) in pairs_unknown {
            labels.entry(label.to_string()).or_default().add(series, value.len());
            pairs.push(([label.to_string(), value.to_string()], series));
        }
        // Those of the open epoch stay in front of equal ones.
        pairs.sort_by_key(|(_, series)| Reverse(*series));
        pairs.truncate(limit);
        ranks.labels_total = labels.len();
        let mut labels: Vec<(String, Counted)> = labels.into_iter().collect();
        if weighs {
            labels.sort_unstable_by(|(a, x), (b, y)| y.bytes.cmp(&x.bytes).then_with(|| a.cmp(b)));
            ranks.heaviest = labels.iter().take(limit).cloned().collect();
        }
        labels.sort_unstable_by(|(a, x), (b, y)| y.values.cmp(&x.values).then_with(|| a.cmp(b)));
        labels.truncate(limit);
        Ranks { labels, pairs, ..ranks }
    }
}

impl Telling {
    /// A measurement with one of its fields: the default one is not told.
    fn metric(self, measurement: &str, field: &str) -> String {
        match field == DEFAULT_FIELD {
            true => measurement.to_owned(),
            false => format!("{measurement}{}{field}", self.before_field),
        }
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

    /// Tells how many metrics there are, and those with most series.
    fn metrics(&mut self, registry: &Registry, limit: usize, ranks: &mut Ranks) {
        // Several columns may be called the same: m.f is field f of m, and the only field of m.f.
        let mut spelled = std::mem::take(&mut self.metrics_spelled);
        self.each_column(registry, &mut |_, (measurement, field), series| {
            if field != DEFAULT_FIELD {
                *spelled.entry(self.telling.metric(measurement, field)).or_default() += series;
            }
        });
        let (mut first, mut plain, mut bytes) = (First::new(limit), 0, 0);
        self.each_column(registry, &mut |column, (measurement, field), series| match spelled
            .get_mut(measurement)
        {
            _ if field != DEFAULT_FIELD => {}
            Some(count) => *count += series,
            None => {
                plain += 1;
                bytes += measurement.len() as u64;
                first.offer(series, column);
            }
        });
        ranks.metrics_total = plain + spelled.len();
        ranks.metrics_bytes = bytes + spelled.keys().map(|name| name.len() as u64).sum::<u64>();
        let names = registry.names().read();
        let plain = first.into_sorted().filter_map(|(series, column)| {
            let (measurement, _) = column_named(&names, column)?;
            Some((measurement.to_owned(), series))
        });
        ranks.metrics = spelled.into_iter().chain(plain).collect();
        ranks.metrics.sort_unstable_by(|(a, x), (b, y)| y.cmp(x).then_with(|| a.cmp(b)));
        ranks.metrics.truncate(limit);
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
    /// Counts one more value, of so many series and bytes.
    fn add(&mut self, series: u64, bytes: usize) {
        self.values += 1;
        self.series += series;
        self.bytes += bytes as u64;
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
