//! Names in line protocol: what must stand behind a backslash.

/// Appends a measurement.
pub fn push_measurement(name: &[u8], out: &mut Vec<u8>) {
    push_escaped(name, b", ", out);
}

/// Appends `,name=value`.
pub fn push_tag(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    out.push(b',');
    push_escaped(name, b", =", out);
    out.push(b'=');
    push_escaped(value, b", =", out);
}

/// Appends a field's name.
pub fn push_field_name(name: &[u8], out: &mut Vec<u8>) {
    push_escaped(name, b", =", out);
}

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

fn push_escaped(name: &[u8], special: &[u8], out: &mut Vec<u8>) {
    for &byte in name {
        if special.contains(&byte) {
            out.push(b'\\');
        }
        out.push(byte);
    }
}
