//! Types of columns and expressions.

use foliot_model::{Item, Kind};
use foliot_plan::relation::{Formula, Kept};
use std::fmt;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Nothing but nulls.
    Null,
    /// True or false.
    Boolean,
    /// Integers of 64 bits.
    Integer,
    /// Integers of 64 bits without a sign.
    Unsigned,
    /// IEEE 754 binary64.
    Float,
    /// UTF-8 text.
    Text,
    /// Instants, in nanoseconds since 1970.
    Time,
    /// Lengths of time, in nanoseconds.
    Interval,
}

impl Type {
    /// What the API calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Unsigned => "unsigned",
            Self::Float => "float",
            Self::Text => "string",
            Self::Time => "time",
            Self::Interval => "interval",
        }
    }

    /// What SQL calls it.
    pub(crate) const fn sql_name(self) -> &'static str {
        match self {
            Self::Null => "unknown",
            Self::Boolean => "boolean",
            Self::Integer => "bigint",
            Self::Unsigned => "bigint unsigned",
            Self::Float => "double precision",
            Self::Text => "text",
            Self::Time => "timestamp with time zone",
            Self::Interval => "interval",
        }
    }

    /// The type of a field's values; nothing of those that SQL has no word for.
    pub(crate) const fn of_kind(kind: Kind) -> Option<Self> {
        Some(match kind {
            Kind::Float => Self::Float,
            Kind::Integer => Self::Integer,
            Kind::Unsigned => Self::Unsigned,
            Kind::Boolean => Self::Boolean,
            Kind::String => Self::Text,
            Kind::Histogram => return None,
        })
    }

    pub(crate) const fn is_number(self) -> bool {
        matches!(self, Self::Integer | Self::Unsigned | Self::Float | Self::Null)
    }

    pub(crate) const fn is_whole(self) -> bool {
        matches!(self, Self::Integer | Self::Unsigned | Self::Null)
    }

    /// The type of what may be one or the other; nothing where no type fits both.
    pub(crate) fn joined(self, other: Self) -> Option<Self> {
        Some(match (self, other) {
            (Self::Null, of) | (of, Self::Null) => of,
            (a, b) if a == b => a,
            (a, b) if a.is_number() && b.is_number() => match a.is_whole() && b.is_whole() {
                true => Self::Integer,
                false => Self::Float,
            },
            _ => return None,
        })
    }

    /// What converts to it; nothing where that is not needed or not possible.
    pub(crate) const fn kept(self) -> Option<Kept> {
        Some(match self {
            Self::Boolean => Kept::Boolean,
            Self::Integer => Kept::Integer,
            Self::Unsigned => Kept::Unsigned,
            Self::Float => Kept::Float,
            Self::Text => Kept::Text,
            Self::Time => Kept::Time,
            Self::Null | Self::Interval => return None,
        })
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sql_name())
    }
}

/// An expression and its type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Typed {
    pub(crate) formula: Formula,
    pub(crate) of: Type,
    /// Of an interval that stands in the text: months, which have no fixed length, beside the
    /// nanoseconds of the formula.
    pub(crate) months: i32,
}

impl Typed {
    pub(crate) fn new(formula: Formula, of: Type) -> Self {
        Self { formula, of, months: 0 }
    }

    pub(crate) fn constant(item: Item, of: Type) -> Self {
        Self::new(Formula::Constant(item), of)
    }

    pub(crate) fn null() -> Self {
        Self::constant(Item::Null, Type::Null)
    }

    /// The item that this always is.
    pub(crate) fn item(&self) -> Option<&Item> {
        match &self.formula {
            Formula::Constant(item) => Some(item),
            _ => None,
        }
    }

    /// The text that stands there as it is, whose type is open.
    pub(crate) fn text(&self) -> Option<&str> {
        match self.item() {
            Some(Item::String(text)) => Some(text),
            _ => None,
        }
    }

    /// The same as another type, where that changes its items.
    pub(crate) fn converted(self, to: Type) -> Self {
        match to.kept() {
            Some(kept) if self.of != to && self.of != Type::Null => {
                let value = Box::new(self.formula);
                Self::new(Formula::Converted { value, to: kept }, to)
            }
            _ => Self { of: to, ..self },
        }
    }
}
