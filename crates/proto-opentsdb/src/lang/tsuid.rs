//! TSUIDs: the ids of a series' names in one hexadecimal word.
//!
//! ```text
//! tsuid := [FE field-uid] metric-uid (tagk-uid tagv-uid)*      pairs ascending
//! uid   := 3 bytes, big end first, below FE0000
//!        | FF and 4 bytes, big end first
//! ```
//! Without the two marks this is OpenTSDB's form. `FF` lets a store have more than 16 million names
//! without anybody having chosen a width beforehand; `FE` is for metrics that are a measurement and
//! a field other than the default one.

use crate::http::HttpError;

/// Ids from here on take the long form, so that short ones begin with neither mark.
const LONG_FROM: u32 = 0xFE_0000;

/// A series by the ids of its names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tsuid {
    /// Id of the measurement.
    pub measurement: u32,
    /// Id of the field; nothing for the default one.
    pub field: Option<u32>,
    /// Ids of the tags' names and values.
    pub tags: Vec<(u32, u32)>,
}

impl Tsuid {
    /// Reads the hexadecimal form, in either case.
    ///
    /// # Errors
    /// 400 when it is not one.
    pub fn parse(text: &str) -> Result<Self, HttpError> {
        Self::parse_ids(text)
            .ok_or_else(|| HttpError::bad_request(format!("Invalid TSUID: '{text}'")))
    }

    fn parse_ids(text: &str) -> Option<Self> {
        let has_mark = |text: &str, mark| {
            text.get(..2).is_some_and(|start: &str| start.eq_ignore_ascii_case(mark))
        };
        let has_field = has_mark(text, "FE");
        let mut rest = if has_field { text.get(2..)? } else { text };
        let mut ids = Vec::new();
        while !rest.is_empty() {
            let (mark, digits) = if has_mark(rest, "FF") { (2, 8) } else { (0, 6) };
            let id = rest.get(mark..mark + digits)?;
            // The parser would take a sign.
            if !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return None;
            }
            ids.push(u32::from_str_radix(id, 16).ok()?);
            rest = rest.get(mark + digits..)?;
        }
        let mut ids = ids.into_iter();
        let field = if has_field { Some(ids.next()?) } else { None };
        let measurement = ids.next()?;
        let mut tags = Vec::new();
        while let Some(name) = ids.next() {
            tags.push((name, ids.next()?));
        }
        Some(Self { measurement, field, tags })
    }
}

impl Tsuid {
    /// Appends the hexadecimal form.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let mut tags = self.tags.clone();
        tags.sort_unstable();
        if let Some(field) = self.field {
            out.extend_from_slice(b"FE");
            write_id(field, out);
        }
        write_id(self.measurement, out);
        for (name, value) in tags {
            write_id(name, out);
            write_id(value, out);
        }
    }
}

impl std::fmt::Display for Tsuid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = Vec::new();
        self.write(&mut text);
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

/// The bytes of a number.
pub(super) fn id_bytes(id: u32) -> Vec<u8> {
    let [d, c, b, a] = id.to_le_bytes();
    match id {
        0..LONG_FROM => vec![b, c, d],
        _ => vec![0xFF, a, b, c, d],
    }
}

/// Appends the text of a number.
pub(crate) fn write_id(id: u32, out: &mut Vec<u8>) {
    let digit = |at: u32| {
        let digit = (id >> (4 * at) & 0xF) as u8;
        if digit < 10 { b'0' + digit } else { b'A' - 10 + digit }
    };
    if id >= LONG_FROM {
        out.extend_from_slice(&[b'F', b'F', digit(7), digit(6)]);
    }
    // An answer has dozens of numbers, and a loop over their digits would take several times as
    // long.
    out.extend_from_slice(&[digit(5), digit(4), digit(3), digit(2), digit(1), digit(0)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_ids() {
        let tsuid = Tsuid { measurement: 1, field: None, tags: vec![(3, LONG_FROM), (2, 0xABC)] };
        assert_eq!(tsuid.to_string(), "000001000002000ABC000003FF00FE0000");
        let back = Tsuid::parse("000001000002000abc000003ff00fe0000").unwrap();
        let sorted = Tsuid { tags: vec![(2, 0xABC), (3, LONG_FROM)], ..tsuid };
        assert_eq!(back, sorted);
        let fielded = Tsuid { field: Some(7), ..sorted };
        assert!(fielded.to_string().starts_with("FE000007000001000002"));
        assert_eq!(Tsuid::parse(&fielded.to_string()), Ok(fielded));
        for text in ["", "FE", "FE000001", "0001", "000001000002", "00000é", "+00001", "00000G"] {
            assert!(Tsuid::parse(text).is_err(), "{text}");
        }
    }
}
