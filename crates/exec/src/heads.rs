//! Heads: what the members of a group have in common.

use crate::Error;
use foliot_engine::Identity;
use foliot_model::{DEFAULT_FIELD, Label, Labels, SeriesHead};
use foliot_plan::Named;
use std::cmp::Ordering;
use std::sync::Arc;

/// What a name may become once the values of labels are in it.
const NAME_BYTES_MAX: usize = 64 << 10;

/// Adds a member to the head of its group. The head keeps the labels on which those members agree
/// that have them, and the names of those on which members differ; the first member gives the
/// measurement; the field is empty when members differ in it.
pub(crate) fn join(head: &mut Option<SeriesHead>, member: &Identity) {
    let Some(head) = head else {
        *head = Some(SeriesHead {
            measurement: Arc::clone(&member.measurement),
            field: Arc::clone(&member.field),
            labels: member.labels.clone(),
            ..SeriesHead::default()
        });
        return;
    };
    if !same(&head.field, &member.field) {
        head.field = Arc::default();
    }
    if agree(&head.labels, &member.labels, &head.varying) {
        return;
    }
    head.labels = join_labels(&head.labels, &member.labels, &mut head.varying);
}

/// Adds a member that is a group itself.
pub(crate) fn join_head(head: &mut Option<SeriesHead>, member: &SeriesHead) {
    let Some(known) = head else {
        *head = Some(member.clone());
        return;
    };
    known.members.extend_from_slice(&member.members);
    for name in &member.varying {
        add_name(&mut known.varying, Arc::clone(name));
    }
    join(head, &identity(member));
}

/// What a group is called, as a stored series would be.
pub(crate) fn identity(head: &SeriesHead) -> Identity {
    let (measurement, field) = (Arc::clone(&head.measurement), Arc::clone(&head.field));
    Identity { measurement, field, labels: head.labels.clone(), source: 0 }
}

/// Calls a series as a plan says.
pub(crate) fn renamed(head: &SeriesHead, plan: &Named) -> Result<SeriesHead, Error> {
    let mut name = plan.name.to_string();
    if plan.is_template {
        for label in head.labels.iter() {
            let place = format!("@{}", label.name);
            let grown = name.matches(&*place).count().saturating_mul(label.value.len());
            if name.len().saturating_add(grown) > NAME_BYTES_MAX {
                let text = format!("a name becomes longer than {NAME_BYTES_MAX} bytes");
                return Err(Error::Plan(text));
            }
            name = name.replace(&place, &label.value);
        }
    }
    let mut head = SeriesHead { measurements: Vec::new(), ..head.clone() };
    (head.measurement, head.field) = (name.into(), DEFAULT_FIELD.into());
    if plan.is_template {
        (head.labels, head.varying) = (Labels::default(), Vec::new());
    }
    Ok(head)
}

/// Whether a member adds nothing new: it has every label of the head, and all its others vary.
fn agree(labels: &Labels, member: &Labels, varying: &[Arc<str>]) -> bool {
    let mut others = member.iter();
    let has_all = labels.iter().all(|label| {
        let varies = |name: &Arc<str>| varying.binary_search(name).is_ok();
        let found = others.find(|other| same(&other.name, &label.name) || !varies(&other.name));
        found
            .is_some_and(|other| same(&other.name, &label.name) && same(&other.value, &label.value))
    });
    has_all && others.all(|other| varying.binary_search(&other.name).is_ok())
}

/// Both sides are sorted by name, and so is the result.
fn join_labels(a: &Labels, b: &Labels, varying: &mut Vec<Arc<str>>) -> Labels {
    let mut kept: Vec<Label> = Vec::with_capacity(a.len().max(b.len()));
    let (mut left, mut right) = (a.iter().peekable(), b.iter().peekable());
    loop {
        let order = match (left.peek(), right.peek()) {
            (None, None) => break,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(l), Some(r)) => l.name.cmp(&r.name),
        };
        let l = left.next_if(|_| order != Ordering::Greater);
        let r = right.next_if(|_| order != Ordering::Less);
        match (l, r) {
            (Some(l), Some(r)) if !same(&l.value, &r.value) => {
                add_name(varying, Arc::clone(&l.name));
            }
            (Some(label), _) | (None, Some(label)) => kept.push(label.clone()),
            (None, None) => {}
        }
    }
    kept.retain(|label| varying.binary_search(&label.name).is_err());
    Labels::new(kept)
}

fn same(a: &Arc<str>, b: &Arc<str>) -> bool {
    Arc::ptr_eq(a, b) || a == b
}

fn add_name(names: &mut Vec<Arc<str>>, name: Arc<str>) {
    if let Err(at) = names.binary_search(&name) {
        names.insert(at, name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(members: &[&[(&str, &str)]]) -> SeriesHead {
        let mut head = None;
        for labels in members {
            join(&mut head, &identity("value", labels));
        }
        head.unwrap()
    }

    fn identity(field: &str, labels: &[(&str, &str)]) -> Identity {
        let labels = labels.iter().copied().collect();
        Identity { measurement: "m".into(), field: field.into(), labels, source: 0 }
    }

    /// Row 32: a label that only some members have is still one on which members agree.
    #[test]
    fn row_32_labels_of_a_group() {
        let a: &[_] = &[("h", "a"), ("dc", "x")];
        for other in [&[("h", "b"), ("dc", "x")][..], &[("h", "b")]] {
            let head = joined(&[a, other]);
            assert_eq!(head.labels, [("dc", "x")].into_iter().collect());
            assert_eq!(head.varying, ["h".into()]);
        }
    }

    #[test]
    fn what_varies_stays_varying() {
        let (a, b): (&[_], &[_]) = (&[("h", "a")], &[("h", "b")]);
        let head = joined(&[a, b, a]);
        assert!(head.labels.is_empty());
        assert_eq!(head.varying, ["h".into()]);
        let head = joined(&[a, b, a, &[("a", "0"), ("h", "a"), ("z", "1")]]);
        assert_eq!(head.labels, [("a", "0"), ("z", "1")].into_iter().collect());
        assert_eq!(head.varying, ["h".into()]);
        let head = joined(&[&[("a", "0"), ("z", "1")], &[("z", "1")], &[("a", "1"), ("z", "1")]]);
        assert_eq!(head.labels, [("z", "1")].into_iter().collect());
        assert_eq!(head.varying, ["a".into()]);
    }

    #[test]
    fn fields_that_differ_leave_none() {
        let mut head = None;
        join(&mut head, &identity("idle", &[]));
        assert_eq!(&*head.as_ref().unwrap().field, "idle");
        join(&mut head, &identity("user", &[]));
        assert_eq!(&*head.unwrap().field, "");
    }
}
