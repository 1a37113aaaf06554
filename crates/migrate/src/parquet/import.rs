//! Reads a file of columns, group by group, and makes each row a line.

use super::leaf::Leaf;
use super::pages::{Held, Pages};
use super::schema::{is_unsigned, shape};
use super::{Bounds, footer, said};
use crate::columns::{Shape, Told, push_line};
use crate::error::Error;
use crate::import::Import;
use ::parquet::column::reader::get_column_reader;
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{
    ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};
use foliot_model::Value;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::path::Path;
use std::sync::Arc;
use std::thread;

/// Rows that are held of each column.
const ROWS: usize = 8 << 10;

/// A file of columns, and what they mean.
pub struct File {
    file: Arc<std::fs::File>,
    metadata: ParquetMetaData,
    name: String,
    shape: Shape,
    bounds: Bounds,
    bytes_total: u64,
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File").field("name", &self.name).finish_non_exhaustive()
    }
}

impl File {
    /// Opens a file and understands its columns.
    ///
    /// # Errors
    /// When it cannot be read, or it is not clear what a column means.
    pub fn open(path: &Path, told: &Told, bounds: Bounds) -> Result<Self, Error> {
        let name = path.display().to_string();
        if path == Path::new("-") {
            let why = "a Parquet file is read from its end: give the name of a file, not a pipe";
            return Err(Error::Format(why.to_owned()));
        }
        let file = std::fs::File::open(path).map_err(Error::io(format!("open {name}")))?;
        let bytes_total = file.metadata().map_or(0, |meta| meta.len());
        footer::check(&file, bytes_total, bounds.footer_bytes)
            .map_err(|why| damaged(&name, &ParquetError::General(why)))?;
        let metadata = guarded(&name, || {
            let read = ParquetMetaDataReader::new().parse_and_finish(&file);
            read.map_err(|error| damaged(&name, &error))
        })?;
        let schema = metadata.file_metadata().schema_descr();
        let shape = shape(schema, told).map_err(|error| error.in_file(&name))?;
        Ok(Self { file: Arc::new(file), metadata, name, shape, bounds, bytes_total })
    }
}

/// Imports a file: each row becomes a line of its measurement, with its labels and fields.
///
/// # Errors
/// When the file is damaged or storing fails as a whole; a row that cannot be a line is refused.
pub fn import(file: &File, import: &mut Import<'_>) -> Result<(), Error> {
    let (mut row, mut read_bytes) = (0, 0);
    let mut text = Vec::new();
    for group in file.metadata.row_groups() {
        let mut leaves = guarded(&file.name, || leaves(file, group))?;
        loop {
            let rows = guarded(&file.name, || read(file, &mut leaves, row))?;
            if rows == 0 {
                break;
            }
            for at in 0..rows {
                row += 1;
                leaves.iter_mut().flatten().for_each(|leaf| leaf.step(at));
                text.clear();
                match push_line(&file.shape, |at| value(&leaves, at), &mut text) {
                    Ok(()) => import.line_of(&file.shape, row, &text)?,
                    Err(reason) => import.refuse(row, reason),
                }
            }
        }
        read_bytes += u64::try_from(group.compressed_size()).unwrap_or(0);
        import.read(read_bytes.min(file.bytes_total), Some(file.bytes_total));
    }
    Ok(())
}

/// The format's library holds some damages of a file for mistakes of its own and panics. Whoever
/// brings a file in hears of the damage, and not where the library found it; other threads' panics
/// are told as ever. So only what calls the library stands in here, and nothing that stores.
fn guarded<T>(name: &str, read: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let here = thread::current().id();
    let hook = Arc::new(take_hook());
    let of_others = hook.clone();
    set_hook(Box::new(move |panic| {
        if thread::current().id() != here {
            of_others(panic);
        }
    }));
    let outcome = catch_unwind(AssertUnwindSafe(read));
    set_hook(Box::new(move |panic| hook(panic)));
    outcome.unwrap_or_else(|_| Err(Error::Format(format!("{name} is damaged"))))
}

fn damaged(name: &str, error: &ParquetError) -> Error {
    Error::Format(format!("{name} cannot be read as Parquet: {}", said(error)))
}

/// Reads the rows behind `row` of all columns side by side, and says how many there were.
fn read(file: &File, leaves: &mut [Option<Leaf>], row: u64) -> Result<usize, Error> {
    let mut counts = Vec::new();
    for leaf in leaves.iter_mut().flatten() {
        counts.push(leaf.read(ROWS).map_err(|error| damaged(&file.name, &error))?);
    }
    let rows = counts.first().copied().unwrap_or(0);
    match counts.iter().any(|count| *count != rows) {
        false => Ok(rows),
        true => Err(Error::Format(format!(
            "{}: columns of the group behind row {row} differ in their length",
            file.name
        ))),
    }
}

/// The columns of a group, in the places of the file's; none for those that are left out.
fn leaves(file: &File, group: &RowGroupMetaData) -> Result<Vec<Option<Leaf>>, Error> {
    let shape = &file.shape;
    let wanted = shape.columns();
    let held = Held::up_to(file.bounds.pages_bytes);
    let leaf = |(at, chunk): (usize, &ColumnChunkMetaData)| {
        if !wanted.contains(&at) {
            return Ok(None);
        }
        let column = chunk.column_descr_ptr();
        let pages = Pages::new(&file.file, chunk, &held);
        let pages = Box::new(pages.map_err(|error| damaged(&file.name, &error))?);
        let (level_max, is_unsigned) = (column.max_def_level(), is_unsigned(&column));
        Leaf::new(get_column_reader(column, pages), level_max, is_unsigned).map(Some)
    };
    group.columns().iter().enumerate().map(leaf).collect()
}

/// What the row that the columns stand at has in one of them.
fn value(leaves: &[Option<Leaf>], at: usize) -> Result<Option<Value<'_>>, String> {
    let leaf = leaves.get(at).and_then(Option::as_ref);
    leaf.map_or(Ok(None), Leaf::value).map_err(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::super::{Column, Kind, Writer};
    use super::*;
    use crate::import::{Place, Progress, Target};

    #[allow(clippy::panic, reason = "the mistake that is told")]
    fn mistaken(_: &Progress) {
        panic!("a mistake");
    }

    /// Whoever takes the lines may make a mistake, which says nothing of the file.
    #[test]
    fn a_mistake_of_who_takes_lines_is_no_damage_of_the_file() {
        let path = std::env::temp_dir().join(format!("foliot-{}.parquet", std::process::id()));
        let column = |name: &str, kind| Column { name: name.to_owned(), kind, is_label: false };
        let columns = [column("time", Kind::Time), column("v", Kind::Integer)];
        let mut writer = Writer::new(std::fs::File::create(&path).unwrap(), &columns).unwrap();
        for row in 0..100_000 {
            assert!(writer.set(0, Value::Integer(row)) && writer.set(1, Value::Integer(row)));
            writer.end_row().unwrap();
        }
        writer.finish().unwrap();
        let told = Told { measurement: Some("m".to_owned()), ..Told::default() };
        let bounds = Bounds { footer_bytes: 1 << 20, pages_bytes: 64 << 20 };
        let file = File::open(&path, &told, bounds).unwrap();
        std::fs::remove_file(&path).unwrap();
        // Called where a megabyte of lines was taken.
        let mut report = mistaken;
        let mut taking = Import::new(Target::Nowhere, Place::default(), &mut report);
        let outcome = catch_unwind(AssertUnwindSafe(|| import(&file, &mut taking)));
        let panic = outcome.map(|told| told.map_err(|error| error.to_string())).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"a mistake"));
    }
}
