//! Attributes: names with values of many kinds, which become the texts of labels.

use super::names::{self, Naming};
use super::{Fault, Labels, inside, text};
use crate::wire::{Field, Value};
use crate::write::{KEY_BYTES_MAX, Malformed};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};

/// How deep lists and maps may lie in each other, the value itself included.
const DEPTH_MAX: u32 = 16;

/// What a label, and each part of a value, takes beside its text.
const LABEL_BYTES: usize = 8;

/// Bytes of the name of an attribute that is at fault which are told.
const NAME_BYTES_TOLD: usize = 100;

/// What may still be kept of an attribute.
struct Room {
    /// Bytes; nothing once more were wanted.
    left: Option<usize>,
    /// Why it cannot be kept at all.
    fault: Option<String>,
}

impl Room {
    /// Whether there were so many bytes.
    fn take(&mut self, bytes: usize) -> bool {
        self.left = self.left.and_then(|left| left.checked_sub(bytes));
        self.left.is_some()
    }

    fn text(&mut self, bytes: &[u8]) -> String {
        if !self.take(bytes.len()) {
            return String::new();
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => {
                self.fault.get_or_insert_with(|| "is no UTF-8".to_owned());
                String::new()
            }
        }
    }
}

/// Attributes of a resource or of a data point, as far as labels may be long.
#[derive(Debug, Default)]
pub(super) struct Attributes<'a> {
    list: Vec<(&'a [u8], String)>,
    bytes: usize,
    /// Why one of them cannot be kept.
    fault: Option<String>,
}

impl<'a> Attributes<'a> {
    /// Reads one that a field holds. Those that are too much are read and not kept.
    pub(super) fn read(&mut self, bytes: &'a [u8], field: &Field) -> Result<(), Malformed> {
        let mut room = Room { left: KEY_BYTES_MAX.checked_sub(self.bytes), fault: None };
        room.take(LABEL_BYTES);
        let (key, value) = read_pair(bytes, field, DEPTH_MAX, &mut room)?;
        if std::str::from_utf8(key).is_err() {
            room.fault = Some("has a name that is no UTF-8".to_owned());
        }
        if let Some(fault) = room.fault.take().filter(|_| self.fault.is_none()) {
            let name = String::from_utf8_lossy(key.get(..NAME_BYTES_TOLD).unwrap_or(key));
            self.fault = Some(format!("attribute {name:?} {fault}"));
        }
        room.take(key.len());
        let Some(left) = room.left else {
            self.bytes = KEY_BYTES_MAX + 1;
            return Ok(());
        };
        self.bytes = KEY_BYTES_MAX - left;
        let value = match value {
            Json::Null => String::new(),
            Json::String(text) => text,
            Json::Number(number) if number.is_f64() => {
                crate::answer::number(number.as_f64().unwrap_or_default())
            }
            other => other.to_string(),
        };
        self.list.push((key, value));
        Ok(())
    }

    /// Whether all of them can be kept.
    ///
    /// # Errors
    /// What is at fault with which one.
    pub(super) fn check(&self) -> Result<(), Fault> {
        if self.bytes > KEY_BYTES_MAX {
            let reason = format!("attributes take more than {KEY_BYTES_MAX} bytes");
            return Err(("limit", reason));
        }
        self.fault.as_ref().map_or(Ok(()), |fault| Err(("tag", fault.clone())))
    }

    /// The value of a name.
    pub(super) fn value(&self, name: &str) -> Option<String> {
        let found = self.list.iter().find(|(key, _)| *key == name.as_bytes());
        found.map(|(_, value)| value.clone())
    }

    /// Adds those that are wanted as labels, in place of others of their names. Values of names
    /// that become one name here are joined, in the order of the names there.
    pub(super) fn add(
        &self,
        naming: Naming,
        labels: &mut Labels,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<(), Fault> {
        self.check()?;
        let mut sorted: Vec<_> = self.list.iter().collect();
        sorted.sort_by_key(|(key, _)| *key);
        let mut own = Labels::new();
        for (key, value) in sorted {
            // One that is no UTF-8 is refused above.
            let key = std::str::from_utf8(key).unwrap_or_default();
            if !is_wanted(key) {
                continue;
            }
            let name = names::label(naming, key);
            if name.is_empty() {
                return Err(("tag", "an attribute has no name".to_owned()));
            }
            let joined = own.get(&name).map(|before| format!("{before};{value}"));
            own.insert(name, joined.unwrap_or_else(|| value.clone()));
        }
        labels.extend(own);
        Ok(())
    }
}

/// Name and value of an attribute.
fn read_pair<'a>(
    bytes: &'a [u8],
    field: &Field,
    depth: u32,
    room: &mut Room,
) -> Result<(&'a [u8], Json), Malformed> {
    let (mut key, mut value) = (&b""[..], Json::Null);
    let mut fields = inside(bytes, field)?;
    while let Some(field) = fields.next()? {
        match field.number {
            1 => key = text(bytes, &field)?,
            2 => value = read_value(bytes, &field, depth, room)?,
            _ => {}
        }
    }
    Ok((key, value))
}

/// Lists and maps become JSON; bytes become base64.
fn read_value(bytes: &[u8], field: &Field, depth: u32, room: &mut Room) -> Result<Json, Malformed> {
    let Some(depth) = depth.checked_sub(1) else {
        room.fault.get_or_insert_with(|| format!("is nested deeper than {DEPTH_MAX} levels"));
        return Ok(Json::Null);
    };
    let mut value = Json::Null;
    let mut fields = inside(bytes, field)?;
    while let Some(field) = fields.next()? {
        value = match (field.number, field.value) {
            (1, _) => Json::String(room.text(text(bytes, &field)?)),
            (2, Value::Varint(is)) => Json::Bool(is != 0),
            (3, Value::Varint(number)) => json!(number as i64),
            (4, Value::Fixed64(bits)) => {
                let number = f64::from_bits(bits);
                match number.is_finite() {
                    true => json!(number),
                    false => Json::String(crate::answer::number(number)),
                }
            }
            (5, _) => {
                let (mut list, mut items) = (Vec::new(), inside(bytes, &field)?);
                while let Some(item) = items.next()? {
                    if item.number == 1 && room.take(LABEL_BYTES) {
                        list.push(read_value(bytes, &item, depth, room)?);
                    }
                }
                Json::Array(list)
            }
            (6, _) => {
                let (mut map, mut items) = (serde_json::Map::new(), inside(bytes, &field)?);
                while let Some(item) = items.next()? {
                    if item.number == 1 && room.take(LABEL_BYTES) {
                        let (key, value) = read_pair(bytes, &item, depth, room)?;
                        map.insert(room.text(key), value);
                    }
                }
                Json::Object(map)
            }
            (7, _) => {
                let bytes = text(bytes, &field)?;
                match room.take(bytes.len()) {
                    true => Json::String(STANDARD.encode(bytes)),
                    false => Json::Null,
                }
            }
            _ => continue,
        };
    }
    Ok(value)
}
