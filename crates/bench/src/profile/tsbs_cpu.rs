//! TSBS cpu-only, which is a profile file inside the binary: `tsbs-cpu.toml`.

use std::sync::LazyLock;

use super::written::Written;

/// The profile of the file.
pub(super) fn written() -> &'static Written {
    static READ: LazyLock<Written> = LazyLock::new(|| {
        // A test reads it, so the default is never taken.
        Written::parse(include_str!("tsbs-cpu.toml")).unwrap_or_default()
    });
    &READ
}
