//! Listings: names in use, in byte order.

use crate::names::{Names, SymbolKind};
use crate::select;
use crate::wanted::Wanted;
use foliot_model::{DEFAULT_FIELD, Selector};

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
    (offset, limit): (usize, usize),
) -> Vec<String> {
    let window = Window { prefix, offset, limit };
    let listing = Listing { names, selector };
    match what {
        Listed::Measurements => {
            let columns = listing.columns().into_iter();
            let ids = columns.filter_map(|column| names.column(column).map(|[_, id, _]| id));
            window.symbols(names, SymbolKind::Measurement, ids.collect())
        }
        Listed::Fields => {
            let columns = listing.columns().into_iter();
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
            window.of(listing.columns().into_iter().filter_map(metric).collect())
        }
        Listed::LabelNames => window.symbols(names, SymbolKind::LabelName, listing.labels()),
        Listed::LabelValues(Some(name)) => {
            match names.symbols(SymbolKind::LabelName).find(name.as_bytes()) {
                Some(label) => listing.values_of(label, &window),
                None => Vec::new(),
            }
        }
        Listed::LabelValues(None) => listing.values(&window),
    }
}

pub(crate) fn has_all_sources(selector: &Selector) -> bool {
    selector.matchers.is_empty() && selector.exact_labels.is_none() && selector.only.is_none()
}

struct Listing<'a> {
    names: &'a Names,
    selector: &'a Selector,
}

impl<'a> Listing<'a> {
    /// The sources of the wanted series.
    fn wanted(&self) -> Option<Wanted<'a>> {
        let Self { names, selector, .. } = self;
        let columns = (!selector.names.is_empty())
            .then(|| select::columns(names, selector.namespace, &selector.names));
        Wanted::new(names, selector, columns)
    }

    /// The columns of the wanted series.
    fn columns(&self) -> Vec<u32> {
        let Self { names, selector, .. } = self;
        let namespace = selector.namespace;
        let mut columns = match selector.names.is_empty() {
            true => {
                let groups = &names.columns_of_measurement;
                let measurements = groups.symbols(namespace).iter();
                measurements.flat_map(|&id| groups.members(namespace, id)).collect()
            }
            false => select::columns(names, namespace, &selector.names),
        };
        if selector.only.is_some() {
            let sids = select::select(names, selector);
            columns = sids.into_iter().filter_map(|sid| Some(names.series(sid)?.1)).collect();
            columns.sort_unstable();
            columns.dedup();
            return columns;
        }
        let Some(wanted) = Wanted::new(names, selector, None) else { return Vec::new() };
        columns.retain(|&column| wanted.has_column(column));
        columns
    }

    /// The label names of the wanted sources.
    fn labels(&self) -> Vec<u32> {
        let Self { names, selector, .. } = self;
        let Some(wanted) = self.wanted() else { return Vec::new() };
        if let Some(pairs) = wanted.pairs_of_few() {
            return self.triples(&pairs).map(|[_, label, _]| label).collect();
        }
        let groups = &names.pairs_of_label;
        let mut labels = groups.symbols(selector.namespace).to_vec();
        labels.retain(|&label| {
            groups.members(selector.namespace, label).any(|pair| wanted.has_pair(pair))
        });
        labels
    }

    /// The values of all labels.
    fn values(&self, window: &Window<'_>) -> Vec<String> {
        let Self { names, selector, .. } = self;
        let Some(wanted) = self.wanted() else { return Vec::new() };
        if let Some(pairs) = wanted.pairs_of_few() {
            let values = self.triples(&pairs).map(|[_, _, value]| value).collect();
            return window.symbols(names, SymbolKind::LabelValue, values);
        }
        let first = Window { offset: 0, limit: window.end(), ..*window };
        let labels = names.pairs_of_label.symbols(selector.namespace).iter();
        let values = labels.flat_map(|&label| self.values_in_order(label, &wanted, &first));
        window.of(values.collect())
    }

    /// The values of one label.
    fn values_of(&self, label: u32, window: &Window<'_>) -> Vec<String> {
        let Some(wanted) = self.wanted() else { return Vec::new() };
        if let Some(pairs) = wanted.pairs_of_few() {
            let of_label = self.triples(&pairs).filter(|[_, name, _]| *name == label);
            let values = of_label.map(|[_, _, value]| value).collect();
            return window.symbols(self.names, SymbolKind::LabelValue, values);
        }
        self.values_in_order(label, &wanted, window)
    }

    /// The values of one label, of which no more are looked at than are asked for.
    fn values_in_order(&self, label: u32, wanted: &Wanted<'_>, window: &Window<'_>) -> Vec<String> {
        let names = self.names;
        let order = names.orders.of(names, self.selector.namespace, label);
        let start = order.partition_point(|&pair| names.value(pair) < window.prefix);
        let mut values = names.values();
        let rest = order.get(start..).unwrap_or_default().iter();
        let named = rest.map(|&pair| (values.of(pair), pair));
        let prefixed = named.take_while(|(value, _)| value.starts_with(window.prefix));
        let found = prefixed.filter(|(_, pair)| wanted.has_pair(*pair)).skip(window.offset);
        found.take(window.limit).map(|(value, _)| value.to_owned()).collect()
    }

    fn triples(&self, pairs: &[u32]) -> impl Iterator<Item = [u32; 3]> {
        pairs.iter().filter_map(|&pair| self.names.pair(pair))
    }
}

#[derive(Clone, Copy)]
struct Window<'a> {
    prefix: &'a str,
    offset: usize,
    limit: usize,
}

impl Window<'_> {
    fn end(&self) -> usize {
        self.offset.saturating_add(self.limit)
    }

    fn symbols(&self, names: &Names, kind: SymbolKind, mut ids: Vec<u32>) -> Vec<String> {
        ids.sort_unstable();
        ids.dedup();
        let strings = ids.into_iter().map(|id| names.symbol(kind, id));
        let mut strings: Vec<&str> = strings.filter(|s| s.starts_with(self.prefix)).collect();
        if self.end() < strings.len() {
            strings.select_nth_unstable(self.end());
            strings.truncate(self.end());
        }
        strings.sort_unstable();
        strings.into_iter().skip(self.offset).map(str::to_owned).collect()
    }

    fn of(&self, mut strings: Vec<String>) -> Vec<String> {
        strings.retain(|string| string.starts_with(self.prefix));
        strings.sort_unstable();
        strings.dedup();
        strings.into_iter().skip(self.offset).take(self.limit).collect()
    }
}
