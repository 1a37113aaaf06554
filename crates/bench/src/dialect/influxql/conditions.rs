//! Conditions of InfluxQL.

use super::super::names;
use crate::fleet::Fleet;
use crate::question::Question;

/// The clause that holds to every condition.
pub(super) fn all_of(conditions: &[String]) -> String {
    match conditions.is_empty() {
        true => String::new(),
        false => format!(" WHERE {}", conditions.join(" AND ")),
    }
}

/// The condition that keeps to the sources in question.
pub(super) fn sources(fleet: &Fleet, question: &Question) -> Option<String> {
    let (label, names) = names(fleet, question)?;
    let any: Vec<String> = names.iter().map(|name| format!("\"{label}\" = '{name}'")).collect();
    Some(format!("({})", any.join(" OR ")))
}
