//! Readers of files: a store in which one file holds any bytes is checked, opened, read whole and
//! repaired. Each may refuse; none may panic, hang or take memory without bound.

use crate::store::{DIR, of_all_files, open, selector};
use foliot_disk::{Disk, SimDisk};
use foliot_engine::{MayLose, check, inspect, repair};
use foliot_model::{Samples, TimeRange};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The sound store: names and bytes.
fn sound() -> &'static [(String, Vec<u8>)] {
    static SOUND: OnceLock<Vec<(String, Vec<u8>)>> = OnceLock::new();
    SOUND.get_or_init(|| {
        let disk = of_all_files();
        let names = disk.list(Path::new(DIR)).expect("the store is there").into_iter();
        let mut files: Vec<_> = names.map(|name| (name.clone(), bytes(&disk, &name))).collect();
        files.sort();
        files
    })
}

fn bytes(disk: &SimDisk, name: &str) -> Vec<u8> {
    let file = disk.open(&Path::new(DIR).join(name)).expect("the file is there");
    let mut bytes = vec![0; file.len() as usize];
    file.read_at(&mut bytes, 0).expect("a simulated disk gives everything");
    bytes
}

fn seeds(prefix: &str) -> Vec<Vec<u8>> {
    let found = sound().iter().filter(|(name, _)| name.starts_with(prefix));
    let found: Vec<_> = found.map(|(_, bytes)| bytes.clone()).collect();
    assert!(!found.is_empty(), "the sound store has a file {prefix}");
    found
}

/// Puts `data` in the place of a file, the one whose length is nearest among those of the kind; of
/// the manifest in the place of both copies.
fn examine(prefix: &str, data: &[u8]) {
    let of_kind = sound().iter().filter(|(name, _)| name.starts_with(prefix));
    let (victim, _) =
        of_kind.min_by_key(|(_, bytes)| bytes.len().abs_diff(data.len())).expect("a file");
    let disk = SimDisk::new(1);
    disk.create_dir_all(Path::new(DIR)).expect("a simulated disk takes everything");
    for (name, bytes) in sound() {
        let is_victim = name == victim || prefix == "MANIFEST" && name.starts_with(prefix);
        let bytes = if is_victim { data } else { bytes };
        let path: PathBuf = Path::new(DIR).join(name);
        let mut file = disk.create(&path).expect("a simulated disk takes everything");
        file.append(bytes).expect("a simulated disk takes everything");
        file.sync().expect("a simulated disk takes everything");
    }
    disk.sync_dir(Path::new(DIR)).expect("a simulated disk takes everything");
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let _ = inspect(&shared, &Path::new(DIR).join(victim), true, &mut |_| Ok(()));
    let _ = check(&shared, Path::new(DIR));
    read_all(&disk);
    let _ = repair(&shared, Path::new(DIR), MayLose { names: true, ..MayLose::default() });
    read_all(&disk);
}

fn read_all(disk: &SimDisk) {
    let Ok(engine) = open(disk) else { return };
    let snapshot = engine.snapshot();
    for namespace in [0, 1] {
        let Ok(found) = snapshot.select(&selector(namespace, ""), TimeRange::ALL) else { continue };
        for sid in found {
            let _ = snapshot.identity(sid);
            let _ = snapshot.last(sid);
            let Ok(mut scan) = snapshot.scan(sid, TimeRange::ALL) else { continue };
            let mut samples = Samples::default();
            while scan.next(&mut samples).unwrap_or(false) {
                samples.clear();
            }
        }
    }
    drop(snapshot);
    let _ = engine.flush();
    let _ = engine.merge_all();
    let _ = engine.close();
}

macro_rules! of_kind {
    ($($run:ident, $seeds:ident, $prefix:literal;)*) => {$(
        pub(crate) fn $run(data: &[u8]) {
            examine($prefix, data);
        }

        pub(crate) fn $seeds() -> Vec<Vec<u8>> {
            seeds($prefix)
        }
    )*};
}

of_kind! {
    wal, wal_seeds, "wal-";
    manifest, manifest_seeds, "MANIFEST";
    part, part_seeds, "part-";
    index, index_seeds, "index-";
    catalog, catalog_seeds, "catalog-";
    deletes, deletes_seeds, "deletes-";
    segment, segment_seeds, "segment-";
}
