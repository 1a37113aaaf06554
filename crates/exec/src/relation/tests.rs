//! Operators against the same in a few lines: rows as lists, null as `None`.

use super::effort::Effort;
use super::filter::{Calculated, Filtered};
use super::formula::calculated;
use super::group::{Distinct, Grouped};
use super::limit::Limited;
use super::sort::Sorted;
use super::strip::{Listed, Stream, Strip};
use crate::Error;
use crate::limits::{Cancel, Limits, Meter};
use foliot_model::{Item, Test};
use foliot_plan::relation::{self, Fold, Folded, Formula, Order, Relation, Words};
use foliot_plan::rows::Operator;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

mod beside;

/// Two integers, or none, a row.
type Pair = (Option<i64>, Option<i64>);

fn item(value: Option<i64>) -> Item {
    value.map_or(Item::Null, Item::Integer)
}

fn truth(value: Option<bool>) -> Item {
    value.map_or(Item::Null, Item::Boolean)
}

fn rows(pairs: &[Pair]) -> Vec<Vec<Item>> {
    pairs.iter().map(|(a, b)| vec![item(*a), item(*b)]).collect()
}

fn all(mut stream: impl Stream) -> Vec<Vec<Item>> {
    let mut rows = Vec::new();
    while let Some(strip) = stream.next().unwrap() {
        rows.extend((0..strip.rows).map(|at| strip.row(at)));
    }
    rows
}

fn meter() -> Meter {
    Meter::new(Limits::default(), Cancel::default())
}

fn pairs() -> impl Strategy<Value = Vec<Pair>> {
    let value = || prop::option::weighted(0.8, -3..6i64);
    prop::collection::vec((value(), value()), 0..60)
}

/// A condition on the two columns, and what it means.
#[derive(Clone, Debug)]
enum Condition {
    Compares(Operator, i64),
    IsNull,
    Not(Box<Condition>),
    Both(Box<Condition>, Box<Condition>),
    Either(Box<Condition>, Box<Condition>),
}

impl Condition {
    fn formula(&self) -> Formula {
        let two = |operator, left: Formula, right: Formula| Formula::Binary {
            operator,
            left: Box::new(left),
            right: Box::new(right),
        };
        match self {
            Self::Compares(operator, number) => {
                let sum = two(Operator::Add, Formula::Column(0), Formula::Column(1));
                two(*operator, sum, Formula::Constant(Item::Integer(*number)))
            }
            Self::IsNull => Formula::IsNull(Box::new(Formula::Column(0))),
            Self::Not(of) => Formula::Not(Box::new(of.formula())),
            Self::Both(a, b) => two(Operator::And, a.formula(), b.formula()),
            Self::Either(a, b) => two(Operator::Or, a.formula(), b.formula()),
        }
    }

    fn means(&self, (a, b): Pair) -> Option<bool> {
        match self {
            Self::Compares(operator, number) => {
                let sum = a? + b?;
                Some(match operator {
                    Operator::Less => sum < *number,
                    Operator::Equal => sum == *number,
                    _ => sum != *number,
                })
            }
            Self::IsNull => Some(a.is_none()),
            Self::Not(of) => of.means((a, b)).map(|truth| !truth),
            Self::Both(one, two) => match (one.means((a, b)), two.means((a, b))) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Self::Either(one, two) => match (one.means((a, b)), two.means((a, b))) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
        }
    }
}

fn condition() -> impl Strategy<Value = Condition> {
    let operator =
        prop_oneof![Just(Operator::Less), Just(Operator::Equal), Just(Operator::NotEqual),];
    let leaf = prop_oneof![
        3 => (operator, -3..9i64).prop_map(|(of, number)| Condition::Compares(of, number)),
        1 => Just(Condition::IsNull),
    ];
    leaf.prop_recursive(4, 24, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|of| Condition::Not(of.into())),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Condition::Both(a.into(), b.into())),
            (inner.clone(), inner).prop_map(|(a, b)| Condition::Either(a.into(), b.into())),
        ]
    })
}

proptest! {
    /// Logic has three values.
    #[test]
    fn conditions_mean_what_their_parts_mean((condition, pairs) in (condition(), pairs())) {
        let formula = condition.formula();
        let mut strip = Strip::new(2);
        rows(&pairs).into_iter().for_each(|row| strip.push(row));
        let meter = meter();
        let found = calculated(&formula, &strip, &Effort::new(&meter)).unwrap();
        for (at, pair) in pairs.iter().enumerate() {
            prop_assert_eq!(found.get(at).into_owned(), truth(condition.means(*pair)));
        }
    }

    /// Groups are those of a map, and folds leave nulls out.
    #[test]
    fn groups_are_folded_as_lists_are(
        (pairs, condition) in (pairs(), prop::option::of(condition())),
    ) {
        let fold = |fold, is_distinct| Folded {
            fold,
            of: Formula::Column(1),
            by: Formula::Column(1),
            condition: condition.as_ref().map(Condition::formula),
            is_distinct,
        };
        let listed = Relation::Listed { columns: 2, rows: rows(&pairs).into() };
        let folds = vec![
            fold(Fold::Rows, false),
            fold(Fold::Count, true),
            fold(Fold::Sum, false),
            fold(Fold::Smallest, false),
            fold(Fold::Largest, false),
            fold(Fold::Mean, false),
        ];
        let plan = relation::Grouped { input: listed, keys: vec![Formula::Column(0)], folds };
        let (rows, meter) = (rows(&pairs), meter());
        let mut found = all(Grouped::new(Box::new(Listed::new(2, &rows)), &plan, &meter));
        found.sort_by_key(|row| match row[0] { Item::Integer(key) => Some(key), _ => None });
        let mut groups: BTreeMap<Option<i64>, Vec<Option<i64>>> = BTreeMap::new();
        for (key, value) in &pairs {
            let group = groups.entry(*key).or_default();
            let is_wanted = |of: &Condition| of.means((*key, *value)) == Some(true);
            group.extend(condition.as_ref().is_none_or(is_wanted).then_some(*value));
        }
        let expected: Vec<Vec<Item>> = groups
            .into_iter()
            .map(|(key, group)| {
                let values: Vec<i64> = group.iter().copied().flatten().collect();
                let mut distinct = values.clone();
                distinct.sort_unstable();
                distinct.dedup();
                let sum = (!values.is_empty()).then(|| values.iter().sum::<i64>());
                let mean = sum.map(|sum| sum as f64 / values.len() as f64);
                vec![
                    item(key),
                    Item::Integer(group.len() as i64),
                    Item::Integer(distinct.len() as i64),
                    item(sum),
                    item(values.iter().min().copied()),
                    item(values.iter().max().copied()),
                    mean.map_or(Item::Null, Item::Float),
                ]
            })
            .collect();
        prop_assert_eq!(found, expected);
    }

    /// The first few of rows in order are the first few of all rows in order.
    #[test]
    fn rows_are_sorted_cut_and_counted_once(
        (pairs, descending, nulls_first) in (pairs(), any::<bool>(), any::<bool>()),
        (wanted, offset, limit) in (prop::option::of(0..70u64), 0..9u64, prop::option::of(0..9u64)),
    ) {
        let (rows, meter) = (rows(&pairs), meter());
        let input = || Box::new(Listed::new(2, &rows));
        let by = [Order { by: Formula::Column(0), descending, nulls_first }];
        let found = all(Sorted::new(input(), &by, wanted, &meter));
        let mut expected = pairs.clone();
        expected.sort_by(|(a, _), (b, _)| {
            let nulls = a.is_none().cmp(&b.is_none());
            let nulls = if nulls_first { nulls.reverse() } else { nulls };
            nulls.then(if descending { b.cmp(a) } else { a.cmp(b) })
        });
        expected.truncate(wanted.map_or(usize::MAX, |wanted| wanted as usize));
        prop_assert_eq!(found, super::tests::rows(&expected));

        let found = all(Limited::new(input(), offset, limit, &meter));
        let rest = pairs.iter().skip(offset as usize);
        let most = limit.map_or(usize::MAX, |limit| limit as usize);
        let expected: Vec<Pair> = rest.take(most).copied().collect();
        prop_assert_eq!(found, super::tests::rows(&expected));

        let keys = [Formula::Column(1), Formula::Column(0)];
        let found = all(Distinct::new(input(), &keys, &meter));
        let mut expected: Vec<Vec<Item>> = Vec::new();
        for row in &rows {
            let turned = vec![row[1].clone(), row[0].clone()];
            if !expected.contains(&turned) {
                expected.push(turned);
            }
        }
        prop_assert_eq!(found, expected);
    }
}

/// Many rows go through room for few of them, and those that are held are charged.
#[test]
fn the_first_of_many_rows_take_little_memory() {
    let rows: Vec<Vec<Item>> =
        (0..50_000i64).map(|at| vec![Item::Integer(at * 7 % 9_973)]).collect();
    let by = [Order { by: Formula::Column(0), descending: true, nulls_first: true }];
    let limits = Limits { memory_bytes: 1 << 20, ..Limits::default() };
    let meter = Meter::new(limits, Cancel::default());
    let found = all(Sorted::new(Box::new(Listed::new(1, &rows)), &by, Some(3), &meter));
    assert_eq!(found[0], [Item::Integer(9_972)]);
    let mut whole = Sorted::new(Box::new(Listed::new(1, &rows)), &by, None, &meter);
    let error = whole.next().unwrap_err().to_string();
    assert!(error.contains("limits.query_memory_bytes"), "{error}");
    let keys = [Formula::Column(0)];
    let mut distinct = Distinct::new(Box::new(Listed::new(1, &rows)), &keys, &meter);
    let ended = std::iter::from_fn(|| distinct.next().transpose()).find_map(Result::err);
    assert!(ended.is_some());

    // Whoever gives up waits for none of it.
    let cancel = Cancel::default();
    let meter = Meter::new(Limits::default(), cancel.clone());
    cancel.cancel();
    let mut sorted = Sorted::new(Box::new(Listed::new(1, &rows)), &by, None, &meter);
    assert!(matches!(sorted.next(), Err(crate::Error::Cancelled)));
}

/// Of rows that are alike the first come first, also where few of many are kept.
#[test]
fn the_first_of_many_rows_stay_in_their_order() {
    let rows: Vec<Vec<Item>> = (0..20_000i64)
        .map(|at| vec![item((at % 11 > 0).then_some(at * 7 % 97)), Item::Integer(at)])
        .collect();
    for (descending, nulls_first) in [(false, false), (true, true), (false, true), (true, false)] {
        for wanted in [0, 1, 700, 3_000] {
            let (by, meter) =
                ([Order { by: Formula::Column(0), descending, nulls_first }], meter());
            let input = Box::new(Listed::new(2, &rows));
            let found = all(Sorted::new(input, &by, Some(wanted), &meter));
            let mut expected = rows.clone();
            expected.sort_by_key(|row| match &row[0] {
                Item::Integer(number) if descending => -number,
                Item::Integer(number) => *number,
                _ if nulls_first => i64::MIN,
                _ => i64::MAX,
            });
            expected.truncate(wanted as usize);
            assert_eq!(found, expected, "{descending} {nulls_first} {wanted}");
        }
    }
}

/// What compares one value with several is what AND, OR and CASE make of it.
#[test]
fn values_are_compared_by_three_valued_logic() {
    let (a, b, c) = (|| Formula::Column(0), || Formula::Column(1), || Formula::Column(2));
    let values = [None, Some(1), Some(2), Some(3)];
    let mut rows = Vec::new();
    for x in values {
        for y in values {
            rows.extend(values.map(|z| [x, y, z]));
        }
    }
    let items: Vec<Vec<Item>> = rows.iter().map(|row| row.map(item).to_vec()).collect();
    let with = |first, second| vec![(first, b()), (second, c())];
    let value = || Box::new(a());
    let between = with(Operator::GreaterOrEqual, Operator::LessOrEqual);
    let formulas = [
        Formula::Compared { value: value(), with: between, is_any: false },
        Formula::Compared {
            value: value(),
            with: with(Operator::Equal, Operator::Equal),
            is_any: true,
        },
        Formula::Differ { left: value(), right: Box::new(b()) },
        Formula::NullIf { value: value(), other: Box::new(b()) },
        Formula::Matched {
            value: value(),
            cases: vec![(b(), Formula::Constant(Item::Integer(7)))],
            otherwise: Box::new(c()),
        },
    ];
    let input = Box::new(Listed::new(3, &items));
    let found = all(Calculated::new(input, &formulas, &meter()));
    let expected = rows.iter().map(|&[a, b, c]| {
        let compared = |x: Option<i64>, y: Option<i64>, holds: fn(i64, i64) -> bool| {
            x.zip(y).map(|(x, y)| holds(x, y))
        };
        let (from, to) = (compared(a, b, |a, b| a >= b), compared(a, c, |a, c| a <= c));
        let (is_b, is_c) = (compared(a, b, |a, b| a == b), compared(a, c, |a, c| a == c));
        let all = match (from, to) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        };
        let any = match (is_b, is_c) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        };
        let equal = is_b == Some(true);
        vec![
            truth(all),
            truth(any),
            truth(Some(a != b)),
            item(if equal { None } else { a }),
            item(if equal { Some(7) } else { c }),
        ]
    });
    assert_eq!(found, expected.collect::<Vec<_>>());
}

/// A constant that is wrong is only looked at where it is chosen.
#[test]
fn what_is_not_chosen_is_not_calculated() {
    let zero = || Box::new(Formula::Constant(Item::Integer(0)));
    let wrong = Formula::Binary { operator: Operator::Divide, left: zero(), right: zero() };
    let yes = Formula::Constant(Item::Boolean(true));
    let chosen = Formula::Chosen {
        cases: vec![(yes.clone(), Formula::Constant(Item::Integer(1)))],
        otherwise: Box::new(wrong.clone()),
    };
    let either = Formula::Binary {
        operator: Operator::Or,
        left: Box::new(yes),
        right: Box::new(wrong.clone()),
    };
    let first =
        Formula::FirstOf(vec![Formula::Constant(Item::String(Arc::from("x"))), wrong.clone()]);
    let mut strip = Strip::new(0);
    strip.push([]);
    let meter = meter();
    let effort = Effort::new(&meter);
    let of = |formula: &Formula| {
        calculated(formula, &strip, &effort).map(|column| column.get(0).into_owned())
    };
    assert_eq!(of(&chosen).unwrap(), Item::Integer(1));
    assert_eq!(of(&either).unwrap(), Item::Boolean(true));
    assert_eq!(of(&first).unwrap(), Item::String("x".into()));
    assert!(of(&wrong).is_err());
}

/// Rows with long texts, of which there are two in memory, and a number.
fn texts(count: usize, bytes: usize) -> Vec<Vec<Item>> {
    let [one, other]: [Arc<str>; 2] = ["ab", "ba"].map(|text| text.repeat(bytes / 2).into());
    let text = |at: usize| if at.is_multiple_of(2) { one.clone() } else { other.clone() };
    (0..count).map(|at| vec![Item::String(text(at)), Item::Integer(at as i64)]).collect()
}

/// A strip of long texts, in which many patterns are looked for, takes minutes.
#[test]
fn formulas_end_when_their_time_is_over() {
    let text = || Box::new(Formula::Column(0));
    let none = |length: usize| {
        let test = Test::regex(&format!("{}x.y", "ab".repeat(length))).unwrap();
        Formula::Passes { text: text(), test }
    };
    let either = |left, right| Formula::Binary {
        operator: Operator::Or,
        left: Box::new(left),
        right: Box::new(right),
    };
    let condition = (1..20).map(none).reduce(either).unwrap();
    let rows = texts(1000, 1 << 20);
    let limits = Limits { seconds: Duration::from_millis(200), ..Limits::default() };
    let meter = Meter::new(limits, Cancel::default());
    let began = Instant::now();
    let mut filtered = Filtered::new(Box::new(Listed::new(2, &rows)), &condition, &meter);
    assert!(matches!(filtered.next(), Err(Error::Deadline { .. })));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[test]
fn texts_that_formulas_make_are_charged_as_long_as_their_strip_is_looked_at() {
    let joined = |column| {
        let arguments = vec![Formula::Column(column), Formula::Column(column)];
        Formula::Text { function: Words::Concat, arguments }
    };
    // Numbers have short texts. What is only passed on is held by the rows that it comes from.
    let columns = [Formula::Column(0), joined(1)];
    let rows = texts(2000, 1 << 20);
    let meter =
        Meter::new(Limits { memory_bytes: 8 << 20, ..Limits::default() }, Cancel::default());
    let mut calculated = Calculated::new(Box::new(Listed::new(2, &rows)), &columns, &meter);
    while calculated.next().unwrap().is_some() {}
    assert!(meter.memory_peak_bytes() > 2 * 1000 && meter.memory_peak_bytes() < 1 << 20);
    drop(calculated);
    assert_eq!(meter.memory_bytes(), 0);
    // Texts of a quarter of a megabyte, each of which becomes twice as long.
    let rows = texts(100, 1 << 18);
    let columns = [joined(0)];
    let mut calculated = Calculated::new(Box::new(Listed::new(2, &rows)), &columns, &meter);
    assert!(matches!(calculated.next(), Err(Error::Memory { .. })));
    drop(calculated);
    assert_eq!(meter.memory_bytes(), 0);
}

/// What is calculated of narrow rows may be wide: then few rows are made at a time.
#[test]
fn wide_rows_are_calculated_few_at_a_time() {
    let listed: Vec<Vec<Item>> = (0..1000).map(|at| vec![Item::Integer(at)]).collect();
    let (columns, meter) = (vec![Formula::Column(0); 1000], meter());
    let mut rows = Calculated::new(Box::new(Listed::new(1, &listed)), &columns, &meter);
    let mut seen = Vec::new();
    while let Some(strip) = rows.next().unwrap() {
        assert!(strip.rows <= 16, "{} rows", strip.rows);
        seen.extend((0..strip.rows).map(|at| strip.row(at)[999].clone()));
    }
    assert_eq!(seen, (0..1000).map(Item::Integer).collect::<Vec<_>>());
}
