//! Keys: how a series is found from the bytes a client sent, without parsing them.
//!
//! A source arrives as raw bytes in its protocol's own syntax. The engine looks it up by a keyed
//! 128-bit hash of those bytes; only when the hash is unknown are the bytes parsed into labels.
//! The hash is keyed because clients choose the bytes: without the secret nobody can aim for
//! collisions. 128 bits make an accidental one among 40 million keys as likely as 1 in 10^23.

use crate::NamespaceId;
use std::fmt;
use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128_with_seed};

/// The secret of one store that keys all hashes. Drawn when the store is created, never shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KeySecret(pub u64);

impl fmt::Debug for KeySecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeySecret(..)")
    }
}

/// Parses key bytes, in the two pieces a [`crate::Row`] has, into measurement and labels.
pub type ParseKey = fn(head: &[u8], tail: &[u8], parts: &mut KeyParts) -> Result<(), KeyError>;

/// Appends the plain spelling of a raw field name to `out`.
pub type ParseField = fn(raw: &[u8], out: &mut Vec<u8>) -> Result<(), KeyError>;

/// How a protocol spells a source, and how to read that spelling when it is new.
pub struct KeySyntax {
    /// Part of the hash, so equal bytes in two syntaxes never meet. Unique among the doors.
    pub id: u8,
    /// Name for messages.
    pub name: &'static str,
    /// Parses the key bytes into measurement and labels.
    pub parse: ParseKey,
    /// Reads a field name.
    pub parse_field: ParseField,
}

impl fmt::Debug for KeySyntax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeySyntax").field("id", &self.id).field("name", &self.name).finish()
    }
}

/// Why a key's bytes name no series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyError {
    /// Which part is at fault, in the protocol's words ("tag", "measurement").
    pub field: &'static str,
    /// What is wrong with it, for a person.
    pub reason: String,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.reason)
    }
}

impl std::error::Error for KeyError {}

/// A parsed key: measurement and labels as plain UTF-8 bytes in one reusable buffer.
#[derive(Debug, Default)]
pub struct KeyParts {
    bytes: Vec<u8>,
    measurement: (u32, u32),
    labels: Vec<[(u32, u32); 2]>,
}

impl KeyParts {
    /// Empties the buffer for the next key.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.measurement = (0, 0);
        self.labels.clear();
    }

    fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> (u32, u32) {
        let start = self.bytes.len() as u32;
        write(&mut self.bytes);
        (start, self.bytes.len() as u32)
    }

    /// Sets the measurement; `write` appends its plain bytes.
    pub fn set_measurement(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.measurement = self.push(write);
    }

    /// Adds a label; the two functions append the plain bytes of its name and of its value.
    pub fn push_label(
        &mut self,
        write_name: impl FnOnce(&mut Vec<u8>),
        write_value: impl FnOnce(&mut Vec<u8>),
    ) {
        let name = self.push(write_name);
        let value = self.push(write_value);
        self.labels.push([name, value]);
    }

    fn slice(&self, (start, end): (u32, u32)) -> &[u8] {
        self.bytes.get(start as usize..end as usize).unwrap_or_default()
    }

    /// The measurement.
    pub fn measurement(&self) -> &[u8] {
        self.slice(self.measurement)
    }

    /// The labels as they stand: in the order given until [`KeyParts::canonicalize`].
    pub fn labels(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> {
        self.labels.iter().map(|[name, value]| (self.slice(*name), self.slice(*value)))
    }

    /// Sorts labels by name and drops those with an empty value, which count as absent. A label
    /// given twice with the same value is kept once.
    ///
    /// # Errors
    /// When the measurement or the name of a label is empty, a part is not UTF-8, or a name occurs
    /// with two values.
    pub fn canonicalize(&mut self) -> Result<(), KeyError> {
        let error = |field, reason: String| Err(KeyError { field, reason });
        if self.measurement().is_empty() {
            return error("measurement", "name is empty".to_owned());
        }
        if self.labels().any(|(name, _)| name.is_empty()) {
            return error("tag", "name is empty".to_owned());
        }
        // Parts that lie side by side may be UTF-8 only together.
        let is_text = std::str::from_utf8(&self.bytes).is_ok_and(|text| {
            let mut parts = self.labels.iter().flatten().chain([&self.measurement]);
            parts.all(|&(start, end)| text.get(start as usize..end as usize).is_some())
        });
        if !is_text {
            return error("key", "not valid UTF-8".to_owned());
        }
        let mut labels = std::mem::take(&mut self.labels);
        labels.retain(|[_, value]| !self.slice(*value).is_empty());
        labels.sort_by(|a, b| self.slice(a[0]).cmp(self.slice(b[0])));
        labels.dedup_by(|b, a| {
            self.slice(a[0]) == self.slice(b[0]) && self.slice(a[1]) == self.slice(b[1])
        });
        let twice = labels.windows(2).find_map(|pair| match pair {
            [a, b] if self.slice(a[0]) == self.slice(b[0]) => Some(a[0]),
            _ => None,
        });
        self.labels = labels;
        match twice {
            Some(name) => error(
                "tag",
                format!("duplicate tag: {}", String::from_utf8_lossy(self.slice(name))),
            ),
            None => Ok(()),
        }
    }
}

/// Hashes the keys of one namespace in one syntax.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyHasher {
    seed: u64,
}

impl KeyHasher {
    /// The hasher for keys of `syntax` in `namespace`.
    pub fn new(secret: KeySecret, namespace: NamespaceId, syntax: &KeySyntax) -> Self {
        let [a, b, c, d] = namespace.to_le_bytes();
        Self { seed: xxh3_64_with_seed(&[syntax.id, a, b, c, d], secret.0) }
    }

    /// The hash of a key in two pieces, for syntaxes whose key is not contiguous (`put m ts v
    /// tags`). A key in one piece passes it as `tail` and leaves `head` empty.
    #[inline]
    pub fn key(&self, head: &[u8], tail: &[u8]) -> u128 {
        let seed = if head.is_empty() { self.seed } else { xxh3_64_with_seed(head, self.seed) };
        xxh3_128_with_seed(tail, seed)
    }

    /// The hash of an ordered list of raw field names.
    pub fn shape<'a>(&self, fields: impl Iterator<Item = &'a [u8]>) -> u128 {
        fields.fold(u128::from(self.seed), |hash, field| {
            xxh3_128_with_seed(field, (hash as u64) ^ ((hash >> 64) as u64).rotate_left(29))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(measurement: &str, labels: &[(&str, &str)]) -> KeyParts {
        let mut parts = KeyParts::default();
        parts.set_measurement(|out| out.extend_from_slice(measurement.as_bytes()));
        for (name, value) in labels {
            parts.push_label(
                |out| out.extend_from_slice(name.as_bytes()),
                |out| out.extend_from_slice(value.as_bytes()),
            );
        }
        parts
    }

    #[test]
    fn canonical_form_is_sorted_without_empty_values() {
        let mut key = parts("m", &[("b", "1"), ("a", "2"), ("c", ""), ("b", "1")]);
        key.canonicalize().unwrap();
        let labels: Vec<_> = key.labels().collect();
        assert_eq!(labels, [(&b"a"[..], &b"2"[..]), (&b"b"[..], &b"1"[..])]);
    }

    #[test]
    fn contradicting_labels_are_refused_by_name() {
        let error = parts("m", &[("h", "a"), ("h", "b")]).canonicalize().unwrap_err();
        assert_eq!(error.reason, "duplicate tag: h");
        assert!(parts("", &[]).canonicalize().is_err());
    }

    #[test]
    fn parts_that_are_text_only_side_by_side_are_refused() {
        // Two bytes that are one letter together.
        let letter = "\u{5e6}".as_bytes();
        let (first, second) = letter.split_at(1);
        let empty: &[u8] = b"";
        for parts in [
            [b"m", first, second],
            [first, second, b"v"],
            [letter, first, second],
            [b"m", empty, b"v"],
        ] {
            let [measurement, name, value] = parts;
            let mut key = KeyParts::default();
            key.set_measurement(|out| out.extend_from_slice(measurement));
            let append = |text: &'static [u8]| move |out: &mut Vec<u8>| out.extend_from_slice(text);
            key.push_label(append(name), append(value));
            assert!(key.canonicalize().is_err(), "{parts:?}");
        }
    }

    #[test]
    fn hashes_depend_on_secret_namespace_syntax_and_split() {
        fn parse(_: &[u8], _: &[u8], _: &mut KeyParts) -> Result<(), KeyError> {
            Ok(())
        }
        fn field(_: &[u8], _: &mut Vec<u8>) -> Result<(), KeyError> {
            Ok(())
        }
        let syntax = |id| KeySyntax { id, name: "test", parse, parse_field: field };
        let hash = |secret, namespace, id| {
            KeyHasher::new(KeySecret(secret), namespace, &syntax(id)).key(b"m", b"h=a")
        };
        let all = [hash(1, 0, 0), hash(2, 0, 0), hash(1, 1, 0), hash(1, 0, 1)];
        for (i, a) in all.iter().enumerate() {
            assert!(all.iter().skip(i + 1).all(|b| a != b));
        }
        let hasher = KeyHasher::new(KeySecret(1), 0, &syntax(0));
        assert_ne!(hasher.key(b"m", b"h=a"), hasher.key(b"mh", b"=a"));
        let shape = |names: &[&[u8]]| hasher.shape(names.iter().copied());
        assert_ne!(shape(&[b"a", b"b"]), shape(&[b"b", b"a"]));
        assert_ne!(shape(&[b"ab"]), shape(&[b"a", b"b"]));
    }
}
