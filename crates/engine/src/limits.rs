//! Every named limit of the store, with its reason.

use std::time::Duration;

/// Samples in one block. At 1024 the header costs 0.02 byte a sample, and 8 KiB of decoded numbers
/// fit a first-level cache.
pub(crate) const BLOCK_SAMPLES_MAX: usize = 1024;

/// Samples that stay open when a block is sealed of a series with late ones, so that what comes a
/// little later still finds its place: lateness is mostly a matter of seconds or of some dozen
/// steps, and coding an eighth of the samples twice costs little.
pub(crate) const REORDER_SAMPLES: usize = BLOCK_SAMPLES_MAX / 8;

/// Series in one page of the head: a page's lock covers a hundred typical lines, and freezing a
/// page copies 32 KiB, a few microseconds.
pub(crate) const PAGE_SERIES: usize = 1024;

/// A delete of up to so many series cuts them out of the head while writes wait, some milliseconds;
/// one of more series takes whole pages aside and cuts those. Series that are dropped are cut when
/// writes go on, however many there are.
pub(crate) const CUT_LIVE_SERIES_MAX: u64 = 1024;

/// Samples that a rename writes in one frame: enough to make registrations and frames cheap, few
/// enough for the writes of others to go in between.
pub(crate) const RENAME_ROWS_MAX: usize = 16 << 10;

/// Samples after which a rename drops what it has copied: a second's work, which deletes wait for,
/// and which is done again when a crash comes in between.
pub(crate) const RENAME_STEP_SAMPLES: u64 = 4 << 20;

/// Samples that a rename still has to copy, about, when it holds writes off to drop series: some
/// milliseconds.
pub(crate) const RENAME_HELD_SAMPLES: u64 = 4 << 10;

/// Bytes of names, texts and histograms that go into such a frame, at most by one block more.
pub(crate) const RENAME_BYTES_MAX: usize = 1 << 20;

/// With more deletes than this at once the oldest are made physical before their deadline: each of
/// them is looked at for every series that is read.
pub(crate) const TOMBSTONES_MAX: usize = 1000;

/// No block crosses a multiple of this, so that parts can be kept apart by age: seven days.
pub(crate) const WINDOW_NS: i64 = 7 * 24 * 3600 * 1_000_000_000;

/// A wal segment is closed when it reaches this: deleting whole segments gives space back in steps
/// that are small against the wal's bound.
pub(crate) const WAL_SEGMENT_BYTES: u64 = 64 << 20;

/// Bytes of the wal after which it looks how much space is free, a question of a microsecond: small
/// against what is kept free for a flush.
pub(crate) const SPACE_LOOK_BYTES: u64 = 1 << 20;

/// How old such a look may be: others fill disks too.
pub(crate) const SPACE_LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Largest body of a wal frame. A request's rows fit many times over; a length above this in a file
/// can only be damage.
pub(crate) const WAL_FRAME_BYTES_MAX: u32 = 1 << 30;

/// Samples a second that recovery replays on one slow core, measured; turns `wal.replay_target`
/// into a bound on the wal.
pub(crate) const REPLAY_SAMPLES_PER_SECOND: u64 = 4_000_000;

/// Logical bytes of one page of a paged file: with its checksum it has 32 KiB, the width of a
/// parity.
pub(crate) const FILE_PAGE_BYTES: usize = 32 * 1024 - 4;

/// Stored bytes of a paged file after which its pages get a parity: one damaged page of every 128
/// is mended, and a writer holds one row.
pub(crate) const STRETCH_BYTES: u64 = 4 << 20;

/// Bytes of a parity, at most: a page.
pub(crate) const PARITY_WIDTH_MAX: usize = 32 * 1024;

/// Bytes that disks lose at once: a sector of the longer kind. A parity is no narrower, and begins
/// in a sector of its own.
pub(crate) const SECTOR_BYTES: usize = 4096;

/// Places found damaged that are kept and counted: more would say no more.
pub(crate) const DAMAGES_KEPT_MAX: usize = 100;

/// Logical bytes after which a page of a part's index is closed: about a hundred full blocks.
pub(crate) const INDEX_PAGE_BYTES: usize = 4096;

/// Bytes of sections that are put into order before they go into a final part: with ten fields of
/// a measurement, one of them is read from its own six pages in seventy.
pub(crate) const BAY_BYTES_MAX: usize = 2 << 20;

/// Blocks of a bay, for those of few samples.
pub(crate) const BAY_BLOCKS_MAX: usize = 16 << 10;

/// Memory of a bay with as many bytes and blocks: 400 bytes are known of a block that is the only
/// one of its series, most of which are its name.
pub(crate) const BAY_MEMORY_BYTES: u64 = 8 << 20;

/// A bay has at least one part in so many of those bytes and blocks, however little memory there is
/// for it: its index pages would be most of what it writes.
pub(crate) const BAY_SHARE_MIN: u64 = 16;

/// Entries of a part's directory that are read together: a quarter of a KiB, and what memory holds
/// of the directory is a sixty-fourth of it.
pub(crate) const DIRECTORY_GROUP_PAGES: usize = 16;

/// Rows registered under one hold of the registry's lock is the registry's affair; this bounds how
/// many index files recovery has to read before they are written anew as one.
pub(crate) const INDEX_SEGMENTS_MAX: usize = 16;

/// Blocks in one entry of an index page; a series with more has several entries. It bounds what a
/// reader decodes to find one block, and what a writer holds of one series.
pub(crate) const ENTRY_BLOCKS_MAX: u32 = 128;

/// Encoded times that a writer remembers, in bytes, to point back to them: those of some hundred
/// sources that report irregularly.
pub(crate) const TIMES_REMEMBERED_BYTES: usize = 64 << 10;

/// Files of parts kept open. Below the usual limit of 1024 descriptors with room for connections.
pub(crate) const OPEN_FILES_MAX: usize = 256;

/// Parts that a flush writes at once: each takes a descriptor and some hundred kilobytes. When
/// there are more, samples of years of weeks, the head is read again for the next ones.
pub(crate) const FLUSH_WRITERS_MAX: usize = 64;

/// How often a backup begins again when the manifest was replaced under it. Flushes and merges are
/// seconds apart, opening the files takes milliseconds.
pub(crate) const BACKUP_TRIES: usize = 20;

/// Backups that a store remembers: a week of hourly ones would be 168, and who looks wants to know
/// of the last ones.
pub(crate) const BACKUP_NOTES_MAX: usize = 64;

/// Bytes of a backup's target, or of why it failed, that are remembered.
pub(crate) const BACKUP_NOTE_TEXT_BYTES_MAX: usize = 1024;

/// The part of what the wal leaves free that is held by a file as well: of the default 1 MiB, which
/// is enough for the line, the frame and the manifest of a delete in a store of thousands of parts.
pub(crate) const BALLAST_SHARE: u64 = 16;

/// Bytes of the audit log after which it begins anew: some ten thousand deletes.
pub(crate) const AUDIT_BYTES_MAX: u64 = 8 << 20;

/// Bytes of each of its files that are read to tell what was done last: some thousand deletes.
pub(crate) const AUDIT_READ_BYTES_MAX: u64 = 1 << 20;

/// Names and values of a selector that the audit log tells; of more it tells how many.
pub(crate) const AUDIT_LITERALS_MAX: usize = 16;

/// Bytes that one text takes in a line of the audit log.
pub(crate) const AUDIT_TEXT_BYTES_MAX: usize = 4096;

/// Parts that are merged at once, at most: each step of a merge looks at all of their cursors.
pub(crate) const MERGE_PARTS_MAX: usize = 64;

/// Parts that are merged at once, at least, whatever memory that takes: one alone would not become
/// fewer.
pub(crate) const MERGE_PARTS_MIN: usize = 2;

/// Memory of a merge for each of its parts: an index page, an entry, four pages of the file and a
/// decoded block. Of a final part there is a bay besides.
pub(crate) const MERGE_CURSOR_BYTES: u64 = 200 << 10;

/// Merges that a sample goes through, at most, while a store only grows: with the flush, every
/// sample is written three times after the wal.
pub(crate) const LEVEL_FINAL: u8 = 2;

/// A block of as many samples is copied by a merge as it is: decoding it to fill it up would save
/// less than a hundredth of its bytes.
pub(crate) const MERGE_COPY_SAMPLES_MIN: usize = BLOCK_SAMPLES_MAX * 3 / 4;

/// Samples in front of such a block are written as a block of their own if they are as many, else
/// the block is filled up with them.
pub(crate) const MERGE_REST_SAMPLES_MIN: usize = BLOCK_SAMPLES_MAX / 4;

/// Flushes wait while as many parts are due to be merged: a bound on what queries have to look
/// through, far above what a store in good order has.
pub(crate) const MERGE_DEBT_PARTS_MAX: u64 = 8192;

/// Final parts of up to as many bytes together are merged once more: rewriting them takes a second,
/// and in small stores they are most of the parts.
pub(crate) const MERGE_SMALL_BYTES_MAX: u64 = 64 << 20;

/// What has expired may stay in parts that also hold newer samples as long as it is no more than
/// one byte in so many of what is kept: less than a twentieth, by an estimate.
pub(crate) const LINGERING_SHARE: u64 = 25;

/// Parts that are written again because they have begun to expire are cut into slices of this share
/// of what is kept, each of which then goes as a whole: so what lingers stays below the share
/// above.
pub(crate) const SLICES_OF_KEPT: u64 = 40;

/// Slices of a part, at most: a week's part is read once for each of them.
pub(crate) const SLICES_MAX: u64 = 64;

/// Samples of a series in a slice, at least and on average: blocks of fewer cost more than slicing
/// saves.
pub(crate) const SLICE_SAMPLES_MIN: u64 = BLOCK_SAMPLES_MAX as u64 / 4;

/// Lengths of the buckets that blocks of final parts end with, shortest first: five minutes, an
/// hour.
pub(crate) const BUCKETS_NS: [i64; 2] = [300 * 1_000_000_000, 3600 * 1_000_000_000];

/// Samples that a bucket must hold for blocks to end with it: with fewer the blocks' headers would
/// cost more than a tenth of their bytes.
pub(crate) const BUCKET_SAMPLES_MIN: usize = 200;

/// Memory that a new series is reckoned to take before it is registered: 64 bytes for where it
/// stands in the head and the copy that a flush makes of that, 128 for its names, which are half of
/// that as a rule, and 64 for what tables have in reserve when they grow.
pub(crate) const NEW_SERIES_BYTES: u64 = 256;

/// New series that a batch may have before they are registered aside: together some hundred
/// microseconds of work, for which others may wait.
pub const FEW_SERIES_MAX: usize = 64;

/// Bytes of facts in the wal beyond which a flush is due: each change of a fact is in it whole, and
/// a fact that is changed again and again takes no more of memory.
pub(crate) const FACT_BYTES_MAX: u64 = 32 << 20;

/// Largest fact that is taken although what is free on the disk is kept for the next flush. What
/// makes room is smaller, such as how long samples are kept.
pub(crate) const SMALL_FACT_BYTES_MAX: usize = 4 << 10;

/// Facts that are set under one hold of the catalog: some hundred microseconds, for which whoever
/// asks anything waits.
pub(crate) const FACTS_AT_ONCE: usize = 256;

/// Series that are weighed in one go.
pub(crate) const WEIGHED_AT_ONCE: usize = 4096;
