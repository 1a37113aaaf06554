//! Where a piece of the text stands.

use crate::SqlError;
use sqlparser::ast::{Expr, Spanned};
use sqlparser::tokenizer::Span;

/// Where an expression stands.
pub(crate) fn of(expr: &Expr) -> Span {
    match expr {
        // Its name is where people look.
        Expr::Function(function) => function.name.span(),
        expr => expr.span(),
    }
}

/// An error about an expression.
pub(crate) fn error<T>(expr: &Expr, message: impl Into<String>) -> Result<T, SqlError> {
    Err(SqlError::at(of(expr), message))
}
