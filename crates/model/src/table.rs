//! Tables: bounded pieces of an answer that has rows and columns.

use crate::{Column, Kind, NamespaceId};
use std::sync::Arc;

/// One value of a row, or none.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Item {
    /// No value.
    #[default]
    Null,
    /// See [`Kind::Float`].
    Float(f64),
    /// See [`Kind::Integer`].
    Integer(i64),
    /// See [`Kind::Unsigned`].
    Unsigned(u64),
    /// See [`Kind::Boolean`].
    Boolean(bool),
    /// See [`Kind::String`].
    String(Arc<str>),
    /// An instant, in nanoseconds since 1970.
    Time(i64),
}

impl Item {
    /// Whether this is no value.
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Memory outside the item, in bytes.
    pub fn bytes_outside(&self) -> usize {
        match self {
            Self::String(text) => text.len() + 16,
            _ => 0,
        }
    }
}

/// What the rows of a table belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableHead {
    /// The measurement, or what the language calls the table.
    pub name: Arc<str>,
    /// The labels by which rows were grouped, sorted by name; a group without the label has the
    /// empty value.
    pub labels: Vec<(Arc<str>, Arc<str>)>,
    /// Names of the columns.
    pub columns: Arc<[Arc<str>]>,
}

/// A bounded piece of a table. A table longer than one piece continues in the next one under the
/// same head.
#[derive(Clone, Debug)]
pub struct Table {
    /// What the rows belong to.
    pub head: Arc<TableHead>,
    /// What the rows have in each column of the head; all are equally long.
    pub columns: Vec<Column>,
    /// Whether this is the table's last piece.
    pub is_last: bool,
}

impl Table {
    /// A piece made of items row by row.
    pub fn of_rows(
        head: Arc<TableHead>,
        items: impl IntoIterator<Item = Item>,
        is_last: bool,
    ) -> Self {
        let width = head.columns.len().max(1);
        let mut columns = vec![Column::default(); width];
        for (at, item) in items.into_iter().enumerate() {
            if let Some(column) = columns.get_mut(at % width) {
                column.push(item);
            }
        }
        Self { head, columns, is_last }
    }

    /// The items row by row, for those to whom columns are of no use.
    pub fn rows(&self) -> impl Iterator<Item = Vec<Item>> {
        let row = |at| self.columns.iter().map(|column| column.get(at).into_owned()).collect();
        (0..self.row_count()).map(row)
    }

    /// Number of rows.
    pub fn row_count(&self) -> usize {
        self.columns.first().map_or(0, Column::len)
    }
}

/// What a language has to know of a measurement before it can ask for its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableShape {
    /// Where it is stored.
    pub namespace: NamespaceId,
    /// Its name.
    pub measurement: Arc<str>,
    /// Its fields by name, each with the kind that its values are read as.
    pub fields: Vec<(Arc<str>, Kind)>,
}

impl TableShape {
    /// The kind of a field; nothing if there is no such field.
    pub fn kind(&self, field: &str) -> Option<Kind> {
        let at = self.fields.binary_search_by(|(name, _)| (**name).cmp(field)).ok()?;
        self.fields.get(at).map(|(_, kind)| *kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_as_wide_as_the_head() {
        let names: Arc<[Arc<str>]> = ["time".into(), "v".into()].into();
        let head = Arc::new(TableHead { name: "m".into(), labels: Vec::new(), columns: names });
        let items = vec![Item::Time(1), Item::Float(2.0), Item::Time(2), Item::Null];
        let table = Table::of_rows(head, items, true);
        assert_eq!(table.row_count(), 2);
        assert_eq!(table.rows().nth(1), Some(vec![Item::Time(2), Item::Null]));
    }

    #[test]
    fn fields_are_found_by_name() {
        let fields = vec![("a".into(), Kind::Float), ("b".into(), Kind::String)];
        let shape = TableShape { namespace: 0, measurement: "m".into(), fields };
        assert_eq!(shape.kind("b"), Some(Kind::String));
        assert_eq!(shape.kind("c"), None);
    }
}
