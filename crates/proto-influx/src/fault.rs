//! What can be wrong with a line, and how InfluxDB says it.

use foliot_model::FIELDS_MAX;
use std::fmt;

/// Why a line was refused. The texts are those of InfluxDB 1.8 wherever it has one, because clients
/// and people search for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The line begins with a comma.
    MissingMeasurement,
    /// Nothing stands before a tag's `=`.
    MissingTagKey,
    /// A tag has no `=`, or nothing behind it.
    MissingTagValue,
    /// A tag has a second `=` that is not escaped.
    InvalidTagFormat,
    /// One tag name occurs twice.
    DuplicateTags,
    /// Measurement and tags, or these and a field's name, are longer than [`crate::KEY_BYTES_MAX`].
    KeyTooLong,
    /// The line ends behind its key.
    MissingFields,
    /// Nothing stands before a field's `=`.
    MissingFieldKey,
    /// Nothing stands behind a field's `=`.
    MissingFieldValue,
    /// A field has no `=`, a comma is left over, or a string goes on behind its closing quote.
    InvalidFieldFormat,
    /// A value begins like a number and is none, or is NaN or infinite.
    InvalidNumber,
    /// A float in scientific notation that is malformed or too large.
    InvalidFloat,
    /// An integer that does not fit 64 bits.
    IntegerRange,
    /// An unsigned integer that does not fit 64 bits.
    UnsignedRange,
    /// A value is neither number nor string nor one of the spellings of true and false.
    InvalidBoolean,
    /// A string has no closing quote.
    UnbalancedQuotes,
    /// A string is longer than [`crate::STRING_BYTES_MAX`].
    StringTooLong,
    /// A string is not UTF-8.
    StringNotUtf8,
    /// The timestamp is not an integer.
    BadTimestamp,
    /// The timestamp, in its precision, lies outside the years 1677 to 2262.
    TimeOutOfRange,
    /// The timestamp is a lone minus sign.
    TimeSyntax,
    /// Something stands behind the timestamp.
    InvalidPoint,
    /// `time` is the line's only field.
    OnlyTimeField,
    /// The line has more than [`FIELDS_MAX`] fields.
    TooManyFields,
}

impl Fault {
    /// Which part of the line is at fault, unless it is a named field's value.
    pub const fn part(self) -> &'static str {
        match self {
            Self::MissingMeasurement => "measurement",
            Self::MissingTagKey
            | Self::MissingTagValue
            | Self::InvalidTagFormat
            | Self::DuplicateTags => "tag",
            Self::KeyTooLong => "key",
            Self::BadTimestamp | Self::TimeOutOfRange | Self::TimeSyntax => "timestamp",
            Self::InvalidPoint => "line",
            _ => "field",
        }
    }

    /// Whether the fault is in the value of a field that has a name.
    pub(crate) const fn is_value(self) -> bool {
        matches!(
            self,
            Self::InvalidNumber
                | Self::InvalidFloat
                | Self::IntegerRange
                | Self::UnsignedRange
                | Self::InvalidBoolean
                | Self::UnbalancedQuotes
                | Self::StringTooLong
                | Self::StringNotUtf8
                | Self::MissingFieldValue
        )
    }

    /// The sentence for a person; `text` is the number or measurement in question,
    /// where there is one.
    pub(crate) fn reason(self, text: &str) -> String {
        match self {
            Self::IntegerRange => format!(
                "unable to parse integer {text}: strconv.ParseInt: parsing \"{text}\": \
                 value out of range"
            ),
            Self::UnsignedRange => format!(
                "unable to parse unsigned {text}: strconv.ParseUint: parsing \"{text}\": \
                 value out of range"
            ),
            Self::OnlyTimeField => format!(
                "invalid field name: input field \"time\" on measurement \"{text}\" is invalid"
            ),
            Self::TimeSyntax => format!("strconv.ParseInt: parsing \"{text}\": invalid syntax"),
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MissingMeasurement => "missing measurement",
            Self::MissingTagKey => "missing tag key",
            Self::MissingTagValue => "missing tag value",
            Self::InvalidTagFormat => "invalid tag format",
            Self::DuplicateTags => "duplicate tags",
            Self::KeyTooLong => {
                return write!(f, "max key length exceeded: more than {}", crate::KEY_BYTES_MAX);
            }
            Self::MissingFields => "missing fields",
            Self::MissingFieldKey => "missing field key",
            Self::MissingFieldValue => "missing field value",
            Self::InvalidFieldFormat => "invalid field format",
            Self::InvalidNumber => "invalid number",
            Self::InvalidFloat => "invalid float",
            Self::IntegerRange | Self::UnsignedRange => "value out of range",
            Self::InvalidBoolean => "invalid boolean",
            Self::UnbalancedQuotes => "unbalanced quotes",
            Self::StringTooLong => {
                return write!(f, "string is longer than {} bytes", crate::STRING_BYTES_MAX);
            }
            Self::StringNotUtf8 => "string is not valid UTF-8",
            Self::BadTimestamp => "bad timestamp",
            Self::TimeOutOfRange => {
                return write!(
                    f,
                    "time outside range {} - {}",
                    crate::TIME_NS_MIN,
                    crate::TIME_NS_MAX
                );
            }
            Self::TimeSyntax => "invalid syntax",
            Self::InvalidPoint => "point is invalid",
            Self::OnlyTimeField => "invalid field name: input field \"time\" is invalid",
            Self::TooManyFields => return write!(f, "more than {FIELDS_MAX} fields in one row"),
        })
    }
}

impl std::error::Error for Fault {}
