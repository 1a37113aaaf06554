//! Folds of stored series that never become rows: they use what blocks know of their samples.

use crate::lowering::Groups;
use crate::sift::{Order, Sifted, scan};
use crate::table::{Source, Table};
use crate::typed::Typed;
use foliot_model::{Item, Kind};
use foliot_plan::relation::{
    self, Bucket, Fold, Folded, Formula, Grouped, Relation, Selected, Width,
};
use foliot_plan::rows::{
    Absent, Buckets, Calculate, Carried, Column, Input, Layout, Reduce, Reducer, Rows, Scan,
    Select, Slot,
};
use std::sync::Arc;

/// The groups of what stands behind FROM: their keys, then what is told of each.
pub(crate) fn grouped(
    source: Source,
    condition: Option<Formula>,
    groups: &Groups,
    sources_max: Option<u64>,
) -> Relation {
    let keys: Vec<Formula> = groups.keys.iter().map(|key| key.formula.clone()).collect();
    let input = match source {
        Source::Table(table) => {
            let straight = Straight::of(&table, condition.as_ref(), groups);
            if let Some(straight) = straight {
                return straight.relation(&table, sources_max);
            }
            scan(&table, condition.as_ref(), (Order::BySource, None), sources_max)
        }
        Source::Rows(relation) => filtered(relation, condition),
    };
    Relation::Grouped(Box::new(Grouped { input, keys, folds: groups.folds.clone() }))
}

/// The rows that pass, if there is a condition.
pub(crate) fn filtered(relation: Relation, condition: Option<Formula>) -> Relation {
    match condition {
        Some(condition) => Relation::Filtered { input: Box::new(relation), condition },
        None => relation,
    }
}

/// What the rows become, which have so many columns: where each stays what it is, they do.
pub(crate) fn calculated(input: Relation, columns: Vec<Formula>, width: usize) -> Relation {
    let stays = |(at, column): (usize, &Formula)| *column == Formula::Column(at);
    match columns.len() == width && columns.iter().enumerate().all(stays) {
        true => input,
        false => Relation::Calculated { input: Box::new(input), columns },
    }
}

/// Groups by labels and one window of time, whose folds are of fields as they are stored.
struct Straight {
    sifted: Sifted,
    /// Sorted, each once.
    heads: Vec<Arc<str>>,
    windows: Option<Buckets>,
    keys: Vec<relation::Column>,
    /// Each fold of a field, once.
    folds: Vec<((Arc<str>, Kind), Reducer)>,
    /// Which of them each fold of the groups is, and whether it counts.
    told: Vec<(usize, bool)>,
}

impl Straight {
    /// Nothing where rows are needed.
    fn of(table: &Table, condition: Option<&Formula>, groups: &Groups) -> Option<Self> {
        let sifted = Sifted::of(table, condition);
        if sifted.rest.is_some() || sifted.range.is_empty() || groups.folds.is_empty() {
            return None;
        }
        let (mut heads, mut windows, mut keys) = (Vec::new(), None, Vec::new());
        for Typed { formula, .. } in &groups.keys {
            keys.push(match formula {
                Formula::Column(place) => {
                    let Some(Carried::Label(name)) = table.carried(*place) else { return None };
                    heads.push(name.clone());
                    relation::Column::Label(name)
                }
                Formula::Window { time, bucket } if **time == Formula::Column(0) => {
                    let Bucket { width: Width::Nanos(width_ns), origin_ns, zone: None } = bucket
                    else {
                        return None;
                    };
                    let offset_ns = origin_ns.rem_euclid(*width_ns);
                    let own = Buckets { width_ns: *width_ns, offset_ns, zone: None, whole: true };
                    if windows.as_ref().is_some_and(|known| *known != own) {
                        return None;
                    }
                    windows = Some(own);
                    relation::Column::Place(0)
                }
                _ => return None,
            });
        }
        heads.sort_unstable();
        heads.dedup();
        let (folds, told) = (Vec::new(), Vec::new());
        let mut straight = Self { sifted, heads, windows, keys, folds, told };
        for folded in &groups.folds {
            let (field, reducer) = reducer(table, folded)?;
            let counts = reducer == Reducer::Count;
            let place = straight.add(field, reducer);
            straight.told.push((place, counts));
        }
        // A group has a row where any field has a sample. Where all rows are one group there is one
        // in any case.
        let others = if groups.keys.is_empty() { &[][..] } else { &table.fields };
        for field in others {
            if !straight.folds.iter().any(|(known, _)| known == field) {
                straight.add(field.clone(), Reducer::Count);
            }
        }
        Some(straight)
    }

    fn add(&mut self, field: (Arc<str>, Kind), reducer: Reducer) -> usize {
        let fold = (field, reducer);
        let place = self.folds.iter().position(|known| *known == fold);
        place.unwrap_or_else(|| {
            self.folds.push(fold);
            self.folds.len() - 1
        })
    }

    fn relation(self, table: &Table, sources_max: Option<u64>) -> Relation {
        let is_one = self.keys.is_empty();
        let heads: Arc<[Arc<str>]> = self.heads.into();
        let layout = Arc::new(Layout {
            range: self.sifted.range,
            windows: self.windows,
            order_by: heads.clone(),
            group_by: heads,
            descending: false,
            ordered: true,
        });
        let scan = |value: (Arc<str>, Kind)| Scan {
            namespace: table.shape.namespace,
            measurement: table.shape.measurement.clone(),
            value: Some(value),
            carried: Vec::new(),
            condition: self.sifted.condition.clone(),
            condition_slots: self.sifted.slots.clone(),
            layout: layout.clone(),
            heads_descending: false,
            rows_max: None,
            one_each: false,
            heads: (0, None),
            sources_max,
        };
        let (mut inputs, mut columns) = (Vec::new(), Vec::new());
        let column = |name: &str, value| Column { name: name.into(), value };
        columns.push(column("time", Calculate::Time));
        for (index, (field, function)) in self.folds.into_iter().enumerate() {
            let input = Rows::Scan(Box::new(scan(field.clone())));
            let reduce = Reduce { input, function, layout: layout.clone() };
            let reduced = Box::new(Rows::Reduce(Box::new(reduce)));
            let rows = Rows::Stamp { input: reduced, layout: layout.clone() };
            let value = Some(Slot { index, kind: None });
            inputs.push(Input { rows, value, carried: Vec::new() });
            columns.push(column(&field.0, Calculate::Slot(index)));
        }
        let slots = inputs.len();
        let seen = self.told.iter().map(|(place, _)| place + 1).max().unwrap_or_default();
        let absent = Absent::Value(Item::Null);
        let select = Select { inputs, slots, columns, absent, descending: false };
        // Those behind them only tell which groups there are.
        let places = (1..=seen).map(relation::Column::Place);
        let columns: Vec<relation::Column> = self.keys.iter().cloned().chain(places).collect();
        let width = columns.len();
        let selected = Relation::Selected(Box::new(Selected { select, columns, is_one }));
        let keys = self.keys.len();
        let told = self.told.into_iter().map(|(place, counts)| {
            let column = Formula::Column(keys + place);
            match counts {
                true => Formula::FirstOf(vec![column, Formula::Constant(Item::Integer(0))]),
                false => column,
            }
        });
        let columns = (0..keys).map(Formula::Column).chain(told).collect();
        calculated(selected, columns, width)
    }
}

/// The field that is folded, and how; nothing where that takes rows.
fn reducer(table: &Table, folded: &Folded) -> Option<((Arc<str>, Kind), Reducer)> {
    if folded.condition.is_some() {
        return None;
    }
    if folded.fold == Fold::Rows {
        // Where there is one field, each of its samples is a row.
        let [only] = &*table.fields else { return None };
        return Some((only.clone(), Reducer::Count));
    }
    let Formula::Column(place) = folded.of else { return None };
    let Some(Carried::Field(name, kind)) = table.carried(place) else { return None };
    let is_whole = matches!(kind, Kind::Integer | Kind::Unsigned);
    let is_number = is_whole || kind == Kind::Float;
    let counts_once = matches!(folded.fold, Fold::Smallest | Fold::Largest);
    if folded.is_distinct && !counts_once {
        return None;
    }
    let reducer = match folded.fold {
        Fold::Count => Reducer::Count,
        Fold::Sum if is_whole => Reducer::WideSum,
        Fold::Mean if is_whole => Reducer::WideMean,
        Fold::Sum if is_number => Reducer::Sum,
        Fold::Mean if is_number => Reducer::Mean,
        Fold::Smallest if is_number => Reducer::Min,
        Fold::Largest if is_number => Reducer::Max,
        Fold::Earliest if folded.by == Formula::Column(0) => Reducer::First,
        Fold::Latest if folded.by == Formula::Column(0) => Reducer::Last,
        _ => return None,
    };
    Some(((name, kind), reducer))
}
