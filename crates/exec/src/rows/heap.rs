//! A binary heap with the order of equal items pinned down.
//!
//! Which of several rows of one instant comes first is visible in answers, so it must not depend on
//! a library: items are moved as J. W. J. Williams describes ("Algorithm 232: Heapsort", 1964), the
//! left child first, and only where one is truly before the other.

use crate::Error;

/// Whether an item is before another one.
pub(super) type Before<'a, T> = &'a mut dyn FnMut(&mut T, &mut T) -> Result<bool, Error>;

/// Orders `items` as a heap.
pub(super) fn arrange<T>(items: &mut [T], before: Before<'_, T>) -> Result<(), Error> {
    let count = items.len();
    (0..count / 2).rev().try_for_each(|at| sink(items, at, count, before))
}

/// Takes the first item.
pub(super) fn pop<T>(items: &mut Vec<T>, before: Before<'_, T>) -> Result<Option<T>, Error> {
    let Some(last) = items.len().checked_sub(1) else { return Ok(None) };
    items.swap(0, last);
    sink(items, 0, last, before)?;
    Ok(items.pop())
}

/// Brings the first item, which was put in the place of another one, to where it belongs.
pub(super) fn settle<T>(items: &mut [T], before: Before<'_, T>) -> Result<(), Error> {
    sink(items, 0, items.len(), before)
}

/// Adds an item.
pub(super) fn push<T>(items: &mut Vec<T>, item: T, before: Before<'_, T>) -> Result<(), Error> {
    items.push(item);
    let mut at = items.len() - 1;
    while at > 0 {
        let parent = (at - 1) / 2;
        if !compare(items, at, parent, before)? {
            break;
        }
        items.swap(at, parent);
        at = parent;
    }
    Ok(())
}

fn sink<T>(
    items: &mut [T],
    mut at: usize,
    count: usize,
    before: Before<'_, T>,
) -> Result<(), Error> {
    loop {
        let mut child = 2 * at + 1;
        if child >= count {
            return Ok(());
        }
        if child + 1 < count && compare(items, child + 1, child, before)? {
            child += 1;
        }
        if !compare(items, child, at, before)? {
            return Ok(());
        }
        items.swap(at, child);
        at = child;
    }
}

fn compare<T>(items: &mut [T], a: usize, b: usize, before: Before<'_, T>) -> Result<bool, Error> {
    match items.get_disjoint_mut([a, b]) {
        Ok([a, b]) => before(a, b),
        Err(_) => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn items_come_in_order(mut items: Vec<u8>, more: Vec<u8>) {
            let mut sorted = [items.clone(), more.clone()].concat();
            sorted.sort_unstable();
            let before: Before<'_, u8> = &mut |a, b| Ok(a < b);
            arrange(&mut items, before).unwrap();
            for item in more {
                push(&mut items, item, before).unwrap();
            }
            let popped: Vec<u8> =
                std::iter::from_fn(|| pop(&mut items, before).unwrap()).collect();
            prop_assert_eq!(popped, sorted);
        }
    }
}
