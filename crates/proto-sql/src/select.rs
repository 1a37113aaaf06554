//! SELECT: what stands behind FROM, tested, grouped, calculated, put in order, and cut.

use crate::fold::{calculated, filtered, grouped};
use crate::lowering::{Groups, Lowering};
use crate::over::Windows;
use crate::query::{Known, Limits, Rows, check_depth, limited, ordinal, place};
use crate::scope::{Column, Scope};
use crate::sift::{self, scan};
use crate::table::{Source, from};
use crate::typed::{Type, Typed};
use crate::{SqlError, aggregate, refused, span};
use foliot_plan::relation::{Formula, Grouped, Order, Relation};
use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, OrderByExpr, OrderBySort, Select, SelectItem,
    SelectItemQualifiedWildcardKind, Spanned,
};
use std::collections::HashMap;
use std::sync::Arc;

/// Expressions that SELECT may have, as in PostgreSQL, and GROUP BY, and ORDER BY: each of these
/// is looked for among the others.
const COLUMNS_MAX: usize = 1_664;

/// A column of the answer.
enum Shown<'s> {
    /// A column of FROM, by `*`.
    Place(usize),
    /// What the statement says, and how it is called there, if it is.
    Expr(&'s Expr, Option<&'s str>),
}

/// What a SELECT has come to, before anything is carried out.
struct Lowered {
    outputs: Vec<Typed>,
    names: Vec<Arc<str>>,
    /// Those that only decide the order, behind the outputs.
    hidden: Vec<Typed>,
    order: Vec<Order>,
    having: Option<Formula>,
    groups: Option<Groups>,
    windows: Windows,
}

/// Plans a SELECT.
pub(crate) fn plan(
    known: &Known<'_>,
    select: &Select,
    order: &[OrderByExpr],
    limits: Limits,
) -> Result<Rows, SqlError> {
    refused::of_select(select)?;
    let (source, scope) = from(known, &select.from)?;
    let (queries, tables) = (scope.queries + 1, scope.tables);
    check_depth(queries, select)?;
    check_columns(select, order)?;
    let condition = match &select.selection {
        None => None,
        Some(condition) => Some(Lowering::new(known.ground, &scope, "WHERE").truth(condition)?),
    };
    let shown = shown(select, &scope)?;
    let lowered = lower(known, select, (&scope, &shown), order)?;
    let is_distinct = match &select.distinct {
        None | Some(Distinct::All) => false,
        Some(Distinct::Distinct) => true,
        Some(Distinct::On(_)) => {
            let text = "there is no DISTINCT ON: write last(x, time) and GROUP BY";
            return Err(SqlError::at(select.span(), text));
        }
    };
    if is_distinct && !lowered.hidden.is_empty() {
        let text = "with DISTINCT rows are ordered by columns that SELECT has";
        return Err(SqlError::at(select.span(), text));
    }
    let sources_max = known.ground.catalogue.sources_max;
    let (relation, columns) = lowered.rows(source, condition, (is_distinct, limits), sources_max);
    Ok(Rows { relation, columns, queries, tables })
}

fn check_columns(select: &Select, order: &[OrderByExpr]) -> Result<(), SqlError> {
    let keys = match &select.group_by {
        GroupByExpr::Expressions(by, _) => by.len(),
        GroupByExpr::All(_) => 0,
    };
    let lists = [("SELECT", select.projection.len()), ("GROUP BY", keys)];
    let lists = lists.into_iter().chain([("ORDER BY", order.len())]);
    for (clause, count) in lists {
        if count > COLUMNS_MAX {
            let text = format!("{clause} has {count} columns, and may have {COLUMNS_MAX}");
            return Err(SqlError::at(select.span(), text));
        }
    }
    Ok(())
}

/// The columns of the answer; `*` is all of FROM.
fn shown<'s>(select: &'s Select, scope: &Scope) -> Result<Vec<Shown<'s>>, SqlError> {
    let mut shown = Vec::new();
    for item in &select.projection {
        match item {
            SelectItem::UnnamedExpr(expr) => shown.push(Shown::Expr(expr, None)),
            SelectItem::ExprWithAlias { expr, alias } => {
                shown.push(Shown::Expr(expr, Some(&alias.value)));
            }
            SelectItem::Wildcard(options)
            | SelectItem::QualifiedWildcard(
                SelectItemQualifiedWildcardKind::ObjectName(_),
                options,
            ) => {
                let is_plain = options.opt_exclude.is_none()
                    && options.opt_except.is_none()
                    && options.opt_replace.is_none()
                    && options.opt_rename.is_none();
                if !is_plain {
                    let text = "* is all columns here: name those that are wanted";
                    return Err(SqlError::at(item.span(), text));
                }
                if scope.table.is_none() {
                    return Err(SqlError::at(item.span(), "* needs a table: write FROM"));
                }
                if shown.len() > COLUMNS_MAX {
                    let text = format!("* stands behind more than {COLUMNS_MAX} columns");
                    return Err(SqlError::at(item.span(), text));
                }
                shown.extend((0..scope.columns.len()).map(Shown::Place));
            }
            other => return Err(SqlError::at(other.span(), "a column is an expression")),
        }
    }
    match shown.is_empty() {
        true => Err(SqlError::at(select.span(), "SELECT what? Name columns, or write *")),
        false => Ok(shown),
    }
}

fn lower(
    known: &Known<'_>,
    select: &Select,
    from: (&Scope, &[Shown<'_>]),
    order: &[OrderByExpr],
) -> Result<Lowered, SqlError> {
    let groups = groups(known, select, from, order)?;
    let lowered = lower_over(known, select, from, order, groups)?;
    match &lowered.groups {
        // What is told beside groups stands behind all folds, which are known once all was asked.
        Some(groups) if !lowered.windows.is_empty() => {
            lower_over(known, select, from, order, Some(groups.clone()))
        }
        _ => Ok(lowered),
    }
}

/// Lowers over the rows of FROM, or over groups of them with folds that are known.
fn lower_over(
    known: &Known<'_>,
    select: &Select,
    (scope, shown): (&Scope, &[Shown<'_>]),
    order: &[OrderByExpr],
    groups: Option<Groups>,
) -> Result<Lowered, SqlError> {
    let mut lowering = Lowering::new(known.ground, scope, "this clause");
    let width = groups.as_ref().map_or(scope.columns.len(), Groups::width);
    lowering.groups = groups;
    lowering.windows = Some(Windows::beside(width));
    let (mut outputs, mut names) = (Vec::new(), Vec::new());
    let mut known_names = Names::default();
    for each in shown {
        let (typed, name) = match each {
            Shown::Place(at) => {
                let Some(column) = scope.columns.get(*at) else { continue };
                let ident = sqlparser::ast::Ident::with_quote('"', &*column.name);
                let typed = Typed::new(Formula::Column(*at), column.of);
                let typed = lowering.named(&Expr::Identifier(ident), typed)?;
                (typed, column.name.clone())
            }
            Shown::Expr(expr, alias) => {
                let typed = lowering.expr(expr)?;
                (typed, alias.map_or_else(|| name_of(expr), Arc::from))
            }
        };
        outputs.push(typed);
        names.push(known_names.unique(name));
    }
    let having = having(&mut lowering, select)?;
    let (mut hidden, mut by): (Vec<Typed>, Vec<Order>) = (Vec::new(), Vec::new());
    for each in order {
        let OrderByExpr { expr, .. } = each;
        let named = match expr {
            Expr::Identifier(ident) => names.iter().position(|name| **name == *ident.value),
            _ => ordinal(expr, outputs.len())?,
        };
        let at = match named {
            Some(at) => at,
            None => {
                let typed = lowering.expr(expr)?;
                let all = outputs.iter().chain(&hidden);
                let known = all.clone().position(|known| known.formula == typed.formula);
                known.unwrap_or_else(|| {
                    hidden.push(typed);
                    outputs.len() + hidden.len() - 1
                })
            }
        };
        by.push(ordered(each, at)?);
    }
    let (groups, windows) = (lowering.groups, lowering.windows.unwrap_or_default());
    Ok(Lowered { outputs, names, hidden, order: by, having, groups, windows })
}

/// Which groups are wanted: of those that are, windows tell.
fn having(lowering: &mut Lowering<'_>, select: &Select) -> Result<Option<Formula>, SqlError> {
    let windows = lowering.windows.take();
    let clause = std::mem::replace(&mut lowering.clause, "HAVING");
    let having = select.having.as_ref().map(|having| lowering.truth(having)).transpose();
    (lowering.windows, lowering.clause) = (windows, clause);
    having
}

/// The order by the column of a place that ORDER BY says.
pub(crate) fn ordered(each: &OrderByExpr, at: usize) -> Result<Order, SqlError> {
    let OrderByExpr { expr, options, .. } = each;
    let descending = match &options.sort {
        None | Some(OrderBySort::Asc) => false,
        Some(OrderBySort::Desc) => true,
        Some(OrderBySort::Using(_)) => {
            return span::error(expr, "write ASC or DESC in place of USING");
        }
    };
    let nulls_first = options.nulls_first.unwrap_or(descending);
    Ok(Order { by: Formula::Column(at), descending, nulls_first })
}

/// The groups of a SELECT that has any.
fn groups(
    known: &Known<'_>,
    select: &Select,
    (scope, shown): (&Scope, &[Shown<'_>]),
    order: &[OrderByExpr],
) -> Result<Option<Groups>, SqlError> {
    let by = match &select.group_by {
        GroupByExpr::Expressions(by, modifiers) if modifiers.is_empty() => by,
        _ => {
            let text = "GROUP BY takes expressions: name those that make a group";
            return Err(SqlError::at(select.span(), text));
        }
    };
    let folds = |each: &Shown<'_>| matches!(each, Shown::Expr(expr, _) if aggregate::is_in(expr));
    let is_grouped = !by.is_empty()
        || select.having.is_some()
        || shown.iter().any(folds)
        || order.iter().any(|each| aggregate::is_in(&each.expr));
    if !is_grouped {
        return Ok(None);
    }
    let mut lowering = Lowering::new(known.ground, scope, "GROUP BY");
    let mut keys: Vec<Typed> = Vec::new();
    for expr in by {
        let aliased = |ident: &str| {
            shown.iter().find_map(|each| match each {
                Shown::Expr(expr, Some(alias)) if *alias == ident => Some(*expr),
                _ => None,
            })
        };
        let at = ordinal(expr, shown.len())?.and_then(|at| shown.get(at));
        let key = match (at, expr) {
            (Some(Shown::Place(at)), _) => {
                let of = scope.columns.get(*at).map_or(Type::Null, |column| column.of);
                place(*at, of)
            }
            (Some(Shown::Expr(expr, _)), _) => lowering.expr(expr)?,
            // A column of FROM goes before one of SELECT, as in PostgreSQL.
            (None, Expr::Identifier(ident)) if scope.find(&ident.value).is_none() => {
                match aliased(&ident.value) {
                    Some(aliased) => lowering.expr(aliased)?,
                    None => lowering.expr(expr)?,
                }
            }
            (None, expr) => lowering.expr(expr)?,
        };
        if !keys.iter().any(|known| known.formula == key.formula) {
            keys.push(key);
        }
    }
    Ok(Some(Groups { keys, folds: Vec::new() }))
}

/// What a column is called that was given no name: as it is written.
fn name_of(expr: &Expr) -> Arc<str> {
    match expr {
        Expr::Identifier(ident) => ident.value.as_str().into(),
        Expr::CompoundIdentifier(idents) => {
            idents.last().map_or("", |ident| ident.value.as_str()).into()
        }
        Expr::Nested(inner) => name_of(inner),
        other => other.to_string().into(),
    }
}

/// Names that columns have so far, each with the next number for another one of that name.
#[derive(Default)]
struct Names(HashMap<Arc<str>, u32>);

impl Names {
    /// A name that no column before has.
    fn unique(&mut self, name: Arc<str>) -> Arc<str> {
        let mut unique = name.clone();
        while self.0.contains_key(&unique) {
            let next = self.0.entry(name.clone()).or_default();
            *next += 1;
            unique = format!("{name}_{next}").into();
        }
        self.0.insert(unique.clone(), 0);
        unique
    }
}

impl Lowered {
    fn rows(
        self,
        source: Source,
        condition: Option<Formula>,
        (is_distinct, limits): (bool, Limits),
        sources_max: Option<u64>,
    ) -> (Relation, Vec<Column>) {
        let wanted = limits.limit.map(|limit| limit.saturating_add(limits.offset));
        let mut all: Vec<&Typed> = self.outputs.iter().chain(&self.hidden).collect();
        let mut order = self.order;
        let are_alone = self.windows.is_empty();
        let input = match &self.groups {
            Some(groups) => {
                if order.is_empty() {
                    order.extend(by_window(groups, &all));
                }
                let input = grouped(source, condition, groups, sources_max);
                self.windows.over(filtered(input, self.having))
            }
            None => {
                // What is told of rows by others is told of all of them, partition by partition.
                let times = order.first().and_then(|order| is_time(order, &all));
                let times = times.filter(|_| are_alone);
                let descending = times.unwrap_or(false);
                if times.is_some() && order.len() == 1 && matches!(source, Source::Table(_)) {
                    // So they are read.
                    order.clear();
                    all.truncate(self.outputs.len());
                }
                let are_first = order.is_empty() && !is_distinct && are_alone;
                let rows_max = wanted.filter(|_| are_first);
                // Rows that are put in order, or of which some go, need not come in any. Those that
                // no window tells apart are in the order of their times.
                let by = match times.is_some() || are_first || !are_alone {
                    true => sift::Order::ByTime { descending },
                    false => sift::Order::BySource,
                };
                let input = match source {
                    Source::Table(table) => {
                        scan(&table, condition.as_ref(), (by, rows_max), sources_max)
                    }
                    Source::Rows(relation) => filtered(relation, condition),
                };
                self.windows.over(input)
            }
        };
        let count = self.outputs.len();
        let columns = all.iter().map(|typed| typed.formula.clone()).collect();
        let mut relation = match &self.groups {
            Some(groups) if are_alone => calculated(input, columns, groups.width()),
            _ => Relation::Calculated { input: Box::new(input), columns },
        };
        let places = || (0..count).map(Formula::Column).collect();
        if is_distinct {
            let grouped = Grouped { input: relation, keys: places(), folds: Vec::new() };
            relation = Relation::Grouped(Box::new(grouped));
        }
        if !order.is_empty() {
            relation = Relation::Sorted { input: Box::new(relation), by: order, wanted };
        }
        if all.len() > count {
            relation = Relation::Calculated { input: Box::new(relation), columns: places() };
        }
        let named = self.names.into_iter().zip(&self.outputs);
        let columns = named.map(|(name, typed)| Column { name, of: typed.of }).collect();
        (limited(relation, limits), columns)
    }
}

/// Whether an order is that of the times of a table, and whether the latest come first.
fn is_time(order: &Order, all: &[&Typed]) -> Option<bool> {
    let Formula::Column(at) = order.by else { return None };
    (all.get(at)?.formula == Formula::Column(0)).then_some(order.descending)
}

/// Groups without an order of their own come by the windows that they have.
fn by_window(groups: &Groups, all: &[&Typed]) -> Option<Order> {
    let is_window = |key: &Typed| matches!(key.formula, Formula::Window { .. });
    let key = groups.keys.iter().position(is_window)?;
    let at = all.iter().position(|typed| typed.formula == Formula::Column(key))?;
    Some(Order { by: Formula::Column(at), descending: false, nulls_first: false })
}
