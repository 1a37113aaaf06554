//! Reads one column of a group, rows at a time.

use crate::error::Error;
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type,
    Int96, Int96Type,
};
use ::parquet::errors::ParquetError;
use foliot_model::Value;

/// A column that is being read: the rows read last, and which of their values is next.
pub(super) struct Leaf {
    source: Source,
    /// For each row, how much of the path to its value is there; empty when all have one.
    levels: Vec<i16>,
    /// The level of a row that has a value.
    level_max: i16,
    is_unsigned: bool,
    /// The value that the row of now has.
    now: Option<usize>,
    next: usize,
}

enum Source {
    Boolean(ColumnReaderImpl<BoolType>, Vec<bool>),
    Int32(ColumnReaderImpl<Int32Type>, Vec<i32>),
    Int64(ColumnReaderImpl<Int64Type>, Vec<i64>),
    Int96(ColumnReaderImpl<Int96Type>, Vec<Int96>),
    Float(ColumnReaderImpl<FloatType>, Vec<f32>),
    Double(ColumnReaderImpl<DoubleType>, Vec<f64>),
    Bytes(ColumnReaderImpl<ByteArrayType>, Vec<ByteArray>),
}

impl Leaf {
    /// The column of a group; `level_max` is the level of a row that has a value.
    ///
    /// # Errors
    /// When it is of a type that a shape has refused.
    pub(super) fn new(
        column: ColumnReader,
        level_max: i16,
        is_unsigned: bool,
    ) -> Result<Self, Error> {
        let source = match column {
            ColumnReader::BoolColumnReader(from) => Source::Boolean(from, Vec::new()),
            ColumnReader::Int32ColumnReader(from) => Source::Int32(from, Vec::new()),
            ColumnReader::Int64ColumnReader(from) => Source::Int64(from, Vec::new()),
            ColumnReader::Int96ColumnReader(from) => Source::Int96(from, Vec::new()),
            ColumnReader::FloatColumnReader(from) => Source::Float(from, Vec::new()),
            ColumnReader::DoubleColumnReader(from) => Source::Double(from, Vec::new()),
            ColumnReader::ByteArrayColumnReader(from) => Source::Bytes(from, Vec::new()),
            ColumnReader::FixedLenByteArrayColumnReader(_) => {
                return Err(Error::Format("a column changes its type within the file".to_owned()));
            }
        };
        let levels = Vec::new();
        Ok(Self { source, levels, level_max, is_unsigned, now: None, next: 0 })
    }

    /// Reads up to so many rows, and says how many there were.
    pub(super) fn read(&mut self, rows: usize) -> Result<usize, ParquetError> {
        (self.next, self.now) = (0, None);
        let levels = &mut self.levels;
        match &mut self.source {
            Source::Boolean(from, values) => rows_of(from, rows, levels, values),
            Source::Int32(from, values) => rows_of(from, rows, levels, values),
            Source::Int64(from, values) => rows_of(from, rows, levels, values),
            Source::Int96(from, values) => rows_of(from, rows, levels, values),
            Source::Float(from, values) => rows_of(from, rows, levels, values),
            Source::Double(from, values) => rows_of(from, rows, levels, values),
            Source::Bytes(from, values) => rows_of(from, rows, levels, values),
        }
    }

    /// Goes to the next row, whose number among those read is given.
    pub(super) fn step(&mut self, row: usize) {
        // A column that must have a value has no levels.
        let has_value = self.level_max == 0 || self.levels.get(row) == Some(&self.level_max);
        self.now = has_value.then_some(self.next);
        self.next += usize::from(has_value);
    }

    /// What the row has here; none when it has nothing.
    ///
    /// # Errors
    /// When a text is no UTF-8.
    pub(super) fn value(&self) -> Result<Option<Value<'_>>, &'static str> {
        let Some(at) = self.now else { return Ok(None) };
        let integer = |value: i64| match self.is_unsigned {
            true => Value::Unsigned(value.cast_unsigned()),
            false => Value::Integer(value),
        };
        let small = |value: i32| match self.is_unsigned {
            true => Value::Unsigned(u64::from(value.cast_unsigned())),
            false => Value::Integer(i64::from(value)),
        };
        Ok(match &self.source {
            Source::Boolean(_, values) => values.get(at).copied().map(Value::Boolean),
            Source::Int32(_, values) => values.get(at).copied().map(small),
            Source::Int64(_, values) => values.get(at).copied().map(integer),
            Source::Int96(_, values) => values.get(at).map(|at| Value::Integer(at.to_nanos())),
            Source::Float(_, values) => values.get(at).map(|&value| Value::Float(value.into())),
            Source::Double(_, values) => values.get(at).copied().map(Value::Float),
            Source::Bytes(_, values) => match values.get(at) {
                Some(bytes) => {
                    let text = std::str::from_utf8(bytes.data()).map_err(|_| "is no UTF-8")?;
                    Some(Value::String(text))
                }
                None => None,
            },
        })
    }
}

fn rows_of<T: DataType>(
    from: &mut ColumnReaderImpl<T>,
    rows: usize,
    levels: &mut Vec<i16>,
    values: &mut Vec<T::T>,
) -> Result<usize, ParquetError> {
    levels.clear();
    values.clear();
    let (rows, _, _) = from.read_records(rows, Some(levels), None, values)?;
    Ok(rows)
}
