//! Heads of rows, and rows one by one.

use foliot_model::Item;
use std::cmp::Ordering;
use std::sync::Arc;

/// What a row belongs to.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Head {
    pub(super) measurement: Arc<str>,
    /// By name; a label that is absent has the empty value.
    pub(super) labels: Vec<(Arc<str>, Arc<str>)>,
}

impl Head {
    /// The value of a label; empty if there is none.
    pub(super) fn label(&self, name: &str) -> &str {
        let found = self.labels.iter().find(|(found, _)| &**found == name);
        found.map_or("", |(_, value)| value)
    }

    /// The same with these labels only.
    pub(super) fn reduce(&self, names: &[Arc<str>]) -> Self {
        let labels = names.iter().map(|name| (name.clone(), self.label(name).into()));
        Self { measurement: self.measurement.clone(), labels: labels.collect() }
    }

    /// Measurement, then the values of these labels.
    pub(super) fn compare(&self, other: &Self, names: &[Arc<str>]) -> Ordering {
        let by_name = self.measurement.cmp(&other.measurement);
        by_name.then_with(|| {
            let values = names.iter().map(|name| self.label(name).cmp(other.label(name)));
            values.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        })
    }
}

/// Whether two heads say the same.
pub(super) fn is_same(a: &Arc<Head>, b: &Arc<Head>) -> bool {
    Arc::ptr_eq(a, b) || a == b
}

/// Reduces heads, remembering the last one: rows of one head come together.
#[derive(Debug, Default)]
pub(super) struct Reducing {
    names: Arc<[Arc<str>]>,
    last: Option<(Arc<Head>, Arc<Head>)>,
}

impl Reducing {
    pub(super) fn new(names: Arc<[Arc<str>]>) -> Self {
        Self { names, last: None }
    }

    pub(super) fn of(&mut self, head: &Arc<Head>) -> Arc<Head> {
        if let Some((from, to)) = &self.last
            && Arc::ptr_eq(from, head)
        {
            return to.clone();
        }
        let is_reduced = head.labels.len() == self.names.len()
            && head.labels.iter().zip(self.names.iter()).all(|((found, _), name)| found == name);
        let reduced = match (&self.last, is_reduced) {
            (_, true) => head.clone(),
            (Some((_, to)), _) if to.compare(head, &self.names).is_eq() => to.clone(),
            _ => Arc::new(head.reduce(&self.names)),
        };
        self.last = Some((head.clone(), reduced.clone()));
        reduced
    }
}

/// A row, for operators that look at rows one by one.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) head: Arc<Head>,
    pub(super) time_ns: i64,
    pub(super) value: Item,
    pub(super) carried: Vec<Item>,
}

impl Row {
    /// Memory held, by estimate.
    pub(super) fn bytes(&self) -> usize {
        let items = self.carried.iter().chain([&self.value]);
        size_of::<Self>()
            + items.map(|item| size_of::<Item>() + item.bytes_outside()).sum::<usize>()
    }
}
