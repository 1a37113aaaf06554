//! Records: what was registered, as bytes for the wal and for checkpoints.
//!
//! A sequence of records, each a tag byte and LEB128 varints; docs/format/index.md draws them:
//!
//! 1. `01 epoch base measurements fields names values` where the epoch begins
//! 2. `02 kind first count (length bytes)*count` symbols
//! 3. `03 namespace first count (name value)*count` pairs, zigzag differences to the one before
//! 4. `04 namespace first count (measurement field)*count` columns, likewise
//! 5. `05 namespace first count (pairs difference*pairs)*count` sources
//! 6. `06 first_series first_source sources columns difference*columns` series: so many sources in
//!    a row have one series in each of these columns; series count up source by source
//! 7. `07 first_series count class` retention class
//! 8. `08 kind count (difference number)*count` symbols that have numbers of an earlier epoch
//!
//! Every record says the number of the first thing it registers. Reading skips what is registered
//! already, so records may be read again in the same order. A gap says that records were lost:
//! their numbers are given up (see [`Names::lose`]), and so is what mentions something lost.

use crate::dictionary::Dictionary;
use crate::entries::Entries;
use crate::epoch::Origin;
use crate::names::{Names, Numbered, Refusal, SymbolKind, triple_of};
use crate::series::LOST;
use crate::{Error, limits};
use foliot_codec::varint::{get_i64, get_u32, put_i64, put_u32};
use std::ops::Range;

const EPOCH: u8 = 1;
const SYMBOLS: u8 = 2;
const PAIRS: u8 = 3;
const COLUMNS: u8 = 4;
const SOURCES: u8 = 5;
const SERIES: u8 = 6;
const CLASS: u8 = 7;
const CARRIED: u8 = 8;

/// Dictionaries of triples: namespace and two symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Triples {
    Pairs,
    Columns,
}

pub(crate) fn put_epoch(out: &mut Vec<u8>, origin: &Origin) {
    out.push(EPOCH);
    put_u32(out, origin.epoch);
    put_u32(out, origin.base);
    origin.symbols.iter().for_each(|&number| put_u32(out, number));
}

/// Where the epoch of a stretch of records begins: it is the first thing they say.
pub(crate) fn origin(mut records: &[u8]) -> Option<Origin> {
    let rest = &mut records;
    let (&tag, body) = rest.split_first()?;
    *rest = body;
    match tag {
        EPOCH => take_origin(rest).ok(),
        _ => None,
    }
}

fn take_origin(rest: &mut &[u8]) -> Result<Origin, Reason> {
    let (epoch, base) = (take(rest)?, take(rest)?);
    let symbols = [take(rest)?, take(rest)?, take(rest)?, take(rest)?];
    let origin = Origin { epoch, base, symbols };
    if !origin.is_possible() {
        return Err(format!("an epoch cannot be {origin}").into());
    }
    Ok(origin)
}

/// Writes which symbols have numbers of an earlier epoch; local numbers ascend.
pub(crate) fn put_carried(out: &mut Vec<u8>, kind: SymbolKind, carried: &[[u32; 2]]) {
    if carried.is_empty() {
        return;
    }
    out.extend([CARRIED, kind as u8]);
    put_u32(out, carried.len() as u32);
    let mut previous = 0;
    for &[local, number] in carried {
        put_u32(out, local - previous);
        put_u32(out, number);
        previous = local;
    }
}

/// Writes the entries `range` of a dictionary of symbols, without lost ones; entry 0 has the number
/// `base`.
pub(crate) fn put_symbols(
    out: &mut Vec<u8>,
    kind: SymbolKind,
    dictionary: &Dictionary,
    range: Range<u32>,
    base: u32,
) {
    let is_lost = |id: &u32| dictionary.get(*id).is_none_or(<[u8]>::is_empty);
    let mut rest = range;
    while let Some(start) = rest.find(|id| !is_lost(id)) {
        let end = rest.clone().find(is_lost).unwrap_or(rest.end);
        out.extend([SYMBOLS, kind as u8]);
        put_u32(out, base + start);
        put_u32(out, end - start);
        for id in start..end {
            let name = dictionary.get(id).unwrap_or_default();
            put_u32(out, name.len() as u32);
            out.extend_from_slice(name);
        }
        rest.start = end;
    }
}

/// Writes the entries `range` of pairs or columns, without lost ones.
pub(crate) fn put_triples(
    out: &mut Vec<u8>,
    what: Triples,
    entries: &Entries,
    mut range: Range<u32>,
    base: u32,
) {
    let find = |id| entries.get(id).and_then(triple_of);
    let get = |id| find(id).unwrap_or_default();
    while let Some(start) = range.find(|&id| find(id).is_some()) {
        let namespace_of = |id| find(id).map(|[namespace, ..]| namespace);
        let namespace = namespace_of(start).unwrap_or_default();
        let is_other = |id: &u32| namespace_of(*id) != Some(namespace);
        let end = range.clone().find(is_other).unwrap_or(range.end);
        range.start = start;
        out.push(if what == Triples::Pairs { PAIRS } else { COLUMNS });
        put_u32(out, namespace);
        put_u32(out, base + range.start);
        put_u32(out, end - range.start);
        let mut previous = [0; 2];
        for id in range.start..end {
            let [_, a, b] = get(id);
            put_i64(out, i64::from(a) - i64::from(previous[0]));
            put_i64(out, i64::from(b) - i64::from(previous[1]));
            previous = [a, b];
        }
        range.start = end;
    }
}

/// Writes the entries `range` of sources, without lost ones.
pub(crate) fn put_sources(out: &mut Vec<u8>, entries: &Entries, mut range: Range<u32>, base: u32) {
    let find = |id| {
        let mut key = entries.get(id)?;
        Some((get_u32(&mut key).ok()?, key))
    };
    let get = |id| find(id).unwrap_or_default();
    while let Some(start) = range.find(|&id| find(id).is_some()) {
        let (namespace, _) = get(start);
        let is_other = |id: &u32| find(*id).is_none_or(|(of, _)| of != namespace);
        let end = range.clone().find(is_other).unwrap_or(range.end);
        range.start = start;
        out.push(SOURCES);
        put_u32(out, namespace);
        put_u32(out, base + range.start);
        put_u32(out, end - range.start);
        for id in range.start..end {
            let (_, pairs) = get(id);
            // A varint's last byte has its top bit clear.
            put_u32(out, pairs.iter().filter(|&&byte| byte < 0x80).count() as u32);
            out.extend_from_slice(pairs);
        }
        range.start = end;
    }
}

/// Writes series as runs, without lost ones: sources that follow each other and have the same
/// columns share a record.
pub(crate) fn put_series(
    out: &mut Vec<u8>,
    mut first: u32,
    series: impl Iterator<Item = (u32, u32)>,
) {
    let mut series = series.peekable();
    while series.peek().is_some() {
        while series.next_if(|series| *series == LOST).is_some() {
            first += 1;
        }
        let mut stretch = 0;
        put_stretch(
            out,
            first,
            std::iter::from_fn(|| {
                let next = series.next_if(|series| *series != LOST)?;
                stretch += 1;
                Some(next)
            }),
        );
        first += stretch;
    }
}

/// Writes series none of which was lost.
fn put_stretch(out: &mut Vec<u8>, first: u32, series: impl Iterator<Item = (u32, u32)>) {
    let mut run = Run { first, source: 0, sources: 0, columns: Vec::new() };
    let mut group: (u32, Vec<u32>) = (0, Vec::new());
    let mut end = |group: &mut (u32, Vec<u32>), out: &mut Vec<u8>| {
        let (source, columns) = (group.0, std::mem::take(&mut group.1));
        if run.sources > 0 && source == run.source + run.sources && columns == run.columns {
            run.sources += 1;
            group.1 = columns;
            group.1.clear();
            return;
        }
        let next = run.first + run.sources * run.columns.len() as u32;
        run.put(out);
        run = Run { first: next, source, sources: 1, columns };
    };
    let mut any = false;
    for (source, column) in series {
        any = true;
        if !group.1.is_empty() && (source != group.0 || group.1.len() >= foliot_model::FIELDS_MAX) {
            end(&mut group, out);
        }
        group.0 = source;
        group.1.push(column);
    }
    if any {
        end(&mut group, out);
        // An empty group pushes out the run that the last one became.
        group.0 = u32::MAX;
        end(&mut group, out);
    }
}

struct Run {
    first: u32,
    source: u32,
    sources: u32,
    columns: Vec<u32>,
}

impl Run {
    fn put(&self, out: &mut Vec<u8>) {
        if self.sources == 0 {
            return;
        }
        out.push(SERIES);
        put_u32(out, self.first);
        put_u32(out, self.source);
        put_u32(out, self.sources);
        put_u32(out, self.columns.len() as u32);
        let mut previous = 0;
        for &column in &self.columns {
            put_i64(out, i64::from(column) - previous);
            previous = i64::from(column);
        }
    }
}

pub(crate) fn put_class(out: &mut Vec<u8>, [first, count, class]: [u32; 3]) {
    out.push(CLASS);
    for number in [first, count, class] {
        put_u32(out, number);
    }
}

/// Records that give all series of an epoch their retention classes: first series, end and class of
/// each run, ascending and without gaps.
pub fn class_records(origin: &Origin, runs: &[[u32; 3]]) -> Vec<u8> {
    let mut records = Vec::new();
    put_epoch(&mut records, origin);
    for &[first, end, class] in runs {
        put_class(&mut records, [first, end.saturating_sub(first), class]);
    }
    records
}

/// Reads records into `names`.
///
/// # Errors
/// When a record contradicts its grammar, the epoch, or what is registered.
pub(crate) fn apply(names: &mut Names, records: &[u8]) -> Result<(), Error> {
    let mut rest = records;
    let mut numbers = Vec::new();
    while let Some((&tag, body)) = rest.split_first() {
        let offset = records.len() - rest.len();
        rest = body;
        apply_one(names, tag, &mut rest, &mut numbers)
            .map_err(|reason| Error::Record { offset, reason: reason.into_owned() })?;
    }
    Ok(())
}

type Reason = std::borrow::Cow<'static, str>;

fn apply_one(
    names: &mut Names,
    tag: u8,
    rest: &mut &[u8],
    numbers: &mut Vec<u32>,
) -> Result<(), Reason> {
    match tag {
        EPOCH => match (take_origin(rest)?, names.origin) {
            (found, open) if found == open => Ok(()),
            (found, open) => Err(format!("epoch {found} where {open} is open").into()),
        },
        SYMBOLS => apply_symbols(names, rest),
        PAIRS => apply_triples(names, Triples::Pairs, rest),
        COLUMNS => apply_triples(names, Triples::Columns, rest),
        SOURCES => apply_sources(names, rest, numbers),
        SERIES => apply_series(names, rest, numbers),
        CLASS => {
            let (first, count, class) = (take(rest)?, take(rest)?, take(rest)?);
            let end = first.checked_add(count).ok_or("number leaves its range")?;
            refused("series", first, names.lose(Numbered::Series, end))?;
            refused("class", first, names.set_class(first, count, class))
        }
        CARRIED => apply_carried(names, rest),
        tag => Err(format!("unknown tag {tag}").into()),
    }
}

fn take(rest: &mut &[u8]) -> Result<u32, Reason> {
    get_u32(rest).map_err(|_| "ends early or holds a number of more than 32 bits".into())
}

fn take_difference(rest: &mut &[u8], previous: &mut u32) -> Result<u32, Reason> {
    let difference = get_i64(rest).map_err(|_| Reason::from("ends early"))?;
    let number = i64::from(*previous).checked_add(difference);
    *previous = number
        .and_then(|number| u32::try_from(number).ok())
        .ok_or("difference leaves the range of numbers")?;
    Ok(*previous)
}

fn refused<T>(what: &str, id: u32, result: Result<T, Refusal>) -> Result<(), Reason> {
    match result {
        Ok(_) => Ok(()),
        Err(Refusal::Known) => {
            Err(format!("{what} {id} is registered under another number").into())
        }
        Err(Refusal::Dangling) => Err(format!("{what} {id} refers to what is not there").into()),
        Err(Refusal::Full) => Err(format!("no room for {what} {id}").into()),
    }
}

/// Adds the thing numbered `id` if it is not there already, or was lost. What it mentions may be
/// lost: then it is too. Another thing there is an error.
fn register<T>(
    names: &mut Names,
    what: Numbered,
    id: Option<u32>,
    is_same: impl FnOnce(&Names, u32) -> bool,
    add: impl FnOnce(&mut Names) -> Result<T, Refusal>,
) -> Result<(), Reason> {
    let id = id.ok_or("number leaves its range")?;
    let called = || match what {
        Numbered::Symbol(_) => "symbol",
        Numbered::Pair => "pair",
        Numbered::Column => "column",
        Numbered::Source => "source",
        Numbered::Series => "series",
    };
    if id < names.next(what) {
        return match is_same(names, id) || names.is_lost(what, id) {
            true => Ok(()),
            false => Err(format!("{} {id} is registered as something else", called()).into()),
        };
    }
    refused(called(), id, names.lose(what, id))?;
    match add(names) {
        Err(Refusal::Dangling) => refused(called(), id, names.lose(what, id + 1)),
        added => refused(called(), id, added),
    }
}

fn apply_symbols(names: &mut Names, rest: &mut &[u8]) -> Result<(), Reason> {
    let kind = take_kind(rest)?;
    let (first, count) = (take(rest)?, take(rest)?);
    for index in 0..count {
        let length = take(rest)? as usize;
        let name = rest.get(..length).ok_or("ends inside a symbol")?;
        *rest = rest.get(length..).unwrap_or_default();
        if std::str::from_utf8(name).is_err() || name.is_empty() {
            return Err("a symbol is empty or not UTF-8".into());
        }
        register(
            names,
            Numbered::Symbol(kind),
            first.checked_add(index),
            |names, id| names.symbols(kind).get(id) == Some(name),
            |names| names.add_symbol(kind, name),
        )?;
    }
    Ok(())
}

fn take_kind(rest: &mut &[u8]) -> Result<SymbolKind, Reason> {
    let (&kind, body) = rest.split_first().ok_or("ends early")?;
    *rest = body;
    SymbolKind::ALL.get(kind as usize).copied().ok_or_else(|| "unknown kind of symbol".into())
}

fn apply_carried(names: &mut Names, rest: &mut &[u8]) -> Result<(), Reason> {
    let kind = take_kind(rest)?;
    let mut local = 0u32;
    for _ in 0..take(rest)? {
        local = local.checked_add(take(rest)?).ok_or("symbol leaves its range")?;
        let number = take(rest)?;
        match names.carry(kind, local, number) {
            Err(Refusal::Dangling) if names.has_lost() => {}
            carried => refused("number of symbol", local, carried)?,
        }
    }
    Ok(())
}

fn apply_triples(names: &mut Names, what: Triples, rest: &mut &[u8]) -> Result<(), Reason> {
    let (namespace, first, count) = (take(rest)?, take(rest)?, take(rest)?);
    let mut previous = [0; 2];
    for index in 0..count {
        let id = first.checked_add(index);
        let [a, b] = &mut previous;
        let triple = [namespace, take_difference(rest, a)?, take_difference(rest, b)?];
        match what {
            Triples::Pairs => register(
                names,
                Numbered::Pair,
                id,
                |names, id| names.pair(id) == Some(triple),
                |names| names.add_pair(triple),
            )?,
            Triples::Columns => register(
                names,
                Numbered::Column,
                id,
                |names, id| names.column(id) == Some(triple),
                |names| names.add_column(triple),
            )?,
        }
    }
    Ok(())
}

fn apply_sources(names: &mut Names, rest: &mut &[u8], pairs: &mut Vec<u32>) -> Result<(), Reason> {
    let (namespace, first, count) = (take(rest)?, take(rest)?, take(rest)?);
    for index in 0..count {
        let labels = take(rest)?;
        if labels as usize > limits::LABELS_MAX {
            return Err("a source has too many labels".into());
        }
        pairs.clear();
        let mut pair = 0u32;
        for _ in 0..labels {
            pair = pair.checked_add(take(rest)?).ok_or("pair leaves its range")?;
            pairs.push(pair);
        }
        let is_same = |names: &Names, id| {
            let found = names.source(id);
            found.is_some_and(|(n, ids)| n == namespace && ids.eq(pairs.iter().copied()))
        };
        let (id, add) =
            (first.checked_add(index), |names: &mut Names| names.add_source(namespace, pairs));
        register(names, Numbered::Source, id, is_same, add)?;
    }
    Ok(())
}

fn apply_series(names: &mut Names, rest: &mut &[u8], columns: &mut Vec<u32>) -> Result<(), Reason> {
    let (first, first_source, sources) = (take(rest)?, take(rest)?, take(rest)?);
    let count = take(rest)?;
    if count == 0 || count as usize > foliot_model::FIELDS_MAX {
        return Err("a source has no columns, or too many".into());
    }
    columns.clear();
    let mut previous = 0;
    for _ in 0..count {
        columns.push(take_difference(rest, &mut previous)?);
    }
    // Columns that were lost have no namespace, nor have lost sources.
    let namespace_of = |&column: &u32| names.column(column).map(|[namespace, ..]| namespace);
    let mut namespaces = columns.iter().filter_map(namespace_of);
    let namespace = namespaces.next();
    if !namespaces.all(|of_column| Some(of_column) == namespace) {
        return Err("a source has columns of several namespaces".into());
    }
    let mut id = Some(first);
    for index in 0..sources {
        let source = first_source.checked_add(index).ok_or("source leaves its range")?;
        let of_source = names.source(source).map(|(of_source, _)| of_source);
        if namespace.is_some() && of_source.is_some() && of_source != namespace {
            return Err("a source is not of its columns' namespace".into());
        }
        for &column in columns.iter() {
            let is_same = |names: &Names, id| names.series(id) == Some((source, column));
            let add = |names: &mut Names| match names.column(column) {
                Some(_) => names.add_series(source, column),
                None => Err(Refusal::Dangling),
            };
            register(names, Numbered::Series, id, is_same, add)?;
            id = id.and_then(|id| id.checked_add(1));
        }
    }
    Ok(())
}
