//! Two small key syntaxes, rows in plain words, and a naive registry to compare with.

use foliot_index::{Registered, Registry, Segment, Terms, write_segment};
use foliot_model::{
    Batch, BatchBuffers, Cell, KeyError, KeyParts, KeySecret, KeySyntax, Reject, Selector, Span,
};
use std::collections::BTreeMap;

/// `m,a=1,b=2`
pub(crate) static COMMAS: KeySyntax =
    KeySyntax { id: 201, name: "commas", parse: parse_commas, parse_field: copy_field };
/// `m b:2 a:1`
pub(crate) static SPACES: KeySyntax =
    KeySyntax { id: 202, name: "spaces", parse: parse_spaces, parse_field: copy_field };

fn parse_commas(_: &[u8], tail: &[u8], parts: &mut KeyParts) -> Result<(), KeyError> {
    parse(tail, b',', b'=', parts)
}

fn parse_spaces(_: &[u8], tail: &[u8], parts: &mut KeyParts) -> Result<(), KeyError> {
    parse(tail, b' ', b':', parts)
}

fn parse(bytes: &[u8], between: u8, inside: u8, parts: &mut KeyParts) -> Result<(), KeyError> {
    let mut pieces = bytes.split(|&byte| byte == between);
    let measurement = pieces.next().unwrap_or_default();
    parts.set_measurement(|out| out.extend_from_slice(measurement));
    for piece in pieces {
        let Some(at) = piece.iter().position(|&byte| byte == inside) else {
            return Err(KeyError { field: "tag", reason: "no value".to_owned() });
        };
        let (name, value) = piece.split_at(at);
        parts.push_label(
            |out| out.extend_from_slice(name),
            |out| out.extend_from_slice(&value[1..]),
        );
    }
    Ok(())
}

fn copy_field(raw: &[u8], out: &mut Vec<u8>) -> Result<(), KeyError> {
    out.extend_from_slice(raw);
    Ok(())
}

pub(crate) const SECRET: u64 = 77;

/// The bytes of the segment of a registry.
pub(crate) fn segment_bytes(registry: &Registry) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut keep = |piece: &[u8]| {
        bytes.extend_from_slice(piece);
        Ok::<(), std::convert::Infallible>(())
    };
    let Ok(()) = write_segment(registry, SECRET, &mut keep);
    bytes
}

/// Opens a segment whose bytes are in memory.
pub(crate) fn open_segment(bytes: Vec<u8>) -> Result<Segment, foliot_index::Error> {
    let len = bytes.len() as u64;
    let read = move |at: u64, len: usize, out: &mut Vec<u8>| {
        let start = usize::try_from(at).unwrap_or(usize::MAX);
        let found = start.checked_add(len).and_then(|end| bytes.get(start..end));
        let found = found.ok_or_else(|| foliot_index::Error::Read("past the end".into()))?;
        out.extend_from_slice(found);
        Ok(())
    };
    Segment::open(Box::new(read), len, SECRET)
}

/// The segment of a registry.
pub(crate) fn segment_of(registry: &Registry) -> Segment {
    open_segment(segment_bytes(registry)).unwrap()
}

/// A row as raw key and field names.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) key: String,
    pub(crate) fields: Vec<String>,
}

impl Line {
    pub(crate) fn new(key: &str, fields: &[&str]) -> Self {
        Self { key: key.to_owned(), fields: fields.iter().map(|&f| f.to_owned()).collect() }
    }
}

/// Calls `with` on a batch of `lines`.
pub(crate) fn with_batch<T>(
    syntax: &'static KeySyntax,
    namespace: u32,
    lines: &[Line],
    with: impl FnOnce(&Batch<'_>) -> T,
) -> T {
    let mut batch = Batch::new(b"", namespace, syntax, KeySecret(7), BatchBuffers::default());
    for (index, line) in lines.iter().enumerate() {
        let mut scratch = |text: &str| batch.push_scratch(|out| out.extend(text.as_bytes()));
        let key = scratch(&line.key);
        let fields: Vec<Span> = line.fields.iter().map(|field| scratch(field)).collect();
        let shape = batch.push_shape(&fields);
        fields.iter().for_each(|_| batch.push_cell(Cell::integer(1)));
        assert!(batch.push_row([Span::default(), key], 0, shape, index as u32 + 1));
    }
    with(&batch)
}

/// What writing came to.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// Series of each line, in field order; empty when rejected.
    pub(crate) sids: Vec<Vec<u32>>,
    pub(crate) rejects: Vec<Reject>,
    pub(crate) new_series: u64,
    /// Lines that the lookup did not know.
    pub(crate) missing: usize,
}

/// Writes lines as the engine does: find, then register what is missing.
pub(crate) fn write<E>(
    registry: &Registry,
    syntax: &'static KeySyntax,
    namespace: u32,
    lines: &[Line],
    admit: u64,
    publish: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<Written, E> {
    with_batch(syntax, namespace, lines, |batch| {
        let mut written = Written { sids: vec![Vec::new(); lines.len()], ..Written::default() };
        let mut missing = Vec::new();
        let resolver = registry.resolver();
        for (index, row) in batch.rows().iter().enumerate() {
            let shape = batch.shape(row.shape).unwrap();
            match resolver.find(row.key_hash, shape.hash, shape.fields_count) {
                Some(run) => {
                    let sids = resolver.sids(run, shape.fields_count);
                    written.sids[index] = sids.iter().collect();
                }
                None => missing.push(index as u32),
            }
        }
        drop(resolver);
        written.missing = missing.len();
        let sids = &mut written.sids;
        let mut found = |row: u32, found: foliot_index::Sids<'_>| {
            sids[row as usize] = found.iter().collect();
        };
        let terms = Terms {
            admit,
            limit: "limits.series",
            limited: None,
            labels_max: 64,
            class: &class_of,
        };
        let registered = registry.register(
            batch,
            &missing,
            &terms,
            publish,
            &mut found,
            &mut written.rejects,
        )?;
        let Registered { new_series, .. } = registered;
        written.new_series = new_series;
        Ok(written)
    })
}

/// The retention class of a key: most have none.
fn class_of(key: &KeyParts) -> u32 {
    if key.measurement() == b"kept" { 7 } else { 0 }
}

/// Writes without a wal and without a limit.
pub(crate) fn write_all(registry: &Registry, namespace: u32, lines: &[Line]) -> Written {
    let mut publish = |_: &[u8]| Ok::<(), std::convert::Infallible>(());
    let Ok(written) = write(registry, &COMMAS, namespace, lines, u64::MAX, &mut publish);
    written
}

/// A series by its canonical name.
pub(crate) type Canonical = (u32, String, String, BTreeMap<String, String>);

/// The canonical names of a line in the syntax of commas, written without this crate.
pub(crate) fn canonical(namespace: u32, line: &Line) -> Vec<Canonical> {
    let mut pieces = line.key.split(',');
    let measurement = pieces.next().unwrap().to_owned();
    let labels: BTreeMap<String, String> = pieces
        .filter_map(|piece| piece.split_once('='))
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let name = |field: &String| (namespace, measurement.clone(), field.clone(), labels.clone());
    line.fields.iter().map(name).collect()
}

/// Whether a selector wants a series, by its definition.
pub(crate) fn wants(selector: &Selector, sid: u32, series: &Canonical) -> bool {
    let (namespace, measurement, field, labels) = series;
    *namespace == selector.namespace
        && (selector.names.is_empty()
            || selector
                .names
                .iter()
                .any(|name| name.measurement.passes(measurement) && name.field.passes(field)))
        && selector
            .matchers
            .iter()
            .all(|matcher| matcher.matches(labels.get(&matcher.name).map(String::as_str)))
        && selector.exact_labels.as_ref().is_none_or(|exact| {
            let exact: std::collections::BTreeSet<_> = exact.iter().collect();
            exact == labels.keys().collect()
        })
        && selector.only.as_ref().is_none_or(|only| only.contains(&sid))
}
