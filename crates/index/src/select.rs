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

use crate::bitmap::Bitmap;
use crate::groups::Groups;
use crate::names::{Key, Names, SymbolKind};
use crate::pair_set::{PairSet, pairs_of};
use foliot_model::{Matcher, Name, Selector, Test};

/// Looking at one candidate's pairs costs about as much as reading so many posted ids.
const CANDIDATE_COST: u64 = 16;
/// Ids of so many columns are put in order by a merging sort, in linear time. Those of more are put
/// into a bitmap, which looks at each once, however many columns there are.
const MERGED_COLUMNS_MAX: usize = 8;
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

/// Asked now and then whether to go on; where it says no, the answer is nothing.
pub(crate) type GoesOn<'a> = dyn Fn() -> bool + 'a;

/// Values that are tested before it is asked again: less than a millisecond.
pub(crate) const VALUES_PER_ASK: u32 = 1 << 12;

/// The series that a selector wants, ascending.
pub(crate) fn select(names: &Names, selector: &Selector) -> Vec<u32> {
    select_while(names, selector, &|| true).unwrap_or_default()
}

/// The same, as long as it goes on.
pub(crate) fn select_while(
    names: &Names,
    selector: &Selector,
    goes_on: &GoesOn<'_>,
) -> Option<Vec<u32>> {
    let columns = match selector.names.is_empty() {
        true => None,
        false => Some(columns(names, selector.namespace, &selector.names)),
    };
    let sources = Sources::new(names, selector, goes_on)?;
    if sources.is_void || columns.as_ref().is_some_and(Vec::is_empty) {
        return Some(Vec::new());
    }
    let mut sids = match &selector.only {
        Some(only) => select_only(names, &sources, columns.as_deref(), only),
        None => join(names, &sources, columns),
    };
    names.forgotten.sids().take_from(&mut sids);
    Some(sids)
}

fn select_only(
    names: &Names,
    sources: &Sources,
    columns: Option<&[u32]>,
    only: &[u32],
) -> Vec<u32> {
    let is_wanted = |sid: u32| {
        names.series(sid).is_some_and(|(source, column)| {
            columns.is_none_or(|columns| columns.binary_search(&column).is_ok())
                && sources.accepts(names, source)
        })
    };
    let mut sids: Vec<u32> = only.iter().copied().filter(|&sid| is_wanted(sid)).collect();
    sids.sort_unstable();
    sids.dedup();
    sids
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

    /// The sources that have one of the pairs.
    fn posted(&self, names: &Names) -> Bitmap {
        let mut bitmap = Bitmap::default();
        self.pairs.each(&mut |pair| {
            names.sources().of_pair().iter(pair).for_each(|source| bitmap.set(source));
        });
        bitmap
    }
}

impl Sources {
    /// Nothing when it was not to go on.
    pub(crate) fn new(names: &Names, selector: &Selector, goes_on: &GoesOn<'_>) -> Option<Self> {
        let namespace = selector.namespace;
        let condition = |matcher| Condition::new(names, namespace, matcher, goes_on);
        let mut conditions: Vec<_> =
            selector.matchers.iter().map(condition).collect::<Option<_>>()?;
        let mut is_void = conditions.iter().any(|c| !c.unwanted && c.pairs.is_empty());
        conditions.retain(|condition| !condition.pairs.is_empty());
        conditions.sort_by_key(|condition| (condition.unwanted, condition.postings));
        let exact = selector.exact_labels.as_ref().map(|labels| {
            let find = |name: &String| names.symbols(SymbolKind::LabelName).find(name.as_bytes());
            let mut ids: Vec<_> = labels.iter().map(|name| find(name).unwrap_or(0)).collect();
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

    /// The sets of sources that do not meet a condition that takes sources away.
    pub(crate) fn unwanted(&self, names: &Names) -> Vec<Bitmap> {
        let unwanted = self.conditions.iter().filter(|condition| condition.unwanted);
        unwanted.map(|condition| condition.posted(names)).collect()
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

    /// The sources that meet the positive conditions, or nothing when there are none. Of those that
    /// are returned, `accepts` must still be asked when `exact` or unwanted conditions are given.
    pub(crate) fn wanted(&self, names: &Names) -> Option<Vec<u32>> {
        let mut wanted = self.conditions.iter().filter(|condition| !condition.unwanted);
        let mut candidates: Vec<u32> = wanted.next()?.posted(names).iter().collect();
        for condition in wanted {
            if condition.postings < candidates.len() as u64 * CANDIDATE_COST {
                let posted = condition.posted(names);
                candidates.retain(|&source| posted.contains(source));
            } else {
                candidates.retain(|&source| {
                    let pairs = names.source(source).map(|(_, pairs)| pairs);
                    pairs.is_some_and(|mut ids| ids.any(|id| condition.pairs.contains(id)))
                });
            }
        }
        Some(self.without_unwanted(names, candidates))
    }

    fn without_unwanted(&self, names: &Names, mut candidates: Vec<u32>) -> Vec<u32> {
        if self.exact.is_some() {
            candidates.retain(|&source| self.accepts(names, source));
            return candidates;
        }
        for condition in self.conditions.iter().filter(|condition| condition.unwanted) {
            if condition.postings < candidates.len() as u64 * CANDIDATE_COST {
                let posted = condition.posted(names);
                candidates.retain(|&source| !posted.contains(source));
            } else {
                candidates.retain(|&source| {
                    let pairs = names.source(source).map(|(_, pairs)| pairs);
                    pairs.is_some_and(|mut ids| !ids.any(|id| condition.pairs.contains(id)))
                });
            }
        }
        candidates
    }
}

/// Step 4.
fn join(names: &Names, sources: &Sources, columns: Option<Vec<u32>>) -> Vec<u32> {
    let columns = columns.unwrap_or_else(|| {
        let groups = &names.columns_of_measurement;
        let measurements = groups.symbols(sources.namespace).iter();
        measurements.flat_map(|&id| groups.members(sources.namespace, id)).collect()
    });
    let posted: u64 = columns.iter().map(|&c| u64::from(names.series_of_column.count(c))).sum();
    let mut sids: Vec<u32> = Vec::new();
    let Some(wanted) = sources.wanted(names) else {
        return join_unfiltered(names, sources, &columns, posted as usize);
    };
    if wanted.len() as u64 * columns.len() as u64 * SERIES_COST <= posted {
        for &source in &wanted {
            sids.extend(columns.iter().filter_map(|&column| names.find_series(source, column)));
        }
    } else {
        let mut bitmap = Bitmap::default();
        wanted.iter().for_each(|&source| bitmap.set(source));
        for &column in &columns {
            let of_column = names.series_of_column.iter(column);
            sids.extend(of_column.filter(|&sid| {
                names.series(sid).is_some_and(|(source, _)| bitmap.contains(source))
            }));
        }
    }
    sids.sort();
    sids
}

/// All series of the columns but those of unwanted sources.
fn join_unfiltered(names: &Names, sources: &Sources, columns: &[u32], posted: usize) -> Vec<u32> {
    let mut sids = Vec::with_capacity(posted);
    for &column in columns {
        sids.extend(names.series_of_column.iter(column));
    }
    if !sources.is_all() {
        let excluded = sources.unwanted(names);
        sids.retain(|&sid| {
            names.series(sid).is_some_and(|(source, _)| {
                !excluded.iter().any(|posted| posted.contains(source))
                    && (sources.exact.is_none() || sources.accepts(names, source))
            })
        });
    }
    in_order(names, sids, columns.len())
}

/// Ids of so many columns, each of which has its own in order.
fn in_order(names: &Names, mut sids: Vec<u32>, columns: usize) -> Vec<u32> {
    if columns <= MERGED_COLUMNS_MAX {
        sids.sort();
        return sids;
    }
    let base = names.origin.base;
    let mut all = Bitmap::default();
    sids.iter().for_each(|&sid| all.set(sid.saturating_sub(base)));
    sids.clear();
    sids.extend(all.iter().map(|id| base + id));
    sids
}
