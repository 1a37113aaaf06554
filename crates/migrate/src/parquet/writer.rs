//! Writes a file of columns, row by row. Rows are gathered to a group, whose columns then follow
//! each other in the file.

use super::{LABELS, unwritten};
use crate::error::Error;
use ::parquet::basic::{
    Compression, Encoding, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel,
};
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::{ColumnPath, Type};
use foliot_model::Value;
use std::fmt;
use std::io::Write;
use std::sync::Arc;

/// Rows of a group, which are held in memory: with ten columns about 20 MB.
pub(super) const GROUP_ROWS: usize = 128 << 10;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nanoseconds since 1970, in UTC.
    Time,
    /// Floats of 64 bits.
    Float,
    /// Integers of 64 bits.
    Integer,
    /// Integers of 64 bits without a sign.
    Unsigned,
    /// True or false.
    Boolean,
    /// UTF-8.
    Text,
}

/// A column of a file that is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// What it is called.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
    /// Whether it stands in the group of labels. Columns of that group stand side by side.
    pub is_label: bool,
}

/// A file that is being written.
pub struct Writer<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<Filling>,
    rows: usize,
}

impl<W: Write + Send> fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("rows", &self.rows).finish_non_exhaustive()
    }
}

/// What the rows of a group have in one column.
struct Filling {
    cells: Cells,
    /// For each row: 1 where there is a value, 0 where there is none.
    levels: Vec<i16>,
}

enum Cells {
    Floats(Vec<f64>),
    /// Times and integers; unsigned ones by their bits.
    Integers(Vec<i64>),
    Booleans(Vec<bool>),
    Texts(Vec<ByteArray>),
}

impl<W: Write + Send> Writer<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn new(out: W, columns: &[Column]) -> Result<Self, Error> {
        let begin = || {
            let schema = Arc::new(schema(columns)?);
            SerializedFileWriter::new(out, schema, Arc::new(properties()?))
        };
        let columns = columns
            .iter()
            .map(|column| Filling { cells: Cells::of(column.kind), levels: Vec::new() });
        Ok(Self { columns: columns.collect(), file: begin().map_err(unwritten)?, rows: 0 })
    }

    /// Gives the row that is under way a value, once for a column; false when the column cannot
    /// hold a value of this kind.
    pub fn set(&mut self, column: usize, value: Value<'_>) -> bool {
        let row = self.rows;
        let Some(filling) = self.columns.get_mut(column) else { return false };
        let is_set = filling.levels.len() == row && filling.cells.push(value);
        if is_set {
            filling.levels.push(1);
        }
        is_set
    }

    /// Ends the row: columns that were not set have nothing there.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn end_row(&mut self) -> Result<(), Error> {
        self.rows += 1;
        for column in &mut self.columns {
            column.levels.resize(self.rows, 0);
        }
        match self.rows >= GROUP_ROWS {
            true => self.write_group().map_err(unwritten),
            false => Ok(()),
        }
    }

    /// Ends the file.
    ///
    /// # Errors
    /// When `out` fails.
    pub fn finish(mut self) -> Result<(), Error> {
        if self.rows > 0 {
            self.write_group().map_err(unwritten)?;
        }
        let mut out = self.file.into_inner().map_err(unwritten)?;
        out.flush().map_err(Error::io("write the dump"))
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        for Filling { cells, levels } in &mut self.columns {
            let Some(mut column) = group.next_column()? else { break };
            let has = Some(&**levels);
            match cells {
                Cells::Floats(cells) => {
                    column.typed::<DoubleType>().write_batch(cells, has, None)?;
                    cells.clear();
                }
                Cells::Integers(cells) => {
                    column.typed::<Int64Type>().write_batch(cells, has, None)?;
                    cells.clear();
                }
                Cells::Booleans(cells) => {
                    column.typed::<BoolType>().write_batch(cells, has, None)?;
                    cells.clear();
                }
                Cells::Texts(cells) => {
                    column.typed::<ByteArrayType>().write_batch(cells, has, None)?;
                    cells.clear();
                }
            }
            column.close()?;
            levels.clear();
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }
}

impl Cells {
    fn of(kind: Kind) -> Self {
        match kind {
            Kind::Float => Self::Floats(Vec::new()),
            Kind::Time | Kind::Integer | Kind::Unsigned => Self::Integers(Vec::new()),
            Kind::Boolean => Self::Booleans(Vec::new()),
            Kind::Text => Self::Texts(Vec::new()),
        }
    }

    fn push(&mut self, value: Value<'_>) -> bool {
        match (self, value) {
            (Self::Floats(cells), Value::Float(value)) => cells.push(value),
            (Self::Integers(cells), Value::Integer(value)) => cells.push(value),
            (Self::Integers(cells), Value::Unsigned(value)) => cells.push(value.cast_signed()),
            (Self::Booleans(cells), Value::Boolean(value)) => cells.push(value),
            (Self::Texts(cells), Value::String(text)) => {
                // Neighbours are often the same, and share their bytes then.
                let same = cells.last().filter(|last| last.data() == text.as_bytes()).cloned();
                cells.push(same.unwrap_or_else(|| ByteArray::from(text)));
            }
            _ => return false,
        }
        true
    }
}

fn schema(columns: &[Column]) -> Result<Type, ParquetError> {
    let (mut fields, mut labels) = (Vec::new(), Vec::new());
    let mut labels_at = 0;
    for column in columns {
        let leaf = Arc::new(leaf(column)?);
        if column.is_label {
            if labels.is_empty() {
                labels_at = fields.len();
            }
            labels.push(leaf);
        } else {
            fields.push(leaf);
        }
    }
    if !labels.is_empty() {
        let group = Type::group_type_builder(LABELS).with_repetition(Repetition::REQUIRED);
        fields.insert(labels_at, Arc::new(group.with_fields(labels).build()?));
    }
    Type::group_type_builder("samples").with_fields(fields).build()
}

fn leaf(column: &Column) -> Result<Type, ParquetError> {
    let (physical, logical) = match column.kind {
        Kind::Time => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::NANOS))),
        Kind::Float => (Physical::DOUBLE, None),
        Kind::Integer => (Physical::INT64, None),
        Kind::Unsigned => (Physical::INT64, Some(LogicalType::integer(64, false))),
        Kind::Boolean => (Physical::BOOLEAN, None),
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    Type::primitive_type_builder(&column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
}

fn properties() -> Result<WriterProperties, ParquetError> {
    // Times of a series follow each other in steps, of which a dictionary knows nothing.
    let time = ColumnPath::from(super::TIME);
    Ok(WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_column_dictionary_enabled(time.clone(), false)
        .set_column_encoding(time, Encoding::DELTA_BINARY_PACKED)
        .build())
}
