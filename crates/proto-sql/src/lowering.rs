//! Names and expressions over the rows of FROM, and over its groups where rows are grouped.

use crate::SqlError;
use crate::aggregate;
use crate::catalogue::{Catalogue, quoted};
use crate::over::Windows;
use crate::scope::Scope;
use crate::span;
use crate::statement::Parameters;
use crate::typed::{Type, Typed};
use foliot_plan::relation::{Folded, Formula};
use sqlparser::ast::{Expr, Spanned};
use sqlparser::tokenizer::Span;
use std::cell::Cell;

/// How deep an expression may be nested.
pub(crate) const DEPTH_MAX: usize = 200;

/// Tables that a statement may read, those of named queries as often as they are named: UNION lets
/// a few words name a query many times.
const TABLES_MAX: usize = 500;

/// What all of a statement shares.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'a> {
    pub(crate) catalogue: &'a Catalogue<'a>,
    pub(crate) parameters: &'a Parameters,
    /// How many tables it reads so far.
    pub(crate) tables: &'a Cell<usize>,
}

impl Ground<'_> {
    /// So many more tables are read.
    pub(crate) fn read(self, tables: usize, at: Span) -> Result<(), SqlError> {
        let all = self.tables.get().saturating_add(tables);
        self.tables.set(all);
        match all > TABLES_MAX {
            true => {
                let text = format!(
                    "the statement reads more than {TABLES_MAX} tables, those of a query in WITH \
                     as often as it is named"
                );
                Err(SqlError::at(at, text))
            }
            false => Ok(()),
        }
    }
}

/// Makes formulas of expressions.
pub(crate) struct Lowering<'a> {
    pub(crate) ground: Ground<'a>,
    pub(crate) scope: &'a Scope,
    /// The groups, where rows are grouped; formulas are then over their keys and folds.
    pub(crate) groups: Option<Groups>,
    /// What is told of rows by those around them; nothing in clauses that know none of it.
    pub(crate) windows: Option<Windows>,
    /// In which clause rows may not be folded.
    pub(crate) clause: &'static str,
    depth: usize,
}

/// Groups of rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups {
    /// What rows of a group have in common, over the rows of FROM.
    pub(crate) keys: Vec<Typed>,
    /// What is told of each group, in the order in which it was first asked for.
    pub(crate) folds: Vec<Folded>,
}

impl Groups {
    /// How many columns they have.
    pub(crate) fn width(&self) -> usize {
        self.keys.len() + self.folds.len()
    }
}

impl<'a> Lowering<'a> {
    /// Over the rows of FROM; in this clause they may not be folded.
    pub(crate) fn new(ground: Ground<'a>, scope: &'a Scope, clause: &'static str) -> Self {
        Self { ground, scope, groups: None, windows: None, clause, depth: 0 }
    }

    /// The formula of an expression.
    pub(crate) fn expr(&mut self, expr: &Expr) -> Result<Typed, SqlError> {
        if self.depth > DEPTH_MAX {
            let text = format!("the expression is nested deeper than {DEPTH_MAX} operators");
            return span::error(expr, text);
        }
        self.depth += 1;
        let lowered = self.deeper(expr);
        self.depth -= 1;
        lowered
    }

    fn deeper(&mut self, expr: &Expr) -> Result<Typed, SqlError> {
        let Some(groups) = &self.groups else { return self.lowered(expr) };
        if is_constant(expr) {
            return self.lowered(expr);
        }
        // A key may be any expression: it is known by what it comes to.
        let mut over_rows =
            Lowering { depth: self.depth, ..Self::new(self.ground, self.scope, "") };
        let key = match aggregate::is_in(expr) {
            true => None,
            false => over_rows.lowered(expr).ok(),
        };
        let place = key
            .as_ref()
            .and_then(|key| groups.keys.iter().position(|known| known.formula == key.formula));
        if let (Some(place), Some(key)) = (place, key) {
            return Ok(Typed::new(Formula::Column(place), key.of));
        }
        self.lowered(expr)
    }

    /// The formula of a name, which has to be a key where rows are grouped.
    pub(crate) fn named(&self, expr: &Expr, found: Typed) -> Result<Typed, SqlError> {
        let Some(groups) = &self.groups else { return Ok(found) };
        match groups.keys.iter().position(|key| key.formula == found.formula) {
            Some(place) => Ok(Typed::new(Formula::Column(place), found.of)),
            None => span::error(
                expr,
                format!(
                    "{expr} is neither in GROUP BY nor in an aggregate: add it to GROUP BY, or \
                     write last({expr}, time)"
                ),
            ),
        }
    }

    /// A fold of the rows of a group, as a column of the groups.
    pub(crate) fn folded(&mut self, folded: Folded, of: Type) -> Typed {
        let Some(groups) = &mut self.groups else { return Typed::null() };
        let known = groups.folds.iter().position(|known| *known == folded);
        let place = known.unwrap_or(groups.folds.len());
        if known.is_none() {
            groups.folds.push(folded);
        }
        Typed::new(Formula::Column(groups.keys.len() + place), of)
    }

    /// A lowering of what stands inside an aggregate: the rows of FROM.
    pub(crate) fn of_rows(&self) -> Self {
        let inner = Self::new(self.ground, self.scope, "an aggregate");
        Self { depth: self.depth, ..inner }
    }

    /// A truth, or null.
    pub(crate) fn truth(&mut self, expr: &Expr) -> Result<Formula, SqlError> {
        let typed = self.expr(expr)?;
        match typed.of {
            Type::Boolean | Type::Null => Ok(typed.formula),
            other => {
                let text = format!("{expr} is {other}, and has to be true or false here");
                span::error(expr, text)
            }
        }
    }

    /// The value of a parameter.
    pub(crate) fn parameter(&self, name: &str, span: Span) -> Result<Typed, SqlError> {
        let plain = name.trim_start_matches(['$', ':', '@']);
        match self.ground.parameters.get(plain) {
            Some(parameter) => Ok(crate::constant::parameter(parameter)),
            None => {
                let text = format!("{name} has no value: name it in params");
                Err(SqlError::at(span, text))
            }
        }
    }
}

/// Whether an expression is a value that stands in the text.
fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Value(_) | Expr::TypedString(_) | Expr::Interval(_) => true,
        Expr::Nested(inner) => is_constant(inner),
        _ => false,
    }
}

/// An error that two types do not go together.
pub(crate) fn unlike<T>(
    expr: &impl Spanned,
    what: &str,
    left: &Typed,
    right: &Typed,
) -> Result<T, SqlError> {
    let text = format!(
        "{what} takes two values of one type, not {} and {}: CAST one of them",
        left.of, right.of
    );
    Err(SqlError::at(expr.span(), text))
}

/// A table's name for a sentence.
pub(crate) fn name_of(scope: &Scope) -> String {
    scope.table.as_deref().map_or_else(|| "the row".to_owned(), quoted)
}
