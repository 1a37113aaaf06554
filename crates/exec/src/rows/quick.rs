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
mod slices;
mod windows;
mod work;

use super::Context;
use super::grid::Grid;
use super::reducers::figure_of;
use super::row::Head;
use super::slice::Reader;
use super::sources::Member;
use super::strip::{Stream, Strip};
use crate::Error;
use crate::kernels::tally::Figure;
use crate::limits::Charge;
use folder::Folder;
use foliot_engine::Run;
use foliot_lock::{Mutex, Rank};
use foliot_model::{Kind, TimeRange};
use foliot_plan::rows::{Carried, Layout, Reduce, Rows, Scan};
use slices::Slices;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use windows::{Folded, Heads, Windows};
use work::{Batch, Task, Work};

/// Heads that are folded at a time where nobody knows how many windows they will have, or they
/// would take much memory.
const HEADS_AT_ONCE: usize = 64;
/// The share of a query's memory that the windows of heads may take which are folded at a time.
const WINDOWS_SHARE: u64 = 8;
/// Series that one thread folds at a time.
const SERIES_AT_ONCE: usize = 256;
/// Sources whose rows are tested that one thread folds at a time.
const SOURCES_AT_ONCE: usize = 32;
/// Series from which on threads are worth starting.
const SERIES_WORTH_THREADS: usize = 128;

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
    /// The rows of `reduce`, if it is such a fold, at the starts of their windows if they are to be
    /// stamped; those of a head beyond `wanted` may be missing.
    pub(super) fn new(
        reduce: &'q Reduce,
        (wanted, is_stamped): (Option<u64>, bool),
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
        let column = reading.borrow_mut().add(value, figure, is_stamped);
        Ok(Some(Self { reading, column }))
    }
}

impl Stream for Quick<'_> {
    fn next(&mut self) -> Result<Option<Strip>, Error> {
        let mut reading = self.reading.borrow_mut();
        loop {
            let column = reading.columns.get_mut(self.column);
            if let Some(strip) = column.and_then(|column| column.ready.pop_front()) {
                return Ok(Some(strip));
            }
            if !reading.next_head()? {
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
    grid: Grid,
    context: Context<'q>,
    columns: Vec<Fold>,
    /// What there is to fold; nothing before the first row is asked for.
    work: Option<Work<'q>>,
    /// Heads that were folded and have no rows yet, the next one last, and what they take.
    folded: Vec<(u32, Vec<Windows>)>,
    held: Option<Charge<'q>>,
    /// What rows take.
    charge: Charge<'q>,
}

/// What one thread folds at a time.
enum Piece<'w> {
    Tasks(&'w [Task]),
    Tested(&'w [(u32, Member)]),
}

/// One fold.
struct Fold {
    /// Which of the fields that rows carry.
    field: usize,
    figure: Figure,
    /// Whether rows are stamped with the starts of their windows; what has none, with the epoch.
    is_stamped: bool,
    ready: VecDeque<Strip>,
}

impl<'q> Reading<'q> {
    fn new(scan: &Scan, layout: &'q Layout, context: Context<'q>) -> Result<Self, Error> {
        let scan = Scan { value: None, ..scan.clone() };
        Ok(Self {
            shared: scan.clone(),
            fields: HashMap::new(),
            columns_of: Vec::new(),
            scan,
            layout,
            wanted: None,
            grid: Grid::new(layout)?,
            context,
            columns: Vec::new(),
            work: None,
            folded: Vec::new(),
            held: None,
            charge: context.meter.open(),
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
    fn add(&mut self, field: &(Arc<str>, Kind), figure: Figure, is_stamped: bool) -> usize {
        let at = *self.fields.entry(field.clone()).or_insert(self.scan.carried.len());
        if at == self.scan.carried.len() {
            self.scan.carried.push(Carried::Field(field.0.clone(), field.1));
            self.columns_of.push(Vec::new());
        }
        self.columns_of.get_mut(at).into_iter().for_each(|of| of.push(self.columns.len()));
        self.columns.push(Fold { field: at, figure, is_stamped, ready: VecDeque::new() });
        self.columns.len() - 1
    }

    /// Puts the rows of the next head into the columns; false behind the last one.
    fn next_head(&mut self) -> Result<bool, Error> {
        if self.folded.is_empty() && !self.fold_more()? {
            return Ok(false);
        }
        let work = self.work.as_ref();
        if let Some((head, windows)) = self.folded.pop()
            && let Some(head) = work.and_then(|work| work.heads.get(head as usize))
        {
            for (column, windows) in self.columns.iter_mut().zip(windows) {
                column.emit(head, (windows, &self.grid), self.layout.descending)?;
            }
        }
        let strips = self.columns.iter().flat_map(|column| &column.ready);
        self.charge.resize(strips.map(Strip::bytes).sum())?;
        Ok(true)
    }

    /// Folds the next heads of which some have windows; false if there are none.
    fn fold_more(&mut self) -> Result<bool, Error> {
        self.held = None;
        let mut work = match self.work.take() {
            Some(work) => work,
            None => {
                let mut work = Work::find(&self.scan, self.context)?;
                work.cut(self.heads_at_once());
                work
            }
        };
        while self.folded.is_empty()
            && let Some(batch) = work.next_batch()
        {
            let folded = match Slices::new(self, &batch)? {
                Some(slices) => self.fold_slices(slices, &batch)?,
                None => self.fold(batch.tasks, batch.tested, self.scan.layout.range)?,
            };
            (self.folded, self.held) = folded.into_parts();
        }
        self.folded.sort_unstable_by_key(|(head, _)| std::cmp::Reverse(*head));
        if work.is_done() {
            // Other folds of the same answer may be waiting for the memory.
            work.let_go(&self.scan)?;
        }
        self.work = Some(work);
        Ok(!self.folded.is_empty())
    }

    /// How many heads are folded at a time: as many as memory has room for.
    fn heads_at_once(&self) -> usize {
        let TimeRange { start_ns, end_ns } = self.scan.layout.range;
        let windows = match self.grid.width_ns() {
            None => Some(1),
            Some(width_ns) => {
                end_ns.checked_sub(start_ns).map(|length_ns| length_ns / width_ns + 2)
            }
        };
        let Some(windows) = windows else { return HEADS_AT_ONCE };
        let bytes =
            (windows.max(1) as u64).saturating_mul(Windows::BYTES * self.columns.len() as u64);
        let room = self.context.meter.limits().memory_bytes / WINDOWS_SHARE;
        usize::try_from(room / bytes.max(1)).unwrap_or(usize::MAX).max(HEADS_AT_ONCE)
    }

    /// Folds heads slice by slice, each until it has as many windows as are wanted.
    fn fold_slices(&self, slices: Slices, batch: &Batch<'_>) -> Result<Heads<'q>, Error> {
        let mut found = Heads::new(self.figures(), self.context.meter);
        let mut tasks = batch.tasks.to_vec();
        for range in slices {
            found.absorb(self.fold(&tasks, batch.tested, range)?)?;
            tasks.retain(|task| !self.are_enough(found.of(task.head)));
            if tasks.is_empty() {
                break;
            }
        }
        Ok(found)
    }

    fn are_enough(&self, windows: &[Windows]) -> bool {
        let is_enough = |windows: &Windows| {
            let found = windows.iter().filter(|(_, tally)| !tally.is_null()).count() as u64;
            self.wanted.is_some_and(|wanted| found >= wanted)
        };
        windows.iter().all(is_enough)
    }

    fn figures(&self) -> Arc<[Figure]> {
        self.columns.iter().map(|column| column.figure).collect()
    }

    /// Folds series and sources, on several threads if they are many.
    fn fold(
        &self,
        tasks: &[Task],
        tested: &[(u32, Member)],
        range: TimeRange,
    ) -> Result<Heads<'q>, Error> {
        let meter = self.context.meter;
        let tested_pieces = tested.chunks(SOURCES_AT_ONCE).map(Piece::Tested);
        let pieces = tasks.chunks(SERIES_AT_ONCE).map(Piece::Tasks).chain(tested_pieces);
        let threads = match tasks.len() + tested.len() * self.scan.carried.len() {
            SERIES_WORTH_THREADS.. => meter.limits().threads.max(1),
            _ => 1,
        };
        let queue = Mutex::new(Rank::Query, pieces.enumerate());
        let folded = Mutex::new(Rank::Query, Folded::new(self.figures(), meter));
        let run = || -> Result<(), Error> {
            loop {
                let next = queue.lock().next();
                let Some((number, piece)) = next else { return Ok(()) };
                let mut heads = Heads::new(self.figures(), meter);
                match piece {
                    Piece::Tasks(tasks) => self.fold_tasks(tasks, range, &mut heads)?,
                    Piece::Tested(tested) => self.fold_tested(tested, &mut heads)?,
                }
                folded.lock().add(number, heads)?;
            }
        };
        if threads == 1 {
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

    /// Folds series one after the other. What windows take is charged run by run: a series may have
    /// as many windows as samples.
    fn fold_tasks(
        &self,
        tasks: &[Task],
        range: TimeRange,
        heads: &mut Heads<'q>,
    ) -> Result<(), Error> {
        let Context { source, meter, .. } = self.context;
        let (mut runs, mut run) = (source.runs(range, meter)?, Run::default());
        let mut charge = meter.open();
        for task in tasks {
            let Some(Carried::Field(_, kind)) = self.scan.carried.get(task.field as usize) else {
                continue;
            };
            let columns = self.columns_of.get(task.field as usize).map_or(&[][..], Vec::as_slice);
            let mut folders = Vec::with_capacity(columns.len());
            for (at, windows) in heads.of(task.head).iter_mut().enumerate() {
                if let Some(column) = self.columns.get(at).filter(|_| columns.contains(&at)) {
                    folders.push(Folder::new(column.figure, &self.grid, windows));
                }
            }
            runs.turn(task.sid)?;
            loop {
                while let Some(block) = runs.peek()
                    && folders.iter().all(|folder| folder.takes(&block, *kind))
                {
                    folders.iter_mut().for_each(|folder| folder.add_block(&block, *kind));
                    runs.skip()?;
                }
                if !runs.next(&mut run)? {
                    break;
                }
                folders.iter_mut().for_each(|folder| folder.add_run(&run, *kind));
                charge.add(folders.iter_mut().map(Folder::grown_bytes).sum())?;
            }
            charge.add(folders.iter_mut().map(Folder::grown_bytes).sum())?;
            heads.take_over(&mut charge)?;
        }
        Ok(())
    }

    /// Folds the rows of sources that pass their tests.
    fn fold_tested(&self, tested: &[(u32, Member)], heads: &mut Heads<'q>) -> Result<(), Error> {
        let Context { source, meter, .. } = self.context;
        for (head, member) in tested {
            let mut reader = Reader::new(&self.scan, member.clone(), source, meter, 1);
            let windows = heads.of(*head).iter_mut();
            let mut folders: Vec<_> = windows
                .zip(&self.columns)
                .map(|(windows, column)| Folder::new(column.figure, &self.grid, windows))
                .collect();
            let mut charge = meter.open();
            while let Some(rows) = reader.next()? {
                for (column, folder) in self.columns.iter().zip(&mut folders) {
                    let Some(values) = rows.carried.get(column.field) else { continue };
                    let samples = rows.times_ns.iter().zip(values.iter());
                    samples.filter(|(_, value)| !value.is_null()).for_each(|(&time_ns, value)| {
                        folder.add(time_ns, value.into_owned());
                    });
                }
                charge.add(folders.iter_mut().map(Folder::grown_bytes).sum())?;
            }
            heads.take_over(&mut charge)?;
        }
        Ok(())
    }
}

impl Fold {
    fn emit(
        &mut self,
        head: &Arc<Head>,
        (windows, grid): (Windows, &Grid),
        descending: bool,
    ) -> Result<(), Error> {
        let mut strip = Strip::new(head.clone(), 0);
        for (start_ns, tally) in windows.into_vec() {
            let (time_ns, value) = tally.finish();
            let time_ns = match self.is_stamped {
                true => grid.stamp(start_ns)?,
                false => time_ns.unwrap_or(start_ns),
            };
            if !value.is_null() {
                strip.push(time_ns, value, []);
            }
        }
        if descending {
            strip.reverse();
        }
        self.ready.extend((!strip.is_empty()).then_some(strip));
        Ok(())
    }
}
