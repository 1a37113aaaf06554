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
pub(super) fn column_names(statement: &Statement) -> Vec<String> {
    let mut fields: Vec<Field> = Vec::new();
    for field in &statement.select.fields {
        fields.push(field.clone());
        if let Expr::Call { name, args } = &field.expr
            && is_top(name)
        {
            let refs = args.iter().skip(1).filter(|arg| matches!(arg, Expr::Var { .. }));
            fields.extend(refs.map(|arg| Field { expr: arg.clone(), alias: None }));
        }
    }
    let mut counts: HashMap<String, usize> = HashMap::new();
    for alias in fields.iter().filter_map(|field| field.alias.as_ref()) {
        counts.insert(alias.clone(), 1);
    }
    let mut names = Vec::with_capacity(fields.len() + 1);
    if !statement.omits_time {
        names.push(statement.time_name.clone());
    }
    for field in &fields {
        if let Some(alias) = field.alias.as_ref().filter(|alias| !alias.is_empty()) {
            names.push(alias.clone());
            continue;
        }
        let mut name = field_name(field).into_owned();
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
        names.push(name);
    }
    names
}
