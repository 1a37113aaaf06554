//! The registry's promises, one by one.

use crate::model;
use crate::model::{COMMAS, Line, SPACES, Written, segment_of, write, write_all};
use foliot_codec::varint::put_u32;
use foliot_index::{Error, Listed, Mark, Origin, Registry, Run, SymbolKind};
use foliot_model::{KeySyntax, Matcher, Name, Selector, Test};

fn write_in(registry: &Registry, syntax: &'static KeySyntax, lines: &[Line]) -> Written {
    let mut publish = |_: &[u8]| Ok::<(), std::convert::Infallible>(());
    let Ok(written) = write(registry, syntax, 0, lines, u64::MAX, &mut publish);
    written
}

fn everything(namespace: u32) -> Selector {
    Selector { namespace, names: vec![], matchers: vec![], exact_labels: None, only: None }
}

#[test]
fn one_series_whatever_the_spelling_order_syntax_and_shape() {
    let registry = Registry::new(0);
    let first = write_all(&registry, 0, &[Line::new("cpu,a=1,b=2", &["x", "y", "z"])]);
    assert_eq!((first.sids, first.new_series), (vec![vec![0, 1, 2]], 3));
    let again = write_all(
        &registry,
        0,
        &[
            Line::new("cpu,b=2,a=1", &["z", "x"]),
            Line::new("cpu,a=1,c=,b=2", &["y"]),
            Line::new("cpu,a=1,b=2", &["x", "y", "z"]),
            Line::new("cpu,a=1,b=2,a=1", &["z", "new", "x"]),
        ],
    );
    assert_eq!(again.sids, [vec![2, 0], vec![1], vec![0, 1, 2], vec![2, 3, 0]]);
    assert_eq!((again.missing, again.new_series), (3, 1));
    let other = write_in(&registry, &SPACES, &[Line::new("cpu b:2 a:1", &["y", "z"])]);
    assert_eq!(other.sids, [vec![1, 2]]);
    // By now all of these are known by their bytes.
    let third = write_all(
        &registry,
        0,
        &[Line::new("cpu,b=2,a=1", &["z", "x"]), Line::new("cpu,a=1,b=2,a=1", &["z", "new", "x"])],
    );
    assert_eq!((third.missing, third.sids), (0, vec![vec![2, 0], vec![2, 3, 0]]));
    let elsewhere = write_all(&registry, 1, &[Line::new("cpu,a=1,b=2", &["x"])]);
    assert_eq!(elsewhere.sids, [vec![4]], "another namespace, another series");
    let identity = registry.identity(3).unwrap();
    assert_eq!((&*identity.measurement, &*identity.field), ("cpu", "new"));
    assert_eq!(identity.labels, [("a", "1"), ("b", "2")].into_iter().collect());
    assert_eq!(registry.identity(5), None);
    assert_eq!(registry.select(&everything(0)), [0, 1, 2, 3]);
}

#[test]
fn names_are_not_held_for_all_of_a_question() {
    let registry = Registry::new(0);
    for hosts in (0..20_000).collect::<Vec<u32>>().chunks(1_000) {
        let keys: Vec<String> = hosts.iter().map(|n| format!("m,h=h{n},r=r{}", n % 7)).collect();
        let lines: Vec<Line> = keys.iter().map(|key| Line::new(key, &["x"])).collect();
        write_all(&registry, 0, &lines);
    }
    // Whoever is asked whether to go on registers a series, for which nobody may hold the names.
    let made = std::cell::Cell::new(0);
    let goes_on = |_: usize| {
        made.set(made.get() + 1);
        write_all(&registry, 1, &[Line::new(&format!("new,n={}", made.get()), &["x"])]);
        true
    };
    let rack = |expression: &str, negated| {
        let test = Test::regex(expression).unwrap();
        Matcher { name: "r".into(), test, negated, accepts_absent: negated }
    };
    for (matchers, exact) in [
        ((0..100).map(|n| rack(if n < 50 { "5" } else { "." }, n < 50)).collect(), None),
        (vec![rack("5", true); 50], None),
        (vec![rack(".", false)], Some(vec!["h".to_owned(), "r".to_owned()])),
    ] {
        let selector = Selector { matchers, exact_labels: exact, ..everything(0) };
        let wanted = registry.select(&selector);
        let before = made.get();
        assert_eq!(registry.select_while(&selector, &goes_on).unwrap(), wanted);
        assert!(made.get() >= before + 4 && !wanted.is_empty(), "asked {} times", made.get());
        let only = Selector { only: Some(registry.select(&everything(0))), ..selector.clone() };
        assert_eq!(registry.select_while(&only, &goes_on).unwrap(), wanted);
        let hosts = Listed::LabelValues(Some("h".to_owned()));
        let listed = registry.list(&hosts, &selector, "", 0, usize::MAX);
        assert_eq!(listed.len(), wanted.len());
    }
}

#[test]
fn series_that_come_while_a_question_is_answered_are_not_taken_for_others() {
    let registry = Registry::new(0);
    let keys: Vec<String> = (0..20_000).map(|n| format!("m,h=h{n},r=a")).collect();
    let lines: Vec<Line> = keys.iter().map(|key| Line::new(key, &["x"])).collect();
    write_all(&registry, 0, &lines);
    let without =
        |test: Test| Matcher { name: "r".into(), test, negated: true, accepts_absent: true };
    // They have a value that no condition met when it was looked up, and that all of them exclude.
    let made = std::cell::Cell::new(0);
    let goes_on = |_: usize| {
        made.set(made.get() + 1);
        let (n, key) = (made.get(), |n: u32, rack: &str| format!("m,h=new{n},r={rack}{n}"));
        write_all(&registry, 0, &[Line::new(&key(n, "bad"), &["x"])]);
        true
    };
    let matchers = vec![without(Test::regex("bad.*").unwrap()), without(Test::equal("b"))];
    let names = vec![Name { measurement: Test::equal("m"), field: Test::Any }];
    for names in [Vec::new(), names] {
        let selector = Selector { names, matchers: matchers.clone(), ..everything(0) };
        let found = registry.select_while(&selector, &goes_on).unwrap();
        assert!(made.get() > 0 && found.iter().eq(&(0..20_000).collect::<Vec<u32>>()));
    }
}

#[test]
fn bad_rows_are_named_and_their_neighbours_kept() {
    let registry = Registry::new(0);
    let long = format!("m,h={}", "x".repeat(foliot_index::VALUE_BYTES_MAX + 1));
    let many: String = (0..65).map(|i| format!(",l{i}=v")).collect();
    let written = write_all(
        &registry,
        0,
        &[
            Line::new("good", &["x"]),
            Line::new("m,h", &["x"]),
            Line::new("m,h=1,h=2", &["x"]),
            Line::new("m", &["x", "y", "x"]),
            Line::new(&long, &["x"]),
            Line::new(&format!("m{many}"), &["x"]),
            Line::new("m,=1", &["x"]),
            Line::new(",h=1", &["x"]),
            Line::new("good,h=1", &["x"]),
        ],
    );
    let lines: Vec<u32> = written.rejects.iter().map(|reject| reject.line).collect();
    assert_eq!(lines, [2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(written.rejects[2].reason, "duplicate field: x");
    assert!(written.rejects[4].reason.contains("limits.labels"), "{:?}", written.rejects[4]);
    assert_eq!((&written.sids[0], &written.sids[8]), (&vec![0], &vec![1]));
    assert_eq!(registry.counts().series, 2);
    assert_eq!(registry.symbol_id(SymbolKind::LabelName, "h"), Some(1));
    assert_eq!(registry.symbol_id(SymbolKind::Measurement, "m"), None, "bad rows leave nothing");
}

#[test]
fn admission_refuses_rows_whole_and_never_known_ones() {
    let registry = Registry::new(0);
    write_all(&registry, 0, &[Line::new("cpu,h=1", &["a", "b"])]);
    let mut publish = |_: &[u8]| Ok::<(), std::convert::Infallible>(());
    let lines = [
        Line::new("cpu,h=2", &["a", "b"]),
        Line::new("cpu,h=1", &["b", "a", "c"]),
        Line::new("disk,h=3", &["a", "b"]),
        Line::new("cpu,h=1", &["b", "a"]),
        Line::new("cpu,h=2", &["b"]),
    ];
    let Ok(written) = write(&registry, &COMMAS, 0, &lines, 3, &mut publish);
    assert_eq!(written.sids, [vec![2, 3], vec![1, 0, 4], vec![], vec![1, 0], vec![3]]);
    assert_eq!(written.new_series, 3);
    let reason = &written.rejects[0].reason;
    assert!(reason.contains("'disk'") && reason.contains("limits.series"), "{reason}");
    assert_eq!(registry.symbol_id(SymbolKind::Measurement, "disk"), None);
}

#[test]
fn rows_of_one_series_that_follow_one_another_are_each_answered() {
    let registry = Registry::new(0);
    let mut publish = |_: &[u8]| Ok::<(), std::convert::Infallible>(());
    // Rows 2, 4 and 6 differ from the one before by fields, by key, and by nothing but that they
    // cannot be taken.
    let lines = [
        Line::new("cpu,h=1", &["a"]),
        Line::new("cpu,h=1", &["a"]),
        Line::new("cpu,h=1", &["b"]),
        Line::new("cpu,h=1", &["b"]),
        Line::new("cpu,h=2", &["b"]),
        Line::new("cpu,h=2", &["b"]),
        Line::new("cpu,h", &["a"]),
        Line::new("cpu,h", &["a"]),
        Line::new("cpu,h=3", &["a"]),
        Line::new("cpu,h=3", &["a"]),
        Line::new("cpu,h=3", &["a"]),
        Line::new("cpu,h=1", &["a"]),
    ];
    let Ok(written) = write(&registry, &COMMAS, 0, &lines, 3, &mut publish);
    let expected: [&[u32]; 12] =
        [&[0], &[0], &[1], &[1], &[2], &[2], &[], &[], &[], &[], &[], &[0]];
    assert_eq!(written.sids, expected);
    let mut refused: Vec<u32> = written.rejects.iter().map(|reject| reject.line).collect();
    refused.sort_unstable();
    assert_eq!(refused, [7, 8, 9, 10, 11]);
    let of_limit = written.rejects.iter().filter(|reject| reject.reason.contains("limits.series"));
    assert_eq!(of_limit.count(), 3);
}

#[test]
fn records_are_published_before_anything_is_visible() {
    let registry = Registry::new(3);
    let replica = Registry::new(3);
    let lines: Vec<Line> =
        (0..1_000).map(|i| Line::new(&format!("m,h={i}"), &["x", "y"])).collect();
    let mut calls = 0;
    let mut publish = |records: &[u8]| {
        calls += 1;
        let series_before = replica.counts().series;
        // A replica is another store: its locks are not held beside this one's.
        std::thread::scope(|scope| scope.spawn(|| replica.replay(records)).join())
            .unwrap()
            .unwrap();
        // Readers may look at the registry from inside, and see what was there before.
        assert_eq!(registry.counts().series, series_before);
        assert_eq!(registry.identity(series_before as u32), None);
        let probe = Line::new(&format!("m,h={}", series_before / 2), &["x", "y"]);
        model::with_batch(&COMMAS, 0, &[probe], |batch| {
            let (row, shape) = (batch.rows()[0], batch.shapes()[0]);
            assert_eq!(
                registry.resolver().find(row.key_hash, shape.hash, shape.fields_count),
                None
            );
        });
        Ok::<(), std::convert::Infallible>(())
    };
    let Ok(written) = write(&registry, &COMMAS, 0, &lines, u64::MAX, &mut publish);
    assert_eq!(written.new_series, 2_000);
    assert!(calls >= 4, "chunks of at most 256 rows");
    for sid in 0..2_000 {
        assert_eq!(registry.identity(sid), replica.identity(sid));
    }
}

#[test]
fn new_series_have_their_class_when_they_are_visible() {
    let registry = Registry::new(0);
    let lines = [
        Line::new("kept,h=1", &["a", "b"]),
        Line::new("m,h=1", &["a"]),
        Line::new("kept,h=2", &["a"]),
        // A series that is there and one that is not.
        Line::new("kept,h=1", &["a", "c"]),
    ];
    let mut published = Vec::new();
    let mut publish = |records: &[u8]| {
        published.push(records.to_vec());
        Ok::<(), std::convert::Infallible>(())
    };
    let Ok(written) = write(&registry, &COMMAS, 0, &lines, u64::MAX, &mut publish);
    assert_eq!(written.sids, [vec![0, 1], vec![2], vec![3], vec![0, 4]]);
    let replica = Registry::new(0);
    let [records] = &published[..] else { panic!("{} publications", published.len()) };
    replica.replay(records).unwrap();
    for registry in [&registry, &replica] {
        let class = |sid| registry.describe(sid).unwrap().class;
        assert_eq!([0, 1, 2, 3, 4].map(class), [7, 7, 0, 7, 7]);
    }
}

#[test]
fn a_failed_publication_leaves_nothing_of_its_chunk() {
    let registry = Registry::new(0);
    write_all(&registry, 0, &[Line::new("m,h=0", &["x"])]);
    let before = (registry.counts(), registry.mark());
    let lines: Vec<Line> = (0..50).map(|i| Line::new(&format!("n,g={i}"), &["y"])).collect();
    let result = write(&registry, &COMMAS, 0, &lines, u64::MAX, &mut |_: &[u8]| Err("full"));
    assert_eq!(result.err(), Some("full"));
    assert_eq!((registry.counts(), registry.mark()), before);
    assert_eq!(registry.symbol_id(SymbolKind::Measurement, "n"), None);
    assert_eq!(registry.select(&everything(0)), [0]);
    let second = write_all(&registry, 0, &lines);
    assert_eq!(second.sids[0], [1], "numbers were not used up");
}

#[test]
fn threads_agree_on_one_id_per_identity() {
    let registry = Registry::new(0);
    let spell = |i: u32, flip: bool| match flip {
        false => Line::new(&format!("m,h={},r={}", i % 1_000, i % 7), &["x", "y"]),
        true => Line::new(&format!("m,r={},h={}", i % 7, i % 1_000), &["y", "x"]),
    };
    let results: Vec<Vec<Vec<u32>>> = std::thread::scope(|scope| {
        let spawn = |thread: u32| {
            let registry = &registry;
            scope.spawn(move || {
                let lines: Vec<_> =
                    (0..7_000).map(|i| spell(i + thread * 1_750, thread % 2 == 1)).collect();
                let mut all = Vec::new();
                for lines in lines.chunks(100) {
                    all.extend(write_all(registry, 0, lines).sids);
                }
                all
            })
        };
        let threads: Vec<_> = (0..4).map(spawn).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(registry.counts().series, 14_000);
    assert_eq!(registry.counts().sources, 7_000);
    for (thread, sids) in results.iter().enumerate() {
        for (i, sids) in sids.iter().enumerate() {
            let mut expected = results[0][(i + thread * 1_750) % 7_000].clone();
            if thread % 2 == 1 {
                expected.reverse();
            }
            assert_eq!(*sids, expected);
        }
    }
}

#[test]
fn spellings_are_remembered_only_so_far() {
    let registry = Registry::new(0);
    for i in 0..1_000 {
        let key = format!("m,a=1{},b=2", ",a=1".repeat(i));
        let written = write_all(&registry, 0, &[Line::new(&key, &["x"])]);
        assert_eq!((&written.sids[0][..], written.rejects.len()), (&[0][..], 0));
    }
    assert!(registry.counts().lookup_entries <= 4);
    // Many fields in changing sets: bounded too.
    let names: Vec<String> = (0..10).map(|i| format!("f{i}")).collect();
    for bits in 1..1_024u32 {
        let fields: Vec<&str> =
            (0..10).filter(|i| bits >> i & 1 == 1).map(|i| names[i].as_str()).collect();
        write_all(&registry, 0, &[Line::new("n", &fields)]);
    }
    let counts = registry.counts();
    assert_eq!(counts.series, 11);
    assert!(counts.lookup_entries <= 44, "{counts:?}");
}

#[test]
fn a_source_of_very_many_series_is_still_remembered() {
    let registry = Registry::new(0);
    let lines: Vec<Line> = (0..2_000).map(|i| Line::new(&format!("m{i}"), &["value"])).collect();
    write_all(&registry, 0, &lines);
    assert_eq!(registry.counts().sources, 1);
    assert_eq!(write_all(&registry, 0, &lines).missing, 0);
    // After a restart they are learned again.
    let restarted = Registry::new(0);
    restarted.replay(&registry.checkpoint(&Mark::default()).0).unwrap();
    assert_eq!(write_all(&restarted, 0, &lines).missing, 2_000);
    assert_eq!(write_all(&restarted, 0, &lines).missing, 0);
}

#[test]
fn symbols_count_from_one_in_the_order_of_first_sight() {
    let registry = Registry::new(0);
    let mut log = Vec::new();
    let mut publish = |records: &[u8]| {
        log.extend_from_slice(records);
        Ok::<(), ()>(())
    };
    let kind = SymbolKind::LabelValue;
    assert_eq!(registry.symbol_assign(kind, "web01", &mut publish), Ok(Some(1)));
    assert_eq!(registry.symbol_assign(kind, "web02", &mut publish), Ok(Some(2)));
    assert_eq!(registry.symbol_assign(kind, "web01", &mut publish), Ok(Some(1)));
    assert_eq!(registry.symbol_assign(kind, "", &mut publish), Ok(None));
    assert_eq!(registry.symbol_assign(kind, "web03", &mut |_| Err(())), Err(()));
    assert_eq!(registry.symbol_id(kind, "web03"), None);
    assert_eq!(registry.symbol_name(kind, 2).as_deref(), Some("web02"));
    assert_eq!((registry.symbol_name(kind, 0), registry.symbol_name(kind, 3)), (None, None));
    assert_eq!((registry.symbol_id(kind, ""), registry.symbol_id(kind, "x")), (None, None));
    let replica = Registry::new(0);
    replica.replay(&log).unwrap();
    replica.replay(&log).unwrap();
    assert_eq!(replica.symbol_id(kind, "web02"), Some(2));
}

#[test]
fn replay_refuses_other_epochs_and_contradictions() {
    let registry = Registry::new(0);
    write_all(&registry, 0, &[Line::new("a,h=1", &["x"])]);
    let middle = registry.mark();
    let first = registry.checkpoint(&Mark::default()).0;
    write_all(&registry, 0, &[Line::new("b,h=2", &["x"])]);
    let second = registry.checkpoint(&middle).0;
    let reason = |registry: &Registry, records: &[u8]| match registry.replay(records) {
        Err(Error::Record { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    assert!(reason(&Registry::new(1), &first).contains("epoch"));
    let other = Registry::new(0);
    write_all(&other, 0, &[Line::new("c,h=1", &["x"])]);
    assert!(reason(&other, &first).contains("something else"));
    let replica = Registry::new(0);
    replica.replay(&first).unwrap();
    replica.replay(&second).unwrap();
    replica.replay(&first).unwrap();
    assert_eq!(replica.mark(), registry.mark());
    let all = registry.checkpoint(&Mark::default()).0;
    for end in 0..all.len() {
        let _ = Registry::new(0).replay(&all[..end]);
    }
    for at in 0..all.len() {
        for bit in 0..8 {
            let mut bad = all.clone();
            bad[at] ^= 1 << bit;
            let _ = Registry::new(0).replay(&bad);
        }
    }
}

/// What is registered, by name: series ids as text.
fn spelled(registry: &Registry) -> Vec<(u32, String)> {
    let ids = (0..registry.series_end()).filter_map(|sid| Some((sid, registry.identity(sid)?)));
    ids.map(|(sid, identity)| (sid, format!("{identity:?}"))).collect()
}

#[test]
fn lost_records_cost_what_they_registered_and_what_needs_it() {
    let registry = Registry::new(0);
    let mut stretches = Vec::new();
    // The last one needs a label value of the second.
    let lines = ["m,h=a", "m,h=b", "m,h=c", "n,h=d", "m,h=a,r=1", "m,h=b,r=1"];
    for line in lines {
        let mark = registry.mark();
        write_all(&registry, 0, &[Line::new(line, &["x", "y"])]);
        stretches.push(registry.checkpoint(&mark).0);
    }
    let all = spelled(&registry);
    let costs: [&[u32]; 6] = [
        &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
        &[2, 3, 10, 11],
        &[4, 5],
        &[6, 7],
        &[8, 9, 10, 11],
        &[10, 11],
    ];
    for (lost, costs) in costs.into_iter().enumerate() {
        let replica = Registry::new(0);
        for (at, stretch) in stretches.iter().enumerate() {
            if at != lost {
                replica.replay(stretch).unwrap();
            }
        }
        let kept: Vec<_> = all.iter().filter(|(sid, _)| !costs.contains(sid)).cloned().collect();
        assert_eq!(spelled(&replica), kept, "without stretch {lost}");
        let is_known = |sid: &u32| replica.has_series(*sid);
        assert!((0..12).filter(is_known).eq(kept.iter().map(|(sid, _)| *sid)));
        // Its checkpoint says the same, and what was lost is registered anew.
        replica.reserve(12);
        let again = Registry::new(0);
        again.replay(&replica.checkpoint(&Mark::default()).0).unwrap();
        again.reserve(12);
        assert_eq!(spelled(&again), kept);
        for registry in [&replica, &again] {
            let lines: Vec<_> = lines.iter().map(|line| Line::new(line, &["x", "y"])).collect();
            write_all(registry, 0, &lines);
            let names = |found: Vec<(u32, String)>| {
                let mut names: Vec<_> = found.into_iter().map(|(_, name)| name).collect();
                names.sort();
                names
            };
            assert!(spelled(registry).starts_with(&kept));
            assert_eq!(names(spelled(registry)).len(), 12);
            assert!(spelled(registry).iter().skip(kept.len()).all(|(sid, _)| *sid >= 12));
        }
    }
}

#[test]
fn a_gap_of_any_length_fills_no_memory() {
    let registry = Registry::new(0);
    write_all(&registry, 0, &[Line::new("a,h=1", &["x"])]);
    // Series 2^30 of source 0 in column 0.
    let mut records = registry.checkpoint(&Mark::default()).0;
    records.extend([6, 0x80, 0x80, 0x80, 0x80, 4, 0, 1, 1, 0]);
    assert!(Registry::new(0).replay(&records).is_err());
    // A run of 2^30 sources that nobody registered.
    let mut records = registry.checkpoint(&Mark::default()).0;
    records.extend([6, 1, 1, 0x80, 0x80, 0x80, 0x80, 4, 1, 0]);
    assert!(Registry::new(0).replay(&records).is_err());
}

#[test]
fn a_record_of_series_without_columns_is_refused_at_once() {
    let registry = Registry::new(0);
    write_all(&registry, 0, &[Line::new("a,h=1", &["x"])]);
    // Nothing in each of 2^32 - 1 sources: eleven bytes that would be read for minutes.
    let mut records = registry.checkpoint(&Mark::default()).0;
    records.extend([6, 1, 0, 0xff, 0xff, 0xff, 0xff, 15, 0]);
    assert!(Registry::new(0).replay(&records).is_err());
}

#[test]
fn a_mark_counts_from_where_its_epoch_begins() {
    // A manifest that was made anew guesses where the open epoch begins; the wal knows better.
    let guessed = Registry::begin(Origin { base: 5_000, ..Origin::default() });
    let mark = guessed.mark();
    assert_eq!(mark, Mark::default());
    let registry = Registry::new(0);
    let lines: Vec<Line> = (0..10).map(|i| Line::new(&format!("m,h={i}"), &["x"])).collect();
    write_all(&registry, 0, &lines);
    let again = Registry::new(0);
    again.replay(&registry.checkpoint(&mark).0).unwrap();
    assert_eq!(spelled(&again), spelled(&registry));
}

#[test]
fn a_mark_of_another_registry_ends_a_checkpoint() {
    let long = Registry::new(0);
    write_all(&long, 0, &[Line::new("a,h=1", &["x", "y", "z"])]);
    let short = Registry::new(0);
    write_all(&short, 0, &[Line::new("a,h=1", &["x"])]);
    assert_eq!(short.checkpoint(&long.mark()).1, short.mark());
}

#[test]
fn an_epoch_that_begins_beyond_all_ids_is_refused() {
    let origin = |epoch: u32, base: u32| {
        let mut records = vec![1];
        for number in [epoch, base, 0, 0, 0, 0] {
            put_u32(&mut records, number);
        }
        Origin::of_records(&records)
    };
    let last = Origin { epoch: 7, base: 1 << 31, symbols: [0; 4] };
    assert_eq!(origin(7, 1 << 31), Some(last));
    assert_eq!((origin(7, (1 << 31) + 1), origin(7, u32::MAX)), (None, None));
    assert_eq!(origin(u32::MAX, 0), None);
    assert!(last.is_possible() && !Origin { base: u32::MAX, ..last }.is_possible());
}

#[test]
fn retention_classes_are_sparse_and_survive() {
    let registry = Registry::new(0);
    let lines: Vec<Line> = (0..100).map(|i| Line::new(&format!("m,h={i}"), &["x"])).collect();
    write_all(&registry, 0, &lines);
    let mut log = registry.checkpoint(&Mark::default()).0;
    let mut expected = [0; 100];
    for (first, count, class) in
        [(10, 50, 1), (20, 5, 2), (0, 15, 3), (55, 45, 4), (22, 1, 0), (30, 1, 1), (40, 0, 9)]
    {
        let mut publish = |records: &[u8]| {
            log.extend_from_slice(records);
            Ok::<(), ()>(())
        };
        assert_eq!(registry.assign_class(first, count, class, &mut publish), Ok(true));
        expected[first as usize..(first + count) as usize].fill(class);
    }
    assert_eq!(registry.assign_class(99, 2, 1, &mut |_| Ok::<(), ()>(())), Ok(false));
    let replica = Registry::new(0);
    replica.replay(&log).unwrap();
    let again = Registry::new(0);
    again.replay(&registry.checkpoint(&Mark::default()).0).unwrap();
    for registry in [&registry, &replica, &again] {
        let classes: Vec<u32> = (0..100).map(|sid| registry.describe(sid).unwrap().class).collect();
        assert_eq!(classes, expected);
    }
}

#[test]
fn runs_are_consecutive_when_everything_of_a_row_is_new() {
    let registry = Registry::new(0);
    let line = Line::new("cpu,h=1", &["a", "b", "c"]);
    write_all(&registry, 0, std::slice::from_ref(&line));
    model::with_batch(&COMMAS, 0, &[line], |batch| {
        let (row, shape) = (batch.rows()[0], batch.shapes()[0]);
        let resolver = registry.resolver();
        assert_eq!(resolver.find(row.key_hash, shape.hash, 3), Some(Run::Consecutive(0)));
        let sids = resolver.sids(Run::Consecutive(0), 3);
        assert_eq!((sids.len(), sids.list(), sids.get(2), sids.get(3)), (3, None, Some(2), None));
    });
}

/// The bytes of format version 1, for ever.
#[test]
fn the_format_is_pinned() {
    let registry = Registry::new(5);
    write_all(
        &registry,
        0,
        &[Line::new("cpu,h=a", &["x", "y"]), Line::new("cpu,h=b", &["x", "y"])],
    );
    let (records, _) = registry.checkpoint(&Mark::default());
    let expected: &[u8] = &[
        1, 5, 0, 0, 0, 0, 0, // epoch 5, which begins at 0
        2, 0, 1, 1, 3, b'c', b'p', b'u', // measurement 1
        2, 1, 1, 2, 1, b'x', 1, b'y', // fields 1 and 2
        2, 2, 1, 1, 1, b'h', // label name 1
        2, 3, 1, 2, 1, b'a', 1, b'b', // label values 1 and 2
        3, 0, 0, 2, 2, 2, 0, 2, // pairs 0 and 1: (1, 1), (1, 2)
        4, 0, 0, 2, 2, 2, 0, 2, // columns 0 and 1: (1, 1), (1, 2)
        5, 0, 0, 2, 1, 0, 1, 1, // sources 0 and 1, of one pair each
        6, 0, 0, 2, 2, 0, 2, // series 0 to 3: two sources, columns 0 and 1
    ];
    assert_eq!(records, expected);
}

#[test]
fn a_few_of_many_values_are_the_first_ones() {
    const HOSTS: u32 = 20_000;
    let registry = Registry::new(0);
    let host = |n: u32| format!("{:05}", n * 7919 % HOSTS);
    let lines: Vec<Line> = (0..HOSTS)
        .map(|n| match n % 3 {
            0 => Line::new(&format!("a,h={},only=a{}", host(n), n % 30), &["x"]),
            _ => Line::new(&format!("b,h={}", host(n)), &["x", "y"]),
        })
        .collect();
    let hosts = Listed::LabelValues(Some("h".to_owned()));
    let matcher = |expression: &str, negated| {
        let test = Test::regex(expression).unwrap();
        Matcher { name: "h".into(), test, negated, accepts_absent: negated }
    };
    // What is found out between is kept, and has to take in what comes after it.
    for round in 1..=4 {
        let known = HOSTS / 4 * round;
        write_all(&registry, 0, &lines[(known - HOSTS / 4) as usize..known as usize]);
        let mut all: Vec<String> = (0..known).map(host).collect();
        all.sort();
        assert_eq!(registry.list(&hosts, &everything(0), "", 0, usize::MAX), all);
        for (expression, passes) in [
            ("7$", &(|host: &str| host.ends_with('7')) as &dyn Fn(&str) -> bool),
            ("^17.*3$", &|host| host.starts_with("17") && host.ends_with('3')),
            ("^[01].*3$", &|host| host.starts_with(['0', '1']) && host.ends_with('3')),
        ] {
            for negated in [false, true] {
                let matchers = vec![matcher(expression, negated)];
                let selector = Selector { matchers, ..everything(0) };
                let found = registry.list(&hosts, &selector, "", 0, usize::MAX);
                let expected = all.iter().filter(|host| passes(host) != negated);
                assert!(found.iter().eq(expected), "{expression} of {known}");
            }
        }
    }
    let segment = segment_of(&registry);
    let names = |measurement: &str, field: &str| {
        let (measurement, field) = (Test::equal(measurement), Test::equal(field));
        vec![Name { measurement, field }]
    };
    let hosts_of = |wanted: fn(u32) -> bool| {
        let mut hosts: Vec<String> = (0..HOSTS).filter(|n| wanted(*n)).map(host).collect();
        hosts.sort();
        hosts
    };
    for (names, expected) in [
        (Vec::new(), hosts_of(|_| true)),
        (names("a", "x"), hosts_of(|n| n % 3 == 0)),
        (names("b", "y"), hosts_of(|n| n % 3 != 0)),
        (names("a", "y"), Vec::new()),
    ] {
        let selector = Selector { names, ..everything(0) };
        for (prefix, offset, limit) in
            [("", 0, 10), ("", 1000, 1), ("17", 3, 500), ("", 0, 0), ("", 0, usize::MAX)]
        {
            let found = registry.list(&hosts, &selector, prefix, offset, limit);
            let wanted = expected.iter().filter(|host| host.starts_with(prefix));
            assert!(found.iter().eq(wanted.clone().skip(offset).take(limit)), "{selector:?}");
            let end = offset.saturating_add(limit);
            let found = segment.list(&hosts, &selector, prefix, end, None).unwrap();
            assert!(found.iter().eq(wanted.take(end)), "{selector:?}");
        }
    }
    // A test of so many values can be given up: at once, and only when it takes a while.
    for (expression, is_long) in [("7+$", true), ("^00017$", false)] {
        let matchers = vec![matcher(expression, false)];
        let selector = Selector { matchers, ..everything(0) };
        let stopped = registry.select_while(&selector, &|_| false);
        assert_eq!(matches!(stopped, Err(Error::Stopped)), is_long, "{stopped:?}");
        let stopped = segment.select_while(&selector, &|_| false);
        assert_eq!(matches!(stopped, Err(Error::Stopped)), is_long, "{stopped:?}");
        let all = registry.select_while(&selector, &|_| true).unwrap();
        assert!(!all.is_empty() && all == registry.select(&selector));
        assert_eq!(segment.select(&selector).unwrap(), all);
    }
    // So can a listing, by time and by what it has gathered.
    let wanted = |bytes_max: usize| move |bytes: usize| bytes <= bytes_max;
    for what in [hosts, Listed::LabelValues(None), Listed::LabelNames, Listed::Metrics] {
        for matchers in [Vec::new(), vec![matcher("7$", true)]] {
            let selector = Selector { matchers, ..everything(0) };
            for (may_gather, is_stopped) in [(wanted(0), true), (wanted(usize::MAX), false)] {
                let window = (0, usize::MAX);
                let found = registry.list_while(&what, &selector, "", window, &may_gather);
                assert_eq!(matches!(found, Err(Error::Stopped)), is_stopped, "{what:?}");
                let window = ("", usize::MAX);
                let found = segment.list_while(&what, &selector, window, None, &may_gather);
                assert_eq!(matches!(found, Err(Error::Stopped)), is_stopped, "{what:?}");
            }
        }
    }
    for (measurement, labels) in [("a", vec!["h", "only"]), ("b", vec!["h"])] {
        let selector = Selector { names: names(measurement, "x"), ..everything(0) };
        assert_eq!(registry.list(&Listed::LabelNames, &selector, "", 0, 9), labels);
        assert_eq!(segment.list(&Listed::LabelNames, &selector, "", 9, None).unwrap(), labels);
    }
}
