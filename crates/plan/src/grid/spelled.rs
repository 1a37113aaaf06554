//! Numbers as Go spells them, which labels and notes of PromQL show.

/// A number with so many digits, or as many as it needs, as Go's `%g` writes it.
pub fn general(value: f64, digits: Option<usize>) -> String {
    match value {
        _ if value.is_nan() => return "NaN".to_owned(),
        f64::INFINITY => return "+Inf".to_owned(),
        f64::NEG_INFINITY => return "-Inf".to_owned(),
        _ => {}
    }
    let spelled = match digits {
        Some(digits) => format!("{value:.*e}", digits.saturating_sub(1)),
        None => format!("{value:e}"),
    };
    let (mantissa, exponent) = spelled.split_once('e').unwrap_or((&spelled, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..digits.map_or(6, |digits| digits as i32)).contains(&exponent) {
        let rounded: f64 = spelled.parse().unwrap_or(value);
        return rounded.to_string();
    }
    let mantissa = match mantissa.contains('.') {
        true => mantissa.trim_end_matches('0').trim_end_matches('.'),
        false => mantissa,
    };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_go_writes_them() {
        for (value, digits, wanted) in [
            (1.1, None, "1.1"),
            (-0.5, None, "-0.5"),
            (100_000.0, None, "100000"),
            (1_000_000.0, None, "1e+06"),
            (1_234_567.0, None, "1.234567e+06"),
            (0.0001, None, "0.0001"),
            (0.000_015, None, "1.5e-05"),
            (f64::NAN, None, "NaN"),
            (f64::INFINITY, None, "+Inf"),
            (5.0, Some(2), "5"),
            (15.4, Some(2), "15"),
            (99.9, Some(2), "1e+02"),
            (123.0, Some(2), "1.2e+02"),
            (0.0126, Some(2), "0.013"),
        ] {
            assert_eq!(general(value, digits), wanted);
        }
    }
}
