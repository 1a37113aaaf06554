//! The index of a closed epoch is there twice, as a segment and as an index file: whatever happens
//! to one of them is told, and a repair gives every series back.

use crate::support::{Line, Owned, read, selector, write};
use foliot_disk::{Disk, SimDisk};
use foliot_engine::{
    Ack, Caller, Config, Engine, MayLose, RetentionRule, SymbolKind, check, repair,
};
use foliot_model::{Matcher, Selector, Test, TimeRange};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const DIR: &str = "store";
const HOSTS: i64 = 2000;
const SECTOR: usize = 4096;

fn open(disk: &SimDisk) -> Engine {
    let config = Config { background: false, ..Config::default() };
    Engine::open(Arc::new(disk.clone()), Path::new(DIR), config).unwrap()
}

/// A store with two epochs on disk, of which the second has all series of the first.
fn store() -> SimDisk {
    let disk = SimDisk::new(11);
    let engine = open(&disk);
    for step in 0..3 {
        let line = |host: i64| Line {
            key: format!("cpu host=server-{host:05} rack=r{} zone=z{}", host % 97, host % 5),
            time_ns: step * 1_000_000_000,
            fields: vec![("user".to_owned(), Owned::Integer(host * 10 + step))],
        };
        let lines: Vec<Line> = (0..HOSTS).map(line).collect();
        let (commit, rejects) = write(&engine, 0, &lines);
        assert_eq!(rejects, []);
        engine.wait(commit.unwrap(), Ack::Durable).unwrap();
        engine.begin_epoch().unwrap();
    }
    engine.begin_epoch().unwrap();
    engine.close().unwrap();
    disk
}

fn bytes(disk: &SimDisk, path: &Path) -> Vec<u8> {
    let file = disk.open(path).unwrap();
    let mut bytes = vec![0; file.len() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

fn replace(disk: &SimDisk, path: &Path, bytes: &[u8]) {
    let mut file = disk.create(path).unwrap();
    file.append(bytes).unwrap();
    file.sync().unwrap();
    disk.sync_dir(path.parent().unwrap()).unwrap();
}

/// Segments, or index files.
fn files(disk: &SimDisk, prefix: &str) -> Vec<PathBuf> {
    let mut names = disk.list(Path::new(DIR)).unwrap();
    names.retain(|name| name.starts_with(prefix));
    names.sort();
    names.iter().map(|name| Path::new(DIR).join(name)).collect()
}

/// Every series is there, with each of its samples, and found by its labels.
fn expect_all(engine: &Engine, what: &str) {
    let snapshot = engine.snapshot();
    let mut sids = snapshot.select(&selector(0, "cpu"), TimeRange::ALL).unwrap();
    assert_eq!(sids.len(), HOSTS as usize, "{what}");
    sids.sort_unstable();
    for sid in sids {
        let identity = snapshot.identity(sid).unwrap().unwrap();
        let host = identity.labels.get("host").unwrap();
        let host: i64 = host.strip_prefix("server-").unwrap().parse().unwrap();
        assert_eq!(**identity.labels.get("rack").unwrap(), format!("r{}", host % 97), "{what}");
        let expected: Vec<_> =
            (0..3).map(|step| (step * 1_000_000_000, Owned::Integer(host * 10 + step))).collect();
        assert_eq!(read(&snapshot, sid, TimeRange::ALL), expected, "{what}");
    }
}

/// A check says what is wrong with a damaged store, and a repair mends it.
fn expect_mended(disk: &SimDisk, what: &str) {
    let machine: Arc<dyn Disk> = Arc::new(disk.clone());
    let checked = check(&machine, Path::new(DIR)).unwrap();
    assert!(!checked.problems.is_empty(), "{what}: a check says nothing");
    let said = repair(&machine, Path::new(DIR), MayLose::default()).unwrap();
    assert!(!said.is_empty(), "{what}: nothing was mended");
    let checked = check(&machine, Path::new(DIR)).unwrap();
    assert_eq!(checked.problems, [""; 0], "{what}: after {said:?}");
    let engine = open(disk);
    assert_eq!(engine.damages(), [""; 0], "{what}");
    expect_all(&engine, what);
}

/// A few numbers that look like chance.
fn draw(state: &mut u64, below: usize) -> usize {
    *state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
    ((*state >> 33) as usize) % below
}

fn damages(good: &[u8], state: &mut u64) -> Vec<(&'static str, Vec<u8>)> {
    let zeros = vec![0; good.len()];
    let mut few = good.to_vec();
    for _ in 0..=draw(state, 40) {
        let at = draw(state, good.len());
        few[at] ^= 1 << draw(state, 8);
    }
    let mut many = good.to_vec();
    for byte in &mut many {
        *byte ^= draw(state, 256) as u8;
    }
    let mut run = good.to_vec();
    let from = draw(state, good.len());
    run[from..].fill(0);
    let mut sectors = good.to_vec();
    sectors.chunks_mut(SECTOR).step_by(2).for_each(|sector| sector.fill(0));
    let short = good[..draw(state, good.len())].to_vec();
    vec![
        ("empty", Vec::new()),
        ("zeros", zeros),
        ("a few bits", few),
        ("noise", many),
        ("zeros from somewhere", run),
        ("every other sector", sectors),
        ("cut short", short),
    ]
}

/// Calls `each` with stores one of whose files was damaged in some way, and what was done to it.
fn with_damages(prefix: &str, each: impl Fn(&SimDisk, &str)) {
    let (mut state, sound) = (1, store());
    for path in files(&sound, prefix) {
        let good = bytes(&sound, &path);
        for (what, bad) in damages(&good, &mut state) {
            if bad != good {
                let disk = store();
                replace(&disk, &path, &bad);
                each(&disk, &format!("{} {what}", path.display()));
            }
        }
        let disk = store();
        disk.remove(&path).unwrap();
        each(&disk, &format!("{} missing", path.display()));
    }
}

#[test]
fn any_damage_to_the_index_of_a_closed_epoch_is_mended() {
    let sound = store();
    expect_all(&open(&sound), "sound");
    assert!(files(&sound, "segment-").len() >= 2);
    with_damages("segment-", expect_mended);
}

#[test]
fn a_damaged_spare_costs_nothing_and_is_told() {
    assert!(files(&store(), "index-").len() >= 2);
    with_damages("index-", |disk, what| {
        let engine = open(disk);
        expect_all(&engine, what);
        while engine.maintain().unwrap() {}
        assert!(!engine.troubles().is_empty(), "{what}: nothing is said");
        engine.close().unwrap();
        drop(engine);
        expect_mended(disk, what);
    });
}

#[test]
fn what_was_dropped_and_reclassified_stays_so_in_a_segment_made_again() {
    let rules =
        |keep| vec![RetentionRule { measurement: "cpu".to_owned(), labels: Vec::new(), keep }];
    let open = |disk: &SimDisk| {
        let config =
            Config { background: false, retention_rules: rules(None), ..Config::default() };
        Engine::open(Arc::new(disk.clone()), Path::new(DIR), config).unwrap()
    };
    let damaged = |is_damaged: bool| {
        let disk = store();
        let engine = open(&disk);
        engine.set_retention_rules(rules(Some(Duration::from_secs(1 << 31)))).unwrap();
        engine.set_retention_rules(rules(None)).unwrap();
        let name = Test::equal("server-00007");
        let host =
            Matcher { name: "host".to_owned(), test: name, negated: false, accepts_absent: false };
        let gone = Selector { matchers: vec![host], ..selector(0, "cpu") };
        engine.drop_series(&gone, &Caller::default()).unwrap();
        engine.flush().unwrap();
        engine.close().unwrap();
        drop(engine);
        if is_damaged {
            for path in files(&disk, "segment-") {
                replace(&disk, &path, b"nothing");
            }
            let machine: Arc<dyn Disk> = Arc::new(disk.clone());
            assert!(!repair(&machine, Path::new(DIR), MayLose::default()).unwrap().is_empty());
        }
        let engine = open(&disk);
        let snapshot = engine.snapshot();
        let sids = snapshot.select(&selector(0, "cpu"), TimeRange::ALL).unwrap();
        // How many series have a class that no rule gives.
        (sids.len() as i64, engine.set_retention_rules(Vec::new()).unwrap())
    };
    let (series, changed) = damaged(false);
    assert_eq!(series, HOSTS - 1);
    assert!(changed >= HOSTS as u64);
    assert_eq!(damaged(true), (series, changed));
}

#[test]
fn a_manifest_that_is_made_anew_reads_closed_epochs_from_their_index_files() {
    let disk = store();
    for path in files(&disk, "segment-") {
        replace(&disk, &path, &[0; 100]);
    }
    for name in ["MANIFEST", "MANIFEST.copy"] {
        disk.remove(&Path::new(DIR).join(name)).unwrap();
    }
    let machine: Arc<dyn Disk> = Arc::new(disk.clone());
    repair(&machine, Path::new(DIR), MayLose::default()).unwrap();
    let engine = open(&disk);
    expect_all(&engine, "from index files");
    for _ in 0..3 {
        engine.flush().unwrap();
        while engine.maintain().unwrap() {}
    }
    assert!(!files(&disk, "segment-").is_empty());
    expect_all(&engine, "from segments again");
}

/// A store whose first epoch closed just now, so that its index is in no segment yet; the second
/// one has half of its series.
fn closing(is_final: bool) -> SimDisk {
    let disk = SimDisk::new(11);
    let engine = open(&disk);
    for (step, hosts) in [(0, HOSTS), (1, HOSTS / 2)] {
        let line = |host: i64| Line {
            key: format!("cpu host=server-{host:05} rack=r{}", host % 97),
            time_ns: step * 1_000_000_000,
            fields: vec![("user".to_owned(), Owned::Integer(host * 10 + step))],
        };
        let (commit, _) = write(&engine, 0, &(0..hosts).map(line).collect::<Vec<_>>());
        engine.wait(commit.unwrap(), Ack::Durable).unwrap();
        if step == 0 {
            engine.flush().unwrap();
            is_final.then(|| engine.merge_all().unwrap());
            engine.begin_epoch().unwrap();
        }
    }
    engine.close().unwrap();
    assert_eq!((files(&disk, "segment-").len(), files(&disk, "index-").len()), (0, 1));
    disk
}

/// How many samples each series has, and whether each number leads to the name that has it.
fn counted(engine: &Engine) -> Vec<usize> {
    let snapshot = engine.snapshot();
    let mut sids = snapshot.select(&selector(0, "cpu"), TimeRange::ALL).unwrap();
    sids.sort_unstable();
    let count = |sid: &u32| {
        let identity = snapshot.identity(*sid).unwrap().unwrap();
        let name = identity.labels.get("host").unwrap();
        let number = snapshot.symbol_id(SymbolKind::LabelValue, name).unwrap().unwrap();
        assert_eq!(
            snapshot.symbol_name(SymbolKind::LabelValue, number).unwrap(),
            Some(name.clone())
        );
        let host: i64 = name.strip_prefix("server-").unwrap().parse().unwrap();
        let found = read(&snapshot, *sid, TimeRange::ALL);
        for (time_ns, value) in &found {
            assert_eq!(*value, Owned::Integer(host * 10 + time_ns / 1_000_000_000));
        }
        found.len()
    };
    sids.iter().map(count).collect()
}

#[test]
fn the_index_of_an_epoch_that_is_closing_is_made_again_from_final_parts() {
    for damage in [&b"nothing"[..], b""] {
        let disk = closing(true);
        let before = counted(&open(&disk));
        assert_eq!(before.iter().sum::<usize>() as i64, HOSTS + HOSTS / 2);
        let [path] = &files(&disk, "index-")[..] else { panic!("one index file") };
        match damage.is_empty() {
            true => disk.remove(path).unwrap(),
            false => replace(&disk, path, damage),
        }
        let machine: Arc<dyn Disk> = Arc::new(disk.clone());
        let checked = check(&machine, Path::new(DIR)).unwrap();
        assert!(checked.problems.iter().all(|problem| problem.contains("index-")), "{checked:?}");
        let refused = Engine::open(Arc::new(disk.clone()), Path::new(DIR), Config::default());
        assert!(refused.err().unwrap().is_damage());
        let said = repair(&machine, Path::new(DIR), MayLose::default()).unwrap();
        assert!(said.mended.iter().any(|said| said.contains("with 2000 series")), "{said:?}");
        let checked = check(&machine, Path::new(DIR)).unwrap();
        assert_eq!(checked.problems, [""; 0], "{said:?}");
        let engine = open(&disk);
        assert_eq!(engine.damages(), [""; 0]);
        let sorted = |mut counts: Vec<usize>| {
            counts.sort_unstable();
            counts
        };
        assert_eq!(sorted(counted(&engine)), sorted(before.clone()));
        // It is written to a segment as if nothing had been.
        (0..3).for_each(|_| engine.begin_epoch().unwrap());
        assert!(!files(&disk, "segment-").is_empty());
        assert_eq!(sorted(counted(&engine)), sorted(before));
        engine.close().unwrap();
        drop(engine);
        assert_eq!(check(&machine, Path::new(DIR)).unwrap().problems, [""; 0]);
    }
}

#[test]
fn without_a_backup_a_store_starts_with_the_epochs_that_have_names() {
    let disk = closing(false);
    let [path] = &files(&disk, "index-")[..] else { panic!("one index file") };
    disk.remove(path).unwrap();
    let machine: Arc<dyn Disk> = Arc::new(disk.clone());
    let error = repair(&machine, Path::new(DIR), MayLose::default()).unwrap_err().to_string();
    assert!(
        error.contains("2000 series with samples") && error.contains("--lose-names"),
        "{error}"
    );
    let may_lose = MayLose { names: true, ..MayLose::default() };
    let said = repair(&machine, Path::new(DIR), may_lose).unwrap();
    let [lost] = &said.lost[..] else { panic!("{said:?}") };
    assert!(lost.contains("2000 series with samples have no"), "{said:?}");
    let engine = open(&disk);
    assert_eq!(counted(&engine), vec![1; HOSTS as usize / 2]);
    (0..3).for_each(|_| engine.begin_epoch().unwrap());
    assert_eq!(counted(&engine), vec![1; HOSTS as usize / 2]);
    engine.close().unwrap();
}
