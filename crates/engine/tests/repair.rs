//! Check finds every damage; repair makes a store that starts, has what could be read, never a
//! wrong value, and keeps what it replaced.

use crate::support::{Line, Owned, read, selector, write};
use foliot_disk::{Disk, SimDisk};
use foliot_engine::{Ack, Caller, Checked, Config, Engine, MayLose, Repaired, check, repair};
use foliot_model::{Selector, TimeRange};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const DIR: &str = "store";
const MANIFESTS: [&str; 2] = ["MANIFEST", "MANIFEST.copy"];
const HOSTS: i64 = 300;
const STEPS: i64 = 120;
const ALL: u64 = (HOSTS * STEPS) as u64;

fn open(disk: &SimDisk) -> Engine {
    let config = Config { background: false, ..Config::default() };
    Engine::open(Arc::new(disk.clone()), Path::new(DIR), config).unwrap()
}

/// Values that hardly compress, so that parts have several pages.
fn expected(host: i64, step: i64) -> Owned {
    let mixed = (host * STEPS + step).wrapping_mul(0x2545_f491_4f6c_dd1d);
    Owned::Integer(mixed ^ (mixed >> 29))
}

/// A store with two parts of several pages, an index file, a catalog and a wal.
fn store() -> SimDisk {
    let disk = SimDisk::new(5);
    let engine = open(&disk);
    for (from, to) in [(0, 50), (50, 110), (110, STEPS)] {
        let line = |(step, host): (i64, i64)| Line {
            key: format!("m host=h{host}"),
            time_ns: step * 10_000_000_000,
            fields: vec![("a".to_owned(), expected(host, step))],
        };
        let hosts = |step| (0..HOSTS).map(move |host| (step, host));
        let lines: Vec<_> = (from..to).flat_map(hosts).map(line).collect();
        let (commit, rejects) = write(&engine, 0, &lines);
        assert!(rejects.is_empty());
        engine.wait(commit.unwrap(), Ack::Durable).unwrap();
        let commit = engine.catalog_put("note", &format!("k{from}"), b"some fact").unwrap();
        engine.wait(commit, Ack::Durable).unwrap();
        if to < STEPS {
            engine.flush().unwrap();
        }
    }
    engine.close().unwrap();
    disk
}

fn checked(disk: &SimDisk) -> Checked {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    check(&disk, Path::new(DIR)).unwrap()
}

/// What a repair mended, then what it lost.
fn repaired(disk: &SimDisk) -> Result<Vec<String>, foliot_engine::Error> {
    losing(disk, MayLose::default()).map(|Repaired { mended, lost }| [mended, lost].concat())
}

fn losing(disk: &SimDisk, may_lose: MayLose) -> Result<Repaired, foliot_engine::Error> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    repair(&disk, Path::new(DIR), may_lose)
}

/// The lines of the audit log.
fn audited(disk: &SimDisk) -> Vec<String> {
    let path = PathBuf::from(DIR).join("audit.log");
    match disk.exists(&path) {
        true => String::from_utf8(bytes(disk, &path)).unwrap().lines().map(str::to_owned).collect(),
        false => Vec::new(),
    }
}

fn bytes(disk: &SimDisk, path: &Path) -> Vec<u8> {
    let file = disk.open(path).unwrap();
    let mut bytes = vec![0; file.len() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

fn replace(disk: &SimDisk, path: &Path, bytes: &[u8]) {
    disk.create(path).unwrap().append(bytes).unwrap();
}

fn names(disk: &SimDisk, prefix: &str) -> Vec<String> {
    let mut names = disk.list(Path::new(DIR)).unwrap();
    names.retain(|name| name.starts_with(prefix));
    names.sort();
    names
}

/// Samples found in a store without damage; every value must be the one written.
fn found(disk: &SimDisk) -> u64 {
    let engine = open(disk);
    assert_eq!(engine.damages(), [""; 0]);
    samples(&engine)
}

fn samples(engine: &Engine) -> u64 {
    let snapshot = engine.snapshot();
    let mut found = 0;
    for sid in snapshot.select(&selector(0, "m"), TimeRange::ALL).unwrap() {
        let identity = snapshot.identity(sid).unwrap().unwrap();
        let host: i64 = identity.labels.get("host").unwrap()[1..].parse().unwrap();
        for (time_ns, value) in read(&snapshot, sid, TimeRange::ALL) {
            assert_eq!(value, expected(host, time_ns / 10_000_000_000));
            found += 1;
        }
    }
    found
}

#[test]
fn a_sound_store_has_no_problems_and_nothing_to_mend() {
    let disk = store();
    let checked = checked(&disk);
    assert_eq!(checked.problems, [""; 0]);
    assert_eq!(checked.series, HOSTS as u64);
    assert_eq!(checked.samples, (HOSTS * 110) as u64, "what is in parts");
    assert!(checked.frames > 0 && checked.blocks >= 600 && checked.files >= 6, "{checked:?}");
    assert_eq!(repaired(&disk).unwrap(), [""; 0]);
    assert_eq!(found(&disk), ALL);
}

/// Flips a bit of a file at each of `places`, and returns its path and what it held.
fn flip(disk: &SimDisk, prefix: &str, places: &[usize]) -> (PathBuf, Vec<u8>) {
    let path = PathBuf::from(DIR).join(&names(disk, prefix)[0]);
    let good = bytes(disk, &path);
    let mut bad = good.clone();
    for at in places {
        bad[*at] ^= 1 << (at % 8);
    }
    replace(disk, &path, &bad);
    (path, good)
}

fn is_paged(name: &str) -> bool {
    ["part-", "index-", "catalog-"].iter().any(|kind| name.starts_with(kind))
}

#[test]
fn a_flipped_bit_of_any_paged_file_costs_nothing() {
    for name in names(&store(), "").iter().filter(|name| is_paged(name)) {
        let len = bytes(&store(), &PathBuf::from(DIR).join(name)).len();
        for at in (0..len).step_by((len / 20).max(1)) {
            let disk = store();
            let (path, good) = flip(&disk, name, &[at]);
            let bad = bytes(&disk, &path);
            let problems = checked(&disk).problems;
            assert!(problems.iter().any(|problem| problem.contains(name)), "{at}: {problems:?}");
            let said = repaired(&disk).unwrap();
            assert!(
                said[0].contains(name) && said[0].ends_with("the parity of the file mends it"),
                "{said:?}"
            );
            let aside = PathBuf::from(DIR).join("quarantine").join(name);
            assert_eq!(bytes(&disk, &aside), bad, "the damaged file is kept");
            assert_eq!(bytes(&disk, &path), good, "the file is what it was");
            assert_eq!(checked(&disk).problems, [""; 0]);
            assert_eq!(found(&disk), ALL);
            assert_eq!(repaired(&disk).unwrap(), [""; 0]);
        }
    }
}

#[test]
fn damage_in_two_places_of_a_part_costs_little() {
    let len = bytes(&store(), &PathBuf::from(DIR).join(&names(&store(), "part-")[0])).len();
    let mut costs = Vec::new();
    for at in (0..len / 2).step_by(len / 20) {
        let disk = store();
        let (path, _) = flip(&disk, "part-", &[at, at + len / 3]);
        let bad = bytes(&disk, &path);
        let name = path.file_name().unwrap().to_str().unwrap();
        let problems = checked(&disk).problems;
        assert!(problems.iter().any(|problem| problem.contains(name)), "{at}: {problems:?}");
        let said = losing(&disk, MayLose::default()).unwrap();
        assert!(said.lost[0].contains(name) && said.lost[0].contains(": saved "), "{said:?}");
        assert_eq!(said.mended, [""; 0]);
        let aside = PathBuf::from(DIR).join("quarantine").join(name);
        assert_eq!(bytes(&disk, &aside), bad, "the damaged file is kept");
        assert_eq!(checked(&disk).problems, [""; 0]);
        costs.push(ALL - found(&disk));
    }
    // Header, footer and directory lie in the first and last page: without them nothing of the
    // part can be read. A page in between costs what lies in it and what it indexes.
    let whole = 50 * HOSTS as u64;
    assert!(costs.iter().all(|cost| (1..=whole).contains(cost)), "{costs:?}");
    let partial = costs.iter().filter(|cost| **cost < whole).count();
    assert!(partial * 2 > costs.len(), "{costs:?}");
}

#[test]
fn a_missing_file_comes_back_from_the_quarantine() {
    for prefix in ["part-", "index-", "catalog-"] {
        let disk = store();
        let name = names(&disk, prefix)[0].clone();
        let (path, quarantine) =
            (PathBuf::from(DIR).join(&name), PathBuf::from(DIR).join("quarantine"));
        disk.create_dir_all(&quarantine).unwrap();
        disk.rename(&path, &quarantine.join(&name)).unwrap();
        assert!(checked(&disk).problems[0].contains(&name));
        let said = repaired(&disk).unwrap();
        assert!(said[0].contains("brought back from the quarantine"), "{said:?}");
        assert_eq!(checked(&disk).problems, [""; 0]);
        assert_eq!(found(&disk), ALL);
    }
}

#[test]
fn a_missing_part_is_waited_for_until_it_may_be_lost() {
    let disk = store();
    let all = found(&disk);
    let part = names(&disk, "part-").remove(0);
    let path = Path::new(DIR).join(&part);
    let good = bytes(&disk, &path);
    disk.remove(&path).unwrap();
    assert_eq!(repaired(&disk).unwrap(), [""; 0]);
    assert!(checked(&disk).problems.iter().any(|problem| problem.contains(&part)));
    assert!(samples(&open(&disk)) < all);
    // The disk that it lay on is there again.
    replace(&disk, &path, &good);
    assert_eq!((found(&disk), checked(&disk).problems), (all, Vec::new()));
    disk.remove(&path).unwrap();
    assert_eq!(audited(&disk), [""; 0]);
    let said = losing(&disk, MayLose { parts: true, ..MayLose::default() }).unwrap();
    let [lost] = &said.lost[..] else { panic!("{said:?}") };
    assert!(lost.contains(&part) && lost.ends_with("saved 0 of its 15000 samples"), "{said:?}");
    assert_eq!(said.mended, [""; 0]);
    assert_eq!(checked(&disk).notes, [""; 0], "nothing was set aside");
    let [line] = &audited(&disk)[..] else { panic!("{:?}", audited(&disk)) };
    let told = format!("\"act\":\"lose part\",\"file\":\"{part}\",\"samples\":15000,\"bytes\":");
    assert!(line.contains(&told) && line.contains("\"door\":\"command line\""), "{line}");
    assert_eq!(checked(&disk).problems, [""; 0]);
    // What comes now comes too late, and that is said.
    replace(&disk, &path, &good);
    let store = open(&disk);
    let notes = store.notes();
    assert!(notes.iter().any(|note| note.contains(&part)), "{notes:?}");
}

#[test]
fn what_was_deleted_stays_deleted() {
    let disk = store();
    let engine = open(&disk);
    let range = TimeRange::new(20 * 10_000_000_000, 39 * 10_000_000_000);
    let (deleted, commit) = engine.delete(&selector(0, "m"), range, &Caller::default()).unwrap();
    assert_eq!(deleted.samples, (HOSTS * 20) as u64);
    engine.wait(commit, Ack::Durable).unwrap();
    drop(engine);
    let len = bytes(&disk, &PathBuf::from(DIR).join(&names(&disk, "part-")[0])).len();
    flip(&disk, "part-", &[len / 3, len / 2]);
    for copy in MANIFESTS {
        disk.remove(&PathBuf::from(DIR).join(copy)).unwrap();
    }
    let said = repaired(&disk).unwrap();
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!(checked(&disk).problems, [""; 0]);
    let left = found(&disk);
    assert!(left < ALL - deleted.samples && left > ALL - (HOSTS * 50) as u64, "{left}");
    let snapshot = open(&disk).snapshot();
    for sid in snapshot.select(&selector(0, "m"), TimeRange::ALL).unwrap() {
        assert_eq!(read(&snapshot, sid, range), [], "series {sid}");
    }
}

#[test]
fn a_lost_or_damaged_manifest_is_made_anew() {
    for at in [None, Some(0), Some(9), Some(30)] {
        let disk = store();
        for copy in MANIFESTS {
            let path = PathBuf::from(DIR).join(copy);
            let mut bad = bytes(&disk, &path);
            disk.remove(&path).unwrap();
            if let Some(at) = at {
                bad[at] ^= 4;
                replace(&disk, &path, &bad);
            }
        }
        if at.is_some() {
            assert!(checked(&disk).problems[0].contains("MANIFEST"));
        }
        let said = repaired(&disk).unwrap();
        assert!(said.last().unwrap().contains("anew from 2 parts, 1 index files"), "{said:?}");
        assert_eq!(checked(&disk).problems, [""; 0]);
        assert_eq!(found(&disk), ALL);
        let engine = open(&disk);
        assert_eq!(engine.catalog_list("note").len(), 3);
        // New files do not take the numbers of old ones.
        engine.flush().unwrap();
        drop(engine);
        assert_eq!(found(&disk), ALL);
    }
}

#[test]
fn a_damaged_catalog_keeps_its_whole_facts() {
    let disk = store();
    let name = &names(&disk, "catalog-")[0];
    let path = PathBuf::from(DIR).join(name);
    let good = bytes(&disk, &path);
    replace(&disk, &path, &good[..good.len() - 3]);
    assert!(checked(&disk).problems[0].contains(name));
    let said = losing(&disk, MayLose::default()).unwrap();
    let [lost] = &said.lost[..] else { panic!("{said:?}") };
    assert!(
        lost.contains(": saved 0 facts; of databases, retention policies, users,")
            && lost.contains("all others are lost; wrote the catalog anew"),
        "its only page is damaged: {said:?}"
    );
    assert_eq!((said.mended, audited(&disk)), (Vec::new(), Vec::new()));
    assert_eq!(checked(&disk).problems, [""; 0]);
    assert_eq!(found(&disk), ALL);
    assert_eq!(open(&disk).catalog_list("note").len(), 1, "what the wal still holds");
}

#[test]
fn a_catalog_that_is_missing_is_waited_for_until_it_may_be_lost() {
    let disk = store();
    let name = &names(&disk, "catalog-")[0];
    let path = PathBuf::from(DIR).join(name);
    let away = PathBuf::from("away");
    disk.rename(&path, &away).unwrap();
    for _ in 0..2 {
        let error = repaired(&disk).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("--lose-facts"), "{error}");
    }
    disk.rename(&away, &path).unwrap();
    assert!(checked(&disk).problems.is_empty());
    assert_eq!(open(&disk).catalog_list("note").len(), 3);
    disk.rename(&path, &away).unwrap();
    let said = losing(&disk, MayLose { facts: true, ..MayLose::default() }).unwrap();
    let [lost] = &said.lost[..] else { panic!("{said:?}") };
    assert!(lost.contains(name) && lost.contains("all others are lost"), "{said:?}");
    let told = format!("\"act\":\"lose facts\",\"file\":\"{name}\"}}");
    assert!(audited(&disk)[0].ends_with(&told), "{:?}", audited(&disk));
    assert_eq!(found(&disk), ALL);
    assert_eq!(open(&disk).catalog_list("note").len(), 1, "what the wal still holds");
}

#[test]
fn an_index_whose_names_stand_nowhere_else_is_left_for_a_backup() {
    let disk = store();
    let len = bytes(&disk, &PathBuf::from(DIR).join(&names(&disk, "index-")[0])).len();
    // A page and its parity.
    let (path, good) = flip(&disk, "index-", &[40, len - 100]);
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(checked(&disk).problems[0].contains(name));
    let error = repaired(&disk).unwrap_err().to_string();
    assert!(error.contains(name) && error.contains("copy it from a backup"), "{error}");
    assert!(error.contains("300 series with samples have their names only in it"), "{error}");
    replace(&disk, &path, &good);
    assert_eq!(found(&disk), ALL);
}

#[test]
fn without_a_backup_an_index_is_made_again_with_the_names_there_are() {
    let disk = store();
    let len = bytes(&disk, &PathBuf::from(DIR).join(&names(&disk, "index-")[0])).len();
    flip(&disk, "index-", &[40, len - 100]);
    let said = losing(&disk, MayLose { names: true, ..MayLose::default() }).unwrap();
    let [lost] = &said.lost[..] else { panic!("{said:?}") };
    assert!(lost.contains("300 series with samples have no name"), "{said:?}");
    let told = "\"act\":\"lose names\",\"series\":300}";
    assert!(audited(&disk)[0].ends_with(told), "{:?}", audited(&disk));
    // The old file is still there.
    assert!(!disk.list(&PathBuf::from(DIR).join("quarantine")).unwrap().is_empty());
    let engine = open(&disk);
    let line = |host: i64| Line {
        key: format!("m host=h{host}"),
        time_ns: 7,
        fields: vec![("a".to_owned(), expected(host, 0))],
    };
    let lines: Vec<_> = (0..HOSTS).map(line).collect();
    let (commit, rejects) = write(&engine, 0, &lines);
    assert!(rejects.is_empty());
    engine.wait(commit.unwrap(), Ack::Durable).unwrap();
    engine.flush().unwrap();
    engine.close().unwrap();
    drop(engine);
    let engine = open(&disk);
    let snapshot = engine.snapshot();
    let sids = snapshot.select(&selector(0, "m"), TimeRange::ALL).unwrap();
    assert_eq!(sids.len() as i64, HOSTS);
    // Nobody got the id of a series whose name is lost, nor its samples.
    assert!(sids.iter().all(|sid| i64::from(*sid) >= HOSTS));
    assert!(sids.iter().all(|sid| read(&snapshot, *sid, TimeRange::ALL).len() == 1));
}

/// Series of three generations: those of final parts, of which one was dropped, those of the
/// newest index file, and those that only the log has. Later ones share no name with earlier ones:
/// what needs a name that is lost is lost with it.
fn generations(disk: &SimDisk) {
    let engine = open(disk);
    let put = |key: &dyn Fn(i64) -> String, hosts: std::ops::Range<i64>, step: i64| {
        let line = |host: i64| Line {
            key: key(host),
            time_ns: step * 10_000_000_000,
            fields: vec![("a".to_owned(), expected(host, step))],
        };
        let (commit, rejects) = write(&engine, 0, &hosts.map(line).collect::<Vec<_>>());
        assert!(rejects.is_empty());
        engine.wait(commit.unwrap(), Ack::Durable).unwrap();
    };
    (0..3).for_each(|step| put(&host, 0..100, step));
    let seventh = |sid: &u32| {
        let identity = engine.snapshot().identity(*sid).unwrap().unwrap();
        identity.labels.get("host").is_some_and(|host| &**host == "h7")
    };
    let sids = engine.snapshot().select(&selector(0, "m"), TimeRange::ALL).unwrap();
    let only: Vec<u32> = sids.into_iter().filter(seventh).collect();
    let dropped = Selector { only: Some(only), ..selector(0, "m") };
    let (dropped, commit) = engine.drop_series(&dropped, &Caller::default()).unwrap();
    assert_eq!((dropped.series, dropped.samples), (1, 3));
    engine.wait(commit, Ack::Durable).unwrap();
    engine.flush().unwrap();
    engine.merge_all().unwrap();
    put(&|rack| format!("m{rack} rack{rack}=r{rack}"), 100..150, 3);
    engine.flush().unwrap();
    put(&host, 0..5, 4);
    put(&|slot| format!("m{slot} slot{slot}=s{slot}"), 150..170, 4);
    engine.close().unwrap();
}

fn host(host: i64) -> String {
    format!("m host=h{host} site=größe{}", host % 3)
}

#[test]
fn the_index_is_made_again_from_final_parts_other_index_files_and_the_log() {
    let path = |disk: &SimDisk, file: usize| PathBuf::from(DIR).join(&names(disk, "index-")[file]);
    let others = |disk: &SimDisk| {
        let engine = open(disk);
        let snapshot = engine.snapshot();
        let mut found = 0;
        for number in 100..170 {
            for sid in snapshot.select(&selector(0, &format!("m{number}")), TimeRange::ALL).unwrap()
            {
                let step = if number < 150 { 3 } else { 4 };
                let sample = (step * 10_000_000_000, expected(number, step));
                assert_eq!(read(&snapshot, sid, TimeRange::ALL), [sample]);
                found += 1;
            }
        }
        found
    };
    let hosts = 99 * 3 + 5;
    let disk = SimDisk::new(5);
    generations(&disk);
    assert_eq!((found(&disk), others(&disk), names(&disk, "index-").len()), (hosts, 70, 2));
    let len = bytes(&disk, &path(&disk, 0)).len();
    // The field is called the same in all generations: its name is lost with the first file.
    for (file, damaged, kept) in [(0, vec![0; len], 0), (1, vec![0; 50], 20)] {
        let disk = SimDisk::new(5);
        generations(&disk);
        replace(&disk, &path(&disk, file), &damaged);
        let error = repaired(&disk).unwrap_err().to_string();
        let unnamed = 70 - kept;
        assert!(error.contains(&format!("{unnamed} series with samples have their")), "{error}");
        let said = losing(&disk, MayLose { names: true, ..MayLose::default() }).unwrap();
        assert!(said.lost.iter().any(|lost| lost.contains("the index is made again")), "{said:?}");
        let found = |disk: &SimDisk| samples(&open(disk));
        // Rows of the log whose names are lost are told.
        assert_eq!(open(&disk).damages().len(), usize::from(kept == 0));
        assert_eq!((found(&disk), others(&disk)), (hosts, kept));
        let engine = open(&disk);
        let line = |number: i64| Line {
            key: host(number),
            time_ns: 60_000_000_000,
            fields: vec![("a".to_owned(), expected(number, 6))],
        };
        let (commit, _) = write(&engine, 0, &(0..200).map(line).collect::<Vec<_>>());
        engine.wait(commit.unwrap(), Ack::Durable).unwrap();
        let series = engine.snapshot().select(&selector(0, "m"), TimeRange::ALL).unwrap().len();
        assert_eq!(series, 200, "old names have their old ids");
        drop(engine);
        assert_eq!((found(&disk), others(&disk)), (hosts + 200, kept), "after a kill");
        open(&disk).flush().unwrap();
        assert_eq!((found(&disk), others(&disk)), (hosts + 200, kept));
        assert_eq!(repaired(&disk).unwrap(), [""; 0]);
    }
}

#[test]
fn an_index_whose_names_all_stand_elsewhere_is_made_again_unasked() {
    let disk = SimDisk::new(5);
    generations(&disk);
    let engine = open(&disk);
    engine.flush().unwrap();
    engine.merge_all().unwrap();
    drop(engine);
    let before = found(&disk);
    for index in names(&disk, "index-") {
        disk.remove(&PathBuf::from(DIR).join(index)).unwrap();
    }
    assert!(!checked(&disk).problems.is_empty());
    let said = repaired(&disk).unwrap();
    assert!(said.iter().any(|said| said.contains("with 169 series")), "{said:?}");
    assert_eq!(found(&disk), before);
    assert_eq!(checked(&disk).problems, [""; 0]);
    assert_eq!(names(&disk, "index-").len(), 1);
}

#[test]
fn what_is_no_store_is_not_made_one() {
    let disk = SimDisk::new(1);
    disk.create_dir_all(Path::new(DIR)).unwrap();
    let error = repaired(&disk).unwrap_err().to_string();
    assert_eq!(error, "there is no store in store");
    let engine = open(&disk);
    let error = repaired(&disk).unwrap_err().to_string();
    assert!(error.contains("in use by another Foliot process"), "{error}");
    drop(engine);
}

/// A store whose only facts are the names of two databases, of which one was dropped; the catalog
/// is lost, the wal holds none of it.
fn without_catalog(is_final: bool) -> SimDisk {
    let disk = SimDisk::new(9);
    let engine = open(&disk);
    assert_eq!(engine.create_namespace("kept", "raw").unwrap(), 1);
    assert_eq!(engine.create_namespace("dropped", "raw").unwrap(), 2);
    let line = |time_ns| Line {
        key: "m host=a".to_owned(),
        time_ns,
        fields: vec![("a".to_owned(), Owned::Integer(time_ns))],
    };
    let (commit, _) = write(&engine, 1, &(1..50).map(line).collect::<Vec<_>>());
    engine.wait(commit.unwrap(), Ack::Durable).unwrap();
    engine.drop_namespace(2, &Caller::default()).unwrap();
    engine.flush().unwrap();
    if is_final {
        engine.merge_all().unwrap();
    }
    drop(engine);
    let path = PathBuf::from(DIR).join(&names(&disk, "catalog-")[0]);
    let good = bytes(&disk, &path);
    replace(&disk, &path, &good[..10]);
    disk
}

#[test]
fn a_lost_catalog_mixes_no_databases_and_final_parts_give_the_names_back() {
    for (is_final, database, policy) in [(true, "kept", "raw"), (false, "recovered-1", "autogen")] {
        let disk = without_catalog(is_final);
        assert!(checked(&disk).problems[0].contains("catalog-"));
        let said = repaired(&disk).unwrap();
        let told = format!("the database numbered 1 had no name: it is {database}");
        assert!(said.iter().any(|sentence| sentence.starts_with(&told)), "{said:?}");
        assert_eq!(checked(&disk).problems, [""; 0]);
        let engine = open(&disk);
        assert_eq!(engine.namespace(database, policy), Some(1));
        // No number is given out again, that of a dropped one neither.
        assert_eq!(engine.create_namespace("new", "raw").unwrap(), 3);
        let snapshot = engine.snapshot();
        assert_eq!(snapshot.select(&selector(3, "m"), TimeRange::ALL).unwrap(), []);
        let sids = snapshot.select(&selector(1, "m"), TimeRange::ALL).unwrap();
        assert_eq!(read(&snapshot, sids[0], TimeRange::ALL).len(), 49);
    }
}

#[test]
fn a_dropped_series_that_is_written_again_is_no_damage_nor_is_the_audit_log() {
    let disk = SimDisk::new(11);
    let engine = open(&disk);
    for round in 0..3 {
        let line = Line {
            key: "m host=a".to_owned(),
            time_ns: round,
            fields: vec![("a".to_owned(), Owned::Integer(round))],
        };
        let (commit, _) = write(&engine, 0, &[line]);
        engine.wait(commit.unwrap(), Ack::Durable).unwrap();
        if round < 2 {
            let (_, commit) = engine.drop_series(&selector(0, "m"), &Caller::default()).unwrap();
            engine.wait(commit, Ack::Durable).unwrap();
        }
    }
    engine.close().unwrap();
    drop(engine);
    assert!(disk.exists(&PathBuf::from(DIR).join("audit.log")));
    let checked = checked(&disk);
    assert_eq!((checked.problems, checked.notes), (Vec::new(), Vec::new()));
}

/// A store whose catalog lost the name of a database with a final part, and where another was made
/// by that name.
fn nameless_and_made_again() -> SimDisk {
    let disk = SimDisk::new(12);
    for number in 1..=2 {
        let engine = open(&disk);
        assert_eq!(engine.create_namespace("kept", "raw").unwrap(), number);
        let line = |at: i64| Line {
            key: "m host=a".to_owned(),
            time_ns: at,
            fields: vec![("a".to_owned(), Owned::Integer(at))],
        };
        let (commit, _) = write(&engine, number, &(0..50).map(line).collect::<Vec<_>>());
        engine.wait(commit.unwrap(), Ack::Durable).unwrap();
        engine.flush().unwrap();
        engine.merge_all().unwrap();
        if number == 1 {
            engine.catalog_delete("namespace", "kept\0raw").unwrap();
        }
        engine.close().unwrap();
    }
    disk
}

#[test]
fn a_repair_never_gives_a_name_to_another_number() {
    let disk = nameless_and_made_again();
    assert!(checked(&disk).problems[0].contains("numbered 1"), "{:?}", checked(&disk).problems);
    for _ in 0..2 {
        repaired(&disk).unwrap();
        assert_eq!(checked(&disk).problems, [""; 0]);
        let engine = open(&disk);
        assert_eq!(engine.namespace("kept", "raw"), Some(2));
        assert_eq!(engine.namespace("recovered-1", "autogen"), Some(1));
        let snapshot = engine.snapshot();
        let sids = snapshot.select(&selector(2, "m"), TimeRange::ALL).unwrap();
        assert_eq!(read(&snapshot, sids[0], TimeRange::ALL).len(), 50);
        engine.close().unwrap();
    }
}

/// A store of which only the wal holds anything: registrations, then rows.
fn only_wal() -> SimDisk {
    let disk = SimDisk::new(13);
    let engine = open(&disk);
    for step in 0..3 {
        let line = |host: i64| Line {
            key: format!("m host=h{host}"),
            time_ns: step * 10_000_000_000,
            fields: vec![("a".to_owned(), expected(host, step))],
        };
        let (commit, _) = write(&engine, 0, &(0..50).map(line).collect::<Vec<_>>());
        engine.wait(commit.unwrap(), Ack::Durable).unwrap();
    }
    engine.close().unwrap();
    disk
}

#[test]
fn a_damaged_registration_in_the_wal_is_mended_by_its_copy_and_other_damage_is_told() {
    let path = PathBuf::from(DIR).join(&names(&only_wal(), "wal-")[0]);
    let good = bytes(&only_wal(), &path);
    let frames = checked(&only_wal()).frames;
    let (mut mended, mut told) = (0, 0);
    for at in (0..good.len()).step_by((good.len() / 240).max(1)) {
        let disk = only_wal();
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        replace(&disk, &path, &bad);
        let before = checked(&disk);
        let said = repaired(&disk).unwrap();
        let after = checked(&disk);
        if said.is_empty() {
            assert_eq!(after, before, "byte {at}");
            told += usize::from(!after.problems.is_empty());
            continue;
        }
        mended += 1;
        assert!(
            said[0].contains("is mended by its copy") && !before.problems.is_empty(),
            "{said:?}"
        );
        assert_eq!((after.problems, after.frames), (Vec::new(), frames), "byte {at}");
        assert_eq!(
            bytes(&disk, &PathBuf::from(DIR).join("quarantine").join(path.file_name().unwrap())),
            bad
        );
        assert_eq!(found(&disk), 150, "byte {at}");
    }
    assert!(mended > 20 && told > 10, "{mended} mended, {told} told");
}
