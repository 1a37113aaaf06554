//! Sparkplug B: what edge nodes of plants publish over MQTT (Eclipse Sparkplug 3.0, chapter 6, and
//! `sparkplug_b.proto` of Eclipse Tahu).
//!
//! A payload holds metrics. Each has a name, or the number that the birth of its node or device
//! gave to that name, its *alias*; and a value, whose type the birth says too. What births said is
//! the caller's to know.

use crate::wire::{Field, Fields, Value as Wire, push_bytes, push_number};
use crate::write::Malformed;
use foliot_model::Value;

/// What a payload is called whose body is packed (Tahu's libraries).
const PACKED: &[u8] = b"SPBV1.0_COMPRESSED";

/// The metric that an edge node writes its births anew for.
const REBIRTH: &[u8] = b"Node Control/Rebirth";

/// The names of types, by number.
const TYPES: [&str; 35] = [
    "Unknown",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "Float",
    "Double",
    "Boolean",
    "String",
    "DateTime",
    "Text",
    "UUID",
    "DataSet",
    "Bytes",
    "File",
    "Template",
    "PropertySet",
    "PropertySetList",
    "Int8Array",
    "Int16Array",
    "Int32Array",
    "Int64Array",
    "UInt8Array",
    "UInt16Array",
    "UInt32Array",
    "UInt64Array",
    "FloatArray",
    "DoubleArray",
    "BooleanArray",
    "StringArray",
    "DateTimeArray",
];

/// The type of a metric's value, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SparkplugType(u8);

impl SparkplugType {
    const FLOAT: Self = Self(9);
    const BOOLEAN: Self = Self(11);
    const STRING: Self = Self(12);

    /// The type of a number; nothing for that which says none.
    fn of(number: u64) -> Option<Self> {
        // Numbers that nobody knows are one: they are told and not stored.
        Some(Self(u8::try_from(number).unwrap_or(u8::MAX))).filter(|Self(number)| *number > 0)
    }

    fn name(self) -> &'static str {
        TYPES.get(usize::from(self.0)).copied().unwrap_or("value of an unknown type")
    }

    /// Bits of an integer, and whether one of them is a sign.
    fn integer(self) -> Option<(u32, bool)> {
        match self.0 {
            // Int8 to Int64, UInt8 to UInt64; DateTime is milliseconds since 1970.
            number @ 1..=4 => Some((4_u32 << number, true)),
            number @ 5..=8 => Some((4_u32 << (number - 4), false)),
            13 => Some((64, false)),
            _ => None,
        }
    }

    /// What a value of this type is written as.
    fn form(self) -> Self {
        match self.0 {
            9 | 10 => Self::FLOAT,
            12 | 14 | 15 => Self::STRING,
            _ => self,
        }
    }
}

/// What one message holds.
#[derive(Clone, Copy, Debug)]
pub struct SparkplugPayload<'a> {
    bytes: &'a [u8],
    /// When it was sent, in milliseconds.
    pub timestamp_ms: Option<u64>,
}

/// A metric as it was sent.
#[derive(Clone, Copy, Debug)]
pub struct SparkplugMetric<'a> {
    /// Its name, if it says it.
    pub name: Option<&'a str>,
    /// The number of its name, if it says that.
    pub alias: Option<u64>,
    /// When it was measured, in milliseconds.
    pub timestamp_ms: Option<u64>,
    /// What its value is, if it says so.
    pub value_type: Option<SparkplugType>,
    /// Whether it is not meant to be kept.
    pub is_transient: bool,
    is_null: bool,
    held: Held<'a>,
}

/// A value as it lies in the message.
#[derive(Clone, Copy, Debug)]
enum Held<'a> {
    Nothing,
    Bits(u64),
    /// A float that names the digits of the one that was sent.
    Float(f64),
    Boolean(bool),
    Text(&'a str),
    Other(&'static str),
}

impl<'a> SparkplugPayload<'a> {
    /// Reads a message whole.
    ///
    /// # Errors
    /// When it is no payload, or a packed one.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut payload = Self { bytes, timestamp_ms: None };
        let mut fields = payload.fields();
        while let Some(field) = fields.next()? {
            match field.number {
                1 => payload.timestamp_ms = Some(varint(field)?),
                2 => drop(SparkplugMetric::parse(bytes, field)?),
                4 if slice(bytes, field)? == PACKED => {
                    return Err(Malformed("its body is compressed, which is not read".to_owned()));
                }
                _ => {}
            }
        }
        Ok(payload)
    }

    /// Its metrics.
    pub fn metrics(&self) -> impl Iterator<Item = SparkplugMetric<'a>> + use<'a> {
        let (mut fields, bytes) = (self.fields(), self.bytes);
        // All of them were read before.
        let next = move || fields.next().ok().flatten();
        let metrics = std::iter::from_fn(next).filter(|field| field.number == 2);
        metrics.filter_map(move |field| SparkplugMetric::parse(bytes, field).ok())
    }

    fn fields(&self) -> Fields<'a> {
        Fields::new(self.bytes, 0, self.bytes.len())
    }
}

impl<'a> SparkplugMetric<'a> {
    fn parse(bytes: &'a [u8], field: Field) -> Result<Self, Malformed> {
        let (start, end) = field.range()?;
        let mut fields = Fields::new(bytes, start, end);
        let mut metric = Self {
            name: None,
            alias: None,
            timestamp_ms: None,
            value_type: None,
            is_transient: false,
            is_null: false,
            held: Held::Nothing,
        };
        while let Some(field) = fields.next()? {
            match field.number {
                1 => metric.name = Some(text(bytes, field)?).filter(|name| !name.is_empty()),
                2 => metric.alias = Some(varint(field)?),
                3 => metric.timestamp_ms = Some(varint(field)?),
                4 => metric.value_type = SparkplugType::of(varint(field)?),
                6 => metric.is_transient = varint(field)? != 0,
                7 => metric.is_null = varint(field)? != 0,
                10..=19 => metric.held = Held::parse(bytes, field)?,
                _ => {}
            }
        }
        Ok(metric)
    }

    /// Whether its value says nothing without a type: whole numbers are bits, with or without a
    /// sign.
    pub fn needs_type(&self) -> bool {
        matches!(self.held, Held::Bits(_)) && self.value_type.is_none() && !self.is_null
    }

    /// Its value, of the type that it or its birth says; nothing for null.
    ///
    /// # Errors
    /// What it is, if that cannot be stored or is not what it is said to be.
    pub fn value(&self, born: Option<SparkplugType>) -> Result<Option<Value<'a>>, String> {
        if self.is_null {
            return Ok(None);
        }
        let said = self.value_type.or(born);
        if let Some(said) = said.filter(|said| said.integer().is_none() && said.0 > 15) {
            return Err(format!("a {} is not stored", said.name()));
        }
        let (held, value) = match self.held {
            Held::Nothing => return Err("it has no value and is not null".to_owned()),
            Held::Other(name) => return Err(format!("a {name} is not stored")),
            Held::Bits(bits) => return integer(bits, said).map(Some),
            Held::Float(value) => (SparkplugType::FLOAT, Value::Float(value)),
            Held::Boolean(value) => (SparkplugType::BOOLEAN, Value::Boolean(value)),
            Held::Text(value) => (SparkplugType::STRING, Value::String(value)),
        };
        match said {
            Some(said) if said.form() != held => {
                Err(format!("it holds a {} and is said to be {}", held.name(), said.name()))
            }
            _ => Ok(Some(value)),
        }
    }
}

impl<'a> Held<'a> {
    fn parse(bytes: &'a [u8], field: Field) -> Result<Self, Malformed> {
        Ok(match (field.number, field.value) {
            (10 | 11, Wire::Varint(bits)) => Self::Bits(bits),
            (12, Wire::Fixed32(bits)) => Self::Float(of_digits(f32::from_bits(bits))),
            (13, Wire::Fixed64(bits)) => Self::Float(f64::from_bits(bits)),
            (14, Wire::Varint(flag)) => Self::Boolean(flag != 0),
            (15, Wire::Bytes(..)) => Self::Text(text(bytes, field)?),
            (16, Wire::Bytes(..)) => Self::Other("Bytes"),
            (17, Wire::Bytes(..)) => Self::Other("DataSet"),
            (18, Wire::Bytes(..)) => Self::Other("Template"),
            (19, Wire::Bytes(..)) => Self::Other("value of an extension"),
            _ => return Err(field.mistyped()),
        })
    }
}

/// What asks an edge node for its births, to be published as its command.
pub fn sparkplug_rebirth(now_ms: u64) -> Vec<u8> {
    let (mut metric, mut out) = (Vec::new(), Vec::new());
    push_bytes(1, REBIRTH, &mut metric);
    push_number(3, now_ms, &mut metric);
    push_number(4, SparkplugType::BOOLEAN.0.into(), &mut metric);
    push_number(14, 1, &mut metric);
    push_number(1, now_ms, &mut out);
    push_bytes(2, &metric, &mut out);
    out
}

fn varint(field: Field) -> Result<u64, Malformed> {
    match field.value {
        Wire::Varint(value) => Ok(value),
        _ => Err(field.mistyped()),
    }
}

fn slice(bytes: &[u8], field: Field) -> Result<&[u8], Malformed> {
    let (start, end) = field.range()?;
    Ok(bytes.get(start..end).unwrap_or_default())
}

fn text(bytes: &[u8], field: Field) -> Result<&str, Malformed> {
    std::str::from_utf8(slice(bytes, field)?)
        .map_err(|_| Malformed(format!("the text at byte {} is no UTF-8", field.start)))
}

/// The double that is written as a float is: 21.3 stays so, and does not become
/// 21.299999237060547. It is nearest to the same float.
fn of_digits(value: f32) -> f64 {
    match value.is_finite() {
        true => zmij::Buffer::new().format_finite(value).parse().unwrap_or(value.into()),
        false => value.into(),
    }
}

/// What bits mean by their type. Signed numbers are in two's complement, of their own width, of the
/// 32 bits of the field, or of all that a varint has: libraries differ.
fn integer<'a>(bits: u64, said: Option<SparkplugType>) -> Result<Value<'a>, String> {
    let Some(said) = said else {
        return Err("it is a whole number of a type that no birth has said".to_owned());
    };
    let Some((width, is_signed)) = said.integer() else {
        return Err(format!("it holds a whole number and is said to be {}", said.name()));
    };
    let unused = 64 - width;
    let signed = ((bits << unused) as i64) >> unused;
    let cut = bits << unused >> unused;
    match is_signed {
        true if [cut, u64::from(signed as u32), signed as u64].contains(&bits) => {
            Ok(Value::Integer(signed))
        }
        false if bits == cut => match i64::try_from(bits) {
            Ok(value) => Ok(Value::Integer(value)),
            Err(_) => Ok(Value::Unsigned(bits)),
        },
        _ => Err(format!("{bits} is no {}", said.name())),
    }
}

#[cfg(test)]
mod tests;
