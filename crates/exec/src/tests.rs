//! Whole plans over series in memory: the tables of a conformance list, a naive model, limits.

mod formulas;
mod limits;
mod model;
mod tables;

use crate::run::run_over;
use crate::source::Source;
use crate::{Cancel, Error, Limits, Meter, Ran};
use foliot_engine::Identity;
use foliot_model::{
    Frame, Name, Samples, Selector, SeriesHead, Test, TimeRange, Value, is_null_float,
};
use foliot_plan::{Aggregate, Arithmetic, Fold, Gap, Grouping, Rate, Reset, Series};
use foliot_plan::{Fill, Window, Windows};
use std::ops::ControlFlow;

const SECOND: i64 = 1_000_000_000;
/// 2023-11-14 23:00:00 UTC, an hour's start: what offsets count from.
const H: i64 = 1_700_002_800;

/// One value of an expected or actual answer; NaN equals NaN here, and "no value" is its own.
#[derive(Clone, Copy, Debug, PartialEq)]
enum V {
    I(i64),
    F(f64),
    Nan,
    Null,
    Other,
}

use V::{F, I};

fn shown(value: Value<'_>) -> V {
    match value {
        Value::Integer(value) => I(value),
        Value::Float(value) if is_null_float(value) => V::Null,
        Value::Float(value) if value.is_nan() => V::Nan,
        Value::Float(value) => F(value),
        _ => V::Other,
    }
}

/// Samples at offsets from [`H`], in seconds.
fn samples(points: &[(i64, V)]) -> Samples {
    let mut samples = Samples::default();
    for &(offset, value) in points {
        let value = match value {
            I(value) => Value::Integer(value),
            F(value) => Value::Float(value),
            V::Nan => Value::Float(f64::NAN),
            V::Null | V::Other => Value::String("text"),
        };
        samples.push((H + offset) * SECOND, value);
    }
    samples
}

fn integers(points: &[(i64, i64)]) -> Samples {
    samples(&points.iter().map(|&(offset, value)| (offset, I(value))).collect::<Vec<_>>())
}

fn floats(points: &[(i64, f64)]) -> Samples {
    samples(&points.iter().map(|&(offset, value)| (offset, F(value))).collect::<Vec<_>>())
}

/// Series called `m` with the label `h` = a, b, ..
fn lettered(series: impl IntoIterator<Item = Samples>) -> Vec<(Identity, Samples)> {
    let letters = (0..26u8).map(|letter| char::from(b'a' + letter).to_string());
    series.into_iter().zip(letters).map(|(samples, h)| labelled(&[("h", &h)], samples)).collect()
}

fn labelled(labels: &[(&str, &str)], samples: Samples) -> (Identity, Samples) {
    let labels = labels.iter().copied().collect();
    let (measurement, field) = ("m".into(), "value".into());
    (Identity { measurement, field, labels, source: 0 }, samples)
}

/// From offset to offset, both ends included, in seconds.
fn range(start: i64, end: i64) -> TimeRange {
    TimeRange::new((H + start) * SECOND, (H + end) * SECOND)
}

fn select(range: TimeRange) -> Series {
    let names = vec![Name { measurement: Test::Any, field: Test::Any }];
    let (matchers, exact_labels, only) = (Vec::new(), None, None);
    let selector = Selector { namespace: 0, names, matchers, exact_labels, only };
    Series::Select { selector, range }
}

fn aggregate(fold: Fold, gap: Gap, grouping: Grouping, input: Series) -> Series {
    let (arithmetic, wants_members) = (Arithmetic::IntegerIfAll, true);
    Series::Aggregate(Box::new(Aggregate { input, grouping, fold, gap, arithmetic, wants_members }))
}

fn window(windows: Windows, fold: Fold, fill: Fill, range: TimeRange, input: Series) -> Series {
    Series::Window(Box::new(Window { input, windows, fold, fill, range }))
}

fn seconds(width: i64) -> Windows {
    Windows::Buckets { width_ns: width * SECOND, origin_ns: 0 }
}

fn rate(reset: Reset, input: Series) -> Series {
    Series::Rate(Box::new(Rate { input, per_ns: SECOND, reset }))
}

fn clip(range: TimeRange, input: Series) -> Series {
    Series::Clip { input: Box::new(input), range, keep_empty: true }
}

/// One series of an answer: its head, its samples by offset.
type Answer = (SeriesHead, Vec<(i64, V)>);

fn answer_with(
    series: &[(Identity, Samples)],
    plans: &[Series],
    limits: Limits,
) -> Result<(Vec<Answer>, Ran), Error> {
    let mut answers: Vec<Answer> = Vec::new();
    let mut is_open = false;
    let mut on_frame = |frame: Frame| {
        assert!(frame.samples.len() <= 4096, "frames are bounded");
        assert_eq!(frame.samples.times_ns.len(), frame.samples.values.len());
        if !is_open {
            answers.push(((*frame.head).clone(), Vec::new()));
        }
        is_open = !frame.is_last;
        let (head, points) = answers.last_mut().unwrap();
        assert_eq!(head, &*frame.head, "a series' frames follow each other");
        let offset = |time_ns: i64| time_ns.div_euclid(SECOND) - H;
        points.extend(frame.samples.iter().map(|(time, value)| (offset(time), shown(value))));
        ControlFlow::Continue(())
    };
    let source = Source::Given(series);
    let ran = run_over(source, plans, &Meter::new(limits, Cancel::default()), &mut on_frame)?;
    assert!(!is_open, "every series ends");
    Ok((answers, ran))
}

fn answer(series: &[(Identity, Samples)], plan: &Series) -> Vec<Answer> {
    answer_with(series, std::slice::from_ref(plan), Limits::default()).unwrap().0
}

/// The samples of the only series of the answer.
fn single(series: &[(Identity, Samples)], plan: &Series) -> Vec<(i64, V)> {
    let mut answers = answer(series, plan);
    assert_eq!(answers.len(), 1, "{answers:?}");
    answers.remove(0).1
}
