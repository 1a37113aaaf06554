//! Groups of rows, in the order in which they were first seen.

use super::effort::Effort;
use super::filter::passing;
use super::formula::calculated;
use super::strip::{Stream, Strip};
use super::subset::Subset;
use crate::Error;
use crate::kernels::moments::Moments;
use crate::kernels::number::to_f64;
use crate::kernels::quantile::by_method;
use crate::kernels::tally::{Choice, Figure, Tally};
use crate::limits::{Charge, Meter};
use crate::pieces::rows_of;
use foliot_model::{Column, Item};
use foliot_plan::Quantile;
use foliot_plan::relation::{self, Fold, Folded, Formula};
use std::collections::{HashMap, HashSet};

/// What a group takes beside its key and its values, by estimate.
const GROUP_BYTES: usize = 128;

/// Items by which equal rows are found, in bytes.
type Key = Box<[u8]>;

/// Appends an item so that equal ones are spelled alike, and others not.
fn spell(item: &Item, key: &mut Vec<u8>) {
    let (kind, number) = match item {
        Item::Null => (0, 0),
        Item::Float(value) if *value == 0.0 => (1, 0),
        Item::Float(value) if value.is_nan() => (1, f64::NAN.to_bits()),
        Item::Float(value) => (1, value.to_bits()),
        Item::Integer(value) => (2, *value as u64),
        Item::Unsigned(value) => (3, *value),
        Item::Boolean(value) => (4, u64::from(*value)),
        Item::Time(value) => (5, *value as u64),
        Item::String(text) => (6, text.len() as u64),
    };
    key.push(kind);
    key.extend_from_slice(&number.to_le_bytes());
    if let Item::String(text) = item {
        key.extend_from_slice(text.as_bytes());
    }
}

fn key_of(columns: &[Column], at: usize, key: &mut Vec<u8>) {
    key.clear();
    columns.iter().for_each(|column| spell(&column.get(at), key));
}

fn all_of(formulas: &[Formula], strip: &Strip, effort: &Effort<'_>) -> Result<Vec<Column>, Error> {
    formulas.iter().map(|formula| calculated(formula, strip, effort)).collect()
}

/// Rows of which there was none with the same keys before.
pub(super) struct Distinct<'q> {
    input: Box<dyn Stream + 'q>,
    keys: &'q [Formula],
    known: HashSet<Key>,
    effort: Effort<'q>,
    charge: Charge<'q>,
    meter: &'q Meter,
}

impl<'q> Distinct<'q> {
    pub(super) fn new(input: Box<dyn Stream + 'q>, keys: &'q [Formula], meter: &'q Meter) -> Self {
        let effort = Effort::new(meter);
        Self { input, keys, known: HashSet::new(), effort, charge: meter.open(), meter }
    }
}

impl Stream for Distinct<'_> {
    fn next(&mut self) -> Result<Option<Strip>, Error> {
        let mut key = Vec::new();
        while let Some(strip) = self.input.next()? {
            self.meter.check(0)?;
            self.effort.next()?;
            let columns = all_of(self.keys, &strip, &self.effort)?;
            let mut new = Vec::new();
            for at in 0..strip.rows {
                key_of(&columns, at, &mut key);
                if !self.known.contains(&*key) {
                    self.charge.add(key.len() + GROUP_BYTES)?;
                    self.known.insert(key.as_slice().into());
                    new.push(at);
                }
            }
            if !new.is_empty() {
                return Ok(Some(Strip { columns, rows: strip.rows }.cut(&Subset::of(new))));
            }
        }
        Ok(None)
    }
}

/// Folded groups.
pub(super) struct Grouped<'q> {
    input: Option<Box<dyn Stream + 'q>>,
    plan: &'q relation::Grouped,
    /// Where the group of each key stands among all.
    places: HashMap<Key, usize>,
    groups: Vec<Group>,
    /// Groups left to hand out.
    left: std::vec::IntoIter<Group>,
    effort: Effort<'q>,
    charge: Charge<'q>,
    meter: &'q Meter,
}

struct Group {
    keys: Vec<Item>,
    folds: Vec<State>,
}

impl<'q> Grouped<'q> {
    pub(super) fn new(
        input: Box<dyn Stream + 'q>,
        plan: &'q relation::Grouped,
        meter: &'q Meter,
    ) -> Self {
        Self {
            input: Some(input),
            plan,
            places: HashMap::new(),
            groups: Vec::new(),
            left: Vec::new().into_iter(),
            effort: Effort::new(meter),
            charge: meter.open(),
            meter,
        }
    }

    fn gather(&mut self, mut input: Box<dyn Stream + 'q>) -> Result<(), Error> {
        if self.plan.keys.is_empty() {
            self.group(Key::default(), Vec::new())?;
        }
        while let Some(strip) = input.next()? {
            self.meter.check(0)?;
            self.add(&strip)?;
        }
        self.places = HashMap::new();
        self.left = std::mem::take(&mut self.groups).into_iter();
        Ok(())
    }

    /// Where the group of a key stands; it is made if there is none.
    fn group(&mut self, key: Key, items: Vec<Item>) -> Result<usize, Error> {
        if let Some(place) = self.places.get(&key) {
            return Ok(*place);
        }
        let folds: Vec<State> = self.plan.folds.iter().map(State::new).collect();
        let outside = items.iter().map(|item| size_of::<Item>() + item.bytes_outside());
        let bytes = key.len() + outside.sum::<usize>() + folds.len() * size_of::<State>();
        self.charge.add(GROUP_BYTES + bytes)?;
        let place = self.groups.len();
        self.places.insert(key, place);
        self.groups.push(Group { keys: items, folds });
        Ok(place)
    }

    /// Adds the rows of a strip to their groups, run by run of one group.
    fn add(&mut self, strip: &Strip) -> Result<(), Error> {
        self.effort.next()?;
        let keys = all_of(&self.plan.keys, strip, &self.effort)?;
        let values: Result<Vec<Values>, Error> =
            self.plan.folds.iter().map(|fold| Values::of(fold, strip, &self.effort)).collect();
        let values = values?;
        let is_same = keys.iter().all(|column| matches!(column, Column::Same(..)));
        let (mut key, mut from, mut place) = (Vec::new(), 0, None);
        let mut before = Vec::new();
        for at in 0..if is_same { strip.rows.min(1) } else { strip.rows } {
            key_of(&keys, at, &mut key);
            if place.is_some() && key == before {
                continue;
            }
            if let Some(place) = place {
                self.fold(place, &values, from..at)?;
            }
            let items = || keys.iter().map(|column| column.get(at).into_owned()).collect();
            place = Some(match self.places.get(&*key) {
                Some(place) => *place,
                None => self.group(key.as_slice().into(), items())?,
            });
            before.clone_from(&key);
            from = at;
        }
        match place {
            Some(place) => self.fold(place, &values, from..strip.rows),
            None => Ok(()),
        }
    }

    fn fold(
        &mut self,
        place: usize,
        values: &[Values],
        rows: std::ops::Range<usize>,
    ) -> Result<(), Error> {
        let Some(group) = self.groups.get_mut(place) else { return Ok(()) };
        let mut bytes = 0;
        for (state, values) in group.folds.iter_mut().zip(values) {
            bytes += state.add(values, rows.clone());
        }
        if bytes > 0 {
            self.charge.add(bytes)?;
        }
        Ok(())
    }
}

impl Stream for Grouped<'_> {
    fn next(&mut self) -> Result<Option<Strip>, Error> {
        if let Some(input) = self.input.take() {
            self.gather(input)?;
        }
        self.meter.check(0)?;
        let columns = self.plan.keys.len() + self.plan.folds.len();
        let mut strip = Strip::new(columns);
        for Group { keys, folds } in self.left.by_ref().take(rows_of(columns)) {
            let folded = self.plan.folds.iter().zip(folds);
            strip.push(keys.into_iter().chain(folded.map(|(plan, state)| state.finish(plan.fold))));
        }
        Ok((strip.rows > 0).then_some(strip))
    }
}

/// What a fold reads of a strip.
struct Values {
    values: Column,
    /// By which times; nothing where they do not matter.
    by: Option<Column>,
    /// Which rows; nothing: all.
    passing: Option<Subset>,
}

impl Values {
    fn of(fold: &Folded, strip: &Strip, effort: &Effort<'_>) -> Result<Self, Error> {
        let has_times = matches!(fold.fold, Fold::Earliest | Fold::Latest);
        Ok(Self {
            values: calculated(&fold.of, strip, effort)?,
            by: has_times.then(|| calculated(&fold.by, strip, effort)).transpose()?,
            passing: fold.condition.as_ref().map(|of| passing(of, strip, effort)).transpose()?,
        })
    }
}

/// A fold under way.
struct State {
    of: Of,
    /// Values that were there before, where each counts once.
    known: Option<HashSet<Key>>,
    is_of_rows: bool,
}

enum Of {
    Tally(Tally),
    Moments(Moments),
    Numbers(Vec<f64>),
    /// Whether all are true, or any is.
    Truth(Option<bool>, bool),
}

impl State {
    fn new(plan: &Folded) -> Self {
        let choice = |choice| Of::Tally(Tally::new(Figure::Choice(choice)));
        let of = match plan.fold {
            Fold::Rows | Fold::Count => Of::Tally(Tally::new(Figure::Count)),
            Fold::Sum => Of::Tally(Tally::new(Figure::WideSum)),
            Fold::Mean => Of::Tally(Tally::new(Figure::WideMean)),
            Fold::Smallest => choice(Choice::Smallest),
            Fold::Largest => choice(Choice::Largest),
            Fold::Earliest => choice(Choice::Earliest),
            Fold::Latest => choice(Choice::Latest),
            Fold::Deviation | Fold::DeviationOfAll | Fold::Variance | Fold::VarianceOfAll => {
                Of::Moments(Moments::default())
            }
            Fold::Quantile(_) => Of::Numbers(Vec::new()),
            Fold::All => Of::Truth(None, true),
            Fold::Any => Of::Truth(None, false),
        };
        let known = plan.is_distinct.then(HashSet::new);
        Self { of, known, is_of_rows: plan.fold == Fold::Rows }
    }

    /// Adds values of some rows, and returns how much memory that takes.
    fn add(&mut self, values: &Values, rows: std::ops::Range<usize>) -> usize {
        let within =
            |run: &std::ops::Range<usize>| run.start.max(rows.start)..run.end.min(rows.end);
        match &values.passing {
            None => self.add_run(values, rows),
            Some(passing) => {
                let runs = passing.runs().iter().map(within).filter(|run| run.start < run.end);
                runs.map(|run| self.add_run(values, run)).sum()
            }
        }
    }

    fn add_run(&mut self, values: &Values, rows: std::ops::Range<usize>) -> usize {
        if let (Of::Tally(tally), None, None) = (&mut self.of, &self.known, &values.by) {
            match &values.values {
                // Their times do not matter.
                Column::Floats(numbers) => {
                    let run = numbers.get(rows).unwrap_or_default();
                    tally.add_floats(&vec![0; run.len()], run);
                    return 0;
                }
                Column::Integers(numbers) => {
                    let run = numbers.get(rows).unwrap_or_default();
                    tally.add_integers(&vec![0; run.len()], run);
                    return 0;
                }
                _ => {}
            }
        }
        let mut bytes = 0;
        for at in rows {
            let item = values.values.get(at);
            if item.is_null() && !self.is_of_rows {
                continue;
            }
            if let Some(known) = &mut self.known {
                let mut key = Vec::new();
                spell(&item, &mut key);
                if known.contains(&*key) {
                    continue;
                }
                bytes += key.len() + size_of::<Key>();
                known.insert(key.into());
            }
            let time_ns = values.by.as_ref().map_or(Some(0), |by| match *by.get(at) {
                Item::Time(time_ns) | Item::Integer(time_ns) => Some(time_ns),
                _ => None,
            });
            // What has no time is neither the earliest nor the latest.
            bytes += time_ns.map_or(0, |time_ns| self.of.add(time_ns, item.into_owned()));
        }
        bytes
    }

    fn finish(self, fold: Fold) -> Item {
        let float = |number: Option<f64>| number.map_or(Item::Null, Item::Float);
        match (self.of, fold) {
            (Of::Tally(tally), _) => tally.finish().1,
            (Of::Moments(moments), Fold::Variance) => float(moments.variance(true)),
            (Of::Moments(moments), Fold::VarianceOfAll) => float(moments.variance(false)),
            (Of::Moments(moments), fold) => {
                let is_sample = fold == Fold::Deviation;
                float(moments.variance(is_sample).map(f64::sqrt))
            }
            (Of::Numbers(mut numbers), Fold::Quantile(share)) if !numbers.is_empty() => {
                Item::Float(by_method(&mut numbers, share, Quantile::R7))
            }
            (Of::Numbers(_), _) => Item::Null,
            (Of::Truth(truth, _), _) => truth.map_or(Item::Null, Item::Boolean),
        }
    }
}

impl Of {
    /// Adds a value, and returns how much memory that takes.
    fn add(&mut self, time_ns: i64, item: Item) -> usize {
        match self {
            Self::Tally(tally) => {
                let before = tally.bytes_outside();
                tally.add(time_ns, item);
                tally.bytes_outside().saturating_sub(before)
            }
            Self::Moments(moments) => {
                to_f64(&item).into_iter().for_each(|number| moments.add(number));
                0
            }
            Self::Numbers(numbers) => {
                let number = to_f64(&item).filter(|number| !number.is_nan());
                numbers.extend(number);
                size_of::<f64>()
            }
            Self::Truth(truth, are_all) => {
                if let Item::Boolean(item) = item {
                    let before = truth.unwrap_or(*are_all);
                    *truth = Some(if *are_all { before && item } else { before || item });
                }
                0
            }
        }
    }
}
