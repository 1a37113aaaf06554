//! Sets of series: a plan laid over the store, before anything is read.
//!
//! A set knows how many series an operator yields, in which order, what they are called, and how to
//! open each of them as a [`Stream`]; opening one reads nothing of the others, so that threads can
//! share the work.

use crate::clip::Clip;
use crate::each::Mapped;
use crate::fold::keeps_single;
use crate::group::{self, group};
use crate::kept::Kept;
use crate::limits::{Charge, Meter};
use crate::merge::{Merge, Single};
use crate::quotient::{Quotients, partners};
use crate::rate::Rates;
use crate::slots::Over;
use crate::source::{Source, Spares, Symbols};
use crate::steps::Step;
use crate::stream::{Ready, Stream};
use crate::window::{FixedWindows, Grid};
use crate::{Error, heads, slots};
use foliot_engine::Identity;
use foliot_model::{Label, Labels, SeriesHead, TimeRange};
use foliot_plan::{Aggregate, Function, Grouping, Input, Rate, Series, Window};
use std::collections::HashMap;
use std::sync::Arc;

/// Most series whose names are kept after grouping, so that heads need not ask for them again: some
/// 30 MB of names.
const NAMES_MAX: usize = 1 << 16;

/// What a kept name weighs, by estimate: ten labels.
pub(crate) const NAME_BYTES: usize = 480;

/// The series that one operator of a plan yields.
#[derive(Debug)]
pub(crate) enum Set<'q> {
    /// Stored series.
    Stored(Leaf<'q>),
    /// What becomes of each series by itself.
    Each { operator: Operator<'q>, input: Box<Set<'q>> },
    /// What is a step that somebody wants to know more of.
    Measured { input: Box<Set<'q>>, step: Arc<Step> },
    /// Series that are in memory.
    Kept(Arc<Kept<'q>>),
    /// Each series divided by its partner.
    Quotient {
        dividend: Box<Set<'q>>,
        divisor: Box<Set<'q>>,
        /// Positions in the divisor, by those in the dividend.
        partners: Vec<Option<u32>>,
    },
    /// Groups of series.
    Groups {
        aggregate: &'q Aggregate,
        input: Box<Set<'q>>,
        /// Positions in the input.
        groups: Vec<Vec<u32>>,
        /// The slots that all series share, if they do.
        stamps: Option<Vec<i64>>,
        _charge: Charge<'q>,
    },
}

/// Stored series.
#[derive(Debug)]
pub(crate) struct Leaf<'q> {
    source: Source<'q>,
    sids: Vec<u32>,
    range: TimeRange,
    spares: Arc<Spares>,
    /// Names in the order of the ids; empty if grouping did not need them.
    names: Vec<Identity>,
    charge: Charge<'q>,
}

/// An operator on one series.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operator<'q> {
    Window(&'q Window),
    Rate(&'q Rate),
    Clip { range: TimeRange, keep_empty: bool },
    Function(Function),
}

/// What plans are laid over.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'q, 'a> {
    pub(crate) source: Source<'q>,
    pub(crate) meter: &'q Meter,
    /// Answers to earlier questions that later ones want.
    pub(crate) earlier: &'a [Option<Arc<Kept<'q>>>],
    /// In how many operators this one stands.
    pub(crate) depth: usize,
}

impl<'q> Set<'q> {
    /// Lays `plan` over `ground`.
    pub(crate) fn new(plan: &'q Series, ground: Ground<'q, '_>) -> Result<Self, Error> {
        let Some(step) = ground.meter.begin(ground.depth, || plan.told())? else {
            return Self::laid(plan, ground);
        };
        let within = Ground { depth: ground.depth + 1, ..ground };
        let input = Box::new(step.time(|| Self::laid(plan, within))?);
        Ok(Self::Measured { input, step })
    }

    fn laid(plan: &'q Series, ground: Ground<'q, '_>) -> Result<Self, Error> {
        let Ground { source, meter, earlier, .. } = ground;
        let each = |operator, input: &'q Series| {
            let input = Box::new(Self::new(input, ground)?);
            Ok(Self::Each { operator, input })
        };
        match plan {
            Series::Select { selector, range } => {
                let sids = source.select(selector, *range, meter)?;
                meter.admit(sids.len())?;
                let mut charge = meter.open();
                charge.resize(size_of_val(sids.as_slice()))?;
                Ok(Self::Stored(Leaf {
                    source,
                    sids,
                    range: *range,
                    spares: Arc::default(),
                    names: Vec::new(),
                    charge,
                }))
            }
            Series::Window(window) => each(Operator::Window(window), &window.input),
            Series::Rate(rate) => each(Operator::Rate(rate), &rate.input),
            Series::Clip { input, range, keep_empty } => {
                each(Operator::Clip { range: *range, keep_empty: *keep_empty }, input)
            }
            Series::Each(plan) => each(Operator::Function(plan.function), &plan.input),
            Series::Named(plan) => {
                Ok(Self::Kept(Kept::named(plan, &Self::new(&plan.input, ground)?, meter)?))
            }
            Series::Counted(plan) => {
                Ok(Self::Kept(Kept::counted(plan, Self::new(&plan.input, ground)?, source, meter)?))
            }
            Series::Quotient(quotient) => {
                let mut dividend = Self::new(&quotient.dividend, ground)?;
                let mut divisor = Self::new(&quotient.divisor, ground)?;
                let partners = partners(&mut dividend, &mut divisor, meter)?;
                let (dividend, divisor) = (Box::new(dividend), Box::new(divisor));
                Ok(Self::Quotient { dividend, divisor, partners })
            }
            Series::Joined(plan) => {
                let kept = |input: &'q Input| Kept::of(&Self::new(&input.series, ground)?, meter);
                let inputs: Result<Vec<_>, _> = plan.inputs.iter().map(kept).collect();
                Ok(Self::Kept(Kept::joined(plan, &inputs?, source, meter)?))
            }
            Series::Ranked(plan) => {
                Ok(Self::Kept(Kept::ranked(plan, &Self::new(&plan.input, ground)?, meter)?))
            }
            Series::Union(inputs) => {
                let sets: Result<Vec<_>, _> =
                    inputs.iter().map(|input| Self::new(input, ground)).collect();
                Ok(Self::Kept(Kept::union(&sets?, meter)?))
            }
            Series::Answer(place) => match earlier.get(*place) {
                Some(Some(kept)) => Ok(Self::Kept(Arc::clone(kept))),
                _ => Err(Error::Plan(format!("question {place} has no answer yet"))),
            },
            Series::Aggregate(aggregate) => {
                let input = Self::new(&aggregate.input, ground)?;
                Self::grouped(aggregate, input, source, meter)
            }
        }
    }

    fn grouped(
        aggregate: &'q Aggregate,
        mut input: Self,
        source: Source<'q>,
        meter: &'q Meter,
    ) -> Result<Self, Error> {
        // A key, its position and its place in a group, while groups are made.
        const SERIES_BYTES: usize = 64;
        let mut charge = meter.open();
        let is_one = group::is_one(&aggregate.grouping, group::is_ordered(aggregate.fold));
        charge.resize(input.len() * if is_one { size_of::<u32>() } else { SERIES_BYTES })?;
        let is_ordered = group::is_ordered(aggregate.fold);
        let symbols = Symbols::new(source);
        let groups = group(&aggregate.grouping, is_ordered, &mut input, symbols, meter)?;
        let has_merges = groups.iter().any(|group| group.len() > 1);
        let stamps = if has_merges { input.stamps()? } else { None };
        charge.add(stamps.as_ref().map_or(0, |stamps| size_of_val(stamps.as_slice())))?;
        let input = Box::new(input);
        Ok(Self::Groups { aggregate, input, groups, stamps, _charge: charge })
    }

    /// How many series there may be: some turn out to have no sample.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Stored(leaf) => leaf.sids.len(),
            Self::Kept(kept) => kept.series.len(),
            Self::Each { input, .. }
            | Self::Measured { input, .. }
            | Self::Quotient { dividend: input, .. } => input.len(),
            Self::Groups { groups, .. } => groups.len(),
        }
    }

    /// The series, if they are in memory.
    pub(crate) fn kept(&self) -> Option<&Arc<Kept<'q>>> {
        match self {
            Self::Kept(kept) => Some(kept),
            Self::Measured { input, step } => {
                input.kept().inspect(|kept| step.add_series(kept.series.len() as u64))
            }
            _ => None,
        }
    }

    /// Whether a series without samples is an answer.
    pub(crate) fn keeps_empty(&self) -> bool {
        match self {
            Self::Each { operator: Operator::Clip { keep_empty, .. }, .. } => *keep_empty,
            Self::Each { operator: Operator::Function(_), input }
            | Self::Measured { input, .. } => input.keeps_empty(),
            Self::Kept(_) => true,
            _ => false,
        }
    }

    /// Opens the series at `index`. Up to `threads` may work on it.
    pub(crate) fn open(
        &self,
        index: u32,
        meter: &'q Meter,
        threads: usize,
    ) -> Result<Stream<'q>, Error> {
        let at = index as usize;
        match self {
            Self::Stored(leaf) => {
                let sid = leaf.sids.get(at).copied().unwrap_or(u32::MAX);
                leaf.source.open(sid, leaf.range, &leaf.spares, meter)
            }
            Self::Measured { input, step } => {
                let input = step.time(|| input.open(index, meter, threads))?;
                Ok(input.measured(step))
            }
            Self::Each { operator, input } => {
                let input = input.open(index, meter, threads)?;
                Ok(match *operator {
                    Operator::Window(window) => {
                        Stream::Window(Box::new(FixedWindows::new(window, input, meter)?))
                    }
                    Operator::Rate(rate) => Stream::Rate(Box::new(Rates::new(rate, input, meter)?)),
                    Operator::Clip { range, keep_empty } => {
                        Stream::Clip(Box::new(Clip::new(input, range, keep_empty)))
                    }
                    Operator::Function(function) => {
                        Stream::Each(Box::new(Mapped::new(function, input, meter)?))
                    }
                })
            }
            Self::Kept(kept) => {
                let samples = kept.series.get(at).map(|(_, samples)| Arc::clone(samples));
                let members = samples.iter().map(|_| index).collect();
                let samples = samples.unwrap_or_default();
                Ok(Stream::Ready(Ready { samples, members, is_again: true, ..Ready::default() }))
            }
            Self::Quotient { dividend, divisor, partners } => {
                let partner = partners.get(at).copied().flatten();
                let divisor = partner.map(|at| divisor.open(at, meter, threads)).transpose()?;
                let dividend = dividend.open(index, meter, threads)?;
                let quotients = Quotients::new(dividend, divisor, meter)?;
                Ok(Stream::Quotient(Box::new(quotients)))
            }
            Self::Groups { aggregate, input, groups, stamps, .. } => {
                let members = groups.get(at).map_or(&[][..], Vec::as_slice);
                open_group(aggregate, input, members, stamps.as_deref(), meter, threads)
            }
        }
    }

    /// Calls `each` with the position and name of every series, by which it may be grouped again. A
    /// group is called what its first member is, as far as the group's labels go.
    pub(crate) fn names(
        &mut self,
        meter: &Meter,
        each: &mut dyn FnMut(u32, &Identity),
    ) -> Result<(), Error> {
        match self {
            Self::Stored(leaf) => leaf.names(meter, each),
            Self::Kept(kept) => {
                let names = kept.series.iter().zip(0..);
                names.for_each(|((head, _), at)| each(at, &heads::identity(head)));
                Ok(())
            }
            Self::Each { input, .. }
            | Self::Measured { input, .. }
            | Self::Quotient { dividend: input, .. } => input.names(meter, each),
            Self::Groups { aggregate, input, groups, .. } => {
                let firsts =
                    groups.iter().zip(0..).filter_map(|(group, at)| Some((*group.first()?, at)));
                let firsts: HashMap<u32, u32> = firsts.collect();
                let keeps = |label: &&Label| match &aggregate.grouping {
                    Grouping::All => false,
                    Grouping::Each => true,
                    Grouping::By { names, .. } => names.contains(&label.name),
                };
                input.names(meter, &mut |index, name| {
                    if let Some(&group) = firsts.get(&index) {
                        let labels = name.labels.iter().filter(keeps).cloned().collect();
                        each(group, &Identity { labels: Labels::new(labels), ..name.clone() });
                    }
                })
            }
        }
    }

    /// The head of a series with the given members; nothing if there are none.
    pub(crate) fn head(
        &self,
        question: usize,
        mut members: Vec<u32>,
        meter: &Meter,
    ) -> Result<Option<SeriesHead>, Error> {
        members.sort_unstable();
        members.dedup();
        if members.is_empty() {
            return Ok(None);
        }
        let mut head = None;
        self.join(&members, &mut head, meter)?;
        let mut head = SeriesHead { question, ..head.unwrap_or_default() };
        match self.members() {
            Some(true) => head.members = members,
            Some(false) => head.members = Vec::new(),
            None => {}
        }
        Ok(Some(head))
    }

    /// Adds members, see [`Stream::members`], to the head of the series that they are behind.
    fn join(
        &self,
        members: &[u32],
        head: &mut Option<SeriesHead>,
        meter: &Meter,
    ) -> Result<(), Error> {
        match self {
            Self::Stored(leaf) => {
                leaf.identities(members, meter, &mut |name| heads::join(head, name))
            }
            Self::Kept(kept) => {
                let known = members.iter().filter_map(|&at| kept.series.get(at as usize));
                known.for_each(|(member, _)| heads::join_head(head, member));
                Ok(())
            }
            Self::Each { input, .. }
            | Self::Measured { input, .. }
            | Self::Quotient { dividend: input, .. }
            | Self::Groups { input, .. } => input.join(members, head, meter),
        }
    }

    /// Whether heads list their members: a stored series is always its own. Nothing of those in
    /// memory, whose heads are made.
    fn members(&self) -> Option<bool> {
        match self {
            Self::Stored(_) => Some(true),
            Self::Kept(_) => None,
            Self::Each { input, .. }
            | Self::Measured { input, .. }
            | Self::Quotient { dividend: input, .. } => input.members(),
            Self::Groups { aggregate: Aggregate { wants_members: false, .. }, .. } => Some(false),
            Self::Groups { input, .. } => input.members().map(|_| true),
        }
    }

    /// The windows that all samples of all series lie on, if there are such and they are few.
    fn stamps(&self) -> Result<Option<Vec<i64>>, Error> {
        match self {
            Self::Stored(_) | Self::Kept(_) | Self::Quotient { .. } => Ok(None),
            Self::Each { operator: Operator::Function(_), .. } => Ok(None),
            Self::Each { operator: Operator::Window(window), .. } => {
                let grid = Grid::new(&window.windows)?;
                Ok(grid.is_shared().then(|| slots::stamps(&grid, &window.range)).flatten())
            }
            Self::Each { input, .. }
            | Self::Measured { input, .. }
            | Self::Groups { input, .. } => input.stamps(),
        }
    }
}

/// Opens a group of series in the way that suits how many there are and when they have samples.
fn open_group<'q>(
    aggregate: &'q Aggregate,
    input: &Set<'q>,
    members: &[u32],
    stamps: Option<&[i64]>,
    meter: &'q Meter,
    threads: usize,
) -> Result<Stream<'q>, Error> {
    let open = |member| input.open(member, meter, 1);
    let fold = |over| slots::fold(aggregate, over, members, &open, meter, threads);
    match (members, stamps) {
        (&[member], _) if keeps_single(aggregate.fold) => {
            let single = Single::new(aggregate, open(member)?, meter)?;
            return Ok(Stream::Single(Box::new(single)));
        }
        (_, Some(stamps)) if slots::pays(stamps.len(), members.len()) => {
            return fold(Over::Windows(stamps));
        }
        (_, None) if slots::outgrows_merge(aggregate, members.len(), meter) => {
            if let Some(instants) = slots::instants(members, &open, meter, threads)? {
                return fold(Over::Instants(&instants));
            }
        }
        _ => {}
    }
    let members: Result<Vec<_>, _> = members.iter().map(|&member| open(member)).collect();
    Ok(Stream::Merge(Box::new(Merge::new(aggregate, members?, meter)?)))
}

impl Leaf<'_> {
    /// Names all series, and keeps the names if they are not too many.
    fn names(&mut self, meter: &Meter, each: &mut dyn FnMut(u32, &Identity)) -> Result<(), Error> {
        let keeps = self.sids.len() <= NAMES_MAX;
        if keeps && self.names.is_empty() {
            self.charge.add(self.sids.len() * NAME_BYTES)?;
        }
        if self.names.is_empty() {
            let (mut names, mut index) = (Vec::new(), 0);
            self.source.identities(&self.sids, meter, &mut |_, name| {
                each(index, &name);
                index += 1;
                if keeps {
                    names.push(name);
                }
            })?;
            self.names = names;
            return Ok(());
        }
        self.names.iter().zip(0..).for_each(|(name, index)| each(index, name));
        Ok(())
    }

    /// Names some series.
    fn identities(
        &self,
        members: &[u32],
        meter: &Meter,
        each: &mut dyn FnMut(&Identity),
    ) -> Result<(), Error> {
        if self.names.len() < self.sids.len() {
            return self.source.identities(members, meter, &mut |_, name| each(&name));
        }
        for member in members {
            let at = self.sids.binary_search(member).ok();
            at.and_then(|at| self.names.get(at)).into_iter().for_each(&mut *each);
        }
        Ok(())
    }
}
