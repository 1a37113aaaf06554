//! A disk that is read and never written to.

use super::{kind_of, names, read, write_durably};
use crate::{Disk, SimDisk, Untouched};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

#[test]
fn an_untouched_disk_shows_changes_and_has_none() {
    let below = SimDisk::new(7);
    let dir = Path::new("data");
    below.create_dir_all(dir).unwrap();
    let [old, gone, new] = ["old", "gone", "new"].map(|name| dir.join(name));
    write_durably(&below, &old, b"old bytes");
    write_durably(&below, &gone, b"gone");
    let before = below.kill();
    let disk: &dyn Disk = &Untouched::new(Arc::new(before.clone()));
    disk.extend(&old).unwrap().append(b" and new ones").unwrap();
    disk.remove(&gone).unwrap();
    write_durably(disk, &new, b"new");
    assert_eq!(read(disk, &old), b"old bytes and new ones");
    assert_eq!(
        (read(disk, &new), names(disk, dir)),
        (b"new".to_vec(), ["new", "old"].map(str::to_owned).into())
    );
    assert_eq!(kind_of(disk.open(&gone)), ErrorKind::NotFound);
    assert_eq!(kind_of(disk.remove(&gone)), ErrorKind::NotFound);
    disk.rename(&old, &gone).unwrap();
    disk.truncate(&gone, 3).unwrap();
    assert_eq!(
        (read(disk, &gone), names(disk, dir)),
        (b"old".to_vec(), ["gone", "new"].map(str::to_owned).into())
    );
    assert_eq!(
        (read(&before, &old), read(&before, &gone)),
        (b"old bytes".to_vec(), b"gone".to_vec())
    );
    assert_eq!(names(&before, dir), ["gone", "old"]);
}
