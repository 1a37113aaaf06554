//! Changes: plans that alter what is stored.

use foliot_model::Selector;
use foliot_model::TimeRange;

/// A change.
#[derive(Clone, Debug)]
pub enum Change {
    /// Deletes the samples of the selected series in `range`.
    Delete {
        /// Which series; a selector that selects everything is refused.
        selector: Selector,
        /// Which samples.
        range: TimeRange,
    },
    /// Creates a namespace if it does not exist.
    CreateNamespace {
        /// Database.
        database: String,
        /// Retention policy.
        policy: String,
    },
}
