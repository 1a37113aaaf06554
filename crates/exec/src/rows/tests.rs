//! Rows that never end, and work that comes to nothing: whoever gives up does not wait for it.

use super::Limited;
use super::fill::Filled;
use super::grid::Grid;
use super::integral::Integral;
use super::merge::{Merge, Ranked};
use super::reduce::Reduced;
use super::row::Head;
use super::strip::{Gathered, Stream, Strip};
use super::transform::Transformed;
use crate::Error;
use crate::limits::{Cancel, Limits, Meter, Turns};
use foliot_model::{Item, Kind, TimeRange};
use foliot_plan::rows::{Buckets, Fill, Filling, Layout, Reducer, Transform};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The same strip again and again.
struct Endless(Strip);

impl Stream for Endless {
    fn next(&mut self) -> Result<Option<Strip>, Error> {
        Ok(Some(self.0.clone()))
    }
}

fn endless(value: &Item) -> Box<dyn Stream> {
    let head = Arc::new(Head { measurement: "m".into(), labels: Vec::new() });
    let mut strip = Strip::new(head, 0);
    (0..100).for_each(|at| strip.push(at, value.clone(), []));
    Box::new(Endless(strip))
}

fn layout(width_ns: i64, ordered: bool) -> Arc<Layout> {
    Arc::new(Layout {
        range: TimeRange::new(0, 1_000_000_000_000),
        windows: Some(Buckets { width_ns, offset_ns: 0, zone: None, whole: false }),
        order_by: [].into(),
        group_by: [].into(),
        descending: false,
        ordered,
    })
}

/// How late a machine may be that others use too: one of a few times counts.
const LATE_MAX: Duration = Duration::from_millis(100);
pub(super) const TIMES: u32 = 5;

/// Does work that is told to stop after a moment, and does so soon.
pub(super) fn gives_up(name: &str, work: &dyn Fn(&Meter) -> Option<Error>) {
    let late = (0..TIMES).map(|_| {
        let cancel = Cancel::default();
        let meter = Meter::new(Limits::default(), cancel.clone());
        let canceller = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            cancel.cancel();
            Instant::now()
        });
        let outcome = work(&meter);
        let ended = Instant::now();
        assert!(matches!(outcome, Some(Error::Cancelled)), "{name}: {outcome:?}");
        ended.saturating_duration_since(canceller.join().unwrap())
    });
    let late: Vec<Duration> = late.take_while(|late| *late >= LATE_MAX).collect();
    assert!(late.len() < TIMES as usize, "{name}: {late:?}");
}

/// Reads all strips.
fn read(mut stream: impl Stream) -> Option<Error> {
    loop {
        match stream.next() {
            Ok(Some(_)) => {}
            Ok(None) => return None,
            Err(error) => return Some(error),
        }
    }
}

#[test]
fn rows_without_end_are_given_up() {
    let (null, one) = (Item::Null, Item::Float(1.0));
    for function in [Reducer::Median, Reducer::Top { count: 3 }, Reducer::Count] {
        for value in [&null, &one] {
            let layout = layout(1_000, true);
            gives_up(&format!("{function:?} {value:?}"), &|meter| {
                let reduced = Reduced::new(endless(value), (&function, true), &layout, meter);
                read(Gathered::new(reduced.unwrap()))
            });
        }
    }
    let layout = layout(10, true);
    gives_up("difference", &|meter| {
        let function = Transform::Difference { non_negative: false };
        read(Gathered::new(Transformed::new(endless(&null), &function, &layout, meter)))
    });
    gives_up("integral", &|meter| {
        read(Gathered::new(Integral::new(endless(&null), 1, &layout, meter).unwrap()))
    });
    gives_up("limit", &|meter| {
        let (input, turns) = (endless(&one), Turns::default());
        let (offset, limit) = (u64::MAX, None);
        read(Limited { input, offset, limit, ends: false, counted: None, meter, turns })
    });
    for ordered in [false, true] {
        let layout = self::layout(10, ordered);
        gives_up("merge", &|meter| {
            let inputs = (0..1_000).map(|_| endless(&one)).collect();
            read(Gathered::new(Merge::new(inputs, &layout, meter).unwrap()))
        });
    }
    gives_up("ranked", &|meter| {
        let inputs = (0..1_000).map(|_| endless(&one)).collect();
        read(Ranked::new(inputs, vec![0; 1_000], Vec::new(), (false, meter)))
    });
}

#[test]
fn long_fills_are_given_up() {
    let layout = layout(1, true);
    for with in [Filling::Null, Filling::Previous, Filling::Linear] {
        let input = super::Rows::Merge { inputs: Vec::new(), layout: layout.clone() };
        let (kind, carried) = (Kind::Float, 0);
        let plan = Fill { input, layout: layout.clone(), with, kind, carried };
        // Of most rows nothing is wanted: they are passed over.
        for wanted in [None, Some(10)] {
            gives_up(&format!("{:?} {wanted:?}", plan.with), &|meter| {
                let grid = Grid::new(&plan.layout).unwrap();
                let (input, limits) = (endless(&Item::Float(1.0)), Limits::default());
                let limits = Limits { samples: u64::MAX, ..limits };
                let meter = &Meter::new(limits, meter.cancel());
                read(Filled::new(input, (&plan, grid), wanted, meter).unwrap())
            });
        }
    }
}
