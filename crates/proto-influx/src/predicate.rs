//! Predicates of InfluxDB 2's deletes: `_measurement="m" AND tag="v"`.

use foliot_model::{Matcher, Name, NamespaceId, Selector, Test};

/// Reads a predicate: comparisons by `=` or `!=`, joined by `AND`. Tags are compared, and the
/// measurement (`_measurement`) and field (`_field`) by `=`. An empty predicate selects no series:
/// the caller decides what that means.
///
/// # Errors
/// A sentence with the piece that is not understood.
pub fn parse_predicate(text: &str, namespace: NamespaceId) -> Result<Selector, String> {
    let mut name = Name { measurement: Test::Any, field: Test::Any };
    let mut matchers = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (key, after) = take_key(rest)?;
        let after = after.trim_start();
        let (negated, after) = match (after.strip_prefix("!="), after.strip_prefix('=')) {
            (Some(after), _) => (true, after),
            (None, Some(after)) => (false, after.strip_prefix('=').unwrap_or(after)),
            (None, None) => return Err(format!("expected = or != at {after:?}")),
        };
        let (value, after) = take_value(after.trim_start())?;
        let test = Test::equal(value.clone());
        match (key.as_str(), negated) {
            ("_measurement", false) => name.measurement = test,
            ("_field", false) => name.field = test,
            ("_measurement" | "_field", true) => {
                return Err(format!("{key} can only be compared with ="));
            }
            _ => {
                let accepts_absent = value.is_empty() != negated;
                matchers.push(Matcher { name: key, test, negated, accepts_absent });
            }
        }
        rest = after.trim_start();
        if rest.is_empty() {
            break;
        }
        let joined = rest.get(..3).is_some_and(|word| word.eq_ignore_ascii_case("and"));
        match rest.get(3..).filter(|_| joined) {
            Some(after) => rest = after.trim_start(),
            None => return Err(format!("expected AND at {rest:?}")),
        }
        if rest.is_empty() {
            return Err("expected a comparison after AND".to_owned());
        }
    }
    Ok(Selector { namespace, names: vec![name], matchers, exact_labels: None, only: None })
}

fn take_key(text: &str) -> Result<(String, &str), String> {
    if text.starts_with('"') {
        return take_value(text);
    }
    let is_part = |c: char| !c.is_whitespace() && !matches!(c, '=' | '!' | '"' | '\'');
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    match text.split_at_checked(end) {
        Some((key, rest)) if !key.is_empty() => Ok((key.to_owned(), rest)),
        _ => Err(format!("expected a name at {text:?}")),
    }
}

/// A string in double or single quotes, or a bare word.
fn take_value(text: &str) -> Result<(String, &str), String> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''));
    // Taken for a text, a pattern that nothing is called would delete everything else by `!=`.
    if text.starts_with(['~', '/', '(']) {
        return Err(format!("expected a value, and no pattern, at {text:?}"));
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
    Err(format!("a quote is not closed at {text:?}"))
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
        assert_eq!((odd.name.as_str(), odd.negated, odd.accepts_absent), ("odd key", true, true));
        assert!(parse_predicate("", 0).unwrap().matchers.is_empty());
    }

    #[test]
    fn what_is_not_understood_is_quoted() {
        for (text, expected) in [
            ("host", "expected = or != at \"\""),
            ("host=\"a", "a quote is not closed at \"\\\"a\""),
            ("a=b OR c=d", "expected AND at \"OR c=d\""),
            ("a=b AND ", "expected a comparison after AND"),
            ("=b", "expected a name at \"=b\""),
            ("a!=~/c/", "expected a value, and no pattern, at \"~/c/\""),
            ("a=/c/", "expected a value, and no pattern, at \"/c/\""),
            ("_measurement!=\"m\"", "_measurement can only be compared with ="),
        ] {
            assert_eq!(parse_predicate(text, 0).unwrap_err(), expected, "{text}");
        }
    }
}
