//! Some of the rows of a strip, and what is evaluated for each row.

use super::effort::Effort;
use super::strip::Strip;
use crate::Error;
use crate::kernels::columns::Truths;
use foliot_model::{Column, Item};
use foliot_plan::relation::Formula;
use std::borrow::Cow;
use std::ops::Range;

/// Some of the rows of a strip, in ascending runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Subset(Vec<Range<usize>>);

impl Subset {
    /// The first so many rows.
    pub(super) fn all(rows: usize) -> Self {
        Self::of(0..rows)
    }

    /// These, which ascend.
    pub(super) fn of(rows: impl IntoIterator<Item = usize>) -> Self {
        let mut subset = Self::default();
        rows.into_iter().for_each(|at| subset.push(at));
        subset
    }

    /// Adds a row behind the last one.
    fn push(&mut self, at: usize) {
        match self.0.last_mut() {
            Some(run) if run.end == at => run.end += 1,
            _ => self.0.push(at..at + 1),
        }
    }

    pub(super) fn runs(&self) -> &[Range<usize>] {
        &self.0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.iter().map(ExactSizeIterator::len).sum()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().cloned().flatten()
    }

    /// Those of which something is true, which is asked by their place among these; then the
    /// others.
    pub(super) fn split(&self, is_it: impl Fn(usize) -> bool) -> (Self, Self) {
        let (mut met, mut others) = (Self::default(), Self::default());
        for (place, at) in self.iter().enumerate() {
            if is_it(place) { met.push(at) } else { others.push(at) }
        }
        (met, others)
    }

    /// Whether these are all of so many rows.
    fn are_all(&self, rows: usize) -> bool {
        matches!(&*self.0, [run] if *run == (0..rows))
    }
}

/// Of some rows what a formula reads; its other columns are empty.
pub(super) fn narrowed<'s>(strip: &'s Strip, formula: &Formula, rows: &Subset) -> Cow<'s, Strip> {
    if rows.are_all(strip.rows) {
        return Cow::Borrowed(strip);
    }
    let mut columns = vec![Column::default(); strip.columns.len()];
    each_column(formula, &mut |place| {
        if let (Some(own), Some(column)) = (columns.get_mut(place), strip.columns.get(place))
            && own.is_empty()
        {
            *own = picked(column, rows).into_owned();
        }
    });
    Cow::Owned(Strip { columns, rows: rows.len() })
}

/// Some rows of a column.
pub(super) fn picked<'c>(column: &'c Column, rows: &Subset) -> Cow<'c, Column> {
    if rows.are_all(column.len()) {
        return Cow::Borrowed(column);
    }
    let mut picked = Column::default();
    rows.runs().iter().for_each(|run| picked.extend_from(column, run.clone()));
    Cow::Owned(picked)
}

/// A column of pieces, each of which has some of its rows, and all of them together each row once.
pub(super) fn laid(rows: usize, pieces: Vec<(Subset, Column)>) -> Column {
    let mut runs = Vec::new();
    for (of, column) in &pieces {
        let mut from = 0;
        for run in of.runs() {
            runs.push((run.start, column, from..from + run.len()));
            from += run.len();
        }
    }
    runs.sort_unstable_by_key(|(start, ..)| *start);
    let mut whole = Column::default();
    runs.into_iter().for_each(|(_, column, run)| whole.extend_from(column, run));
    debug_assert_eq!(whole.len(), rows);
    whole
}

/// Joins truths with those of another formula by AND, which false decides, or OR, which true
/// decides. The other one is evaluated for the rows that are not decided yet.
pub(super) fn join(
    truths: &mut Truths,
    decides: bool,
    other: &Formula,
    strip: &Strip,
    of: &dyn Fn(&Formula, &Strip, &Subset) -> Result<Truths, Error>,
) -> Result<(), Error> {
    let is_open = |truth: &Option<bool>| *truth != Some(decides);
    let open = truths.iter().enumerate().filter(|(_, truth)| is_open(truth));
    let open = Subset::of(open.map(|(at, _)| at));
    if open.is_empty() {
        return Ok(());
    }
    let others = of(other, &narrowed(strip, other, &open), &open)?;
    for (truth, other) in truths.iter_mut().filter(|truth| is_open(truth)).zip(others) {
        *truth = match (*truth, other) {
            (_, Some(other)) if other == decides => Some(decides),
            (None, _) | (_, None) => None,
            (_, other) => other,
        };
    }
    Ok(())
}

/// What becomes of the item of each row; of items that come again it is reckoned once.
pub(super) fn each<T: Clone>(
    column: &Column,
    effort: &Effort<'_>,
    mut of: impl FnMut(&Item) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let mut of = |item: &Item| effort.take(1).and_then(|()| of(item));
    match column {
        Column::Same(_, 0) => Ok(Vec::new()),
        Column::Same(item, rows) => Ok(vec![of(item)?; *rows]),
        Column::Coded(items, codes) if items.len() <= codes.len() => {
            let mut known: Vec<Option<T>> = vec![None; items.len()];
            let mut told = Vec::with_capacity(codes.len());
            for code in codes {
                let place = known.get_mut(*code as usize);
                told.push(match place {
                    Some(Some(known)) => known.clone(),
                    Some(place) => {
                        let item = items.get(*code as usize).unwrap_or(&Item::Null);
                        place.insert(of(item)?).clone()
                    }
                    None => of(&Item::Null)?,
                });
            }
            Ok(told)
        }
        column => column.iter().map(|item| of(&item)).collect(),
    }
}

/// What becomes of the items that columns have in each row.
pub(super) fn each_row(
    columns: &[Column],
    effort: &Effort<'_>,
    of: impl Fn(&[Item]) -> Result<Item, Error>,
) -> Result<Column, Error> {
    let of = |items: &[Item]| {
        let item = of(items)?;
        effort.keep(&item).map(|()| item)
    };
    let mut items: Vec<Item> = columns.iter().map(|column| column.get(0).into_owned()).collect();
    let rows = columns.first().map_or(0, Column::len);
    let mut differ = columns.iter().enumerate().filter(|(_, column)| !is_same(column));
    match (differ.next(), differ.next()) {
        (None, _) if rows == 0 => Ok(Column::default()),
        (None, _) => Ok(Column::Same(of(&items)?, rows)),
        (Some((place, column)), None) => {
            let told = each(column, effort, |item| {
                items.get_mut(place).into_iter().for_each(|own| own.clone_from(item));
                of(&items)
            });
            Ok(told?.into_iter().collect())
        }
        _ => {
            let row = |at: usize| {
                effort.take(1)?;
                items.clear();
                items.extend(columns.iter().map(|column| column.get(at).into_owned()));
                of(&items)
            };
            (0..rows).map(row).collect()
        }
    }
}

fn is_same(column: &Column) -> bool {
    matches!(column, Column::Same(..))
}

/// Calls `each` with the columns that a formula reads.
fn each_column(formula: &Formula, each: &mut dyn FnMut(usize)) {
    match formula {
        Formula::Column(place) => each(*place),
        Formula::Constant(_) => {}
        Formula::Binary { left, right, .. } => {
            each_column(left, each);
            each_column(right, each);
        }
        Formula::Not(of) | Formula::IsNull(of) => each_column(of, each),
        Formula::Passes { text: of, .. }
        | Formula::IsOneOf { value: of, .. }
        | Formula::Converted { value: of, .. }
        | Formula::Window { time: of, .. }
        | Formula::Part { time: of, .. } => each_column(of, each),
        Formula::Math { arguments: of, .. }
        | Formula::Text { arguments: of, .. }
        | Formula::FirstOf(of)
        | Formula::Extreme { of, .. } => of.iter().for_each(|of| each_column(of, each)),
        Formula::Differ { left, right } | Formula::NullIf { value: left, other: right } => {
            each_column(left, each);
            each_column(right, each);
        }
        Formula::Compared { value, with, .. } => {
            each_column(value, each);
            with.iter().for_each(|(_, with)| each_column(with, each));
        }
        Formula::Matched { value, cases, otherwise } => {
            each_column(value, each);
            each_case(cases, otherwise, each);
        }
        Formula::Chosen { cases, otherwise } => each_case(cases, otherwise, each),
    }
}

fn each_case(cases: &[(Formula, Formula)], otherwise: &Formula, each: &mut dyn FnMut(usize)) {
    for (condition, value) in cases {
        each_column(condition, each);
        each_column(value, each);
    }
    each_column(otherwise, each);
}
