//! What a profile is made of: tables of fields with laws, and labels.

use crate::law::{Kind, Law};

/// The rows of one measurement.
pub(crate) struct Table {
    /// Measurement name.
    pub(crate) name: &'static str,
    /// Sources are spread over this many measurements, `name` followed by a number; 0 = one.
    pub(crate) groups: u64,
    /// The label that tells the sources apart.
    pub(crate) source_label: &'static str,
    pub(crate) fields: Vec<Field>,
    /// Where the states of this table begin among those of a source.
    pub(crate) state_at: usize,
}

/// One field of a table.
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) law: Law,
}

/// One label of a source.
pub(crate) struct Label {
    pub(crate) key: &'static str,
    pub(crate) value: LabelValue,
}

/// The value of a label, in a form that needs no allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LabelValue {
    /// A word.
    Word(&'static str),
    /// A word followed by a number.
    Numbered(&'static str, u64),
}

impl std::fmt::Display for LabelValue {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LabelValue::Word(word) => out.write_str(word),
            LabelValue::Numbered(word, number) => write!(out, "{word}{number}"),
        }
    }
}

impl Label {
    pub(crate) fn numbered(key: &'static str, word: &'static str, number: u64) -> Label {
        Label { key, value: LabelValue::Numbered(word, number) }
    }
}

impl Field {
    pub(crate) fn new(name: &str, kind: Kind, law: Law) -> Field {
        Field { name: name.to_owned(), kind, law }
    }
}
