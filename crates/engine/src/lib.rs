//! The store: wal, head, parts, manifest, recovery, snapshots.
