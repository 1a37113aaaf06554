//! Lengths of time and sizes as Prometheus' files spell them.

/// Units of time, the longest first, in milliseconds.
const UNITS: [(&str, u64); 7] = [
    ("y", 365 * 86_400_000),
    ("w", 7 * 86_400_000),
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

/// Longest time that a number of nanoseconds holds.
const MS_MAX: u64 = i64::MAX as u64 / 1_000_000;

/// Reads a length of time such as `1h30m` or `15s`, in milliseconds.
///
/// # Errors
/// When it is none, in a sentence.
pub fn read_length(text: &str) -> Result<u64, String> {
    let bad = || format!("{text:?} is not a length of time such as 15s, 5m or 1h30m");
    if text == "0" {
        return Ok(0);
    }
    let (mut rest, mut units, mut total_ms) = (text, UNITS.as_slice(), 0u64);
    if rest.is_empty() {
        return Err(bad());
    }
    while !rest.is_empty() {
        let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = rest.strip_suffix(behind).unwrap_or_default();
        let end = behind.find(|c: char| c.is_ascii_digit()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at_checked(end).ok_or_else(bad)?;
        // Each unit once, in order.
        let at = units.iter().position(|(name, _)| *name == unit).ok_or_else(bad)?;
        let (_, unit_ms) = units.get(at).ok_or_else(bad)?;
        units = units.get(at + 1..).unwrap_or_default();
        let count: u64 = digits.parse().map_err(|_| bad())?;
        let part = count.checked_mul(*unit_ms);
        total_ms = part.and_then(|part| part.checked_add(total_ms)).ok_or_else(bad)?;
        rest = behind;
    }
    if total_ms > MS_MAX { Err(bad()) } else { Ok(total_ms) }
}

/// Spells a length of time as Prometheus does: `1h30m`, and weeks and years only where they are
/// whole.
pub fn show_length(mut ms: u64) -> String {
    if ms == 0 {
        return "0s".to_owned();
    }
    let mut out = String::new();
    for (name, unit) in UNITS {
        let is_whole_only = matches!(name, "y" | "w");
        if is_whole_only && !ms.is_multiple_of(unit) || ms < unit {
            continue;
        }
        out.push_str(&format!("{}{name}", ms / unit));
        ms %= unit;
    }
    out
}

/// Units of sizes by both of their names, as powers of two.
const SIZES: [(&str, &str, u32); 7] = [
    ("B", "B", 0),
    ("KB", "KiB", 10),
    ("MB", "MiB", 20),
    ("GB", "GiB", 30),
    ("TB", "TiB", 40),
    ("PB", "PiB", 50),
    ("EB", "EiB", 60),
];

/// Reads a number of bytes such as `10MB` or `1.5GB512KB`, where a thousand and twenty-four bytes
/// are a kilobyte, as Prometheus counts. Like it, it takes no number without a unit but 0.
///
/// # Errors
/// When it is none, in a sentence.
pub(crate) fn read_size(text: &str) -> Result<u64, String> {
    let bad = || format!("{text:?} is not a number of bytes such as 10MB");
    if text == "0" {
        return Ok(0);
    }
    let (mut rest, mut total) = (text, 0.0);
    let is_of_number = |c: char| c.is_ascii_digit() || c == '.';
    if rest.is_empty() {
        return Err(bad());
    }
    while !rest.is_empty() {
        let behind = rest.trim_start_matches(is_of_number);
        let count: f64 =
            rest.strip_suffix(behind).unwrap_or_default().parse().map_err(|_| bad())?;
        let end = behind.find(is_of_number).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at_checked(end).ok_or_else(bad)?;
        let found = SIZES.iter().find(|(one, other, _)| *one == unit || *other == unit);
        let (.., shift) = found.ok_or_else(bad)?;
        total += count * (1u64 << shift) as f64;
        rest = behind;
    }
    if total < i64::MAX as f64 { Ok(total as u64) } else { Err(bad()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_and_spelled_as_prometheus_does() {
        for (text, ms, shown) in [
            ("0", 0, "0s"),
            ("0s", 0, "0s"),
            ("100ms", 100, "100ms"),
            ("15s", 15_000, "15s"),
            ("90s", 90_000, "1m30s"),
            ("1h30m", 5_400_000, "1h30m"),
            ("1w", 604_800_000, "1w"),
            ("8d", 691_200_000, "8d"),
            ("1y", 31_536_000_000, "1y"),
            ("1d3h5m2s1ms", 97_502_001, "1d3h5m2s1ms"),
        ] {
            assert_eq!(read_length(text), Ok(ms), "{text}");
            assert_eq!(show_length(ms), shown, "{text}");
        }
        for text in ["", "1", "s", "1.5s", "5s1h", "1s1s", "-5s", "5 s", "99999999999y", "1ö"] {
            assert!(read_length(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_powers_of_two() {
        assert_eq!(read_size("0"), Ok(0));
        assert_eq!(read_size("10MB"), Ok(10 << 20));
        assert_eq!(read_size("1KiB"), Ok(1024));
        assert_eq!(read_size("7B"), Ok(7));
        assert_eq!(read_size("1.5MB"), Ok(3 << 19));
        assert_eq!(read_size("1MB2KB.5KiB"), Ok((1 << 20) + 2048 + 512));
        for text in [
            "10",
            "1MB2",
            ".MB",
            "1.5.5MB",
            "-1MB",
            "",
            "B",
            "10 MB",
            "10kB",
            "10mb",
            "10 apples",
            "99999999PB",
        ] {
            assert!(read_size(text).is_err(), "{text}");
        }
    }
}
