//! Listings: names in use, in byte order.

use crate::names::{Names, SymbolKind};
use crate::select::{self, Bitmap};
use foliot_model::{DEFAULT_FIELD, Selector};

/// Looking at a series costs as much as asking of so many pairs whether a wanted series has them.
pub(crate) const WIDE_PAIRS_OF_SERIES: u64 = 4;

/// With more wanted columns it costs too much to look a source up in each.
pub(crate) const WIDE_COLUMNS_MAX: usize = 16;

/// What is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listed {
    /// Measurements.
    Measurements,
    /// Fields of the measurements.
    Fields,
    /// Measurements with one of their fields: `m` for the default field, `m.field` for others.
    Metrics,
    /// Label names.
    LabelNames,
    /// Values of one label, or of all when no name is given.
    LabelValues(Option<String>),
}

/// The names that `what` asks for, of the series that `selector` wants, each once and in byte
/// order: those that begin with `prefix`, without the first `offset` ones, at most `limit`.
pub(crate) fn list(
    names: &Names,
    what: &Listed,
    selector: &Selector,
    prefix: &str,
    offset: usize,
    limit: usize,
) -> Vec<String> {
    let window = Window { prefix, offset, limit };
    match what {
        Listed::Measurements => {
            let columns = columns(names, selector).into_iter();
            let ids = columns.filter_map(|column| names.column(column).map(|[_, id, _]| id));
            window.symbols(names, SymbolKind::Measurement, ids.collect())
        }
        Listed::Fields => {
            let columns = columns(names, selector).into_iter();
            let ids = columns.filter_map(|column| names.column(column).map(|[_, _, id]| id));
            window.symbols(names, SymbolKind::Field, ids.collect())
        }
        Listed::Metrics => {
            let metric = |column| {
                let [_, measurement, field] = names.column(column)?;
                let measurement = names.symbol(SymbolKind::Measurement, measurement);
                Some(match names.symbol(SymbolKind::Field, field) {
                    DEFAULT_FIELD => measurement.to_owned(),
                    field => format!("{measurement}.{field}"),
                })
            };
            window.of(columns(names, selector).into_iter().filter_map(metric).collect())
        }
        Listed::LabelNames => {
            let groups = &names.pairs_of_label;
            let labels_all = groups.symbols(selector.namespace).iter();
            let pairs_all = labels_all.map(|&label| groups.count(selector.namespace, label)).sum();
            let ids = match Wide::new(names, selector, pairs_all) {
                Some(wide) => labels(names, selector.namespace, &wide),
                None => pairs(names, selector).map(|[_, name, _]| name).collect(),
            };
            window.symbols(names, SymbolKind::LabelName, ids)
        }
        Listed::LabelValues(Some(name)) => {
            match names.symbols(SymbolKind::LabelName).find(name.as_bytes()) {
                Some(label) => values_of(names, selector, label, &window),
                None => Vec::new(),
            }
        }
        Listed::LabelValues(None) => {
            window.symbols(names, SymbolKind::LabelValue, values(names, selector))
        }
    }
}

fn is_everything(selector: &Selector) -> bool {
    selector.names.is_empty() && has_all_sources(selector)
}

pub(crate) fn has_all_sources(selector: &Selector) -> bool {
    selector.matchers.is_empty() && selector.exact_labels.is_none() && selector.only.is_none()
}

/// The columns of the wanted series, without looking at series when names alone decide.
fn columns(names: &Names, selector: &Selector) -> Vec<u32> {
    let groups = &names.columns_of_measurement;
    let namespace = selector.namespace;
    if is_everything(selector) {
        let measurements = groups.symbols(namespace).iter();
        let columns = measurements.flat_map(|&id| groups.members(namespace, id));
        return columns.filter(|&column| names.is_column_alive(column)).collect();
    }
    if has_all_sources(selector) {
        let mut columns = select::columns(names, namespace, &selector.names);
        columns.retain(|&column| names.is_column_alive(column));
        return columns;
    }
    let mut seen = Bitmap::default();
    for sid in select::select(names, selector) {
        if let Some((_, column)) = names.series(sid) {
            seen.set(column);
        }
    }
    seen.iter().collect()
}

/// The pairs of the wanted series' sources.
fn pairs<'a>(names: &'a Names, selector: &Selector) -> impl Iterator<Item = [u32; 3]> + use<'a> {
    let mut sources = Bitmap::default();
    for sid in select::select(names, selector) {
        if let Some((source, _)) = names.series(sid) {
            sources.set(source);
        }
    }
    let mut seen = Bitmap::default();
    for source in sources.iter() {
        for pair in names.source(source).into_iter().flat_map(|(_, pairs)| pairs) {
            seen.set(pair);
        }
    }
    let seen: Vec<u32> = seen.iter().collect();
    seen.into_iter().filter_map(|pair| names.pair(pair))
}

/// The values of all labels.
fn values(names: &Names, selector: &Selector) -> Vec<u32> {
    if !is_everything(selector) {
        return pairs(names, selector).map(|[_, _, value]| value).collect();
    }
    let groups = &names.pairs_of_label;
    let labels = groups.symbols(selector.namespace).iter();
    let pairs = labels.flat_map(|&label| groups.members(selector.namespace, label));
    let living = pairs.filter(|&pair| names.is_pair_alive(pair));
    living.filter_map(|pair| names.pair(pair)).map(|[_, _, value]| value).collect()
}

/// The values of one label.
fn values_of(names: &Names, selector: &Selector, label: u32, window: &Window<'_>) -> Vec<String> {
    let pairs_all = names.pairs_of_label.count(selector.namespace, label);
    let Some(wide) = Wide::new(names, selector, pairs_all) else {
        let of_label = pairs(names, selector).filter(|[_, name, _]| *name == label);
        let ids = of_label.map(|[_, _, value]| value).collect();
        return window.symbols(names, SymbolKind::LabelValue, ids);
    };
    let of_label = names.pairs_of_label.members(selector.namespace, label);
    let named = of_label.filter_map(|pair| {
        let [_, _, value] = names.pair(pair)?;
        Some((names.symbol(SymbolKind::LabelValue, value), pair))
    });
    window.of_distinct(named, &|pair| wide.has(names, pair))
}

/// The label names that some wanted series has.
fn labels(names: &Names, namespace: u32, wide: &Wide) -> Vec<u32> {
    let groups = &names.pairs_of_label;
    let mut labels = groups.symbols(namespace).to_vec();
    let all_wanted = matches!(wide, Wide::Everything) && names.forgotten.sids().is_empty();
    if !all_wanted {
        labels.retain(|&label| groups.members(namespace, label).any(|pair| wide.has(names, pair)));
    }
    labels
}

/// A selector that wants so much that looking at all its series would cost more than asking of a
/// pair whether one of them has it.
enum Wide {
    /// All series of the namespace.
    Everything,
    /// All that are in one of a few columns.
    Columns(Vec<u32>),
}

impl Wide {
    /// Nothing when there are too many pairs to ask of.
    fn new(names: &Names, selector: &Selector, pairs: u64) -> Option<Self> {
        if is_everything(selector) {
            return Some(Self::Everything);
        }
        if !has_all_sources(selector) {
            return None;
        }
        let columns = select::columns(names, selector.namespace, &selector.names);
        let count = |&column: &u32| u64::from(names.series_of_column.count(column));
        let series: u64 = columns.iter().map(count).sum();
        (columns.len() <= WIDE_COLUMNS_MAX && pairs <= series * WIDE_PAIRS_OF_SERIES)
            .then_some(Self::Columns(columns))
    }

    /// Whether a wanted series has a pair. Nearly always the first source with it tells.
    fn has(&self, names: &Names, pair: u32) -> bool {
        let columns = match self {
            Self::Everything => return names.is_pair_alive(pair),
            Self::Columns(columns) => columns,
        };
        let is_wanted = |source| columns.iter().any(|&c| names.find_series(source, c).is_some());
        names.sources().of_pair().iter(pair).any(is_wanted)
    }
}

struct Window<'a> {
    prefix: &'a str,
    offset: usize,
    limit: usize,
}

impl Window<'_> {
    fn symbols(&self, names: &Names, kind: SymbolKind, mut ids: Vec<u32>) -> Vec<String> {
        ids.sort_unstable();
        ids.dedup();
        let strings = ids.into_iter().map(|id| names.symbol(kind, id));
        let found = strings.filter(|name| name.starts_with(self.prefix)).collect();
        self.cut(found).into_iter().map(str::to_owned).collect()
    }

    fn of(&self, mut strings: Vec<String>) -> Vec<String> {
        strings.retain(|string| string.starts_with(self.prefix));
        strings.sort_unstable();
        strings.dedup();
        strings.into_iter().skip(self.offset).take(self.limit).collect()
    }

    /// Of names that come once each, with a number by which `is_wanted` tells those that count. It
    /// is asked of no name that comes after as many others as are wanted.
    fn of_distinct<'s>(
        &self,
        names: impl Iterator<Item = (&'s str, u32)>,
        is_wanted: &dyn Fn(u32) -> bool,
    ) -> Vec<String> {
        let end = self.offset.saturating_add(self.limit);
        let mut kept: Vec<&str> = Vec::new();
        let mut highest: Option<&str> = None;
        for (name, number) in names {
            let is_late = highest.is_some_and(|highest| name > highest) || end == 0;
            if is_late || !name.starts_with(self.prefix) || !is_wanted(number) {
                continue;
            }
            kept.push(name);
            if kept.len() / 2 >= end.max(1024) {
                let (_, last, _) = kept.select_nth_unstable(end - 1);
                highest = Some(*last);
                kept.truncate(end);
            }
        }
        self.cut(kept).into_iter().map(str::to_owned).collect()
    }

    /// Sorts only as much as is wanted of distinct strings.
    fn cut<'s>(&self, mut strings: Vec<&'s str>) -> Vec<&'s str> {
        let end = self.offset.saturating_add(self.limit);
        if end < strings.len() {
            strings.select_nth_unstable(end);
            strings.truncate(end);
        }
        strings.sort_unstable();
        strings.drain(..self.offset.min(strings.len()));
        strings
    }
}
