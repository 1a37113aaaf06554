//! Listings: names in use, in byte order.

use crate::names::{Names, SymbolKind};
use crate::select::{self, Bitmap};
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
            let ids = match is_everything(selector) {
                true => living_labels(names, selector.namespace),
                false => pairs(names, selector).map(|[_, name, _]| name).collect(),
            };
            window.symbols(names, SymbolKind::LabelName, ids)
        }
        Listed::LabelValues(name) => {
            let name = match name {
                None => None,
                Some(name) => match names.symbols(SymbolKind::LabelName).find(name.as_bytes()) {
                    None => return Vec::new(),
                    found => found,
                },
            };
            window.symbols(names, SymbolKind::LabelValue, values(names, selector, name))
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

/// The values of one label, or of all.
fn values(names: &Names, selector: &Selector, name: Option<u32>) -> Vec<u32> {
    if !is_everything(selector) {
        let of_name = |[_, found, _]: &[u32; 3]| name.is_none_or(|name| name == *found);
        return pairs(names, selector).filter(of_name).map(|[_, _, value]| value).collect();
    }
    let groups = &names.pairs_of_label;
    let all = groups.symbols(selector.namespace);
    let of_label = |&label: &u32| groups.members(selector.namespace, label);
    let pairs: Vec<u32> = match &name {
        Some(name) => of_label(name).collect(),
        None => all.iter().flat_map(of_label).collect(),
    };
    let living = pairs.into_iter().filter(|&pair| names.is_pair_alive(pair));
    living.filter_map(|pair| names.pair(pair)).map(|[_, _, value]| value).collect()
}

/// The label names of a namespace that some living series has.
fn living_labels(names: &Names, namespace: u32) -> Vec<u32> {
    let groups = &names.pairs_of_label;
    let mut labels = groups.symbols(namespace).to_vec();
    if !names.forgotten.sids().is_empty() {
        let is_alive = |pair| names.is_pair_alive(pair);
        labels.retain(|&label| groups.members(namespace, label).any(is_alive));
    }
    labels
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
