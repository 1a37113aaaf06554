//! What scalars mean, by their text and by their tags: as Prometheus' reader has it, whose YAML is
//! that of version 1.1.

use super::NULLS;
use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use saphyr_parser::Tag;

/// A number: whole, or with a point or an exponent.
enum Number {
    Whole(i128),
    Float(f64),
}

/// The text of a scalar with a tag, and whether it may mean a number, a truth or nothing, as one
/// without quotes may.
///
/// # Errors
/// When the text is none of what the tag says.
pub(super) fn tagged(tag: &Tag, text: String) -> Result<(String, bool), String> {
    let tag = format!("{}{}", tag.handle, tag.suffix);
    let is = |is_known: bool, what: &str| match is_known {
        true => Ok(true),
        false => Err(format!("cannot decode {text:?} as a !!{what}")),
    };
    let is_plain = match tag.strip_prefix("tag:yaml.org,2002:") {
        Some("int") => is(matches!(number(&text), Some(Number::Whole(_))), "int"),
        Some("float") => is(number(&text).is_some() || is_endless(&text), "float"),
        Some("bool") => is(truth(&text).is_some(), "bool"),
        Some("null") => is(NULLS.contains(&text.as_str()), "null"),
        Some("binary") => return binary(&text).map(|text| (text, false)),
        // A text, also by tags that nobody knows.
        _ => Ok(false),
    };
    is_plain.map(|is_plain| (text, is_plain))
}

/// The text that bytes in base64 are.
fn binary(text: &str) -> Result<String, String> {
    let lenient = GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true);
    let packed: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect();
    let bytes = GeneralPurpose::new(&STANDARD, lenient).decode(packed);
    let bytes = bytes.map_err(|_| "!!binary value contains invalid base64 data")?;
    String::from_utf8(bytes).map_err(|_| "the bytes of a !!binary must be text".to_owned())
}

/// What a scalar is that is neither a text nor a number: true or false.
pub(crate) fn truth(text: &str) -> Option<bool> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Some(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Some(false)
        }
        _ => None,
    }
}

/// The whole number that a scalar is. What a number has behind its point is left away.
pub(crate) fn whole(text: &str) -> Option<u64> {
    const BEYOND: f64 = 18_446_744_073_709_551_616.0;
    match number(text)? {
        Number::Whole(number) => number.try_into().ok(),
        Number::Float(number) => (0.0..=BEYOND).contains(&number).then_some(number as u64),
    }
}

/// Whether a scalar is a number below 0.
pub(crate) fn is_negative(text: &str) -> bool {
    match number(text) {
        Some(Number::Whole(number)) => number < 0,
        Some(Number::Float(number)) => number < 0.0,
        None => false,
    }
}

/// A number, by its prefix in another system than ours, maybe with underscores behind its first
/// digit.
fn number(text: &str) -> Option<Number> {
    if !text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) {
        return None;
    }
    let plain = text.replace('_', "");
    if let Some(number) = integer(&plain) {
        return Some(Number::Whole(number));
    }
    let is_decimal = plain.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    let number = plain.parse().ok().filter(|number: &f64| is_decimal && number.is_finite())?;
    Some(Number::Float(number))
}

/// `0x1f`, `0o17`, `017`, `0b11` and the like, of 64 bits.
fn integer(text: &str) -> Option<i128> {
    let (sign, digits) = match text.split_at_checked(1)? {
        ("-", digits) => (-1, digits),
        ("+", digits) => (1, digits),
        _ => (1, text),
    };
    let (radix, digits) = match digits.split_at_checked(2) {
        Some(("0x" | "0X", digits)) => (16, digits),
        Some(("0o" | "0O", digits)) => (8, digits),
        Some(("0b" | "0B", digits)) => (2, digits),
        Some(_) if digits.starts_with('0') => (8, digits),
        _ => (10, digits),
    };
    // A second sign would be taken for one.
    let is_digits = digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let number = u64::from_str_radix(digits, radix).ok().filter(|_| is_digits)?;
    let number = sign * i128::from(number);
    (number >= i128::from(i64::MIN)).then_some(number)
}

/// Infinite numbers, and what is no number.
fn is_endless(text: &str) -> bool {
    let bare = text.trim_start_matches(['+', '-']);
    matches!(bare, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `promtool check config` of Debian takes and refuses them.
    #[test]
    fn whole_numbers_are_those_of_yaml_1_1() {
        for (text, number) in [
            ("16", 16),
            ("+5", 5),
            ("0x10", 16),
            ("0XfF", 255),
            ("0o17", 15),
            ("017", 15),
            ("08", 8),
            ("0b11", 3),
            ("1_000", 1_000),
            ("0x_1", 1),
            ("1.0", 1),
            ("1.5", 1),
            ("5.", 5),
            (".5", 0),
            ("1e3", 1_000),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(whole(text), Some(number), "{text}");
        }
        for text in ["", "_1", "-5", "-0b1", "0x1p4", "0xg", "1e20", "true", "2001-01-01", "+-1"] {
            assert_eq!(whole(text), None, "{text}");
        }
    }

    #[test]
    fn bytes_are_texts() {
        for (text, read) in [("eA==", "x"), ("ZUFi\neA==\n", "eAbx"), ("eB==", "x"), ("", "")] {
            assert_eq!(binary(text).unwrap(), read, "{text}");
        }
        for text in ["eA", "e B==", "/w=="] {
            assert!(binary(text).is_err(), "{text}");
        }
    }
}
