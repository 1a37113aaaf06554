//! Values of unlike kinds as numbers, and their order.

use foliot_model::Item;
use std::cmp::Ordering;

/// A number as a float.
pub(crate) fn to_f64(item: &Item) -> Option<f64> {
    match *item {
        Item::Float(v) => Some(v),
        Item::Integer(v) => Some(v as f64),
        Item::Unsigned(v) => Some(v as f64),
        _ => None,
    }
}

/// The order of values of one kind; false is before true, and NaN is equal to everything.
pub(crate) fn compare(a: &Item, b: &Item) -> Ordering {
    match (a, b) {
        (Item::Float(a), Item::Float(b)) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
        (Item::Integer(a), Item::Integer(b)) => a.cmp(b),
        (Item::Unsigned(a), Item::Unsigned(b)) => a.cmp(b),
        (Item::Boolean(a), Item::Boolean(b)) => a.cmp(b),
        (Item::String(a), Item::String(b)) => a.cmp(b),
        (Item::Time(a), Item::Time(b)) => a.cmp(b),
        _ => match (to_f64(a), to_f64(b)) {
            (Some(a), Some(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
            _ => Ordering::Equal,
        },
    }
}
