//! The sources that a scan reads: found by what the condition says of labels, grouped by head, in
//! the order of their keys.

use super::calculate::of_stored;
use super::matchers;
use super::row::Head;
use crate::Error;
use crate::limits::{Charge, Meter};
use crate::source::Source;
use foliot_engine::Identity;
use foliot_model::{Item, Labels, Matcher, Name, Selector, Test};
use foliot_plan::rows::{Calculate, Carried, Operator, Scan};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What a source weighs while it is known by name, by estimate: ten labels, twice, and its key.
const MEMBER_BYTES: usize = 960;

/// What a head weighs without its labels, by estimate.
const HEAD_BYTES: usize = 192;

/// Most series that a fold knows the names of at once: some 5 MB.
pub(super) const NAMED_MAX: usize = 1 << 12;

/// Fields that are faster looked through than looked up.
const FIELDS_FEW: usize = 16;

/// One source of a scan.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) head: Arc<Head>,
    pub(super) labels: Labels,
    /// The series of each field of the scan, if the source has it.
    pub(super) sids: Vec<Option<u32>>,
    /// What is left to test on every row.
    pub(super) condition: Option<Calculate>,
    /// The labels in one text, by which sources of a head are ordered.
    key: String,
}

/// The sources of one head, in order.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) members: Vec<Member>,
}

/// The fields that a scan reads, each once; the value first.
pub(super) fn fields(scan: &Scan) -> Vec<(Arc<str>, foliot_model::Kind)> {
    fields_among(scan, scan.carried.iter().chain(&scan.condition_slots))
}

/// How many of a scan's fields, from the first on, decide which rows there are: the value, or else
/// those that are carried.
pub(super) fn driving(scan: &Scan) -> usize {
    match scan.value {
        Some(_) => 1,
        None => fields_among(scan, scan.carried.iter()).len(),
    }
}

fn fields_among<'s>(
    scan: &'s Scan,
    list: impl Iterator<Item = &'s Carried>,
) -> Vec<(Arc<str>, foliot_model::Kind)> {
    let mut fields = Vec::with_capacity(1 + scan.carried.len());
    fields.extend(scan.value.iter().cloned());
    let mut known = HashSet::new();
    for carried in list {
        let Carried::Field(name, kind) = carried else { continue };
        let is_known = match fields.len() {
            ..FIELDS_FEW => fields.iter().any(|(found, of)| found == name && of == kind),
            FIELDS_FEW => {
                known.extend(fields.iter().cloned());
                !known.insert((name.clone(), *kind))
            }
            _ => !known.insert((name.clone(), *kind)),
        };
        if !is_known {
            fields.push((name.clone(), *kind));
        }
    }
    fields
}

/// Where each field stands among those that a scan reads; of one name there may be several kinds.
pub(super) struct Places<'f> {
    fields: &'f [(Arc<str>, foliot_model::Kind)],
    /// By name, unless there are few.
    by_name: HashMap<&'f str, Vec<usize>>,
}

impl<'f> Places<'f> {
    pub(super) fn new(fields: &'f [(Arc<str>, foliot_model::Kind)]) -> Self {
        let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
        if fields.len() > FIELDS_FEW {
            for (at, (name, _)) in fields.iter().enumerate() {
                by_name.entry(name).or_default().push(at);
            }
        }
        Self { fields, by_name }
    }

    /// Calls `each` with the places of a name.
    pub(super) fn of(&self, name: &str, mut each: impl FnMut(usize)) {
        match self.fields.len() > FIELDS_FEW {
            true => self.by_name.get(name).into_iter().flatten().for_each(|at| each(*at)),
            false => {
                let named = self.fields.iter().enumerate().filter(|(_, (own, _))| **own == *name);
                named.for_each(|(at, _)| each(at));
            }
        }
    }
}

/// The series that a scan reads, before they are named.
pub(super) struct Selected {
    /// Ascending.
    pub(super) sids: Vec<u32>,
    /// Whether the index has seen to all that the scan's condition says.
    is_whole: bool,
}

impl Selected {
    /// Whether a fold may take the series one by one, whatever their sources are called: not where
    /// a condition reads fields, or sources or heads are counted off.
    pub(super) fn is_plain(&self, scan: &Scan) -> bool {
        let reads_no_more = fields(scan).len() == scan.carried.len();
        reads_no_more && scan.heads == (0, None) && scan.sources_max.is_none()
    }

    /// Whether rows of the series need not be tested any more.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Some of the series as sources, and what they weigh; see [`name`].
    pub(super) fn name<'q>(
        &self,
        scan: &Scan,
        source: Source<'q>,
        sids: &[u32],
        meter: &'q Meter,
    ) -> Result<(Vec<Member>, Charge<'q>), Error> {
        name(scan, source, sids, self.is_whole, meter)
    }
}

/// Selects the series of a scan. Whether they are too many is for the caller to ask.
pub(super) fn select(scan: &Scan, source: Source<'_>, meter: &Meter) -> Result<Selected, Error> {
    let names = fields(scan).iter().map(|(name, _)| name.to_string()).collect();
    let name = Name { measurement: Test::equal(&*scan.measurement), field: Test::AnyOf(names) };
    let (matchers, is_whole) = matchers_of(scan);
    let selector = Selector {
        namespace: scan.namespace,
        names: vec![name],
        matchers,
        exact_labels: None,
        only: None,
    };
    let sids = source.select(&selector, scan.layout.range, meter)?;
    Ok(Selected { sids, is_whole })
}

/// Finds the sources of a scan.
pub(super) fn find<'q>(
    scan: &'q Scan,
    source: Source<'q>,
    meter: &'q Meter,
) -> Result<(Vec<Group>, Charge<'q>), Error> {
    let selected = select(scan, source, meter)?;
    meter.admit(selected.sids.len())?;
    find_selected(scan, &selected, source, meter)
}

/// Finds the sources of a scan whose series are selected.
pub(super) fn find_selected<'q>(
    scan: &Scan,
    selected: &Selected,
    source: Source<'q>,
    meter: &'q Meter,
) -> Result<(Vec<Group>, Charge<'q>), Error> {
    meter.check(0)?;
    let (members, charge) = selected.name(scan, source, &selected.sids, meter)?;
    if let Some(limit) = scan.sources_max.filter(|limit| members.len() as u64 > *limit) {
        return Err(Error::Sources { limit, wanted: members.len() as u64 });
    }
    Ok((group(scan, members), charge))
}

/// What a head weighs, by estimate. It has a place for each label that is grouped by, also for
/// those that its series do not have: of `GROUP BY *` that is every tag of the measurement.
pub(super) fn head_bytes(scan: &Scan) -> usize {
    HEAD_BYTES + scan.layout.group_by.len() * size_of::<(Arc<str>, Arc<str>)>()
}

/// What a source weighs while it is known by name, its own head included.
pub(super) fn member_bytes(scan: &Scan) -> usize {
    MEMBER_BYTES + head_bytes(scan)
}

/// The sources of some series of a scan, but for those whose rows cannot meet its condition; and
/// what they weigh, which is charged before any of them is made.
fn name<'q>(
    scan: &Scan,
    source: Source<'q>,
    sids: &[u32],
    is_whole: bool,
    meter: &'q Meter,
) -> Result<(Vec<Member>, Charge<'q>), Error> {
    let fields = fields(scan);
    let mut charge = meter.open();
    charge.resize((sids.len() / fields.len().max(1)).saturating_mul(member_bytes(scan)))?;
    if let ([sid], [_]) = (sids, &*fields)
        && is_whole
        && knows_no_labels(scan)
    {
        // Alone, a source needs no name.
        let mut member = Member::new(scan, &Labels::default(), 1, is_whole);
        member.sids.fill(Some(*sid));
        return Ok((vec![member], charge));
    }
    let mut members: Vec<Member> = Vec::new();
    let slots = Places::new(&fields);
    let mut known = KnownSources::new(source);
    source.identities(sids, meter, &mut |sid, identity| {
        let at = known.place(&identity, members.len());
        if at == members.len() {
            members.push(Member::new(scan, &identity.labels, fields.len(), is_whole));
        }
        if let Some(member) = members.get_mut(at) {
            slots.of(&identity.field, |at| {
                if let Some(slot) = member.sids.get_mut(at) {
                    *slot = Some(sid);
                }
            });
        }
    })?;
    members.retain(|member| {
        !matches!(member.condition, Some(Calculate::Constant(Item::Boolean(false))))
    });
    Ok((members, charge))
}

/// Where the sources of series stand among those that were named.
struct KnownSources {
    /// The number of the last one, and its place.
    last: Option<(u32, usize)>,
    by_number: HashMap<u32, usize>,
    /// Where a source may have several numbers.
    by_labels: Option<HashMap<Labels, usize>>,
}

impl KnownSources {
    fn new(source: Source<'_>) -> Self {
        let by_labels = source.has_epochs().then(HashMap::new);
        Self { last: None, by_number: HashMap::new(), by_labels }
    }

    /// The place of a series' source; the next one if it was not named yet.
    fn place(&mut self, identity: &Identity, next: usize) -> usize {
        let number = identity.source;
        if let Some((_, place)) = self.last.filter(|(last, _)| *last == number) {
            return place;
        }
        let place = match &mut self.by_labels {
            Some(known) => *known.entry(identity.labels.clone()).or_insert(next),
            None => *self.by_number.entry(number).or_insert(next),
        };
        self.last = Some((number, place));
        place
    }
}

/// Whether no row of a scan shows or is placed by what its source is called.
fn knows_no_labels(scan: &Scan) -> bool {
    let layout = &scan.layout;
    let is_label = |carried: &Carried| matches!(carried, Carried::Label(_));
    layout.group_by.is_empty() && layout.order_by.is_empty() && !scan.carried.iter().any(is_label)
}

fn group(scan: &Scan, mut members: Vec<Member>) -> Vec<Group> {
    if members.len() == 1 && scan.heads == (0, None) {
        return vec![Group { members }];
    }
    let order_by = &scan.layout.order_by;
    members.sort_by(|a, b| a.head.compare(&b.head, order_by).then_with(|| a.key.cmp(&b.key)));
    let mut groups: Vec<Group> = Vec::new();
    for member in members {
        let open = groups.last_mut().filter(|group| {
            let first = group.members.first();
            first.is_some_and(|first| first.head.compare(&member.head, order_by).is_eq())
        });
        match open {
            Some(group) => group.members.push(member),
            None => groups.push(Group { members: vec![member] }),
        }
    }
    for group in &mut groups {
        share_heads(&mut group.members);
    }
    let (offset, limit) = scan.heads;
    if offset > 0 || limit.is_some() {
        groups.sort_by_cached_key(|group| group.members.first().map(|first| first.rank(order_by)));
    }
    let offset = usize::try_from(offset).unwrap_or(usize::MAX);
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let mut groups: Vec<Group> = groups.into_iter().skip(offset).take(limit).collect();
    groups.sort_by(|a, b| match (a.members.first(), b.members.first()) {
        (Some(a), Some(b)) => a.head.compare(&b.head, order_by),
        (a, b) => a.is_some().cmp(&b.is_some()),
    });
    if scan.heads_descending {
        groups.reverse();
    }
    if scan.layout.descending {
        groups.iter_mut().for_each(|group| group.members.reverse());
    }
    groups
}

/// Equal heads become one, so that rows can be told to belong together by looking at a pointer.
fn share_heads(members: &mut [Member]) {
    let mut last: Option<Arc<Head>> = None;
    for member in members {
        match &last {
            Some(head) if *head == member.head => member.head = head.clone(),
            _ => last = Some(member.head.clone()),
        }
    }
}

/// The head of a source.
pub(super) fn head_of(scan: &Scan, labels: &Labels) -> Head {
    let value = |name: &Arc<str>| labels.get(name).cloned().unwrap_or_default();
    let heading = scan.layout.group_by.iter().map(|name| (name.clone(), value(name)));
    Head { measurement: scan.measurement.clone(), labels: heading.collect() }
}

impl Member {
    fn new(scan: &Scan, labels: &Labels, fields: usize, is_whole: bool) -> Self {
        let mut key = String::new();
        for label in labels {
            key.extend([",", &*label.name, "=", &*label.value]);
        }
        let condition =
            scan.condition.as_ref().filter(|_| !is_whole).map(|c| specialise(c, scan, labels));
        let is_true =
            |condition: &Calculate| matches!(condition, Calculate::Constant(Item::Boolean(true)));
        Self {
            head: Arc::new(head_of(scan, labels)),
            labels: labels.clone(),
            sids: vec![None; fields],
            condition: condition.filter(|condition| !is_true(condition)),
            key,
        }
    }

    /// By what heads are counted off: the names of the labels they have, then the values.
    fn rank(&self, names: &[Arc<str>]) -> String {
        let labels = || names.iter().filter_map(|name| Some((name, self.labels.get(name)?)));
        let mut rank = String::new();
        labels().for_each(|(name, _)| rank.extend([&**name, "|"]));
        let values: Vec<&str> = labels().map(|(_, value)| &**value).collect();
        rank.push_str(&values.join("|"));
        rank
    }

    /// What a carried value is where it does not depend on the row.
    pub(super) fn constant(&self, carried: &Carried, measurement: &Arc<str>) -> Option<Item> {
        match carried {
            Carried::Field(..) => None,
            Carried::Label(name) => {
                Some(self.labels.get(name).cloned().map_or(Item::Null, Item::String))
            }
            Carried::Measurement => Some(Item::String(measurement.clone())),
            Carried::Nothing => Some(Item::Null),
        }
    }
}

/// The condition for a source whose labels are known: what depends on nothing else is calculated.
fn specialise(condition: &Calculate, scan: &Scan, labels: &Labels) -> Calculate {
    let constant = |item| Calculate::Constant(item);
    match condition {
        Calculate::Slot(index) => match scan.condition_slots.get(*index) {
            Some(Carried::Label(name)) => {
                constant(Item::String(labels.get(name).cloned().unwrap_or_default()))
            }
            Some(Carried::Measurement) => constant(Item::String(scan.measurement.clone())),
            Some(Carried::Field(..)) => condition.clone(),
            Some(Carried::Nothing) | None => constant(Item::Null),
        },
        Calculate::Binary { operator, left, right } => {
            if let Some(is_met) = beside(*operator, (left, right), scan, labels) {
                return constant(Item::Boolean(is_met));
            }
            let left = specialise(left, scan, labels);
            let right = specialise(right, scan, labels);
            join(*operator, left, right)
        }
        Calculate::Passes { text, test, negated } => {
            let text = specialise(text, scan, labels);
            let is_known = matches!(text, Calculate::Constant(_));
            let (text, test) = (Box::new(text), test.clone());
            let passes = Calculate::Passes { text, test, negated: *negated };
            if is_known { constant(of_stored(&passes, 0, &[])) } else { passes }
        }
        Calculate::Math { function, arguments } => Calculate::Math {
            function: *function,
            arguments: arguments.iter().map(|each| specialise(each, scan, labels)).collect(),
        },
        Calculate::Time | Calculate::Constant(_) => condition.clone(),
    }
}

/// Whether a label compares so with another label or with a field, where that is known: a label
/// that is absent is equal to the empty text, and to nothing else that has a name, as InfluxDB 1
/// has it.
fn beside(
    operator: Operator,
    (left, right): (&Calculate, &Calculate),
    scan: &Scan,
    labels: &Labels,
) -> Option<bool> {
    let (Calculate::Slot(left), Calculate::Slot(right)) = (left, right) else { return None };
    let [left, right] = [left, right].map(|slot| scan.condition_slots.get(*slot));
    let of = |name| labels.get(name);
    match (operator, left?, right?) {
        (Operator::Equal, Carried::Label(left), Carried::Label(right)) => {
            Some(of(left).is_some() && of(left) == of(right))
        }
        (Operator::NotEqual, Carried::Label(left), Carried::Label(right)) => {
            Some(of(left).is_none() || of(left) != of(right))
        }
        (Operator::Equal | Operator::NotEqual, Carried::Label(name), Carried::Field(..))
        | (Operator::Equal | Operator::NotEqual, Carried::Field(..), Carried::Label(name)) => {
            of(name).is_none().then_some(false)
        }
        _ => None,
    }
}

fn join(operator: Operator, left: Calculate, right: Calculate) -> Calculate {
    use Calculate::Constant;
    use Item::Boolean;
    match (operator, &left, &right) {
        (_, Constant(_), Constant(_)) => {
            let both = Calculate::Binary { operator, left: left.into(), right: right.into() };
            Constant(of_stored(&both, 0, &[]))
        }
        (Operator::And, Constant(Boolean(false)), _)
        | (Operator::And, _, Constant(Boolean(false))) => Constant(Boolean(false)),
        (Operator::Or, Constant(Boolean(true)), _) | (Operator::Or, _, Constant(Boolean(true))) => {
            Constant(Boolean(true))
        }
        (Operator::And, Constant(Boolean(true)), _)
        | (Operator::Or, Constant(Boolean(false)), _) => right,
        (Operator::And, _, Constant(Boolean(true)))
        | (Operator::Or, _, Constant(Boolean(false))) => left,
        _ => Calculate::Binary { operator, left: left.into(), right: right.into() },
    }
}

/// Conditions on labels that every wanted source meets, for the index to find sources by, and
/// whether they are all that the scan's condition says.
fn matchers_of(scan: &Scan) -> (Vec<Matcher>, bool) {
    let label = |slot: usize| match scan.condition_slots.get(slot) {
        Some(Carried::Label(name)) => Some(name.to_string()),
        _ => None,
    };
    let mut found = Vec::new();
    let condition = scan.condition.as_ref();
    let is_whole = condition.is_none_or(|rest| matchers::collect(rest, &label, &mut found));
    (found, is_whole)
}
