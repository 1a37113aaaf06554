//! Columns and formulas as text: for whoever wants to know how a question is carried out.
//!
//! Columns have places and no names, so each is shown as what it comes of. Formulas may be long,
//! and those of inner queries stand in those of outer ones: texts are cut off, and no more is
//! looked at than what they show.

use super::{
    Beside, Column, Fold, Folded, Formula, Frame, Grouped, Kept, Neighbours, Order, Relation,
    Selected, Width,
};
use crate::rows::{Calculate, Carried, Operator, Reduce, Reducer, Rows, Scan};
use crate::told::{span, tested, word};
use foliot_model::Item;

/// Characters of a text, about.
const TEXT_MAX: usize = 120;
/// Formulas and columns of a list.
const LISTED_MAX: usize = 8;

/// A text under way, which takes no more once it is long enough.
#[derive(Default)]
struct Text(String);

impl Text {
    fn is_full(&self) -> bool {
        self.0.len() >= TEXT_MAX
    }

    fn put(&mut self, text: &str) {
        if !self.is_full() {
            let left = TEXT_MAX - self.0.len();
            self.0.extend(text.chars().take(left));
            if self.is_full() {
                self.0.push('…');
            }
        }
    }

    /// `before`, then all of them with `between` between them, then `after`.
    fn list<T>(
        &mut self,
        (before, between, after): (&str, &str, &str),
        all: impl IntoIterator<Item = T>,
        mut each: impl FnMut(&mut Self, T),
    ) {
        self.put(before);
        for (at, one) in all.into_iter().enumerate() {
            if self.is_full() {
                return;
            }
            self.put(if at > 0 { between } else { "" });
            each(self, one);
        }
        self.put(after);
    }
}

/// The first of a list, with how many more there are.
pub(super) fn listed(all: impl ExactSizeIterator<Item = String>) -> String {
    let more = all.len().saturating_sub(LISTED_MAX);
    let mut texts: Vec<String> = all.take(LISTED_MAX).collect();
    texts.extend((more > 0).then(|| format!("{more} more")));
    texts.join(", ")
}

impl Formula {
    /// The formula over the columns of `input`.
    pub(super) fn shown(&self, input: &Relation) -> String {
        let mut text = Text::default();
        formula(&mut text, self, input);
        text.0
    }
}

impl Folded {
    /// The fold of the rows of `input`.
    pub(super) fn shown(&self, input: &Relation) -> String {
        let mut text = Text::default();
        folded(&mut text, self, input);
        text.0
    }
}

impl Beside {
    /// What is told of a row of `input`: `lag(load, 1)`.
    pub(super) fn shown(&self, input: &Relation) -> String {
        let mut text = Text::default();
        beside(&mut text, self, input);
        text.0
    }
}

impl Order {
    /// By what rows of `input` are ordered.
    pub(super) fn shown(&self, input: &Relation) -> String {
        let descending = if self.descending { " descending" } else { "" };
        format!("{}{descending}", self.by.shown(input))
    }
}

impl Selected {
    /// A column of the rows.
    pub(super) fn shown(&self, column: &Column) -> String {
        match (column, self.fold(column)) {
            (Column::Label(name), _) => name.to_string(),
            (Column::Place(_), Some(reduce)) => reduced(reduce),
            (Column::Place(0), None) => "time".to_owned(),
            (Column::Place(place), None) => {
                let column = self.select.columns.get(*place);
                column.map_or(String::new(), |column| column.name.to_string())
            }
        }
    }

    /// The folds of which the rows have nothing: they only tell which rows there are.
    pub(super) fn unseen(&self) -> impl Iterator<Item = &Reduce> {
        let seen = |slot: usize| self.columns.iter().any(|column| self.slot(column) == Some(slot));
        let inputs = self.select.inputs.iter().enumerate();
        inputs.filter(move |(slot, _)| !seen(*slot)).filter_map(|(_, input)| reduce_of(&input.rows))
    }

    /// What makes the values of a column, if a fold does.
    pub(super) fn fold(&self, column: &Column) -> Option<&Reduce> {
        reduce_of(&self.select.inputs.get(self.slot(column)?)?.rows)
    }

    fn slot(&self, column: &Column) -> Option<usize> {
        let Column::Place(place) = column else { return None };
        match self.select.columns.get(*place)?.value {
            Calculate::Slot(slot) => Some(slot),
            _ => None,
        }
    }
}

/// The fold of rows that are stamped with their windows.
fn reduce_of(rows: &Rows) -> Option<&Reduce> {
    match rows {
        Rows::Reduce(reduce) => Some(reduce),
        Rows::Stamp { input, .. } => reduce_of(input),
        _ => None,
    }
}

/// A fold of what is stored: `mean(ph)`.
fn reduced(reduce: &Reduce) -> String {
    let name = match &reduce.function {
        Reducer::WideSum => "sum".to_owned(),
        Reducer::WideMean => "mean".to_owned(),
        function => word(function),
    };
    format!("{name}({})", field_of(reduce))
}

/// The field that is folded.
pub(super) fn field_of(reduce: &Reduce) -> &str {
    match &reduce.input {
        Rows::Scan(scan) => scan.value.as_ref().map_or("", |(field, _)| field),
        _ => "",
    }
}

fn column(text: &mut Text, place: usize, of: &Relation) {
    match of {
        Relation::Listed { .. } => text.put(&format!("column {}", place + 1)),
        Relation::Stored(scan) => text.put(carried(scan, place)),
        Relation::Selected(of) => {
            text.put(&of.columns.get(place).map_or(String::new(), |column| of.shown(column)));
        }
        Relation::Filtered { input, .. }
        | Relation::Sorted { input, .. }
        | Relation::Limited { input, .. } => column(text, place, input),
        Relation::Calculated { input, columns } => {
            columns.get(place).into_iter().for_each(|of| formula(text, of, input));
        }
        Relation::Appended(of) => {
            of.first().into_iter().for_each(|input| column(text, place, input));
        }
        Relation::Windowed(of) => {
            let told = place.checked_sub(columns(&of.input)).map(|place| of.told.get(place));
            match told {
                Some(told) => told.into_iter().for_each(|told| beside(text, told, &of.input)),
                None => column(text, place, &of.input),
            }
        }
        Relation::Grouped(of) => {
            let Grouped { input, keys, folds } = &**of;
            match (keys.get(place), folds.get(place.saturating_sub(keys.len()))) {
                (Some(key), _) => formula(text, key, input),
                (None, Some(fold)) => folded(text, fold, input),
                (None, None) => {}
            }
        }
    }
}

/// How many columns the rows of a relation have.
fn columns(of: &Relation) -> usize {
    match of {
        Relation::Listed { columns, .. } => *columns,
        Relation::Stored(scan) => 1 + scan.carried.len(),
        Relation::Selected(of) => of.columns.len(),
        Relation::Filtered { input, .. }
        | Relation::Sorted { input, .. }
        | Relation::Limited { input, .. } => columns(input),
        Relation::Calculated { columns, .. } => columns.len(),
        Relation::Grouped(of) => of.keys.len() + of.folds.len(),
        Relation::Appended(of) => of.first().map_or(0, columns),
        Relation::Windowed(of) => columns(&of.input) + of.told.len(),
    }
}

fn carried(scan: &Scan, place: usize) -> &str {
    match place.checked_sub(1).map(|place| scan.carried.get(place)) {
        None => "time",
        Some(Some(Carried::Label(name) | Carried::Field(name, _))) => name,
        Some(_) => &scan.measurement,
    }
}

/// What a fold is called.
fn named(fold: Fold) -> String {
    match fold {
        Fold::Smallest => "min".to_owned(),
        Fold::Largest => "max".to_owned(),
        Fold::Rows => "count(rows)".to_owned(),
        Fold::Quantile(share) => format!("{share} quantile"),
        fold => word(&fold),
    }
}

/// What is told of a row by its neighbours: `lag(load, 1)`.
fn beside(text: &mut Text, of: &Beside, input: &Relation) {
    let (name, frame) = match of.what {
        Neighbours::Number => return text.put("row number"),
        Neighbours::Rank => return text.put("rank"),
        Neighbours::DenseRank => return text.put("dense rank"),
        Neighbours::Shifted(by) => {
            text.put(if by < 0 { "lag(" } else { "lead(" });
            formula(text, &of.of, input);
            return text.put(&format!(", {})", by.unsigned_abs()));
        }
        Neighbours::Folded(Fold::Rows, frame) => {
            text.put("count(rows)");
            return framed(text, frame);
        }
        Neighbours::First(frame) => ("first".to_owned(), frame),
        Neighbours::Last(frame) => ("last".to_owned(), frame),
        Neighbours::Folded(fold, frame) => (named(fold), frame),
    };
    text.put(&format!("{name}("));
    formula(text, &of.of, input);
    text.put(")");
    framed(text, frame);
}

/// Which rows a frame has: ` of rows from 2 before to 0 behind`.
fn framed(text: &mut Text, frame: Frame) {
    let Frame::Rows(from, to) = frame else { return };
    let place = |at: Option<i64>, end: &str| match at {
        None => end.to_owned(),
        Some(at) if at < 0 => format!("{} before", at.unsigned_abs()),
        Some(at) => format!("{at} behind"),
    };
    let (from, to) = (place(from, "the first"), place(to, "the last"));
    text.put(&format!(" of rows from {from} to {to}"));
}

fn folded(text: &mut Text, of: &Folded, input: &Relation) {
    text.put(&named(of.fold));
    if of.fold != Fold::Rows {
        text.put(if of.is_distinct { "(distinct " } else { "(" });
        formula(text, &of.of, input);
        if matches!(of.fold, Fold::Earliest | Fold::Latest) {
            text.put(" by ");
            formula(text, &of.by, input);
        }
        text.put(")");
    }
    if let Some(condition) = &of.condition {
        text.put(" where ");
        formula(text, condition, input);
    }
}

fn formula(text: &mut Text, of: &Formula, input: &Relation) {
    if text.is_full() {
        return;
    }
    let call = |text: &mut Text, name: &str, arguments: &[Formula]| {
        text.put(name);
        text.list(("(", ", ", ")"), arguments, |text, one| formula(text, one, input));
    };
    match of {
        Formula::Column(place) => column(text, *place, input),
        Formula::Constant(of) => text.put(&constant(of)),
        Formula::Binary { operator, left, right } => binary(text, *operator, left, right, input),
        Formula::Not(of) => {
            text.put("not ");
            operand(text, of, input, u8::MAX);
        }
        Formula::IsNull(of) => {
            operand(text, of, input, u8::MAX);
            text.put(" is null");
        }
        Formula::Passes { text: of, test } => {
            operand(text, of, input, u8::MAX);
            text.put(&format!(" = {}", tested(test)));
        }
        Formula::IsOneOf { value, of } => {
            operand(text, value, input, u8::MAX);
            text.list((" in (", ", ", ")"), &**of, |text, one| text.put(&constant(one)));
        }
        Formula::Compared { value, with, is_any } => compared(text, value, with, *is_any, input),
        Formula::Differ { left, right } => {
            operand(text, left, input, u8::MAX);
            text.put(" is distinct from ");
            operand(text, right, input, u8::MAX);
        }
        Formula::NullIf { value, other } => {
            text.list(("nullif(", ", ", ")"), [value, other], |text, one| {
                formula(text, one, input);
            });
        }
        Formula::Matched { value, cases, otherwise } => {
            text.put("case ");
            formula(text, value, input);
            chosen(text, cases, otherwise, input);
        }
        Formula::Math { function, arguments } => call(text, &word(function), arguments),
        Formula::Text { function, arguments } => call(text, &word(function), arguments),
        Formula::Chosen { cases, otherwise } => {
            text.put("case");
            chosen(text, cases, otherwise, input);
        }
        Formula::FirstOf(of) => call(text, "coalesce", of),
        Formula::Extreme { of, is_largest } => {
            call(text, if *is_largest { "greatest" } else { "least" }, of);
        }
        Formula::Converted { value, to } => {
            text.put("cast(");
            formula(text, value, input);
            text.put(&format!(" as {})", word::<Kept>(to)));
        }
        Formula::Window { time, bucket } => {
            formula(text, time, input);
            text.put(&(width(bucket.width) + &by_clock(bucket.zone.as_deref())));
        }
        Formula::Part { time, part, zone } => {
            text.put(&format!("{} of ", word(part)));
            operand(text, time, input, u8::MAX);
            text.put(&by_clock(zone.as_deref()));
        }
    }
}

fn binary(text: &mut Text, operator: Operator, left: &Formula, right: &Formula, input: &Relation) {
    let (sign, binds) = signed(operator);
    operand(text, left, input, binds);
    text.put(&format!(" {sign} "));
    // What stands behind an operator that binds alike has brackets: a - (b - c).
    operand(text, right, input, binds + 1);
}

/// Cases, and the value if none is met.
fn chosen(text: &mut Text, cases: &[(Formula, Formula)], otherwise: &Formula, input: &Relation) {
    text.list(("", "", ""), cases, |text, (case, value)| {
        text.put(" when ");
        formula(text, case, input);
        text.put(" then ");
        formula(text, value, input);
    });
    text.put(" else ");
    formula(text, otherwise, input);
    text.put(" end");
}

/// A value that stands once before all that it is held against.
fn compared(
    text: &mut Text,
    value: &Formula,
    with: &[(Operator, Formula)],
    is_any: bool,
    input: &Relation,
) {
    operand(text, value, input, u8::MAX);
    let between = if is_any { " or " } else { " and " };
    text.list((" ", between, ""), with, |text, (operator, other)| {
        text.put(&format!("{} ", signed(*operator).0));
        operand(text, other, input, u8::MAX);
    });
}

/// How long windows are.
fn width(of: Width) -> String {
    match of {
        Width::Nanos(ns) => format!(" each {}", span(ns)),
        Width::Months(1) => " each month".to_owned(),
        Width::Months(months) => format!(" each {months} months"),
    }
}

/// By whose clock, where that is not UTC.
fn by_clock(zone: Option<&str>) -> String {
    zone.map_or(String::new(), |zone| format!(" in {zone}"))
}

/// What stands beside an operator, in brackets where it binds less.
fn operand(text: &mut Text, of: &Formula, input: &Relation, binds: u8) {
    let has_brackets = match of {
        Formula::Binary { operator, .. } => signed(*operator).1 < binds,
        Formula::Compared { .. } | Formula::Differ { .. } => true,
        _ => false,
    };
    text.put(if has_brackets { "(" } else { "" });
    formula(text, of, input);
    text.put(if has_brackets { ")" } else { "" });
}

/// The sign of an operator, and how much it binds.
fn signed(operator: Operator) -> (&'static str, u8) {
    match operator {
        Operator::Or => ("or", 1),
        Operator::And => ("and", 2),
        Operator::Equal => ("=", 3),
        Operator::NotEqual => ("<>", 3),
        Operator::Less => ("<", 3),
        Operator::LessOrEqual => ("<=", 3),
        Operator::Greater => (">", 3),
        Operator::GreaterOrEqual => (">=", 3),
        Operator::BitOr => ("|", 4),
        Operator::BitXor => ("^", 4),
        Operator::BitAnd => ("&", 4),
        Operator::Add => ("+", 5),
        Operator::Subtract => ("-", 5),
        Operator::Multiply => ("*", 6),
        Operator::Divide | Operator::DivideWhole => ("/", 6),
        Operator::Modulo => ("%", 6),
    }
}

fn constant(of: &Item) -> String {
    match of {
        Item::Null => "null".to_owned(),
        Item::Float(number) => number.to_string(),
        Item::Integer(number) => number.to_string(),
        Item::Unsigned(number) => number.to_string(),
        Item::Boolean(truth) => truth.to_string(),
        Item::String(text) => {
            let text: String = text.chars().take(TEXT_MAX).collect();
            format!("'{}'", text.replace('\'', "''"))
        }
        Item::Time(ns) => format!("{ns} ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn two(operator: Operator, left: Formula, right: Formula) -> Formula {
        Formula::Binary { operator, left: Box::new(left), right: Box::new(right) }
    }

    fn nothing() -> Relation {
        Relation::Listed { columns: 2, rows: Arc::from([]) }
    }

    #[test]
    fn brackets_stand_where_they_matter() {
        let number = |number| Formula::Constant(Item::Integer(number));
        let less = two(Operator::Subtract, number(1), number(2));
        for (of, expected) in [
            (two(Operator::Subtract, less.clone(), number(3)), "1 - 2 - 3"),
            (two(Operator::Subtract, number(3), less.clone()), "3 - (1 - 2)"),
            (two(Operator::Multiply, less.clone(), number(3)), "(1 - 2) * 3"),
            (two(Operator::Greater, Formula::Column(1), less.clone()), "column 2 > 1 - 2"),
            (Formula::Not(Box::new(less)), "not (1 - 2)"),
            (Formula::FirstOf(vec![Formula::Column(0), number(0)]), "coalesce(column 1, 0)"),
            (Formula::Constant(Item::String("it's".into())), "'it''s'"),
            (
                Formula::Not(Box::new(Formula::Compared {
                    value: Box::new(Formula::Column(0)),
                    with: vec![
                        (Operator::GreaterOrEqual, number(1)),
                        (Operator::LessOrEqual, number(9)),
                    ],
                    is_any: false,
                })),
                "not (column 1 >= 1 and <= 9)",
            ),
            (
                Formula::Matched {
                    value: Box::new(Formula::Column(0)),
                    cases: vec![(number(1), number(2)), (number(3), number(4))],
                    otherwise: Box::new(Formula::Constant(Item::Null)),
                },
                "case column 1 when 1 then 2 when 3 then 4 else null end",
            ),
        ] {
            assert_eq!(of.shown(&nothing()), expected);
        }
    }

    /// Each level doubles the formula of the one before.
    #[test]
    fn texts_end() {
        let mut relation = nothing();
        for _ in 0..64 {
            let columns = vec![two(Operator::Add, Formula::Column(0), Formula::Column(0))];
            relation = Relation::Calculated { input: Box::new(relation), columns };
        }
        let shown = Formula::Column(0).shown(&relation);
        assert!(shown.starts_with("column 1 + ") && shown.ends_with('…'), "{shown}");
        assert!(shown.chars().count() <= TEXT_MAX + 1);
    }
}
