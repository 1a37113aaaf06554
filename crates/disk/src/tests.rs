//! What both halves promise, and what only the simulated one can show: power cuts and faults.

mod untouched;

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::io::ErrorKind;

/// Runs one test body on both halves. `reboot` gives the machine after a restart: on the simulated
/// half a power cut, on the real one (whose power no test can cut) a new handle.
fn on_both(test: impl Fn(&dyn Disk, &Path, &dyn Fn() -> Box<dyn Disk>)) {
    for seed in 0..64 {
        let disk = SimDisk::new(seed);
        disk.create_dir_all(Path::new("data/dir")).unwrap();
        test(&disk, Path::new("data/dir"), &|| Box::new(disk.crash()));
    }
    let real = RealDisk::new();
    let dir = std::env::temp_dir().join(format!("foliot-disk-{:016x}", real.random()));
    real.create_dir_all(&dir).unwrap();
    test(&real, &dir, &|| Box::new(RealDisk::new()));
    std::fs::remove_dir_all(&dir).unwrap();
}

fn write(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> Box<dyn AppendFile> {
    let mut file = disk.create(path).unwrap();
    file.append(bytes).unwrap();
    file
}

fn write_durably(disk: &dyn Disk, path: &Path, bytes: &[u8]) {
    write(disk, path, bytes).sync().unwrap();
    disk.sync_dir(path.parent().unwrap()).unwrap();
}

fn read(disk: &dyn Disk, path: &Path) -> Vec<u8> {
    let file = disk.open(path).unwrap();
    let mut bytes = vec![0; file.len() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

fn names(disk: &dyn Disk, dir: &Path) -> Vec<String> {
    let mut names = disk.list(dir).unwrap();
    names.sort();
    names
}

fn kind_of<T>(result: io::Result<T>) -> ErrorKind {
    result.err().expect("must fail").kind()
}

#[test]
fn appended_bytes_are_read_back_at_positions() {
    on_both(|disk, dir, _| {
        let path = dir.join("a");
        let mut file = write(disk, &path, b"hello ");
        assert_eq!(file.len(), 6);
        let early = disk.open(&path).unwrap();
        file.append(b"world").unwrap();
        assert_eq!((file.len(), early.len()), (11, 6));
        assert_eq!(read(disk, &path), b"hello world");
        let late = disk.open(&path).unwrap();
        let mut middle = [0; 4];
        late.read_at(&mut middle, 4).unwrap();
        assert_eq!(&middle, b"o wo");
        assert_eq!(kind_of(late.read_at(&mut middle, 8)), ErrorKind::UnexpectedEof);
        assert_eq!(kind_of(late.read_at(&mut middle, 1 << 40)), ErrorKind::UnexpectedEof);
        late.read_at(&mut [], 11).unwrap();
        let empty = disk.create(&dir.join("b")).unwrap();
        assert!(empty.is_empty() && disk.open(&dir.join("b")).unwrap().is_empty());
    });
}

#[test]
fn a_file_is_extended_at_its_end() {
    on_both(|disk, dir, reboot| {
        let path = dir.join("a");
        assert_eq!(kind_of(disk.extend(&path)), ErrorKind::NotFound);
        write_durably(disk, &path, b"one ");
        let mut file = disk.extend(&path).unwrap();
        assert_eq!(file.len(), 4);
        file.append(b"two").unwrap();
        assert_eq!(file.len(), 7);
        file.sync().unwrap();
        drop(file);
        assert_eq!(read(&*reboot(), &path), b"one two");
    });
}

#[test]
fn names_are_listed_renamed_replaced_and_removed() {
    on_both(|disk, dir, _| {
        disk.create_dir_all(&dir.join("sub/below")).unwrap();
        disk.create_dir_all(&dir.join("sub")).unwrap();
        write(disk, &dir.join("a"), b"one");
        write(disk, &dir.join("sub/c"), b"three");
        assert_eq!(names(disk, dir), ["a", "sub"]);
        assert_eq!(names(disk, &dir.join("sub")), ["below", "c"]);
        disk.rename(&dir.join("a"), &dir.join("b")).unwrap();
        disk.rename(&dir.join("sub/c"), &dir.join("b")).unwrap();
        assert_eq!(read(disk, &dir.join("b")), b"three");
        write(disk, &dir.join("b"), b"4");
        assert_eq!(read(disk, &dir.join("b")), b"4");
        assert!(disk.exists(&dir.join("b")) && disk.exists(&dir.join("sub")) && disk.exists(dir));
        assert!(!disk.exists(&dir.join("a")) && !disk.exists(&dir.join("sub/c")));
        disk.link(&dir.join("b"), &dir.join("sub/second")).unwrap();
        disk.remove(&dir.join("b")).unwrap();
        assert_eq!(names(disk, dir), ["sub"]);
        assert_eq!(read(disk, &dir.join("sub/second")), b"4");
    });
}

#[test]
fn errors_have_the_kinds_callers_tell_apart() {
    on_both(|disk, dir, _| {
        let missing = dir.join("missing");
        assert_eq!(kind_of(disk.open(&missing)), ErrorKind::NotFound);
        assert_eq!(kind_of(disk.remove(&missing)), ErrorKind::NotFound);
        assert_eq!(kind_of(disk.rename(&missing, &dir.join("b"))), ErrorKind::NotFound);
        assert_eq!(kind_of(disk.link(&missing, &dir.join("b"))), ErrorKind::NotFound);
        assert_eq!(kind_of(disk.truncate(&missing, 0)), ErrorKind::NotFound);
        assert_eq!(kind_of(disk.rewrite(&missing)), ErrorKind::NotFound);
        assert_eq!(kind_of(disk.list(&missing)), ErrorKind::NotFound);
        assert_eq!(kind_of(disk.sync_dir(&missing)), ErrorKind::NotFound);
        assert_eq!(kind_of(disk.lock(&missing)), ErrorKind::NotFound);
        assert_eq!(kind_of(disk.free_bytes(&missing)), ErrorKind::NotFound);
        assert_eq!(kind_of(disk.create(&missing.join("a"))), ErrorKind::NotFound);
        write(disk, &dir.join("a"), b"123");
        assert_eq!(kind_of(disk.truncate(&dir.join("a"), 4)), ErrorKind::InvalidInput);
        assert_eq!(kind_of(disk.link(&dir.join("a"), &dir.join("a"))), ErrorKind::AlreadyExists);
        assert!(disk.create_dir_all(&dir.join("a/b")).is_err());
    });
}

#[test]
fn an_open_file_outlives_its_name() {
    on_both(|disk, dir, _| {
        let path = dir.join("a");
        let mut appending = write(disk, &path, b"one");
        let reading = disk.open(&path).unwrap();
        write(disk, &path, b"other");
        appending.append(b"two").unwrap();
        appending.sync().unwrap();
        disk.remove(&path).unwrap();
        let mut bytes = [0; 6];
        reading.read_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"onetwo");
    });
}

#[test]
fn synced_bytes_under_synced_names_survive() {
    on_both(|disk, dir, reboot| {
        let mut file = write(disk, &dir.join("tmp"), b"header");
        file.sync().unwrap();
        disk.rename(&dir.join("tmp"), &dir.join("final")).unwrap();
        disk.sync_dir(dir).unwrap();
        file.append(b", body").unwrap();
        file.sync().unwrap();
        write_durably(disk, &dir.join("gone"), b"x");
        disk.remove(&dir.join("gone")).unwrap();
        disk.sync_dir(dir).unwrap();
        let disk = reboot();
        assert_eq!(names(&*disk, dir), ["final"]);
        assert_eq!(read(&*disk, &dir.join("final")), b"header, body");
    });
}

#[test]
fn synced_bytes_keep_their_prefix_whatever_follows_unsynced() {
    on_both(|disk, dir, reboot| {
        let path = dir.join("wal");
        write_durably(disk, &path, b"synced");
        let mut file = write(disk, &dir.join("next"), b"first");
        file.sync().unwrap();
        disk.sync_dir(dir).unwrap();
        file.append(&[7; 9000]).unwrap();
        file.append(&[8; 100]).unwrap();
        let disk = reboot();
        assert_eq!(read(&*disk, &path), b"synced");
        let bytes = read(&*disk, &dir.join("next"));
        assert_eq!(&bytes[..5], b"first");
        assert!(bytes.len() <= 9105);
        let sevens = bytes[5..].iter().take(9000).all(|&byte| byte == 7 || byte == 0);
        let eights = bytes.iter().skip(9005).all(|&byte| byte == 8 || byte == 0);
        assert!(sevens && eights, "bytes that nobody wrote");
    });
}

#[test]
fn bytes_of_a_killed_process_can_be_made_durable() {
    on_both(|disk, dir, reboot| {
        // More than the real half rewrites at once, and not a multiple of it.
        let bytes: Vec<u8> = (0..2_500_001_u32).map(|i| (i % 251) as u8).collect();
        let path = dir.join("a");
        drop(write(disk, &path, &bytes));
        disk.rewrite(&path).unwrap();
        disk.sync_dir(dir).unwrap();
        assert!(read(&*reboot(), &path) == bytes);
    });
}

#[test]
fn a_rename_is_atomic() {
    on_both(|disk, dir, reboot| {
        let [tmp, pointer] = [dir.join("tmp"), dir.join("pointer")];
        write_durably(disk, &pointer, b"old");
        write(disk, &tmp, b"new").sync().unwrap();
        disk.rename(&tmp, &pointer).unwrap();
        let disk = reboot();
        let bytes = read(&*disk, &pointer);
        assert!(bytes == b"old" || bytes == b"new");
        assert!(!disk.exists(&tmp) || (bytes == b"old" && read(&*disk, &tmp) == b"new"));
    });
}

#[test]
fn directories_are_durable_at_once() {
    on_both(|disk, dir, reboot| {
        disk.create_dir_all(&dir.join("a/b/c")).unwrap();
        let disk = reboot();
        assert_eq!(names(&*disk, &dir.join("a/b")), ["c"]);
    });
}

#[test]
fn a_cut_is_durable_after_the_directory_is_synced() {
    on_both(|disk, dir, reboot| {
        let path = dir.join("a");
        write_durably(disk, &path, b"keep, torn");
        disk.truncate(&path, 4).unwrap();
        assert_eq!(read(disk, &path), b"keep");
        disk.sync_dir(dir).unwrap();
        assert_eq!(read(&*reboot(), &path), b"keep");
    });
}

#[test]
fn what_is_written_over_is_the_new_bytes_and_then_the_old() {
    on_both(|disk, dir, reboot| {
        let path = dir.join("a");
        write_durably(disk, &path, b"old bytes");
        let mut file = disk.overwrite(&path).unwrap();
        assert!(file.is_empty());
        file.append(b"n").unwrap();
        file.append(b"ew").unwrap();
        assert_eq!((file.len(), &read(disk, &path)[..]), (3, &b"new bytes"[..]));
        file.append(b" and longer").unwrap();
        file.sync().unwrap();
        assert_eq!(file.len(), 14);
        assert_eq!(kind_of(disk.overwrite(&dir.join("b"))), ErrorKind::NotFound);
        assert_eq!(read(&*reboot(), &path), b"new and longer");
    });
}

#[test]
fn the_lock_is_exclusive_unseen_and_ends_with_its_holder() {
    on_both(|disk, dir, reboot| {
        let lock = disk.lock(dir).unwrap();
        assert_eq!(lock.dir(), dir);
        assert_eq!(kind_of(disk.lock(dir)), ErrorKind::WouldBlock);
        assert!(names(disk, dir).is_empty());
        drop(lock);
        let again = disk.lock(dir).unwrap();
        let rebooted = reboot();
        if !disk.exists(dir) {
            // The holder's machine lost its power: nobody holds the lock any more.
            drop(rebooted.lock(dir).unwrap());
        }
        drop(again);
    });
}

#[test]
fn clocks_space_and_randomness_make_sense() {
    on_both(|disk, dir, _| {
        assert!(disk.now_ns() > 1_600_000_000_000_000_000);
        let before = disk.monotonic_ns();
        assert!(disk.monotonic_ns() >= before);
        assert!(disk.free_bytes(dir).unwrap() > 0);
        let draws: BTreeSet<u64> = (0..100).map(|_| disk.random()).collect();
        assert_eq!(draws.len(), 100);
    });
}

/// Everything a power cut leaves of one scenario, over many seeds.
fn outcomes(scenario: impl Fn(&SimDisk)) -> BTreeSet<Vec<(String, Vec<u8>)>> {
    let outcome = |seed| {
        let disk = SimDisk::new(seed);
        disk.create_dir_all(Path::new("d")).unwrap();
        scenario(&disk);
        let disk = disk.crash();
        let files = names(&disk, Path::new("d")).into_iter();
        files.map(|name| (name.clone(), read(&disk, &Path::new("d").join(name)))).collect()
    };
    (0..20_000).map(outcome).collect()
}

fn files(expected: &[(&str, &[u8])]) -> Vec<(String, Vec<u8>)> {
    expected.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect()
}

#[test]
fn an_unsynced_file_meets_every_fate() {
    let fates = outcomes(|disk| {
        drop(write(disk, Path::new("d/a"), b"xy"));
    });
    let bytes: [&[u8]; 6] = [b"", b"\0", b"\0\0", b"x", b"x\0", b"xy"];
    let mut expected: BTreeSet<_> = bytes.iter().map(|bytes| files(&[("a", bytes)])).collect();
    expected.insert(files(&[]));
    assert_eq!(fates, expected);
}

#[test]
fn appends_survive_in_any_order_with_holes_of_zeros() {
    let fates = outcomes(|disk| {
        let mut file = disk.create(Path::new("d/a")).unwrap();
        disk.sync_dir(Path::new("d")).unwrap();
        file.append(b"x").unwrap();
        file.append(b"y").unwrap();
    });
    let bytes: [&[u8]; 7] = [b"", b"\0", b"\0\0", b"x", b"x\0", b"\0y", b"xy"];
    let expected: BTreeSet<_> = bytes.iter().map(|bytes| files(&[("a", bytes)])).collect();
    assert_eq!(fates, expected);
}

#[test]
fn what_was_written_over_may_be_what_it_was() {
    let fates = outcomes(|disk| {
        write_durably(disk, Path::new("d/a"), b"xyz");
        let mut file = disk.overwrite(Path::new("d/a")).unwrap();
        file.append(b"12").unwrap();
        file.append(b"34").unwrap();
    });
    let first: [&[u8]; 3] = [b"xy", b"1y", b"12"];
    // Behind the old end a lost byte is not there, or zero.
    let then: [&[u8]; 6] = [b"z", b"z\0", b"3", b"3\0", b"34", b""];
    let both = |first: &[u8], then: &[u8]| files(&[("a", &[first, then].concat())]);
    let possible = |of: &Vec<(String, Vec<u8>)>| {
        first.iter().any(|first| then.iter().any(|then| both(first, then) == *of))
    };
    assert!(fates.iter().all(possible), "{fates:?}");
    for bytes in [&b"xyz"[..], b"12z", b"1yz", b"xy34", b"1234", b"123", b"12z\0", b"xyz\0"] {
        assert!(fates.contains(&files(&[("a", bytes)])), "{bytes:?} in {fates:?}");
    }
    assert!(fates.iter().all(|fate| fate[0].1.len() >= 3), "what was durable keeps its length");
}

#[test]
fn large_appends_tear_at_bytes_sectors_and_pages() {
    let fates = outcomes(|disk| {
        let mut file = disk.create(Path::new("d/a")).unwrap();
        disk.sync_dir(Path::new("d")).unwrap();
        file.append(&[7; 20_000]).unwrap();
    });
    let of = |fate: &Vec<(String, Vec<u8>)>| fate[0].1.clone();
    let prefix = |bytes: &Vec<u8>| bytes.iter().take_while(|&&byte| byte == 7).count();
    let cuts: BTreeSet<usize> = fates.iter().map(|fate| prefix(&of(fate))).collect();
    assert!(cuts.iter().any(|cut| cut % 512 != 0));
    assert!(cuts.iter().any(|cut| *cut > 0 && cut % 512 == 0 && cut % 4096 != 0));
    assert!((0..=4).all(|page| cuts.contains(&(page * 4096))) && cuts.contains(&20_000));
    let late_page = |bytes: Vec<u8>| bytes.starts_with(&[0; 4096]) && bytes.contains(&7);
    assert!(fates.iter().any(|fate| late_page(of(fate))), "a later page without an earlier one");
}

#[test]
fn unsynced_names_survive_independently() {
    let fates = outcomes(|disk| {
        write_durably(disk, Path::new("d/old"), b"o");
        for name in ["d/a", "d/b"] {
            write(disk, Path::new(name), b"n").sync().unwrap();
        }
        disk.remove(Path::new("d/old")).unwrap();
    });
    assert_eq!(fates.len(), 8);
    let replaced = outcomes(|disk| {
        write_durably(disk, Path::new("d/a"), b"old");
        write(disk, Path::new("d/a"), b"new").sync().unwrap();
    });
    let expected = [files(&[]), files(&[("a", b"old")]), files(&[("a", b"new")])];
    assert_eq!(replaced, BTreeSet::from(expected));
}

#[test]
fn a_rename_between_directories_needs_both_synced() {
    let fates = |dirs: &[&str]| {
        outcomes(|disk| {
            disk.create_dir_all(Path::new("e")).unwrap();
            write_durably(disk, Path::new("d/a"), b"x");
            disk.rename(Path::new("d/a"), Path::new("e/a")).unwrap();
            dirs.iter().for_each(|dir| disk.sync_dir(Path::new(dir)).unwrap());
        })
    };
    let either = BTreeSet::from([files(&[]), files(&[("a", b"x")])]);
    assert_eq!((fates(&["d"]), fates(&["e"])), (either.clone(), either));
    assert_eq!(fates(&["e", "d"]), BTreeSet::from([files(&[])]));
}

#[test]
fn an_unsynced_link_may_be_missing() {
    let fates = outcomes(|disk| {
        write_durably(disk, Path::new("d/a"), b"x");
        disk.link(Path::new("d/a"), Path::new("d/b")).unwrap();
    });
    let expected = [files(&[("a", b"x")]), files(&[("a", b"x"), ("b", b"x")])];
    assert_eq!(fates, BTreeSet::from(expected));
}

#[test]
fn an_unsynced_cut_may_come_undone() {
    let fates = outcomes(|disk| {
        write_durably(disk, Path::new("d/a"), b"keep, torn");
        disk.truncate(Path::new("d/a"), 4).unwrap();
    });
    let expected = [files(&[("a", b"keep")]), files(&[("a", b"keep, torn")])];
    assert_eq!(fates, BTreeSet::from(expected));
}

#[test]
fn after_a_failed_sync_a_later_one_saves_nothing_of_before() {
    let fates = outcomes(|disk| {
        let mut file = disk.create(Path::new("d/a")).unwrap();
        disk.sync_dir(Path::new("d")).unwrap();
        file.append(b"x").unwrap();
        disk.fail_after(1, FaultKind::SyncError);
        assert!(file.sync().is_err());
        assert_eq!(read(disk, Path::new("d/a")), b"x", "still in the cache");
        file.append(b"y").unwrap();
        file.sync().unwrap();
    });
    let expected = [files(&[("a", b"xy")]), files(&[("a", b"\0y")])];
    assert_eq!(fates, BTreeSet::from(expected));
}

#[test]
fn writing_once_more_saves_what_a_failed_sync_gave_up() {
    let fates = outcomes(|disk| {
        let path = Path::new("d/a");
        let mut file = disk.create(path).unwrap();
        disk.sync_dir(Path::new("d")).unwrap();
        file.append(b"x").unwrap();
        disk.fail_after(1, FaultKind::SyncError);
        assert!(file.sync().is_err());
        drop(file);
        disk.rewrite(path).unwrap();
    });
    assert_eq!(fates, BTreeSet::from([files(&[("a", b"x")])]));
}

#[test]
fn names_wait_for_a_sync_that_succeeds() {
    let fates = |syncs: usize| {
        outcomes(|disk| {
            write(disk, Path::new("d/a"), b"x").sync().unwrap();
            disk.fail_after(1, FaultKind::SyncError);
            let succeeded = (0..syncs).map(|_| disk.sync_dir(Path::new("d")).is_ok());
            assert_eq!(succeeded.collect::<Vec<_>>(), [false, true][..syncs]);
        })
    };
    assert_eq!(fates(1), BTreeSet::from([files(&[]), files(&[("a", b"x")])]));
    assert_eq!(fates(2), BTreeSet::from([files(&[("a", b"x")])]));
}

#[test]
fn a_full_disk_refuses_for_a_while_and_tells_how_much_was_written() {
    let partial: BTreeSet<u64> = (0..200)
        .map(|seed| {
            let disk = SimDisk::new(seed);
            let [a, b] = [Path::new("a"), Path::new("b")];
            let mut file = write(&disk, a, b"12");
            disk.fail_after(2, FaultKind::NoSpace { operations: 2 });
            file.append(b"34").unwrap();
            assert_eq!(kind_of(file.append(b"567")), ErrorKind::StorageFull);
            assert_eq!(disk.free_bytes(Path::new("")).unwrap(), 0);
            file.sync().unwrap();
            assert_eq!(kind_of(disk.create(b)), ErrorKind::StorageFull);
            assert!(!disk.exists(b));
            let len = file.len();
            assert_eq!(read(&disk, a), b"1234567"[..len as usize]);
            file.append(b"8").unwrap();
            assert_eq!(file.len(), len + 1);
            assert!(disk.free_bytes(Path::new("")).unwrap() > 0);
            assert_eq!(disk.strikes(), 2);
            len
        })
        .collect();
    assert_eq!(partial, BTreeSet::from([4, 5, 6, 7]));
}

#[test]
fn a_read_error_strikes_once() {
    let disk = SimDisk::new(1);
    let path = Path::new("a");
    write_durably(&disk, path, b"x");
    disk.fail_after(2, FaultKind::ReadError);
    let file = disk.open(path).unwrap();
    let results: Vec<bool> = (0..4).map(|_| file.read_at(&mut [0], 0).is_ok()).collect();
    assert_eq!(results, [true, false, true, true]);
}

#[test]
fn a_planned_crash_stops_the_machine_in_the_middle() {
    let mut happened = BTreeSet::new();
    for seed in 0..100 {
        let disk = SimDisk::new(seed);
        let [a, b] = [Path::new("a"), Path::new("b")];
        write_durably(&disk, a, b"x");
        let reading = disk.open(a).unwrap();
        let lock = disk.lock(Path::new("")).unwrap();
        assert_eq!(disk.operations(), 4);
        disk.fail_after(2, FaultKind::Crash);
        let mut file = disk.create(b).unwrap();
        assert!(!disk.is_dead());
        assert!(disk.rename(a, Path::new("c")).is_err());
        assert!(disk.is_dead());
        assert!(file.append(b"y").is_err() && file.sync().is_err());
        assert!(reading.read_at(&mut [0], 0).is_err());
        assert!(disk.open(a).is_err() && disk.list(Path::new("")).is_err() && !disk.exists(a));
        assert!(disk.lock(Path::new("")).is_err() && disk.sync_dir(Path::new("")).is_err());
        let rebooted = disk.crash();
        assert_eq!(rebooted.operations(), 0);
        happened.insert(rebooted.exists(Path::new("c")));
        assert!(rebooted.exists(a) != rebooted.exists(Path::new("c")));
        let _held = rebooted.lock(Path::new("")).unwrap();
        drop(lock);
        assert_eq!(kind_of(rebooted.lock(Path::new(""))), ErrorKind::WouldBlock);
    }
    assert_eq!(happened.len(), 2);
}

#[test]
fn a_killed_process_leaves_what_the_system_had() {
    let fates: BTreeSet<_> = (0..2000)
        .map(|seed| {
            let disk = SimDisk::new(seed);
            let path = Path::new("a");
            let mut file = write(&disk, path, b"x");
            let lock = disk.lock(Path::new("")).unwrap();
            disk.advance(3);
            let next = disk.kill();
            assert!(file.append(b"y").is_err() && file.sync().is_err() && !disk.exists(path));
            assert_eq!(read(&next, path), b"x");
            assert_eq!(next.monotonic_ns(), 3);
            let _held = next.lock(Path::new("")).unwrap();
            drop(lock);
            assert!(next.lock(Path::new("")).is_err());
            // Another death while waiting for a sync does not spoil the next one.
            next.fail_after(1, FaultKind::Crash);
            assert!(next.rewrite(path).is_err());
            let next = next.kill();
            if seed % 2 == 0 {
                next.rewrite(path).unwrap();
                let survivor = next.crash().open(path).ok();
                assert!(survivor.is_none_or(|file| file.len() == 1));
                return None;
            }
            // The power can still take what nobody synced.
            next.crash().open(path).map(|file| file.len()).ok()
        })
        .collect();
    assert_eq!(fates, BTreeSet::from([None, Some(0), Some(1)]));
}

#[test]
fn the_clock_moves_only_when_told() {
    let disk = SimDisk::new(1);
    let (wall, monotonic) = (disk.now_ns(), disk.monotonic_ns());
    disk.advance(5);
    assert_eq!((disk.now_ns(), disk.monotonic_ns()), (wall + 5, monotonic + 5));
    let rebooted = disk.crash();
    assert_eq!((rebooted.now_ns(), rebooted.monotonic_ns()), (wall + 5, 0));
}

#[test]
fn rot_changes_one_byte() {
    let disk = SimDisk::new(1);
    let path = Path::new("a");
    write_durably(&disk, path, b"abc");
    disk.rot(path, 1, 0x20).unwrap();
    assert_eq!(read(&disk, path), b"aBc");
    assert_eq!(kind_of(disk.rot(path, 3, 1)), ErrorKind::UnexpectedEof);
}

/// One step of a random history.
#[derive(Clone, Debug)]
enum Step {
    Append(u8, usize),
    Sync(u8),
    Create(u8),
    Rename(u8, u8),
    Remove(u8),
    SyncDir,
}

fn step() -> impl Strategy<Value = Step> {
    let name = 0..4u8;
    prop_oneof![
        4 => (name.clone(), 0..9000usize).prop_map(|(file, len)| Step::Append(file, len)),
        2 => name.clone().prop_map(Step::Sync),
        2 => name.clone().prop_map(Step::Create),
        1 => (name.clone(), name.clone()).prop_map(|(from, to)| Step::Rename(from, to)),
        1 => name.prop_map(Step::Remove),
        1 => Just(Step::SyncDir),
    ]
}

/// A file of a history: what was appended, and how much of it was synced.
struct Played {
    handle: Box<dyn AppendFile>,
    bytes: Vec<u8>,
    synced: usize,
}

/// Plays a history and returns the files as they must be seen afterwards.
fn play(disk: &SimDisk, steps: &[Step]) -> [Option<Played>; 4] {
    let path = |file: u8| PathBuf::from(file.to_string());
    let mut files = [const { None::<Played> }; 4];
    for (index, step) in steps.iter().enumerate() {
        match *step {
            Step::Append(file, len) => {
                if let Some(played) = &mut files[file as usize] {
                    let piece = vec![index as u8 | 1; len];
                    played.handle.append(&piece).unwrap();
                    played.bytes.extend(piece);
                }
            }
            Step::Sync(file) => {
                if let Some(played) = &mut files[file as usize] {
                    played.handle.sync().unwrap();
                    played.synced = played.bytes.len();
                }
            }
            Step::Create(file) => {
                let handle = disk.create(&path(file)).unwrap();
                files[file as usize] = Some(Played { handle, bytes: vec![], synced: 0 });
            }
            Step::Rename(from, to) if from != to && files[from as usize].is_some() => {
                disk.rename(&path(from), &path(to)).unwrap();
                files[to as usize] = files[from as usize].take();
            }
            Step::Remove(file) if files[file as usize].take().is_some() => {
                disk.remove(&path(file)).unwrap();
            }
            Step::SyncDir => disk.sync_dir(Path::new("")).unwrap(),
            Step::Rename(..) | Step::Remove(_) => {}
        }
    }
    files
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn histories_keep_what_was_synced_and_invent_nothing(
        seed: u64,
        steps in prop::collection::vec(step(), 0..60),
    ) {
        let disk = SimDisk::new(seed);
        let files = play(&disk, &steps);
        let before: Vec<_> = (0..4)
            .map(|file: u8| disk.exists(Path::new(&file.to_string())))
            .collect();
        prop_assert_eq!(&before, &files.iter().map(Option::is_some).collect::<Vec<_>>());
        disk.sync_dir(Path::new("")).unwrap();
        let rebooted = disk.crash();
        for (file, expected) in files.iter().enumerate() {
            let path = PathBuf::from(file.to_string());
            let Some(Played { bytes, synced, .. }) = expected else {
                prop_assert!(!rebooted.exists(&path));
                continue;
            };
            let found = read(&rebooted, &path);
            prop_assert!(found.len() >= *synced && found.len() <= bytes.len());
            prop_assert_eq!(&found[..*synced], &bytes[..*synced]);
            let sent_or_zero = found.iter().zip(bytes).all(|(a, b)| *a == 0 || a == b);
            prop_assert!(sent_or_zero, "bytes that nobody wrote");
        }
    }

    #[test]
    fn equal_seeds_give_equal_fates(seed: u64, steps in prop::collection::vec(step(), 0..40)) {
        let run = || {
            let disk = SimDisk::new(seed);
            let _handles = play(&disk, &steps);
            let rebooted = disk.crash();
            let names = names(&rebooted, Path::new(""));
            let bytes: Vec<_> = names.iter().map(|name| read(&rebooted, Path::new(name))).collect();
            (names, bytes, rebooted.random())
        };
        prop_assert_eq!(run(), run());
    }
}

#[test]
fn what_is_written_over_what_a_failed_sync_lost_is_durable_once_synced() {
    for seed in 0..500 {
        let disk = SimDisk::new(seed);
        disk.create_dir_all(Path::new("d")).unwrap();
        let path = Path::new("d/a");
        let mut file = write(&disk, path, &[1; 100]);
        disk.sync_dir(Path::new("d")).unwrap();
        disk.fail_after(1, FaultKind::SyncError);
        file.sync().unwrap_err();
        let mut file = disk.overwrite(path).unwrap();
        file.append(&[2; 40]).unwrap();
        file.append(&[3; 30]).unwrap();
        file.sync().unwrap();
        file.append(&[4; 10]).unwrap();
        let bytes = read(&disk.crash(), path);
        assert_eq!(bytes[..70], [[2; 40].to_vec(), [3; 30].to_vec()].concat(), "seed {seed}");
        assert!(bytes[70..].iter().all(|byte| [0, 1, 4].contains(byte)), "seed {seed}: {bytes:?}");
    }
}
