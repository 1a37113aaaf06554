//! Listings of a segment: names in byte order, which is the order of their places.

use super::Segment;
use super::read::{Sources, Strings};
use crate::error::Error;
use crate::list::{Listed, has_all_sources};
use crate::names::SymbolKind;
use crate::select::Bitmap;
use foliot_model::{DEFAULT_FIELD, Selector};

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
        let (kind, places) = match what {
            Listed::Metrics => return self.metrics(selector, prefix, limit, living),
            Listed::Measurements => {
                (SymbolKind::Measurement, self.of_columns(selector, living, |[_, m, _]| m)?)
            }
            Listed::Fields => (SymbolKind::Field, self.of_columns(selector, living, |[.., f]| f)?),
            Listed::LabelNames => (SymbolKind::LabelName, self.of_pairs(selector, living, None)?),
            Listed::LabelValues(None) => {
                (SymbolKind::LabelValue, self.of_pairs(selector, living, Some(None))?)
            }
            Listed::LabelValues(Some(name)) => {
                let Some(label) = self.find_symbol(SymbolKind::LabelName, name)? else {
                    return Ok(Vec::new());
                };
                (SymbolKind::LabelValue, self.of_pairs(selector, living, Some(Some(label)))?)
            }
        };
        let start = self.symbols_before(kind, prefix)?;
        let first = places.partition_point(|&place| place < start);
        let mut strings = Strings::new(self, kind);
        let mut found = Vec::new();
        for &place in places.get(first..).unwrap_or_default() {
            let name = strings.get(place)?;
            if !name.starts_with(prefix) || found.len() >= limit {
                break;
            }
            found.push(name.to_string());
        }
        Ok(found)
    }

    fn metrics(
        &self,
        selector: &Selector,
        prefix: &str,
        limit: usize,
        living: Option<&dyn Fn(u32) -> bool>,
    ) -> Result<Vec<String>, Error> {
        let mut measurements = Strings::new(self, SymbolKind::Measurement);
        let mut fields = Strings::new(self, SymbolKind::Field);
        let mut found = Vec::new();
        for [_, measurement, field] in self.columns_wanted(selector, living)? {
            let measurement = measurements.get(measurement)?;
            let metric = match &*fields.get(field)? {
                DEFAULT_FIELD => measurement.to_string(),
                field => format!("{measurement}.{field}"),
            };
            if metric.starts_with(prefix) {
                found.push(metric);
            }
        }
        found.sort_unstable();
        found.dedup();
        found.truncate(limit);
        Ok(found)
    }

    /// The columns of the wanted series.
    fn columns_wanted(
        &self,
        selector: &Selector,
        living: Option<&dyn Fn(u32) -> bool>,
    ) -> Result<Vec<[u32; 3]>, Error> {
        let columns = self.tables.columns;
        if living.is_none() && has_all_sources(selector) {
            if selector.names.is_empty() {
                let all = self.columns_in(selector.namespace)?;
                return columns.range(self, all.start, all.end);
            }
            let named = self.columns_named(selector.namespace, &selector.names)?;
            return named.into_iter().map(|column| columns.get(self, column)).collect();
        }
        let mut seen = Bitmap::default();
        let mut sources = Sources::new(self);
        for sid in self.living(selector, living)? {
            let found = sources.of_series(sid)?;
            found.into_iter().for_each(|(_, column)| seen.set(column));
        }
        seen.iter().map(|column| columns.get(self, column)).collect()
    }

    fn living(
        &self,
        selector: &Selector,
        living: Option<&dyn Fn(u32) -> bool>,
    ) -> Result<Vec<u32>, Error> {
        let mut sids = self.select(selector)?;
        if let Some(is_living) = living {
            sids.retain(|&sid| is_living(sid));
        }
        Ok(sids)
    }

    fn of_columns(
        &self,
        selector: &Selector,
        living: Option<&dyn Fn(u32) -> bool>,
        symbol: fn([u32; 3]) -> u32,
    ) -> Result<Vec<u32>, Error> {
        let columns = self.columns_wanted(selector, living)?;
        Ok(sorted(columns.into_iter().map(symbol).collect()))
    }

    /// Label names of the wanted series, or the values of one label or of all, as places.
    fn of_pairs(
        &self,
        selector: &Selector,
        living: Option<&dyn Fn(u32) -> bool>,
        values_of: Option<Option<u32>>,
    ) -> Result<Vec<u32>, Error> {
        let is_everything =
            living.is_none() && selector.names.is_empty() && has_all_sources(selector);
        if !is_everything {
            return self.of_pairs_wanted(selector, living, values_of);
        }
        let labels = self.tables.labels;
        let of_namespace = labels.range::<4>(self, 0, labels.len)?.into_iter();
        let of_namespace = of_namespace.filter(|[n, ..]| *n == selector.namespace);
        let Some(name) = values_of else {
            return Ok(sorted(of_namespace.map(|[_, name, ..]| name).collect()));
        };
        let mut values = Vec::new();
        for [_, label, start, end] in of_namespace {
            if name.is_none_or(|name| name == label) {
                let pairs = self.tables.pairs.range::<1>(self, start, end)?;
                values.extend(pairs.into_iter().map(|[value]| value));
            }
        }
        // Those of one label are in order already.
        Ok(if name.is_some() { values } else { sorted(values) })
    }

    fn of_pairs_wanted(
        &self,
        selector: &Selector,
        living: Option<&dyn Fn(u32) -> bool>,
        values_of: Option<Option<u32>>,
    ) -> Result<Vec<u32>, Error> {
        let mut sources = Sources::new(self);
        let (mut seen, mut last) = (Bitmap::default(), None);
        for sid in self.living(selector, living)? {
            let source = sources.of_series(sid)?.map(|(source, _)| source);
            if let (Some(source), true) = (source, source != last) {
                sources.get(source)?.pairs.iter().for_each(|&pair| seen.set(pair));
            }
            last = source;
        }
        let mut found = Vec::new();
        for pair in seen.iter() {
            let [name, value] = self.pair(pair)?;
            match values_of {
                None => found.push(name),
                Some(wanted) if wanted.is_none_or(|wanted| wanted == name) => found.push(value),
                Some(_) => {}
            }
        }
        Ok(sorted(found))
    }
}

fn sorted(mut places: Vec<u32>) -> Vec<u32> {
    places.sort_unstable();
    places.dedup();
    places
}
