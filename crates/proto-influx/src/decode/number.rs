//! Numbers: text to cells without a detour through binary64.
//!
//! Digits are read eight at a time: a byte is a digit when its difference to `'0'` is at most nine,
//! the first that is not ends the run, and three multiplications add up what stands before it
//! (D. Lemire, "Quickly parsing eight digits", 2018). Most values are shorter than that, with the
//! character behind them: those are read from one window of eight bytes ([`short_number`]).

use crate::fault::Fault;
use foliot_model::Cell;

/// Whether a value may end before position `at`: at a comma, a space or the end of the line.
#[inline]
pub(super) fn is_value_end(bytes: &[u8], at: usize) -> bool {
    match bytes.get(at) {
        None | Some(b',' | b' ' | b'\n') => true,
        Some(b'\r') => matches!(bytes.get(at + 1), None | Some(b'\n')),
        _ => false,
    }
}

/// The number at `at` and the position behind it, if a number stands there; else [`number`] says
/// what is wrong.
#[inline(always)]
pub(super) fn plain_number(bytes: &[u8], at: usize) -> Option<(Cell, usize)> {
    match short_number(bytes, at) {
        None if matches!(bytes.get(at), Some(b'0'..=b'9' | b'-')) => number(bytes, at).ok(),
        short => short,
    }
}

/// The number at `at` and the position behind it, if it is one of the plain ones that stand within
/// eight bytes together with what ends them (`58i,`, `-7.25,` or `12 `). Nothing says only that
/// [`number`] must look.
#[inline(always)]
fn short_number(bytes: &[u8], at: usize) -> Option<(Cell, usize)> {
    let window = |start| Some(u64::from_le_bytes(*bytes.get(start..)?.first_chunk::<8>()?));
    let first = window(at)?;
    let is_negative = first as u8 == b'-';
    let (start, word) = if is_negative { (at + 1, window(at + 1)?) } else { (at, first) };
    let is_end = |byte| matches!(byte, b',' | b' ' | b'\n');
    let signed = |magnitude: u64| if is_negative { -(magnitude as i64) } else { magnitude as i64 };
    let whole = digit_bits(word);
    if whole == 0 || whole > 48 {
        return None;
    }
    match (word >> whole) as u8 {
        b'i' if is_end((word >> (whole + 8)) as u8) => {
            let cell = Cell::integer(signed(leading_digits(word, whole)));
            Some((cell, start + whole as usize / 8 + 1))
        }
        b'.' => {
            // The digits on both sides of the point, moved together. The byte that comes in at the
            // top is no digit, and ends no value.
            let below = (1 << whole) - 1;
            let joined = (word & below) | ((word >> 8) & !below);
            let all = digit_bits(joined);
            let mantissa = leading_digits(joined, all);
            if !is_end((joined >> all) as u8) || (is_negative && mantissa == 0) {
                return None;
            }
            let cell = Cell::decimal(signed(mantissa), ((all - whole) / 8) as u8)?;
            Some((cell, start + all as usize / 8 + 1))
        }
        byte if is_end(byte) => {
            let mantissa = leading_digits(word, whole);
            if is_negative && mantissa == 0 {
                return None;
            }
            Some((Cell::decimal(signed(mantissa), 0)?, start + whole as usize / 8))
        }
        _ => None,
    }
}

/// Reads the number at `at`; returns its cell and the position behind it.
///
/// # Errors
/// Whatever InfluxDB refuses: see [`Fault`].
#[inline]
pub(super) fn number(bytes: &[u8], at: usize) -> Result<(Cell, usize), Fault> {
    let is_negative = bytes.get(at) == Some(&b'-');
    let start = at + usize::from(is_negative);
    let Some((whole, end)) = digits(bytes, start, 0) else {
        return unusual_number(bytes, at);
    };
    let cell = match bytes.get(end) {
        Some(b'i') if end > start && is_value_end(bytes, end + 1) => {
            let value =
                if is_negative { 0i64.checked_sub_unsigned(whole) } else { whole.try_into().ok() };
            return match value {
                Some(value) => Ok((Cell::integer(value), end + 1)),
                None => Err(Fault::IntegerRange),
            };
        }
        Some(b'.') => match digits(bytes, end + 1, whole) {
            Some((mantissa, fraction_end)) if fraction_end > start + 1 => {
                Some((is_negative, mantissa, fraction_end - end - 1, fraction_end))
            }
            _ => None,
        },
        _ if end > start => Some((is_negative, whole, 0, end)),
        _ => None,
    };
    match cell {
        Some((is_negative, mantissa, scale, end)) if is_value_end(bytes, end) => {
            match decimal(is_negative, mantissa, scale) {
                Some(cell) => Ok((cell, end)),
                None => rounded(bytes.get(at..end).unwrap_or_default()).map(|cell| (cell, end)),
            }
        }
        _ => unusual_number(bytes, at),
    }
}

/// A float cell that keeps the decimal text, or nothing when it has too many digits for that.
#[inline]
fn decimal(is_negative: bool, mantissa: u64, scale: usize) -> Option<Cell> {
    let mantissa = i64::try_from(mantissa).ok()?;
    match (is_negative, mantissa) {
        (true, 0) => Some(Cell::float(-0.0)),
        (true, _) => Cell::decimal(-mantissa, u8::try_from(scale).ok()?),
        (false, _) => Cell::decimal(mantissa, u8::try_from(scale).ok()?),
    }
}

/// A float cell with the binary64 value nearest to `text`, which is well formed.
fn rounded(text: &[u8]) -> Result<Cell, Fault> {
    match fast_float2::parse::<f64, _>(text) {
        Ok(value) if value.is_finite() => Ok(Cell::float(value)),
        _ => Err(Fault::InvalidFloat),
    }
}

/// Appends the run of digits at `at` to `value`; returns it with the run's end, or nothing when it
/// does not fit 64 bits.
#[inline]
pub(super) fn digits(bytes: &[u8], mut at: usize, mut value: u64) -> Option<(u64, usize)> {
    while let Some(window) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*window);
        let bits = digit_bits(word);
        let count = (bits / 8) as usize;
        if count == 0 {
            return Some((value, at));
        }
        let run = leading_digits(word, bits);
        let power = POWERS_OF_TEN.get(count).copied().unwrap_or_default();
        value = value.checked_mul(power)?.checked_add(run)?;
        at += count;
        if count < 8 {
            return Some((value, at));
        }
    }
    while let Some(digit) = bytes.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|d| *d <= 9) {
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
        at += 1;
    }
    Some((value, at))
}

/// The zeros of eight bytes of text: what makes their digits values.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Eight times the number of digits that the text in `word` begins with.
#[inline]
const fn digit_bits(word: u64) -> u32 {
    let word = word ^ ZEROS;
    let beyond = (word.wrapping_add(0x7676_7676_7676_7676) | word) & 0x8080_8080_8080_8080;
    beyond.trailing_zeros() & !7
}

/// The number whose digits are the first `bits` of the text in `word`, eight bits each, at least
/// one.
#[inline]
const fn leading_digits(word: u64, bits: u32) -> u64 {
    eight_digits((word ^ ZEROS) << (64 - bits))
}

/// The number whose eight digits, as values, stand in `word`, the first one in its lowest byte.
#[inline]
const fn eight_digits(word: u64) -> u64 {
    let pairs = word.wrapping_mul(10).wrapping_add(word >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff
}

/// Ten to the power of the number of digits of one window.
const POWERS_OF_TEN: [u64; 9] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Numbers off the beaten track: unsigned, in scientific notation, with more digits than a decimal
/// cell keeps, and those that are none.
#[cold]
fn unusual_number(bytes: &[u8], at: usize) -> Result<(Cell, usize), Fault> {
    let length = bytes.get(at..).unwrap_or_default().iter();
    let length = length.take_while(|byte| !matches!(byte, b',' | b' ' | b'\n' | b'\r')).count();
    let end = at + length;
    let text = bytes.get(at..end).unwrap_or_default();
    if !is_value_end(bytes, end) {
        return Err(Fault::InvalidNumber);
    }
    let (is_negative, unsigned) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    match unsigned {
        [plain @ .., b'i'] if is_digits(plain) => Err(Fault::IntegerRange),
        [plain @ .., b'u'] if is_digits(plain) && !is_negative => match digits(plain, 0, 0) {
            Some((value, _)) => Ok((Cell::unsigned(value), end)),
            None => Err(Fault::UnsignedRange),
        },
        _ => float(text, unsigned).map(|cell| (cell, end)),
    }
}

fn is_digits(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

/// The float `text`, which is `unsigned` with or without a minus sign. Whatever holds characters
/// that no float has is an invalid number; what has them in no order that makes sense an invalid
/// float.
fn float(text: &[u8], unsigned: &[u8]) -> Result<Cell, Fault> {
    let exponent = unsigned.iter().position(|byte| matches!(byte, b'e' | b'E'));
    let (significand, power) = unsigned.split_at(exponent.unwrap_or(unsigned.len()));
    let points = unsigned.iter().filter(|byte| **byte == b'.').count();
    let is_expected = |pair: &[u8]| match pair {
        [b'e' | b'E', b'+' | b'-'] => true,
        [_, byte] => byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E'),
        _ => false,
    };
    let is_plain = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let has_digit = significand.iter().any(u8::is_ascii_digit);
    if points > 1 || !significand.iter().all(is_plain) || !power.windows(2).all(is_expected) {
        return Err(Fault::InvalidNumber);
    }
    match power {
        [] if has_digit => {}
        [] => return Err(Fault::InvalidNumber),
        [_, b'+' | b'-', digits @ ..] | [_, digits @ ..] if has_digit && is_digits(digits) => {}
        _ => return Err(Fault::InvalidFloat),
    }
    rounded(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Cell, String> {
        // Once at the end of the bytes, then with so much behind that all windows are full.
        let short = number(text.as_bytes(), 0);
        for end in [",next_field_name=1i 1700000000000000000\n", " 1700000000", "\nnext,host=a"] {
            let long = format!("{text}{end}");
            assert_eq!(short, number(long.as_bytes(), 0), "{long}");
            if let Some(quick) = short_number(long.as_bytes(), 0) {
                assert_eq!(Ok(quick), short, "{long}");
            }
        }
        short.map_err(|fault| fault.to_string()).map(|(cell, end)| {
            assert_eq!(end, text.len(), "{text}");
            cell
        })
    }

    #[test]
    fn integers() {
        for value in [0, 7, -1, 58, 12_345_678, 123_456_789, i64::MAX, i64::MIN] {
            assert_eq!(read(&format!("{value}i")), Ok(Cell::integer(value)));
        }
        assert_eq!(read("-0i"), Ok(Cell::integer(0)));
        assert_eq!(read("007i"), Ok(Cell::integer(7)));
        for text in ["9223372036854775808i", "-9223372036854775809i", "99999999999999999999999i"] {
            assert_eq!(read(text), Err(Fault::IntegerRange.to_string()), "{text}");
        }
        assert_eq!(read("18446744073709551615u"), Ok(Cell::unsigned(u64::MAX)));
        assert_eq!(read("18446744073709551616u"), Err(Fault::UnsignedRange.to_string()));
    }

    #[test]
    fn floats_keep_their_decimals() {
        for (text, mantissa, scale) in [
            ("1", 1, 0),
            ("1.5", 15, 1),
            ("-12.25", -1225, 2),
            (".5", 5, 1),
            ("5.", 5, 0),
            ("-.5", -5, 1),
            ("0", 0, 0),
            ("1.50", 150, 2),
            ("9007199254740992", 9_007_199_254_740_992, 0),
            ("0.1234567890123", 1_234_567_890_123, 13),
        ] {
            assert_eq!(read(text), Ok(Cell::decimal(mantissa, scale).unwrap()), "{text}");
        }
    }

    #[test]
    fn floats_beyond_a_decimal_cell_keep_their_bits() {
        for text in [
            "-0",
            "-0.0",
            "1e5",
            "1E+5",
            "-1.5e-7",
            "9007199254740993",
            "0.12345678901234567",
            "123456789012345678901234567890",
            "1e-400",
            "0.00000000000000000000000000001",
        ] {
            let expected: f64 = text.parse().unwrap();
            assert_eq!(read(text), Ok(Cell::float(expected)), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_refused_in_influxdbs_words() {
        for text in [
            "2e1-", "1e5+", "-", ".", "-.", "1.1.1", "1.0i", "1i2", "1ii", "-i", "1u2", "-1u",
            "1x", "NaN", "nan", "-Inf", "1-", "1_000", "0x10", "1e5i", "1e2u", "1\r2", "1\t",
        ] {
            assert_eq!(read(text), Err("invalid number".to_owned()), "{text}");
        }
        for text in ["1e", "1e+", "1e5e5", "1e400", "-1e400", "1e1.5", ".e1", "-e"] {
            assert_eq!(read(text), Err("invalid float".to_owned()), "{text}");
        }
    }

    #[test]
    fn short_numbers_are_read_from_one_window() {
        let is_short = |text: &str| short_number(format!("{text},next=1").as_bytes(), 0).is_some();
        for text in ["0i", "58i", "-58i", "123456i", "1", "123456", "-12.25", "1234.56", "5."] {
            assert!(is_short(text), "{text}");
            read(text).unwrap();
        }
        for text in ["", "-", ".5", "-0", "-0.0", "1.2.3", "1ii", "1u", "1e5", "1234567", "t", "-i"]
        {
            assert!(!is_short(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn whatever_stands_there_a_short_number_is_what_a_number_is(text in "[-0-9.ieu, \r\nx]{0,12}") {
            if let Some(quick) = short_number(text.as_bytes(), 0) {
                prop_assert_eq!(number(text.as_bytes(), 0), Ok(quick));
            }
        }

        #[test]
        fn any_float_reads_as_rust_reads_it(value in any::<f64>(), form in 0..3) {
            prop_assume!(value.is_finite());
            let text = match form {
                0 => format!("{value}"),
                1 => format!("{value:e}"),
                _ => format!("{value:.6}"),
            };
            let expected: f64 = text.parse().unwrap();
            prop_assert_eq!(read(&text).unwrap().to_f64().to_bits(), expected.to_bits());
        }

        #[test]
        fn any_integer_reads_back(value in any::<i64>(), shift in 0..64) {
            let value = value >> shift;
            prop_assert_eq!(read(&format!("{value}i")), Ok(Cell::integer(value)));
        }
    }
}
