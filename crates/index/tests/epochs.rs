//! Epochs: a closed registry on disk beside an open one in memory.

use crate::model;
use crate::model::{Line, SECRET, open_segment, segment_bytes, segment_of, write, write_all};
use foliot_index::{Listed, Mark, Registry, SymbolKind};
use foliot_model::{Matcher, Selector, Test};
use std::sync::Arc;

fn everything() -> Selector {
    Selector { namespace: 0, names: vec![], matchers: vec![], exact_labels: None, only: None }
}

fn hosts(range: std::ops::Range<u32>) -> Vec<Line> {
    range.map(|host| Line::new(&format!("cpu,host=h{host},dc=eu"), &["user", "idle"])).collect()
}

/// Two epochs: hosts 0 to 9, then 5 to 14, written while the first was in memory.
fn two_epochs() -> (Arc<Registry>, Registry, Vec<u8>) {
    let first = Arc::new(Registry::new(0));
    write_all(&first, 0, &hosts(0..10));
    let second = Registry::begin(first.next_origin(1024));
    second.set_closing(Some(first.clone()));
    let mut wal = Vec::new();
    let mut publish = |records: &[u8]| {
        wal.extend_from_slice(records);
        Ok::<(), std::convert::Infallible>(())
    };
    let Ok(written) = write(&second, &model::COMMAS, 0, &hosts(5..15), u64::MAX, &mut publish);
    assert_eq!((written.new_series, written.sids[0][0]), (20, 1024));
    (first, second, wal)
}

#[test]
fn the_numbers_of_a_series_are_those_of_its_names() {
    let (first, second, _) = two_epochs();
    for registry in [&*first, &second] {
        let number = |kind, name: &str| registry.symbol_id(kind, name).unwrap();
        for sid in registry.origin().base..registry.series_end() {
            let (identity, numbers) =
                (registry.identity(sid).unwrap(), registry.numbers(sid).unwrap());
            assert_eq!(numbers.measurement, number(SymbolKind::Measurement, &identity.measurement));
            assert_eq!(numbers.field, number(SymbolKind::Field, &identity.field));
            let labels = identity.labels.iter().map(|label| {
                let name = number(SymbolKind::LabelName, &label.name);
                (name, number(SymbolKind::LabelValue, &label.value))
            });
            assert_eq!(*numbers.labels, labels.collect::<Vec<_>>());
        }
        assert_eq!(registry.numbers(registry.series_end()), None);
    }
}

#[test]
fn ids_count_on_and_names_keep_their_numbers() {
    let (first, second, wal) = two_epochs();
    let number = |registry: &Registry, host: &str| registry.symbol_id(SymbolKind::LabelValue, host);
    for host in 5..10 {
        let host = format!("h{host}");
        assert_eq!(number(&first, &host), number(&second, &host));
    }
    assert_eq!(number(&second, "h3"), None);
    let fresh: Vec<u32> = (10..15).map(|h| number(&second, &format!("h{h}")).unwrap()).collect();
    let eu = number(&first, "eu").unwrap();
    let highest = (0..10).filter_map(|h| number(&first, &format!("h{h}"))).max().unwrap().max(eu);
    assert!(fresh.iter().all(|&number| number > highest), "{fresh:?} above {highest}");
    let segments = [segment_of(&first), segment_of(&second)];
    for host in 0..16 {
        let host = format!("h{host}");
        for (registry, segment) in [&*first, &second].into_iter().zip(&segments) {
            let found = number(registry, &host);
            assert_eq!(segment.symbol_id(SymbolKind::LabelValue, &host).unwrap(), found);
            let Some(number) = found else { continue };
            assert_eq!(
                registry.symbol_name(SymbolKind::LabelValue, number).as_deref(),
                Some(&*host)
            );
            let name = segment.symbol_name(SymbolKind::LabelValue, number).unwrap();
            assert_eq!(name.as_deref(), Some(&*host));
        }
    }
    assert_eq!(segments[1].symbol_name(SymbolKind::LabelValue, highest + 100).unwrap(), None);
    assert_eq!(segments[0].symbol_name(SymbolKind::LabelValue, 0).unwrap(), None);
    // From the wal and from a checkpoint the same comes back, by itself.
    for records in [wal, second.checkpoint(&Mark::default()).0] {
        let again = Registry::begin(second.origin());
        again.replay(&records).unwrap();
        assert_eq!(again.mark(), second.mark());
        assert_eq!(number(&again, "h7"), number(&second, "h7"));
        assert_eq!(again.select(&everything()), second.select(&everything()));
        let first_epoch = Registry::new(0);
        assert!(first_epoch.replay(&records).is_err(), "of another epoch");
    }
}

#[test]
fn a_series_is_known_again_by_its_key() {
    let (first, second, _) = two_epochs();
    let keys = |registry: &Registry| {
        let sids = registry.select(&everything());
        let keys = registry.keys(&sids, SECRET);
        assert_eq!(keys, segment_of(registry).keys(&sids).unwrap());
        let named = |sid| {
            let identity = registry.identity(sid).unwrap();
            (identity.labels.get("host").unwrap().to_string(), identity.field.to_string())
        };
        keys.into_iter().zip(sids.into_iter().map(named)).collect::<Vec<_>>()
    };
    let (old, new) = (keys(&first), keys(&second));
    let mut same = 0;
    for (old_key, old_name) in &old {
        for (new_key, new_name) in &new {
            assert_eq!(old_key == new_key, old_name == new_name);
            same += u32::from(old_key == new_key);
        }
    }
    assert_eq!(same, 10);
}

#[test]
fn dropped_series_are_left_out_of_listings() {
    let (first, ..) = two_epochs();
    let segment = segment_of(&first);
    let matcher = Matcher {
        name: "host".to_owned(),
        test: Test::equal("h3"),
        negated: false,
        accepts_absent: false,
    };
    let dropped = segment.select(&Selector { matchers: vec![matcher], ..everything() }).unwrap();
    assert_eq!(dropped, [6, 7]);
    let living = |sid: u32| !dropped.contains(&sid);
    let what = Listed::LabelValues(Some("host".to_owned()));
    let all = segment.list(&what, &everything(), "", 99, None).unwrap();
    let left = segment.list(&what, &everything(), "", 99, Some(&living)).unwrap();
    assert_eq!((all.len(), left.len()), (10, 9));
    assert!(!left.contains(&"h3".to_owned()));
}

#[test]
fn damaged_segments_are_errors_and_never_panics() {
    let (first, ..) = two_epochs();
    let good = segment_bytes(&first);
    let ask = |bytes: Vec<u8>| -> Result<(), foliot_index::Error> {
        let segment = open_segment(bytes)?;
        let sids = segment.select(&everything())?;
        segment.identities(&sids, &mut |_, _| {})?;
        segment.list(&Listed::LabelValues(None), &everything(), "h", 5, Some(&|_| true))?;
        segment.symbol_name(SymbolKind::LabelValue, 3)?;
        segment.keys(&sids).map(|_| ())
    };
    ask(good.clone()).unwrap();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x55;
        // Pages are under checksums, so wrong answers do not come from here; a panic would.
        let _ = ask(bad);
        assert!(ask(good[..at].to_vec()).is_err(), "cut at {at}");
    }
}
