//! What a file of samples says of itself, so that it comes in again as what it was: the column
//! `kind` has the kind of each sample. The page saves such files, too (`web/src/saved.ts`), and
//! both read what either wrote.

use super::Precision;
use super::cell::{is_number, shown};
use crate::columns::{FIELD, MEASUREMENT, TIME};
use foliot_model::{Kind, Value};

/// The column of kinds.
pub(super) const KIND_COLUMN: &str = "kind";
/// The column of values.
pub(super) const VALUE: &str = "value";
/// The column of measurements in files of the page, and in answers that `foliot query` prints.
pub(super) const NAME: &str = "name";

/// Names of columns that a file of samples has for itself.
const OWN: [&str; 9] =
    [TIME, "time_ms", "time_ns", NAME, MEASUREMENT, FIELD, VALUE, KIND_COLUMN, "labels"];

/// What stands in front of a name, as often as it must, that a file has for itself.
const ASIDE: &str = "label_";

/// Kinds of values, as the column of kinds has them.
const KINDS: [(&str, Kind); 6] = [
    ("float", Kind::Float),
    ("integer", Kind::Integer),
    ("unsigned", Kind::Unsigned),
    ("boolean", Kind::Boolean),
    ("string", Kind::String),
    ("histogram", Kind::Histogram),
];

/// What a kind is called.
pub(super) fn kind_name(kind: Kind) -> &'static str {
    KINDS.iter().find(|(_, known)| *known == kind).map_or("", |(name, _)| name)
}

/// The kind that is called so.
pub(super) fn kind_named(name: &str) -> Option<Kind> {
    KINDS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
}

fn is_own(name: &str) -> bool {
    OWN.contains(&name.trim_start_matches(ASIDE))
}

/// What the column of a label is called: no label takes the name of another column.
pub(super) fn column_of_label(label: &str) -> String {
    if is_own(label) { format!("{ASIDE}{label}") } else { label.to_owned() }
}

/// The label of a column that is none of the file's own.
pub(super) fn label_of_column(name: &str) -> &str {
    name.strip_prefix(ASIDE).filter(|_| is_own(name)).unwrap_or(name)
}

/// Whether a spreadsheet takes a text for a formula, or would if fewer quotes stood before it.
fn is_formula(text: &str) -> bool {
    let bare = text.trim_start_matches('\'');
    bare.starts_with(['=', '+', '-', '@', '\t', '\r'])
}

/// A text as a cell that is no formula to a spreadsheet: with a quote before it. The page reads
/// every file of samples without these quotes, so what writes one has to set them: of a text that
/// begins with a quote and a formula's sign nobody could tell else whose the quote is.
pub(super) fn needs_guard(text: &str) -> bool {
    is_formula(text) && (text.starts_with('\'') || !is_number(text))
}

/// The text of such a cell.
pub(super) fn unguarded(text: &str) -> &str {
    text.strip_prefix('\'').filter(|_| is_formula(text)).unwrap_or(text)
}

/// Where a file of samples has what it says of itself, by the places of its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) time: usize,
    /// What times count, where they are numbers.
    pub(super) precision: Precision,
    pub(super) measurement: usize,
    pub(super) field: usize,
    pub(super) kind: usize,
    pub(super) value: usize,
}

impl Said {
    /// What a file of these columns says that was saved here; nothing where it is somebody else's.
    pub(super) fn of(names: &[String]) -> Option<Self> {
        let at = |wanted: &str| names.iter().position(|name| unguarded(name) == wanted);
        let of_page = || {
            let precisions = [Precision::Nanoseconds, Precision::Milliseconds];
            let times = ["time_ns", "time_ms"].into_iter().zip(precisions);
            let found = times.filter_map(|(name, precision)| Some((at(name)?, precision)));
            let (time, precision) = found.min_by_key(|(time, _)| *time)?;
            Some((time, precision, at(NAME)?))
        };
        let of_export = || Some((at(TIME)?, Precision::Nanoseconds, at(MEASUREMENT)?));
        let (time, precision, measurement) = of_export().or_else(of_page)?;
        let (field, kind, value) = (at(FIELD)?, at(KIND_COLUMN)?, at(VALUE)?);
        Some(Self { time, precision, measurement, field, kind, value })
    }
}

/// The value of a sample whose kind is told.
///
/// # Errors
/// When it is none of that kind.
pub(super) fn value_of<'c>(kind: &str, cell: &'c str) -> Result<Option<Value<'c>>, String> {
    let Some(known) = kind_named(kind) else {
        let names = KINDS.map(|(name, _)| name).join(", ");
        return match (kind, cell) {
            ("", "") => Ok(None),
            ("", _) => Err("has no kind, and others have".to_owned()),
            _ => Err(format!("is said to be {:?}, which is none of {names}", shown(kind))),
        };
    };
    let read = match known {
        Kind::Histogram => return Err("is a histogram, which CSV does not hold".to_owned()),
        // An empty text is a value, too.
        Kind::String => Some(Value::String(cell)),
        _ if cell.is_empty() => return Ok(None),
        Kind::Float => float(cell).map(Value::Float),
        Kind::Integer => cell.parse().ok().map(Value::Integer),
        Kind::Unsigned => cell.parse().ok().map(Value::Unsigned),
        Kind::Boolean => cell.to_ascii_lowercase().parse().ok().map(Value::Boolean),
    };
    read.map(Some).ok_or_else(|| {
        format!("{:?} is no value of the kind {kind:?}, as its row says", shown(cell))
    })
}

fn float(cell: &str) -> Option<f64> {
    match cell.to_ascii_lowercase().as_str() {
        "nan" => Some(f64::NAN),
        "infinity" => Some(f64::INFINITY),
        "-infinity" => Some(f64::NEG_INFINITY),
        _ if is_number(cell) => cell.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cases of the page (`web/test`), whose files these are, too.
    #[test]
    fn labels_take_no_name_of_the_file_and_texts_are_no_formulas() {
        for (label, column) in [
            ("bed", "bed"),
            ("value", "label_value"),
            ("label_value", "label_label_value"),
            ("label_bed", "label_bed"),
            ("labels", "label_labels"),
        ] {
            assert_eq!(column_of_label(label), column);
            assert_eq!(label_of_column(column), label);
        }
        for text in ["=1+1", "'=1", "''@a", "-a", "\tx", "\rx", "+", "'-5"] {
            assert!(needs_guard(text), "{text}");
            assert_eq!(unguarded(&format!("'{text}")), text);
        }
        for text in ["-5", "+1e3", "a=", "'a", "'", ""] {
            assert!(!needs_guard(text), "{text}");
            assert_eq!(unguarded(text), text);
        }
    }

    #[test]
    fn a_file_says_of_itself_what_it_is() {
        let of = |header: &str| {
            let names: Vec<String> = header.split(',').map(str::to_owned).collect();
            Said::of(&names).map(|said| (said.time, said.measurement, said.precision))
        };
        let ours = Some((0, 1, Precision::Nanoseconds));
        assert_eq!(of("time,measurement,field,kind,value"), ours);
        assert_eq!(of("time_ns,name,field,value,kind"), ours);
        assert_eq!(of("name,time_ms,field,value,kind"), Some((1, 0, Precision::Milliseconds)));
        assert_eq!(of("time,name,field,value,kind"), None);
        assert_eq!(of("time_ns,name,field,value"), None);
    }
}
