//! OTLP in JSON: the same messages under names, which become those on the wire.
//!
//! A table says what fields there are; what a request does not need, and what is not known, is
//! passed over, as the specification wants. Nothing is built in between: a message of JSON becomes
//! one on the wire while it is read.
//!
//! Source: OTLP's specification, "JSON Protobuf Encoding", and the JSON mapping of proto3.

use crate::wire::{push_bytes, push_double, push_fixed, push_varint};
use crate::write::Malformed;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Deserializer;
use serde_json::de::SliceRead;
use std::borrow::Cow;
use std::fmt;

/// Memory that a byte of JSON takes at most: `0,` is a number of eight bytes with its tag, and the
/// largest message is there twice when its length is written before it.
pub(crate) const BYTES_PER_BYTE_MAX: usize = 10;

/// What a field holds.
#[derive(Clone, Copy)]
enum Type {
    Message(&'static [Entry]),
    Text,
    /// Bytes, which JSON has as hexadecimal digits.
    Hex,
    /// Bytes, which JSON has in base64.
    Base64,
    Double,
    /// Eight bytes of a whole number.
    Fixed,
    /// The same with a sign.
    SignedFixed,
    Unsigned,
    /// A number with a sign, as a plain varint.
    Signed,
    /// The same, folded.
    Zigzag,
    Truth,
    /// The temporality of a metric.
    Temporality,
}

/// A field: its name in JSON, its number, and what it holds.
type Entry = (&'static str, u8, Type);

use Type::{
    Base64, Double, Fixed, Hex, Message, Signed, SignedFixed, Temporality, Text, Truth, Unsigned,
    Zigzag,
};

static REQUEST: [Entry; 1] = [("resourceMetrics", 1, Message(&RESOURCE_METRICS))];
static RESOURCE_METRICS: [Entry; 2] =
    [("resource", 1, Message(&RESOURCE)), ("scopeMetrics", 2, Message(&SCOPE_METRICS))];
static RESOURCE: [Entry; 1] = [("attributes", 1, Message(&PAIR))];
static SCOPE_METRICS: [Entry; 1] = [("metrics", 2, Message(&METRIC))];
static METRIC: [Entry; 8] = [
    ("name", 1, Text),
    ("description", 2, Text),
    ("unit", 3, Text),
    ("gauge", 5, Message(&GAUGE)),
    ("sum", 7, Message(&SUM)),
    ("histogram", 9, Message(&HISTOGRAM)),
    ("exponentialHistogram", 10, Message(&EXPONENTIAL)),
    ("summary", 11, Message(&SUMMARY)),
];
static GAUGE: [Entry; 1] = [("dataPoints", 1, Message(&NUMBER))];
static SUM: [Entry; 3] = [
    ("dataPoints", 1, Message(&NUMBER)),
    ("aggregationTemporality", 2, Temporality),
    ("isMonotonic", 3, Truth),
];
static HISTOGRAM: [Entry; 2] =
    [("dataPoints", 1, Message(&BUCKETED)), ("aggregationTemporality", 2, Temporality)];
static EXPONENTIAL: [Entry; 2] =
    [("dataPoints", 1, Message(&SCALED)), ("aggregationTemporality", 2, Temporality)];
static SUMMARY: [Entry; 1] = [("dataPoints", 1, Message(&QUANTILES))];
static NUMBER: [Entry; 6] = [
    ("attributes", 7, Message(&PAIR)),
    ("timeUnixNano", 3, Fixed),
    ("asDouble", 4, Double),
    ("asInt", 6, SignedFixed),
    ("exemplars", 5, Message(&EXEMPLAR)),
    ("flags", 8, Unsigned),
];
static BUCKETED: [Entry; 8] = [
    ("attributes", 9, Message(&PAIR)),
    ("timeUnixNano", 3, Fixed),
    ("count", 4, Fixed),
    ("sum", 5, Double),
    ("bucketCounts", 6, Fixed),
    ("explicitBounds", 7, Double),
    ("exemplars", 8, Message(&EXEMPLAR)),
    ("flags", 10, Unsigned),
];
static SCALED: [Entry; 11] = [
    ("attributes", 1, Message(&PAIR)),
    ("timeUnixNano", 3, Fixed),
    ("count", 4, Fixed),
    ("sum", 5, Double),
    ("scale", 6, Zigzag),
    ("zeroCount", 7, Fixed),
    ("positive", 8, Message(&BUCKETS)),
    ("negative", 9, Message(&BUCKETS)),
    ("flags", 10, Unsigned),
    ("exemplars", 11, Message(&EXEMPLAR)),
    ("zeroThreshold", 14, Double),
];
static BUCKETS: [Entry; 2] = [("offset", 1, Zigzag), ("bucketCounts", 2, Unsigned)];
static QUANTILES: [Entry; 6] = [
    ("attributes", 7, Message(&PAIR)),
    ("timeUnixNano", 3, Fixed),
    ("count", 4, Fixed),
    ("sum", 5, Double),
    ("quantileValues", 6, Message(&QUANTILE)),
    ("flags", 8, Unsigned),
];
static QUANTILE: [Entry; 2] = [("quantile", 1, Double), ("value", 2, Double)];
static EXEMPLAR: [Entry; 6] = [
    ("filteredAttributes", 7, Message(&PAIR)),
    ("timeUnixNano", 2, Fixed),
    ("asDouble", 3, Double),
    ("asInt", 6, SignedFixed),
    ("spanId", 4, Hex),
    ("traceId", 5, Hex),
];
static PAIR: [Entry; 2] = [("key", 1, Text), ("value", 2, Message(&VALUE))];
static VALUE: [Entry; 7] = [
    ("stringValue", 1, Text),
    ("boolValue", 2, Truth),
    ("intValue", 3, Signed),
    ("doubleValue", 4, Double),
    ("arrayValue", 5, Message(&LIST)),
    ("kvlistValue", 6, Message(&MAP)),
    ("bytesValue", 7, Base64),
];
static LIST: [Entry; 1] = [("values", 1, Message(&VALUE))];
static MAP: [Entry; 1] = [("values", 1, Message(&PAIR))];

/// Names of temporalities, by their numbers.
const TEMPORALITIES: [&str; 3] = [
    "AGGREGATION_TEMPORALITY_UNSPECIFIED",
    "AGGREGATION_TEMPORALITY_DELTA",
    "AGGREGATION_TEMPORALITY_CUMULATIVE",
];

/// The request on the wire that a request in JSON is.
///
/// # Errors
/// When it is none, with line and column.
pub(crate) fn request_of_json(json: &[u8]) -> Result<Vec<u8>, Malformed> {
    let mut out = Vec::with_capacity(json.len());
    let bad = |error: serde_json::Error| Malformed(error.to_string());
    let mut reader = Deserializer::new(SliceRead::new(json));
    Body(&REQUEST, &mut out).deserialize(&mut reader).map_err(bad)?;
    reader.end().map_err(bad)?;
    Ok(out)
}

/// The fields of a message, without its tag and length.
struct Body<'o>(&'static [Entry], &'o mut Vec<u8>);

impl<'de> DeserializeSeed<'de> for Body<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Body<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Name(name)) = map.next_key()? {
            match self.0.iter().find(|(known, ..)| is_name(&name, known)) {
                None => {
                    let _: IgnoredAny = map.next_value()?;
                }
                Some((_, number, kind)) => {
                    let (number, kind, in_list) = (*number, *kind, false);
                    map.next_value_seed(Put { number, kind, in_list, out: &mut *self.1 })?;
                }
            }
        }
        Ok(())
    }
}

/// A name of a field, borrowed where it can be.
struct Name<'de>(Cow<'de, str>);

impl<'de> serde::Deserialize<'de> for Name<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct Names;
        impl<'de> Visitor<'de> for Names {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(name.into()))
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Name<'de>, E> {
                Ok(Name(name.to_owned().into()))
            }
        }
        reader.deserialize_str(Names)
    }
}

/// Whether a name is one of the table's, or as the messages' own files spell it: `as_double`.
fn is_name(name: &str, known: &str) -> bool {
    if name == known {
        return true;
    }
    let mut plain = name.chars();
    for c in known.chars() {
        let is_there = match c.is_ascii_uppercase() {
            true => plain.next() == Some('_') && plain.next() == Some(c.to_ascii_lowercase()),
            false => plain.next() == Some(c),
        };
        if !is_there {
            return false;
        }
    }
    plain.next().is_none()
}

/// A value that becomes a field, or as many as a list has items.
struct Put<'o> {
    number: u8,
    kind: Type,
    in_list: bool,
    out: &'o mut Vec<u8>,
}

impl<'de> DeserializeSeed<'de> for Put<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl Put<'_> {
    fn varint(self, value: u64) {
        self.out.push(self.number << 3);
        push_varint(value, self.out);
    }

    fn whole<E: Error>(self, value: i128) -> Result<(), E> {
        let out_of = || E::custom(format!("{value} is too large or too small"));
        let unsigned = || u64::try_from(value).map_err(|_| out_of());
        let signed = || i64::try_from(value).map_err(|_| out_of());
        match self.kind {
            Double => push_double(self.number, value as f64, self.out),
            Fixed => push_fixed(self.number, unsigned()?, self.out),
            SignedFixed => push_fixed(self.number, signed()? as u64, self.out),
            Unsigned | Temporality => {
                let value = unsigned()?;
                self.varint(value);
            }
            Signed => {
                let value = signed()? as u64;
                self.varint(value);
            }
            Zigzag => {
                let value = signed()?;
                self.varint((value << 1 ^ value >> 63) as u64);
            }
            Message(_) | Text | Hex | Base64 | Truth => return Err(self.unfit("a number")),
        }
        Ok(())
    }

    fn unfit<E: Error>(&self, what: &str) -> E {
        E::custom(format!("{what} stands where there must be {}", self.wanted()))
    }

    fn wanted(&self) -> &'static str {
        match self.kind {
            Message(_) => "an object",
            Text => "a text",
            Hex => "a text of hexadecimal digits",
            Base64 => "a text in base64",
            Double => "a number",
            Truth => "true or false",
            Fixed | SignedFixed | Unsigned | Signed | Zigzag | Temporality => "a whole number",
        }
    }
}

impl<'de> Visitor<'de> for Put<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.wanted())
    }

    /// What is null is not there.
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: Error>(self, is: bool) -> Result<(), E> {
        match self.kind {
            Truth => {
                self.varint(u64::from(is));
                Ok(())
            }
            _ => Err(self.unfit("a truth")),
        }
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.whole(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.whole(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        match self.kind {
            Double => {
                push_double(self.number, value, self.out);
                Ok(())
            }
            // 1e3 is a whole number too.
            _ if value.fract() == 0.0 && value.abs() < 1e19 => self.whole(value as i128),
            _ => Err(self.unfit("a number")),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        let bytes = match self.kind {
            Text => Cow::Borrowed(text.as_bytes()),
            Hex => unhex(text).ok_or_else(|| self.unfit::<E>(&format!("{text:?}")))?.into(),
            Base64 => STANDARD.decode(text).map_err(|_| self.unfit::<E>("a text"))?.into(),
            Double => {
                let number = match text {
                    "NaN" => f64::NAN,
                    "Infinity" => f64::INFINITY,
                    "-Infinity" => f64::NEG_INFINITY,
                    // No other words that are numbers elsewhere.
                    text if text.ends_with(|c: char| c.is_ascii_digit() || c == '.') => {
                        text.parse().map_err(|_| self.unfit::<E>(&format!("{text:?}")))?
                    }
                    text => return Err(self.unfit(&format!("{text:?}"))),
                };
                push_double(self.number, number, self.out);
                return Ok(());
            }
            Temporality if let Some(at) = TEMPORALITIES.iter().position(|name| *name == text) => {
                self.varint(at as u64);
                return Ok(());
            }
            Fixed | SignedFixed | Unsigned | Signed | Zigzag => {
                let whole = text.parse().map_err(|_| self.unfit::<E>(&format!("{text:?}")))?;
                return self.whole(whole);
            }
            Message(_) | Truth | Temporality => return Err(self.unfit(&format!("{text:?}"))),
        };
        push_bytes(self.number, &bytes, self.out);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Self { number, kind, in_list, out } = self;
        if in_list {
            return Err(A::Error::custom("a list stands in a list"));
        }
        let in_list = true;
        while list.next_element_seed(Put { number, kind, in_list, out: &mut *out })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        let Message(fields) = self.kind else { return Err(self.unfit("an object")) };
        let mut body = Vec::new();
        Body(fields, &mut body).visit_map(map)?;
        push_bytes(self.number, &body, self.out);
        Ok(())
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    pairs.iter().map(|[high, low]| Some((digit(*high)? << 4 | digit(*low)?) as u8)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn read(json: &str) -> Result<String, String> {
        request_of_json(json.as_bytes()).map(|out| hex(&out)).map_err(|Malformed(reason)| reason)
    }

    /// A metric, which is the second field of the first of the first.
    fn metric(json: &str) -> String {
        format!(r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{json}]}}]}}]}}"#)
    }

    #[test]
    fn names_become_numbers() {
        // {1: {2: {2: {1: "m", 2: "d"}}}}
        let told = metric(r#"{"name":"m","description":"d"}"#);
        assert_eq!(read(&told).unwrap(), "0a0a120812060a016d120164");
        // {1: {2: {2: {1: "m", 3: "s", 5: {1: {3: 5, 4: 1.5}}}}}}, spelled by hand.
        let point = "190500000000000000".to_owned() + "21000000000000f83f";
        let metric_bytes = format!("0a016d1a01732a140a12{point}");
        let wanted = format!("0a20121e121c{metric_bytes}");
        for json in [
            r#"{"name":"m","unit":"s","gauge":{"dataPoints":[{"timeUnixNano":"5","asDouble":1.5}]}}"#,
            r#"{"name":"m","unit":"s","gauge":{"data_points":[{"time_unix_nano":5,"as_double":"1.5"}]}}"#,
        ] {
            assert_eq!(read(&metric(json)).unwrap(), wanted);
        }
    }

    #[test]
    fn unknown_and_empty_things_are_passed_over() {
        assert_eq!(read("{}"), Ok(String::new()));
        assert_eq!(read(r#"{"x":[{"y":1}],"resourceMetrics":null}"#), Ok(String::new()));
        assert_eq!(read(r#"{"resourceMetrics":[{"schemaUrl":"u"}]}"#), Ok("0a00".to_owned()));
    }

    #[test]
    fn what_does_not_fit_is_told_with_its_place() {
        let point = |json: &str| {
            metric(&format!(r#"{{"sum":{{"aggregationTemporality":2,"dataPoints":[{json}]}}}}"#))
        };
        for (json, word) in [
            ("[]".to_owned(), "an object"),
            ("{} x".to_owned(), "trailing characters"),
            ("{".to_owned(), "line 1 column 1"),
            (point(r#"{"timeUnixNano":-1}"#), "too small"),
            (point(r#"{"timeUnixNano":"soon"}"#), "a whole number"),
            (point(r#"{"timeUnixNano":0.5}"#), "a whole number"),
            (point(r#"{"asDouble":"nan"}"#), "must be a number"),
            (point(r#"{"asDouble":{}}"#), "must be a number"),
            (point(r#"{"asInt":"9223372036854775808"}"#), "too large"),
            (point("[1]"), "a list stands in a list"),
            (point("1"), "must be an object"),
            (point(r#"{"exemplars":[{"traceId":"0g"}]}"#), "hexadecimal"),
            (point(r#"{"attributes":[{"value":{"bytesValue":"?"}}]}"#), "base64"),
            (point(r#"{"attributes":[{"value":{"boolValue":"true"}}]}"#), "true or false"),
            (metric(r#"{"sum":{"aggregationTemporality":"CUMULATIVE"}}"#), "a whole number"),
            (metric(r#"{"name":1}"#), "a text"),
            ("[".repeat(1000), ""),
        ] {
            let error = read(&json).unwrap_err();
            assert!(error.contains(word) && error.contains("column"), "{json}: {error}");
        }
        let deep = format!("{}1{}", r#"{"arrayValue":{"values":["#.repeat(200), "]}}".repeat(200));
        let deep = point(&format!(r#"{{"attributes":[{{"value":{deep}}}]}}"#));
        assert!(read(&deep).unwrap_err().contains("recursion limit"));
    }

    #[test]
    fn numbers_come_in_many_spellings() {
        let of = |kind: Type, json: &str| {
            let mut out = Vec::new();
            let mut reader = Deserializer::new(SliceRead::new(json.as_bytes()));
            let put = Put { number: 1, kind, in_list: false, out: &mut out };
            put.deserialize(&mut reader).unwrap();
            hex(&out)
        };
        assert_eq!(of(Fixed, "[1,\"2\",3e0]").len(), 3 * 18);
        assert_eq!(of(Zigzag, "-1"), "0801");
        assert_eq!(of(Signed, "-1"), "08ffffffffffffffffff01");
        assert_eq!(of(Temporality, "\"AGGREGATION_TEMPORALITY_CUMULATIVE\""), "0802");
        assert_eq!(of(Truth, "true"), "0801");
        assert_eq!(of(Hex, "\"aB01\""), "0a02ab01");
        assert_eq!(of(Base64, "\"/w==\""), "0a01ff");
        assert_eq!(of(Double, "\"-Infinity\""), "09000000000000f0ff");
        assert_eq!(of(SignedFixed, "\"-2\""), "09feffffffffffffff");
    }
}
