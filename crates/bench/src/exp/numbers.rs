//! Numbers as tables and plots take them.

/// Bytes in MiB.
pub(crate) fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// A number with spaces between thousands.
pub(crate) fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    if value < 0.0 { format!("-{out}") } else { out }
}

/// Growth per second between neighbours that are not too close to tell.
pub(crate) fn slopes(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let points: Vec<(f64, f64)> = points.collect();
    let slope = |pair: &[(f64, f64)]| match pair {
        [a, b] if b.0 - a.0 > 0.2 => Some((b.0, (b.1 - a.1) / (b.0 - a.0))),
        _ => None,
    };
    points.windows(2).filter_map(slope).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_spaced() {
        let texts = [0.0, 999.0, 1000.0, 1_234_567.4, -12_345.0].map(thousands);
        assert_eq!(texts, ["0", "999", "1 000", "1 234 567", "-12 345"]);
    }
}
