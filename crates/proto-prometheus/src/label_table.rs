//! Labels that many series share, spelled once: a series is the places at which its labels lie.

use crate::wire::{Fields, push_varint};
use crate::write::Malformed;

/// Labels, packed one after the other.
#[derive(Clone, Debug, Default)]
pub struct LabelTable {
    bytes: Vec<u8>,
}

impl LabelTable {
    /// Adds a label, which [`crate::pack_labels`] spelled; returns its place, or nothing when there
    /// is no number for it.
    pub fn add(&mut self, packed: &[u8]) -> Option<u32> {
        let place = u32::try_from(self.bytes.len()).ok()?;
        self.bytes.extend_from_slice(packed);
        Some(place)
    }

    /// The packed label at a place; empty where there is none.
    pub fn at(&self, place: u32) -> &[u8] {
        label_at(&self.bytes, u64::from(place)).unwrap_or_default()
    }

    /// All labels, packed, with their places.
    pub fn labels(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let mut place = 0;
        std::iter::from_fn(move || {
            let packed = label_at(&self.bytes, u64::from(place)).ok()?;
            let found = (place, packed);
            place += packed.len() as u32;
            Some(found)
        })
    }

    /// The labels themselves, as rows refer to them.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Gives back the room that it does not need.
    pub fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
    }
}

/// Appends a place to those of a series.
pub fn push_place(place: u32, places: &mut Vec<u8>) {
    push_varint(u64::from(place), places);
}

/// The places of a series. Bytes that are none end them.
pub fn places(places: &[u8]) -> impl Iterator<Item = u32> {
    let mut rest = Fields::new(places, 0, places.len());
    std::iter::from_fn(move || rest.varint().ok().and_then(|place| u32::try_from(place).ok()))
}

/// Appends the labels at these places of a table, as [`crate::pack_labels`] spells them.
pub(crate) fn spell(table: &[u8], places: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    let mut rest = Fields::new(places, 0, places.len());
    while rest.at() < places.len() {
        out.extend_from_slice(label_at(table, rest.varint()?)?);
    }
    Ok(())
}

fn label_at(table: &[u8], place: u64) -> Result<&[u8], Malformed> {
    let none = || Malformed(format!("no label lies at {place}"));
    let start = usize::try_from(place).map_err(|_| none())?;
    let mut fields = Fields::new(table, start, table.len());
    fields.next()?.ok_or_else(none)?;
    table.get(start..fields.at()).ok_or_else(none)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KEY_SYNTAX, pack_labels};
    use foliot_model::KeyParts;

    #[test]
    fn a_series_of_places_is_the_one_that_they_spell() {
        let mut table = LabelTable::default();
        let pairs = [("__name__", "up"), ("job", "a"), ("long", &"x".repeat(300)), ("z", "")];
        let added = pairs.map(|pair| table.add(&pack_labels([pair].into_iter())).unwrap());
        let mut run = Vec::new();
        added.iter().for_each(|place| push_place(*place, &mut run));
        let mut spelled = Vec::new();
        spell(table.bytes(), &run, &mut spelled).unwrap();
        assert_eq!(spelled, pack_labels(pairs.into_iter()));
        assert_eq!(places(&run).collect::<Vec<_>>(), added);
        assert_eq!(table.labels().map(|(place, _)| place).collect::<Vec<_>>(), added);
        assert!(table.labels().all(|(place, packed)| table.at(place) == packed));
        let parse = |head: &[u8], tail: &[u8]| {
            let mut parts = KeyParts::default();
            (KEY_SYNTAX.parse)(head, tail, &mut parts).map_err(|error| error.reason)?;
            parts.canonicalize().map_err(|error| error.reason)?;
            let labels = parts.labels().map(|(name, value)| (name.to_vec(), value.to_vec()));
            Ok::<_, String>((parts.measurement().to_vec(), labels.collect::<Vec<_>>()))
        };
        assert_eq!(parse(table.bytes(), &run), parse(b"", &spelled));
        for bad in [&b"\x7f"[..], b"\xff", b"\xff\xff\xff\xff\xff\xff\xff\xff\x01"] {
            assert!(parse(&table.bytes()[..20], bad).is_err(), "{bad:?}");
        }
    }
}
