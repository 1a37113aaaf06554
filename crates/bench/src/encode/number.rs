//! Numbers as text, without allocation and without the detours of `format!`.

use crate::law::Kind;

/// Appends a value held in units of its kind.
#[inline]
pub(crate) fn push_value(kind: Kind, value: i64, out: &mut Vec<u8>) {
    match kind {
        Kind::Integer | Kind::Decimal(0) => push_integer(value, out),
        Kind::Decimal(scale) => {
            let unit = kind.unit();
            if value < 0 {
                out.push(b'-');
            }
            push_digits((value / unit).unsigned_abs(), 1, out);
            out.push(b'.');
            push_digits((value % unit).unsigned_abs(), usize::from(scale), out);
        }
    }
}

/// Appends a whole number.
#[inline]
#[allow(clippy::indexing_slicing, reason = "below one hundred")]
pub(crate) fn push_integer(value: i64, out: &mut Vec<u8>) {
    if (10..100).contains(&value) {
        return out.extend_from_slice(&PAIRS[value as usize]);
    }
    if value < 0 {
        out.push(b'-');
    }
    push_digits(value.unsigned_abs(), 1, out);
}

/// Two digits for each number below one hundred.
static PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut at = 0;
    #[allow(clippy::indexing_slicing, reason = "evaluated at compile time")]
    while at < 100 {
        pairs[at] = [b'0' + (at / 10) as u8, b'0' + (at % 10) as u8];
        at += 1;
    }
    pairs
};

/// Appends a number with at least `least` digits; at most 20.
#[inline]
#[allow(clippy::indexing_slicing, reason = "remainders of 100 and a cursor that starts at 20")]
fn push_digits(mut value: u64, least: usize, out: &mut Vec<u8>) {
    if value < 10 && least == 1 {
        return out.push(b'0' + value as u8);
    }
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    while value >= 10 {
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[(value % 100) as usize]);
        value /= 100;
    }
    if value > 0 {
        at -= 1;
        digits[at] = b'0' + value as u8;
    }
    out.extend_from_slice(&digits[at.min(20 - least.min(20))..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(kind: Kind, value: i64) -> String {
        let mut out = Vec::new();
        push_value(kind, value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_are_written_as_the_standard_library_writes_them() {
        for value in [0, 1, 9, 10, 11, 99, 100, 101, 999, 1000, 65_535, i64::MAX, i64::MIN + 1] {
            assert_eq!(text(Kind::Integer, value), value.to_string());
            assert_eq!(text(Kind::Integer, -value), (-value).to_string());
        }
    }

    #[test]
    fn decimals_keep_their_digits() {
        assert_eq!(text(Kind::Decimal(2), 5), "0.05");
        assert_eq!(text(Kind::Decimal(2), -5), "-0.05");
        assert_eq!(text(Kind::Decimal(2), -12345), "-123.45");
        assert_eq!(text(Kind::Decimal(5), 100_000), "1.00000");
        assert_eq!(text(Kind::Decimal(1), 0), "0.0");
        assert_eq!(text(Kind::Decimal(0), 7), "7");
    }
}
