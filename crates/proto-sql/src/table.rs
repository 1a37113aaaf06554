//! Tables: measurements with their columns, and what else stands behind FROM.

use crate::catalogue::{hint, quoted};
use crate::expression::plain_name;
use crate::listing;
use crate::lowering::Ground;
use crate::query::{self, Known, Rows};
use crate::scope::{Column, Scope};
use crate::typed::Type;
use crate::{SqlError, refused};
use foliot_model::{Kind, TableShape};
use foliot_plan::relation::Relation;
use foliot_plan::rows::Carried;
use sqlparser::ast::{ObjectName, Spanned, TableAlias, TableFactor, TableWithJoins};
use std::collections::HashSet;
use std::sync::Arc;

/// What the column of times is called.
const TIME: &str = "time";

/// A measurement as a table.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) shape: TableShape,
    pub(crate) labels: Vec<Arc<str>>,
    /// Fields whose values SQL has a type for.
    pub(crate) fields: Vec<(Arc<str>, Kind)>,
}

impl Table {
    /// The column of a place, as rows carry it; nothing of the time.
    pub(crate) fn carried(&self, place: usize) -> Option<Carried> {
        let place = place.checked_sub(1)?;
        match place.checked_sub(self.labels.len()) {
            None => self.labels.get(place).map(|name| Carried::Label(name.clone())),
            Some(place) => {
                let (name, kind) = self.fields.get(place)?;
                Some(Carried::Field(name.clone(), *kind))
            }
        }
    }

    /// All columns but the time, in order.
    pub(crate) fn all_carried(&self) -> Vec<Carried> {
        let count = self.labels.len() + self.fields.len();
        (1..=count).filter_map(|place| self.carried(place)).collect()
    }

    fn columns(&self) -> Vec<Column> {
        let mut columns = vec![Column::new(TIME, Type::Time)];
        let fields: HashSet<&str> = self.fields.iter().map(|(name, _)| &**name).collect();
        let labels: HashSet<&str> = self.labels.iter().map(|name| &**name).collect();
        // A name that is a field's, too, is the field, and the label has the first number with
        // which there is nothing else.
        let mut numbered: HashSet<Arc<str>> = HashSet::new();
        let mut unique = |name: &Arc<str>| {
            let is_free = |name: &Arc<str>| {
                !fields.contains(&**name) && !labels.contains(&**name) && !numbered.contains(name)
            };
            let names = (1_u64..).map(|number| Arc::from(format!("{name}_{number}")));
            let unique = names.into_iter().find(is_free).unwrap_or_else(|| name.clone());
            numbered.insert(unique.clone());
            unique
        };
        for label in &self.labels {
            let name = match fields.contains(&**label) || **label == *TIME {
                true => unique(label),
                false => label.clone(),
            };
            columns.push(Column::new(name, Type::Text));
        }
        for (name, kind) in &self.fields {
            let name = match **name == *TIME {
                true => unique(name),
                false => name.clone(),
            };
            columns.extend(Type::of_kind(*kind).map(|of| Column::new(name, of)));
        }
        columns
    }
}

/// What stands behind FROM.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    Table(Box<Table>),
    Rows(Relation),
}

/// What stands behind FROM, with its columns.
pub(crate) fn from(
    known: &Known<'_>,
    from: &[TableWithJoins],
) -> Result<(Source, Scope), SqlError> {
    let one = match from {
        [] => {
            let rows = Relation::Listed { columns: 0, rows: [Vec::new()].into() };
            return Ok((Source::Rows(rows), Scope { tables: 1, ..Scope::default() }));
        }
        [one] => one,
        [_, second, ..] => return Err(refused::join(second.span())),
    };
    if let Some(join) = one.joins.first() {
        return Err(refused::join(join.relation.span()));
    }
    match &one.relation {
        TableFactor::Table { name, alias, args: None, .. } => named(known, name, alias.as_ref()),
        TableFactor::Derived { lateral: false, subquery, alias, .. } => {
            let rows = query::within(known, subquery)?;
            Ok(of_rows(rows, alias.as_ref(), None))
        }
        other => {
            let text = "FROM takes a table or a subquery: tables made by functions are not known";
            Err(SqlError::at(other.span(), text))
        }
    }
}

fn of_rows(mut rows: Rows, alias: Option<&TableAlias>, name: Option<&str>) -> (Source, Scope) {
    if let Some(alias) = alias {
        let names: Vec<&str> = alias.columns.iter().map(|of| of.name.value.as_str()).collect();
        query::rename(&mut rows, &names);
    }
    let table = alias.map_or(name.unwrap_or("the subquery"), |alias| &alias.name.value);
    let Rows { relation, columns, queries, tables } = rows;
    (Source::Rows(relation), Scope { table: Some(table.into()), columns, queries, tables })
}

fn named(
    known: &Known<'_>,
    name: &ObjectName,
    alias: Option<&TableAlias>,
) -> Result<(Source, Scope), SqlError> {
    let text = plain_name(name);
    if let Some(rows) = known.queries.get(&text) {
        known.ground.read(rows.tables, name.span())?;
        return Ok(of_rows(Rows::clone(rows), alias, Some(&text)));
    }
    known.ground.read(1, name.span())?;
    if let Some(rows) = listing::of_schema(known.ground, name)? {
        return Ok(of_rows(rows, alias, Some(&text)));
    }
    let table = find(known.ground, name)?;
    let columns = table.columns();
    let own = match alias {
        Some(alias) => Arc::from(&*alias.name.value),
        None => table.shape.measurement.clone(),
    };
    if let Some(alias) = alias.filter(|alias| !alias.columns.is_empty()) {
        let text = "a table's columns keep their names: write AS in SELECT";
        return Err(SqlError::at(alias.name.span, text));
    }
    let scope = Scope { table: Some(own), columns, queries: 0, tables: 1 };
    Ok((Source::Table(Box::new(table)), scope))
}

/// The table of a name. Dots are part of it, unless they stand behind the name of a schema.
pub(crate) fn find(ground: Ground<'_>, name: &ObjectName) -> Result<Table, SqlError> {
    let catalogue = ground.catalogue;
    let text = plain_name(name);
    let within = ["public.", "iox."].iter().find_map(|schema| text.strip_prefix(schema));
    let mut found = (catalogue.shape)(&text)?;
    if let (None, Some(within)) = (&found, within) {
        found = (catalogue.shape)(within)?;
    }
    let Some(shape) = found else {
        let tables = (catalogue.tables)()?;
        let names: Vec<&str> = tables.iter().map(|name| &**name).collect();
        let hint = match hint(&text, &names) {
            hint if hint.is_empty() => "; SHOW TABLES lists them".to_owned(),
            hint => hint,
        };
        let database = catalogue.database;
        let message = format!("there is no table {} in {database}{hint}", quoted(&text));
        return Err(SqlError::at(name.span(), message));
    };
    let labels = (catalogue.labels)(&shape)?;
    let fields = shape.fields.iter().filter(|(_, kind)| Type::of_kind(*kind).is_some());
    let fields = fields.cloned().collect();
    Ok(Table { shape, labels, fields })
}

/// The columns of a table.
pub(crate) fn columns_of(table: &Table) -> Vec<Column> {
    table.columns()
}
