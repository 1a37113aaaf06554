//! Doubles the way Java prints them (`Double.toString`): clients compare texts.
//!
//! From 10^-3 to below 10^7 plain, with at least one digit after the point; elsewhere a digit, a
//! point, at least one more digit, `E` and the exponent. The digits are the fewest that identify
//! the number, as in Java since version 19; older ones printed one too many for a few numbers.

/// Writes a finite number.
#[inline]
pub fn write_double(value: f64, out: &mut Vec<u8>) {
    debug_assert!(value.is_finite());
    let magnitude = value.abs();
    if (1e-3..1e7).contains(&magnitude) || magnitude == 0.0 {
        let mut buffer = zmij::Buffer::new();
        out.extend_from_slice(buffer.format_finite(value).as_bytes());
    } else {
        write_scientific(value, out);
    }
}

#[cold]
fn write_scientific(value: f64, out: &mut Vec<u8>) {
    let mut text = format!("{value:E}");
    if !text.contains('.') {
        // At least two digits; among the smallest numbers the second one need not be a zero.
        text = format!("{value:.1E}");
    }
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(value: f64) -> String {
        let mut out = Vec::new();
        write_double(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn javas_table() {
        for (value, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (3.0, "3.0"),
            (-42.5, "-42.5"),
            (0.1, "0.1"),
            (0.001, "0.001"),
            (0.00099, "9.9E-4"),
            (1e-5, "1.0E-5"),
            (123_456.789, "123456.789"),
            (1_000_000.0, "1000000.0"),
            (9_999_999.0, "9999999.0"),
            (9_999_999.999_999_998, "9999999.999999998"),
            (1e7, "1.0E7"),
            (1e10, "1.0E10"),
            (12_345_678.0, "1.2345678E7"),
            (-1.7e9, "-1.7E9"),
            (f64::MAX, "1.7976931348623157E308"),
            (f64::MIN_POSITIVE, "2.2250738585072014E-308"),
            (5e-324, "4.9E-324"),
            (1.0 / 3.0, "0.3333333333333333"),
            (2e23, "2.0E23"),
            (9.223_372_036_854_776e18, "9.223372036854776E18"),
            (1.1e-7, "1.1E-7"),
        ] {
            assert_eq!(text(value), expected, "{value}");
        }
    }

    proptest! {
        #[test]
        fn texts_read_back_and_have_javas_form(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            let text = text(value);
            prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), bits);
            let unsigned = text.trim_start_matches('-');
            let (digits, exponent) = unsigned.split_once('E').unwrap_or((unsigned, ""));
            let (whole, fraction) = digits.split_once('.').unwrap();
            prop_assert!(!fraction.is_empty());
            let is_plain = (1e-3..1e7).contains(&value.abs()) || value == 0.0;
            prop_assert_eq!(exponent.is_empty(), is_plain);
            prop_assert!(exponent.is_empty() || whole.len() == 1);
        }

        #[test]
        fn plain_decimals_print_as_written(mantissa in 1_000_i64..10_000_000, scale in 0_u8..6) {
            let value = mantissa as f64 / 10_f64.powi(i32::from(scale));
            let plain = format!("{value}");
            let expected = if plain.contains('.') { plain } else { plain + ".0" };
            prop_assert_eq!(text(value), expected);
        }
    }
}
