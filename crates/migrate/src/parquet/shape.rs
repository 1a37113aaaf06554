//! What the columns of a file mean.

use super::{FIELD, LABELS, MEASUREMENT, METRIC, TIME, VALUES};
use crate::error::Error;
use crate::line::fault_of;
use ::parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use ::parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

/// What an import was told about the columns of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The measurement of all rows, for a file that has no column of measurements.
    pub measurement: Option<String>,
    /// The column of times, if it is not called `time`.
    pub time: Option<String>,
    /// Columns of texts that are fields; other texts are labels.
    pub texts: Vec<String>,
    /// Columns that are left out.
    pub without: Vec<String>,
}

/// The columns of a file by what they mean, as their places among all columns.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) time: usize,
    pub(super) time_unit: Unit,
    pub(super) measurement: Origin,
    /// In the order of their names.
    pub(super) labels: Vec<(String, usize)>,
    /// The column that names the field of [`Shape::values`].
    pub(super) field: Option<usize>,
    pub(super) values: Vec<usize>,
    /// Fields of their own.
    pub(super) fields: Vec<(String, usize)>,
}

/// Where a row's measurement is from.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Column(usize),
    Told(String),
}

/// What a time counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Days,
    Milliseconds,
    Microseconds,
    Nanoseconds,
}

impl Unit {
    pub(super) fn ns(self) -> i64 {
        match self {
            Self::Days => 86_400_000_000_000,
            Self::Milliseconds => 1_000_000,
            Self::Microseconds => 1_000,
            Self::Nanoseconds => 1,
        }
    }
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    Times(Unit),
    Texts,
    Numbers,
}

impl Shape {
    /// Understands the columns of a file.
    ///
    /// # Errors
    /// When a column cannot be read, or it is not clear what one means.
    pub(super) fn of(schema: &SchemaDescriptor, told: &Told) -> Result<Self, Error> {
        let names: Vec<String> =
            schema.columns().iter().map(|column| column.path().string()).collect();
        for (name, flag) in names_told(told) {
            if !names.contains(name) {
                let known = names.join(", ");
                return Err(told_wrong(&format!("{flag} {name}: the columns are {known}")));
            }
        }
        let mut columns = Vec::new();
        for (at, column) in schema.columns().iter().enumerate() {
            let name = column.path().string();
            if !told.without.contains(&name) {
                let holds =
                    holds(column).map_err(|why| wrong(&format!("column {name:?} {why}")))?;
                columns.push((at, name, holds));
            }
        }
        let (time, time_unit) = time(&columns, told)?;
        let at = |wanted: &str| {
            let found = columns.iter().find(|(_, name, holds)| {
                name == wanted && *holds == Holds::Texts && !told.texts.contains(name)
            });
            found.map(|(at, ..)| *at)
        };
        let named = at(MEASUREMENT).or_else(|| at(METRIC));
        let measurement = match (&told.measurement, named) {
            (Some(told), _) => Origin::Told(told.clone()),
            (None, Some(at)) => Origin::Column(at),
            (None, None) => {
                return Err(told_wrong(
                    "no column is called measurement: give it with --measurement NAME",
                ));
            }
        };
        // Where labels have a group of their own, a text that stands beside it is none.
        let told = &match columns.iter().any(|(_, name, _)| label_of(name).is_some()) {
            true => with_texts(told, &columns),
            false => told.clone(),
        };
        let mut shape = Self {
            time,
            time_unit,
            measurement,
            labels: Vec::new(),
            field: at(FIELD),
            values: Vec::new(),
            fields: Vec::new(),
        };
        for (at, name, holds) in columns {
            shape.take(at, name, holds, told)?;
        }
        let mut named = shape.labels.iter().chain(&shape.fields);
        let fault = named.find_map(|(name, _)| Some((name, fault_of(name.as_bytes())?)));
        if let Some((name, why)) = fault {
            return Err(wrong(&format!("column {name:?}: {why}")));
        }
        shape.labels.sort();
        if shape.fields.is_empty() && shape.values.is_empty() {
            return Err(told_wrong("no column holds numbers: name a column of texts with --text"));
        }
        Ok(shape)
    }

    /// Puts a column where it belongs.
    fn take(&mut self, at: usize, name: String, holds: Holds, told: &Told) -> Result<(), Error> {
        let is_taken = at == self.time
            || self.field == Some(at)
            || matches!(self.measurement, Origin::Column(taken) if taken == at)
            || (name == MEASUREMENT && told.measurement.is_some());
        if is_taken {
            return Ok(());
        }
        let label = label_of(&name);
        if self.field.is_some() && VALUES.iter().any(|(value, _)| *value == name) {
            self.values.push(at);
        } else if let Some(label) = label.filter(|_| holds == Holds::Texts) {
            self.labels.push((label.to_owned(), at));
        } else if matches!(holds, Holds::Times(_)) {
            return Err(told_wrong(&format!(
                "column {name:?} is one more column of times: --without {name} leaves it out"
            )));
        } else if holds == Holds::Texts && !told.texts.contains(&name) {
            self.labels.push((name, at));
        } else {
            self.fields.push((name, at));
        }
        Ok(())
    }
}

/// The label of a column in the group of labels.
fn label_of(column: &str) -> Option<&str> {
    column.strip_prefix(LABELS).and_then(|rest| rest.strip_prefix('.'))
}

/// What was told, with all texts outside of the group of labels as fields.
fn with_texts(told: &Told, columns: &[(usize, String, Holds)]) -> Told {
    let texts = columns.iter().filter(|(_, name, holds)| {
        *holds == Holds::Texts
            && label_of(name).is_none()
            && ![MEASUREMENT, METRIC, FIELD].contains(&&**name)
    });
    Told { texts: texts.map(|(_, name, _)| name.clone()).collect(), ..told.clone() }
}

/// Columns that the command line names.
fn names_told(told: &Told) -> impl Iterator<Item = (&String, &'static str)> {
    let time = told.time.iter().map(|name| (name, "--time"));
    let texts = told.texts.iter().map(|name| (name, "--text"));
    let without = told.without.iter().map(|name| (name, "--without"));
    time.chain(texts).chain(without)
}

/// The column of times: the one that is named, the one called `time`, or the only one.
fn time(columns: &[(usize, String, Holds)], told: &Told) -> Result<(usize, Unit), Error> {
    let wanted = told.time.as_deref();
    let named = |wanted: &str| columns.iter().find(|(_, name, _)| name == wanted);
    if let Some((at, name, holds)) = named(wanted.unwrap_or(TIME)) {
        return match holds {
            Holds::Times(unit) => Ok((*at, *unit)),
            _ => Err(told_wrong(&format!(
                "column {name:?} holds no timestamps: have it written as timestamps, or name \
                 another with --time"
            ))),
        };
    }
    let mut times = columns.iter().filter_map(|(at, name, holds)| match holds {
        Holds::Times(unit) => Some((*at, *unit, name)),
        _ => None,
    });
    match (times.next(), times.next()) {
        (Some((at, unit, _)), None) => Ok((at, unit)),
        (None, _) => Err(wrong("no column holds timestamps")),
        (Some((_, _, one)), Some((_, _, other))) => Err(told_wrong(&format!(
            "columns {one:?} and {other:?} hold timestamps: say which with --time"
        ))),
    }
}

fn wrong(reason: &str) -> Error {
    Error::Format(reason.to_owned())
}

fn told_wrong(reason: &str) -> Error {
    Error::Told(reason.to_owned())
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
    use ::parquet::schema::parser::parse_message_type;
    use std::sync::Arc;

    fn shape(columns: &str, told: &Told) -> Result<Shape, String> {
        let schema = parse_message_type(&format!("message m {{ {columns} }}")).unwrap();
        let schema = SchemaDescriptor::new(Arc::new(schema));
        Shape::of(&schema, told).map_err(|error| error.to_string())
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
