//! Kinds of fields: InfluxDB gives each field of a measurement one kind for ever, and so do the
//! doors that take its lines. Doors of put lines keep a kind per sample: what they write is read as
//! floats where one kind is wanted.
//!
//! ```text
//! field   namespace NUL length of measurement NUL measurement field -> kind u8
//! ```
//!
//! Numbers in keys are decimal. The table is the catalog itself, a fact for each field, so that a
//! new field costs the same however many there are. What shapes of lines came to is remembered: one
//! look-up for each measurement of a batch, and a comparison a row.

mod judged;

pub use judged::JudgedKinds;

use foliot_engine::{Engine, Error, FEW_SERIES_MAX, FIELDS_MAX, Listed};
use foliot_lock::{Mutex, Rank, RwLock, RwLockReadGuard};
use foliot_model::{
    Batch, DEFAULT_FIELD, KeyParts, Kind, Name, NamespaceId, Reject, Row, Selector, Span, Test,
};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

const KIND: &str = "field";

/// Shapes of lines that are remembered; more are looked up again.
const REMEMBERED_MAX: usize = 1 << 16;

/// Columns of all remembered shapes together, a byte each.
const REMEMBERED_COLUMNS_MAX: usize = 1 << 22;

/// Decides and remembers the kinds of fields.
#[derive(Debug)]
pub struct Kinds {
    /// Held while rows are on their way whose kinds were looked at.
    kept: RwLock<()>,
    /// Held while the kind of a new field is decided.
    deciding: Mutex<()>,
    remembered: RwLock<Remembered>,
}

impl Default for Kinds {
    fn default() -> Self {
        Self {
            kept: RwLock::new(Rank::KindsKept, ()),
            deciding: Mutex::new(Rank::Kinds, ()),
            remembered: RwLock::new(Rank::Table, Remembered::default()),
        }
    }
}

/// The kinds that the fields of one shape have in one measurement, in the shape's order.
type Columns = Arc<[Kind]>;

/// Columns by the hashes of measurement, as it is written, and shape.
#[derive(Debug, Default)]
struct Remembered {
    columns: HashMap<(u128, u128), Columns>,
    /// Columns of all of them.
    count: usize,
    /// How often everything was forgotten: what was looked up before must not be remembered after.
    forgotten: u64,
}

impl Remembered {
    fn remember(&mut self, place: (u128, u128), columns: Columns) {
        if self.columns.len() >= REMEMBERED_MAX || self.count >= REMEMBERED_COLUMNS_MAX {
            self.columns.clear();
            self.count = 0;
        }
        self.count += columns.len();
        self.columns.insert(place, columns);
    }

    fn forget(&mut self) {
        self.columns.clear();
        self.count = 0;
        self.forgotten += 1;
    }
}

/// How a door takes the values of its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// A field is of the kind of its first value.
    Strict,
    /// A field of numbers takes numbers of every kind, and a new one is of floats.
    Loose,
    /// A field of numbers takes numbers of every kind, and a new one is of the kind of its first
    /// value: samples that were read from a store come back as they were, those of put lines, too.
    Kept,
}

impl Manner {
    /// Whether a field of one kind takes a value of another.
    fn takes(self, field: Kind, value: Kind) -> bool {
        field == value || self != Self::Strict && is_number(field) && is_number(value)
    }
}

const fn is_number(kind: Kind) -> bool {
    matches!(kind, Kind::Float | Kind::Integer | Kind::Unsigned)
}

impl Kinds {
    /// The kind of a field. One that nobody declared holds numbers of put lines.
    pub fn of(engine: &Engine, namespace: NamespaceId, measurement: &str, field: &str) -> Kind {
        declared(engine, namespace, measurement, field).unwrap_or(Kind::Float)
    }

    /// The kind that was declared for a field; nothing where no line decided it yet.
    pub fn declared(
        engine: &Engine,
        namespace: NamespaceId,
        measurement: &str,
        field: &str,
    ) -> Option<Kind> {
        declared(engine, namespace, measurement, field)
    }

    /// Keeps all kinds as they are for as long as this is held: from before rows are checked until
    /// they are written, so that nobody forgets in between what they were found to be.
    pub fn keep(&self) -> RwLockReadGuard<'_, ()> {
        self.kept.read()
    }

    /// Forgets a measurement that was dropped: its next line decides anew. Fields that have series
    /// again, by a line that came meanwhile, keep their kinds.
    ///
    /// # Errors
    /// When the store cannot take it.
    pub fn forget(
        &self,
        engine: &Engine,
        namespace: NamespaceId,
        measurement: &str,
    ) -> Result<(), Error> {
        // What is stored in files is looked for before anybody is kept waiting.
        let stored = stored_fields(engine, namespace, measurement, Test::Any, usize::MAX)?;
        let stored: HashSet<String> = stored.into_iter().collect();
        let _nobody_writes = self.kept.write();
        self.forget_keys(engine, &prefix(namespace, measurement), |field| {
            !stored.contains(field) && !engine.has_new_series(namespace, measurement, field)
        })
    }

    /// Forgets all measurements of a namespace that was dropped.
    ///
    /// # Errors
    /// When the store cannot take it.
    pub fn forget_all(&self, engine: &Engine, namespace: NamespaceId) -> Result<(), Error> {
        self.forget_keys(engine, &format!("{namespace}\0"), |_| true)
    }

    /// Forgets what begins so, as far as `may_go` says so of the rest.
    fn forget_keys(
        &self,
        engine: &Engine,
        prefix: &str,
        may_go: impl Fn(&str) -> bool,
    ) -> Result<(), Error> {
        let _one_at_a_time = self.deciding.lock();
        for (key, _) in engine.catalog_list_from(KIND, prefix) {
            if may_go(key.strip_prefix(prefix).unwrap_or_default()) {
                engine.catalog_delete(KIND, &key)?;
            }
        }
        self.forget_remembered();
        Ok(())
    }

    fn forget_remembered(&self) {
        self.remembered.write().forget();
    }

    /// Has a field go on as the default field of a measurement.
    ///
    /// # Errors
    /// When the store cannot take it.
    pub fn rename(
        &self,
        engine: &Engine,
        namespace: NamespaceId,
        (measurement, field): (&str, &str),
        to: &str,
    ) -> Result<(), Error> {
        // As above.
        let stored = stored_fields(engine, namespace, measurement, Test::equal(field), 1)?;
        let _nobody_writes = self.kept.write();
        let _one_at_a_time = self.deciding.lock();
        let Some(kind) = declared(engine, namespace, measurement, field) else { return Ok(()) };
        if declared(engine, namespace, to, DEFAULT_FIELD).is_none() {
            declare(engine, namespace, to, DEFAULT_FIELD, kind)?;
        }
        // A line that came meanwhile may have it again under the old name.
        if stored.is_empty() && !engine.has_new_series(namespace, measurement, field) {
            engine.catalog_delete(KIND, &key(namespace, measurement, field))?;
        }
        self.forget_remembered();
        Ok(())
    }

    /// Declares the fields of those rows of a batch of lines that the store takes, takes rows out
    /// of it whose values their fields do not take, and says so in `rejects`, each by the name of
    /// its field.
    ///
    /// # Errors
    /// When the store takes nothing at all.
    pub fn check(
        &self,
        engine: &Engine,
        batch: &mut Batch<'_>,
        manner: Manner,
        rejects: &mut Vec<Reject>,
    ) -> Result<(), Error> {
        let found = self.find(engine, batch, manner)?;
        if !found.is_empty() {
            let lines: Vec<usize> = found.iter().map(|(index, _)| *index).collect();
            batch.retain_rows(|index| lines.binary_search(&index).is_err());
            rejects.extend(found.into_iter().map(|(_, reject)| reject));
        }
        Ok(())
    }

    /// Declares the fields of histograms that the store takes, whatever the syntax of their keys.
    ///
    /// # Errors
    /// When the store cannot take new fields.
    pub fn note_histograms(&self, engine: &Engine, batch: &Batch<'_>) -> Result<(), Error> {
        let (mut parts, mut field) = (KeyParts::default(), Vec::new());
        let mut noted = 0;
        for row in batch.rows() {
            let (head, tail) = (batch.slice(row.key_head), batch.slice(row.key_tail));
            parts.clear();
            // A key that cannot be read is refused by the store, in better words.
            let Ok(()) = (batch.syntax().parse)(head, tail, &mut parts) else { continue };
            let measurement = String::from_utf8_lossy(parts.measurement());
            for span in fields_of(batch, row) {
                field.clear();
                let name = plain(batch, batch.slice(*span), &mut field);
                let is_new = declared(engine, batch.namespace(), &measurement, &name).is_none();
                if is_new && engine.would_take(batch, row, noted + 1)? {
                    let _one_at_a_time = self.deciding.lock();
                    declare(engine, batch.namespace(), &measurement, &name, Kind::Histogram)?;
                    noted += 1;
                }
            }
        }
        Ok(())
    }

    /// The rows that are in conflict, by index.
    fn find(
        &self,
        engine: &Engine,
        batch: &Batch<'_>,
        manner: Manner,
    ) -> Result<Vec<(usize, Reject)>, Error> {
        let mut walk = Walk::new(self, engine, batch, manner);
        let mut found = Vec::new();
        for (index, row) in batch.rows().iter().enumerate() {
            let (measurement, columns) = walk.columns(row)?;
            let cells = batch.cells(row, columns.len() as u32);
            let mut pairs = cells.iter().zip(columns);
            // Mostly all are what they are to be.
            if pairs.clone().fold(true, |are, (cell, kind)| are & (cell.kind == *kind)) {
                continue;
            }
            if let Some(column) = pairs.position(|(cell, kind)| !manner.takes(*kind, cell.kind)) {
                found.push((index, conflict_of(batch, row, measurement, columns, column)));
            }
        }
        Ok(found)
    }

    /// What is remembered of a shape in a measurement, as it is written; otherwise how often
    /// everything was forgotten until now.
    fn recall(&self, place: (u128, u128)) -> Result<Columns, u64> {
        let remembered = self.remembered.read();
        remembered.columns.get(&place).cloned().ok_or(remembered.forgotten)
    }

    /// Remembers it, unless something was forgotten since it was looked up.
    fn remember(&self, place: (u128, u128), columns: &Columns, forgotten: u64) {
        let mut remembered = self.remembered.write();
        if remembered.forgotten == forgotten {
            remembered.remember(place, columns.clone());
        }
    }
}

/// The kinds of a row's fields.
struct Decided {
    columns: Columns,
    /// How many of them were declared for this row; nothing where some are not: the row is refused,
    /// and says nothing of those behind it.
    new: Option<usize>,
}

/// Goes through the rows of a batch of lines, most of which are of the measurement and shape of the
/// row before.
struct Walk<'w, 'b> {
    kinds: &'w Kinds,
    engine: &'w Engine,
    batch: &'w Batch<'b>,
    manner: Manner,
    known: HashMap<(&'w [u8], u32), Columns>,
    last: Option<Last<'w>>,
    /// The kinds of the fields of a row that is refused.
    refused: Columns,
    /// Fields that rows before declared: their series are not made yet, and take room.
    new: usize,
}

/// What the row before was of. It is known for later rows once another one has come: most batches
/// are of one measurement and shape, and a small one is read before a table would be made.
struct Last<'w> {
    measurement: &'w [u8],
    shape: u32,
    columns: Columns,
    is_known: bool,
}

impl<'w, 'b> Walk<'w, 'b> {
    fn new(kinds: &'w Kinds, engine: &'w Engine, batch: &'w Batch<'b>, manner: Manner) -> Self {
        let (known, refused) = (HashMap::new(), Columns::default());
        Self { kinds, engine, batch, manner, known, last: None, refused, new: 0 }
    }

    /// A row's measurement, as it is written, and the kinds of its fields.
    fn columns(&mut self, row: &Row) -> Result<(&'w [u8], &[Kind]), Error> {
        let line_key = self.batch.slice(row.key_tail);
        let is_like_last = self
            .last
            .as_ref()
            .is_some_and(|last| last.shape == row.shape && begins_with(line_key, last.measurement));
        if !is_like_last && let Some(refused) = self.turn_to(row, line_key)? {
            self.refused = refused;
            return Ok((raw_measurement(line_key), &self.refused));
        }
        let last = self.last.as_ref();
        Ok(last.map_or((&[], &[]), |last| (last.measurement, &*last.columns)))
    }

    /// Makes the measurement and shape of a row the last ones. The kinds of its fields are returned
    /// where it is going to be refused, and nothing is known of its shape then.
    fn turn_to(&mut self, row: &Row, line_key: &'w [u8]) -> Result<Option<Columns>, Error> {
        if let Some(last) = self.last.take().filter(|last| !last.is_known) {
            self.known.insert((last.measurement, last.shape), last.columns);
        }
        let (measurement, shape) = (raw_measurement(line_key), row.shape);
        let known = self.known.get(&(measurement, shape)).cloned();
        let is_known = known.is_some();
        let columns = match known {
            Some(columns) => columns,
            None => {
                let Decided { columns, new } = self.look(row, measurement)?;
                let Some(new) = new else { return Ok(Some(columns)) };
                self.new += new;
                columns
            }
        };
        self.last = Some(Last { measurement, shape, columns, is_known });
        Ok(None)
    }

    /// The kinds of the fields of a row's shape in a measurement, as it is written; fields without
    /// one get that of this row. A row with more fields than the store takes has none: the store
    /// refuses it.
    fn look(&self, row: &Row, measurement: &[u8]) -> Result<Decided, Error> {
        let shape_hash = self.batch.shape(row.shape).map_or(0, |shape| shape.hash);
        let place = (self.batch.hasher().key(&[], measurement), shape_hash);
        let forgotten = match self.kinds.recall(place) {
            Ok(columns) => return Ok(Decided { columns, new: Some(0) }),
            Err(forgotten) => forgotten,
        };
        let fields = fields_of(self.batch, row).len();
        if fields > FIELDS_MAX {
            return Ok(Decided { columns: Columns::default(), new: None });
        }
        let mut decided = Ok(Decided { columns: Columns::default(), new: None });
        let mut decide = || decided = self.decide(row, measurement);
        match fields <= FEW_SERIES_MAX {
            true => decide(),
            false => self.engine.aside(&mut decide),
        }
        let decided = decided?;
        if decided.new.is_some() {
            self.kinds.remember(place, &decided.columns, forgotten);
        }
        Ok(decided)
    }

    /// The kinds of a row's fields. New ones are declared if the row is going to be stored: one
    /// that its fields do not take, or the store does not, leaves nothing behind.
    #[cold]
    fn decide(&self, row: &Row, measurement: &[u8]) -> Result<Decided, Error> {
        let mut scratch = Vec::new();
        let measurement = plain(self.batch, measurement, &mut scratch);
        let cells = self.batch.cells(row, fields_of(self.batch, row).len() as u32);
        let are_taken = |columns: &[Kind]| {
            columns.iter().zip(cells).all(|(kind, cell)| self.manner.takes(*kind, cell.kind))
        };
        let (columns, new) = self.now(row, &measurement)?;
        if new.is_empty() {
            return Ok(Decided { columns, new: Some(0) });
        }
        if !are_taken(&columns) || !self.engine.would_take(self.batch, row, self.new + new.len())? {
            return Ok(Decided { columns, new: None });
        }
        let _one_at_a_time = self.kinds.deciding.lock();
        // Another row may have declared them before this one decides.
        let (columns, new) = self.now(row, &measurement)?;
        if !are_taken(&columns) {
            return Ok(Decided { columns, new: new.is_empty().then_some(0) });
        }
        self.engine.catalog_put_all(KIND, &new)?;
        Ok(Decided { columns, new: Some(new.len()) })
    }

    /// The kinds that a row's fields have or are to have, and facts that declare the latter.
    fn now(&self, row: &Row, measurement: &str) -> Result<(Columns, Vec<Fact>), Error> {
        let (namespace, fields) = (self.batch.namespace(), fields_of(self.batch, row));
        let cells = self.batch.cells(row, fields.len() as u32);
        let mut columns = Vec::with_capacity(fields.len());
        let (mut new, mut scratch) = (Vec::new(), Vec::new());
        for (span, cell) in fields.iter().zip(cells) {
            scratch.clear();
            let field = plain(self.batch, self.batch.slice(*span), &mut scratch);
            let place = (namespace, measurement, &*field);
            let kind = match declared(self.engine, namespace, measurement, &field) {
                Some(kind) => kind,
                None => {
                    let kind = first_kind(self.engine, place, cell.kind, self.manner)?;
                    new.push((key(namespace, measurement, &field), vec![kind as u8]));
                    kind
                }
            };
            columns.push(kind);
        }
        Ok((columns.into(), new))
    }
}

/// A fact of the catalog: its key, and what kind it declares.
type Fact = (String, Vec<u8>);

/// The kind that a field was given.
fn declared(
    engine: &Engine,
    namespace: NamespaceId,
    measurement: &str,
    field: &str,
) -> Option<Kind> {
    let fact = engine.catalog_get(KIND, &key(namespace, measurement, field))?;
    fact.first().and_then(|code| Kind::from_code(*code))
}

/// The kind that a field is to have whose first value is of `kind`.
fn first_kind(
    engine: &Engine,
    (namespace, measurement, field): (NamespaceId, &str, &str),
    kind: Kind,
    manner: Manner,
) -> Result<Kind, Error> {
    let is_float = is_number(kind) && manner == Manner::Loose
        || field == DEFAULT_FIELD && is_written(engine, namespace, measurement)?;
    Ok(if is_float { Kind::Float } else { kind })
}

fn declare(
    engine: &Engine,
    namespace: NamespaceId,
    measurement: &str,
    field: &str,
    kind: Kind,
) -> Result<(), Error> {
    engine.catalog_put(KIND, &key(namespace, measurement, field), &[kind as u8]).map(drop)
}

/// Whether put lines have written to a measurement: they declare nothing, and know no other field
/// than the default one.
fn is_written(engine: &Engine, namespace: NamespaceId, measurement: &str) -> Result<bool, Error> {
    let test = Test::equal(DEFAULT_FIELD);
    Ok(!stored_fields(engine, namespace, measurement, test, 1)?.is_empty())
}

/// Fields of a measurement that have series and pass a test, so many at most.
fn stored_fields(
    engine: &Engine,
    namespace: NamespaceId,
    measurement: &str,
    field: Test,
    limit: usize,
) -> Result<Vec<String>, Error> {
    let selector = Selector {
        namespace,
        names: vec![Name { measurement: Test::equal(measurement), field }],
        matchers: Vec::new(),
        exact_labels: None,
        only: None,
    };
    engine.snapshot().list(&Listed::Fields, &selector, "", 0, limit)
}

/// What the keys of a measurement's facts begin with. The length keeps measurements apart whose
/// names hold a NUL.
fn prefix(namespace: NamespaceId, measurement: &str) -> String {
    key(namespace, measurement, "")
}

/// Joined by hand: a question asks for the kinds of all fields that it meets.
fn key(namespace: NamespaceId, measurement: &str, field: &str) -> String {
    let mut key = String::with_capacity(2 * DECIMAL_LEN_MAX + 2 + measurement.len() + field.len());
    push_decimal(&mut key, u64::from(namespace));
    key.push('\0');
    push_decimal(&mut key, measurement.len() as u64);
    key.push('\0');
    key.push_str(measurement);
    key.push_str(field);
    key
}

/// As many digits as a number has at most.
const DECIMAL_LEN_MAX: usize = 20;

fn push_decimal(text: &mut String, number: u64) {
    if number >= 10 {
        push_decimal(text, number / 10);
    }
    text.push(char::from(b'0' + (number % 10) as u8));
}

/// Whether a line's key belongs to this measurement, as it is written.
fn begins_with(line_key: &[u8], measurement: &[u8]) -> bool {
    line_key.starts_with(measurement)
        && matches!(line_key.get(measurement.len()), None | Some(b','))
}

/// A key's measurement as it is written: up to the first comma without a backslash.
fn raw_measurement(line_key: &[u8]) -> &[u8] {
    let mut start = 0;
    while let Some(at) = line_key.get(start..).and_then(|rest| memchr::memchr(b',', rest)) {
        let comma = start + at;
        if comma == 0 || line_key.get(comma - 1) != Some(&b'\\') {
            return line_key.get(..comma).unwrap_or_default();
        }
        start = comma + 1;
    }
    line_key
}

/// A name without the backslashes of its syntax; `scratch` is empty, and used.
fn plain<'t>(batch: &Batch<'_>, raw: &'t [u8], scratch: &'t mut Vec<u8>) -> Cow<'t, str> {
    // Fields and measurements escape the same characters.
    match (batch.syntax().parse_field)(raw, scratch) {
        Ok(()) => String::from_utf8_lossy(scratch),
        Err(_) => String::from_utf8_lossy(raw),
    }
}

/// The names of a row's fields, as they are written.
fn fields_of<'b>(batch: &'b Batch<'_>, row: &Row) -> &'b [Span] {
    batch.shape(row.shape).map_or(&[], |shape| batch.fields(shape))
}

const fn name_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Float => "float",
        Kind::Integer => "integer",
        Kind::Unsigned => "unsigned",
        Kind::Boolean => "boolean",
        Kind::String => "string",
        Kind::Histogram => "histogram",
    }
}

/// The conflict in InfluxDB's words.
#[cold]
fn conflict_of(
    batch: &Batch<'_>,
    row: &Row,
    measurement: &[u8],
    columns: &[Kind],
    column: usize,
) -> Reject {
    let (mut scratch, mut other) = (Vec::new(), Vec::new());
    let name = fields_of(batch, row).get(column).map_or(&[][..], |span| batch.slice(*span));
    let name = plain(batch, name, &mut scratch);
    let cells = batch.cells(row, columns.len() as u32);
    let given = cells.get(column).map_or("", |cell| name_of(cell.kind));
    let known = columns.get(column).map_or("", |kind| name_of(*kind));
    let measurement = plain(batch, measurement, &mut other);
    let reason = format!(
        "field type conflict: input field {name:?} on measurement {measurement:?} is type \
         {given}, already exists as type {known}"
    );
    Reject { line: row.line, field: name.into_owned().into(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_are_found_in_keys() {
        assert_eq!(raw_measurement(b"m,a=b,c=d"), b"m");
        assert_eq!(raw_measurement(b"m\\,x,a=b"), b"m\\,x");
        assert_eq!(raw_measurement(b"m"), b"m");
        assert!(begins_with(b"m,a=b", b"m") && begins_with(b"m", b"m"));
        assert!(!begins_with(b"mm,a=b", b"m") && !begins_with(b"m\\,x,a=b", b"m"));
    }
}
