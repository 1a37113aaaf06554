//! Labels and samples as all senders write them: the same few fields in the same order, and lengths
//! of one byte. They are read without asking at each byte what it may be. Whatever is written in
//! another way is left to [`crate::wire::Fields`].

use super::SAMPLE;
use crate::key::{LABEL, LABEL_NAME, LABEL_VALUE};

/// The wire types of a field.
const VARINT: u8 = 0;
const FIXED64: u8 = 1;
const BYTES: u8 = 2;

const LABEL_TAG: u8 = tag(LABEL, BYTES);
const NAME_TAG: u8 = tag(LABEL_NAME, BYTES);
const LABEL_VALUE_TAG: u8 = tag(LABEL_VALUE, BYTES);
const SAMPLE_TAG: u8 = tag(SAMPLE, BYTES);
const SAMPLE_VALUE_TAG: u8 = tag(1, FIXED64);
const TIME_TAG: u8 = tag(2, VARINT);

const fn tag(number: u64, wire_type: u8) -> u8 {
    (number as u8) << 3 | wire_type
}

/// How long the run of labels in front is: fields with a name, a value and no more.
pub(super) fn labels_length(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    while let Some(behind) = behind_label(rest) {
        rest = behind;
    }
    bytes.len() - rest.len()
}

/// What stands behind the label in front.
#[inline]
fn behind_label(bytes: &[u8]) -> Option<&[u8]> {
    let [LABEL_TAG, length @ 0..0x80, rest @ ..] = bytes else { return None };
    let (label, behind) = rest.split_at_checked(usize::from(*length))?;
    // A length of more bytes than one is larger than what there is.
    let [NAME_TAG, name, label @ ..] = label else { return None };
    let [LABEL_VALUE_TAG, value, label @ ..] = label.get(usize::from(*name)..)? else {
        return None;
    };
    (label.len() == usize::from(*value)).then_some(behind)
}

/// A sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) value: f64,
    pub(super) time_ms: i64,
    /// Bytes that its field takes.
    pub(super) length: usize,
}

/// The sample in front: a value of eight bytes, and a time of two to eight.
#[inline]
pub(super) fn sample(bytes: &[u8]) -> Option<Sample> {
    let [SAMPLE_TAG, length, SAMPLE_VALUE_TAG, rest @ ..] = bytes else { return None };
    let (value, rest) = rest.split_first_chunk::<8>()?;
    let [TIME_TAG, rest @ ..] = rest else { return None };
    // Both tags and the value.
    let time_length = usize::from(*length).checked_sub(10).filter(|length| *length <= 8)?;
    let (last, before) = rest.get(..time_length)?.split_last()?;
    if before.is_empty() || *last >= 0x80 {
        return None;
    }
    let mut time_ms = u64::from(*last);
    for byte in before.iter().rev() {
        if *byte < 0x80 {
            return None;
        }
        time_ms = time_ms << 7 | u64::from(byte & 0x7f);
    }
    let (value, time_ms) = (f64::from_le_bytes(*value), time_ms as i64);
    Some(Sample { value, time_ms, length: 2 + usize::from(*length) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack_labels;
    use crate::series::push_number_sample;

    #[test]
    fn labels_end_where_another_form_begins() {
        let long = "x".repeat(130);
        let pairs = [("a", "b"), ("", ""), ("name", "value of some length"), ("e", "")];
        let packed = pack_labels(pairs.into_iter());
        for more in
            [&b""[..], b"\x0a", b"\x0a\x00", b"\x12\x00", b"\x0a\x03\x0a\x01a", b"\x0a\x80\x01"]
        {
            let whole = [&packed, more].concat();
            assert_eq!(labels_length(&whole), packed.len(), "{more:?}");
        }
        let longer = pack_labels([("long", &*long), ("a", "b")].into_iter());
        assert_eq!(labels_length(&[packed.clone(), longer].concat()), packed.len());
        for cut in 0..packed.len() {
            assert!(labels_length(&packed[..cut]) <= cut);
        }
        // A value in front of its name, a field twice, bytes behind the value.
        for bad in [
            &b"\x0a\x06\x12\x01b\x0a\x01a"[..],
            b"\x0a\x07\x0a\x01a\x12\x01bx",
            b"\x0a\x06\x0a\x02a\x12\x01b",
        ] {
            assert_eq!(labels_length(bad), 0, "{bad:?}");
        }
    }

    #[test]
    fn samples_are_those_that_were_written() {
        for time_ms in [128, 16_383, 1_700_000_000_123, (1 << 56) - 1] {
            for value in [0.0, -0.0, 1.5, f64::NAN, f64::INFINITY] {
                let mut bytes = Vec::new();
                push_number_sample(value, time_ms, &mut bytes);
                let length = bytes.len();
                bytes.extend_from_slice(b"\x12\x00");
                let read = sample(&bytes).unwrap();
                assert_eq!((read.value.to_bits(), read.time_ms), (value.to_bits(), time_ms));
                assert_eq!(read.length, length);
                (0..length).for_each(|cut| assert_eq!(sample(&bytes[..cut]), None));
            }
        }
        // Other times are left to whom knows more.
        for time_ms in [0, 127, -1, 1 << 56] {
            let mut bytes = Vec::new();
            push_number_sample(1.0, time_ms, &mut bytes);
            assert_eq!(sample(&bytes), None, "{time_ms}");
        }
        let mut bytes = Vec::new();
        push_number_sample(1.0, 300, &mut bytes);
        bytes[12] = 0x7f;
        assert_eq!(sample(&bytes), None, "the time ends before the sample does");
    }
}
