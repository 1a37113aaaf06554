//! Listings of a segment: names in byte order, which is the order of their places.

use super::Segment;
use super::read::{Sources, Strings};
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::list::{First, Gathering, Listed, MayGather, has_all_sources};
use crate::names::SymbolKind;
use foliot_model::{DEFAULT_FIELD, Selector};
use std::ops::Range;

/// Looking at a series costs as much as asking of so many pairs whether a wanted series has them.
const WIDE_PAIRS_OF_SERIES: u64 = 4;

/// With more wanted columns it costs too much to look a source up in each.
const WIDE_COLUMNS_MAX: usize = 16;

impl Segment {
    /// The names that `what` asks for, of the series that `selector` wants: distinct, in byte
    /// order, those that begin with `prefix`, the first `limit` of them.
    ///
    /// `all_alive` says that no series was dropped; otherwise `select` is asked for those that
    /// live.
    ///
    /// # Errors
    /// When the segment cannot be read.
    pub fn list(
        &self,
        what: &Listed,
        selector: &Selector,
        prefix: &str,
        limit: usize,
        living: Option<&dyn Fn(u32) -> bool>,
    ) -> Result<Vec<String>, Error> {
        self.list_while(what, selector, (prefix, limit), living, &|_| true)
    }

    /// The same, as long as `may_gather` says so.
    ///
    /// # Errors
    /// When the segment cannot be read, or when it was not to go on.
    pub fn list_while(
        &self,
        what: &Listed,
        selector: &Selector,
        (prefix, limit): (&str, usize),
        living: Option<&dyn Fn(u32) -> bool>,
        may_gather: &MayGather<'_>,
    ) -> Result<Vec<String>, Error> {
        let gathering = Gathering::new(may_gather);
        let asked = Asked { segment: self, selector, living, gathering: &gathering };
        let found = asked.list(what, prefix, limit)?;
        gathering.all(found).ok_or(Error::Stopped)
    }
}

/// A listing that is under way.
struct Asked<'a> {
    segment: &'a Segment,
    selector: &'a Selector,
    living: Option<&'a dyn Fn(u32) -> bool>,
    gathering: &'a Gathering<'a>,
}

impl<'a> Asked<'a> {
    fn list(&self, what: &Listed, prefix: &str, limit: usize) -> Result<Vec<String>, Error> {
        let Self { segment, selector, living, .. } = *self;
        if living.is_none()
            && has_all_sources(selector)
            && let Some(found) = self.list_wide(what, prefix, limit)?
        {
            return Ok(found);
        }
        let (kind, places) = match what {
            Listed::Metrics => return self.metrics(prefix, limit),
            Listed::Measurements => (SymbolKind::Measurement, self.of_columns(|[_, m, _]| m)?),
            Listed::Fields => (SymbolKind::Field, self.of_columns(|[.., f]| f)?),
            Listed::LabelNames => (SymbolKind::LabelName, self.of_pairs(None)?),
            Listed::LabelValues(None) => {
                let is_everything =
                    living.is_none() && selector.names.is_empty() && has_all_sources(selector);
                let places = match is_everything {
                    true => self.all_values(selector.namespace)?,
                    false => self.of_pairs(Some(None))?,
                };
                (SymbolKind::LabelValue, places)
            }
            Listed::LabelValues(Some(name)) => {
                let Some(label) = segment.find_symbol(SymbolKind::LabelName, name)? else {
                    return Ok(Vec::new());
                };
                (SymbolKind::LabelValue, self.of_pairs(Some(Some(label)))?)
            }
        };
        let start = segment.symbols_before(kind, prefix)?;
        let first = places.partition_point(|&place| place < start);
        let mut strings = Strings::new(segment, kind);
        let mut found = Vec::new();
        for &place in places.get(first..).unwrap_or_default() {
            let name = strings.get(place)?;
            if !name.starts_with(prefix) || found.len() >= limit {
                break;
            }
            self.may(self.gathering.take(&name))?;
            found.push(name.to_string());
        }
        Ok(found)
    }

    /// Whether to go on, as an error where not.
    fn may(&self, go_on: bool) -> Result<(), Error> {
        go_on.then_some(()).ok_or(Error::Stopped)
    }

    /// Label names, or the values of one label, of a selector without conditions on labels, pair by
    /// pair; nothing when it wants so few series that it is better to look at each of them.
    fn list_wide(
        &self,
        what: &Listed,
        prefix: &str,
        limit: usize,
    ) -> Result<Option<Vec<String>>, Error> {
        let Self { segment, selector, .. } = *self;
        let label = match what {
            Listed::LabelNames => None,
            Listed::LabelValues(Some(name)) => {
                let Some(label) = segment.find_symbol(SymbolKind::LabelName, name)? else {
                    return Ok(Some(Vec::new()));
                };
                Some(label)
            }
            _ => return Ok(None),
        };
        if let Some(label) = label {
            let pairs = segment.pairs_of_label(selector.namespace, label)?;
            let count = u64::from(pairs.end - pairs.start);
            let Some(mut wide) = self.wide(count)? else { return Ok(None) };
            return self.values_wide(pairs, &mut wide, prefix, limit).map(Some);
        }
        let mut labels = segment.tables.labels.range::<4>(segment, 0, segment.tables.labels.len)?;
        labels.retain(|[namespace, ..]| *namespace == selector.namespace);
        let count = labels.iter().map(|[_, _, start, end]| u64::from(end - start)).sum();
        let Some(mut wide) = self.wide(count)? else { return Ok(None) };
        let mut found = Vec::new();
        for [_, label, start, end] in labels {
            if wide.has_any(start..end, self)? {
                let name = Strings::new(segment, SymbolKind::LabelName).get(label)?;
                self.may(self.gathering.take(&name))?;
                found.push(name.to_string());
            }
        }
        found.retain(|name| name.starts_with(prefix));
        found.truncate(limit);
        Ok(Some(found))
    }

    /// Values of pairs, which ascend.
    fn values_wide(
        &self,
        pairs: Range<u32>,
        wide: &mut Wide<'_>,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<String>, Error> {
        let segment = self.segment;
        let table = segment.tables.pairs;
        let first = segment.symbols_before(SymbolKind::LabelValue, prefix)?;
        let start = table.partition(segment, (pairs.start, pairs.end), |[v]| Ok(v < first))?;
        let mut strings = Strings::new(segment, SymbolKind::LabelValue);
        let mut found = Vec::new();
        for pair in start..pairs.end {
            if found.len() >= limit {
                break;
            }
            let [value] = table.get(segment, pair)?;
            let name = strings.get(value)?;
            if !name.starts_with(prefix) {
                break;
            }
            if wide.has_any(pair..pair + 1, self)? {
                self.may(self.gathering.take(&name))?;
                found.push(name.to_string());
            }
        }
        Ok(found)
    }

    /// Nothing when there are too many pairs to ask of.
    fn wide(&self, pairs: u64) -> Result<Option<Wide<'a>>, Error> {
        let Self { segment, selector, .. } = *self;
        let all = segment.columns_in(selector.namespace)?;
        let wide = |columns| Wide { segment, sources: Sources::new(segment), columns };
        if selector.names.is_empty() {
            return Ok(Some(wide(None)));
        }
        let named = segment.columns_named(selector.namespace, &selector.names)?;
        if named.len() == all.len() && !named.is_empty() {
            return Ok(Some(wide(None)));
        }
        let mut series = 0u64;
        for &column in named.iter().take(WIDE_COLUMNS_MAX) {
            segment.ids(column, &mut |_| series += 1)?;
        }
        let is_wide = named.len() <= WIDE_COLUMNS_MAX && pairs <= series * WIDE_PAIRS_OF_SERIES;
        Ok(is_wide.then(|| wide(Some(named))))
    }

    fn metrics(&self, prefix: &str, limit: usize) -> Result<Vec<String>, Error> {
        let segment = self.segment;
        let mut measurements = Strings::new(segment, SymbolKind::Measurement);
        let mut fields = Strings::new(segment, SymbolKind::Field);
        let mut first = First::new(self.gathering, limit);
        for [_, measurement, field] in self.columns_wanted()? {
            let measurement = measurements.get(measurement)?;
            let metric = match &*fields.get(field)? {
                DEFAULT_FIELD => measurement.to_string(),
                field => format!("{measurement}.{field}"),
            };
            if metric.starts_with(prefix) {
                self.may(first.push(metric))?;
            }
        }
        Ok(first.into_names().collect())
    }

    /// The columns of the wanted series.
    fn columns_wanted(&self) -> Result<Vec<[u32; 3]>, Error> {
        let Self { segment, selector, living, .. } = *self;
        let columns = segment.tables.columns;
        if living.is_none() && has_all_sources(selector) {
            if selector.names.is_empty() {
                let all = segment.columns_in(selector.namespace)?;
                return columns.range(segment, all.start, all.end);
            }
            let named = segment.columns_named(selector.namespace, &selector.names)?;
            return named.into_iter().map(|column| columns.get(segment, column)).collect();
        }
        let mut seen = Bitmap::default();
        let mut sources = Sources::new(segment);
        for sid in self.living()? {
            self.may(self.gathering.step())?;
            let found = sources.of_series(sid)?;
            found.into_iter().for_each(|(_, column)| seen.set(column));
        }
        seen.iter().map(|column| columns.get(segment, column)).collect()
    }

    fn living(&self) -> Result<Vec<u32>, Error> {
        let goes_on = |_: usize| self.gathering.goes_on();
        let mut sids = self.segment.select_while(self.selector, &goes_on)?;
        if let Some(is_living) = self.living {
            sids.retain(|&sid| is_living(sid));
        }
        Ok(sids)
    }

    fn of_columns(&self, symbol: fn([u32; 3]) -> u32) -> Result<Vec<u32>, Error> {
        let columns = self.columns_wanted()?;
        Ok(sorted(columns.into_iter().map(symbol).collect()))
    }

    /// The values of all labels of a namespace, as places.
    fn all_values(&self, namespace: u32) -> Result<Vec<u32>, Error> {
        let segment = self.segment;
        let labels = segment.tables.labels;
        let mut values = Vec::new();
        for [of, _, start, end] in labels.range::<4>(segment, 0, labels.len)? {
            if of == namespace {
                self.may(self.gathering.goes_on())?;
                let pairs = segment.tables.pairs.range::<1>(segment, start, end)?;
                values.extend(pairs.into_iter().map(|[value]| value));
            }
        }
        Ok(sorted(values))
    }

    /// Label names of the wanted series, or the values of one label or of all, as places.
    fn of_pairs(&self, values_of: Option<Option<u32>>) -> Result<Vec<u32>, Error> {
        let segment = self.segment;
        let mut sources = Sources::new(segment);
        let (mut seen, mut last) = (Bitmap::default(), None);
        for sid in self.living()? {
            self.may(self.gathering.step())?;
            let source = sources.of_series(sid)?.map(|(source, _)| source);
            if let (Some(source), true) = (source, source != last) {
                sources.get(source)?.pairs.iter().for_each(|&pair| seen.set(pair));
            }
            last = source;
        }
        let mut found = Vec::new();
        for pair in seen.iter() {
            self.may(self.gathering.step())?;
            let [name, value] = segment.pair(pair)?;
            match values_of {
                None => found.push(name),
                Some(wanted) if wanted.is_none_or(|wanted| wanted == name) => found.push(value),
                Some(_) => {}
            }
        }
        Ok(sorted(found))
    }
}

/// A selector without conditions on labels.
struct Wide<'s> {
    segment: &'s Segment,
    sources: Sources<'s>,
    /// The columns it wants, ascending; nothing when it wants all of the namespace.
    columns: Option<Vec<u32>>,
}

impl Wide<'_> {
    /// Whether a wanted series has one of the pairs. Nearly always the first source tells.
    fn has_any(&mut self, pairs: Range<u32>, asked: &Asked<'_>) -> Result<bool, Error> {
        let Some(columns) = &self.columns else { return Ok(!pairs.is_empty()) };
        for pair in pairs {
            let mut posted = Vec::new();
            self.segment.sources_of(pair, &mut |source| posted.push(source))?;
            for source in posted {
                asked.may(asked.gathering.step())?;
                let series = &self.sources.get(source)?.series;
                if series.iter().any(|(column, _)| columns.binary_search(column).is_ok()) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

fn sorted(mut places: Vec<u32>) -> Vec<u32> {
    places.sort_unstable();
    places.dedup();
    places
}
