//! Histograms as OpenTSDB's clients write them, and what it calls their figures.
//!
//! Points that carry an id are OpenTSDB's own form, in Base64 (RFC 4648): bucket count `u16`, then
//! per bucket two `f32` and a varint, then underflow and overflow as varints; big end first (the
//! form of Kryo, which OpenTSDB writes with).

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, PAD};
use foliot_model::{Counts, Figure};

/// Base64 as senders write it, with padding or without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    PAD.with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Reads `u=0:o=1:0,10=4:10,20=6`, the form of telnet lines.
pub(crate) fn parse(text: &str) -> Result<Counts, String> {
    let mut counts = Counts::default();
    let (mut underflow, mut overflow) = (0, 0);
    for bucket in text.split(':') {
        let improper = || format!("Improperly formatted bucket: {bucket}");
        let (bounds, count) = bucket.split_once('=').ok_or_else(improper)?;
        let count = count.parse().map_err(|_| format!("For input string: \"{count}\""))?;
        match bounds.to_ascii_lowercase().as_str() {
            "u" => underflow = count,
            "o" => overflow = count,
            bounds => set_named(&mut counts, bounds, count)?,
        }
    }
    counts.set_flows(underflow, overflow);
    Ok(counts)
}

/// Sets a bucket by the text of its bounds, `0,10`.
pub(crate) fn set_named(counts: &mut Counts, bounds: &str, count: u64) -> Result<(), String> {
    let improper = || format!("Improperly formatted bounds: {bounds}");
    let (lower, upper) = bounds.split_once(',').ok_or_else(improper)?;
    let bound = |text: &str| text.trim().parse::<f32>().ok().filter(|bound| bound.is_finite());
    let (lower, upper) = bound(lower).zip(bound(upper)).ok_or_else(improper)?;
    match counts.set(lower, upper, count) {
        true => Ok(()),
        false => Err(format!("A histogram may have {} buckets", Counts::BUCKETS_MAX)),
    }
}

/// Reads OpenTSDB's own bytes in Base64.
pub(crate) fn from_base64(text: &str) -> Result<Counts, String> {
    let bytes = BASE64.decode(text).map_err(|_| format!("Not Base64: \"{text}\""))?;
    let mut rest = bytes.as_slice();
    Counts::read(&mut rest, u16::from_be_bytes, f32::from_be_bytes)
        .filter(|_| rest.is_empty())
        .ok_or_else(|| "The bytes are no histogram".to_owned())
}

/// What stands behind a metric's name for one of its figures.
pub(crate) fn suffix(figure: Figure) -> String {
    match figure {
        Figure::Percentile(percent) => format!("_pct_{percent:?}"),
        Figure::Underflow => "_UNDERFLOW".to_owned(),
        Figure::Between(lower, upper) => format!("_{lower:?}_{upper:?}"),
        Figure::Overflow => "_OVERFLOW".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_named_upwards() {
        let counts = parse("U=300:o=1:-1.5,10=4:10,20=70000").unwrap();
        let names: Vec<_> = counts.iter().map(|(figure, count)| (suffix(figure), count)).collect();
        let expected =
            [("_UNDERFLOW", 300), ("_-1.5_10.0", 4), ("_10.0_20.0", 70_000), ("_OVERFLOW", 1)];
        assert_eq!(names, expected.map(|(name, count)| (name.to_owned(), count)));
        assert_eq!(suffix(Figure::Percentile(99.9)), "_pct_99.9");
    }

    #[test]
    fn opentsdbs_bytes() {
        // One bucket from 0 to 10 with 4, nothing below, 1 above.
        let bytes = [0, 1, 0, 0, 0, 0, 0x41, 0x20, 0, 0, 4, 0, 1];
        assert_eq!(BASE64.decode("AAEAAAAAQSAAAAQAAQ==").unwrap(), bytes);
        let counts = from_base64("AAEAAAAAQSAAAAQAAQ==").unwrap();
        assert_eq!(counts, parse("0,10=4:o=1").unwrap());
        for text in ["", "AAE", "!!", "AAEAAAAAQSAAAAQAAQAA"] {
            assert!(from_base64(text).is_err(), "{text}");
        }
    }

    #[test]
    fn refusals() {
        for (text, fault) in [
            ("", "Improperly formatted bucket: "),
            ("0,10", "Improperly formatted bucket: 0,10"),
            ("x=4", "Improperly formatted bounds: x"),
            ("0,x=4", "Improperly formatted bounds: 0,x"),
            ("0,10=x", "For input string: \"x\""),
        ] {
            assert_eq!(parse(text).unwrap_err(), fault);
        }
    }
}
