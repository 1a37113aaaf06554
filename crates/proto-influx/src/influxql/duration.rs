//! Durations: `1h30m` and back.

const UNITS: [(&str, i64); 8] = [
    ("w", 604_800_000_000_000),
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("u", 1_000),
    ("ns", 1),
];

/// Reads a duration of one or several numbers with units (`w`, `d`, `h`, `m`, `s`, `ms`, `u` or
/// `µ`,
/// `ns`) as nanoseconds.
///
/// # Errors
/// With InfluxDB's sentence, when the text is none or too long a time.
pub fn parse_duration(text: &str) -> Result<i64, String> {
    let invalid = || "invalid duration".to_owned();
    let (is_negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total_ns = 0i64;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(invalid)?;
        let (number, behind) = rest.split_at(end);
        let number: i64 = number.parse().map_err(|_| invalid())?;
        let (unit, length, unit_ns) = split_unit(behind).ok_or_else(invalid)?;
        let next_ns = number.checked_mul(unit_ns).and_then(|part| total_ns.checked_add(part));
        total_ns = next_ns.ok_or_else(|| {
            format!("overflowed duration {number}{unit}: choose a smaller duration or INF")
        })?;
        rest = behind.get(length..).unwrap_or_default();
    }
    Ok(if is_negative { -total_ns } else { total_ns })
}

/// The unit at the beginning of `text`, its length in bytes and in nanoseconds.
fn split_unit(text: &str) -> Option<(&'static str, usize, i64)> {
    if let Some(micro) = ["µ", "μ"].iter().find(|micro| text.starts_with(**micro)) {
        return Some(("u", micro.len(), 1_000));
    }
    // Of two units that fit, `m` and `ms`, the longer one is meant.
    let fitting = UNITS.iter().filter(|(unit, _)| text.starts_with(unit));
    let (unit, unit_ns) = fitting.max_by_key(|(unit, _)| unit.len())?;
    Some((unit, unit.len(), *unit_ns))
}

/// Writes a duration with the largest unit that leaves no fraction.
pub fn format_duration(duration_ns: i64) -> String {
    let unit = UNITS.iter().find(|(_, unit_ns)| duration_ns % unit_ns == 0);
    match unit {
        Some((unit, unit_ns)) if duration_ns != 0 => format!("{}{unit}", duration_ns / unit_ns),
        _ => "0s".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_sums_of_units() {
        for (text, duration_ns, printed) in [
            ("10s", 10_000_000_000, "10s"),
            ("1h30m", 5_400_000_000_000, "90m"),
            ("7d", 604_800_000_000_000, "1w"),
            ("5ms", 5_000_000, "5ms"),
            ("5m", 300_000_000_000, "5m"),
            ("3µ", 3_000, "3u"),
            ("3u", 3_000, "3u"),
            ("1001ns", 1_001, "1001ns"),
            ("-2d", -172_800_000_000_000, "-2d"),
            ("0s", 0, "0s"),
        ] {
            assert_eq!(parse_duration(text), Ok(duration_ns), "{text}");
            assert_eq!(format_duration(duration_ns), printed);
        }
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in ["", "-", "1", "s", "1n", "1x", "1s2", "99999999999999999999s"] {
            assert_eq!(parse_duration(text), Err("invalid duration".to_owned()), "{text}");
        }
        assert_eq!(
            parse_duration("50000w"),
            Err("overflowed duration 50000w: choose a smaller duration or INF".to_owned())
        );
    }
}
