//! The sources that a scan reads: found by what the condition says of labels, grouped by head, in
//! the order of their keys.

use super::calculate::evaluate;
use super::row::Head;
use crate::limits::{Charge, Meter};
use crate::source::Source;
use crate::{Error, set};
use foliot_model::{Item, Labels, Matcher, Name, Selector, Test};
use foliot_plan::rows::{Calculate, Carried, Operator, Scan};
use std::collections::HashMap;
use std::sync::Arc;

/// One source of a scan.
#[derive(Debug)]
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
    let mut fields: Vec<_> = scan.value.iter().cloned().collect();
    for carried in scan.carried.iter().chain(&scan.condition_slots) {
        if let Carried::Field(name, kind) = carried
            && !fields.iter().any(|(found, as_kind)| found == name && as_kind == kind)
        {
            fields.push((name.clone(), *kind));
        }
    }
    fields
}

/// Finds the sources of a scan.
pub(super) fn find<'q>(
    scan: &'q Scan,
    source: Source<'q>,
    meter: &'q Meter,
) -> Result<(Vec<Group>, Charge<'q>), Error> {
    let mut charge = meter.open();
    let fields = fields(scan);
    let names = fields.iter().map(|(name, _)| name.to_string()).collect();
    let name = Name { measurement: Test::equal(&*scan.measurement), field: Test::AnyOf(names) };
    let selector = Selector {
        namespace: scan.namespace,
        names: vec![name],
        matchers: matchers(scan),
        exact_labels: None,
        only: None,
    };
    let sids = source.select(&selector, scan.layout.range)?;
    charge.resize(sids.len() * set::NAME_BYTES / 2)?;
    meter.check(0)?;
    let mut members: Vec<Member> = Vec::new();
    let mut places: HashMap<Labels, usize> = HashMap::new();
    let mut last: Option<(Labels, usize)> = None;
    source.identities(&sids, &mut |sid, identity| {
        let known = last.as_ref().filter(|(labels, _)| *labels == identity.labels);
        let at = match known {
            Some((_, at)) => *at,
            None => *places.entry(identity.labels.clone()).or_insert_with(|| {
                members.push(Member::new(scan, &identity.labels, fields.len()));
                members.len() - 1
            }),
        };
        last = Some((identity.labels, at));
        if let Some(member) = members.get_mut(at) {
            let slots = fields.iter().zip(&mut member.sids);
            let of_field = slots.filter(|((name, _), _)| **name == *identity.field);
            of_field.for_each(|(_, slot)| *slot = Some(sid));
        }
    })?;
    members.retain(|member| {
        !matches!(member.condition, Some(Calculate::Constant(Item::Boolean(false))))
    });
    if let Some(limit) = scan.sources_max.filter(|limit| members.len() as u64 > *limit) {
        return Err(Error::Sources { limit, wanted: members.len() as u64 });
    }
    Ok((group(scan, members), charge))
}

fn group(scan: &Scan, mut members: Vec<Member>) -> Vec<Group> {
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

impl Member {
    fn new(scan: &Scan, labels: &Labels, fields: usize) -> Self {
        let value = |name: &Arc<str>| labels.get(name).cloned().unwrap_or_default();
        let heading = scan.layout.group_by.iter().map(|name| (name.clone(), value(name)));
        let head = Head { measurement: scan.measurement.clone(), labels: heading.collect() };
        let mut key = String::new();
        for label in labels {
            key.extend([",", &*label.name, "=", &*label.value]);
        }
        let condition =
            scan.condition.as_ref().map(|condition| specialise(condition, scan, labels));
        let is_true =
            |condition: &Calculate| matches!(condition, Calculate::Constant(Item::Boolean(true)));
        Self {
            head: Arc::new(head),
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
            let left = specialise(left, scan, labels);
            let right = specialise(right, scan, labels);
            join(*operator, left, right)
        }
        Calculate::Passes { text, test, negated } => {
            let text = specialise(text, scan, labels);
            let is_known = matches!(text, Calculate::Constant(_));
            let (text, test) = (Box::new(text), test.clone());
            let passes = Calculate::Passes { text, test, negated: *negated };
            if is_known { constant(evaluate(&passes, 0, &[])) } else { passes }
        }
        Calculate::Math { function, arguments } => Calculate::Math {
            function: *function,
            arguments: arguments.iter().map(|each| specialise(each, scan, labels)).collect(),
        },
        Calculate::Time | Calculate::Constant(_) => condition.clone(),
    }
}

fn join(operator: Operator, left: Calculate, right: Calculate) -> Calculate {
    use Calculate::Constant;
    use Item::Boolean;
    match (operator, &left, &right) {
        (_, Constant(_), Constant(_)) => {
            let both = Calculate::Binary { operator, left: left.into(), right: right.into() };
            Constant(evaluate(&both, 0, &[]))
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

/// Conditions on labels that every wanted source meets, for the index to find sources by.
fn matchers(scan: &Scan) -> Vec<Matcher> {
    let mut matchers = Vec::new();
    if let Some(condition) = &scan.condition {
        collect_matchers(condition, scan, &mut matchers);
    }
    matchers
}

fn collect_matchers(condition: &Calculate, scan: &Scan, matchers: &mut Vec<Matcher>) {
    let label = |text: &Calculate| match text {
        Calculate::Slot(index) => match scan.condition_slots.get(*index) {
            Some(Carried::Label(name)) => Some(name.to_string()),
            _ => None,
        },
        _ => None,
    };
    match condition {
        Calculate::Binary { operator: Operator::And, left, right } => {
            collect_matchers(left, scan, matchers);
            collect_matchers(right, scan, matchers);
        }
        Calculate::Passes { text, test, negated } => {
            let accepts_absent = test.passes("") != *negated;
            matchers.extend(label(text).map(|name| Matcher {
                name,
                test: test.clone(),
                negated: *negated,
                accepts_absent,
            }));
        }
        Calculate::Binary { .. } => {
            let mut values = Vec::new();
            if let Some(name) = alternatives(condition, &label, &mut values)
                && !values.iter().any(String::is_empty)
            {
                let test = Test::AnyOf(values);
                matchers.push(Matcher { name, test, negated: false, accepts_absent: false });
            }
        }
        _ => {}
    }
}

/// The label that must have one of some values, if that is what a condition says.
fn alternatives(
    condition: &Calculate,
    label: &dyn Fn(&Calculate) -> Option<String>,
    values: &mut Vec<String>,
) -> Option<String> {
    let Calculate::Binary { operator, left, right } = condition else { return None };
    match (operator, &**left, &**right) {
        (Operator::Equal, slot, Calculate::Constant(Item::String(value)))
        | (Operator::Equal, Calculate::Constant(Item::String(value)), slot) => {
            values.push(value.to_string());
            label(slot)
        }
        (Operator::Or, left, right) => {
            let left = alternatives(left, label, values)?;
            (alternatives(right, label, values)? == left).then_some(left)
        }
        _ => None,
    }
}
