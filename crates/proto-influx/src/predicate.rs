//! Predicates of InfluxDB 2's deletes: `_measurement="m" AND tag="v"`.

use foliot_model::{Matcher, Name, NamespaceId, Selector, Test};

/// Reads a predicate: comparisons by `=` or `!=`, joined by `AND`. Tags are compared, and the
/// measurement (`_measurement`) and field (`_field`) by `=`. A series that lacks a tag which is
/// compared is never wanted, whatever the comparison. An empty predicate selects no series: the
/// caller decides what that means.
///
/// # Errors
/// A sentence with the place and the piece that is not understood.
pub fn parse_predicate(text: &str, namespace: NamespaceId) -> Result<Selector, String> {
    let trimmed = text.trim_end();
    parse(trimmed, namespace).map_err(|Unread { rest, reason }| {
        let read = trimmed.len().saturating_sub(rest.len());
        let column = text.get(..read).unwrap_or_default().chars().count() + 1;
        format!("column {column} of the predicate: {reason}")
    })
}

/// What is not understood, and all that stands behind it.
struct Unread<'a> {
    rest: &'a str,
    reason: String,
}

/// What was read, and what stands behind it.
type Read<'a, T> = Result<(T, &'a str), Unread<'a>>;

fn unread<'a>(expected: &str, rest: &'a str) -> Unread<'a> {
    Unread { rest, reason: format!("expected {expected} at {rest:?}") }
}

fn twice<'a>(key: &str, rest: &'a str) -> Unread<'a> {
    Unread { rest, reason: format!("{key} is compared twice, and a series has one") }
}

fn parse(text: &str, namespace: NamespaceId) -> Result<Selector, Unread<'_>> {
    let mut name = Name { measurement: Test::Any, field: Test::Any };
    let mut matchers = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (start, (key, after)) = (rest, take_key(rest)?);
        let after = after.trim_start();
        let (negated, after) = match (after.strip_prefix("!="), after.strip_prefix('=')) {
            (Some(after), _) => (true, after),
            (None, Some(after)) => (false, after.strip_prefix('=').unwrap_or(after)),
            (None, None) => return Err(unread("= or !=", after)),
        };
        let (value, after) = take_value(after.trim_start())?;
        let test = Test::equal(value.clone());
        match (key.as_str(), negated) {
            // Nothing is in two of them, and to take one of both would be to guess.
            ("_measurement", false) if !matches!(name.measurement, Test::Any) => {
                return Err(twice(&key, start));
            }
            ("_field", false) if !matches!(name.field, Test::Any) => {
                return Err(twice(&key, start));
            }
            ("_measurement", false) => name.measurement = test,
            ("_field", false) => name.field = test,
            ("_measurement" | "_field", true) => {
                let reason = format!("{key} can only be compared with =");
                return Err(Unread { rest: start, reason });
            }
            // As InfluxDB 2 has it: of a series without the tag it never learns enough. A misspelt
            // tag that no series has would delete everything by `!=`.
            _ => matchers.push(Matcher { name: key, test, negated, accepts_absent: false }),
        }
        rest = after.trim_start();
        if rest.is_empty() {
            break;
        }
        let joined = rest.get(..3).is_some_and(|word| word.eq_ignore_ascii_case("and"));
        match rest.get(3..).filter(|_| joined) {
            Some(after) => rest = after.trim_start(),
            None => return Err(unread("AND", rest)),
        }
        if rest.is_empty() {
            let reason = "expected a comparison after AND".to_owned();
            return Err(Unread { rest, reason });
        }
    }
    Ok(Selector { namespace, names: vec![name], matchers, exact_labels: None, only: None })
}

fn take_key(text: &str) -> Read<'_, String> {
    if text.starts_with('"') {
        return take_value(text);
    }
    let is_part = |c: char| !c.is_whitespace() && !matches!(c, '=' | '!' | '"' | '\'');
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    match text.split_at_checked(end) {
        Some((key, rest)) if !key.is_empty() => Ok((key.to_owned(), rest)),
        _ => Err(unread("a name", text)),
    }
}

/// A string in double or single quotes, or a bare word.
fn take_value(text: &str) -> Read<'_, String> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''));
    // Taken for a text, a pattern that nothing is called would delete everything else by `!=`.
    if text.starts_with(['~', '/', '(']) {
        return Err(unread("a value, and no pattern,", text));
    }
    let Some(quote) = quote else { return take_key(text) };
    let mut value = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => value.extend(chars.next().map(|(_, c)| c)),
            c if c == quote => return Ok((value, text.get(at + 1..).unwrap_or_default())),
            c => value.push(c),
        }
    }
    Err(Unread { rest: text, reason: format!("a quote is not closed at {text:?}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predicates_become_selectors() {
        let text = r#"_measurement="my m" AND host = 'a"b' and "odd key"!="x" AND _field=v"#;
        let selector = parse_predicate(text, 3).unwrap();
        assert_eq!(selector.namespace, 3);
        let [name] = &selector.names[..] else { panic!() };
        assert!(name.measurement.passes("my m") && name.field.passes("v"));
        let [host, odd] = &selector.matchers[..] else { panic!() };
        assert!(host.test.passes("a\"b") && !host.negated && !host.accepts_absent);
        assert_eq!((odd.name.as_str(), odd.negated, odd.accepts_absent), ("odd key", true, false));
        let empty = parse_predicate("host=\"\"", 3).unwrap();
        assert!(!empty.matchers[0].accepts_absent, "no series has an empty tag");
        assert!(parse_predicate("", 0).unwrap().matchers.is_empty());
    }

    #[test]
    fn what_is_not_understood_is_told_with_its_place() {
        for (text, column, expected) in [
            ("host", 5, "expected = or != at \"\""),
            ("host=\"a", 6, "a quote is not closed at \"\\\"a\""),
            ("a=b OR c=d", 5, "expected AND at \"OR c=d\""),
            (" größe=b OR c=d ", 10, "expected AND at \"OR c=d\""),
            ("a=b AND ", 8, "expected a comparison after AND"),
            ("=b", 1, "expected a name at \"=b\""),
            ("a!=~/c/", 4, "expected a value, and no pattern, at \"~/c/\""),
            ("a=/c/", 3, "expected a value, and no pattern, at \"/c/\""),
            ("a=b and _measurement!=\"m\"", 9, "_measurement can only be compared with ="),
            ("_field=u AND _field=s", 14, "_field is compared twice, and a series has one"),
            (
                "_measurement=\"a\" and _measurement=\"b\"",
                22,
                "_measurement is compared twice, and a series has one",
            ),
        ] {
            let expected = format!("column {column} of the predicate: {expected}");
            assert_eq!(parse_predicate(text, 0).unwrap_err(), expected, "{text}");
        }
    }
}
