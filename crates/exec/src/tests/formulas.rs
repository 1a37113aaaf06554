//! What formulas are made of: functions of one series, joins of several, ranks, and answers that
//! later questions want.

use super::*;
use foliot_plan::grid::{Calculation, Comparison, Rank};
use foliot_plan::{Each, Function, Input, Joined, Named, Ranked, Span, Step, Term};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn each(function: Function, input: Series) -> Series {
    Series::Each(Box::new(Each { input, function }))
}

fn all() -> Series {
    select(range(0, 1 << 30))
}

fn named(name: &str, is_template: bool, input: Series) -> Series {
    Series::Named(Box::new(Named { input, name: name.into(), is_template }))
}

fn best(rank: Rank, count: usize, is_top: bool, keeps_later: bool) -> Series {
    Series::Ranked(Box::new(Ranked {
        input: all(),
        rank,
        last: Some(2),
        range: range(0, 30),
        count,
        is_top,
        keeps_later,
        takes_empty: false,
    }))
}

#[test]
fn functions_of_one_series() {
    let series = lettered([samples(&[(0, I(10)), (60, I(-20)), (90, F(0.5)), (150, V::Nan)])]);
    let case = |function| single(&series, &each(function, all()));
    let at = |values: [V; 4]| [0, 60, 90, 150].into_iter().zip(values).collect::<Vec<_>>();
    assert_eq!(case(Function::Scaled(2.0)), at([I(20), I(-40), F(1.0), V::Nan]));
    assert_eq!(case(Function::Scaled(0.5)), at([F(5.0), F(-10.0), F(0.25), V::Nan]));
    assert_eq!(case(Function::Absolute), at([I(10), I(20), F(0.5), V::Nan]));
    assert_eq!(case(Function::Difference), at([F(0.0), F(-30.0), F(20.5), V::Nan]));
    assert_eq!(case(Function::Average(Span::Samples(2))), at([F(0.0), F(-5.0), F(-9.75), F(0.5)]));
    let minute = Function::Average(Span::Time(60 * SECOND));
    assert_eq!(case(minute), at([F(0.0), F(-20.0), F(-9.75), F(0.0)]));
    let shifted = [(7, I(10)), (67, I(-20)), (97, F(0.5)), (157, V::Nan)];
    assert_eq!(case(Function::Shifted(7 * SECOND)), shifted);
    let coarse = [(0, I(10)), (60, I(-20)), (60, F(0.5)), (120, V::Nan)];
    assert_eq!(case(Function::Coarse(60 * SECOND)), coarse);
    let lowest = lettered([integers(&[(0, i64::MIN)])]);
    assert_eq!(single(&lowest, &each(Function::Absolute, all())), [(0, I(i64::MIN))]);
    assert_eq!(single(&lowest, &each(Function::Scaled(2.0), all())), [(0, I(0))]);
    for senseless in [Function::Coarse(0), Function::Average(Span::Samples(0))] {
        let refused = answer_with(&series, &[each(senseless, all())], Limits::default());
        assert!(matches!(refused, Err(Error::Plan(_))), "{refused:?}");
    }
}

#[test]
fn names_and_ranks() {
    let of =
        |values: [i64; 4]| integers(&[0, 10, 20, 40].map(|at| (at, values[at as usize / 10 % 4])));
    let series = lettered([of([9, 9, 1, 0]), of([0, 2, 3, 0]), of([0, 3, 2, 0]), of([5, 0, 0, 9])]);
    let names = |plan: Series| -> Vec<String> {
        let plan = named("@h of m", true, plan);
        answer(&series, &plan).into_iter().map(|(head, _)| head.measurement.to_string()).collect()
    };
    // Of the last two samples until 30.
    assert_eq!(names(best(Rank::Max, 2, true, false)), ["a of m", "b of m"]);
    assert_eq!(names(best(Rank::Max, 3, true, false)), ["a of m", "b of m", "c of m"]);
    assert_eq!(names(best(Rank::Max, 2, true, true)), ["a of m", "c of m"]);
    assert_eq!(names(best(Rank::Min, 1, false, false)), ["d of m"]);
    assert_eq!(names(best(Rank::Last, 9, true, false)), ["b of m", "c of m", "a of m", "d of m"]);
    assert!(names(best(Rank::Last, 0, true, false)).is_empty());
    let (head, _) = answer(&series, &named("n", false, all())).remove(0);
    assert_eq!((&*head.measurement, head.labels.get("h").map(|h| &**h)), ("n", Some("a")));
    let long = named(&"@h".repeat(40_000), true, all());
    let many = [labelled(&[("h", "abc")], integers(&[(0, 1)]))];
    let refused = answer_with(&many, &[long], Limits::default()).unwrap_err();
    assert!(refused.to_string().contains("65536"), "{refused}");
}

#[test]
fn groups_of_series_in_memory_are_groups_of_what_is_behind_them() {
    let one = |h, k, at| labelled(&[("h", h), ("k", k)], integers(&[(at, 1)]));
    let series = [one("a", "1", 0), one("a", "2", 0), one("b", "3", 0)];
    let by = |name: &str, input| {
        let names = vec![name.into()];
        aggregate(Fold::Sum, Gap::Absent, Grouping::By { names, drops_absent: true }, input)
    };
    let stored = answer(&series, &aggregate(Fold::Sum, Gap::Absent, Grouping::All, by("h", all())));
    let kept = Series::Union(vec![by("h", all())]);
    let kept = answer(&series, &aggregate(Fold::Sum, Gap::Absent, Grouping::All, kept));
    assert_eq!((&kept[0].0, &kept[0].1), (&stored[0].0, &stored[0].1));
    assert_eq!(kept[0].0.varying, ["h".into(), "k".into()]);
}

#[test]
fn later_questions_want_earlier_answers() {
    let series = lettered([integers(&[(0, 1), (10, 2)]), integers(&[(0, 5)])]);
    let questions = [
        all(),
        each(Function::Scaled(10.0), Series::Answer(0)),
        Series::Union(vec![Series::Answer(1), Series::Answer(0)]),
    ];
    let (answers, ran) = answer_with(&series, &questions, Limits::default()).unwrap();
    let shown: Vec<_> = answers.iter().map(|(head, points)| (head.question, points[0].1)).collect();
    let first_two = [(0, I(1)), (0, I(5)), (1, I(10)), (1, I(50))];
    assert_eq!(shown[..4], first_two);
    assert_eq!(shown[4..], [(2, I(10)), (2, I(50)), (2, I(1)), (2, I(5))]);
    // Read once.
    assert_eq!((ran.samples_scanned, ran.series_selected), (3, 2));
    for place in [0, 1, 7] {
        let refused = answer_with(&series, &[Series::Answer(place)], Limits::default());
        assert!(matches!(refused, Err(Error::Plan(_))), "{refused:?}");
    }
}

#[test]
fn work_stops_when_it_is_to_stop_or_memory_is_used_up() {
    let points: Vec<_> = (0..20_000).map(|at| (at, at)).collect();
    let series = lettered([integers(&points), integers(&points)]);
    let input = || Input { series: all(), fill: 0.0, labels: None };
    let joined = Series::Joined(Box::new(Joined {
        inputs: vec![input(), input()],
        by_varying: false,
        needs_all: false,
        at_all_times: true,
        term: Term(vec![Step::Input(0), Step::Input(1), Step::Calculated(Calculation::Add)]),
    }));
    let average = Function::Average(Span::Samples(15_000));
    let ranked = best(Rank::Max, 2, true, false);
    for plan in [joined, each(average, all()), ranked, named("n", false, all())] {
        let tight = Limits { memory_bytes: 300 << 10, threads: 1, ..Limits::default() };
        let refused = answer_with(&series, std::slice::from_ref(&plan), tight).unwrap_err();
        assert!(matches!(refused, Error::Memory { .. }), "{plan:?}: {refused}");
        let wide = Limits { threads: 1, ..Limits::default() };
        let (_, ran) = answer_with(&series, std::slice::from_ref(&plan), wide).unwrap();
        assert_eq!(ran.samples_scanned % 40_000, 0, "samples are counted where they are read");
        let cancel = Cancel::default();
        cancel.cancel();
        let meter = Meter::new(wide, cancel);
        let stopped =
            run_over(Source::Given(&series), &[plan], &meter, &mut |_| ControlFlow::Continue(()));
        assert!(matches!(stopped, Err(Error::Cancelled)));
    }
}

/// A series of a join: its labels, and its samples by offset.
type Given = (Vec<(&'static str, &'static str)>, BTreeMap<i64, f64>);

fn given() -> impl Strategy<Value = Vec<Given>> {
    let h = prop::sample::select(vec![None, Some("a"), Some("b"), Some("c")]);
    let k = prop::sample::select(vec![None, Some("1"), Some("2")]);
    let value = prop_oneof![Just(f64::NAN), (-9i64..9).prop_map(|value| value as f64)];
    let points = prop::collection::btree_map(0i64..12, value, 1..6);
    let series = (h, k, points).prop_map(|(h, k, points)| {
        let labels = h.map(|h| ("h", h)).into_iter().chain(k.map(|k| ("k", k)));
        (labels.collect(), points)
    });
    prop::collection::vec(series, 0..5)
}

/// What a join comes to: by labels, the samples of each result.
type Results = BTreeMap<Vec<(String, String)>, Vec<(i64, V)>>;

/// By definition: for each name the last series of each input, at each time of any of them.
fn model(inputs: &[Vec<Given>], (needs_all, at_all_times): (bool, bool), fill: f64) -> Results {
    let name = |labels: &[(&str, &str)]| -> Vec<(String, String)> {
        labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let mut names: Vec<_> = inputs.iter().flatten().map(|(labels, _)| name(labels)).collect();
    names.sort();
    names.dedup();
    let of = |input: &[Given], wanted: &Vec<(String, String)>| {
        input.iter().rfind(|(labels, _)| name(labels) == *wanted).map(|(_, points)| points.clone())
    };
    let mut meet: BTreeMap<_, Vec<Option<BTreeMap<i64, f64>>>> = BTreeMap::new();
    for name in names {
        let all: Vec<_> = inputs.iter().map(|input| of(input, &name)).collect();
        if !needs_all || all.iter().all(Option::is_some) {
            meet.insert(name, all);
        }
    }
    let times = |all: &[Option<BTreeMap<i64, f64>>]| -> Vec<i64> {
        let mut times: Vec<i64> = all.iter().flatten().flat_map(|of| of.keys().copied()).collect();
        times.sort_unstable();
        times.dedup();
        times
    };
    let everything: Vec<_> = meet.values().flatten().cloned().collect();
    meet.iter()
        .map(|(name, all)| {
            let times = if at_all_times { times(&everything) } else { times(all) };
            let at = |at: i64| {
                let number = |of: &Option<BTreeMap<i64, f64>>| match of {
                    None => 0.0,
                    Some(points) => match points.get(&at) {
                        Some(number) if !number.is_nan() => *number,
                        _ => fill,
                    },
                };
                let (a, b) = (number(&all[0]), number(&all[1]));
                let quotient = if b == 0.0 { 0.0 } else { a / b };
                let value = if a > b { quotient } else { a - b };
                (at, if value.is_nan() { V::Nan } else { F(value) })
            };
            (name.clone(), times.into_iter().map(at).collect())
        })
        .collect()
}

proptest! {
    #[test]
    fn joins_are_what_their_definition_says(
        left in given(),
        right in given(),
        needs_all in any::<bool>(),
        at_all_times in any::<bool>(),
        fill in prop::sample::select(vec![0.0, 5.0]),
    ) {
        let inputs = [left, right];
        // A label tells the inputs apart, and is not looked at.
        let stored: Vec<_> = inputs
            .iter()
            .zip(["l", "r"])
            .flat_map(|(input, side)| {
                input.iter().enumerate().map(move |(at, (labels, points))| {
                    let at = at.to_string();
                    let mut labels = labels.clone();
                    labels.extend([("nr", at.as_str()), ("side", side)]);
                    let points: Vec<_> = points.iter().map(|(at, value)| (*at, *value)).collect();
                    labelled(&labels, floats(&points))
                })
            })
            .collect();
        let lefts = inputs[0].len();
        let of = |which: std::ops::Range<usize>| {
            let mut series = all();
            if let Series::Select { selector, .. } = &mut series {
                selector.only = Some(which.map(|sid| sid as u32).collect());
            }
            series
        };
        let labels = Some(vec!["h".into(), "k".into()]);
        let input = |series| Input { series, fill, labels: labels.clone() };
        let plan = Series::Joined(Box::new(Joined {
            inputs: vec![input(of(0..lefts)), input(of(lefts..stored.len()))],
            by_varying: false,
            needs_all,
            at_all_times,
            term: Term(vec![
                Step::Input(0),
                Step::Input(1),
                Step::Compared(Comparison::Greater),
                Step::Input(0),
                Step::Input(1),
                Step::Calculated(Calculation::Divide),
                Step::Input(0),
                Step::Input(1),
                Step::Calculated(Calculation::Subtract),
                Step::Chosen,
            ]),
        }));
        let expected = model(&inputs, (needs_all, at_all_times), fill);
        let found: BTreeMap<_, _> = answer(&stored, &plan)
            .into_iter()
            .map(|(head, points)| {
                let is_name = |name: &str| name == "h" || name == "k";
                let labels = head.labels.iter().filter(|label| is_name(&label.name));
                let name = labels.map(|label| (label.name.to_string(), label.value.to_string()));
                (name.collect::<Vec<_>>(), points)
            })
            .collect();
        prop_assert_eq!(found, expected);
    }
}
