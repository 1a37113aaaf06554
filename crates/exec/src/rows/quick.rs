//! Folds stored series by functions that need no order, run of samples by run of samples.
//!
//! Each source is folded into windows by itself, blocks that lie in one window by their summaries
//! where that comes to the same; the windows of a head's sources are then joined. Sources that rows
//! have to be tested of are read row by row.
//!
//! The folds of one selection over the same sources share a [`Reading`]: sources are found and
//! named once, and each field is read once, whatever is asked of it.
//!
//! Where only the first windows of each head are wanted, the range is read slice by slice until
//! there are as many.

mod folder;
mod pieces;
mod slices;

use super::Context;
use super::grid::Grid;
use super::reducers::figure_of;
use super::row::{Head, Row, Stream};
use super::slice::Reader;
use super::sources::{self, Group, Member, Selected};
use crate::kernels::tally::{Figure, Tally};
use crate::limits::Charge;
use crate::source::Spares;
use crate::{Error, stream};
use folder::Folder;
use foliot_lock::{Mutex, Rank};
use foliot_model::{Kind, Samples, TimeRange};
use foliot_plan::rows::{Carried, Layout, Reduce, Rows, Scan};
use pieces::{Folded, Members, Windows, join};
use slices::Slices;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

/// Heads that are folded at a time.
const GROUPS_AT_ONCE: usize = 64;
/// Sources from which on threads are worth starting.
const MEMBERS_WORTH_THREADS: usize = 16;

/// What the folds of one selection read.
#[derive(Default)]
pub(super) struct Readings<'q>(RefCell<Vec<Rc<RefCell<Reading<'q>>>>>);

/// The rows of a fold over a scan.
pub(super) struct Quick<'q> {
    reading: Rc<RefCell<Reading<'q>>>,
    /// Which of its columns.
    column: usize,
}

impl<'q> Quick<'q> {
    /// The rows of `reduce`, if it is such a fold; those of a head beyond `wanted` may be missing.
    pub(super) fn new(
        reduce: &'q Reduce,
        wanted: Option<u64>,
        readings: &Readings<'q>,
        context: Context<'q>,
    ) -> Result<Option<Self>, Error> {
        let Rows::Scan(scan) = &reduce.input else { return Ok(None) };
        let Some(figure) = figure_of(&reduce.function) else { return Ok(None) };
        let Some(value) = &scan.value else { return Ok(None) };
        let layout = &*reduce.layout;
        let has_one_head = layout.group_by == layout.order_by;
        if !has_one_head || !scan.carried.is_empty() || scan.rows_max.is_some() {
            return Ok(None);
        }
        let mut known = readings.0.borrow_mut();
        let serves = |reading: &&Rc<RefCell<Reading<'q>>>| {
            let reading = reading.borrow();
            reading.wanted == wanted && reading.serves(scan, layout)
        };
        let reading = match known.iter().find(serves) {
            Some(reading) => Rc::clone(reading),
            None => {
                let reading = Reading { wanted, ..Reading::new(scan, layout, context)? };
                let reading = Rc::new(RefCell::new(reading));
                known.push(Rc::clone(&reading));
                reading
            }
        };
        let column = reading.borrow_mut().add(value, figure);
        Ok(Some(Self { reading, column }))
    }
}

impl Stream for Quick<'_> {
    fn next(&mut self) -> Result<Option<Row>, Error> {
        let mut reading = self.reading.borrow_mut();
        loop {
            let column = reading.columns.get_mut(self.column);
            if let Some(row) = column.and_then(|column| column.ready.pop_front()) {
                return Ok(Some(row));
            }
            if !reading.next_groups()? {
                return Ok(None);
            }
        }
    }
}

/// Sources that are read once for several folds.
struct Reading<'q> {
    /// Whose sources: rows carry all fields that are folded.
    scan: Scan,
    /// The same without any field: what all scans have in common that share this.
    shared: Scan,
    /// Where the fields stand among those that rows carry.
    fields: HashMap<(Arc<str>, Kind), usize>,
    /// The columns that fold each of these.
    columns_of: Vec<Vec<usize>>,
    layout: &'q Layout,
    /// How many rows of each head are wanted; nothing: all.
    wanted: Option<u64>,
    /// What is read at a time.
    range: TimeRange,
    grid: Grid,
    context: Context<'q>,
    columns: Vec<Column>,
    /// What is left to fold; nothing before the first row is asked for.
    groups: Option<std::vec::IntoIter<(Arc<Head>, Members)>>,
    /// What the heads' series were selected by, field by field, if they are many.
    many: Vec<(Scan, Selected)>,
    spares: Arc<Spares>,
    charge: Charge<'q>,
    names: Vec<Charge<'q>>,
}

/// One fold.
struct Column {
    /// Which of the fields that rows carry.
    field: usize,
    figure: Figure,
    ready: VecDeque<Row>,
}

impl<'q> Reading<'q> {
    fn new(scan: &Scan, layout: &'q Layout, context: Context<'q>) -> Result<Self, Error> {
        let scan = Scan { value: None, ..scan.clone() };
        Ok(Self {
            shared: scan.clone(),
            fields: HashMap::new(),
            columns_of: Vec::new(),
            range: scan.layout.range,
            scan,
            layout,
            wanted: None,
            grid: Grid::new(layout)?,
            context,
            columns: Vec::new(),
            groups: None,
            many: Vec::new(),
            spares: Arc::default(),
            charge: context.meter.open(),
            names: Vec::new(),
        })
    }

    /// Whether a fold of another scan's value can share the reading. Where sources or heads are
    /// counted off, it has to be the same value.
    fn serves(&self, scan: &Scan, layout: &Layout) -> bool {
        let is_counted = scan.heads != (0, None) || scan.sources_max.is_some();
        let is_same = |(name, kind): &(Arc<str>, Kind)| {
            let field = Carried::Field(name.clone(), *kind);
            self.scan.carried.iter().all(|carried| *carried == field)
        };
        (!is_counted || scan.value.as_ref().is_some_and(is_same))
            && *self.layout == *layout
            && Scan { value: None, ..scan.clone() } == self.shared
    }

    /// Adds a fold, and returns which column it is.
    fn add(&mut self, field: &(Arc<str>, Kind), figure: Figure) -> usize {
        let at = *self.fields.entry(field.clone()).or_insert(self.scan.carried.len());
        if at == self.scan.carried.len() {
            self.scan.carried.push(Carried::Field(field.0.clone(), field.1));
            self.columns_of.push(Vec::new());
        }
        self.columns_of.get_mut(at).into_iter().for_each(|of| of.push(self.columns.len()));
        self.columns.push(Column { field: at, figure, ready: VecDeque::new() });
        self.columns.len() - 1
    }

    fn next_groups(&mut self) -> Result<bool, Error> {
        let Some(groups) = &mut self.groups else {
            self.groups = Some(self.find()?.into_iter());
            return Ok(true);
        };
        let groups: Vec<_> = groups.by_ref().take(GROUPS_AT_ONCE).collect();
        if groups.is_empty() {
            return Ok(false);
        }
        let heads: Vec<Arc<Head>> = groups.iter().map(|(head, _)| head.clone()).collect();
        let folded = match Slices::new(self, &groups)? {
            Some(slices) => self.fold_slices(slices, groups)?,
            None => self.fold(groups)?,
        };
        if self.groups.as_ref().is_some_and(|rest| rest.len() == 0) {
            // Other folds of the same answer may be waiting for the memory.
            self.names.clear();
            self.many.clear();
        }
        for (head, windows) in heads.into_iter().zip(folded) {
            for (column, windows) in self.columns.iter_mut().zip(windows) {
                column.emit(&head, windows, self.layout.descending);
            }
        }
        let rows: usize = self.columns.iter().map(|column| column.ready.len()).sum();
        self.charge.resize(rows * size_of::<Row>())?;
        Ok(true)
    }

    /// Finds what is to be folded, by head.
    fn find(&mut self) -> Result<Vec<(Arc<Head>, Members)>, Error> {
        let Context { source, meter, .. } = self.context;
        let fields = self.scan.carried.len().max(1);
        let selected = sources::select(&self.scan, source, meter)?;
        if selected.are_many(&self.scan) {
            return self.find_many(selected);
        }
        // The limit is one on the series of a field.
        meter.admit(selected.sids.len().div_ceil(fields))?;
        let (groups, charge) = sources::find_selected(&self.scan, &selected, source, meter)?;
        self.names.push(charge);
        let with_head = |group: Group| {
            let head = group.members.first().map(|member| member.head.clone())?;
            Some((head, Members::Named(group.members)))
        };
        let groups: Vec<_> = groups.into_iter().filter_map(with_head).collect();
        self.context.count(groups.iter().map(|(_, members)| members.len()).sum());
        Ok(groups)
    }

    /// The same where series are too many to be known by name.
    fn find_many(&mut self, selected: Selected) -> Result<Vec<(Arc<Head>, Members)>, Error> {
        let Context { source, meter, .. } = self.context;
        let fields = self.scan.carried.len();
        let mut places: HashMap<Arc<Head>, usize> = HashMap::new();
        let mut found: Vec<(Arc<Head>, Vec<Vec<u32>>)> = Vec::new();
        let mut of_all = Some(selected).filter(|_| fields == 1);
        for (at, field) in self.scan.carried.iter().enumerate() {
            let scan = Scan { carried: vec![field.clone()], ..self.scan.clone() };
            let selected = match of_all.take() {
                Some(selected) => selected,
                None => sources::select(&scan, source, meter)?,
            };
            meter.admit(selected.sids.len())?;
            self.context.count(selected.sids.len());
            let (heads, charge) = selected.by_head(&scan, source, meter)?;
            self.names.push(charge);
            for (head, sids) in heads {
                let place = *places.entry(head.clone()).or_insert(found.len());
                if place == found.len() {
                    found.push((head, vec![Vec::new(); fields]));
                }
                let of_head = found.get_mut(place);
                if let Some(of_field) = of_head.and_then(|(_, by_field)| by_field.get_mut(at)) {
                    *of_field = sids;
                }
            }
            self.many.push((scan, selected));
        }
        found.sort_by(|(a, _), (b, _)| a.compare(b, &self.scan.layout.order_by));
        if self.scan.heads_descending {
            found.reverse();
        }
        Ok(found.into_iter().map(|(head, sids)| (head, Members::Many(sids))).collect())
    }

    /// Folds groups slice by slice, each until it has as many windows as are wanted.
    fn fold_slices(
        &mut self,
        slices: Slices,
        mut groups: Vec<(Arc<Head>, Members)>,
    ) -> Result<Vec<Vec<Windows>>, Error> {
        let no_windows = || self.columns.iter().map(|_| Windows::new()).collect();
        let mut found: Vec<Vec<Windows>> = groups.iter().map(|_| no_windows()).collect();
        let mut places: Vec<usize> = (0..groups.len()).collect();
        for range in slices {
            // Scans that ended were over another range.
            (self.range, self.spares) = (range, Arc::default());
            let folded = self.fold(groups.clone())?;
            let mut left = Vec::new();
            for ((place, group), windows) in places.into_iter().zip(groups).zip(folded) {
                let Some(found) = found.get_mut(place) else { continue };
                for (found, windows) in found.iter_mut().zip(windows) {
                    join(found, windows);
                }
                if !found.iter().all(|windows| self.are_enough(windows)) {
                    left.push((place, group));
                }
            }
            (places, groups) = left.into_iter().unzip();
            if groups.is_empty() {
                break;
            }
        }
        (self.range, self.spares) = (self.scan.layout.range, Arc::default());
        Ok(found)
    }

    fn are_enough(&self, windows: &Windows) -> bool {
        let found = windows.iter().filter(|(_, tally)| !tally.is_null()).count() as u64;
        self.wanted.is_some_and(|wanted| found >= wanted)
    }

    /// Folds groups, on several threads if there are many sources: the windows of each head and
    /// column.
    fn fold(&self, groups: Vec<(Arc<Head>, Members)>) -> Result<Vec<Vec<Windows>>, Error> {
        let folded = Folded::new(groups.len(), self.columns.len(), self.context.meter);
        let members: usize = groups.iter().map(|(_, members)| members.len()).sum();
        let work: Vec<(usize, Members)> = groups
            .into_iter()
            .enumerate()
            .flat_map(|(at, (_, members))| members.pieces().into_iter().map(move |p| (at, p)))
            .collect();
        let threads = self.context.meter.limits().threads.max(1).min(work.len());
        let queue = Mutex::new(Rank::Query, work.into_iter().enumerate());
        let folded = Mutex::new(Rank::Query, folded);
        let run = || -> Result<(), Error> {
            loop {
                let next = queue.lock().next();
                let Some((number, (at, members))) = next else { return Ok(()) };
                let windows = self.fold_members(members)?;
                let mut folded = folded.lock();
                folded.add(number, at, windows)?;
            }
        };
        if threads == 1 || members < MEMBERS_WORTH_THREADS {
            run()?;
        } else {
            std::thread::scope(|scope| {
                let handles: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
                let mut outcome = run();
                for handle in handles {
                    outcome = outcome.and(handle.join().unwrap_or(Err(Error::Cancelled)));
                }
                outcome
            })?;
        }
        Ok(folded.into_inner().heads)
    }

    /// Folds some sources of one head, one after the other.
    fn fold_members(&self, members: Members) -> Result<Vec<Windows>, Error> {
        let mut windows: Vec<Windows> = self.columns.iter().map(|_| Windows::new()).collect();
        let mut chunk = Samples::default();
        match members {
            Members::Named(members) => {
                for member in members {
                    self.fold_member((&self.scan, 0), member, &mut chunk, &mut windows)?;
                }
            }
            Members::Many(by_field) => {
                for (at, (sids, (scan, selected))) in by_field.iter().zip(&self.many).enumerate() {
                    if !selected.is_whole() {
                        for member in self.named(scan, selected, sids)? {
                            self.fold_member((scan, at), member, &mut chunk, &mut windows)?;
                        }
                        continue;
                    }
                    for sid in sids {
                        self.fold_series((*sid, at), &mut chunk, &mut windows)?;
                    }
                }
            }
        }
        Ok(windows)
    }

    fn named(&self, scan: &Scan, selected: &Selected, sids: &[u32]) -> Result<Vec<Member>, Error> {
        let Context { source, meter, .. } = self.context;
        selected.name(scan, source, sids, meter)
    }

    /// Folds a source whose rows carry fields from the one at `first` on.
    fn fold_member(
        &self,
        (scan, first): (&Scan, usize),
        member: Member,
        chunk: &mut Samples,
        windows: &mut [Windows],
    ) -> Result<(), Error> {
        let Context { source, meter, .. } = self.context;
        if member.condition.is_none() {
            for (at, sid) in member.sids.iter().take(scan.carried.len()).enumerate() {
                if let Some(sid) = sid {
                    self.fold_series((*sid, first + at), chunk, windows)?;
                }
            }
            return Ok(());
        }
        let mut folders: Vec<_> =
            self.columns.iter().map(|column| Folder::new(column.figure, &self.grid)).collect();
        let mut reader = Reader::new(scan, member, source, meter, 1);
        while let Some(row) = reader.next()? {
            for (column, folder) in self.columns.iter().zip(&mut folders) {
                let field = column.field.checked_sub(first);
                let value = field.and_then(|at| row.carried.get(at)).filter(|v| !v.is_null());
                value.into_iter().for_each(|value| folder.add(row.time_ns, value.clone()));
            }
        }
        for (folder, windows) in folders.into_iter().zip(windows) {
            join(windows, folder.finish(self.layout));
        }
        Ok(())
    }

    /// Folds the samples of one field of a source; `chunk` is memory to read into.
    fn fold_series(
        &self,
        (sid, field): (u32, usize),
        chunk: &mut Samples,
        windows: &mut [Windows],
    ) -> Result<(), Error> {
        let Context { source, meter, .. } = self.context;
        let Some(Carried::Field(_, kind)) = self.scan.carried.get(field) else { return Ok(()) };
        let folder = |at: &usize| {
            let column = self.columns.get(*at)?;
            Some((*at, Folder::new(column.figure, &self.grid)))
        };
        let columns = self.columns_of.get(field).into_iter().flatten();
        let mut folds: Vec<(usize, Folder<'_>)> = columns.filter_map(folder).collect();
        let mut stream = source.open(sid, self.range, &self.spares, meter)?;
        loop {
            if let stream::Stream::Stored(stored) = &mut stream {
                while let Some(block) = stored.peek()
                    && folds.iter().all(|(_, folder)| folder.takes(&block, *kind))
                {
                    folds.iter_mut().for_each(|(_, folder)| folder.add_block(&block, *kind));
                    stored.skip(meter)?;
                }
            }
            if !stream.next(meter, chunk)? {
                break;
            }
            folds.iter_mut().for_each(|(_, folder)| folder.add_samples(chunk, *kind));
        }
        for (at, folder) in folds {
            if let Some(windows) = windows.get_mut(at) {
                join(windows, folder.finish(self.layout));
            }
        }
        Ok(())
    }
}

impl Column {
    fn emit(&mut self, head: &Arc<Head>, windows: Windows, descending: bool) {
        let row = |(start_ns, tally): (i64, Tally)| {
            let (time_ns, value) = tally.finish();
            let time_ns = time_ns.unwrap_or(start_ns);
            let row = Row { head: head.clone(), time_ns, value, carried: Vec::new() };
            (!row.value.is_null()).then_some(row)
        };
        match descending {
            false => self.ready.extend(windows.into_iter().filter_map(row)),
            true => self.ready.extend(windows.into_iter().rev().filter_map(row)),
        }
    }
}
