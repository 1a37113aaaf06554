//! Selecting series across epochs, and knowing again those that several of them have.

use super::{Closed, Epochs};
use crate::error::Error;
use crate::view::View;
use foliot_index::GoesOn;
use foliot_lock::{Rank, RwLock};
use foliot_model::{Selector, TimeRange};
use std::collections::HashMap;

/// The older ids of series that occur in several epochs, oldest first, by their newest id: what a
/// snapshot's selections found out.
pub(crate) struct Earlier(RwLock<HashMap<u32, Vec<u32>>>);

impl Default for Earlier {
    fn default() -> Self {
        Self(RwLock::new(Rank::Earlier, HashMap::new()))
    }
}

impl Earlier {
    /// All ids of a series, oldest first.
    pub(crate) fn ids(&self, sid: u32) -> Vec<u32> {
        let earlier = self.0.read();
        let mut ids = earlier.get(&sid).cloned().unwrap_or_default();
        ids.push(sid);
        ids
    }

    fn add(&self, found: HashMap<u32, Vec<u32>>) {
        if found.is_empty() {
            return;
        }
        let mut earlier = self.0.write();
        for (sid, ids) in found {
            let known = earlier.entry(sid).or_default();
            known.extend(ids);
            known.sort_unstable();
            known.dedup();
        }
    }

    fn is_empty(&self) -> bool {
        self.0.read().is_empty()
    }
}

/// The series selected so far, by their keys: once a second epoch has some.
#[derive(Default)]
struct Newest<'e> {
    /// The closed epoch that the first ones are of; the open one if it is none.
    of: Option<&'e Closed>,
    by_key: Option<HashMap<u128, u32>>,
}

impl Newest<'_> {
    /// By key, when `sids` are the first ones.
    fn by_key(&mut self, epochs: &Epochs, sids: &[u32]) -> Result<&mut HashMap<u128, u32>, Error> {
        let by_key = match self.by_key.take() {
            Some(by_key) => by_key,
            None => {
                let keys = match self.of {
                    None => epochs.current.keys(sids, epochs.seed),
                    Some(closed) => closed.keys(sids, epochs.seed)?,
                };
                keys.into_iter().zip(sids.iter().copied()).collect()
            }
        };
        Ok(self.by_key.insert(by_key))
    }
}

impl Epochs {
    /// The series that `selector` wants and that may have samples in `range`, ascending, each by
    /// its newest id. What ids it has in earlier epochs goes to `earlier`.
    pub(crate) fn select(
        &self,
        view: &View,
        selector: &Selector,
        range: TimeRange,
        earlier: &Earlier,
        goes_on: &GoesOn<'_>,
    ) -> Result<Vec<u32>, Error> {
        let expanded = match &selector.only {
            Some(only) if !earlier.is_empty() => {
                let only = only.iter().flat_map(|&sid| earlier.ids(sid)).collect();
                &Selector { only: Some(only), ..selector.clone() }
            }
            _ => selector,
        };
        let mut sids = self.current.select_while(expanded, goes_on)?;
        let dropped = view.tombstones.dropped();
        let mut newest = Newest::default();
        let mut found: HashMap<u32, Vec<u32>> = HashMap::new();
        for closed in self.relevant(view, selector.namespace, range) {
            let older = closed.select(expanded, dropped, goes_on)?;
            if sids.is_empty() {
                // What one epoch has alone it need not be known by its keys for.
                (sids, newest.of) = (older, Some(closed));
                continue;
            }
            if older.is_empty() {
                continue;
            }
            let by_key = newest.by_key(self, &sids)?;
            for (key, sid) in closed.keys(&older, self.seed)?.into_iter().zip(older) {
                let first = *by_key.entry(key).or_insert(sid);
                match first == sid {
                    true => sids.push(sid),
                    false => found.entry(first).or_default().push(sid),
                }
            }
        }
        sids.sort_unstable();
        earlier.add(found);
        Ok(sids)
    }
}
