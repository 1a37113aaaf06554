//! Sieves: the rows of a source where one field compares in a certain way with a number, without
//! reading what no such row needs.
//!
//! A condition such as `usage > 90 AND ...` holds of no row without that comparison. So blocks of
//! the field are passed over where their summary rules it out, and other fields are read at the
//! instants that are left.

use super::calculate::{compares, holds_of_stored};
use super::slice::{Place, item, read_as, repeat};
use super::sources::Member;
use super::strip::Strip;
use crate::Error;
use crate::kernels::number::to_f64;
use crate::kernels::wholes::Wholes;
use crate::source::Runs;
use foliot_engine::{Peek, Run, RunValues};
use foliot_model::{Item, Kind, TimeRange};
use foliot_plan::rows::{Calculate, Operator, Scan};

/// Whole numbers that floats tell apart.
const EXACT_MAX: f64 = (1_u64 << 53) as f64;

/// A comparison that a condition does not hold without.
#[derive(Clone, Debug)]
pub(super) struct Comparison {
    /// The field, by its place among those that a scan reads, and the kind that it is read as.
    pub(super) field: usize,
    kind: Kind,
    operator: Operator,
    /// What it is compared with, on the right.
    with: Item,
    bound: f64,
}

impl Comparison {
    /// One of a condition, if it has any, whose slots that are fields stand at these places.
    pub(super) fn of(
        condition: &Calculate,
        places: &[Option<usize>],
        kind_of: &dyn Fn(usize) -> Option<Kind>,
    ) -> Option<Self> {
        let Calculate::Binary { operator, left, right } = condition else { return None };
        let (slot, operator, with) = match (&**left, &**right) {
            (left, right) if *operator == Operator::And => {
                let left = Self::of(left, places, kind_of);
                return left.or_else(|| Self::of(right, places, kind_of));
            }
            (Calculate::Slot(slot), Calculate::Constant(with)) => (*slot, *operator, with),
            (Calculate::Constant(with), Calculate::Slot(slot)) => {
                (*slot, mirrored(*operator)?, with)
            }
            _ => return None,
        };
        let is_order = mirrored(operator).is_some();
        let bound = to_f64(with).filter(|bound| is_order && bound.abs() < EXACT_MAX)?;
        let field = places.get(slot).copied().flatten()?;
        let kind = kind_of(field).filter(|kind| matches!(kind, Kind::Float | Kind::Integer))?;
        Some(Self { field, kind, operator, with: with.clone(), bound })
    }

    /// Whether some value of a block may compare so.
    pub(super) fn may_hold_in(&self, block: &Peek<'_>) -> bool {
        let summary = block.summary;
        let is_exact = |value: f64| value.abs() < EXACT_MAX;
        let are_told = summary.numeric
            && !summary.has_nan
            && summary.kinds == 1 << self.kind as u8
            && is_exact(summary.min())
            && is_exact(summary.max());
        !are_told
            || match self.operator {
                Operator::Greater => summary.max() > self.bound,
                Operator::GreaterOrEqual => summary.max() >= self.bound,
                Operator::Less => summary.min() < self.bound,
                Operator::LessOrEqual => summary.min() <= self.bound,
                _ => summary.min() <= self.bound && self.bound <= summary.max(),
            }
    }

    /// Adds the samples of a run that compare so.
    fn sift(&self, run: &Run, out: &mut Vec<(i64, Item)>) {
        let mut add = |at: usize, item: Item| {
            if !item.is_null() && compares(self.operator, &item, &self.with) {
                out.extend(run.time_ns(at).map(|time_ns| (time_ns, item)));
            }
        };
        match run.values() {
            RunValues::Samples(samples) => {
                (0..samples.len()).for_each(|at| add(at, item(&samples.values, at, self.kind)));
            }
            RunValues::Wholes { wholes, kind, scale } => {
                let stand_for = Wholes::new(kind, scale);
                for (at, &whole) in wholes.iter().enumerate() {
                    // Nearly all fail, which a glance tells.
                    if kind != self.kind || self.may_hold_of(stand_for.float(whole)) {
                        add(at, read_as(stand_for.item(whole), self.kind));
                    }
                }
            }
        }
    }

    /// Whether a value near this one may compare so.
    fn may_hold_of(&self, value: f64) -> bool {
        match self.operator {
            Operator::Greater | Operator::GreaterOrEqual => value >= self.bound,
            Operator::Less | Operator::LessOrEqual => value <= self.bound,
            _ => value == self.bound,
        }
    }
}

/// The operator with its sides changed; nothing for one that is no such comparison.
fn mirrored(operator: Operator) -> Option<Operator> {
    Some(match operator {
        Operator::Equal => Operator::Equal,
        Operator::Less => Operator::Greater,
        Operator::LessOrEqual => Operator::GreaterOrEqual,
        Operator::Greater => Operator::Less,
        Operator::GreaterOrEqual => Operator::LessOrEqual,
        _ => return None,
    })
}

/// What sources are sifted with, one after the other.
pub(super) struct Sieve<'q> {
    runs: Runs<'q>,
    run: Run,
}

/// What came through a sieve.
#[derive(Default)]
pub(super) struct Sifted {
    /// Samples of the field that compare so.
    found: Vec<(i64, Item)>,
    /// What the fields of the source have at these instants, field by field; nothing where there
    /// is no sample.
    columns: Vec<Vec<Option<Item>>>,
}

/// What is wanted of the rows of a source.
pub(super) struct Wanted<'a> {
    pub(super) scan: &'a Scan,
    pub(super) member: &'a Member,
    pub(super) comparison: &'a Comparison,
    /// The kinds that its fields are read as.
    pub(super) kinds: &'a [Kind],
    /// How many of them, from the first on, decide which rows there are.
    pub(super) driving: usize,
    /// Where what is carried and what the condition looks at comes from.
    pub(super) places: &'a (Vec<Place>, Vec<Place>),
}

impl<'q> Sieve<'q> {
    pub(super) fn new(runs: Runs<'q>) -> Self {
        Self { runs, run: Run::default() }
    }

    /// The ranges of the blocks of a series that may have samples which compare so.
    pub(super) fn ranges(
        &mut self,
        sid: u32,
        range: TimeRange,
        comparison: &Comparison,
    ) -> Result<Vec<TimeRange>, Error> {
        let mut ranges = Vec::new();
        self.runs.turn_in(sid, range)?;
        loop {
            while let Some(block) = self.runs.peek() {
                if comparison.may_hold_in(&block) {
                    ranges.push(block.range);
                }
                self.runs.skip()?;
            }
            if !self.runs.next_ahead(&mut self.run)? {
                return Ok(ranges);
            }
            let last = self.run.len().saturating_sub(1);
            let ends = self.run.time_ns(0).zip(self.run.time_ns(last));
            ranges.extend(ends.map(|(start_ns, end_ns)| TimeRange::new(start_ns, end_ns)));
        }
    }

    /// Puts what comes through of a source in `range`, of at most so many instants, in place of
    /// what `out` holds; what of the range is left.
    pub(super) fn sift(
        &mut self,
        wanted: &Wanted<'_>,
        range: TimeRange,
        instants_max: usize,
        out: &mut Sifted,
    ) -> Result<Option<TimeRange>, Error> {
        let comparison = wanted.comparison;
        let sids = &wanted.member.sids;
        out.found.clear();
        let Some(sid) = sids.get(comparison.field).copied().flatten() else { return Ok(None) };
        self.runs.turn_in(sid, range)?;
        while self.runs.next(&mut self.run)? {
            comparison.sift(&self.run, &mut out.found);
        }
        let left = out.found.get(instants_max).map(|(time_ns, _)| *time_ns);
        let left = left.map(|next_ns| TimeRange::new(next_ns, range.end_ns));
        out.found.truncate(instants_max);
        let (Some(first), Some(last)) = (out.found.first(), out.found.last()) else {
            return Ok(None);
        };
        let range = TimeRange::new(first.0, last.0);
        out.columns.resize_with(wanted.kinds.len(), Vec::new);
        for ((at, kind), column) in wanted.kinds.iter().enumerate().zip(&mut out.columns) {
            column.clear();
            if at == comparison.field {
                column.extend(out.found.iter().map(|(_, item)| Some(item.clone())));
                continue;
            }
            column.resize(out.found.len(), None);
            if let Some(sid) = sids.get(at).copied().flatten() {
                self.runs.turn_in(sid, range)?;
                self.fill(&out.found, column, *kind)?;
            }
        }
        Ok(left)
    }

    /// Reads what the field that was turned to has at some instants.
    fn fill(
        &mut self,
        found: &[(i64, Item)],
        column: &mut [Option<Item>],
        kind: Kind,
    ) -> Result<(), Error> {
        let Self { runs, run } = self;
        let mut slots = found.iter().zip(column).peekable();
        loop {
            while let (Some(block), Some(((time_ns, _), _))) = (runs.peek(), slots.peek())
                && block.range.end_ns < *time_ns
            {
                runs.skip()?;
            }
            if slots.peek().is_none() || !runs.next(run)? {
                return Ok(());
            }
            let last_ns = run.time_ns(run.len().saturating_sub(1)).unwrap_or(i64::MAX);
            let mut from = 0;
            while let Some(((time_ns, _), slot)) =
                slots.next_if(|((time_ns, _), _)| *time_ns <= last_ns)
            {
                from = run.position(from, *time_ns);
                if run.time_ns(from) == Some(*time_ns) {
                    *slot = Some(value_of(run, from, kind));
                }
            }
        }
    }
}

impl Sifted {
    /// Memory held.
    pub(super) fn bytes(&self) -> usize {
        let cells: usize = self.columns.iter().map(Vec::len).sum();
        self.found.len() * size_of::<(i64, Item)>() + cells * size_of::<Option<Item>>()
    }

    /// The rows that meet the condition, at most so many; `tested` is memory to look at them.
    pub(super) fn rows(
        &mut self,
        wanted: &Wanted<'_>,
        tested: &mut Vec<Item>,
        rows_max: Option<usize>,
    ) -> Strip {
        let Wanted { scan, member, driving, places, .. } = wanted;
        let (carried, slots) = places;
        let columns = &self.columns;
        let mut rows = Strip::new(member.head.clone(), carried.len());
        for (at, &(time_ns, _)) in self.found.iter().enumerate() {
            if rows_max.is_some_and(|most| rows.len() >= most) {
                break;
            }
            let sample = |field: usize| columns.get(field)?.get(at)?.as_ref();
            let value_at = |place: &Place| match place {
                Ok(field) => sample(*field).cloned().unwrap_or_default(),
                Err(item) => item.clone(),
            };
            let is_row = (0..*driving).any(|field| sample(field).is_some());
            let mut holds = |condition: &Calculate| {
                tested.clear();
                tested.extend(slots.iter().map(value_at));
                holds_of_stored(condition, time_ns, tested)
            };
            if !is_row || !member.condition.as_ref().is_none_or(&mut holds) {
                continue;
            }
            let value = if scan.value.is_some() { value_at(&Ok(0)) } else { Item::Null };
            // A value of another kind than the field's is none.
            if scan.value.is_some() && value.is_null() {
                continue;
            }
            rows.times_ns.push(time_ns);
            rows.value.push(value);
            for (column, place) in rows.carried.iter_mut().zip(carried) {
                if place.is_ok() {
                    column.push(value_at(place));
                }
            }
        }
        repeat(carried, &mut rows);
        rows
    }
}

fn value_of(run: &Run, at: usize, kind: Kind) -> Item {
    match run.values() {
        RunValues::Samples(samples) => item(&samples.values, at, kind),
        RunValues::Wholes { wholes, kind: stored, scale } => {
            let whole = wholes.get(at).copied().unwrap_or_default();
            read_as(Wholes::new(stored, scale).item(whole), kind)
        }
    }
}
