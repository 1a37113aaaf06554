//! Excerpts: what is told of a message that repeats what somebody wrote, which may be half a
//! megabyte.

use std::borrow::Cow;

/// Bytes of a message that are told as they are.
const WHOLE_BYTES_MAX: usize = 1024;

/// Bytes of a longer one that are told of its beginning, which says what is wrong and with what,
/// and of its end, which says where and what was wanted.
const BEGIN_BYTES: usize = 600;
const END_BYTES: usize = 400;

/// A message as it is told: of a long one both ends, and how much lies between them.
#[must_use]
pub fn excerpt(message: &str) -> Cow<'_, str> {
    if message.len() <= WHOLE_BYTES_MAX {
        return Cow::Borrowed(message);
    }
    let begin = message.floor_char_boundary(BEGIN_BYTES);
    let end = message.ceil_char_boundary(message.len() - END_BYTES);
    let (from, to) = (message.get(..begin), message.get(end..));
    let (from, to) = (from.unwrap_or_default(), to.unwrap_or_default());
    Cow::Owned(format!("{from} […{} bytes…] {to}", end - begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_long_message_are_told() {
        let whole = "x".repeat(WHOLE_BYTES_MAX);
        assert_eq!(excerpt(&whole), whole);
        let long = format!("found {}, expected FROM at line 1, char 7", "a".repeat(500_000));
        let told = excerpt(&long);
        assert!(told.starts_with("found aaa"), "{told}");
        assert!(told.contains("a […499039 bytes…] a"), "{told}");
        assert!(told.ends_with("aaa, expected FROM at line 1, char 7"), "{told}");
        assert!(told.len() < WHOLE_BYTES_MAX + 20, "{}", told.len());
    }

    #[test]
    fn letters_stay_whole() {
        for shift in 0..4 {
            let long = format!("{}{}", "x".repeat(shift), "é🦀".repeat(1000));
            let told = excerpt(&long);
            let letters = told.chars().filter(|letter| "xé🦀".contains(*letter)).count();
            let bytes: usize =
                told.chars().filter(|letter| "xé🦀".contains(*letter)).map(char::len_utf8).sum();
            assert!(letters > 300 && bytes <= BEGIN_BYTES + END_BYTES, "{told}");
            assert!(told.contains(&format!("[…{} bytes…]", long.len() - bytes)), "{told}");
        }
    }
}
