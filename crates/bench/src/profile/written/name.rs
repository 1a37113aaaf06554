//! Names in files of profiles.

use std::collections::BTreeSet;

/// Refuses what some wire format would have to quote.
pub(super) fn name(what: &str, text: &str) -> Result<(), String> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./".contains(letter);
    match !text.is_empty() && text.chars().all(plain) {
        true => Ok(()),
        false => Err(format!("{what} is called {text:?}: letters, digits, `_`, `-`, `.`, `/`")),
    }
}

/// Refuses names of which one comes twice.
pub(super) fn distinct<'a>(
    what: &str,
    mut names: impl Iterator<Item = &'a String>,
) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    match names.find(|name| !seen.insert(name.as_str())) {
        Some(twice) => Err(format!("{what}: {twice} comes twice")),
        None => Ok(()),
    }
}
