//! Names of columns.

use super::schema::{Statement, is_top};
use crate::influxql::ast::{Expr, Field};
use std::borrow::Cow;
use std::collections::HashMap;

/// The name of a field: its alias, or what stands in it.
pub(super) fn field_name(field: &Field) -> Cow<'_, str> {
    match &field.alias {
        Some(alias) => alias.into(),
        None => expr_name(&field.expr),
    }
}

fn expr_name(expr: &Expr) -> Cow<'_, str> {
    match expr {
        Expr::Call { name, .. } | Expr::Var { name, .. } => name.into(),
        Expr::Distinct(_) => "distinct".into(),
        Expr::Paren(inner) => expr_name(inner),
        Expr::Binary { .. } => {
            let mut names = Vec::new();
            collect(expr, &mut names);
            names.join("_").into()
        }
        _ => "".into(),
    }
}

fn collect<'e>(expr: &'e Expr, names: &mut Vec<&'e str>) {
    match expr {
        Expr::Binary { left, right, .. } => {
            collect(left, names);
            collect(right, names);
        }
        Expr::Paren(inner) => collect(inner, names),
        Expr::Call { name, .. } | Expr::Var { name, .. } => names.push(name),
        _ => {}
    }
}

/// The names of all columns, each once: those that come twice are numbered.
pub(super) fn column_names(statement: &Statement) -> Vec<Cow<'_, str>> {
    let fields = &statement.select.fields;
    let mut columns: Vec<(Option<&str>, Cow<'_, str>)> = Vec::with_capacity(fields.len());
    for field in fields {
        columns.push((field.alias.as_deref(), field_name(field)));
        if let Expr::Call { name, args } = &field.expr
            && is_top(name)
        {
            let refs = args.iter().skip(1).filter(|arg| matches!(arg, Expr::Var { .. }));
            columns.extend(refs.map(|arg| (None, expr_name(arg))));
        }
    }
    let mut names = Vec::with_capacity(columns.len() + 1);
    if !statement.omits_time {
        names.push(Cow::Borrowed(&*statement.time_name));
    }
    if let [(None, name)] = &*columns {
        // Alone, it has no like.
        names.push(name.clone());
        return names;
    }
    let mut counts: HashMap<String, usize> = HashMap::new();
    for alias in columns.iter().filter_map(|(alias, _)| *alias) {
        counts.insert(alias.to_owned(), 1);
    }
    for (alias, name) in columns {
        if let Some(alias) = alias.filter(|alias| !alias.is_empty()) {
            names.push(alias.into());
            continue;
        }
        let mut name = name.into_owned();
        if let Some(mut count) = counts.get(&name).copied() {
            let numbered = loop {
                let numbered = format!("{name}_{count}");
                if !counts.contains_key(&numbered) {
                    break numbered;
                }
                count += 1;
            };
            counts.insert(name, count + 1);
            name = numbered;
        }
        *counts.entry(name.clone()).or_insert(0) += 1;
        names.push(name.into());
    }
    names
}
