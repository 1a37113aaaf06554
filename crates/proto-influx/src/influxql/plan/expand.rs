//! Puts names in place of wildcards and regular expressions, and types behind names.

use super::schema::{Resolved, Schema, Statement, Type, prefer};
use super::{PlanError, names, regex};
use crate::influxql::ast::{Cast, Expr, Field};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Expands a statement and the ones inside it.
pub(super) fn expand(statement: &mut Statement, schema: &Schema<'_>) -> Result<(), PlanError> {
    for source in &mut statement.sources {
        if let Resolved::Subquery(inner) = source {
            expand(inner, schema)?;
        }
    }
    let sources = &statement.sources;
    for field in &mut statement.select.fields {
        annotate(&mut field.expr, sources, schema);
    }
    if let Some(condition) = &mut statement.condition {
        annotate_condition(Arc::make_mut(condition), sources, schema);
    }
    let has_wild_field = statement.select.fields.iter().any(|field| is_wild(&field.expr));
    let has_wild_dimension =
        statement.select.dimensions.iter().any(|d| matches!(d, Expr::Wildcard(_) | Expr::Regex(_)));
    if !has_wild_field && !has_wild_dimension {
        return Ok(());
    }
    let (fields, mut labels) = columns(statement, schema);
    let mut named: BTreeMap<(String, u8), Type> = BTreeMap::new();
    if !has_wild_dimension {
        for dimension in &statement.select.dimensions {
            if let Expr::Var { name, .. } = dimension {
                labels.remove(name);
            }
        }
        if !fields.is_empty() {
            named.extend(labels.iter().map(|name| ((name.clone(), 1), Some(Cast::Tag))));
        }
    }
    named.extend(fields.into_iter().map(|(name, found)| ((name, 0), found)));
    let named: Vec<(String, Type)> =
        named.into_iter().map(|((name, _), found)| (name, found)).collect();
    if has_wild_field {
        let mut expanded = Vec::new();
        for field in &statement.select.fields {
            expand_field(field, &named, &mut expanded)?;
        }
        statement.select.fields = expanded;
    }
    if has_wild_dimension {
        statement.select.dimensions = dimensions(&statement.select.dimensions, &labels)?;
    }
    Ok(())
}

fn dimensions(written: &[Expr], labels: &BTreeSet<String>) -> Result<Vec<Expr>, PlanError> {
    let mut expanded = Vec::new();
    let var = |name: &String| Expr::Var { name: name.clone(), cast: None };
    for dimension in written {
        match dimension {
            Expr::Wildcard(_) => expanded.extend(labels.iter().map(var)),
            Expr::Regex(pattern) => {
                let regex = regex(pattern)?;
                expanded.extend(labels.iter().filter(|name| regex.passes(name)).map(var));
            }
            other => expanded.push(other.clone()),
        }
    }
    Ok(expanded)
}

/// All fields and labels of the sources.
fn columns(
    statement: &Statement,
    schema: &Schema<'_>,
) -> (BTreeMap<String, Type>, BTreeSet<String>) {
    let (mut fields, mut labels) = (BTreeMap::<String, Type>::new(), BTreeSet::new());
    for source in &statement.sources {
        match source {
            Resolved::Shapes(shapes) => {
                for shape in shapes {
                    for (name, _) in &shape.fields {
                        let found = schema.of_shape(name, shape);
                        let known = fields.entry(name.to_string()).or_default();
                        *known = prefer(*known, found);
                    }
                    labels.extend(schema.labels(shape).iter().map(|name| name.to_string()));
                }
            }
            Resolved::Subquery(inner) => {
                for field in &inner.select.fields {
                    let found = schema.eval(&field.expr, &inner.sources).unwrap_or_default();
                    let known = fields.entry(names::field_name(field).into_owned()).or_default();
                    *known = prefer(*known, found);
                }
                for dimension in &inner.select.dimensions {
                    if let Expr::Var { name, .. } = dimension {
                        labels.insert(name.clone());
                    }
                }
            }
        }
    }
    (fields, labels)
}

fn annotate(expr: &mut Expr, sources: &[Resolved], schema: &Schema<'_>) {
    match expr {
        Expr::Var { name, cast: cast @ (None | Some(Cast::Field)) } => {
            let found = schema.of_name(name, sources);
            if !(found == Some(Cast::Tag) && *cast == Some(Cast::Field)) {
                *cast = found;
            }
        }
        Expr::Binary { left, right, .. } => {
            annotate(left, sources, schema);
            annotate(right, sources, schema);
        }
        Expr::Paren(inner) => annotate(inner, sources, schema),
        Expr::Call { args, .. } => args.iter_mut().for_each(|arg| annotate(arg, sources, schema)),
        _ => {}
    }
}

/// As [`annotate`], but a name that is no field of a stored measurement is a label without asking
/// which labels there are: that is what an unknown name comes to in a condition.
fn annotate_condition(expr: &mut Expr, sources: &[Resolved], schema: &Schema<'_>) {
    match expr {
        Expr::Var { name, cast: cast @ None } => {
            let is_stored = sources.iter().all(|source| match source {
                Resolved::Shapes(shapes) => shapes.iter().all(|shape| shape.kind(name).is_none()),
                Resolved::Subquery(_) => false,
            });
            *cast = if is_stored { Some(Cast::Tag) } else { schema.of_name(name, sources) };
        }
        Expr::Var { .. } => annotate(expr, sources, schema),
        Expr::Binary { left, right, .. } => {
            annotate_condition(left, sources, schema);
            annotate_condition(right, sources, schema);
        }
        Expr::Paren(inner) => annotate_condition(inner, sources, schema),
        Expr::Call { args, .. } => {
            args.iter_mut().for_each(|arg| annotate_condition(arg, sources, schema));
        }
        _ => {}
    }
}

fn is_wild(expr: &Expr) -> bool {
    match expr {
        Expr::Wildcard(_) | Expr::Regex(_) => true,
        Expr::Call { args, .. } => args.iter().any(is_wild),
        Expr::Binary { left, right, .. } => is_wild(left) || is_wild(right),
        Expr::Paren(inner) => is_wild(inner),
        _ => false,
    }
}

fn expand_field(
    field: &Field,
    named: &[(String, Type)],
    out: &mut Vec<Field>,
) -> Result<(), PlanError> {
    let plain = |(name, found): &(String, Type)| Field {
        expr: Expr::Var { name: name.clone(), cast: *found },
        alias: None,
    };
    match &field.expr {
        Expr::Wildcard(kind) => {
            let is_wanted = |(_, found): &&(String, Type)| match kind {
                Some(Cast::Field) => *found != Some(Cast::Tag),
                Some(Cast::Tag) => *found == Some(Cast::Tag),
                _ => true,
            };
            out.extend(named.iter().filter(is_wanted).map(plain));
        }
        Expr::Regex(pattern) => {
            let regex = regex(pattern)?;
            out.extend(named.iter().filter(|(name, _)| regex.passes(name)).map(plain));
        }
        Expr::Call { .. } => expand_call(field, named, out)?,
        expr @ Expr::Binary { .. } if is_wild(expr) => {
            let what = if has_regex(expr) { "regex field" } else { "wildcard" };
            return Err(PlanError::new(format!("unsupported expression with {what}: {expr}")));
        }
        _ => out.push(field.clone()),
    }
    Ok(())
}

fn has_regex(expr: &Expr) -> bool {
    match expr {
        Expr::Regex(_) => true,
        Expr::Call { args, .. } => args.iter().any(has_regex),
        Expr::Binary { left, right, .. } => has_regex(left) || has_regex(right),
        Expr::Paren(inner) => has_regex(inner),
        _ => false,
    }
}

/// The innermost call of a chain, and its first argument.
fn innermost(expr: &mut Expr) -> Option<(&str, &mut Expr)> {
    let Expr::Call { name, args } = expr else { return None };
    let first = args.first_mut()?;
    match first {
        Expr::Call { .. } => innermost(first),
        _ => Some((name, first)),
    }
}

fn expand_call(
    field: &Field,
    named: &[(String, Type)],
    out: &mut Vec<Field>,
) -> Result<(), PlanError> {
    let mut template = field.expr.clone();
    let Some((call, argument)) = innermost(&mut template) else {
        out.push(field.clone());
        return Ok(());
    };
    let regex = match argument {
        Expr::Wildcard(Some(Cast::Tag)) => {
            return Err(PlanError::new(format!("unable to use tag wildcard in {call}()")));
        }
        Expr::Wildcard(_) => None,
        Expr::Regex(pattern) => Some(regex(pattern)?),
        _ => {
            out.push(field.clone());
            return Ok(());
        }
    };
    let takes_text =
        matches!(call, "count" | "first" | "last" | "distinct" | "elapsed" | "mode" | "sample");
    let takes_booleans = takes_text || matches!(call, "min" | "max");
    let takes_unsigned = !matches!(call, "holt_winters" | "holt_winters_with_fit");
    for (name, found) in named {
        let is_taken = match found {
            Some(Cast::Float | Cast::Integer) => true,
            Some(Cast::Unsigned) => takes_unsigned,
            Some(Cast::String) => takes_text,
            Some(Cast::Boolean) => takes_booleans,
            _ => false,
        };
        if !is_taken || regex.as_ref().is_some_and(|regex| !regex.passes(name)) {
            continue;
        }
        let mut expr = field.expr.clone();
        if let Some((_, argument)) = innermost(&mut expr) {
            *argument = Expr::Var { name: name.clone(), cast: *found };
        }
        out.push(Field { expr, alias: Some(format!("{}_{name}", names::field_name(field))) });
    }
    Ok(())
}
