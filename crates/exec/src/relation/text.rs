//! Functions of texts, and values as texts.

use super::instant;
use crate::Error;
use foliot_model::Item;
use foliot_plan::relation::Words;
use std::collections::HashSet;
use std::sync::Arc;

/// Bytes that a text made by a function may have.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// A value as a text.
pub(super) fn shown(item: &Item) -> String {
    match item {
        Item::Null => String::new(),
        Item::Float(value) if value.is_infinite() => {
            format!("{}Infinity", if *value < 0.0 { "-" } else { "" })
        }
        Item::Float(value) => value.to_string(),
        Item::Integer(value) => value.to_string(),
        Item::Unsigned(value) => value.to_string(),
        Item::Boolean(value) => value.to_string(),
        Item::String(text) => text.to_string(),
        Item::Time(time_ns) => instant::shown(*time_ns),
    }
}

/// What a function makes of its arguments; null of null, except where texts are joined.
pub(super) fn words(function: Words, arguments: &[Item]) -> Result<Item, Error> {
    if matches!(function, Words::Concat | Words::Join) {
        if function == Words::Join && arguments.iter().any(Item::is_null) {
            return Ok(Item::Null);
        }
        let texts = arguments.iter().map(shown);
        return made(texts.collect());
    }
    if arguments.iter().any(Item::is_null) {
        return Ok(Item::Null);
    }
    let text = |at: usize| match arguments.get(at) {
        Some(Item::String(text)) => text.clone(),
        Some(other) => Arc::from(shown(other)),
        None => Arc::from(""),
    };
    let number = |at: usize| match arguments.get(at) {
        Some(Item::Integer(number)) => Some(*number),
        _ => None,
    };
    let first = text(0);
    let blanks: Arc<str> = if arguments.len() > 1 { text(1) } else { " ".into() };
    let count = |text: &str| Item::Integer(text.chars().count() as i64);
    made(match function {
        Words::Length => return Ok(count(&first)),
        Words::Position => {
            let before = first.split_once(&*text(1)).map(|(before, _)| before.chars().count());
            return Ok(Item::Integer(before.map_or(0, |before| before as i64 + 1)));
        }
        Words::StartsWith => return Ok(Item::Boolean(first.starts_with(&*text(1)))),
        Words::Lower => first.to_lowercase(),
        Words::Upper => first.to_uppercase(),
        Words::Trim | Words::TrimStart | Words::TrimEnd => trimmed(function, &first, &blanks),
        Words::Replace if text(1).is_empty() => first.to_string(),
        Words::Replace => {
            let found = first.matches(&*text(1)).count();
            check(first.len().saturating_add(found.saturating_mul(text(2).len())))?;
            first.replace(&*text(1), &text(2))
        }
        Words::Part => {
            let from = number(1).unwrap_or(1);
            if number(2).is_some_and(|count| count < 0) {
                return Err(Error::Plan("a part of a text has a length below 0".to_owned()));
            }
            let until = number(2).map_or(i64::MAX, |count| from.saturating_add(count));
            part(&first, from, until)
        }
        Words::Left => part(&first, 1, end(&first, number(1).unwrap_or_default())),
        Words::Right => {
            let count = number(1).unwrap_or_default();
            let chars = first.chars().count() as i64;
            let from = match count {
                ..0 => 1i64.saturating_sub(count),
                _ => chars.saturating_sub(count) + 1,
            };
            part(&first, from, i64::MAX)
        }
        Words::Piece => piece(&first, &text(1), number(2).unwrap_or_default())?.to_owned(),
        Words::Concat | Words::Join => first.to_string(),
    })
}

/// A text without these characters at its ends. Either text may be long: each is gone through once.
fn trimmed(function: Words, text: &str, blanks: &str) -> String {
    let blanks: HashSet<char> = blanks.chars().collect();
    let is_blank = |c: char| blanks.contains(&c);
    let trimmed = match function {
        Words::TrimStart => text.trim_start_matches(is_blank),
        Words::TrimEnd => text.trim_end_matches(is_blank),
        _ => text.trim_matches(is_blank),
    };
    trimmed.to_owned()
}

/// The piece with this number between the places where `by` stands, from 1, or from -1 backwards;
/// what is beyond them is empty.
fn piece<'t>(text: &'t str, by: &str, number: i64) -> Result<&'t str, Error> {
    let before = usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX);
    let Some(at) = before.checked_sub(1) else {
        return Err(Error::Plan("pieces of a text are counted from 1 or -1".to_owned()));
    };
    // Nothing is found between the letters of a text.
    let piece = match (by.is_empty(), number < 0) {
        (true, _) => (at == 0).then_some(text),
        (false, false) => text.split(by).nth(at),
        (false, true) => text.rsplit(by).nth(at),
    };
    Ok(piece.unwrap_or_default())
}

/// Where the first characters end: behind so many, or, if the number is negative, before the last
/// so many.
fn end(text: &str, count: i64) -> i64 {
    match count {
        ..0 => (text.chars().count() as i64).saturating_add(count).saturating_add(1),
        _ => count.saturating_add(1),
    }
}

/// The characters from one number on and before another one.
fn part(text: &str, from: i64, until: i64) -> String {
    let numbered = (1i64..).zip(text.chars());
    numbered.filter(|(at, _)| (from..until).contains(at)).map(|(_, c)| c).collect()
}

fn made(text: String) -> Result<Item, Error> {
    check(text.len())?;
    Ok(Item::String(text.into()))
}

fn check(bytes: usize) -> Result<(), Error> {
    match bytes > TEXT_BYTES_MAX {
        true => Err(Error::Plan(format!("a text of a row is longer than {TEXT_BYTES_MAX} bytes"))),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_counted_in_characters_from_one() {
        let text = |text: &str| Item::String(text.into());
        let of = |function, arguments: &[Item]| words(function, arguments).unwrap();
        let int = Item::Integer;
        assert_eq!(of(Words::Length, &[text("aé")]), int(2));
        assert_eq!(of(Words::Part, &[text("abcdé"), int(2), int(3)]), text("bcd"));
        assert_eq!(of(Words::Part, &[text("abc"), int(0), int(2)]), text("a"));
        assert_eq!(of(Words::Part, &[text("abc"), int(2)]), text("bc"));
        assert_eq!(of(Words::Left, &[text("abc"), int(-1)]), text("ab"));
        assert_eq!(of(Words::Right, &[text("abc"), int(2)]), text("bc"));
        assert_eq!(of(Words::Right, &[text("abc"), int(-1)]), text("bc"));
        assert_eq!(of(Words::Right, &[text("abc"), int(i64::MIN + 1)]), text(""));
        // What is trimmed and by what are both long: one look at each letter is enough.
        let (long, by) = ("a".repeat(1 << 20), format!("{}a", "b".repeat((1 << 20) - 1)));
        assert_eq!(of(Words::Trim, &[text(&long), text(&by)]), text(""));
        assert_eq!(of(Words::Piece, &[text("a.b.c"), text("."), int(2)]), text("b"));
        assert_eq!(of(Words::Piece, &[text("a.b.c"), text("."), int(4)]), text(""));
        assert_eq!(of(Words::Piece, &[text("a.b.c"), text("."), int(-1)]), text("c"));
        assert_eq!(of(Words::Piece, &[text("a.b.c"), text("."), int(-3)]), text("a"));
        assert_eq!(of(Words::Piece, &[text("a.b.c"), text("."), int(i64::MIN)]), text(""));
        assert_eq!(of(Words::Piece, &[text("abc"), text(""), int(1)]), text("abc"));
        assert!(words(Words::Piece, &[text("a"), text("."), int(0)]).is_err());
        assert!(words(Words::Part, &[text("abc"), int(1), int(-1)]).is_err());
        assert_eq!(of(Words::Position, &[text("abc"), text("c")]), int(3));
        assert_eq!(of(Words::Trim, &[text("xaxx"), text("x")]), text("a"));
        assert_eq!(of(Words::Replace, &[text("aXbX"), text("X"), text("--")]), text("a--b--"));
        assert_eq!(of(Words::Concat, &[text("a"), Item::Null, int(1)]), text("a1"));
        assert_eq!(of(Words::Upper, &[Item::Null]), Item::Null);
    }
}
