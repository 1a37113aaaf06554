//! Reads one source: the samples of its fields side by side, slice by slice of time.
//!
//! A slice is as long as a block of the fields that decide which rows there are, so it holds at
//! most a chunk of samples of each. Slices are read forwards or backwards; within one, rows
//! that fail the condition are dropped before carried values are looked at.

use super::calculate::{convert, holds_of_stored, kind_of};
use super::sieve::{Comparison, Sieve, Sifted, Wanted};
use super::sources::{Member, Places, driving, fields};
use super::strip::{Stream, Strip};
use crate::limits::{CHUNK_SAMPLES, Charge, Meter};
use crate::source::{Lasts, Source, Spares};
use crate::{Error, stream};
use foliot_model::{Column, Item, Kind, Samples, TimeRange, Value, Values};
use foliot_plan::rows::{Carried, Scan};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// How far before the latest sample the first slice begins where few rows are wanted from the end:
/// longer than most sources' interval.
const TAIL_NS: i64 = 60_000_000_000;
/// So many rows are few.
const TAIL_ROWS_MAX: usize = 64;

/// Sieves are shared by the sources that a scan reads side by side.
pub(super) type SharedSieve<'q> = Rc<RefCell<Sieve<'q>>>;

/// What rows pass a sieve by, and what was planned once for all of them.
struct Sifting<'q> {
    sieve: SharedSieve<'q>,
    /// Memory for what comes through.
    sifted: Sifted,
    tested: Vec<Item>,
    comparison: Comparison,
    kinds: Vec<Kind>,
    places: (Vec<Place>, Vec<Place>),
}

/// Where the rows of one source come from.
pub(super) struct Reader<'q> {
    scan: &'q Scan,
    member: Member,
    fields: Vec<(Arc<str>, Kind)>,
    /// How many of them, from the first on, decide which rows there are.
    driving: usize,
    source: Source<'q>,
    meter: &'q Meter,
    /// Into how many pieces slices are cut: more where many sources are read at once.
    pieces: i64,
    /// What was not cut into slices yet.
    uncut: Option<TimeRange>,
    /// Slices left to read, the next one last.
    slices: Vec<TimeRange>,
    /// All samples of series that were read for where slices begin, for the first slice.
    ahead: Vec<(u32, Samples)>,
    /// How many more rows are wanted; nothing: all.
    wanted: Option<usize>,
    /// How rows are read of which few are expected.
    sifting: Option<Sifting<'q>>,
    charge: Charge<'q>,
}

/// The samples of a field in a slice, and how far they were gone through.
struct Cursor {
    samples: Samples,
    kind: Kind,
    at: usize,
}

impl<'q> Reader<'q> {
    pub(super) fn new(
        scan: &'q Scan,
        member: Member,
        source: Source<'q>,
        meter: &'q Meter,
        pieces: i64,
    ) -> Self {
        let (fields, charge) = (fields(scan), meter.open());
        let wanted = scan.rows_max_each();
        let wanted = wanted.map(|rows| usize::try_from(rows).unwrap_or(usize::MAX));
        Self {
            scan,
            member,
            fields,
            driving: driving(scan),
            source,
            meter,
            pieces,
            uncut: Some(scan.layout.range),
            slices: Vec::new(),
            ahead: Vec::new(),
            wanted,
            sifting: None,
            charge,
        }
    }

    /// The same; where the condition allows, rows are read by the sieve.
    pub(super) fn sifting(self, sieve: &SharedSieve<'q>) -> Self {
        let comparison = self.member.condition.as_ref().and_then(|condition| {
            let places = places_of(&self.fields, &self.scan.condition_slots);
            let kind_of = |field: usize| self.fields.get(field).map(|(_, kind)| *kind);
            Comparison::of(condition, &places, &kind_of)
        });
        let Some(comparison) = comparison.filter(|_| !self.scan.layout.descending) else {
            return self;
        };
        let sieve = Rc::clone(sieve);
        let kinds = self.fields.iter().map(|(_, kind)| *kind).collect();
        let (sifted, tested, places) = (Sifted::default(), Vec::new(), self.places());
        let sifting = Sifting { sieve, sifted, tested, comparison, kinds, places };
        Self { sifting: Some(sifting), ..self }
    }

    /// The next rows that come through the sieve.
    fn next_sifted(&mut self) -> Result<Option<Strip>, Error> {
        let Some(sifting) = &mut self.sifting else { return Ok(None) };
        let Sifting { sieve, sifted, tested, comparison, kinds, places } = sifting;
        let (scan, member, driving) = (self.scan, &self.member, self.driving);
        let wanted = Wanted { scan, member, comparison, kinds, driving, places };
        while self.wanted != Some(0) {
            let mut sieve = sieve.borrow_mut();
            if let Some(range) = self.uncut.take()
                && let Some(sid) = member.sids.get(comparison.field).copied().flatten()
            {
                self.slices = sieve.ranges(sid, range, comparison)?;
                self.slices.reverse();
            }
            let Some(slice) = self.slices.pop() else { break };
            let range = slice.intersect(&scan.layout.range);
            let instants_max = CHUNK_SAMPLES / self.pieces as usize;
            self.slices.extend(sieve.sift(&wanted, range, instants_max, sifted)?);
            self.charge.resize(sifted.bytes())?;
            let strip = sifted.rows(&wanted, tested, self.wanted);
            self.charge.resize(sifted.bytes() + strip.bytes())?;
            if !strip.is_empty() {
                self.wanted = self.wanted.map(|wanted| wanted - strip.len());
                return Ok(Some(strip));
            }
        }
        Ok(None)
    }

    /// Cuts into slices what is not cut yet; false if there is nothing.
    fn cut(&mut self) -> Result<bool, Error> {
        let Some(range) = self.uncut.take() else { return Ok(false) };
        let is_whole = range == self.scan.layout.range;
        let wants_few = self.wanted.is_some_and(|wanted| wanted <= TAIL_ROWS_MAX);
        if is_whole && wants_few && self.scan.layout.descending {
            let tail_ns = self.last_ns()?.filter(|last_ns| *last_ns <= range.end_ns);
            let start_ns =
                tail_ns.map_or(range.start_ns, |last_ns| last_ns.saturating_sub(TAIL_NS));
            if start_ns > range.start_ns {
                self.uncut = Some(TimeRange::new(range.start_ns, start_ns - 1));
                self.slices = vec![TimeRange::new(start_ns, range.end_ns)];
                return Ok(true);
            }
        }
        self.slices = self.plan_slices(range)?;
        Ok(true)
    }

    /// The latest sample of the fields that decide which rows there are.
    fn last_ns(&self) -> Result<Option<i64>, Error> {
        let mut last_ns = None;
        for sid in self.member.sids.iter().take(self.driving).flatten() {
            last_ns = last_ns.max(self.source.last(*sid)?.times_ns.last().copied());
        }
        Ok(last_ns)
    }

    fn plan_slices(&mut self, range: TimeRange) -> Result<Vec<TimeRange>, Error> {
        let mut blocks = Vec::new();
        self.ahead.clear();
        for sid in self.member.sids.iter().take(self.driving).flatten() {
            self.ahead.extend(self.blocks(*sid, range, &mut blocks)?.map(|all| (*sid, all)));
        }
        blocks.sort_unstable();
        blocks.dedup_by_key(|(start_ns, _)| *start_ns);
        let mut slices = Vec::with_capacity(blocks.len());
        let mut until_ns = range.end_ns;
        for (start_ns, end_ns) in blocks.into_iter().rev() {
            // The last piece reaches to the next block, for the sake of other fields.
            let step_ns = (end_ns.min(until_ns).saturating_sub(start_ns) / self.pieces).max(1);
            for piece in (1..self.pieces).rev() {
                let from_ns = start_ns.saturating_add(step_ns.saturating_mul(piece));
                if from_ns <= end_ns && from_ns <= until_ns {
                    slices.push(TimeRange::new(from_ns, until_ns));
                    until_ns = from_ns.saturating_sub(1);
                }
            }
            slices.push(TimeRange::new(start_ns, until_ns));
            until_ns = start_ns.saturating_sub(1);
        }
        // The next slice is taken off the end: the first one in time lies there already.
        if self.scan.layout.descending {
            slices.reverse();
        }
        Ok(slices)
    }

    /// The first and last times of the blocks of a series. Returns its samples, if they all had to
    /// be read for that and are one chunk.
    fn blocks(
        &self,
        sid: u32,
        range: TimeRange,
        out: &mut Vec<(i64, i64)>,
    ) -> Result<Option<Samples>, Error> {
        let (before, mut only) = (out.len(), Samples::default());
        let mut stream = self.source.open(sid, range, &Arc::new(Spares::default()), self.meter)?;
        let mut chunk = Samples::default();
        loop {
            if let stream::Stream::Stored(stored) = &mut stream {
                stored.is_ahead = true;
                while let Some(block) = stored.peek() {
                    out.push((block.range.start_ns, block.range.end_ns));
                    stored.skip(self.meter)?;
                }
            }
            if !stream.next(self.meter, &mut chunk)? {
                let is_only = out.len() == before + 1 && !only.is_empty();
                return Ok(is_only.then_some(only));
            }
            out.extend(chunk.times_ns.first().copied().zip(chunk.times_ns.last().copied()));
            if out.len() == before + 1 {
                std::mem::swap(&mut only, &mut chunk);
            }
        }
    }

    /// The rows of the next slice that has any; nothing at the end.
    fn read_slice(&mut self) -> Result<Option<Strip>, Error> {
        while self.wanted != Some(0) {
            let Some(slice) = self.slices.pop() else {
                match self.cut()? {
                    true => continue,
                    false => return Ok(None),
                }
            };
            let mut ahead = std::mem::take(&mut self.ahead);
            let mut cursors = Vec::with_capacity(self.fields.len());
            for (at, (_, kind)) in self.fields.iter().enumerate() {
                let sid = self.member.sids.get(at).copied().flatten();
                let mut cursor = Cursor { samples: Samples::default(), kind: *kind, at: 0 };
                if let Some(sid) = sid {
                    let known =
                        ahead.iter_mut().find(|(of, all)| *of == sid && lies_in(all, slice));
                    match known {
                        Some((_, all)) => {
                            self.meter.note_read(all.len());
                            cursor.samples = std::mem::take(all);
                        }
                        None => self.read_field(sid, slice, &mut cursor.samples)?,
                    }
                }
                cursors.push(cursor);
            }
            let mut rows = match self.scan.layout.descending {
                false => self.rows_of(&mut cursors, self.wanted)?,
                true => self.last_rows(&mut cursors)?,
            };
            if let Some(wanted) = &mut self.wanted {
                rows = rows.truncated(*wanted);
                *wanted -= rows.len();
            }
            self.charge.resize(rows.bytes())?;
            if !rows.is_empty() {
                return Ok(Some(rows));
            }
        }
        Ok(None)
    }

    /// The rows from the last one on, at least as many as are wanted.
    fn last_rows(&mut self, cursors: &mut [Cursor]) -> Result<Strip, Error> {
        let few = self.wanted.filter(|wanted| *wanted <= TAIL_ROWS_MAX);
        if let Some(wanted) = few
            && self.member.condition.is_none()
        {
            let driving = cursors.iter().take(self.driving);
            let mut times_ns: Vec<i64> = driving
                .flat_map(|cursor| cursor.samples.times_ns.iter().rev().take(wanted).copied())
                .collect();
            times_ns.sort_unstable();
            times_ns.dedup();
            let from_ns = times_ns.len().checked_sub(wanted).and_then(|at| times_ns.get(at));
            if let Some(from_ns) = from_ns {
                cursors.iter_mut().for_each(|cursor| cursor.seek(*from_ns));
                let mut rows = self.rows_of(cursors, None)?;
                // Some of them may have been none, for having values of another kind.
                if rows.len() >= wanted {
                    rows.reverse();
                    return Ok(rows);
                }
                cursors.iter_mut().for_each(|cursor| cursor.at = 0);
            }
        }
        let mut rows = self.rows_of(cursors, None)?;
        rows.reverse();
        Ok(rows)
    }

    fn read_field(&self, sid: u32, slice: TimeRange, out: &mut Samples) -> Result<(), Error> {
        let mut stream = self.source.open(sid, slice, &Arc::new(Spares::default()), self.meter)?;
        let mut chunk = Samples::default();
        while stream.next(self.meter, &mut chunk)? {
            match out.is_empty() {
                true => std::mem::swap(out, &mut chunk),
                false => out.append(&chunk, 0..chunk.len()),
            }
        }
        Ok(())
    }

    /// The rows of fields that were written together, as their samples lie; nothing if it takes a
    /// look at each to know which rows there are. They are charged.
    fn whole(&mut self, cursors: &mut [Cursor], carried: &[Place]) -> Result<Option<Strip>, Error> {
        if !self.are_alike(cursors) {
            return Ok(None);
        }
        let rows = cursors.first().map_or(0, |first| first.samples.len());
        let numbers = carried.iter().filter(|place| place.is_ok()).count() + 2;
        self.charge
            .resize(carried.len() * size_of::<Column>() + numbers * rows * size_of::<i64>())?;
        Ok(self.as_they_lie(cursors, carried))
    }

    /// Whether fields were written together, and rows are all that they have.
    fn are_alike(&self, cursors: &[Cursor]) -> bool {
        let Some((first, others)) = cursors.split_first() else { return false };
        let times_ns = &first.samples.times_ns;
        let is_alike = |other: &Cursor| other.at == 0 && other.samples.times_ns == *times_ns;
        self.member.condition.is_none()
            && self.driving > 0
            && first.at == 0
            && others.iter().all(is_alike)
    }

    fn as_they_lie(&self, cursors: &mut [Cursor], carried: &[Place]) -> Option<Strip> {
        let mut rows = Strip::new(self.member.head.clone(), carried.len());
        for (column, place) in rows.carried.iter_mut().zip(carried) {
            if let Ok(at) = place {
                *column = cursors.get(*at)?.column()?;
            }
        }
        let first = cursors.first_mut()?;
        rows.value = match self.scan.value.is_some() {
            true => first.column()?,
            false => Column::Same(Item::Null, first.samples.len()),
        };
        rows.times_ns = std::mem::take(&mut first.samples.times_ns);
        repeat(carried, &mut rows);
        Some(rows)
    }

    /// The rows from where the cursors stand, at most so many; they are charged.
    fn rows_of(&mut self, cursors: &mut [Cursor], rows_max: Option<usize>) -> Result<Strip, Error> {
        let has_value = self.scan.value.is_some();
        let (carried, slots) = self.places();
        if rows_max.is_none()
            && let Some(rows) = self.whole(cursors, &carried)?
        {
            return Ok(rows);
        }
        let mut rows = Strip::new(self.member.head.clone(), carried.len());
        let mut tested = vec![Item::Null; slots.len()];
        // Cells that were looked at since the meter was asked.
        let mut cells = 0;
        self.charge.resize(0)?;
        loop {
            cells += cursors.len();
            if cells > CHUNK_SAMPLES {
                cells = 0;
                self.meter.check(0)?;
                self.charge.resize(rows.bytes())?;
            }
            let is_full = rows_max.is_some_and(|most| rows.len() >= most);
            let times = cursors.iter().take(self.driving).filter_map(Cursor::time_ns);
            let Some(time_ns) = times.min().filter(|_| !is_full) else {
                repeat(&carried, &mut rows);
                self.charge.resize(rows.bytes())?;
                return Ok(rows);
            };
            cursors.iter_mut().for_each(|cursor| cursor.advance(time_ns));
            let is_wanted = self.member.condition.as_ref().is_none_or(|condition| {
                for (slot, place) in tested.iter_mut().zip(&slots) {
                    *slot = value_at(place, cursors, time_ns);
                }
                holds_of_stored(condition, time_ns, &tested)
            });
            let value = match has_value {
                true => value_at(&Ok(0), cursors, time_ns),
                false => Item::Null,
            };
            // A value of another kind than the field's is none.
            if is_wanted && !(has_value && value.is_null()) {
                rows.times_ns.push(time_ns);
                rows.value.push(value);
                for (column, place) in rows.carried.iter_mut().zip(&carried) {
                    if let Ok(at) = place {
                        column.push(cursors.get(*at).map_or(Item::Null, |of| of.item(time_ns)));
                    }
                }
            }
            cursors.iter_mut().for_each(|cursor| cursor.pass(time_ns));
        }
    }

    /// The places of what is carried, and of what the condition looks at, if there is one.
    fn places(&self) -> (Vec<Place>, Vec<Place>) {
        let Scan { carried, condition_slots, measurement, .. } = self.scan;
        let place = |carried: &Carried, at: Option<usize>| match at {
            Some(at) => Ok(at),
            None => Err(self.member.constant(carried, measurement).unwrap_or_default()),
        };
        let of = |list: &[Carried]| {
            list.iter().zip(places_of(&self.fields, list)).map(|(c, at)| place(c, at)).collect()
        };
        let is_tested = self.member.condition.is_some();
        (of(carried), if is_tested { of(condition_slots) } else { Vec::new() })
    }
}

/// Puts what no field tells into all rows of a strip.
pub(super) fn repeat(places: &[Place], rows: &mut Strip) {
    let count = rows.len();
    for (column, place) in rows.carried.iter_mut().zip(places) {
        if let Err(item) = place {
            *column = Column::Same(item.clone(), count);
        }
    }
}

/// Where each of the values that are fields stands among the fields.
fn places_of(fields: &[(Arc<str>, Kind)], list: &[Carried]) -> Vec<Option<usize>> {
    let by_name = Places::new(fields);
    let place = |carried: &Carried| {
        let mut place = None;
        if let Carried::Field(name, kind) = carried {
            by_name.of(name, |at| {
                if fields.get(at).is_some_and(|(_, of)| of == kind) {
                    place = Some(at);
                }
            });
        }
        place
    };
    list.iter().map(place).collect()
}

/// Reads the newest rows of sources, where these are all that is wanted.
pub(super) struct Newest<'q> {
    scan: &'q Scan,
    fields: Vec<(Arc<str>, Kind)>,
    /// Where what is carried stands among the fields, if it does.
    places: Vec<Option<usize>>,
    lasts: Lasts<'q>,
    /// The last sample of each field of a source.
    found: Vec<Option<(i64, Item)>>,
}

impl<'q> Newest<'q> {
    /// Nothing if more than the newest row of each source is wanted.
    pub(super) fn new(scan: &'q Scan, source: Source<'q>) -> Option<Self> {
        if scan.rows_max_each() != Some(1) || !scan.layout.descending {
            return None;
        }
        let fields = fields(scan);
        let are_driving = driving(scan) == fields.len();
        are_driving.then(|| {
            let places = places_of(&fields, &scan.carried);
            Self { scan, fields, places, lasts: source.lasts(), found: Vec::new() }
        })
    }

    /// The newest row of a source, if the last samples of its fields tell it.
    pub(super) fn row(&mut self, member: &Member, meter: &Meter) -> Result<Option<Strip>, Error> {
        if member.condition.is_some() {
            return Ok(None);
        }
        meter.check(self.fields.len())?;
        self.found.clear();
        for ((_, kind), sid) in self.fields.iter().zip(&member.sids) {
            let mut last = None;
            if let Some(sid) = sid {
                let samples = self.lasts.of(*sid)?;
                let time_ns = samples.times_ns.first().copied();
                last = time_ns.map(|time_ns| (time_ns, item(&samples.values, 0, *kind)));
            }
            self.found.push(last);
        }
        let newest_ns = self.found.iter().flatten().map(|(time_ns, _)| *time_ns).max();
        let range = self.scan.layout.range;
        let Some(time_ns) = newest_ns.filter(|newest_ns| range.contains(*newest_ns)) else {
            return Ok(None);
        };
        let at = |place: usize| match self.found.get(place) {
            Some(Some((found_ns, item))) if *found_ns == time_ns => item.clone(),
            _ => Item::Null,
        };
        let value = if self.scan.value.is_some() { at(0) } else { Item::Null };
        if self.scan.value.is_some() && value.is_null() {
            return Ok(None);
        }
        meter.note_read(self.found.iter().flatten().count());
        let measurement = &self.scan.measurement;
        let carried = self.scan.carried.iter().zip(&self.places);
        let carried = carried.map(|(carried, place)| match place {
            Some(place) => at(*place),
            None => member.constant(carried, measurement).unwrap_or_default(),
        });
        let carried = carried.map(|item| Column::Same(item, 1)).collect();
        let (head, value) = (member.head.clone(), Column::Same(value, 1));
        Ok(Some(Strip { head, times_ns: vec![time_ns], value, carried }))
    }
}

/// The field that a value of a row comes from, or the value itself.
pub(super) type Place = Result<usize, Item>;

fn value_at(place: &Place, cursors: &[Cursor], time_ns: i64) -> Item {
    match place {
        Ok(at) => cursors.get(*at).map_or(Item::Null, |cursor| cursor.item(time_ns)),
        Err(item) => item.clone(),
    }
}

/// Whether a slice has samples and all of them.
fn lies_in(samples: &Samples, slice: TimeRange) -> bool {
    let ends = samples.times_ns.first().zip(samples.times_ns.last());
    ends.is_some_and(|(first, last)| slice.contains(*first) && slice.contains(*last))
}

impl Cursor {
    /// The samples as a column, if they are numbers of the field's kind and so lie as one does.
    fn column(&self) -> Option<Column> {
        match (&self.samples.values, self.kind) {
            (Values::Float(values), Kind::Float) => Some(Column::Floats(values.clone())),
            (Values::Integer(values), Kind::Integer) => Some(Column::Integers(values.clone())),
            _ => None,
        }
    }

    fn time_ns(&self) -> Option<i64> {
        self.samples.times_ns.get(self.at).copied()
    }

    /// Goes to the first sample that is not before `time_ns`, which may be far away.
    fn seek(&mut self, time_ns: i64) {
        self.at = self.samples.times_ns.partition_point(|found| *found < time_ns);
    }

    /// Goes to the first sample that is not before `time_ns`.
    fn advance(&mut self, time_ns: i64) {
        while self.time_ns().is_some_and(|found| found < time_ns) {
            self.at += 1;
        }
    }

    fn pass(&mut self, time_ns: i64) {
        self.at += usize::from(self.time_ns() == Some(time_ns));
    }

    fn item(&self, time_ns: i64) -> Item {
        match self.time_ns() {
            Some(found) if found == time_ns => item(&self.samples.values, self.at, self.kind),
            _ => Item::Null,
        }
    }
}

/// The value at `index` read as `kind`; null if it is of a kind that cannot be read so.
pub(super) fn item(values: &Values, index: usize, kind: Kind) -> Item {
    let item = match values.get(index) {
        Some(Value::Float(v)) => Item::Float(v),
        Some(Value::Integer(v)) => Item::Integer(v),
        Some(Value::Unsigned(v)) => Item::Unsigned(v),
        Some(Value::Boolean(v)) => Item::Boolean(v),
        Some(Value::String(v)) => Item::String(v.into()),
        Some(Value::Histogram(_)) | None => Item::Null,
    };
    read_as(item, kind)
}

/// An item read as `kind`; null if it is of a kind that cannot be read so.
pub(super) fn read_as(item: Item, kind: Kind) -> Item {
    let item = convert(item, kind);
    if kind_of(&item) == Some(kind) { item } else { Item::Null }
}

impl Stream for Reader<'_> {
    fn next(&mut self) -> Result<Option<Strip>, Error> {
        match self.sifting.is_some() {
            true => self.next_sifted(),
            false => self.read_slice(),
        }
    }
}
