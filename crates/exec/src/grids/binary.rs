//! Two grids, value by value.

use super::gapped::Gapped;
use super::operate::{Outcome, Stays, is_new_value, operated, operated_rows};
use super::row::{GridRow, Growing, Point};
use super::{Gridded, Walk, evaluated, joined, loose, row};
use crate::Error;
use crate::limits::Charge;
use foliot_model::{Label, Labels};
use foliot_plan::grid::{
    Binary, Labels as Some_, MEASUREMENT, Many, Matching, Operator, Sides, Steps,
};
use std::collections::{HashMap, HashSet};

pub(super) fn binary<'q>(
    walk: &Walk<'q>,
    plan: &Binary,
    steps: &Steps,
) -> Result<Gridded<'q>, Error> {
    let mut left = evaluated(walk, &plan.left, steps)?;
    let mut right = evaluated(walk, &plan.right, steps)?;
    match &plan.sides {
        Sides::Scalars | Sides::RightScalar => {
            with_scalar(walk, plan, left, (&right, false), steps)
        }
        Sides::LeftScalar => with_scalar(walk, plan, right, (&left, true), steps),
        Sides::Loose(matching, is_said) => {
            // Nothing is calculated with what is nowhere.
            if matches!(plan.operator, Operator::Calculate(_)) {
                left.rows.retain(|row| !row.is_empty());
                right.rows.retain(|row| !row.is_empty());
            }
            loosely(walk, plan, (matching, *is_said), (left, right), steps)
        }
        Sides::Vectors(matching) => match plan.operator {
            Operator::And | Operator::Or | Operator::Unless => {
                kept(walk, plan.operator, matching, &left, &right)
            }
            _ => Pairs { walk, plan, matching, steps }.meet(&left, &right),
        },
    }
}

/// Two grids by VictoriaMetrics' rules.
fn loosely<'q>(
    walk: &Walk<'q>,
    plan: &Binary,
    (matching, is_said): (&Matching, bool),
    (left, right): (Gridded<'_>, Gridded<'_>),
    steps: &Steps,
) -> Result<Gridded<'q>, Error> {
    let is_new = matches!(plan.operator, Operator::Calculate(_) | Operator::Compare { .. });
    match () {
        () if !is_new => loose::kept(walk, plan.operator, matching, &left, &right),
        () if !is_said && loose::is_scalar(&right) => {
            with_scalar(walk, plan, left, (&right, false), steps)
        }
        () if !is_said && loose::is_scalar(&left) => {
            with_scalar(walk, plan, right, (&left, true), steps)
        }
        () => Pairs { walk, plan, matching, steps }.meet(&left, &right),
    }
}

/// Each value of `input` with that of a scalar, and whether that stands on the left.
fn with_scalar<'q>(
    walk: &Walk<'q>,
    plan: &Binary,
    input: Gridded<'_>,
    (scalar, is_left): (&Gridded<'_>, bool),
    steps: &Steps,
) -> Result<Gridded<'q>, Error> {
    let is_filter = matches!(plan.operator, Operator::Compare { is_told: false, .. });
    let scalar = |index| scalar.scalars().get(index).unwrap_or(f64::NAN);
    let mut scalars = Gapped::with_capacity(steps.count);
    scalars.extend((0..steps.count).map(scalar));
    let mut made = Gridded::none(walk);
    let Gridded { rows, charge, .. } = input;
    // Each row is given back before the next one is made, which takes its memory.
    for input in rows {
        let (labels, is_nameless) = match is_new_value(plan.operator) {
            true => walk.unnamed(&input.labels),
            false => (input.labels.clone(), input.is_nameless),
        };
        if input.histograms.is_empty() {
            let (sides, stays) = match is_left {
                true => ((&scalars, &input.values), Stays::Right),
                false => ((&input.values, &scalars), Stays::Left),
            };
            if let Some(values) = operated_rows(plan.operator, sides, stays) {
                let row = GridRow::numbers(labels, values);
                made.push(walk, GridRow { is_nameless, ..row })?;
                continue;
            }
        }
        let mut after = Growing::new(walk, (labels, is_nameless), steps);
        for index in 0..steps.count {
            let Some(one) = input.point(index) else {
                after.push(None)?;
                continue;
            };
            let scalar = Point::Number(scalar(index));
            let (a, b) = if is_left { (scalar, one) } else { (one, scalar) };
            let outcome = operated(walk, plan, a, b)?;
            after.push(match outcome {
                Outcome::Made(made) => Some(made),
                // What is compared stays, on whichever side it stands.
                Outcome::Holds if is_filter => Some(one.into()),
                Outcome::Holds => Some(row::Made::Number(1.0)),
                Outcome::Fails if is_filter => None,
                Outcome::Fails => Some(row::Made::Number(0.0)),
                Outcome::Unknown => None,
            })?;
        }
        after.finish(&mut made, walk)?;
    }
    drop(charge);
    joined(walk, made)
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
pub(super) fn signatures(
    matching: &Matching,
    left: &[GridRow],
    right: &[GridRow],
) -> [Vec<usize>; 2] {
    let mut numbers: HashMap<Labels, usize> = HashMap::new();
    [left, right].map(|rows| {
        let number = |row: &GridRow| {
            let next = numbers.len();
            *numbers.entry(some_of(&matching.by, &row.labels)).or_insert(next)
        };
        rows.iter().map(number).collect()
    })
}

/// The rows of a side that have each signature, of which `of` has one for each row.
pub(super) fn by_signature<'r>(
    rows: &'r [GridRow],
    of: &[usize],
) -> HashMap<usize, Vec<&'r GridRow>> {
    let mut found: HashMap<usize, Vec<&GridRow>> = HashMap::new();
    for (row, signature) in rows.iter().zip(of) {
        found.entry(*signature).or_default().push(row);
    }
    found
}

/// The row that has each signature, of which `of` has one for each row; None if two have the same.
fn only_rows(of: &[usize], signatures: usize) -> Option<Vec<Option<usize>>> {
    let mut rows = vec![None; signatures];
    for (row, signature) in of.iter().enumerate() {
        if rows.get_mut(*signature)?.replace(row).is_some() {
            return None;
        }
    }
    Some(rows)
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
        let by_signature = by_signature(others.0, others.1);
        for (row, signature) in rows.iter().zip(of) {
            let others = by_signature.get(signature).map_or(&[][..], Vec::as_slice);
            let is_there = |index: usize| others.iter().any(|row| row.has(index));
            made.push(walk, row.only(|index| is_there(index) == where_there))?;
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
    joined(walk, made)
}

/// Series of two vectors that meet.
struct Pairs<'p, 'q> {
    walk: &'p Walk<'q>,
    plan: &'p Binary,
    matching: &'p Matching,
    steps: &'p Steps,
}

/// The sides of an operation, each row with the number of its signature.
struct Two<'t> {
    many: &'t [GridRow],
    of_many: &'t [usize],
    one: &'t [GridRow],
    of_one: &'t [usize],
}

/// A row that takes part at an instant: which one it is, and its value.
type Part<'t> = (usize, &'t GridRow, Point<'t>);

/// Stands for the number of a row that is not there.
const NOWHERE: usize = usize::MAX;

impl<'q> Pairs<'_, 'q> {
    fn meet(&self, left: &Gridded<'_>, right: &Gridded<'_>) -> Result<Gridded<'q>, Error> {
        let [of_left, of_right] = signatures(self.matching, &left.rows, &right.rows);
        // The side of one is looked up, that of many is walked.
        let (many, of_many, one, of_one) = match self.is_turned() {
            false => (&left.rows[..], &of_left[..], &right.rows[..], &of_right[..]),
            true => (&right.rows[..], &of_right[..], &left.rows[..], &of_left[..]),
        };
        let two = Two { many, of_many, one, of_one };
        let signatures = of_many.iter().chain(of_one).max().map_or(0, |max| max + 1);
        if let Some(made) = self.meet_rows(&two, signatures)? {
            return Ok(made);
        }
        let mut charge = self.walk.meter.open();
        charge.add(signatures.saturating_mul(2 * size_of::<Option<usize>>()))?;
        // Seldom are there more rows than on the side of many.
        let places = Gapped::bytes(self.steps.count);
        charge.add(many.len().saturating_mul(places))?;
        let mut met = Met::new(self.walk.meter.open());
        for index in 0..self.steps.count {
            self.walk.meter.check(0)?;
            self.meet_at(index, &two, signatures, &mut met)?;
            let bytes = met.answer.rows.len().saturating_mul(places);
            if bytes > charge.bytes() {
                charge.resize(bytes)?;
            }
        }
        let Met { answer, histograms, .. } = met;
        drop((charge, histograms));
        let mut made = Gridded::none(self.walk);
        answer.rows.into_iter().try_for_each(|row| made.push(self.walk, row))?;
        Ok(made)
    }

    fn is_turned(&self) -> bool {
        self.matching.many == Many::Right
    }

    /// Rows that meet, each as a whole; None unless all are of numbers, and none has two partners.
    fn meet_rows(&self, two: &Two<'_>, signatures: usize) -> Result<Option<Gridded<'q>>, Error> {
        let Self { walk, plan, matching, .. } = self;
        let has_fill = matching.fill.one.is_some() || matching.fill.many.is_some();
        let rows = || two.many.iter().chain(two.one);
        if has_fill || rows().any(|row| !row.histograms.is_empty()) {
            return Ok(None);
        }
        let Some(partners) = only_rows(two.of_one, signatures) else { return Ok(None) };
        if matching.many == Many::None && only_rows(two.of_many, signatures).is_none() {
            return Ok(None);
        }
        let (mut seen, mut met) = (HashSet::new(), Vec::new());
        let mut charge = walk.meter.open();
        for (row, signature) in two.many.iter().zip(two.of_many) {
            let partner = partners.get(*signature).copied().flatten();
            let Some(partner) = partner.and_then(|at| two.one.get(at)) else { continue };
            walk.meter.check(0)?;
            let sides = if self.is_turned() { (partner, row) } else { (row, partner) };
            let sides = (&sides.0.values, &sides.1.values);
            let Some(values) = operated_rows(plan.operator, sides, Stays::Left) else {
                return Ok(None);
            };
            let Some(first) = values.first() else { continue };
            let row = GridRow { values, ..self.labels(row, partner) };
            if !seen.insert(row.labels.clone()) {
                return Ok(None);
            }
            charge.add(row.bytes())?;
            met.push((first, row));
        }
        // In the order in which they meet.
        met.sort_by_key(|(first, _)| *first);
        drop(charge);
        let mut made = Gridded::none(walk);
        met.into_iter().try_for_each(|(_, row)| made.push(walk, row))?;
        Ok(Some(made))
    }

    /// All that meet at an instant.
    fn meet_at<'t>(
        &self,
        index: usize,
        two: &Two<'t>,
        signatures: usize,
        met: &mut Met<'_>,
    ) -> Result<(), Error> {
        let fill = self.matching.fill;
        // Where nothing can meet, nothing is in doubt.
        if fill.many.is_none() && !two.many.iter().any(|row| row.has(index)) {
            return Ok(());
        }
        met.reset(signatures);
        self.find(two.one, two.of_one, index, &mut met.found)?;
        for (at, (row, signature)) in two.many.iter().zip(two.of_many).enumerate() {
            let Some(a) = row.point(index) else { continue };
            let found = met.found.get(*signature).copied().flatten();
            let partner = found.and_then(|other| {
                let partner = two.one.get(other)?;
                Some((other, partner, partner.point(index)?))
            });
            match (partner, fill.one) {
                (Some(partner), _) => self.pair(met, (index, *signature), (at, row, a), partner)?,
                (None, Some(fill)) => {
                    let partner = self.filled(row);
                    let partner = (NOWHERE, &partner, Point::Number(fill));
                    self.pair(met, (index, *signature), (at, row, a), partner)?;
                }
                (None, None) => {}
            }
        }
        let Some(fill) = fill.many else { return Ok(()) };
        for (at, (row, signature)) in two.one.iter().zip(two.of_one).enumerate() {
            let Some(b) = row.point(index) else { continue };
            if !met.has_met(*signature) {
                let own = self.filled(row);
                let own = (NOWHERE, &own, Point::Number(fill));
                self.pair(met, (index, *signature), own, (at, row, b))?;
            }
        }
        Ok(())
    }

    /// A series that stands for the one that would match.
    fn filled(&self, row: &GridRow) -> GridRow {
        GridRow::numbers(some_of(&self.matching.by, &row.labels), Vec::new())
    }

    /// Two that meet.
    fn pair(
        &self,
        met: &mut Met<'_>,
        (index, signature): (usize, usize),
        (at, many, a): Part<'_>,
        (other, one, b): Part<'_>,
    ) -> Result<(), Error> {
        let (a, b) = if self.is_turned() { (b, a) } else { (a, b) };
        let outcome = operated(self.walk, self.plan, a, b)?;
        if let Outcome::Unknown = outcome {
            return Ok(());
        }
        // Also where the comparison does not hold.
        if met.meets(signature) && self.matching.many == Many::None {
            let text = "multiple matches for labels: many-to-one matching must be explicit \
                        (group_left/group_right)";
            return Err(Error::Plan(text.to_owned()));
        }
        let Some(value) = self.value(outcome, a) else { return Ok(()) };
        if let row::Made::Histogram(histogram) = &value {
            met.histograms.add(histogram.memory_bytes())?;
        }
        let place = met.answer.place((at, other), || self.labels(many, one));
        let row = met.answer.rows.get_mut(place);
        if row.is_some_and(|row| !put(row, index, value, self.steps.count)) {
            let text = "multiple matches for labels: grouping labels must ensure unique matches";
            return Err(Error::Plan(text.to_owned()));
        }
        Ok(())
    }

    /// What the answer has of two values.
    fn value(&self, outcome: Outcome, left: Point<'_>) -> Option<row::Made> {
        let is_told = matches!(self.plan.operator, Operator::Compare { is_told: true, .. });
        match outcome {
            Outcome::Made(made) => Some(made),
            Outcome::Holds if is_told => Some(row::Made::Number(1.0)),
            Outcome::Holds => Some(left.into()),
            Outcome::Fails if is_told => Some(row::Made::Number(0.0)),
            Outcome::Fails | Outcome::Unknown => None,
        }
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
            if row.has(index)
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

    /// The series of a pair, without values: the labels of the side of many, and some of the
    /// other's.
    fn labels(&self, many: &GridRow, one: &GridRow) -> GridRow {
        let is_told = matches!(self.plan.operator, Operator::Compare { is_told: true, .. });
        let mut labels: Vec<Label> = match (self.matching.many, &self.matching.by) {
            (Many::None, Some_::Only(names)) => {
                many.labels.iter().filter(|label| names.contains(&label.name)).cloned().collect()
            }
            (Many::None, Some_::Without(names)) => {
                many.labels.iter().filter(|label| !names.contains(&label.name)).cloned().collect()
            }
            _ => many.labels.iter().cloned().collect(),
        };
        // What is told of a comparison is of another measurement, but that may be put off.
        let is_put_off = is_told && self.walk.names_late;
        let drops_name = !self.walk.is_loose
            && (matches!(self.plan.operator, Operator::Calculate(_)) || (is_told && !is_put_off));
        labels.retain(|label| !drops_name || &*label.name != MEASUREMENT);
        for name in &self.matching.include {
            labels.retain(|label| label.name != *name);
            if let Some(value) = one.labels.get(name) {
                labels.push(Label { name: name.clone(), value: value.clone() });
            }
        }
        GridRow { labels: labels.into(), is_nameless: is_put_off, ..GridRow::default() }
    }
}

/// What has met so far.
struct Met<'q> {
    answer: Answer,
    histograms: Charge<'q>,
    /// At this instant: the row of the side of one for each signature, and which signatures met.
    found: Vec<Option<usize>>,
    met: Vec<bool>,
}

impl<'q> Met<'q> {
    fn new(histograms: Charge<'q>) -> Self {
        Self { answer: Answer::default(), histograms, found: Vec::new(), met: Vec::new() }
    }

    fn reset(&mut self, signatures: usize) {
        self.found.clear();
        self.found.resize(signatures, None);
        self.met.clear();
        self.met.resize(signatures, false);
    }

    fn has_met(&self, signature: usize) -> bool {
        self.met.get(signature).copied().unwrap_or_default()
    }

    /// Says whether a signature has met before.
    fn meets(&mut self, signature: usize) -> bool {
        self.met.get_mut(signature).is_some_and(|met| std::mem::replace(met, true))
    }
}

/// The rows that pairs come to.
#[derive(Default)]
struct Answer {
    rows: Vec<GridRow>,
    /// The row for a pair of rows, and which rows have a label set.
    row_of: HashMap<(usize, usize), usize>,
    row_of_labels: HashMap<Labels, usize>,
}

impl Answer {
    fn place(&mut self, pair: (usize, usize), row: impl FnOnce() -> GridRow) -> usize {
        let Self { rows, row_of, row_of_labels } = self;
        *row_of.entry(pair).or_insert_with(|| {
            let row = row();
            *row_of_labels.entry(row.labels.clone()).or_insert_with(|| {
                rows.push(row);
                rows.len() - 1
            })
        })
    }
}

/// Puts a value where an instant's is; says no when there is one.
pub(super) fn put(row: &mut GridRow, index: usize, value: row::Made, count: usize) -> bool {
    if row.has(index) {
        return false;
    }
    row.values.lengthen(count);
    match value {
        row::Made::Number(number) => row.values.put(index, Some(number)),
        row::Made::Histogram(histogram) => {
            row.histograms.resize(count, None);
            let place = row.histograms.get_mut(index);
            place.into_iter().for_each(|place| *place = Some(histogram.clone()));
        }
    }
    true
}

/// Labels as errors show them.
pub(super) fn spelled(labels: &Labels) -> String {
    let pairs: Vec<String> =
        labels.iter().map(|label| format!("{}={:?}", label.name, &*label.value)).collect();
    format!("{{{}}}", pairs.join(", "))
}
