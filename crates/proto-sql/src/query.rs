//! Queries: a SELECT with the queries it names, its order, and how many rows are wanted.

use crate::lowering::{Ground, Lowering};
use crate::scope::{Column, Scope};
use crate::statement::Planned;
use crate::typed::{Type, Typed};
use crate::{SqlError, refused, select, span, union};
use foliot_model::Item;
use foliot_plan::relation::{Answer, Relation};
use sqlparser::ast::{
    Expr, LimitClause, OrderByExpr, OrderByKind, Query, SetExpr, SetOperator, Spanned,
};
use std::collections::HashMap;
use std::sync::Arc;

/// How deep queries may stand in one another.
const QUERIES_DEEP_MAX: usize = 16;

/// Queries that one WITH may name.
const QUERIES_NAMED_MAX: usize = 100;

/// Rows that are asked for, with the names and types of their columns.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pub(crate) relation: Relation,
    pub(crate) columns: Vec<Column>,
    /// How many queries stand in one another in it, also by their names.
    pub(crate) queries: usize,
    /// How many tables are read for it.
    pub(crate) tables: usize,
}

impl Rows {
    pub(crate) fn planned(self) -> Planned {
        let names: Arc<[Arc<str>]> =
            self.columns.iter().map(|column| column.name.clone()).collect();
        let types = self.columns.iter().map(|column| column.of).collect();
        Planned { answer: Answer { relation: self.relation, names }, types }
    }
}

/// What a query may name.
#[derive(Clone)]
pub(crate) struct Known<'a> {
    pub(crate) ground: Ground<'a>,
    /// The queries that stand in WITH, by name.
    pub(crate) queries: HashMap<String, Arc<Rows>>,
    depth: usize,
}

/// How many rows are wanted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    pub(crate) offset: u64,
    pub(crate) limit: Option<u64>,
}

/// Plans a query.
pub(crate) fn plan(ground: Ground<'_>, query: &Query) -> Result<Rows, SqlError> {
    let rows = within(&Known { ground, queries: HashMap::new(), depth: 0 }, query)?;
    let shown = rows.columns.iter().find(|column| column.of == Type::Interval);
    match shown {
        None => Ok(rows),
        Some(column) => {
            let text = format!(
                "{} is an interval, which no answer has a form for: write extract(epoch FROM ...) \
                 for its seconds",
                column.name
            );
            Err(SqlError::at(query.span(), text))
        }
    }
}

/// Plans a query that stands in another one.
pub(crate) fn within(known: &Known<'_>, query: &Query) -> Result<Rows, SqlError> {
    let mut known = Known { depth: known.depth + 1, ..known.clone() };
    check_depth(known.depth, query)?;
    refused::of_query(query)?;
    let named = query.with.as_ref().map_or(0, |with| with.cte_tables.len());
    if named > QUERIES_NAMED_MAX {
        let text = format!("WITH names more than {QUERIES_NAMED_MAX} queries");
        return Err(SqlError::at(query.span(), text));
    }
    for of in query.with.iter().flat_map(|with| &with.cte_tables) {
        let mut rows = within(&known, &of.query)?;
        rename(
            &mut rows,
            &of.alias.columns.iter().map(|of| of.name.value.as_str()).collect::<Vec<_>>(),
        );
        known.queries.insert(of.alias.name.value.clone(), Arc::new(rows));
    }
    let order: &[OrderByExpr] = match query.order_by.as_ref().map(|by| &by.kind) {
        None => &[],
        Some(OrderByKind::Expressions(by)) => by,
        Some(OrderByKind::All(_)) => {
            return Err(SqlError::at(query.span(), "ORDER BY takes columns or their numbers"));
        }
    };
    let limits = limits(&known, query.limit_clause.as_ref())?;
    match &*query.body {
        SetExpr::Select(of) => select::plan(&known, of, order, limits),
        SetExpr::SetOperation { op: SetOperator::Union, .. } => {
            union::plan(&known, &query.body, order, limits)
        }
        SetExpr::Query(inner) if order.is_empty() => {
            let rows = within(&known, inner)?;
            Ok(Rows { relation: limited(rows.relation, limits), ..rows })
        }
        other => Err(refused::body(other)),
    }
}

/// Refuses what stands too deep in other queries, or has too many in it.
pub(crate) fn check_depth(queries: usize, of: &impl Spanned) -> Result<(), SqlError> {
    match queries > QUERIES_DEEP_MAX {
        true => {
            let text = format!("more than {QUERIES_DEEP_MAX} queries stand in one another");
            Err(SqlError::at(of.span(), text))
        }
        false => Ok(()),
    }
}

/// Gives columns other names, as far as there are any.
pub(crate) fn rename(rows: &mut Rows, names: &[&str]) {
    for (column, name) in rows.columns.iter_mut().zip(names) {
        column.name = Arc::from(*name);
    }
}

/// Some of the rows.
pub(crate) fn limited(relation: Relation, limits: Limits) -> Relation {
    match limits {
        Limits { offset: 0, limit: None } => relation,
        Limits { offset, limit } => Relation::Limited { input: Box::new(relation), offset, limit },
    }
}

fn limits(known: &Known<'_>, clause: Option<&LimitClause>) -> Result<Limits, SqlError> {
    match clause {
        None => Ok(Limits::default()),
        Some(LimitClause::LimitOffset { limit, offset, limit_by }) => {
            if let Some(by) = limit_by.first() {
                return span::error(by, "there is no LIMIT BY: use last(x, time) and GROUP BY");
            }
            let limit = limit.as_ref().map(|limit| count(known, limit)).transpose()?.flatten();
            let offset = offset.as_ref().map(|of| count(known, &of.value)).transpose()?.flatten();
            Ok(Limits { offset: offset.unwrap_or_default(), limit })
        }
        Some(LimitClause::OffsetCommaLimit { limit, .. }) => {
            span::error(limit, "write LIMIT 10 OFFSET 5 in place of LIMIT 5, 10")
        }
    }
}

/// A number of rows; null means all.
fn count(known: &Known<'_>, expr: &Expr) -> Result<Option<u64>, SqlError> {
    let scope = Scope::default();
    let typed = Lowering::new(known.ground, &scope, "LIMIT").expr(expr)?;
    if typed.of == Type::Interval {
        let text = "LIMIT and OFFSET take a number of rows, not an interval such as $step";
        return span::error(expr, text);
    }
    match typed.item() {
        Some(Item::Null) => Ok(None),
        Some(Item::Unsigned(number)) => Ok(Some(*number)),
        Some(Item::Integer(number)) if *number >= 0 => Ok(Some(*number as u64)),
        _ => span::error(expr, "a number of rows is a whole number, not below 0"),
    }
}

/// The place among the columns of an answer that a number means.
pub(crate) fn ordinal(expr: &Expr, columns: usize) -> Result<Option<usize>, SqlError> {
    let Expr::Value(value) = expr else { return Ok(None) };
    let sqlparser::ast::Value::Number(text, _) = &value.value else { return Ok(None) };
    match text.parse::<usize>() {
        Ok(number @ 1..) if number <= columns => Ok(Some(number - 1)),
        _ => span::error(expr, format!("there is no column {text}: SELECT has {columns}")),
    }
}

/// A column of the same place.
pub(crate) fn place(place: usize, of: Type) -> Typed {
    Typed::new(foliot_plan::relation::Formula::Column(place), of)
}
