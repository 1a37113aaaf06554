//! Keys: `metric` and `k=v k=v` as a put line spells them, read only when they are new.

use foliot_model::{KeyError, KeyParts, KeySyntax};

/// The key syntax of this door: the head is the metric, the tail the tags of a put line.
///
/// JSON points are packed into the same spelling, so a series written in both ways is found under
/// one hash as long as its tags come in one order.
pub static KEY_SYNTAX: KeySyntax =
    KeySyntax { id: 1, name: "opentsdb", parse: parse_key, parse_field: copy_field };

fn copy_field(raw: &[u8], out: &mut Vec<u8>) -> Result<(), KeyError> {
    out.extend_from_slice(raw);
    Ok(())
}

/// Tags that contradict each other are found when the parts are put in order.
fn parse_key(head: &[u8], tail: &[u8], parts: &mut KeyParts) -> Result<(), KeyError> {
    check_name("metric", || "metric name".to_owned(), head)?;
    parts.set_measurement(|out| out.extend_from_slice(head));
    for tag in tags(tail) {
        let (name, value) = split_tag(tag)?;
        check_tag(name, value)?;
        parts.push_label(|out| out.extend_from_slice(name), |out| out.extend_from_slice(value));
    }
    Ok(())
}

/// The tags of a line's tag section; runs of blanks separate as one blank does.
pub(crate) fn tags(section: &[u8]) -> impl Iterator<Item = &[u8]> {
    section.split(|&byte| byte == b' ').filter(|tag| !tag.is_empty())
}

/// Splits `k=v`, which must have one equals sign and something on both sides of it.
pub(crate) fn split_tag(tag: &[u8]) -> Result<(&[u8], &[u8]), KeyError> {
    let mut pieces = tag.split(|&byte| byte == b'=');
    match (pieces.next(), pieces.next(), pieces.next()) {
        (Some(name), Some(value), None) if !name.is_empty() && !value.is_empty() => {
            Ok((name, value))
        }
        _ => Err(tag_error(format!("invalid tag: {}", text_of(tag)))),
    }
}

/// Checks the name and the value of a tag as [`check_name`] does.
pub(crate) fn check_tag(name: &[u8], value: &[u8]) -> Result<(), KeyError> {
    check_name("tag", || format!("tag name with value [{}]", text_of(value)), name)?;
    check_name("tag", || format!("tag value with key [{}]", text_of(name)), value)
}

/// Checks a name: letters of any script, digits and `-_./`, at least one of them. `what` says for
/// an error whose name it is.
pub(crate) fn check_name(
    field: &'static str,
    what: impl Fn() -> String,
    name: &[u8],
) -> Result<(), KeyError> {
    let error = |fault: String| {
        let reason = format!("Invalid {}{fault}", what());
        Err(KeyError { field, reason })
    };
    if name.is_empty() {
        return error(": empty string".to_owned());
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
    if name.iter().all(|&byte| plain(byte)) {
        return Ok(());
    }
    let Ok(text) = std::str::from_utf8(name) else {
        return error(format!(" (\"{}\"): not valid UTF-8", text_of(name)));
    };
    let strange = |&c: &char| !(c.is_alphabetic() || c.is_ascii() && plain(c as u8));
    match text.chars().find(strange) {
        Some(c) => error(format!(" (\"{text}\"): illegal character: {c}")),
        None => Ok(()),
    }
}

/// Bytes as text for a message.
pub(crate) fn text_of(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

fn tag_error(reason: String) -> KeyError {
    KeyError { field: "tag", reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(head: &str, tail: &str) -> Result<String, String> {
        let mut parts = KeyParts::default();
        parse_key(head.as_bytes(), tail.as_bytes(), &mut parts).map_err(|error| error.reason)?;
        parts.canonicalize().map_err(|error| error.reason)?;
        let label = |(name, value): (&[u8], &[u8])| {
            format!(",{}={}", String::from_utf8_lossy(name), String::from_utf8_lossy(value))
        };
        let labels: String = parts.labels().map(label).collect();
        Ok(String::from_utf8_lossy(parts.measurement()).into_owned() + &labels)
    }

    #[test]
    fn tags_in_any_order_and_with_extra_blanks_name_one_series() {
        for tail in ["b=2 a=1", "a=1 b=2", "a=1   b=2", "a=1 b=2 a=1"] {
            assert_eq!(parse("m", tail).unwrap(), "m,a=1,b=2", "{tail}");
        }
    }

    #[test]
    fn bad_tags_are_named() {
        for (tail, reason) in [
            ("h=", "invalid tag: h="),
            ("=a", "invalid tag: =a"),
            ("h=a=b", "invalid tag: h=a=b"),
            ("h", "invalid tag: h"),
            ("h=a h=b", "duplicate tag: h"),
            ("h=a:b", "Invalid tag value with key [h] (\"a:b\"): illegal character: :"),
            ("h!=a", "Invalid tag name with value [a] (\"h!\"): illegal character: !"),
        ] {
            assert_eq!(parse("m", tail).unwrap_err(), reason);
        }
    }

    #[test]
    fn metric_names_take_letters_of_any_script() {
        assert!(parse("métrique/ü.1-_", "h=a").is_ok());
        assert!(parse("温度", "房间=客厅").is_ok());
        let error = parse("a b", "h=a").unwrap_err();
        assert_eq!(error, "Invalid metric name (\"a b\"): illegal character:  ");
        assert!(parse("", "h=a").is_err());
        let mut parts = KeyParts::default();
        assert!(parse_key(b"m\xff", b"h=a", &mut parts).is_err());
    }
}
