//! The worlds inside the binary.

use std::sync::LazyLock;

use super::written::Written;

pub(super) static TSBS_CPU: World = world(|| read(include_str!("worlds/tsbs-cpu.toml")));
pub(super) static TSBS_DEVOPS: World = world(|| read(include_str!("worlds/tsbs-devops.toml")));
pub(super) static TSBS_IOT: World = world(|| read(include_str!("worlds/tsbs-iot.toml")));
pub(super) static IOTDB: World = world(|| read(include_str!("worlds/iotdb.toml")));
static IOTDB_REPEATING: World = world(|| read(include_str!("worlds/iotdb-repeating.toml")));
pub(super) static CHURN: World = world(|| read(include_str!("worlds/churn.toml")));
pub(super) static SPARSE: World = world(|| read(include_str!("worlds/sparse.toml")));
static SCRAPED: World = world(|| read(include_str!("worlds/scraped.toml")));

/// A world that is read when it is first wanted.
type World = LazyLock<&'static Written>;

const fn world(read: fn() -> &'static Written) -> World {
    LazyLock::new(read)
}

/// All of them.
pub(super) fn all() -> [&'static Written; 8] {
    [&TSBS_CPU, &TSBS_DEVOPS, &TSBS_IOT, &IOTDB, &IOTDB_REPEATING, &CHURN, &SPARSE, &SCRAPED]
        .map(|world| **world)
}

fn read(text: &str) -> &'static Written {
    // A test reads all files, so none is ever empty.
    Written::parse(text).unwrap_or_else(|_| Box::leak(Box::default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_are_read() {
        let texts = [
            include_str!("worlds/tsbs-cpu.toml"),
            include_str!("worlds/tsbs-devops.toml"),
            include_str!("worlds/tsbs-iot.toml"),
            include_str!("worlds/iotdb.toml"),
            include_str!("worlds/iotdb-repeating.toml"),
            include_str!("worlds/churn.toml"),
            include_str!("worlds/sparse.toml"),
            include_str!("worlds/scraped.toml"),
        ];
        for text in texts {
            Written::parse(text).unwrap();
        }
        let names: Vec<&str> = all().iter().map(|written| written.name()).collect();
        let known = ["tsbs-cpu", "tsbs-devops", "tsbs-iot", "iotdb", "iotdb-repeating", "churn"];
        assert_eq!(names, [&known[..], &["sparse", "scraped"]].concat());
    }

    #[test]
    fn a_host_of_devops_has_101_fields_as_published() {
        let tables = TSBS_DEVOPS.tables(1, 0);
        let counts: Vec<usize> = tables.iter().map(|table| table.fields.len()).collect();
        assert_eq!(counts, [10, 7, 7, 6, 9, 8, 7, 16, 31]);
    }
}
