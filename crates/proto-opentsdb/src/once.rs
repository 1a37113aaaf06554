//! JSON of a request that changes something. Readers of JSON disagree on which of two members of
//! one name counts: who says something twice may have meant either.

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// Characters of a name that an error shows.
const NAME_CHARS_MAX: usize = 64;

/// Reads JSON none of whose objects has two members of one name.
///
/// # Errors
/// What is no JSON; and a member that is given twice, which [`serde_json::Error::is_data`] tells
/// from the rest.
pub fn parse_once(text: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(text).map(|Once(value)| value)
}

/// A value that was read so.
struct Once(Value);

impl<'de> Deserialize<'de> for Once {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Reader.deserialize(from).map(Self)
    }
}

struct Reader;

impl<'de> DeserializeSeed<'de> for Reader {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if object.contains_key(&name) {
                let name: String = name.chars().take(NAME_CHARS_MAX).collect();
                return Err(Error::custom(format_args!("{name:?} is given twice")));
            }
            object.insert(name, members.next_value_seed(Self)?);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_once_is_what_it_always_was() {
        for text in [
            "null",
            " true ",
            "-9223372036854775808",
            "18446744073709551615",
            "1e300",
            "-0.0",
            "\"a\\u0000\\ud83d\\ude00\"",
            "[]",
            "[{},[1,[2.5]],\"\"]",
            r#"{"a":{"a":1},"b":[{"a":2},{"a":3}],"A":null,"":0}"#,
        ] {
            let known: Value = serde_json::from_str(text).unwrap();
            assert_eq!(parse_once(text.as_bytes()).unwrap(), known, "{text}");
        }
        for text in ["", "{", "{\"a\":1}}", "[1,]", "nul", "\"\\ud800\"", "\u{feff}{}"] {
            let error = parse_once(text.as_bytes()).unwrap_err();
            assert!(!error.is_data(), "{text}: {error}");
        }
        let deep = "[".repeat(100_000);
        assert!(!parse_once(deep.as_bytes()).unwrap_err().is_data());
    }

    #[test]
    fn what_is_said_twice_is_named_wherever_it_stands() {
        for text in [
            r#"{"a":1,"a":1}"#,
            r#"{"b":{},"a":null,"c":[],"a":{}}"#,
            r#"[0,{"x":{"a":1,"\u0061":2}}]"#,
        ] {
            let error = parse_once(text.as_bytes()).unwrap_err();
            let said = error.to_string();
            assert!(error.is_data() && said.starts_with("\"a\" is given twice at line"), "{said}");
        }
        let long = "n".repeat(1000);
        let text = format!("{{\"{long}\":1,\"{long}\":2}}");
        assert!(parse_once(text.as_bytes()).unwrap_err().to_string().len() < 120);
    }
}
