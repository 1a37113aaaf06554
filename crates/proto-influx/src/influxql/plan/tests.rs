//! Plans of statements.
