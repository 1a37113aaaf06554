//! Pair sets: the pairs that a matcher is about, found by looking up, in order, or by testing.

use crate::bitmap::Bitmap;
use crate::names::{Names, SymbolKind};
use crate::select::GoesOn;
use foliot_model::{Matcher, Reach};

/// The pairs that a matcher is about: a few, or many of those that there are.
pub(crate) enum PairSet {
    /// Ascending.
    Few(Vec<u32>),
    Many(Bitmap),
}

impl PairSet {
    #[inline]
    pub(crate) fn contains(&self, pair: u32) -> bool {
        match self {
            Self::Few(pairs) => pairs.contains(&pair),
            Self::Many(set) => set.contains(pair),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Few(pairs) if pairs.is_empty())
    }

    pub(crate) fn each(&self, each: &mut dyn FnMut(u32)) {
        match self {
            Self::Few(pairs) => pairs.iter().copied().for_each(each),
            Self::Many(set) => set.iter().for_each(each),
        }
    }
}

impl FromIterator<u32> for PairSet {
    /// The set of pairs that ascend.
    fn from_iter<I: IntoIterator<Item = u32>>(pairs: I) -> Self {
        let mut rest = pairs.into_iter();
        let few: Vec<u32> = rest.by_ref().take(PAIRS_FEW + 1).collect();
        if few.len() <= PAIRS_FEW {
            return Self::Few(few);
        }
        let mut set = Bitmap::default();
        few.into_iter().chain(rest).for_each(|pair| set.set(pair));
        Self::Many(set)
    }
}

/// Looking through so many pairs costs no more than looking into a set.
const PAIRS_FEW: usize = 8;

/// The pairs of a label that a source must have one of, or none when it may lack the label.
pub(crate) fn pairs_of(
    names: &Names,
    [namespace, label]: [u32; 2],
    matcher: &Matcher,
    goes_on: &GoesOn<'_>,
) -> Option<PairSet> {
    let unwanted = matcher.accepts_absent;
    let is_big = names.is_big(namespace, label);
    // Where a value that passes is in the set sought, how it may look tells which ones to test.
    let reach = (matcher.negated == unwanted).then(|| matcher.test.reach());
    match &reach {
        Some(Reach::OneOf(literals)) => {
            let find = |value: &String| {
                let value = names.symbols(SymbolKind::LabelValue).find(value.as_bytes())?;
                names.pairs().find([namespace, label, value])
            };
            return Some(in_order(literals.iter().filter_map(find).collect()));
        }
        Some(Reach::Beginning(prefix)) if is_big && !prefix.is_empty() => {
            let mut pairs = names.orders.beginning(names, [namespace, label], prefix, goes_on)?;
            // Out of order a value costs some times more to read.
            if pairs.len() as u64 * 4 < names.pairs_of_label.count(namespace, label) {
                pairs.retain(|&pair| matcher.test.passes(names.value(pair)));
                return Some(in_order(pairs));
            }
        }
        _ => {}
    }
    let members = names.pairs_of_label.members(namespace, label);
    if is_big {
        let passing = names.answers.of(names, [namespace, label], &matcher.test, goes_on)?;
        return Some(match matcher.negated == unwanted {
            true => passing.iter().collect(),
            false => members.filter(|&pair| !passing.contains(pair)).collect(),
        });
    }
    let mut values = names.values();
    Some(members.filter(|&pair| matcher.matches(Some(values.of(pair))) != unwanted).collect())
}

fn in_order(mut pairs: Vec<u32>) -> PairSet {
    pairs.sort_unstable();
    pairs.dedup();
    if pairs.len() <= PAIRS_FEW { PairSet::Few(pairs) } else { pairs.into_iter().collect() }
}
