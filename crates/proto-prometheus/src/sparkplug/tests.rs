//! Payloads are made here by hand, after the encoding's own guide and `sparkplug_b.proto`.

use super::*;
use proptest::prelude::*;

fn varint_of(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        let low = (value % 128) as u8;
        value /= 128;
        if value == 0 {
            out.push(low);
            return out;
        }
        out.push(low + 128);
    }
}

fn number(field: u64, value: u64) -> Vec<u8> {
    [varint_of(field * 8), varint_of(value)].concat()
}

fn bytes(field: u64, held: &[u8]) -> Vec<u8> {
    [varint_of(field * 8 + 2), varint_of(held.len() as u64), held.to_vec()].concat()
}

fn float(value: f32) -> Vec<u8> {
    [varint_of(12 * 8 + 5), value.to_bits().to_le_bytes().to_vec()].concat()
}

fn double(value: f64) -> Vec<u8> {
    [varint_of(13 * 8 + 1), value.to_bits().to_le_bytes().to_vec()].concat()
}

/// A message of one metric of a type, with its value.
fn of(kind: u64, value: &[u8]) -> Vec<u8> {
    bytes(2, &[bytes(1, b"m"), number(4, kind), value.to_vec()].concat())
}

fn value_in(message: &[u8], born: Option<u8>) -> Result<Option<String>, String> {
    let payload = SparkplugPayload::parse(message).unwrap();
    let metrics: Vec<_> = payload.metrics().collect();
    assert_eq!(metrics.len(), 1);
    let value = metrics[0].value(born.map(SparkplugType))?;
    Ok(value.map(|value| format!("{value:?}")))
}

#[test]
fn a_message_is_read_whole() {
    let metric = [
        bytes(1, b"Temperature/Inlet"),
        number(2, 7),
        number(3, 1_700_000_000_123),
        number(4, 10),
        number(5, 1),
        bytes(8, b"\x08\x01"),
        bytes(9, b"\x0a\x01a"),
        double(21.5),
    ];
    let message = [
        bytes(2, &metric.concat()),
        number(3, 255),
        // Fields may come in any order, and there may be some that nobody knows.
        number(1, 1_700_000_000_456),
        bytes(99, b"later"),
        bytes(2, &[number(2, 8), number(6, 1), number(7, 1)].concat()),
        bytes(2, &[bytes(1, b""), number(2, 9), number(4, 0), number(10, 3)].concat()),
    ];
    let message = message.concat();
    let payload = SparkplugPayload::parse(&message).unwrap();
    assert_eq!(payload.timestamp_ms, Some(1_700_000_000_456));
    let told: Vec<_> = payload
        .metrics()
        .map(|metric| {
            let (name, alias, time) = (metric.name, metric.alias, metric.timestamp_ms);
            (name, alias, time, metric.value_type, metric.is_transient, metric.needs_type())
        })
        .collect();
    let time = Some(1_700_000_000_123);
    assert_eq!(
        told,
        [
            (Some("Temperature/Inlet"), Some(7), time, Some(SparkplugType(10)), false, false),
            (None, Some(8), None, None, true, false),
            (None, Some(9), None, None, false, true),
        ]
    );
}

/// Whole numbers in two's complement, as libraries write them: of their own width (C), of the
/// field's 32 bits (Java, Python), of 64 (where the field is declared signed).
#[test]
fn values_are_what_their_types_say() {
    let minus_one = [0xff, 0xffff_ffff, u64::MAX];
    for bits in minus_one {
        assert_eq!(value_in(&of(1, &number(10, bits)), None), Ok(Some("Integer(-1)".into())));
    }
    let good = [
        (1, number(10, 127), "Integer(127)"),
        (1, number(10, 128), "Integer(-128)"),
        (2, number(10, 0x8000), "Integer(-32768)"),
        (2, number(10, 0xffff_8000), "Integer(-32768)"),
        (3, number(10, 0x8000_0000), "Integer(-2147483648)"),
        (3, number(10, 5), "Integer(5)"),
        (4, number(11, u64::MAX), "Integer(-1)"),
        (4, number(11, 1 << 63), "Integer(-9223372036854775808)"),
        (5, number(10, 255), "Integer(255)"),
        (6, number(10, 65_535), "Integer(65535)"),
        (7, number(11, 0xffff_ffff), "Integer(4294967295)"),
        (7, number(10, 0xffff_ffff), "Integer(4294967295)"),
        (8, number(11, 1), "Integer(1)"),
        (8, number(11, u64::MAX), "Unsigned(18446744073709551615)"),
        (9, float(21.3), "Float(21.3)"),
        (9, float(1e-45), "Float(1e-45)"),
        (10, double(0.1), "Float(0.1)"),
        (10, float(0.5), "Float(0.5)"),
        (11, number(14, 1), "Boolean(true)"),
        (11, number(14, 0), "Boolean(false)"),
        (12, bytes(15, "größe".as_bytes()), "String(\"größe\")"),
        (13, number(11, 1_700_000_000_000), "Integer(1700000000000)"),
        (14, bytes(15, b""), "String(\"\")"),
        (15, bytes(15, b"u-1"), "String(\"u-1\")"),
        // Without a type, what says itself what it is.
        (0, float(0.25), "Float(0.25)"),
        (0, number(14, 1), "Boolean(true)"),
    ];
    for (kind, value, expected) in good {
        assert_eq!(value_in(&of(kind, &value), None), Ok(Some(expected.into())), "type {kind}");
    }
    // A birth's type counts where the message says none, and only there.
    assert_eq!(value_in(&of(0, &number(10, 255)), Some(1)), Ok(Some("Integer(-1)".into())));
    assert_eq!(value_in(&of(5, &number(10, 255)), Some(1)), Ok(Some("Integer(255)".into())));
    // Null is nothing, whatever stands beside it.
    for kind in [0, 3, 16] {
        assert_eq!(value_in(&of(kind, &[number(7, 1), number(10, 1)].concat()), None), Ok(None));
    }
}

#[test]
fn what_cannot_be_stored_is_told_by_name() {
    let cases = [
        (1, number(10, 300), "300 is no Int8"),
        (5, number(10, 256), "256 is no UInt8"),
        (7, number(11, u64::MAX), "18446744073709551615 is no UInt32"),
        (0, number(10, 1), "of a type that no birth has said"),
        (9, number(10, 1), "holds a whole number and is said to be Float"),
        (3, double(1.0), "holds a Float and is said to be Int32"),
        (11, bytes(15, b"true"), "holds a String and is said to be Boolean"),
        (3, Vec::new(), "no value"),
        (16, bytes(17, b""), "a DataSet is not stored"),
        (17, bytes(16, b"\0"), "a Bytes is not stored"),
        (19, bytes(18, b""), "a Template is not stored"),
        (30, bytes(16, b""), "a FloatArray is not stored"),
        (34, bytes(16, b""), "a DateTimeArray is not stored"),
        (35, bytes(16, b""), "a value of an unknown type is not stored"),
        (1 << 40, number(10, 1), "a value of an unknown type is not stored"),
        (0, bytes(16, b"x"), "a Bytes is not stored"),
        (0, bytes(19, b"x"), "a value of an extension is not stored"),
    ];
    for (kind, value, expected) in cases {
        let said = value_in(&of(kind, &value), None).unwrap_err();
        assert!(said.contains(expected), "type {kind}: {said}");
    }
}

#[test]
fn what_is_no_payload_is_refused_whole() {
    let cases: [(Vec<u8>, &str); 7] = [
        (b"put m 1 2".to_vec(), "byte"),
        (b"{\"timestamp\":1}".to_vec(), "byte"),
        (bytes(2, &bytes(1, b"\xff")), "no UTF-8"),
        (bytes(2, &number(1, 1)), "wrong wire type"),
        (bytes(2, &bytes(10, b"")), "wrong wire type"),
        (number(2, 1), "wrong wire type"),
        (bytes(4, b"SPBV1.0_COMPRESSED"), "compressed"),
    ];
    for (message, expected) in cases {
        let said = SparkplugPayload::parse(&message).unwrap_err().to_string();
        assert!(said.contains(expected), "{message:x?}: {said}");
    }
    let whole = of(12, &bytes(15, b"text"));
    for end in 1..whole.len() {
        assert!(SparkplugPayload::parse(&whole[..end]).is_err(), "cut at {end}");
    }
    assert_eq!(SparkplugPayload::parse(b"").unwrap().metrics().count(), 0);
}

#[test]
fn a_command_asks_for_births() {
    let metric = [
        bytes(1, b"Node Control/Rebirth"),
        number(3, 1_700_000_000_000),
        number(4, 11),
        number(14, 1),
    ];
    let expected = [number(1, 1_700_000_000_000), bytes(2, &metric.concat())].concat();
    assert_eq!(sparkplug_rebirth(1_700_000_000_000), expected);
}

proptest! {
    /// Signed numbers of every width come back from each form that libraries write.
    #[test]
    fn whole_numbers_come_back(value: i64, kind in 1_u64..=4) {
        let bits = 4 << kind;
        let value = value >> (64 - bits);
        let own = value as u64 & (u64::MAX >> (64 - bits));
        for form in [own, if bits < 64 { u64::from(value as u32) } else { own }, value as u64] {
            let read = value_in(&of(kind, &number(11, form)), None);
            prop_assert_eq!(read, Ok(Some(format!("Integer({value})"))));
        }
    }

    /// A float becomes a double that is nearest to the same float, and has as few digits.
    #[test]
    fn floats_keep_their_digits(value: f32) {
        let read = of_digits(value);
        prop_assert!(read as f32 == value || value.is_nan() && read.is_nan());
        if value.is_finite() {
            prop_assert_eq!(read.to_string().len(), value.to_string().len());
        }
    }

    /// Bytes of all sorts, also ones that are nearly a payload, are read or refused.
    #[test]
    fn hostile_bytes_are_read_or_refused(
        noise in proptest::collection::vec(any::<u8>(), 0..200),
        kind in 0_u64..40,
        at in 0_usize..60,
    ) {
        let mut nearly = [number(1, 5), of(kind, &noise), of(kind, &number(10, 7))].concat();
        let place = at % nearly.len();
        nearly[place] ^= noise.first().copied().unwrap_or(1);
        for message in [&noise, &nearly, &of(kind, &noise)] {
            let Ok(payload) = SparkplugPayload::parse(message) else { continue };
            for metric in payload.metrics() {
                let _ = metric.value(Some(SparkplugType(kind as u8)));
            }
            prop_assert!(2 * payload.metrics().count() <= message.len());
        }
    }
}
