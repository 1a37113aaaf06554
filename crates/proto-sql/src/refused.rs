//! What SQL has and this has not: each with the next step.

use crate::{SqlError, span};
use sqlparser::ast::{Expr, Query, Select, SetExpr, Spanned, Statement};

/// A statement that is none here.
pub(crate) fn statement(statement: &Statement) -> SqlError {
    let text = match statement {
        Statement::Insert(_) | Statement::Copy { .. } => {
            "SQL writes nothing here: send lines to /api/v3/write_lp?db=..., or use any of the \
             other ways to write"
        }
        Statement::Update { .. } => {
            "there is no UPDATE: write the sample again, with the same labels and time"
        }
        Statement::Delete(_) | Statement::Truncate { .. } => {
            "SQL deletes nothing here: send DELETE FROM ... WHERE ... to /query as InfluxQL"
        }
        Statement::Drop { .. } => {
            "SQL drops nothing here: send DROP MEASUREMENT ... to /query as InfluxQL"
        }
        Statement::CreateTable { .. } | Statement::AlterTable { .. } => {
            "tables need not be made: a measurement and its columns are there as soon as something \
             is written"
        }
        Statement::CreateView { .. } => {
            "there are no views: for what is calculated again and again, make a continuous query \
             of InfluxQL or a recording rule"
        }
        Statement::CreateDatabase { .. } => {
            "SQL makes no database: send CREATE DATABASE ... to /query as InfluxQL"
        }
        Statement::CreateIndex { .. } => "there is no index to make: all labels are indexed",
        Statement::StartTransaction { .. }
        | Statement::Commit { .. }
        | Statement::Rollback { .. } => {
            "there are no transactions: each statement sees what is stored when it begins"
        }
        Statement::Set(_) => "there is nothing to SET: a statement says all it wants",
        Statement::Prepare { .. } | Statement::Execute { .. } => {
            "there are no prepared statements: bind values with $name and params"
        }
        Statement::ShowDatabases { .. } => {
            "a statement is about one database: GET /api/v3/configure/database lists them"
        }
        _ => "this takes SELECT, SHOW TABLES, SHOW COLUMNS FROM ... and EXPLAIN",
    };
    SqlError::at(statement.span(), text)
}

/// An expression that is none here.
pub(crate) fn expression(expr: &Expr) -> SqlError {
    let text = match expr {
        Expr::Subquery(_) | Expr::Exists { .. } | Expr::In { .. } => {
            "there are no subqueries in expressions: ask first, and write the values into IN (...)"
                .to_owned()
        }
        Expr::AtTimeZone { .. } => {
            "times are in UTC here: by the clock of a zone there are date_trunc('day', time, \
             'Europe/Berlin'), time_bucket('1 day', time, 'Europe/Berlin') and extract(hour FROM \
             time AT TIME ZONE 'Europe/Berlin')"
                .to_owned()
        }
        Expr::SimilarTo { .. } => "there is no SIMILAR TO: write ~ and a pattern".to_owned(),
        Expr::Tuple(_) | Expr::AnyOp { .. } | Expr::AllOp { .. } => {
            "there are no lists of values but in IN (...): write AND and OR".to_owned()
        }
        Expr::GroupingSets(_) | Expr::Cube(_) | Expr::Rollup(_) => {
            "there are no sets of groups: ask once for each GROUP BY".to_owned()
        }
        Expr::BinaryOp { op, .. } => format!("there is no operator {op}"),
        Expr::UnaryOp { op, .. } => format!("there is no operator {op}"),
        Expr::Collate { .. } => "texts are ordered by their bytes: leave COLLATE out".to_owned(),
        other => format!("{other} is not known here"),
    };
    SqlError::at(span::of(expr), text)
}

/// A function over a window where there are no windows.
pub(crate) fn window(expr: &Expr, clause: &str) -> SqlError {
    let text = format!("there is no window in {clause}: write OVER in a subquery in FROM");
    SqlError::at(span::of(expr), text)
}

/// A function that is told of no window.
pub(crate) fn over(expr: &Expr, name: &str) -> SqlError {
    let text = format!(
        "there is no {name} over a window that takes this: there are row_number, rank, \
         dense_rank, lag, lead, first_value, last_value, count, sum, avg, min and max"
    );
    SqlError::at(span::of(expr), text)
}

/// A function that is none here.
pub(crate) fn function(expr: &Expr, name: &str, hint: String) -> SqlError {
    let text = match name {
        "time_bucket_gapfill" | "date_bin_gapfill" | "locf" | "interpolate" | "interp" => {
            format!(
                "there is no {name}: windows without rows are left out; InfluxQL's fill() makes \
                 them"
            )
        }
        "lag" | "lead" | "row_number" | "rank" | "dense_rank" => {
            format!(
                "{name} is told of rows in an order: write OVER (PARTITION BY ... ORDER BY time) \
                 behind it"
            )
        }
        "string_agg" | "array_agg" | "json_agg" => {
            format!("there is no {name}: SELECT DISTINCT lists the values as rows")
        }
        "rate" | "irate" | "increase" | "delta" | "derivative" | "difference" => {
            format!("there is no {name}: ask in PromQL or InfluxQL, which know counters")
        }
        "date_diff" | "datediff" | "timestampdiff" | "age" => {
            format!("there is no {name}: write extract(epoch FROM a - b) for seconds")
        }
        "to_char" | "date_format" => {
            format!("there is no {name}: times are written by whoever reads the answer")
        }
        "random" | "uuid" => format!("there is no {name}: the same question has the same answer"),
        name => format!("there is no function {name}{hint}"),
    };
    SqlError::at(span::of(expr), text)
}

/// What a query may not have.
pub(crate) fn of_query(query: &Query) -> Result<(), SqlError> {
    let at = query.span();
    let text = match query {
        Query { with: Some(with), .. } if with.recursive => {
            "there are no recursive queries: ask step by step"
        }
        Query { fetch: Some(_), .. } => "write LIMIT 10 in place of FETCH FIRST 10 ROWS ONLY",
        Query { locks, .. } if !locks.is_empty() => "nothing is locked by reading: leave FOR out",
        Query { for_clause: Some(_), .. } | Query { settings: Some(_), .. } => {
            "this clause is not known here: leave it out"
        }
        Query { format_clause: Some(_), .. } => "the request says the format, not the statement",
        Query { pipe_operators, .. } if !pipe_operators.is_empty() => {
            "there are no pipes: write a subquery in FROM"
        }
        _ => return Ok(()),
    };
    Err(SqlError::at(at, text))
}

/// What is asked of other things than one table.
pub(crate) fn body(body: &SetExpr) -> SqlError {
    let text = match body {
        SetExpr::SetOperation { .. } => "there is neither EXCEPT nor INTERSECT: ask for each part",
        SetExpr::Values(_) => "there is no VALUES: write SELECT 1, 2",
        SetExpr::Insert(inner) | SetExpr::Update(inner) | SetExpr::Delete(inner) => {
            return statement(inner);
        }
        _ => "this takes SELECT ... FROM a table or a subquery",
    };
    SqlError::at(body.span(), text)
}

/// What a SELECT may not have.
pub(crate) fn of_select(select: &Select) -> Result<(), SqlError> {
    let text = match select {
        Select { into: Some(_), .. } => {
            "SQL writes nothing here: SELECT ... INTO is InfluxQL's, at /query"
        }
        Select { top: Some(_), .. } => "write LIMIT 10 at the end in place of TOP 10",
        Select { qualify: Some(_), .. } => {
            "there is no QUALIFY: write its condition behind WHERE, over a subquery in FROM"
        }
        Select { prewhere: Some(_), .. } => "write WHERE in place of PREWHERE",
        Select { named_window, .. } if !named_window.is_empty() => {
            "there is no WINDOW: write each window behind OVER"
        }
        Select { lateral_views, .. } if !lateral_views.is_empty() => "there are no lateral views",
        Select { connect_by, .. } if !connect_by.is_empty() => "there is no CONNECT BY",
        Select { cluster_by, distribute_by, sort_by, .. }
            if !(cluster_by.is_empty() && distribute_by.is_empty() && sort_by.is_empty()) =>
        {
            "write ORDER BY in place of this"
        }
        _ => return Ok(()),
    };
    Err(SqlError::at(select.span(), text))
}

/// Several tables in FROM.
pub(crate) fn join(at: sqlparser::tokenizer::Span) -> SqlError {
    let text = "there are no joins: put rows of both tables one under the other and group them, \
                such as SELECT time, host, max(a) AS a, max(b) AS b FROM (SELECT time, host, x AS \
                a, NULL AS b FROM t UNION ALL SELECT time, host, NULL, y FROM u) AS j GROUP BY \
                time, host; PromQL joins metrics by their labels, such as a / on(host) b";
    SqlError::at(at, text)
}
