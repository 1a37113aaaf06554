//! Selection: from conditions on names and labels to series.
//!
//! 1. Names become columns, or "all".
//! 2. Each matcher becomes a set of wanted pairs (when the label must be there) or of unwanted ones
//!    (when it may be absent): literals by dictionary lookup, other tests over the values of that
//!    one label.
//! 3. Wanted sets are intersected, the one with the fewest sources first; unwanted ones are taken
//!    away. While few candidates are left, their own pairs are looked at instead of long postings.
//! 4. Sources and columns meet: by looking series up while that is cheaper than walking the
//!    columns' postings.
//!
//! Names are held for a piece of that at a time, and between two it is asked whether to go on:
//! whoever registers a series must not wait for all of a question with a thousand conditions.
//! Series that are registered meanwhile are left out: their labels may be such as no condition knew
//! when it was looked up, and a condition that takes sources away would miss them.

use crate::bitmap::Bitmap;
use crate::groups::Groups;
use crate::names::{Key, Names, SymbolKind};
use crate::pair_set::{PairSet, pairs_of};
use foliot_lock::RwLock;
use foliot_model::{Matcher, Name, Selector, Test};

/// Looking at one candidate's pairs costs about as much as reading so many posted ids.
const CANDIDATE_COST: u64 = 16;
/// Ids of so many columns are put in order by a merging sort, in linear time. Those of more are put
/// into a bitmap, which looks at each once, however many columns there are.
const MERGED_COLUMNS_MAX: usize = 8;
/// Candidates that are held against one condition while names are held: some hundred microseconds.
const CANDIDATES_AT_ONCE: usize = 4_096;
/// Looking up one series costs about as much as reading so many posted ids.
const SERIES_COST: u64 = 8;

/// One matcher against the pairs of its label.
struct Condition {
    /// Pairs of which a source must have one, or none when `unwanted`.
    pairs: PairSet,
    unwanted: bool,
    /// Ids in the postings of all pairs.
    postings: u64,
}

/// What a selector asks of sources.
pub(crate) struct Sources {
    namespace: u32,
    conditions: Vec<Condition>,
    exact: Option<Vec<u32>>,
    /// Nothing can match.
    is_void: bool,
}

/// Asked now and then whether to go on, and told through how many ids or names the next walk goes
/// if that is a long one; where it says no, the answer is nothing.
pub type GoesOn<'a> = dyn Fn(usize) -> bool + 'a;

/// Values that are tested before it is asked again: less than a millisecond.
pub(crate) const VALUES_PER_ASK: u32 = 1 << 12;

/// Whether to walk through so many ids or names: it is asked for long walks only.
pub(crate) fn may_walk(ids: usize, goes_on: &GoesOn<'_>) -> bool {
    ids < VALUES_PER_ASK as usize || goes_on(ids)
}

/// Names that can be read.
pub(crate) trait Readable {
    /// Does a piece of work on them.
    fn read_for<T>(&self, work: impl FnOnce(&Names) -> T) -> T;
}

/// Whoever holds them holds them all the while.
impl Readable for Names {
    fn read_for<T>(&self, work: impl FnOnce(&Names) -> T) -> T {
        work(self)
    }
}

/// They are held for each piece of work.
impl Readable for RwLock<Names> {
    fn read_for<T>(&self, work: impl FnOnce(&Names) -> T) -> T {
        work(&self.read())
    }
}

/// The series that a selector wants, ascending.
pub(crate) fn select(names: &Names, selector: &Selector) -> Vec<u32> {
    select_while(names, selector, &|_| true).unwrap_or_default()
}

/// The same, as long as it goes on.
pub(crate) fn select_while(
    names: &impl Readable,
    selector: &Selector,
    goes_on: &GoesOn<'_>,
) -> Option<Vec<u32>> {
    let end = names.read_for(Names::series_end);
    let columns = match selector.names.is_empty() {
        true => None,
        false => {
            if !may_walk(names.read_for(|names| tested(names, selector)), goes_on) {
                return None;
            }
            Some(names.read_for(|names| columns(names, selector.namespace, &selector.names)))
        }
    };
    let sources = Sources::new(names, selector, goes_on)?;
    if sources.is_void || columns.as_ref().is_some_and(Vec::is_empty) {
        return Some(Vec::new());
    }
    let mut sids = match &selector.only {
        Some(only) => select_only(names, &sources, columns.as_deref(), only, goes_on)?,
        None => join(names, &sources, columns, goes_on)?,
    };
    sids.truncate(sids.partition_point(|&sid| sid < end));
    names.read_for(|names| names.forgotten.sids().take_from(&mut sids));
    Some(sids)
}

fn select_only(
    names: &impl Readable,
    sources: &Sources,
    columns: Option<&[u32]>,
    only: &[u32],
    goes_on: &GoesOn<'_>,
) -> Option<Vec<u32>> {
    let conditions = sources.conditions.len();
    let mut sids = retained(names, (only, conditions), goes_on, |names, sid| {
        names.series(sid).is_some_and(|(source, column)| {
            columns.is_none_or(|columns| columns.binary_search(&column).is_ok())
                && sources.accepts(names, source)
        })
    })?;
    sids.sort_unstable();
    sids.dedup();
    Some(sids)
}

/// Those of `ids` that pass, each of which is held against so many conditions, piece by piece.
fn retained(
    names: &impl Readable,
    (ids, conditions): (&[u32], usize),
    goes_on: &GoesOn<'_>,
    passes: impl Fn(&Names, u32) -> bool,
) -> Option<Vec<u32>> {
    let mut kept = Vec::with_capacity(ids.len());
    for (piece, ids) in ids.chunks((CANDIDATES_AT_ONCE / conditions.max(1)).max(1)).enumerate() {
        if piece > 0 && !goes_on(0) {
            return None;
        }
        names.read_for(|names| kept.extend(ids.iter().copied().filter(|&id| passes(names, id))));
    }
    Some(kept)
}

/// How many names have to be tested to tell the columns that a selector wants.
fn tested(names: &Names, selector: &Selector) -> usize {
    let groups = &names.columns_of_measurement;
    let is_tested = |reading: &&Name| reading.measurement.literals().is_none();
    selector.names.iter().filter(is_tested).count() * groups.symbols(selector.namespace).len()
}

/// The columns that one of the readings of a name fits, ascending.
pub(crate) fn columns(names: &Names, namespace: u32, readings: &[Name]) -> Vec<u32> {
    let mut found = Vec::new();
    for reading in readings {
        let measurements = symbols(
            names,
            &names.columns_of_measurement,
            namespace,
            SymbolKind::Measurement,
            &reading.measurement,
        );
        for measurement in measurements {
            if let Some(fields) = reading.field.literals() {
                found.extend(fields.iter().filter_map(|field| {
                    let field = names.symbols(SymbolKind::Field).find(field.as_bytes())?;
                    names.columns().find(&Key::of(&[namespace, measurement, field]))
                }));
                continue;
            }
            let of_measurement = names.columns_of_measurement.members(namespace, measurement);
            found.extend(of_measurement.filter(|&column| {
                names.column(column).is_some_and(|[_, _, field]| {
                    reading.field.passes(names.symbol(SymbolKind::Field, field))
                })
            }));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The symbols in use in a namespace that pass a test.
fn symbols(
    names: &Names,
    groups: &Groups,
    namespace: u32,
    kind: SymbolKind,
    test: &Test,
) -> Vec<u32> {
    if let Some(literals) = test.literals() {
        let find = |name: &String| names.symbols(kind).find(name.as_bytes());
        return literals.iter().filter_map(find).collect();
    }
    let in_use = groups.symbols(namespace).iter().copied();
    in_use.filter(|&symbol| test.passes(names.symbol(kind, symbol))).collect()
}

impl Condition {
    fn new(names: &Names, namespace: u32, matcher: &Matcher, goes_on: &GoesOn<'_>) -> Option<Self> {
        let unwanted = matcher.accepts_absent;
        let label = names.symbols(SymbolKind::LabelName).find(matcher.name.as_bytes());
        let pairs = match label {
            None => PairSet::Few(Vec::new()),
            Some(label) => pairs_of(names, [namespace, label], matcher, goes_on)?,
        };
        let mut postings = 0;
        pairs.each(&mut |pair| postings += u64::from(names.sources().of_pair().count(pair)));
        Some(Self { pairs, unwanted, postings })
    }

    /// Those of some sources that meet it.
    fn met(
        &self,
        names: &impl Readable,
        sources: &[u32],
        goes_on: &GoesOn<'_>,
    ) -> Option<Vec<u32>> {
        if self.postings < sources.len() as u64 * CANDIDATE_COST {
            if !may_walk(self.postings as usize, goes_on) {
                return None;
            }
            let posted = names.read_for(|names| self.posted(names));
            let is_met = |source: &u32| posted.contains(*source) != self.unwanted;
            return Some(sources.iter().copied().filter(is_met).collect());
        }
        retained(names, (sources, 1), goes_on, |names, source| {
            let pairs = names.source(source).map(|(_, pairs)| pairs);
            pairs.is_some_and(|mut ids| ids.any(|id| self.pairs.contains(id)) != self.unwanted)
        })
    }

    /// The sources that have one of the pairs, ascending.
    fn sources(&self, names: &Names) -> Vec<u32> {
        // A set has a place for each source that there is, which are many where few have a pair.
        let PairSet::Few(pairs) = &self.pairs else { return self.posted(names).iter().collect() };
        let of_pair = names.sources().of_pair();
        let mut sources: Vec<u32> = pairs.iter().flat_map(|&pair| of_pair.iter(pair)).collect();
        if pairs.len() > 1 {
            sources.sort_unstable();
            sources.dedup();
        }
        sources
    }

    /// The same as a set.
    fn posted(&self, names: &Names) -> Bitmap {
        let mut posted = Bitmap::default();
        self.post(names, &mut posted);
        posted
    }

    /// Adds the sources that have one of the pairs.
    fn post(&self, names: &Names, posted: &mut Bitmap) {
        self.pairs.each(&mut |pair| {
            names.sources().of_pair().iter(pair).for_each(|source| posted.set(source));
        });
    }
}

impl Sources {
    /// Nothing when it was not to go on.
    pub(crate) fn new(
        names: &impl Readable,
        selector: &Selector,
        goes_on: &GoesOn<'_>,
    ) -> Option<Self> {
        let namespace = selector.namespace;
        let condition = |(piece, matcher)| {
            let condition = |names: &Names| Condition::new(names, namespace, matcher, goes_on);
            (piece == 0 || goes_on(0)).then(|| names.read_for(condition)).flatten()
        };
        let mut conditions: Vec<_> =
            selector.matchers.iter().enumerate().map(condition).collect::<Option<_>>()?;
        let mut is_void = conditions.iter().any(|c| !c.unwanted && c.pairs.is_empty());
        conditions.retain(|condition| !condition.pairs.is_empty());
        conditions.sort_by_key(|condition| (condition.unwanted, condition.postings));
        let exact = selector.exact_labels.as_ref().map(|labels| {
            let find = |names: &Names, name: &String| {
                names.symbols(SymbolKind::LabelName).find(name.as_bytes()).unwrap_or(0)
            };
            let ids = |names: &Names| labels.iter().map(|name| find(names, name)).collect();
            let mut ids: Vec<u32> = names.read_for(ids);
            ids.sort_unstable();
            ids.dedup();
            is_void |= ids.first() == Some(&0);
            ids
        });
        Some(Self { namespace, conditions, exact, is_void })
    }

    pub(crate) fn is_void(&self) -> bool {
        self.is_void
    }

    /// Whether sources must have certain labels and no others.
    pub(crate) fn is_exact(&self) -> bool {
        self.exact.is_some()
    }

    /// The sources that do not meet the conditions that take sources away; nothing when it was not
    /// to go on.
    pub(crate) fn unwanted(&self, names: &impl Readable, goes_on: &GoesOn<'_>) -> Option<Bitmap> {
        let mut unwanted = Bitmap::default();
        let conditions = self.conditions.iter().filter(|condition| condition.unwanted);
        for (piece, condition) in conditions.enumerate() {
            if piece > 0 && !goes_on(0) {
                return None;
            }
            names.read_for(|names| condition.post(names, &mut unwanted));
        }
        Some(unwanted)
    }

    /// Whether every source of the namespace will do.
    fn is_all(&self) -> bool {
        self.conditions.is_empty() && self.exact.is_none()
    }

    /// Whether a source meets everything, seen from its own pairs.
    pub(crate) fn accepts(&self, names: &Names, source: u32) -> bool {
        let Some((namespace, pairs)) = names.source(source) else { return false };
        namespace == self.namespace
            && self.conditions.iter().all(|condition| {
                pairs.clone().any(|pair| condition.pairs.contains(pair)) != condition.unwanted
            })
            && self.exact.as_ref().is_none_or(|exact| {
                let mut labels: Vec<_> =
                    pairs.filter_map(|pair| names.pair(pair).map(|[_, name, _]| name)).collect();
                labels.sort_unstable();
                labels == *exact
            })
    }

    /// Whether there is a condition that takes sources away.
    pub(crate) fn has_unwanted(&self) -> bool {
        self.conditions.iter().any(|condition| condition.unwanted)
    }

    /// Whether there is a condition that only some sources meet because they have something.
    pub(crate) fn has_wanted(&self) -> bool {
        self.conditions.iter().any(|condition| !condition.unwanted)
    }

    /// The sources that meet all conditions, of which one at least is positive; nothing when it was
    /// not to go on.
    pub(crate) fn wanted(&self, names: &impl Readable, goes_on: &GoesOn<'_>) -> Option<Vec<u32>> {
        let (unwanted, mut wanted): (Vec<_>, Vec<_>) =
            self.conditions.iter().partition(|condition| condition.unwanted);
        let first = (!wanted.is_empty()).then(|| wanted.remove(0));
        if first.is_some_and(|first| !may_walk(first.postings as usize, goes_on)) {
            return None;
        }
        let mut candidates: Vec<u32> = match first {
            Some(first) => names.read_for(|names| first.sources(names)),
            None => Vec::new(),
        };
        if self.exact.is_some() {
            let candidates = (&*candidates, self.conditions.len());
            return retained(names, candidates, goes_on, |names, id| self.accepts(names, id));
        }
        for (piece, condition) in wanted.into_iter().chain(unwanted).enumerate() {
            if piece > 0 && !goes_on(0) {
                return None;
            }
            candidates = condition.met(names, &candidates, goes_on)?;
        }
        Some(candidates)
    }
}

/// Step 4.
fn join(
    names: &impl Readable,
    sources: &Sources,
    columns: Option<Vec<u32>>,
    goes_on: &GoesOn<'_>,
) -> Option<Vec<u32>> {
    let columns = columns.unwrap_or_else(|| {
        names.read_for(|names| {
            let groups = &names.columns_of_measurement;
            let measurements = groups.symbols(sources.namespace).iter();
            measurements.flat_map(|&id| groups.members(sources.namespace, id)).collect()
        })
    });
    let posted: u64 = names.read_for(|names| {
        columns.iter().map(|&column| u64::from(names.series_of_column.count(column))).sum()
    });
    if !sources.has_wanted() {
        if !may_walk(posted as usize, goes_on) {
            return None;
        }
        return join_unfiltered(names, sources, &columns, posted as usize, goes_on);
    }
    let wanted = sources.wanted(names, goes_on)?;
    let mut sids: Vec<u32> = Vec::new();
    if wanted.len() as u64 * columns.len() as u64 * SERIES_COST <= posted {
        let at_once = (CANDIDATES_AT_ONCE / columns.len().max(1)).max(1);
        for (piece, wanted) in wanted.chunks(at_once).enumerate() {
            if piece > 0 && !goes_on(0) {
                return None;
            }
            names.read_for(|names| {
                for &source in wanted {
                    let found = columns.iter().map(|&column| names.find_series(source, column));
                    sids.extend(found.flatten());
                }
            });
        }
    } else {
        if !may_walk(posted as usize, goes_on) {
            return None;
        }
        let mut bitmap = Bitmap::default();
        wanted.iter().for_each(|&source| bitmap.set(source));
        let is_wanted =
            |names: &Names, sid| names.series(sid).is_some_and(|(id, _)| bitmap.contains(id));
        each_column(names, &columns, goes_on, |names, column| {
            let of_column = names.series_of_column.iter(column);
            sids.extend(of_column.filter(|&sid| is_wanted(names, sid)));
        })?;
    }
    sids.sort();
    Some(sids)
}

/// Looks at columns, piece by piece.
fn each_column(
    names: &impl Readable,
    columns: &[u32],
    goes_on: &GoesOn<'_>,
    mut each: impl FnMut(&Names, u32),
) -> Option<()> {
    let mut left = columns.iter().copied().peekable();
    let mut is_first = true;
    while left.peek().is_some() {
        if !std::mem::take(&mut is_first) && !goes_on(0) {
            return None;
        }
        names.read_for(|names| {
            let mut series = 0;
            for column in left.by_ref() {
                each(names, column);
                series += names.series_of_column.count(column) as usize;
                if series >= CANDIDATES_AT_ONCE {
                    break;
                }
            }
        });
    }
    Some(())
}

/// All series of the columns but those of unwanted sources.
fn join_unfiltered(
    names: &impl Readable,
    sources: &Sources,
    columns: &[u32],
    posted: usize,
    goes_on: &GoesOn<'_>,
) -> Option<Vec<u32>> {
    let mut sids = Vec::with_capacity(posted);
    each_column(names, columns, goes_on, |names, column| {
        sids.extend(names.series_of_column.iter(column));
    })?;
    if !sources.is_all() {
        let unwanted = sources.unwanted(names, goes_on)?;
        let conditions = if sources.is_exact() { sources.conditions.len() } else { 1 };
        sids = retained(names, (&sids, conditions), goes_on, |names, sid| {
            names.series(sid).is_some_and(|(source, _)| {
                !unwanted.contains(source)
                    && (sources.exact.is_none() || sources.accepts(names, source))
            })
        })?;
    }
    let base = names.read_for(|names| names.origin.base);
    Some(in_order(base, sids, columns.len()))
}

/// Ids of so many columns, each of which has its own in order.
fn in_order(base: u32, mut sids: Vec<u32>, columns: usize) -> Vec<u32> {
    if columns <= MERGED_COLUMNS_MAX {
        sids.sort();
        return sids;
    }
    let mut all = Bitmap::default();
    sids.iter().for_each(|&sid| all.set(sid.saturating_sub(base)));
    sids.clear();
    sids.extend(all.iter().map(|id| base + id));
    sids
}
