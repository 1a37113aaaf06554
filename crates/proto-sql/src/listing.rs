//! What there is: tables and columns, as rows that stand in the question.

use crate::SqlError;
use crate::expression::pattern;
use crate::lowering::Ground;
use crate::query::Rows;
use crate::scope::Column;
use crate::table::{Table, columns_of, find};
use crate::typed::Type;
use foliot_model::{Item, Test};
use foliot_plan::relation::Relation;
use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};
use std::sync::Arc;

const SCHEMA: &str = "public";

fn text(text: impl Into<Arc<str>>) -> Item {
    Item::String(text.into())
}

fn listed(columns: &[(&str, Type)], rows: Vec<Vec<Item>>) -> Rows {
    let columns: Vec<Column> = columns.iter().map(|(name, of)| Column::new(*name, *of)).collect();
    let relation = Relation::Listed { columns: columns.len(), rows: rows.into() };
    Rows { relation, columns, queries: 0, tables: 1 }
}

/// `SHOW TABLES`
pub(crate) fn show_tables(ground: Ground<'_>, like: Option<&str>) -> Result<Rows, SqlError> {
    let test = like.map(|like| pattern::test(like).unwrap_or_else(|| Test::equal(like)));
    tables(ground, &|name| test.as_ref().is_none_or(|test| test.passes(name)))
}

fn tables(ground: Ground<'_>, is_wanted: &dyn Fn(&str) -> bool) -> Result<Rows, SqlError> {
    let row = |name: &Arc<str>| {
        vec![text(ground.catalogue.database), text(SCHEMA), text(name.clone()), text("BASE TABLE")]
    };
    let names = (ground.catalogue.tables)()?;
    let rows = names.iter().filter(|name| is_wanted(name)).map(row).collect();
    let columns = [
        ("table_catalog", Type::Text),
        ("table_schema", Type::Text),
        ("table_name", Type::Text),
        ("table_type", Type::Text),
    ];
    Ok(listed(&columns, rows))
}

/// `SHOW COLUMNS FROM table`
pub(crate) fn show_columns(ground: Ground<'_>, name: &ObjectName) -> Result<Rows, SqlError> {
    Ok(columns(ground, &[find(ground, name)?]))
}

fn columns(ground: Ground<'_>, tables: &[Table]) -> Rows {
    let mut rows = Vec::new();
    for table in tables {
        for (at, column) in columns_of(table).into_iter().enumerate() {
            rows.push(vec![
                text(ground.catalogue.database),
                text(SCHEMA),
                text(table.shape.measurement.clone()),
                text(column.name),
                Item::Integer(at as i64 + 1),
                text(if at == 0 { "NO" } else { "YES" }),
                text(column.of.sql_name()),
            ]);
        }
    }
    let names = [
        ("table_catalog", Type::Text),
        ("table_schema", Type::Text),
        ("table_name", Type::Text),
        ("column_name", Type::Text),
        ("ordinal_position", Type::Integer),
        ("is_nullable", Type::Text),
        ("data_type", Type::Text),
    ];
    listed(&names, rows)
}

/// A table of `information_schema`; nothing of other names, and of one that is quoted as a whole.
pub(crate) fn of_schema(ground: Ground<'_>, name: &ObjectName) -> Result<Option<Rows>, SqlError> {
    let [schema, name] = &*name.0 else { return Ok(None) };
    let (Some(schema), Some(name)) = (schema.as_ident(), name.as_ident()) else { return Ok(None) };
    let (schema, name) = (&schema.value, &name.value);
    if !schema.eq_ignore_ascii_case("information_schema") {
        return Ok(None);
    }
    match &*name.to_ascii_lowercase() {
        "tables" => tables(ground, &|_| true).map(Some),
        "columns" => {
            let mut found = Vec::new();
            for name in (ground.catalogue.tables)()? {
                let ident = Ident::with_quote('"', &*name);
                let name = ObjectName(vec![ObjectNamePart::Identifier(ident)]);
                found.push(find(ground, &name)?);
            }
            Ok(Some(columns(ground, &found)))
        }
        "schemata" => {
            let row = vec![text(ground.catalogue.database), text(SCHEMA)];
            let columns = [("catalog_name", Type::Text), ("schema_name", Type::Text)];
            Ok(Some(listed(&columns, vec![row])))
        }
        other => Err(SqlError::new(format!(
            "information_schema has no {other}, but tables, columns and schemata"
        ))),
    }
}
