//! Scans: what a condition says of times, labels and fields goes to where rows are read, and only
//! the rest is tested of rows.

use crate::table::Table;
use foliot_model::{Item, Kind, Test, TimeRange};
use foliot_plan::relation::{Formula, Relation};
use foliot_plan::rows::{Calculate, Carried, Layout, Operator, Scan};
use std::sync::Arc;

/// A condition, taken apart.
#[derive(Clone, Debug)]
pub(crate) struct Sifted {
    /// The times that can meet it.
    pub(crate) range: TimeRange,
    /// What a scan can test.
    pub(crate) condition: Option<Calculate>,
    /// What the slots of that hold.
    pub(crate) slots: Vec<Carried>,
    /// What else is to be tested.
    pub(crate) rest: Option<Formula>,
}

impl Sifted {
    /// Takes a condition on the rows of a table apart.
    pub(crate) fn of(table: &Table, condition: Option<&Formula>) -> Self {
        let (slots, range) = (Vec::new(), TimeRange::ALL);
        let mut sifted = Self { range, condition: None, slots, rest: None };
        let mut parts = Vec::new();
        condition.into_iter().for_each(|condition| conjuncts(condition, &mut parts));
        for part in parts {
            if let Some(range) = range_of(part) {
                sifted.range = sifted.range.intersect(&range);
                continue;
            }
            let before = sifted.slots.len();
            match stored(table, part, &mut sifted.slots) {
                Some(tested) => {
                    sifted.condition = Some(match sifted.condition.take() {
                        Some(known) => two(Operator::And, known, tested),
                        None => tested,
                    });
                }
                None => {
                    sifted.slots.truncate(before);
                    let part = part.clone();
                    sifted.rest = Some(match sifted.rest.take() {
                        Some(known) => Formula::Binary {
                            operator: Operator::And,
                            left: Box::new(known),
                            right: Box::new(part),
                        },
                        None => part,
                    });
                }
            }
        }
        sifted
    }
}

/// In which order rows are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Source by source.
    BySource,
    /// By time.
    ByTime {
        /// The latest first.
        descending: bool,
    },
}

/// The scan of a table, of whose rows the first so many are wanted.
pub(crate) fn scan(
    table: &Table,
    condition: Option<&Formula>,
    (order, rows_max): (Order, Option<u64>),
    sources_max: Option<u64>,
) -> Relation {
    let Sifted { range, condition, slots, rest } = Sifted::of(table, condition);
    if range.is_empty() {
        let columns = 1 + table.labels.len() + table.fields.len();
        return Relation::Listed { columns, rows: Arc::new([]) };
    }
    let heads: Arc<[Arc<str>]> = match order {
        Order::BySource => table.labels.clone().into(),
        Order::ByTime { .. } => Arc::new([]),
    };
    let layout = Layout {
        range,
        windows: None,
        order_by: heads.clone(),
        group_by: heads,
        descending: order == Order::ByTime { descending: true },
        ordered: true,
    };
    let scan = Scan {
        namespace: table.shape.namespace,
        measurement: table.shape.measurement.clone(),
        value: None,
        carried: table.all_carried(),
        condition,
        condition_slots: slots,
        heads_descending: layout.descending,
        layout: Arc::new(layout),
        rows_max: rows_max.filter(|_| rest.is_none()),
        one_each: false,
        heads: (0, None),
        sources_max,
    };
    let stored = Relation::Stored(Box::new(scan));
    match rest {
        Some(condition) => Relation::Filtered { input: Box::new(stored), condition },
        None => stored,
    }
}

/// The conditions that all have to be true.
fn conjuncts<'f>(formula: &'f Formula, parts: &mut Vec<&'f Formula>) {
    match formula {
        Formula::Binary { operator: Operator::And, left, right } => {
            conjuncts(left, parts);
            conjuncts(right, parts);
        }
        other => parts.push(other),
    }
}

/// The range that a comparison of the time with a constant is.
fn range_of(formula: &Formula) -> Option<TimeRange> {
    let Formula::Binary { operator, left, right } = formula else { return None };
    let (operator, time_ns) = match (&**left, &**right) {
        (Formula::Column(0), Formula::Constant(Item::Time(time_ns))) => (*operator, *time_ns),
        (Formula::Constant(Item::Time(time_ns)), Formula::Column(0)) => {
            (turned(*operator)?, *time_ns)
        }
        _ => return None,
    };
    let TimeRange { start_ns, end_ns } = TimeRange::ALL;
    let none = TimeRange::new(end_ns, start_ns);
    Some(match operator {
        Operator::Equal => TimeRange::new(time_ns, time_ns),
        Operator::Less => {
            time_ns.checked_sub(1).map_or(none, |end_ns| TimeRange::new(start_ns, end_ns))
        }
        Operator::LessOrEqual => TimeRange::new(start_ns, time_ns),
        Operator::Greater => {
            time_ns.checked_add(1).map_or(none, |start_ns| TimeRange::new(start_ns, end_ns))
        }
        Operator::GreaterOrEqual => TimeRange::new(time_ns, end_ns),
        _ => return None,
    })
}

/// The same comparison with its sides exchanged.
const fn turned(operator: Operator) -> Option<Operator> {
    Some(match operator {
        Operator::Equal => Operator::Equal,
        Operator::NotEqual => Operator::NotEqual,
        Operator::Less => Operator::Greater,
        Operator::LessOrEqual => Operator::GreaterOrEqual,
        Operator::Greater => Operator::Less,
        Operator::GreaterOrEqual => Operator::LessOrEqual,
        _ => return None,
    })
}

fn two(operator: Operator, left: Calculate, right: Calculate) -> Calculate {
    Calculate::Binary { operator, left: Box::new(left), right: Box::new(right) }
}

fn truth(truth: bool) -> Calculate {
    Calculate::Constant(Item::Boolean(truth))
}

/// What a scan tests for a condition: true of the same rows, and false where that is false or null.
fn stored(table: &Table, formula: &Formula, slots: &mut Vec<Carried>) -> Option<Calculate> {
    match formula {
        Formula::Binary { operator: operator @ (Operator::And | Operator::Or), left, right } => {
            Some(two(*operator, stored(table, left, slots)?, stored(table, right, slots)?))
        }
        Formula::Binary { operator, left, right } => match (&**left, &**right) {
            (Formula::Column(place), Formula::Constant(item)) => {
                comparison(table, *operator, (*place, item), slots)
            }
            (Formula::Constant(item), Formula::Column(place)) => {
                comparison(table, turned(*operator)?, (*place, item), slots)
            }
            _ => None,
        },
        Formula::Passes { text, test } => {
            let slot = label(table, text, slots)?;
            let passes = passes(slot.clone(), test.clone(), false);
            Some(if test.passes("") { present(slot, passes) } else { passes })
        }
        Formula::IsOneOf { value, of } => {
            let slot = label(table, value, slots)?;
            Some(passes(slot, Test::AnyOf(texts(of, false)?), false))
        }
        Formula::IsNull(inner) => {
            let slot = label(table, inner, slots)?;
            Some(two(Operator::Equal, slot, absent()))
        }
        Formula::Not(inner) => match &**inner {
            Formula::Passes { text, test } => {
                let slot = label(table, text, slots)?;
                Some(present(slot.clone(), passes(slot, test.clone(), true)))
            }
            Formula::IsOneOf { value, of } => {
                let slot = label(table, value, slots)?;
                Some(passes(slot, Test::AnyOf(texts(of, true)?), true))
            }
            Formula::IsNull(inner) => {
                let slot = label(table, inner, slots)?;
                Some(two(Operator::NotEqual, slot, absent()))
            }
            _ => None,
        },
        _ => None,
    }
}

/// What a label is where it is absent.
fn absent() -> Calculate {
    Calculate::Constant(Item::String("".into()))
}

/// A test of a label that has to be there.
fn present(slot: Calculate, test: Calculate) -> Calculate {
    two(Operator::And, two(Operator::NotEqual, slot, absent()), test)
}

fn passes(text: Calculate, test: Test, negated: bool) -> Calculate {
    Calculate::Passes { text: Box::new(text), test, negated }
}

/// The texts of a list, and that of an absent label where it is wanted.
fn texts(items: &[Item], with_absent: bool) -> Option<Vec<String>> {
    let mut texts = Vec::with_capacity(items.len() + 1);
    for item in items {
        match item {
            Item::String(text) if text.is_empty() => {}
            Item::String(text) => texts.push(text.to_string()),
            _ => return None,
        }
    }
    texts.extend(with_absent.then(String::new));
    Some(texts)
}

/// The slot of a label.
fn label(table: &Table, formula: &Formula, slots: &mut Vec<Carried>) -> Option<Calculate> {
    let Formula::Column(place) = formula else { return None };
    let carried = table.carried(*place)?;
    matches!(carried, Carried::Label(_)).then(|| slot(carried, slots))
}

fn slot(carried: Carried, slots: &mut Vec<Carried>) -> Calculate {
    let place = slots.iter().position(|known| *known == carried).unwrap_or(slots.len());
    if place == slots.len() {
        slots.push(carried);
    }
    Calculate::Slot(place)
}

fn comparison(
    table: &Table,
    operator: Operator,
    (place, item): (usize, &Item),
    slots: &mut Vec<Carried>,
) -> Option<Calculate> {
    let is_equality = matches!(operator, Operator::Equal | Operator::NotEqual);
    let carried = table.carried(place)?;
    let constant = Calculate::Constant(item.clone());
    match (&carried, item) {
        // No label is empty: those that are absent are null.
        (Carried::Label(_), Item::String(text)) if is_equality && text.is_empty() => match operator
        {
            Operator::Equal => Some(truth(false)),
            _ => Some(two(operator, slot(carried, slots), absent())),
        },
        (Carried::Label(_), Item::String(_)) if operator == Operator::Equal => {
            Some(two(operator, slot(carried, slots), constant))
        }
        (Carried::Label(_), Item::String(_)) if operator == Operator::NotEqual => {
            let slot = slot(carried, slots);
            Some(present(slot.clone(), two(operator, slot, constant)))
        }
        (
            Carried::Field(_, Kind::Integer | Kind::Unsigned),
            Item::Integer(_) | Item::Unsigned(_),
        ) if turned(operator).is_some() => whole(operator, (carried, item), slots),
        (
            Carried::Field(_, Kind::Float | Kind::Integer | Kind::Unsigned),
            Item::Float(_) | Item::Integer(_) | Item::Unsigned(_),
        ) if turned(operator).is_some() => Some(two(operator, slot(carried, slots), constant)),
        (Carried::Field(_, Kind::Boolean), Item::Boolean(_))
        | (Carried::Field(_, Kind::String), Item::String(_))
            if is_equality =>
        {
            Some(two(operator, slot(carried, slots), constant))
        }
        _ => None,
    }
}

/// The comparison of a field of whole numbers with another one, which is made one of the field's
/// kind: rows that are read compare whole numbers of two kinds by their bits.
fn whole(
    operator: Operator,
    (carried, item): (Carried, &Item),
    slots: &mut Vec<Carried>,
) -> Option<Calculate> {
    let Carried::Field(_, kind) = &carried else { return None };
    let is_unsigned = *kind == Kind::Unsigned;
    let own = match (is_unsigned, item) {
        (false, Item::Unsigned(number)) => i64::try_from(*number).ok().map(Item::Integer),
        (true, Item::Integer(number)) => u64::try_from(*number).ok().map(Item::Unsigned),
        (_, item) => Some(item.clone()),
    };
    if let Some(own) = own {
        return Some(two(operator, slot(carried, slots), Calculate::Constant(own)));
    }
    // All that the field can hold lies above a negative number, or below one that is too large.
    let holds = match operator {
        Operator::NotEqual => true,
        Operator::Less | Operator::LessOrEqual => !is_unsigned,
        Operator::Greater | Operator::GreaterOrEqual => is_unsigned,
        _ => false,
    };
    let least = if is_unsigned { Item::Unsigned(0) } else { Item::Integer(i64::MIN) };
    let all = Calculate::Constant(least);
    Some(match holds {
        true => two(Operator::GreaterOrEqual, slot(carried, slots), all),
        false => truth(false),
    })
}
