//! Numbers with suffixes, and lengths of time.

use super::Length;
use crate::promql::reader::{ParseError, Reader};

/// What stands behind a number, and what it is then; the longer ones of the same beginning first.
const SUFFIXES: [(&str, f64); 16] = [
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
    ("Ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("K", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
];

/// Units of time with their milliseconds; `i` is a step.
const UNITS: [(&str, f64); 8] = [
    ("ms", 1.0),
    ("s", 1e3),
    ("m", 60e3),
    ("h", 3_600e3),
    ("d", 86_400e3),
    ("w", 604_800e3),
    ("y", 31_536_000e3),
    ("i", 0.0),
];

/// A number, or a length of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Amount {
    Number(f64),
    Length(Length),
}

/// Reads what begins with a digit or a point.
pub(super) fn amount(reader: &mut Reader<'_>) -> Result<Amount, ParseError> {
    let rest = reader.rest();
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
    let mut bytes = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
    let is_hex = rest.starts_with("0x") || rest.starts_with("0X");
    let signed = rest.get(bytes..).unwrap_or_default();
    let ends_with_e = rest.get(..bytes).is_some_and(|text| text.ends_with(['e', 'E']));
    if ends_with_e && !is_hex && signed.starts_with(['+', '-']) {
        let more = signed.get(1..).unwrap_or_default();
        bytes += 1 + more.find(|c: char| !c.is_ascii_digit()).unwrap_or(more.len());
    }
    let text = rest.get(..bytes).unwrap_or_default();
    let plain = text.replace('_', "");
    let found = number(&plain).map(Amount::Number).or_else(|| length(&plain).map(Amount::Length));
    match found {
        Some(amount) => {
            reader.at += bytes;
            Ok(amount)
        }
        None => Err(reader.error(format!("bad number or duration syntax: {text:?}"))),
    }
}

fn number(text: &str) -> Option<f64> {
    for (prefix, radix) in [("0x", 16), ("0X", 16), ("0b", 2), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            return u64::from_str_radix(digits, radix).ok().map(|number| number as f64);
        }
    }
    let decimal = |text: &str| {
        let is_decimal = text.ends_with(|c: char| c.is_ascii_digit() || c == '.');
        text.parse::<f64>().ok().filter(|_| is_decimal)
    };
    let suffixed = || {
        SUFFIXES
            .iter()
            .find_map(|(suffix, times)| Some(decimal(text.strip_suffix(suffix)?)? * times))
    };
    decimal(text).or_else(suffixed)
}

/// `1h30m`, `1.5h`, `2i`: units in any order.
fn length(text: &str) -> Option<Length> {
    let (mut rest, mut total) = (text, Length::default());
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let count: f64 = rest.get(..digits)?.parse().ok()?;
        rest = rest.get(digits..)?;
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit = rest.get(..letters)?.to_ascii_lowercase();
        let (unit, ms) = UNITS.iter().find(|(name, _)| *name == unit)?;
        match *unit {
            "i" => total.steps += count,
            _ => total.ms += count * ms,
        }
        rest = rest.get(letters..)?;
    }
    (!text.is_empty()).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_suffixes_and_lengths_units() {
        for (text, wanted) in [
            ("8Ki", 8192.0),
            ("1M", 1e6),
            ("1.5GiB", 1.5 * 1_073_741_824.0),
            ("0x1F", 31.0),
            ("1_000", 1000.0),
            ("1e3", 1000.0),
            (".5", 0.5),
        ] {
            assert_eq!(number(&text.replace('_', "")), Some(wanted), "{text}");
        }
        for (text, ms, steps) in
            [("1.5h", 5_400e3, 0.0), ("1h30m", 5_400e3, 0.0), ("2i", 0.0, 2.0), ("1m1i", 60e3, 1.0)]
        {
            assert_eq!(length(text), Some(Length { ms, steps }), "{text}");
        }
        for text in ["", "1q", "h", "1hh"] {
            assert_eq!((number(text), length(text)), (None, None), "{text}");
        }
    }
}
