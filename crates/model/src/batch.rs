//! Batches: what one request writes, as spans over the request's own bytes.

use crate::{Cell, KeyHasher, KeySecret, KeySyntax, NamespaceId};
use std::borrow::Cow;

/// Most fields that a row may have: its ids lie contiguous in one page of the lookup. A decoder
/// that learns names reads no further, since what it learns of one takes many times its bytes.
pub const FIELDS_MAX: usize = 1 << 14;

/// A run of bytes of a batch: of the request, or of the batch's scratch when [`Span::SCRATCH`] is
/// set in `offset`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Position of the first byte.
    pub offset: u32,
    /// Number of bytes.
    pub length: u32,
}

impl Span {
    /// Marks an offset as one into the scratch. Requests are therefore limited to 2 GiB.
    pub const SCRATCH: u32 = 1 << 31;

    /// The span of the request's bytes from `start` to before `end`.
    #[inline]
    pub const fn new(start: usize, end: usize) -> Self {
        Self { offset: start as u32, length: (end - start) as u32 }
    }
}

/// One source at one time: as many cells as its shape has fields.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Keyed hash of namespace, syntax and key bytes, see [`KeyHasher::key`].
    pub key_hash: u128,
    /// First piece of the key, see [`KeySyntax`]; often empty.
    pub key_head: Span,
    /// Second piece of the key.
    pub key_tail: Span,
    /// When, in nanoseconds.
    pub time_ns: i64,
    /// Index of the row's shape.
    pub shape: u32,
    /// Index of the row's first cell.
    pub cells_start: u32,
    /// Where the row stood in the request, counted from 1 (line, or element of an array).
    pub line: u32,
}

/// An ordered list of field names that rows share.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Keyed hash of the names, see [`KeyHasher::shape`].
    pub hash: u128,
    /// Index of the first name in [`Batch::fields`].
    pub fields_start: u32,
    /// Number of names.
    pub fields_count: u32,
}

/// A row that was not stored: where it stood and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reject {
    /// Line or element of the request, counted from 1.
    pub line: u32,
    /// Which part is at fault ("timestamp", "value", "tag", a field's name).
    pub field: Cow<'static, str>,
    /// What is wrong with it, for a person.
    pub reason: String,
}

/// The reusable memory of a batch: a connection keeps one and nothing is allocated per request.
#[derive(Debug, Default)]
pub struct BatchBuffers {
    scratch: Vec<u8>,
    shapes: Vec<Shape>,
    fields: Vec<Span>,
    rows: Vec<Row>,
    cells: Vec<Cell>,
}

impl BatchBuffers {
    /// Memory that they hold.
    pub fn memory_bytes(&self) -> usize {
        self.scratch.capacity()
            + self.shapes.capacity() * size_of::<Shape>()
            + self.fields.capacity() * size_of::<Span>()
            + self.rows.capacity() * size_of::<Row>()
            + self.cells.capacity() * size_of::<Cell>()
    }
}

/// Finds the text of a request's point by its number, from 1.
pub type PointFinder = fn(&[u8], u32) -> Option<&[u8]>;

/// Whether the bytes that were taken for a row's key, its two pieces, are one.
pub type KeyCheck = fn(head: &[u8], tail: &[u8]) -> bool;

/// What one request writes, all in one namespace and one key syntax.
///
/// A decoder fills it row by row: cells first ([`Batch::push_cell`]), then [`Batch::push_row`].
#[derive(Debug)]
pub struct Batch<'a> {
    bytes: &'a [u8],
    namespace: NamespaceId,
    syntax: &'static KeySyntax,
    hasher: KeyHasher,
    cells_done: usize,
    /// Number of the first line of the bytes; 0 where they are no lines.
    first_line: u32,
    /// Finds a point by its number, where the bytes are no lines.
    point: Option<PointFinder>,
    /// How many of the bytes are this batch's own.
    own_bytes: usize,
    /// What unknown keys have to pass, where the decoder did not look at keys.
    key_check: Option<KeyCheck>,
    buffers: BatchBuffers,
}

impl<'a> Batch<'a> {
    /// An empty batch over the request `bytes`, using (and emptying) `buffers`.
    pub fn new(
        bytes: &'a [u8],
        namespace: NamespaceId,
        syntax: &'static KeySyntax,
        secret: KeySecret,
        mut buffers: BatchBuffers,
    ) -> Self {
        buffers.scratch.clear();
        buffers.shapes.clear();
        buffers.fields.clear();
        buffers.rows.clear();
        buffers.cells.clear();
        let hasher = KeyHasher::new(secret, namespace, syntax);
        let (cells_done, first_line, own_bytes) = (0, 0, bytes.len());
        let (point, key_check) = (None, None);
        Self {
            bytes,
            namespace,
            syntax,
            hasher,
            cells_done,
            first_line,
            point,
            own_bytes,
            key_check,
            buffers,
        }
    }

    /// Gives the memory back for the next batch.
    pub fn into_buffers(self) -> BatchBuffers {
        self.buffers
    }

    /// The namespace that the rows belong to.
    pub fn namespace(&self) -> NamespaceId {
        self.namespace
    }

    /// The syntax of the rows' keys.
    pub fn syntax(&self) -> &'static KeySyntax {
        self.syntax
    }

    /// The hasher of this batch's keys and shapes.
    pub fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }

    /// The request's bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Says that the bytes are lines, of which the first has this number.
    pub fn number_lines(&mut self, first: u32) {
        self.first_line = first;
    }

    /// Says how points are found by their numbers, where the bytes are no lines.
    pub fn find_points_by(&mut self, point: PointFinder) {
        self.point = Some(point);
    }

    /// Says that the decoder has taken bytes for keys by where they stand, without a look at them.
    /// Whoever stores the batch holds those that it does not know against `check`, and stores
    /// nothing of the batch when one of them does not pass. A key that is known was one before.
    pub fn check_unknown_keys_by(&mut self, check: KeyCheck) {
        self.key_check = Some(check);
    }

    /// Whether the decoder did not look at keys.
    pub fn has_unread_keys(&self) -> bool {
        self.key_check.is_some()
    }

    /// Whether what was taken for the key of a row is one, as far as its decoder did not see to it.
    pub fn has_key(&self, row: &Row) -> bool {
        let (head, tail) = (self.slice(row.key_head), self.slice(row.key_tail));
        self.key_check.is_none_or(|check| check(head, tail))
    }

    /// Says how many of the bytes are this batch's own, where other batches are made of the same
    /// request: of all batches together each byte is one's own.
    pub fn own(&mut self, bytes: usize) {
        self.own_bytes = bytes;
    }

    /// How many of the request's bytes are this batch's own.
    pub fn own_bytes(&self) -> usize {
        self.own_bytes
    }

    /// The line or the point of this number; nothing where it is none of them.
    pub fn line(&self, number: u32) -> Option<&'a [u8]> {
        if let Some(point) = self.point {
            return point(self.bytes, number);
        }
        let behind = number.checked_sub(self.first_line).filter(|_| self.first_line > 0)?;
        self.bytes.split(|byte| *byte == b'\n').nth(behind as usize)
    }

    /// The bytes of a span; empty when it lies outside.
    #[inline]
    pub fn slice(&self, span: Span) -> &[u8] {
        let (from, offset) = match span.offset & Span::SCRATCH {
            0 => (self.bytes, span.offset as usize),
            _ => (&self.buffers.scratch[..], (span.offset ^ Span::SCRATCH) as usize),
        };
        from.get(offset..offset + span.length as usize).unwrap_or_default()
    }

    /// Appends bytes that do not stand in the request (unescaped text, packed keys) to the scratch.
    pub fn push_scratch(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Span {
        let start = self.buffers.scratch.len();
        write(&mut self.buffers.scratch);
        let length = (self.buffers.scratch.len() - start) as u32;
        Span { offset: start as u32 | Span::SCRATCH, length }
    }

    /// Starts a new shape with the given field names and returns its index. Decoders compare a
    /// row's names with the previous shape first, so that this is rare.
    pub fn push_shape(&mut self, fields: &[Span]) -> u32 {
        let hash = self.hasher.shape(fields.iter().map(|&span| self.slice(span)));
        let fields_start = self.buffers.fields.len() as u32;
        self.buffers.fields.extend_from_slice(fields);
        let fields_count = fields.len() as u32;
        self.buffers.shapes.push(Shape { hash, fields_start, fields_count });
        self.buffers.shapes.len() as u32 - 1
    }

    /// Adds a cell to the row under construction.
    #[inline]
    pub fn push_cell(&mut self, cell: Cell) {
        self.buffers.cells.push(cell);
    }

    /// Puts `cell` in the place of the row's cell number `index`: the field occurs again, and the
    /// last value wins. An index that has no cell yet changes nothing.
    pub fn replace_cell(&mut self, index: usize, cell: Cell) {
        if let Some(place) = self.buffers.cells.get_mut(self.cells_done + index) {
            *place = cell;
        }
    }

    /// Forgets the cells of the row under construction: the row was bad.
    pub fn discard_cells(&mut self) {
        self.buffers.cells.truncate(self.cells_done);
    }

    /// Number of cells of the row under construction.
    pub fn pending_cells(&self) -> usize {
        self.buffers.cells.len() - self.cells_done
    }

    /// Ends the row under construction. Returns false, and discards the cells, when their number is
    /// not the shape's.
    #[inline]
    pub fn push_row(&mut self, key: [Span; 2], time_ns: i64, shape: u32, line: u32) -> bool {
        let [key_head, key_tail] = key;
        let key_hash = self.hasher.key(self.slice(key_head), self.slice(key_tail));
        self.push_hashed_row(key_hash, key, time_ns, shape, line)
    }

    /// The same for a key whose hash is known already, perhaps of another spelling: one hash must
    /// never stand for two keys.
    #[inline]
    pub fn push_hashed_row(
        &mut self,
        key_hash: u128,
        [key_head, key_tail]: [Span; 2],
        time_ns: i64,
        shape: u32,
        line: u32,
    ) -> bool {
        let fields = self.buffers.shapes.get(shape as usize).map_or(0, |shape| shape.fields_count);
        if fields == 0 || self.pending_cells() != fields as usize {
            self.discard_cells();
            return false;
        }
        let cells_start = self.cells_done as u32;
        self.buffers.rows.push(Row {
            key_hash,
            key_head,
            key_tail,
            time_ns,
            shape,
            cells_start,
            line,
        });
        self.cells_done = self.buffers.cells.len();
        true
    }

    /// Keeps the rows for whose index `wants` says yes. The cells of others stay where they are.
    pub fn retain_rows(&mut self, mut wants: impl FnMut(usize) -> bool) {
        let mut index = 0;
        self.buffers.rows.retain(|_| {
            index += 1;
            wants(index - 1)
        });
    }

    /// All rows.
    pub fn rows(&self) -> &[Row] {
        &self.buffers.rows
    }

    /// All shapes.
    pub fn shapes(&self) -> &[Shape] {
        &self.buffers.shapes
    }

    /// The shape numbered `index`.
    pub fn shape(&self, index: u32) -> Option<&Shape> {
        self.buffers.shapes.get(index as usize)
    }

    /// The raw field names of a shape.
    pub fn fields(&self, shape: &Shape) -> &[Span] {
        let start = shape.fields_start as usize;
        self.buffers.fields.get(start..start + shape.fields_count as usize).unwrap_or_default()
    }

    /// The cells of a row with `count` fields.
    #[inline]
    pub fn cells(&self, row: &Row, count: u32) -> &[Cell] {
        let start = row.cells_start as usize;
        self.buffers.cells.get(start..start + count as usize).unwrap_or_default()
    }

    /// Number of samples in all rows.
    pub fn samples(&self) -> usize {
        self.cells_done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KeyError, KeyParts};

    static SYNTAX: KeySyntax =
        KeySyntax { id: 200, name: "test", parse: parse_nothing, parse_field: copy_field };
    fn parse_nothing(_: &[u8], _: &[u8], _: &mut KeyParts) -> Result<(), KeyError> {
        Ok(())
    }
    fn copy_field(raw: &[u8], out: &mut Vec<u8>) -> Result<(), KeyError> {
        out.extend_from_slice(raw);
        Ok(())
    }

    #[test]
    fn lines_are_found_by_their_numbers() {
        let mut batch = Batch::new(b"a\nb b\nc", 0, &SYNTAX, KeySecret(7), Default::default());
        assert_eq!(batch.line(1), None, "nobody said that these are lines");
        batch.number_lines(7);
        let lines = [6, 7, 8, 9, 10].map(|number| batch.line(number));
        assert_eq!(lines, [None, Some(&b"a"[..]), Some(b"b b"), Some(b"c"), None]);
    }

    #[test]
    fn rows_need_as_many_cells_as_their_shape_has_fields() {
        let mut batch = Batch::new(b"m a=1,b=2", 0, &SYNTAX, KeySecret(7), Default::default());
        let shape = batch.push_shape(&[Span::new(2, 3), Span::new(6, 7)]);
        let key = [Span::default(), Span::new(0, 1)];
        batch.push_cell(Cell::integer(1));
        assert!(!batch.push_row(key, 5, shape, 1));
        batch.push_cell(Cell::integer(1));
        batch.push_cell(Cell::integer(2));
        assert!(batch.push_row(key, 5, shape, 2));
        assert_eq!((batch.rows().len(), batch.samples()), (1, 2));
        let row = batch.rows()[0];
        assert_eq!(batch.cells(&row, 2), [Cell::integer(1), Cell::integer(2)]);
        assert_eq!(batch.slice(batch.fields(&batch.shapes()[0])[1]), b"b");
        let scratch = batch.push_scratch(|out| out.extend_from_slice(b"xyz"));
        assert_eq!(batch.slice(scratch), b"xyz");
        let text = Cell::bytes(crate::Kind::String, scratch);
        assert_eq!(batch.slice(text.span()), b"xyz");
    }
}
