//! The columns that names mean.

use crate::SqlError;
use crate::catalogue::{hint, quoted};
use crate::typed::{Type, Typed};
use foliot_plan::relation::Formula;
use sqlparser::ast::Ident;
use std::sync::Arc;

/// Columns that are named where one is not found.
const NAMED: usize = 12;

/// The columns of what stands behind FROM, by their places.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// What the table is called in the statement; nothing where there is none.
    pub(crate) table: Option<Arc<str>>,
    pub(crate) columns: Vec<Column>,
    /// How many queries stand in one another behind FROM.
    pub(crate) queries: usize,
    /// How many tables are read for it.
    pub(crate) tables: usize,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    pub(crate) name: Arc<str>,
    pub(crate) of: Type,
}

impl Column {
    pub(crate) fn new(name: impl Into<Arc<str>>, of: Type) -> Self {
        Self { name: name.into(), of }
    }
}

impl Scope {
    /// The place of a column, and the column.
    pub(crate) fn find(&self, name: &str) -> Option<(usize, &Column)> {
        self.columns.iter().enumerate().find(|(_, column)| &*column.name == name)
    }

    /// The column that a name means.
    pub(crate) fn column(&self, ident: &Ident) -> Result<Typed, SqlError> {
        match self.find(&ident.value) {
            Some((place, column)) => Ok(Typed::new(Formula::Column(place), column.of)),
            None => Err(self.missing(ident)),
        }
    }

    /// The column that a name with the name of the table before it means.
    pub(crate) fn qualified(&self, idents: &[Ident]) -> Result<Typed, SqlError> {
        let Some((name, before)) = idents.split_last() else { return Ok(Typed::null()) };
        let table = joined(before);
        match &self.table {
            // A table's own name may have dots in it, and may stand behind that of a schema.
            Some(own) if **own == *table || table.ends_with(&format!(".{own}")) => {
                self.column(name)
            }
            Some(_) if self.find(&joined(idents)).is_some() => {
                let whole = Ident { value: joined(idents), ..name.clone() };
                self.column(&whole)
            }
            Some(own) => {
                let text =
                    format!("there is no table {} in FROM, but {}", quoted(&table), quoted(own));
                Err(SqlError::at(name.span, text))
            }
            None => Err(self.missing(name)),
        }
    }

    fn missing(&self, ident: &Ident) -> SqlError {
        let name = &ident.value;
        let Some(table) = &self.table else {
            let text = format!("there is no column {} without a table in FROM", quoted(name));
            return SqlError::at(ident.span, text);
        };
        let names: Vec<&str> = self.columns.iter().map(|column| &*column.name).collect();
        let hint = match hint(name, &names) {
            hint if hint.is_empty() => {
                let first: Vec<String> =
                    names.iter().take(NAMED).map(|name| quoted(name)).collect();
                let more = if names.len() > NAMED { ", …" } else { "" };
                format!(", but {}{more}", first.join(", "))
            }
            hint => hint,
        };
        let text = format!("{} has no column {}{hint}", quoted(table), quoted(name));
        SqlError::at(ident.span, text)
    }
}

/// Names with dots between them.
pub(crate) fn joined(idents: &[Ident]) -> String {
    let names: Vec<&str> = idents.iter().map(|ident| &*ident.value).collect();
    names.join(".")
}
