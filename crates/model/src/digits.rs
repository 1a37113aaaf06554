//! Whole numbers in decimal: answers mostly consist of them.

/// Appends a whole number, eight digits at a time.
#[inline]
pub fn push_whole(whole: u64, out: &mut Vec<u8>) {
    const EIGHT: u64 = 100_000_000;
    match whole {
        0..10 => out.push(b'0' + whole as u8),
        10..100 => out.extend_from_slice(&[b'0' + (whole / 10) as u8, b'0' + (whole % 10) as u8]),
        100..EIGHT => {
            let digits = eight_digits(whole);
            let zeros = digits.trailing_zeros() / 8;
            let text = (digits | u64::from_le_bytes([b'0'; 8])) >> (8 * zeros);
            push_begin(&text.to_le_bytes(), 8 - zeros as usize, out);
        }
        EIGHT.. => {
            push_whole(whole / EIGHT, out);
            let digits = eight_digits(whole % EIGHT) | u64::from_le_bytes([b'0'; 8]);
            out.extend_from_slice(&digits.to_le_bytes());
        }
    }
}

/// The same with a sign, where there is one.
#[inline]
pub fn push_integer(value: i64, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    push_whole(value.unsigned_abs(), out);
}

/// Appends the first bytes of a text: all of it take fewer steps to copy than as many as are
/// wanted.
#[inline]
pub fn push_begin<const N: usize>(text: &[u8; N], len: usize, out: &mut Vec<u8>) {
    let end = out.len() + len;
    out.extend_from_slice(text);
    out.truncate(end);
}

/// The digits of a number of at most eight, the first one lowest: halves are cut in halves, all at
/// once (P. Khuong, "How to print integers really fast", 2017).
#[inline]
fn eight_digits(number: u64) -> u64 {
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x7f_0000_007f;
    let twos = hundreds | ((fours - hundreds * 100) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((twos - tens * 10) << 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_standard_library() {
        let powers = (0..20).map(|digits| 10_u64.pow(digits));
        let near = powers.flat_map(|power| [power - 1, power, power + 1, power / 3, u64::MAX]);
        let odd = (0..20_000).chain((0..1_000_000).map(|at| at * 9_999_999_967 % 10_u64.pow(17)));
        for whole in near.chain(odd).chain((0..64).map(|shift| u64::MAX >> shift)) {
            let mut out = Vec::new();
            push_whole(whole, &mut out);
            out.push(b' ');
            push_integer(whole as i64, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), format!("{whole} {}", whole as i64));
        }
    }
}
