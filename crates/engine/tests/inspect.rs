//! An inspection judges a store as a start does: what a start takes is no damage.

use crate::support::{Line, Owned, selector, write};
use foliot_disk::{Disk, SimDisk};
use foliot_engine::{Ack, Caller, Config, Engine, Shown, inspect};
use std::path::Path;
use std::sync::Arc;

const DIR: &str = "store";

fn put(engine: &Engine, at: i64) {
    let line = |host: &str| Line {
        key: format!("m host={host}"),
        time_ns: at,
        fields: vec![("a".to_owned(), Owned::Integer(at))],
    };
    let lines = [line("a"), line("b"), line(&format!("only-{at}"))];
    let (commit, rejects) = write(engine, 0, &lines);
    assert!(rejects.is_empty());
    engine.wait(commit.unwrap(), Ack::Durable).unwrap();
}

fn drop_all(engine: &Engine) {
    let (_, commit) = engine.drop_series(&selector(0, "m"), &Caller::default()).unwrap();
    engine.wait(commit, Ack::Durable).unwrap();
}

/// A store of four epochs, of which two are on disk and one is closing; names that were dropped
/// and registered again, before and after flushes; and all of that in the wal once more.
fn store() -> SimDisk {
    let disk = SimDisk::new(1);
    let config = Config { background: false, ..Config::default() };
    let engine = Engine::open(Arc::new(disk.clone()), Path::new(DIR), config).unwrap();
    for round in 0..12 {
        put(&engine, round);
        match round % 4 {
            0 => drop_all(&engine),
            1 => engine.flush().unwrap(),
            2 => {
                drop_all(&engine);
                put(&engine, 100 + round);
                engine.flush().unwrap();
            }
            _ => engine.begin_epoch().unwrap(),
        }
    }
    put(&engine, 12);
    drop_all(&engine);
    put(&engine, 13);
    engine.close().unwrap();
    disk
}

fn lines(disk: &SimDisk, path: &Path) -> Vec<String> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let mut lines = Vec::new();
    inspect(&disk, path, true, &mut |shown| {
        lines.push(match shown {
            Shown::Line(line) => line.to_owned(),
            Shown::Samples { sid, identity, samples } => {
                format!("{sid} {} {samples:?}", identity.map_or("unknown", |i| &*i.measurement))
            }
        });
        Ok(())
    })
    .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    lines
}

#[test]
fn a_sound_store_of_several_epochs_and_drops_is_shown_whole() {
    let disk = store();
    let all = lines(&disk, Path::new(DIR));
    let text = all.join("\n");
    assert!(!text.contains("cannot be read"), "{text}");
    assert!(text.matches("\n  epoch").count() >= 4, "{text}");
    // Who was dropped has no name; what lives has one.
    let living = all.iter().filter(|line| line.contains("host=only-13")).count();
    assert_eq!(living, 0, "it is only in the wal, whose names are shown with samples: {text}");
    assert!(text.contains("registers 3 series"), "{text}");
    assert_eq!(
        all.iter().filter(|line| line.starts_with("file ") && line.contains("wal-")).count(),
        1
    );
    // Each file by itself is no damage either.
    for name in disk.list(Path::new(DIR)).unwrap() {
        if !["audit.log", "LOCK"].contains(&&*name) {
            let alone = lines(&disk, &Path::new(DIR).join(&name));
            assert!(!alone.join("\n").contains("cannot be read"), "{name}: {alone:?}");
        }
    }
}
