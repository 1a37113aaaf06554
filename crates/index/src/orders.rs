//! Orders: the pairs of a label in the byte order of their values, kept from listing to listing.
//!
//! Registration does not keep names in order: a new name would cost more, and most are never
//! listed. So the first listing of a label sorts its values, and later ones sort what came since
//! and put it in between. Pairs are only ever added, so nothing else can change. An order takes
//! four bytes for each value of a label that was listed.

use crate::names::Names;
use crate::select::{GoesOn, may_walk};
use foliot_lock::{Mutex, Rank};
use std::collections::HashMap;
use std::sync::Arc;

/// The orders of labels that have many values, by namespace and label name.
#[derive(Debug)]
pub(crate) struct Orders(Mutex<HashMap<(u32, u32), Order>>);

#[derive(Clone, Debug, Default)]
struct Order {
    pairs: Arc<Vec<u32>>,
    /// Pairs of all labels that were looked at.
    seen: u32,
}

impl Default for Orders {
    fn default() -> Self {
        Self(Mutex::new(Rank::Found, HashMap::new()))
    }
}

impl Orders {
    /// The pairs of a label whose values begin with `prefix`, by value; nothing when it was not to
    /// go on.
    pub(crate) fn beginning(
        &self,
        names: &Names,
        [namespace, label]: [u32; 2],
        prefix: &str,
        goes_on: &GoesOn<'_>,
    ) -> Option<Vec<u32>> {
        if !may_walk(self.behind(names, namespace, label), goes_on) {
            return None;
        }
        let order = self.of(names, namespace, label);
        let start = order.partition_point(|&pair| names.value(pair) < prefix);
        let rest = order.get(start..).unwrap_or_default();
        let end = rest.partition_point(|&pair| names.value(pair).starts_with(prefix));
        Some(rest.get(..end).unwrap_or_default().to_vec())
    }

    /// Pairs of a label that may not be in order yet.
    fn behind(&self, names: &Names, namespace: u32, label: u32) -> usize {
        let seen = self.0.lock().get(&(namespace, label)).map_or(0, |order| order.seen);
        let since = names.pairs().entries().len().saturating_sub(seen);
        (since as usize).min(names.pairs_of_label.count(namespace, label) as usize)
    }

    /// The pairs of a label by value. Whoever asks meanwhile waits, and does not sort as well.
    pub(crate) fn of(&self, names: &Names, namespace: u32, label: u32) -> Arc<Vec<u32>> {
        if !names.is_big(namespace, label) {
            return Arc::new(sorted(names, names.pairs_of_label.members(namespace, label)));
        }
        let mut orders = self.0.lock();
        let order = orders.entry((namespace, label)).or_default();
        let end = names.pairs().entries().len();
        if order.seen < end {
            let new = sorted(names, names.pairs_from(namespace, label, order.seen));
            if !new.is_empty() {
                order.pairs = Arc::new(merged(names, &order.pairs, &new));
            }
        }
        order.seen = end;
        Arc::clone(&order.pairs)
    }

    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.0.lock().values().map(|order| order.pairs.capacity() * 4).sum()
    }
}

/// Pairs by value. Values of one label often begin alike ("host_"); the eight bytes after that are
/// compared as a number, and only equal ones as strings.
fn sorted(names: &Names, pairs: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut values = names.values();
    let mut named: Vec<(u64, &str, u32)> = pairs.map(|pair| (0, values.of(pair), pair)).collect();
    let Some(&(_, first, _)) = named.first() else { return Vec::new() };
    let shared = named.iter().fold(first.len(), |shared, (_, value, _)| {
        let both = first.bytes().take(shared).zip(value.bytes());
        both.take_while(|(a, b)| a == b).count()
    });
    for (head, value, _) in &mut named {
        let rest = value.as_bytes().get(shared..).unwrap_or_default();
        let bytes = rest.iter().chain(std::iter::repeat(&0)).take(8);
        *head = bytes.fold(0, |head, &byte| head << 8 | u64::from(byte));
    }
    named.sort_unstable();
    named.into_iter().map(|(_, _, pair)| pair).collect()
}

/// Two orders as one. There are many old pairs for each new one: they are copied in runs.
fn merged(names: &Names, old: &[u32], new: &[u32]) -> Vec<u32> {
    let mut all = Vec::with_capacity(old.len() + new.len());
    let mut rest = old;
    for &pair in new {
        let value = names.value(pair);
        let (before, after) = rest.split_at(rest.partition_point(|&old| names.value(old) < value));
        all.extend_from_slice(before);
        all.push(pair);
        rest = after;
    }
    all.extend_from_slice(rest);
    all
}
