//! Views: which parts there are, and where samples on their way into the next parts wait.

use crate::head::Frozen;
use crate::part::Part;
use crate::tombstones::Tombstones;
use std::sync::Arc;

/// An immutable state of the store's files, swapped whole when a flush ends or
/// something is deleted.
#[derive(Clone, Default)]
pub(crate) struct View {
    /// Parts by rank: what was written later comes later.
    pub(crate) parts: Vec<Arc<Part>>,
    /// What was deleted from these parts.
    pub(crate) tombstones: Arc<Tombstones>,
    /// What the flush after this view takes out of the head.
    pub(crate) frozen: Arc<Frozen>,
}
