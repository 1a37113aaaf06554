//! Names and numbers as OpenTSDB knows them, found in a snapshot.

use crate::store::Store;
use foliot_engine::SymbolKind;
use foliot_exec::{Charge, Error, Query, listed, selected};
use foliot_model::{
    DEFAULT_FIELD, Matcher, Name, NamespaceId, Samples, Selector, Test, TimeRange, Value,
};
use foliot_plan::{Listing, What};
use foliot_proto_opentsdb::{
    LastSample, Request, RequiredName, Stored, Tsuid, UidKind, any_series, renamed_fact, value_text,
};
use std::cell::RefCell;

/// The names of a namespace. What is looked up is held to what the request may take.
pub(super) struct Names<'a> {
    pub(super) query: Query<'a>,
    /// What the names weigh that were handed out.
    pub(super) charge: RefCell<Charge<'a>>,
    pub(super) namespace: NamespaceId,
    /// Where rollups are, which may be all that is kept of a metric.
    pub(super) tables: &'a [NamespaceId],
    /// Knows which names were given up for others.
    pub(super) store: Option<&'a Store>,
}

/// Where the store keeps names of a kind.
pub(super) const fn symbol_kind(kind: UidKind) -> SymbolKind {
    match kind {
        UidKind::Metric => SymbolKind::Measurement,
        UidKind::TagKey => SymbolKind::LabelName,
        UidKind::TagValue => SymbolKind::LabelValue,
    }
}

impl Names<'_> {
    /// Whether a name that a query needs exists.
    pub(super) fn exists(&self, name: &RequiredName<'_>) -> Result<bool, Error> {
        Ok(match name {
            RequiredName::Metric(metric) => {
                for &namespace in std::iter::once(&self.namespace).chain(self.tables) {
                    let selector = match namespace == self.namespace {
                        true => Request::metric_selector(namespace, metric),
                        false => Request::table_selector(namespace, metric),
                    };
                    if self.first(What::Measurements, selector, "")?.is_some() {
                        return Ok(true);
                    }
                }
                false
            }
            RequiredName::TagKey(name) => {
                self.query.snapshot.symbol_id(SymbolKind::LabelName, name)?.is_some()
                    && !self.is_free(UidKind::TagKey, name)?
            }
            RequiredName::TagValue(value) => {
                self.query.snapshot.symbol_id(SymbolKind::LabelValue, value)?.is_some()
                    && !self.is_free(UidKind::TagValue, value)?
            }
        })
    }

    /// Whether a name was given up for another, and nothing has it again.
    fn is_free(&self, kind: UidKind, name: &str) -> Result<bool, Error> {
        let (fact, key) = renamed_fact(self.namespace, kind, name);
        let is_renamed =
            self.store.is_some_and(|store| store.engine().catalog_get(fact, &key).is_some());
        Ok(is_renamed && !self.is_used(kind, name)?)
    }

    /// Whether series have a name.
    pub(super) fn is_used(&self, kind: UidKind, name: &str) -> Result<bool, Error> {
        let what = match kind {
            UidKind::Metric => return self.exists(&RequiredName::Metric(name)),
            UidKind::TagKey => What::LabelNames,
            UidKind::TagValue => What::LabelValues(None),
        };
        for &namespace in std::iter::once(&self.namespace).chain(self.tables) {
            if self
                .first(what.clone(), any_series(namespace), name)?
                .is_some_and(|found| found == name)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The first of the names that begin with `prefix`.
    fn first(&self, what: What, selector: Selector, prefix: &str) -> Result<Option<String>, Error> {
        let found = self.list(what, selector, prefix, 1)?;
        Ok(found.into_iter().next())
    }

    /// All names of labels that series have.
    pub(super) fn label_names(&self, selector: &Selector) -> Result<Vec<String>, Error> {
        self.list(What::LabelNames, selector.clone(), "", usize::MAX)
    }

    fn list(
        &self,
        what: What,
        selector: Selector,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<String>, Error> {
        let prefix = prefix.to_owned();
        let listing = Listing { what, selector, prefix, offset: 0, limit };
        listed(&self.query, &listing, &mut self.charge.borrow_mut())
    }

    /// The series that a selector wants, ascending.
    pub(super) fn select(&self, selector: &Selector, range: TimeRange) -> Result<Vec<u32>, Error> {
        selected(&self.query, selector, range, &mut self.charge.borrow_mut())
    }

    /// The stored series of a TSUID.
    pub(super) fn resolve(&self, tsuid: &Tsuid) -> Result<Vec<u32>, Error> {
        self.resolve_in(tsuid, None)
    }

    /// The stored series of a TSUID, in another namespace and with another field if such are given.
    pub(super) fn resolve_in(
        &self,
        tsuid: &Tsuid,
        place: Option<(NamespaceId, &str)>,
    ) -> Result<Vec<u32>, Error> {
        let Some(mut selector) = self.selector_of(tsuid)? else { return Ok(Vec::new()) };
        if let Some((namespace, field)) = place {
            selector.namespace = namespace;
            selector.names.iter_mut().for_each(|name| name.field = Test::equal(field));
        }
        self.select(&selector, TimeRange::ALL)
    }

    /// Whether series have samples in a range.
    pub(super) fn has_samples(&self, selector: &Selector, range: TimeRange) -> Result<bool, Error> {
        let mut samples = Samples::default();
        let Query { snapshot, meter } = &self.query;
        for sid in self.select(selector, range)? {
            meter.check(0)?;
            if snapshot.scan(sid, range)?.next(&mut samples)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Nothing when a number in the TSUID was never given out.
    fn selector_of(&self, tsuid: &Tsuid) -> Result<Option<Selector>, Error> {
        let name_of = |kind, id| self.query.snapshot.symbol_name(kind, id);
        let Some(measurement) = name_of(SymbolKind::Measurement, tsuid.measurement)? else {
            return Ok(None);
        };
        let field = match tsuid.field {
            None => Some(DEFAULT_FIELD.into()),
            Some(id) => name_of(SymbolKind::Field, id)?,
        };
        let Some(field) = field else { return Ok(None) };
        let mut matchers = Vec::new();
        let mut labels = Vec::new();
        for &(name, value) in &tsuid.tags {
            let name = name_of(SymbolKind::LabelName, name)?;
            let value = name_of(SymbolKind::LabelValue, value)?;
            let (Some(name), Some(value)) = (name, value) else { return Ok(None) };
            let name = name.to_string();
            labels.push(name.clone());
            let test = Test::equal(&*value);
            matchers.push(Matcher { name, test, negated: false, accepts_absent: false });
        }
        let name = Name { measurement: Test::equal(&*measurement), field: Test::equal(&*field) };
        Ok(Some(Selector {
            namespace: self.namespace,
            names: vec![name],
            matchers,
            exact_labels: Some(labels),
            only: None,
        }))
    }

    /// The TSUID of a stored series.
    pub(super) fn tsuid_of(&self, sid: u32) -> Result<Option<Tsuid>, Error> {
        Ok(self.stored(sid)?.map(|stored| stored.tsuid))
    }

    /// A stored series with its names and their numbers.
    pub(super) fn stored(&self, sid: u32) -> Result<Option<Stored>, Error> {
        let snapshot = self.query.snapshot;
        let Some(identity) = snapshot.identity(sid)? else { return Ok(None) };
        let Some(numbers) = snapshot.numbers(sid)? else { return Ok(None) };
        let (field, metric) = match &*identity.field {
            DEFAULT_FIELD => (None, identity.measurement.to_string()),
            name => (Some(numbers.field), format!("{}.{name}", identity.measurement)),
        };
        let (measurement, tags) = (numbers.measurement, numbers.labels.to_vec());
        let tsuid = Tsuid { measurement, field, tags };
        Ok(Some(Stored { sid, metric, tags: identity.labels, tsuid }))
    }

    /// The latest sample of a series that can be printed.
    pub(super) fn last(&self, sid: u32) -> Result<Option<LastSample>, Error> {
        let samples = self.query.snapshot.last(sid)?;
        let last = samples.as_ref().and_then(|samples| samples.iter().last());
        Ok(last.and_then(|(time_ns, value)| match value {
            Value::Histogram(_) => None,
            value => Some(LastSample { time_ns, text: value_text(value) }),
        }))
    }
}
