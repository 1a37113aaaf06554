//! Labels and samples as all senders write them: the same few fields in the same order, and lengths
//! of one byte or two. They are read without asking at each byte what it may be. Whatever is
//! written in another way is left to [`crate::wire::Fields`].

use super::{SAMPLE, Version};
use crate::key::{LABEL, LABEL_NAME, LABEL_VALUE};

/// The wire types of a field.
const VARINT: u8 = 0;
const FIXED64: u8 = 1;
const BYTES: u8 = 2;

const SERIES_TAG: u8 = tag(Version::V1.series(), BYTES);
const LABEL_TAG: u8 = tag(LABEL, BYTES);
const NAME_TAG: u8 = tag(LABEL_NAME, BYTES);
const LABEL_VALUE_TAG: u8 = tag(LABEL_VALUE, BYTES);
const SAMPLE_TAG: u8 = tag(SAMPLE, BYTES);
const SAMPLE_VALUE_TAG: u8 = tag(1, FIXED64);
const TIME_TAG: u8 = tag(2, VARINT);

const fn tag(number: u64, wire_type: u8) -> u8 {
    (number as u8) << 3 | wire_type
}

/// A series of labels and one sample, as nearly all are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Series {
    /// Bytes before its labels: its own tag and length.
    pub(super) before: usize,
    /// Bytes of its labels, behind which the sample stands.
    pub(super) labels: usize,
    /// Bytes that its field takes.
    pub(super) length: usize,
}

/// The series in front, of version 1.0, when it is of that form.
#[inline]
pub(super) fn series(bytes: &[u8]) -> Option<Series> {
    let [SERIES_TAG, behind @ ..] = bytes else { return None };
    let (own, behind) = length(behind)?;
    let before = bytes.len() - behind.len();
    let length = before + own;
    let series = bytes.get(before..length)?;
    let labels = labels_length(series);
    sample(series.get(labels..)?).filter(|sample| labels + sample.length == own).map(|_| Series {
        before,
        labels,
        length,
    })
}

/// The series in front, when by its length and its end it may be of that form: nobody has looked at
/// its labels. Of bytes that are labels the sample stands where it is read here.
#[inline]
pub(super) fn series_by_length(bytes: &[u8]) -> Option<Series> {
    let [SERIES_TAG, behind @ ..] = bytes else { return None };
    let (own, behind) = length(behind)?;
    let before = bytes.len() - behind.len();
    let labels = own.checked_sub(SAMPLE_BYTES)?;
    sample(behind.get(labels..own)?)?;
    Some(Series { before, labels, length: before + own })
}

/// Whether bytes are a run of labels, and nothing stands in front of it.
pub(super) fn are_labels(front: &[u8], bytes: &[u8]) -> bool {
    front.is_empty() && labels_length(bytes) == bytes.len()
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
    let [LABEL_TAG, length @ 0..0x80, rest @ ..] = bytes else { return behind_long_label(bytes) };
    let (label, behind) = rest.split_at_checked(usize::from(*length))?;
    // A length of more bytes than one is larger than what there is.
    let [NAME_TAG, name, label @ ..] = label else { return None };
    let [LABEL_VALUE_TAG, value, label @ ..] = label.get(usize::from(*name)..)? else {
        return None;
    };
    (label.len() == usize::from(*value)).then_some(behind)
}

/// The same for a label of more than 127 bytes, as the paths of containers make them.
#[inline(never)]
fn behind_long_label(bytes: &[u8]) -> Option<&[u8]> {
    let [LABEL_TAG, rest @ ..] = bytes else { return None };
    let (own, rest) = length(rest)?;
    let (label, behind) = rest.split_at_checked(own)?;
    let [NAME_TAG, label @ ..] = label else { return None };
    let (name, label) = length(label)?;
    let [LABEL_VALUE_TAG, label @ ..] = label.get(name..)? else { return None };
    let (value, label) = length(label)?;
    (label.len() == value).then_some(behind)
}

/// A length of one byte or two, and what stands behind it.
#[inline]
fn length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    match bytes {
        [own @ 0..0x80, behind @ ..] => Some((usize::from(*own), behind)),
        [low, high @ 0..0x80, behind @ ..] => {
            Some((usize::from(*low & 0x7f) | usize::from(*high) << 7, behind))
        }
        _ => None,
    }
}

/// A sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) value: f64,
    pub(super) time_ms: i64,
    /// Bytes that its field takes.
    pub(super) length: usize,
}

/// Bytes of a sample's message: a tag, a value, a tag, and a time of six bytes.
const SAMPLE_LENGTH: u8 = 16;

/// Bytes of its field.
const SAMPLE_BYTES: usize = 2 + SAMPLE_LENGTH as usize;

/// The sample in front: a value of eight bytes, and a time of six, which is one from 1971 to 2109.
#[inline]
pub(super) fn sample(bytes: &[u8]) -> Option<Sample> {
    const MARKS: u64 = 0x80_80_80_80_80_80;
    const ALL_BUT_THE_LAST: u64 = 0x00_80_80_80_80_80;
    let [SAMPLE_TAG, SAMPLE_LENGTH, SAMPLE_VALUE_TAG, rest @ ..] = bytes else { return None };
    let (value, rest) = rest.split_first_chunk::<8>()?;
    let [TIME_TAG, a, b, c, d, e, f, ..] = rest else { return None };
    let time = u64::from_le_bytes([*a, *b, *c, *d, *e, *f, 0, 0]);
    if time & MARKS != ALL_BUT_THE_LAST {
        return None;
    }
    // Seven bits of each byte: pairs of bytes first, and then pairs of pairs.
    let time = (time & 0x007f_007f_007f) | ((time & 0x7f00_7f00_7f00) >> 1);
    let time = (time & 0x3fff) | ((time >> 2) & 0x0fff_c000) | ((time >> 4) & 0x3ff_f000_0000);
    let (value, time_ms) = (f64::from_le_bytes(*value), time as i64);
    Some(Sample { value, time_ms, length: SAMPLE_BYTES })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack_labels;
    use crate::series::push_number_sample;

    #[test]
    fn labels_end_where_another_form_begins() {
        let [long, longest] = [130, 1 << 14].map(|length| "x".repeat(length));
        let pairs = [
            ("a", "b"),
            ("", ""),
            ("name", "value of some length"),
            ("id", &long),
            (&long, "e"),
            (&long, &long),
            ("e", ""),
        ];
        let packed = pack_labels(pairs.into_iter());
        for more in [
            &b""[..],
            b"\x0a",
            b"\x0a\x00",
            b"\x12\x00",
            b"\x0a\x03\x0a\x01a",
            b"\x0a\x80\x01",
            b"\x0a\x80\x80",
        ] {
            let whole = [&packed, more].concat();
            assert_eq!(labels_length(&whole), packed.len(), "{more:?}");
        }
        let longer = pack_labels([("long", &*longest), ("a", "b")].into_iter());
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
        let whole = pack_labels([("a", &*long)].into_iter());
        assert_eq!(whole[..7], *b"\x0a\x88\x01\x0a\x01a\x12");
        // Of another form: the tags of the label, of its name and its value, and their lengths.
        for at in [0, 1, 3, 4, 6, 7] {
            let mut bad = whole.clone();
            bad[at] ^= 1;
            assert_eq!(labels_length(&bad), 0, "{at}");
        }
    }

    #[test]
    fn samples_are_those_that_were_written() {
        for time_ms in [1 << 35, 1_700_000_000_123, 0x2aa_aaaa_aaaa, (1 << 42) - 1] {
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
        for time_ms in [0, 127, -1, (1 << 35) - 1, 1 << 42, 1 << 56] {
            let mut bytes = Vec::new();
            push_number_sample(1.0, time_ms, &mut bytes);
            assert_eq!(sample(&bytes), None, "{time_ms}");
        }
        let mut bytes = Vec::new();
        push_number_sample(1.0, 1 << 41, &mut bytes);
        bytes[14] = 0x7f;
        assert_eq!(sample(&bytes), None, "the time ends before the sample does");
    }
    #[test]
    fn a_series_of_one_sample_is_known_by_its_form_only() {
        let mut sample = Vec::new();
        push_number_sample(1.5, 1_700_000_000_123, &mut sample);
        let field = |parts: &[&[u8]]| {
            let mut out = Vec::new();
            crate::wire::push_bytes(1, &parts.concat(), &mut out);
            out
        };
        let values = ["", "b", &"x".repeat(100), &"x".repeat(1000)];
        let lists: Vec<Vec<u8>> = (0..4)
            .flat_map(|count| values.map(|value| vec![("name", value); count]))
            .map(|pairs| pack_labels(pairs.into_iter()))
            .collect();
        for labels in &lists {
            let whole = field(&[labels, &sample]);
            let length = whole.len();
            let before = length - labels.len() - sample.len();
            let wanted = Some(Series { before, labels: labels.len(), length });
            assert_eq!(series(&whole), wanted);
            assert_eq!(series(&[&whole[..], b"\x0a\x00"].concat()), wanted);
            (0..length).for_each(|cut| assert_eq!(series(&whole[..cut]), None));
            for parts in [
                &[&labels[..]][..],
                &[&sample, labels],
                &[labels, &sample, &sample],
                &[labels, &sample, b"\x1a\x00"],
                &[labels, b"\x1a\x00", &sample],
            ] {
                // Without labels, two of these are the plain form.
                if parts.concat() != [&labels[..], &sample].concat() {
                    assert_eq!(series(&field(parts)), None, "{parts:?}");
                }
            }
        }
    }
}
