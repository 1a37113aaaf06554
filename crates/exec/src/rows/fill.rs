//! Rows for empty windows, and rows stamped with their windows.

use super::calculate::convert;
use super::grid::{Grid, TIME_MIN_NS};
use super::row::{Head, is_same};
use super::strip::{Here, Peeking, Stream, Strip};
use crate::Error;
use crate::kernels::number::to_f64;
use crate::limits::Meter;
use crate::pieces::rows_of;
use foliot_model::{Item, Kind};
use foliot_plan::rows::{Fill, Filling};
use std::sync::Arc;

/// How many samples can be read in the time in which a row is made up.
const SAMPLES_PER_ROW: usize = 10;

/// Rows stamped with the start of their window.
pub(super) struct Stamped<'q> {
    input: Box<dyn Stream + 'q>,
    grid: Grid,
}

impl<'q> Stamped<'q> {
    pub(super) fn new(input: Box<dyn Stream + 'q>, grid: Grid) -> Self {
        Self { input, grid }
    }
}

impl Stream for Stamped<'_> {
    fn next(&mut self) -> Result<Option<Strip>, Error> {
        let Some(mut strip) = self.input.next()? else { return Ok(None) };
        for time_ns in &mut strip.times_ns {
            *time_ns = self.grid.stamp(self.grid.window(*time_ns).0)?;
        }
        Ok(Some(strip))
    }
}

/// A row for every window, of each head as far as they are wanted. How many there will be is known
/// before any is made: too many are refused at once.
pub(super) struct Filled<'q> {
    input: Peeking<'q>,
    plan: &'q Fill,
    grid: Grid,
    width_ns: i64,
    start_ns: i64,
    end_ns: i64,
    /// The head being filled.
    open: Option<Arc<Head>>,
    /// The window that comes next.
    window_ns: i64,
    ahead_ns: i64,
    previous: Option<(i64, Item)>,
    /// How many rows of a head are wanted, and of the head being filled still are.
    wanted: u64,
    left: u64,
    /// Rows that were made up and are not counted yet.
    made: usize,
    meter: &'q Meter,
}

impl<'q> Filled<'q> {
    /// The rows of `input` and those between them; those of a head beyond `wanted` are missing.
    pub(super) fn new(
        input: Box<dyn Stream + 'q>,
        (plan, grid): (&'q Fill, Grid),
        wanted: Option<u64>,
        meter: &'q Meter,
    ) -> Result<Self, Error> {
        let range = plan.layout.range;
        let (first_ns, last_ns) = match plan.layout.descending {
            false => (range.start_ns, range.end_ns),
            true => (range.end_ns, range.start_ns),
        };
        let Some(width_ns) = grid.width_ns() else {
            return Err(Error::Plan("one window cannot be filled".into()));
        };
        // The beginning of time is in no window: windows begin with the first row then.
        let end = |time_ns| match time_ns {
            TIME_MIN_NS => TIME_MIN_NS,
            time_ns => grid.window(time_ns).0,
        };
        Ok(Self {
            input: Peeking::new(input, meter),
            plan,
            start_ns: end(first_ns),
            end_ns: end(last_ns),
            width_ns,
            grid,
            open: None,
            window_ns: 0,
            ahead_ns: 0,
            previous: None,
            wanted: wanted.unwrap_or(u64::MAX),
            left: 0,
            made: 0,
            meter,
        })
    }

    fn begin(&mut self, head: Arc<Head>, time_ns: i64) -> Result<(), Error> {
        let start_ns = match self.start_ns {
            TIME_MIN_NS => self.grid.window(time_ns).0,
            start_ns => start_ns,
        };
        if self.grid.has_zone() {
            self.ahead_ns = self.grid.ahead_ns(start_ns);
        }
        (self.open, self.window_ns) = (Some(head), start_ns);
        self.previous = None;
        self.left = self.wanted;
        let rows = self.windows_left().min(self.left);
        self.meter.foresee(rows.saturating_mul(SAMPLES_PER_ROW as u64))
    }

    /// How many windows there are from the next one on.
    fn windows_left(&self) -> u64 {
        if !self.is_inside() {
            return 0;
        }
        let span_ns = (i128::from(self.end_ns) - i128::from(self.window_ns)).unsigned_abs();
        u64::try_from(span_ns / self.width_ns.unsigned_abs().max(1) as u128 + 1).unwrap_or(u64::MAX)
    }

    /// Whether the window that comes next is one to fill.
    fn is_inside(&self) -> bool {
        match self.plan.layout.descending {
            false => self.window_ns <= self.end_ns,
            true => self.window_ns >= self.end_ns && self.end_ns != TIME_MIN_NS,
        }
    }

    /// Whether a row at `time_ns` is that of the window that comes next, or of one before.
    fn is_due(&self, time_ns: i64) -> bool {
        match self.plan.layout.descending {
            false => time_ns <= self.window_ns,
            true => time_ns >= self.window_ns,
        }
    }

    fn filling(&mut self, head: &Arc<Head>) -> Result<Item, Error> {
        let window_ns = self.window_ns;
        Ok(match &self.plan.with {
            Filling::Null => Item::Null,
            Filling::Value(item) => match self.plan.kind {
                // A number stands for the least value of what is no number.
                Kind::Boolean => Item::Boolean(false),
                Kind::String => Item::String("".into()),
                kind => convert(item.clone(), kind),
            },
            Filling::Previous => {
                self.previous.as_ref().map_or(Item::Null, |(_, value)| value.clone())
            }
            Filling::Linear => {
                let Some((from_ns, from)) = self.previous.clone() else { return Ok(Item::Null) };
                let width_ns = self.width_ns;
                let next = self.input.peek()?.filter(|next| is_same(next.head(), head));
                let Some(next) = next else { return Ok(Item::Null) };
                let span = (next.time_ns() / width_ns - from_ns / width_ns) as f64;
                let part = (window_ns / width_ns - from_ns / width_ns) as f64;
                line(&from, &next.value(), part, span, self.plan.kind)
            }
        })
    }

    fn advance(&mut self) {
        let window_ns = self.window_ns;
        let mut next_ns = match self.plan.layout.descending {
            false => window_ns.saturating_add(self.width_ns),
            true => window_ns.saturating_sub(self.width_ns),
        };
        // The clock may have been shifted in between.
        if self.grid.has_zone() {
            let ahead_ns = self.grid.ahead_ns(next_ns.saturating_sub(1));
            let shift_ns = self.ahead_ns - ahead_ns;
            if shift_ns != 0 {
                if shift_ns.abs() < self.width_ns {
                    next_ns = next_ns.saturating_add(shift_ns);
                }
                self.ahead_ns = ahead_ns;
            }
        }
        self.window_ns = next_ns;
    }

    /// Moves the rows that are due, which belong to the head being filled, to a strip.
    fn take_due(&mut self, out: &mut Strip) -> Result<(), Error> {
        let mut rows = 0;
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(self.rows_max());
        while rows < most
            && let Some((strip, at)) = self.input.rest()?
            && let Some(&time_ns) = strip.times_ns.get(at + rows)
            && self.is_due(time_ns)
        {
            self.advance();
            rows += 1;
        }
        self.left -= rows as u64;
        let keeps_previous = self.keeps_previous();
        let Some((strip, at)) = self.input.rest()? else { return Ok(()) };
        out.extend_from(strip, at..at + rows);
        if let (true, Some(last)) = (keeps_previous, (at + rows).checked_sub(1)) {
            let value = strip.value.get(last);
            let time_ns = strip.times_ns.get(last).copied().unwrap_or_default();
            self.previous = (!value.is_null()).then(|| (time_ns, value.into_owned()));
        }
        self.input.skip(rows);
        Ok(())
    }

    fn keeps_previous(&self) -> bool {
        matches!(self.plan.with, Filling::Previous | Filling::Linear)
    }
}

/// The point on the line between two values that lies `part` of `span` away from the first.
fn line(from: &Item, to: &Item, part: f64, span: f64, kind: Kind) -> Item {
    match (kind, from, to) {
        (Kind::Integer, Item::Integer(a), Item::Integer(b)) => {
            let slope = b.wrapping_sub(*a) as f64 / span;
            Item::Integer((slope * part + *a as f64) as i64)
        }
        (Kind::Unsigned, Item::Unsigned(a), Item::Unsigned(b)) => {
            let slope = b.wrapping_sub(*a) as f64 / span;
            Item::Unsigned((slope * part + *a as f64) as u64)
        }
        _ => match (to_f64(from), to_f64(to)) {
            (Some(a), Some(b)) => Item::Float((b - a) / span * part + a),
            _ => Item::Null,
        },
    }
}

impl Stream for Filled<'_> {
    fn next(&mut self) -> Result<Option<Strip>, Error> {
        let strip = self.next_strip();
        self.meter.check(std::mem::take(&mut self.made) * SAMPLES_PER_ROW)?;
        strip
    }
}

impl Filled<'_> {
    /// Rows of a strip, unless those of windows that are there are more.
    fn rows_max(&self) -> usize {
        rows_of(self.plan.carried + 1)
    }

    fn next_strip(&mut self) -> Result<Option<Strip>, Error> {
        let mut out: Option<Strip> = None;
        let rows_max = self.rows_max();
        loop {
            if out.as_ref().is_some_and(|out| out.len() >= rows_max) {
                return Ok(out);
            }
            let own = self
                .input
                .peek()?
                .filter(|here| self.open.as_ref().is_some_and(|open| is_same(open, here.head())));
            let due = own.map(Here::time_ns);
            match self.open.clone() {
                Some(_) if self.left == 0 && due.is_some() => {
                    let rest = self.input.rest()?.map_or(0, |(strip, at)| strip.len() - at);
                    self.input.skip(rest);
                }
                Some(head) if due.is_some() || self.left > 0 && self.is_inside() => {
                    let new = || Strip::new(head.clone(), self.plan.carried);
                    let strip = out.get_or_insert_with(new);
                    if due.is_some_and(|time_ns| self.is_due(time_ns)) {
                        self.take_due(strip)?;
                        continue;
                    }
                    let (time_ns, value) = (self.window_ns, self.filling(&head)?);
                    strip.push(time_ns, value, (0..self.plan.carried).map(|_| Item::Null));
                    self.advance();
                    self.left -= 1;
                    self.made += 1;
                }
                // Another head begins.
                _ if out.is_some() => return Ok(out),
                _ => {
                    let Some(here) = self.input.peek()? else { return Ok(None) };
                    let (head, time_ns) = (here.head().clone(), here.time_ns());
                    self.begin(head, time_ns)?;
                }
            }
        }
    }
}
