//! A bit flipped, or a sector lost, in the golden directory, which has every kind of file: the
//! store starts, has everything, and says what is wrong; after a repair nothing is.
//!
//! `make test` flips a bit in some hundred bytes. With `FOLIOT_SWEEP` set one is flipped in every
//! byte of the files whose names begin with it, on all cores:
//!
//! ```text
//! FOLIOT_SWEEP= cargo test --release -p foliot-engine --test golden sweep -- --nocapture
//! FOLIOT_SWEEP=part-0000000010 \
//!     cargo test --release -p foliot-engine --test golden sweep -- --nocapture
//! ```

#![allow(clippy::print_stdout, reason = "the long run's result")]

use super::*;
use foliot_engine::repair;

/// Bytes of each file that a short run damages.
const FLIPS: usize = 24;
/// What a disk loses at once.
const SECTOR: usize = 4096;

#[derive(Debug, Default)]
struct Swept {
    flips: u64,
    /// Told at the start; the others are told by a check only.
    told_at_start: u64,
}

#[test]
fn a_flipped_bit_in_any_paged_file_or_manifest_costs_nothing_and_is_told() {
    let whole = std::env::var("FOLIOT_SWEEP").ok();
    let golden = files(&copy(2));
    let (expected, _) = formula::expected(&formula::steps());
    let begins = |name: &String| whole.as_ref().is_none_or(|begin| name.starts_with(begin));
    for (name, good) in golden.iter().filter(|(name, _)| !name.starts_with("wal-") && begins(name))
    {
        let step = if whole.is_some() { 1 } else { good.len().div_ceil(FLIPS) };
        let places = Vec::from_iter((0..good.len()).step_by(step));
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let sweep = |places: &[usize]| {
            let mut swept = Swept::default();
            for &at in places {
                let mut bad = good.clone();
                bad[at] ^= 1 << ((at.wrapping_mul(0x9e37_79b1) >> 13) % 8);
                let what = format!("{name}, byte {at}");
                expect_mended(name, good, &bad, &what, &expected, &mut swept);
            }
            swept
        };
        let swept = std::thread::scope(|scope| {
            let shares = places.chunks(places.len().div_ceil(threads).max(1));
            let shares: Vec<_> = shares.map(|share| scope.spawn(|| sweep(share))).collect();
            let swept = shares.into_iter().map(|share| share.join().expect("a share of the sweep"));
            swept.fold(Swept::default(), |all, more| Swept {
                flips: all.flips + more.flips,
                told_at_start: all.told_at_start + more.told_at_start,
            })
        });
        if whole.is_some() {
            println!("{name}: {swept:?}");
        }
    }
}

#[test]
fn a_lost_sector_of_any_paged_file_or_manifest_costs_nothing_and_is_told() {
    let (expected, _) = formula::expected(&formula::steps());
    let golden = files(&copy(2));
    for (name, good) in golden.iter().filter(|(name, _)| !name.starts_with("wal-")) {
        for sector in (0..good.len()).step_by(SECTOR) {
            let bad = without(good, sector);
            let what = format!("{name}, sector at {sector}");
            expect_mended(name, good, &bad, &what, &expected, &mut Swept::default());
        }
    }
}

/// A file of which a sector is lost.
fn without(good: &[u8], sector: usize) -> Vec<u8> {
    let mut bad = good.to_vec();
    bad[sector..(sector + SECTOR).min(good.len())].fill(0);
    bad
}

#[test]
fn a_lost_sector_of_the_wal_never_stops_the_start_and_is_told() {
    let (expected, _) = formula::expected(&formula::steps());
    let golden = files(&copy(2));
    for (name, good) in golden.iter().filter(|(name, _)| name.starts_with("wal-")) {
        for sector in (0..good.len()).step_by(SECTOR) {
            let disk = copy(2);
            replace(&disk, name, &without(good, sector));
            let engine = open(&disk).unwrap_or_else(|error| panic!("{name}, {sector}: {error}"));
            let is_told = !engine.damages().is_empty() || !engine.notes().is_empty();
            // Deletes in it are lost as well, so older values may show.
            assert!(is_told || all(&engine) == expected, "{name}, sector at {sector}: unseen");
        }
    }
}

fn expect_mended(
    name: &str,
    good: &[u8],
    bad: &[u8],
    what: &str,
    expected: &Found,
    swept: &mut Swept,
) {
    let disk = copy(2);
    replace(&disk, name, bad);
    let dynamic: Arc<dyn Disk> = Arc::new(disk.clone());
    let checked = foliot_engine::check(&dynamic, Path::new(STORE)).expect(what);
    assert!(checked.problems.iter().any(|problem| problem.contains(name)), "{what}: unseen");
    let engine = open(&disk).expect(what);
    swept.flips += 1;
    swept.told_at_start += u64::from(!engine.damages().is_empty());
    assert!(all(&engine) == *expected, "{what}: something else is read");
    drop(engine);
    // The start wrote the manifest once more; what is left to mend is in the other files.
    repair(&dynamic, Path::new(STORE), foliot_engine::MayLose::default()).expect(what);
    let checked = foliot_engine::check(&dynamic, Path::new(STORE)).expect(what);
    assert_eq!(checked.problems, [""; 0], "{what}: after the repair");
    if !name.starts_with("MANIFEST") {
        assert!(bytes(&disk, name) == good, "{what}: the file is not what it was");
    }
    let engine = open(&disk).expect(what);
    assert_eq!(engine.damages(), [""; 0], "{what}: after the repair");
    assert!(all(&engine) == *expected, "{what}: something else is read after the repair");
}

#[test]
fn a_flipped_bit_in_the_wal_never_stops_the_start_and_is_told() {
    let is_whole = std::env::var_os("FOLIOT_SWEEP").is_some();
    let golden = files(&copy(2));
    let (expected, _) = formula::expected(&formula::steps());
    for (name, good) in golden.iter().filter(|(name, _)| name.starts_with("wal-")) {
        let step = if is_whole { 1 } else { good.len().div_ceil(4 * FLIPS) };
        for at in (0..good.len()).step_by(step) {
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            let disk = copy(2);
            replace(&disk, name, &bad);
            let dynamic: Arc<dyn Disk> = Arc::new(disk.clone());
            let checked = foliot_engine::check(&dynamic, Path::new(STORE)).unwrap();
            // A note where it may be the torn end of a power cut.
            let is_told = checked.problems.len() + checked.notes.len() > 0;
            let engine = open(&disk).unwrap_or_else(|error| panic!("{name}, byte {at}: {error}"));
            // What parts hold already is not read again, so damage to it is none.
            assert!(is_told || all(&engine) == expected, "{name}, byte {at}: unseen");
        }
    }
}
