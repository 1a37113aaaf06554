//! Cuts a large JSON array into smaller ones, so that neither its batch nor the words about its bad
//! points take much memory. An array of ten million empty objects is a small request to send.

use std::borrow::Cow;

/// Bytes after which a body is cut at the next point. Requests of usual clients stay whole. What
/// is noted of the shortest points, which are bad, takes twenty times their bytes.
const SLICE_BYTES: usize = 512 << 10;

/// The pieces of a body: each a JSON array, or the body itself when it is small or no array. Only
/// the nesting is looked at; what is wrong inside shows when a piece is decoded.
pub(super) struct Slices<'a> {
    body: &'a [u8],
    slice_bytes: usize,
    /// Where the next piece begins; nothing when the body is used up.
    at: Option<usize>,
}

impl<'a> Slices<'a> {
    pub(super) fn new(body: &'a [u8]) -> Self {
        Self { body, slice_bytes: SLICE_BYTES, at: Some(0) }
    }

    /// The position of the first comma between points after `slice_bytes` of the piece at `start`.
    fn cut(&self, start: usize) -> Option<usize> {
        let rest = self.body.get(start..).filter(|rest| rest.len() > self.slice_bytes)?;
        // Pieces but the first begin behind a comma, inside of the array.
        let mut depth = if start == 0 { 0 } else { 1_usize };
        let mut is_text = false;
        let mut is_escaped = false;
        for (at, byte) in rest.iter().enumerate() {
            match (is_text, byte) {
                (true, _) if is_escaped => is_escaped = false,
                (true, b'\\') => is_escaped = true,
                (_, b'"') => is_text = !is_text,
                (false, b'[' | b'{') => depth += 1,
                (false, b']' | b'}') => depth = depth.saturating_sub(1),
                (false, b',') if depth == 1 && at >= self.slice_bytes => return Some(start + at),
                _ => {}
            }
        }
        None
    }
}

impl<'a> Iterator for Slices<'a> {
    type Item = Cow<'a, [u8]>;

    fn next(&mut self) -> Option<Cow<'a, [u8]>> {
        let start = self.at.take()?;
        let is_array = self.body.trim_ascii_start().first() == Some(&b'[');
        let cut = if is_array { self.cut(start) } else { None };
        let piece = self.body.get(start..cut.unwrap_or(self.body.len())).unwrap_or_default();
        if start == 0 && cut.is_none() {
            return Some(Cow::Borrowed(piece));
        }
        let mut array = Vec::with_capacity(piece.len() + 2);
        if start > 0 {
            array.push(b'[');
        }
        array.extend_from_slice(piece);
        if let Some(cut) = cut {
            array.push(b']');
            self.at = Some(cut + 1);
        }
        Some(Cow::Owned(array))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn pieces(body: &str, slice_bytes: usize) -> Vec<String> {
        let slices = Slices { body: body.as_bytes(), slice_bytes, at: Some(0) };
        slices.map(|piece| String::from_utf8(piece.into_owned()).unwrap()).collect()
    }

    #[test]
    fn pieces_hold_all_points_once_and_in_order() {
        let body = r#" [{"a":",]}\"","t":{"x":[1,2]}},null, {"b":"\\"} ,{},{"c":[{},{}]}] "#;
        let whole: Vec<Value> = serde_json::from_str(body).unwrap();
        let last_comma = body.rfind(",{\"c\"").unwrap();
        for slice_bytes in 0..body.len() + 1 {
            let pieces = pieces(body, slice_bytes);
            let points: Vec<Value> = pieces
                .iter()
                .flat_map(|piece| serde_json::from_str::<Vec<Value>>(piece).unwrap())
                .collect();
            assert_eq!(points, whole, "pieces of {slice_bytes}");
            assert_eq!(pieces.len() > 1, slice_bytes <= last_comma, "pieces of {slice_bytes}");
        }
    }

    #[test]
    fn other_bodies_stay_whole() {
        for body in ["", "{\"a\":1,\"b\":2}", "[", "]]]],,,,[[[[", "\"[,,,]\""] {
            let pieces = pieces(body, 2);
            assert_eq!(pieces.concat().replace("][", ","), body);
        }
    }
}
