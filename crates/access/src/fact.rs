//! Texts in facts of the catalog: length u32, bytes.

pub(crate) fn put_text(text: &str, fact: &mut Vec<u8>) {
    fact.extend_from_slice(&(text.len() as u32).to_le_bytes());
    fact.extend_from_slice(text.as_bytes());
}

pub(crate) fn take_text(rest: &mut &[u8]) -> Option<String> {
    let (length, after) = rest.split_first_chunk()?;
    let (text, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *rest = after;
    String::from_utf8(text.to_vec()).ok()
}

pub(crate) fn take_i64(rest: &mut &[u8]) -> Option<i64> {
    let (bytes, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(i64::from_le_bytes(*bytes))
}
