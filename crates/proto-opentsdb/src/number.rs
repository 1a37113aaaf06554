//! Numbers and timestamps as put lines and JSON points write them.

use foliot_model::{Cell, NANOS_PER_MILLI, NANOS_PER_SECOND};

/// From here on a written timestamp counts milliseconds: OpenTSDB looks at the upper 32 bits.
const MILLIS_FROM: i64 = 1 << 32;

/// The largest timestamp OpenTSDB takes: thirteen digits.
const TIMESTAMP_MAX: i64 = 9_999_999_999_999;

/// Why a text is no storable number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NumberError {
    /// It is not a number; the reason says where it fails.
    Invalid(String),
    /// It is a number beyond binary64.
    NotFinite(f64),
}

/// The number that the leading digits make, and how many there are (meaningless beyond 19).
#[inline]
pub(crate) fn leading_digits(bytes: &[u8]) -> (u64, usize) {
    let mut number = 0_u64;
    for (index, &byte) in bytes.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return (number, index);
        }
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
    }
    (number, bytes.len())
}

/// Reads a value: an integer when the text has none of `.`, `e`, `E`, else a float.
#[inline]
pub(crate) fn parse_value(text: &[u8]) -> Result<Cell, NumberError> {
    match parse_value_short(text) {
        Some(cell) => Ok(cell),
        None => parse_value_any(text),
    }
}

/// Reads `-?[0-9]+` and `-?[0-9]*.[0-9]*` of up to 18 digits; nothing for any other text.
#[inline]
pub(crate) fn parse_value_short(text: &[u8]) -> Option<Cell> {
    let (negative, digits) = match text.split_first()? {
        (b'-', rest) => (true, rest),
        _ => (false, text),
    };
    if digits.len() > 18 {
        return None;
    }
    let mut mantissa = 0_u64;
    let mut after_point = None;
    for (index, &byte) in digits.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit < 10 {
            mantissa = mantissa * 10 + u64::from(digit);
        } else if byte == b'.' && after_point.is_none() {
            after_point = Some(index + 1);
        } else {
            return None;
        }
    }
    let signed = if negative { -(mantissa as i64) } else { mantissa as i64 };
    match after_point {
        None if digits.is_empty() => None,
        None => Some(Cell::integer(signed)),
        // A negative zero must keep its sign, and a lone point is no number: both are rare.
        Some(_) if digits.len() < 2 || (negative && mantissa == 0) => None,
        Some(start) => Cell::decimal(signed, (digits.len() - start) as u8),
    }
}

/// Reads any value, and says what is wrong when there is none.
#[cold]
pub(crate) fn parse_value_any(text: &[u8]) -> Result<Cell, NumberError> {
    let is_float = text.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
    if !is_float {
        return parse_integer(text).map(Cell::integer).map_err(NumberError::Invalid);
    }
    let number = decimal_grammar(text).and_then(|text| text.parse::<f64>().ok());
    match number {
        Some(number) if number.is_finite() => Ok(decimal_cell(text).unwrap_or(Cell::float(number))),
        Some(number) => Err(NumberError::NotFinite(number)),
        None => Err(NumberError::Invalid(format!(
            "For input string: \"{}\"",
            String::from_utf8_lossy(text)
        ))),
    }
}

/// The text, if it is `[+-]?digits[.digits][(e|E)[+-]?digits]` with a digit before the exponent.
/// The standard parser also takes `inf` and `nan`, which are no values here.
fn decimal_grammar(text: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(text).ok()?;
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (number, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let has_digit = !(whole.is_empty() && fraction.is_empty());
    let exponent_fits = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && all_digits(digits)
    });
    (has_digit && all_digits(whole) && all_digits(fraction) && exponent_fits).then_some(text)
}

/// The exact decimal of a text that follows the grammar, when a cell can hold it.
fn decimal_cell(text: &[u8]) -> Option<Cell> {
    let text = std::str::from_utf8(text).ok()?;
    let negative = text.starts_with('-');
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (number, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mut mantissa = 0_i64;
    for digit in whole.bytes().chain(fraction.bytes()) {
        mantissa = mantissa.checked_mul(10)?.checked_add(i64::from(digit - b'0'))?;
    }
    if negative && mantissa == 0 {
        return None;
    }
    let scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    if scale < 0 {
        mantissa = mantissa.checked_mul(10_i64.checked_pow(scale.unsigned_abs())?)?;
    }
    let mantissa = if negative { -mantissa } else { mantissa };
    Cell::decimal(mantissa, u8::try_from(scale.max(0)).ok()?)
}

/// Reads a signed 64-bit integer, with the words OpenTSDB has for each way to fail.
pub(crate) fn parse_integer(text: &[u8]) -> Result<i64, String> {
    let shown = || String::from_utf8_lossy(text);
    let (signed, digits) = match text.split_first() {
        None => return Err("Empty string".to_owned()),
        Some((b'+' | b'-', rest)) => (true, rest),
        Some(_) => (false, text),
    };
    if digits.is_empty() {
        return Err(format!("Just a sign, no value: {}", shown()));
    }
    if digits.len() > 19 {
        return Err(format!("Value too long: {}", shown()));
    }
    let mut value = 0_i128;
    for character in String::from_utf8_lossy(digits).chars() {
        match character.to_digit(10) {
            Some(digit) => value = value * 10 + i128::from(digit),
            None => return Err(format!("Invalid character '{character}' in {}", shown())),
        }
    }
    if signed && text.starts_with(b"-") {
        value = -value;
    }
    i64::try_from(value).map_err(|_| format!("Overflow in {}", shown()))
}

/// The instant of a written timestamp, which is in seconds below 2^32 and in milliseconds above.
///
/// # Errors
/// When it has more than thirteen digits or lies after the year 2262. The caller refuses timestamps
/// that are not positive, each protocol in its own words.
#[inline]
pub(crate) fn time_ns(timestamp: i64) -> Result<i64, String> {
    debug_assert!(timestamp > 0);
    if timestamp < MILLIS_FROM {
        return Ok(timestamp * NANOS_PER_SECOND);
    }
    if timestamp > TIMESTAMP_MAX {
        return Err(format!("bad timestamp={timestamp}: more than thirteen digits"));
    }
    timestamp
        .checked_mul(NANOS_PER_MILLI)
        .ok_or_else(|| format!("bad timestamp={timestamp}: times end on 2262-04-11"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use foliot_model::{Kind, RAW_SCALE};
    use proptest::prelude::*;

    fn value(text: &str) -> Result<Cell, NumberError> {
        parse_value(text.as_bytes())
    }

    #[test]
    fn integers_are_64_bits_wide() {
        for (text, number) in [
            ("42", 42),
            ("+5", 5),
            ("-7", -7),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
            ("-0", 0),
        ] {
            assert_eq!(value(text), Ok(Cell::integer(number)), "{text}");
        }
    }

    #[test]
    fn refusals_use_the_peers_words() {
        for (text, reason) in [
            ("NaN", "Invalid character 'N' in NaN"),
            ("abc", "Invalid character 'a' in abc"),
            ("1a", "Invalid character 'a' in 1a"),
            ("0x10", "Invalid character 'x' in 0x10"),
            ("9223372036854775808", "Overflow in 9223372036854775808"),
            ("12345678901234567890", "Value too long: 12345678901234567890"),
            ("-", "Just a sign, no value: -"),
            ("", "Empty string"),
            ("1.2.3", "For input string: \"1.2.3\""),
            (".", "For input string: \".\""),
            ("1e", "For input string: \"1e\""),
            ("inf.e", "For input string: \"inf.e\""),
        ] {
            assert_eq!(value(text), Err(NumberError::Invalid(reason.to_owned())), "{text}");
        }
        assert_eq!(value("1e400"), Err(NumberError::NotFinite(f64::INFINITY)));
    }

    #[test]
    fn floats_keep_their_decimals() {
        assert_eq!(value("4.2"), Ok(Cell::decimal(42, 1).unwrap()));
        assert_eq!(value("+4.25"), Ok(Cell::decimal(425, 2).unwrap()));
        assert_eq!(value("1e3"), Ok(Cell::decimal(1000, 0).unwrap()));
        assert_eq!(value("1."), Ok(Cell::decimal(1, 0).unwrap()));
        assert_eq!(value(".5"), Ok(Cell::decimal(5, 1).unwrap()));
        assert_eq!(value("-2.5E-3"), Ok(Cell::decimal(-25, 4).unwrap()));
        assert_eq!(value("-0.0").unwrap().to_f64().to_bits(), (-0.0_f64).to_bits());
        assert_eq!(value("1e300").unwrap().scale, RAW_SCALE);
    }

    #[test]
    fn timestamps_are_seconds_below_two_to_the_32() {
        assert_eq!(time_ns(4_294_967_295), Ok(4_294_967_295 * NANOS_PER_SECOND));
        assert_eq!(time_ns(4_294_967_296), Ok(4_294_967_296 * NANOS_PER_MILLI));
        assert!(time_ns(10_000_000_000_000).is_err());
        assert!(time_ns(9_999_999_999_999).unwrap_err().contains("2262"));
    }

    proptest! {
        #[test]
        fn floats_equal_the_standard_parser(
            text in r"[+-]?[0-9]{0,12}\.[0-9]{0,12}(e[+-]?[0-9]{1,3})?",
        ) {
            match (value(&text), text.parse::<f64>()) {
                (Ok(cell), Ok(number)) => {
                    prop_assert_eq!(cell.kind, Kind::Float);
                    prop_assert_eq!(cell.to_f64().to_bits(), number.to_bits(), "{}", text);
                }
                (Err(NumberError::NotFinite(_)), Ok(number)) => prop_assert!(number.is_infinite()),
                (ours, theirs) => prop_assert!(ours.is_err() && theirs.is_err(), "{}", text),
            }
        }

        #[test]
        fn integers_equal_the_standard_parser(number: i64) {
            prop_assert_eq!(value(&number.to_string()), Ok(Cell::integer(number)));
        }
    }
}
