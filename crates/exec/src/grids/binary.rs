//! Two grids, value by value.

use super::{GridRow, Gridded, Walk, evaluated, joined, unnamed, value};
use crate::Error;
use foliot_model::{Label, Labels};
use foliot_plan::grid::{
    Binary, Calculation, Comparison, Labels as Some_, MEASUREMENT, Many, Matching, Operator, Sides,
    Steps,
};
use std::collections::HashMap;

pub(super) fn binary<'q>(
    walk: &Walk<'q>,
    plan: &Binary,
    steps: &Steps,
) -> Result<Gridded<'q>, Error> {
    let left = evaluated(walk, &plan.left, steps)?;
    let right = evaluated(walk, &plan.right, steps)?;
    match &plan.sides {
        Sides::Scalars | Sides::RightScalar => {
            with_scalar(walk, plan.operator, &left, &right, &|a, b| (a, b))
        }
        Sides::LeftScalar => with_scalar(walk, plan.operator, &right, &left, &|a, b| (b, a)),
        Sides::Vectors(matching) => match plan.operator {
            Operator::And | Operator::Or | Operator::Unless => {
                kept(walk, plan.operator, matching, &left, &right)
            }
            Operator::Calculate(_) | Operator::Compare { .. } => {
                Pairs { walk, plan, matching, steps }.meet(&left, &right)
            }
        },
    }
}

/// Each value of `input` with that of a scalar, in the order that `sides` gives them.
fn with_scalar<'q>(
    walk: &Walk<'q>,
    operator: Operator,
    input: &Gridded<'_>,
    scalar: &Gridded<'_>,
    sides: &dyn Fn(f64, f64) -> (f64, f64),
) -> Result<Gridded<'q>, Error> {
    let mut made = Gridded::none(walk);
    for row in &input.rows {
        let of = |(index, one): (usize, &Option<f64>)| {
            let one = (*one)?;
            let (a, b) = sides(one, value(scalar.scalars(), index).unwrap_or(f64::NAN));
            match operator {
                // What is compared stays, on whichever side it stands.
                Operator::Compare { comparison, is_told: false } => {
                    holds(comparison, a, b).then_some(one)
                }
                _ => calculated(operator, a, b),
            }
        };
        let values = row.values.iter().enumerate().map(of).collect();
        made.push(walk, GridRow { labels: labels_after(operator, &row.labels), values })?;
    }
    joined(made)
}

fn calculated(operator: Operator, a: f64, b: f64) -> Option<f64> {
    match operator {
        Operator::Calculate(calculation) => Some(match calculation {
            Calculation::Add => a + b,
            Calculation::Subtract => a - b,
            Calculation::Multiply => a * b,
            Calculation::Divide => a / b,
            Calculation::Remainder => a % b,
            Calculation::Power => a.powf(b),
            Calculation::Angle => a.atan2(b),
        }),
        Operator::Compare { comparison, is_told: true } => {
            Some(f64::from(u8::from(holds(comparison, a, b))))
        }
        Operator::Compare { comparison, is_told: false } => holds(comparison, a, b).then_some(a),
        Operator::And | Operator::Or | Operator::Unless => None,
    }
}

fn holds(comparison: Comparison, a: f64, b: f64) -> bool {
    match comparison {
        Comparison::Equal => a == b,
        Comparison::NotEqual => a != b,
        Comparison::Greater => a > b,
        Comparison::GreaterOrEqual => a >= b,
        Comparison::Less => a < b,
        Comparison::LessOrEqual => a <= b,
    }
}

fn is_new_value(operator: Operator) -> bool {
    matches!(operator, Operator::Calculate(_) | Operator::Compare { is_told: true, .. })
}

fn labels_after(operator: Operator, labels: &Labels) -> Labels {
    if is_new_value(operator) { unnamed(labels) } else { labels.clone() }
}

/// The labels of a series that `some` names.
pub(super) fn some_of(some: &Some_, labels: &Labels) -> Labels {
    let is_wanted = |label: &&Label| match some {
        Some_::Only(names) => names.contains(&label.name),
        Some_::Without(names) => !names.contains(&label.name) && &*label.name != MEASUREMENT,
    };
    labels.iter().filter(is_wanted).cloned().collect::<Vec<_>>().into()
}

/// Rows by what they are matched by: a number for each row of both sides.
fn signatures(matching: &Matching, left: &[GridRow], right: &[GridRow]) -> [Vec<usize>; 2] {
    let mut numbers: HashMap<Labels, usize> = HashMap::new();
    [left, right].map(|rows| {
        let number = |row: &GridRow| {
            let next = numbers.len();
            *numbers.entry(some_of(&matching.by, &row.labels)).or_insert(next)
        };
        rows.iter().map(number).collect()
    })
}

/// Series of one side that the other has, or has not.
fn kept<'q>(
    walk: &Walk<'q>,
    operator: Operator,
    matching: &Matching,
    left: &Gridded<'_>,
    right: &Gridded<'_>,
) -> Result<Gridded<'q>, Error> {
    let [of_left, of_right] = signatures(matching, &left.rows, &right.rows);
    let mut made = Gridded::none(walk);
    let mut keep = |rows: &[GridRow], of: &[usize], others: (&[GridRow], &[usize]), where_there| {
        let mut by_signature: HashMap<usize, Vec<&GridRow>> = HashMap::new();
        for (row, signature) in others.0.iter().zip(others.1) {
            by_signature.entry(*signature).or_default().push(row);
        }
        for (row, signature) in rows.iter().zip(of) {
            let others = by_signature.get(signature).map_or(&[][..], Vec::as_slice);
            let is_there =
                |index: usize| others.iter().any(|row| value(&row.values, index).is_some());
            let of = |(index, one): (usize, &Option<f64>)| {
                one.filter(|_| is_there(index) == where_there)
            };
            let values = row.values.iter().enumerate().map(of).collect();
            made.push(walk, GridRow { labels: row.labels.clone(), values })?;
        }
        Ok::<_, Error>(())
    };
    let (left, right) = (&left.rows[..], &right.rows[..]);
    match operator {
        Operator::And => keep(left, &of_left, (right, &of_right), true)?,
        Operator::Unless => keep(left, &of_left, (right, &of_right), false)?,
        _ => {
            keep(left, &of_left, (&[], &[]), false)?;
            keep(right, &of_right, (left, &of_left), false)?;
        }
    }
    joined(made)
}

/// Series of two vectors that meet.
struct Pairs<'p, 'q> {
    walk: &'p Walk<'q>,
    plan: &'p Binary,
    matching: &'p Matching,
    steps: &'p Steps,
}

impl<'q> Pairs<'_, 'q> {
    fn meet(&self, left: &Gridded<'_>, right: &Gridded<'_>) -> Result<Gridded<'q>, Error> {
        let [of_left, of_right] = signatures(self.matching, &left.rows, &right.rows);
        // The side of one is looked up, that of many is walked.
        let is_turned = self.matching.many == Many::Right;
        let ((many, of_many), (one, of_one)) = match is_turned {
            false => ((&left.rows, of_left), (&right.rows, of_right)),
            true => ((&right.rows, of_right), (&left.rows, of_left)),
        };
        let signatures = of_many.iter().chain(&of_one).max().map_or(0, |max| max + 1);
        let mut charge = self.walk.meter.open();
        charge.add(signatures.saturating_mul(2 * size_of::<Option<usize>>()))?;
        // Seldom are there more rows than on the side of many.
        charge.add(many.len().saturating_mul(self.steps.count * size_of::<Option<f64>>()))?;
        let mut rows = Vec::new();
        // The row of the answer for a pair of rows, and which rows of the answer have a label set.
        let mut row_of: HashMap<(usize, usize), usize> = HashMap::new();
        let mut row_of_labels: HashMap<Labels, usize> = HashMap::new();
        let mut found: Vec<Option<usize>> = Vec::new();
        let mut met: Vec<bool> = Vec::new();
        for index in 0..self.steps.count {
            self.walk.meter.check(0)?;
            // Where nothing can meet, nothing is in doubt.
            if !many.iter().any(|row| value(&row.values, index).is_some()) {
                continue;
            }
            found.clear();
            found.resize(signatures, None);
            met.clear();
            met.resize(signatures, false);
            self.find(one, &of_one, index, &mut found)?;
            for (at, (row, signature)) in many.iter().zip(&of_many).enumerate() {
                let Some(a) = value(&row.values, index) else { continue };
                let Some(other) = found.get(*signature).copied().flatten() else { continue };
                let Some(partner) = one.get(other) else { continue };
                let Some(b) = value(&partner.values, index) else { continue };
                // Also where the comparison does not hold.
                let is_second =
                    met.get_mut(*signature).is_some_and(|met| std::mem::replace(met, true));
                if is_second && self.matching.many == Many::None {
                    let text = "multiple matches for labels: many-to-one matching must be explicit \
                                (group_left/group_right)";
                    return Err(Error::Plan(text.to_owned()));
                }
                let (a, b) = if is_turned { (b, a) } else { (a, b) };
                let Some(value) = calculated(self.plan.operator, a, b) else { continue };
                let made = *row_of.entry((at, other)).or_insert_with(|| {
                    let labels = self.labels(&row.labels, &partner.labels);
                    *row_of_labels.entry(labels.clone()).or_insert_with(|| {
                        rows.push(GridRow { labels, values: vec![None; self.steps.count] });
                        rows.len() - 1
                    })
                });
                let place = rows.get_mut(made).and_then(|row| row.values.get_mut(index));
                if place.is_some_and(|place| place.replace(value).is_some()) {
                    let text =
                        "multiple matches for labels: grouping labels must ensure unique matches";
                    return Err(Error::Plan(text.to_owned()));
                }
            }
            let bytes = rows.len().saturating_mul(self.steps.count * size_of::<Option<f64>>());
            if bytes > charge.bytes() {
                charge.resize(bytes)?;
            }
        }
        drop(charge);
        let mut made = Gridded::none(self.walk);
        rows.into_iter().try_for_each(|row| made.push(self.walk, row))?;
        Ok(made)
    }

    /// Puts the rows of the side of one that have a value at an instant where they are found by
    /// their signature.
    fn find(
        &self,
        one: &[GridRow],
        of_one: &[usize],
        index: usize,
        found: &mut [Option<usize>],
    ) -> Result<(), Error> {
        for (at, (row, signature)) in one.iter().zip(of_one).enumerate() {
            let Some(place) = found.get_mut(*signature) else { continue };
            if value(&row.values, index).is_some()
                && let Some(before) = place.replace(at)
            {
                let before = one.get(before).map(|row| &row.labels);
                return Err(self.several(&row.labels, before, self.matching.many == Many::Right));
            }
        }
        Ok(())
    }

    fn several(&self, labels: &Labels, before: Option<&Labels>, is_left: bool) -> Error {
        let side = if is_left { "left" } else { "right" };
        let group = spelled(&some_of(&self.matching.by, labels));
        let (first, second) = (spelled(labels), before.map(spelled).unwrap_or_default());
        Error::Plan(format!(
            "found duplicate series for the match group {group} on the {side} hand-side of the \
             operation: [{first}, {second}];many-to-many matching not allowed: matching labels must \
             be unique on one side"
        ))
    }

    /// The labels of a pair: those of the side of many, and some of the other's.
    fn labels(&self, many: &Labels, one: &Labels) -> Labels {
        let is_named = !is_new_value(self.plan.operator);
        let mut labels: Vec<Label> = match (self.matching.many, &self.matching.by) {
            (Many::None, Some_::Only(names)) => {
                many.iter().filter(|label| names.contains(&label.name)).cloned().collect()
            }
            (Many::None, Some_::Without(names)) => {
                many.iter().filter(|label| !names.contains(&label.name)).cloned().collect()
            }
            _ => many.iter().cloned().collect(),
        };
        let drops_name = matches!(self.plan.operator, Operator::Calculate(_)) || !is_named;
        labels.retain(|label| !drops_name || &*label.name != MEASUREMENT);
        for name in &self.matching.include {
            labels.retain(|label| label.name != *name);
            if let Some(value) = one.get(name) {
                labels.push(Label { name: name.clone(), value: value.clone() });
            }
        }
        labels.into()
    }
}

/// Labels as errors show them.
fn spelled(labels: &Labels) -> String {
    let pairs: Vec<String> =
        labels.iter().map(|label| format!("{}={:?}", label.name, &*label.value)).collect();
    format!("{{{}}}", pairs.join(", "))
}
