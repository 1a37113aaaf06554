//! Columns: what successive rows have in one place.

use crate::Item;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// The items of successive rows in one place, in the narrowest form that they have so far.
///
/// Numbers of one kind lie side by side as they do in an Arrow array; what is the same in all rows,
/// as a label is, stands once.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// The same item in so many rows.
    Same(Item, usize),
    /// Floats, each there.
    Floats(Vec<f64>),
    /// Integers, each there.
    Integers(Vec<i64>),
    /// Instants in nanoseconds since 1970, each there.
    Times(Vec<i64>),
    /// Items of a list, by their places in it: texts that come again and again.
    Coded(Arc<[Item]>, Vec<u32>),
    /// Items of several kinds, or some that are none.
    Items(Vec<Item>),
}

/// Rows that a column of numbers has room for when it begins: most answers have few.
const ROOM: usize = 16;

/// The items of a column that begins with these.
fn begin<T>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut column = Vec::with_capacity(ROOM);
    column.extend(items);
    column
}

impl Default for Column {
    fn default() -> Self {
        Self::Same(Item::Null, 0)
    }
}

impl Column {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Same(_, count) => *count,
            Self::Floats(values) => values.len(),
            Self::Integers(values) | Self::Times(values) => values.len(),
            Self::Coded(_, codes) => codes.len(),
            Self::Items(items) => items.len(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The item of a row; null where there is no such row.
    #[inline]
    pub fn get(&self, row: usize) -> Cow<'_, Item> {
        match self {
            Self::Same(item, _) => Cow::Borrowed(item),
            Self::Floats(values) => {
                Cow::Owned(values.get(row).map_or(Item::Null, |value| Item::Float(*value)))
            }
            Self::Integers(values) => {
                Cow::Owned(values.get(row).map_or(Item::Null, |value| Item::Integer(*value)))
            }
            Self::Times(times_ns) => {
                Cow::Owned(times_ns.get(row).map_or(Item::Null, |time_ns| Item::Time(*time_ns)))
            }
            Self::Coded(items, codes) => {
                let item = codes.get(row).and_then(|code| items.get(*code as usize));
                item.map_or(Cow::Owned(Item::Null), Cow::Borrowed)
            }
            Self::Items(items) => items.get(row).map_or(Cow::Owned(Item::Null), Cow::Borrowed),
        }
    }

    /// The items, row by row.
    pub fn iter(&self) -> impl Iterator<Item = Cow<'_, Item>> {
        (0..self.len()).map(|row| self.get(row))
    }

    /// Adds a row.
    #[inline]
    pub fn push(&mut self, item: Item) {
        match (&mut *self, item) {
            (Self::Floats(values), Item::Float(value)) => values.push(value),
            (Self::Integers(values), Item::Integer(value)) => values.push(value),
            (Self::Times(values), Item::Time(value)) => values.push(value),
            (Self::Items(items), item) => items.push(item),
            (_, item) => self.push_other(item),
        }
    }

    /// Adds an item that the column has not the form for, or that is the first one.
    fn push_other(&mut self, item: Item) {
        match (&mut *self, item) {
            (Self::Same(_, 0), Item::Float(value)) => *self = Self::Floats(begin([value])),
            (Self::Same(_, 0), Item::Integer(value)) => *self = Self::Integers(begin([value])),
            (Self::Same(_, 0), Item::Time(value)) => *self = Self::Times(begin([value])),
            (Self::Same(same, count @ 0), item) => (*same, *count) = (item, 1),
            (Self::Same(same, count), item) if is_one(same, &item) => *count += 1,
            (Self::Same(Item::Float(first), 1), Item::Float(value)) => {
                *self = Self::Floats(begin([*first, value]));
            }
            (Self::Same(Item::Integer(first), 1), Item::Integer(value)) => {
                *self = Self::Integers(begin([*first, value]));
            }
            (Self::Same(Item::Time(first), 1), Item::Time(value)) => {
                *self = Self::Times(begin([*first, value]));
            }
            (_, item) => self.change(|items| items.push(item)),
        }
    }

    /// Adds a row of another column.
    #[inline]
    pub fn push_from(&mut self, other: &Self, row: usize) {
        match (&mut *self, other) {
            (Self::Floats(own), Self::Floats(other)) => own.extend(other.get(row)),
            (Self::Integers(own), Self::Integers(other))
            | (Self::Times(own), Self::Times(other)) => own.extend(other.get(row)),
            (Self::Items(own), Self::Items(other)) => own.extend(other.get(row).cloned()),
            (_, other) => self.push(other.get(row).into_owned()),
        }
    }

    /// Adds rows of another column.
    pub fn extend_from(&mut self, other: &Self, rows: Range<usize>) {
        match (&mut *self, other) {
            (Self::Floats(own), Self::Floats(other)) => {
                own.extend_from_slice(other.get(rows).unwrap_or_default());
            }
            (Self::Integers(own), Self::Integers(other))
            | (Self::Times(own), Self::Times(other)) => {
                own.extend_from_slice(other.get(rows).unwrap_or_default());
            }
            (Self::Items(own), Self::Items(other)) => {
                own.extend_from_slice(other.get(rows).unwrap_or_default());
            }
            (Self::Coded(own, codes), Self::Coded(other, more)) if Arc::ptr_eq(own, other) => {
                codes.extend_from_slice(more.get(rows).unwrap_or_default());
            }
            (Self::Same(_, 0), other) => *self = other.cut(rows),
            (Self::Same(own, count), Self::Same(other, _)) if is_one(own, other) => {
                *count += rows.len();
            }
            (_, other) => rows.for_each(|row| self.push_from(other, row)),
        }
    }

    /// Adds all rows of another column.
    pub fn append(&mut self, other: Self) {
        match self {
            Self::Same(_, 0) => *self = other,
            own => own.extend_from(&other, 0..other.len()),
        }
    }

    /// Some of the rows, which are there.
    pub fn cut(&self, rows: Range<usize>) -> Self {
        match self {
            Self::Same(item, _) => Self::Same(item.clone(), rows.len()),
            Self::Floats(values) => Self::Floats(values.get(rows).unwrap_or_default().to_vec()),
            Self::Integers(values) => Self::Integers(values.get(rows).unwrap_or_default().to_vec()),
            Self::Times(values) => Self::Times(values.get(rows).unwrap_or_default().to_vec()),
            Self::Coded(items, codes) => {
                Self::Coded(items.clone(), codes.get(rows).unwrap_or_default().to_vec())
            }
            Self::Items(items) => Self::Items(items.get(rows).unwrap_or_default().to_vec()),
        }
    }

    /// The rows from the last to the first.
    pub fn reverse(&mut self) {
        match self {
            Self::Same(..) => {}
            Self::Floats(values) => values.reverse(),
            Self::Integers(values) | Self::Times(values) => values.reverse(),
            Self::Coded(_, codes) => codes.reverse(),
            Self::Items(items) => items.reverse(),
        }
    }

    /// Changes the items one by one.
    pub fn change(&mut self, change: impl FnOnce(&mut Vec<Item>)) {
        let mut items = match std::mem::take(self) {
            Self::Items(items) => items,
            other => other.iter().map(Cow::into_owned).collect(),
        };
        change(&mut items);
        *self = Self::Items(items);
    }

    /// Memory held, by estimate, in bytes, without the list that codes are of.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Same(item, _) => item.bytes_outside(),
            Self::Floats(values) => values.len() * size_of::<f64>(),
            Self::Integers(values) | Self::Times(values) => values.len() * size_of::<i64>(),
            Self::Coded(_, codes) => codes.len() * size_of::<u32>(),
            Self::Items(items) => {
                let outside: usize = items.iter().map(Item::bytes_outside).sum();
                items.len() * size_of::<Item>() + outside
            }
        }
    }
}

/// Whether two items are sure to be one: the same text, or both none.
fn is_one(a: &Item, b: &Item) -> bool {
    match (a, b) {
        (Item::Null, Item::Null) => true,
        (Item::String(a), Item::String(b)) => Arc::ptr_eq(a, b),
        (Item::Boolean(a), Item::Boolean(b)) => a == b,
        _ => false,
    }
}

impl FromIterator<Item> for Column {
    fn from_iter<I: IntoIterator<Item = Item>>(items: I) -> Self {
        let mut column = Self::default();
        items.into_iter().for_each(|item| column.push(item));
        column
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn item() -> impl Strategy<Value = Item> {
        let text: Arc<str> = "a".into();
        prop_oneof![
            4 => (0..3i64).prop_map(Item::Integer),
            4 => (0..3i32).prop_map(|value| Item::Float(f64::from(value))),
            2 => (0..3i64).prop_map(Item::Time),
            2 => Just(Item::Null),
            2 => Just(Item::String(text)),
            1 => any::<bool>().prop_map(Item::Boolean),
            1 => Just(Item::String("b".into())),
        ]
    }

    /// Items that mostly are of one kind.
    fn items() -> impl Strategy<Value = Vec<Item>> {
        prop_oneof![
            prop::collection::vec(item(), 0..12),
            (item(), 0..12usize).prop_map(|(item, count)| vec![item; count]),
            prop::collection::vec((0..9i64).prop_map(Item::Integer), 0..12),
            prop::collection::vec((0..9i32).prop_map(|v| Item::Float(f64::from(v))), 0..12),
        ]
    }

    /// The same items as codes.
    fn coded(items: &[Item]) -> Column {
        let codes = (0..items.len() as u32).rev().collect();
        Column::Coded(items.iter().rev().cloned().collect(), codes)
    }

    fn list(column: &Column) -> Vec<Item> {
        column.iter().map(Cow::into_owned).collect()
    }

    proptest! {
        /// A column is a list, whatever form it takes.
        #[test]
        fn a_column_is_a_list_of_items(
            (a, a_is_coded, b, b_is_coded) in (items(), any::<bool>(), items(), any::<bool>()),
            (from, to) in (0..12usize, 0..12usize),
        ) {
            let of = |items: &[Item], is_coded| match is_coded {
                true => coded(items),
                false => items.iter().cloned().collect::<Column>(),
            };
            let (one, two) = (of(&a, a_is_coded), of(&b, b_is_coded));
            prop_assert_eq!(one.len(), a.len());
            prop_assert_eq!(list(&one), a.clone());
            let (from, to) = (from.min(b.len()), to.min(b.len()).max(from.min(b.len())));
            prop_assert_eq!(list(&two.cut(from..to)), b[from..to].to_vec());
            let mut joined = one.clone();
            joined.extend_from(&two, from..to);
            prop_assert_eq!(list(&joined), [&a[..], &b[from..to]].concat());
            let mut doubled = one.clone();
            doubled.extend_from(&one, 0..a.len());
            prop_assert_eq!(list(&doubled), [&a[..], &a[..]].concat());
            let mut joined = one.clone();
            joined.append(two);
            prop_assert_eq!(list(&joined), [a.clone(), b].concat());
            let mut reversed = one.clone();
            reversed.reverse();
            prop_assert_eq!(list(&reversed), a.iter().rev().cloned().collect::<Vec<_>>());
            let mut changed = one;
            changed.change(|items| items.retain(|item| !item.is_null()));
            let kept: Vec<Item> = a.into_iter().filter(|item| !item.is_null()).collect();
            prop_assert_eq!(list(&changed), kept);
        }
    }

    #[test]
    fn numbers_of_one_kind_lie_side_by_side_and_what_is_the_same_stands_once() {
        let text: Arc<str> = "a".into();
        let of = |items: &[Item]| items.iter().cloned().collect::<Column>();
        assert_eq!(of(&[Item::Float(1.0), Item::Float(2.0)]), Column::Floats(vec![1.0, 2.0]));
        assert_eq!(of(&[Item::Integer(1), Item::Integer(2)]), Column::Integers(vec![1, 2]));
        let texts = [Item::String(text.clone()), Item::String(text.clone())];
        assert_eq!(of(&texts), Column::Same(Item::String(text), 2));
        let mut one = Column::Same(Item::Integer(1), 1);
        one.push(Item::Integer(2));
        assert_eq!(one, Column::Integers(vec![1, 2]));
    }
}
