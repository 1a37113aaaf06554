//! From conditions on rows to conditions on labels, for the index to find sources by.

use foliot_model::{Item, Matcher, Test};
use foliot_plan::rows::{Calculate, Operator};

/// Collects what a condition says of labels, which all must hold of a source for it to hold of a
/// row. True when that is all that it says. `label` tells which slot holds the value of a label, or
/// the empty text where that is absent.
pub(super) fn collect(
    condition: &Calculate,
    label: &dyn Fn(usize) -> Option<String>,
    matchers: &mut Vec<Matcher>,
) -> bool {
    let found = match condition {
        Calculate::Constant(Item::Boolean(true)) => return true,
        Calculate::Binary { operator: Operator::And, left, right } => {
            let is_left_whole = collect(left, label, matchers);
            return collect(right, label, matchers) && is_left_whole;
        }
        Calculate::Passes { text, test, negated } => {
            let name = name_of(text, label);
            name.map(|name| matcher(name, test.clone(), *negated))
        }
        Calculate::Binary { operator: Operator::NotEqual, left, right } => {
            let compared = compared(left, right, label);
            compared.map(|(name, value)| matcher(name, Test::equal(value), true))
        }
        Calculate::Binary { .. } => {
            let mut values = Vec::new();
            let name = alternatives(condition, label, &mut values);
            name.map(|name| matcher(name, Test::AnyOf(values), false))
        }
        _ => None,
    };
    let is_whole = found.is_some();
    matchers.extend(found);
    is_whole
}

fn matcher(name: String, test: Test, negated: bool) -> Matcher {
    let accepts_absent = test.passes("") != negated;
    Matcher { name, test, negated, accepts_absent }
}

fn name_of(text: &Calculate, label: &dyn Fn(usize) -> Option<String>) -> Option<String> {
    match text {
        Calculate::Slot(index) => label(*index),
        _ => None,
    }
}

/// A label and the text that it is compared with.
fn compared(
    left: &Calculate,
    right: &Calculate,
    label: &dyn Fn(usize) -> Option<String>,
) -> Option<(String, String)> {
    match (left, right) {
        (slot, Calculate::Constant(Item::String(value)))
        | (Calculate::Constant(Item::String(value)), slot) => {
            Some((name_of(slot, label)?, value.to_string()))
        }
        _ => None,
    }
}

/// The label that must have one of some values, if that is what a condition says.
fn alternatives(
    condition: &Calculate,
    label: &dyn Fn(usize) -> Option<String>,
    values: &mut Vec<String>,
) -> Option<String> {
    let Calculate::Binary { operator, left, right } = condition else { return None };
    match operator {
        Operator::Equal => {
            let (name, value) = compared(left, right, label)?;
            values.push(value);
            Some(name)
        }
        Operator::Or => {
            let name = alternatives(left, label, values)?;
            (alternatives(right, label, values)? == name).then_some(name)
        }
        _ => None,
    }
}
