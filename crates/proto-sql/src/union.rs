//! UNION: the rows of several queries as those of one.
//!
//! What stands before the last UNION without ALL comes to the rows of all of it, each once,
//! whatever is said between the parts before. So there is one such step at most, and parts stand
//! side by side however many there are.

use crate::query::{self, Known, Limits, Rows, check_depth, limited, ordinal};
use crate::select::{self, ordered};
use crate::typed::{Type, Typed};
use crate::{SqlError, refused, span};
use foliot_plan::relation::{Formula, Grouped, Order, Relation};
use sqlparser::ast::{Expr, OrderByExpr, SetExpr, SetOperator, SetQuantifier, Spanned};

/// A query, and whether its rows stay with those before it, also where they are alike.
type Part<'s> = (&'s SetExpr, bool);

/// Plans a UNION.
pub(crate) fn plan(
    known: &Known<'_>,
    body: &SetExpr,
    order: &[OrderByExpr],
    limits: Limits,
) -> Result<Rows, SqlError> {
    let parts = parts(body)?;
    let mut all: Vec<Rows> = Vec::with_capacity(parts.len());
    for (part, _) in &parts {
        let rows = match part {
            SetExpr::Select(of) => select::plan(known, of, &[], Limits::default())?,
            SetExpr::Query(inner) => query::within(known, inner)?,
            other => return Err(refused::body(other)),
        };
        if let Some(first) = all.first()
            && first.columns.len() != rows.columns.len()
        {
            let (first, own) = (first.columns.len(), rows.columns.len());
            let text = format!("the parts of a UNION have {first} and {own} columns");
            return Err(SqlError::at(part.span(), text));
        }
        all.push(rows);
    }
    let types = types(&parts, &all)?;
    let queries = all.iter().map(|rows| rows.queries).max().unwrap_or_default() + 1;
    check_depth(queries, body)?;
    let tables = all.iter().map(|rows| rows.tables).sum();
    let mut columns = all.first().map(|rows| rows.columns.clone()).unwrap_or_default();
    columns.iter_mut().zip(&types).for_each(|(column, of)| column.of = *of);
    let order = by_columns(order, &columns)?;
    let relations = all.into_iter().map(|rows| converted(rows, &types)).collect();
    let last_distinct = parts.iter().rposition(|(_, stays)| !stays);
    let mut relation = joined(relations, last_distinct, types.len());
    if !order.is_empty() {
        let wanted = limits.limit.map(|limit| limit.saturating_add(limits.offset));
        relation = Relation::Sorted { input: Box::new(relation), by: order, wanted };
    }
    Ok(Rows { relation: limited(relation, limits), columns, queries, tables })
}

/// The queries, from the first to the last.
fn parts(body: &SetExpr) -> Result<Vec<Part<'_>>, SqlError> {
    let (mut parts, mut left) = (Vec::new(), body);
    // What stands before is as deep as the statement is long.
    while let SetExpr::SetOperation {
        op: SetOperator::Union,
        set_quantifier,
        left: before,
        right,
    } = left
    {
        let stays = match set_quantifier {
            SetQuantifier::All => true,
            SetQuantifier::None | SetQuantifier::Distinct => false,
            _ => {
                let text = "the columns of a UNION go together by their places: leave BY NAME out";
                return Err(SqlError::at(right.span(), text));
            }
        };
        parts.push((&**right, stays));
        left = before;
    }
    parts.push((left, true));
    parts.reverse();
    Ok(parts)
}

/// The types that columns of all parts fit into.
fn types(parts: &[Part<'_>], all: &[Rows]) -> Result<Vec<Type>, SqlError> {
    let mut types: Vec<Type> = Vec::new();
    for ((part, _), rows) in parts.iter().zip(all) {
        types.resize(rows.columns.len(), Type::Null);
        for (at, (of, column)) in types.iter_mut().zip(&rows.columns).enumerate() {
            let Some(joined) = of.joined(column.of) else {
                let text = format!(
                    "column {} of the UNION is {of} in one part and {} in another: CAST one of them",
                    at + 1,
                    column.of
                );
                return Err(SqlError::at(part.span(), text));
            };
            *of = joined;
        }
    }
    Ok(types)
}

/// The rows of a part, with values of these types.
fn converted(rows: Rows, types: &[Type]) -> Relation {
    if rows.columns.iter().zip(types).all(|(column, of)| column.of == *of) {
        return rows.relation;
    }
    let own = rows.columns.iter().enumerate();
    let own = own.map(|(place, column)| Typed::new(Formula::Column(place), column.of));
    let columns = own.zip(types).map(|(typed, of)| typed.converted(*of).formula).collect();
    Relation::Calculated { input: Box::new(rows.relation), columns }
}

/// All rows, of which those up to a part come once each.
fn joined(mut parts: Vec<Relation>, last_distinct: Option<usize>, columns: usize) -> Relation {
    let Some(last) = last_distinct else { return Relation::Appended(parts) };
    let others = parts.split_off(parts.len().min(last + 1));
    let keys = (0..columns).map(Formula::Column).collect();
    let input = Relation::Appended(parts);
    let distinct = Relation::Grouped(Box::new(Grouped { input, keys, folds: Vec::new() }));
    match others.is_empty() {
        true => distinct,
        false => Relation::Appended(std::iter::once(distinct).chain(others).collect()),
    }
}

/// What the rows are ordered by: columns, by their names or numbers.
fn by_columns(
    order: &[OrderByExpr],
    columns: &[crate::scope::Column],
) -> Result<Vec<Order>, SqlError> {
    let by = order.iter().map(|each| {
        let place = match &each.expr {
            Expr::Identifier(ident) => {
                columns.iter().position(|column| *column.name == *ident.value)
            }
            other => ordinal(other, columns.len())?,
        };
        match place {
            Some(place) => ordered(each, place),
            None => {
                let text = "the rows of a UNION are ordered by names and numbers of its columns: \
                            for more write SELECT ... FROM (... UNION ...) AS u ORDER BY";
                span::error(&each.expr, text)
            }
        }
    });
    by.collect()
}
