//! What planning asks about the store.

use crate::SqlError;
use foliot_model::TableShape;
use std::fmt;
use std::sync::Arc;

/// Tells the shape of the table of a name; nothing where there is none.
pub(crate) type ShapeOf<'a> = dyn Fn(&str) -> Result<Option<TableShape>, SqlError> + 'a;

/// Tells the names of the labels of a table.
pub(crate) type LabelsOf<'a> = dyn Fn(&TableShape) -> Result<Vec<Arc<str>>, SqlError> + 'a;

/// What planning has to know beside the statement.
pub struct Catalogue<'a> {
    /// What `now()` is, in nanoseconds since 1970.
    pub now_ns: i64,
    /// What the database is called.
    pub database: &'a str,
    /// The shape of a measurement; nothing where there is none.
    pub shape: &'a ShapeOf<'a>,
    /// The names of the labels of a measurement, in byte order.
    pub labels: &'a LabelsOf<'a>,
    /// The names of all measurements, in byte order.
    pub tables: &'a dyn Fn() -> Result<Vec<Arc<str>>, SqlError>,
    /// At most so many sources may be read of a table; nothing: any number.
    pub sources_max: Option<u64>,
}

impl fmt::Debug for Catalogue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalogue").field("now_ns", &self.now_ns).finish_non_exhaustive()
    }
}

/// The name that is most like another one: the same but for the case of letters, or else one that
/// it is a part of.
pub(crate) fn alike<'n>(
    name: &str,
    names: impl Iterator<Item = &'n str> + Clone,
) -> Option<&'n str> {
    let lower = name.to_lowercase();
    let same = names.clone().find(|other| other.to_lowercase() == lower);
    let near = || names.clone().find(|other| is_near(&lower, &other.to_lowercase()));
    same.or_else(near).or_else(|| {
        let mut longer = names.clone().filter(|other| lower.len() > 2 && other.contains(&*lower));
        longer.next()
    })
}

/// Whether one letter was changed, left out or put in.
fn is_near(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > 1 || a.len() < 3 {
        return false;
    }
    let before = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let behind = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    before + behind + 1 >= a.len().max(b.len())
}

/// ` (did you mean …?)`, or nothing.
pub(crate) fn hint(name: &str, names: &[&str]) -> String {
    alike(name, names.iter().copied())
        .map_or(String::new(), |other| format!("; did you mean {}?", quoted(other)))
}

/// A name as a statement has to write it.
pub(crate) fn quoted(name: &str) -> String {
    let is_plain = !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    match is_plain {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_nearly_the_same_are_found() {
        let names = ["time", "Host", "usage_user", "sys.cpu.user"];
        for (name, expected) in [
            ("host", Some("Host")),
            ("usage_usr", Some("usage_user")),
            ("cpu", Some("sys.cpu.user")),
            ("tme", Some("time")),
            ("x", None),
            ("nothing", None),
        ] {
            assert_eq!(alike(name, names.iter().copied()), expected, "{name}");
        }
        assert_eq!(quoted("sys.cpu"), "\"sys.cpu\"");
    }
}
