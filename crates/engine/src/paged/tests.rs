//! One damaged place in each stretch costs nothing; more is found and never read as if it were
//! sound.

use super::*;
use foliot_disk::SimDisk;

const NUMBER: u64 = 7;

fn path() -> &'static Path {
    Path::new("file")
}

/// Bytes that hardly pack, with some that do.
fn logical(len: usize) -> Vec<u8> {
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 56) as u8
    };
    (0..len).map(|at| if at % 9 < 3 { 0 } else { random() }).collect()
}

fn write(disk: &SimDisk, bytes: &[u8], packs: bool) -> Vec<u8> {
    let mut writer = PagedWriter::create(disk, path(), NUMBER).unwrap();
    if packs {
        writer = writer.packed();
    }
    bytes.chunks(5000).for_each(|bytes| writer.write(bytes).unwrap());
    let len = writer.finish().unwrap();
    let stored = read_file(disk);
    assert_eq!(stored.len() as u64, len);
    stored
}

fn read_file(disk: &SimDisk) -> Vec<u8> {
    let file = disk.open(path()).unwrap();
    let mut bytes = vec![0; file.len() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

fn replace(disk: &SimDisk, bytes: &[u8]) {
    disk.create(path()).unwrap().append(bytes).unwrap();
}

/// The logical bytes as a reader gets them, and what it told.
fn read(disk: &SimDisk) -> Result<(Vec<u8>, Vec<String>), Error> {
    let cache = Arc::new(Cache::new(0));
    let reader = PagedReader::open(disk, path(), NUMBER, cache.clone())?;
    let mut bytes = Vec::new();
    reader.read(0, reader.len() as usize, &mut bytes)?;
    Ok((bytes, cache.damages.list()))
}

/// The stored bytes as they are restored, and what was told.
fn restored(disk: &SimDisk) -> Result<(Vec<u8>, Vec<String>), Error> {
    let (mut bytes, mut told) = (Vec::new(), Vec::new());
    let file = disk.open(path()).unwrap();
    restore(&*file, path(), NUMBER, &mut |damage| told.push(damage), &mut |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    })?;
    Ok((bytes, told))
}

/// Damages `bad` and expects the file to be read whole all the same, and restored.
fn expect_mended(disk: &SimDisk, good: &[u8], logical: &[u8], bad: &[u8], what: &str) {
    replace(disk, bad);
    let (bytes, told) = read(disk).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(bytes == logical, "{what}: read something else");
    let (bytes, restored_told) = restored(disk).unwrap();
    assert!(bytes == good, "{what}: restored something else");
    assert!(!restored_told.is_empty(), "{what}: not told");
    // A reader looks at no parity and no second table that it does not need.
    assert!(told.len() <= restored_told.len() + 1, "{what}: {told:?}");
}

#[test]
fn every_flipped_bit_of_small_files_is_mended_and_told() {
    let disk = SimDisk::new(1);
    for (len, packs) in [(1, false), (24, false), (700, false), (5000, true), (33_000, false)] {
        let logical = logical(len);
        let good = write(&disk, &logical, packs);
        let step = (good.len() / 900).max(1);
        for at in (0..good.len()).step_by(step) {
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            expect_mended(&disk, &good, &logical, &bad, &format!("{len} bytes, flipped at {at}"));
        }
    }
}

/// What a disk leaves of a sector: nothing, rubbish, or almost what was there.
const LOST: [fn(usize, u8) -> u8; 3] = [
    |_, _| 0,
    |place, _| ((place as u64 * 0x9e37_79b9) >> 9) as u8,
    |place, byte| match place {
        700 => !byte,
        _ => byte,
    },
];

#[test]
fn a_lost_sector_of_any_file_is_mended() {
    const SECTOR: usize = 4096;
    let disk = SimDisk::new(2);
    for (len, packs, step) in [
        (1, false, 1),
        (24, false, 1),
        (700, false, 1),
        (4080, false, 1),
        (8100, false, 1),
        (20_000, false, 1),
        (200_000, true, 1),
        (200_000, false, 1),
        (1_500_000, false, 61),
        (6_000_000, true, 397),
        // The sectors around the end of the first stretch are among these.
        (9_000_000, false, 397),
    ] {
        let logical = logical(len);
        let good = write(&disk, &logical, packs);
        let sectors = good.len().div_ceil(SECTOR);
        let stretch_end = (4 << 20) / SECTOR;
        let near = stretch_end..(stretch_end + 14).min(sectors);
        for sector in (0..sectors).step_by(step).chain(near).chain([sectors - 1, sectors - 2]) {
            let run = sector * SECTOR..((sector + 1) * SECTOR).min(good.len());
            for lost in LOST {
                let mut bad = good.clone();
                for (place, byte) in bad[run.clone()].iter_mut().enumerate() {
                    *byte = lost(place, *byte);
                }
                if bad != good {
                    let what = format!("{len} bytes, sector {sector} of {sectors}");
                    expect_mended(&disk, &good, &logical, &bad, &what);
                }
            }
        }
    }
}

#[test]
fn a_lost_page_of_a_larger_file_is_mended_but_beside_a_parity() {
    let disk = SimDisk::new(2);
    for (len, packs) in [(1_500_000, false), (6_000_000, true), (9_000_000, false)] {
        let (run, logical) = (32_768, logical(len));
        let good = write(&disk, &logical, packs);
        let mut unmended = 0;
        for at in (0..good.len() - run).step_by(((good.len() / 13) & !511).max(512)) {
            let mut bad = good.clone();
            bad[at..at + run].fill(0xa5);
            replace(&disk, &bad);
            match read(&disk) {
                Ok((bytes, _)) => assert!(bytes == logical, "{len} bytes, {run} lost at {at}"),
                Err(_) => unmended += 1,
            }
        }
        // A run of a page may take a parity and its pages, or both tables.
        assert!(unmended <= 1 + good.len() / (4 << 20), "{len} bytes: {unmended} places");
    }
}

#[test]
fn one_place_in_each_stretch_is_mended_at_once() {
    let disk = SimDisk::new(3);
    let logical = logical(9_000_000);
    let good = write(&disk, &logical, false);
    let mut bad = good.clone();
    for at in [100_000, 5_000_000, 8_900_000] {
        bad[at..at + 20_000].fill(0xa5);
    }
    expect_mended(&disk, &good, &logical, &bad, "three stretches");
    bad[2_000_000] ^= 1;
    replace(&disk, &bad);
    let error = read(&disk).unwrap_err().to_string();
    assert!(error.contains("checksum of page 3 does not fit"), "{error}");
    assert!(restored(&disk).is_err());
}

#[test]
fn two_places_in_a_stretch_are_found_and_never_read_as_sound() {
    let disk = SimDisk::new(4);
    let logical = logical(300_000);
    let good = write(&disk, &logical, true);
    for (one, other) in [(10, 200_000), (40_000, 40_001 + 70_000), (99_000, 230_000)] {
        let mut bad = good.clone();
        bad[one] ^= 4;
        bad[other] ^= 32;
        replace(&disk, &bad);
        match read(&disk) {
            Ok((bytes, _)) => assert!(bytes == logical),
            Err(error) => assert!(error.to_string().contains("checksum of page"), "{error}"),
        }
    }
}

#[test]
fn files_cut_short_are_refused() {
    let disk = SimDisk::new(5);
    for len in [1, 700, 40_000] {
        let good = write(&disk, &logical(len), false);
        for at in (0..good.len()).step_by((good.len() / 300).max(1)) {
            replace(&disk, &good[..at]);
            assert!(read(&disk).is_err(), "{len} bytes cut at {at}");
        }
    }
}

/// A file of which the disk does not give a sector.
struct Unreadable {
    file: Arc<dyn ReadFile>,
    sector: std::ops::Range<u64>,
}

impl ReadFile for Unreadable {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<()> {
        let end = offset + buffer.len() as u64;
        match offset < self.sector.end && self.sector.start < end {
            true => Err(std::io::Error::other("unrecovered read error")),
            false => self.file.read_at(buffer, offset),
        }
    }

    fn len(&self) -> u64 {
        self.file.len()
    }
}

#[test]
fn a_sector_that_the_disk_does_not_give_is_mended() {
    let disk = SimDisk::new(6);
    let good = write(&disk, &logical(200_000), false);
    for at in (0..good.len() as u64).step_by(4096) {
        let file = Unreadable { file: disk.open(path()).unwrap(), sector: at..at + 4096 };
        let mut bytes = Vec::new();
        restore(&file, path(), NUMBER, &mut |_| {}, &mut |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })
        .unwrap();
        assert!(bytes == good, "sector at {at}");
    }
}
