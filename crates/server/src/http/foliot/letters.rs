//! Letters as they are searched for.

use std::borrow::Cow;

/// The dot that is part of an İ, behind its letter.
const DOT: char = '\u{307}';

/// A text in which letters are one that differ in case only, in all languages: Σ, σ and ς, ß and
/// SS, of which no lower case alone makes one, and İ and i, whose dot is left away.
pub(super) fn folded(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return match text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => text.to_ascii_lowercase().into(),
            false => text.into(),
        };
    }
    let upper = text.chars().flat_map(char::to_lowercase).flat_map(char::to_uppercase);
    let mut folded = String::with_capacity(text.len());
    for letter in upper.flat_map(char::to_lowercase) {
        if letter != DOT || !folded.ends_with('i') {
            folded.push(letter);
        }
    }
    folded.into()
}
