//! When metrics were asked for last, and how often: those that nobody asks for cost what others
//! could take.

use foliot_exec::AskedName;
use foliot_lock::{Mutex, Rank};
use foliot_model::{NamespaceId, Test};
use foliot_proto_opentsdb::Request;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Names that are remembered; of more, those go first that nobody asked for longest.
const NAMES_MAX: usize = 20_000;

/// Of these, how many make room at once.
const NAMES_FORGOTTEN: usize = NAMES_MAX / 10;

/// How a metric was asked for since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Demand {
    /// The last time, in milliseconds since 1970.
    pub(crate) last_ms: i64,
    pub(crate) count: u64,
}

/// How each name was asked for.
#[derive(Debug)]
pub(crate) struct Demands(Mutex<HashMap<AskedName, Demand>>);

impl Default for Demands {
    fn default() -> Self {
        Self(Mutex::new(Rank::Table, HashMap::new()))
    }
}

impl Demands {
    /// A question about these names has ended.
    pub(crate) fn note(&self, names: &[AskedName], now_ms: i64) {
        if names.is_empty() {
            return;
        }
        let mut known = self.0.lock();
        if known.len() + names.len() > NAMES_MAX {
            forget(&mut known);
        }
        for name in names {
            let demand = known.entry(*name).or_default();
            demand.last_ms = demand.last_ms.max(now_ms);
            demand.count += 1;
        }
    }

    /// How a metric was asked for, by its name or with all that its measurement has, as the API
    /// tells it.
    pub(crate) fn told(&self, namespace: NamespaceId, metric: &str) -> Value {
        let selector = Request::metric_selector(namespace, metric);
        let whole = selector.names.iter().flat_map(|name| match &name.measurement {
            Test::AnyOf(names) => names.as_slice(),
            _ => &[],
        });
        let whole = whole.map(|measurement| AskedName::new(namespace, measurement, None));
        let (own, whole) = (self.of(AskedName::of(&selector)), self.of(whole));
        let found = own.into_iter().chain(whole).reduce(|own, whole| Demand {
            last_ms: own.last_ms.max(whole.last_ms),
            count: own.count + whole.count,
        });
        match found {
            Some(Demand { last_ms, count }) => json!({"last_ms": last_ms, "count": count}),
            None => Value::Null,
        }
    }

    /// How something was asked for by these names, each of which a question may have had for it;
    /// nothing if it was not.
    fn of(&self, names: impl Iterator<Item = AskedName>) -> Option<Demand> {
        let known = self.0.lock();
        names.filter_map(|name| known.get(&name).copied()).reduce(|one, other| Demand {
            last_ms: one.last_ms.max(other.last_ms),
            count: one.count.max(other.count),
        })
    }
}

fn forget(known: &mut HashMap<AskedName, Demand>) {
    let mut times: Vec<i64> = known.values().map(|demand| demand.last_ms).collect();
    let at = NAMES_FORGOTTEN.min(times.len().saturating_sub(1));
    if times.is_empty() {
        return;
    }
    let (_, until, _) = times.select_nth_unstable(at);
    let until = *until;
    let mut left = NAMES_FORGOTTEN;
    known.retain(|_, demand| {
        let goes = left > 0 && demand.last_ms <= until;
        left -= usize::from(goes);
        !goes
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(number: usize) -> AskedName {
        AskedName::new(0, &number.to_string(), None)
    }

    #[test]
    fn names_are_counted_with_their_last_time() {
        let demands = Demands::default();
        demands.note(&[name(1), name(2)], 5);
        demands.note(&[name(1)], 9);
        let of = |names: &[usize]| demands.of(names.iter().map(|number| name(*number)));
        assert_eq!(of(&[1]), Some(Demand { last_ms: 9, count: 2 }));
        assert_eq!(of(&[2, 3]), Some(Demand { last_ms: 5, count: 1 }));
        assert_eq!(of(&[1, 2]), Some(Demand { last_ms: 9, count: 2 }), "two readings of one name");
        assert_eq!(of(&[3]), None);
    }

    #[test]
    fn those_that_nobody_asked_for_longest_make_room() {
        let demands = Demands::default();
        for number in 0..NAMES_MAX + 1 {
            demands.note(&[name(number)], number as i64);
        }
        let is_known = |number: usize| demands.of(std::iter::once(name(number))).is_some();
        assert!(!is_known(0) && !is_known(NAMES_FORGOTTEN - 1));
        assert!(is_known(NAMES_FORGOTTEN + 1) && is_known(NAMES_MAX));
        // Also where all are of one time.
        let demands = Demands::default();
        for number in 0..NAMES_MAX + 1 {
            demands.note(&[name(number)], 7);
        }
        let left =
            (0..=NAMES_MAX).filter(|number| demands.of(std::iter::once(name(*number))).is_some());
        assert_eq!(left.count(), NAMES_MAX + 1 - NAMES_FORGOTTEN);
    }
}
