//! The order of all locks.

/// What a lock guards, in the order in which one thread may take several: from top to bottom.
///
/// Locks of one rank are never held together, except for those that were made with
/// `numbered`: of these a thread takes lower numbers first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Rank {
    /// Threads of the store, while it waits for them to end.
    Threads,
    /// Users, changed by one request at a time.
    Users,
    /// Databases and policies, changed by one request at a time.
    Databases,
    /// Kinds of fields that stay: shared by writes that count on them, alone by who forgets some.
    KindsKept,
    /// Kinds of fields, decided by one request at a time.
    Kinds,
    /// One piece of maintenance, for as long as it takes.
    Maintenance,
    /// Namespaces and what they keep, changed by one thread at a time.
    Settings,
    /// Taking samples away from series.
    Taking,
    /// What files hold of memory, for as long as a flush takes.
    Checkpoint,
    /// The manifest: no file comes or goes.
    Files,
    /// The gate: shared by writes, alone by cuts.
    Gate,
    /// What is kept for how long.
    Retention,
    /// How many series there may be of what.
    SeriesLimits,
    /// Small durable facts.
    Catalog,
    /// Names and numbers of namespaces.
    Namespaces,
    /// Epochs in memory.
    Epochs,
    /// One registration at a time. Numbered: newer epochs first.
    Registrar,
    /// Everything registered. Numbered: newer epochs first.
    Names,
    /// Listings in order and values that pass tests, found out before.
    Found,
    /// Raw spellings to series.
    Lookup,
    /// Memory of registrations past.
    Chunks,
    /// New series admitted.
    Admission,
    /// How far the clock is ahead of what is known.
    Clock,
    /// A page of the head. Numbered: lower pages first.
    Page,
    /// Pages on their way into parts.
    Frozen,
    /// The wal's writer thread, while the wal waits for it to end.
    WalWriter,
    /// The wal's file.
    WalFile,
    /// The wal's queue.
    WalQueue,
    /// Whom the wal tells of its progress.
    WalNotify,
    /// What the store's workers are told.
    Orders,
    /// What readers see.
    View,
    /// Older ids of series that a reader found out.
    Earlier,
    /// The audit log's file, then its lines that wait. Numbered.
    Audit,
    /// Work that the threads of one query share.
    Query,
    /// Memory of one query that its next series uses again, and of writes.
    Spares,
    /// Open files.
    Handles,
    /// A shard of the page cache.
    Cache,
    /// Damage that readers found.
    Damages,
    /// Small tables that are read and changed at once: databases, kinds, logins, queries, figures.
    Table,
    /// Directories that the real disk has locked, and files that an untouched one hides.
    Place,
    /// The simulated machine: any operation on its files may come under any lock of the store.
    Machine,
    /// What a file of the simulated machine holds.
    Content,
    /// The latest lines of the log: a line may be logged under any other lock.
    Log,
}
