//! Checkpoint files: what is written comes back, and no damage goes unseen.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failing unwrap is a failing test, in helper functions too"
)]

#[allow(dead_code, reason = "shared with other tests, which need other parts")]
mod model;

use foliot_disk::{Disk, SimDisk};
use foliot_index::{Error, Mark, Registry, SegmentReader, SegmentWriter};
use model::{Line, write_all};
use std::path::Path;

const PATH: &str = "/store/registry";

fn disk() -> SimDisk {
    let disk = SimDisk::new(1);
    disk.create_dir_all(Path::new("/store")).unwrap();
    disk
}

fn put(disk: &SimDisk, bytes: &[u8]) {
    let mut file = disk.create(Path::new(PATH)).unwrap();
    file.append(bytes).unwrap();
}

fn get(disk: &SimDisk) -> Vec<u8> {
    let file = disk.open(Path::new(PATH)).unwrap();
    let mut bytes = vec![0; file.len() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

fn save(disk: &SimDisk, registry: &Registry) {
    let file = disk.create(Path::new(PATH)).unwrap();
    let mut writer = SegmentWriter::new(file, PATH, registry.epoch()).unwrap();
    registry.checkpoint_slices(&Mark::default(), &mut |records| writer.append(records)).unwrap();
    assert_eq!(writer.finish().unwrap(), get(disk).len() as u64);
}

fn load(disk: &SimDisk) -> Result<Registry, Error> {
    let mut reader = SegmentReader::new(disk.open(Path::new(PATH)).unwrap(), PATH)?;
    let registry = Registry::new(reader.epoch());
    registry.load(&mut reader)?;
    Ok(registry)
}

fn small() -> Registry {
    let registry = Registry::new(5);
    for i in 0..4 {
        write_all(&registry, i % 2, &[Line::new(&format!("m,h=host{i},r=eu"), &["a", "b"])]);
    }
    registry
}

#[test]
fn a_checkpoint_comes_back_and_is_durable() {
    let disk = disk();
    let registry = Registry::new(5);
    let lines: Vec<Line> = (0..30_000)
        .map(|i| Line::new(&format!("m{},host=web-{i},rack={}", i % 3, i % 97), &["a", "b"]))
        .collect();
    write_all(&registry, 0, &lines);
    save(&disk, &registry);
    disk.sync_dir(Path::new("/store")).unwrap();
    let loaded = load(&disk.crash()).unwrap();
    assert_eq!((loaded.epoch(), loaded.mark()), (5, registry.mark()));
    for sid in 0..60_000 {
        assert_eq!(loaded.identity(sid), registry.identity(sid));
    }
    assert_eq!(write_all(&loaded, 0, &lines).sids, write_all(&registry, 0, &lines).sids);
}

#[test]
fn every_cut_and_every_flipped_bit_is_detected() {
    let disk = disk();
    // Several extents, so that their order matters too.
    let registry = small();
    let file = disk.create(Path::new(PATH)).unwrap();
    let mut writer = SegmentWriter::new(file, PATH, 5).unwrap();
    let (records, _) = registry.checkpoint(&Mark::default());
    for _ in 0..3 {
        writer.append(&records).unwrap();
    }
    writer.finish().unwrap();
    let sound = get(&disk);
    assert!(load(&disk).is_ok());
    for end in 0..sound.len() {
        put(&disk, &sound[..end]);
        assert!(matches!(load(&disk), Err(Error::Damaged { .. })), "cut at {end}");
    }
    for at in 0..sound.len() {
        for bit in 0..8 {
            let mut bad = sound.clone();
            bad[at] ^= 1 << bit;
            put(&disk, &bad);
            match load(&disk) {
                Err(Error::Damaged { file, offset, .. }) => {
                    assert!(file == PATH && offset <= at as u64, "byte {at}: {offset}");
                }
                other => panic!("byte {at} bit {bit}: {:?}", other.map(|r| r.counts())),
            }
        }
    }
    let mut longer = sound.clone();
    longer.push(0);
    put(&disk, &longer);
    assert!(matches!(load(&disk), Err(Error::Damaged { .. })));
    // An extent lost, with the file otherwise sound.
    let extent = records.len() + 8;
    let mut shorter = sound.clone();
    shorter.drain(24..24 + extent);
    put(&disk, &shorter);
    let Err(error) = load(&disk) else { panic!("a lost extent goes unseen") };
    assert!(error.to_string().contains("missing"), "{error}");
}

#[test]
fn strangers_and_newer_versions_are_named() {
    let disk = disk();
    save(&disk, &small());
    let sound = get(&disk);
    let mut bytes = sound.clone();
    bytes[..8].copy_from_slice(b"RIFFWAVE");
    put(&disk, &bytes);
    assert!(load(&disk).unwrap_err().to_string().contains("is not a registry checkpoint"));
    let mut bytes = sound;
    bytes[8] = 2;
    let sum = foliot_codec::checksum(&bytes[..20]);
    bytes[20..24].copy_from_slice(&sum.to_le_bytes());
    put(&disk, &bytes);
    let error = load(&disk).unwrap_err().to_string();
    assert!(error.contains("version 2") && error.contains(PATH), "{error}");
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
        1, 5, // epoch 5
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
    let disk = disk();
    save(&disk, &registry);
    let file = get(&disk);
    assert_eq!(file[..20], *b"FoliotIx\x01\0\0\0\x05\0\0\0\0\0\0\0");
    assert_eq!(file[24..28], (expected.len() as u32).to_le_bytes());
    assert_eq!(file[32..32 + expected.len()], *expected);
    assert_eq!(file[32 + expected.len()..][..12], *b"\xff\xff\xff\xff\x01\0\0\0\x3f\0\0\0");
    assert_eq!(file.len(), 24 + 8 + expected.len() + 24);
}
