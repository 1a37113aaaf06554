//! Files of other databases that are brought in.

use foliot_migrate::{Import, Place, Target, prometheus};
use std::fs;

/// A directory that a Prometheus wrote; `testdata/README.md` says how.
macro_rules! recorded {
    ($name:literal) => {
        include_bytes!(concat!("../../testdata/prometheus/data/", $name))
    };
}

/// Files of it, each of which a target's input takes the place of.
const FILES: [(&str, &[u8]); 5] = [
    ("01HF6Z8ZC0GARDEN0000000000/index", recorded!("01HF6Z8ZC0GARDEN0000000000/index")),
    (
        "01HF6Z8ZC0GARDEN0000000000/chunks/000001",
        recorded!("01HF6Z8ZC0GARDEN0000000000/chunks/000001"),
    ),
    ("01HF6Z8ZC0GARDEN0000000000/tombstones", recorded!("01HF6Z8ZC0GARDEN0000000000/tombstones")),
    ("wal/00000000", recorded!("wal/00000000")),
    ("wal/00000001", recorded!("wal/00000001")),
];

/// The first byte says which file the others are.
pub(crate) fn prometheus(data: &[u8]) {
    let Some((which, data)) = data.split_first() else { return };
    let which = usize::from(*which) % FILES.len();
    let thread = std::thread::current().id();
    let name = format!("foliot-fuzz-{}-{thread:?}", std::process::id());
    let dir = std::env::temp_dir().join(name);
    for (at, (name, recorded)) in FILES.iter().enumerate() {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().expect("a file lies in a directory"))
            .expect("a directory");
        fs::write(path, if at == which { data } else { recorded }).expect("a file");
    }
    let directory = prometheus::Directory::open(&dir).expect("a block and a wal are there");
    let mut report = |_: &_| {};
    let mut import = Import::new(Target::Nowhere, Place::default(), &mut report);
    prometheus::import(&directory, &mut import).expect("nowhere is always writable");
    let (progress, faults) = import.finish().expect("nowhere is always writable");
    assert_eq!(progress.refused == 0, faults.is_empty(), "each refusal has a reason");
    fs::remove_dir_all(dir).expect("it was there");
}

pub(crate) fn prometheus_seeds() -> Vec<Vec<u8>> {
    let seed = |(at, (_, bytes)): (usize, &(&str, &[u8]))| [&[at as u8], *bytes].concat();
    FILES.iter().enumerate().map(seed).collect()
}
