//! Listings: names in use, in byte order.

use crate::identity::metric;
use crate::names::{Names, SymbolKind};
use crate::select;
use crate::wanted::Wanted;
use foliot_model::Selector;
use std::cell::Cell;
use std::collections::BTreeSet;

/// Asked now and then, with the bytes of names that were gathered so far, whether to go on. It is
/// called under the lock of names.
pub type MayGather<'a> = dyn Fn(usize) -> bool + 'a;

/// Names looked at before it is asked again: well below a millisecond.
const NAMES_PER_ASK: u32 = 256;

/// What a name that was gathered weighs beside its text.
const NAME_BYTES: usize = 32;

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

/// Whether a listing is to go on, and what it has gathered.
pub(crate) struct Gathering<'a> {
    may_gather: &'a MayGather<'a>,
    steps: Cell<u32>,
    bytes: Cell<usize>,
    is_stopped: Cell<bool>,
}

impl<'a> Gathering<'a> {
    pub(crate) fn new(may_gather: &'a MayGather<'a>) -> Self {
        let (steps, bytes, is_stopped) = (Cell::new(0), Cell::new(0), Cell::new(false));
        Self { may_gather, steps, bytes, is_stopped }
    }

    /// Whether to look at another name; once it says no, it goes on saying so.
    pub(crate) fn step(&self) -> bool {
        self.steps.set(self.steps.get() + 1);
        if self.steps.get() >= NAMES_PER_ASK {
            self.steps.set(0);
            return self.goes_on();
        }
        !self.is_stopped.get()
    }

    /// Asks at once.
    pub(crate) fn goes_on(&self) -> bool {
        if !(self.may_gather)(self.bytes.get()) {
            self.is_stopped.set(true);
        }
        !self.is_stopped.get()
    }

    /// Whether to keep another name.
    pub(crate) fn take(&self, name: &str) -> bool {
        self.bytes.set(self.bytes.get() + name.len() + NAME_BYTES);
        self.step()
    }

    /// A name that was kept is not kept any more.
    fn give(&self, name: &str) {
        self.bytes.set(self.bytes.get().saturating_sub(name.len() + NAME_BYTES));
    }

    /// What was gathered, if all of it was.
    pub(crate) fn all<T>(&self, found: T) -> Option<T> {
        let is_wanted = self.bytes.get() == 0 || self.goes_on();
        (is_wanted && !self.is_stopped.get()).then_some(found)
    }
}

/// The first so many of names that come in any order, each once.
pub(crate) struct First<'a> {
    gathering: &'a Gathering<'a>,
    names: BTreeSet<String>,
    end: usize,
}

impl<'a> First<'a> {
    pub(crate) fn new(gathering: &'a Gathering<'a>, end: usize) -> Self {
        Self { gathering, names: BTreeSet::new(), end }
    }

    /// Keeps a name if it is among the first. Whether to go on.
    pub(crate) fn push(&mut self, name: String) -> bool {
        let is_full = self.names.len() >= self.end;
        let is_later = self.names.last().is_none_or(|last| *last <= name);
        if is_full && is_later || self.names.contains(&name) {
            return self.gathering.step();
        }
        if !self.gathering.take(&name) {
            return false;
        }
        self.names.insert(name);
        if self.names.len() > self.end {
            self.names.pop_last().iter().for_each(|last| self.gathering.give(last));
        }
        true
    }

    /// In byte order.
    pub(crate) fn into_names(self) -> impl Iterator<Item = String> {
        self.names.into_iter()
    }
}

/// The names that `what` asks for, of the series that `selector` wants, each once and in byte
/// order: those that begin with `prefix`, without the first `offset` ones, at most `limit`; as long
/// as `may_gather` says so.
pub(crate) fn list(
    names: &Names,
    what: &Listed,
    selector: &Selector,
    prefix: &str,
    (offset, limit): (usize, usize),
    may_gather: &MayGather<'_>,
) -> Option<Vec<String>> {
    let gathering = &Gathering::new(may_gather);
    let window = Window { prefix, offset, limit, gathering };
    let listing = Listing { names, selector, gathering };
    let found = match what {
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
                Some(metric(measurement, names.symbol(SymbolKind::Field, field)))
            };
            window.of(listing.columns().into_iter().filter_map(metric))
        }
        Listed::LabelNames => window.symbols(names, SymbolKind::LabelName, listing.labels()),
        Listed::LabelValues(Some(name)) => {
            match names.symbols(SymbolKind::LabelName).find(name.as_bytes()) {
                Some(label) => listing.values_of(label, &window),
                None => Vec::new(),
            }
        }
        Listed::LabelValues(None) => listing.values(&window),
    };
    gathering.all(found)
}

pub(crate) fn has_all_sources(selector: &Selector) -> bool {
    selector.matchers.is_empty() && selector.exact_labels.is_none() && selector.only.is_none()
}

struct Listing<'a> {
    names: &'a Names,
    selector: &'a Selector,
    gathering: &'a Gathering<'a>,
}

impl<'a> Listing<'a> {
    /// The sources of the wanted series.
    fn wanted(&self) -> Option<Wanted<'a>> {
        let Self { names, selector, .. } = self;
        let columns = (!selector.names.is_empty())
            .then(|| select::columns(names, selector.namespace, &selector.names));
        Wanted::new(names, selector, columns, &|_| self.gathering.goes_on())
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
        let wanted = Wanted::new(names, selector, None, &|_| self.gathering.goes_on());
        let Some(wanted) = wanted else { return Vec::new() };
        columns.retain(|&column| self.gathering.step() && wanted.has_column(column));
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
            let mut members = groups.members(selector.namespace, label);
            members.any(|pair| !self.gathering.step() || wanted.has_pair(pair))
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
        let values = labels.flat_map(|&label| {
            let of_label = self.values_in_order(label, &wanted, &first);
            of_label.iter().for_each(|value| self.gathering.give(value));
            of_label
        });
        window.of(values)
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
        let rest = rest.take_while(|_| self.gathering.step());
        let named = rest.map(|&pair| (values.of(pair), pair));
        let prefixed = named.take_while(|(value, _)| value.starts_with(window.prefix));
        let found = prefixed.filter(|(_, pair)| wanted.has_pair(*pair)).skip(window.offset);
        let found = found.take(window.limit).map(|(value, _)| value);
        found.take_while(|value| self.gathering.take(value)).map(str::to_owned).collect()
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
    gathering: &'a Gathering<'a>,
}

impl Window<'_> {
    fn end(&self) -> usize {
        self.offset.saturating_add(self.limit)
    }

    fn symbols(&self, names: &Names, kind: SymbolKind, mut ids: Vec<u32>) -> Vec<String> {
        ids.sort_unstable();
        ids.dedup();
        let ids = ids.into_iter().take_while(|_| self.gathering.step());
        let strings = ids.map(|id| names.symbol(kind, id));
        let mut strings: Vec<&str> = strings.filter(|s| s.starts_with(self.prefix)).collect();
        if self.end() < strings.len() {
            strings.select_nth_unstable(self.end());
            strings.truncate(self.end());
        }
        strings.sort_unstable();
        let strings = strings.into_iter().skip(self.offset);
        strings.take_while(|name| self.gathering.take(name)).map(str::to_owned).collect()
    }

    fn of(&self, strings: impl Iterator<Item = String>) -> Vec<String> {
        let mut first = First::new(self.gathering, self.end());
        for string in strings.filter(|string| string.starts_with(self.prefix)) {
            if !first.push(string) {
                break;
            }
        }
        first.into_names().skip(self.offset).collect()
    }
}
