//! What only the real half can show: who owns what it makes, and other names of a file.

use super::RealDisk;
use crate::Disk;
use std::path::Path;

#[test]
fn what_somebody_else_has_a_name_for_is_not_written_over() {
    let disk = RealDisk::new();
    let dir = std::env::temp_dir().join(format!("foliot-disk-{:016x}", disk.random()));
    disk.create_dir_all(&dir).unwrap();
    let (file, copy) = (dir.join("a"), dir.join("copy"));
    std::fs::write(&file, b"bytes").unwrap();
    std::fs::hard_link(&file, &copy).unwrap();
    std::os::unix::fs::symlink(&file, dir.join("link")).unwrap();
    std::fs::create_dir(dir.join("folder")).unwrap();
    for name in ["a", "copy", "link", "folder"] {
        assert!(disk.overwrite(&dir.join(name)).is_err(), "{name}");
    }
    std::fs::remove_file(&copy).unwrap();
    assert!(disk.overwrite(&file).is_ok());
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn a_new_directory_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let dir = std::env::temp_dir().join(format!("foliot-disk-mode-{}", std::process::id()));
    RealDisk::new().create_dir_all(&dir.join("below")).unwrap();
    for dir in [&dir, &dir.join("below")] {
        assert_eq!(std::fs::metadata(dir).unwrap().permissions().mode() & 0o777, 0o700);
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn the_real_half_takes_plain_relative_names() {
    let disk = RealDisk::new();
    assert!(!disk.list(Path::new("")).unwrap().is_empty());
    assert!(disk.exists(Path::new("")) && disk.free_bytes(Path::new("")).unwrap() > 0);
    disk.sync_dir(Path::new("")).unwrap();
}

#[test]
fn what_root_makes_belongs_to_whoever_owns_the_directory() {
    use std::os::unix::fs::{MetadataExt, chown, symlink};
    let disk = RealDisk::new();
    let place = std::env::temp_dir().join(format!("foliot-disk-{:016x}", disk.random()));
    let dir = place.join("of another");
    disk.create_dir_all(&dir).unwrap();
    let uid = |path: &Path| std::fs::symlink_metadata(path).unwrap().uid();
    let own = uid(&dir);
    // Whoever is not root has but itself to give to.
    let other = if own == 0 { 12345 } else { own };
    chown(&dir, Some(other), None).unwrap();
    drop(disk.create(&dir.join("file")).unwrap());
    drop(disk.lock(&dir).unwrap());
    disk.create_dir_all(&dir.join("within/it")).unwrap();
    for made in ["file", "lock", "within", "within/it"] {
        assert_eq!(uid(&dir.join(made)), other, "{made}");
    }
    // A link that the directory's owner made leads to nothing of root's.
    let target = place.join("target");
    std::fs::write(&target, "").unwrap();
    std::fs::remove_file(dir.join("lock")).unwrap();
    symlink(&target, dir.join("lock")).unwrap();
    drop(disk.lock(&dir).unwrap());
    assert_eq!(uid(&target), own);
    std::fs::remove_dir_all(&place).unwrap();
}

/// Another store may lie by now where the first one lay.
#[test]
fn nothing_is_done_in_a_directory_that_was_moved() {
    let disk = RealDisk::new();
    let place = std::env::temp_dir().join(format!("foliot-disk-{:016x}", disk.random()));
    let (dir, elsewhere) = (place.join("data"), place.join("moved"));
    disk.create_dir_all(&dir).unwrap();
    let lock = disk.lock(&dir).unwrap();
    disk.create(&dir.join("before")).unwrap();
    std::fs::rename(&dir, &elsewhere).unwrap();
    let is_refused =
        |done: std::io::Result<()>| done.unwrap_err().to_string().contains("was moved");
    assert!(is_refused(disk.stays(&dir)));
    let other = RealDisk::new();
    other.create_dir_all(&dir).unwrap();
    let others = other.lock(&dir).unwrap();
    other.create(&dir.join("theirs")).unwrap();
    let (own, theirs) = (dir.join("own"), dir.join("theirs"));
    assert!(is_refused(disk.stays(&dir)));
    assert!(is_refused(disk.create(&own).map(drop)));
    assert!(is_refused(disk.extend(&theirs).map(drop)));
    assert!(is_refused(disk.overwrite(&theirs).map(drop)));
    assert!(is_refused(disk.truncate(&theirs, 0)));
    assert!(is_refused(disk.rewrite(&theirs)));
    assert!(is_refused(disk.rename(&theirs, &own)));
    assert!(is_refused(disk.link(&theirs, &own)));
    assert!(is_refused(disk.remove(&theirs)));
    other.stays(&dir).unwrap();
    // Whoever lets go of it may open what is there now.
    drop((lock, others));
    let _lock = disk.lock(&dir).unwrap();
    disk.remove(&theirs).unwrap();
    std::fs::remove_dir_all(&place).unwrap();
}
