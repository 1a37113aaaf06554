//! What the columns of a schema hold.

use super::{FIELD, LABELS, VALUES};
use crate::columns::{Holds, Role, Shape, Told, Unit};
use crate::error::Error;
use ::parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use ::parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

/// Understands the columns of a file.
///
/// # Errors
/// When a column cannot be read, or it is not clear what one means.
pub(super) fn shape(schema: &SchemaDescriptor, told: &Told) -> Result<Shape, Error> {
    let columns = schema.columns();
    let names: Vec<String> = columns.iter().map(|column| column.path().string()).collect();
    let has_field = names.iter().any(|name| name == FIELD);
    Shape::of(&names, told, |at| {
        let (Some(column), Some(name)) = (columns.get(at), names.get(at)) else {
            return Err(Error::Format(format!("there is no column {at}")));
        };
        let holds = holds(column).map_err(|why| Error::Format(format!("column {name:?} {why}")))?;
        let role = match label_of(name) {
            Some(label) if holds == Holds::Texts => Role::Label(label.to_owned()),
            _ if has_field && VALUES.iter().any(|(value, _)| value == name) => Role::Kept,
            _ => Role::Open,
        };
        Ok((holds, role))
    })
}

/// The label of a column in the group of labels.
fn label_of(column: &str) -> Option<&str> {
    column.strip_prefix(LABELS).and_then(|rest| rest.strip_prefix('.'))
}

/// What a column holds, or why it cannot be read.
fn holds(column: &ColumnDescriptor) -> Result<Holds, &'static str> {
    if column.max_rep_level() > 0 {
        return Err("is a list: --without leaves it out");
    }
    let legacy = column.converted_type();
    Ok(match (column.physical_type(), column.logical_type_ref()) {
        (Physical::INT96, _) => Holds::Times(Unit::Nanoseconds),
        (Physical::INT64, Some(LogicalType::Timestamp(kind))) => Holds::Times(match kind.unit {
            TimeUnit::MILLIS => Unit::Milliseconds,
            TimeUnit::MICROS => Unit::Microseconds,
            TimeUnit::NANOS => Unit::Nanoseconds,
        }),
        (Physical::INT64, None) if legacy == ConvertedType::TIMESTAMP_MILLIS => {
            Holds::Times(Unit::Milliseconds)
        }
        (Physical::INT64, None) if legacy == ConvertedType::TIMESTAMP_MICROS => {
            Holds::Times(Unit::Microseconds)
        }
        (Physical::INT32, _) if legacy == ConvertedType::DATE => Holds::Times(Unit::Days),
        _ if legacy == ConvertedType::DECIMAL => {
            return Err(
                "holds decimals, which are not read: have it written as doubles, or leave \
                        it out with --without",
            );
        }
        (Physical::BYTE_ARRAY, _) => Holds::Texts,
        (Physical::FIXED_LEN_BYTE_ARRAY, _) => {
            return Err("holds bytes of a fixed length: --without leaves it out");
        }
        _ => Holds::Numbers,
    })
}

/// Whether integers of a column have no sign.
pub(super) fn is_unsigned(column: &ColumnDescriptor) -> bool {
    let logical = column.logical_type_ref();
    let legacy = column.converted_type();
    matches!(logical, Some(LogicalType::Integer(kind)) if !kind.is_signed)
        || matches!(
            legacy,
            ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
                | ConvertedType::UINT_64
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Origin;
    use ::parquet::schema::parser::parse_message_type;
    use std::sync::Arc;

    fn shape(columns: &str, told: &Told) -> Result<Shape, String> {
        let schema = parse_message_type(&format!("message m {{ {columns} }}")).unwrap();
        let schema = SchemaDescriptor::new(Arc::new(schema));
        super::shape(&schema, told).map_err(|error| error.to_string())
    }

    const TIMES: &str = "required int64 time (TIMESTAMP(NANOS,true));";

    #[test]
    fn texts_are_labels_and_numbers_are_fields() {
        let columns = format!(
            "{TIMES} optional binary site (STRING); optional double temp; optional binary note \
             (STRING); required int32 a (INTEGER(32,false)); optional binary b (STRING);"
        );
        let told = Told {
            measurement: Some("air".to_owned()),
            texts: vec!["note".to_owned()],
            without: vec!["b".to_owned()],
            ..Told::default()
        };
        let shape = shape(&columns, &told).unwrap();
        assert_eq!(shape.measurement, Origin::Told("air".to_owned()));
        assert_eq!(shape.labels, [("site".to_owned(), 1)]);
        let fields = [("temp".to_owned(), 2), ("note".to_owned(), 3), ("a".to_owned(), 4)];
        assert_eq!((shape.fields, shape.field, shape.values), (fields.to_vec(), None, Vec::new()));
    }

    #[test]
    fn what_is_not_clear_is_asked_for() {
        let told = |measurement: &str| Told {
            measurement: Some(measurement.to_owned()),
            ..Told::default()
        };
        let both = "required int64 a (TIMESTAMP(MILLIS,true)); required int64 b \
                    (TIMESTAMP(MICROS,false)); required double v;";
        for (columns, told, expected) in [
            (&*format!("{TIMES} required double v;"), Told::default(), "--measurement NAME"),
            (both, told("m"), "columns \"a\" and \"b\" hold timestamps: say which with --time"),
            ("required double v;", told("m"), "no column holds timestamps"),
            ("required int64 time; required double v;", told("m"), "holds no timestamps"),
            (TIMES, told("m"), "no column holds numbers"),
            (
                &*format!("{TIMES} required int32 v (DECIMAL(5,2));"),
                told("m"),
                "column \"v\" holds decimals",
            ),
            (&*format!("{TIMES} repeated double v;"), told("m"), "column \"v\" is a list"),
        ] {
            let said = shape(columns, &told).unwrap_err();
            assert!(said.contains(expected), "{columns}: {said}");
        }
        let named = Told { without: vec!["w".to_owned()], ..told("m") };
        let said = shape(&format!("{TIMES} required double v;"), &named).unwrap_err();
        assert_eq!(said, "--without w: the columns are time, v");
    }

    #[test]
    fn old_files_have_their_times() {
        let columns = "required int64 at (TIMESTAMP_MICROS); required float v;";
        let told = Told { measurement: Some("m".to_owned()), ..Told::default() };
        let shape = shape(columns, &told).unwrap();
        assert_eq!((shape.time, shape.time_unit), (0, Unit::Microseconds));
    }
}
