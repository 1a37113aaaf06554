//! Names in line protocol: which of them can be spelled.

/// Why a name cannot be spelled in line protocol, if so: it would end the line,
/// or make what follows it plain.
pub(crate) fn fault_of(name: &[u8]) -> Option<&'static str> {
    match name.last() {
        None => Some("a name is empty"),
        Some(b'\\') => Some("a name ends in a backslash"),
        _ if name.contains(&b'\n') => Some("a name holds a line's end"),
        _ => None,
    }
}
