//! Line protocol to batches, in place.
//!
//! A line is walked once: its key is everything before the first plain space and is not looked into
//! (see [`crate::LINE_SYNTAX`]); field names are compared with those of the lines before
//! ([`shapes`]); values become cells ([`number`]); nothing is allocated. Only a line that fails is
//! looked at twice, to find its end as InfluxDB would and to word the reject.

mod cursor;
pub(crate) mod lines;
mod number;
mod shapes;

pub use lines::is_whole_line;

use crate::fault::Fault;
use crate::key::{check_key, plain_measurement};
use crate::precision::Precision;
use cursor::Cursor;
use foliot_model::{Batch, FIELDS_MAX, Reject, Span};
use memchr::memrchr;
use number::plain_number;
use shapes::{Ended, Node, ROOT, Role, Shapes, Step, slice};
use std::borrow::Cow;

/// Most bytes of a key: measurement and tags, and together with a field's name (and four bytes that
/// InfluxDB keeps between them).
pub const KEY_BYTES_MAX: usize = 65_535;

/// Most bytes of a string value, counted as it stands in the line.
pub const STRING_BYTES_MAX: usize = 65_536;

/// At most so many rejects are worded per request; the others are counted.
const REJECTS_MAX: usize = 100;

/// Bytes between key and field name in InfluxDB's files, which count towards [`KEY_BYTES_MAX`].
const KEY_SEPARATOR_BYTES: usize = 4;

/// What holds for all lines of a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// Unit of the timestamps.
    pub precision: Precision,
    /// Time of a line without timestamp, in nanoseconds; cut to the precision.
    pub now_ns: i64,
    /// Number of the first line, counted from 1 (0 counts as 1).
    pub first_line: u32,
    /// Whether more bytes will come: then a line without its end is left unread.
    pub is_partial: bool,
}

/// How a request was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// Bytes read: all of them, unless the request is partial.
    pub bytes: usize,
    /// Number of the line behind the last one read.
    pub next_line: u32,
    /// Lines refused, including those that found no place among the rejects.
    pub refused: usize,
}

/// Reads lines into batches. Keep one per connection or worker: its memory is reused.
#[derive(Debug, Default)]
pub struct Decoder {
    shapes: Shapes,
}

impl Decoder {
    /// Memory that it holds.
    pub fn memory_bytes(&self) -> usize {
        self.shapes.memory_bytes()
    }

    /// Reads all lines of the batch's bytes into rows of the batch. Good lines become rows whatever
    /// stands beside them; a bad line becomes a reject (at most a hundred of them are kept) whose
    /// reason is the plain fault, for [`crate::answer`] to dress.
    ///
    /// The batch must have been made with [`crate::LINE_SYNTAX`] or one of its siblings.
    pub fn decode(
        &mut self,
        batch: &mut Batch<'_>,
        settings: Settings,
        rejects: &mut Vec<Reject>,
    ) -> Decoded {
        let syntaxes =
            [crate::LINE_SYNTAX.id, crate::TICKTOCK_LINE_SYNTAX.id, crate::EXACT_LINE_SYNTAX.id];
        debug_assert!(syntaxes.contains(&batch.syntax().id));
        debug_assert!(batch.bytes().len() < Span::SCRATCH as usize, "spans reach 2 GiB far");
        self.shapes.begin();
        let room = rejects.len() + REJECTS_MAX;
        let now_ns = settings.precision.cut(settings.now_ns);
        let settings = Settings { now_ns, ..settings };
        let mut bytes = batch.bytes();
        if settings.is_partial {
            bytes = bytes.get(..memrchr(b'\n', bytes).map_or(0, |at| at + 1)).unwrap_or_default();
        }
        let first_line = settings.first_line.max(1);
        batch.number_lines(first_line);
        let mut cursor = Cursor::new(bytes, first_line);
        let mut refused = 0;
        while cursor.skip_to_row() {
            let start = cursor.at;
            if let Err(fault) = self.row(&mut cursor, batch, &settings) {
                batch.discard_cells();
                let end = lines::end(bytes, start);
                if settings.is_partial && end == bytes.len() {
                    cursor.at = start;
                    break;
                }
                refused += 1;
                if rejects.len() < room {
                    rejects.push(reject(&cursor, start, end, fault));
                }
                cursor.skip_to_line_behind(start, end);
            }
            cursor.line += 1 + std::mem::take(&mut cursor.newlines_inside);
        }
        Decoded { bytes: cursor.at, next_line: cursor.line, refused }
    }

    /// Reads one line, from its first byte to behind its newline.
    #[inline]
    fn row(
        &mut self,
        cursor: &mut Cursor<'_>,
        batch: &mut Batch<'_>,
        settings: &Settings,
    ) -> Result<(), Fault> {
        let key = cursor.key()?;
        cursor.skip_blanks();
        let before_fields = cursor.clone();
        self.shapes.start_row();
        let mut node = self.fields(cursor, batch)?;
        if key.length as usize + KEY_SEPARATOR_BYTES + self.shapes.name_bytes_max() > KEY_BYTES_MAX
        {
            self.check_key_bytes(key, node)?;
        }
        let shape = loop {
            match self.shapes.end_row(batch, node) {
                Ended::Shape(shape) => break shape,
                Ended::Nothing => {
                    cursor.time(settings)?;
                    return Err(Fault::OnlyTimeField);
                }
                Ended::Again => {
                    batch.discard_cells();
                    *cursor = before_fields.clone();
                    node = self.fields(cursor, batch)?;
                }
            }
        };
        let time_ns = cursor.time(settings)?;
        let is_row = batch.push_row([Span::default(), key], time_ns, shape, cursor.line);
        debug_assert!(is_row, "a row has as many cells as its path has fields to push");
        Ok(())
    }

    /// Reads all fields; returns the node of the last one.
    #[inline]
    fn fields(&mut self, cursor: &mut Cursor<'_>, batch: &mut Batch<'_>) -> Result<Node, Fault> {
        let (bytes, mut at, mut node) = (cursor.bytes, cursor.at, ROOT);
        for _ in 0..FIELDS_MAX {
            // Most fields are known ones that hold numbers.
            let known = self.shapes.step(bytes, node, at);
            let to_push = known.filter(|step| step.role == Role::Push);
            let number =
                to_push.and_then(|step| plain_number(bytes, at + step.length as usize + 1));
            if let (Some(step), Some((cell, end))) = (known, number) {
                batch.push_cell(cell);
                (node, at) = (step.node, end);
            } else {
                cursor.at = at;
                node = self.field(cursor, batch, node, known)?;
                at = cursor.at;
            }
            match bytes.get(at) {
                Some(b',') => at += 1,
                _ => {
                    cursor.at = at;
                    return Ok(node);
                }
            }
        }
        Err(Fault::TooManyFields)
    }

    /// Reads any field, the one behind that of `node`, whose name may be known; returns its node.
    #[inline(never)]
    fn field(
        &mut self,
        cursor: &mut Cursor<'_>,
        batch: &mut Batch<'_>,
        node: Node,
        known: Option<Step>,
    ) -> Result<Node, Fault> {
        let step = match known {
            Some(known) => known,
            None => {
                let name = cursor.field_name()?;
                let new = self.shapes.learn(node, slice(cursor.bytes, name));
                self.shapes.step_to(new)
            }
        };
        let name_end = cursor.at + step.length as usize;
        cursor.field = Span::new(cursor.at, name_end);
        cursor.at = name_end + 1;
        let cell = cursor.value(batch)?;
        match step.role {
            Role::Push => batch.push_cell(cell),
            Role::Replace(index) => batch.replace_cell(index as usize, cell),
            Role::Drop => {}
        }
        Ok(step.node)
    }

    /// Checks that the key fits together with each name of the row that ends at `node`.
    #[cold]
    fn check_key_bytes(&self, key: Span, node: Node) -> Result<(), Fault> {
        let key_bytes = key.length as usize + KEY_SEPARATOR_BYTES;
        match self
            .shapes
            .names_above(node)
            .any(|name| key_bytes + name.length as usize > KEY_BYTES_MAX)
        {
            true => Err(Fault::KeyTooLong),
            false => Ok(()),
        }
    }
}

/// Words the reject of the line from `start` to `end`; the cursor stands where reading failed.
#[cold]
fn reject(cursor: &Cursor<'_>, start: usize, end: usize, fault: Fault) -> Reject {
    let slice = |from, to| cursor.bytes.get(from..to).unwrap_or_default();
    // A key that is bad is what InfluxDB complains about first, so the key is read again, up to the
    // space behind it.
    let mut again = Cursor::new(slice(0, end), 1);
    again.at = start;
    let key =
        again.key().map_or(slice(start, end), |key| slice(start, start + key.length as usize));
    let fault = check_key(key).err().unwrap_or(fault);
    let field = match fault.is_value() {
        true => Cow::Owned(
            String::from_utf8_lossy(self::slice(cursor.bytes, cursor.field)).into_owned(),
        ),
        false => Cow::Borrowed(fault.part()),
    };
    let text = match fault {
        Fault::OnlyTimeField => plain_measurement(key),
        _ => {
            let is_number = |byte: &&u8| matches!(byte, b'-' | b'0'..=b'9');
            slice(cursor.at, end).iter().take_while(is_number).copied().collect()
        }
    };
    Reject { line: cursor.line, field, reason: fault.reason(&String::from_utf8_lossy(&text)) }
}

#[cfg(test)]
mod tests;
