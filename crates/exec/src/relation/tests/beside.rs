//! What is told of rows by those around them, against the definitions, looked up row by row.

use super::*;
use crate::relation::beside::Windowed;
use foliot_plan::relation::{Beside, Frame, Neighbours};

/// Partition by the first column, order by the second.
fn plan(told: Vec<Beside>) -> relation::Windowed {
    relation::Windowed {
        input: Relation::Listed { columns: 2, rows: Arc::from([]) },
        partition: vec![Formula::Column(0)],
        order: vec![Order { by: Formula::Column(1), descending: false, nulls_first: false }],
        told,
    }
}

fn beside(what: Neighbours) -> Beside {
    let otherwise = Formula::Constant(Item::Integer(-99));
    Beside { what, of: Formula::Column(1), otherwise }
}

/// Nulls are behind all numbers.
fn place(value: Option<i64>) -> (bool, Option<i64>) {
    (value.is_none(), value)
}

proptest! {
    #[test]
    fn rows_are_told_what_the_definitions_say(
        (pairs, by, from, to) in (pairs(), -3..4i64, -3..3i64, -2..4i64),
    ) {
        let plan = plan(vec![
            beside(Neighbours::Number),
            beside(Neighbours::Rank),
            beside(Neighbours::DenseRank),
            beside(Neighbours::Shifted(by)),
            beside(Neighbours::Folded(Fold::Sum, Frame::Peers)),
            beside(Neighbours::Folded(Fold::Rows, Frame::Rows(Some(from), Some(to)))),
            beside(Neighbours::Folded(Fold::Largest, Frame::Rows(Some(from), Some(to)))),
            beside(Neighbours::Folded(Fold::Mean, Frame::Rows(None, None))),
            beside(Neighbours::First(Frame::Rows(Some(from), None))),
            beside(Neighbours::Last(Frame::Peers)),
        ]);
        let (rows, meter) = (rows(&pairs), meter());
        let found = all(Windowed::new(Box::new(Listed::new(2, &rows)), &plan, &meter));

        let mut sorted = pairs.clone();
        sorted.sort_by_key(|(key, value)| (place(*key), place(*value)));
        let mut expected = Vec::new();
        for (at, (key, value)) in sorted.iter().enumerate() {
            let before = sorted.iter().take_while(|(other, _)| other != key).count();
            let own: Vec<Option<i64>> =
                sorted.iter().filter(|(other, _)| other == key).map(|(_, value)| *value).collect();
            let row = (at - before) as i64;
            let at_place = |place: i64| own.get(usize::try_from(place).ok()?).copied();
            let ahead = own.iter().filter(|other| place(**other) < place(*value));
            let mut distinct: Vec<_> = ahead.clone().collect();
            distinct.dedup();
            let up_to: Vec<Option<i64>> =
                own.iter().filter(|other| place(**other) <= place(*value)).copied().collect();
            let sum = |of: &[Option<i64>]| {
                let numbers: Vec<i64> = of.iter().copied().flatten().collect();
                (!numbers.is_empty()).then(|| numbers.iter().sum::<i64>())
            };
            let near: Vec<Option<i64>> = (row + from..=row + to).filter_map(at_place).collect();
            let numbers = own.iter().flatten().count() as f64;
            let mean = sum(&own).map_or(Item::Null, |sum| Item::Float(sum as f64 / numbers));
            let first = at_place((row + from).max(0)).unwrap_or_default();
            expected.push(vec![
                item(*key),
                item(*value),
                Item::Integer(row + 1),
                Item::Integer(ahead.count() as i64 + 1),
                Item::Integer(distinct.len() as i64 + 1),
                at_place(row + by).map_or(Item::Integer(-99), item),
                item(sum(&up_to)),
                Item::Integer(near.len() as i64),
                item(near.iter().copied().flatten().max()),
                mean,
                item(first),
                item(up_to.last().copied().flatten()),
            ]);
        }
        prop_assert_eq!(found, expected);
    }
}

/// All rows are held, and whoever gives up waits for none of them.
#[test]
fn rows_under_windows_are_charged_and_end() {
    let rows: Vec<Vec<Item>> =
        (0..50_000i64).map(|at| vec![Item::Integer(0), Item::Integer(at * 7 % 9_973)]).collect();
    let limits = Limits { memory_bytes: 1 << 20, ..Limits::default() };
    let small = Meter::new(limits, Cancel::default());
    let number = plan(vec![beside(Neighbours::Number)]);
    let mut windowed = Windowed::new(Box::new(Listed::new(2, &rows)), &number, &small);
    assert!(matches!(windowed.next(), Err(Error::Memory { .. })));

    // Half a billion additions.
    let limits = Limits { seconds: Duration::from_millis(300), ..Limits::default() };
    let short = Meter::new(limits, Cancel::default());
    let frame = Frame::Rows(Some(-10_000), Some(0));
    let sums = plan(vec![beside(Neighbours::Folded(Fold::Sum, frame))]);
    let began = Instant::now();
    let mut windowed = Windowed::new(Box::new(Listed::new(2, &rows)), &sums, &short);
    assert!(matches!(windowed.next(), Err(Error::Deadline { .. })));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());

    // Each row is looked at for ten thousand others, which counts as often.
    let limits = Limits { samples: 1_000_000, ..Limits::default() };
    let few = Meter::new(limits, Cancel::default());
    let mut windowed = Windowed::new(Box::new(Listed::new(2, &rows)), &sums, &few);
    assert!(matches!(windowed.next(), Err(Error::Samples { .. })));
}
