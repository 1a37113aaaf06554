//! Dropped series: not found any more, never mixed up with what comes after them.

use crate::model::{Line, write_all};
use foliot_index::{Listed, Mark, Registry, SidSet};
use foliot_model::Selector;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn everything(namespace: u32) -> Selector {
    Selector { namespace, names: vec![], matchers: vec![], exact_labels: None, only: None }
}

fn list(registry: &Registry, what: Listed) -> Vec<String> {
    registry.list(&what, &everything(0), "", 0, usize::MAX)
}

/// What all listings say, in one.
fn listed(registry: &Registry) -> Vec<Vec<String>> {
    let values = |name: &str| Listed::LabelValues(Some(name.to_owned()));
    let kinds = [
        Listed::Measurements,
        Listed::Fields,
        Listed::Metrics,
        Listed::LabelNames,
        Listed::LabelValues(None),
        values("a"),
        values("b"),
    ];
    kinds.into_iter().map(|what| list(registry, what)).collect()
}

#[test]
fn a_forgotten_series_is_not_found_and_its_name_gets_a_new_number() {
    let registry = Registry::new(0);
    let lines = [Line::new("cpu,a=1", &["x", "y"]), Line::new("disk,b=2", &["x"])];
    assert_eq!(write_all(&registry, 0, &lines).sids, [vec![0, 1], vec![2]]);
    registry.forget(&[1, 2].into_iter().collect());
    assert_eq!(registry.select(&everything(0)), [0]);
    assert_eq!(list(&registry, Listed::Metrics), ["cpu.x"]);
    assert_eq!(list(&registry, Listed::LabelNames), ["a"]);
    assert_eq!(registry.counts().forgotten, 2);
    let again = write_all(&registry, 0, &lines);
    assert_eq!((again.missing, again.sids), (2, vec![vec![0, 3], vec![4]]));
    let third = write_all(&registry, 0, &lines);
    assert_eq!((third.missing, third.sids), (0, vec![vec![0, 3], vec![4]]));
    assert_eq!(registry.select(&everything(0)), [0, 3, 4]);
    assert_eq!(list(&registry, Listed::LabelNames), ["a", "b"]);
}

/// Whoever forgets holds everybody off, so that it must not look through all that is known: what
/// rows of forgotten series are found by goes later.
#[test]
fn spellings_of_forgotten_series_are_swept_out_once_they_are_many() {
    let registry = Registry::new(0);
    let line = |n: u32| Line::new(&format!("m,a={n}"), &["x", "y"]);
    let lines: Vec<Line> = (0..8_000).map(line).collect();
    write_all(&registry, 0, &lines);
    let known = || registry.counts().lookup_entries;
    // Of each of these one series is left.
    registry.forget(&(0..1_000).map(|n| 2 * n).collect());
    registry.sweep();
    assert_eq!(known(), 8_000, "they are few");
    let found = write_all(&registry, 0, &lines[998..1_002]);
    assert_eq!(
        (found.missing, &found.sids[2..]),
        (2, &[vec![2_000, 2_001], vec![2_002, 2_003]][..])
    );
    assert_eq!(found.sids[..2], [vec![16_000, 1_997], vec![16_001, 1_999]]);
    assert_eq!(known(), 8_000, "what is found again takes the place of what is gone");

    registry.forget(&(2_000..6_000).collect());
    assert_eq!(known(), 8_000);
    let found = write_all(&registry, 0, &lines[2_999..3_001]);
    assert_eq!((found.missing, &found.sids[1]), (1, &vec![6_000, 6_001]));
    registry.sweep();
    assert_eq!(known(), 5_000, "of 3 000 rows a series was forgotten");
    let found = write_all(&registry, 0, &lines);
    assert_eq!((found.missing, known()), (3_000, 8_000));
    let again = write_all(&registry, 0, &lines);
    assert_eq!((again.missing, again.sids), (0, found.sids));
}

#[test]
fn a_source_of_very_many_series_dies_with_its_last_one() {
    let registry = Registry::new(0);
    let fields: Vec<String> = (0..300).map(|i| format!("f{i}")).collect();
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    write_all(&registry, 0, &[Line::new("m,a=1", &fields), Line::new("m,a=2", &["f0"])]);
    registry.forget(&(0..299).collect());
    assert_eq!(list(&registry, Listed::LabelValues(Some("a".to_owned()))), ["1", "2"]);
    registry.forget(&[299].into_iter().collect());
    assert_eq!(list(&registry, Listed::LabelValues(Some("a".to_owned()))), ["2"]);
    assert_eq!(list(&registry, Listed::Fields), ["f0"]);
}

/// A row that comes between the two halves is of a living series whatever is counted then, also of
/// a source of more series than are counted one by one.
#[test]
fn a_row_between_the_halves_of_forgetting_keeps_its_source_alive() {
    for fields in [2, 300] {
        let registry = Registry::new(0);
        let names: Vec<String> = (0..fields).map(|i| format!("f{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let lines = [Line::new("m,a=1", &names), Line::new("m,a=2", &["f0"])];
        write_all(&registry, 0, &lines);
        let values = || list(&registry, Listed::LabelValues(Some("a".to_owned())));
        let all: SidSet = (0..fields + 1).collect();
        let hidden = registry.hide(&all);
        assert_eq!(registry.select(&everything(0)), [0; 0], "{fields}");
        write_all(&registry, 0, &[Line::new("m,a=1", &["f1"])]);
        assert_eq!(registry.select(&everything(0)), [fields + 1], "{fields}");
        registry.count_hidden(&hidden);
        assert_eq!(
            (values(), list(&registry, Listed::Fields)),
            (vec!["1".to_owned()], vec!["f1".to_owned()])
        );
        registry.forget(&[fields + 1].into_iter().collect());
        assert_eq!(values(), [""; 0], "{fields}");
        write_all(&registry, 0, &lines);
        assert_eq!(values(), ["1", "2"], "{fields}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn listings_are_those_of_the_living(
        steps in prop::collection::vec((0u8..4, 0u8..4, 0u8..3, 1u8..8, any::<u8>()), 1..60),
    ) {
        let registry = Registry::new(0);
        let mut living: BTreeMap<u32, Line> = BTreeMap::new();
        let mut dropped = BTreeSet::new();
        let mut hidden = None;
        for (a, b, measurement, fields, drop) in steps {
            let names: Vec<&str> =
                ["x", "y", "z"].into_iter().enumerate().filter(|(i, _)| fields >> i & 1 == 1)
                    .map(|(_, name)| name).collect();
            let key = match b {
                0 => format!("m{measurement},a={a}"),
                b => format!("m{measurement},a={a},b={b}"),
            };
            // Between the two halves of forgetting, if the step before began to.
            let written = write_all(&registry, 0, &[Line::new(&key, &names)]);
            for (sid, name) in written.sids[0].iter().zip(&names) {
                prop_assert!(!dropped.contains(sid), "a dropped number came back");
                living.insert(*sid, Line::new(&key, &[name]));
            }
            prop_assert!(registry.select(&everything(0)).iter().eq(living.keys()));
            if let Some(hidden) = hidden.take() {
                registry.count_hidden(&hidden);
            }
            // A registry that only ever knew the living lists the same.
            let reference = Registry::new(0);
            let lines: Vec<Line> = living.values().cloned().collect();
            write_all(&reference, 0, &lines);
            prop_assert_eq!(listed(&registry), listed(&reference));
            // So does one that is read back, told what was dropped before the registrations.
            let (records, _) = registry.checkpoint(&Mark::default());
            let back = Registry::new(0);
            back.forget(&dropped.iter().copied().collect());
            back.replay(&records).unwrap();
            back.replay(&records).unwrap();
            prop_assert_eq!(listed(&back), listed(&registry));
            prop_assert!(back.select(&everything(0)).iter().eq(living.keys()));
            if drop < 100 {
                let gone: Vec<u32> = living.keys().copied().filter(|sid| {
                    (sid * 37 + u32::from(drop)) % 5 < 2
                }).collect();
                hidden = Some(registry.hide(&gone.iter().copied().collect::<SidSet>()));
                for sid in gone {
                    living.remove(&sid);
                    dropped.insert(sid);
                }
            }
        }
    }
}
