//! Strings and histograms: every distinct one once, and one index per value.
//!
//! Indexes count distinct texts in order of first sight, so texts that are all the same or all
//! different need no bits for them. Histograms that are records are taken apart instead.
//!
//! ```text
//! texts = distinct varint, layout u8, lengths ints, indexes ints, bytes | records
//! ```

use std::collections::HashMap;

use crate::CodecError;
use crate::ints::{self, IntsScratch, Layout};
use crate::records::{self, Records};
use crate::values::{BlockValues, Each, kind};
use crate::varint::{get_u64, put_u64};

/// Memory lent to the encoder.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts {
    lengths: Vec<i64>,
    indexes: Vec<i64>,
    bytes: Vec<u8>,
    records: Records,
}

/// Appends the values of kind `main` and lists the places of all others in `exceptions`.
pub(crate) fn encode(
    values: &BlockValues<'_>,
    main: u8,
    scratch: &mut Texts,
    exceptions: &mut Vec<u16>,
    ints: &mut IntsScratch,
    out: &mut Vec<u8>,
) -> Layout {
    let Texts { lengths, indexes, bytes, records } = scratch;
    lengths.clear();
    indexes.clear();
    bytes.clear();
    exceptions.clear();
    let are_histograms = values.kinds == Each::One(kind::HISTOGRAM);
    if are_histograms && records::encode(values, records, ints, out) {
        return Layout::Constant;
    }
    let mut seen: HashMap<&[u8], i64> = HashMap::new();
    let mut last: Option<(&[u8], i64)> = None;
    for (place, &span) in values.bits.iter().enumerate() {
        if values.kinds.get(place) != Some(main) {
            exceptions.push(place as u16);
            indexes.push(last.map_or(0, |(_, index)| index));
            continue;
        }
        let text = values.slice(span);
        let index = match last {
            Some((before, index)) if before == text => index,
            _ => *seen.entry(text).or_insert_with(|| {
                lengths.push(text.len() as i64);
                bytes.extend_from_slice(text);
                lengths.len() as i64 - 1
            }),
        };
        last = Some((text, index));
        indexes.push(index);
    }
    put_u64(out, lengths.len() as u64);
    let at = out.len();
    out.push(0);
    let layout = ints::encode(lengths, ints, out);
    out.get_mut(at).into_iter().for_each(|code| *code = layout as u8);
    let layout = ints::encode(indexes, ints, out);
    out.extend_from_slice(bytes);
    layout
}

/// Takes as many texts as `indexes` has room for off the front of `bytes`: their spans go to
/// `spans`, each distinct text once to `text`.
pub(crate) fn decode(
    layout: Layout,
    bytes: &mut &[u8],
    indexes: &mut [i64],
    spans: &mut Vec<u64>,
    text: &mut Vec<u8>,
) -> Result<(), CodecError> {
    const BAD_LENGTH: CodecError = CodecError::Invalid("length of a text");
    let distinct = usize::try_from(get_u64(bytes)?).unwrap_or(usize::MAX);
    if distinct == 0 && layout == Layout::Constant {
        return records::decode(bytes, indexes.len(), spans, text);
    }
    if distinct > indexes.len() {
        return Err(CodecError::Invalid("number of texts"));
    }
    let code = *bytes.split_off_first().ok_or(CodecError::Truncated("lengths of texts"))?;
    let mut lengths = vec![0; distinct];
    ints::decode(Layout::from_code(code), bytes, &mut lengths)?;
    ints::decode(layout, bytes, indexes)?;
    let mut total = 0u32;
    // From here on a length is a span.
    for length in &mut lengths {
        let short = u32::try_from(*length).map_err(|_| BAD_LENGTH)?;
        *length |= i64::from(total) << 32;
        total = total.checked_add(short).filter(|end| *end < 1 << 31).ok_or(BAD_LENGTH)?;
    }
    let all = bytes.split_off(..total as usize).ok_or(CodecError::Truncated("texts"))?;
    text.extend_from_slice(all);
    for &index in &*indexes {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        let span = *lengths.get(index).ok_or(CodecError::Invalid("index of a text"))?;
        spans.push(span as u64);
    }
    Ok(())
}
