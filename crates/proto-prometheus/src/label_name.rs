//! Names of labels as they stand in a path.

/// Longest code of a character between two underscores.
const DIGITS_MAX: usize = 5;

/// The name of a label that a part of a path says: one that begins with `U__` is escaped, so that
/// it holds letters, digits and underscores alone.
///
/// # Errors
/// When it is no name, in Prometheus' words.
pub fn label_name(said: &[u8]) -> Result<String, String> {
    let invalid = |said: &[u8]| format!("invalid label name: {}", quoted(said));
    let name = std::str::from_utf8(said).map_err(|_| invalid(said))?;
    let name = unescaped(name).unwrap_or_else(|| name.to_owned());
    if name.is_empty() { Err(invalid(b"")) } else { Ok(name) }
}

/// What an escaped name stands for: `__` is an underscore, and `_2e_` the character with the
/// hexadecimal number between. One that is escaped in no such way stands for itself.
fn unescaped(name: &str) -> Option<String> {
    let mut rest = name.strip_prefix("U__")?;
    let mut out = String::new();
    while let Some((plain, behind)) = rest.split_once('_') {
        out.push_str(plain);
        let (code, behind) = behind.split_once('_')?;
        out.push(match code {
            "" => '_',
            _ if code.len() <= DIGITS_MAX && code.bytes().all(|it| it.is_ascii_hexdigit()) => {
                char::from_u32(u32::from_str_radix(code, 16).ok()?)?
            }
            _ => return None,
        });
        rest = behind;
    }
    out.push_str(rest);
    Some(out)
}

/// Bytes in quotes, of which those that are no UTF-8 are shown by their numbers.
fn quoted(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        out.extend(chunk.valid().escape_debug());
        out.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_names_are_those_that_they_stand_for() {
        for (said, name) in [
            ("job", "job"),
            ("U__http_2e_status", "http.status"),
            ("U__a__b_c9_", "a_b\u{c9}"),
            ("U___1F600_x", "\u{1f600}x"),
            ("U__", ""),
            // What is escaped in another way is a name like others.
            ("U__a_", "U__a_"),
            ("U__a_2e", "U__a_2e"),
            ("U__a_zz_", "U__a_zz_"),
            ("U__a_+2e_", "U__a_+2e_"),
            ("U__a_d900_", "U__a_d900_"),
            ("U__a_00002e_", "U__a_00002e_"),
            ("u__a_2e_", "u__a_2e_"),
        ] {
            let told = format!("invalid label name: \"{name}\"");
            let wanted = if name.is_empty() { Err(told) } else { Ok(name.to_owned()) };
            assert_eq!(label_name(said.as_bytes()), wanted, "{said}");
        }
        let told = |said: &[u8]| label_name(said).unwrap_err();
        assert_eq!(told(b"a\"\xff\xc3"), r#"invalid label name: "a\"\xff\xc3""#);
        assert_eq!(told(b""), r#"invalid label name: """#);
    }
}
