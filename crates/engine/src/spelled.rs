//! Names as the engine spells them itself, for rows that it writes under names that it knows:
//! measurement, then names and values of labels, each after its length (u32).

use crate::part::format::take;
use foliot_index::Identity;
use foliot_model::{KeyError, KeyParts, KeySyntax};

pub(crate) static SYNTAX: KeySyntax =
    KeySyntax { id: 32, name: "spelled", parse: parse_key, parse_field };

pub(crate) fn put_key(identity: &Identity, out: &mut Vec<u8>) {
    let mut put = |text: &str| {
        out.extend_from_slice(&(text.len() as u32).to_le_bytes());
        out.extend_from_slice(text.as_bytes());
    };
    put(&identity.measurement);
    for label in &identity.labels {
        put(&label.name);
        put(&label.value);
    }
}

fn parse_key(_: &[u8], mut rest: &[u8], parts: &mut KeyParts) -> Result<(), KeyError> {
    fn text<'r>(rest: &mut &'r [u8]) -> &'r [u8] {
        let length = take(rest).map_or(0, u32::from_le_bytes) as usize;
        let (text, after) = rest.split_at_checked(length).unwrap_or_default();
        *rest = after;
        text
    }
    let measurement = text(&mut rest);
    parts.set_measurement(|out| out.extend_from_slice(measurement));
    while !rest.is_empty() {
        let (name, value) = (text(&mut rest), text(&mut rest));
        parts.push_label(|out| out.extend_from_slice(name), |out| out.extend_from_slice(value));
    }
    Ok(())
}

fn parse_field(raw: &[u8], out: &mut Vec<u8>) -> Result<(), KeyError> {
    out.extend_from_slice(raw);
    Ok(())
}
