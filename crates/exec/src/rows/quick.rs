//! Folds stored series by functions that need no order, run of samples by run of samples.
//!
//! Each source is folded into windows by itself, blocks that lie in one window by their summaries
//! where that comes to the same; the windows of a head's sources are then joined. Sources that rows
//! have to be tested of are read row by row.

mod pieces;

use super::Context;
use super::grid::{Grid, TIME_MIN_NS};
use super::reducers::figure_of;
use super::row::{Head, Row, Stream};
use super::slice::{Reader, item};
use super::sources::{self, Group, Member, Selected};
use crate::kernels::tally::{Choice, Figure, Tally};
use crate::limits::Charge;
use crate::source::{Spares, Stored};
use crate::{Error, stream};
use foliot_lock::{Mutex, Rank};
use foliot_model::{Kind, Samples, Values};
use foliot_plan::rows::{Layout, Reduce, Rows, Scan};
use pieces::{Folded, Members, Windows, join};
use std::collections::VecDeque;
use std::sync::Arc;

/// Heads that are folded at a time.
const GROUPS_AT_ONCE: usize = 64;
/// Sources from which on threads are worth starting.
const MEMBERS_WORTH_THREADS: usize = 16;

/// The rows of a fold over a scan.
pub(super) struct Quick<'q> {
    scan: &'q Scan,
    figure: Figure,
    layout: &'q Layout,
    grid: Grid,
    context: Context<'q>,
    /// What is left to fold; nothing before the first row is asked for.
    groups: Option<std::vec::IntoIter<(Arc<Head>, Members)>>,
    /// What the heads' series were selected by, if they are many.
    selected: Option<Selected>,
    spares: Arc<Spares>,
    ready: VecDeque<Row>,
    charge: Charge<'q>,
    names: Option<Charge<'q>>,
}

impl<'q> Quick<'q> {
    /// The rows of `reduce`, if it is such a fold.
    pub(super) fn new(reduce: &'q Reduce, context: Context<'q>) -> Result<Option<Self>, Error> {
        let Rows::Scan(scan) = &reduce.input else { return Ok(None) };
        let Some(figure) = figure_of(&reduce.function) else { return Ok(None) };
        let layout = &*reduce.layout;
        let has_one_head = layout.group_by == layout.order_by;
        let is_plain = scan.value.is_some() && scan.carried.is_empty() && scan.rows_max.is_none();
        if !has_one_head || !is_plain {
            return Ok(None);
        }
        Ok(Some(Self {
            scan,
            figure,
            layout,
            grid: Grid::new(layout)?,
            context,
            groups: None,
            selected: None,
            spares: Arc::default(),
            ready: VecDeque::new(),
            charge: context.meter.open(),
            names: None,
        }))
    }

    fn next_groups(&mut self) -> Result<bool, Error> {
        let Some(groups) = &mut self.groups else {
            self.groups = Some(self.find()?);
            return Ok(true);
        };
        let groups: Vec<_> = groups.by_ref().take(GROUPS_AT_ONCE).collect();
        if groups.is_empty() {
            self.names = None;
            return Ok(false);
        }
        let heads: Vec<Arc<Head>> = groups.iter().map(|(head, _)| head.clone()).collect();
        let folded = self.fold(groups)?;
        if self.groups.as_ref().is_some_and(|rest| rest.len() == 0) {
            // Other folds of the same answer may be waiting for the memory.
            self.groups = Some(Vec::new().into_iter());
            self.names = None;
            self.selected = None;
        }
        for (head, windows) in heads.into_iter().zip(folded) {
            self.emit(&head, windows);
        }
        self.charge.resize(self.ready.len() * size_of::<Row>())?;
        Ok(true)
    }

    /// Finds what is to be folded, by head.
    fn find(&mut self) -> Result<std::vec::IntoIter<(Arc<Head>, Members)>, Error> {
        let Context { source, meter, .. } = self.context;
        let selected = sources::select(self.scan, source, meter)?;
        if selected.are_many(self.scan) {
            let (heads, charge) = selected.by_head(self.scan, source, meter)?;
            self.context.count(selected.sids.len());
            self.names = Some(charge);
            self.selected = Some(selected);
            let groups = heads.into_iter().map(|(head, sids)| (head, Members::Many(sids)));
            return Ok(groups.collect::<Vec<_>>().into_iter());
        }
        let (groups, charge) = sources::find_selected(self.scan, &selected, source, meter)?;
        self.context.count(groups.iter().map(|group| group.members.len()).sum());
        self.names = Some(charge);
        let with_head = |group: Group| {
            let head = group.members.first().map(|member| member.head.clone())?;
            Some((head, Members::Named(group.members)))
        };
        Ok(groups.into_iter().filter_map(with_head).collect::<Vec<_>>().into_iter())
    }

    /// Folds groups, on several threads if there are many sources.
    fn fold(&self, groups: Vec<(Arc<Head>, Members)>) -> Result<Vec<Windows>, Error> {
        let folded = Folded::new(groups.len(), self.context.meter);
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
    fn fold_members(&self, members: Members) -> Result<Windows, Error> {
        let mut windows = Windows::new();
        match (members, &self.selected) {
            (Members::Named(members), _) => {
                for member in members {
                    join(&mut windows, self.fold_member(member)?);
                }
            }
            (Members::Many(sids), Some(selected)) if !selected.is_whole() => {
                for member in self.named(selected, &sids)? {
                    join(&mut windows, self.fold_member(member)?);
                }
            }
            (Members::Many(sids), _) => {
                for sid in sids {
                    join(&mut windows, self.fold_series(sid)?);
                }
            }
        }
        Ok(windows)
    }

    fn named(&self, selected: &Selected, sids: &[u32]) -> Result<Vec<Member>, Error> {
        let Context { source, meter, .. } = self.context;
        selected.name(self.scan, source, sids, meter)
    }

    fn folder(&self) -> Folder<'_> {
        let (grid, windows) = (&self.grid, Windows::new());
        Folder { figure: self.figure, grid, windows, open: (0, 0) }
    }

    fn fold_member(&self, member: Member) -> Result<Windows, Error> {
        let Context { source, meter, .. } = self.context;
        if member.condition.is_none() {
            let sid = member.sids.first().copied().flatten();
            return sid.map_or(Ok(Windows::new()), |sid| self.fold_series(sid));
        }
        let mut folder = self.folder();
        let mut reader = Reader::new(self.scan, member, source, meter, 1);
        let mut rows = Vec::new();
        while let Some(row) = reader.next()? {
            rows.push(row);
            if rows.len() == 1024 {
                folder.add_rows(&mut rows);
            }
        }
        folder.add_rows(&mut rows);
        Ok(folder.finish(self.layout))
    }

    fn fold_series(&self, sid: u32) -> Result<Windows, Error> {
        let Context { source, meter, .. } = self.context;
        let kind = self.scan.value.as_ref().map_or(Kind::Float, |(_, kind)| *kind);
        let mut folder = self.folder();
        let mut stream = source.open(sid, self.scan.layout.range, &self.spares, meter)?;
        let mut chunk = Samples::default();
        loop {
            if let stream::Stream::Stored(stored) = &mut stream {
                while folder.add_summary(stored, kind) {
                    stored.skip(meter)?;
                }
            }
            if !stream.next(meter, &mut chunk)? {
                return Ok(folder.finish(self.layout));
            }
            folder.add_samples(&chunk, kind);
        }
    }

    fn emit(&mut self, head: &Arc<Head>, windows: Windows) {
        let mut rows = Vec::with_capacity(windows.len());
        for (start_ns, tally) in windows {
            let (time_ns, value) = tally.finish();
            if !value.is_null() {
                let time_ns = time_ns.unwrap_or(start_ns);
                rows.push(Row { head: head.clone(), time_ns, value, carried: Vec::new() });
            }
        }
        if self.layout.descending {
            rows.reverse();
        }
        self.ready.extend(rows);
    }
}

impl Stream for Quick<'_> {
    fn next(&mut self) -> Result<Option<Row>, Error> {
        loop {
            if let Some(row) = self.ready.pop_front() {
                return Ok(Some(row));
            }
            if !self.next_groups()? {
                return Ok(None);
            }
        }
    }
}

/// Folds the samples of one source.
struct Folder<'a> {
    figure: Figure,
    grid: &'a Grid,
    windows: Windows,
    /// The window of the last tally.
    open: (i64, i64),
}

impl Folder<'_> {
    /// The windows, in order.
    fn finish(mut self, layout: &Layout) -> Windows {
        if layout.descending {
            self.windows.sort_by_key(|(start_ns, _)| *start_ns);
        }
        self.windows
    }

    /// The tally of the window that a time lies in.
    fn at(&mut self, time_ns: i64) -> Option<&mut Tally> {
        let is_open = !self.windows.is_empty() && time_ns >= self.open.0 && time_ns < self.open.1;
        if !is_open {
            self.open = self.grid.window(time_ns);
            self.windows.push((self.open.0, Tally::new(self.figure)));
        }
        self.windows.last_mut().map(|(_, tally)| tally)
    }

    fn add_samples(&mut self, samples: &Samples, kind: Kind) {
        let mut rest = samples.times_ns.as_slice();
        let mut at = 0;
        while let Some(&time_ns) = rest.first() {
            if self.at(time_ns).is_none() {
                return;
            }
            let (times_ns, later) = rest.split_at(run_len(rest, self.open.1));
            if let Some((_, tally)) = self.windows.last_mut() {
                add_run(tally, times_ns, &samples.values, at, kind);
            }
            at += times_ns.len();
            rest = later;
        }
    }

    fn add_rows(&mut self, rows: &mut Vec<Row>) {
        for row in rows.drain(..) {
            if let Some(tally) = self.at(row.time_ns) {
                tally.add(row.time_ns, row.value);
            }
        }
    }

    /// Adds the next block by its summary; false if it has to be read.
    fn add_summary(&mut self, stored: &Stored<'_>, kind: Kind) -> bool {
        let Some(block) = stored.peek() else { return false };
        let summary = block.summary;
        let window = self.grid.window(block.range.start_ns);
        let is_inside = block.range.end_ns < window.1;
        // Without windows a row that is chosen shows its own time.
        let hides_times = self.grid.width_ns().is_some() && window.0 != TIME_MIN_NS;
        let picks_value = matches!(self.figure, Figure::Choice(Choice::Smallest | Choice::Largest));
        if !is_inside || picks_value && !hides_times || !Tally::takes(self.figure, summary, kind) {
            return false;
        }
        if let Some(tally) = self.at(block.range.start_ns) {
            tally.add_block(block.range, block.count, summary, kind);
        }
        true
    }
}

/// How many of these times come before `end_ns`, at least one. Most windows are short beside what
/// is read at a time, and found from their beginning.
fn run_len(times_ns: &[i64], end_ns: i64) -> usize {
    let mut most = 8;
    while times_ns.get(most).is_some_and(|&time_ns| time_ns < end_ns) {
        most *= 2;
    }
    let near = times_ns.get(..most).unwrap_or(times_ns);
    near.partition_point(|&time_ns| time_ns < end_ns).clamp(1, times_ns.len().max(1))
}

/// Adds a run of samples read as `kind`, whose values begin at `at`.
fn add_run(tally: &mut Tally, times_ns: &[i64], values: &Values, at: usize, kind: Kind) {
    let run = at..at + times_ns.len();
    match (values, kind) {
        (Values::Float(all), Kind::Float) => {
            tally.add_floats(times_ns, all.get(run).unwrap_or_default());
        }
        (Values::Integer(all), Kind::Integer) => {
            tally.add_integers(times_ns, all.get(run).unwrap_or_default());
        }
        _ => {
            for (&time_ns, at) in times_ns.iter().zip(run) {
                let value = item(values, at, kind);
                if !value.is_null() {
                    tally.add(time_ns, value);
                }
            }
        }
    }
}
