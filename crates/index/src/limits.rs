//! Every named limit of the room with its reason.

/// Longest measurement, field or label name in bytes. OpenTSDB and InfluxDB clients stay far below;
/// a longer one is a value that slipped into a name.
pub const NAME_BYTES_MAX: usize = 1 << 10;

/// Longest label value in bytes: room for a URL or a container's full name, but not for a document.
pub const VALUE_BYTES_MAX: usize = 4 << 10;

/// Most labels per series that [`Limits::labels`] may allow. Sources are stored as one dictionary
/// entry of at most five bytes per label, see [`ENTRY_BYTES_MAX`].
pub const LABELS_MAX: usize = 1 << 10;

/// Longest dictionary entry in bytes: eight of them (a group) must fit into one page of 64 KiB.
pub(crate) const ENTRY_BYTES_MAX: usize = 8_000;

/// Ids stay below this: one bit of a stored id says whether it is one.
pub(crate) const IDS_MAX: u32 = (1 << 31) - 1;

/// Numbers that are given up in one epoch because their registration was lost: many times what a
/// damaged stretch of the wal registers, few enough that no bytes whatsoever can fill memory.
pub(crate) const LOST_MAX: u64 = 1 << 20;

/// Rows registered per lock hold, so that a query waits for about a millisecond when a million
/// series arrive at once.
pub(crate) const CHUNK_ROWS_MAX: usize = 256;

/// Symbols, columns or series that a chunk registers under one hold of the names: a row may bring
/// thousands of them, and who asks anything would wait for tens of milliseconds.
pub(crate) const PIECE_MAX: u32 = 512;

/// Spellings and shapes remembered per series. A client that permutes its labels or fields at
/// will must not grow the lookup for ever; its rows are then resolved by name each time.
pub(crate) const SPELLINGS_PER_SERIES_MAX: u32 = 4;

/// Bytes of records that a checkpoint encodes per lock hold and writes as one extent.
pub(crate) const CHECKPOINT_SLICE_BYTES: usize = 256 << 10;

/// Labels with fewer values are sorted, and their values tested, anew each time, which takes a
/// fraction of a millisecond; so clients that make up label names take no memory by it.
pub(crate) const BIG_PAIRS_MIN: u64 = 1 << 12;
