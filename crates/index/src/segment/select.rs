//! Selection in a segment: the same answers as those of `crate::select`, from tables on disk.
//!
//! 1. Names become columns, or "all"; matchers become wanted or unwanted pairs, literals by binary
//!    search, other tests over the values of that one label, each tested once.
//! 2. Wanted sets of sources are intersected, unwanted ones taken away.
//! 3. The sources that are left say which of their series are in the columns. Without a condition
//!    on labels the columns say it alone.

use super::Segment;
use super::read::{Sources, Strings};
use super::table::Rows;
use crate::bitmap::Bitmap;
use crate::error::Error;
use crate::names::SymbolKind;
use crate::select::{GoesOn, VALUES_PER_ASK, may_walk};
use foliot_codec::varint::get_u32;
use foliot_model::{Matcher, Name, Reach, Selector, Test};
use std::ops::Range;

/// One matcher against the pairs of its label.
struct Condition {
    /// Sources that have one of the pairs.
    sources: Bitmap,
    is_void: bool,
    unwanted: bool,
}

impl Segment {
    /// The series that `selector` wants, ascending.
    ///
    /// # Errors
    /// When the segment cannot be read.
    pub fn select(&self, selector: &Selector) -> Result<Vec<u32>, Error> {
        self.select_while(selector, &|_| true)
    }

    /// The same, as long as `goes_on` says so, which is asked now and then and told of long walks.
    ///
    /// # Errors
    /// When the segment cannot be read, or when it was not to go on.
    pub fn select_while(
        &self,
        selector: &Selector,
        goes_on: &GoesOn<'_>,
    ) -> Result<Vec<u32>, Error> {
        let columns = match selector.names.is_empty() {
            true => self.columns_in(selector.namespace)?.collect(),
            false => self.columns_named(selector.namespace, &selector.names)?,
        };
        if columns.is_empty() {
            return Ok(Vec::new());
        }
        let mut conditions = Vec::with_capacity(selector.matchers.len());
        for matcher in &selector.matchers {
            let condition = self.condition(selector.namespace, matcher, goes_on)?;
            if condition.is_void && !condition.unwanted {
                return Ok(Vec::new());
            }
            conditions.push(condition);
        }
        let exact = match &selector.exact_labels {
            None => None,
            Some(labels) => match self.label_symbols(labels)? {
                None => return Ok(Vec::new()),
                found => found,
            },
        };
        let mut sids = Vec::new();
        if conditions.is_empty() && exact.is_none() && selector.only.is_none() {
            for column in columns {
                let base = self.tables.origin.base;
                let mut take = |local| sids.push(base + local);
                self.ids_while(self.tables.series_of_column, column, &mut take, goes_on)?;
            }
            sids.sort_unstable();
            return Ok(sids);
        }
        let mut is_column = Bitmap::default();
        columns.iter().for_each(|&column| is_column.set(column));
        let wanted = Wanted { conditions, exact, namespace: selector.namespace };
        match &selector.only {
            Some(only) => self.select_only(only, &wanted, &is_column, &mut sids, goes_on)?,
            None => self.select_all(&wanted, &is_column, &mut sids, goes_on)?,
        }
        sids.sort_unstable();
        sids.dedup();
        Ok(sids)
    }

    fn select_only(
        &self,
        only: &[u32],
        wanted: &Wanted,
        is_column: &Bitmap,
        sids: &mut Vec<u32>,
        goes_on: &GoesOn<'_>,
    ) -> Result<(), Error> {
        let mut sources = Sources::new(self);
        let mut asking = wanted.asking(goes_on);
        for &sid in only {
            asking.look()?;
            let Some((source, column)) = sources.of_series(sid)? else { continue };
            if is_column.contains(column) && wanted.accepts(self, &mut sources, source)? {
                sids.push(sid);
            }
        }
        Ok(())
    }

    fn select_all(
        &self,
        wanted: &Wanted,
        is_column: &Bitmap,
        sids: &mut Vec<u32>,
        goes_on: &GoesOn<'_>,
    ) -> Result<(), Error> {
        let mut sources = Sources::new(self);
        let mut asking = wanted.asking(goes_on);
        let mut take = |source| -> Result<(), Error> {
            asking.look()?;
            if wanted.accepts(self, &mut sources, source)? {
                let series = sources.get(source)?.series.iter();
                sids.extend(series.filter(|(column, _)| is_column.contains(*column)).map(|s| s.1));
            }
            Ok(())
        };
        // Any wanted condition will do to begin with; the others are bits.
        match wanted.conditions.iter().find(|condition| !condition.unwanted) {
            Some(condition) => condition.sources.iter().try_for_each(take),
            None => (0..self.tables.sources.len).try_for_each(&mut take),
        }
    }

    /// The columns of a namespace.
    pub(super) fn columns_in(&self, namespace: u32) -> Result<Range<u32>, Error> {
        let columns = self.tables.columns;
        let all = (0, columns.len);
        let start = columns.partition(self, all, |[n, ..]: [u32; 3]| Ok(n < namespace))?;
        let end = columns.partition(self, all, |[n, ..]: [u32; 3]| Ok(n <= namespace))?;
        Ok(start..end)
    }

    /// The columns that one of the readings of a name fits, ascending.
    pub(super) fn columns_named(
        &self,
        namespace: u32,
        readings: &[Name],
    ) -> Result<Vec<u32>, Error> {
        let mut found = Vec::new();
        let all = self.columns_in(namespace)?;
        for reading in readings {
            match reading.measurement.literals() {
                Some(literals) => {
                    for literal in literals {
                        let kind = SymbolKind::Measurement;
                        let Some(wanted) = self.find_symbol(kind, literal)? else { continue };
                        let columns = self.tables.columns;
                        let all = (all.start, all.end);
                        let start =
                            columns.partition(self, all, |[_, m, _]: [u32; 3]| Ok(m < wanted))?;
                        let end =
                            columns.partition(self, all, |[_, m, _]: [u32; 3]| Ok(m <= wanted))?;
                        self.columns_of(start..end, None, &reading.field, &mut found)?;
                    }
                }
                None => {
                    let test = Some(&reading.measurement);
                    self.columns_of(all.clone(), test, &reading.field, &mut found)?;
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// The columns of a range that pass two tests.
    fn columns_of(
        &self,
        range: Range<u32>,
        measurement: Option<&Test>,
        field: &Test,
        found: &mut Vec<u32>,
    ) -> Result<(), Error> {
        let mut measurements = Strings::new(self, SymbolKind::Measurement);
        let mut fields = Strings::new(self, SymbolKind::Field);
        let columns = self.tables.columns.range::<3>(self, range.start, range.end)?;
        let mut last = None;
        for (column, [_, of, name]) in range.zip(columns) {
            let passes = match (measurement, last) {
                (None, _) => true,
                (Some(_), Some((tested, passes))) if tested == of => passes,
                (Some(test), _) => test.passes(&measurements.get(of)?),
            };
            last = Some((of, passes));
            if passes && field.passes(&fields.get(name)?) {
                found.push(column);
            }
        }
        Ok(())
    }

    /// The pairs of a label.
    pub(super) fn pairs_of_label(&self, namespace: u32, label: u32) -> Result<Range<u32>, Error> {
        let labels = self.tables.labels;
        let is_before = |[n, l, ..]: [u32; 4]| Ok((n, l) < (namespace, label));
        let at = labels.partition(self, (0, labels.len), is_before)?;
        if at < labels.len {
            let [n, l, start, end] = labels.get::<4>(self, at)?;
            if (n, l) == (namespace, label) {
                return Ok(start..end);
            }
        }
        Ok(0..0)
    }

    fn condition(
        &self,
        namespace: u32,
        matcher: &Matcher,
        goes_on: &GoesOn<'_>,
    ) -> Result<Condition, Error> {
        let unwanted = matcher.accepts_absent;
        let mut condition = Condition { sources: Bitmap::default(), is_void: true, unwanted };
        let Some(label) = self.find_symbol(SymbolKind::LabelName, &matcher.name)? else {
            return Ok(condition);
        };
        let range = self.pairs_of_label(namespace, label)?;
        let mut take = |pair| -> Result<(), Error> {
            condition.is_void = false;
            let mut take = |source| condition.sources.set(source);
            self.ids_while(self.tables.sources_of_pair, pair, &mut take, goes_on)
        };
        // Where a value that passes is in the set sought, how it may look tells which ones to test.
        let reach = (matcher.negated == unwanted).then(|| matcher.test.reach());
        if let Some(Reach::OneOf(literals)) = &reach {
            for literal in literals.iter() {
                let value = self.find_symbol(SymbolKind::LabelValue, literal)?;
                if let Some(pair) = value.map(|v| self.find_pair(range.clone(), v)).transpose()? {
                    pair.into_iter().try_for_each(&mut take)?;
                }
            }
            return Ok(condition);
        }
        let mut start = range.start;
        let prefix = match reach {
            Some(Reach::Beginning(prefix)) => prefix,
            _ => String::new(),
        };
        if !prefix.is_empty() {
            let first = self.symbols_before(SymbolKind::LabelValue, &prefix)?;
            let bounds = (range.start, range.end);
            start = self.tables.pairs.partition(self, bounds, |[value]| Ok(value < first))?;
        }
        let mut values = Strings::new(self, SymbolKind::LabelValue);
        let of_label = self.tables.pairs.range::<1>(self, start, range.end)?;
        for (pair, [value]) in (start..range.end).zip(of_label) {
            if pair % VALUES_PER_ASK == 0 && !goes_on(VALUES_PER_ASK as usize) {
                return Err(Error::Stopped);
            }
            let value = values.get(value)?;
            if !value.starts_with(&prefix) {
                break;
            }
            if matcher.matches(Some(&value)) != unwanted {
                take(pair)?;
            }
        }
        Ok(condition)
    }

    fn find_pair(&self, range: Range<u32>, value: u32) -> Result<Option<u32>, Error> {
        let pairs = self.tables.pairs;
        let at = pairs.partition(self, (range.start, range.end), |[v]| Ok(v < value))?;
        if at == range.end {
            return Ok(None);
        }
        let [found] = pairs.get(self, at)?;
        Ok((found == value).then_some(at))
    }

    pub(super) fn sources_of(&self, pair: u32, each: &mut dyn FnMut(u32)) -> Result<(), Error> {
        self.ids_while(self.tables.sources_of_pair, pair, each, &|_| true)
    }

    /// The series of a column, counted from the epoch's first.
    pub(super) fn ids(&self, column: u32, each: &mut dyn FnMut(u32)) -> Result<(), Error> {
        self.ids_while(self.tables.series_of_column, column, each, &|_| true)
    }

    /// The ids of a row, each of which takes a byte at least, if it is to go on.
    fn ids_while(
        &self,
        rows: Rows,
        index: u32,
        each: &mut dyn FnMut(u32),
        goes_on: &GoesOn<'_>,
    ) -> Result<(), Error> {
        let row = rows.row(self, index)?;
        if !may_walk(row.len(), goes_on) {
            return Err(Error::Stopped);
        }
        self.read(rows, || each_id(&row, each))
    }

    /// Places of label names, ascending; nothing when one of them is unknown.
    fn label_symbols(&self, names: &[String]) -> Result<Option<Vec<u32>>, Error> {
        let mut found = Vec::with_capacity(names.len());
        for name in names {
            match self.find_symbol(SymbolKind::LabelName, name)? {
                Some(label) => found.push(label),
                None => return Ok(None),
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(Some(found))
    }
}

fn each_id(mut row: &[u8], each: &mut dyn FnMut(u32)) -> Option<()> {
    let mut id = 0u32;
    while !row.is_empty() {
        id = id.checked_add(get_u32(&mut row).ok()?)?;
        each(id);
    }
    Some(())
}

/// What is asked of sources.
struct Wanted {
    conditions: Vec<Condition>,
    /// Places of exactly the label names to have, ascending.
    exact: Option<Vec<u32>>,
    namespace: u32,
}

/// Asks now and then whether to go on.
struct Asking<'a> {
    goes_on: &'a GoesOn<'a>,
    conditions: u32,
    looked: u32,
}

impl Asking<'_> {
    /// Before a source is held against all conditions.
    fn look(&mut self) -> Result<(), Error> {
        self.looked = self.looked.saturating_add(self.conditions);
        if self.looked < VALUES_PER_ASK {
            return Ok(());
        }
        self.looked = 0;
        (self.goes_on)(VALUES_PER_ASK as usize).then_some(()).ok_or(Error::Stopped)
    }
}

impl Wanted {
    fn asking<'a>(&self, goes_on: &'a GoesOn<'a>) -> Asking<'a> {
        Asking { goes_on, conditions: 1 + self.conditions.len() as u32, looked: 0 }
    }

    fn accepts(
        &self,
        segment: &Segment,
        sources: &mut Sources<'_>,
        source: u32,
    ) -> Result<bool, Error> {
        let holds =
            |condition: &Condition| condition.sources.contains(source) != condition.unwanted;
        if !self.conditions.iter().all(holds) {
            return Ok(false);
        }
        let found = sources.get(source)?;
        if found.namespace != self.namespace {
            return Ok(false);
        }
        let Some(exact) = &self.exact else { return Ok(true) };
        if found.pairs.len() != exact.len() {
            return Ok(false);
        }
        let mut labels = Vec::with_capacity(exact.len());
        for &pair in &found.pairs {
            labels.push(segment.pair(pair)?[0]);
        }
        labels.sort_unstable();
        Ok(labels == *exact)
    }
}
