//! Collects measurements of the host Foliot runs on.
